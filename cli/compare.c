/* pelt compare: measures the error of one animation against another, and the difference of two skins. */
#include "cli.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct compare_settings {
    pelt_load_desc load;
    double fps;
    const char *motion;
    uint32_t skinning; /* pelt_skinning */
    double max_error;
} compare_settings;

static const pelt_option own_options[] = {
    {"fps", 0, PELT_OPTION_REAL, PELT_FIELD(compare_settings, fps), "30", 0.001, 100000, NULL, "N",
     "frames per second at which rigs are evaluated, and of inputs that do not say"},
    {"motion", 0, PELT_OPTION_TEXT, PELT_FIELD(compare_settings, motion), NULL, 0, 0, NULL, "NAME|INDEX",
     "which animation, where an input has several; without this the first"},
    {"skinning", 0, PELT_OPTION_CHOICE, PELT_FIELD(compare_settings, skinning), "linear", 0, 0,
     "linear|dual-quaternion", NULL, "how the bones of rigs are blended"},
    {"max-error", 0, PELT_OPTION_REAL, PELT_FIELD(compare_settings, max_error), NULL, 0, 1e30, NULL, "E",
     "exit with 4 when E_rms is larger"},
};
static OPTION_TABLE(own_table, own_options)

    static const option_group groups[] = {
        {"Options", own_table, 0},
        {"Options", pelt_load_options, offsetof(compare_settings, load)},
};

/* One of the two inputs; side 0 is the reference. */
typedef struct compare_side {
    cli_input input;
    char *name;
    pelt_model *model;
    cli_animation animation;
    pelt_clip clip;
} compare_side;

/* ---- Two inputs ------------------------------------------------------------------------------------------- */

/* Makes two inputs of one mesh with caches: two caches are compared with each other, one cache with the mesh's own
 * animation. */
static void split_caches(const cli_input *whole, compare_side sides[2]) {
    for (size_t s = 0; s < 2; s++)
        sides[s].input = (cli_input){must_alloc(2, sizeof(char *)), 0};
    for (size_t s = 0; s < 2; s++) {
        cli_input *input = &sides[s].input;
        input->paths[input->path_count++] = whole->paths[0];
        size_t cache = whole->path_count == 3 ? s + 1 : s;
        if (cache > 0)
            input->paths[input->path_count++] = whole->paths[cache];
    }
}

static exit_code find_sides(cli_session *session, const char *const *args, size_t arg_count, compare_side sides[2]) {
    input_list list = inputs_group(session, args, arg_count);
    exit_code code = EXIT_DONE;
    if (list.count == 2) {
        for (size_t s = 0; s < 2; s++) {
            sides[s].input = list.items[s];
            list.items[s].paths = NULL;
        }
    } else if (list.count == 1 && (list.items[0].path_count == 2 || list.items[0].path_count == 3))
        split_caches(&list.items[0], sides);
    else
        code = usage_error(session, "compare needs two inputs, these are %zu; a cache belongs to the mesh before it",
                           list.count);
    inputs_free(&list);
    for (size_t s = 0; s < 2 && code == EXIT_DONE; s++)
        sides[s].name = input_name(&sides[s].input);
    return code;
}

static uint32_t animation_count(const pelt_model *model) {
    return model->clip_count ? model->clip_count : model->motion_count;
}

static exit_code load_side(cli_session *session, const compare_settings *settings, compare_side *side) {
    pelt_result result =
        pelt_load(session->context, side->input.paths, side->input.path_count, &settings->load, &side->model);
    return result == PELT_OK ? EXIT_DONE : session_fail(session, result);
}

/* Whether two meshes have as many vertices and triangles, but other triangles: compression sorts both. */
static bool is_sorted_anew(const pelt_mesh *a, const pelt_mesh *b) {
    return a->vertex_count == b->vertex_count && a->triangle_count == b->triangle_count && a->triangle_count > 0 &&
           memcmp(a->triangles, b->triangles, 3 * (size_t)a->triangle_count * sizeof *a->triangles) != 0;
}

/* Files of the same mesh may merge vertices into points differently, or sort them. Clips are stored per point, so the
 * model without clips takes over the points of the other. */
