/* pelt jiggle: soft-tissue simulation of a rig, written as a cache, helper bones or morph targets. */
#include "jiggle.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELD(name) PELT_FIELD(jiggle_settings, name)
static const pelt_option own_options[] = {
    {"output", 'o', PELT_OPTION_TEXT, FIELD(skin.output), NULL, 0, 0, NULL, "FILE",
     "a cache (.abc, .pc2, .mdd), a vertex animation texture (.exr), a pattern of meshes ('f_%04d.obj', 'f_%04d.ply') "
     "or a rig (.glb, .gltf)"},
    {"as", 0, PELT_OPTION_CHOICE, FIELD(as), "auto", 0, 0, "auto|cache|morphs|bones", NULL,
     "kind of result; auto: a cache for cache formats, bones for rigs"},
    {"centre-joints", 0, PELT_OPTION_FLAG, FIELD(centre_joints), NULL, 0, 0, NULL, NULL,
     "first move joints of a rough skeleton to the middle of their limbs' volume"},
    {"preset", 0, PELT_OPTION_CHOICE, FIELD(preset), "none", 0, 0, "none|lattice2011", NULL,
     "settings of a published method, Chen et al. 2011; other options take precedence"},
    {"mesh", 0, PELT_OPTION_TEXT, FIELD(mesh), NULL, 0, 0, NULL, "FILE",
     "also write the mesh that a cache belongs to, in its rest pose (.obj, .ply)"},
};
static OPTION_TABLE(own_table, own_options)

#define RETARGET(name) (offsetof(jiggle_settings, retarget) + offsetof(retarget_settings, name))
    static const option_group groups[] = {
        {"Options", own_table, 0},
        {"Options", pelt_jiggle_simulate_options, offsetof(jiggle_settings, simulate)},
        {"Options", pelt_jiggle_bake_options, offsetof(jiggle_settings, bake)},
        {"Simulation", pelt_jiggle_options, offsetof(jiggle_settings, jiggle)},
        {"Local settings", jiggle_soft_table, 0},
        {"Forces and colliders", jiggle_force_table, 0},
        {"Motions of other skeletons", retarget_table, offsetof(jiggle_settings, retarget)},
        {"Motions of other skeletons", pelt_retarget_options, RETARGET(retarget)},
        {"Reading", pelt_load_options, RETARGET(load)},
        {"Bones and morphs", target_table, offsetof(jiggle_settings, skin) + offsetof(decompose_settings, written)},
        {"Bones and morphs", sparse_table, offsetof(jiggle_settings, skin) + offsetof(decompose_settings, written)},
        {"Bones and morphs", pelt_decompose_corrected_options,
         offsetof(jiggle_settings, skin) + offsetof(decompose_settings, corrected)},
        {"Bones and morphs", pelt_decompose_options,
         offsetof(jiggle_settings, skin) + offsetof(decompose_settings, decompose)},
};

/* ---- Settings --------------------------------------------------------------------------------------------- */

