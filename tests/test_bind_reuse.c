/* Binding other meshes with the voxels of an existing binding. */
#include "bind/bind.h"
#include "bind_models.h"

/* Divides every triangle into four. */
static pelt_model *divide(test_context *test, const pelt_model *model) {
    const pelt_mesh *mesh = &model->mesh;
    uint32_t vertices = mesh->vertex_count + 3 * mesh->triangle_count;
    float *positions = malloc(3 * sizeof(float) * vertices);
    uint32_t *triangles = malloc(12 * sizeof(uint32_t) * mesh->triangle_count);
    memcpy(positions, mesh->positions, 3 * sizeof(float) * mesh->vertex_count);
    for (uint32_t t = 0; t < mesh->triangle_count; t++) {
        const uint32_t *c = mesh->triangles + 3 * (size_t)t;
        uint32_t m = mesh->vertex_count + 3 * t;
        for (uint32_t k = 0; k < 9; k++)
            positions[3 * (size_t)m + k] = 0.5f * (mesh->positions[3 * (size_t)c[k / 3] + k % 3] +
                                                   mesh->positions[3 * (size_t)c[(k / 3 + 1) % 3] + k % 3]);
        const uint32_t four[12] = {c[0], m, m + 2, c[1], m + 1, m, c[2], m + 2, m + 1, m, m + 1, m + 2};
        memcpy(triangles + 12 * (size_t)t, four, sizeof four);
    }
    pelt_model *fine = make_mesh(test, positions, vertices, triangles, 4 * mesh->triangle_count);
    free(positions);
    free(triangles);
    return fine;
}

static void test_reuse_gives_the_same_mesh_the_same_weights(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    for (uint32_t method = PELT_BIND_HEAT; method <= PELT_BIND_GEODESIC; method++)
        for (uint32_t distance = 0; distance < 2; distance++) {
            pelt_model *model = make_arms(&test, true), *again = make_arms(&test, true);
            pelt_bind_desc desc = quick_desc();
            pelt_binding *binding, *reused;
            desc.method = method;
            desc.distance = distance;
            desc.mirror = PELT_BIND_MIRROR_X;
            desc.keep_fields = true;
            test_ok(&test, pelt_binding_create(test.context, model, &desc, &binding));
            test_ok(&test, pelt_binding_apply(binding, NULL));
            test_ok(&test, pelt_binding_reuse(binding, again, &reused));
            test_ok(&test, pelt_binding_apply(reused, NULL));
            assert_same_skin(&model->skin, &again->skin, model->mesh.vertex_count);
            pelt_bind_report a = pelt_binding_report(binding), b = pelt_binding_report(reused);
            assert_int_equal(a.vertex_count, b.vertex_count);
            assert_int_equal(a.bridged_count, b.bridged_count);
            assert_int_equal(a.rigid_count, b.rigid_count);
            assert_int_equal(b.outside_count, 0);
            assert_memory_equal(a.idle, b.idle, a.joint_count);
            pelt_binding_destroy(reused);
            pelt_binding_destroy(binding);
            pelt_model_destroy(model);
            pelt_model_destroy(again);
        }
    test_end(&test);
}

/* A finer mesh without a skeleton gets the skeleton, and weights close to those of its own binding. Its first vertices
 * are those of the coarse mesh and have the same weights. */
static void test_reuse_weights_a_finer_mesh(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    for (uint32_t method = PELT_BIND_HEAT; method <= PELT_BIND_GEODESIC; method++) {
        pelt_model *model = make_arms(&test, false), *fine = divide(&test, model), *own = divide(&test, model);
        pelt_bind_desc desc = quick_desc();
        pelt_binding *binding, *reused;
        desc.method = method;
        desc.rigid_parts = PELT_BIND_RIGID_OFF;
        desc.keep_fields = true;
        test_ok(&test, pelt_binding_create(test.context, model, &desc, &binding));
        test_ok(&test, pelt_binding_apply(binding, NULL));
        test_ok(&test, pelt_binding_reuse(binding, fine, &reused));
        test_ok(&test, pelt_binding_apply(reused, NULL));
        assert_sound(&test, fine, desc.influences);
        assert_int_equal(fine->skeleton.joint_count, ARMS);
        assert_true(mean_distance(model, fine, NULL) < 1e-6);
        add_skeleton(&test, own, arms_joints, ARMS);
        test_ok(&test, pelt_bind(test.context, own, &desc, NULL));
        assert_true(mean_distance(own, fine, NULL) < 0.02);
        pelt_binding_destroy(reused);
        pelt_binding_destroy(binding);
        pelt_model_destroy(model);
        pelt_model_destroy(fine);
        pelt_model_destroy(own);
    }
    test_end(&test);
}

