/* Last step of writing: removes unreferenced accessors and views, and lays out all bytes in one buffer. Bytes are not
 * copied, only listed as runs.
 *
 * Removal renumbers accessors and views, so it needs to know every reference: it is skipped if the document uses an
 * extension that may store indices in places unknown to Pelt. It is also skipped if nothing of the model changed.
 */
#include "io/gltf_document.h"

#include <stdlib.h>

/* ---- References ------------------------------------------------------------------------------------------- */

/* Called for each JSON number that is the index of an accessor, a view or a buffer. */
typedef void visit_fn(px_gltf_writer *w, px_json *number, const uint32_t *map, bool *used);

typedef struct visitor {
    px_gltf_writer *w;
    visit_fn *visit;
    const uint32_t *map; /* renumber: [old index] new index; add_to: one offset */
    bool *used;          /* mark: [index] set to true */
    uint32_t count;      /* indices from `count` on are not visited */
} visitor;

static uint32_t index_of(const px_json *number) {
    return (uint32_t)px_json_uint(number, PELT_NONE - 1, PELT_NONE);
}

static void visit(const visitor *v, px_json *number) {
    if (number && index_of(number) < v->count)
        v->visit(v->w, number, v->map, v->used);
}

static void mark(px_gltf_writer *w, px_json *number, const uint32_t *map, bool *used) {
    (void)w, (void)map;
    used[index_of(number)] = true;
}

void px_gltf_set_uint(px_gltf_writer *w, px_json *number, uint32_t value) {
    const px_json *spelling = px_json_new_uint(w->arena, value);
    w->failed |= !spelling;
    if (!spelling)
        return;
    number->text = spelling->text;
    number->length = spelling->length;
}

static void renumber(px_gltf_writer *w, px_json *number, const uint32_t *map, bool *used) {
    (void)used;
    px_gltf_set_uint(w, number, map[index_of(number)]);
}

static px_json *first_of(const px_json *value) {
    return value ? value->first : NULL;
}

static void visit_members(const visitor *v, const px_json *object) {
    for (px_json *member = first_of(object); member; member = member->next)
        visit(v, member);
}

static void visit_accessors(const visitor *v) {
    const px_json *root = v->w->root;
    for (px_json *mesh = first_of(px_json_get(root, "meshes")); mesh; mesh = mesh->next)
        for (px_json *p = first_of(px_json_get(mesh, "primitives")); p; p = p->next) {
            visit_members(v, px_json_get(p, "attributes"));
            visit(v, px_json_get(p, "indices"));
            for (px_json *target = first_of(px_json_get(p, "targets")); target; target = target->next)
                visit_members(v, target);
        }
    for (px_json *skin = first_of(px_json_get(root, "skins")); skin; skin = skin->next)
        visit(v, px_json_get(skin, "inverseBindMatrices"));
    for (px_json *animation = first_of(px_json_get(root, "animations")); animation; animation = animation->next)
        for (px_json *s = first_of(px_json_get(animation, "samplers")); s; s = s->next) {
            visit(v, px_json_get(s, "input"));
            visit(v, px_json_get(s, "output"));
        }
}

static void visit_views(const visitor *v) {
    for (px_json *accessor = first_of(v->w->accessors); accessor; accessor = accessor->next) {
        const px_json *sparse = px_json_get(accessor, "sparse");
        visit(v, px_json_get(accessor, "bufferView"));
        visit(v, px_json_get(px_json_get(sparse, "indices"), "bufferView"));
        visit(v, px_json_get(px_json_get(sparse, "values"), "bufferView"));
    }
    for (px_json *image = first_of(px_json_get(v->w->root, "images")); image; image = image->next)
        visit(v, px_json_get(image, "bufferView"));
}

static void visit_buffers(const visitor *v) {
    for (px_json *view = first_of(v->w->views); view; view = view->next) {
        visit(v, px_json_get(view, "buffer"));
        visit(v, px_json_get(px_gltf_compressed(view), "buffer"));
    }
}

