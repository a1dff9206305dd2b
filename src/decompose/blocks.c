/* Block coordinate descent over frames and bones. Frames are independent: each is swept on one thread. */
#include "decompose/blocks.h"

#include <math.h>

#define SWEEPS           3 /* sweeps over the bones; more gain little until the weights change */
#define FRAMES_PER_BLOCK 4
#define LEAST_MASS       1e-9 /* sum of squared weights below which a bone is unused */

/* ---- Moments ---------------------------------------------------------------------------------------------- */

static void own_moment(const double *s, size_t n, px_bone_moment *out) {
    out->mass = s[3 * n + 3] > LEAST_MASS ? s[3 * n + 3] : 0;
    for (size_t c = 0; out->mass > 0 && c < 3; c++)
        out->mean[c] = s[3 * n + c] / out->mass;
    for (size_t r = 0; r < 3; r++)
        for (size_t c = 0; c < 3; c++)
            out->scatter[3 * r + c] = s[r * n + c] - out->mean[r] * s[3 * n + c];
}

/* True if bones j and l share vertices: S_lj is not zero. All 16 entries are tested, because negative weights may
 * cancel in the last one, Σ w_l w_j. */
static bool share(const px_fit *fit, size_t j, size_t l) {
    size_t n = 4 * (size_t)fit->bone_count;
    const double *s = fit->scatter + 4 * l * n + 4 * j;
    bool any = false;
    for (size_t e = 0; j != l && e < 16; e++)
        any |= s[e / 4 * n + e % 4] != 0;
    return any;
}

static void fill_shared(px_blocks *b) {
    const px_fit *fit = b->fit;
    size_t P = fit->bone_count, n = 4 * P;
    uint32_t count = 0;
    for (size_t j = 0; j < P; j++) {
        own_moment(fit->scatter + 4 * j * n + 4 * j, n, &b->bones[j]);
        if (fit->lock_motions && fit->lock_motions[j])
            b->bones[j].mass = 0;
        b->first[j] = count;
        for (size_t l = 0; l < P; l++)
            if (share(fit, j, l)) {
                for (size_t r = 0; r < 4; r++)
                    memcpy(b->shared + 16 * (size_t)count + 4 * r, fit->scatter + (4 * l + r) * n + 4 * j,
                           4 * sizeof(double));
                b->others[count++] = (uint32_t)l;
            }
    }
    b->first[P] = count;
}

pelt_result px_blocks_create(px_fit *fit, px_blocks *b) {
    size_t P = fit->bone_count, n = 4 * P, d = fit->dimension, rows = fit->row_count, count = 0;
    for (size_t j = 0; j < P; j++)
        for (size_t l = 0; l < P; l++)
            count += share(fit, j, l);
    *b = (px_blocks){.fit = fit};
    b->cross = PX_ALLOC(fit->context, double, px_mul_size(rows, n));
    b->bones = PX_ALLOC(fit->context, px_bone_moment, P);
    b->first = PX_ALLOC(fit->context, uint32_t, P + 1);
    b->others = PX_ALLOC(fit->context, uint32_t, count + 1);
    b->shared = PX_ALLOC(fit->context, double, 16 * count + 1);
    if (!b->cross || !b->bones || !b->first || !b->others || !b->shared) {
        px_blocks_free(b);
        return PELT_ERROR_MEMORY;
    }
    fill_shared(b);
    px_gemm(1, px_matrix_in(fit->basis, rows, d), px_transposed(px_matrix_in(fit->cross, n, d)), 0,
            px_matrix_of(b->cross, rows, n));
    return PELT_OK;
}

void px_blocks_free(px_blocks *b) {
    pelt_context *context = b->fit->context;
    px_free(context, b->shared);
    px_free(context, b->others);
    px_free(context, b->first);
    px_free(context, b->bones);
    px_free(context, b->cross);
}

/* ---- One block -------------------------------------------------------------------------------------------- */

void px_block_left(const px_blocks *b, size_t frame, size_t j, double covariance[9], double middle[3]) {
    size_t n = 4 * (size_t)b->fit->bone_count;
    const double *t = b->fit->now.full + 3 * frame * n, *q = b->cross + 3 * frame * n + 4 * j;
    double m[3][4];
    for (size_t r = 0; r < 3; r++)
        memcpy(m[r], q + r * n, sizeof m[r]);
    for (uint32_t e = b->first[j]; e < b->first[j + 1]; e++) {
        const double *s = b->shared + 16 * (size_t)e, *other = t + 4 * (size_t)b->others[e];
        for (size_t r = 0; r < 3; r++)
            for (size_t c = 0; c < 4; c++)
                m[r][c] -= other[r * n] * s[c] + other[r * n + 1] * s[4 + c] + other[r * n + 2] * s[8 + c] +
                           other[r * n + 3] * s[12 + c];
    }
    for (size_t r = 0; r < 3; r++) {
        for (size_t c = 0; c < 3; c++)
            covariance[3 * r + c] = m[r][c] - m[r][3] * b->bones[j].mean[c];
        middle[r] = m[r][3] / b->bones[j].mass;
    }
}

void px_block_get(const px_blocks *b, size_t frame, size_t j, double linear[9]) {
    size_t n = 4 * (size_t)b->fit->bone_count;
    for (size_t r = 0; r < 3; r++)
        memcpy(linear + 3 * r, b->fit->now.full + (3 * frame + r) * n + 4 * j, 3 * sizeof *linear);
}

