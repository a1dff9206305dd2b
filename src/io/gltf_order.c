/* Sorts the vertices of skinned primitives for fast skinning (core/influences.h). Every vertex array is copied to a new
 * accessor with its elements reordered, and indices are remapped: the rendered result is the same. Primitives that
 * share arrays still share them. */
#include "core/influences.h"
#include "io/gltf_document.h"

#include <stddef.h>

/* A reordered accessor: `to` holds the elements of `from`, sorted by the bones in `joints` and `weights`. */
typedef struct moved_accessor {
    uint32_t joints, weights, from, to; /* accessor indices */
} moved_accessor;

/* The order of all primitives with these joints and weights. Under different skins their bones would be sorted
 * differently, but arrays that they share have one order. */
typedef struct shared_order {
    uint32_t joints, weights; /* accessor indices */
    uint32_t vertex_count;
    uint32_t *order; /* [place] vertex */
} shared_order;

typedef struct reorder {
    px_gltf_writer *w;
    px_buffer moved;          /* moved_accessor: all reordered accessors */
    px_buffer orders;         /* shared_order: one for each pair of joints and weights */
    uint32_t first_new;       /* accessors from this index on are already sorted */
    uint32_t joints, weights; /* accessors of JOINTS_0 and WEIGHTS_0 of the current primitive */
    uint32_t vertex_count;    /* number of vertices of the current primitive */
    const uint32_t *order;    /* [place] vertex: sorted order of the current primitive */
    uint32_t *places;         /* [vertex] place: inverse of `order` */
} reorder;

static uint32_t index_at(const px_json *object, const char *key) {
    return (uint32_t)px_json_uint(px_json_get(object, key), PELT_NONE - 1, PELT_NONE);
}

/* ---- Reading accessors of the new document ------------------------------------------------------------------ */

/* The bytes of a view that this writer made. */
static const uint8_t *new_bytes(const px_gltf_writer *w, const px_json *object) {
    const px_json *view = px_json_at(w->views, index_at(object, "bufferView"));
    return (const uint8_t *)w->data.data + px_json_uint(px_json_get(view, "byteOffset"), SIZE_MAX, 0);
}

static pelt_result get_accessor(const px_gltf_writer *w, uint32_t index, px_gltf_accessor *a) {
    const uint32_t any =
        PX_GLTF_FLOAT | PX_GLTF_UNIT | PX_GLTF_SIGNED | PX_GLTF_INTEGER | PX_GLTF_INTEGER32 | PX_GLTF_ANY;
    if (w->source && index < w->source->accessors.count)
        return px_gltf_accessor_get(w->source, index, "its elements", 0, any, a);
    const px_json *json = px_json_at(w->accessors, index), *sparse = px_json_get(json, "sparse");
    *a = (px_gltf_accessor){.index = index};
    px_gltf_get_shape(json, a);
    a->count = a->total = (uint32_t)px_json_uint(px_json_get(json, "count"), UINT32_MAX, 0);
    a->stride = a->size;
    if (px_json_get(json, "bufferView")) {
        const px_json *view = px_json_at(w->views, index_at(json, "bufferView"));
        a->stride = (size_t)px_json_uint(px_json_get(view, "byteStride"), 252, a->stride);
        a->data = new_bytes(w, json);
    }
    if (sparse) {
        const px_json *indices = px_json_get(sparse, "indices");
        a->sparse_count = (uint32_t)px_json_uint(px_json_get(sparse, "count"), UINT32_MAX, 0);
        a->sparse_component = (px_gltf_component)px_json_uint(px_json_get(indices, "componentType"), UINT32_MAX, 0);
        a->sparse_indices = new_bytes(w, indices);
        a->sparse_values = new_bytes(w, px_json_get(sparse, "values"));
    }
    return PELT_OK;
}

static uint32_t load_uint(const uint8_t *p, px_gltf_component component) {
    uint32_t value = 0;
    for (uint32_t b = px_gltf_component_size(component); b-- > 0;)
        value = value << 8 | p[b];
    return value;
}

static void store_uint(uint8_t *p, px_gltf_component component, uint32_t value) {
    for (uint32_t b = 0; b < px_gltf_component_size(component); b++)
        p[b] = (uint8_t)(value >> 8 * b);
}

static uint32_t sparse_index(const px_gltf_accessor *a, size_t s) {
    return load_uint(a->sparse_indices + s * px_gltf_component_size(a->sparse_component), a->sparse_component);
}

