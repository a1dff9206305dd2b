/* Groups vertices by cell, and computes the cofactor matrices for normals. */
#include "jiggle/mesh.h"

pelt_result px_mesh_embedding_make(px_arena *arena, const px_lattice *lattice, const px_jiggle_kernels *kernels,
                                   const float *normals, px_mesh_embedding *out) {
    uint32_t cells = lattice->cell_count, *counts = PX_NEW(arena, uint32_t, cells);
    *out = (px_mesh_embedding){
        .lattice = lattice, .kernels = kernels, .firsts = PX_NEW(arena, uint32_t, (size_t)cells + 1)};
    if (!counts || !out->firsts)
        return PELT_ERROR_MEMORY;
    for (uint32_t i = 0; i < lattice->vertex_count; i++)
        if (lattice->vertex_cells[i] != PELT_NONE)
            counts[lattice->vertex_cells[i]]++;
    for (uint32_t c = 0; c < cells; c++) {
        out->firsts[c + 1] = out->firsts[c] + (uint32_t)px_block_count(counts[c], PX_JIGGLE_BLOCK);
        counts[c] = 0;
    }
    out->blocks = PX_NEW(arena, px_mesh_block, out->firsts[cells]);
    out->cofactors = PX_NEW(arena, float, px_mul_size(lattice->particle_count, 12));
    out->scales = PX_NEW(arena, float, lattice->particle_count);
    if (!out->blocks || !out->cofactors || !out->scales)
        return PELT_ERROR_MEMORY;
    for (uint32_t i = 0; i < lattice->vertex_count; i++) {
        uint32_t cell = lattice->vertex_cells[i];
        if (cell == PELT_NONE)
            continue;
        uint32_t at = counts[cell]++;
        px_mesh_block *block = &out->blocks[out->firsts[cell] + at / PX_JIGGLE_BLOCK];
        for (uint32_t v = at % PX_JIGGLE_BLOCK; v < PX_JIGGLE_BLOCK; v++) { /* also pads; later vertices overwrite it */
            block->vertices[v] = i;
            for (size_t c = 0; c < 3; c++) {
                block->places[c][v] = lattice->vertex_places[3 * (size_t)i + c];
                block->normals[c][v] = normals[3 * (size_t)i + c];
            }
        }
    }
    for (uint32_t k = 0; k < 8 * cells; k++)
        out->scales[lattice->cells[k / 8][k % 8]] += lattice->cell;
    for (uint32_t p = 0; p < lattice->particle_count; p++)
        out->scales[p] = 1 / out->scales[p];
    return PELT_OK;
}

/* Deformation gradient at a particle: the sum of the edges at it over its cells. Stored by columns, in rows of four;
 * make_cofactors divides it. */
static void add_edges(const px_mesh_embedding *e, const float *particles) {
    float *f = e->cofactors;
    memset(f, 0, (size_t)e->lattice->particle_count * 12 * sizeof *f);
    for (uint32_t cell = 0; cell < e->lattice->cell_count; cell++) {
        const uint32_t *corners = e->lattice->cells[cell];
        for (uint32_t k = 0; k < 8; k++)
            for (uint32_t axis = 0; axis < 3; axis++) {
                if (k >> axis & 1)
                    continue;
                uint32_t a = corners[k], b = corners[k | 1u << axis];
                for (int c = 0; c < 4; c++) {
                    float edge = particles[4 * (size_t)b + c] - particles[4 * (size_t)a + c];
                    f[12 * (size_t)a + 4 * axis + c] += edge;
                    f[12 * (size_t)b + 4 * axis + c] += edge;
                }
            }
    }
}

/* Column r of the cofactor matrix is the cross product of the other two columns of the deformation gradient. */
static void make_cofactors(const px_mesh_embedding *e) {
    for (uint32_t p = 0; p < e->lattice->particle_count; p++) {
        float *f = e->cofactors + 12 * (size_t)p, columns[9], scale2 = e->scales[p] * e->scales[p];
        px_cross3(f + 4, f + 8, columns);
        px_cross3(f + 8, f, columns + 3);
        px_cross3(f, f + 4, columns + 6);
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++)
                f[4 * r + c] = columns[3 * c + r] * scale2;
    }
}

void px_mesh_embedding_run(const px_mesh_embedding *e, const float *particles, float *positions, float *normals) {
    if (normals) {
        add_edges(e, particles);
        make_cofactors(e);
    }
    e->kernels->mesh(&(px_mesh_pass){.cell_count = e->lattice->cell_count,
                                     .cells = (const uint32_t(*)[8])e->lattice->cells,
                                     .firsts = e->firsts,
                                     .blocks = e->blocks,
                                     .particles = particles,
                                     .cofactors = normals ? e->cofactors : NULL,
                                     .positions = positions,
                                     .normals = normals});
}
