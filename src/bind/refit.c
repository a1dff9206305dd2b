/* Applies a fit to the joints of the subject and to rest pose and motions of a rig. Scale is applied to translations,
 * so that no joint gets a scale; roots also get rotation and translation. */
#include "bind/fit.h"
#include "core/math3.h"
#include "core/rotation.h"

static px_similarity similarity_of(const pelt_bind_fit *fit) {
    return px_similarity_of(fit->scale, fit->rotation, fit->translation);
}

/* moves [joint]: its tree contains targets. Meshes and cameras beside the skeleton stay in place. */
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
                            const px_bind_subject *subject, pelt_transform **rest, pelt_motion **motions) {
    const pelt_model *rig = subject->rig;
    bool *moves = find_moving(arena, subject);
    *rest = PX_NEW(arena, pelt_transform, rig->skeleton.joint_count);
    if (!moves || !*rest)
        return PELT_ERROR_MEMORY;
    const px_similarity s = similarity_of(fit);
    px_similarity_rest(&s, &rig->skeleton, moves, pose ? pose : rig->skeleton.rest, *rest);
    return px_similarity_motions(arena, &s, moves, 0, rig, motions);
}

/* Transforms one bind-pose joint of a rig that was not posed. The rotation part gets no scale. */
static pelt_affine map_joint(const pelt_bind_fit *fit, const pelt_affine *joint) {
    pelt_transform t = {.scale = {1, 1, 1}};
    memcpy(t.rotation, fit->rotation, sizeof t.rotation);
    pelt_affine r = px_affine_from_transform(&t), out = px_affine_mul(&r, joint);
    const px_similarity s = similarity_of(fit);
    double place[3] = {joint->m[3], joint->m[7], joint->m[11]}, to[3];
    px_similarity_map(&s, place, to);
    for (int c = 0; c < 3; c++)
        out.m[4 * c + 3] = (float)to[c];
    return out;
}

pelt_result px_bind_fit_joints(px_arena *arena, const pelt_bind_fit *fit, const pelt_transform *rest,
                               px_bind_subject *subject) {
    bool *moves = find_moving(arena, subject);
    if (!moves)
        return PELT_ERROR_MEMORY;
    if (fit->posed)
        pelt_skeleton_globals(&subject->rig->skeleton, rest, subject->joints);
    else
        for (uint32_t j = 0; j < subject->rig->skeleton.joint_count; j++)
            if (moves[j])
                subject->joints[j] = map_joint(fit, &subject->joints[j]);
    return PELT_OK;
}
