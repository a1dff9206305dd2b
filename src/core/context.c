/* The context: settings, error message, log, progress, and allocation with a memory limit. */
#include "core/context.h"
#include "core/poison.h"

#include <stdio.h>
#include <stdlib.h>

const char *pelt_version(void) {
    return PELT_VERSION;
}

const char *pelt_result_name(pelt_result result) {
    switch (result) {
#define RESULT_NAME(name, text)                                                                                        \
    case PELT_##name:                                                                                                  \
        return "PELT_" #name;
        PELT_RESULTS(RESULT_NAME)
#undef RESULT_NAME
    }
    return "PELT_UNKNOWN";
}

const char *pelt_result_text(pelt_result result) {
    switch (result) {
#define RESULT_TEXT(name, text)                                                                                        \
    case PELT_##name:                                                                                                  \
        return text;
        PELT_RESULTS(RESULT_TEXT)
#undef RESULT_TEXT
    }
    return "unknown result";
}

/* ---- Making and ending ------------------------------------------------------------------------------------ */

static void *heap_resize(void *user, void *pointer, size_t old_size, size_t new_size) {
    (void)user, (void)old_size;
    if (new_size == 0) {
        free(pointer);
        return NULL;
    }
    return realloc(pointer, new_size);
}

#define FIELD(name) PELT_FIELD(pelt_context_desc, name)
static const pelt_option options[] = {
    {"memory-limit", 0, PELT_OPTION_SIZE, FIELD(memory_limit), NULL, 0, 0, NULL, "SIZE",
     "bytes that may be allocated at once; 0: any"},
    {"thread-count", 0, PELT_OPTION_UINT, FIELD(thread_count), NULL, 0, PX_MAX_THREADS, NULL, "N",
     "threads; 0: one per core"},
};

PX_DESC(context, options)

pelt_result pelt_context_create(const pelt_context_desc *desc, pelt_context **out) {
    *out = NULL;
    PX_TAKE_DESC(NULL, context, desc, settings);
    const pelt_group *group = settings.group;
    if (group && (group->size < 1 || group->size > 65536 || group->rank >= group->size || !group->send ||
                  !group->receive || !group->abort || !group->failure))
        return PELT_ERROR_USAGE;
    if (!settings.resize)
        settings.resize = heap_resize;
    pelt_context *context = settings.resize(settings.resize_user, NULL, 0, sizeof *context);
    if (!context)
        return PELT_ERROR_MEMORY;
    *context = (pelt_context){.desc = settings, .group = {.size = 1}};
    if (group)
        context->group = *group;
    context->desc.group = NULL; /* the caller's struct may be gone */
    uint32_t cores = px_core_count();
    context->thread_count = settings.thread_count    ? settings.thread_count
                            : cores < PX_MAX_THREADS ? cores
                                                     : PX_MAX_THREADS;
    px_mutex_init(&context->error_lock);
    *out = context;
    return PELT_OK;
}

void pelt_context_destroy(pelt_context *context) {
    if (!context)
        return;
    px_pool_destroy(context);
    px_mutex_destroy(&context->error_lock);
    assert(atomic_load(&context->memory_current) == 0 && "something made with this context still lives");
    pelt_context_desc settings = context->desc;
    settings.resize(settings.resize_user, context, sizeof *context, 0);
}

/* ---- Errors, messages, progress --------------------------------------------------------------------------- */

const char *pelt_error_text(const pelt_context *context) {
    return context->error;
}

const char *px_subject(pelt_context *context, const char *subject) {
    const char *previous = context->subject;
    context->subject = subject;
    return previous;
}

/* Messages contain text from files (names, paths): replace control characters, which must not reach a terminal. */
static void format_message(const pelt_context *context, char text[PX_ERROR_SIZE], const char *format, va_list list) {
    int used = context->subject ? snprintf(text, PX_ERROR_SIZE, "%s: ", context->subject) : 0;
    if (used >= 0 && used < PX_ERROR_SIZE)
        vsnprintf(text + used, PX_ERROR_SIZE - (size_t)used, format, list);
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7F)
            *c = '?';
}

static _Thread_local px_error_target error_target;

px_error_target px_error_redirect(px_error_target target) {
    px_error_target previous = error_target;
    error_target = target;
    return previous;
}

bool px_error_redirected(const pelt_context *context) {
    return error_target.context == context;
}

void px_set_error(pelt_context *context, const char *text) {
    if (px_error_redirected(context)) {
        memmove(error_target.text, text, strlen(text) + 1);
        return;
    }
    px_mutex_lock(&context->error_lock);
    memmove(context->error, text, strlen(text) + 1);
    px_mutex_unlock(&context->error_lock);
}

pelt_result px_fail(pelt_context *context, pelt_result result, const char *format, ...) {
    if (!context)
        return result;             /* a default that fails its own check, or no context yet */
    char text[PX_ERROR_SIZE] = ""; /* first here: the arguments may be the last error */
    va_list list;
    va_start(list, format);
    format_message(context, text, format, list);
    va_end(list);
    px_set_error(context, text);
    return result;
}

pelt_result px_fail_memory(pelt_context *context) {
    if (context->desc.memory_limit)
        return px_fail(context, PELT_ERROR_MEMORY, "needs more memory than the limit of %zu bytes; raise the limit",
                       context->desc.memory_limit);
    return px_fail(context, PELT_ERROR_MEMORY, "out of memory");
}

