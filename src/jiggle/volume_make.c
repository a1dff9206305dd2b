/* Parts whose volume is preserved: their octants, and the displacements that expand them.
 *
 * The volume of a part is that of the octants of its particles (LBSD, fig. 5b and eq. 8), weighted by the fraction that
 * the mesh fills: a lattice is considerably larger than the mesh, and extends farther on one side of it than on the
 * other.
 *
 * Fields of displacements (pelt_jiggle_volume_field):
 *
 * gradient: a part expands along the gradient of its volume at rest: its surface moves outwards, and its borders move into the
 * neighbouring parts, which then expand in turn. So a part that is squeezed between others, as hips are, regains its
 * volume by small displacements of all parts around it. Displacements are smoothed over neighbours and scaled by the
 * blending of a particle: Σ 4 · w_a · w_b over pairs of its joints, at most 1. So tissue of a single bone never moves,
 * and volume is restored where blending loses it.
 *
 * boundary (LBSD, eq. 9): the particles of a part move towards the nearest boundary of the lattice, by 1 / (1 + steps to
 * it). The volume is that of whole cells, measured at their corners (eq. 7).
 */
#include "core/math3.h"
#include "jiggle/primary.h"

#include <math.h>

/* Displacements below this fraction of the part's largest are dropped. */
#define MIN_DISPLACEMENT 1e-2f

#define SMOOTHING_PASSES 2

/* Bound on λ, in cells: displacement of the particle that moves farthest. The paper has none; but thighs bent by 90° have
 * no root nearer than ten cells, which would turn the part inside out. */
#define MAX_SWELLING 1.0

/* Input of px_volume_method.find_ways. */
struct px_growth {
    const px_lattice *lattice;
    const uint32_t *parts; /* [particle] */
    float *blends;         /* [particle] blend_of */
    float (*outward)[3];   /* [particle] find_outward */
    float (*scratch)[3];   /* [particle] */
};

/* ---- Octants ---------------------------------------------------------------------------------------------- */

/* Returns true if corner c is the first corner of the cell in its part. */
static bool is_first(const uint32_t *parts, const uint32_t cell[8], int c) {
    for (int e = 0; e < c; e++)
        if (parts[cell[e]] == parts[cell[c]])
            return false;
    return true;
}

/* Writes the octants of cell i that belong to `part` to slot `slot` of the blocks. */
static void fill_slot(px_volume_block *blocks, size_t slot, const px_lattice *lattice, size_t i, const uint32_t *parts,
                      uint32_t part, bool filled) {
    px_volume_block *block = &blocks[slot / PX_JIGGLE_BLOCK];
    for (int c = 0; c < 8; c++) {
        uint32_t particle = lattice->cells[i][c];
        block->corners[c][slot % PX_JIGGLE_BLOCK] = particle;
        block->shares[c][slot % PX_JIGGLE_BLOCK] = parts[particle] != part ? 0
                                                   : filled                ? lattice->fills[i][c] / 8
                                                                           : 1.0f / 8;
    }
}

static pelt_result make_blocks(px_arena *arena, const px_lattice *lattice, const uint32_t *parts, px_primary *p) {
    uint32_t *counts = PX_NEW(arena, uint32_t, p->part_count);
    if (!counts)
        return PELT_ERROR_MEMORY;
    for (size_t i = 0; i < lattice->cell_count; i++)
        for (int c = 0; c < 8; c++)
            counts[parts[lattice->cells[i][c]]] += is_first(parts, lattice->cells[i], c);
    uint32_t total = 0;
    for (uint32_t k = 0; k < p->part_count; k++) {
        p->parts[k].first_block = total;
        p->parts[k].block_count = (uint32_t)px_block_count(counts[k], PX_JIGGLE_BLOCK);
        total += p->parts[k].block_count;
        counts[k] = 0;
    }
    p->blocks = PX_NEW(arena, px_volume_block, total);
    if (!p->blocks)
        return PELT_ERROR_MEMORY;
    for (size_t i = 0; i < lattice->cell_count; i++)
        for (int c = 0; c < 8; c++)
            if (is_first(parts, lattice->cells[i], c)) {
                uint32_t part = parts[lattice->cells[i][c]];
                fill_slot(p->blocks + p->parts[part].first_block, counts[part]++, lattice, i, parts, part,
                          p->volume->filled);
            }
    return PELT_OK;
}

