/* troll: a plump creature that hops on the spot: one closed surface, smooth true weights, 21 joints.
 *
 * Faces +z, y up, stands on y = 0. The motion does not move the joints of belly and ears: they are left to pelt jiggle.
 * The seed changes its build: girth, ears, nose.
 */
#include "build.h"

enum {
    HIPS,
    BELLY,
    SPINE,
    CHEST,
    HEAD,
    EARS,            /* two joints per side */
    ARMS = EARS + 4, /* three per side */
    LEGS = ARMS + 6, /* three per side */
    JOINT_COUNT = LEGS + 6
};

/* Positions shared by body and bones; limbs on the left (+x), from the trunk outwards. */
typedef struct body {
    vec trunk[4]; /* hips to the top of the head */
    vec belly[2];
    vec ear[3], arm[4], leg[4];
    double girth, nose;
} body;

static body make_body(scene_random *random) {
    body b = {
        .trunk = {{0, 0.72, -0.05}, {0, 0.98, -0.08}, {0, 1.22, -0.06}, {0, 1.5, 0}},
        .belly = {{0, 0.8, 0}, {0, 0.78, 0.46}},
        .ear = {{0.22, 1.72, 0.02}, {0.56, 1.8, -0.03}, {0.9, 1.64, -0.1}},
        .arm = {{0.3, 1.32, -0.03}, {0.66, 1.16, -0.05}, {0.92, 0.92, 0.02}, {1.0, 0.78, 0.07}},
        .leg = {{0.2, 0.64, 0}, {0.23, 0.37, 0.02}, {0.24, 0.1, -0.02}, {0.26, 0.08, 0.24}},
        .girth = scene_random_range(random, 0.94, 1.1),
        .nose = scene_random_range(random, 0.8, 1.3),
    };
    double ear = scene_random_range(random, 0.9, 1.2);
    for (int p = 1; p < 3; p++)
        b.ear[p] = vec_mad(b.ear[0], ear, vec_sub(b.ear[p], b.ear[0]));
    return b;
}

static vec on_side(vec p, int side) {
    return (vec){side ? -p.x : p.x, p.y, p.z};
}

/* ---- Body ------------------------------------------------------------------------------------------------- */

static void add_limb(scene_solid *solid, const vec *points, const double *radii, uint32_t count, double blend,
                     int side) {
    vec mirrored[4];
    for (uint32_t p = 0; p < count; p++)
        mirrored[p] = on_side(points[p], side);
    scene_solid_group(solid, blend);
    scene_solid_curve(solid, mirrored, radii, count, 4);
}

static void make_solid(const body *b, scene_solid *solid) {
    static const double ear_radii[3] = {0.09, 0.125, 0.035}, arm_radii[4] = {0.14, 0.115, 0.1, 0.12};
    static const double leg_radii[4] = {0.21, 0.15, 0.125, 0.1};
    double g = b->girth;
    scene_solid_group(solid, 0.1);
    scene_solid_segment(solid, b->trunk[0], b->trunk[2], 0.36 * g, 0.3);
    scene_solid_group(solid, 0.22);
    scene_solid_segment(solid, (vec){0, 0.8, 0.06}, (vec){0, 0.84, 0.16}, 0.46 * g, 0.42 * g);
    scene_solid_group(solid, 0.16);
    scene_solid_segment(solid, (vec){0, 1.66, 0.06}, (vec){0, 1.74, 0.1}, 0.28, 0.25);
    scene_solid_group(solid, 0.06);
    scene_solid_segment(solid, (vec){0, 1.68, 0.34}, (vec){0, 1.6, 0.42}, 0.08 * b->nose, 0.1 * b->nose);
    for (int side = 0; side < 2; side++) {
        add_limb(solid, b->ear, ear_radii, 3, 0.08, side);
        add_limb(solid, b->arm, arm_radii, 4, 0.14, side);
        add_limb(solid, b->leg, leg_radii, 3, 0.16, side);
        scene_solid_group(solid, 0.08);
        scene_solid_segment(solid, on_side(b->leg[2], side), on_side(b->leg[3], side), leg_radii[2], leg_radii[3]);
        vec eye = on_side((vec){0.12, 1.78, 0.3}, side);
        scene_solid_group(solid, 0.03);
        scene_solid_segment(solid, eye, eye, 0.06, 0.06);
    }
}

/* ---- Bones ------------------------------------------------------------------------------------------------ */

/* Joints along points [count + 1], each the parent of the next. */
static void add_chain(scene_joint *joints, uint32_t first, uint32_t parent, const char *const *names, const vec *points,
                      const double *radii, uint32_t count, int side) {
    for (uint32_t p = 0; p < count; p++)
        joints[first + p] = (scene_joint){names[p], p ? first + p - 1 : parent, on_side(points[p], side),
                                          on_side(points[p + 1], side), radii[p]};
}

