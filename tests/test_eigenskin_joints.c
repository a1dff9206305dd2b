/* The joints that drive pose-driven corrections: of flat skeletons, in pairs, of meshes in different units. */
#include "core/rotation.h"
#include "eigenskin_arm.h"

/* ---- Flat skeletons --------------------------------------------------------------------------------------- */

/* Converts the local transforms of a hierarchy to those of joints without parents. */
static pelt_transform *flatten_pose(const test_context *test, arm *a, const pelt_skeleton *skeleton,
                                    const pelt_transform *locals) {
    pelt_affine globals[8];
    pelt_transform *flat = pelt_model_alloc(test->context, a->model, skeleton->joint_count, sizeof *flat);
    assert_true(flat && skeleton->joint_count <= 8);
    pelt_skeleton_globals(skeleton, locals, globals);
    for (uint32_t j = 0; j < skeleton->joint_count; j++) {
        flat[j] = locals[j];
        px_rotation_store(px_rotation_of_affine(&globals[j]), flat[j].rotation);
        for (int c = 0; c < 3; c++)
            flat[j].translation[c] = globals[j].m[4 * c + 3];
    }
    return flat;
}

static void flatten(const test_context *test, arm *a) {
    pelt_skeleton *skeleton = &a->model->skeleton, old = *skeleton;
    uint32_t *none = pelt_model_alloc(test->context, a->model, old.joint_count, sizeof *none);
    assert_non_null(none);
    for (uint32_t j = 0; j < old.joint_count; j++)
        none[j] = PELT_NONE;
    for (uint32_t p = 0; p < a->poses.seen_count; p++)
        a->examples[p].locals = flatten_pose(test, a, &old, a->examples[p].locals);
    for (uint32_t p = 0; p < a->poses.unseen_count; p++)
        ((scene_pose *)(uintptr_t)a->poses.unseen)[p].locals = flatten_pose(test, a, &old, a->poses.unseen[p].locals);
    skeleton->rest = flatten_pose(test, a, &old, old.rest);
    skeleton->parents = none;
    a->model->motion_count = 0;
}

/* Joints without shared vertices are connected by distance, in any order. */
static void joined_by_distance(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model;
    test_ok(&test, pelt_model_create(test.context, &model));
    uint32_t parents[] = {PELT_NONE, PELT_NONE, PELT_NONE}, joints[] = {0, 1, 2};
    const char *names[] = {"root", "tip", "middle"};
    pelt_transform rest[3];
    const float places[] = {0, 2, 1};
    for (int j = 0; j < 3; j++)
        rest[j] = (pelt_transform){.translation = {places[j], 0, 0}, .rotation = {0, 0, 0, 1}, .scale = {1, 1, 1}};
    uint16_t bones[] = {0, 0, 1, 2};
    float weights[] = {1, 1, 1, 1};
    model->skeleton = (pelt_skeleton){.joint_count = 3, .names = names, .parents = parents, .rest = rest};
    model->skin =
        (pelt_skin){.bone_count = 3, .influence_count = 1, .bone_joints = joints, .bones = bones, .weights = weights};
    model->mesh.vertex_count = 4;
    px_eigenskin e = {.context = test.context, .scratch = px_arena_create(test.context), .model = model};
    test_ok(&test, px_eigenskin_find_hierarchy(&e));
    assert_int_equal(e.hierarchy.against[2], 0);
    assert_int_equal(e.hierarchy.against[1], 2);
    px_arena_destroy(e.scratch);
    pelt_model_destroy(model);
    test_end(&test);
}

/* An arm whose joints are all siblings: joints are driven relative to their neighbours, with the same results as for
 * the arm with parents. Relative to a named joint they work too, less accurately. */
