/* Kernel for shared groups of prepared skins, for every instruction set. The includer defines LANES (see lanes.h)
 * and PREPARED_BODY, the name of the function. All vertices of a group have the same bones, so nothing is gathered:
 * matrices are broadcast to all lanes, only weights differ, and positions and normals are stored one vector per
 * component.
 */
#include "run/skin.h"
#include "run/vectors.h"

#define BLOCK ((size_t)PELT_PREPARED_BLOCK)
#define STEPS (BLOCK / LANES) /* steps per block */

/* A group: its ranges of the streams, its pose, and its output. */
typedef struct prepared_walk {
    const pelt_prepared_group *group;
    const px_prepared_pose *pose;
    const float *weights, *positions, *normals, *tangents;
    px_prepared_out out;
} prepared_walk;

/* A step is LANES vertices, a block or a part of one. Offset of a step in a stream of `width` components. */
INLINE size_t stream_at(size_t step, size_t width) {
    return step / STEPS * BLOCK * width + step % STEPS * LANES;
}
/* Output index of the first vertex of a step. */
INLINE size_t place_of(const prepared_walk *walk, size_t step) {
    return px_prepared_place(walk->group, step / STEPS) + step % STEPS * LANES;
}

INLINE void load_rows(const float *rows, int count, lanes out[]) {
    for (int c = 0; c < count; c++)
        out[c] = lanes_load(rows + (size_t)c * BLOCK);
}

/* Elements [first, first + count) of rows of `width`: those of row 0 plus Σ weight · row k. */
INLINE void blend_rows(const float *rows, size_t width, size_t first, size_t count, const float *weights,
                       size_t influences, lanes out[]) {
    for (size_t e = 0; e < count; e++)
        out[e] = lanes_splat(rows[first + e]);
    for (size_t k = 1; k < influences; k++) {
        lanes weight = lanes_load(weights + (k - 1) * BLOCK);
        for (size_t e = 0; e < count; e++)
            out[e] += weight * rows[k * width + first + e];
    }
}

INLINE void blend_matrix(const prepared_walk *walk, size_t step, size_t influences, lanes m[12]) {
    const float *weights = walk->weights + stream_at(step, influences - 1);
    for (size_t r = 0; r < 3; r++)
        blend_rows(walk->pose->matrices[0], 12, 4 * r, 4, weights, influences, m + 4 * r);
}

/* ---- Normals ------------------------------------------------------------------------------------------------ */

/* Converts stored normals back to x y z. */
INLINE void rest_normal(const prepared_walk *walk, size_t step, int axis, lanes n[3]) {
    load_rows(walk->normals + stream_at(step, 3), 3, n);
    if (axis < 3) {
        n[(axis + 1) % 3] *= n[axis];
        n[(axis + 2) % 3] *= n[axis];
    }
}

/* Cofactor matrix of m times the normals, not normalised: with the columns a, b, c of m, c at the axis, (a − α c) ×
 * (b − β c), negated for normals that point against the axis (see prepare.c). */
INLINE void blended_normal(const prepared_walk *walk, size_t step, const lanes m[12], int axis, lanes out[3]) {
    lanes n[3], a[3], b[3];
    load_rows(walk->normals + stream_at(step, 3), 3, n);
    if (axis == 3) {
        cofactor(m, n, out);
        return;
    }
    int second = (axis + 1) % 3, third = (axis + 2) % 3;
    for (int r = 0; r < 3; r++) {
        a[r] = m[4 * r + second] - n[second] * m[4 * r + axis];
        b[r] = m[4 * r + third] - n[third] * m[4 * r + axis];
    }
    lanes_cross3(a, b, out);
    for (int c = 0; c < 3; c++)
        out[c] = lanes_flip(out[c], n[axis]);
}

/* Normalises skinned normals; those of length 0 get the rest normal. */
INLINE void finish_normal(const prepared_walk *walk, size_t step, int axis, const lanes moved[3]) {
    lanes out[3] = {moved[0], moved[1], moved[2]}, rest[3];
    lanes_mask good = make_unit(out);
    if (__builtin_expect(!lanes_all(good), 0)) {
        rest_normal(walk, step, axis, rest);
        for (int c = 0; c < 3; c++)
            out[c] = lanes_select(good, out[c], rest[c]);
    }
    lanes_store3(walk->out.normals + 3 * place_of(walk, step), out);
}

