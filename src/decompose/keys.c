/* Making keys that may be interpolated, and leaving out those that are not missed. */
#include "decompose/keys.h"
#include "core/math3.h"
#include "decompose/stretch.h"

/* ---- From matrices to keys -------------------------------------------------------------------------------- */

typedef struct bone_key {
    float time;
    float translation[3], rotation[4], scale[3], inner[4];
} bone_key;

typedef struct key_list {
    pelt_context *context;
    const px_bone_path *path;
    bone_key *keys;
    uint32_t count, capacity;
} key_list;

/* A matrix at a time, and its key. */
typedef struct moment {
    double matrix[12];
    px_stretch stretch;
    bone_key key;
} moment;

/* Halvings of the time between two frames, by kind of bone. Affine ones follow the straight line as closely as one
 * likes. Those of trs bones whose axes do not suit get no nearer with more keys, and rigid ones never do. */
static const int max_halvings[] = {
    [PELT_TRANSFORMS_AFFINE] = 6, [PELT_TRANSFORMS_TRS] = 3, [PELT_TRANSFORMS_RIGID] = 0};

/* The quaternion on the side of the one before: interpolation takes the shorter arc, and so do people who read it. */
static void keep_side(const float *before, float *q) {
    double dot = 0;
    for (int c = 0; c < 4; c++)
        dot += (double)q[c] * (double)before[c];
    for (int c = 0; dot < 0 && c < 4; c++)
        q[c] = -q[c];
}

/* The key of a matrix that comes after `before` (NULL: the first). */
static void place(const px_bone_path *path, const moment *before, float time, moment *m) {
    double linear[9], inner[9];
    m->key = (bone_key){.time = time, .scale = {1, 1, 1}, .inner = {0, 0, 0, 1}};
    for (int r = 0; r < 3; r++) {
        memcpy(linear + 3 * r, m->matrix + 4 * r, 3 * sizeof *linear);
        m->key.translation[r] = (float)m->matrix[4 * r + 3];
    }
    if (path->kind == PELT_TRANSFORMS_RIGID)
        px_quat_from_matrix(linear, m->key.rotation);
    else {
        m->stretch = before ? before->stretch : px_stretch_start(path->axes);
        px_stretch_follow(&m->stretch, linear, path->kind == PELT_TRANSFORMS_TRS);
        px_quat_from_matrix(m->stretch.u, m->key.rotation);
        for (int c = 0; c < 3; c++)
            m->key.scale[c] = (float)m->stretch.s[c];
        for (int e = 0; e < 9; e++)
            inner[e] = m->stretch.v[3 * (e % 3) + e / 3];
        px_quat_from_matrix(inner, m->key.inner);
    }
    if (before) {
        keep_side(before->key.rotation, m->key.rotation);
        keep_side(before->key.inner, m->key.inner);
    }
}

/* R1·S·R2 between two keys. */
static pelt_affine between(const bone_key *a, const bone_key *b, double u) {
    pelt_transform outer = px_transform_identity(), inner = px_transform_identity();
    px_quat_slerp(a->rotation, b->rotation, u, outer.rotation);
    px_quat_slerp(a->inner, b->inner, u, inner.rotation);
    for (int c = 0; c < 3; c++)
        outer.scale[c] = (float)((1 - u) * (double)a->scale[c] + u * (double)b->scale[c]);
    pelt_affine first = px_affine_from_transform(&inner), second = px_affine_from_transform(&outer);
    return px_affine_mul(&second, &first);
}

/* How far, at most, a carried point leaves the straight line between two moments; object units. Translations go along
 * that line anyway. */
static double straying(const px_bone_path *path, const moment *a, const moment *b) {
    double most = 0;
    for (int step = 1; step < 4; step++) {
        double u = 0.25 * step, sum = 0;
        pelt_affine m = between(&a->key, &b->key, u);
        for (int e = 0; e < 12; e++) {
            double off = (double)m.m[e] - (1 - u) * a->matrix[e] - u * b->matrix[e];
            sum += e % 4 < 3 ? off * off : 0;
        }
        most = fmax(most, sum);
    }
    return sqrt(most) * path->reach;
}