static exit_code match_points(cli_session *session, const compare_side sides[2]) {
    pelt_model *a = sides[0].model, *b = sides[1].model;
    pelt_result result = PELT_OK;
    if (is_sorted_anew(&a->mesh, &b->mesh) && !b->clip_count) {
        result = pelt_model_take_points(session->context, b, a);
        if (result != PELT_ERROR_MEMORY) /* meshes that do not match are compared by vertex numbers */
            return EXIT_DONE;
    }
    if (a->mesh.points.count != b->mesh.points.count && !b->clip_count)
        result = pelt_model_take_points(session->context, b, a);
    else if (a->mesh.points.count != b->mesh.points.count && !a->clip_count)
        result = pelt_model_take_points(session->context, a, b);
    return result == PELT_OK ? EXIT_DONE : session_fail(session, result);
}

/* --motion chooses among several animations: it does not apply to an input with one animation if the other input has
 * several. */
static exit_code animate_side(cli_session *session, const compare_settings *settings, compare_side *side,
                              const compare_side *other) {
    bool only = animation_count(side->model) < 2 && animation_count(other->model) > 1;
    exit_code code = choose_animation(session, side->model, only ? NULL : settings->motion, false, &side->animation);
    if (code != EXIT_DONE)
        return code;
    pelt_result result = animation_clip(session, side->model, &side->animation, settings->fps,
                                        (pelt_skinning)settings->skinning, &side->clip);
    if (result != PELT_OK)
        return session_fail(session, result);
    say(session, MESSAGE_DETAIL, "%s: %s '%s', %s frames", side->name,
        side->animation.clip != PELT_NONE ? "clip"
        : side->animation.motion          ? "motion"
                                          : "rest pose",
        side->clip.name, grouped(side->clip.frame_count));
    return EXIT_DONE;
}

static void close_side(cli_session *session, compare_side *side) {
    keep_model(session, side->model);
    free(side->input.paths);
    free(side->name);
}

static exit_code check_fit(const cli_session *session, const compare_side sides[2]) {
    const pelt_clip *a = &sides[0].clip, *b = &sides[1].clip;
    if (a->point_count != b->point_count)
        say(session, MESSAGE_ERROR, "%s has %s points, %s has %s: only the same points can be compared", sides[0].name,
            grouped(a->point_count), sides[1].name, grouped(b->point_count));
    else if (a->frame_count != b->frame_count)
        say(session, MESSAGE_ERROR,
            "%s has %s frames, %s has %s: only the same frames can be compared (is --fps right?)", sides[0].name,
            grouped(a->frame_count), sides[1].name, grouped(b->frame_count));
    else
        return EXIT_DONE;
    return EXIT_INPUT;
}

static exit_code check_axes(cli_session *session, const compare_side sides[2]) {
    pelt_result result = warn_axes(session, sides[0].name, &sides[0].clip, sides[1].name, &sides[1].clip);
    return result == PELT_OK ? EXIT_DONE : session_fail(session, result);
}

/* ---- Report ----------------------------------------------------------------------------------------------- */

static void report_clips(cli_json *json, const pelt_difference *d, const double *frame_rms) {
    json_count(json, "frames", d->frame_count);
    json_count(json, "points", d->point_count);
    json_real(json, "error_rms", d->error_rms);
    json_real(json, "error_kg", d->error_kg);
    json_real(json, "error_max", d->error_max);
    json_real(json, "error_max_units", d->error_max_units);
    json_count(json, "max_frame", d->max_frame);
    json_count(json, "max_point", d->max_point);
    report_normals(json, d);
    json_open(json, "ball", '{');
    json_reals(json, "center", d->ball.center, 3);
    json_real(json, "radius", d->ball.radius);
    json_close(json, '}');
    json_reals(json, "frame_rms", frame_rms, d->frame_count);
}

