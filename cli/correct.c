/* pelt correct: what a rig misses of an animation becomes morph targets.
 *
 * The final error was measured on the file: it is read back, evaluated at the animation's own times and compared with it.
 */
#include "cli.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

typedef struct correct_settings {
    pelt_correct_desc correct;
    pelt_load_desc load;
    const char *output;
    const char *motion;
    double fps;
} correct_settings;

static const pelt_option own_options[] = {
    {"output", 'o', PELT_OPTION_TEXT, offsetof(correct_settings, output), NULL, 0, 0, NULL, "FILE",
     "the rig with its corrections (.glb, .gltf)"},
    {"motion", 0, PELT_OPTION_TEXT, offsetof(correct_settings, motion), NULL, 0, 0, NULL, "NAME|INDEX",
     "which motion of the rig; without this the first"},
    {"fps", 0, PELT_OPTION_REAL, offsetof(correct_settings, fps), "30", 0.001, 100000, NULL, "N",
     "frames per second of inputs that do not say, and at which motions of an animated rig are evaluated"},
};
OPTION_TABLE(own_table, own_options)

static const option_group groups[] = {
    {"Options", own_table, 0},
    {"Corrections", pelt_correct_options, offsetof(correct_settings, correct)},
    {"Reading", pelt_load_options, offsetof(correct_settings, load)},
};

/* One run. */
typedef struct work {
    cli_session *session;
    const correct_settings *settings;
    pelt_correct_desc desc;
    pelt_model *rig, *source; /* source NULL: the rig has the clip */
    pelt_model *written;      /* the output, read back */
    pelt_clip clip;
    pelt_correct_pair pair;
    pelt_correct_report report;
    pelt_clip played; /* of `written` */
    pelt_difference difference;
    double *frame_rms; /* [frame] */
    uint64_t bytes_in, bytes_out;
    double start;
} work;

/* ---- Reading ---------------------------------------------------------------------------------------------- */

static exit_code load(work *w, const cli_input *input, pelt_model **model) {
    pelt_result result = pelt_load(w->session->context, input->paths, input->path_count, &w->settings->load, model);
    return result == PELT_OK ? EXIT_DONE : session_fail(w->session, result);
}

/* A mesh of its own tells which vertices of the rig are which points of the animation. Written parts that shared
 * vertices have all of them each. */
static exit_code match_source(work *w) {
    const pelt_mesh *from = &w->source->mesh, *to = &w->rig->mesh;
    if (from->vertex_count == 0 || to->vertex_count % from->vertex_count != 0 ||
        to->vertex_count / from->vertex_count > (to->part_count ? to->part_count : 1)) {
        say(w->session, MESSAGE_ERROR, "%s has %s vertices, %s has %s: corrections need the same mesh", w->rig->path,
            grouped(to->vertex_count), w->source->path, grouped(from->vertex_count));
        return EXIT_INPUT;
    }
    pelt_result result = take_points(w->session, from, w->rig);
    return result == PELT_OK ? EXIT_DONE : session_fail(w->session, result);
}

/* The animation to come near to. */
static exit_code take_clip(work *w) {
    pelt_model *model = w->source ? w->source : w->rig;
    cli_animation animation;
    exit_code code = choose_animation(w->session, model, NULL, false, &animation);
    if (code != EXIT_DONE)
        return code;
    if (animation.clip == PELT_NONE && (!w->source || !animation.motion)) {
        say(w->session, MESSAGE_ERROR, "%s: there is no animation beside the rig's own; give a cache behind it",
            model->path);
        return EXIT_INPUT;
    }
    pelt_result result =
        animation_clip(w->session, model, &animation, w->settings->fps, PELT_SKINNING_LINEAR, &w->clip);
    return result == PELT_OK ? EXIT_DONE : session_fail(w->session, result);
}

static exit_code take_motion(work *w) {
    cli_animation animation;
    exit_code code = choose_animation(w->session, w->rig, w->settings->motion, true, &animation);
    if (code != EXIT_DONE)
        return code;
    w->pair = (pelt_correct_pair){PELT_NONE, &w->clip};
    if (!animation.motion)
        return EXIT_DONE;
    const pelt_motion *motion = animation.motion;
    w->pair.motion = (uint32_t)(motion - w->rig->motions);
    double lasts = (double)motion->end - (double)motion->start, duration = clip_duration(&w->clip);
    if (fabs(lasts - duration) > 0.5 * duration / fmax(w->clip.frame_count - 1.0, 1))
        warn(w->session, "motion '%s' lasts %.4g s and the animation %.4g s: is --fps right?", motion->name, lasts,
             duration);
    return EXIT_DONE;
}

