/* PLY writer: vertices with all their attributes, then polygons reassembled from their triangle fans. If several
 * vertices share a point, each vertex stores its point index, so that a point cache still matches the mesh when the
 * file is read again. */
#include "io/ply.h"

#include <math.h>

/* Bytes are buffered and written in pieces of about this size. */
#define PIECE_SIZE ((size_t)1 << 16)

typedef struct writer {
    pelt_context *context;
    const pelt_mesh *mesh;
    ply_encoding encoding;
    px_output_file *file;
    px_buffer bytes;
} writer;

static pelt_result hand_on(writer *w) {
    pelt_result result = w->bytes.failed ? PELT_ERROR_MEMORY : px_output_write(w->file, w->bytes.data, w->bytes.size);
    w->bytes.size = 0;
    return result;
}

/* ---- Values ----------------------------------------------------------------------------------------------- */

/* Writes the low `size` bytes of an integer; in ASCII, its digits and a blank. */
static void write_uint(writer *w, uint32_t value, size_t size) {
    uint8_t bytes[4];
    if (w->encoding == PLY_ASCII) {
        px_buffer_uint(&w->bytes, value);
        px_buffer_add(&w->bytes, " ", 1);
        return;
    }
    for (size_t i = 0; i < size; i++)
        bytes[w->encoding == PLY_BIG ? size - 1 - i : i] = (uint8_t)(value >> 8 * i);
    px_buffer_add(&w->bytes, bytes, size);
}

static pelt_result write_floats(writer *w, const float *values, size_t count, size_t vertex) {
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i]))
            return px_fail(w->context, PELT_ERROR_OUTPUT, "a number of vertex %zu is not finite, PLY cannot hold it",
                           vertex);
        if (w->encoding != PLY_ASCII) {
            write_uint(w, px_float_bits(values[i]), 4);
            continue;
        }
        px_buffer_float(&w->bytes, values[i]);
        px_buffer_add(&w->bytes, " ", 1);
    }
    return PELT_OK;
}

static pelt_result end_record(writer *w) {
    if (w->bytes.failed)
        return PELT_ERROR_MEMORY;
    if (w->encoding == PLY_ASCII)
        w->bytes.data[w->bytes.size - 1] = '\n'; /* in place of the last blank */
    return w->bytes.size >= PIECE_SIZE ? hand_on(w) : PELT_OK;
}

/* ---- Polygons --------------------------------------------------------------------------------------------- */

/* Number of triangles in the polygon that begins at triangle `first`. */
static uint32_t fan_size(const pelt_mesh *mesh, uint32_t first) {
    uint32_t end = first + 1;
    while (mesh->triangle_polygons && end < mesh->triangle_count &&
           mesh->triangle_polygons[end] == mesh->triangle_polygons[first])
        end++;
    return end - first;
}

/* Counts the polygons, and the corners of the largest polygon. */
static void count_polygons(const pelt_mesh *mesh, uint32_t *count, uint32_t *largest) {
    *count = *largest = 0;
    for (uint32_t t = 0, size; t < mesh->triangle_count; t += size) {
        size = fan_size(mesh, t);
        *largest = size + 2 > *largest ? size + 2 : *largest;
        ++*count;
    }
}

static pelt_result write_polygons(writer *w, size_t length_size) {
    const pelt_mesh *mesh = w->mesh;
    for (uint32_t t = 0, size; t < mesh->triangle_count; t += size) {
        size = fan_size(mesh, t);
        const uint32_t *v = mesh->triangles + (size_t)3 * t;
        write_uint(w, size + 2, length_size);
        write_uint(w, v[0], 4);
        write_uint(w, v[1], 4);
        for (uint32_t c = 0; c < size; c++)
            write_uint(w, v[3 * (size_t)c + 2], 4);
        PX_TRY(end_record(w));
    }
    return PELT_OK;
}

/* ---- Entry point ------------------------------------------------------------------------------------------ */

static void write_header(writer *w, uint32_t polygon_count, size_t length_size) {
    static const char *const encodings[] = {"ascii", "binary_little_endian", "binary_big_endian"};
    const pelt_mesh *mesh = w->mesh;
    px_buffer_format(&w->bytes, "ply\nformat %s 1.0\ncomment pelt " PELT_VERSION "\nelement vertex %u\n",
                     encodings[w->encoding], mesh->vertex_count);
    px_buffer_text(&w->bytes, "property float x\nproperty float y\nproperty float z\n");
    if (mesh->normals)
        px_buffer_text(&w->bytes, "property float nx\nproperty float ny\nproperty float nz\n");
    if (mesh->uvs)
        px_buffer_text(&w->bytes, "property float s\nproperty float t\n");
    if (mesh->points.of)
        px_buffer_text(&w->bytes, "property uint " PLY_POINT "\n");
    if (polygon_count)
        px_buffer_format(&w->bytes, "element face %u\nproperty list %s int vertex_indices\n", polygon_count,
                         length_size == 1 ? "uchar" : "uint");
    px_buffer_text(&w->bytes, "end_header\n");
}

static pelt_result write_all(writer *w) {
    const pelt_mesh *mesh = w->mesh;
    uint32_t polygon_count, largest;
    count_polygons(mesh, &polygon_count, &largest);
    size_t length_size = largest > UINT8_MAX ? 4 : 1;
    write_header(w, polygon_count, length_size);
    for (size_t i = 0; i < mesh->vertex_count; i++) {
        PX_TRY(write_floats(w, mesh->positions + 3 * i, 3, i));
        if (mesh->normals)
            PX_TRY(write_floats(w, mesh->normals + 3 * i, 3, i));
        if (mesh->uvs)
            PX_TRY(write_floats(w, mesh->uvs + 2 * i, 2, i));
        if (mesh->points.of)
            write_uint(w, mesh->points.of[i], 4);
        PX_TRY(end_record(w));
    }
    PX_TRY(write_polygons(w, length_size));
    return hand_on(w);
}

pelt_result px_ply_write(const px_write *write) {
    static const ply_encoding encodings[] = {PLY_LITTLE, PLY_BIG, PLY_ASCII};
    const pelt_mesh *mesh = write->mesh;
    if (mesh->vertex_count > INT32_MAX)
        return px_fail(write->context, PELT_ERROR_OUTPUT, "PLY cannot count %u vertices", mesh->vertex_count);
    writer w = {.context = write->context, .mesh = mesh, .encoding = encodings[write->desc->ply]};
    w.bytes.context = write->context;
    PX_TRY(px_output_open(write->output, write->path, &w.file));
    pelt_result result = write_all(&w);
    px_buffer_free(&w.bytes);
    return result;
}
