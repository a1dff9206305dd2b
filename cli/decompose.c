/* pelt decompose: skinning decomposition of a vertex animation into bones, weights and motions in one glTF file.
 *
 * Reported errors are measured on the written file: it is read back, evaluated at the input's own times and compared
 * with the input.
 */
#include "decompose.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const pelt_option own_options[] = {
    {"output", 'o', PELT_OPTION_TEXT, PELT_FIELD(decompose_settings, output), NULL, 0, 0, NULL, "FILE",
     "the rig (.glb, .gltf)"},
    {"preset", 0, PELT_OPTION_CHOICE, PELT_FIELD(decompose_settings, preset), "none", 0, 0, "none|fesam2010|sma2005",
     NULL, "a method as published, Kavan et al. 2010 or James and Twigg 2005; other options take precedence"},
    {"fps", 0, PELT_OPTION_REAL, PELT_FIELD(decompose_settings, fps), "30", 0.001, 100000, NULL, "N",
     "frames per second of inputs that do not say, and at which motions of rigs are evaluated"},
    {"motion", 0, PELT_OPTION_TEXT, PELT_FIELD(decompose_settings, motion), NULL, 0, 0, NULL, "NAME|INDEX",
     "only this animation of several"},
    {"rest", 0, PELT_OPTION_TEXT, PELT_FIELD(decompose_settings, rest), "first", 0, 0, NULL, "first|FRAME|FILE",
     "the rest pose to start from: a frame, or a mesh with the same points"},
    {"skeleton", 0, PELT_OPTION_TEXT, PELT_FIELD(decompose_settings, skeleton), NULL, 0, 0, NULL, "RIG",
     "bones move as in this file: only the weights are solved for"},
    {"weights", 0, PELT_OPTION_TEXT, PELT_FIELD(decompose_settings, rig_weights), NULL, 0, 0, NULL, "RIG",
     "weights are those of this file: only the motion is solved for"},
    {"budget", 0, PELT_OPTION_TEXT, PELT_FIELD(decompose_settings, budget), NULL, 0, 0, NULL, "LIST",
     "smallest error within limits, such as 'bones 64, influences 4, morphs 8, bytes 2M', in a compressed file"},
    {"max-error", 0, PELT_OPTION_TEXT, PELT_FIELD(decompose_settings, max_error), NULL, 0, 0, NULL, "LENGTH",
     "smallest compressed file in which no vertex is farther off: 1mm, 0.5cm (units are metres), 1% of the size, or a "
     "number in units of the file"},
    {"smallest", 0, PELT_OPTION_FLAG, PELT_FIELD(decompose_settings, smallest), NULL, 0, 0, NULL, NULL,
     "with --max-error: fewer bytes, an uneven surface, and normals only where the source has some"},
    {"checkpoint", 0, PELT_OPTION_TEXT, PELT_FIELD(decompose_settings, decompose.checkpoint), NULL, 0, 0, NULL, "FILE",
     "save the state of the solver; a run that was stopped goes on from it, to the same result"},
    {"checkpoint-every", 0, PELT_OPTION_UINT, PELT_FIELD(decompose_settings, decompose.checkpoint_every), "10", 1,
     100000, NULL, "N", "iterations after which it is saved"},
};
static OPTION_TABLE(own_table, own_options)

    static const pelt_option slider_options[] = {
        {"sliders", 0, PELT_OPTION_FLAG, PELT_FIELD(decompose_settings, to_sliders), NULL, 0, 0, NULL, NULL,
         "turn morph targets into bones that follow the same sliders"},
        {"combination", 0, PELT_OPTION_TEXT, PELT_FIELD(decompose_settings, combination), NULL, 0, 0, NULL,
         "NAME=VALUE,…", "sliders that are used together; may be repeated"},
        {"compress", 0, PELT_OPTION_FLAG, PELT_FIELD(decompose_settings, compress), NULL, 0, 0, NULL, NULL,
         "compress the file with EXT_meshopt_compression; Blender 3.4 does not read it"},
};
static OPTION_TABLE(slider_table, slider_options)

    static const option_group groups[] = {
        {"Options", own_table, 0},
        {"Options", target_table, offsetof(decompose_settings, written)},
        {"Options", sparse_table, offsetof(decompose_settings, written)},
        {"Options", pelt_decompose_corrected_options, offsetof(decompose_settings, corrected)},
        {"Decomposition", pelt_decompose_options, offsetof(decompose_settings, decompose)},
        {"Sliders", slider_table, 0},
        {"Sliders", pelt_sliders_options, offsetof(decompose_settings, sliders)},
        {"Reading", pelt_load_options, offsetof(decompose_settings, load)},
};

