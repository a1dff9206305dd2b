/* Skinning kernels: all agree to the last bit, match double precision, and keep the invariants of skinning. */
#include "support.h"

#include "core/math3.h"

#include <float.h>

#define BONES     37u
#define TOLERANCE 2e-6

/* ---- Random jobs ------------------------------------------------------------------------------------------ */

/* A job whose arrays have exactly the documented lengths (sanitizers detect overruns) and start `shift` floats after an
 * aligned address. */
typedef struct fixture {
    pelt_skin_job job;
    pelt_affine palette[BONES];
    pelt_dual_quaternion dual_quaternions[BONES];
    void *blocks[32];
    int block_count;
} fixture;

static float *array(fixture *f, size_t count, size_t shift) {
    float *block = malloc((count + shift) * sizeof(float) + (count + shift == 0));
    assert_non_null(block);
    assert_true(f->block_count < 32);
    f->blocks[f->block_count++] = block;
    memset(block, 0xA5, (count + shift) * sizeof(float));
    return block + shift;
}

static void random_unit(test_random *random, int count, float *out) {
    double length2 = 0, v[4];
    do {
        length2 = 0;
        for (int c = 0; c < count; c++) {
            v[c] = test_random_real(random, -1, 1);
            length2 += v[c] * v[c];
        }
    } while (length2 < 0.01 || length2 > 1);
    for (int c = 0; c < count; c++)
        out[c] = (float)(v[c] / sqrt(length2));
}

/* `turn` is the largest angle in radians; scales go from 1 / stretch to stretch. */
static pelt_affine random_affine(test_random *random, double turn, double stretch) {
    pelt_transform t;
    float axis[3];
    random_unit(random, 3, axis);
    double angle = test_random_real(random, -turn, turn) / 2;
    for (int c = 0; c < 3; c++) {
        t.rotation[c] = (float)(sin(angle) * axis[c]);
        t.translation[c] = (float)test_random_real(random, -1, 1);
        t.scale[c] = (float)pow(stretch, test_random_real(random, -1, 1));
    }
    t.rotation[3] = (float)cos(angle);
    return px_affine_from_transform(&t);
}

static void fill_influences(fixture *f, test_random *random, uint16_t *bones, float *weights) {
    size_t influences = f->job.influence_count;
    for (size_t i = 0; i < f->job.vertex_count; i++) {
        double sum = 0, w[PELT_MAX_INFLUENCES];
        for (size_t k = 0; k < influences; k++) {
            bones[i * influences + k] = (uint16_t)test_random_below(random, BONES);
            sum += w[k] = k > 0 && test_random_below(random, 4) == 0 ? 0 : test_random_real(random, 0.01, 1);
        }
        for (size_t k = 0; k < influences; k++)
            weights[i * influences + k] = (float)(w[k] / sum);
    }
}

static void make(fixture *f, uint64_t seed, uint32_t count, uint32_t influences, bool normals, bool tangents,
                 size_t shift) {
    test_random random = {seed};
    memset(f, 0, sizeof *f);
    for (uint32_t j = 0; j < BONES; j++)
        f->palette[j] = random_affine(&random, 1, 1.5);
    pelt_dual_quaternions(f->palette, BONES, f->dual_quaternions);
    for (uint32_t j = 0; j < BONES; j += 2) /* the same motion, written the other way */
        for (int e = 0; e < 8; e++)
            f->dual_quaternions[j].q[e] = -f->dual_quaternions[j].q[e];
    f->job = (pelt_skin_job){.vertex_count = count, .influence_count = influences, .exact = true};
    f->job.palette = f->palette;
    f->job.dual_quaternions = f->dual_quaternions;
    float *weights = array(f, (size_t)count * influences, shift), *positions = array(f, 3 * (size_t)count, shift);
    uint16_t *bones = malloc((size_t)count * influences * sizeof(uint16_t) + 1);
    assert_non_null(bones);
    f->blocks[f->block_count++] = bones;
    fill_influences(f, &random, bones, weights);
    for (size_t e = 0; e < 3 * (size_t)count; e++)
        positions[e] = (float)test_random_real(&random, -1, 1);
    f->job.weights = weights, f->job.positions = positions, f->job.bones = bones;
    f->job.out_positions = array(f, 3 * (size_t)count, shift);
    if (normals) {
        float *n = array(f, 3 * (size_t)count, shift);
        for (size_t i = 0; i < count; i++)
            random_unit(&random, 3, n + 3 * i);
        f->job.normals = n, f->job.out_normals = array(f, 3 * (size_t)count, shift);
    }
    if (tangents) {
        float *t = array(f, 4 * (size_t)count, shift);
        for (size_t i = 0; i < count; i++) {
            random_unit(&random, 3, t + 4 * i);
            t[4 * i + 3] = test_random_below(&random, 2) ? 1.0f : -1.0f;
        }
        f->job.tangents = t, f->job.out_tangents = array(f, 4 * (size_t)count, shift);
    }
}

