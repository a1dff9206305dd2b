/* pelt study: compares representations of an animation in one table (the columns of FESAM's Table 2 and SMA's Table 1).
 *
 * Errors are measured in memory, on skins stored as floats and evaluated at the frames' own times; no file is written.
 */
#include "study.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BONES 4000u

static const pelt_option own_options[] = {
    {"methods", 0, PELT_OPTION_TEXT, PELT_FIELD(study_settings, methods), "fesam,sma,sad,cpca,svd", 0, 0, NULL, "LIST",
     "what to compare; also sma-rigid-tsvd, sma-rigid-nnls, sma-affine-tsvd, sma-affine-nnls"},
    {"bones", 0, PELT_OPTION_TEXT, PELT_FIELD(study_settings, bones), "10,20,30", 0, 0, NULL, "LIST",
     "numbers of bones for fesam and sad; sma finds its own"},
    {"clusters", 0, PELT_OPTION_TEXT, PELT_FIELD(study_settings, clusters), NULL, 0, 0, NULL, "LIST",
     "numbers of clusters for cpca; without this those of --bones"},
    {"ranks", 0, PELT_OPTION_TEXT, PELT_FIELD(study_settings, ranks), NULL, 0, 0, NULL, "LIST",
     "numbers of components for svd; without this 4 times those of --bones"},
    {"components", 0, PELT_OPTION_UINT, PELT_FIELD(study_settings, components), "4", 1, 1000, NULL, "N",
     "of each cluster of cpca"},
    {"rounds", 0, PELT_OPTION_UINT, PELT_FIELD(study_settings, rounds), "10", 0, 10000, NULL, "N",
     "in which vertices choose their cluster, at most"},
    {"corrections", 0, PELT_OPTION_UINT, PELT_FIELD(study_settings, corrections), "10", 0, PELT_CORRECT_RANK_MAX, NULL,
     "R", "morph targets that every skin gets in a second row; 0: none"},
    {"basis", 0, PELT_OPTION_CHOICE, PELT_FIELD(study_settings, basis), "skinned", 0, 0, "skinned|rest", NULL,
     "how they are found; see 'pelt help correct'"},
    {"normal-rank", 0, PELT_OPTION_UINT, PELT_FIELD(study_settings, normal_rank), "0", 0, PELT_CORRECT_RANK_MAX, NULL,
     "R", "further morph targets that correct normals alone; the report has the error of skinned normals then"},
    {"influences", 0, PELT_OPTION_UINT, PELT_FIELD(study_settings, influences), "4", 1, PELT_MAX_INFLUENCES, NULL, "K",
     "bones of a vertex, at most"},
    {"iterations", 0, PELT_OPTION_UINT, PELT_FIELD(study_settings, iterations), "100", 1, 10000, NULL, "N",
     "of fesam, at most"},
    {"rotation-tolerance", 0, PELT_OPTION_TEXT, PELT_FIELD(study_settings, rotation_tolerance), "0.05", 0, 0, NULL,
     "LIST", "of sma: a larger one finds fewer bones"},
    {"published", 0, PELT_OPTION_FLAG, PELT_FIELD(study_settings, published), NULL, 0, 0, NULL, NULL,
     "fesam and sma as published, see --preset of 'pelt decompose'"},
    {"max-error", 0, PELT_OPTION_TEXT, PELT_FIELD(study_settings, max_error), NULL, 0, 0, NULL, "LIST",
     "compare bytes at these largest distances instead (1%, 1mm, 0.01): 'pelt decompose --max-error', SVD, clustered "
     "PCA and the cache, all rounded and encoded by meshoptimizer"},
    {"write", 0, PELT_OPTION_TEXT, PELT_FIELD(study_settings, write), NULL, 0, 0, NULL, "FOLDER",
     "write the animation of each row as a cache (.pc2) of the input's mesh"},
    {"fps", 0, PELT_OPTION_REAL, PELT_FIELD(study_settings, fps), "30", 0.001, 100000, NULL, "N",
     "frames per second of inputs that do not say, and at which motions of rigs are evaluated"},
    {"csv", 0, PELT_OPTION_TEXT, PELT_FIELD(study_settings, csv), NULL, 0, 0, NULL, "FILE", "write the table as CSV"},
    {"svg", 0, PELT_OPTION_TEXT, PELT_FIELD(study_settings, svg), NULL, 0, 0, NULL, "FILE",
     "plot errors against bones and against corrections"},
};
static OPTION_TABLE(own_table, own_options)

    static const option_group groups[] = {
        {"Options", own_table, 0},
        {"Reading", pelt_load_options, offsetof(study_settings, load)},
};

