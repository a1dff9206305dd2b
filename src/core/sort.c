/* Sorting: quicksort with three-way partitions, so that many equal elements cost little, about the median of three elements at
 * pseudo-random places, so that no usual order is slow. The order of equal elements is the same in every C library, which
 * that of qsort is not. */
#include "core/core.h"
#include "core/inline.h"

enum { FEW = 8 }; /* elements that are inserted one by one */

typedef int comparison(const void *, const void *);

/* Functions that are INLINE exist once per size, so that elements are moved by a few instructions. */
INLINE void swap(char *a, char *b, size_t size) {
    char kept[64];
    for (size_t done = 0; done < size; done += sizeof kept) {
        size_t part = px_min_size(size - done, sizeof kept);
        memcpy(kept, a + done, part);
        memcpy(a + done, b + done, part);
        memcpy(b + done, kept, part);
    }
}

INLINE void insert_all(char *items, size_t count, size_t size, comparison *compare) {
    for (size_t n = 1; n < count; n++)
        for (char *at = items + n * size; at > items && compare(at - size, at) > 0; at -= size)
            swap(at - size, at, size);
}

/* The middle one of three elements. */
INLINE char *median(char *a, char *b, char *c, comparison *compare) {
    if (compare(a, b) > 0) {
        char *kept = a;
        a = b;
        b = kept;
    }
    return compare(b, c) <= 0 ? b : compare(a, c) > 0 ? a : c;
}

INLINE void sort(char *items, size_t count, size_t size, comparison *compare) {
    struct {
        char *items;
        size_t count;
    } later[64]; /* the longer parts: each is at most half of the one before it, plus what is sorted now */
    size_t depth = 0;
    uint32_t random = 1;
    for (;;) {
        while (count > FEW) {
            char *three[3];
            for (int t = 0; t < 3; t++) {
                random = random * 1664525 + 1013904223;
                three[t] =
                    items + (size_t)(((uint64_t)random * (count < UINT32_MAX ? count : UINT32_MAX)) >> 32) * size;
            }
            swap(items, median(three[0], three[1], three[2], compare), size);
            /* [items, low): less than the pivot, which is at `low`; [low, at): equal; [high, end): greater. */
            char *low = items, *at = items + size, *end = items + count * size, *high = end;
            while (at < high) {
                int order = compare(at, low);
                if (order < 0) {
                    swap(low, at, size);
                    low += size;
                    at += size;
                } else if (order > 0) {
                    high -= size;
                    swap(at, high, size);
                } else {
                    at += size;
                }
            }
            size_t less = (size_t)(low - items) / size, greater = (size_t)(end - high) / size;
            if (less > greater) {
                later[depth].items = items;
                later[depth++].count = less;
                items = high;
                count = greater;
            } else {
                later[depth].items = high;
                later[depth++].count = greater;
                count = less;
            }
        }
        insert_all(items, count, size, compare);
        if (depth == 0)
            return;
        items = later[--depth].items;
        count = later[depth].count;
    }
}

void px_sort(void *items, size_t count, size_t size, int (*compare)(const void *, const void *)) {
    switch (count < 2 ? 0 : size) {
    case 0:
        return;
    case 4:
        sort(items, count, 4, compare);
        return;
    case 8:
        sort(items, count, 8, compare);
        return;
    case 12:
        sort(items, count, 12, compare);
        return;
    case 16:
        sort(items, count, 16, compare);
        return;
    case 24:
        sort(items, count, 24, compare);
        return;
    default:
        sort(items, count, size, compare);
    }
}
