/* Shared by the files of the PLY format: the parsed header. */
#ifndef PELT_IO_PLY_H
#define PELT_IO_PLY_H

#include "io/polygons.h"

typedef enum ply_encoding { PLY_ASCII, PLY_LITTLE, PLY_BIG } ply_encoding;
typedef enum ply_type { PLY_I8, PLY_U8, PLY_I16, PLY_U16, PLY_I32, PLY_U32, PLY_F32, PLY_F64, PLY_NONE } ply_type;

/* Meaning of a property. Slots below PLY_SLOT_COUNT are indices into the values of one vertex; the others belong to
 * faces and strips. */
typedef enum ply_slot {
    PLY_SLOT_POSITION,
    PLY_SLOT_NORMAL = 3,
    PLY_SLOT_UV = 6,
    PLY_SLOT_POINT = 8,
    PLY_SLOT_COUNT,
    PLY_SLOT_INDICES = PLY_SLOT_COUNT,
    PLY_SLOT_TEXCOORD,
    PLY_SLOT_UNKNOWN
} ply_slot;

typedef struct ply_property {
    px_text name;
    ply_type type;       /* type of the value, or of the list's elements */
    ply_type count_type; /* type of the list's length; PLY_NONE: not a list */
    ply_slot slot;
} ply_property;

typedef struct ply_element {
    px_text name;
    uint64_t count;
    size_t first_property, property_count;
} ply_element;

typedef struct ply_header {
    ply_encoding encoding;
    px_list elements;   /* ply_element */
    px_list properties; /* ply_property */
    size_t size;        /* byte offset of the body */
} ply_header;

/* Parses the header. The caller frees its lists, also on failure. */
pelt_result px_ply_read_header(pelt_context *context, const px_file *file, ply_header *header);
/* Size of a value in a binary file, in bytes. */
size_t px_ply_size(ply_type type);

pelt_result px_ply_read(const px_read *read);
pelt_result px_ply_write(const px_write *write);

/* Vertex property that stores the point index of each vertex if the mesh has split vertices. Other programs ignore it.
 */
#define PLY_POINT "pelt_point"

#endif
