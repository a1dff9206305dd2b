/* Text of USD files, and their matrices: see usd.h. The layout is that of Pixar's writer, since some readers go line by line. */
#include "io/usd.h"

#include "core/rotation.h"

#include <stdio.h>

/* ---- Matrices --------------------------------------------------------------------------------------------------- */

px_scene_matrix px_usd_matrix_of(const pelt_affine *a) {
    px_scene_matrix out;
    for (int e = 0; e < 12; e++)
        out.m[e] = a->m[e];
    return out;
}

px_scene_matrix px_usd_matrix_of_transform(const pelt_transform *t) {
    px_scene_matrix out;
    px_rotation rotation = px_rotation_of(t->rotation);
    for (int c = 0; c < 3; c++) {
        double axis[3] = {c == 0, c == 1, c == 2};
        px_rotation_apply(rotation, axis, axis);
        for (int r = 0; r < 3; r++)
            out.m[4 * r + c] = axis[r] * t->scale[c];
        out.m[4 * c + 3] = t->translation[c];
    }
    return out;
}

bool px_usd_matrix_inverse(const px_scene_matrix *a, px_scene_matrix *out) {
    const double *m = a->m;
    px_scene_matrix inverse;
    double det = 0;
    for (int i = 0; i < 3; i++) {
        int r1 = (i + 1) % 3, r2 = (i + 2) % 3;
        for (int j = 0; j < 3; j++) {
            int c1 = (j + 1) % 3, c2 = (j + 2) % 3;
            inverse.m[4 * j + i] = m[4 * r1 + c1] * m[4 * r2 + c2] - m[4 * r1 + c2] * m[4 * r2 + c1];
        }
        det += i == 0 ? m[0] * inverse.m[0] + m[1] * inverse.m[4] + m[2] * inverse.m[8] : 0;
    }
    if (!(fabs(det) > 0) || !isfinite(1 / det))
        return false;
    bool finite = true;
    for (int r = 0; r < 3; r++) {
        double sum = 0;
        for (int c = 0; c < 3; c++) {
            inverse.m[4 * r + c] /= det;
            sum += inverse.m[4 * r + c] * m[4 * c + 3];
        }
        inverse.m[4 * r + 3] = -sum;
        for (int c = 0; c < 4; c++)
            finite &= isfinite((float)inverse.m[4 * r + c]);
    }
    *out = inverse;
    return finite;
}

/* ---- Lines ------------------------------------------------------------------------------------------------------ */

static void indent(px_usd_out *out) {
    for (int d = 0; d < out->depth; d++)
        px_buffer_add(&out->text, "    ", 4);
}

void px_usd_line(px_usd_out *out, const char *format, ...) {
    char line[512];
    va_list list;
    indent(out);
    va_start(list, format);
    int length = vsnprintf(line, sizeof line, format, list);
    va_end(list);
    assert(length >= 0 && (size_t)length < sizeof line); /* names are written by px_usd_start and px_usd_text */
    px_buffer_add(&out->text, line, (size_t)length);
    px_buffer_add(&out->text, "\n", 1);
}

void px_usd_start(px_usd_out *out, const char *text) {
    indent(out);
    px_buffer_text(&out->text, text);
}

void px_usd_begin(px_usd_out *out, const char *type, const char *name, const char *schemas) {
    indent(out);
    px_buffer_format(&out->text, "def %s \"%s\"", type, name);
    px_buffer_text(&out->text, schemas ? " (\n" : "\n");
    if (schemas) {
        out->depth++;
        indent(out);
        px_buffer_format(&out->text, "prepend apiSchemas = [%s]\n", schemas);
        out->depth--;
        px_usd_line(out, ")");
    }
    px_usd_line(out, "{");
    out->depth++;
}

void px_usd_end(px_usd_out *out) {
    out->depth--;
    px_usd_line(out, "}");
}

/* ---- Values ----------------------------------------------------------------------------------------------------- */

