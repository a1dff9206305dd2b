/* The context's fields: for core's own files only. */
#ifndef PELT_CORE_CONTEXT_H
#define PELT_CORE_CONTEXT_H

#include "core/core.h"

#include <pthread.h>
#include <stdatomic.h>

#define PX_MAX_THREADS 256
#define PX_ERROR_SIZE  1024

typedef struct px_pool px_pool;

struct pelt_context {
    pelt_context_desc desc;
    uint32_t thread_count;
    px_pool *pool; /* made by the first parallel loop */
    const char *subject;
    char error[PX_ERROR_SIZE];
    pthread_mutex_t error_lock;
    atomic_size_t memory_current, memory_peak;
    _Atomic uint64_t memory_count;
};

void px_pool_destroy(pelt_context *context);

/* Where this thread's sentences about failures of one context go: during a parallel loop, to a buffer
 * [PX_ERROR_SIZE] of the thread. Gives the previous place. */
typedef struct px_error_target {
    const pelt_context *context; /* NULL: nowhere special */
    char *text;
} px_error_target;
px_error_target px_error_redirect(px_error_target target);
/* Whether this thread is inside a block of a loop of this context. */
bool px_error_redirected(const pelt_context *context);
/* Puts a finished sentence where px_fail would. */
void px_set_error(pelt_context *context, const char *text);
/* Reports progress without asking whether to stop. */
void px_report(pelt_context *context, const char *phase, uint64_t done, uint64_t total);

#endif