/* Adds *map to an index. */
static void add_to(px_gltf_writer *w, px_json *number, const uint32_t *map, bool *used) {
    (void)used;
    px_gltf_set_uint(w, number, index_of(number) + *map);
}

pelt_result px_gltf_shift(px_gltf_writer *w, uint32_t accessors, uint32_t views) {
    visit_accessors(&(visitor){w, add_to, &accessors, NULL, w->accessors->count});
    visit_views(&(visitor){w, add_to, &views, NULL, w->views->count});
    return w->failed ? PELT_ERROR_MEMORY : PELT_OK;
}

/* ---- Removal ---------------------------------------------------------------------------------------------- */

/* Removes the items that are not marked in `keep`. map [old index] gets the new index. */
static void filter(px_json *array, const bool *keep, uint32_t *map) {
    px_json *item = array->first;
    uint32_t kept = 0;
    array->first = array->last = NULL;
    for (uint32_t index = 0; item; index++) {
        px_json *next = item->next;
        item->next = NULL;
        if (keep[index]) {
            map[index] = kept++;
            if (array->last)
                array->last->next = item;
            else
                array->first = item;
            array->last = item;
        }
        item = next;
    }
    array->count = kept;
}

/* Removes the items of an array that no index visited by `walk` refers to, and renumbers the indices. */
static pelt_result drop_unused(px_gltf_writer *w, px_json *array, void (*walk)(const visitor *)) {
    uint32_t count = array->count;
    bool *used = PX_NEW(w->arena, bool, count);
    uint32_t *map = PX_NEW(w->arena, uint32_t, count);
    if (!used || !map)
        return PELT_ERROR_MEMORY;
    walk(&(visitor){w, mark, NULL, used, count});
    filter(array, used, map);
    walk(&(visitor){w, renumber, map, NULL, count});
    return w->failed ? PELT_ERROR_MEMORY : PELT_OK;
}

const char *px_gltf_unknown_extension(const px_json *root) {
    for (const px_json *name = first_of(px_json_get(root, "extensionsUsed")); name; name = name->next)
        if (!px_gltf_knows_extension(px_json_string(name, "")))
            return px_json_string(name, "");
    return NULL;
}

void px_gltf_remove_name(px_json *root, const char *key, const char *name) {
    px_json *array = px_json_get(root, key);
    px_json **place = array ? &array->first : NULL, *last = NULL;
    while (place && *place) {
        if (strcmp(px_json_string(*place, ""), name) == 0) {
            *place = (*place)->next;
            array->count--;
        } else {
            last = *place;
            place = &(*place)->next;
        }
    }
    if (array)
        array->last = last;
    if (array && array->count == 0)
        px_json_remove(root, key);
}

static pelt_result drop(px_gltf_writer *w) {
    PX_TRY(drop_unused(w, w->accessors, visit_accessors));
    PX_TRY(drop_unused(w, w->views, visit_views));
    for (px_json *view = w->views->first; view; view = view->next)
        if (px_gltf_compressed(view))
            return PELT_OK;
    px_gltf_remove_name(w->root, "extensionsUsed", PX_GLTF_MESHOPT);
    px_gltf_remove_name(w->root, "extensionsRequired", PX_GLTF_MESHOPT);
    return PELT_OK;
}

/* ---- Layout ----------------------------------------------------------------------------------------------- */

/* Bytes [start, end) of a buffer, and their offset `base` in the new buffer. */
typedef struct segment {
    uint32_t buffer;
    size_t start, end, base;
} segment;

typedef struct packer {
    px_gltf_writer *w;
    uint32_t buffer_count; /* buffers of the source, the new one, and that of w->fallback_size */
    segment *segments;
    size_t segment_count;
} packer;

static px_gltf_buffer buffer_at(const packer *p, uint32_t index) {
    if (index == p->w->new_buffer)
        return (px_gltf_buffer){(const uint8_t *)p->w->data.data, p->w->data.size};
    return index < p->w->new_buffer ? p->w->source->buffers[index] : (px_gltf_buffer){0};
}

