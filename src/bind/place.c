/* Interpolation of voxel values at vertices. */
#include "bind/bind.h"

#include <math.h>

/* Bit set of those of the eight voxels that are connected to voxel `own` through faces within the cube. */
static uint32_t connected(const uint32_t corners[8], uint32_t own) {
    uint32_t reached = 1u << own;
    for (int round = 0; round < 6; round++)
        for (uint32_t k = 0; k < 8; k++)
            for (uint32_t axis = 1; axis < 8 && corners[k] != PELT_NONE; axis *= 2)
                if (reached >> (k ^ axis) & 1)
                    reached |= 1u << k;
    return reached;
}

/* The same for blocks, whose neighbours are known: corners are the pieces that are reached from the piece `voxel`. */
static uint32_t walk(const px_bind_volume *volume, uint32_t voxel, uint32_t own, uint32_t corners[8]) {
    uint32_t reached = 1u << own;
    corners[own] = voxel;
    for (int round = 0; round < 6; round++)
        for (uint32_t k = 0; k < 8; k++)
            for (uint32_t axis = 0; axis < 3 && !(reached >> k & 1); axis++) {
                uint32_t from = k ^ 1u << axis, side = 2 * axis + (k >> axis & 1);
                uint32_t next = reached >> from & 1 ? volume->neighbours[corners[from]][side] : PELT_NONE;
                if (next == PELT_NONE)
                    continue;
                corners[k] = next;
                reached |= 1u << k;
            }
    return reached;
}

uint32_t px_bind_voxel_at(const px_bind_volume *volume, const float position[3]) {
    uint32_t cell[3];
    float p[3], inside[3], distance;
    px_grid_cell(&volume->voxels.grid, position, cell);
    uint32_t voxel = px_voxel_at(&volume->voxels, cell[0], cell[1], cell[2]);
    px_bind_to_grid(&volume->voxels.grid, position, p);
    for (int c = 0; c < 3; c++)
        inside[c] = p[c] + 0.5f - (float)cell[c];
    if (voxel != PELT_NONE && volume->pieces.factor)
        voxel = px_voxel_piece(&volume->pieces, voxel, inside);
    if (voxel != PELT_NONE)
        return voxel;
    return px_bind_nearest_voxel(volume, p, INFINITY, &distance);
}

void px_bind_place_at(const px_bind_volume *volume, const float position[3], px_bind_place *place) {
    float p[3], shares[8], sum = 0;
    uint32_t corners[8], own = 0, cell[3];
    int64_t base[3];
    px_bind_to_grid(&volume->voxels.grid, position, p);
    for (int c = 0; c < 3; c++)
        base[c] = (int64_t)floorf(p[c]);
    for (uint32_t k = 0; k < 8; k++) {
        shares[k] = 1;
        for (uint32_t c = 0; c < 3; c++) {
            uint32_t side = k >> c & 1;
            float u = p[c] - (float)base[c];
            shares[k] *= side ? u : 1 - u;
            cell[c] = (uint32_t)(base[c] + side);
        }
        corners[k] = px_voxel_at(&volume->voxels, cell[0], cell[1], cell[2]);
        if (corners[k] != PELT_NONE && (corners[own] == PELT_NONE || shares[k] > shares[own]))
            own = k;
    }
    *place = (px_bind_place){0};
    if (corners[own] == PELT_NONE) {
        *place = (px_bind_place){{px_bind_voxel_at(volume, position)}, {1}, 1};
        return;
    }
    uint32_t reached = volume->pieces.factor ? walk(volume, px_bind_voxel_at(volume, position), own, corners)
                                             : connected(corners, own);
    for (uint32_t k = 0; k < 8; k++)
        if (reached >> k & 1) {
            place->voxels[place->count] = corners[k];
            place->weights[place->count++] = shares[k];
            sum += shares[k];
        }
    for (uint32_t k = 0; k < place->count; k++)
        place->weights[k] = sum > 0 ? place->weights[k] / sum : 1 / (float)place->count;
}
