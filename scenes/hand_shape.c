/* Bones and soft tissue of the hand. */
#include "hand.h"

/* A digit: where its first bone begins, directions of its bones (not unit), their lengths, and radii of the soft tissue
 * at the joints and the tip. */
typedef struct digit {
    vec start;
    vec directions[4];
    double lengths[4], radii[5];
} digit;

static const digit thumb = {{0.2, 0.17, 0.1},
                            {{0.64, 0.66, 0.36}, {0.5, 0.82, 0.24}, {0.4, 0.88, 0.16}},
                            {0.44, 0.33, 0.26},
                            {0, 0.125, 0.105, 0.07}};
static const digit fingers[4] = {
    {{0.17, 0.2, -0.02},
     {{0.155, 0.72, 0}, {0.17, 1, 0.08}, {0.13, 1, 0.18}, {0.1, 1, 0.25}},
     {0.74, 0.43, 0.26, 0.2},
     {0, 0.125, 0.1, 0.086, 0.062}},
    {{0.06, 0.22, -0.03},
     {{0.035, 0.76, 0}, {0.02, 1, 0.08}, {0.01, 1, 0.18}, {0.0, 1, 0.25}},
     {0.76, 0.47, 0.3, 0.21},
     {0, 0.128, 0.102, 0.088, 0.064}},
    {{-0.05, 0.2, -0.025},
     {{-0.085, 0.72, 0}, {-0.13, 1, 0.08}, {-0.1, 1, 0.18}, {-0.08, 1, 0.25}},
     {0.73, 0.44, 0.28, 0.21},
     {0, 0.122, 0.097, 0.083, 0.06}},
    {{-0.15, 0.18, 0},
     {{-0.165, 0.64, 0}, {-0.3, 1, 0.08}, {-0.26, 1, 0.18}, {-0.22, 1, 0.25}},
     {0.66, 0.34, 0.2, 0.18},
     {0, 0.108, 0.085, 0.074, 0.053}},
};
static const char *const names[HAND_JOINTS] = {
    "forearm",
    "wrist",
    "thumb-metacarpal",
    "thumb-phalanx-proximal",
    "thumb-phalanx-distal",
    "index-finger-metacarpal",
    "index-finger-phalanx-proximal",
    "index-finger-phalanx-intermediate",
    "index-finger-phalanx-distal",
    "middle-finger-metacarpal",
    "middle-finger-phalanx-proximal",
    "middle-finger-phalanx-intermediate",
    "middle-finger-phalanx-distal",
    "ring-finger-metacarpal",
    "ring-finger-phalanx-proximal",
    "ring-finger-phalanx-intermediate",
    "ring-finger-phalanx-distal",
    "pinky-finger-metacarpal",
    "pinky-finger-phalanx-proximal",
    "pinky-finger-phalanx-intermediate",
    "pinky-finger-phalanx-distal",
};

/* ---- Bones ------------------------------------------------------------------------------------------------ */

static void add_digit(const digit *d, uint32_t first, uint32_t count, scene_joint *joints) {
    vec at = d->start;
    for (uint32_t n = 0; n < count; n++) {
        vec end = vec_mad(at, d->lengths[n], vec_unit(d->directions[n]));
        joints[first + n] = (scene_joint){.parent = n ? first + n - 1 : HAND_WRIST,
                                          .head = at,
                                          .tail = end,
                                          .radius = n ? (d->radii[n] + d->radii[n + 1]) / 2 : 0.12};
        at = end;
    }
}

void hand_joints(scene_joint *joints) {
    joints[HAND_FOREARM] =
        (scene_joint){.parent = PELT_NONE, .head = {0.02, -0.75, -0.02}, .tail = {0, 0, 0}, .radius = 0.2};
    joints[HAND_WRIST] =
        (scene_joint){.parent = HAND_FOREARM, .head = {0, 0, 0}, .tail = {0.02, 0.22, 0}, .radius = 0.2};
    add_digit(&thumb, HAND_THUMB, 3, joints);
    for (uint32_t f = 0; f < 4; f++)
        add_digit(&fingers[f], HAND_FINGERS + 4 * f, 4, joints);
    for (uint32_t j = 0; j < HAND_JOINTS; j++)
        joints[j].name = names[j];
}

static vec bone_direction(const scene_joint *joint) {
    return vec_unit(vec_sub(joint->tail, joint->head));
}

/* The side of a joint to which it flexes. The thumb faces the little finger. */
static vec palm_side(const scene_joint *joint) {
    return joint->name[0] == 't' ? (vec){-0.75, 0.1, 0.65} : (vec){0, 0, 1};
}

vec hand_flex_axis(const scene_joint *joint) {
    return vec_unit(vec_cross(bone_direction(joint), palm_side(joint)));
}

vec hand_spread_axis(const scene_joint *joint) {
    return vec_cross(bone_direction(joint), hand_flex_axis(joint));
}

quat hand_turn(const scene_joint *joint, hand_bend bend) {
    const double degree = SCENE_PI / 180;
    return quat_mul(quat_turn(hand_spread_axis(joint), bend.spread * degree),
                    quat_turn(hand_flex_axis(joint), bend.flex * degree));
}

