/* Shared by the files of the Alembic format, in dependency order:
 *
 *   abc_object.c  objects, properties, samples, time samplings
 *   abc_xform.c   transforms: operations to matrices
 *   abc_scene.c   traversal of the object tree: meshes and the transforms above them
 *   abc_mesh.c    faces, texture coordinates and normals of the first sample to the model
 *   abc_clip.c    sample times of the animation, and positions at these times
 *
 * Files that write: see abc_write.h.
 */
#ifndef PELT_IO_ABC_H
#define PELT_IO_ABC_H

#include "io/matrix.h"
#include "io/ogawa.h"
#include "io/polygons.h"

/* ---- abc_object.c ----------------------------------------------------------------------------------------- */

/* Time sampling: sample i is at times[i % count] + period · (i / count) seconds. */
typedef struct abc_sampling {
    double period;        /* seconds from one cycle of times to the next */
    bool acyclic;         /* every sample has its own time */
    uint32_t count;       /* number of times */
    const uint8_t *times; /* [count] little-endian doubles */
} abc_sampling;

typedef struct abc_archive {
    pelt_context *context;
    ogawa_file file;
    uint32_t sampling_count;
    abc_sampling *samplings; /* [sampling], allocated in the model */
    uint32_t metadata_count;
    px_text metadata[256]; /* metadata that headers refer to by index */
    uint64_t budget;       /* bytes of structure that may still be traversed; see px_abc_spend */
    uint64_t elements;     /* elements that may still be read; see px_abc_claim */
} abc_archive;

typedef struct abc_object {
    px_text name, metadata;
    uint64_t place; /* offset of its group in the file */
} abc_object;

/* The properties of an object, or a compound property. */
typedef struct abc_compound {
    ogawa_group group;
    ogawa_data headers;
} abc_compound;

typedef enum abc_kind { ABC_COMPOUND, ABC_SCALAR, ABC_ARRAY } abc_kind;
typedef enum abc_pod {
    ABC_BOOL,
    ABC_U8,
    ABC_U32 = 5,
    ABC_I32 = 6,
    ABC_F32 = 10,
    ABC_F64 = 11
} abc_pod; /* only the types that are read */

typedef struct abc_property {
    px_text name, metadata;
    abc_kind kind;
    uint32_t pod;          /* abc_pod, or a type that is not listed there */
    uint32_t extent;       /* values per element */
    uint32_t sample_count; /* 0: the property is empty */
    uint32_t first, last;  /* samples before `first` equal sample 0, samples after `last` equal it; both 0: constant */
    uint32_t sampling;     /* index of its abc_sampling */
    uint64_t place;        /* offset of its group in the file */
    ogawa_group samples;   /* filled by px_abc_open_property */
} abc_property;

pelt_result px_abc_open(px_arena *memory, abc_archive *archive, uint64_t *top);
/* Subtracts `size` bytes of structure from the budget; fails if it is used up. Limits hostile files that refer to the
 * same bytes many times. */
pelt_result px_abc_spend(abc_archive *archive, size_t size);
/* The same for points, corners and faces, before they are allocated. Valid files share data among copies of an object:
 * the limit admits a thousand copies. */
pelt_result px_abc_claim(abc_archive *archive, size_t element_count);
/* Iterator over the child objects of an object. px_abc_next_child sets *found to false after the last child. */
typedef struct abc_cursor {
    ogawa_group group;
    ogawa_data headers;
    size_t at; /* byte offset in the headers */
    size_t index;
} abc_cursor;
pelt_result px_abc_children(abc_archive *archive, uint64_t object, abc_cursor *cursor);
pelt_result px_abc_next_child(abc_archive *archive, abc_cursor *cursor, abc_object *child, bool *found);
/* The properties of an object. */
pelt_result px_abc_properties(abc_archive *archive, uint64_t object, abc_compound *compound);
/* Finds and opens a property by name. *found is false if there is none or if it has no samples. */
pelt_result px_abc_find(abc_archive *archive, const abc_compound *compound, const char *name, abc_property *property,
                        bool *found);