static void put_float(px_buffer *text, float value) {
    if (isfinite(value))
        px_buffer_float(text, value);
    else
        px_buffer_text(text, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
}

void px_usd_tuple(px_usd_out *out, const float *values, size_t width) {
    for (size_t c = 0; c < width; c++) {
        px_buffer_text(&out->text, c ? ", " : "(");
        put_float(&out->text, values[c]);
    }
    px_buffer_text(&out->text, ")");
}

void px_usd_floats(px_usd_out *out, const float *values, size_t count, size_t width) {
    px_buffer_text(&out->text, "[");
    for (size_t i = 0; i < count; i++) {
        if (i)
            px_buffer_text(&out->text, ", ");
        if (width == 1)
            put_float(&out->text, values[i]);
        else
            px_usd_tuple(out, values + i * width, width);
    }
    px_buffer_text(&out->text, "]");
}

void px_usd_ints(px_usd_out *out, const uint32_t *values, size_t count) {
    px_buffer_text(&out->text, "[");
    for (size_t i = 0; i < count; i++) {
        if (i)
            px_buffer_text(&out->text, ", ");
        px_buffer_uint(&out->text, values[i]);
    }
    px_buffer_text(&out->text, "]");
}

void px_usd_put_matrix(px_usd_out *out, const px_scene_matrix *a) {
    for (int row = 0; row < 4; row++) {
        px_buffer_text(&out->text, row ? ", (" : "( (");
        for (int c = 0; c < 3; c++) {
            px_buffer_double(&out->text, a->m[4 * c + row]);
            px_buffer_text(&out->text, ", ");
        }
        px_buffer_text(&out->text, row == 3 ? "1)" : "0)");
    }
    px_buffer_text(&out->text, " )");
}

void px_usd_text(px_usd_out *out, const char *text) {
    px_buffer_text(&out->text, "\"");
    for (const char *p = text; *p; p++) {
        unsigned char c = (unsigned char)*p;
        if (c == '"' || c == '\\')
            px_buffer_format(&out->text, "\\%c", c);
        else if (c < 32)
            px_buffer_format(&out->text, "\\x%02x", c);
        else
            px_buffer_add(&out->text, p, 1);
    }
    px_buffer_text(&out->text, "\"");
}

/* Few digits where they give the same time. */
void px_usd_time(px_usd_out *out, float seconds) {
    double code = seconds * PX_USD_RATE, rounded = floor(code * 1e5 + 0.5) / 1e5;
    px_buffer_double(&out->text, (float)(rounded / PX_USD_RATE) == seconds ? rounded : code);
}

void px_usd_original(px_usd_out *out, const char *name, const char *original) {
    if (strcmp(name, original) == 0)
        return;
    px_usd_start(out, "custom string pelt:name = ");
    px_usd_text(out, original);
    px_buffer_text(&out->text, "\n");
}

/* ---- Names ------------------------------------------------------------------------------------------------------ */

/* The slot of a name, or the empty slot where it belongs. */
static char **find_slot(const px_usd_out *out, const char *name) {
    uint64_t hash = UINT64_C(14695981039346656037);
    for (const char *p = name; *p; p++)
        hash = (hash ^ (unsigned char)*p) * UINT64_C(1099511628211);
    size_t at = (size_t)(hash ^ hash >> 32) & (out->name_size - 1);
    while (out->names[at] && strcmp(out->names[at], name) != 0)
        at = (at + 1) & (out->name_size - 1);
    return &out->names[at];
}

static bool grow_names(px_usd_out *out) {
    size_t old_size = out->name_size;
    char **old = out->names;
    out->name_size = old_size ? 2 * old_size : 256;
    if (!(out->names = PX_NEW(out->arena, char *, out->name_size)))
        return false;
    for (size_t n = 0; n < old_size; n++)
        if (old[n])
            *find_slot(out, old[n]) = old[n];
    return true;
}

const char *px_usd_name(px_usd_out *out, const char *name, const char *fallback) {
    const char *source = name && *name ? name : fallback;
    size_t length = strlen(source);
    char *text = px_arena_alloc(out->arena, length + 24, 1), *p = text;
    if (!text || (2 * out->name_count >= out->name_size && !grow_names(out)))
        return NULL;
    if (source[0] >= '0' && source[0] <= '9')
        *p++ = '_';
    for (size_t i = 0; i < length; i++) {
        char c = source[i];
        bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        *p++ = good ? c : '_';
    }
    *p = 0;
    char **slot = find_slot(out, text);
    for (unsigned n = 1; *slot; n++) {
        snprintf(p, 16, "_%u", n);
        slot = find_slot(out, text);
    }
    *slot = text;
    out->name_count++;
    return text;
}