static void drop(fixture *f) {
    for (int b = 0; b < f->block_count; b++)
        free(f->blocks[b]);
}

/* The job again with separate outputs. */
static pelt_skin_job twin(fixture *f, size_t shift) {
    pelt_skin_job job = f->job;
    size_t count = job.vertex_count;
    job.out_positions = array(f, 3 * count, shift);
    job.out_normals = job.normals ? array(f, 3 * count, shift) : NULL;
    job.out_tangents = job.tangents ? array(f, 4 * count, shift) : NULL;
    return job;
}

static void assert_same(const pelt_skin_job *a, const pelt_skin_job *b) {
    size_t count = a->vertex_count;
    assert_memory_equal(a->out_positions, b->out_positions, 3 * count * sizeof(float));
    if (a->normals)
        assert_memory_equal(a->out_normals, b->out_normals, 3 * count * sizeof(float));
    if (a->tangents)
        assert_memory_equal(a->out_tangents, b->out_tangents, 4 * count * sizeof(float));
}

/* ---- Kernels ---------------------------------------------------------------------------------------------- */

static void bodies_are_named(void **state) {
    (void)state;
    assert_string_equal(pelt_simd_name(PELT_SIMD_SCALAR), "scalar");
    assert_string_equal(pelt_simd_name(PELT_SIMD_AVX2), "avx2");
    assert_string_equal(pelt_simd_name(PELT_SIMD_COUNT), "");
    assert_true(pelt_simd_available(PELT_SIMD_SCALAR));
    assert_false(pelt_simd_available(PELT_SIMD_COUNT));
    assert_true(pelt_simd_available(pelt_simd_best()));
#if defined(__x86_64__)
    assert_true(pelt_simd_available(PELT_SIMD_SSE2) && !pelt_simd_available(PELT_SIMD_NEON));
#elif defined(__aarch64__)
    assert_true(pelt_simd_best() == PELT_SIMD_NEON);
#endif
}

static void bodies_agree_on(uint32_t count, uint32_t influences, int arrays, size_t shift) {
    fixture f;
    make(&f, count * 31 + influences, count, influences, arrays & 1, arrays & 2, shift);
    for (int s = 0; s < 2; s++) {
        f.job.skinning = (pelt_skinning)s;
        pelt_skin_run_simd(&f.job, PELT_SIMD_SCALAR);
        for (pelt_simd simd = PELT_SIMD_SSE2; simd < PELT_SIMD_COUNT; simd++) {
            if (!pelt_simd_available(simd))
                continue;
            pelt_skin_job job = twin(&f, shift);
            pelt_skin_run_simd(&job, simd);
            assert_same(&f.job, &job);
        }
    }
    drop(&f);
}

