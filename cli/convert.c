/* pelt convert: reads an input and writes it in another format. */
#include "cli.h"

#include <stddef.h>
#include <string.h>

typedef struct convert_settings {
    pelt_load_desc load;
    double fps;
    const char *motion;
    const char *output;
    uint32_t ply;
    uint32_t order;
    rig_settings written;
    bool one_object;
    bool compress;
    double compress_error;
} convert_settings;

static const pelt_option own_options[] = {
    {"output", 'o', PELT_OPTION_TEXT, PELT_FIELD(convert_settings, output), NULL, 0, 0, NULL, "FILE",
     "output file, instead of the last argument"},
    {"fps", 0, PELT_OPTION_REAL, PELT_FIELD(convert_settings, fps), "30", 0.001, 100000, NULL, "N",
     "frame rate of inputs that store none, and of motions that are written as frames (BVH: default that of the keys)"},
    {"motion", 0, PELT_OPTION_TEXT, PELT_FIELD(convert_settings, motion), NULL, 0, 0, NULL, "NAME|INDEX",
     "animation to write as frames; default the first"},
    {"ply", 0, PELT_OPTION_CHOICE, PELT_FIELD(convert_settings, ply), "binary", 0, 0, "binary|big-endian|ascii", NULL,
     "encoding of PLY files"},
    {"order", 0, PELT_OPTION_CHOICE, PELT_FIELD(convert_settings, order), "kept", 0, 0, "kept|skin", NULL,
     "glTF: keep the order of vertices, or sort them by bones for faster skinning"},
    {"one-object", 0, PELT_OPTION_FLAG, PELT_FIELD(convert_settings, one_object), NULL, 0, 0, NULL, NULL,
     "OBJ: write one object with the parts as groups and all vertices in order, so that caches fit in Blender"},
    {"compress", 0, PELT_OPTION_FLAG, PELT_FIELD(convert_settings, compress), NULL, 0, 0, NULL, NULL,
     "glTF: round numbers and compress with EXT_meshopt_compression; Blender 3.4 does not read it"},
    {"compress-error", 0, PELT_OPTION_REAL, PELT_FIELD(convert_settings, compress_error), "0.0001", 1e-7, 0.1, NULL,
     "X", "distance by which compression may move a vertex, as a fraction of the size"},
};
static OPTION_TABLE(own_table, own_options)

    static const option_group groups[] = {
        {"Options", own_table, 0},
        {"Options", target_table, offsetof(convert_settings, written)},
        {"Options", pelt_load_options, offsetof(convert_settings, load)},
};

/* Writes the frames of a clip or of a motion as a cache or a sequence. */
static exit_code write_frames(cli_session *session, const convert_settings *settings, pelt_model *model,
                              const char *path, uint32_t *frames) {
    cli_animation animation;
    exit_code code = choose_animation(session, model, settings->motion, false, &animation);
    if (code != EXIT_DONE)
        return code;
    if (animation.clip == PELT_NONE && !animation.motion) {
        say(session, MESSAGE_ERROR, "%s: there is no animation in it that %s could hold", model->path, path);
        return EXIT_INPUT;
    }
    if (animation.motion)
        say(session, MESSAGE_NOTE, "baking motion '%s' at %g frames per second, as 'pelt bake' does",
            shown_name(animation.motion->name), settings->fps);
    pelt_save_desc save = pelt_save_desc_default();
    save.fps = settings->fps;
    save.ply = settings->ply;
    save.one_object = settings->one_object;
    pelt_result result = animation_add(session, model, &animation, settings->fps, PELT_SKINNING_LINEAR, &save.clip);
    if (result == PELT_OK) {
        *frames = model->clips[save.clip].frame_count;
        result = pelt_save(session->context, model, path, &save);
    }
    return result == PELT_OK ? EXIT_DONE : session_fail(session, result);
}

