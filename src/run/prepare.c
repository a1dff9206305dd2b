/* Preparing a skin: vertices with the same bones form groups, so that the matrices of a group are loaded once. Arrays
 * are stored in blocks of sixteen vertices, one vector per component. Vertices whose bones are shared by few others are
 * loose: they keep their own bone indices.
 */
#include "core/influences.h"
#include "run/skin.h"

#include <math.h>

#define BLOCK PELT_PREPARED_BLOCK
_Static_assert(BLOCK == PX_INFLUENCES_TOGETHER, "rows join what is long enough for a shared group");

typedef struct plan {
    pelt_context *context;
    pelt_model *model;
    pelt_prepared_skin out;
    px_influences *rows;                          /* [vertex] */
    uint32_t *order;                              /* [place] vertex; in the model's memory */
    pelt_prepared_group *groups;                  /* [group] in the model's memory */
    uint32_t place_count;                         /* places filled so far */
    size_t block_count, bone_count, weight_count; /* sizes of the streams so far */
} plan;

/* ---- Groups ----------------------------------------------------------------------------------------------- */

static void add_group(plan *p, const uint32_t *vertices, uint32_t count, bool shared) {
    uint32_t influences = p->rows[vertices[0]].count;
    p->groups[p->out.group_count++] = (pelt_prepared_group){
        .first_place = p->place_count,
        .vertex_count = count,
        .influence_count = influences,
        .first_block = (uint32_t)p->block_count,
        .first_bone = p->bone_count,
        .first_weight = p->weight_count,
        .shared = shared,
    };
    size_t blocks = px_block_count(count, BLOCK);
    memcpy(p->order + p->place_count, vertices, count * sizeof *vertices);
    p->place_count += count;
    p->block_count += blocks;
    p->bone_count += shared ? influences : (size_t)count * influences;
    p->weight_count += shared ? blocks * BLOCK * (influences - 1) : (size_t)count * influences;
    p->weight_count = (p->weight_count + BLOCK - 1) / BLOCK * BLOCK; /* alignment of the next group */
    p->out.shared_count += shared ? count : 0;
}

/* Splits a run into groups of at most PELT_PREPARED_GROUP vertices; no group of a shared run is shorter than a
 * block. */
static void add_run(plan *p, const uint32_t *vertices, uint32_t count, bool shared) {
    while (count > 0) {
        uint32_t piece = count <= PELT_PREPARED_GROUP ? count : PELT_PREPARED_GROUP;
        if (shared && count - piece > 0 && count - piece < BLOCK)
            piece -= BLOCK;
        add_group(p, vertices, piece, shared);
        vertices += piece;
        count -= piece;
    }
}

/* Rows of a run whose blocks are all full, for groups of their own. Dividing a short run costs more than it gains. */
static uint32_t full_part(uint32_t count) {
    return count % BLOCK == 0 ? count : count >= 8 * BLOCK ? count / BLOCK * BLOCK - BLOCK : 0;
}

typedef enum group_pass { PASS_FULL, PASS_PARTIAL, PASS_LOOSE } group_pass;

/* Groups vertices of one influence count, sorted by bones. In the last pass, loose vertices are collected at the front
 * of `sorted`. */
static void add_class(plan *p, uint32_t *sorted, uint32_t count, group_pass pass) {
    uint32_t loose = 0;
    for (uint32_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && px_influences_alike(&p->rows[sorted[first]], &p->rows[sorted[end]]);)
            end++;
        uint32_t full = full_part(end - first);
        if (end - first >= BLOCK && pass == PASS_FULL)
            add_run(p, sorted + first, full, true);
        else if (end - first >= BLOCK && pass == PASS_PARTIAL)
            add_run(p, sorted + first + full, end - first - full, true);
        for (uint32_t place = first; pass == PASS_LOOSE && end - first < BLOCK && place < end; place++)
            sorted[loose++] = sorted[place];
    }
    add_run(p, sorted, loose, false);
}

/* Groups of full blocks come first: their places are multiples of a block, so that results are written to whole cache
 * lines, if the output is aligned. */
