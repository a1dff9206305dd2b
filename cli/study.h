/* Shared by the files of pelt study.
 *
 *   study.c          the verb
 *   study_methods.c  representations of an animation; each adds rows
 *   study_report.c   the rows as a table, CSV, JSON and curves
 *   study_plot.c     curves as SVG
 */
#ifndef PELT_CLI_STUDY_H
#define PELT_CLI_STUDY_H

#include "cli.h"

#define STUDY_QUANTILES 9 /* 0, 1, 10, 25, 50, 75, 90, 99 and 100 % */

typedef struct study_settings {
    const char *max_error; /* list of lengths */
    pelt_load_desc load;
    const char *methods;
    const char *bones, *clusters, *ranks; /* lists of numbers; clusters NULL: as bones; ranks NULL: 4 times bones */
    uint32_t components;
    uint32_t rounds;
    uint32_t corrections; /* morph targets */
    uint32_t basis;       /* pelt_correct_basis of the corrections */
    uint32_t normal_rank; /* further morph targets, of normals alone */
    uint32_t influences;
    uint32_t iterations;
    const char *rotation_tolerance; /* list of numbers */
    bool published;
    const char *write; /* folder for the animations of the rows; NULL: none */
    double fps;
    const char *csv, *svg;
} study_settings;

typedef struct number_list {
    uint32_t *items;
    size_t count;
} number_list;

typedef struct study_work study_work;
typedef struct study_method study_method;

/* A representation of an animation. */
struct study_method {
    const char *name;  /* in --methods; "sma" selects all names that begin with "sma-" */
    const char *title; /* in tables */
    pelt_result (*run)(study_work *w, const study_method *method, uint32_t count);
    size_t counts;       /* offset in study_work of the number_list with the counts to run */
    uint32_t transforms; /* pelt_transforms of its bones */
    uint32_t solver;     /* pelt_weight_solver, SMA only */
};
extern const study_method study_methods[];
extern const size_t study_method_count;

/* A row of the table. */
typedef struct study_row {
    const study_method *method;
    uint32_t bones;                  /* number of bones; of clusters if components > 0 */
    uint32_t components;             /* principal components per cluster; 0: a skin */
    uint32_t corrections;            /* morph targets */
    uint32_t normal_corrections;     /* further morph targets, of normals alone */
    uint32_t negative;               /* vertices whose negative weights were made positive */
    double vertex_bytes;             /* stored bytes per vertex */
    double frame_bytes;              /* stored bytes per frame */
    double ratio;                    /* compression ratio: bytes of all positions as floats / stored bytes */
    double seconds;                  /* time to solve, without reading and measuring */
    double seconds_init;             /* of that, before the first iteration: reduction and seeds */
    double seconds_step;             /* of one iteration; 0: none */
    double near_rigid;               /* η of SMA; 0: another method */
    double weights[STUDY_QUANTILES]; /* of a skin: quantiles of all weights of vertices, unused ones included */
    pelt_difference error;           /* of the stored animation against the source */
    double skinned_normal_rms; /* of unit normals that the skin moves by its blended matrices; NaN: not measured */
    double *rank_errors;       /* [corrections + 1] E_rms by number of morph targets; NULL without corrections */
} study_row;

/* One run. */
struct study_work {
    cli_session *session;
    const study_settings *settings;
    const char *const *paths;
    size_t path_count;
    pelt_model *source; /* its clips are the animation */
    pelt_clip whole;    /* all clips of the source, concatenated */
    bool *wanted;       /* [method] */
    number_list bones, clusters, ranks;
    number_list tolerances; /* in millionths */
    pelt_decompose_cache *cache;
    pelt_study *study; /* NULL until a method needs it */
    double study_seconds;
    study_row *rows;
    size_t row_count;
    pelt_model *best; /* the skin with the smallest error, for --report; or NULL */
    double best_error;
};

/* study_sizes.c: sizes of all representations at equal largest errors (--max-error). */
exit_code study_sizes(study_work *w);

/* Reports the rows as JSON and as a table; writes the files of --csv and --svg. */
exit_code study_report(study_work *w);

/* ---- study_plot.c ----------------------------------------------------------------------------------------- */

typedef struct plot_series {
    char *name;
    uint32_t colour; /* index in the palette */
    bool dashed;     /* dashed line with hollow marks */
    double (*points)[2];
    size_t count;
} plot_series;

typedef struct plot {
    const char *title, *x;
    plot_series *series;
    size_t count;
} plot;

/* SVG text of plots side by side with one legend; the error axis is logarithmic. Freed by the caller. */
char *plot_svg(const char *title, const plot *plots, size_t count);

#endif
