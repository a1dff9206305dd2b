/* pelt pose: evaluates a rig with its corrections in one pose and writes the mesh. */
#include "cli.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct pose_settings {
    pelt_load_desc load;
    const char *output;
    const char *joint;
    const char *slider;
    const char *pose;
    const char *motion;
    double time;
    uint32_t skinning; /* pelt_skinning */
    uint32_t ply;      /* pelt_ply_encoding */
} pose_settings;

static const pelt_option own_options[] = {
    {"output", 'o', PELT_OPTION_TEXT, PELT_FIELD(pose_settings, output), NULL, 0, 0, NULL, "MESH",
     "the mesh in that pose (.obj, .ply, .glb, .gltf)"},
    {"joint", 'j', PELT_OPTION_TEXT, PELT_FIELD(pose_settings, joint), NULL, 0, 0, NULL, "NAME=X,Y,Z",
     "turn a joint from its rest pose: degrees about x, then y, then z, the joint's own axes at rest; may be given "
     "again"},
    {"slider", 's', PELT_OPTION_TEXT, PELT_FIELD(pose_settings, slider), NULL, 0, 0, NULL, "NAME=VALUE",
     "set a slider (see 'pelt help decompose') or, where there are none, morph targets of this name; may be given "
     "again"},
    {"pose", 0, PELT_OPTION_TEXT, PELT_FIELD(pose_settings, pose), NULL, 0, 0, NULL, "FILE",
     "the pose to begin with: .json, or a skeleton in its first frame (.bvh, .glb); else the rest pose"},
    {"motion", 0, PELT_OPTION_TEXT, PELT_FIELD(pose_settings, motion), NULL, 0, 0, NULL, "NAME|INDEX",
     "begin with a moment of this motion instead"},
    {"time", 0, PELT_OPTION_REAL, PELT_FIELD(pose_settings, time), "0", -1e9, 1e9, NULL, "SECONDS",
     "which moment of it, from its start; without --motion of the first"},
    {"skinning", 0, PELT_OPTION_CHOICE, PELT_FIELD(pose_settings, skinning), "linear", 0, 0, "linear|dual-quaternion",
     NULL, "how bones are blended"},
    {"ply", 0, PELT_OPTION_CHOICE, PELT_FIELD(pose_settings, ply), "binary", 0, 0, "binary|big-endian|ascii", NULL,
     "how PLY files are written"},
};
static OPTION_TABLE(own_table, own_options)

    static const option_group groups[] = {
        {"Options", own_table, 0},
        {"Reading", pelt_load_options, offsetof(pose_settings, load)},
};

/* One run. */
typedef struct work {
    cli_session *session;
    const pose_settings *settings;
    pelt_model *model;
    pelt_transform *locals; /* [joint] */
    float *weights;         /* [morph] */
    float *sliders;         /* [slider]; NULL: none was set */
    uint32_t turned;        /* number of joints that are not at rest */
    double start;
} work;

/* ---- The posed mesh --------------------------------------------------------------------------------------- */

pelt_result pose_mesh(cli_session *session, pelt_model *model, const pelt_transform *locals, const float *weights,
                      const float *sliders, pelt_skinning skinning, pelt_model **out) {
    size_t floats = (size_t)3 * model->mesh.vertex_count;
    pelt_result result = pelt_model_borrow(session->context, model, out);
    if (result != PELT_OK)
        return result;
    pelt_model *posed = *out;
    pelt_mesh *mesh = &posed->mesh;
    keep_model(session, posed);
    mesh->positions = pelt_model_alloc(session->context, posed, floats, sizeof(float));
    mesh->normals = mesh->normals ? pelt_model_alloc(session->context, posed, floats, sizeof(float)) : NULL;
    mesh->tangents = NULL; /* those of the rest pose are wrong here */
    if (!mesh->positions || (model->mesh.normals && !mesh->normals))
        return PELT_ERROR_MEMORY;
    for (uint32_t p = 0; p < mesh->part_count; p++) {
        mesh->parts[p].joint = PELT_NONE;
        mesh->parts[p].skinned = false;
    }
    posed->skeleton = (pelt_skeleton){0};
    posed->skin = (pelt_skin){0};
    posed->morphs = (pelt_morph_set){0};
    posed->motion_count = posed->clip_count = posed->driver_count = 0;
    posed->changed |= PELT_CHANGED_POSITIONS | PELT_CHANGED_SKIN | PELT_CHANGED_SKELETON | PELT_CHANGED_MOTIONS |
                      PELT_CHANGED_MORPHS | PELT_CHANGED_DRIVERS | PELT_CHANGED_SLIDERS;
    posed->sliders = (pelt_slider_set){0};
    if (sliders)
        return pelt_model_pose_sliders(session->context, model, locals, sliders, skinning, mesh->positions,
                                       mesh->normals);
    return pelt_model_pose_locals(session->context, model, locals, weights, skinning, mesh->positions, mesh->normals);
}

