/* Joints and tracks of bones below a host; see nodes.h. */
#include "decompose/nodes.h"
#include "core/math3.h"
#include "core/matrix3.h"

pelt_result px_skeleton_extend(px_arena *memory, const pelt_skeleton *from, uint32_t added, pelt_skeleton *to) {
    to->joint_count = from->joint_count + added;
    to->names = PX_NEW(memory, const char *, to->joint_count);
    to->parents = PX_NEW(memory, uint32_t, to->joint_count);
    to->rest = PX_NEW(memory, pelt_transform, to->joint_count);
    if (!to->names || !to->parents || !to->rest)
        return PELT_ERROR_MEMORY;
    memcpy(to->names, from->names, from->joint_count * sizeof *to->names);
    memcpy(to->parents, from->parents, from->joint_count * sizeof *to->parents);
    memcpy(to->rest, from->rest, from->joint_count * sizeof *to->rest);
    return PELT_OK;
}

px_bone_node px_bone_node_make(const px_bone_kind *kind, uint32_t joint, const pelt_affine *inverse_bind,
                               const double pivot[3]) {
    px_bone_node node = {.kind = kind, .joint = joint, .pivot = {pivot[0], pivot[1], pivot[2]}};
    double determinant = px_affine_determinant(inverse_bind);
    node.scale = determinant != 0 ? px_cbrt(fabs(determinant)) : 1;
    for (size_t e = 0; e < 12; e++)
        node.host[e] = (double)inverse_bind->m[e] / (e % 4 < 3 ? node.scale : 1);
    const double *h = node.host;
    px_polar3((const double[9]){h[0], h[1], h[2], h[4], h[5], h[6], h[8], h[9], h[10]}, node.turn, NULL);
    for (size_t e = 0; e < 3; e++)
        node.frame.axes[4 * e] = node.frame.scales[e] = 1;
    return node;
}

void px_bone_node_matrix(const px_bone_node *node, const double x[12], double out[12]) {
    const double *g = node->pivot;
    for (size_t r = 0; r < 3; r++)
        for (size_t c = 0; c < 4; c++) {
            double sum = 0;
            for (size_t k = 0; k < 3; k++) {
                const double *row = x + 4 * k;
                double value = c < 3 ? row[c] : row[0] * g[0] + row[1] * g[1] + row[2] * g[2] + row[3];
                sum += node->host[4 * r + k] * value;
            }
            out[4 * r + c] = c < 3 ? sum : node->scale * sum + node->host[4 * r + 3];
        }
}

pelt_result px_bone_node_rest(px_arena *arena, const px_bone_node *node, const double matrix[12], uint32_t host_joint,
                              const pelt_skeleton *skeleton) {
    uint32_t inner = node->joint, outer = node->kind->nested ? inner - 1 : inner;
    px_bone_path path = {node->kind, 1, matrix, node->frame, node->turn};
    px_bone_keys keys;
    PX_TRY(px_keys_make(arena, &path, &keys));
    pelt_transform *rest = skeleton->rest;
    skeleton->parents[inner] = outer;
    skeleton->parents[outer] = host_joint;
    rest[outer] = rest[inner] = px_transform_identity();
    memcpy(rest[outer].translation, keys.translations, sizeof rest[outer].translation);
    memcpy(rest[outer].rotation, keys.rotations, sizeof rest[outer].rotation);
    if (keys.scales)
        memcpy(rest[outer].scale, keys.scales, sizeof rest[outer].scale);
    if (keys.inner_rotations)
        memcpy(rest[inner].rotation, keys.inner_rotations, sizeof rest[inner].rotation);
    for (int a = 0; a < 3 && inner != outer; a++)
        rest[inner].scale[a] = (float)(1 / node->frame.scales[a]);
    return PELT_OK;
}

pelt_affine px_bone_node_bind(const px_bone_node *node) {
    pelt_affine bind;
    for (size_t r = 0; r < 3; r++) {
        double along = 0;
        for (size_t c = 0; c < 3; c++) {
            bind.m[4 * r + c] = (float)(node->scale * node->frame.axes[3 * c + r]);
            along += node->frame.axes[3 * c + r] * node->pivot[c];
        }
        bind.m[4 * r + 3] = (float)(-node->scale * along);
    }
    return bind;
}

/* Largest squared distance of the keys from a value; rotations q and −q are equal. */
static double farthest(const pelt_track *track, const float *rest) {
    double most = 0;
    for (size_t k = 0; k < track->key_count; k++) {
        double same = 0, opposite = 0;
        for (size_t c = 0; c < track->width; c++) {
            double x = (double)track->values[k * track->width + c], y = (double)rest[c];
            same += (x - y) * (x - y);
            opposite += (x + y) * (x + y);
        }
        most = px_fmax(most, track->path == PELT_PATH_ROTATION ? px_fmin(same, opposite) : same);
    }
    return most;
}

static pelt_result add_tracks(px_arena *memory, px_arena *scratch, const px_bone_node *node,
                              const pelt_skeleton *skeleton, const double *matrices, const px_node_times *times,
                              pelt_motion *motion) {
    px_bone_path path = {node->kind, times->key_count, matrices, node->frame, node->turn};
    px_bone_keys keys;
    PX_TRY(px_keys_make(scratch, &path, &keys));
    uint32_t inner = node->joint, outer = node->kind->nested ? inner - 1 : inner;
    const pelt_transform *rest = skeleton->rest;
    double move = times->move * node->scale, turn = times->move / times->reach;
    const struct {
        const float *values, *rest;
        pelt_path path;
        uint32_t width, joint;
        double tolerance;
    } rows[] = {{keys.translations, rest[outer].translation, PELT_PATH_TRANSLATION, 3, outer, move},
                {keys.rotations, rest[outer].rotation, PELT_PATH_ROTATION, 4, outer, 0.25 * turn},
                {keys.scales, rest[outer].scale, PELT_PATH_SCALE, 3, outer, 0.5 * turn},
                {keys.inner_rotations, rest[inner].rotation, PELT_PATH_ROTATION, 4, inner, 0.25 * turn}};
    for (size_t t = 0; t < PX_COUNT(rows); t++) {
        pelt_track track = {.joint = rows[t].joint,
                            .path = rows[t].path,
                            .interpolation = times->interpolation,
                            .width = rows[t].width,
                            .key_count = times->key_count,
                            .times = times->times,
                            .values = rows[t].values};
        if (!track.values || farthest(&track, rows[t].rest) <= 0.25 * rows[t].tolerance * rows[t].tolerance)
            continue;
        if (track.interpolation == PELT_INTERPOLATION_LINEAR)
            PX_TRY(px_keys_reduce(scratch, &track, rows[t].tolerance, true));
        PX_TRY(px_track_copy(memory, &track));
        motion->tracks[motion->track_count++] = track;
    }
    return PELT_OK;
}

pelt_result px_bone_node_tracks(px_arena *memory, const px_bone_node *node, const pelt_skeleton *skeleton,
                                const double *matrices, const px_node_times *times, pelt_motion *motion) {
    px_arena *scratch = px_arena_create(px_arena_context(memory));
    pelt_result result =
        scratch ? add_tracks(memory, scratch, node, skeleton, matrices, times, motion) : PELT_ERROR_MEMORY;
    px_arena_destroy(scratch);
    return result;
}
