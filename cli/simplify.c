/* pelt simplify: levels of detail of animated meshes.
 *
 * The error of a level is the surface-to-surface distance from the input, over evenly spaced frames of every motion or
 * clip.
 */
#include "cli.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define LEVELS_MAX 16u
#define SAMPLES    2000u /* sample points on each surface */

/* Default limit of --error, a fraction of the model's size: halve the triangle count, but stop at collapses that move
 * the surface further. Boxes and other meshes of few triangles cannot be halved. */
#define DEFAULT_ERROR 0.02

typedef struct simplify_settings {
    pelt_load_desc load;
    pelt_simplify_desc simplify;
    const char *output;
    const char *mesh;
    uint32_t lods;
    uint32_t frames;
    bool one_file;
    rig_settings written;
} simplify_settings;

#define FIELD(name) PELT_FIELD(simplify_settings, name)
static const pelt_option own_options[] = {
    {"output", 'o', PELT_OPTION_TEXT, FIELD(output), NULL, 0, 0, NULL, "FILE",
     "the result: .glb, .gltf; of a mesh .obj, .ply; of frames .abc, .pc2, .mdd or a pattern ('f_%04d.obj')"},
    {"lods", 0, PELT_OPTION_UINT, FIELD(lods), "1", 1, LEVELS_MAX, NULL, "N",
     "so many levels, each with half the triangles of the one before, one file each: 'hero.glb' gives hero.glb, "
     "hero_lod1.glb …, a pattern ('hero_%d.glb') hero_0.glb, hero_1.glb …"},
    {"one-file", 0, PELT_OPTION_FLAG, FIELD(one_file), NULL, 0, 0, NULL, NULL,
     "all levels in one glTF file (MSFT_lod); Blender, Godot 3 and gltfpack draw all of them at once"},
    {"mesh", 0, PELT_OPTION_TEXT, FIELD(mesh), NULL, 0, 0, NULL, "FILE",
     "also write the mesh that a cache belongs to (.obj, .ply)"},
    {"frames", 0, PELT_OPTION_UINT, FIELD(frames), "32", 1, 100000, NULL, "N",
     "frames that the result is measured in, at most"},
};
static OPTION_TABLE(own_table, own_options)

    static const option_group groups[] = {
        {"Options", own_table, 0},
        {"Options", target_table, offsetof(simplify_settings, written)},
        {"Options", pelt_simplify_options, offsetof(simplify_settings, simplify)},
        {"Options", pelt_load_options, offsetof(simplify_settings, load)},
};

/* One run. */
typedef struct work {
    cli_session *session;
    const simplify_settings *settings;
    pelt_model *model;
    uint32_t level_count;
    pelt_model *levels[LEVELS_MAX]; /* level 0 may be `model` itself */
    pelt_simplify_report reports[LEVELS_MAX];
    pelt_surface_difference differences[LEVELS_MAX];
    char *paths[LEVELS_MAX];    /* [level] output; with --one-file only paths[0] */
    uint64_t bytes[LEVELS_MAX]; /* [level] size of the output; with --one-file only bytes[0] */
    double start;
} work;

/* ---- Settings --------------------------------------------------------------------------------------------- */

static exit_code check(cli_session *session, const simplify_settings *settings) {
    const pelt_format_info *format;
    if (!settings->output)
        return usage_error(session, "simplify needs an output: -o FILE");
    exit_code code = output_format(session, settings->output, &format);
    if (code != EXIT_DONE)
        return code;
    if ((code = target_check(session, settings->output)) != EXIT_DONE)
        return code;
    bool rig = format->flags & PELT_FORMAT_RIG && format->flags & PELT_FORMAT_MESH;
    if (!(format->flags & (PELT_FORMAT_MESH | PELT_FORMAT_CACHE)))
        return usage_error(session, "%s: %s holds no mesh and no frames", settings->output, format->name);
    if (settings->lods > 1 && !rig)
        return usage_error(session, "%s: --lods writes .glb or .gltf", settings->output);
    if (rig && is_pattern(settings->output) && settings->lods == 1)
        return usage_error(session, "%s: a pattern is for several levels; give --lods", settings->output);
    if (settings->one_file && (settings->lods == 1 || is_pattern(settings->output)))
        return usage_error(session, "--one-file means nothing %s",
                           settings->lods == 1 ? "without --lods" : "where the output is a pattern");
    if (settings->lods > 1 && settings->simplify.error > 0)
        return usage_error(session, "--lods halves the triangles; --error is for one level");
    if (settings->mesh && !(format->flags & PELT_FORMAT_CACHE))
        return usage_error(session, "--mesh goes with an output that is a cache");
    if (!settings->mesh)
        return EXIT_DONE;
    if ((code = output_format(session, settings->mesh, &format)) != EXIT_DONE)
        return code;
    if (!(format->flags & PELT_FORMAT_MESH) || format->flags & PELT_FORMAT_RIG || is_pattern(settings->mesh))
        return usage_error(session, "--mesh %s: give one .obj or .ply file", settings->mesh);
    return EXIT_DONE;
}

