/* Local rotations of a surface between two poses: at each welded vertex the least-squares rotation of its edges, which
 * is the polar factor of Σ new·oldᵀ over the edges. */
#include "core/math3.h"
#include "numeric/numeric.h"
#include "rest/rest.h"

/* Adds new·oldᵀ of the edge from vertex i to vertex o to the sum of i. */
static void add_edge(const pelt_mesh *mesh, const float *positions, uint32_t i, uint32_t o, double *sums) {
    float before[3], after[3];
    px_sub3(mesh->positions + 3 * (size_t)o, mesh->positions + 3 * (size_t)i, before);
    px_sub3(positions + 3 * (size_t)o, positions + 3 * (size_t)i, after);
    double *sum = sums + 9 * (size_t)mesh->weld.of[i];
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            sum[3 * r + c] += (double)after[r] * (double)before[c];
}

void px_turn_rotations(const pelt_mesh *mesh, const float *positions, double *out) {
    memset(out, 0, 9 * (size_t)mesh->weld.count * sizeof *out);
    for (size_t e = 0; e < 3 * (size_t)mesh->triangle_count; e++) {
        uint32_t i = mesh->triangles[e], o = mesh->triangles[e % 3 == 2 ? e - 2 : e + 1];
        add_edge(mesh, positions, i, o, out);
        add_edge(mesh, positions, o, i, out);
    }
    for (size_t w = 0; w < mesh->weld.count; w++) {
        double rotation[9];
        px_polar3(out + 9 * w, rotation, NULL);
        memcpy(out + 9 * w, rotation, sizeof rotation);
    }
}

void px_turn_vector(const double rotation[9], const float *in, const float *fallback, float *out) {
    double v[3], square = 0;
    for (int r = 0; r < 3; r++) {
        v[r] = rotation[3 * r] * in[0] + rotation[3 * r + 1] * in[1] + rotation[3 * r + 2] * in[2];
        square += v[r] * v[r];
    }
    for (int r = 0; r < 3; r++)
        out[r] = square > 0 ? (float)(v[r] / sqrt(square)) : fallback[r];
}

pelt_result px_turn_normals(pelt_context *context, const pelt_mesh *mesh, const float *positions, float *normals,
                            float *tangents) {
    static const float up[3] = {0, 0, 1}, along[3] = {1, 0, 0};
    if (!mesh->normals)
        PX_TRY(pelt_mesh_normals(context, mesh, positions, normals));
    if (!mesh->normals && !mesh->tangents)
        return PELT_OK;
    double *rotations = PX_ALLOC(context, double, px_mul_size(9, mesh->weld.count));
    if (!rotations)
        return PELT_ERROR_MEMORY;
    px_turn_rotations(mesh, positions, rotations);
    for (size_t i = 0; i < mesh->vertex_count; i++) {
        const double *rotation = rotations + 9 * (size_t)mesh->weld.of[i];
        if (mesh->normals)
            px_turn_vector(rotation, mesh->normals + 3 * i, up, normals + 3 * i);
        if (mesh->tangents) {
            px_turn_vector(rotation, mesh->tangents + 4 * i, along, tangents + 4 * i);
            tangents[4 * i + 3] = mesh->tangents[4 * i + 3];
        }
    }
    px_free(context, rotations);
    return PELT_OK;
}
