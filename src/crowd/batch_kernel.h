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

static void gather(const px_crowd_pose *poses, uint32_t bone_count, float *palette) {
    float worlds[12][LANES], shares[4][2][LANES];
    for (size_t v = 0; v < LANES; v++) {
        for (size_t e = 0; e < 12; e++)
            worlds[e][v] = poses[v].world->m[e];
        for (size_t s = 0; s < 2; s++)
            for (size_t c = 0; c < 4 && v / 4 * 4 + c < LANES; c++)
                shares[v % 4][s][v / 4 * 4 + c] = poses[v].share[s];
    }
    for (size_t j = 0; j < bone_count; j++) {
        const float *rows[2][LANES];
        lanes m[12];
        for (size_t v = 0; v < LANES; v++)
            for (size_t s = 0; s < 2; s++)
                rows[s][v] = poses[v].palette[s][j].m;
        for (size_t r = 0; r < 3; r++)
            gather_four(rows, 4 * r, shares, m + 4 * r);
        for (size_t r = 0; r < 3; r++)
            for (size_t c = 0; c < 4; c++) {
                lanes out = lanes_load(worlds[4 * r]) * m[c];
                out = mad(lanes_load(worlds[4 * r + 1]), m[4 + c], out);
                out = mad(lanes_load(worlds[4 * r + 2]), m[8 + c], out);
                if (c == 3)
                    out += lanes_load(worlds[4 * r + 3]);
                lanes_store(palette + (12 * j + 4 * r + c) * LANES, out);
            }
    }
}

/* ---- Vertices --------------------------------------------------------------------------------------------- */

/* Adds weight · bone, with columns permuted to the vertex's axis order: columns [4] point to those of bone 0. */
INLINE void add_bone(const px_crowd_influence *influence, const float *const *columns, bool first, lanes m[12]) {
    size_t bone = (size_t)12 * LANES * influence->bone;
    lanes weight = lanes_splat(influence->weight);
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 4; c++) {
            lanes value = lanes_load(columns[c] + bone + 4 * r * LANES);
            m[4 * r + c] = first ? weight * value : mad(weight, value, m[4 * r + c]);
        }
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
    lanes_mask good = make_unit(out);
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
    add_bone(influences, columns, true, m);
    for (size_t k = 1; k < count; k++)
        add_bone(influences + k, columns, false, m);
    const float *at = vertex->position;
    move(m, (lanes[3]){lanes_splat(at[0]), lanes_splat(at[1]), lanes_splat(at[2])}, position);
    if (normal)
        skin_normal(m, vertex, normal);
}

/* Skins four vertices; `out` is in the memory order of the stage. */
INLINE void skin_quad(const px_crowd_quads *quads, uint32_t q, const float *palette, px_crowd_layout layout,
                      lanes out[24]) {
    size_t first = quads->first[q], count = (quads->first[q + 1] - first) / 4;
    for (size_t v = 0; v < 4; v++) {
        lanes *position = out + (layout == PX_CROWD_INTERLEAVED ? 6 : 3) * v;
        lanes *normal = position + (layout == PX_CROWD_INTERLEAVED ? 3 : 12);
        skin_vertex(&quads->vertices[4 * (size_t)q + v], quads->influences + first + v * count, count, palette,
                    position, layout == PX_CROWD_POSITIONS ? NULL : normal);
    }
}

INLINE void skin_layout(const px_crowd_quads *quads, uint32_t first, uint32_t count, const float *palette,
                        px_crowd_layout layout, float *stage) {
    for (uint32_t q = 0; q < count; q++) {
        lanes out[24];
        skin_quad(quads, first + q, palette, layout, out);
        float *positions = stage + (layout == PX_CROWD_INTERLEAVED ? 24 : 12) * (size_t)q;
        float *normals = layout == PX_CROWD_INTERLEAVED ? positions + 12 : positions + STAGE_FLOATS / 2;
        for (size_t row = 0; row < 3; row++)
            lanes_store4_stride(positions + 4 * row, STAGE_FLOATS, out + 4 * row);
        for (size_t row = 0; row < 3 && layout != PX_CROWD_POSITIONS; row++)
            lanes_store4_stride(normals + 4 * row, STAGE_FLOATS, out + 12 + 4 * row);
    }
}

static void skin(const px_crowd_quads *quads, uint32_t first, uint32_t count, const float *palette,
                 px_crowd_layout layout, float *stage) {
    if (layout == PX_CROWD_POSITIONS)
        skin_layout(quads, first, count, palette, PX_CROWD_POSITIONS, stage);
    else if (layout == PX_CROWD_PLANAR)
        skin_layout(quads, first, count, palette, PX_CROWD_PLANAR, stage);
    else
        skin_layout(quads, first, count, palette, PX_CROWD_INTERLEAVED, stage);
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