/* ---- Input ------------------------------------------------------------------------------------------------ */

/* Makes the motions of a rig the clips of the model. They are evaluated on the original rig (`source`), because
 * decomposition replaces the skeleton of the model. */
static exit_code clips_from_motions(decompose_work *w, const cli_animation *only) {
    w->source = w->model;
    uint32_t first = (uint32_t)(only->motion - w->source->motions);
    uint32_t count = w->settings->motion ? 1 : w->source->motion_count;
    pelt_result result = pelt_model_borrow(w->session->context, w->source, &w->model);
    if (result == PELT_OK)
        result = motions_to_clips(w->session, w->source, first, count, w->settings->fps, w->model);
    return result == PELT_OK ? EXIT_DONE : session_fail(w->session, result);
}

static exit_code load_input(decompose_work *w) {
    pelt_result result = pelt_load(w->session->context, w->paths, w->path_count, &w->settings->load, &w->model);
    if (result != PELT_OK)
        return session_fail(w->session, result);
    cli_animation animation;
    exit_code code = choose_animation(w->session, w->model, w->settings->motion, false, &animation);
    if (code != EXIT_DONE)
        return code;
    if (animation.clip == PELT_NONE && !animation.motion) {
        say(w->session, MESSAGE_ERROR, "%s: there is no animation in it to decompose", w->model->path);
        return EXIT_INPUT;
    }
    bool files = animation.clip != PELT_NONE;
    if (animation.motion && (code = clips_from_motions(w, &animation)) != EXIT_DONE)
        return code;
    if (animation.clip != PELT_NONE && w->settings->motion) {
        w->model->clips += animation.clip;
        w->model->clip_count = 1;
    }
    for (size_t p = 0; p < w->path_count; p++) {
        uint64_t size = written_size(w->paths[p], 0);
        w->bytes_in += size;
        files = files && size > 0;
    }
    if (!files)
        w->bytes_in = 0;
    return EXIT_DONE;
}

/* ---- Settings --------------------------------------------------------------------------------------------- */

/* Applies the limits of the target. Transforms on the command line take precedence; influences are always limited. */
static void apply_target(decompose_work *w) {
    const target *t = target_of(&w->settings->written);
    cli_session *session = w->session;
    const pelt_option_table *table = pelt_decompose_options();
    w->desc = w->settings->decompose;
    if (t->transforms && !option_given(session, "transforms")) {
        const char *kind = t->transforms;
        if (pelt_options_set(session->context, table, &w->desc, "transforms", kind) != PELT_OK) {
            kind = "rigid";
            pelt_options_set(session->context, table, &w->desc, "transforms", kind);
        }
        say(session, MESSAGE_DETAIL, "target %s: --transforms %s: %s", t->name, kind, t->transforms_reason);
    } else if (t->transforms && w->desc.transforms == PELT_TRANSFORMS_AFFINE)
        warn(session, "affine bones may look wrong in the target: see --target in the help");
    target_limit(session, &w->settings->written, &w->desc.influences);
}

/* ---- Rig, rest pose, locks -------------------------------------------------------------------------------- */

/* Loads the rig of --skeleton and --weights. If it is the input, the file is edited and only changes are written. */
static exit_code load_rig(decompose_work *w) {
    const decompose_settings *s = w->settings;
    const char *path = s->skeleton ? s->skeleton : s->rig_weights;
    if (s->skeleton && s->rig_weights && strcmp(s->skeleton, s->rig_weights) != 0)
        return usage_error(w->session, "--skeleton and --weights must be of one rig");
    w->desc.given_motion = s->skeleton;
    w->desc.given_weights = s->rig_weights;
    if (path ? strcmp(path, w->paths[0]) == 0 : w->desc.add > 0) {
        w->desc.rig = w->model;
        return EXIT_DONE;
    }
    if (!path)
        return EXIT_DONE;
    pelt_result result = pelt_load(w->session->context, &path, 1, &s->load, &w->rig);
    w->desc.rig = w->rig;
    return result == PELT_OK ? EXIT_DONE : session_fail(w->session, result);
}

