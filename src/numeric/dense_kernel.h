/* Matrix product and plane rotations with vectors of LANES doubles. The including file defines
 *
 *   LANES    doubles per vector: 2, 4 or 8
 *   ROWS     rows of a tile
 *   VECTORS  vectors per row of a tile: ROWS · VECTORS sums, VECTORS columns of b and two temporaries fit in registers
 *   KERNELS  name of the px_dense_kernels
 *
 * Product: after K. Goto, R. van de Geijn, "Anatomy of high-performance matrix multiplication", 2008. Blocks of b are copied
 * to panels of WIDTH columns, which stay in the second-level cache; for each ROWS rows of a, tiles of the result are summed
 * in registers.
 */
#include "numeric/kernels.h"

#define WIDTH (LANES * VECTORS)
#define DEEP  128 /* terms of a sum per block: decides the order of summation, the same for all kinds of machine */
#define WIDE  192 /* columns of b per block: a multiple of every WIDTH */
static_assert(WIDE % WIDTH == 0, "panels fill a block");

typedef double lane __attribute__((vector_size(8 * LANES), aligned(8), may_alias)); /* any address */

/* ---- Product ---------------------------------------------------------------------------------------------- */

/* Copies b [deep][columns] to panels [panel][deep][WIDTH], with zeros behind the last column. */
static void pack_columns(px_matrix b, double *out) {
    for (size_t first = 0; first < b.columns; first += WIDTH, out += b.rows * WIDTH) {
        size_t width = px_min_size(WIDTH, b.columns - first);
        if (width < WIDTH)
            memset(out, 0, b.rows * WIDTH * sizeof *out);
        if (!b.transposed)
            for (size_t k = 0; k < b.rows; k++)
                memcpy(out + k * WIDTH, b.data + k * b.pitch + first, width * sizeof *out);
        else
            for (size_t c = 0; c < width; c++) {
                const double *from = b.data + (first + c) * b.pitch;
                for (size_t k = 0; k < b.rows; k++)
                    out[k * WIDTH + c] = from[k];
            }
    }
}

/* Copies a [rows][deep] to [deep][ROWS], with zeros behind the last row. */
static void pack_rows(px_matrix a, double *out) {
    if (a.rows < ROWS)
        memset(out, 0, a.columns * ROWS * sizeof *out);
    if (a.transposed)
        for (size_t k = 0; k < a.columns; k++)
            memcpy(out + k * ROWS, a.data + k * a.pitch, a.rows * sizeof *out);
    else
        for (size_t r = 0; r < a.rows; r++)
            for (size_t k = 0; k < a.columns; k++)
                out[k * ROWS + r] = a.data[r * a.pitch + k];
}

/* c = alpha · (rows) · (panel) + beta · c for a tile of at most ROWS × WIDTH elements; `vectors` are in use, a constant
 * where this is inlined. */
static inline __attribute__((always_inline)) void tile(size_t deep, const double *rows, const double *panel,
                                                       size_t vectors, double alpha, double beta, px_matrix c) {
    lane sums[ROWS][VECTORS];
    for (size_t r = 0; r < ROWS; r++)
        for (size_t v = 0; v < vectors; v++)
            sums[r][v] = (lane){0};
    for (size_t k = 0; k < deep; k++, rows += ROWS, panel += WIDTH) {
        lane b[VECTORS];
        for (size_t v = 0; v < vectors; v++)
            b[v] = *(const lane *)(panel + v * LANES);
#pragma GCC unroll 8
        for (size_t r = 0; r < ROWS; r++)
            for (size_t v = 0; v < vectors; v++)
                sums[r][v] += rows[r] * b[v];
    }
    for (size_t r = 0; r < c.rows; r++)
        for (size_t v = 0; v < vectors; v++) {
            double *out = c.data + r * c.pitch + v * LANES, part[LANES] = {0};
            size_t width = px_min_size(LANES, c.columns - v * LANES);
            lane sum = alpha * sums[r][v];
            if (width == LANES) {
                if (beta != 0)
                    sum = beta * *(const lane *)out + sum;
                *(lane *)out = sum;
            } else {
                memcpy(part, &sum, sizeof part);
                for (size_t e = 0; e < width; e++)
                    out[e] = beta == 0 ? part[e] : beta * out[e] + part[e];
            }
        }
}