/* ---- Displacements ---------------------------------------------------------------------------------------- */

/* Blending of a particle: 0 if one joint alone moves it, 1 between two joints of equal weight. */
static float blend_of(const px_weight_table *weights, size_t particle) {
    const float *row = weights->weights + particle * weights->capacity;
    float sum = 0;
    for (uint32_t k = 1; k < weights->capacity; k++)
        for (uint32_t l = 0; l < k; l++)
            sum += 4 * row[k] * row[l];
    return px_fminf(sum, 1);
}

/* Gradient of a part's volume at rest, divided by the squared side of a cell: ways [particle][3]. At rest the edges
 * of an octant are parallel to the axes, so the derivative along an axis depends only on the ends of the edge along
 * it, weighted as at the Gauss points of the kernel. */
static void find_growth(const px_lattice *lattice, const uint32_t *parts, uint32_t part, float (*ways)[3]) {
    const float near = 1 - PX_VOLUME_GAUSS, far = PX_VOLUME_GAUSS;
    memset(ways, 0, lattice->particle_count * sizeof *ways);
    for (size_t e = 0; e < 64 * (size_t)lattice->cell_count; e++) {
        const uint32_t *cell = lattice->cells[e / 64];
        uint32_t octant = e / 8 % 8, c = e % 8;
        if (parts[cell[octant]] != part)
            continue;
        for (uint32_t axis = 0; axis < 3; axis++) {
            float share = lattice->fills[e / 64][octant] / 8;
            for (uint32_t other = (axis + 1) % 3; other != axis; other = (other + 1) % 3)
                share *= (c ^ octant) >> other & 1 ? far : near;
            ways[cell[c]][axis] += c >> axis & 1 ? share : -share;
        }
    }
}

static void smooth_ways(const px_lattice *lattice, float (*ways)[3], float (*scratch)[3]) {
    for (int round = 0; round < SMOOTHING_PASSES; round++) {
        memcpy(scratch, ways, lattice->particle_count * sizeof *ways);
        for (size_t i = 0; i < lattice->particle_count; i++) {
            uint32_t first = lattice->links.firsts[i], end = lattice->links.firsts[i + 1];
            for (uint32_t e = first; e < end; e++)
                for (int c = 0; c < 3; c++)
                    ways[i][c] += scratch[lattice->links.to[e]][c];
            for (int c = 0; c < 3; c++)
                ways[i][c] /= (float)(end - first + 1);
        }
    }
}

/* The gradient, smoothed, scaled by blending, normalised to a maximum of one cell. */
static void gradient_ways(const px_growth *g, uint32_t part, float (*ways)[3]) {
    const px_lattice *lattice = g->lattice;
    float longest = 0;
    find_growth(lattice, g->parts, part, ways);
    smooth_ways(lattice, ways, g->scratch);
    for (size_t i = 0; i < lattice->particle_count; i++) {
        for (int c = 0; c < 3; c++)
            ways[i][c] *= g->blends[i];
        longest = px_fmaxf(longest, sqrtf(px_dot3(ways[i], ways[i])));
    }
    for (size_t i = 0; i < lattice->particle_count && longest > 0; i++)
        for (int c = 0; c < 3; c++)
            ways[i][c] *= lattice->cell / longest;
}

/* Unit vectors towards the nearest boundary, over 1 + the number of links to it. At the boundary they point away from
 * the cells around the particle; inside, they are the mean of the neighbours one layer farther out. */