void px_log(pelt_context *context, pelt_log_level level, const char *format, ...) {
    if (!context->desc.log)
        return;
    char text[PX_ERROR_SIZE] = "";
    va_list list;
    va_start(list, format);
    format_message(context, text, format, list);
    va_end(list);
    context->desc.log(context->desc.log_user, level, text);
}

pelt_result px_cancelled(pelt_context *context) {
    if (context->desc.cancel && context->desc.cancel(context->desc.cancel_user))
        return px_fail(context, PELT_ERROR_CANCELLED, "cancelled");
    return PELT_OK;
}

void px_report(pelt_context *context, const char *phase, uint64_t done, uint64_t total) {
    if (context->desc.progress)
        context->desc.progress(context->desc.progress_user, phase, total ? (double)done / (double)total : 1.0);
}

pelt_result px_progress(pelt_context *context, const char *phase, uint64_t done, uint64_t total) {
    px_report(context, phase, done, total);
    return px_cancelled(context);
}

uint32_t px_thread_count(const pelt_context *context) {
    return context->thread_count;
}

/* ---- Counted allocation ----------------------------------------------------------------------------------- */

/* Header directly before every block; blocks begin at multiples of 64. */
typedef struct block_head {
    size_t size;  /* bytes asked for */
    void *origin; /* pointer returned by the allocator */
} block_head;
#define BLOCK_ALIGNMENT ((size_t)64)
#define BLOCK_OVERHEAD  (sizeof(block_head) + BLOCK_ALIGNMENT)

size_t px_mul_size(size_t a, size_t b) {
    size_t product;
    return __builtin_mul_overflow(a, b, &product) ? SIZE_MAX : product;
}

/* Reserves `size` bytes; false when the limit would be exceeded. *total: bytes in use afterwards. */
static bool reserve(pelt_context *context, size_t size, size_t *total) {
    size_t limit = context->desc.memory_limit ? context->desc.memory_limit : SIZE_MAX;
    size_t current = atomic_load(&context->memory_current);
    do {
        if (size > limit || current > limit - size)
            return false;
        *total = current + size;
    } while (!atomic_compare_exchange_weak(&context->memory_current, &current, *total));
    return true;
}

/* Updates the peak and the count, after an allocation succeeded. */
static void note_allocation(pelt_context *context, size_t total) {
    size_t peak = atomic_load(&context->memory_peak);
    while (total > peak && !atomic_compare_exchange_weak(&context->memory_peak, &peak, total)) {
    }
    atomic_fetch_add(&context->memory_count, 1);
}

/* A block of `size` bytes. Zeroed: memory that the C library's heap gets from the system is zeroed already, page by page
 * when it is first used, which may be on several threads. */
static void *raw_alloc(pelt_context *context, size_t size, bool zeroed) {
    bool heap = zeroed && context->desc.resize == heap_resize;
    size_t total;
    if (size > SIZE_MAX / 2 || !reserve(context, size, &total)) {
        px_fail_memory(context);
        return NULL;
    }
    char *origin = heap ? calloc(1, size + BLOCK_OVERHEAD)
                        : context->desc.resize(context->desc.resize_user, NULL, 0, size + BLOCK_OVERHEAD);
    if (!origin) {
        atomic_fetch_sub(&context->memory_current, size);
        px_fail_memory(context);
        return NULL;
    }
    note_allocation(context, total);
    uintptr_t start = ((uintptr_t)origin + BLOCK_OVERHEAD - 1) & ~(uintptr_t)(BLOCK_ALIGNMENT - 1);
    char *block = origin + (start - (uintptr_t)origin);
    block_head head = {size, origin};
    memcpy(block - sizeof head, &head, sizeof head);
    PX_POISON(block - sizeof head, sizeof head);
    PX_POISON(block + size, (size_t)(origin + size + BLOCK_OVERHEAD - (block + size)));
    return zeroed && !heap ? memset(block, 0, size) : block;
}

static block_head head_of(const void *pointer) {
    block_head head;
    const char *start = (const char *)pointer - sizeof head;
    PX_UNPOISON(start, sizeof head);
    memcpy(&head, start, sizeof head);
    PX_POISON(start, sizeof head);
    return head;
}

void *px_alloc(pelt_context *context, size_t count, size_t size) {
    return raw_alloc(context, px_mul_size(count, size), true);
}

void *px_resize(pelt_context *context, void *pointer, size_t count, size_t size) {
    size_t bytes = px_mul_size(count, size);
    void *grown = raw_alloc(context, bytes, false);
    if (grown && pointer) {
        memcpy(grown, pointer, px_min_size(bytes, head_of(pointer).size));
        px_free(context, pointer);
    }
    return grown;
}

void px_free(pelt_context *context, void *pointer) {
    if (!pointer)
        return;
    block_head head = head_of(pointer);
    PX_UNPOISON(head.origin, head.size + BLOCK_OVERHEAD); /* the host's allocator may write there */
    atomic_fetch_sub(&context->memory_current, head.size);
    context->desc.resize(context->desc.resize_user, head.origin, head.size + BLOCK_OVERHEAD, 0);
}

pelt_result px_reserve(pelt_context *context, size_t size) {
    size_t total;
    if (!reserve(context, size, &total))
        return px_fail_memory(context);
    note_allocation(context, total);
    return PELT_OK;
}

void px_unreserve(pelt_context *context, size_t size) {
    atomic_fetch_sub(&context->memory_current, size);
}

pelt_memory_info pelt_context_memory(const pelt_context *context) {
    return (pelt_memory_info){atomic_load(&context->memory_current), atomic_load(&context->memory_peak),
                              atomic_load(&context->memory_count)};
}
