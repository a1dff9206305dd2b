/* Cells and particles around a mesh, after Chen et al., "Lattice-based skinning and deformation for real-time
 * skeleton-driven animation" (2011), section III, and Rivers and James, "FastLSM" (2007).
 *
 * The mesh is voxelised finely first: every connected component of fine voxels in a cube becomes a cell, so limbs that
 * pass through one cube stay separate. Neighbouring cells are joined where components continue across the face, and
 * share the corners of that face: a particle is an equivalence class of corners. */
#include "jiggle/lattice.h"

#include <math.h>

/* ---- Cells ------------------------------------------------------------------------------------------------ */

typedef struct blocks {
    px_graph graph;
    uint16_t (*places)[3];  /* [cell] */
    uint32_t *vertex_cells; /* [vertex] */
    float (*fills)[8];      /* [cell][corner] */
    double origin[3], side;
} blocks;

/* Averages filled fractions over blocks of 2×2×2: replaces `fills` [node] by [coarser node]. */
static pelt_result gather_fills(px_arena *arena, uint32_t count, uint32_t coarse, const uint32_t *groups,
                                float **fills) {
    float *sums = PX_NEW(arena, float, coarse);
    if (!sums)
        return PELT_ERROR_MEMORY;
    for (uint32_t i = 0; i < count; i++)
        sums[groups[i]] += (*fills)[i] / 8;
    *fills = sums;
    return PELT_OK;
}

/* Sums filled fractions of octants into `out->fills` [cell][corner], clamped to 1. */
static pelt_result fill_cells(px_arena *arena, uint32_t count, const uint16_t (*places)[3], const uint32_t *groups,
                              const float *fills, blocks *out) {
    out->fills = px_arena_alloc(arena, out->graph.count, sizeof *out->fills);
    if (!out->fills)
        return PELT_ERROR_MEMORY;
    for (uint32_t i = 0; i < count; i++) {
        const uint16_t *at = places[i];
        float *octant = &out->fills[groups[i]][(at[0] & 1) + 2 * (at[1] & 1) + 4 * (at[2] & 1)];
        *octant = px_fminf(*octant + fills[i], 1);
    }
    return PELT_OK;
}

static pelt_result make_cells(pelt_context *context, px_arena *arena, const px_lattice_source *source,
                              uint32_t resolution, blocks *out) {
    px_pieces pieces;
    PX_TRY(px_pieces_make(context, arena, source, resolution, &pieces));
    out->graph = pieces.graph;
    out->places = pieces.cells;
    out->vertex_cells = pieces.vertex_nodes;
    out->side = PX_LATTICE_FINE * pieces.grid.cell[0];
    memcpy(out->origin, pieces.grid.origin, sizeof out->origin);
    for (uint32_t fine = PX_LATTICE_FINE; fine > 1; fine /= 2) {
        px_graph coarse;
        px_graph_groups groups;
        uint32_t count = out->graph.count;
        const uint16_t(*places)[3] = (const uint16_t(*)[3])out->places;
        PX_TRY(px_graph_coarsen(arena, &out->graph, &out->places, &coarse, &groups));
        out->graph = coarse;
        if (fine > 2)
            PX_TRY(gather_fills(arena, count, coarse.count, groups.of, &pieces.fills));
        else
            PX_TRY(fill_cells(arena, count, places, groups.of, pieces.fills, out));
        for (uint32_t i = 0; i < source->vertex_count; i++)
            out->vertex_cells[i] = groups.of[out->vertex_cells[i]];
    }
    return PELT_OK;
}

/* ---- Particles -------------------------------------------------------------------------------------------- */

/* Union-find over classes [cell · 8 + corner]: a cell and its neighbour in the + direction of an axis share four corners.
 * Each set is a particle, its root the lowest corner. Returns the number of sets. */
static pelt_result join_cells(px_arena *arena, const blocks *c, uint32_t **out, uint32_t *particle_count) {
    uint32_t *classes = c->graph.count <= UINT32_MAX / 8 ? PX_NEW(arena, uint32_t, 8 * (size_t)c->graph.count) : NULL;
    if (!classes)
        return PELT_ERROR_MEMORY;
    for (uint32_t k = 0; k < 8 * c->graph.count; k++)
        classes[k] = k;
    for (uint32_t i = 0; i < c->graph.count; i++)
        for (uint32_t e = c->graph.firsts[i]; e < c->graph.firsts[i + 1]; e++)
            for (uint32_t n = 0; n < 24; n++) {
                uint32_t axis = n / 8, k = n % 8, next = c->graph.to[e];
                if (c->places[next][axis] > c->places[i][axis] && (k >> axis & 1))
                    px_group_join(classes, 8 * i + k, 8 * next + (k ^ 1u << axis));
            }
    *particle_count = 0;
    for (uint32_t k = 0; k < 8 * c->graph.count; k++)
        *particle_count += px_group_of(classes, k) == k;
    *out = classes;
    return PELT_OK;
}

