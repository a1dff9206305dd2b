/* Characters of rigid parts: hulls along the bones, and bolts on them. Every shell follows one joint. */
#include "bind_models.h"

#include "bind/bind.h"

enum { BONES = 4, BOLTS = 6 };
static const test_joint chain[BONES] = {
    {"a", PELT_NONE, {0, 0, 0}}, {"b", 0, {1, 0, 0}}, {"c", 1, {2, 0, 0}}, {"d", 2, {3, 0, 0}}};

/* owners [vertex]: the joint that each should follow. Hulls touch in the voxels. */
static pelt_model *make_machine(test_context *test, uint32_t *owners) {
    shape *s = calloc(1, sizeof *s);
    shape_part(s, "machine", "steel");
    for (uint32_t j = 0; j < BONES; j++) {
        uint32_t first = s->vertex_count;
        shape_tube(s, 0, j + 0.02, j + 0.98, 6, 0.2, (double[3]){0, 0, 0});
        for (int n = 0; n < BOLTS; n++) /* spread along the bone, so that some sit where the next bone begins */
            shape_tube(s, 1, 0.18, 0.28, 1, 0.03, (double[3]){j + 0.08 + 0.168 * n, 0, 0.1 * (n % 3 - 1)});
        for (uint32_t i = first; i < s->vertex_count; i++)
            owners[i] = j;
    }
    shape_part_end(s);
    pelt_model *model = shape_model(test, s);
    free(s);
    add_skeleton(test, model, chain, BONES);
    add_skin(test, model, chain, BONES);
    return model;
}

static double mean_own(const pelt_model *model, const uint32_t *owners) {
    double sum = 0;
    for (uint32_t i = 0; i < model->mesh.vertex_count; i++)
        sum += joint_weight(model, i, owners[i]) / model->mesh.vertex_count;
    return sum;
}

static void test_every_shell_follows_its_joint(void **state) {
    (void)state;
    static uint32_t owners[SHAPE_MOST];
    test_context test;
    test_begin(&test, 1);
    for (uint32_t method = 0; method < 2; method++) {
        pelt_bind_desc desc = quick_desc();
        pelt_bind_report report;
        desc.method = method;
        pelt_model *model = make_machine(&test, owners), *soft = make_machine(&test, owners);
        test_ok(&test, pelt_bind(test.context, model, &desc, &report));
        assert_int_equal(report.rigid_count, model->mesh.vertex_count);
        for (uint32_t i = 0; i < model->mesh.vertex_count; i++)
            assert_true(joint_weight(model, i, owners[i]) == 1);
        desc.rigid_parts = PELT_BIND_RIGID_OFF;
        test_ok(&test, pelt_bind(test.context, soft, &desc, &report));
        assert_int_equal(report.rigid_count, 0);
        assert_true(mean_own(soft, owners) < 0.95);
        pelt_model_destroy(model);
        pelt_model_destroy(soft);
    }
    test_end(&test);
}

/* Settings take precedence: an excluded joint gets no shell. */
static void test_excluded_joints_get_no_shell(void **state) {
    (void)state;
    static uint32_t owners[SHAPE_MOST];
    test_context test;
    test_begin(&test, 1);
    pelt_bind_desc desc = quick_desc();
    desc.exclude = "b";
    pelt_model *model = make_machine(&test, owners);
    test_ok(&test, pelt_bind(test.context, model, &desc, NULL));
    for (uint32_t i = 0; i < model->mesh.vertex_count; i++)
        assert_true(joint_weight(model, i, 1) == 0);
    pelt_model_destroy(model);
    test_end(&test);
}

/* A character of boxes, as in block games: adjacent boxes share faces and corners. Every limb has one joint, at its
 * upper end, whose +y points along the limb (down for arms and legs). */
enum { BODY, HEAD, ARM_LEFT, ARM_RIGHT, LEG_LEFT, LEG_RIGHT, LIMBS };
static const test_joint limb_joints[LIMBS] = {{"Body", PELT_NONE, {0, 6, 0}}, {"Head", BODY, {0, 12, 0}},
                                              {"Arm_Left", BODY, {3, 11, 0}}, {"Arm_Right", BODY, {-3, 11, 0}},
                                              {"Leg_Left", BODY, {1, 6, 0}},  {"Leg_Right", BODY, {-1, 6, 0}}};
static const float limb_boxes[LIMBS][2][3] = {{{-2, 6, -1}, {2, 12, 1}}, {{-2, 12, -2}, {2, 16, 2}},
                                              {{2, 6, -1}, {4, 12, 1}},  {{-4, 6, -1}, {-2, 12, 1}},
                                              {{0, 0, -1}, {2, 6, 1}},   {{-2, 0, -1}, {0, 6, 1}}};

