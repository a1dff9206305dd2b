/* Which pairs of bones get helper bones: those between which linear and dual quaternion skinning differ most.
 *
 * The squared difference of a vertex is divided among the pairs of its bones in proportion to w_a w_b θ², θ² the mean squared
 * angle between a and b: to second order the difference of a pair is w_a w_b θ²/2 times the distance from the axis.
 *
 * Bones that hardly move relative to each other, such as those of a spine, share helpers: those of (a, b) serve a pair (c, d) as
 * well as a moves with c and b with d (px_helper_cover). Pairs are chosen greedily by what they serve.
 */
#include "core/math3.h"
#include "core/mesh.h"
#include "core/skin.h"
#include "helpers/helpers.h"

#include <stdlib.h>

/* Without a limit, pairs are added until the others have this share of the squared difference. */
#define LEFT_SHARE 0.05
/* Pairs compared with each other at most, those of the largest differences. */
#define MOST_PAIRS 400u
/* Poses that bones are compared in. */
#define COMPARED_POSES 32u
/* Helpers serve a pair fully where its bones move with theirs, not at all where the mean squared angles between them reach this
 * fraction of that of the pair. */
#define COVER_LIMIT 0.05
/* An RMS difference of this fraction of the mesh's diagonal is rounding. */
#define ROUNDING 1e-6

typedef struct pair_energy {
    uint32_t a, b; /* bones; the joint of b has the larger index */
    double square; /* sum of squared angles */
    double angle;  /* largest angle */
    double energy; /* its part of the squared difference */
    double left;   /* the part that no pair chosen before serves */
} pair_energy;

static bool comes_first(const pelt_skin *skin, uint32_t a, uint32_t b) {
    return skin->bone_joints[a] != skin->bone_joints[b] ? skin->bone_joints[a] < skin->bone_joints[b] : a < b;
}

static int compare_bones(const void *left, const void *right) {
    const pair_energy *l = left, *r = right;
    return l->a != r->a ? (l->a < r->a ? -1 : 1) : l->b != r->b ? (l->b < r->b ? -1 : 1) : 0;
}

static int compare_energies(const void *left, const void *right) {
    const pair_energy *l = left, *r = right;
    return l->energy != r->energy ? (l->energy > r->energy ? -1 : 1) : compare_bones(left, right);
}

/* The pair of influences x < y of a vertex; false: no pair. */
static bool vertex_pair(const pelt_skin *skin, size_t i, uint32_t x, uint32_t y, pair_energy *out) {
    size_t K = skin->influence_count;
    uint32_t a = skin->bones[i * K + x], b = skin->bones[i * K + y];
    if (!(skin->weights[i * K + x] > 0) || !(skin->weights[i * K + y] > 0) || a == b)
        return false;
    bool ordered = comes_first(skin, a, b);
    *out = (pair_energy){.a = ordered ? a : b, .b = ordered ? b : a};
    return true;
}

/* Joints that sliders move have no joints below them, and sliders, not tracks, move them. */
static bool is_host(const pelt_model *model, uint32_t bone, uint32_t transforms) {
    const pelt_slider_set *sliders = &model->sliders;
    for (uint32_t n = 0; n < sliders->joint_count; n++)
        if (sliders->joints[n] == model->skin.bone_joints[bone])
            return false;
    pelt_transform bind;
    double off = px_transform_from_affine(&model->skin.inverse_binds[bone], &bind);
    if (!(px_affine_determinant(&model->skin.inverse_binds[bone]) > 0))
        return false;
    return transforms == PELT_HELPERS_AFFINE ||
           (off < 1e-4 && fabsf(bind.scale[1] - bind.scale[0]) < 1e-4f * bind.scale[0] &&
            fabsf(bind.scale[2] - bind.scale[0]) < 1e-4f * bind.scale[0]);
}

/* All pairs of bones that share vertices, sorted by bones. */
static pelt_result list_pairs(const px_helper_plan *plan, px_buffer *buffer, uint32_t *count) {
    const pelt_skin *skin = &plan->model->skin;
    size_t unique = 0;
    for (uint32_t c = 0; c < plan->classes.count; c++)
        for (uint32_t y = 1; y < skin->influence_count; y++)
            for (uint32_t x = 0; x < y; x++) {
                pair_energy pair;
                if (vertex_pair(skin, pelt_class_vertex(&plan->classes, c), x, y, &pair))
                    px_buffer_add(buffer, &pair, sizeof pair);
            }
    if (buffer->failed)
        return PELT_ERROR_MEMORY;
    pair_energy *pairs = (pair_energy *)(void *)buffer->data;
    size_t total = buffer->size / sizeof *pairs;
    if (total > 0)
        px_sort(pairs, total, sizeof *pairs, compare_bones);
    for (size_t n = 0; n < total; n++)
        if (unique == 0 || compare_bones(&pairs[n], &pairs[unique - 1]) != 0)
            pairs[unique++] = pairs[n];
    *count = (uint32_t)unique;
    return PELT_OK;
}

