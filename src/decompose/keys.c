/* Decomposition of matrices into keys, and key reduction.
 *
 * Keys lie on frames only: programs that sample a motion at the rate of its clip lose all others. Between frames
 * rotation and scale are interpolated separately, which differs from interpolating the matrix. A rotating bone moves
 * its points along arcs; no choice of keys avoids that, because rotations preserve volume and scales that go linearly
 * from positive to positive values never fall below their geometric mean. What can be avoided are factors that rotate
 * where the matrix does not. The plain decomposition M = R1·S·R2 does this: where two scales are nearly equal, as in
 * every bone that hardly deforms, R2 is arbitrary and jumps from frame to frame, with R1 compensating. So M·B·C is
 * decomposed instead of M, with constant axes B and constant, well-separated scales C. R2 then stays near the identity,
 * and R1 near the rotation of M.
 */
#include "decompose/keys.h"
#include "core/math3.h"
#include "numeric/numeric.h"

/* ---- From matrices to keys -------------------------------------------------------------------------------- */

static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

/* One frame and its key. */
typedef struct moment {
    double matrix[9]; /* linear part of M, times B·C */
    px_stretch stretch;
    float rotation[4], scale[3], inner[4];
} moment;

/* Negates q if needed so that it lies in the hemisphere of the previous key: interpolation takes the shorter arc. */
static void keep_side(const float *before, float *q) {
    double dot = 0;
    for (int c = 0; c < 4; c++)
        dot += (double)q[c] * (double)before[c];
    for (int c = 0; dot < 0 && c < 4; c++)
        q[c] = -q[c];
}

/* State before the first key: u near the rotation of its matrix, so that no scale starts negative. */
static px_stretch start_stretch(const px_bone_path *path) {
    double u[9];
    for (int e = 0; e < 9 && path->turn; e++) {
        const double *row = path->turn + e / 3 * 3, *column = path->frame.axes + e % 3;
        u[e] = row[0] * column[0] + row[1] * column[3] + row[2] * column[6];
    }
    return px_stretch_start(path->turn ? u : path->frame.axes);
}

/* Computes the key of frame k; `before`: the previous key, NULL at the first. */
static void place(const px_bone_path *path, size_t k, const moment *before, moment *m) {
    const px_bone_frame *frame = &path->frame;
    double inner[9];
    for (int e = 0; e < 9; e++) {
        const double *row = path->matrices + 12 * k + (size_t)(4 * (e / 3)), *axis = frame->axes + e % 3;
        m->matrix[e] = (row[0] * axis[0] + row[1] * axis[3] + row[2] * axis[6]) * frame->scales[e % 3];
    }
    m->stretch = before ? before->stretch : start_stretch(path);
    path->kind->follow(&m->stretch, m->matrix);
    for (int e = 0; e < 9; e++)
        inner[e] = m->stretch.v[3 * (e % 3) + e / 3];
    px_quat_from_matrix(m->stretch.u, m->rotation);
    px_quat_from_matrix(inner, m->inner);
    for (int c = 0; c < 3; c++)
        m->scale[c] = (float)m->stretch.s[c];
    if (before) {
        keep_side(before->rotation, m->rotation);
        keep_side(before->inner, m->inner);
    }
}

pelt_result px_keys_make(px_arena *memory, const px_bone_path *path, px_bone_keys *out) {
    size_t n = path->frame_count;
    bool scales = path->kind->scales, inner = path->kind->nested;
    *out = (px_bone_keys){.translations = PX_NEW(memory, float, 3 * n), .rotations = PX_NEW(memory, float, 4 * n)};
    out->scales = scales ? PX_NEW(memory, float, 3 * n) : NULL;
    out->inner_rotations = inner ? PX_NEW(memory, float, 4 * n) : NULL;
    if (!out->translations || !out->rotations || (scales && !out->scales) || (inner && !out->inner_rotations))
        return PELT_ERROR_MEMORY;
    moment moments[2];
    for (size_t k = 0; k < n; k++) {
        moment *now = &moments[k % 2];
        place(path, k, k > 0 ? &moments[(k + 1) % 2] : NULL, now);
        for (size_t r = 0; r < 3; r++)
            out->translations[3 * k + r] = (float)path->matrices[12 * k + 4 * r + 3];
        memcpy(out->rotations + 4 * k, now->rotation, sizeof now->rotation);
        if (scales)
            memcpy(out->scales + 3 * k, now->scale, sizeof now->scale);
        if (inner)
            memcpy(out->inner_rotations + 4 * k, now->inner, sizeof now->inner);
    }
    return PELT_OK;
}

/* ---- Choice of axes and scales ------------------------------------------------------------------------------ */

