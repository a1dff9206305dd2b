/* Allocation and copying of fit states and moment matrices. */
#include "decompose/kinds.h"

pelt_result px_fit_state_make(px_fit *fit, px_fit_state *s) {
    size_t N = fit->vertex_count, K = fit->influence_count, n = 4 * (size_t)fit->bone_capacity;
    s->rest = PX_NEW(fit->arena, double, 3 * N);
    s->weights = PX_NEW(fit->arena, double, N *K);
    s->bones = PX_NEW(fit->arena, uint16_t, N * K);
    s->counts = PX_NEW(fit->arena, uint8_t, N);
    s->reduced = PX_NEW(fit->arena, double, px_mul_size(n, fit->row_count)); /* capacity: the dimension, at most
                                                                              * row_count, is not known yet */
    bool full = !fit->kind->unconstrained, axes = fit->kind->has_axes;
    s->full = full ? PX_NEW(fit->arena, double, px_mul_size(n, fit->row_count)) : NULL;
    s->axes = axes ? PX_NEW(fit->arena, double, (size_t)9 * fit->bone_capacity) : NULL;
    bool ready = s->rest && s->weights && s->bones && s->counts && s->reduced;
    return ready && (!full || s->full) && (!axes || s->axes) ? PELT_OK : PELT_ERROR_MEMORY;
}

void px_fit_state_copy(const px_fit *fit, const px_fit_state *from, px_fit_state *to) {
    size_t N = fit->vertex_count, K = fit->influence_count, n = 4 * (size_t)fit->bone_count;
    memcpy(to->rest, from->rest, 3 * N * sizeof *to->rest);
    memcpy(to->weights, from->weights, N * K * sizeof *to->weights);
    memcpy(to->bones, from->bones, N * K * sizeof *to->bones);
    memcpy(to->counts, from->counts, N * sizeof *to->counts);
    memcpy(to->reduced, from->reduced, n * fit->dimension * sizeof *to->reduced);
    if (from->full)
        memcpy(to->full, from->full, n * fit->row_count * sizeof *to->full);
    if (from->axes)
        memcpy(to->axes, from->axes, 9 * (size_t)fit->bone_count * sizeof *to->axes);
    to->objective = from->objective;
}

pelt_result px_fit_make_moments(px_fit *fit) {
    size_t n = 4 * (size_t)fit->bone_capacity, d = fit->dimension,
           blocks = px_block_count(fit->vertex_count, px_fit_block(fit));
    fit->quiet = PX_NEW(fit->arena, uint8_t, fit->vertex_count);
    fit->residuals = PX_NEW(fit->arena, double, fit->vertex_count);
    fit->scatter = PX_NEW(fit->arena, double, n *n);
    fit->cross = PX_NEW(fit->arena, double, n *d);
    fit->gram = PX_NEW(fit->arena, double, n *n);
    fit->blocks = PX_NEW(fit->arena, double, n *n);
    fit->pairs = PX_NEW(fit->arena, double, 10 * px_fit_pitch(fit->bone_capacity) * fit->bone_capacity);
    fit->squares = PX_NEW(fit->arena, double, 10 * px_fit_pitch(fit->bone_capacity));
    fit->slots = PX_NEW(fit->arena, double, blocks * fit->bone_capacity);
    fit->bone_sums = PX_NEW(fit->arena, double, 2 * (size_t)fit->bone_capacity);
    fit->block_objective = PX_NEW(fit->arena, double, blocks);
    return fit->quiet && fit->residuals && fit->scatter && fit->cross && fit->gram && fit->blocks && fit->pairs &&
                   fit->squares && fit->slots && fit->bone_sums && fit->block_objective
               ? PELT_OK
               : PELT_ERROR_MEMORY;
}
