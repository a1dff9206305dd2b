/* Method sma: bones from clusters of triangles with similar rotations, then weights, without iteration (James, Twigg
 * 2005); see sma.h. */
#include "decompose/decomposer.h"

#define LEAST_RIGID 0.5 /* η below which the paper's §7 calls an animation a poor candidate for skinning */

static void *copy_of(px_arena *arena, const void *data, size_t count, size_t size) {
    void *copy = px_arena_alloc(arena, count, size);
    return copy && count > 0 ? memcpy(copy, data, count * size) : copy;
}

/* Copies clusters into another arena. */
static pelt_result copy_clusters(const px_sma *from, size_t row_count, px_arena *arena, px_sma *to) {
    *to = *from;
    to->corners = copy_of(arena, from->corners, from->triangle_count, sizeof *from->corners);
    to->masses = copy_of(arena, from->masses, from->triangle_count, sizeof *from->masses);
    to->bones = copy_of(arena, from->bones, from->triangle_count, sizeof *from->bones);
    to->rotations = copy_of(arena, from->rotations, 3 * row_count * from->bone_count, sizeof *from->rotations);
    return to->corners && to->masses && to->bones && to->rotations ? PELT_OK : PELT_ERROR_MEMORY;
}

/* The clusters, from the cache if it has them. */
static pelt_result find_clusters(pelt_decomposer *d) {
    pelt_decompose_cache *cache = d->cache;
    size_t rows = d->fit.row_count;
    if (cache && cache->memory && cache->rotation_tolerance == d->desc.rotation_tolerance &&
        cache->published == d->desc.published)
        return copy_clusters(&cache->sma, rows, d->fit.arena, &d->sma);
    PX_TRY(px_sma_find(&d->sma, &d->fit, d->model, &d->plan, &d->desc));
    if (!cache)
        return PELT_OK;
    px_arena_destroy(cache->memory);
    cache->memory = px_arena_create(cache->context);
    cache->rotation_tolerance = d->desc.rotation_tolerance;
    cache->published = d->desc.published;
    pelt_result result = cache->memory ? copy_clusters(&d->sma, rows, cache->memory, &cache->sma) : PELT_ERROR_MEMORY;
    if (result != PELT_OK) {
        px_arena_destroy(cache->memory);
        cache->memory = NULL;
    }
    return result;
}

static pelt_result count_bones(pelt_decomposer *d, uint32_t *count) {
    PX_TRY(find_clusters(d));
    d->report.near_rigid = (double)d->sma.member_count / d->sma.triangle_count;
    d->report.core_fraction = (double)d->sma.core_count / d->sma.triangle_count;
    d->report.flat_count = d->sma.flat_count;
    if (d->report.near_rigid < LEAST_RIGID)
        px_log(d->fit.context, PELT_LOG_WARNING,
               "only %.0f %% of the triangles move with a bone: the method sma suits this animation badly, the default "
               "method does not depend on it",
               100 * d->report.near_rigid);
    *count = d->sma.bone_count;
    return PELT_OK;
}

/* Extension of the paper: the transforms are fitted to all vertices with the weights found. The weights must be the
 * final, non-negative ones: bones fitted to negative weights are useless without them. */
static pelt_result fit_to_vertices(pelt_decomposer *d) {
    if (d->report.negative_count > 0)
        PX_TRY(px_sma_convex(&d->fit));
    PX_TRY(px_fit_moments(&d->fit));
    PX_TRY(px_fit_transforms(&d->fit));
    px_fit_gram(&d->fit);
    return px_fit_measure(&d->fit);
}

/* Without a rig the bones are those of the clusters; SMA §5 takes bones of any origin. */
static pelt_result start(pelt_decomposer *d) {
    double start = px_seconds();
    if (d->given.rig) {
        PX_TRY(px_given_start(&d->given, &d->fit, &d->plan, d->model, &d->desc));
        px_fit_gram(&d->fit);
    } else
        PX_TRY(px_sma_bones(&d->sma, &d->fit));
    PX_TRY(px_sma_weights(&d->fit, &d->desc));
    d->report.error_weights = pelt_decomposer_error(d);
    d->report.negative_count = px_sma_negative(&d->fit);
    if (d->given.rig && d->report.negative_count > 0 && !d->desc.published)
        PX_TRY(px_sma_convex(&d->fit));
    else if (!d->given.rig && !d->desc.published)
        PX_TRY(fit_to_vertices(d));
    d->report.seconds_solve = px_seconds() - start;
    return PELT_OK;
}

const px_decompose_method px_method_sma = {
    .name = "sma",
    .keeps_rest = true,
    .count_bones = count_bones,
    .count_setting = "rotation_tolerance",
    .start = start,
};
