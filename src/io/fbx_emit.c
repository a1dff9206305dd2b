/* Binary records of FBX files: see fbx_emit.h. */
#include "io/fbx_emit.h"

#define VERSION   7400u
#define HEAD_SIZE 12u /* end offset, number and size of the values */
#define END_SIZE  13u /* a record of zeros */

static void add_u32(px_buffer *bytes, uint32_t value) {
    uint8_t b[4] = {(uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16), (uint8_t)(value >> 24)};
    px_buffer_add(bytes, b, sizeof b);
}

static void add_u64(px_buffer *bytes, uint64_t value) {
    add_u32(bytes, (uint32_t)value);
    add_u32(bytes, (uint32_t)(value >> 32));
}

static void add_zeros(px_buffer *bytes, size_t count) {
    static const uint8_t zeros[128] = {0};
    px_buffer_add(bytes, zeros, count);
}

/* The type of the next value of the innermost record. */
static void add_type(px_fbx_out *out, char type) {
    out->open[out->depth - 1].value_count++;
    px_buffer_add(&out->bytes, &type, 1);
}

static uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

void px_fbx_start(px_fbx_out *out, pelt_context *context) {
    static const char head[] = "Kaydara FBX Binary  \0\x1a";
    *out = (px_fbx_out){.bytes.context = context};
    px_buffer_add(&out->bytes, head, sizeof head);
    add_u32(&out->bytes, VERSION);
}

/* The footer has two fixed numbers around padding to a multiple of 16; the first one belongs to the creation time of the header
 * (fbx_write.c). */
pelt_result px_fbx_finish(px_fbx_out *out) {
    static const uint8_t first[] = {0xFA, 0xBC, 0xAB, 0x09, 0xD0, 0xC8, 0xD4, 0x66,
                                    0xB1, 0x76, 0xFB, 0x83, 0x1C, 0xF7, 0x26, 0x7E};
    static const uint8_t last[] = {0xF8, 0x5A, 0x8C, 0x6A, 0xDE, 0xF5, 0xD9, 0x7E,
                                   0xEC, 0xE9, 0x0C, 0xE3, 0x75, 0x8F, 0x29, 0x0B};
    add_zeros(&out->bytes, END_SIZE);
    px_buffer_add(&out->bytes, first, sizeof first);
    add_zeros(&out->bytes, 4);
    add_zeros(&out->bytes, 16 - out->bytes.size % 16);
    add_u32(&out->bytes, VERSION);
    add_zeros(&out->bytes, 120);
    px_buffer_add(&out->bytes, last, sizeof last);
    if (out->bytes.failed)
        return PELT_ERROR_MEMORY;
    if (out->bytes.size > UINT32_MAX)
        return px_fail(out->bytes.context, PELT_ERROR_UNSUPPORTED,
                       "would be larger than 4 GB, which FBX 7.4 cannot address");
    return PELT_OK;
}

static void patch(px_buffer *bytes, size_t at, uint64_t value) {
    for (int b = 0; b < 4 && !bytes->failed; b++)
        bytes->data[at + (size_t)b] = (char)(value >> (8 * b));
}

void px_fbx_set_i32(px_fbx_out *out, size_t at, int32_t value) {
    patch(&out->bytes, at, (uint32_t)value);
}

void px_fbx_begin(px_fbx_out *out, const char *name) {
    if (out->depth && !out->open[out->depth - 1].values_end)
        out->open[out->depth - 1].values_end = out->bytes.size;
    out->open[out->depth].start = out->bytes.size;
    out->open[out->depth].values_end = 0;
    out->open[out->depth].value_count = 0;
    out->depth++;
    uint8_t length = (uint8_t)strlen(name);
    add_zeros(&out->bytes, HEAD_SIZE);
    px_buffer_add(&out->bytes, &length, 1);
    px_buffer_add(&out->bytes, name, length);
}

void px_fbx_end(px_fbx_out *out) {
    out->depth--;
    size_t start = out->open[out->depth].start, values_end = out->open[out->depth].values_end;
    if (values_end)
        add_zeros(&out->bytes, END_SIZE);
    else
        values_end = out->bytes.size;
    if (out->bytes.failed)
        return;
    size_t values = start + HEAD_SIZE + 1 + (uint8_t)out->bytes.data[start + HEAD_SIZE];
    patch(&out->bytes, start, out->bytes.size);
    patch(&out->bytes, start + 4, out->open[out->depth].value_count);
    patch(&out->bytes, start + 8, values_end - values);
}

void px_fbx_i32(px_fbx_out *out, int32_t value) {
    add_type(out, 'I');
    add_u32(&out->bytes, (uint32_t)value);
}

void px_fbx_i64(px_fbx_out *out, int64_t value) {
    add_type(out, 'L');
    add_u64(&out->bytes, (uint64_t)value);
}

void px_fbx_f64(px_fbx_out *out, double value) {
    add_type(out, 'D');
    add_u64(&out->bytes, bits_of(value));
}

static void add_sized(px_fbx_out *out, char type, const void *data, size_t size) {
    add_type(out, type);
    add_u32(&out->bytes, (uint32_t)size);
    px_buffer_add(&out->bytes, data, size);
}

void px_fbx_text(px_fbx_out *out, const char *text) {
    add_sized(out, 'S', text, strlen(text));
}

void px_fbx_bytes(px_fbx_out *out, const void *data, size_t size) {
    add_sized(out, 'R', data, size);
}

void px_fbx_object_name(px_fbx_out *out, const char *name, const char *type) {
    add_type(out, 'S');
    add_u32(&out->bytes, (uint32_t)(strlen(name) + 2 + strlen(type)));
    px_buffer_add(&out->bytes, name, strlen(name));
    px_buffer_add(&out->bytes, "\0\1", 2);
    px_buffer_add(&out->bytes, type, strlen(type));
}

void px_fbx_array(px_fbx_out *out, char type, const void *data, size_t count) {
    size_t size = type == 'd' || type == 'l' ? 8 : 4;
    add_type(out, type);
    add_u32(&out->bytes, (uint32_t)count);
    add_u32(&out->bytes, 0); /* not compressed */
    add_u32(&out->bytes, (uint32_t)(count * size));
    for (size_t i = 0; i < count; i++) {
        uint64_t bits = 0;
        uint32_t half = 0;
        if (size == 8)
            memcpy(&bits, (const uint8_t *)data + 8 * i, 8), add_u64(&out->bytes, bits);
        else
            memcpy(&half, (const uint8_t *)data + 4 * i, 4), add_u32(&out->bytes, half);
    }
}

void px_fbx_record_i32(px_fbx_out *out, const char *name, int32_t value) {
    px_fbx_begin(out, name);
    px_fbx_i32(out, value);
    px_fbx_end(out);
}

void px_fbx_record_text(px_fbx_out *out, const char *name, const char *text) {
    px_fbx_begin(out, name);
    px_fbx_text(out, text);
    px_fbx_end(out);
}

void px_fbx_record_array(px_fbx_out *out, const char *name, char type, const void *data, size_t count) {
    px_fbx_begin(out, name);
    px_fbx_array(out, type, data, count);
    px_fbx_end(out);
}
