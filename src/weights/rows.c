/* The mesh as rows of weights see it: welded vertices. */
#include "weights/edit.h"

#include <math.h>

static bool share_joint(const pelt_skin *skin, size_t a, size_t b) {
    size_t K = skin->influence_count;
    for (size_t e = 0; e < K * K; e++) {
        size_t of_a = a * K + e / K, of_b = b * K + e % K;
        if (skin->weights[of_a] > 0 && skin->weights[of_b] > 0 &&
            skin->bone_joints[skin->bones[of_a]] == skin->bone_joints[skin->bones[of_b]])
            return true;
    }
    return false;
}

pelt_result px_rows_make(pelt_context *context, px_arena *arena, pelt_model *model) {
    pelt_mesh *mesh = &model->mesh;
    PX_TRY(pelt_model_weld(context, model));
    uint32_t *rows = PX_NEW(arena, uint32_t, mesh->vertex_count), count = 0;
    uint32_t *firsts = PX_NEW(arena, uint32_t, mesh->weld_count);  /* [welded] its first row + 1 … */
    uint32_t *nexts = PX_NEW(arena, uint32_t, mesh->vertex_count); /* [row] … and the next + 1, or 0 */
    uint32_t *heads = PX_NEW(arena, uint32_t, mesh->vertex_count); /* [row] its first vertex */
    if (!rows || !firsts || !nexts || !heads)
        return PELT_ERROR_MEMORY;
    for (uint32_t i = 0; i < mesh->vertex_count; i++) {
        uint32_t *link = &firsts[mesh->weld[i]];
        while (*link && !share_joint(&model->skin, heads[*link - 1], i))
            link = &nexts[*link - 1];
        if (!*link) {
            heads[count] = i;
            *link = ++count;
        }
        rows[i] = *link - 1;
    }
    mesh->weld = rows;
    mesh->weld_count = count;
    return PELT_OK;
}

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
