/* pelt correct: adds morph targets for the residual between a rig and an animation.
 *
 * The final error is measured on the written file: it is read back, evaluated at the animation's own times and compared
 * with the animation.
 */
#include "correct.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const pelt_option own_options[] = {
    {"output", 'o', PELT_OPTION_TEXT, PELT_FIELD(correct_settings, output), NULL, 0, 0, NULL, "FILE",
     "the rig with its corrections (.glb, .gltf)"},
    {"motion", 0, PELT_OPTION_TEXT, PELT_FIELD(correct_settings, motion), NULL, 0, 0, NULL, "NAME|INDEX",
     "which motion of the rig; without this the first"},
    {"fps", 0, PELT_OPTION_REAL, PELT_FIELD(correct_settings, fps), "30", 0.001, 100000, NULL, "N",
     "frames per second of inputs that do not say, and at which motions of an animated rig are evaluated"},
    {"driver", 0, PELT_OPTION_CHOICE, PELT_FIELD(correct_settings, driver), "time", 0, 0, "time|pose", NULL,
     "what gives targets their weights: an animation channel, or the pose itself, in poses never seen as well"},
    {"poses", 0, PELT_OPTION_TEXT, PELT_FIELD(correct_settings, poses), NULL, 0, 0, NULL, "FOLDER|FILE",
     "what to learn from, instead of a cache: meshes with a pose each, or poses of the rig's targets (.json)"},
    {"unseen", 0, PELT_OPTION_TEXT, PELT_FIELD(correct_settings, unseen), NULL, 0, 0, NULL, "FOLDER|FILE",
     "more of them, to tell the error for; nothing is learned from these"},
    {"hold-out", 0, PELT_OPTION_UINT, PELT_FIELD(correct_settings, hold_out), "0", 0, 1000000, NULL, "N",
     "the same with every Nth frame of a cache; 0: none"},
    {"preset", 0, PELT_OPTION_CHOICE, PELT_FIELD(correct_settings, preset), "none", 0, 0, "none|eigenskin2002", NULL,
     "settings of a published method; options given beside it take precedence"},
};
static OPTION_TABLE(own_table, own_options)

    static const option_group groups[] = {
        {"Options", own_table, 0},
        {"Options", target_table, offsetof(correct_settings, written)},
        {"Options", sparse_table, offsetof(correct_settings, written)},
        {"Corrections by time", pelt_correct_options, offsetof(correct_settings, correct)},
        {"Corrections by pose", pelt_eigenskin_options, offsetof(correct_settings, eigenskin)},
        {"Reading", pelt_load_options, offsetof(correct_settings, load)},
};

/* One run. */
typedef struct work {
    cli_session *session;
    const correct_settings *settings;
    pelt_correct_desc desc;
    correct_input in;
    pelt_model *written; /* the output, read back */
    pelt_correct_report report;
    pelt_clip played; /* motion of `written` at the times of in.clip */
    pelt_difference difference;
    double *frame_rms; /* [frame] */
    uint64_t bytes_out;
    double start;
} work;

/* ---- Measuring what was written --------------------------------------------------------------------------- */

static pelt_result measure(work *w) {
    pelt_context *context = w->session->context;
    const char *path = w->settings->output;
    const pelt_clip *clip = &w->in.clip;
    pelt_result result = load_written(w->session, w->in.rig, path, &w->written);
    if (result == PELT_OK)
        result = pelt_model_take_points(context, w->written, w->in.rig);
    if (result != PELT_OK)
        return result;
    bool added = w->in.motion == PELT_NONE; /* pelt_correct appended the motion */
    uint32_t count = w->written->motion_count, number = added ? count - 1 : w->in.motion;
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
        result = pelt_clip_skin_normals(context, w->written, &w->played);
    pelt_mesh mesh;
    if (result == PELT_OK)
        result = edged_mesh(w->session, w->written, &mesh);
    if (result == PELT_OK)
        result = pelt_compare_clips(context, clip, &w->played, mesh.triangle_count ? &mesh : NULL, &w->difference,
                                    w->frame_rms);
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
    json_count(json, "normal_rank", r->normal_rank);
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
    report_normals(json, d);
    json_reals(json, "frame_rms", w->frame_rms, d->frame_count);
    json_count(json, "bytes_in", w->in.bytes);
    json_count(json, "bytes_out", w->bytes_out);
    json_real(json, "seconds", seconds);
    json_open(json, "curves", '[');
    report_steps(json, "error against rank", "rank", "E_rms", w->report.errors, (size_t)w->report.rank + 1);
    json_close(json, ']');
    w->session->report_done = true;
}

