/* Reports of pelt bind: JSON, table, and warnings about joints without weights and limbs that touch. */
#include "bind.h"

#include <stdlib.h>

static const char *const idle_keys[] = {"active", "excluded", "control", "far", "overshadowed", "unweighted"};
static const char *const idle_texts[] = {
    "have weights",
    "left out, as asked",
    "only steer others, or carry no volume",
    "no part of the mesh is near",
    "other joints are nearer everywhere",
    "have no weights in the file",
};

static const pelt_skeleton *skeleton_of(const bind_work *w) {
    return w->rig ? &w->rig->skeleton : &w->model->skeleton;
}

static uint32_t count_idle(const bind_work *w, uint8_t why) {
    uint32_t count = 0;
    for (uint32_t j = 0; j < w->report.joint_count; j++)
        count += w->report.idle[j] == why;
    return count;
}

/* List of the joints with this reason, for messages; freed by the caller. */
static char *idle_names(const bind_work *w, uint8_t why) {
    const char **names = must_alloc(w->report.joint_count, sizeof *names);
    size_t count = 0;
    for (uint32_t j = 0; j < w->report.joint_count; j++)
        if (w->report.idle[j] == why)
            names[count++] = shown_name(skeleton_of(w)->names[j]);
    char *list = list_names(names, count, NAMES_SHOWN);
    free(names);
    return list;
}

static char *bridged_names(const bind_work *w) {
    const char **names = must_alloc(w->report.bridged_part_count, sizeof *names);
    for (uint32_t n = 0; n < w->report.bridged_part_count; n++)
        names[n] = shown_name(w->model->mesh.parts[w->report.bridged_parts[n]].name);
    char *list = list_names(names, w->report.bridged_part_count, NAMES_SHOWN);
    free(names);
    return list;
}

/* ---- Programs --------------------------------------------------------------------------------------------- */

static void report_joints(const bind_work *w, cli_json *json) {
    json_count(json, "joints", w->report.joint_count);
    json_count(json, "active_joints", count_idle(w, PELT_BIND_ACTIVE));
    json_open(json, "idle_joints", '[');
    for (uint32_t j = 0; j < w->report.joint_count; j++)
        if (w->report.idle[j] != PELT_BIND_ACTIVE) {
            json_open(json, NULL, '{');
            json_text(json, "joint", skeleton_of(w)->names[j]);
            json_text(json, "why", idle_keys[w->report.idle[j]]);
            json_close(json, '}');
        }
    json_close(json, ']');
}

static void report_json(const bind_work *w) {
    const pelt_bind_report *r = &w->report;
    cli_json *json = &w->session->report;
    json_text(json, "output", w->settings->output);
    json_open(json, "grid", '[');
    for (int c = 0; c < 3; c++)
        json_count(json, NULL, r->grid[c]);
    json_close(json, ']');
    json_reals(json, "cell", r->cell, 3);
    json_count(json, "interior_voxels", r->interior_voxel_count);
    json_count(json, "boundary_voxels", r->boundary_voxel_count);
    json_count(json, "block_size", r->block_size);
    json_count(json, "solved_voxels", r->solved_voxel_count);
    json_count(json, "vertices", r->vertex_count);
    json_count(json, "bridged_vertices", r->bridged_count);
    json_open(json, "bridged_parts", '[');
    for (uint32_t n = 0; n < r->bridged_part_count; n++)
        json_text(json, NULL, w->model->mesh.parts[r->bridged_parts[n]].name);
    json_close(json, ']');
    json_count(json, "rigid_vertices", r->rigid_count);
    report_joints(w, json);
    json_open(json, "fit", '{');
    json_flag(json, "changes", r->fit.changes);
    json_flag(json, "posed", r->fit.posed);
    json_real(json, "scale", r->fit.scale);
    json_reals(json, "rotation",
               (double[4]){r->fit.rotation[0], r->fit.rotation[1], r->fit.rotation[2], r->fit.rotation[3]}, 4);
    json_reals(json, "translation", r->fit.translation, 3);
    if (r->fit.inside_before >= 0) {
        json_real(json, "inside_before", r->fit.inside_before);
        json_real(json, "inside_after", r->fit.inside_after);
    }
    json_close(json, '}');
    json_count(json, "touching_voxels", r->touching_count);
    json_open(json, "touching_joints", '[');
    for (int n = 0; n < 2 && r->touching_joints[n] != PELT_NONE; n++)
        json_text(json, NULL, skeleton_of(w)->names[r->touching_joints[n]]);
    json_close(json, ']');
    json_open(json, "touching", '[');
    for (uint32_t n = 0; n < r->touching_pair_count; n++) {
        json_open(json, NULL, '{');
        json_open(json, "joints", '[');
        for (int k = 0; k < 2; k++)
            json_text(json, NULL, skeleton_of(w)->names[r->touching[n].joints[k]]);
        json_close(json, ']');
        json_count(json, "faces", r->touching[n].face_count);
        json_real(json, "gap", r->touching[n].gap);
        json_count(json, "separating_resolution", r->touching[n].resolution);
        json_close(json, '}');
    }
    json_close(json, ']');
    bind_prefer_json(w, json);
    bind_also_json(w, json);
    json_open(json, "seconds", '{');
    json_real(json, "load", w->seconds_load);
    json_real(json, "fit", r->seconds_fit);
    json_real(json, "voxelize", r->seconds_voxelize);
    json_real(json, "solve", r->seconds_solve);
    json_real(json, "weights", r->seconds_weights);
    json_real(json, "write", w->seconds_write);
    json_real(json, "total", w->seconds_total);
    json_close(json, '}');
    json_count(json, "bytes", written_size(w->settings->output, 0));
    w->session->report_done = true;
}

