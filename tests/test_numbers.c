/* Numbers to text and back: floats round-trip bit for bit, text is short, unusual notations are parsed. */
#include "support.h"

#include "core/core.h"

#include <math.h>

static void check_float(px_buffer *buffer, float value) {
    buffer->size = 0;
    px_buffer_float(buffer, value);
    assert_false(buffer->failed);
    double back = NAN;
    const char *end = buffer->data + buffer->size;
    if (px_parse_double(buffer->data, end, &back) != end || px_float_bits((float)back) != px_float_bits(value))
        fail_msg("%.9g was spelled %.*s", (double)value, (int)buffer->size, buffer->data);
    px_buffer_add(buffer, "", 1);
    if (px_float_bits(strtof(buffer->data, NULL)) != px_float_bits(value))
        fail_msg("%.9g was spelled %s, which strtof reads as another float", (double)value, buffer->data);
    if (buffer->size > 16)
        fail_msg("%.9g was spelled %s, which is long", (double)value, buffer->data);
}

static void floats_read_back(void **state) {
    (void)state;
    test_context test;
    px_buffer buffer = {.context = test_begin(&test, 1)};
    test_random random = {.state = 1};
    for (int i = 0; i < 2000000; i++) {
        uint32_t bits = (uint32_t)test_random_bits(&random);
        if (i % 4 == 1)
            bits = (bits & 0x807FFFFFu) | (118u + (bits >> 23) % 16) << 23; /* typical values of meshes */
        if (i % 4 == 2)
            bits &= 0x807FFFFFu; /* denormal */
        if ((bits & 0x7F800000u) != 0x7F800000u)
            check_float(&buffer, px_float_from_bits(bits));
    }
    for (uint32_t exponent = 0; exponent < 255; exponent++) /* the spacing of floats changes at powers of two */
        for (uint32_t step = 0; step < 3; step++)
            check_float(&buffer, px_float_from_bits((exponent << 23) + step - (exponent > 0)));
    px_buffer_free(&buffer);
    test_end(&test);
}

static void floats_are_short(void **state) {
    (void)state;
    static const struct {
        float value;
        const char *text;
    } rows[] = {{0.0f, "0"},       {-0.0f, "-0"},       {1.0f, "1"},           {-1.0f, "-1"},
                {0.1f, "0.1"},     {-0.25f, "-0.25"},   {1.5f, "1.5"},         {100.0f, "100"},
                {0.001f, "0.001"}, {1e-5f, "1e-5"},     {1.25e-7f, "1.25e-7"}, {999999.0f, "999999"},
                {1e6f, "1000000"}, {16777216.0f, NULL}, {1e10f, "1e10"},       {3.4028235e38f, "3.4028235e38"},
                {1e-45f, NULL},    {0.333333343f, NULL}};
    test_context test;
    px_buffer buffer = {.context = test_begin(&test, 1)};
    for (size_t i = 0; i < PX_COUNT(rows); i++) {
        buffer.size = 0;
        px_buffer_float(&buffer, rows[i].value);
        px_buffer_add(&buffer, "", 1);
        if (rows[i].text)
            assert_string_equal(buffer.data, rows[i].text);
    }
    buffer.size = 0;
    px_buffer_uint(&buffer, 0);
    px_buffer_uint(&buffer, UINT64_MAX);
    px_buffer_add(&buffer, "", 1);
    assert_string_equal(buffer.data, "018446744073709551615");
    px_buffer_free(&buffer);
    test_end(&test);
}

static void odd_spellings(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t length; /* of the number */
        double value;
    } rows[] = {{"7.", 2, 7},
                {".5", 2, .5},
                {"+.5e1x", 5, 5},
                {"-1.5E+2", 7, -150},
                {"1e", 1, 1},
                {"1e+", 1, 1},
                {".", 0, 0},
                {"-", 0, 0},
                {"", 0, 0},
                {"-.e5", 0, 0},
                {"e5", 0, 0},
                {"nan", 0, 0},
                {"0.1.2", 3, .1},
                {"00000000000000000000000012", 26, 12},
                {"1e400", 5, INFINITY},
                {"1e-400", 6, 0},
                {"0.00000000000000000000000000000012", 34, 1.2e-31},
                {"123456789012345678901234567890", 30, 123456789012345678901234567890.0},
                {"3.14159265358979323846264338327950288", 37, 3.14159265358979323846}};
    for (size_t i = 0; i < PX_COUNT(rows); i++) {
        double value = 0;
        const char *text = rows[i].text;
        assert_int_equal(px_parse_double(text, text + strlen(text), &value) - text, rows[i].length);
        if (value != rows[i].value && fabs(value - rows[i].value) > 3e-16 * fabs(rows[i].value))
            fail_msg("%s was read as %.17g", text, value);
        for (size_t cut = 0; cut <= strlen(text); cut++) { /* exact size, so that sanitizers detect overruns */
            char *exact = malloc(cut + (cut == 0));
            memcpy(exact, text, cut);
            assert_true(px_parse_double(exact, exact + cut, &value) <= exact + cut);
            free(exact);
        }
    }
}

static void doubles_read_like_strtod(void **state) {
    (void)state;
    test_random random = {.state = 2};
    for (int i = 0; i < 200000; i++) {
        char text[64];
        double wanted = test_random_real(&random, -1000, 1000) * pow(10, test_random_real(&random, -12, 12));
        snprintf(text, sizeof text, "%.*g", 1 + (int)test_random_below(&random, 15), wanted);
        double value = 0;
        assert_true(px_parse_double(text, text + strlen(text), &value) == text + strlen(text));
        if (value != strtod(text, NULL) && fabs(value - strtod(text, NULL)) > 2.3e-16 * fabs(value))
            fail_msg("%s was read as %.17g", text, value);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_read_back),
        cmocka_unit_test(floats_are_short),
        cmocka_unit_test(odd_spellings),
        cmocka_unit_test(doubles_read_like_strtod),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
