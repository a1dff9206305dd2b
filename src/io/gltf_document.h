/* glTF 2.0 from inside: what the files gltf*.c share.
 *
 * Order of work: gltf.c opens the container and finds the buffers, gltf_accessor.c unpacks numbers, gltf_scene.c makes
 * joints and motions, gltf_mesh.c, gltf_skin.c, gltf_morph.c and gltf_driver.c make the mesh and what moves it. The
 * document (JSON tree and buffers) stays beside the model; gltf_write.c starts from it, gltf_emit*.c and gltf_gather.c replace the
 * data structures that changed, and gltf_pack.c drops what is no longer referenced and lays out the bytes.
 */
#ifndef PELT_IO_GLTF_DOCUMENT_H
#define PELT_IO_GLTF_DOCUMENT_H

#include "core/json.h"
#include "core/math3.h"
#include "io/io.h"

/* A top-level array of the document, for looking up by index. */
typedef struct px_gltf_list {
    px_json **items;
    uint32_t count;
} px_gltf_list;

typedef struct px_gltf_buffer {
    const uint8_t *data; /* NULL: a fallback buffer, or one that the file does not define */
    size_t size;
} px_gltf_buffer;

/* Component types as glTF numbers them. */
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
    uint32_t count;              /* elements … */
    uint32_t first, total;       /* … from this one on, of so many: a slice has fewer */
    uint32_t width;              /* components per element: 1, 2, 3, 4, 16 */
    px_gltf_component component; /* type of a component */
    bool normalized;             /* integers stand for −1…1 or 0…1 */
    const uint8_t *data;         /* first element; NULL: all zero */
    size_t stride;               /* bytes from element to element */
    uint32_t sparse_count;       /* elements replaced by sparse_values */
    px_gltf_component sparse_component;
    const uint8_t *sparse_indices;
    const uint8_t *sparse_values;
} px_gltf_accessor;

/* Where a part of the model came from. */
typedef struct px_gltf_source {
    const px_json *json; /* its primitive */
    uint32_t node, mesh, primitive;
    uint32_t first_vertex, vertex_count; /* when the model was read */
    bool skinned;
    bool off; /* its weights do not sum to one as exactly as the specification wants */
} px_gltf_source;

typedef struct px_gltf {
    pelt_context *context;
    px_arena *memory; /* the model's */
    px_json *root;
    const char *folder; /* "" or with a slash at the end; NULL: read from memory, there is none */
    px_gltf_list buffers_json, views, accessors, nodes, meshes, skins, materials, animations;
    px_gltf_buffer *buffers;
    const uint8_t **decoded; /* [view] meshopt views, unpacked when first used */
    bool unpacked;           /* primitives had KHR_draco_mesh_compression, and are plain now */
    size_t file_size;        /* of the file and all its buffers … */
    size_t budget;           /* … and how many bytes may still be unpacked from it */
    pelt_result failure;     /* of the last px_gltf_new */
    char place[128];         /* what is being read, for messages */
    uint32_t *node_joints;   /* [node] joint */
    uint32_t *joint_nodes;   /* [joint] node */
    bool *shown;             /* [joint] it is in a scene */
    pelt_affine *globals;    /* [joint] rest globals */
    px_gltf_source *sources; /* [part] */
    uint32_t source_count;   /* parts when the model was read … */
    uint32_t vertex_count;   /* … and vertices */
} px_gltf;

/* ---- Reading: failing, looking up, allocating (gltf.c) ---------------------------------------------------- */

/* What is being read: "mesh 3, primitive 0". Messages begin with it. */
void px_gltf_place(px_gltf *doc, const char *format, ...) PELT_PRINTF(2, 3);
pelt_result px_gltf_fail(px_gltf *doc, const char *format, ...) PELT_PRINTF(2, 3);
/* An index below `count` at a key; PELT_NONE when missing. Fails when there is something else. */
pelt_result px_gltf_index(px_gltf *doc, const px_json *object, const char *key, uint32_t count, uint32_t *index);
/* Counts bytes against the budget, so that a small file cannot ask for a lot of memory. */
pelt_result px_gltf_charge(px_gltf *doc, size_t count, size_t size);
/* Zeroed model memory, charged. NULL when there is none: return doc->failure. */
void *px_gltf_new(px_gltf *doc, size_t count, size_t size);
#define PX_GLTF_NEW(doc, type, count) ((type *)px_gltf_new(doc, count, sizeof(type)))
/* Whether the extension only concerns what Pelt leaves alone, or is one that it reads: it refers to no accessors, views
 * or buffers in places that we do not know. */
