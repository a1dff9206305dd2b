/* Eigenvectors of symmetric matrices: A = Q T Qᵀ with T tridiagonal by Householder reflections in blocks (as LAPACK's
 * dsytrd), then T by the implicit QL iteration (H. Bowdler, R. Martin, C. Reinsch, J. Wilkinson, "The QR and QL algorithms
 * for symmetric matrices", 1968). Rotations of the iteration are collected and applied to many rows at once.
 */
#include "numeric/kernels.h"

#include <float.h>
#include <math.h>

#define PANEL      32   /* reflections per block */
#define SEQUENCES  32   /* sequences of rotations per pass over the vectors */
#define ITERATIONS 60   /* per eigenvalue; two are usual */
#define STRIP      128u /* columns of the vectors per task */

typedef struct eigen_problem {
    pelt_context *context;
    size_t n;
    double *a;           /* [n][n] both triangles; row j becomes reflection j, behind its diagonal element */
    double *vectors;     /* [n][n] Qᵀ, then the eigenvectors, as rows */
    double *d, *e, *tau; /* [n] diagonal of T, the elements next to it, factors of the reflections */
    double *v, *w;       /* [PANEL][n] reflections of a block and their products */
    double (*turns)[2];  /* [SEQUENCES · n] */
    px_rotations sequences[SEQUENCES];
    size_t sequence_count, turn_count;
} eigen_problem;

/* ---- Tridiagonal form ------------------------------------------------------------------------------------- */

/* row += scale · other */
static void add(double *restrict row, double scale, const double *restrict other, size_t count) {
    for (size_t e = 0; e < count; e++)
        row[e] += scale * other[e];
}

/* Makes x [count] a reflection 1 − tau·x·xᵀ with x[0] = 1 that maps the former x to (result, 0, …). */
static double reflect(double *x, size_t count, double *tau) {
    double (*dot)(const double *, const double *, size_t) = px_dense_kernels_here()->dot;
    double rest = count > 1 ? dot(x + 1, x + 1, count - 1) : 0, first = x[0];
    *tau = 0;
    x[0] = 1;
    if (!(rest > 0))
        return first;
    double length = sqrt(first * first + rest), result = first > 0 ? -length : length;
    *tau = (result - first) / result;
    for (size_t e = 1; e < count; e++)
        x[e] /= first - result;
    return result;
}

/* Reflections `first` to `end` − 1: rows v and w of the panel, with A −= vᵀw + wᵀv not yet applied to rows from `end`. */
static void reduce_panel(eigen_problem *p, size_t first, size_t end) {
    size_t n = p->n;
    double (*dot)(const double *, const double *, size_t) = px_dense_kernels_here()->dot;
    for (size_t j = first; j < end; j++) {
        size_t count = n - j - 1, done = j - first;
        double *row = p->a + j * n, *v = p->v + done * n, *w = p->w + done * n;
        for (size_t q = 0; q < done; q++) {
            add(row + j, -p->w[q * n + j], p->v + q * n + j, n - j);
            add(row + j, -p->v[q * n + j], p->w + q * n + j, n - j);
        }
        p->d[j] = row[j];
        memset(v, 0, n * sizeof *v);
        memset(w, 0, n * sizeof *w);
        if (count == 0)
            return;
        double *x = row + j + 1;
        p->e[j] = reflect(x, count, &p->tau[j]);
        memcpy(v + j + 1, x, count * sizeof *v);
        if (p->tau[j] == 0)
            continue;
        for (size_t r = j + 1; r < n; r++) /* rows of the panel are up to date up to the reflections of the panel */
            w[r] = dot(p->a + r * n + j + 1, x, count);
        for (size_t q = 0; q < done; q++) {
            double along_w = dot(p->w + q * n + j + 1, x, count), along_v = dot(p->v + q * n + j + 1, x, count);
            add(w + j + 1, -along_w, p->v + q * n + j + 1, count);
            add(w + j + 1, -along_v, p->w + q * n + j + 1, count);
        }
        for (size_t r = j + 1; r < n; r++)
            w[r] *= p->tau[j];
        add(w + j + 1, -0.5 * p->tau[j] * dot(w + j + 1, x, count), x, count);
    }
}