/* Checks element count and sparse indices. The reader did not check arrays that the model does not hold. */
static pelt_result check_elements(const reorder *o, const px_gltf_accessor *a, uint32_t count) {
    pelt_context *context = o->w->context;
    if (a->count != count)
        return px_fail(context, PELT_ERROR_INPUT,
                       "accessor %u: has %u elements for %u vertices; write the file without another order", a->index,
                       a->count, count);
    for (size_t s = 0; s < a->sparse_count; s++)
        if (sparse_index(a, s) >= a->count)
            return px_fail(context, PELT_ERROR_INPUT, "accessor %u: its sparse index %u is not below %u", a->index,
                           sparse_index(a, s), a->count);
    return PELT_OK;
}

/* Copies the elements to a tightly packed array, `element` bytes each. NULL: out of memory. */
static uint8_t *copy_elements(pelt_context *context, const px_gltf_accessor *a, size_t element) {
    uint8_t *out = px_alloc(context, a->count, element);
    for (size_t i = 0; out && a->data && i < a->count; i++)
        memcpy(out + i * element, a->data + i * a->stride, element);
    for (size_t s = 0; out && s < a->sparse_count; s++)
        memcpy(out + sparse_index(a, s) * element, a->sparse_values + s * element, element);
    return out;
}

/* ---- Writing reordered accessors ------------------------------------------------------------------------------ */

/* Adds a copy of an accessor's JSON with a new view of `stride` bytes per element. */
static uint32_t put_accessor(px_gltf_writer *w, uint32_t from, const uint8_t *data, uint32_t count, size_t stride,
                             bool padded, uint32_t target) {
    uint32_t view = px_gltf_add_view(w, data, count * stride, target);
    if (padded)
        px_gltf_put_uint(w, px_json_at(w->views, view), "byteStride", (uint32_t)stride);
    px_json *accessor = px_gltf_push(w, w->accessors, px_json_copy(w->arena, px_json_at(w->accessors, from)));
    px_json_remove(accessor, "byteOffset");
    px_json_remove(accessor, "sparse");
    px_gltf_put_uint(w, accessor, "bufferView", view);
    if (target == PX_GLTF_INDICES) { /* unused vertices may now lie between used ones, so the bounds changed */
        px_json_remove(accessor, "min");
        px_json_remove(accessor, "max");
    }
    return px_json_count(w->accessors) - 1;
}

/* Copies an accessor with its elements in the new order. Elements of vertex arrays are aligned to 4 bytes. */
static pelt_result move_elements(const reorder *o, uint32_t from, bool offsets, uint32_t *to) {
    px_gltf_writer *w = o->w;
    px_gltf_accessor a;
    PX_TRY(get_accessor(w, from, &a));
    PX_TRY(check_elements(o, &a, o->vertex_count));
    size_t element = a.size, stride = (element + 3) / 4 * 4;
    uint8_t *old = copy_elements(w->context, &a, element), *data = px_alloc(w->context, a.count, stride);
    bool bounds = px_json_get(px_json_at(w->accessors, from), "min") != NULL;
    for (size_t place = 0; old && data && place < a.count; place++)
        memcpy(data + place * stride, old + o->order[place] * element, element);
    if (!old || !data) {
        w->failed = true;
    } else if (offsets && a.component == PX_GLTF_F32) {
        px_little_endian(data, (size_t)a.count * 3, sizeof(float));
        *to = px_gltf_add_offsets(w, (const float *)(const void *)data, a.count, bounds);
    } else {
        *to = put_accessor(w, from, data, a.count, stride, stride > element, PX_GLTF_VERTICES);
    }
    px_free(w->context, old);
    px_free(w->context, data);
    return w->failed ? PELT_ERROR_MEMORY : PELT_OK;
}

/* Reorders all attributes of a primitive, or of a morph target (`offsets`). */
static pelt_result move_attributes(reorder *o, px_json *attributes, bool offsets) {
    for (px_json *item = attributes->first, *next; item; item = next) {
        moved_accessor key = {o->joints, o->weights, (uint32_t)px_json_uint(item, PELT_NONE, 0), PELT_NONE};
        const moved_accessor *moved = (const void *)o->moved.data;
        for (size_t m = 0; m < o->moved.size / sizeof *moved; m++)
            if (memcmp(&moved[m], &key, offsetof(moved_accessor, to)) == 0)
                key.to = moved[m].to;
        next = item->next; /* the item is replaced */
        if (key.to == PELT_NONE) {
            PX_TRY(move_elements(o, key.from, offsets, &key.to));
            px_buffer_add(&o->moved, &key, sizeof key);
        }
        px_gltf_put_uint(o->w, attributes, item->key, key.to);
    }
    return o->w->failed || o->moved.failed ? PELT_ERROR_MEMORY : PELT_OK;
}

