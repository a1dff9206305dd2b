/* Skins one instance per lane, for every instruction set. The includer defines LANES (see core/lanes.h) and
 * CROWD_BODY, the name of the kernel. Every version does the same operations in the same order for each lane, so
 * results are identical to the last bit.
 */
#include "crowd/crowd.h"
#include "run/vectors.h"

#define STAGE_FLOATS (6 * (size_t)PX_CROWD_STAGE) /* per lane */

/* ---- Palettes --------------------------------------------------------------------------------------------- */

/* m[4r + c]: row r, column c of bone j in every lane, before the world transform. */
INLINE void gather_bone(const px_crowd_pose *poses, size_t j, lanes m[12]) {
#if LANES == 1
    for (int e = 0; e < 12; e++)
        m[e] = poses->share[0] * poses->palette[0][j].m[e] + poses->share[1] * poses->palette[1][j].m[e];
#else
    for (int v = 0; v < 4; v++) {
        const px_crowd_pose *low = poses + v, *high = poses + v + LANES - 4;
        lanes share[2];
        for (int s = 0; s < 2; s++)
            share[s] = lanes_pair_splat(low->share[s], high->share[s]);
        for (int r = 0; r < 3; r++)
            m[4 * r + v] = share[0] * lanes_pair(low->palette[0][j].m + 4 * r, high->palette[0][j].m + 4 * r) +
                           share[1] * lanes_pair(low->palette[1][j].m + 4 * r, high->palette[1][j].m + 4 * r);
    }
    for (int r = 0; r < 3; r++)
        lanes_transpose(m + 4 * r);
#endif
}

static void gather(const px_crowd_pose *poses, uint32_t bone_count, float *palette) {
    float worlds[12][LANES];
    for (int e = 0; e < 12; e++)
        for (int v = 0; v < LANES; v++)
            worlds[e][v] = poses[v].world->m[e];
    for (size_t j = 0; j < bone_count; j++) {
        lanes m[12];
        gather_bone(poses, j, m);
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 4; c++) {
                lanes out = lanes_load(worlds[4 * r]) * m[c] + lanes_load(worlds[4 * r + 1]) * m[4 + c] +
                            lanes_load(worlds[4 * r + 2]) * m[8 + c];
                if (c == 3)
                    out += lanes_load(worlds[4 * r + 3]);
                lanes_store(palette + (12 * j + 4 * (size_t)r + (size_t)c) * LANES, out);
            }
    }
}

/* ---- Vertices --------------------------------------------------------------------------------------------- */

/* Adds weight · bone, with columns permuted to the vertex's axis order: columns [4] point to those of bone 0. */
INLINE void add_bone(const px_crowd_influence *influence, const float *const *columns, bool first, lanes m[12]) {
    size_t bone = (size_t)12 * LANES * influence->bone;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 4; c++) {
            lanes term = influence->weight * lanes_load(columns[c] + bone + 4 * r * LANES);
            m[4 * r + c] = first ? term : m[4 * r + c] + term;
        }
}

/* Columns of m are in the axis order of the vertex. */
INLINE void skin_normal(const lanes m[12], const px_crowd_vertex *vertex, lanes out[3]) {
    const float *n = vertex->normal;
    lanes b[3], c[3];
    for (int r = 0; r < 3; r++) {
        b[r] = m[4 * r + 1] - n[1] * m[4 * r];
        c[r] = m[4 * r + 2] - n[2] * m[4 * r];
    }
    lanes_cross3(b, c, out);
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

INLINE void skin_layout(const px_crowd_quads *quads, uint32_t first, uint32_t place, const float *palette,
                        px_crowd_layout layout, float *stage) {
    lanes out[24];
    skin_quad(quads, first + place, palette, layout, out);
    float *positions = stage + (layout == PX_CROWD_INTERLEAVED ? 24 : 12) * (size_t)place;
    float *normals = layout == PX_CROWD_INTERLEAVED ? positions + 12 : positions + STAGE_FLOATS / 2;
    for (size_t row = 0; row < 3; row++)
        lanes_store4_stride(positions + 4 * row, STAGE_FLOATS, out + 4 * row);
    for (size_t row = 0; row < 3 && layout != PX_CROWD_POSITIONS; row++)
        lanes_store4_stride(normals + 4 * row, STAGE_FLOATS, out + 12 + 4 * row);
}

static void skin(const px_crowd_quads *quads, uint32_t first, uint32_t place, const float *palette,
                 px_crowd_layout layout, float *stage) {
    if (layout == PX_CROWD_POSITIONS)
        skin_layout(quads, first, place, palette, PX_CROWD_POSITIONS, stage);
    else if (layout == PX_CROWD_PLANAR)
        skin_layout(quads, first, place, palette, PX_CROWD_PLANAR, stage);
    else
        skin_layout(quads, first, place, palette, PX_CROWD_INTERLEAVED, stage);
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
#if LANES == 8
            _mm256_stream_ps(to + i + e, _mm256_loadu_ps(from + i + e));
#else
            _mm_stream_ps(to + i + e, _mm_loadu_ps(from + i + e));
#endif
#endif
    memcpy(to + i, from + i, (count - i) * sizeof *to);
}

const px_crowd_body CROWD_BODY = {LANES, gather, skin, stream};
