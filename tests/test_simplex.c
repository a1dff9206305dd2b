/* Least squares on the simplex against enumeration of all supports; on problems of every rank and scale. */
#include "numeric/numeric.h"
#include "numeric/simplex.h"
#include "support.h"

#include <math.h>

#define LARGEST 6u

typedef struct problem {
    size_t n;
    double g[PX_SIMPLEX_MAX][PX_SIMPLEX_MAX], b[PX_SIMPLEX_MAX];
    double scale; /* of the objective */
} problem;

static double objective(const problem *p, const double *w) {
    double value = 0;
    for (size_t r = 0; r < p->n; r++) {
        value -= 2 * p->b[r] * w[r];
        for (size_t c = 0; c < p->n; c++)
            value += w[r] * p->g[r][c] * w[c];
    }
    return value;
}

/* ---- Problems --------------------------------------------------------------------------------------------- */

/* g = aᵀa and b = aᵀy for points a [rows][n]: typical problems of the solver. */
static problem make_problem(test_random *random) {
    problem p = {.n = 1 + test_random_below(random, LARGEST)};
    size_t rows = 1 + test_random_below(random, 8); /* fewer than n: rank-deficient */
    double a[8][LARGEST], y[8], size = pow(10, test_random_real(random, -4, 4));
    uint32_t kind = test_random_below(random, 6);
    for (size_t c = 0; c < p.n; c++) {
        double own = kind == 0 ? pow(10, test_random_real(random, -4, 4)) : 1;
        for (size_t r = 0; r < rows; r++)
            a[r][c] = size * own * test_random_real(random, -1, 1);
    }
    for (size_t r = 0; r < rows; r++) {
        y[r] = size * test_random_real(random, -2, 2);
        if (kind == 1 && p.n > 1)
            a[r][p.n - 1] = a[r][0]; /* duplicate */
        if (kind == 2)
            a[r][p.n / 2] = 0;
        if (kind == 3)
            y[r] = 0.5 * (a[r][0] + a[r][p.n - 1]); /* the minimum is on an edge, with value zero */
        for (size_t c = 0; kind == 4 && c < p.n; c++)
            a[r][c] = size * ((double)c + (double)r * 1e-6); /* nearly collinear */
    }
    for (size_t i = 0; i < p.n; i++)
        for (size_t r = 0; r < rows; r++) {
            p.b[i] += a[r][i] * y[r];
            for (size_t j = 0; j < p.n; j++)
                p.g[i][j] += a[r][i] * a[r][j];
        }
    for (size_t i = 0; i < p.n; i++)
        p.scale = fmax(p.scale, fabs(p.g[i][i]) + 2 * fabs(p.b[i]));
    return p;
}

/* Weights that are not negative and sum to one, some of them zero. */
static void random_start(test_random *random, size_t n, double *w) {
    double sum = 0;
    size_t always = test_random_below(random, (uint32_t)n);
    for (size_t a = 0; a < n; a++)
        sum += w[a] = a == always || test_random_below(random, 2) ? test_random_real(random, 0.01, 1) : 0;
    for (size_t a = 0; a < n; a++)
        w[a] /= sum;
}

/* ---- Every support ---------------------------------------------------------------------------------------- */

/* The stationary weights of a support through a pseudo-inverse, the sum eliminated; false when one is negative. */
static bool solve_support(const test_context *test, const problem *p, const size_t *set, size_t count, double *w) {
    size_t m = count - 1;
    double system[LARGEST * LARGEST] = {0}, values[LARGEST], rhs[LARGEST], trace = 0;
    for (size_t r = 0; r < m; r++) {
        rhs[r] = p->b[set[r]] - p->b[set[m]] - p->g[set[r]][set[m]] + p->g[set[m]][set[m]];
        for (size_t c = 0; c < m; c++)
            system[r * m + c] =
                p->g[set[r]][set[c]] - p->g[set[r]][set[m]] - p->g[set[c]][set[m]] + p->g[set[m]][set[m]];
        trace += system[r * m + r];
    }
    if (m)
        test_ok(test, px_symmetric_eigen(test->context, px_matrix_of(system, m, m), values));
    double x[LARGEST] = {0}, sum = 0;
    for (size_t e = 0; e < m; e++) {
        double along = 0;
        for (size_t r = 0; r < m; r++)
            along += system[e * m + r] * rhs[r];
        for (size_t r = 0; values[e] > 1e-12 * trace && r < m; r++)
            x[r] += along / values[e] * system[e * m + r];
    }
    memset(w, 0, p->n * sizeof *w);
    for (size_t r = 0; r < m; r++)
        sum += w[set[r]] = x[r];
    w[set[m]] = 1 - sum;
    for (size_t r = 0; r < count; r++)
        if (w[set[r]] < 0)
            return false;
    return true;
}

/* The least value over all supports. If the minimum of a support is not unique, one of its subsets has it too. */
static double least_of_all(const test_context *test, const problem *p) {
    double best = INFINITY;
    for (uint32_t bits = 1; bits < 1u << p->n; bits++) {
        size_t set[LARGEST], count = 0;
        double w[PX_SIMPLEX_MAX];
        for (size_t a = 0; a < p->n; a++)
            if (bits >> a & 1)
                set[count++] = a;
        if (solve_support(test, p, set, count, w))
            best = fmin(best, objective(p, w));
    }
    return best;
}

