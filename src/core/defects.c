/* Defects of a mesh's connectivity: shells, holes, non-manifold edges and vertices. */
#include "core/core.h"
#include "core/groups.h"
#include "core/mesh.h"

#include <pelt/measure.h>

/* Sides of triangles with three different corners, sorted. Returns their number. */
static size_t list_sides(const pelt_mesh *mesh, px_side *sides) {
    size_t count = 0;
    for (uint32_t t = 0; t < mesh->triangle_count; t++) {
        uint32_t v[3];
        for (uint32_t c = 0; c < 3; c++)
            v[c] = mesh->weld.of[mesh->triangles[3 * (size_t)t + c]];
        if (v[0] == v[1] || v[1] == v[2] || v[2] == v[0])
            continue;
        for (uint32_t c = 0; c < 3; c++) {
            uint32_t a = v[c], b = v[(c + 1) % 3];
            sides[count++] = (px_side){a < b ? a : b, a < b ? b : a, 3 * t + c};
        }
    }
    px_sides_sort(sides, count);
    return count;
}

/* Joins the corners that two triangles have at the ends of a common edge. */
static void join_corners(const pelt_mesh *mesh, uint32_t *fans, uint32_t a, uint32_t b) {
    uint32_t ends[2][2];
    for (int n = 0; n < 2; n++) {
        uint32_t corner = n ? b : a, next = corner - corner % 3 + (corner % 3 + 1) % 3;
        bool forward = mesh->weld.of[mesh->triangles[corner]] < mesh->weld.of[mesh->triangles[next]];
        ends[n][0] = forward ? corner : next;
        ends[n][1] = forward ? next : corner;
    }
    px_group_join(fans, ends[0][0], ends[1][0]);
    px_group_join(fans, ends[0][1], ends[1][1]);
}

typedef struct counting {
    const pelt_mesh *mesh;
    px_side *sides;
    size_t side_count;
    uint32_t *shells; /* [welded vertex] connected by triangles */
    uint32_t *loops;  /* [welded vertex] connected by boundary edges */
    uint32_t *fans;   /* [corner] connected around a vertex */
    uint8_t *open;    /* [welded vertex] 1: at a boundary edge */
    uint32_t *owners; /* [welded vertex] 1 + the fan of its first corner */
} counting;

static void count_edges(counting *c, pelt_mesh_defects *out) {
    for (size_t n = 0, end; n < c->side_count; n = end) {
        const px_side *first = &c->sides[n];
        for (end = n + 1; end < c->side_count && c->sides[end].low == first->low && c->sides[end].high == first->high;
             end++)
            join_corners(c->mesh, c->fans, first->corner, c->sides[end].corner);
        px_group_join(c->shells, first->low, first->high);
        out->edge_count++;
        out->nonmanifold_edge_count += end - n > 2;
        if (end - n > 1)
            continue;
        out->boundary_edge_count++;
        px_group_join(c->loops, first->low, first->high);
        c->open[first->low] = c->open[first->high] = 1;
    }
}

static void count_vertices(counting *c, pelt_mesh_defects *out) {
    const pelt_mesh *mesh = c->mesh;
    for (size_t n = 0; n < c->side_count; n++) {
        uint32_t corner = c->sides[n].corner, vertex = mesh->weld.of[mesh->triangles[corner]];
        uint32_t fan = px_group_of(c->fans, corner) + 1;
        if (c->owners[vertex] == 0) {
            c->owners[vertex] = fan;
            out->shell_count += px_group_of(c->shells, vertex) == vertex;
            out->hole_count += c->open[vertex] && px_group_of(c->loops, vertex) == vertex;
        } else if (c->owners[vertex] != fan && c->owners[vertex] != PELT_NONE) {
            c->owners[vertex] = PELT_NONE;
            out->nonmanifold_vertex_count++;
        }
    }
}

pelt_result pelt_mesh_count_defects(pelt_context *context, const pelt_mesh *mesh, pelt_mesh_defects *out) {
    *out = (pelt_mesh_defects){0};
    if (!mesh->weld.of)
        return px_fail(context, PELT_ERROR_USAGE, "weld the model before its defects are counted");
    px_arena *arena = px_arena_create(context);
    if (!arena)
        return PELT_ERROR_MEMORY;
    size_t corners = 3 * (size_t)mesh->triangle_count;
    counting c = {.mesh = mesh,
                  .sides = PX_NEW(arena, px_side, corners),
                  .shells = PX_NEW(arena, uint32_t, mesh->weld.count),
                  .loops = PX_NEW(arena, uint32_t, mesh->weld.count),
                  .fans = PX_NEW(arena, uint32_t, corners),
                  .open = PX_NEW(arena, uint8_t, mesh->weld.count),
                  .owners = PX_NEW(arena, uint32_t, mesh->weld.count)};
    bool enough = c.sides && c.shells && c.loops && c.fans && c.open && c.owners;
    if (enough) {
        for (uint32_t v = 0; v < mesh->weld.count; v++)
            c.shells[v] = c.loops[v] = v;
        for (size_t k = 0; k < corners; k++)
            c.fans[k] = (uint32_t)k;
        c.side_count = list_sides(mesh, c.sides);
        count_edges(&c, out);
        count_vertices(&c, out);
    }
    px_arena_destroy(arena);
    return enough ? PELT_OK : PELT_ERROR_MEMORY;
}
