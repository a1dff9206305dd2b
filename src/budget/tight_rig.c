/* Skeleton, motions and skin of fitted bones.
 *
 * The joint of bone j has the matrix G_j = [L_j B_j | t_j] in object space: its inverse bind matrix is Bᵀ (p − g). Its keys are factors of
 * G_q⁻¹ G_j, q its parent. Rounded keys of a parent move all bones below it, so keys of a file are rounded from the root
 * on, relative to the rounded G_q: errors do not add up along the hierarchy.
 */
#include "budget/tight.h"

#include "core/math3.h"
#include "decompose/keys.h"
#include "io/meshopt.h"

#include <math.h>

#define K          PX_TIGHT_INFLUENCES
#define MAX_BITS   4.0  /* by which bits of joints differ from the median */
#define KEY_DIGITS 10   /* binary digits of keys, about, when their bits are counted */
#define AXES_BITS  1000 /* that axes of a bone cost: 75 bytes of JSON, 48 of a bind matrix */
#define SLOW_TURN  0.1  /* of inner rotations between two frames, which may always be */

typedef struct rig_work {
    const px_tight *r;
    px_bone_frame *frames;         /* [bone] */
    double *globals;               /* [bone][frame][12] G, 3×4 row-major */
    double *matrices;              /* [frame][12] of the bone at hand, relative to its parent */
    const px_precision *precision; /* NULL: keys are not rounded */
    bool *kept;                    /* [frame] it has keys */
} rig_work;

/* out = a⁻¹ · b, 3×4 row-major. */
static void divide(const double *a, const double *b, double *out) {
    double inverse[9], column[3];
    for (size_t x = 0; x < 3; x++)
        for (size_t y = 0; y < 3; y++) { /* transposed cofactors */
            size_t p = 4 * ((x + 1) % 3), q = 4 * ((x + 2) % 3), c = (y + 1) % 3, d = (y + 2) % 3;
            inverse[3 * y + x] = a[p + c] * a[q + d] - a[p + d] * a[q + c];
        }
    double determinant = a[0] * inverse[0] + a[1] * inverse[3] + a[2] * inverse[6];
    for (size_t c = 0; c < 4; c++) {
        for (size_t x = 0; x < 3; x++)
            column[x] = b[4 * x + c] - (c == 3 ? a[4 * x + 3] : 0);
        for (size_t x = 0; x < 3; x++)
            out[4 * x + c] = px_dot3d(inverse + 3 * x, column) / determinant;
    }
}

/* [L | t] of a bone in a frame, 3×4. */
static void read_pose(const px_tight *r, size_t k, size_t j, double *out) {
    const double *pose = r->poses + 12 * (k * r->bone_count + j);
    for (size_t e = 0; e < 12; e++)
        out[e] = pose[e % 4 < 3 ? e / 4 * 3 + e % 4 : 9 + e / 4];
}

/* out = a · B, B of a frame. */
static void turn_axes(const double *a, const px_bone_frame *frame, double *out) {
    for (size_t x = 0; x < 3; x++) {
        for (size_t c = 0; c < 3; c++)
            out[4 * x + c] =
                a[4 * x] * frame->axes[c] + a[4 * x + 1] * frame->axes[3 + c] + a[4 * x + 2] * frame->axes[6 + c];
        out[4 * x + 3] = a[4 * x + 3];
    }
}

static px_bone_frame plain_frame(void) {
    return (px_bone_frame){{1, 0, 0, 0, 1, 0, 0, 0, 1}, {1, 1, 1}};
}

static const px_bone_kind *kind_of(const px_tight *r) {
    return px_bone_kind_at(r->affine ? PELT_TRANSFORMS_AFFINE : PELT_TRANSFORMS_RIGID);
}

/* Matrices of bone j relative to its parent; of the root's children in object space. Globals of the parent are set. */
static void relative_matrices(const rig_work *w, size_t j) {
    size_t F = w->r->frame_count, q = w->r->parents[j];
    for (size_t k = 0; k < F; k++) {
        double *out = w->matrices + 12 * k, pose[12];
        read_pose(w->r, k, j, q == PELT_NONE ? out : pose);
        if (q != PELT_NONE)
            divide(w->globals + 12 * (F * q + k), pose, out);
    }
}

