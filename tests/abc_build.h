/* Writes small Alembic files (Ogawa) into memory, piece by piece: data, properties, objects, the archive. Everything is
 * static inline and needs only the C library, so that fuzz targets can use it too.
 *
 *   build_file file = build_begin();
 *   build_compound geometry = {0};
 *   build_geometry(&file, &geometry, positions, counts, indices);
 *   build_node node = {"body", build_mesh(&file, &geometry), BUILD_META_MESH, NULL};
 *   build_end(&file, build_object(&file, 0, &node, 1), samplings, sampling_count);
 */
#ifndef PELT_TESTS_ABC_BUILD_H
#define PELT_TESTS_ABC_BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BUILD_DATA_BIT (UINT64_C(1) << 63)

typedef struct build_file {
    uint8_t *data;
    size_t size, capacity;
} build_file;

static inline void build_put(build_file *file, const void *bytes, size_t size) {
    while (file->size + size > file->capacity) {
        file->capacity = file->capacity ? 2 * file->capacity : 4096;
        file->data = (uint8_t *)realloc(file->data, file->capacity);
        if (!file->data)
            abort();
    }
    if (size)
        memcpy(file->data + file->size, bytes, size);
    file->size += size;
}

/* Little-endian. */
static inline void build_put_number(build_file *file, uint64_t value, size_t size) {
    uint8_t bytes[8];
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
    build_put(file, bytes, size);
}

static inline void build_put_double(build_file *file, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    build_put_number(file, bits, 8);
}

static inline void build_patch(build_file *file, size_t at, uint64_t value) {
    for (size_t i = 0; i < 8; i++)
        file->data[at + i] = (uint8_t)(value >> 8 * i);
}

static inline build_file build_begin(void) {
    build_file file = {0};
    build_put(&file, "Ogawa\xFF\0\1\0\0\0\0\0\0\0\0", 16);
    return file;
}

/* A child to add to a group. */
static inline uint64_t build_data(build_file *file, const void *bytes, size_t size) {
    if (size == 0)
        return BUILD_DATA_BIT;
    uint64_t place = file->size;
    build_put_number(file, size, 8);
    build_put(file, bytes, size);
    return place | BUILD_DATA_BIT;
}

static inline uint64_t build_group(build_file *file, const uint64_t *children, size_t count) {
    if (count == 0)
        return 0;
    uint64_t place = file->size;
    build_put_number(file, count, 8);
    for (size_t i = 0; i < count; i++)
        build_put_number(file, children[i], 8);
    return place;
}

/* ---- Properties ------------------------------------------------------------------------------------------- */

enum { BUILD_COMPOUND_KIND, BUILD_SCALAR_KIND, BUILD_ARRAY_KIND };
enum {
    BUILD_BOOL_POD = 0,
    BUILD_BYTE_POD = 1,
    BUILD_UINT_POD = 5,
    BUILD_INT_POD = 6,
    BUILD_FLOAT_POD = 10,
    BUILD_DOUBLE_POD = 11
};

typedef struct build_sample {
    const void *bytes;
    size_t size;
} build_sample;

typedef struct build_spec {
    const char *name;
    uint32_t kind, pod, extent;
    const build_sample *samples; /* [stored_count] */
    size_t stored_count;
    uint32_t sample_count; /* 0: equal to stored_count */
    uint32_t first, last;  /* both 0: all samples are stored; else as in the file */
    uint32_t sampling;     /* 0: not written */
    uint32_t metadata;     /* an index, or 0xFF for … */
    const char *text;      /* … this text */
    uint32_t hint;         /* 0, 1, 2: integers of 1, 2, 4 bytes */
    uint64_t place;        /* compounds: offset of their group */
} build_spec;

typedef struct build_compound {
    uint64_t children[32];
    size_t count;
    build_file headers;
} build_compound;

/* A key that differs when samples differ, like the hashes of real files. */
static inline void build_key(const build_sample *sample, uint8_t key[16]) {
    uint64_t hash = UINT64_C(14695981039346656037) ^ sample->size;
    for (size_t i = 0; i < sample->size; i++)
        hash = (hash ^ ((const uint8_t *)sample->bytes)[i]) * UINT64_C(1099511628211);
    for (size_t i = 0; i < 16; i++)
        key[i] = (uint8_t)(hash >> 8 * (i % 8));
}

/* A sample in memory has the machine's order of bytes, in the file it is little-endian. */
static inline uint64_t build_put_sample(build_file *file, const build_sample *sample, uint32_t pod) {
    uint64_t place = file->size;
    uint8_t key[16];
    if (sample->size == 0)
        return BUILD_DATA_BIT;
    build_key(sample, key);
    build_put_number(file, 16 + sample->size, 8);
    build_put(file, key, 16);
    const uint8_t *bytes = (const uint8_t *)sample->bytes;
    size_t at = 0;
    for (; pod == BUILD_DOUBLE_POD && at + 8 <= sample->size; at += 8) {
        double value;
        memcpy(&value, bytes + at, 8);
        build_put_double(file, value);
    }
    bool words = pod == BUILD_UINT_POD || pod == BUILD_INT_POD || pod == BUILD_FLOAT_POD;
    for (; words && at + 4 <= sample->size; at += 4) {
        uint32_t value;
        memcpy(&value, bytes + at, 4);
        build_put_number(file, value, 4);
    }
    build_put(file, bytes + at, sample->size - at);
    return place | BUILD_DATA_BIT;
}

