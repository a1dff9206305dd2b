/* Motions in which volumes are measured. */
#include "volume_poses.h"

#include "core/context.h"
#include "core/rotation.h"

#include <pelt/io.h>
#include <pelt/retarget.h>
#include <pelt/run.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BEND_FRAMES 21u
#define FRAMES_MOST 200u /* of a motion: spread over it */
#define SKIPPED     0.05 /* seconds: captures begin with a T-pose */

const char *volume_data(void) {
    static const char *const folders[] = {"../shared/data", "../../shared/data", "/work/shared/data"};
    const char *own = getenv("PELT_DATA");
    for (size_t f = 0; !own && f < 3; f++)
        if (access(folders[f], R_OK) == 0)
            own = folders[f];
    return own ? own : folders[0];
}

/* ---- Bends ------------------------------------------------------------------------------------------------ */

static void place_of(const pelt_affine *globals, uint32_t joint, double out[3]) {
    for (int c = 0; c < 3; c++)
        out[c] = (double)globals[joint].m[4 * c + 3];
}

static double dot3(const double a[3], const double b[3]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross3(const double a[3], const double b[3], double out[3]) {
    for (int c = 0; c < 3; c++)
        out[c] = a[(c + 1) % 3] * b[(c + 2) % 3] - a[(c + 2) % 3] * b[(c + 1) % 3];
}

static void set_bend(volume_motion *m, uint32_t joint, const double axis[3], double degrees) {
    double length = sqrt(dot3(axis, axis));
    for (int c = 0; c < 3; c++)
        m->axes[joint][c] = (float)(axis[c] / (length > 0 ? length : 1));
    m->axes[joint][3] = (float)degrees;
}

static bool name_has(const char *name, const char *word) {
    for (; *name; name++) {
        size_t k = 0;
        while (word[k] && tolower((unsigned char)name[k]) == word[k])
            k++;
        if (!word[k])
            return true;
    }
    return false;
}

static bool is_finger(const char *name) {
    static const char *const words[] = {"thumb", "index", "middle", "ring", "pinky", "little", "finger"};
    for (size_t w = 0; w < sizeof words / sizeof words[0]; w++)
        if (name_has(name, words[w]))
            return true;
    return false;
}

static uint32_t child_of(const pelt_skeleton *s, uint32_t joint) {
    for (uint32_t j = joint + 1; j < s->joint_count; j++)
        if (s->parents[j] == joint)
            return j;
    return PELT_NONE;
}

/* Fingers curl about the line across the knuckles, towards the wrist. */
static void bend_fingers(volume_motion *m, const pelt_affine *globals) {
    const pelt_skeleton *s = &m->rig->skeleton;
    for (uint32_t j = 0; j < s->joint_count; j++) {
        uint32_t child = child_of(s, j), hand = s->parents[j], tip = j, other = PELT_NONE;
        if (!is_finger(s->names[j]) || child == PELT_NONE || name_has(s->names[j], "metacarpal"))
            continue;
        uint32_t base = j;
        while (hand != PELT_NONE && is_finger(s->names[hand])) {
            base = hand;
            hand = s->parents[hand];
        }
        while (child_of(s, tip) != PELT_NONE)
            tip = child_of(s, tip);
        for (uint32_t k = 0; k < s->joint_count; k++) /* the finger next to it */
            if (hand != PELT_NONE && k != base && s->parents[k] == hand && is_finger(s->names[k]) &&
                !name_has(s->names[k], "thumb"))
                other = k;
        if (other == PELT_NONE)
            continue;
        double a[3], b[3], along[3], across[3], axis[3], up[3], root[3], end[3];
        place_of(globals, j, a);
        place_of(globals, child, b);
        place_of(globals, base, root);
        place_of(globals, other, across);
        place_of(globals, tip, end);
        for (int c = 0; c < 3; c++) {
            along[c] = b[c] - a[c];
            across[c] -= root[c];
            end[c] -= a[c];
            root[c] -= a[c];
        }
        if (j == base)
            for (int c = 0; c < 3; c++)
                root[c] = -along[c];
        cross3(along, across, up);
        cross3(up, along, axis);
        cross3(axis, end, up); /* where the tip goes; towards the palm, as it is curled at rest */
        (void)root;
        double sum = 0, bent[3], first[3];
        for (int c = 0; c < 3; c++)
            first[c] = end[c] - along[c];
        cross3(along, first, bent);
        sum = dot3(bent, axis);
        set_bend(m, j, axis, sum < 0 ? -75 : 75);
    }
}

static const char *const captured = "mocap-cmu-bvh/009/09_06.bvh"; /* its skeleton uses the joint names of a body */

static pelt_result bend_legs(pelt_context *context, volume_motion *m, const pelt_affine *globals) {
    static const char *const names[] = {"LeftUpLeg", "RightUpLeg", "LeftLeg", "RightLeg", "LeftFoot", "LeftToeBase"};
    char path[1024];
    const char *const paths[] = {path};
    pelt_model *source = NULL;
    uint32_t joints[6];
    snprintf(path, sizeof path, "%s/%s", volume_data(), captured);
    PX_TRY(pelt_load(context, paths, 1, NULL, &source));
    pelt_joint_match *matches = calloc(m->rig->skeleton.joint_count + 1, sizeof *matches);
    pelt_result result =
        matches ? pelt_match_joints(context, &m->rig->skeleton, &source->skeleton, NULL, matches) : PELT_ERROR_MEMORY;
    for (size_t n = 0; n < 6; n++) {
        joints[n] = PELT_NONE;
        for (uint32_t j = 0; result == PELT_OK && j < m->rig->skeleton.joint_count; j++)
            if (matches[j].joint != PELT_NONE && strcmp(source->skeleton.names[matches[j].joint], names[n]) == 0)
                joints[n] = j;
    }
    free(matches);
    pelt_model_destroy(source);
    if (result != PELT_OK)
        return result;
    for (size_t n = 0; n < 6; n++)
        if (joints[n] == PELT_NONE)
            return px_fail(context, PELT_ERROR_INPUT, "no joint of the rig is like %s", names[n]);
    double left[3], right[3], knee[3], foot[3], toe[3], forward[3], turned[3];
    place_of(globals, joints[0], left);
    place_of(globals, joints[1], right);
    place_of(globals, joints[2], knee);
    place_of(globals, joints[4], foot);
    place_of(globals, joints[5], toe);
    for (int c = 0; c < 3; c++) {
        knee[c] -= left[c];
        right[c] -= left[c];
        forward[c] = toe[c] - foot[c];
    }
    cross3(right, knee, turned);
    double side = dot3(turned, forward) < 0 ? -1 : 1;
    for (size_t n = 0; n < 4; n++)
        set_bend(m, joints[n], right, side * (n < 2 ? 100 : -90));
    return PELT_OK;
}

static pelt_result make_bend(pelt_context *context, const char *name, volume_motion *m) {
    const pelt_skeleton *s = &m->rig->skeleton;
    pelt_affine *globals = calloc(s->joint_count + 1, sizeof *globals);
    m->axes = calloc(s->joint_count + 1, sizeof *m->axes);
    m->frame_count = BEND_FRAMES;
    if (!globals || !m->axes) {
        free(globals);
        return PELT_ERROR_MEMORY;
    }
    pelt_skeleton_globals(s, s->rest, globals);
    pelt_result result = PELT_OK;
    if (strcmp(name, "fist") == 0)
        bend_fingers(m, globals);
    else
        result = bend_legs(context, m, globals);
    free(globals);
    return result;
}

/* ---- Files ------------------------------------------------------------------------------------------------ */

static pelt_result take_file(pelt_context *context, const char *name, volume_motion *m) {
    char path[1024];
    const char *const paths[] = {path};
    pelt_model *source = NULL;
    snprintf(path, sizeof path, access(name, R_OK) == 0 ? "%s%s" : "%s/%s",
             access(name, R_OK) == 0 ? "" : volume_data(), name);
    PX_TRY(pelt_load(context, paths, 1, NULL, &source));
    pelt_joint_match *matches = calloc(m->rig->skeleton.joint_count + 1, sizeof *matches);
    pelt_result result =
        matches ? pelt_match_joints(context, &m->rig->skeleton, &source->skeleton, NULL, matches) : PELT_ERROR_MEMORY;
    if (result == PELT_OK && source->motion_count == 0)
        result = px_fail(context, PELT_ERROR_INPUT, "%s: there is no motion in it", path);
    if (result == PELT_OK)
        result = pelt_retarget(context, source, &source->motions[0], matches, NULL, m->rig, NULL);
    if (result == PELT_OK)
        m->motion = &m->rig->motions[m->rig->motion_count - 1];
    free(matches);
    pelt_model_destroy(source);
    return result;
}

pelt_result volume_motion_open(pelt_context *context, pelt_model *rig, const char *name, volume_motion *out) {
    *out = (volume_motion){.rig = rig};
    if (strcmp(name, "sit") == 0 || strcmp(name, "fist") == 0)
        return make_bend(context, name, out);
    if (strncmp(name, "own:", 4) == 0) {
        for (uint32_t k = 0; k < rig->motion_count; k++)
            if (strcmp(rig->motions[k].name, name + 4) == 0)
                out->motion = &rig->motions[k];
        if (!out->motion)
            return px_fail(context, PELT_ERROR_INPUT, "there is no motion '%s'", name + 4);
    } else
        PX_TRY(take_file(context, name, out));
    double skipped = name[0] == 'o' ? 0 : SKIPPED, length = (double)out->motion->end - (double)out->motion->start;
    out->start = (double)out->motion->start + skipped;
    out->frame_count = (uint32_t)fmin(fmax(ceil((length - skipped) * 30), 2), FRAMES_MOST);
    out->step = (length - skipped) / (out->frame_count - 1);
    return PELT_OK;
}

void volume_motion_close(volume_motion *motion) {
    free(motion->axes);
}

/* In the world at rest a joint turns by its axis in the space of its turned parent: local = P⁻¹ · turn · P · rest. */
void volume_motion_sample(const volume_motion *m, uint32_t frame, pelt_transform *locals) {
    const pelt_skeleton *s = &m->rig->skeleton;
    if (m->motion) {
        pelt_motion_sample(m->rig, m->motion, (float)(m->start + frame * m->step), locals, NULL);
        return;
    }
    memcpy(locals, s->rest, s->joint_count * sizeof *locals);
    for (uint32_t j = 0; j < s->joint_count; j++) {
        const float *axis = m->axes[j];
        if (axis[3] == 0)
            continue;
        px_rotation parent = px_rotation_identity();
        for (uint32_t k = s->parents[j]; k != PELT_NONE; k = s->parents[k])
            parent = px_rotation_mul(px_rotation_of(s->rest[k].rotation), parent);
        double half = (double)axis[3] * frame / (BEND_FRAMES - 1.0) * PX_DEGREE / 2;
        px_rotation turn = {
            {sin(half) * (double)axis[0], sin(half) * (double)axis[1], sin(half) * (double)axis[2], cos(half)}};
        px_rotation local = px_rotation_mul(px_rotation_mul(px_rotation_mul(px_rotation_inverse(parent), turn), parent),
                                            px_rotation_of(s->rest[j].rotation));
        px_rotation_store(local, locals[j].rotation);
    }
}
