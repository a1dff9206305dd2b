/* Skin weights quantised to integers: they sum to exactly 255 or 65,535, each is next to its weight, and weights that
 * are too small are removed. */
#include "gltf_written.h"
#include "view_models.h"

enum { BONES = 9, VERTICES = 600 };

typedef struct rows {
    uint32_t influence_count;
    float weights[VERTICES][PELT_MAX_INFLUENCES];
} rows;

/* Random rows, largest first; some have hardly any weight besides the first. */
static void random_rows(uint32_t influence_count, rows *r) {
    test_random random = {influence_count};
    r->influence_count = influence_count;
    for (uint32_t i = 0; i < VERTICES; i++) {
        double w[PELT_MAX_INFLUENCES], sum = 0, left = INFINITY;
        for (uint32_t k = 0; k < influence_count; k++) {
            double fall = i % 3 == 0 ? 1 : test_random_real(&random, 0, i % 3 == 1 ? 1 : 0.01); /* equal, any, steep */
            w[k] = k == 0 ? 1 : w[k - 1] * fall;
            sum += w[k];
        }
        for (uint32_t k = 0; k < influence_count; k++) {
            r->weights[i][k] = (float)(w[k] / sum);
            assert_true((double)r->weights[i][k] <= left);
            left = (double)r->weights[i][k];
        }
    }
}

static pelt_model *make_skinned(pelt_context *context, const rows *r) {
    float positions[3 * VERTICES] = {0};
    for (uint32_t i = 0; i < VERTICES; i++)
        positions[3 * i] = (float)i;
    pelt_model *model = make_mesh(context, positions, VERTICES, (const uint32_t[3]){0, 1, 2}, 1);
    uint32_t K = r->influence_count;
    pelt_skeleton *skeleton = &model->skeleton;
    *skeleton = (pelt_skeleton){BONES, keep(context, model, NULL, BONES, sizeof(char *)),
                                keep(context, model, NULL, BONES, sizeof(uint32_t)),
                                keep(context, model, NULL, BONES, sizeof(pelt_transform))};
    model->skin = (pelt_skin){BONES,
                              K,
                              keep(context, model, NULL, BONES, sizeof(uint32_t)),
                              keep(context, model, NULL, BONES, sizeof(pelt_affine)),
                              keep(context, model, NULL, (size_t)VERTICES * K, sizeof(uint16_t)),
                              keep(context, model, NULL, (size_t)VERTICES * K, sizeof(float))};
    for (uint32_t j = 0; j < BONES; j++) {
        skeleton->names[j] = "bone";
        skeleton->parents[j] = PELT_NONE;
        skeleton->rest[j] = (pelt_transform){{0}, {0, 0, 0, 1}, {1, 1, 1}};
        model->skin.bone_joints[j] = j;
        model->skin.inverse_binds[j] = (pelt_affine){{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}};
    }
    for (uint32_t i = 0; i < VERTICES; i++)
        for (uint32_t k = 0; k < K; k++) {
            model->skin.weights[i * K + k] = r->weights[i][k];
            model->skin.bones[i * K + k] = r->weights[i][k] > 0 ? (uint16_t)((i + k) % BONES) : 0;
        }
    model->changed = PELT_CHANGED_SKIN | PELT_CHANGED_SKELETON;
    assert_int_equal(pelt_model_validate(context, model), PELT_OK);
    return model;
}

/* An element of an attribute of the only primitive; 0 if the file has no such set. */
static uint32_t number(const written *w, const char *attribute, uint32_t set, uint32_t vertex, uint32_t component,
                       uint32_t *type) {
    char name[24];
    snprintf(name, sizeof name, "%s_%u", attribute, set);
    const px_json *primitive = px_json_at(px_json_get(item(w->root, "meshes", 0), "primitives"), 0);
    const px_json *index = px_json_get(px_json_get(primitive, "attributes"), name);
    if (!index)
        return 0;
    const px_json *accessor = item(w->root, "accessors", (uint32_t)px_json_uint(index, UINT32_MAX, 0));
    const px_json *view =
        item(w->root, "bufferViews", (uint32_t)px_json_uint(px_json_get(accessor, "bufferView"), UINT32_MAX, 0));
    *type = (uint32_t)px_json_uint(px_json_get(accessor, "componentType"), UINT32_MAX, 0);
    bool weights = strcmp(attribute, "WEIGHTS") == 0;
    assert_int_equal(px_json_bool(px_json_get(accessor, "normalized"), false), weights);
    size_t size = *type == 5121 ? 1 : 2;
    size_t stride = px_json_uint(px_json_get(view, "byteStride"), UINT32_MAX, 4 * size);
    const uint8_t *at = w->binary + px_json_uint(px_json_get(view, "byteOffset"), UINT32_MAX, 0) +
                        px_json_uint(px_json_get(accessor, "byteOffset"), UINT32_MAX, 0) + vertex * stride +
                        component * size;
    return size == 1 ? at[0] : (uint32_t)(at[0] | at[1] << 8);
}

static void check_vertex(const written *w, const rows *r, uint32_t i, uint32_t total) {
    const uint32_t wanted = total == 255 ? 5121 : 5123;
    uint32_t sum = 0, last = UINT32_MAX;
    for (uint32_t k = 0; k < PELT_MAX_INFLUENCES; k++) {
        uint32_t type = wanted, joint_type, n = number(w, "WEIGHTS", k / 4, i, k % 4, &type);
        assert_int_equal(type, wanted);
        double exact = k < r->influence_count ? (double)r->weights[i][k] * total : 0;
        assert_true(fabs(n - exact) < 1 + 1e-3); /* the sum of the row is 1 to float accuracy only */
        assert_true(n <= last);
        sum += n;
        last = n;
        uint32_t joint = number(w, "JOINTS", k / 4, i, k % 4, &joint_type);
        assert_int_equal(joint, n > 0 ? (i + k) % BONES : 0); /* glTF requires joint 0 for zero weights */
    }
    assert_int_equal(sum, total);
}

