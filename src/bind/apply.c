/* Fields and settings to weights. */
#include "bind/bind.h"
#include "core/math3.h"
#include "weights/weights.h"

pelt_result px_bind_apply(pelt_binding *binding, const pelt_bind_desc *desc) {
    px_bind_subject *s = &binding->subject;
    pelt_model *model = s->model;
    pelt_skin skin = model->skin;
    px_arena *arena = px_arena_create(binding->context);
    if (!arena)
        return PELT_ERROR_MEMORY;
    size_t n = model->mesh.vertex_count;
    uint32_t K = desc->influences;
    uint16_t *bones = pelt_model_alloc(binding->context, model, n * K, sizeof *bones);
    float *weights = pelt_model_alloc(binding->context, model, n * K, sizeof *weights);
    px_weight_limits limits = {K, desc->prune, NULL};
    for (size_t i = 0; i < n; i++) {
        if (s->rows[i] == PELT_NONE) {
            for (uint32_t k = 0; k < skin.influence_count && k < K; k++) {
                bones[i * K + k] = skin.bones[i * skin.influence_count + k];
                weights[i * K + k] = skin.weights[i * skin.influence_count + k];
            }
            continue;
        }
        px_weight_sum sum = {0};
        for (uint32_t t = 0; t < s->target_count; t++)
            px_weight_sum_add(&sum, t, binding->fields.values[(size_t)s->rows[i] * s->target_count + t]);
        px_weight_sum_cut(&sum, &limits);
        for (uint32_t k = 0; k < sum.count && k < K; k++) {
            uint32_t bone =
                s->space_bones[(size_t)s->vertex_spaces[i] * s->rig->skeleton.joint_count + s->targets[sum.bones[k]]];
            bones[i * K + k] = (uint16_t)(bone == PELT_NONE ? 0 : bone);
            weights[i * K + k] = (float)sum.weights[k];
        }
    }
    px_arena_destroy(arena);
    model->skin.influence_count = K;
    model->skin.bones = bones;
    model->skin.weights = weights;
    model->changed |= PELT_CHANGED_SKIN;
    return PELT_OK;
}