static void siblings_drive_as_children_do(void **state) {
    (void)state;
    double errors[3];
    for (int n = 0; n < 3; n++) {
        test_context test;
        pelt_context *context = test_begin(&test, 2);
        arm a = arm_open(&test);
        pelt_eigenskin_desc desc = pelt_eigenskin_desc_default();
        if (n)
            flatten(&test, &a);
        desc.against = n == 2 ? a.model->skeleton.names[0] : NULL;
        float **unseen = plain_skins(&test, a.model, a.poses.unseen, a.poses.unseen_count);
        test_ok(&test, pelt_eigenskin(context, a.model, a.examples, a.poses.seen_count, &desc, NULL));
        test_ok(&test, pelt_model_validate(context, a.model));
        errors[n] = relative_error(&test, a.model, a.poses.unseen, a.poses.unseen_count, unseen);
        assert_int_equal(a.model->driver_count, 3);
        for (uint32_t d = 0; d < a.model->driver_count; d++) {
            const pelt_driver *driver = &a.model->drivers[d];
            assert_int_equal(driver->relative, n > 0);
            if (n == 1)
                assert_int_equal(abs((int)driver->joint - (int)driver->against), 1);
            if (n == 2)
                assert_int_equal(driver->against, 0);
        }
        desc.against = "nobody";
        test_fails(&test, pelt_eigenskin(context, a.model, a.examples, a.poses.seen_count, &desc, NULL),
                   PELT_ERROR_INPUT, "against: there is no joint 'nobody'");
        pelt_model_destroy(a.model);
        test_end(&test);
    }
    assert_true(fabs(errors[1] - errors[0]) < 0.02);
    assert_true(errors[2] < 1);
}

/* ---- Pairs ------------------------------------------------------------------------------------------------ */

#define COUPLED 60u

/* Poses of shoulder and elbow about x, the second half within the range of the first; around the elbow the skin swells
 * by the product of both angles (`product`), or by a sum of functions of each. */
static void couple(const test_context *test, arm *a, bool product, pelt_pose_example *examples) {
    pelt_mesh *mesh = &a->model->mesh;
    size_t joints = a->model->skeleton.joint_count, floats = 3 * (size_t)mesh->vertex_count;
    pelt_transform *locals = pelt_model_alloc(test->context, a->model, COUPLED * joints, sizeof *locals);
    float *rest = pelt_model_alloc(test->context, a->model, floats, sizeof *rest);
    assert_true(locals && rest);
    memcpy(rest, mesh->positions, floats * sizeof *rest);
    scene_random random = {3};
    for (uint32_t x = 0; x < COUPLED; x++, locals += joints) {
        double angles[2];
        memcpy(locals, a->model->skeleton.rest, joints * sizeof *locals);
        for (int j = 0; j < 2; j++) {
            angles[j] = (x < COUPLED / 2 ? 1 : 0.75) * scene_random_range(&random, -1, 1);
            locals[j + 1].rotation[0] = (float)sin(angles[j] / 2);
            locals[j + 1].rotation[3] = (float)cos(angles[j] / 2);
        }
        double swelling = product ? angles[0] * angles[1] : angles[0] * angles[0] - angles[1] / 2;
        for (size_t i = 0; i < mesh->vertex_count; i++) {
            double u = (rest[3 * i + 1] - 1.6) / 0.5, bump = u * u < 1 ? (1 - u * u) * (1 - u * u) : 0;
            for (int c = 0; c < 3; c += 2)
                mesh->positions[3 * i + (size_t)c] = (float)(rest[3 * i + (size_t)c] * (1 + 0.5 * swelling * bump));
        }
        examples[x] = (pelt_pose_example){"coupled", locals, driven(test, a->model, locals), NULL};
    }
    memcpy(mesh->positions, rest, floats * sizeof *rest);
}