/* ---- Lists ------------------------------------------------------------------------------------------------ */

/* Parses numbers separated by commas. */
static exit_code parse_numbers(const cli_session *session, const char *option, const char *text, uint32_t most,
                               number_list *list) {
    list->items = must_alloc(strlen(text) + 1, sizeof *list->items);
    for (const char *p = text;; p++) {
        char *end = NULL;
        unsigned long value = strspn(p, "0123456789") ? strtoul(p, &end, 10) : 0;
        if (value < 1 || value > most || (*end && *end != ','))
            return usage_error(session, "--%s %s: it takes numbers from 1 to %u with commas between", option, text,
                               most);
        list->items[list->count++] = (uint32_t)value;
        if (!*end)
            return EXIT_DONE;
        p = end;
    }
}

/* Parses tolerances separated by commas, as millionths. */
static exit_code parse_tolerances(study_work *w) {
    const char *text = w->settings->rotation_tolerance;
    w->tolerances.items = must_alloc(strlen(text) + 1, sizeof *w->tolerances.items);
    for (const char *p = text;; p++) {
        char *end = NULL;
        double value = strspn(p, "0123456789.") ? strtod(p, &end) : 0;
        if (!(value >= 1e-4 && value <= 1) || (*end && *end != ','))
            return usage_error(w->session,
                               "--rotation-tolerance %s: it takes numbers from 0.0001 to 1 with commas between", text);
        w->tolerances.items[w->tolerances.count++] = (uint32_t)(value * 1e6 + 0.5);
        if (!*end)
            return EXIT_DONE;
        p = end;
    }
}

/* Whether a name [length] in --methods is this method or its family: "sma" selects "sma-…". */
static bool is_meant(const char *name, size_t length, const char *method) {
    return strncmp(name, method, length) == 0 && (method[length] == 0 || method[length] == '-');
}

static exit_code parse_methods(study_work *w) {
    w->wanted = must_alloc(study_method_count, sizeof *w->wanted);
    for (const char *p = w->settings->methods;; p++) {
        size_t length = strcspn(p, ",");
        bool any = false;
        for (size_t m = 0; m < study_method_count; m++)
            if (length > 0 && is_meant(p, length, study_methods[m].name))
                any = w->wanted[m] = true;
        if (!any)
            return usage_error(w->session, "--methods: there is no method '%.*s'; there are fesam, sma, sad, cpca, svd",
                               (int)length, p);
        p += length;
        if (!*p)
            return EXIT_DONE;
    }
}

/* Reports a usage error for options of methods that are not in --methods. */
static exit_code check_options(const study_work *w) {
    bool fesam = false, sma = false, sad = false, cpca = false, svd = false;
    for (size_t m = 0; m < study_method_count; m++) {
        const char *name = study_methods[m].name;
        fesam |= w->wanted[m] && is_meant("fesam", 5, name);
        sma |= w->wanted[m] && is_meant("sma", 3, name);
        sad |= w->wanted[m] && is_meant("sad", 3, name);
        cpca |= w->wanted[m] && is_meant("cpca", 4, name);
        svd |= w->wanted[m] && is_meant("svd", 3, name);
    }
    const idle_options rules[] = {
        {!fesam && !sad && !cpca && !svd, "bones", "to sma, which finds the number of bones by itself"},
        {!fesam && !sma && !sad, "corrections influences", "without fesam, sma or sad among --methods"},
        {!fesam, "iterations", "without fesam among --methods"},
        {!fesam && !sma, "published", "without fesam or sma among --methods"},
        {!sma, "rotation-tolerance", "without sma among --methods"},
        {!cpca, "clusters components rounds", "without cpca among --methods"},
        {!svd, "ranks", "without svd among --methods"},
        {w->settings->corrections == 0, "basis normal-rank", "without --corrections"},
    };
    return options_check(w->session, rules, COUNT(rules));
}