/* Six faces with four vertices each; `diagonal` (0 or 1) chooses the diagonal that splits a face. */
static void shape_box(shape *s, const float box[2][3], uint32_t diagonal) {
    for (uint32_t face = 0; face < 6; face++) {
        uint32_t axis = face / 2, high = face % 2, u = (axis + 1) % 3, v = (axis + 2) % 3, first = s->vertex_count;
        for (uint32_t k = 0; k < 4; k++) {
            float *p = s->positions + 3 * (size_t)s->vertex_count++;
            p[axis] = box[high][axis];
            p[u] = box[k == 1 || k == 2][u];
            p[v] = box[k >= 2][v];
        }
        uint32_t corners[4];
        for (uint32_t k = 0; k < 4; k++)
            corners[k] = first + (high ? k + diagonal : 4 + diagonal - k) % 4;
        shape_quad(s, corners[0], corners[1], corners[2], corners[3]);
    }
}

static pelt_model *make_block_character(test_context *test) {
    shape *s = calloc(1, sizeof *s);
    shape_part(s, "character", "paper");
    for (uint32_t j = 0; j < LIMBS; j++)
        shape_box(s, limb_boxes[j], 0);
    shape_part_end(s);
    pelt_model *model = shape_model(test, s);
    free(s);
    add_skeleton(test, model, limb_joints, LIMBS);
    add_skin(test, model, limb_joints, LIMBS);
    for (uint32_t j = ARM_LEFT; j < LIMBS; j++) { /* half a turn about x */
        const float *p = limb_joints[j].place;
        memcpy(model->skeleton.rest[j].rotation, (float[4]){1, 0, 0, 0}, 4 * sizeof(float));
        model->skin.inverse_binds[j] = (pelt_affine){{1, 0, 0, -p[0], 0, -1, 0, p[1], 0, 0, -1, p[2]}};
    }
    return model;
}

static void test_boxes_that_touch_follow_their_joints(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_bind_desc desc = quick_desc();
    pelt_bind_report report;
    pelt_model *model = make_block_character(&test);
    test_ok(&test, pelt_bind(test.context, model, &desc, &report));
    assert_int_equal(report.rigid_count, model->mesh.vertex_count);
    for (uint32_t i = 0; i < model->mesh.vertex_count; i++)
        assert_true(joint_weight(model, i, i / 24) == 1);
    pelt_model_destroy(model);
    test_end(&test);
}

/* Eight boxes around a point, in any orientation: up to eight triangles meet at their edges, in coincident pairs, and
 * rounding puts those opposite the first at −π or π. Each box remains a solid of eight corners. */
static void test_coinciding_faces_stay_apart(void **state) {
    (void)state;
    test_random random = {5};
    for (int round = 0; round < 60; round++) {
        test_context test;
        test_begin(&test, 1);
        shape *s = calloc(1, sizeof *s);
        shape_part(s, "boxes", "paper");
        for (uint32_t n = 0; n < 8; n++) {
            float x = n & 1 ? -1 : 0, y = n & 2 ? -1 : 0, z = n & 4 ? -1 : 0;
            shape_box(s, (const float[2][3]){{x, y, z}, {x + 1, y + 1, z + 1}},
                      (n ^ n >> 1 ^ n >> 2) & 1); /* adjacent boxes differ */
        }
        shape_part_end(s);
        double angle = test_random_real(&random, 0, 6), c = cos(angle), b = sin(angle);
        for (uint32_t i = 0; i < s->vertex_count && round > 0; i++) {
            float *p = s->positions + 3 * (size_t)i, x = p[0], y = p[1];
            p[0] = (float)(c * (double)x - b * (double)y);
            p[1] = (float)(0.6 * (b * (double)x + c * (double)y) - 0.8 * (double)p[2]);
            p[2] = (float)(0.8 * (b * (double)x + c * (double)y) + 0.6 * (double)p[2]);
        }
        pelt_model *model = shape_model(&test, s);
        free(s);
        test_ok(&test, pelt_model_weld(test.context, model));
        assert_int_equal(model->mesh.weld.count, 27);
        px_arena *arena = px_arena_create(test.context);
        pelt_vertex_classes corners;
        test_ok(&test, px_bind_part_blocks(arena, &model->mesh, &corners));
        assert_int_equal(corners.count, 64);
        px_arena_destroy(arena);
        pelt_model_destroy(model);
        test_end(&test);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_shell_follows_its_joint),
                                       cmocka_unit_test(test_excluded_joints_get_no_shell),
                                       cmocka_unit_test(test_boxes_that_touch_follow_their_joints),
                                       cmocka_unit_test(test_coinciding_faces_stay_apart)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
