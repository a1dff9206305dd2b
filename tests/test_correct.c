/* Corrections: exact when the rank suffices, error monotone in the rank, played as reported, next to existing morphs,
 * the same for any number of threads, model unchanged when memory runs out. */
#include "support.h"

#include "correct/correct.h"
#include "scenes.h"

#include <math.h>

#define TRUE_RANK 3

/* A generated model, the target frames of its first motion, and the correction settings. */
typedef struct subject {
    test_context test;
    pelt_context *context;
    pelt_model *model;
    pelt_clip clip;
    pelt_correct_desc desc;
    pelt_correct_report report;
} subject;

static void begin_scene(subject *s, uint32_t threads, const char *name, uint32_t vertices, uint32_t frames) {
    *s = (subject){.desc = pelt_correct_desc_default()};
    s->context = test_begin(&s->test, threads);
    scene_desc desc = {.vertex_count = vertices, .frame_count = frames, .seed = 1};
    test_ok(&s->test, scene_find(name)->make(s->context, &desc, &s->model));
}

static void end(subject *s) {
    pelt_model_destroy(s->model);
    test_end(&s->test);
}

static void correct(subject *s) {
    test_ok(&s->test, pelt_correct(s->context, s->model, &(pelt_correct_pair){0, &s->clip}, 1, &s->desc, &s->report));
    test_ok(&s->test, pelt_model_validate(s->context, s->model));
}

/* Displacement `mode` of a rest position: smooth, so that seams stay closed. */
static void displace(const float rest[3], uint32_t mode, float out[3]) {
    for (int a = 0; a < 3; a++)
        out[a] = 0.1f * sinf((float)(mode + 1) * (3 * rest[a] + 2 * rest[(a + 1) % 3]) + (float)(a + (int)mode));
}

static float weight_of(uint32_t mode, uint32_t frame) {
    return cosf(0.9f * (float)((mode + 1) * frame) + (float)mode);
}

/* The clip: frames of the first motion with the rest pose displaced by `rank` modes; in the model's memory. */
static void make_target(subject *s, uint32_t rank) {
    pelt_model *model = s->model, moved = *model;
    const pelt_mesh *mesh = &model->mesh;
    pelt_clip *clip = &s->clip;
    test_ok(&s->test, pelt_clip_from_motion(s->context, model, &model->motions[0], 30, PELT_SKINNING_LINEAR, clip));
    size_t floats = 3 * (size_t)mesh->vertex_count;
    float *frames = pelt_model_alloc(s->context, model, clip->frame_count * floats, sizeof *frames);
    moved.mesh.positions = pelt_model_alloc(s->context, model, floats, sizeof(float));
    assert_true(frames && moved.mesh.positions && !mesh->points.of);
    for (uint32_t k = 0; k < clip->frame_count; k++) {
        memcpy(moved.mesh.positions, mesh->positions, floats * sizeof(float));
        for (size_t i = 0; i < mesh->vertex_count; i++)
            for (uint32_t r = 0; r < rank; r++) {
                float d[3];
                displace(mesh->positions + 3 * i, r, d);
                for (int a = 0; a < 3; a++)
                    moved.mesh.positions[3 * i + (size_t)a] += weight_of(r, k) * d[a];
            }
        test_ok(&s->test, pelt_model_pose(s->context, &moved, &model->motions[0], clip->times[k], PELT_SKINNING_LINEAR,
                                          frames + k * floats, NULL));
    }
    clip->positions = frames;
}

/* Two threads, with a clip of TRUE_RANK. */
static void begin(subject *s, const char *name, uint32_t vertices, uint32_t frames) {
    begin_scene(s, 2, name, vertices, frames);
    make_target(s, TRUE_RANK);
    s->desc.rank = TRUE_RANK;
}

