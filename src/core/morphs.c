/* Morph target helpers: see morphs.h. */
#include "core/morphs.h"

#include <math.h>
#include <stdlib.h>

static uint32_t joint_without_node(const pelt_model *model, uint32_t vertex) {
    for (uint32_t m = 0; m < model->morphs.morph_count; m++)
        if (vertex - model->morphs.morphs[m].first_vertex < model->morphs.morphs[m].vertex_count)
            return model->morphs.morphs[m].joint;
    return model->skin.bone_joints[0];
}

pelt_result px_morph_groups_find(px_arena *arena, const pelt_model *model, px_morph_group **groups,
                                 uint32_t *group_count) {
    const pelt_mesh *mesh = &model->mesh;
    px_morph_group *all = PX_NEW(arena, px_morph_group, (size_t)mesh->part_count + 1);
    uint32_t count = 0;
    if (!all)
        return PELT_ERROR_MEMORY;
    bool apart = mesh->part_count > 0 && mesh->parts[0].vertex_count > 0;
    if (!apart)
        all[count++] = (px_morph_group){.joint = PELT_NONE, .vertex_count = mesh->vertex_count};
    for (uint32_t p = 0; apart && p < mesh->part_count; p++) {
        const pelt_part *part = &mesh->parts[p];
        if (p == 0 || part->joint != part[-1].joint)
            all[count++] = (px_morph_group){.joint = part->joint, .first_vertex = part->first_vertex};
        all[count - 1].vertex_count += part->vertex_count;
    }
    for (uint32_t g = 0; g < count; g++) {
        if (all[g].joint == PELT_NONE)
            all[g].joint = joint_without_node(model, all[g].first_vertex);
        for (uint32_t m = 0; m < model->morphs.morph_count; m++)
            all[g].old_count += model->morphs.morphs[m].joint == all[g].joint;
    }
    *groups = all;
    *group_count = count;
    return PELT_OK;
}

float *px_morph_spread(px_arena *arena, const px_morph_group *group, const pelt_vertex_classes *classes,
                       const double *array, size_t pitch, double nothing) {
    float *out = PX_NEW(arena, float, 3 * (size_t)group->vertex_count);
    for (size_t i = 0; out && i < group->vertex_count; i++) {
        const double *from = array + 3 * (size_t)pelt_vertex_class(classes, group->first_vertex + i) * pitch;
        bool counts = fabs(from[0]) > nothing || fabs(from[pitch]) > nothing || fabs(from[2 * pitch]) > nothing;
        for (size_t a = 0; counts && a < 3; a++)
            out[3 * i + a] = (float)from[a * pitch];
    }
    return out;
}

/* ---- Order ------------------------------------------------------------------------------------------------ */

