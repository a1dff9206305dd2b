/* Volumes of given cells, for tests of binding. */
#ifndef PELT_TESTS_BIND_VOLUMES_H
#define PELT_TESTS_BIND_VOLUMES_H

#include "bind/bind.h"
#include "support.h"

#include <math.h>

/* Occupies the non-zero cells of a grid [z][y][x]; the lowest corner of the grid is at 0. */
static inline void test_volume(test_context *test, px_arena *arena, const uint32_t size[3], const double cell[3],
                               const uint8_t *cells, px_bind_volume *volume) {
    px_voxels *voxels = &volume->voxels;
    size_t rows = (size_t)size[1] * size[2], all = rows * size[0];
    *volume = (px_bind_volume){.neighbours = px_arena_alloc(arena, all, sizeof *volume->neighbours)};
    voxels->kinds = PX_NEW(arena, uint8_t, all);
    voxels->cells = px_arena_alloc(arena, all, sizeof *voxels->cells);
    voxels->row_runs = PX_NEW(arena, uint32_t, rows + 1);
    voxels->runs = PX_NEW(arena, px_run, all + 1);
    assert_true(volume->neighbours && voxels->kinds && voxels->cells && voxels->row_runs && voxels->runs);
    for (size_t k = 0; k < all; k++) {
        uint32_t x = (uint32_t)(k % size[0]);
        if (x == 0)
            voxels->row_runs[k / size[0]] = voxels->run_count;
        if (!cells[k])
            continue;
        if (x == 0 || !cells[k - 1])
            voxels->runs[voxels->run_count++] = (px_run){x, voxels->count};
        uint16_t *place = voxels->cells[voxels->count++];
        place[0] = (uint16_t)x, place[1] = (uint16_t)(k / size[0] % size[1]),
        place[2] = (uint16_t)(k / size[0] / size[1]);
    }
    voxels->row_runs[rows] = voxels->run_count;
    voxels->runs[voxels->run_count].first = voxels->count;
    double diagonal = 0;
    for (int c = 0; c < 3; c++) {
        voxels->grid.size[c] = size[c];
        voxels->grid.cell[c] = cell[c];
        volume->step[c] = (float)(cell[c] / cell[0]);
        diagonal += size[c] * cell[c] * size[c] * cell[c];
    }
    volume->diagonal = (float)(sqrt(diagonal) / cell[0]);
    test_ok(test, px_voxels_neighbours(test->context, voxels, volume->neighbours));
    test_ok(test, px_bind_bins_make(arena, volume, &volume->bins));
}

/* The part of a segment inside a voxel, by the slab method. */
static inline bool test_passes(const px_bind_segment *segment, const uint16_t cell[3]) {
    double from = 0, to = 1;
    for (int c = 0; c < 3; c++) {
        double a = segment->a[c], way = segment->b[c] - a, low = cell[c] - 0.5, high = cell[c] + 0.5;
        if (way == 0 && !(a >= low && a < high))
            return false;
        if (way == 0)
            continue;
        from = fmax(from, fmin((low - a) / way, (high - a) / way));
        to = fmin(to, fmax((low - a) / way, (high - a) / way));
    }
    return from <= to;
}

/* The distance between the centres of two voxels, in units of the cell size along x. */
static inline float test_gap(const px_bind_volume *volume, uint32_t a, uint32_t b) {
    float sum = 0;
    for (int c = 0; c < 3; c++) {
        float off = volume->step[c] * (float)(volume->voxels.cells[b][c] - volume->voxels.cells[a][c]);
        sum += off * off;
    }
    return sqrtf(sum);
}

#endif