static void make_joints(const body *b, scene_joint *joints) {
    static const char *const ears[2][2] = {{"ear.L", "ear_tip.L"}, {"ear.R", "ear_tip.R"}};
    static const char *const arms[2][3] = {{"upper_arm.L", "forearm.L", "hand.L"},
                                           {"upper_arm.R", "forearm.R", "hand.R"}};
    static const char *const legs[2][3] = {{"thigh.L", "shin.L", "foot.L"}, {"thigh.R", "shin.R", "foot.R"}};
    static const double ear_radii[2] = {0.11, 0.09}, arm_radii[3] = {0.13, 0.11, 0.11},
                        leg_radii[3] = {0.19, 0.14, 0.11};
    joints[HIPS] = (scene_joint){"hips", PELT_NONE, b->trunk[0], b->trunk[1], 0.33};
    joints[BELLY] = (scene_joint){"belly", HIPS, b->belly[0], b->belly[1], 0.38};
    joints[SPINE] = (scene_joint){"spine", HIPS, b->trunk[1], b->trunk[2], 0.31};
    joints[CHEST] = (scene_joint){"chest", SPINE, b->trunk[2], b->trunk[3], 0.28};
    joints[HEAD] = (scene_joint){"head", CHEST, b->trunk[3], vec_add(b->trunk[3], (vec){0, 0.42, 0.1}), 0.26};
    for (int side = 0; side < 2; side++) {
        add_chain(joints, EARS + 2 * (uint32_t)side, HEAD, ears[side], b->ear, ear_radii, 2, side);
        add_chain(joints, ARMS + 3 * (uint32_t)side, CHEST, arms[side], b->arm, arm_radii, 3, side);
        add_chain(joints, LEGS + 3 * (uint32_t)side, HIPS, legs[side], b->leg, leg_radii, 3, side);
    }
}

/* ---- Bounce ----------------------------------------------------------------------------------------------- */

#define LOOP 60u /* frames: 2 s, in which it hops four times and sways twice */

/* Knees bend by 0.3 ± 0.2 radians; hips go down by as much as that shortens the legs, and up higher: it hops a little.
 * A negative turn about x takes a leg forward. */
static const scene_wave bounce[] = {
    {HIPS, 4, -0.002, 0.064, 4, 0.25}, {HIPS, 1, 0, 0.12, 2, 0},          {SPINE, 0, 0.06, -0.06, 4, 0.25},
    {SPINE, 1, 0, 0.3, 2, 0.02},       {CHEST, 1, 0, 0.3, 2, 0.05},       {CHEST, 2, 0, 0.1, 2, 0.1},
    {HEAD, 1, 0, -0.35, 2, 0.05},      {HEAD, 0, 0, 0.14, 4, 0.35},       {HEAD, 2, 0, 0.12, 2, 0.3},
    {ARMS, 0, -0.2, 0.35, 2, 0.1},     {ARMS + 1, 0, -0.6, 0.3, 2, 0.15}, {ARMS + 2, 0, 0, 0.2, 2, 0.2},
    {ARMS + 3, 0, -0.2, 0.35, 2, 0.6}, {ARMS + 4, 0, -0.6, 0.3, 2, 0.65}, {ARMS + 5, 0, 0, 0.2, 2, 0.7},
    {LEGS, 0, -0.3, 0.2, 4, 0.25},     {LEGS + 1, 0, 0.6, -0.4, 4, 0.25}, {LEGS + 2, 0, -0.3, 0.2, 4, 0.25},
    {LEGS + 3, 0, -0.3, 0.2, 4, 0.25}, {LEGS + 4, 0, 0.6, -0.4, 4, 0.25}, {LEGS + 5, 0, -0.3, 0.2, 4, 0.25},
};

/* ---- Scene ------------------------------------------------------------------------------------------------ */

static pelt_result build(pelt_context *context, pelt_model *scratch, const scene_desc *desc, pelt_model *model) {
    scene_random random = {desc->seed};
    body b = make_body(&random);
    scene_joint joints[JOINT_COUNT];
    make_joints(&b, joints);
    scene_solid *solid = SCENE_NEW(context, scratch, scene_solid, 1);
    if (!solid)
        return PELT_ERROR_MEMORY;
    make_solid(&b, solid);
    SCENE_TRY(scene_skinned_solid(context, scratch, desc, solid, "troll", joints, JOINT_COUNT, model));
    return scene_motion(context, model, "bounce", bounce, SCENE_COUNT(bounce),
                        scene_count(desc->frame_count, LOOP + 1, 1, SCENE_MAX_FRAMES), LOOP);
}

static pelt_result make(pelt_context *context, const scene_desc *desc, pelt_model **model) {
    return scene_build(context, desc, build, model);
}

const scene scene_troll = {"troll", "a plump troll that hops: belly and ears to jiggle, 21 joints, true weights", make,
                           NULL};
