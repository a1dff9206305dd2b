/* glTF 2.0: declarations shared by the files gltf*.c.
 *
 * Order of work: gltf.c opens the container and finds the buffers, gltf_accessor.c decodes accessors, gltf_scene.c
 * makes joints and motions, gltf_mesh.c, gltf_skin.c, gltf_morph.c and gltf_driver.c make the mesh, its skin, morph
 * targets and drivers. The document (JSON tree and buffers) is kept with the model. gltf_write.c starts from a copy of
 * it, gltf_emit*.c and gltf_gather.c replace the data that changed, and gltf_pack.c removes unreferenced objects and
 * lays out the bytes.
 */
#ifndef PELT_IO_GLTF_DOCUMENT_H
#define PELT_IO_GLTF_DOCUMENT_H

#include "core/json.h"
#include "core/math3.h"
#include "io/layers.h"

/* Numbers [count] of `size` bytes each, 1, 2, 4 or 8, from the order of bytes of this machine to little-endian, or back. */
static inline void px_little_endian(void *numbers, size_t count, size_t size) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    for (uint8_t *p = numbers, *end = p + count * size; size > 1 && p < end; p += size)
        for (size_t low = 0, high = size - 1; low < high; low++, high--) {
            uint8_t kept = p[low];
            p[low] = p[high];
            p[high] = kept;
        }
#else
    (void)numbers;
    (void)count;
    (void)size;
#endif
}

/* A top-level array of the document, indexed. */
typedef struct px_gltf_list {
    px_json **items;
    uint32_t count;
} px_gltf_list;

typedef struct px_gltf_buffer {
    const uint8_t *data; /* NULL: a fallback buffer, or one that the file does not define */
    size_t size;
} px_gltf_buffer;

/* Component types; the values are glTF's. */
typedef enum px_gltf_component {
    PX_GLTF_I8 = 5120,
    PX_GLTF_U8 = 5121,
    PX_GLTF_I16 = 5122,
    PX_GLTF_U16 = 5123,
    PX_GLTF_U32 = 5125,
    PX_GLTF_F32 = 5126
} px_gltf_component;

typedef struct px_gltf_accessor {
    uint32_t index;
    uint32_t count;              /* number of elements in this slice */
    uint32_t first, total;       /* first element of the slice; number of elements of the whole accessor */
    uint32_t width;              /* components per element: 1, 2, 3, 4, 9, 16 */
    px_gltf_component component; /* type of a component */
    uint32_t size;               /* bytes per element; columns of matrices are aligned to 4 bytes */
    bool normalized;             /* integers represent −1…1 or 0…1 */
    const uint8_t *data;         /* first element of the accessor; NULL: all zero */
    size_t stride;               /* bytes from one element to the next */
    uint32_t sparse_count;       /* number of elements that sparse_values replaces */
    px_gltf_component sparse_component;
    const uint8_t *sparse_indices;
    const uint8_t *sparse_values;
} px_gltf_accessor;

/* Origin of a part of the model in the document. */
typedef struct px_gltf_source {
    const px_json *json; /* the primitive */
    uint32_t node, mesh, primitive;
    uint32_t first_vertex, vertex_count; /* in the model, as read */
    bool skinned;
    bool off; /* the weights miss a sum of 1 by more than the specification allows */
} px_gltf_source;

