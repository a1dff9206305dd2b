/* Samples motions at regular times: local transforms for blends of motions, palettes for single motions, weights of
 * morphs. */
#include "crowd/crowd.h"

#include <math.h>

/* Fraction of a sample: a motion that ends this little after a sample ends at it, because key times are rounded to
 * float. */
#define SAMPLE_SLACK  1e-4
#define BLOCK_SAMPLES 16

/* ---- One motion ------------------------------------------------------------------------------------------- */

typedef struct sampling {
    pelt_crowd *crowd;
    px_crowd_character *character;
    const pelt_motion *motion; /* NULL: the rest pose */
    uint32_t index;            /* index of the motion; motion_count: the rest pose */
    bool asks_drivers;         /* the motion has no weight tracks: evaluate the drivers */
} sampling;

static bool has_weights(const pelt_motion *motion) {
    for (uint32_t t = 0; motion && t < motion->track_count; t++)
        if (motion->tracks[t].path == PELT_PATH_WEIGHTS)
            return true;
    return false;
}

/* Returns true if a level's palettes are its own, not shared with an earlier level. */
static bool first_of_its_bones(const px_crowd_character *character, uint32_t l, uint32_t motion) {
    for (uint32_t e = 0; e < l; e++)
        if (character->levels[e].palettes[motion] == character->levels[l].palettes[motion])
            return false;
    return true;
}

static pelt_result sample_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const sampling *s = user;
    const px_crowd_character *character = s->character;
    const pelt_model *model = character->levels[0].model;
    const px_crowd_motion *motion = &character->motions[s->index];
    px_crowd_slot *slot = px_crowd_take(s->crowd);
    for (size_t k = first; k < first + count; k++) {
        double u = motion->sample_count > 1 ? (double)k / (motion->sample_count - 1) : 0;
        pelt_transform *locals = motion->locals + k * model->skeleton.joint_count;
        float *weights = motion->weights + k * model->morphs.morph_count;
        pelt_motion_sample(model, s->motion, (float)(motion->start + u * motion->duration), locals, weights);
        if (s->asks_drivers)
            pelt_pose_weights(model, locals, weights);
        pelt_skeleton_globals(&model->skeleton, locals, slot->globals);
        for (uint32_t l = 0; l < character->level_count; l++) {
            const px_crowd_level *level = &character->levels[l];
            if (!first_of_its_bones(character, l, s->index))
                continue;
            float *palette = level->palettes[s->index] + k * level->model->skin.bone_count * px_crowd_width(level);
            pelt_skin_palette(&level->model->skin, slot->globals, px_crowd_affines(level, slot, palette));
            px_crowd_finish(level, slot, palette);
        }
    }
    px_crowd_give(slot);
    return PELT_OK;
}

/* Negates a quaternion, the first four of `count` floats, if that is nearer to the one before: q and −q are the same
 * rotation, but their mean is 0. */
static void join_sign(const float *before, float *q, size_t count) {
    float dot = q[0] * before[0] + q[1] * before[1] + q[2] * before[2] + q[3] * before[3];
    for (size_t c = 0; c < count && dot < 0; c++)
        q[c] = -q[c];
}

static void join_signs(const px_crowd_motion *motion, uint32_t joint_count) {
    size_t count = (size_t)motion->sample_count * joint_count;
    for (size_t e = joint_count; e < count; e++)
        join_sign(motion->locals[e - joint_count].rotation, motion->locals[e].rotation, 4);
}