/* ---- Simplifying ------------------------------------------------------------------------------------------ */

/* Level 0 of several levels is the unchanged model, unless --ratio is given. */
static pelt_result make_levels(work *w) {
    pelt_simplify_desc desc = w->settings->simplify;
    bool given = option_given(w->session, "ratio"), whole = w->level_count > 1 && !given;
    if (desc.error > 0 && !given)
        desc.ratio = 0;
    if (w->level_count == 1 && !given && !(desc.error > 0))
        desc.error = DEFAULT_ERROR;
    double ratios[LEVELS_MAX];
    for (uint32_t n = 0; n < w->level_count; n++)
        ratios[n] = ldexp(whole ? 1 : desc.ratio, -(int)n);
    pelt_result result = pelt_simplify_levels(w->session->context, w->model, &desc, ratios + whole,
                                              w->level_count - whole, w->levels + whole, w->reports + whole);
    if (result == PELT_OK && whole) {
        const pelt_mesh *mesh = &w->model->mesh;
        w->levels[0] = w->model;
        w->reports[0] = w->reports[1];
        w->reports[0].triangle_count = w->reports[0].wanted_count = mesh->triangle_count;
        w->reports[0].vertex_count = mesh->vertex_count;
        w->reports[0].harm = 0;
    }
    return result;
}

/* Path of a level: hero.glb, hero_lod1.glb …; a pattern with the level's number. */
static char *level_path(const char *output, uint32_t level) {
    const char *dot = strrchr(output, '.');
    if (is_pattern(output))
        return pattern_path(output, level);
    return level ? must_format("%.*s_lod%u%s", (int)(dot - output), output, level, dot) : must_format("%s", output);
}

static pelt_result write_levels(work *w) {
    pelt_context *context = w->session->context;
    const simplify_settings *settings = w->settings;
    pelt_save_desc save = pelt_save_desc_default();
    save.fps = settings->load.fps;
    rig_save(&settings->written, &save);
    const pelt_model *levels[LEVELS_MAX];
    const char *paths[LEVELS_MAX];
    memcpy(levels, w->levels, sizeof levels);
    uint32_t file_count = settings->one_file ? 1 : w->level_count;
    for (uint32_t n = 0; n < file_count; n++) /* one level: a pattern numbers frames */
        paths[n] = w->paths[n] =
            w->level_count > 1 ? level_path(settings->output, n) : must_format("%s", settings->output);
    pelt_result result;
    if (settings->one_file)
        result = pelt_save_levels(context, levels, w->level_count, settings->output, &save);
    else if (settings->mesh) /* output is a cache: one level */
        result = save_frames(w->session, w->levels[0], settings->output, settings->mesh, &save);
    else
        result = pelt_save_all(context, levels, paths, file_count, &save);
    for (uint32_t n = 0; n < file_count && result == PELT_OK; n++)
        w->bytes[n] = written_size(paths[n], levels[n]->clip_count ? levels[n]->clips[0].frame_count : 0);
    return result;
}

/* ---- Measuring -------------------------------------------------------------------------------------------- */

/* Every `step`th frame of a clip. */
typedef struct thinned {
    const pelt_clip *clip;
    uint32_t step;
} thinned;

static pelt_result read_thinned(pelt_context *context, const void *user, uint32_t frame, uint32_t first, uint32_t count,
                                float *out) {
    const thinned *t = user;
    return pelt_clip_read(context, t->clip, frame * t->step, first, count, out);
}

static pelt_clip thin(thinned *t, const pelt_clip *clip, uint32_t most) {
    *t = (thinned){clip, (clip->frame_count + most - 1) / most};
    pelt_clip out = *clip;
    out.frame_count = (clip->frame_count + t->step - 1) / t->step;
    out.positions = NULL;
    out.source = (pelt_clip_source){.read = read_thinned, .user = t};
    return out;
}

/* Merges the errors of a further clip, weighted by frame counts. The first clip's enclosing ball is the unit. */
static void add_difference(pelt_surface_difference *sum, const pelt_surface_difference *d) {
    double frames = sum->frame_count, more = d->frame_count;
    if (sum->frame_count == 0)
        sum->ball = d->ball;
    double unit = d->ball.radius / sum->ball.radius;
    sum->error_rms =
        sqrt((frames * sum->error_rms * sum->error_rms + more * pow(unit * d->error_rms, 2)) / (frames + more));
    sum->error_max = fmax(sum->error_max, unit * d->error_max);
    sum->frame_count += d->frame_count;
    sum->sample_count = d->sample_count;
}