/* Remaps the indices. A primitive without indices gets some: its vertices were drawn in their old order. */
static pelt_result move_indices(const reorder *o, px_json *primitive) {
    px_gltf_writer *w = o->w;
    uint32_t from = index_at(primitive, "indices");
    if (from == PELT_NONE) {
        px_gltf_put_uint(w, primitive, "indices",
                         px_gltf_add_accessor(w, o->places, o->vertex_count, 1, PX_GLTF_U32, PX_GLTF_INDICES, false));
        return w->failed ? PELT_ERROR_MEMORY : PELT_OK;
    }
    px_gltf_accessor a;
    PX_TRY(get_accessor(w, from, &a));
    PX_TRY(check_elements(o, &a, a.count));
    size_t size = px_gltf_component_size(a.component);
    uint8_t *data = copy_elements(w->context, &a, size);
    bool inside = a.width == 1;
    for (size_t c = 0; data && inside && c < a.count; c++) {
        uint32_t index = load_uint(data + c * size, a.component);
        inside = index < o->vertex_count;
        if (inside)
            store_uint(data + c * size, a.component, o->places[index]);
    }
    if (data && inside)
        px_gltf_put_uint(w, primitive, "indices", put_accessor(w, from, data, a.count, size, false, PX_GLTF_INDICES));
    w->failed |= !data;
    px_free(w->context, data);
    if (!inside)
        return px_fail(w->context, PELT_ERROR_INPUT, "accessor %u: holds other things than indices below %u", from,
                       o->vertex_count);
    return w->failed ? PELT_ERROR_MEMORY : PELT_OK;
}

/* ---- Parts ---------------------------------------------------------------------------------------------------- */

/* Sorts the vertices of a part by their bones alone, so that primitives on the same arrays can share the order. */
static pelt_result sort_vertices(const reorder *o, const pelt_part *part, uint32_t *order) {
    const pelt_model *model = o->w->model;
    px_influences *rows = PX_ALLOC(o->w->context, px_influences, part->vertex_count);
    if (!rows)
        return PELT_ERROR_MEMORY;
    px_influences_make(model, part->first_vertex, part->vertex_count, rows);
    for (uint32_t i = 0; i < part->vertex_count; i++)
        rows[i].axis = 0;
    pelt_result result = px_influences_order(o->w->context, rows, part->vertex_count, model->skin.bone_count, order);
    px_free(o->w->context, rows);
    return result;
}

/* Sets `order` and `places`, to those of an earlier part if it has the same joints and weights. */
static pelt_result set_order(reorder *o, const pelt_part *part) {
    uint32_t count = o->vertex_count = part->vertex_count;
    shared_order key = {o->joints, o->weights, count, NULL};
    const shared_order *orders = (const void *)o->orders.data;
    for (size_t n = 0; n < o->orders.size / sizeof *orders; n++)
        if (memcmp(&orders[n], &key, offsetof(shared_order, order)) == 0)
            key.order = orders[n].order;
    if (!key.order) {
        if (!(key.order = PX_NEW(o->w->arena, uint32_t, count)))
            return PELT_ERROR_MEMORY;
        PX_TRY(sort_vertices(o, part, key.order));
        px_buffer_add(&o->orders, &key, sizeof key);
    }
    o->order = key.order;
    for (uint32_t place = 0; place < count; place++)
        o->places[o->order[place]] = place;
    return o->orders.failed ? PELT_ERROR_MEMORY : PELT_OK;
}

static pelt_result move_part(reorder *o, uint32_t part) {
    px_gltf_writer *w = o->w;
    px_json *primitive = px_gltf_primitive(w, part), *attributes = px_json_get(primitive, "attributes");
    o->joints = index_at(attributes, "JOINTS_0");
    o->weights = index_at(attributes, "WEIGHTS_0");
    if (o->joints == PELT_NONE || o->joints >= o->first_new) /* unskinned, or already sorted through another node */
        return PELT_OK;
    PX_TRY(set_order(o, &w->parts[part]));
    PX_TRY(move_attributes(o, attributes, false));
    const px_json *targets = px_json_get(primitive, "targets");
    for (px_json *target = targets ? targets->first : NULL; target; target = target->next)
        PX_TRY(move_attributes(o, target, true));
    PX_TRY(move_indices(o, primitive));
    return px_cancelled(w->context);
}

pelt_result px_gltf_order(px_gltf_writer *w) {
    size_t count = w->model->mesh.vertex_count;
    reorder o = {.w = w,
                 .moved = {.context = w->context},
                 .orders = {.context = w->context},
                 .first_new = px_json_count(w->accessors),
                 .places = PX_NEW(w->arena, uint32_t, count)};
    pelt_result result = o.places ? PELT_OK : PELT_ERROR_MEMORY;
    w->mended = true;
    for (uint32_t p = 0; result == PELT_OK && w->model->skin.bone_count && p < w->part_count; p++)
        result = move_part(&o, p);
    px_buffer_free(&o.moved);
    px_buffer_free(&o.orders);
    return result;
}
