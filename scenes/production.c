/* production: a production-like character: 35 intersecting shells, open and closed.
 *
 * Deliberate flaws: tubes open at both ends (trousers, sleeves, neck), sheets with holes (skirt, cape), shells
 * that intersect (arms and belt in the torso, fingers in the hands), eyes inside the head, buttons that float in front
 * of the shirt, edges with three triangles (the comb of the hair, the pleat of the skirt), vertices doubled at UV
 * seams, one triangle without area, vertices without triangle (one in the torso, others left in the holes). Stands in
 * T-pose on y = 0, facing +z; 43 joints.
 */
#include "shells.h"

enum { HIPS, SPINE, CHEST, NECK, HEAD, EYE_L, EYE_R, SIDES };
enum {
    SHOULDER,
    UPPER_ARM,
    FOREARM,
    HAND,
    FINGERS,
    THIGH = FINGERS + 10,
    SHIN,
    FOOT,
    TOE,
    SIDE_COUNT,
    JOINT_COUNT = SIDES + 2 * SIDE_COUNT
};

static uint32_t of_side(int side, uint32_t joint) {
    return SIDES + (uint32_t)side * SIDE_COUNT + joint;
}

static uint64_t bit(uint32_t joint) {
    return (uint64_t)1 << joint;
}

static vec mirrored(int side, double x, double y, double z) {
    return (vec){side ? -x : x, y, z};
}

/* ---- Bones ------------------------------------------------------------------------------------------------ */

/* Where finger `f` (thumb first) starts and points. */
static void finger_line(int side, int f, vec *root, vec *along) {
    static const double z[5] = {0.035, 0.03, 0.01, -0.01, -0.03};
    *root = mirrored(side, f ? 0.775 : 0.71, 1.42, z[f]);
    *along = f ? mirrored(side, 1, 0, 0) : mirrored(side, 0.6, 0, 0.8);
}

static double finger_length(int f) {
    static const double lengths[5] = {0.065, 0.075, 0.085, 0.078, 0.06};
    return lengths[f];
}

static void make_side(int side, scene_joint *joints) {
    static const char *const names[2][SIDE_COUNT] = {
        {"shoulder.L", "upper_arm.L", "forearm.L", "hand.L", "thumb.1.L", "thumb.2.L", "index.1.L", "index.2.L",
         "middle.1.L", "middle.2.L", "ring.1.L", "ring.2.L", "pinky.1.L", "pinky.2.L", "thigh.L", "shin.L", "foot.L",
         "toe.L"},
        {"shoulder.R", "upper_arm.R", "forearm.R", "hand.R", "thumb.1.R", "thumb.2.R", "index.1.R", "index.2.R",
         "middle.1.R", "middle.2.R", "ring.1.R", "ring.2.R", "pinky.1.R", "pinky.2.R", "thigh.R", "shin.R", "foot.R",
         "toe.R"}};
    static const double arm_x[5] = {0.03, 0.17, 0.43, 0.68, 0.78}, arm_radius[4] = {0.06, 0.05, 0.042, 0.04};
    static const vec leg[5] = {
        {0.09, 0.93, 0}, {0.1, 0.52, 0.01}, {0.1, 0.09, -0.02}, {0.1, 0.03, 0.09}, {0.1, 0.02, 0.17}};
    static const double leg_radius[4] = {0.08, 0.055, 0.045, 0.04};
    for (uint32_t p = 0; p < 4; p++) {
        joints[of_side(side, SHOULDER + p)] =
            (scene_joint){names[side][SHOULDER + p], p ? of_side(side, SHOULDER + p - 1) : CHEST,
                          mirrored(side, arm_x[p], 1.42, 0), mirrored(side, arm_x[p + 1], 1.42, 0), arm_radius[p]};
        joints[of_side(side, THIGH + p)] =
            (scene_joint){names[side][THIGH + p], p ? of_side(side, THIGH + p - 1) : HIPS,
                          mirrored(side, leg[p].x, leg[p].y, leg[p].z),
                          mirrored(side, leg[p + 1].x, leg[p + 1].y, leg[p + 1].z), leg_radius[p]};
    }
    for (uint32_t f = 0; f < 5; f++) {
        vec root, along;
        finger_line(side, (int)f, &root, &along);
        vec middle = vec_mad(root, 0.55 * finger_length((int)f), along);
        uint32_t j = of_side(side, FINGERS + 2 * f);
        joints[j] = (scene_joint){names[side][FINGERS + 2 * f], of_side(side, HAND), root, middle, 0.012};
        joints[j + 1] = (scene_joint){names[side][FINGERS + 2 * f + 1], j, middle,
                                      vec_mad(root, finger_length((int)f), along), 0.01};
    }
}