typedef struct px_gltf {
    pelt_context *context;
    px_arena *memory; /* arena of the model */
    px_json *root;
    const char *folder; /* "" or ends with a slash; NULL: read from memory, no folder */
    px_gltf_list buffers_json, views, accessors, nodes, meshes, skins, materials, animations;
    px_gltf_buffer *buffers;
    const uint8_t **decoded; /* [view] decoded meshopt views, filled on first use; NULL: not decoded */
    bool unpacked;           /* the file had KHR_draco_mesh_compression; its primitives are plain now */
    size_t file_size;        /* bytes of the file and all its buffers */
    size_t budget;           /* bytes that may still be decoded or allocated; see px_gltf_charge */
    pelt_result failure;     /* result of the last px_gltf_new that returned NULL */
    char place[128];         /* the object being read, for messages */
    uint32_t *node_joints;   /* [node] joint of the node */
    uint32_t *joint_nodes;   /* [joint] node of the joint */
    bool *shown;             /* [joint] the joint is in a scene */
    pelt_affine *globals;    /* [joint] global rest transforms */
    px_gltf_source *sources; /* [part] */
    uint32_t source_count;   /* number of parts when the model was read */
    uint32_t vertex_count;   /* number of vertices when the model was read */
} px_gltf;

/* ---- Reading: errors, lookup, allocation (gltf.c) --------------------------------------------------------- */

/* Sets the object being read, for example "mesh 3, primitive 0". Error messages begin with it. */
void px_gltf_place(px_gltf *doc, const char *format, ...) PELT_PRINTF(2, 3);
pelt_result px_gltf_fail(px_gltf *doc, const char *format, ...) PELT_PRINTF(2, 3);
/* Reads an index below `count` at a key; PELT_NONE if the key is missing. Fails on any other value. */
pelt_result px_gltf_index(px_gltf *doc, const px_json *object, const char *key, uint32_t count, uint32_t *index);
/* Subtracts count · size bytes from the budget; fails if it is used up. Keeps small files from allocating much memory.
 */
pelt_result px_gltf_charge(px_gltf *doc, size_t count, size_t size);
/* Allocates zeroed memory in the model, charged to the budget. On NULL, return doc->failure. */
void *px_gltf_new(px_gltf *doc, size_t count, size_t size);
#define PX_GLTF_NEW(doc, type, count) ((type *)px_gltf_new(doc, count, sizeof(type)))
/* Returns true for extensions that Pelt reads, and for those that refer to accessors, views or buffers only in places
 * that Pelt knows. */
bool px_gltf_knows_extension(const char *name);

/* ---- URIs (gltf_uri.c) ------------------------------------------------------------------------------------ */

bool px_gltf_is_data_uri(const char *uri);
/* Decodes "data:…;base64,…" into the arena. */
pelt_result px_gltf_data_uri(px_gltf *doc, const char *uri, size_t length, const uint8_t **data, size_t *size);
/* The path of a relative URI. Fails if it leaves the document's folder, or if there is no folder. */
pelt_result px_gltf_path(px_gltf *doc, px_arena *arena, const char *uri, const char **path);
/* Encodes a file name as a URI. NULL: out of memory. */
const char *px_gltf_encode_uri(px_arena *arena, const char *name);

/* ---- Accessors (gltf_accessor.c) -------------------------------------------------------------------------- */

/* Component types that a use of an accessor allows; bits. */
enum {
    PX_GLTF_FLOAT = 1,      /* f32 */
    PX_GLTF_UNIT = 2,       /* normalised u8, u16 */
    PX_GLTF_SIGNED = 4,     /* normalised i8, i16 */
    PX_GLTF_INTEGER = 8,    /* u8, u16, not normalised */
    PX_GLTF_INTEGER32 = 16, /* u32 */
    PX_GLTF_ANY = 32        /* all 8- and 16-bit integers: KHR_mesh_quantization */
};

uint32_t px_gltf_component_size(px_gltf_component component);
/* Sets width, component and size from an accessor's JSON; width or size is 0 when its type is unknown. */
void px_gltf_get_shape(const px_json *json, px_gltf_accessor *a);
#define PX_GLTF_MESHOPT "EXT_meshopt_compression"
/* The object of a view that says how it is compressed, or NULL. */
static inline px_json *px_gltf_compressed(const px_json *view) {
    return px_json_get(px_json_get(view, "extensions"), PX_GLTF_MESHOPT);
}
/* The bytes of a buffer view, decoded if it is compressed. */
pelt_result px_gltf_view_bytes(px_gltf *doc, uint32_t view, const uint8_t **data, size_t *size);
/* Like px_gltf_accessor_get, but reads only the accessor's JSON, not its bytes. */
pelt_result px_gltf_accessor_describe(px_gltf *doc, uint32_t index, const char *what, uint32_t width, uint32_t allowed,
                                      px_gltf_accessor *accessor);
