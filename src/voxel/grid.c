/* Grids around boxes; look-up and face neighbours of voxels. */
#include "voxel/soup.h"

#include <math.h>

/* Extreme points must lie inside cells: on a face between two cells they would touch both. So the longest side of the
 * box is shorter than its cells by this fraction of a cell. */
#define CLEARANCE 0x1p-10

static double extent(const float low[3], const float high[3], uint32_t axis) {
    return (double)high[axis] - (double)low[axis];
}

/* Centres the grid on the box. */
static void place(px_grid *grid, const float low[3], const float high[3]) {
    for (uint32_t c = 0; c < 3; c++)
        grid->origin[c] = 0.5 * ((double)low[c] + (double)high[c] - grid->size[c] * grid->cell[c]);
}

px_grid px_grid_around(const float low[3], const float high[3], uint32_t resolution) {
    assert(resolution >= 1 && resolution <= PX_GRID_MAX - 2);
    px_grid grid;
    double longest = px_fmax(extent(low, high, 0), px_fmax(extent(low, high, 1), extent(low, high, 2)));
    double side = longest > 0 ? longest / (resolution - CLEARANCE) : 1;
    for (uint32_t c = 0; c < 3; c++) {
        grid.cell[c] = side;
        grid.size[c] = (uint32_t)(extent(low, high, c) / side) + 3;
    }
    place(&grid, low, high);
    return grid;
}

px_grid px_grid_of_size(const float low[3], const float high[3], const uint32_t size[3]) {
    px_grid grid;
    double longest = 0;
    for (uint32_t c = 0; c < 3; c++) {
        assert(size[c] >= 3 && size[c] <= PX_GRID_MAX);
        grid.size[c] = size[c];
        grid.cell[c] = extent(low, high, c) / (size[c] - 2 - CLEARANCE);
        longest = px_fmax(longest, grid.cell[c]);
    }
    for (uint32_t c = 0; c < 3; c++) /* flat box: use the longest side of a cell */
        if (!(grid.cell[c] > 0))
            grid.cell[c] = longest > 0 ? longest : 1;
    place(&grid, low, high);
    return grid;
}

void px_grid_cell(const px_grid *grid, const float position[3], uint32_t cell[3]) {
    int32_t point[3];
    px_lattice_point(grid, position, point);
    for (uint32_t c = 0; c < 3; c++)
        cell[c] = (uint32_t)px_min_size((size_t)point[c] >> px_lattice_shift(grid), grid->size[c] - 1);
}

uint32_t px_voxel_at(const px_voxels *voxels, uint32_t x, uint32_t y, uint32_t z) {
    const uint32_t *size = voxels->grid.size;
    if (x >= size[0] || y >= size[1] || z >= size[2] || voxels->count == 0)
        return PELT_NONE;
    size_t row = (size_t)z * size[1] + y;
    uint32_t low = voxels->row_runs[row], high = voxels->row_runs[row + 1], end = high;
    while (low < high) { /* binary search for the first run that begins after x */
        uint32_t middle = low + (high - low) / 2;
        if (voxels->runs[middle].x <= x)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == voxels->row_runs[row] || low > end)
        return PELT_NONE;
    const px_run *run = &voxels->runs[low - 1];
    uint32_t voxel = run->first + (x - run->x);
    return voxel < run[1].first ? voxel : PELT_NONE;
}

/* ---- Neighbours ------------------------------------------------------------------------------------------- */

typedef struct neighbours {
    const px_voxels *voxels;
    uint32_t (*out)[6];
} neighbours;

/* Sets the neighbours of a row's voxels in an adjacent row: a merge over the runs of both rows. */
static void join_rows(const neighbours *n, size_t row, size_t other, uint32_t side) {
    const px_voxels *v = n->voxels;
    uint32_t a = v->row_runs[row], b = v->row_runs[other];
    while (a < v->row_runs[row + 1] && b < v->row_runs[other + 1]) {
        const px_run *ra = &v->runs[a], *rb = &v->runs[b];
        uint32_t end_a = ra->x + (ra[1].first - ra->first), end_b = rb->x + (rb[1].first - rb->first);
        uint32_t end = end_a < end_b ? end_a : end_b;
        for (uint32_t x = ra->x > rb->x ? ra->x : rb->x; x < end; x++)
            n->out[ra->first + (x - ra->x)][side] = rb->first + (x - rb->x);
        if (end_a <= end_b)
            a++;
        else
            b++;
    }
}

static pelt_result join_slices(void *user, size_t first, size_t count, size_t block) {
    const neighbours *n = user;
    const px_voxels *v = n->voxels;
    size_t size_y = v->grid.size[1], size_z = v->grid.size[2];
    (void)block;
    for (size_t row = first * size_y; row < (first + count) * size_y; row++) {
        size_t y = row % size_y, z = row / size_y;
        uint32_t from = v->row_runs[row], to = v->row_runs[row + 1];
        for (uint32_t i = v->runs[from].first; i < v->runs[to].first; i++)
            for (uint32_t side = 0; side < 6; side++)
                n->out[i][side] = side == 0 ? i - 1 : side == 1 ? i + 1 : PELT_NONE;
        for (uint32_t r = from; r < to; r++) {
            n->out[v->runs[r].first][0] = PELT_NONE;
            n->out[v->runs[r + 1].first - 1][1] = PELT_NONE;
        }
        if (y > 0)
            join_rows(n, row, row - 1, 2);
        if (y + 1 < size_y)
            join_rows(n, row, row + 1, 3);
        if (z > 0)
            join_rows(n, row, row - size_y, 4);
        if (z + 1 < size_z)
            join_rows(n, row, row + size_y, 5);
    }
    return PELT_OK;
}

pelt_result px_voxels_neighbours(pelt_context *context, const px_voxels *voxels, uint32_t (*out)[6]) {
    neighbours n = {voxels, out};
    return px_parallel(context, NULL, voxels->count ? voxels->grid.size[2] : 0, 8, join_slices, &n);
}
