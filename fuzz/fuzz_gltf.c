/* Any bytes as a glTF file: read, validate, weld, pose, write; then write again with nouns replaced, as algorithms do,
 * and without the document that it came from. */
#include "chain.h"

/* Reads the file again with its first two motions joined by name: that succeeds, or is refused with a sentence. */
static void join_by_names(pelt_context *context, const uint8_t *data, size_t size, const pelt_model *model) {
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
        fuzz_use(context, joined, "glb", 0);
    pelt_model_destroy(joined);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint32_t choice = fuzz_choice(data, size);
    pelt_load_desc desc = fuzz_load_desc(choice);
    pelt_save_desc save = fuzz_save_desc(choice);
    pelt_context *context = fuzz_context();
    pelt_model *model;
    if (fuzz_done(context, pelt_load_memory(context, data, size, "fuzz.glb", &desc, &model))) {
        fuzz_use(context, model, "glb", choice);
        join_by_names(context, data, size, model);
        model->changed = 1u << size % 5; /* another noun for other inputs */
        fuzz_done(context, pelt_save(context, model, fuzz_sink("glb"), &save));
        model->document = NULL;
        fuzz_done(context, pelt_save(context, model, fuzz_sink("glb"), &save));
    }
    pelt_model_destroy(model);
    pelt_context_destroy(context);
    return 0;
}
