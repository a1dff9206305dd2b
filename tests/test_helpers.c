/* Helper bones: matrices of the control points, the half turn of a tube, delta mush, what stays of a rig, threads, failures. */
#include "support.h"

#include "core/math3.h"
#include "core/rotation.h"
#include "helpers/helpers.h"
#include "scenes.h"

#include <math.h>

#define KEYS 31u

/* Replaces the motions of a tube: its upper half turns about an axis of its joint by up to `degrees`. */
static void set_motion(const test_context *test, pelt_model *model, int axis, double degrees, uint32_t count) {
    pelt_motion *motions = pelt_model_alloc(test->context, model, count, sizeof *motions);
    float *times = pelt_model_alloc(test->context, model, KEYS, sizeof *times);
    float *values = pelt_model_alloc(test->context, model, 4 * KEYS, sizeof *values);
    pelt_track *track = pelt_model_alloc(test->context, model, 1, sizeof *track);
    for (uint32_t k = 0; k < KEYS; k++) {
        times[k] = (float)k / 30;
        px_rotation turn = px_rotation_about(axis, degrees * PX_DEGREE * k / (KEYS - 1));
        px_rotation_store(px_rotation_mul(px_rotation_of(model->skeleton.rest[1].rotation), turn), values + 4 * k);
    }
    *track = (pelt_track){1, PELT_PATH_ROTATION, PELT_INTERPOLATION_LINEAR, 4, KEYS, times, values};
    for (uint32_t m = 0; m < count; m++)
        motions[m] = (pelt_motion){"turn", 0, times[KEYS - 1], 1, track};
    model->motions = motions;
    model->motion_count = count;
}

static pelt_model *make_tube(const test_context *test, uint32_t vertices, int axis, double degrees) {
    pelt_model *model;
    scene_desc desc = {.vertex_count = vertices, .seed = 1};
    test_ok(test, scene_find("tube")->make(test->context, &desc, &model));
    set_motion(test, model, axis, degrees, 2);
    return model;
}

/* ---- Matrices --------------------------------------------------------------------------------------------- */

static pelt_affine turn_about(const double axis[3], double angle, const double center[3], const double shift[3]) {
    px_rotation q = {{sin(angle / 2) * axis[0], sin(angle / 2) * axis[1], sin(angle / 2) * axis[2], cos(angle / 2)}};
    pelt_transform t = px_transform_identity();
    double moved[3];
    px_rotation_store(q, t.rotation);
    px_rotation_apply(q, center, moved);
    for (int c = 0; c < 3; c++)
        t.translation[c] = (float)(center[c] - moved[c] + shift[c]);
    return px_affine_from_transform(&t);
}

static void map(const double m[12], const double p[3], double out[3]) {
    for (int r = 0; r < 3; r++)
        out[r] = m[4 * r] * p[0] + m[4 * r + 1] * p[1] + m[4 * r + 2] * p[2] + m[4 * r + 3];
}

