/* Skinned normals as pelt_compare_clips measures them: against a direct evaluation, and against the report of
 * corrections. */
#include "support.h"

#include "core/core.h"
#include "scenes.h"
#include "view/view.h"

#include <math.h>

static pelt_model *make_scene(pelt_context *context, const char *name, pelt_result *result) {
    pelt_model *model;
    *result = scene_find(name)->make(context, &(scene_desc){300, 6, 1}, &model);
    return model;
}

static pelt_result make_clip(pelt_context *context, pelt_model *model, bool normals, pelt_clip *clip) {
    PX_TRY(pelt_clip_from_motion(context, model, &model->motions[0], 30, PELT_SKINNING_LINEAR, clip));
    return normals ? pelt_clip_skin_normals(context, model, clip) : PELT_OK;
}

/* ---- By hand ---------------------------------------------------------------------------------------------- */

static void unit(double v[3]) {
    double length = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    for (int e = 0; e < 3; e++)
        v[e] = length > 0 ? v[e] / length : e == 2;
}

/* Area-weighted normals of the welded surface, by brute force. out [weld][3] */
static void triangle_normals(const pelt_mesh *mesh, const float *positions, double *out) {
    memset(out, 0, 3 * (size_t)mesh->weld.count * sizeof *out);
    for (size_t t = 0; t < mesh->triangle_count; t++) {
        const uint32_t *corners = mesh->triangles + 3 * t;
        double u[3], v[3];
        for (int e = 0; e < 3; e++) {
            u[e] = (double)positions[3 * corners[1] + e] - (double)positions[3 * corners[0] + e];
            v[e] = (double)positions[3 * corners[2] + e] - (double)positions[3 * corners[0] + e];
        }
        for (int c = 0; c < 3; c++)
            for (int e = 0; e < 3; e++)
                out[3 * mesh->weld.of[corners[c]] + e] +=
                    u[(e + 1) % 3] * v[(e + 2) % 3] - u[(e + 2) % 3] * v[(e + 1) % 3];
    }
    for (size_t w = 0; w < mesh->weld.count; w++)
        unit(out + 3 * w);
}

/* x is B times n; or the inverse transposed of B times n, solving Bᵀ x = n by Cramer's rule. */
static void skin_normal(const pelt_skin *skin, const pelt_affine *palette, uint32_t i, const double n[3], bool inverse,
                        double x[3]) {
    double bt[3][3] = {{0}};
    for (uint32_t k = 0; k < skin->influence_count; k++)
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++)
                bt[c][r] += (double)skin->weights[i * skin->influence_count + k] *
                            (double)palette[skin->bones[i * skin->influence_count + k]].m[4 * r + c];
    for (int e = 0; e < 3 && !inverse; e++)
        x[e] = bt[0][e] * n[0] + bt[1][e] * n[1] + bt[2][e] * n[2];
    for (int e = -1; e < 3 && inverse; e++) {
        double m[3][3], det;
        memcpy(m, bt, sizeof m);
        for (int r = 0; r < 3 && e >= 0; r++)
            m[r][e] = n[r];
        det = m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
              m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
        if (e < 0)
            assert_true(det > 0); /* otherwise the normal would flip */
        else
            x[e] = det;
    }
    unit(x);
}

static double square_distance(const double a[3], const double b[3]) {
    double sum = 0;
    for (int e = 0; e < 3; e++)
        sum += (a[e] - b[e]) * (a[e] - b[e]);
    return sum;
}

/* The rig's skinned normals against those of the triangles in its own frames: the error of blending. Vertices are
 * points. */
