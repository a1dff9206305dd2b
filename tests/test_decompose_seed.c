/* Initial bones, the number of bones, and smooth weights. */
#include "support.h"

#include "decompose/coarse.h"
#include "decompose/divide.h"
#include "decompose/kinds.h"
#include "decompose/neighbours.h"
#include "scenes.h"

#include <math.h>

static pelt_model *make_scene(test_context *test, const char *name, uint32_t vertices, uint32_t frames) {
    pelt_model *model;
    test_ok(test, scene_find(name)->make(test->context, &(scene_desc){vertices, frames, 1}, &model));
    if (model->clip_count == 0) {
        model->clips = pelt_model_alloc(test->context, model, 1, sizeof *model->clips);
        assert_non_null(model->clips);
        test_ok(test, pelt_clip_from_motion(test->context, model, &model->motions[0], 15, PELT_SKINNING_LINEAR,
                                            &model->clips[0]));
        model->clip_count = 1;
    }
    return model;
}

/* E_rms of the model's motion against its clip. */
static double played_error(test_context *test, pelt_model *model) {
    pelt_clip played;
    pelt_difference difference;
    const pelt_clip *clip = &model->clips[0];
    test_ok(test, pelt_clip_from_motion_at(test->context, model, &model->motions[0], clip->times, clip->frame_count,
                                           PELT_SKINNING_LINEAR, &played));
    test_ok(test, pelt_compare_clips(test->context, clip, &played, NULL, &difference, NULL));
    return difference.error_rms;
}

static double decompose(test_context *test, const char *name, const pelt_decompose_desc *desc,
                        pelt_decompose_report *report) {
    pelt_model *model = make_scene(test, name, 400, 12);
    test_ok(test, pelt_decompose(test->context, model, desc, report));
    report->iteration_errors = NULL; /* owned by the model */
    double error = played_error(test, model);
    pelt_model_destroy(model);
    return error;
}

static void regions(void **state) {
    (void)state;
    static const char *const scenes[] = {"cloth", "softbody",
                                         "production"}; /* the last one has 35 shells for 8 seeds */
    for (size_t s = 0; s < sizeof scenes / sizeof scenes[0]; s++) {
        test_context test;
        test_begin(&test, 2);
        pelt_decompose_desc desc = pelt_decompose_desc_default();
        pelt_decompose_report report;
        desc.bones = 8;
        desc.iterations = 12;
        double split = decompose(&test, scenes[s], &desc, &report);
        desc.seed_method = PELT_SEED_REGIONS;
        double grown = decompose(&test, scenes[s], &desc, &report);
        assert_int_equal(report.bone_count, 8);
        assert_true(grown < 2 * split + 0.1); /* another initialisation, a similar result */
        test_end(&test);
    }
}

/* A large mesh is solved on a sample first, and a smaller one with affine bones on half of its vertices: all vertices start near the
 * end and need a sixth of the iterations. The error is that of a mesh of the same shape with other samples, or with none. */
static void meshes_are_sampled(void **state) {
    (void)state;
    static const uint32_t counts[] = {8000, 50000};
    static const struct {
        pelt_transforms kind;
        bool sampled[2];
    } cases[] = {{PELT_TRANSFORMS_AFFINE, {true, true}}, {PELT_TRANSFORMS_RIGID, {false, true}}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        double ends[2];
        for (size_t n = 0; n < 2; n++) {
            test_context test;
            test_begin(&test, 2);
            pelt_model *model = make_scene(&test, "cloth", counts[n], 5);
            pelt_decompose_desc desc = pelt_decompose_desc_default();
            pelt_decompose_report report;
            desc.bones = 4;
            desc.transforms = cases[c].kind;
            desc.iterations = 24;
            test_ok(&test, pelt_decompose(test.context, model, &desc, &report));
            double start = (double)report.iteration_errors[0];
            ends[n] = (double)report.iteration_errors[report.iteration_count - 1];
            assert_true((report.iteration_count == 4) == cases[c].sampled[n]);
            assert_true((start < 1.2 * ends[n]) == cases[c].sampled[n]);
            pelt_model_destroy(model);
            test_end(&test);
        }
        assert_true(ends[1] < 1.05 * ends[0]);
    }
}

static size_t stride(const px_bone_kind *kind, uint32_t bones, uint32_t vertices) {
    return px_coarse_stride(&(px_fit){.kind = kind, .bone_target = bones, .total_count = vertices});
}