static void bodies_agree(void **state) {
    (void)state;
    static const uint32_t counts[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 64, 101};
    for (uint32_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
        for (uint32_t influences = 1; influences <= PELT_MAX_INFLUENCES; influences++)
            for (int arrays = 0; arrays < 4; arrays++)
                for (size_t shift = 0; shift < 4; shift++)
                    bodies_agree_on(counts[c], influences, arrays, shift);
}

/* Jobs that are not exact: fused multiply-adds differ from the reference by rounding. Terms are of size 1, a blend adds
 * up to 8 of them; the deviation of normals grows where the blended matrix nearly loses a dimension. */
static void fused_is_near(void **state) {
    (void)state;
    for (uint32_t count = 1; count < 70; count += 4)
        for (uint32_t influences = 1; influences <= PELT_MAX_INFLUENCES; influences++)
            for (int arrays = 0; arrays < 8; arrays++) {
                fixture f;
                make(&f, count * 57 + influences, count, influences, arrays & 1, arrays & 2, count % 4);
                f.job.skinning = arrays & 4 ? PELT_SKINNING_DUAL_QUATERNION : PELT_SKINNING_LINEAR;
                pelt_skin_run_simd(&f.job, PELT_SIMD_SCALAR);
                pelt_skin_job job = twin(&f, count % 4);
                job.exact = false;
                pelt_skin_run(&job);
                for (size_t e = 0; e < 3 * count; e++)
                    assert_true(fabsf(job.out_positions[e] - f.job.out_positions[e]) <= 4e-6f);
                double errors = 0;
                for (size_t e = 0; job.normals && e < 3 * count; e++)
                    errors += fabs((double)job.out_normals[e] - (double)f.job.out_normals[e]);
                assert_true(errors <= 1e-5 * 3 * count);
                drop(&f);
            }
}

/* Zero, huge, tiny and singular matrices, zero weights and zero normals: the same bits, and no NaN where the true
 * result is finite. */
static void bodies_agree_on_the_worst(void **state) {
    (void)state;
    fixture f;
    make(&f, 5, 333, 4, true, true, 1);
    static const float scales[] = {0, 1e-25f, 1e-12f, 1e-6f, 1e6f, 1e12f};
    for (uint32_t j = 0; j < BONES; j++)
        for (int e = 0; e < 12; e++)
            f.palette[j].m[e] *= j % 7 == 6 ? (e < 4 ? 0.0f : 1.0f) : scales[j % 6];
    pelt_dual_quaternions(f.palette, BONES, f.dual_quaternions);
    float *weights = f.blocks[0], *normals = f.blocks[4];
    memset(weights + 1, 0, 40 * 4 * sizeof(float));
    memset(normals + 1 + 60, 0, 60 * sizeof(float));
    for (int s = 0; s < 2; s++) {
        f.job.skinning = (pelt_skinning)s;
        pelt_skin_run_simd(&f.job, PELT_SIMD_SCALAR);
        for (size_t e = 0; e < 3 * 333; e++)
            assert_true(isfinite(f.job.out_positions[e]) && isfinite(f.job.out_normals[e]));
        for (size_t e = 0; e < 4 * 333; e++)
            assert_true(isfinite(f.job.out_tangents[e]));
        for (pelt_simd simd = PELT_SIMD_SSE2; simd < PELT_SIMD_COUNT; simd++)
            if (pelt_simd_available(simd)) {
                pelt_skin_job job = twin(&f, 2);
                pelt_skin_run_simd(&job, simd);
                assert_same(&f.job, &job);
            }
    }
    drop(&f);
}

static void threads_change_nothing(void **state) {
    (void)state;
    fixture f;
    make(&f, 8, 3 * 4096 + 17, 4, true, true, 0);
    for (uint32_t threads = 1; threads <= 3; threads++) {
        test_context test;
        test_begin(&test, threads);
        for (int s = 0; s < 2; s++) {
            f.job.skinning = (pelt_skinning)s;
            pelt_skin_run(&f.job);
            pelt_skin_job job = twin(&f, 0);
            test_ok(&test, pelt_skin_run_threads(test.context, &job));
            assert_same(&f.job, &job);
            while (f.block_count > 9)
                free(f.blocks[--f.block_count]);
        }
        test_end(&test);
    }
    drop(&f);
}

/* ---- Against double precision ----------------------------------------------------------------------------- */

static double length3(const double v[3]) {
    return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

static double distance_to_unit(const float *a, const double b[3]) {
    double l = length3(b);
    return length3((double[3]){a[0] - b[0] / l, a[1] - b[1] / l, a[2] - b[2] / l});
}

static void blend_reference(const pelt_skin_job *job, size_t i, double m[12]) {
    memset(m, 0, 12 * sizeof *m);
    for (size_t k = 0; k < job->influence_count; k++) {
        size_t at = i * job->influence_count + k;
        for (int e = 0; e < 12; e++)
            m[e] += (double)job->weights[at] * (double)job->palette[job->bones[at]].m[e];
    }
}

static void linear_is_accurate(void **state) {
    (void)state;
    for (uint32_t influences = 1; influences <= PELT_MAX_INFLUENCES; influences++) {
        fixture f;
        make(&f, influences, 500, influences, true, true, 0);
        pelt_skin_run(&f.job);
        for (size_t i = 0; i < 500; i++) {
            double m[12], size = 0, off[3], n[3], t[3];
            blend_reference(&f.job, i, m);
            const float *p = f.job.positions + 3 * i;
            for (int r = 0; r < 3; r++) {
                const double *a = m + 4 * ((r + 1) % 3), *b = m + 4 * ((r + 2) % 3), *row = m + 4 * r;
                off[r] =
                    row[0] * p[0] + row[1] * p[1] + row[2] * p[2] + row[3] - (double)f.job.out_positions[3 * i + r];
                size = fmax(size, fabs(row[0] * p[0]) + fabs(row[1] * p[1]) + fabs(row[2] * p[2]) + fabs(row[3]));
                const float *rest = f.job.normals + 3 * i;
                n[r] = (a[1] * b[2] - a[2] * b[1]) * rest[0] + (a[2] * b[0] - a[0] * b[2]) * rest[1] +
                       (a[0] * b[1] - a[1] * b[0]) * rest[2];
                rest = f.job.tangents + 4 * i;
                t[r] = row[0] * rest[0] + row[1] * rest[1] + row[2] * rest[2];
            }
            assert_true(length3(off) <= TOLERANCE * size);
            assert_true(distance_to_unit(f.job.out_normals + 3 * i, n) <= TOLERANCE);
            assert_true(distance_to_unit(f.job.out_tangents + 4 * i, t) <= TOLERANCE);
            assert_true(f.job.out_tangents[4 * i + 3] == f.job.tangents[4 * i + 3]);
        }
        drop(&f);
    }
}

/* Blends in double precision, converts the result to a matrix and applies it: an independent computation. */
static void dual_reference(const pelt_skin_job *job, size_t i, double m[12]) {
    double q[8] = {0};
    const float *first = job->dual_quaternions[job->bones[i * job->influence_count]].q;
    for (size_t k = 0; k < job->influence_count; k++) {
        size_t at = i * job->influence_count + k;
        const float *b = job->dual_quaternions[job->bones[at]].q;
        double dot =
            (double)b[0] * first[0] + (double)b[1] * first[1] + (double)b[2] * first[2] + (double)b[3] * first[3];
        for (int e = 0; e < 8; e++)
            q[e] += (dot < 0 ? -1.0 : 1.0) * (double)job->weights[at] * b[e];
    }
    double l = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    for (int e = 0; e < 8; e++)
        q[e] /= l;
    double x = q[0], y = q[1], z = q[2], w = q[3];
    /* t = 2 · dual · conjugate(real) */
    double t[3] = {2 * (-q[7] * x + q[4] * w - q[5] * z + q[6] * y), 2 * (-q[7] * y + q[4] * z + q[5] * w - q[6] * x),
                   2 * (-q[7] * z - q[4] * y + q[5] * x + q[6] * w)};
    memcpy(m,
           (double[12]){1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y), t[0], 2 * (x * y + w * z),
                        1 - 2 * (x * x + z * z), 2 * (y * z - w * x), t[1], 2 * (x * z - w * y), 2 * (y * z + w * x),
                        1 - 2 * (x * x + y * y), t[2]},
           12 * sizeof *m);
}

static void dual_is_accurate(void **state) {
    (void)state;
    for (uint32_t influences = 1; influences <= PELT_MAX_INFLUENCES; influences++) {
        fixture f;
        make(&f, 100 + influences, 500, influences, true, true, 0);
        f.job.skinning = PELT_SKINNING_DUAL_QUATERNION;
        pelt_skin_run(&f.job);
        for (size_t i = 0; i < 500; i++) {
            double m[12], v[3][3];
            dual_reference(&f.job, i, m);
            const float *in[3] = {f.job.positions + 3 * i, f.job.normals + 3 * i, f.job.tangents + 4 * i};
            for (int a = 0; a < 3; a++)
                for (int r = 0; r < 3; r++)
                    v[a][r] = m[4 * r] * in[a][0] + m[4 * r + 1] * in[a][1] + m[4 * r + 2] * in[a][2] +
                              (a == 0 ? m[4 * r + 3] : 0);
            for (int r = 0; r < 3; r++)
                assert_true(fabs(v[0][r] - (double)f.job.out_positions[3 * i + r]) <= TOLERANCE);
            assert_true(distance_to_unit(f.job.out_normals + 3 * i, v[1]) <= TOLERANCE);
            assert_true(distance_to_unit(f.job.out_tangents + 4 * i, v[2]) <= TOLERANCE);
        }
        drop(&f);
    }
}

/* ---- Invariants of skinning ------------------------------------------------------------------------------- */

/* All weight on one bone: that bone's transform, for any of the K influences. */
static void one_bone_is_its_transform(void **state) {
    (void)state;
    fixture f;
    make(&f, 77, 64, 5, false, false, 0);
    float *weights = f.blocks[0];
    for (size_t i = 0; i < 64; i++)
        for (size_t k = 0; k < 5; k++)
            weights[5 * i + k] = k == i % 5;
    pelt_skin_run(&f.job);
    for (size_t i = 0; i < 64; i++) {
        float out[3];
        px_affine_point(&f.palette[f.job.bones[5 * i + i % 5]], f.job.positions + 3 * i, out);
        assert_memory_equal(out, f.job.out_positions + 3 * i, sizeof out);
    }
    drop(&f);
}

/* A rigid motion of the whole skeleton moves the skinned mesh by that motion. */
static void rigid_motion_commutes(void **state) {
    (void)state;
    test_random random = {9};
    pelt_affine motion = random_affine(&random, 3, 1), turn = motion;
    turn.m[3] = turn.m[7] = turn.m[11] = 0;
    for (int s = 0; s < 2; s++) {
        fixture f;
        make(&f, 9, 200, 4, true, true, 0);
        for (uint32_t j = 0; j < BONES; j++)
            f.palette[j] = random_affine(&random, 1.5, 1);
        pelt_dual_quaternions(f.palette, BONES, f.dual_quaternions);
        f.job.skinning = (pelt_skinning)s;
        pelt_skin_run(&f.job);
        for (uint32_t j = 0; j < BONES; j++)
            f.palette[j] = px_affine_mul(&motion, &f.palette[j]);
        pelt_dual_quaternions(f.palette, BONES, f.dual_quaternions);
        pelt_skin_job job = twin(&f, 0);
        pelt_skin_run(&job);
        for (size_t i = 0; i < 200; i++) {
            float p[3], n[3], t[3];
            px_affine_point(&motion, f.job.out_positions + 3 * i, p);
            px_affine_point(&turn, f.job.out_normals + 3 * i, n);
            px_affine_point(&turn, f.job.out_tangents + 4 * i, t);
            for (int c = 0; c < 3; c++) {
                assert_true(fabsf(p[c] - job.out_positions[3 * i + c]) < 4e-6f);
                assert_true(fabsf(n[c] - job.out_normals[3 * i + c]) < 2e-5f);
                assert_true(fabsf(t[c] - job.out_tangents[4 * i + c]) < 2e-5f);
            }
        }
        drop(&f);
    }
}

/* Two tangent directions and their normal under squashing and shearing bones: the normal stays perpendicular to the
 * moved directions, on the side given by the winding, mirrored or not. */
static void normals_stay_perpendicular(void **state) {
    (void)state;
    fixture f;
    make(&f, 12, 300, 3, true, true, 0);
    test_random random = {4};
    for (uint32_t j = 0; j < BONES; j++) {
        pelt_affine a = random_affine(&random, 0.5, 3), b = random_affine(&random, 0.5, 3);
        f.palette[j] = px_affine_mul(&a, &b);
        for (int r = 0; r < 3; r++)
            f.palette[j].m[4 * r] *= -1;
    }
    float *tangents = f.blocks[6];
    assert_ptr_equal(tangents, f.job.tangents);
    for (size_t i = 0; i < 300; i++) { /* any direction perpendicular to the normal */
        float side[3];
        px_cross3(f.job.normals + 3 * i, tangents + 4 * i, side);
        memcpy(tangents + 4 * i, side, sizeof side);
    }
    pelt_skin_run(&f.job);
    for (size_t i = 0; i < 300; i++) {
        double m[12];
        float bitangent[3], cross[3], moved[3];
        blend_reference(&f.job, i, m);
        px_cross3(f.job.normals + 3 * i, tangents + 4 * i, bitangent);
        for (int r = 0; r < 3; r++)
            moved[r] = (float)(m[4 * r] * bitangent[0] + m[4 * r + 1] * bitangent[1] + m[4 * r + 2] * bitangent[2]);
        const float *n = f.job.out_normals + 3 * i, *t = f.job.out_tangents + 4 * i;
        assert_true(fabsf(px_dot3(n, t)) < 2e-5f);
        assert_true(fabsf(px_dot3(n, moved)) < 2e-5f * sqrtf(px_dot3(moved, moved)));
        px_cross3(t, moved, cross);
        assert_true(px_dot3(cross, n) > 0);
        assert_true(fabsf(px_dot3(n, n) - 1) < 1e-6f && fabsf(px_dot3(t, t) - 1) < 1e-6f);
    }
    drop(&f);
}

/* q and −q are the same motion: negating any bone moves no vertex. */
static void antipodes_are_equal(void **state) {
    (void)state;
    fixture f;
    make(&f, 21, 300, 4, true, false, 0);
    f.job.skinning = PELT_SKINNING_DUAL_QUATERNION;
    pelt_skin_run(&f.job);
    for (uint32_t j = 0; j < BONES; j += 3)
        for (int e = 0; e < 8; e++)
            f.dual_quaternions[j].q[e] = -f.dual_quaternions[j].q[e];
    pelt_skin_job job = twin(&f, 0);
    pelt_skin_run(&job);
    assert_same(&f.job, &job);
    drop(&f);
}

/* ---- Rigid parts ------------------------------------------------------------------------------------------ */

/* A single dual quaternion applied to a point, by the kernel. */
static void move_point(const pelt_dual_quaternion *q, const float p[3], float out[3]) {
    pelt_skin_job job = {.vertex_count = 1,
                         .influence_count = 1,
                         .bones = (uint16_t[1]){0},
                         .weights = (float[1]){1},
                         .dual_quaternions = q,
                         .skinning = PELT_SKINNING_DUAL_QUATERNION,
                         .positions = p,
                         .out_positions = out};
    pelt_skin_run(&job);
}

static void assert_unit(const pelt_dual_quaternion *d) {
    const float *q = d->q;
    double real = 0, mixed = 0;
    for (int e = 0; e < 4; e++) {
        real += (double)q[e] * q[e];
        mixed += (double)q[e] * q[4 + e];
    }
    assert_true(fabs(real - 1) < 1e-6 && fabs(mixed) < 1e-6);
}

static void rigid_matrices_are_kept(void **state) {
    (void)state;
    test_random random = {3};
    for (int turn = 0; turn < 200; turn++) {
        pelt_affine a = random_affine(&random, 3.14159265, 1), scaled = a;
        pelt_dual_quaternion q;
        float p[3] = {0.3f, -0.8f, 0.5f}, want[3], got[3];
        px_affine_point(&a, p, want);
        float stretch[3];
        for (int c = 0; c < 3; c++)
            stretch[c] = turn % 2 ? (float)test_random_real(&random, 0.01, 100) : 1;
        for (int e = 0; e < 12; e++) /* scale before the rotation is removed without a trace */
            scaled.m[e] *= e % 4 == 3 ? 1 : stretch[e % 4];
        pelt_dual_quaternions(&scaled, 1, &q);
        assert_unit(&q);
        move_point(&q, p, got);
        for (int c = 0; c < 3; c++)
            assert_true(fabsf(want[c] - got[c]) < 2e-6f);
    }
}

/* The trace of Rᵀ·A: larger means closer. */
static double nearness(const double r[9], const pelt_affine *a) {
    double sum = 0;
    for (int e = 0; e < 9; e++)
        sum += r[e] * (double)a->m[4 * (e / 3) + e % 3];
    return sum;
}

static void matrix_of(const pelt_dual_quaternion *d, double r[9]) {
    pelt_transform t = {{0, 0, 0}, {d->q[0], d->q[1], d->q[2], d->q[3]}, {1, 1, 1}};
    pelt_affine a = px_affine_from_transform(&t);
    for (int e = 0; e < 9; e++)
        r[e] = (double)a.m[4 * (e / 3) + e % 3];
}

/* With shear, the rotation found is the nearest: compared with many others, far and close. */
static void sheared_matrices_give_the_nearest(void **state) {
    (void)state;
    test_random random = {17};
    for (int turn = 0; turn < 50; turn++) {
        pelt_affine a = random_affine(&random, 3, 3), b = random_affine(&random, 3, 3);
        a = px_affine_mul(&a, &b);
        if (turn % 3 == 0) /* flat */
            a.m[0] = a.m[1] = a.m[2] = 0;
        pelt_dual_quaternion q;
        double r[9], best;
        pelt_dual_quaternions(&a, 1, &q);
        assert_unit(&q);
        matrix_of(&q, r);
        best = nearness(r, &a);
        for (int other = 0; other < 200; other++) {
            pelt_affine step = random_affine(&random, other % 2 ? 3.0 : 0.01, 1);
            double near[9];
            for (int e = 0; e < 9; e++) {
                near[e] = 0;
                for (int k = 0; k < 3; k++)
                    near[e] += (double)step.m[4 * (e / 3) + k] * r[3 * k + e % 3];
            }
            assert_true(nearness(near, &a) <= best + 1e-5);
        }
    }
}

static void bad_matrices_give_rotations(void **state) {
    (void)state;
    static const pelt_affine bad[] = {
        {{0}},
        {{1, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4}},
        {{1, 2, 3, 0, 2, 4, 6, 0, 3, 6, 9, 0}},
        {{-1, 0, 0, 5, 0, 1, 0, 6, 0, 0, 1, 7}},
        {{-1, 0, 0, 0, 0, -1, 0, 0, 0, 0, -1, 0}},
        {{FLT_MAX, 0, 0, 0, 0, FLT_MAX, 0, 0, FLT_MAX, 0, FLT_MAX, 0}},
        {{1e-45f, 0, 0, 0, 0, 1e-45f, 0, 0, 0, 0, 1e-45f, 0}},
        {{1e-30f, 1e-30f, 0, 0, 0, 1, 0, 0, 0, 0, 1e30f, 0}},
        {{INFINITY, 0, 0, INFINITY, 0, 1, 0, NAN, 0, 0, NAN, 0}},
        {{0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0}},
    };
    for (size_t b = 0; b < sizeof bad / sizeof bad[0]; b++) {
        pelt_dual_quaternion q;
        pelt_dual_quaternions(&bad[b], 1, &q);
        assert_unit(&q);
    }
    /* A mirrored bone keeps the rotation of the two other axes: none, and a quarter about z. */
    static const pelt_affine quarter = {{0, -1, 0, 0, -1, 0, 0, 0, 0, 0, 1, 0}};
    pelt_dual_quaternion q;
    pelt_dual_quaternions(&bad[3], 1, &q);
    assert_true(q.q[3] == 1);
    pelt_dual_quaternions(&quarter, 1, &q);
    assert_true(fabsf(fabsf(q.q[2]) - sqrtf(0.5f)) < 1e-6f && fabsf(q.q[3] - q.q[2]) < 1e-6f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bodies_are_named),
        cmocka_unit_test(bodies_agree),
        cmocka_unit_test(fused_is_near),
        cmocka_unit_test(bodies_agree_on_the_worst),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(linear_is_accurate),
        cmocka_unit_test(dual_is_accurate),
        cmocka_unit_test(one_bone_is_its_transform),
        cmocka_unit_test(rigid_motion_commutes),
        cmocka_unit_test(normals_stay_perpendicular),
        cmocka_unit_test(antipodes_are_equal),
        cmocka_unit_test(rigid_matrices_are_kept),
        cmocka_unit_test(sheared_matrices_give_the_nearest),
        cmocka_unit_test(bad_matrices_give_rotations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