static pelt_result measure_clip(work *w, const pelt_model *level, uint32_t clip, uint32_t most,
                                pelt_surface_difference *out) {
    thinned of_before, of_after;
    pelt_clip before = thin(&of_before, &w->model->clips[clip], most);
    pelt_clip after = thin(&of_after, &level->clips[clip], most);
    return pelt_compare_surfaces(w->session->context, &w->model->mesh, &before, &level->mesh, &after, SAMPLES, out);
}

static pelt_result measure_motion(work *w, pelt_model *level, const pelt_motion *motion, uint32_t most,
                                  pelt_surface_difference *out) {
    pelt_context *context = w->session->context;
    pelt_clip before, after;
    double length = motion ? (double)motion->end - (double)motion->start : 0;
    uint32_t count = length > 0 ? most : 1;
    float *times = must_alloc(count, sizeof *times);
    for (uint32_t k = 0; k < count; k++)
        times[k] = motion ? (float)((double)motion->start + (count > 1 ? length * k / (count - 1) : 0)) : 0;
    pelt_result result =
        pelt_clip_from_motion_at(context, w->model, motion, times, count, PELT_SKINNING_LINEAR, &before);
    if (result == PELT_OK)
        result = pelt_clip_from_motion_at(context, level, motion, times, count, PELT_SKINNING_LINEAR, &after);
    if (result == PELT_OK)
        result = pelt_compare_surfaces(context, &w->model->mesh, &before, &level->mesh, &after, SAMPLES, out);
    free(times);
    return result;
}

static pelt_result measure(work *w, pelt_model *level, pelt_surface_difference *sum) {
    const pelt_model *model = w->model;
    bool clips = model->skin.bone_count == 0 && model->clip_count > 0;
    uint32_t count = clips ? model->clip_count : model->motion_count ? model->motion_count : 1;
    uint32_t most = w->settings->frames / count;
    most = most > 1 ? most : 2;
    for (uint32_t n = 0; n < count && level != model; n++) {
        pelt_surface_difference d;
        pelt_result result = clips
                                 ? measure_clip(w, level, n, most, &d)
                                 : measure_motion(w, level, model->motion_count ? &model->motions[n] : NULL, most, &d);
        if (result != PELT_OK)
            return result;
        add_difference(sum, &d);
    }
    return PELT_OK;
}

/* ---- Report ----------------------------------------------------------------------------------------------- */