/* The properties of a compound property. */
pelt_result px_abc_compound(abc_archive *archive, const abc_property *property, abc_compound *compound);
/* The value of a metadata key ("schema=a;geoScope=b"). data NULL: the key is missing. */
px_text px_abc_metadata(px_text metadata, const char *key);

static inline bool px_abc_is_constant(const abc_property *property) {
    return property->first == 0 && property->last == 0;
}
/* Number of stored samples. Repeated samples are stored once. */
static inline uint32_t px_abc_stored_count(const abc_property *property) {
    return px_abc_is_constant(property) ? 1 : property->last - property->first + 2;
}
/* The bytes of sample i, or of stored sample `index`, without the 16-byte key. Thread-safe. */
pelt_result px_abc_sample(const ogawa_file *file, const abc_property *property, uint32_t i, ogawa_data *data);
pelt_result px_abc_stored(const ogawa_file *file, const abc_property *property, uint32_t index, ogawa_data *data);

/* The two samples around a time, and the interpolation weight of the second, 0 to 1. */
typedef struct abc_moment {
    uint32_t before, after;
    double weight; /* 0: only `before` is needed */
} abc_moment;

double px_abc_time(const abc_sampling *sampling, uint32_t i);
abc_moment px_abc_moment(const abc_sampling *samplings, const abc_property *property, double time);
/* Times closer than this are equal. */
static inline double px_abc_tolerance(double time) {
    return 1e-7 * (1 + (time < 0 ? -time : time));
}

/* ---- Scene ------------------------------------------------------------------------------------------------ */

typedef struct abc_xform {
    uint32_t parent; /* a smaller index, or PELT_NONE */
    uint32_t op_count;
    const uint8_t *ops;    /* [op] kind << 4 | hint; points into the file */
    bool has_values;       /* false: the transform is the identity */
    bool has_inherits;     /* false: it inherits its parent's transform */
    abc_property values;   /* doubles: the values of all operations, concatenated */
    abc_property inherits; /* bool: whether it inherits its parent's transform */
} abc_xform;

typedef struct abc_mesh {
    const char *name;       /* path of the object, "body/bodyShape" */
    uint32_t xform;         /* index of the transform above it; PELT_NONE: none */
    uint32_t first_point;   /* index of its first point in the model */
    uint32_t point_count;   /* number of points */
    abc_property positions; /* positions of the points */
    bool moves;             /* its world transform is animated */
    px_scene_matrix world;  /* world transform if it is not animated */
    uint64_t geometry;      /* offset of the group of its .geom */
} abc_mesh;

/* The data that the clip reads frames from. Allocated in the model. */
typedef struct abc_scene {
    ogawa_file file;
    abc_sampling *samplings;
    uint32_t xform_count, mesh_count;
    abc_xform *xforms;
    abc_mesh *meshes;
    uint32_t frame_count; /* 1 if nothing moves */
    double *times;        /* [frame] seconds */
    px_pages *pages;
} abc_scene;

/* Reads the operations and properties of an xform object. */
pelt_result px_abc_read_xform(abc_archive *archive, const abc_object *object, abc_xform *xform);
bool px_abc_xform_moves(const abc_scene *scene, uint32_t xform);
/* The transform from the local space of an xform to world space at a time. PELT_NONE: the identity. */
pelt_result px_abc_world(const abc_scene *scene, uint32_t xform, double time, px_scene_matrix *world);

/* Finds the meshes below the object that `object` names (NULL: all) and the xforms above them. */
pelt_result px_abc_read_scene(abc_archive *archive, px_arena *memory, uint64_t top, const char *object,
                              abc_scene *scene);

/* Makes the model's mesh from the first frame. */
pelt_result px_abc_build(abc_archive *archive, pelt_model *model, const abc_scene *scene);

/* Finds the times at which anything moves. Invalid samplings are replaced by `fps` frames per second. */
pelt_result px_abc_find_times(abc_archive *archive, px_arena *memory, double fps, abc_scene *scene);
/* Callbacks of pelt_clip_source; `user` is the scene. Reads points [first, first + count) of a frame. */
pelt_result px_abc_read_points(pelt_context *context, const void *user, uint32_t frame, uint32_t first, uint32_t count,
                               float *out);
void px_abc_release(const void *user, uint32_t count);

#endif
