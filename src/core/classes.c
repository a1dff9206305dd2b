/* Equivalence classes of vertices: see classes.h. */
#include "core/classes.h"

pelt_result px_classes_make(px_arena *arena, uint32_t vertex_count, uint32_t count, uint32_t *of,
                            pelt_vertex_classes *out) {
    pelt_context *context = px_arena_context(arena);
    if (count > vertex_count)
        return px_fail(context, PELT_ERROR_INPUT, "%u points, but only %u vertices; every point needs a vertex", count,
                       vertex_count);
    uint32_t *first = PX_NEW(arena, uint32_t, count);
    if (!first)
        return PELT_ERROR_MEMORY;
    memset(first, 0xFF, count * sizeof *first);
    for (uint32_t i = vertex_count; i-- > 0;) {
        if (of[i] >= count)
            return px_fail(context, PELT_ERROR_INPUT, "vertex %u is of point %u of %u", i, of[i], count);
        first[of[i]] = i;
    }
    for (uint32_t c = 0; c < count; c++)
        if (first[c] == PELT_NONE)
            return px_fail(context, PELT_ERROR_INPUT, "point %u of %u has no vertex", c, count);
    *out = (pelt_vertex_classes){count, of, first};
    return PELT_OK;
}

pelt_result pelt_model_set_points(pelt_context *context, pelt_model *model, uint32_t count, uint32_t *of) {
    (void)context;
    return px_classes_make(model->memory, model->mesh.vertex_count, count, of, &model->mesh.points);
}

pelt_result px_classes_refine(px_arena *arena, uint32_t vertex_count, const pelt_vertex_classes *old, px_same_fn *same,
                              const void *user, pelt_vertex_classes *out) {
    pelt_vertex_classes made = {.of = PX_NEW(arena, uint32_t, vertex_count),
                                .first = PX_NEW(arena, uint32_t, vertex_count)};
    uint32_t *heads = PX_ALLOC(px_arena_context(arena), uint32_t, old->count); /* [old class] its first new one + 1 */
    uint32_t *nexts =
        PX_ALLOC(px_arena_context(arena), uint32_t, vertex_count); /* [new class] the next one + 1, or 0 */
    bool ready = made.of && made.first && heads && nexts;
    for (uint32_t i = 0; ready && i < vertex_count; i++) {
        uint32_t from = pelt_vertex_class(old, i), *link;
        if (from == PELT_NONE) {
            made.of[i] = PELT_NONE;
            continue;
        }
        link = &heads[from];
        while (*link && !same(user, i, made.first[*link - 1]))
            link = &nexts[*link - 1];
        if (!*link) {
            made.first[made.count] = i;
            *link = ++made.count;
        }
        made.of[i] = *link - 1;
    }
    px_free(px_arena_context(arena), nexts);
    px_free(px_arena_context(arena), heads);
    if (ready)
        *out = made;
    return ready ? PELT_OK : PELT_ERROR_MEMORY;
}

static bool same_weights(const void *user, uint32_t a, uint32_t b) {
    const pelt_skin *skin = user;
    size_t count = skin->influence_count;
    return memcmp(skin->bones + a * count, skin->bones + b * count, count * sizeof *skin->bones) == 0 &&
           memcmp(skin->weights + a * count, skin->weights + b * count, count * sizeof *skin->weights) == 0;
}

pelt_result px_classes_by_weights(px_arena *arena, const pelt_mesh *mesh, const pelt_skin *skin,
                                  pelt_vertex_classes *out) {
    return px_classes_refine(arena, mesh->vertex_count, &mesh->weld, same_weights, skin, out);
}

static bool share_joint(const void *user, uint32_t a, uint32_t b) {
    const pelt_skin *skin = user;
    size_t K = skin->influence_count;
    for (size_t e = 0; e < K * K; e++) {
        size_t of_a = a * K + e / K, of_b = b * K + e % K;
        if (skin->weights[of_a] > 0 && skin->weights[of_b] > 0 &&
            skin->bone_joints[skin->bones[of_a]] == skin->bone_joints[skin->bones[of_b]])
            return true;
    }
    return false;
}

pelt_result px_classes_by_joints(px_arena *arena, const pelt_mesh *mesh, const pelt_skin *skin,
                                 pelt_vertex_classes *out) {
    return px_classes_refine(arena, mesh->vertex_count, &mesh->weld, share_joint, skin, out);
}

uint32_t *px_class_triangles(px_arena *arena, const pelt_mesh *mesh, const pelt_vertex_classes *classes) {
    size_t count = 3 * (size_t)mesh->triangle_count;
    uint32_t *out = PX_NEW(arena, uint32_t, count);
    for (size_t e = 0; out && e < count; e++)
        out[e] = pelt_vertex_class(classes, mesh->triangles[e]);
    return out;
}

float *px_class_positions(px_arena *arena, const pelt_vertex_classes *classes, const float *positions) {
    float *out = PX_NEW(arena, float, 3 * (size_t)classes->count);
    if (out)
        pelt_vertex_classes_gather(classes, positions, out);
    return out;
}

void pelt_vertex_classes_spread(const pelt_vertex_classes *classes, uint32_t vertex_count, const float *class_positions,
                                float *vertex_positions) {
    for (uint32_t i = 0; i < vertex_count; i++)
        memcpy(vertex_positions + 3 * (size_t)i, class_positions + 3 * (size_t)pelt_vertex_class(classes, i),
               3 * sizeof(float));
}

void pelt_vertex_classes_gather(const pelt_vertex_classes *classes, const float *vertex_positions,
                                float *class_positions) {
    for (uint32_t c = 0; c < classes->count; c++)
        memcpy(class_positions + 3 * (size_t)c, vertex_positions + 3 * (size_t)pelt_class_vertex(classes, c),
               3 * sizeof(float));
}
