/* Decompositions of the three bench animations (when they are there) and of our scenes: error and seconds per phase.
 *
 * Prints the table of docs/decompose.md. Errors are measured against the input on the model that comes out, so they
 * include rounding to floats.
 *
 *   bench_decompose [NAME]     only animations whose name begins like this
 */
#include "../scenes/scenes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct animation {
    const char *name, *scene; /* scene NULL: NAME.obj and NAME.pc2 of the bench data */
    uint32_t vertex_count, frame_count, bone_count;
} animation;

/* Bones as in the papers' tables; the scenes' by eye. */
static const animation animations[] = {
    {"horse-gallop", NULL, 0, 0, 30},  {"elastic-cow", NULL, 0, 0, 18},         {"samba", NULL, 0, 0, 30},
    {"cloth", "cloth", 5000, 200, 32}, {"softbody", "softbody", 5000, 100, 20},
};

static const struct {
    const char *name;
    uint32_t kind;
} kinds[] = {{"affine", PELT_TRANSFORMS_AFFINE}, {"rigid", PELT_TRANSFORMS_RIGID}};

static int fail(pelt_context *context, const char *what) {
    fprintf(stderr, "bench_decompose: %s: %s\n", what, pelt_error_text(context));
    return 1;
}

static const char *data_path(char out[static 1024], const char *name, const char *extension) {
    const char *folder = getenv("PELT_DATA");
    snprintf(out, 1024, "%s/bench/%s.%s", folder ? folder : "../shared/data", name, extension);
    return out;
}

static pelt_result open_animation(pelt_context *context, const animation *a, pelt_model **model) {
    if (a->scene) {
        scene_desc desc = {.vertex_count = a->vertex_count, .frame_count = a->frame_count, .seed = 1};
        return scene_find(a->scene)->make(context, &desc, model);
    }
    char mesh[1024], cache[1024];
    const char *const paths[] = {data_path(mesh, a->name, "obj"), data_path(cache, a->name, "pc2")};
    return pelt_load(context, paths, 2, NULL, model);
}

/* One row of the table. */
static int run_kind(pelt_context *context, const animation *a, size_t kind) {
    pelt_model *model = NULL;
    if (open_animation(context, a, &model) != PELT_OK)
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
    pelt_context *context;
    if (pelt_context_create(NULL, &context) != PELT_OK)
        return 1;
    int code = 0;
    printf(
        "| animation    |      N |    F |   P | bones  |    d | its |  E_rms | reduce |   seed |  solve |  total |\n"
        "|--------------|-------:|-----:|----:|--------|-----:|----:|-------:|-------:|-------:|-------:|-------:|\n");
    for (size_t n = 0; n < sizeof animations / sizeof animations[0] && code == 0; n++) {
        const animation *a = &animations[n];
        char path[1024];
        if (count > 1 && strncmp(a->name, texts[1], strlen(texts[1])) != 0)
            continue;
        if (!a->scene && access(data_path(path, a->name, "pc2"), R_OK) != 0) {
            printf("skipped: no real data at %s\n", path);
            continue;
        }
        for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0] && code == 0; kind++)
            code = run_kind(context, a, kind);
    }
    pelt_context_destroy(context);
    return code;
}
