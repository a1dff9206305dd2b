/* Dense linear algebra against plain sums and the identities that define each decomposition; 3×3 on degenerate
 * input. */
#include "support.h"

#include "numeric/kernels.h"

#include <float.h>
#include <math.h>

#define MOST 4096 /* elements of the largest test matrix */

static void fill(test_random *random, double *data, size_t count) {
    for (size_t e = 0; e < count; e++)
        data[e] = test_random_real(random, -1, 1);
}

/* out [m][n] = a · b, element by element. */
static void multiply(px_matrix a, px_matrix b, double *out) {
    for (size_t r = 0; r < a.rows; r++)
        for (size_t c = 0; c < b.columns; c++) {
            double sum = 0;
            for (size_t k = 0; k < a.columns; k++)
                sum += *px_matrix_at(a, r, k) * *px_matrix_at(b, k, c);
            out[r * b.columns + c] = sum;
        }
}

static void assert_near(px_matrix a, const double *want, double tolerance) {
    for (size_t r = 0; r < a.rows; r++)
        for (size_t c = 0; c < a.columns; c++)
            if (!(fabs(*px_matrix_at(a, r, c) - want[r * a.columns + c]) <= tolerance))
                fail_msg("(%zu, %zu): %.17g, wanted %.17g", r, c, *px_matrix_at(a, r, c), want[r * a.columns + c]);
}

/* aᵀ·a = 1. */
static void assert_orthonormal_columns(px_matrix a, double tolerance) {
    static double product[MOST], one[MOST];
    memset(one, 0, sizeof one);
    for (size_t c = 0; c < a.columns; c++)
        one[c * a.columns + c] = 1;
    multiply(px_transposed(a), a, product);
    assert_near(px_matrix_of(product, a.columns, a.columns), one, tolerance);
}

/* ---- Products --------------------------------------------------------------------------------------------- */

static void products(void **state) {
    (void)state;
    static double a[MOST], b[MOST], c[MOST], want[MOST];
    static const size_t sizes[][3] = {{1, 1, 1}, {3, 5, 7}, {17, 4, 33}, {40, 31, 2}, {5, 6, 0}, {0, 3, 2}};
    test_random random = {1};
    for (size_t t = 0; t < sizeof sizes / sizeof sizes[0]; t++)
        for (int flips = 0; flips < 4; flips++) {
            size_t m = sizes[t][0], n = sizes[t][1], k = sizes[t][2];
            fill(&random, a, MOST);
            fill(&random, b, MOST);
            fill(&random, c, MOST);
            px_matrix x = flips & 1 ? px_transposed(px_matrix_of(a, k, m)) : px_matrix_of(a, m, k);
            px_matrix y = flips & 2 ? px_transposed(px_matrix_in(b, n, k)) : px_matrix_in(b, k, n);
            multiply(x, y, want);
            for (size_t e = 0; e < m * n; e++)
                want[e] = -1.5 * want[e] + 0.25 * c[e];
            double guard = c[m * n];
            px_gemm(-1.5, x, y, 0.25, px_matrix_of(c, m, n));
            assert_near(px_matrix_of(c, m, n), want, 1e-13);
            assert_true(c[m * n] == guard);
        }
    c[0] = NAN; /* beta 0 does not read c */
    px_gemm(1, px_matrix_of(a, 1, 2), px_matrix_of(b, 2, 1), 0, px_matrix_of(c, 1, 1));
    assert_true(isfinite(c[0]));
    c[0] = NAN;
    px_gemm(1, px_matrix_of(a, 1, 0), px_matrix_of(b, 0, 1), 0, px_matrix_of(c, 1, 1));
    assert_true(c[0] == 0);
}

static void products_of_parts(void **state) {
    (void)state;
    static double a[MOST], c[MOST], want[MOST];
    test_random random = {2};
    fill(&random, a, MOST);
    memset(c, 0, sizeof c);
    px_matrix whole = px_matrix_of(a, 20, 30), out = px_matrix_of(c, 10, 10);
    px_matrix x = px_matrix_part(whole, 3, 4, 5, 6), y = px_matrix_part(px_transposed(whole), 7, 6, 2, 5);
    assert_ptr_equal(px_matrix_at(x, 1, 2), a + 4 * 30 + 7);
    assert_ptr_equal(px_matrix_at(y, 1, 2), a + 4 * 30 + 8);
    multiply(x, y, want);
    px_gemm(1, x, y, 0, px_matrix_part(out, 2, 4, 3, 5));
    assert_near(px_matrix_part(out, 2, 4, 3, 5), want, 1e-14);
    for (size_t r = 0; r < 10; r++)
        for (size_t k = 0; k < 10; k++)
            if (r < 2 || r > 5 || k < 3 || k > 7)
                assert_true(c[10 * r + k] == 0);
}

