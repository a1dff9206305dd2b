/* Any bytes as a glTF file: read, validate, weld, pose, write; then write again with nouns replaced, as algorithms do,
 * and without the document that it came from. */
#include "chain.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pelt_context *context = fuzz_context();
    pelt_model *model;
    if (fuzz_done(context, pelt_load_memory(context, data, size, "fuzz.glb", NULL, &model))) {
        fuzz_use(context, model, "glb");
        model->changed = 1u << size % 5; /* another noun for other inputs */
        fuzz_done(context, pelt_save(context, model, fuzz_sink("glb"), NULL));
        model->document = NULL;
        fuzz_done(context, pelt_save(context, model, fuzz_sink("glb"), NULL));
    }
    pelt_model_destroy(model);
    pelt_context_destroy(context);
    return 0;
}