static double by_hand(const test_context *test, pelt_model *model, bool inverse, double *degrees) {
    const pelt_mesh *mesh = &model->mesh;
    size_t joints = model->skeleton.joint_count;
    pelt_transform *locals = calloc(joints, sizeof *locals);
    pelt_affine *globals = calloc(joints, sizeof *globals), *palette = calloc(model->skin.bone_count, sizeof *palette);
    double *rest = calloc(mesh->weld.count, 3 * sizeof *rest), *shown = calloc(mesh->weld.count, 3 * sizeof *shown);
    float *positions = calloc(mesh->vertex_count, 3 * sizeof *positions);
    assert_true(locals && globals && palette && rest && shown && positions);
    triangle_normals(mesh, mesh->positions, rest);
    double sum = 0, angles = 0;
    for (int k = 0; k < 6; k++) {
        float time = model->motions[0].start + (float)k / 30;
        pelt_motion_sample(model, &model->motions[0], time, locals, NULL);
        pelt_skeleton_globals(&model->skeleton, locals, globals);
        pelt_skin_palette(&model->skin, globals, palette);
        test_ok(test,
                pelt_model_pose(test->context, model, &model->motions[0], time, PELT_SKINNING_LINEAR, positions, NULL));
        triangle_normals(mesh, positions, shown);
        for (uint32_t i = 0; i < mesh->vertex_count; i++) {
            double skinned[3];
            skin_normal(&model->skin, palette, i, rest + 3 * mesh->weld.of[i], inverse, skinned);
            double square = square_distance(skinned, shown + 3 * mesh->weld.of[i]);
            sum += square;
            angles += pow(acos(1 - square / 2), 2);
        }
    }
    free(positions), free(shown), free(rest), free(palette), free(globals), free(locals);
    *degrees = 180 / 3.14159265358979 * sqrt(angles / (6.0 * mesh->vertex_count));
    return sqrt(sum / (6.0 * mesh->vertex_count));
}

static void measured_as_by_hand(void **state) {
    (void)state;
    static const char *const names[] = {"creature", "tube", "production"};
    bool differ = false; /* whether the two rules differ in any scene */
    for (size_t n = 0; n < PX_COUNT(names); n++) {
        test_context test;
        pelt_context *context = test_begin(&test, 2);
        pelt_result result;
        pelt_model *model = make_scene(context, names[n], &result);
        test_ok(&test, result);
        test_ok(&test, pelt_model_weld(context, model));
        test_ok(&test, pelt_mesh_normals(context, &model->mesh, NULL, model->mesh.normals));
        double degrees[2],
            wanted[2] = {by_hand(&test, model, false, &degrees[0]), by_hand(&test, model, true, &degrees[1])};
        assert_true(wanted[0] > 0.005 && wanted[0] < 0.5);
        differ |= fabs(wanted[0] - wanted[1]) > 0.01 * wanted[0];
        pelt_clip plain, skinned;
        pelt_difference d, turned;
        test_ok(&test, make_clip(context, model, false, &plain));
        test_ok(&test, make_clip(context, model, true, &skinned));
        test_ok(&test, pelt_compare_clips(context, &plain, &skinned, &model->mesh, &d, NULL));
        assert_float_equal(d.skinned_normal_rms, wanted[0], 1e-4 * wanted[0]);
        assert_float_equal(d.skinned_normal_degrees, degrees[0], 1e-4 * degrees[0]);
        assert_float_equal(d.inverse_normal_rms, wanted[1], 1e-4 * wanted[1]);
        assert_float_equal(d.inverse_normal_degrees, degrees[1], 1e-4 * degrees[1]);
        assert_true(d.error_rms == 0 && d.normal_rms == 0 && d.normal_degrees == 0);
        test_ok(&test, pelt_compare_clips(context, &skinned, &plain, &model->mesh, &turned, NULL));
        assert_memory_equal(&d, &turned, sizeof d); /* independent of which clip is the rig */
        test_ok(&test, pelt_compare_clips(context, &plain, &plain, &model->mesh, &d, NULL));
        assert_true(d.normal_rms == 0 && isnan(d.skinned_normal_rms) && isnan(d.skinned_normal_degrees));
        test_ok(&test, pelt_compare_clips(context, &plain, &skinned, NULL, &d, NULL));
        assert_true(isnan(d.normal_rms) && isnan(d.skinned_normal_rms));
        pelt_model_destroy(model);
        test_end(&test);
    }
    assert_true(differ);
}

