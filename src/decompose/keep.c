/* The rig's skeleton and motions stay, with joints and tracks added for the bones that are not locked. */
#include "decompose/given.h"

/* Where things go. `built` is the model's flat skeleton with all bones of the fit. */
typedef struct keeping {
    const px_given *given;
    const px_fit *fit;
    px_arena *memory; /* the model's */
    px_built *built;
    uint32_t *joints; /* [joint built] its number in the result; PELT_NONE: it is not needed */
} keeping;

/* Joints are numbered behind those of the rig. Returns how many there are then. */
static uint32_t number_joints(keeping *k, uint32_t nodes_a_bone) {
    uint32_t count = k->given->rig->skeleton.joint_count;
    memset(k->joints, 0xFF, k->built->skeleton.joint_count * sizeof *k->joints);
    for (uint32_t bone = 0; bone < k->fit->bone_count; bone++) {
        if (k->fit->lock_motions[bone])
            continue;
        if (k->joints[0] == PELT_NONE)
            k->joints[0] = count++; /* the root of the bones that are not locked */
        uint32_t joint = k->built->skin.bone_joints[bone];
        for (uint32_t node = joint + 1 - nodes_a_bone; node <= joint; node++)
            k->joints[node] = count++;
    }
    return count;
}

static pelt_result keep_skeleton(keeping *k, uint32_t joint_count) {
    const pelt_skeleton *rig = &k->given->rig->skeleton, *built = &k->built->skeleton;
    pelt_skeleton s = {.joint_count = joint_count,
                       .names = PX_NEW(k->memory, const char *, joint_count),
                       .parents = PX_NEW(k->memory, uint32_t, joint_count),
                       .rest = PX_NEW(k->memory, pelt_transform, joint_count)};
    if (!s.names || !s.parents || !s.rest)
        return PELT_ERROR_MEMORY;
    memcpy(s.parents, rig->parents, rig->joint_count * sizeof *s.parents);
    memcpy(s.rest, rig->rest, rig->joint_count * sizeof *s.rest);
    for (uint32_t j = 0; j < rig->joint_count; j++)
        if (!(s.names[j] = px_arena_text(k->memory, rig->names[j], strlen(rig->names[j]))))
            return PELT_ERROR_MEMORY;
    for (uint32_t j = 0; j < built->joint_count; j++) {
        uint32_t to = k->joints[j];
        if (to == PELT_NONE)
            continue;
        s.names[to] = built->names[j];
        s.rest[to] = built->rest[j];
        s.parents[to] = built->parents[j] == PELT_NONE ? PELT_NONE : k->joints[built->parents[j]];
    }
    k->built->skeleton = s;
    return PELT_OK;
}

static void keep_bones(keeping *k) {
    const pelt_skin *rig = &k->given->rig->skin;
    pelt_skin *skin = &k->built->skin;
    for (uint32_t bone = 0; bone < skin->bone_count; bone++) {
        bool locked = k->fit->lock_motions[bone];
        skin->bone_joints[bone] = locked ? rig->bone_joints[bone] : k->joints[skin->bone_joints[bone]];
        if (locked)
            skin->inverse_binds[bone] = rig->inverse_binds[bone];
    }
}

/* Tracks of the rig, bit for bit. Those of morph weights go: the clips have what they did. */
static pelt_result keep_tracks(keeping *k, const pelt_motion *from, pelt_motion *to) {
    for (uint32_t t = 0; t < from->track_count; t++) {
        pelt_track track = from->tracks[t];
        if (track.path == PELT_PATH_WEIGHTS)
            continue;
        PX_TRY(px_track_copy(k->memory, &track));
        to->tracks[to->track_count++] = track;
    }
    return PELT_OK;
}

static void add_tracks(const keeping *k, const pelt_motion *built, pelt_motion *to) {
    for (uint32_t t = 0; t < built->track_count; t++) {
        pelt_track track = built->tracks[t];
        track.joint = k->joints[track.joint];
        if (track.joint == PELT_NONE)
            continue;
        float first = track.times[0], last = track.times[track.key_count - 1];
        to->start = first < to->start ? first : to->start;
        to->end = last > to->end ? last : to->end;
        to->tracks[to->track_count++] = track;
    }
}

/* All motions of the rig; those of clips are extended. */
static pelt_result keep_motions(keeping *k, uint32_t clip_count) {
    const pelt_model *rig = k->given->rig;
    pelt_motion *motions = PX_NEW(k->memory, pelt_motion, rig->motion_count);
    if (!motions)
        return PELT_ERROR_MEMORY;
    for (uint32_t m = 0; m < rig->motion_count; m++) {
        const pelt_motion *from = &rig->motions[m], *built = NULL;
        for (uint32_t c = 0; c < clip_count && !built; c++)
            built = k->given->motions[c] == m ? &k->built->motions[c] : NULL;
        pelt_motion *to = &motions[m];
        to->name = px_arena_text(k->memory, from->name, strlen(from->name));
        to->start = from->start;
        to->end = from->end;
        to->tracks = PX_NEW(k->memory, pelt_track, (size_t)from->track_count + (built ? built->track_count : 0));
        if (!to->name || !to->tracks)
            return PELT_ERROR_MEMORY;
        PX_TRY(keep_tracks(k, from, to));
        if (built)
            add_tracks(k, built, to);
        else if (k->joints[0] != PELT_NONE)
            px_log(k->fit->context, PELT_LOG_WARNING, "motion '%s' has no clip: bones that are not locked rest in it",
                   to->name);
    }
    k->built->motions = motions;
    k->built->motion_count = rig->motion_count;
    return PELT_OK;
}

pelt_result px_given_keep(const px_given *given, const px_fit *fit, const pelt_model *model, px_built *built) {
    uint32_t nodes_a_bone = fit->kind == PELT_TRANSFORMS_AFFINE ? 2 : 1, clip_count = built->motion_count;
    keeping k = {.given = given, .fit = fit, .memory = model->memory, .built = built};
    k.joints = PX_NEW(fit->arena, uint32_t, built->skeleton.joint_count);
    if (!k.joints)
        return PELT_ERROR_MEMORY;
    uint32_t joint_count = number_joints(&k, nodes_a_bone);
    PX_TRY(keep_motions(&k, clip_count));
    PX_TRY(keep_skeleton(&k, joint_count));
    keep_bones(&k);
    bool same = given->rig == model && joint_count == model->skeleton.joint_count && model->morphs.morph_count == 0;
    if (same)
        built->changed &= ~(uint32_t)(PELT_CHANGED_SKELETON | PELT_CHANGED_MOTIONS | PELT_CHANGED_MORPHS);
    return PELT_OK;
}
