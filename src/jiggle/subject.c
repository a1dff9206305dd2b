/* px_jiggle_subject: a model in world space, in its rest pose. */
#include "core/classes.h"
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

static bool same_place(const void *user, uint32_t a, uint32_t b) {
    const float *positions = user, *p = positions + 3 * (size_t)a, *q = positions + 3 * (size_t)b;
    return p[0] == q[0] && p[1] == q[1] && p[2] == q[2];
}

static pelt_result make_classes(px_arena *arena, px_jiggle_subject *s) {
    const pelt_mesh *mesh = &s->model->mesh;
    PX_TRY(px_classes_refine(arena, mesh->vertex_count, &mesh->weld, same_place, s->positions, &s->classes));
    s->class_positions = px_class_positions(arena, &s->classes, s->positions);
    s->triangles = px_class_triangles(arena, mesh, &s->classes);
    return s->class_positions && s->triangles ? PELT_OK : PELT_ERROR_MEMORY;
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
    return make_classes(arena, subject);
}
