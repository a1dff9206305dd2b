/* glTF on the real characters: every file is read, written with each kind of data replaced by itself, read again, and
 * must have the same poses. */
#include "characters.h"

#include "core/core.h"
#include <pelt/run.h>

#include <math.h>

/* ---- Comparing poses -------------------------------------------------------------------------------------- */

static float *pose(test_context *test, const pelt_model *model, const pelt_motion *motion, float time) {
    float *out = calloc((size_t)model->mesh.vertex_count + 1, 3 * sizeof *out);
    test_ok(test, pelt_model_pose(test->context, model, motion, time, PELT_SKINNING_LINEAR, out, NULL));
    return out;
}

/* The sum over vertices of the coordinates, their squares and products: rewritten nodes may change the order. */
static void moments(const float *positions, size_t count, double out[9]) {
    memset(out, 0, 9 * sizeof *out);
    for (size_t i = 0; i < count; i++)
        for (int c = 0; c < 3; c++) {
            double a = (double)positions[3 * i + c], b = (double)positions[3 * i + (c + 1) % 3];
            out[c] += a / (double)count;
            out[3 + c] += a * a / (double)count;
            out[6 + c] += a * b / (double)count;
        }
}

static void same_pose(test_context *test, const char *what, const pelt_model *a, const pelt_model *b, uint32_t m,
                      float time, bool ordered) {
    size_t count = a->mesh.vertex_count;
    float *x = pose(test, a, m < a->motion_count ? &a->motions[m] : NULL, time);
    float *y = pose(test, b, m < b->motion_count ? &b->motions[m] : NULL, time);
    double size = 1e-30, off = 0;
    for (size_t c = 0; c < 3 * count; c++) {
        size = fmax(size, fabs((double)x[c]));
        off = fmax(off, fabs((double)x[c] - (double)y[c]));
    }
    if (!ordered) {
        double p[9], q[9];
        moments(x, count, p);
        moments(y, count, q);
        off = 0;
        for (int e = 0; e < 9; e++)
            off = fmax(off, fabs(p[e] - q[e]) / (e < 3 ? 1 : size));
    }
    free(x);
    free(y);
    if (!(off <= 1e-5 * size))
        fail_msg("%s: motion %u at %g s is off by %g of the size", what, m, (double)time, off / size);
}

static void same_model(test_context *test, const char *what, const pelt_model *a, const pelt_model *b, bool ordered) {
    assert_int_equal(a->mesh.vertex_count, b->mesh.vertex_count);
    assert_int_equal(a->mesh.triangle_count, b->mesh.triangle_count);
    assert_int_equal(a->mesh.part_count, b->mesh.part_count);
    assert_int_equal(a->motion_count, b->motion_count);
    assert_int_equal(a->morphs.morph_count, b->morphs.morph_count);
    same_pose(test, what, a, b, UINT32_MAX, 0, ordered);
    for (uint32_t m = 0; m < a->motion_count && m < 3; m++) {
        assert_string_equal(a->motions[m].name, b->motions[m].name);
        float length = a->motions[m].end - a->motions[m].start;
        same_pose(test, what, a, b, m, a->motions[m].start + 0.37f * length, ordered);
    }
}

/* ---- One file --------------------------------------------------------------------------------------------- */

static pelt_model *load(test_context *test, const char *path) {
    const char *paths[] = {path};
    pelt_model *model;
    test_ok(test, pelt_load(test->context, paths, 1, NULL, &model));
    return model;
}

static char folder[1024]; /* of written files */

static void rewrite(test_context *test, pelt_model *model, const char *name, uint32_t changed, const char *extension) {
    char path[2200], what[2300];
    const char *keep = getenv("PELT_KEEP"); /* optional folder that keeps the written files */
    snprintf(path, sizeof path, "%s/%s_%x.%s", keep ? keep : folder, name, changed, extension);
    snprintf(what, sizeof what, "%s, changed %x", name, changed);
    struct px_document *document = model->document;
    model->changed = changed;
    if (changed == UINT32_MAX)
        model->document = NULL;
    test_ok(test, pelt_save(test->context, model, path, NULL));
    model->document = document;
    pelt_model *again = load(test, path);
    same_model(test, what, model, again, !(changed & PELT_CHANGED_SKELETON));
    pelt_model_destroy(again);
    if (!keep)
        unlink(path);
    snprintf(path, sizeof path, "%s/%s_%x.bin", folder, name, changed);
    if (!keep)
        unlink(path);
}

static uint32_t file_count;

static void check_file(const char *path) {
    static const uint32_t changes[] = {0,
                                       PELT_CHANGED_POSITIONS,
                                       PELT_CHANGED_SKIN,
                                       PELT_CHANGED_MOTIONS,
                                       PELT_CHANGED_MORPHS,
                                       PELT_CHANGED_POSITIONS | PELT_CHANGED_SKIN | PELT_CHANGED_MOTIONS |
                                           PELT_CHANGED_MORPHS,
                                       PELT_CHANGED_SKELETON,
                                       UINT32_MAX};
    struct stat status;
    if (stat(path, &status) != 0 || status.st_size >= 8 << 20)
        return; /* large ones take long */
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = load(&test, path);
    const char *name = strrchr(path, '/') + 1;
    for (size_t c = 0; c < PX_COUNT(changes); c++)
        rewrite(&test, model, name, changes[c], c % 3 == 1 ? "gltf" : "glb");
    pelt_model_destroy(model);
    test_end(&test);
    file_count++;
}

static void characters(void **state) {
    test_folder(folder);
    test_each_character(*state, check_file);
    assert_true(file_count > 0);
    printf("%u files\n", file_count);
    assert_int_equal(rmdir(folder), 0);
}

int main(void) {
    char path[1024];
    if (!test_has_data(path, ""))
        return TEST_SKIP;
    const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(characters, path)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
