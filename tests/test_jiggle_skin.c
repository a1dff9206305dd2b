/* Particles moved by the skeleton (primary motion). */
#include "jiggle_arm.h"

/* The largest distance of particles from map(rest). */
static double off_from(const arm_test *t, const float *positions, const pelt_affine *map) {
    double most = 0;
    for (size_t p = 0; p < t->jiggle->lattice.particle_count; p++) {
        float wanted[3];
        px_affine_point(map, t->jiggle->lattice.rest + 3 * p, wanted);
        for (int c = 0; c < 3; c++)
            most = fmax(most, fabs((double)(positions[4 * p + c] - wanted[c])));
    }
    return most;
}

static void rest_is_a_fixed_point(void **state) {
    (void)state;
    for (pelt_jiggle_weights w = PELT_JIGGLE_WEIGHTS_SKIN; w <= PELT_JIGGLE_WEIGHTS_LATTICE; w++) {
        arm_test t;
        arm_begin(&t, 500, w);
        for (int amount = 0; amount <= 1; amount++)
            assert_memory_equal(arm_move(&t, (float)amount), t.jiggle->primary.pass.rest,
                                4 * sizeof(float) * t.jiggle->lattice.particle_count);
        arm_end(&t);
    }
}

static void rigid_motion_and_scale_are_kept(void **state) {
    (void)state;
    arm_test t;
    arm_begin(&t, 500, PELT_JIGGLE_WEIGHTS_LATTICE);
    for (int scaled = 0; scaled < 2; scaled++) {
        for (int c = 0; c < 3; c++)
            t.locals[0].scale[c] = scaled ? 2 : 1;
        arm_turn(t.locals, 0, 0, 200);
        arm_turn(t.locals, 0, 2, 70);
        t.locals[0].translation[1] += 3;
        pelt_affine before = px_affine_from_transform(&t.model->skeleton.rest[0]), back = before;
        pelt_affine map = px_affine_from_transform(&t.locals[0]);
        assert_true(px_affine_inverse(&before, &back));
        map = px_affine_mul(&map, &back);
        assert_true(off_from(&t, arm_move(&t, 1), &map) < 1e-5);
        assert_true(off_from(&t, arm_move(&t, 0), &map) < 1e-5);
        arm_move(&t, 1);
        pelt_jiggle_volume volumes[ARM_JOINTS];
        px_primary_report(&t.jiggle->primary, volumes);
        for (uint32_t k = 0; k < t.jiggle->primary.part_count; k++)
            assert_true(fabs(volumes[k].after / volumes[k].rest - (scaled ? 8 : 1)) < 1e-4);
        memcpy(t.locals, t.model->skeleton.rest, sizeof t.locals);
    }
    arm_end(&t);
}

static void without_preservation_it_is_linear_blending(void **state) {
    (void)state;
    arm_test t;
    arm_begin(&t, 500, PELT_JIGGLE_WEIGHTS_LATTICE);
    arm_turn(t.locals, ARM_SHOULDER, 2, 40);
    arm_turn(t.locals, ARM_ELBOW, 0, 110);
    arm_turn(t.locals, ARM_WRIST, 1, 150);
    const float *positions = arm_move(&t, 0);
    pelt_affine globals[ARM_JOINTS];
    pelt_skeleton_globals(&t.model->skeleton, t.locals, globals);
    const px_weight_table *w = &t.jiggle->weights;
    for (size_t p = 0; p < w->row_count; p++) {
        double sum[3] = {0};
        for (size_t k = p * w->capacity; k < (p + 1) * w->capacity; k++) {
            float moved[3];
            pelt_affine bone = px_affine_mul(&globals[w->bones[k]], &t.jiggle->subject.inverses[w->bones[k]]);
            px_affine_point(&bone, t.jiggle->lattice.rest + 3 * p, moved);
            for (int c = 0; c < 3; c++)
                sum[c] += (double)w->weights[k] * (double)moved[c];
        }
        for (int c = 0; c < 3; c++)
            assert_true(fabs(sum[c] - (double)positions[4 * p + c]) < 1e-5);
    }
    arm_end(&t);
}