/* Rounded to 2^-KEY_DIGITS, bits in which keys differ from one frame to the next. *turn: the largest difference of inner rotations. */
static double count_bits(const px_bone_keys *keys, size_t frame_count, double *turn) {
    const struct {
        const float *values;
        size_t width;
    } rows[] = {{keys->rotations, 4}, {keys->scales, 3}, {keys->inner_rotations, 4}};
    double bits = 0;
    *turn = 0;
    for (size_t t = 0; t < PX_COUNT(rows); t++)
        for (size_t k = 1; k < frame_count; k++) {
            double product = 1, square = 0;
            for (size_t e = rows[t].width * k; e < rows[t].width * (k + 1); e++) {
                double difference = (double)rows[t].values[e] - (double)rows[t].values[e - rows[t].width];
                square += difference * difference;
                product *= 1 + ldexp(fabs(difference), KEY_DIGITS);
            }
            bits += px_log2(product);
            if (rows[t].values == keys->inner_rotations)
                *turn = px_fmax(*turn, sqrt(square));
        }
    return bits;
}

/* Chooses axes of the rest pose instead of those of px_keys_frame, which cost JSON and a bind matrix, where keys do not become more expensive by
 * as much, nor inner rotations faster. */
static pelt_result straighten(px_arena *scratch, px_bone_path *path) {
    static const double orders[][3] = {{2, 1, 0.5}, {2, 0.5, 1}, {1, 2, 0.5}, {1, 0.5, 2}, {0.5, 2, 1}, {0.5, 1, 2}};
    px_bone_frame best = path->frame;
    px_bone_keys keys;
    double least = INFINITY, limit = 0;
    for (size_t n = 0; n <= PX_COUNT(orders); n++) {
        double turn;
        if (n > 0) {
            path->frame = plain_frame();
            memcpy(path->frame.scales, orders[n - 1], sizeof orders[n - 1]);
        }
        PX_TRY(px_keys_make(scratch, path, &keys));
        double bits = count_bits(&keys, path->frame_count, &turn);
        if (n == 0)
            limit = px_fmax(turn, SLOW_TURN);
        if (n == 0 && memcmp(path->frame.axes, plain_frame().axes, sizeof best.axes) != 0)
            bits += AXES_BITS;
        if (turn <= limit && bits < least) {
            least = bits;
            best = path->frame;
        }
    }
    path->frame = best;
    return PELT_OK;
}

/* B and C of bones, for their motion relative to their parents. */
static pelt_result choose_frames(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const rig_work *w = user;
    const px_tight *r = w->r;
    size_t F = r->frame_count;
    rig_work own = *w;
    px_arena *scratch = px_arena_create(r->context);
    double *poses = scratch ? PX_NEW(scratch, double, 12 * F) : NULL;
    own.matrices = scratch ? PX_NEW(scratch, double, 12 * F) : NULL;
    pelt_result result = poses && own.matrices ? PELT_OK : PELT_ERROR_MEMORY;
    for (size_t j = first; j < first + count && result == PELT_OK; j++) {
        size_t q = r->parents[j];
        for (size_t k = 0; k < F; k++) {
            double parent[12];
            read_pose(r, k, j, poses);
            if (q == PELT_NONE) {
                memcpy(own.matrices + 12 * k, poses, sizeof parent);
                continue;
            }
            read_pose(r, k, q, parent);
            divide(parent, poses, own.matrices + 12 * k);
        }
        px_bone_path path = {.kind = kind_of(r), .frame_count = (uint32_t)F, .matrices = own.matrices};
        w->frames[j] = plain_frame();
        px_keys_frame(&path, 1, &w->frames[j]);
        path.frame = w->frames[j];
        result = straighten(scratch, &path);
        w->frames[j] = path.frame;
    }
    px_arena_destroy(scratch);
    return result;
}