static void clip_rows(cli_table *table, const pelt_difference *d) {
    table_row(table, "frames", "%s", grouped(d->frame_count));
    table_row(table, "points", "%s", grouped(d->point_count));
    table_row(table, "E_rms", "%.6g", d->error_rms);
    if (isfinite(d->error_kg))
        table_row(table, "E_kg", "%.6g %%", d->error_kg);
    else
        table_row(table, "E_kg", "– (nothing moves)");
    table_row(table, "E_max", "%.6g of the diameter, %.6g units, at frame %u, vertex %u", d->error_max,
              d->error_max_units, d->max_frame, d->max_point);
    normal_rows(table, d);
}

static void report_weights(cli_json *json, const pelt_weight_difference *d) {
    json_open(json, "weights", '{');
    json_real(json, "l1_mean", d->l1_mean);
    json_real(json, "l1_max", d->l1_max);
    json_count(json, "max_vertex", d->max_vertex);
    json_count(json, "matched_joints", d->matched_joints);
    json_count(json, "unmatched_joints", d->unmatched_joints);
    json_close(json, '}');
}

static void weight_rows(cli_table *table, const pelt_weight_difference *d) {
    table_row(table, "weights", "%.6g on average, %.6g at most (vertex %u), of 2", d->l1_mean, d->l1_max,
              d->max_vertex);
    table_row(table, "joints", "%u with the same name in both, %u without", d->matched_joints, d->unmatched_joints);
}

/* ---- The verb --------------------------------------------------------------------------------------------- */

/* Whether to compare weights: both inputs are skinned, have the same vertex count, and neither is given with a
 * cache. */
static bool are_rigs(const compare_side sides[2]) {
    const pelt_model *a = sides[0].model, *b = sides[1].model;
    return !a->clip_count && !b->clip_count && a->skin.bone_count && b->skin.bone_count &&
           a->mesh.vertex_count == b->mesh.vertex_count && !is_sorted_anew(&a->mesh, &b->mesh);
}

/* Sets the page: B beside A. A motion of B is shown against A's clip; if B has frames, they are a second clip. */
static pelt_result show(cli_session *session, const compare_settings *settings, const compare_side sides[2]) {
    pelt_model *model = sides[1].model;
    const pelt_motion *motion = sides[1].animation.motion;
    pelt_clip *clips = pelt_model_alloc(session->context, model, 2, sizeof *clips);
    uint32_t *motions = pelt_model_alloc(session->context, model, 2, sizeof *motions);
    if (!clips || !motions)
        return PELT_ERROR_MEMORY;
    clips[0] = sides[0].clip;
    clips[1] = sides[1].clip;
    motions[0] = motion ? (uint32_t)(motion - model->motions) : PELT_NONE;
    motions[1] = PELT_NONE;
    report_page(session, model, clips, motion ? 1 : 2, settings->fps)->motions = motions;
    return PELT_OK;
}

static bool is_skinned(const compare_side *side) {
    return side->animation.clip == PELT_NONE && side->model->skin.bone_count;
}

/* The mesh of the reference, with reference normals. If the reference is skinned and the other is not, normals are
 * computed from the triangles: those of a rig may be fitted to its skinning, and only tell which edges are hard. */
static pelt_result wanted_mesh(cli_session *session, const compare_side sides[2], pelt_mesh *mesh) {
    if (is_skinned(&sides[0]) && !is_skinned(&sides[1]))
        return edged_mesh(session, sides[0].model, mesh);
    *mesh = sides[0].model->mesh;
    return PELT_OK;
}

