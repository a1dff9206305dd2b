/* pelt weights: editing of skin weights. */
#include "cli.h"

#include <stddef.h>
#include <string.h>

typedef struct weights_settings {
    pelt_weights_scope scope;
    pelt_smooth_desc smooth;
    pelt_prune_desc prune;
    pelt_relax_desc relax;
    pelt_hammer_desc hammer;
    pelt_limit_desc limit;
    pelt_copy_desc copy;
    pelt_mirror_desc mirror;
    pelt_transfer_desc transfer;
    const char *output;
    uint32_t format; /* pelt_weight_format */
    pelt_load_desc load;
} weights_settings;

static const pelt_option own_options[] = {
    {"output", 'o', PELT_OPTION_TEXT, PELT_FIELD(weights_settings, output), NULL, 0, 0, NULL, "FILE",
     "the rig (.glb, .gltf); may be the input"},
    {"weights-format", 0, PELT_OPTION_CHOICE, PELT_FIELD(weights_settings, format), "f32", 0, 0, "f32|u16|u8", NULL,
     "numbers that weights are written as"},
};
static OPTION_TABLE(own_table, own_options)

    static const option_group groups[] = {
        {"Options", own_table, 0},
        {"Reading", pelt_load_options, offsetof(weights_settings, load)},
        {"What may change", pelt_weights_scope_options, offsetof(weights_settings, scope)},
        {"smooth", pelt_smooth_options, offsetof(weights_settings, smooth)},
        {"prune", pelt_prune_options, offsetof(weights_settings, prune)},
        {"relax", pelt_relax_options, offsetof(weights_settings, relax)},
        {"hammer", pelt_hammer_options, offsetof(weights_settings, hammer)},
        {"limit", pelt_limit_options, offsetof(weights_settings, limit)},
        {"copy", pelt_copy_options, offsetof(weights_settings, copy)},
        {"mirror", pelt_mirror_options, offsetof(weights_settings, mirror)},
        {"transfer", pelt_transfer_options, offsetof(weights_settings, transfer)},
};

/* One run. */
typedef struct work {
    cli_session *session;
    const weights_settings *settings;
    pelt_model *model; /* edited and written */
    pelt_model *from;  /* transfer: source of the weights; else NULL */
    cli_table table;
} work;

/* ---- Reports ---------------------------------------------------------------------------------------------- */

static void report_change(work *w, const pelt_weights_report *r) {
    cli_json *json = &w->session->report;
    json_count(json, "vertices", r->vertex_count);
    json_count(json, "changed", r->changed_count);
    json_real(json, "change_mean", r->change_mean);
    json_real(json, "change_max", r->change_max);
    json_count(json, "influences", r->influence_count);
    table_row(&w->table, "changed", "%s of %s welded vertices", grouped(r->changed_count), grouped(r->vertex_count));
    table_row(&w->table, "change", "%.4g on average, %.4g at most (L1, 0 to 2)", r->change_mean, r->change_max);
    table_row(&w->table, "influences", "%u at most", r->influence_count);
}

static bool is_bone(const pelt_model *model, uint32_t joint) {
    for (uint32_t b = 0; b < model->skin.bone_count; b++)
        if (model->skin.bone_joints[b] == joint)
            return true;
    return false;
}

/* Reports the bones of the skin: mirrored pairs, bones that mirror to themselves, and bones without counterpart. */
static void report_pairs(work *w, const uint32_t *pairs) {
    static const char *const keys[] = {"pairs", "middle", "unmatched"};
    static const char *const titles[] = {"pair", "in the middle", "no counterpart"};
    const pelt_skeleton *skeleton = &w->model->skeleton;
    cli_json *json = &w->session->report;
    for (int kind = 0; kind < 3; kind++) {
        json_open(json, keys[kind], '[');
        for (uint32_t j = 0; j < skeleton->joint_count; j++) {
            int own = pairs[j] == PELT_NONE ? 2 : pairs[j] == j;
            if (own != kind || !is_bone(w->model, j) || (kind == 0 && pairs[j] < j))
                continue;
            const char *name = shown_name(skeleton->names[j]);
            if (kind == 0) {
                const char *other = shown_name(skeleton->names[pairs[j]]);
                json_open(json, NULL, '[');
                json_text(json, NULL, name);
                json_text(json, NULL, other);
                json_close(json, ']');
                table_row(&w->table, titles[kind], "%s, %s", name, other);
            } else {
                json_text(json, NULL, name);
                table_row(&w->table, titles[kind], "%s", name);
            }
        }
        json_close(json, ']');
    }
}

