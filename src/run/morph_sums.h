/* Sums of packed displacements, shared by the kernels that morph (see lanes.h). Products are rounded before they are added, in every
 * kernel, so that results are identical to the last bit. */
#ifndef PELT_RUN_MORPH_SUMS_H
#define PELT_RUN_MORPH_SUMS_H

#include "core/lanes.h"

#include <pelt/run.h>

/* Adds the displacements of vertices at, at + 1 … of a block to sums [parts][3]; LANES vertices a part. The range of `deltas` is
 * that of the block. */
INLINE void add_morphs(const pelt_packed_delta *deltas, const pelt_packed_delta *end, const float *weights, size_t at,
                       size_t parts, lanes sums[][3]) {
    for (const pelt_packed_delta *d = deltas; d < end; d++) {
        float weight = weights[d->morph] * d->scale;
        if (weight == 0)
            continue;
        for (size_t p = 0; p < parts; p++)
            for (size_t c = 0; c < 3; c++)
                sums[p][c] += weight * lanes_from_i16(d->values[c] + at + p * LANES);
    }
}

#endif
