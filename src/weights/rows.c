/* The mesh as rows of weights see it: welded vertices. */
#include "weights/edit.h"

#include <math.h>

float *px_row_positions(px_arena *arena, const pelt_mesh *mesh, const float *positions) {
    float *out = PX_NEW(arena, float, 3 * (size_t)mesh->weld_count);
    for (uint32_t i = 0; out && i < mesh->vertex_count; i++)
        memcpy(out + 3 * (size_t)mesh->weld[i], positions + 3 * (size_t)i, 3 * sizeof *out);
    return out;
}

double *px_row_normals(px_arena *arena, const pelt_mesh *mesh, const float *positions) {
    double *out = PX_NEW(arena, double, 3 * (size_t)mesh->weld_count);
    if (!out)
        return NULL;
    px_normals_sum(mesh->triangles, mesh->triangle_count, NULL, mesh->weld, positions, out);
    for (size_t r = 0; r < mesh->weld_count; r++) {
        double *n = out + 3 * r, length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
        for (int c = 0; c < 3; c++)
            n[c] = length > 0 && isfinite(length) ? n[c] / length : 0;
    }
    return out;
}

uint32_t *px_row_triangles(px_arena *arena, const pelt_mesh *mesh) {
    size_t count = 3 * (size_t)mesh->triangle_count;
    uint32_t *out = PX_NEW(arena, uint32_t, count);
    for (size_t e = 0; out && e < count; e++)
        out[e] = mesh->weld[mesh->triangles[e]];
    return out;
}