static void report_json(const work *w, double seconds) {
    cli_json *json = &w->session->report;
    json_text(json, "output", w->settings->output);
    json_count(json, "triangles_before", w->reports[0].triangles_before);
    json_count(json, "vertices_before", w->reports[0].vertices_before);
    json_count(json, "poses", w->reports[0].pose_count);
    json_open(json, "levels", '[');
    for (uint32_t n = 0; n < w->level_count; n++) {
        const pelt_simplify_report *r = &w->reports[n];
        json_open(json, NULL, '{');
        if (w->paths[n])
            json_text(json, "output", w->paths[n]);
        json_count(json, "triangles", r->triangle_count);
        json_count(json, "wanted", r->wanted_count);
        json_count(json, "vertices", r->vertex_count);
        json_real(json, "harm", r->harm);
        json_real(json, "error_rms", w->differences[n].error_rms);
        json_real(json, "error_max", w->differences[n].error_max);
        json_count(json, "frames", w->differences[n].frame_count);
        if (w->bytes[n])
            json_count(json, "bytes", w->bytes[n]);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_real(json, "seconds", seconds);
    w->session->report_done = true;
}

static void report_table(const work *w, double seconds) {
    cli_table table = {0};
    const pelt_simplify_report *r = w->reports;
    uint64_t bytes = 0;
    table_row(&table, "before", "%s triangles, %s vertices", grouped(r->triangles_before), grouped(r->vertices_before));
    for (uint32_t n = 0; n < w->level_count; n++) {
        const pelt_surface_difference *d = &w->differences[n];
        char *name = w->level_count > 1 ? must_format("level %u", n) : must_format("after");
        table_row(&table, name, "%s triangles, %s vertices", grouped(r[n].triangle_count), grouped(r[n].vertex_count));
        if (w->level_count > 1 && !w->settings->one_file)
            table_row(&table, "", "%s, %s", w->paths[n], bytes_text(w->bytes[n]));
        if (w->levels[n] != w->model)
            table_row(&table, "", "off by %.3g %% of the size RMS, %.3g %% at most", 100 * d->error_rms,
                      100 * d->error_max);
        bytes += w->bytes[n];
        free(name);
    }
    table_row(&table, "poses", "%u, measured in %s frames", r->pose_count,
              grouped(w->differences[w->level_count - 1].frame_count));
    table_row(&table, "size", "%s", bytes_text(bytes));
    table_row(&table, "time", "%.3f s", seconds);
    table_print(&table, w->session->common.quiet ? NULL : w->session->out, w->settings->output);
}

static void warn_all(const work *w) {
    for (uint32_t n = 0; n < w->level_count; n++) {
        const pelt_simplify_report *r = &w->reports[n];
        if (!(w->settings->simplify.error > 0) && r->triangle_count > r->wanted_count + r->wanted_count / 50 + 2)
            warn(w->session, "%s triangles were wanted, %s are left: no more can go without a hole or a fold%s",
                 grouped(r->wanted_count), grouped(r->triangle_count),
                 w->level_count == 1 && !option_given(w->session, "ratio")
                     ? ", or without moving the surface by over 2 % of the size (--ratio goes on)"
                     : "");
    }
}

/* ---- The verb --------------------------------------------------------------------------------------------- */

static pelt_result run_all(work *w) {
    pelt_result result = make_levels(w);
    if (result == PELT_OK)
        result = write_levels(w);
    for (uint32_t n = 0; n < w->level_count && result == PELT_OK; n++)
        result = measure(w, w->levels[n], &w->differences[n]);
    return result;
}

static exit_code run(cli_session *session, const void *given, const char *const *args, size_t arg_count) {
    work w = {.session = session, .settings = given, .start = px_seconds()};
    if (arg_count == 0)
        return usage_error(session, "simplify needs an input");
    exit_code code = check(session, w.settings);
    if (code != EXIT_DONE)
        return code;
    w.level_count = w.settings->lods;
    session->hold_warnings = true; /* until the table is printed */
    pelt_result result = pelt_load(session->context, args, arg_count, &w.settings->load, &w.model);
    if (result == PELT_OK)
        result = run_all(&w);
    if (result != PELT_OK) {
        code = session_fail(session, result);
    } else {
        double seconds = px_seconds() - w.start;
        report_json(&w, seconds);
        report_table(&w, seconds);
        warn_all(&w);
        const pelt_model *coarsest = w.levels[w.level_count - 1];
        bool frames = coarsest->skin.bone_count == 0;
        report_page(session, coarsest, coarsest->clips, frames ? coarsest->clip_count : 0, w.settings->load.fps);
    }
    show_warnings(session);
    session->hold_warnings = false;
    for (uint32_t n = 0; n < w.level_count; n++) {
        free(w.paths[n]);
        if (w.levels[n] != w.model)
            keep_model(session, w.levels[n]);
    }
    keep_model(session, w.model);
    return code;
}

static const example examples[] = {
    {"pelt simplify hero.glb -o hero_far.glb --ratio 0.25", "a quarter of the triangles; it plays every motion"},
    {"pelt simplify hero.glb -o game/hero.glb --lods 4", "hero.glb as it is, and hero_lod1.glb … hero_lod3.glb"},
    {"pelt simplify hero.glb -o 'hero_%d.glb' --lods 4", "the same as hero_0.glb … hero_3.glb"},
    {"pelt simplify hero.glb -o levels.glb --lods 4 --one-file", "the same in one file (MSFT_lod)"},
    {"pelt simplify horse.obj horse.pc2 -o small.pc2 --mesh small.obj --ratio 0.125", "a vertex animation"},
    {"pelt simplify hero.glb -o hero2.glb --error 0.002", "what goes without more harm than that"},
};

const cli_verb verb_simplify = {
    .name = "simplify",
    .summary = "reduce triangles: levels of detail that hold in every pose",
    .usage = "pelt simplify INPUT -o FILE [--ratio R | --error E] [--lods N] [options]",
    .about = "Edges are collapsed in the order of the error that they cause, measured in poses that represent the "
             "whole motion, not in the rest pose alone. Remaining vertices keep their weights, UVs, normals, morph "
             "targets and all other attributes of the file; they move to where the error over all poses is smallest. "
             "Seams stay closed, borders keep their shape, and no triangle flips in any of the poses.\n\nWithout "
             "options, half of the triangles are removed, but only while the surface moves by at most 2 % of the size. "
             "The report has the distances from surface to surface, in both directions, over frames of all motions or "
             "clips, relative to the diameter of the bounding ball of the first frame.",
    .groups = groups,
    .group_count = COUNT(groups),
    .settings_size = sizeof(simplify_settings),
    .examples = examples,
    .example_count = COUNT(examples),
    .run = run,
};
