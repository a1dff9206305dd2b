/* Objects and properties of Alembic files, for writing: see abc_emit.h. Headers and metadata are those of the reference
 * library. */
#include "io/abc_emit.h"

/* Version of the reference library whose files these equal: 1.8.0. */
#define LIBRARY_VERSION 10800
#define APPLICATION     "_ai_Application=Pelt"

static const char *const texts[] = {
    "",
    "interpretation=box",
    "geoScope=vtx;interpretation=point",
    "arrayExtent=1;geoScope=fvr;interpretation=vector;isGeomParam=true;podExtent=2;podName=float32_t",
    "arrayExtent=1;geoScope=fvr;interpretation=normal;isGeomParam=true;podExtent=3;podName=float32_t",
    "schema=AbcGeom_Xform_v3",
    "schema=AbcGeom_Xform_v3;schemaObjTitle=AbcGeom_Xform_v3:.xform",
    "schema=AbcGeom_PolyMesh_v1;schemaBaseType=AbcGeom_GeomBase_v1",
    "schema=AbcGeom_PolyMesh_v1;schemaBaseType=AbcGeom_GeomBase_v1;schemaObjTitle=AbcGeom_PolyMesh_v1:.geom",
    "schema=AbcGeom_FaceSet_v1;schemaBaseType=AbcGeom_GeomBase_v1",
    "schema=AbcGeom_FaceSet_v1;schemaBaseType=AbcGeom_GeomBase_v1;schemaObjTitle=AbcGeom_FaceSet_v1:.faceset",
};

/* ---- Tree of objects -------------------------------------------------------------------------------------- */

static abc_node *node_at(const abc_out *out, uint32_t node) {
    return (abc_node *)out->nodes.data + node;
}

/* The entry of the table for a name below a parent: that of the node, or the empty one where it belongs. */
static uint32_t *find_entry(const abc_out *out, uint32_t parent, const char *name) {
    uint64_t hash = parent;
    for (const char *c = name; *c; c++)
        hash = (hash ^ (uint8_t)*c) * UINT64_C(0x9E3779B97F4A7C15) ^ hash >> 29;
    size_t at = (size_t)(hash ^ hash >> 32) & (out->table_size - 1);
    for (; out->table[at] != PELT_NONE; at = (at + 1) & (out->table_size - 1)) {
        const abc_node *other = node_at(out, out->table[at]);
        if (other->parent == parent && strcmp(other->name, name) == 0)
            break;
    }
    return &out->table[at];
}

/* Doubles the table. */
static pelt_result grow_table(abc_out *out) {
    size_t size = out->table_size ? 2 * out->table_size : 64;
    uint32_t *table = PX_ALLOC(out->context, uint32_t, size);
    if (!table)
        return PELT_ERROR_MEMORY;
    px_free(out->context, out->table);
    memset(table, 0xFF, size * sizeof *table);
    out->table = table;
    out->table_size = size;
    for (uint32_t n = 0; n < out->nodes.count; n++)
        *find_entry(out, node_at(out, n)->parent, node_at(out, n)->name) = n;
    return PELT_OK;
}

static void link_node(abc_out *out, uint32_t parent, uint32_t node) {
    uint32_t *first = parent == PELT_NONE ? &out->first_top : &node_at(out, parent)->first_child;
    uint32_t *last = parent == PELT_NONE ? &out->last_top : &node_at(out, parent)->last_child;
    if (*first == PELT_NONE)
        *first = node;
    else
        node_at(out, *last)->next = node;
    *last = node;
}

pelt_result px_abc_add_node(abc_out *out, uint32_t parent, const char *name, size_t size, bool share, uint32_t *node) {
    char *own = PX_NEW(out->memory, char, size + 16);
    abc_node *added = px_list_room(out->context, &out->nodes, 1, sizeof *added);
    if (!own || !added)
        return PELT_ERROR_MEMORY;
    for (size_t i = 0; i < size; i++)
        own[i] = name[i] == '/' || (unsigned char)name[i] < 32 ? '_' : name[i];
    if (size == 0)
        own[size++] = '_';
    if (out->nodes.count == 0)
        out->first_top = out->last_top = PELT_NONE;
    if (2 * (out->nodes.count + 1) > out->table_size)
        PX_TRY(grow_table(out));
    uint32_t *entry = find_entry(out, parent, own);
    *node = *entry;
    uint32_t last = out->nodes.count == 0 ? PELT_NONE
                    : parent == PELT_NONE ? out->last_top
                                          : node_at(out, parent)->last_child;
    if (share && *node != PELT_NONE && *node == last) /* another would change the order of objects */
        return PELT_OK;
    /* Names that are taken get the number of the node, which no earlier one has: few tries suffice. */
    for (uint32_t number = (uint32_t)out->nodes.count; *entry != PELT_NONE; number++) {
        snprintf(own + size, 16, "_%u", number);
        entry = find_entry(out, parent, own);
    }
    *node = *entry = (uint32_t)out->nodes.count;
    *added = (abc_node){.name = own,
                        .parent = parent,
                        .first_child = PELT_NONE,
                        .last_child = PELT_NONE,
                        .next = PELT_NONE,
                        .text = ABC_TEXT_XFORM_OBJECT};
    out->nodes.count++;
    link_node(out, parent, *node);
    return PELT_OK;
}