/* Of the first motion. */
static double played_error(const subject *s) {
    pelt_clip played;
    pelt_difference difference;
    test_ok(&s->test, pelt_clip_from_motion_at(s->context, s->model, &s->model->motions[0], s->clip.times,
                                               s->clip.frame_count, PELT_SKINNING_LINEAR, &played));
    test_ok(&s->test, pelt_compare_clips(s->context, &s->clip, &played, NULL, &difference, NULL));
    return difference.error_rms;
}

/* ---- Exact, and played ------------------------------------------------------------------------------------ */

static void check_exact(const char *name, uint32_t basis) {
    subject s;
    begin(&s, name, 400, 12);
    s.desc.basis = basis;
    correct(&s);
    assert_int_equal(s.report.rank, TRUE_RANK);
    assert_int_equal(s.report.frame_count, 12);
    assert_true(s.report.errors[0] > 10 && s.report.errors[TRUE_RANK - 1] > 1);
    assert_true(s.report.errors[TRUE_RANK] < 1e-3); /* 1e-6 of the size: rounding of the clip */
    assert_true(played_error(&s) < 2e-3);           /* and rounding of morphs and weights */
    assert_int_equal(s.model->changed & (PELT_CHANGED_MORPHS | PELT_CHANGED_MOTIONS),
                     PELT_CHANGED_MORPHS | PELT_CHANGED_MOTIONS);
    assert_true(s.model->morphs.morph_count >= TRUE_RANK);
    end(&s);
}

static void exact_at_the_true_rank(void **state) {
    (void)state;
    check_exact("tube", PELT_CORRECT_SKINNED);
    check_exact("tube", PELT_CORRECT_REST);
    check_exact("creature", PELT_CORRECT_SKINNED);
    check_exact("production", PELT_CORRECT_SKINNED); /* parts of several nodes */
}

/* First-order optimality: no small change of any of these numbers lowers the error. */
static void check_least(const subject *s, const px_correction *c, double *numbers, size_t count, size_t step) {
    double least, error;
    test_ok(&s->test, px_correct_measure(c, &c->modes, 2, &least));
    for (size_t n = 0; n < count; n += step)
        for (int sign = -1; sign <= 1; sign += 2) {
            double old = numbers[n];
            numbers[n] += 0.01 * sign;
            test_ok(&s->test, px_correct_measure(c, &c->modes, 2, &error));
            assert_true(error >= least * (1 - 1e-12));
            numbers[n] = old;
        }
}

/* Each step alone finds its minimum, from any start. Rank 2 of 3: rows are wider than the rank. */
static void steps_find_the_least(void **state) {
    (void)state;
    subject s;
    begin(&s, "creature", 200, 6);
    px_correction c = {.context = s.context, .model = s.model, .pair_count = 1, .desc = s.desc};
    c.scratch = px_arena_create(s.context);
    c.pairs = &(pelt_correct_pair){0, &s.clip};
    test_ok(&s.test, px_correct_begin(&c));
    size_t places = (size_t)3 * c.classes.count * c.rank_most;
    test_random random = {1};
    for (size_t n = 0; n < places; n++)
        c.modes.places[n] = test_random_real(&random, -0.1, 0.1);
    for (size_t n = 0; n < (size_t)c.rank_most * c.frame_count; n++)
        c.modes.weights[n] = test_random_real(&random, -1, 1);
    double before, told, after, turned;
    test_ok(&s.test, px_correct_measure(&c, &c.modes, 2, &before));
    test_ok(&s.test, px_correct_fit_weights(&c, &c.modes, 2));
    check_least(&s, &c, c.modes.weights, (size_t)2 * c.frame_count, 1);
    test_ok(&s.test, px_correct_fit_places(&c, &c.modes, 2, &told));
    check_least(&s, &c, c.modes.places, places, 97);
    test_ok(&s.test, px_correct_measure(&c, &c.modes, 2, &after));
    assert_true(after < before && fabs(told - after) < 1e-6 * after);
    test_ok(&s.test, px_correct_order(&c, &c.modes, 2)); /* other modes, equal displacements */
    test_ok(&s.test, px_correct_measure(&c, &c.modes, 2, &turned));
    assert_true(fabs(turned - after) < 1e-9 * after);
    px_arena_destroy(c.scratch);
    end(&s);
}

