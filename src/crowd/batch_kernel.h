/* Skins one instance per lane, for every instruction set. The includer defines LANES (see core/lanes.h), CROWD_BODY,
 * the name of the kernel, and optionally FUSED (see run/vectors.h). Versions with FUSED, and those without, do the same
 * operations in the same order for each lane, so their results are identical to the last bit.
 */
#include "crowd/crowd.h"
#include "run/vectors.h"

#define STAGE_FLOATS (6 * (size_t)PX_CROWD_STAGE) /* per lane */

/* ---- Palettes --------------------------------------------------------------------------------------------- */

/* Four floats from each of p[0], p[4], p[8] …, one row per four lanes. */
INLINE lanes load_rows(const float *p[LANES]) {
#if LANES == 1
    return p[0][0];
#elif LANES == 4
    return quad_load(p[0]);
#elif LANES == 8
    return lanes_pair(p[0], p[4]);
#else
    __m512 low = _mm512_insertf32x4(_mm512_castps128_ps512((__m128)quad_load(p[0])), (__m128)quad_load(p[4]), 1);
    return (lanes)_mm512_insertf32x4(_mm512_insertf32x4(low, (__m128)quad_load(p[8]), 2), (__m128)quad_load(p[12]), 3);
#endif
}

/* Loads element `e` (a multiple of 4) and the three after it of every lane's two rows, blends them by the shares, and
 * transposes: out[c] has element e + c of every lane. shares [v][s] are those of lanes v, v + 4 …, four times each. */
INLINE void gather_four(const float *rows[2][LANES], size_t e, float shares[4][2][LANES], lanes out[4]) {
#if LANES == 1
    for (size_t c = 0; c < 4; c++)
        out[c] = mad(shares[0][1][0], rows[1][0][e + c], shares[0][0][0] * rows[0][0][e + c]);
#else
    for (size_t v = 0; v < 4; v++) {
        const float *at[2][LANES];
        for (size_t s = 0; s < 2; s++)
            for (size_t quarter = 0; quarter < LANES; quarter += 4)
                at[s][quarter] = rows[s][v + quarter] + e;
        out[v] = mad(lanes_load(shares[v][1]), load_rows(at[1]), lanes_load(shares[v][0]) * load_rows(at[0]));
    }
    lanes_transpose(out);
#endif
}

/* Multiplies bones [12] by the matrices of the world [12][lane] and stores the product. */
INLINE void put_world(float worlds[12][LANES], const lanes m[12], float *out) {
    for (size_t r = 0; r < 3; r++)
        for (size_t c = 0; c < 4; c++) {
            lanes sum = lanes_load(worlds[4 * r]) * m[c];
            sum = mad(lanes_load(worlds[4 * r + 1]), m[4 + c], sum);
            sum = mad(lanes_load(worlds[4 * r + 2]), m[8 + c], sum);
            if (c == 3)
                sum += lanes_load(worlds[4 * r + 3]);
            lanes_store(out + (4 * r + c) * LANES, sum);
        }
}

/* Stores matrices of the world and then their cofactor matrices, rows of 4. */
INLINE void put_cofactors(float worlds[12][LANES], float *out) {
    lanes m[12];
    for (size_t e = 0; e < 12; e++) {
        m[e] = lanes_load(worlds[e]);
        lanes_store(out + e * LANES, m[e]);
    }
    for (size_t r = 0; r < 3; r++) {
        const lanes *a = m + (r + 1) % 3 * 4, *b = m + (r + 2) % 3 * 4;
        for (size_t c = 0; c < 3; c++) {
            size_t d = (c + 1) % 3, e = (c + 2) % 3;
            lanes_store(out + (12 + 4 * r + c) * LANES, msub(a[d], b[e], a[e] * b[d]));
        }
        lanes_store(out + (12 + 4 * r + 3) * LANES, lanes_splat(0));
    }
}

/* Floats per bone of a job's palette. */
INLINE size_t palette_width(const px_crowd_job *job) {
    return job->level->dual && !job->stretched ? PX_CROWD_RIGID : px_crowd_width(job->level);
}