/* A screw motion about an axis through c: tangents of length 4/3 tan(θ/4) radii, a third of the shift. */
static void controls_are_tangents(void **state) {
    (void)state;
    const double axis[3] = {0.48, 0.6, 0.64}, center[3] = {0.5, -1, 2}, p[3] = {1, 2, -0.5}, none[3] = {0};
    const double angles[] = {0, 1e-5, 0.3, 1.5, 3.1};
    for (size_t n = 0; n < PX_COUNT(angles); n++) {
        const double shift[3] = {0.3 * axis[0], 0.3 * axis[1], 0.3 * axis[2]};
        pelt_affine palette[2] = {turn_about(axis, 0.4, none, shift), px_affine_identity()};
        pelt_affine motion = turn_about(axis, angles[n], center, shift);
        palette[1] = px_affine_mul(&palette[0], &motion);
        pelt_dual_quaternion duals[2];
        pelt_dual_quaternions(palette, 2, duals);
        px_helper_bones bones = {palette, duals, NULL, false};
        assert_true(fabs(px_helper_angle(&duals[0], &duals[1]) - angles[n]) < 1e-6);
        double first[12], second[12], got[3], wanted[3], radius[3], tangent[3], kappa = 4.0 / 3 * tan(angles[n] / 4);
        px_helper_controls(&bones, 0, 1, PELT_HELPERS_AFFINE, first, second);
        for (int c = 0; c < 3; c++)
            radius[c] = p[c] - center[c];
        px_cross3d(axis, radius, tangent);
        for (int s = 0; s < 2; s++) {
            map(s ? second : first, p, got);
            for (int c = 0; c < 3; c++) {
                wanted[c] = p[c] + (s ? -1 : 1) * (kappa * tangent[c] + shift[c] / 3);
                assert_true(fabs(got[c] - wanted[c]) < 1e-5);
            }
        }
        /* Rigid: both are the same place seen from either bone for the middle, thirds of the way for small angles. */
        px_helper_controls(&bones, 0, 1, PELT_HELPERS_RIGID, first, second);
        for (int r = 0; r < 3; r++)
            for (int c = 0; c <= r; c++) {
                double dot = first[r] * first[c] + first[4 + r] * first[4 + c] + first[8 + r] * first[8 + c];
                assert_true(fabs(dot - (r == c)) < 1e-5);
            }
    }
}

/* Stretches of the bones: where both are equal, helpers have the same. */
static void controls_keep_scales(void **state) {
    (void)state;
    const double axis[3] = {0, 0, 1}, none[3] = {0};
    pelt_affine palette[2] = {turn_about(axis, 0, none, none), turn_about(axis, 1, none, none)}, stretches[2];
    for (int s = 0; s < 2; s++)
        for (int e = 0; e < 12; e++)
            palette[s].m[e] *= e % 4 < 3 ? 2 : 1;
    pelt_dual_quaternion duals[2];
    pelt_dual_quaternions(palette, 2, duals);
    px_helper_bones bones = {palette, duals, stretches, pelt_stretches(palette, duals, 2, stretches)};
    assert_true(bones.stretched);
    double first[12], second[12], kappa = 4.0 / 3 * tan(0.25);
    px_helper_controls(&bones, 0, 1, PELT_HELPERS_AFFINE, first, second);
    assert_true(fabs(first[0] - 1) < 1e-6 && fabs(first[4] - kappa) < 1e-6 && fabs(first[10] - 1) < 1e-6);
    assert_true(fabs(second[4] + kappa) < 1e-6);
}

/* ---- Tubes ------------------------------------------------------------------------------------------------ */

/* Half a turn with two helpers: a tenth of a per cent of the size RMS, half a per cent at most, where the distance from the axis
 * is an eighth of the size. */
