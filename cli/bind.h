/* State shared by the files of pelt bind. */
#ifndef PELT_CLI_BIND_H
#define PELT_CLI_BIND_H

#include "cli.h"

typedef struct bind_settings {
    pelt_bind_desc bind;
    const char *output;
    const char *skeleton;
    const char *falloff_map;
    const char *falloff_attribute;
    uint32_t format; /* pelt_weight_format */
    pelt_load_desc load;
} bind_settings;

typedef struct bind_work {
    cli_session *session;
    const bind_settings *settings;
    pelt_bind_desc desc;
    float *falloffs;   /* [vertex] from --falloff-map or --falloff-attribute; or NULL */
    pelt_model *model; /* gets the weights and is written */
    pelt_model *rig;   /* file of --skeleton, or NULL */
    pelt_binding *binding;
    pelt_bind_report report;
    double inside; /* fraction of joints inside the mesh, measured before binding; negative: not measured */
    double seconds_load, seconds_write, seconds_total;
} bind_work;

/* Prints warnings and the table, and fills the JSON report (bind_report.c). */
void bind_report(bind_work *w);

#endif
