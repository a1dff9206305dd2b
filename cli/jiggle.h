/* Shared by the files of pelt jiggle. */
#ifndef PELT_CLI_JIGGLE_H
#define PELT_CLI_JIGGLE_H

#include "decompose.h"
#include "retarget.h"

/* Representation of the result. */
typedef enum jiggle_as { AS_AUTO, AS_CACHE, AS_MORPHS, AS_BONES } jiggle_as;

typedef struct jiggle_settings {
    pelt_jiggle_desc jiggle;
    pelt_jiggle_bake_desc bake;
    retarget_settings retarget;
    decompose_settings skin; /* for helper bones and morph targets; skin.output is the output of the verb */
    pelt_jiggle_simulate_desc simulate;
    const char *mesh;
    uint32_t as;     /* jiggle_as */
    uint32_t preset; /* applied by the parser */
    bool centre_joints;
    /* Repeatable options: the last value. jiggle_values.c reads all values from the session. */
    const char *soft, *pin, *stiffness, *damping, *frequency, *merge, *split, *heat, *heat_width, *collider;
    const char *soft_map, *pin_map, *stiffness_map, *damping_map;
    const char *gravity, *wind;
    double drag;
} jiggle_settings;

/* ---- jiggle_values.c: settings of joints and vertices, colliders ------------------------------------------ */

typedef struct value_key value_key;

/* Settings of joints and vertices, and colliders, as the library takes them. */
typedef struct jiggle_values {
    value_key *keys; /* [key_count] sorted by joint, kind and time */
    size_t key_count;
    bool changing;             /* a setting has more than one key */
    pelt_jiggle_joint *joints; /* [joint_count] at the current time */
    uint32_t joint_count;
    pelt_jiggle_maps maps; /* pointers to `map_values` */
    float *map_values[4];  /* [vertex] or NULL */
    pelt_collider *colliders;
    uint32_t collider_count;
    uint32_t part_count;
    pelt_jiggle_part *parts; /* [part_count] */
} jiggle_values;

/* Options read by jiggle_values_read. */
const pelt_option_table *jiggle_soft_table(void);
const pelt_option_table *jiggle_force_table(void);
/* Reads the options into `desc`. Call jiggle_values_free in any case. */
exit_code jiggle_values_read(cli_session *session, const jiggle_settings *settings, const pelt_model *rig,
                             jiggle_values *values, pelt_jiggle_desc *desc);
/* Sets the values at a time if they changed; user: the jiggle_values. */
pelt_jiggle_at_fn jiggle_values_at;
void jiggle_values_free(jiggle_values *values);

/* ---- jiggle_report.c -------------------------------------------------------------------------------------- */

/* One run. */
typedef struct jiggle_work {
    cli_session *session;
    const jiggle_settings *settings;
    jiggle_as as;
    pelt_jiggle_desc desc;
    pelt_jiggle_simulate_desc simulate;
    pelt_jiggle_simulate_report simulated;
    pelt_model *rig;        /* with the simulated clips */
    retarget_work retarget; /* source NULL: the motions are the rig's own */
    jiggle_values values;
    pelt_centre_joints_report centred; /* with --centre-joints */
    pelt_page_lattice lattice;
    decompose_settings skin_settings;
    decompose_work skin;
    cli_table table;
    double start, seconds_simulate;
} jiggle_work;

/* Reports the simulation; call before bones are added. */
void jiggle_report_simulation(jiggle_work *w);
/* Reports the written file. */
void jiggle_report_file(jiggle_work *w);
/* Gives the page the lattice, at rest and in the frames of all clips. */
pelt_result jiggle_show_lattice(jiggle_work *w);

#endif