/* ---- The pose --------------------------------------------------------------------------------------------- */

/* Starts from the pose of a file, which must hold exactly one. */
static exit_code begin_with_file(work *w) {
    pelt_pose *poses;
    uint32_t count;
    pelt_result result =
        pelt_load_poses(w->session->context, w->model, w->settings->pose, &w->settings->load, &poses, &count);
    if (result != PELT_OK)
        return session_fail(w->session, result);
    if (count != 1) {
        say(w->session, MESSAGE_ERROR, "%s: has %u poses; give a file of one", w->settings->pose, count);
        return EXIT_INPUT;
    }
    memcpy(w->locals, poses[0].locals, w->model->skeleton.joint_count * sizeof *w->locals);
    return EXIT_DONE;
}

static exit_code begin(work *w) {
    const pose_settings *settings = w->settings;
    bool moving = option_given(w->session, "motion") || option_given(w->session, "time");
    if (moving && settings->pose)
        return usage_error(w->session, "--pose and --motion or --time are two poses to begin with; give one");
    cli_animation animation = {.clip = PELT_NONE};
    exit_code code = moving ? choose_animation(w->session, w->model, settings->motion, true, &animation) : EXIT_DONE;
    if (code != EXIT_DONE)
        return code;
    if (moving && !animation.motion) {
        say(w->session, MESSAGE_ERROR, "%s: there is no motion in it", w->model->path);
        return EXIT_INPUT;
    }
    double time = animation.motion ? (double)animation.motion->start + settings->time : 0;
    pelt_motion_sample(w->model, animation.motion, (float)time, w->locals, w->weights);
    return settings->pose ? begin_with_file(w) : EXIT_DONE;
}

static bool read_degrees(const char *text, double degrees[3]) {
    return read_three(text, degrees) && fabs(degrees[0]) <= 1e6 && fabs(degrees[1]) <= 1e6 && fabs(degrees[2]) <= 1e6;
}

static exit_code turn_joint(work *w, const char *value) {
    const char *equals = strrchr(value, '='); /* the last '=': names may contain one */
    double degrees[3];
    uint32_t joint;
    if (!equals || equals == value || !read_degrees(equals + 1, degrees))
        return usage_error(w->session, "--joint %s: give a name and three numbers of degrees, as in elbow=90,0,0",
                           value);
    char *name = must_format("%.*s", (int)(equals - value), value);
    pelt_result result = pelt_joint_find(w->session->context, w->model, name, &joint);
    free(name);
    if (result != PELT_OK)
        return session_fail(w->session, result);
    pelt_pose_turn(&w->model->skeleton.rest[joint], degrees, &w->locals[joint]);
    return EXIT_DONE;
}