typedef void rows_fn(const written *w, const rows *r, uint32_t total);

/* Writes the rows in both ways and checks the data of the files. */
static void write_rows(const rows *r, rows_fn *check) {
    char folder[1024], path[1100];
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    pelt_model *model = make_skinned(context, r);
    test_folder(folder);
    snprintf(path, sizeof path, "%s/out.glb", folder);
    for (uint32_t format = PELT_WEIGHTS_U16; format <= PELT_WEIGHTS_U8; format++) {
        pelt_save_desc save = pelt_save_desc_default();
        save.weights = format;
        test_ok(&test, pelt_save(context, model, path, &save));
        written w;
        look(&test, path, &w);
        check(&w, r, format == PELT_WEIGHTS_U8 ? 255 : 65535);
        forget(&w);
        unlink(path);
    }
    rmdir(folder);
    pelt_model_destroy(model);
    test_end(&test);
}

static void check_all(const written *w, const rows *r, uint32_t total) {
    for (uint32_t i = 0; i < VERTICES; i++)
        check_vertex(w, r, i, total);
}

static void random_weights(void **state) {
    (void)state;
    static rows r;
    for (uint32_t K = 1; K <= PELT_MAX_INFLUENCES; K++) {
        random_rows(K, &r);
        write_rows(&r, check_all);
    }
}

static void check_known(const written *w, const rows *r, uint32_t total) {
    uint32_t type;
    (void)r;
    const uint32_t third = total / 3; /* both totals are multiples of 3 and of 5 */
    for (uint32_t k = 0; k < 3; k++)
        assert_int_equal(number(w, "WEIGHTS", 0, 0, k, &type), third);
    assert_int_equal(number(w, "WEIGHTS", 0, 1, 0, &type), (total + 1) / 2); /* half of an odd number */
    assert_int_equal(number(w, "WEIGHTS", 0, 1, 1, &type), total / 2);
    assert_int_equal(number(w, "WEIGHTS", 0, 2, 0, &type), total); /* a tiny weight becomes 0 … */
    assert_int_equal(number(w, "WEIGHTS", 0, 2, 1, &type), 0);
    assert_int_equal(number(w, "JOINTS", 0, 2, 1, &type), 0); /* … and its joint becomes 0 */
    assert_int_equal(number(w, "WEIGHTS", 0, 3, 0, &type), total - total / 5);
    assert_int_equal(number(w, "WEIGHTS", 0, 3, 1, &type), total / 5);
    check_vertex(w, r, 4, total);
    const px_json *primitive = px_json_at(px_json_get(item(w->root, "meshes", 0), "primitives"), 0);
    const px_json *attributes = px_json_get(primitive, "attributes");
    assert_int_equal(px_json_get(attributes, "WEIGHTS_1") != NULL, total == 65535); /* no second set of zeros */
}

static void known_weights(void **state) {
    (void)state;
    static rows r = {.influence_count = 5};
    for (uint32_t i = 0; i < VERTICES; i++)
        r.weights[i][0] = 1;
    const float known[5][5] = {{1 / 3.0f, 1 / 3.0f, 1 / 3.0f, 0, 0},
                               {0.5f, 0.5f, 0, 0, 0},
                               {1 - 1e-6f, 1e-6f, 0, 0, 0},
                               {0.8f, 0.2f, 0, 0, 0},
                               {0.4f, 0.3f, 0.2f, 0.0996f, 0.0004f}}; /* the fifth is 26 of 65,535 and 0.1 of 255 */
    for (uint32_t i = 0; i < 5; i++)
        memcpy(r.weights[i], known[i], sizeof known[i]);
    write_rows(&r, check_known);
}

/* Vertices with more influences than common players blend are counted in a warning. */
static void players_that_blend_less(void **state) {
    (void)state;
    static const struct {
        uint32_t played;
        const char *words; /* NULL: no warning */
    } cases[] = {{0, "have more than 4 bones; three.js, PlayCanvas and Godot 3 play only the first 4 of them"},
                 {4, "have more than 4 bones; three.js, PlayCanvas and Godot 3 play only the first 4 of them"},
                 {2, "have more than 2 bones; programs that blend no more play only the first 2 of them"},
                 {8, NULL}};
    static rows r;
    random_rows(6, &r);
    for (size_t c = 0; c < PX_COUNT(cases); c++) {
        test_context test;
        char path[1100], folder[1024];
        test_begin(&test, 1);
        test_folder(folder);
        snprintf(path, sizeof path, "%s/out.glb", folder);
        const char *const paths[] = {path};
        pelt_model *model = make_skinned(test.context, &r), *again;
        pelt_save_desc desc = pelt_save_desc_default();
        desc.player_influences = cases[c].played;
        for (int pass = 0; pass < 2; pass++) { /* a new skin, then one read from a file */
            test.log[0] = 0;
            test_ok(&test, pelt_save(test.context, model, path, &desc));
            assert_int_equal(strstr(test.log, "bones") != NULL, cases[c].words != NULL);
            assert_true(!cases[c].words || strstr(test.log, cases[c].words));
            test_ok(&test, pelt_load(test.context, paths, 1, NULL, &again));
            pelt_model_destroy(model);
            model = again;
        }
        pelt_model_destroy(model);
        unlink(path);
        rmdir(folder);
        test_end(&test);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_weights),
        cmocka_unit_test(known_weights),
        cmocka_unit_test(players_that_blend_less),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