static void reduce(eigen_problem *p) {
    size_t n = p->n;
    px_matrix all = px_matrix_of(p->a, n, n);
    for (size_t first = 0; first < n; first += PANEL) {
        size_t end = px_min_size(first + PANEL, n), count = end - first, left = n - end;
        reduce_panel(p, first, end);
        px_matrix v = px_matrix_part(px_matrix_of(p->v, count, n), 0, count, end, left);
        px_matrix w = px_matrix_part(px_matrix_of(p->w, count, n), 0, count, end, left);
        px_matrix rest = px_matrix_part(all, end - (left == 0), left, end - (left == 0), left);
        px_gemm(-1, px_transposed(v), w, 1, rest);
        px_gemm(-1, px_transposed(w), v, 1, rest);
    }
}

/* Qᵀ from the last block of reflections to the first: rows r of it become r − r V Tᵀ Vᵀ, where a block is 1 − V T Vᵀ
 * (R. Schreiber, C. Van Loan, "A storage-efficient WY representation for products of Householder transformations", 1989). */
static void make_vectors(eigen_problem *p) {
    size_t n = p->n;
    double t[PANEL * PANEL], gram[PANEL * PANEL];
    memset(p->vectors, 0, n * n * sizeof *p->vectors);
    for (size_t r = 0; r < n; r++)
        p->vectors[r * (n + 1)] = 1;
    for (size_t end = n, first; end > 0; end = first) {
        size_t count = (end - 1) % PANEL + 1;
        first = end - count;
        memset(p->v, 0, count * n * sizeof *p->v);
        for (size_t q = 0; q < count; q++)
            memcpy(p->v + q * n + first + q + 1, p->a + (first + q) * n + first + q + 1,
                   (n - first - q - 1) * sizeof *p->v);
        px_matrix v = px_matrix_part(px_matrix_of(p->v, count, n), 0, count, first, n - first);
        px_matrix rest = px_matrix_part(px_matrix_of(p->vectors, n, n), first, n - first, first, n - first);
        px_matrix product = px_matrix_of(p->w, n - first, count);
        px_syrk(1, v, 0, px_matrix_of(gram, count, count));
        memset(t, 0, sizeof t);
        for (size_t q = 0; q < count; q++) {
            double tau = t[q * count + q] = p->tau[first + q];
            for (size_t r = 0; r < q; r++)
                for (size_t c = r; c < q; c++)
                    t[r * count + q] -= tau * t[r * count + c] * gram[c * count + q];
        }
        px_gemm(1, rest, px_transposed(v), 0, product);
        for (size_t r = 0; r < n - first; r++) { /* product · Tᵀ: T is upper triangular, so in place from the left */
            double *row = p->w + r * count;
            for (size_t c = 0; c < count; c++) {
                double sum = 0;
                for (size_t e = c; e < count; e++)
                    sum += row[e] * t[c * count + e];
                row[c] = sum;
            }
        }
        px_gemm(-1, product, v, 1, rest);
    }
}

/* ---- QL iteration ----------------------------------------------------------------------------------------- */

static pelt_result rotate_strip(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const eigen_problem *p = user;
    px_dense_kernels_here()->rotate(p->sequences, p->sequence_count, p->vectors, p->n, first, count);
    return PELT_OK;
}

static pelt_result flush(eigen_problem *p) {
    PX_TRY(px_parallel(p->context, NULL, p->n, STRIP, rotate_strip, p));
    p->sequence_count = p->turn_count = 0;
    return PELT_OK;
}

/* One step with Wilkinson's shift on rows l to m of T. */
static void step(eigen_problem *p, size_t l, size_t m) {
    double *d = p->d, *e = p->e, g = (d[l + 1] - d[l]) / (2 * e[l]), r = sqrt(g * g + 1), s = 1, c = 1, shifted = 0;
    px_rotations *sequence = &p->sequences[p->sequence_count++];
    *sequence = (px_rotations){.first = l, .last = m, .turns = (const double(*)[2])(p->turns + p->turn_count)};
    g = d[m] - d[l] + e[l] / (g >= 0 ? g + r : g - r);
    for (size_t i = m; i-- > l;) {
        double f = s * e[i], b = c * e[i];
        r = sqrt(f * f + g * g);
        e[i + 1] = r;
        if (r == 0) { /* underflow: T splits here */
            d[i + 1] -= shifted;
            e[m] = 0;
            sequence->first = i + 1;
            return;
        }
        s = f / r;
        c = g / r;
        g = d[i + 1] - shifted;
        r = (d[i] - g) * s + 2 * c * b;
        shifted = s * r;
        d[i + 1] = g + shifted;
        g = c * r - b;
        p->turns[p->turn_count][0] = c;
        p->turns[p->turn_count++][1] = s;
    }
    d[l] -= shifted;
    e[l] = g;
    e[m] = 0;
}

