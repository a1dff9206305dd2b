/* Stores the modes as morphs of every node with a mesh, and their weights as tracks. */
#include "core/driver.h"
#include "core/morphs.h"
#include "correct/correct.h"

#include <math.h>
#include <stdio.h>

/* Displacements below this fraction of the radius vanish in the rounding of positions; exact zeros are not stored. */
#define NOTHING 0x1p-24

typedef struct apply_work {
    px_correction *c;
    px_morph_group *groups;
    uint32_t group_count;
    pelt_morph_set morphs;
    pelt_motion *motions;
    uint32_t motion_count;
    float *sampled; /* [existing morph] scratch */
    uint32_t count; /* morphs added to each group: modes of positions, then those of normals alone */
} apply_work;

/* ---- Morphs ----------------------------------------------------------------------------------------------- */

/* The vertices of a group, from one mode of an array [class][3][pitch]. */
static const float *spread(const apply_work *w, const px_morph_group *g, const pelt_vertex_classes *classes,
                           const double *array, size_t pitch, uint32_t mode, double nothing) {
    return px_morph_spread(w->c->model->memory, g, classes, array + mode, pitch, nothing);
}

/* Makes morph n of a group; `zeros`: displacements of a morph without any. */
static pelt_result make_morph(const apply_work *w, const px_morph_group *g, uint32_t n, const float *zeros,
                              pelt_morph *morph) {
    const px_correction *c = w->c;
    bool is_normal = n >= c->rank, shaded = is_normal || c->shared_count > 0;
    uint32_t column = is_normal ? c->shared_count + n - c->rank : n;
    char name[48];
    snprintf(name, sizeof name, is_normal ? "normal correction %u" : "correction %u",
             is_normal ? n - c->rank + 1 : n + 1);
    *morph = (pelt_morph){.name = px_arena_text(c->model->memory, name, strlen(name)),
                          .joint = g->joint,
                          .index = g->old_count + n,
                          .first_vertex = g->first_vertex,
                          .vertex_count = g->vertex_count,
                          .positions = zeros};
    if (!is_normal)
        morph->positions = spread(w, g, &c->classes, c->modes.places, c->rank_most, n, NOTHING * c->radius);
    if (shaded)
        morph->normals = spread(w, g, &c->normal_classes, c->normals, c->normal_rank, column, NOTHING);
    return morph->name && morph->positions && (morph->normals || !shaded) ? PELT_OK : PELT_ERROR_MEMORY;
}

static pelt_result make_morphs(apply_work *w) {
    const px_correction *c = w->c;
    uint32_t count = w->group_count * w->count;
    pelt_morph *added = PX_NEW(c->scratch, pelt_morph, count);
    float *zeros = w->count > c->rank ? PX_NEW(c->model->memory, float, 3 * (size_t)c->mesh.vertex_count) : NULL;
    if (!added || (w->count > c->rank && !zeros))
        return PELT_ERROR_MEMORY;
    for (uint32_t m = 0; m < count; m++)
        PX_TRY(make_morph(w, &w->groups[m / w->count], m % w->count, zeros, &added[m]));
    return px_morphs_with(c->model, added, count, &w->morphs);
}

/* ---- Tracks ----------------------------------------------------------------------------------------------- */

/* Weight of morph n, interpolated linearly between frames. *at: a frame not after `time`; advanced. */
static double weight_at(const px_correction *c, uint32_t n, uint32_t first, uint32_t end, uint32_t *at, float time) {
    const double *weights = n < c->rank ? c->modes.weights + (size_t)n * c->frame_count
                                        : c->normal_weights + (size_t)(c->shared_count + n - c->rank) * c->frame_count;
    while (*at + 1 < end && c->times[*at + 1] <= time)
        ++*at;
    if (*at + 1 == end || time <= c->times[first])
        return weights[*at];
    double u = ((double)time - (double)c->times[*at]) / ((double)c->times[*at + 1] - (double)c->times[*at]);
    return weights[*at] + u * (weights[*at + 1] - weights[*at]);
}

