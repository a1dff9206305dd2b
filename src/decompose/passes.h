/* Passes over the vertices. Their inner loops (vertex_kernel.h, moments_kernel.h) are compiled for every machine, for AVX2 and for
 * AVX-512, with the same results. The including file defines LANES, the doubles per vector: 4 or 8. */
#ifndef PELT_DECOMPOSE_PASSES_H
#define PELT_DECOMPOSE_PASSES_H

#include "decompose/fit.h"

typedef double px_quad __attribute__((vector_size(32), aligned(8), may_alias)); /* any address */
#define PX_QUAD(place) (*(px_quad *)(place))
#ifdef LANES
typedef double px_lanes __attribute__((vector_size(8 * LANES), aligned(8), may_alias));
typedef float px_lanes_float __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
#define PX_LANES(place) (*(px_lanes *)(place))
/* Floats, as doubles. */
#define PX_LANES_WIDE(place) __builtin_convertvector(*(const px_lanes_float *)(place), px_lanes)
#endif

/* Sorts the influences of vertices [first, first + count) by bone: `influences` [count · K] holds (i − first) · K + place,
 * ascending for each bone; those of bone j are at firsts[j] to firsts[j + 1] − 1. `firsts` has P + 2 elements. */
void px_fit_by_bone(const px_fit *fit, size_t first, size_t count, uint32_t *influences, uint32_t *firsts);

typedef struct px_vertex_pass {
    px_fit *fit;
    bool rest;    /* rest positions change */
    bool joint;   /* together with the weights, where these are not locked */
    bool measure; /* nothing changes */
    bool all;     /* search for better bones of all vertices, not only of those that are due in iteration `turn` */
    uint32_t turn;
    double wide_from; /* squared residual from which more sets of bones are searched */
} px_vertex_pass;

/* px_block_fn: a block of vertices of the px_vertex_pass `user`. */
pelt_result px_vertex_block(void *user, size_t first, size_t count, size_t block);
pelt_result px_vertex_block_avx2(void *user, size_t first, size_t count, size_t block);
pelt_result px_vertex_block_avx512(void *user, size_t first, size_t count, size_t block);

/* px_fit_product. */
void px_vertex_product(const px_fit *fit, size_t i, size_t j, double y[4]);
void px_vertex_product_avx2(const px_fit *fit, size_t i, size_t j, double y[4]);
void px_vertex_product_avx512(const px_fit *fit, size_t i, size_t j, double y[4]);

#define PX_MOMENT_COLUMNS 256u /* columns of Q per block: 8 KB of sums, which stay in the cache */

typedef struct px_moment_pass {
    px_fit *fit;
    const uint32_t *influences, *firsts; /* of all vertices, as from px_fit_by_bone */
    size_t parts;                        /* blocks per bone: one for S, the others for Q */
} px_moment_pass;

/* px_block_fn: block `block` of the px_moment_pass `user`. */
pelt_result px_moment_block(void *user, size_t first, size_t count, size_t block);
pelt_result px_moment_block_avx2(void *user, size_t first, size_t count, size_t block);
pelt_result px_moment_block_avx512(void *user, size_t first, size_t count, size_t block);

/* The version of a block function for this machine. */
#if defined(__x86_64__)
#define PX_PASS_HERE(name)                                                                                             \
    (__builtin_cpu_supports("avx512f") ? name##_avx512 : __builtin_cpu_supports("avx2") ? name##_avx2 : name)
#else
#define PX_PASS_HERE(name) name
#endif

#endif
