/* pelt bind --also: other meshes in the voxels of the first. */
#include "bind.h"

#include <stdlib.h>
#include <string.h>

exit_code bind_also_list(bind_work *w) {
    arg_list values = option_values(w->session, "also");
    exit_code code = EXIT_DONE;
    w->also = must_alloc(values.count, sizeof *w->also);
    for (size_t n = 0; n < values.count && code == EXIT_DONE; n++) {
        const char *divide = strrchr(values.items[n], '=');
        if (!divide || divide == values.items[n] || !divide[1]) {
            code = usage_error(w->session, "--also %s: give a mesh and an output, like shirt.obj=shirt.glb",
                               values.items[n]);
            break;
        }
        bind_also *also = &w->also[w->also_count++];
        also->input = must_format("%.*s", (int)(divide - values.items[n]), values.items[n]);
        also->output = divide + 1;
        code = output_rig(w->session, also->output);
    }
    free(values.items);
    w->desc.keep_fields |= w->also_count > 0;
    return code;
}

void bind_also_free(bind_work *w) {
    for (size_t n = 0; n < w->also_count; n++)
        free(w->also[n].input);
    free(w->also);
}

static pelt_result weigh(bind_work *w, bind_also *also) {
    pelt_context *context = w->session->context;
    pelt_model *model = NULL;
    pelt_binding *binding = NULL;
    const char *paths[] = {also->input};
    pelt_save_desc save = pelt_save_desc_default();
    save.weights = w->settings->format;
    rig_save(&w->settings->written, &save);
    pelt_result result = pelt_load(context, paths, 1, &w->settings->load, &model);
    if (result == PELT_OK)
        result = pelt_binding_reuse(w->binding, model, &binding);
    if (result == PELT_OK)
        result = pelt_binding_apply(binding, NULL);
    if (result == PELT_OK)
        result = pelt_save(context, model, also->output, &save);
    if (result == PELT_OK)
        also->report = pelt_binding_report(binding);
    pelt_binding_destroy(binding);
    pelt_model_destroy(model);
    if (result == PELT_OK && also->report.outside_count)
        warn(w->session, "%s: %s of %s vertices are outside of the voxels of the first mesh; they move as the nearest",
             also->input, grouped(also->report.outside_count), grouped(also->report.vertex_count));
    return result;
}

pelt_result bind_also_run(bind_work *w) {
    pelt_result result = PELT_OK;
    for (size_t n = 0; n < w->also_count && result == PELT_OK; n++)
        result = weigh(w, &w->also[n]);
    return result;
}

void bind_also_json(const bind_work *w, cli_json *json) {
    json_open(json, "also", '[');
    for (size_t n = 0; n < w->also_count; n++) {
        const pelt_bind_report *r = &w->also[n].report;
        json_open(json, NULL, '{');
        json_text(json, "input", w->also[n].input);
        json_text(json, "output", w->also[n].output);
        json_count(json, "vertices", r->vertex_count);
        json_count(json, "outside_vertices", r->outside_count);
        json_real(json, "seconds", r->seconds_solve + r->seconds_weights);
        json_close(json, '}');
    }
    json_close(json, ']');
}

void bind_also_rows(const bind_work *w, cli_table *table) {
    for (size_t n = 0; n < w->also_count; n++) {
        const pelt_bind_report *r = &w->also[n].report;
        table_row(table, n ? "" : "also", "%s: %s vertices, %.3f s", w->also[n].output, grouped(r->vertex_count),
                  r->seconds_solve + r->seconds_weights);
    }
}