/* Checks the outputs before any work. */
static exit_code check_output(jiggle_work *w) {
    const jiggle_settings *s = w->settings;
    const char *path = s->skin.output;
    const pelt_format_info *format;
    if (!path)
        return usage_error(w->session, "jiggle needs an output: -o FILE");
    exit_code code = output_format(w->session, path, &format);
    if (code != EXIT_DONE)
        return code;
    bool sequence = format->flags & PELT_FORMAT_SEQUENCE, cache = sequence || (format->flags & PELT_FORMAT_CLIP);
    w->as = s->as != AS_AUTO ? (jiggle_as)s->as : cache ? AS_CACHE : AS_BONES;
    if (w->as != AS_CACHE && (code = output_rig(w->session, path)) != EXIT_DONE)
        return code;
    if (w->as == AS_CACHE && !cache)
        return usage_error(w->session, "%s: %s is no cache; use .abc, .pc2, .mdd or a pattern of .obj or .ply", path,
                           format->name);
    if (sequence && !is_pattern(path))
        return usage_error(w->session, "%s: one %s file holds one frame; use a pattern like 'f_%%04d.%s'", path,
                           format->name, format->extensions);
    const idle_options rules[] = {
        {w->as == AS_CACHE, "bones error add corrections method", "where a cache is written"}};
    if ((code = options_check(w->session, rules, COUNT(rules))) != EXIT_DONE)
        return code;
    if (!s->mesh)
        return EXIT_DONE;
    if (w->as != AS_CACHE)
        return usage_error(w->session, "--mesh goes with a cache: a rig has its own");
    if ((code = output_format(w->session, s->mesh, &format)) != EXIT_DONE)
        return code;
    if (!(format->flags & PELT_FORMAT_MESH) || (format->flags & PELT_FORMAT_RIG) || is_pattern(s->mesh))
        return usage_error(w->session, "--mesh %s: give one .obj or .ply file", s->mesh);
    return EXIT_DONE;
}

/* Helper bones beside those of the rig, unless options ask for new bones. */
static void plan_skin(jiggle_work *w) {
    cli_session *session = w->session;
    w->skin_settings = w->settings->skin;
    decompose_settings *s = &w->skin_settings;
    s->rest = "first";
    bool anew = option_given(session, "bones") || option_given(session, "error") || option_given(session, "method");
    pelt_decompose_desc helpers = pelt_jiggle_bones_default();
    if (w->as == AS_BONES && !anew && !option_given(session, "add"))
        s->decompose.add = helpers.add;
    if (s->decompose.add && !option_given(session, "iterations"))
        s->decompose.iterations = helpers.iterations;
    if (w->as == AS_MORPHS && !option_given(session, "corrections"))
        s->corrected.corrections = pelt_jiggle_morphs_default().rank;
    w->skin = (decompose_work){.session = session, .settings = s, .model = w->rig, .solve = pelt_jiggle_add_bones};
}

/* ---- Motions ---------------------------------------------------------------------------------------------- */

/* Chooses the motions: the given one, the one that --motion names, or all of the rig that the output can hold. */
static exit_code choose(jiggle_work *w) {
    const char *wanted = w->settings->retarget.motion;
    cli_animation animation;
    if (w->retarget.motion)
        return EXIT_DONE;
    exit_code code = choose_animation(w->session, w->rig, wanted, true, &animation);
    if (code != EXIT_DONE)
        return code;
    if (animation.motion) {
        w->simulate.motion = (uint32_t)(animation.motion - w->rig->motions);
        w->simulate.motion_count = wanted || w->as == AS_CACHE; /* 0: all */
        return EXIT_DONE;
    }
    if (w->as != AS_CACHE) {
        say(w->session, MESSAGE_ERROR, "%s: there is no motion in it; give one behind it (.bvh, .amc, a rig)",
            w->rig->path);
        return EXIT_INPUT;
    }
    say(w->session, MESSAGE_NOTE, "%s: has no motion; its rest pose becomes one frame", w->rig->path);
    return EXIT_DONE;
}

static exit_code load(jiggle_work *w, const char *const *args, size_t arg_count) {
    input_list inputs = inputs_group(w->session, args, arg_count);
    exit_code code = EXIT_DONE;
    if (inputs.count < 1 || inputs.count > 2)
        code = usage_error(w->session, "jiggle needs a rig, and a motion if it has none; %zu inputs are given",
                           inputs.count);
    if (code == EXIT_DONE)
        code = retarget_load(w->session, &w->settings->retarget, &inputs.items[0], &w->rig);
    w->retarget = (retarget_work){.session = w->session, .settings = &w->settings->retarget, .rig = w->rig};
    if (code == EXIT_DONE && inputs.count == 2)
        code = retarget_match(&w->retarget, &inputs.items[1]);
    inputs_free(&inputs);
    return code == EXIT_DONE ? choose(w) : code;
}

