/* pelt jiggle: a rig and its motion get flesh that keeps its volume and follows through. */
#include "jiggle.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HELPER_BONES 16u /* that a rig gets where nobody says how many */
#define MORPHS       20u /* likewise */
#define ITERATIONS   8u  /* of helper bones, likewise: they then take about as long as the flesh */

#define FIELD(name) PELT_FIELD(jiggle_settings, name)
static const pelt_option own_options[] = {
    {"output", 'o', PELT_OPTION_TEXT, FIELD(skin.output), NULL, 0, 0, NULL, "FILE",
     "a cache (.pc2, .mdd), a pattern of meshes ('f_%04d.obj', 'f_%04d.ply') or a rig (.glb, .gltf)"},
    {"as", 0, PELT_OPTION_CHOICE, FIELD(as), "auto", 0, 0, "auto|cache|morphs|bones", NULL,
     "what the result becomes; auto: a cache, or in a rig bones"},
    {"from", 0, PELT_OPTION_REAL, FIELD(from), "0", 0, 1e9, NULL, "SECONDS",
     "begin this long after the motion does: past the T-pose of a capture"},
    {"to", 0, PELT_OPTION_REAL, FIELD(to), "0", 0, 1e9, NULL, "SECONDS",
     "end this long after the motion's start; 0: at its end"},
    {"mesh", 0, PELT_OPTION_TEXT, FIELD(mesh), NULL, 0, 0, NULL, "FILE",
     "also write the mesh that a cache belongs to, in its rest pose (.obj, .ply)"},
};
static OPTION_TABLE(own_table, own_options)

#define RETARGET(name) (offsetof(jiggle_settings, retarget) + offsetof(retarget_settings, name))
    static const option_group groups[] = {
        {"Options", own_table, 0},
        {"Options", pelt_jiggle_bake_options, offsetof(jiggle_settings, bake)},
        {"Flesh", pelt_jiggle_options, offsetof(jiggle_settings, jiggle)},
        {"What is soft", jiggle_soft_table, 0},
        {"What pushes", jiggle_force_table, 0},
        {"Motions of other skeletons", retarget_table, offsetof(jiggle_settings, retarget)},
        {"Motions of other skeletons", pelt_retarget_options, RETARGET(retarget)},
        {"Reading", pelt_load_options, RETARGET(load)},
        {"Bones and morphs", decompose_skin_table, offsetof(jiggle_settings, skin)},
        {"Bones and morphs", pelt_decompose_options,
         offsetof(jiggle_settings, skin) + offsetof(decompose_settings, decompose)},
};

/* ---- What is asked for ------------------------------------------------------------------------------------ */

