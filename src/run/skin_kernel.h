/* The skinning kernel, once for every body. The includer defines LANES (see lanes.h) and SKIN_BODY, the name of the
 * body. Each output goes through the same operations in the same order in every body, so all agree to the last bit.
 *
 * Linear blend: M = Σ w·B, v' = M v, n' ∝ cof(M) n, t' ∝ M t. The cofactor matrix turns the normal of a surface into
 * the normal of the deformed surface, with the side its triangles' winding says; no inverse, so flattening is fine.
 * Dual quaternions: L. Kavan, S. Collins, J. Žára, C. O'Sullivan, "Geometric skinning with approximate dual quaternion
 * blending", ACM Trans. Graph. 27(4), 2008.
 */
#include "core/lanes.h"
#include "run/skin.h"

#include <float.h>

/* Below this squared length a vector has lost its direction to rounding; above, relative errors stay at 1e-7. Reached
 * when bones scale by less than about 1e-9. */
#define SHORTEST 1e-36f

/* Unit length, or the rest vector where there is no direction left (zero, overflow, NaN). */
INLINE void unit(lanes v[3], const lanes rest[3]) {
    lanes length2 = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
    lanes inverse = 1.0f / lanes_sqrt(length2);
    lanes_mask good = (length2 > SHORTEST) & (length2 <= FLT_MAX);
    for (int c = 0; c < 3; c++)
        v[c] = lanes_select(good, v[c] * inverse, rest[c]);
}

/* ---- Linear blend ----------------------------------------------------------------------------------------- */

/* m[4r + c]: row r, column c of the blended matrices of vertices i, i + 1 … */
#if LANES == 1
INLINE void blend_matrices(const pelt_skin_job *job, size_t i, lanes m[12]) {
    const uint16_t *bones = job->bones + i * job->influence_count;
    const float *weights = job->weights + i * job->influence_count;
    for (int e = 0; e < 12; e++)
        m[e] = weights[0] * job->palette[bones[0]].m[e];
    for (uint32_t k = 1; k < job->influence_count; k++)
        for (int e = 0; e < 12; e++)
            m[e] += weights[k] * job->palette[bones[k]].m[e];
}
#else
/* Rows are blended as they lie in the palette, and only the sums are turned: 6 shuffles a vertex, whatever K. */
INLINE void blend_matrices(const pelt_skin_job *job, size_t i, lanes m[12]) {
    size_t influences = job->influence_count;
    for (size_t v = 0; v < 4; v++) {
        size_t low = (i + v) * influences, high = (i + v + LANES - 4) * influences;
        for (size_t k = 0; k < influences; k++) {
            const float *a = job->palette[job->bones[low + k]].m, *b = job->palette[job->bones[high + k]].m;
            lanes weight = lanes_pair_splat(job->weights[low + k], job->weights[high + k]);
            for (int r = 0; r < 3; r++) {
                lanes term = weight * lanes_pair(a + 4 * r, b + 4 * r);
                m[4 * r + (int)v] = k == 0 ? term : m[4 * r + (int)v] + term;
            }
        }
    }
    for (int r = 0; r < 3; r++)
        lanes_transpose(m + 4 * r);
}
#endif

INLINE void linear(const pelt_skin_job *job, size_t i) {
    lanes m[12], p[3], out[3];
    blend_matrices(job, i, m);
    lanes_load3(job->positions + 3 * i, p);
    for (int r = 0; r < 3; r++)
        out[r] = m[4 * r] * p[0] + m[4 * r + 1] * p[1] + m[4 * r + 2] * p[2] + m[4 * r + 3];
    lanes_store3(job->out_positions + 3 * i, out);
    if (job->normals) {
        lanes n[3];
        lanes_load3(job->normals + 3 * i, n);
        for (int r = 0; r < 3; r++) {
            const lanes *a = m + 4 * ((r + 1) % 3), *b = m + 4 * ((r + 2) % 3); /* the cofactor's row r is a × b */
            out[r] = (a[1] * b[2] - a[2] * b[1]) * n[0] + (a[2] * b[0] - a[0] * b[2]) * n[1] +
                     (a[0] * b[1] - a[1] * b[0]) * n[2];
        }
        unit(out, n);
        lanes_store3(job->out_normals + 3 * i, out);
    }
    if (job->tangents) {
        lanes t[4];
        lanes_load4(job->tangents + 4 * i, t);
        for (int r = 0; r < 3; r++)
            out[r] = m[4 * r] * t[0] + m[4 * r + 1] * t[1] + m[4 * r + 2] * t[2];
        unit(out, t);
        lanes_store4(job->out_tangents + 4 * i, (lanes[4]){out[0], out[1], out[2], t[3]});
    }
}

