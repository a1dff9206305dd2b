/* Driving joints, the parts of their rotations (whole, or swing and twist), and their centres. */
#include "eigenskin/eigenskin.h"

#include <stdlib.h>

/* Noise of rotations around rest, radians. Angles of a joint up to MAX_REST_ANGLE count as 0 if its next larger
 * angle is at least MIN_ANGLE_RATIO times as large. A joint that rotates by less than MIN_DRIVING_ANGLE in all
 * examples does not drive. Captured joints are never exactly at rest, and differences between such rotations carry
 * no information. */
#define MAX_REST_ANGLE    0.07
#define MIN_ANGLE_RATIO   4.0
#define MIN_DRIVING_ANGLE 0.02

/* ---- Rotations -------------------------------------------------------------------------------------------- */

/* Direction of the bone in the joint's space: towards its children, or, without children, away from its parent. */
static void find_axis(const px_eigenskin *e, uint32_t joint, float axis[3]) {
    const pelt_skeleton *skeleton = &e->model->skeleton;
    double sum[3] = {0};
    for (uint32_t j = joint + 1; j < skeleton->joint_count; j++)
        for (int a = 0; a < 3 && skeleton->parents[j] == joint; a++)
            sum[a] += (double)skeleton->rest[j].translation[a];
    if (!(px_length3(sum) > 0)) {
        for (int a = 0; a < 3; a++)
            sum[a] = (double)skeleton->rest[joint].translation[a];
        px_rotation_apply(px_rotation_inverse(px_rotation_of(px_eigenskin_rest(e, joint))), sum, sum);
    }
    double length = px_length3(sum);
    for (int a = 0; a < 3; a++)
        axis[a] = length > 0 ? (float)(sum[a] / length) : a == 1;
}

static pelt_result add_part(px_eigenskin *e, px_bend *bend, pelt_rotation_part kind) {
    px_part *part = &bend->parts[bend->part_count++];
    part->part = kind;
    find_axis(e, bend->joint, part->axis);
    if (!(part->rotations = PX_NEW(e->scratch, px_rotation, e->example_count)))
        return PELT_ERROR_MEMORY;
    const pelt_skeleton *skeleton = &e->model->skeleton;
    px_rotation rest = px_driver_local(skeleton, skeleton->rest, bend->joint, bend->against);
    for (uint32_t x = 0; x < e->example_count; x++)
        part->rotations[x] = px_driver_rotation(
            rest, px_driver_local(skeleton, e->examples[x].locals, bend->joint, bend->against), kind, part->axis);
    return PELT_OK;
}

