/* Fields of voxels: sampled at the vertices of a mesh, and kept for other meshes in the same voxels. */
#include "bind/bind.h"

#include <math.h>

/* ---- Sampling ------------------------------------------------------------------------------------------------ */

typedef struct place_job {
    const px_bind_subject *subject;
    const px_bind_volume *volume;
    px_bind_sampler *out;
} place_job;

/* The voxel of a class and the distance to its centre. */
static void place_class(const place_job *job, size_t i) {
    const px_voxels *voxels = &job->volume->voxels;
    const float *position = job->subject->positions + 3 * i;
    uint32_t voxel = job->out->voxels[i] = px_bind_voxel_at(job->volume, position);
    double sum = 0;
    for (uint32_t c = 0; c < 3; c++) {
        double off = position[c] - px_grid_centre(&voxels->grid, voxels->cells[voxel][c], c);
        sum += off * off;
    }
    job->out->gaps[i] = (float)(sqrt(sum) / voxels->grid.cell[0]);
}

static pelt_result place_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const place_job *job = user;
    for (size_t i = first; i < first + count; i++)
        if (job->out->places)
            px_bind_place_at(job->volume, job->subject->positions + 3 * i, &job->out->places[i]);
        else
            place_class(job, i);
    return PELT_OK;
}

pelt_result px_bind_sampler_make(pelt_context *context, px_arena *arena, const px_bind_subject *subject,
                                 const px_bind_volume *volume, uint32_t method, px_bind_sampler *sampler) {
    uint32_t count = subject->classes.count;
    *sampler =
        (px_bind_sampler){.class_count = count, .target_count = subject->target_count, .diagonal = volume->diagonal};
    if (method == PELT_BIND_HEAT) {
        sampler->places = PX_NEW(arena, px_bind_place, count);
    } else {
        sampler->voxels = PX_NEW(arena, uint32_t, count);
        sampler->gaps = PX_NEW(arena, float, count);
    }
    if (!sampler->places && (!sampler->voxels || !sampler->gaps))
        return PELT_ERROR_MEMORY;
    place_job job = {subject, volume, sampler};
    return px_parallel(context, NULL, count, 1024, place_block, &job);
}

/* Equation 7 of Dionne and de Lasa 2013 for distances. */
void px_bind_sample(const px_bind_sampler *s, uint32_t target, const float *field, size_t stride, float *values) {
    float *value = values + target;
    for (size_t i = 0; i < s->class_count; i++, value += s->target_count) {
        if (!s->places) {
            *value = field ? (field[stride * s->voxels[i]] + s->gaps[i]) / s->diagonal : INFINITY;
            continue;
        }
        float sum = 0;
        for (uint32_t k = 0; field && k < s->places[i].count; k++)
            sum += s->places[i].weights[k] * field[stride * s->places[i].voxels[k]];
        *value = px_fminf(px_fmaxf(sum, 0), 1);
    }
}

/* ---- Ranks --------------------------------------------------------------------------------------------------- */

#define RANK_BLOCK 256u
#define SKIP       8u

typedef struct rank_job {
    uint32_t target_count;
    const float *values;
    size_t *firsts; /* first the number of weights of class c at c + 1 */
    px_bind_ranked *ranked;
} rank_job;

/* Whether SKIP values are all +0. */
static bool are_zero(const float *values) {
    uint64_t bits[SKIP / 2], any = 0;
    memcpy(bits, values, sizeof bits);
    for (size_t n = 0; n < SKIP / 2; n++)
        any |= bits[n];
    return any == 0;
}

static pelt_result count_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const rank_job *job = user;
    for (size_t row = first; row < first + count; row++) {
        const float *values = job->values + row * job->target_count;
        for (uint32_t t = 0; t < job->target_count; t++)
            job->firsts[row + 1] += values[t] > 0;
    }
    return PELT_OK;
}

static pelt_result rank_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const rank_job *job = user;
    for (size_t row = first; row < first + count; row++) {
        const float *values = job->values + row * job->target_count;
        px_bind_ranked *out = job->ranked + job->firsts[row];
        size_t filled = 0;
        for (uint32_t t = 0; t < job->target_count; t++) {
            while (t + SKIP < job->target_count && are_zero(values + t)) /* most weights are 0 */
                t += SKIP;
            if (!(values[t] > 0))
                continue;
            size_t at = filled++;
            for (; at > 0 && out[at - 1].value < values[t]; at--)
                out[at] = out[at - 1];
            out[at] = (px_bind_ranked){values[t], t};
        }
    }
    return PELT_OK;
}

