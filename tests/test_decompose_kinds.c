/* Properties of every kind of bone: the error never rises, weights are convex and sparse, results do not depend on the
 * coordinate system or the threads, true skins are recovered, failures leave the model unchanged. On small generated
 * scenes. */
#include "scenes.h"
#include "support.h"

#include <math.h>

/* From the most degrees of freedom to the fewest. */
static const struct {
    pelt_transforms kind;
    const char *name;
} kinds[] = {{PELT_TRANSFORMS_AFFINE, "affine"},
             {PELT_TRANSFORMS_TRS, "trs"},
             {PELT_TRANSFORMS_SIMILARITY, "similarity"},
             {PELT_TRANSFORMS_RIGID, "rigid"}};
#define KIND_COUNT (sizeof kinds / sizeof kinds[0])

/* ---- Models that have nothing but a clip ------------------------------------------------------------------ */

/* The scene's motion, or its own clip, as positions in memory. */
static pelt_result bake(pelt_context *context, pelt_model *model) {
    pelt_clip source = {0};
    pelt_result result = PELT_OK;
    if (model->clip_count)
        source = model->clips[0];
    else
        result = pelt_clip_from_motion(context, model, model->motions, 30, PELT_SKINNING_LINEAR, &source);
    size_t size = 3 * (size_t)source.point_count;
    float *positions = result ? NULL : pelt_model_alloc(context, model, size * source.frame_count, sizeof *positions);
    pelt_clip *clip = pelt_model_alloc(context, model, 1, sizeof *clip);
    if (!positions || !clip)
        return result ? result : PELT_ERROR_MEMORY;
    for (uint32_t k = 0; k < source.frame_count && result == PELT_OK; k++)
        result = pelt_clip_read(context, &source, k, 0, source.point_count, positions + k * size);
    *clip = source;
    clip->positions = positions;
    model->clips = clip;
    model->clip_count = 1;
    model->mesh.weld = (pelt_vertex_classes){0};
    return result;
}

static pelt_result make_baked(pelt_context *context, const char *name, uint32_t vertices, uint32_t frames,
                              pelt_model **model) {
    scene_desc desc = {.vertex_count = vertices, .frame_count = frames, .seed = 3};
    pelt_result result = scene_find(name)->make(context, &desc, model);
    if (result == PELT_OK && (result = bake(context, *model)) != PELT_OK) {
        pelt_model_destroy(*model);
        *model = NULL;
    }
    return result;
}

static pelt_decompose_desc settings(pelt_transforms kind, uint32_t bones, uint32_t iterations) {
    pelt_decompose_desc desc = pelt_decompose_desc_default();
    desc.transforms = kind;
    desc.bones = bones;
    desc.iterations = iterations;
    return desc;
}

/* E_rms of the model's motion, every welded vertex counted once as in the fit. */
static double played_error(const test_context *test, pelt_model *model) {
    const pelt_clip *wanted = &model->clips[0];
    size_t N = model->mesh.vertex_count, points = wanted->point_count;
    float *posed = malloc(3 * N * sizeof *posed);
    pelt_ball ball;
    double sum = 0;
    test_ok(test, pelt_enclosing_ball(test->context, wanted->positions, (uint32_t)points, &ball));
    for (uint32_t k = 0; k < wanted->frame_count; k++) {
        test_ok(test, pelt_model_pose(test->context, model, model->motions, wanted->times[k], PELT_SKINNING_LINEAR,
                                      posed, NULL));
        for (uint32_t c = 0; c < model->mesh.weld.count; c++) {
            size_t i = model->mesh.weld.first[c];
            const float *p = wanted->positions + 3 * (k * points + pelt_vertex_class(&model->mesh.points, i));
            for (size_t axis = 0; axis < 3; axis++) {
                double off = (double)posed[3 * i + axis] - (double)p[axis];
                sum += off * off;
            }
        }
    }
    free(posed);
    double scale = ball.radius > 0 ? ball.radius : 1;
    return 1000 / scale * sqrt(sum / (3.0 * model->mesh.weld.count * wanted->frame_count));
}

