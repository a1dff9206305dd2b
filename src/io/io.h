/* Declarations shared by the file formats: input files, atomic output, and the table of formats. */
#ifndef PELT_IO_IO_H
#define PELT_IO_IO_H

#include "core/core.h"
#include <pelt/io.h>

/* ---- Input ------------------------------------------------------------------------------------------------ */

/* The content of one input file. Small files and pipes are read into memory, larger files are mapped. */
typedef struct px_file {
    const uint8_t *data; /* never NULL */
    size_t size;
    const char *path; /* as given by the caller: for messages and for finding files in the same folder */
    bool mapped;      /* data is a memory mapping of the file; px_file_release may drop its pages */
} px_file;

/* Opens and reads or maps a file. The arena owns the content. */
pelt_result px_file_open(px_arena *arena, const char *path, px_file *file);
/* Drops the pages of a mapped file from memory; the next access reads them again. Safe while other threads read. */
void px_file_release(const px_file *file);

/* Bounds the memory use of streaming through a mapped file that is larger than the memory limit: counts the bytes that
 * are read and releases the mapped pages at intervals. Thread-safe. */
typedef struct px_pages px_pages;
px_pages *px_pages_create(px_arena *arena, const px_file *file);
void px_pages_read(px_pages *pages, size_t size);

/* A piece of a file, not NUL-terminated. data NULL: no text. */
typedef struct px_text {
    const char *data;
    size_t size;
} px_text;

