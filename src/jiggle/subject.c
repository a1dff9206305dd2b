/* px_jiggle_subject: a model in world space, in its rest pose. */
#include "core/math3.h"
#include "jiggle/jiggle.h"

#include <pelt/run.h>

static pelt_result place_joints(px_arena *arena, px_jiggle_subject *s) {
    const pelt_skeleton *skeleton = &s->model->skeleton;
    s->joints = PX_NEW(arena, pelt_affine, skeleton->joint_count);
    s->inverses = PX_NEW(arena, pelt_affine, skeleton->joint_count);
    if (!s->joints || !s->inverses)
        return PELT_ERROR_MEMORY;
    pelt_skeleton_globals(skeleton, skeleton->rest, s->joints);
    for (uint32_t j = 0; j < skeleton->joint_count; j++)
        if (!px_affine_inverse(&s->joints[j], &s->inverses[j])) {
            uint32_t parent = skeleton->parents[j];
            s->inverses[j] = parent == PELT_NONE ? px_affine_identity() : s->inverses[parent];
        }
    return PELT_OK;
}

static bool same_place(const float *a, const float *b) {
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

/* Numbers the rows: welded vertices with equal skinned rest positions. */
static pelt_result make_rows(px_arena *arena, px_jiggle_subject *s) {
    const pelt_mesh *mesh = &s->model->mesh;
    uint32_t *latest = PX_NEW(arena, uint32_t, mesh->weld.count); /* [welded vertex] 1 + its last row; 0: none */
    s->rows = PX_NEW(arena, uint32_t, mesh->vertex_count);
    s->row_positions = PX_NEW(arena, float, 3 * (size_t)mesh->vertex_count);
    s->triangles = PX_NEW(arena, uint32_t, 3 * (size_t)mesh->triangle_count);
    if (!latest || !s->rows || !s->row_positions || !s->triangles)
        return PELT_ERROR_MEMORY;
    for (size_t i = 0; i < mesh->vertex_count; i++) {
        const float *p = s->positions + 3 * i;
        uint32_t *row = &latest[mesh->weld.of[i]];
        if (*row == 0 || !same_place(s->row_positions + 3 * (size_t)(*row - 1), p)) {
            memcpy(s->row_positions + 3 * (size_t)s->row_count, p, 3 * sizeof *p);
            *row = ++s->row_count;
        }
        s->rows[i] = *row - 1;
    }
    for (size_t e = 0; e < 3 * (size_t)mesh->triangle_count; e++)
        s->triangles[e] = s->rows[mesh->triangles[e]];
    return PELT_OK;
}

pelt_result px_jiggle_subject_make(pelt_context *context, px_arena *arena, pelt_model *model,
                                   px_jiggle_subject *subject) {
    *subject = (px_jiggle_subject){.model = model};
    if (model->mesh.vertex_count == 0)
        return px_fail(context, PELT_ERROR_INPUT, "there is no mesh to give a lattice to");
    PX_TRY(pelt_model_weld(context, model));
    subject->positions = PX_NEW(arena, float, 3 * (size_t)model->mesh.vertex_count);
    if (!subject->positions)
        return PELT_ERROR_MEMORY;
    PX_TRY(pelt_model_pose(context, model, NULL, 0, PELT_SKINNING_LINEAR, subject->positions, NULL));
    for (uint32_t i = 0; i < model->mesh.vertex_count; i++)
        for (int c = 0; c < 3; c++)
            if (!isfinite(subject->positions[3 * (size_t)i + (size_t)c]))
                return px_fail(context, PELT_ERROR_INPUT,
                               "vertex %u is not at a finite place; repair the mesh (remove it, or the part it is in) "
                               "and try again",
                               i);
    PX_TRY(place_joints(arena, subject));
    return make_rows(arena, subject);
}
