/* Relation between the rest poses of rig and motion: axes of the world, scale, directions of limbs. */
#include "retarget/retarget.h"

/* ---- Up axis and facing direction ------------------------------------------------------------------------- */

uint32_t px_bridge_part(const px_bridge *b, const px_rig_pose *rig, px_body_part body, px_body_side side) {
    for (uint32_t j = 0; j < rig->model->skeleton.joint_count; j++)
        if (b->matches[j].joint != PELT_NONE && b->names[j].body == body && b->names[j].side == side)
            return j;
    return PELT_NONE;
}

/* Direction from joint a to joint b; false if they coincide. */
static bool direction(const px_rig_pose *pose, uint32_t a, uint32_t b, double out[3]) {
    double from[3], to[3];
    px_rig_pose_place(pose, a, from);
    px_rig_pose_place(pose, b, to);
    for (int c = 0; c < 3; c++)
        out[c] = to[c] - from[c];
    return px_length3(out) > 0 && isfinite(px_length3(out));
}

/* Unit vectors to the body's left, up and front, from four of its joints; false if these are collinear. */
static bool body_axes(const px_rig_pose *pose, const uint32_t joints[4], double axes[3][3]) {
    double front[3], left[3];
    if (!direction(pose, joints[0], joints[1], axes[1]) || !direction(pose, joints[3], joints[2], left))
        return false;
    px_cross3d(left, axes[1], front);
    px_cross3d(axes[1], front, axes[0]);
    memcpy(axes[2], front, sizeof front);
    for (int a = 0; a < 3; a++) {
        double length = px_length3(axes[a]);
        if (!(length > 0) || !isfinite(length))
            return false;
        for (int c = 0; c < 3; c++)
            axes[a][c] /= length;
    }
    return true;
}

