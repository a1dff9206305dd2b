/* Objects and properties of Alembic files, for writing. The tree of objects is made first, by paths; then properties are
 * written, and last the objects with what refers to them. */
#ifndef PELT_IO_ABC_EMIT_H
#define PELT_IO_ABC_EMIT_H

#include "io/abc.h"

/* Metadata of headers, by index; see `texts` in abc_emit.c. */
typedef enum abc_text {
    ABC_TEXT_NONE,
    ABC_TEXT_BOX,
    ABC_TEXT_POSITIONS,
    ABC_TEXT_UVS,
    ABC_TEXT_NORMALS,
    ABC_TEXT_XFORM,
    ABC_TEXT_XFORM_OBJECT,
    ABC_TEXT_MESH,
    ABC_TEXT_MESH_OBJECT,
    ABC_TEXT_FACES,
    ABC_TEXT_FACES_OBJECT
} abc_text;

/* An object: a transform, a mesh or a set of faces. Parents come before their children. */
typedef struct abc_node {
    const char *name; /* unique among its siblings */
    uint32_t parent;  /* index; PELT_NONE: the top object */
    uint32_t first_child, last_child, next;
    abc_text text;       /* of its kind; ABC_TEXT_XFORM_OBJECT until it gets something else */
    uint64_t properties; /* group of its properties */
    uint8_t hashes[32];  /* of its properties and of its children */
    bool filled;         /* has properties */
} abc_node;

typedef struct abc_out {
    pelt_context *context;
    px_arena *memory;
    ogawa_out file;
    px_list nodes;     /* abc_node */
    uint32_t *table;   /* open hash of nodes by parent and name; PELT_NONE: empty */
    size_t table_size; /* a power of 2 */
    uint32_t first_top, last_top;
} abc_out;

/* The object `name` [size] below `parent`. If its last object has this name, it is returned where `share`; else, if any has,
 * the new one gets a number behind its name. Characters that a name cannot have become '_'. */
pelt_result px_abc_add_node(abc_out *out, uint32_t parent, const char *name, size_t size, bool share, uint32_t *node);

/* Properties of one compound. */
#define ABC_COMPOUND_MOST 8
typedef struct abc_properties {
    uint64_t children[ABC_COMPOUND_MOST];
    uint32_t count;
    px_buffer headers;
    px_buffer digest; /* headers and keys of samples: what the hash of the object is made of */
} abc_properties;

typedef struct abc_header {
    const char *name;
    abc_kind kind;
    abc_pod pod;
    uint32_t extent;
    abc_text text;
    uint32_t sample_count; /* at least 1 */
    uint32_t first, last;  /* as in abc_property */
    uint32_t sampling;
} abc_header;

/* Adds a property whose samples are children [count] of its group. `key`: a hash of all samples. */
void px_abc_add_samples(abc_out *out, abc_properties *to, const abc_header *header, const uint64_t *children,
                        size_t count, const uint8_t key[PX_OGAWA_KEY]);
/* Adds a property with one sample for all times. Returns the child that refers to it, which another property can share
 * through `shared`; 0: write it. */
uint64_t px_abc_add_constant(abc_out *out, abc_properties *to, const abc_header *header, const void *values,
                             size_t size, uint64_t shared);
/* Ends a compound and adds it to another. */
void px_abc_add_compound(abc_out *out, abc_properties *to, const char *name, abc_text text, abc_properties *compound);
/* Ends the properties of an object. */
void px_abc_fill_node(abc_out *out, uint32_t node, abc_text text, abc_properties *properties);
void px_abc_free_properties(abc_properties *properties);

/* Writes objects and root. times: of the only sampling besides the default, [time_count]; uniform: one time and a period.
 * Returns the place of the root. */
pelt_result px_abc_end(abc_out *out, double period, const double *times, uint32_t time_count, uint32_t frame_count,
                       uint64_t *root);

#endif
