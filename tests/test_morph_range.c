/* core/morph_range.c: weights of new morphs scaled to [0, 1], with the same displacements in motions, at rest and with
 * drivers; existing morphs are unchanged. */
#include "support.h"

#include "core/driver.h"
#include "core/mesh.h"
#include "core/morphs.h"
#include "scenes.h"

#include <math.h>

enum { KEYS = 5, WIDTH = 4 }; /* one existing morph, and three new ones */

typedef struct subject {
    test_context test;
    pelt_context *context;
    pelt_model *model;
    px_arena *scratch;
    pelt_morph_set kept; /* the first morph alone */
} subject;

static void *make(const subject *s, size_t count, size_t size) {
    void *memory = pelt_model_alloc(s->context, s->model, count, size);
    assert_non_null(memory);
    return memory;
}

static float delta(uint32_t m, size_t e) {
    return 0.05f * sinf((float)(m + 1) * (float)e);
}

/* Weights of a morph: the existing one leaves [0, 1] too; the last new one is never negative, but large. */
static float weight(uint32_t m, uint32_t key, uint32_t motion) {
    float w = cosf(1.7f * (float)(key + m) + (float)motion);
    return m == 0 ? 1.5f * w : m == WIDTH - 1 ? 3 * fabsf(w) : 0.4f * w;
}

static pelt_track make_track(const subject *s, uint32_t motion, pelt_interpolation interpolation, bool used) {
    uint32_t rows = interpolation == PELT_INTERPOLATION_CUBIC ? 3 : 1;
    float *times = make(s, KEYS, sizeof *times), *values = make(s, (size_t)KEYS * rows * WIDTH, sizeof *values);
    for (uint32_t k = 0; k < KEYS; k++) {
        times[k] = 0.25f * (float)k;
        for (uint32_t r = 0; r < rows; r++)
            for (uint32_t m = 0; m < (used ? (uint32_t)WIDTH : 1); m++)
                values[(k * rows + r) * WIDTH + m] = weight(m, k + 7 * r, motion);
    }
    return (pelt_track){s->model->morphs.morphs[0].joint, PELT_PATH_WEIGHTS, interpolation, WIDTH, KEYS, times, values};
}

static void begin(subject *s) {
    *s = (subject){0};
    s->context = test_begin(&s->test, 1);
    scene_desc size = {.vertex_count = 120, .frame_count = 4, .seed = 1};
    test_ok(&s->test, scene_find("tube")->make(s->context, &size, &s->model));
    s->scratch = px_arena_create(s->context);
    assert_non_null(s->scratch);
    pelt_model *model = s->model;
    uint32_t count = model->mesh.vertex_count;
    assert_true(model->mesh.normals != NULL);
    px_morph_group *groups;
    uint32_t group_count;
    test_ok(&s->test, px_morph_groups_find(s->scratch, model, &groups, &group_count));
    assert_int_equal(group_count, 1);
    model->morphs = (pelt_morph_set){WIDTH, make(s, WIDTH, sizeof(pelt_morph))};
    for (uint32_t m = 0; m < WIDTH; m++) {
        pelt_morph *morph = &model->morphs.morphs[m];
        uint32_t first = m == 1 ? count / 3 : 0; /* one that covers only part of the vertices */
        float *positions = make(s, 3 * (size_t)(count - first), sizeof *positions);
        float *normals = make(s, 3 * (size_t)(count - first), sizeof *normals);
        for (size_t e = 0; e < 3 * (size_t)(count - first); e++) {
            positions[e] = delta(m, e);
            normals[e] = delta(m + 9, e);
        }
        *morph = (pelt_morph){.name = m ? "new" : "old",
                              .joint = groups[0].joint,
                              .index = m,
                              .first_vertex = first,
                              .vertex_count = count - first,
                              .positions = positions,
                              .normals = normals};
    }
    model->morphs.morphs[0].weight = -0.25f;
    s->kept = (pelt_morph_set){1, make(s, 1, sizeof(pelt_morph))};
    s->kept.morphs[0] = model->morphs.morphs[0];
    static const pelt_interpolation kinds[] = {PELT_INTERPOLATION_LINEAR, PELT_INTERPOLATION_STEP,
                                               PELT_INTERPOLATION_CUBIC, PELT_INTERPOLATION_LINEAR};
    pelt_motion *motions = make(s, 4, sizeof *motions);
    for (uint32_t n = 0; n < 4; n++) {
        pelt_track *track = make(s, 1, sizeof *track);
        *track = make_track(s, n, kinds[n], n < 3);
        motions[n] = (pelt_motion){.name = "", .end = 0.25f * (KEYS - 1), .track_count = 1, .tracks = track};
    }
    model->motions = motions;
    model->motion_count = 4;
    test_ok(&s->test, pelt_model_validate(s->context, model));
}

static void end(subject *s) {
    px_arena_destroy(s->scratch);
    pelt_model_destroy(s->model);
    test_end(&s->test);
}

#define SAMPLES 23

