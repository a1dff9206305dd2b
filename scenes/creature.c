/* creature: a four-legged animal that walks: one closed surface, smooth true weights, 28 joints.
 *
 * Faces +z, y up, stands on y = 0. The seed changes its build: girth, legs, neck, tail, head.
 */
#include "build.h"

/* Positions shared by body and bones. */
typedef struct body {
    vec tail[6], spine[5], neck[3], snout; /* tail[0] at the hips, outwards; spine from hips to shoulders */
    vec leg[4][5]; /* fore left, fore right, hind left, hind right: from the trunk to the toes */
    double girth;
} body;

static body make_body(scene_random *random) {
    static const vec tail[6] = {{0, 1.04, -0.78}, {0, 0.95, -1.22}, {0, 0.82, -1.62},
                                {0, 0.74, -2.0},  {0, 0.74, -2.38}, {0, 0.84, -2.75}};
    static const vec spine[5] = {{0, 1.06, -0.72}, {0, 1.02, -0.36}, {0, 1.0, 0.02}, {0, 1.04, 0.4}, {0, 1.2, 0.74}};
    static const vec neck[3] = {{0, 1.45, 1.0}, {0, 1.72, 1.18}, {0, 1.93, 1.36}};
    static const vec fore[5] = {
        {0.22, 1.0, 0.5}, {0.33, 0.6, 0.36}, {0.33, 0.24, 0.46}, {0.33, 0.1, 0.54}, {0.33, 0.085, 0.72}};
    static const vec hind[5] = {
        {0.2, 0.98, -0.68}, {0.32, 0.62, -0.54}, {0.32, 0.3, -0.76}, {0.32, 0.1, -0.7}, {0.32, 0.085, -0.48}};
    double tall = scene_random_range(random, 0.92, 1.12), tail_length = scene_random_range(random, 0.9, 1.2);
    double neck_length = scene_random_range(random, 0.9, 1.25);
    body b = {.girth = scene_random_range(random, 0.92, 1.1)};
    for (int p = 0; p < 6; p++)
        b.tail[p] = vec_mad(tail[0], tail_length, vec_sub(tail[p], tail[0]));
    for (int p = 0; p < 5; p++)
        b.spine[p] = spine[p];
    for (int p = 0; p < 3; p++)
        b.neck[p] = vec_mad(spine[4], neck_length, vec_sub(neck[p], spine[4]));
    b.snout = vec_add(b.neck[2], (vec){0, -0.14, 0.52});
    for (int leg = 0; leg < 4; leg++)
        for (int p = 0; p < 5; p++) {
            b.leg[leg][p] = leg < 2 ? fore[p] : hind[p];
            if (leg & 1)
                b.leg[leg][p].x *= -1;
        }
    /* Longer legs raise the body; the feet stay on the ground. */
    double lift = tall - 1;
    for (int p = 0; p < 6; p++)
        b.tail[p].y += lift;
    for (int p = 0; p < 5; p++)
        b.spine[p].y += lift;
    for (int p = 0; p < 3; p++)
        b.neck[p].y += lift;
    b.snout.y += lift;
    for (int leg = 0; leg < 4; leg++)
        for (int p = 0; p < 3; p++)
            b.leg[leg][p].y += lift * (b.leg[leg][p].y - 0.1) / 0.9;
    return b;
}

/* ---- Body ------------------------------------------------------------------------------------------------- */

static void add_head(scene_solid *solid, const body *b) {
    vec skull = vec_add(b->neck[2], (vec){0, 0.03, 0.04});
    scene_solid_group(solid, 0.12);
    scene_solid_segment(solid, skull, vec_add(b->snout, (vec){0, 0.02, 0}), 0.2, 0.115);
    for (int side = -1; side <= 1; side += 2) {
        scene_solid_group(solid, 0.05);
        scene_solid_segment(solid, vec_add(skull, (vec){0.115 * side, 0.1, 0.14}),
                            vec_add(skull, (vec){0.13 * side, 0.1, 0.16}), 0.062, 0.058);
        vec horn[3] = {vec_add(skull, (vec){0.1 * side, 0.12, -0.04}), vec_add(skull, (vec){0.17 * side, 0.28, -0.14}),
                       vec_add(skull, (vec){0.2 * side, 0.36, -0.3})};
        static const double horn_radii[3] = {0.07, 0.048, 0.018};
        scene_solid_group(solid, 0.05);
        scene_solid_curve(solid, horn, horn_radii, 3, 3);
        scene_solid_group(solid, 0.03);
        vec nostril = vec_add(b->snout, (vec){0.055 * side, 0.085, 0.07});
        scene_solid_segment(solid, nostril, nostril, 0.035, 0.035);
    }
}

