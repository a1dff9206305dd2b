/* What pelt retarget shares with verbs that take a motion of another skeleton. */
#ifndef PELT_CLI_RETARGET_H
#define PELT_CLI_RETARGET_H

#include "cli.h"

typedef struct retarget_settings {
    pelt_retarget_desc retarget;
    pelt_load_desc load;
    const char *map;
    const char *motion;
} retarget_settings;

/* The two texts of them; the others have tables of the library. */
const pelt_option_table *retarget_table(void);

/* One motion of an input, put on a rig as the last of its motions; what became of it is printed and written. */
typedef struct retarget_work {
    cli_session *session;
    const retarget_settings *settings;
    const char *name; /* what to call it; NULL: its own name */
    pelt_model *rig, *source;
    pelt_joint_match *matches; /* [rig joint] */
    pelt_retarget_report report;
} retarget_work;

/* Reads a model that must have a skeleton; it is the caller's. */
exit_code retarget_load(cli_session *session, const retarget_settings *settings, const cli_input *input,
                        pelt_model **model);
/* Adds the motion of the input to `rig`, and prints the table of matches. The rest of `w` is filled, and freed with
 * retarget_free whatever it gives. */
exit_code retarget_motion(retarget_work *w, const cli_input *input);
/* What was matched, for programs and for people. */
void retarget_json(cli_json *json, const retarget_work *w);
void retarget_rows(cli_table *table, const retarget_work *w);
void retarget_free(retarget_work *w);

#endif
