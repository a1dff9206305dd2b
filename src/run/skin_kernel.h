/* Skinning kernel, for every instruction set. The includer defines LANES (see lanes.h) and SKIN_BODY, the name of the
 * function. Every version does the same operations in the same order for each vertex, so results are identical to the
 * last bit, but for FUSED versions (see vectors.h).
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

/* Vertices whose places in the palette are computed together, long before they are used. */
#define TILE 64

/* Places of bones in a palette, in bytes. */
INLINE void find_bones(const uint16_t *bones, size_t count, uint32_t *places) {
    for (size_t e = 0; e < count; e++)
        places[e] = bones[e] * (uint32_t)sizeof(pelt_affine);
}
INLINE const float *bone_at(const pelt_affine *palette, uint32_t place) {
    return (const float *)((const char *)palette + place);
}

#if LANES > 1
/* Element k of every half. */
INLINE lanes splat_element(lanes x, size_t k) {
    return k == 0   ? SHUFFLE(x, x, 0, 0, 0, 0)
           : k == 1 ? SHUFFLE(x, x, 1, 1, 1, 1)
           : k == 2 ? SHUFFLE(x, x, 2, 2, 2, 2)
                    : SHUFFLE(x, x, 3, 3, 3, 3);
}
/* Weight k of a vertex in every lane. Loads limit the speed: four weights are loaded at once, to `four`, where there
 * are that many. */
INLINE lanes splat_weight(const float *weights, size_t k, size_t influences, lanes *four) {
    if (k / 4 * 4 + 4 > influences)
        return lanes_splat(weights[k]);
    if (k % 4 == 0)
        *four = lanes_repeat(weights + k);
    return splat_element(*four, k % 4);
}
#endif

/* m[4r + c]: row r, column c of the blended matrices of vertices i, i + 1 …, whose bones are at `places`. */
#if LANES == 1
INLINE void blend_matrices(const pelt_affine *palette, const uint32_t *places, const float *weights, size_t influences,
                           lanes m[12]) {
    for (int e = 0; e < 12; e++)
        m[e] = weights[0] * bone_at(palette, places[0])[e];
    for (size_t k = 1; k < influences; k++)
        for (int e = 0; e < 12; e++)
            m[e] += weights[k] * bone_at(palette, places[k])[e];
}
#elif LANES == 4
/* Rows are blended in the palette's memory order and only the sums are transposed: 6 shuffles per vertex for any K. */
INLINE void blend_matrices(const pelt_affine *palette, const uint32_t *places, const float *weights, size_t influences,
                           lanes m[12]) {
    for (size_t v = 0; v < 4; v++, places += influences, weights += influences) {
        lanes four = {0};
        for (size_t k = 0; k < influences; k++) {
            const float *bone = bone_at(palette, places[k]);
            lanes weight = splat_weight(weights, k, influences, &four);
            for (size_t r = 0; r < 3; r++) {
                lanes term = weight * lanes_load(bone + 4 * r);
                m[4 * r + v] = k == 0 ? term : m[4 * r + v] + term;
            }
        }
    }
    for (int r = 0; r < 3; r++)
        lanes_transpose(m + 4 * r);
}
#else
/* Rows 0 and 1, and row 2, of the blended matrix of one vertex. */
typedef struct blended_rows {
    lanes pair;
    quad third;
} blended_rows;

INLINE blended_rows blend_vertex(const pelt_affine *palette, const uint32_t *places, const float *weights,
                                 size_t influences) {
    blended_rows sum = {{0}, {0}};
    lanes four = {0};
#pragma GCC unroll 8
    for (size_t k = 0; k < influences; k++) {
        const float *bone = bone_at(palette, places[k]);
        lanes weight = splat_weight(weights, k, influences, &four);
        quad low = __builtin_shufflevector(weight, weight, 0, 1, 2, 3);
        sum.pair = k == 0 ? weight * lanes_load(bone) : mad(weight, lanes_load(bone), sum.pair);
        sum.third = k == 0 ? low * quad_load(bone + 8) : quad_mad(low, quad_load(bone + 8), sum.third);
    }
    return sum;
}

