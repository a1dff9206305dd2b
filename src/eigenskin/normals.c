/* Corrections of normals, with the same mode weights as the positions.
 *
 * Skinning transforms a normal by the cofactor matrix of the blended transform B, so Bᵀ transforms it back to the rest
 * pose up to its length: no inverse is needed. The difference from the rest normal is fitted like displacements of
 * positions. If an example has no normals, smooth normals of its surface are used; a class takes the mean of its
 * vertices.
 */
#include "eigenskin/eigenskin.h"

typedef struct normal_work {
    px_eigenskin *e;
    float *rest; /* [vertex][3] smooth normals at rest */
    float *own;  /* [vertex][3] smooth normals of the current example */
} normal_work;

/* Gets the normals of an example, and the rest normals to compare them with. */
static pelt_result read_normals(normal_work *w, uint32_t x, const float **wanted, const float **rest) {
    px_eigenskin *e = w->e;
    const pelt_pose_example *example = &e->examples[x];
    *wanted = example->normals ? example->normals : w->own;
    *rest = example->normals ? e->model->mesh.normals : w->rest;
    return example->normals ? PELT_OK : pelt_mesh_normals(e->context, &e->mesh, example->positions, w->own);
}

static void blend(const px_eigenskin *e, uint32_t x, uint32_t vertex, double out[9]) {
    const pelt_skin *skin = &e->model->skin;
    double m[12];
    px_skin_blend(skin, e->palettes + (size_t)x * skin->bone_count, vertex, m);
    for (int c = 0; c < 9; c++)
        out[c] = m[c + c / 3];
}

static pelt_result prepare(px_eigenskin *e, normal_work *w) {
    size_t floats = 3 * (size_t)e->mesh.vertex_count;
    *w = (normal_work){e, PX_NEW(e->scratch, float, floats), PX_NEW(e->scratch, float, floats)};
    return w->rest && w->own ? pelt_mesh_normals(e->context, &e->mesh, NULL, w->rest) : PELT_ERROR_MEMORY;
}

pelt_result px_eigenskin_pull_normals(px_eigenskin *e) {
    normal_work w;
    const float *wanted, *rest;
    PX_TRY(prepare(e, &w));
    for (uint32_t x = 0; x < e->example_count; x++) {
        uint32_t p = e->example_poses[x];
        if (p == PELT_NONE)
            continue;
        PX_TRY(read_normals(&w, x, &wanted, &rest));
        for (uint32_t i = 0; i < e->mesh.vertex_count; i++) {
            uint32_t class = pelt_vertex_class(&e->classes, i);
            const float *n = wanted + 3 * (size_t)i;
            double b[9], back[3];
            blend(e, x, i, b);
            px_unskin_normal(b, n, back);
            for (size_t a = 0; a < 3; a++)
                *px_matrix_at(px_class_rows(e, e->displacements, class), 3 + a, p) +=
                    (back[a] - (double)rest[3 * (size_t)i + a]) / (e->counts[class] * e->pose_examples[p]);
        }
        PX_TRY(px_cancelled(e->context));
    }
    return PELT_OK;
}

/* Squared distance of the skinned normal from the example's normal. */
static double miss(const double b[9], const double n[3], const float wanted[3]) {
    double shown[3], sum = 0;
    px_skin_normal(b, n, shown);
    for (int a = 0; a < 3; a++)
        sum += (shown[a] - (double)wanted[a]) * (shown[a] - (double)wanted[a]);
    return sum;
}

pelt_result px_eigenskin_measure_normals(px_eigenskin *e) {
    normal_work w;
    const float *wanted, *rest;
    double sums[2] = {0}, count = 0;
    PX_TRY(prepare(e, &w));
    for (uint32_t x = 0; x < e->example_count; x++) {
        uint32_t p = e->example_poses[x];
        if (p == PELT_NONE)
            continue;
        PX_TRY(read_normals(&w, x, &wanted, &rest));
        count += e->mesh.vertex_count;
        for (uint32_t i = 0; i < e->mesh.vertex_count; i++) {
            px_matrix all = px_class_rows(e, e->targets, pelt_vertex_class(&e->classes, i));
            px_matrix left = px_class_rows(e, e->residuals, pelt_vertex_class(&e->classes, i));
            double b[9], n[2][3];
            for (size_t a = 0; a < 3; a++) {
                n[0][a] = (double)rest[3 * (size_t)i + a];
                n[1][a] = n[0][a] + *px_matrix_at(all, 3 + a, p) - *px_matrix_at(left, 3 + a, p);
            }
            blend(e, x, i, b);
            for (int k = 0; k < 2; k++)
                sums[k] += miss(b, n[k], wanted + 3 * (size_t)i);
        }
    }
    for (int k = 0; k < 2; k++)
        e->normal_rms[k] = sqrt(sums[k] / count);
    return PELT_OK;
}
