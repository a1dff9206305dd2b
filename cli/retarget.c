/* pelt retarget: transfers a motion from one skeleton to another. */
#include "retarget.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct verb_settings {
    retarget_settings how;
    const char *output;
    const char *name;
    rig_settings written;
} verb_settings;

static const pelt_option own_options[] = {
    {"output", 'o', PELT_OPTION_TEXT, PELT_FIELD(verb_settings, output), NULL, 0, 0, NULL, "FILE",
     "the rig with the new motion (.glb, .gltf; .bvh: skeleton and new motion)"},
    {"name", 0, PELT_OPTION_TEXT, PELT_FIELD(verb_settings, name), NULL, 0, 0, NULL, "NAME",
     "what to call it in the rig; without this its own name"},
};
static OPTION_TABLE(own_table, own_options)

    static const pelt_option shared_options[] = {
        {"map", 0, PELT_OPTION_TEXT, PELT_FIELD(retarget_settings, map), NULL, 0, 0, NULL, "FILE",
         "pairs of joints: lines 'rig joint = motion joint', nothing behind = for none, # comments"},
        {"motion", 0, PELT_OPTION_TEXT, PELT_FIELD(retarget_settings, motion), NULL, 0, 0, NULL, "NAME|INDEX",
         "which motion of several; without this the first"},
};

OPTION_TABLE(retarget_table, shared_options)

#define HOW offsetof(verb_settings, how)
static const option_group groups[] = {
    {"Options", own_table, 0},
    {"Options", retarget_table, HOW},
    {"Options", target_table, offsetof(verb_settings, written)},
    {"Retargeting", pelt_retarget_options, HOW + offsetof(retarget_settings, retarget)},
    {"Reading", pelt_load_options, HOW + offsetof(retarget_settings, load)},
};

/* ---- Reading ---------------------------------------------------------------------------------------------- */

exit_code retarget_load(cli_session *session, const retarget_settings *settings, const cli_input *input,
                        pelt_model **model) {
    pelt_result result = pelt_load(session->context, input->paths, input->path_count, &settings->load, model);
    if (result != PELT_OK)
        return session_fail(session, result);
    if ((*model)->skeleton.joint_count)
        return EXIT_DONE;
    say(session, MESSAGE_ERROR, "%s: there is no skeleton in it", (*model)->path);
    return EXIT_INPUT;
}

/* ---- Report ----------------------------------------------------------------------------------------------- */

static const char *partner_name(const retarget_work *w, uint32_t joint) {
    uint32_t partner = w->matches[joint].joint;
    return partner == PELT_NONE ? NULL : w->source->skeleton.names[partner];
}

/* Prints the table of matches: joint of the rig, joint of the motion, and how the match was found. */
static void print_matches(const retarget_work *w) {
    const pelt_skeleton *skeleton = &w->rig->skeleton;
    cli_table table = {0};
    for (uint32_t j = 0; j < skeleton->joint_count; j++) {
        const char *partner = partner_name(w, j), *how = pelt_match_name(w->matches[j].kind);
        if (partner)
            table_row(&table, shown_name(skeleton->names[j]), "%s (%s)", shown_name(partner), how);
        else
            table_row(&table, shown_name(skeleton->names[j]), "no partner%s", *how ? " (map)" : "");
    }
    table_print(&table, w->session->common.quiet ? NULL : w->session->out, "Joints of the rig and of the motion");
}