/* ---- Never worse ------------------------------------------------------------------------------------------ */

/* Bones of few iterations for a generated animation, then both bases. */
static void check_monotone(const char *name, const char *transforms, bool paper_rises) {
    subject s;
    begin_scene(&s, 2, name, 500, 20);
    s.clip = s.model->clips[0];
    pelt_decompose_desc bones = pelt_decompose_desc_default();
    bones.bones = 6;
    bones.iterations = 2;
    bones.free_bones = true; /* ill-conditioned bones: the rest basis gets worse */
    test_ok(&s.test, pelt_options_set(s.context, pelt_decompose_options(), &bones, "transforms", transforms));
    test_ok(&s.test, pelt_decompose(s.context, s.model, &bones, NULL));
    s.desc.rank = 8;
    s.desc.basis = PELT_CORRECT_REST;
    pelt_model decomposed = *s.model;
    correct(&s);
    pelt_correct_report paper = s.report;
    *s.model = decomposed;
    s.desc.basis = PELT_CORRECT_SKINNED;
    correct(&s);
    assert_int_equal(s.report.rank, 8);
    assert_true(s.report.errors[0] == paper.errors[0]);
    bool rises = false;
    for (uint32_t r = 1; r <= 8; r++) {
        rises |= paper.errors[r] > 1.01 * paper.errors[0]; /* worse than without corrections */
        assert_true(s.report.errors[r] < s.report.errors[r - 1]);
        assert_true(s.report.errors[r] <= paper.errors[r] * (1 + 1e-9));
    }
    assert_true(rises || !paper_rises);
    assert_true(fabs(played_error(&s) - s.report.errors[8]) < 1e-3 * s.report.errors[8] + 1e-3);
    end(&s);
}

static void never_worse_with_a_mode_more(void **state) {
    (void)state;
    check_monotone("cloth", "rigid", false);
    check_monotone("cloth", "affine", true);
    check_monotone("softbody", "affine", false);
}

static void stops_at_the_error(void **state) {
    (void)state;
    subject s;
    begin(&s, "tube", 300, 12);
    s.desc.rank = 10;
    s.desc.error = 0.01;
    correct(&s);
    assert_int_equal(s.report.rank, TRUE_RANK);
    s.desc.rank = 0; /* no error left to correct: nothing changes */
    uint32_t morphs = s.model->morphs.morph_count;
    correct(&s);
    assert_true(s.report.rank == 0 && s.report.errors[0] < 2e-3 && s.model->morphs.morph_count == morphs);
    end(&s);
}

/* ---- Existing morphs -------------------------------------------------------------------------------------- */

/* A morph of the whole mesh in x, driven by the first joint: by a motion with keys between frames, and by a cubic
 * one. */
static void add_morph(const subject *s) {
    pelt_model *model = s->model;
    pelt_context *context = s->context;
    static const float times[] = {0.01f, 0.15f, 0.3f}, values[] = {0, 1, 0.25f};
    static const float cubic_times[] = {0, 1}, cubic[] = {0, 0.5f, 1, 1, 0.75f, 0};
    uint32_t joint = 0, count = model->mesh.vertex_count;
    float *offsets = pelt_model_alloc(context, model, 3 * (size_t)count, sizeof *offsets);
    pelt_morph *morph = pelt_model_alloc(context, model, 1, sizeof *morph);
    pelt_motion *motions = pelt_model_alloc(context, model, 2, sizeof *motions);
    pelt_track *tracks = pelt_model_alloc(context, model, model->motions[0].track_count + 2, sizeof *tracks);
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
    test_ok(&s->test, pelt_model_validate(context, model));
}

