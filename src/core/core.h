/* Base services of every module: errors, allocation, arenas, deterministic parallel loops, growable buffers, number
 * parsing.
 *
 * Internal names that are used across files begin with px_.
 */
#ifndef PELT_CORE_H
#define PELT_CORE_H

#include "core/platform.h"

#include <pelt/base.h>
#include <pelt/model.h>

#include "core/libm.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

/* Returns from the calling function when a step fails. */
#define PX_TRY(step)                                                                                                   \
    do {                                                                                                               \
        pelt_result px_step_result = (step);                                                                           \
        if (px_step_result != PELT_OK)                                                                                 \
            return px_step_result;                                                                                     \
    } while (0)

#define PX_COUNT(array) (sizeof(array) / sizeof((array)[0]))

static inline size_t px_min_size(size_t a, size_t b) {
    return a < b ? a : b;
}
static inline size_t px_max_size(size_t a, size_t b) {
    return a > b ? a : b;
}

/* Sorts items[count] of `size` bytes, as qsort, without memory. Elements that compare equal end in the same order on every
 * machine, but not in the order they had. */
void px_sort(void *items, size_t count, size_t size, int (*compare)(const void *, const void *));

/* ---- Errors, log, progress -------------------------------------------------------------------------------- */

/* Records an error message, prefixed with the subject (usually a path), and returns `result`. Thread-safe. */
pelt_result px_fail(pelt_context *context, pelt_result result, const char *format, ...) PELT_PRINTF(3, 4);
/* Records "out of memory", or that the memory limit was reached; returns PELT_ERROR_MEMORY. */
pelt_result px_fail_memory(pelt_context *context);
/* The first joint with index ≥ `from` whose name is name[length]; PELT_NONE when there is none. */
uint32_t px_joint_named(const pelt_skeleton *skeleton, const char *name, size_t length, uint32_t from);
/* Fails with PELT_ERROR_INPUT and a message such as "exclude: there is no joint 'Hnad'; did you mean 'Hand'?". `where`
 * names a field or a file. */
pelt_result px_fail_joint(pelt_context *context, const pelt_skeleton *skeleton, const char *where, const char *name,
                          size_t length);
/* Sets the prefix of further messages, such as "horse.glb". Borrowed; NULL: no prefix. Returns the previous subject. */
const char *px_subject(pelt_context *context, const char *subject);
/* Writes a message to the log, prefixed with the subject. Only from the thread that called the library. */
void px_log(pelt_context *context, pelt_log_level level, const char *format, ...) PELT_PRINTF(3, 4);
/* Reports progress and polls for cancellation: PELT_OK or PELT_ERROR_CANCELLED. Only from the thread that called the
 * library. */
pelt_result px_progress(pelt_context *context, const char *phase, uint64_t done, uint64_t total);
/* Polls for cancellation without reporting progress. Thread-safe. */
pelt_result px_cancelled(pelt_context *context);

/* ---- Descriptions ------------------------------------------------------------------------------------------ */

/* Defines the option table and the default function of pelt_NAME_desc from an array of rows; PX_DESC_PRESETS: with an
 * array of pelt_preset_value. */
