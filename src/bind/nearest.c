/* Nearest-voxel search for positions outside of the volume: voxels with a free face, sorted into bins. */
#include "bind/bind.h"

#include <math.h>

#define MIN_BIN_CELLS 8u  /* minimum edge of a bin, number of cells */
#define MAX_BINS      64u /* approximate maximum along an axis: larger grids get larger bins */

static size_t bin_at(const px_bind_bins *b, uint32_t x, uint32_t y, uint32_t z) {
    return x + b->size[0] * (y + (size_t)b->size[1] * z);
}

static size_t bin_of(const px_bind_bins *b, const uint16_t cell[3]) {
    return bin_at(b, cell[0] / b->side, cell[1] / b->side, cell[2] / b->side);
}

static bool is_wanted(const px_bind_volume *volume, const uint32_t *owners, uint32_t voxel) {
    bool free = false;
    for (int k = 0; k < 6; k++)
        free |= volume->neighbours[voxel][k] == PELT_NONE;
    return free && (!owners || owners[voxel] != PELT_NONE);
}

pelt_result px_bind_bins_make(px_arena *arena, const px_bind_volume *volume, px_bind_bins *bins) {
    const px_voxels *voxels = &volume->voxels;
    uint32_t longest = 0, wanted = 0;
    for (int c = 0; c < 3; c++)
        longest = voxels->grid.size[c] > longest ? voxels->grid.size[c] : longest;
    bins->side = (uint32_t)px_max_size(MIN_BIN_CELLS, longest / MAX_BINS);
    bins->count = 1;
    for (int c = 0; c < 3; c++) {
        bins->size[c] = voxels->grid.size[c] / bins->side + 1;
        bins->count *= bins->size[c];
    }
    for (uint32_t v = 0; v < voxels->count; v++)
        wanted += is_wanted(volume, NULL, v);
    bins->firsts = PX_NEW(arena, uint32_t, bins->count + 1);
    bins->voxels = PX_NEW(arena, uint32_t, wanted);
    if (!bins->firsts || !bins->voxels)
        return PELT_ERROR_MEMORY;
    px_bind_bins_fill(volume, NULL, bins);
    return PELT_OK;
}

/* Counting sort of the voxels by bin. */
void px_bind_bins_fill(const px_bind_volume *volume, const uint32_t *owners, px_bind_bins *bins) {
    const px_voxels *voxels = &volume->voxels;
    memset(bins->firsts, 0, (bins->count + 1) * sizeof *bins->firsts);
    for (uint32_t v = 0; v < voxels->count; v++)
        if (is_wanted(volume, owners, v))
            bins->firsts[bin_of(bins, voxels->cells[v])]++;
    for (size_t n = 1; n <= bins->count; n++)
        bins->firsts[n] += bins->firsts[n - 1];
    for (uint32_t v = voxels->count; v-- > 0;) /* descending: keeps voxels of a bin in ascending order */
        if (is_wanted(volume, owners, v))
            bins->voxels[--bins->firsts[bin_of(bins, voxels->cells[v])]] = v;
}

static void search_bin(const px_bind_volume *volume, const px_bind_bins *bins, size_t bin, const float p[3],
                       float *best, uint32_t *nearest) {
    for (uint32_t n = bins->firsts[bin]; n < bins->firsts[bin + 1]; n++) {
        float sum = 0;
        for (int c = 0; c < 3; c++) {
            float off = ((float)volume->voxels.cells[bins->voxels[n]][c] - p[c]) * volume->step[c];
            sum += off * off;
        }
        if (sum < *best) {
            *best = sum;
            *nearest = bins->voxels[n];
        }
    }
}

/* Searches the bins at Chebyshev distance `ring` from `middle` that lie in the grid. */
static void search_ring(const px_bind_volume *volume, const px_bind_bins *bins, const int middle[3], int ring,
                        const float p[3], float *best, uint32_t *nearest) {
    int low[3], high[3];
    for (int c = 0; c < 3; c++) {
        low[c] = middle[c] - ring > 0 ? middle[c] - ring : 0;
        high[c] = middle[c] + ring < (int)bins->size[c] ? middle[c] + ring : (int)bins->size[c] - 1;
    }
    for (int z = low[2]; z <= high[2]; z++)
        for (int y = low[1]; y <= high[1]; y++) {
            bool whole =
                z == middle[2] - ring || z == middle[2] + ring || y == middle[1] - ring || y == middle[1] + ring;
            for (int x = low[0]; x <= high[0]; x++)
                if (whole || x == middle[0] - ring || x == middle[0] + ring)
                    search_bin(volume, bins, bin_at(bins, (uint32_t)x, (uint32_t)y, (uint32_t)z), p, best, nearest);
        }
}

/* Searches rings of bins until no closer voxel is possible. If p lies outside of the grid and q is the grid point
 * nearest to it, the angle at q is obtuse: |p − v|² ≥ |p − q|² + |q − v|² for every voxel v. */
uint32_t px_bind_bins_nearest(const px_bind_volume *volume, const px_bind_bins *bins, const float p[3], float most,
                              float *distance) {
    float least_side = px_fminf(volume->step[0], px_fminf(volume->step[1], volume->step[2])) * (float)bins->side;
    float best = most * most, outside = 0;
    uint32_t nearest = PELT_NONE, rings = 0;
    int middle[3];
    for (int c = 0; c < 3; c++) {
        float inside = px_fminf(px_fmaxf(p[c], 0), (float)volume->voxels.grid.size[c] - 1),
              off = (p[c] - inside) * volume->step[c];
        middle[c] = (int)(inside + 0.5f) / (int)bins->side;
        rings = bins->size[c] > rings ? bins->size[c] : rings;
        outside += off * off;
    }
    for (int ring = 0; ring <= (int)rings; ring++) {
        float clear = px_fmaxf((float)(ring - 1) * least_side, 0); /* lower bound of |q − v| in this ring */
        if (best <= outside + clear * clear)
            break;
        search_ring(volume, bins, middle, ring, p, &best, &nearest);
    }
    *distance = sqrtf(best);
    return nearest;
}

uint32_t px_bind_nearest_voxel(const px_bind_volume *volume, const float p[3], float most, float *distance) {
    uint32_t own = px_bind_voxel(volume, p);
    if (own == PELT_NONE)
        return px_bind_bins_nearest(volume, &volume->bins, p, most, distance);
    float sum = 0;
    for (int c = 0; c < 3; c++) {
        float off = ((float)volume->voxels.cells[own][c] - p[c]) * volume->step[c];
        sum += off * off;
    }
    *distance = sqrtf(sum);
    return own;
}