/* Above 60,000 voxels only those near vertices are solved on the finest graph, the others afterwards and only for other
 * meshes: the mesh's own weights are the same with and without, for any number of threads. A finer mesh, whose vertices lie
 * elsewhere, gets weights close to those of its own binding. */
static void test_reuse_on_fine_voxels(void **state) {
    (void)state;
    pelt_skin first = {0};
    test_context tests[3];
    pelt_model *models[3];
    for (uint32_t n = 0; n < 3; n++) {
        test_context *test = &tests[n];
        pelt_bind_desc desc = quick_desc();
        pelt_binding *binding, *reused;
        test_begin(test, n == 0 ? 1 : 4);
        models[n] = make_arms(test, true);
        desc.resolution = 256;
        desc.keep_fields = n == 2;
        test_ok(test, pelt_binding_create(test->context, models[n], &desc, &binding));
        assert_true(pelt_binding_report(binding).solved_voxel_count > 60000);
        test_ok(test, pelt_binding_apply(binding, NULL));
        first = n == 0 ? models[0]->skin : first;
        assert_same_skin(&first, &models[n]->skin, models[0]->mesh.vertex_count);
        if (n == 2) {
            pelt_model *fine = divide(test, models[n]), *own = divide(test, models[n]);
            test_ok(test, pelt_binding_reuse(binding, fine, &reused));
            test_ok(test, pelt_binding_apply(reused, NULL));
            add_skeleton(test, own, arms_joints, ARMS);
            test_ok(test, pelt_bind(test->context, own, &desc, NULL));
            assert_true(mean_distance(own, fine, NULL) < 0.005);
            pelt_binding_destroy(reused);
            pelt_model_destroy(fine);
            pelt_model_destroy(own);
        }
        pelt_binding_destroy(binding);
    }
    for (uint32_t n = 0; n < 3; n++) {
        pelt_model_destroy(models[n]);
        test_end(&tests[n]);
    }
}

/* Joints are matched by name, in any order; vertices outside the volume are counted and follow the nearest voxel. */
static void test_reuse_finds_joints_by_name(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    static const test_joint other[ARMS + 1] = {{"Mid", PELT_NONE, {0, 0, 0}}, {"Arm_R", 0, {-0.5f, 0, 0}},
                                               {"Fore_R", 1, {-1.25f, 0, 0}}, {"Arm_L", 0, {0.5f, 0, 0}},
                                               {"Fore_L", 3, {1.25f, 0, 0}},  {"Extra", 4, {2, 0, 0}}};
    static const uint32_t joints[ARMS] = {0, 3, 4, 1, 2};
    pelt_model *model = make_arms(&test, true), *swapped = make_arms(&test, false);
    pelt_bind_desc desc = quick_desc();
    pelt_binding *binding, *reused;
    test_ok(&test, pelt_binding_create(test.context, model, &desc, &binding));
    assert_int_equal(pelt_binding_reuse(binding, swapped, &reused), PELT_ERROR_USAGE);
    assert_null(reused);
    pelt_binding_destroy(binding);
    desc.keep_fields = true;
    test_ok(&test, pelt_binding_create(test.context, model, &desc, &binding));
    test_ok(&test, pelt_binding_apply(binding, NULL));
    add_skeleton(&test, swapped, other, ARMS + 1);
    for (uint32_t i = 0; i < 8; i++)
        swapped->mesh.positions[3 * i] -= 1; /* the end of the right arm */
    test_ok(&test, pelt_binding_reuse(binding, swapped, &reused));
    test_ok(&test, pelt_binding_apply(reused, NULL));
    assert_int_equal(pelt_binding_report(reused).outside_count, 8);
    for (uint32_t i = 0; i < model->mesh.vertex_count; i++)
        for (uint32_t j = 0; j < ARMS; j++)
            assert_true(fabs(joint_weight(model, i, j) - joint_weight(swapped, i, joints[j])) < 0.02);
    pelt_binding_destroy(reused);
    swapped->skeleton.names[2] = "Elsewhere";
    assert_int_equal(pelt_binding_reuse(binding, swapped, &reused), PELT_ERROR_INPUT);
    assert_non_null(strstr(pelt_error_text(test.context), "Fore_R"));
    pelt_binding_destroy(binding);
    pelt_model_destroy(model);
    pelt_model_destroy(swapped);
    test_end(&test);
}

