/* px_sort: sorted, nothing lost, and the same order of equal elements everywhere. */
#include "support.h"

#include "core/core.h"

typedef struct element {
    uint32_t key, number;
} element;

static size_t calls; /* of a comparison */

static int compare_keys(const void *a, const void *b) {
    calls++;
    uint32_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

static void check(uint8_t *items, size_t count, size_t size, uint32_t *seen) {
    memset(seen, 0, count * sizeof *seen);
    for (size_t n = 0; n < count; n++) {
        element at;
        memcpy(&at, items + n * size, size < sizeof at ? size : sizeof at);
        if (n > 0)
            assert_true(compare_keys(items + (n - 1) * size, items + n * size) <= 0);
        if (size < sizeof at)
            continue;
        assert_true(at.number < count && !seen[at.number]++);
        for (size_t b = sizeof at; b < size; b++)
            assert_true(items[n * size + b] == (uint8_t)(at.number + b));
    }
}

/* Kinds of order: few keys, many keys, ascending, descending, all equal, organ pipe. */
static uint32_t key_of(int kind, size_t n, size_t count, test_random *random) {
    switch (kind) {
    case 0:
        return test_random_below(random, 5);
    case 1:
        return (uint32_t)test_random_bits(random);
    case 2:
        return (uint32_t)n;
    case 3:
        return (uint32_t)(count - n);
    case 4:
        return 1;
    default:
        return (uint32_t)(n < count / 2 ? n : count - n);
    }
}

static void sorts(void **state) {
    (void)state;
    static const size_t sizes[] = {4, 8, 12, 16, 20, 24, 40, 100}, counts[] = {0, 1, 2, 3, 8, 9, 10, 100, 5000};
    uint8_t *items = malloc(5000 * 100);
    uint32_t *seen = malloc(5000 * sizeof *seen);
    test_random random = {.state = 3};
    for (size_t s = 0; s < PX_COUNT(sizes); s++)
        for (size_t c = 0; c < PX_COUNT(counts); c++)
            for (int kind = 0; kind < 6; kind++) {
                size_t size = sizes[s], count = counts[c];
                for (size_t n = 0; n < count; n++) {
                    element at = {key_of(kind, n, count, &random), (uint32_t)n};
                    memcpy(items + n * size, &at, size < sizeof at ? size : sizeof at);
                    for (size_t b = sizeof at; b < size; b++)
                        items[n * size + b] = (uint8_t)(n + b);
                }
                calls = 0;
                px_sort(items, count, size, compare_keys);
                assert_true(calls <= 100 + 30 * count); /* 5000 · log2(5000) = 12 per element; squared would be 5000 */
                check(items, count, size, seen);
            }
    free(items);
    free(seen);
}

static void order_of_equals(void **state) {
    (void)state;
    element items[1000];
    for (uint32_t n = 0; n < 1000; n++)
        items[n] = (element){n * 7 % 10, n};
    px_sort(items, 1000, sizeof *items, compare_keys);
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t n = 0; n < 1000; n++)
        hash = (hash ^ items[n].number) * UINT64_C(1099511628211);
    assert_int_equal(hash, UINT64_C(0xFF00AE1339EDA5AD));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sorts), cmocka_unit_test(order_of_equals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
