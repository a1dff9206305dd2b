/* Definition of pelt_context. Private to src/core. */
#ifndef PELT_CORE_CONTEXT_H
#define PELT_CORE_CONTEXT_H

#include "core/core.h"

#include <stdatomic.h>

#define PX_MAX_THREADS 256
#define PX_ERROR_SIZE  1024

typedef struct px_pool px_pool;

struct pelt_context {
    pelt_context_desc desc;
    pelt_group group; /* size 1: none */
    uint64_t sent;    /* bytes, by this process */
    bool lost;        /* another process failed, or told that this one did: no more messages */
    uint32_t thread_count;
    px_pool *pool; /* created by the first parallel loop; NULL before */
    const char *subject;
    char error[PX_ERROR_SIZE];
    px_mutex error_lock;
    atomic_size_t memory_current, memory_peak;
    _Atomic uint64_t memory_count;
};

void px_pool_destroy(pelt_context *context);

/* Destination of this thread's error messages for one context. During a parallel loop it is a buffer [PX_ERROR_SIZE] of
 * the thread. px_error_redirect sets it and returns the previous target. */
typedef struct px_error_target {
    const pelt_context *context; /* NULL: not redirected */
    char *text;
} px_error_target;
px_error_target px_error_redirect(px_error_target target);
/* True when this thread is executing a block of a parallel loop of this context. */
bool px_error_redirected(const pelt_context *context);
/* Stores a formatted message in the destination that px_fail uses. */
void px_set_error(pelt_context *context, const char *text);
/* Reports progress without polling for cancellation. */
void px_report(pelt_context *context, const char *phase, uint64_t done, uint64_t total);

#endif
