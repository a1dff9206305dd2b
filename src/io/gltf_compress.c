/* Compresses a finished document: rounds vertices and keys to a given precision, sorts triangles and vertices, and
 * encodes all accessors with EXT_meshopt_compression.
 *
 * Positions, displacements, weights, translations and scales stay floats, on a grid whose step is a power of two:
 * the filter EXPONENTIAL stores them as integers with a common exponent. That takes no more bytes than 16-bit positions
 * (KHR_mesh_quantization), needs no scale in nodes or bind matrices, and all parts share one grid, so seams stay closed.
 * Normals and tangents are octahedral with 8 bits, rotations have the filter QUATERNION.
 * Attributes that Pelt does not know keep their bits.
 *
 * Accessors of one kind share a buffer view: a view costs about 200 bytes of JSON and 33 of the codec.
 */
#include "io/gltf_document.h"
#include "io/meshopt.h"

#include <math.h>
#include <stdio.h>

#define UV_EXPONENT     (-14) /* a quarter of a texel of 4096 */
#define NORMAL_EXPONENT (-8)  /* displacements of normals and tangents */

/* What an accessor holds. */
typedef enum role {
    ROLE_NONE, /* not referenced, or in places unknown to Pelt */
    ROLE_KEPT, /* keeps its bits; also what is used in two ways */
    ROLE_TRIANGLES,
    ROLE_POSITION,
    ROLE_OFFSET,
    ROLE_NORMAL,
    ROLE_NORMAL_OFFSET,
    ROLE_UV,
    ROLE_INFLUENCE, /* JOINTS_n, WEIGHTS_n: encoded with their primitive */
    ROLE_TRANSLATION,
    ROLE_ROTATION,
    ROLE_SCALE,
    ROLE_MORPH_WEIGHT
} role;

/* A buffer view to be: elements of one stride and filter. */
typedef struct stream {
    const char *filter;
    size_t stride;
    bool vertices;  /* vertex attributes */
    uint32_t view;  /* index of its view */
    px_buffer data; /* filtered elements */
} stream;
#define STREAM_MAX 64u

/* Vertices that primitives share, by the accessor of their positions. */
typedef struct vertex_set {
    uint32_t count;
    bool kept;        /* vertices stay in their order */
    uint32_t *order;  /* [new] old index; NULL: not sorted */
    uint32_t *places; /* [old] new index */
} vertex_set;

typedef struct compressor {
    px_gltf_writer *w;
    px_gltf doc; /* reads the new document */
    const px_precision *precision;
    uint8_t *roles;    /* [accessor] role */
    bool *done;        /* [accessor] already encoded */
    uint32_t *owners;  /* [accessor] accessor of positions of its vertices, or PELT_NONE */
    vertex_set **sets; /* [accessor] of positions; NULL for others */
    uint32_t *joints;  /* [accessor] joint whose rotations or scales it holds, or PELT_NONE */
    stream streams[STREAM_MAX];
    uint32_t stream_count;
    uint32_t fallback; /* index of the buffer without data that views refer to */
    size_t unpacked;   /* bytes of all views when decoded */
    bool quantized;    /* KHR_mesh_quantization is needed */
} compressor;

static px_json *first_of(const px_json *value) {
    return value ? value->first : NULL;
}

static uint32_t index_of(const px_json *number) {
    return (uint32_t)px_json_uint(number, PELT_NONE - 1, PELT_NONE);
}

/* ---- Roles ------------------------------------------------------------------------------------------------ */

static void assign(compressor *c, const px_json *number, role what) {
    uint32_t a = index_of(number);
    if (a < c->doc.accessors.count)
        c->roles[a] = c->roles[a] == ROLE_NONE || c->roles[a] == what ? (uint8_t)what : ROLE_KEPT;
}

/* Makes an accessor one of a set of vertices. An accessor of two sets keeps both in their order. */
static void own(compressor *c, const px_json *number, uint32_t positions) {
    uint32_t a = index_of(number);
    if (a >= c->doc.accessors.count)
        return;
    if (c->owners[a] == PELT_NONE)
        c->owners[a] = positions;
    else if (c->owners[a] != positions)
        c->sets[positions]->kept = c->sets[c->owners[a]]->kept = true;
}

static role attribute_role(const char *name) {
    return strcmp(name, "POSITION") == 0                                           ? ROLE_POSITION
           : strcmp(name, "NORMAL") == 0 || strcmp(name, "TANGENT") == 0           ? ROLE_NORMAL
           : strncmp(name, "TEXCOORD_", 9) == 0                                    ? ROLE_UV
           : strncmp(name, "JOINTS_", 7) == 0 || strncmp(name, "WEIGHTS_", 8) == 0 ? ROLE_INFLUENCE
                                                                                   : ROLE_KEPT;
}

