/* Morph weights that lie in [0, 1]: see px_morphs_fit_range in morphs.h.
 *
 * With the range [low, high] of a weight over all keys, low ≤ 0 ≤ high, and scale ≥ high − low, the next power of two, by
 * which deltas and the coefficients of drivers are multiplied and divided without rounding:
 *   Σ weight · delta = 1 · Σ low · delta + Σ (weight − low) / scale · scale · delta
 * The first sum is one more target, the offset; it is added to that of an earlier call where that plays in the same
 * motions. The base mesh stays as it is: its normals have unit length and its colours
 * lie in [0, 1], which shifted ones would not. All weights 0 is still the rest pose. */
#include "core/driver.h"
#include "core/morphs.h"

#include <math.h>

#define WEIGHT_ROUNDING 1e-6f /* of a weight of 1 that was sampled between keys */

typedef struct range {
    double low, high; /* of the weight */
    double scale;     /* a power of two, high − low or more */
    bool fits;        /* the morph is rescaled */
    bool driven;      /* a driver gives it weights, too */
} range;

typedef struct fit {
    px_arena *scratch;
    pelt_model *model;
    const char *name; /* of offsets */
    const pelt_morph_set *kept;
    range *ranges;          /* [morph] */
    uint32_t *widths;       /* [joint] its morphs, without the offset */
    bool *shifts;           /* [joint] some of its weights are negative: it gets an offset */
    uint32_t *offsets;      /* [joint] which of its weights is that of the offset: an older one, or widths[joint] */
    px_morph_group *groups; /* [group_count] */
    uint32_t group_count;
} fit;

/* Rows of `width` numbers per key: cubic keys have an in-tangent, a value and an out-tangent. */
static uint32_t rows_of(const pelt_track *track) {
    return track->interpolation == PELT_INTERPOLATION_CUBIC ? 3 : 1;
}

static bool is_value_row(const pelt_track *track, size_t row) {
    return rows_of(track) == 1 || row % 3 == 1;
}

static float *numbers(const float *array) {
    return (float *)(uintptr_t)array; /* const in the model, but made by the caller: see px_morphs_fit_range */
}

/* ---- Ranges ----------------------------------------------------------------------------------------------- */

static void widen_ranges(const fit *f, const pelt_track *track) {
    const pelt_morph_set *set = &f->model->morphs;
    for (uint32_t m = 0; m < set->morph_count; m++) {
        if (set->morphs[m].joint != track->joint || !f->ranges[m].fits)
            continue;
        range *r = &f->ranges[m];
        for (size_t row = 0; row < (size_t)track->key_count * rows_of(track); row++) {
            double value = (double)track->values[row * track->width + set->morphs[m].index];
            if (is_value_row(track, row)) {
                r->low = px_fmin(r->low, value);
                r->high = px_fmax(r->high, value);
            }
        }
    }
}

static double next_power(double value) {
    int exponent;
    double part = frexp(value, &exponent);
    return ldexp(1, part == 0.5 ? exponent - 1 : exponent);
}

static pelt_result find_ranges(fit *f) {
    const pelt_model *model = f->model;
    const pelt_morph_set *set = &model->morphs;
    f->ranges = PX_NEW(f->scratch, range, set->morph_count);
    f->widths = PX_NEW(f->scratch, uint32_t, model->skeleton.joint_count);
    f->shifts = PX_NEW(f->scratch, bool, model->skeleton.joint_count);
    f->offsets = PX_NEW(f->scratch, uint32_t, model->skeleton.joint_count);
    if (!f->ranges || !f->widths || !f->shifts || !f->offsets)
        return PELT_ERROR_MEMORY;
    for (uint32_t m = 0; m < set->morph_count; m++) {
        const pelt_morph *morph = &set->morphs[m];
        f->ranges[m].fits = px_morph_find(f->kept, morph->joint, morph->index) == PELT_NONE;
        f->widths[morph->joint] = morph->index + 1; /* sorted */
    }
    for (uint32_t d = 0; d < model->driver_count; d++)
        for (uint32_t m = 0; m < model->drivers[d].morph_count; m++)
            f->ranges[model->drivers[d].morphs[m]].driven = true;
    for (uint32_t n = 0; n < model->motion_count; n++)
        for (uint32_t t = 0; t < model->motions[n].track_count; t++)
            if (model->motions[n].tracks[t].path == PELT_PATH_WEIGHTS)
                widen_ranges(f, &model->motions[n].tracks[t]);
    for (uint32_t m = 0; m < set->morph_count; m++) {
        f->ranges[m].fits = f->ranges[m].fits && f->ranges[m].high > f->ranges[m].low;
        f->ranges[m].scale = f->ranges[m].fits ? next_power(f->ranges[m].high - f->ranges[m].low) : 1;
        if (f->ranges[m].driven) /* poses of no motion may need much more of it */
            f->ranges[m].scale = px_fmax(f->ranges[m].scale, 1);
        if (f->ranges[m].fits && f->ranges[m].low < 0)
            f->shifts[set->morphs[m].joint] = true;
    }
    return PELT_OK;
}