static void check_weights(const pelt_model *model, uint32_t influences) {
    const pelt_skin *skin = &model->skin;
    assert_true(skin->influence_count <= influences);
    for (size_t i = 0; i < model->mesh.vertex_count; i++) {
        double sum = 0;
        for (size_t a = 0; a < skin->influence_count; a++) {
            float w = skin->weights[i * skin->influence_count + a];
            assert_true(w >= 0 && (a == 0 || w <= skin->weights[i * skin->influence_count + a - 1]));
            assert_true(skin->bones[i * skin->influence_count + a] < skin->bone_count);
            sum += (double)w;
        }
        assert_true(fabs(sum - 1) < 1e-6);
    }
}

/* ---- The error -------------------------------------------------------------------------------------------- */

static void error_never_rises(void **state) {
    (void)state;
    static const char *const names[] = {"tube", "creature", "cloth", "softbody"};
    static const uint32_t bones[] = {1, 10};
    test_context test;
    test_begin(&test, 2);
    for (size_t s = 0; s < 4; s++)
        for (size_t t = 0; t < KIND_COUNT; t++)
            for (size_t p = 0; p < 2; p++) {
                pelt_model *model;
                pelt_decompose_report report;
                test_ok(&test, make_baked(test.context, names[s], 300, 12, &model));
                /* 30 iterations include relocation and the first exchange of bones, effort best exchanges after 60 of 88 */
                bool best = p == 1 && s < 2;
                pelt_decompose_desc desc = settings(kinds[t].kind, bones[p], best ? 11 : 30);
                desc.effort = best ? PELT_EFFORT_BEST : PELT_EFFORT_DEFAULT;
                desc.tolerance = 0;
                test_ok(&test, pelt_decompose(test.context, model, &desc, &report));
                assert_true(report.iteration_count >= 1 && report.bone_count <= bones[p]);
                for (uint32_t n = 1; n < report.iteration_count; n++)
                    if (!(report.iteration_errors[n] <= report.iteration_errors[n - 1]))
                        fail_msg("%s, %s, %u bones: iteration %u", names[s], kinds[t].name, bones[p], n);
                test_ok(&test, pelt_model_validate(test.context, model));
                check_weights(model, desc.influences);
                double played = played_error(&test, model);
                if (fabs(played - report.error_fit) > 0.02 * report.error_fit + 0.02)
                    fail_msg("%s, %s, %u bones: the fit has %g, the model plays %g", names[s], kinds[t].name, bones[p],
                             report.error_fit, played);
                pelt_model_destroy(model);
            }
    test_end(&test);
}

/* More degrees of freedom fit better. */
static void kinds_are_ordered(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    double errors[KIND_COUNT];
    for (size_t t = 0; t < KIND_COUNT; t++) {
        pelt_model *model;
        pelt_decompose_report report;
        test_ok(&test, make_baked(test.context, "softbody", 400, 15, &model));
        pelt_decompose_desc desc = settings(kinds[t].kind, 6, 40);
        test_ok(&test, pelt_decompose(test.context, model, &desc, &report));
        errors[t] = report.error_fit;
        pelt_model_destroy(model);
    }
    for (size_t t = 1; t < KIND_COUNT; t++)
        assert_true(errors[t - 1] < errors[t]);
    test_end(&test);
}

/* Every kind recovers a skin of rigid bones. The bounds are the remaining error of the alternation: less than 0.00025
 * of the size. */