static inline uint64_t build_put_samples(build_file *file, const build_spec *spec) {
    uint64_t *children = (uint64_t *)calloc(2 * spec->stored_count + 1, sizeof *children);
    size_t count = 0;
    if (!children)
        abort();
    for (size_t s = 0; s < spec->stored_count; s++) {
        children[count++] = build_put_sample(file, &spec->samples[s], spec->pod);
        if (spec->kind == BUILD_ARRAY_KIND)
            children[count++] = BUILD_DATA_BIT;
    }
    uint64_t place = build_group(file, children, count);
    free(children);
    return place;
}

static inline void build_add(build_file *file, build_compound *compound, const build_spec *spec) {
    build_file *headers = &compound->headers;
    size_t width = (size_t)1 << spec->hint;
    bool constant = spec->stored_count <= 1 && !spec->first && !spec->last, changes = spec->first || spec->last;
    uint32_t bits = spec->kind | spec->hint << 2 | spec->metadata << 20;
    if (spec->kind != BUILD_COMPOUND_KIND)
        bits |= spec->pod << 4 | (spec->sampling ? 0x100u : 0) | (changes ? 0x200u : 0) | 0x400u |
                (constant ? 0x800u : 0) | spec->extent << 12;
    build_put_number(headers, bits, 4);
    if (spec->kind != BUILD_COMPOUND_KIND) {
        build_put_number(headers, spec->sample_count ? spec->sample_count : spec->stored_count, width);
        if (changes) {
            build_put_number(headers, spec->first, width);
            build_put_number(headers, spec->last, width);
        }
        if (spec->sampling)
            build_put_number(headers, spec->sampling, width);
    }
    build_put_number(headers, strlen(spec->name), width);
    build_put(headers, spec->name, strlen(spec->name));
    if (spec->metadata == 0xFF) {
        build_put_number(headers, strlen(spec->text), width);
        build_put(headers, spec->text, strlen(spec->text));
    }
    uint64_t place = spec->kind == BUILD_COMPOUND_KIND ? spec->place : build_put_samples(file, spec);
    if (compound->count == sizeof compound->children / sizeof *compound->children)
        abort();
    compound->children[compound->count++] = place;
}

/* A property with one constant sample. */
static inline void build_constant(build_file *file, build_compound *compound, const char *name, uint32_t kind,
                                  uint32_t pod, uint32_t extent, build_sample sample, uint32_t metadata) {
    const build_spec spec = {.name = name,
                             .kind = kind,
                             .pod = pod,
                             .extent = extent,
                             .samples = &sample,
                             .stored_count = 1,
                             .metadata = metadata};
    build_add(file, compound, &spec);
}
#define BUILD_ARRAY(file, compound, name, pod, extent, values, metadata)                                               \
    build_constant(file, compound, name, BUILD_ARRAY_KIND, pod, extent, (build_sample){values, sizeof values}, metadata)

/* Writes the group of a compound and empties the compound. */
static inline uint64_t build_end_compound(build_file *file, build_compound *compound) {
    uint64_t children[33];
    memcpy(children, compound->children, sizeof compound->children);
    children[compound->count] = build_data(file, compound->headers.data, compound->headers.size);
    uint64_t place = compound->count ? build_group(file, children, compound->count + 1) : 0;
    free(compound->headers.data);
    *compound = (build_compound){0};
    return place;
}

/* ---- Objects ---------------------------------------------------------------------------------------------- */

typedef struct build_node {
    const char *name;
    uint64_t place;
    uint32_t metadata; /* an index, or 0xFF for … */
    const char *text;  /* … this text */
} build_node;

static inline uint64_t build_object(build_file *file, uint64_t properties, const build_node *children, size_t count) {
    build_file headers = {0};
    uint64_t *places = (uint64_t *)calloc(count + 2, sizeof *places);
    if (!places)
        abort();
    places[0] = properties;
    for (size_t i = 0; i < count; i++) {
        const build_node *child = &children[i];
        build_put_number(&headers, strlen(child->name), 4);
        build_put(&headers, child->name, strlen(child->name));
        build_put_number(&headers, child->metadata, 1);
        if (child->metadata == 0xFF) {
            build_put_number(&headers, strlen(child->text), 4);
            build_put(&headers, child->text, strlen(child->text));
        }
        places[i + 1] = child->place;
    }
    for (int i = 0; i < 4; i++)
        build_put_number(&headers, UINT64_C(0x0123456789ABCDEF), 8);
    places[count + 1] = build_data(file, headers.data, headers.size);
    uint64_t place = build_group(file, places, count + 2);
    free(places);
    free(headers.data);
    return place;
}