/* Writes the skeleton with one motion (BVH). */
static exit_code write_motion(cli_session *session, const convert_settings *settings, const pelt_model *model,
                              const char *path) {
    cli_animation animation;
    exit_code code = choose_animation(session, model, settings->motion, true, &animation);
    if (code != EXIT_DONE)
        return code;
    if (model->motion_count > 1 && !settings->motion)
        say(session, MESSAGE_NOTE, "%s holds one motion: '%s' of %u; --motion takes another", path,
            shown_name(animation.motion->name), model->motion_count);
    pelt_save_desc save = pelt_save_desc_default();
    save.motion = animation.motion ? (uint32_t)(animation.motion - model->motions) : 0;
    save.motion_fps = option_given(session, "fps") ? settings->fps : 0;
    pelt_result result = pelt_save(session->context, model, path, &save);
    return result == PELT_OK ? EXIT_DONE : session_fail(session, result);
}

static exit_code write_model(cli_session *session, const convert_settings *settings, pelt_model *model,
                             const char *path, const pelt_format_info *format, uint32_t *frames,
                             pelt_compress_report *compressed) {
    bool sequence = (format->flags & PELT_FORMAT_SEQUENCE) && is_pattern(path);
    bool moves = model->clip_count || model->motion_count;
    if (sequence || (format->flags & PELT_FORMAT_CACHE) || (moves && (format->flags & PELT_FORMAT_CLIP)))
        return write_frames(session, settings, model, path, frames);
    if ((format->flags & PELT_FORMAT_RIG) && !(format->flags & PELT_FORMAT_MESH))
        return write_motion(session, settings, model, path);
    pelt_result result;
    if (format->flags & PELT_FORMAT_RIG) {
        pelt_save_desc save = pelt_save_desc_default();
        save.fps = settings->fps;
        save.order = settings->order;
        rig_save(&settings->written, &save);
        save.compress = settings->compress;
        save.compress_error = settings->compress_error;
        save.compressed = compressed;
        result = pelt_save(session->context, model, path, &save);
    } else {
        if (moves)
            say(session, MESSAGE_NOTE, "%s holds the rest pose only; a pattern ('f_%%04d.%s') would hold all frames",
                path, format->extensions);
        result = save_rest_pose(session, model, path, settings->ply, settings->one_object);
    }
    return result == PELT_OK ? EXIT_DONE : session_fail(session, result);
}

static void report(cli_session *session, const pelt_model *model, const char *path, const pelt_format_info *format,
                   uint32_t frames, const pelt_compress_report *compressed, double seconds) {
    uint64_t bytes = written_size(path, frames);
    json_text(&session->report, "output", path);
    json_text(&session->report, "format", format->name);
    json_count(&session->report, "vertices", model->mesh.vertex_count);
    json_count(&session->report, "points", model->mesh.points.count);
    json_count(&session->report, "joints", model->skeleton.joint_count);
    json_count(&session->report, "frames", frames);
    json_count(&session->report, "bytes", bytes);
    if (compressed) {
        json_real(&session->report, "compress_distance", compressed->distance);
        json_real(&session->report, "compress_fraction", compressed->fraction);
    }
    json_real(&session->report, "seconds", seconds);
    session->report_done = true;
    cli_table table = {0};
    table_row(&table, "format", "%s", format->name);
    if (model->mesh.vertex_count)
        table_row(&table, "points", "%s", grouped(model->mesh.points.count));
    if (model->skeleton.joint_count)
        table_row(&table, "joints", "%s", grouped(model->skeleton.joint_count));
    if (frames)
        table_row(&table, "frames", "%s", grouped(frames));
    table_row(&table, "written", "%s", bytes_text(bytes));
    if (compressed)
        table_row(&table, "moved", "%.3g units at most, %.2g of the size", compressed->distance, compressed->fraction);
    table_row(&table, "time", "%.3f s", seconds);
    table_print(&table, session->common.quiet ? NULL : session->out, path);
}