static void true_skins(void **state) {
    (void)state;
    static const struct {
        const char *name;
        uint32_t vertices, frames, bones;
        double error;
    } rows[] = {{"tube", 150, 20, 2, 0.2}, {"creature", 400, 20, 0, 0.5}};
    test_context test;
    test_begin(&test, 2);
    for (size_t r = 0; r < 2; r++)
        for (size_t t = 0; t < KIND_COUNT; t++) {
            pelt_model *model;
            pelt_decompose_report report;
            test_ok(&test, make_baked(test.context, rows[r].name, rows[r].vertices, rows[r].frames, &model));
            pelt_decompose_desc desc =
                settings(kinds[t].kind, rows[r].bones ? rows[r].bones : model->skin.bone_count, 100);
            desc.tolerance = 0.001;
            test_ok(&test, pelt_decompose(test.context, model, &desc, &report));
            double played = played_error(&test, model);
            if (!(played < rows[r].error))
                fail_msg("%s, %s: %g", rows[r].name, kinds[t].name, played);
            pelt_model_destroy(model);
        }
    test_end(&test);
}

/* Kinds and methods are listed in the order of their option values. */
static void names_are_in_order(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_decompose_desc desc = pelt_decompose_desc_default();
    for (size_t t = 0; t < KIND_COUNT; t++) {
        test_ok(&test, pelt_options_set(test.context, pelt_decompose_options(), &desc, "transforms", kinds[t].name));
        assert_int_equal(desc.transforms, kinds[t].kind);
    }
    test_ok(&test, pelt_options_set(test.context, pelt_decompose_options(), &desc, "method", "sma"));
    assert_int_equal(desc.method, PELT_DECOMPOSE_SMA);
    test_end(&test);
}

/* ---- Similarities ----------------------------------------------------------------------------------------- */

/* The upper half of the tube grows by a tenth in each frame while it turns; the lower one shrinks. */
static double half_scale(bool upper, uint32_t k) {
    return upper ? 1 + 0.1 * k : 1 / (1 + 0.05 * k);
}

static void move_halves(pelt_model *model) {
    const pelt_clip *clip = &model->clips[0];
    float *p = (float *)(uintptr_t)clip->positions;
    for (uint32_t k = 0; k < clip->frame_count; k++)
        for (uint32_t i = 0; i < clip->point_count; i++, p += 3) {
            const float *rest = clip->positions + 3 * (size_t)i; /* frame 0 stays unchanged */
            bool upper = rest[1] > 1;                            /* of 2 */
            double s = half_scale(upper, k), angle = upper ? 0.2 * k : -0.1 * k;
            double x = rest[0], y = rest[1] - 1, z = rest[2], c = cos(angle), n = sin(angle);
            p[0] = (float)(s * (c * x - n * y));
            p[1] = (float)(s * (n * x + c * y) + 1);
            p[2] = (float)(s * z + 0.05 * k);
        }
}

/* Bones with rotation, translation and uniform scale are recovered; their keys have one scale for all axes. */
static void similarities_are_found(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    double errors[KIND_COUNT];
    for (size_t t = 0; t < KIND_COUNT; t++) {
        pelt_model *model;
        pelt_decompose_report report;
        test_ok(&test, make_baked(test.context, "tube", 300, 12, &model));
        move_halves(model);
        pelt_decompose_desc desc = settings(kinds[t].kind, 2, 60);
        desc.tolerance = 0;
        desc.key_tolerance = 0;
        test_ok(&test, pelt_decompose(test.context, model, &desc, &report));
        errors[t] = played_error(&test, model);
        uint32_t scale_tracks = 0, matched = 0;
        for (uint32_t n = 0; kinds[t].kind == PELT_TRANSFORMS_SIMILARITY && n < model->motions[0].track_count; n++) {
            const pelt_track *track = &model->motions[0].tracks[n];
            if (track->path != PELT_PATH_SCALE)
                continue;
            scale_tracks++;
            bool halves[2] = {true, true};
            for (uint32_t k = 0; k < track->key_count; k++) {
                const float *s = track->values + 3 * (size_t)k;
                assert_true(s[0] == s[1] && s[1] == s[2] && s[0] > 0);
                for (int upper = 0; upper < 2; upper++)
                    halves[upper] &= fabs((double)(s[0] / track->values[0]) - half_scale(upper, k)) < 1e-3;
            }
            matched += halves[0] || halves[1];
        }
        if (kinds[t].kind == PELT_TRANSFORMS_SIMILARITY) {
            assert_int_equal(model->skeleton.joint_count, 3); /* a root and one node per bone */
            assert_int_equal(scale_tracks, 2);
            assert_int_equal(matched, 2);
        }
        pelt_model_destroy(model);
    }
    print_message("E_rms: affine %.2g, trs %.2g, similarity %.2g, rigid %.2g\n", errors[0], errors[1], errors[2],
                  errors[3]);
    assert_true(errors[2] < 0.01 && errors[3] > 1);
    test_end(&test);
}