static exit_code read_all(work *w, const char *const *args, size_t arg_count) {
    input_list inputs = inputs_group(w->session, args, arg_count);
    exit_code code = EXIT_DONE;
    if (inputs.count < 1 || inputs.count > 2)
        code = usage_error(w->session, "correct needs a rig and an animation of its mesh; %zu inputs are given",
                           inputs.count);
    if (code == EXIT_DONE)
        code = load(w, &inputs.items[0], &w->rig);
    if (code == EXIT_DONE && inputs.count == 2)
        code = load(w, &inputs.items[1], &w->source);
    if (code == EXIT_DONE && w->source)
        code = match_source(w);
    if (code == EXIT_DONE)
        code = take_clip(w);
    if (code == EXIT_DONE)
        code = take_motion(w);
    if (code == EXIT_DONE)
        w->bytes_in = written_size(inputs.items[0].paths[0], 0);
    inputs_free(&inputs);
    return code;
}

/* ---- Measuring what was written --------------------------------------------------------------------------- */

static pelt_result measure(work *w) {
    pelt_context *context = w->session->context;
    const char *path = w->settings->output;
    const pelt_clip *clip = &w->clip;
    pelt_result result = pelt_load(context, &path, 1, NULL, &w->written);
    if (result == PELT_OK)
        result = take_points(w->session, &w->rig->mesh, w->written);
    if (result != PELT_OK)
        return result;
    bool added = w->pair.motion == PELT_NONE; /* behind the others */
    uint32_t count = w->written->motion_count, number = added ? count - 1 : w->pair.motion;
    const pelt_motion *motion = number < count ? &w->written->motions[number] : NULL;
    float *times = must_alloc(clip->frame_count, sizeof *times);
    double start = motion ? (double)motion->start : 0;
    for (uint32_t k = 0; k < clip->frame_count; k++)
        times[k] = (float)(start + ((double)clip->times[k] - (double)clip->times[0]));
    result = pelt_clip_from_motion_at(context, w->written, motion, times, clip->frame_count, PELT_SKINNING_LINEAR,
                                      &w->played);
    free(times);
    w->frame_rms = must_alloc(clip->frame_count, sizeof *w->frame_rms);
    if (result == PELT_OK)
        result = pelt_compare_clips(context, clip, &w->played, NULL, &w->difference, w->frame_rms);
    uint32_t *shown = pelt_model_alloc(context, w->written, 1, sizeof *shown);
    if (result != PELT_OK || !shown)
        return result != PELT_OK ? result : PELT_ERROR_MEMORY;
    *shown = motion ? number : PELT_NONE;
    pelt_clip *beside = pelt_model_alloc(context, w->written, 1, sizeof *beside);
    if (!beside)
        return PELT_ERROR_MEMORY;
    *beside = *clip;
    report_page(w->session, w->written, beside, 1, w->settings->fps)->motions = shown;
    return PELT_OK;
}

/* ---- Report ----------------------------------------------------------------------------------------------- */

void report_corrections(cli_json *json, const pelt_correct_report *r) {
    json_count(json, "rank", r->rank);
    json_reals(json, "errors", r->errors, (size_t)r->rank + 1);
    json_count(json, "vertices", r->vertex_count);
    json_count(json, "ill_conditioned", r->ill_conditioned);
    if (!isnan(r->normals_before)) {
        json_real(json, "normals_before", r->normals_before);
        json_real(json, "normals_after", r->normals_after);
    }
}

static void report_json(const work *w, double seconds) {
    cli_json *json = &w->session->report;
    const pelt_difference *d = &w->difference;
    json_text(json, "output", w->settings->output);
    json_count(json, "frames", w->report.frame_count);
    report_corrections(json, &w->report);
    json_real(json, "error_rms", d->error_rms);
    json_real(json, "error_kg", d->error_kg);
    json_real(json, "error_max", d->error_max);
    json_reals(json, "frame_rms", w->frame_rms, d->frame_count);
    json_count(json, "bytes_in", w->bytes_in);
    json_count(json, "bytes_out", w->bytes_out);
    json_real(json, "seconds", seconds);
    size_t count = (size_t)w->report.rank + 1;
    double(*points)[2] = must_alloc(count, sizeof *points);
    for (size_t r = 0; r < count; r++) {
        points[r][0] = (double)r;
        points[r][1] = w->report.errors[r];
    }
    json_open(json, "curves", '[');
    report_curve(json, "error against rank", "rank", "E_rms", (const double(*)[2])points, count);
    json_close(json, ']');
    free(points);
    w->session->report_done = true;
}

/* Of many ranks, those that people ask for. */
static bool is_shown(uint32_t rank, uint32_t last) {
    return last <= 12 || rank <= 2 || rank == 5 || rank % (rank < 50 ? 10 : 50) == 0 || rank == last;
}