static role offset_role(const char *name) {
    return strcmp(name, "POSITION") == 0                                 ? ROLE_OFFSET
           : strcmp(name, "NORMAL") == 0 || strcmp(name, "TANGENT") == 0 ? ROLE_NORMAL_OFFSET
                                                                         : ROLE_KEPT;
}

static bool is_triangles(const px_json *primitive) {
    return px_json_uint(px_json_get(primitive, "mode"), 6, 4) == 4 && px_json_get(primitive, "indices");
}

static pelt_result assign_primitive(compressor *c, const px_json *primitive) {
    const px_json *attributes = px_json_get(primitive, "attributes");
    uint32_t positions = index_of(px_json_get(attributes, "POSITION"));
    if (positions >= c->doc.accessors.count)
        return PELT_OK;
    if (!c->sets[positions] && !(c->sets[positions] = PX_NEW(c->w->arena, vertex_set, 1)))
        return PELT_ERROR_MEMORY;
    vertex_set *set = c->sets[positions];
    set->count = (uint32_t)px_json_uint(px_json_get(c->doc.accessors.items[positions], "count"), INT32_MAX, 0);
    set->kept |= !is_triangles(primitive) || c->precision->keep_order;
    for (const px_json *member = first_of(attributes); member; member = member->next) {
        assign(c, member, attribute_role(member->key));
        own(c, member, positions);
    }
    for (const px_json *target = first_of(px_json_get(primitive, "targets")); target; target = target->next)
        for (const px_json *member = target->first; member; member = member->next) {
            assign(c, member, offset_role(member->key));
            own(c, member, positions);
        }
    const px_json *indices = px_json_get(primitive, "indices");
    if (indices) {
        assign(c, indices, is_triangles(primitive) ? ROLE_TRIANGLES : ROLE_KEPT);
        own(c, indices, positions);
    }
    return PELT_OK;
}

static void assign_animation(compressor *c, const px_json *animation) {
    static const struct {
        const char *path;
        role what;
    } paths[] = {{"translation", ROLE_TRANSLATION},
                 {"rotation", ROLE_ROTATION},
                 {"scale", ROLE_SCALE},
                 {"weights", ROLE_MORPH_WEIGHT}};
    const px_json *samplers = px_json_get(animation, "samplers");
    for (const px_json *sampler = first_of(samplers); sampler; sampler = sampler->next)
        assign(c, px_json_get(sampler, "input"), ROLE_KEPT);
    for (const px_json *channel = first_of(px_json_get(animation, "channels")); channel; channel = channel->next) {
        const px_json *sampler = px_json_at(samplers, index_of(px_json_get(channel, "sampler")));
        const char *path = px_json_string(px_json_get(px_json_get(channel, "target"), "path"), "");
        bool cubic = strcmp(px_json_string(px_json_get(sampler, "interpolation"), ""), "CUBICSPLINE") == 0;
        role what = ROLE_KEPT;
        for (size_t p = 0; p < PX_COUNT(paths) && !cubic; p++) /* tangents need another precision than values */
            if (strcmp(path, paths[p].path) == 0)
                what = paths[p].what;
        assign(c, px_json_get(sampler, "output"), what);
        uint32_t a = index_of(px_json_get(sampler, "output")),
                 node = index_of(px_json_get(px_json_get(channel, "target"), "node"));
        for (uint32_t j = 0; c->precision->joint_bits && j < c->w->model->skeleton.joint_count; j++)
            if (c->w->joint_indices[j] == node && a < c->doc.accessors.count)
                c->joints[a] = j;
    }
}

static pelt_result assign_roles(compressor *c) {
    const px_json *root = c->w->root;
    for (const px_json *mesh = first_of(px_json_get(root, "meshes")); mesh; mesh = mesh->next)
        for (const px_json *p = first_of(px_json_get(mesh, "primitives")); p; p = p->next)
            PX_TRY(assign_primitive(c, p));
    for (const px_json *skin = first_of(px_json_get(root, "skins")); skin; skin = skin->next)
        assign(c, px_json_get(skin, "inverseBindMatrices"), ROLE_KEPT);
    for (const px_json *animation = first_of(px_json_get(root, "animations")); animation; animation = animation->next)
        assign_animation(c, animation);
    return PELT_OK;
}

/* ---- Streams ---------------------------------------------------------------------------------------------- */

