/* Settings of joints changed during the simulation, and parts that are merged or split. */
#include "jiggle_arm.h"

static pelt_jiggle_desc plain(void) {
    pelt_jiggle_desc desc = pelt_jiggle_desc_default();
    desc.particles = 400;
    desc.softness = PELT_JIGGLE_SOFTNESS_EVEN;
    return desc;
}

/* ---- Frequencies ------------------------------------------------------------------------------------------ */

/* Settings of joints at a step; returns their count. */
typedef uint32_t plan_fn(int step, pelt_jiggle_joint joints[ARM_JOINTS]);

static uint32_t nothing(int step, pelt_jiggle_joint joints[ARM_JOINTS]) {
    (void)step, (void)joints;
    return 0;
}

static uint32_t all_at_5(int step, pelt_jiggle_joint joints[ARM_JOINTS]) {
    (void)step;
    for (uint32_t j = 0; j < ARM_JOINTS; j++)
        joints[j].frequency = 5;
    return ARM_JOINTS;
}

static uint32_t wrist_at_5(int step, pelt_jiggle_joint joints[ARM_JOINTS]) {
    (void)step;
    joints[0].joint = ARM_WRIST;
    joints[0].frequency = 5;
    return 1;
}

static uint32_t changing(int step, pelt_jiggle_joint joints[ARM_JOINTS]) {
    joints[0].joint = ARM_ELBOW;
    joints[0].frequency = 4 + (float)(step % 20);
    joints[0].stiffness = step % 40 < 20 ? 1 : 3.5f;
    joints[1].frequency = step % 30 < 15 ? -1 : 2;
    return 2;
}

/* Shakes the arm for a second; returns the particles at its end, freed by the caller. */
static float *shake(double frequency, plan_fn *plan, uint32_t *count) {
    arm_test t;
    pelt_jiggle_desc desc = plain();
    desc.frequency = frequency;
    arm_begin_desc(&t, &desc);
    pelt_jiggle_set_pose(t.jiggle, t.locals);
    for (int step = 0; step < 60; step++) {
        pelt_jiggle_joint joints[ARM_JOINTS];
        for (uint32_t j = 0; j < ARM_JOINTS; j++)
            joints[j] = pelt_jiggle_joint_default(j);
        uint32_t given = plan(step, joints);
        pelt_jiggle_set_values(t.jiggle, joints, given, NULL);
        t.locals[ARM_BASE].translation[0] = 0.1f * (float)sin(step * 0.4);
        pelt_jiggle_set_pose(t.jiggle, t.locals);
        pelt_jiggle_step(t.jiggle, 1.0 / 60);
    }
    *count = t.jiggle->lattice.particle_count;
    float *out = malloc(4 * sizeof(float) * *count);
    memcpy(out, t.jiggle->shown, 4 * sizeof(float) * *count);
    arm_end(&t);
    return out;
}

static double apart(const float *a, const float *b, uint32_t count) {
    double most = 0;
    for (size_t e = 0; e < 4 * (size_t)count; e++)
        most = fmax(most, fabs((double)a[e] - (double)b[e]));
    return most;
}

/* All joints at 5 Hz equal a frequency of 5 Hz; a single joint affects only its own tissue. */
static void joints_have_frequencies(void **state) {
    (void)state;
    uint32_t count;
    float *standard = shake(16, nothing, &count), *five = shake(5, nothing, &count),
          *joints = shake(16, all_at_5, &count), *wrist = shake(16, wrist_at_5, &count);
    assert_true(apart(standard, five, count) > 5e-3);
    assert_true(apart(joints, five, count) < 1e-4);
    assert_true(apart(wrist, standard, count) > 1e-3 && apart(wrist, five, count) > 1e-3);
    free(standard);
    free(five);
    free(joints);
    free(wrist);
}

/* Equal changes at equal steps give equal bits, and stay finite. */
static void changes_are_deterministic(void **state) {
    (void)state;
    uint32_t count;
    float *a = shake(16, changing, &count), *b = shake(16, changing, &count), *standard = shake(16, nothing, &count);
    assert_memory_equal(a, b, 4 * sizeof(float) * count);
    assert_true(apart(a, standard, count) > 1e-3 && apart(a, standard, count) < 1);
    free(a);
    free(b);
    free(standard);
}

/* ---- Maps ------------------------------------------------------------------------------------------------- */