static exit_code run(cli_session *session, const void *given, const char *const *args, size_t arg_count) {
    const convert_settings *settings = given;
    size_t input_count = settings->output ? arg_count : arg_count ? arg_count - 1 : 0;
    if (input_count == 0)
        return usage_error(session, "convert needs an input and an output");
    const char *path = settings->output ? settings->output : args[arg_count - 1];
    const pelt_format_info *format;
    exit_code code = output_format(session, path, &format);
    bool gltf = code == EXIT_DONE && strcmp(format->name, "glTF") == 0;
    const idle_options rules[] = {
        {code == EXIT_DONE && strcmp(format->extensions, "ply") != 0, "ply", "where the output is no .ply"},
        {code == EXIT_DONE && strcmp(format->extensions, "obj") != 0, "one-object", "where the output is no .obj"},
        {!gltf, "order compress compress-error", "where the output is no .glb or .gltf"},
        {settings->compress, "order", "with --compress, which sorts vertices itself"},
        {!settings->compress, "compress-error", "without --compress"},
    };
    if (code == EXIT_DONE)
        code = options_check(session, rules, COUNT(rules));
    if (code == EXIT_DONE)
        code = target_check(session, path);
    if (code == EXIT_DONE)
        code = compress_check(session, &settings->written, settings->compress ? "compress" : NULL);
    if (code != EXIT_DONE)
        return code;
    double start = px_seconds();
    pelt_model *model;
    pelt_result result = pelt_load(session->context, args, input_count, &settings->load, &model);
    if (result != PELT_OK)
        return session_fail(session, result);
    uint32_t frames = 0;
    pelt_compress_report compressed = {0};
    code = write_model(session, settings, model, path, format, &frames, &compressed);
    if (code == EXIT_DONE) {
        report(session, model, path, format, frames, settings->compress ? &compressed : NULL, px_seconds() - start);
        report_page(session, model, model->clips, model->clip_count, settings->fps);
    }
    keep_model(session, model);
    return code;
}

static const example examples[] = {
    {"pelt convert horse.gltf horse.glb", "pack everything into one file; unknown extensions and extras are kept"},
    {"pelt convert 'frames/f_%04d.obj' --fps 24 horse.pc2", "convert a sequence to a cache"},
    {"pelt convert horse.glb --order skin fast.glb", "sort vertices by bones for faster skinning"},
    {"pelt convert horse.glb --compress small.glb", "a file of a third of the size; vertices move by 0.01 % at most"},
    {"pelt convert small.glb --plain plain.glb", "plain arrays again, for programs that read no compressed files"},
    {"pelt convert horse.glb --target unreal horse.fbx", "an FBX file with the axes, unit and frame rate of Unreal"},
    {"pelt convert horse.obj horse.pc2 horse.mdd", "convert a cache to another format"},
    {"pelt convert horse.glb horse.obj", "write the rest pose as a mesh"},
    {"pelt convert horse.glb --one-object horse.obj",
     "the same, with the vertex order of the cache that 'pelt bake' writes"},
    {"pelt convert scan.ply scan.obj", "convert a mesh"},
    {"pelt convert skeleton.asf walk.amc walk.bvh", "convert motion capture: a skeleton and a motion"},
    {"pelt convert horse.glb --motion gallop gallop.bvh", "write the skeleton of a rig with one of its motions"},
};

const cli_verb verb_convert = {
    .name = "convert",
    .summary = "read an input and write it in another format",
    .usage = "pelt convert INPUT… OUTPUT [options]",
    .about =
        "The extension of OUTPUT chooses the format. The input is a file, a mesh with its cache, or a sequence (a "
        "folder, a glob, a pattern or a list). Caches and patterns ('f_%04d.obj', 'f_%04d.ply') take the frames of an "
        "animation; a single mesh file takes the rest pose; BVH takes the skeleton and one motion.\n\n"
        "OUTPUT may be the input file: the new file is written under another name and renamed when it is complete.",
    .groups = groups,
    .group_count = COUNT(groups),
    .settings_size = sizeof(convert_settings),
    .examples = examples,
    .example_count = COUNT(examples),
    .run = run,
};
