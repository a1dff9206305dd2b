/* The pose of an instance: from samples to a palette in world space, and weights of morphs. Float precision
 * suffices: samples are exact at their times, and poses between are means of a few samples. */
#include "crowd/crowd.h"

#include "core/math3.h"

#include <math.h>

/* Two samples and their interpolation weights. */
typedef struct place {
    const px_crowd_motion *motion;
    size_t sample[2];
    float weight[2];
} place;

static place find_place(const px_crowd_motion *motion, const pelt_crowd_layer *layer) {
    place out = {motion, {0, 0}, {1, 0}};
    if (motion->sample_count < 2)
        return out;
    double at = ((double)layer->time - motion->start) / motion->duration;
    at = layer->loop ? at - floor(at) : px_fmin(px_fmax(at, 0), 1);
    at *= motion->sample_count - 1;
    out.sample[0] = px_min_size((size_t)at, motion->sample_count - 2);
    out.sample[1] = out.sample[0] + 1;
    out.weight[1] = (float)(at - (double)out.sample[0]);
    out.weight[0] = 1 - out.weight[1];
    return out;
}

static void blend_weights(const place *at, uint32_t morph_count, float share, float *weights) {
    for (int s = 0; s < 2; s++)
        for (uint32_t m = 0; m < morph_count; m++)
            weights[m] += share * at->weight[s] * at->motion->weights[at->sample[s] * morph_count + m];
}

static bool any_weight(const px_crowd_level *level, const float *weights) {
    for (uint32_t m = 0; level->morphs.vertex_count && m < level->model->morphs.morph_count; m++)
        if (weights[m] != 0)
            return true;
    return false;
}

static px_crowd_pose pose_motion(const px_crowd_character *character, const px_crowd_level *level, uint32_t motion,
                                 const pelt_crowd_layer *layer, float *weights) {
    size_t size = level->model->skin.bone_count * px_crowd_width(level);
    place at = find_place(&character->motions[motion], layer);
    const float *palettes = level->palettes[motion];
    if (level->morphs.vertex_count) {
        memset(weights, 0, level->model->morphs.morph_count * sizeof *weights);
        blend_weights(&at, level->model->morphs.morph_count, 1, weights);
    }
    return (px_crowd_pose){.palette = {palettes + at.sample[0] * size, palettes + at.sample[1] * size},
                           .share = {at.weight[0], at.weight[1]},
                           .stretched = level->dual && level->stretched[motion],
                           .morphed = any_weight(level, weights)};
}

/* ---- Palettes --------------------------------------------------------------------------------------------- */

pelt_affine *px_crowd_affines(const px_crowd_level *level, px_crowd_slot *slot, float *out) {
    return level->dual ? slot->affines : (pelt_affine *)out;
}

bool px_crowd_finish(const px_crowd_level *level, px_crowd_slot *slot, float *out) {
    if (!level->dual)
        return false;
    uint32_t count = level->model->skin.bone_count;
    px_crowd_dual *duals = (px_crowd_dual *)out;
    pelt_dual_quaternions(slot->affines, count, slot->dual_quaternions);
    bool stretched = pelt_stretches(slot->affines, slot->dual_quaternions, count, slot->stretches);
    for (uint32_t b = 0; b < count; b++) {
        memcpy(duals[b].q, slot->dual_quaternions[b].q, sizeof duals[b].q);
        memcpy(duals[b].stretch, slot->stretches[b].m, sizeof duals[b].stretch);
    }
    return stretched;
}

/* ---- Poses of the skeleton -------------------------------------------------------------------------------- */

/* sum += weight · sample; the quaternion is negated if that is nearer to the sum. */
static inline void add_local(const pelt_transform *sample, float weight, pelt_transform *sum) {
    const float *q = sample->rotation;
    float *s = sum->rotation;
    float turned = s[0] * q[0] + s[1] * q[1] + s[2] * q[2] + s[3] * q[3] < 0 ? -weight : weight;
    for (int c = 0; c < 3; c++) {
        sum->translation[c] += weight * sample->translation[c];
        sum->scale[c] += weight * sample->scale[c];
    }
    for (int c = 0; c < 4; c++)
        s[c] += turned * q[c];
}

static void blend_layers(const px_crowd_character *character, const pelt_crowd_instance *instance, px_crowd_slot *slot,
                         float *weights) {
    const pelt_model *model = character->levels[0].model;
    uint32_t joints = model->skeleton.joint_count, morphs = model->morphs.morph_count;
    float sum = 0;
    for (uint32_t l = 0; l < instance->layer_count; l++)
        sum += instance->layers[l].weight;
    memset(slot->locals, 0, joints * sizeof *slot->locals);
    memset(weights, 0, morphs * sizeof *weights);
    for (uint32_t l = 0; l < instance->layer_count; l++) {
        const pelt_crowd_layer *layer = &instance->layers[l];
        float share = layer->weight / sum;
        place at = find_place(&character->motions[layer->motion], layer);
        for (int s = 0; s < 2; s++) {
            const pelt_transform *locals = at.motion->locals + at.sample[s] * joints;
            for (uint32_t j = 0; j < joints; j++)
                add_local(&locals[j], share * at.weight[s], &slot->locals[j]);
        }
        blend_weights(&at, morphs, share, weights);
    }
    for (uint32_t j = 0; j < joints; j++)
        px_quat_normalize(slot->locals[j].rotation);
}