/* Looks up an accessor. Checks that all its bytes exist, that its elements have `width` components (0: any number) and
 * that their type is in `allowed`. `what` names its role in messages. */
pelt_result px_gltf_accessor_get(px_gltf *doc, uint32_t index, const char *what, uint32_t width, uint32_t allowed,
                                 px_gltf_accessor *accessor);
/* The accessor restricted to elements [first, first + count). */
px_gltf_accessor px_gltf_slice(const px_gltf_accessor *accessor, uint32_t first, uint32_t count);
/* The bytes of one element. NULL: the element is zero. */
const uint8_t *px_gltf_element(const px_gltf_accessor *accessor, uint32_t element);
/* Decodes all elements to floats, out [count][width]. */
pelt_result px_gltf_floats(px_gltf *doc, const px_gltf_accessor *accessor, float *out);
/* Decodes all elements to unsigned integers, out [count][width]. */
pelt_result px_gltf_uints(px_gltf *doc, const px_gltf_accessor *accessor, uint32_t *out);

/* ---- Draco (gltf_draco.c) --------------------------------------------------------------------------------- */

/* Converts primitives with KHR_draco_mesh_compression to plain ones: adds accessors, views and buffers to the lists and
 * to the JSON. Later steps do not see the extension. */
pelt_result px_gltf_unpack_draco(px_gltf *doc);

/* ---- From document to model ------------------------------------------------------------------------------- */

pelt_result px_gltf_read_skeleton(px_gltf *doc, pelt_model *model);
pelt_result px_gltf_read_motions(px_gltf *doc, pelt_model *model);
pelt_result px_gltf_read_mesh(px_gltf *doc, pelt_model *model);
/* These two require the mesh's parts. */
pelt_result px_gltf_read_skin(px_gltf *doc, pelt_model *model);
pelt_result px_gltf_read_morphs(px_gltf *doc, pelt_model *model);
/* Requires the morph targets. */
pelt_result px_gltf_read_drivers(px_gltf *doc, pelt_model *model);
pelt_result px_gltf_read_sliders(px_gltf *doc, pelt_model *model);
/* gltf_driver.c, for both: a member that must be a list, the joint of a node that must be given, and what remains of a failure
 * of extras: a warning that the file is read `without` them. */
pelt_result px_gltf_read_list(px_gltf *doc, const px_json *object, const char *key, const px_json **list);
pelt_result px_gltf_read_joint(px_gltf *doc, const px_json *object, const char *key, uint32_t *joint);
void px_gltf_warn_extras(px_gltf *doc, const char *without);
/* Number of attribute pairs JOINTS_n, WEIGHTS_n. */
uint32_t px_gltf_count_sets(const px_json *attributes);
/* Whether an unskinned part at this joint is moved to rest space. False if the transform cannot be inverted. `inverse`
 * gets the inverse transform. */
bool px_gltf_moves_part(const px_gltf *doc, uint32_t joint, pelt_affine *inverse);
/* An attribute of a primitive, with one element per vertex of the part. accessor->index PELT_NONE: the attribute is
 * missing. */
pelt_result px_gltf_attribute(px_gltf *doc, const px_json *attributes, const char *name, uint32_t count, uint32_t width,
                              uint32_t allowed, px_gltf_accessor *accessor);

/* Transform `count` vectors in place. Points: by a. Normals: by the cofactor matrix of a, normalized. Tangents: by the
 * 3×3 part of a, normalized; the handedness changes sign if a mirrors. */