static void multiply(double alpha, px_matrix a, px_matrix b, double beta, px_matrix c) {
    _Alignas(64) double panels[DEEP * WIDE], rows[DEEP * ROWS];
    for (size_t k = 0; k < a.columns; k += DEEP, beta = 1)
        for (size_t n = 0; n < c.columns; n += WIDE) {
            size_t deep = px_min_size(DEEP, a.columns - k), wide = px_min_size(WIDE, c.columns - n);
            pack_columns(px_matrix_part(b, k, deep, n, wide), panels);
            for (size_t m = 0; m < c.rows; m += ROWS) {
                size_t high = px_min_size(ROWS, c.rows - m);
                pack_rows(px_matrix_part(a, m, high, k, deep), rows);
                for (size_t first = 0; first < wide; first += WIDTH) {
                    size_t width = px_min_size(WIDTH, wide - first);
                    px_matrix out = px_matrix_part(c, m, high, n + first, width);
                    const double *panel = panels + first * deep;
                    if (width > (VECTORS - 1) * LANES)
                        tile(deep, rows, panel, VECTORS, alpha, beta, out);
                    else if (width > LANES)
                        tile(deep, rows, panel, VECTORS - 1, alpha, beta, out);
                    else
                        tile(deep, rows, panel, 1, alpha, beta, out);
                }
            }
        }
}

/* ---- Product in single precision ---------------------------------------------------------------------------- */

#define FLOATS      (2 * LANES) /* floats per vector */
#define FLOAT_WIDTH (FLOATS * VECTORS)
static_assert(PX_FLOAT_PITCH % FLOAT_WIDTH == 0 && WIDE % PX_FLOAT_PITCH == 0,
              "panels fill a row of the result and a block");

typedef float float_lane __attribute__((vector_size(4 * FLOATS), aligned(4), may_alias));

/* As pack_columns, for b transposed. */
static void pack_float_columns(px_matrix b, float *out) {
    for (size_t first = 0; first < b.columns; first += FLOAT_WIDTH, out += b.rows * FLOAT_WIDTH) {
        size_t width = px_min_size(FLOAT_WIDTH, b.columns - first);
        if (width < FLOAT_WIDTH)
            memset(out, 0, b.rows * FLOAT_WIDTH * sizeof *out);
        for (size_t c = 0; c < width; c++) {
            const double *from = b.data + (first + c) * b.pitch;
            for (size_t k = 0; k < b.rows; k++)
                out[k * FLOAT_WIDTH + c] = (float)from[k];
        }
    }
}

static void multiply_rows(const float *const *rows, size_t count, px_matrix b, float *c) {
    _Alignas(64) float panels[DEEP * WIDE], packed[DEEP * ROWS];
    size_t pitch = px_float_pitch(b.columns);
    assert(b.transposed);
    for (size_t k = 0; k < b.rows; k += DEEP)
        for (size_t n = 0; n < b.columns; n += WIDE) {
            size_t deep = px_min_size(DEEP, b.rows - k), wide = px_min_size(WIDE, b.columns - n);
            pack_float_columns(px_matrix_part(b, k, deep, n, wide), panels);
            for (size_t m = 0; m < count; m += ROWS) {
                size_t high = px_min_size(ROWS, count - m);
                for (size_t r = 0; r < ROWS; r++) { /* the last row takes the place of missing ones */
                    const float *from = rows[m + px_min_size(r, high - 1)] + k;
                    for (size_t e = 0; e < deep; e++)
                        packed[e * ROWS + r] = from[e];
                }
                for (size_t first = 0; first < wide; first += FLOAT_WIDTH) {
                    const float *a = packed, *panel = panels + first * deep;
                    float_lane sums[ROWS][VECTORS];
                    for (size_t r = 0; r < ROWS; r++)
                        for (size_t v = 0; v < VECTORS; v++)
                            sums[r][v] = (float_lane){0};
                    for (size_t e = 0; e < deep; e++, a += ROWS, panel += FLOAT_WIDTH) {
                        float_lane column[VECTORS];
                        for (size_t v = 0; v < VECTORS; v++)
                            column[v] = *(const float_lane *)(panel + v * FLOATS);
#pragma GCC unroll 8
                        for (size_t r = 0; r < ROWS; r++)
                            for (size_t v = 0; v < VECTORS; v++)
                                sums[r][v] += a[r] * column[v];
                    }
                    for (size_t r = 0; r < high; r++)
                        for (size_t v = 0; v < VECTORS; v++) {
                            float_lane *out = (float_lane *)(c + (m + r) * pitch + n + first + v * FLOATS);
                            if (k > 0)
                                sums[r][v] += *out;
                            *out = sums[r][v];
                        }
                }
            }
        }
}