/* Fills in a view of encoded bytes, which are `count` elements of `stride` bytes when decoded. */
static void put_view(compressor *c, px_json *view, const void *bytes, size_t size, size_t stride, size_t count,
                     const char *mode, const char *filter) {
    static const char zeros[4];
    px_gltf_writer *w = c->w;
    px_gltf_put_uint(w, view, "buffer", c->fallback);
    px_gltf_put(w, view, "byteOffset", px_json_new_uint(w->arena, c->unpacked));
    px_gltf_put(w, view, "byteLength", px_json_new_uint(w->arena, count * stride));
    px_json *extensions = px_gltf_put(w, view, "extensions", px_json_object(w->arena));
    px_json *packed = px_gltf_put(w, extensions, "EXT_meshopt_compression", px_json_object(w->arena));
    px_gltf_put_uint(w, packed, "buffer", w->new_buffer);
    px_gltf_put(w, packed, "byteOffset", px_json_new_uint(w->arena, w->data.size));
    px_gltf_put(w, packed, "byteLength", px_json_new_uint(w->arena, size));
    px_gltf_put(w, packed, "byteStride", px_json_new_uint(w->arena, stride));
    px_gltf_put(w, packed, "count", px_json_new_uint(w->arena, count));
    px_gltf_put(w, packed, "mode", px_json_new_string(w->arena, mode));
    if (strcmp(filter, "NONE") != 0)
        px_gltf_put(w, packed, "filter", px_json_new_string(w->arena, filter));
    c->unpacked += (count * stride + 3) & ~(size_t)3;
    px_buffer_add(&w->data, bytes, size);
    px_buffer_add(&w->data, zeros, (0 - size) & 3);
    w->failed |= w->data.failed;
}

/* The stream of this kind; NULL: out of memory, or there are too many kinds. Vertices and keys never share a stream. */
static stream *stream_of(compressor *c, const char *filter, size_t stride, bool vertices) {
    for (uint32_t s = 0; s < c->stream_count; s++) {
        stream *old = &c->streams[s];
        if (strcmp(old->filter, filter) == 0 && old->stride == stride && old->vertices == vertices)
            return old;
    }
    if (c->stream_count == STREAM_MAX)
        return NULL;
    stream *made = &c->streams[c->stream_count++];
    *made = (stream){.filter = filter, .stride = stride, .vertices = vertices, .data = {.context = c->w->context}};
    px_gltf_push(c->w, c->w->views, px_json_object(c->w->arena)); /* filled by put_streams */
    made->view = px_json_count(c->w->views) - 1;
    return made;
}

/* Appends elements to a stream and points the accessor to them. */
static void put_elements(compressor *c, px_json *accessor, const char *filter, size_t stride, bool vertices,
                         const void *elements, size_t count) {
    px_gltf_writer *w = c->w;
    stream *s = stream_of(c, filter, stride, vertices);
    w->failed |= !s;
    if (!s)
        return;
    px_json_remove(accessor, "sparse");
    px_json_remove(accessor, "byteOffset");
    px_gltf_put_uint(w, accessor, "bufferView", s->view);
    if (s->data.size > 0)
        px_gltf_put(w, accessor, "byteOffset", px_json_new_uint(w->arena, s->data.size));
    px_buffer_add(&s->data, elements, count * stride);
    w->failed |= s->data.failed;
}

static pelt_result put_streams(compressor *c) {
    px_gltf_writer *w = c->w;
    for (uint32_t s = 0; s < c->stream_count; s++) {
        stream *from = &c->streams[s];
        size_t count = from->data.size / from->stride, bound = px_meshopt_vertices_bound(count, from->stride);
        uint8_t *bytes = px_alloc(w->context, bound, 1);
        if (!bytes)
            return PELT_ERROR_MEMORY;
        size_t size = px_meshopt_encode_vertices(from->data.data, count, from->stride, bytes, bound);
        px_json *view = px_json_at(w->views, from->view);
        put_view(c, view, bytes, size, from->stride, count, "ATTRIBUTES", from->filter);
        if (from->vertices) {
            px_gltf_put(w, view, "byteStride", px_json_new_uint(w->arena, from->stride));
            px_gltf_put_uint(w, view, "target", PX_GLTF_VERTICES);
        }
        px_free(w->context, bytes);
    }
    return w->failed ? PELT_ERROR_MEMORY : PELT_OK;
}

/* ---- Triangles -------------------------------------------------------------------------------------------- */

static pelt_result read_triangles(compressor *c, uint32_t index, uint32_t vertex_count, uint32_t **out, size_t *count) {
    px_gltf_accessor a;
    PX_TRY(px_gltf_accessor_get(&c->doc, index, "indices", 1, PX_GLTF_INTEGER | PX_GLTF_INTEGER32, &a));
    *count = a.count - a.count % 3;
    if (!(*out = PX_NEW(c->w->arena, uint32_t, a.count)))
        return PELT_ERROR_MEMORY;
    PX_TRY(px_gltf_uints(&c->doc, &a, *out));
    for (size_t i = 0; i < a.count; i++)
        if ((*out)[i] >= vertex_count)
            return px_gltf_fail(&c->doc, "accessor %u: index %zu is %u, there are %u vertices", index, i, (*out)[i],
                                vertex_count);
    return PELT_OK;
}