/* a·b: applies b first. Row by row, in memory order. */
static inline pelt_affine multiply(const pelt_affine *a, const pelt_affine *b) {
    pelt_affine out;
    for (int r = 0; r < 3; r++) {
        const float *row = a->m + 4 * r;
        for (int c = 0; c < 4; c++)
            out.m[4 * r + c] = row[0] * b->m[c] + row[1] * b->m[4 + c] + row[2] * b->m[8 + c];
        out.m[4 * r + 3] += row[3];
    }
    return out;
}

/* px_affine_from_transform in floats. */
static inline pelt_affine affine_of(const pelt_transform *t) {
    float x = t->rotation[0], y = t->rotation[1], z = t->rotation[2], w = t->rotation[3];
    const float *s = t->scale, *at = t->translation;
    return (pelt_affine){{(1 - 2 * (y * y + z * z)) * s[0], 2 * (x * y - w * z) * s[1], 2 * (x * z + w * y) * s[2],
                          at[0], 2 * (x * y + w * z) * s[0], (1 - 2 * (x * x + z * z)) * s[1],
                          2 * (y * z - w * x) * s[2], at[1], 2 * (x * z - w * y) * s[0], 2 * (y * z + w * x) * s[1],
                          (1 - 2 * (x * x + y * y)) * s[2], at[2]}};
}

static px_crowd_pose pose_locals(const px_crowd_character *character, const px_crowd_level *level,
                                 const pelt_transform *locals, px_crowd_slot *slot, uint32_t lane) {
    const pelt_model *model = character->levels[0].model;
    const pelt_skin *skin = &level->model->skin;
    for (uint32_t j = 0; j < model->skeleton.joint_count; j++) {
        pelt_affine local = affine_of(&locals[j]);
        uint32_t parent = model->skeleton.parents[j];
        slot->globals[j] = parent == PELT_NONE ? local : multiply(&slot->globals[parent], &local);
    }
    float *posed = slot->posed[lane];
    pelt_affine *affines = px_crowd_affines(level, slot, posed);
    for (uint32_t b = 0; b < skin->bone_count; b++)
        affines[b] = multiply(&slot->globals[skin->bone_joints[b]], &skin->inverse_binds[b]);
    if (level->morphs.vertex_count)
        pelt_pose_weights(model, locals, slot->weights[lane]);
    return (px_crowd_pose){.palette = {posed, posed},
                           .share = {1, 0},
                           .stretched = px_crowd_finish(level, slot, posed),
                           .morphed = any_weight(level, slot->weights[lane])};
}

/* ---- Instances -------------------------------------------------------------------------------------------- */

/* Returns the only layer with weight > 0; NULL: there are several. */
static const pelt_crowd_layer *only_layer(const pelt_crowd_instance *instance) {
    const pelt_crowd_layer *only = NULL;
    for (uint32_t l = 0; l < instance->layer_count; l++) {
        if (only && instance->layers[l].weight > 0)
            return NULL;
        if (instance->layers[l].weight > 0)
            only = &instance->layers[l];
    }
    return only;
}

static px_crowd_pose find_pose(const px_crowd_character *character, const pelt_crowd_instance *instance,
                               px_crowd_slot *slot, uint32_t lane) {
    static const pelt_crowd_layer rest = {.weight = 1};
    const px_crowd_level *level = &character->levels[instance->level];
    float *weights = slot->weights[lane];
    if (instance->locals) {
        const pelt_morph_set *morphs = &character->levels[0].model->morphs;
        for (uint32_t m = 0; m < morphs->morph_count; m++)
            weights[m] = morphs->morphs[m].weight;
        return pose_locals(character, level, instance->locals, slot, lane);
    }
    if (!instance->layer_count)
        return pose_motion(character, level, character->motion_count, &rest, weights);
    const pelt_crowd_layer *only = only_layer(instance);
    if (only)
        return pose_motion(character, level, only->motion, only, weights);
    blend_layers(character, instance, slot, weights);
    return pose_locals(character, level, slot->locals, slot, lane);
}

px_crowd_pose px_crowd_pose_of(const px_crowd_character *character, const pelt_crowd_instance *instance,
                               px_crowd_slot *slot, uint32_t lane) {
    px_crowd_pose pose = find_pose(character, instance, slot, lane);
    pose.world = &instance->world;
    return pose;
}
