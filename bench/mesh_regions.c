/* Volumes of regions of a mesh. */
#include "mesh_regions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *must(size_t count, size_t size) {
    void *memory = calloc(count + 1, size);
    if (!memory) {
        fprintf(stderr, "bench: out of memory\n");
        exit(2);
    }
    return memory;
}

/* ---- Borders ---------------------------------------------------------------------------------------------- */

typedef struct half_edge {
    uint32_t region, a, b; /* welded */
    uint32_t va, vb;       /* vertices */
} half_edge;

static int compare_half_edges(const void *x, const void *y) {
    const half_edge *p = x, *q = y;
    if (p->region != q->region)
        return p->region < q->region ? -1 : 1;
    if (p->a != q->a)
        return p->a < q->a ? -1 : 1;
    return (p->b > q->b) - (p->b < q->b);
}

/* Half edges without an opposite in their region, in place; returns their number. */
static size_t keep_borders(half_edge *edges, size_t count) {
    size_t kept = 0;
    half_edge *out = must(count, sizeof *out);
    for (size_t e = 0; e < count; e++) {
        half_edge back = {edges[e].region, edges[e].b, edges[e].a, 0, 0};
        if (!bsearch(&back, edges, count, sizeof *edges, compare_half_edges))
            out[kept++] = edges[e];
    }
    memcpy(edges, out, kept * sizeof *edges);
    free(out);
    return kept;
}

static uint32_t find(uint32_t *groups, uint32_t i) {
    while (groups[i] != i)
        i = groups[i] = groups[groups[i]];
    return i;
}

/* Groups border edges of a region that share vertices into loops. Edges of a region are contiguous. */
static void find_loops(mesh_regions *m, const half_edge *edges) {
    uint32_t *groups = must(m->mesh->weld.count, sizeof *groups), *numbers = must(m->mesh->weld.count, sizeof *numbers);
    for (size_t first = 0, end; first < m->border_count; first = end) {
        for (end = first; end < m->border_count && edges[end].region == edges[first].region; end++) {
            groups[edges[end].a] = edges[end].a;
            groups[edges[end].b] = edges[end].b;
        }
        for (size_t e = first; e < end; e++)
            groups[find(groups, edges[e].a)] = find(groups, edges[e].b);
        for (size_t e = first; e < end; e++)
            numbers[find(groups, edges[e].a)] = UINT32_MAX;
        for (size_t e = first; e < end; e++) {
            uint32_t *number = &numbers[find(groups, edges[e].a)];
            if (*number == UINT32_MAX)
                *number = m->loop_count++;
            m->border[e] = (border_edge){edges[e].region, *number, edges[e].va, edges[e].vb};
        }
    }
    free(groups);
    free(numbers);
}

mesh_regions mesh_regions_make(const pelt_mesh *mesh, const uint32_t *vertex_regions, uint32_t region_count) {
    mesh_regions m = {.mesh = mesh, .region_count = region_count};
    m.triangle_regions = must(mesh->triangle_count, sizeof *m.triangle_regions);
    half_edge *edges = must(3 * (size_t)mesh->triangle_count, sizeof *edges);
    for (size_t t = 0; t < mesh->triangle_count; t++) {
        const uint32_t *v = mesh->triangles + 3 * t;
        uint32_t region = vertex_regions[vertex_regions[v[1]] == vertex_regions[v[2]] ? v[1] : v[0]];
        m.triangle_regions[t] = region;
        for (size_t k = 0; k < 3; k++) {
            uint32_t a = v[k], b = v[(k + 1) % 3];
            edges[3 * t + k] = (half_edge){region, mesh->weld.of[a], mesh->weld.of[b], a, b};
        }
    }
    qsort(edges, 3 * (size_t)mesh->triangle_count, sizeof *edges, compare_half_edges);
    m.border_count = keep_borders(edges, 3 * (size_t)mesh->triangle_count);
    m.border = must(m.border_count, sizeof *m.border);
    find_loops(&m, edges);
    m.middles = must(m.loop_count, sizeof *m.middles);
    free(edges);
    return m;
}

void mesh_regions_free(mesh_regions *regions) {
    free(regions->triangle_regions);
    free(regions->border);
    free(regions->middles);
}

/* ---- Volumes ---------------------------------------------------------------------------------------------- */

static void take(const float *positions, uint32_t vertex, double out[3]) {
    for (size_t c = 0; c < 3; c++)
        out[c] = (double)positions[3 * (size_t)vertex + c];
}

static double tetrahedron(const double a[3], const double b[3], const double c[3]) {
    return (a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) +
            a[2] * (b[0] * c[1] - b[1] * c[0])) /
           6;
}

void mesh_regions_volumes(mesh_regions *m, const float *positions, double *volumes) {
    double a[3], b[3], c[3];
    memset(volumes, 0, m->region_count * sizeof *volumes);
    memset(m->middles, 0, m->loop_count * sizeof *m->middles);
    for (size_t t = 0; t < m->mesh->triangle_count; t++) {
        const uint32_t *v = m->mesh->triangles + 3 * t;
        take(positions, v[0], a);
        take(positions, v[1], b);
        take(positions, v[2], c);
        volumes[m->triangle_regions[t]] += tetrahedron(a, b, c);
    }
    for (size_t e = 0; e < m->border_count; e++) {
        double *middle = m->middles[m->border[e].loop];
        take(positions, m->border[e].a, a);
        for (size_t k = 0; k < 3; k++)
            middle[k] += a[k];
        middle[3]++;
    }
    for (size_t e = 0; e < m->border_count; e++) {
        const double *middle = m->middles[m->border[e].loop];
        take(positions, m->border[e].a, a);
        take(positions, m->border[e].b, b);
        for (size_t k = 0; k < 3; k++)
            c[k] = middle[k] / middle[3];
        volumes[m->border[e].region] += tetrahedron(b, a, c);
    }
}
