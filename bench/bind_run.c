/* Running the binder for the tables. */
#include "bind_bench.h"

#include "core/core.h"

#include <pelt/bind.h>
#include <pelt/io.h>

#include <stdio.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* "NAME=VALUE". */
static pelt_result set_option(pelt_context *context, pelt_bind_desc *desc, const char *setting) {
    char name[64];
    size_t length = strcspn(setting, "=");
    if (length >= sizeof name)
        return px_fail(context, PELT_ERROR_USAGE, "'%s' is no option of the binder", setting);
    memcpy(name, setting, length);
    name[length] = 0;
    if (strcmp(name, "preset") == 0)
        return pelt_options_preset(context, pelt_bind_options(), desc, setting + length + (setting[length] != 0));
    return pelt_options_set(context, pelt_bind_options(), desc, name, setting[length] ? setting + length + 1 : NULL);
}

pelt_result bind_with(pelt_context *context, const bind_bench *b, const char *setting, pelt_model *model,
                      bind_figures *figures) {
    pelt_bind_desc desc = pelt_bind_desc_default();
    for (uint32_t s = 0; s < b->setting_count; s++)
        PX_TRY(set_option(context, &desc, b->settings[s]));
    if (setting)
        PX_TRY(set_option(context, &desc, setting));
    pelt_bind_report report;
    double start = now();
    clock_t start_cpu = clock();
    PX_TRY(pelt_bind(context, model, &desc, &report));
    *figures = (bind_figures){
        .voxelize = report.seconds_voxelize,
        .solve = report.seconds_solve,
        .weights = report.seconds_weights,
        .total = now() - start,
        .cpu = (double)(clock() - start_cpu) / CLOCKS_PER_SEC,
        .voxel_count = (uint64_t)report.interior_voxel_count + report.boundary_voxel_count,
        .block_size = report.block_size,
        .solved_count = report.solved_voxel_count,
    };
    return PELT_OK;
}

pelt_result bind_loaded(pelt_context *context, const bind_bench *b, const char *setting, const character *c,
                        pelt_model **model, bind_figures *figures) {
    const char *paths[] = {c->path};
    PX_TRY(pelt_load(context, paths, 1, NULL, model));
    pelt_result result = bind_with(context, b, setting, *model, figures);
    if (result != PELT_OK) {
        pelt_model_destroy(*model);
        *model = NULL;
    }
    return result;
}

/* Dense and coarse meshes, one part and many, few joints and many, upright and not. */
static const char *const few[] = {"Military_Male_03",  "Male_Adult_12", "Stag",      "Witch",
                                  "dragon-animations", "Fox",           "human_game"};

static bool is_wanted(pelt_context *context, const bind_bench *b, const character *c) {
    bool wanted = b->filter != NULL;
    for (size_t n = 0; n < PX_COUNT(few); n++)
        wanted |= strcmp(c->name, few[n]) == 0;
    pelt_model *model = NULL;
    const char *reason = NULL;
    wanted = wanted && character_load(context, c, &model, &reason) == PELT_OK && !reason;
    pelt_model_destroy(model);
    return wanted;
}

int bind_each(pelt_context *context, const bind_bench *b, bind_row_fn *run) {
    character_list list = characters_find(b->filter);
    int code = 0;
    for (size_t c = 0; c < list.count; c++)
        if (is_wanted(context, b, &list.items[c]) && run(context, b, &list.items[c]) != PELT_OK) {
            printf("failed: %s: %s\n", list.items[c].name, pelt_error_text(context));
            code = 1;
        }
    characters_free(&list);
    return code;
}