static pelt_result iterate(eigen_problem *p) {
    size_t n = p->n;
    double negligible = 0; /* rounding error of the largest elements: a step leaves as much in all smaller ones */
    p->e[n - 1] = 0;
    for (size_t r = 0; r < n; r++)
        negligible = px_fmax(negligible, 0.5 * DBL_EPSILON * (fabs(p->d[r]) + fabs(p->e[r])));
    for (size_t l = 0; l < n; l++)
        for (int iteration = 0;; iteration++) {
            size_t m = l;
            while (m + 1 < n && fabs(p->e[m]) > px_fmax(DBL_EPSILON * (fabs(p->d[m]) + fabs(p->d[m + 1])), negligible))
                m++;
            if (m == l)
                break;
            if (iteration == ITERATIONS)
                return px_fail(p->context, PELT_ERROR_INPUT, "eigenvalues: the iteration did not converge");
            step(p, l, m);
            if (p->sequence_count == SEQUENCES)
                PX_TRY(flush(p));
        }
    return flush(p);
}

/* ---- Whole problem ---------------------------------------------------------------------------------------- */

/* Copies the lower triangle of `from` to both triangles, scaled by a power of two to a largest element of about 1, which
 * changes no digit. Returns the exponent; *finite: whether all elements are. */
static int copy_scaled(px_matrix from, double *to, bool *finite) {
    size_t n = from.rows;
    double most = 0;
    int exponent;
    *finite = true;
    for (size_t r = 0; r < n; r++)
        for (size_t c = 0; c <= r; c++) {
            double x = fabs(from.data[r * from.pitch + c]);
            *finite &= isfinite(x) != 0;
            most = x > most ? x : most;
        }
    frexp(*finite && most > 0 ? most : 1, &exponent);
    for (size_t r = 0; r < n && *finite; r++)
        for (size_t c = 0; c <= r; c++)
            to[r * n + c] = to[c * n + r] = ldexp(from.data[r * from.pitch + c], -exponent);
    return exponent;
}

/* Sorts by value and writes the result. */
static void write_sorted(const eigen_problem *p, int exponent, uint32_t *order, px_matrix a, double *values) {
    size_t n = p->n;
    for (uint32_t r = 0; r < n; r++) {
        uint32_t place = r;
        for (; place > 0 && p->d[order[place - 1]] > p->d[r]; place--)
            order[place] = order[place - 1];
        order[place] = r;
    }
    for (size_t r = 0; r < n; r++) {
        values[r] = ldexp(p->d[order[r]], exponent);
        memcpy(a.data + r * a.pitch, p->vectors + order[r] * n, n * sizeof *a.data);
    }
}

pelt_result px_symmetric_eigen(pelt_context *context, px_matrix a, double *values) {
    assert(a.rows == a.columns && !a.transposed);
    size_t n = a.rows, square = n * n;
    if (n == 0)
        return PELT_OK;
    eigen_problem p = {.context = context, .n = n};
    bool finite = true;
    double *memory = PX_ALLOC(context, double, px_mul_size(n, 2 * n + 3 + 2 * PANEL + 2 * SEQUENCES));
    uint32_t *order = PX_ALLOC(context, uint32_t, n);
    pelt_result result = memory && order ? PELT_OK : PELT_ERROR_MEMORY;
    if (result == PELT_OK) {
        p.a = memory;
        p.vectors = p.a + square;
        p.d = p.vectors + square;
        p.e = p.d + n;
        p.tau = p.e + n;
        p.v = p.tau + n;
        p.w = p.v + PANEL * n;
        p.turns = (double(*)[2])(p.w + PANEL * n);
        int exponent = copy_scaled(a, p.a, &finite);
        if (finite) {
            reduce(&p);
            make_vectors(&p);
            result = iterate(&p);
        } else
            result = px_fail(context, PELT_ERROR_INPUT, "eigenvalues: the matrix has entries that are not finite");
        if (result == PELT_OK)
            write_sorted(&p, exponent, order, a, values);
    }
    px_free(context, order);
    px_free(context, memory);
    return result;
}
