/* Tables of docs/papers/voxel-binding.md: what Dionne and de Lasa (2013) state, measured on the characters.
 *
 *   --defects   their Table 1: faces, non-manifold edges, shells, intersecting faces; and holes
 *   --methods   figures 2 and 8: methods against the artists' weights, and what a limit of four influences takes away
 *   --coarse    figure 7: how weights change on coarser grids
 *   --curve     figure 5: the weighting function, relative to its value at distance 0.05
 *
 * and of docs/bind.md: --figures and --distances, settings against the artists' weights.
 */
#include "bind_bench.h"
#include "rig_measures.h"

#include "bind/apply.h"
#include "core/core.h"

#include <pelt/bind.h>
#include <pelt/collide.h>
#include <pelt/io.h>
#include <pelt/measure.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Table 1 ------------------------------------------------------------------------------------------------- */

static pelt_result print_defects(pelt_context *context, const bind_bench *b, const character *c) {
    pelt_model *model = NULL;
    const char *reason;
    pelt_mesh_defects d;
    pelt_contacts crossing = {0};
    float start = 0;
    (void)b;
    pelt_result result = character_load(context, c, &model, &reason);
    if (result == PELT_OK)
        result = pelt_model_weld(context, model);
    if (result == PELT_OK)
        result = pelt_mesh_count_defects(context, &model->mesh, &d);
    pelt_mover mover = {.model = model, .frame_count = 1, .times = &start};
    if (result == PELT_OK)
        result = pelt_collide(context, &mover, NULL, 0, &crossing);
    if (result == PELT_OK)
        printf("| %-18s | %6u | %5u | %5u | %5u | %5u | %6u |\n", c->name, model->mesh.triangle_count,
               d.nonmanifold_vertex_count, d.nonmanifold_edge_count, d.shell_count, d.hole_count,
               crossing.triangle_count[0]);
    pelt_model_destroy(model);
    return result;
}

int bind_defects(pelt_context *context, const bind_bench *b) {
    static const struct {
        const char *name;
        uint32_t faces, nonmanifold, shells, crossing;
    } paper[] = {
        {"Bloat", 4680, 3, 6, 399},          {"Boomer", 5297, 0, 11, 472},    {"Mercenary", 9236, 1, 155, 3029},
        {"Radioactive", 10479, 0, 97, 2842}, {"Sledge", 12850, 5, 390, 6772}, {"Engineer", 13217, 0, 108, 2845},
        {"Parasite", 17570, 2, 88, 4763},    {"Hunter", 17968, 2, 140, 6758}, {"Shockwave", 23181, 7, 660, 14982},
        {"Pilot", 35644, 0, 239, 9528},      {"Beast", 54236, 0, 1, 0}};
    printf("| character | faces | non-manifold vertices | edges | shells | holes | intersecting faces |\n"
           "|---|---:|---:|---:|---:|---:|---:|\n");
    int code = bind_each(context, b, print_defects);
    for (size_t p = 0; p < PX_COUNT(paper); p++)
        printf("| %s (published) | %u | %u of both kinds | | %u | | %u |\n", paper[p].name, paper[p].faces,
               paper[p].nonmanifold, paper[p].shells, paper[p].crossing);
    return code;
}

/* ---- Methods --------------------------------------------------------------------------------------------------- */

/* Means over characters. */
typedef struct claims {
    double l1, clip, bend, seconds;
    double small; /* weights below SMALL per vertex, of the eight largest */
    double cut;   /* sum of the weights beyond the four largest, % */
    uint32_t count, clip_count;
} claims;

#define SMALL 0.05f

static void count_small(const pelt_model *model, claims *out) {
    const pelt_skin *skin = &model->skin;
    double small = 0, cut = 0;
    for (size_t i = 0; i < model->mesh.vertex_count; i++)
        for (uint32_t e = 0; e < skin->influence_count; e++) {
            float weight = skin->weights[i * skin->influence_count + e];
            small += weight > 0 && weight < SMALL;
            cut += e >= 4 ? (double)weight : 0; /* the largest come first */
        }
    out->small += small / model->mesh.vertex_count;
    out->cut += 100 * cut / model->mesh.vertex_count;
}

static pelt_result add_claims(pelt_context *context, const bind_bench *b, const bind_bench *wide, const character *c,
                              claims *out) {
    pelt_model *artist = NULL, *model = NULL, *eight = NULL;
    const char *reason = NULL;
    rig_measures measures;
    bind_figures figures, unused;
    pelt_result result = character_load(context, c, &artist, &reason);
    if (result == PELT_OK && !reason)
        result = bind_loaded(context, b, NULL, c, &model, &figures);
    if (result == PELT_OK && !reason)
        result = rig_compare(context, artist, model, NULL, &measures);
    if (result == PELT_OK && !reason)
        result = bind_loaded(context, wide, NULL, c, &eight, &unused);
    if (result == PELT_OK && !reason) {
        out->count++;
        out->l1 += measures.l1;
        out->bend += measures.bend_pooled;
        out->seconds += figures.total;
        out->clip += isnan(measures.clip_percent) ? 0 : measures.clip_percent;
        out->clip_count += !isnan(measures.clip_percent);
        count_small(eight, out);
    }
    pelt_model_destroy(artist);
    pelt_model_destroy(model);
    pelt_model_destroy(eight);
    return result;
}

