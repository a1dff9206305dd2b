/* Shells that follow one joint are rigid: touching boxes have the rig's own skin, without soft particles. */
#include "support.h"

#include "jiggle/object.h"
#include "jiggle/rigid.h"

#include <pelt/run.h>

#include <math.h>

#define CORNERS 8u

static const uint32_t faces[36] = {0, 2, 3, 0, 3, 1, 4, 5, 7, 4, 7, 6, 0, 1, 5, 0, 5, 4,
                                   2, 6, 7, 2, 7, 3, 0, 4, 6, 0, 6, 2, 1, 3, 7, 1, 7, 5};
static const char *names[] = {"lower", "upper"};
static uint32_t parents[] = {PELT_NONE, 0};
static pelt_transform rest[] = {{{0, 0, 0}, {0, 0, 0, 1}, {1, 1, 1}}, {{0, 1, 0}, {0, 0, 0, 1}, {1, 1, 1}}};

/* A box on another one, with a face in common; each has its joint. */
typedef struct boxes {
    test_context test;
    pelt_model *model;
    float positions[6 * CORNERS], normals[6 * CORNERS], weights[4 * CORNERS];
    uint16_t bones[4 * CORNERS];
    uint32_t triangles[72], bone_joints[2];
    pelt_affine inverse_binds[2];
    pelt_part part;
} boxes;

static void begin(boxes *b) {
    *b = (boxes){.bone_joints = {0, 1}, .part = {"boxes", NULL, 0, 24, 0, 2 * CORNERS, 0, true}};
    test_begin(&b->test, 1);
    test_ok(&b->test, pelt_model_create(b->test.context, &b->model));
    for (uint32_t i = 0; i < 2 * CORNERS; i++) {
        uint32_t upper = i / CORNERS;
        float *p = b->positions + 3 * i;
        for (uint32_t c = 0; c < 3; c++)
            p[c] = (float)(i >> c & 1) - (c == 1 ? 0 : 0.5f);
        p[1] += (float)upper;
        b->normals[3 * i] = 1;
        b->bones[2 * i] = (uint16_t)upper;
        b->bones[2 * i + 1] = (uint16_t)(1 - upper);
        b->weights[2 * i] = 1;
    }
    for (uint32_t e = 0; e < 72; e++)
        b->triangles[e] = faces[e % 36] + (e < 36 ? 0 : CORNERS);
    pelt_model *m = b->model;
    m->skeleton = (pelt_skeleton){2, names, parents, rest};
    b->inverse_binds[0] = b->inverse_binds[1] = px_affine_identity();
    b->inverse_binds[1].m[7] = -1;
    m->mesh = (pelt_mesh){.vertex_count = 2 * CORNERS,
                          .triangle_count = 24,
                          .polygon_count = 24,
                          .points.count = 2 * CORNERS,
                          .part_count = 1,
                          .positions = b->positions,
                          .normals = b->normals,
                          .triangles = b->triangles,
                          .parts = &b->part};
    m->skin = (pelt_skin){2, 2, b->bone_joints, b->inverse_binds, b->bones, b->weights};
    test_ok(&b->test, pelt_model_validate(b->test.context, m));
}

static void end(boxes *b) {
    pelt_model_destroy(b->model);
    test_end(&b->test);
}

/* Which boxes are rigid: bit 0 the lower one, bit 1 the upper one. */
static uint32_t rigid_boxes(boxes *b, const pelt_jiggle_desc *desc) {
    px_arena *arena = px_arena_create(b->test.context);
    px_jiggle_subject subject;
    bool *rigid;
    uint32_t found = 0;
    test_ok(&b->test, px_jiggle_subject_make(b->test.context, arena, b->model, &subject));
    test_ok(&b->test, px_rigid_find(arena, &subject, desc, &rigid));
    for (uint32_t i = 0; rigid && i < 2 * CORNERS; i++) {
        assert_int_equal(rigid[i], rigid[i / CORNERS * CORNERS]); /* all vertices of a box, or none */
        found |= (uint32_t)rigid[i] << i / CORNERS;
    }
    px_arena_destroy(arena);
    return found;
}

static void shells_of_one_joint_are_rigid(void **state) {
    (void)state;
    boxes b;
    begin(&b);
    pelt_jiggle_desc desc = pelt_jiggle_desc_default();
    assert_int_equal(rigid_boxes(&b, &desc), 3);
    pelt_jiggle_joint upper = pelt_jiggle_joint_default(1);
    desc.joints = &upper;
    desc.joint_count = 1;
    assert_int_equal(rigid_boxes(&b, &desc), 3); /* δ is not set */
    upper.delta = 0.5f;
    assert_int_equal(rigid_boxes(&b, &desc), 1);
    desc.joint_count = 0;
    desc.softness = PELT_JIGGLE_SOFTNESS_EVEN;
    assert_int_equal(rigid_boxes(&b, &desc), 0);
    desc = pelt_jiggle_desc_default();
    desc.maps.delta = b.weights;
    assert_int_equal(rigid_boxes(&b, &desc), 0);
    desc.maps.delta = NULL;
    b.weights[2 * CORNERS] = b.weights[2 * CORNERS + 1] = 0.5f; /* one vertex of the upper box blends */
    assert_int_equal(rigid_boxes(&b, &desc), 1);
    end(&b);
}

/* A mesh with a single joint is a soft body that the joint shakes. */
static void one_joint_for_all_is_soft(void **state) {
    (void)state;
    boxes b;
    begin(&b);
    for (uint32_t i = 0; i < 2 * CORNERS; i++) {
        b.bones[2 * i] = 0;
        b.bones[2 * i + 1] = 1;
    }
    pelt_jiggle_desc desc = pelt_jiggle_desc_default();
    assert_int_equal(rigid_boxes(&b, &desc), 0);
    end(&b);
}

static void touching_boxes_stay_boxes(void **state) {
    (void)state;
    boxes b;
    begin(&b);
    pelt_jiggle *jiggle;
    pelt_jiggle_desc desc = pelt_jiggle_desc_default();
    desc.particles = 200;
    test_ok(&b.test, pelt_jiggle_create(b.test.context, b.model, &desc, &jiggle));
    pelt_transform locals[2] = {rest[0], rest[1]};
    float positions[6 * CORNERS], normals[6 * CORNERS];
    pelt_jiggle_set_pose(jiggle, locals);
    locals[1].rotation[2] = locals[1].rotation[3] = sqrtf(0.5f); /* x to y */
    pelt_jiggle_set_pose(jiggle, locals);
    pelt_jiggle_step(jiggle, 0.1);
    pelt_jiggle_positions(jiggle, positions, normals);
    for (uint32_t i = 0; i < 2 * CORNERS; i++) {
        const float *p = b.positions + 3 * i;
        bool upper = i >= CORNERS;
        const float wanted[3] = {upper ? 1 - p[1] : p[0], upper ? 1 + p[0] : p[1], p[2]};
        for (uint32_t c = 0; c < 3; c++) {
            assert_float_equal(positions[3 * i + c], wanted[c], 1e-5f);
            assert_float_equal(normals[3 * i + c], c == (upper ? 1 : 0) ? 1 : 0, 1e-5f);
        }
    }
    pelt_jiggle_destroy(jiggle);
    end(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shells_of_one_joint_are_rigid),
        cmocka_unit_test(one_joint_for_all_is_soft),
        cmocka_unit_test(touching_boxes_stay_boxes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
