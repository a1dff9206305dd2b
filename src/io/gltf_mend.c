/* Corrects frequent errors of source documents without a change of meaning, so that the written file is valid: weights
 * that do not sum to one (every reader divides by the sum), and skins whose `skeleton` is not a common root (an
 * optional hint). */
#include "io/gltf_document.h"

#include <stdio.h>

/* ---- Weights ---------------------------------------------------------------------------------------------- */

/* Scales the weights of one vertex, [set][4] with sets `step` floats apart, to a sum of 1. The largest weight absorbs
 * the rounding error. If all weights are 0, the first becomes 1. */
static void mend_vertex(float *weights, uint32_t set_count, size_t step) {
    double sum = 0, rest = 0;
    float *largest = weights;
    for (uint32_t k = 0; k < 4 * set_count; k++) {
        float *weight = weights + (k / 4) * step + k % 4;
        *weight = *weight > 0 && isfinite(*weight) ? *weight : 0;
        sum += (double)*weight;
        largest = *weight > *largest ? weight : largest;
    }
    for (uint32_t k = 0; k < 4 * set_count; k++) {
        float *weight = weights + (k / 4) * step + k % 4;
        *weight = sum > 0 ? (float)((double)*weight / sum) : 0;
        rest += weight == largest ? 0 : (double)*weight;
    }
    *largest = (float)(1 - rest);
}

static pelt_result mend_sets(px_gltf_writer *w, uint32_t part, px_json *attributes, uint32_t set_count,
                             float *weights) {
    uint32_t file_count = w->source->sources[part].vertex_count, vertex_count = w->parts[part].vertex_count;
    size_t step = 4 * (size_t)file_count;
    char name[24];
    for (uint32_t set = 0; set < set_count; set++) {
        px_gltf_accessor a;
        snprintf(name, sizeof name, "WEIGHTS_%u", set);
        PX_TRY(px_gltf_attribute(w->source, attributes, name, file_count, 4, PX_GLTF_FLOAT | PX_GLTF_UNIT, &a));
        PX_TRY(px_gltf_floats(w->source, &a, weights + set * step));
    }
    for (size_t i = 0; i < file_count; i++)
        mend_vertex(weights + 4 * i, set_count, step);
    float *rows = PX_NEW(w->arena, float, 4 * (size_t)vertex_count);
    if (!rows)
        return PELT_ERROR_MEMORY;
    for (uint32_t set = 0; set < set_count; set++) {
        for (uint32_t i = 0; i < vertex_count; i++)
            memcpy(rows + 4 * (size_t)i, weights + set * step + 4 * (size_t)px_gltf_origin(w, part, i),
                   4 * sizeof *rows);
        snprintf(name, sizeof name, "WEIGHTS_%u", set);
        px_gltf_put_uint(w, attributes, name,
                         px_gltf_add_accessor(w, rows, vertex_count, 4, PX_GLTF_F32, PX_GLTF_VERTICES, false));
    }
    return w->failed ? PELT_ERROR_MEMORY : PELT_OK;
}

static pelt_result mend_primitive(px_gltf_writer *w, px_json *primitive, uint32_t part) {
    px_json *attributes = px_json_get(primitive, "attributes");
    uint32_t set_count = px_gltf_count_sets(attributes);
    uint64_t first = px_json_uint(px_json_get(attributes, "WEIGHTS_0"), UINT32_MAX, 0);
    if (first >= w->source->accessors.count) /* already corrected through another node with this mesh */
        return PELT_OK;
    float *weights = PX_ALLOC(w->context, float, 4 * (size_t)set_count * w->source->sources[part].vertex_count);
    if (!weights)
        return PELT_ERROR_MEMORY;
    pelt_result result = mend_sets(w, part, attributes, set_count, weights);
    px_free(w->context, weights);
    w->mended = true;
    return result;
}

/* ---- Skeleton roots --------------------------------------------------------------------------------------- */

static bool is_above(const pelt_skeleton *skeleton, uint32_t ancestor, uint32_t joint) {
    while (joint != ancestor && joint != PELT_NONE)
        joint = skeleton->parents[joint];
    return joint == ancestor;
}

static bool is_root_of(const px_gltf_writer *w, uint32_t node, const px_json *joints) {
    const px_gltf *source = w->source;
    for (const px_json *item = joints ? joints->first : NULL; item; item = item->next) {
        uint32_t joint = (uint32_t)px_json_uint(item, PELT_NONE - 1, PELT_NONE);
        if (joint < source->nodes.count &&
            !is_above(&w->model->skeleton, source->node_joints[node], source->node_joints[joint]))
            return false;
    }
    return true;
}

static void mend_roots(px_gltf_writer *w) {
    px_json *skins = px_json_get(w->root, "skins");
    for (px_json *skin = skins ? skins->first : NULL; skin; skin = skin->next) {
        uint32_t node = (uint32_t)px_json_uint(px_json_get(skin, "skeleton"), PELT_NONE - 1, PELT_NONE);
        if (node < w->source->nodes.count && !is_root_of(w, node, px_json_get(skin, "joints")))
            px_json_remove(skin, "skeleton");
    }
}

px_json *px_gltf_primitive(const px_gltf_writer *w, uint32_t part) {
    if (w->primitives[part])
        return w->primitives[part];
    const px_gltf_source *source = &w->source->sources[part];
    return px_json_at(px_json_get(px_json_at(w->meshes, source->mesh), "primitives"), source->primitive);
}

pelt_result px_gltf_mend(px_gltf_writer *w) {
    if (!w->source || w->changed & PELT_CHANGED_SKIN)
        return PELT_OK;
    mend_roots(w);
    for (uint32_t p = 0; p < w->part_count; p++) {
        const px_gltf_source *source = &w->source->sources[p];
        if (!source->off)
            continue;
        PX_TRY(mend_primitive(w, px_gltf_primitive(w, p), p));
    }
    return PELT_OK;
}
