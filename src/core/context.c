/* The context: settings, the last error, counted allocation. */
#include "core/context.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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

pelt_context_desc pelt_context_desc_default(void) {
    return (pelt_context_desc){.resize = heap_resize};
}

static uint32_t core_count(void) {
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : count > PX_MAX_THREADS ? PX_MAX_THREADS : (uint32_t)count;
}

pelt_result pelt_context_create(const pelt_context_desc *desc, pelt_context **out) {
    *out = NULL;
    pelt_context_desc settings = desc ? *desc : pelt_context_desc_default();
    if (!settings.resize)
        settings.resize = heap_resize;
    if (settings.thread_count > PX_MAX_THREADS)
        return PELT_ERROR_ARGUMENT;
    pelt_context *context = settings.resize(settings.resize_user, NULL, 0, sizeof *context);
    if (!context)
        return PELT_ERROR_MEMORY;
    *context = (pelt_context){.desc = settings};
    context->thread_count = settings.thread_count ? settings.thread_count : core_count();
    pthread_mutex_init(&context->error_lock, NULL);
    *out = context;
    return PELT_OK;
}

void pelt_context_destroy(pelt_context *context) {
    if (!context)
        return;
    px_pool_destroy(context);
    pthread_mutex_destroy(&context->error_lock);
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

static void format_message(const pelt_context *context, char *text, size_t size, const char *format, va_list list) {
    int used = context->subject ? snprintf(text, size, "%s: ", context->subject) : 0;
    if (used >= 0 && (size_t)used < size)
        vsnprintf(text + used, size - (size_t)used, format, list);
}

pelt_result px_fail(pelt_context *context, pelt_result result, const char *format, ...) {
    va_list list;
    va_start(list, format);
    pthread_mutex_lock(&context->error_lock);
    format_message(context, context->error, sizeof context->error, format, list);
    pthread_mutex_unlock(&context->error_lock);
    va_end(list);
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
    char text[PX_ERROR_SIZE];
    va_list list;
    va_start(list, format);
    format_message(context, text, sizeof text, format, list);
    va_end(list);
    context->desc.log(context->desc.log_user, level, text);
}

pelt_result px_cancelled(pelt_context *context) {
    if (context->desc.cancel && context->desc.cancel(context->desc.cancel_user))
        return px_fail(context, PELT_ERROR_CANCELLED, "cancelled");
    return PELT_OK;
}

pelt_result px_progress(pelt_context *context, const char *phase, uint64_t done, uint64_t total) {
    if (context->desc.progress)
        context->desc.progress(context->desc.progress_user, phase, total ? (double)done / (double)total : 1.0);
    return px_cancelled(context);
}

uint32_t px_thread_count(const pelt_context *context) {
    return context->thread_count;
}

/* ---- Counted allocation ----------------------------------------------------------------------------------- */

/* Every block begins with this; 64 bytes, so that what follows keeps a 64-byte alignment. */
typedef struct block_head {
    size_t size;  /* bytes asked for */
    void *origin; /* what the allocator gave */
} block_head;
#define BLOCK_OVERHEAD  128u
#define BLOCK_ALIGNMENT 64u

size_t px_mul_size(size_t a, size_t b) {
    size_t product;
    return __builtin_mul_overflow(a, b, &product) ? SIZE_MAX : product;
}

static bool reserve(pelt_context *context, size_t size) {
    size_t current = atomic_fetch_add(&context->memory_current, size) + size;
    if (context->desc.memory_limit && current > context->desc.memory_limit) {
        atomic_fetch_sub(&context->memory_current, size);
        return false;
    }
    size_t peak = atomic_load(&context->memory_peak);
    while (current > peak && !atomic_compare_exchange_weak(&context->memory_peak, &peak, current)) {
    }
    atomic_fetch_add(&context->memory_count, 1);
    return true;
}

/* A block of `size` bytes, not zeroed. */
static void *raw_alloc(pelt_context *context, size_t size) {
    if (size > SIZE_MAX / 2 || !reserve(context, size)) {
        px_fail_memory(context);
        return NULL;
    }
    char *origin = context->desc.resize(context->desc.resize_user, NULL, 0, size + BLOCK_OVERHEAD);
    if (!origin) {
        atomic_fetch_sub(&context->memory_current, size);
        px_fail_memory(context);
        return NULL;
    }
    uintptr_t start =
        ((uintptr_t)origin + sizeof(block_head) + BLOCK_ALIGNMENT - 1) & ~(uintptr_t)(BLOCK_ALIGNMENT - 1);
    block_head *head = (block_head *)(start - sizeof(block_head));
    *head = (block_head){size, origin};
    return (void *)start;
}

static block_head *head_of(void *pointer) {
    return (block_head *)((char *)pointer - sizeof(block_head));
}

void *px_alloc(pelt_context *context, size_t count, size_t size) {
    size_t bytes = px_mul_size(count, size);
    void *pointer = raw_alloc(context, bytes);
    return pointer ? memset(pointer, 0, bytes) : NULL;
}

void *px_resize(pelt_context *context, void *pointer, size_t count, size_t size) {
    size_t bytes = px_mul_size(count, size);
    void *grown = raw_alloc(context, bytes);
    if (grown && pointer) {
        memcpy(grown, pointer, px_min_size(bytes, head_of(pointer)->size));
        px_free(context, pointer);
    }
    return grown;
}

void px_free(pelt_context *context, void *pointer) {
    if (!pointer)
        return;
    block_head head = *head_of(pointer);
    atomic_fetch_sub(&context->memory_current, head.size);
    context->desc.resize(context->desc.resize_user, head.origin, head.size + BLOCK_OVERHEAD, 0);
}

pelt_memory_info pelt_context_memory(const pelt_context *context) {
    return (pelt_memory_info){atomic_load(&context->memory_current), atomic_load(&context->memory_peak),
                              atomic_load(&context->memory_count)};
}
