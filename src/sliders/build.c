/* Writes a fit to the model.
 *
 * A bone j of host h has two nested joints below the host's (decompose/nodes.h). With the host's inverse bind matrix H, its
 * matrix relative to the host's joint is
 *
 *   L(c) = H (I + Σ c_s N_js) E⁻¹; its change with slider s is H N_js E⁻¹
 *
 * so that global(h) · L(c) · E moves vertices as the fit does. Motions hold L at their keys as scale, rotation and
 * translation of both joints.
 */
#include "core/math3.h"
#include "core/matrix3.h"
#include "core/morphs.h"
#include "core/slider.h"
#include "decompose/nodes.h"
#include "sliders/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Key reduction may move vertices by this fraction of the size of their group. */
#define KEY_TOLERANCE 1e-4
/* Transforms of sliders are rounded to decimals that move vertices by about this fraction: they are stored as JSON. */
#define MOVE_TOLERANCE 1e-5
/* Keys of the motion of one slider, before reduction. */
#define SLIDER_KEYS 5u
/* Longest time between keys of a motion before reduction, and most of them between two keys of the source. */
#define KEY_SECONDS  (1.0 / 30)
#define MOST_BETWEEN 64u

/* A bone of the result. */
typedef struct built_bone {
    px_slider_group *group;
    uint32_t bone; /* in the group's fit */
    px_bone_node node;
    double spread; /* RMS distance of its vertices from the pivot */
} built_bone;

typedef struct build {
    px_slider_plan *plan;
    pelt_model *model;
    px_arena *memory; /* of the model */
    uint32_t bone_count;
    built_bone *bones;
    uint32_t **numbers; /* [group][bone of its fit] index in bones; PELT_NONE: the host, or a bone that never moves */
    pelt_skeleton skeleton;
    pelt_skin skin;
    pelt_morph_set morphs;
    uint32_t *morph_places; /* [old morph] index among the morphs that its joint keeps; PELT_NONE: replaced */
    pelt_motion *motions;
    uint32_t motion_count;
    pelt_slider_set sliders;
    float *neutral; /* [old morph] rest weights */
} build;

/* ---- Bones ------------------------------------------------------------------------------------------------ */

/* N of a slider and a bone in object units: 3×4, row-major. */
static void object_change(const built_bone *bone, size_t slider, double out[12]) {
    const double *n = px_slider_change(&bone->group->fit, slider, bone->bone), *center = bone->group->center;
    for (size_t r = 0; r < 3; r++) {
        for (size_t c = 0; c < 3; c++)
            out[4 * r + c] = n[3 * c + r];
        out[4 * r + 3] = bone->group->radius * n[9 + r];
        for (size_t c = 0; c < 3; c++)
            out[4 * r + 3] -= n[3 * c + r] * center[c];
    }
}

/* Adds `by` · H N T(g) to m: the change of the matrix that maps coordinates relative to the pivot to the host's space. */
static void add_change(const built_bone *bone, size_t slider, double by, double m[12]) {
    double n[12];
    const double *g = bone->node.pivot;
    object_change(bone, slider, n);
    for (size_t r = 0; r < 3; r++)
        n[4 * r + 3] = (n[4 * r] * g[0] + n[4 * r + 1] * g[1] + n[4 * r + 2] * g[2] + n[4 * r + 3]) * bone->node.scale;
    for (size_t e = 0; e < 12; e++)
        for (size_t k = 0; k < 3; k++)
            m[e] += by * bone->node.host[4 * (e / 4) + k] * n[4 * k + e % 4];
}

