/* Options of Chen et al. 2011: iterated heat, polar blending, the field of eq. 9, regions of the rest shape. */
#include "core/matrix3.h"
#include "jiggle_arm.h"

static void begin(arm_test *t, uint32_t particles) {
    pelt_jiggle_desc desc = pelt_jiggle_desc_default();
    assert_int_equal(pelt_options_preset(NULL, pelt_jiggle_options(), &desc, "lattice2011"), PELT_OK);
    assert_int_equal(desc.weights, PELT_JIGGLE_WEIGHTS_ITERATED);
    assert_int_equal(desc.blend, PELT_JIGGLE_BLEND_POLAR);
    assert_int_equal(desc.volume_field, PELT_JIGGLE_VOLUME_BOUNDARY);
    assert_int_equal(desc.regions, PELT_JIGGLE_REGIONS_REST);
    desc.particles = particles;
    arm_begin_desc(t, &desc);
}

static void bend(arm_test *t) {
    memcpy(t->locals, t->model->skeleton.rest, sizeof t->locals);
    arm_turn(t->locals, ARM_SHOULDER, 2, 30);
    arm_turn(t->locals, ARM_ELBOW, 0, 80);
    arm_turn(t->locals, ARM_WRIST, 1, 120);
}

static double weight_of(const px_weight_table *w, size_t particle, uint32_t joint) {
    double sum = 0;
    for (size_t k = particle * w->capacity; k < (particle + 1) * w->capacity; k++)
        sum += w->bones[k] == joint ? (double)w->weights[k] : 0;
    return sum;
}

/* Eq. 5: away from the bones every weight is the mean over the particles that share a cell, by 1 / (1 + distance). Four
 * joints: only weights below 1e-4 are cut. */
static void heat_is_the_mean_of_26_neighbours(void **state) {
    (void)state;
    arm_test t;
    begin(&t, 600);
    const px_lattice *lattice = &t.jiggle->lattice;
    const px_weight_table *w = &t.jiggle->weights;
    px_jiggle_bones bones;
    test_ok(&t.test, px_jiggle_bones_make(t.jiggle->arena, &t.jiggle->subject, &bones));
    assert_int_equal(w->capacity, 4);
    uint32_t checked = 0, blended = 0;
    uint8_t *near = calloc(lattice->particle_count, 1);
    for (uint32_t p = 0; p < lattice->particle_count; p++) {
        bool held = false;
        float along;
        for (uint32_t b = 0; b < bones.count; b++)
            held |= px_jiggle_bone_distance(&bones.items[b], lattice->rest + 3 * (size_t)p, &along) <= lattice->cell;
        double sums[ARM_JOINTS] = {0}, total = 0, all = 0;
        memset(near, 0, lattice->particle_count);
        for (uint32_t e = 0; e < 8 * lattice->cell_count; e++)
            if (lattice->cells[e / 8][e % 8] == p)
                for (int c = 0; c < 8; c++)
                    near[lattice->cells[e / 8][c]] = 1;
        near[p] = 0;
        for (uint32_t q = 0; q < lattice->particle_count; q++)
            if (near[q]) {
                double squared = 0;
                for (int c = 0; c < 3; c++)
                    squared += pow(lattice->places[p][c] - lattice->places[q][c], 2);
                total += 1 / (1 + sqrt(squared));
                for (uint32_t j = 0; j < ARM_JOINTS; j++)
                    sums[j] += weight_of(w, q, j) / (1 + sqrt(squared));
            }
        for (uint32_t j = 0; j < ARM_JOINTS; j++) {
            all += weight_of(w, p, j);
            if (!held)
                assert_true(fabs(sums[j] / total - weight_of(w, p, j)) < 2e-4);
        }
        assert_true(fabs(all - 1) < 1e-5);
        checked += !held;
        blended += !held && w->weights[(size_t)p * w->capacity] < 0.9f;
    }
    assert_true(checked > 100 && blended > 20);
    free(near);
    arm_end(&t);
}

/* Eq. 2: the rotation of a particle is that of the polar decomposition of Σ w T. */
static void rotations_are_those_of_blended_matrices(void **state) {
    (void)state;
    arm_test t;
    begin(&t, 600);
    bend(&t);
    arm_move(&t, 1);
    pelt_affine globals[ARM_JOINTS];
    pelt_skeleton_globals(&t.model->skeleton, t.locals, globals);
    const px_weight_table *w = &t.jiggle->weights;
    double most = 0;
    for (size_t p = 0; p < w->row_count; p++) {
        double sum[9] = {0}, rotation[9], stretch[9], made[9];
        for (size_t k = p * w->capacity; k < (p + 1) * w->capacity; k++) {
            pelt_affine bone = px_affine_mul(&globals[w->bones[k]], &t.jiggle->subject.inverses[w->bones[k]]);
            for (int e = 0; e < 9; e++)
                sum[e] += (double)w->weights[k] * (double)bone.m[4 * (e / 3) + e % 3];
        }
        px_polar3(sum, rotation, stretch);
        const float *q = t.jiggle->primary.pass.turns + 4 * p;
        for (int c = 0; c < 3; c++) {
            double axis[3] = {c == 0, c == 1, c == 2}, turned[3];
            px_rotation_apply(px_rotation_of(q), axis, turned);
            for (int r = 0; r < 3; r++)
                made[3 * r + c] = turned[r];
        }
        for (int e = 0; e < 9; e++)
            most = fmax(most, fabs(made[e] - rotation[e]));
    }
    assert_true(most < 1e-5);
    arm_end(&t);
}

