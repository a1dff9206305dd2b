/* Merges a rig's skeleton and motions with those of another model: see px_rig_join. */
#include "weights/weights.h"

#include <math.h>

/* Numbers the joints to copy, from `next` on. Nodes that only hold meshes are not copied. Returns the next free
 * number. */
static uint32_t number_joints(const pelt_model *from, uint32_t next, uint32_t *joints) {
    const pelt_skeleton *skeleton = &from->skeleton;
    enum { KEPT, SHOWS };
    for (uint32_t j = 0; j < skeleton->joint_count; j++)
        joints[j] = KEPT;
    for (uint32_t p = 0; p < from->mesh.part_count; p++)
        if (from->mesh.parts[p].joint != PELT_NONE)
            joints[from->mesh.parts[p].joint] = SHOWS;
    for (uint32_t b = 0; b < from->skin.bone_count; b++)
        joints[from->skin.bone_joints[b]] = KEPT;
    for (uint32_t j = skeleton->joint_count; j-- > 0;) /* children come after their parents */
        if (joints[j] == KEPT && skeleton->parents[j] != PELT_NONE)
            joints[skeleton->parents[j]] = KEPT;
    for (uint32_t j = 0; j < skeleton->joint_count; j++)
        joints[j] = joints[j] == KEPT ? next++ : PELT_NONE;
    return next;
}

static pelt_result join_skeletons(px_arena *arena, const pelt_skeleton *to, const pelt_skeleton *from,
                                  uint32_t joint_count, px_joined_rig *out) {
    pelt_skeleton s = {.joint_count = joint_count,
                       .names = PX_NEW(arena, const char *, joint_count),
                       .parents = PX_NEW(arena, uint32_t, joint_count),
                       .rest = PX_NEW(arena, pelt_transform, joint_count)};
    if (!s.names || !s.parents || !s.rest)
        return PELT_ERROR_MEMORY;
    for (uint32_t j = 0; j < to->joint_count; j++) {
        s.names[j] = to->names[j];
        s.parents[j] = to->parents[j];
        s.rest[j] = to->rest[j];
    }
    for (uint32_t j = 0; j < from->joint_count; j++) {
        uint32_t at = out->joints[j], parent = from->parents[j];
        if (at == PELT_NONE)
            continue;
        if (!(s.names[at] = px_arena_text(arena, from->names[j], strlen(from->names[j]))))
            return PELT_ERROR_MEMORY;
        s.parents[at] = parent == PELT_NONE ? PELT_NONE : out->joints[parent];
        s.rest[at] = from->rest[j];
    }
    out->skeleton = s;
    return PELT_OK;
}

/* Copies the tracks of copied joints. Morphs are not copied, so weight tracks are dropped. */
static pelt_result copy_motion(px_arena *arena, const pelt_motion *from, const uint32_t *joints, pelt_motion *to) {
    *to = (pelt_motion){.name = px_arena_text(arena, from->name, strlen(from->name)),
                        .start = INFINITY,
                        .end = -INFINITY,
                        .tracks = PX_NEW(arena, pelt_track, from->track_count)};
    if (!to->name || !to->tracks)
        return PELT_ERROR_MEMORY;
    for (uint32_t t = 0; t < from->track_count; t++) {
        pelt_track track = from->tracks[t];
        track.joint = joints[track.joint];
        if (track.joint == PELT_NONE || track.path == PELT_PATH_WEIGHTS)
            continue;
        PX_TRY(px_track_copy(arena, &track));
        to->start = px_fminf(to->start, track.times[0]);
        to->end = px_fmaxf(to->end, track.times[track.key_count - 1]);
        to->tracks[to->track_count++] = track;
    }
    return PELT_OK;
}

pelt_result px_rig_join(px_arena *arena, const pelt_model *to, const pelt_model *from, px_joined_rig *out) {
    *out = (px_joined_rig){.joints = PX_NEW(arena, uint32_t, from->skeleton.joint_count),
                           .motions = PX_NEW(arena, pelt_motion, (size_t)to->motion_count + from->motion_count)};
    if (!out->joints || !out->motions)
        return PELT_ERROR_MEMORY;
    uint32_t joint_count = number_joints(from, to->skeleton.joint_count, out->joints);
    PX_TRY(join_skeletons(arena, &to->skeleton, &from->skeleton, joint_count, out));
    for (; out->motion_count < to->motion_count; out->motion_count++)
        out->motions[out->motion_count] = to->motions[out->motion_count];
    for (uint32_t m = 0; m < from->motion_count; m++) {
        pelt_motion *motion = &out->motions[out->motion_count];
        PX_TRY(copy_motion(arena, &from->motions[m], out->joints, motion));
        out->motion_count += motion->track_count > 0;
    }
    return PELT_OK;
}
