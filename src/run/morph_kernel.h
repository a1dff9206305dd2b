/* Kernel for packed morphs, for every instruction set. The includer defines LANES (see lanes.h) and MORPH_BODY, the
 * name of the function. Every version does the same operations in the same order for each vertex, so results are
 * identical to the last bit.
 */
#include "run/morph_sums.h"
#include "run/skin.h"

/* The SIMD versions process a block at a time, to amortise the cost per entry. The scalar reference takes one vertex
 * at a time, and also processes the remainder for the SIMD versions. */
#define MORPH_STEP  (LANES == 1 ? 1 : PELT_MORPH_BLOCK)
#define MORPH_PARTS (MORPH_STEP / LANES)

void MORPH_BODY(const size_t *offsets, const pelt_packed_delta *deltas, const float *weights, const float *rest,
                size_t first, size_t count, float *out) {
    size_t whole = count - count % MORPH_STEP;
    for (size_t i = 0; i < whole; i += MORPH_STEP) {
        lanes sums[MORPH_PARTS][3];
        for (size_t p = 0; p < MORPH_PARTS; p++)
            lanes_load3(rest + 3 * (first + i + p * LANES), sums[p]);
        size_t block = (first + i) / PELT_MORPH_BLOCK, at = (first + i) % PELT_MORPH_BLOCK;
        add_morphs(deltas + offsets[block], deltas + offsets[block + 1], weights, at, MORPH_PARTS, sums);
        for (size_t p = 0; p < MORPH_PARTS; p++)
            lanes_store3(out + 3 * (i + p * LANES), sums[p]);
    }
#if LANES > 1
    if (whole < count)
        px_morph_scalar(offsets, deltas, weights, rest, first + whole, count - whole, out + 3 * whole);
#endif
}