/* Two joints that displace the skin together are driven as a pair, kept only if it predicts poses better. */
static void joints_drive_as_pairs(void **state) {
    (void)state;
    double errors[2][2];
    for (int n = 0; n < 4; n++) {
        test_context test;
        pelt_context *context = test_begin(&test, 2);
        arm a = {0};
        test_ok(&test, arm_make(context, &(scene_desc){.vertex_count = 200, .frame_count = 2, .seed = 1}, &a));
        pelt_pose_example examples[COUPLED];
        bool product = n / 2, coupled = n % 2;
        couple(&test, &a, product, examples);
        pelt_eigenskin_desc desc = pelt_eigenskin_desc_default();
        desc.coupled = coupled;
        desc.max_per_vertex = 0;
        pelt_eigenskin_report r;
        test_ok(&test, pelt_eigenskin(context, a.model, examples, COUPLED / 2, &desc, &r));
        test_ok(&test, pelt_model_validate(context, a.model));
        if (product || !coupled)
            assert_int_equal(r.joint_count, coupled ? 3 : 2);
        if (product && coupled) {
            assert_int_equal(r.joints[2].joint, 2);
            assert_int_equal(r.joints[2].with, 1);
            assert_int_equal(r.joints[2].against, 0);
        }
        double missed = 0, all = 0;
        uint32_t drivers = a.model->driver_count;
        for (uint32_t x = COUPLED / 2; x < COUPLED; x++) {
            const float *plain = driven(&test, a.model, examples[x].locals);
            difference d = compare(a.model, plain, examples[x].positions);
            missed += d.root * d.root;
            a.model->driver_count = 0;
            d = compare(a.model, driven(&test, a.model, examples[x].locals), examples[x].positions);
            a.model->driver_count = drivers;
            all += d.root * d.root;
        }
        errors[product][coupled] = sqrt(missed / all);
        pelt_model_destroy(a.model);
        test_end(&test);
    }
    assert_true(errors[0][0] < 0.2 && errors[0][1] < 1.1 * errors[0][0]);
    assert_true(errors[1][0] > 0.5 && errors[1][1] < 0.5 * errors[1][0]);
}

/* ---- Units ------------------------------------------------------------------------------------------------ */

/* Half of the vertices in centimetres, the others in metres, with matching bind matrices: the same corrections. */
static void units_of_meshes_may_differ(void **state) {
    (void)state;
    double errors[2];
    for (int n = 0; n < 2; n++) {
        test_context test;
        pelt_context *context = test_begin(&test, 2);
        arm a = arm_open(&test);
        pelt_model *model = a.model;
        pelt_skin *skin = &model->skin;
        float **unseen = plain_skins(&test, model, a.poses.unseen, a.poses.unseen_count);
        uint32_t bones = skin->bone_count;
        uint32_t *joints = pelt_model_alloc(context, model, 2 * (size_t)bones, sizeof *joints);
        pelt_affine *binds = pelt_model_alloc(context, model, 2 * (size_t)bones, sizeof *binds);
        assert_true(joints && binds);
        for (uint32_t b = 0; b < 2 * bones; b++) {
            joints[b] = skin->bone_joints[b % bones];
            binds[b] = skin->inverse_binds[b % bones];
            for (int c = 0; n && b >= bones && c < 12; c++)
                binds[b].m[c] *= c % 4 < 3 ? 0.01f : 1;
        }
        for (uint32_t i = 0; n && i < model->mesh.vertex_count; i += 2) {
            for (int c = 0; c < 3; c++)
                ((float *)(uintptr_t)model->mesh.positions)[3 * i + c] *= 100;
            for (uint32_t k = i * skin->influence_count; k < (i + 1) * skin->influence_count; k++)
                skin->bones[k] = (uint16_t)(skin->bones[k] + bones);
        }
        skin->bone_count *= 2;
        skin->bone_joints = joints;
        skin->inverse_binds = binds;
        test_ok(&test, pelt_eigenskin(context, model, a.examples, a.poses.seen_count, NULL, NULL));
        errors[n] = relative_error(&test, model, a.poses.unseen, a.poses.unseen_count, unseen);
        pelt_model_destroy(model);
        test_end(&test);
    }
    assert_true(errors[0] < 0.13 && fabs(errors[1] - errors[0]) < 0.01);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joined_by_distance),
        cmocka_unit_test(siblings_drive_as_children_do),
        cmocka_unit_test(joints_drive_as_pairs),
        cmocka_unit_test(units_of_meshes_may_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