static void half_turn(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    pelt_model *model = make_tube(&test, 1500, 1, 180), *source;
    test_ok(&test, pelt_model_borrow(test.context, model, &source));
    pelt_helper_bones_desc desc = pelt_helper_bones_desc_default();
    pelt_helper_bones_report report;
    desc.add = 2;
    test_ok(&test, pelt_helper_bones_add(test.context, model, &desc, &report));
    test_ok(&test, pelt_model_validate(test.context, model));
    printf("half turn: RMS %.4f %% to %.4f %%, at most %.3f %% to %.3f %%\n", 100 * report.before.rms,
           100 * report.after.rms, 100 * report.before.max, 100 * report.after.max);
    assert_true(report.before.max > 0.05);
    assert_true(report.after.max < 0.005 && report.after.rms < 0.001);
    assert_int_equal(report.pair_count, 1);
    assert_int_equal(report.bone_count, 2);
    assert_int_equal(report.joint_count, 4);
    assert_true(fabs(report.pairs[0].angle - 180 * PX_DEGREE) < 0.02);
    assert_int_equal(model->skin.bone_count, 4);
    assert_int_equal(model->skin.influence_count, 4);
    assert_int_equal(model->changed, PELT_CHANGED_SKELETON | PELT_CHANGED_SKIN | PELT_CHANGED_MOTIONS);

    /* The rig is as it was; a helper hangs from each of the bones, and moves in every motion. */
    for (uint32_t j = 0; j < 2; j++) {
        assert_string_equal(model->skeleton.names[j], source->skeleton.names[j]);
        assert_memory_equal(&model->skeleton.rest[j], &source->skeleton.rest[j], sizeof(pelt_transform));
    }
    assert_string_equal(model->skeleton.names[3], "upper_helper_1");
    for (uint32_t j = 2; j < 6; j++)
        for (int c = 0; c < 3; c++)
            assert_true(model->skeleton.rest[j].scale[c] > 0);
    assert_int_equal(model->skeleton.parents[2], 0);
    assert_int_equal(model->skeleton.parents[4], 1);
    for (uint32_t m = 0; m < 2; m++) {
        assert_ptr_equal(model->motions[m].tracks[0].values, source->motions[m].tracks[0].values);
        assert_in_range(model->motions[m].track_count, 3, 9);
    }

    /* At rest nothing moves: linear skinning of the rest pose gives the mesh. */
    float *posed = pelt_model_alloc(test.context, model, 3 * (size_t)model->mesh.vertex_count, sizeof *posed);
    test_ok(&test, pelt_model_pose(test.context, model, NULL, 0, PELT_SKINNING_LINEAR, posed, NULL));
    for (size_t e = 0; e < 3 * (size_t)model->mesh.vertex_count; e++)
        assert_true(fabsf(posed[e] - model->mesh.positions[e]) < 1e-5f);
    pelt_model_destroy(source);
    pelt_model_destroy(model);
    test_end(&test);
}

static pelt_helper_bones_report bend(const test_context *test, uint32_t transforms, float scale) {
    pelt_model *model = make_tube(test, 800, 2, 110);
    pelt_helper_bones_desc desc = pelt_helper_bones_desc_default();
    pelt_helper_bones_report report;
    desc.transforms = transforms;
    for (int c = 0; c < 3; c++)
        model->skeleton.rest[0].scale[c] = scale;
    test_ok(test, pelt_helper_bones_add(test->context, model, &desc, &report));
    test_ok(test, pelt_model_validate(test->context, model));
    for (uint32_t j = 2; transforms == PELT_HELPERS_RIGID && j < model->skeleton.joint_count; j++)
        for (int c = 0; c < 3; c++)
            assert_true(fabsf(model->skeleton.rest[j].scale[c] - 1) < 1e-6f);
    for (uint32_t t = 0; transforms == PELT_HELPERS_RIGID && t < model->motions[0].track_count; t++)
        assert_int_not_equal(model->motions[0].tracks[t].path, PELT_PATH_SCALE);
    pelt_model_destroy(model);
    return report;
}

static void bends(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_helper_bones_report affine = bend(&test, PELT_HELPERS_AFFINE, 1);
    assert_true(affine.after.rms < 0.05 * affine.before.rms);
    pelt_helper_bones_report scaled = bend(&test, PELT_HELPERS_AFFINE, 3);
    assert_true(fabs(scaled.after.rms - affine.after.rms) < 1e-5);
    pelt_helper_bones_report rigid = bend(&test, PELT_HELPERS_RIGID, 1);
    assert_int_equal(rigid.joint_count, 2);
    assert_true(rigid.after.rms < 0.3 * rigid.before.rms && rigid.after.rms > affine.after.rms);
    pelt_helper_bones_report both = bend(&test, PELT_HELPERS_RIGID, 3);
    assert_true(fabs(both.after.rms - rigid.after.rms) < 1e-5);
    test_end(&test);
}