/* ---- Space ------------------------------------------------------------------------------------------------ */

/* All frames rotated, translated and scaled. */
static void move_all(pelt_model *model) {
    static const double m[9] = {0.36, 0.48, -0.8, -0.8, 0.6, 0, 0.48, 0.64, 0.6}, t[3] = {3, -1, 0.5};
    const pelt_clip *clip = &model->clips[0];
    float *p = (float *)(uintptr_t)clip->positions;
    for (size_t e = 0; e < (size_t)clip->frame_count * clip->point_count; e++, p += 3) {
        double v[3] = {p[0], p[1], p[2]};
        for (int r = 0; r < 3; r++)
            p[r] = (float)(2.5 * (m[3 * r] * v[0] + m[3 * r + 1] * v[1] + m[3 * r + 2] * v[2] + t[r]));
    }
}

static void space_does_not_matter(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    for (size_t t = 0; t < KIND_COUNT; t++) {
        double errors[2];
        for (int moved = 0; moved < 2; moved++) {
            pelt_model *model;
            pelt_decompose_report report;
            test_ok(&test, make_baked(test.context, "cloth", 300, 12, &model));
            if (moved)
                move_all(model);
            pelt_decompose_desc desc = settings(kinds[t].kind, 5, 12);
            test_ok(&test, pelt_decompose(test.context, model, &desc, &report));
            errors[moved] = report.error_fit;
            pelt_model_destroy(model);
        }
        if (!(fabs(errors[1] - errors[0]) < 1e-4 * errors[0]))
            fail_msg("%s: %.9g here, %.9g there", kinds[t].name, errors[0], errors[1]);
    }
    test_end(&test);
}

/* ---- Sizes ------------------------------------------------------------------------------------------------ */

static void every_influence_count(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    for (size_t t = 0; t < KIND_COUNT; t++)
        for (uint32_t K = 1; K <= 8; K++) {
            pelt_model *model;
            pelt_decompose_report report;
            test_ok(&test, make_baked(test.context, "cloth", 150, 8, &model));
            pelt_decompose_desc desc = settings(kinds[t].kind, 9, 8);
            desc.influences = K;
            test_ok(&test, pelt_decompose(test.context, model, &desc, &report));
            assert_int_equal(report.influence_count, model->skin.influence_count);
            check_weights(model, K);
            pelt_model_destroy(model);
        }
    test_end(&test);
}

/* One bone for a rigid motion is exact; so is a single frame. */
static void one_is_enough(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    for (size_t t = 0; t < KIND_COUNT; t++)
        for (int single = 0; single < 2; single++) {
            pelt_model *model;
            pelt_decompose_report report;
            test_ok(&test, make_baked(test.context, "tube", 60, 10, &model));
            pelt_clip *clip = &model->clips[0];
            float *p = (float *)(uintptr_t)clip->positions;
            size_t N = clip->point_count;
            for (size_t e = 3 * N; e < clip->frame_count * 3 * N; e += 3) { /* turning about x and rising */
                double angle = 0.4 * (double)(e / (3 * N)), c = cos(angle), s = sin(angle);
                const float *first = p + e % (3 * N);
                p[e] = first[0];
                p[e + 1] = (float)(c * (double)first[1] - s * (double)first[2] + angle);
                p[e + 2] = (float)(s * (double)first[1] + c * (double)first[2]);
            }
            if (single)
                clip->frame_count = 1;
            pelt_decompose_desc desc = settings(kinds[t].kind, 1, 20);
            test_ok(&test, pelt_decompose(test.context, model, &desc, &report));
            assert_int_equal(report.bone_count, 1);
            assert_true(played_error(&test, model) < 2e-3);
            pelt_model_destroy(model);
        }
    test_end(&test);
}

