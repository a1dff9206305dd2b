/* pelt edit: applies one edit of a rig's rest shape to every frame of its animations.
 *
 * The change of the animation is measured on the written file: it is read back and compared with the original rig.
 */
#include "cli.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct edit_settings {
    const char *output;
    const char *rest;
    const char *original;
    const char *displace;
    const char *attribute;
    double amount, middle;
    uint32_t pose; /* pelt_edit_pose */
    const char *motion;
    uint32_t frame;
    double time, fps;
    pelt_load_desc load;
} edit_settings;

#define FIELD(name) PELT_FIELD(edit_settings, name)
static const pelt_option own_options[] = {
    {"output", 'o', PELT_OPTION_TEXT, FIELD(output), NULL, 0, 0, NULL, "FILE",
     "the rig (.glb, .gltf); may be the input"},
    {"rest", 0, PELT_OPTION_TEXT, FIELD(rest), NULL, 0, 0, NULL, "FILE", "the edited mesh, with the same faces"},
    {"original", 0, PELT_OPTION_TEXT, FIELD(original), NULL, 0, 0, NULL, "FILE",
     "what that was before it was edited, where it is not the rig: the rig moves by their difference"},
    {"displace", 0, PELT_OPTION_TEXT, FIELD(displace), NULL, 0, 0, NULL, "FILE",
     "instead, distances along normals: a PNG painted over the mesh's UVs, or a text file with a number for each "
     "vertex"},
    {"displace-attribute", 0, PELT_OPTION_TEXT, FIELD(attribute), NULL, 0, 0, NULL, "NAME",
     "the same from a vertex attribute of the glTF file: _HEIGHT, COLOR_0 (its red), COLOR_0.g"},
    {"amount", 0, PELT_OPTION_REAL, FIELD(amount), "1", 0, 0, NULL, "UNITS",
     "distance that a number of 1 stands for; of a picture, from black to white"},
    {"middle", 0, PELT_OPTION_REAL, FIELD(middle), "0", 0, 0, NULL, "N",
     "number that moves nothing, less goes inwards; without this 0.5 of pictures, where 0 is black and 1 white"},
};
static OPTION_TABLE(own_table, own_options)

    static const pelt_option pose_options[] = {
        {"pose", 0, PELT_OPTION_CHOICE, FIELD(pose), "auto", 0, 0, "auto|bind|rest", NULL,
         "pose that the edit was made in; auto: the one that it is nearer to"},
        {"frame", 0, PELT_OPTION_UINT, FIELD(frame), "0", 0, 4294967294.0, NULL, "N",
         "it was made in this frame of a motion, from 0"},
        {"time", 0, PELT_OPTION_REAL, FIELD(time), "0", 0, 1e9, NULL, "SECONDS", "or at this time, from its start"},
        {"motion", 0, PELT_OPTION_TEXT, FIELD(motion), NULL, 0, 0, NULL, "NAME|INDEX",
         "which motion of the rig; without this the first"},
        {"fps", 0, PELT_OPTION_REAL, FIELD(fps), "30", 0.001, 100000, NULL, "N",
         "frames per second, for --frame and for what is measured"},
};
static OPTION_TABLE(pose_table, pose_options)

    static const option_group groups[] = {{"Options", own_table, 0},
                                          {"Where the edit was made", pose_table, 0},
                                          {"Reading", pelt_load_options, offsetof(edit_settings, load)}};

/* One run. */
typedef struct work {
    cli_session *session;
    const edit_settings *settings;
    pelt_model *rig;
    pelt_model *edited, *original; /* or NULL */
    pelt_model *written;           /* the output, read back */
    const pelt_motion *motion;     /* of the rig, or NULL */
    float *distances;              /* [vertex] or NULL */
    pelt_edit_desc desc;
    pelt_edit_report report;
    pelt_difference difference;
    uint64_t bytes;
    double start;
} work;

/* ---- Reading ---------------------------------------------------------------------------------------------- */

static exit_code check(const cli_session *session, const edit_settings *settings) {
    int ways = (settings->rest != NULL) + (settings->displace != NULL) + (settings->attribute != NULL);
    if (ways != 1)
        return usage_error(session, "edit needs one of --rest, --displace and --displace-attribute; %d are given",
                           ways);
    if (settings->rest && (option_given(session, "amount") || option_given(session, "middle")))
        return usage_error(session, "--amount and --middle go with --displace; --rest says it all");
    if (settings->original && !settings->rest)
        return usage_error(session, "--original goes with --rest: it is what that was before");
    if (option_given(session, "pose") + option_given(session, "frame") + option_given(session, "time") > 1)
        return usage_error(session, "--pose, --frame and --time are one pose each; give one of them");
    return EXIT_DONE;
}

