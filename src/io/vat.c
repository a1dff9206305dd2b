/* Vertex animation textures, for engines that play them in a vertex shader: docs/vat.md.
 *
 *   NAME.exr          positions, 32-bit floats, in the space of the mesh
 *   NAME_normals.exr  normals, 16-bit floats
 *   NAME.json         sizes, times, box
 *   NAME.glb          the mesh; TEXCOORD_1 has the texel of each vertex in frame 0
 *
 * Texel of vertex i in frame k: column i mod width, row k · rows + i / width, the first row at the top; rows is the number
 * of rows that a frame takes. Images are uncompressed OpenEXR files of one part.
 */
#include "io/frame_normals.h"

#include <float.h>
#include <math.h>

/* Sizes that every graphics card of the last ten years has. */
#define WIDTH_USUAL 4096u
#define SIZE_MOST   16384u

typedef struct vat {
    const px_write *write;
    pelt_context *context;
    const pelt_clip *clip;
    pelt_mesh mesh; /* that of the model, with normals */
    px_arena *memory;
    uint32_t width, rows, height; /* texels; rows: per frame */
    float low[3], high[3];        /* box of all frames */
    float *points;                /* [point][3] */
    float *vertices;              /* [vertex][3] */
    px_frame_normals normals;
} vat;

/* ---- OpenEXR ---------------------------------------------------------------------------------------------- */

