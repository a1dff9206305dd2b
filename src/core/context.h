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

#endif
