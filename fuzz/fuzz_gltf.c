/* Any bytes as a glTF file: read, validate, weld, pose, write. Then, by choice: with its motions joined, with any
 * combination of pelt_change as after algorithms, with vertex colours, with fewer vertices, as levels of detail, without
 * its source document. */
#include "chain.h"

#include <unistd.h>

/* Reads the file again with its first two motions joined by name: succeeds, or fails with an error message. */
static void join_by_names(pelt_context *context, const uint8_t *data, size_t size, const pelt_model *model,
                          uint32_t choice) {
    char names[256];
    pelt_load_desc desc = pelt_load_desc_default();
    pelt_model *joined;
    if (model->motion_count < 2)
        return;
    snprintf(names, sizeof names, "%s+%s", model->motions[0].name, model->motions[1].name);
    desc.join = names;
    pelt_result result = pelt_load_memory(context, data, size, "fuzz.glb", &desc, &joined);
    if (result == PELT_ERROR_USAGE) /* both move the same, or a name has a comma */
        FUZZ_REQUIRE(pelt_error_text(context)[0] != 0);
    else if (fuzz_done(context, result))
        fuzz_use(context, joined, "fuzz.glb", choice);
    pelt_model_destroy(joined);
}

#define FUZZ_MAX_VERTICES 1000u /* of meshes that are simplified */

/* Colours by position; NULL when out of memory. */
static float *make_colors(pelt_context *context, pelt_model *model, uint32_t vertex_count) {
    float *colors = pelt_model_alloc(context, model, vertex_count, 3 * sizeof(float));
    for (size_t e = 0; colors && e < 3 * (size_t)vertex_count; e++)
        colors[e] = (float)(e % 7) / 6;
    return colors;
}

/* Colours of the mesh and of its first morph, as pelt_light leaves them. */
static void add_colors(pelt_context *context, pelt_model *model) {
    model->mesh.colors = make_colors(context, model, model->mesh.vertex_count);
    if (model->morphs.morph_count)
        model->morphs.morphs[0].colors = make_colors(context, model, model->morphs.morphs[0].vertex_count);
    if (model->mesh.colors)
        model->changed |= PELT_CHANGED_COLORS;
    if (model->morphs.morph_count && model->morphs.morphs[0].colors)
        model->changed |= PELT_CHANGED_MORPHS;
}

/* "/tmp/pelt_fuzz_123.glb", a link to /dev/null: written to as a device, directly. */
static char sink[64];
static void remove_sink(void) {
    unlink(sink);
}
static const char *make_sink(void) {
    if (!sink[0]) {
        snprintf(sink, sizeof sink, "/tmp/pelt_fuzz_%ld.glb", (long)getpid());
        unlink(sink);
        FUZZ_REQUIRE(symlink("/dev/null", sink) == 0);
        atexit(remove_sink);
    }
    return sink;
}

/* PELT_CHANGED_VERTICES: levels of detail, alone and in one file. */
static void save_levels(pelt_context *context, pelt_model *model, const pelt_save_desc *save) {
    static const double ratios[] = {0.6, 0.3};
    pelt_model *made[2];
    if (model->mesh.triangle_count == 0 || model->mesh.vertex_count > FUZZ_MAX_VERTICES)
        return;
    if (!fuzz_done(context, pelt_simplify_levels(context, model, NULL, ratios, 2, made, NULL)))
        return;
    const pelt_model *levels[] = {model, made[0], made[1]};
    fuzz_save(context, made[1], "fuzz.glb", save);
    fuzz_done(context, pelt_save_levels(context, levels, 3, make_sink(), save));
    pelt_model_destroy(made[0]);
    pelt_model_destroy(made[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint32_t choice = fuzz_choice(data, size), changes = choice * 2654435761u >> 16, steps = choice >> 12;
    pelt_load_desc desc = fuzz_load_desc(choice);
    pelt_save_desc save = fuzz_save_desc(choice);
    pelt_context *context = fuzz_context();
    pelt_model *model;
    if (fuzz_done(context, pelt_load_memory(context, data, size, "fuzz.glb", &desc, &model))) {
        fuzz_use(context, model, "fuzz.glb", choice);
        if (steps % 4 == 0)
            join_by_names(context, data, size, model, choice);
        model->changed = changes % PELT_CHANGED_COLORS; /* any of the others that need no other data */
        if (changes / PELT_CHANGED_COLORS % 2)
            add_colors(context, model);
        if (steps % 4 == 1)
            save_levels(context, model, &save);
        if (steps % 4 == 2)
            model->document = NULL;
        if (steps % 4 >= 2)
            fuzz_save(context, model, "fuzz.glb", &save);
    }
    pelt_model_destroy(model);
    pelt_context_destroy(context);
    return 0;
}