static pelt_result sort_triangles(compressor *c, uint32_t vertex_count, uint32_t *triangles, size_t count) {
    pelt_context *context = c->w->context;
    size_t bytes = px_meshopt_sort_memory(count, vertex_count);
    uint32_t *sorted = PX_ALLOC(context, uint32_t, count);
    pelt_result result = sorted ? px_reserve(context, bytes) : PELT_ERROR_MEMORY;
    if (result == PELT_OK) {
        px_meshopt_sort_triangles(triangles, count, vertex_count, sorted);
        memcpy(triangles, sorted, count * sizeof *sorted);
        px_unreserve(context, bytes);
    }
    px_free(context, sorted);
    return result;
}

/* Numbers the vertices in the order in which the triangles use them first. */
static void place_vertices(vertex_set *set, uint32_t *next, const uint32_t *triangles, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (set->places[triangles[i]] == PELT_NONE) {
            set->order[*next] = triangles[i];
            set->places[triangles[i]] = (*next)++;
        }
}

static pelt_result begin_order(compressor *c, vertex_set *set) {
    set->order = PX_NEW(c->w->arena, uint32_t, set->count);
    set->places = PX_NEW(c->w->arena, uint32_t, set->count);
    if (!set->order || !set->places)
        return PELT_ERROR_MEMORY;
    memset(set->places, 0xFF, set->count * sizeof *set->places);
    return PELT_OK;
}

static pelt_result put_triangles(compressor *c, uint32_t index, vertex_set *set, uint32_t *next) {
    px_gltf_writer *w = c->w;
    uint32_t *triangles;
    size_t count;
    c->done[index] = true;
    PX_TRY(read_triangles(c, index, set->count, &triangles, &count));
    if (!set->kept) {
        if (!set->order)
            PX_TRY(begin_order(c, set));
        PX_TRY(sort_triangles(c, set->count, triangles, count));
        place_vertices(set, next, triangles, count);
        for (size_t i = 0; i < count; i++)
            triangles[i] = set->places[triangles[i]];
    }
    size_t bound = px_meshopt_triangles_bound(count, set->count), stride = set->count <= 65535 ? 2 : 4;
    uint8_t *bytes = px_alloc(w->context, bound, 1);
    if (!bytes)
        return PELT_ERROR_MEMORY;
    size_t size = px_meshopt_encode_triangles(triangles, count, bytes, bound);
    px_json *view = px_gltf_push(w, w->views, px_json_object(w->arena)), *accessor = c->doc.accessors.items[index];
    put_view(c, view, bytes, size, stride, count, "TRIANGLES", "NONE");
    px_gltf_put_uint(w, view, "target", PX_GLTF_INDICES);
    px_free(w->context, bytes);
    px_json_remove(accessor, "byteOffset");
    px_json_remove(accessor, "sparse");
    px_gltf_put_uint(w, accessor, "bufferView", px_json_count(w->views) - 1);
    px_gltf_put_uint(w, accessor, "componentType", stride == 2 ? PX_GLTF_U16 : PX_GLTF_U32);
    px_gltf_put(w, accessor, "count", px_json_new_uint(w->arena, count));
    return w->failed ? PELT_ERROR_MEMORY : PELT_OK;
}

/* Encodes all triangles. Vertices that no triangle uses follow at the end. */
static pelt_result put_all_triangles(compressor *c) {
    for (uint32_t p = 0; p < c->doc.accessors.count; p++) {
        vertex_set *set = c->sets[p];
        uint32_t next = 0;
        if (!set)
            continue;
        for (uint32_t a = 0; a < c->doc.accessors.count; a++)
            if (c->owners[a] == p && c->roles[a] == ROLE_TRIANGLES && !c->done[a])
                PX_TRY(put_triangles(c, a, set, &next));
        for (uint32_t i = 0; set->order && i < set->count; i++)
            if (set->places[i] == PELT_NONE) {
                set->order[next] = i;
                set->places[i] = next++;
            }
    }
    return PELT_OK;
}

/* ---- Numbers ---------------------------------------------------------------------------------------------- */

static pelt_result read_accessor(compressor *c, uint32_t index, px_gltf_accessor *a) {
    uint32_t every = PX_GLTF_FLOAT | PX_GLTF_UNIT | PX_GLTF_SIGNED | PX_GLTF_INTEGER | PX_GLTF_INTEGER32 | PX_GLTF_ANY;
    return px_gltf_accessor_get(&c->doc, index, "data", 0, every, a);
}

static const uint32_t *order_of(const compressor *c, uint32_t index) {
    return c->owners[index] == PELT_NONE ? NULL : c->sets[c->owners[index]]->order;
}

/* Moves rows of `size` bytes to the order of the vertices; order NULL: nothing to do. */
static pelt_result sort_rows(compressor *c, const uint32_t *order, void *rows, size_t count, size_t size) {
    if (!order)
        return PELT_OK;
    uint8_t *copy = px_alloc(c->w->context, count, size);
    if (!copy)
        return PELT_ERROR_MEMORY;
    memcpy(copy, rows, count * size);
    for (size_t i = 0; i < count; i++)
        memcpy((uint8_t *)rows + i * size, copy + order[i] * size, size);
    px_free(c->w->context, copy);
    return PELT_OK;
}

