/* Patterns as morphs. The colours of the mesh are the mean over all frames, so that players without colour morphs
 * show the mean. Weights are relative to their means, then shifted into [0, 1] by an offset target. */
#include "core/driver.h"
#include "core/morphs.h"
#include "light/light.h"

#include <math.h>
#include <stdio.h>

typedef struct apply_work {
    px_light *l;
    px_morph_group *groups;
    uint32_t group_count;
    double *means;  /* [R] mean weight */
    double *scales; /* [R] largest difference of a weight from its mean */
    float *sampled; /* [old morph] scratch */
} apply_work;

static void find_means(const apply_work *w) {
    const px_light *l = w->l;
    for (uint32_t r = 0; r < l->rank; r++) {
        for (uint32_t k = 0; k < l->frame_count; k++)
            w->means[r] += l->weights[(size_t)k * l->rank + r] / l->frame_count;
        for (uint32_t k = 0; k < l->frame_count; k++)
            w->scales[r] = px_fmax(w->scales[r], fabs(l->weights[(size_t)k * l->rank + r] - w->means[r]));
    }
}

/* Vertex colour for light `value`: multiplied by the original vertex colour, if any. */
static float tinted(const px_light *l, size_t vertex, size_t channel, double value) {
    const float *paint = l->model->mesh.colors;
    return (float)(paint ? value * (double)paint[3 * vertex + channel] : value);
}

static double pattern_of(const px_light *l, uint32_t r, size_t vertex, size_t channel) {
    size_t u = l->model->mesh.weld.of[vertex];
    return l->patterns[r * l->column_count + u * l->channel_count + (l->channel_count == 3 ? channel : 0)];
}

static float *mean_colors(const apply_work *w) {
    const px_light *l = w->l;
    const pelt_mesh *mesh = &l->model->mesh;
    float *colors = PX_NEW(l->model->memory, float, 3 * (size_t)mesh->vertex_count);
    for (size_t e = 0; colors && e < 3 * (size_t)mesh->vertex_count; e++) {
        double sum = 0;
        for (uint32_t r = 0; r < l->rank; r++)
            sum += w->means[r] * pattern_of(l, r, e / 3, e % 3);
        colors[e] = tinted(l, e / 3, e % 3, px_fmin(px_fmax(sum, 0), 1));
    }
    return colors;
}

/* ---- Morphs ----------------------------------------------------------------------------------------------- */

static pelt_result make_morph(const apply_work *w, const px_morph_group *g, uint32_t r, const float *still,
                              pelt_morph *morph) {
    const px_light *l = w->l;
    char name[32];
    snprintf(name, sizeof name, "light %u", r + 1);
    float *colors = PX_NEW(l->model->memory, float, 3 * (size_t)g->vertex_count);
    *morph = (pelt_morph){.name = px_arena_text(l->model->memory, name, strlen(name)),
                          .joint = g->joint,
                          .index = g->old_count + r,
                          .first_vertex = g->first_vertex,
                          .vertex_count = g->vertex_count,
                          .positions = still,
                          .colors = colors};
    if (!morph->name || !colors)
        return PELT_ERROR_MEMORY;
    for (size_t e = 0; e < 3 * (size_t)g->vertex_count; e++) {
        size_t vertex = g->first_vertex + e / 3;
        colors[e] = tinted(l, vertex, e % 3, w->scales[r] * pattern_of(l, r, vertex, e % 3));
    }
    return PELT_OK;
}

/* If only some targets have an attribute, players use the mesh's values for the others: those get explicit zeros. */
static pelt_result even_out(px_light *l, pelt_morph_set *set) {
    bool normals = false, tangents = false;
    for (uint32_t m = 0; m < set->morph_count; m++) {
        normals = normals || set->morphs[m].normals;
        tangents = tangents || set->morphs[m].tangents;
    }
    for (uint32_t m = 0; m < set->morph_count; m++) {
        pelt_morph *morph = &set->morphs[m];
        const float *still = PX_NEW(l->model->memory, float, 3 * (size_t)morph->vertex_count);
        if (!still)
            return PELT_ERROR_MEMORY;
        morph->colors = morph->colors ? morph->colors : still;
        morph->normals = morph->normals || !normals ? morph->normals : still;
        morph->tangents = morph->tangents || !tangents ? morph->tangents : still;
    }
    return PELT_OK;
}