static void other_morphs_and_motions_stay(void **state) {
    (void)state;
    subject s;
    begin_scene(&s, 2, "tube", 300, 10);
    add_morph(&s);
    make_target(&s, TRUE_RANK);
    pelt_clip before, after;
    float times[21];
    for (int k = 0; k <= 20; k++)
        times[k] = 0.05f * (float)k;
    pelt_model *model = s.model;
    test_ok(&s.test,
            pelt_clip_from_motion_at(s.context, model, &model->motions[1], times, 21, PELT_SKINNING_LINEAR, &before));
    s.desc.rank = TRUE_RANK;
    correct(&s);
    assert_int_equal(model->morphs.morph_count, 1 + TRUE_RANK + 1); /* the offset */
    assert_string_equal(model->morphs.morphs[0].name, "lean");
    assert_string_equal(model->morphs.morphs[1].name, "correction 1");
    assert_string_equal(model->morphs.morphs[1 + TRUE_RANK].name, "correction offset");
    assert_true(played_error(&s) < 2e-3);
    test_ok(&s.test,
            pelt_clip_from_motion_at(s.context, model, &model->motions[1], times, 21, PELT_SKINNING_LINEAR, &after));
    pelt_difference difference;
    test_ok(&s.test, pelt_compare_clips(s.context, &before, &after, NULL, &difference, NULL));
    assert_true(difference.error_max_units == 0);
    float weights[1 + TRUE_RANK + 1]; /* between frames the old morph keeps its value */
    pelt_motion_sample(model, &model->motions[0], 0.15f, NULL, weights);
    assert_true(fabsf(weights[0] - 1) < 1e-6f);
    end(&s);
}

/* A static skin gets a motion of weights alone: the principal components of the animation. */
static void a_still_skin_gets_a_motion(void **state) {
    (void)state;
    subject s;
    begin(&s, "tube", 300, 12);
    s.model->motion_count = 0;
    s.desc.rank = 11;
    pelt_correct_pair still = {PELT_NONE, &s.clip};
    test_ok(&s.test, pelt_correct(s.context, s.model, &still, 1, &s.desc, &s.report));
    assert_int_equal(s.model->motion_count, 1);
    assert_true(played_error(&s) < 0.05 * s.report.errors[0]);
    end(&s);
}

static void normals_come_nearer(void **state) {
    (void)state;
    subject s;
    begin(&s, "tube", 600, 12);
    s.desc.normals = true;
    correct(&s);
    assert_true(s.report.normals_before > 0.1 && s.report.normals_after < 0.6 * s.report.normals_before);
    for (uint32_t m = 0; m < s.model->morphs.morph_count; m++)
        assert_non_null(s.model->morphs.morphs[m].normals);
    end(&s);
}

#define SHAPES 4

/* Frames of a still skin that repeat SHAPES shapes: missing normals have the rank SHAPES exactly. */
static void make_shapes(subject *s) {
    size_t floats = 3 * (size_t)s->model->mesh.vertex_count;
    float *frames = (float *)(uintptr_t)s->clip.positions;
    for (uint32_t k = 0; k < s->clip.frame_count; k++)
        for (size_t e = 0; e < floats; e++) {
            float d[3];
            displace(s->model->mesh.positions + e / 3 * 3, k % SHAPES, d);
            frames[k * floats + e] = s->model->mesh.positions[e] + d[e % 3];
        }
    s->model->motion_count = 0;
}

