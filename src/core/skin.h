/* A skin from inside: the blended transform of a vertex. */
#ifndef PELT_CORE_SKIN_H
#define PELT_CORE_SKIN_H

#include "core/classes.h"

/* The blended transform of a vertex, 3×4 row by row, with palette [bone]. */
void px_skin_blend(const pelt_skin *skin, const pelt_affine *palette, uint32_t vertex, double out[12]);

/* The whole number that stands for a weight of 1 in a file; 0: weights are floats. */
static inline uint32_t px_weight_total(pelt_weight_format format) {
    return format == PELT_WEIGHTS_F32 ? 0 : format == PELT_WEIGHTS_U16 ? 65535 : 255;
}
/* The weights of a vertex, `count` of them, as files hold them: floats that sum to 1, the first taking what rounding leaves; or
 * whole numbers that sum to px_weight_total: rounded down, and what is then missing goes to those that lost most. Weights in
 * descending order stay in it. */
void px_skin_round_weights(const float *weights, uint32_t count, pelt_weight_format format, float *out);

/* A normal through the linear part of such a transform, row by row: through its cofactors, made unit length. */
void px_skin_normal(const double linear[9], const double normal[3], double out[3]);
/* The same through the transform itself, as engines do. */
void px_skin_direction(const double linear[9], const double normal[3], double out[3]);
/* And back from cofactors: through the transpose, which undoes them but for the length. */
void px_unskin_normal(const double linear[9], const float normal[3], double out[3]);

/* Where morphs with weights [morph] put a vertex before the skin moves it. */
void px_morphed_place(const pelt_model *model, const float *weights, uint32_t vertex, double out[3]);

#endif
