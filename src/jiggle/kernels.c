/* Choice of the kernels by instruction set. */
#include "jiggle/kernels.h"

static const px_jiggle_kernels *const bodies[PELT_SIMD_COUNT] = {
    [PELT_SIMD_SCALAR] = &px_jiggle_scalar,
#if defined(__x86_64__)
    [PELT_SIMD_SSE2] = &px_jiggle_sse2,
    [PELT_SIMD_AVX2] = &px_jiggle_avx2,
    [PELT_SIMD_AVX512] = &px_jiggle_avx2,
#elif defined(__aarch64__)
    [PELT_SIMD_NEON] = &px_jiggle_neon,
#elif defined(__wasm_simd128__)
    [PELT_SIMD_WASM] = &px_jiggle_wasm,
#endif
};

const px_jiggle_kernels *px_jiggle_kernels_of(pelt_simd simd) {
    assert(pelt_simd_available(simd));
    return bodies[simd];
}
