/* Corrections: exact where displacements have the rank, never worse with a mode more, played as reported, beside morphs
 * that are there, the same for any number of threads, clean when memory runs out. */
#include "support.h"

#include "correct/correct.h"
#include "scenes.h"

#include <math.h>

#define TRUE_RANK 3

static pelt_model *make_scene(test_context *test, const char *name, uint32_t vertices, uint32_t frames) {
    pelt_model *model;
    scene_desc desc = {.vertex_count = vertices, .frame_count = frames, .seed = 1};
    test_ok(test, scene_find(name)->make(test->context, &desc, &model));
    return model;
}

/* Displacement `mode` of a rest position: smooth, so that seams stay closed. */
static void displace(const float rest[3], uint32_t mode, float out[3]) {
    for (int a = 0; a < 3; a++)
        out[a] = 0.1f * sinf((float)(mode + 1) * (3 * rest[a] + 2 * rest[(a + 1) % 3]) + (float)(a + (int)mode));
}

static float weight_of(uint32_t mode, uint32_t frame) {
    return cosf(0.9f * (float)((mode + 1) * frame) + (float)mode);
}

/* The frames of a motion with the rest pose displaced, rank TRUE_RANK; in the model's memory. */
static pelt_clip make_target(pelt_context *context, pelt_model *model, uint32_t motion, uint32_t rank) {
    const pelt_mesh *mesh = &model->mesh;
    pelt_clip clip;
    assert_int_equal(pelt_clip_from_motion(context, model, &model->motions[motion], 30, PELT_SKINNING_LINEAR, &clip),
                     PELT_OK);
    size_t floats = 3 * (size_t)mesh->vertex_count;
    float *frames = pelt_model_alloc(context, model, clip.frame_count * floats, sizeof *frames);
    pelt_model moved = *model;
    moved.mesh.positions = pelt_model_alloc(context, model, floats, sizeof(float));
    assert_true(frames && moved.mesh.positions && !mesh->vertex_points);
    for (uint32_t k = 0; k < clip.frame_count; k++) {
        memcpy(moved.mesh.positions, mesh->positions, floats * sizeof(float));
        for (size_t i = 0; i < mesh->vertex_count; i++)
            for (uint32_t r = 0; r < rank; r++) {
                float d[3];
                displace(mesh->positions + 3 * i, r, d);
                for (int a = 0; a < 3; a++)
                    moved.mesh.positions[3 * i + (size_t)a] += weight_of(r, k) * d[a];
            }
        assert_int_equal(pelt_model_pose(context, &moved, &model->motions[motion], clip.times[k], PELT_SKINNING_LINEAR,
                                         frames + k * floats, NULL),
                         PELT_OK);
    }
    clip.positions = frames;
    return clip;
}

static double played_error(const test_context *test, pelt_model *model, uint32_t motion, const pelt_clip *clip) {
    pelt_clip played;
    pelt_difference difference;
    test_ok(test, pelt_clip_from_motion_at(test->context, model, &model->motions[motion], clip->times,
                                           clip->frame_count, PELT_SKINNING_LINEAR, &played));
    test_ok(test, pelt_compare_clips(test->context, clip, &played, NULL, &difference, NULL));
    return difference.error_rms;
}

/* ---- Exact, and played ------------------------------------------------------------------------------------ */

static void check_exact(const char *name, uint32_t basis) {
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    pelt_model *model = make_scene(&test, name, 400, 12);
    pelt_clip clip = make_target(context, model, 0, TRUE_RANK);
    pelt_correct_desc desc = pelt_correct_desc_default();
    desc.rank = TRUE_RANK;
    desc.basis = basis;
    pelt_correct_report report;
    test_ok(&test, pelt_correct(context, model, &(pelt_correct_pair){0, &clip}, 1, &desc, &report));
    test_ok(&test, pelt_model_validate(context, model));
    assert_int_equal(report.rank, TRUE_RANK);
    assert_int_equal(report.frame_count, 12);
    assert_true(report.errors[0] > 10 && report.errors[TRUE_RANK - 1] > 1);
    assert_true(report.errors[TRUE_RANK] < 1e-3);             /* 1e-6 of the size: the clip's own rounding */
    assert_true(played_error(&test, model, 0, &clip) < 2e-3); /* and that of morphs and weights */
    assert_int_equal(model->changed & (PELT_CHANGED_MORPHS | PELT_CHANGED_MOTIONS),
                     PELT_CHANGED_MORPHS | PELT_CHANGED_MOTIONS);
    assert_true(model->morphs.morph_count >= TRUE_RANK);
    pelt_model_destroy(model);
    test_end(&test);
}