/* H T(g), the same matrix with all sliders at 0. */
static void neutral_matrix(const built_bone *bone, double m[12]) {
    static const double identity[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
    px_bone_node_matrix(&bone->node, identity, m);
}

static bool is_active(const px_slider_fit *fit, size_t slider, size_t bone) {
    return fit->active[slider * fit->bone_count + bone];
}

static pelt_result list_bones(build *b) {
    const px_slider_plan *plan = b->plan;
    size_t most = 0;
    for (uint32_t g = 0; g < plan->group_count; g++)
        most += plan->groups[g].fit.bone_count;
    b->bones = PX_NEW(plan->arena, built_bone, most);
    b->numbers = PX_NEW(plan->arena, uint32_t *, plan->group_count);
    if (!b->bones || !b->numbers)
        return PELT_ERROR_MEMORY;
    uint32_t joint = b->model->skeleton.joint_count;
    for (uint32_t g = 0; g < plan->group_count; g++) {
        px_slider_group *group = &plan->groups[g];
        const px_slider_fit *fit = &group->fit;
        double *masses = PX_NEW(plan->arena, double, 8 * (size_t)fit->bone_count); /* Σ w², Σ w² p, Σ w² |p|² */
        if (!masses || !(b->numbers[g] = PX_NEW(plan->arena, uint32_t, fit->bone_count)))
            return PELT_ERROR_MEMORY;
        for (size_t e = 0; e < (size_t)fit->vertex_count * fit->influence_count; e++) {
            const double *p = fit->points + 4 * PX_SLIDER_ROWS * (e / fit->influence_count);
            double w = fit->weights[e] * fit->weights[e], *to = masses + 8 * (size_t)fit->bones[e];
            to[0] += w;
            for (int a = 0; a < 3; a++) {
                to[1 + a] += w * p[a];
                to[4] += w * p[a] * p[a];
            }
        }
        for (uint32_t j = 0; j < fit->bone_count; j++) {
            const double *mass = masses + 8 * (size_t)j;
            bool moves = false;
            for (size_t s = 0; s < fit->slider_count; s++)
                moves |= is_active(fit, s, j);
            b->numbers[g][j] = PELT_NONE;
            if (!moves || !(mass[0] > 0))
                continue;
            built_bone *bone = &b->bones[b->bone_count];
            b->numbers[g][j] = b->bone_count++;
            double square = mass[4] / mass[0], pivot[3];
            for (size_t a = 0; a < 3; a++) {
                double mean = mass[1 + a] / mass[0];
                pivot[a] = group->center[a] + group->radius * mean;
                square -= mean * mean;
            }
            *bone = (built_bone){.group = group, .bone = j};
            bone->node =
                px_bone_node_make(&px_bone_affine, joint + 1, &b->model->skin.inverse_binds[group->host], pivot);
            joint += 2;
            bone->spread = group->radius * sqrt(px_fmax(square, 1e-12));
        }
    }
    return PELT_OK;
}

/* B and C of every bone: interpolation from the rest pose to each slider at 1 should be as close to linear as possible. */
static pelt_result choose_frame(void *user, size_t number, size_t count, size_t block) {
    (void)count, (void)block;
    const build *b = user;
    built_bone *bone = &b->bones[number];
    const px_slider_fit *fit = &bone->group->fit;
    double *matrices = PX_ALLOC(b->plan->context, double, 24 * (size_t)fit->slider_count);
    if (!matrices)
        return PELT_ERROR_MEMORY;
    uint32_t frames = 0;
    for (size_t s = 0; s < fit->slider_count; s++)
        for (int at = 0; at < 2 && is_active(fit, s, bone->bone); at++) {
            double *m = matrices + 12 * (size_t)frames++;
            neutral_matrix(bone, m);
            add_change(bone, s, at, m);
        }
    px_bone_path path = {bone->node.kind, frames, matrices, {{0}, {0}}, bone->node.turn};
    px_keys_frame(&path, 1, &bone->node.frame);
    px_free(b->plan->context, matrices);
    return PELT_OK;
}

/* ---- Keys ------------------------------------------------------------------------------------------------- */

/* Matrices of a bone for weights [key][morph] of the source; `weights` NULL: the rest pose. */
static void fill_path(const build *b, const built_bone *bone, const float *weights, uint32_t keys, double *matrices) {
    const pelt_morph_set *morphs = &b->model->morphs;
    for (uint32_t k = 0; k < keys; k++) {
        const float *row = weights + (size_t)k * morphs->morph_count;
        double *m = matrices + 12 * (size_t)k;
        neutral_matrix(bone, m);
        for (uint32_t n = 0; n < morphs->morph_count; n++) {
            uint32_t s = b->plan->morph_sliders[n];
            if (morphs->morphs[n].joint == bone->group->joint && row[n] != 0 &&
                is_active(&bone->group->fit, s, bone->bone))
                add_change(bone, s, (double)row[n], m);
        }
    }
}

/* Adds the tracks of a bone to a motion that has room for them. Tracks that stay in the rest pose are left out. */
static pelt_result add_tracks(build *b, const built_bone *bone, const float *weights, const float *times, uint32_t keys,
                              pelt_interpolation interpolation, pelt_motion *motion) {
    double *matrices = PX_ALLOC(b->plan->context, double, 12 * (size_t)keys);
    if (!matrices)
        return PELT_ERROR_MEMORY;
    fill_path(b, bone, weights, keys, matrices);
    px_node_times node_times = {.times = times,
                                .key_count = keys,
                                .interpolation = interpolation,
                                .move = KEY_TOLERANCE * bone->group->radius,
                                .reach = bone->spread};
    pelt_result result = px_bone_node_tracks(b->memory, &bone->node, &b->skeleton, matrices, &node_times, motion);
    px_free(b->plan->context, matrices);
    return result;
}

/* ---- Skeleton and skin ------------------------------------------------------------------------------------ */

static pelt_result build_skeleton(build *b) {
    const pelt_skeleton *old = &b->model->skeleton;
    pelt_skeleton *s = &b->skeleton;
    PX_TRY(px_skeleton_extend(b->memory, old, 2 * b->bone_count, s));
    for (uint32_t n = 0; n < b->bone_count; n++) {
        const built_bone *bone = &b->bones[n];
        uint32_t inner = bone->node.joint, outer = inner - 1;
        double matrix[12];
        fill_path(b, bone, b->neutral, 1, matrix);
        PX_TRY(
            px_bone_node_rest(b->plan->arena, &bone->node, matrix, b->model->skin.bone_joints[bone->group->host], s));
        char name[32];
        for (uint32_t j = outer; j <= inner; j++) {
            int length = snprintf(name, sizeof name, "slider_%03u%s", n, j == outer ? "_outer" : "");
            if (!(s->names[j] = px_arena_text(b->memory, name, (size_t)length)))
                return PELT_ERROR_MEMORY;
        }
    }
    return PELT_OK;
}

/* The influences of one vertex: those of its host are divided among the bones of the fit. Returns their number. */
static uint32_t vertex_influences(const build *b, size_t i, uint16_t bones[2 * PELT_MAX_INFLUENCES],
                                  double weights[2 * PELT_MAX_INFLUENCES]) {
    const px_slider_plan *plan = b->plan;
    const pelt_skin *old = &b->model->skin;
    uint32_t c = pelt_vertex_class(&plan->classes, i), g = plan->class_groups[c], count = 0;
    size_t K = old->influence_count;
    for (size_t k = g == PELT_NONE ? 0 : 1; k < K; k++)
        if (old->weights[i * K + k] > 0) {
            bones[count] = old->bones[i * K + k];
            weights[count++] = (double)old->weights[i * K + k];
        }
    if (g == PELT_NONE)
        return count;
    const px_slider_fit *fit = &plan->groups[g].fit;
    size_t place = plan->class_places[c];
    double held = 0;
    for (size_t e = place * fit->influence_count; e < (place + 1) * fit->influence_count; e++) {
        uint32_t number = b->numbers[g][fit->bones[e]];
        double weight = fit->weights[e] * (double)old->weights[i * K];
        if (number == PELT_NONE)
            held += weight;
        else if (weight > 0) {
            bones[count] = (uint16_t)(old->bone_count + number);
            weights[count++] = weight;
        }
    }
    if (held > 0 || count == 0) {
        bones[count] = (uint16_t)plan->groups[g].host;
        weights[count] = count > 0 ? held : 1;
        count++;
    }
    for (uint32_t x = 1; x < count; x++) /* largest first */
        for (uint32_t y = x; y > 0 && weights[y] > weights[y - 1]; y--) {
            double weight = weights[y];
            uint16_t bone = bones[y];
            weights[y] = weights[y - 1], bones[y] = bones[y - 1];
            weights[y - 1] = weight, bones[y - 1] = bone;
        }
    return count;
}

static pelt_result build_skin(build *b) {
    const pelt_skin *old = &b->model->skin;
    pelt_skin *skin = &b->skin;
    size_t N = b->model->mesh.vertex_count;
    uint16_t bones[2 * PELT_MAX_INFLUENCES];
    double weights[2 * PELT_MAX_INFLUENCES];
    skin->bone_count = old->bone_count + b->bone_count;
    skin->influence_count = 1;
    for (size_t i = 0; i < N; i++) {
        uint32_t count = vertex_influences(b, i, bones, weights);
        skin->influence_count = count > skin->influence_count ? count : skin->influence_count;
    }
    if (skin->influence_count > PELT_MAX_INFLUENCES)
        skin->influence_count = PELT_MAX_INFLUENCES;
    size_t K = skin->influence_count;
    skin->bone_joints = PX_NEW(b->memory, uint32_t, skin->bone_count);
    skin->inverse_binds = PX_NEW(b->memory, pelt_affine, skin->bone_count);
    skin->bones = PX_NEW(b->memory, uint16_t, N * K);
    skin->weights = PX_NEW(b->memory, float, N *K);
    if (!skin->bone_joints || !skin->inverse_binds || !skin->bones || !skin->weights)
        return PELT_ERROR_MEMORY;
    memcpy(skin->bone_joints, old->bone_joints, old->bone_count * sizeof *skin->bone_joints);
    memcpy(skin->inverse_binds, old->inverse_binds, old->bone_count * sizeof *skin->inverse_binds);
    for (uint32_t n = 0; n < b->bone_count; n++) {
        skin->bone_joints[old->bone_count + n] = b->bones[n].node.joint;
        skin->inverse_binds[old->bone_count + n] = px_bone_node_bind(&b->bones[n].node);
    }
    for (size_t i = 0; i < N; i++) {
        uint32_t count = vertex_influences(b, i, bones, weights);
        double sum = 0;
        for (size_t k = 0; k < count && k < K; k++)
            sum += weights[k];
        for (size_t k = 0; k < count && k < K; k++) {
            skin->bones[i * K + k] = bones[k];
            skin->weights[i * K + k] = (float)(weights[k] / sum);
        }
    }
    return PELT_OK;
}

/* ---- Morphs and sliders ----------------------------------------------------------------------------------- */

static pelt_result build_morphs(build *b) {
    const pelt_morph_set *old = &b->model->morphs;
    b->morph_places = PX_NEW(b->plan->arena, uint32_t, old->morph_count);
    b->morphs.morphs = PX_NEW(b->memory, pelt_morph, old->morph_count);
    if (!b->morph_places || !b->morphs.morphs)
        return PELT_ERROR_MEMORY;
    for (uint32_t m = 0, place = 0; m < old->morph_count; m++) {
        place = m > 0 && old->morphs[m - 1].joint == old->morphs[m].joint ? place : 0;
        b->morph_places[m] = PELT_NONE;
        if (!b->plan->kept[b->plan->morph_sliders[m]])
            continue;
        pelt_morph *to = &b->morphs.morphs[b->morphs.morph_count++];
        *to = old->morphs[m];
        to->index = b->morph_places[m] = place++;
    }
    return PELT_OK;
}

/* Rounds to the decimals of `step`. */
static float round_decimals(double value, double step) {
    double power = px_pow(10, -floor(px_log10(step)));
    return (float)(nearbyint(value * power) / power);
}

static pelt_result build_sliders(build *b) {
    const px_slider_plan *plan = b->plan;
    const pelt_morph_set *old = &b->model->morphs;
    pelt_slider_set *set = &b->sliders;
    uint32_t *joints = PX_NEW(b->memory, uint32_t, b->bone_count), *bases = PX_NEW(b->memory, uint32_t, b->bone_count);
    pelt_affine *rests = PX_NEW(b->memory, pelt_affine, b->bone_count);
    set->sliders = PX_NEW(b->memory, pelt_slider, plan->slider_count);
    if (!joints || !bases || !rests || !set->sliders)
        return PELT_ERROR_MEMORY;
    *set = (pelt_slider_set){plan->slider_count, b->bone_count, set->sliders, joints, bases, rests};
    for (uint32_t n = 0; n < b->bone_count; n++) {
        joints[n] = b->bones[n].node.joint;
        bases[n] = b->model->skin.bone_joints[b->bones[n].group->host];
    }
    px_slider_rests(&b->skeleton, set, rests);
    for (uint32_t s = 0; s < plan->slider_count; s++) {
        pelt_slider *slider = &set->sliders[s];
        slider->name = plan->names[s];
        pelt_slider_move *moves = PX_NEW(b->memory, pelt_slider_move, b->bone_count);
        uint32_t *morphs = PX_NEW(b->memory, uint32_t, old->morph_count);
        if (!moves || !morphs)
            return PELT_ERROR_MEMORY;
        slider->moves = moves;
        slider->morphs = morphs;
        for (uint32_t n = 0; n < b->bone_count; n++) {
            const built_bone *bone = &b->bones[n];
            if (!is_active(&bone->group->fit, s, bone->bone))
                continue;
            pelt_slider_move *move = &moves[slider->move_count++];
            double m[12] = {0}, size = bone->group->radius * bone->node.scale;
            add_change(bone, s, 1, m);
            move->joint = n;
            for (size_t r = 0; r < 3; r++) {
                for (size_t c = 0; c < 3; c++) {
                    const double *axis = bone->node.frame.axes + c;
                    move->change.m[4 * r + c] = round_decimals(
                        m[4 * r] * axis[0] + m[4 * r + 1] * axis[3] + m[4 * r + 2] * axis[6], MOVE_TOLERANCE);
                }
                move->change.m[4 * r + 3] = round_decimals(m[4 * r + 3], MOVE_TOLERANCE * px_fmax(size, 1e-30));
            }
        }
        for (uint32_t m = 0, at = 0; m < old->morph_count; m++) {
            if (plan->morph_sliders[m] == s)
                slider->value = old->morphs[m].weight;
            if (plan->morph_sliders[m] == s && b->morph_places[m] != PELT_NONE)
                morphs[slider->morph_count++] = at;
            at += b->morph_places[m] != PELT_NONE;
        }
    }
    return PELT_OK;
}

/* ---- Motions ---------------------------------------------------------------------------------------------- */

/* The weights that a joint keeps, from rows of all weights; does nothing where it keeps none. */
static pelt_result add_weights(build *b, uint32_t joint, const float *weights, const float *times, uint32_t keys,
                               pelt_interpolation interpolation, pelt_motion *motion) {
    const pelt_morph_set *old = &b->model->morphs;
    uint32_t width = 0;
    for (uint32_t m = 0; m < old->morph_count; m++)
        width += old->morphs[m].joint == joint && b->morph_places[m] != PELT_NONE;
    if (width == 0)
        return PELT_OK;
    float *values = PX_NEW(b->memory, float, px_mul_size(keys, width)), *at = PX_NEW(b->memory, float, keys);
    if (!values || !at)
        return PELT_ERROR_MEMORY;
    memcpy(at, times, keys * sizeof *at);
    for (uint32_t k = 0; k < keys; k++)
        for (uint32_t m = 0; m < old->morph_count; m++)
            if (old->morphs[m].joint == joint && b->morph_places[m] != PELT_NONE)
                values[(size_t)k * width + b->morph_places[m]] = weights[(size_t)k * old->morph_count + m];
    motion->tracks[motion->track_count++] = (pelt_track){.joint = joint,
                                                         .path = PELT_PATH_WEIGHTS,
                                                         .interpolation = interpolation,
                                                         .width = width,
                                                         .key_count = keys,
                                                         .times = at,
                                                         .values = values};
    return PELT_OK;
}

/* Bones and kept morphs of one joint's weights [key][morph]. */
static pelt_result add_joint(build *b, uint32_t joint, const float *weights, const float *times, uint32_t keys,
                             pelt_interpolation interpolation, pelt_motion *motion) {
    for (uint32_t n = 0; n < b->bone_count; n++)
        if (b->bones[n].group->joint == joint)
            PX_TRY(add_tracks(b, &b->bones[n], weights, times, keys, interpolation, motion));
    return add_weights(b, joint, weights, times, keys, interpolation, motion);
}

/* Replaces a track of morph weights by tracks of bones, with keys between its own where those are far apart. */
static pelt_result bake_track(build *b, const pelt_motion *from, const pelt_track *track, pelt_motion *to) {
    bool steps = track->interpolation == PELT_INTERPOLATION_STEP;
    px_buffer times = {.context = b->plan->context};
    for (uint32_t k = 0; k < track->key_count; k++) {
        double gap = k + 1 < track->key_count ? (double)track->times[k + 1] - (double)track->times[k] : 0;
        uint32_t parts = steps ? 1 : (uint32_t)px_fmin(px_fmax(ceil(gap / KEY_SECONDS - 1e-3), 1), MOST_BETWEEN);
        for (uint32_t n = 0; n < parts; n++) {
            float time = (float)((double)track->times[k] + gap * n / parts);
            px_buffer_add(&times, &time, sizeof time);
        }
    }
    uint32_t keys = (uint32_t)(times.size / sizeof(float)), morph_count = b->model->morphs.morph_count;
    const float *at = (const float *)(const void *)times.data;
    float *weights = times.failed ? NULL : PX_ALLOC(b->plan->context, float, px_mul_size(keys, morph_count));
    for (size_t k = 0; weights && k < keys; k++)
        pelt_motion_sample(b->model, from, at[k], NULL, weights + k * morph_count);
    pelt_result result = weights ? add_joint(b, track->joint, weights, at, keys,
                                             steps ? PELT_INTERPOLATION_STEP : PELT_INTERPOLATION_LINEAR, to)
                                 : PELT_ERROR_MEMORY;
    px_free(b->plan->context, weights);
    px_buffer_free(&times);
    return result;
}

/* Keeps the duration of a motion in which nothing moves: one bone rests from its start to its end. Files hold no motion
 * without tracks. */
static pelt_result rest_track(build *b, pelt_motion *motion) {
    float *times = PX_NEW(b->memory, float, 2), *values = PX_NEW(b->memory, float, 6);
    if (!times || !values)
        return PELT_ERROR_MEMORY;
    uint32_t joint = b->bones[0].node.joint - 1;
    times[0] = motion->start;
    times[1] = motion->end;
    for (size_t c = 0; c < 6; c++)
        values[c] = b->skeleton.rest[joint].translation[c % 3];
    motion->tracks[motion->track_count++] = (pelt_track){.joint = joint,
                                                         .path = PELT_PATH_TRANSLATION,
                                                         .width = 3,
                                                         .key_count = motion->end > motion->start ? 2 : 1,
                                                         .times = times,
                                                         .values = values};
    return PELT_OK;
}

static pelt_result build_motions(build *b) {
    const pelt_model *model = b->model;
    const px_slider_plan *plan = b->plan;
    uint32_t more = plan->desc.no_clips ? 0 : plan->slider_count, morph_count = model->morphs.morph_count;
    b->motions = PX_NEW(b->memory, pelt_motion, (size_t)model->motion_count + more);
    float *weights = PX_NEW(plan->arena, float, SLIDER_KEYS *(size_t)morph_count),
          *times = PX_NEW(plan->arena, float, SLIDER_KEYS);
    if (!b->motions || !weights || !times)
        return PELT_ERROR_MEMORY;
    size_t room = 4 * (size_t)b->bone_count + morph_count;
    for (uint32_t n = 0; n < model->motion_count; n++) {
        const pelt_motion *from = &model->motions[n];
        pelt_motion *to = &b->motions[b->motion_count++];
        *to = (pelt_motion){.name = from->name, .start = from->start, .end = from->end};
        if (!(to->tracks = PX_NEW(b->memory, pelt_track, from->track_count + room)))
            return PELT_ERROR_MEMORY;
        PX_TRY(px_progress(plan->context, "baking sliders", n, (uint64_t)model->motion_count + more));
        for (uint32_t t = 0; t < from->track_count; t++)
            if (from->tracks[t].path == PELT_PATH_WEIGHTS)
                PX_TRY(bake_track(b, from, &from->tracks[t], to));
            else
                to->tracks[to->track_count++] = from->tracks[t];
        if (to->track_count == 0 && from->track_count > 0 && b->bone_count > 0)
            PX_TRY(rest_track(b, to));
    }
    for (uint32_t s = 0; s < more; s++) {
        pelt_motion *to = &b->motions[b->motion_count];
        *to =
            (pelt_motion){.name = plan->names[s], .start = 0, .end = 1, .tracks = PX_NEW(b->memory, pelt_track, room)};
        if (!to->tracks)
            return PELT_ERROR_MEMORY;
        PX_TRY(px_progress(plan->context, "baking sliders", (uint64_t)model->motion_count + s,
                           (uint64_t)model->motion_count + more));
        for (uint32_t k = 0; k < SLIDER_KEYS; k++) {
            times[k] = (float)k / (float)(SLIDER_KEYS - 1);
            for (uint32_t m = 0; m < morph_count; m++)
                weights[k * morph_count + m] = plan->morph_sliders[m] == s ? times[k] : b->neutral[m];
        }
        for (uint32_t m = 0; m < morph_count; m++)
            if (plan->morph_sliders[m] == s)
                PX_TRY(add_joint(b, model->morphs.morphs[m].joint, weights, times, SLIDER_KEYS,
                                 PELT_INTERPOLATION_LINEAR, to));
        b->motion_count += to->track_count > 0;
    }
    return PELT_OK;
}

/* ---- Entry point ------------------------------------------------------------------------------------------ */

static pelt_result build_all(build *b) {
    px_slider_plan *plan = b->plan;
    pelt_model *model = b->model;
    if (!(b->neutral = PX_NEW(plan->arena, float, model->morphs.morph_count)))
        return PELT_ERROR_MEMORY;
    for (uint32_t m = 0; m < model->morphs.morph_count; m++)
        b->neutral[m] = model->morphs.morphs[m].weight;
    PX_TRY(list_bones(b));
    if ((uint64_t)model->skin.bone_count + b->bone_count > 65535)
        return px_fail(plan->context, PELT_ERROR_INPUT, "more than 65,535 bones");
    PX_TRY(px_parallel(plan->context, NULL, b->bone_count, 1, choose_frame, b));
    PX_TRY(build_skeleton(b));
    PX_TRY(build_skin(b));
    PX_TRY(build_morphs(b));
    PX_TRY(build_sliders(b));
    return build_motions(b);
}

static pelt_result fill_report(const build *b, pelt_sliders_report *report) {
    const px_slider_plan *plan = b->plan;
    const char **names = PX_NEW_LASTING(b->memory, const char *, plan->slider_count);
    bool *kept = PX_NEW_LASTING(b->memory, bool, plan->slider_count);
    if (!names || !kept)
        return PELT_ERROR_MEMORY;
    *report = (pelt_sliders_report){.slider_count = plan->slider_count,
                                    .names = names,
                                    .kept = kept,
                                    .influence_count = b->skin.influence_count,
                                    .bone_count = b->bone_count + plan->group_count};
    memcpy(names, plan->names, plan->slider_count * sizeof *names);
    memcpy(kept, plan->kept, plan->slider_count * sizeof *kept);
    for (uint32_t g = 0; g < plan->group_count; g++)
        report->vertex_count += plan->groups[g].vertex_count;
    for (uint32_t s = 0; s < b->sliders.slider_count; s++)
        report->move_count += b->sliders.sliders[s].move_count;
    return PELT_OK;
}

pelt_result px_slider_build(px_slider_plan *plan, pelt_sliders_report *report) {
    pelt_model *model = plan->model;
    build b = {.plan = plan, .model = model, .memory = model->memory};
    PX_TRY(build_all(&b));
    PX_TRY(fill_report(&b, report));
    pelt_part *parts = PX_NEW(b.memory, pelt_part, model->mesh.part_count);
    if (!parts)
        return PELT_ERROR_MEMORY;
    memcpy(parts, model->mesh.parts, model->mesh.part_count * sizeof *parts);
    for (uint32_t p = 0; p < model->mesh.part_count; p++)
        for (size_t i = parts[p].first_vertex; i < (size_t)parts[p].first_vertex + parts[p].vertex_count; i++)
            parts[p].skinned |= plan->class_groups[pelt_vertex_class(&plan->classes, i)] != PELT_NONE;
    model->mesh.parts = parts;
    model->skeleton = b.skeleton;
    model->skin = b.skin;
    model->morphs = b.morphs;
    model->motions = b.motions;
    model->motion_count = b.motion_count;
    model->sliders = b.sliders;
    model->changed |=
        PELT_CHANGED_SKIN | PELT_CHANGED_SKELETON | PELT_CHANGED_MOTIONS | PELT_CHANGED_MORPHS | PELT_CHANGED_SLIDERS;
    return PELT_OK;
}
