/* Vertex adjacency, and marking the vertices of a part: see mesh.h. */
#include "core/mesh.h"

#include <stdlib.h>

static int compare_numbers(const void *a, const void *b) {
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

/* Sorts each list, removes duplicates and compacts the lists. */
static void tidy(px_neighbours *n, uint32_t count) {
    size_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        size_t first = n->offsets[i], end = n->offsets[i + 1];
        n->offsets[i] = kept;
        px_sort(n->items + first, end - first, sizeof *n->items, compare_numbers);
        for (size_t e = first; e < end; e++)
            if (e == first || n->items[e] != n->items[e - 1])
                n->items[kept++] = n->items[e];
    }
    n->offsets[count] = kept;
}

pelt_result px_neighbours_make(px_arena *arena, const pelt_mesh *mesh, const pelt_vertex_classes *classes,
                               px_neighbours *out) {
    size_t edge_count = 3 * (size_t)mesh->triangle_count;
    out->offsets = PX_NEW(arena, size_t, (size_t)classes->count + 2);
    out->items = PX_NEW(arena, uint32_t, 2 * edge_count);
    if (!out->offsets || !out->items)
        return PELT_ERROR_MEMORY;
    size_t *places = out->offsets + 1; /* counts, then prefix sums: write positions */
    for (int filling = 0; filling < 2; filling++) {
        for (size_t e = 0; e < edge_count; e++) {
            uint32_t a = pelt_vertex_class(classes, mesh->triangles[e]);
            uint32_t b = pelt_vertex_class(classes, mesh->triangles[e % 3 == 2 ? e - 2 : e + 1]);
            if (a == b)
                continue;
            if (filling) {
                out->items[places[a]++] = b;
                out->items[places[b]++] = a;
            } else {
                places[a + 1]++;
                places[b + 1]++;
            }
        }
        for (uint32_t i = 0; !filling && i < classes->count; i++)
            places[i + 1] += places[i];
    }
    tidy(out, classes->count);
    return PELT_OK;
}

void px_mark_part(const pelt_mesh *mesh, const pelt_part *part, uint8_t *marks) {
    for (uint32_t i = part->first_vertex; i < part->first_vertex + part->vertex_count; i++)
        marks[i] = 1;
    for (size_t e = 3 * (size_t)part->first_triangle; e < 3 * ((size_t)part->first_triangle + part->triangle_count);
         e++)
        marks[mesh->triangles[e]] = 1;
}
