/* core/text.c: growing buffers, and numbers against the C library on random bit patterns. (Unusual notations:
 * tests/test_numbers.c.) */
#include "support.h"

#include "core/core.h"

#include <float.h>
#include <locale.h>
#include <math.h>

static void buffers_grow(void **state) {
    (void)state;
    test_context test;
    px_buffer buffer = {.context = test_begin(&test, 1)};
    px_buffer_add(&buffer, NULL, 0);
    assert_int_equal(buffer.size, 0);
    for (int n = 0; n < 5000; n++) {
        px_buffer_format(&buffer, "%04d", n);
        px_buffer_text(&buffer, ";");
        px_buffer_add(&buffer, "\0x", 2);
    }
    assert_int_equal(buffer.size, 5000 * 7);
    for (int n = 0; n < 5000; n++) {
        char wanted[8];
        snprintf(wanted, sizeof wanted, "%04d;", n);
        assert_memory_equal(buffer.data + 7 * n, wanted, 6); /* including its terminator */
        assert_int_equal(buffer.data[7 * n + 6], 'x');
    }
    px_buffer_free(&buffer);
    assert_true(!buffer.data && buffer.size == 0);
    px_buffer_text(&buffer, "again");
    assert_int_equal(buffer.size, 5);
    px_buffer_free(&buffer);
    test_end(&test);
}

static void failure_stays(void **state) {
    (void)state;
    test_context test;
    pelt_context_desc desc = test_desc(&test, 1);
    desc.memory_limit = 1000;
    px_buffer buffer = {.context = test_begin_with(&test, &desc)};
    for (int n = 0; n < 500; n++)
        px_buffer_text(&buffer, "12345");
    assert_true(buffer.failed && buffer.size <= 1000 && buffer.size % 5 == 0);
    size_t size = buffer.size;
    px_buffer_text(&buffer, "");
    px_buffer_float(&buffer, 1);
    px_buffer_double(&buffer, 1);
    px_buffer_uint(&buffer, 1);
    px_buffer_format(&buffer, "%d", 1);
    assert_true(buffer.failed && buffer.size == size);
    px_buffer_free(&buffer);
    assert_false(buffer.failed);
    test_end(&test);
}

/* Steps between adjacent doubles. */
static uint64_t distance(double a, double b) {
    uint64_t x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    return x > y ? x - y : y - x;
}

static double random_double(test_random *random) {
    for (;;) {
        uint64_t bits = test_random_bits(random);
        double value;
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value))
            return value;
    }
}

static void doubles_like_strtod(void **state) {
    (void)state;
    test_random random = {11};
    for (int n = 0; n < 1000000; n++) {
        char text[400];
        double wanted = random_double(&random), value = NAN;
        int length = snprintf(text, sizeof text, "%.*e", (int)test_random_below(&random, 21), wanted);
        if (n % 64 < 2) { /* without an exponent */
            wanted = ldexp(test_random_real(&random, -1, 1), (int)test_random_below(&random, 200) - 100);
            length = snprintf(text, sizeof text, n % 64 ? "%.0f" : "%.300f", wanted);
        }
        wanted = strtod(text, NULL);
        assert_ptr_equal(px_parse_double(text, text + length, &value), text + length);
        if (distance(value, wanted) > 1)
            fail_msg("%s was read as %.17g, %llu steps off", text, value, (unsigned long long)distance(value, wanted));
    }
}

/* Typical numbers of meshes and documents are exact: up to 15 digits, exponents within ±22. */
static void short_numbers_are_exact(void **state) {
    (void)state;
    test_random random = {12};
    for (int n = 0; n < 500000; n++) {
        char text[64];
        uint64_t digits = test_random_bits(&random) % UINT64_C(1000000000000000);
        digits >>= test_random_below(&random, 50);
        int length = snprintf(text, sizeof text, "%llue%d", (unsigned long long)digits,
                              (int)test_random_below(&random, 45) - 22);
        double value = NAN;
        assert_ptr_equal(px_parse_double(text, text + length, &value), text + length);
        assert_true(value == strtod(text, NULL));
    }
}