/* Keys at every frame and at all keys of the existing morphs. */
static pelt_result make_track(const apply_work *w, const px_morph_group *g, uint32_t pair, const pelt_motion *motion,
                              pelt_track *out) {
    const px_correction *c = w->c;
    uint32_t first = c->pair_frames[pair], end = c->pair_frames[pair + 1], at = first;
    float *values;
    PX_TRY(px_weights_rekey(c->model, motion, g->joint, g->old_count + w->count, c->times + first, end - first,
                            w->sampled, out, &values));
    for (uint32_t k = 0; k < out->key_count; k++)
        for (uint32_t n = 0; n < w->count; n++)
            values[(size_t)k * out->width + g->old_count + n] = (float)weight_at(c, n, first, end, &at, out->times[k]);
    return PELT_OK;
}

/* ---- Motions ---------------------------------------------------------------------------------------------- */

/* Copies a motion with extended weight tracks. pair: PELT_NONE if the motion is not corrected. old: NULL for a new
 * motion. */
static pelt_result make_motion(apply_work *w, const pelt_motion *old, uint32_t pair, pelt_motion *out) {
    px_correction *c = w->c;
    PX_TRY(px_motion_extend(c->model->memory, old, w->group_count, out));
    if (!old)
        out->name = c->pairs[pair].clip->name;
    for (uint32_t g = 0; g < w->group_count; g++) {
        const px_morph_group *one = &w->groups[g];
        pelt_track *track = px_weights_track(out, one->joint), made;
        if (pair != PELT_NONE) {
            PX_TRY(make_track(w, one, pair, old, &made));
            px_motion_set_weights(out, &made);
        } else if (track)
            PX_TRY(px_weights_widen(c->model->memory, one->old_count + w->count, track));
    }
    return PELT_OK;
}

static pelt_result make_motions(apply_work *w) {
    px_correction *c = w->c;
    const pelt_model *model = c->model;
    w->motions = PX_NEW(model->memory, pelt_motion, (size_t)model->motion_count + c->pair_count);
    w->sampled = PX_NEW(c->scratch, float, model->morphs.morph_count);
    if (!w->motions || !w->sampled)
        return PELT_ERROR_MEMORY;
    for (uint32_t m = 0; m < model->motion_count; m++) {
        uint32_t pair = 0;
        while (pair < c->pair_count && c->pairs[pair].motion != m)
            pair++;
        PX_TRY(make_motion(w, &model->motions[m], pair < c->pair_count ? pair : PELT_NONE, &w->motions[m]));
    }
    w->motion_count = model->motion_count;
    for (uint32_t p = 0; p < c->pair_count; p++)
        if (c->pairs[p].motion == PELT_NONE)
            PX_TRY(make_motion(w, NULL, p, &w->motions[w->motion_count++]));
    return PELT_OK;
}

pelt_result px_correct_apply(px_correction *c) {
    apply_work w = {.c = c, .count = c->rank + c->normal_rank - c->shared_count};
    pelt_model *model = c->model;
    pelt_driver *drivers;
    if (w.count == 0)
        return PELT_OK;
    PX_TRY(px_morph_groups_find(c->scratch, model, &w.groups, &w.group_count));
    PX_TRY(make_motions(&w));
    PX_TRY(make_morphs(&w));
    PX_TRY(px_drivers_follow(model->memory, model, &w.morphs, &drivers));
    const pelt_morph_set kept = model->morphs;
    model->morphs = w.morphs;
    model->drivers = drivers;
    model->motions = w.motions;
    model->motion_count = w.motion_count;
    PX_TRY(px_morphs_fit_range(c->scratch, &kept, "correction offset", model));
    model->mesh.weld = (pelt_vertex_classes){0}; /* the weld depends on morphs: recompute it */
    model->changed |= PELT_CHANGED_MORPHS | PELT_CHANGED_MOTIONS;
    return PELT_OK;
}