static pelt_result push(key_list *list, const bone_key *key) {
    if (list->count == list->capacity) {
        uint32_t capacity = 2 * list->capacity;
        bone_key *grown = px_resize(list->context, list->keys, capacity, sizeof *grown);
        if (!grown)
            return PELT_ERROR_MEMORY;
        list->keys = grown;
        list->capacity = capacity;
    }
    list->keys[list->count++] = *key;
    return PELT_OK;
}

/* Adds the keys from `a`, which is there, to `b`, where needed with others between. */
static pelt_result go(key_list *list, const moment *a, float time, moment *b, int halvings) {
    const px_bone_path *path = list->path;
    moment middle;
    float half = a->key.time + 0.5f * (time - a->key.time);
    place(path, a, time, b);
    bool divide =
        halvings < max_halvings[path->kind] && half > a->key.time && half < time && straying(path, a, b) > path->band;
    if (!divide)
        return push(list, &b->key);
    for (int e = 0; e < 12; e++)
        middle.matrix[e] = 0.5 * (a->matrix[e] + b->matrix[e]);
    PX_TRY(go(list, a, half, &middle, halvings + 1));
    return go(list, &middle, time, b, halvings + 1);
}

static pelt_result walk(key_list *list) {
    const px_bone_path *path = list->path;
    moment moments[2];
    for (uint32_t k = 0; k < path->frame_count; k++) {
        moment *now = &moments[k % 2];
        memcpy(now->matrix, path->matrices + 12 * (size_t)k, sizeof now->matrix);
        if (k == 0) {
            place(path, NULL, path->times[0], now);
            PX_TRY(push(list, &now->key));
        } else
            PX_TRY(go(list, &moments[(k + 1) % 2], path->times[k], now, 0));
    }
    return PELT_OK;
}

static pelt_result store(px_arena *memory, const key_list *list, px_bone_keys *out) {
    size_t n = list->count;
    pelt_transforms kind = list->path->kind;
    bool scales = kind != PELT_TRANSFORMS_RIGID, inner = kind == PELT_TRANSFORMS_AFFINE;
    float *times = list->count == list->path->frame_count ? NULL : PX_NEW(memory, float, n);
    *out = (px_bone_keys){.count = list->count, .times = times ? times : list->path->times};
    out->translations = PX_NEW(memory, float, 3 * n);
    out->rotations = PX_NEW(memory, float, 4 * n);
    out->scales = scales ? PX_NEW(memory, float, 3 * n) : NULL;
    out->inner_rotations = inner ? PX_NEW(memory, float, 4 * n) : NULL;
    if (!out->translations || !out->rotations || (scales && !out->scales) || (inner && !out->inner_rotations) ||
        (!times && list->count != list->path->frame_count))
        return PELT_ERROR_MEMORY;
    for (size_t k = 0; k < n; k++) {
        const bone_key *key = &list->keys[k];
        if (times)
            times[k] = key->time;
        memcpy(out->translations + 3 * k, key->translation, sizeof key->translation);
        memcpy(out->rotations + 4 * k, key->rotation, sizeof key->rotation);
        if (scales)
            memcpy(out->scales + 3 * k, key->scale, sizeof key->scale);
        if (inner)
            memcpy(out->inner_rotations + 4 * k, key->inner, sizeof key->inner);
    }
    return PELT_OK;
}

pelt_result px_keys_make(px_arena *memory, const px_bone_path *path, px_bone_keys *keys) {
    pelt_context *context = px_arena_context(memory);
    key_list list = {.context = context, .path = path, .capacity = path->frame_count};
    list.keys = PX_ALLOC(context, bone_key, list.capacity);
    pelt_result result = list.keys ? walk(&list) : PELT_ERROR_MEMORY;
    if (result == PELT_OK)
        result = store(memory, &list, keys);
    px_free(context, list.keys);
    return result;
}