bool px_gltf_knows_extension(const char *name);

/* ---- URIs (gltf_uri.c) ------------------------------------------------------------------------------------ */

bool px_gltf_is_data_uri(const char *uri);
/* Decodes "data:…;base64,…" into the arena. */
pelt_result px_gltf_data_uri(px_gltf *doc, const char *uri, size_t length, const uint8_t **data, size_t *size);
/* The path that a relative URI means. Fails when it leaves the document's folder, or when there is no folder. */
pelt_result px_gltf_path(px_gltf *doc, px_arena *arena, const char *uri, const char **path);
/* A file name as a URI; NULL when out of memory. */
const char *px_gltf_encode_uri(px_arena *arena, const char *name);

/* ---- Accessors (gltf_accessor.c) -------------------------------------------------------------------------- */

/* Which components an accessor may have in a place. */
enum {
    PX_GLTF_FLOAT = 1,      /* f32 */
    PX_GLTF_UNIT = 2,       /* normalised u8, u16 */
    PX_GLTF_SIGNED = 4,     /* normalised i8, i16 */
    PX_GLTF_INTEGER = 8,    /* u8, u16, not normalised */
    PX_GLTF_INTEGER32 = 16, /* u32 */
    PX_GLTF_ANY = 32        /* every 8- and 16-bit integer: KHR_mesh_quantization */
};

uint32_t px_gltf_component_size(px_gltf_component component);
/* The bytes of a view. */
pelt_result px_gltf_view_bytes(px_gltf *doc, uint32_t view, const uint8_t **data, size_t *size);
/* px_gltf_accessor_get without the bytes: what the accessor says of itself. */
pelt_result px_gltf_accessor_describe(px_gltf *doc, uint32_t index, const char *what, uint32_t width, uint32_t allowed,
                                      px_gltf_accessor *accessor);
/* Looks up an accessor and checks that all its bytes are there, that its elements have `width` components (0: any
 * number) and that their type is one of `allowed`. `what` names its role in messages. */
pelt_result px_gltf_accessor_get(px_gltf *doc, uint32_t index, const char *what, uint32_t width, uint32_t allowed,
                                 px_gltf_accessor *accessor);
/* The same accessor for elements [first, first + count) alone. */
px_gltf_accessor px_gltf_slice(const px_gltf_accessor *accessor, uint32_t first, uint32_t count);
/* The bytes of one element; NULL: it is zero. */
const uint8_t *px_gltf_element(const px_gltf_accessor *accessor, uint32_t element);
/* All elements as floats, out [count][width]. */
pelt_result px_gltf_floats(px_gltf *doc, const px_gltf_accessor *accessor, float *out);
/* All elements as whole numbers, out [count][width]. */
pelt_result px_gltf_uints(px_gltf *doc, const px_gltf_accessor *accessor, uint32_t *out);

/* ---- Draco (gltf_draco.c) --------------------------------------------------------------------------------- */

/* Turns primitives with KHR_draco_mesh_compression into plain ones: new accessors, views and buffers, in the lists and in
 * the JSON. Nothing behind this knows of the extension. */
pelt_result px_gltf_unpack_draco(px_gltf *doc);

/* ---- From document to model ------------------------------------------------------------------------------- */

pelt_result px_gltf_read_skeleton(px_gltf *doc, pelt_model *model);
pelt_result px_gltf_read_motions(px_gltf *doc, pelt_model *model);
pelt_result px_gltf_read_mesh(px_gltf *doc, pelt_model *model);
/* Need the mesh's parts. */
pelt_result px_gltf_read_skin(px_gltf *doc, pelt_model *model);
pelt_result px_gltf_read_morphs(px_gltf *doc, pelt_model *model);
/* Needs the morphs. */
pelt_result px_gltf_read_drivers(px_gltf *doc, pelt_model *model);
/* How many pairs JOINTS_n, WEIGHTS_n there are. */
uint32_t px_gltf_count_sets(const px_json *attributes);
/* Whether an unskinned part of this joint is moved to rest space, and by what: not when that could not be undone. */
bool px_gltf_moves_part(const px_gltf *doc, uint32_t joint, pelt_affine *inverse);
/* An accessor of a primitive that must have as many elements as the part has vertices; index PELT_NONE: there is none.
 */
pelt_result px_gltf_attribute(px_gltf *doc, const px_json *attributes, const char *name, uint32_t count, uint32_t width,
                              uint32_t allowed, px_gltf_accessor *accessor);