static pelt_result find_outward(px_arena *arena, const px_lattice *lattice, float (*outward)[3]) {
    uint32_t count = lattice->particle_count, filled = 0, *layers = PX_NEW(arena, uint32_t, count),
             *queue = PX_NEW(arena, uint32_t, count), *cells = PX_NEW(arena, uint32_t, count);
    if (!layers || !queue || !cells)
        return PELT_ERROR_MEMORY;
    for (size_t e = 0; e < 8 * (size_t)lattice->cell_count; e++) {
        uint32_t particle = lattice->cells[e / 8][e % 8];
        cells[particle]++;
        for (uint32_t axis = 0; axis < 3; axis++)
            outward[particle][axis] += e >> axis & 1 ? 1 : -1;
    }
    for (uint32_t p = 0; p < count; p++) {
        layers[p] = cells[p] < 8 ? 1 : 0; /* 0: not reached yet */
        if (layers[p])
            queue[filled++] = p;
    }
    for (uint32_t at = 0; at < filled; at++) {
        uint32_t p = queue[at];
        for (uint32_t e = lattice->links.firsts[p]; e < lattice->links.firsts[p + 1]; e++) {
            uint32_t to = lattice->links.to[e];
            if (!layers[to]) {
                layers[to] = layers[p] + 1;
                queue[filled++] = to;
            }
            for (int c = 0; c < 3 && layers[p] > 1 && layers[to] + 1 == layers[p]; c++)
                outward[p][c] += outward[to][c];
        }
        float length = sqrtf(px_dot3(outward[p], outward[p]));
        for (int c = 0; c < 3; c++)
            outward[p][c] = length > 1e-6f ? outward[p][c] / length : 0;
    }
    for (uint32_t p = 0; p < count; p++)
        for (int c = 0; c < 3 && layers[p]; c++)
            outward[p][c] /= (float)layers[p];
    return PELT_OK;
}

static void boundary_ways(const px_growth *g, uint32_t part, float (*ways)[3]) {
    for (size_t i = 0; i < g->lattice->particle_count; i++)
        for (int c = 0; c < 3; c++)
            ways[i][c] = g->parts[i] == part ? g->lattice->cell * g->outward[i][c] : 0;
}

static const px_volume_method methods[] = {
    [PELT_JIGGLE_VOLUME_GRADIENT] = {gradient_ways, true, PX_VOLUME_GAUSS, 4, MAX_SWELLING},
    [PELT_JIGGLE_VOLUME_BOUNDARY] = {boundary_ways, false, 0, 1, MAX_SWELLING},
};

const px_volume_method *px_volume_method_of(pelt_jiggle_volume_field field) {
    return &methods[field];
}

/* Writes the particles that a part displaces to `out`; NULL: only counts them. */
static uint32_t list_swellings(const px_lattice *lattice, const float (*ways)[3], px_swelling *out) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < lattice->particle_count; i++) {
        if (!(sqrtf(px_dot3(ways[i], ways[i])) > MIN_DISPLACEMENT * lattice->cell))
            continue;
        if (out)
            out[count] = (px_swelling){i, {ways[i][0], ways[i][1], ways[i][2]}};
        count++;
    }
    return count;
}

static pelt_result make_swellings(px_arena *arena, const px_lattice *lattice, const px_weight_table *weights,
                                  px_primary *p) {
    px_growth growth = {.lattice = lattice,
                        .parts = p->particle_parts,
                        .blends = PX_NEW(arena, float, p->particle_count),
                        .outward = px_arena_alloc(arena, p->particle_count, sizeof *growth.outward),
                        .scratch = px_arena_alloc(arena, p->particle_count, sizeof *growth.scratch)};
    float(*ways)[3] = px_arena_alloc(arena, p->particle_count, sizeof *ways);
    if (!growth.blends || !growth.outward || !growth.scratch || !ways)
        return PELT_ERROR_MEMORY;
    PX_TRY(find_outward(arena, lattice, growth.outward));
    for (size_t i = 0; i < p->particle_count; i++)
        growth.blends[i] = blend_of(weights, i);
    uint32_t total = 0;
    for (uint32_t k = 0; k < p->part_count; k++) {
        p->volume->find_ways(&growth, k, ways);
        p->parts[k].first_swelling = total;
        p->parts[k].swelling_count = list_swellings(lattice, (const float(*)[3])ways, NULL);
        total += p->parts[k].swelling_count;
    }
    p->swellings = PX_NEW(arena, px_swelling, total);
    p->turned = px_arena_alloc(arena, total, sizeof *p->turned);
    if (!p->swellings || !p->turned)
        return PELT_ERROR_MEMORY;
    for (uint32_t k = 0; k < p->part_count; k++) {
        p->volume->find_ways(&growth, k, ways);
        list_swellings(lattice, (const float(*)[3])ways, p->swellings + p->parts[k].first_swelling);
    }
    return PELT_OK;
}