static exit_code read_distances(work *w) {
    const edit_settings *settings = w->settings;
    uint32_t vertex_count = w->rig->mesh.vertex_count;
    bool picture = settings->displace && is_picture(settings->displace);
    if (picture && !option_given(w->session, "amount"))
        return usage_error(w->session,
                           "%s is a picture: how far does it move the mesh from black to white? --amount UNITS",
                           settings->displace);
    w->distances = must_alloc(vertex_count, sizeof *w->distances);
    exit_code code =
        vertex_values(w->session, w->rig, "displace", settings->displace, settings->attribute, w->distances);
    double middle = picture && !option_given(w->session, "middle") ? 0.5 : settings->middle;
    for (uint32_t i = 0; i < vertex_count; i++)
        w->distances[i] = (float)(settings->amount * ((double)w->distances[i] - middle));
    return code;
}

static exit_code take_pose(work *w) {
    const edit_settings *settings = w->settings;
    bool posed = option_given(w->session, "frame") || option_given(w->session, "time");
    cli_animation animation;
    exit_code code = choose_animation(w->session, w->rig, settings->motion, true, &animation);
    if (code != EXIT_DONE)
        return code;
    w->motion = animation.motion;
    w->desc = pelt_edit_desc_default();
    w->desc.pose = settings->pose;
    if (!posed)
        return EXIT_DONE;
    if (!w->motion) {
        say(w->session, MESSAGE_ERROR, "%s: there is no motion in it for --frame or --time", w->rig->path);
        return EXIT_INPUT;
    }
    pelt_clip frames; /* same frame numbers as the output of 'pelt bake' */
    pelt_result result =
        pelt_clip_from_motion(w->session->context, w->rig, w->motion, settings->fps, PELT_SKINNING_LINEAR, &frames);
    if (result != PELT_OK)
        return session_fail(w->session, result);
    double lasts = (double)w->motion->end - (double)w->motion->start, time = settings->time;
    if (!option_given(w->session, "time"))
        time = settings->frame < frames.frame_count ? (double)frames.times[settings->frame] - (double)w->motion->start
                                                    : settings->frame / settings->fps;
    if (time > lasts + 1e-6)
        return usage_error(w->session, "%g s is behind the end of motion '%s', which lasts %g s", time, w->motion->name,
                           lasts);
    w->desc.pose = PELT_EDIT_MOTION;
    w->desc.motion = (uint32_t)(w->motion - w->rig->motions);
    w->desc.time = (double)w->motion->start + time;
    return EXIT_DONE;
}

/* Evaluates the rig in its rest pose: positions [vertex][3]. */
static pelt_result read_rest(work *w, float *positions) {
    uint32_t count = w->rig->mesh.vertex_count;
    pelt_clip clip;
    pelt_result result = pelt_clip_from_motion(w->session->context, w->rig, NULL, 1, PELT_SKINNING_LINEAR, &clip);
    if (result != PELT_OK || clip.point_count == count)
        return result == PELT_OK ? pelt_clip_read(w->session->context, &clip, 0, 0, count, positions) : result;
    memcpy(positions, w->rig->mesh.positions, 3 * (size_t)count * sizeof *positions);
    return PELT_OK;
}

/* Warns if the edited mesh has other axes than the rig in both bind pose and rest pose. */
static pelt_result check_axes(work *w) {
    const pelt_model *other = w->original ? w->original : w->edited;
    uint32_t count = w->rig->mesh.vertex_count, *vertices = must_alloc(count, sizeof *vertices);
    float *points = must_alloc((size_t)6 * count, sizeof *points), *rest = points + (size_t)3 * count;
    pelt_result result = PELT_OK;
    /* Meshes that do not match are reported by the edit itself. */
    if (pelt_model_match(w->session->context, w->rig, other, vertices) == PELT_OK) {
        pelt_axes bound, posed;
        for (uint32_t i = 0; i < count; i++)
            for (size_t c = 0; c < 3; c++)
                points[3 * (size_t)i + c] =
                    vertices[i] == PELT_NONE ? (float)NAN : other->mesh.positions[3 * (size_t)vertices[i] + c];
        result = read_rest(w, rest);
        pelt_compare_axes(w->rig->mesh.positions, points, count, &bound);
        pelt_compare_axes(rest, points, count, &posed);
        if (result == PELT_OK && bound.differ && posed.differ)
            warn_of_axes(w->session, w->rig->path, &bound, other->path);
    }
    free(vertices);
    free(points);
    return result;
}