/* Plates along the back, smaller towards the ends. */
static void add_plates(scene_solid *solid, const vec *ridge, const double *radii) {
    for (int p = 2; p <= 10; p++)
        for (int half = 0; half < 2; half++) {
            double size = 0.19 * scene_smooth((p + half * 0.5 - 0.5) / 4.5) * scene_smooth((12 - p - half * 0.5) / 4);
            if (half && p >= 5) /* points of the tail are farther apart */
                continue;
            vec foot = half ? vec_mix(ridge[p], ridge[p + 1], 0.5) : ridge[p];
            double radius = half ? (radii[p] + radii[p + 1]) / 2 : radii[p];
            vec along = vec_unit(vec_sub(ridge[p + 1], ridge[p - 1]));
            vec up = vec_cross(along, (vec){1, 0, 0});
            vec top = vec_mad(vec_mad(foot, radius + size, up), -0.5 * size, along);
            scene_solid_group(solid, 0.05);
            scene_solid_segment(solid, vec_mad(foot, radius * 0.85, up), top, 0.3 * size + 0.02, 0.016);
        }
}

static void make_solid(const body *b, scene_solid *solid) {
    static const double radii[14] = {0.028, 0.06, 0.095, 0.14,  0.2,  0.3,  0.36,
                                     0.385, 0.38, 0.31,  0.215, 0.17, 0.17, 0.1};
    static const double fore_radii[5] = {0.2, 0.13, 0.09, 0.1, 0.085}, hind_radii[5] = {0.25, 0.16, 0.085, 0.1, 0.085};
    vec ridge[14];
    double girths[14];
    for (int p = 0; p < 5; p++)
        ridge[p] = b->tail[5 - p];
    for (int p = 0; p < 5; p++)
        ridge[5 + p] = b->spine[p];
    for (int p = 0; p < 3; p++)
        ridge[10 + p] = b->neck[p];
    for (int p = 0; p < 13; p++)
        girths[p] = radii[p] * (p > 3 && p < 10 ? b->girth : 1);
    scene_solid_group(solid, 0.1);
    scene_solid_curve(solid, ridge, girths, 13, 4);
    for (int leg = 0; leg < 4; leg++) {
        scene_solid_group(solid, 0.16);
        scene_solid_curve(solid, b->leg[leg], leg < 2 ? fore_radii : hind_radii, 5, 4);
        for (int toe = -1; toe <= 1; toe++) {
            vec from = b->leg[leg][3], to = vec_add(b->leg[leg][4], (vec){0.085 * toe, -0.02, toe ? -0.01 : 0.04});
            scene_solid_group(solid, 0.04);
            scene_solid_segment(solid, from, to, 0.07, 0.052);
        }
    }
    add_head(solid, b);
    add_plates(solid, ridge, girths);
}

/* ---- Bones ------------------------------------------------------------------------------------------------ */

enum {
    PELVIS,
    SPINE_1,
    SPINE_2,
    CHEST,
    NECK_1,
    NECK_2,
    NECK_3,
    HEAD,
    TAIL_1,
    LEGS = TAIL_1 + 5, /* four joints per leg */
    JOINT_COUNT = LEGS + 16
};

static void make_joints(const body *b, scene_joint *joints) {
    static const char *const tail_names[5] = {"tail.1", "tail.2", "tail.3", "tail.4", "tail.5"};
    static const char *const leg_names[4][4] = {
        {"fore_upper.L", "fore_lower.L", "fore_foot.L", "fore_toes.L"},
        {"fore_upper.R", "fore_lower.R", "fore_foot.R", "fore_toes.R"},
        {"hind_upper.L", "hind_lower.L", "hind_foot.L", "hind_toes.L"},
        {"hind_upper.R", "hind_lower.R", "hind_foot.R", "hind_toes.R"},
    };
    static const double leg_radii[2][4] = {{0.17, 0.11, 0.09, 0.09}, {0.2, 0.12, 0.09, 0.09}};
    static const double tail_radii[5] = {0.24, 0.17, 0.12, 0.08, 0.05};
    vec shoulders = vec_mix(b->spine[4], b->neck[0], 0.2);
    joints[PELVIS] = (scene_joint){"pelvis", PELT_NONE, b->spine[0], b->spine[1], 0.33};
    joints[SPINE_1] = (scene_joint){"spine.1", PELVIS, b->spine[1], b->spine[2], 0.36};
    joints[SPINE_2] = (scene_joint){"spine.2", SPINE_1, b->spine[2], b->spine[3], 0.38};
    joints[CHEST] = (scene_joint){"chest", SPINE_2, b->spine[3], shoulders, 0.34};
    joints[NECK_1] = (scene_joint){"neck.1", CHEST, shoulders, b->neck[0], 0.22};
    joints[NECK_2] = (scene_joint){"neck.2", NECK_1, b->neck[0], b->neck[1], 0.18};
    joints[NECK_3] = (scene_joint){"neck.3", NECK_2, b->neck[1], b->neck[2], 0.17};
    joints[HEAD] = (scene_joint){"head", NECK_3, b->neck[2], b->snout, 0.19};
    for (uint32_t t = 0; t < 5; t++)
        joints[TAIL_1 + t] =
            (scene_joint){tail_names[t], t ? TAIL_1 + t - 1 : PELVIS, b->tail[t], b->tail[t + 1], tail_radii[t]};
    for (uint32_t leg = 0; leg < 4; leg++)
        for (uint32_t p = 0; p < 4; p++) {
            uint32_t j = LEGS + 4 * leg + p;
            joints[j] = (scene_joint){leg_names[leg][p],
                                      p         ? j - 1
                                      : leg < 2 ? CHEST
                                                : PELVIS,
                                      b->leg[leg][p], b->leg[leg][p + 1], leg_radii[leg / 2][p]};
        }
}

