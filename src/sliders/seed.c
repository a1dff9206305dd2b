/* Initial weights: a skinning decomposition of an animation whose frames are the neutral shape and every slider at 1. */
#include "sliders/plan.h"

#include <math.h>
#include <pelt/decompose.h>

/* Iterations of the decomposition: more do not lower the error after the fit that follows. */
#define SEED_ITERATIONS 12u

/* A model of the group's vertices and the triangles between them, with the animation. */
static pelt_result make_animation(const px_slider_plan *plan, const px_slider_group *group, pelt_model *model) {
    const px_slider_fit *fit = &group->fit;
    const pelt_mesh *from = &plan->model->mesh;
    size_t N = fit->vertex_count, F = (size_t)fit->slider_count + 1;
    pelt_mesh *mesh = &model->mesh;
    float *positions = pelt_model_alloc(plan->context, model, px_mul_size(3 * N, F), sizeof *positions);
    float *times = pelt_model_alloc(plan->context, model, F, sizeof *times);
    mesh->positions = pelt_model_alloc(plan->context, model, 3 * N, sizeof *mesh->positions);
    mesh->triangles = pelt_model_alloc(plan->context, model, 3 * (size_t)from->triangle_count, sizeof *mesh->triangles);
    model->clips = pelt_model_alloc(plan->context, model, 1, sizeof *model->clips);
    if (!positions || !times || !mesh->positions || !mesh->triangles || !model->clips)
        return PELT_ERROR_MEMORY;
    for (size_t t = 0; t < from->triangle_count; t++) {
        uint32_t corners = 0, *out = mesh->triangles + 3 * (size_t)mesh->triangle_count;
        for (size_t c = 0; c < 3; c++) {
            uint32_t number = pelt_vertex_class(&plan->classes, from->triangles[3 * t + c]);
            if (plan->class_groups[number] != PELT_NONE && &plan->groups[plan->class_groups[number]] == group)
                out[corners++] = plan->class_places[number];
        }
        mesh->triangle_count += corners == 3;
    }
    mesh->polygon_count = mesh->triangle_count;
    mesh->vertex_count = mesh->points.count = (uint32_t)N;
    for (size_t k = 0; k < F; k++) {
        times[k] = (float)k;
        for (size_t i = 0; i < N; i++)
            for (size_t a = 0; a < 3; a++)
                positions[3 * (k * N + i) + a] = (float)fit->points[4 * PX_SLIDER_ROWS * i + a];
    }
    memcpy(mesh->positions, positions, 3 * N * sizeof *positions);
    for (size_t i = 0; i < N; i++)
        for (size_t e = fit->offsets[i]; e < fit->offsets[i + 1]; e++) {
            float *to = positions + 3 * ((fit->entries[e].slider + (size_t)1) * N + i);
            for (size_t a = 0; a < 3; a++)
                to[a] += fit->entries[e].rows[0][a];
        }
    model->clips[0] = (pelt_clip){
        .name = "", .frame_count = (uint32_t)F, .point_count = (uint32_t)N, .times = times, .positions = positions};
    model->clip_count = 1;
    return PELT_OK;
}

pelt_result px_slider_seed(const px_slider_plan *plan, px_slider_group *group) {
    px_slider_fit *fit = &group->fit;
    pelt_model *model;
    PX_TRY(pelt_model_create(plan->context, &model));
    pelt_result result = make_animation(plan, group, model);
    pelt_decompose_desc desc = pelt_decompose_desc_default();
    desc.bones = fit->bone_count - 1;
    desc.influences = plan->desc.influences;
    desc.iterations = SEED_ITERATIONS;
    desc.fixed_rest = desc.free_bones = desc.turned_normals = true;
    desc.key_tolerance = 0;
    if (result == PELT_OK)
        result = pelt_decompose(plan->context, model, &desc, NULL);
    for (size_t i = 0; result == PELT_OK && i < fit->vertex_count; i++) {
        const pelt_skin *skin = &model->skin;
        double sum = 0;
        for (size_t k = 0; k < fit->capacities[i] && k < skin->influence_count; k++)
            sum += (double)skin->weights[i * skin->influence_count + k];
        for (size_t k = 0; k < fit->influence_count; k++) {
            bool used = k < fit->capacities[i] && k < skin->influence_count;
            double weight = used ? (double)skin->weights[i * skin->influence_count + k] / sum : 0;
            fit->weights[i * fit->influence_count + k] = weight;
            fit->bones[i * fit->influence_count + k] =
                weight > 0 ? (uint16_t)(skin->bones[i * skin->influence_count + k] + 1) : 0;
        }
    }
    pelt_model_destroy(model);
    return result;
}