void hand_pose(const scene_joint *joints, const hand_bend *bends, hand_frame *frames) {
    for (uint32_t j = 0; j < HAND_JOINTS; j++) {
        hand_frame above =
            joints[j].parent == PELT_NONE ? (hand_frame){{0, 0, 0, 1}, {0, 0, 0}} : frames[joints[j].parent];
        quat own = hand_turn(&joints[j], bends[j]);
        vec shift = vec_sub(joints[j].head, quat_apply(own, joints[j].head));
        frames[j].turn = quat_unit(quat_mul(above.turn, own));
        frames[j].shift = vec_add(quat_apply(above.turn, shift), above.shift);
    }
}

/* ---- Soft tissue ------------------------------------------------------------------------------------------ */

/* A digit from bone `first` on, thinner between its joints, with a pad at its last bone. */
static void add_flesh(scene_solid *solid, const digit *d, uint32_t first, uint32_t count, double blend) {
    vec points[8], at = d->start;
    double radii[8];
    uint32_t n = 0;
    for (uint32_t b = 0; b < count; b++) {
        vec direction = vec_unit(d->directions[b]), end = vec_mad(at, d->lengths[b], direction);
        if (b >= first) {
            points[n] = at, radii[n++] = d->radii[b];
            bool last = b + 1 == count;
            double thin = last ? 1.0 : 0.94, along = last ? 0.55 : 0.5;
            points[n] = vec_mix(at, end, along);
            points[n].z += last ? 0.012 : 0.004;
            radii[n++] = thin * (last ? 1.02 * d->radii[b] : (d->radii[b] + d->radii[b + 1]) / 2);
        }
        at = end;
    }
    points[n] = vec_mad(at, -0.6 * d->radii[count], vec_unit(d->directions[count - 1]));
    radii[n++] = d->radii[count];
    scene_solid_group(solid, blend);
    scene_solid_curve(solid, points, radii, n, 4);
}

void hand_solid(const scene_joint *joints, scene_solid *solid) {
    for (int side = -1; side <= 1; side += 2) { /* wrist and forearm, wider than thick */
        scene_solid_group(solid, 0.1);
        vec points[4] = {{0.14 * side + 0.02, -0.72, -0.02},
                         {0.11 * side + 0.01, -0.2, 0},
                         {0.1 * side, 0.02, 0},
                         {0.12 * side, 0.24, 0.01}};
        static const double radii[4] = {0.2, 0.175, 0.165, 0.16};
        scene_solid_curve(solid, points, radii, 4, 4);
    }
    for (uint32_t f = 0; f < 4; f++) { /* back of the hand and palm */
        const scene_joint *bone = &joints[HAND_FINGERS + 4 * f];
        scene_solid_group(solid, 0.09);
        scene_solid_segment(solid, bone->head, vec_mix(bone->head, bone->tail, 0.97), 0.13,
                            fingers[f].radii[1] + 0.004);
        scene_solid_group(solid, 0.12); /* pads at the roots of the fingers */
        vec pad = vec_add(vec_mix(bone->head, bone->tail, 0.86), (vec){0, 0, 0.05});
        scene_solid_segment(solid, pad, vec_add(bone->tail, (vec){0, 0.03, 0.025}), 0.1, 0.1);
    }
    scene_solid_group(solid, 0.12); /* ball of the thumb */
    vec ball[3] = {{0.19, 0.16, 0.12}, {0.33, 0.3, 0.19}, {0.48, 0.48, 0.24}};
    static const double ball_radii[3] = {0.15, 0.175, 0.128};
    scene_solid_curve(solid, ball, ball_radii, 3, 4);
    scene_solid_group(solid, 0.16); /* the web between thumb and index finger */
    scene_solid_segment(solid, (vec){0.24, 0.35, 0.06}, (vec){0.33, 0.52, 0.07}, 0.11, 0.07);
    scene_solid_group(solid, 0.12); /* ball of the little finger */
    scene_solid_segment(solid, (vec){-0.19, 0.15, 0.1}, (vec){-0.27, 0.56, 0.07}, 0.145, 0.11);
    add_flesh(solid, &thumb, 1, 3, 0.07);
    for (uint32_t f = 0; f < 4; f++)
        add_flesh(solid, &fingers[f], 1, 4, 0.06);
}

/* ---- Regions and weights ---------------------------------------------------------------------------------- */

/* Distance from a bone's axis, in radii of its soft tissue. */
static double bone_distance(const scene_joint *joint, vec p) {
    vec along = vec_sub(joint->tail, joint->head), off = vec_sub(p, joint->head);
    double u = scene_clamp(vec_dot(off, along) / vec_dot(along, along), 0, 1);
    return vec_length(vec_mad(off, -u, along)) / joint->radius;
}

static uint32_t region_of(uint32_t joint) {
    if (joint < HAND_FINGERS)
        return joint > HAND_THUMB;
    return (joint - HAND_FINGERS) % 4 ? 2 + (joint - HAND_FINGERS) / 4 : 0;
}

uint32_t hand_region(const scene_joint *joints, vec p) {
    uint32_t nearest = 0;
    for (uint32_t j = 1; j < HAND_JOINTS; j++)
        if (bone_distance(&joints[j], p) < bone_distance(&joints[nearest], p))
            nearest = j;
    return region_of(nearest);
}

void hand_weigh(const scene_joint *joints, vec p, uint16_t *bones, float *weights) {
    uint32_t region = hand_region(joints, p);
    uint64_t mask = 0;
    for (uint32_t j = 0; j < HAND_JOINTS; j++) /* the palm blends into every digit */
        if (region == 0 || region_of(j) == 0 || region_of(j) == region)
            mask |= (uint64_t)1 << j;
    scene_skin_weigh(joints, HAND_JOINTS, mask, p, bones, weights);
}