/* Ratio of neighbouring scales in C. Twice as much is no better, and rounding of rotations then costs four times as
 * much. */
#define RATIO 2.0
/* Frames sampled at most, spread evenly over longer motions. */
#define MOST_FRAMES 256u

/* Squared distance of the interpolated M halfway between two frames from the mean of both matrices. */
static double straying(const px_bone_path *path, const moment *a, const moment *b) {
    pelt_transform outer = px_transform_identity(), inner = px_transform_identity();
    px_quat_slerp(a->rotation, b->rotation, 0.5, outer.rotation);
    px_quat_slerp(a->inner, b->inner, 0.5, inner.rotation);
    for (int c = 0; c < 3; c++)
        outer.scale[c] = 0.5f * (a->scale[c] + b->scale[c]);
    pelt_affine first = px_affine_from_transform(&inner), second = px_affine_from_transform(&outer);
    pelt_affine m = px_affine_mul(&second, &first);
    double sum = 0;
    for (int e = 0; e < 9; e++) {
        double off = (double)m.m[4 * (e / 3) + e % 3] - 0.5 * (a->matrix[e] + b->matrix[e]);
        off /= path->frame.scales[e % 3];
        sum += off * off;
    }
    return sum;
}

/* Sum over the frames of a path of the squared value of `straying` (a fourth power), so that the worst count most. */
static double path_straying(const px_bone_path *path, uint32_t stride) {
    moment moments[2];
    double sum = 0;
    for (uint32_t k = 0, turn = 0; k + 1 < path->frame_count; k += stride, turn ^= 1) {
        moment *a = &moments[turn], *b = &moments[turn ^ 1];
        if (k == 0 || stride > 1)
            place(path, k, NULL, a);
        place(path, k + 1, a, b);
        double off = straying(path, a, b);
        sum += off * off;
    }
    return sum;
}

/* Principal axes of stretch over all frames: eigenvectors of Σ MᵀM. */
static void stretch_axes(const px_bone_path *paths, uint32_t path_count, double axes[9]) {
    double sum[9] = {0}, u[9], s[3];
    for (uint32_t p = 0; p < path_count; p++)
        for (size_t k = 0; k < paths[p].frame_count; k++) {
            const double *m = paths[p].matrices + 12 * k;
            for (int e = 0; e < 9; e++)
                for (int r = 0; r < 12; r += 4)
                    sum[e] += m[r + e / 3] * m[r + e % 3];
        }
    px_svd3(sum, u, s, axes);
}

void px_keys_frame(const px_bone_path *paths, uint32_t path_count, px_bone_frame *frame) {
    static const double orders[][3] = {{RATIO, 1, 1 / RATIO},
                                       {RATIO, 1 / RATIO, 1},
                                       {1, RATIO, 1 / RATIO},
                                       {1, 1 / RATIO, RATIO},
                                       {1 / RATIO, RATIO, 1},
                                       {1 / RATIO, 1, RATIO},
                                       {1, 1, 1}};
    double axes[2][9], least = INFINITY;
    uint32_t frame_count = 0;
    memcpy(axes[0], identity, sizeof identity);
    stretch_axes(paths, path_count, axes[1]);
    for (uint32_t p = 0; p < path_count; p++)
        frame_count += paths[p].frame_count;
    for (size_t n = 0; n < 2 * PX_COUNT(orders); n++) {
        px_bone_frame tried;
        double sum = 0;
        memcpy(tried.axes, axes[n % 2], sizeof tried.axes);
        memcpy(tried.scales, orders[n / 2], sizeof tried.scales);
        for (uint32_t p = 0; p < path_count; p++) {
            px_bone_path path = paths[p];
            path.frame = tried;
            sum += path_straying(&path, 1 + frame_count / MOST_FRAMES);
        }
        if (n == 0 || sum < least) {
            least = sum;
            *frame = tried;
        }
    }
}

/* ---- Key reduction ------------------------------------------------------------------------------------------ */

/* Cost of a separate times array in a file: about 170 bytes of JSON, plus the times. */
#define TIMES_SIZE 170u

/* True if key k is within the tolerance of the interpolation of keys a and b at its time. */
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
    return (track->path == PELT_PATH_ROTATION ? px_fmin(same, opposite) : same) <= tolerance * tolerance;
}

static bool spans(const pelt_track *track, uint32_t a, uint32_t b, double tolerance) {
    for (uint32_t k = a + 1; k < b; k++)
        if (!is_given(track, a, b, k, tolerance))
            return false;
    return true;
}

/* The farthest key found that `a` reaches without the keys between: exponential, then binary search. */
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

/* Keeps only the keys `kept` [count]. */
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
