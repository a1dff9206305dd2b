/* Any bytes as an ASF file and, after the line "%%", an AMC file of it: read, validate, pose, retarget to itself. */
#include "chain.h"

static void retarget(pelt_context *context, pelt_model *model) {
    pelt_joint_match *matches = calloc(model->skeleton.joint_count, sizeof *matches);
    FUZZ_REQUIRE(matches);
    if (fuzz_done(context, pelt_match_joints(context, &model->skeleton, &model->skeleton, NULL, matches)))
        fuzz_done(context, pelt_retarget(context, model, &model->motions[0], matches, NULL, model, NULL));
    free(matches);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char border[] = "%%\n";
    size_t length = strlen(border), first = 0;
    while (first < size && (size - first < length || memcmp(data + first, border, length) != 0))
        first++;
    const uint8_t *end = data + size, *rest = first < size ? data + first + length : end;
    uint32_t choice = fuzz_choice(data, size);
    pelt_load_desc desc = fuzz_load_desc(choice);
    pelt_context *context = fuzz_context();
    pelt_model *model;
    if (fuzz_done(context, pelt_load_memory(context, data, first, "fuzz.asf", &desc, &model))) {
        if (fuzz_done(context, pelt_load_cache_memory(context, rest, (size_t)(end - rest), "fuzz.amc", &desc, model)) &&
            model->motion_count)
            retarget(context, model);
        fuzz_use(context, model, "fuzz.bvh", choice);
    }
    pelt_model_destroy(model);
    pelt_context_destroy(context);
    return 0;
}
