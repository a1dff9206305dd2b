/* pelt batch: what its files share. */
#ifndef PELT_CLI_BATCH_H
#define PELT_CLI_BATCH_H

#include "cli.h"

typedef struct batch_settings {
    const char *output;
    uint32_t jobs;
    double time_limit;
    bool again;
} batch_settings;

enum { BATCH_NONE, BATCH_RUN, BATCH_SKIPPED, BATCH_STOPPED }; /* not taken; run; done before; interrupted */
#define BATCH_LIMITED 999                                     /* code of a command over its time limit */

/* Of one command; numbers only, so that processes can add them. */
typedef struct batch_result {
    double state;
    double code;    /* exit code, 1000 + signal, or BATCH_LIMITED */
    double seconds; /* wall time */
    double cpu;     /* seconds of CPU time */
    double started; /* seconds after the start of the batch */
    double process; /* of the group */
} batch_result;

typedef struct batch_work {
    cli_session *session;
    const batch_settings *settings;
    pelt_job_list list;
    char *folder;
    char program[PX_PATH_SIZE];
    uint32_t slot_count; /* commands at once */
    uint32_t threads;    /* of a command */
    uint32_t next;       /* job that this process looks at next */
    uint32_t done_count;
    uint64_t token;        /* of this run, in the names of claims */
    batch_result *results; /* [job] */
    double begin, seconds; /* when it began; how long it took */
} batch_work;

/* FOLDER/NAME.extension; freed by the caller. */
char *batch_path(const batch_work *w, const pelt_job *job, const char *extension);
/* Prints the summary, writes index.html and fills the report; returns the exit code of the verb. */
exit_code batch_report(batch_work *w);

#endif