void px_gltf_move_points(const pelt_affine *a, float *points, size_t count);
void px_gltf_move_normals(const pelt_affine *a, float *normals, size_t count);
void px_gltf_move_tangents(const pelt_affine *a, float *tangents, size_t count);
/* Displacements of points: by the 3×3 part of a. Displacements of normals and tangents: by the same matrices as above,
 * divided by their mean scale. */
void px_gltf_move_offsets(const pelt_affine *a, float *offsets, size_t count);
void px_gltf_move_normal_offsets(const pelt_affine *a, float *offsets, size_t count);
void px_gltf_move_tangent_offsets(const pelt_affine *a, float *offsets, size_t count);

/* ---- From model to document ------------------------------------------------------------------------------- */

/* The writer of the format (gltf_write.c): .glb, or .gltf with a .bin file. Any other extension gives a GLB. */
pelt_result px_gltf_write(const px_write *write);

/* A node with a mesh. */
typedef struct px_gltf_instance {
    uint32_t joint; /* PELT_NONE: none */
    uint32_t node;  /* index in the new document */
    bool skinned;   /* a skin moves its vertices; false: the node does */
    px_json *mesh;
    uint32_t first_morph, morph_count; /* morph targets of the model that deform it */
} px_gltf_instance;

typedef struct px_gltf_writer {
    pelt_context *context;
    const pelt_model *model;
    px_gltf *source;  /* the document that the model was read from, or NULL */
    px_arena *arena;  /* freed after writing */
    uint32_t changed; /* pelt_change bits of the data to rewrite; all bits without a source */
    bool new_nodes;   /* rewrite all nodes: no source, or its nodes are not the first joints of the model */
    pelt_weight_format weights;
    bool sparse;         /* displacements may become sparse accessors without a view */
    px_layers layers;    /* without a source: further texture coordinates and colours of a file of another format */
    const float *lookup; /* [vertex][2] a second set of texture coordinates; NULL: none */
    bool ordered;        /* sort the vertices by their bones */
    bool plain;          /* nothing stays compressed or quantised */
    bool mended;         /* accessors of the source were replaced although the model did not change */
    bool failed;         /* out of memory */
    px_json *root;       /* the new document */
    px_json *accessors, *views, *nodes, *meshes;
    px_buffer data;           /* bytes of the new views, stored in buffer new_buffer */
    px_buffer zeros;          /* list of all-zero accessors that can be shared (gltf_sparse.c) */
    uint32_t new_buffer;      /* index of the new buffer: the source's buffer count */
    size_t fallback_size;     /* bytes of buffer new_buffer + 1, which has no data: compressed views name it; 0: none */
    px_json **joint_nodes;    /* [joint] JSON of its node */
    uint32_t *joint_indices;  /* [joint] index of its node */
    uint32_t *node_map;       /* new_nodes: [node of the source] its index now, or PELT_NONE */
    uint32_t part_count;      /* number of parts */
    pelt_part *parts;         /* [part] copies of the model's parts, each with a contiguous range of vertices */
    pelt_affine *inverses;    /* [part] rest space to the space of its node, if rigid */
    bool *rigid;              /* [part] the part can be attached to its node rigidly, without a skin */
    uint32_t *part_instances; /* [part] index of its instance */
    px_json **primitives;     /* [part] JSON of its primitive */
    uint32_t instance_count;  /* number of instances */
    px_gltf_instance *instances; /* [instance] */
    uint32_t *images;            /* [image_count] numbers of images of another format that the document has */
    uint32_t image_count;
    uint32_t *weight_nodes; /* [joint] node whose morph weights the joint's motions set, or PELT_NONE */
} px_gltf_writer;