/* ---- Properties ------------------------------------------------------------------------------------------- */

static void start(abc_out *out, abc_properties *properties) {
    properties->headers.context = properties->digest.context = out->context;
}

void px_abc_free_properties(abc_properties *properties) {
    px_buffer_free(&properties->headers);
    px_buffer_free(&properties->digest);
    *properties = (abc_properties){0};
}

/* Appends the header of a property and the place of its group. */
static void add_header(abc_out *out, abc_properties *to, const abc_header *h, uint64_t place) {
    start(out, to);
    size_t name_size = strlen(h->name), before = to->headers.size;
    uint32_t largest = (uint32_t)px_max_size(name_size, h->sample_count);
    uint32_t hint = largest < 256 ? 0 : largest < 65536 ? 1 : 2;
    size_t width = (size_t)1 << hint;
    uint32_t bits = (uint32_t)h->kind | hint << 2 | (uint32_t)h->text << 20;
    bool constant = h->first == 0 && h->last == 0, all = h->first == 1 && h->last + 1 == h->sample_count;
    if (h->kind != ABC_COMPOUND) {
        bool alike = h->kind == ABC_SCALAR || h->extent == 1;
        bits |= (uint32_t)h->pod << 4 | (h->sampling ? 0x100u : 0) | (constant || all ? 0 : 0x200u) |
                (alike ? 0x400u : 0) | (constant ? 0x800u : 0) | h->extent << 12;
    }
    px_ogawa_number(&to->headers, bits, 4);
    if (h->kind != ABC_COMPOUND) {
        px_ogawa_number(&to->headers, h->sample_count, width);
        if (!constant && !all) {
            px_ogawa_number(&to->headers, h->first, width);
            px_ogawa_number(&to->headers, h->last, width);
        }
        if (h->sampling)
            px_ogawa_number(&to->headers, h->sampling, width);
    }
    px_ogawa_number(&to->headers, name_size, width);
    px_buffer_text(&to->headers, h->name);
    if (!to->headers.failed)
        px_buffer_add(&to->digest, to->headers.data + before, to->headers.size - before);
    to->children[to->count++] = place;
}

void px_abc_add_samples(abc_out *out, abc_properties *to, const abc_header *header, const uint64_t *children,
                        size_t count, const uint8_t key[PX_OGAWA_KEY]) {
    add_header(out, to, header, px_ogawa_put_group(&out->file, children, count));
    px_buffer_add(&to->digest, key, PX_OGAWA_KEY);
}

uint64_t px_abc_add_constant(abc_out *out, abc_properties *to, const abc_header *header, const void *values,
                             size_t size, uint64_t shared) {
    uint8_t key[PX_OGAWA_KEY];
    px_ogawa_key(values, size, key);
    uint64_t sample = shared ? shared : px_ogawa_put_sample(&out->file, key, values, size);
    const uint64_t children[2] = {sample, px_ogawa_data_at(0)}; /* the second: dimensions, from the size */
    px_abc_add_samples(out, to, header, children, header->kind == ABC_ARRAY ? 2 : 1, key);
    return sample;
}

/* Writes the group of a compound. */
static uint64_t end_compound(abc_out *out, abc_properties *compound) {
    uint64_t children[ABC_COMPOUND_MOST + 1];
    memcpy(children, compound->children, sizeof compound->children);
    children[compound->count] = px_ogawa_put_data(&out->file, compound->headers.data, compound->headers.size);
    out->file.bytes.failed |= compound->headers.failed || compound->digest.failed;
    return px_ogawa_put_group(&out->file, children, compound->count + (size_t)1);
}

void px_abc_add_compound(abc_out *out, abc_properties *to, const char *name, abc_text text, abc_properties *compound) {
    uint64_t place = end_compound(out, compound);
    add_header(out, to, &(abc_header){.name = name, .kind = ABC_COMPOUND, .text = text}, place);
    px_buffer_add(&to->digest, compound->digest.data, compound->digest.size);
    px_abc_free_properties(compound);
}

void px_abc_fill_node(abc_out *out, uint32_t node, abc_text text, abc_properties *properties) {
    abc_node *n = node_at(out, node);
    n->text = text;
    n->properties = end_compound(out, properties);
    n->filled = true;
    px_ogawa_key(properties->digest.data, properties->digest.size, n->hashes);
    px_abc_free_properties(properties);
}

/* ---- Objects ---------------------------------------------------------------------------------------------- */