/* Called with constant arguments, so that the compiler specialises it. A bone has from_width floats in samples. */
INLINE void gather_bones(const px_crowd_job *job, bool dual, size_t from_width, size_t width) {
    float worlds[12][LANES], shares[4][2][LANES];
    size_t bone_count = job->level->model->skin.bone_count;
    for (size_t v = 0; v < LANES; v++) {
        for (size_t e = 0; e < 12; e++)
            worlds[e][v] = job->poses[v].world->m[e];
        for (size_t s = 0; s < 2; s++)
            for (size_t c = 0; c < 4 && v / 4 * 4 + c < LANES; c++)
                shares[v % 4][s][v / 4 * 4 + c] = job->poses[v].share[s];
    }
    if (dual)
        put_cofactors(worlds, job->palette + width * LANES * bone_count);
    for (size_t j = 0; j < bone_count; j++) {
        const float *rows[2][LANES];
        float *out = job->palette + width * j * LANES;
        lanes m[20];
        for (size_t v = 0; v < LANES; v++)
            for (size_t s = 0; s < 2; s++)
                rows[s][v] = job->poses[v].palette[s] + from_width * j;
        for (size_t e = 0; e < width; e += 4)
            gather_four(rows, e, shares, m + e);
        if (!dual)
            put_world(worlds, m, out);
        for (size_t e = 0; dual && e < width; e++)
            lanes_store(out + e * LANES, m[e]);
    }
}

static void gather(const px_crowd_job *job) {
    if (!job->level->dual)
        gather_bones(job, false, 12, 12);
    else if (!job->stretched)
        gather_bones(job, true, 20, PX_CROWD_RIGID);
    else
        gather_bones(job, true, 20, 20);
}

/* ---- Linear blend without morphs ----------------------------------------------------------------------------- */

/* Adds the weighted matrix of a bone. columns [4] point to those of bone 0, in any order; a bone has `width` floats per
 * lane. */
INLINE void add_bone(const px_crowd_influence *influence, const float *const *columns, size_t width, bool first,
                     lanes m[12]) {
    size_t bone = width * LANES * influence->bone;
    lanes weight = lanes_splat(influence->weight);
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 4; c++) {
            lanes value = lanes_load(columns[c] + bone + 4 * r * LANES);
            m[4 * r + c] = first ? weight * value : mad(weight, value, m[4 * r + c]);
        }
}

INLINE void blend_bones(const px_crowd_influence *influences, size_t count, const float *const *columns, size_t width,
                        lanes m[12]) {
    add_bone(influences, columns, width, true, m);
    for (size_t k = 1; k < count; k++)
        add_bone(influences + k, columns, width, false, m);
}

/* Columns of m are in the axis order of the vertex. */
INLINE void skin_normal(const lanes m[12], const px_crowd_vertex *vertex, lanes out[3]) {
    const float *n = vertex->normal;
    lanes b[3], c[3], u = lanes_splat(-n[1]), v = lanes_splat(-n[2]);
    for (int r = 0; r < 3; r++) {
        b[r] = mad(u, m[4 * r], m[4 * r + 1]);
        c[r] = mad(v, m[4 * r], m[4 * r + 2]);
    }
    for (int r = 0; r < 3; r++)
        out[r] = msub(b[(r + 1) % 3], c[(r + 2) % 3], b[(r + 2) % 3] * c[(r + 1) % 3]);
    lanes_mask good = make_unit_fast(out);
    for (int e = 0; e < 3; e++)
        out[e] = lanes_flip(out[e], lanes_splat(n[0]));
    if (__builtin_expect(!lanes_all(good), 0))
        for (uint32_t e = 0; e < 3; e++) { /* the rest normal, where the skinned one has no direction */
            uint32_t axis = (vertex->axis + e) % 3;
            float rest = n[0] == 0 ? 0 : e == 0 ? n[0] : n[0] * n[e];
            out[axis] = lanes_select(good, out[axis], lanes_splat(rest));
        }
}

INLINE void skin_vertex(const px_crowd_vertex *vertex, const px_crowd_influence *influences, size_t count,
                        const float *palette, lanes position[3], lanes *normal) {
    static const uint8_t order[5] = {0, 1, 2, 0, 1};
    const float *columns[4];
    for (uint32_t c = 0; c < 3; c++)
        columns[c] = palette + (size_t)LANES * order[vertex->axis + c];
    columns[3] = palette + (size_t)LANES * 3;
    lanes m[12];
    blend_bones(influences, count, columns, 12, m);
    const float *at = vertex->position;
    move(m, (lanes[3]){lanes_splat(at[0]), lanes_splat(at[1]), lanes_splat(at[2])}, position);
    if (normal)
        skin_normal(m, vertex, normal);
}

/* ---- Dual quaternions and morphs ---------------------------------------------------------------------------- */

/* Adds the displacements of a quad's vertices. */
INLINE void add_morphs(const px_crowd_job *job, const pelt_packed_delta *deltas, uint32_t q, lanes sums[4][3]) {
    const size_t *offsets = job->level->morphs.offsets + 4 * (size_t)q / PELT_MORPH_BLOCK;
    size_t at = 4 * (size_t)q % PELT_MORPH_BLOCK;
    for (const pelt_packed_delta *d = deltas + offsets[0], *end = deltas + offsets[1]; d < end; d++) {
        lanes weight = lanes_load(job->weights + (size_t)d->morph * LANES) * d->scale;
        if (lanes_all(weight == 0))
            continue;
        for (size_t v = 0; v < 4; v++)
            for (size_t c = 0; c < 3; c++)
                sums[v][c] = mad(weight, lanes_splat((float)d->values[c][at + v]), sums[v][c]);
    }
}

