/* Classes of vertices that share a row of weights, and their normals: see edit.h. */
#include "weights/edit.h"

#include <math.h>

static bool share_joint(const void *user, uint32_t a, uint32_t b) {
    const pelt_skin *skin = user;
    size_t K = skin->influence_count;
    for (size_t e = 0; e < K * K; e++) {
        size_t of_a = a * K + e / K, of_b = b * K + e % K;
        if (skin->weights[of_a] > 0 && skin->weights[of_b] > 0 &&
            skin->bone_joints[skin->bones[of_a]] == skin->bone_joints[skin->bones[of_b]])
            return true;
    }
    return false;
}

pelt_result px_weight_classes(px_arena *arena, const pelt_model *model, pelt_vertex_classes *out) {
    pelt_vertex_classes weld = model->mesh.weld;
    if (!weld.of)
        PX_TRY(px_weld(arena, &model->mesh, &model->morphs, model->clips, model->clip_count, &weld));
    return px_classes_refine(arena, model->mesh.vertex_count, &weld, share_joint, &model->skin, out);
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
