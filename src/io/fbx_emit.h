/* Binary records of FBX files, for writing (version 7.4). */
#ifndef PELT_IO_FBX_EMIT_H
#define PELT_IO_FBX_EMIT_H

#include "io/io.h"

#define PX_FBX_DEPTH 16u

/* Records are nested: px_fbx_begin, values, records below it, px_fbx_end. */
typedef struct px_fbx_out {
    px_buffer bytes;
    struct {
        size_t start, values_end; /* of the record; values_end 0: no record below it yet */
        uint32_t value_count;
    } open[PX_FBX_DEPTH];
    uint32_t depth;
} px_fbx_out;

void px_fbx_start(px_fbx_out *out, pelt_context *context);
/* Ends the file. Fails when it is over 4 GB, which version 7.4 cannot address. */
pelt_result px_fbx_finish(px_fbx_out *out);
void px_fbx_begin(px_fbx_out *out, const char *name);
void px_fbx_end(px_fbx_out *out);
void px_fbx_i32(px_fbx_out *out, int32_t value);
/* Replaces the value at an offset of the file. */
void px_fbx_set_i32(px_fbx_out *out, size_t at, int32_t value);
void px_fbx_i64(px_fbx_out *out, int64_t value);
void px_fbx_f64(px_fbx_out *out, double value);
void px_fbx_text(px_fbx_out *out, const char *text);
void px_fbx_bytes(px_fbx_out *out, const void *data, size_t size);
/* Name and class of an object. */
void px_fbx_object_name(px_fbx_out *out, const char *name, const char *type);
/* Arrays of `type` d, f, i or l. */
void px_fbx_array(px_fbx_out *out, char type, const void *data, size_t count);
/* A record with one value or array. */
void px_fbx_record_i32(px_fbx_out *out, const char *name, int32_t value);
void px_fbx_record_text(px_fbx_out *out, const char *name, const char *text);
void px_fbx_record_array(px_fbx_out *out, const char *name, char type, const void *data, size_t count);

#endif