static void all_bodies_agree(void **state) {
    (void)state;
    arm_test t;
    arm_begin(&t, 500, PELT_JIGGLE_WEIGHTS_LATTICE);
    arm_turn(t.locals, ARM_ELBOW, 0, 90);
    arm_turn(t.locals, ARM_WRIST, 1, 180);
    t.locals[ARM_WRIST].scale[0] = 1.5f;
    size_t size = 4 * sizeof(float) * t.jiggle->lattice.particle_count;
    float *wanted = malloc(size);
    t.jiggle->primary.kernels = px_jiggle_kernels_of(PELT_SIMD_SCALAR);
    memcpy(wanted, arm_move(&t, 1), size);
    for (pelt_simd simd = PELT_SIMD_SCALAR + 1; simd < PELT_SIMD_COUNT; simd++)
        if (pelt_simd_available(simd)) {
            t.jiggle->primary.kernels = px_jiggle_kernels_of(simd);
            assert_memory_equal(arm_move(&t, 1), wanted, size);
        }
    free(wanted);
    arm_end(&t);
}

/* A joint passes half a turn continuously; a first pose there takes the shorter way; far beyond it, the rotation flips
 * to the other direction. */
static void half_turns_are_passed_smoothly(void **state) {
    (void)state;
    arm_test t;
    arm_begin(&t, 500, PELT_JIGGLE_WEIGHTS_SKIN);
    size_t count = 4 * (size_t)t.jiggle->lattice.particle_count;
    float *last = malloc(count * sizeof *last);
    double step = 0, other = 0;
    for (int degrees = 0; degrees <= 230; degrees++) {
        memcpy(t.locals, t.model->skeleton.rest, sizeof t.locals);
        arm_turn(t.locals, ARM_WRIST, 1, degrees);
        const float *now = arm_move(&t, 1);
        for (size_t e = 0; e < count && degrees > 0; e++)
            step = fmax(step, fabs((double)(now[e] - last[e])));
        memcpy(last, now, count * sizeof *last);
    }
    px_primary_reset(&t.jiggle->primary);
    const float *anew = arm_move(&t, 1);
    for (size_t e = 0; e < count; e++)
        other = fmax(other, fabs((double)(anew[e] - last[e])));
    assert_true(step < 0.01);
    assert_true(other > 0.1);
    free(last);
    arm_end(&t);
}

/* Any pose, also with zero and negative scales: finite, and the total volume error is at most that of blending
 * alone. */
static void poses_never_break(void **state) {
    (void)state;
    test_random random = {11};
    arm_test t;
    arm_begin(&t, 500, PELT_JIGGLE_WEIGHTS_LATTICE);
    for (int n = 0; n < 400; n++) {
        for (uint32_t j = 0; j < ARM_JOINTS; j++) {
            t.locals[j] = t.model->skeleton.rest[j];
            for (int axis = 0; axis < 3; axis++)
                arm_turn(t.locals, j, axis, test_random_real(&random, -1, 1) * (n < 200 ? 60 : 180));
            for (int c = 0; c < 3 && n >= 300; c++)
                t.locals[j].scale[c] = (float)(test_random_below(&random, 4) - 1.0);
        }
        const float *positions = arm_move(&t, 1);
        for (size_t e = 0; e < 4 * (size_t)t.jiggle->lattice.particle_count; e++)
            assert_true(isfinite(positions[e]));
        pelt_jiggle_volume volumes[ARM_JOINTS];
        double rest = 0, before = 0, after = 0;
        px_primary_report(&t.jiggle->primary, volumes);
        for (uint32_t k = 0; k < t.jiggle->primary.part_count; k++) {
            rest += volumes[k].rest;
            before += volumes[k].before;
            after += volumes[k].after;
        }
        if (n < 300 && !(fabs(after - rest) <= fabs(before - rest)))
            fail_msg("pose %d: %g at rest, %g blended, %g after", n, rest, before, after);
    }
    arm_end(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rest_is_a_fixed_point),
        cmocka_unit_test(rigid_motion_and_scale_are_kept),
        cmocka_unit_test(without_preservation_it_is_linear_blending),
        cmocka_unit_test(all_bodies_agree),
        cmocka_unit_test(half_turns_are_passed_smoothly),
        cmocka_unit_test(poses_never_break),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