static void squares(void **state) {
    (void)state;
    static double a[MOST], c[MOST], want[MOST];
    test_random random = {3};
    fill(&random, a, MOST);
    for (int flip = 0; flip < 2; flip++) {
        px_matrix x = px_matrix_of(a, 21, 34);
        x = flip ? px_transposed(x) : x;
        size_t n = x.rows;
        multiply(x, px_transposed(x), want);
        for (size_t e = 0; e < n * n; e++)
            c[e] = 7, want[e] = 2 * want[e] - 7;
        px_syrk(2, x, -1, px_matrix_of(c, n, n));
        assert_near(px_matrix_of(c, n, n), want, 1e-12);
        for (size_t r = 0; r < n; r++)
            for (size_t k = 0; k < n; k++)
                assert_true(c[r * n + k] == c[k * n + r]);
    }
    px_syrk(1, px_matrix_of(a, 4, 0), 0, px_matrix_of(c, 4, 4));
    for (int e = 0; e < 16; e++)
        assert_true(c[e] == 0);
}

/* ---- Cholesky --------------------------------------------------------------------------------------------- */

static void cholesky_solves(void **state) {
    (void)state;
    static double a[MOST], spd[MOST], factor[MOST], x[MOST], b[MOST], turned[MOST], l[MOST], back[MOST];
    test_random random = {4};
    static const size_t sizes[] = {0, 1, 2, 5, 12, 40, 60};
    for (size_t t = 0; t < sizeof sizes / sizeof sizes[0]; t++)
        for (double size = 1e-120; size < 1e130; size *= 1e60) {
            size_t n = sizes[t], k = 3;
            fill(&random, a, n * (n + 3));
            fill(&random, x, n * k);
            px_syrk(size, px_matrix_of(a, n, n + 3), 0, px_matrix_of(spd, n, n));
            memcpy(factor, spd, sizeof spd);
            px_gemm(1, px_matrix_of(spd, n, n), px_matrix_of(x, n, k), 0, px_matrix_of(b, n, k));
            for (size_t r = 0; r < n; r++)
                for (size_t c = r + 1; c < n; c++)
                    factor[r * n + c] = NAN; /* the upper triangle is not read */
            for (size_t r = 0; r < n; r++)
                for (size_t c = 0; c < k; c++)
                    turned[c * n + r] = b[r * k + c];
            assert_true(px_cholesky_solve(px_matrix_of(factor, n, n), px_matrix_of(b, n, k)));
            assert_near(px_matrix_of(b, n, k), x, 1e-10);
            px_cholesky_apply(px_matrix_of(factor, n, n), px_transposed(px_matrix_of(turned, k, n)));
            assert_near(px_transposed(px_matrix_of(turned, k, n)), x, 1e-10);
            for (size_t r = 0; r < n; r++)
                for (size_t c = 0; c < n; c++)
                    l[r * n + c] = c <= r ? factor[r * n + c] : 0;
            multiply(px_matrix_of(l, n, n), px_transposed(px_matrix_of(l, n, n)), back);
            assert_near(px_matrix_of(back, n, n), spd, 1e-13 * size * (double)(n + 3));
            multiply(px_matrix_of(l, n, n), px_matrix_of(x, n, k), b);
            px_cholesky_divide(px_matrix_of(factor, n, n), px_matrix_of(b, n, k));
            assert_near(px_matrix_of(b, n, k), x, 1e-10);
        }
}

static void cholesky_refuses(void **state) {
    (void)state;
    double indefinite[4] = {1, 2, 2, 1}, zero[4] = {0}, bad[4] = {1, 0, NAN, 1}, negative[1] = {-1}, b[2] = {3, 4};
    double endless[4] = {INFINITY, 0, 0, 1};
    assert_false(px_cholesky_solve(px_matrix_of(indefinite, 2, 2), px_matrix_of(b, 2, 1)));
    assert_false(px_cholesky_solve(px_matrix_of(zero, 2, 2), px_matrix_of(b, 2, 1)));
    assert_false(px_cholesky_solve(px_matrix_of(bad, 2, 2), px_matrix_of(b, 2, 1)));
    assert_false(px_cholesky_solve(px_matrix_of(endless, 2, 2), px_matrix_of(b, 2, 1)));
    assert_false(px_cholesky(px_matrix_of(negative, 1, 1)));
    assert_true(b[0] == 3 && b[1] == 4);
}