/* What is wrong with the outputs is told before any work. */
static exit_code check_output(jiggle_work *w) {
    const jiggle_settings *s = w->settings;
    const char *path = s->skin.output;
    const pelt_format_info *format;
    if (!path)
        return usage_error(w->session, "jiggle needs an output: -o FILE");
    exit_code code = output_format(w->session, path, &format);
    if (code != EXIT_DONE)
        return code;
    bool sequence = format->flags & PELT_FORMAT_SEQUENCE, cache = sequence || (format->flags & PELT_FORMAT_CACHE);
    w->as = s->as != AS_AUTO ? (jiggle_as)s->as : cache ? AS_CACHE : AS_BONES;
    if (w->as != AS_CACHE && (code = output_rig(w->session, path)) != EXIT_DONE)
        return code;
    if (w->as == AS_CACHE && !cache)
        return usage_error(w->session, "%s: %s is no cache; use .pc2, .mdd or a pattern of .obj or .ply", path,
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

/* A rig keeps its bones and gets others beside them, unless as many or as good ones as it takes are asked for. */
static void plan_skin(jiggle_work *w) {
    cli_session *session = w->session;
    w->skin_settings = w->settings->skin;
    decompose_settings *s = &w->skin_settings;
    s->rest = "first";
    bool anew = option_given(session, "bones") || option_given(session, "error") || option_given(session, "method");
    if (w->as == AS_BONES && !anew && !option_given(session, "add"))
        s->decompose.add = HELPER_BONES;
    if (s->decompose.add && !option_given(session, "iterations"))
        s->decompose.iterations = ITERATIONS;
    if (w->as == AS_MORPHS && !option_given(session, "corrections"))
        s->corrections = MORPHS;
    w->skin = (decompose_work){.session = session, .settings = s, .model = w->rig};
}

/* ---- Motions ---------------------------------------------------------------------------------------------- */

/* The motion of another skeleton becomes the first of the rig's: pelt_decompose pairs clips and motions in order. */
static exit_code take_motion(jiggle_work *w, const cli_input *input) {
    pelt_model *rig = w->rig;
    w->retarget = (retarget_work){.session = w->session, .settings = &w->settings->retarget, .rig = rig};
    exit_code code = retarget_motion(&w->retarget, input);
    if (code != EXIT_DONE)
        return code;
    pelt_motion made = rig->motions[rig->motion_count - 1];
    memmove(rig->motions + 1, rig->motions, (rig->motion_count - 1) * sizeof made);
    rig->motions[0] = made;
    return EXIT_DONE;
}

/* Which motions: the one that was brought or asked for; of the rig's own, all that the output can hold. */
static exit_code choose(jiggle_work *w, uint32_t *first, uint32_t *count) {
    const char *wanted = w->retarget.source ? NULL : w->settings->retarget.motion;
    cli_animation animation;
    exit_code code = choose_animation(w->session, w->rig, wanted, true, &animation);
    if (code != EXIT_DONE)
        return code;
    *first = animation.motion ? (uint32_t)(animation.motion - w->rig->motions) : PELT_NONE;
    *count = 1;
    if (animation.motion) {
        if (!w->retarget.source && !wanted && w->as != AS_CACHE)
            *count = w->rig->motion_count;
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
    if (code == EXIT_DONE && inputs.count == 2)
        code = take_motion(w, &inputs.items[1]);
    inputs_free(&inputs);
    return code;
}

/* ---- Work ------------------------------------------------------------------------------------------------- */

/* The part of the motion between --from and --to, and as a loop with the key that it may miss, replaces the rig's: what is
 * written has the same duration in all channels. */
static exit_code shape_motion(jiggle_work *w, pelt_motion *motion, double *added) {
    const jiggle_settings *s = w->settings;
    pelt_context *context = w->session->context;
    pelt_motion part, closed;
    double lasts = (double)motion->end - (double)motion->start;
    if (s->from > lasts || (s->to > 0 && s->to < s->from))
        return usage_error(w->session,
                           "nothing of motion '%s', which lasts %.4g s, is behind --from %g and before --to",
                           motion->name, lasts, s->from);
    pelt_result result = pelt_motion_part(context, w->rig, motion, s->from, s->to > 0 ? s->to : lasts, &part);
    if (result == PELT_OK && s->bake.loop)
        result = pelt_motion_close(context, w->rig, &part, &closed, added);
    if (result != PELT_OK)
        return session_fail(w->session, result);
    part = s->bake.loop ? closed : part;
    if (part.tracks != motion->tracks)
        w->rig->changed |= PELT_CHANGED_MOTIONS;
    *motion = part;
    return EXIT_DONE;
}

static exit_code bake(jiggle_work *w) {
    pelt_context *context = w->session->context;
    uint32_t first, count;
    exit_code code = choose(w, &first, &count);
    if (code != EXIT_DONE)
        return code;
    w->clips = pelt_model_alloc(context, w->rig, count, sizeof *w->clips);
    w->motions = pelt_model_alloc(context, w->rig, count, sizeof *w->motions);
    if (!w->clips || !w->motions)
        return session_fail(w->session, PELT_ERROR_MEMORY);
    w->reports = must_alloc(count, sizeof *w->reports);
    w->added = must_alloc(count, sizeof *w->added);
    pelt_jiggle_bake_desc desc = w->settings->bake;
    if (w->values.changing) {
        desc.at = jiggle_values_at;
        desc.user = &w->values;
    }
    double start = now();
    for (; w->clip_count < count; w->clip_count++) {
        uint32_t c = w->clip_count;
        w->motions[c] = first == PELT_NONE ? PELT_NONE : first + c;
        pelt_motion *motion = first == PELT_NONE ? NULL : &w->rig->motions[first + c];
        if (motion && (code = shape_motion(w, motion, &w->added[c])) != EXIT_DONE)
            return code;
        pelt_result result = pelt_jiggle_bake(context, w->rig, motion, &w->desc, &desc, &w->clips[c], &w->reports[c]);
        if (result != PELT_OK)
            return session_fail(w->session, result);
    }
    w->seconds_bake = now() - start;
    return EXIT_DONE;
}

static exit_code write_cache(jiggle_work *w) {
    pelt_save_desc save = pelt_save_desc_default();
    save.fps = w->settings->bake.fps; /* of readers; the file tells how far apart frames are at that rate */
    pelt_result result = save_frames(w->session, w->rig, w->settings->skin.output, w->settings->mesh, &save);
    if (result != PELT_OK)
        return session_fail(w->session, result);
    report_page(w->session, w->rig, w->clips, w->clip_count, w->reports[0].fps)->motions = w->motions;
    return EXIT_DONE;
}

/* The rig's own skin stays, and targets with animated weights hold what it misses. */
static exit_code write_morphs(jiggle_work *w) {
    pelt_context *context = w->session->context;
    decompose_work *skin = &w->skin;
    pelt_correct_desc desc = pelt_correct_desc_default();
    pelt_correct_pair *pairs = must_alloc(w->clip_count, sizeof *pairs);
    desc.rank = skin->settings->corrections;
    for (uint32_t c = 0; c < w->clip_count; c++) {
        pairs[c] = (pelt_correct_pair){w->motions[c], &w->clips[c]};
        skin->frame_count += w->clips[c].frame_count;
    }
    pelt_result result = pelt_correct(context, w->rig, pairs, w->clip_count, &desc, &skin->corrections);
    free(pairs);
    pelt_model rig = *w->rig; /* without the clips, which glTF could not hold */
    rig.clip_count = 0;
    skin->desc.rig = w->rig;
    pelt_save_desc save = pelt_save_desc_default();
    save.sparse = skin->settings->sparse;
    save.player_influences = target_at(skin->settings->target)->played;
    if (result == PELT_OK)
        result = pelt_save(context, &rig, skin->settings->output, &save);
    if (result == PELT_OK)
        result = decompose_measure(skin);
    return result == PELT_OK ? EXIT_DONE : session_fail(w->session, result);
}

/* Helper bones take what a vertex has no bone for yet: at most half of its bones are left to the rig's own. */
static exit_code write_bones(jiggle_work *w) {
    const pelt_decompose_desc *desc = &w->skin_settings.decompose;
    pelt_weights_scope scope = pelt_weights_scope_default();
    scope.influences = desc->influences > 1 ? desc->influences / 2 : 1;
    pelt_prune_desc keep_all = pelt_prune_desc_default();
    keep_all.threshold = 0;
    pelt_weights_report report = {0};
    pelt_result result = PELT_OK;
    if (desc->add && w->rig->skin.influence_count > scope.influences)
        result = pelt_weights_prune(w->session->context, w->rig, &scope, &keep_all, &report);
    if (result != PELT_OK)
        return session_fail(w->session, result);
    if (report.changed_count)
        say(w->session, MESSAGE_DETAIL, "%s vertices keep their %u largest weights, to make room for helper bones",
            grouped(report.changed_count), scope.influences);
    return decompose_clips(&w->skin);
}

static exit_code write_all(jiggle_work *w) {
    w->rig->clips = w->clips;
    w->rig->clip_count = w->clip_count;
    w->rig->mesh.weld = NULL; /* vertices that were one at rest may part in the clips */
    w->rig->mesh.weld_count = 0;
    if (w->as == AS_CACHE)
        return write_cache(w);
    plan_skin(w);
    exit_code code = w->as == AS_BONES ? write_bones(w) : write_morphs(w);
    if (code != EXIT_DONE)
        return code;
    report_page(w->session, w->skin.written, w->clips, w->clip_count, w->reports[0].fps)->motions = w->skin.motions;
    return EXIT_DONE;
}

static exit_code work_all(jiggle_work *w, const char *const *args, size_t arg_count) {
    exit_code code = load(w, args, arg_count);
    if (code == EXIT_DONE)
        code = jiggle_values_read(w->session, w->settings, w->rig, &w->values, &w->desc);
    if (code == EXIT_DONE)
        code = bake(w);
    if (code != EXIT_DONE)
        return code;
    jiggle_report_flesh(w); /* now: bones made anew replace those that it speaks of */
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
    jiggle_work w = {.session = session, .settings = settings, .desc = settings->jiggle, .start = now()};
    exit_code code = check_output(&w);
    if (code != EXIT_DONE)
        return code;
    session->hold_warnings = true; /* until the table is printed */
    code = work_all(&w, args, arg_count);
    bool shown = (code == EXIT_DONE || code == EXIT_QUALITY) && !session->common.quiet;
    table_print(&w.table, shown ? session->out : NULL, settings->skin.output);
    show_warnings(session);
    session->hold_warnings = false;
    keep_model(session, w.rig); /* the last one kept goes first */
    if (w.skin.session)
        decompose_free(&w.skin);
    retarget_free(&w.retarget);
    jiggle_values_free(&w.values);
    free(w.reports);
    free(w.added);
    return code;
}

static const example examples[] = {
    {"pelt jiggle troll.glb -o soft.glb", "flesh for all motions of a rig, as helper bones that play everywhere"},
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
    .summary = "give a rig flesh: joints keep their volume, soft parts follow through",
    .usage = "pelt jiggle RIG [MOTION…] -o OUT [options]",
    .about =
        "A lattice of cubes around the mesh is moved by the skeleton, so that bends keep their volume, and swings "
        "about "
        "that; vertices move with the cubes they lie in. Bones are rigid. The same motion gives the same flesh at any "
        "--fps.\n\n"
        "MOTION is one of another skeleton (BVH, AMC with its ASF, a rig), put on the rig as 'pelt retarget' does, "
        "with "
        "the same table of matches. Without it the rig's own motions are meant: all of them, or for a cache the "
        "first.\n\n"
        "--as bones keeps the rig and adds helper bones (--add) for what its skin misses of the flesh, and with "
        "--corrections morph targets for the rest, as 'pelt decompose' does; --bones N or --error E give it free bones "
        "in place of its own. --as morphs leaves bones as they are and adds morph targets alone (--corrections).\n\n"
        "Names of joints may hold * for any letters. Values at several times (belly@0=0.2, belly@1.5=0.9) go evenly "
        "from one to the next.",
    .groups = groups,
    .group_count = COUNT(groups),
    .settings_size = sizeof(jiggle_settings),
    .examples = examples,
    .example_count = COUNT(examples),
    .run = run,
};