static void make_joints(scene_joint *joints) {
    joints[HIPS] = (scene_joint){"hips", PELT_NONE, {0, 0.95, 0}, {0, 1.07, 0}, 0.14};
    joints[SPINE] = (scene_joint){"spine", HIPS, {0, 1.07, 0}, {0, 1.23, 0}, 0.13};
    joints[CHEST] = (scene_joint){"chest", SPINE, {0, 1.23, 0}, {0, 1.47, 0}, 0.14};
    joints[NECK] = (scene_joint){"neck", CHEST, {0, 1.47, 0}, {0, 1.57, 0.01}, 0.055};
    joints[HEAD] = (scene_joint){"head", NECK, {0, 1.57, 0.01}, {0, 1.8, 0.01}, 0.1};
    joints[EYE_L] = (scene_joint){"eye.L", HEAD, {0.034, 1.69, 0.085}, {0.034, 1.69, 0.11}, 0.02};
    joints[EYE_R] = (scene_joint){"eye.R", HEAD, {-0.034, 1.69, 0.085}, {-0.034, 1.69, 0.11}, 0.02};
    make_side(0, joints);
    make_side(1, joints);
}

/* ---- Shells ----------------------------------------------------------------------------------------------- */

/* A swept shell: closed by poles at rounded ends, open at others. */
static shell swept(const shells_sweep *w, uint32_t around, uint32_t along, uint32_t least_around,
                   uint32_t least_along) {
    uint32_t flags = SHELL_WRAP;
    flags |= w->low > 0 ? SHELL_POLE_LOW : 0;
    flags |= w->high > 0 ? SHELL_POLE_HIGH : 0;
    return (shell){.around = around,
                   .along = along,
                   .least_around = least_around,
                   .least_along = least_along,
                   .flags = flags,
                   .place = shells_sweep_place,
                   .user = w};
}

/* Upright: around from +z to +x. */
#define UPRIGHT .e1 = {0, 0, 1}, .e2 = {1, 0, 0}

static void add_blob(shells *s, vec center, vec half, uint32_t around) {
    shells_sweep w = {.count = 2,
                      .centers = {{center.x, center.y - half.y, center.z}, {center.x, center.y + half.y, center.z}},
                      .across = {half.z, half.z},
                      .deep = {half.x, half.x},
                      UPRIGHT,
                      .low = 0.5,
                      .high = 0.5};
    shell g = swept(&w, around, around / 2, 4, 2);
    shells_add(s, &g);
}

static void add_torso(shells *s) {
    static const shells_sweep torso = {
        .count = 6,
        .centers = {{0, 0.86, 0}, {0, 1.0, 0}, {0, 1.13, 0}, {0, 1.28, 0.005}, {0, 1.42, 0}, {0, 1.52, 0}},
        .across = {0.1, 0.11, 0.095, 0.118, 0.085, 0.05},
        .deep = {0.13, 0.155, 0.125, 0.16, 0.15, 0.055},
        UPRIGHT,
        .low = 0.08,
        .high = 0.06};
    uint64_t arms = bit(of_side(0, SHOULDER)) | bit(of_side(1, SHOULDER));
    shell g = swept(&torso, 36, 30, 6, 5);
    shells_begin(s, "torso", "shirt", bit(HIPS) | bit(SPINE) | bit(CHEST) | arms);
    shells_add(s, &g);
    /* Modelling leftovers: a degenerate triangle and an isolated vertex. */
    uint32_t sliver = shells_vertex(s, (vec){0.05, 1.25, 0.1});
    shells_vertex(s, (vec){0.05, 1.26, 0.1});
    shells_vertex(s, (vec){0.05, 1.27, 0.1});
    shells_triangle(s, sliver, sliver + 1, sliver + 2);
    shells_vertex(s, (vec){0, 1.2, 0});

    static const shells_sweep neck = {.count = 3,
                                      .centers = {{0, 1.45, -0.005}, {0, 1.52, 0}, {0, 1.62, 0.01}},
                                      .across = {0.055, 0.05, 0.052},
                                      .deep = {0.058, 0.05, 0.05},
                                      UPRIGHT};
    g = swept(&neck, 24, 6, 4, 1);
    shells_begin(s, "neck", "skin", bit(CHEST) | bit(NECK) | bit(HEAD));
    shells_add(s, &g);
    shells_begin(s, "buttons", "metal", bit(SPINE) | bit(CHEST));
    for (int button = 0; button < 5; button++)
        add_blob(s, (vec){0, 1.08 + 0.07 * button, 0.118 + 0.022 * scene_smooth(button / 3.0)},
                 (vec){0.011, 0.011, 0.004}, 8);
}