static void samples_need_enough_vertices(void **state) {
    (void)state;
    assert_int_equal(stride(&px_bone_affine, 30, 4799), 1);
    assert_int_equal(stride(&px_bone_affine, 30, 4800), 2);
    assert_int_equal(stride(&px_bone_affine, 30, 3 * 16384 - 1), 2);
    assert_int_equal(stride(&px_bone_rigid, 30, 3 * 16384 - 1), 1);
    assert_int_equal(stride(&px_bone_rigid, 30, 200000), 12);
    assert_int_equal(stride(&px_bone_affine, 100, 200000), 3);
}

#define COLUMNS 40u

/* A strip of two rows whose right half moves up in the second frame, and a triangle above its left half, not connected
 * to it, that moves with the right half. The basis is the frames themselves. */
static void make_strip(test_context *test, px_fit *fit) {
    *fit = (px_fit){.context = test->context, .kind = &px_bone_affine, .arena = px_arena_create(test->context)};
    px_fit_divide(fit, 2 * COLUMNS + 3, false);
    fit->row_count = fit->dimension = 6;
    fit->bone_capacity = 2;
    fit->influence_count = 4;
    fit->basis = PX_NEW(fit->arena, double, 36);
    fit->coords = PX_NEW(fit->arena, float, 6 * (size_t)fit->vertex_count);
    fit->norms = PX_NEW(fit->arena, double, fit->vertex_count);
    test_ok(test, px_fit_state_make(fit, &fit->now));
    test_ok(test, px_fit_make_moments(fit));
    for (size_t r = 0; r < 6; r++)
        fit->basis[7 * r] = 1;
    for (uint32_t i = 0; i < fit->vertex_count; i++) {
        bool lone = i >= 2 * COLUMNS;
        uint32_t column = lone ? 3 + i % 2 : i / 2;
        double p[3] = {0.05 * column, lone ? 0.2 + 0.05 * (i % 3) : 0.05 * (i % 2), 0};
        double up = lone || column >= COLUMNS / 2 ? 0.7 : 0;
        for (size_t e = 0; e < 6; e++) {
            double value = p[e % 3] + (e == 4 ? up : 0);
            fit->coords[6 * i + e] = (float)value;
            fit->norms[i] += value * value;
            fit->now.rest[3 * i + e % 3] = p[e % 3];
        }
    }
}

/* Regions end where the motion changes; disconnected components join the region of the same motion, not the nearest. */
static void regions_follow_motion(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    px_fit fit;
    make_strip(&test, &fit);
    enum { quads = 2 * (COLUMNS - 1) };
    uint32_t triangles[3 * (quads + 1)];
    for (uint32_t t = 0; t < quads; t++)
        for (uint32_t c = 0; c < 3; c++)
            triangles[3 * t + c] = t + c;
    for (uint32_t c = 0; c < 3; c++)
        triangles[3 * quads + c] = 2 * COLUMNS + c;
    pelt_mesh mesh = {.triangle_count = quads + 1, .triangles = triangles};
    px_neighbours neighbours;
    test_ok(&test,
            px_neighbours_make(fit.arena, &mesh, &(pelt_vertex_classes){.count = fit.vertex_count}, &neighbours));
    assert_int_equal(neighbours.offsets[1] - neighbours.offsets[0], 2); /* a corner of the strip, each neighbour once */
    assert_int_equal(neighbours.offsets[11] - neighbours.offsets[10], 4);
    test_ok(&test, px_fit_seed_regions(&fit, &(px_seed_surface){.neighbours = &neighbours}, 2));
    assert_int_equal(fit.bone_count, 2);
    uint16_t left = fit.now.bones[0], right = fit.now.bones[4 * (2 * COLUMNS - 1)];
    assert_int_not_equal(left, right);
    for (uint32_t i = 0; i < fit.vertex_count; i++) {
        assert_int_equal(fit.now.counts[i], 1);
        assert_int_equal(fit.now.bones[4 * i], i < COLUMNS ? left : right);
    }
    px_arena_destroy(fit.arena);
    test_end(&test);
}