/* Vertices are read back with the values that a map gave them; away from those that have one, nothing changes, also not the
 * bound that thickness sets. */
static void maps_are_local(void **state) {
    (void)state;
    arm_test t;
    pelt_jiggle_desc desc = pelt_jiggle_desc_default();
    desc.particles = 1000;
    desc.bone_radius = 0;
    arm_begin_desc(&t, &desc);
    uint32_t count = t.model->mesh.vertex_count, particles = t.jiggle->lattice.particle_count;
    float *map = malloc(count * sizeof *map), *before = malloc(count * sizeof *before),
          *after = malloc(count * sizeof *after), *limits = malloc(particles * sizeof *limits);
    const float *positions = t.model->mesh.positions;
    float top = positions[1];
    for (uint32_t i = 0; i < count; i++)
        top = fmaxf(top, positions[3 * i + 1]);
    for (uint32_t i = 0; i < count; i++)
        map[i] = positions[3 * i + 1] > 0.7f * top ? 0.25f : -1;
    pelt_jiggle_get_values(t.jiggle, PELT_JIGGLE_VALUE_DELTA, before);
    memcpy(limits, t.jiggle->swing.values.limits, particles * sizeof *limits);
    pelt_jiggle_set_values(t.jiggle, NULL, 0, &(pelt_jiggle_maps){.delta = map});
    pelt_jiggle_get_values(t.jiggle, PELT_JIGGLE_VALUE_DELTA, after);
    uint32_t painted = 0, kept = 0, bounded = 0, freed = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (positions[3 * i + 1] < 0.4f * top) {
            assert_true(after[i] == before[i]);
            kept++;
        } else if (positions[3 * i + 1] > 0.9f * top) {
            assert_true(after[i] <= 0.2501f);
            painted += after[i] > 0.1f && after[i] != before[i];
        }
    }
    for (uint32_t p = 0; p < particles; p++) {
        float limit = t.jiggle->swing.values.limits[p];
        if (t.jiggle->lattice.rest[3 * p + 1] < 0.4f * top) {
            assert_true(limit == limits[p]);
            bounded += limit < 1e29f;
        } else if (t.jiggle->lattice.rest[3 * p + 1] > 0.9f * top) {
            freed += limit > 1e29f;
        }
    }
    assert_true(painted > 20 && kept > 20 && bounded > 10 && freed > 5);
    pelt_jiggle_set_values(t.jiggle, NULL, 0, NULL);
    pelt_jiggle_get_values(t.jiggle, PELT_JIGGLE_VALUE_DELTA, after);
    assert_memory_equal(after, before, count * sizeof *after);
    float all = 3;
    for (uint32_t i = 0; i < count; i++)
        map[i] = all;
    pelt_jiggle_set_values(t.jiggle, NULL, 0, &(pelt_jiggle_maps){.stiffness = map, .damping = map});
    for (pelt_jiggle_value value = PELT_JIGGLE_VALUE_STIFFNESS; value <= PELT_JIGGLE_VALUE_DAMPING; value++) {
        pelt_jiggle_get_values(t.jiggle, value, after);
        for (uint32_t i = 0; i < count; i++)
            assert_true(fabsf(after[i] - all) < 1e-4f);
    }
    free(map);
    free(before);
    free(after);
    free(limits);
    arm_end(&t);
}

/* ---- Grabs ------------------------------------------------------------------------------------------------ */

static double distance_to(const float *positions, uint32_t vertex, const float target[3]) {
    double sum = 0;
    for (uint32_t c = 0; c < 3; c++) {
        double off = (double)positions[3 * vertex + c] - (double)target[c];
        sum += off * off;
    }
    return sqrt(sum);
}

/* The vertex farthest from the axis of the arm, halfway between elbow and wrist: far from the bone. */
static uint32_t softest_vertex(const arm_test *t) {
    const pelt_mesh *mesh = &t->model->mesh;
    float *values = malloc(mesh->vertex_count * sizeof *values);
    pelt_jiggle_get_values(t->jiggle, PELT_JIGGLE_VALUE_DELTA, values);
    uint32_t best = 0;
    for (uint32_t i = 0; i < mesh->vertex_count; i++)
        best = values[i] > values[best] ? i : best;
    free(values);
    return best;
}