static exit_code parse_settings(study_work *w) {
    const study_settings *s = w->settings;
    exit_code code = parse_methods(w);
    if (code == EXIT_DONE)
        code = check_options(w);
    if (code == EXIT_DONE)
        code = parse_numbers(w->session, "bones", s->bones, MOST_BONES, &w->bones);
    if (code == EXIT_DONE)
        code = parse_numbers(w->session, "clusters", s->clusters ? s->clusters : s->bones, MOST_BONES, &w->clusters);
    if (code == EXIT_DONE)
        code = parse_numbers(w->session, "ranks", s->ranks ? s->ranks : s->bones, 4 * MOST_BONES, &w->ranks);
    for (size_t n = 0; !s->ranks && n < w->ranks.count; n++)
        w->ranks.items[n] *= 4; /* a bone's transform has 4 columns */
    return code == EXIT_DONE ? parse_tolerances(w) : code;
}

/* ---- The verb --------------------------------------------------------------------------------------------- */

static exit_code load_input(study_work *w) {
    cli_session *session = w->session;
    pelt_result result = pelt_load(session->context, w->paths, w->path_count, &w->settings->load, &w->source);
    pelt_model *source = w->source;
    if (result == PELT_OK && source->clip_count == 0)
        result = motions_to_clips(session, source, 0, source->motion_count, w->settings->fps, source);
    if (result != PELT_OK)
        return session_fail(session, result);
    if (source->clip_count)
        w->whole = join_clips(source->clips, source->clip_count);
    if (w->whole.frame_count > 0)
        return EXIT_DONE;
    say(session, MESSAGE_ERROR, "%s: there is no animation in it to study", source->path);
    return EXIT_INPUT;
}

/* Skips a method that does not support the input, if the table has rows of other methods. */
static exit_code run_method(study_work *w, const study_method *method) {
    const number_list *counts = (const number_list *)((const char *)w + method->counts);
    for (size_t n = 0; n < counts->count; n++) {
        pelt_result result = method->run(w, method, counts->items[n]);
        bool unfit = result == PELT_ERROR_INPUT || result == PELT_ERROR_UNSUPPORTED;
        if (result != PELT_OK && !(unfit && w->row_count > 0))
            return session_fail(w->session, result);
        if (result != PELT_OK) {
            warn(w->session, "%s is left out: %s", method->title, pelt_error_text(w->session->context));
            break;
        }
    }
    return EXIT_DONE;
}

static exit_code study(study_work *w) {
    const idle_options rules[] = {{w->settings->max_error != NULL,
                                   "methods bones clusters ranks components rounds corrections basis influences "
                                   "iterations rotation-tolerance published write csv svg",
                                   "with --max-error, which finds the sizes itself"}};
    exit_code code = options_check(w->session, rules, COUNT(rules));
    if (code == EXIT_DONE)
        code = parse_settings(w);
    if (code == EXIT_DONE)
        code = load_input(w);
    if (code == EXIT_DONE && w->settings->max_error)
        return study_sizes(w);
    if (code == EXIT_DONE) {
        pelt_result made = pelt_decompose_cache_create(w->session->context, &w->cache);
        code = made == PELT_OK ? EXIT_DONE : session_fail(w->session, made);
    }
    for (size_t m = 0; m < study_method_count && code == EXIT_DONE; m++)
        if (w->wanted[m])
            code = run_method(w, &study_methods[m]);
    return code == EXIT_DONE ? study_report(w) : code;
}

