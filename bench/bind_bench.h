/* Shared by the tables of bench_bind. */
#ifndef PELT_BENCH_BIND_BENCH_H
#define PELT_BENCH_BIND_BENCH_H

#include "characters.h"

#define MAX_SETTINGS 32

typedef struct bind_bench {
    const char *filter; /* only files whose path contains this; NULL: all */
    bool worst;
    uint32_t thread_count;
    uint32_t setting_count;
    const char *settings[MAX_SETTINGS]; /* "NAME=VALUE": options of every binding */
    void *sums;                         /* of the rows of a table */
} bind_bench;

typedef struct bind_figures {
    double voxelize, solve, weights; /* seconds of the phases */
    double total;                    /* seconds on the clock */
    double cpu;                      /* seconds of all threads */
    uint64_t voxel_count;            /* inside and boundary */
    uint32_t block_size, solved_count;
} bind_figures;

/* Binds a model in place with the bench's settings and one more (NULL: none). */
pelt_result bind_with(pelt_context *context, const bind_bench *b, const char *setting, pelt_model *model,
                      bind_figures *figures);
/* The same for a character that is loaded again. */
pelt_result bind_loaded(pelt_context *context, const bind_bench *b, const char *setting, const character *c,
                        pelt_model **model, bind_figures *figures);

/* Calls `run` with every character that matches the filter; without a filter, with a few of different kinds. Returns
 * the program's exit code: 1 after a failure, which is reported. */
typedef pelt_result bind_row_fn(pelt_context *context, const bind_bench *b, const character *c);
int bind_each(pelt_context *context, const bind_bench *b, bind_row_fn *run);

/* The tables. Each returns the exit code. */
int bind_table(pelt_context *context, const bind_bench *b);
int bind_fit(pelt_context *context, const bind_bench *b);
int bind_invariance(pelt_context *context, const bind_bench *b);
int bind_robots(pelt_context *context, const bind_bench *b);
int bind_speed(pelt_context *context, const bind_bench *b);
int bind_scaling(pelt_context *context, const bind_bench *b);
int bind_sizes(pelt_context *context, const bind_bench *b);
int bind_paper(pelt_context *context, const bind_bench *b);
int bind_apply(pelt_context *context, const bind_bench *b);
int bind_defects(pelt_context *context, const bind_bench *b);
int bind_methods(pelt_context *context, const bind_bench *b);
int bind_coarse(pelt_context *context, const bind_bench *b);
int bind_curve(pelt_context *context, const bind_bench *b);
int bind_figures_table(pelt_context *context, const bind_bench *b);
int bind_falloffs(pelt_context *context, const bind_bench *b);
int bind_distances(pelt_context *context, const bind_bench *b);

#endif