pelt_result px_bind_fields_rank(pelt_context *context, px_arena *arena, uint32_t class_count, uint32_t target_count,
                                px_bind_fields *fields) {
    rank_job job = {target_count, fields->values, PX_NEW(arena, size_t, (size_t)class_count + 1), NULL};
    if (!job.firsts)
        return PELT_ERROR_MEMORY;
    PX_TRY(px_parallel(context, NULL, class_count, RANK_BLOCK, count_block, &job));
    for (size_t row = 0; row < class_count; row++)
        job.firsts[row + 1] += job.firsts[row];
    if (!(job.ranked = PX_NEW(arena, px_bind_ranked, job.firsts[class_count])))
        return PELT_ERROR_MEMORY;
    PX_TRY(px_parallel(context, NULL, class_count, RANK_BLOCK, rank_block, &job));
    fields->firsts = job.firsts;
    fields->ranked = job.ranked;
    return PELT_OK;
}

/* ---- Kept fields --------------------------------------------------------------------------------------------- */

pelt_result px_bind_keep_field(pelt_context *context, px_bind_fields *fields, uint32_t target, const float *field,
                               size_t stride, const uint32_t *voxels, uint32_t count) {
    if (!fields->voxels || count == 0)
        return PELT_OK;
    px_bind_field *out = &fields->voxels[target];
    out->values = PX_ALLOC(context, float, count);
    out->voxels = voxels ? PX_ALLOC(context, uint32_t, count) : NULL;
    if (!out->values || (voxels && !out->voxels))
        return PELT_ERROR_MEMORY;
    out->count = count;
    for (uint32_t n = 0; n < count; n++)
        out->values[n] = field[stride * (voxels ? voxels[n] : n)];
    if (voxels)
        memcpy(out->voxels, voxels, count * sizeof *voxels);
    return PELT_OK;
}

void px_bind_fields_free(pelt_context *context, px_bind_fields *fields, uint32_t target_count) {
    for (uint32_t t = 0; fields->voxels && t < target_count; t++) {
        px_free(context, fields->voxels[t].voxels);
        px_free(context, fields->voxels[t].values);
    }
    fields->voxels = NULL;
}

typedef struct kept_job {
    pelt_context *context;
    const px_bind_fields *kept;
    const uint32_t *columns;
    uint32_t voxel_count;
    px_bind_sampler sampler;
    float *values;
} kept_job;

static pelt_result sample_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const kept_job *job = user;
    float *whole = PX_ALLOC(job->context, float, job->voxel_count); /* [voxel] 0 */
    if (!whole)
        return PELT_ERROR_MEMORY;
    for (size_t t = first; t < first + count; t++) {
        const px_bind_field *field = &job->kept->voxels[job->columns[t]];
        for (uint32_t n = 0; field->voxels && n < field->count; n++)
            whole[field->voxels[n]] = field->values[n];
        px_bind_sample(&job->sampler, (uint32_t)t,
                       !field->count   ? NULL
                       : field->voxels ? whole
                                       : field->values,
                       1, job->values);
        for (uint32_t n = 0; field->voxels && n < field->count; n++)
            whole[field->voxels[n]] = 0;
    }
    px_free(job->context, whole);
    return PELT_OK;
}

pelt_result px_bind_sample_kept(pelt_context *context, const px_bind_fields *kept, const uint32_t *columns,
                                const px_bind_subject *subject, const px_bind_volume *volume, px_bind_fields *out) {
    kept_job job = {context, kept, columns, volume->voxels.count, {0}, out->values};
    px_arena *arena = px_arena_create(context);
    if (!arena)
        return PELT_ERROR_MEMORY;
    pelt_result result = px_bind_sampler_make(context, arena, subject, volume, kept->method, &job.sampler);
    if (result == PELT_OK)
        result = px_parallel(context, "fields", subject->target_count, 16, sample_block, &job);
    px_arena_destroy(arena);
    return result;
}
