/* Any bytes as a cache: added to a small mesh whose size follows the header, so that the counts often fit; then read,
 * weld, pose, write. A fourth of the inputs have no mesh: a cache alone is a cloud of points.
 */
#ifndef PELT_FUZZ_CACHE_H
#define PELT_FUZZ_CACHE_H

#include "chain.h"

/* A fan of triangles. */
static inline pelt_model *fuzz_mesh(pelt_context *context, uint32_t point_count) {
    pelt_model *model;
    FUZZ_REQUIRE(pelt_model_create(context, &model) == PELT_OK);
    pelt_mesh *mesh = &model->mesh;
    mesh->vertex_count = mesh->points.count = point_count;
    mesh->triangle_count = mesh->polygon_count = point_count < 3 ? 0 : point_count - 2;
    mesh->positions = pelt_model_alloc(context, model, point_count, 3 * sizeof(float));
    mesh->triangles = pelt_model_alloc(context, model, mesh->triangle_count, 3 * sizeof(uint32_t));
    FUZZ_REQUIRE(mesh->positions && mesh->triangles);
    for (uint32_t i = 0; i < 3 * point_count; i++)
        mesh->positions[i] = (float)(i * i % 17);
    for (uint32_t t = 0; t < mesh->triangle_count; t++) {
        mesh->triangles[3 * t + 1] = t + 1;
        mesh->triangles[3 * t + 2] = t + 2;
    }
    return model;
}

static inline void fuzz_cache(const uint8_t *data, size_t size, const char *extension, uint32_t point_count) {
    char name[32];
    uint32_t choice = fuzz_choice(data, size);
    pelt_load_desc desc = fuzz_load_desc(choice);
    snprintf(name, sizeof name, "fuzz.%s", extension);
    pelt_context *context = fuzz_context();
    pelt_model *model;
    pelt_result result;
    if (choice >> 16 & 3) {
        model = fuzz_mesh(context, 1 + (point_count - 1) % 64);
        result = pelt_load_cache_memory(context, data, size, name, &desc, model);
    } else {
        result = pelt_load_memory(context, data, size, name, &desc, &model);
    }
    if (fuzz_done(context, result) && model->clip_count)
        fuzz_use(context, model, name, choice);
    pelt_model_destroy(model);
    pelt_context_destroy(context);
}

#endif
