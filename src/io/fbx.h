/* FBX files: the tree of records, and the scene of objects and connections in it.
 *
 *   fbx_tree.c    records of a file, binary or text, as one tree
 *   fbx_scene.c   objects, connections, properties, transforms; nodes become joints
 *   fbx_polygons.c  polygons and layers of one geometry
 *   fbx_mesh.c    geometries become one mesh with parts, skin and morph targets
 *   fbx_motion.c  curves become motions
 *   fbx.c         the format
 *   fbx_write.c   writes models (fbx_write.h), with records of fbx_emit.c
 */
#ifndef PELT_IO_FBX_H
#define PELT_IO_FBX_H

#include "core/rotation.h"
#include "io/io.h"
#include "io/polygons.h"

pelt_result px_fbx_write(const px_write *write); /* fbx_write.c */

/* Property of nodes with the name that they had in the model: names in files are unique. */
#define PX_FBX_ORIGINAL_NAME "pelt_name"

/* ---- Records (fbx_tree.c) ----------------------------------------------------------------------------------- */

typedef enum px_fbx_kind { PX_FBX_INTEGER, PX_FBX_NUMBER, PX_FBX_TEXT, PX_FBX_ARRAY } px_fbx_kind;

typedef struct px_fbx_value {
    px_fbx_kind kind;
    int64_t integer; /* of INTEGER, and of NUMBER rounded */
    double number;   /* of INTEGER and NUMBER */
    px_text text;    /* TEXT: content; ARRAY: its bytes */
    char type;       /* ARRAY: i l f d b c as in the file; 't': numbers as text */
    bool packed;     /* ARRAY: compressed */
    uint32_t count;  /* ARRAY: elements; 't': 0, not known */
} px_fbx_value;

typedef struct px_fbx_node {
    px_text name;
    px_fbx_value *values; /* [value_count] */
    uint32_t value_count;
    struct px_fbx_node *first, *next; /* first child, next sibling */
} px_fbx_node;

typedef struct px_fbx_object px_fbx_object;
typedef struct px_fbx_link px_fbx_link;

typedef struct px_fbx {
    const px_read *read;
    pelt_context *context;
    px_arena *arena; /* of the tree and the scene; freed at the end of reading */
    uint32_t version;
    px_fbx_node *root;

    px_fbx_object *objects; /* [object_count] by id */
    uint32_t object_count;
    px_fbx_object *first_object; /* in the order of the file */
    px_fbx_link *links;          /* [link_count] in the order of the file */
    uint32_t link_count;
    px_fbx_object **joints; /* [joint] */
    px_layers layers;       /* further layers of the mesh */
    double fps;
} px_fbx;

/* Reads the records of the file. */
pelt_result px_fbx_parse(px_fbx *fbx);
/* The first child of this name, or NULL; `node` may be NULL. */
const px_fbx_node *px_fbx_child(const px_fbx_node *node, const char *name);
/* The value with this index, or NULL. */
const px_fbx_value *px_fbx_at(const px_fbx_node *node, uint32_t index);
/* The array of a node as doubles [*count], in the arena; *count 0 where the node is NULL or has none. */
pelt_result px_fbx_numbers(px_fbx *fbx, const px_fbx_node *node, double **numbers, size_t *count);
/* The same as indices. Values that are no whole numbers of 32 bits are an error. */
pelt_result px_fbx_indices(px_fbx *fbx, const px_fbx_node *node, int32_t **indices, size_t *count);

/* ---- Scene (fbx_scene.c) ------------------------------------------------------------------------------------ */

/* The parameters of a node's transform that are fixed. */
typedef struct px_fbx_frame {
    double translation[3], turn[3], scale[3]; /* Lcl Translation, Rotation (degrees), Scaling; animated ones change */
    double rotation_offset[3], rotation_pivot[3], scaling_offset[3], scaling_pivot[3];
    px_rotation before, after; /* pre-rotation, inverse of the post-rotation */
    int order;                 /* of the Euler angles, 0: x first, then y, then z … */
    bool unscaled;             /* the scale of the parent is not inherited */
} px_fbx_frame;