/* ---- Eigenvalues and singular values ---------------------------------------------------------------------- */

/* Random, of rank 2, with equal values, zero, tiny and huge. */
static void make_symmetric(test_random *random, int kind, size_t n, double *out) {
    static double a[MOST];
    fill(random, a, MOST);
    px_syrk(kind == 4   ? 1e-200
            : kind == 5 ? 1e200
                        : 1,
            px_matrix_of(a, n, kind == 1 ? 2 : n), 0, px_matrix_of(out, n, n));
    for (size_t e = 0; e < n * n; e++)
        out[e] = kind == 3 ? 0 : kind == 2 ? (double)(e % (n + 1) == 0) * 3 : out[e];
}

static void eigenvalues(void **state) {
    (void)state;
    static double a[MOST], vectors[MOST], values[64], av[MOST], want[MOST];
    test_context test;
    test_begin(&test, 1);
    test_random random = {5};
    for (size_t n = 0; n < 34; n = n * 2 + 1)
        for (int kind = 0; kind < 6; kind++) {
            make_symmetric(&random, kind, n, a);
            memcpy(vectors, a, sizeof a);
            test_ok(&test, px_symmetric_eigen(test.context, px_matrix_of(vectors, n, n), values));
            px_matrix rows = px_matrix_of(vectors, n, n);
            double size = 0;
            for (size_t e = 0; e < n; e++) {
                size = fmax(size, fabs(values[e]));
                assert_true(e == 0 || values[e - 1] <= values[e]);
            }
            assert_orthonormal_columns(px_transposed(rows), 1e-13);
            multiply(px_matrix_of(a, n, n), px_transposed(rows), av);
            for (size_t r = 0; r < n; r++)
                for (size_t e = 0; e < n; e++)
                    want[r * n + e] = values[e] * vectors[e * n + r];
            assert_near(px_matrix_of(av, n, n), want, 1e-13 * size);
        }
    a[0] = 1, a[1] = 0, a[2] = NAN, a[3] = 1;
    test_fails(&test, px_symmetric_eigen(test.context, px_matrix_of(a, 2, 2), values), PELT_ERROR_INPUT, "finite");
    test_end(&test);
}

static void singular_values(void **state) {
    (void)state;
    static double a[MOST], spoilt[MOST], u[MOST], s[64], vt[MOST], us[MOST], back[MOST], low[MOST], high[MOST];
    static const size_t sizes[][2] = {{1, 1}, {5, 5}, {40, 7}, {7, 40}, {3, 0}, {1, 20}, {20, 1}};
    test_context test;
    test_begin(&test, 1);
    test_random random = {6};
    for (size_t t = 0; t < sizeof sizes / sizeof sizes[0]; t++)
        for (int kind = 0; kind < 5; kind++) {
            size_t m = sizes[t][0], n = sizes[t][1], r = m < n ? m : n;
            double size = kind == 2 ? 1e-200 : kind == 3 ? 1e200 : kind == 4 ? 0 : 1;
            fill(&random, low, m * 2);
            fill(&random, high, n * 2);
            fill(&random, a, m * n);
            if (kind == 1) /* rank 2 */
                multiply(px_matrix_of(low, m, 2), px_matrix_of(high, 2, n), a);
            for (size_t e = 0; e < m * n; e++)
                a[e] *= size;
            memcpy(spoilt, a, sizeof a);
            test_ok(&test,
                    px_svd(test.context, px_matrix_of(spoilt, m, n), px_matrix_of(u, m, r), s, px_matrix_of(vt, r, n)));
            for (size_t e = 0; e < r; e++)
                assert_true(s[e] >= 0 && (e == 0 || s[e] <= s[e - 1]) && (kind != 1 || e < 2 || s[e] < 1e-13));
            assert_orthonormal_columns(px_matrix_of(u, m, r), 1e-13);
            assert_orthonormal_columns(px_transposed(px_matrix_of(vt, r, n)), 1e-13);
            for (size_t e = 0; e < m * r; e++)
                us[e] = u[e] * s[e % r];
            multiply(px_matrix_of(us, m, r), px_matrix_of(vt, r, n), back);
            assert_near(px_matrix_of(back, m, n), a, 1e-13 * size * 10);
        }
    a[0] = INFINITY;
    test_fails(&test, px_svd(test.context, px_matrix_of(a, 1, 1), px_matrix_of(u, 1, 1), s, px_matrix_of(vt, 1, 1)),
               PELT_ERROR_INPUT, "finite");
    test_end(&test);
}

