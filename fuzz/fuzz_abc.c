/* Alembic. Bytes that begin like an Ogawa file are read as they are; others are instructions to build one, so that
 * mutations change objects, samples and references instead of breaking the container: read, validate, weld, pose,
 * write; write as Alembic, read again and compare. */
#include "chain.h"

#include <float.h>
#include <math.h>

#ifdef __clang__ /* libFuzzer follows branches of the reader, not of what builds files */
#pragma clang attribute push(__attribute__((no_sanitize("coverage"))), apply_to = function)
#endif

#include "../tests/abc_build.h"

#define MAX_OBJECTS 12

typedef struct feed {
    const uint8_t *data;
    size_t size, at;
    build_file file;
    uint64_t places[64]; /* offsets of earlier data, to be referenced again */
    size_t place_count;
    size_t objects;
} feed;

static uint32_t next(feed *f) {
    return f->at < f->size ? f->data[f->at++] : 0;
}

/* Mostly the valid value, sometimes an arbitrary one. */
static uint32_t odd(feed *f, uint32_t honest) {
    uint32_t choice = next(f);
    if (choice < 240)
        return honest;
    return choice < 248 ? next(f) : next(f) << 24 | next(f);
}

static uint64_t keep(feed *f, uint64_t place) {
    if (f->place_count < sizeof f->places / sizeof *f->places)
        f->places[f->place_count++] = place;
    return next(f) < 250 ? place : f->places[next(f) % f->place_count];
}

/* Up to 4 samples of `size` bytes from the feed. */
static void add_samples(feed *f, build_compound *compound, build_spec spec, size_t size, bool moving) {
    static uint8_t bytes[4][1024];
    build_sample samples[4];
    spec.stored_count = moving ? 1 + next(f) % 4 : 1;
    for (size_t s = 0; s < spec.stored_count; s++) {
        for (size_t i = 0; i < size && i < sizeof bytes[s]; i++)
            bytes[s][i] = (uint8_t)next(f);
        samples[s] = (build_sample){bytes[s], odd(f, (uint32_t)size) % sizeof bytes[s]};
    }
    spec.samples = samples;
    spec.hint = odd(f, 2) % 3;
    spec.sampling = moving ? next(f) % 4 : 0;
    if (next(f) % 4 == 0 && spec.stored_count > 1) {
        spec.first = odd(f, 1 + next(f) % 3);
        spec.last = odd(f, spec.first + (uint32_t)spec.stored_count - 2);
        spec.sample_count = odd(f, spec.last + 1 + next(f) % 5);
    }
    spec.pod = odd(f, spec.pod) % 16;
    spec.extent = odd(f, spec.extent) % 256;
    spec.kind = odd(f, spec.kind) % 4;
    spec.metadata = odd(f, 0) % 256;
    spec.text = "geoScope=vtx";
    build_add(&f->file, compound, &spec);
}

static void add_array(feed *f, build_compound *compound, const char *name, uint32_t pod, uint32_t extent,
                      const uint32_t *values, size_t count) {
    uint32_t own[64];
    for (size_t i = 0; i < count; i++)
        own[i] = odd(f, values[i]);
    const build_sample sample = {own, 4 * (odd(f, (uint32_t)count) % 64)};
    build_constant(&f->file, compound, name, BUILD_ARRAY_KIND, pod, extent, sample, odd(f, BUILD_META_CORNERS) % 16);
}

/* A strip of triangles; texture coordinates and normals by corner, by point or by index. */
static uint64_t make_mesh(feed *f) {
    build_compound geometry = {0}, uv = {0};
    uint32_t points = 3 + next(f) % 8, faces = points - 2, counts[16], indices[64], values[64];
    for (uint32_t i = 0; i < 3 * faces; i++) {
        counts[i % 16] = 3;
        indices[i] = i / 3 + i % 3;
        values[i] = 0x3F800000u + (next(f) << 15);
    }
    build_spec positions = {.name = "P", .kind = BUILD_ARRAY_KIND, .pod = BUILD_FLOAT_POD, .extent = 3};
    add_samples(f, &geometry, positions, (size_t)12 * points, true);
    add_array(f, &geometry, ".faceIndices", BUILD_INT_POD, 1, indices, (size_t)3 * faces);
    add_array(f, &geometry, ".faceCounts", BUILD_INT_POD, 1, counts, faces);
    uint32_t kind = next(f);
    if (kind & 1)
        add_array(f, &geometry, "N", BUILD_FLOAT_POD, 3, values, (size_t)3 * (kind & 2 ? points : faces));
    if (kind & 4) {
        add_array(f, &uv, ".vals", BUILD_FLOAT_POD, 2, values, (size_t)2 * faces);
        add_array(f, &uv, ".indices", BUILD_UINT_POD, 1, indices, (size_t)3 * faces);
        build_spec compound = {.name = "uv", .place = keep(f, build_end_compound(&f->file, &uv))};
        build_add(&f->file, &geometry, &compound);
    }
    return build_mesh(&f->file, &geometry);
}

