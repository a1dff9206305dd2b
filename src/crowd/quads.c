/* Vertices of a level in groups of four, for batches; choice of the kernel. */
#include "crowd/crowd.h"

#include <math.h>

/* ---- Quads ------------------------------------------------------------------------------------------------ */

/* Number of influences up to the last nonzero weight, at least 1. */
static uint32_t influence_count(const pelt_skin *skin, uint32_t vertex) {
    const float *weights = skin->weights + (size_t)vertex * skin->influence_count;
    uint32_t count = skin->influence_count;
    while (count > 1 && weights[count - 1] == 0)
        count--;
    return count;
}

static uint32_t vertex_of(const pelt_mesh *mesh, size_t quad, size_t v) {
    return (uint32_t)px_min_size(4 * quad + v, mesh->vertex_count - 1);
}

static px_crowd_vertex rest_vertex(const pelt_mesh *mesh, uint32_t i) {
    static const float none[3] = {0};
    const float *p = mesh->positions + 3 * (size_t)i, *n = mesh->normals ? mesh->normals + 3 * (size_t)i : none;
    uint32_t a = fabsf(n[0]) >= fabsf(n[1]) && fabsf(n[0]) >= fabsf(n[2]) ? 0 : fabsf(n[1]) >= fabsf(n[2]) ? 1 : 2;
    uint32_t b = (a + 1) % 3, c = (a + 2) % 3;
    return (px_crowd_vertex){a, {p[a], p[b], p[c]}, {n[a], n[b] / n[a], n[c] / n[a]}};
}

static void put_quad(const pelt_model *model, const px_crowd_quads *quads, size_t q) {
    const pelt_skin *skin = &model->skin;
    size_t count = (quads->first[q + 1] - quads->first[q]) / 4;
    for (size_t v = 0; v < 4; v++) {
        uint32_t i = vertex_of(&model->mesh, q, v);
        for (size_t k = 0; k < count; k++) {
            size_t from = (size_t)i * skin->influence_count + k;
            quads->influences[quads->first[q] + v * count + k] =
                (px_crowd_influence){skin->weights[from], skin->bones[from]};
        }
        quads->vertices[4 * q + v] = rest_vertex(&model->mesh, i);
    }
}

pelt_result px_crowd_quads_make(px_arena *memory, const pelt_model *model, px_crowd_quads *quads) {
    size_t count = px_block_count(model->mesh.vertex_count, 4);
    quads->first = PX_NEW(memory, size_t, count + 1);
    quads->vertices = PX_NEW(memory, px_crowd_vertex, 4 * count);
    if (!quads->first || !quads->vertices)
        return PELT_ERROR_MEMORY;
    for (size_t q = 0; q < count; q++) {
        size_t most = 1;
        for (size_t v = 0; v < 4; v++)
            most = px_max_size(most, influence_count(&model->skin, vertex_of(&model->mesh, q, v)));
        quads->first[q + 1] = quads->first[q] + 4 * most;
    }
    quads->influences = PX_NEW(memory, px_crowd_influence, quads->first[count]);
    if (!quads->influences)
        return PELT_ERROR_MEMORY;
    for (size_t q = 0; q < count; q++)
        put_quad(model, quads, q);
    quads->count = (uint32_t)count;
    return PELT_OK;
}

/* ---- Bodies ----------------------------------------------------------------------------------------------- */

const px_crowd_body *px_crowd_body_of(pelt_simd simd) {
    assert(pelt_simd_available(simd));
    switch (simd) {
#if defined(__x86_64__)
    case PELT_SIMD_AVX512:
        return &px_crowd_sixteen;
    case PELT_SIMD_AVX2:
        return __builtin_cpu_supports("fma") ? &px_crowd_eight : &px_crowd_four;
    case PELT_SIMD_SSE2:
        return &px_crowd_four;
#elif defined(__aarch64__)
    case PELT_SIMD_NEON:
        return &px_crowd_four;
#elif defined(__wasm_simd128__)
    case PELT_SIMD_WASM:
        return &px_crowd_four;
#endif
    default:
        return &px_crowd_one;
    }
}