/* Random floats: as short as any text that strtof reads back. */
static void floats_are_shortest(void **state) {
    (void)state;
    test_context test;
    px_buffer buffer = {.context = test_begin(&test, 1)};
    test_random random = {13};
    for (int n = 0; n < 300000; n++) {
        uint32_t bits = (uint32_t)test_random_bits(&random) >> (n % 3 ? 0 : test_random_below(&random, 20));
        float value = px_float_from_bits(bits);
        if (!isfinite(value) || value == 0)
            continue;
        buffer.size = 0;
        px_buffer_float(&buffer, value);
        px_buffer_add(&buffer, "", 1);
        assert_true(strtof(buffer.data, NULL) == value);
        int used = 0, zeros = 0, needed = 1;
        for (const char *c = buffer.data; *c && *c != 'e'; c++)
            if (*c >= (used ? '0' : '1') && *c <= '9') {
                used++;
                zeros = *c == '0' ? zeros + 1 : 0;
            }
        char text[40];
        while (snprintf(text, sizeof text, "%.*e", needed - 1, (double)value) && strtof(text, NULL) != value)
            needed++;
        if (used - zeros > needed)
            fail_msg("%s has %d digits, %s does", buffer.data, used - zeros, text);
    }
    px_buffer_free(&buffer);
    test_end(&test);
}

static void doubles_read_back(void **state) {
    (void)state;
    test_context test;
    px_buffer buffer = {.context = test_begin(&test, 1)};
    test_random random = {14};
    static const double odd[] = {0,         -0.0,    1,       0.1,      1e15,    1e22,
                                 5e-324,    DBL_MIN, DBL_MAX, -DBL_MAX, 1.0 / 3, 4503599627370497.5,
                                 123456789, 1e7,     1e-7};
    for (size_t n = 0; n < 200000; n++) {
        double value = n < PX_COUNT(odd) ? odd[n]
                       : n % 2           ? random_double(&random)
                                         : test_random_real(&random, -10, 10),
               back = NAN;
        buffer.size = 0;
        px_buffer_double(&buffer, value);
        px_buffer_add(&buffer, "", 1);
        const char *end = buffer.data + buffer.size - 1;
        assert_true(strlen(buffer.data) <= 24);
        assert_ptr_equal(px_parse_double(buffer.data, end, &back), end);
        if (distance(back, value) || distance(strtod(buffer.data, NULL), value) > 1)
            fail_msg("%.17g was spelled %s", value, buffer.data);
    }
    buffer.size = 0;
    px_buffer_double(&buffer, 5e-324);
    px_buffer_double(&buffer, 0.3);
    px_buffer_add(&buffer, "", 1);
    assert_string_equal(buffer.data, "5e-3240.3");
    px_buffer_free(&buffer);
    test_end(&test);
}

static void locale_does_not_matter(void **state) {
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8", "ps_AF.UTF-8"};
    test_context test;
    px_buffer buffer = {.context = test_begin(&test, 1)};
    for (size_t n = 0; n < PX_COUNT(names); n++) {
        if (!setlocale(LC_ALL, names[n]))
            continue;
        buffer.size = 0;
        px_buffer_double(&buffer, 0.5);
        px_buffer_float(&buffer, 1.5e-30f);
        px_buffer_add(&buffer, "", 1);
        assert_string_equal(buffer.data, "0.51.5e-30");
    }
    setlocale(LC_ALL, "C");
    px_buffer_free(&buffer);
    test_end(&test);
}

static void bytes_in_order(void **state) {
    (void)state;
    const uint8_t bytes[] = {9, 1, 2, 3, 0x84};
    assert_int_equal(px_load_u32(bytes + 1), 0x84030201u);
    assert_int_equal(px_load_u32_big(bytes + 1), 0x01020384u);
    assert_true(px_float_from_bits(px_float_bits(-1.5f)) == -1.5f);
    assert_int_equal(px_float_bits(1.0f), 0x3F800000u);
    assert_int_equal(px_block_count(0, 3), 0);
    assert_int_equal(px_block_count(3, 3), 1);
    assert_int_equal(px_block_count(SIZE_MAX, 2), SIZE_MAX / 2 + 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffers_grow),           cmocka_unit_test(failure_stays),
        cmocka_unit_test(doubles_like_strtod),    cmocka_unit_test(short_numbers_are_exact),
        cmocka_unit_test(floats_are_shortest),    cmocka_unit_test(doubles_read_back),
        cmocka_unit_test(locale_does_not_matter), cmocka_unit_test(bytes_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