/* ---- Single bones ------------------------------------------------------------------------------------------- */

static void single_positions(const prepared_walk *walk, size_t step_count) {
    lanes m[12], p[3], out[3];
    for (int e = 0; e < 12; e++)
        m[e] = lanes_splat(walk->pose->matrices[0][e]);
    for (size_t step = 0; step < step_count; step++) {
        load_rows(walk->positions + stream_at(step, 3), 3, p);
        move(m, p, out);
        lanes_store3(walk->out.positions + 3 * place_of(walk, step), out);
    }
}

static void single_normals(const prepared_walk *walk, size_t step_count) {
    lanes m[9], n[3], out[3];
    for (int e = 0; e < 9; e++)
        m[e] = lanes_splat(walk->pose->cofactor[e]);
    for (size_t step = 0; step < step_count; step++) {
        load_rows(walk->normals + stream_at(step, 3), 3, n);
        for (int r = 0; r < 3; r++)
            out[r] = m[3 * r] * n[0] + m[3 * r + 1] * n[1] + m[3 * r + 2] * n[2];
        if (!walk->pose->turned)
            unit(out, n);
        lanes_store3(walk->out.normals + 3 * place_of(walk, step), out);
    }
}

/* ---- Linear blend ------------------------------------------------------------------------------------------- */

/* Called with constant arguments, so that the compiler specialises them. */
INLINE void blended_positions(const prepared_walk *walk, size_t step_count, size_t influences) {
    for (size_t step = 0; step < step_count; step++) {
        lanes m[12], p[3], out[3];
        load_rows(walk->positions + stream_at(step, 3), 3, p);
        blend_matrix(walk, step, influences, m);
        move(m, p, out);
        lanes_store3(walk->out.positions + 3 * place_of(walk, step), out);
    }
}

/* Positions and normals of one step; normals are not normalised. */
INLINE void blended_step(const prepared_walk *walk, size_t step, size_t influences, int axis, lanes moved[3]) {
    lanes m[12], p[3], out[3];
    load_rows(walk->positions + stream_at(step, 3), 3, p);
    blend_matrix(walk, step, influences, m);
    move(m, p, out);
    lanes_store3(walk->out.positions + 3 * place_of(walk, step), out);
    blended_normal(walk, step, m, axis, moved);
}

/* Steps [first, end), whose normals have the same axis. Software pipelining: normals are normalised after the next
 * step was started, because the square root has the longest latency. */
INLINE void blended_normals(const prepared_walk *walk, size_t first, size_t end, size_t influences, int axis) {
    lanes moved[3], before[3];
    blended_step(walk, first, influences, axis, moved);
    for (size_t step = first + 1; step < end; step++) {
        memcpy(before, moved, sizeof moved);
        blended_step(walk, step, influences, axis, moved);
        finish_normal(walk, step - 1, axis, before);
    }
    finish_normal(walk, end - 1, axis, moved);
}

/* ---- Dual quaternions --------------------------------------------------------------------------------------- */

/* Computes the matrices of the blended dual quaternions; returns the blended scales. */
INLINE lanes blend_dual(const prepared_walk *walk, size_t step, lanes m[12]) {
    lanes q[9];
    size_t influences = walk->pose->influence_count;
    blend_rows(walk->pose->duals[0], 9, 0, 9, walk->weights + stream_at(step, influences - 1), influences, q);
    dual_matrix(q, m);
    return q[8];
}

/* Rotations keep unit normals at unit length. `axis` 4: no normals. */
INLINE void dual_normals(const prepared_walk *walk, size_t first, size_t end, int axis) {
    for (size_t step = first; step < end; step++) {
        lanes m[12], v[3], out[3], scale = blend_dual(walk, step, m);
        load_rows(walk->positions + stream_at(step, 3), 3, v);
        for (int c = 0; c < 3; c++)
            v[c] *= scale;
        move(m, v, out);
        lanes_store3(walk->out.positions + 3 * place_of(walk, step), out);
        if (axis == 4)
            continue;
        rest_normal(walk, step, axis, v);
        turn(m, v, out);
        lanes_store3(walk->out.normals + 3 * place_of(walk, step), out);
    }
}

