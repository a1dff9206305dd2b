/* pelt bake: evaluates a motion of a rig into a vertex cache. */
#include "cli.h"

#include <stddef.h>

typedef struct bake_settings {
    pelt_load_desc load;
    const char *output;
    const char *mesh;
    double fps;
    const char *motion;
    uint32_t skinning; /* pelt_skinning */
    uint32_t normals;  /* pelt_frame_normals */
} bake_settings;

static const pelt_option own_options[] = {
    {"output", 'o', PELT_OPTION_TEXT, PELT_FIELD(bake_settings, output), NULL, 0, 0, NULL, "FILE",
     "the cache (.pc2, .mdd) or a pattern of meshes ('f_%04d.obj', 'f_%04d.ply')"},
    {"mesh", 0, PELT_OPTION_TEXT, PELT_FIELD(bake_settings, mesh), NULL, 0, 0, NULL, "FILE",
     "also write the mesh that the cache belongs to, in its rest pose (.obj, .ply)"},
    {"fps", 0, PELT_OPTION_REAL, PELT_FIELD(bake_settings, fps), "30", 0.001, 100000, NULL, "N", "frames per second"},
    {"motion", 0, PELT_OPTION_TEXT, PELT_FIELD(bake_settings, motion), NULL, 0, 0, NULL, "NAME|INDEX",
     "which motion; without this the first"},
    {"skinning", 0, PELT_OPTION_CHOICE, PELT_FIELD(bake_settings, skinning), "linear", 0, 0, "linear|dual-quaternion",
     NULL, "how bones are blended"},
    {"normals", 0, PELT_OPTION_CHOICE, PELT_FIELD(bake_settings, normals), "none", 0, 0, "none|matrix|inverse|accurate",
     NULL,
     "write normals into mesh sequences, moved by the blended matrix (as most engines do), by its inverse transpose, "
     "or "
     "accurately: with the gradient of the weights"},
};
static OPTION_TABLE(own_table, own_options)

    static const option_group groups[] = {
        {"Options", own_table, 0},
        {"Options", pelt_load_options, offsetof(bake_settings, load)},
};

/* Checks the outputs before any work. */
static exit_code check_outputs(cli_session *session, const bake_settings *settings) {
    if (!settings->output)
        return usage_error(session, "bake needs an output: -o FILE");
    const pelt_format_info *format;
    exit_code code = output_format(session, settings->output, &format);
    if (code != EXIT_DONE)
        return code;
    bool sequence = format->flags & PELT_FORMAT_SEQUENCE;
    if (sequence && !is_pattern(settings->output))
        return usage_error(session, "%s: one %s file holds one frame; use a pattern like 'f_%%04d.%s'",
                           settings->output, format->name, format->extensions);
    if (!sequence && settings->normals)
        return usage_error(session, "%s: %s holds no normals; use a pattern like 'f_%%04d.obj'", settings->output,
                           format->name);
    if (!sequence && !(format->flags & PELT_FORMAT_CACHE))
        return usage_error(session, "%s: %s is no cache; bake writes .pc2, .mdd or a pattern of .obj or .ply",
                           settings->output, format->name);
    if (!settings->mesh)
        return EXIT_DONE;
    if ((code = output_format(session, settings->mesh, &format)) != EXIT_DONE)
        return code;
    if (!(format->flags & PELT_FORMAT_MESH) || (format->flags & PELT_FORMAT_RIG) || is_pattern(settings->mesh))
        return usage_error(session, "--mesh %s: give one .obj or .ply file", settings->mesh);
    return EXIT_DONE;
}