struct px_fbx_object {
    int64_t id;
    const px_fbx_node *node;
    const px_fbx_node *properties; /* Properties70 or NULL */
    px_text name, kind;            /* "Cube", "Mesh" */
    uint32_t joint;                /* of a Model; PELT_NONE: none */
    px_fbx_frame frame;            /* of a Model with a joint */
    const px_fbx_object *above;    /* parent of a Model with a joint; NULL: a root */
    struct px_fbx_object *next;    /* in the order of the file */
};

/* A connection: the child belongs to the parent, or sets a property of it. */
struct px_fbx_link {
    px_fbx_object *child, *parent; /* parent NULL: the scene */
    px_text property;              /* no data: none */
};

/* Objects and connections; nodes become joints with their rest pose. */
pelt_result px_fbx_read_scene(px_fbx *fbx);
/* Whether an object is a record of this name ("Geometry") and kind ("Mesh"; NULL: any). */
bool px_fbx_is(const px_fbx_object *object, const char *name, const char *kind);
/* The next object after `last` (NULL: the first) that is connected to `parent` without a property and is of this sort; NULL: none. */
px_fbx_object *px_fbx_next_child(const px_fbx *fbx, const px_fbx_object *parent, const char *name, const char *kind,
                                 const px_fbx_object *last);
/* The values of a property, [width] numbers; others keep what they are. False: the object does not have it. */
bool px_fbx_property(const px_fbx_object *object, const char *name, double *values, int width);
/* The rotation of Euler angles in degrees, in this order (px_fbx_frame). */
px_rotation px_fbx_turn(const double degrees[3], int order);
/* The local transform of a node with these Lcl values; parent_scale is Lcl Scaling of its parent (NULL: none). */
pelt_transform px_fbx_local(const px_fbx_frame *frame, const double translation[3], px_rotation turn,
                            const double scale[3], const double parent_scale[3]);
/* A matrix of 16 numbers as files store it. */
bool px_fbx_matrix(const double m[16], pelt_affine *out);
/* A copy of a name in the model's memory. */
const char *px_fbx_name(px_fbx *fbx, px_text name);

/* ---- Content ------------------------------------------------------------------------------------------------- */

/* One geometry at a node (fbx_polygons.c). */
typedef struct px_fbx_geometry {
    px_fbx_object *node, *object;
    pelt_affine place; /* geometric offsets */
    pelt_affine turn;  /* the same for normals */
    px_polygons content;
    px_list vertices;  /* px_corner */
    pelt_model *built; /* has the mesh, without parts */
    px_layers layers;  /* further layers of its vertices */
    uint32_t material_count;
    uint32_t *part_sizes;    /* [material] polygons */
    uint32_t *part_vertices; /* [material] vertices; those of a material are a range */
} px_fbx_geometry;

/* Makes the mesh of a geometry in g->built, which is empty; only node, object and built are set. Fails with `most_points` points. */
pelt_result px_fbx_build_geometry(px_fbx *fbx, px_fbx_geometry *g, bool normals_used, uint32_t most_points);

/* A shape of a blend shape channel, for its weights in motions. */
typedef struct px_fbx_shape {
    const px_fbx_object *channel;
    double before, full, after; /* percent at which its weight is 0, 1 and 0 again; after ≤ full: never */
} px_fbx_shape;

/* Mesh, skin and morph targets; *shapes [model->morphs.morph_count]. */
pelt_result px_fbx_read_meshes(px_fbx *fbx, px_fbx_shape **shapes);
/* Materials with their textures become the document of the model (fbx_material.c). */
pelt_result px_fbx_read_materials(px_fbx *fbx);
/* Motions of joints and morph targets. */
pelt_result px_fbx_read_motions(px_fbx *fbx, const px_fbx_shape *shapes);
/* The weight of a shape when its channel is at this percentage. */
double px_fbx_shape_weight(const px_fbx_shape *shape, double percent);

#endif