/* An accessor as floats [count][width], vertices sorted. In the arena. */
static pelt_result read_floats(compressor *c, uint32_t index, px_gltf_accessor *a, float **out) {
    PX_TRY(read_accessor(c, index, a));
    if (!(*out = PX_NEW(c->w->arena, float, (size_t)a->count * a->width)))
        return PELT_ERROR_MEMORY;
    PX_TRY(px_gltf_floats(&c->doc, a, *out));
    return sort_rows(c, order_of(c, index), *out, a->count, a->width * sizeof **out);
}

/* Keeps the bits of an accessor. */
static pelt_result put_kept(compressor *c, uint32_t index) {
    px_gltf_accessor a;
    PX_TRY(read_accessor(c, index, &a));
    bool vertices = c->owners[index] != PELT_NONE;
    size_t size = (size_t)a.width * px_gltf_component_size(a.component), stride = (size + 3) & ~(size_t)3;
    if (stride != size && !vertices) /* only vertex attributes may be padded */
        return PELT_OK;
    uint8_t *rows = px_alloc(c->w->context, a.count, stride);
    if (!rows)
        return PELT_ERROR_MEMORY;
    for (uint32_t i = 0; i < a.count; i++) {
        const uint8_t *element = px_gltf_element(&a, i);
        if (element)
            memcpy(rows + i * stride, element, size);
    }
    pelt_result result = sort_rows(c, order_of(c, index), rows, a.count, stride);
    if (result == PELT_OK)
        put_elements(c, c->doc.accessors.items[index], "NONE", stride, vertices, rows, a.count);
    px_free(c->w->context, rows);
    return c->w->failed ? PELT_ERROR_MEMORY : result;
}

static void set_type(compressor *c, px_json *accessor, px_gltf_component component, bool normalized) {
    px_gltf_put_uint(c->w, accessor, "componentType", component);
    px_json_remove(accessor, "normalized");
    px_json_remove(accessor, "min");
    px_json_remove(accessor, "max");
    if (normalized)
        px_gltf_put(c->w, accessor, "normalized", px_json_new_bool(c->w->arena, true));
}

/* Rounds floats [count] to multiples of 2^exponent. False, and nothing is changed: some do not fit 24 bits. */
static bool round_floats(float *values, size_t count, int exponent) {
    for (size_t i = 0; i < count; i++)
        if (!(fabs(ldexp((double)values[i], -exponent)) < 8388607))
            return false;
    for (size_t i = 0; i < count; i++)
        values[i] = (float)ldexp(nearbyint(ldexp((double)values[i], -exponent)), exponent);
    return true;
}

/* An element of the filter EXPONENTIAL: mantissa · 2^exponent. */
static uint32_t grid_word(int32_t mantissa, int exponent) {
    return ((uint32_t)mantissa & 0xFFFFFFu) | (uint32_t)exponent << 24;
}

/* Encodes floats on a grid of 2^exponent. Values that do not fit it keep their bits. */
static pelt_result put_grid(compressor *c, uint32_t index, int exponent) {
    px_gltf_writer *w = c->w;
    px_gltf_accessor a;
    float *values;
    PX_TRY(read_floats(c, index, &a, &values));
    px_json *accessor = c->doc.accessors.items[index];
    bool vertices = c->owners[index] != PELT_NONE, bounds = px_json_get(accessor, "min") != NULL && vertices;
    size_t count = (size_t)a.count * a.width;
    bool fits = exponent > -100 && exponent < 100 && round_floats(values, count, exponent);
    set_type(c, accessor, PX_GLTF_F32, false);
    if (bounds)
        px_gltf_put_bounds(w, accessor, values, a.count, a.width);
    for (size_t i = 0; fits && i < count; i++) {
        uint32_t word = grid_word((int32_t)ldexp((double)values[i], -exponent), exponent);
        memcpy(&values[i], &word, sizeof word);
    }
    put_elements(c, accessor, fits ? "EXPONENTIAL" : "NONE", a.width * sizeof *values, vertices, values, a.count);
    return w->failed ? PELT_ERROR_MEMORY : PELT_OK;
}

/* Normals and tangents, as octahedral bytes. */
static pelt_result put_normals(compressor *c, uint32_t index) {
    px_gltf_accessor a;
    float *values;
    PX_TRY(read_floats(c, index, &a, &values));
    if (a.width != 3 && a.width != 4)
        return put_kept(c, index);
    float *vectors = PX_ALLOC(c->w->context, float, 4 * (size_t)a.count);
    int8_t *bytes = px_alloc(c->w->context, a.count, 4);
    for (size_t i = 0; vectors && i < a.count; i++) {
        float *v = vectors + 4 * i, length = 0;
        memcpy(v, values + i * a.width, a.width * sizeof *v);
        length = sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
        for (int x = 0; x < 3; x++)
            v[x] = length > 0 ? v[x] / length : x == 2;
    }
    if (vectors && bytes) {
        px_meshopt_filter_octahedral(vectors, a.count, bytes);
        set_type(c, c->doc.accessors.items[index], PX_GLTF_I8, true);
        put_elements(c, c->doc.accessors.items[index], "OCTAHEDRAL", 4, true, bytes, a.count);
        c->quantized = true;
    } else
        c->w->failed = true;
    px_free(c->w->context, vectors);
    px_free(c->w->context, bytes);
    return c->w->failed ? PELT_ERROR_MEMORY : PELT_OK;
}