/* Whether the table lists a rank: all up to 12 ranks; of more, round numbers and the last. */
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
    normal_rows(&table, d);
    if (!isnan(r->normals_before))
        table_row(&table, "", "%.4g before corrections, %.4g with them%s", r->normals_before, r->normals_after,
                  w->desc.normal_rule == PELT_NORMALS_INVERSE ? ", by the inverse transposed" : "");
    if (r->normal_rank > 0)
        table_row(&table, "", "%u targets correct normals alone", r->normal_rank);
    table_row(&table, "squeezed", "%s vertices, in some frame to under a tenth", grouped(r->ill_conditioned));
    table_row(&table, "size", "%s to %s", bytes_text(w->in.bytes), bytes_text(w->bytes_out));
    table_row(&table, "time", "%.3f s", seconds);
    table_print(&table, w->session->common.quiet ? NULL : w->session->out, w->settings->output);
}

/* ---- The verb --------------------------------------------------------------------------------------------- */

static exit_code correct(work *w) {
    pelt_context *context = w->session->context;
    pelt_correct_pair pair = {w->in.motion, &w->in.clip};
    pelt_result result = pelt_correct(context, w->in.rig, &pair, 1, &w->desc, &w->report);
    pelt_save_desc save = pelt_save_desc_default();
    rig_save(&w->settings->written, &save);
    save.skip_clips = true;
    if (result == PELT_OK)
        result = pelt_save(context, w->in.rig, w->settings->output, &save);
    if (result == PELT_OK) {
        w->bytes_out = written_size(w->settings->output, 0);
        result = measure(w);
    }
    if (result != PELT_OK)
        return session_fail(w->session, result);
    double seconds = px_seconds() - w->start;
    report_json(w, seconds);
    report_table(w, seconds);
    if (w->desc.error == 0 || w->difference.error_rms <= 1.001 * w->desc.error) /* 0.1 % for rounding to floats */
        return EXIT_DONE;
    warn(w->session, "E_rms is %.4g; %.4g was asked for", w->difference.error_rms, w->desc.error);
    return EXIT_QUALITY;
}

static exit_code correct_by_time(cli_session *session, const correct_settings *settings, const char *const *args,
                                 size_t arg_count) {
    work w = {.session = session, .settings = settings, .desc = settings->correct, .start = px_seconds()};
    if (w.desc.error > 0 && !option_given(session, "rank"))
        w.desc.rank = PELT_CORRECT_RANK_MAX;
    const idle_options rule = {!w.desc.normals && w.desc.normal_rank == 0, "normal-rule",
                               "without --normals or --normal-rank"};
    exit_code code = options_check(session, &rule, 1);
    if (code == EXIT_DONE)
        code = correct_read(session, settings, args, arg_count, &w.in);
    if (code == EXIT_DONE)
        code = correct(&w);
    free(w.frame_rms);
    keep_model(session, w.in.source); /* destroyed last: the clip may read from it */
    keep_model(session, w.in.rig);
    keep_model(session, w.written);
    return code;
}

