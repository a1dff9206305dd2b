/* Ogawa, the container of Alembic files: groups of children, each a group or data, all found by their place in the file.
 *
 * The file begins with "Ogawa", 0xFF when its writer closed it, a big-endian u16 version and the root group's place.
 * Everything else is little-endian: a group is a u64 number of children and a u64 for each, data is a u64 size and
 * bytes. The top bit of a child tells data from groups; a place of 0 is empty.
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
    const uint8_t *children; /* u64 each, at any address */
    size_t count;
} ogawa_group;

typedef struct ogawa_data {
    const uint8_t *bytes;
    size_t size;
} ogawa_data;

bool px_ogawa_sniff(const uint8_t *data, size_t size);
/* Checks the head of the file and gives the root. */
pelt_result px_ogawa_open(const ogawa_file *file, ogawa_group *root);
/* A child of a group; 0, the empty group, behind the last. */
uint64_t px_ogawa_child(const ogawa_group *group, size_t index);
bool px_ogawa_is_data(uint64_t child);
/* The child as a group or as data; fails when it is the other or lies outside of the file. From any thread. */
pelt_result px_ogawa_group(const ogawa_file *file, uint64_t child, ogawa_group *group);
pelt_result px_ogawa_data(const ogawa_file *file, uint64_t child, ogawa_data *data);

#endif