/* Planes, lines and points: directions that the animation does not determine must stay bounded. */
static void flat_and_thin(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    for (size_t t = 0; t < KIND_COUNT; t++)
        for (int keep = 0; keep < 3; keep++) {
            pelt_model *model;
            pelt_decompose_report report;
            test_ok(&test, make_baked(test.context, "cloth", 100, 6, &model));
            const pelt_clip *clip = &model->clips[0];
            float *p = (float *)(uintptr_t)clip->positions;
            for (size_t e = 0; e < (size_t)clip->frame_count * clip->point_count * 3; e++)
                if ((int)(e % 3) >= keep)
                    p[e] = 0;
            pelt_decompose_desc desc = settings(kinds[t].kind, 4, 10);
            test_ok(&test, pelt_decompose(test.context, model, &desc, &report));
            assert_true(isfinite(report.error_fit));
            test_ok(&test, pelt_model_validate(test.context, model));
            assert_true(isfinite(played_error(&test, model)));
            pelt_model_destroy(model);
        }
    test_end(&test);
}

/* Points with independent motions get a bone each; their rotations and scales are undetermined. */
static void lone_points(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    for (size_t t = 0; t < KIND_COUNT; t++) {
        pelt_model *model;
        test_ok(&test, make_baked(test.context, "cloth", 100, 6, &model));
        const pelt_clip *clip = &model->clips[0];
        size_t points = clip->point_count;
        float *p = (float *)(uintptr_t)clip->positions;
        for (size_t k = 0; k < clip->frame_count; k++)
            for (size_t e = 0; e < 3 * points; e++) {
                size_t lone = e / 3 % (points / 3);
                p[3 * points * k + e] = p[e] + (lone == 7 ? (float)(sin((double)(k * (e + 3))) / 3) : 0);
            }
        pelt_decompose_desc desc = settings(kinds[t].kind, 4, 30);
        test_ok(&test, pelt_decompose(test.context, model, &desc, NULL));
        test_ok(&test, pelt_model_validate(test.context, model));
        double error = played_error(&test, model);
        if (!(error < 0.1))
            fail_msg("%s: %g", kinds[t].name, error);
        pelt_model_destroy(model);
    }
    test_end(&test);
}

/* ---- Hierarchy -------------------------------------------------------------------------------------------- */

static pelt_model *decompose_rigid(const test_context *test, const char *name, uint32_t bones, bool hierarchy) {
    pelt_model *model;
    test_ok(test, make_baked(test->context, name, 400, 16, &model));
    pelt_decompose_desc desc = settings(PELT_TRANSFORMS_RIGID, bones, 30);
    desc.hierarchy = hierarchy;
    desc.key_tolerance = 0;
    test_ok(test, pelt_decompose(test->context, model, &desc, NULL));
    test_ok(test, pelt_model_validate(test->context, model));
    return model;
}

/* A skeleton moves the vertices like the flat list of bones, up to rounding. */
static void check_alike(const test_context *test, const pelt_model *flat, const pelt_model *tree, double limit) {
    size_t N = flat->mesh.vertex_count;
    float *a = malloc(3 * N * sizeof *a), *b = malloc(3 * N * sizeof *b);
    const pelt_clip *clip = &flat->clips[0];
    for (uint32_t k = 0; k < clip->frame_count; k++) {
        float time = clip->times[k];
        test_ok(test, pelt_model_pose(test->context, flat, flat->motions, time, PELT_SKINNING_LINEAR, a, NULL));
        test_ok(test, pelt_model_pose(test->context, tree, tree->motions, time, PELT_SKINNING_LINEAR, b, NULL));
        for (size_t e = 0; e < 3 * N; e++)
            if (!(fabs((double)a[e] - (double)b[e]) < limit))
                fail_msg("frame %u, vertex %zu: %g, flat %g", k, e / 3, (double)b[e], (double)a[e]);
    }
    free(a);
    free(b);
}