/* For points with several vertices, the normal of the first vertex is used, wherever it is; a range of points reads its
 * own. */
static void normals_of_points(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    pelt_result result;
    pelt_model *model = make_scene(context, "creature", &result);
    test_ok(&test, result);
    pelt_mesh *mesh = &model->mesh;
    pelt_clip by_vertex, by_point;
    test_ok(&test, make_clip(context, model, true, &by_vertex));
    uint32_t *points = pelt_model_alloc(context, model, mesh->vertex_count, sizeof *points);
    assert_non_null(points);
    for (uint32_t i = 0; i < mesh->vertex_count; i++)
        points[i] = (mesh->vertex_count - 1 - i) / 2; /* in reverse order */
    test_ok(&test, pelt_model_set_points(context, model, (mesh->vertex_count + 1) / 2, points));
    test_ok(&test, make_clip(context, model, true, &by_point));
    enum { ROW = 3 * PELT_NORMAL_RULES };
    float all[ROW * 400], some[ROW * 20];
    assert_in_range(mesh->vertex_count, 50, 400);
    test_ok(&test, by_vertex.source.read_normals(context, by_vertex.source.user, 3, false, 0, mesh->vertex_count, all));
    test_ok(&test, by_point.source.read_normals(context, by_point.source.user, 3, false, 2, 20, some));
    for (uint32_t p = 2; p < 22; p++) {
        uint32_t first = 0;
        while (points[first] != p)
            first++;
        /* accurate normals are not compared: their gradients are those of the welded surface, which differs */
        assert_memory_equal(all + (size_t)ROW * first, some + (size_t)ROW * (p - 2), 6 * sizeof *all);
    }
    for (uint32_t i = 0; i + 20 <= mesh->vertex_count; i += 20) {
        test_ok(&test, by_point.source.read_normals(context, by_point.source.user, 3, true, i, 20, some));
        for (uint32_t v = 0; v < 20; v++)
            assert_memory_equal(all + (size_t)ROW * (i + v), some + (size_t)ROW * v, 6 * sizeof *all);
    }
    pelt_clip other = {"other", by_point.frame_count, by_point.point_count, by_point.times, all, {0}};
    test_fails(&test, pelt_clip_skin_normals(context, model, &other), PELT_ERROR_USAGE, "clip 'other' is not one of");
    pelt_model_destroy(model);
    test_end(&test);
}

