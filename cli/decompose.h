/* What the files of pelt decompose share. */
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
    uint32_t target;
    pelt_decompose_corrected_desc corrected;
    bool sparse;
} decompose_settings;

/* One run. */
typedef struct decompose_work {
    cli_session *session;
    const decompose_settings *settings;
    pelt_decompose_desc desc; /* the settings, made safe for the target */
    pelt_result (*solve)(pelt_context *context, pelt_model *model, const pelt_decompose_desc *desc,
                         const pelt_decompose_corrected_desc *corrected,
                         pelt_decompose_corrected_report *report); /* NULL: pelt_decompose_corrected */
    const char *const *paths;
    size_t path_count;
    pelt_model *source;  /* a rig whose motions are the clips of `model`; NULL: model has clips itself */
    pelt_model *model;   /* what is decomposed */
    pelt_mesh shape;     /* its mesh before, with the normals to reproduce */
    pelt_model *rig;     /* the file of --skeleton or --weights, unless that is the input */
    pelt_model *rest;    /* the file of --rest */
    char *lists[2];      /* texts of files with names to lock */
    pelt_model *written; /* the output, read back */
    pelt_clip *played;   /* [clip] motions of it, at the times of the model's clips */
    uint32_t frame_count;
    uint64_t bytes_in, bytes_out;
    pelt_decompose_corrected_report report;
    pelt_difference whole;       /* all clips together */
    pelt_difference *clip_error; /* [clip] */
    double *frame_rms;           /* [frame] of all clips */
    uint32_t *motions;           /* [clip] its motion in the file, or PELT_NONE; in the memory of `model` */
    double seconds_load, seconds_write, seconds_total;
} decompose_work;

/* A program that files are made for. */
typedef struct target {
    const char *name;
    const char *transforms; /* what its bones can do; NULL: everything */
    const char *transforms_reason;
    uint32_t influences; /* bones per vertex at most */
    const char *influences_reason;
    uint32_t played; /* bones per vertex that may be written without a warning */
} target;
/* By the choice of --target. */
const target *target_at(uint32_t index);

/* Options of the file: --target, --sparse. */
const pelt_option_table *decompose_skin_table(void);
/* Decomposes the clips of `model` by `settings`, writes the file and measures it. bytes_in 0: that of the frames. */
exit_code decompose_clips(decompose_work *w);
/* Whether it reached the error that was asked for: done, or a warning and EXIT_QUALITY. */
exit_code decompose_verdict(const decompose_work *w);
/* Frees what that made, but for `model`; what the page shows stays. */
void decompose_free(decompose_work *w);
/* Reads the written file back and compares it with the input, at the input's own times. */
pelt_result decompose_measure(decompose_work *w);
/* The figures, for programs and for people … */
void decompose_json(cli_json *json, const decompose_work *w);
void decompose_rows(cli_table *table, const decompose_work *w);
/* … as the report of a run, and what the page shows. */
void decompose_report(decompose_work *w);

#endif
