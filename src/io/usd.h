/* USD: declarations shared by the files usd*.c.
 *
 *   usd_parse.c     text (USDA) becomes a tree of prims
 *   usd_joints.c    transforms and skeletons
 *   usd_primvar.c   values of points, corners and polygons
 *   usd_mesh.c      meshes with parts, weights and blend shapes
 *   usd_scene.c     the scene: joints, meshes, clip
 *   usd_motion.c    animations become motions
 *   usd_material.c  materials, read and written
 *   usd_zip.c       packages (USDZ), read and written
 *   usd_write*.c    writes models (usd_write.h), with parts of text of usd_emit.c
 *   usd.c           the format
 */
#ifndef PELT_IO_USD_H
#define PELT_IO_USD_H

#include "io/matrix.h"
#include "io/merge.h"
#include "io/polygons.h"

/* Time codes a second of files that are written. */
#define PX_USD_RATE 30.0
/* Last element of the path of a joint that stands for its parent with another bind matrix, followed by a number. */
#define PX_USD_BIND_JOINT "pelt_bind_"
/* First joint of a skeleton with several roots, above them: some readers take one root only. It is no joint of the model. */
#define PX_USD_ROOT_JOINT "pelt_root"

/* ---- Matrices --------------------------------------------------------------------------------------------------- */

px_scene_matrix px_usd_matrix_of(const pelt_affine *a);
px_scene_matrix px_usd_matrix_of_transform(const pelt_transform *t);
/* False: not invertible. */
bool px_usd_matrix_inverse(const px_scene_matrix *a, px_scene_matrix *out);

/* ---- Text (usd_emit.c) ------------------------------------------------------------------------------------------ */

typedef struct px_usd_out {
    px_buffer text;
    int depth;    /* blocks that are open */
    char **names; /* [name_size] hash table of names in use; NULL: empty */
    size_t name_size, name_count;
    px_arena *arena;
} px_usd_out;

/* A line, indented. */
void px_usd_line(px_usd_out *out, const char *format, ...) PELT_PRINTF(2, 3);
/* "def TYPE "NAME"", metadata lines `(schemas)`, "{"; and the end. `schemas` NULL: none; else "\"A\", \"B\"". */
void px_usd_begin(px_usd_out *out, const char *type, const char *name, const char *schemas);
void px_usd_end(px_usd_out *out);
/* The beginning of a line, and values that follow it. */
void px_usd_start(px_usd_out *out, const char *text);
/* Numbers [count][width] as "[(a, b), …]"; width 1: "[a, b]". */
void px_usd_floats(px_usd_out *out, const float *values, size_t count, size_t width);
void px_usd_ints(px_usd_out *out, const uint32_t *values, size_t count);
void px_usd_put_matrix(px_usd_out *out, const px_scene_matrix *a);
/* Text in quotes. */
void px_usd_text(px_usd_out *out, const char *text);
/* A tuple "(a, b, c)". */
void px_usd_tuple(px_usd_out *out, const float *values, size_t width);
/* A time in seconds as a time code. */
void px_usd_time(px_usd_out *out, float seconds);
/* "custom string pelt:name", where the name in the file is another. */
void px_usd_original(px_usd_out *out, const char *name, const char *original);
/* A name that is valid in paths and that no other call returned: `name` with other characters than letters, digits and _ replaced, and
 * a number where it is taken. `fallback` for empty names. NULL: out of memory. */
const char *px_usd_name(px_usd_out *out, const char *name, const char *fallback);

/* ---- Materials (usd_material.c) --------------------------------------------------------------------------------- */

/* Writes the scope of materials at </root/Materials>. names [material_count]: names of the prims; files [image_count]: paths of the
 * images relative to the file, NULL: left out. */
void px_usd_write_materials(px_usd_out *out, const char *root, const px_material *materials, uint32_t material_count,
                            const char *const *names, const char *const *files);

/* ---- Packages (usd_zip.c) --------------------------------------------------------------------------------------- */

typedef struct px_usd_entry {
    const char *name;
    const void *data;
    size_t size;
} px_usd_entry;

/* Writes a zip without compression, the data of each entry at a multiple of 64 bytes. */
pelt_result px_usd_write_zip(pelt_context *context, px_output_file *file, const px_usd_entry *entries,
                             uint32_t entry_count);

/* Lists the files of a package, whose data stay in `data`. Fails where one is compressed. */
pelt_result px_usd_read_zip(px_arena *arena, const uint8_t *data, size_t size, px_usd_entry **entries,
                            uint32_t *entry_count);