/* A creature, with a limit; more helpers are closer; any number of threads gives the same. */
static void limits_and_threads(void **state) {
    (void)state;
    double before = INFINITY;
    for (uint32_t add = 2; add <= 8; add += 6) {
        float *weights = NULL;
        for (uint32_t threads = 1; threads <= 3; threads += 2) {
            test_context test;
            test_begin(&test, threads);
            pelt_model *model;
            scene_desc made = {.vertex_count = 1500, .frame_count = 20, .seed = 3};
            test_ok(&test, scene_find("creature")->make(test.context, &made, &model));
            pelt_helper_bones_desc desc = pelt_helper_bones_desc_default();
            pelt_helper_bones_report report;
            desc.add = add;
            desc.influences = 5;
            test_ok(&test, pelt_helper_bones_add(test.context, model, &desc, &report));
            test_ok(&test, pelt_model_validate(test.context, model));
            assert_in_range(report.bone_count, 2, add);
            assert_int_equal(model->skin.influence_count, 5);
            size_t size = 5 * (size_t)model->mesh.vertex_count * sizeof *weights;
            if (threads == 1) {
                assert_true(report.after.rms < before && report.after.rms < report.before.rms);
                before = report.after.rms;
                assert_non_null(weights = malloc(size));
                memcpy(weights, model->skin.weights, size);
            } else
                assert_memory_equal(weights, model->skin.weights, size);
            pelt_model_destroy(model);
            test_end(&test);
        }
        free(weights);
    }
}

/* ---- Delta mush ------------------------------------------------------------------------------------------- */

static pelt_clip mush_of(const test_context *test, pelt_model *model, uint32_t iterations) {
    pelt_delta_mush_desc desc = pelt_delta_mush_desc_default();
    pelt_clip clip;
    desc.iterations = iterations;
    test_ok(test, pelt_clip_delta_mush(test->context, model, &model->motions[0], 30, &desc, &clip));
    assert_int_equal(clip.frame_count, KEYS);
    assert_int_equal(clip.point_count, model->mesh.points.count);
    return clip;
}

static double largest_difference(const float *a, const float *b, size_t count) {
    double most = 0;
    for (size_t e = 0; e < count; e++)
        most = fmax(most, fabs((double)a[e] - (double)b[e]));
    return most;
}

/* One bone with rotation, shear, mirror image and scale: the skinned positions themselves. */
static void mush_keeps_what_one_bone_moves(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_tube(&test, 400, 2, 70);
    size_t vertices = model->mesh.vertex_count, K = model->skin.influence_count;
    float *weights = pelt_model_alloc(test.context, model, vertices * K, sizeof *weights);
    for (size_t i = 0; i < vertices; i++)
        weights[i * K] = 1;
    uint16_t *bones = pelt_model_alloc(test.context, model, vertices * K, sizeof *bones);
    for (size_t i = 0; i < vertices * K; i++)
        bones[i] = 1;
    model->skin.weights = weights;
    model->skin.bones = bones;
    pelt_transform scaled = {.rotation = {0, 0, 0.6f, 0.8f}, .scale = {-2, 0.5f, 3}, .translation = {1, 2, 3}};
    model->skeleton.rest[0] = scaled;
    pelt_clip mush = mush_of(&test, model, 10);
    float *skinned = pelt_model_alloc(test.context, model, 3 * vertices, sizeof *skinned);
    for (uint32_t k = 0; k < KEYS; k += 10) {
        test_ok(&test, pelt_model_pose(test.context, model, &model->motions[0], mush.times[k], PELT_SKINNING_LINEAR,
                                       skinned, NULL));
        const float *frame = mush.positions + 3 * (size_t)mush.point_count * k;
        for (uint32_t p = 0; p < mush.point_count; p++)
            assert_true(largest_difference(frame + 3 * (size_t)p,
                                           skinned + 3 * (size_t)pelt_class_vertex(&model->mesh.points, p), 3) < 2e-5);
    }
    pelt_model_destroy(model);
    test_end(&test);
}

