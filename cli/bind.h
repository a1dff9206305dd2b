/* pelt bind: one run. */
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
    float *falloffs;   /* [vertex] of the map or the attribute; or NULL */
    pelt_model *model; /* bound and written */
    pelt_model *rig;   /* of --skeleton, or NULL */
    pelt_binding *binding;
    pelt_bind_report report;
    double inside; /* share of the joints inside the mesh, measured before binding; below 0: not measured */
    double seconds_load, seconds_write, seconds_total;
} bind_work;

/* The table, the report for programs, and warnings (bind_report.c). */
void bind_report(bind_work *w);

#endif
