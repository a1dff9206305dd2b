/* Products, Cholesky factorisation and triangular systems. Large parts are matrix products (kernels.h). */
#include "numeric/kernels.h"

#include <math.h>

#define BLOCK 32 /* rows of a triangular block that is solved element by element */

px_matrix px_matrix_part(px_matrix a, size_t row, size_t rows, size_t column, size_t columns) {
    assert(row <= a.rows && rows <= a.rows - row && column <= a.columns && columns <= a.columns - column);
    return (px_matrix){px_matrix_at(a, row, column), rows, columns, a.pitch, a.transposed};
}

/* ---- Products --------------------------------------------------------------------------------------------- */

void px_gemm(double alpha, px_matrix a, px_matrix b, double beta, px_matrix c) {
    assert(a.rows == c.rows && b.columns == c.columns && a.columns == b.rows && !c.transposed);
    if (a.columns > 0)
        px_dense_kernels_here()->multiply(alpha, a, b, beta, c);
    for (size_t r = 0; a.columns == 0 && r < c.rows; r++)
        for (size_t e = 0; e < c.columns; e++)
            c.data[r * c.pitch + e] = beta == 0 ? 0 : beta * c.data[r * c.pitch + e];
}

void px_multiply_rows(const float *const *rows, size_t count, px_matrix b, float *c) {
    if (b.rows > 0)
        px_dense_kernels_here()->multiply_rows(rows, count, b, c);
    else
        memset(c, 0, count * px_float_pitch(b.columns) * sizeof *c);
}

#define SYRK_ROWS 192 /* rows per product: half of the work on the diagonal blocks is wasted */

void px_syrk(double alpha, px_matrix a, double beta, px_matrix c) {
    assert(a.rows == c.rows && a.rows == c.columns && !c.transposed);
    for (size_t r = 0; r < a.rows; r += SYRK_ROWS) {
        size_t rows = px_min_size(SYRK_ROWS, a.rows - r), end = r + rows;
        px_gemm(alpha, px_matrix_part(a, r, rows, 0, a.columns), px_transposed(px_matrix_part(a, 0, end, 0, a.columns)),
                beta, px_matrix_part(c, r, rows, 0, end));
    }
    for (size_t r = 0; r < c.rows; r++)
        for (size_t e = r + 1; e < c.columns; e++)
            c.data[r * c.pitch + e] = c.data[e * c.pitch + r];
}

/* ---- Triangular systems ----------------------------------------------------------------------------------- */

static px_matrix rows_of(px_matrix a, size_t first, size_t count) {
    return px_matrix_part(a, first, count, 0, a.columns);
}

/* row −= scale · other */
static void subtract(double *restrict row, double scale, const double *restrict other, size_t count) {
    for (size_t e = 0; e < count; e++)
        row[e] -= scale * other[e];
}

static void divide(double *row, double by, size_t count) {
    for (size_t e = 0; e < count; e++)
        row[e] /= by;
}

/* Replaces b [n][k] by L⁻¹·b. */
static void solve_lower(px_matrix l, px_matrix b) {
    for (size_t first = 0; first < l.rows; first += BLOCK) {
        size_t count = px_min_size(BLOCK, l.rows - first), end = first + count;
        px_gemm(-1, px_matrix_part(l, first, count, 0, first), rows_of(b, 0, first), 1, rows_of(b, first, count));
        for (size_t r = first; r < end; r++) {
            for (size_t c = first; c < r; c++)
                subtract(b.data + r * b.pitch, l.data[r * l.pitch + c], b.data + c * b.pitch, b.columns);
            divide(b.data + r * b.pitch, l.data[r * (l.pitch + 1)], b.columns);
        }
    }
}