/* A transform that changes nothing. */
static void fill_xform(abc_out *out, uint32_t node) {
    abc_properties own = {0}, properties = {0};
    const abc_header inherits = {
        .name = ".inherits", .kind = ABC_SCALAR, .pod = ABC_BOOL, .extent = 1, .sample_count = 1};
    px_abc_add_constant(out, &own, &inherits, "\1", 1, 0);
    px_abc_add_compound(out, &properties, ".xform", ABC_TEXT_XFORM, &own);
    px_abc_fill_node(out, node, ABC_TEXT_XFORM_OBJECT, &properties);
}

/* Writes the group of an object whose children begin with `first`. places [node]: of the objects written before.
 * hashes [32]: of its properties; that of its children is added. */
static uint64_t put_object(abc_out *out, uint64_t properties, uint32_t first, const uint64_t *places, uint8_t *hashes) {
    px_buffer headers = {.context = out->context}, children = {.context = out->context}, digest = children;
    px_ogawa_number(&children, properties, 8);
    uint64_t count = 2;
    for (uint32_t n = first; n != PELT_NONE; n = node_at(out, n)->next, count++) {
        const abc_node *child = node_at(out, n);
        px_ogawa_number(&headers, strlen(child->name), 4);
        px_buffer_text(&headers, child->name);
        px_ogawa_number(&headers, (uint64_t)child->text, 1);
        px_buffer_add(&digest, child->hashes, sizeof child->hashes);
        px_ogawa_number(&children, places[n], 8);
    }
    px_buffer_add(&digest, headers.data, headers.size);
    if (first != PELT_NONE)
        px_ogawa_key(digest.data, digest.failed ? 0 : digest.size, hashes + PX_OGAWA_KEY);
    px_buffer_add(&headers, hashes, 32);
    px_ogawa_number(&children, px_ogawa_put_data(&out->file, headers.data, headers.size), 8);
    uint64_t place = out->file.base + out->file.bytes.size;
    px_ogawa_number(&out->file.bytes, count, 8);
    px_buffer_add(&out->file.bytes, children.data, children.size);
    out->file.bytes.failed |= headers.failed || children.failed || digest.failed;
    px_buffer_free(&headers);
    px_buffer_free(&children);
    px_buffer_free(&digest);
    return place;
}

static void put_sampling(px_buffer *bytes, uint32_t most, double period, const double *times, uint32_t count) {
    px_ogawa_number(bytes, most, 4);
    px_ogawa_number(bytes, px_double_bits(period), 8);
    px_ogawa_number(bytes, count, 4);
    for (uint32_t i = 0; i < count; i++)
        px_ogawa_number(bytes, px_double_bits(times[i]), 8);
}

static uint64_t put_root(abc_out *out, uint64_t top, const px_buffer *samplings) {
    px_buffer metadata = {.context = out->context};
    for (size_t t = 1; t < PX_COUNT(texts); t++) {
        px_ogawa_number(&metadata, strlen(texts[t]), 1);
        px_buffer_text(&metadata, texts[t]);
    }
    uint8_t version[4];
    px_ogawa_store(version, LIBRARY_VERSION, 4);
    ogawa_out *file = &out->file;
    const uint64_t children[] = {px_ogawa_put_data(file, "\0\0\0", 4),
                                 px_ogawa_put_data(file, version, 4),
                                 top,
                                 px_ogawa_put_data(file, APPLICATION, strlen(APPLICATION)),
                                 px_ogawa_put_data(file, samplings->data, samplings->size),
                                 px_ogawa_put_data(file, metadata.data, metadata.size)};
    file->bytes.failed |= samplings->failed || metadata.failed;
    px_buffer_free(&metadata);
    return px_ogawa_put_group(file, children, PX_COUNT(children));
}

pelt_result px_abc_end(abc_out *out, double period, const double *times, uint32_t time_count, uint32_t frame_count,
                       uint64_t *root) {
    uint64_t *places = PX_NEW(out->memory, uint64_t, out->nodes.count + 1);
    if (!places)
        return PELT_ERROR_MEMORY;
    for (uint32_t n = (uint32_t)out->nodes.count; n-- > 0;) { /* children before their parents */
        if (!node_at(out, n)->filled)
            fill_xform(out, n);
        abc_node *node = node_at(out, n);
        places[n] = put_object(out, node->properties, node->first_child, places, node->hashes);
    }
    uint8_t hashes[32] = {0};
    uint64_t top = put_object(out, 0, out->nodes.count ? out->first_top : PELT_NONE, places, hashes);
    px_buffer samplings = {.context = out->context};
    put_sampling(&samplings, 1, 1, &(double){0}, 1);
    if (time_count)
        put_sampling(&samplings, frame_count, period, times, time_count);
    *root = put_root(out, top, &samplings);
    px_buffer_free(&samplings);
    return out->file.bytes.failed ? PELT_ERROR_MEMORY : PELT_OK;
}
