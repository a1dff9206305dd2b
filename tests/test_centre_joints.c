/* Joints moved to the centre of their limbs: displaced joints return, good skeletons hardly move, the rest shape is
 * kept. */
#include "jiggle_rig/centre_joints.h"
#include "scenes.h"
#include "support.h"

#include <pelt/jiggle_rig.h>
#include <pelt/run.h>

#include <math.h>

typedef struct made {
    test_context test;
    pelt_context *context;
    pelt_model *model;
    float *rest; /* [vertex][3] posed at rest */
} made;

static void pose(made *m, const pelt_motion *motion, float time, float *out) {
    test_ok(&m->test, pelt_model_pose(m->context, m->model, motion, time, PELT_SKINNING_LINEAR, out, NULL));
}

static void make(const char *scene_name, made *m) {
    m->context = test_begin(&m->test, 1);
    test_ok(&m->test, scene_find(scene_name)->make(m->context, &(scene_desc){1500, 6, 1}, &m->model));
    m->rest = malloc(3 * sizeof(float) * m->model->mesh.vertex_count);
    pose(m, NULL, 0, m->rest);
}

static void unmake(made *m) {
    free(m->rest);
    pelt_model_destroy(m->model);
    test_end(&m->test);
}

static double apart(const made *m, const float *a, const float *b) {
    double most = 0;
    for (size_t e = 0; e < 3 * (size_t)m->model->mesh.vertex_count; e++)
        most = fmax(most, fabs((double)a[e] - (double)b[e]));
    return most;
}

static void places(const made *m, double (*out)[3]) {
    pelt_affine globals[64];
    assert_true(m->model->skeleton.joint_count <= 64);
    pelt_skeleton_globals(&m->model->skeleton, m->model->skeleton.rest, globals);
    for (uint32_t j = 0; j < m->model->skeleton.joint_count; j++)
        for (int c = 0; c < 3; c++)
            out[j][c] = (double)globals[j].m[4 * c + 3];
}

static double distance3(const double a[3], const double b[3]) {
    return sqrt(pow(a[0] - b[0], 2) + pow(a[1] - b[1], 2) + pow(a[2] - b[2], 2));
}

/* The arm of the scene wring lies along y; its elbow and wrist are moved off the axis by half its radius and more. */
static void displaced_joints_come_back(void **state) {
    (void)state;
    made m;
    make("wring", &m);
    double good[64][3], now[64][3], shifts[4][3] = {{0}, {0}, {0.15, 0, -0.1}, {-0.1, 0, 0.08}};
    float *positions = malloc(3 * sizeof(float) * m.model->mesh.vertex_count);
    pelt_centre_joints_report report;
    places(&m, good);
    test_ok(&m.test, px_joints_shift(m.model, (const double(*)[3])shifts));
    places(&m, now);
    for (uint32_t j = 2; j < 4; j++)
        assert_true(fabs(distance3(now[j], good[j]) - sqrt(pow(shifts[j][0], 2) + pow(shifts[j][2], 2))) < 1e-5);
    pose(&m, NULL, 0, positions);
    assert_true(apart(&m, positions, m.rest) < 1e-5);
    test_ok(&m.test, pelt_centre_joints(m.context, m.model, 0, &report));
    places(&m, now);
    for (uint32_t j = 2; j < 4; j++)
        assert_true(distance3(now[j], good[j]) < report.cell);
    assert_true(report.moved_count >= 2 && report.farthest > 0.1);
    pose(&m, NULL, 0, positions);
    assert_true(apart(&m, positions, m.rest) < 1e-5);
    free(positions);
    unmake(&m);
}

/* Moved and moved back, a rig plays its motions as before: translation tracks move along. */
static void motions_move_along(void **state) {
    (void)state;
    made m;
    make("troll", &m);
    const pelt_motion *motion = &m.model->motions[0];
    float time = motion->start + 0.4f * (motion->end - motion->start);
    double there[64][3] = {{0}}, back[64][3] = {{0}};
    float *before = malloc(3 * sizeof(float) * m.model->mesh.vertex_count),
          *after = malloc(3 * sizeof(float) * m.model->mesh.vertex_count);
    pose(&m, motion, time, before);
    for (uint32_t j = 0; j < m.model->skeleton.joint_count; j++)
        for (int c = 0; c < 3; c++)
            back[j][c] = -(there[j][c] = 0.01 * ((j + (uint32_t)c) % 5));
    test_ok(&m.test, px_joints_shift(m.model, (const double(*)[3])there));
    pose(&m, NULL, 0, after);
    assert_true(apart(&m, after, m.rest) < 1e-5);
    test_ok(&m.test, px_joints_shift(m.model, (const double(*)[3])back));
    pose(&m, &m.model->motions[0], time, after);
    assert_true(apart(&m, after, before) < 1e-5);
    free(before);
    free(after);
    unmake(&m);
}

/* The skeletons of the scenes move by less than 3.5 % of the diagonal of the mesh. */
static void good_skeletons_stay(void **state) {
    (void)state;
    const char *const names[] = {"wring", "troll", "creature"};
    for (size_t n = 0; n < PX_COUNT(names); n++) {
        made m;
        make(names[n], &m);
        float low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
        for (size_t e = 0; e < 3 * (size_t)m.model->mesh.vertex_count; e++) {
            low[e % 3] = fminf(low[e % 3], m.rest[e]);
            high[e % 3] = fmaxf(high[e % 3], m.rest[e]);
        }
        double size = sqrt(pow((double)(high[0] - low[0]), 2) + pow((double)(high[1] - low[1]), 2) +
                           pow((double)(high[2] - low[2]), 2));
        pelt_centre_joints_report report;
        test_ok(&m.test, pelt_centre_joints(m.context, m.model, 0, &report));
        printf("%s: %u joints moved, %s by %.2f %% of the diagonal, %.2f cells\n", names[n], report.moved_count,
               m.model->skeleton.names[report.farthest_joint], 100 * report.farthest / size,
               report.farthest / report.cell);
        assert_true(report.farthest < 0.035 * size);
        unmake(&m);
    }
}

static void bad_arguments_fail(void **state) {
    (void)state;
    made m;
    make("tube", &m);
    pelt_centre_joints_report report;
    test_fails(&m.test, pelt_centre_joints(m.context, m.model, 5000, &report), PELT_ERROR_USAGE, "from 0 to 1024");
    m.model->skeleton.joint_count = 0;
    test_fails(&m.test, pelt_centre_joints(m.context, m.model, 0, &report), PELT_ERROR_INPUT, "no joints");
    unmake(&m);
}

static pelt_result centre_one(pelt_context *context, void *user) {
    pelt_model *model = NULL;
    (void)user;
    pelt_result result = scene_find("tube")->make(context, &(scene_desc){0}, &model);
    if (result == PELT_OK)
        result = pelt_centre_joints(context, model, 12, NULL);
    pelt_model_destroy(model);
    return result;
}

static void failing_allocations(void **state) {
    (void)state;
    test_fail_some_allocations(1, 40, centre_one, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(displaced_joints_come_back), cmocka_unit_test(motions_move_along),
        cmocka_unit_test(good_skeletons_stay),        cmocka_unit_test(bad_arguments_fail),
        cmocka_unit_test(failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
