/* How few patterns of colour hold the light on a moving rig: E_rms of colours by rank, of truncated SVD and of NMF. */
#include "light/light.h"
#include "scenes.h"

#include <pelt/pelt.h>

#include <stdio.h>
#include <stdlib.h>

static void must(pelt_context *context, pelt_result result) {
    if (result == PELT_OK)
        return;
    fprintf(stderr, "bench_light: %s\n", pelt_error_text(context));
    exit(1);
}

static const uint32_t ranks[] = {1, 2, 3, 4, 6, 8, 12, 16};

static void print_light(pelt_context *context, const char *name, uint32_t kind) {
    scene_desc size = {.vertex_count = 1500, .frame_count = 32, .seed = 1};
    px_light l = {.context = context, .desc = pelt_light_desc_default(), .arena = px_arena_create(context)};
    l.desc.kind = kind;
    l.desc.directions = 128;
    must(context, scene_find(name)->make(context, &size, &l.model));
    must(context, px_light_take(&l));
    printf("%s, %s: %u frames, %u vertices\n%8s %8s %8s %8s\n", name, kind == PELT_LIGHT_SKY ? "sky" : "ambient",
           l.frame_count, l.model->mesh.weld.count, "rank", "SVD", "NMF", "ratio");
    for (size_t r = 0; r < PX_COUNT(ranks) && ranks[r] < l.frame_count; r++) {
        double *weights = PX_NEW(l.arena, double, (size_t)l.frame_count *ranks[r]), error;
        double *patterns = PX_NEW(l.arena, double, ranks[r] * l.column_count), bounds[PELT_LIGHT_RANK_MAX + 1];
        must(context, weights && patterns ? PELT_OK : PELT_ERROR_MEMORY);
        must(context,
             px_light_svd(context, l.colors, l.frame_count, l.column_count, ranks[r], weights, patterns, bounds));
        must(context, px_light_nmf(context, l.colors, l.frame_count, l.column_count, ranks[r], weights, patterns));
        must(context, px_light_error(context, l.colors, l.frame_count, l.column_count, ranks[r], weights, patterns,
                                     &error, NULL));
        printf("%8u %8.4f %8.4f %8.3f\n", ranks[r], bounds[ranks[r]], error, error / bounds[ranks[r]]);
    }
    pelt_model_destroy(l.model);
    px_arena_destroy(l.arena);
}

int main(void) {
    pelt_blas_single_thread();
    pelt_context *context;
    if (pelt_context_create(NULL, &context) != PELT_OK)
        return 1;
    print_light(context, "troll", PELT_LIGHT_AMBIENT);
    print_light(context, "creature", PELT_LIGHT_AMBIENT);
    print_light(context, "production", PELT_LIGHT_SKY);
    pelt_context_destroy(context);
    return 0;
}