/* ---- Offsets ---------------------------------------------------------------------------------------------- */

/* Adds low · delta of one array to an offset's, which is made when it is missing. */
static pelt_result add_low(const fit *f, const pelt_morph *morph, double low, const float *from,
                           const pelt_morph *offset, const float **to) {
    uint32_t first = morph->first_vertex > offset->first_vertex ? morph->first_vertex : offset->first_vertex;
    size_t end = px_min_size((size_t)morph->first_vertex + morph->vertex_count,
                             (size_t)offset->first_vertex + offset->vertex_count);
    if (!from || end <= first)
        return PELT_OK;
    if (!*to && !(*to = PX_NEW(f->model->memory, float, 3 * (size_t)offset->vertex_count)))
        return PELT_ERROR_MEMORY;
    from += 3 * (size_t)(first - morph->first_vertex);
    float *out = numbers(*to) + 3 * (size_t)(first - offset->first_vertex);
    for (size_t e = 0; e < 3 * (end - first); e++)
        out[e] = (float)((double)out[e] + low * (double)from[e]);
    return PELT_OK;
}

/* Adds low · delta of all morphs of the offset's joint. */
static pelt_result add_lows(const fit *f, pelt_morph *offset) {
    const pelt_morph_set *set = &f->model->morphs;
    for (uint32_t m = 0; m < set->morph_count; m++) {
        const pelt_morph *morph = &set->morphs[m];
        double low = f->ranges[m].low;
        if (morph->joint != offset->joint || !f->ranges[m].fits)
            continue;
        PX_TRY(add_low(f, morph, low, morph->positions, offset, &offset->positions));
        PX_TRY(add_low(f, morph, low, morph->normals, offset, &offset->normals));
        PX_TRY(add_low(f, morph, low, morph->tangents, offset, &offset->tangents));
        PX_TRY(add_low(f, morph, low, morph->colors, offset, &offset->colors));
    }
    return PELT_OK;
}

static pelt_result make_offset(const fit *f, const px_morph_group *group, pelt_morph *offset) {
    *offset = (pelt_morph){.name = f->name,
                           .joint = group->joint,
                           .index = f->offsets[group->joint],
                           .first_vertex = group->first_vertex,
                           .vertex_count = group->vertex_count};
    if (!(offset->positions = PX_NEW(f->model->memory, float, 3 * (size_t)group->vertex_count)))
        return PELT_ERROR_MEMORY;
    return add_lows(f, offset);
}

/* Adds to copies of the arrays of an older offset, which the model before may share. */
static pelt_result extend_offset(const fit *f, pelt_morph *offset) {
    const float **arrays[] = {&offset->positions, &offset->normals, &offset->tangents, &offset->colors};
    for (size_t a = 0; a < PX_COUNT(arrays); a++) {
        size_t count = 3 * (size_t)offset->vertex_count;
        float *copy = *arrays[a] ? PX_NEW(f->model->memory, float, count) : NULL;
        if (*arrays[a] && !copy)
            return PELT_ERROR_MEMORY;
        if (copy)
            memcpy(copy, *arrays[a], count * sizeof *copy);
        *arrays[a] = copy;
    }
    return add_lows(f, offset);
}

static void scale(const float *array, uint32_t vertex_count, double factor) {
    for (size_t e = 0; array && e < 3 * (size_t)vertex_count; e++)
        numbers(array)[e] = (float)(factor * (double)array[e]);
}

static void scale_morphs(const fit *f) {
    for (uint32_t m = 0; m < f->model->morphs.morph_count; m++) {
        const pelt_morph *morph = &f->model->morphs.morphs[m];
        if (!f->ranges[m].fits)
            continue;
        scale(morph->positions, morph->vertex_count, f->ranges[m].scale);
        scale(morph->normals, morph->vertex_count, f->ranges[m].scale);
        scale(morph->tangents, morph->vertex_count, f->ranges[m].scale);
        scale(morph->colors, morph->vertex_count, f->ranges[m].scale);
    }
}

/* ---- Tracks ----------------------------------------------------------------------------------------------- */

/* Whether morph m is rescaled and the first of the morphs that share its weight. */
static bool is_first_of_weight(const fit *f, uint32_t m) {
    const pelt_morph *morph = &f->model->morphs.morphs[m];
    return f->ranges[m].fits && (m == 0 || morph->joint != morph[-1].joint || morph->index != morph[-1].index);
}