/* Vertices of a quad at rest. Adding 0 turns −0 to 0, so that a displacement of 0 changes no bits. */
INLINE void load_rest(const px_crowd_job *job, const float *array, uint32_t q, lanes out[4][3]) {
    size_t last = job->level->model->mesh.vertex_count - 1;
    for (size_t v = 0; v < 4; v++)
        for (size_t c = 0; c < 3; c++)
            out[v][c] = lanes_splat(array[3 * px_min_size(4 * (size_t)q + v, last) + c] + 0.0f);
}

/* As in run/skin_kernel.h: each dual quaternion is negated into the hemisphere of the first one. */
INLINE void blend_duals(const px_crowd_influence *influences, size_t count, const float *palette, size_t width,
                        lanes q[8]) {
    lanes head[8], weight = lanes_splat(influences[0].weight);
    for (size_t c = 0; c < 8; c++) {
        head[c] = lanes_load(palette + (width * influences[0].bone + c) * LANES);
        q[c] = weight * head[c];
    }
    for (size_t k = 1; k < count; k++) {
        lanes part[8];
        for (size_t c = 0; c < 8; c++)
            part[c] = lanes_load(palette + (width * influences[k].bone + c) * LANES);
        weight = lanes_flip(lanes_splat(influences[k].weight), mad(part[3], head[3], dot(part, head)));
        for (size_t c = 0; c < 8; c++)
            q[c] = mad(weight, part[c], q[c]);
    }
}

/* A vertex by dual quaternions, in the space of the character; `normal`, not normalised, may be NULL. */
INLINE void skin_dual(const px_crowd_job *job, const px_crowd_influence *influences, size_t count, lanes position[3],
                      lanes *normal) {
    size_t width = palette_width(job);
    lanes q[8], m[12], out[3];
    if (job->stretched) {
        const float *first = job->palette + PX_CROWD_RIGID * LANES;
        const float *columns[4] = {first, first + LANES, first + 2 * LANES, first + 3 * LANES};
        lanes stretch[12];
        blend_bones(influences, count, columns, width, stretch);
        turn(stretch, position, position);
        if (normal) {
            cofactor(stretch, normal, out);
            memcpy(normal, out, sizeof out);
        }
    }
    blend_duals(influences, count, job->palette, width, q);
    dual_matrix(q, m);
    move(m, position, out);
    memcpy(position, out, sizeof out);
    if (normal)
        turn(m, normal, normal);
}

/* A vertex of any job; `normal` may be NULL. */
INLINE void skin_vertex_any(const px_crowd_job *job, const px_crowd_influence *influences, size_t count,
                            lanes position[3], lanes *normal) {
    lanes m[12], rest[3], out[3];
    if (normal)
        memcpy(rest, normal, sizeof rest);
    if (job->level->dual) {
        const float *worlds = job->palette + palette_width(job) * LANES * job->level->model->skin.bone_count;
        skin_dual(job, influences, count, position, normal);
        for (size_t e = 0; e < 12; e++)
            m[e] = lanes_load(worlds + e * LANES);
        move(m, position, out);
        memcpy(position, out, sizeof out);
        for (size_t e = 0; normal && e < 12; e++)
            m[e] = lanes_load(worlds + (12 + e) * LANES);
        if (normal)
            turn(m, normal, out);
    } else {
        const float *first = job->palette;
        const float *columns[4] = {first, first + LANES, first + 2 * LANES, first + 3 * LANES};
        blend_bones(influences, count, columns, 12, m);
        move(m, position, out);
        memcpy(position, out, sizeof out);
        if (normal)
            cofactor(m, normal, out);
    }
    if (normal) {
        unit(out, rest);
        memcpy(normal, out, sizeof out);
    }
}

/* Stores four vertices, `out` in the order of memory, to the stage of every lane. */
INLINE void put_quad(const lanes out[24], px_crowd_layout layout, float *positions) {
    float *normals = positions + (layout == PX_CROWD_INTERLEAVED ? 12 : STAGE_FLOATS / 2);
    for (size_t row = 0; row < 3; row++)
        lanes_store4_stride(positions + 4 * row, STAGE_FLOATS, out + 4 * row);
    for (size_t row = 0; row < 3 && layout != PX_CROWD_POSITIONS; row++)
        lanes_store4_stride(normals + 4 * row, STAGE_FLOATS, out + 12 + 4 * row);
}

