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

#endif