/* Same method as with four lanes, with the first two rows in one vector. */
INLINE void blend_matrices(const pelt_affine *palette, const uint32_t *places, const float *weights, size_t influences,
                           lanes m[12]) {
#pragma GCC unroll 4
    for (size_t v = 0; v < 4; v++) {
        blended_rows a = blend_vertex(palette, places + v * influences, weights + v * influences, influences);
        blended_rows b =
            blend_vertex(palette, places + (v + 4) * influences, weights + (v + 4) * influences, influences);
        m[v] = lanes_low_halves(a.pair, b.pair);
        m[4 + v] = lanes_high_halves(a.pair, b.pair);
        m[8 + v] = lanes_halves(a.third, b.third);
    }
    for (int r = 0; r < 3; r++)
        lanes_transpose(m + 4 * r);
}
#endif

/* The same for a number of influences that the compiler does not know. With eight lanes it unrolls that for all eight
 * vertices, so that it is compiled once: in every loop, it would take half of the file's compile time. */
#if LANES == 8
static __attribute__((noinline)) void blend_any(const pelt_affine *palette, const uint32_t *places,
                                                const float *weights, size_t influences, lanes m[12]) {
    if (influences == 4)
        blend_matrices(palette, places, weights, 4, m);
    else
        blend_matrices(palette, places, weights, influences, m);
}
#else
#define blend_any blend_matrices
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

/* What a specialised loop computes besides positions. */
typedef enum linear_kind {
    LINEAR_NORMALS,  /* normals, no tangents: the usual case */
    LINEAR_ANY,      /* whatever the job has */
    LINEAR_ACCURATE, /* whatever the job has, with gradients */
} linear_kind;

/* Vertices i, i + 1 …; normals are not normalised. */
INLINE void linear_step(const pelt_skin_job *job, const uint32_t *places, size_t i, size_t influences, linear_kind kind,
                        lanes moved[3]) {
    lanes m[12], v[4], out[4];
    if (kind != LINEAR_ACCURATE)
        blend_matrices(job->palette, places, job->weights + i * influences, influences, m);
    else
        blend_any(job->palette, places, job->weights + i * influences, influences, m);
    lanes_load3(job->positions + 3 * i, v);
    move(m, v, out);
    lanes_store3(job->out_positions + 3 * i, out);
    if (kind == LINEAR_ACCURATE)
        add_gradients(job, i, v, m);
    if (kind == LINEAR_NORMALS || job->normals) {
        lanes_load3(job->normals + 3 * i, v);
        cofactor(m, v, moved);
    }
    if (kind != LINEAR_NORMALS && job->tangents) {
        lanes_load4(job->tangents + 4 * i, v);
        turn(m, v, out);
        unit(out, v);
        out[3] = v[3];
        lanes_store4(job->out_tangents + 4 * i, out);
    }
}

INLINE void finish_normals(const pelt_skin_job *job, size_t i, lanes moved[3]) {
    lanes_mask good = make_unit(moved);
    if (__builtin_expect(!lanes_all(good), 0)) {
        lanes rest[3];
        lanes_load3(job->normals + 3 * i, rest);
        for (int c = 0; c < 3; c++)
            moved[c] = lanes_select(good, moved[c], rest[c]);
    }
    lanes_store3(job->out_normals + 3 * i, moved);
}

/* Called with constant arguments, so that the compiler specialises it. Software pipelining: normals are normalised
 * after the next vertices were started, because the square root has the longest latency. The job is copied: stores
 * cannot change a local variable, so its pointers stay in registers. */
INLINE void linear(const pelt_skin_job *given, size_t count, size_t influences, linear_kind kind) {
    const pelt_skin_job job = *given;
    bool normals = kind == LINEAR_NORMALS || job.normals;
    uint32_t places[TILE * PELT_MAX_INFLUENCES];
    lanes moved[3], before[3];
    memset(moved, 0, sizeof moved);
    for (size_t first = 0; first < count; first += TILE) {
        size_t end = px_min_size(first + TILE, count);
        find_bones(job.bones + first * influences, (end - first) * influences, places);
        for (size_t i = first; i < end; i += LANES) {
            memcpy(before, moved, sizeof moved);
            linear_step(&job, places + (i - first) * influences, i, influences, kind, moved);
            if (normals && i > 0)
                finish_normals(&job, i - LANES, before);
        }
    }
    if (normals && count > 0)
        finish_normals(&job, count - LANES, moved);
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
        weight = lanes_flip(weight, mad(q[3], first[3], dot(q, first)));
        for (int e = 0; e < 8; e++)
            sum[e] = mad(weight, q[e], sum[e]);
    }
}