static inline bool px_text_equal(px_text a, px_text b) {
    return (a.data == NULL) == (b.data == NULL) && a.size == b.size &&
           (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}
static inline bool px_text_is(px_text a, const char *word) {
    return a.data && a.size == strlen(word) && memcmp(a.data, word, a.size) == 0;
}

/* ---- Output ----------------------------------------------------------------------------------------------- */

/* A set of output files. Each is written to a temporary file in the target folder; all are renamed together. */
typedef struct px_output px_output;
typedef struct px_output_file px_output_file;

px_output *px_output_begin(pelt_context *context, bool replace);
/* The same, but writes to memory: the content of every file is appended to the buffer; paths are ignored. */
px_output *px_output_begin_memory(pelt_context *context, px_buffer *memory);
/* Starts a new file whose final path is `path`. Anything but a regular file (a pipe, /dev/stdout) is written directly.
 * One file is open at a time: opening the next file finishes the previous one. */
pelt_result px_output_open(px_output *output, const char *path, px_output_file **file);
pelt_result px_output_write(px_output_file *file, const void *data, size_t size);
/* End the output: commit renames all files to their final paths, abort removes them. Both free the output. */
pelt_result px_output_commit(px_output *output);
void px_output_abort(px_output *output);

/* ---- Formats ---------------------------------------------------------------------------------------------- */

typedef struct px_read {
    pelt_context *context;
    pelt_model *model; /* empty, except for caches and motions (PX_FORMAT_ADDS), which add to a loaded model */
    px_file file;
    const pelt_load_desc *desc;
    bool in_memory; /* the content comes from memory: no folder to search for other files */
} px_read;

/* Kinds of numbers that compression rounds. */
typedef enum px_precision_kind {
    PX_PRECISION_POSITIONS,
    PX_PRECISION_OFFSETS, /* displacements of morph targets */
    PX_PRECISION_WEIGHTS, /* of the skin */
    PX_PRECISION_TRANSLATIONS,
    PX_PRECISION_ROTATIONS,
    PX_PRECISION_SCALES,
    PX_PRECISION_MORPH_WEIGHTS,
    PX_PRECISION_KINDS
} px_precision_kind;

/* How finely numbers are stored. Positions, offsets and translations are multiples of 2^(exponent − bits), scales and
 * weights of 2^−bits, components of quaternions of about 2^−bits. From PX_PRECISION_EXACT bits on
 * rotations are kept as they are, others where they do not fit 24 bits; skin weights have 22 bits at most. */
#define PX_PRECISION_MIN   4
#define PX_PRECISION_EXACT 30
typedef struct px_precision {
    int exponent;                     /* the size of the model is below 2^exponent */
    uint8_t bits[PX_PRECISION_KINDS]; /* PX_PRECISION_MIN to PX_PRECISION_EXACT */
    bool keep_order;                  /* do not sort triangles and vertices */
    const int8_t *joint_bits;         /* [joint] added to the bits of its rotations and scales; NULL: none */
} px_precision;

/* Bits of rotations or scales of a joint. Exact ones stay exact. */
static inline int px_precision_joint_bits(const px_precision *precision, px_precision_kind kind, size_t joint) {
    int most = kind == PX_PRECISION_ROTATIONS ? 16 : 22, bits = precision->bits[kind];
    if (!precision->joint_bits || bits > most)
        return bits;
    bits += precision->joint_bits[joint];
    return bits < PX_PRECISION_MIN ? PX_PRECISION_MIN : bits > most ? most : bits;
}

typedef struct px_write {
    pelt_context *context;
    const pelt_model *model;
    const pelt_mesh *mesh; /* model->mesh, or a copy with the positions of one frame; for formats without rigs */
    const char *path;
    const pelt_save_desc *desc;
    px_output *output;
    bool in_memory;                  /* the output goes to memory: no folder for other files */
    bool trial;                      /* only to be measured: without images and warnings */
    const px_precision *precision;   /* compress; NULL: do not. glTF only */
    const float *lookup;             /* [vertex][2] TEXCOORD_1, for a model without a document; NULL: none. glTF only */
    const pelt_model *const *levels; /* [level_count] further levels of detail; glTF only */
    uint32_t level_count;
} px_write;

typedef struct px_format {
    pelt_format_info info;
    /* Returns true if the content certainly begins as this format does. NULL: only the extension identifies it. */
    bool (*sniff)(const uint8_t *data, size_t size);
    /* NULL where info.flags lack READ or WRITE. Readers need not validate the whole model: load.c does. */
    pelt_result (*read)(const px_read *read);
    pelt_result (*write)(const px_write *write);
} px_format;

extern const px_format px_format_gltf;
extern const px_format px_format_obj;
extern const px_format px_format_ply;
extern const px_format px_format_abc;
extern const px_format px_format_fbx;
extern const px_format px_format_usd;
extern const px_format px_format_vat;
extern const px_format px_format_pc2;
extern const px_format px_format_mdd;
extern const px_format px_format_bvh;
extern const px_format px_format_asf;
extern const px_format px_format_amc;

/* Files of these formats add to a model that is already loaded. */
#define PX_FORMAT_ADDS (PELT_FORMAT_CACHE | PELT_FORMAT_MOTION)

/* Writes a model to a buffer, as pelt_save writes to a file of this name. Writes one file only; .gltf needs two. */
pelt_result px_save_memory(pelt_context *context, const pelt_model *model, const char *name, const pelt_save_desc *desc,
                           px_buffer *buffer);

/* Writes a glTF file compressed with this precision, as pelt_save does. */
pelt_result px_save_precise(pelt_context *context, const pelt_model *model, const char *path,
                            const pelt_save_desc *desc, const px_precision *precision);

/* Identifies the format by content, then by name. NULL, with an error reported, if the format is unknown. */
const px_format *px_format_detect(pelt_context *context, const px_file *file);
/* Fails with a message that ends in a list of the formats that have these flags. */
pelt_result px_fail_format(pelt_context *context, pelt_result result, uint32_t flags, const char *what);
/* The format that has the path's extension, or NULL. */
const px_format *px_format_by_extension(const char *path);

/* ---- After reading ---------------------------------------------------------------------------------------- */

/* Up axis and unit of a file (space.c). */
typedef struct px_space {
    uint32_t up;  /* pelt_up_axis */
    double scale; /* file lengths are multiplied by this */
    bool given;   /* desc.up or desc.scale has an entry for this file or for all files */
    bool named;   /* such an entry names this file */
} px_space;

/* Finds the entries of desc.up and desc.scale that apply to a file. An entry may name the file by `path` or by `given`,
 * the path, folder or pattern by which the file was found. */
pelt_result px_space_find(pelt_context *context, const pelt_load_desc *desc, const char *path, const char *given,
                          px_space *space);
/* Rotates a model to y up and scales it: mesh, skin, morph targets, skeleton, motions and clips [0, clip_count).
 * Motions that are read into the model later are converted in the same way. */
pelt_result px_space_apply(pelt_model *model, const px_space *space, uint32_t clip_count);
/* Converts motions [first_motion, motion_count). */
pelt_result px_space_motions(pelt_model *model, const px_space *space, uint32_t first_motion);
/* Converts clip `number`, which comes from a point cache. If desc has no entry for the cache and the clip's first frame
 * equals the mesh in other axes or units, converts the clip to those of the mesh, with a warning. If the match is only
 * probable, warns and does not convert. */
pelt_result px_space_cache(pelt_context *context, pelt_model *model, const px_space *space, uint32_t number);

/* Joins motions that play at the same time: see pelt_load_desc.join (join.c). */
pelt_result px_join_motions(pelt_context *context, pelt_model *model, const char *how);

/* ---- Sequences -------------------------------------------------------------------------------------------- */

/* Lists the files of a folder, a glob or a printf pattern, in natural order. A plain path gives itself. */
pelt_result px_sequence_expand(px_arena *arena, const char *path, const char ***paths, size_t *count);
/* Fails if the files [count] of a folder or glob, in natural order, form more than one sequence; the message names two
 * files. A sequence is a set of names that differ only in a number; files with other names form another sequence. If
 * several numbers differ, the last one is the frame number, and no two files may share it. A set in which no two names
 * differ by numbers alone (named shapes) passes. */
pelt_result px_sequence_check(px_arena *arena, const char *const *paths, size_t count);
/* The path of frame `number` if `path` holds one %d or %04d, else NULL. */
const char *px_sequence_path(px_arena *arena, const char *path, uint32_t number);
bool px_sequence_is_pattern(const char *path);
/* Like strcmp, but compares runs of digits as numbers: "2" before "10". */
int px_natural_compare(const char *a, const char *b);

/* Prepares the model for a cache of `point_count` points. They must match the model's points, or its vertices (each
 * vertex then becomes a point); an empty model gets them as vertices. Otherwise fails with both counts. Check the
 * file's size before the call. */
pelt_result px_cache_fit(pelt_context *context, pelt_model *model, uint64_t point_count);
/* The name of an animation, derived from its file and allocated in the model: "folder/run.pc2" gives "run". NULL: out
 * of memory. */
const char *px_read_name(const px_read *read);
/* Frame rate of a motion whose file does not state one. */
static inline double px_read_motion_fps(const px_read *read) {
    return read->desc->motion_fps > 0 ? read->desc->motion_fps : 120;
}
/* Appends a clip to the model's clips. */
pelt_result px_model_add_clip(pelt_context *context, pelt_model *model, const pelt_clip *clip);

#endif