static void add_classes(plan *p, uint32_t *sorted) {
    uint32_t count = p->model->mesh.vertex_count;
    for (group_pass pass = PASS_FULL; pass <= PASS_LOOSE; pass++)
        for (uint32_t first = 0, end; first < count; first = end) {
            uint32_t influences = p->rows[sorted[first]].count;
            for (end = first + 1; end < count && p->rows[sorted[end]].count == influences;)
                end++;
            add_class(p, sorted + first, end - first, pass);
        }
}

static pelt_result make_groups(plan *p) {
    uint32_t count = p->model->mesh.vertex_count;
    uint32_t *sorted = px_alloc(p->context, count, sizeof *sorted);
    if (!sorted)
        return PELT_ERROR_MEMORY;
    pelt_result result = px_influences_order(p->context, p->rows, count, p->model->skin.bone_count, sorted);
    if (result == PELT_OK)
        add_classes(p, sorted);
    px_free(p->context, sorted);
    return result;
}

/* ---- Streams ---------------------------------------------------------------------------------------------- */

/* Returns the vertex in a lane of a block of a shared group. */
static uint32_t lane_vertex(const plan *p, const pelt_prepared_group *g, size_t block, size_t lane) {
    return p->order[g->first_place + px_prepared_place(g, block) + lane];
}

/* Normalises the first three components; copies the fourth, if any. */
static void unit_row(const float *in, uint32_t width, float out[4]) {
    double length = sqrt((double)in[0] * in[0] + (double)in[1] * in[1] + (double)in[2] * in[2]);
    for (uint32_t c = 0; c < width; c++)
        out[c] = c < 3 && length > 0 ? (float)((double)in[c] / length) : in[c];
}

/* Copies an array [vertex][width] of the mesh to the order of the streams. */
static float *make_stream(plan *p, const float *array, uint32_t width, bool unit) {
    float *stream = pelt_model_alloc(p->context, p->model, p->block_count * BLOCK, width * sizeof *stream);
    for (uint32_t g = 0; stream && g < p->out.group_count; g++) {
        const pelt_prepared_group *group = &p->groups[g];
        float *out = stream + (size_t)group->first_block * BLOCK * width, v[4];
        size_t lanes = group->shared ? px_block_count(group->vertex_count, BLOCK) * BLOCK : group->vertex_count;
        for (size_t at = 0; at < lanes; at++) {
            uint32_t vertex =
                group->shared ? lane_vertex(p, group, at / BLOCK, at % BLOCK) : p->order[group->first_place + at];
            if (unit)
                unit_row(array + (size_t)width * vertex, width, v);
            else
                memcpy(v, array + (size_t)width * vertex, width * sizeof *v);
            for (size_t c = 0; c < width; c++)
                out[group->shared ? (at / BLOCK * width + c) * BLOCK + at % BLOCK : at * width + c] = v[c];
        }
    }
    return stream;
}

static void fill_blocks(const plan *p, uint32_t g, pelt_prepared_block *blocks) {
    const pelt_prepared_group *group = &p->groups[g];
    for (size_t b = 0; b < px_block_count(group->vertex_count, BLOCK); b++) {
        size_t place = group->shared ? px_prepared_place(group, b) : b * BLOCK;
        blocks[group->first_block + b] = (pelt_prepared_block){g, group->first_place + (uint32_t)place};
    }
}

/* Returns the bone with the largest total weight in a group: the base, whose weight is implied. */
static size_t heaviest(const plan *p, const pelt_prepared_group *g) {
    double sums[PELT_MAX_INFLUENCES] = {0};
    size_t best = 0;
    for (size_t at = 0; at < g->vertex_count; at++)
        for (size_t k = 0; k < g->influence_count; k++)
            sums[k] += (double)p->rows[p->order[g->first_place + at]].weights[k];
    for (size_t k = 1; k < g->influence_count; k++)
        best = sums[k] > sums[best] ? k : best;
    return best;
}

