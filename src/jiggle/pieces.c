/* Fine voxels and what of them is joined. */
#include "core/mesh.h"
#include "jiggle/lattice.h"

/* Around the box and centred on it, in whole blocks. */
static px_grid grid_of(const px_lattice_source *source, uint32_t resolution) {
    float low[3], high[3];
    px_box(source->positions, source->vertex_count, low, high);
    px_grid grid = px_grid_around(low, high, resolution);
    for (int c = 0; c < 3; c++) {
        uint32_t more = (PX_LATTICE_FINE - grid.size[c] % PX_LATTICE_FINE) % PX_LATTICE_FINE;
        grid.origin[c] -= 0.5 * more * grid.cell[c];
        grid.size[c] += more;
    }
    return grid;
}

/* The triangles, and one without area for every vertex that is in none. */
static pelt_result all_triangles(px_arena *arena, const px_lattice_source *source, uint32_t **triangles,
                                 uint32_t *count) {
    uint8_t *used = PX_NEW(arena, uint8_t, source->vertex_count);
    if (!used)
        return PELT_ERROR_MEMORY;
    for (size_t e = 0; e < 3 * (size_t)source->triangle_count; e++)
        used[source->triangles[e]] = 1;
    size_t all = source->triangle_count;
    for (uint32_t i = 0; i < source->vertex_count; i++)
        all += !used[i];
    *triangles = all <= UINT32_MAX ? PX_NEW(arena, uint32_t, 3 * all) : NULL;
    if (!*triangles)
        return PELT_ERROR_MEMORY;
    memcpy(*triangles, source->triangles, 3 * (size_t)source->triangle_count * sizeof **triangles);
    *count = source->triangle_count;
    for (uint32_t i = 0; i < source->vertex_count; i++)
        for (int c = 0; c < 3 && !used[i]; c++)
            (*triangles)[3 * (size_t)*count + (size_t)c] = i, *count += c == 2;
    return PELT_OK;
}

static pelt_result graph_of(px_arena *arena, const px_voxels *voxels, const uint32_t (*neighbours)[6],
                            px_graph *graph) {
    size_t edges = 0;
    graph->count = voxels->count;
    graph->firsts = PX_NEW(arena, uint32_t, (size_t)voxels->count + 1);
    graph->to = PX_NEW(arena, uint32_t, 6 * (size_t)voxels->count);
    graph->weights = PX_NEW(arena, float, 6 * (size_t)voxels->count);
    if (!graph->firsts || !graph->to || !graph->weights)
        return PELT_ERROR_MEMORY;
    for (uint32_t v = 0; v < voxels->count; v++) {
        for (int k = 0; k < 6; k++)
            if (neighbours[v][k] != PELT_NONE) {
                graph->weights[edges] = 1;
                graph->to[edges++] = neighbours[v][k];
            }
        graph->firsts[v + 1] = (uint32_t)edges;
    }
    return PELT_OK;
}

pelt_result px_pieces_make(pelt_context *context, px_arena *arena, const px_lattice_source *source, uint32_t resolution,
                           px_pieces *pieces) {
    px_voxels voxels;
    uint32_t *triangles, count;
    pieces->grid = grid_of(source, resolution);
    PX_TRY(all_triangles(arena, source, &triangles, &count));
    PX_TRY(px_voxels_make(context, arena, source->positions, source->vertex_count, triangles, count, &pieces->grid,
                          PX_VIEWS_ALL, &voxels));
    uint32_t(*neighbours)[6] = px_arena_alloc(arena, voxels.count, sizeof *neighbours);
    pieces->vertex_nodes = PX_NEW(arena, uint32_t, source->vertex_count);
    pieces->fills = PX_NEW(arena, float, voxels.count);
    if (!neighbours || !pieces->vertex_nodes || !pieces->fills)
        return PELT_ERROR_MEMORY;
    for (uint32_t v = 0; v < voxels.count; v++)
        pieces->fills[v] = voxels.kinds[v] == PX_VOXEL_INTERIOR ? 1 : 0.5f;
    PX_TRY(px_voxels_neighbours(context, &voxels, neighbours));
    pieces->cells = voxels.cells;
    for (size_t i = 0; i < source->vertex_count; i++) {
        uint32_t cell[3];
        px_grid_cell(&pieces->grid, source->positions + 3 * i, cell);
        pieces->vertex_nodes[i] = px_voxel_at(&voxels, cell[0], cell[1], cell[2]);
    }
    return graph_of(arena, &voxels, (const uint32_t(*)[6])neighbours, &pieces->graph);
}