/* Pictures show normals as engines skin them: by the first rule if the part has a skin, else by the second. */
static void pictures_are_alike(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    pelt_result result;
    pelt_model *model = make_scene(context, "tube", &result);
    test_ok(&test, result);
    pelt_clip clip;
    test_ok(&test, make_clip(context, model, true, &clip));
    uint32_t count = model->mesh.vertex_count;
    float positions[3 * 400], normals[3 * 400], rules[400][PELT_NORMAL_RULES][3];
    assert_in_range(count, 50, 400);
    assert_true(model->mesh.part_count == 1 && model->mesh.parts[0].vertex_count == count);
    test_ok(&test, clip.source.read_normals(context, clip.source.user, 4, false, 0, count, rules[0][0]));
    for (int rule = 0; rule < 2; rule++) {
        model->mesh.parts[0].skinned = rule == 0;
        px_animation animation = {.motion = &model->motions[0]};
        test_ok(&test, px_animation_pose(context, model, &animation, (double)clip.times[4], positions, normals));
        double largest = 0;
        for (uint32_t e = 0; e < 3 * count; e++) {
            assert_float_equal(normals[e], rules[e / 3][rule][e % 3], 1e-6);
            largest = fmax(largest, fabs((double)rules[e / 3][0][e % 3] - (double)rules[e / 3][1][e % 3]));
        }
        assert_true(largest > 0.01); /* the rules differ */
    }
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Report of corrections -------------------------------------------------------------------------------- */

/* The frames of a motion, inflated by a wave; in the model's memory. */
static pelt_clip waving(const test_context *test, pelt_model *model) {
    pelt_clip clip;
    test_ok(test, make_clip(test->context, model, false, &clip));
    size_t floats = 3 * (size_t)clip.point_count;
    float *frames = pelt_model_alloc(test->context, model, clip.frame_count * floats, sizeof *frames);
    assert_non_null(frames);
    for (uint32_t k = 0; k < clip.frame_count; k++) {
        test_ok(test, pelt_clip_read(test->context, &clip, k, 0, clip.point_count, frames + k * floats));
        for (size_t e = 0; e < floats; e++)
            frames[k * floats + e] *= 1 + 0.2f * sinf(4 * frames[k * floats + e / 3 * 3 + 1] + (float)k);
    }
    clip.positions = frames;
    clip.source = (pelt_clip_source){0};
    return clip;
}

static void check_corrections(uint32_t rule) {
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    pelt_result result;
    pelt_model *model = make_scene(context, "creature", &result);
    test_ok(&test, result);
    pelt_clip target = waving(&test, model), before, after;
    pelt_mesh mesh; /* with the normals of its triangles as the target */
    pelt_correct_desc desc = pelt_correct_desc_default();
    pelt_correct_report report;
    desc.rank = 2;
    desc.normals = true;
    desc.normal_rank = 2;
    desc.normal_rule = rule;
    test_ok(&test, pelt_model_weld(context, model));
    mesh = model->mesh;
    mesh.normals = pelt_model_alloc(context, model, (size_t)3 * mesh.vertex_count, sizeof *mesh.normals);
    assert_non_null(mesh.normals);
    test_ok(&test, pelt_mesh_edged_normals(context, &model->mesh, NULL, mesh.normals));
    test_ok(&test, make_clip(context, model, true, &before));
    test_ok(&test, pelt_correct(context, model, &(pelt_correct_pair){0, &target}, 1, &desc, &report));
    test_ok(&test, make_clip(context, model, true, &after));
    pelt_difference d[2];
    test_ok(&test, pelt_compare_clips(context, &target, &before, &mesh, &d[0], NULL));
    test_ok(&test, pelt_compare_clips(context, &after, &target, &mesh, &d[1], NULL)); /* either may be the rig */
    double rms[2];
    for (int n = 0; n < 2; n++)
        rms[n] = rule == PELT_NORMALS_MATRIX ? d[n].skinned_normal_rms : d[n].inverse_normal_rms;
    assert_true(rms[1] < 0.9 * rms[0]);
    assert_float_equal(report.normals_before, rms[0], 1e-5);
    assert_float_equal(report.normals_after, rms[1], 1e-5);
    pelt_model_destroy(model);
    test_end(&test);
}

static void corrections_report_the_same(void **state) {
    (void)state;
    check_corrections(PELT_NORMALS_MATRIX);
    check_corrections(PELT_NORMALS_INVERSE);
}

/* ---- Memory ----------------------------------------------------------------------------------------------- */

static pelt_result measure(pelt_context *context, void *user) {
    (void)user;
    pelt_result result;
    pelt_model *model = make_scene(context, "tube", &result);
    pelt_clip clip;
    pelt_difference d;
    if (result == PELT_OK)
        result = make_clip(context, model, true, &clip);
    if (result == PELT_OK)
        result = pelt_compare_clips(context, &clip, &clip, &model->mesh, &d, NULL);
    pelt_model_destroy(model);
    return result;
}

static void without_memory(void **state) {
    (void)state;
    test_fail_some_allocations(1, 120, measure, NULL);
    test_fail_some_allocations(2, 120, measure, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measured_as_by_hand), cmocka_unit_test(normals_of_points),
        cmocka_unit_test(pictures_are_alike),  cmocka_unit_test(corrections_report_the_same),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