/* ---- Work ------------------------------------------------------------------------------------------------- */

static exit_code centre(jiggle_work *w) {
    pelt_result result = pelt_centre_joints(w->session->context, w->rig, 0, &w->centred);
    return result == PELT_OK ? EXIT_DONE : session_fail(w->session, result);
}

static exit_code simulate(jiggle_work *w) {
    pelt_jiggle_bake_desc bake = w->settings->bake;
    if (w->values.changing) {
        bake.at = jiggle_values_at;
        bake.user = &w->values;
    }
    bake.keep_lattice = w->session->common.page_path;
    w->simulate.jiggle = &w->desc;
    w->simulate.bake = &bake;
    w->simulate.source = w->retarget.source;
    w->simulate.source_motion = w->retarget.motion;
    w->simulate.matches = w->retarget.matches;
    w->simulate.retarget = &w->retarget.desc;
    double start = px_seconds();
    pelt_result result = pelt_jiggle_simulate(w->session->context, w->rig, &w->simulate, &w->simulated);
    w->seconds_simulate = px_seconds() - start;
    if (result != PELT_OK)
        return session_fail(w->session, result);
    w->retarget.report = w->simulated.retarget;
    retarget_warn(&w->retarget);
    return EXIT_DONE;
}

/* Puts a model beside the simulated clips on the page; motions [clip] of the model. */
static void show_clips(jiggle_work *w, const pelt_model *model, const uint32_t *motions) {
    report_page(w->session, model, w->rig->clips, w->rig->clip_count, w->simulated.bakes[0].fps)->motions = motions;
}

static exit_code write_cache(jiggle_work *w) {
    pelt_save_desc save = pelt_save_desc_default();
    save.fps = w->settings->bake.fps; /* rate of readers; the file stores the frame spacing at that rate */
    pelt_result result = save_frames(w->session, w->rig, w->settings->skin.output, w->settings->mesh, &save);
    if (result != PELT_OK)
        return session_fail(w->session, result);
    show_clips(w, w->rig, w->simulated.motions);
    return EXIT_DONE;
}

/* The skin of the rig stays; morph targets with animated weights hold what it misses. */
static exit_code write_morphs(jiggle_work *w) {
    pelt_context *context = w->session->context;
    decompose_work *skin = &w->skin;
    pelt_model *rig = w->rig;
    pelt_correct_desc desc = pelt_jiggle_morphs_default();
    desc.rank = skin->settings->corrected.corrections;
    for (uint32_t c = 0; c < rig->clip_count; c++)
        skin->frame_count += rig->clips[c].frame_count;
    skin->desc.rig = rig;
    pelt_save_desc save = pelt_save_desc_default();
    rig_save(&skin->settings->written, &save);
    save.skip_clips = true;
    pelt_result result = pelt_jiggle_add_morphs(context, rig, w->simulated.motions, &desc, &skin->report.correct);
    if (result == PELT_OK)
        result = pelt_save(context, rig, skin->settings->output, &save);
    if (result == PELT_OK)
        result = decompose_measure(skin);
    return result == PELT_OK ? EXIT_DONE : session_fail(w->session, result);
}

static exit_code write_all(jiggle_work *w) {
    if (w->as == AS_CACHE)
        return write_cache(w);
    plan_skin(w);
    exit_code code = w->as == AS_BONES ? decompose_clips(&w->skin) : write_morphs(w);
    if (code == EXIT_DONE)
        show_clips(w, w->skin.written, w->skin.motions);
    return code;
}