/* More seeds than distinct vertices. */
static void regions_of_little(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_scene(&test, "tube", 56, 8);
    pelt_decompose_desc desc = pelt_decompose_desc_default();
    desc.bones = 500;
    desc.iterations = 3;
    desc.seed_method = PELT_SEED_REGIONS;
    pelt_decompose_report report;
    test_ok(&test, pelt_decompose(test.context, model, &desc, &report));
    assert_true(report.bone_count <= report.vertex_count);
    pelt_model_destroy(model);
    test_end(&test);
}

/* The requested error is reached, a smaller one takes more bones, and one bone fewer misses it. */
static void by_error(void **state) {
    (void)state;
    static const double asked[] = {12, 4, 2};
    test_context test;
    test_begin(&test, 2);
    uint32_t last = 0;
    for (size_t e = 0; e < sizeof asked / sizeof asked[0]; e++) {
        pelt_decompose_desc desc = pelt_decompose_desc_default();
        pelt_decompose_report report, less;
        desc.key_tolerance = 0;
        desc.error = asked[e];
        assert_true(decompose(&test, "cloth", &desc, &report) <= asked[e] * 1.001);
        assert_true(report.error_fit <= asked[e] && report.bone_count > last);
        last = report.bone_count;
        desc.error = 0;
        desc.bones = last - 1;
        assert_true(desc.bones == 0 || decompose(&test, "cloth", &desc, &less) > asked[e]);
    }
    test_end(&test);
}

/* A memory bound, under which only one fit is held at a time, gives the same result. */
static void by_error_in_memory(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    pelt_decompose_desc desc = pelt_decompose_desc_default();
    pelt_decompose_report free, bounded;
    desc.error = 4;
    double error = decompose(&test, "cloth", &desc, &free);
    desc.memory = (size_t)64 << 20;
    assert_true(decompose(&test, "cloth", &desc, &bounded) == error);
    assert_int_equal(bounded.bone_count, free.bone_count);
    test_end(&test);
}

/* Requesting the number of bones that was found gives the same result. */
static void by_itself(void **state) {
    (void)state;
    static const char *const scenes[] = {"tube", "cloth", "softbody"};
    for (size_t s = 0; s < sizeof scenes / sizeof scenes[0]; s++) {
        test_context test;
        test_begin(&test, 2);
        pelt_decompose_report report, asked;
        double error = decompose(&test, scenes[s], NULL, &report);
        assert_true(report.bone_count >= 2 && report.bone_count <= 64);
        assert_true(error < 2);
        pelt_decompose_desc desc = pelt_decompose_desc_default();
        desc.bones = report.bone_count;
        assert_true(decompose(&test, scenes[s], &desc, &asked) == error);
        test_end(&test);
    }
}

/* A mesh that is static or moves rigidly gets one bone, however many are requested. */
static void still(void **state) {
    (void)state;
    for (int moving = 0; moving < 2; moving++) {
        test_context test;
        test_begin(&test, 2);
        pelt_model *model = make_scene(&test, "softbody", 300, 6);
        pelt_clip *clip = &model->clips[0];
        size_t floats = 3 * (size_t)clip->point_count;
        float *positions = pelt_model_alloc(test.context, model, floats * clip->frame_count, sizeof *positions);
        for (uint32_t k = 0; k < clip->frame_count; k++) {
            float *frame = positions + k * floats, c = cosf((float)(moving * k)), sn = sinf((float)(moving * k));
            test_ok(&test, pelt_clip_read(test.context, clip, 0, 0, clip->point_count, frame));
            for (size_t e = 0; e < floats; e += 3) {
                float x = frame[e], y = frame[e + 1];
                frame[e] = c * x - sn * y;
                frame[e + 1] = sn * x + c * y;
            }
        }
        clip->positions = positions;
        model->mesh.weld = (pelt_vertex_classes){0};
        for (uint32_t bones = 0; bones < 20; bones += 10) {
            pelt_decompose_desc desc = pelt_decompose_desc_default();
            pelt_decompose_report report;
            desc.bones = bones;
            test_ok(&test, pelt_decompose(test.context, model, &desc, &report));
            assert_int_equal(report.bone_count, 1);
            assert_true(report.error_fit < 1e-3);
        }
        pelt_model_destroy(model);
        test_end(&test);
    }
}

