/* pelt correct --driver pose: adds morph targets for the errors of a rig in example poses, with weights computed from
 * the pose.
 *
 * * Errors are measured on the written file: it is read back, its drivers are evaluated for every example, and its
 * vertices are compared with the example.
 */
#include "correct.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --exact: relative errors below this are rounding. */
#define EXACT 1e-3

/* Error of a rig over a set of examples. */
typedef struct misfit {
    double missed;   /* Σ |skinned − target|² before correction, in world space */
    double relative; /* √(the same sum for the written file / missed) */
    pelt_difference before, after;
} misfit;

/* One run. */
typedef struct work {
    cli_session *session;
    const correct_settings *settings;
    pelt_eigenskin_desc desc;
    correct_input in;
    pose_set seen, unseen;
    pelt_eigenskin_report report;
    pelt_model *written; /* the output, read back */
    misfit fit, check;
    uint64_t bytes_out;
    double start;
} work;

/* ---- Reading ---------------------------------------------------------------------------------------------- */

/* Reads a rig and an animation; `more` is one more path of the animation, or NULL. */
static exit_code read_frames(work *w, const char *const *args, size_t arg_count, const char *more) {
    const char **all = must_alloc(arg_count + 1, sizeof *all);
    for (size_t a = 0; a < arg_count; a++)
        all[a] = args[a];
    all[arg_count] = more;
    exit_code code = correct_read(w->session, w->settings, all, arg_count + (more != NULL), &w->in);
    free(all);
    return code == EXIT_DONE ? poses_of_clip(w->session, &w->in, w->settings->hold_out, &w->seen, &w->unseen) : code;
}

static exit_code read_rig(work *w, const char *const *args, size_t arg_count) {
    if (arg_count != 1)
        return usage_error(w->session, "correct needs one rig beside --poses; %zu inputs are given", arg_count);
    pelt_result result = pelt_load(w->session->context, args, 1, &w->settings->load, &w->in.rig);
    w->in.bytes = written_size(args[0], 0);
    return result == PELT_OK ? EXIT_DONE : session_fail(w->session, result);
}

static exit_code read_all(work *w, const char *const *args, size_t arg_count) {
    const correct_settings *settings = w->settings;
    if (!settings->poses || poses_are_frames(settings->poses)) {
        if (settings->unseen)
            return usage_error(w->session, "--unseen goes with --poses; of frames, --hold-out keeps some");
        return read_frames(w, args, arg_count, settings->poses);
    }
    if (settings->hold_out)
        return usage_error(w->session, "--hold-out is for frames; --unseen gives other poses");
    exit_code code = read_rig(w, args, arg_count);
    if (code == EXIT_DONE)
        code = poses_read(w->session, w->in.rig, settings->poses, &settings->load, &w->seen);
    if (code == EXIT_DONE && settings->unseen)
        code = poses_read(w->session, w->in.rig, settings->unseen, &settings->load, &w->unseen);
    return code;
}

/* ---- Measuring what was written --------------------------------------------------------------------------- */

/* Evaluates the rig in the pose of every example: made [pose][vertex][3], and the sum of |made − target|² over all
 * examples. */
static pelt_result play(cli_session *session, const pelt_model *model, const pose_set *set, float *made, double *sum) {
    size_t floats = (size_t)3 * model->mesh.vertex_count;
    float *weights = must_alloc(model->morphs.morph_count, sizeof *weights);
    pelt_result result = PELT_OK;
    *sum = 0;
    for (uint32_t p = 0; result == PELT_OK && p < set->count; p++, made += floats) {
        const pelt_pose_example *pose = &set->items[p];
        pelt_motion_sample(model, NULL, 0, NULL, weights);
        pelt_pose_weights(model, pose->locals, weights);
        result =
            pelt_model_pose_locals(session->context, model, pose->locals, weights, PELT_SKINNING_LINEAR, made, NULL);
        for (size_t e = 0; result == PELT_OK && e < floats; e++)
            *sum += ((double)made[e] - (double)pose->positions[e]) * ((double)made[e] - (double)pose->positions[e]);
    }
    free(weights);
    return result;
}

