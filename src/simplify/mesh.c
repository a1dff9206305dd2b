/* Connectivity of the original mesh: circular lists of corners, borders, folds and seams. */
#include "core/mesh.h"
#include "simplify/simplify.h"

#include <math.h>

/* Weights of held edges per squared length; triangles weigh their area. */
#define BORDER_WEIGHT 1.0f
#define SEAM_WEIGHT   0.1f
/* An edge between normals with a smaller cosine is a fold, such as the rim of a two-sided leaf. */
#define FOLD_COSINE (-0.5)

/* ---- Faces and corner lists ------------------------------------------------------------------------------- */

static bool is_proper(const uint32_t *face) {
    return face[0] != face[1] && face[1] != face[2] && face[2] != face[0];
}

static void link_face(px_simplify *s, uint32_t triangle) {
    for (uint32_t c = 3 * triangle; c < 3 * triangle + 3; c++) {
        uint32_t *first = &s->first[s->faces[c]];
        s->next[c] = *first == PELT_NONE ? c : s->next[*first];
        if (*first == PELT_NONE)
            *first = c;
        else
            s->next[*first] = c;
    }
}

/* Removes degenerate triangles, which are invisible. If a part has no others, it keeps them, with locked classes. */
static void take_part(px_simplify *s, uint32_t part, uint32_t first, uint32_t count) {
    uint32_t proper = 0;
    for (uint32_t t = first; t < first + count; t++) {
        proper += is_proper(s->faces + 3 * (size_t)t);
        s->triangle_parts[t] = part;
    }
    s->part_counts[part] = proper > 0 ? proper : count;
    for (uint32_t t = first; t < first + count; t++) {
        const uint32_t *face = s->faces + 3 * (size_t)t;
        if (is_proper(face)) {
            link_face(s, t);
        } else if (proper > 0) {
            s->corners[3 * (size_t)t] = PELT_NONE;
            s->triangle_count--;
        } else {
            for (int c = 0; c < 3; c++)
                s->kinds[face[c]] = PX_CLASS_LOCKED;
        }
    }
}

static pelt_result take_faces(px_simplify *s) {
    const pelt_mesh *mesh = &s->model->mesh;
    size_t count = 3 * (size_t)mesh->triangle_count;
    s->faces = PX_NEW(s->arena, uint32_t, count);
    s->corners = PX_NEW(s->arena, uint32_t, count);
    s->next = PX_NEW(s->arena, uint32_t, count);
    s->first = PX_NEW(s->arena, uint32_t, s->classes.count);
    s->kinds = PX_NEW(s->arena, uint8_t, s->classes.count);
    s->parents = PX_NEW(s->arena, uint32_t, s->classes.count);
    s->triangle_parts = PX_NEW(s->arena, uint32_t, mesh->triangle_count);
    s->part_counts = PX_NEW(s->arena, uint32_t, (size_t)mesh->part_count + 1);
    if (!s->triangle_parts || !s->part_counts || !s->faces || !s->corners || !s->next || !s->first || !s->kinds ||
        !s->parents)
        return PELT_ERROR_MEMORY;
    s->triangle_count = mesh->triangle_count;
    memcpy(s->corners, mesh->triangles, count * sizeof *s->corners);
    for (size_t e = 0; e < count; e++)
        s->faces[e] = s->classes.of[mesh->triangles[e]];
    for (uint32_t u = 0; u < s->classes.count; u++) {
        s->first[u] = PELT_NONE;
        s->parents[u] = u;
    }
    for (uint32_t p = 0; p < mesh->part_count; p++)
        take_part(s, p, mesh->parts[p].first_triangle, mesh->parts[p].triangle_count);
    if (mesh->part_count == 0)
        take_part(s, 0, 0, mesh->triangle_count);
    return PELT_OK;
}

static pelt_result find_parts(px_simplify *s) {
    const pelt_mesh *mesh = &s->model->mesh;
    bool apart = mesh->part_count > 1;
    for (uint32_t p = 0; p < mesh->part_count; p++)
        apart = apart && mesh->parts[p].vertex_count > 0;
    if (!apart)
        return PELT_OK;
    if (!(s->part_of = PX_NEW(s->arena, uint32_t, mesh->vertex_count)))
        return PELT_ERROR_MEMORY;
    for (uint32_t p = 0; p < mesh->part_count; p++)
        for (uint32_t i = 0; i < mesh->parts[p].vertex_count; i++)
            s->part_of[mesh->parts[p].first_vertex + i] = p;
    return PELT_OK;
}

/* ---- Edges ------------------------------------------------------------------------------------------------ */

static void normal_at_first(const px_simplify *s, uint32_t triangle, double normal[3]) {
    size_t poses = s->pose_count;
    double p[3][3];
    for (size_t c = 0; c < 3; c++)
        for (size_t a = 0; a < 3; a++)
            p[c][a] = (double)s->places[(3 * (size_t)s->faces[3 * (size_t)triangle + c] + a) * poses];
    for (int a = 0; a < 3; a++) {
        int b = (a + 1) % 3, c = (a + 2) % 3;
        normal[a] = (p[1][b] - p[0][b]) * (p[2][c] - p[0][c]) - (p[1][c] - p[0][c]) * (p[2][b] - p[0][b]);
    }
}

