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

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TRIANGLES 100000u /* characters made of boxes have a few hundred; larger meshes are skipped */
#define BOX_SHARE     0.9     /* minimum fraction of the triangles in such solids */
#define MAX_SIDES     64u     /* triangles at one edge that are paired; more are one solid, which bounds the time */
#define TURN          6.283185307179586
#define MIN_ANGLE     1e-3 /* radians: minimum dihedral angle inside a solid */

typedef struct side {
    uint32_t low, high; /* welded vertices at the ends of the edge */
    uint32_t triangle;  /* a triangle at this edge */
    uint32_t corner;    /* the edge runs from this corner of the triangle to the next one */
    bool forward;       /* it runs from low to high */
    double angle;       /* dihedral angle of the triangle around the edge, −π to π */
} side;

static int compare_sides(const void *left, const void *right) {
    const side *a = left, *b = right;
    if (a->low != b->low)
        return a->low < b->low ? -1 : 1;
    if (a->high != b->high)
        return a->high < b->high ? -1 : 1;
    return a->triangle < b->triangle ? -1 : a->triangle > b->triangle;
}

/* Lists three sides per triangle, sorted by edge; sides of zero length are left out. Returns their number. */
static uint32_t list_sides(const pelt_mesh *mesh, side *sides) {
    uint32_t count = 0;
    for (uint32_t t = 0; t < mesh->triangle_count; t++)
        for (uint32_t c = 0; c < 3; c++) {
            uint32_t a = mesh->weld.of[mesh->triangles[3 * (size_t)t + c]];
            uint32_t b = mesh->weld.of[mesh->triangles[3 * (size_t)t + (c + 1) % 3]];
            if (a != b)
                sides[count++] =
                    (side){.low = a < b ? a : b, .high = a < b ? b : a, .triangle = t, .corner = c, .forward = a < b};
        }
    qsort(sides, count, sizeof *sides, compare_sides);
    return count;
}

/* Dihedral angles of the triangles at one edge relative to the first of them, right-handed about low → high. */
static void measure_angles(const pelt_mesh *mesh, side *sides, uint32_t count) {
    float zero[3], quarter[3];
    double length = 0;
    for (uint32_t n = 0; n < count; n++) {
        const uint32_t *corners = mesh->triangles + 3 * (size_t)sides[n].triangle;
        uint32_t c = sides[n].corner;
        const float *low = mesh->positions + 3 * (size_t)corners[sides[n].forward ? c : (c + 1) % 3];
        const float *high = mesh->positions + 3 * (size_t)corners[sides[n].forward ? (c + 1) % 3 : c];
        float across[3], along[3];
        px_sub3(mesh->positions + 3 * (size_t)corners[(c + 2) % 3], low, across);
        if (n == 0) {
            px_sub3(high, low, along);
            px_cross3(along, across, quarter);
            px_cross3(quarter, along, zero);
            length = sqrt((double)px_dot3(along, along)); /* |zero| = length · |quarter| */
        }
        sides[n].angle = atan2(length * (double)px_dot3(across, quarter), (double)px_dot3(across, zero));
    }
}

/* Joins the triangles of one edge that enclose the interior of a solid: the interior is at lower angles of a forward
 * triangle, and at higher angles of a backward one. */
static void join_at_edge(const pelt_mesh *mesh, side *sides, uint32_t count, uint32_t *solids) {
    for (uint32_t n = 1; n < count && count > MAX_SIDES; n++)
        px_group_join(solids, sides[0].triangle, sides[n].triangle);
    if (count > MAX_SIDES)
        return;
    measure_angles(mesh, sides, count);
    for (uint32_t n = 0; n < count; n++) {
        double least = INFINITY;
        uint32_t other = n;
        for (uint32_t m = 0; sides[n].forward && m < count; m++) {
            double inside = sides[n].angle - sides[m].angle;
            while (inside < MIN_ANGLE) /* up to two turns: −π against π */
                inside += TURN;
            if (!sides[m].forward && inside < least) {
                least = inside;
                other = m;
            }
        }
        px_group_join(solids, sides[n].triangle, sides[other].triangle);
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
    side *sides = PX_NEW(arena, side, 3 * (size_t)mesh->triangle_count);
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
    qsort(corners, corner_count, sizeof *corners, compare_corners);
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