/* Eq. 7 as printed, in double precision: octants at the corners of whole cells, for the particles of one part. */
static double part_volume(const pelt_jiggle *j, uint32_t part, const float *positions) {
    double sum = 0;
    for (uint32_t i = 0; i < j->lattice.cell_count; i++)
        for (uint32_t c = 0; c < 8; c++) {
            const uint32_t *cell = j->lattice.cells[i];
            double d[3][3];
            if (j->parts.parts[cell[c]] != part)
                continue;
            for (uint32_t axis = 0; axis < 3; axis++)
                for (size_t e = 0; e < 3; e++)
                    d[axis][e] = ((double)positions[4 * (size_t)cell[c | 1u << axis] + e] -
                                  (double)positions[4 * (size_t)cell[c & ~(1u << axis)] + e]) /
                                 2;
            sum += d[0][0] * (d[1][1] * d[2][2] - d[1][2] * d[2][1]) +
                   d[0][1] * (d[1][2] * d[2][0] - d[1][0] * d[2][2]) +
                   d[0][2] * (d[1][0] * d[2][1] - d[1][1] * d[2][0]);
        }
    return sum;
}

/* Eq. 10, from the root outwards: the part that is corrected last has its rest volume by eq. 7; a rig at rest is
 * unchanged. */
static void parts_regain_the_volume_of_equation_7(void **state) {
    (void)state;
    arm_test t;
    begin(&t, 600);
    const px_primary *primary = &t.jiggle->primary;
    assert_memory_equal(arm_move(&t, 1), primary->pass.rest, 4 * sizeof(float) * t.jiggle->lattice.particle_count);
    bend(&t);
    uint32_t last = primary->part_count - 1;
    double rest = part_volume(t.jiggle, last, primary->pass.rest),
           blended = part_volume(t.jiggle, last, arm_move(&t, 0));
    double after = part_volume(t.jiggle, last, arm_move(&t, 1));
    assert_true(fabs(blended / rest - 1) > 0.02);
    assert_true(fabs(after / rest - 1) < 2e-3);
    for (uint32_t k = 0; k < primary->part_count; k++)
        assert_true(fabs(primary->parts[k].rest / part_volume(t.jiggle, k, primary->pass.rest) - 1) < 1e-5);
    arm_end(&t);
}

static double off_skin(const pelt_jiggle *j) {
    double most = 0;
    for (size_t e = 0; e < 4 * (size_t)j->lattice.particle_count; e++)
        most = fmax(most, fabs((double)j->shown[e] - (double)j->skin[e]));
    return most / (double)j->lattice.cell;
}

static void run(pelt_jiggle *j, double seconds) {
    for (double time = 0; time < seconds; time += 0.016)
        pelt_jiggle_step(j, 0.016);
}

/* Regions of the rest shape: at rest and rotated by half a turn nothing moves; a bent arm straightens and settles.
 * Regions of the skin keep the bent arm. */
static void regions_straighten_what_is_bent(void **state) {
    (void)state;
    for (uint32_t regions = PELT_JIGGLE_REGIONS_SKIN; regions <= PELT_JIGGLE_REGIONS_REST; regions++) {
        arm_test t;
        pelt_jiggle_desc desc = pelt_jiggle_desc_default();
        desc.particles = 250;
        desc.substep = 0.016;
        desc.regions = regions;
        desc.softness = PELT_JIGGLE_SOFTNESS_EVEN;
        arm_begin_desc(&t, &desc);
        pelt_jiggle_set_pose(t.jiggle, t.locals);
        run(t.jiggle, 1);
        assert_true(off_skin(t.jiggle) < 1e-4);
        arm_turn(t.locals, ARM_BASE, 1, 180);
        pelt_jiggle_reset(t.jiggle);
        pelt_jiggle_set_pose(t.jiggle, t.locals);
        run(t.jiggle, 1);
        assert_true(off_skin(t.jiggle) < 1e-3);
        bend(&t);
        pelt_jiggle_reset(t.jiggle);
        pelt_jiggle_set_pose(t.jiggle, t.locals);
        run(t.jiggle, 2);
        double off = off_skin(t.jiggle);
        if (regions == PELT_JIGGLE_REGIONS_SKIN)
            assert_true(off == 0);
        else
            assert_true(off > 0.02 && off < 2);
        run(t.jiggle, 0.5);
        assert_true(fabs(off_skin(t.jiggle) - off) < 1e-2);
        arm_end(&t);
    }
}

static void all_bodies_agree(void **state) {
    (void)state;
    arm_test t;
    begin(&t, 500);
    size_t size = 4 * sizeof(float) * t.jiggle->lattice.particle_count;
    float *wanted = malloc(size);
    for (pelt_simd simd = PELT_SIMD_SCALAR; simd < PELT_SIMD_COUNT; simd++) {
        if (!pelt_simd_available(simd))
            continue;
        t.jiggle->primary.kernels = t.jiggle->swing.match.kernels = px_jiggle_kernels_of(simd);
        pelt_jiggle_reset(t.jiggle);
        pelt_jiggle_set_pose(t.jiggle, t.model->skeleton.rest);
        bend(&t);
        pelt_jiggle_set_pose(t.jiggle, t.locals);
        run(t.jiggle, 0.2);
        if (simd == PELT_SIMD_SCALAR)
            memcpy(wanted, t.jiggle->shown, size);
        else
            assert_memory_equal(t.jiggle->shown, wanted, size);
    }
    assert_true(off_skin(t.jiggle) > 1e-3);
    free(wanted);
    arm_end(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heat_is_the_mean_of_26_neighbours),
        cmocka_unit_test(rotations_are_those_of_blended_matrices),
        cmocka_unit_test(parts_regain_the_volume_of_equation_7),
        cmocka_unit_test(regions_straighten_what_is_bent),
        cmocka_unit_test(all_bodies_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