/* Finds the bytes of a view or of its compressed form. Returns false if it is empty or exceeds its buffer. */
static bool span_of(const packer *p, const px_json *view, segment *out) {
    uint32_t buffer = index_of(px_json_get(view, "buffer"));
    px_gltf_buffer b = buffer_at(p, buffer);
    uint64_t offset = px_json_uint(px_json_get(view, "byteOffset"), SIZE_MAX / 4, 0);
    uint64_t size = px_json_uint(px_json_get(view, "byteLength"), SIZE_MAX / 4, 0);
    *out = (segment){buffer, (size_t)offset, (size_t)(offset + size), 0};
    return b.data && size > 0 && offset + size <= b.size;
}

static int compare_segments(const void *a, const void *b) {
    const segment *x = a, *y = b;
    if (x->buffer != y->buffer)
        return x->buffer < y->buffer ? -1 : 1;
    return x->start != y->start ? (x->start < y->start ? -1 : 1) : 0;
}

/* Finds the bytes that views use. Starts are rounded down to 4 bytes to keep the alignment; overlapping and adjacent
 * segments are merged. */
static pelt_result find_used(packer *p) {
    p->segments = PX_NEW(p->w->arena, segment, 2 * (size_t)p->w->views->count);
    if (!p->segments)
        return PELT_ERROR_MEMORY;
    size_t count = 0, kept = 0;
    for (const px_json *view = p->w->views->first; view; view = view->next) {
        count += span_of(p, view, &p->segments[count]);
        count += span_of(p, px_gltf_compressed(view), &p->segments[count]);
    }
    for (size_t s = 0; s < count; s++)
        p->segments[s].start &= ~(size_t)3;
    px_sort(p->segments, count, sizeof *p->segments, compare_segments);
    for (size_t s = 0; s < count; s++) {
        segment *last = kept > 0 ? &p->segments[kept - 1] : NULL, next = p->segments[s];
        if (last && last->buffer == next.buffer && next.start <= ((last->end + 3) & ~(size_t)3))
            last->end = px_max_size(last->end, next.end);
        else
            p->segments[kept++] = next;
    }
    p->segment_count = kept;
    return PELT_OK;
}

/* Takes all bytes of all buffers. */
static pelt_result find_whole(packer *p) {
    p->segments = PX_NEW(p->w->arena, segment, p->buffer_count);
    if (!p->segments)
        return PELT_ERROR_MEMORY;
    for (uint32_t b = 0; b < p->buffer_count; b++) {
        px_gltf_buffer buffer = buffer_at(p, b);
        if (buffer.data && buffer.size > 0)
            p->segments[p->segment_count++] = (segment){b, 0, buffer.size, 0};
    }
    return PELT_OK;
}

static const segment *segment_at(const packer *p, uint32_t buffer, size_t offset) {
    size_t low = 0, high = p->segment_count;
    while (low < high) { /* finds the first segment after (buffer, offset) */
        size_t middle = low + (high - low) / 2;
        const segment *s = &p->segments[middle];
        if (s->buffer > buffer || (s->buffer == buffer && s->start > offset))
            high = middle;
        else
            low = middle + 1;
    }
    return low > 0 && p->segments[low - 1].buffer == buffer ? &p->segments[low - 1] : NULL;
}

static void move_view(packer *p, px_json *view) {
    segment span;
    if (!view || !span_of(p, view, &span))
        return;
    const segment *s = segment_at(p, span.buffer, span.start);
    size_t offset = s->base + (span.start - s->start);
    if (offset > 0 || px_json_get(view, "byteOffset"))
        px_gltf_put(p->w, view, "byteOffset", px_json_new_uint(p->w->arena, offset));
}

