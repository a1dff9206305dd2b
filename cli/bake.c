/* pelt bake: evaluates a motion of a rig into a vertex cache, or its skinning into helper bones. */
#include "cli.h"

#include <stddef.h>

#define PAIRS_SHOWN 8u

typedef struct bake_settings {
    pelt_load_desc load;
    pelt_helper_bones_desc helpers; /* with the frame rate of caches */
    pelt_delta_mush_desc mush;
    const char *output;
    const char *mesh;
    const char *motion;
    uint32_t as;       /* bake_as */
    uint32_t skinning; /* bake_skinning */
    uint32_t normals;  /* pelt_frame_normals */
} bake_settings;

typedef enum bake_as { AS_AUTO, AS_CACHE, AS_BONES } bake_as;
typedef enum bake_skinning {
    BAKE_LINEAR = PELT_SKINNING_LINEAR,
    BAKE_DUAL_QUATERNION = PELT_SKINNING_DUAL_QUATERNION,
    BAKE_DELTA_MUSH
} bake_skinning;

static const pelt_option own_options[] = {
    {"output", 'o', PELT_OPTION_TEXT, PELT_FIELD(bake_settings, output), NULL, 0, 0, NULL, "FILE",
     "the cache (.abc, .pc2, .mdd), a vertex animation texture (.exr), a pattern of meshes ('f_%04d.obj', "
     "'f_%04d.ply') or a rig (.glb, .gltf)"},
    {"as", 0, PELT_OPTION_CHOICE, PELT_FIELD(bake_settings, as), "auto", 0, 0, "auto|cache|bones", NULL,
     "kind of result; auto: a cache for cache formats, helper bones for rigs"},
    {"mesh", 0, PELT_OPTION_TEXT, PELT_FIELD(bake_settings, mesh), NULL, 0, 0, NULL, "FILE",
     "also write the mesh that the cache belongs to, in its rest pose (.obj, .ply)"},
    {"motion", 0, PELT_OPTION_TEXT, PELT_FIELD(bake_settings, motion), NULL, 0, 0, NULL, "NAME|INDEX",
     "which motion of a cache; without this the first"},
    {"skinning", 0, PELT_OPTION_CHOICE, PELT_FIELD(bake_settings, skinning), "linear", 0, 0,
     "linear|dual-quaternion|delta-mush", NULL,
     "how the rig deforms its mesh: blended matrices, blended dual quaternions, or blended matrices smoothed by delta "
     "mush"},
    {"normals", 0, PELT_OPTION_CHOICE, PELT_FIELD(bake_settings, normals), "none", 0, 0, "none|matrix|inverse|accurate",
     NULL,
     "write normals into mesh sequences, moved by the blended matrix (as most engines do), by its inverse transpose, "
     "or "
     "accurately: with the gradient of the weights"},
};
static OPTION_TABLE(own_table, own_options)

    static const option_group groups[] = {
        {"Options", own_table, 0},
        {"Options", pelt_helper_bones_options, offsetof(bake_settings, helpers)},
        {"Options", pelt_delta_mush_options, offsetof(bake_settings, mush)},
        {"Options", pelt_load_options, offsetof(bake_settings, load)},
};

/* Options of a rig with helper bones. */
static exit_code check_rig(cli_session *session, const bake_settings *settings) {
    exit_code code = output_rig(session, settings->output);
    if (code != EXIT_DONE)
        return code;
    if (settings->mesh || settings->motion || settings->normals)
        return usage_error(session,
                           "--mesh, --motion and --normals go with a cache: a rig has its mesh and all motions");
    if (settings->skinning == BAKE_LINEAR)
        return usage_error(session,
                           "%s: a rig is skinned linearly already; helper bones are for --skinning "
                           "dual-quaternion or delta-mush",
                           settings->output);
    return EXIT_DONE;
}

