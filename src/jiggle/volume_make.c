/* Parts whose volume is kept: octants by part, and who swells with whom.
 *
 * A part's volume is that of the octants of its particles (LBSD, fig. 5b and eq. 8), as far as the mesh fills them: a
 * lattice is a good deal larger than the mesh, and lies more on one side of it than on the other. What swells with it is
 * softer: a particle has the share 4 · w_a · w_b of the joint between joints a and b (all joints on the way from one to
 * the other share it alike). So flesh of one bone alone never moves, volume comes back where blending loses it, and what
 * lies on both sides of the border of two parts moves alike.
 */
#include "jiggle/primary.h"

#define LEAST_SHARE 1e-3f

/* ---- Octants ---------------------------------------------------------------------------------------------- */

/* Whether corner c of a cell is the first one of its part. */
static bool is_first(const uint32_t *parts, const uint32_t cell[8], int c) {
    for (int e = 0; e < c; e++)
        if (parts[cell[e]] == parts[cell[c]])
            return false;
    return true;
}

/* The octants of cell i that belong to a part go to slot `slot` of the blocks. */
static void fill_slot(px_volume_block *blocks, size_t slot, const px_lattice *lattice, size_t i, const uint32_t *parts,
                      uint32_t part) {
    px_volume_block *block = &blocks[slot / PX_JIGGLE_BLOCK];
    for (int c = 0; c < 8; c++) {
        uint32_t particle = lattice->cells[i][c];
        block->corners[c][slot % PX_JIGGLE_BLOCK] = particle;
        block->shares[c][slot % PX_JIGGLE_BLOCK] = parts[particle] == part ? lattice->fills[i][c] / 8 : 0;
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
                fill_slot(p->blocks + p->parts[part].first_block, counts[part]++, lattice, i, parts, part);
            }
    return PELT_OK;
}

/* ---- Who swells ------------------------------------------------------------------------------------------- */

typedef struct swell_maker {
    const px_primary *primary;
    uint32_t *joint_parts; /* [joint] its part, or PELT_NONE */
    float *shares;         /* [part] of one particle */
} swell_maker;

/* The parts around the joints on the way from a to b, each joint where it is below what it turns: their number, and each
 * of them gets `share`. Parents come before their children, so the larger one steps up. */
static uint32_t walk(swell_maker *m, uint32_t a, uint32_t b, float share) {
    uint32_t count = 0;
    while (a != b) {
        uint32_t *lower = b == PELT_NONE || (a != PELT_NONE && a > b) ? &a : &b, part = m->joint_parts[*lower];
        if (part != PELT_NONE) {
            m->shares[part] += share;
            count++;
        }
        *lower = m->primary->parents[*lower];
    }
    return count;
}

static void share_particle(swell_maker *m, const px_weight_table *weights, size_t particle) {
    const uint16_t *joints = weights->bones + particle * weights->capacity;
    const float *row = weights->weights + particle * weights->capacity;
    memset(m->shares, 0, m->primary->part_count * sizeof *m->shares);
    for (uint32_t k = 1; k < weights->capacity; k++)
        for (uint32_t l = 0; l < k; l++)
            if (row[k] > 0) {
                uint32_t count = walk(m, joints[k], joints[l], 0);
                if (count > 0)
                    walk(m, joints[k], joints[l], 4 * row[k] * row[l] / (float)count);
            }
}

/* With `fill` the swellings are stored, else only counted. */
static void list_swellings(swell_maker *m, const px_weight_table *weights, px_primary *p, bool fill) {
    for (uint32_t i = 0; i < p->particle_count; i++) {
        share_particle(m, weights, i);
        for (uint32_t k = 0; k < p->part_count; k++) {
            if (!(m->shares[k] > LEAST_SHARE))
                continue;
            px_volume_part *part = &p->parts[k];
            if (fill)
                p->swellings[part->first_swelling + part->swelling_count] = (px_swelling){i, m->shares[k]};
            part->swelling_count++;
        }
    }
}

static pelt_result make_swellings(px_arena *arena, const px_weight_table *weights, px_primary *p) {
    swell_maker m = {p, PX_NEW(arena, uint32_t, p->joint_count), PX_NEW(arena, float, p->part_count)};
    if (!m.joint_parts || !m.shares)
        return PELT_ERROR_MEMORY;
    memset(m.joint_parts, 0xFF, p->joint_count * sizeof *m.joint_parts);
    for (uint32_t k = 0; k < p->part_count; k++)
        m.joint_parts[p->parts[k].joint] = k;
    list_swellings(&m, weights, p, false);
    uint32_t total = 0;
    for (uint32_t k = 0; k < p->part_count; k++) {
        p->parts[k].first_swelling = total;
        total += p->parts[k].swelling_count;
        p->parts[k].swelling_count = 0;
    }
    p->swellings = PX_NEW(arena, px_swelling, total);
    if (!p->swellings)
        return PELT_ERROR_MEMORY;
    list_swellings(&m, weights, p, true);
    return PELT_OK;
}

/* ---- The door --------------------------------------------------------------------------------------------- */

pelt_result px_primary_make_parts(px_arena *arena, const px_lattice *lattice, const px_weight_table *weights,
                                  const px_jiggle_parts *parts, px_primary *p) {
    size_t padded = px_jiggle_padded(lattice->particle_count);
    p->part_count = parts->part_count;
    p->particle_parts = parts->parts;
    p->parts = PX_NEW(arena, px_volume_part, parts->part_count);
    p->particle_volumes = PX_NEW(arena, float, lattice->particle_count);
    p->field = PX_NEW(arena, float, 4 * padded);
    p->volumes = PX_NEW(arena, double, parts->part_count);
    if (!p->parts || !p->particle_volumes || !p->field || !p->volumes)
        return PELT_ERROR_MEMORY;
    for (uint32_t k = 0; k < parts->part_count; k++)
        p->parts[k].joint = parts->joints[k];
    float octant = lattice->cell * lattice->cell * lattice->cell / 8;
    for (size_t i = 0; i < lattice->cell_count; i++)
        for (int c = 0; c < 8; c++)
            p->particle_volumes[lattice->cells[i][c]] += octant * lattice->fills[i][c];
    PX_TRY(make_blocks(arena, lattice, parts->parts, p));
    PX_TRY(make_swellings(arena, weights, p));
    px_primary_volumes(p, p->pass.rest, p->volumes);
    for (uint32_t k = 0; k < parts->part_count; k++)
        p->parts[k].rest = p->volumes[k];
    return PELT_OK;
}