/* Reads --rest: a frame number, or the points of a mesh. */
static exit_code load_rest(decompose_work *w) {
    const char *rest = w->settings->rest;
    const pelt_mesh *mesh = &w->model->mesh;
    if (strcmp(rest, "first") == 0)
        return EXIT_DONE;
    if (rest[strspn(rest, "0123456789")] == 0) {
        w->desc.rest_frame = strlen(rest) < 9 ? (uint32_t)strtoul(rest, NULL, 10) : UINT32_MAX;
        return EXIT_DONE;
    }
    pelt_result result = pelt_load(w->session->context, &rest, 1, &w->settings->load, &w->rest);
    if (result != PELT_OK)
        return session_fail(w->session, result);
    const pelt_mesh *other = &w->rest->mesh;
    if (other->points.count != mesh->points.count) {
        say(w->session, MESSAGE_ERROR, "%s: has %s points; the animation has %s", rest, grouped(other->points.count),
            grouped(mesh->points.count));
        return EXIT_INPUT;
    }
    float *points = pelt_model_alloc(w->session->context, w->rest, (size_t)3 * mesh->points.count, sizeof *points);
    if (!points)
        return session_fail(w->session, PELT_ERROR_MEMORY);
    pelt_vertex_classes_gather(&other->points, other->positions, points);
    w->desc.rest_positions = points;
    const pelt_clip own = {.name = rest, .frame_count = 1, .point_count = mesh->points.count, .positions = points};
    result = warn_axes(w->session, w->model->path, &w->model->clips[0], rest, &own);
    return result == PELT_OK ? EXIT_DONE : session_fail(w->session, result);
}

/* The text itself, or the contents of the file that it names. */
static const char *names_or_file(const char *text, char **list) {
    *list = text ? file_text(text) : NULL;
    return *list ? *list : text;
}

static exit_code load_known(decompose_work *w) {
    exit_code code = load_rig(w);
    if (code == EXIT_DONE)
        code = load_rest(w);
    w->desc.lock_bones = names_or_file(w->desc.lock_bones, &w->lists[0]);
    w->desc.lock_vertices = names_or_file(w->desc.lock_vertices, &w->lists[1]);
    return code;
}

/* ---- The verb --------------------------------------------------------------------------------------------- */

static exit_code check_options(const cli_session *session, const decompose_settings *s) {
    const pelt_decompose_desc *d = &s->decompose;
    bool sma = d->method == PELT_DECOMPOSE_SMA, rig = s->skeleton || s->rig_weights || d->add > 0;
    if (sma && d->published && d->weight_solver != PELT_WEIGHT_SOLVER_NNLS)
        return usage_error(session,
                           "files hold no negative weights: with --published, --weight-solver %s is only for "
                           "'pelt study', which writes no skin",
                           d->weight_solver == PELT_WEIGHT_SOLVER_TSVD ? "tsvd" : "bounded");
    bool budget = s->budget || s->max_error;
    const idle_options rules[] = {
        {!s->max_error, "smallest", "without --max-error"},
        {!d->checkpoint, "checkpoint-every", "without --checkpoint"},
        {!s->to_sliders, "combination moves morphs keep normal-weight no-clips fit-motions compress",
         "without --sliders"},
        {s->to_sliders,
         "preset motion rest skeleton weights corrections rounds error transforms tolerance epsilon reduce memory "
         "key-tolerance seed-method smooth fixed-rest free-rest free-bones refine add lock-bones lock-vertices "
         "hierarchy "
         "published method rotation-tolerance weight-solver min-weight color-clusters checkpoint",
         "with --sliders"},
        {!sma, "rotation-tolerance weight-solver min-weight color-clusters", "without --method sma"},
        {d->weight_solver != PELT_WEIGHT_SOLVER_BOUNDED, "min-weight", "without --weight-solver bounded"},
        {sma, "bones error", "with --method sma, which finds the number of bones by --rotation-tolerance"},
        {sma, "effort iterations tolerance seed-method checkpoint", "with --method sma, which iterates nothing"},
        {sma, "smooth free-rest", "with --method sma, whose weights and rest pose are what they are"},
        {rig, "bones seed-method", "with a rig, whose bones are those of the result"},
        {rig, "checkpoint", "with a rig"},
        {!rig, "refine free-rest lock-bones lock-vertices", "without a rig: --skeleton, --weights or --add"},
        {d->fixed_rest, "free-rest", "with --fixed-rest"},
        {sma || rig || d->transforms != PELT_TRANSFORMS_AFFINE, "free-bones",
         "unless affine bones are solved for: not with --method sma, a rig, or other --transforms"},
        {s->corrected.corrections == 0 && !budget, "rounds sparse", "without --corrections"},
        {budget, "bones error influences key-tolerance corrections rounds sparse weights-format",
         "with --budget and --max-error, which choose it; limits go into --budget"},
        {budget, "skeleton weights add method", "with --budget and --max-error, which solve for all bones"},
        {budget, "checkpoint", "with --budget and --max-error, which decompose several times"},
    };
    exit_code code = options_check(session, rules, COUNT(rules));
    const char *packed = s->compress ? "compress" : s->max_error ? "max-error" : s->budget ? "budget" : NULL;
    if (code == EXIT_DONE)
        code = compress_check(session, &s->written, packed);
    return code == EXIT_DONE ? budget_check(session, s) : code;
}