/* Rest pose and inverse bind matrices: joints rest at their pivots, turned by B. */
static void set_rest(const rig_work *w, pelt_model *model) {
    const px_tight *r = w->r;
    double step = r->pivot_step;
    for (size_t j = 0; j < r->bone_count; j++) {
        const px_bone_frame *frame = &w->frames[j];
        size_t q = r->parents[j], joint = model->skin.bone_joints[j];
        pelt_transform *outer = &model->skeleton.rest[joint - r->affine];
        pelt_affine *bind = &model->skin.inverse_binds[j];
        px_bone_frame parent = q == PELT_NONE ? plain_frame() : w->frames[q];
        const double *g = r->pivots + 3 * j;
        double turn[9], arm[3];
        *outer = px_transform_identity();
        for (size_t x = 0; x < 3; x++) {
            arm[x] = g[x] - (q == PELT_NONE ? 0 : r->pivots[3 * q + x]);
            arm[x] = nearbyint(arm[x] / step) * step; /* few decimals, as pivots have */
        }
        for (size_t e = 0; e < 9; e++)
            turn[e] = parent.axes[e / 3] * frame->axes[e % 3] + parent.axes[3 + e / 3] * frame->axes[3 + e % 3] +
                      parent.axes[6 + e / 3] * frame->axes[6 + e % 3];
        px_quat_from_matrix(turn, outer->rotation);
        *bind = px_affine_identity();
        for (size_t c = 0; c < 3; c++) {
            outer->translation[c] =
                (float)(parent.axes[c] * arm[0] + parent.axes[3 + c] * arm[1] + parent.axes[6 + c] * arm[2]);
            for (size_t x = 0; x < 3; x++)
                bind->m[4 * c + x] = (float)frame->axes[3 * x + c];
            bind->m[4 * c + 3] =
                (float)-(frame->axes[c] * g[0] + frame->axes[3 + c] * g[1] + frame->axes[6 + c] * g[2]);
            if (!r->affine)
                continue;
            outer->scale[c] = (float)frame->scales[c];
        }
        if (r->affine) {
            pelt_transform *inner = &model->skeleton.rest[joint];
            *inner = px_transform_identity();
            for (size_t c = 0; c < 3; c++)
                inner->scale[c] = (float)(1 / frame->scales[c]);
        }
    }
}

/* Joints of the solution in the order of the hierarchy, parents first, behind the root. */
static pelt_result set_skeleton(const rig_work *w, pelt_model *model) {
    const px_tight *r = w->r;
    size_t P = r->bone_count, joints = model->skeleton.joint_count, each = 1 + r->affine;
    pelt_skeleton made = {.joint_count = (uint32_t)joints,
                          .names = pelt_model_alloc(r->context, model, joints, sizeof *made.names),
                          .parents = pelt_model_alloc(r->context, model, joints, sizeof *made.parents),
                          .rest = pelt_model_alloc(r->context, model, joints, sizeof *made.rest)};
    uint32_t *bone_joints = pelt_model_alloc(r->context, model, P, sizeof *bone_joints);
    pelt_affine *binds = pelt_model_alloc(r->context, model, P, sizeof *binds);
    if (!made.names || !made.parents || !made.rest || !bone_joints || !binds)
        return PELT_ERROR_MEMORY;
    if (joints != 1 + each * P)
        return px_fail(r->context, PELT_ERROR_INPUT, "fitted bones have %zu joints, not %zu", joints, 1 + each * P);
    made.names[0] = model->skeleton.names[0];
    made.parents[0] = PELT_NONE;
    made.rest[0] = model->skeleton.rest[0];
    for (size_t n = 0; n < P; n++) {
        size_t j = r->sequence[n], to = each * (n + 1);
        bone_joints[j] = (uint32_t)to;
        made.names[to] = ""; /* names take 42 bytes a bone */
        if (r->affine) {
            made.names[to - 1] = "";
            made.parents[to] = (uint32_t)to - 1;
        }
        made.parents[to - r->affine] = r->parents[j] == PELT_NONE ? 0 : bone_joints[r->parents[j]];
    }
    model->skeleton = made;
    model->skin.bone_joints = bone_joints;
    model->skin.inverse_binds = binds;
    set_rest(w, model);
    return PELT_OK;
}

/* ---- Keys ------------------------------------------------------------------------------------------------- */

static void round_to(float *values, size_t count, double step) {
    for (size_t e = 0; e < count; e++)
        values[e] = (float)(nearbyint((double)values[e] / step) * step);
}