static int compare_morphs(const void *a, const void *b) {
    const pelt_morph *x = a, *y = b;
    if (x->joint != y->joint)
        return x->joint < y->joint ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

pelt_result px_morphs_with(const pelt_model *model, const pelt_morph *added, uint32_t added_count,
                           pelt_morph_set *set) {
    uint32_t old_count = model->morphs.morph_count, count = old_count + added_count;
    pelt_morph *morphs = PX_NEW(model->memory, pelt_morph, count);
    if (!morphs)
        return PELT_ERROR_MEMORY;
    if (old_count)
        memcpy(morphs, model->morphs.morphs, old_count * sizeof *morphs);
    memcpy(morphs + old_count, added, added_count * sizeof *morphs);
    px_sort(morphs, count, sizeof *morphs, compare_morphs);
    *set = (pelt_morph_set){count, morphs};
    return PELT_OK;
}

uint32_t px_morph_find(const pelt_morph_set *set, uint32_t joint, uint32_t index) {
    pelt_morph key = {.joint = joint, .index = index};
    const pelt_morph *found =
        set->morph_count ? bsearch(&key, set->morphs, set->morph_count, sizeof key, compare_morphs) : NULL;
    return found ? (uint32_t)(found - set->morphs) : PELT_NONE;
}

/* ---- Tracks of weights ------------------------------------------------------------------------------------ */

pelt_track *px_weights_track(const pelt_motion *motion, uint32_t joint) {
    for (uint32_t t = 0; t < motion->track_count; t++)
        if (motion->tracks[t].joint == joint && motion->tracks[t].path == PELT_PATH_WEIGHTS)
            return &motion->tracks[t];
    return NULL;
}

pelt_result px_weights_widen(px_arena *arena, uint32_t width, pelt_track *track) {
    size_t rows = (size_t)track->key_count * (track->interpolation == PELT_INTERPOLATION_CUBIC ? 3 : 1);
    float *values = PX_NEW(arena, float, rows *width);
    if (!values)
        return PELT_ERROR_MEMORY;
    for (size_t k = 0; k < rows; k++)
        memcpy(values + k * width, track->values + k * track->width, px_min_size(width, track->width) * sizeof *values);
    track->width = width;
    track->values = values;
    return PELT_OK;
}

/* Merges two ascending arrays of times without duplicates. Returns the count. */
static uint32_t merge_times(const float *a, uint32_t a_count, const float *b, uint32_t b_count, float *out) {
    uint32_t count = 0;
    for (uint32_t i = 0, j = 0; i < a_count || j < b_count;) {
        float time = j == b_count || (i < a_count && a[i] <= b[j]) ? a[i++] : b[j++];
        if (count == 0 || time > out[count - 1])
            out[count++] = time;
    }
    return count;
}

pelt_result px_weights_rekey(const pelt_model *model, const pelt_motion *motion, uint32_t joint, uint32_t width,
                             const float *times, uint32_t count, float *sampled, pelt_track *track, float **out) {
    const pelt_track *old = motion ? px_weights_track(motion, joint) : NULL;
    size_t most = (size_t)count + (old ? old->key_count : 0);
    float *merged = PX_NEW(model->memory, float, most), *values = PX_NEW(model->memory, float, most *width);
    if (!merged || !values)
        return PELT_ERROR_MEMORY;
    *track =
        (pelt_track){.joint = joint,
                     .path = PELT_PATH_WEIGHTS,
                     .interpolation = PELT_INTERPOLATION_LINEAR,
                     .width = width,
                     .key_count = merge_times(times, count, old ? old->times : NULL, old ? old->key_count : 0, merged),
                     .times = merged,
                     .values = *out = values};
    for (uint32_t k = 0; k < track->key_count; k++) {
        pelt_motion_sample(model, motion, merged[k], NULL, sampled);
        for (uint32_t m = 0; m < model->morphs.morph_count; m++)
            if (model->morphs.morphs[m].joint == joint)
                values[(size_t)k * width + model->morphs.morphs[m].index] = sampled[m];
    }
    return PELT_OK;
}

pelt_result px_motion_extend(px_arena *arena, const pelt_motion *from, uint32_t more, pelt_motion *motion) {
    uint32_t count = from ? from->track_count : 0;
    *motion = from ? *from : (pelt_motion){.name = ""};
    if (!(motion->tracks = PX_NEW(arena, pelt_track, (size_t)count + more)))
        return PELT_ERROR_MEMORY;
    if (count)
        memcpy(motion->tracks, from->tracks, count * sizeof *motion->tracks);
    return PELT_OK;
}

void px_motion_set_weights(pelt_motion *motion, const pelt_track *track) {
    pelt_track *old = px_weights_track(motion, track->joint);
    float start = track->times[0], end = track->times[track->key_count - 1];
    bool first = motion->track_count == 0;
    motion->start = first ? start : px_fminf(motion->start, start);
    motion->end = first ? end : px_fmaxf(motion->end, end);
    *(old ? old : &motion->tracks[motion->track_count++]) = *track;
}