static pelt_result decompose(pelt_context *context, void *user) {
    (void)user;
    double a[9] = {2, 0, 0, 0, 3, 0, 0, 0, 4}, b[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, u[9], s[3], vt[9];
    PX_TRY(px_symmetric_eigen(context, px_matrix_of(a, 3, 3), s));
    return px_svd(context, px_matrix_of(b, 3, 3), px_matrix_of(u, 3, 3), s, px_matrix_of(vt, 3, 3));
}

static void lack_of_memory(void **state) {
    (void)state;
    test_fail_each_allocation(1, decompose, NULL);
}

/* Larger than the blocks of the algorithms: graded, with clusters of equal values, of low rank, ill-conditioned. */
static void large_eigenvalues(void **state) {
    (void)state;
    enum { MOST_ROWS = 300 };
    static double a[MOST_ROWS * MOST_ROWS], q[MOST_ROWS * MOST_ROWS], vectors[MOST_ROWS * MOST_ROWS];
    static double product[MOST_ROWS * MOST_ROWS], values[MOST_ROWS], wanted[MOST_ROWS];
    static const size_t sizes[] = {33, 64, 129, MOST_ROWS};
    test_context test;
    test_begin(&test, 2);
    test_random random = {8};
    for (size_t t = 0; t < sizeof sizes / sizeof sizes[0]; t++)
        for (int kind = 0; kind < 5; kind++) {
            size_t n = sizes[t];
            px_matrix basis = px_matrix_of(q, n, n), rows = px_matrix_of(vectors, n, n);
            fill(&random, vectors, n * n);
            for (size_t r = 0; r < n; r++) /* eigenvectors of anything are an orthonormal basis */
                for (size_t c = 0; c <= r; c++)
                    q[r * n + c] = vectors[r * n + c];
            test_ok(&test, px_symmetric_eigen(test.context, basis, values));
            for (size_t e = 0; e < n; e++) {
                double x = (double)e / (double)n;
                wanted[e] = kind == 0   ? pow(10, 12 * (x - 1))
                            : kind == 1 ? floor(4 * x)
                            : kind == 2 ? x > 0.9
                            : kind == 3 ? x - 0.5
                                        : pow(10, 40 * (x - 1)); /* most below the rounding of the largest */
                ;
                for (size_t c = 0; c < n; c++)
                    product[e * n + c] = wanted[e] * q[e * n + c];
            }
            px_gemm(1, px_transposed(basis), px_matrix_of(product, n, n), 0, px_matrix_of(a, n, n));
            memcpy(vectors, a, n * n * sizeof *a);
            test_ok(&test, px_symmetric_eigen(test.context, rows, values));
            double tolerance = 20 * DBL_EPSILON * sqrt((double)n) * 3; /* the largest eigenvalue is at most 3 */
            for (size_t e = 0; e < n; e++)
                if (!(fabs(values[e] - wanted[e]) <= tolerance))
                    fail_msg("size %zu, kind %d: value %zu is off by %.2g", n, kind, e, values[e] - wanted[e]);
            px_gemm(1, rows, px_matrix_of(a, n, n), 0, px_matrix_of(product, n, n));
            for (size_t e = 0; e < n * n; e++)
                if (!(fabs(product[e] - values[e / n] * vectors[e]) <= tolerance))
                    fail_msg("size %zu, kind %d: vector %zu is off by %.2g", n, kind, e / n,
                             product[e] - values[e / n] * vectors[e]);
            px_gemm(1, rows, px_transposed(rows), 0, px_matrix_of(product, n, n));
            for (size_t e = 0; e < n * n; e++)
                assert_true(fabs(product[e] - (e % (n + 1) == 0)) <= tolerance);
        }
    test_end(&test);
}

/* Gram matrices of low rank: most eigenvalues are rounding errors of the others, which the iteration must not try to resolve. */
static void gram_eigenvalues(void **state) {
    (void)state;
    enum { N = 350 };
    static double a[N * N], vectors[N * N], product[N * N], values[N];
    test_context test;
    test_begin(&test, 1);
    test_random random = {11};
    for (size_t rank = 4; rank <= 64; rank *= 2) {
        fill(&random, vectors, N * rank);
        for (size_t e = 0; e < N * rank; e++)
            vectors[e] *= pow(10, -3 * (double)(e % rank) / (double)rank) * (e / rank % 3 == 0 ? 1e-8 : 1);
        px_syrk(1, px_matrix_of(vectors, N, rank), 0, px_matrix_of(a, N, N));
        memcpy(vectors, a, sizeof a);
        test_ok(&test, px_symmetric_eigen(test.context, px_matrix_of(vectors, N, N), values));
        px_gemm(1, px_matrix_of(vectors, N, N), px_matrix_of(a, N, N), 0, px_matrix_of(product, N, N));
        double tolerance = 20 * DBL_EPSILON * sqrt((double)N) * values[N - 1];
        for (size_t e = 0; e < N * N; e++)
            assert_true(fabs(product[e] - values[e / N] * vectors[e]) <= tolerance);
    }
    test_end(&test);
}

/* Rows of very different size: every singular value keeps its digits. */
static void graded_singular_values(void **state) {
    (void)state;
    enum { ROWS = 12, COLUMNS = 20 };
    double a[ROWS * COLUMNS], u[ROWS * ROWS], s[ROWS], vt[ROWS * COLUMNS], want[ROWS], left[ROWS * ROWS];
    test_context test;
    test_begin(&test, 1);
    test_random random = {9};
    fill(&random, a, ROWS * COLUMNS);
    test_ok(&test, px_svd(test.context, px_matrix_of(a, ROWS, COLUMNS), px_matrix_of(left, ROWS, ROWS), s,
                          px_matrix_of(vt, ROWS, COLUMNS)));
    for (size_t e = 0; e < ROWS * COLUMNS; e++)
        a[e] = vt[e] * (want[e / COLUMNS] = pow(10, -(double)(e / COLUMNS)));
    test_ok(&test, px_svd(test.context, px_matrix_of(a, ROWS, COLUMNS), px_matrix_of(u, ROWS, ROWS), s,
                          px_matrix_of(vt, ROWS, COLUMNS)));
    for (size_t e = 0; e < ROWS; e++)
        assert_true(fabs(s[e] - want[e]) <= 1e-14 * want[e]);
    test_end(&test);
}

/* ---- Kernels ----------------------------------------------------------------------------------------------- */

/* Kernels of this machine, from the widest to those for any machine. */
static size_t find_kernels(const px_dense_kernels *out[3]) {
    size_t count = 0;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        out[count++] = &px_dense_kernels_avx512;
    if (__builtin_cpu_supports("avx2"))
        out[count++] = &px_dense_kernels_avx2;
#endif
    out[count++] = &px_dense_kernels_any;
    return count;
}

/* FNV-1a of the bits of doubles. */
static uint64_t hash_doubles(uint64_t hash, const double *values, size_t count) {
    for (size_t e = 0; e < count; e++) {
        uint64_t bits;
        memcpy(&bits, &values[e], sizeof bits);
        hash = (hash ^ bits) * UINT64_C(1099511628211);
        hash ^= hash >> 32;
    }
    return hash;
}

static void kernels_agree(void **state) {
    (void)state;
    uint64_t hash = UINT64_C(14695981039346656037);
    enum { SIZE = 210 * 210 };
    static double a[SIZE], b[SIZE], c[SIZE], first[SIZE], turns[64][2];
    static const size_t sizes[][3] = {{1, 1, 1}, {9, 25, 130}, {8, 24, 128}, {5, 13, 7}, {70, 200, 210}, {17, 3, 200}};
    const px_dense_kernels *kernels[3];
    size_t count = find_kernels(kernels);
    assert_true(px_dense_kernels_here() == kernels[0]);
    test_random random = {10};
    fill(&random, a, SIZE);
    fill(&random, b, SIZE);
    for (size_t t = 0; t < sizeof sizes / sizeof sizes[0]; t++)
        for (int flips = 0; flips < 4; flips++)
            for (size_t k = 0; k < count; k++) {
                size_t m = sizes[t][0], n = sizes[t][1], deep = sizes[t][2];
                px_matrix x = flips & 1 ? px_transposed(px_matrix_of(a, deep, m)) : px_matrix_of(a, m, deep);
                px_matrix y = flips & 2 ? px_transposed(px_matrix_of(b, n, deep)) : px_matrix_of(b, deep, n);
                memcpy(c, a, sizeof c);
                kernels[k]->multiply(-0.3, x, y, flips == 3 ? 0 : 0.7, px_matrix_of(c, m, n));
                if (k == 0) {
                    memcpy(first, c, sizeof c);
                    hash = hash_doubles(hash, c, m * n);
                }
                assert_memory_equal(c, first, sizeof c);
            }
    for (size_t t = 0; t < sizeof sizes / sizeof sizes[0]; t++) {
        enum { WIDEST = 256 };
        static float values[SIZE], product[WIDEST * WIDEST], first_product[WIDEST * WIDEST];
        const float *rows[WIDEST];
        size_t m = sizes[t][0], n = sizes[t][1], deep = sizes[t][2], pitch = px_float_pitch(n);
        for (size_t e = 0; e < SIZE; e++)
            values[e] = (float)a[e];
        for (size_t r = 0; r < m; r++)
            rows[r] = values + r * deep;
        for (size_t k = 0; k < count; k++) {
            kernels[k]->multiply_rows(rows, m, px_transposed(px_matrix_of(b, n, deep)), product);
            if (k == 0)
                memcpy(first_product, product, sizeof product);
            for (size_t r = 0; r < m; r++) {
                assert_memory_equal(product + r * pitch, first_product + r * pitch, n * sizeof *product);
                for (size_t e = 0; e < n; e++) {
                    double sum = 0;
                    for (size_t l = 0; l < deep; l++)
                        sum += (double)rows[r][l] * b[e * deep + l];
                    /* values are below 1 in magnitude; every term is rounded three times, every sum at most once a term */
                    assert_true(fabs((double)product[r * pitch + e] - sum) <= 6e-8 * (double)(3 * deep + deep * deep));
                    if (k == 0)
                        hash = hash_doubles(hash, &(double){(double)product[r * pitch + e]}, 1);
                }
            }
        }
    }
    for (size_t e = 0; e < 64; e++) {
        turns[e][0] = px_cos((double)e);
        turns[e][1] = px_sin((double)e);
    }
    px_rotations sequences[2] = {{0, 40, (const double(*)[2])turns}, {7, 30, (const double(*)[2])turns}};
    for (size_t columns = 1; columns < 80; columns += 13)
        for (size_t k = 0; k < count; k++) {
            memcpy(c, a, sizeof c);
            kernels[k]->rotate(sequences, 2, c, 100, 3, columns);
            if (k == 0)
                memcpy(first, c, sizeof c);
            assert_memory_equal(c, first, sizeof c);
            double x = kernels[k]->dot(a, b, columns), y = kernels[0]->dot(a, b, columns);
            assert_memory_equal(&x, &y, sizeof x);
            if (k == 0)
                hash = hash_doubles(hash_doubles(hash, c, SIZE), &x, 1);
        }
    assert_int_equal(hash, UINT64_C(0x34D861F82218D416)); /* on every machine */
}

/* ---- From many threads ------------------------------------------------------------------------------------ */

typedef struct many_task {
    pelt_context *context;
    double *results; /* [block][20] */
} many_task;

static pelt_result many_block(void *user, size_t first, size_t count, size_t block) {
    (void)first;
    (void)count;
    many_task *task = user;
    double a[400], c[400];
    test_random random = {block};
    fill(&random, a, 400);
    px_syrk(1, px_matrix_of(a, 20, 20), 0, px_matrix_of(c, 20, 20));
    return px_symmetric_eigen(task->context, px_matrix_of(c, 20, 20), task->results + 20 * block);
}

static void many_threads(void **state) {
    (void)state;
    static double results[2][20 * 64];
    for (int t = 0; t < 2; t++) {
        test_context test;
        test_begin(&test, t ? 4 : 1);
        many_task task = {test.context, results[t]};
        test_ok(&test, px_parallel(test.context, NULL, 64, 1, many_block, &task));
        test_end(&test);
    }
    assert_memory_equal(results[0], results[1], sizeof results[0]);
}

/* ---- 3×3 -------------------------------------------------------------------------------------------------- */

static double determinant(const double m[9]) {
    return m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) + m[2] * (m[3] * m[7] - m[4] * m[6]);
}

