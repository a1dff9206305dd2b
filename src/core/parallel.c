/* Deterministic parallel loops over fixed blocks. The calling thread works too; only it reports progress.
 *
 * The reported failure must not depend on the number of threads: it is that of the failing block with the lowest
 * number. Blocks are handed out in ascending order, and blocks below a failed one still run. Error messages of blocks
 * go to a buffer of their thread (px_error_redirect); only that of the lowest failing block reaches the context.
 */
#include "core/context.h"

struct px_pool {
    px_mutex lock;
    px_condition wake, done;
    px_thread threads[PX_MAX_THREADS];
    uint32_t thread_count; /* helpers, without the calling thread */
    uint64_t generation;   /* rises with every job */
    uint32_t running;      /* helpers still in the current job */
    bool stop;
    pelt_task_fn *task;
    void *task_user;
};

typedef struct loop {
    pelt_context *context;
    const char *phase;
    size_t count, block_size, block_count;
    px_block_fn *run;
    void *user;
    atomic_size_t next_block, blocks_done;
    atomic_size_t failed_block; /* lowest one so far; SIZE_MAX: none */
    px_mutex lock;              /* of the failure: */
    pelt_result result;
    char error[PX_ERROR_SIZE];
} loop;

static void record_failure(loop *l, size_t block, pelt_result result, const char *error) {
    px_mutex_lock(&l->lock);
    if (block < atomic_load(&l->failed_block)) {
        atomic_store(&l->failed_block, block);
        l->result = result;
        memcpy(l->error, error, sizeof l->error);
    }
    px_mutex_unlock(&l->lock);
}

static pelt_result run_block(loop *l, size_t block, char *error) {
    size_t first = block * l->block_size;
    px_error_target outer = px_error_redirect((px_error_target){l->context, error});
    pelt_result result = px_cancelled(l->context);
    if (result == PELT_OK)
        result = l->run(l->user, first, px_min_size(l->block_size, l->count - first), block);
    px_error_redirect(outer);
    return result;
}

/* Takes blocks until none is left. Task 0 is the calling thread's unless the host runs the tasks. */
static void work(void *user, uint32_t index) {
    loop *l = user;
    bool reports = index == 0 && !l->context->desc.run_tasks && l->phase;
    char error[PX_ERROR_SIZE] = "";
    for (;;) {
        size_t block = atomic_fetch_add(&l->next_block, 1);
        if (block >= l->block_count || block > atomic_load(&l->failed_block))
            return;
        pelt_result result = run_block(l, block, error);
        if (result != PELT_OK)
            record_failure(l, block, result, error);
        size_t done = atomic_fetch_add(&l->blocks_done, 1) + 1;
        if (reports && result == PELT_OK)
            px_report(l->context, l->phase, done, l->block_count);
    }
}

/* ---- Threads of our own ----------------------------------------------------------------------------------- */

static void helper_main(void *user) {
    px_pool *pool = user;
    px_mutex_lock(&pool->lock);
    for (uint64_t seen = 0;;) {
        while (!pool->stop && pool->generation == seen)
            px_condition_wait(&pool->wake, &pool->lock);
        if (pool->stop)
            break;
        seen = pool->generation;
        pelt_task_fn *task = pool->task;
        void *task_user = pool->task_user;
        px_mutex_unlock(&pool->lock);
        task(task_user, 1); /* any index but the calling thread's 0 */
        px_mutex_lock(&pool->lock);
        if (--pool->running == 0)
            px_condition_signal(&pool->done);
    }
    px_mutex_unlock(&pool->lock);
}

/* Fewer threads than wanted is no failure: the loop is the same with any number. */
static px_pool *pool_of(pelt_context *context) {
    if (context->pool || context->thread_count < 2)
        return context->pool;
    px_pool *pool = PX_ALLOC(context, px_pool, 1);
    if (!pool)
        return NULL;
    px_mutex_init(&pool->lock);
    px_condition_init(&pool->wake);
    px_condition_init(&pool->done);
    while (pool->thread_count + 1 < context->thread_count &&
           px_thread_start(&pool->threads[pool->thread_count], helper_main, pool))
        pool->thread_count++;
    context->pool = pool;
    return pool;
}

void px_pool_destroy(pelt_context *context) {
    px_pool *pool = context->pool;
    if (!pool)
        return;
    px_mutex_lock(&pool->lock);
    pool->stop = true;
    px_condition_broadcast(&pool->wake);
    px_mutex_unlock(&pool->lock);
    for (uint32_t t = 0; t < pool->thread_count; t++)
        px_thread_join(&pool->threads[t]);
    px_condition_destroy(&pool->wake);
    px_condition_destroy(&pool->done);
    px_mutex_destroy(&pool->lock);
    px_free(context, pool);
    context->pool = NULL;
}

static void run_on_pool(px_pool *pool, pelt_task_fn *task, void *task_user) {
    px_mutex_lock(&pool->lock);
    pool->task = task;
    pool->task_user = task_user;
    pool->running = pool->thread_count;
    pool->generation++;
    px_condition_broadcast(&pool->wake);
    px_mutex_unlock(&pool->lock);
    task(task_user, 0);
    px_mutex_lock(&pool->lock);
    while (pool->running)
        px_condition_wait(&pool->done, &pool->lock);
    px_mutex_unlock(&pool->lock);
}

/* A nested loop runs on the thread of its block only: the other threads are busy with the outer loop. */
static void run_loop(loop *l, bool nested) {
    pelt_context *context = l->context;
    uint32_t tasks = nested ? 1 : (uint32_t)px_min_size(context->thread_count, l->block_count);
    px_pool *pool = NULL;
    if (context->desc.run_tasks && tasks > 0 && !nested)
        context->desc.run_tasks(context->desc.run_tasks_user, tasks, work, l);
    else if (tasks > 1 && (pool = pool_of(context)) != NULL)
        run_on_pool(pool, work, l);
    else
        work(l, 0);
}

pelt_result px_parallel(pelt_context *context, const char *phase, size_t count, size_t block_size, px_block_fn *run,
                        void *user) {
    assert(block_size > 0);
    bool nested = px_error_redirected(context);
    loop l = {.context = context, .phase = nested ? NULL : phase, .count = count, .block_size = block_size, .run = run};
    l.user = user;
    l.block_count = px_block_count(count, block_size);
    l.failed_block = SIZE_MAX;
    if (l.phase)
        PX_TRY(px_progress(context, phase, 0, l.block_count));
    px_mutex_init(&l.lock);
    run_loop(&l, nested);
    px_mutex_destroy(&l.lock);
    if (atomic_load(&l.failed_block) != SIZE_MAX) {
        px_set_error(context, l.error);
        return l.result;
    }
    if (l.phase) /* the last block may have been another thread's */
        px_report(context, phase, 1, 1);
    return PELT_OK;
}
