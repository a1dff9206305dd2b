/* What formats share: input files, output that appears all at once, and the table of formats. */
#ifndef PELT_IO_IO_H
#define PELT_IO_IO_H

#include "core/core.h"
#include <pelt/io.h>

/* ---- Input ------------------------------------------------------------------------------------------------ */

/* A whole file: read when it is small or a pipe, else mapped. */
typedef struct px_file {
    const uint8_t *data; /* never NULL */
    size_t size;
    const char *path; /* as given: for messages and for finding neighbours */
    bool mapped;      /* data is a mapping of the file, which px_file_release may let go of */
} px_file;

/* It goes with the arena. */
pelt_result px_file_open(px_arena *arena, const char *path, px_file *file);
/* The pages of a mapped file leave the memory and come back when they are read. Safe while others read. */
void px_file_release(const px_file *file);

/* Streaming through a file that is larger than the memory allowed must not fill it: counts what is read and lets the
 * pages go now and then. From any thread. */
typedef struct px_pages px_pages;
px_pages *px_pages_create(px_arena *arena, const px_file *file);
void px_pages_read(px_pages *pages, size_t size);

/* A piece of a file, without a 0 behind; data NULL: none. */
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

/* Files written beside their final place and renamed together. */
typedef struct px_output px_output;
typedef struct px_output_file px_output_file;

px_output *px_output_begin(pelt_context *context, bool replace);
/* The same into memory: files are added to the buffer, whatever their paths are. */
px_output *px_output_begin_memory(pelt_context *context, px_buffer *memory);
/* A new file that will be `path`. What is no regular file (a pipe, /dev/stdout) is written directly. One file is open
 * at a time: opening the next finishes the one before. */
pelt_result px_output_open(px_output *output, const char *path, px_output_file **file);
pelt_result px_output_write(px_output_file *file, const void *data, size_t size);
/* Ends with either: renames all files to their places, or removes them. Both free the output. */
pelt_result px_output_commit(px_output *output);
void px_output_abort(px_output *output);

/* ---- Formats ---------------------------------------------------------------------------------------------- */

typedef struct px_read {
    pelt_context *context;
    pelt_model *model; /* empty, but caches and motions (PX_FORMAT_ADDS) add to what is there */
    px_file file;
    const pelt_load_desc *desc;
    bool in_memory; /* there is no folder to look for other files in */
} px_read;

typedef struct px_write {
    pelt_context *context;
    const pelt_model *model;
    const char *path;
    const pelt_save_desc *desc;
    px_output *output;
    bool in_memory;                  /* there is no folder for other files */
    const pelt_model *const *levels; /* [level_count] further levels of detail; glTF only */
    uint32_t level_count;
} px_write;

typedef struct px_format {
    pelt_format_info info;
    /* Whether content begins like this format for certain; NULL: only the extension tells. */
    bool (*sniff)(const uint8_t *data, size_t size);
    /* NULL where info.flags lack READ or WRITE. Readers need not validate the model as a whole: the driver does. */
    pelt_result (*read)(const px_read *read);
    pelt_result (*write)(const px_write *write);
} px_format;

extern const px_format px_format_gltf;
extern const px_format px_format_obj;
extern const px_format px_format_ply;
extern const px_format px_format_abc;
extern const px_format px_format_pc2;
extern const px_format px_format_mdd;
extern const px_format px_format_bvh;
extern const px_format px_format_asf;
extern const px_format px_format_amc;

/* Files of these formats add to a model that is there. */
#define PX_FORMAT_ADDS (PELT_FORMAT_CACHE | PELT_FORMAT_MOTION)

/* Writes a model into a buffer, as pelt_save does into a file of this name. One file: .gltf has two. */
pelt_result px_save_memory(pelt_context *context, const pelt_model *model, const char *name, const pelt_save_desc *desc,
                           px_buffer *buffer);

/* The format of content with this name; NULL and an error when it is none of ours. */
const px_format *px_format_detect(pelt_context *context, const px_file *file);
/* Fails with a sentence that ends in the names of the formats with these flags. */
pelt_result px_fail_format(pelt_context *context, pelt_result result, uint32_t flags, const char *what);
/* The format whose extension the path has; NULL. */
const px_format *px_format_by_extension(const char *path);

/* ---- After reading ---------------------------------------------------------------------------------------- */

/* Axes and unit of a file (space.c). */
typedef struct px_space {
    uint32_t up;  /* pelt_up_axis */
    double scale; /* factor of lengths */
    bool given;   /* for all files … */
    bool named;   /* … or for this one */
} px_space;

/* What desc.up and desc.scale say about a file: `path`, or `given`, the path, folder or pattern that it was found by. */
pelt_result px_space_find(pelt_context *context, const pelt_load_desc *desc, const char *path, const char *given,
                          px_space *space);
/* Converts a model to y up and the scale: mesh, skin, morphs, skeleton, motions and clips [0, clip_count). Motions that
 * are read into it later follow. */
pelt_result px_space_apply(pelt_model *model, const px_space *space, uint32_t clip_count);
/* Converts the motions from `first_motion` on. */
pelt_result px_space_motions(pelt_model *model, const px_space *space, uint32_t first_motion);
/* Converts clip `number`, of a cache. Where desc says nothing about it and its first frame is the mesh in other axes or
 * units, it is converted to those of the mesh, with a warning; where that is only probable, there is a warning alone. */
pelt_result px_space_cache(pelt_context *context, pelt_model *model, const px_space *space, uint32_t number);

/* Joins motions that play together: see pelt_load_desc.join (join.c). */
pelt_result px_join_motions(pelt_context *context, pelt_model *model, const char *how);

/* ---- Sequences -------------------------------------------------------------------------------------------- */

/* The files of a folder, a glob or a printf pattern, in natural order; a plain path gives itself. */
pelt_result px_sequence_expand(px_arena *arena, const char *path, const char ***paths, size_t *count);
/* Fails when the files [count] of a folder or glob, in natural order, are more than one sequence, and names two. A sequence:
 * names that differ in a number; files of other names beside it are another one. Where several numbers differ, the last is
 * that of the frame, and no two files may share it. Files of which no two differ by numbers alone (named shapes) pass. */
pelt_result px_sequence_check(px_arena *arena, const char *const *paths, size_t count);
/* The path of frame `number` when `path` holds one %d or %04d, else NULL. */
const char *px_sequence_path(px_arena *arena, const char *path, uint32_t number);
bool px_sequence_is_pattern(const char *path);
/* As strcmp, with digits compared as numbers: "2" before "10". */
int px_natural_compare(const char *a, const char *b);

/* Makes the model ready for a cache with this many points: they are its points, or its vertices (which then become its
 * points), or the model is empty and gets them as vertices. Fails with both counts. Check the file's size first. */
pelt_result px_cache_fit(pelt_context *context, pelt_model *model, uint64_t point_count);
/* What to call an animation after its file, in the model's memory: "folder/run.pc2" gives "run". NULL: no memory. */
const char *px_read_name(const px_read *read);
/* Frames per second of a motion whose file does not say. */
static inline double px_read_motion_fps(const px_read *read) {
    return read->desc->motion_fps > 0 ? read->desc->motion_fps : 120;
}
/* Adds a clip to the model's list. */
pelt_result px_model_add_clip(pelt_context *context, pelt_model *model, const pelt_clip *clip);

#endif