static void own_normals_are_exact(uint32_t basis, uint32_t rule) {
    subject s;
    begin(&s, "tube", 600, 12);
    make_shapes(&s);
    s.desc.rank = 1; /* one mode cannot shade four shapes */
    s.desc.normals = true;
    s.desc.basis = basis;
    s.desc.normal_rule = rule;
    pelt_correct_pair still = {PELT_NONE, &s.clip};
    pelt_model before = *s.model;
    test_ok(&s.test, pelt_correct(s.context, s.model, &still, 1, &s.desc, &s.report));
    double shared = s.report.normals_after;
    assert_int_equal(s.report.normal_rank, 0);
    *s.model = before;
    s.desc.normals = false;
    s.desc.normal_rank = 10;
    test_ok(&s.test, pelt_correct(s.context, s.model, &still, 1, &s.desc, &s.report));
    test_ok(&s.test, pelt_model_validate(s.context, s.model));
    assert_int_equal(s.report.normal_rank, SHAPES);
    assert_true(shared < s.report.normals_before && shared > 0.05);
    assert_true(s.report.normals_after < 1e-5);
    const pelt_morph *morphs = s.model->morphs.morphs;
    assert_int_equal(s.model->morphs.morph_count, 1 + SHAPES + 1);
    assert_true(strcmp(morphs[0].name, "correction 1") == 0 && !morphs[0].normals);
    assert_true(strcmp(morphs[1].name, "normal correction 1") == 0 && morphs[1].normals);
    for (size_t e = 0; e < 3 * (size_t)morphs[1].vertex_count; e++)
        assert_true(morphs[1].positions[e] == 0);
    *s.model = before; /* as many modes of positions as there are shapes: nothing is left for normals alone */
    s.desc.rank = SHAPES;
    s.desc.normals = true;
    test_ok(&s.test, pelt_correct(s.context, s.model, &still, 1, &s.desc, &s.report));
    assert_true(s.report.normal_rank == 0 && s.report.normals_after < 1e-5);
    end(&s);
}

static void normals_with_weights_of_their_own(void **state) {
    (void)state;
    own_normals_are_exact(PELT_CORRECT_SKINNED, PELT_NORMALS_MATRIX);
    own_normals_are_exact(PELT_CORRECT_SKINNED, PELT_NORMALS_INVERSE);
    own_normals_are_exact(PELT_CORRECT_REST, PELT_NORMALS_MATRIX);
    own_normals_are_exact(PELT_CORRECT_REST, PELT_NORMALS_INVERSE);
}

/* On bones that shear: shared weights, weights of their own and both are each better than less, and more own modes are
 * better than fewer. Corrected again, normals start where the first corrections left them. */
static void normals_never_worse(void **state) {
    (void)state;
    for (uint32_t rule = PELT_NORMALS_MATRIX; rule <= PELT_NORMALS_INVERSE; rule++) {
        static const struct {
            bool shared;
            uint32_t own;
        } runs[] = {{true, 0}, {false, 2}, {false, 4}, {true, 4}};
        double after[4];
        subject s;
        begin_scene(&s, 2, "creature", 500, 12);
        make_target(&s, 6);
        s.desc.rank = 2;
        s.desc.normal_rule = rule;
        pelt_model before = *s.model;
        for (int n = 0; n < 4; n++) {
            *s.model = before;
            s.desc.normals = runs[n].shared;
            s.desc.normal_rank = runs[n].own;
            correct(&s);
            after[n] = s.report.normals_after;
        }
        assert_true(after[0] < s.report.normals_before && after[1] < s.report.normals_before);
        assert_true(after[2] < 0.9 * after[1] && after[3] < 0.9 * after[2]);
        correct(&s);
        assert_float_equal(s.report.normals_before, after[3], 1e-5);
        assert_true(s.report.normals_after < after[3]);
        end(&s);
    }
}

/* Vertices with equal positions and motion get equal displacements, to the bit. */
static void no_seam_opens(void **state) {
    (void)state;
    subject s;
    begin(&s, "creature", 500, 8);
    test_ok(&s.test, pelt_model_weld(s.context, s.model));
    uint32_t welds = s.model->mesh.weld.count;
    assert_true(welds < s.model->mesh.vertex_count);
    s.desc.normals = true;
    correct(&s);
    assert_null(s.model->mesh.weld.of);
    test_ok(&s.test, pelt_model_weld(s.context, s.model)); /* the weld takes morphs into account */
    assert_int_equal(s.model->mesh.weld.count, welds);
    end(&s);
}

/* ---- Threads, memory, bad input --------------------------------------------------------------------------- */