static exit_code run(cli_session *session, const void *given, const char *const *args, size_t arg_count) {
    study_work w = {.session = session, .settings = given, .paths = args, .path_count = arg_count};
    if (arg_count == 0)
        return usage_error(session, "study needs an animation");
    session->hold_warnings = true; /* until the table is printed */
    exit_code code = study(&w);
    show_warnings(session);
    session->hold_warnings = false;
    for (size_t r = 0; r < w.row_count; r++)
        free(w.rows[r].rank_errors);
    free(w.rows);
    free(w.wanted);
    free(w.bones.items);
    free(w.clusters.items);
    free(w.ranks.items);
    free(w.tolerances.items);
    pelt_decompose_cache_destroy(w.cache);
    pelt_study_destroy(w.study);
    keep_model(session, w.source); /* destroyed last: `best` borrows from it */
    keep_model(session, w.best);
    return code;
}

static const example examples[] = {
    {"pelt study horse.obj horse.pc2", "all methods, skins with 10, 20 and 30 bones"},
    {"pelt study cow.obj cow.pc2 --bones 18 --csv cow.csv", "a row of FESAM's Table 2"},
    {"pelt study flag.obj flag.pc2 --methods fesam,sad --bones 10,20,40,80 --svg flag.svg", "how far more bones help"},
    {"pelt study horse.obj horse.pc2 --max-error 0.5%,1%,2%", "bytes at equal largest errors"},
    {"pelt study horse.obj horse.pc2 --methods sma --published --basis rest", "a row of SMA's Table 1"},
    {"pelt study horse.obj horse.pc2 --methods sma-affine-nnls --published --rotation-tolerance 0.05,0.1,0.2 --svg "
     "f.svg",
     "SMA's Figure 12: error against bones"},
};

const cli_verb verb_study = {
    .name = "study",
    .summary = "compare ways to store an animation: skins, clustered PCA, SVD",
    .usage = "pelt study INPUT… [options]",
    .about = "The input is that of 'pelt decompose'. Each method stores the whole animation; each row has its error "
             "and size.\n\nfesam: bones and weights of 'pelt decompose'. sma: bones where triangles rotate alike, "
             "rigid or affine, with weights by truncated SVD or non-negative least squares. --published takes the "
             "steps of the papers only, and "
             "keeps negative weights. sad: bones spread evenly, "
             "weights by distance, transforms by least squares. cpca: principal components of clusters of vertices. "
             "svd: principal components of all vertices. Skins have a second row with --corrections morph "
             "targets.\n\nBy default cpca has 4 components for each of as many clusters as there are bones, and svd 4 "
             "times as many components as there are bones: both then store as much per frame as affine bones, but svd "
             "stores far more per vertex. Sizes count floats: for a skin the rest position of each vertex, its weights "
             "but one, and a byte for each bone index; for transforms 12 numbers per bone and frame, or 7 if rigid. "
             "The ratio is the size of all positions as floats to this size.\n\nErrors are those of 'pelt compare', "
             "measured on the stored data. Seconds are the time to compute it.\n\n--max-error compares bytes at equal "
             "largest "
             "distances of a vertex. The skin is the whole file that 'pelt decompose --max-error' writes, with its "
             "JSON and normals; its numbers are the rest of it. svd, cpca and the cache have the triangles and the "
             "numbers of points only. All have "
             "sorted points, numbers as coarse as the distance allows, and meshoptimizer's encoding.\n\n"
             "With mpirun, processes divide the vertices of fesam, svd and cpca.",
    .groups = groups,
    .group_count = COUNT(groups),
    .settings_size = sizeof(study_settings),
    .grouped = true,
    .examples = examples,
    .example_count = COUNT(examples),
    .run = run,
};