void retarget_json(cli_json *json, const retarget_work *w) {
    const pelt_skeleton *skeleton = &w->rig->skeleton;
    json_open(json, "joints", '[');
    for (uint32_t j = 0; j < skeleton->joint_count; j++) {
        json_open(json, NULL, '{');
        json_text(json, "rig", skeleton->names[j]);
        if (partner_name(w, j))
            json_text(json, "motion", partner_name(w, j));
        json_text(json, "match", pelt_match_name(w->matches[j].kind));
        json_close(json, '}');
    }
    json_close(json, ']');
    json_count(json, "matched", w->report.matched);
    json_count(json, "frames", w->report.frame_count);
    json_real(json, "fps", w->report.fps);
    json_real(json, "scale", w->report.scale);
    json_real(json, "lift", w->report.lift);
    json_flag(json, "torn", w->report.torn);
    json_real(json, "stretch", w->report.stretch);
    if (w->report.stretch > 0) {
        json_count(json, "stretch_frame", w->report.stretch_frame);
        json_open(json, "stretch_joints", '[');
        for (int n = 0; n < 2; n++)
            json_text(json, NULL, skeleton->names[w->report.stretch_joints[n]]);
        json_close(json, ']');
    }
}

void retarget_rows(cli_table *table, const retarget_work *w) {
    table_row(table, "matched", "%u of %u joints", w->report.matched, w->rig->skeleton.joint_count);
    table_row(table, "frames", "%s at %.6g per second", grouped(w->report.frame_count), w->report.fps);
    table_row(table, "scale", "%.6g", w->report.scale);
    table_row(table, "lifted by", "%.6g", w->report.lift);
    table_row(table, "stretch", "%.1f %% of the rig's size", 100 * w->report.stretch);
}

static void report(const retarget_work *w, const char *output, double start) {
    const pelt_motion *made = &w->rig->motions[w->rig->motion_count - 1];
    uint64_t bytes = written_size(output, 0);
    double seconds = px_seconds() - start;
    cli_json *json = &w->session->report;
    json_text(json, "output", output);
    json_text(json, "motion", made->name);
    retarget_json(json, w);
    json_count(json, "bytes", bytes);
    json_real(json, "seconds", seconds);
    w->session->report_done = true;
    cli_table table = {0};
    table_row(&table, "motion", "%s", shown_name(made->name));
    retarget_rows(&table, w);
    table_row(&table, "written", "%s", bytes_text(bytes));
    table_row(&table, "time", "%.3f s", seconds);
    table_print(&table, w->session->common.quiet ? NULL : w->session->out, output);
}

/* ---- Work ------------------------------------------------------------------------------------------------- */

/* Chooses the motion of the source. */
static exit_code choose(retarget_work *w) {
    cli_animation animation;
    exit_code code = choose_animation(w->session, w->source, w->settings->motion, true, &animation);
    if (code != EXIT_DONE)
        return code;
    w->motion = animation.motion;
    if (w->motion)
        return EXIT_DONE;
    say(w->session, MESSAGE_ERROR, "%s: there is no motion in it", w->source->path);
    return EXIT_INPUT;
}

static exit_code match(retarget_work *w) {
    const pelt_skeleton *skeleton = &w->rig->skeleton;
    w->desc = w->settings->retarget;
    w->desc.map = w->map;
    w->desc.name = w->name;
    w->matches = must_alloc(skeleton->joint_count, sizeof *w->matches);
    pelt_result result = pelt_match_joints(w->session->context, skeleton, &w->source->skeleton, &w->desc, w->matches);
    if (result != PELT_OK)
        return session_fail(w->session, result);
    print_matches(w);
    for (uint32_t j = 0; j < skeleton->joint_count; j++)
        if (w->matches[j].joint != PELT_NONE)
            return EXIT_DONE;
    say(w->session, MESSAGE_ERROR, "%s: no joint has the name of a joint of %s; name pairs of joints with --map FILE",
        w->rig->path, w->source->path);
    return EXIT_INPUT;
}

exit_code retarget_match(retarget_work *w, const cli_input *input) {
    exit_code code = w->settings->map ? read_text(w->session, w->settings->map, "a mapping", &w->map) : EXIT_DONE;
    if (code == EXIT_DONE)
        code = retarget_load(w->session, w->settings, input, &w->source);
    if (code == EXIT_DONE)
        code = choose(w);
    return code == EXIT_DONE ? match(w) : code;
}

void retarget_warn(const retarget_work *w) {
    if (w->report.torn)
        warn(w->session, "joints can be given other partners, or none, with --map FILE");
}

