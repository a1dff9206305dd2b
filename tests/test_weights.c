/* Smoothing, pruning, normalising and mirroring the weights of a model. */
#include "weights_models.h"

/* ---- Plain edits ------------------------------------------------------------------------------------------ */

static void smooth_model(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    pelt_model *model = make_scene(&test, "production", 3000), *before = make_scene(&test, "production", 3000);
    pelt_smooth_desc desc = {PELT_DESC_COOKIE, .strength = 0.7, .iterations = 4};
    pelt_weights_report report;
    test_ok(&test, pelt_weights_smooth(test.context, model, NULL, &desc, &report));
    assert_sound(&test, model, before->skin.influence_count);
    assert_int_equal(model->changed, PELT_CHANGED_SKIN);
    assert_true(report.vertex_count == model->mesh.weld.count && report.changed_count > 500);
    assert_true(report.change_max > 0.1 && report.change_max <= 2 && report.change_mean < report.change_max);
    double most = 0;
    for (size_t i = 0; i < model->mesh.vertex_count; i++)
        most = fmax(most, row_distance(model, i, before, i));
    assert_true(fabs(most - report.change_max) < 1e-5);
    pelt_model_destroy(before);
    pelt_model_destroy(model);
    test_end(&test);
}

/* Only data in scope changes, and nothing that is locked. */
static void scoped(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    pelt_model *before = make_scene(&test, "production", 3000), *model = make_scene(&test, "production", 3000);
    const char *part = model->mesh.parts[0].name;
    pelt_weights_scope scope = {PELT_DESC_COOKIE, .parts = part};
    pelt_smooth_desc desc = {PELT_DESC_COOKIE, .strength = 1, .iterations = 3};
    pelt_weights_report report;
    test_ok(&test, pelt_weights_smooth(test.context, model, &scope, &desc, &report));
    size_t inside = 0;
    for (size_t i = 0; i < model->mesh.vertex_count; i++) {
        bool own = i - model->mesh.parts[0].first_vertex < model->mesh.parts[0].vertex_count;
        double change = row_distance(model, i, before, i);
        assert_true(own || change == 0);
        inside += change > 1e-3;
    }
    assert_true(inside > 10 && report.vertex_count <= model->mesh.parts[0].vertex_count);
    pelt_model_destroy(model);

    model = make_scene(&test, "production", 3000);
    scope = (pelt_weights_scope){PELT_DESC_COOKIE, .joints = "chest, spine", .lock = "spine"};
    test_ok(&test, pelt_weights_smooth(test.context, model, &scope, &desc, &report));
    size_t chest = 0;
    for (uint32_t b = 0; b < model->skin.bone_count; b++)
        for (size_t i = 0; i < model->mesh.vertex_count; i++) {
            double change = fabs((double)weight_of(model, i, b) - (double)weight_of(before, i, b));
            bool free_one = strcmp(model->skeleton.names[model->skin.bone_joints[b]], "chest") == 0;
            assert_true(free_one || change < 1e-6);
            chest += change > 1e-3;
        }
    assert_int_equal(chest, 0); /* with all others locked it cannot change */
    pelt_model_destroy(model);

    model = make_scene(&test, "production", 3000);
    scope = (pelt_weights_scope){PELT_DESC_COOKIE, .joints = "chest,spine,hips"};
    test_ok(&test, pelt_weights_smooth(test.context, model, &scope, &desc, &report));
    for (uint32_t b = 0; b < model->skin.bone_count; b++) {
        const char *name = model->skeleton.names[model->skin.bone_joints[b]];
        bool free_one = strcmp(name, "chest") == 0 || strcmp(name, "spine") == 0 || strcmp(name, "hips") == 0;
        for (size_t i = 0; i < model->mesh.vertex_count; i++) {
            double change = fabs((double)weight_of(model, i, b) - (double)weight_of(before, i, b));
            assert_true(free_one || change < 1e-6);
            chest += change > 1e-3;
        }
    }
    assert_true(chest > 10);
    assert_sound(&test, model, before->skin.influence_count);
    pelt_model_destroy(model);
    pelt_model_destroy(before);
    test_end(&test);
}