/* ---- Checks ----------------------------------------------------------------------------------------------- */

/* Karush-Kuhn-Tucker conditions: the gradient is equal for all weights above zero, and not smaller for those at
 * zero. */
static void check_slopes(const problem *p, const double *w) {
    double slopes[PX_SIMPLEX_MAX], level = 0;
    for (size_t a = 0; a < p->n; a++) {
        slopes[a] = -p->b[a];
        for (size_t c = 0; c < p->n; c++)
            slopes[a] += p->g[a][c] * w[c];
        level += w[a] * slopes[a];
    }
    for (size_t a = 0; a < p->n; a++) {
        assert_true(slopes[a] >= level - 1e-9 * p->scale);
        if (w[a] > 0)
            assert_true(w[a] * (slopes[a] - level) <= 1e-9 * p->scale);
    }
}

static void every_support(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    test_random random = {7};
    for (int round = 0; round < 10000; round++) {
        problem p = make_problem(&random);
        double w[PX_SIMPLEX_MAX] = {0};
        random_start(&random, p.n, w);
        double before = objective(&p, w), value = px_simplex_least(p.n, p.g, p.b, w), sum = 0;
        for (size_t a = 0; a < p.n; a++) {
            assert_true(w[a] >= 0);
            sum += w[a];
        }
        double small = 1e-10 * p.scale;
        assert_true(fabs(sum - 1) < 1e-12);
        assert_true(fabs(value - objective(&p, w)) <= small);
        assert_true(value <= before + 1e-14 * p.scale);
        double best = least_of_all(&test, &p);
        if (fabs(value - best) > small)
            fail_msg("round %d, n %zu: %.17g, the best support has %.17g (scale %g)", round, p.n, value, best, p.scale);
        check_slopes(&p, w);
    }
    test_end(&test);
}

/* Nine weights, as when a set of eight is tried with one more. */
static void full_size(void **state) {
    (void)state;
    test_random random = {8};
    for (int round = 0; round < 2000; round++) {
        problem p = {.n = PX_SIMPLEX_MAX};
        double a[12][PX_SIMPLEX_MAX], y[12];
        for (size_t r = 0; r < 12; r++) {
            y[r] = test_random_real(&random, -1, 1);
            for (size_t c = 0; c < p.n; c++)
                a[r][c] = test_random_real(&random, -1, 1);
        }
        for (size_t i = 0; i < p.n; i++)
            for (size_t r = 0; r < 12; r++) {
                p.b[i] += a[r][i] * y[r];
                for (size_t j = 0; j < p.n; j++)
                    p.g[i][j] += a[r][i] * a[r][j];
            }
        p.scale = 12;
        double first[PX_SIMPLEX_MAX], second[PX_SIMPLEX_MAX];
        random_start(&random, p.n, first);
        random_start(&random, p.n, second);
        double x = px_simplex_least(p.n, p.g, p.b, first), z = px_simplex_least(p.n, p.g, p.b, second);
        check_slopes(&p, first);
        assert_true(fabs(x - z) < 1e-10); /* convex: the start does not matter */
    }
}

/* Without the sum constraint: gradients are zero for positive weights and nowhere negative, to the rounding of their
 * terms. The problem is convex, so this is the minimum. */
static void without_the_sum(void **state) {
    (void)state;
    test_random random = {9};
    for (int round = 0; round < 10000; round++) {
        problem p = make_problem(&random);
        double w[PX_SIMPLEX_MAX] = {0}, slopes[PX_SIMPLEX_MAX], rounding[PX_SIMPLEX_MAX];
        double value = px_nonnegative_least(p.n, p.g, p.b, w);
        assert_true(value <= 0);
        for (size_t a = 0; a < p.n; a++) {
            slopes[a] = -p.b[a];
            rounding[a] = 1e-10 * (fabs(p.b[a]) + sqrt(p.g[a][a] * p.scale));
            for (size_t c = 0; c < p.n; c++) {
                slopes[a] += p.g[a][c] * w[c];
                rounding[a] += 1e-10 * fabs(p.g[a][c] * w[c]);
            }
            if (w[a] < 0 || slopes[a] < -rounding[a] || (w[a] > 0 && slopes[a] > rounding[a]))
                fail_msg("round %d, n %zu: weight %g has the slope %g (%g is rounding)", round, p.n, w[a], slopes[a],
                         rounding[a]);
        }
    }
}

static void nothing_to_choose(void **state) {
    (void)state;
    double g[1][PX_SIMPLEX_MAX] = {{4}}, b[1] = {3}, w[1] = {1};
    assert_true(px_simplex_least(1, g, b, w) == -2);
    assert_true(w[0] == 1);
    double zero[3][PX_SIMPLEX_MAX] = {{0}}, none[3] = {0}, thirds[3] = {0.25, 0.25, 0.5};
    assert_true(px_simplex_least(3, zero, none, thirds) == 0);
    assert_true(thirds[0] + thirds[1] + thirds[2] == 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_support),
        cmocka_unit_test(full_size),
        cmocka_unit_test(without_the_sum),
        cmocka_unit_test(nothing_to_choose),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
