/* Modes become morphs of every node with a mesh, and tracks of weights. */
#include "core/driver.h"
#include "core/morphs.h"
#include "correct/correct.h"

#include <math.h>
#include <stdio.h>

/* Displacements under this part of the radius are lost in the rounding of positions; exact zeros need no bytes. */
#define NOTHING 0x1p-24

typedef struct apply_work {
    px_correction *c;
    px_morph_group *groups;
    uint32_t group_count;
    pelt_morph_set morphs;
    pelt_motion *motions;
    uint32_t motion_count;
    float *sampled; /* [old morph] scratch */
} apply_work;

/* ---- Morphs ----------------------------------------------------------------------------------------------- */

/* A group's share of one mode of an array [unit][3][pitch]. */
static const float *spread(const apply_work *w, const px_morph_group *g, const double *array, size_t pitch,
                           uint32_t mode, double nothing) {
    const px_correction *c = w->c;
    return px_morph_spread(c->model->memory, g, c->units.of, array + mode, pitch, nothing);
}

static pelt_result make_morph(const apply_work *w, const px_morph_group *g, uint32_t mode, pelt_morph *morph) {
    const px_correction *c = w->c;
    char name[32];
    snprintf(name, sizeof name, "correction %u", mode + 1);
    *morph = (pelt_morph){.name = px_arena_text(c->model->memory, name, strlen(name)),
                          .joint = g->joint,
                          .index = g->old_count + mode,
                          .first_vertex = g->first_vertex,
                          .vertex_count = g->vertex_count};
    morph->positions = spread(w, g, c->modes.places, c->rank_most, mode, NOTHING * c->radius);
    if (c->normals)
        morph->normals = spread(w, g, c->normals, c->rank, mode, NOTHING);
    return morph->name && morph->positions && (morph->normals || !c->normals) ? PELT_OK : PELT_ERROR_MEMORY;
}

static pelt_result make_morphs(apply_work *w) {
    const px_correction *c = w->c;
    const pelt_morph_set *old = &c->model->morphs;
    size_t count = old->morph_count + (size_t)w->group_count * c->rank;
    w->morphs = (pelt_morph_set){(uint32_t)count, PX_NEW(c->model->memory, pelt_morph, count)};
    if (!w->morphs.morphs)
        return PELT_ERROR_MEMORY;
    pelt_morph *next = w->morphs.morphs;
    for (uint32_t m = 0; m < old->morph_count; m++)
        *next++ = old->morphs[m];
    for (uint32_t g = 0; g < w->group_count; g++)
        for (uint32_t r = 0; r < c->rank; r++)
            PX_TRY(make_morph(w, &w->groups[g], r, next++));
    px_morphs_sort(w->morphs.morphs, count);
    return PELT_OK;
}

/* ---- Tracks ----------------------------------------------------------------------------------------------- */

/* A track of a motion that is not corrected: the new morphs stay at 0. */
static pelt_result widen(apply_work *w, const px_morph_group *g, pelt_track *track) {
    size_t rows = (size_t)track->key_count * (track->interpolation == PELT_INTERPOLATION_CUBIC ? 3 : 1);
    uint32_t width = g->old_count + w->c->rank;
    float *values = PX_NEW(w->c->model->memory, float, rows *width);
    if (!values)
        return PELT_ERROR_MEMORY;
    for (size_t k = 0; k < rows; k++)
        memcpy(values + k * width, track->values + k * track->width, track->width * sizeof *values);
    track->width = width;
    track->values = values;
    return PELT_OK;
}

/* The weight of a mode between frames. `at`: a frame at or before the time, moved on. */
static double weight_at(const px_correction *c, uint32_t mode, uint32_t first, uint32_t end, uint32_t *at, float time) {
    const double *weights = c->modes.weights + (size_t)mode * c->frame_count;
    while (*at + 1 < end && c->times[*at + 1] <= time)
        ++*at;
    if (*at + 1 == end || time <= c->times[first])
        return weights[*at];
    double u = ((double)time - (double)c->times[*at]) / ((double)c->times[*at + 1] - (double)c->times[*at]);
    return weights[*at] + u * (weights[*at + 1] - weights[*at]);
}