static void report_table(const work *w, double seconds) {
    const pelt_correct_report *r = &w->report;
    const pelt_difference *d = &w->difference;
    cli_table table = {0};
    table_row(&table, "input", "%s vertices, %s frames", grouped(r->vertex_count), grouped(r->frame_count));
    for (uint32_t rank = 0; rank <= r->rank; rank++)
        if (is_shown(rank, r->rank))
            table_row(&table, rank ? "" : "E_rms", "%.4g at rank %u", r->errors[rank], rank);
    table_row(&table, "in the file", "E_rms %.4g", d->error_rms);
    if (isfinite(d->error_kg))
        table_row(&table, "", "E_kg %.4g %%", d->error_kg);
    table_row(&table, "", "E_max %.4g of the diameter, at frame %u, vertex %u", d->error_max, d->max_frame,
              d->max_point);
    if (!isnan(r->normals_before))
        table_row(&table, "normals", "%.4g to %.4g", r->normals_before, r->normals_after);
    table_row(&table, "squeezed", "%s vertices, in some frame to under a tenth", grouped(r->ill_conditioned));
    table_row(&table, "size", "%s to %s", bytes_text(w->bytes_in), bytes_text(w->bytes_out));
    table_row(&table, "time", "%.3f s", seconds);
    table_print(&table, w->session->common.quiet ? NULL : w->session->out, w->settings->output);
}

/* ---- The verb --------------------------------------------------------------------------------------------- */

static exit_code correct(work *w) {
    pelt_context *context = w->session->context;
    pelt_result result = pelt_correct(context, w->rig, &w->pair, 1, &w->desc, &w->report);
    pelt_save_desc save = pelt_save_desc_default();
    pelt_model rig = *w->rig; /* without the clips, which glTF could not hold */
    rig.clip_count = 0;
    if (result == PELT_OK)
        result = pelt_save(context, &rig, w->settings->output, &save);
    if (result == PELT_OK) {
        w->bytes_out = written_size(w->settings->output, 0);
        result = measure(w);
    }
    if (result != PELT_OK)
        return session_fail(w->session, result);
    double seconds = now() - w->start;
    report_json(w, seconds);
    report_table(w, seconds);
    if (w->desc.error == 0 || w->difference.error_rms <= 1.001 * w->desc.error) /* room for rounding to floats */
        return EXIT_DONE;
    warn(w->session, "E_rms is %.4g; %.4g was asked for", w->difference.error_rms, w->desc.error);
    return EXIT_QUALITY;
}

static exit_code run(cli_session *session, const void *given, const char *const *args, size_t arg_count) {
    work w = {.session = session, .settings = given, .start = now()};
    exit_code code = output_rig(session, w.settings->output);
    if (code != EXIT_DONE)
        return code;
    w.desc = w.settings->correct;
    if (w.desc.error > 0 && !option_given(session, "rank"))
        w.desc.rank = PELT_CORRECT_RANK_MAX;
    session->hold_warnings = true; /* until the table is printed */
    code = read_all(&w, args, arg_count);
    if (code == EXIT_DONE)
        code = correct(&w);
    show_warnings(session);
    session->hold_warnings = false;
    free(w.frame_rms);
    keep_model(session, w.source); /* the last one kept goes first */
    keep_model(session, w.rig);
    keep_model(session, w.written);
    return code;
}

static const example examples[] = {
    {"pelt correct horse.glb horse.obj horse.pc2 -o better.glb", "10 morph targets for what the bones miss"},
    {"pelt correct rig.glb muscles.pc2 -o rig2.glb --rank 5 --normals", "a cache of the rig's own vertices"},
    {"pelt correct rig.glb muscles.pc2 -o rig2.glb --error 0.5", "as few targets as reach an E_rms of 0.5"},
    {"pelt correct rig.glb muscles.pc2 -o paper.glb --basis rest", "as James and Twigg do it, to compare"},
};

const cli_verb verb_correct = {
    .name = "correct",
    .summary = "add morph targets to a rig for what its bones miss of an animation",
    .usage = "pelt correct RIG [MESH] CACHE -o FILE [options]",
    .about =
        "RIG has a skin and a motion; CACHE is what that motion should look like, frame by frame from its start. MESH "
        "is "
        "the mesh of the cache where the rig's vertices are others than its points (files split vertices at seams). "
        "The "
        "targets displace the rest pose, before the bones move it, and an animation channel has their weights: every "
        "player of glTF knows both. Materials, other morphs and other motions stay.\n\n"
        "Ranks are those of the displacements: an error is told for each up to the last, which is then measured on the "
        "file. With --error, the exit code is 4 when that was missed.",
    .groups = groups,
    .group_count = COUNT(groups),
    .settings_size = sizeof(correct_settings),
    .examples = examples,
    .example_count = COUNT(examples),
    .run = run,
};