/* The softbody's clip in an array that may be changed: [frame][point][3]. */
static float *own_positions(test_context *test, pelt_model *model) {
    pelt_clip *clip = &model->clips[0];
    size_t floats = 3 * (size_t)clip->point_count;
    float *positions = pelt_model_alloc(test->context, model, floats * clip->frame_count, sizeof *positions);
    assert_non_null(positions);
    for (uint32_t k = 0; k < clip->frame_count; k++)
        test_ok(test, pelt_clip_read(test->context, clip, k, 0, clip->point_count, positions + k * floats));
    clip->positions = positions;
    model->mesh.weld = (pelt_vertex_classes){0};
    return positions;
}

/* A mesh that grows from a point is measured in its typical size, which the rest pose has too. */
static void growing(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    pelt_model *model = make_scene(&test, "softbody", 300, 20);
    const pelt_clip *clip = &model->clips[0];
    size_t floats = 3 * (size_t)clip->point_count;
    float *positions = own_positions(&test, model);
    for (size_t e = 0; e < floats * 20; e++)
        positions[e] *= fminf((float)(e / floats) / 8, 1);
    pelt_ball usual, rest;
    test_ok(&test, pelt_enclosing_ball(test.context, positions + 15 * floats, clip->point_count, &usual));
    pelt_decompose_report report;
    test_ok(&test, pelt_decompose(test.context, model, NULL, &report));
    test_ok(&test, pelt_enclosing_ball(test.context, model->mesh.positions, model->mesh.vertex_count, &rest));
    assert_true(rest.radius > 0.5 * usual.radius && report.bone_count <= 30);
    double error = played_error(&test, model);
    assert_true(isfinite(error) && error < 3);
    pelt_model_destroy(model);
    test_end(&test);
}