static void report_mirror(work *w, const pelt_mirror_report *r) {
    cli_json *json = &w->session->report;
    json_count(json, "exact", r->exact_count);
    json_count(json, "near", r->near_count);
    json_count(json, "on_plane", r->middle_count);
    json_count(json, "kept", r->kept_count);
    json_count(json, "by_topology", r->topology_count);
    if (r->topology_count)
        table_row(&w->table, "topology", "%s vertices with an image", grouped(r->topology_count));
    table_row(&w->table, "vertices", "%s by place, %s by the nearest surface, %s on the plane, %s kept",
              grouped(r->exact_count), grouped(r->near_count), grouped(r->middle_count), grouped(r->kept_count));
    report_change(w, &r->weights);
    report_pairs(w, r->pairs);
}

static void report_transfer(work *w, const pelt_transfer_report *r) {
    static const char *const poses[] = {"auto", "bind", "rest"}, *const skeletons[] = {"auto", "from", "to"};
    cli_json *json = &w->session->report;
    json_count(json, "vertices", r->vertex_count);
    json_count(json, "matched", r->matched_count);
    json_count(json, "filled", r->filled_count);
    json_count(json, "far", r->far_count);
    json_real(json, "distance_mean", r->distance_mean);
    json_real(json, "distance_max", r->distance_max);
    json_text(json, "pose", poses[r->pose]);
    json_text(json, "skeleton", skeletons[r->skeleton]);
    json_open(json, "lost_joints", '[');
    table_row(&w->table, "vertices", "%s welded: %s matched, %s filled, %s far", grouped(r->vertex_count),
              grouped(r->matched_count), grouped(r->filled_count), grouped(r->far_count));
    table_row(&w->table, "distance", "%.4g on average, %.4g at most (of the diagonal)", r->distance_mean,
              r->distance_max);
    table_row(&w->table, "pose", "%s", poses[r->pose]);
    table_row(&w->table, "skeleton", "%s", r->skeleton == PELT_SKELETON_FROM ? w->from->path : w->model->path);
    for (uint32_t n = 0; n < r->lost_count; n++) {
        const char *name = shown_name(w->from->skeleton.names[r->lost[n]]);
        json_text(json, NULL, name);
        table_row(&w->table, "joint missing", "%s: its weights went to an ancestor", name);
    }
    json_close(json, ']');
}

/* ---- Actions ---------------------------------------------------------------------------------------------- */

/* An action that takes a scope and a desc, and reports the change. */
#define EDIT(name)                                                                                                     \
    static pelt_result name(work *w) {                                                                                 \
        pelt_weights_report report;                                                                                    \
        pelt_result result =                                                                                           \
            pelt_weights_##name(w->session->context, w->model, &w->settings->scope, &w->settings->name, &report);      \
        if (result == PELT_OK)                                                                                         \
            report_change(w, &report);                                                                                 \
        return result;                                                                                                 \
    }
EDIT(smooth)
EDIT(prune)
EDIT(relax)
EDIT(hammer)
EDIT(limit)
EDIT(copy)

static pelt_result normalise(work *w) {
    pelt_weights_report report;
    pelt_result result = pelt_weights_normalise(w->session->context, w->model, &w->settings->scope, &report);
    if (result == PELT_OK)
        report_change(w, &report);
    return result;
}

