/* Changes of basis of the modes. The displacements Σ_r c_rk d_ur are unchanged when places are multiplied by an
 * invertible matrix and weights by its inverse. */
#include "correct/correct.h"

#include <math.h>

/* places [3·class][rank] become places · turn; turn [rank][rank] may be a transposed view. */
static pelt_result turn_places(const px_correction *c, px_modes *modes, uint32_t rank, px_matrix turn) {
    double *old = PX_ALLOC(c->context, double, 3 * PX_CLASS_BLOCK * (size_t)rank);
    if (!old)
        return PELT_ERROR_MEMORY;
    for (size_t u = 0; u < c->classes.count; u += PX_CLASS_BLOCK) {
        size_t count = px_min_size(PX_CLASS_BLOCK, c->classes.count - u);
        px_matrix places = px_modes_of(c, modes, u, count, rank);
        for (size_t row = 0; row < 3 * count; row++)
            memcpy(old + row * rank, px_matrix_at(places, row, 0), rank * sizeof *old);
        px_gemm(1, px_matrix_of(old, 3 * count, rank), turn, 0, places);
    }
    px_free(c->context, old);
    return PELT_OK;
}

/* SVD: weights = left · diag(values) · right, with orthonormal rows in `right`. right becomes the weights, and places
 * are multiplied by left · diag(values). */
pelt_result px_correct_orthonormal(const px_correction *c, px_modes *modes, uint32_t rank) {
    size_t frames = c->frame_count, square = (size_t)rank * rank;
    double *left = PX_ALLOC(c->context, double, square + rank + rank * frames);
    if (!left)
        return PELT_ERROR_MEMORY;
    double *values = left + square, *right = values + rank;
    px_matrix turn = px_matrix_of(left, rank, rank);
    pelt_result result =
        px_svd(c->context, px_modes_weights(c, modes, rank), turn, values, px_matrix_of(right, rank, frames));
    for (size_t e = 0; e < square; e++)
        left[e] *= values[e % rank];
    if (result == PELT_OK)
        result = turn_places(c, modes, rank, turn);
    memcpy(modes->weights, right, rank * frames * sizeof *right);
    px_free(c->context, left);
    return result;
}

/* Orthonormal weights; then modes along the principal axes of the places, strongest first; then each is scaled so that
 * its weight of largest magnitude becomes 1. */
pelt_result px_correct_order(const px_correction *c, px_modes *modes, uint32_t rank) {
    size_t square = (size_t)rank * rank, frames = c->frame_count;
    if (rank == 0)
        return PELT_OK;
    PX_TRY(px_correct_orthonormal(c, modes, rank));
    double *gram = PX_ALLOC(c->context, double, square + rank + 3 * (size_t)rank + rank * frames);
    if (!gram)
        return PELT_ERROR_MEMORY;
    double *values = gram + square, *rows = values + rank, *weights = rows + 3 * (size_t)rank;
    px_matrix axes = px_matrix_of(gram, rank, rank);
    for (size_t u = 0; u < c->classes.count; u++) { /* placesᵀ · places, classes weighted by their number of points */
        px_matrix places = px_modes_of(c, modes, u, 1, rank);
        double factor = sqrt(c->shares[u]);
        for (size_t e = 0; e < 3 * (size_t)rank; e++)
            rows[e] = factor * *px_matrix_at(places, e / rank, e % rank);
        px_syrk(1, px_transposed(px_matrix_of(rows, 3, rank)), 1, axes);
    }
    pelt_result result = px_symmetric_eigen(c->context, axes, values);
    for (size_t r = 0; r < rank / 2u; r++) /* descending eigenvalues */
        for (size_t e = 0; e < rank; e++) {
            double *a = gram + r * rank + e, *b = gram + (rank - 1 - r) * rank + e, old = *a;
            *a = *b;
            *b = old;
        }
    if (result == PELT_OK) {
        px_gemm(1, axes, px_modes_weights(c, modes, rank), 0, px_matrix_of(weights, rank, frames));
        memcpy(modes->weights, weights, rank * frames * sizeof *weights);
        result = turn_places(c, modes, rank, px_transposed(axes));
    }
    px_free(c->context, gram);
    for (size_t r = 0; result == PELT_OK && r < rank; r++) {
        double *row = modes->weights + r * frames, most = 0;
        for (size_t k = 0; k < frames; k++)
            most = fabs(row[k]) > fabs(most) ? row[k] : most;
        for (size_t k = 0; most != 0 && k < frames; k++)
            row[k] /= most;
        for (size_t place = 0; most != 0 && place < 3 * (size_t)c->classes.count; place++)
            modes->places[place * c->rank_most + r] *= most;
    }
    return result;
}
