/* Dense linear algebra through CBLAS and LAPACKE.
 *
 * LAPACK is column-major. A row-major matrix read column-major is its transpose, so every function here decomposes the
 * transpose, whose factors in memory are those of the original: no copies are needed. Work space is allocated from the
 * context; therefore the LAPACKE_…_work functions are used.
 */
#include "numeric/numeric.h"

#include <pelt/blas.h>

#include <cblas.h>
#include <lapacke.h>
#include <limits.h>
#include <math.h>

void openblas_set_num_threads(int count); /* declared in OpenBLAS's cblas.h, not in the reference one */

void pelt_blas_single_thread(void) {
    openblas_set_num_threads(1);
}

static int dimension(size_t count) {
    assert(count <= INT_MAX);
    return (int)count;
}

/* BLAS requires a leading dimension of at least 1, also for empty matrices. */
static int leading(px_matrix a) {
    return dimension(px_max_size(a.pitch, 1));
}

static CBLAS_TRANSPOSE transposition(px_matrix a) {
    return a.transposed ? CblasTrans : CblasNoTrans;
}

px_matrix px_matrix_part(px_matrix a, size_t row, size_t rows, size_t column, size_t columns) {
    assert(row <= a.rows && rows <= a.rows - row && column <= a.columns && columns <= a.columns - column);
    return (px_matrix){px_matrix_at(a, row, column), rows, columns, a.pitch, a.transposed};
}

/* ---- Products --------------------------------------------------------------------------------------------- */

/* c = beta · c. BLAS implementations return early for empty sums and differ in whether they scale c then. */
static void scale(px_matrix c, double beta) {
    for (size_t r = 0; r < c.rows; r++)
        for (size_t k = 0; k < c.columns; k++) {
            double *e = px_matrix_at(c, r, k);
            *e = beta == 0 ? 0 : beta * *e;
        }
}

void px_gemm(double alpha, px_matrix a, px_matrix b, double beta, px_matrix c) {
    assert(a.rows == c.rows && b.columns == c.columns && a.columns == b.rows && !c.transposed);
    if (a.columns == 0 || c.rows == 0 || c.columns == 0) {
        scale(c, beta);
        return;
    }
    cblas_dgemm(CblasRowMajor, transposition(a), transposition(b), dimension(c.rows), dimension(c.columns),
                dimension(a.columns), alpha, a.data, leading(a), b.data, leading(b), beta, c.data, leading(c));
}

void px_syrk(double alpha, px_matrix a, double beta, px_matrix c) {
    assert(a.rows == c.rows && a.rows == c.columns && !c.transposed);
    if (a.columns == 0 || a.rows == 0) {
        scale(c, beta);
        return;
    }
    cblas_dsyrk(CblasRowMajor, CblasLower, transposition(a), dimension(a.rows), dimension(a.columns), alpha, a.data,
                leading(a), beta, c.data, leading(c));
    for (size_t r = 0; r < c.rows; r++)
        for (size_t k = r + 1; k < c.columns; k++)
            *px_matrix_at(c, r, k) = *px_matrix_at(c, k, r);
}

/* ---- Cholesky --------------------------------------------------------------------------------------------- */

static bool lower_finite(px_matrix a) {
    for (size_t r = 0; r < a.rows; r++)
        for (size_t c = 0; c <= r; c++)
            if (!isfinite(*px_matrix_at(a, r, c)))
                return false;
    return true;
}

bool px_cholesky(px_matrix a) {
    assert(a.rows == a.columns && !a.transposed);
    if (!lower_finite(a))
        return false;
    /* the row-major lower triangle is LAPACK's upper one: a = Uᵀ·U with U = Lᵀ */
    return a.rows == 0 || LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', dimension(a.rows), a.data, leading(a)) == 0;
}

void px_cholesky_apply(px_matrix l, px_matrix b) {
    assert(l.rows == b.rows && !l.transposed);
    if (b.rows == 0 || b.columns == 0)
        return;
    px_matrix stored = b.transposed ? px_transposed(b) : b;
    for (int step = 0; step < 2; step++) /* L·y = b, then Lᵀ·x = y; or yᵀ·Lᵀ = bᵀ, then xᵀ·L = yᵀ */
        cblas_dtrsm(CblasRowMajor, b.transposed ? CblasRight : CblasLeft, CblasLower,
                    (step == 0) == b.transposed ? CblasTrans : CblasNoTrans, CblasNonUnit, dimension(stored.rows),
                    dimension(stored.columns), 1, l.data, leading(l), stored.data, leading(stored));
}

