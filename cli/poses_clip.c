/* The frames of a clip as examples: a motion tells the poses, the clip the shapes. */
#include "correct.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Two poses are the same when no joint that drives differs by more than this, in radians: examples of one pose with two
 * shapes could not both be met. */
#define SAME_ANGLE 2e-3

typedef struct reader {
    cli_session *session;
    const correct_input *in;
    bool *drives; /* [joint] it bends the skin: it and what is below it have weights, and so has something above it */
    uint32_t left_out;
} reader;

/* ---- Poses ------------------------------------------------------------------------------------------------ */

static void find_drivers(const pelt_model *rig, bool *drives) {
    const pelt_skeleton *skeleton = &rig->skeleton;
    const pelt_skin *skin = &rig->skin;
    bool *weighted = must_alloc(skeleton->joint_count, sizeof *weighted);
    bool *above = must_alloc(skeleton->joint_count, sizeof *above);
    for (size_t e = 0; e < (size_t)rig->mesh.vertex_count * skin->influence_count; e++)
        if (skin->weights[e] > 0)
            weighted[skin->bone_joints[skin->bones[e]]] = true;
    for (uint32_t j = 0; j < skeleton->joint_count; j++)
        if (skeleton->parents[j] != PELT_NONE)
            above[j] = above[skeleton->parents[j]] || weighted[skeleton->parents[j]];
    for (uint32_t j = skeleton->joint_count; j-- > 0;) {
        drives[j] = above[j] && weighted[j];
        if (weighted[j] && skeleton->parents[j] != PELT_NONE)
            weighted[skeleton->parents[j]] = true; /* it, or what is below it */
    }
    free(weighted);
    free(above);
}

static bool same_pose(const reader *r, const pelt_transform *a, const pelt_transform *b) {
    for (uint32_t j = 0; j < r->in->rig->skeleton.joint_count; j++) {
        const float *p = a[j].rotation, *q = b[j].rotation;
        double dot = (double)p[0] * q[0] + (double)p[1] * q[1] + (double)p[2] * q[2] + (double)p[3] * q[3];
        if (r->drives[j] && 2 * acos(fmin(fabs(dot), 1)) > SAME_ANGLE)
            return false;
    }
    return true;
}

static bool is_known(const reader *r, const pose_set *seen, const pelt_transform *locals) {
    if (same_pose(r, locals, r->in->rig->skeleton.rest))
        return true;
    for (uint32_t p = 0; p < seen->count; p++)
        if (same_pose(r, locals, seen->items[p].locals))
            return true;
    return false;
}

/* ---- Frames ----------------------------------------------------------------------------------------------- */

static pelt_result read_shape(const reader *r, uint32_t frame, float *positions) {
    const pelt_mesh *mesh = &r->in->rig->mesh;
    float *points = must_alloc(r->in->clip.point_count, 3 * sizeof *points);
    pelt_result result = pelt_clip_read(r->session->context, &r->in->clip, frame, 0, r->in->clip.point_count, points);
    for (uint32_t v = 0; result == PELT_OK && v < mesh->vertex_count; v++) {
        size_t point = mesh->vertex_points ? mesh->vertex_points[v] : v;
        memcpy(positions + (size_t)3 * v, points + 3 * point, 3 * sizeof *positions);
    }
    free(points);
    return result;
}

static pelt_result add_frame(reader *r, uint32_t frame, bool held, pose_set *seen, pose_set *unseen) {
    pelt_context *context = r->session->context;
    pelt_model *rig = r->in->rig;
    const pelt_motion *motion = &rig->motions[r->in->motion];
    const float *times = r->in->clip.times;
    pelt_transform *locals = pelt_model_alloc(context, rig, rig->skeleton.joint_count, sizeof *locals);
    if (!locals)
        return PELT_ERROR_MEMORY;
    double time = (double)motion->start + ((double)times[frame] - (double)times[0]);
    pelt_motion_sample(rig, motion, (float)time, locals, NULL);
    if (!held && is_known(r, seen, locals)) {
        r->left_out++;
        return PELT_OK;
    }
    float *positions = pelt_model_alloc(context, rig, rig->mesh.vertex_count, 3 * sizeof *positions);
    char *name = must_format("frame %u", frame);
    const char *kept = pelt_model_text(context, rig, name);
    free(name);
    if (!positions || !kept)
        return PELT_ERROR_MEMORY;
    pose_set *to = held ? unseen : seen;
    to->items[to->count++] = (pelt_pose_example){kept, locals, positions, NULL};
    return read_shape(r, frame, positions);
}

exit_code poses_of_clip(cli_session *session, const correct_input *in, uint32_t hold_out, pose_set *seen,
                        pose_set *unseen) {
    reader r = {.session = session, .in = in};
    uint32_t count = in->clip.frame_count;
    if (in->motion == PELT_NONE) {
        say(session, MESSAGE_ERROR, "%s: has no motion that would tell the pose of every frame", in->rig->path);
        return EXIT_INPUT;
    }
    *seen = *unseen = (pose_set){0};
    seen->items = pelt_model_alloc(session->context, in->rig, count, sizeof *seen->items);
    unseen->items = pelt_model_alloc(session->context, in->rig, count, sizeof *unseen->items);
    pelt_result result = seen->items && unseen->items ? PELT_OK : PELT_ERROR_MEMORY;
    r.drives = must_alloc(in->rig->skeleton.joint_count, sizeof *r.drives);
    find_drivers(in->rig, r.drives);
    for (uint32_t k = 0; result == PELT_OK && k < count; k++)
        result = add_frame(&r, k, hold_out && (k + 1) % hold_out == 0, seen, unseen);
    free(r.drives);
    if (result != PELT_OK)
        return session_fail(session, result);
    if (r.left_out)
        warn(session, "left out of %u frames: %u in the rest pose or in the pose of an earlier one", count, r.left_out);
    return EXIT_DONE;
}