/* "3 morph targets are WHY: Smile, Blink, Frown". */
static void warn_of_morphs(const decompose_work *w, const pelt_morph_set *lost, const char *why) {
    char names[200] = "";
    size_t size = 0;
    uint32_t count = 0, shown = 0;
    for (uint32_t m = 0; m < lost->morph_count; m++) {
        const pelt_morph *morph = &lost->morphs[m];
        bool seen = false; /* parts of the mesh repeat the targets */
        for (uint32_t other = 0; other < m && !seen; other++)
            seen = lost->morphs[other].index == morph->index && strcmp(lost->morphs[other].name, morph->name) == 0;
        if (seen)
            continue;
        count++;
        if (!morph->name[0])
            continue;
        int length = snprintf(names + size, sizeof names - size, "%s%s", size ? ", " : "", morph->name);
        if (length > 0 && (size_t)length < sizeof names - size) {
            size += (size_t)length;
            shown++;
        } else
            names[size] = 0;
    }
    warn(w->session, "%u morph target%s %s%s%s%s", count, count == 1 ? " is" : "s are", why, shown ? ": " : "", names,
         shown && shown < count ? ", …" : "");
}

static pelt_result decompose_and_write(decompose_work *w) {
    pelt_context *context = w->session->context;
    pelt_result result = pelt_model_weld(context, w->model);
    w->shape = w->model->mesh;
    pelt_morph_set morphs = w->model->morphs;
    bool budget = w->settings->budget || w->settings->max_error;
    if (result == PELT_OK && budget)
        result = decompose_in_budget(w);
    else if (result == PELT_OK)
        result = (w->solve ? w->solve : pelt_decompose_corrected)(context, w->model, &w->desc, &w->settings->corrected,
                                                                  &w->report);
    if (result != PELT_OK)
        return result;
    if (morphs.morph_count > 0 && !w->report.decompose.keeps_morphs)
        warn_of_morphs(w, &morphs,
                       "not in the result, only what they did in the motions; helper bones (--add) keep them");
    if (w->desc.rig && w->desc.rig != w->model && w->desc.rig->morphs.morph_count > 0)
        warn_of_morphs(w, &w->desc.rig->morphs,
                       "not in the result: the mesh is that of the animation; give the rig as the input to keep them");
    if (budget)
        return decompose_measure(w);
    double start = px_seconds();
    pelt_save_desc save = pelt_save_desc_default();
    save.weights = w->settings->corrected.weights;
    rig_save(&w->settings->written, &save);
    save.skip_clips = true;
    result = pelt_save(context, w->model, w->settings->output, &save);
    w->seconds_write = px_seconds() - start;
    w->bytes_out = written_size(w->settings->output, 0);
    if (result == PELT_OK)
        result = decompose_measure(w);
    if (result == PELT_OK && w->desc.checkpoint && pelt_group_rank(context) == 0)
        pelt_decompose_checkpoint_remove(w->desc.checkpoint);
    return result;
}