/* Distances of one joint are those of the method geodesic, for every method of the binding. */
static void test_distances(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    pelt_model *model = make_arms(&test, true);
    pelt_binding *heat, *geodesic;
    pelt_bind_desc desc = quick_desc();
    desc.method = PELT_BIND_HEAT;
    test_ok(&test, pelt_binding_create(context, model, &desc, &heat));
    desc.method = PELT_BIND_GEODESIC;
    desc.distance = PELT_BIND_DISTANCE_ISOTROPIC;
    test_ok(&test, pelt_binding_create(context, model, &desc, &geodesic));
    uint32_t count = model->mesh.vertex_count, targets = geodesic->subject.target_count;
    float *distances = malloc(count * sizeof *distances), *same = malloc(count * sizeof *same);
    uint32_t target = geodesic->subject.joint_targets[FORE_L], far = 0;
    double units = (double)geodesic->volume.diagonal * geodesic->volume.voxels.grid.cell[0];
    test_ok(&test, pelt_binding_distances(geodesic, FORE_L, distances));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t row = geodesic->subject.classes.of[i];
        double same_way = units * (double)geodesic->fields.values[(size_t)row * targets + target];
        assert_true(fabs((double)distances[i] - same_way) <= 1e-6 * units);
        far += distances[i] > 0.25f * (float)units;
    }
    assert_true(far > 10);
    test_ok(&test, pelt_binding_distances(heat, FORE_L, same));
    double apart = 0; /* heat removes contacts of limbs from the voxels */
    for (uint32_t i = 0; i < count; i++)
        apart = fmax(apart, fabs((double)same[i] - (double)distances[i]));
    assert_true(apart < 0.2 * units);
    test_fails(&test, pelt_binding_distances(heat, model->skeleton.joint_count, same), PELT_ERROR_INPUT,
               "gets no weights");
    free(distances);
    free(same);
    pelt_binding_destroy(heat);
    pelt_binding_destroy(geodesic);
    pelt_model_destroy(model);
    test_end(&test);
}

static uint32_t count_color(const pelt_bind_section *s, uint8_t r, uint8_t g, uint8_t b) {
    uint32_t count = 0;
    for (size_t n = 0; n < (size_t)s->width * s->height; n++)
        count += s->pixels[4 * n] == r && s->pixels[4 * n + 1] == g && s->pixels[4 * n + 2] == b;
    return count;
}

