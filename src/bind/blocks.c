/* Characters made of boxes, as in block games: the boxes of body and limbs touch face to face with equal corners.
 * Welding by position would merge them into one surface, whose shared corners tear every box when a limb moves. If
 * nearly the whole mesh consists of closed solids of at most eight corners, corners of different solids stay separate.
 *
 * At a non-manifold edge (more than two triangles), triangles that enclose the interior of one solid are paired: each
 * triangle that runs forward along the edge with the next one, in the order of angles around the edge, that runs
 * backward. */
#include "bind/bind.h"
#include "core/groups.h"
#include "core/math3.h"
#include "core/mesh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TRIANGLES 100000u /* characters made of boxes have a few hundred; larger meshes are skipped */
#define BOX_SHARE     0.9     /* minimum fraction of the triangles in such solids */
#define MAX_SIDES     64u     /* triangles at one edge that are paired; more are one solid, which bounds the time */
#define TURN          6.283185307179586
#define MIN_ANGLE     1e-3 /* radians: minimum dihedral angle inside a solid */

/* Lists the sides of all triangles, sorted by edge; those of zero length are left out. Returns their number. */
static uint32_t list_sides(const pelt_mesh *mesh, px_side *sides) {
    uint32_t count = 0;
    for (uint32_t corner = 0; corner < 3 * mesh->triangle_count; corner++) {
        uint32_t next = corner % 3 == 2 ? corner - 2 : corner + 1;
        uint32_t a = mesh->weld.of[mesh->triangles[corner]], b = mesh->weld.of[mesh->triangles[next]];
        if (a != b)
            sides[count++] = (px_side){a < b ? a : b, a < b ? b : a, corner};
    }
    px_sides_sort(sides, count);
    return count;
}

/* The triangle runs along the edge from low to high. */
static bool is_forward(const pelt_mesh *mesh, const px_side *side) {
    return mesh->weld.of[mesh->triangles[side->corner]] == side->low;
}

/* Dihedral angles, −π to π, of the triangles at one edge relative to the first of them, right-handed about low → high. */
static void measure_angles(const pelt_mesh *mesh, const px_side *sides, uint32_t count, double *angles) {
    float zero[3] = {0}, quarter[3] = {0};
    double length = 0;
    for (uint32_t n = 0; n < count; n++) {
        const uint32_t *corners = mesh->triangles + sides[n].corner / 3 * (size_t)3;
        uint32_t c = sides[n].corner % 3;
        bool forward = is_forward(mesh, &sides[n]);
        const float *low = mesh->positions + 3 * (size_t)corners[forward ? c : (c + 1) % 3];
        const float *high = mesh->positions + 3 * (size_t)corners[forward ? (c + 1) % 3 : c];
        float across[3], along[3];
        px_sub3(mesh->positions + 3 * (size_t)corners[(c + 2) % 3], low, across);
        if (n == 0) {
            px_sub3(high, low, along);
            px_cross3(along, across, quarter);
            px_cross3(quarter, along, zero);
            length = sqrt((double)px_dot3(along, along)); /* |zero| = length · |quarter| */
        }
        angles[n] = px_atan2(length * (double)px_dot3(across, quarter), (double)px_dot3(across, zero));
    }
}

/* Joins the triangles of one edge that enclose the interior of a solid: the interior is at lower angles of a forward
 * triangle, and at higher angles of a backward one. */
static void join_at_edge(const pelt_mesh *mesh, const px_side *sides, uint32_t count, uint32_t *solids) {
    for (uint32_t n = 1; n < count && count > MAX_SIDES; n++)
        px_group_join(solids, sides[0].corner / 3, sides[n].corner / 3);
    if (count > MAX_SIDES)
        return;
    double angles[MAX_SIDES];
    measure_angles(mesh, sides, count, angles);
    for (uint32_t n = 0; n < count; n++) {
        double least = INFINITY;
        uint32_t other = n;
        for (uint32_t m = 0; m < count && is_forward(mesh, &sides[n]); m++) {
            double inside = angles[n] - angles[m];
            while (inside < MIN_ANGLE) /* up to two turns: −π against π */
                inside += TURN;
            if (!is_forward(mesh, &sides[m]) && inside < least) {
                least = inside;
                other = m;
            }
        }
        px_group_join(solids, sides[n].corner / 3, sides[other].corner / 3);
    }
}