/* ---- Fewer keys ------------------------------------------------------------------------------------------- */

/* What times of its own cost a track in a file: about 170 bytes of JSON, and the times. */
#define TIMES_SIZE 170u

/* Whether key k is within the tolerance of what keys a and b give at its time. */
static bool is_given(const pelt_track *track, uint32_t a, uint32_t b, uint32_t k, double tolerance) {
    size_t width = track->width;
    const float *va = track->values + a * width, *vb = track->values + b * width, *vk = track->values + k * width;
    double span = (double)track->times[b] - (double)track->times[a],
           u = b > a ? ((double)track->times[k] - (double)track->times[a]) / span : 0, same = 0, opposite = 0;
    float value[4];
    if (track->path == PELT_PATH_ROTATION)
        px_quat_slerp(va, vb, u, value);
    else
        for (size_t c = 0; c < width; c++)
            value[c] = (float)((1 - u) * (double)va[c] + u * (double)vb[c]);
    for (size_t c = 0; c < width; c++) {
        double minus = (double)value[c] - (double)vk[c], plus = (double)value[c] + (double)vk[c];
        same += minus * minus;
        opposite += plus * plus;
    }
    return (track->path == PELT_PATH_ROTATION ? fmin(same, opposite) : same) <= tolerance * tolerance;
}

static bool spans(const pelt_track *track, uint32_t a, uint32_t b, double tolerance) {
    for (uint32_t k = a + 1; k < b; k++)
        if (!is_given(track, a, b, k, tolerance))
            return false;
    return true;
}

/* A key after `a` that `a` reaches without those between: steps that double, then halve. */
static uint32_t next_key(const pelt_track *track, uint32_t a, double tolerance) {
    uint32_t last = track->key_count - 1, good = a + 1, step = 1;
    while (good < last && spans(track, a, good + (step < last - good ? step : last - good), tolerance)) {
        good += step < last - good ? step : last - good;
        step *= 2;
    }
    for (; step > 0; step /= 2)
        if (step <= last - good && spans(track, a, good + step, tolerance))
            good += step;
    return good;
}

static bool is_constant(const pelt_track *track, double tolerance) {
    for (uint32_t k = 1; k < track->key_count; k++)
        if (!is_given(track, 0, 0, k, tolerance))
            return false;
    return true;
}

/* Keeps keys `kept` [count]. */
static pelt_result keep(px_arena *memory, pelt_track *track, const uint32_t *kept, uint32_t count) {
    size_t width = track->width;
    float *times = PX_NEW(memory, float, count), *values = PX_NEW(memory, float, count *width);
    if (!times || !values)
        return PELT_ERROR_MEMORY;
    for (uint32_t n = 0; n < count; n++) {
        times[n] = track->times[kept[n]];
        memcpy(values + n * width, track->values + kept[n] * width, width * sizeof *values);
    }
    track->times = times;
    track->values = values;
    track->key_count = count;
    return PELT_OK;
}

pelt_result px_keys_reduce(px_arena *memory, pelt_track *track, double tolerance, bool ends) {
    uint32_t last = track->key_count - 1, count = 1;
    if (track->key_count < 2)
        return PELT_OK;
    if (is_constant(track, tolerance))
        return keep(memory, track, (const uint32_t[]){0, last}, ends ? 2 : 1);
    pelt_context *context = px_arena_context(memory);
    uint32_t *kept = PX_ALLOC(context, uint32_t, track->key_count);
    if (!kept)
        return PELT_ERROR_MEMORY;
    for (uint32_t a = 0; a < last; count++)
        kept[count] = a = next_key(track, a, tolerance);
    size_t before = track->key_count * track->width * sizeof(float),
           after = count * (track->width + 1) * sizeof(float) + TIMES_SIZE;
    pelt_result result = after < before ? keep(memory, track, kept, count) : PELT_OK;
    px_free(context, kept);
    return result;
}