static exit_code read_all(work *w, const char *rig) {
    pelt_context *context = w->session->context;
    pelt_result result = pelt_load(context, &rig, 1, &w->settings->load, &w->rig);
    if (result == PELT_OK && w->settings->rest)
        result = pelt_load(context, &w->settings->rest, 1, &w->settings->load, &w->edited);
    if (result == PELT_OK && w->settings->original)
        result = pelt_load(context, &w->settings->original, 1, &w->settings->load, &w->original);
    if (result == PELT_OK && w->edited)
        result = check_axes(w);
    if (result != PELT_OK)
        return session_fail(w->session, result);
    exit_code code = take_pose(w);
    return code == EXIT_DONE && !w->edited ? read_distances(w) : code;
}

/* ---- Work ------------------------------------------------------------------------------------------------- */

/* Compares the written file with the animation of the rig before the edit. */
static pelt_result measure(work *w, const pelt_clip *before) {
    pelt_context *context = w->session->context;
    const char *path = w->settings->output;
    pelt_result result = load_written(w->session, w->rig, path, &w->written);
    if (result != PELT_OK)
        return result;
    uint32_t number = w->motion ? (uint32_t)(w->motion - w->rig->motions) : PELT_NONE;
    pelt_clip after, *clips = pelt_model_alloc(context, w->written, 1, sizeof *clips);
    uint32_t *motions = pelt_model_alloc(context, w->written, 1, sizeof *motions);
    if (!clips || !motions)
        return PELT_ERROR_MEMORY;
    *clips = *before;
    *motions = number;
    result = pelt_clip_from_motion_at(context, w->written, w->motion ? &w->written->motions[number] : NULL,
                                      before->times, before->frame_count, PELT_SKINNING_LINEAR, &after);
    if (result == PELT_OK)
        result = pelt_compare_clips(context, before, &after, NULL, &w->difference, NULL);
    report_page(w->session, w->written, clips, 1, w->settings->fps)->motions = motions;
    return result;
}

static pelt_result edit_and_write(work *w) {
    pelt_context *context = w->session->context;
    pelt_clip before;
    pelt_result result =
        pelt_clip_from_motion(context, w->rig, w->motion, w->settings->fps, PELT_SKINNING_LINEAR, &before);
    if (result == PELT_OK)
        result = w->edited ? pelt_edit_mesh(context, w->rig, w->edited, w->original, &w->desc, &w->report)
                           : pelt_edit_displace(context, w->rig, w->distances, &w->desc, &w->report);
    if (result == PELT_OK)
        result = pelt_save(context, w->rig, w->settings->output, NULL);
    w->bytes = written_size(w->settings->output, 0);
    return result == PELT_OK ? measure(w, &before) : result;
}

/* ---- Report ----------------------------------------------------------------------------------------------- */

static const char *const poses[] = {"auto", "bind", "rest", "motion"};

static void report_json(const work *w, double seconds) {
    const pelt_edit_report *r = &w->report;
    const pelt_difference *d = &w->difference;
    cli_json *json = &w->session->report;
    json_text(json, "output", w->settings->output);
    json_text(json, "pose", poses[r->pose]);
    if (r->pose == PELT_EDIT_MOTION) {
        json_text(json, "motion", w->motion->name);
        json_real(json, "time", (double)w->desc.time);
    }
    json_count(json, "vertices", r->vertex_count);
    json_count(json, "moved", r->moved_count);
    json_count(json, "turned", r->turned_count);
    json_count(json, "torn", r->torn_count);
    json_count(json, "ill_conditioned", r->ill_conditioned);
    json_real(json, "distance_mean", r->distance_mean);
    json_real(json, "distance_max", r->distance_max);
    json_count(json, "max_vertex", r->max_vertex);
    json_real(json, "missed_max", r->missed_max);
    json_open(json, "change", '{');
    json_count(json, "frames", d->frame_count);
    json_real(json, "error_rms", d->error_rms);
    json_real(json, "error_max", d->error_max);
    json_real(json, "error_max_units", d->error_max_units);
    json_count(json, "max_frame", d->max_frame);
    json_count(json, "max_point", d->max_point);
    json_close(json, '}');
    json_count(json, "bytes", w->bytes);
    json_real(json, "seconds", seconds);
    w->session->report_done = true;
}