typedef struct corner {
    uint32_t weld, solid, vertex;
} corner;

static int compare_corners(const void *left, const void *right) {
    const corner *a = left, *b = right;
    if (a->solid != b->solid)
        return a->solid < b->solid ? -1 : 1;
    if (a->weld != b->weld)
        return a->weld < b->weld ? -1 : 1;
    return a->vertex < b->vertex ? -1 : a->vertex > b->vertex;
}

/* solids [triangle]: the lowest triangle of its solid (union-find). Solids that share a vertex, not only its position,
 * are merged. */
static pelt_result find_solids(px_arena *arena, const pelt_mesh *mesh, uint32_t *solids) {
    px_side *sides = PX_NEW(arena, px_side, 3 * (size_t)mesh->triangle_count);
    uint32_t *users = PX_NEW(arena, uint32_t, mesh->vertex_count); /* [vertex] 1 + a triangle that uses it */
    if (!sides || !users)
        return PELT_ERROR_MEMORY;
    for (uint32_t t = 0; t < mesh->triangle_count; t++)
        solids[t] = t;
    for (size_t c = 0; c < 3 * (size_t)mesh->triangle_count; c++) {
        uint32_t *user = &users[mesh->triangles[c]], t = (uint32_t)(c / 3);
        if (*user > 0)
            px_group_join(solids, t, *user - 1);
        *user = t + 1;
    }
    for (uint32_t n = 0, end, count = list_sides(mesh, sides); n < count; n = end) {
        for (end = n; end < count && sides[end].low == sides[n].low && sides[end].high == sides[n].high;)
            end++;
        join_at_edge(mesh, sides + n, end - n, solids);
    }
    for (uint32_t t = 0; t < mesh->triangle_count; t++)
        solids[t] = px_group_of(solids, t);
    return PELT_OK;
}

pelt_result px_bind_part_blocks(px_arena *arena, const pelt_mesh *mesh, pelt_vertex_classes *out) {
    uint32_t corner_count = 3 * mesh->triangle_count, solid_count = 0, in_boxes = 0, count = 0;
    uint32_t *of = PX_NEW(arena, uint32_t, mesh->vertex_count);
    if (!of)
        return PELT_ERROR_MEMORY;
    memcpy(of, mesh->weld.of, mesh->vertex_count * sizeof *of);
    *out = (pelt_vertex_classes){mesh->weld.count, of, NULL};
    if (mesh->triangle_count > MAX_TRIANGLES)
        return PELT_OK;
    uint32_t *solids = PX_NEW(arena, uint32_t, mesh->triangle_count);
    corner *corners = PX_NEW(arena, corner, corner_count);
    if (!solids || !corners)
        return PELT_ERROR_MEMORY;
    PX_TRY(find_solids(arena, mesh, solids));
    for (uint32_t c = 0; c < corner_count; c++) {
        uint32_t i = mesh->triangles[c];
        corners[c] = (corner){mesh->weld.of[i], solids[c / 3], i};
    }
    px_sort(corners, corner_count, sizeof *corners, compare_corners);
    for (uint32_t c = 0, end; c < corner_count; c = end, solid_count++) {
        uint32_t different = 1;
        for (end = c + 1; end < corner_count && corners[end].solid == corners[c].solid; end++)
            different += corners[end].weld != corners[end - 1].weld;
        in_boxes += different <= PX_BIND_BOX_CORNERS ? end - c : 0;
    }
    if (solid_count < PX_BIND_MIN_BOXES || in_boxes < BOX_SHARE * corner_count)
        return PELT_OK;
    memset(of, 0xff, mesh->vertex_count * sizeof *of);
    for (uint32_t c = 0; c < corner_count; c++) {
        bool same = c > 0 && corners[c].solid == corners[c - 1].solid && corners[c].weld == corners[c - 1].weld;
        count += !same;
        of[corners[c].vertex] = count - 1;
    }
    for (uint32_t i = 0; i < mesh->vertex_count; i++) /* vertices without triangles */
        of[i] = of[i] == PELT_NONE ? count++ : of[i];
    out->count = count;
    return PELT_OK;
}
