/* Normals that a surface carries along (core/shading.h), and rest normals fitted to skinning as in engines. */
#include "support.h"

#include "core/shading.h"
#include "scenes.h"

#include <math.h>

/* ---- A box with hard edges ---------------------------------------------------------------------------------- */

#define BOX_VERTICES 24

/* Four vertices a side, with normals that lean by `lean`, and tangents along the first edge. */
static pelt_model *make_box(const test_context *test, float lean) {
    pelt_context *context = test->context;
    pelt_model *model = NULL;
    test_ok(test, pelt_model_create(context, &model));
    pelt_mesh *mesh = &model->mesh;
    mesh->vertex_count = mesh->points.count = BOX_VERTICES;
    mesh->triangle_count = 12;
    mesh->positions = pelt_model_alloc(context, model, (size_t)3 * BOX_VERTICES, sizeof(float));
    mesh->normals = pelt_model_alloc(context, model, (size_t)3 * BOX_VERTICES, sizeof(float));
    mesh->tangents = pelt_model_alloc(context, model, (size_t)4 * BOX_VERTICES, sizeof(float));
    mesh->triangles = pelt_model_alloc(context, model, 36, sizeof(uint32_t));
    mesh->parts = pelt_model_alloc(context, model, 1, sizeof(pelt_part));
    assert_true(mesh->positions && mesh->normals && mesh->tangents && mesh->triangles && mesh->parts);
    mesh->part_count = 1;
    mesh->parts[0] = (pelt_part){.name = "box", .vertex_count = BOX_VERTICES, .triangle_count = 12, .joint = PELT_NONE};
    for (uint32_t side = 0; side < 6; side++) {
        uint32_t axis = side % 3, first = 4 * side, *t = mesh->triangles + (size_t)6 * side;
        float sign = side < 3 ? 1 : -1;
        for (uint32_t c = 0; c < 4; c++) {
            float u = c == 1 || c == 2 ? 1 : -1, v = c >= 2 ? 1 : -1, *p = mesh->positions + 3 * (size_t)(first + c);
            float *n = mesh->normals + 3 * (size_t)(first + c), *x = mesh->tangents + 4 * (size_t)(first + c);
            p[axis] = sign, p[(axis + 1) % 3] = sign * u, p[(axis + 2) % 3] = v;
            n[axis] = sign * sqrtf(1 - lean * lean), n[(axis + 1) % 3] = lean;
            x[(axis + 2) % 3] = 1, x[3] = -1;
        }
        const uint32_t corners[6] = {0, 1, 2, 0, 2, 3};
        for (int c = 0; c < 6; c++)
            t[c] = first + corners[c];
    }
    test_ok(test, pelt_model_weld(context, model));
    assert_int_equal(mesh->weld.count, 8);
    return model;
}

/* A triangle so thin that its edges are parallel after rounding: tangents are finite. */
static void sliver(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_box(&test, 0);
    pelt_mesh *mesh = &model->mesh;
    const float corners[] = {0, 0, 0, 1, 0, 0, 1, 1e-9f, 0}, tangent[] = {0, 1, 0, 1};
    mesh->vertex_count = mesh->points.count = 3;
    mesh->triangle_count = 1;
    memcpy(mesh->positions, corners, sizeof corners);
    memcpy(mesh->triangles, (const uint32_t[]){0, 1, 2}, 3 * sizeof(uint32_t));
    for (size_t i = 0; i < 3; i++) {
        memcpy(mesh->normals + 3 * i, (const float[]){0, 0, 1}, 3 * sizeof(float));
        memcpy(mesh->tangents + 4 * i, tangent, sizeof tangent);
    }
    mesh->weld = (pelt_vertex_classes){0};
    test_ok(&test, pelt_model_weld(test.context, model));
    px_shading shading;
    float normals[9], tangents[9];
    double sums[9];
    test_ok(&test, px_shading_make(model->memory, mesh, &shading));
    px_shading_frame(&shading, mesh->positions, sums, normals, tangents);
    for (size_t e = 0; e < 9; e++)
        assert_true(isfinite(tangents[e]) && isfinite(normals[e]));
    pelt_model_destroy(model);
    test_end(&test);
}

static void rotate(const double q[9], const float *in, float *out) {
    for (int r = 0; r < 3; r++)
        out[r] = (float)(q[3 * r] * (double)in[0] + q[3 * r + 1] * (double)in[1] + q[3 * r + 2] * (double)in[2]);
}

