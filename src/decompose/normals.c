/* Rest normals of the result: rotated with the rest pose, then fitted to the normal skinning rule of engines
 * (rest/fit.c). */
#include "decompose/build.h"
#include "rest/rest.h"

#include <pelt/decompose.h>

pelt_result px_built_normals(pelt_context *context, const pelt_mesh *source, const pelt_model *model,
                             const px_built *built, const uint32_t *motions, float *normals, float *tangents) {
    const pelt_motion **played = PX_ALLOC(context, const pelt_motion *, model->clip_count);
    if (!played)
        return PELT_ERROR_MEMORY;
    for (uint32_t c = 0; c < model->clip_count; c++)
        played[c] = &built->motions[motions ? motions[c] : c];
    pelt_model rig = {.skeleton = built->skeleton, .skin = built->skin};
    px_normal_fit job = {.source = source,
                         .clips = model->clips,
                         .clip_count = model->clip_count,
                         .rig = &rig,
                         .motions = played,
                         .normals = normals,
                         .tangents = tangents};
    pelt_result result = px_fit_normals(context, &job);
    px_free(context, played);
    return result;
}

static pelt_result fit_again(pelt_context *context, pelt_model *model, const pelt_mesh *source) {
    const pelt_mesh *mesh = &model->mesh;
    if (source->vertex_count != mesh->vertex_count || source->points.count != mesh->points.count)
        return px_fail(context, PELT_ERROR_USAGE, "the mesh whose normals are wanted has %u vertices, the model %u",
                       source->vertex_count, mesh->vertex_count);
    if (model->motion_count < model->clip_count || model->skin.bone_count == 0)
        return px_fail(context, PELT_ERROR_USAGE, "%u motions and %u bones are not what decomposing %u clips made",
                       model->motion_count, model->skin.bone_count, model->clip_count);
    PX_TRY(pelt_model_weld(context, model));
    pelt_mesh shape = *source; /* uses the weld that follows from the model's clips */
    shape.weld = mesh->weld;
    size_t count = mesh->vertex_count;
    float *normals = PX_NEW(model->memory, float, 3 * count);
    float *tangents = source->tangents ? PX_NEW(model->memory, float, 4 * count) : NULL;
    if (!normals || (source->tangents && !tangents))
        return PELT_ERROR_MEMORY;
    px_built built = {.skeleton = model->skeleton, .skin = model->skin, .motions = model->motions};
    PX_TRY(px_turn_normals(context, &shape, mesh->positions, normals, tangents));
    PX_TRY(px_built_normals(context, &shape, model, &built, NULL, normals, tangents));
    model->mesh.normals = normals;
    model->mesh.tangents = tangents;
    model->changed |= PELT_CHANGED_POSITIONS;
    return PELT_OK;
}

pelt_result pelt_decompose_normals(pelt_context *context, pelt_model *model, const pelt_mesh *source) {
    px_operation operation = px_operation_begin(model);
    return px_operation_end(&operation, fit_again(context, model, source));
}
