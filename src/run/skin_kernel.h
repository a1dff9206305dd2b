/* The skinning kernel, once for every body. The includer defines LANES (see lanes.h) and SKIN_BODY, the name of the
 * body. Each output goes through the same operations in the same order in every body, so all agree to the last bit.
 *
 * Linear blend: M = Σ w·B, v' = M v, n' ∝ cof(M) n, t' ∝ M t. The cofactor matrix turns the normal of a surface into
 * the normal of the deformed surface, with the side its triangles' winding says; no inverse, so flattening is fine.
 * Dual quaternions: L. Kavan, S. Collins, J. Žára, C. O'Sullivan, "Geometric skinning with approximate dual quaternion
 * blending", ACM Trans. Graph. 27(4), 2008.
 */
#include "run/skin.h"
#include "run/vectors.h"

/* ---- Linear blend ----------------------------------------------------------------------------------------- */

/* m[4r + c]: row r, column c of the blended matrices of vertices i, i + 1 … */
#if LANES == 1
INLINE void blend_matrices(const pelt_skin_job *job, const pelt_affine *palette, size_t i, lanes m[12]) {
    const uint16_t *bones = job->bones + i * job->influence_count;
    const float *weights = job->weights + i * job->influence_count;
    for (int e = 0; e < 12; e++)
        m[e] = weights[0] * palette[bones[0]].m[e];
    for (uint32_t k = 1; k < job->influence_count; k++)
        for (int e = 0; e < 12; e++)
            m[e] += weights[k] * palette[bones[k]].m[e];
}
#else
/* Rows are blended as they lie in the palette, and only the sums are turned: 6 shuffles a vertex, whatever K. */
INLINE void blend_matrices(const pelt_skin_job *job, const pelt_affine *palette, size_t i, lanes m[12]) {
    size_t influences = job->influence_count;
    for (size_t v = 0; v < 4; v++) {
        size_t low = (i + v) * influences, high = (i + v + LANES - 4) * influences;
        for (size_t k = 0; k < influences; k++) {
            const float *a = palette[job->bones[low + k]].m, *b = palette[job->bones[high + k]].m;
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
    blend_matrices(job, job->palette, i, m);
    lanes_load3(job->positions + 3 * i, p);
    move(m, p, out);
    lanes_store3(job->out_positions + 3 * i, out);
    if (job->normals) {
        lanes n[3];
        lanes_load3(job->normals + 3 * i, n);
        cofactor(m, n, out);
        unit(out, n);
        lanes_store3(job->out_normals + 3 * i, out);
    }
    if (job->tangents) {
        lanes t[4];
        lanes_load4(job->tangents + 4 * i, t);
        turn(m, t, out);
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

/* Blended, of any length. q and −q are the same rotation: each is taken on the side of the first one, which has the
 * largest weight, so that blends go the short way. */
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
        weight = lanes_flip(weight, dot);
        for (int e = 0; e < 8; e++)
            sum[e] += weight * q[e];
    }
}

INLINE void dual_quaternion(const pelt_skin_job *job, size_t i) {
    lanes stretch[12], q[8], m[12], v[4], out[3];
    if (job->stretches)
        blend_matrices(job, job->stretches, i, stretch);
    blend_dual_quaternions(job, i, q);
    dual_matrix(q, m);
    lanes_load3(job->positions + 3 * i, v);
    if (job->stretches)
        turn(stretch, v, v);
    move(m, v, out);
    lanes_store3(job->out_positions + 3 * i, out);
    if (job->normals) {
        lanes n[3];
        lanes_load3(job->normals + 3 * i, n);
        memcpy(v, n, sizeof n);
        if (job->stretches)
            cofactor(stretch, n, v);
        turn(m, v, out);
        unit(out, n);
        lanes_store3(job->out_normals + 3 * i, out);
    }
    if (job->tangents) {
        lanes t[4];
        lanes_load4(job->tangents + 4 * i, t);
        memcpy(v, t, sizeof t);
        if (job->stretches)
            turn(stretch, v, v);
        turn(m, v, out);
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