/* ---- Rotations -------------------------------------------------------------------------------------------- */

#define STRIP 4 /* vectors of a row that one pass rotates: row i + 1 stays in registers */

static inline __attribute__((always_inline)) void rotate_strip(const px_rotations *s, double *rows, size_t pitch,
                                                               size_t vectors) {
    lane low[STRIP];
    double *row = rows + s->last * pitch;
    for (size_t v = 0; v < vectors; v++)
        low[v] = *(const lane *)(row + v * LANES);
    for (size_t i = s->last; i-- > s->first;) {
        double c = s->turns[s->last - 1 - i][0], t = s->turns[s->last - 1 - i][1];
        double *high_row = rows + i * pitch, *low_row = high_row + pitch;
        for (size_t v = 0; v < vectors; v++) {
            lane high = *(const lane *)(high_row + v * LANES);
            *(lane *)(low_row + v * LANES) = t * high + c * low[v];
            low[v] = c * high - t * low[v];
        }
    }
    row = rows + s->first * pitch;
    for (size_t v = 0; v < vectors; v++)
        *(lane *)(row + v * LANES) = low[v];
}

static void rotate(const px_rotations *sequences, size_t count, double *rows, size_t pitch, size_t column,
                   size_t columns) {
    rows += column;
    for (; columns >= STRIP * LANES; columns -= STRIP * LANES, rows += STRIP * LANES)
        for (size_t n = 0; n < count; n++)
            rotate_strip(&sequences[n], rows, pitch, STRIP);
    for (; columns >= LANES; columns -= LANES, rows += LANES)
        for (size_t n = 0; n < count; n++)
            rotate_strip(&sequences[n], rows, pitch, 1);
    for (size_t n = 0; n < count; n++)
        for (size_t i = sequences[n].last; i-- > sequences[n].first;) {
            const double *turn = sequences[n].turns[sequences[n].last - 1 - i];
            double *high = rows + i * pitch, *low = high + pitch;
            for (size_t e = 0; e < columns; e++) {
                double h = high[e], l = low[e];
                low[e] = turn[1] * h + turn[0] * l;
                high[e] = turn[0] * h - turn[1] * l;
            }
        }
}

/* ---- Dot product ------------------------------------------------------------------------------------------ */

static double dot(const double *a, const double *b, size_t count) {
    lane s[8 / LANES] = {{0}};
    size_t e = 0;
    for (; e + 8 <= count; e += 8)
        for (size_t v = 0; v < 8 / LANES; v++)
            s[v] += *(const lane *)(a + e + v * LANES) * *(const lane *)(b + e + v * LANES);
    double p[8], sum;
    memcpy(p, s, sizeof p);
    sum = ((p[0] + p[1]) + (p[2] + p[3])) + ((p[4] + p[5]) + (p[6] + p[7]));
    for (; e < count; e++)
        sum += a[e] * b[e];
    return sum;
}

const px_dense_kernels KERNELS = {multiply, multiply_rows, rotate, dot};