static void find_angles(const px_helper_plan *plan, pair_energy *pairs, uint32_t count) {
    for (uint32_t n = 0; n < count; n++)
        for (uint32_t p = 0; p < plan->pose_count && plan->poses[p].motion != PELT_NONE; p++) {
            const pelt_dual_quaternion *duals = plan->poses[p].bones.duals;
            double angle = px_helper_angle(&duals[pairs[n].a], &duals[pairs[n].b]);
            pairs[n].square += angle * angle;
            pairs[n].angle = px_fmax(pairs[n].angle, angle);
        }
}

/* Squared distance between both kinds of skinning over the frames of the motions. */
static double class_difference(const px_helper_plan *plan, uint32_t c) {
    const pelt_model *model = plan->model;
    double sum = 0;
    for (uint32_t p = 0; p < plan->pose_count && plan->poses[p].motion != PELT_NONE; p++) {
        const px_helper_pose *pose = &plan->poses[p];
        const float *rest = pose->rests + 3 * (size_t)c, *target = pose->targets + 3 * (size_t)c;
        double m[12];
        px_skin_blend(&model->skin, pose->bones.palette, pelt_class_vertex(&plan->classes, c), m);
        for (int r = 0; r < 3; r++) {
            double off = m[4 * r] * (double)rest[0] + m[4 * r + 1] * (double)rest[1] + m[4 * r + 2] * (double)rest[2] +
                         m[4 * r + 3] - (double)target[r];
            sum += pose->weight * off * off;
        }
    }
    return sum;
}

/* Divides the differences of vertices among pairs; returns their sum. */
static double divide(const px_helper_plan *plan, pair_energy *pairs, uint32_t count) {
    const pelt_skin *skin = &plan->model->skin;
    size_t K = skin->influence_count;
    double total = 0;
    for (uint32_t c = 0; c < plan->classes.count; c++) {
        pair_energy *found[PELT_MAX_INFLUENCES * PELT_MAX_INFLUENCES], key;
        double shares[PELT_MAX_INFLUENCES * PELT_MAX_INFLUENCES], sum = 0, difference;
        size_t n = 0, i = pelt_class_vertex(&plan->classes, c);
        for (uint32_t y = 1; y < K; y++)
            for (uint32_t x = 0; x < y; x++)
                if (vertex_pair(skin, i, x, y, &key)) {
                    found[n] = bsearch(&key, pairs, count, sizeof key, compare_bones);
                    shares[n] = (double)skin->weights[i * K + x] * (double)skin->weights[i * K + y] * found[n]->square;
                    sum += shares[n++];
                }
        if (!(sum > 0))
            continue;
        total += difference = class_difference(plan, c);
        for (size_t e = 0; e < n; e++)
            found[e]->energy += difference * shares[e] / sum;
    }
    return total;
}

static double rounding(const px_helper_plan *plan) {
    const pelt_mesh *mesh = &plan->model->mesh;
    float low[3], high[3];
    double step = ROUNDING * px_box(mesh->positions, mesh->vertex_count, low, high);
    return step * step * plan->classes.count;
}

/* ---- Choice ----------------------------------------------------------------------------------------------- */

/* Mean squared angles between the bones of the pairs. */
static pelt_result compare_moves(px_helper_plan *plan, const pair_energy *pairs, uint32_t count) {
    uint32_t bones = plan->model->skin.bone_count, frames = 0, n = 0;
    uint32_t *used = PX_NEW(plan->arena, uint32_t, bones);
    plan->places = PX_NEW(plan->arena, uint32_t, bones);
    if (!used || !plan->places)
        return PELT_ERROR_MEMORY;
    memset(plan->places, 0xFF, bones * sizeof *plan->places);
    for (uint32_t e = 0; e < 2 * count; e++) {
        uint32_t bone = e % 2 ? pairs[e / 2].b : pairs[e / 2].a;
        if (plan->places[bone] == PELT_NONE) {
            plan->places[bone] = n;
            used[n++] = bone;
        }
    }
    while (frames < plan->pose_count && plan->poses[frames].motion != PELT_NONE)
        frames++;
    plan->compared_count = n;
    if (!(plan->squares = PX_NEW(plan->arena, double, (size_t)n *n)))
        return PELT_ERROR_MEMORY;
    uint32_t stride = (uint32_t)px_block_count(frames, COMPARED_POSES);
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < a; b++) {
            double sum = 0, poses = 0;
            for (uint32_t p = 0; p < frames; p += stride, poses++) {
                const pelt_dual_quaternion *duals = plan->poses[p].bones.duals;
                double angle = px_helper_angle(&duals[used[a]], &duals[used[b]]);
                sum += angle * angle;
            }
            plan->squares[a * n + b] = plan->squares[b * n + a] = sum / poses;
        }
    return PELT_OK;
}