static void fill_influences(const plan *p, const pelt_prepared_group *g, uint16_t *bones, float *weights) {
    size_t influences = g->influence_count;
    if (!g->shared) {
        for (size_t at = 0; at < g->vertex_count; at++) {
            const px_influences *r = &p->rows[p->order[g->first_place + at]];
            memcpy(bones + at * influences, r->bones, influences * sizeof *bones);
            memcpy(weights + at * influences, r->weights, influences * sizeof *weights);
        }
        return;
    }
    size_t base = heaviest(p, g);
    const uint16_t *set = p->rows[p->order[g->first_place]].bones;
    for (size_t k = 0; k < influences; k++)
        bones[k < base ? k : k > base ? k - 1 : influences - 1] = set[k];
    for (size_t b = 0; b < px_block_count(g->vertex_count, BLOCK); b++)
        for (size_t k = 0; k < influences; k++)
            for (size_t lane = 0; k != base && lane < BLOCK; lane++)
                *weights++ = p->rows[lane_vertex(p, g, b, lane)].weights[k];
}

static pelt_result make_streams(plan *p) {
    const pelt_mesh *mesh = &p->model->mesh;
    uint16_t *bones = pelt_model_alloc(p->context, p->model, p->bone_count, sizeof *bones);
    float *weights = pelt_model_alloc(p->context, p->model, p->weight_count, sizeof *weights);
    uint32_t *places = pelt_model_alloc(p->context, p->model, mesh->vertex_count, sizeof *places);
    pelt_prepared_block *blocks = pelt_model_alloc(p->context, p->model, p->block_count, sizeof *blocks);
    if (!bones || !weights || !places || !blocks || !(p->out.positions = make_stream(p, mesh->positions, 3, false)))
        return PELT_ERROR_MEMORY;
    if (mesh->normals && !(p->out.normals = make_stream(p, mesh->normals, 3, true)))
        return PELT_ERROR_MEMORY;
    if (mesh->tangents && !(p->out.tangents = make_stream(p, mesh->tangents, 4, true)))
        return PELT_ERROR_MEMORY;
    for (uint32_t g = 0; g < p->out.group_count; g++) {
        fill_influences(p, &p->groups[g], bones + p->groups[g].first_bone, weights + p->groups[g].first_weight);
        fill_blocks(p, g, blocks);
    }
    for (uint32_t place = 0; place < mesh->vertex_count; place++)
        places[p->order[place]] = place;
    p->out.bones = bones;
    p->out.weights = weights;
    p->out.places = places;
    p->out.blocks = blocks;
    p->out.order = p->order;
    p->out.groups = p->groups;
    return PELT_OK;
}

static pelt_result make_plan(plan *p) {
    size_t count = p->model->mesh.vertex_count;
    /* shared groups have a block of vertices or more; loose ones are full but for the last of each influence count */
    size_t group_limit = count / BLOCK + count / PELT_PREPARED_GROUP + PELT_MAX_INFLUENCES;
    p->order = pelt_model_alloc(p->context, p->model, count, sizeof *p->order);
    p->groups = pelt_model_alloc(p->context, p->model, group_limit, sizeof *p->groups);
    if (!p->order || !p->groups)
        return PELT_ERROR_MEMORY;
    px_influences_make(p->model, 0, count, p->rows);
    PX_TRY(make_groups(p));
    return make_streams(p);
}

pelt_result pelt_skin_prepare(pelt_context *context, pelt_model *model, pelt_prepared_skin *prepared) {
    *prepared = (pelt_prepared_skin){0};
    if (!model->skin.bone_count)
        return px_fail(context, PELT_ERROR_USAGE, "there is no skin to prepare");
    plan p = {.context = context, .model = model};
    p.out.vertex_count = model->mesh.vertex_count;
    p.out.bone_count = model->skin.bone_count;
    p.rows = px_alloc(context, model->mesh.vertex_count, sizeof *p.rows);
    if (!p.rows)
        return PELT_ERROR_MEMORY;
    px_result_begin(model);
    pelt_result result = px_result_end(model, make_plan(&p));
    px_free(context, p.rows);
    if (result == PELT_OK)
        *prepared = p.out;
    return result;
}

void pelt_prepared_skin_free(pelt_model *model, pelt_prepared_skin *prepared) {
    px_arena_free_result(model->memory, prepared->order);
    *prepared = (pelt_prepared_skin){0};
}
