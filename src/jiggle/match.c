/* Lattice shape matching: weights of regions, and one substep. */
#include "jiggle/match.h"

/* ---- Creation --------------------------------------------------------------------------------------------- */

/* Marks items whose particle occurs in an earlier item. */
static pelt_result mark_again(px_arena *arena, const px_lattice *lattice, const px_chains *chains, uint8_t **out) {
    uint8_t *again = *out = PX_NEW(arena, uint8_t, chains->firsts[chains->count]);
    uint8_t *seen = PX_NEW(arena, uint8_t, lattice->particle_count);
    if (!again || !seen)
        return PELT_ERROR_MEMORY;
    for (uint32_t e = 0; e < chains->firsts[chains->count]; e++) {
        again[e] = seen[chains->items[e]];
        seen[chains->items[e]] = 1;
    }
    return PELT_OK;
}

pelt_result px_match_make(px_arena *arena, const px_lattice *lattice, const px_jiggle_kernels *kernels,
                          pelt_jiggle_regions regions, px_match *out) {
    size_t count = px_jiggle_padded(lattice->particle_count);
    *out = (px_match){.lattice = lattice, .kernels = kernels, .regions = regions, .padded = count};
    for (int axis = 0; axis < 3; axis++)
        PX_TRY(mark_again(arena, lattice, &lattice->chains[axis], &out->again[axis]));
    for (int n = 0; n < 3; n++)
        if (!(out->rows[n] = PX_NEW(arena, float, px_mul_size(count, PX_MATCH_UP))))
            return PELT_ERROR_MEMORY;
    out->goals = PX_NEW(arena, float, px_mul_size(count, PX_MATCH_DOWN));
    out->masses = PX_NEW(arena, float, count);
    out->shares = PX_NEW(arena, float, px_mul_size(count, PX_MATCH_LEVELS));
    out->rotations = PX_NEW(arena, float, px_mul_size(count, 4 * PX_MATCH_LEVELS));
    if (!out->goals || !out->masses || !out->shares || !out->rotations)
        return PELT_ERROR_MEMORY;
    px_match_reset(out, NULL);
    return PELT_OK;
}

void px_match_reset(px_match *m, const float *turns) {
    bool turned = m->regions == PELT_JIGGLE_REGIONS_REST && turns;
    for (size_t i = 0; i < PX_MATCH_LEVELS * m->padded; i++)
        memcpy(m->rotations + 4 * i, turned ? turns + 4 * (i % m->padded) : (float[4]){0, 0, 0, 1}, 4 * sizeof(float));
}

/* ---- Sums ------------------------------------------------------------------------------------------------- */

static void sum_axis(const px_match *m, px_window_kernel *kernel, int axis, uint32_t half, const float *in, float *out,
                     bool add) {
    kernel(&(px_window_pass){
        .chains = &m->lattice->chains[axis], .again = m->again[axis], .half = half, .add = add, .in = in, .out = out});
}

/* Sums over regions, axis by axis: rows[0] to rows[1]. */
void px_match_sum_up(px_match *m, uint32_t half) {
    sum_axis(m, m->kernels->sum_up, 0, half, m->rows[0], m->rows[1], false);
    sum_axis(m, m->kernels->sum_up, 1, half, m->rows[1], m->rows[2], false);
    sum_axis(m, m->kernels->sum_up, 2, half, m->rows[2], m->rows[1], false);
}

/* Sums over the regions that contain a particle, axis by axis: rows[2] to goals. */
void px_match_sum_down(px_match *m, uint32_t half, bool add) {
    sum_axis(m, m->kernels->sum_down, 2, half, m->rows[2], m->rows[1], false);
    sum_axis(m, m->kernels->sum_down, 1, half, m->rows[1], m->rows[2], false);
    sum_axis(m, m->kernels->sum_down, 0, half, m->rows[2], m->goals, add);
}

/* ---- Weights of regions ----------------------------------------------------------------------------------- */

void px_match_set_stiffness(px_match *m, const float *stiffness) {
    size_t count = m->lattice->particle_count;
    bool add = false;
    for (uint32_t level = 0; level < PX_MATCH_LEVELS; level++) {
        float *shares = m->shares + level * m->padded;
        m->active[level] = false;
        memset(m->rows[2], 0, m->padded * PX_MATCH_DOWN * sizeof(float));
        for (size_t p = 0; p < count; p++) {
            float off = stiffness[p] - (float)level;
            off = off < 0 ? -off : off;
            shares[p] = off < 1 ? 1 - off : 0;
            m->active[level] |= shares[p] > 0;
            m->rows[2][p * PX_MATCH_DOWN] = shares[p];
        }
        if (!m->active[level])
            continue;
        px_match_sum_down(m, level, add);
        add = true;
    }
    for (size_t p = 0; p < count; p++) /* no division by 0: every particle is in its own region */
        m->masses[p] = 1 / m->goals[p * PX_MATCH_DOWN];
}

/* ---- One substep ------------------------------------------------------------------------------------------ */

void px_match_run(px_match *m, px_swing_pass *pass) {
    bool add = false;
    pass->block_count = (uint32_t)(m->padded / PX_JIGGLE_BLOCK);
    pass->masses = m->masses;
    pass->rows = m->rows[0];
    const px_match_kernels *steps = &m->kernels->match[m->regions];
    steps->fill_rows(pass);
    pass->sums = m->rows[1];
    pass->rows = m->rows[2];
    for (uint32_t level = 0; level < PX_MATCH_LEVELS; level++) {
        if (!m->active[level])
            continue;
        px_match_sum_up(m, level);
        pass->shares = m->shares + level * m->padded;
        pass->rotations = m->rotations + 4 * level * m->padded;
        steps->match_regions(pass);
        px_match_sum_down(m, level, add);
        add = true;
    }
    pass->goals = m->goals;
    steps->move_particles(pass);
}