/* A clip with a frame per example, from positions [pose][vertex][3]. */
static pelt_clip clip_of(const work *w, const pose_set *set, const float *times, const float *positions) {
    return (pelt_clip){.name = "",
                       .frame_count = set->count,
                       .point_count = w->in.rig->mesh.vertex_count,
                       .times = times,
                       .positions = positions};
}

/* Measures the error over the examples: of the input rig (`before`), or of the written rig. */
static pelt_result measure_set(const work *w, const pose_set *set, bool before, misfit *out) {
    size_t floats = (size_t)3 * w->in.rig->mesh.vertex_count;
    if (set->count == 0)
        return PELT_OK;
    float *made = must_alloc(set->count, floats * sizeof *made),
          *right = must_alloc(set->count, floats * sizeof *right);
    float *times = must_alloc(set->count, sizeof *times);
    double sum;
    pelt_result result = play(w->session, before ? w->in.rig : w->written, set, made, &sum);
    for (uint32_t p = 0; p < set->count; p++) {
        times[p] = (float)p;
        memcpy(right + p * floats, set->items[p].positions, floats * sizeof *right);
    }
    pelt_clip a = clip_of(w, set, times, right), b = clip_of(w, set, times, made);
    if (result == PELT_OK)
        result = pelt_compare_clips(w->session->context, &a, &b, NULL, before ? &out->before : &out->after, NULL);
    if (before)
        out->missed = sum;
    else
        out->relative = out->missed > 0 ? sqrt(sum / out->missed) : 0;
    free(made);
    free(right);
    free(times);
    return result;
}

/* Sets the page of --report: the corrected rig beside the target shapes. A clip is shown with all its frames; poses
 * from files become keys of a motion, one second apart. */
static pelt_result show(work *w) {
    pelt_context *context = w->session->context;
    pelt_model *model = w->written;
    bool frames = w->in.clip.frame_count > 0;
    pelt_clip *beside = pelt_model_alloc(context, model, 2, sizeof *beside);
    uint32_t *motions = pelt_model_alloc(context, model, 2, sizeof *motions), count = 0;
    if (!beside || !motions)
        return PELT_ERROR_MEMORY;
    pelt_result result = PELT_OK;
    if (frames) {
        result = pelt_model_take_points(context, model, w->in.rig);
        beside[count] = w->in.clip;
        motions[count++] = w->in.motion;
    } else {
        motions[0] = model->motion_count;
        result = poses_motion(w->session, model, &w->seen, "examples", &beside[count++]);
        if (result == PELT_OK && w->unseen.count) {
            motions[1] = model->motion_count;
            result = poses_motion(w->session, model, &w->unseen, "unseen", &beside[count++]);
        }
    }
    if (result == PELT_OK)
        report_page(w->session, model, beside, count, w->settings->fps)->motions = motions;
    return result;
}

static pelt_result measure_before(work *w) {
    pelt_result result = measure_set(w, &w->seen, true, &w->fit);
    return result == PELT_OK ? measure_set(w, &w->unseen, true, &w->check) : result;
}

static pelt_result measure(work *w) {
    const char *path = w->settings->output;
    pelt_result result = load_written(w->session, w->in.rig, path, &w->written);
    /* Writing edits the glTF document of the rig, which keeps the order of nodes and vertices. */
    bool same = result == PELT_OK && w->written->skeleton.joint_count == w->in.rig->skeleton.joint_count &&
                w->written->mesh.vertex_count == w->in.rig->mesh.vertex_count;
    if (result == PELT_OK && !same)
        warn(w->session, "%s has other joints or vertices than the rig, and was not measured", path);
    if (!same)
        return result;
    result = measure_set(w, &w->seen, false, &w->fit);
    if (result == PELT_OK)
        result = measure_set(w, &w->unseen, false, &w->check);
    return result == PELT_OK ? show(w) : result;
}

