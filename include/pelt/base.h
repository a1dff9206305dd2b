/* Pelt: results, context and option tables.
 *
 * Every function that can fail returns a pelt_result and stores a message about the failure in its context
 * (pelt_error_text). After a failure all outputs are empty and nothing leaks.
 */
#ifndef PELT_BASE_H
#define PELT_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PELT_VERSION_MAJOR 0
#define PELT_VERSION_MINOR 2
#define PELT_VERSION_PATCH 0
#define PELT_VERSION       "0.2.0"

#if defined(_WIN32) && defined(PELT_BUILD_LIBRARY)
#define PELT_API __declspec(dllexport)
#elif defined(__GNUC__) && !defined(_WIN32)
#define PELT_API __attribute__((visibility("default")))
#else
#define PELT_API
#endif
#if defined(__MINGW32__) /* printf of its own library, not of Microsoft's */
#define PELT_PRINTF(format_index, first_index) __attribute__((format(gnu_printf, format_index, first_index)))
#elif defined(__GNUC__)
#define PELT_PRINTF(format_index, first_index) __attribute__((format(printf, format_index, first_index)))
#else
#define PELT_PRINTF(format_index, first_index)
#endif

/* Experimental functions may change or go in any version; the others follow semantic versioning (docs/versions.md). Define
 * PELT_STABLE_ONLY to get a warning at every call of an experimental function. */
#if defined(PELT_STABLE_ONLY) && defined(__GNUC__)
#define PELT_EXPERIMENTAL __attribute__((deprecated("experimental: may change in any version")))
#else
#define PELT_EXPERIMENTAL
#endif

/* "No such index": a joint without parent, a part without material. */
#define PELT_NONE UINT32_MAX

/* ---- Results ---------------------------------------------------------------------------------------------- */

/* The one list of results: X(name, text). */
#define PELT_RESULTS(X)                                                                                                \
    X(OK, "done")                                                                                                      \
    X(ERROR_USAGE, "an argument is missing, out of range or not initialised")                                          \
    X(ERROR_INPUT, "an input is missing, damaged or not what was expected")                                            \
    X(ERROR_UNSUPPORTED, "an input uses a feature that is not supported")                                              \
    X(ERROR_OUTPUT, "an output could not be written")                                                                  \
    X(ERROR_MEMORY, "out of memory, or over the memory limit")                                                         \
    X(ERROR_CANCELLED, "cancelled")

/* Results of calls, one per row of PELT_RESULTS. */
typedef enum pelt_result {
#define PELT_RESULT_ENUM(name, text) PELT_##name,
    PELT_RESULTS(PELT_RESULT_ENUM)
#undef PELT_RESULT_ENUM
} pelt_result;

/* "PELT_ERROR_INPUT" and so on; never NULL. */
PELT_API const char *pelt_result_name(pelt_result result);
/* The general meaning of a result; never NULL. The particular cause is in pelt_error_text. */
PELT_API const char *pelt_result_text(pelt_result result);
/* The version of the library that is running, "0.2.0". */
PELT_API const char *pelt_version(void);
/* The nearest of `names` [count] to a misspelt one, for messages; NULL when none is near. */
PELT_API const char *pelt_nearest_name(const char *name, const char *const *names, size_t count);

/* Allocator, threads, messages, progress and cancellation for a series of calls; see "Context". */
typedef struct pelt_context pelt_context;

/* ---- Descriptions and option tables ----------------------------------------------------------------------- */

/* Settings of a call are fields of a struct, its desc. Get one from its default function (pelt_bind_desc_default) and
 * change what you need. Every desc begins with `cookie`, which only the default function sets: a function that is given a
 * desc without it, or with a field out of its range, fails with PELT_ERROR_USAGE and names the field. */
#define PELT_DESC_COOKIE 0x544C4550u /* "PELT" */

/* One table row per option gives the default, the range check, the command-line flag, the help text and the
 * documentation of one field of a desc. */