exit_code decompose_clips(decompose_work *w) {
    for (uint32_t c = 0; c < w->model->clip_count; c++)
        w->frame_count += w->model->clips[c].frame_count;
    if (w->bytes_in == 0) /* folders, patterns, motions: size of all frames as floats */
        w->bytes_in = (uint64_t)w->frame_count * w->model->mesh.points.count * 12;
    apply_target(w);
    exit_code code = load_known(w);
    if (code != EXIT_DONE)
        return code;
    pelt_result result = decompose_and_write(w);
    return result == PELT_OK ? EXIT_DONE : session_fail(w->session, result);
}

#define WRONG_NORMALS 25.0 /* degrees RMS: obvious to the eye. The papers' animations have 6 to 21 */

static void warn_shading(const decompose_work *w) {
    double degrees = w->whole.skinned_normal_degrees; /* NaN: not measured */
    if (degrees > WRONG_NORMALS)
        warn(w->session,
             "engines that skin normals with the blended matrix (three.js, Babylon.js, Godot) shade this wrongly: "
             "normals are %.0f degrees off; use more bones%s%s, or 'pelt correct --normals' on the result",
             degrees, w->desc.transforms == PELT_TRANSFORMS_RIGID ? "" : " or --transforms rigid",
             w->desc.free_bones  ? ", or leave out --free-bones"
             : w->desc.error > 0 ? ", or --bones instead of --error, which holds bones near rotations"
                                 : "");
}

static void warn_size(const decompose_work *w) {
    if (w->whole.ball_frame > 0)
        warn(w->session,
             "the first frame has less than a tenth of the usual size: errors are fractions of the size of frame %u%s",
             w->whole.ball_frame,
             strcmp(w->settings->rest, "first") == 0 && !w->desc.rig ? ", from which the rest pose starts" : "");
}

/* Tolerates 0.1 % for rounding to floats and integers in the file. */
exit_code decompose_verdict(const decompose_work *w) {
    if ((w->settings->budget || w->settings->max_error) && !w->budget.met) {
        warn(w->session, "no file that was tried keeps the limits; this one comes closest");
        return EXIT_QUALITY;
    }
    double asked = w->desc.error;
    if (asked == 0 || w->whole.error_rms <= 1.001 * asked)
        return EXIT_DONE;
    warn(w->session, "E_rms is %.4g; %.4g was asked for", w->whole.error_rms, asked);
    return EXIT_QUALITY;
}

void decompose_free(decompose_work *w) {
    free(w->played);
    free(w->clip_error);
    free(w->frame_rms);
    free(w->lists[0]);
    free(w->lists[1]);
    keep_model(w->session, w->written);
    pelt_model_destroy(w->rest);
    pelt_model_destroy(w->rig);
}

static exit_code decompose(decompose_work *w) {
    double start = px_seconds();
    exit_code code = load_input(w);
    w->seconds_load = px_seconds() - start;
    if (code == EXIT_DONE)
        code = decompose_clips(w);
    w->seconds_total = px_seconds() - start;
    if (code != EXIT_DONE)
        return code;
    decompose_report(w);
    warn_size(w);
    warn_shading(w);
    return decompose_verdict(w);
}

static exit_code run(cli_session *session, const void *given, const char *const *args, size_t arg_count) {
    decompose_work w = {.session = session, .settings = given, .paths = args, .path_count = arg_count};
    if (arg_count == 0)
        return usage_error(session, "decompose needs an animation");
    exit_code code = output_rig(session, w.settings->output);
    if (code == EXIT_DONE)
        code = check_options(session, w.settings);
    if (code != EXIT_DONE)
        return code;
    session->hold_warnings = true; /* until the table is printed */
    code = w.settings->to_sliders ? decompose_sliders(session, w.settings, args, arg_count) : decompose(&w);
    show_warnings(session);
    session->hold_warnings = false;
    keep_model(session, w.source); /* destroyed last: the model's clips read from it */
    keep_model(session, w.model);
    decompose_free(&w);
    return code;
}