/* Replaces b [n][k] by L⁻ᵀ·b. */
static void solve_upper(px_matrix l, px_matrix b) {
    for (size_t end = l.rows, first; end > 0; end = first) {
        size_t count = (end - 1) % BLOCK + 1, behind = l.rows - end;
        first = end - count;
        if (behind > 0)
            px_gemm(-1, px_transposed(px_matrix_part(l, end, behind, first, count)), rows_of(b, end, behind), 1,
                    rows_of(b, first, count));
        for (size_t r = end; r-- > first;) {
            for (size_t c = r + 1; c < end; c++)
                subtract(b.data + r * b.pitch, l.data[c * l.pitch + r], b.data + c * b.pitch, b.columns);
            divide(b.data + r * b.pitch, l.data[r * (l.pitch + 1)], b.columns);
        }
    }
}

/* Replaces b [k][n] by b·L⁻ᵀ: its rows are right-hand sides. */
static void solve_rows_lower(px_matrix l, px_matrix b) {
    for (size_t first = 0; first < l.rows; first += BLOCK) {
        size_t count = px_min_size(BLOCK, l.rows - first), end = first + count;
        px_gemm(-1, px_matrix_part(b, 0, b.rows, 0, first), px_transposed(px_matrix_part(l, first, count, 0, first)), 1,
                px_matrix_part(b, 0, b.rows, first, count));
        for (size_t r = 0; r < b.rows; r++) {
            double *x = b.data + r * b.pitch;
            for (size_t c = first; c < end; c++) {
                for (size_t e = first; e < c; e++)
                    x[c] -= l.data[c * l.pitch + e] * x[e];
                x[c] /= l.data[c * (l.pitch + 1)];
            }
        }
    }
}

/* Replaces b [k][n] by b·L⁻¹. */
static void solve_rows_upper(px_matrix l, px_matrix b) {
    for (size_t end = l.rows, first; end > 0; end = first) {
        size_t count = (end - 1) % BLOCK + 1, behind = l.rows - end;
        first = end - count;
        if (behind > 0)
            px_gemm(-1, px_matrix_part(b, 0, b.rows, end, behind), px_matrix_part(l, end, behind, first, count), 1,
                    px_matrix_part(b, 0, b.rows, first, count));
        for (size_t r = 0; r < b.rows; r++) {
            double *x = b.data + r * b.pitch;
            for (size_t c = end; c-- > first;) {
                x[c] /= l.data[c * (l.pitch + 1)];
                subtract(x + first, x[c], l.data + c * l.pitch + first, c - first);
            }
        }
    }
}

/* ---- Cholesky --------------------------------------------------------------------------------------------- */

/* Row by row, in blocks of rows: what is left of a block is a triangular system of the rows above. */
bool px_cholesky(px_matrix a) {
    assert(a.rows == a.columns && !a.transposed);
    for (size_t first = 0; first < a.rows; first += BLOCK) {
        size_t count = px_min_size(BLOCK, a.rows - first), end = first + count;
        px_matrix left = px_matrix_part(a, first, count, 0, first);
        solve_rows_lower(px_matrix_part(a, 0, first, 0, first), left);
        for (size_t r = first; r < end; r++) {
            double *row = a.data + r * a.pitch;
            for (size_t c = first; c <= r; c++) {
                const double *other = a.data + c * a.pitch;
                double sum = row[c] - px_dense_kernels_here()->dot(row, other, first);
                for (size_t e = first; e < c; e++)
                    sum -= row[e] * other[e];
                if (c == r && !(sum > 0 && isfinite(sum)))
                    return false;
                row[c] = c == r ? sqrt(sum) : sum / other[c];
            }
        }
    }
    return true;
}

void px_cholesky_apply(px_matrix l, px_matrix b) {
    assert(l.rows == b.rows && !l.transposed);
    if (b.transposed) {
        solve_rows_lower(l, px_transposed(b));
        solve_rows_upper(l, px_transposed(b));
    } else {
        solve_lower(l, b);
        solve_upper(l, b);
    }
}

void px_cholesky_divide(px_matrix l, px_matrix b) {
    assert(l.rows == b.rows && !l.transposed && !b.transposed);
    solve_lower(l, b);
}

bool px_cholesky_solve(px_matrix a, px_matrix b) {
    if (!px_cholesky(a))
        return false;
    px_cholesky_apply(a, b);
    return true;
}