/* At rest nothing changes; without steps nothing changes; a bent tube gets smoother; welded vertices stay together. */
static void mush_smooths_bends(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    pelt_model *model = make_tube(&test, 800, 2, 110);
    pelt_clip linear, none = mush_of(&test, model, 0), mush = mush_of(&test, model, 10);
    test_ok(&test, pelt_clip_from_motion(test.context, model, &model->motions[0], 30, PELT_SKINNING_LINEAR, &linear));
    size_t size = 3 * (size_t)mush.point_count;
    float *skinned = pelt_model_alloc(test.context, model, size, sizeof *skinned);
    test_ok(&test, pelt_clip_read(test.context, &linear, 0, 0, linear.point_count, skinned));
    assert_true(largest_difference(mush.positions, skinned, size) < 1e-5);
    test_ok(&test, pelt_clip_read(test.context, &linear, KEYS - 1, 0, linear.point_count, skinned));
    assert_true(largest_difference(none.positions + (KEYS - 1) * size, skinned, size) < 1e-5);
    const float *bent = mush.positions + (KEYS - 1) * size;
    assert_true(largest_difference(bent, skinned, size) > 0.02);

    px_arena *arena = px_arena_create(test.context);
    px_neighbours ring;
    test_ok(&test, px_neighbours_make(arena, &model->mesh, &model->mesh.weld, &ring));
    double rough[2] = {0, 0}; /* squared lengths of the Laplacians, less those at rest */
    for (uint32_t c = 0; c < model->mesh.weld.count; c++)
        for (int which = 0; which < 2; which++) {
            double sum[3] = {0}, rest[3] = {0}, here, there;
            for (size_t n = ring.offsets[c]; n < ring.offsets[c + 1]; n++)
                for (int a = 0; a < 3; a++) {
                    const float *shown = which ? bent : skinned;
                    sum[a] += shown[3 * pelt_class_vertex(&model->mesh.weld, ring.items[n]) + a] -
                              shown[3 * pelt_class_vertex(&model->mesh.weld, c) + a];
                    rest[a] += model->mesh.positions[3 * pelt_class_vertex(&model->mesh.weld, ring.items[n]) + a] -
                               model->mesh.positions[3 * pelt_class_vertex(&model->mesh.weld, c) + a];
                }
            here = px_length3(sum), there = px_length3(rest);
            rough[which] += (here - there) * (here - there);
        }
    printf("roughness of a bend: %.4g skinned, %.4g smoothed\n", rough[0], rough[1]);
    assert_true(rough[1] < 0.7 * rough[0]);
    for (uint32_t p = 0; p < mush.point_count; p++) {
        uint32_t first = pelt_class_vertex(&model->mesh.weld, pelt_vertex_class(&model->mesh.weld, p));
        assert_memory_equal(bent + 3 * (size_t)p, bent + 3 * (size_t)first, 3 * sizeof *bent);
    }
    px_arena_destroy(arena);
    pelt_model_destroy(model);
    test_end(&test);
}

/* Helper bones for delta mush: any number of threads gives the same; the rig's joints and tracks stay. */
static void mush_as_bones(void **state) {
    (void)state;
    float *weights = NULL;
    for (uint32_t threads = 1; threads <= 3; threads += 2) {
        test_context test;
        test_begin(&test, threads);
        pelt_model *model, *source;
        scene_desc made = {.vertex_count = 1500, .frame_count = 20, .seed = 3};
        test_ok(&test, scene_find("creature")->make(test.context, &made, &model));
        test_ok(&test, pelt_model_borrow(test.context, model, &source));
        pelt_delta_mush_desc mush = pelt_delta_mush_desc_default();
        pelt_helper_bones_desc desc = pelt_helper_bones_desc_default();
        pelt_helper_bones_report report;
        desc.mush = &mush;
        desc.add = 4;
        test_ok(&test, pelt_helper_bones_add(test.context, model, &desc, &report));
        test_ok(&test, pelt_model_validate(test.context, model));
        printf("delta mush: RMS %.4f %% to %.4f %%, at most %.3f %% to %.3f %%\n", 100 * report.before.rms,
               100 * report.after.rms, 100 * report.before.max, 100 * report.after.max);
        assert_true(report.after.rms < 0.45 * report.before.rms && report.after.max < 0.5 * report.before.max);
        assert_int_equal(report.bone_count, 4);
        assert_int_equal(report.joint_count, 8);
        assert_int_equal(model->skin.bone_count, source->skin.bone_count + 4);
        assert_int_equal(model->clip_count, source->clip_count);
        assert_memory_equal(model->mesh.positions, source->mesh.positions,
                            3 * (size_t)model->mesh.vertex_count * sizeof(float));
        assert_memory_equal(model->skeleton.rest, source->skeleton.rest,
                            source->skeleton.joint_count * sizeof(pelt_transform));
        size_t size = (size_t)model->skin.influence_count * model->mesh.vertex_count * sizeof *weights;
        if (threads == 1) {
            assert_non_null(weights = malloc(size));
            memcpy(weights, model->skin.weights, size);
        } else
            assert_memory_equal(weights, model->skin.weights, size);
        pelt_model_destroy(source);
        pelt_model_destroy(model);
        test_end(&test);
    }
    free(weights);
}

