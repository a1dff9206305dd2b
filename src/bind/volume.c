/* Voxel lookup, and distances between points and bone segments. */
#include "bind/bind.h"

#include <math.h>

float px_bind_segment_distance(const px_bind_segment *segment, const float step[3], const float p[3],
                               float nearest[3]) {
    float along = 0, length = 0, sum = 0;
    for (int c = 0; c < 3; c++) {
        float way = segment->b[c] - segment->a[c], scale = step[c] * step[c];
        along += (p[c] - segment->a[c]) * way * scale;
        length += way * way * scale;
    }
    float u = length > 0 ? px_fminf(px_fmaxf(along / length, 0), 1) : 0;
    for (int c = 0; c < 3; c++) {
        nearest[c] = segment->a[c] + u * (segment->b[c] - segment->a[c]);
        float off = (p[c] - nearest[c]) * step[c];
        sum += off * off;
    }
    return sqrtf(sum);
}

float px_bind_share_inside(const px_bind_volume *volume, const float a[3], const float b[3]) {
    float length = 0;
    for (int c = 0; c < 3; c++)
        length = px_fmaxf(length, fabsf(b[c] - a[c]));
    uint32_t steps = (uint32_t)px_fminf(length, 4 * PX_GRID_MAX) + 1, inside = 0;
    for (uint32_t i = 0; i <= steps; i++) {
        float p[3], u = (float)i / (float)steps;
        for (int c = 0; c < 3; c++)
            p[c] = a[c] + u * (b[c] - a[c]);
        inside += px_bind_voxel(volume, p) != PELT_NONE;
    }
    return (float)inside / (float)(steps + 1);
}

uint32_t px_bind_voxel(const px_bind_volume *volume, const float p[3]) {
    uint32_t cell[3];
    float inside[3];
    for (int c = 0; c < 3; c++) {
        if (!(p[c] >= -0.5f && p[c] < (float)volume->voxels.grid.size[c]))
            return PELT_NONE;
        cell[c] = (uint32_t)(p[c] + 0.5f);
        inside[c] = p[c] + 0.5f - (float)cell[c];
    }
    uint32_t voxel = px_voxel_at(&volume->voxels, cell[0], cell[1], cell[2]);
    return voxel == PELT_NONE || !volume->pieces.factor ? voxel : px_voxel_piece(&volume->pieces, voxel, inside);
}