static pelt_result mirror(work *w) {
    pelt_mirror_report report;
    pelt_result result =
        pelt_weights_mirror(w->session->context, w->model, &w->settings->scope, &w->settings->mirror, &report);
    if (result == PELT_OK)
        report_mirror(w, &report);
    return result;
}

static pelt_result transfer(work *w) {
    pelt_transfer_report report;
    pelt_result result = pelt_weights_transfer(w->session->context, w->from, w->model, &w->settings->transfer, &report);
    if (result == PELT_OK)
        report_transfer(w, &report);
    return result;
}

typedef struct action {
    const char *name;
    pelt_result (*run)(work *w);
    size_t input_count;
    const char *inputs; /* description of the inputs, for messages */
    bool scoped;        /* takes the scope options */
    const char *group;  /* group whose options it takes; NULL: none */
} action;

static const action actions[] = {
    {"transfer", transfer, 2, "the file that weights are from, and the mesh that gets them", false, "transfer"},
    {"smooth", smooth, 1, "one file", true, "smooth"},
    {"relax", relax, 1, "one file", true, "relax"},
    {"hammer", hammer, 1, "one file", true, "hammer"},
    {"prune", prune, 1, "one file", true, "prune"},
    {"limit", limit, 1, "one file", true, "limit"},
    {"copy", copy, 1, "one file", true, "copy"},
    {"mirror", mirror, 1, "one file", true, "mirror"},
    {"normalise", normalise, 1, "one file", true, NULL},
};

static exit_code find_action(cli_session *session, const char *name, const action **out) {
    const char *names[COUNT(actions)];
    for (size_t a = 0; a < COUNT(actions); a++) {
        names[a] = actions[a].name;
        if (name && strcmp(name, names[a]) == 0) {
            *out = &actions[a];
            return EXIT_DONE;
        }
    }
    const char *near = name ? pelt_nearest_name(name, names, COUNT(actions)) : NULL;
    if (near)
        return usage_error(session, "weights cannot '%s'; did you mean '%s'?", name, near);
    return usage_error(session, "weights needs to know what to do: transfer, smooth, relax, hammer, prune, limit, "
                                "copy, mirror or normalise");
}

/* Reports a usage error for options of other actions, which would have no effect. */
static exit_code check_options(cli_session *session, const action *what) {
    for (size_t n = 0; n < session->given_count; n++) {
        const char *name = session->given[n].option->name;
        bool meant = false, foreign = false;
        for (size_t g = 0; g < COUNT(groups); g++) {
            bool of_scope = groups[g].table == pelt_weights_scope_options, shared = g < 2;
            bool wanted =
                shared || (of_scope ? what->scoped : what->group && strcmp(groups[g].title, what->group) == 0);
            if (table_has(groups[g].table(), name)) {
                meant = meant || wanted;
                foreign = foreign || !wanted;
            }
        }
        if (foreign && !meant)
            return usage_error(session, "--%s means nothing to 'pelt weights %s'", name, what->name);
    }
    return EXIT_DONE;
}

/* ---- The verb --------------------------------------------------------------------------------------------- */

static pelt_result edit_and_write(work *w, const action *what, const char *const *paths) {
    pelt_context *context = w->session->context;
    pelt_result result = PELT_OK;
    if (what->input_count == 2)
        result = pelt_load(context, paths, 1, &w->settings->load, &w->from);
    if (result == PELT_OK)
        result = pelt_load(context, paths + what->input_count - 1, 1, &w->settings->load, &w->model);
    if (result == PELT_OK)
        result = what->run(w);
    pelt_save_desc save = pelt_save_desc_default();
    save.weights = w->settings->format;
    return result == PELT_OK ? pelt_save(context, w->model, w->settings->output, &save) : result;
}