static uint64_t make_xform(feed *f) {
    static const uint8_t sizes[] = {3, 3, 4, 16, 1, 1, 1};
    build_compound xform = {0}, properties = {0};
    uint8_t ops[4];
    size_t count = next(f) % 5 % 4, numbers = 0;
    for (size_t o = 0; o < count; o++) {
        ops[o] = (uint8_t)(odd(f, next(f) % 7 << 4));
        numbers += sizes[ops[o] / 16 % 7];
    }
    const build_sample sample = {ops, count};
    build_constant(&f->file, &xform, ".ops", BUILD_SCALAR_KIND, BUILD_BYTE_POD, (uint32_t)count, sample, 0);
    build_spec values = {.name = ".vals", .kind = BUILD_SCALAR_KIND, .pod = BUILD_DOUBLE_POD};
    add_samples(f, &xform, values, 8 * numbers, true);
    build_spec inherits = {.name = ".inherits", .kind = BUILD_SCALAR_KIND, .pod = BUILD_BOOL_POD, .extent = 1};
    add_samples(f, &xform, inherits, 1, true);
    build_spec compound = {.name = ".xform", .place = keep(f, build_end_compound(&f->file, &xform))};
    build_add(&f->file, &properties, &compound);
    return build_end_compound(&f->file, &properties);
}

static uint64_t make_object(feed *f, uint64_t properties, int depth) {
    static const char *const names[] = {"a", "b", "body", ""};
    build_node nodes[4];
    size_t count = 0;
    for (uint32_t children = next(f) % 4; children && f->objects < MAX_OBJECTS && depth < 6; children--) {
        build_node *node = &nodes[count++];
        uint32_t kind = next(f);
        f->objects++;
        *node = (build_node){.name = names[kind / 4 % 4], .metadata = odd(f, 1 + kind % 4 % 3), .text = "schema=x"};
        node->metadata = node->metadata > 8 ? 0xFF : node->metadata;
        uint64_t place = node->metadata == BUILD_META_XFORM ? make_object(f, make_xform(f), depth + 1) : make_mesh(f);
        node->place = keep(f, place);
    }
    return build_object(&f->file, properties, nodes, count);
}

static void build_from(feed *f) {
    double times[3][4] = {{0}};
    build_times samplings[3];
    f->file = build_begin();
    uint64_t top = keep(f, make_object(f, 0, 0));
    for (size_t s = 0; s < 3; s++) {
        for (size_t i = 0; i < 4; i++)
            times[s][i] = (double)i / 4 + (double)odd(f, 0);
        samplings[s] = (build_times){s == 2 ? BUILD_ACYCLIC : 1 - (double)odd(f, 0), times[s], 1 + odd(f, 3) % 4};
    }
    build_end(&f->file, top, samplings, 3);
    for (uint32_t patches = next(f) % 4; patches; patches--) {
        size_t at = (next(f) << 8 | next(f)) % (f->file.size - 8);
        build_patch(&f->file, at, f->places[next(f) % f->place_count]);
    }
}

#ifdef __clang__
#pragma clang attribute pop
#endif

/* Whether frames are so far apart that times survive as floats, and the model fits twice into the limits. */
static bool frames_apart(const pelt_clip *clip) {
    for (uint32_t k = 1; k < clip->frame_count; k++)
        if (!(clip->times[k] - clip->times[k - 1] > 1e-5f * (1 + fabsf(clip->times[k]))))
            return false;
    return true;
}