static exit_code set_slider(work *w, const char *value) {
    const pelt_slider_set *set = &w->model->sliders;
    const pelt_morph_set *morphs = &w->model->morphs;
    const char *equals = strrchr(value, '=');
    char *end = NULL, *name = must_format("%.*s", equals ? (int)(equals - value) : 0, value);
    double number = equals ? strtod(equals + 1, &end) : 0;
    uint32_t s = pelt_slider_find(set, name), found = s != PELT_NONE;
    if (!w->sliders && s != PELT_NONE) {
        w->sliders = must_alloc(set->slider_count, sizeof *w->sliders);
        for (uint32_t n = 0; n < set->slider_count; n++)
            w->sliders[n] = set->sliders[n].value;
    }
    if (s != PELT_NONE)
        w->sliders[s] = (float)number;
    for (uint32_t m = 0; set->slider_count == 0 && m < morphs->morph_count; m++)
        if (strcmp(morphs->morphs[m].name, name) == 0) {
            w->weights[m] = (float)number;
            found = 1;
        }
    bool readable = end && end > equals + 1 && *end == 0 && isfinite(number);
    if (readable && !found)
        say(w->session, MESSAGE_ERROR, "%s: has no slider '%s'", w->model->path, name);
    free(name);
    if (!readable)
        return usage_error(w->session, "--slider %s: give a name and a number, as in jawOpen=0.5", value);
    return found ? EXIT_DONE : EXIT_INPUT;
}

static exit_code make_pose(work *w) {
    const pelt_skeleton *skeleton = &w->model->skeleton;
    w->locals = must_alloc(skeleton->joint_count, sizeof *w->locals);
    w->weights = must_alloc(w->model->morphs.morph_count, sizeof *w->weights);
    exit_code code = begin(w);
    arg_list joints = option_values(w->session, "joint");
    for (size_t a = 0; code == EXIT_DONE && a < joints.count; a++)
        code = turn_joint(w, joints.items[a]);
    free(joints.items);
    pelt_pose_weights(w->model, w->locals, w->weights);
    arg_list sliders = option_values(w->session, "slider");
    for (size_t a = 0; code == EXIT_DONE && a < sliders.count; a++)
        code = set_slider(w, sliders.items[a]);
    free(sliders.items);
    for (uint32_t j = 0; j < skeleton->joint_count; j++)
        w->turned += memcmp(&w->locals[j], &skeleton->rest[j], sizeof *w->locals) != 0;
    return code;
}

/* ---- Report ----------------------------------------------------------------------------------------------- */

static void report_json(const work *w, const pelt_model *posed, double seconds) {
    const pelt_skeleton *skeleton = &w->model->skeleton;
    cli_json *json = &w->session->report;
    json_text(json, "output", w->settings->output);
    json_count(json, "vertices", posed->mesh.vertex_count);
    json_open(json, "joints", '{');
    for (uint32_t j = 0; j < skeleton->joint_count; j++)
        if (memcmp(&w->locals[j], &skeleton->rest[j], sizeof *w->locals) != 0) {
            json_open(json, skeleton->names[j], '{');
            json_floats(json, "rotation", w->locals[j].rotation, 4);
            json_close(json, '}');
        }
    json_close(json, '}');
    json_open(json, "weights", '{');
    for (uint32_t m = 0; m < w->model->morphs.morph_count; m++)
        json_real(json, w->model->morphs.morphs[m].name, w->weights[m]);
    json_close(json, '}');
    json_count(json, "bytes", written_size(w->settings->output, 0));
    json_real(json, "seconds", seconds);
    w->session->report_done = true;
}

static void report_table(const work *w, double seconds) {
    uint32_t active = 0;
    for (uint32_t m = 0; m < w->model->morphs.morph_count; m++)
        active += w->weights[m] != 0;
    cli_table table = {0};
    table_row(&table, "joints", "%u of %u turned", w->turned, w->model->skeleton.joint_count);
    if (w->model->morphs.morph_count)
        table_row(&table, "morphs", "%u of %u active", active, w->model->morphs.morph_count);
    table_row(&table, "vertices", "%s", grouped(w->model->mesh.vertex_count));
    table_row(&table, "written", "%s", bytes_text(written_size(w->settings->output, 0)));
    table_row(&table, "time", "%.3f s", seconds);
    table_print(&table, w->session->common.quiet ? NULL : w->session->out, w->settings->output);
}

/* ---- The verb --------------------------------------------------------------------------------------------- */