/* Whether the track gives any of the morphs a weight; one that does not needs no offset. */
static bool is_used(const fit *f, const pelt_track *track) {
    const pelt_morph_set *set = &f->model->morphs;
    for (uint32_t m = 0; m < set->morph_count; m++)
        for (size_t row = 0; set->morphs[m].joint == track->joint && is_first_of_weight(f, m) &&
                             row < (size_t)track->key_count * rows_of(track);
             row++)
            if (track->values[row * track->width + set->morphs[m].index] != 0)
                return true;
    return false;
}

/* Whether all keys of a track have this value, 0 or 1, for a weight; tangents are 0. */
static bool is_constant(const pelt_track *track, uint32_t index, float wanted) {
    if (index >= track->width)
        return wanted == 0;
    for (size_t row = 0; row < (size_t)track->key_count * rows_of(track); row++)
        if (fabsf(track->values[row * track->width + index] - (is_value_row(track, row) ? wanted : 0)) >
            WEIGHT_ROUNDING)
            return false;
    return true;
}

/* Where an older offset of the joint plays, the new morphs are shifted too, used or not. */
static bool is_shifted(const fit *f, const pelt_track *track) {
    uint32_t joint = track->joint;
    return is_used(f, track) || (f->shifts[joint] && is_constant(track, f->offsets[joint], 1));
}

static pelt_result fit_track(const fit *f, pelt_track *track) {
    const pelt_morph_set *set = &f->model->morphs;
    bool shifted = is_shifted(f, track), has_offset = f->shifts[track->joint];
    uint32_t old = f->widths[track->joint], offset = f->offsets[track->joint],
             width = old + (has_offset && offset == old);
    if (!shifted && width == old)
        return PELT_OK;
    PX_TRY(px_weights_widen(f->model->memory, width, track));
    float *values = numbers(track->values);
    for (size_t row = 0; shifted && row < (size_t)track->key_count * rows_of(track); row++) {
        bool value = is_value_row(track, row);
        if (has_offset)
            values[row * width + offset] = value;
        for (uint32_t m = 0; m < set->morph_count; m++) {
            if (set->morphs[m].joint != track->joint || !is_first_of_weight(f, m))
                continue;
            const range *r = &f->ranges[m];
            float *at = &values[row * width + set->morphs[m].index];
            *at = (float)(((double)*at - (value ? r->low : 0)) / r->scale);
        }
    }
    return PELT_OK;
}

/* ---- Older offsets ---------------------------------------------------------------------------------------- */

/* Whether morphs of this weight, in any number, reach all vertices of the joint's groups. */
static bool covers_groups(const fit *f, uint32_t joint, uint32_t index) {
    const pelt_morph_set *set = &f->model->morphs;
    for (uint32_t g = 0; g < f->group_count; g++) {
        const px_morph_group *group = &f->groups[g];
        bool covered = group->joint != joint;
        for (uint32_t m = 0; m < set->morph_count && !covered; m++) {
            const pelt_morph *morph = &set->morphs[m];
            covered =
                morph->joint == joint && morph->index == index && morph->first_vertex <= group->first_vertex &&
                (size_t)morph->first_vertex + morph->vertex_count >= (size_t)group->first_vertex + group->vertex_count;
        }
        if (!covered)
            return false;
    }
    return true;
}

/* Whether a morph of an earlier call can be the offset of the new ones too: every motion that uses these has it at 1, any
 * other at 0 or 1; and drivers move both or neither. */
static bool can_extend(const fit *f, uint32_t m) {
    const pelt_model *model = f->model;
    const pelt_morph *morph = &model->morphs.morphs[m];
    bool driven = false;
    if (strcmp(morph->name, f->name) != 0 || morph->weight != 0 || !f->shifts[morph->joint] ||
        px_morph_find(f->kept, morph->joint, morph->index) == PELT_NONE ||
        !covers_groups(f, morph->joint, morph->index))
        return false;
    for (uint32_t o = 0; o < model->morphs.morph_count; o++)
        driven |= model->morphs.morphs[o].joint == morph->joint && f->ranges[o].fits && f->ranges[o].driven;
    if (driven != f->ranges[m].driven)
        return false;
    for (uint32_t n = 0; n < model->motion_count; n++) {
        const pelt_track *track = px_weights_track(&model->motions[n], morph->joint);
        if (track && !is_constant(track, morph->index, 1) &&
            (is_used(f, track) || !is_constant(track, morph->index, 0)))
            return false;
    }
    return true;
}

static void find_offsets(fit *f) {
    memcpy(f->offsets, f->widths, f->model->skeleton.joint_count * sizeof *f->offsets);
    for (uint32_t m = 0; m < f->model->morphs.morph_count; m++)
        if (can_extend(f, m))
            f->offsets[f->model->morphs.morphs[m].joint] = f->model->morphs.morphs[m].index;
}

/* ---- Drivers ---------------------------------------------------------------------------------------------- */

