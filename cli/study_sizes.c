/* pelt study --max-error: bytes of a skin, of SVD, of clustered PCA and of the cache at equal largest distances. */
#include "study.h"

#include "decompose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct size_row {
    double max_error; /* units */
    pelt_budget_report skin;
    pelt_storage_size others[PELT_STORAGES];
} size_row;

static pelt_result measure_row(study_work *w, size_row *row) {
    pelt_context *context = w->session->context;
    pelt_budget_desc desc = pelt_budget_desc_default();
    pelt_model *model;
    desc.max_error = row->max_error;
    desc.smallest = true; /* the other representations have no normals either */
    pelt_result result = pelt_model_borrow(context, w->source, &model);
    if (result == PELT_OK)
        result = pelt_decompose_budget(context, model, NULL, &desc, NULL, &row->skin);
    row->skin.trials = NULL; /* they are in the model */
    pelt_model_destroy(model);
    return result == PELT_OK ? pelt_storage_sizes(context, w->source, row->max_error, row->others) : result;
}

static void report_row(const study_work *w, const size_row *row, double diameter) {
    static const char *const names[] = {"svd", "cpca", "cache"};
    cli_json *json = &w->session->report;
    json_open(json, NULL, '{');
    json_real(json, "max_error_units", row->max_error);
    json_real(json, "max_error", row->max_error / diameter);
    json_open(json, "skin", '{');
    json_flag(json, "met", row->skin.met);
    json_count(json, "bones", row->skin.chosen.bones);
    json_flag(json, "rigid", row->skin.chosen.transforms == PELT_TRANSFORMS_RIGID);
    json_count(json, "key_frames", row->skin.chosen.key_count);
    json_real(json, "error_max_units", row->skin.chosen.error_max_units);
    json_count(json, "bytes", row->skin.chosen.bytes);
    json_count(json, "numbers_bytes", row->skin.numbers_bytes);
    json_close(json, '}');
    for (size_t n = 0; n < PELT_STORAGES; n++) {
        json_open(json, names[n], '{');
        json_count(json, "clusters", row->others[n].clusters);
        json_count(json, "components", row->others[n].components);
        json_real(json, "error_max_units", row->others[n].error_max_units);
        json_count(json, "bytes", row->others[n].bytes);
        json_close(json, '}');
    }
    json_close(json, '}');
}

static void print_row(const study_work *w, const size_row *row, double diameter) {
    const pelt_storage_size *svd = &row->others[PELT_STORAGE_SVD], *cpca = &row->others[PELT_STORAGE_CPCA];
    FILE *out = w->session->out;
    fprintf(out, "%6.2f %% %12s%s", 100 * row->max_error / diameter, grouped(row->skin.chosen.bytes),
            row->skin.met ? " " : "*");
    fprintf(out, "%12s ", grouped(row->skin.numbers_bytes));
    fprintf(out, "%12s ", svd->bytes ? grouped(svd->bytes) : "–");
    fprintf(out, "%12s ", cpca->bytes ? grouped(cpca->bytes) : "–");
    fprintf(out, "%12s  ", grouped(row->others[PELT_STORAGE_CACHE].bytes));
    fprintf(out, "%u %s bones, %u key frames; %u components; %u × %u components\n", row->skin.chosen.bones,
            row->skin.chosen.transforms == PELT_TRANSFORMS_RIGID ? "rigid" : "affine", row->skin.chosen.key_count,
            svd->components, cpca->clusters, cpca->components);
}

exit_code study_sizes(study_work *w) {
    pelt_difference still;
    pelt_result result = pelt_compare_clips(w->session->context, &w->whole, &w->whole, NULL, &still, NULL);
    if (result != PELT_OK)
        return session_fail(w->session, result);
    double diameter = 2 * still.ball.radius;
    char *list = must_format("%s", w->settings->max_error), *next = list;
    exit_code code = EXIT_DONE;
    bool quiet = w->session->common.quiet;
    json_count(&w->session->report, "points", w->whole.point_count);
    json_count(&w->session->report, "frames", w->whole.frame_count);
    json_open(&w->session->report, "sizes", '[');
    if (!quiet)
        fprintf(w->session->out,
                "%s vertices, %s frames: bytes at equal largest distance\n%8s %12s %12s %12s %12s %12s\n",
                grouped(w->whole.point_count), grouped(w->whole.frame_count), "of size", "skin file", "its numbers",
                "SVD", "CPCA", "cache");
    for (char *text; code == EXIT_DONE && (text = next_item(&next));) {
        size_row row = {.max_error = parse_length(text, diameter)};
        if (isnan(row.max_error)) {
            code =
                usage_error(w->session, "--max-error %s: it takes lengths such as 1%%, 1mm or 0.01 with commas between",
                            w->settings->max_error);
            break;
        }
        result = measure_row(w, &row);
        if (result != PELT_OK)
            code = session_fail(w->session, result);
        else {
            report_row(w, &row, diameter);
            if (!quiet)
                print_row(w, &row, diameter);
        }
    }
    json_close(&w->session->report, ']');
    w->session->report_done = code == EXIT_DONE;
    free(list);
    return code;
}