#define PX_DESC(name, rows)                    PX_DESC_OF(pelt_##name##_desc, pelt_##name##_options, rows)
#define PX_DESC_OF(type, table_function, rows) PX_DESC_TABLE(type, table_function, rows, NULL, 0)
#define PX_DESC_PRESETS(name, rows, presets)                                                                           \
    PX_DESC_TABLE(pelt_##name##_desc, pelt_##name##_options, rows, presets, PX_COUNT(presets))
#define PX_DESC_TABLE(type, table_function, rows, presets, preset_count)                                               \
    const pelt_option_table *table_function(void) {                                                                    \
        static const pelt_option_table table = {#type, rows, PX_COUNT(rows), presets, preset_count};                   \
        return &table;                                                                                                 \
    }                                                                                                                  \
    type type##_default(void) {                                                                                        \
        type desc = {0};                                                                                               \
        pelt_options_default(table_function(), &desc);                                                                 \
        return desc;                                                                                                   \
    }

/* Declares `settings`: a copy of *desc, or the defaults when desc is NULL. Returns from the calling function when a
 * field is out of range. */
#define PX_TAKE_DESC(context, name, desc, settings)                                                                    \
    pelt_##name##_desc settings = (desc) ? *(desc) : pelt_##name##_desc_default();                                     \
    PX_TRY(pelt_options_check(context, pelt_##name##_options(), &settings))

/* ---- Memory ----------------------------------------------------------------------------------------------- */

/* a·b, or SIZE_MAX on overflow; an allocation of SIZE_MAX bytes always fails. */
size_t px_mul_size(size_t a, size_t b);
/* A count of elements or bytes; SIZE_MAX where it does not fit (32-bit platforms). */
static inline size_t px_size(uint64_t count) {
    return (size_t)count == count ? (size_t)count : SIZE_MAX;
}

/* Zeroed memory, 64-byte aligned. On failure (out of memory, limit reached, count·size overflows) records
 * px_fail_memory and returns NULL. */
void *px_alloc(pelt_context *context, size_t count, size_t size);
/* Resizes a block from px_alloc (or NULL). New bytes are not zeroed. On failure returns NULL and keeps the old
 * block. */
void *px_resize(pelt_context *context, void *pointer, size_t count, size_t size);
void px_free(pelt_context *context, void *pointer);
/* Counts `size` bytes that another library is about to allocate against the memory limit, until px_unreserve. */
pelt_result px_reserve(pelt_context *context, size_t size);
void px_unreserve(pelt_context *context, size_t size);
#define PX_ALLOC(context, type, count) ((type *)px_alloc(context, count, sizeof(type)))

/* Arena: allocations that are freed together. Not thread-safe: one thread at a time. */
typedef struct px_arena px_arena;
px_arena *px_arena_create(pelt_context *context);
void px_arena_destroy(px_arena *arena);
/* Zeroed memory, aligned to 64 bytes for blocks of 64 bytes or more, else to 16; fails as px_alloc does. */
void *px_arena_alloc(px_arena *arena, size_t count, size_t size);
/* A 0-terminated copy of `length` bytes, not aligned. */
char *px_arena_text(px_arena *arena, const char *text, size_t length);
/* Calls release(user) when the arena is destroyed, last registered first. On failure calls it at once. */
pelt_result px_arena_defer(px_arena *arena, void (*release)(void *user), void *user);
pelt_context *px_arena_context(const px_arena *arena);
#define PX_NEW(arena, type, count) ((type *)px_arena_alloc(arena, count, sizeof(type)))

/* Between open and close, memory comes from a part: a sub-arena that can be freed before the arena. Calls nest; nested
 * calls share one part. The outermost close frees every part for which `used` returns false. */
typedef bool px_arena_used_fn(const void *user, const px_arena *part);
void px_arena_open(px_arena *arena);
void px_arena_close(px_arena *arena, px_arena_used_fn *used, const void *user);
/* Makes all current parts live as long as the arena, or as the result that is being made (px_arena_open_result). Does
 * nothing while the arena is open for an operation, or for NULL. */
void px_arena_keep(px_arena *arena);
/* Makes all current parts live at least as long as `holder`, which must be destroyed before the arena. Does nothing
 * while the arena is open. */
void px_arena_keep_for(px_arena *arena, px_arena *holder);
/* Between these, memory comes from a part that is one result: it lives until px_arena_free_result is called with a
 * pointer into it, at most as long as the arena. `extended` is a pointer into a result that the memory is added to, or
 * NULL. The part is freed at once unless `good`. While the arena is open for an operation, all three do nothing: the
 * memory is the operation's. */
void px_arena_open_result(px_arena *arena, const void *extended);
void px_arena_close_result(px_arena *arena, bool good);
void px_arena_free_result(px_arena *arena, const void *pointer);
/* Makes the arena `part` a part of `arena`. */
void px_arena_adopt(px_arena *arena, px_arena *part);
/* True when the pointer is within the memory of the arena or of one of its parts. */
bool px_arena_holds(const px_arena *arena, const void *pointer);
/* As px_arena_alloc, but never in the part of an operation: for arrays of reports, which live as long as the model or as the
 * result that they belong to. */
void *px_arena_alloc_lasting(px_arena *arena, size_t count, size_t size);
#define PX_NEW_LASTING(arena, type, count) ((type *)px_arena_alloc_lasting(arena, count, sizeof(type)))

/* An operation that replaces data of a model. It writes to arrays of its own only, never to those that the model had
 * when it began. */
typedef struct px_operation {
    pelt_model *model;
    pelt_model before; /* the model as it was */
} px_operation;
/* Bracket an operation. px_operation_end gives the model back its former data unless `result` is PELT_OK, frees the
 * memory of this operation and of earlier ones that no array of the model points into, and returns `result`. Operations
 * nest. An object that keeps pointers to arrays of a model must call px_arena_keep(model->memory) when it is created, or
 * px_arena_keep_for with an arena of its own; arrays that a later operation replaces then stay valid. */
px_operation px_operation_begin(pelt_model *model);
pelt_result px_operation_end(const px_operation *operation, pelt_result result);

/* Bracket a function whose result lives in the model's memory until the caller frees it: memory that the model itself
 * keeps, such as the weld, is allocated before. px_result_end returns `result`. */
static inline void px_result_begin(pelt_model *model) {
    px_arena_open_result(model->memory, NULL);
}
static inline pelt_result px_result_end(pelt_model *model, pelt_result result) {
    px_arena_close_result(model->memory, result == PELT_OK);
    return result;
}

/* pelt_model_borrow in an arena of the caller, which may be that of the source: arrays that are replaced in the source
 * later do not change the borrowed model. */
pelt_result px_model_borrow(px_arena *memory, const pelt_model *source, pelt_model **model);
/* Replaces the data of a model by that of `borrowed` (made from it by pelt_model_borrow), and takes ownership of the
 * memory of `borrowed`. */
void px_model_adopt(pelt_model *model, const pelt_model *borrowed);

/* ---- Deterministic parallel loops ------------------------------------------------------------------------- */

/* Processes elements [first, first + count), which are block number `block`. */
typedef pelt_result px_block_fn(void *user, size_t first, size_t count, size_t block);

/* Splits [0, count) into blocks of `block_size` (fixed: results must not depend on the number of threads) and runs them
 * on the context's threads. Blocks may run in any order; for a deterministic sum, write one partial sum per block and
 * add them in order afterwards. Stops early on failure or cancellation and returns the result of the failed block with
 * the lowest number. `phase`: name for progress reports, or NULL. A nested loop inside a block runs serially on that
 * block's thread. */
pelt_result px_parallel(pelt_context *context, const char *phase, size_t count, size_t block_size, px_block_fn *run,
                        void *user);
static inline size_t px_block_count(size_t count, size_t block_size) {
    return count / block_size + (count % block_size != 0);
}
uint32_t px_thread_count(const pelt_context *context);

/* ---- Text ------------------------------------------------------------------------------------------------- */

/* Growable byte buffer. After a failed append `failed` stays set and further appends do nothing: check once at the
 * end. */
typedef struct px_buffer {
    pelt_context *context;
    char *data; /* [size], not 0-terminated */
    size_t size, capacity;
    bool failed;
} px_buffer;
void px_buffer_add(px_buffer *buffer, const void *data, size_t size);
void px_buffer_text(px_buffer *buffer, const char *text);
void px_buffer_format(px_buffer *buffer, const char *format, ...) PELT_PRINTF(2, 3);
void px_buffer_uint(px_buffer *buffer, uint64_t value);
/* The shortest decimal that parses back to the same float. The value must be finite: callers check first. */
void px_buffer_float(px_buffer *buffer, float value);
/* The shortest decimal that parses back to the same double; must be finite. */
void px_buffer_double(px_buffer *buffer, double value);
void px_buffer_free(px_buffer *buffer);

/* Parses a decimal number ("-1.5e3", "+.5", "7.") at p and returns the address after it, or p when there is no number.
 * Locale-independent; correctly rounded for up to 15 digits and exponents within ±22, else within one unit in the last
 * place of a double. Never reads at or beyond `end`. */
const char *px_parse_double(const char *p, const char *end, double *value);

/* True when a spelling of a non-finite number begins at p, as other programs write them: "nan", "-inf", "Infinity",
 * "1.#IND". */
bool px_is_not_finite(const char *p, const char *end);

/* Reads the next name of a list separated by commas or line breaks, without surrounding spaces; false at the end of the
 * list. */
bool px_next_name(const char **text, const char **name, size_t *length);
/* True when the 0-terminated `text` (may be NULL) equals name[length]. */
bool px_is_name(const char *text, const char *name, size_t length);

/* Little- and big-endian loads from any address. */
static inline uint32_t px_load_u32(const void *p) {
    const uint8_t *b = (const uint8_t *)p;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}
static inline uint64_t px_load_u64(const void *p) {
    return px_load_u32(p) | (uint64_t)px_load_u32((const uint8_t *)p + 4) << 32;
}
static inline uint32_t px_load_u32_big(const void *p) {
    const uint8_t *b = (const uint8_t *)p;
    return (uint32_t)b[3] | (uint32_t)b[2] << 8 | (uint32_t)b[1] << 16 | (uint32_t)b[0] << 24;
}
static inline float px_float_from_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
static inline double px_double_from_bits(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
static inline uint64_t px_double_bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}
static inline uint32_t px_float_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* ---- Model internals -------------------------------------------------------------------------------------- */

/* Tells the source of a clip that `count` points of a frame were read (in place or copied) and will not be read again
 * soon: see pelt_clip_source. Thread-safe. */
static inline void px_clip_release(const pelt_clip *clip, uint32_t count) {
    if (clip->source.release)
        clip->source.release(clip->source.user, count);
}

/* Replaces the track's keys by a copy in the arena. */
pelt_result px_track_copy(px_arena *arena, pelt_track *track);
/* Equal values of a linear track become two keys, at both ends; the new times are in the arena. *constant: they are equal. */
pelt_result px_track_shorten(px_arena *arena, pelt_track *track, bool *constant);

/* Format-specific data that a reader keeps with the model, so that its writer can preserve it. Each format casts `data`
 * to its own type. */
typedef struct px_document {
    const char *format; /* name of the format; a writer ignores documents of other formats */
    void *data;
} px_document;

#endif