static void exact_at_the_true_rank(void **state) {
    (void)state;
    check_exact("tube", PELT_CORRECT_SKINNED);
    check_exact("tube", PELT_CORRECT_REST);
    check_exact("creature", PELT_CORRECT_SKINNED);
    check_exact("production", PELT_CORRECT_SKINNED); /* parts of several nodes */
}

/* No small change of any of these numbers lowers the error. */
static void check_least(const test_context *test, const px_correction *c, uint32_t rank, double *numbers, size_t count,
                        size_t step) {
    double least, error;
    test_ok(test, px_correct_measure(c, &c->modes, rank, &least));
    for (size_t n = 0; n < count; n += step)
        for (int sign = -1; sign <= 1; sign += 2) {
            double old = numbers[n];
            numbers[n] += 0.01 * sign;
            test_ok(test, px_correct_measure(c, &c->modes, rank, &error));
            assert_true(error >= least * (1 - 1e-12));
            numbers[n] = old;
        }
}

/* Each step by itself finds the least, from anywhere. */
static void steps_find_the_least(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    pelt_model *model = make_scene(&test, "creature", 200, 6);
    pelt_clip clip = make_target(context, model, 0, TRUE_RANK);
    uint32_t pair_frames[2] = {0, clip.frame_count};
    px_correction c = {.context = context, .scratch = px_arena_create(context), .model = model, .pair_count = 1};
    c.pairs = &(pelt_correct_pair){0, &clip};
    c.pair_frames = pair_frames;
    c.frame_count = clip.frame_count;
    c.rank_most = 3;
    test_ok(&test, px_correct_gather(&c));
    double whole, told;
    c.errors = &whole;
    test_ok(&test, px_correct_measure(&c, &c.modes, 0, &whole));
    size_t places = (size_t)3 * c.units.count * c.rank_most;
    c.modes.places = PX_NEW(c.scratch, double, places);
    c.modes.weights = PX_NEW(c.scratch, double, (size_t)c.rank_most *c.frame_count);
    assert_true(c.modes.places && c.modes.weights);
    test_random random = {1};
    for (size_t n = 0; n < places; n++)
        c.modes.places[n] = test_random_real(&random, -0.1, 0.1);
    for (size_t n = 0; n < (size_t)c.rank_most * c.frame_count; n++)
        c.modes.weights[n] = test_random_real(&random, -1, 1);
    double before, after, turned;
    test_ok(&test, px_correct_measure(&c, &c.modes, 2, &before)); /* rank 2 of 3: rows are wider than the rank */
    test_ok(&test, px_correct_fit_weights(&c, &c.modes, 2));
    check_least(&test, &c, 2, c.modes.weights, (size_t)2 * c.frame_count, 1);
    test_ok(&test, px_correct_fit_places(&c, &c.modes, 2, &told));
    check_least(&test, &c, 2, c.modes.places, places, 97);
    test_ok(&test, px_correct_measure(&c, &c.modes, 2, &after));
    assert_true(after < before && fabs(told - after) < 1e-6 * after);
    test_ok(&test, px_correct_order(&c, &c.modes, 2)); /* other modes, the same displacements */
    test_ok(&test, px_correct_measure(&c, &c.modes, 2, &turned));
    assert_true(fabs(turned - after) < 1e-9 * after);
    px_arena_destroy(c.scratch);
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Never worse ------------------------------------------------------------------------------------------ */

/* Bones of few iterations for a generated animation, then both bases. */
static void check_monotone(const char *name, const char *transforms) {
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    pelt_model *model = make_scene(&test, name, 500, 20);
    size_t count;
    const pelt_option *table = pelt_decompose_options(&count);
    pelt_decompose_desc bones = pelt_decompose_desc_default();
    bones.bones = 6;
    bones.iterations = 2;
    test_ok(&test, pelt_options_set(context, table, count, &bones, "transforms", transforms));
    test_ok(&test, pelt_decompose(context, model, &bones, NULL));
    pelt_correct_desc desc = pelt_correct_desc_default();
    pelt_correct_pair pair = {0, &model->clips[0]};
    pelt_correct_report ours, paper;
    desc.rank = 8;
    desc.basis = PELT_CORRECT_REST;
    pelt_model copy = *model;
    test_ok(&test, pelt_correct(context, &copy, &pair, 1, &desc, &paper));
    desc.basis = PELT_CORRECT_SKINNED;
    test_ok(&test, pelt_correct(context, model, &pair, 1, &desc, &ours));
    assert_int_equal(ours.rank, 8);
    assert_true(ours.errors[0] == paper.errors[0]);
    for (uint32_t r = 1; r <= 8; r++) {
        assert_true(ours.errors[r] < ours.errors[r - 1]);
        assert_true(ours.errors[r] <= paper.errors[r] * (1 + 1e-9));
    }
    double played = played_error(&test, model, 0, &model->clips[0]);
    assert_true(fabs(played - ours.errors[8]) < 1e-3 * ours.errors[8] + 1e-3);
    pelt_model_destroy(model);
    test_end(&test);
}

static void never_worse_with_a_mode_more(void **state) {
    (void)state;
    check_monotone("cloth", "rigid");
    check_monotone("cloth", "affine");
    check_monotone("softbody", "affine");
}

static void stops_at_the_error(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    pelt_model *model = make_scene(&test, "tube", 300, 12);
    pelt_clip clip = make_target(context, model, 0, TRUE_RANK);
    pelt_correct_desc desc = pelt_correct_desc_default();
    desc.error = 0.01;
    pelt_correct_report report;
    test_ok(&test, pelt_correct(context, model, &(pelt_correct_pair){0, &clip}, 1, &desc, &report));
    assert_int_equal(report.rank, TRUE_RANK);
    desc.rank = 0; /* nothing is left: nothing changes */
    uint32_t morphs = model->morphs.morph_count;
    test_ok(&test, pelt_correct(context, model, &(pelt_correct_pair){0, &clip}, 1, &desc, &report));
    assert_true(report.rank == 0 && report.errors[0] < 2e-3 && model->morphs.morph_count == morphs);
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Beside what is there --------------------------------------------------------------------------------- */

/* A morph of the whole mesh in x, driven by the first joint: by a motion with keys between frames, and by a cubic one. */
static void add_morph(test_context *test, pelt_model *model) {
    static const float times[] = {0.01f, 0.15f, 0.3f}, values[] = {0, 1, 0.25f};
    static const float cubic_times[] = {0, 1}, cubic[] = {0, 0.5f, 1, 1, 0.75f, 0};
    uint32_t joint = 0, count = model->mesh.vertex_count;
    float *offsets = pelt_model_alloc(test->context, model, 3 * (size_t)count, sizeof *offsets);
    pelt_morph *morph = pelt_model_alloc(test->context, model, 1, sizeof *morph);
    pelt_motion *motions = pelt_model_alloc(test->context, model, 2, sizeof *motions);
    pelt_track *tracks = pelt_model_alloc(test->context, model, model->motions[0].track_count + 2, sizeof *tracks);
    assert_true(offsets && morph && motions && tracks);
    for (size_t i = 0; i < count; i++)
        offsets[3 * i] = 0.2f * model->mesh.positions[3 * i + 1];
    *morph = (pelt_morph){.name = "lean", .joint = joint, .vertex_count = count, .positions = offsets};
    motions[0] = model->motions[0];
    memcpy(tracks, motions[0].tracks, motions[0].track_count * sizeof *tracks);
    tracks[motions[0].track_count] =
        (pelt_track){joint, PELT_PATH_WEIGHTS, PELT_INTERPOLATION_LINEAR, 1, 3, times, values};
    motions[0].tracks = tracks;
    motions[1] = (pelt_motion){.name = "other", .end = 1, .track_count = 1};
    motions[1].tracks = tracks + motions[0].track_count + 1;
    motions[1].tracks[0] = (pelt_track){joint, PELT_PATH_WEIGHTS, PELT_INTERPOLATION_CUBIC, 1, 2, cubic_times, cubic};
    motions[0].track_count++;
    model->motions = motions;
    model->motion_count = 2;
    model->morphs = (pelt_morph_set){1, morph};
    test_ok(test, pelt_model_validate(test->context, model));
}

static void other_morphs_and_motions_stay(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    pelt_model *model = make_scene(&test, "tube", 300, 10);
    add_morph(&test, model);
    pelt_clip clip = make_target(context, model, 0, TRUE_RANK), before, after;
    float times[21];
    for (int k = 0; k <= 20; k++)
        times[k] = 0.05f * (float)k;
    test_ok(&test,
            pelt_clip_from_motion_at(context, model, &model->motions[1], times, 21, PELT_SKINNING_LINEAR, &before));
    pelt_correct_desc desc = pelt_correct_desc_default();
    desc.rank = TRUE_RANK;
    test_ok(&test, pelt_correct(context, model, &(pelt_correct_pair){0, &clip}, 1, &desc, NULL));
    test_ok(&test, pelt_model_validate(context, model));
    assert_int_equal(model->morphs.morph_count, 1 + TRUE_RANK);
    assert_string_equal(model->morphs.morphs[0].name, "lean");
    assert_string_equal(model->morphs.morphs[1].name, "correction 1");
    assert_true(played_error(&test, model, 0, &clip) < 2e-3);
    test_ok(&test,
            pelt_clip_from_motion_at(context, model, &model->motions[1], times, 21, PELT_SKINNING_LINEAR, &after));
    pelt_difference difference;
    test_ok(&test, pelt_compare_clips(context, &before, &after, NULL, &difference, NULL));
    assert_true(difference.error_max_units == 0);
    float weights[1 + TRUE_RANK]; /* between frames the old morph has the value that it had */
    pelt_motion_sample(model, &model->motions[0], 0.15f, NULL, weights);
    assert_true(fabsf(weights[0] - 1) < 1e-6f);
    pelt_model_destroy(model);
    test_end(&test);
}

/* A skin that stands still gets a motion of weights alone: principal components of the animation. */
static void a_still_skin_gets_a_motion(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    pelt_model *model = make_scene(&test, "tube", 300, 12);
    pelt_clip clip = make_target(context, model, 0, TRUE_RANK);
    model->motion_count = 0;
    pelt_correct_desc desc = pelt_correct_desc_default();
    desc.rank = 11;
    pelt_correct_report report;
    test_ok(&test, pelt_correct(context, model, &(pelt_correct_pair){PELT_NONE, &clip}, 1, &desc, &report));
    assert_int_equal(model->motion_count, 1);
    assert_true(played_error(&test, model, 0, &clip) < 0.05 * report.errors[0]);
    pelt_model_destroy(model);
    test_end(&test);
}

static void normals_come_nearer(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    pelt_model *model = make_scene(&test, "tube", 600, 12);
    pelt_clip clip = make_target(context, model, 0, TRUE_RANK);
    pelt_correct_desc desc = pelt_correct_desc_default();
    desc.rank = TRUE_RANK;
    desc.normals = true;
    pelt_correct_report report;
    test_ok(&test, pelt_correct(context, model, &(pelt_correct_pair){0, &clip}, 1, &desc, &report));
    assert_true(report.normals_before > 0.1 && report.normals_after < 0.6 * report.normals_before);
    for (uint32_t m = 0; m < model->morphs.morph_count; m++)
        assert_non_null(model->morphs.morphs[m].normals);
    pelt_model_destroy(model);
    test_end(&test);
}

/* Vertices that lie and move alike are displaced alike, to the bit. */
static void no_seam_opens(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    pelt_model *model = make_scene(&test, "creature", 500, 8);
    pelt_clip clip = make_target(context, model, 0, TRUE_RANK);
    test_ok(&test, pelt_model_weld(context, model));
    uint32_t welds = model->mesh.weld_count;
    assert_true(welds < model->mesh.vertex_count);
    pelt_correct_desc desc = pelt_correct_desc_default();
    desc.normals = true;
    test_ok(&test, pelt_correct(context, model, &(pelt_correct_pair){0, &clip}, 1, &desc, NULL));
    assert_null(model->mesh.weld);
    test_ok(&test, pelt_model_weld(context, model)); /* morphs count */
    assert_int_equal(model->mesh.weld_count, welds);
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Threads, memory, bad input --------------------------------------------------------------------------- */

static void same_for_any_number_of_threads(void **state) {
    (void)state;
    test_context tests[2];
    pelt_model *models[2];
    for (int n = 0; n < 2; n++) {
        pelt_context *context = test_begin(&tests[n], n ? 4 : 1);
        models[n] = make_scene(&tests[n], "creature", 600, 14);
        pelt_clip clip = make_target(context, models[n], 0, 6);
        pelt_correct_desc desc = pelt_correct_desc_default();
        desc.rank = 4;
        test_ok(&tests[n], pelt_correct(context, models[n], &(pelt_correct_pair){0, &clip}, 1, &desc, NULL));
    }
    assert_int_equal(models[0]->morphs.morph_count, models[1]->morphs.morph_count);
    for (uint32_t m = 0; m < models[0]->morphs.morph_count; m++) {
        const pelt_morph *a = &models[0]->morphs.morphs[m], *b = &models[1]->morphs.morphs[m];
        assert_memory_equal(a->positions, b->positions, 12 * (size_t)a->vertex_count);
    }
    const pelt_motion *a = models[0]->motions, *b = models[1]->motions;
    const pelt_track *x = &a->tracks[a->track_count - 1], *y = &b->tracks[b->track_count - 1];
    assert_true(x->path == PELT_PATH_WEIGHTS && x->width == 4 && x->key_count == y->key_count);
    assert_memory_equal(x->values, y->values, sizeof(float) * x->width * x->key_count);
    for (int n = 0; n < 2; n++) {
        pelt_model_destroy(models[n]);
        test_end(&tests[n]);
    }
}

/* After every failure the model is as it was. */
static pelt_result correct_small(pelt_context *context, void *user) {
    (void)user;
    pelt_model *model;
    scene_desc size = {.vertex_count = 60, .frame_count = 4, .seed = 1};
    pelt_result result = scene_find("tube")->make(context, &size, &model);
    if (result != PELT_OK)
        return result;
    pelt_clip clip;
    result = pelt_clip_from_motion(context, model, &model->motions[0], 20, PELT_SKINNING_LINEAR, &clip);
    pelt_correct_desc desc = pelt_correct_desc_default();
    desc.rank = 2;
    desc.normals = true;
    uint32_t motion_count = model->motion_count;
    const pelt_motion *motions = model->motions;
    if (result == PELT_OK)
        result = pelt_correct(context, model, &(pelt_correct_pair){0, &clip}, 1, &desc, NULL);
    if (result != PELT_OK)
        assert_true(model->morphs.morph_count == 0 && model->motions == motions && model->motion_count == motion_count);
    pelt_model_destroy(model);
    return result;
}

static void memory_may_run_out(void **state) {
    (void)state;
    test_fail_each_allocation(1, correct_small, NULL);
}

static void bad_input_is_told(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    pelt_model *model = make_scene(&test, "tube", 100, 4);
    pelt_clip clip = make_target(context, model, 0, 1), bad = clip;
    pelt_correct_pair pairs[2] = {{0, &clip}, {0, &clip}};
    pelt_correct_desc desc = pelt_correct_desc_default();
    test_fails(&test, pelt_correct(context, model, pairs, 2, &desc, NULL), PELT_ERROR_ARGUMENT, "corrected twice");
    test_fails(&test, pelt_correct(context, model, pairs, 0, &desc, NULL), PELT_ERROR_ARGUMENT, "no clip");
    pairs[0].motion = 7;
    test_fails(&test, pelt_correct(context, model, pairs, 1, &desc, NULL), PELT_ERROR_ARGUMENT, "no motion 7");
    pairs[0] = (pelt_correct_pair){0, &bad};
    bad.frame_count = 0;
    test_fails(&test, pelt_correct(context, model, pairs, 1, &desc, NULL), PELT_ERROR_INPUT, "has no frames");
    bad = clip;
    bad.point_count--;
    test_fails(&test, pelt_correct(context, model, pairs, 1, &desc, NULL), PELT_ERROR_INPUT, "points");
    bad = clip;
    ((float *)(uintptr_t)clip.positions)[3 * (size_t)clip.point_count + 5] = NAN;
    test_fails(&test, pelt_correct(context, model, pairs, 1, &desc, NULL), PELT_ERROR_INPUT, "frame 1, point 1");
    desc.rank = 101;
    test_fails(&test, pelt_correct(context, model, pairs, 1, &desc, NULL), PELT_ERROR_ARGUMENT, "from 0 to 100");
    desc.rank = 1;
    desc.normals = true;
    model->mesh.normals = NULL;
    test_fails(&test, pelt_correct(context, model, pairs, 1, &desc, NULL), PELT_ERROR_INPUT, "no normals");
    model->skin.bone_count = 0;
    desc.normals = false;
    test_fails(&test, pelt_correct(context, model, pairs, 1, &desc, NULL), PELT_ERROR_INPUT, "no skin");
    assert_true(model->morphs.morph_count == 0 && model->changed == 0);
    pelt_model_destroy(model);
    test_end(&test);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_at_the_true_rank),
        cmocka_unit_test(steps_find_the_least),
        cmocka_unit_test(never_worse_with_a_mode_more),
        cmocka_unit_test(stops_at_the_error),
        cmocka_unit_test(other_morphs_and_motions_stay),
        cmocka_unit_test(a_still_skin_gets_a_motion),
        cmocka_unit_test(normals_come_nearer),
        cmocka_unit_test(no_seam_opens),
        cmocka_unit_test(same_for_any_number_of_threads),
        cmocka_unit_test(memory_may_run_out),
        cmocka_unit_test(bad_input_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