/* Reports a usage error for options of the other driver. */
static exit_code check_options(cli_session *session, bool by_pose) {
    static const char *const pose_inputs[] = {"poses", "unseen", "hold-out", "preset"};
    for (size_t o = 0; o < session->given_count; o++) {
        const char *name = session->given[o].option->name;
        bool of_time = table_has(pelt_correct_options(), name), of_pose = table_has(pelt_eigenskin_options(), name);
        for (size_t p = 0; p < COUNT(pose_inputs); p++)
            of_pose |= strcmp(name, pose_inputs[p]) == 0;
        if (of_time != of_pose && of_pose != by_pose)
            return usage_error(session, "--%s is for --driver %s", name, of_pose ? "pose" : "time");
    }
    return EXIT_DONE;
}

static exit_code run(cli_session *session, const void *given, const char *const *args, size_t arg_count) {
    const correct_settings *settings = given;
    bool by_pose = settings->driver == DRIVER_POSE;
    exit_code code = output_rig(session, settings->output);
    if (code == EXIT_DONE)
        code = check_options(session, by_pose);
    if (code == EXIT_DONE)
        code = target_check(session, settings->output);
    if (code != EXIT_DONE)
        return code;
    session->hold_warnings = true; /* until the table is printed */
    code = (by_pose ? correct_by_pose : correct_by_time)(session, settings, args, arg_count);
    show_warnings(session);
    session->hold_warnings = false;
    return code;
}

static const example examples[] = {
    {"pelt correct horse.glb horse.obj horse.pc2 -o better.glb", "10 morph targets for what the bones miss"},
    {"pelt correct rig.glb muscles.pc2 -o rig2.glb --rank 5 --normals", "a cache of the rig's own vertices"},
    {"pelt correct rig.glb muscles.pc2 -o rig2.glb --rank 5 --normals --normal-rank 10",
     "10 more targets for the shading of wrinkles that 5 do not have"},
    {"pelt correct rig.glb muscles.pc2 -o rig2.glb --error 0.5", "as few targets as reach an E_rms of 0.5"},
    {"pelt correct rig.glb muscles.pc2 -o paper.glb --basis rest", "as James and Twigg do it, to compare"},
    {"pelt correct arm.glb --driver pose --poses sculpts -o better.glb",
     "targets that any pose drives, from sculpts/bent.obj with sculpts/bent.json …"},
    {"pelt correct rig.glb muscles.pc2 --driver pose --hold-out 3 -o rig2.glb",
     "from a simulated clip, and how it does on every third frame"},
};

const cli_verb verb_correct = {
    .name = "correct",
    .summary = "add morph targets to a rig for what its bones miss of an animation",
    .usage = "pelt correct RIG {[MESH] CACHE | --driver pose --poses POSES} -o FILE [options]",
    .about =
        "RIG has a skin and a motion; CACHE is what that motion should look like, frame by frame from its start. MESH "
        "is "
        "the mesh of the cache where the rig's vertices are others than its points (files split vertices at seams). "
        "The "
        "targets displace the rest pose, before the bones move it, and an animation channel has their weights: every "
        "player of glTF knows both. Materials, other morphs and other motions stay.\n\n"
        "Ranks are those of the displacements: an error is told for each up to the last, which is then measured on the "
        "file. With --error, the exit code is 4 when that was missed.\n\n"
        "With --driver pose the rotations of joints give targets their weights, in poses never seen as well. POSES is "
        "a "
        "folder of meshes in the right shape with a pose each (bent.obj and bent.json, .bvh or .glb; 'pelt pose "
        "--help' "
        "shows the JSON), or a JSON file of poses that are named as morph targets of the rig which make it right "
        "there; "
        "or frames, as above. Errors (and --error) are then parts of the displacements that the skin alone misses. All "
        "motions of the rig get the weights as animation channels; what drives them is in the file, too, for players "
        "that ask it.",
    .groups = groups,
    .group_count = COUNT(groups),
    .settings_size = sizeof(correct_settings),
    .examples = examples,
    .example_count = COUNT(examples),
    .run = run,
};