/* Like dual_normals, after applying the blended stretches. */
INLINE void stretched_normals(const prepared_walk *walk, size_t first, size_t end, int axis) {
    for (size_t step = first; step < end; step++) {
        lanes stretch[12], m[12], v[3], out[3];
        blend_matrix(walk, step, walk->pose->influence_count, stretch);
        blend_dual(walk, step, m);
        load_rows(walk->positions + stream_at(step, 3), 3, v);
        turn(stretch, v, v);
        move(m, v, out);
        lanes_store3(walk->out.positions + 3 * place_of(walk, step), out);
        if (axis == 4)
            continue;
        blended_normal(walk, step, stretch, axis, v);
        turn(m, v, out);
        finish_normal(walk, step, axis, out);
    }
}

/* ---- Tangents ----------------------------------------------------------------------------------------------- */

static void run_tangents(const prepared_walk *walk, size_t step_count) {
    const px_prepared_pose *pose = walk->pose;
    for (size_t step = 0; step < step_count; step++) {
        lanes m[12], t[4], out[4];
        load_rows(walk->tangents + stream_at(step, 4), 4, t);
        memcpy(out, t, sizeof t);
        if (pose->linear || pose->stretched) {
            blend_matrix(walk, step, pose->influence_count, m);
            turn(m, out, out);
        }
        if (!pose->linear) {
            blend_dual(walk, step, m);
            turn(m, out, out);
        }
        unit(out, t);
        lanes_store4(walk->out.tangents + 4 * place_of(walk, step), out);
    }
}

/* ---- Entry point -------------------------------------------------------------------------------------------- */

static void run_positions(const prepared_walk *walk, size_t step_count) {
    const px_prepared_pose *pose = walk->pose;
    if (pose->stretched)
        stretched_normals(walk, 0, step_count, 4);
    else if (!pose->linear)
        dual_normals(walk, 0, step_count, 4);
    else if (pose->influence_count == 2)
        blended_positions(walk, step_count, 2);
    else if (pose->influence_count == 3)
        blended_positions(walk, step_count, 3);
    else if (pose->influence_count == 4)
        blended_positions(walk, step_count, 4);
    else
        blended_positions(walk, step_count, pose->influence_count);
}

INLINE void run_axis(const prepared_walk *walk, size_t first, size_t end, int axis) {
    const px_prepared_pose *pose = walk->pose;
    if (pose->stretched)
        stretched_normals(walk, first, end, axis);
    else if (!pose->linear)
        dual_normals(walk, first, end, axis);
    else if (pose->influence_count == 2)
        blended_normals(walk, first, end, 2, axis);
    else if (pose->influence_count == 3)
        blended_normals(walk, first, end, 3, axis);
    else if (pose->influence_count == 4)
        blended_normals(walk, first, end, 4, axis);
    else
        blended_normals(walk, first, end, pose->influence_count, axis);
}

/* Positions and normals, in runs of blocks with the same axis. */
static void run_normals(const prepared_walk *walk, const uint8_t *axes, size_t block_count) {
    for (size_t first = 0, end; first < block_count; first = end) {
        for (end = first + 1; end < block_count && axes[end] == axes[first];)
            end++;
        switch (axes[first]) {
        case 0:
            run_axis(walk, first * STEPS, end * STEPS, 0);
            break;
        case 1:
            run_axis(walk, first * STEPS, end * STEPS, 1);
            break;
        case 2:
            run_axis(walk, first * STEPS, end * STEPS, 2);
            break;
        default:
            run_axis(walk, first * STEPS, end * STEPS, 3);
        }
    }
}

void PREPARED_BODY(const pelt_prepared_skin *prepared, const pelt_prepared_group *group, const px_prepared_pose *pose,
                   const px_prepared_out *out) {
    size_t block_count = px_block_count(group->vertex_count, BLOCK), at = group->first_block * BLOCK;
    prepared_walk walk = {group, pose, prepared->weights + group->first_weight, prepared->positions + 3 * at,
                          .out = *out};
    if (out->normals)
        walk.normals = prepared->normals + 3 * at;
    if (out->tangents)
        walk.tangents = prepared->tangents + 4 * at;
    if (pose->influence_count == 1) {
        single_positions(&walk, block_count * STEPS);
        if (out->normals)
            single_normals(&walk, block_count * STEPS);
    } else if (out->normals)
        run_normals(&walk, prepared->axes + group->first_block, block_count);
    else
        run_positions(&walk, block_count * STEPS);
    if (out->tangents)
        run_tangents(&walk, block_count * STEPS);
}
