/* Trees of moving meshes, and the choice of the instruction set. */
#include "light/rays.h"
#include "core/math3.h"

#include <assert.h>

#define REBUILD_RATIO 1.5 /* of the cost to that when it was built */

px_ray_fn *px_rays_of(pelt_simd simd) {
    static px_ray_fn *const bodies[PELT_SIMD_COUNT] = {
        [PELT_SIMD_SCALAR] = px_rays_scalar,
#if defined(__x86_64__)
        [PELT_SIMD_SSE2] = px_rays_sse2,
        [PELT_SIMD_AVX2] = px_rays_avx2,
        [PELT_SIMD_AVX512] = px_rays_avx2,
#elif defined(__aarch64__)
        [PELT_SIMD_NEON] = px_rays_neon,
#elif defined(__wasm_simd128__)
        [PELT_SIMD_WASM] = px_rays_wasm,
#endif
    };
    assert(pelt_simd_available(simd));
    return bodies[simd];
}

static double half_area(const px_surface_node *node) {
    double x = (double)node->high[0] - (double)node->low[0], y = (double)node->high[1] - (double)node->low[1],
           z = (double)node->high[2] - (double)node->low[2];
    return x * y + y * z + z * x;
}

/* The range of surface.order below a node. */
static uint32_t range_of(const px_surface *s, uint32_t node, uint32_t *first) {
    uint32_t left = node, right = node;
    while (s->nodes[left].count == 0)
        left++;
    while (s->nodes[right].count == 0)
        right = s->nodes[right].first;
    *first = s->nodes[left].first;
    return s->nodes[right].first + s->nodes[right].count - *first;
}

/* Makes the leaves below a node. Halves of halves of up to 64 triangles have up to 16: two leaves each. */
static void make_leaves(px_ray_mesh *mesh, uint32_t node) {
    uint32_t first, count = range_of(&mesh->surface, node, &first);
    if (count > PX_LEAF) {
        make_leaves(mesh, node + 1);
        make_leaves(mesh, mesh->surface.nodes[node].first);
        return;
    }
    px_ray_leaf *leaf = &mesh->leaves[mesh->leaf_count++];
    *leaf = (px_ray_leaf){.count = count};
    memcpy(leaf->triangles, mesh->surface.order + first, count * sizeof *leaf->triangles);
}

static void make_groups(px_ray_mesh *mesh, uint32_t node) {
    uint32_t first, count = range_of(&mesh->surface, node, &first);
    if (count > PX_LEAF * PX_LEAF) {
        make_groups(mesh, node + 1);
        make_groups(mesh, mesh->surface.nodes[node].first);
        return;
    }
    px_ray_group *group = &mesh->groups[mesh->group_count++];
    group->first = mesh->leaf_count;
    make_leaves(mesh, node);
    group->count = mesh->leaf_count - group->first;
    assert(group->count <= PX_LEAF);
}

/* Copies the triangles of the surface. Returns the cost of its boxes. */
static double prepare(px_ray_mesh *mesh) {
    const px_surface *s = &mesh->surface;
    double areas = 0, root = s->node_count > 0 ? half_area(&s->nodes[0]) : 0;
    for (uint32_t n = 0; n < s->node_count; n++)
        areas += half_area(&s->nodes[n]);
    for (uint32_t n = 0; n < mesh->leaf_count; n++)
        for (uint32_t e = 0; e < PX_LEAF; e++) {
            px_ray_leaf *leaf = &mesh->leaves[n];
            const uint32_t *corners = s->triangles + 3 * (size_t)leaf->triangles[e < leaf->count ? e : 0];
            for (size_t c = 0; c < 3; c++) {
                leaf->a[c][e] = s->positions[3 * (size_t)corners[0] + c];
                leaf->u[c][e] = s->positions[3 * (size_t)corners[1] + c] - leaf->a[c][e];
                leaf->v[c][e] = s->positions[3 * (size_t)corners[2] + c] - leaf->a[c][e];
            }
        }
    return root > 0 ? areas / root : 0;
}

