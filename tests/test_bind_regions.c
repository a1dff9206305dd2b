/* Parts of a mesh that bind treats differently: accessories, rigid regions, falloffs of regions, painted voxels, locks. */
#include "bind_models.h"

/* ---- Accessories ----------------------------------------------------------------------------------------------- */

static void test_small_shells_follow_one_joint(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_arms(&test, true);
    const pelt_part *button = &model->mesh.parts[1];
    pelt_bind_desc desc = quick_desc();
    pelt_bind_report report;
    bind_soundly(&test, model, &desc, &report);
    assert_int_equal(report.rigid_count, button->vertex_count);
    for (uint32_t i = 0; i < button->vertex_count; i++)
        assert_true(joint_weight(model, button->first_vertex + i, FORE_R) == 1);
    desc.rigid_parts = PELT_BIND_RIGID_OFF;
    desc.falloff = 0;
    desc.prune = 0;
    bind_soundly(&test, model, &desc, &report);
    assert_int_equal(report.rigid_count, 0);
    double least = 1;
    for (uint32_t i = 0; i < button->vertex_count; i++)
        least = fmin(least, joint_weight(model, button->first_vertex + i, FORE_R));
    assert_true(least < 1);
    pelt_model_destroy(model);
    test_end(&test);
}

/* A button over the elbow belongs to both bones: it moves as a whole, with the same weights at all vertices. */
static void test_small_shells_do_not_bend(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    for (int rigid = 0; rigid < 2; rigid++) {
        pelt_model *model = make_arms(&test, true);
        const pelt_part *button = &model->mesh.parts[1];
        pelt_bind_desc desc = quick_desc();
        pelt_bind_report report;
        desc.rigid_parts = rigid ? PELT_BIND_RIGID_AUTO : PELT_BIND_RIGID_OFF;
        desc.falloff = 0.2;
        for (uint32_t i = 0; i < button->vertex_count; i++)
            model->mesh.positions[3 * (size_t)(button->first_vertex + i)] += 0.375f;
        bind_soundly(&test, model, &desc, &report);
        assert_int_equal(report.rigid_count, 0);
        double least = 1, most = 0;
        for (uint32_t i = 0; i < button->vertex_count; i++) {
            least = fmin(least, joint_weight(model, button->first_vertex + i, FORE_R));
            most = fmax(most, joint_weight(model, button->first_vertex + i, FORE_R));
        }
        assert_true(least > 0.1 && most < 0.9);
        assert_true(rigid ? most == least : most > least + 0.01);
        pelt_model_destroy(model);
    }
    test_end(&test);
}

/* Half a ball at the end of the body with a joint at its centre and another joint nearby: an eye and its lid. */
static void test_eyes_follow_their_joint(void **state) {
    (void)state;
    enum { EYE = ARMS, LID, JOINTS };
    test_context test;
    test_begin(&test, 1);
    shape *s = arms_shape();
    shape_part(s, "eye", NULL);
    uint32_t first = s->vertex_count;
    const float middle[3] = {1.9f, 0.125f, 0.05f};
    for (uint32_t i = 0; i < 40; i++) {
        double up = 1.5 * (i / 8) / 4, around = 2 * 3.14159265358979 * (i % 8) / 8;
        float *p = s->positions + 3 * (size_t)s->vertex_count++;
        p[0] = (float)(middle[0] + 0.09 * sin(up));
        p[1] = (float)(middle[1] + 0.09 * cos(up) * cos(around));
        p[2] = (float)(middle[2] + 0.09 * cos(up) * sin(around));
    }
    for (uint32_t i = 0; i < 32; i++)
        shape_quad(s, first + i, first + i + 8, first + (i % 8 == 7 ? i + 1 : i + 9),
                   first + (i % 8 == 7 ? i - 7 : i + 1));
    shape_part_end(s);
    test_joint joints[JOINTS];
    memcpy(joints, arms_joints, sizeof arms_joints);
    joints[EYE] = (test_joint){"Eye", FORE_L, {middle[0], middle[1], middle[2]}};
    joints[LID] = (test_joint){"Lid", FORE_L, {middle[0] + 0.03f, middle[1] + 0.02f, middle[2]}};
    for (int out = 0; out < 2; out++) {
        pelt_model *model = shape_model(&test, s);
        add_skeleton(&test, model, joints, JOINTS);
        add_skin(&test, model, joints, JOINTS);
        pelt_bind_desc desc = quick_desc();
        pelt_binding *binding;
        test_ok(&test, pelt_binding_create(test.context, model, &desc, &binding));
        desc.exclude = out ? "Eye" : NULL;
        test_ok(&test, pelt_binding_apply(binding, &desc));
        for (uint32_t i = first; i < model->mesh.vertex_count; i++)
            assert_true(joint_weight(model, i, EYE) == (out ? 0 : 1));
        pelt_binding_destroy(binding);
        pelt_model_destroy(model);
    }
    free(s);
    test_end(&test);
}

