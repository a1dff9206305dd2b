/* Skinning kernel, for every instruction set. The includer defines LANES (see lanes.h) and SKIN_BODY, the name of the
 * function. Every version does the same operations in the same order for each vertex, so results are identical to the
 * last bit.
 *
 * Linear blend skinning: M = Σ w·B, v' = M v, n' ∝ cof(M) n, t' ∝ M t. The cofactor matrix maps the normal of a surface
 * to the normal of the deformed surface, on the side given by the winding of its triangles; it needs no inverse, so
 * singular matrices are allowed. Accurate normals: n' ∝ cof(F) n with the deformation gradient F = M + Σ (B v) ∇wᵀ (B.
 * Merry, P. Marais, J. Gain, "Normal transformations for articulated models", SIGGRAPH 2006 sketches); with Bc = Σ ∂w/∂x_c
 * B, its column c is that of M plus Bc v, so the gradients blend matrices as the weights do. Tangents then follow F too.
 * Dual quaternions: L. Kavan, S. Collins, J. Žára, C. O'Sullivan, "Geometric skinning
 * with approximate dual quaternion blending", ACM Trans. Graph. 27(4), 2008.
 */
#include "run/skin.h"
#include "run/vectors.h"

/* ---- Linear blend ----------------------------------------------------------------------------------------- */

/* m[4r + c]: row r, column c of the blended matrices of vertices i, i + 1 … */
#if LANES == 1
INLINE void blend_matrices(const pelt_skin_job *job, const pelt_affine *palette, size_t i, size_t influences,
                           lanes m[12]) {
    const uint16_t *bones = job->bones + i * influences;
    const float *weights = job->weights + i * influences;
    for (int e = 0; e < 12; e++)
        m[e] = weights[0] * palette[bones[0]].m[e];
    for (size_t k = 1; k < influences; k++)
        for (int e = 0; e < 12; e++)
            m[e] += weights[k] * palette[bones[k]].m[e];
}
#elif LANES == 4
/* Rows are blended in the palette's memory order and only the sums are transposed: 6 shuffles per vertex for any K. */
INLINE void blend_matrices(const pelt_skin_job *job, const pelt_affine *palette, size_t i, size_t influences,
                           lanes m[12]) {
    for (size_t v = 0; v < 4; v++) {
        const uint16_t *bones = job->bones + (i + v) * influences;
        const float *weights = job->weights + (i + v) * influences;
        for (size_t k = 0; k < influences; k++)
            for (size_t r = 0; r < 3; r++) {
                lanes term = weights[k] * lanes_load(palette[bones[k]].m + 4 * r);
                m[4 * r + v] = k == 0 ? term : m[4 * r + v] + term;
            }
    }
    for (int r = 0; r < 3; r++)
        lanes_transpose(m + 4 * r);
}
#else
/* Same method, with the first two rows in one vector. */
INLINE void blend_matrices(const pelt_skin_job *job, const pelt_affine *palette, size_t i, size_t influences,
                           lanes m[12]) {
    lanes pairs[8];
    quad thirds[8];
    for (size_t v = 0; v < 8; v++) {
        const uint16_t *bones = job->bones + (i + v) * influences;
        const float *weights = job->weights + (i + v) * influences;
        const float *bone = palette[bones[0]].m;
        lanes pair = weights[0] * lanes_load(bone);
        quad third = weights[0] * quad_load(bone + 8);
        for (size_t k = 1; k < influences; k++) {
            bone = palette[bones[k]].m;
            pair += weights[k] * lanes_load(bone);
            third += weights[k] * quad_load(bone + 8);
        }
        pairs[v] = pair, thirds[v] = third;
    }
    for (size_t v = 0; v < 4; v++) {
        m[v] = lanes_low_halves(pairs[v], pairs[v + 4]);
        m[4 + v] = lanes_high_halves(pairs[v], pairs[v + 4]);
        m[8 + v] = lanes_halves(thirds[v], thirds[v + 4]);
    }
    for (int r = 0; r < 3; r++)
        lanes_transpose(m + 4 * r);
}
#endif

/* ---- Accurate normals ------------------------------------------------------------------------------------- */