/* ---- Report ----------------------------------------------------------------------------------------------- */

static const char *const kernels[] = {"exponential", "gaussian", "thin-plate"};

static void report_misfit(cli_json *json, const char *key, const pose_set *set, const misfit *m) {
    if (set->count == 0)
        return;
    json_open(json, key, '{');
    json_count(json, "poses", set->count);
    json_real(json, "error", m->relative);
    json_real(json, "error_rms_before", m->before.error_rms);
    json_real(json, "error_rms", m->after.error_rms);
    json_real(json, "error_max", m->after.error_max);
    json_text(json, "worst", set->items[m->after.max_frame].name);
    json_close(json, '}');
}

static void report_joints(cli_json *json, const work *w) {
    json_open(json, "joints", '[');
    for (uint32_t j = 0; j < w->report.joint_count; j++) {
        const pelt_eigenskin_joint *joint = &w->report.joints[j];
        json_open(json, NULL, '{');
        json_text(json, "name", w->in.rig->skeleton.names[joint->joint]);
        if (joint->with != PELT_NONE)
            json_text(json, "with", w->in.rig->skeleton.names[joint->with]);
        if (joint->against != PELT_NONE)
            json_text(json, "against", w->in.rig->skeleton.names[joint->against]);
        json_count(json, "vertices", joint->vertex_count);
        json_count(json, "modes", joint->mode_count);
        json_count(json, "centres", joint->centre_count);
        json_real(json, "radius", joint->radius);
        json_real(json, "displacement", joint->displacement);
        json_real(json, "kept", joint->gain);
        json_reals(json, "singular_values", joint->singular_values, joint->mode_count);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void report_json(const work *w, double seconds) {
    cli_json *json = &w->session->report;
    const pelt_eigenskin_report *r = &w->report;
    size_t count = (size_t)r->mode_count + 1;
    json_text(json, "output", w->settings->output);
    json_count(json, "poses", r->example_count);
    json_count(json, "different_poses", r->pose_count);
    json_count(json, "rest_poses", r->rest_count);
    json_text(json, "kernel", kernels[r->kernel]);
    json_real(json, "regularise", r->regularise);
    json_real(json, "turn_degrees", r->turn_degrees);
    json_count(json, "vertices", r->vertex_count);
    json_count(json, "modes", r->mode_count);
    json_count(json, "morphs", r->morph_count);
    json_reals(json, "errors", r->errors, count);
    json_real(json, "left_out_error", r->left_out_error);
    if (w->desc.refit_weights) {
        json_count(json, "refit_rounds", r->refit_rounds);
        json_real(json, "refit_ratio", r->refit_ratio);
    }
    json_count(json, "ill_conditioned", r->ill_conditioned);
    if (!isnan(r->normals_before)) {
        json_real(json, "normals_before", r->normals_before);
        json_real(json, "normals_after", r->normals_after);
    }
    report_misfit(json, "file", &w->seen, &w->fit);
    report_misfit(json, "unseen", &w->unseen, &w->check);
    report_joints(json, w);
    json_count(json, "bytes_in", w->in.bytes);
    json_count(json, "bytes_out", w->bytes_out);
    json_real(json, "seconds", seconds);
    json_open(json, "curves", '[');
    report_steps(json, "error against modes", "modes", "relative error", r->errors, count);
    json_close(json, ']');
    w->session->report_done = true;
}

static void table_misfit(cli_table *table, const char *name, const pose_set *set, const misfit *m) {
    if (set->count == 0)
        return;
    table_row(table, name, "error %.4g over %s poses, E_rms %.4g to %.4g", m->relative, grouped(set->count),
              m->before.error_rms, m->after.error_rms);
    table_row(table, "", "E_max %.4g of the diameter, in '%s', vertex %u", m->after.error_max,
              set->items[m->after.max_frame].name, m->after.max_point);
}

/* Adds a row per joint: at most NAMES_SHOWN joints without --verbose. */
static void table_joints(cli_table *table, const work *w) {
    uint32_t count = w->report.joint_count;
    uint32_t shown = w->session->common.verbose || count <= NAMES_SHOWN ? count : NAMES_SHOWN;
    for (uint32_t j = 0; j < shown; j++) {
        const pelt_eigenskin_joint *joint = &w->report.joints[j];
        if (joint->gain < 1)
            table_row(table, shown_name(w->in.rig->skeleton.names[joint->joint]),
                      joint->gain > 0 ? "corrections shrunk to %.0f %%" : "no corrections", 100 * joint->gain);
        table_row(table, joint->gain < 1 ? "" : shown_name(w->in.rig->skeleton.names[joint->joint]),
                  "%s%s%u modes on %s vertices, %u centres of radius %.3g, up to %.4g units",
                  joint->with == PELT_NONE ? "" : shown_name(w->in.rig->skeleton.names[joint->with]),
                  joint->with == PELT_NONE ? "" : " too: ", joint->mode_count, grouped(joint->vertex_count),
                  joint->centre_count, joint->radius, joint->displacement);
    }
    if (shown < count)
        table_row(table, "", "and %u joints more (--verbose)", count - shown);
}

static void report_table(const work *w, double seconds) {
    const pelt_eigenskin_report *r = &w->report;
    cli_table table = {0};
    table_row(&table, "input", "%s vertices, %s poses", grouped(r->vertex_count), grouped(r->example_count));
    uint32_t equal = r->example_count - r->rest_count - r->pose_count;
    if (equal)
        table_row(&table, "", "of which %s equal another one and are merged with it", grouped(equal));
    if (r->rest_count)
        table_row(&table, "", "of which %s are the rest pose, which needs no example", grouped(r->rest_count));
    table_row(&table, "kernel", "%s, noise of %.3g expected in the examples", kernels[r->kernel], r->regularise);
    for (uint32_t m = 0; m <= r->mode_count; m++)
        table_row(&table, m ? "" : "error", "%.4g with %u mode%s per joint", r->errors[m], m, m == 1 ? "" : "s");
    table_row(&table, "left out", "error %.4g of each pose by the others", r->left_out_error);
    if (r->refit_rounds)
        table_row(&table, "weights", "fitted %s; poses that were left out: error × %.3g",
                  r->refit_rounds == 1 ? "once" : "twice", r->refit_ratio);
    table_misfit(&table, "in the file", &w->seen, &w->fit);
    table_misfit(&table, "unseen", &w->unseen, &w->check);
    table_joints(&table, w);
    if (!isnan(r->normals_before))
        table_row(&table, "normals", "%.4g to %.4g", r->normals_before, r->normals_after);
    table_row(&table, "squeezed", "%s vertices, in some pose to under a tenth", grouped(r->ill_conditioned));
    table_row(&table, "size", "%s to %s", bytes_text(w->in.bytes), bytes_text(w->bytes_out));
    table_row(&table, "time", "%.3f s", seconds);
    table_print(&table, w->session->common.quiet ? NULL : w->session->out, w->settings->output);
}

/* Names of the joints whose corrections were dropped (`none`), or only scaled down; NULL: no such joint. Freed by the
 * caller. */
static char *shrunk_names(const work *w, bool none) {
    const char **names = must_alloc(w->report.joint_count, sizeof *names);
    size_t count = 0;
    for (uint32_t j = 0; j < w->report.joint_count; j++) {
        double gain = w->report.joints[j].gain;
        if (none ? gain == 0 : gain > 0 && gain < 1)
            names[count++] = shown_name(w->in.rig->skeleton.names[w->report.joints[j].joint]);
    }
    char *list = count ? list_names(names, count, NAMES_SHOWN) : NULL;
    free(names);
    return list;
}

/* Warns about corrections that were dropped or reduced, and why. */
static void warn_of_poses(const work *w) {
    const pelt_eigenskin_report *r = &w->report;
    char *none = shrunk_names(w, true), *part = shrunk_names(w, false);
    bool any = false;
    for (uint32_t j = 0; j < r->joint_count; j++)
        any |= r->joints[j].gain > 0;
    if (!any)
        warn(w->session,
             "nothing was corrected: predicted by the others, poses are no nearer to the truth than the skin "
             "alone; give more poses, or ones that differ less");
    else if (none)
        warn(w->session, "no corrections by %s: with these, poses that were left out came no nearer to the truth",
             none);
    if (part)
        warn(w->session, "corrections by %s are shrunk: in full they would make poses that were left out worse", part);
    if (r->turn_degrees > 0)
        warn(w->session,
             "shapes of the examples are turned against their poses, by %.2g degrees at each joint: taken for noise "
             "in the poses, and not corrected",
             r->turn_degrees);
    if (r->odd_count)
        warn(w->session, "%u of %u examples in the rest pose have another shape than it; nothing was learned from them",
             r->odd_count, r->rest_count);
    if (w->desc.refit_weights && isnan(r->refit_ratio))
        warn(w->session, "the bone weights are kept: there are too few examples to leave a third of them out");
    else if (w->desc.refit_weights && r->refit_rounds == 0)
        warn(w->session,
             "the bone weights are kept: with fitted ones, the error of left-out poses is %.3g of that before",
             r->refit_ratio);
    if (w->desc.exact && r->errors[r->mode_count] > EXACT)
        warn(w->session, "the examples are not met exactly, with %u modes for each joint", r->mode_count);
    free(none);
    free(part);
}

/* ---- The half of the verb --------------------------------------------------------------------------------- */

static exit_code correct(work *w) {
    pelt_context *context = w->session->context;
    pelt_result result = measure_before(w);
    if (result == PELT_OK)
        result = pelt_eigenskin(context, w->in.rig, w->seen.items, w->seen.count, &w->desc, &w->report);
    pelt_save_desc save = pelt_save_desc_default();
    rig_save(&w->settings->written, &save);
    save.skip_clips = true;
    if (result == PELT_OK)
        result = pelt_save(context, w->in.rig, w->settings->output, &save);
    if (result == PELT_OK) {
        w->bytes_out = written_size(w->settings->output, 0);
        result = measure(w);
    }
    if (result != PELT_OK)
        return session_fail(w->session, result);
    double seconds = px_seconds() - w->start, error = w->report.errors[w->report.mode_count];
    report_json(w, seconds);
    report_table(w, seconds);
    warn_of_poses(w);
    if (w->desc.error == 0 || error <= w->desc.error)
        return EXIT_DONE;
    warn(w->session, "the error is %.4g; %.4g was asked for", error, w->desc.error);
    return EXIT_QUALITY;
}

/* Reports a usage error for options whose values --exact determines. */
static exit_code check_exact(cli_session *session, const pelt_eigenskin_desc *desc) {
    static const char *const names[] = {"support", "modes", "error", "max-per-vertex", "regularise", "centres"};
    for (size_t n = 0; desc->exact && n < COUNT(names); n++)
        if (option_given(session, names[n]))
            return usage_error(session, "--%s means nothing beside --exact", names[n]);
    return EXIT_DONE;
}

exit_code correct_by_pose(cli_session *session, const correct_settings *settings, const char *const *args,
                          size_t arg_count) {
    work w = {.session = session, .settings = settings, .desc = settings->eigenskin, .start = px_seconds()};
    if (w.desc.error > 0 && !option_given(session, "modes"))
        w.desc.modes = w.desc.max_per_vertex && w.desc.max_per_vertex < PELT_EIGENSKIN_MODES_MAX
                           ? w.desc.max_per_vertex
                           : PELT_EIGENSKIN_MODES_MAX;
    exit_code code = check_exact(session, &w.desc);
    if (code == EXIT_DONE)
        code = read_all(&w, args, arg_count);
    if (code == EXIT_DONE)
        code = correct(&w);
    keep_model(session, w.in.source);
    keep_model(session, w.in.rig);
    keep_model(session, w.written);
    return code;
}
