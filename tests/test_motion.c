/* core/motion.c: keys, interpolation, morph weights, globals and palette. */
#include "support.h"

#include "core/math3.h"

#define NEAR(a, b, e) assert_true(fabs((double)(a) - (double)(b)) <= (e))

static pelt_transform rest[2] = {{{1, 2, 3}, {0, 0, 0, 1}, {1, 1, 1}}, {{0, 1, 0}, {0, 0, 0, 1}, {2, 2, 2}}};
static const char *names[2] = {"root", "tip"};
static uint32_t parents[2] = {PELT_NONE, 0};

static pelt_model rig(pelt_motion *motion, pelt_track *track) {
    *motion = (pelt_motion){.name = "m", .start = 0, .end = 1, .track_count = 1, .tracks = track};
    pelt_model model = {.motion_count = 1, .motions = motion};
    model.skeleton = (pelt_skeleton){2, names, parents, rest};
    return model;
}

static pelt_transform sample(pelt_track *track, float time) {
    pelt_motion motion;
    pelt_model model = rig(&motion, track);
    pelt_transform locals[2];
    pelt_motion_sample(&model, &motion, time, locals, NULL);
    assert_memory_equal(&locals[1 - track->joint], &rest[1 - track->joint], sizeof rest[0]);
    return locals[track->joint];
}

static void rest_without_motion(void **state) {
    (void)state;
    pelt_motion motion;
    pelt_model model = rig(&motion, NULL);
    pelt_transform locals[2];
    pelt_motion_sample(&model, NULL, 5, locals, NULL);
    assert_memory_equal(locals, rest, sizeof rest);
}

static void linear_and_step(void **state) {
    (void)state;
    float times[] = {1, 2, 4}, values[] = {0, 0, 0, 10, 20, 30, 20, 0, 50};
    pelt_track track = {0, PELT_PATH_TRANSLATION, PELT_INTERPOLATION_LINEAR, 3, 3, times, values};
    static const float at[][4] = {{-INFINITY, 0, 0, 0}, {0, 0, 0, 0},    {1, 0, 0, 0},   {1.5f, 5, 10, 15},
                                  {2, 10, 20, 30},      {3, 15, 10, 40}, {4, 20, 0, 50}, {9, 20, 0, 50}};
    for (size_t a = 0; a < sizeof at / sizeof at[0]; a++) {
        pelt_transform t = sample(&track, at[a][0]);
        for (int c = 0; c < 3; c++)
            assert_true(t.translation[c] == at[a][c + 1]);
        assert_memory_equal(t.scale, rest[0].scale, sizeof t.scale);
    }
    track.interpolation = PELT_INTERPOLATION_STEP;
    assert_true(sample(&track, 1.999f).translation[2] == 0);
    assert_true(sample(&track, 2).translation[2] == 30);
    assert_true(sample(&track, 3.999f).translation[2] == 30);
    assert_true(sample(&track, 4).translation[2] == 50);
    track.key_count = 1;
    assert_true(sample(&track, 3).translation[0] == 0);
    assert_true(isfinite(sample(&track, NAN).translation[0]));
}

static void cubic(void **state) {
    (void)state;
    /* A cubic polynomial is its own Hermite interpolant: p(t) = t³ − 2t + 1, keys at 1, 3, 4 (uneven intervals). */
    float times[] = {1, 3, 4}, values[27];
    for (int k = 0; k < 3; k++)
        for (int c = 0; c < 3; c++) {
            float t = times[k];
            values[9 * k + c] = values[9 * k + 6 + c] = 3 * t * t - 2;
            values[9 * k + 3 + c] = t * t * t - 2 * t + 1;
        }
    pelt_track track = {1, PELT_PATH_SCALE, PELT_INTERPOLATION_CUBIC, 3, 3, times, values};
    for (float t = 1; t <= 4; t += 0.0625f)
        NEAR(sample(&track, t).scale[1], t * t * t - 2 * t + 1, 4e-6);
    assert_true(sample(&track, 0).scale[0] == 0);
    assert_true(sample(&track, 7).scale[2] == 57);
}