static void skeleton_moves_alike(void **state) {
    (void)state;
    static const struct {
        const char *name;
        uint32_t bones;
    } rows[] = {{"tube", 2}, {"creature", 20}, {"production", 24}, {"cloth", 9}, {"tube", 1}};
    test_context test;
    test_begin(&test, 2);
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        pelt_model *flat = decompose_rigid(&test, rows[r].name, rows[r].bones, false),
                   *tree = decompose_rigid(&test, rows[r].name, rows[r].bones, true);
        pelt_ball ball;
        test_ok(&test,
                pelt_enclosing_ball(test.context, flat->mesh.positions, (uint32_t)flat->mesh.vertex_count, &ball));
        check_alike(&test, flat, tree, 1e-5 * (double)ball.radius);
        uint32_t roots = 0;
        for (uint32_t j = 1; j < tree->skeleton.joint_count; j++)
            roots += tree->skeleton.parents[j] == 0;
        assert_int_equal(roots, 1);
        assert_int_equal(tree->skeleton.joint_count, flat->skeleton.joint_count);
        pelt_model_destroy(flat);
        pelt_model_destroy(tree);
    }
    test_end(&test);
}

static void joint_place(const pelt_model *model, float time, uint32_t joint, float out[3]) {
    pelt_transform locals[3];
    pelt_affine globals[3];
    assert_true(model->skeleton.joint_count <= 3);
    pelt_motion_sample(model, model->motions, time, locals, NULL);
    pelt_skeleton_globals(&model->skeleton, locals, globals);
    for (int axis = 0; axis < 3; axis++)
        out[axis] = globals[joint].m[4 * axis + 3];
}

/* The tube's joint is found where the scene bends it, in every frame. */
static void joint_is_found(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    pelt_model *tree = decompose_rigid(&test, "tube", 2, true), *truth;
    scene_desc desc = {.vertex_count = 400, .frame_count = 16, .seed = 3};
    test_ok(&test, scene_find("tube")->make(test.context, &desc, &truth));
    for (uint32_t k = 0; k < tree->clips[0].frame_count; k++) {
        float time = tree->clips[0].times[k], found[3], real[3], off = 0;
        joint_place(tree, time, 2, found);
        joint_place(truth, time, 1, real);
        for (int axis = 0; axis < 3; axis++)
            off = fmaxf(off, fabsf(found[axis] - real[axis]));
        if (!(off < 0.01f)) /* the tube is 2 long */
            fail_msg("frame %u: the joint is at %g %g %g, should be at %g %g %g", k, (double)found[0], (double)found[1],
                     (double)found[2], (double)real[0], (double)real[1], (double)real[2]);
    }
    pelt_model_destroy(tree);
    pelt_model_destroy(truth);
    test_end(&test);
}

