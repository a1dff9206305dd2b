/* Least squares with weights ≥ 0, with or without Σw = 1, by a primal active set method (Lawson and Hanson 1974): solve
 * the unconstrained problem of the free weights; step towards its solution until a weight becomes zero, and remove that
 * weight from the free set. When none does, free the zero weight with the most negative multiplier. Terminates because
 * the objective decreases with every change of the set. n ≤ PX_SIMPLEX_MAX. */
#include "numeric/simplex.h"

#include "core/libm.h"

#include <stdbool.h>
#include <string.h>

#define INLINE __attribute__((always_inline))

/* Solves m x = rhs in place (x: rhs, then solution) for a positive semidefinite m [n][n], lower triangle, by LDLᵀ
 * without pivoting. Unknowns whose pivot is at most `floor` get x = 0: the objective does not depend on them. */
static inline INLINE void solve_definite(size_t n, double m[][PX_SIMPLEX_MAX], double *x, double floor) {
    double inverse[PX_SIMPLEX_MAX]; /* 1 / D, 0 for dropped pivots; stored because divisions dominate the cost */
    for (size_t k = 0; k < n; k++) {
        inverse[k] = m[k][k] > floor ? 1 / m[k][k] : 0;
        for (size_t r = n; inverse[k] > 0 && r-- > k + 1;) { /* bottom up: m[c][k] is not yet scaled for c ≤ r */
            double factor = m[r][k] * inverse[k];
            for (size_t c = k + 1; c <= r; c++)
                m[r][c] -= factor * m[c][k];
            x[r] -= factor * x[k];
            m[r][k] = factor;
        }
    }
    for (size_t k = n; k-- > 0;) {
        double value = x[k] * inverse[k];
        for (size_t r = k + 1; r < n; r++)
            value -= m[r][k] * x[r];
        x[k] = inverse[k] > 0 ? value : 0;
    }
}

/* The step from w to the minimum over the free weights with Σw = 1. The constraint is eliminated by expressing the last
 * free weight through the others. */
static inline INLINE void free_step(const size_t *free_set, size_t count, double g[][PX_SIMPLEX_MAX],
                                    const double *gradient, double *step) {
    size_t n = count - 1, base = free_set[n];
    double m[PX_SIMPLEX_MAX][PX_SIMPLEX_MAX], trace = 0;
    for (size_t r = 0; r < n; r++) {
        size_t a = free_set[r];
        for (size_t c = 0; c <= r; c++)
            m[r][c] = g[a][free_set[c]] - g[a][base] - g[free_set[c]][base] + g[base][base];
        step[r] = gradient[base] - gradient[a];
        trace += m[r][r];
    }
    solve_definite(n, m, step, 1e-13 * trace); /* rounding error of the differences above */
    step[n] = 0;
    for (size_t r = 0; r < n; r++)
        step[n] -= step[r];
}

/* The same with loops unrolled for the usual numbers of weights. */
static void simplex_step(const size_t *free_set, size_t count, double g[][PX_SIMPLEX_MAX], const double *gradient,
                         double *step) {
    switch (count) {
    case 2:
        free_step(free_set, 2, g, gradient, step);
        break;
    case 3:
        free_step(free_set, 3, g, gradient, step);
        break;
    case 4:
        free_step(free_set, 4, g, gradient, step);
        break;
    default:
        free_step(free_set, count, g, gradient, step);
    }
}

/* The step from w to the minimum over the free weights, without the constraint on the sum. */
static void open_step(const size_t *free_set, size_t count, double g[][PX_SIMPLEX_MAX], const double *gradient,
                      double *step) {
    double m[PX_SIMPLEX_MAX][PX_SIMPLEX_MAX], trace = 0;
    for (size_t r = 0; r < count; r++) {
        for (size_t c = 0; c <= r; c++)
            m[r][c] = g[free_set[r]][free_set[c]];
        step[r] = -gradient[free_set[r]];
        trace += m[r][r];
    }
    solve_definite(count, m, step, 1e-15 * trace); /* no cancellation: entries are copied */
}

