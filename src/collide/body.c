/* A model in a pose: matrices and weights are set at once, spheres and vertices are computed when a query reaches
 * them. */
#include "collide/box.h"
#include "core/math3.h"

#include <pelt/run.h>

/* ---- Poses ------------------------------------------------------------------------------------------------ */

/* Invalidates cached spheres and vertices. */
static void next_pose(pelt_body *body) {
    const pelt_bdtree *tree = body->tree;
    if (++body->pose == 0) {
        memset(body->found, 0, tree->node_count * sizeof *body->found);
        memset(body->opened, 0, tree->leaf_count * sizeof *body->opened);
        if (tree->block_count)
            memset(body->block_poses, 0, tree->block_count * sizeof *body->block_poses);
        body->pose = 1;
    }
    body->work = (pelt_body_stats){.node_count = tree->node_count, .leaf_count = tree->leaf_count};
    body->positions = NULL;
}

/* Upper bound on the largest singular value: its square is an eigenvalue of AᵀA, so it lies in a Gershgorin disc.
 * Exact if the columns are perpendicular: rotation after scale. */
static double largest_stretch(const float m[12]) {
    double most = 0;
    for (int i = 0; i < 3; i++) {
        double row = 0;
        for (int j = 0; j < 3; j++)
            row += fabs((double)m[i] * m[j] + (double)m[4 + i] * m[4 + j] + (double)m[8 + i] * m[8 + j]);
        most = px_fmax(most, row);
    }
    return sqrt(most);
}

static void set_bone(const pelt_affine *matrix, px_bone *bone) {
    const float *m = matrix->m;
    for (int c = 0; c < 4; c++)
        for (int r = 0; r < 3; r++)
            bone->columns[c][r] = m[4 * r + c];
    bone->stretch = (float)(largest_stretch(m) * (1 + 1e-6));
    bone->shift = (float)(sqrt((double)m[3] * m[3] + (double)m[7] * m[7] + (double)m[11] * m[11]) * (1 + 1e-6));
}

/* Starts a pose from body->palette and body->weights. */
static void take_pose(pelt_body *body) {
    const pelt_bdtree *tree = body->tree;
    next_pose(body);
    for (uint32_t j = 0; j < tree->bone_count; j++)
        set_bone(&body->palette[j], &body->bones[j]);
    body->morphed = false;
    for (uint32_t m = 0; m < tree->model->morphs.morph_count; m++)
        body->morphed = body->morphed || body->weights[m] != 0;
}

static void copy_weights(pelt_body *body, const float *weights) {
    if (body->tree->model->morphs.morph_count && weights != body->weights)
        memcpy(body->weights, weights, body->tree->model->morphs.morph_count * sizeof *weights);
}

void pelt_body_palette(pelt_body *body, const pelt_affine *palette, const float *weights) {
    copy_weights(body, weights);
    if (body->tree->model->skin.bone_count)
        memcpy(body->palette, palette, body->tree->bone_count * sizeof *palette);
    take_pose(body);
}

void pelt_body_locals(pelt_body *body, const pelt_transform *locals, const float *weights) {
    const pelt_model *model = body->tree->model;
    copy_weights(body, weights);
    if (model->skin.bone_count) {
        pelt_skeleton_globals(&model->skeleton, locals, body->globals);
        pelt_skin_palette(&model->skin, body->globals, body->palette);
    }
    take_pose(body);
}

void pelt_body_motion(pelt_body *body, const pelt_motion *motion, float time) {
    pelt_motion_sample(body->tree->model, motion, time, body->locals, body->weights);
    pelt_body_locals(body, body->locals, body->weights);
}

void pelt_body_positions(pelt_body *body, const float *positions) {
    next_pose(body);
    body->positions = positions;
}

pelt_body_stats pelt_body_query_stats(const pelt_body *body) {
    return body->work;
}

/* ---- Lazy evaluation -------------------------------------------------------------------------------------- */

#define BLOCK_QUADS (3 * PX_LEAF_VERTICES / 4)

/* Skins the vertices of a leaf or a block. Same arithmetic in the same order as pelt_model_pose, so the results are
 * identical to the last bit. */
static void skin_vertices(const pelt_body *body, const uint16_t *bones, const float *weights, const float *rest,
                          float (*out)[3]) {
    const pelt_bdtree *tree = body->tree;
    if (!tree->model->skin.bone_count) {
        memcpy(out, rest, PX_LEAF_VERTICES * sizeof *out);
        return;
    }
    pelt_skin_job job = {
        .vertex_count = PX_LEAF_VERTICES,
        .influence_count = tree->influence_count,
        .bones = bones,
        .weights = weights,
        .palette = body->palette,
        .positions = rest,
        .out_positions = out[0],
    };
    job.exact = true;
    pelt_skin_run(&job);
}