void px_cholesky_divide(px_matrix l, px_matrix b) {
    assert(l.rows == b.rows && !l.transposed && !b.transposed);
    if (b.rows > 0 && b.columns > 0)
        cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, dimension(b.rows),
                    dimension(b.columns), 1, l.data, leading(l), b.data, leading(b));
}

bool px_cholesky_solve(px_matrix a, px_matrix b) {
    if (!px_cholesky(a))
        return false;
    px_cholesky_apply(a, b);
    return true;
}

/* ---- Eigenvalues and singular values ---------------------------------------------------------------------- */

/* info > 0 for finite input: the iteration did not converge. LAPACK documents this, but no case is known. */
static pelt_result no_convergence(pelt_context *context, const char *what) {
    return px_fail(context, PELT_ERROR_INPUT, "%s: the iteration did not converge", what);
}

/* One LAPACK call. With work_count −1 it is a workspace query: writes the sizes to work[0] and integers[0]. */
typedef int lapack_step(void *user, double *work, int work_count, int *integers, int integer_count);

static pelt_result run_with_work(pelt_context *context, const char *what, lapack_step *step, void *user,
                                 size_t integer_count) {
    double wanted = 0;
    int wanted_integers = 0;
    step(user, &wanted, -1, &wanted_integers, -1);
    int work_count = wanted < INT_MAX ? (int)wanted : INT_MAX;
    integer_count = px_max_size(integer_count, (size_t)wanted_integers);
    double *work = PX_ALLOC(context, double, (size_t)work_count);
    int *integers = work ? PX_ALLOC(context, int, integer_count) : NULL;
    pelt_result result = PELT_ERROR_MEMORY;
    if (integers)
        result = step(user, work, work_count, integers, dimension(integer_count)) == 0 ? PELT_OK
                                                                                       : no_convergence(context, what);
    px_free(context, integers);
    px_free(context, work);
    return result;
}

typedef struct eigen_task {
    px_matrix a;
    double *values;
} eigen_task;

static int eigen_step(void *user, double *work, int work_count, int *integers, int integer_count) {
    const eigen_task *t = user;
    return LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, 'V', 'U', dimension(t->a.rows), t->a.data, leading(t->a), t->values,
                               work, work_count, integers, integer_count);
}

pelt_result px_symmetric_eigen(pelt_context *context, px_matrix a, double *values) {
    assert(a.rows == a.columns && !a.transposed);
    if (a.rows == 0)
        return PELT_OK;
    if (!lower_finite(a))
        return px_fail(context, PELT_ERROR_INPUT, "eigenvalues: the matrix has entries that are not finite");
    return run_with_work(context, "eigenvalues", eigen_step, &(eigen_task){a, values}, 1);
}

typedef struct svd_task {
    px_matrix a, u, vt;
    double *s;
} svd_task;

/* aᵀ = v · s · uᵀ: LAPACK's column-major left vectors v are our row-major vt, its right vectors uᵀ are our u. */
static int svd_step(void *user, double *work, int work_count, int *integers, int integer_count) {
    (void)integer_count;
    const svd_task *t = user;
    return LAPACKE_dgesdd_work(LAPACK_COL_MAJOR, 'S', dimension(t->a.columns), dimension(t->a.rows), t->a.data,
                               leading(t->a), t->s, t->vt.data, leading(t->vt), t->u.data, leading(t->u), work,
                               work_count, integers);
}

pelt_result px_svd(pelt_context *context, px_matrix a, px_matrix u, double *s, px_matrix vt) {
    size_t rank = px_min_size(a.rows, a.columns);
    assert(u.rows == a.rows && u.columns == rank && vt.rows == rank && vt.columns == a.columns);
    assert(!a.transposed && !u.transposed && !vt.transposed);
    if (rank == 0)
        return PELT_OK;
    for (size_t r = 0; r < a.rows; r++)
        for (size_t c = 0; c < a.columns; c++)
            if (!isfinite(*px_matrix_at(a, r, c)))
                return px_fail(context, PELT_ERROR_INPUT,
                               "singular values: the matrix has entries that are not finite");
    return run_with_work(context, "singular values", svd_step, &(svd_task){a, u, vt, s}, 8 * rank);
}