/* Positions, then normals, of all motions at all samples and at rest. */
static float *play(const subject *s) {
    size_t floats = 3 * (size_t)s->model->mesh.vertex_count;
    float *out = test_malloc((4 * SAMPLES + 1) * 2 * floats * sizeof *out), *at = out;
    for (uint32_t n = 0; n < 4; n++)
        for (uint32_t k = 0; k < SAMPLES; k++, at += 2 * floats)
            test_ok(&s->test, pelt_model_pose(s->context, s->model, &s->model->motions[n], 1.1f * (float)k / SAMPLES,
                                              PELT_SKINNING_LINEAR, at, at + floats));
    test_ok(&s->test, pelt_model_pose(s->context, s->model, NULL, 0, PELT_SKINNING_LINEAR, at, at + floats));
    return out;
}

/* Relative to the size. */
static double largest_difference(const subject *s, const float *a, const float *b) {
    double most = 0;
    for (size_t e = 0; e < (4 * SAMPLES + 1) * 6 * (size_t)s->model->mesh.vertex_count; e++)
        most = fmax(most, fabs((double)a[e] - (double)b[e]));
    float low[3], high[3];
    return most / px_box(s->model->mesh.positions, s->model->mesh.vertex_count, low, high);
}

static void fit(subject *s) {
    test_ok(&s->test, px_morphs_fit_range(s->scratch, &s->kept, "offset", s->model));
    test_ok(&s->test, pelt_model_validate(s->context, s->model));
}

static void motions_play_as_before(void **state) {
    (void)state;
    subject s;
    begin(&s);
    float *before = play(&s);
    fit(&s);
    float *after = play(&s);
    double off = largest_difference(&s, before, after);
    if (off > 3e-7)
        print_message("off by %g of the size\n", off);
    assert_true(off <= 3e-7); /* rounding */
    test_free(before);
    test_free(after);
    end(&s);
}

static void weights_lie_between_0_and_1(void **state) {
    (void)state;
    subject s;
    begin(&s);
    const float *old = s.model->motions[0].tracks[0].values;
    fit(&s);
    assert_int_equal(s.model->morphs.morph_count, WIDTH + 1);
    assert_string_equal(s.model->morphs.morphs[WIDTH].name, "offset");
    for (uint32_t m = 1; m <= WIDTH; m++)
        assert_true(s.model->morphs.morphs[m].weight == 0);
    float low[WIDTH + 1], high[WIDTH + 1];
    for (uint32_t m = 0; m <= WIDTH; m++)
        low[m] = INFINITY, high[m] = -INFINITY;
    for (uint32_t n = 0; n < 4; n++) {
        const pelt_track *track = &s.model->motions[n].tracks[0];
        uint32_t rows = track->interpolation == PELT_INTERPOLATION_CUBIC ? 3 : 1;
        assert_int_equal(track->width, WIDTH + 1);
        for (uint32_t k = 0; k < KEYS; k++)
            for (uint32_t m = 0; m <= WIDTH; m++) {
                float value = track->values[(k * rows + rows / 2) * track->width + m];
                low[m] = fminf(low[m], value);
                high[m] = fmaxf(high[m], value);
                if (n == 3) /* a motion that uses none of them needs no offset */
                    assert_true(m == 0 || value == 0);
                else if (m == WIDTH)
                    assert_true(value == 1);
            }
    }
    for (uint32_t m = 1; m <= WIDTH; m++)
        assert_true(low[m] == 0 && high[m] > 0.5f && high[m] <= 1);
    assert_true(low[0] < 0 && high[0] > 1); /* existing morphs are not changed */
    for (uint32_t k = 0; k < KEYS; k++)
        assert_true(s.model->motions[0].tracks[0].values[k * (WIDTH + 1)] == old[k * WIDTH]);
    end(&s);
}

static void no_offset_without_negative_weights(void **state) {
    (void)state;
    subject s;
    begin(&s);
    for (uint32_t n = 0; n < 4; n++) {
        const pelt_track *track = &s.model->motions[n].tracks[0];
        uint32_t rows = track->interpolation == PELT_INTERPOLATION_CUBIC ? 3 : 1;
        for (size_t e = 0; e < (size_t)KEYS * rows * WIDTH; e++)
            if (e % WIDTH)
                ((float *)(uintptr_t)track->values)[e] = fabsf(track->values[e]);
    }
    float *before = play(&s);
    fit(&s);
    float *after = play(&s);
    assert_int_equal(s.model->morphs.morph_count, WIDTH);
    assert_int_equal(s.model->motions[0].tracks[0].width, WIDTH);
    assert_true(largest_difference(&s, before, after) <= 2e-7);
    test_free(before);
    test_free(after);
    end(&s);
}

