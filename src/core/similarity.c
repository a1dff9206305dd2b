/* Similarity transforms of rest poses and motions: see similarity.h. */
#include "core/similarity.h"
#include "core/rotation.h"

void px_similarity_map(const px_similarity *s, const double p[3], double out[3]) {
    for (int c = 0; c < 3; c++)
        out[c] =
            s->scale * (s->turn[3 * c] * p[0] + s->turn[3 * c + 1] * p[1] + s->turn[3 * c + 2] * p[2]) + s->shift[c];
}

px_similarity px_similarity_of(double scale, const float rotation[4], const double shift[3]) {
    px_similarity s = {.scale = scale, .shift = {shift[0], shift[1], shift[2]}};
    for (int axis = 0; axis < 3; axis++) {
        double unit[3] = {axis == 0, axis == 1, axis == 2}, to[3];
        px_rotation_apply(px_rotation_of(rotation), unit, to);
        for (int c = 0; c < 3; c++)
            s.turn[3 * c + axis] = to[c];
    }
    return s;
}

/* ---- Skeletons and motions --------------------------------------------------------------------------------- */

/* Transforms a translation; `is_place`: a value, not a tangent of a cubic key. */
static void map_translation(const px_similarity *s, bool is_root, bool is_place, float p[3]) {
    double from[3] = {p[0], p[1], p[2]}, to[3] = {s->scale * from[0], s->scale * from[1], s->scale * from[2]};
    if (is_root)
        px_similarity_map(s, from, to);
    for (int c = 0; c < 3; c++)
        p[c] = (float)(to[c] - (is_root && !is_place ? s->shift[c] : 0));
}

void px_similarity_turn(const px_similarity *s, float q[4]) {
    float own[4];
    px_quat_from_matrix(s->turn, own);
    px_rotation r = px_rotation_mul(px_rotation_of(own), px_rotation_of(q));
    for (int c = 0; c < 4; c++)
        q[c] = (float)r.q[c];
}

void px_similarity_rest(const px_similarity *s, const pelt_skeleton *skeleton, const bool *moves,
                        const pelt_transform *from, pelt_transform *out) {
    for (uint32_t j = 0; j < skeleton->joint_count; j++) {
        bool is_root = skeleton->parents[j] == PELT_NONE;
        pelt_transform t = from[j];
        if (!moves || moves[j]) {
            map_translation(s, is_root, true, t.translation);
            if (is_root) {
                px_similarity_turn(s, t.rotation);
                px_quat_normalize(t.rotation);
            }
        }
        out[j] = t;
    }
}

/* Cubic keys have a tangent on either side of the value. */
static pelt_result map_track(px_arena *arena, const px_similarity *s, bool is_root, pelt_track *track) {
    if (track->path != PELT_PATH_TRANSLATION && !(track->path == PELT_PATH_ROTATION && is_root))
        return PELT_OK;
    PX_TRY(px_track_copy(arena, track));
    float *values = (float *)(uintptr_t)track->values; /* a copy of our own */
    bool cubic = track->interpolation == PELT_INTERPOLATION_CUBIC;
    size_t count = (size_t)track->key_count * (cubic ? 3 : 1);
    for (size_t k = 0; k < count; k++) {
        if (track->path == PELT_PATH_TRANSLATION)
            map_translation(s, is_root, !cubic || k % 3 == 1, values + 3 * k);
        else
            px_similarity_turn(s, values + 4 * k);
    }
    return PELT_OK;
}

pelt_result px_similarity_motions(px_arena *arena, const px_similarity *s, const bool *moves, uint32_t first_motion,
                                  const pelt_model *model, pelt_motion **out) {
    pelt_motion *motions = PX_NEW(arena, pelt_motion, model->motion_count);
    if (!motions)
        return PELT_ERROR_MEMORY;
    for (uint32_t m = 0; m < model->motion_count; m++) {
        motions[m] = model->motions[m];
        if (m < first_motion)
            continue;
        motions[m].tracks = PX_NEW(arena, pelt_track, motions[m].track_count);
        if (!motions[m].tracks)
            return PELT_ERROR_MEMORY;
        for (uint32_t t = 0; t < motions[m].track_count; t++) {
            pelt_track *track = &motions[m].tracks[t];
            *track = model->motions[m].tracks[t];
            if (!moves || moves[track->joint])
                PX_TRY(map_track(arena, s, model->skeleton.parents[track->joint] == PELT_NONE, track));
        }
    }
    *out = motions;
    return PELT_OK;
}