static void set(bind_bench *b, const char *setting) {
    if (b->setting_count < MAX_SETTINGS)
        b->settings[b->setting_count++] = setting;
}

int bind_methods(pelt_context *context, const bind_bench *b) {
    static const struct {
        const char *name, *settings[6];
    } rows[] = {{"closest distance", {"method=closest", "curve=paper", "rigid-parts=off"}},
                {"closest in hierarchy", {"method=hierarchy", "curve=paper", "rigid-parts=off"}},
                {"heat on the surface", {"method=surface", "rigid-parts=off"}},
                {"`--preset voxel2013`", {"preset=voxel2013"}},
                {"`--method geodesic`", {"method=geodesic"}},
                {"default", {NULL}}};
    character_list list = characters_find(b->filter);
    int code = 0;
    printf("| method | characters | L1 | E %% | R | weights below 0.05 per vertex | beyond four influences %% | "
           "seconds |\n"
           "|---|---:|---:|---:|---:|---:|---:|---:|\n");
    for (size_t r = 0; r < PX_COUNT(rows); r++) {
        bind_bench own = *b, wide;
        claims sum = {0};
        for (size_t s = 0; s < 6 && rows[r].settings[s]; s++)
            set(&own, rows[r].settings[s]);
        wide = own;
        set(&wide, "influences=8");
        set(&wide, "prune=0");
        set(&wide, "rigid-parts=off");
        for (size_t c = 0; c < list.count; c++)
            if (add_claims(context, &own, &wide, &list.items[c], &sum) != PELT_OK) {
                fprintf(stderr, "failed: %s: %s\n", list.items[c].name, pelt_error_text(context));
                code = 1;
            }
        double n = sum.count ? sum.count : 1;
        printf("| %s | %u | %.3f | %.3f | %.3f | %.2f | %.2f | %.2f |\n", rows[r].name, sum.count, sum.l1 / n,
               sum.clip_count ? sum.clip / sum.clip_count : NAN, sum.bend / n, sum.small / n, sum.cut / n,
               sum.seconds / n);
        fflush(stdout);
    }
    characters_free(&list);
    return code;
}

/* ---- Settings against the artists' weights ------------------------------------------------------------------- */

#define MAX_CHARACTERS 256

typedef struct setting_row {
    const char *name, *settings[4];
} setting_row;

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Binds all characters and prints a row of means. */
static int print_setting(pelt_context *context, const bind_bench *b, const character_list *list,
                         const setting_row *row) {
    double l1s[MAX_CHARACTERS], l1 = 0, clip = 0, bend = 0;
    uint32_t count = 0, clip_count = 0;
    bind_bench own = *b;
    int code = 0;
    for (size_t s = 0; s < PX_COUNT(row->settings) && row->settings[s]; s++)
        set(&own, row->settings[s]);
    for (size_t c = 0; c < list->count && count < MAX_CHARACTERS; c++) {
        pelt_model *artist = NULL, *model = NULL;
        const char *reason = NULL;
        rig_measures measures;
        bind_figures figures;
        pelt_result result = character_load(context, &list->items[c], &artist, &reason);
        if (result == PELT_OK && !reason)
            result = bind_loaded(context, &own, NULL, &list->items[c], &model, &figures);
        if (result == PELT_OK && !reason)
            result = rig_compare(context, artist, model, NULL, &measures);
        pelt_model_destroy(artist);
        pelt_model_destroy(model);
        if (result != PELT_OK) {
            fprintf(stderr, "failed: %s: %s\n", list->items[c].name, pelt_error_text(context));
            code = 1;
        }
        if (result != PELT_OK || reason)
            continue;
        l1 += l1s[count++] = measures.l1;
        bend += measures.bend_pooled;
        if (!isnan(measures.clip_percent)) {
            clip += measures.clip_percent;
            clip_count++;
        }
    }
    if (count == 0)
        return 1;
    qsort(l1s, count, sizeof *l1s, ascending);
    printf("| %s | %u | %.3f | %.3f | %.3f | %.3f |\n", row->name, count, l1 / count,
           0.5 * (l1s[(count - 1) / 2] + l1s[count / 2]), clip_count ? clip / clip_count : NAN, bend / count);
    fflush(stdout);
    return code;
}