static void assert_rotation(const double m[9]) {
    double copy[9];
    memcpy(copy, m, sizeof copy);
    assert_orthonormal_columns(px_matrix_of(copy, 3, 3), 4e-15);
    assert_true(determinant(m) > 0);
}

static void check3(const double a[9]) {
    double u[9], s[3], v[9], us[9], back[9], rotation[9], stretch[9], product[9], size = 0;
    for (int e = 0; e < 9; e++)
        size = fmax(size, fabs(a[e]));
    px_svd3(a, u, s, v);
    assert_rotation(u);
    assert_rotation(v);
    assert_true(s[0] >= s[1] && s[1] >= fabs(s[2]));
    for (int e = 0; e < 9; e++)
        us[e] = u[e] * s[e % 3];
    multiply(px_matrix_of(us, 3, 3), px_transposed(px_matrix_of(v, 3, 3)), back);
    assert_near(px_matrix_of(back, 3, 3), a, 1e-14 * size);
    px_polar3(a, rotation, stretch);
    assert_rotation(rotation);
    multiply(px_matrix_of(rotation, 3, 3), px_matrix_of(stretch, 3, 3), product);
    assert_near(px_matrix_of(product, 3, 3), a, 1e-14 * size);
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < r; c++)
            assert_true(fabs(stretch[3 * r + c] - stretch[3 * c + r]) <= 1e-15 * size);
    double reflection = determinant((double[9]){a[0] / size, a[1] / size, a[2] / size, a[3] / size, a[4] / size,
                                                a[5] / size, a[6] / size, a[7] / size, a[8] / size});
    if (fabs(reflection) > 1e-12)
        assert_true((s[2] < 0) == (reflection < 0));
}

