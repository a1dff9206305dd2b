/* Dense algebra beside OpenBLAS, where libopenblas and liblapacke are installed: GFLOP/s of matrix products, CPU seconds of
 * eigenvectors, on one thread. OPENBLAS_CORETYPE chooses its kernels; without, it may not know the machine. */
#include "numeric/kernels.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef void dgemm_function(int order, int ta, int tb, int m, int n, int k, double alpha, const double *a, int lda,
                            const double *b, int ldb, double beta, double *c, int ldc);
typedef int dsyevd_function(int order, char job, char half, int n, double *a, int lda, double *values);
enum { ROW_MAJOR = 101, COLUMN_MAJOR = 102, PLAIN = 111, TRANSPOSED = 112 }; /* of CBLAS and LAPACKE */

static void *find(const char *library, const char *name) {
    void *handle = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
    return handle ? dlsym(handle, name) : NULL;
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double *random_values(size_t count) {
    double *values = malloc(count * sizeof *values);
    uint64_t state = 1;
    for (size_t e = 0; values && e < count; e++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        values[e] = (double)(state >> 11) * 0x1p-52 - 1;
    }
    if (!values)
        abort();
    return values;
}

/* GFLOP/s of a · bᵀ: best of five. NULL: OpenBLAS. */
static double multiply_rate(const px_dense_kernels *kernels, dgemm_function *dgemm, size_t m, size_t n, size_t k) {
    double *a = random_values(m * k), *b = random_values(n * k), *c = random_values(m * n), best = INFINITY;
    double operations = 2 * (double)(m * n * k);
    int rounds = 1 + (int)(2e8 / operations);
    for (int turn = 0; turn < 5; turn++) {
        double start = seconds();
        for (int r = 0; r < rounds; r++)
            if (kernels)
                kernels->multiply(1, px_matrix_of(a, m, k), px_transposed(px_matrix_of(b, n, k)), 0,
                                  px_matrix_of(c, m, n));
            else
                dgemm(ROW_MAJOR, PLAIN, TRANSPOSED, (int)m, (int)n, (int)k, 1, a, (int)k, b, (int)k, 0, c, (int)n);
        best = fmin(best, (seconds() - start) / rounds);
    }
    free(a), free(b), free(c);
    return 1e-9 * operations / best;
}

/* Best of three. NULL: LAPACK. */
static double eigen_time(pelt_context *context, dsyevd_function *dsyevd, size_t n) {
    double *a = random_values(n * n), *values = random_values(n), *copy = random_values(n * n), best = INFINITY;
    for (int turn = 0; turn < 3; turn++) {
        memcpy(copy, a, n * n * sizeof *a);
        double start = seconds();
        if (context) {
            if (px_symmetric_eigen(context, px_matrix_of(copy, n, n), values) != PELT_OK)
                abort();
        } else
            dsyevd(COLUMN_MAJOR, 'V', 'U', (int)n, copy, (int)n, values);
        best = fmin(best, seconds() - start);
    }
    free(a), free(values), free(copy);
    return best;
}

static void print(double value, const char *format) {
    if (value > 0)
        printf(format, value);
    else
        printf("      – |");
}

int main(void) {
    static const size_t products[][3] = {
        {256, 120, 180}, {120, 120, 180}, {4, 120, 180}, {120, 3, 120}, {768, 768, 768}};
    static const size_t sizes[] = {144, 525, 1500};
    void *dgemm_symbol = find("libopenblas.so.0", "cblas_dgemm"),
         *dsyevd_symbol = find("liblapacke.so.3", "LAPACKE_dsyevd");
    void *threads_symbol = find("libopenblas.so.0", "openblas_set_num_threads");
    dgemm_function *dgemm = NULL;
    dsyevd_function *dsyevd = NULL;
    void (*set_threads)(int) = NULL;
    memcpy(&dgemm, &dgemm_symbol, sizeof dgemm); /* POSIX: of one size and representation */
    memcpy(&dsyevd, &dsyevd_symbol, sizeof dsyevd);
    memcpy(&set_threads, &threads_symbol, sizeof set_threads);
    if (set_threads)
        set_threads(1);
    pelt_context_desc desc = pelt_context_desc_default();
    pelt_context *context;
    desc.thread_count = 1;
    if (pelt_context_create(&desc, &context) != PELT_OK)
        return 1;
    printf("| product, GFLOP/s | any machine | here | OpenBLAS |\n|---|---:|---:|---:|\n");
    for (size_t t = 0; t < sizeof products / sizeof products[0]; t++) {
        size_t m = products[t][0], n = products[t][1], k = products[t][2];
        printf("| %zu × %zu × %zu |", m, n, k);
        print(multiply_rate(&px_dense_kernels_any, NULL, m, n, k), " %.1f |");
        print(multiply_rate(px_dense_kernels_here(), NULL, m, n, k), " %.1f |");
        print(dgemm ? multiply_rate(NULL, dgemm, m, n, k) : 0, " %.1f |");
        printf("\n");
    }
    printf("\n| eigenvectors, CPU s | here | LAPACK |\n|---|---:|---:|\n");
    for (size_t t = 0; t < sizeof sizes / sizeof sizes[0]; t++) {
        printf("| %zu |", sizes[t]);
        print(eigen_time(context, NULL, sizes[t]), " %.4f |");
        print(dsyevd ? eigen_time(NULL, dsyevd, sizes[t]) : 0, " %.4f |");
        printf("\n");
    }
    pelt_context_destroy(context);
    return 0;
}
