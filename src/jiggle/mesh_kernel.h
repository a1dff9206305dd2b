/* Vertices from particles, for every instruction set. The includer defines LANES (see core/lanes.h).
 *
 * In a cell every coordinate is a trilinear polynomial; its eight coefficients are computed once for all vertices of
 * the cell. Normals are transformed by the cofactor matrix of the deformation gradient, which is stored at particles
 * and interpolated in cells: a gradient per cell would be discontinuous at faces and visible in shading.
 */
#include "core/lanes.h"
#include "jiggle/kernels.h"

/* Converts [corner][width] to coefficients of 1, x, y, xy, z, xz, yz, xyz. */
INLINE void make_polynomials(const px_mesh_pass *pass, size_t cell, const float *values, size_t width,
                             float out[8][12]) {
    for (int k = 0; k < 8; k++)
        memcpy(out[k], values + pass->cells[cell][k] * width, width * sizeof(float));
    for (int axis = 1; axis < 8; axis *= 2)
        for (int k = 0; k < 8; k++)
            for (size_t c = 0; k & axis && c < width; c++)
                out[k][c] -= out[k ^ axis][c];
}

INLINE lanes polynomial(float p[8][12], int c, const lanes at[3]) {
    return p[0][c] + at[0] * p[1][c] + at[1] * (p[2][c] + at[0] * p[3][c]) +
           at[2] * (p[4][c] + at[0] * p[5][c] + at[1] * (p[6][c] + at[0] * p[7][c]));
}

INLINE void scatter3(const uint32_t *vertices, const lanes in[3], float *out) {
    float rows[3 * LANES];
    lanes_store3(rows, in);
    for (int v = 0; v < LANES; v++)
        memcpy(out + 3 * (size_t)vertices[v], rows + 3 * v, 3 * sizeof *out);
}

/* Normalises; the rest normal where the length is too small or not finite. */
INLINE void turn_normal(float p[8][12], const lanes at[3], const lanes rest[3], lanes out[3]) {
    for (int r = 0; r < 3; r++)
        out[r] = polynomial(p, 4 * r, at) * rest[0] + polynomial(p, 4 * r + 1, at) * rest[1] +
                 polynomial(p, 4 * r + 2, at) * rest[2];
    lanes length2 = out[0] * out[0] + out[1] * out[1] + out[2] * out[2];
    lanes inverse = 1.0f / lanes_sqrt(length2);
    lanes_mask good = (length2 > 1e-12f) & (length2 < 1e30f);
    for (int c = 0; c < 3; c++)
        out[c] = lanes_select(good, out[c] * inverse, rest[c]);
}

static void move_vertices(const px_mesh_pass *pass) {
    float places[8][12], turns[8][12];
    for (size_t cell = 0; cell < pass->cell_count; cell++) {
        make_polynomials(pass, cell, pass->particles, 4, places);
        if (pass->cofactors)
            make_polynomials(pass, cell, pass->cofactors, 12, turns);
        for (size_t b = pass->firsts[cell]; b < pass->firsts[cell + 1]; b++)
            for (size_t v = 0; v < PX_JIGGLE_BLOCK; v += LANES) {
                const px_mesh_block *block = &pass->blocks[b];
                lanes at[3], rest[3], out[3];
                for (int c = 0; c < 3; c++) {
                    at[c] = lanes_load(block->places[c] + v);
                    rest[c] = lanes_load(block->normals[c] + v);
                }
                for (int c = 0; c < 3; c++)
                    out[c] = polynomial(places, c, at);
                scatter3(block->vertices + v, out, pass->positions);
                if (!pass->cofactors)
                    continue;
                turn_normal(turns, at, rest, out);
                scatter3(block->vertices + v, out, pass->normals);
            }
    }
}