/* Coefficients for the rescaled morphs, and 0 for `offsets` [offset_count] places in the new set, which it drives as well. */
static pelt_result fit_driver(const fit *f, const pelt_driver *old, const uint32_t *offsets, uint32_t offset_count,
                              pelt_driver *driver) {
    size_t width = (size_t)driver->centre_count + 1, count = (size_t)driver->morph_count + offset_count;
    uint32_t *morphs = PX_NEW(f->model->memory, uint32_t, count);
    float *coefficients = PX_NEW(f->model->memory, float, px_mul_size(count, width));
    if (!morphs || !coefficients)
        return PELT_ERROR_MEMORY;
    for (size_t m = 0; m < driver->morph_count; m++) {
        const range *r = &f->ranges[old->morphs[m]];
        morphs[m] = driver->morphs[m];
        for (size_t c = 0; c < width; c++)
            coefficients[m * width + c] = (float)((double)driver->coefficients[m * width + c] / r->scale);
    }
    for (uint32_t m = 0; m < offset_count; m++)
        morphs[driver->morph_count + m] = offsets[m];
    driver->morphs = morphs;
    driver->morph_count += offset_count;
    driver->coefficients = coefficients;
    return PELT_OK;
}

static bool drives_shifted(const fit *f, const pelt_driver *driver) {
    for (uint32_t m = 0; m < driver->morph_count; m++) {
        uint32_t morph = driver->morphs[m];
        if (f->ranges[morph].fits && f->shifts[f->model->morphs.morphs[morph].joint])
            return true;
    }
    return false;
}

/* The drivers for the set with the offsets. They give weights of any sign, as before, beside which offsets are 0: the last
 * driver says so, because a motion may have left them at 1. */
static pelt_result fit_drivers(const fit *f, const pelt_morph_set *set, pelt_driver **drivers) {
    const pelt_model *model = f->model;
    uint32_t *offsets = PX_NEW(f->scratch, uint32_t, set->morph_count), offset_count = 0, last = PELT_NONE;
    if (!offsets)
        return PELT_ERROR_MEMORY;
    for (uint32_t m = 0; m < set->morph_count; m++)
        if (px_morph_find(&model->morphs, set->morphs[m].joint, set->morphs[m].index) == PELT_NONE)
            offsets[offset_count++] = m;
    PX_TRY(px_drivers_follow(model->memory, model, set, drivers));
    for (uint32_t d = 0; d < model->driver_count; d++)
        last = drives_shifted(f, &model->drivers[d]) ? d : last;
    for (uint32_t d = 0; d < model->driver_count; d++)
        PX_TRY(fit_driver(f, &model->drivers[d], offsets, d == last ? offset_count : 0, &(*drivers)[d]));
    return PELT_OK;
}

/* ---- All of it -------------------------------------------------------------------------------------------- */

pelt_result px_morphs_fit_range(px_arena *scratch, const pelt_morph_set *kept, const char *name, pelt_model *model) {
    fit f = {.scratch = scratch, .model = model, .kept = kept};
    pelt_morph_set set;
    pelt_driver *drivers;
    uint32_t offset_count = 0;
    if (!(f.name = px_arena_text(model->memory, name, strlen(name))))
        return PELT_ERROR_MEMORY;
    PX_TRY(find_ranges(&f));
    PX_TRY(px_morph_groups_find(scratch, model, &f.groups, &f.group_count));
    find_offsets(&f);
    pelt_morph *offsets = PX_NEW(scratch, pelt_morph, f.group_count);
    if (!offsets)
        return PELT_ERROR_MEMORY;
    for (uint32_t g = 0; g < f.group_count; g++) {
        uint32_t joint = f.groups[g].joint;
        if (f.shifts[joint] && f.offsets[joint] == f.widths[joint])
            PX_TRY(make_offset(&f, &f.groups[g], &offsets[offset_count++]));
    }
    PX_TRY(px_morphs_with(model, offsets, offset_count, &set));
    for (uint32_t m = 0; m < set.morph_count; m++) {
        uint32_t joint = set.morphs[m].joint;
        if (f.shifts[joint] && f.offsets[joint] < f.widths[joint] && set.morphs[m].index == f.offsets[joint])
            PX_TRY(extend_offset(&f, &set.morphs[m]));
    }
    PX_TRY(fit_drivers(&f, &set, &drivers));
    for (uint32_t n = 0; n < model->motion_count; n++)
        for (uint32_t t = 0; t < model->motions[n].track_count; t++)
            if (model->motions[n].tracks[t].path == PELT_PATH_WEIGHTS)
                PX_TRY(fit_track(&f, &model->motions[n].tracks[t]));
    scale_morphs(&f);
    model->morphs = set;
    model->drivers = drivers;
    return PELT_OK;
}