/* A grabbed vertex comes to the target, tissue far away does not move, and all returns to rest when it is let go. */
static void grabs_pull_and_let_go(void **state) {
    (void)state;
    arm_test t;
    pelt_jiggle_desc desc = plain();
    desc.bone_radius = 0;
    desc.particles = 2000;
    arm_begin_desc(&t, &desc);
    uint32_t count = t.model->mesh.vertex_count, held = softest_vertex(&t);
    float *rest = malloc(3 * count * sizeof *rest), *now = malloc(3 * count * sizeof *now);
    pelt_jiggle_set_pose(t.jiggle, t.locals);
    pelt_jiggle_positions(t.jiggle, rest, NULL);
    double cell = (double)t.jiggle->lattice.cell;
    pelt_jiggle_grab grab = {.vertex = held, .radius = 2 * t.jiggle->lattice.cell};
    memcpy(grab.target, rest + 3 * held, sizeof grab.target);
    grab.target[0] += (float)cell;
    for (int step = 0; step < 120; step++) {
        pelt_jiggle_set_grab(t.jiggle, &grab);
        pelt_jiggle_step(t.jiggle, 1.0 / 60);
    }
    pelt_jiggle_positions(t.jiggle, now, NULL);
    assert_true(distance_to(now, held, grab.target) < 0.5 * cell);
    double farthest = 0, moved = 0; /* of vertices two cells and more beyond the radius */
    for (uint32_t i = 0; i < count; i++)
        if (distance_to(rest, i, rest + 3 * held) > 6 * cell) {
            farthest = fmax(farthest, distance_to(rest, i, rest + 3 * held));
            moved = fmax(moved, distance_to(now, i, rest + 3 * i));
        }
    assert_true(farthest > 0 && moved < 0.35 * cell);
    pelt_jiggle_set_grab(t.jiggle, NULL);
    for (int step = 0; step < 600; step++)
        pelt_jiggle_step(t.jiggle, 1.0 / 60);
    pelt_jiggle_positions(t.jiggle, now, NULL);
    for (uint32_t i = 0; i < count; i++)
        assert_true(distance_to(now, i, rest + 3 * i) < 1e-3 * cell);
    free(rest);
    free(now);
    arm_end(&t);
}

/* A grab that is shaken by many cells, of any vertex, with any radius, stays finite; one that is invalid lets go. */
static void grabs_are_robust(void **state) {
    (void)state;
    arm_test t;
    pelt_jiggle_desc desc = plain();
    desc.bone_radius = 0;
    desc.delta = 1;
    arm_begin_desc(&t, &desc);
    uint32_t count = t.model->mesh.vertex_count;
    float *now = malloc(3 * count * sizeof *now);
    pelt_jiggle_set_pose(t.jiggle, t.locals);
    for (int step = 0; step < 400; step++) {
        pelt_jiggle_grab grab = {.vertex = (uint32_t)(step / 50) * (count / 9),
                                 .target = {(float)(step % 2) * 100, (float)(step % 7) - 50, (float)(step % 3)},
                                 .radius = (float)(step / 50) * t.jiggle->lattice.cell};
        pelt_jiggle_set_grab(t.jiggle, &grab);
        pelt_jiggle_step(t.jiggle, 1.0 / 60);
    }
    pelt_jiggle_positions(t.jiggle, now, NULL);
    double most = 0;
    for (uint32_t e = 0; e < 3 * count; e++)
        assert_true(isfinite(now[e])), most = fmax(most, fabs((double)now[e]));
    assert_true(most < 400);
    assert_true(t.jiggle->swing.grab.count > 0);
    pelt_jiggle_set_grab(t.jiggle, &(pelt_jiggle_grab){.vertex = count});
    assert_int_equal(t.jiggle->swing.grab.count, 0);
    pelt_jiggle_set_grab(t.jiggle, &(pelt_jiggle_grab){.vertex = 0, .target = {NAN, 0, 0}});
    assert_int_equal(t.jiggle->swing.grab.count, 0);
    free(now);
    arm_end(&t);
}

/* ---- Parts ------------------------------------------------------------------------------------------------ */