/* Rounds keys as the writer does. */
static void round_rotation(const px_precision *p, size_t joint, float *rotation) {
    int bits = px_precision_joint_bits(p, PX_PRECISION_ROTATIONS, joint);
    if (bits <= 16)
        px_meshopt_round_quaternion(rotation, bits);
}

static void round_key(const px_precision *p, size_t outer, size_t inner, px_bone_keys *keys, size_t k) {
    round_to(keys->translations + 3 * k, 3, ldexp(1, p->exponent - p->bits[PX_PRECISION_TRANSLATIONS]));
    round_rotation(p, outer, keys->rotations + 4 * k);
    if (keys->inner_rotations)
        round_rotation(p, inner, keys->inner_rotations + 4 * k);
    if (keys->scales)
        round_to(keys->scales + 3 * k, 3, ldexp(1, -px_precision_joint_bits(p, PX_PRECISION_SCALES, outer)));
}

/* G of bone j from its key relative to its parent. */
static void compose_key(const rig_work *w, size_t j, size_t k, const px_bone_keys *keys, size_t key) {
    size_t F = w->r->frame_count, q = w->r->parents[j];
    pelt_transform outer = px_transform_identity(), inner = px_transform_identity();
    memcpy(outer.translation, keys->translations + 3 * key, sizeof outer.translation);
    memcpy(outer.rotation, keys->rotations + 4 * key, sizeof outer.rotation);
    if (keys->scales)
        memcpy(outer.scale, keys->scales + 3 * key, sizeof outer.scale);
    if (keys->inner_rotations) {
        memcpy(inner.rotation, keys->inner_rotations + 4 * key, sizeof inner.rotation);
        for (size_t c = 0; c < 3; c++)
            inner.scale[c] = (float)(1 / w->frames[j].scales[c]);
    }
    pelt_affine a = px_affine_from_transform(&outer), b = px_affine_from_transform(&inner),
                local = px_affine_mul(&a, &b);
    double *out = w->globals + 12 * (F * j + k);
    for (size_t e = 0; e < 12; e++) {
        const double *row = q == PELT_NONE ? NULL : w->globals + 12 * (F * q + k) + e / 4 * 4;
        out[e] = row ? row[0] * (double)local.m[e % 4] + row[1] * (double)local.m[4 + e % 4] +
                           row[2] * (double)local.m[8 + e % 4] + (e % 4 == 3 ? row[3] : 0)
                     : (double)local.m[e];
    }
}

/* Keys of bone j in a clip of F frames from frame `first`, and its globals. */
static pelt_result make_keys(const rig_work *w, px_arena *memory, size_t first, size_t F, size_t j, size_t joint,
                             px_bone_keys *keys) {
    const px_tight *r = w->r;
    size_t q = r->parents[j];
    double turn[9];
    px_bone_path path = {.kind = kind_of(r),
                         .frame_count = (uint32_t)F,
                         .matrices = w->matrices + 12 * first,
                         .frame = w->frames[j],
                         .turn = q == PELT_NONE ? NULL : turn};
    for (size_t e = 0; e < 9 && q != PELT_NONE; e++)
        turn[e] = w->frames[q].axes[3 * (e % 3) + e / 3]; /* matrices are relative to axes B of the parent */
    PX_TRY(px_keys_make(memory, &path, keys));
    for (size_t k = 0; k < F; k++) {
        double pose[12];
        if (w->precision && w->kept[first + k]) {
            round_key(w->precision, joint - r->affine, joint, keys, k);
            compose_key(w, j, first + k, keys, k);
            continue;
        }
        read_pose(r, first + k, j, pose);
        turn_axes(pose, &w->frames[j], w->globals + 12 * (r->frame_count * j + first + k));
    }
    return PELT_OK;
}

/* Keys of the frames that have some: values [key][width] of one track. */
static const float *pick(const rig_work *w, pelt_model *model, const float *values, size_t width, size_t first,
                         size_t F, size_t count) {
    if (!values || count == F)
        return values;
    float *out = pelt_model_alloc(w->r->context, model, count, width * sizeof *out);
    for (size_t k = 0, n = 0; out && k < F; k++)
        if (w->kept[first + k])
            memcpy(out + width * n++, values + width * k, width * sizeof *out);
    return out;
}