static void test_rigid_regions(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_arms(&test, true);
    const pelt_part *button = &model->mesh.parts[1];
    pelt_bind_desc desc = quick_desc();
    pelt_bind_report report;
    desc.rigid = "brass = Arm_L";
    desc.lock = "Mid"; /* Mid has all weights at this point */
    desc.smooth = 4;
    desc.mirror = PELT_BIND_MIRROR_X;
    bind_soundly(&test, model, &desc, &report);
    assert_int_equal(report.rigid_count, button->vertex_count);
    for (uint32_t i = 0; i < model->mesh.vertex_count; i++)
        assert_true(joint_weight(model, i, i < button->first_vertex ? MID : ARM_L) == 1);
    saved_skin before = save_skin(model);
    static const char *const wrong[][2] = {{"brass", "like Sword=RightHand"},
                                           {"=Arm_L", "like Sword=RightHand"},
                                           {"brass=Leg", "rigid: there is no joint 'Leg'"},
                                           {"brass=Arm_L,gold=Arm_L", "rigid: there is no part or material 'gold'"}};
    for (size_t n = 0; n < sizeof wrong / sizeof wrong[0]; n++) {
        desc.rigid = wrong[n][0];
        test_fails(&test, pelt_bind(test.context, model, &desc, NULL), n < 2 ? PELT_ERROR_USAGE : PELT_ERROR_INPUT,
                   wrong[n][1]);
    }
    assert_skin(model, before);
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Regions --------------------------------------------------------------------------------------------------- */

/* Regions by box, sphere, vertices and attribute. */
static void test_regions_by_place(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_arms(&test, true);
    uint32_t count = model->mesh.vertex_count;
    float *chosen = calloc(count, sizeof *chosen);
    for (uint32_t i = 0; i < count; i++)
        chosen[i] = model->mesh.positions[3 * i] > 1.9f;
    const pelt_bind_attribute attributes[] = {{"mask", chosen}};
    static const char *const texts[] = {"box(1.9 -1 -1 3 1 1)=Arm_R", "sphere(2.4 0 0 0.55)=Arm_R",
                                        "vertices(256-263)=Arm_R", "attribute(mask)=Arm_R"};
    pelt_bind_desc desc = quick_desc();
    pelt_binding *binding;
    test_ok(&test, pelt_binding_create(test.context, model, &desc, &binding));
    desc.attributes = attributes;
    desc.attribute_count = 1;
    for (size_t n = 0; n < 4; n++) {
        desc.rigid = texts[n];
        test_ok(&test, pelt_binding_apply(binding, &desc));
        for (uint32_t i = 0; i < count; i++)
            if (chosen[i] > 0)
                assert_true(joint_weight(model, i, ARM_R) == 1);
            else if (model->mesh.positions[3 * i] > 1.5f)
                assert_true(joint_weight(model, i, ARM_R) == 0);
    }
    static const char *const wrong[][2] = {{"box(1 2 3)=Mid", "six numbers"},
                                           {"box(1 0 0 0 1 1)=Mid", "six numbers"},
                                           {"sphere(0 0 0 -1)=Mid", "four numbers"},
                                           {"sphere(9 9 9 1)=Mid", "no vertex that gets weights"},
                                           {"vertices(1 x)=Mid", "indices and ranges below"},
                                           {"vertices(0-9999)=Mid", "indices and ranges below"},
                                           {"attribute(other)=Mid", "is not among pelt_bind_desc.attributes"},
                                           {"nothing=Mid", "there is no part or material 'nothing'"},
                                           {"sphere(0 0 0 1)=Foot", "there is no joint 'Foot'"}};
    for (size_t n = 0; n < sizeof wrong / sizeof wrong[0]; n++) {
        desc.rigid = wrong[n][0];
        assert_int_not_equal(pelt_binding_apply(binding, &desc), PELT_OK);
        assert_non_null(strstr(pelt_error_text(test.context), wrong[n][1]));
    }
    pelt_binding_destroy(binding);
    pelt_model_destroy(model);
    free(chosen);
    test_end(&test);
}

/* Falloff α of a region, which depends on the rotation of a joint. */
static void test_falloffs_of_regions_and_poses(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_arms(&test, true);
    pelt_bind_desc desc = quick_desc();
    pelt_binding *binding;
    double blends[4]; /* weight of the forearm next to the elbow */
    pelt_transform pose[ARMS];
    desc.rigid_parts = PELT_BIND_RIGID_OFF;
    test_ok(&test, pelt_binding_create(test.context, model, &desc, &binding));
    test_ok(&test, pelt_binding_apply(binding, NULL));
    uint32_t beside = 0;
    while (model->mesh.positions[3 * beside] < 1.1f)
        beside++;
    double before = joint_weight(model, beside, FORE_L);
    assert_true(before > 0.02 && before < 0.48);
    for (uint32_t n = 0; n < 4; n++) {
        desc.falloffs = n ? "box(0.5 -1 -1 2 1 1)=0.7 0 90 Fore_L" : "box(0.5 -1 -1 2 1 1)=0";
        memcpy(pose, model->skeleton.rest, sizeof pose);
        double half = n == 2 ? 0.25 * 0.7853981633974483 * 2 : 0.7853981633974483; /* 45°, then 90° */
        if (n > 1) {
            pose[FORE_L].rotation[2] = (float)sin(half);
            pose[FORE_L].rotation[3] = (float)cos(half);
        }
        test_ok(&test, pelt_binding_apply_pose(binding, &desc, n ? pose : NULL));
        blends[n] = joint_weight(model, beside, FORE_L);
        for (uint32_t i = 0; i < model->mesh.vertex_count; i++)
            if (model->mesh.positions[3 * i] < -1.3f)
                assert_true(joint_weight(model, i, FORE_L) == 0);
    }
    assert_true(fabs(blends[1] - before) < 1e-6);
    assert_true(blends[2] > blends[1] + 0.002 && blends[3] > blends[2] + 0.002);
    assert_true(fabs(blends[3] - blends[0]) < 1e-6);
    static const char *const wrong[] = {"body=2", "body=0.5 0.5", "body=0.1 0.2 0 Mid", "body=0.1 0.2 90 Foot", "body"};
    for (size_t n = 0; n < sizeof wrong / sizeof wrong[0]; n++) {
        desc.falloffs = wrong[n];
        assert_int_not_equal(pelt_binding_apply(binding, &desc), PELT_OK);
    }
    pelt_binding_destroy(binding);
    pelt_model_destroy(model);
    test_end(&test);
}

/* Removing voxels splits the tube, so that heat does not cross; adding voxels fills cells. */
static void test_painted_voxels(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_arms(&test, true);
    pelt_bind_desc desc = quick_desc();
    pelt_bind_report plain, painted;
    desc.paint = "-sphere(9 9 9 0.1)"; /* nothing, on a grid along the same axes */
    test_ok(&test, pelt_bind(test.context, model, &desc, &plain));
    desc.paint = "-box(-0.5 -1 -1 0.5 1 1)";
    test_ok(&test, pelt_bind(test.context, model, &desc, &painted));
    uint32_t all = plain.interior_voxel_count + plain.boundary_voxel_count;
    uint32_t rest = painted.interior_voxel_count + painted.boundary_voxel_count;
    assert_true(rest < all && fabs(rest / (double)all - 0.75) < 0.05 && painted.outside_count > 0);
    assert_sound(&test, model, desc.influences);
    desc.paint = "-box(-9 -9 -9 9 9 9)\n+sphere(0 0 0 0.2)";
    test_ok(&test, pelt_bind(test.context, model, &desc, &painted));
    assert_true(painted.boundary_voxel_count == 0 && painted.interior_voxel_count > 8);
    desc.paint = "-button";
    test_ok(&test, pelt_bind(test.context, model, &desc, &painted));
    assert_true(painted.outside_count > 0 && painted.boundary_voxel_count < plain.boundary_voxel_count);
    desc.paint = "-box(-9 -9 -9 9 9 9)";
    test_fails(&test, pelt_bind(test.context, model, &desc, NULL), PELT_ERROR_INPUT, "paint removes all voxels");
    desc.paint = "body";
    test_fails(&test, pelt_bind(test.context, model, &desc, NULL), PELT_ERROR_USAGE, "begin with +");
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Locks ----------------------------------------------------------------------------------------------------- */

static void test_locked_joints_keep_their_weights(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_arms(&test, true);
    test_random random = {7};
    pelt_bind_desc desc = quick_desc();
    for (uint32_t i = 0; i < model->mesh.vertex_count; i++)
        set_weights(model, i, ARM_L, i % 3 ? ARM_R : FORE_R, test_random_below(&random, 9) / 8.0);
    float *old = malloc(model->mesh.vertex_count * sizeof *old);
    for (uint32_t i = 0; i < model->mesh.vertex_count; i++)
        old[i] = weight_of(model, i, ARM_R);
    desc.lock = "Arm_R";
    desc.smooth = 2;
    for (int n = 0; n < 2; n++) {
        desc.mirror = n ? PELT_BIND_MIRROR_X : PELT_BIND_MIRROR_OFF;
        bind_soundly(&test, model, &desc, NULL);
        for (uint32_t i = 0; i < model->mesh.vertex_count; i++)
            assert_true(weight_of(model, i, ARM_R) == old[i]);
    }
    free(old);
    pelt_model_destroy(model);
    model = make_arms(&test, false);
    test_fails(&test, pelt_bind(test.context, model, &desc, NULL), PELT_ERROR_USAGE, "has no skin yet");
    pelt_model_destroy(model);
    test_end(&test);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_shells_follow_one_joint),
        cmocka_unit_test(test_small_shells_do_not_bend),
        cmocka_unit_test(test_eyes_follow_their_joint),
        cmocka_unit_test(test_rigid_regions),
        cmocka_unit_test(test_regions_by_place),
        cmocka_unit_test(test_falloffs_of_regions_and_poses),
        cmocka_unit_test(test_painted_voxels),
        cmocka_unit_test(test_locked_joints_keep_their_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