static void add_head(shells *s) {
    static const shells_sweep head = {
        .count = 5,
        .centers = {{0, 1.57, 0.025}, {0, 1.62, 0.02}, {0, 1.69, 0.01}, {0, 1.76, 0}, {0, 1.82, 0}},
        .across = {0.07, 0.09, 0.104, 0.105, 0.098},
        .deep = {0.045, 0.072, 0.083, 0.085, 0.08},
        UPRIGHT,
        .high = 0.4};
    static const shells_sweep hair = {.count = 3,
                                      .centers = {{0, 1.72, -0.012}, {0, 1.77, -0.008}, {0, 1.835, -0.004}},
                                      .across = {0.103, 0.112, 0.112},
                                      .deep = {0.094, 0.095, 0.095},
                                      UPRIGHT,
                                      .high = 0.8};
    shells_begin(s, "head", "skin", bit(HEAD));
    shell g = swept(&head, 32, 24, 6, 4);
    shells_add(s, &g);
    shells_begin(s, "nose", "skin", bit(HEAD));
    add_blob(s, (vec){0, 1.665, 0.116}, (vec){0.012, 0.02, 0.018}, 10);
    shells_begin(s, "eye.L", "eye", bit(EYE_L));
    add_blob(s, (vec){0.034, 1.69, 0.084}, (vec){0.02, 0.02, 0.02}, 14);
    shells_begin(s, "eye.R", "eye", bit(EYE_R));
    add_blob(s, (vec){-0.034, 1.69, 0.084}, (vec){0.02, 0.02, 0.02}, 14);
    shells_begin(s, "hair", "hair", bit(HEAD));
    g = swept(&hair, 32, 12, 6, 3);
    g.fin_at = 0.5;
    g.fin_height = 0.05;
    shells_add(s, &g);
}

static void add_arm(shells *s, int side) {
    static const char *const names[3][2] = {{"sleeve.L", "sleeve.R"}, {"hand.L", "hand.R"}, {"fingers.L", "fingers.R"}};
    double sign = side ? -1 : 1;
    shells_sweep arm = {.count = 5,
                        .across = {0.062, 0.058, 0.05, 0.045, 0.038},
                        .deep = {0.06, 0.056, 0.048, 0.043, 0.036},
                        .e1 = {0, 1, 0},
                        .e2 = {0, 0, sign}};
    for (int p = 0; p < 5; p++)
        arm.centers[p] = mirrored(side, 0.09 + 0.15 * p, 1.42, 0);
    uint64_t hand = bit(of_side(side, HAND)), fore = bit(of_side(side, FOREARM));
    shells_begin(s, names[0][side], "shirt",
                 bit(CHEST) | bit(of_side(side, SHOULDER)) | bit(of_side(side, UPPER_ARM)) | fore | hand);
    shell g = swept(&arm, 20, 32, 4, 4);
    shells_add(s, &g);
    shells_sweep palm = {
        .count = 3,
        .centers = {mirrored(side, 0.665, 1.42, 0), mirrored(side, 0.73, 1.42, 0), mirrored(side, 0.79, 1.42, 0)},
        .across = {0.026, 0.022, 0.018},
        .deep = {0.03, 0.045, 0.045},
        .e1 = {0, 1, 0},
        .e2 = {0, 0, sign},
        .low = 0.2,
        .high = 0.25};
    shells_begin(s, names[1][side], "skin", fore | hand);
    g = swept(&palm, 16, 10, 4, 3);
    shells_add(s, &g);
    uint64_t fingers = hand;
    for (uint32_t f = 0; f < 10; f++)
        fingers |= bit(of_side(side, FINGERS + f));
    shells_begin(s, names[2][side], "skin", fingers);
    for (int f = 0; f < 5; f++) {
        vec root, along;
        finger_line(side, f, &root, &along);
        double thick = f == 0 ? 0.013 : f == 4 ? 0.0095 : 0.011;
        vec up = {0, 1, 0};
        shells_sweep finger = {.count = 2,
                               .centers = {vec_mad(root, -0.03, along), vec_mad(root, finger_length(f) + 0.005, along)},
                               .across = {thick, 0.85 * thick},
                               .deep = {thick, 0.85 * thick},
                               .e1 = up,
                               .e2 = vec_cross(along, up),
                               .low = 0.1,
                               .high = 0.15};
        g = swept(&finger, 8, 10, 3, 3);
        shells_add(s, &g);
    }
}

