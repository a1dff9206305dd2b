/* Quasi-Newton steps of affine bones: L-BFGS (J. Nocedal, "Updating quasi-Newton matrices with limited storage", 1980),
 * preconditioned by the alternating iteration.
 *
 * With rest positions and weights eliminated (the vertex step finds the best ones), the objective is a function of the
 * transforms T alone. Its gradient is S T − Q, by the envelope theorem, and the transform step T ↦ S⁻¹ Q is the gradient
 * step preconditioned by S. L-BFGS with S⁻¹ as its initial inverse Hessian takes the coupling of transforms and
 * vertices into account, which alternation ignores.
 */
#include "decompose/quasi_newton.h"

typedef double lanes8 __attribute__((vector_size(64), aligned(8), may_alias)); /* any address */

static double dot(const double *a, const double *b, size_t count) {
    lanes8 s = {0};
    size_t e = 0;
    for (; e + 8 <= count; e += 8)
        s += *(const lanes8 *)(a + e) * *(const lanes8 *)(b + e);
    double sum = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
    for (; e < count; e++)
        sum += a[e] * b[e];
    return sum;
}

static void add(double scale, const double *restrict a, double *restrict sum, size_t count) {
    for (size_t e = 0; e < count; e++)
        sum[e] += scale * a[e];
}

pelt_result px_quasi_newton_make(px_quasi_newton *q, px_fit *fit) {
    size_t count = px_mul_size(4 * (size_t)fit->bone_capacity, fit->dimension);
    q->last = PX_NEW(fit->arena, double, count);
    q->gradient = PX_NEW(fit->arena, double, count);
    bool ready = q->last && q->gradient;
    for (size_t p = 0; p < PX_PAIRS; p++) {
        q->steps[p] = PX_NEW(fit->arena, double, count);
        q->changes[p] = PX_NEW(fit->arena, double, count);
        ready = ready && q->steps[p] && q->changes[p];
    }
    q->direction = ready ? PX_NEW(fit->arena, double, count) : NULL; /* last: tells that all are allocated */
    return q->direction ? PELT_OK : PELT_ERROR_MEMORY;
}

void px_quasi_newton_restart(px_quasi_newton *q) {
    q->pair_count = 0;
    q->started = false;
}

/* Adds the pair of the last and this iteration. */
static void add_pair(px_quasi_newton *q, const double *transforms, const double *gradient, size_t count) {
    if (q->started) {
        if (q->pair_count == PX_PAIRS) { /* the oldest pair becomes the newest */
            double *step = q->steps[0], *change = q->changes[0];
            memmove(q->steps, q->steps + 1, (PX_PAIRS - 1) * sizeof step);
            memmove(q->changes, q->changes + 1, (PX_PAIRS - 1) * sizeof change);
            q->steps[--q->pair_count] = step;
            q->changes[q->pair_count] = change;
        }
        double *step = q->steps[q->pair_count], *change = q->changes[q->pair_count];
        for (size_t e = 0; e < count; e++) {
            step[e] = transforms[e] - q->last[e];
            change[e] = gradient[e] - q->gradient[e];
        }
        q->pair_count += dot(step, change, count) > 0; /* the model is convex: no curvature ≤ 0 */
    }
    memcpy(q->last, transforms, count * sizeof *transforms);
    memcpy(q->gradient, gradient, count * sizeof *gradient);
    q->started = true;
}

pelt_result px_quasi_newton_advance(px_quasi_newton *q, px_fit *fit, bool *advanced) {
    size_t n = 4 * (size_t)fit->bone_count, d = fit->dimension, count = n * d;
    double *now = fit->now.reduced, along[PX_PAIRS], curvatures[PX_PAIRS], trace = 0;
    *advanced = false;
    if (!q->direction)
        PX_TRY(px_quasi_newton_make(q, fit));
    double *x = q->direction;
    memcpy(x, fit->cross, count * sizeof *x);
    px_gemm(1, px_matrix_in(fit->scatter, n, n), px_matrix_in(now, n, d), -1, px_matrix_of(x, n, d));
    add_pair(q, now, x, count);
    double *system = q->pair_count > 0 ? PX_ALLOC(fit->context, double, n *n) : NULL;
    if (!system)
        return q->pair_count > 0 ? PELT_ERROR_MEMORY : PELT_OK;

    /* two-loop recursion: x := inverse Hessian · gradient */
    for (size_t p = q->pair_count; p-- > 0;) {
        curvatures[p] = dot(q->steps[p], q->changes[p], count);
        along[p] = dot(q->steps[p], x, count) / curvatures[p];
        add(-along[p], q->changes[p], x, count);
    }
    memcpy(system, fit->scatter, n * n * sizeof *system);
    for (size_t r = 0; r < n; r++)
        trace += system[r * n + r];
    for (size_t r = 0; r < n; r++)
        system[r * n + r] += 1e-11 * trace / (double)n; /* as in the transform step */
    *advanced = px_cholesky_solve(px_matrix_of(system, n, n), px_matrix_of(x, n, d));
    px_free(fit->context, system);
    for (size_t p = 0; p < q->pair_count; p++)
        add(along[p] - dot(q->changes[p], x, count) / curvatures[p], q->steps[p], x, count);
    for (size_t e = 0; e < count && *advanced; e++)
        if (!fit->lock_motions || !fit->lock_motions[e / d / 4])
            now[e] -= x[e];
    return PELT_OK;
}