/* Rest volumes and particles of all parts; the caller's arrays have a capacity of 2 · ARM_JOINTS. */
static uint32_t parts_of(const pelt_jiggle_part *changes, uint32_t count, pelt_jiggle_volume *out) {
    arm_test t;
    pelt_jiggle_desc desc = plain();
    desc.parts = changes;
    desc.part_count = count;
    arm_begin_desc(&t, &desc);
    pelt_jiggle_report report = pelt_jiggle_get_report(t.jiggle);
    assert_true(report.volume_count <= 2 * ARM_JOINTS);
    memcpy(out, report.volumes, report.volume_count * sizeof *out);
    uint32_t particles = 0;
    for (uint32_t k = 0; k < report.volume_count; k++)
        particles += out[k].particle_count;
    assert_int_equal(particles, report.particle_count);
    arm_end(&t);
    return report.volume_count;
}

static const pelt_jiggle_volume *part_of(const pelt_jiggle_volume *parts, uint32_t count, uint32_t joint,
                                         uint32_t bone) {
    for (uint32_t k = 0; k < count; k++)
        if (parts[k].joint == joint && parts[k].bone == bone)
            return &parts[k];
    return NULL;
}

static void parts_merge_and_split(void **state) {
    (void)state;
    pelt_jiggle_volume plain_parts[2 * ARM_JOINTS], merged[2 * ARM_JOINTS], split[2 * ARM_JOINTS];
    const pelt_jiggle_part merge[] = {{ARM_WRIST, ARM_ELBOW}, {ARM_ELBOW, ARM_SHOULDER}}, cut = {ARM_ELBOW, PELT_NONE};
    uint32_t count = parts_of(NULL, 0, plain_parts), fewer = parts_of(merge, 2, merged),
             more = parts_of(&cut, 1, split);
    const pelt_jiggle_volume *elbow = part_of(plain_parts, count, ARM_ELBOW, PELT_NONE),
                             *wrist = part_of(plain_parts, count, ARM_WRIST, PELT_NONE),
                             *shoulder = part_of(plain_parts, count, ARM_SHOULDER, PELT_NONE);
    assert_true(elbow && wrist && shoulder);
    assert_int_equal(fewer, count - 2);
    const pelt_jiggle_volume *whole = part_of(merged, fewer, ARM_SHOULDER, PELT_NONE);
    assert_true(whole && !part_of(merged, fewer, ARM_ELBOW, PELT_NONE));
    assert_true(fabs(whole->rest - elbow->rest - wrist->rest - shoulder->rest) < 1e-4 * whole->rest);
    assert_int_equal(more, count + 1);
    const pelt_jiggle_volume *upper = part_of(split, more, ARM_ELBOW, ARM_SHOULDER),
                             *lower = part_of(split, more, ARM_ELBOW, ARM_ELBOW);
    assert_true(upper && lower && upper->particle_count > 0 && lower->particle_count > 0);
    assert_true(fabs(upper->rest + lower->rest - elbow->rest) < 1e-4 * elbow->rest);
}

static void changes_of_parts_are_checked(void **state) {
    (void)state;
    static const struct {
        pelt_jiggle_part parts[2];
        const char *text;
    } bad[] = {
        {{{ARM_ELBOW, ARM_ELBOW}, {ARM_WRIST, PELT_NONE}}, "into itself"},
        {{{ARM_ELBOW, ARM_WRIST}, {ARM_WRIST, ARM_ELBOW}}, "into itself"},
        {{{ARM_ELBOW, ARM_WRIST}, {ARM_ELBOW, PELT_NONE}}, "changed twice"},
        {{{ARM_ELBOW, 9}, {ARM_WRIST, PELT_NONE}}, "there are 4 joints"},
        {{{9, PELT_NONE}, {ARM_WRIST, PELT_NONE}}, "there are 4 joints"},
    };
    arm_test t;
    arm_begin(&t, 100, PELT_JIGGLE_WEIGHTS_SKIN);
    for (size_t b = 0; b < PX_COUNT(bad); b++) {
        pelt_jiggle *jiggle;
        pelt_jiggle_desc desc = plain();
        desc.parts = bad[b].parts;
        desc.part_count = 2;
        test_fails(&t.test, pelt_jiggle_create(t.test.context, t.model, &desc, &jiggle), PELT_ERROR_USAGE, bad[b].text);
    }
    arm_end(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joints_have_frequencies),
        cmocka_unit_test(changes_are_deterministic),
        cmocka_unit_test(maps_are_local),
        cmocka_unit_test(grabs_pull_and_let_go),
        cmocka_unit_test(grabs_are_robust),
        cmocka_unit_test(parts_merge_and_split),
        cmocka_unit_test(changes_of_parts_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