static double cover(const px_helper_plan *plan, const uint32_t helped[2], const uint32_t pair[2]) {
    const uint32_t *at = plan->places;
    size_t n = plan->compared_count;
    for (int e = 0; e < 2; e++)
        if (at[helped[e]] == PELT_NONE || at[pair[e]] == PELT_NONE)
            return helped[0] == pair[0] && helped[1] == pair[1];
    double own = plan->squares[at[pair[0]] * n + at[pair[1]]];
    double off = plan->squares[at[helped[0]] * n + at[pair[0]]] + plan->squares[at[helped[1]] * n + at[pair[1]]];
    return off > 0 ? px_fmax(1 - off / (COVER_LIMIT * own), 0) : 1;
}

double px_helper_cover(const px_helper_plan *plan, const uint32_t helped[2], const uint32_t pair[2]) {
    const uint32_t turned[2] = {pair[1], pair[0]};
    return px_fmax(cover(plan, helped, pair), cover(plan, helped, turned));
}

static double pair_cover(const px_helper_plan *plan, const pair_energy *helped, const pair_energy *pair) {
    return px_helper_cover(plan, (const uint32_t[]){helped->a, helped->b}, (const uint32_t[]){pair->a, pair->b});
}

/* The pair whose helpers serve most of what is left; its gain goes to *most. */
static uint32_t best_pair(const px_helper_plan *plan, const pair_energy *pairs, const bool *usable, uint32_t count,
                          double *most) {
    uint32_t best = PELT_NONE;
    *most = 0;
    for (uint32_t p = 0; p < count; p++) {
        double gain = 0;
        for (uint32_t q = 0; usable[p] && q < count; q++)
            gain += pairs[q].left * pair_cover(plan, &pairs[p], &pairs[q]);
        if (gain > *most) {
            *most = gain;
            best = p;
        }
    }
    return best;
}

static pelt_result choose(px_helper_plan *plan, pair_energy *pairs, uint32_t count) {
    const pelt_model *model = plan->model;
    find_angles(plan, pairs, count);
    double total = divide(plan, pairs, count), left = total, least = rounding(plan), gain;
    if (count > 0)
        px_sort(pairs, count, sizeof *pairs, compare_energies);
    count = (uint32_t)px_min_size(count, MOST_PAIRS);
    PX_TRY(compare_moves(plan, pairs, count));
    size_t most =
        px_min_size(plan->desc.add ? plan->desc.add / 2 : count, (65535 - (size_t)model->skin.bone_count) / 2);
    bool *usable = PX_NEW(plan->arena, bool, count);
    plan->pairs = PX_NEW_LASTING(model->memory, pelt_helper_pair, px_min_size(most, count));
    if (!plan->pairs || !usable)
        return PELT_ERROR_MEMORY;
    for (uint32_t n = 0; n < count; n++) {
        pairs[n].left = pairs[n].energy;
        usable[n] =
            is_host(model, pairs[n].a, plan->desc.transforms) && is_host(model, pairs[n].b, plan->desc.transforms);
    }
    while (plan->pair_count < most && total > least && (plan->desc.add || left > LEFT_SHARE * total)) {
        uint32_t best = best_pair(plan, pairs, usable, count, &gain);
        if (best == PELT_NONE)
            break;
        for (uint32_t q = 0; q < count; q++)
            if (q != best)
                pairs[q].left *= 1 - pair_cover(plan, &pairs[best], &pairs[q]);
        pairs[best].left = 0;
        usable[best] = false;
        plan->pairs[plan->pair_count] = (pelt_helper_pair){.bones = {pairs[best].a, pairs[best].b},
                                                           .first = model->skin.bone_count + 2 * plan->pair_count,
                                                           .share = gain / total,
                                                           .angle = pairs[best].angle};
        plan->pair_count++;
        left -= gain;
    }
    return PELT_OK;
}

pelt_result px_helper_pairs(px_helper_plan *plan) {
    px_buffer buffer = {.context = plan->context};
    uint32_t count = 0;
    pelt_result result = list_pairs(plan, &buffer, &count);
    if (result == PELT_OK)
        result = choose(plan, (pair_energy *)(void *)buffer.data, count);
    px_buffer_free(&buffer);
    return result;
}