static exit_code check_output(cli_session *session, const char *path) {
    const pelt_format_info *format;
    if (!path)
        return usage_error(session, "pose needs an output: -o MESH");
    exit_code code = output_format(session, path, &format);
    if (code == EXIT_DONE && (!(format->flags & PELT_FORMAT_MESH) || is_pattern(path)))
        return usage_error(session, "%s: give one mesh (.obj, .ply, .glb, .gltf)", path);
    const idle_options rules[] = {
        {code == EXIT_DONE && strcmp(format->extensions, "ply") != 0, "ply", "where the output is no .ply"}};
    return code == EXIT_DONE ? options_check(session, rules, COUNT(rules)) : code;
}

static exit_code load(work *w, const char *const *args, size_t arg_count) {
    pelt_result result = pelt_load(w->session->context, args, arg_count, &w->settings->load, &w->model);
    if (result != PELT_OK)
        return session_fail(w->session, result);
    if (w->model->skin.bone_count && w->model->mesh.vertex_count)
        return EXIT_DONE;
    say(w->session, MESSAGE_ERROR, "%s: has no mesh with a skin to pose", w->model->path);
    return EXIT_INPUT;
}

static exit_code save(work *w) {
    pelt_save_desc desc = pelt_save_desc_default();
    desc.ply = w->settings->ply;
    pelt_model *posed = NULL;
    pelt_result result = pose_mesh(w->session, w->model, w->locals, w->weights, w->sliders,
                                   (pelt_skinning)w->settings->skinning, &posed);
    if (result == PELT_OK)
        result = pelt_save(w->session->context, posed, w->settings->output, &desc);
    if (result != PELT_OK)
        return session_fail(w->session, result);
    double seconds = px_seconds() - w->start;
    report_json(w, posed, seconds);
    report_table(w, seconds);
    report_page(w->session, posed, NULL, 0, w->settings->load.fps);
    return EXIT_DONE;
}

static exit_code run(cli_session *session, const void *given, const char *const *args, size_t arg_count) {
    work w = {.session = session, .settings = given, .start = px_seconds()};
    if (arg_count == 0)
        return usage_error(session, "pose needs a rig");
    exit_code code = check_output(session, w.settings->output);
    if (code == EXIT_DONE)
        code = load(&w, args, arg_count);
    if (code == EXIT_DONE)
        code = make_pose(&w);
    if (code == EXIT_DONE)
        code = save(&w);
    free(w.locals);
    free(w.weights);
    free(w.sliders);
    keep_model(session, w.model);
    return code;
}

static const example examples[] = {
    {"pelt pose arm.glb --joint elbow=90,0,0 -o bent.obj", "the elbow a right angle about its x axis"},
    {"pelt pose arm.glb -j elbow=90,0,0 -j wrist=0,45,20 -o bent.glb", "two joints"},
    {"pelt pose arm.glb --pose reach.json -o reach.ply", "a pose from a file"},
    {"pelt pose face.glb --slider jaw_open=0.6 -o open.obj", "a slider of a face"},
    {"pelt pose wolf.glb --motion run --time 0.25 -j head=0,30,0 -o look.obj",
     "a moment of a motion, and then the head"},
};

const cli_verb verb_pose = {
    .name = "pose",
    .summary = "evaluate a rig and its corrective shapes in one pose, as a mesh",
    .usage = "pelt pose RIG -o MESH [options]",
    .about = "The pose is the rest pose, a pose file or a time of a motion, with joints rotated by --joint. Angles are "
             "about the joint's own axes at rest: first x, then y, then z, all fixed (rest · Rz · Ry · Rx; 'XYZ' in "
             "Blender and Maya). Morph targets that are driven by a pose (see 'pelt correct --driver pose') get their "
             "weights from it. Positions and normals are in world space.\n\nA pose in JSON is {\"joints\": {\"elbow\": "
             "{\"euler\": [90, 0, 0]}}} with angles as above, or \"rotation\": [x, y, z, w] to replace the joint's "
             "own, as in glTF; likewise \"translation\" and \"scale\".",
    .groups = groups,
    .group_count = COUNT(groups),
    .settings_size = sizeof(pose_settings),
    .examples = examples,
    .example_count = COUNT(examples),
    .run = run,
};