/* Checks the outputs before any work. */
static exit_code check_outputs(cli_session *session, const bake_settings *settings, bake_as *as) {
    if (!settings->output)
        return usage_error(session, "bake needs an output: -o FILE");
    const pelt_format_info *format;
    exit_code code = output_format(session, settings->output, &format);
    if (code != EXIT_DONE)
        return code;
    bool sequence = format->flags & PELT_FORMAT_SEQUENCE, rig = !sequence && (format->flags & PELT_FORMAT_RIG);
    *as = settings->as != AS_AUTO ? (bake_as)settings->as : rig ? AS_BONES : AS_CACHE;
    const idle_options rules[] = {
        {*as == AS_CACHE, "add influences transforms", "where a cache is written"},
        {settings->skinning != BAKE_DELTA_MUSH, "iterations strength", "without --skinning delta-mush"},
    };
    if ((code = options_check(session, rules, COUNT(rules))) != EXIT_DONE)
        return code;
    if (*as == AS_BONES)
        return check_rig(session, settings);
    if (sequence && !is_pattern(settings->output))
        return usage_error(session, "%s: one %s file holds one frame; use a pattern like 'f_%%04d.%s'",
                           settings->output, format->name, format->extensions);
    if (settings->skinning == BAKE_DELTA_MUSH && settings->normals)
        return usage_error(session, "--normals: delta mush moves vertices without matrices that could move normals; "
                                    "programs compute normals of the smoothed mesh from its triangles");
    if (!sequence && !(format->flags & PELT_FORMAT_MESH) && settings->normals)
        return usage_error(session, "%s: %s holds no normals; use .abc or a pattern like 'f_%%04d.obj'",
                           settings->output, format->name);
    if (!sequence && !(format->flags & PELT_FORMAT_CLIP))
        return usage_error(session, "%s: %s is no cache; bake writes .abc, .pc2, .mdd or a pattern of .obj or .ply",
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
    double fps = clip_rate(clip, settings->helpers.fps);
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

/* Appends the deformed animation to the model's clips; `index` receives its index. */
static pelt_result add_frames(cli_session *session, const bake_settings *settings, pelt_model *model,
                              const cli_animation *animation, uint32_t *index) {
    if (settings->skinning != BAKE_DELTA_MUSH)
        return animation_add(session, model, animation, settings->helpers.fps, (pelt_skinning)settings->skinning,
                             index);
    pelt_clip clip;
    pelt_result result =
        pelt_clip_delta_mush(session->context, model, animation->motion, settings->helpers.fps, &settings->mush, &clip);
    return result == PELT_OK ? clip_add(session, model, &clip, index) : result;
}

static exit_code bake(cli_session *session, const bake_settings *settings, pelt_model *model) {
    double start = px_seconds();
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
    save.fps = settings->helpers.fps;
    pelt_result result = add_frames(session, settings, model, &animation, &save.clip);
    save.normals = settings->normals;
    if (result == PELT_OK && save.normals && model->skin.bone_count)
        result = pelt_clip_skin_normals(session->context, model, &model->clips[save.clip]);
    if (result == PELT_OK)
        result = save_frames(session, model, settings->output, settings->mesh, &save);
    if (result != PELT_OK)
        return session_fail(session, result);
    report(session, settings, &model->clips[save.clip], px_seconds() - start);
    report_page(session, model, &model->clips[save.clip], 1, settings->helpers.fps);
    return EXIT_DONE;
}

/* ---- Helper bones ----------------------------------------------------------------------------------------- */

/* Reports the pairs of bones that have helpers. */
static void report_pairs(cli_session *session, cli_table *table, const pelt_model *model,
                         const pelt_helper_bones_report *r) {
    cli_json *json = &session->report;
    json_open(json, "pairs", '[');
    for (uint32_t n = 0; n < r->pair_count; n++) {
        const pelt_helper_pair *pair = &r->pairs[n];
        const char *names[2];
        for (int e = 0; e < 2; e++)
            names[e] = shown_name(model->skeleton.names[model->skin.bone_joints[pair->bones[e]]]);
        json_open(json, NULL, '{');
        json_text(json, "from", names[0]);
        json_text(json, "to", names[1]);
        json_real(json, "share", pair->share);
        json_real(json, "degrees", pair->angle * 180 / 3.14159265358979323846);
        json_close(json, '}');
        if (n < PAIRS_SHOWN)
            table_row(table, n == 0 ? "between" : "", "%s, %s: %.1f %% of the difference, up to %.0f degrees", names[0],
                      names[1], 100 * pair->share, pair->angle * 180 / 3.14159265358979323846);
    }
    json_close(json, ']');
    if (r->pair_count > PAIRS_SHOWN)
        table_row(table, "", "and %u more pairs of bones", r->pair_count - PAIRS_SHOWN);
}

static void report_bones(cli_session *session, const bake_settings *settings, const pelt_model *model,
                         const pelt_helper_bones_report *r) {
    uint64_t bytes = written_size(settings->output, 0);
    cli_json *json = &session->report;
    cli_table table = {0};
    json_text(json, "output", settings->output);
    json_count(json, "helpers", r->bone_count);
    json_count(json, "joints", r->joint_count);
    json_count(json, "influences", r->influence_count);
    json_count(json, "motions", model->motion_count);
    json_count(json, "frames", r->frame_count);
    json_real(json, "before_rms", r->before.rms);
    json_real(json, "before_max", r->before.max);
    json_real(json, "after_rms", r->after.rms);
    json_real(json, "after_max", r->after.max);
    table_row(&table, "helper bones", "%u, %u joints", r->bone_count, r->joint_count);
    report_pairs(session, &table, model, r);
    table_row(&table, "influences", "%u at most", r->influence_count);
    table_row(&table, "motions", "%u, %s frames", model->motion_count, grouped(r->frame_count));
    table_row(&table, "before", "%.4f %% of the size RMS, %.3f %% at most, from %s", 100 * r->before.rms,
              100 * r->before.max, settings->skinning == BAKE_DELTA_MUSH ? "delta mush" : "dual quaternions");
    table_row(&table, "after", "%.4f %% RMS, %.3f %% at most", 100 * r->after.rms, 100 * r->after.max);
    json_count(json, "bytes", bytes);
    json_real(json, "seconds", r->seconds);
    table_row(&table, "written", "%s", bytes_text(bytes));
    table_row(&table, "time", "%.3f s", r->seconds);
    session->report_done = true;
    table_print(&table, session->common.quiet ? NULL : session->out, settings->output);
}

static exit_code bake_bones(cli_session *session, const bake_settings *settings, pelt_model *model) {
    pelt_helper_bones_report r;
    pelt_save_desc save = pelt_save_desc_default();
    save.skip_clips = true;
    pelt_helper_bones_desc desc = settings->helpers;
    desc.mush = settings->skinning == BAKE_DELTA_MUSH ? &settings->mush : NULL;
    pelt_result result = pelt_helper_bones_add(session->context, model, &desc, &r);
    if (result == PELT_OK)
        result = pelt_save(session->context, model, settings->output, &save);
    if (result != PELT_OK)
        return session_fail(session, result);
    report_bones(session, settings, model, &r);
    report_page(session, model, NULL, 0, settings->helpers.fps);
    return EXIT_DONE;
}

static exit_code run(cli_session *session, const void *given, const char *const *args, size_t arg_count) {
    const bake_settings *settings = given;
    if (arg_count == 0)
        return usage_error(session, "bake needs a rig");
    bake_as as = AS_CACHE;
    exit_code code = check_outputs(session, settings, &as);
    if (code != EXIT_DONE)
        return code;
    pelt_model *model;
    pelt_result result = pelt_load(session->context, args, arg_count, &settings->load, &model);
    if (result != PELT_OK)
        return session_fail(session, result);
    code = (as == AS_BONES ? bake_bones : bake)(session, settings, model);
    keep_model(session, model);
    return code;
}

static const example examples[] = {
    {"pelt bake wolf.glb -o wolf.pc2", "the first motion at 30 frames per second"},
    {"pelt bake wolf.glb -o run.pc2 --mesh wolf.obj --motion run --fps 60",
     "another motion, and the mesh: 'wolf.obj run.pc2' is then an input"},
    {"pelt bake wolf.glb -o 'wolf_%04d.obj' --normals accurate", "one mesh file for every frame, with normals"},
    {"pelt bake wolf.glb -o smooth.glb --as bones --skinning dual-quaternion --add 8",
     "helper bones at the four joints that twist most: dual quaternions in any engine"},
    {"pelt bake wolf.glb -o mush.glb --as bones --skinning delta-mush --add 8", "delta mush as eight helper bones"},
};

const cli_verb verb_bake = {
    .name = "bake",
    .summary = "evaluate a motion of a rig to a vertex cache or a mesh sequence, other skinning to helper bones",
    .usage = "pelt bake RIG -o OUT [options]",
    .about =
        "Frames are evenly spaced from the motion's first key to its last. If --fps does not divide the duration, "
        "they are slightly closer, and the report has the actual rate. Positions are in world space.\n\n"
        "--as bones keeps the rig and adds helper bones in all motions. With them plain linear blending, as every "
        "engine does it, shows what --skinning dual-quaternion shows (twists and bends that keep their volume; two "
        "helpers between each pair of bones that matters) or what --skinning delta-mush shows (bends smoothed, "
        "details of the rest pose kept; helpers fitted to the motions).\n\n"
        "With mpirun, processes evaluate frames of .pc2 and .mdd files in turn.",
    .groups = groups,
    .group_count = COUNT(groups),
    .settings_size = sizeof(bake_settings),
    .grouped = true,
    .examples = examples,
    .example_count = COUNT(examples),
    .run = run,
};