static exit_code work_all(jiggle_work *w, const char *const *args, size_t arg_count) {
    exit_code code = load(w, args, arg_count);
    if (code == EXIT_DONE)
        code = jiggle_values_read(w->session, w->settings, w->rig, &w->values, &w->desc);
    if (code == EXIT_DONE && w->settings->centre_joints)
        code = centre(w);
    if (code == EXIT_DONE)
        code = simulate(w);
    if (code != EXIT_DONE)
        return code;
    jiggle_report_simulation(w); /* before new bones replace the joints of the report */
    pelt_result result = w->session->common.page_path ? jiggle_show_lattice(w) : PELT_OK;
    if (result != PELT_OK)
        return session_fail(w->session, result);
    code = write_all(w);
    if (code != EXIT_DONE)
        return code;
    w->session->page.lattice = w->lattice;
    jiggle_report_file(w);
    return w->as == AS_BONES ? decompose_verdict(&w->skin) : EXIT_DONE;
}

static exit_code run(cli_session *session, const void *given, const char *const *args, size_t arg_count) {
    const jiggle_settings *settings = given;
    jiggle_work w = {.session = session,
                     .settings = settings,
                     .desc = settings->jiggle,
                     .simulate = settings->simulate,
                     .start = px_seconds()};
    exit_code code = check_output(&w);
    if (code != EXIT_DONE)
        return code;
    session->hold_warnings = true; /* until the table is printed */
    code = work_all(&w, args, arg_count);
    bool shown = (code == EXIT_DONE || code == EXIT_QUALITY) && !session->common.quiet;
    table_print(&w.table, shown ? session->out : NULL, settings->skin.output);
    show_warnings(session);
    session->hold_warnings = false;
    keep_model(session, w.rig); /* destroyed after the models kept below */
    if (w.skin.session)
        decompose_free(&w.skin);
    retarget_free(&w.retarget);
    jiggle_values_free(&w.values);
    return code;
}

static const example examples[] = {
    {"pelt jiggle troll.glb -o soft.glb", "simulate all motions of a rig; write helper bones that play everywhere"},
    {"pelt jiggle troll.glb -o soft.pc2 --mesh soft.obj --fps 60", "the first motion, as a cache"},
    {"pelt jiggle human.glb walk.bvh -o walk.glb --soft Spine=0.8,Hips=0.5",
     "a captured motion; only belly and hips are soft"},
    {"pelt jiggle troll.glb -o soft.glb --loop --gravity 9.81 --corrections 10",
     "a cycle without a seam, and morph targets for what bones miss"},
    {"pelt jiggle troll.glb -o soft.glb --as morphs --soft-map fat.png", "painted softness, as morph targets"},
    {"pelt jiggle troll.glb -o soft.mdd --soft 'ear*@0=0.2' --soft 'ear*@1=1' --collider floor:0,0.5",
     "ears that soften within a second, and a floor with friction"},
};

const cli_verb verb_jiggle = {
    .name = "jiggle",
    .summary = "simulate soft tissue: volume preservation in bends, secondary motion",
    .usage = "pelt jiggle RIG [MOTION…] -o OUT [options]",
    .about =
        "The skeleton moves a lattice of cubic cells around the mesh. A correction preserves the volume of bends; "
        "lattice "
        "shape matching adds secondary motion. Vertices move with their cells; bones are rigid. The simulation does "
        "not "
        "depend on --fps.\n\n"
        "MOTION is a motion of another skeleton (BVH, AMC with its ASF, a rig); it is retargeted as by 'pelt "
        "retarget'. "
        "Without it the motions of the rig are simulated: all of them, or for a cache the first.\n\n"
        "--as bones keeps the rig and adds helper bones (--add) that reproduce the simulation, and with --corrections "
        "morph targets for the remaining error, as 'pelt decompose' does; --bones N or --error E replace the bones of "
        "the "
        "rig. --as morphs keeps the bones and adds morph targets only (--corrections).\n\n"
        "Names of joints may contain * for any letters. Values at several times (belly@0=0.2, belly@1.5=0.9) are "
        "interpolated linearly.",
    .groups = groups,
    .group_count = COUNT(groups),
    .settings_size = sizeof(jiggle_settings),
    .examples = examples,
    .example_count = COUNT(examples),
    .run = run,
};