INLINE void dual_quaternion(const pelt_skin_job *job, size_t i, bool stretched) {
    lanes stretch[12], q[8], m[12], v[4], out[3];
    if (stretched) {
        uint32_t places[LANES * PELT_MAX_INFLUENCES];
        find_bones(job->bones + i * job->influence_count, LANES * job->influence_count, places);
        blend_any(job->stretches, places, job->weights + i * job->influence_count, job->influence_count, stretch);
    }
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

/* Runs the first `count` vertices, a multiple of LANES. */
static void run_whole(const pelt_skin_job *job, size_t count) {
    if (job->skinning == PELT_SKINNING_DUAL_QUATERNION && job->stretches)
        for (size_t i = 0; i < count; i += LANES)
            dual_quaternion(job, i, true);
    else if (job->skinning == PELT_SKINNING_DUAL_QUATERNION)
        for (size_t i = 0; i < count; i += LANES)
            dual_quaternion(job, i, false);
    else if (job->gradients.offsets)
        linear(job, count, job->influence_count, LINEAR_ACCURATE);
    else if (job->normals && !job->tangents)
        switch (job->influence_count) {
        case 1:
            linear(job, count, 1, LINEAR_NORMALS);
            break;
        case 2:
            linear(job, count, 2, LINEAR_NORMALS);
            break;
        case 3:
            linear(job, count, 3, LINEAR_NORMALS);
            break;
        case 4:
            linear(job, count, 4, LINEAR_NORMALS);
            break;
        case 5:
            linear(job, count, 5, LINEAR_NORMALS);
            break;
        case 6:
            linear(job, count, 6, LINEAR_NORMALS);
            break;
        case 7:
            linear(job, count, 7, LINEAR_NORMALS);
            break;
        default:
            linear(job, count, 8, LINEAR_NORMALS);
        }
    else if (job->influence_count == 4)
        linear(job, count, 4, LINEAR_ANY);
    else
        linear(job, count, job->influence_count, LINEAR_ANY);
}

#if LANES > 1
/* Runs a job of fewer than LANES vertices, in buffers filled up with zeros. */
static void run_few(const pelt_skin_job *job) {
    struct {
        float weights[LANES * PELT_MAX_INFLUENCES], scales[LANES];
        float positions[3 * LANES], normals[3 * LANES], tangents[4 * LANES];
        float out_positions[3 * LANES], out_normals[3 * LANES], out_tangents[4 * LANES];
        uint16_t bones[LANES * PELT_MAX_INFLUENCES];
    } b = {0};
    uint32_t offsets[LANES + 1];
    size_t count = job->vertex_count, influences = job->influence_count;
    pelt_skin_job part = *job;
    memcpy(b.bones, job->bones, count * influences * sizeof *b.bones);
    memcpy(b.weights, job->weights, count * influences * sizeof *b.weights);
    memcpy(b.positions, job->positions, 3 * count * sizeof *b.positions);
    part.bones = b.bones, part.weights = b.weights;
    part.positions = b.positions, part.out_positions = b.out_positions;
    if (job->normals) {
        memcpy(b.normals, job->normals, 3 * count * sizeof *b.normals);
        part.normals = b.normals, part.out_normals = b.out_normals;
    }
    if (job->tangents) {
        memcpy(b.tangents, job->tangents, 4 * count * sizeof *b.tangents);
        part.tangents = b.tangents, part.out_tangents = b.out_tangents;
    }
    if (job->gradients.offsets) {
        for (size_t v = 0; v <= LANES; v++)
            offsets[v] = job->gradients.offsets[px_min_size(v, count)];
        memcpy(b.scales, job->gradients.scales, count * sizeof *b.scales);
        part.gradients.offsets = offsets, part.gradients.scales = b.scales;
    }
    run_whole(&part, LANES);
    memcpy(job->out_positions, b.out_positions, 3 * count * sizeof *b.out_positions);
    if (job->normals)
        memcpy(job->out_normals, b.out_normals, 3 * count * sizeof *b.out_normals);
    if (job->tangents)
        memcpy(job->out_tangents, b.out_tangents, 4 * count * sizeof *b.out_tangents);
}
#endif

void SKIN_BODY(const pelt_skin_job *job) {
    size_t count = job->vertex_count, whole = count - count % LANES;
    run_whole(job, whole);
#if LANES > 1
    if (whole > 0 && whole < count) { /* the last vertices again, together with those that are left */
        pelt_skin_job last = px_skin_range(job, count - LANES, LANES);
        run_whole(&last, LANES);
    } else if (whole < count) {
        run_few(job);
    }
#endif
}