static void make_rotation(double angle, double q[9]) {
    double c = cos(angle), s = sin(angle), o = 1 / sqrt(3.0), t = (1 - c) * o * o;
    const double m[9] = {t + c, t - s * o, t + s * o, t + s * o, t + c, t - s * o, t - s * o, t + s * o, t + c};
    memcpy(q, m, sizeof m);
}

/* A rotating surface carries its normals and tangents along, whatever their tilt; edges stay hard. */
static void carried_along(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    for (int n = 0; n < 2; n++) {
        pelt_model *model = make_box(&test, n ? 0.3f : 0);
        const pelt_mesh *mesh = &model->mesh;
        px_shading shading;
        test_ok(&test, px_shading_make(model->memory, mesh, &shading));
        assert_int_equal(shading.pieces.count, BOX_VERTICES);
        float positions[3 * BOX_VERTICES], normals[3 * BOX_VERTICES], tangents[3 * BOX_VERTICES], wanted[3];
        double q[9], sums[3 * BOX_VERTICES];
        make_rotation(1.1, q);
        for (size_t i = 0; i < BOX_VERTICES; i++) {
            rotate(q, mesh->positions + 3 * i, positions + 3 * i);
            positions[3 * i] += 5;
        }
        px_shading_frame(&shading, positions, sums, normals, tangents);
        for (size_t i = 0; i < BOX_VERTICES; i++) {
            rotate(q, mesh->normals + 3 * i, wanted);
            for (size_t c = 0; c < 3; c++)
                assert_float_equal(normals[3 * i + c], wanted[c], 1e-5);
            rotate(q, mesh->tangents + 4 * i, wanted);
            for (size_t c = 0; c < 3 && n == 0; c++) /* tilted normals are perpendicular to other tangents */
                assert_float_equal(tangents[3 * i + c], wanted[c], 1e-5);
        }
        pelt_model_destroy(model);
    }
    /* A mesh without normals is smooth; of given normals only the hard edges are used, not the directions. */
    pelt_model *model = make_box(&test, 0.3f);
    float normals[3 * BOX_VERTICES];
    test_ok(&test, pelt_mesh_edged_normals(context, &model->mesh, NULL, normals));
    for (uint32_t i = 0; i < BOX_VERTICES; i++)
        assert_float_equal(fabsf(normals[3 * i + i / 4 % 3]), 1, 1e-6);
    model->mesh.normals = NULL;
    test_ok(&test, pelt_mesh_edged_normals(context, &model->mesh, NULL, normals));
    for (uint32_t e = 0; e < 3 * BOX_VERTICES; e++)
        assert_true(fabsf(normals[e]) > 0.3f && fabsf(normals[e]) < 0.9f);
    model->mesh.weld = (pelt_vertex_classes){0};
    test_fails(&test, pelt_mesh_edged_normals(context, &model->mesh, NULL, normals), PELT_ERROR_USAGE, "welded");
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Decomposed --------------------------------------------------------------------------------------------- */

/* Frames as a clip in the model's memory. */
static float *add_clip(const test_context *test, pelt_model *model, uint32_t frame_count) {
    size_t floats = 3 * (size_t)model->mesh.points.count;
    float *frames = pelt_model_alloc(test->context, model, frame_count * floats, sizeof *frames);
    float *times = pelt_model_alloc(test->context, model, frame_count, sizeof *times);
    pelt_clip *clip = pelt_model_alloc(test->context, model, 1, sizeof *clip);
    assert_true(frames && times && clip);
    for (uint32_t k = 0; k < frame_count; k++)
        times[k] = (float)k / 30;
    *clip = (pelt_clip){.name = "clip", .frame_count = frame_count, .point_count = model->mesh.points.count};
    clip->times = times;
    clip->positions = frames;
    model->clips = clip;
    model->clip_count = 1;
    return frames;
}

static pelt_clip play(const test_context *test, pelt_model *model) {
    pelt_clip clip;
    const pelt_clip *source = &model->clips[0];
    test_ok(test, pelt_clip_from_motion_at(test->context, model, &model->motions[0], source->times, source->frame_count,
                                           PELT_SKINNING_LINEAR, &clip));
    test_ok(test, pelt_clip_skin_normals(test->context, model, &clip));
    return clip;
}

/* A rotating box is one rigid bone, whose normals are exact: hard, tilted, by both rules. */
static void turning_box_is_exact(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    pelt_model *model = make_box(&test, 0.3f);
    float *frames = add_clip(&test, model, 9);
    for (size_t k = 0; k < 9; k++) {
        double q[9];
        make_rotation(0.2 * (double)k, q);
        for (size_t i = 0; i < BOX_VERTICES; i++)
            rotate(q, model->mesh.positions + 3 * i, frames + 3 * (k * BOX_VERTICES + i));
    }
    pelt_mesh shape = model->mesh;
    pelt_decompose_desc desc = pelt_decompose_desc_default();
    desc.bones = 1;
    test_ok(&test, pelt_decompose(context, model, &desc, NULL));
    shape.weld = model->mesh.weld;
    pelt_clip played = play(&test, model);
    pelt_difference d;
    test_ok(&test, pelt_compare_clips(context, &model->clips[0], &played, &shape, &d, NULL));
    assert_true(d.skinned_normal_degrees < 0.05 && d.inverse_normal_degrees < 0.05);
    for (uint32_t i = 0; i < BOX_VERTICES; i++)
        assert_true(model->mesh.tangents[4 * i + 3] == -1);
    pelt_model_destroy(model);
    test_end(&test);
}

/* [vertex] Σ over frames of squared angles between shown and wanted directions; both [frame][vertex]… */
static void add_angles(const float *shown, const float *wanted, size_t stride, uint32_t count, double *sums) {
    for (size_t i = 0; i < count; i++) {
        double cosine = 0;
        for (size_t c = 0; c < 3; c++)
            cosine += (double)shown[stride * i + c] * (double)wanted[3 * i + c];
        double angle = acos(fmin(1, fmax(-1, cosine)));
        sums[i] += angle * angle;
    }
}

/* Decomposes a scene's motion; out [vertex]: squared angular error of skinned normals, summed over the frames. */
static void decompose_scene(const test_context *test, uint32_t transforms, bool turned, double **normals,
                            double **tangents, uint32_t *count) {
    pelt_context *context = test->context;
    pelt_model *model;
    test_ok(test, scene_find("cloth")->make(context, &(scene_desc){300, 24, 1}, &model));
    pelt_mesh *mesh = &model->mesh;
    *count = mesh->vertex_count;
    test_ok(test, pelt_model_weld(context, model));
    if (!mesh->normals)
        mesh->normals = pelt_model_alloc(context, model, (size_t)3 * *count, sizeof(float));
    mesh->tangents = pelt_model_alloc(context, model, (size_t)4 * *count, sizeof(float));
    assert_true(mesh->normals && mesh->tangents);
    test_ok(test, pelt_mesh_normals(context, mesh, NULL, mesh->normals));
    for (size_t i = 0; i < *count; i++) { /* any perpendicular to the normal */
        const float *n = mesh->normals + 3 * i;
        double t[3] = {1 - (double)n[0] * n[0], -(double)n[0] * n[1], -(double)n[0] * n[2]};
        double length = sqrt(t[0] * t[0] + t[1] * t[1] + t[2] * t[2]);
        for (size_t c = 0; c < 3; c++)
            mesh->tangents[4 * i + c] = (float)(t[c] / length);
        mesh->tangents[4 * i + 3] = 1;
    }
    px_shading shading;
    pelt_mesh shape = *mesh;
    test_ok(test, px_shading_make(model->memory, &shape, &shading));
    pelt_decompose_desc desc = pelt_decompose_desc_default();
    desc.bones = 12;
    desc.iterations = 8;
    desc.transforms = transforms;
    desc.turned_normals = turned;
    test_ok(test, pelt_decompose(context, model, &desc, NULL));
    pelt_clip played = play(test, model), along;
    float *held = mesh->normals; /* tangents are skinned like normals */
    mesh->normals = pelt_model_alloc(context, model, (size_t)3 * *count, sizeof(float));
    for (size_t i = 0; i < *count; i++)
        memcpy(mesh->normals + 3 * i, mesh->tangents + 4 * i, 3 * sizeof(float));
    along = play(test, model);
    mesh->normals = held;
    float *points = calloc(mesh->points.count, 3 * sizeof *points),
          *shown = calloc(*count, 3 * PELT_NORMAL_RULES * sizeof *shown);
    float *n = calloc(*count, 3 * sizeof *n), *t = calloc(*count, 3 * sizeof *t);
    double *sums = calloc(*count, 3 * sizeof *sums);
    *normals = calloc(*count, sizeof **normals), *tangents = calloc(*count, sizeof **tangents);
    assert_true(points && shown && n && t && sums && *normals && *tangents && shape.points.count == *count);
    for (uint32_t k = 0; k < played.frame_count; k++) {
        test_ok(test, pelt_clip_read(context, &model->clips[0], k, 0, *count, points));
        px_shading_frame(&shading, points, sums, n, t);
        test_ok(test, played.source.read_normals(context, played.source.user, k, false, 0, *count, shown));
        add_angles(shown, n, 3 * PELT_NORMAL_RULES, *count, *normals);
        test_ok(test, along.source.read_normals(context, along.source.user, k, false, 0, *count, shown));
        add_angles(shown, t, 3 * PELT_NORMAL_RULES, *count, *tangents);
    }
    free(points), free(shown), free(n), free(t), free(sums);
    pelt_model_destroy(model);
}

/* No vertex is worse than with its normal only rotated, and most are much better: of the squared angles, 0.75 remain on
 * this cloth with rigid bones, and 0.73 of its tangents'. With affine bones the gain depends on how far the solver lets
 * them from rotations; with 6 of them, 0.88 remain of the tangents'. */
static void no_vertex_is_worse(void **state) {
    (void)state;
    const uint32_t kinds[] = {PELT_TRANSFORMS_RIGID, PELT_TRANSFORMS_AFFINE};
    test_context test;
    test_begin(&test, 2);
    for (size_t kind = 0; kind < 2; kind++) {
        double *normals[2], *tangents[2], normal_sums[2] = {0}, tangent_sums[2] = {0};
        uint32_t count;
        for (int turned = 0; turned < 2; turned++)
            decompose_scene(&test, kinds[kind], turned, &normals[turned], &tangents[turned], &count);
        for (uint32_t i = 0; i < count; i++) {
            assert_true(normals[0][i] <= normals[1][i] * 1.0001 + 1e-6);
            assert_true(tangents[0][i] <= tangents[1][i] * 1.0001 + 1e-6);
            for (int turned = 0; turned < 2; turned++)
                normal_sums[turned] += normals[turned][i], tangent_sums[turned] += tangents[turned][i];
        }
        if (kinds[kind] == PELT_TRANSFORMS_RIGID) {
            assert_true(normal_sums[0] < 0.85 * normal_sums[1]);
            assert_true(tangent_sums[0] < 0.85 * tangent_sums[1]);
        }
        for (int turned = 0; turned < 2; turned++)
            free(normals[turned]), free(tangents[turned]);
    }
    test_end(&test);
}

/* Fitting again changes nothing; another mesh, or a model that was not decomposed, is rejected. */
static void fitted_anew(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    pelt_model *model;
    test_ok(&test, scene_find("cloth")->make(context, &(scene_desc){200, 8, 1}, &model));
    pelt_mesh shape = model->mesh;
    test_fails(&test, pelt_decompose_normals(context, model, &shape), PELT_ERROR_USAGE, "not what decomposing");
    pelt_decompose_desc desc = pelt_decompose_desc_default();
    desc.bones = 4;
    desc.iterations = 4;
    test_ok(&test, pelt_decompose(context, model, &desc, NULL));
    size_t floats = 3 * (size_t)model->mesh.vertex_count;
    float *once = model->mesh.normals;
    test_ok(&test, pelt_decompose_normals(context, model, &shape));
    assert_ptr_not_equal(once, model->mesh.normals);
    assert_memory_equal(once, model->mesh.normals, floats * sizeof *once);
    shape.vertex_count--;
    test_fails(&test, pelt_decompose_normals(context, model, &shape), PELT_ERROR_USAGE, "whose normals are wanted");
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Memory ------------------------------------------------------------------------------------------------- */

static pelt_result fit(pelt_context *context, void *user) {
    (void)user;
    pelt_model *model;
    PX_TRY(scene_find("cloth")->make(context, &(scene_desc){60, 4, 1}, &model));
    pelt_mesh shape = model->mesh;
    pelt_decompose_desc desc = pelt_decompose_desc_default();
    desc.bones = 2;
    desc.iterations = 1;
    desc.turned_normals = true;
    pelt_result result = pelt_decompose(context, model, &desc, NULL);
    if (result == PELT_OK)
        result = pelt_decompose_normals(context, model, &shape);
    if (result == PELT_OK)
        result = pelt_mesh_edged_normals(context, &model->mesh, NULL, model->mesh.normals);
    pelt_model_destroy(model);
    return result;
}

static void without_memory(void **state) {
    (void)state;
    test_fail_some_allocations(1, 120, fit, NULL);
    test_fail_some_allocations(2, 60, fit, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(carried_along),      cmocka_unit_test(sliver),      cmocka_unit_test(turning_box_is_exact),
        cmocka_unit_test(no_vertex_is_worse), cmocka_unit_test(fitted_anew), cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