pelt_result px_usd_write(const px_write *write);

/* ---- Text to prims (usd_parse.c) -------------------------------------------------------------------------------- */

#define PX_USD_MAX_DEPTH 128 /* of prims, and of brackets */

typedef enum px_usd_kind { PX_USD_VALUE, PX_USD_SAMPLES, PX_USD_CONNECTION } px_usd_kind;

/* "TYPE NAME = VALUE (METADATA)", "NAME.timeSamples = …", "NAME.connect = …" or "rel NAME = …". Values are parsed when they are used. */
typedef struct px_usd_property {
    px_text type, name;
    px_usd_kind kind;
    px_text value;    /* as it is in the file; data NULL: none */
    px_text metadata; /* between its parentheses */
    struct px_usd_property *next;
} px_usd_property;

typedef struct px_usd_prim {
    px_text type, name; /* type "" where the file has none */
    px_text metadata;
    struct px_usd_prim *parent, *first, *last, *next;
    px_usd_property *properties, *last_property;
    uint32_t number; /* in the order of the file */
} px_usd_prim;

/* A skeleton of the file. */
typedef struct px_usd_skeleton {
    const px_usd_prim *prim;
    px_text *joints;           /* [joint_count] paths */
    uint32_t *order;           /* [joint_count] joints sorted by path */
    uint32_t *model_joints;    /* [joint_count] */
    px_scene_matrix *inverses; /* [joint_count] inverse bind matrices */
    uint32_t joint_count;
} px_usd_skeleton;

/* A morph target and its channel. */
typedef struct px_usd_shape {
    pelt_morph morph;
    px_text channel;
} px_usd_shape;

typedef struct px_usd {
    const px_read *read;
    pelt_context *context;
    px_arena *arena;         /* freed after reading */
    const char *start, *end; /* the text */
    const char *p;           /* read position of the parser */
    px_usd_prim *root;       /* without a name: prims of the file are its children */
    uint32_t prim_count;
    double *numbers; /* of px_usd_numbers */
    size_t number_capacity;
    px_usd_entry *entries; /* files of the package */
    uint32_t entry_count;
    double rate; /* time codes a second */
    px_usd_skeleton *skeletons;
    uint32_t skeleton_count;
    px_layers layers;     /* further layers of the mesh */
    px_usd_shape *shapes; /* [morph] in the order of model.morphs */
    uint32_t left_out;    /* prims with references and other things that are not read */
} px_usd;

pelt_result px_usd_parse(px_usd *usd);
/* Fails with "line 7: …", the line of p. */
pelt_result px_usd_fail(const px_usd *usd, const char *p, const char *format, ...) PELT_PRINTF(3, 4);
/* The next prim of the tree below and with `root`, parents first; NULL: none. */
const px_usd_prim *px_usd_next(const px_usd_prim *root, const px_usd_prim *prim);
bool px_usd_is(const px_usd_prim *prim, const char *type);
/* A property of a prim (NULL: none has it); the first where there are several. */
const px_usd_property *px_usd_find(const px_usd_prim *prim, const char *name, px_usd_kind kind);
/* The value of a property; data NULL: it has none. */
px_text px_usd_value(const px_usd_prim *prim, const char *name);
/* The value of an entry of metadata; data NULL: it has none. */
px_text px_usd_metadata(px_text metadata, const char *key);
/* The prim with a path such as </A/B>, or the prim of a property's path; NULL: there is none. */
const px_usd_prim *px_usd_at(const px_usd *usd, px_text path);
/* The prim that a relationship or connection names first. */
const px_usd_prim *px_usd_target(const px_usd *usd, const px_usd_prim *prim, const char *name, px_usd_kind kind);

/* All numbers of a value, without its brackets; they stay until the next call. None: count 0. */
pelt_result px_usd_numbers(px_usd *usd, px_text value, const double **numbers, size_t *count);
/* Exactly `count` finite numbers, or *found is false. */
pelt_result px_usd_tuple_of(px_usd *usd, px_text value, double *numbers, size_t count, bool *found);
/* A number; the fallback where there is none. */
double px_usd_number(px_text value, double fallback);
/* All texts, paths and assets of a value, without their quotes; in the arena. */
pelt_result px_usd_texts(px_usd *usd, px_text value, px_text **texts, uint32_t *count);
/* The first of them; data NULL: none. */
px_text px_usd_first_text(px_text value);
/* A copy of a text in quotes, with its escapes replaced, in the model's memory. NULL: out of memory. */
const char *px_usd_string(const px_usd *usd, px_text text);
/* The name that a prim had in the model it was written from, else its own. NULL: out of memory. */
const char *px_usd_prim_name(const px_usd *usd, const px_usd_prim *prim);
/* The next of time samples "{0: value, 1: value}"; `at` is NULL before the first one, `time` in time codes. *found false: no more. */
pelt_result px_usd_next_sample(const px_usd *usd, px_text samples, const char **at, double *time, px_text *value,
                               bool *found);
