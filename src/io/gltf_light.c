/* Radiance transfer: patterns as vertex attributes _LIGHT_0, _LIGHT_1 …, their weights in extras.pelt_light of the
 * document, as docs/light.md describes it. Other programs ignore both. */
#include "io/gltf_document.h"

#include <stdio.h>

#define KEY     "pelt_light"
#define VERSION 1u

/* Sets the attributes of a part, and removes those of an earlier bake. `scratch`: [vertex][4]. */
void px_gltf_put_transfer(px_gltf_writer *w, uint32_t part, float *scratch) {
    const pelt_transfer *t = w->model->transfer;
    const pelt_part *p = &w->parts[part];
    px_json *attributes = px_gltf_member(w, w->primitives[part], "attributes", PX_JSON_OBJECT);
    char name[32];
    for (uint32_t n = 0; !w->failed; n++) {
        snprintf(name, sizeof name, "_LIGHT_%u", n);
        if (t && n < t->plane_count) {
            size_t first = (size_t)n * w->model->mesh.vertex_count + p->first_vertex;
            memcpy(scratch, t->patterns + 4 * first, 4 * (size_t)p->vertex_count * sizeof *scratch);
            px_gltf_put_uint(
                w, attributes, name,
                px_gltf_add_accessor(w, scratch, p->vertex_count, 4, PX_GLTF_F32, PX_GLTF_VERTICES, false));
        } else if (px_json_get(attributes, name)) {
            px_json_remove(attributes, name);
        } else {
            return;
        }
    }
}

pelt_result px_gltf_emit_light(px_gltf_writer *w) {
    const pelt_transfer *t = w->model->transfer;
    px_json *extras = px_json_get(w->root, "extras");
    if (px_json_get(extras, KEY)) {
        px_json_remove(extras, KEY);
        if (!t && extras->count == 0)
            px_json_remove(w->root, "extras");
    }
    if (!t)
        return PELT_OK;
    if (extras && !px_json_is(extras, PX_JSON_OBJECT))
        px_log(w->context, PELT_LOG_WARNING, "extras of the file are no object, and give way to the light");
    px_json *json = px_gltf_put(w, px_gltf_member(w, w->root, "extras", PX_JSON_OBJECT), KEY, px_json_object(w->arena));
    px_gltf_put_uint(w, json, "version", VERSION);
    px_gltf_put_uint(w, json, "coefficients", t->coefficient_count);
    px_gltf_put_uint(w, json, "rank", t->rank);
    px_json *light = px_gltf_put(w, json, "light", px_json_array(w->arena));
    for (uint32_t c = 0; c < t->coefficient_count; c++)
        px_gltf_push_floats(w, light, t->light + 3 * (size_t)c, 3);
    px_gltf_put_floats(w, json, "sun", t->sun, 3);
    px_gltf_put_floats(w, json, "sunColor", t->sun_color, 3);
    px_json *motions = px_gltf_put(w, json, "motions", px_json_array(w->arena));
    for (uint32_t first = 0, end; first < t->frame_count; first = end) {
        for (end = first; end < t->frame_count && t->motions[end] == t->motions[first];)
            end++;
        px_json *motion = px_gltf_push(w, motions, px_json_object(w->arena));
        if (t->motions[first] != PELT_NONE)
            px_gltf_put_uint(w, motion, "animation", t->motions[first]);
        px_gltf_put_floats(w, motion, "times", t->times + first, end - first);
        px_gltf_put_floats(w, motion, "weights", t->weights + (size_t)first * t->rank, (end - first) * t->rank);
    }
    return w->failed ? PELT_ERROR_MEMORY : PELT_OK;
}