/* ---- Dual quaternions ------------------------------------------------------------------------------------- */

/* The dual quaternions of influence k of vertices i, i + 1 … */
INLINE void gather_dual_quaternions(const pelt_skin_job *job, size_t i, size_t k, lanes q[8]) {
    const uint16_t *bones = job->bones + i * job->influence_count + k;
#if LANES == 1
    memcpy(q, job->dual_quaternions[bones[0]].q, 8 * sizeof(float));
#else
    for (size_t v = 0; v < 4; v++) {
        const float *a = job->dual_quaternions[bones[v * job->influence_count]].q;
        const float *b = job->dual_quaternions[bones[(v + LANES - 4) * job->influence_count]].q;
        q[v] = lanes_pair(a, b);
        q[4 + v] = lanes_pair(a + 4, b + 4);
    }
    lanes_transpose(q);
    lanes_transpose(q + 4);
#endif
}

/* Blended and of unit length. q and −q are the same rotation: each is taken on the side of the first one, which has
 * the largest weight, so that blends go the short way. Without any weight all is 0, which moves nothing. */
INLINE void blend_dual_quaternions(const pelt_skin_job *job, size_t i, lanes sum[8]) {
    size_t influences = job->influence_count;
    const float *weights = job->weights + i * influences;
    lanes first[8], weight = lanes_stride(weights, influences);
    gather_dual_quaternions(job, i, 0, first);
    for (int e = 0; e < 8; e++)
        sum[e] = weight * first[e];
    for (size_t k = 1; k < influences; k++) {
        lanes q[8];
        gather_dual_quaternions(job, i, k, q);
        weight = lanes_stride(weights + k, influences);
        lanes dot = q[0] * first[0] + q[1] * first[1] + q[2] * first[2] + q[3] * first[3];
        weight = lanes_select(dot < 0.0f, -weight, weight);
        for (int e = 0; e < 8; e++)
            sum[e] += weight * q[e];
    }
    lanes length2 = sum[0] * sum[0] + sum[1] * sum[1] + sum[2] * sum[2] + sum[3] * sum[3];
    lanes inverse = 1.0f / lanes_sqrt(length2);
    inverse = lanes_select(length2 > SHORTEST, inverse, length2 - length2);
    for (int e = 0; e < 8; e++)
        sum[e] *= inverse;
}

INLINE void dual_quaternion(const pelt_skin_job *job, size_t i) {
    lanes q[8], p[3], out[3], turn[3];
    blend_dual_quaternions(job, i, q);
    lanes_load3(job->positions + 3 * i, p);
    lanes_turn3(q, p, out);
    lanes_cross3(q, q + 4, turn);
    for (int c = 0; c < 3; c++)
        out[c] += 2.0f * (q[3] * q[4 + c] - q[7] * q[c] + turn[c]);
    lanes_store3(job->out_positions + 3 * i, out);
    if (job->normals) {
        lanes n[3];
        lanes_load3(job->normals + 3 * i, n);
        lanes_turn3(q, n, out);
        unit(out, n);
        lanes_store3(job->out_normals + 3 * i, out);
    }
    if (job->tangents) {
        lanes t[4];
        lanes_load4(job->tangents + 4 * i, t);
        lanes_turn3(q, t, out);
        unit(out, t);
        lanes_store4(job->out_tangents + 4 * i, (lanes[4]){out[0], out[1], out[2], t[3]});
    }
}

/* ---- The body --------------------------------------------------------------------------------------------- */

void SKIN_BODY(const pelt_skin_job *job) {
    size_t whole = job->vertex_count - job->vertex_count % LANES;
    if (job->skinning == PELT_SKINNING_LINEAR)
        for (size_t i = 0; i < whole; i += LANES)
            linear(job, i);
    else
        for (size_t i = 0; i < whole; i += LANES)
            dual_quaternion(job, i);
#if LANES > 1
    pelt_skin_job rest = px_skin_range(job, whole, job->vertex_count - whole);
    px_skin_scalar(&rest);
#endif
}