/* Four vertices of any job. */
static void skin_quad_any(const px_crowd_job *job, uint32_t q, float *stage) {
    const px_crowd_quads *quads = &job->level->quads;
    const pelt_packed_morphs *morphs = &job->level->morphs;
    bool has_normals = job->layout != PX_CROWD_POSITIONS, interleaved = job->layout == PX_CROWD_INTERLEAVED;
    lanes positions[4][3], normals[4][3], out[24];
    load_rest(job, job->level->model->mesh.positions, q, positions);
    if (job->morphed)
        add_morphs(job, morphs->positions, q, positions);
    if (has_normals)
        load_rest(job, job->level->model->mesh.normals, q, normals);
    if (has_normals && job->morphed && morphs->normals)
        add_morphs(job, morphs->normals, q, normals);
    size_t first = quads->first[q], count = (quads->first[q + 1] - first) / 4;
    for (size_t v = 0; v < 4; v++) {
        lanes *to = out + (interleaved ? 6 : 3) * v;
        skin_vertex_any(job, quads->influences + first + v * count, count, positions[v],
                        has_normals ? normals[v] : NULL);
        memcpy(to, positions[v], sizeof positions[v]);
        if (has_normals)
            memcpy(to + (interleaved ? 3 : 12), normals[v], sizeof normals[v]);
    }
    put_quad(out, job->layout, stage);
}

/* ---- Stages ------------------------------------------------------------------------------------------------- */

/* Returns true if a quad needs skin_quad_any. */
INLINE bool is_general(const px_crowd_job *job, uint32_t q) {
    if (job->level->dual || !job->morphed)
        return job->level->dual;
    const size_t *offsets = job->level->morphs.offsets + 4 * (size_t)q / PELT_MORPH_BLOCK;
    return offsets[1] > offsets[0];
}

/* Four vertices by linear blend without morphs. */
INLINE void skin_quad(const px_crowd_job *job, uint32_t q, px_crowd_layout layout, float *stage) {
    const px_crowd_quads *quads = &job->level->quads;
    size_t first = quads->first[q], count = (quads->first[q + 1] - first) / 4;
    lanes out[24];
    for (size_t v = 0; v < 4; v++) {
        lanes *position = out + (layout == PX_CROWD_INTERLEAVED ? 6 : 3) * v;
        lanes *normal = position + (layout == PX_CROWD_INTERLEAVED ? 3 : 12);
        skin_vertex(&quads->vertices[4 * (size_t)q + v], quads->influences + first + v * count, count, job->palette,
                    position, layout == PX_CROWD_POSITIONS ? NULL : normal);
    }
    put_quad(out, layout, stage);
}

INLINE void skin_layout(const px_crowd_job *job, uint32_t first, uint32_t count, px_crowd_layout layout, float *stage) {
    for (uint32_t q = 0; q < count; q++) {
        float *place = stage + (layout == PX_CROWD_INTERLEAVED ? 24 : 12) * (size_t)q;
        if (is_general(job, first + q))
            skin_quad_any(job, first + q, place);
        else
            skin_quad(job, first + q, layout, place);
    }
}

static void skin(const px_crowd_job *job, uint32_t first, uint32_t count, float *stage) {
    if (job->layout == PX_CROWD_POSITIONS)
        skin_layout(job, first, count, PX_CROWD_POSITIONS, stage);
    else if (job->layout == PX_CROWD_PLANAR)
        skin_layout(job, first, count, PX_CROWD_PLANAR, stage);
    else
        skin_layout(job, first, count, PX_CROWD_INTERLEAVED, stage);
}

/* ---- Non-temporal stores ---------------------------------------------------------------------------------- */

/* A cache line that is stored whole need not be read first. Partial lines at the ends use normal stores, which are
 * slower. */
static void stream(float *to, const float *from, size_t count) {
    size_t i = 0;
#if LANES > 1 && defined(__x86_64__)
    const size_t line = 16;
    i = px_min_size(((uintptr_t)0 - (uintptr_t)to) / sizeof *to % line, count);
    memcpy(to, from, i * sizeof *to);
    for (; i + line <= count; i += line)
        for (size_t e = 0; e < line; e += LANES)
#if LANES == 16
            _mm512_stream_ps(to + i + e, _mm512_loadu_ps(from + i + e));
#elif LANES == 8
            _mm256_stream_ps(to + i + e, _mm256_loadu_ps(from + i + e));
#else
            _mm_stream_ps(to + i + e, _mm_loadu_ps(from + i + e));
#endif
#endif
    memcpy(to + i, from + i, (count - i) * sizeof *to);
}

#ifndef NARROW_BODY
#define NARROW_BODY NULL
#endif
const px_crowd_body CROWD_BODY = {LANES, NARROW_BODY, gather, skin, stream};