/* In place, `count` vectors: points by a; normals by its cofactors, made unit length; tangents by a's 3×3, unit length,
 * handedness turned when a mirrors. */
void px_gltf_move_points(const pelt_affine *a, float *points, size_t count);
void px_gltf_move_normals(const pelt_affine *a, float *normals, size_t count);
void px_gltf_move_tangents(const pelt_affine *a, float *tangents, size_t count);
/* Displacements of the three: by a's 3×3, and by the same matrices as above without their mean scale. */
void px_gltf_move_offsets(const pelt_affine *a, float *offsets, size_t count);
void px_gltf_move_normal_offsets(const pelt_affine *a, float *offsets, size_t count);
void px_gltf_move_tangent_offsets(const pelt_affine *a, float *offsets, size_t count);

/* ---- From model to document ------------------------------------------------------------------------------- */

/* The format's writer (gltf_write.c): .glb, or .gltf with a .bin beside. Other extensions give a GLB. */
pelt_result px_gltf_write(const px_write *write);

/* A node with a mesh. */
typedef struct px_gltf_instance {
    uint32_t joint; /* or PELT_NONE */
    uint32_t node;  /* in the new document */
    bool skinned;   /* its vertices are moved by a skin, else they hang from the node */
    px_json *mesh;
    uint32_t first_morph, morph_count; /* of the model's, those that move it */
} px_gltf_instance;

typedef struct px_gltf_writer {
    pelt_context *context;
    const pelt_model *model;
    px_gltf *source;  /* the document that the model was read from, or NULL */
    px_arena *arena;  /* goes after writing */
    uint32_t changed; /* pelt_change bits of what is written anew; all without a source */
    bool new_nodes;   /* nodes are written anew: no source, or the source's are not the first of the model's joints */
    pelt_weight_format weights;
    bool sparse;   /* displacements may be sparse accessors without a view */
    bool ordered;  /* vertices are to be sorted by their bones */
    bool mended;   /* accessors of the source were replaced though nothing of the model changed */
    bool failed;   /* out of memory */
    px_json *root; /* the new document */
    px_json *accessors, *views, *nodes, *meshes;
    px_buffer data;              /* bytes of new views: their buffer is new_buffer */
    px_buffer zeros;             /* accessors of displacements that are all zero (gltf_sparse.c) */
    uint32_t new_buffer;         /* one behind the source's */
    px_json **joint_nodes;       /* [joint] */
    uint32_t *joint_indices;     /* [joint] node index */
    uint32_t part_count;         /* number of parts */
    pelt_part *parts;            /* [part] the model's, each with a run of vertices */
    pelt_affine *inverses;       /* [part] to the space of its node, when it hangs from that rigidly … */
    bool *rigid;                 /* … [part] whether it could */
    uint32_t *part_instances;    /* [part] */
    px_json **primitives;        /* [part] */
    uint32_t instance_count;     /* number of instances */
    px_gltf_instance *instances; /* [instance] */
    uint32_t *weight_nodes;      /* [joint] the node whose morph targets the joint drives, or PELT_NONE */
} px_gltf_writer;

/* Making JSON. Running out of memory anywhere sets w->failed: check once. */
px_json *px_gltf_put(px_gltf_writer *w, px_json *object, const char *key, px_json *value);
px_json *px_gltf_push(px_gltf_writer *w, px_json *array, px_json *value);
void px_gltf_put_uint(px_gltf_writer *w, px_json *object, const char *key, uint32_t value);
void px_gltf_push_uint(px_gltf_writer *w, px_json *array, uint32_t value);
void px_gltf_put_floats(px_gltf_writer *w, px_json *object, const char *key, const float *values, uint32_t count);
void px_gltf_push_floats(px_gltf_writer *w, px_json *array, const float *values, uint32_t count);
/* The array or object at a key, made when missing. */
px_json *px_gltf_member(px_gltf_writer *w, px_json *object, const char *key, px_json_kind kind);
/* A new node with a name (NULL or "": none); returns its index. */
uint32_t px_gltf_new_node(px_gltf_writer *w, const char *name, px_json **node);
/* Removes a number from the list at a key; an empty list goes too. */
void px_gltf_remove_number(px_gltf_writer *w, px_json *object, const char *key, uint32_t number);
/* Makes a node a root of every scene that shows a joint (PELT_NONE: of every scene), unless it is one already
 * (gltf_emit_scene.c). Every change of scenes goes through here: several may show a node, and any may be the default. */