/* ---- People ----------------------------------------------------------------------------------------------- */

static void report_table(const bind_work *w) {
    const pelt_bind_report *r = &w->report;
    cli_table table = {0};
    table_row(&table, "grid", "%u × %u × %u", r->grid[0], r->grid[1], r->grid[2]);
    table_row(&table, "voxels", "%s inside, %s at the surface", grouped(r->interior_voxel_count),
              grouped(r->boundary_voxel_count));
    if (r->block_size > 1)
        table_row(&table, "", "solved on %s pieces of blocks of %u × %u × %u", grouped(r->solved_voxel_count),
                  r->block_size, r->block_size, r->block_size);
    table_row(&table, "vertices", "%s", grouped(r->vertex_count));
    char text[256];
    if (r->fit.changes)
        table_row(&table, "fit",
                  "the skeleton %s; scaled by %.4g and moved%s: %.0f %% of its joints inside, %.0f %% before",
                  pelt_bind_fit_text(&r->fit, text, sizeof text), r->fit.scale, r->fit.posed ? ", limbs turned" : "",
                  100 * r->fit.inside_after, 100 * r->fit.inside_before);
    else if (w->settings->bind.fit)
        table_row(&table, "fit", "the skeleton fits as it is");
    char *parts = bridged_names(w);
    if (r->bridged_count)
        table_row(&table, "bridged", "%s vertices that no bone reaches%s%s", grouped(r->bridged_count),
                  *parts ? ", in " : "", parts);
    free(parts);
    if (r->rigid_count)
        table_row(&table, "rigid", "%s vertices follow one joint", grouped(r->rigid_count));
    table_row(&table, "joints", "%u of %u have weights", count_idle(w, PELT_BIND_ACTIVE), r->joint_count);
    for (uint8_t why = PELT_BIND_EXCLUDED; why <= PELT_BIND_UNWEIGHTED; why++) {
        char *names = idle_names(w, why);
        if (*names)
            table_row(&table, "", "%s: %s", idle_texts[why], names);
        free(names);
    }
    bind_prefer_rows(w, &table);
    bind_also_rows(w, &table);
    table_row(&table, "time", "%.3f s: load %.3f, fit %.3f, voxelize %.3f, solve %.3f, weights %.3f, write %.3f",
              w->seconds_total, w->seconds_load, r->seconds_fit, r->seconds_voxelize, r->seconds_solve,
              r->seconds_weights, w->seconds_write);
    table_row(&table, "memory", "%s", bytes_text(pelt_context_memory(w->session->context).peak));
    table_print(&table, w->session->common.quiet ? NULL : w->session->out, w->settings->output);
}

/* ---- Warnings --------------------------------------------------------------------------------------------- */

/* Names the first pair; --json has all. Limbs with a gap between them are separated by a finer grid; limbs in contact only by
 * another bind pose. */
static void warn_touching(const bind_work *w) {
    const pelt_bind_report *r = &w->report;
    const char *const *names = (const char *const *)skeleton_of(w)->names;
    uint32_t finest = 0, tight = 0; /* pairs without a gap */
    if (r->touching_pair_count == 0)
        return;
    for (uint32_t n = 0; n < r->touching_pair_count; n++) {
        finest = r->touching[n].resolution > finest ? r->touching[n].resolution : finest;
        tight += r->touching[n].resolution == 0;
    }
    uint32_t others = r->touching_pair_count - 1;
    char *more = others ? must_format(", and %s more pair%s (listed by --json)", grouped(others), others > 1 ? "s" : "")
                        : must_format("%s", "");
    char *advice = finest && w->desc.grid ? must_format("a finer --grid may separate those with a gap")
                   : finest
                       ? must_format("--resolution %u may separate %s", finest, tight ? "those with a gap" : "them")
                       : must_format("there is no gap to resolve: bind the mesh in a pose in which they are apart");
    warn(w->session, "limbs touch at this resolution, in %s voxels: what '%s' and '%s' move%s; %s",
         grouped(r->touching_count), shown_name(names[r->touching[0].joints[0]]),
         shown_name(names[r->touching[0].joints[1]]), more, advice);
    free(more);
    free(advice);
}

/* Warns about joints that could have weights and got none. Control joints and excluded joints need no warning. */
static void warn_idle(const bind_work *w, uint8_t why, const char *because, const char *advice) {
    uint32_t count = count_idle(w, why);
    char *names = idle_names(w, why);
    if (count)
        warn(w->session, "%u %s no weights, because %s: %s%s", count, count == 1 ? "joint gets" : "joints get", because,
             names, advice);
    free(names);
}

static void warn_all(const bind_work *w) {
    warn_idle(w, PELT_BIND_FAR, "no part of the mesh is near", "");
    warn_idle(w, PELT_BIND_OVERSHADOWED, "others are nearer everywhere", "");
    warn_idle(w, PELT_BIND_UNWEIGHTED, "there are none in the file's own skin",
              "; --joints all uses them too, --only names the joints to use");
    warn_touching(w);
}

void bind_report(bind_work *w) {
    warn_all(w);
    report_json(w);
    report_table(w);
}
