/* Whether a falloff means the same at every resolution: how many joints share a vertex, and the distance of the weights from
 * those at 256. */
#include "bind_bench.h"

#include "core/core.h"

#include <pelt/bind.h>
#include <pelt/io.h>
#include <pelt/measure.h>

#include <stdio.h>

enum { SIZES = 4, FALLOFFS = 3, REFERENCE = 2 };
static const double falloffs[FALLOFFS] = {0.3, 0.7, 1};

typedef struct totals {
    uint32_t count;
    double joints[FALLOFFS][SIZES], l1[FALLOFFS][SIZES];
} totals;
static totals sums; /* over all characters: rows have no other place to add to */

/* Mean of 1 / Σ w² over the vertices: 1 where one joint has all the weight, 2 where two share it evenly. */
static double joints_per_vertex(const pelt_model *model) {
    const pelt_skin *skin = &model->skin;
    double sum = 0;
    for (size_t i = 0; i < model->mesh.vertex_count; i++) {
        double square = 0;
        for (size_t e = i * skin->influence_count; e < (i + 1) * skin->influence_count; e++)
            square += (double)skin->weights[e] * (double)skin->weights[e];
        sum += 1 / square;
    }
    return sum / model->mesh.vertex_count;
}

static pelt_result measure(pelt_context *context, const character *c, pelt_model **models, pelt_binding **bindings) {
    const char *paths[] = {c->path};
    pelt_bind_desc desc = pelt_bind_desc_default();
    for (uint32_t n = 0; n < SIZES; n++) {
        desc.resolution = 64u << n;
        PX_TRY(pelt_load(context, paths, 1, NULL, &models[n]));
        PX_TRY(pelt_binding_create(context, models[n], &desc, &bindings[n]));
    }
    for (uint32_t f = 0; f < FALLOFFS; f++) {
        desc.falloff = falloffs[f];
        for (uint32_t n = 0; n < SIZES; n++)
            PX_TRY(pelt_binding_apply(bindings[n], &desc));
        for (uint32_t n = 0; n < SIZES; n++) {
            pelt_weight_difference difference;
            PX_TRY(pelt_compare_weights(context, models[REFERENCE], models[n], &difference));
            sums.joints[f][n] += joints_per_vertex(models[n]);
            sums.l1[f][n] += difference.l1_mean;
        }
    }
    sums.count++;
    return PELT_OK;
}

static pelt_result add_character(pelt_context *context, const bind_bench *b, const character *c) {
    (void)b;
    pelt_model *models[SIZES] = {0};
    pelt_binding *bindings[SIZES] = {0};
    pelt_result result = measure(context, c, models, bindings);
    for (uint32_t n = 0; n < SIZES; n++) {
        pelt_binding_destroy(bindings[n]);
        pelt_model_destroy(models[n]);
    }
    return result;
}

int bind_falloffs(pelt_context *context, const bind_bench *b) {
    sums = (totals){0};
    int code = bind_each(context, b, add_character);
    if (sums.count == 0)
        return code;
    printf("Means of %u characters: joints per vertex, and L1 from the weights at 256\n\n"
           "| `--falloff` | joints at 64 | at 128 | at 256 | at 512 | L1 at 64 | at 128 | at 512 |\n"
           "|---:|---:|---:|---:|---:|---:|---:|---:|\n",
           sums.count);
    for (uint32_t f = 0; f < FALLOFFS; f++) {
        printf("| %g |", falloffs[f]);
        for (uint32_t n = 0; n < SIZES; n++)
            printf(" %.3f |", sums.joints[f][n] / sums.count);
        for (uint32_t n = 0; n < SIZES; n++)
            if (n != REFERENCE)
                printf(" %.3f |", sums.l1[f][n] / sums.count);
        printf("\n");
    }
    return code;
}
