/* State shared by the files of pelt bind. */
#ifndef PELT_CLI_BIND_H
#define PELT_CLI_BIND_H

#include "cli.h"

typedef struct bind_settings {
    pelt_bind_desc bind;
    uint32_t preset; /* applied by args.c */
    const char *output;
    const char *skeleton;
    const char *falloff_map;
    const char *falloff_attribute;
    const char *paint_file;
    const char *section; /* the last one; see option_values */
    const char *also;    /* the last one; see option_values */
    const char *prefer;
    pelt_bind_prefer_desc prefer_desc;
    uint32_t format; /* pelt_weight_format */
    rig_settings written;
    pelt_load_desc load;
} bind_settings;

/* One --also. */
typedef struct bind_also {
    char *input;
    const char *output;
    pelt_bind_report report; /* without its arrays */
} bind_also;

#define MAX_ATTRIBUTES 16u /* that regions may name */

typedef struct bind_work {
    cli_session *session;
    const bind_settings *settings;
    pelt_bind_desc desc;
    float *falloffs; /* [vertex] from --falloff-map or --falloff-attribute; or NULL */
    pelt_bind_attribute attributes[MAX_ATTRIBUTES];
    uint32_t attribute_count;
    char *paint;       /* text of --paint-file, or NULL */
    pelt_model *model; /* gets the weights and is written */
    pelt_model *rig;   /* file of --skeleton, or NULL */
    pelt_binding *binding;
    pelt_bind_report report;
    pelt_bind_prefer_report preferred;
    uint32_t example_count; /* of --prefer */
    bind_also *also;        /* [also_count] */
    size_t also_count;
    double inside; /* fraction of joints inside the mesh, measured before binding; negative: not measured */
    double seconds_load, seconds_write, seconds_total;
} bind_work;

/* Parses the values of --also; weights and writes their meshes; reports them (bind_also.c). */
exit_code bind_also_list(bind_work *w);
pelt_result bind_also_run(bind_work *w);
void bind_also_json(const bind_work *w, cli_json *json);
void bind_also_rows(const bind_work *w, cli_table *table);
void bind_also_free(bind_work *w);

/* Reads the examples of --prefer and changes the weights; reports them (bind_prefer.c). */
exit_code bind_prefer_run(bind_work *w);
void bind_prefer_json(const bind_work *w, cli_json *json);
void bind_prefer_rows(const bind_work *w, cli_table *table);

/* Reads what regions refer to: vertex attributes and --paint-file (bind_regions.c). */
exit_code bind_read_regions(bind_work *w);
void bind_free_regions(bind_work *w);

/* Checks the values of --section; writes the pictures (bind_section.c). */
exit_code bind_section_check(bind_work *w);
pelt_result bind_section_write(bind_work *w);

/* Prints warnings and the table, and fills the JSON report (bind_report.c). */
void bind_report(bind_work *w);

#endif
