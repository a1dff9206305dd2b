/* Classes of vertices that share a row of weights, and their normals: see edit.h. */
#include "weights/edit.h"

#include <math.h>

pelt_result px_weight_classes(px_arena *arena, const pelt_model *model, pelt_vertex_classes *out) {
    pelt_mesh mesh = model->mesh;
    if (!mesh.weld.of)
        PX_TRY(px_weld(arena, &mesh, &model->morphs, model->clips, model->clip_count, &mesh.weld));
    return px_classes_by_joints(arena, &mesh, &model->skin, out);
}

double *px_class_normals(px_arena *arena, const pelt_mesh *mesh, const float *positions) {
    double *out = PX_NEW(arena, double, 3 * (size_t)mesh->weld.count);
    if (!out)
        return NULL;
    px_normals_sum(mesh->triangles, mesh->triangle_count, NULL, mesh->weld.of, positions, out);
    for (size_t r = 0; r < mesh->weld.count; r++) {
        double *n = out + 3 * r, length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
        for (int c = 0; c < 3; c++)
            n[c] = length > 0 && isfinite(length) ? n[c] / length : 0;
    }
    return out;
}