/* Matrices [count] of 16 numbers, row vectors; false: not finite. */
bool px_usd_matrices(const double *numbers, px_scene_matrix *out, size_t count);

/* ---- From prims to the model ------------------------------------------------------------------------------------ */

/* Skeletons (usd_joints.c). */

/* The transform of a prim to the scene; *moves is set where one of the transforms is animated. */
pelt_result px_usd_place(px_usd *usd, const px_usd_prim *prim, bool *moves, px_scene_matrix *out);
pelt_affine px_usd_affine(const px_scene_matrix *a);
pelt_result px_usd_add_joint(pelt_model *model, const char *name, uint32_t parent, const px_scene_matrix *local,
                             uint32_t *joint);
/* All skeletons become joints of the model. */
pelt_result px_usd_read_skeletons(px_usd *usd, uint32_t mesh_count);
/* The skeleton that a prim is bound to; NULL: none. */
const px_usd_skeleton *px_usd_find_skeleton(const px_usd *usd, const px_usd_prim *prim);
/* Joint of a skeleton by its path; PELT_NONE: none. */
uint32_t px_usd_joint(const px_usd_skeleton *skeleton, px_text path);

/* Values (usd_primvar.c). */

typedef enum px_usd_mapping { PX_USD_BY_POINT, PX_USD_BY_CORNER, PX_USD_BY_POLYGON, PX_USD_CONSTANT } px_usd_mapping;

/* Values of points, corners or polygons; equal values of corners have one number. */
typedef struct px_usd_primvar {
    px_usd_mapping mapping;
    float *values; /* [value_count][width] */
    size_t value_count;
    uint32_t *indices; /* [index_count]; NULL: none */
    size_t index_count;
} px_usd_primvar;

/* The interpolation of a property, `fallback` where it has none. */
px_usd_mapping px_usd_read_mapping(const px_usd_property *property, px_usd_mapping fallback);
/* Values of a property (NULL: none). `indices`: name of the property that refers to the values; NULL: none. */
pelt_result px_usd_read_primvar(px_usd *usd, const px_usd_prim *prim, const px_usd_property *property,
                                const char *indices, size_t width, px_usd_mapping fallback, px_usd_primvar *out);
/* The number of a value, from 1; 0: there is none. */
uint32_t px_usd_primvar_at(const px_usd_primvar *v, size_t corner, size_t point, size_t polygon);
/* Texture coordinates of a mesh, NULL: none; `indices` gets the name of the property with their indices. */
const px_usd_property *px_usd_find_uvs(const px_usd_prim *prim, char *indices, size_t size);
/* Adds further texture coordinates and colours of a mesh to the layers of `content`; values [PX_MAX_LAYERS] of them. */
pelt_result px_usd_read_layers(px_usd *usd, const px_usd_prim *prim, px_polygons *content, px_usd_primvar *values);

/* Meshes (usd_mesh.c). */

/* Points of a mesh that are animated. */
typedef struct px_usd_moving {
    px_text samples;
    uint32_t first_point, point_count;
    px_scene_matrix place;
} px_usd_moving;

/* Everything read so far, over all meshes. */
typedef struct px_usd_gathered {
    px_usd *usd;
    px_merge merge;
    px_buffer moving;       /* px_usd_moving */
    px_buffer shapes;       /* px_usd_shape */
    uint32_t *shape_counts; /* [joint] */
    uint32_t shape_limit;   /* BlendShape prims of the file */
    bool rigged;            /* vertices have bones */
    uint32_t between_count, moves_count, odd_count;
} px_usd_gathered;

pelt_result px_usd_read_mesh(px_usd_gathered *all, const px_usd_prim *prim);

pelt_result px_usd_read_scene(px_usd *usd);     /* usd_scene.c: joints, meshes, clip */
pelt_result px_usd_read_motions(px_usd *usd);   /* usd_motion.c */
pelt_result px_usd_read_materials(px_usd *usd); /* usd_material.c: document of the model */

#endif
