/* Shared by the files of pelt decompose and pelt jiggle. */
#ifndef PELT_CLI_DECOMPOSE_H
#define PELT_CLI_DECOMPOSE_H

#include "cli.h"

typedef struct decompose_settings {
    pelt_decompose_desc decompose;
    pelt_load_desc load;
    const char *output;
    const char *motion;
    const char *skeleton;
    const char *rig_weights;
    const char *rest;
    double fps;
    uint32_t preset; /* applied by the parser */
    pelt_decompose_corrected_desc corrected;
    pelt_sliders_desc sliders;
    bool to_sliders;         /* --sliders */
    bool compress;           /* --compress */
    const char *combination; /* the last one; all are in the session */
    rig_settings written;
    const char *budget;    /* --budget */
    const char *max_error; /* --max-error */
    bool smallest;         /* --smallest */
} decompose_settings;

/* One run. */
typedef struct decompose_work {
    cli_session *session;
    const decompose_settings *settings;
    pelt_decompose_desc desc; /* the settings, restricted to what --target supports */
    pelt_result (*solve)(pelt_context *context, pelt_model *model, const pelt_decompose_desc *desc,
                         const pelt_decompose_corrected_desc *corrected,
                         pelt_decompose_corrected_report *report); /* NULL: pelt_decompose_corrected */
    const char *const *paths;
    size_t path_count;
    pelt_model *source;  /* rig whose motions are the clips of `model`; NULL: the model has clips of its own */
    pelt_model *model;   /* decomposed */
    pelt_mesh shape;     /* mesh of `model` before decomposition, with the normals to reproduce */
    pelt_model *rig;     /* file of --skeleton or --weights; NULL if it is the input */
    pelt_model *rest;    /* file of --rest, or NULL */
    char *lists[2];      /* contents of the files of --lock-bones and --lock-vertices; NULL: names were given */
    pelt_model *written; /* the output, read back */
    pelt_clip *played;   /* [clip] motions of `written`, evaluated at the times of the model's clips */
    uint32_t frame_count;
    uint64_t bytes_in, bytes_out;
    pelt_decompose_corrected_report report;
    pelt_difference whole;       /* all clips together */
    pelt_difference *clip_error; /* [clip] */
    double *frame_rms;           /* [frame] over all clips */
    uint32_t *motions;           /* [clip] index of its motion in `written`, or PELT_NONE; in the memory of `model` */
    pelt_budget_report budget;   /* with --budget or --max-error */
    double seconds_load, seconds_write, seconds_total;
} decompose_work;

/* Decomposes the clips of `model` by `settings`, writes the file and measures it. bytes_in 0: set to the size of all
 * frames as floats. */
exit_code decompose_clips(decompose_work *w);
/* The same for --budget and --max-error (decompose_budget.c); w->desc is set, `model` welded. */
pelt_result decompose_in_budget(decompose_work *w);
/* Checks the texts of --budget and --max-error. */
exit_code budget_check(const cli_session *session, const decompose_settings *settings);
/* Trials of a budget as JSON, and its rows of the table. */
void budget_json(cli_json *json, const pelt_budget_report *report);
void budget_rows(cli_table *table, const decompose_work *w);
/* A length: "1mm", "0.5cm", "2m" (units are metres), "0.1%" of `size`, or a number in units of the file. NAN: none. */
double parse_length(const char *text, double size);
/* EXIT_DONE if the result reached the error of --error; else warns and returns EXIT_QUALITY. */
exit_code decompose_verdict(const decompose_work *w);
/* Frees the results of decompose_clips, except `model`. Models that the page shows are kept until it is written. */
void decompose_free(decompose_work *w);
/* Reads the written file back and compares it with the input, at the input's own times. */
pelt_result decompose_measure(decompose_work *w);
/* pelt decompose --sliders (sliders.c). */
exit_code decompose_sliders(cli_session *session, const decompose_settings *settings, const char *const *paths,
                            size_t path_count);
/* The results as JSON and as table rows. */
void decompose_json(cli_json *json, const decompose_work *w);
void decompose_rows(cli_table *table, const decompose_work *w);
/* Reports the results of a run of pelt decompose, and sets the content of the page. */
void decompose_report(decompose_work *w);

#endif
