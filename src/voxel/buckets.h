/* Numbers in buckets: hits by line, changes by slice, triangles by block. Collected in any order, then counted and laid
 * out bucket after bucket.
 */
#ifndef PELT_VOXEL_BUCKETS_H
#define PELT_VOXEL_BUCKETS_H

#include "core/core.h"

typedef struct px_pair {
    uint32_t bucket, value;
} px_pair;

/* Pairs that grow. After a failure nothing more is added and px_buckets_make fails. */
typedef struct px_pairs {
    pelt_context *context;
    px_pair *data;
    size_t count, capacity;
    bool failed;
} px_pairs;

bool px_pairs_grow(px_pairs *pairs);

static inline void px_pairs_add(px_pairs *pairs, uint32_t bucket, uint32_t value) {
    if (pairs->count < pairs->capacity || px_pairs_grow(pairs))
        pairs->data[pairs->count++] = (px_pair){bucket, value};
}

typedef struct px_buckets {
    uint32_t *starts; /* [bucket + 1] */
    uint32_t *values; /* bucket b has values[starts[b]] up to values[starts[b + 1]] */
} px_buckets;

/* Values keep the order they were added in. Frees the pairs, whatever happens; after a failure the buckets are empty. */
pelt_result px_buckets_make(px_pairs *pairs, uint32_t bucket_count, px_buckets *out);
/* Sorts the values of every bucket. */
void px_buckets_sort(px_buckets *buckets, uint32_t bucket_count);
void px_buckets_free(pelt_context *context, px_buckets *buckets);

#endif