void px_gltf_add_root(px_gltf_writer *w, uint32_t node, uint32_t joint);
/* A new accessor on a new view; `data` holds count·width components. `target` 34962 for vertices, 34963 for indices or
 * 0. With `bounds` (floats only), min and max are written. */
#define PX_GLTF_VERTICES 34962u
#define PX_GLTF_INDICES  34963u
uint32_t px_gltf_add_accessor(px_gltf_writer *w, const void *data, uint32_t count, uint32_t width,
                              px_gltf_component component, uint32_t target, bool bounds);
/* The same for displacements [count][3]; sparse where that is asked for and takes fewer bytes (gltf_sparse.c). */
uint32_t px_gltf_add_offsets(px_gltf_writer *w, const float *offsets, uint32_t count, bool bounds);
/* min and max of an accessor's floats. */
void px_gltf_put_bounds(px_gltf_writer *w, px_json *accessor, const float *data, uint32_t count, uint32_t width);
/* Adds bytes as a new view; returns its index. */
uint32_t px_gltf_add_view(px_gltf_writer *w, const void *data, size_t size, uint32_t target);

/* gltf_write.c: the new document, all but its last step. */
pelt_result px_gltf_make(px_gltf_writer *w);
/* gltf_level.c: another level of detail of what `w` shows, made from the same file. */
pelt_result px_gltf_add_level(px_gltf_writer *w, const pelt_model *level, uint32_t number);
pelt_result px_gltf_emit_nodes(px_gltf_writer *w);     /* gltf_emit_scene.c: nodes and scenes */
pelt_result px_gltf_weight_nodes(px_gltf_writer *w);   /* gltf_emit_scene.c: where motions find morph weights */
pelt_result px_gltf_emit_motions(px_gltf_writer *w);   /* gltf_emit_scene.c */
pelt_result px_gltf_emit_instances(px_gltf_writer *w); /* gltf_emit_mesh.c: which node shows which parts */
pelt_result px_gltf_emit_meshes(px_gltf_writer *w);    /* gltf_emit_mesh.c */
/* gltf_gather.c: attributes and morph targets of a part's vertices, which are others than in the file. */
pelt_result px_gltf_gather_vertices(px_gltf_writer *w, uint32_t part);
pelt_result px_gltf_emit_skins(px_gltf_writer *w);   /* gltf_emit_skin.c */
pelt_result px_gltf_emit_drivers(px_gltf_writer *w); /* gltf_driver.c */
pelt_result px_gltf_mend(px_gltf_writer *w);         /* gltf_mend.c: errors of the source */
pelt_result px_gltf_order(px_gltf_writer *w);        /* gltf_order.c: vertices sorted by their bones */
/* The primitive of a part in the new document. A shared mesh may have become several where geometry changed. */
px_json *px_gltf_primitive(const px_gltf_writer *w, uint32_t part);
/* Which vertex of its part in the file the part's vertex i is. */
static inline uint32_t px_gltf_origin(const px_gltf_writer *w, uint32_t part, uint32_t i) {
    const uint32_t *origins = w->changed & PELT_CHANGED_VERTICES ? w->model->mesh.origins : NULL;
    return origins ? origins[w->parts[part].first_vertex + i] - w->source->sources[part].first_vertex : i;
}
/* Whether a part shows the same vertices in the same node as the one before. */
bool px_gltf_shares_vertices(const px_gltf_writer *w, uint32_t part);

/* Runs of bytes that, one after another and each padded to 4 bytes, make the new binary buffer. */
typedef struct px_gltf_run {
    const uint8_t *data;
    size_t size;
} px_gltf_run;
typedef struct px_gltf_layout {
    px_gltf_run *runs;
    size_t run_count;
    size_t size;     /* of all, padded */
    px_json *buffer; /* the JSON of the binary buffer, or NULL when there are no bytes */
} px_gltf_layout;
/* Takes a name out of a list of names at a key ("extensionsUsed"), and the list when nothing is left of it. */
void px_gltf_remove_name(px_json *root, const char *key, const char *name);
/* Adds to every number of an accessor and of a view in the document. */
pelt_result px_gltf_shift(px_gltf_writer *w, uint32_t accessors, uint32_t views);
/* Removes what nothing refers to (when something was replaced), and moves everything with bytes into one buffer. */
pelt_result px_gltf_pack(px_gltf_writer *w, px_gltf_layout *layout);

#endif