static void add_leg(shells *s, int side) {
    static const char *const names[2][2] = {{"trouser.L", "trouser.R"}, {"shoe.L", "shoe.R"}};
    shells_sweep leg = {.count = 5,
                        .centers = {mirrored(side, 0.1, 0.07, -0.02), mirrored(side, 0.1, 0.3, -0.015),
                                    mirrored(side, 0.1, 0.52, 0.005), mirrored(side, 0.095, 0.75, 0),
                                    mirrored(side, 0.085, 0.95, 0)},
                        .across = {0.06, 0.062, 0.066, 0.085, 0.09},
                        .deep = {0.055, 0.057, 0.06, 0.078, 0.075},
                        UPRIGHT};
    uint64_t shin = bit(of_side(side, SHIN)), foot = bit(of_side(side, FOOT));
    shells_begin(s, names[0][side], "trousers", bit(HIPS) | bit(of_side(side, THIGH)) | shin);
    shell g = swept(&leg, 22, 30, 4, 4);
    shells_add(s, &g);
    shells_sweep shoe = {.count = 4,
                         .centers = {mirrored(side, 0.1, 0.05, -0.08), mirrored(side, 0.1, 0.055, -0.01),
                                     mirrored(side, 0.1, 0.042, 0.09), mirrored(side, 0.1, 0.03, 0.18)},
                         .across = {0.042, 0.045, 0.046, 0.04},
                         .deep = {0.05, 0.055, 0.042, 0.03},
                         .e1 = {1, 0, 0},
                         .e2 = {0, 1, 0},
                         .low = 0.12,
                         .high = 0.2};
    shells_begin(s, names[1][side], "leather", shin | foot | bit(of_side(side, TOE)));
    g = swept(&shoe, 16, 16, 4, 3);
    shells_add(s, &g);
}

static vec belt_place(const void *user, double u, double v) {
    (void)user;
    double a = 2 * SCENE_PI * u, b = 2 * SCENE_PI * v;
    double out = -0.012 * scene_cos(b), up = 0.022 * scene_sin(b);
    return (vec){(0.154 + out) * scene_sin(a), 1.01 - up, (0.111 + out) * scene_cos(a)};
}

static bool skirt_hole(double u, double v) {
    return u > 0.08 && u < 0.2 && v > 0.3 && v < 0.6;
}

/* A cape behind the back; its outside faces −z, where x points left. */
static vec cape_place(const void *user, double u, double v) {
    (void)user;
    double wide = 0.3 - 0.14 * v, across = 1 - 2 * u, fold = 0.02 * (1 - v) * scene_sin(5 * 2 * SCENE_PI * u);
    return (vec){wide * across, 0.6 + 0.86 * v, -0.13 - 0.12 * (1 - v) + 0.05 * across * across - fold};
}

static bool cape_hole(double u, double v) {
    return u > 0.4 && u < 0.6 && v > 0.35 && v < 0.6;
}