static void put_number(px_buffer *out, uint64_t value, int size) {
    uint8_t bytes[8];
    for (int i = 0; i < size; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
    px_buffer_add(out, bytes, (size_t)size);
}

/* Name and type with their terminating zeros, then the size of the value. */
static void put_attribute(px_buffer *out, const char *name, const char *type, uint32_t size) {
    px_buffer_add(out, name, strlen(name) + 1);
    px_buffer_add(out, type, strlen(type) + 1);
    put_number(out, size, 4);
}

/* Header and table of the offsets of all scan lines. `half`: 16-bit floats, else 32-bit. */
static void put_header(px_buffer *out, uint32_t width, uint32_t height, bool half) {
    static const uint8_t magic[8] = {0x76, 0x2F, 0x31, 0x01, 2, 0, 0, 0};
    px_buffer_add(out, magic, sizeof magic);
    put_attribute(out, "channels", "chlist", 3 * 18 + 1);
    for (int c = 0; c < 3; c++) { /* in alphabetical order */
        px_buffer_add(out, &"B\0G\0R"[2 * c], 2);
        put_number(out, half ? 1 : 2, 4);
        put_number(out, 0, 4); /* not perceptually linear */
        put_number(out, 1, 4); /* a value per texel in x … */
        put_number(out, 1, 4); /* … and y */
    }
    put_number(out, 0, 1);
    put_attribute(out, "compression", "compression", 1);
    put_number(out, 0, 1);
    for (int window = 0; window < 2; window++) {
        put_attribute(out, window ? "displayWindow" : "dataWindow", "box2i", 16);
        put_number(out, 0, 8);
        put_number(out, width - 1, 4);
        put_number(out, height - 1, 4);
    }
    put_attribute(out, "lineOrder", "lineOrder", 1);
    put_number(out, 0, 1);
    put_attribute(out, "pixelAspectRatio", "float", 4);
    put_number(out, px_float_bits(1), 4);
    put_attribute(out, "screenWindowCenter", "v2f", 8);
    put_number(out, 0, 8);
    put_attribute(out, "screenWindowWidth", "float", 4);
    put_number(out, px_float_bits(1), 4);
    put_number(out, 0, 1);
    uint64_t line = 8 + (uint64_t)3 * (half ? 2 : 4) * width, first = out->size + (uint64_t)8 * height;
    for (uint32_t y = 0; y < height; y++)
        put_number(out, first + y * line, 8);
}

/* The nearest 16-bit float, ties to even. Values are normals: at most 1, so that none overflows. */
static uint16_t half_bits(float value) {
    uint32_t bits = px_float_bits(value), sign = bits >> 16 & 0x8000, size = bits & 0x7FFFFFFF;
    if (size >= 0x47800000) /* 65,536 and more, infinite, NaN */
        return (uint16_t)(sign | (size > 0x7F800000 ? 0x7E00 : 0x7C00));
    if (size < 0x38800000) /* below 2^-14: a multiple of 2^-24 */
        return (uint16_t)(sign | (uint32_t)rintf(px_float_from_bits(size) * 0x1p24f));
    uint32_t rounded = size + 0xFFF + (size >> 13 & 1);
    return (uint16_t)(sign | (rounded - 0x38000000) >> 13);
}

/* Writes the scan lines of one frame; texels after the last vertex are 0. */
static pelt_result write_lines(const vat *v, uint32_t frame, bool half, px_buffer *line, px_output_file *file) {
    uint32_t count = v->mesh.vertex_count;
    for (uint32_t row = 0; row < v->rows; row++) {
        line->size = 0;
        put_number(line, (uint64_t)frame * v->rows + row, 4);
        put_number(line, (uint64_t)3 * (half ? 2 : 4) * v->width, 4);
        for (int c = 2; c >= 0; c--)
            for (uint32_t x = 0; x < v->width; x++) {
                size_t i = (size_t)row * v->width + x;
                float value = i < count ? v->vertices[3 * i + (size_t)c] : 0;
                put_number(line, half ? half_bits(value) : px_float_bits(value), half ? 2 : 4);
            }
        if (line->failed)
            return PELT_ERROR_MEMORY;
        PX_TRY(px_output_write(file, line->data, line->size));
    }
    return PELT_OK;
}

/* ---- Frames ----------------------------------------------------------------------------------------------- */

/* Reads what a texture shows of a frame into v->vertices. */
static pelt_result read_frame(vat *v, uint32_t k, bool normals) {
    PX_TRY(pelt_clip_read(v->context, v->clip, k, 0, v->clip->point_count, v->points));
    px_clip_release(v->clip, v->clip->point_count);
    if (normals)
        return px_frame_normals_read(v->context, &v->normals, k, v->points, v->vertices);
    pelt_vertex_classes_spread(&v->mesh.points, v->mesh.vertex_count, v->points, v->vertices);
    for (size_t i = 0; i < (size_t)3 * v->mesh.vertex_count; i++) {
        if (!(fabsf(v->vertices[i]) <= FLT_MAX))
            return px_fail(v->context, PELT_ERROR_INPUT, "frame %u: the position of vertex %zu is not finite", k,
                           i / 3);
        v->low[i % 3] = v->vertices[i] < v->low[i % 3] ? v->vertices[i] : v->low[i % 3];
        v->high[i % 3] = v->vertices[i] > v->high[i % 3] ? v->vertices[i] : v->high[i % 3];
    }
    return PELT_OK;
}

static pelt_result write_texture(vat *v, const char *path, bool normals) {
    px_buffer bytes = {.context = v->context};
    px_output_file *file;
    pelt_result result = px_output_open(v->write->output, path, &file);
    put_header(&bytes, v->width, v->height, normals);
    if (result == PELT_OK)
        result = bytes.failed ? PELT_ERROR_MEMORY : px_output_write(file, bytes.data, bytes.size);
    for (uint32_t k = 0; k < v->clip->frame_count && result == PELT_OK; k++) {
        result = read_frame(v, k, normals);
        if (result == PELT_OK)
            result = write_lines(v, k, normals, &bytes, file);
        if (result == PELT_OK)
            result = px_progress(v->context, "write", (uint64_t)k + 1, v->clip->frame_count);
    }
    px_buffer_free(&bytes);
    return result;
}

/* ---- Description and mesh --------------------------------------------------------------------------------- */

static void put_floats(px_buffer *out, const char *name, const float *values, uint32_t count) {
    px_buffer_format(out, "  \"%s\": [", name);
    for (uint32_t i = 0; i < count; i++) {
        px_buffer_text(out, i ? ", " : "");
        px_buffer_float(out, values[i]);
    }
    px_buffer_text(out, "],\n");
}

/* The name of a file in the same folder, as a JSON string. */
static void put_name(px_buffer *out, const char *key, const char *path, const char *end) {
    px_buffer_format(out, "  \"%s\": \"", key);
    for (const char *c = px_path_name(path); *c; c++) {
        if (*c == '"' || *c == '\\' || (unsigned char)*c < 32)
            px_buffer_format(out, "\\u%04x", (unsigned char)*c);
        else
            px_buffer_add(out, c, 1);
    }
    px_buffer_format(out, "\"%s\n", end);
}

static pelt_result write_description(vat *v, const char *path, const char *normals, const char *mesh) {
    const pelt_clip *clip = v->clip;
    uint32_t last = clip->frame_count - 1;
    float duration = clip->times[last] - clip->times[0];
    px_buffer out = {.context = v->context};
    px_buffer_format(&out, "{\n  \"pelt_vat\": 1,\n  \"vertices\": %u,\n  \"frames\": %u,\n", v->mesh.vertex_count,
                     clip->frame_count);
    px_buffer_format(&out, "  \"width\": %u,\n  \"height\": %u,\n  \"rows_per_frame\": %u,\n", v->width, v->height,
                     v->rows);
    px_buffer_text(&out, "  \"duration\": ");
    px_buffer_float(&out, duration);
    px_buffer_text(&out, ",\n  \"fps\": ");
    px_buffer_float(&out, duration > 0 ? (float)last / duration : 30);
    px_buffer_text(&out, ",\n");
    put_floats(&out, "times", clip->times, clip->frame_count);
    put_floats(&out, "min", v->low, 3);
    put_floats(&out, "max", v->high, 3);
    px_buffer_text(&out, "  \"lookup\": \"TEXCOORD_1\",\n");
    put_name(&out, "positions", v->write->path, ",");
    put_name(&out, "normals", normals, ",");
    put_name(&out, "mesh", mesh, "");
    px_buffer_text(&out, "}\n");
    px_output_file *file;
    pelt_result result = out.failed ? PELT_ERROR_MEMORY : px_output_open(v->write->output, path, &file);
    if (result == PELT_OK)
        result = px_output_write(file, out.data, out.size);
    px_buffer_free(&out);
    return result;
}

static pelt_result write_mesh(const vat *v, const char *path) {
    uint32_t count = v->mesh.vertex_count;
    float *lookup = PX_NEW(v->memory, float, (size_t)2 * count);
    pelt_part *parts = PX_NEW(v->memory, pelt_part, v->mesh.part_count);
    float *uvs = v->mesh.uvs ? v->mesh.uvs : PX_NEW(v->memory, float, (size_t)2 * count); /* sets are numbered from 0 */
    if (!lookup || !parts || !uvs)
        return PELT_ERROR_MEMORY;
    for (uint32_t i = 0; i < count; i++) {
        lookup[(size_t)2 * i] = (float)((i % v->width + 0.5) / v->width);
        lookup[(size_t)2 * i + 1] = (float)((i / v->width + 0.5) / v->height);
    }
    pelt_model bare = {.mesh = v->mesh, .path = "", .format = ""};
    for (uint32_t p = 0; p < v->mesh.part_count; p++) {
        parts[p] = v->mesh.parts[p];
        parts[p].joint = PELT_NONE;
        parts[p].skinned = false;
    }
    bare.mesh.parts = parts;
    bare.mesh.uvs = uvs;
    px_write one = *v->write;
    one.model = &bare;
    one.mesh = &bare.mesh;
    one.path = path;
    one.lookup = lookup;
    return px_format_gltf.write(&one);
}

/* ---- Entry point ------------------------------------------------------------------------------------------ */

static pelt_result choose_size(vat *v) {
    uint32_t count = v->mesh.vertex_count, frames = v->clip->frame_count;
    uint64_t height = 0;
    for (uint32_t width = WIDTH_USUAL; width <= SIZE_MOST; width *= 2) {
        v->width = count < width ? count : width;
        v->rows = (count + v->width - 1) / v->width;
        height = (uint64_t)v->rows * frames;
        if (height <= width)
            break;
    }
    if (height > SIZE_MOST)
        return px_fail(v->context, PELT_ERROR_OUTPUT,
                       "%u vertices in %u frames are more than a texture of %u × %u holds; simplify the mesh or write "
                       "fewer frames",
                       count, frames, SIZE_MOST, SIZE_MOST);
    v->height = (uint32_t)height;
    return PELT_OK;
}

static pelt_result prepare(vat *v) {
    const pelt_mesh *mesh = &v->write->model->mesh;
    v->mesh = *mesh;
    PX_TRY(choose_size(v));
    v->points = PX_NEW(v->memory, float, (size_t)3 * mesh->points.count);
    v->vertices = PX_NEW(v->memory, float, (size_t)3 * mesh->vertex_count);
    if (!mesh->normals) {
        v->mesh.normals = PX_NEW(v->memory, float, (size_t)3 * mesh->vertex_count);
        if (!v->mesh.normals)
            return PELT_ERROR_MEMORY;
        PX_TRY(px_point_normals(v->context, mesh, v->mesh.normals));
    }
    for (int c = 0; c < 3; c++) {
        v->low[c] = FLT_MAX;
        v->high[c] = -FLT_MAX;
    }
    if (!v->points || !v->vertices)
        return PELT_ERROR_MEMORY;
    return px_frame_normals_begin(v->context, v->memory, &v->mesh, v->clip, v->write->desc->normals, &v->normals);
}

/* The output path with another end instead of ".exr". NULL: out of memory. */
static char *path_with(const vat *v, const char *end) {
    size_t length = strlen(v->write->path) - strlen(".exr"), size = strlen(end);
    char *path = PX_NEW(v->memory, char, length + size + 1);
    if (path) {
        memcpy(path, v->write->path, length);
        memcpy(path + length, end, size);
    }
    return path;
}

static pelt_result write_all(vat *v) {
    const char *normals = path_with(v, "_normals.exr"), *mesh = path_with(v, ".glb"), *text = path_with(v, ".json");
    if (!normals || !mesh || !text)
        return PELT_ERROR_MEMORY;
    if (strcmp(mesh, v->write->model->path) == 0)
        return px_fail(v->context, PELT_ERROR_OUTPUT,
                       "the mesh of the texture would replace %s, which is read; give the output another name", mesh);
    PX_TRY(prepare(v));
    PX_TRY(write_texture(v, v->write->path, false));
    PX_TRY(write_texture(v, normals, true));
    PX_TRY(write_mesh(v, mesh));
    return write_description(v, text, normals, mesh);
}

static pelt_result write_vat(const px_write *write) {
    const pelt_model *model = write->model;
    if (model->clip_count == 0 || model->clips[write->desc->clip].frame_count == 0)
        return px_fail(write->context, PELT_ERROR_USAGE, "there is no vertex animation to write; bake one first");
    if (write->in_memory)
        return px_fail(write->context, PELT_ERROR_USAGE, "several files cannot go to memory");
    vat v = {.write = write,
             .context = write->context,
             .clip = &model->clips[write->desc->clip],
             .memory = px_arena_create(write->context)};
    pelt_result result = v.memory ? write_all(&v) : PELT_ERROR_MEMORY;
    px_arena_destroy(v.memory);
    return result;
}

const px_format px_format_vat = {
    .info = {"VAT", "exr", "vertex animation texture: OpenEXR images, JSON and GLB",
             PELT_FORMAT_WRITE | PELT_FORMAT_MESH | PELT_FORMAT_CLIP},
    .write = write_vat,
};