static pelt_result make_particles(px_arena *arena, const blocks *c, px_lattice *out) {
    uint32_t *classes, count = 0;
    PX_TRY(join_cells(arena, c, &classes, &out->particle_count));
    out->cell = (float)c->side;
    memcpy(out->origin, c->origin, sizeof out->origin);
    out->cell_count = c->graph.count;
    out->fills = c->fills;
    out->cells = px_arena_alloc(arena, out->cell_count, sizeof *out->cells);
    out->places = px_arena_alloc(arena, out->particle_count, sizeof *out->places);
    out->rest = PX_NEW(arena, float, 3 * (size_t)out->particle_count);
    if (!out->cells || !out->places || !out->rest)
        return PELT_ERROR_MEMORY;
    for (uint32_t k = 0; k < 8 * out->cell_count; k++) {
        uint32_t leader = px_group_of(classes, k);
        out->cells[k / 8][k % 8] = leader == k ? count : out->cells[leader / 8][leader % 8];
        if (leader != k)
            continue;
        for (uint32_t axis = 0; axis < 3; axis++) {
            int32_t place = c->places[k / 8][axis] + (int32_t)(k >> axis & 1);
            out->places[count][axis] = place;
            out->rest[3 * (size_t)count + axis] = (float)(c->origin[axis] + c->side * place);
        }
        count++;
    }
    return PELT_OK;
}

static pelt_result place_vertices(px_arena *arena, const blocks *c, const px_lattice_source *source, px_lattice *out) {
    out->vertex_count = source->vertex_count;
    out->vertex_cells = c->vertex_cells;
    out->vertex_places = PX_NEW(arena, float, 3 * (size_t)source->vertex_count);
    if (!out->vertex_places)
        return PELT_ERROR_MEMORY;
    for (size_t i = 0; i < source->vertex_count; i++)
        for (uint32_t axis = 0; axis < 3; axis++) {
            double at = (source->positions[3 * i + axis] - c->origin[axis]) / c->side;
            out->vertex_places[3 * i + axis] = (float)(at - c->places[c->vertex_cells[i]][axis]);
        }
    return PELT_OK;
}

/* ---- Links and chains ------------------------------------------------------------------------------------- */

/* Edges of cells; an edge shared by several cells is stored once. */
static pelt_result make_links(px_arena *arena, px_lattice *lattice) {
    px_graph *links = &lattice->links;
    links->count = lattice->particle_count;
    size_t ends = 24 * (size_t)lattice->cell_count;
    uint32_t *room = PX_NEW(arena, uint32_t, (size_t)links->count + 1);
    links->firsts = PX_NEW(arena, uint32_t, (size_t)links->count + 1);
    links->to = PX_NEW(arena, uint32_t, ends);
    links->weights = PX_NEW(arena, float, ends);
    if (!room || !links->firsts || !links->to || !links->weights)
        return PELT_ERROR_MEMORY;
    for (uint32_t k = 0; k < 8 * lattice->cell_count; k++)
        room[lattice->cells[k / 8][k % 8] + 1] += 3;
    for (uint32_t p = 0; p < links->count; p++) {
        room[p + 1] += room[p];
        links->firsts[p] = room[p];
    }
    for (uint32_t k = 0; k < 24 * lattice->cell_count; k++) { /* during insertion `firsts` holds the end of each list */
        const uint32_t *corners = lattice->cells[k / 24];
        uint32_t from = corners[k / 3 % 8], to = corners[k / 3 % 8 ^ 1u << k % 3], at = room[from];
        while (at < links->firsts[from] && links->to[at] != to)
            at++;
        links->firsts[from] += at == links->firsts[from];
        links->to[at] = to;
        links->weights[at] += 0.25f;
    }
    uint32_t filled = 0;
    for (uint32_t p = 0; p < links->count; p++) {
        uint32_t first = filled;
        for (uint32_t e = room[p]; e < links->firsts[p]; e++, filled++) {
            links->to[filled] = links->to[e];
            links->weights[filled] = links->weights[e];
        }
        links->firsts[p] = first;
    }
    links->firsts[links->count] = filled;
    return PELT_OK;
}

/* The n-th neighbour in the + (step 1) or − (step −1) direction of an axis, or PELT_NONE. */
static uint32_t neighbour(const px_lattice *l, uint32_t particle, uint32_t axis, int32_t step, uint32_t n) {
    for (uint32_t e = l->links.firsts[particle]; e < l->links.firsts[particle + 1]; e++)
        if (l->places[l->links.to[e]][axis] == l->places[particle][axis] + step && n-- == 0)
            return l->links.to[e];
    return PELT_NONE;
}

/* A chain begins at a particle that has more neighbours in the + than in the − direction. One that enters a particle from
 * its n-th − neighbour continues to its n-th + neighbour. */
