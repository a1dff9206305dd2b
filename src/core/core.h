/* What every module uses: errors, allocation, arenas, ordered parallel loops, text that grows.
 *
 * Names that cross files inside the library begin with px_.
 */
#ifndef PELT_CORE_H
#define PELT_CORE_H

#include <pelt/base.h>
#include <pelt/model.h>

#include <assert.h>
#include <stdarg.h>
#include <string.h>

/* Leaves the calling function when a step fails. */
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

/* ---- Failing and telling ---------------------------------------------------------------------------------- */

/* Records a sentence and returns `result`. The subject (usually a path) is put in front. Safe from any thread. */
pelt_result px_fail(pelt_context *context, pelt_result result, const char *format, ...) PELT_PRINTF(3, 4);
/* "out of memory", or that the memory limit was reached. */
pelt_result px_fail_memory(pelt_context *context);
/* The first joint of this name [length] at or behind `from`; PELT_NONE: there is none. */
uint32_t px_joint_named(const pelt_skeleton *skeleton, const char *name, size_t length, uint32_t from);
/* "exclude: there is no joint 'Hnad'; did you mean 'Hand'?": PELT_ERROR_INPUT. `where` is a field or a file. */
pelt_result px_fail_joint(pelt_context *context, const pelt_skeleton *skeleton, const char *where, const char *name,
                          size_t length);
/* What messages are about from now on: "horse.glb". Borrowed; NULL for nothing. Returns the previous subject. */
const char *px_subject(pelt_context *context, const char *subject);
/* A message to the log, with the subject in front. Only from the calling thread. */
void px_log(pelt_context *context, pelt_log_level level, const char *format, ...) PELT_PRINTF(3, 4);
/* Reports progress and asks whether to stop: PELT_OK or PELT_ERROR_CANCELLED. Only from the calling thread. */
pelt_result px_progress(pelt_context *context, const char *phase, uint64_t done, uint64_t total);
/* Asks only whether to stop. From any thread. */
pelt_result px_cancelled(pelt_context *context);
/* A clock that never goes back, for durations. */
double px_seconds(void);

/* ---- Descriptions ------------------------------------------------------------------------------------------ */

/* Defines the table and the default function of pelt_NAME_desc, from an array of rows. */
#define PX_DESC(name, rows) PX_DESC_OF(pelt_##name##_desc, pelt_##name##_options, rows)
#define PX_DESC_OF(type, table_function, rows)                                                                         \
    const pelt_option_table *table_function(void) {                                                                    \
        static const pelt_option_table table = {#type, rows, PX_COUNT(rows)};                                          \
        return &table;                                                                                                 \
    }                                                                                                                  \
    type type##_default(void) {                                                                                        \
        type desc = {0};                                                                                               \
        pelt_options_default(table_function(), &desc);                                                                 \
        return desc;                                                                                                   \
    }