static void prune_model(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_scene(&test, "creature", 2000), *before = make_scene(&test, "creature", 2000);
    pelt_prune_desc desc = {PELT_DESC_COOKIE, .threshold = 0.1};
    pelt_weights_scope scope = {PELT_DESC_COOKIE, .influences = 3};
    pelt_weights_report report;
    test_ok(&test, pelt_weights_prune(test.context, model, &scope, &desc, &report));
    assert_sound(&test, model, 3);
    assert_true(report.influence_count <= 3 && report.changed_count > 0);
    for (size_t i = 0; i < model->mesh.vertex_count; i++)
        for (uint32_t b = 0; b < model->skin.bone_count; b++) {
            float old = weight_of(before, i, b), now = weight_of(model, i, b);
            assert_true(now == 0 || (old >= 0.1f - 1e-6f && now >= old - 1e-6f));
        }
    /* Pruning is idempotent; normalising has nothing left to do. */
    test_ok(&test, pelt_weights_prune(test.context, model, &scope, &desc, &report));
    assert_true(report.changed_count == 0);
    test_ok(&test, pelt_weights_normalise(test.context, model, NULL, &report));
    assert_true(report.changed_count == 0 && report.change_max < 1e-6);
    pelt_model_destroy(before);
    pelt_model_destroy(model);
    test_end(&test);
}

/* Open seams are closed. */
static void normalise_seams(void **state) {
    (void)state;
    static const float positions[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0};
    static const uint32_t triangles[] = {0, 1, 2, 4, 3, 5};
    static const char *const names[] = {"a", "b"};
    static const float places[6] = {0};
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_mesh(&test, positions, 6, triangles, 2);
    add_rig(&test, model, names, places, 2);
    set_weights(model, 1, 0, 1, 0.2);
    set_weights(model, 3, 0, 1, 0.4);
    test_ok(&test, pelt_weights_normalise(test.context, model, NULL, NULL));
    assert_sound(&test, model, 4);
    assert_true(fabsf(weight_of(model, 1, 1) - 0.3f) < 1e-6f && weight_of(model, 3, 1) == weight_of(model, 1, 1));
    pelt_model_destroy(model);
    test_end(&test);
}

