/* Measures of skins; see the header for definitions. */
#include "rig_measures.h"

#include "core/core.h"

#include <pelt/run.h>

#include <math.h>

#define KEPT         4u   /* influences that are compared */
#define MOTION_TIMES 8u   /* poses of one motion */
#define MAX_POSES    40u  /* … and of all */
#define STILL        1e-5 /* motions that move vertices by less than this share of the diagonal are ignored */

/* ---- Weights of a vertex ---------------------------------------------------------------------------------- */

/* Joints with weights, no joint twice. */
typedef struct row {
    uint32_t count;
    uint32_t joints[2 * KEPT];
    double weights[2 * KEPT];
} row;

static void row_add(row *r, uint32_t joint, double weight) {
    uint32_t e = 0;
    while (e < r->count && r->joints[e] != joint)
        e++;
    if (e == r->count) {
        r->joints[e] = joint;
        r->weights[e] = 0;
        r->count++;
    }
    r->weights[e] += weight;
}

/* The KEPT largest, normalised; none where there is no weight. */
static void row_cut(row *r) {
    double sum = 0;
    for (uint32_t e = 0; e < r->count && e < KEPT; e++) {
        uint32_t best = e;
        for (uint32_t f = e + 1; f < r->count; f++)
            if (r->weights[f] > r->weights[best])
                best = f;
        uint32_t joint = r->joints[best];
        double weight = r->weights[best];
        r->joints[best] = r->joints[e], r->weights[best] = r->weights[e];
        r->joints[e] = joint, r->weights[e] = weight;
        sum += weight;
    }
    r->count = sum > 0 ? (uint32_t)px_min_size(r->count, KEPT) : 0;
    for (uint32_t e = 0; e < r->count; e++)
        r->weights[e] /= sum;
}

static_assert(PELT_MAX_INFLUENCES <= 2 * KEPT, "a row holds a vertex's weights, and the difference of two cut rows");

/* Returns the sum of the weights as stored; NaNs count as 0. */
static double row_read(const pelt_skin *skin, size_t i, row *r) {
    double sum = 0;
    *r = (row){0};
    for (size_t k = i * skin->influence_count; k < (i + 1) * skin->influence_count; k++)
        if (skin->weights[k] > 0 && isfinite(skin->weights[k])) {
            row_add(r, skin->bone_joints[skin->bones[k]], (double)skin->weights[k]);
            sum += (double)skin->weights[k];
        }
    row_cut(r);
    return sum;
}

/* ---- State of a comparison -------------------------------------------------------------------------------- */

typedef struct comparison {
    pelt_context *context;
    px_arena *scratch;
    const pelt_model *artist, *ours;
    const bool *skinned;        /* [vertex] whether it counts */
    float *rest, *poses[2];     /* [vertex][3] the artist's rest pose; a pose of both */
    const pelt_affine *globals; /* [joint] at rest */
    double *carried;            /* [joint] the artist's weight, over vertices */
    double *lost, *displaced;   /* [joint] numerator and denominator of R */
    double *off, *subtree;      /* [joint] W_ours − W_artist and W_artist of one vertex */
    rig_details details;
} comparison;

static bool *skinned_vertices(px_arena *arena, const pelt_mesh *mesh) {
    bool *skinned = PX_NEW(arena, bool, mesh->vertex_count);
    for (uint32_t p = 0; skinned && p < mesh->part_count; p++) {
        const pelt_part *part = &mesh->parts[p];
        for (size_t c = 0; part->skinned && c < 3 * (size_t)part->triangle_count; c++)
            skinned[mesh->triangles[3 * (size_t)part->first_triangle + c]] = true;
    }
    return skinned;
}

static const pelt_affine *rest_globals(px_arena *arena, const pelt_skeleton *skeleton) {
    pelt_affine *globals = PX_NEW(arena, pelt_affine, skeleton->joint_count);
    if (globals)
        pelt_skeleton_globals(skeleton, skeleton->rest, globals);
    return globals;
}

