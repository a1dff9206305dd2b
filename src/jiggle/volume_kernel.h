/* Volumes of cells and their derivatives along a displacement field, for every instruction set. The includer defines
 * LANES (see core/lanes.h).
 *
 * Eq. 7 of LBSD: the octant at corner p of a cell has the half edges d_x, d_y, d_z from p to its three neighbours, and
 * the volume d_x · (d_y × d_z), with the sign that makes it positive at rest. Edges directed from − to + along the axes
 * need no signs: at the other end of an edge, both its direction and the sign of the octant are reversed. So a cell has
 * 12 edges, and the volume of an octant is the triple product of the three edges at its corner, over 8.
 *
 * This is the volume of a parallelepiped and does not detect twist: if four corners of a cell rotate against the other
 * four, angles at the corners stay right while the waist between them shrinks. So edges are evaluated not at the corner
 * but at the nodes of two-point Gauss quadrature, 0.21 of a cell inwards. The eight octants then sum to the exact
 * volume of the trilinear cell, and are unchanged for cells that are not bent. With `inset` 0 they are at the corners,
 * as printed.
 *
 * With edges a + λ a', the product a · (b × c) is a cubic polynomial in λ; its coefficients are summed.
 */
#include "core/lanes.h"
#include "jiggle/kernels.h"

/* Loads one corner of LANES consecutive cells of a block: points [particle][4]. */
INLINE void load_corner(const float *points, const uint32_t *particles, lanes out[3]) {
#if LANES == 1
    memcpy(out, points + 4 * (size_t)particles[0], 3 * sizeof *points);
#else
    lanes rows[4];
    for (size_t v = 0; v < 4; v++)
        rows[v] = lanes_pair(points + 4 * (size_t)particles[v], points + 4 * (size_t)particles[v + LANES - 4]);
    lanes_transpose(rows);
    memcpy(out, rows, 3 * sizeof *rows);
#endif
}

INLINE void draw_near(float inset, lanes *a, lanes *b) {
    lanes step = inset * (*b - *a);
    *a += step;
    *b -= step;
}

/* edges[axis][e]: the bits of e are those of the corner without the bit of `axis`. */
INLINE void load_edges(const float *points, const px_volume_block *block, size_t lane, float inset,
                       lanes edges[3][4][3]) {
    lanes corners[8][3];
    for (int v = 0; v < 8; v++)
        load_corner(points, &block->corners[v][lane], corners[v]);
    for (int e = 0; e < 4; e++)
        for (int c = 0; c < 3; c++) {
            int y = (e & 1) | (e & 2) << 1;
            edges[0][e][c] = corners[2 * e + 1][c] - corners[2 * e][c];
            edges[1][e][c] = corners[y + 2][c] - corners[y][c];
            edges[2][e][c] = corners[e + 4][c] - corners[e][c];
        }
    for (int axis = 0; axis < 3; axis++)
        for (int c = 0; c < 3; c++) {
            lanes(*e)[3] = edges[axis];
            draw_near(inset, &e[0][c], &e[1][c]);
            draw_near(inset, &e[2][c], &e[3][c]);
            draw_near(inset, &e[0][c], &e[2][c]);
            draw_near(inset, &e[1][c], &e[3][c]);
        }
}

/* Coefficients of (a + λ a') · ((b + λ b') × (c + λ c')). */
INLINE void expand(const lanes *a, const lanes *b, const lanes *c, const lanes *da, const lanes *db, const lanes *dc,
                   lanes out[4]) {
    lanes area[3], mixed[3], other[3], darea[3];
    lanes_cross3(b, c, area);
    lanes_cross3(db, c, mixed);
    lanes_cross3(b, dc, other);
    lanes_cross3(db, dc, darea);
    for (int e = 0; e < 3; e++)
        mixed[e] += other[e];
    out[0] = lanes_dot3(a, area);
    out[1] = lanes_dot3(da, area) + lanes_dot3(a, mixed);
    out[2] = lanes_dot3(da, mixed) + lanes_dot3(a, darea);
    out[3] = lanes_dot3(da, darea);
}

/* Adds only the constant term of `expand`. */
INLINE void add_octants(const px_volume_block *block, size_t lane, const lanes edges[3][4][3], lanes *sum) {
    for (int v = 0; v < 8; v++) {
        int x = v >> 1, y = (v & 1) | (v & 4) >> 1, z = v & 3;
        lanes area[3];
        lanes_cross3(edges[1][y], edges[2][z], area);
        *sum += lanes_load(&block->shares[v][lane]) * lanes_dot3(edges[0][x], area);
    }
}

INLINE void add_cells(const px_volume_block *block, size_t lane, float inset, const float *positions,
                      const float *field, lanes sums[4]) {
    lanes edges[3][4][3], moves[3][4][3];
    load_edges(positions, block, lane, inset, edges);
    if (!field) {
        add_octants(block, lane, (const lanes(*)[4][3])edges, &sums[0]);
        return;
    }
    load_edges(field, block, lane, inset, moves);
    for (int v = 0; v < 8; v++) {
        int x = v >> 1, y = (v & 1) | (v & 4) >> 1, z = v & 3;
        lanes octant[4], share = lanes_load(&block->shares[v][lane]);
        expand(edges[0][x], edges[1][y], edges[2][z], moves[0][x], moves[1][y], moves[2][z], octant);
        for (int e = 0; e < 4; e++)
            sums[e] += share * octant[e];
    }
}

static void add_volumes(const px_volume_block *blocks, size_t block_count, float inset, const float *positions,
                        const float *field, float sums[4][PX_JIGGLE_BLOCK]) {
    for (size_t lane = 0; lane < PX_JIGGLE_BLOCK; lane += LANES) {
        lanes wide[4];
        for (int e = 0; e < 4; e++)
            wide[e] = lanes_load(&sums[e][lane]);
        for (size_t b = 0; b < block_count; b++)
            add_cells(&blocks[b], lane, inset, positions, field, wide);
        for (int e = 0; e < 4; e++)
            lanes_store(&sums[e][lane], wide[e]);
    }
}