static void pack(px_ray_mesh *mesh) {
    mesh->leaf_count = mesh->group_count = 0;
    if (mesh->surface.node_count > 0)
        make_groups(mesh, 0);
    mesh->cost = prepare(mesh);
}

pelt_result px_ray_mesh_make(px_arena *arena, const float *positions, const uint32_t *triangles,
                             uint32_t triangle_count, px_ray_mesh *out) {
    size_t most = (size_t)triangle_count / (PX_LEAF / 2) + 1; /* leaves: halves of more than eight triangles */
    *out = (px_ray_mesh){.triangle_count = triangle_count};
    out->leaves = PX_NEW(arena, px_ray_leaf, most);
    out->groups = PX_NEW(arena, px_ray_group, most);
    if (!out->leaves || !out->groups)
        return PELT_ERROR_MEMORY;
    PX_TRY(px_surface_make(arena, positions, triangles, triangle_count, &out->surface));
    pack(out);
    return PELT_OK;
}

pelt_result px_ray_mesh_move(pelt_context *context, px_ray_mesh *mesh, const float *positions) {
    px_surface_move(&mesh->surface, positions);
    if (prepare(mesh) <= REBUILD_RATIO * mesh->cost)
        return PELT_OK;
    PX_TRY(px_surface_rebuild(context, &mesh->surface, mesh->triangle_count));
    pack(mesh);
    return PELT_OK;
}

/* The margin covers rounding: rays that meet a triangle nearer than that are not above it. */
void px_ray_mesh_below(const px_ray_mesh *mesh, const float from[3], const float normal[3], px_ray_own *own) {
    const px_ray_group *group = &mesh->groups[own->group];
    float height = 0;
    own->leaves = 0;
    for (int c = 0; c < 3; c++)
        height += from[c] * normal[c] - 4e-6f * fabsf(from[c]);
    for (uint32_t n = 0; n < group->count; n++) {
        const px_ray_leaf *leaf = &mesh->leaves[group->first + n];
        float most[PX_LEAF];
        bool below = true;
        for (uint32_t e = 0; e < PX_LEAF; e++) {
            float a = leaf->a[0][e] * normal[0] + leaf->a[1][e] * normal[1] + leaf->a[2][e] * normal[2];
            float u = leaf->u[0][e] * normal[0] + leaf->u[1][e] * normal[1] + leaf->u[2][e] * normal[2];
            float v = leaf->v[0][e] * normal[0] + leaf->v[1][e] * normal[1] + leaf->v[2][e] * normal[2];
            most[e] = a + (u > v ? u > 0 ? u : 0 : v > 0 ? v : 0);
        }
        for (uint32_t e = 0; e < PX_LEAF; e++)
            below &= most[e] < height;
        own->leaves |= (uint32_t)below << n;
    }
}

/* ---- A direction ------------------------------------------------------------------------------------------ */

#define CELLS_PER_GROUP   16.0
#define ENTRIES_PER_GROUP 64u /* the grid is made coarser where groups cover more cells */

pelt_result px_view_make(pelt_context *context, const px_ray_mesh *mesh, px_view *view) {
    size_t cells = (size_t)(CELLS_PER_GROUP * mesh->group_count) + 16;
    *view = (px_view){.entry_most = (size_t)ENTRIES_PER_GROUP * mesh->group_count + 16};
    size_t leaves = mesh->leaf_count * sizeof *view->leaves, groups = mesh->group_count * sizeof *view->groups,
           boxes = mesh->group_count * sizeof *view->boxes, entries = view->entry_most * sizeof *view->entries;
    uint8_t *memory = PX_ALLOC(context, uint8_t, leaves + groups + boxes + entries + (2 * cells + 1) * sizeof(float));
    if (!memory)
        return PELT_ERROR_MEMORY;
    view->leaves = (px_view_leaf *)(void *)memory; /* all consist of values of four bytes */
    view->groups = (px_view_group *)(void *)(memory + leaves);
    view->boxes = (px_view_box *)(void *)(memory + leaves + groups);
    view->entries = (uint32_t *)(void *)(memory + leaves + groups + boxes);
    view->tops = (float *)(void *)(memory + leaves + groups + boxes + entries);
    view->first = (uint32_t *)(void *)(view->tops + cells);
    return PELT_OK;
}