static bool is_fold(const px_simplify *s, uint32_t a, uint32_t b) {
    double m[3], n[3], dot = 0, mm = 0, nn = 0;
    normal_at_first(s, a, m);
    normal_at_first(s, b, n);
    for (int e = 0; e < 3; e++) {
        dot += m[e] * n[e];
        mm += m[e] * m[e];
        nn += n[e] * n[e];
    }
    return dot < FOLD_COSINE * sqrt(mm * nn);
}

/* Whether the UVs of two triangles differ along their common edge. */
static bool is_seam(const px_simplify *s, const px_side *a, const px_side *b) {
    const float *uvs = s->model->mesh.uvs;
    if (!uvs)
        return false;
    for (int end = 0; end < 2; end++) {
        uint32_t u = end ? a->high : a->low, vertices[2];
        for (int n = 0; n < 2; n++) {
            uint32_t corner = n ? b->corner : a->corner;
            corner = s->faces[corner] == u ? corner : px_next_corner(corner);
            vertices[n] = s->corners[corner];
        }
        if (memcmp(uvs + 2 * (size_t)vertices[0], uvs + 2 * (size_t)vertices[1], 2 * sizeof *uvs) != 0)
            return true;
    }
    return false;
}

static void hold(px_simplify *s, const px_side *at, float weight) {
    s->held[s->held_count++] = (px_held_edge){at->corner / 3, at->corner % 3, weight};
}

/* Classifies one edge. It is a border, or non-manifold, unless sides in both directions pair up. borders [class]:
 * number of border edges, at most 3. */
static void look_at_edge(px_simplify *s, const px_side *sides, size_t count, uint8_t *borders) {
    size_t forward = 0;
    for (size_t n = 0; n < count; n++)
        forward += s->faces[sides[n].corner] == sides[n].low;
    if (2 * forward != count) {
        borders[sides->low] = (uint8_t)(borders[sides->low] + (borders[sides->low] < 3));
        borders[sides->high] = (uint8_t)(borders[sides->high] + (borders[sides->high] < 3));
        for (size_t n = 0; n < count; n++)
            hold(s, &sides[n], BORDER_WEIGHT);
        return;
    }
    bool fold = count == 2 && is_fold(s, sides[0].corner / 3, sides[1].corner / 3);
    bool seam = count == 2 && is_seam(s, &sides[0], &sides[1]);
    for (size_t n = 0; n < count && (fold || seam); n++)
        hold(s, &sides[n], fold ? BORDER_WEIGHT : SEAM_WEIGHT);
}

static pelt_result look_at_edges(px_simplify *s, px_side *sides, uint8_t *borders) {
    size_t count = 0;
    for (uint32_t c = 0; c < 3 * s->model->mesh.triangle_count; c++) {
        uint32_t a = s->faces[c], b = s->faces[px_next_corner(c)];
        if (px_corner_gone(s, c) || !is_proper(s->faces + (c - c % 3)))
            continue;
        sides[count++] = (px_side){a < b ? a : b, a < b ? b : a, c};
    }
    px_sides_sort(sides, count);
    if (!(s->held = PX_NEW(s->arena, px_held_edge, count)))
        return PELT_ERROR_MEMORY;
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1;
             end < count && sides[end].low == sides[first].low && sides[end].high == sides[first].high;)
            end++;
        look_at_edge(s, sides + first, end - first, borders);
    }
    for (uint32_t u = 0; u < s->classes.count; u++)
        if (borders[u] && s->kinds[u] == PX_CLASS_FREE)
            s->kinds[u] = borders[u] == 2 ? PX_CLASS_EDGE : PX_CLASS_LOCKED;
    return PELT_OK;
}

/* Locks classes that coincide at rest but have different weights, so that no gap opens at rest. */
static pelt_result lock_parting(px_simplify *s) {
    const pelt_mesh *mesh = &s->model->mesh;
    uint32_t *seen = PX_NEW(s->arena, uint32_t, mesh->weld.count); /* [welded vertex] 1 + class */
    if (!seen)
        return PELT_ERROR_MEMORY;
    for (uint32_t u = 0; u < s->classes.count; u++) {
        uint32_t *at = &seen[mesh->weld.of[s->classes.first[u]]];
        if (*at)
            s->kinds[u] = s->kinds[*at - 1] = PX_CLASS_LOCKED;
        *at = u + 1;
    }
    return PELT_OK;
}

pelt_result px_simplify_mesh(px_simplify *s) {
    PX_TRY(take_faces(s));
    PX_TRY(find_parts(s));
    PX_TRY(lock_parting(s));
    px_side *sides = PX_ALLOC(s->context, px_side, 3 * (size_t)s->model->mesh.triangle_count);
    uint8_t *borders = PX_ALLOC(s->context, uint8_t, s->classes.count);
    pelt_result result = sides && borders ? look_at_edges(s, sides, borders) : PELT_ERROR_MEMORY;
    px_free(s->context, borders);
    px_free(s->context, sides);
    return result;
}