static pelt_result make_morphs(const apply_work *w, pelt_morph_set *set) {
    px_light *l = w->l;
    pelt_morph *added = PX_NEW(l->arena, pelt_morph, (size_t)w->group_count * l->rank);
    if (!added)
        return PELT_ERROR_MEMORY;
    for (uint32_t g = 0; g < w->group_count; g++) {
        float *still = PX_NEW(l->model->memory, float, 3 * (size_t)w->groups[g].vertex_count);
        if (!still)
            return PELT_ERROR_MEMORY;
        for (uint32_t r = 0; r < l->rank; r++)
            PX_TRY(make_morph(w, &w->groups[g], r, still, &added[g * l->rank + r]));
    }
    PX_TRY(px_morphs_with(l->model, added, w->group_count * l->rank, set));
    return PELT_OK;
}

/* ---- Tracks ----------------------------------------------------------------------------------------------- */

/* Interpolates a weight at `time`. `*at`: a frame at or before the time; advanced. */
static float weight_at(const apply_work *w, uint32_t motion, uint32_t r, uint32_t *at, float time) {
    const px_light *l = w->l;
    const pelt_clip *clip = &l->clips[motion];
    while (*at + 1 < clip->frame_count && clip->times[*at + 1] <= time)
        ++*at;
    const double *here = l->weights + (size_t)(l->motion_frames[motion] + *at) * l->rank + r;
    double value = *here;
    if (*at + 1 < clip->frame_count && time > clip->times[*at]) {
        double u =
            ((double)time - (double)clip->times[*at]) / ((double)clip->times[*at + 1] - (double)clip->times[*at]);
        value += u * (here[l->rank] - value);
    }
    return w->scales[r] > 0 ? (float)((value - w->means[r]) / w->scales[r]) : 0;
}

static pelt_result make_motion(const apply_work *w, uint32_t motion, pelt_motion *out) {
    const px_light *l = w->l;
    const pelt_motion *old = &l->model->motions[motion];
    const pelt_clip *clip = &l->clips[motion];
    PX_TRY(px_motion_extend(l->model->memory, old, w->group_count, out));
    for (uint32_t g = 0; g < w->group_count; g++) {
        const px_morph_group *group = &w->groups[g];
        pelt_track track;
        float *values;
        PX_TRY(px_weights_rekey(l->model, old, group->joint, group->old_count + l->rank, clip->times, clip->frame_count,
                                w->sampled, &track, &values));
        for (uint32_t k = 0, at = 0; k < track.key_count; k++)
            for (uint32_t r = 0; r < l->rank; r++)
                values[(size_t)k * track.width + group->old_count + r] = weight_at(w, motion, r, &at, track.times[k]);
        px_motion_set_weights(out, &track);
    }
    return PELT_OK;
}

/* ---- The model -------------------------------------------------------------------------------------------- */

pelt_result px_light_apply(px_light *l) {
    pelt_model *model = l->model;
    apply_work w = {.l = l,
                    .means = PX_NEW(l->arena, double, l->rank),
                    .scales = PX_NEW(l->arena, double, l->rank),
                    .sampled = PX_NEW(l->arena, float, model->morphs.morph_count)};
    pelt_motion *motions = PX_NEW(model->memory, pelt_motion, model->motion_count);
    if (!w.means || !w.scales || !w.sampled || !motions)
        return PELT_ERROR_MEMORY;
    const pelt_transfer *transfer = NULL;
    if (l->transfer)
        PX_TRY(px_light_store(l, &transfer));
    find_means(&w);
    float *colors = mean_colors(&w);
    if (!colors)
        return PELT_ERROR_MEMORY;
    if (model->motion_count > 0) {
        pelt_morph_set morphs;
        pelt_driver *drivers;
        PX_TRY(px_morph_groups_find(l->arena, model, &w.groups, &w.group_count));
        for (uint32_t m = 0; m < model->motion_count; m++)
            PX_TRY(make_motion(&w, m, &motions[m]));
        PX_TRY(make_morphs(&w, &morphs));
        PX_TRY(px_drivers_follow(model->memory, model, &morphs, &drivers));
        const pelt_morph_set kept = model->morphs;
        model->morphs = morphs;
        model->drivers = drivers;
        model->motions = motions;
        PX_TRY(px_morphs_fit_range(l->arena, &kept, "light offset", model));
        PX_TRY(even_out(l, &model->morphs));
        model->mesh.weld = (pelt_vertex_classes){0}; /* welding depends on morphs */
        model->changed |= PELT_CHANGED_MORPHS | PELT_CHANGED_MOTIONS;
    }
    model->mesh.colors = colors;
    model->transfer = transfer;
    model->changed |= PELT_CHANGED_COLORS;
    return PELT_OK;
}
