/* Sampling motions and posing skeletons, as glTF 2.0 defines it (appendix C: LINEAR, STEP, CUBICSPLINE). */
#include "core/frames.h"
#include "core/math3.h"

/* Where a time lies among a track's keys: between key and key + 1, at u from 0 to 1 of the way. */
typedef struct place {
    uint32_t key;
    bool at_key; /* exactly at it, or outside of all keys: the key's value as it is */
    double u;
    double interval; /* seconds between the two keys */
} place;

static place find_place(const pelt_track *track, float time) {
    const float *times = track->times;
    uint32_t low = 0, high = track->key_count; /* keys before low are at or before the time, those from high after */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (times[middle] <= time)
            low = middle + 1;
        else
            high = middle;
    }
    uint32_t key = low ? low - 1 : 0;
    if (low == 0 || low == track->key_count || times[key] == time)
        return (place){.key = key, .at_key = true};
    double interval = (double)times[key + 1] - (double)times[key];
    return (place){.key = key, .u = ((double)time - (double)times[key]) / interval, .interval = interval};
}

/* The value of a key; `tangent` -1 or 1: its in- or out-tangent (CUBIC only). */
static const float *key_value(const pelt_track *track, uint32_t key, int tangent) {
    if (track->interpolation != PELT_INTERPOLATION_CUBIC)
        return track->values + (size_t)key * track->width;
    return track->values + ((size_t)key * 3 + 1) * track->width + (ptrdiff_t)tangent * (ptrdiff_t)track->width;
}

/* One component. Rotations between LINEAR keys do not come here. */
static float sample_component(const pelt_track *track, place at, uint32_t c) {
    const float *a = key_value(track, at.key, 0);
    if (at.at_key || track->interpolation == PELT_INTERPOLATION_STEP)
        return a[c];
    const float *b = key_value(track, at.key + 1, 0);
    double u = at.u;
    if (track->interpolation == PELT_INTERPOLATION_LINEAR)
        return (float)((1 - u) * (double)a[c] + u * (double)b[c]);
    double out_tangent = at.interval * (double)key_value(track, at.key, 1)[c];
    double in_tangent = at.interval * (double)key_value(track, at.key + 1, -1)[c];
    double u2 = u * u, u3 = u2 * u;
    return (float)((2 * u3 - 3 * u2 + 1) * (double)a[c] + (u3 - 2 * u2 + u) * out_tangent +
                   (3 * u2 - 2 * u3) * (double)b[c] + (u3 - u2) * in_tangent);
}

static void sample_rotation(const pelt_track *track, place at, float out[4]) {
    if (track->interpolation == PELT_INTERPOLATION_LINEAR && !at.at_key) {
        px_quat_slerp(key_value(track, at.key, 0), key_value(track, at.key + 1, 0), at.u, out);
        return;
    }
    for (uint32_t c = 0; c < 4; c++)
        out[c] = sample_component(track, at, c);
    if (track->interpolation == PELT_INTERPOLATION_CUBIC)
        px_quat_normalize(out);
    else
        px_quat_mend(out);
}

/* d/dt between CUBIC keys, or at one of them, where the segments on both sides meet: of the one before it with `before`. */
static void sample_slope(const pelt_track *track, place at, bool before, float *out) {
    for (uint32_t c = 0; c < track->width; c++) {
        if (at.at_key) {
            out[c] = key_value(track, at.key, before ? -1 : 1)[c];
            continue;
        }
        double a = key_value(track, at.key, 0)[c], b = key_value(track, at.key + 1, 0)[c], u = at.u;
        double out_tangent = key_value(track, at.key, 1)[c], in_tangent = key_value(track, at.key + 1, -1)[c];
        out[c] = (float)((6 * u * u - 6 * u) * (a - b) / at.interval + (3 * u * u - 4 * u + 1) * out_tangent +
                         (3 * u * u - 2 * u) * in_tangent);
    }
}

void px_track_sample(const pelt_track *track, float time, bool before, float *out, float *slope) {
    place at = find_place(track, time);
    if (track->path == PELT_PATH_ROTATION && track->interpolation == PELT_INTERPOLATION_LINEAR)
        sample_rotation(track, at, out);
    else
        for (uint32_t c = 0; c < track->width; c++)
            out[c] = sample_component(track, at, c);
    if (slope && track->interpolation == PELT_INTERPOLATION_CUBIC)
        sample_slope(track, at, before, slope);
}

static void sample_transform(const pelt_track *track, place at, pelt_transform *local) {
    if (track->path == PELT_PATH_ROTATION) {
        sample_rotation(track, at, local->rotation);
        return;
    }
    float *out = track->path == PELT_PATH_TRANSLATION ? local->translation : local->scale;
    for (uint32_t c = 0; c < 3; c++)
        out[c] = sample_component(track, at, c);
}

/* Several morphs (one per part) may have the same joint and index. */
static void sample_weights(const pelt_track *track, place at, const pelt_morph_set *set, float *weights) {
    uint32_t low = 0, high = set->morph_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (set->morphs[middle].joint < track->joint)
            low = middle + 1;
        else
            high = middle;
    }
    for (uint32_t m = low; m < set->morph_count && set->morphs[m].joint == track->joint; m++)
        if (set->morphs[m].index < track->width)
            weights[m] = sample_component(track, at, set->morphs[m].index);
}

void pelt_motion_sample(const pelt_model *model, const pelt_motion *motion, float time, pelt_transform *locals,
                        float *weights) {
    if (locals && model->skeleton.joint_count)
        memcpy(locals, model->skeleton.rest, model->skeleton.joint_count * sizeof *locals);
    for (uint32_t m = 0; weights && m < model->morphs.morph_count; m++)
        weights[m] = model->morphs.morphs[m].weight;
    for (uint32_t t = 0; motion && t < motion->track_count; t++) {
        const pelt_track *track = &motion->tracks[t];
        bool drives_morphs = track->path == PELT_PATH_WEIGHTS;
        if (drives_morphs ? !weights : !locals)
            continue;
        place at = find_place(track, time);
        if (drives_morphs)
            sample_weights(track, at, &model->morphs, weights);
        else
            sample_transform(track, at, &locals[track->joint]);
    }
}

void pelt_skeleton_globals(const pelt_skeleton *skeleton, const pelt_transform *locals, pelt_affine *globals) {
    for (uint32_t j = 0; j < skeleton->joint_count; j++) {
        pelt_affine local = px_affine_from_transform(&locals[j]);
        uint32_t parent = skeleton->parents[j];
        assert(parent == PELT_NONE || parent < j);
        globals[j] = parent == PELT_NONE ? local : px_affine_mul(&globals[parent], &local);
    }
}

void pelt_skin_palette(const pelt_skin *skin, const pelt_affine *globals, pelt_affine *palette) {
    for (uint32_t b = 0; b < skin->bone_count; b++)
        palette[b] = px_affine_mul(&globals[skin->bone_joints[b]], &skin->inverse_binds[b]);
}