static void add_clothes(shells *s) {
    static const shells_sweep skirt = {.count = 3,
                                       .centers = {{0, 0.66, 0}, {0, 0.84, 0}, {0, 1.02, 0}},
                                       .across = {0.24, 0.17, 0.118},
                                       .deep = {0.27, 0.21, 0.16},
                                       UPRIGHT};
    shells_begin(s, "belt", "leather", bit(HIPS) | bit(SPINE));
    shell ring = {.around = 40,
                  .along = 8,
                  .least_around = 6,
                  .least_along = 3,
                  .flags = SHELL_WRAP | SHELL_WRAP_ALONG,
                  .place = belt_place};
    shells_add(s, &ring);
    shells_begin(s, "buckle", "metal", bit(HIPS));
    add_blob(s, (vec){0, 1.01, 0.125}, (vec){0.03, 0.024, 0.008}, 12);
    uint64_t legs = bit(of_side(0, THIGH)) | bit(of_side(1, THIGH));
    shells_begin(s, "skirt", "cloth", bit(HIPS) | legs);
    shell g = swept(&skirt, 40, 18, 8, 4);
    g.hole = skirt_hole;
    g.fin_at = 0.5;
    g.fin_height = 0.04;
    shells_add(s, &g);
    shells_begin(s, "cape", "cloth", bit(HIPS) | bit(SPINE) | bit(CHEST));
    shell sheet = {
        .around = 24, .along = 30, .least_around = 5, .least_along = 5, .place = cape_place, .hole = cape_hole};
    shells_add(s, &sheet);
}

static void add_all(shells *s, double density, pelt_mesh *mesh) {
    *s = (shells){.mesh = mesh, .density = density};
    add_torso(s);
    add_head(s);
    for (int side = 0; side < 2; side++) {
        add_arm(s, side);
        add_leg(s, side);
    }
    add_clothes(s);
}

/* ---- Motion ----------------------------------------------------------------------------------------------- */

#define LOOP 60u

/* Walks on the spot and waves with the right hand. Turns about z take the left arm down when negative. */
static uint32_t make_waves(double pace, scene_wave *w) {
    uint32_t n = 0;
    for (int side = 0; side < 2; side++) {
        double phase = side ? 0.5 : 0;
        w[n++] = (scene_wave){of_side(side, THIGH), 0, -0.08, 0.42, pace, phase};
        w[n++] = (scene_wave){of_side(side, SHIN), 0, 0.4, 0.38, pace, phase + 0.72};
        w[n++] = (scene_wave){of_side(side, FOOT), 0, -0.1, 0.25, pace, phase + 0.75};
        w[n++] = (scene_wave){of_side(side, TOE), 0, -0.1, 0.15, pace, phase + 0.3};
        for (uint32_t f = 0; f < 10; f++)
            w[n++] = (scene_wave){of_side(side, FINGERS + f),
                                  f < 2 ? 1u : 2u,
                                  (side ? 0.1 : -0.35) * (f < 2 ? 0.3 : 1),
                                  0.12,
                                  2,
                                  0.05 * f};
    }
    w[n++] = (scene_wave){of_side(0, SHOULDER), 2, -0.1, 0, 1, 0};
    w[n++] = (scene_wave){of_side(0, UPPER_ARM), 2, -1.15, 0.05, pace, 0};
    w[n++] = (scene_wave){of_side(0, UPPER_ARM), 0, 0, 0.4, pace, 0.5};
    w[n++] = (scene_wave){of_side(0, FOREARM), 0, -0.3, 0.2, pace, 0.5};
    w[n++] = (scene_wave){of_side(1, SHOULDER), 2, -0.12, 0, 1, 0};
    w[n++] = (scene_wave){of_side(1, UPPER_ARM), 2, -0.35, 0.1, 2, 0};
    w[n++] = (scene_wave){of_side(1, FOREARM), 2, -0.95, 0.4, 2, 0.1};
    w[n++] = (scene_wave){of_side(1, HAND), 2, 0, 0.35, 2, 0.2};
    w[n++] = (scene_wave){HIPS, 4, -0.012, 0.012, 2 * pace, 0.1};
    w[n++] = (scene_wave){HIPS, 1, 0, 0.1, pace, 0.25};
    w[n++] = (scene_wave){SPINE, 1, 0, -0.1, pace, 0.25};
    w[n++] = (scene_wave){CHEST, 1, 0, -0.1, pace, 0.25};
    w[n++] = (scene_wave){CHEST, 0, 0.03, 0.02, 2 * pace, 0};
    w[n++] = (scene_wave){NECK, 1, -0.1, 0.08, 1, 0};
    w[n++] = (scene_wave){HEAD, 0, 0, 0.08, 2, 0.3};
    w[n++] = (scene_wave){HEAD, 2, 0.06, 0.1, 1, 0.1};
    w[n++] = (scene_wave){EYE_L, 1, -0.1, 0.3, 1, 0.5};
    w[n++] = (scene_wave){EYE_R, 1, -0.1, 0.3, 1, 0.5};
    return n;
}

