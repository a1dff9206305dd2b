/* Any bytes as a USD file or package: read, validate, pose, write. */
#include "chain.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const names[] = {"fuzz.usda", "fuzz.usdz", "fuzz.glb", "fuzz.fbx"};
    pelt_context *context = fuzz_context();
    uint32_t choice = fuzz_choice(data, size);
    pelt_load_desc desc = fuzz_load_desc(choice);
    pelt_model *model;
    if (fuzz_done(context, pelt_load_memory(context, data, size, "fuzz.usda", &desc, &model)))
        fuzz_use(context, model, names[choice / 4 % 4], choice);
    pelt_model_destroy(model);
    pelt_context_destroy(context);
    return 0;
}