static int print_settings(pelt_context *context, const bind_bench *b, const setting_row *rows, size_t row_count) {
    character_list list = characters_find(b->filter);
    int code = 0;
    printf("| settings | characters | L1, mean | median | E %% | R |\n"
           "|---|---:|---:|---:|---:|---:|\n");
    for (size_t r = 0; r < row_count; r++)
        code |= print_setting(context, b, &list, &rows[r]);
    characters_free(&list);
    return code;
}

int bind_figures_table(pelt_context *context, const bind_bench *b) {
    static const setting_row rows[] = {
        {"default", {NULL}},
        {"`--joints all`", {"joints=all"}},
        {"`--resolution 128`", {"resolution=128"}},
        {"`--rigid-parts off`", {"rigid-parts=off"}},
        {"`--method geodesic --curve paper`", {"method=geodesic", "curve=paper"}},
        {"`--method geodesic`", {"method=geodesic"}},
    };
    return print_settings(context, b, rows, PX_COUNT(rows));
}

int bind_distances(pelt_context *context, const bind_bench *b) {
    static const setting_row rows[] = {
        {"`--distance paper --curve sharp`", {"method=geodesic", "distance=paper", "curve=sharp"}},
        {"`--distance isotropic --curve sharp`", {"method=geodesic", "distance=isotropic", "curve=sharp"}},
        {"`--distance paper --curve paper`", {"method=geodesic", "distance=paper", "curve=paper"}},
        {"`--distance isotropic --curve paper`", {"method=geodesic", "distance=isotropic", "curve=paper"}},
    };
    return print_settings(context, b, rows, PX_COUNT(rows));
}

/* ---- Coarse grids ------------------------------------------------------------------------------------------------ */

#define GRIDS 4

static pelt_result bind_coarse_model(pelt_context *context, const character *c, const char *grid, pelt_model **model,
                                     pelt_bind_report *report) {
    const char *paths[] = {c->path};
    pelt_bind_desc desc = pelt_bind_desc_default();
    PX_TRY(pelt_options_preset(context, pelt_bind_options(), &desc, "voxel2013"));
    desc.grid = grid;
    PX_TRY(pelt_load(context, paths, 1, NULL, model));
    return pelt_bind(context, *model, &desc, report);
}

/* Difference of the weights on each grid from those on the finest. */
static pelt_result print_coarse(pelt_context *context, const bind_bench *b, const character *c) {
    static const char *const grids[GRIDS] = {"256,256,128", "128,128,64", "64,64,32", "32,32,16"};
    pelt_model *models[GRIDS] = {NULL};
    pelt_bind_report reports[GRIDS];
    pelt_result result = PELT_OK;
    rig_measures measures[GRIDS];
    (void)b;
    for (size_t g = 0; g < GRIDS && result == PELT_OK; g++) {
        result = bind_coarse_model(context, c, grids[g], &models[g], &reports[g]);
        if (result == PELT_OK)
            result = rig_compare(context, models[0], models[g], NULL, &measures[g]);
    }
    if (result == PELT_OK) {
        printf("| %-18s | %u |", c->name, reports[0].touching_count);
        for (size_t g = 1; g < GRIDS; g++)
            printf(" %.3f |", measures[g].l1);
        printf("\n");
    }
    for (size_t g = 0; g < GRIDS; g++)
        pelt_model_destroy(models[g]);
    return result;
}

int bind_coarse(pelt_context *context, const bind_bench *b) {
    printf(
        "| character | limbs touch at 256 × 256 × 128, voxels | L1 at 128 × 128 × 64 | 64 × 64 × 32 | 32 × 32 × 16 |\n"
        "|---|---:|---:|---:|---:|\n");
    return bind_each(context, b, print_coarse);
}

/* ---- Weighting function ------------------------------------------------------------------------------------------ */

int bind_curve(pelt_context *context, const bind_bench *b) {
    static const double distances[] = {0.05, 0.1, 0.2, 0.4, 0.8}, alphas[] = {0, 0.5, 0.7, 1};
    (void)context, (void)b;
    printf("| distance | α = 0 | 0.5 | 0.7 | 1 | 0.7, sharp |\n|---:|---:|---:|---:|---:|---:|\n");
    for (size_t d = 0; d < PX_COUNT(distances); d++) {
        double first = px_bind_falloff(distances[0], 0.7, PELT_BIND_CURVE_SHARP);
        printf("| %g |", distances[d]);
        for (size_t a = 0; a < PX_COUNT(alphas); a++)
            printf(" %.5f |", px_bind_falloff(distances[d], alphas[a], PELT_BIND_CURVE_PAPER) /
                                  px_bind_falloff(distances[0], alphas[a], PELT_BIND_CURVE_PAPER));
        printf(" %.7f |\n", px_bind_falloff(distances[d], 0.7, PELT_BIND_CURVE_SHARP) / first);
    }
    return 0;
}