static exit_code run(cli_session *session, const void *given, const char *const *args, size_t arg_count) {
    work w = {.session = session, .settings = given};
    const action *what = NULL;
    exit_code code = find_action(session, arg_count ? args[0] : NULL, &what);
    if (code == EXIT_DONE)
        code = check_options(session, what);
    if (code == EXIT_DONE && w.settings->mirror.seed && w.settings->mirror.match != PELT_MIRROR_BY_TOPOLOGY)
        code = usage_error(session, "--seed means nothing without --match topology");
    if (code == EXIT_DONE && arg_count != 1 + what->input_count)
        code = usage_error(session, "weights %s needs %s", what->name, what->inputs);
    if (code == EXIT_DONE)
        code = output_rig(session, w.settings->output);
    if (code != EXIT_DONE)
        return code;
    double start = px_seconds();
    json_text(&session->report, "action", what->name);
    json_text(&session->report, "output", w.settings->output);
    pelt_result result = edit_and_write(&w, what, args + 1);
    if (result == PELT_OK) {
        json_real(&session->report, "seconds", px_seconds() - start);
        session->report_done = true;
        table_row(&w.table, "time", "%.3f s", px_seconds() - start);
        report_page(session, w.model, NULL, 0, 30);
    }
    bool shown = result == PELT_OK && !session->common.quiet;
    table_print(&w.table, shown ? session->out : NULL, w.settings->output);
    keep_model(session, w.model);
    pelt_model_destroy(w.from);
    return result == PELT_OK ? EXIT_DONE : session_fail(session, result);
}

static const example examples[] = {
    {"pelt weights transfer hero.glb hero_lod1.obj -o hero_lod1.glb",
     "a level of detail gets the skin of the original"},
    {"pelt weights smooth hero.glb -o hero.glb --parts cape --iterations 20", "the cape only"},
    {"pelt weights mirror hero.glb -o hero.glb --side right-to-left", "what was painted on the right goes to the left"},
    {"pelt weights prune hero.glb -o hero.glb --threshold 0.02 --influences 4 --lock head",
     "small weights go, those of the head stay"},
    {"pelt weights hammer hero.glb -o hero.glb", "repair vertices with weights of the wrong bone"},
    {"pelt weights limit hero.glb -o hero.glb --influences 2", "two bones per vertex"},
    {"pelt weights copy hero.glb -o hero.glb --source belt --parts buckle --rigid", "the buckle follows the belt"},
};

const cli_verb verb_weights = {
    .name = "weights",
    .summary = "transfer, smooth, relax, repair, prune, limit, copy, mirror or normalise skin weights",
    .usage = "pelt weights transfer FROM TO -o RIG [options]\n"
             "       pelt weights smooth|relax|hammer|prune|limit|copy|mirror|normalise RIG -o RIG [options]",
    .about =
        "transfer: every vertex of TO gets the weights of the nearest point on FROM's surface that faces the same way; "
        "vertices without such a point get weights diffused from their neighbours. TO is a mesh without a skin, or "
        "with a skin to replace. If it has joints, they are matched by name; else FROM's joints and motions are added "
        "to it.\n\nsmooth: move weights towards the mean of their neighbours. relax: average weights over a length, "
        "but "
        "move no vertex far in the rig's motions. hammer: repair single vertices whose weights do not fit their "
        "neighbours. prune: remove small weights. limit: leave K bones per vertex (--influences, 4) with the least "
        "change of the deformation. normalise: make weights sum to one, and equal on both sides of a seam.\n\ncopy: "
        "copy weights from one region (--source) to another (--parts).\n\nmirror: copy the weights of one side to the "
        "other. Joints are paired by name (Left and Right, L and R, in any spelling), else by position; the table "
        "lists the pairs and the joints without counterpart. With --match topology vertices find their images by the "
        "connections of the mesh, in any pose.\n\nEverything else in the file is kept.",
    .groups = groups,
    .group_count = COUNT(groups),
    .settings_size = sizeof(weights_settings),
    .examples = examples,
    .example_count = COUNT(examples),
    .run = run,
};