static void same_for_any_number_of_threads(void **state) {
    (void)state;
    subject one, four;
    begin_scene(&one, 1, "creature", 600, 14);
    begin_scene(&four, 4, "creature", 600, 14);
    for (int n = 0; n < 2; n++) {
        subject *s = n ? &four : &one;
        make_target(s, 6);
        s->desc.rank = 4;
        s->desc.normals = true;
        s->desc.normal_rank = 3;
        correct(s);
    }
    assert_int_equal(one.model->morphs.morph_count, four.model->morphs.morph_count);
    for (uint32_t m = 0; m < one.model->morphs.morph_count; m++) {
        const pelt_morph *a = &one.model->morphs.morphs[m], *b = &four.model->morphs.morphs[m];
        assert_memory_equal(a->positions, b->positions, 12 * (size_t)a->vertex_count);
        assert_memory_equal(a->normals, b->normals, 12 * (size_t)a->vertex_count);
    }
    const pelt_motion *a = one.model->motions, *b = four.model->motions;
    const pelt_track *x = &a->tracks[a->track_count - 1], *y = &b->tracks[b->track_count - 1];
    assert_true(x->path == PELT_PATH_WEIGHTS && x->width == 4 + 3 + 1 && x->key_count == y->key_count);
    assert_memory_equal(x->values, y->values, sizeof(float) * x->width * x->key_count);
    end(&one);
    end(&four);
}

/* After every failure the model is unchanged. */
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
    desc.normal_rank = 1;
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

static void check_refusal(const subject *s, const pelt_correct_pair *pairs, uint32_t count, pelt_result result,
                          const char *text) {
    test_fails(&s->test, pelt_correct(s->context, s->model, pairs, count, &s->desc, NULL), result, text);
}

static void bad_input_is_reported(void **state) {
    (void)state;
    subject s;
    begin(&s, "tube", 100, 4);
    pelt_clip bad = s.clip;
    pelt_correct_pair pairs[2] = {{0, &s.clip}, {0, &s.clip}};
    check_refusal(&s, pairs, 2, PELT_ERROR_USAGE, "corrected twice");
    check_refusal(&s, pairs, 0, PELT_ERROR_USAGE, "no clip");
    pairs[0].motion = 7;
    check_refusal(&s, pairs, 1, PELT_ERROR_USAGE, "no motion 7");
    pairs[0] = (pelt_correct_pair){0, &bad};
    bad.frame_count = 0;
    check_refusal(&s, pairs, 1, PELT_ERROR_INPUT, "has no frames");
    bad = s.clip;
    bad.point_count--;
    check_refusal(&s, pairs, 1, PELT_ERROR_INPUT, "points");
    bad = s.clip;
    ((float *)(uintptr_t)s.clip.positions)[3 * (size_t)s.clip.point_count + 5] = NAN;
    check_refusal(&s, pairs, 1, PELT_ERROR_INPUT, "frame 1, point 1");
    s.desc.rank = 101;
    check_refusal(&s, pairs, 1, PELT_ERROR_USAGE, "from 0 to 100");
    s.desc.rank = 1;
    s.desc.normals = true;
    s.model->mesh.normals = NULL;
    check_refusal(&s, pairs, 1, PELT_ERROR_INPUT, "no normals");
    s.model->skin.bone_count = 0;
    s.desc.normals = false;
    check_refusal(&s, pairs, 1, PELT_ERROR_INPUT, "no skin");
    assert_true(s.model->morphs.morph_count == 0 && s.model->changed == 0);
    end(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_at_the_true_rank),
        cmocka_unit_test(steps_find_the_least),
        test_long(never_worse_with_a_mode_more),
        cmocka_unit_test(stops_at_the_error),
        cmocka_unit_test(other_morphs_and_motions_stay),
        cmocka_unit_test(a_still_skin_gets_a_motion),
        cmocka_unit_test(normals_come_nearer),
        cmocka_unit_test(normals_with_weights_of_their_own),
        cmocka_unit_test(normals_never_worse),
        cmocka_unit_test(no_seam_opens),
        cmocka_unit_test(same_for_any_number_of_threads),
        cmocka_unit_test(memory_may_run_out),
        cmocka_unit_test(bad_input_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