/* Construction of JSON. Out of memory sets w->failed: check it once at the end. */
px_json *px_gltf_put(px_gltf_writer *w, px_json *object, const char *key, px_json *value);
px_json *px_gltf_push(px_gltf_writer *w, px_json *array, px_json *value);
void px_gltf_put_uint(px_gltf_writer *w, px_json *object, const char *key, uint32_t value);
void px_gltf_push_uint(px_gltf_writer *w, px_json *array, uint32_t value);
void px_gltf_put_floats(px_gltf_writer *w, px_json *object, const char *key, const float *values, uint32_t count);
void px_gltf_push_floats(px_gltf_writer *w, px_json *array, const float *values, uint32_t count);
/* The array or object at a key; created if missing. */
px_json *px_gltf_member(px_gltf_writer *w, px_json *object, const char *key, px_json_kind kind);
/* Adds a node with a name (NULL or "": none); returns its index. */
uint32_t px_gltf_new_node(px_gltf_writer *w, const char *name, px_json **node);
/* Removes a number from the array at a key. Removes the key if the array becomes empty. */
void px_gltf_remove_number(px_gltf_writer *w, px_json *object, const char *key, uint32_t number);
/* Adds a node to the roots of every scene that contains a joint (PELT_NONE: of every scene), unless it is a root
 * already (gltf_emit_scene.c). All changes of scenes use this function: several scenes may contain a node, and any of
 * them may be the default. */
void px_gltf_add_root(px_gltf_writer *w, uint32_t node, uint32_t joint);
/* Adds an accessor on a new view; `data` holds count · width components. `target`: 34962 for vertices, 34963 for
 * indices, 0 for none. `bounds` (floats only): write min and max. */
#define PX_GLTF_VERTICES 34962u
#define PX_GLTF_INDICES  34963u
uint32_t px_gltf_add_accessor(px_gltf_writer *w, const void *data, uint32_t count, uint32_t width,
                              px_gltf_component component, uint32_t target, bool bounds);
/* The same for displacements [count][3]; sparse if w->sparse is set and it takes fewer bytes (gltf_sparse.c). */
uint32_t px_gltf_add_offsets(px_gltf_writer *w, const float *offsets, uint32_t count, bool bounds);
/* The same for keys of morph weights [count]. */
uint32_t px_gltf_add_weights(px_gltf_writer *w, const float *weights, uint32_t count);
/* Writes min and max of float data to an accessor. */
void px_gltf_put_bounds(px_gltf_writer *w, px_json *accessor, const float *data, uint32_t count, uint32_t width);
/* Adds a buffer view with a copy of the bytes; returns its index. */
uint32_t px_gltf_add_view(px_gltf_writer *w, const void *data, size_t size, uint32_t target);
/* The same for numbers [count] of `size` bytes each in the order of bytes of this machine. */
uint32_t px_gltf_add_numbers(px_gltf_writer *w, const void *data, size_t count, size_t size, uint32_t target);

/* gltf_write.c: builds the new document, except for the packing. */
pelt_result px_gltf_make(px_gltf_writer *w);
/* gltf_level.c: adds a further level of detail of the model in `w`, made from the same file. */
pelt_result px_gltf_add_level(px_gltf_writer *w, const pelt_model *level, uint32_t number);
pelt_result px_gltf_emit_nodes(px_gltf_writer *w);     /* gltf_emit_scene.c: nodes and scenes */
pelt_result px_gltf_weight_nodes(px_gltf_writer *w);   /* gltf_emit_scene.c: target nodes of animated morph weights */
pelt_result px_gltf_emit_motions(px_gltf_writer *w);   /* gltf_emit_scene.c */
pelt_result px_gltf_emit_instances(px_gltf_writer *w); /* gltf_emit_mesh.c: assignment of parts to nodes */
pelt_result px_gltf_emit_meshes(px_gltf_writer *w);    /* gltf_emit_mesh.c */
/* gltf_gather.c: rewrites the attributes and morph targets of a part whose vertices differ from those in the file. */
pelt_result px_gltf_gather_vertices(px_gltf_writer *w, uint32_t part);
pelt_result px_gltf_emit_skins(px_gltf_writer *w);   /* gltf_emit_skin.c */
pelt_result px_gltf_emit_drivers(px_gltf_writer *w); /* gltf_driver.c */
pelt_result px_gltf_emit_sliders(px_gltf_writer *w); /* gltf_slider.c */
/* gltf_driver.c: a new object `key` in the extras of the document, or NULL where it is not wanted; `what`: its content, for
 * a warning. A previous one is removed. */
