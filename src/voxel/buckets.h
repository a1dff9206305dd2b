/* Values grouped into buckets (counting sort): hits by line, changes by slice, triangles by block. Pairs are collected
 * in any order, then counted and laid out bucket by bucket.
 */
#ifndef PELT_VOXEL_BUCKETS_H
#define PELT_VOXEL_BUCKETS_H

#include "core/core.h"

typedef struct px_pair {
    uint32_t bucket, value;
} px_pair;

/* Growable array of pairs. After an allocation failure further pairs are ignored and px_buckets_make fails. */
typedef struct px_pairs {
    pelt_context *context;
    px_pair *data;
    size_t count, capacity;
    bool failed;
} px_pairs;

/* Increases the capacity; false on failure. */
bool px_pairs_grow(px_pairs *pairs);

static inline void px_pairs_add(px_pairs *pairs, uint32_t bucket, uint32_t value) {
    if (pairs->count < pairs->capacity || px_pairs_grow(pairs))
        pairs->data[pairs->count++] = (px_pair){bucket, value};
}

typedef struct px_buckets {
    uint32_t *starts; /* [bucket + 1] prefix sums */
    uint32_t *values; /* bucket b is values[starts[b] .. starts[b + 1]) */
} px_buckets;

/* Stable: values of a bucket keep the order in which they were added. Always frees the pairs; on failure *out is
 * empty. */
pelt_result px_buckets_make(px_pairs *pairs, uint32_t bucket_count, px_buckets *out);
/* Sorts the values of every bucket in ascending order. */
void px_buckets_sort(px_buckets *buckets, uint32_t bucket_count);
void px_buckets_free(pelt_context *context, px_buckets *buckets);

#endif