static exit_code compare(cli_session *session, const compare_settings *settings, compare_side sides[2]) {
    const pelt_clip *a = &sides[0].clip, *b = &sides[1].clip;
    double *frame_rms = must_alloc(a->frame_count, sizeof *frame_rms);
    pelt_mesh own = sides[0].model->mesh;
    const pelt_mesh *mesh = own.triangle_count ? &own : NULL;
    bool rigs = are_rigs(sides);
    pelt_difference clips = {0};
    pelt_weight_difference weights = {0};
    /* Weld, so that normals are continuous across seams. */
    pelt_result result = mesh ? pelt_model_weld(session->context, sides[0].model) : PELT_OK;
    for (int s = 0; mesh && s < 2 && result == PELT_OK; s++)
        if (is_skinned(&sides[s]))
            result = pelt_clip_skin_normals(session->context, sides[s].model, &sides[s].clip);
    if (result == PELT_OK && mesh)
        result = wanted_mesh(session, sides, &own);
    if (result == PELT_OK)
        result = pelt_compare_clips(session->context, a, b, mesh, &clips, frame_rms);
    if (result == PELT_OK && rigs)
        result = pelt_compare_weights(session->context, sides[0].model, sides[1].model, &weights);
    if (result == PELT_OK) {
        cli_table table = {0};
        json_text(&session->report, "a", sides[0].name);
        json_text(&session->report, "b", sides[1].name);
        table_row(&table, "reference", "%s", sides[0].name);
        table_row(&table, "compared", "%s", sides[1].name);
        report_clips(&session->report, &clips, frame_rms);
        clip_rows(&table, &clips);
        if (rigs) {
            report_weights(&session->report, &weights);
            weight_rows(&table, &weights);
        }
        session->report_done = true;
        table_print(&table, session->out, NULL);
        result = show(session, settings, sides);
    }
    free(frame_rms);
    if (result != PELT_OK)
        return session_fail(session, result);
    bool missed = option_given(session, "max-error") && !(clips.error_rms <= settings->max_error);
    if (missed)
        say(session, MESSAGE_ERROR, "E_rms is %g, more than --max-error %g", clips.error_rms, settings->max_error);
    return missed ? EXIT_QUALITY : EXIT_DONE;
}

static exit_code run(cli_session *session, const void *given, const char *const *args, size_t arg_count) {
    const compare_settings *settings = given;
    compare_side sides[2] = {0};
    exit_code code = find_sides(session, args, arg_count, sides);
    for (size_t s = 0; s < 2 && code == EXIT_DONE; s++)
        code = load_side(session, settings, &sides[s]);
    if (code == EXIT_DONE)
        code = match_points(session, sides);
    for (size_t s = 0; s < 2 && code == EXIT_DONE; s++)
        code = animate_side(session, settings, &sides[s], &sides[1 - s]);
    if (code == EXIT_DONE)
        code = check_fit(session, sides);
    if (code == EXIT_DONE)
        code = check_axes(session, sides);
    if (code == EXIT_DONE)
        code = compare(session, settings, sides);
    for (size_t s = 0; s < 2; s++)
        close_side(session, &sides[s]);
    return code;
}

static const example examples[] = {
    {"pelt compare horse.obj horse.pc2 new.obj new.pc2", "two meshes with their caches"},
    {"pelt compare horse.obj horse.pc2 new.pc2", "two caches of one mesh"},
    {"pelt compare 'f_%04d.obj' folder/", "two sequences"},
    {"pelt compare wolf.glb wolf.pc2", "a rig's first motion and a cache of the same mesh"},
    {"pelt compare painted.glb computed.glb --max-error 1", "two rigs, also by weights; exit code 4 when E_rms > 1"},
};

const cli_verb verb_compare = {
    .name = "compare",
    .summary = "measure how far one animation or skin is from another",
    .usage = "pelt compare A B [options]",
    .about =
        "A is the reference. Both are a file, a mesh with its cache, or a sequence; a cache belongs to the mesh "
        "before it. Rigs are evaluated at --fps; without any animation the rest poses are compared as one frame. "
        "Distances are normalised so that the smallest ball around A's first frame has radius 1.\n\n"
        "E_rms: 1000 · ‖A − B‖ / √(3 · points · frames). E_kg: percent of A's distance from its mean over time. "
        "E_max: the largest distance of a vertex, as a fraction of the ball's diameter. Normals: root mean square "
        "length of the difference of unit normals, and angle between them; those of the triangles, and for a rig also "
        "those that its skin moves (by the blended matrix, by its inverse transpose, and accurately, with the gradient "
        "of "
        "the weights), against the other's triangles. Two rigs with the same vertices are also compared "
        "by their "
        "weights: the sum over joints (matched by name) of absolute differences, 0 to 2.",
    .groups = groups,
    .group_count = COUNT(groups),
    .grouped = true,
    .settings_size = sizeof(compare_settings),
    .examples = examples,
    .example_count = COUNT(examples),
    .run = run,
};