px_json *px_gltf_extras(px_gltf_writer *w, const char *key, bool wanted, const char *what);
void px_gltf_put_transfer(px_gltf_writer *w, uint32_t part, float *scratch); /* gltf_light.c */
pelt_result px_gltf_emit_light(px_gltf_writer *w);                           /* gltf_light.c */
pelt_result px_gltf_mend(px_gltf_writer *w);  /* gltf_mend.c: corrects errors of the source */
pelt_result px_gltf_plain(px_gltf_writer *w); /* gltf_plain.c: decodes what the source compressed or quantised */
pelt_result px_gltf_order(px_gltf_writer *w); /* gltf_order.c: sorts vertices by their bones */
/* gltf_material.c: fills a new material from the one with this name of a file of another format. */
void px_gltf_fill_material(px_gltf_writer *w, px_json *material, const char *name);
/* The primitive of a part in the new document. A mesh that several nodes share may have been split if geometry changed.
 */
px_json *px_gltf_primitive(const px_gltf_writer *w, uint32_t part);
/* Maps vertex i of a part to its index in the part as it is in the file. */
static inline uint32_t px_gltf_origin(const px_gltf_writer *w, uint32_t part, uint32_t i) {
    const uint32_t *origins = w->changed & PELT_CHANGED_VERTICES ? w->model->mesh.origins : NULL;
    return origins ? origins[w->parts[part].first_vertex + i] - w->source->sources[part].first_vertex : i;
}
/* Whether a part has the same vertices and the same node as the previous part. */
bool px_gltf_shares_vertices(const px_gltf_writer *w, uint32_t part);

/* A run of bytes. The runs, concatenated and each padded to 4 bytes, form the new binary buffer. */
typedef struct px_gltf_run {
    const uint8_t *data;
    size_t size;
} px_gltf_run;
typedef struct px_gltf_layout {
    px_gltf_run *runs;
    size_t run_count;
    size_t size;     /* bytes of all runs, padded */
    px_json *buffer; /* JSON of the binary buffer; NULL: there are no bytes */
} px_gltf_layout;
/* Removes a name from the array of names at a key ("extensionsUsed"). Removes the key if the array becomes empty. */
void px_gltf_remove_name(px_json *root, const char *key, const char *name);
/* An extension of the document that may refer to accessors, views or buffers in places unknown to Pelt, or NULL. */
const char *px_gltf_unknown_extension(const px_json *root);
/* Replaces the value of a JSON number. */
void px_gltf_set_uint(px_gltf_writer *w, px_json *number, uint32_t value);
/* gltf_vrm.c: renumbers nodes in the data of VRM avatars, or removes it. After all nodes and meshes are made. */
void px_gltf_mend_vrm(px_gltf_writer *w);
/* Whether a node has neither a camera nor an extension besides a VRM constraint. */
bool px_gltf_is_constrained_only(const px_json *node);
/* gltf_compress.c: rounds and encodes all accessors. The last step before px_gltf_pack. */
pelt_result px_gltf_compress(px_gltf_writer *w, const px_precision *precision);
/* Adds offsets to every accessor index and every view index in the document. */
pelt_result px_gltf_shift(px_gltf_writer *w, uint32_t accessors, uint32_t views);
/* Removes unreferenced objects (if anything was replaced) and moves all bytes into one buffer. */
pelt_result px_gltf_pack(px_gltf_writer *w, px_gltf_layout *layout);

#endif
