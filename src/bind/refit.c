/* A fit applied: joints of the subject, rest pose and motions of a rig. Scale goes into translations, so that no joint
 * gets a scale; roots are turned and moved too. */
#include "bind/fit.h"
#include "core/math3.h"
#include "core/rotation.h"

static void map_place(const pelt_bind_fit *fit, const float p[3], bool is_root, bool is_place, float out[3]) {
    double from[3] = {p[0], p[1], p[2]}, to[3] = {p[0], p[1], p[2]};
    if (is_root)
        px_rotation_apply(px_rotation_of(fit->rotation), from, to);
    for (int c = 0; c < 3; c++)
        out[c] = (float)(fit->scale * to[c] + (is_root && is_place ? fit->translation[c] : 0));
}

static void turn(const pelt_bind_fit *fit, float q[4]) {
    px_rotation r = px_rotation_mul(px_rotation_of(fit->rotation), px_rotation_of(q));
    for (int c = 0; c < 4; c++)
        q[c] = (float)r.q[c];
}

/* Keys of a joint that moves; cubic keys have a tangent on either side of the value. */
static pelt_result map_track(px_arena *arena, const pelt_bind_fit *fit, bool is_root, pelt_track *track) {
    if (track->path != PELT_PATH_TRANSLATION && !(track->path == PELT_PATH_ROTATION && is_root))
        return PELT_OK;
    PX_TRY(px_track_copy(arena, track));
    float *values = (float *)(uintptr_t)track->values; /* a copy of our own */
    bool cubic = track->interpolation == PELT_INTERPOLATION_CUBIC;
    size_t count = (size_t)track->key_count * (cubic ? 3 : 1);
    for (size_t k = 0; k < count; k++) {
        if (track->path == PELT_PATH_TRANSLATION)
            map_place(fit, values + 3 * k, is_root, !cubic || k % 3 == 1, values + 3 * k);
        else
            turn(fit, values + 4 * k);
    }
    return PELT_OK;
}

static pelt_result map_motions(px_arena *arena, const pelt_bind_fit *fit, const bool *moves, pelt_model *rig) {
    pelt_motion *motions = PX_NEW(arena, pelt_motion, rig->motion_count);
    if (!motions)
        return PELT_ERROR_MEMORY;
    for (uint32_t m = 0; m < rig->motion_count; m++) {
        motions[m] = rig->motions[m];
        motions[m].tracks = PX_NEW(arena, pelt_track, motions[m].track_count);
        if (!motions[m].tracks)
            return PELT_ERROR_MEMORY;
        for (uint32_t t = 0; t < motions[m].track_count; t++) {
            pelt_track *track = &motions[m].tracks[t];
            *track = rig->motions[m].tracks[t];
            if (moves[track->joint])
                PX_TRY(map_track(arena, fit, rig->skeleton.parents[track->joint] == PELT_NONE, track));
        }
    }
    rig->motions = motions;
    return PELT_OK;
}

/* moves [joint]: it is in a tree that has joints for weights. Meshes and cameras beside the skeleton stay. */
static bool *find_moving(px_arena *arena, const px_bind_subject *s) {
    const pelt_skeleton *skeleton = &s->rig->skeleton;
    bool *moves = PX_NEW(arena, bool, skeleton->joint_count);
    for (uint32_t j = skeleton->joint_count; moves && j-- > 0;) { /* children come after their parents */
        moves[j] |= s->joint_targets[j] != PELT_NONE || s->rig != s->model;
        if (moves[j] && skeleton->parents[j] != PELT_NONE)
            moves[skeleton->parents[j]] = true;
    }
    for (uint32_t j = 0; moves && j < skeleton->joint_count; j++)
        if (skeleton->parents[j] != PELT_NONE)
            moves[j] = moves[skeleton->parents[j]];
    return moves;
}

pelt_result px_bind_fit_rig(px_arena *arena, const pelt_bind_fit *fit, const pelt_transform *pose,
                            const px_bind_subject *subject, pelt_model *fitted) {
    const pelt_model *rig = subject->rig;
    bool *moves = find_moving(arena, subject);
    pelt_transform *rest = PX_NEW(arena, pelt_transform, rig->skeleton.joint_count);
    if (!moves || !rest)
        return PELT_ERROR_MEMORY;
    *fitted = *rig;
    memcpy(rest, pose ? pose : rig->skeleton.rest, rig->skeleton.joint_count * sizeof *rest);
    for (uint32_t j = 0; j < rig->skeleton.joint_count; j++) {
        bool is_root = rig->skeleton.parents[j] == PELT_NONE;
        if (!moves[j])
            continue;
        map_place(fit, rest[j].translation, is_root, true, rest[j].translation);
        if (is_root) {
            turn(fit, rest[j].rotation);
            px_quat_normalize(rest[j].rotation);
        }
    }
    fitted->skeleton.rest = rest;
    return map_motions(arena, fit, moves, fitted);
}

/* Joints stand where a skin has them, else as in the fitted rest pose. */
static pelt_affine map_joint(const pelt_bind_fit *fit, const pelt_affine *joint) {
    pelt_transform t = {.scale = {1, 1, 1}};
    memcpy(t.rotation, fit->rotation, sizeof t.rotation);
    pelt_affine r = px_affine_from_transform(&t), out = px_affine_mul(&r, joint);
    float place[3] = {joint->m[3], joint->m[7], joint->m[11]}, to[3];
    map_place(fit, place, true, true, to);
    for (int c = 0; c < 3; c++)
        out.m[4 * c + 3] = to[c];
    return out;
}

pelt_result px_bind_fit_joints(px_arena *arena, const pelt_bind_fit *fit, const pelt_model *fitted,
                               px_bind_subject *subject) {
    bool *moves = find_moving(arena, subject);
    if (!moves)
        return PELT_ERROR_MEMORY;
    if (fit->posed)
        pelt_skeleton_globals(&fitted->skeleton, fitted->skeleton.rest, subject->joints);
    else
        for (uint32_t j = 0; j < fitted->skeleton.joint_count; j++)
            if (moves[j])
                subject->joints[j] = map_joint(fit, &subject->joints[j]);
    return PELT_OK;
}