/* b[c] = Σ value[c] · palette[bone] over the gradients of vertices i, i + 1 …, c = x, y, z; rows as in m above. */
#if LANES == 1
INLINE void blend_gradients(const pelt_skin_job *job, size_t i, lanes b[3][12]) {
    const pelt_weight_gradients *g = &job->gradients;
    memset(b, 0, 36 * sizeof(lanes));
    for (uint32_t n = g->offsets[i]; n < g->offsets[i + 1]; n++) {
        const float *bone = job->palette[g->entries[n].bone].m;
        for (int c = 0; c < 3; c++)
            for (int e = 0; e < 12; e++)
                b[c][e] += (float)g->entries[n].value[c] * bone[e];
    }
}
#elif LANES == 4
INLINE void blend_gradients(const pelt_skin_job *job, size_t i, lanes b[3][12]) {
    const pelt_weight_gradients *g = &job->gradients;
    for (size_t v = 0; v < 4; v++) {
        lanes sums[9] = {{0}};
        for (uint32_t n = g->offsets[i + v]; n < g->offsets[i + v + 1]; n++) {
            const float *bone = job->palette[g->entries[n].bone].m;
            for (int e = 0; e < 9; e++)
                sums[e] += (float)g->entries[n].value[e / 3] * lanes_load(bone + 4 * (e % 3));
        }
        for (size_t e = 0; e < 9; e++)
            b[e / 3][e % 3 * 4 + v] = sums[e];
    }
    for (int e = 0; e < 9; e++)
        lanes_transpose(b[e / 3] + 4 * (e % 3));
}
#else
INLINE void blend_gradients(const pelt_skin_job *job, size_t i, lanes b[3][12]) {
    const pelt_weight_gradients *g = &job->gradients;
    lanes pairs[3][8];
    quad thirds[3][8];
    for (size_t v = 0; v < 8; v++) {
        lanes pair[3] = {{0}};
        quad third[3] = {{0}};
        for (uint32_t n = g->offsets[i + v]; n < g->offsets[i + v + 1]; n++) {
            const float *bone = job->palette[g->entries[n].bone].m;
            for (int c = 0; c < 3; c++) {
                pair[c] += (float)g->entries[n].value[c] * lanes_load(bone);
                third[c] += (float)g->entries[n].value[c] * quad_load(bone + 8);
            }
        }
        for (int c = 0; c < 3; c++)
            pairs[c][v] = pair[c], thirds[c][v] = third[c];
    }
    for (int c = 0; c < 3; c++) {
        for (size_t v = 0; v < 4; v++) {
            b[c][v] = lanes_low_halves(pairs[c][v], pairs[c][v + 4]);
            b[c][4 + v] = lanes_high_halves(pairs[c][v], pairs[c][v + 4]);
            b[c][8 + v] = lanes_halves(thirds[c][v], thirds[c][v + 4]);
        }
        for (int r = 0; r < 3; r++)
            lanes_transpose(b[c] + 4 * r);
    }
}
#endif

/* Adds Σ (B v) ∇wᵀ to m: the blended matrices become deformation gradients. Adding 0.0 turns −0 into 0, so that a
 * vertex without gradients has the same bits whether its neighbours have any or not. */
INLINE void add_gradients(const pelt_skin_job *job, size_t i, const lanes v[3], lanes m[12]) {
    lanes b[3][12], moved[3], scale = lanes_load(job->gradients.scales + i);
    bool any = job->gradients.offsets[i] < job->gradients.offsets[i + LANES];
    if (any)
        blend_gradients(job, i, b);
    for (int c = 0; c < 3; c++) {
        if (any)
            move(b[c], v, moved);
        for (int r = 0; r < 3; r++)
            m[4 * r + c] += any ? scale * moved[r] + 0.0f : lanes_splat(0);
    }
}

/* ---- Linear blend, vertices -------------------------------------------------------------------------------- */