static const example examples[] = {
    {"pelt decompose horse.obj horse.pc2 -o horse.glb --bones 30", "a mesh and its cache become a skin of 30 bones"},
    {"pelt decompose horse.obj walk.pc2 run.pc2 -o horse.glb", "two clips, one skin: a motion for each"},
    {"pelt decompose 'cloth_%04d.obj' -o cloth.glb --error 2", "as few bones as reach an E_rms of 2"},
    {"pelt decompose face.glb -o face.glb --target unreal --json report.json",
     "morphs become bones that Unreal can play; materials stay"},
    {"pelt decompose horse.obj horse.pc2 -o horse.glb --bones 20 --corrections 10",
     "and 10 morph targets for the rest"},
    {"pelt decompose horse.obj horse.pc2 -o horse.glb --max-error 1%",
     "the smallest file in which no vertex is off by more than 1 % of the size"},
    {"pelt decompose horse.obj horse.pc2 -o horse.glb --budget 'bones 40, morphs 2, bytes 200K'",
     "the smallest error within limits"},
    {"pelt decompose rig.glb muscles.pc2 -o helped.glb --add 4", "4 helper bones where the rig misses the simulation"},
    {"pelt decompose body.obj body.pc2 -o body.glb --skeleton rig.glb", "weights for bones that move already"},
    {"pelt decompose face.glb -o bones.glb --sliders --bones 40", "morph targets become bones with the same sliders"},
};

const cli_verb verb_decompose = {
    .name = "decompose",
    .summary = "turn a vertex animation into bones and weights that play everywhere",
    .usage = "pelt decompose INPUT… -o RIG [options]",
    .about =
        "INPUT is a mesh with caches (each becomes a motion), a sequence of meshes, a cache alone, or a rig, whose "
        "motions "
        "are evaluated first. All clips share one rest pose and one set of weights. Materials, UVs and names of a glTF "
        "input are kept; its skin, morphs and motions are replaced.\n\n"
        "Errors are measured on the written file: it is read back and compared with the input at the input's own "
        "times. "
        "With --error, the exit code is 4 when that error was missed.\n\n"
        "Rest normals and tangents are fitted to the rule by which three.js, Babylon.js and Godot skin them: the "
        "blended "
        "matrix itself. The report gives their error by that rule and by the inverse transpose.\n\n"
        "With --corrections, bones and morph targets are fitted jointly; the bones alone then have a larger error. "
        "--rounds 0 fits the bones alone first. The file is written once, when all is done.\n\n"
        "A rig can give the motion (--skeleton), the weights (--weights), or both as initial values. --refine then "
        "changes "
        "all of them; --lock-bones and --lock-vertices keep parts (names, or a file with a name per line). --add keeps "
        "the whole rig, which may be the input itself, with its morph targets, and adds helper bones below its own.\n\n"
        "--sliders is for faces: a mesh with named morph targets becomes bones whose matrices are linear in the same "
        "sliders. The file has an animation per slider, the table of matrices in its extras, and its own animations "
        "played by the bones; 'docs/sliders.md' says how to evaluate them. --morphs and --keep leave some sliders "
        "morph "
        "targets.\n\n"
        "--method sma takes no number of bones: it makes one for each cluster of triangles whose rotations agree to "
        "within --rotation-tolerance. The report gives the fraction of triangles in clusters.\n\n"
        "--budget and --max-error choose the number of bones, their kind (affine or rigid), morph targets, key frames "
        "and the precision of all numbers together, by writing and measuring files; see --compress of 'pelt convert'. "
        "The exit code is 4 when no file keeps the limits.\n\n"
        "--checkpoint is for long runs: the same command goes on from the file that a stopped one left, also as "
        "another "
        "number of processes (mpirun), and removes it at the end. A file of other inputs or settings is refused. What "
        "the "
        "reduction found is beside it, in FILE.reduced.\n\n"
        "--target: unreal gets bones without shear; three, playcanvas, web, godot3 and unity at most 4 bones per "
        "vertex, "
        "the others 8. Without it, more than 4 bones per vertex are a warning. Facts about godot, unity and unreal are "
        "from their documentation, not measured.",
    .groups = groups,
    .group_count = COUNT(groups),
    .settings_size = sizeof(decompose_settings),
    .grouped = true,
    .examples = examples,
    .example_count = COUNT(examples),
    .run = run,
};