void px_view_free(pelt_context *context, px_view *view) {
    px_free(context, view->leaves);
}

static void cell_range(const px_view *v, const px_view_box *box, uint32_t from[2], uint32_t to[2]) {
    for (int c = 0; c < 2; c++) {
        from[c] = px_view_cell(v, c, box->low[c]);
        to[c] = px_view_cell(v, c, box->high[c]);
    }
}

/* Cells about as wide as high, CELLS_PER_GROUP of them for each group, or fewer where the entries would not fit: counts
 * them into `first`. */
static void lay_out(px_view *v, uint32_t group_count, const px_view_box *all) {
    double width = (double)all->high[0] - (double)all->low[0], height = (double)all->high[1] - (double)all->low[1];
    double cells = CELLS_PER_GROUP * group_count, entries;
    do {
        double x = height > 0 ? sqrt(cells * width / height) : cells;
        v->side[0] = (uint32_t)px_fmin(px_fmax(x, 1), px_fmax(cells, 1));
        v->side[1] = (uint32_t)px_fmax(cells / v->side[0], 1);
        v->corner[0] = all->low[0];
        v->corner[1] = all->low[1];
        v->per[0] = width > 0 ? (float)(v->side[0] / width) : 0;
        v->per[1] = height > 0 ? (float)(v->side[1] / height) : 0;
        memset(v->first, 0, ((size_t)v->side[0] * v->side[1] + 1) * sizeof *v->first);
        entries = 0;
        for (uint32_t n = 0; n < group_count; n++) {
            uint32_t from[2], to[2];
            cell_range(v, &v->boxes[n], from, to);
            entries += (double)(to[0] - from[0] + 1) * (to[1] - from[1] + 1);
        }
        cells /= 4;
    } while (entries > (double)v->entry_most);
}

void px_view_fill(px_view *v, uint32_t group_count) {
    px_view_box all = {{INFINITY, INFINITY}, {-INFINITY, -INFINITY}, 0};
    for (uint32_t n = 0; n < group_count; n++)
        for (int c = 0; c < 2; c++) {
            all.low[c] = v->boxes[n].low[c] < all.low[c] ? v->boxes[n].low[c] : all.low[c];
            all.high[c] = v->boxes[n].high[c] > all.high[c] ? v->boxes[n].high[c] : all.high[c];
        }
    lay_out(v, group_count, &all);
    size_t cells = (size_t)v->side[0] * v->side[1];
    for (size_t n = 0; n < cells; n++)
        v->tops[n] = -INFINITY;
    for (int fill = 0; fill < 2; fill++) {
        for (uint32_t n = 0; n < group_count; n++) {
            uint32_t from[2], to[2];
            cell_range(v, &v->boxes[n], from, to);
            for (uint32_t y = from[1]; y <= to[1]; y++)
                for (uint32_t x = from[0]; x <= to[0]; x++) {
                    size_t cell = (size_t)y * v->side[0] + x;
                    if (fill)
                        v->entries[--v->first[cell]] = n;
                    else
                        v->first[cell]++;
                    v->tops[cell] = v->boxes[n].top > v->tops[cell] ? v->boxes[n].top : v->tops[cell];
                }
        }
        for (size_t n = 1; !fill && n <= cells; n++)
            v->first[n] += v->first[n - 1];
    }
}
