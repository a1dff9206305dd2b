/* Any bytes as an FBX file: read, validate, pose, write. */
#include "chain.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pelt_context *context = fuzz_context();
    uint32_t choice = fuzz_choice(data, size);
    pelt_load_desc desc = fuzz_load_desc(choice);
    pelt_model *model;
    if (fuzz_done(context, pelt_load_memory(context, data, size, "fuzz.fbx", &desc, &model)))
        fuzz_use(context, model, choice & 1 ? "fuzz.fbx" : "fuzz.glb", choice);
    pelt_model_destroy(model);
    pelt_context_destroy(context);
    return 0;
}
