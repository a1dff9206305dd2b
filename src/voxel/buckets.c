/* Counting sort of pairs. */
#include "voxel/buckets.h"

#include <stdlib.h>

bool px_pairs_grow(px_pairs *pairs) {
    if (pairs->failed)
        return false;
    size_t capacity = px_max_size(1024, pairs->capacity * 2);
    px_pair *data = px_resize(pairs->context, pairs->data, capacity, sizeof *data);
    if (!data) {
        pairs->failed = true;
        return false;
    }
    pairs->data = data;
    pairs->capacity = capacity;
    return true;
}

static pelt_result lay_out(const px_pairs *pairs, uint32_t bucket_count, px_buckets *out) {
    if (pairs->failed)
        return PELT_ERROR_MEMORY;
    if (pairs->count >= UINT32_MAX)
        return px_fail_memory(pairs->context);
    out->starts = PX_ALLOC(pairs->context, uint32_t, (size_t)bucket_count + 2);
    out->values = PX_ALLOC(pairs->context, uint32_t, px_max_size(pairs->count, 1));
    if (!out->starts || !out->values)
        return PELT_ERROR_MEMORY;
    uint32_t *next = out->starts + 1; /* write position of each bucket; in the end, the start of the following one */
    for (size_t p = 0; p < pairs->count; p++)
        next[pairs->data[p].bucket + 1]++;
    for (uint32_t b = 0; b < bucket_count; b++)
        next[b + 1] += next[b];
    for (size_t p = 0; p < pairs->count; p++)
        out->values[next[pairs->data[p].bucket]++] = pairs->data[p].value;
    return PELT_OK;
}

pelt_result px_buckets_make(px_pairs *pairs, uint32_t bucket_count, px_buckets *out) {
    *out = (px_buckets){0};
    pelt_result result = lay_out(pairs, bucket_count, out);
    if (result != PELT_OK)
        px_buckets_free(pairs->context, out);
    px_free(pairs->context, pairs->data);
    *pairs = (px_pairs){.context = pairs->context};
    return result;
}

static int compare(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Lines hit few faces, so insertion sort is fastest; in degenerate meshes a line may hit thousands. */
static void sort(uint32_t *values, uint32_t count) {
    if (count > 24) {
        px_sort(values, count, sizeof *values, compare);
        return;
    }
    for (uint32_t i = 1; i < count; i++) {
        uint32_t value = values[i], place = i;
        for (; place > 0 && values[place - 1] > value; place--)
            values[place] = values[place - 1];
        values[place] = value;
    }
}

void px_buckets_sort(px_buckets *buckets, uint32_t bucket_count) {
    for (uint32_t b = 0; b < bucket_count; b++)
        sort(buckets->values + buckets->starts[b], buckets->starts[b + 1] - buckets->starts[b]);
}

void px_buckets_free(pelt_context *context, px_buckets *buckets) {
    px_free(context, buckets->starts);
    px_free(context, buckets->values);
    *buckets = (px_buckets){0};
}