typedef enum pelt_option_kind {
    PELT_OPTION_FLAG,   /* bool */
    PELT_OPTION_UINT,   /* uint32_t */
    PELT_OPTION_REAL,   /* double, finite */
    PELT_OPTION_SIZE,   /* size_t, bytes; text may end in K, M, G (powers of 1024) */
    PELT_OPTION_TEXT,   /* const char *, borrowed from the caller */
    PELT_OPTION_CHOICE, /* uint32_t index into `choices` */
    PELT_OPTION_VECTOR  /* double[3], finite; text is "X,Y,Z" */
} pelt_option_kind;

/* One row of an option table. */
typedef struct pelt_option {
    const char *name;      /* long name without dashes, "influences" */
    char letter;           /* one-letter form; 0: none */
    pelt_option_kind kind; /* type of the field */
    size_t offset;         /* of the field in the desc; PELT_FIELD gives this and the next */
    const char *field;     /* name of the field, for messages */
    const char *initial;   /* default, as text in the form a user would type; NULL: 0, false or NULL */
    double min, max;       /* inclusive range for UINT, REAL and each number of VECTOR; both 0: any value */
    const char *choices;   /* CHOICE: names separated by '|', "affine|trs|rigid" */
    const char *value;     /* what the help calls the value, "FILE", "N"; NULL for flags and choices */
    const char *help;      /* one line, no full stop */
} pelt_option;

/* Offset and name of a field, for a row. */
#define PELT_FIELD(type, field) offsetof(type, field), #field

/* One value of a preset. A preset is a named set of option values, such as those of a published method. */
typedef struct pelt_preset_value {
    const char *preset; /* name of the preset, "lattice2011" */
    const char *option; /* name of an option of the same table */
    const char *text;   /* its value, as text in the form a user would type; NULL: a flag */
} pelt_preset_value;

/* The rows of one desc. */
typedef struct pelt_option_table {
    const char *desc;                 /* the desc's type, "pelt_bind_desc"; NULL: a struct without a cookie */
    const pelt_option *rows;          /* [count] */
    size_t count;                     /* number of rows */
    const pelt_preset_value *presets; /* [preset_count] values of all presets; NULL: none */
    size_t preset_count;              /* number of values */
} pelt_option_table;

/* Sets the cookie, and every field that the table describes to its default. */
PELT_API void pelt_options_default(const pelt_option_table *table, void *desc);
/* Fails with PELT_ERROR_USAGE when the cookie is missing or a field is out of its range. The message names the field:
 * "pelt_bind_desc.resolution is 1, should be from 8 to 1022". Every function that takes a desc makes this check. */
PELT_API pelt_result pelt_options_check(pelt_context *context, const pelt_option_table *table, const void *desc);
/* Sets one field from text; `text` is NULL for a flag given without value. Unknown names, bad numbers and values
 * out of range fail with PELT_ERROR_USAGE and a sentence that begins with the name. TEXT values are borrowed, not
 * copied. */
PELT_API pelt_result pelt_options_set(pelt_context *context, const pelt_option_table *table, void *desc,
                                      const char *name, const char *text);
/* Sets the fields that a preset names; the others stay. Fails with PELT_ERROR_USAGE when the table has no preset of
 * this name. */
PELT_API pelt_result pelt_options_preset(pelt_context *context, const pelt_option_table *table, void *desc,
                                         const char *preset);

/* ---- Context ---------------------------------------------------------------------------------------------- */

/* A context is used by one calling thread at a time; the calls themselves run on up to `thread_count` threads. */

/* Grows, shrinks, makes (pointer NULL, old_size 0) or frees (new_size 0) a block. Returns NULL when it cannot,
 * in which case the old block stays valid. Called from several threads at once. Blocks are aligned for any type. */
typedef void *pelt_resize_fn(void *user, void *pointer, size_t old_size, size_t new_size);

/* Severity of a message: something the user should know, progress, details for debugging. */
typedef enum pelt_log_level { PELT_LOG_WARNING, PELT_LOG_INFO, PELT_LOG_DEBUG } pelt_log_level;
/* One message, without a line end. Called only from the thread that called Pelt. */
typedef void pelt_log_fn(void *user, pelt_log_level level, const char *text);