/* Bits of an accessor of rotations or scales. */
static int joint_bits(const compressor *c, px_precision_kind kind, uint32_t index) {
    return c->joints[index] == PELT_NONE ? c->precision->bits[kind]
                                         : px_precision_joint_bits(c->precision, kind, c->joints[index]);
}

static pelt_result put_rotations(compressor *c, uint32_t index) {
    px_gltf_accessor a;
    float *values;
    int bits = joint_bits(c, PX_PRECISION_ROTATIONS, index);
    PX_TRY(read_floats(c, index, &a, &values));
    if (bits > 16 || a.width != 4)
        return put_kept(c, index);
    for (size_t i = 0; i < a.count; i++) { /* the filter needs unit length */
        float *q = values + 4 * i, length = sqrtf(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
        for (int x = 0; x < 4; x++)
            q[x] = length > 0 ? q[x] / length : x == 3;
    }
    int16_t *numbers = px_alloc(c->w->context, a.count, 8);
    if (!numbers)
        return PELT_ERROR_MEMORY;
    px_meshopt_filter_quaternion(values, a.count, bits, numbers);
    set_type(c, c->doc.accessors.items[index], PX_GLTF_I16, true);
    put_elements(c, c->doc.accessors.items[index], "QUATERNION", 8, false, numbers, a.count);
    px_free(c->w->context, numbers);
    return c->w->failed ? PELT_ERROR_MEMORY : PELT_OK;
}

/* ---- Influences ------------------------------------------------------------------------------------------- */

/* Rounds the weights [count] of a vertex to whole numbers; the largest takes the rest of `total`. */
static void round_weights(const float *weights, uint32_t count, uint32_t total, uint32_t *out) {
    double sum = 0;
    uint32_t largest = 0, others = 0;
    for (uint32_t k = 0; k < count; k++) {
        sum += (double)weights[k];
        largest = weights[k] > weights[largest] ? k : largest;
    }
    for (int pass = 0; pass < 2 && (pass == 0 || others > total); pass++) { /* round; else round down */
        others = 0;
        for (uint32_t k = 0; k < count; k++) {
            double exact = sum > 0 ? (double)weights[k] / sum * total : 0;
            out[k] = k == largest ? 0 : (uint32_t)(pass == 0 ? exact + 0.5 : exact);
            others += out[k];
        }
    }
    out[largest] = total - others;
}

/* Joints and weights of a vertex. */
typedef struct influences {
    uint32_t joints[PELT_MAX_INFLUENCES], weights[PELT_MAX_INFLUENCES];
} influences;

/* Gives the joints that the previous vertex has too the same places: equal bytes in a row encode to little. */
static void align_influences(influences *now, const uint32_t *before) {
    influences in = *now, out = {{0}, {0}};
    bool taken[4] = {false}, placed[4] = {false};
    for (int k = 0; k < 4; k++)
        for (int place = 0; place < 4 && !placed[k]; place++)
            if (in.weights[k] > 0 && !taken[place] && before[place] == in.joints[k]) {
                out.joints[place] = in.joints[k];
                out.weights[place] = in.weights[k];
                taken[place] = placed[k] = true;
            }
    for (int k = 0; k < 4; k++)
        for (int place = 0; place < 4 && !placed[k]; place++)
            if (in.weights[k] > 0 && !taken[place]) {
                out.joints[place] = in.joints[k];
                out.weights[place] = in.weights[k];
                taken[place] = placed[k] = true;
            }
    *now = out;
}

/* Encodes all JOINTS_n and WEIGHTS_n of a primitive. Weights are floats on a grid: bytes and shorts that are multiples of
 * something would have their noise in high bits, which the codec stores in full. Players that blend 4 bones take the first set, so with several sets
 * the order of influences stays. */
static pelt_result put_influences(compressor *c, const px_json *attributes) {
    px_gltf_writer *w = c->w;
    uint32_t sets = px_gltf_count_sets(attributes), joint_index[2], weight_index[2], most = 0, before[4] = {0};
    int bits = c->precision->bits[PX_PRECISION_WEIGHTS] > 22 ? 22 : c->precision->bits[PX_PRECISION_WEIGHTS];
    if (sets == 0 || sets > 2)
        return PELT_OK;
    float *weights[2];
    uint32_t *joints[2];
    px_gltf_accessor a = {0};
    for (uint32_t s = 0; s < sets; s++) {
        char name[24];
        snprintf(name, sizeof name, "JOINTS_%u", s);
        joint_index[s] = index_of(px_json_get(attributes, name));
        snprintf(name, sizeof name, "WEIGHTS_%u", s);
        weight_index[s] = index_of(px_json_get(attributes, name));
        if (c->done[joint_index[s]] || c->done[weight_index[s]] || c->roles[joint_index[s]] != ROLE_INFLUENCE ||
            c->roles[weight_index[s]] != ROLE_INFLUENCE)
            return PELT_OK;
        PX_TRY(read_accessor(c, joint_index[s], &a));
        if (a.width != 4 || !(joints[s] = PX_NEW(w->arena, uint32_t, 4 * (size_t)a.count)))
            return a.width != 4 ? PELT_OK : PELT_ERROR_MEMORY;
        PX_TRY(px_gltf_uints(&c->doc, &a, joints[s]));
        PX_TRY(sort_rows(c, order_of(c, joint_index[s]), joints[s], a.count, 4 * sizeof **joints));
        PX_TRY(read_floats(c, weight_index[s], &a, &weights[s]));
        if (a.width != 4)
            return PELT_OK;
    }
    for (uint32_t s = 0; s < sets; s++)
        for (size_t i = 0; i < 4 * (size_t)a.count; i++)
            most = joints[s][i] > most ? joints[s][i] : most;
    bool small = most < 256;
    uint8_t *out_joints[2] = {NULL};
    uint32_t *out_weights[2] = {NULL};
    for (uint32_t s = 0; s < sets; s++) {
        out_joints[s] = px_alloc(w->context, a.count, 8);
        out_weights[s] = px_alloc(w->context, a.count, 16);
        w->failed |= !out_joints[s] || !out_weights[s];
    }
    for (size_t i = 0; i < a.count && !w->failed; i++) {
        influences now;
        float all[PELT_MAX_INFLUENCES];
        for (uint32_t k = 0; k < 4 * sets; k++) {
            all[k] = weights[k / 4][4 * i + k % 4];
            now.joints[k] = joints[k / 4][4 * i + k % 4];
        }
        round_weights(all, 4 * sets, 1u << bits, now.weights);
        if (sets == 1)
            align_influences(&now, before);
        for (uint32_t k = 0; k < 4 * sets; k++) {
            uint32_t joint = now.weights[k] > 0 ? now.joints[k] : 0;
            size_t place = 4 * i + k % 4;
            if (small)
                out_joints[k / 4][place] = (uint8_t)joint;
            else
                ((uint16_t *)(void *)out_joints[k / 4])[place] = (uint16_t)joint;
            out_weights[k / 4][place] = grid_word((int32_t)now.weights[k], -bits);
            if (sets == 1 && now.weights[k] > 0)
                before[k] = joint;
        }
    }
    for (uint32_t s = 0; s < sets && !w->failed; s++) {
        px_json *joint_json = c->doc.accessors.items[joint_index[s]];
        px_json *weight_json = c->doc.accessors.items[weight_index[s]];
        set_type(c, joint_json, small ? PX_GLTF_U8 : PX_GLTF_U16, false);
        put_elements(c, joint_json, "NONE", small ? 4 : 8, true, out_joints[s], a.count);
        set_type(c, weight_json, PX_GLTF_F32, false);
        put_elements(c, weight_json, "EXPONENTIAL", 16, true, out_weights[s], a.count);
        c->done[joint_index[s]] = c->done[weight_index[s]] = true;
    }
    for (uint32_t s = 0; s < sets; s++) {
        px_free(w->context, out_joints[s]);
        px_free(w->context, out_weights[s]);
    }
    return w->failed ? PELT_ERROR_MEMORY : PELT_OK;
}

/* ---- Entry point ------------------------------------------------------------------------------------------ */

static pelt_result put_accessor(compressor *c, uint32_t index) {
    const px_precision *p = c->precision;
    const uint8_t *bits = p->bits;
    c->done[index] = true;
    switch ((role)c->roles[index]) {
    case ROLE_POSITION:
        return put_grid(c, index, p->exponent - bits[PX_PRECISION_POSITIONS]);
    case ROLE_OFFSET:
        return put_grid(c, index, p->exponent - bits[PX_PRECISION_OFFSETS]);
    case ROLE_NORMAL:
        return put_normals(c, index);
    case ROLE_NORMAL_OFFSET:
        return put_grid(c, index, NORMAL_EXPONENT);
    case ROLE_UV:
        return put_grid(c, index, UV_EXPONENT);
    case ROLE_TRANSLATION:
        return put_grid(c, index, p->exponent - bits[PX_PRECISION_TRANSLATIONS]);
    case ROLE_ROTATION:
        return put_rotations(c, index);
    case ROLE_SCALE:
        return put_grid(c, index, -joint_bits(c, PX_PRECISION_SCALES, index));
    case ROLE_MORPH_WEIGHT:
        return put_grid(c, index, -bits[PX_PRECISION_MORPH_WEIGHTS]);
    default:
        return put_kept(c, index);
    }
}

static pelt_result read_list(compressor *c, const px_json *array, px_gltf_list *list) {
    if (!(list->items = PX_NEW(c->w->arena, px_json *, array->count)))
        return PELT_ERROR_MEMORY;
    for (px_json *item = array->first; item; item = item->next)
        list->items[list->count++] = item;
    return PELT_OK;
}

/* Makes a px_gltf that reads the new document: its own buffers are those of the source and w->data. */
static pelt_result open_document(compressor *c) {
    px_gltf_writer *w = c->w;
    uint32_t count = w->new_buffer + 1;
    c->doc.context = w->context;
    c->doc.memory = w->arena;
    c->doc.budget = SIZE_MAX;
    c->doc.buffers_json.count = count;
    PX_TRY(read_list(c, w->views, &c->doc.views));
    PX_TRY(read_list(c, w->accessors, &c->doc.accessors));
    c->doc.buffers = PX_NEW(w->arena, px_gltf_buffer, count);
    c->doc.decoded = PX_NEW(w->arena, const uint8_t *, c->doc.views.count);
    c->roles = PX_NEW(w->arena, uint8_t, c->doc.accessors.count);
    c->done = PX_NEW(w->arena, bool, c->doc.accessors.count);
    c->owners = PX_NEW(w->arena, uint32_t, c->doc.accessors.count);
    c->sets = PX_NEW(w->arena, vertex_set *, c->doc.accessors.count);
    c->joints = PX_NEW(w->arena, uint32_t, c->doc.accessors.count);
    uint8_t *plain = px_arena_alloc(w->arena, w->data.size, 1); /* w->data grows while it is read */
    if (!c->doc.buffers || !c->doc.decoded || !c->roles || !c->done || !c->owners || !c->sets || !c->joints || !plain)
        return PELT_ERROR_MEMORY;
    for (uint32_t b = 0; b < w->new_buffer; b++)
        c->doc.buffers[b] = w->source->buffers[b];
    memcpy(plain, w->data.data ? w->data.data : "", w->data.size);
    c->doc.buffers[w->new_buffer] = (px_gltf_buffer){plain, w->data.size};
    memset(c->owners, 0xFF, c->doc.accessors.count * sizeof *c->owners);
    memset(c->joints, 0xFF, c->doc.accessors.count * sizeof *c->joints);
    return PELT_OK;
}

static void add_extension(px_gltf_writer *w, const char *name) {
    static const char *const keys[] = {"extensionsUsed", "extensionsRequired"};
    for (size_t k = 0; k < PX_COUNT(keys); k++) {
        px_gltf_remove_name(w->root, keys[k], name);
        px_gltf_push(w, px_gltf_member(w, w->root, keys[k], PX_JSON_ARRAY), px_json_new_string(w->arena, name));
    }
}

static pelt_result compress(compressor *c) {
    px_gltf_writer *w = c->w;
    PX_TRY(open_document(c));
    PX_TRY(assign_roles(c));
    PX_TRY(put_all_triangles(c));
    for (const px_json *mesh = first_of(px_json_get(w->root, "meshes")); mesh; mesh = mesh->next)
        for (const px_json *p = first_of(px_json_get(mesh, "primitives")); p; p = p->next)
            PX_TRY(put_influences(c, px_json_get(p, "attributes")));
    for (uint32_t a = 0; a < c->doc.accessors.count; a++)
        if (c->roles[a] != ROLE_NONE && !c->done[a]) {
            PX_TRY(px_cancelled(w->context));
            PX_TRY(put_accessor(c, a));
        }
    PX_TRY(put_streams(c));
    add_extension(w, "EXT_meshopt_compression");
    if (c->quantized)
        add_extension(w, "KHR_mesh_quantization");
    w->fallback_size = c->unpacked;
    w->mended = true; /* the plain accessors are dropped */
    return w->failed ? PELT_ERROR_MEMORY : PELT_OK;
}

pelt_result px_gltf_compress(px_gltf_writer *w, const px_precision *precision) {
    compressor c = {.w = w, .precision = precision, .fallback = w->new_buffer + 1};
    if (!px_meshopt_encodes())
        return px_fail(w->context, PELT_ERROR_UNSUPPORTED,
                       "this build has no meshoptimizer support: it cannot compress glTF files");
    const char *unknown = px_gltf_unknown_extension(w->root);
    if (unknown)
        return px_fail(w->context, PELT_ERROR_UNSUPPORTED,
                       "the file cannot be compressed: its extension %.60s may refer to data in places unknown here",
                       unknown);
    pelt_result result = compress(&c);
    for (uint32_t s = 0; s < c.stream_count; s++)
        px_buffer_free(&c.streams[s].data);
    return result;
}