static void rotation_linear(void **state) {
    (void)state;
    /* A quarter turn about z, its end spelt with the other sign: the shorter arc counts. */
    float h = sqrtf(0.5f), times[] = {0, 2}, values[] = {0, 0, 0, 1, 0, 0, -h, -h};
    pelt_track track = {0, PELT_PATH_ROTATION, PELT_INTERPOLATION_LINEAR, 4, 2, times, values};
    for (float t = 0; t < 2; t += 0.125f) {
        pelt_transform at = sample(&track, t);
        NEAR(at.rotation[2], sin(t * M_PI / 8), 1e-7);
        NEAR(at.rotation[3], cos(t * M_PI / 8), 1e-7);
    }
    NEAR(fabsf(sample(&track, 2).rotation[3]), h, 1e-7);
}

static void rotation_nearly_equal(void **state) {
    (void)state;
    float times[] = {0, 1}, values[] = {0, 0, 0, 1, 1e-4f, 0, 0, 1};
    pelt_track track = {0, PELT_PATH_ROTATION, PELT_INTERPOLATION_LINEAR, 4, 2, times, values};
    NEAR(sample(&track, 0.25f).rotation[0], 0.25e-4, 1e-11);
    values[4] = 0, values[7] = -1; /* the same rotation */
    NEAR(sample(&track, 0.5f).rotation[3], 1, 1e-7);
}

/* Keys of a file that are unit but for rounding stay as they are, others become unit. */
static void rotation_keys_are_mended(void **state) {
    (void)state;
    float times[] = {0, 1}, values[] = {0, 0, 0.7071f, 0.7071f, 0, 0, 0, 2};
    pelt_track track = {0, PELT_PATH_ROTATION, PELT_INTERPOLATION_STEP, 4, 2, times, values};
    assert_true(sample(&track, 0).rotation[2] == 0.7071f);
    assert_true(sample(&track, 1).rotation[3] == 1);
    values[7] = 0;
    assert_true(sample(&track, 1).rotation[3] == 1); /* none at all: no rotation */
}

static void rotation_cubic_is_unit(void **state) {
    (void)state;
    float times[] = {0, 1}, values[24] = {0};
    values[4 + 3] = 1;                    /* identity … */
    values[12 + 4] = 1;                   /* … to a half turn about x */
    values[8] = 3, values[12 + 3] = 2.5f; /* out-tangent, in-tangent */
    pelt_track track = {0, PELT_PATH_ROTATION, PELT_INTERPOLATION_CUBIC, 4, 2, times, values};
    for (float t = 0; t <= 1; t += 0.03125f) {
        pelt_transform at = sample(&track, t);
        double x = (t * t * t - 2 * t * t + t) * 3 + (3 * t * t - 2 * t * t * t);
        double w = 2 * t * t * t - 3 * t * t + 1 + (t * t * t - t * t) * 2.5, length = sqrt(x * x + w * w);
        NEAR(at.rotation[0], x / length, 1e-6);
        NEAR(at.rotation[3], w / length, 1e-6);
    }
}

static void morph_weights(void **state) {
    (void)state;
    pelt_morph morphs[] = {{"a", .joint = 0, .index = 0, .weight = 0.5f},
                           {"b", .joint = 1, .index = 0, .weight = 0.25f},
                           {"b2", .joint = 1, .index = 0},
                           {"c", .joint = 1, .index = 1},
                           {"d", .joint = 1, .index = 2, .weight = 9}};
    float times[] = {0, 1}, values[] = {0, 1, 1, 3};
    pelt_track track = {1, PELT_PATH_WEIGHTS, PELT_INTERPOLATION_LINEAR, 2, 2, times, values};
    pelt_motion motion;
    pelt_model model = rig(&motion, &track);
    model.morphs = (pelt_morph_set){5, morphs};
    float weights[5];
    pelt_motion_sample(&model, &motion, 0.5f, NULL, weights);
    const float wanted[5] = {0.5f, 0.5f, 0.5f, 2, 9}; /* the last joint has no track: it keeps its rest transform */
    assert_memory_equal(weights, wanted, sizeof wanted);
    pelt_motion_sample(&model, NULL, 0.5f, NULL, weights);
    assert_true(weights[1] == 0.25f);
    float cubic_values[12] = {0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 0, 0};
    track.values = cubic_values, track.interpolation = PELT_INTERPOLATION_CUBIC;
    pelt_motion_sample(&model, &motion, 0.5f, NULL, weights);
    assert_true(weights[1] == 0.5f && weights[3] == 2);
}

