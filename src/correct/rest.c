/* Displacements in the rest pose, James and Twigg 2005 §6: u_ik = T_ik⁻¹ p_ik − p̃_i = (linear part)⁻¹ · residual, and
 * their singular vectors. */
#include "correct/correct.h"

#include <math.h>

/* A blended transform is ill-conditioned if its least singular value is below this fraction of its largest:
 * displacements at rest would exceed those in the pose by a factor of ten or more. */
#define SQUEEZED 0.1
/* Groups of classes whose Gram matrices are summed in a fixed order; each takes frames² numbers. */
#define SHARE_COUNT  8u
#define PULL_CLASSES 16u

/* ---- Inverse transforms ----------------------------------------------------------------------------------- */

uint32_t px_correct_pull(const px_correction *c, size_t first, size_t count, double *out) {
    uint32_t ill = 0;
    for (size_t u = 0; u < count; u++) {
        bool well = true;
        for (uint32_t k = 0; k < c->frame_count; k++) {
            double m[9], inverse[9];
            const float *residual = c->residuals + ((first + u) * c->frame_count + k) * 3;
            px_correct_blend(c, (uint32_t)(first + u), k, m);
            well &= px_invert3(m, SQUEEZED, inverse);
            for (int a = 0; a < 3; a++)
                out[(3 * u + a) * c->frame_count + k] = inverse[3 * a] * (double)residual[0] +
                                                        inverse[3 * a + 1] * (double)residual[1] +
                                                        inverse[3 * a + 2] * (double)residual[2];
        }
        ill += !well;
    }
    return ill;
}

/* ---- Singular vectors ------------------------------------------------------------------------------------- */

typedef struct gram_work {
    const px_correction *c;
    const px_row_source *rows;
    double *sums; /* [group of classes][frame][frame] Gram matrices */
    uint32_t ill[SHARE_COUNT];
} gram_work;

static pelt_result gram_block(void *user, size_t first, size_t count, size_t block) {
    gram_work *g = user;
    size_t frames = g->c->frame_count;
    double *rows = PX_ALLOC(g->c->context, double, 3 * PULL_CLASSES * frames);
    px_matrix sum = px_matrix_of(g->sums + block * frames * frames, frames, frames);
    for (size_t u = first; rows && u < first + count; u += PULL_CLASSES) {
        size_t n = px_min_size(PULL_CLASSES, first + count - u);
        g->ill[block] += g->rows->pull(g->rows->user, u, n, rows);
        for (size_t v = 0; v < n; v++) {
            double factor = sqrt(g->rows->shares[u + v]);
            for (size_t e = 3 * v * frames; e < 3 * (v + 1) * frames; e++)
                rows[e] *= factor;
        }
        px_syrk(1, px_transposed(px_matrix_of(rows, 3 * n, frames)), 1, sum);
    }
    px_free(g->c->context, rows);
    return rows ? PELT_OK : PELT_ERROR_MEMORY;
}

pelt_result px_correct_singular(const px_correction *c, const px_row_source *rows, uint32_t count, double *vectors,
                                double *values, uint32_t *ill) {
    size_t frames = c->frame_count, square = frames * frames;
    gram_work g = {c, rows, px_alloc(c->context, px_mul_size(SHARE_COUNT, square), sizeof(double)), {0}};
    double *all = PX_ALLOC(c->context, double, frames);
    pelt_result result = g.sums && all ? PELT_OK : PELT_ERROR_MEMORY;
    size_t share = px_max_size(1, px_block_count(rows->class_count, SHARE_COUNT));
    if (result == PELT_OK)
        result = px_parallel(c->context, "seeding", rows->class_count, share, gram_block, &g);
    for (size_t s = 1; result == PELT_OK && s < SHARE_COUNT; s++)
        for (size_t e = 0; e < square; e++)
            g.sums[e] += g.sums[s * square + e];
    *ill = 0;
    for (size_t s = 0; s < SHARE_COUNT; s++)
        *ill += g.ill[s];
    if (result == PELT_OK)
        result = px_symmetric_eigen(c->context, px_matrix_of(g.sums, frames, frames), all);
    for (uint32_t r = 0; result == PELT_OK && r < count; r++) { /* eigenvalues ascend */
        memcpy(vectors + r * frames, g.sums + (frames - 1 - r) * frames, frames * sizeof *vectors);
        values[r] = px_fmax(all[frames - 1 - r], 0);
    }
    px_free(c->context, all);
    px_free(c->context, g.sums);
    return result;
}

static uint32_t pull_places(const void *user, size_t first, size_t count, double *out) {
    return px_correct_pull(user, first, count, out);
}

pelt_result px_correct_seed(px_correction *c) {
    c->seeds = PX_NEW(c->scratch, double, (size_t)c->rank_most * c->frame_count);
    c->seed_values = PX_NEW(c->scratch, double, c->rank_most);
    if (!c->seeds || !c->seed_values)
        return PELT_ERROR_MEMORY;
    px_row_source rows = {c->classes.count, c->shares, pull_places, c};
    return px_correct_singular(c, &rows, c->rank_most, c->seeds, c->seed_values, &c->ill_count);
}

/* ---- The paper's basis ------------------------------------------------------------------------------------ */

typedef struct project_work {
    const px_correction *c;
    px_modes *modes;
    uint32_t rank;
} project_work;

static pelt_result project_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const project_work *p = user;
    const px_correction *c = p->c;
    double *rows = PX_ALLOC(c->context, double, 3 * count * c->frame_count);
    if (!rows)
        return PELT_ERROR_MEMORY;
    px_correct_pull(c, first, count, rows);
    px_gemm(1, px_matrix_of(rows, 3 * count, c->frame_count), px_transposed(px_modes_weights(c, p->modes, p->rank)), 0,
            px_modes_of(c, p->modes, first, count, p->rank));
    px_free(c->context, rows);
    return PELT_OK;
}

pelt_result px_correct_project(px_correction *c, px_modes *modes, uint32_t rank) {
    memcpy(modes->weights, c->seeds, (size_t)rank * c->frame_count * sizeof *c->seeds);
    return px_parallel(c->context, NULL, c->classes.count, PX_CLASS_BLOCK, project_block,
                       &(project_work){c, modes, rank});
}
