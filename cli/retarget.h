/* Shared by the verbs that retarget a motion from another skeleton. */
#ifndef PELT_CLI_RETARGET_H
#define PELT_CLI_RETARGET_H

#include "cli.h"

typedef struct retarget_settings {
    pelt_retarget_desc retarget;
    pelt_load_desc load;
    const char *map;
    const char *motion;
} retarget_settings;

/* Options --map and --motion; the others are in tables of the library. */
const pelt_option_table *retarget_table(void);

/* A motion of an input and the rig that it is retargeted to. */
typedef struct retarget_work {
    cli_session *session;
    const retarget_settings *settings;
    const char *name;        /* new name of the motion; NULL: keep its name */
    pelt_retarget_desc desc; /* the settings, with the text of the mapping file and the name */
    char *map;               /* text of the mapping file, or NULL */
    pelt_model *rig, *source;
    const pelt_motion *motion; /* of `source` */
    pelt_joint_match *matches; /* [rig joint] */
    pelt_retarget_report report;
} retarget_work;

/* Reads a model that must have a skeleton; the caller owns it. */
exit_code retarget_load(cli_session *session, const retarget_settings *settings, const cli_input *input,
                        pelt_model **model);
/* Reads the motion of the input, matches the joints and prints the table of matches. Sets desc, source, motion and
 * matches for pelt_retarget. Call retarget_free in any case. */
exit_code retarget_match(retarget_work *w, const cli_input *input);
/* If `report` says that the mesh is torn, warns and says how to fix it. */
void retarget_warn(const retarget_work *w);
/* The result as JSON and as rows of a table. */
void retarget_json(cli_json *json, const retarget_work *w);
void retarget_rows(cli_table *table, const retarget_work *w);
void retarget_free(retarget_work *w);

#endif