static double angle_from_rest(px_rotation a) {
    return px_driver_angle(a, px_rotation_identity());
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sets rotations that differ from rest only by noise to rest, unless desc.exact. Returns the largest angle. `angles`
 * [example]: scratch. */
static double settle_part(const px_eigenskin *e, px_part *part, double *angles) {
    double noise = 0;
    for (uint32_t x = 0; x < e->example_count; x++)
        angles[x] = angle_from_rest(part->rotations[x]);
    px_sort(angles, e->example_count, sizeof *angles, compare_doubles);
    for (uint32_t x = 0; x + 1 < e->example_count && angles[x] <= MAX_REST_ANGLE; x++)
        noise = angles[x + 1] >= MIN_ANGLE_RATIO * angles[x] ? angles[x] : noise;
    for (uint32_t x = 0; !e->desc.exact && x < e->example_count; x++)
        if (angle_from_rest(part->rotations[x]) <= noise)
            part->rotations[x] = px_rotation_identity();
    return angles[e->example_count - 1];
}

static pelt_result add_bend(px_eigenskin *e, uint32_t joint, uint32_t with, uint32_t against, double *angles) {
    px_bend *bend = &e->bends[e->bend_count];
    *bend = (px_bend){.joint = joint, .with = with, .against = against, .gain = 1};
    PX_TRY(add_part(e, bend, e->desc.split ? PELT_ROTATION_SWING : PELT_ROTATION_WHOLE));
    if (e->desc.split)
        PX_TRY(add_part(e, bend, PELT_ROTATION_TWIST));
    double most = 0;
    for (uint32_t n = 0; n < bend->part_count; n++)
        most = px_fmax(most, settle_part(e, &bend->parts[n], angles));
    e->bend_count += most > (e->desc.exact ? PX_ANGLE_TOLERANCE : MIN_DRIVING_ANGLE);
    return PELT_OK;
}

/* Number of examples in which two bends rotate. */
static uint32_t count_both(const px_eigenskin *e, const px_bend *a, const px_bend *b) {
    uint32_t count = 0;
    for (uint32_t x = 0; x < e->example_count; x++) {
        bool turned[2] = {false, false};
        for (uint32_t n = 0; n < a->part_count; n++) {
            turned[0] |= angle_from_rest(a->parts[n].rotations[x]) > PX_ANGLE_TOLERANCE;
            turned[1] |= angle_from_rest(b->parts[n].rotations[x]) > PX_ANGLE_TOLERANCE;
        }
        count += turned[0] && turned[1];
    }
    return count;
}

/* Pairs of a joint and the driving joint above it that rotate together in PX_MIN_POSES examples or more: the rotation of
 * both, against the joint above them. Its kernels are functions of two joints that no sum of functions of each is. */
static pelt_result add_pairs(px_eigenskin *e, double *angles) {
    for (uint32_t j = 0; j < e->single_count; j++)
        for (uint32_t k = 0; k < j; k++) {
            const px_bend *low = &e->bends[j], *high = &e->bends[k];
            uint32_t above = e->hierarchy.above[high->joint];
            if (e->hierarchy.above[low->joint] == high->joint && low->against == PELT_NONE &&
                high->against == PELT_NONE && above != PELT_NONE && count_both(e, low, high) >= PX_MIN_POSES)
                PX_TRY(add_bend(e, low->joint, high->joint, above, angles));
        }
    return PELT_OK;
}

/* ---- Poses ------------------------------------------------------------------------------------------------ */

/* Returns true if two examples have the same pose; y PELT_NONE: the rest pose. */
static bool are_same(const px_eigenskin *e, uint32_t x, uint32_t y) {
    for (uint32_t j = 0; j < e->bend_count; j++)
        for (uint32_t n = 0; n < e->bends[j].part_count; n++) {
            const px_rotation *r = e->bends[j].parts[n].rotations;
            if (px_driver_angle(r[x], y != PELT_NONE ? r[y] : px_rotation_identity()) > PX_ANGLE_TOLERANCE)
                return false;
        }
    return true;
}

/* Numbers the distinct poses; `firsts` [pose]: the first example of each. */
static pelt_result find_poses(px_eigenskin *e, uint32_t *firsts) {
    for (uint32_t x = 0; x < e->example_count; x++) {
        uint32_t pose = 0;
        e->example_poses[x] = PELT_NONE;
        if (are_same(e, x, PELT_NONE)) {
            e->rest_count++;
            continue;
        }
        while (pose < e->pose_count && !are_same(e, x, firsts[pose]))
            pose++;
        if (pose < e->pose_count && e->desc.exact)
            return px_fail(e->context, PELT_ERROR_INPUT,
                           "examples '%s' and '%s' have the same pose: no joint that drives differs; leave one out, or "
                           "do without exact",
                           e->examples[firsts[pose]].name, e->examples[x].name);
        if (pose == e->pose_count)
            firsts[e->pose_count++] = x;
        e->example_poses[x] = pose;
        e->pose_examples[pose]++;
    }
    return PELT_OK;
}

/* Merges examples with the same pose: rotations [example] become [pose]. */
static pelt_result merge_examples(px_eigenskin *e) {
    uint32_t *firsts = PX_NEW(e->scratch, uint32_t, e->example_count);
    e->example_poses = PX_NEW(e->scratch, uint32_t, e->example_count);
    e->pose_examples = PX_NEW(e->scratch, double, e->example_count);
    if (!firsts || !e->example_poses || !e->pose_examples)
        return PELT_ERROR_MEMORY;
    PX_TRY(find_poses(e, firsts));
    for (uint32_t j = 0; j < e->bend_count; j++)
        for (uint32_t n = 0; n < e->bends[j].part_count; n++)
            for (uint32_t p = 0; p < e->pose_count; p++)
                e->bends[j].parts[n].rotations[p] = e->bends[j].parts[n].rotations[firsts[p]];
    return PELT_OK;
}

/* ---- Centres ---------------------------------------------------------------------------------------------- */

/* Farthest-point sampling: the rest pose, then repeatedly the pose farthest from all centres. `far` [pose]: scratch. */
static void choose_centres(const px_eigenskin *e, px_bend *bend, px_part *part, double *far) {
    px_rotation last = px_rotation_identity();
    part->first_centre = bend->centre_count;
    for (uint32_t p = 0; p < e->pose_count; p++)
        far[p] = INFINITY;
    for (;;) {
        px_rotation_store(last, bend->centres + 4 * (size_t)bend->centre_count++);
        part->centre_count++;
        uint32_t next = 0;
        for (uint32_t p = 0; p < e->pose_count; p++) {
            far[p] = px_fmin(far[p], px_driver_angle(last, part->rotations[p]));
            next = far[p] > far[next] ? p : next;
        }
        if (!(far[next] > PX_ANGLE_TOLERANCE) || part->centre_count == e->desc.centres)
            return;
        last = part->rotations[next];
    }
}

static pelt_result add_centres(px_eigenskin *e, px_bend *bend, double *far) {
    size_t most = 2 * px_min_size(e->desc.centres, (size_t)e->pose_count + 1);
    if (!(bend->centres = PX_NEW(e->scratch, float, 4 * most)))
        return PELT_ERROR_MEMORY;
    for (uint32_t n = 0; n < bend->part_count; n++)
        choose_centres(e, bend, &bend->parts[n], far);
    for (uint32_t p = 0; p < e->pose_count; p++) {
        bool turned = false;
        for (uint32_t n = 0; n < bend->part_count; n++)
            turned |= angle_from_rest(bend->parts[n].rotations[p]) > PX_ANGLE_TOLERANCE;
        bend->turned += turned;
    }
    return PELT_OK;
}

pelt_result px_eigenskin_find_bends(px_eigenskin *e) {
    PX_TRY(px_eigenskin_find_hierarchy(e));
    double *far = PX_NEW(e->scratch, double, e->example_count);
    e->bends = PX_NEW(e->scratch, px_bend, 2 * (size_t)e->model->skeleton.joint_count);
    if (!far || !e->bends)
        return PELT_ERROR_MEMORY;
    for (uint32_t j = 0; j < e->model->skeleton.joint_count; j++)
        if (e->hierarchy.drives[j])
            PX_TRY(add_bend(e, j, PELT_NONE, e->hierarchy.against[j], far));
    e->single_count = e->bend_count;
    if (e->bend_count == 0)
        return px_fail(e->context, PELT_ERROR_INPUT,
                       "no joint turns against another in the examples, so nothing can drive corrections");
    if (e->desc.coupled)
        PX_TRY(add_pairs(e, far));
    PX_TRY(merge_examples(e));
    for (uint32_t j = 0; j < e->bend_count; j++)
        PX_TRY(add_centres(e, &e->bends[j], far));
    return PELT_OK;
}