/* Binary search and sequential search agree at and between all keys. */
static void many_keys(void **state) {
    (void)state;
    enum { KEYS = 37 };
    float times[KEYS], values[3 * KEYS];
    test_random random = {3};
    for (int k = 0; k < KEYS; k++) {
        times[k] = (k ? times[k - 1] : -1) + (float)test_random_real(&random, 0.01, 1);
        values[3 * k] = values[3 * k + 1] = values[3 * k + 2] = (float)test_random_real(&random, -5, 5);
    }
    pelt_track track = {0, PELT_PATH_TRANSLATION, PELT_INTERPOLATION_LINEAR, 3, KEYS, times, values};
    for (int trial = 0; trial < 2000; trial++) {
        float t = trial < KEYS ? times[trial] : (float)test_random_real(&random, -2, 22);
        int k = 0;
        while (k + 1 < KEYS && times[k + 1] <= t)
            k++;
        double wanted = values[3 * k];
        if (t > times[0] && k + 1 < KEYS)
            wanted += ((double)values[3 * k + 3] - values[3 * k]) * ((double)t - times[k]) /
                      ((double)times[k + 1] - times[k]);
        NEAR(sample(&track, t).translation[1], wanted, 1e-6);
    }
}

static void globals_and_palette(void **state) {
    (void)state;
    float h = sqrtf(0.5f);
    pelt_transform locals[2] = {{{1, 0, 0}, {0, 0, h, h}, {2, 2, 2}}, {{0, 1, 0}, {0, 0, 0, 1}, {1, -1, 3}}};
    pelt_skeleton skeleton = {2, names, parents, rest};
    pelt_affine globals[2], palette[2];
    pelt_skeleton_globals(&skeleton, locals, globals);
    float p[3] = {1, 2, 3}, q[3];
    px_affine_point(&globals[1], p, q); /* scale (1,-2,9), move (1,-1,9), twice as large (2,-2,18), turn, move */
    NEAR(q[0], 3, 1e-5);
    NEAR(q[1], 2, 1e-5);
    NEAR(q[2], 18, 1e-5);
    uint32_t joints[2] = {1, 0};
    pelt_affine inverse[2];
    assert_true(px_affine_inverse(&globals[1], &inverse[0]));
    inverse[1] = px_affine_identity();
    pelt_skin skin = {.bone_count = 2, .influence_count = 1, .bone_joints = joints, .inverse_binds = inverse};
    pelt_skin_palette(&skin, globals, palette);
    pelt_affine identity = px_affine_identity();
    for (int e = 0; e < 12; e++) {
        NEAR(palette[0].m[e], identity.m[e], 1e-6);
        assert_true(palette[1].m[e] == globals[0].m[e]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rest_without_motion),
        cmocka_unit_test(linear_and_step),
        cmocka_unit_test(cubic),
        cmocka_unit_test(rotation_linear),
        cmocka_unit_test(rotation_nearly_equal),
        cmocka_unit_test(rotation_keys_are_mended),
        cmocka_unit_test(rotation_cubic_is_unit),
        cmocka_unit_test(morph_weights),
        cmocka_unit_test(many_keys),
        cmocka_unit_test(globals_and_palette),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