/* One more morph with weights of both signs in the motions before `used`. */
static void add_morph(subject *s, uint32_t used) {
    pelt_model *model = s->model;
    uint32_t old = model->morphs.morph_count, count = model->mesh.vertex_count;
    float *positions = make(s, 3 * (size_t)count, sizeof *positions);
    for (size_t e = 0; e < 3 * (size_t)count; e++)
        positions[e] = delta(old, e);
    s->kept = model->morphs;
    pelt_morph added = {.name = "again",
                        .joint = model->morphs.morphs[0].joint,
                        .index = old,
                        .vertex_count = count,
                        .positions = positions};
    test_ok(&s->test, px_morphs_with(model, &added, 1, &model->morphs));
    for (uint32_t n = 0; n < 4; n++) {
        pelt_track *track = &model->motions[n].tracks[0];
        uint32_t rows = track->interpolation == PELT_INTERPOLATION_CUBIC ? 3 : 1;
        test_ok(&s->test, px_weights_widen(model->memory, old + 1, track));
        for (uint32_t k = 0; k < KEYS && n < used; k++)
            ((float *)(uintptr_t)track->values)[(size_t)(k * rows + rows / 2) * (old + 1) + old] = weight(1, k, n);
    }
    test_ok(&s->test, pelt_model_validate(s->context, model));
}

/* Repeated calls share one offset, unless a motion needs the new one without the old. */
static void an_older_offset_is_extended(void **state) {
    (void)state;
    static const struct { uint32_t used, morphs; } cases[] = {{3, WIDTH + 2}, {1, WIDTH + 2}, {4, WIDTH + 3}};
    for (size_t c = 0; c < PX_COUNT(cases); c++) {
        subject s;
        begin(&s);
        fit(&s);
        add_morph(&s, cases[c].used);
        float *before = play(&s), old = s.kept.morphs[WIDTH].positions[4];
        fit(&s);
        float *after = play(&s);
        assert_int_equal(s.model->morphs.morph_count, cases[c].morphs);
        assert_true(s.kept.morphs[WIDTH].positions[4] == old); /* the morphs before the call are unchanged */
        assert_true(largest_difference(&s, before, after) <= 3e-7);
        for (uint32_t n = 0; n < 4; n++) {
            const pelt_track *track = &s.model->motions[n].tracks[0];
            uint32_t rows = track->interpolation == PELT_INTERPOLATION_CUBIC ? 3 : 1;
            for (uint32_t k = 0; k < KEYS; k++)
                for (uint32_t m = 1; m < track->width; m++) {
                    float value = track->values[(size_t)(k * rows + rows / 2) * track->width + m];
                    assert_true(value >= 0 && value <= 1);
                    assert_true(m != WIDTH || value == (n < 3));
                }
        }
        test_free(before);
        test_free(after);
        end(&s);
    }
}

/* Driven weights are the same, whatever weights a motion left. */
static void drivers_play_as_before(void **state) {
    (void)state;
    subject s;
    begin(&s);
    pelt_model *model = s.model;
    static const float centres[8] = {0, 0, 0, 1, 0, 0, 0.6f, 0.8f};
    static const uint32_t morphs[3] = {1, 2, 3};
    static const float coefficients[9] = {-1, 2, -0.5f, 0.25f, -0.75f, 0.5f, 1, 1, 1};
    pelt_driver *driver = make(&s, 1, sizeof *driver);
    *driver = (pelt_driver){.joint = 1,
                            .kernel = PELT_KERNEL_GAUSSIAN,
                            .radius = 1,
                            .centre_count = 2,
                            .centres = centres,
                            .morph_count = 3,
                            .morphs = morphs,
                            .coefficients = coefficients};
    model->drivers = driver;
    model->driver_count = 1;
    pelt_model old = *model;
    size_t floats = 3 * (size_t)model->mesh.vertex_count;
    float weights[WIDTH + 1], *moved[2];
    for (int after = 0; after < 2; after++) {
        moved[after] = test_malloc(floats * sizeof **moved);
        memset(moved[after], 0, floats * sizeof **moved);
        if (after)
            fit(&s);
        pelt_transform *locals = make(&s, old.skeleton.joint_count, sizeof *locals);
        pelt_motion_sample(model, &model->motions[0], 0.3f, locals, weights); /* the offset is 1 there */
        assert_true(!after || weights[WIDTH] == 1);
        locals[1].rotation[2] = 0.28f;
        locals[1].rotation[3] = 0.96f;
        pelt_pose_weights(model, locals, weights);
        for (uint32_t m = 1; m < model->morphs.morph_count; m++) {
            const pelt_morph *morph = &model->morphs.morphs[m];
            for (size_t e = 0; e < 3 * (size_t)morph->vertex_count; e++)
                moved[after][3 * (size_t)morph->first_vertex + e] += weights[m] * morph->positions[e];
        }
    }
    double most = 0, off = 0;
    for (size_t e = 0; e < floats; e++) {
        most = fmax(most, fabs((double)moved[0][e]));
        off = fmax(off, fabs((double)moved[0][e] - (double)moved[1][e]));
    }
    assert_true(most > 0.01 && off <= 1e-7);
    test_free(moved[0]);
    test_free(moved[1]);
    end(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(motions_play_as_before),
        cmocka_unit_test(weights_lie_between_0_and_1),
        cmocka_unit_test(no_offset_without_negative_weights),
        cmocka_unit_test(an_older_offset_is_extended),
        cmocka_unit_test(drivers_play_as_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
