/* Singular value decomposition by one-sided Jacobi rotations (M. Hestenes, "Inversion of matrices by biorthogonalization and
 * related results", 1958): rows of the smaller side are rotated in pairs until all are orthogonal. Small singular values keep
 * their digits. Matrices here have at most a few hundred rows on that side.
 */
#include "numeric/kernels.h"

#include <float.h>
#include <math.h>

#define SWEEPS 60 /* over all pairs; ten are usual */

typedef struct svd_problem {
    size_t rows, length; /* rows ≤ length */
    double *w;           /* [rows][length] becomes diag(s)·(right vectors) */
    double *turns;       /* [rows][rows] product of the rotations: w = turns · (original) */
    double *norms;       /* [rows] lengths of the rows of w */
} svd_problem;

/* Rows a and b become c·a − s·b and s·a + c·b. */
static void rotate(double *restrict a, double *restrict b, size_t count, double c, double s) {
    for (size_t e = 0; e < count; e++) {
        double x = a[e], y = b[e];
        a[e] = c * x - s * y;
        b[e] = s * x + c * y;
    }
}

/* One sweep over all pairs. Returns whether a pair was not orthogonal. Rows shorter than `least` count as 0. */
static bool sweep(svd_problem *p, double least) {
    double (*dot)(const double *, const double *, size_t) = px_dense_kernels_here()->dot;
    size_t n = p->length;
    bool turned = false;
    for (size_t i = 0; i < p->rows; i++)
        for (size_t j = i + 1; j < p->rows; j++) {
            double *x = p->w + i * n, *y = p->w + j * n;
            double xx = dot(x, x, n), yy = dot(y, y, n), xy = dot(x, y, n);
            if (sqrt(xx) <= least || sqrt(yy) <= least || fabs(xy) <= 8 * DBL_EPSILON * sqrt(xx) * sqrt(yy))
                continue;
            turned = true;
            double ratio = (yy - xx) / (2 * xy), t = 1 / (fabs(ratio) + sqrt(1 + ratio * ratio));
            t = ratio < 0 ? -t : t;
            double c = 1 / sqrt(1 + t * t), s = c * t;
            rotate(x, y, n, c, s);
            rotate(p->turns + i * p->rows, p->turns + j * p->rows, p->rows, c, s);
        }
    return turned;
}

/* Makes row r of w a unit vector orthogonal to `count` rows `others`: the coordinate axis that these contain least, twice
 * orthogonalised. */
static void complete_row(svd_problem *p, size_t r, const uint32_t *others, size_t count) {
    double (*dot)(const double *, const double *, size_t) = px_dense_kernels_here()->dot;
    size_t n = p->length, axis = 0;
    double least = INFINITY, *row = p->w + r * n;
    for (size_t e = 0; e < n; e++) {
        double inside = 0;
        for (size_t o = 0; o < count; o++)
            inside += p->w[others[o] * n + e] * p->w[others[o] * n + e];
        if (inside < least)
            least = inside, axis = e;
    }
    memset(row, 0, n * sizeof *row);
    row[axis] = 1;
    for (int turn = 0; turn < 2; turn++) {
        for (size_t o = 0; o < count; o++) {
            const double *other = p->w + others[o] * n;
            double along = dot(row, other, n);
            for (size_t e = 0; e < n; e++)
                row[e] -= along * other[e];
        }
        double length = sqrt(dot(row, row, n));
        for (size_t e = 0; e < n; e++)
            row[e] /= length;
    }
}

/* Sets `order` [rows] by descending length, norms, and unit rows of w. */
static void normalise(svd_problem *p, double least, uint32_t *order) {
    size_t n = p->length;
    for (uint32_t r = 0; r < p->rows; r++) {
        const double *row = p->w + r * n;
        double length = sqrt(px_dense_kernels_here()->dot(row, row, n));
        p->norms[r] = length > least ? length : 0;
        uint32_t place = r;
        for (; place > 0 && p->norms[order[place - 1]] < p->norms[r]; place--)
            order[place] = order[place - 1];
        order[place] = r;
    }
    for (size_t o = 0; o < p->rows; o++) {
        double *row = p->w + order[o] * n;
        if (!(p->norms[order[o]] > 0))
            complete_row(p, order[o], order, o);
        for (size_t e = 0; e < n && p->norms[order[o]] > 0; e++)
            row[e] /= p->norms[order[o]];
    }
}

pelt_result px_svd(pelt_context *context, px_matrix a, px_matrix u, double *s, px_matrix vt) {
    size_t rank = px_min_size(a.rows, a.columns), most = px_max_size(a.rows, a.columns);
    assert(u.rows == a.rows && u.columns == rank && vt.rows == rank && vt.columns == a.columns);
    assert(!a.transposed && !u.transposed && !vt.transposed);
    if (rank == 0)
        return PELT_OK;
    bool tall = a.rows > a.columns;
    px_matrix wide = tall ? px_transposed(a) : a;
    svd_problem p = {.rows = rank, .length = most};
    p.w = PX_ALLOC(context, double, px_mul_size(rank, most + rank + 1));
    uint32_t *order = PX_ALLOC(context, uint32_t, rank);
    pelt_result result = p.w && order ? PELT_OK : PELT_ERROR_MEMORY;
    if (result == PELT_OK) {
        p.turns = p.w + rank * most;
        p.norms = p.turns + rank * rank;
        double largest = 0;
        bool finite = true;
        for (size_t r = 0; r < rank; r++)
            for (size_t c = 0; c < most; c++) {
                double x = p.w[r * most + c] = *px_matrix_at(wide, r, c);
                finite &= isfinite(x) != 0;
                largest = px_fmax(largest, fabs(x));
            }
        int exponent; /* the largest element is scaled to about 1, without rounding */
        frexp(finite && largest > 0 ? largest : 1, &exponent);
        for (size_t e = 0; e < rank * most; e++)
            p.w[e] = ldexp(p.w[e], -exponent);
        memset(p.turns, 0, rank * rank * sizeof *p.turns);
        for (size_t r = 0; r < rank; r++)
            p.turns[r * (rank + 1)] = 1;
        double least = DBL_MIN * (double)most; /* squares of smaller rows underflow */
        least = sqrt(least);
        int sweeps = 0;
        if (!finite)
            result = px_fail(context, PELT_ERROR_INPUT, "singular values: the matrix has entries that are not finite");
        while (result == PELT_OK && sweep(&p, least))
            if (++sweeps == SWEEPS)
                result = px_fail(context, PELT_ERROR_INPUT, "singular values: the iteration did not converge");
        if (result == PELT_OK)
            normalise(&p, least, order);
        for (size_t o = 0; result == PELT_OK && o < rank; o++) {
            const double *right = p.w + order[o] * most, *left = p.turns + order[o] * rank;
            s[o] = ldexp(p.norms[order[o]], exponent);
            for (size_t e = 0; e < most; e++)
                *(tall ? px_matrix_at(u, e, o) : px_matrix_at(vt, o, e)) = right[e];
            for (size_t e = 0; e < rank; e++)
                *(tall ? px_matrix_at(vt, o, e) : px_matrix_at(u, e, o)) = left[e];
        }
    }
    px_free(context, order);
    px_free(context, p.w);
    return result;
}