/* Declares `settings`: what `desc` points to, or the defaults for NULL. Leaves the calling function when a field is wrong. */
#define PX_TAKE_DESC(context, name, desc, settings)                                                                    \
    pelt_##name##_desc settings = (desc) ? *(desc) : pelt_##name##_desc_default();                                     \
    PX_TRY(pelt_options_check(context, pelt_##name##_options(), &settings))

/* ---- Memory ----------------------------------------------------------------------------------------------- */

/* a·b, or SIZE_MAX when that does not fit: no allocation of that size ever succeeds. */
size_t px_mul_size(size_t a, size_t b);

/* Zeroed memory, 64-byte aligned; NULL and px_fail_memory when there is none or count·size overflows. */
void *px_alloc(pelt_context *context, size_t count, size_t size);
/* Resizes what px_alloc gave (or NULL); new bytes are not zeroed; NULL (old block kept) on failure. */
void *px_resize(pelt_context *context, void *pointer, size_t count, size_t size);
void px_free(pelt_context *context, void *pointer);
/* Bytes that another library is about to allocate count against the limit too, until they are given back. */
pelt_result px_reserve(pelt_context *context, size_t size);
void px_unreserve(pelt_context *context, size_t size);
#define PX_ALLOC(context, type, count) ((type *)px_alloc(context, count, sizeof(type)))

/* Memory that goes all at once. Used by one thread at a time. */
typedef struct px_arena px_arena;
px_arena *px_arena_create(pelt_context *context);
void px_arena_destroy(px_arena *arena);
/* Zeroed memory, 64-byte aligned for blocks of 64 bytes or more, else 16; NULL as for px_alloc. */
void *px_arena_alloc(px_arena *arena, size_t count, size_t size);
/* A copy of `length` bytes with a 0 behind, not aligned. */
char *px_arena_text(px_arena *arena, const char *text, size_t length);
/* Calls release(user) when the arena goes, last registered first. On failure releases at once. */
pelt_result px_arena_defer(px_arena *arena, void (*release)(void *user), void *user);
pelt_context *px_arena_context(const px_arena *arena);
#define PX_NEW(arena, type, count) ((type *)px_arena_alloc(arena, count, sizeof(type)))

/* Between open and close, memory comes from a part of the arena; calls nest, all share one part. The last close frees every
 * part that `used` returns false for. */
typedef bool px_arena_used_fn(const void *user, const px_arena *part);
void px_arena_open(px_arena *arena);
void px_arena_close(px_arena *arena, px_arena_used_fn *used, const void *user);
/* The parts that are there now last as long as the arena. While it is open, nothing happens. NULL is allowed. */
void px_arena_keep(px_arena *arena);
/* Makes an arena a part of another. */
void px_arena_adopt(px_arena *arena, px_arena *part);
/* Whether the pointer is into the arena's memory. */
bool px_arena_holds(const px_arena *arena, const void *pointer);
/* As px_arena_alloc, but never in a part: arrays of reports, which last as long as the model. */
void *px_arena_alloc_lasting(px_arena *arena, size_t count, size_t size);
#define PX_NEW_LASTING(arena, type, count) ((type *)px_arena_alloc_lasting(arena, count, sizeof(type)))

/* Between begin and end an operation replaces data of a model. The end frees the memory of this operation and of earlier
 * ones that no array of the model is in, and returns `result`. Operations nest. Does nothing for a copy of a pelt_model.
 * An object that refers to arrays of a model after it was made calls px_arena_keep(model->memory) first: arrays that an
 * operation replaces then stay. */
void px_operation_begin(pelt_model *model);
pelt_result px_operation_end(pelt_model *model, pelt_result result);

/* Replaces the data of a model by that of a model borrowed from it (pelt_model_borrow), whose memory it takes over; its clips
 * stay. On failure the model is as it was and the borrowed one is destroyed. */
pelt_result px_model_adopt(pelt_model *model, const pelt_model *borrowed);

/* ---- Ordered parallel loops ------------------------------------------------------------------------------- */

/* Does elements [first, first + count) of block `block`. */
typedef pelt_result px_block_fn(void *user, size_t first, size_t count, size_t block);

/* Cuts [0, count) into blocks of `block_size` (fixed: results must not depend on the number of threads) and runs them
 * on the context's threads. Blocks may run in any order; sums that must be ordered go to one slot per block. Stops
 * early on failure or cancellation and returns the result of the lowest failed block. With a `phase`, shows progress.
 * Inside a block, a further loop runs on that block's thread alone. */
pelt_result px_parallel(pelt_context *context, const char *phase, size_t count, size_t block_size, px_block_fn *run,
                        void *user);
static inline size_t px_block_count(size_t count, size_t block_size) {
    return count / block_size + (count % block_size != 0);
}
uint32_t px_thread_count(const pelt_context *context);

/* ---- Text ------------------------------------------------------------------------------------------------- */

/* Bytes that grow. After a failed append everything further is ignored and `failed` stays set: check once. */
typedef struct px_buffer {
    pelt_context *context;
    char *data; /* no 0 behind */
    size_t size, capacity;
    bool failed;
} px_buffer;
void px_buffer_add(px_buffer *buffer, const void *data, size_t size);
void px_buffer_text(px_buffer *buffer, const char *text);
void px_buffer_format(px_buffer *buffer, const char *format, ...) PELT_PRINTF(2, 3);
void px_buffer_uint(px_buffer *buffer, uint64_t value);
/* The shortest spelling that reads back as the same float; "nan" and "inf" never: callers check first. */
void px_buffer_float(px_buffer *buffer, float value);
/* The same for a double. */
void px_buffer_double(px_buffer *buffer, double value);
void px_buffer_free(px_buffer *buffer);

/* Reads a decimal number ("-1.5e3", "+.5", "7.") at p and returns the place behind it, or p when there is none.
 * Independent of the locale; correctly rounded for up to 15 digits and exponents within ±22, else within one unit in
 * the last place of a double. Never reads at or behind end. */
const char *px_parse_double(const char *p, const char *end, double *value);

/* Whether a word that other programs write for what is not finite begins at p: "nan", "-inf", "Infinity", "1.#IND". */
bool px_is_not_finite(const char *p, const char *end);

/* The next of names that are divided by commas or lines, without spaces around; false behind the last. */
bool px_next_name(const char **text, const char **name, size_t *length);
/* Whether a text (or NULL) is this name [length]. */
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

/* ---- The model from inside -------------------------------------------------------------------------------- */

/* `count` points of a frame were read, in place or copied, and are not needed again soon; see pelt_clip_source. From
 * any thread. */
static inline void px_clip_release(const pelt_clip *clip, uint32_t count) {
    if (clip->source.release)
        clip->source.release(clip->source.user, count);
}

/* Gives a track keys of its own in the arena. */
pelt_result px_track_copy(px_arena *arena, pelt_track *track);

/* What a format keeps beside the model for writing it back. Each format casts `data` to its own type. */
typedef struct px_document {
    const char *format; /* the format's name; a writer uses only documents of its own */
    void *data;
} px_document;

#endif