/* Tracks of a bone in a clip. */
static pelt_result put_tracks(const rig_work *w, pelt_model *model, size_t first, size_t F, size_t j,
                              const pelt_track *times, pelt_motion *motion) {
    const px_tight *r = w->r;
    px_bone_keys keys;
    uint32_t joint = model->skin.bone_joints[j], outer = r->affine ? joint - 1 : joint;
    PX_TRY(make_keys(w, model->memory, first, F, j, joint, &keys));
    const struct {
        const float *values;
        pelt_path path;
        uint32_t width, joint;
    } rows[] = {{keys.translations, PELT_PATH_TRANSLATION, 3, outer},
                {keys.rotations, PELT_PATH_ROTATION, 4, outer},
                {keys.scales, PELT_PATH_SCALE, 3, outer},
                {keys.inner_rotations, PELT_PATH_ROTATION, 4, joint}};
    for (size_t t = 0; t < PX_COUNT(rows); t++) {
        if (!rows[t].values)
            continue;
        const float *values = pick(w, model, rows[t].values, rows[t].width, first, F, times->key_count);
        if (!values)
            return PELT_ERROR_MEMORY;
        motion->tracks[motion->track_count++] = (pelt_track){.joint = rows[t].joint,
                                                             .path = rows[t].path,
                                                             .width = rows[t].width,
                                                             .key_count = times->key_count,
                                                             .times = times->times,
                                                             .values = values};
    }
    return PELT_OK;
}

