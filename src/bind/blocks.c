/* Characters of boxes, as block games have them: the boxes of body and limbs touch face to face, with equal corners. Welding
 * by position would make them one surface, whose shared corners tear every box when a limb moves. Where nearly the whole mesh
 * is closed solids of at most eight corners, the corners of different solids stay apart.
 *
 * At an edge where more than two triangles meet, triangles belong together that have the inside of one solid between them:
 * each that runs forward along the edge goes with the next one, in the order of angles around it, that runs backward. */
#include "bind/bind.h"
#include "core/groups.h"
#include "core/math3.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TRIANGLES 100000u /* a character of boxes has a few hundred; larger meshes are not looked at */
#define MIN_SOLIDS    4u      /* a torso and limbs */
#define BOX_CORNERS   8u      /* of a solid at most: without a loop of vertices between its ends it cannot bend */
#define BOX_SHARE     0.9     /* of the triangles that are in such solids, at least */
#define TURN          6.283185307179586
#define MIN_ANGLE     1e-3 /* radians inside a solid between two of its triangles, at least */

typedef struct side {
    uint32_t low, high; /* welded vertices: the edge's ends */
    uint32_t triangle;  /* … and one of its triangles, */
    uint32_t corner;    /* whose corner this and the next one are the ends, */
    bool forward;       /* from low to high */
    double angle;       /* of the triangle around the edge, −π to π */
} side;

static int compare_sides(const void *left, const void *right) {
    const side *a = left, *b = right;
    if (a->low != b->low)
        return a->low < b->low ? -1 : 1;
    if (a->high != b->high)
        return a->high < b->high ? -1 : 1;
    return a->triangle < b->triangle ? -1 : a->triangle > b->triangle;
}

/* Three sides for each triangle, sorted by edge. Returns their number. */
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

/* Angles of the triangles at one edge, turning right-handed about low → high from the first of them on. */
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
            length = sqrt((double)px_dot3(along, along)); /* zero is longer than quarter by this factor */
        }
        sides[n].angle = atan2(length * (double)px_dot3(across, quarter), (double)px_dot3(across, zero));
    }
}

/* Joins the triangles of one edge that have the inside of a solid between them: inside is where angles fall from a
 * triangle that runs forward, and rise from one that runs backward. */
static void join_at_edge(const pelt_mesh *mesh, side *sides, uint32_t count, uint32_t *solids) {
    measure_angles(mesh, sides, count);
    for (uint32_t n = 0; n < count; n++) {
        double least = INFINITY;
        uint32_t other = n;
        for (uint32_t m = 0; sides[n].forward && m < count; m++) {
            double inside = sides[n].angle - sides[m].angle;
            while (inside < MIN_ANGLE) /* twice for −π against π */
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

/* [triangle] the lowest triangle of its solid. Solids that share a vertex, not only its place, are one. */
static pelt_result find_solids(px_arena *arena, const pelt_mesh *mesh, uint32_t *solids) {
    side *sides = PX_NEW(arena, side, 3 * (size_t)mesh->triangle_count);
    uint32_t *users = PX_NEW(arena, uint32_t, mesh->vertex_count); /* [vertex] a triangle of it + 1 */
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
        in_boxes += different <= BOX_CORNERS ? end - c : 0;
    }
    if (solid_count < MIN_SOLIDS || in_boxes < BOX_SHARE * corner_count)
        return PELT_OK;
    memset(of, 0xff, mesh->vertex_count * sizeof *of);
    for (uint32_t c = 0; c < corner_count; c++) {
        bool same = c > 0 && corners[c].solid == corners[c - 1].solid && corners[c].weld == corners[c - 1].weld;
        count += !same;
        of[corners[c].vertex] = count - 1;
    }
    for (uint32_t i = 0; i < mesh->vertex_count; i++) /* of no triangle */
        of[i] = of[i] == PELT_NONE ? count++ : of[i];
    out->count = count;
    return PELT_OK;
}