static void compare_frames(pelt_context *context, const pelt_clip *a, const pelt_clip *b) {
    FUZZ_REQUIRE(a->point_count == b->point_count && a->frame_count == b->frame_count);
    float *left = malloc((size_t)12 * a->point_count + 1), *right = malloc((size_t)12 * a->point_count + 1);
    FUZZ_REQUIRE(left && right);
    for (uint32_t k = 0; k < a->frame_count && k < FUZZ_MAX_FRAMES; k++) {
        FUZZ_REQUIRE(fabsf(a->times[k] - b->times[k]) <= 1e-6f * (1 + fabsf(a->times[k])));
        FUZZ_REQUIRE(pelt_clip_read(context, a, k, 0, a->point_count, left) == PELT_OK);
        FUZZ_REQUIRE(pelt_clip_read(context, b, k, 0, a->point_count, right) == PELT_OK);
        for (size_t i = 0; i < (size_t)3 * a->point_count; i++) /* transforms make NaN of infinite coordinates */
            FUZZ_REQUIRE(left[i] == right[i] || !(fabsf(left[3 * (i / 3)]) <= FLT_MAX) ||
                         !(fabsf(left[3 * (i / 3) + 1]) <= FLT_MAX) || !(fabsf(left[3 * (i / 3) + 2]) <= FLT_MAX));
    }
    free(left);
    free(right);
}

/* Writes the model as Alembic and reads it again: the same mesh and clip. */
static void round_trip(pelt_context *context, const pelt_model *model) {
    px_buffer bytes = {.context = context};
    pelt_model *again = NULL;
    bool apart = model->clip_count == 0 || frames_apart(&model->clips[0]);
    if (!fuzz_done(context, px_save_memory(context, model, "fuzz.abc", NULL, &bytes)))
        goto done;
    uint8_t *exact = malloc(bytes.size);
    FUZZ_REQUIRE(exact);
    memcpy(exact, bytes.data, bytes.size);
    pelt_result result = pelt_load_memory(context, exact, bytes.size, "fuzz.abc", NULL, &again);
    FUZZ_REQUIRE(result == PELT_OK || result == PELT_ERROR_MEMORY || strstr(pelt_error_text(context), "finite"));
    if (result == PELT_OK) {
        const pelt_mesh *a = &model->mesh, *b = &again->mesh;
        FUZZ_REQUIRE(a->points.count == b->points.count && a->triangle_count == b->triangle_count);
        FUZZ_REQUIRE(a->polygon_count == b->polygon_count);
        for (size_t c = 0; c < (size_t)3 * a->triangle_count; c++) {
            FUZZ_REQUIRE(pelt_vertex_class(&a->points, a->triangles[c]) ==
                         pelt_vertex_class(&b->points, b->triangles[c]));
            for (size_t i = 0; a->uvs && i < 2; i++)
                FUZZ_REQUIRE(a->uvs[(size_t)2 * a->triangles[c] + i] == b->uvs[(size_t)2 * b->triangles[c] + i]);
        }
        FUZZ_REQUIRE((a->normals != NULL) <= (b->normals != NULL) || a->triangle_count == 0);
        if (model->clip_count && apart && again->clip_count)
            compare_frames(context, &model->clips[0], &again->clips[0]);
    }
    pelt_model_destroy(again);
    free(exact);
done:
    px_buffer_free(&bytes);
}

static void use_file(const uint8_t *data, size_t size, const char *object) {
    pelt_context *context = fuzz_context();
    uint32_t choice = fuzz_choice(data, size);
    pelt_load_desc desc = fuzz_load_desc(choice);
    desc.object = object;
    pelt_model *model;
    if (fuzz_done(context, pelt_load_memory(context, data, size, "fuzz.abc", &desc, &model))) {
        fuzz_use(context, model, "fuzz.obj", choice);
        round_trip(context, model);
    }
    pelt_model_destroy(model);
    pelt_context_destroy(context);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size >= 5 && memcmp(data, "Ogawa", 5) == 0) {
        use_file(data, size, NULL);
        return 0;
    }
    feed f = {.data = data, .size = size};
    const char *object = next(&f) % 8 ? NULL : "body";
    build_from(&f);
    uint8_t *exact = realloc(f.file.data, f.file.size); /* exact size, so that sanitizers detect overruns */
    FUZZ_REQUIRE(exact);
    use_file(exact, f.file.size, object);
    free(exact);
    return 0;
}