static void random_rotation(test_random *random, double out[9]) {
    double a[9], s[3], v[9];
    fill(random, a, 9);
    px_svd3(a, out, s, v);
}

static void small_matrices(void **state) {
    (void)state;
    test_random random = {7};
    static const double scales[][3] = {{1, 1, 1},         {1, 1, 0},        {1, 0, 0},         {3, 2, -1},
                                       {1, 1, -1},        {1, 1e-9, 0},     {1, 1e-16, 1e-16}, {1, 1, 1e-17},
                                       {-1, -1, -1},      {1, 1e-8, -1e-8}, {5, 5, 2},         {1, 1e-30, 1e-60},
                                       {1, 1 + 1e-15, 1}, {1, 1e-12, 1e-13}};
    static const double sizes[] = {1, 1e-300, 1e300, 1e-160, 1e-12};
    for (int round = 0; round < 20; round++)
        for (size_t e = 0; e < sizeof scales / sizeof scales[0]; e++)
            for (size_t z = 0; z < sizeof sizes / sizeof sizes[0]; z++) {
                double left[9], right[9], scaled[9], a[9];
                random_rotation(&random, left);
                random_rotation(&random, right);
                for (int c = 0; c < 9; c++)
                    scaled[c] = left[c] * scales[e][c % 3] * sizes[z];
                multiply(px_matrix_of(scaled, 3, 3), px_matrix_of(right, 3, 3), a);
                check3(a);
                check3(scaled);
            }
    for (int round = 0; round < 500; round++) { /* few values, so that zeros and equal entries abound */
        double a[9];
        for (int c = 0; c < 9; c++)
            a[c] = (double)test_random_below(&random, 5) - 2;
        bool zero = true;
        for (int c = 0; c < 9; c++)
            zero = zero && a[c] == 0;
        if (!zero)
            check3(a);
    }
}