/* ---- Nothing to do, failures ------------------------------------------------------------------------------ */

static void stays_without_difference(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_tube(&test, 100, 1, 0);
    pelt_helper_bones_report report;
    test_ok(&test, pelt_helper_bones_add(test.context, model, NULL, &report));
    assert_int_equal(report.pair_count, 0);
    assert_int_equal(model->changed, 0);
    assert_int_equal(model->skin.bone_count, 2);
    pelt_model_destroy(model);
    test_end(&test);
}

static void refuses(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_tube(&test, 100, 1, 90);
    pelt_helper_bones_desc desc = pelt_helper_bones_desc_default();
    desc.add = 1;
    test_fails(&test, pelt_helper_bones_add(test.context, model, &desc, NULL), PELT_ERROR_USAGE, "add is 1");
    model->motion_count = 0;
    test_fails(&test, pelt_helper_bones_add(test.context, model, NULL, NULL), PELT_ERROR_INPUT, "no motion");
    model->skin = (pelt_skin){0};
    test_fails(&test, pelt_helper_bones_add(test.context, model, NULL, NULL), PELT_ERROR_INPUT, "no skin");
    pelt_model_destroy(model);
    test_end(&test);
}

static pelt_result run_tube(pelt_context *context, void *user) {
    (void)user;
    pelt_model *model;
    scene_desc made = {.vertex_count = 60, .frame_count = 4, .seed = 1};
    pelt_result result = scene_find("tube")->make(context, &made, &model);
    if (result != PELT_OK)
        return result;
    uint32_t joints = model->skeleton.joint_count;
    const float *weights = model->skin.weights;
    result = pelt_helper_bones_add(context, model, NULL, NULL);
    if (result != PELT_OK) {
        assert_int_equal(model->skeleton.joint_count, joints);
        assert_ptr_equal(model->skin.weights, weights);
    }
    pelt_model_destroy(model);
    return result;
}

static pelt_result run_mush(pelt_context *context, void *user) {
    (void)user;
    pelt_model *model;
    pelt_clip clip;
    scene_desc made = {.vertex_count = 60, .frame_count = 4, .seed = 1};
    pelt_result result = scene_find("tube")->make(context, &made, &model);
    if (result != PELT_OK)
        return result;
    result = pelt_clip_delta_mush(context, model, &model->motions[0], 4, NULL, &clip);
    assert_true((clip.positions != NULL) == (result == PELT_OK));
    pelt_model_destroy(model);
    return result;
}

static void survives_failing_allocations(void **state) {
    (void)state;
    test_fail_each_allocation(1, run_tube, NULL);
    test_fail_each_allocation(1, run_mush, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(controls_are_tangents),
        cmocka_unit_test(controls_keep_scales),
        cmocka_unit_test(half_turn),
        cmocka_unit_test(bends),
        cmocka_unit_test(limits_and_threads),
        cmocka_unit_test(mush_keeps_what_one_bone_moves),
        cmocka_unit_test(mush_smooths_bends),
        cmocka_unit_test(mush_as_bones),
        cmocka_unit_test(stays_without_difference),
        cmocka_unit_test(refuses),
        cmocka_unit_test(survives_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
