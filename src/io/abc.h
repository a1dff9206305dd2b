/* What the files of the Alembic format share, from the file upwards:
 *
 *   abc_object.c  objects, properties, samples, time samplings
 *   abc_xform.c   transforms: operations into matrices
 *   abc_scene.c   walking the objects: which meshes there are, and what moves them
 *   abc_mesh.c    faces, texture coordinates and normals of the first sample into the model
 *   abc_clip.c    moments at which anything moves, and positions at them
 */
#ifndef PELT_IO_ABC_H
#define PELT_IO_ABC_H

#include "io/ogawa.h"
#include "io/polygons.h"

/* ---- abc_object.c ----------------------------------------------------------------------------------------- */

/* When samples were taken: sample i at times[i % count] + period · (i / count) seconds. */
typedef struct abc_sampling {
    double period;        /* seconds from one cycle of times to the next */
    bool acyclic;         /* every sample has its own time */
    uint32_t count;       /* of times */
    const uint8_t *times; /* [count] little-endian doubles */
} abc_sampling;

typedef struct abc_archive {
    pelt_context *context;
    ogawa_file file;
    uint32_t sampling_count;
    abc_sampling *samplings; /* [sampling] in the model's memory */
    uint32_t metadata_count;
    px_text metadata[256]; /* what headers refer to by number */
    uint64_t budget;       /* see px_abc_spend */
    uint64_t elements;     /* see px_abc_claim */
} abc_archive;

typedef struct abc_object {
    px_text name, metadata;
    uint64_t place; /* its group */
} abc_object;

/* The properties of an object, or a property made of properties. */
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
} abc_pod; /* those in use */

typedef struct abc_property {
    px_text name, metadata;
    abc_kind kind;
    uint32_t pod;          /* abc_pod, or another */
    uint32_t extent;       /* numbers per element */
    uint32_t sample_count; /* 0: there is nothing */
    uint32_t first, last; /* samples before `first` equal sample 0, those behind `last` equal it; both 0: all are one */
    uint32_t sampling;    /* index of its abc_sampling */
    uint64_t place;       /* its group */
    ogawa_group samples;  /* filled by px_abc_open_property */
} abc_property;

pelt_result px_abc_open(px_arena *memory, abc_archive *archive, uint64_t *top);
/* Every walk over `size` bytes of structure is paid for: what a hostile file refers to again and again ends here. */
pelt_result px_abc_spend(abc_archive *archive, size_t size);
/* The same for points, corners and faces, before anything is made of them. Honest files share data among copies of an
 * object, so that a thousand copies may pass. */
pelt_result px_abc_claim(abc_archive *archive, size_t element_count);
/* The objects below one; `next` begins at 0 and *found is false behind the last. */
typedef struct abc_cursor {
    ogawa_group group;
    ogawa_data headers;
    size_t at; /* in the headers */
    size_t index;
} abc_cursor;
pelt_result px_abc_children(abc_archive *archive, uint64_t object, abc_cursor *cursor);
pelt_result px_abc_next_child(abc_archive *archive, abc_cursor *cursor, abc_object *child, bool *found);
/* The properties of an object. */
pelt_result px_abc_properties(abc_archive *archive, uint64_t object, abc_compound *compound);
/* The property of this name, opened; *found is false when there is none or when it has no samples. */
pelt_result px_abc_find(abc_archive *archive, const abc_compound *compound, const char *name, abc_property *property,
                        bool *found);
/* Its properties when it is a compound. */
pelt_result px_abc_compound(abc_archive *archive, const abc_property *property, abc_compound *compound);
/* The value behind a key of metadata ("schema=a;geoScope=b"); data NULL: there is none. */
px_text px_abc_metadata(px_text metadata, const char *key);

static inline bool px_abc_is_constant(const abc_property *property) {
    return property->first == 0 && property->last == 0;
}
/* How many samples are stored: repeated ones are not. */
static inline uint32_t px_abc_stored_count(const abc_property *property) {
    return px_abc_is_constant(property) ? 1 : property->last - property->first + 2;
}
/* The bytes of sample i, or of stored sample `index`, without its key. From any thread. */
pelt_result px_abc_sample(const ogawa_file *file, const abc_property *property, uint32_t i, ogawa_data *data);
pelt_result px_abc_stored(const ogawa_file *file, const abc_property *property, uint32_t index, ogawa_data *data);

/* Two samples around a moment and how far it is from the first to the second, 0 to 1. */
typedef struct abc_moment {
    uint32_t before, after;
    double weight; /* 0: `before` alone */
} abc_moment;

double px_abc_time(const abc_sampling *sampling, uint32_t i);
abc_moment px_abc_moment(const abc_sampling *samplings, const abc_property *property, double time);
/* Moments nearer than this are one. */
static inline double px_abc_tolerance(double time) {
    return 1e-7 * (1 + (time < 0 ? -time : time));
}

/* ---- Scene ------------------------------------------------------------------------------------------------ */

/* A 3×4 matrix as pelt_affine, in doubles. */
typedef struct abc_matrix {
    double m[12];
} abc_matrix;

typedef struct abc_xform {
    uint32_t parent; /* a smaller index, or PELT_NONE */
    uint32_t op_count;
    const uint8_t *ops;    /* [op] kind << 4 | hint, in the file */
    bool has_values;       /* else the transform is the identity */
    bool has_inherits;     /* else it follows its parent */
    abc_property values;   /* doubles of all operations, one after the other */
    abc_property inherits; /* false: it does not follow its parent */
} abc_xform;

typedef struct abc_mesh {
    const char *name;       /* its path, "body/bodyShape" */
    uint32_t xform;         /* or PELT_NONE */
    uint32_t first_point;   /* in the model */
    uint32_t point_count;   /* number of points */
    abc_property positions; /* of the points */
    bool moves;             /* its transform does */
    abc_matrix world;       /* when it does not */
    uint64_t geometry;      /* the group of its .geom */
} abc_mesh;

/* What the clip needs; in the model's memory. */
typedef struct abc_scene {
    ogawa_file file;
    abc_sampling *samplings;
    uint32_t xform_count, mesh_count;
    abc_xform *xforms;
    abc_mesh *meshes;
    uint32_t frame_count; /* 1 when nothing moves */
    double *times;        /* [frame] */
    px_pages *pages;
} abc_scene;

/* Reads what an xform object is made of. */
pelt_result px_abc_read_xform(abc_archive *archive, const abc_object *object, abc_xform *xform);
bool px_abc_xform_moves(const abc_scene *scene, uint32_t xform);
/* From the space below an xform to the world; PELT_NONE: the identity. */
pelt_result px_abc_world(const abc_scene *scene, uint32_t xform, double time, abc_matrix *world);

/* Finds the meshes that `object` (NULL: all) names, with the xforms above them. */
pelt_result px_abc_read_scene(abc_archive *archive, px_arena *memory, uint64_t top, const char *object,
                              abc_scene *scene);

/* Makes the model's mesh of the first frame. */
pelt_result px_abc_build(abc_archive *archive, pelt_model *model, const abc_scene *scene);

/* Finds the moments at which anything moves. Samplings that make no sense become `fps` frames a second. */
pelt_result px_abc_find_times(abc_archive *archive, px_arena *memory, double fps, abc_scene *scene);
/* Points [first, first + count) of a frame: pelt_clip_source's functions, `user` is the scene. */
pelt_result px_abc_read_points(pelt_context *context, const void *user, uint32_t frame, uint32_t first, uint32_t count,
                               float *out);
void px_abc_release(const void *user, uint32_t count);

#endif