/* A phase ("read", "skin") has done `fraction` (0 to 1) of its work. Called only from the thread that called Pelt. */
typedef void pelt_progress_fn(void *user, const char *phase, double fraction);

/* Asked now and then, from any thread: true stops the running call with PELT_ERROR_CANCELLED. */
typedef bool pelt_cancel_fn(void *user);

/* One task of a job. */
typedef void pelt_task_fn(void *task_user, uint32_t index);
/* Runs task(task_user, 0) … task(task_user, task_count - 1), in any order and on any threads, and returns when
 * all are done. Lets a host put Pelt's work on its own job system. */
typedef void pelt_run_tasks_fn(void *user, uint32_t task_count, pelt_task_fn *task, void *task_user);

/* Processes that work together (experimental; see group.h). The host implements the functions; all are called from the thread that
 * called Pelt. A function that fails returns another result than PELT_OK, at best that of the process whose failure was the cause. */
typedef struct pelt_group {
    uint32_t rank; /* number of this process, 0 to size - 1 */
    uint32_t size; /* number of processes, 1 to 65,536 */
    /* Sends data [size] to another process; may return before it is received. */
    pelt_result (*send)(void *user, uint32_t to, const void *data, size_t size);
    /* Waits for data [size] from another process. What one process sends to another arrives in that order. Fails when a process
     * called `abort`. */
    pelt_result (*receive)(void *user, uint32_t from, void *data, size_t size);
    /* This process failed: makes waiting and later calls of `receive` fail in all others. `text`: the message. */
    void (*abort)(void *user, pelt_result result, const char *text);
    /* The text that another process gave to `abort`; NULL: none did. */
    const char *(*failure)(void *user);
    void *user; /* first argument of the functions */
} pelt_group;

typedef struct pelt_context_desc {
    uint32_t cookie;              /* set by pelt_context_desc_default; do not change */
    pelt_resize_fn *resize;       /* NULL: the C library's heap */
    void *resize_user;            /* first argument of resize */
    size_t memory_limit;          /* bytes that may be allocated at once; 0 (default): no limit */
    uint32_t thread_count;        /* 0 (default): one per core; at most 256. Results do not depend on it */
    pelt_run_tasks_fn *run_tasks; /* NULL (default): threads of the context's own */
    void *run_tasks_user;         /* first argument of run_tasks */
    pelt_log_fn *log;             /* NULL (default): messages are dropped */
    void *log_user;               /* first argument of log */
    pelt_progress_fn *progress;   /* NULL (default): none */
    void *progress_user;          /* first argument of progress */
    pelt_cancel_fn *cancel;       /* NULL (default): never */
    void *cancel_user;            /* first argument of cancel */
    const pelt_group *group;      /* NULL (default): one process. Experimental. Copied */
} pelt_context_desc;

PELT_API const pelt_option_table *pelt_context_options(void);
PELT_API pelt_context_desc pelt_context_desc_default(void);
/* `desc` may be NULL for the defaults. On failure *context is NULL. */
PELT_API pelt_result pelt_context_create(const pelt_context_desc *desc, pelt_context **context);
/* Everything made with the context must be destroyed before it. NULL is allowed. */
PELT_API void pelt_context_destroy(pelt_context *context);

/* The sentence about the last failure (file, place, cause, what to do); "" when there was none. */
PELT_API const char *pelt_error_text(const pelt_context *context);

/* Memory of a context. */
typedef struct pelt_memory_info {
    size_t current; /* bytes allocated now */
    size_t peak;    /* most bytes allocated at once since the context was made */
    uint64_t count; /* allocations made since then; run-time calls never add to it */
} pelt_memory_info;
/* Memory that the context holds now and has held. */
PELT_API pelt_memory_info pelt_context_memory(const pelt_context *context);

#ifdef __cplusplus
}
#endif

#endif