/* Sections show the voxels of a slice, bones in it, and fields that are lightest at their bone. */
static void test_sections(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    for (uint32_t method = PELT_BIND_HEAT; method <= PELT_BIND_GEODESIC; method++) {
        pelt_model *model = make_arms(&test, true);
        pelt_bind_desc desc = quick_desc();
        pelt_binding *binding;
        pelt_bind_section section;
        desc.method = method;
        test_ok(&test, pelt_binding_create(test.context, model, &desc, &binding));
        assert_int_equal(pelt_binding_section(binding, PELT_BIND_SECTION_WEIGHTS, 2, 0, 0, &section), PELT_ERROR_USAGE);
        pelt_binding_destroy(binding);
        desc.keep_fields = true;
        test_ok(&test, pelt_binding_create(test.context, model, &desc, &binding));
        pelt_bind_voxels voxels = pelt_binding_voxels(binding);
        uint32_t z = 0; /* the axis of the grid nearest to z */
        for (uint32_t a = 1; a < 3; a++)
            z = fabsf(voxels.axes[a][2]) > fabsf(voxels.axes[z][2]) ? a : z;
        uint32_t slice = (uint32_t)((0 - voxels.origin[z]) / voxels.cell[z]), boundary = 0, interior = 0;
        for (uint32_t v = 0; v < voxels.count; v++)
            if (voxels.cells[v][z] == slice)
                *(voxels.boundary[v] ? &boundary : &interior) += 1;
        test_ok(&test, pelt_binding_section(binding, PELT_BIND_SECTION_VOXELS, 2, 0, 0, &section));
        uint32_t blue = count_color(&section, 51, 89, 217), red = count_color(&section, 217, 64, 51);
        uint32_t white = count_color(&section, 255, 255, 255);
        assert_true(white > 20 && white < 60);
        assert_int_equal(blue + red + white, boundary + interior);
        assert_int_equal(count_color(&section, 0, 0, 0) + boundary + interior, section.width * section.height);
        pelt_bind_section_free(test.context, &section);
        for (uint32_t kind = PELT_BIND_SECTION_FIELD; kind <= PELT_BIND_SECTION_WEIGHTS; kind++) {
            test_ok(&test, pelt_binding_section(binding, kind, 2, NAN, FORE_L, &section));
            assert_int_equal(count_color(&section, 0, 0, 0) > 0, 1);
            pelt_bind_section_free(test.context, &section);
        }
        assert_int_equal(pelt_binding_section(binding, PELT_BIND_SECTION_FIELD, 2, 0, 99, &section), PELT_ERROR_INPUT);
        assert_int_equal(pelt_binding_section(binding, PELT_BIND_SECTION_VOXELS, 3, 0, 0, &section), PELT_ERROR_USAGE);
        assert_null(section.pixels);
        pelt_binding_destroy(binding);
        pelt_model_destroy(model);
    }
    test_end(&test);
}

/* A failure creates no binding and leaves the mesh unchanged. */
static pelt_result reuse_once(pelt_context *context, void *user) {
    test_context quiet;
    test_begin(&quiet, 1);
    pelt_model *made = make_arms(&quiet, false), *bare = make_arms(&quiet, false), *models[2] = {NULL, NULL};
    pelt_bind_desc desc = quick_desc();
    pelt_binding *binding = NULL, *reused = NULL;
    desc.method = *(const uint32_t *)user;
    desc.resolution = 8;
    desc.keep_fields = true;
    bare->skeleton = (pelt_skeleton){0};
    pelt_result result = pelt_model_borrow(context, made, &models[0]);
    if (result == PELT_OK)
        result = pelt_model_borrow(context, bare, &models[1]);
    if (result == PELT_OK)
        result = pelt_binding_create(context, models[0], &desc, &binding);
    if (result == PELT_OK)
        result = pelt_binding_reuse(binding, models[1], &reused);
    if (result == PELT_OK)
        result = pelt_binding_apply(reused, NULL);
    if (result != PELT_OK && models[1] && models[1]->mesh.vertex_count)
        assert_int_equal(models[1]->skin.bone_count, 0);
    pelt_binding_destroy(reused);
    pelt_binding_destroy(binding);
    pelt_model_destroy(models[0]);
    pelt_model_destroy(models[1]);
    pelt_model_destroy(bare);
    pelt_model_destroy(made);
    test_end(&quiet);
    return result;
}

static void test_failing_allocations(void **state) {
    (void)state;
    for (uint32_t method = PELT_BIND_HEAT; method <= PELT_BIND_GEODESIC; method++)
        test_fail_each_allocation(1, reuse_once, &method);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reuse_gives_the_same_mesh_the_same_weights),
        cmocka_unit_test(test_reuse_weights_a_finer_mesh),
        cmocka_unit_test(test_reuse_on_fine_voxels),
        cmocka_unit_test(test_reuse_finds_joints_by_name),
        cmocka_unit_test(test_sections),
        cmocka_unit_test(test_distances),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
