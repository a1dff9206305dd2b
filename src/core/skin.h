/* Linear blend skinning of single vertices: blended transforms, normals, rounding of weights. */
#ifndef PELT_CORE_SKIN_H
#define PELT_CORE_SKIN_H

#include "core/classes.h"

/* The blended transform Σ weight · palette[bone] of a vertex, 3×4 row-major; `palette` [bone]. */
void px_skin_blend(const pelt_skin *skin, const pelt_affine *palette, uint32_t vertex, double out[12]);

/* The integer that represents a weight of 1 in this format; 0: weights are floats. */
static inline uint32_t px_weight_total(pelt_weight_format format) {
    return format == PELT_WEIGHTS_F32 ? 0 : format == PELT_WEIGHTS_U16 ? 65535 : 255;
}
/* Rounds the weights [count] of a vertex to a file format. F32: divided by their sum; the first weight absorbs the
 * rounding error. Integers: sum to px_weight_total by the largest remainder method (round down, then give one unit each
 * to the weights with the largest remainders). Weights in descending order stay in descending order. */
void px_skin_round_weights(const float *weights, uint32_t count, pelt_weight_format format, float *out);

/* Cofactor matrix of `linear`, row-major: its inverse transpose times its determinant. */
void px_skin_cofactors(const double linear[9], double out[9]);
/* Transforms a normal by the cofactor matrix (inverse transpose up to scale) of `linear`, row-major; unit length. */
void px_skin_normal(const double linear[9], const double normal[3], double out[3]);
/* Transforms a normal by `linear` itself, as engines do; unit length. */
void px_skin_direction(const double linear[9], const double normal[3], double out[3]);
/* Inverse of px_skin_normal: multiplies by the transpose of `linear`, which inverts the cofactor matrix up to scale;
 * unit length. */
void px_unskin_normal(const double linear[9], const float normal[3], double out[3]);

/* Position of a vertex after morphing with `weights` [morph], before skinning. */
void px_morphed_place(const pelt_model *model, const float *weights, uint32_t vertex, double out[3]);

#endif