/* A surface that crumples is shaded correctly in the frames before, although most frames are crumpled. */
static void crumpling(void **state) {
    (void)state;
    enum { smooth = 8, frames = 24 };
    test_context test;
    test_begin(&test, 2);
    pelt_model *model = make_scene(&test, "softbody", 400, frames);
    pelt_clip *clip = &model->clips[0];
    size_t floats = 3 * (size_t)clip->point_count;
    float *positions = own_positions(&test, model);
    pelt_ball ball;
    test_ok(&test, pelt_enclosing_ball(test.context, positions, clip->point_count, &ball));
    test_random random = {1};
    for (size_t e = smooth * floats; e < frames * floats; e++)
        positions[e] += (float)test_random_real(&random, -0.25 * ball.radius, 0.25 * ball.radius);
    pelt_mesh shape = model->mesh;
    pelt_decompose_desc desc = pelt_decompose_desc_default();
    desc.bones = 6;
    test_ok(&test, pelt_decompose(test.context, model, &desc, NULL));
    shape.weld = model->mesh.weld;
    pelt_clip wanted = *clip, played;
    wanted.frame_count = smooth;
    test_ok(&test, pelt_clip_from_motion_at(test.context, model, &model->motions[0], clip->times, smooth,
                                            PELT_SKINNING_LINEAR, &played));
    test_ok(&test, pelt_clip_skin_normals(test.context, model, &played));
    pelt_difference d;
    test_ok(&test, pelt_compare_clips(test.context, &wanted, &played, &shape, &d, NULL));
    assert_true(d.skinned_normal_degrees < 8);
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Rigid shells ------------------------------------------------------------------------------------------ */

enum { CUBES = 30, CUBE_FRAMES = 12 };

static const uint32_t cube_faces[12][3] = {{0, 2, 1}, {1, 2, 3}, {4, 5, 6}, {5, 7, 6}, {0, 1, 4}, {1, 5, 4},
                                           {2, 6, 3}, {3, 6, 7}, {0, 4, 2}, {2, 4, 6}, {1, 3, 5}, {3, 7, 5}};

/* Cubes that spin and fly apart, in pairs of equal motion; with `sheet`, a bending sheet of fewer vertices below
 * them. */
static pelt_model *make_cubes(test_context *test, bool sheet) {
    pelt_model *model;
    test_ok(test, pelt_model_create(test->context, &model));
    uint32_t points = CUBES * 8 + (sheet ? 12 * 12 : 0), triangles = CUBES * 12 + (sheet ? 11 * 11 * 2 : 0);
    float *positions = pelt_model_alloc(test->context, model, 3 * (size_t)points * CUBE_FRAMES, sizeof *positions);
    float *rest = pelt_model_alloc(test->context, model, 3 * (size_t)points, sizeof *rest);
    float *times = pelt_model_alloc(test->context, model, CUBE_FRAMES, sizeof *times);
    uint32_t *corners = pelt_model_alloc(test->context, model, 3 * (size_t)triangles, sizeof *corners);
    model->clips = pelt_model_alloc(test->context, model, 1, sizeof *model->clips);
    assert_true(positions && rest && times && corners && model->clips);
    for (int k = 0; k < CUBE_FRAMES; k++) {
        float *p = positions + 3 * (size_t)points * (size_t)k;
        times[k] = (float)k / 30;
        for (int i = 0; i < CUBES * 8; i++, p += 3) {
            int cube = i / 8, kind = cube / 2; /* two adjacent cubes move alike */
            float angle = 0.1f * (float)(k * (kind + 3)), x = (i & 1 ? 0.3f : -0.3f) + (cube % 2 ? 1.0f : 0.0f),
                  y = i & 2 ? 0.3f : -0.3f, z = i & 4 ? 0.3f : -0.3f;
            p[0] = cosf(angle) * x - sinf(angle) * y + 3 * (float)(kind % 4) + 0.02f * (float)(k * (kind % 5 - 2));
            p[1] = sinf(angle) * x + cosf(angle) * y + 3 * (float)(kind / 4);
            p[2] = z + 0.05f * (float)(k * (kind % 3));
        }
        for (int i = 0; sheet && i < 12 * 12; i++, p += 3) {
            float x = (float)(i % 12), angle = 0.02f * (float)k * x;
            p[0] = x * cosf(angle), p[1] = (float)(i / 12), p[2] = -2 - x * sinf(angle);
        }
    }
    uint32_t *out = corners;
    for (uint32_t c = 0; c < CUBES; c++)
        for (int e = 0; e < 36; e++)
            *out++ = 8 * c + cube_faces[e / 3][e % 3];
    for (uint32_t q = 0; sheet && q < 11 * 11; q++) {
        uint32_t a = CUBES * 8 + q / 11 * 12 + q % 11, quad[6] = {a, a + 1, a + 12, a + 1, a + 13, a + 12};
        memcpy(out, quad, sizeof quad);
        out += 6;
    }
    memcpy(rest, positions, 3 * (size_t)points * sizeof *rest);
    model->mesh.vertex_count = model->mesh.points.count = points;
    model->mesh.positions = rest;
    model->mesh.triangle_count = triangles;
    model->mesh.triangles = corners;
    model->clips[0] = (pelt_clip){
        .name = "cubes", .frame_count = CUBE_FRAMES, .point_count = points, .times = times, .positions = positions};
    model->clip_count = 1;
    return model;
}

/* Vertices of cubes with one bone of weight 1, the same for both cubes of a kind. */
static uint32_t rigid_cubes(const pelt_model *model) {
    uint32_t K = model->skin.influence_count, count = 0;
    for (uint32_t i = 0; i < CUBES * 8; i++)
        count += model->skin.weights[i * K] > 0.9999f && model->skin.bones[i * K] == model->skin.bones[i / 16 * 16 * K];
    return count;
}

/* Rigid shells have one bone per motion: with an automatic, an exact and a larger number of bones. */
static void rigid_shells(void **state) {
    (void)state;
    static const uint32_t bones[] = {0, CUBES / 2, CUBES};
    for (size_t n = 0; n < 3; n++)
        for (uint32_t kind = PELT_TRANSFORMS_AFFINE; kind <= PELT_TRANSFORMS_SIMILARITY; kind++) {
            test_context test;
            test_begin(&test, 2);
            pelt_model *model = make_cubes(&test, false);
            pelt_decompose_desc desc = pelt_decompose_desc_default();
            pelt_decompose_report report;
            desc.bones = bones[n];
            desc.transforms = kind;
            test_ok(&test, pelt_decompose(test.context, model, &desc, &report));
            assert_int_equal(report.bone_count, CUBES / 2);
            assert_int_equal(rigid_cubes(model), CUBES * 8);
            assert_true(played_error(&test, model) < 0.01);
            pelt_model_destroy(model);
            test_end(&test);
        }
}

/* Next to a bending sheet they keep their bones, and the sheet gets others. With too few bones, all share them. */
static void rigid_shells_and_others(void **state) {
    (void)state;
    for (uint32_t bones = 0; bones <= CUBES; bones += CUBES / 6) {
        test_context test;
        test_begin(&test, 2);
        pelt_model *model = make_cubes(&test, true);
        pelt_decompose_desc desc = pelt_decompose_desc_default();
        pelt_decompose_report report;
        desc.bones = bones;
        test_ok(&test, pelt_decompose(test.context, model, &desc, &report));
        bool enough = bones == 0 || bones > CUBES / 2;
        assert_true(report.bone_count == bones || (bones == 0 && report.bone_count > CUBES / 2));
        assert_true((rigid_cubes(model) == CUBES * 8) == enough);
        assert_true(!enough || played_error(&test, model) < 2);
        pelt_model_destroy(model);
        test_end(&test);
    }
}

/* The search is reported: increasing numbers of bones, and the error of each. */
static void searched(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    pelt_model *model = make_scene(&test, "cloth", 200, 10);
    pelt_decompose_desc desc = pelt_decompose_desc_default();
    desc.iterations = 3;
    desc.error = 1;
    pelt_decompose_report report;
    test_ok(&test, pelt_decompose(test.context, model, &desc, &report));
    assert_true(report.search_count > 2);
    assert_int_equal(report.search_bones[0], 1);
    uint32_t found = 0;
    for (uint32_t n = 0; n < report.search_count; n++) {
        assert_true(n == 0 || report.search_bones[n] > report.search_bones[n - 1]);
        if (report.search_bones[n] == report.bone_count)
            found = n;
    }
    assert_true(found > 0 && report.search_errors[found] <= 1 && report.search_errors[found - 1] > 1);
    assert_int_equal(report.search_bones[found - 1], report.bone_count - 1);
    desc.bones = 5;
    test_ok(&test, pelt_decompose(test.context, model, &desc, &report));
    assert_int_equal(report.search_count, 0);
    pelt_model_destroy(model);
    test_end(&test);
}

/* A sheet that is flat at rest does not determine the direction across it: bones rotate it along, so that they are
 * neither singular nor mirrored. Two halves fold by more than half a turn. */
static void flat_sheet(void **state) {
    (void)state;
    enum { side = 12, frames = 9 };
    test_context test;
    test_begin(&test, 1);
    float positions[frames][side * side][3];
    for (int k = 0; k < frames; k++)
        for (int i = 0; i < side * side; i++) {
            float x = (float)(i % side) - 5.5f, y = (float)(i / side), angle = 0.25f * (float)k * (x < 0 ? -1 : 1);
            positions[k][i][0] = x * cosf(angle), positions[k][i][1] = y, positions[k][i][2] = x * sinf(angle);
        }
    float times[frames], mesh_positions[side * side][3];
    memcpy(mesh_positions, positions[0], sizeof mesh_positions);
    for (int k = 0; k < frames; k++)
        times[k] = (float)k;
    pelt_model *model;
    test_ok(&test, pelt_model_create(test.context, &model));
    model->mesh.vertex_count = model->mesh.points.count = side * side;
    model->mesh.positions = mesh_positions[0];
    pelt_clip clip = {.name = "fold", .frame_count = frames, .point_count = side * side, .times = times};
    clip.positions = positions[0][0];
    model->clips = &clip;
    model->clip_count = 1;
    pelt_decompose_desc desc = pelt_decompose_desc_default();
    desc.bones = 2;
    desc.fixed_rest = true;
    desc.key_tolerance = 0;
    pelt_decompose_report report;
    test_ok(&test, pelt_decompose(test.context, model, &desc, &report));
    assert_true(report.bone_count == 2 && report.error_fit < 1e-3);
    pelt_transform locals[8];
    pelt_affine globals[8], palette[2];
    assert_true(model->skeleton.joint_count <= 8);
    for (int k = 0; k < frames; k++) {
        pelt_motion_sample(model, &model->motions[0], times[k], locals, NULL);
        pelt_skeleton_globals(&model->skeleton, locals, globals);
        pelt_skin_palette(&model->skin, globals, palette);
        for (int j = 0; j < 2; j++) {
            const float *m = palette[j].m;
            float det = m[0] * (m[5] * m[10] - m[6] * m[9]) - m[1] * (m[4] * m[10] - m[6] * m[8]) +
                        m[2] * (m[4] * m[9] - m[5] * m[8]);
            assert_true(det > 0.6f && det < 1.4f);
        }
    }
    pelt_model_destroy(model);
    test_end(&test);
}

/* Σ over edges of the squared difference of all weights. */
static double roughness(const pelt_model *model) {
    double sum = 0;
    uint32_t K = model->skin.influence_count;
    float difference[64];
    for (size_t e = 0; e < 3 * (size_t)model->mesh.triangle_count; e++) {
        uint32_t ends[2] = {model->mesh.triangles[e], model->mesh.triangles[e % 3 == 2 ? e - 2 : e + 1]};
        memset(difference, 0, sizeof difference);
        for (int side = 0; side < 2; side++)
            for (uint32_t a = 0; a < K; a++)
                difference[model->skin.bones[ends[side] * K + a]] +=
                    (side ? -1.0f : 1.0f) * model->skin.weights[ends[side] * K + a];
        for (uint32_t j = 0; j < model->skin.bone_count; j++)
            sum += (double)difference[j] * (double)difference[j];
    }
    return sum;
}

static void smooth_weights(void **state) {
    (void)state;
    static const double amounts[] = {0, 0.2, 2};
    double rough[3];
    for (size_t s = 0; s < 3; s++) {
        test_context test;
        test_begin(&test, 2);
        pelt_model *model = make_scene(&test, "softbody", 400, 12);
        pelt_decompose_desc desc = pelt_decompose_desc_default();
        desc.bones = 10;
        desc.iterations = 10;
        desc.smooth = amounts[s];
        pelt_decompose_report report;
        test_ok(&test, pelt_decompose(test.context, model, &desc, &report));
        test_ok(&test, pelt_model_validate(test.context, model));
        rough[s] = roughness(model);
        /* The error estimate is that of the smoothed weights. */
        assert_true(fabs(played_error(&test, model) - report.error_fit) < 0.05 * report.error_fit);
        pelt_model_destroy(model);
        test_end(&test);
    }
    assert_true(rough[1] < 0.9 * rough[0]);
    assert_true(rough[2] < 0.9 * rough[1]);
}

/* Stepping with pelt_decomposer gives the same result as pelt_decompose, and the error never rises. */
static void stepping(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    pelt_decompose_desc desc = pelt_decompose_desc_default();
    desc.bones = 6;
    desc.iterations = 20;
    pelt_model *at_once = make_scene(&test, "softbody", 300, 10), *stepped = make_scene(&test, "softbody", 300, 10);
    pelt_decompose_report report;
    test_ok(&test, pelt_decompose(test.context, at_once, &desc, NULL));
    pelt_decomposer *decomposer;
    test_ok(&test, pelt_decomposer_create(test.context, stepped, &desc, &decomposer));
    double last = pelt_decomposer_error(decomposer);
    for (bool done = false; !done;) {
        test_ok(&test, pelt_decomposer_step(decomposer, &done));
        assert_true(pelt_decomposer_error(decomposer) <= last);
        last = pelt_decomposer_error(decomposer);
    }
    assert_int_equal(stepped->motion_count, 0); /* the model is unchanged until pelt_decomposer_finish */
    test_ok(&test, pelt_decomposer_finish(decomposer, &report));
    pelt_decomposer_destroy(decomposer);
    assert_memory_equal(at_once->mesh.positions, stepped->mesh.positions, 12 * (size_t)stepped->mesh.vertex_count);
    assert_memory_equal(at_once->skin.weights, stepped->skin.weights,
                        4 * (size_t)stepped->skin.influence_count * stepped->mesh.vertex_count);
    pelt_model_destroy(stepped);
    pelt_model_destroy(at_once);
    test_end(&test);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regions),
        test_long(meshes_are_sampled),
        cmocka_unit_test(samples_need_enough_vertices),
        cmocka_unit_test(regions_of_little),
        cmocka_unit_test(regions_follow_motion),
        test_long(by_error),
        cmocka_unit_test(by_error_in_memory),
        test_long(by_itself),
        cmocka_unit_test(still),
        cmocka_unit_test(flat_sheet),
        cmocka_unit_test(searched),
        cmocka_unit_test(smooth_weights),
        cmocka_unit_test(stepping),
        cmocka_unit_test(rigid_shells),
        cmocka_unit_test(rigid_shells_and_others),
        cmocka_unit_test(growing),
        cmocka_unit_test(crumpling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