static void gradient_at(size_t n, double g[][PX_SIMPLEX_MAX], const double *b, const double *w, double *gradient) {
    for (size_t a = 0; a < n; a++) {
        gradient[a] = -b[a];
        for (size_t c = 0; c < n; c++)
            gradient[a] += g[a][c] * w[c];
    }
}

/* Adds the largest fraction (≤ 1) of the step that keeps all weights ≥ 0. Returns the position in the set of the
 * blocking weight, which is now 0, or `count` if the full step was taken. */
static size_t take_step(const size_t *free_set, size_t count, const double *step, double *w) {
    double length = 1;
    size_t blocking = count;
    for (size_t f = 0; f < count; f++)
        if (w[free_set[f]] + length * step[f] < 0) {
            length = w[free_set[f]] / -step[f];
            blocking = f;
        }
    for (size_t f = 0; f < count; f++)
        w[free_set[f]] += length * step[f];
    if (blocking < count)
        w[free_set[blocking]] = 0;
    return blocking;
}

/* The zero weight with the most negative multiplier (gradient − level); n when none is negative. `level`: the common
 * gradient of the free weights, which is the multiplier of the sum constraint. */
static size_t entering(size_t n, const double *w, const double *gradient, double level, double tolerance) {
    size_t enter = n;
    double lowest = level - tolerance;
    for (size_t a = 0; a < n; a++)
        if (w[a] == 0 && gradient[a] < lowest) {
            lowest = gradient[a];
            enter = a;
        }
    return enter;
}

static bool is_in(const size_t *set, size_t count, size_t a) {
    for (size_t f = 0; f < count; f++)
        if (set[f] == a)
            return true;
    return false;
}

static double least(size_t n, double g[][PX_SIMPLEX_MAX], const double *b, double *w, bool simplex) {
    double gradient[PX_SIMPLEX_MAX], step[PX_SIMPLEX_MAX], scale = 0;
    size_t free_set[PX_SIMPLEX_MAX], count = 0;
    for (size_t a = 0; a < n; a++) {
        if (w[a] > 0)
            free_set[count++] = a;
        double size = fabs(g[a][a]) + fabs(b[a]);
        scale = size > scale ? size : scale;
    }
    gradient_at(n, g, b, w, gradient);
    for (size_t turn = 0; turn < 8 * n; turn++) { /* bound against cycling by rounding; four iterations are typical */
        (simplex ? simplex_step : open_step)(free_set, count, g, gradient, step);
        size_t blocking = take_step(free_set, count, step, w);
        gradient_at(n, g, b, w, gradient);
        if (blocking < count) {
            memmove(free_set + blocking, free_set + blocking + 1, (count - blocking - 1) * sizeof *free_set);
            count--;
            continue;
        }
        double level = 0;
        for (size_t a = 0; simplex && a < n; a++)
            level += w[a] * gradient[a];
        size_t enter = entering(n, w, gradient, level, 1e-14 * scale);
        if (enter == n || is_in(free_set, count, enter)) /* already free: its pivot was dropped */
            break;
        free_set[count++] = enter;
    }
    double value = 0;
    for (size_t a = 0; a < n; a++)
        value += w[a] * (gradient[a] - b[a]);
    return value;
}

double px_simplex_least(size_t n, double g[][PX_SIMPLEX_MAX], const double *b, double *w) {
    return least(n, g, b, w, true);
}

double px_nonnegative_least(size_t n, double g[][PX_SIMPLEX_MAX], const double *b, double *w) {
    double scaled[PX_SIMPLEX_MAX][PX_SIMPLEX_MAX], linear[PX_SIMPLEX_MAX] = {0}, units[PX_SIMPLEX_MAX];
    for (size_t a = 0; a < n; a++) { /* without the sum, weights can be scaled separately: make g_aa 1 */
        units[a] = g[a][a] > 0 ? 1 / sqrt(g[a][a]) : 0;
        linear[a] = b[a] * units[a];
        w[a] = units[a] > 0 ? w[a] / units[a] : 0;
    }
    for (size_t a = 0; a < n; a++)
        for (size_t c = 0; c < n; c++)
            scaled[a][c] = g[a][c] * units[a] * units[c];
    double value = least(n, scaled, linear, w, false);
    for (size_t a = 0; a < n; a++)
        w[a] *= units[a];
    return value;
}