/* The nearest of the 24 rotations by multiples of 90° about the axes. */
static px_rotation nearest_quarter_turns(const double m[9]) {
    double best = -4;
    double chosen[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    for (int first = 0; first < 3; first++)
        for (int odd = 0; odd < 2; odd++)
            for (int signs = 0; signs < 4; signs++) {
                int columns[3] = {first, (first + 1 + odd) % 3, (first + 2 - odd) % 3};
                double sign[3] = {signs & 1 ? -1 : 1, signs & 2 ? -1 : 1, 0}, score = 0;
                sign[2] = sign[0] * sign[1] * (odd ? -1 : 1);
                for (int r = 0; r < 3; r++)
                    score += sign[r] * m[3 * r + columns[r]];
                if (score <= best)
                    continue;
                best = score;
                for (int e = 0; e < 9; e++)
                    chosen[e] = e % 3 == columns[e / 3] ? sign[e / 3] : 0;
            }
    float q[4];
    px_quat_from_matrix(chosen, q);
    return px_rotation_of(q);
}

/* W from the axes of both bodies; the identity for skeletons without a body. */
static void find_world(px_bridge *b, const px_rig_pose *rig, const px_rig_pose *motion) {
    static const px_body_part tops[] = {PX_BODY_HEAD, PX_BODY_NECK, PX_BODY_SPINE};
    static const px_body_part sides[] = {PX_BODY_THIGH, PX_BODY_UPPER_ARM, PX_BODY_CLAVICLE};
    uint32_t joints[4] = {px_bridge_part(b, rig, PX_BODY_HIPS, PX_BODY_MIDDLE), PELT_NONE, PELT_NONE, PELT_NONE},
             partners[4];
    for (size_t t = 0; t < PX_COUNT(tops) && joints[1] == PELT_NONE; t++)
        joints[1] = px_bridge_part(b, rig, tops[t], PX_BODY_MIDDLE);
    for (size_t s = 0; s < PX_COUNT(sides) && (joints[2] == PELT_NONE || joints[3] == PELT_NONE); s++) {
        joints[2] = px_bridge_part(b, rig, sides[s], PX_BODY_LEFT);
        joints[3] = px_bridge_part(b, rig, sides[s], PX_BODY_RIGHT);
    }
    b->world = px_rotation_identity();
    b->up = 1;
    b->up_sign = 1;
    for (int n = 0; n < 4; n++) {
        if (joints[n] == PELT_NONE)
            return;
        partners[n] = b->matches[joints[n]].joint;
    }
    double to[3][3], from[3][3], turn[9];
    if (!body_axes(rig, joints, to) || !body_axes(motion, partners, from))
        return;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            turn[3 * r + c] = to[0][r] * from[0][c] + to[1][r] * from[1][c] + to[2][r] * from[2][c];
    b->world = nearest_quarter_turns(turn);
    for (int c = 0; c < 3; c++)
        if (fabs(to[1][c]) > fabs(to[1][b->up]))
            b->up = c;
    b->up_sign = to[1][b->up] < 0 ? -1 : 1;
}

/* ---- Scale ------------------------------------------------------------------------------------------------ */

/* Ratio of the lengths of the legs, else of all bones between matched joints. */
static double find_scale(const px_bridge *b, const px_rig_pose *rig, const px_rig_pose *motion) {
    double sums[2][2] = {{0}}; /* all, legs; rig, motion */
    for (uint32_t j = 0; j < rig->model->skeleton.joint_count; j++) {
        double mine[3], theirs[3];
        if (b->matches[j].joint == PELT_NONE || b->above[j] == PELT_NONE)
            continue;
        direction(rig, b->above[j], j, mine);
        direction(motion, b->matches[b->above[j]].joint, b->matches[j].joint, theirs);
        bool leg = b->names[j].body == PX_BODY_SHIN || b->names[j].body == PX_BODY_FOOT;
        for (int kind = 0; kind <= leg; kind++) {
            sums[kind][0] += px_length3(mine);
            sums[kind][1] += px_length3(theirs);
        }
    }
    for (int kind = 1; kind >= 0; kind--) {
        double scale = sums[kind][0] / sums[kind][1];
        if (scale > 0 && isfinite(scale))
            return scale;
    }
    return 1;
}

/* ---- Directions of limbs ---------------------------------------------------------------------------------- */

static bool is_limb(px_body_part body) {
    return body == PX_BODY_UPPER_ARM || body == PX_BODY_FOREARM || body == PX_BODY_THIGH || body == PX_BODY_SHIN;
}

/* next [joint]: the joint at the end of a bone that is aligned, or PELT_NONE. In a body only limbs are aligned: spines, hips
 * and feet differ by build, not by pose. Without a body, every bone that does not branch. */
static void find_bones(const px_bridge *b, const px_rig_pose *rig, uint32_t *next, bool *branches) {
    uint32_t count = rig->model->skeleton.joint_count;
    bool body = false;
    for (uint32_t j = 0; j < count; j++) {
        next[j] = PELT_NONE;
        body |= b->matches[j].joint != PELT_NONE && is_limb(b->names[j].body);
    }
    for (uint32_t j = 0; j < count; j++) {
        uint32_t above = b->above[j];
        if (b->matches[j].joint == PELT_NONE || above == PELT_NONE)
            continue;
        bool follows = is_limb(b->names[above].body) && b->names[j].body == b->names[above].body + 1;
        if (body ? !follows : branches[above])
            continue;
        branches[above] = next[above] != PELT_NONE;
        next[above] = branches[above] ? PELT_NONE : j;
    }
}

/* Weighted centroid of the vertices of a joint; false without any. */
static bool weighted_middle(const px_rig_pose *pose, uint32_t joint, double middle[3]) {
    const pelt_model *model = pose->model;
    const pelt_skin *skin = &model->skin;
    size_t count = skin->bone_count ? (size_t)model->mesh.vertex_count * skin->influence_count : 0;
    double sum[4] = {0};
    for (size_t n = 0; n < count; n++) {
        if (!(skin->weights[n] > 0) || skin->bone_joints[skin->bones[n]] != joint)
            continue;
        pelt_affine palette = px_affine_mul(&pose->globals[joint], &skin->inverse_binds[skin->bones[n]]);
        float place[3];
        px_affine_point(&palette, model->mesh.positions + n / skin->influence_count * 3, place);
        for (int c = 0; c < 3; c++)
            sum[c] += (double)(skin->weights[n] * place[c]);
        sum[3] += (double)skin->weights[n];
    }
    for (int c = 0; c < 3; c++)
        middle[c] = sum[c] / sum[3];
    return sum[3] > 0;
}

/* The end of a limb of the motion: its hand or foot, else the last joint of the limb; PELT_NONE: the joint itself. */
static uint32_t limb_end(const px_rig_pose *motion, const px_joint_name *names, px_body_part body, px_body_side side) {
    for (int part = body < PX_BODY_THIGH ? PX_BODY_HAND : PX_BODY_FOOT; part > (int)body; part--)
        for (uint32_t j = 0; j < motion->model->skeleton.joint_count; j++)
            if (names[j].body == (px_body_part)part && names[j].side == side)
                return j;
    return PELT_NONE;
}

/* Directions at rest of a bone of the rig and of the motion. `next` is the joint at its end. The last bone of a limb
 * that lacks joints (a leg without knee) points to the centroid of its vertices, and is aligned with the whole limb. */
static bool bone_directions(const px_bridge *b, const px_rig_pose *rig, const px_rig_pose *motion,
                            const px_joint_name *names, uint32_t j, uint32_t next, double mine[3], double theirs[3]) {
    const px_joint_name *name = &b->names[j];
    bool limb = b->matches[j].joint != PELT_NONE && is_limb(name->body);
    if (next == PELT_NONE && limb)
        next = px_bridge_part(b, rig, name->body + 1, name->side); /* not a child of this bone */
    if (next != PELT_NONE)
        return direction(rig, j, next, mine) && direction(motion, b->matches[j].joint, b->matches[next].joint, theirs);
    uint32_t end = limb ? limb_end(motion, names, name->body, name->side) : PELT_NONE;
    double place[3];
    if (end == PELT_NONE || !direction(motion, b->matches[j].joint, end, theirs) || !weighted_middle(rig, j, mine))
        return false;
    px_rig_pose_place(rig, j, place);
    for (int c = 0; c < 3; c++)
        mine[c] -= place[c];
    return px_length3(mine) > 0 && isfinite(px_length3(mine));
}

/* A of each joint: aligns the bones of the rig at rest with those of the motion, from the hips outwards; children inherit
 * the rotation of their parent. */
static pelt_result find_alignment(px_arena *arena, const px_bridge *b, const px_rig_pose *rig,
                                  const px_rig_pose *motion, bool directions, px_rotation *alignment) {
    uint32_t count = rig->model->skeleton.joint_count;
    uint32_t *next = PX_NEW(arena, uint32_t, count);
    bool *branches = PX_NEW(arena, bool, count);
    px_joint_name *names = PX_NEW(arena, px_joint_name, motion->model->skeleton.joint_count);
    if (!next || !branches || !names)
        return PELT_ERROR_MEMORY;
    px_read_joint_names(&motion->model->skeleton, names);
    find_bones(b, rig, next, branches);
    for (uint32_t j = 0; j < count; j++) {
        alignment[j] = b->above[j] == PELT_NONE ? px_rotation_identity() : alignment[b->above[j]];
        double mine[3], theirs[3];
        if (!directions || !bone_directions(b, rig, motion, names, j, next[j], mine, theirs))
            continue;
        px_rotation_apply(alignment[j], mine, mine);
        px_rotation_apply(b->world, theirs, theirs);
        alignment[j] = px_rotation_mul(px_rotation_between(mine, theirs), alignment[j]);
    }
    return PELT_OK;
}

/* ---- Entry points ----------------------------------------------------------------------------------------- */

pelt_result px_bridge_find(px_arena *arena, const px_rig_pose *rig, const px_rig_pose *motion,
                           const pelt_joint_match *matches, const pelt_retarget_desc *desc, px_bridge *b) {
    const pelt_skeleton *skeleton = &rig->model->skeleton;
    uint32_t count = skeleton->joint_count;
    *b = (px_bridge){.matches = matches,
                     .names = PX_NEW(arena, px_joint_name, count),
                     .above = PX_NEW(arena, uint32_t, count),
                     .after = PX_NEW(arena, px_rotation, count)};
    px_rotation *alignment = PX_NEW(arena, px_rotation, count);
    if (!b->names || !b->above || !b->after || !alignment)
        return PELT_ERROR_MEMORY;
    px_read_joint_names(skeleton, b->names);
    for (uint32_t j = 0; j < count; j++) {
        uint32_t parent = skeleton->parents[j];
        b->above[j] = parent == PELT_NONE || matches[parent].joint != PELT_NONE ? parent : b->above[parent];
    }
    b->hips = px_bridge_part(b, rig, PX_BODY_HIPS, PX_BODY_MIDDLE);
    for (uint32_t j = 0; j < count && b->hips == PELT_NONE; j++)
        b->hips = matches[j].joint != PELT_NONE ? j : PELT_NONE;
    find_world(b, rig, motion);
    b->scale = desc->scale > 0 ? desc->scale : find_scale(b, rig, motion);
    PX_TRY(find_alignment(arena, b, rig, motion, desc->align == PELT_ALIGN_DIRECTIONS, alignment));
    px_rotation back = px_rotation_inverse(b->world);
    for (uint32_t j = 0; j < count; j++) {
        if (matches[j].joint == PELT_NONE)
            continue;
        px_rotation rest = px_rotation_mul(back, px_rotation_mul(alignment[j], rig->rotations[j]));
        b->after[j] = px_rotation_mul(px_rotation_inverse(motion->rotations[matches[j].joint]), rest);
    }
    return PELT_OK;
}