static pelt_result prepare(comparison *c) {
    const pelt_mesh *mesh = &c->artist->mesh;
    size_t coordinates = 3 * (size_t)mesh->vertex_count, joints = c->artist->skeleton.joint_count;
    if (mesh->vertex_count != c->ours->mesh.vertex_count || joints != c->ours->skeleton.joint_count)
        return px_fail(c->context, PELT_ERROR_INPUT, "the two models differ in vertices or joints");
    if (c->artist->skin.bone_count == 0 || c->ours->skin.bone_count == 0)
        return px_fail(c->context, PELT_ERROR_INPUT, "a model has no skin");
    float **arrays[] = {&c->rest, &c->poses[0], &c->poses[1]};
    double **sums[] = {&c->carried, &c->lost, &c->displaced, &c->off, &c->subtree};
    for (size_t a = 0; a < PX_COUNT(arrays); a++)
        if (!(*arrays[a] = PX_NEW(c->scratch, float, coordinates)))
            return PELT_ERROR_MEMORY;
    for (size_t a = 0; a < PX_COUNT(sums); a++)
        if (!(*sums[a] = PX_NEW(c->scratch, double, joints)))
            return PELT_ERROR_MEMORY;
    if (!(c->skinned = skinned_vertices(c->scratch, mesh)) ||
        !(c->globals = rest_globals(c->scratch, &c->artist->skeleton)))
        return PELT_ERROR_MEMORY;
    return pelt_model_pose(c->context, c->artist, NULL, 0, PELT_SKINNING_LINEAR, c->rest, NULL);
}

/* ---- L1 and R: one vertex at a time ----------------------------------------------------------------------- */

/* Adds the weight that changed its joint; `difference` is ours minus the artist's. Returns Σ|difference|. */
static double add_moved(const comparison *c, const row *difference) {
    double gain = 0, l1 = 0;
    for (uint32_t e = 0; e < difference->count; e++) {
        gain += fmax(difference->weights[e], 0);
        l1 += fabs(difference->weights[e]);
    }
    for (uint32_t e = 0; c->details.moved && e < difference->count; e++)
        for (uint32_t f = 0; f < difference->count; f++)
            if (difference->weights[e] < 0 && difference->weights[f] > 0)
                c->details
                    .moved[(size_t)difference->joints[e] * c->artist->skeleton.joint_count + difference->joints[f]] -=
                    difference->weights[e] * difference->weights[f] / gain;
    return l1;
}

/* Adds a row to sums [joint] over subtrees: to each joint and all above it. */
static void add_upwards(const uint32_t *parents, const row *r, double *sums) {
    for (uint32_t e = 0; e < r->count; e++)
        for (uint32_t j = r->joints[e]; j != PELT_NONE; j = parents[j])
            sums[j] += r->weights[e];
}

/* Σ over the axes x, y, z through the joint of the vertex's distance from them. */
static double axis_distances(const pelt_affine *joint, const float v[3]) {
    double d[3];
    for (int a = 0; a < 3; a++)
        d[a] = (double)v[a] - (double)joint->m[4 * a + 3];
    return hypot(d[1], d[2]) + hypot(d[2], d[0]) + hypot(d[0], d[1]);
}

/* Adds the vertex's share to R's sums of every joint above it, and clears the per-vertex sums. */
static void add_bends(const comparison *c, size_t i, const row *r) {
    const uint32_t *parents = c->artist->skeleton.parents;
    for (uint32_t e = 0; e < r->count; e++)
        for (uint32_t j = r->joints[e]; j != PELT_NONE; j = parents[j])
            if (c->off[j] != 0 || c->subtree[j] != 0) {
                double distance = axis_distances(&c->globals[j], c->rest + 3 * i);
                c->lost[j] += fabs(c->off[j]) * distance;
                c->displaced[j] += c->subtree[j] * distance;
                c->off[j] = c->subtree[j] = 0;
            }
}

/* Returns the vertex's L1. */
static double compare_vertex(const comparison *c, size_t i, const row *artist, const row *ours) {
    row difference = *ours;
    for (uint32_t e = 0; e < artist->count; e++) {
        row_add(&difference, artist->joints[e], -artist->weights[e]);
        c->carried[artist->joints[e]] += artist->weights[e];
    }
    add_upwards(c->artist->skeleton.parents, &difference, c->off);
    add_upwards(c->artist->skeleton.parents, artist, c->subtree);
    add_bends(c, i, &difference);
    return add_moved(c, &difference);
}

static void compare_vertices(const comparison *c, rig_measures *out) {
    double sum = 0;
    for (size_t i = 0; i < c->artist->mesh.vertex_count; i++) {
        row artist, ours;
        if (!c->skinned[i])
            continue;
        row_read(&c->artist->skin, i, &artist);
        double weight = row_read(&c->ours->skin, i, &ours);
        out->unweighted_count += !(fabs(weight - 1) <= 0.01);
        out->vertex_count++;
        sum += compare_vertex(c, i, &artist, &ours);
    }
    size_t joints = c->artist->skeleton.joint_count;
    out->l1 = sum / out->vertex_count;
    for (size_t e = 0; c->details.moved && e < joints * joints; e++)
        c->details.moved[e] /= out->vertex_count;
}