/* Makes the list of buffers: the buffer with all bytes, then those without data (fallbacks of compressed views). Renumbers the buffers of views. */
static pelt_result make_buffers(packer *p, bool dropping, px_gltf_layout *layout) {
    px_gltf_writer *w = p->w;
    const px_gltf_list *old = w->source ? &w->source->buffers_json : &(px_gltf_list){0};
    px_json *buffers = px_json_array(w->arena), *merged = NULL;
    uint32_t *map = PX_NEW(w->arena, uint32_t, p->buffer_count);
    bool *used = PX_NEW(w->arena, bool, p->buffer_count);
    if (!map || !used || !buffers)
        return PELT_ERROR_MEMORY;
    for (uint32_t b = 0; layout->size > 0 && !merged && b < old->count; b++) /* reuse its name and extras */
        if (w->source->buffers[b].data)
            merged = px_gltf_push(w, buffers, px_json_copy(w->arena, old->items[b]));
    if (layout->size > 0 && !merged)
        merged = px_gltf_push(w, buffers, px_json_object(w->arena));
    px_json_remove(merged, "uri");
    if (merged)
        px_gltf_put(w, merged, "byteLength", px_json_new_uint(w->arena, layout->size));
    visit_buffers(&(visitor){w, mark, NULL, used, p->buffer_count});
    for (uint32_t b = 0; b < old->count; b++)
        if (!w->source->buffers[b].data && (used[b] || !(dropping || w->plain))) {
            map[b] = buffers->count;
            px_gltf_push(w, buffers, px_json_copy(w->arena, old->items[b]));
        }
    if (w->fallback_size > 0) {
        map[w->new_buffer + 1] = buffers->count;
        px_json *fallback = px_gltf_push(w, buffers, px_json_object(w->arena));
        px_gltf_put(w, fallback, "byteLength", px_json_new_uint(w->arena, w->fallback_size));
        px_json *extension = px_gltf_member(w, px_gltf_member(w, fallback, "extensions", PX_JSON_OBJECT),
                                            PX_GLTF_MESHOPT, PX_JSON_OBJECT);
        px_gltf_put(w, extension, "fallback", px_json_new_bool(w->arena, true));
    }
    visit_buffers(&(visitor){w, renumber, map, NULL, p->buffer_count});
    px_json_remove(w->root, "buffers");
    if (buffers->count > 0)
        px_gltf_put(w, w->root, "buffers", buffers);
    layout->buffer = merged;
    return w->failed ? PELT_ERROR_MEMORY : PELT_OK;
}

/* Removes empty arrays, which the specification forbids. */
static void remove_empty(px_gltf_writer *w) {
    static const char *const keys[] = {"nodes", "meshes", "accessors", "bufferViews"};
    for (size_t k = 0; k < PX_COUNT(keys); k++)
        if (px_json_count(px_json_get(w->root, keys[k])) == 0)
            px_json_remove(w->root, keys[k]);
    for (px_json *scene = first_of(px_json_get(w->root, "scenes")); scene; scene = scene->next)
        if (px_json_count(px_json_get(scene, "nodes")) == 0)
            px_json_remove(scene, "nodes");
}

pelt_result px_gltf_pack(px_gltf_writer *w, px_gltf_layout *layout) {
    packer p = {.w = w, .buffer_count = w->new_buffer + 2};
    bool dropping = (w->changed || w->mended) && !px_gltf_unknown_extension(w->root);
    if (dropping)
        PX_TRY(drop(w));
    PX_TRY(dropping ? find_used(&p) : find_whole(&p));
    layout->runs = PX_NEW(w->arena, px_gltf_run, p.segment_count);
    if (!layout->runs)
        return PELT_ERROR_MEMORY;
    for (size_t s = 0; s < p.segment_count; s++) {
        segment *at = &p.segments[s];
        at->base = layout->size;
        layout->runs[layout->run_count++] =
            (px_gltf_run){buffer_at(&p, at->buffer).data + at->start, at->end - at->start};
        layout->size += (at->end - at->start + 3) & ~(size_t)3;
    }
    for (px_json *view = w->views->first; view; view = view->next) {
        move_view(&p, view);
        move_view(&p, px_gltf_compressed(view));
    }
    PX_TRY(make_buffers(&p, dropping, layout));
    remove_empty(w);
    return w->failed ? PELT_ERROR_MEMORY : PELT_OK;
}