static pelt_result make_chains(px_arena *arena, const px_lattice *l, uint32_t axis, px_chains *chains) {
    size_t most = l->links.firsts[l->links.count]; /* counts both ends of every link, so sufficient for one axis */
    chains->firsts = PX_NEW(arena, uint32_t, most / 2 + 1);
    chains->items = PX_NEW(arena, uint32_t, most);
    if (!chains->firsts || !chains->items)
        return PELT_ERROR_MEMORY;
    uint32_t filled = 0;
    for (uint32_t p = 0; p < l->particle_count; p++) {
        uint32_t n = 0, next;
        while (neighbour(l, p, axis, -1, n) != PELT_NONE)
            n++;
        for (; (next = neighbour(l, p, axis, 1, n)) != PELT_NONE; n++) {
            chains->items[filled++] = p;
            for (uint32_t before = p, at = next; at != PELT_NONE; at = next) {
                uint32_t from = 0;
                while (neighbour(l, at, axis, -1, from) != before)
                    from++;
                chains->items[filled++] = at;
                next = neighbour(l, at, axis, 1, from);
                before = at;
            }
            chains->firsts[++chains->count] = filled;
        }
    }
    return PELT_OK;
}

/* ---- Cell size -------------------------------------------------------------------------------------------- */

/* The particle count grows with the resolution to a power between 2 (sheets) and 3 (solids). */
static pelt_result find_resolution(pelt_context *context, const px_lattice_source *source, uint32_t *resolution) {
    const double wanted = source->particles ? source->particles : PX_LATTICE_DEFAULT_PARTICLES;
    const uint32_t most = PX_LATTICE_FINE * PX_LATTICE_MAX_CELLS;
    double best = INFINITY;
    uint32_t low = 0, high = most + 1; /* too few particles at `low`, too many at `high` */
    for (uint32_t at = 24 * PX_LATTICE_FINE, tries = 0; at > low && at < high && tries < 12 && best > 0.03; tries++) {
        uint32_t count;
        PX_TRY(px_progress(context, "lattice", tries, 12));
        px_arena *arena = px_arena_create(context);
        blocks c;
        uint32_t *classes;
        pelt_result result = arena ? make_cells(context, arena, source, at, &c) : PELT_ERROR_MEMORY;
        if (result == PELT_OK)
            result = join_cells(arena, &c, &classes, &count);
        px_arena_destroy(arena);
        PX_TRY(result);
        double off = fabs(px_ln(count / wanted));
        if (off < best) {
            best = off;
            *resolution = at;
        }
        if (count < wanted)
            low = at;
        else
            high = at;
        double next = at * px_pow(wanted / count, 0.4);
        at = (uint32_t)px_fmin(px_fmax(next + 0.5, low + 1), high - 1);
    }
    return PELT_OK;
}

/* ---- Entry points ----------------------------------------------------------------------------------------- */

static pelt_result make(pelt_context *context, px_arena *arena, const px_lattice_source *source, px_lattice *out) {
    blocks c;
    uint32_t resolution = PX_LATTICE_FINE * source->cells;
    if (resolution == 0)
        PX_TRY(find_resolution(context, source, &resolution));
    PX_TRY(make_cells(context, arena, source, resolution, &c));
    PX_TRY(make_particles(arena, &c, out));
    PX_TRY(place_vertices(arena, &c, source, out));
    PX_TRY(make_links(arena, out));
    for (uint32_t axis = 0; axis < 3; axis++)
        PX_TRY(make_chains(arena, out, axis, &out->chains[axis]));
    return PELT_OK;
}

pelt_result px_lattice_make(pelt_context *context, px_arena *arena, const px_lattice_source *source, px_lattice *out) {
    *out = (px_lattice){0};
    pelt_result result = make(context, arena, source, out);
    if (result != PELT_OK)
        *out = (px_lattice){0};
    return result;
}

pelt_result px_jiggle_lattice(pelt_context *context, px_arena *arena, const px_jiggle_subject *subject, uint32_t cells,
                              uint32_t particles, px_lattice *out) {
    const px_lattice_source source = {.positions = subject->class_positions,
                                      .vertex_count = subject->classes.count,
                                      .triangles = subject->triangles,
                                      .triangle_count = subject->model->mesh.triangle_count,
                                      .cells = cells,
                                      .particles = particles};
    px_lattice made;
    *out = (px_lattice){0};
    PX_TRY(px_lattice_make(context, arena, &source, &made));
    uint32_t vertex_count = subject->model->mesh.vertex_count;
    uint32_t *vertex_cells = PX_NEW(arena, uint32_t, vertex_count);
    float *vertex_places = PX_NEW(arena, float, 3 * (size_t)vertex_count);
    if (!vertex_cells || !vertex_places)
        return PELT_ERROR_MEMORY;
    for (size_t i = 0; i < vertex_count; i++) {
        uint32_t c = pelt_vertex_class(&subject->classes, i);
        vertex_cells[i] = made.vertex_cells[c];
        memcpy(vertex_places + 3 * i, made.vertex_places + 3 * (size_t)c, 3 * sizeof *vertex_places);
    }
    *out = made;
    out->vertex_count = vertex_count;
    out->vertex_cells = vertex_cells;
    out->vertex_places = vertex_places;
    return PELT_OK;
}