/* The same for the dual quaternions of a level; also notes if a bone stretches. */
static void join_duals(const px_crowd_motion *motion, px_crowd_level *level, uint32_t index) {
    static const float none[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
    size_t bones = level->model->skin.bone_count, count = motion->sample_count * bones;
    px_crowd_dual *duals = (px_crowd_dual *)level->palettes[index];
    for (size_t e = 0; e < count; e++) {
        if (e >= bones)
            join_sign(duals[e - bones].q, duals[e].q, 8);
        for (int c = 0; c < 12; c++)
            level->stretched[index] |= duals[e].stretch[c] != none[c];
    }
}

static bool same_bones(const pelt_skin *a, const pelt_skin *b) {
    return a->bone_count == b->bone_count &&
           memcmp(a->bone_joints, b->bone_joints, a->bone_count * sizeof *a->bone_joints) == 0 &&
           memcmp(a->inverse_binds, b->inverse_binds, a->bone_count * sizeof *a->inverse_binds) == 0;
}

static pelt_result add_palettes(pelt_crowd *crowd, px_crowd_character *character, uint32_t index) {
    for (uint32_t l = 0; l < character->level_count; l++) {
        px_crowd_level *level = &character->levels[l];
        const pelt_skin *skin = &level->model->skin;
        float **palette = &level->palettes[index];
        for (uint32_t e = 0; e < l && !*palette; e++)
            if (same_bones(skin, &character->levels[e].model->skin))
                *palette = character->levels[e].palettes[index];
        if (!*palette)
            *palette = PX_NEW(crowd->memory, float,
                              px_mul_size(px_mul_size(character->motions[index].sample_count, skin->bone_count),
                                          px_crowd_width(level)));
        if (!*palette)
            return PELT_ERROR_MEMORY;
    }
    return PELT_OK;
}

/* `given` NULL: the rest pose. */
static pelt_result add_motion(pelt_crowd *crowd, px_crowd_character *character, const pelt_motion *given, double fps,
                              uint32_t index) {
    const pelt_model *model = character->levels[0].model;
    px_crowd_motion *motion = &character->motions[index];
    *motion = (px_crowd_motion){.sample_count = 1};
    if (given) {
        motion->start = (double)given->start;
        motion->duration = (double)given->end - (double)given->start;
        double samples = 1 + ceil(motion->duration * fps - SAMPLE_SLACK);
        if (!(samples <= INT32_MAX))
            return px_fail(crowd->context, PELT_ERROR_INPUT,
                           "motion '%s': %g seconds at %g samples per second is too long; use fewer samples per second",
                           given->name, motion->duration, fps);
        motion->sample_count = samples > 1 ? (uint32_t)samples : 1;
    }
    motion->locals =
        PX_NEW(crowd->memory, pelt_transform, px_mul_size(motion->sample_count, model->skeleton.joint_count));
    motion->weights = PX_NEW(crowd->memory, float, px_mul_size(motion->sample_count, model->morphs.morph_count));
    if (!motion->locals || !motion->weights)
        return PELT_ERROR_MEMORY;
    PX_TRY(add_palettes(crowd, character, index));
    sampling s = {crowd, character, given, index, given && !has_weights(given)};
    PX_TRY(px_parallel(crowd->context, NULL, motion->sample_count, BLOCK_SAMPLES, sample_block, &s));
    join_signs(motion, model->skeleton.joint_count);
    for (uint32_t l = 0; l < character->level_count; l++)
        if (character->levels[l].dual)
            join_duals(motion, &character->levels[l], index);
    return PELT_OK;
}

/* ---- All motions ------------------------------------------------------------------------------------------ */

static pelt_result sample_character(pelt_crowd *crowd, px_crowd_character *character, double fps) {
    const pelt_model *model = character->levels[0].model;
    size_t motion_count = (size_t)model->motion_count + 1;
    character->motion_count = model->motion_count;
    character->motions = PX_NEW(crowd->memory, px_crowd_motion, motion_count);
    if (!character->motions)
        return PELT_ERROR_MEMORY;
    for (uint32_t l = 0; l < character->level_count; l++) {
        character->levels[l].palettes = PX_NEW(crowd->memory, float *, motion_count);
        character->levels[l].stretched = PX_NEW(crowd->memory, bool, motion_count);
        if (!character->levels[l].palettes || !character->levels[l].stretched)
            return PELT_ERROR_MEMORY;
    }
    for (uint32_t m = 0; m < model->motion_count; m++)
        PX_TRY(add_motion(crowd, character, &model->motions[m], fps, m));
    return add_motion(crowd, character, NULL, fps, model->motion_count);
}

pelt_result px_crowd_sample(pelt_crowd *crowd, double fps) {
    for (uint32_t c = 0; c < crowd->character_count; c++)
        PX_TRY(sample_character(crowd, &crowd->characters[c], fps));
    return PELT_OK;
}