/* ---- Walk ------------------------------------------------------------------------------------------------- */

#define LOOP      60u /* frames: 2 s */
#define MAX_WAVES 64u

typedef struct walk_table {
    scene_wave waves[MAX_WAVES];
    uint32_t count;
} walk_table;

static void wave(walk_table *t, uint32_t joint, uint32_t axis, double middle, double amplitude, double cycles,
                 double phase) {
    if (t->count < MAX_WAVES)
        t->waves[t->count++] = (scene_wave){joint, axis, middle, amplitude, cycles, phase};
}

/* A lateral walk: hind left, fore left, hind right, fore right, a quarter apart. A positive turn about x takes a leg
 * back; knees fold while the leg comes forward. */
static void walk_legs(walk_table *t) {
    static const double phases[4] = {0.25, 0.75, 0.0, 0.5};
    for (uint32_t leg = 0; leg < 4; leg++) {
        uint32_t j = LEGS + 4 * leg;
        double phase = phases[leg], fold = phase + 0.75;
        bool hind = leg >= 2;
        wave(t, j, 0, hind ? 0.06 : -0.02, hind ? 0.4 : 0.4, 2, phase);
        wave(t, j + 1, 0, hind ? 0.02 : 0.18, hind ? 0.34 : 0.4, 2, fold);
        wave(t, j + 2, 0, hind ? -0.06 : 0.05, hind ? 0.3 : 0.35, 2, fold + (hind ? 0.04 : -0.04));
        wave(t, j + 3, 0, 0.0, 0.25, 2, phase + 0.3);
    }
}

static void walk_trunk(walk_table *t) {
    wave(t, PELVIS, 4, -0.02, 0.02, 4, 0.1);
    wave(t, PELVIS, 1, 0, 0.08, 2, 0.25);
    wave(t, PELVIS, 2, 0, 0.05, 2, 0.0);
    wave(t, SPINE_1, 1, 0, -0.09, 2, 0.25);
    wave(t, SPINE_2, 1, 0, -0.1, 2, 0.3);
    wave(t, SPINE_2, 0, 0, 0.04, 4, 0.5);
    wave(t, CHEST, 1, 0, 0.1, 2, 0.3);
    wave(t, CHEST, 2, 0, -0.05, 2, 0.0);
    wave(t, NECK_1, 0, 0, 0.06, 4, 0.2);
    wave(t, NECK_1, 1, 0, 0.14, 1, 0.0);
    wave(t, NECK_2, 1, 0, 0.16, 1, 0.05);
    wave(t, NECK_2, 0, 0, 0.06, 4, 0.35);
    wave(t, NECK_3, 1, 0, 0.16, 1, 0.1);
    wave(t, HEAD, 0, 0, -0.12, 4, 0.4);
    wave(t, HEAD, 1, 0, 0.15, 1, 0.15);
    wave(t, HEAD, 2, 0, 0.1, 1, 0.3);
    for (uint32_t s = 0; s < 5; s++) {
        wave(t, TAIL_1 + s, 1, 0, 0.12 + 0.05 * s, 2, 1.0 - 0.12 * s);
        wave(t, TAIL_1 + s, 0, 0, 0.05 + 0.02 * s, 1, 1.0 - 0.1 * s);
    }
}

/* ---- Scene ------------------------------------------------------------------------------------------------ */

static pelt_result build(pelt_context *context, pelt_model *scratch, const scene_desc *desc, pelt_model *model) {
    scene_random random = {desc->seed};
    body b = make_body(&random);
    scene_joint joints[JOINT_COUNT];
    make_joints(&b, joints);
    scene_solid *solid = SCENE_NEW(context, scratch, scene_solid, 1);
    walk_table *table = SCENE_NEW(context, scratch, walk_table, 1);
    if (!solid || !table)
        return PELT_ERROR_MEMORY;
    make_solid(&b, solid);
    SCENE_TRY(scene_skinned_solid(context, scratch, desc, solid, "creature", joints, JOINT_COUNT, model));
    walk_legs(table);
    walk_trunk(table);
    return scene_motion(context, model, "walk", table->waves, table->count,
                        scene_count(desc->frame_count, LOOP + 1, 1, SCENE_MAX_FRAMES), LOOP);
}

static pelt_result make(pelt_context *context, const scene_desc *desc, pelt_model **model) {
    return scene_build(context, desc, build, model);
}

const scene scene_creature = {
    "creature", "a four-legged creature that walks: one closed surface, 29 joints, true weights", make, NULL};