void retarget_free(retarget_work *w) {
    pelt_model_destroy(w->source);
    free(w->matches);
    free(w->map);
}

/* ---- The verb --------------------------------------------------------------------------------------------- */

static exit_code work_all(retarget_work *w, const verb_settings *settings, const char *const *args, size_t arg_count) {
    const char *output = settings->output;
    double start = px_seconds();
    input_list inputs = inputs_group(w->session, args, arg_count);
    exit_code code = EXIT_DONE;
    if (inputs.count != 2)
        code = usage_error(w->session, "retarget needs two inputs, a rig and a motion; %zu are given", inputs.count);
    if (code == EXIT_DONE)
        code = retarget_load(w->session, w->settings, &inputs.items[0], &w->rig);
    if (code == EXIT_DONE)
        code = retarget_match(w, &inputs.items[1]);
    inputs_free(&inputs);
    if (code != EXIT_DONE)
        return code;
    pelt_result result =
        pelt_retarget(w->session->context, w->source, w->motion, w->matches, &w->desc, w->rig, &w->report);
    if (result != PELT_OK)
        return session_fail(w->session, result);
    retarget_warn(w);
    pelt_save_desc save = pelt_save_desc_default();
    save.motion = w->rig->motion_count - 1;
    rig_save(&settings->written, &save);
    result = pelt_save(w->session->context, w->rig, output, &save);
    if (result != PELT_OK)
        return session_fail(w->session, result);
    report(w, output, start);
    report_page(w->session, w->rig, NULL, 0, w->report.fps);
    return EXIT_DONE;
}

static exit_code run(cli_session *session, const void *given, const char *const *args, size_t arg_count) {
    const verb_settings *settings = given;
    if (!settings->output)
        return usage_error(session, "retarget needs an output: -o FILE");
    const pelt_format_info *format;
    exit_code code = output_format(session, settings->output, &format);
    if (code != EXIT_DONE)
        return code;
    if (!(format->flags & PELT_FORMAT_RIG))
        return usage_error(session, "%s: %s holds no motions; use .glb, .gltf or .bvh", settings->output, format->name);
    if ((code = target_check(session, settings->output)) != EXIT_DONE)
        return code;
    retarget_work w = {.session = session, .settings = &settings->how, .name = settings->name};
    code = work_all(&w, settings, args, arg_count);
    keep_model(session, w.rig);
    retarget_free(&w);
    return code;
}

static const example examples[] = {
    {"pelt retarget human.glb walk.bvh -o walking.glb", "joints are matched by their names"},
    {"pelt retarget human.glb 07.asf 07_05.amc -o walking.glb --name walk", "a motion of the CMU database"},
    {"pelt retarget human.glb dance.glb --motion 2 -o dancing.glb --replace", "from rig to rig"},
    {"pelt retarget robot.glb walk.bvh --map robot.txt -o robot2.glb", "where names say nothing, a file does"},
};

const cli_verb verb_retarget = {
    .name = "retarget",
    .summary = "transfer a motion from one skeleton to another",
    .usage = "pelt retarget RIG MOTION… -o FILE [options]",
    .about =
        "RIG is a model with a skeleton. MOTION is a BVH file, an AMC file (with its ASF file before it or in the same "
        "folder) or another rig. Joints are matched by a mapping file, by the meaning of their names (thigh_l, "
        "LeftUpLeg and lfemur are the same joint) and by equal names; the table of matches is printed. Joints without "
        "a match keep their rest pose, except targets of inverse kinematics that carry weights: these follow their "
        "limb. A warning is printed when the mesh is torn.\n\nMatched joints rotate from rest as those of the motion "
        "do. Limbs are first aligned with those of the motion, so that a motion in T-pose can drive a rig in A-pose. "
        "The translation of the hips is scaled to the rig. The new motion is added to those of the rig.",
    .groups = groups,
    .group_count = COUNT(groups),
    .settings_size = sizeof(verb_settings),
    .examples = examples,
    .example_count = COUNT(examples),
    .run = run,
};