/* ---- Archive ---------------------------------------------------------------------------------------------- */

#define BUILD_ACYCLIC (1.7976931348623157e308 / 32)

typedef struct build_times {
    double period; /* BUILD_ACYCLIC: every sample has its own */
    const double *times;
    uint32_t count;
} build_times;

/* Metadata strings of the archive by index. */
enum {
    BUILD_META_NONE,
    BUILD_META_XFORM,
    BUILD_META_MESH,
    BUILD_META_SUBD,
    BUILD_META_CORNERS,
    BUILD_META_POINTS,
    BUILD_META_OTHER
};

/* Sampling 0 (one sample per second) is written before the given ones. */
static inline void build_end(build_file *file, uint64_t top, const build_times *samplings, size_t sampling_count) {
    static const char *const metadata[] = {"schema=AbcGeom_Xform_v3;schemaObjTitle=AbcGeom_Xform_v3:.xform",
                                           "schema=AbcGeom_PolyMesh_v1;schemaBaseType=AbcGeom_GeomBase_v1",
                                           "schema=AbcGeom_SubD_v1",
                                           "geoScope=fvr;podName=float32_t",
                                           "arrayExtent=1;geoScope=vtx",
                                           "schema=AbcGeom_Camera_v1"};
    build_file times = {0}, texts = {0};
    for (size_t s = 0; s <= sampling_count; s++) {
        static const double zero = 0;
        build_times own = s ? samplings[s - 1] : (build_times){1, &zero, 1};
        build_put_number(&times, 1, 4);
        build_put_double(&times, own.period);
        build_put_number(&times, own.count, 4);
        for (uint32_t i = 0; i < own.count; i++)
            build_put_double(&times, own.times[i]);
    }
    for (size_t m = 0; m < sizeof metadata / sizeof *metadata; m++) {
        build_put_number(&texts, strlen(metadata[m]), 1);
        build_put(&texts, metadata[m], strlen(metadata[m]));
    }
    uint64_t root[6];
    root[0] = build_data(file, "\0\0\0\0", 4);
    root[1] = build_data(file, "\x54\x28\0\0", 4);
    root[2] = top;
    root[3] = build_data(file, "_ai_Application=test", 20);
    root[4] = build_data(file, times.data, times.size);
    root[5] = build_data(file, texts.data, texts.size);
    build_patch(file, 8, build_group(file, root, 6));
    free(times.data);
    free(texts.data);
}

/* ---- Whole meshes and transforms -------------------------------------------------------------------------- */

/* Adds "P", for which `positions` has everything but name and kind, and i32 faces to a compound. */
static inline void build_geometry(build_file *file, build_compound *geometry, build_spec positions, build_sample counts,
                                  build_sample indices) {
    positions.name = "P";
    positions.kind = BUILD_ARRAY_KIND;
    positions.pod = positions.pod ? positions.pod : BUILD_FLOAT_POD;
    positions.extent = 3;
    build_add(file, geometry, &positions);
    build_constant(file, geometry, ".faceIndices", BUILD_ARRAY_KIND, BUILD_INT_POD, 1, indices, 0);
    build_constant(file, geometry, ".faceCounts", BUILD_ARRAY_KIND, BUILD_INT_POD, 1, counts, 0);
}

/* A mesh object of a finished geometry. */
static inline uint64_t build_mesh(build_file *file, build_compound *geometry) {
    build_compound properties = {0};
    build_add(file, &properties, &(build_spec){.name = ".geom", .place = build_end_compound(file, geometry)});
    return build_object(file, build_end_compound(file, &properties), NULL, 0);
}

/* The properties of an xform object; `values` has samples and sampling. */
static inline uint64_t build_xform(build_file *file, const uint8_t *ops, size_t op_count, build_spec values,
                                   bool inherits) {
    build_compound xform = {0}, properties = {0};
    const build_sample follows = {inherits ? "\1" : "\0", 1}, codes = {ops, op_count};
    build_constant(file, &xform, ".inherits", BUILD_SCALAR_KIND, BUILD_BOOL_POD, 1, follows, 0);
    build_constant(file, &xform, ".ops", BUILD_SCALAR_KIND, BUILD_BYTE_POD, (uint32_t)op_count, codes, 0);
    values.name = ".vals";
    values.kind = values.kind ? values.kind : BUILD_SCALAR_KIND;
    values.pod = BUILD_DOUBLE_POD;
    values.extent = (uint32_t)(values.samples[0].size / 8);
    build_add(file, &xform, &values);
    build_add(file, &properties, &(build_spec){.name = ".xform", .place = build_end_compound(file, &xform)});
    return build_end_compound(file, &properties);
}

#endif
