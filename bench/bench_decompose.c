/* Decompositions of the three bench animations (if present) and of generated scenes: error and seconds per phase.
 *
 * Prints the table of docs/decompose.md. The errors are the solver's own estimate in double precision; what a file
 * reaches differs by rounding and by the keys left out, and `pelt decompose` reports it.
 *
 *   bench_decompose [NAME]     only animations whose name begins like this
 */
#include "animations.h"

static const struct {
    const char *name;
    uint32_t kind;
} kinds[] = {{"affine", PELT_TRANSFORMS_AFFINE}, {"trs", PELT_TRANSFORMS_TRS}, {"rigid", PELT_TRANSFORMS_RIGID}};

static int fail(pelt_context *context, const char *what) {
    fprintf(stderr, "bench_decompose: %s: %s\n", what, pelt_error_text(context));
    return 1;
}

/* One row of the table. */
static int run_kind(pelt_context *context, const animation *a, size_t kind) {
    pelt_model *model = NULL;
    if (animation_open(context, a, &model) != PELT_OK)
        return fail(context, a->name);
    pelt_decompose_desc desc = pelt_decompose_desc_default();
    desc.bones = a->bone_count;
    desc.transforms = kinds[kind].kind;
    pelt_decompose_report r;
    pelt_result result = pelt_decompose(context, model, &desc, &r);
    if (result == PELT_OK)
        printf("| %-12s | %6u | %4u | %3u | %-6s | %4u | %3u | %6.3f | %6.3f | %6.3f | %6.3f | %6.3f |\n", a->name,
               r.vertex_count, r.frame_count, r.bone_count, kinds[kind].name, r.dimension, r.iteration_count,
               r.error_fit, r.seconds_reduce, r.seconds_seed, r.seconds_solve,
               r.seconds_reduce + r.seconds_seed + r.seconds_solve);
    pelt_model_destroy(model);
    return result == PELT_OK ? 0 : fail(context, a->name);
}

int main(int count, char **texts) {
    pelt_blas_single_thread();
    pelt_context *context;
    if (pelt_context_create(NULL, &context) != PELT_OK)
        return 1;
    int code = 0;
    printf(
        "| animation    |      N |    F |   P | bones  |    d | its |  E_rms | reduce |   seed |  solve |  total |\n"
        "|--------------|-------:|-----:|----:|--------|-----:|----:|-------:|-------:|-------:|-------:|-------:|\n");
    for (size_t n = 0; n < ANIMATION_COUNT && code == 0; n++)
        if (animation_wanted(&animations[n], count > 1 ? texts[1] : NULL))
            for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0] && code == 0; kind++)
                code = run_kind(context, &animations[n], kind);
    pelt_context_destroy(context);
    return code;
}