void px_block_put(const px_blocks *b, size_t frame, size_t j, const double linear[9], const double middle[3]) {
    size_t n = 4 * (size_t)b->fit->bone_count;
    const double *mean = b->bones[j].mean;
    for (size_t r = 0; r < 3; r++) {
        double *t = b->fit->now.full + (3 * frame + r) * n + 4 * j;
        const double *l = linear + 3 * r;
        memcpy(t, l, 3 * sizeof *t);
        t[3] = middle[r] - l[0] * mean[0] - l[1] * mean[1] - l[2] * mean[2];
    }
}

/* ---- Sweeps ----------------------------------------------------------------------------------------------- */

typedef struct sweep_job {
    const px_blocks *blocks;
    px_block_solve *solve;
} sweep_job;

static pelt_result sweep_frames(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const sweep_job *job = user;
    const px_blocks *b = job->blocks;
    for (size_t k = first; k < first + count; k++)
        for (int sweep = 0; sweep < SWEEPS; sweep++)
            for (size_t j = 0; j < b->fit->bone_count; j++) {
                double covariance[9], middle[3], linear[9];
                if (!(b->bones[j].mass > 0))
                    continue;
                px_block_left(b, k, j, covariance, middle);
                px_block_get(b, k, j, linear);
                job->solve(b, j, covariance, linear);
                px_block_put(b, k, j, linear, middle);
            }
    return PELT_OK;
}

pelt_result px_blocks_sweep(px_blocks *blocks, px_block_solve *solve) {
    sweep_job job = {blocks, solve};
    return px_parallel(blocks->fit->context, NULL, blocks->fit->row_count / 3, FRAMES_PER_BLOCK, sweep_frames, &job);
}

void px_blocks_reduce(px_fit *fit) {
    size_t n = 4 * (size_t)fit->bone_count, d = fit->dimension, rows = fit->row_count;
    px_gemm(1, px_transposed(px_matrix_in(fit->now.full, rows, n)), px_matrix_in(fit->basis, rows, d), 0,
            px_matrix_of(fit->now.reduced, n, d));
}

/* ---- Rotations -------------------------------------------------------------------------------------------- */

#define PULL         1e-10 /* relative to the size of C: far above rounding, too small to be visible */
#define NEWTON_STEPS 6
#define SMALL_TURN                                                                                                     \
    1e-4 /* radians; Newton converges quadratically: the step that finds it is the last and leaves 1e-8 */

static void multiply_transposed(const double a[9], const double b[9], double out[9]) {
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            out[3 * r + c] = a[r] * b[c] + a[3 + r] * b[3 + c] + a[6 + r] * b[6 + c];
}

/* r := r · R, R the rotation of the quaternion (1, w/2), which turns by about w. */
static void turn_by(double r[9], const double w[3]) {
    double x = w[0] / 2, y = w[1] / 2, z = w[2] / 2, f = 2 / (1 + x * x + y * y + z * z);
    double t[9] = {1 - f * (y * y + z * z), f * (x * y - z),         f * (x * z + y),
                   f * (x * y + z),         1 - f * (x * x + z * z), f * (y * z - x),
                   f * (x * z - y),         f * (y * z + x),         1 - f * (x * x + y * y)};
    for (int row = 0; row < 3; row++) {
        double a = r[3 * row], b = r[3 * row + 1], c = r[3 * row + 2];
        for (int e = 0; e < 3; e++)
            r[3 * row + e] = a * t[e] + b * t[3 + e] + c * t[6 + e];
    }
}

/* Newton step for tr(exp[w]ᵀ G) at w = 0: H w = a, H = tr(G) − sym(G). Returns false unless H is safely positive
 * definite: among the stationary rotations only the maximum has such an H. */
static bool newton_turn(const double g[9], double w[3]) {
    double trace = g[0] + g[4] + g[8], a[3] = {g[7] - g[5], g[2] - g[6], g[3] - g[1]};
    double h00 = trace - g[0], h11 = trace - g[4], h22 = trace - g[8];
    double h01 = -(g[1] + g[3]) / 2, h02 = -(g[2] + g[6]) / 2, h12 = -(g[5] + g[7]) / 2;
    double c00 = h11 * h22 - h12 * h12, c01 = h02 * h12 - h01 * h22, c02 = h01 * h12 - h02 * h11;
    double det = h00 * c00 + h01 * c01 + h02 * c02;
    if (!(h00 > 0 && h00 * h11 - h01 * h01 > 0 && det > 1e-12 * trace * trace * trace))
        return false;
    double c11 = h00 * h22 - h02 * h02, c12 = h01 * h02 - h00 * h12, c22 = h00 * h11 - h01 * h01;
    w[0] = (c00 * a[0] + c01 * a[1] + c02 * a[2]) / det;
    w[1] = (c01 * a[0] + c11 * a[1] + c12 * a[2]) / det;
    w[2] = (c02 * a[0] + c12 * a[1] + c22 * a[2]) / det;
    return w[0] * w[0] + w[1] * w[1] + w[2] * w[2] < 1; /* beyond one radian the quadratic model is unreliable */
}

void px_rotation_towards(const double c[9], double r[9]) {
    double pulled[9], size = 0, turned[9];
    for (int e = 0; e < 9; e++)
        size += fabs(c[e]);
    for (int e = 0; e < 9; e++)
        pulled[e] = c[e] + PULL * size * r[e];
    memcpy(turned, r, sizeof turned);
    for (int step = 0; step < NEWTON_STEPS; step++) {
        double g[9], w[3];
        multiply_transposed(turned, pulled, g);
        if (!newton_turn(g, w))
            break;
        turn_by(turned, w);
        if (w[0] * w[0] + w[1] * w[1] + w[2] * w[2] < SMALL_TURN * SMALL_TURN) {
            memcpy(r, turned, sizeof turned);
            return;
        }
    }
    if (size > 0 && isfinite(size))
        px_polar3(pulled, r, NULL);
}
