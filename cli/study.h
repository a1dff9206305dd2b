/* What the files of pelt study share.
 *
 *   study.c          the verb
 *   study_methods.c  the ways to store an animation; each adds rows
 *   study_report.c   the rows as a table, CSV, JSON, and as curves
 *   study_plot.c     curves as SVG
 */
#ifndef PELT_CLI_STUDY_H
#define PELT_CLI_STUDY_H

#include "cli.h"

typedef struct study_settings {
    pelt_load_desc load;
    const char *methods;
    const char *bones, *clusters, *ranks; /* lists of numbers; NULL: as many as there are bones, or 4 times that */
    uint32_t components;
    uint32_t rounds;
    uint32_t corrections; /* morph targets */
    uint32_t basis;       /* pelt_correct_basis of them */
    uint32_t influences;
    uint32_t iterations;
    double rotation_tolerance;
    double fps;
    const char *csv, *svg;
} study_settings;

typedef struct number_list {
    uint32_t *items;
    size_t count;
} number_list;

typedef struct study_work study_work;
typedef struct study_method study_method;

/* A way to store an animation. */
struct study_method {
    const char *name;  /* in --methods; "sma" is all that begin with "sma-" */
    const char *title; /* in tables */
    pelt_result (*run)(study_work *w, const study_method *method, uint32_t count);
    size_t counts;       /* offset in study_work of the number_list that it runs for */
    uint32_t transforms; /* pelt_transforms of its bones */
    uint32_t solver;     /* pelt_weight_solver of SMA */
};
extern const study_method study_methods[];
extern const size_t study_method_count;

/* A line of the table. */
typedef struct study_row {
    const study_method *method;
    uint32_t bones;        /* clusters for components */
    uint32_t components;   /* of each cluster; 0: it is a skin */
    uint32_t corrections;  /* morph targets */
    uint32_t negative;     /* vertices whose weights had to be made positive */
    double vertex_bytes;   /* what is stored for each vertex … */
    double frame_bytes;    /* … and for each frame */
    double ratio;          /* of what all positions take as floats to that */
    double seconds;        /* that it took to find, without reading and measuring */
    pelt_difference error; /* of what is stored, against the source */
    double *rank_errors;   /* [corrections + 1] E_rms with fewer morph targets; NULL without */
} study_row;

/* One run. */
struct study_work {
    cli_session *session;
    const study_settings *settings;
    const char *const *paths;
    size_t path_count;
    pelt_model *source; /* its clips are the animation */
    pelt_clip whole;    /* all of them, one after another */
    bool *wanted;       /* [method] */
    number_list bones, clusters, ranks, once;
    pelt_study *study; /* NULL until a method needs it */
    double study_seconds;
    study_row *rows;
    size_t row_count;
    pelt_model *best; /* the skin of least error, for --report */
    double best_error;
};

/* The figures, for programs and for people; the files that were asked for. */
exit_code study_report(study_work *w);

/* ---- study_plot.c ----------------------------------------------------------------------------------------- */

typedef struct plot_series {
    char *name;
    uint32_t colour; /* an index */
    bool dashed;     /* and with hollow marks */
    double (*points)[2];
    size_t count;
} plot_series;

typedef struct plot {
    const char *title, *x;
    plot_series *series;
    size_t count;
} plot;

/* Plots beside each other with one legend, errors on a logarithmic scale; freed by the caller. */
char *plot_svg(const char *title, const plot *plots, size_t count);

#endif