/* Keys at every frame, and wherever the morphs that were there had theirs. */
static pelt_result make_track(const apply_work *w, const px_morph_group *g, uint32_t pair, const pelt_motion *motion,
                              pelt_track *out) {
    const px_correction *c = w->c;
    const pelt_model *model = c->model;
    const pelt_track *old = motion ? px_weights_track(motion, g->joint) : NULL;
    uint32_t first = c->pair_frames[pair], end = c->pair_frames[pair + 1], width = g->old_count + c->rank, at = first;
    size_t most = (size_t)(end - first) + (old ? old->key_count : 0);
    float *times = PX_NEW(model->memory, float, most), *values = PX_NEW(model->memory, float, most *width);
    if (!times || !values)
        return PELT_ERROR_MEMORY;
    uint32_t count =
        px_times_merge(c->times + first, end - first, old ? old->times : NULL, old ? old->key_count : 0, times);
    for (uint32_t k = 0; k < count; k++) {
        float *row = values + (size_t)k * width;
        pelt_motion_sample(model, motion, times[k], NULL, w->sampled);
        for (uint32_t m = 0; m < model->morphs.morph_count; m++)
            if (model->morphs.morphs[m].joint == g->joint)
                row[model->morphs.morphs[m].index] = w->sampled[m];
        for (uint32_t r = 0; r < c->rank; r++)
            row[g->old_count + r] = (float)weight_at(c, r, first, end, &at, times[k]);
    }
    *out = (pelt_track){.joint = g->joint,
                        .path = PELT_PATH_WEIGHTS,
                        .interpolation = PELT_INTERPOLATION_LINEAR,
                        .width = width,
                        .key_count = count,
                        .times = times,
                        .values = values};
    return PELT_OK;
}

/* ---- Motions ---------------------------------------------------------------------------------------------- */

/* A motion with its tracks of weights; `pair` PELT_NONE: it is not corrected. */
static pelt_result make_motion(apply_work *w, const pelt_motion *old, uint32_t pair, pelt_motion *out) {
    px_correction *c = w->c;
    uint32_t count = old ? old->track_count : 0;
    *out = old ? *old : (pelt_motion){.name = c->pairs[pair].clip->name};
    if (!(out->tracks = PX_NEW(c->model->memory, pelt_track, (size_t)count + w->group_count)))
        return PELT_ERROR_MEMORY;
    if (count)
        memcpy(out->tracks, old->tracks, count * sizeof *out->tracks);
    out->track_count = count;
    for (uint32_t g = 0; g < w->group_count; g++) {
        pelt_track *track = px_weights_track(out, w->groups[g].joint);
        if (pair == PELT_NONE && track)
            PX_TRY(widen(w, &w->groups[g], track));
        if (pair == PELT_NONE)
            continue;
        if (!track)
            track = &out->tracks[out->track_count++];
        PX_TRY(make_track(w, &w->groups[g], pair, old, track));
        bool first = !old && g == 0;
        out->start = first ? track->times[0] : fminf(out->start, track->times[0]);
        out->end = first ? track->times[track->key_count - 1] : fmaxf(out->end, track->times[track->key_count - 1]);
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
    apply_work w = {.c = c};
    pelt_model *model = c->model;
    pelt_driver *drivers;
    if (c->rank == 0)
        return PELT_OK;
    PX_TRY(px_morph_groups_find(c->scratch, model, &w.groups, &w.group_count));
    PX_TRY(make_motions(&w));
    PX_TRY(make_morphs(&w));
    PX_TRY(px_drivers_follow(model->memory, model, &w.morphs, &drivers));
    model->morphs = w.morphs;
    model->drivers = drivers;
    model->motions = w.motions;
    model->motion_count = w.motion_count;
    model->mesh.weld = NULL; /* morphs count in it */
    model->mesh.weld_count = 0;
    model->changed |= PELT_CHANGED_MORPHS | PELT_CHANGED_MOTIONS;
    return PELT_OK;
}