/* ---- Neighbours ------------------------------------------------------------------------------------------- */

/* Marks the particles [particle] that the octants of a part depend on. */
static void mark_corners(const px_primary *p, const px_volume_part *part, uint8_t *marks) {
    memset(marks, 0, p->particle_count);
    for (uint32_t b = part->first_block; b < part->first_block + part->block_count; b++)
        for (int lane = 0; lane < (int)PX_JIGGLE_BLOCK; lane++) {
            float share = 0;
            for (int c = 0; c < 8; c++)
                share += p->blocks[b].shares[c][lane];
            for (int c = 0; c < 8; c++)
                marks[p->blocks[b].corners[c][lane]] |= share > 0;
        }
}

static bool is_moved_by(const px_primary *p, const uint8_t *marks, const px_volume_part *other) {
    for (uint32_t e = 0; e < other->swelling_count; e++)
        if (marks[p->swellings[other->first_swelling + e].particle])
            return true;
    return false;
}

/* Finds which parts change the volume of which: first as a matrix [part][part], then as lists. */
static pelt_result make_neighbours(px_arena *arena, px_primary *p) {
    size_t count = p->part_count, total = 0;
    uint8_t *marks = PX_NEW(arena, uint8_t, p->particle_count),
            *moved = PX_NEW(arena, uint8_t, px_mul_size(count, count));
    if (!marks || !moved)
        return PELT_ERROR_MEMORY;
    for (size_t k = 0; k < count; k++) {
        mark_corners(p, &p->parts[k], marks);
        for (size_t l = 0; l < count; l++)
            total += moved[count * l + k] = l != k && is_moved_by(p, marks, &p->parts[l]);
    }
    p->neighbours = PX_NEW(arena, uint32_t, total);
    if (!p->neighbours)
        return PELT_ERROR_MEMORY;
    for (size_t l = 0, filled = 0; l < count; l++) {
        p->parts[l].first_neighbour = (uint32_t)filled;
        for (size_t k = 0; k < count; k++)
            if (moved[count * l + k])
                p->neighbours[filled++] = (uint32_t)k;
        p->parts[l].neighbour_count = (uint32_t)filled - p->parts[l].first_neighbour;
    }
    return PELT_OK;
}

/* ---- Entry points ----------------------------------------------------------------------------------------- */

pelt_result px_primary_make_parts(px_arena *arena, const px_lattice *lattice, const px_weight_table *weights,
                                  const px_jiggle_parts *parts, px_primary *p) {
    size_t padded = px_jiggle_padded(lattice->particle_count);
    p->part_count = parts->part_count;
    p->particle_parts = parts->parts;
    p->parts = PX_NEW(arena, px_volume_part, parts->part_count);
    p->particle_volumes = PX_NEW(arena, float, lattice->particle_count);
    p->field = PX_NEW(arena, float, 4 * padded);
    p->volumes = PX_NEW(arena, double, parts->part_count);
    p->targets = PX_NEW(arena, double, parts->part_count);
    p->states = PX_NEW(arena, px_swell_state, parts->part_count);
    if (!p->parts || !p->particle_volumes || !p->field || !p->volumes || !p->targets || !p->states)
        return PELT_ERROR_MEMORY;
    for (uint32_t k = 0; k < parts->part_count; k++) {
        p->parts[k].joint = parts->joints[k];
        p->parts[k].half = parts->halves[k];
    }
    for (uint32_t i = 0; i < lattice->particle_count; i++)
        p->parts[parts->parts[i]].particle_count++;
    float octant = lattice->cell * lattice->cell * lattice->cell / 8;
    for (size_t i = 0; i < lattice->cell_count; i++)
        for (int c = 0; c < 8; c++)
            p->particle_volumes[lattice->cells[i][c]] += p->volume->filled ? octant * lattice->fills[i][c] : octant;
    PX_TRY(make_blocks(arena, lattice, parts->parts, p));
    PX_TRY(make_swellings(arena, lattice, weights, p));
    PX_TRY(make_neighbours(arena, p));
    px_primary_volumes(p, p->pass.rest, p->volumes);
    for (uint32_t k = 0; k < parts->part_count; k++)
        p->parts[k].rest = p->volumes[k];
    return PELT_OK;
}