static void report_table(const work *w, double seconds) {
    const pelt_edit_report *r = &w->report;
    const pelt_difference *d = &w->difference;
    cli_table table = {0};
    if (r->pose == PELT_EDIT_MOTION)
        table_row(&table, "made in", "motion '%s' at %.4g s", w->motion->name, (double)w->desc.time);
    else
        table_row(&table, "made in", "the %s pose", poses[r->pose]);
    table_row(&table, "moved", "%s of %s welded vertices", grouped(r->moved_count), grouped(r->vertex_count));
    table_row(&table, "", "by %.4g units on average, %.4g at most (vertex %u)", r->distance_mean, r->distance_max,
              r->max_vertex);
    if (w->rig->mesh.normals)
        table_row(&table, "normals", "turned at %s", grouped(r->turned_count));
    table_row(&table, w->motion ? "motion" : "rest pose", "%s frames, E_rms %.4g from what it was",
              grouped(d->frame_count), d->error_rms);
    table_row(&table, "", "at most %.4g units, at frame %u, vertex %u", d->error_max_units, d->max_frame, d->max_point);
    table_row(&table, "size", "%s", bytes_text(w->bytes));
    table_row(&table, "time", "%.3f s", seconds);
    table_print(&table, w->session->common.quiet ? NULL : w->session->out, w->settings->output);
}

static void warn_all(const work *w) {
    const pelt_edit_report *r = &w->report;
    if (r->moved_count == 0)
        warn(w->session, "nothing moved: the edit is the rest pose as it was");
    if (w->edited && !w->original && r->moved_count == r->vertex_count)
        warn(w->session,
             "every vertex moved: if %s is an edit of the mesh that the rig was made from, give that with "
             "--original",
             w->settings->rest);
    if (r->torn_count)
        warn(w->session, "%s vertices would open a seam, and went to the middle of where their sides were wanted",
             grouped(r->torn_count));
    if (r->ill_conditioned)
        warn(w->session,
             "%s vertices are flattened in that pose, and may miss their place in it: by %.3g units at most",
             grouped(r->ill_conditioned), r->missed_max);
}

/* ---- The verb --------------------------------------------------------------------------------------------- */

static exit_code run(cli_session *session, const void *given, const char *const *args, size_t arg_count) {
    work w = {.session = session, .settings = given, .start = px_seconds()};
    exit_code code = output_rig(session, w.settings->output);
    if (code == EXIT_DONE)
        code = check(session, w.settings);
    if (code == EXIT_DONE && arg_count != 1)
        code = usage_error(session, "edit needs one input, a rig; %zu are given", arg_count);
    if (code != EXIT_DONE)
        return code;
    session->hold_warnings = true; /* until the table is printed */
    code = read_all(&w, args[0]);
    pelt_result result = code == EXIT_DONE ? edit_and_write(&w) : PELT_OK;
    if (code == EXIT_DONE && result != PELT_OK)
        code = session_fail(session, result);
    if (code == EXIT_DONE) {
        double seconds = px_seconds() - w.start;
        report_json(&w, seconds);
        report_table(&w, seconds);
        warn_all(&w);
    }
    show_warnings(session);
    session->hold_warnings = false;
    free(w.distances);
    keep_model(session, w.edited);
    keep_model(session, w.original);
    keep_model(session, w.rig);
    keep_model(session, w.written);
    return code;
}

static const example examples[] = {
    {"pelt convert horse.glb rest.obj", "the rest pose, to be edited anywhere …"},
    {"pelt edit horse.glb --rest rest.obj -o horse2.glb", "… and back: the edit gallops along"},
    {"pelt edit horse.glb --rest fat.obj --original horse.obj -o fat.glb", "an edit of the mesh that it was made from"},
    {"pelt edit hero.glb --displace scales.png --amount 0.02 -o hero2.glb", "grey stays, white goes out by 0.01"},
    {"pelt edit hero.glb --rest frame_12.obj --frame 12 -o hero2.glb", "edited as it looks in frame 12 of 'pelt bake'"},
};

const cli_verb verb_edit = {
    .name = "edit",
    .summary = "apply an edited rest pose or a displacement to a rig and all its motions",
    .usage = "pelt edit RIG --rest MESH -o FILE [options]\n"
             "       pelt edit RIG --displace IMAGE|NUMBERS -o FILE [options]",
    .about = "MESH must have the faces of the rig in the same order; vertices may be split and numbered in any way. "
             "Edit a mesh that 'pelt convert' or 'pelt bake' wrote from the rig or, with --original, the mesh that the "
             "rig was decomposed from. Positions change, and normals and tangents where triangles moved. Weights, "
             "motions, materials and morph targets stay; morph targets displace the edited rest pose.\n\nVertices at "
             "the same position move together, so that no seam opens. An edit made in another pose is transformed back "
             "to the rest pose by the inverse of each vertex's skinning matrix; a warning is printed where that "
             "matrix is nearly singular.",
    .groups = groups,
    .group_count = COUNT(groups),
    .settings_size = sizeof(edit_settings),
    .examples = examples,
    .example_count = COUNT(examples),
    .run = run,
};