static void special_small_matrices(void **state) {
    (void)state;
    static const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    double zero[9] = {0}, bad[9] = {1, NAN, 0, 0, INFINITY, 0, 0, 0, 1}, u[9], s[3], v[9], r[9];
    px_svd3(zero, u, s, v);
    assert_memory_equal(u, one, sizeof one);
    assert_memory_equal(v, one, sizeof one);
    px_svd3(bad, u, s, v);
    assert_memory_equal(u, one, sizeof one);
    assert_true(s[0] == 0);
    px_polar3(bad, r, NULL);
    assert_memory_equal(r, one, sizeof one);
    check3((double[9]){DBL_MAX, 0, 0, 0, DBL_MAX, 0, 0, 0, DBL_MAX});
    /* flattened or shrunk to a line, but not rotated */
    static const double flat[][9] = {{2, 0, 0, 0, 3, 0, 0, 0, 0},
                                     {0, 0, 0, 0, 3, 0, 0, 0, 0},
                                     {1, 0, 0, 0, 0, 0, 0, 0, 0},
                                     {1, 0, 0, 0, 1e-40, 0, 0, 0, 1e-50}};
    for (int f = 0; f < 4; f++) {
        px_polar3(flat[f], r, NULL);
        assert_near(px_matrix_of(r, 3, 3), one, 1e-15);
    }
}

