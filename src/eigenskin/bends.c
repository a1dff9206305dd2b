/* Joints that drive: which, what of their rotations, and the poses of each that become centres. */
#include "eigenskin/eigenskin.h"

/* An example in the rest pose may be off by this part of the size: files have few digits. */
#define REST_TOLERANCE 1e-4

/* ---- Which joints ----------------------------------------------------------------------------------------- */

pelt_result px_eigenskin_weighted(const px_eigenskin *e, uint8_t **out) {
    const pelt_skin *skin = &e->model->skin;
    uint8_t *weighted = PX_NEW(e->scratch, uint8_t, e->model->skeleton.joint_count);
    if (!weighted)
        return PELT_ERROR_MEMORY;
    size_t count = (size_t)e->mesh.vertex_count * skin->influence_count;
    for (size_t n = 0; n < count; n++)
        if (skin->weights[n] > 0)
            weighted[skin->bone_joints[skin->bones[n]]] = 1;
    *out = weighted;
    return PELT_OK;
}

uint32_t px_eigenskin_above(const px_eigenskin *e, const uint8_t *weighted, uint32_t joint) {
    const uint32_t *parents = e->model->skeleton.parents;
    do
        joint = parents[joint];
    while (joint != PELT_NONE && !weighted[joint]);
    return joint;
}

/* Marks [joint] of those with weight above them, and at or below them. */
static pelt_result find_driving(const px_eigenskin *e, uint8_t **out) {
    const pelt_skeleton *skeleton = &e->model->skeleton;
    uint8_t *weighted;
    PX_TRY(px_eigenskin_weighted(e, &weighted));
    uint8_t *driving = PX_NEW(e->scratch, uint8_t, skeleton->joint_count);
    if (!driving)
        return PELT_ERROR_MEMORY;
    memcpy(driving, weighted, skeleton->joint_count);
    for (uint32_t j = skeleton->joint_count; j-- > 0;)
        if (driving[j] && skeleton->parents[j] != PELT_NONE)
            driving[skeleton->parents[j]] = 1;
    for (uint32_t j = 0; j < skeleton->joint_count; j++)
        driving[j] = driving[j] && px_eigenskin_above(e, weighted, j) != PELT_NONE;
    *out = driving;
    return PELT_OK;
}

/* ---- What of their rotations ------------------------------------------------------------------------------ */

/* Where the bone points, in the joint's own space: to its children, or on from its parent. */
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
    if (!(part->rotations = PX_NEW(e->scratch, px_rotation, e->pose_count)))
        return PELT_ERROR_MEMORY;
    for (uint32_t p = 0; p < e->pose_count; p++)
        part->rotations[p] = px_driver_rotation(px_eigenskin_rest(e, bend->joint),
                                                e->examples[p].locals[bend->joint].rotation, kind, part->axis);
    return PELT_OK;
}

/* ---- Centres ---------------------------------------------------------------------------------------------- */

/* The rest pose, then again and again the pose farthest from all centres, while there are different ones. `far` [pose]
 * is scratch. */
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
            far[p] = fmin(far[p], px_driver_angle(last, part->rotations[p]));
            next = far[p] > far[next] ? p : next;
        }
        if (!(far[next] > PX_SAME_ANGLE))
            return;
        if (part->centre_count == e->desc.centres) {
            bend->cut = true;
            return;
        }
        last = part->rotations[next];
    }
}

static pelt_result add_bend(px_eigenskin *e, uint32_t joint, double *far) {
    px_bend *bend = &e->bends[e->bend_count];
    size_t most = 2 * px_min_size(e->desc.centres, (size_t)e->pose_count + 1);
    *bend = (px_bend){.joint = joint, .centres = PX_NEW(e->scratch, float, 4 * most)};
    if (!bend->centres)
        return PELT_ERROR_MEMORY;
    PX_TRY(add_part(e, bend, e->desc.split ? PELT_ROTATION_SWING : PELT_ROTATION_WHOLE));
    if (e->desc.split)
        PX_TRY(add_part(e, bend, PELT_ROTATION_TWIST));
    for (uint32_t n = 0; n < bend->part_count; n++)
        choose_centres(e, bend, &bend->parts[n], far);
    e->bend_count += bend->centre_count > bend->part_count; /* it moves in some pose */
    return PELT_OK;
}

/* ---- Poses that are the same ------------------------------------------------------------------------------ */

/* Pose q may be P: the rest pose. */
static bool are_same(const px_eigenskin *e, uint32_t p, uint32_t q) {
    for (uint32_t j = 0; j < e->bend_count; j++)
        for (uint32_t n = 0; n < e->bends[j].part_count; n++) {
            const px_rotation *r = e->bends[j].parts[n].rotations;
            if (px_driver_angle(r[p], q < e->pose_count ? r[q] : px_rotation_identity()) > PX_SAME_ANGLE)
                return false;
        }
    return true;
}

static double largest_displacement(const px_eigenskin *e, uint32_t pose) {
    double most = 0;
    for (size_t u = 0; u < e->units.count; u++) {
        px_matrix rows = px_unit_rows(e, e->displacements, u);
        double d[3] = {*px_matrix_at(rows, 0, pose), *px_matrix_at(rows, 1, pose), *px_matrix_at(rows, 2, pose)};
        most = fmax(most, px_length3(d));
    }
    return most;
}

/* What differs from the rest pose by less than is told apart does not differ: no noise is taken for a slope there. */
static void set_to_rest(const px_eigenskin *e, uint32_t pose) {
    for (uint32_t j = 0; j < e->bend_count; j++)
        for (uint32_t n = 0; n < e->bends[j].part_count; n++)
            e->bends[j].parts[n].rotations[pose] = px_rotation_identity();
}

static pelt_result check_poses(const px_eigenskin *e) {
    for (uint32_t p = 0; p < e->pose_count; p++) {
        for (uint32_t q = 0; q < p; q++)
            if (are_same(e, p, q))
                return px_fail(e->context, PELT_ERROR_INPUT,
                               "examples '%s' and '%s' have the same pose: no joint that drives differs; leave one "
                               "out, or regularise",
                               e->examples[q].name, e->examples[p].name);
        if (!are_same(e, p, e->pose_count))
            continue;
        set_to_rest(e, p);
        if (largest_displacement(e, p) > REST_TOLERANCE * e->size)
            return px_fail(e->context, PELT_ERROR_INPUT,
                           "example '%s' has the rest pose but not its shape; leave it out, or regularise",
                           e->examples[p].name);
    }
    return PELT_OK;
}

pelt_result px_eigenskin_find_bends(px_eigenskin *e) {
    uint8_t *driving;
    PX_TRY(find_driving(e, &driving));
    double *far = PX_NEW(e->scratch, double, e->pose_count);
    e->bends = PX_NEW(e->scratch, px_bend, e->model->skeleton.joint_count);
    if (!far || !e->bends)
        return PELT_ERROR_MEMORY;
    for (uint32_t j = 0; j < e->model->skeleton.joint_count; j++)
        if (driving[j])
            PX_TRY(add_bend(e, j, far));
    if (e->bend_count == 0)
        return px_fail(e->context, PELT_ERROR_INPUT,
                       "no joint below another turns in the examples, so nothing can drive corrections");
    return e->desc.regularise > 0 ? PELT_OK : check_poses(e);
}