static void report(cli_session *session, const bake_settings *settings, const pelt_clip *clip, double seconds) {
    uint64_t bytes = written_size(settings->output, clip->frame_count);
    cli_json *json = &session->report;
    json_text(json, "output", settings->output);
    if (settings->mesh)
        json_text(json, "mesh", settings->mesh);
    json_text(json, "motion", clip->name);
    double fps = clip_rate(clip, settings->fps);
    json_real(json, "fps", fps);
    json_count(json, "frames", clip->frame_count);
    json_count(json, "points", clip->point_count);
    json_real(json, "duration", clip_duration(clip));
    json_count(json, "bytes", bytes);
    json_real(json, "seconds", seconds);
    session->report_done = true;
    cli_table table = {0};
    table_row(&table, "motion", "%s", shown_name(clip->name));
    table_row(&table, "frames", "%s at %g per second", grouped(clip->frame_count), fps);
    table_row(&table, "points", "%s", grouped(clip->point_count));
    table_row(&table, "written", "%s", bytes_text(bytes));
    if (settings->mesh)
        table_row(&table, "mesh", "%s, %s", settings->mesh, bytes_text(written_size(settings->mesh, 0)));
    table_row(&table, "time", "%.3f s", seconds);
    table_print(&table, session->common.quiet ? NULL : session->out, settings->output);
}

static exit_code bake(cli_session *session, const bake_settings *settings, pelt_model *model) {
    double start = now();
    cli_animation animation;
    exit_code code = choose_animation(session, model, settings->motion, true, &animation);
    if (code != EXIT_DONE)
        return code;
    if (!animation.motion && model->clip_count) {
        say(session, MESSAGE_ERROR, "%s: has frames already, and no motion to bake; use 'pelt convert'", model->path);
        return EXIT_INPUT;
    }
    if (!animation.motion)
        say(session, MESSAGE_NOTE, "%s: has no motion; its rest pose becomes one frame", model->path);
    pelt_save_desc save = pelt_save_desc_default();
    save.fps = settings->fps;
    pelt_result result =
        animation_add(session, model, &animation, settings->fps, (pelt_skinning)settings->skinning, &save.clip);
    save.normals = settings->normals;
    if (result == PELT_OK && save.normals && model->skin.bone_count)
        result = pelt_clip_skin_normals(session->context, model, &model->clips[save.clip]);
    if (result == PELT_OK)
        result = save_frames(session, model, settings->output, settings->mesh, &save);
    if (result != PELT_OK)
        return session_fail(session, result);
    report(session, settings, &model->clips[save.clip], now() - start);
    report_page(session, model, &model->clips[save.clip], 1, settings->fps);
    return EXIT_DONE;
}

static exit_code run(cli_session *session, const void *given, const char *const *args, size_t arg_count) {
    const bake_settings *settings = given;
    if (arg_count == 0)
        return usage_error(session, "bake needs a rig");
    exit_code code = check_outputs(session, settings);
    if (code != EXIT_DONE)
        return code;
    pelt_model *model;
    pelt_result result = pelt_load(session->context, args, arg_count, &settings->load, &model);
    if (result != PELT_OK)
        return session_fail(session, result);
    code = bake(session, settings, model);
    keep_model(session, model);
    return code;
}

static const example examples[] = {
    {"pelt bake wolf.glb -o wolf.pc2", "the first motion at 30 frames per second"},
    {"pelt bake wolf.glb -o run.pc2 --mesh wolf.obj --motion run --fps 60",
     "another motion, and the mesh: 'wolf.obj run.pc2' is then an input"},
    {"pelt bake wolf.glb -o 'wolf_%04d.obj' --normals accurate", "one mesh file for every frame, with normals"},
};

const cli_verb verb_bake = {
    .name = "bake",
    .summary = "evaluate a motion of a rig to a vertex cache or a mesh sequence",
    .usage = "pelt bake RIG -o CACHE [options]",
    .about = "Frames are evenly spaced from the motion's first key to its last. If --fps does not divide the duration, "
             "they are slightly closer, and the report has the actual rate. Positions are in world space.",
    .groups = groups,
    .group_count = COUNT(groups),
    .settings_size = sizeof(bake_settings),
    .examples = examples,
    .example_count = COUNT(examples),
    .run = run,
};