/* Morphs as px_morph_range, and skins. */
static void pose_block(const pelt_body *body, uint32_t number) {
    const pelt_bdtree *tree = body->tree;
    const px_block *block = &tree->blocks[number];
    size_t first = (size_t)PX_LEAF_VERTICES * tree->influence_count * number;
    px_quad sums[BLOCK_QUADS];
    float morphed[PX_LEAF_VERTICES][3];
    memcpy(sums, block->rest, sizeof sums);
    for (uint32_t m = block->morph; m < block->morph + block->morph_count; m++) {
        float weight = body->weights[tree->block_morphs[m]];
        for (size_t e = 0; e < BLOCK_QUADS && weight != 0; e++)
            sums[e] += weight * px_quad_load((const float *)tree->shifts[m] + 4 * e);
    }
    memcpy(morphed, sums, sizeof sums);
    skin_vertices(body, tree->block_bones + first, tree->block_weights + first, morphed[0], body->posed[number]);
    body->block_poses[number] = body->pose;
}

static void pose_leaf(const pelt_body *body, uint32_t number, float (*out)[3]) {
    const pelt_bdtree *tree = body->tree;
    const px_leaf *leaf = &tree->leaves[number];
    size_t first = (size_t)PX_LEAF_VERTICES * number;
    if (!body->morphed) {
        skin_vertices(body, tree->bones + first * tree->influence_count, tree->weights + first * tree->influence_count,
                      tree->positions + 3 * first, out);
        return;
    }
    for (uint32_t v = 0; v < PX_LEAF_VERTICES; v++) {
        uint32_t block = leaf->slots[v] / PX_LEAF_VERTICES;
        if (body->block_poses[block] != body->pose)
            pose_block(body, block);
        memcpy(out[v], body->posed[block][leaf->slots[v] % PX_LEAF_VERTICES], sizeof out[v]);
    }
}

/* Bounding box of the vertices of a leaf; unbounded if one of them is not finite. */
static px_quad_box box_of_leaf(const float (*posed)[3], bool finite) {
    if (!finite)
        return (px_quad_box){{-INFINITY, -INFINITY, -INFINITY}, {INFINITY, INFINITY, INFINITY}};
    px_quad first = px_quad_load(posed[0]);
    px_quad_box out = {first, first};
    for (uint32_t v = 1; v < PX_LEAF_VERTICES; v++) {
        px_quad p = px_quad_load(posed[v]);
        out = (px_quad_box){px_quad_min(out.low, p), px_quad_max(out.high, p)};
    }
    return out;
}

const px_opened *px_body_leaf(pelt_body *body, uint32_t leaf) {
    px_opened *out = &body->opened[leaf];
    if (out->pose == body->pose)
        return out;
    out->pose = body->pose;
    if (body->positions)
        for (size_t v = 0; v < PX_LEAF_VERTICES; v++)
            memcpy(out->posed[v], body->positions + 3 * (size_t)body->tree->leaves[leaf].vertices[v],
                   sizeof out->posed[v]);
    else
        pose_leaf(body, leaf, out->posed);
    out->finite = 0;
    for (unsigned v = 0; v < PX_LEAF_VERTICES; v++) {
        float none = (out->posed[v][0] - out->posed[v][0]) + (out->posed[v][1] - out->posed[v][1]) +
                     (out->posed[v][2] - out->posed[v][2]); /* 0, or NaN */
        out->finite |= (unsigned)(none == 0) << v;
    }
    out->box = box_of_leaf((const float(*)[3])out->posed, out->finite == (1u << PX_LEAF_VERTICES) - 1);
    body->work.open_count++;
    return out;
}

/* Sphere around the middle of a leaf's box, all of whose vertices are finite. Differences of floats are rounded to half a
 * unit in the last place, and squares of those below 1e-19 underflow. */
static px_ball ball_of_box(const px_opened *opened) {
    px_quad middle = 0.5f * opened->box.low + 0.5f * opened->box.high;
    float most = 0;
    for (uint32_t v = 0; v < PX_LEAF_VERTICES; v++) {
        px_quad off = px_quad_load(opened->posed[v]) - middle, square = off * off;
        float length2 = square[0] + square[1] + square[2];
        most = length2 > most ? length2 : most;
    }
    return (px_ball){{middle[0], middle[1], middle[2]}, sqrtf(most) * (1 + 0x1p-20f) + 1e-18f};
}