/* Vertices i, i + 1 …; normals are not normalised. */
INLINE void linear_step(const pelt_skin_job *job, size_t i, size_t influences, bool accurate, lanes moved[3]) {
    lanes m[12], v[4], out[4];
    blend_matrices(job, job->palette, i, influences, m);
    lanes_load3(job->positions + 3 * i, v);
    move(m, v, out);
    lanes_store3(job->out_positions + 3 * i, out);
    if (accurate)
        add_gradients(job, i, v, m);
    if (job->normals) {
        lanes_load3(job->normals + 3 * i, v);
        cofactor(m, v, moved);
    }
    if (job->tangents) {
        lanes_load4(job->tangents + 4 * i, v);
        turn(m, v, out);
        unit(out, v);
        out[3] = v[3];
        lanes_store4(job->out_tangents + 4 * i, out);
    }
}

INLINE void finish_normals(const pelt_skin_job *job, size_t i, lanes moved[3]) {
    lanes n[3];
    lanes_load3(job->normals + 3 * i, n);
    unit(moved, n);
    lanes_store3(job->out_normals + 3 * i, moved);
}

/* Called with constant arguments, so that the compiler specialises it. Software pipelining: normals are normalised
 * after the next vertices were started, because the square root has the longest latency. */
INLINE void linear(const pelt_skin_job *job, size_t count, size_t influences, bool accurate) {
    lanes moved[3], before[3];
    if (count == 0)
        return;
    linear_step(job, 0, influences, accurate, moved);
    for (size_t i = LANES; i < count; i += LANES) {
        memcpy(before, moved, sizeof moved);
        linear_step(job, i, influences, accurate, moved);
        if (job->normals)
            finish_normals(job, i - LANES, before);
    }
    if (job->normals)
        finish_normals(job, count - LANES, moved);
}

/* ---- Dual quaternions ------------------------------------------------------------------------------------- */

/* Loads the dual quaternions of influence k of vertices i, i + 1 … */
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

/* Blends dual quaternions, not normalised. q and −q are the same rotation: each is negated into the hemisphere of
 * the first one, which has the largest weight, so that the blend takes the shorter arc. */
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

INLINE void dual_quaternion(const pelt_skin_job *job, size_t i, bool stretched) {
    lanes stretch[12], q[8], m[12], v[4], out[3];
    if (stretched)
        blend_matrices(job, job->stretches, i, job->influence_count, stretch);
    blend_dual_quaternions(job, i, q);
    dual_matrix(q, m);
    lanes_load3(job->positions + 3 * i, v);
    if (stretched)
        turn(stretch, v, v);
    move(m, v, out);
    lanes_store3(job->out_positions + 3 * i, out);
    if (job->normals) {
        lanes n[3];
        lanes_load3(job->normals + 3 * i, n);
        memcpy(v, n, sizeof n);
        if (stretched)
            cofactor(stretch, n, v);
        turn(m, v, out);
        unit(out, n);
        lanes_store3(job->out_normals + 3 * i, out);
    }
    if (job->tangents) {
        lanes t[4];
        lanes_load4(job->tangents + 4 * i, t);
        memcpy(v, t, sizeof t);
        if (stretched)
            turn(stretch, v, v);
        turn(m, v, out);
        unit(out, t);
        lanes_store4(job->out_tangents + 4 * i, (lanes[4]){out[0], out[1], out[2], t[3]});
    }
}

/* ---- Entry point ------------------------------------------------------------------------------------------ */

void SKIN_BODY(const pelt_skin_job *job) {
    size_t whole = job->vertex_count - job->vertex_count % LANES;
    if (job->skinning == PELT_SKINNING_DUAL_QUATERNION && job->stretches)
        for (size_t i = 0; i < whole; i += LANES)
            dual_quaternion(job, i, true);
    else if (job->skinning == PELT_SKINNING_DUAL_QUATERNION)
        for (size_t i = 0; i < whole; i += LANES)
            dual_quaternion(job, i, false);
    else if (job->gradients.offsets)
        linear(job, whole, job->influence_count, true);
    else if (job->influence_count == 1)
        linear(job, whole, 1, false);
    else if (job->influence_count == 2)
        linear(job, whole, 2, false);
    else if (job->influence_count == 4)
        linear(job, whole, 4, false);
    else
        linear(job, whole, job->influence_count, false);
#if LANES > 1
    pelt_skin_job rest = px_skin_range(job, whole, job->vertex_count - whole);
    px_skin_scalar(&rest);
#endif
}
