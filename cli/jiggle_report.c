/* The report of pelt jiggle. */
#include "jiggle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- The lattice for the page ----------------------------------------------------------------------------- */

typedef struct edge {
    uint32_t a, b;
} edge;

static int compare_edges(const void *left, const void *right) {
    const edge *l = left, *r = right;
    if (l->a != r->a)
        return l->a < r->a ? -1 : 1;
    return (l->b > r->b) - (l->b < r->b);
}

/* The edges of all cells, each once; returns their count. */
static size_t cell_edges(const pelt_jiggle_lattice *lattice, edge *edges) {
    size_t count = 0, kept = 0;
    for (uint32_t c = 0; c < lattice->cell_count; c++)
        for (uint32_t corner = 0; corner < 8; corner++)
            for (uint32_t axis = 1; axis < 8; axis *= 2)
                if (!(corner & axis)) {
                    uint32_t a = lattice->cells[c][corner], b = lattice->cells[c][corner | axis];
                    edges[count++] = a < b ? (edge){a, b} : (edge){b, a};
                }
    qsort(edges, count, sizeof *edges, compare_edges);
    for (size_t e = 0; e < count; e++)
        if (kept == 0 || compare_edges(&edges[kept - 1], &edges[e]) != 0)
            edges[kept++] = edges[e];
    return kept;
}

pelt_result jiggle_show_lattice(jiggle_work *w) {
    pelt_context *context = w->session->context;
    pelt_jiggle *jiggle;
    pelt_result result = pelt_jiggle_create(context, w->rig, &w->desc, &jiggle);
    if (result != PELT_OK)
        return result;
    pelt_jiggle_lattice lattice = pelt_jiggle_get_lattice(jiggle);
    pelt_clip *clips = pelt_model_alloc(context, w->rig, w->simulated.clip_count, sizeof *clips);
    for (uint32_t c = 0; clips && c < w->simulated.clip_count; c++)
        clips[c] = w->simulated.bakes[c].lattice;
    edge *edges = pelt_model_alloc(context, w->rig, (size_t)12 * lattice.cell_count, sizeof *edges);
    float *positions = pelt_model_alloc(context, w->rig, (size_t)3 * lattice.particle_count, sizeof *positions);
    if (clips && edges && positions) {
        for (size_t p = 0; p < lattice.particle_count; p++)
            memcpy(positions + 3 * p, lattice.positions[p], 3 * sizeof *positions);
        w->lattice = (pelt_page_lattice){.positions = positions,
                                         .point_count = lattice.particle_count,
                                         .edge_count = (uint32_t)cell_edges(&lattice, edges),
                                         .edges = &edges[0].a,
                                         .clips = clips};
    }
    pelt_jiggle_destroy(jiggle);
    return clips && edges && positions ? PELT_OK : PELT_ERROR_MEMORY;
}

/* ---- Simulation ------------------------------------------------------------------------------------------- */