/* Enclosing sphere of the finite vertices: triangles with other vertices intersect nothing. */
static px_ball ball_of_leaf(pelt_body *body, uint32_t leaf) {
    const px_opened *opened = px_body_leaf(body, leaf);
    if (opened->finite == (1u << PX_LEAF_VERTICES) - 1)
        return ball_of_box(opened);
    float points[PX_LEAF_VERTICES][3] = {{0}};
    size_t count = 0;
    for (unsigned v = 0; v < PX_LEAF_VERTICES; v++)
        if (opened->finite >> v & 1)
            memcpy(points[count++], opened->posed[v], sizeof points[0]);
    return px_ball_of_points((const float(*)[3])points, count ? count : 1, 0);
}

const px_ball *px_body_ball(pelt_body *body, uint32_t n) {
    const px_node *node = &body->tree->nodes[n];
    px_ball *ball = &body->found[n].ball;
    if (body->found[n].pose == body->pose)
        return ball;
    body->found[n].pose = body->pose;
    body->work.ball_count++;
    if (!body->positions && node->share_count)
        *ball = px_deformed_ball(body, node);
    else if (node->second)
        *ball = px_ball_around(px_body_ball(body, n + 1), px_body_ball(body, node->second));
    else
        *ball = ball_of_leaf(body, node->leaf);
    return ball;
}

/* Nodes with more leaves are left to their children: their vertices cost more than the tests they save. */
#define TIGHT_LEAVES 8u

/* Sphere around the vertices, or the bound if that is known and smaller. */
static const px_ball *tight_ball(pelt_body *body, uint32_t n) {
    const px_node *node = &body->tree->nodes[n];
    px_found *found = &body->found[n];
    if (found->tight == body->pose)
        return &found->ball;
    px_ball ball = node->second ? px_ball_around(tight_ball(body, n + 1), tight_ball(body, node->second))
                                : ball_of_leaf(body, node->leaf);
    body->work.ball_count += found->pose != body->pose;
    if (found->pose != body->pose || ball.radius < found->ball.radius)
        found->ball = ball;
    found->pose = found->tight = body->pose;
    return &found->ball;
}

bool px_body_tighten(pelt_body *body, uint32_t n) {
    if (!body->morphed || body->positions || body->tree->nodes[n].leaf_count > TIGHT_LEAVES ||
        body->found[n].tight == body->pose)
        return false;
    tight_ball(body, n);
    return true;
}

/* ---- Creation --------------------------------------------------------------------------------------------- */

static pelt_result make_body(pelt_body *body) {
    const pelt_bdtree *tree = body->tree;
    const pelt_model *model = tree->model;
    body->locals = PX_NEW(body->memory, pelt_transform, model->skeleton.joint_count);
    body->globals = PX_NEW(body->memory, pelt_affine, model->skeleton.joint_count);
    body->palette = PX_NEW(body->memory, pelt_affine, tree->bone_count);
    body->posed = px_arena_alloc(body->memory, tree->block_count, sizeof *body->posed);
    body->block_poses = PX_NEW(body->memory, uint32_t, tree->block_count);
    body->bones = PX_NEW(body->memory, px_bone, tree->bone_count);
    body->weights = PX_NEW(body->memory, float, model->morphs.morph_count);
    body->found = PX_NEW(body->memory, px_found, tree->node_count);
    body->opened = PX_NEW(body->memory, px_opened, tree->leaf_count);
    if (!body->posed || !body->block_poses || !body->locals || !body->globals || !body->palette || !body->bones ||
        !body->weights || !body->found || !body->opened)
        return PELT_ERROR_MEMORY;
    body->palette[0] = px_affine_identity(); /* never changed without a skin */
    pelt_body_motion(body, NULL, 0);
    return PELT_OK;
}

pelt_result pelt_body_create(pelt_context *context, const pelt_bdtree *tree, pelt_body **out) {
    *out = NULL;
    px_arena *memory = px_arena_create(context);
    pelt_body *body = memory ? PX_NEW(memory, pelt_body, 1) : NULL;
    pelt_result result = PELT_ERROR_MEMORY;
    if (body) {
        *body = (pelt_body){.memory = memory, .tree = tree};
        result = make_body(body);
    }
    if (result != PELT_OK) {
        px_arena_destroy(memory);
        return result;
    }
    *out = body;
    return PELT_OK;
}

void pelt_body_destroy(pelt_body *body) {
    if (body)
        px_arena_destroy(body->memory);
}
