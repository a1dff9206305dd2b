/* Normals and tangents of an edited mesh.
 *
 * Vertices that are welded and have the same normal form one piece: a smooth fan of triangles, bounded by hard edges.
 * The rotation of its normal is that between the area-weighted normals of its triangles before and after the edit. So a
 * normal that equals the area-weighted one stays equal, and any other keeps its angle to it. The rotation about the
 * normal comes from the edges (turn.c).
 */
#include "core/mesh.h"
#include "core/skin.h"
#include "rest/rest.h"

#include <math.h>

static bool same_normal(const void *user, uint32_t a, uint32_t b) {
    const float *normals = user;
    return memcmp(normals + 3 * (size_t)a, normals + 3 * (size_t)b, 3 * sizeof *normals) == 0;
}

/* The rotation `first`, followed by the shortest rotation from first · from to `to` (unit vectors). For nearly opposite
 * vectors the shortest rotation is undefined: `first` alone. */
static void turn_on(const double first[9], const double from[3], const double to[3], double out[9]) {
    double a[3], axis[3], cosine = 0;
    for (int r = 0; r < 3; r++) {
        a[r] = first[3 * r] * from[0] + first[3 * r + 1] * from[1] + first[3 * r + 2] * from[2];
        cosine += a[r] * to[r];
    }
    for (int r = 0; r < 3; r++)
        axis[r] = a[(r + 1) % 3] * to[(r + 2) % 3] - a[(r + 2) % 3] * to[(r + 1) % 3];
    memcpy(out, first, 9 * sizeof *out);
    for (int c = 0; c < 3 && cosine > -0.999; c++) { /* x + axis × x + axis × (axis × x) / (1 + cosine) by columns */
        double x[3] = {first[c], first[3 + c], first[6 + c]};
        double along = (axis[0] * x[0] + axis[1] * x[1] + axis[2] * x[2]) / (1 + cosine);
        for (int r = 0; r < 3; r++)
            out[3 * r + c] = cosine * x[r] + axis[(r + 1) % 3] * x[(r + 2) % 3] - axis[(r + 2) % 3] * x[(r + 1) % 3] +
                             axis[r] * along;
    }
}

/* Normalises a sum of area-weighted normals; false when it is 0 and defines no normal. */
static bool unit_of(const double *sum, double out[3]) {
    px_normal_unit(sum, out);
    return sum[0] != 0 || sum[1] != 0 || sum[2] != 0;
}

pelt_result px_edit_normals(px_arena *scratch, const pelt_mesh *mesh, const float *positions, const uint8_t *touched,
                            float *normals, float *tangents) {
    pelt_vertex_classes pieces;
    PX_TRY(px_classes_refine(scratch, mesh->vertex_count, &mesh->weld, same_normal, mesh->normals, &pieces));
    double *rotations = PX_NEW(scratch, double, 9 * (size_t)mesh->weld.count);
    double *before = PX_NEW(scratch, double, 3 * (size_t)pieces.count);
    double *after = PX_NEW(scratch, double, 3 * (size_t)pieces.count);
    if (!rotations || !before || !after)
        return PELT_ERROR_MEMORY;
    px_turn_rotations(mesh, positions, rotations);
    px_normals_sum(mesh->triangles, mesh->triangle_count, NULL, pieces.of, mesh->positions, before);
    px_normals_sum(mesh->triangles, mesh->triangle_count, NULL, pieces.of, positions, after);
    memcpy(normals, mesh->normals, 3 * (size_t)mesh->vertex_count * sizeof *normals);
    if (tangents)
        memcpy(tangents, mesh->tangents, 4 * (size_t)mesh->vertex_count * sizeof *tangents);
    for (size_t i = 0; i < mesh->vertex_count; i++) {
        double rotation[9], from[3], to[3];
        size_t piece = pieces.of[i];
        if (!touched[mesh->weld.of[i]] || !unit_of(before + 3 * piece, from) || !unit_of(after + 3 * piece, to))
            continue;
        turn_on(rotations + 9 * (size_t)mesh->weld.of[i], from, to, rotation);
        px_turn_vector(rotation, mesh->normals + 3 * i, mesh->normals + 3 * i, normals + 3 * i);
        if (tangents)
            px_turn_vector(rotation, mesh->tangents + 4 * i, mesh->tangents + 4 * i, tangents + 4 * i);
    }
    return PELT_OK;
}