/* ---- Scene ------------------------------------------------------------------------------------------------ */

static void fill_parts(const shells *s, pelt_mesh *mesh) {
    for (uint32_t p = 0; p < s->part_count; p++) {
        const shells_part *from = &s->parts[p];
        bool last = p + 1 == s->part_count;
        mesh->parts[p] = (pelt_part){
            .name = from->name,
            .material = from->material,
            .first_triangle = from->first_triangle,
            .triangle_count = (last ? s->triangle_count : s->parts[p + 1].first_triangle) - from->first_triangle,
            .first_vertex = from->first_vertex,
            .vertex_count = (last ? s->vertex_count : s->parts[p + 1].first_vertex) - from->first_vertex,
            .joint = PELT_NONE};
    }
}

static pelt_result build_mesh(pelt_context *context, pelt_model *model, shells *s, uint32_t wanted) {
    double low = 0.05, high = 100;
    for (int round = 0; round < 30; round++) {
        double middle = sqrt(low * high);
        add_all(s, middle, NULL);
        if (s->vertex_count < wanted)
            low = middle;
        else
            high = middle;
    }
    add_all(s, high, NULL);
    SCENE_TRY(scene_mesh_alloc(context, model, s->vertex_count, s->triangle_count, s->part_count));
    add_all(s, high, &model->mesh);
    fill_parts(s, &model->mesh);
    SCENE_TRY(pelt_model_weld(context, model));
    return pelt_mesh_normals(context, &model->mesh, NULL, model->mesh.normals);
}

static pelt_result build(pelt_context *context, pelt_model *scratch, const scene_desc *desc, pelt_model *model) {
    scene_random random = {desc->seed};
    shells *s = SCENE_NEW(context, scratch, shells, 1);
    if (!s)
        return PELT_ERROR_MEMORY;
    scene_joint joints[JOINT_COUNT];
    make_joints(joints);
    SCENE_TRY(build_mesh(context, model, s, scene_count(desc->vertex_count, 9000, 50, SCENE_MAX_VERTICES)));
    SCENE_TRY(scene_skeleton(context, model, joints, JOINT_COUNT));
    SCENE_TRY(scene_skin_alloc(context, model));
    for (uint32_t p = 0; p < model->mesh.part_count; p++)
        for (uint32_t v = 0; v < model->mesh.parts[p].vertex_count; v++) {
            size_t i = (size_t)model->mesh.parts[p].first_vertex + v;
            scene_skin_weigh(joints, JOINT_COUNT, s->parts[p].bones, vec_load(model->mesh.positions + 3 * i),
                             model->skin.bones + SCENE_INFLUENCES * i, model->skin.weights + SCENE_INFLUENCES * i);
        }
    scene_wave waves[64];
    uint32_t wave_count = make_waves(scene_random_range(&random, 0, 1) < 0.5 ? 2 : 1, waves);
    return scene_motion(context, model, "walk_and_wave", waves, wave_count,
                        scene_count(desc->frame_count, LOOP + 1, 1, SCENE_MAX_FRAMES), LOOP);
}

static pelt_result make(pelt_context *context, const scene_desc *desc, pelt_model **model) {
    return scene_build(context, desc, build, model);
}

const scene scene_production = {"production", "a character of 35 shells with holes and flaws: 43 joints", make, NULL};