/* Two instances of a strip with separate skeletons coincide: each keeps its own joints. */
static void instances(void **state) {
    (void)state;
    static const float positions[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0};
    static const uint32_t triangles[] = {0, 1, 2, 3, 4, 5};
    static const char *const names[] = {"a", "b", "c", "d"};
    static const float places[12] = {0};
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_mesh(&test, positions, 6, triangles, 2);
    add_rig(&test, model, names, places, 4);
    for (uint32_t v = 0; v < 6; v++)
        set_weights(model, v, (uint16_t)(v < 3 ? 0 : 2), (uint16_t)(v < 3 ? 1 : 3), 0.3 * (v % 3) + 0.1);
    pelt_weights_report report;
    test_ok(&test, pelt_weights_smooth(test.context, model, NULL, NULL, &report));
    assert_int_equal(report.vertex_count, 6);
    for (uint32_t v = 0; v < 6; v++) {
        assert_true(fabsf(weight_of(model, v, v < 3 ? 0 : 2) + weight_of(model, v, v < 3 ? 1 : 3) - 1) < 1e-6f);
        assert_true(weight_of(model, v, 1) == weight_of(model, (v + 3) % 6, 3));
    }
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Mirror ----------------------------------------------------------------------------------------------- */

#define SIDE 12u

/* A square of (2·SIDE + 1)² vertices around x = 0 with random weights; counterparts of joints are given by names. The
 * columns from SIDE + 1 on, and joints named left, are at left · x > 0. */
static pelt_model *make_sided_square(test_context *test, bool symmetric_mesh, uint32_t joint_count, float left) {
    static const char *const names[] = {"hips", "arm.L", "arm.R", "hand.L", "hand.R", "spine", "sword"};
    const float places[] = {0, 0, 0, left, 0, 0, -left, 0, 0, 2 * left, 0, 0, -2 * left, 0, 0, 0, 1, 0, 3 * left, 3, 0};
    enum { N = 2 * SIDE + 1 };
    float positions[3 * N * N];
    uint32_t triangles[6 * (N - 1) * (N - 1)], count = 0;
    test_random random = {7};
    for (uint32_t v = 0; v < N * N; v++) {
        positions[3 * v] = left * ((float)(v % N) / SIDE - 1);
        positions[3 * v + 1] = (float)(v / N) / SIDE;
        positions[3 * v + 2] = 0;
        if (!symmetric_mesh && v % N > SIDE)
            positions[3 * v + 1] += 0.03f;
        if (v % N < N - 1 && v / N < N - 1) {
            uint32_t quad[] = {v, v + 1, v + N + 1, v, v + N + 1, v + N};
            memcpy(triangles + 6 * count++, quad, sizeof quad);
        }
    }
    pelt_model *model = make_mesh(test, positions, N * N, triangles, 2 * count);
    add_rig(test, model, names, places, 7);
    for (uint32_t v = 0; v < N * N; v++)
        set_weights(model, v, (uint16_t)test_random_below(&random, 3),
                    (uint16_t)(3 + test_random_below(&random, joint_count - 3)), test_random_real(&random, 0, 1));
    return model;
}

static pelt_model *make_square(test_context *test, bool symmetric_mesh, uint32_t joint_count) {
    return make_sided_square(test, symmetric_mesh, joint_count, 1);
}

static size_t opposite(size_t v) {
    size_t n = 2 * SIDE + 1;
    return v - v % n + (n - 1 - v % n);
}

/* Sword has no counterpart; its parent hips has. */
static const uint32_t across[] = {0, 2, 1, 4, 3, 5, 0};

static double asymmetry(const pelt_model *model) {
    double most = 0;
    for (size_t v = 0; v < model->mesh.vertex_count; v++)
        for (uint32_t b = 0; b < 6; b++) {
            double own = (double)weight_of(model, v, b), other = (double)weight_of(model, opposite(v), across[b]);
            own += b == 0 ? (double)weight_of(model, v, 6) : 0;
            other += b == 0 ? (double)weight_of(model, opposite(v), 6) : 0;
            most = fmax(most, fabs(own - other));
        }
    return most;
}

static void mirror_sides(void **state) {
    (void)state;
    enum { SIDES = PELT_MIRROR_AVERAGE + 1 };
    for (uint32_t n = 0; n < 2 * SIDES; n++) {
        test_context test;
        test_begin(&test, 2);
        uint32_t side = n % SIDES, joint_count = side == PELT_MIRROR_AVERAGE ? 6 : 7;
        float left = n < SIDES ? 1 : -1;
        pelt_model *model = make_sided_square(&test, true, joint_count, left),
                   *before = make_sided_square(&test, true, joint_count, left);
        assert_true(asymmetry(model) > 0.5);
        pelt_mirror_desc desc = pelt_mirror_desc_default();
        desc.side = side;
        pelt_mirror_report report;
        test_ok(&test, pelt_weights_mirror(test.context, model, NULL, &desc, &report));
        assert_sound(&test, model, 4);
        assert_true(asymmetry(model) < 1e-6);
        uint32_t columns = 2 * SIDE + 1;
        assert_int_equal(report.middle_count, columns);
        assert_int_equal(report.exact_count, (side == PELT_MIRROR_AVERAGE ? 2 : 1) * SIDE * columns);
        assert_int_equal(report.near_count + report.kept_count, 0);
        for (uint32_t j = 0; j < 7; j++)
            assert_int_equal(report.pairs[j], j == 6 ? PELT_NONE : across[j]);
        /* The giving side keeps its weights: left, right, x > 0, x < 0. */
        int giving = (const int[]){1, -1, (int)left, -(int)left, 0}[side];
        for (size_t v = 0; v < model->mesh.vertex_count; v++)
            if (giving * ((int)(v % columns) - (int)SIDE) > 0)
                assert_true(row_distance(model, v, before, v) < 1e-6);
        /* Mirroring is idempotent. */
        pelt_mirror_report again;
        test_ok(&test, pelt_weights_mirror(test.context, model, NULL, &desc, &again));
        assert_true(again.weights.change_max < 1e-6);
        assert_true(report.weights.change_max > 0.5);
        pelt_model_destroy(before);
        pelt_model_destroy(model);
        test_end(&test);
    }
}

/* Vertices on the plane are sources too: halfway between them and the next column lies the mean of both. */
static void mirror_beside_the_plane(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_square(&test, true, 6), *before = make_square(&test, true, 6);
    size_t columns = 2 * SIDE + 1;
    for (size_t v = SIDE + 1; v < model->mesh.vertex_count; v += columns)
        model->mesh.positions[3 * v] = 0.5f / SIDE;
    pelt_mirror_desc desc = pelt_mirror_desc_default();
    desc.side = PELT_MIRROR_NEGATIVE_TO_POSITIVE;
    pelt_mirror_report report;
    test_ok(&test, pelt_weights_mirror(test.context, model, NULL, &desc, &report));
    assert_sound(&test, model, 4);
    assert_int_equal(report.near_count, columns);
    uint32_t checked = 0;
    for (size_t v = SIDE + 1; v < model->mesh.vertex_count; v += columns) {
        double wanted[6];
        uint32_t bones = 0;
        for (uint32_t b = 0; b < 6; b++) {
            wanted[b] = 0.5 * (double)(weight_of(model, v - 1, b) + weight_of(before, v - 2, b));
            bones += wanted[b] > 0;
        }
        for (uint32_t b = 0; b < 6 && bones <= 4; b++) /* of more influences the smallest are cut */
            assert_true(fabs((double)weight_of(model, v, across[b]) - wanted[b]) < 1e-5);
        checked += bones <= 4;
    }
    assert_true(checked > 1);
    pelt_model_destroy(before);
    pelt_model_destroy(model);
    test_end(&test);
}

/* The right half is slightly higher: weights are interpolated between vertices. Mirroring is still idempotent. */
static void mirror_near(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    pelt_model *model = make_square(&test, false, 7);
    pelt_mirror_desc desc = pelt_mirror_desc_default();
    desc.side = PELT_MIRROR_NEGATIVE_TO_POSITIVE;
    pelt_mirror_report report;
    test_ok(&test, pelt_weights_mirror(test.context, model, NULL, &desc, &report));
    assert_sound(&test, model, 4);
    uint32_t n = 2 * SIDE + 1;
    assert_int_equal(report.near_count, SIDE * n);
    size_t row = 5 * n; /* between rows 5 and 6, at 0.03 · 12 = 0.36 of the way */
    for (uint32_t b = 1; b < 6; b++) {
        double wanted = 0.64 * (double)weight_of(model, row, b) + 0.36 * (double)weight_of(model, row + n, b);
        assert_true(fabs((double)weight_of(model, opposite(row), across[b]) - wanted) < 1e-5);
    }
    pelt_mirror_report again;
    test_ok(&test, pelt_weights_mirror(test.context, model, NULL, &desc, &again));
    assert_true(again.weights.change_max < 1e-6);
    pelt_model_destroy(model);
    test_end(&test);
}

static void mirror_locked(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_square(&test, true, 7), *before = make_square(&test, true, 7);
    pelt_weights_scope scope = {PELT_DESC_COOKIE, .lock = "hand.R"};
    test_ok(&test, pelt_weights_mirror(test.context, model, &scope, NULL, NULL));
    assert_sound(&test, model, 4);
    for (size_t v = 0; v < model->mesh.vertex_count; v++)
        assert_true(fabsf(weight_of(model, v, 4) - weight_of(before, v, 4)) < 1e-6f);
    pelt_model_destroy(before);
    pelt_model_destroy(model);
    test_end(&test);
}

/* A skeleton that is symmetric across another axis gives a warning. */
static void mirror_wrong_axis(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_square(&test, true, 7);
    pelt_mirror_desc desc = {PELT_DESC_COOKIE, .axis = 1};
    test_ok(&test, pelt_weights_mirror(test.context, model, NULL, NULL, NULL));
    assert_int_equal(test.warning_count, 0);
    test_ok(&test, pelt_weights_mirror(test.context, model, NULL, &desc, NULL));
    assert_non_null(strstr(test.log, "across x rather than y"));
    pelt_model_destroy(model);
    test_end(&test);
}

/* Controls, joints without bones, may be anywhere. */
static void mirror_controls(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_square(&test, true, 7);
    pelt_skeleton *s = &model->skeleton;
    uint32_t count = s->joint_count;
    const char **names = pelt_model_alloc(test.context, model, count + 2, sizeof *names);
    uint32_t *parents = pelt_model_alloc(test.context, model, count + 2, sizeof *parents);
    pelt_transform *rest = pelt_model_alloc(test.context, model, count + 2, sizeof *rest);
    memcpy(names, s->names, count * sizeof *names);
    memcpy(parents, s->parents, count * sizeof *parents);
    memcpy(rest, s->rest, count * sizeof *rest);
    for (uint32_t n = 0; n < 2; n++) {
        names[count + n] = n ? "control.R" : "control.L";
        parents[count + n] = PELT_NONE;
        rest[count + n] = (pelt_transform){{0, 0, n ? -1000 : 1000}, {0, 0, 0, 1}, {1, 1, 1}};
    }
    s->names = names;
    s->parents = parents;
    s->rest = rest;
    s->joint_count += 2;
    test_ok(&test, pelt_weights_mirror(test.context, model, NULL, NULL, NULL));
    assert_int_equal(test.warning_count, 0);
    assert_sound(&test, model, 4);
    pelt_model_destroy(model);
    test_end(&test);
}

/* A joint without a counterpart keeps its weights where both sides meet. */
static void mirror_lone(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_square(&test, true, 7), *before = make_square(&test, true, 7);
    pelt_mirror_desc desc = {PELT_DESC_COOKIE, .side = PELT_MIRROR_AVERAGE};
    test_ok(&test, pelt_weights_mirror(test.context, model, NULL, &desc, NULL));
    assert_sound(&test, model, 4);
    for (size_t v = 0; v < model->mesh.vertex_count; v++)
        assert_true(fabsf(weight_of(model, v, 6) - weight_of(before, v, 6)) < 1e-6f);
    pelt_model_destroy(before);
    pelt_model_destroy(model);
    test_end(&test);
}

/* A scene with its own skeleton: symmetric afterwards. */
static void mirror_scene(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    pelt_model *model = make_scene(&test, "production", 4000);
    pelt_mirror_report report;
    pelt_mirror_desc desc = {PELT_DESC_COOKIE, .side = PELT_MIRROR_AVERAGE};
    test_ok(&test, pelt_weights_mirror(test.context, model, NULL, &desc, &report));
    assert_sound(&test, model, 8);
    print_message("production: %u exact, %u near, %u on the plane, %u kept; changed by %g at most\n",
                  report.exact_count, report.near_count, report.middle_count, report.kept_count,
                  report.weights.change_max);
    assert_true(report.exact_count > 1000);
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Invalid input ---------------------------------------------------------------------------------------- */

static void refused(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_scene(&test, "creature", 500);
    const float *weights = model->skin.weights;
    pelt_weights_scope scope = {PELT_DESC_COOKIE, .joints = "nose"};
    test_fails(&test, pelt_weights_smooth(test.context, model, &scope, NULL, NULL), PELT_ERROR_INPUT, "'nose'");
    scope = (pelt_weights_scope){PELT_DESC_COOKIE, .lock = "head,nose"};
    test_fails(&test, pelt_weights_mirror(test.context, model, &scope, NULL, NULL), PELT_ERROR_INPUT, "'nose'");
    scope = (pelt_weights_scope){PELT_DESC_COOKIE, .parts = "hat"};
    test_fails(&test, pelt_weights_prune(test.context, model, &scope, NULL, NULL), PELT_ERROR_INPUT, "'hat'");
    scope = (pelt_weights_scope){PELT_DESC_COOKIE, .influences = 9};
    test_fails(&test, pelt_weights_normalise(test.context, model, &scope, NULL), PELT_ERROR_USAGE,
               "pelt_weights_scope.influences is 9");
    pelt_smooth_desc smooth = {PELT_DESC_COOKIE, .strength = 1.5, .iterations = 1};
    test_fails(&test, pelt_weights_smooth(test.context, model, NULL, &smooth, NULL), PELT_ERROR_USAGE, "1.5");
    pelt_mirror_desc mirror = {PELT_DESC_COOKIE, .axis = 3};
    test_fails(&test, pelt_weights_mirror(test.context, model, NULL, &mirror, NULL), PELT_ERROR_USAGE, "axis is 3");
    assert_ptr_equal(model->skin.weights, weights);
    assert_int_equal(model->changed, 0);
    model->skin.bone_count = 0;
    test_fails(&test, pelt_weights_normalise(test.context, model, NULL, NULL), PELT_ERROR_INPUT, "no skin");
    pelt_model_destroy(model);
    test_end(&test);
}

static pelt_result edit_all(pelt_context *context, void *user) {
    const pelt_model *scene_model = user;
    pelt_model *model;
    pelt_result result = pelt_model_create(context, &model);
    if (result != PELT_OK)
        return result;
    model->mesh = scene_model->mesh;
    model->skeleton = scene_model->skeleton;
    model->skin = scene_model->skin;
    const float *weights = model->skin.weights;
    pelt_weights_scope scope = {PELT_DESC_COOKIE, .lock = "head", .parts = model->mesh.parts[0].name};
    result = pelt_weights_smooth(context, model, &scope, NULL, NULL);
    assert_true(result == PELT_OK || (model->skin.weights == weights && model->changed == 0));
    weights = model->skin.weights;
    if (result == PELT_OK) {
        result = pelt_weights_mirror(context, model, NULL, NULL, NULL);
        assert_true(result == PELT_OK || model->skin.weights == weights);
    }
    pelt_model_destroy(model);
    return result;
}

static void no_memory(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_scene(&test, "creature", 200);
    test_fail_each_allocation(2, edit_all, model);
    pelt_model_destroy(model);
    test_end(&test);
}

/* The same for any number of threads. */
static void same_bits(void **state) {
    (void)state;
    float *first = NULL;
    for (uint32_t threads = 1; threads <= 3; threads++) {
        test_context test;
        test_begin(&test, threads);
        pelt_model *model = make_scene(&test, "production", 3000);
        test_ok(&test, pelt_weights_smooth(test.context, model, NULL, NULL, NULL));
        test_ok(&test, pelt_weights_mirror(test.context, model, NULL, NULL, NULL));
        size_t size = (size_t)model->mesh.vertex_count * model->skin.influence_count * sizeof *first;
        if (!first)
            first = memcpy(malloc(size), model->skin.weights, size);
        assert_memory_equal(first, model->skin.weights, size);
        pelt_model_destroy(model);
        test_end(&test);
    }
    free(first);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(smooth_model),    cmocka_unit_test(scoped),
        cmocka_unit_test(prune_model),     cmocka_unit_test(normalise_seams),
        cmocka_unit_test(instances),       cmocka_unit_test(mirror_sides),
        cmocka_unit_test(mirror_near),     cmocka_unit_test(mirror_beside_the_plane),
        cmocka_unit_test(mirror_lone),     cmocka_unit_test(mirror_wrong_axis),
        cmocka_unit_test(mirror_controls), cmocka_unit_test(mirror_locked),
        cmocka_unit_test(mirror_scene),    cmocka_unit_test(refused),
        cmocka_unit_test(no_memory),       cmocka_unit_test(same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