static void only_rigid_bones_join(void **state) {
    (void)state;
    test_context test;
    pelt_model *model;
    test_begin(&test, 1);
    test_ok(&test, make_baked(test.context, "tube", 15, 3, &model));
    pelt_decompose_desc desc = settings(PELT_TRANSFORMS_TRS, 2, 2);
    desc.hierarchy = true;
    test_fails(&test, pelt_decompose(test.context, model, &desc, NULL), PELT_ERROR_USAGE, "rigid");
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Threads, memory, cancelling -------------------------------------------------------------------------- */

static uint64_t hash(uint64_t h, const void *data, size_t size) {
    for (size_t e = 0; e < size; e++)
        h = (h ^ ((const uint8_t *)data)[e]) * UINT64_C(0x100000001B3);
    return h;
}

static uint64_t hash_model(const pelt_model *model) {
    size_t N = model->mesh.vertex_count, K = model->skin.influence_count;
    uint64_t h = hash(UINT64_C(0xCBF29CE484222325), model->mesh.positions, 3 * N * sizeof(float));
    h = hash(h, model->skin.weights, N * K * sizeof(float));
    h = hash(h, model->skin.bones, N * K * sizeof(uint16_t));
    h = hash(h, model->skin.inverse_binds, model->skin.bone_count * sizeof(pelt_affine));
    h = hash(h, model->skeleton.rest, model->skeleton.joint_count * sizeof(pelt_transform));
    for (uint32_t t = 0; t < model->motions[0].track_count; t++) {
        const pelt_track *track = &model->motions[0].tracks[t];
        h = hash(h, track->values, (size_t)track->key_count * track->width * sizeof(float));
    }
    return h;
}

static void threads_do_not_matter(void **state) {
    (void)state;
    for (size_t t = 0; t < KIND_COUNT; t++) {
        uint64_t hashes[3];
        for (uint32_t threads = 1; threads <= 3; threads++) {
            test_context test;
            pelt_model *model;
            test_begin(&test, threads);
            test_ok(&test, make_baked(test.context, "creature", 1200, 10, &model));
            pelt_decompose_desc desc = settings(kinds[t].kind, 7, 6);
            test_ok(&test, pelt_decompose(test.context, model, &desc, NULL));
            hashes[threads - 1] = hash_model(model);
            pelt_model_destroy(model);
            test_end(&test);
        }
        assert_true(hashes[0] == hashes[1] && hashes[1] == hashes[2]);
    }
}

typedef struct tiny {
    pelt_transforms kind;
    bool unchanged; /* whether a failure left the model unchanged */
} tiny;

static pelt_result decompose_tiny(pelt_context *context, void *user) {
    tiny *job = user;
    pelt_model *model;
    pelt_result result = make_baked(context, "tube", 15, 3, &model);
    if (result != PELT_OK)
        return result;
    pelt_model before = *model;
    pelt_decompose_desc desc = settings(job->kind, 2, 2);
    desc.hierarchy = job->kind == PELT_TRANSFORMS_RIGID;
    result = pelt_decompose(context, model, &desc, NULL);
    if (result != PELT_OK)
        job->unchanged = job->unchanged && before.mesh.positions == model->mesh.positions &&
                         before.skin.bones == model->skin.bones && before.motions == model->motions &&
                         before.skeleton.parents == model->skeleton.parents && before.changed == model->changed;
    pelt_model_destroy(model);
    return result;
}

static void memory_runs_out(void **state) {
    (void)state;
    for (size_t t = 0; t < KIND_COUNT; t++) {
        tiny job = {kinds[t].kind, true};
        test_fail_each_allocation(1, decompose_tiny, &job);
        assert_true(job.unchanged);
    }
}

static void cancelled(void **state) {
    (void)state;
    for (size_t t = 0; t < KIND_COUNT; t++)
        for (uint64_t at = 1;; at = at * 2) {
            test_context test;
            test_begin(&test, 2);
            atomic_store(&test.cancel_at, at);
            tiny job = {kinds[t].kind, true};
            pelt_result result = decompose_tiny(test.context, &job);
            bool reached = atomic_load(&test.asked) >= at;
            assert_int_equal(result, reached ? PELT_ERROR_CANCELLED : PELT_OK);
            assert_true(job.unchanged);
            test_end(&test);
            if (!reached) {
                assert_true(at > 8); /* cancel was polled often enough */
                break;
            }
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        test_long(error_never_rises),
        cmocka_unit_test(kinds_are_ordered),
        test_long(true_skins),
        cmocka_unit_test(names_are_in_order),
        cmocka_unit_test(similarities_are_found),
        cmocka_unit_test(space_does_not_matter),
        test_long(every_influence_count),
        cmocka_unit_test(one_is_enough),
        cmocka_unit_test(flat_and_thin),
        cmocka_unit_test(lone_points),
        test_long(threads_do_not_matter),
        cmocka_unit_test(memory_runs_out),
        cmocka_unit_test(cancelled),
        test_long(skeleton_moves_alike),
        cmocka_unit_test(joint_is_found),
        cmocka_unit_test(only_rigid_bones_join),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