/* Replaces the motions of all clips. Frames have the keys of `times` [clip]. */
static pelt_result put_motions(const rig_work *w, pelt_model *model, const pelt_track *times) {
    const px_tight *r = w->r;
    for (uint32_t n = 0; n < model->clip_count; n++)
        if (model->clips[n].frame_count > 0) {
            pelt_motion *motion = &model->motions[r->motions[n]];
            motion->track_count = 0;
            motion->tracks = pelt_model_alloc(r->context, model, 4 * (size_t)r->bone_count, sizeof *motion->tracks);
            if (!motion->tracks)
                return PELT_ERROR_MEMORY;
        }
    for (size_t b = 0; b < r->bone_count; b++) {
        size_t j = r->sequence[b], first = 0;
        relative_matrices(w, j);
        for (uint32_t n = 0; n < model->clip_count; first += model->clips[n++].frame_count)
            if (model->clips[n].frame_count > 0)
                PX_TRY(put_tracks(w, model, first, model->clips[n].frame_count, j, &times[n],
                                  &model->motions[r->motions[n]]));
    }
    return PELT_OK;
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Bits of joints relative to those of the bone with the median arm: rounding a rotation or a scale moves points by as much as they are
 * away from the pivot. Inner rotations turn scaled points. */
static pelt_result set_joint_bits(const px_tight *r, pelt_model *model, const int8_t **out) {
    size_t P = r->bone_count;
    int8_t *bits = pelt_model_alloc(r->context, model, model->skeleton.joint_count, sizeof *bits);
    double *arms = PX_ALLOC(r->context, double, P), *sorted = PX_ALLOC(r->context, double, P);
    pelt_result result = bits && arms && sorted ? PELT_OK : PELT_ERROR_MEMORY;
    if (result == PELT_OK) {
        px_tight_arms(r, arms);
        memcpy(sorted, arms, P * sizeof *sorted);
        px_sort(sorted, P, sizeof *sorted, compare_doubles);
    }
    for (size_t j = 0; j < P && result == PELT_OK; j++) {
        uint32_t joint = model->skin.bone_joints[j];
        double ratio = arms[j] > 0 && sorted[P / 2] > 0 ? px_log2(arms[j] / sorted[P / 2]) : 0;
        bits[joint] = (int8_t)nearbyint(px_fmin(px_fmax(ratio, -MAX_BITS), MAX_BITS));
        if (r->affine) {
            bits[joint - 1] = bits[joint];
            bits[joint]++;
        }
    }
    *out = bits;
    px_free(r->context, arms);
    px_free(r->context, sorted);
    return result;
}

/* ---- Entry points ----------------------------------------------------------------------------------------- */

static pelt_result begin(const px_tight *r, px_arena *scratch, rig_work *w) {
    size_t P = r->bone_count, F = r->frame_count;
    *w = (rig_work){.r = r,
                    .frames = r->frames,
                    .globals = PX_NEW(scratch, double, 12 * P * F),
                    .matrices = PX_NEW(scratch, double, 12 * F),
                    .kept = PX_NEW(scratch, bool, F)};
    return w->globals && w->matrices && w->kept ? PELT_OK : PELT_ERROR_MEMORY;
}

pelt_result px_tight_frames(px_tight *r) {
    rig_work w = {.r = r, .frames = PX_NEW(r->arena, px_bone_frame, r->bone_count)};
    if (!(r->frames = w.frames))
        return PELT_ERROR_MEMORY;
    for (size_t j = 0; j < r->bone_count; j++)
        w.frames[j] = plain_frame();
    return r->affine ? px_parallel(r->context, NULL, r->bone_count, 1, choose_frames, &w) : PELT_OK;
}

pelt_result px_tight_write(const px_tight *r, pelt_model *model, const int8_t **joint_bits) {
    px_arena *scratch = px_arena_create(r->context);
    rig_work w;
    pelt_track *times = scratch ? PX_NEW(scratch, pelt_track, model->clip_count) : NULL;
    pelt_result result = times ? begin(r, scratch, &w) : PELT_ERROR_MEMORY;
    for (uint32_t n = 0; n < model->clip_count && result == PELT_OK; n++) {
        times[n].times = model->clips[n].times;
        times[n].key_count = model->clips[n].frame_count;
    }
    if (result == PELT_OK)
        result = set_skeleton(&w, model);
    if (result == PELT_OK)
        result = put_motions(&w, model, times);
    if (result == PELT_OK)
        result = set_joint_bits(r, model, joint_bits);
    px_arena_destroy(scratch);
    return result == PELT_OK ? px_tight_write_vertices(r, model) : result;
}

pelt_result px_tight_round(const px_tight *r, pelt_model *model, const px_precision *precision) {
    px_arena *scratch = px_arena_create(r->context);
    rig_work w;
    pelt_track *times = scratch ? PX_NEW(scratch, pelt_track, model->clip_count) : NULL;
    pelt_result result = times ? begin(r, scratch, &w) : PELT_ERROR_MEMORY;
    size_t first = 0;
    w.precision = precision;
    for (uint32_t n = 0; n < model->clip_count && result == PELT_OK; first += model->clips[n++].frame_count) {
        const pelt_clip *clip = &model->clips[n];
        if (clip->frame_count == 0)
            continue;
        times[n] = model->motions[r->motions[n]].tracks[0];
        for (uint32_t f = 0, key = 0; f < clip->frame_count && key < times[n].key_count; f++)
            if (clip->times[f] == times[n].times[key]) {
                w.kept[first + f] = true;
                key++;
            }
    }
    if (result == PELT_OK)
        result = put_motions(&w, model, times);
    px_arena_destroy(scratch);
    return result;
}

pelt_result px_tight_write_vertices(const px_tight *r, pelt_model *model) {
    size_t N = model->mesh.vertex_count;
    float *positions = pelt_model_alloc(r->context, model, 3 * N, sizeof *positions);
    float *weights = pelt_model_alloc(r->context, model, K * N, sizeof *weights);
    uint16_t *bones = pelt_model_alloc(r->context, model, K * N, sizeof *bones);
    if (!positions || !weights || !bones)
        return PELT_ERROR_MEMORY;
    for (size_t v = 0; v < N; v++) {
        size_t i = pelt_vertex_class(&model->mesh.weld, v), used = 0;
        memcpy(positions + 3 * v, r->rest + 3 * i, 3 * sizeof *positions);
        for (size_t a = 0; a < K; a++) { /* largest first */
            size_t place = used;
            float weight = r->weights[K * i + a];
            if (!(weight > 0))
                continue;
            for (; place > 0 && weights[K * v + place - 1] < weight; place--) {
                weights[K * v + place] = weights[K * v + place - 1];
                bones[K * v + place] = bones[K * v + place - 1];
            }
            weights[K * v + place] = weight;
            bones[K * v + place] = r->bones[K * i + a];
            used++;
        }
    }
    model->mesh.positions = positions;
    model->skin.weights = weights;
    model->skin.bones = bones;
    model->skin.influence_count = K;
    return PELT_OK;
}