static void compare_bends(const comparison *c, rig_measures *out) {
    double ratios = 0, lost = 0, displaced = 0;
    uint32_t bent = 0;
    for (uint32_t j = 0; j < c->artist->skeleton.joint_count; j++) {
        double ratio = c->carried[j] > 0 && c->displaced[j] > 0 ? c->lost[j] / c->displaced[j] : 0;
        out->joint_count += c->carried[j] > 0;
        if (c->details.bends)
            c->details.bends[j] = ratio;
        if (!(c->carried[j] > 0) || !(c->displaced[j] > 0))
            continue;
        ratios += ratio;
        lost += c->lost[j];
        displaced += c->displaced[j];
        bent++;
    }
    out->bend = bent ? ratios / bent : NAN;
    out->bend_pooled = displaced > 0 ? lost / displaced : NAN;
}

/* ---- E ---------------------------------------------------------------------------------------------------- */

static double rest_diagonal(const comparison *c) {
    float low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (size_t i = 0; i < c->artist->mesh.vertex_count; i++)
        for (int a = 0; a < 3 && c->skinned[i]; a++) {
            low[a] = fminf(low[a], c->rest[3 * i + a]);
            high[a] = fmaxf(high[a], c->rest[3 * i + a]);
        }
    double squares = 0;
    for (int a = 0; a < 3; a++)
        squares += ((double)high[a] - (double)low[a]) * ((double)high[a] - (double)low[a]);
    return sqrt(squares);
}

/* Σ |a − b| over the vertices that count. */
static double sum_distances(const comparison *c, const float *a, const float *b) {
    double sum = 0;
    for (size_t i = 0; i < c->artist->mesh.vertex_count; i++) {
        double squares = 0;
        for (size_t e = 3 * i; e < 3 * i + 3 && c->skinned[i]; e++)
            squares += ((double)a[e] - (double)b[e]) * ((double)a[e] - (double)b[e]);
        sum += sqrt(squares);
    }
    return sum;
}

/* Adds the distances of one pose: of ours from the artist's, and of the artist's from rest. */
static pelt_result add_pose(const comparison *c, const pelt_motion *motion, float time, double *off, double *moved) {
    const pelt_model *models[2] = {c->artist, c->ours};
    for (int m = 0; m < 2; m++)
        PX_TRY(pelt_model_pose(c->context, models[m], motion, time, PELT_SKINNING_LINEAR, c->poses[m], NULL));
    *off += sum_distances(c, c->poses[0], c->poses[1]);
    *moved += sum_distances(c, c->poses[0], c->rest);
    return PELT_OK;
}

static pelt_result compare_poses(const comparison *c, rig_measures *out) {
    uint32_t motions = (uint32_t)px_min_size(c->artist->motion_count, MAX_POSES);
    uint32_t times = motions ? (uint32_t)px_min_size(MOTION_TIMES, MAX_POSES / motions) : 0;
    double off = 0, moved = 0;
    for (uint32_t m = 0; m < motions; m++) {
        const pelt_motion *motion = &c->artist->motions[(uint64_t)m * c->artist->motion_count / motions];
        for (uint32_t t = 0; t < times; t++) {
            float share = ((float)t + 0.5f) / (float)times;
            PX_TRY(add_pose(c, motion, motion->start + share * (motion->end - motion->start), &off, &moved));
        }
    }
    double whole = (double)motions * times * out->vertex_count * rest_diagonal(c);
    bool moves = moved > STILL * whole;
    out->pose_count = moves ? motions * times : 0;
    out->clip_percent = moves ? 100 * off / whole : NAN;
    return PELT_OK;
}

static pelt_result compare(comparison *c, rig_measures *out) {
    PX_TRY(prepare(c));
    compare_vertices(c, out);
    if (out->vertex_count == 0)
        return px_fail(c->context, PELT_ERROR_INPUT, "no part of the model is skinned");
    compare_bends(c, out);
    return compare_poses(c, out);
}

pelt_result rig_compare(pelt_context *context, const pelt_model *artist, const pelt_model *ours,
                        const rig_details *details, rig_measures *measures) {
    comparison c = {.context = context, .artist = artist, .ours = ours};
    *measures = (rig_measures){0};
    if (details)
        c.details = *details;
    size_t joints = artist->skeleton.joint_count;
    for (size_t e = 0; c.details.moved && e < joints * joints; e++)
        c.details.moved[e] = 0;
    if (!(c.scratch = px_arena_create(context)))
        return PELT_ERROR_MEMORY;
    pelt_result result = compare(&c, measures);
    px_arena_destroy(c.scratch);
    return result;
}
