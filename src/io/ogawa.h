/* Ogawa, the container of Alembic files: a tree of groups and data blocks, addressed by their offsets in the file.
 *
 * The file begins with "Ogawa", a byte that is 0xFF if the writer closed the file, a big-endian u16 version and the
 * offset of the root group. Everything else is little-endian: a group is a u64 child count and a u64 per child, data is
 * a u64 size and the bytes. The top bit of a child marks data; offset 0 is an empty group or empty data.
 */
#ifndef PELT_IO_OGAWA_H
#define PELT_IO_OGAWA_H

#include "io/io.h"

typedef struct ogawa_file {
    pelt_context *context; /* for messages */
    const uint8_t *bytes;
    size_t size;
} ogawa_file;

typedef struct ogawa_group {
    const uint8_t *children; /* [count] u64 each, unaligned */
    size_t count;
} ogawa_group;

typedef struct ogawa_data {
    const uint8_t *bytes;
    size_t size;
} ogawa_data;

bool px_ogawa_sniff(const uint8_t *data, size_t size);
/* Checks the file header and finds the root group. */
pelt_result px_ogawa_open(const ogawa_file *file, ogawa_group *root);
/* A child of a group. Index out of range: 0, the empty group. */
uint64_t px_ogawa_child(const ogawa_group *group, size_t index);
bool px_ogawa_is_data(uint64_t child);
/* Resolve a child as a group or as data. Fail if it is of the other kind or lies outside the file. Thread-safe. */
pelt_result px_ogawa_group(const ogawa_file *file, uint64_t child, ogawa_group *group);
pelt_result px_ogawa_data(const ogawa_file *file, uint64_t child, ogawa_data *data);

/* ---- Writing (ogawa_write.c) ------------------------------------------------------------------------------ */

/* Size of the key before the values of a sample. */
#define PX_OGAWA_KEY ((size_t)16)

/* The end of a file: groups and data after what is streamed before them. */
typedef struct ogawa_out {
    px_buffer bytes;
    uint64_t base; /* offset of bytes in the file, at least PX_OGAWA_HEADER */
} ogawa_out;

#define PX_OGAWA_HEADER ((size_t)16)
/* Fills the first bytes of a file whose root group is at `root`. */
void px_ogawa_header(uint64_t root, uint8_t header[PX_OGAWA_HEADER]);

void px_ogawa_store(void *out, uint64_t value, size_t size); /* little-endian, size 1 to 8 */
void px_ogawa_number(px_buffer *bytes, uint64_t value, size_t size);
/* 32-bit values, little-endian. */
void px_ogawa_words(void *out, const void *values, size_t count);

/* The key of a sample: MurmurHash3 (x64, 128 bits, seed 0) of its values as stored. Programs take samples with equal
 * keys for equal. */
void px_ogawa_key(const void *values, size_t size, uint8_t key[PX_OGAWA_KEY]);

/* Append a group, data, or a sample with its key; return the child that refers to it. */
uint64_t px_ogawa_put_group(ogawa_out *out, const uint64_t *children, size_t count);
uint64_t px_ogawa_put_data(ogawa_out *out, const void *bytes, size_t size);
uint64_t px_ogawa_put_sample(ogawa_out *out, const uint8_t key[PX_OGAWA_KEY], const void *values, size_t size);
/* The child that refers to data at an offset of the file. */
uint64_t px_ogawa_data_at(uint64_t place);

#endif