/* The polar rotation is the nearest: it maximises tr(Rᵀ·A). */
static void polar_is_nearest(void **state) {
    (void)state;
    test_random random = {8};
    for (int round = 0; round < 100; round++) {
        double a[9], r[9], best = 0;
        fill(&random, a, 9);
        px_polar3(a, r, NULL);
        for (int e = 0; e < 9; e++)
            best += r[e] * a[e];
        for (int other = 0; other < 100; other++) {
            double turn[9], sum = 0;
            random_rotation(&random, turn);
            for (int e = 0; e < 9; e++)
                sum += turn[e] * a[e];
            assert_true(sum <= best + 1e-14);
        }
    }
}

/* left · diag(s) · rightᵀ has the inverse right · diag(1/s) · leftᵀ; small s are clamped to the minimum. */
static void inverses(void **state) {
    (void)state;
    static const struct {
        double s[3], counted[3];
        bool good;
    } cases[] = {{{3, 2, 1}, {3, 2, 1}, true},       {{1e-9, 1e-9, 1e-9}, {1e-9, 1e-9, 1e-9}, true},
                 {{1, 1, 0.11}, {1, 1, 0.11}, true}, {{1, 0.5, 0.01}, {1, 0.5, 0.1}, false},
                 {{2, 1, -1}, {2, 1, -1}, false},    {{2, 1, -0.01}, {2, 1, -0.2}, false},
                 {{4, 0, 0}, {4, 0.4, 0.4}, false},  {{1, 0.1, 0.1}, {1, 0.1, 0.1}, true}};
    test_random random = {9};
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++)
        for (int round = 0; round < 50; round++) {
            double left[9], right[9], a[9], wanted[9], out[9], us[9], vs[9];
            random_rotation(&random, left);
            random_rotation(&random, right);
            bool unique = true; /* without these, directions of zero length are arbitrary */
            for (int e = 0; e < 9; e++) {
                us[e] = left[e] * cases[n].s[e % 3];
                vs[e] = right[e] / cases[n].counted[e % 3];
                unique = unique && cases[n].s[e % 3] != 0;
            }
            multiply(px_matrix_of(us, 3, 3), px_transposed(px_matrix_of(right, 3, 3)), a);
            multiply(px_matrix_of(vs, 3, 3), px_transposed(px_matrix_of(left, 3, 3)), wanted);
            assert_int_equal(px_invert3(a, n == 7 ? 0.0999 : 0.1, out), cases[n].good);
            if (unique)
                assert_near(px_matrix_of(out, 3, 3), wanted, 1e-12 / fabs(cases[n].counted[2]));
            for (int e = 0; e < 9; e++)
                assert_true(fabs(out[e]) <= 10.01 / cases[n].s[0]);
        }
    double zero[9] = {0}, out[9];
    assert_false(px_invert3(zero, 0.1, out));
    assert_memory_equal(out, zero, sizeof zero);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products),
        cmocka_unit_test(products_of_parts),
        cmocka_unit_test(squares),
        cmocka_unit_test(cholesky_solves),
        cmocka_unit_test(cholesky_refuses),
        cmocka_unit_test(eigenvalues),
        cmocka_unit_test(singular_values),
        cmocka_unit_test(lack_of_memory),
        cmocka_unit_test(many_threads),
        cmocka_unit_test(small_matrices),
        cmocka_unit_test(polar_is_nearest),
        cmocka_unit_test(special_small_matrices),
        cmocka_unit_test(inverses),
        cmocka_unit_test(large_eigenvalues),
        cmocka_unit_test(gram_eigenvalues),
        cmocka_unit_test(kernels_agree),
        cmocka_unit_test(graded_singular_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