static void report_clip(cli_json *json, const jiggle_work *w, uint32_t c) {
    const pelt_clip *clip = &w->rig->clips[c];
    const pelt_jiggle_bake_report *r = &w->simulated.bakes[c];
    json_open(json, NULL, '{');
    json_text(json, "motion", clip->name);
    json_count(json, "frames", clip->frame_count);
    json_real(json, "fps", r->fps);
    if (w->simulated.added[c] > 0)
        json_real(json, "closed", w->simulated.added[c]);
    json_real(json, "duration", clip_duration(clip));
    json_real(json, "farthest", r->farthest);
    json_count(json, "farthest_frame", r->farthest_frame);
    json_count(json, "farthest_vertex", r->farthest_vertex);
    json_count(json, "teleports", r->jiggle.teleport_count);
    if (r->turns) {
        json_count(json, "turns", r->turns);
        json_real(json, "seam", r->seam);
    }
    json_open(json, "volumes", '[');
    for (uint32_t v = 0; v < r->jiggle.volume_count; v++) {
        const pelt_jiggle_volume *volume = &r->jiggle.volumes[v];
        json_open(json, NULL, '{');
        json_text(json, "joint", w->rig->skeleton.names[volume->joint]);
        if (volume->bone != PELT_NONE)
            json_text(json, "bone", w->rig->skeleton.names[volume->bone]);
        json_count(json, "particles", volume->particle_count);
        json_real(json, "rest", volume->rest);
        json_real(json, "before", volume->before);
        json_real(json, "after", volume->after);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_close(json, '}');
}

static double percent(double now, double rest) {
    return rest > 0 ? 100 * (now / rest - 1) : 0;
}

/* Sorts joints by change of volume. */
static int compare_volumes(const void *a, const void *b) {
    const pelt_jiggle_volume *l = a, *r = b;
    double dl = fabs(l->before - l->rest), dr = fabs(r->before - r->rest);
    return (dr > dl) - (dr < dl);
}

static void volume_rows(jiggle_work *w, const pelt_jiggle_report *r) {
    size_t shown = w->session->common.verbose || r->volume_count <= NAMES_SHOWN ? r->volume_count : NAMES_SHOWN;
    pelt_jiggle_volume *sorted = must_alloc(r->volume_count, sizeof *sorted), all = {0};
    for (uint32_t v = 0; v < r->volume_count; v++) {
        sorted[v] = r->volumes[v];
        all.rest += sorted[v].rest;
        all.before += sorted[v].before;
        all.after += sorted[v].after;
    }
    qsort(sorted, r->volume_count, sizeof *sorted, compare_volumes);
    table_row(&w->table, "volume", "%+.2f %% by the skin alone, %+.2f %% now, in the frame where it changes most",
              percent(all.before, all.rest), percent(all.after, all.rest));
    for (size_t v = 0; v < shown; v++)
        table_row(&w->table, "", "%+.2f %%, %+.2f %% at %s%s%s, %s particles",
                  percent(sorted[v].before, sorted[v].rest), percent(sorted[v].after, sorted[v].rest),
                  shown_name(w->rig->skeleton.names[sorted[v].joint]), sorted[v].bone != PELT_NONE ? ", half of " : "",
                  sorted[v].bone != PELT_NONE ? shown_name(w->rig->skeleton.names[sorted[v].bone]) : "",
                  grouped(sorted[v].particle_count));
    if (shown < r->volume_count)
        table_row(&w->table, "", "and %zu parts more (--verbose)", r->volume_count - shown);
    free(sorted);
}

static void clip_rows(jiggle_work *w, uint32_t c) {
    const pelt_clip *clip = &w->rig->clips[c];
    const pelt_jiggle_bake_report *r = &w->simulated.bakes[c];
    table_row(&w->table, "motion", "%s: %s frames at %.6g per second", shown_name(clip->name),
              grouped(clip->frame_count), r->fps);
    table_row(&w->table, "from skin", "%.4g units at most, at frame %u, vertex %u", r->farthest, r->farthest_frame,
              r->farthest_vertex);
    if (w->simulated.added[c] > 0)
        table_row(&w->table, "cycle", "without the repeated first key at its end: one frame of %.4g s was added",
                  w->simulated.added[c]);
    if (r->turns)
        table_row(&w->table, "loop", "closed after %u turns, the last %.3g units of it by blending", r->turns, r->seam);
    if (r->jiggle.teleport_count)
        table_row(&w->table, "jumps", "%u, after which all began anew", r->jiggle.teleport_count);
    volume_rows(w, &r->jiggle);
}

void jiggle_report_simulation(jiggle_work *w) {
    static const char *const names[] = {"auto", "cache", "morphs", "bones"};
    const pelt_jiggle_report *r = &w->simulated.bakes[0].jiggle;
    cli_json *json = &w->session->report;
    json_text(json, "output", w->settings->skin.output);
    json_text(json, "as", names[w->as]);
    json_count(json, "vertices", w->rig->mesh.vertex_count);
    json_count(json, "particles", r->particle_count);
    json_count(json, "cells", r->cell_count);
    json_real(json, "cell", r->cell);
    json_count(json, "pinned", r->pinned_count);
    if (w->settings->centre_joints) {
        const pelt_centre_joints_report *c = &w->centred;
        json_open(json, "centred_joints", '{');
        json_count(json, "moved", c->moved_count);
        json_real(json, "farthest", c->farthest);
        if (c->moved_count)
            json_text(json, "farthest_joint", w->rig->skeleton.names[c->farthest_joint]);
        json_close(json, '}');
        table_row(&w->table, "joints", "%u moved to the middle of their limbs, %s by %.4g units", c->moved_count,
                  c->moved_count ? shown_name(w->rig->skeleton.names[c->farthest_joint]) : "none", c->farthest);
    }
    json_open(json, "clips", '[');
    for (uint32_t c = 0; c < w->rig->clip_count; c++)
        report_clip(json, w, c);
    json_close(json, ']');
    if (w->retarget.source) {
        json_open(json, "retarget", '{');
        retarget_json(json, &w->retarget);
        json_close(json, '}');
    }
    table_row(&w->table, "lattice", "%s particles, %s cells of %.4g units; %s particles are rigid",
              grouped(r->particle_count), grouped(r->cell_count), r->cell, grouped(r->pinned_count));
    for (uint32_t c = 0; c < w->rig->clip_count; c++)
        clip_rows(w, c);
}

/* ---- The file --------------------------------------------------------------------------------------------- */

static void report_morphs(jiggle_work *w, cli_json *json) {
    const decompose_work *skin = &w->skin;
    const pelt_difference *d = &skin->whole;
    report_corrections(json, &skin->report.correct);
    json_real(json, "error_rms", d->error_rms);
    json_real(json, "error_max", d->error_max);
    report_normals(json, d);
    table_row(&w->table, "morphs", "%u, which lower E_rms from %.4g", skin->report.correct.rank,
              skin->report.correct.errors[0]);
    table_row(&w->table, "E_rms", "%.4g", d->error_rms);
    table_row(&w->table, "E_max", "%.4g of the diameter, at frame %u, vertex %u", d->error_max, d->max_frame,
              d->max_point);
    normal_rows(&w->table, d);
}

void jiggle_report_file(jiggle_work *w) {
    cli_json *json = &w->session->report;
    uint64_t bytes = written_size(w->settings->skin.output, w->rig->clips[0].frame_count);
    double seconds = px_seconds() - w->start;
    if (w->as != AS_CACHE) {
        json_open(json, "skin", '{');
        if (w->as == AS_BONES) {
            decompose_json(json, &w->skin);
            decompose_rows(&w->table, &w->skin);
        } else
            report_morphs(w, json);
        json_close(json, '}');
    }
    json_count(json, "bytes", bytes);
    json_real(json, "seconds_bake", w->seconds_simulate);
    json_real(json, "seconds", seconds);
    w->session->report_done = true;
    table_row(&w->table, "written", "%s", bytes_text(bytes));
    table_row(&w->table, "time", "%.3f s, of which %.3f for the simulation", seconds, w->seconds_simulate);
}
