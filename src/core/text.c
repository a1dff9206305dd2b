/* Growing bytes, and numbers to and from text, independent of the locale. */
#include "core/core.h"

#include <math.h>
#include <stdio.h>

/* ---- Growing bytes ---------------------------------------------------------------------------------------- */

/* Room for `size` more bytes, or NULL. */
static char *buffer_room(px_buffer *buffer, size_t size) {
    if (buffer->failed)
        return NULL;
    if (size > buffer->capacity - buffer->size) {
        size_t wanted = size > SIZE_MAX - buffer->size ? SIZE_MAX : buffer->size + size;
        size_t capacity = px_max_size(wanted, buffer->capacity < SIZE_MAX / 2 ? 2 * buffer->capacity : SIZE_MAX);
        char *grown = px_resize(buffer->context, buffer->data, px_max_size(capacity, 256), 1);
        if (!grown) {
            buffer->failed = true;
            return NULL;
        }
        buffer->data = grown;
        buffer->capacity = px_max_size(capacity, 256);
    }
    return buffer->data + buffer->size;
}

void px_buffer_add(px_buffer *buffer, const void *data, size_t size) {
    char *room = size ? buffer_room(buffer, size) : NULL;
    if (!room)
        return;
    memcpy(room, data, size);
    buffer->size += size;
}

void px_buffer_text(px_buffer *buffer, const char *text) {
    px_buffer_add(buffer, text, strlen(text));
}

void px_buffer_format(px_buffer *buffer, const char *format, ...) {
    va_list list;
    va_start(list, format);
    va_list again;
    va_copy(again, list);
    int length = vsnprintf(NULL, 0, format, list);
    char *room = length >= 0 ? buffer_room(buffer, (size_t)length + 1) : NULL;
    if (room) {
        vsnprintf(room, (size_t)length + 1, format, again);
        buffer->size += (size_t)length;
    }
    va_end(again);
    va_end(list);
}

void px_buffer_free(px_buffer *buffer) {
    px_free(buffer->context, buffer->data);
    *buffer = (px_buffer){.context = buffer->context};
}

/* ---- Numbers to text -------------------------------------------------------------------------------------- */

static void add_shortest(px_buffer *buffer, double value, int first_digits, int last_digits, bool single) {
    if (value == floor(value) && fabs(value) < 1e7) { /* most common, and the fastest */
        px_buffer_format(buffer, "%s%d", signbit(value) && value == 0 ? "-" : "", (int)value);
        return;
    }
    char text[40] = "";
    for (int digits = first_digits; digits <= last_digits; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        for (char *c = text; *c; c++)
            if (*c == ',')
                *c = '.'; /* a host's locale */
        double back = 0;
        px_parse_double(text, text + strlen(text), &back);
        if (single ? (float)back == (float)value : back == value)
            break;
    }
    px_buffer_text(buffer, text);
}

void px_buffer_float(px_buffer *buffer, float value) {
    add_shortest(buffer, (double)value, 6, 9, true);
}

void px_buffer_double(px_buffer *buffer, double value) {
    add_shortest(buffer, value, 15, 17, false);
}

/* ---- Text to numbers -------------------------------------------------------------------------------------- */

/* Exact in a double up to 22, exact in a 64-bit significand up to 27. */
static const double small_powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                      1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

static long double scaled(uint64_t digits, int exponent) {
    static const long double powers[] = {1e1L, 1e2L, 1e4L, 1e8L, 1e16L, 1e32L, 1e64L, 1e128L, 1e256L};
    long double value = (long double)digits;
    unsigned left = (unsigned)(exponent < 0 ? -exponent : exponent);
    if (left > 400) /* beyond any double; digits have at most 19 places */
        return exponent < 0 ? 0 : (long double)INFINITY;
    for (unsigned p = 0; left; p++, left >>= 1)
        if (left & 1)
            value = exponent < 0 ? value / powers[p] : value * powers[p];
    return value;
}

/* At most 19 digits are kept in *digits; dropped and fractional ones move *exponent. */
static const char *scan_digits(const char *p, const char *end, uint64_t *digits, int *exponent, bool fraction) {
    for (; p < end; p++) {
        unsigned digit = (unsigned)(unsigned char)*p - '0';
        if (digit > 9)
            break;
        if (*digits < UINT64_C(1000000000000000000)) {
            *digits = *digits * 10 + digit;
            *exponent -= fraction;
        } else if (*exponent < 100000) {
            *exponent += !fraction;
        }
    }
    return p;
}

static const char *scan_exponent(const char *p, const char *end, int *exponent) {
    const char *q = p + 1;
    bool negative = q < end && *q == '-';
    if (q < end && (*q == '-' || *q == '+'))
        q++;
    if (q >= end || (unsigned)(unsigned char)*q - '0' > 9)
        return p; /* "1e" is the number 1 and an e */
    int value = 0;
    for (; q < end && (unsigned)(unsigned char)*q - '0' <= 9; q++)
        if (value < 100000)
            value = value * 10 + (*q - '0');
    *exponent += negative ? -value : value;
    return q;
}

const char *px_parse_double(const char *p, const char *end, double *value) {
    const char *q = p;
    bool negative = q < end && *q == '-';
    if (q < end && (*q == '-' || *q == '+'))
        q++;
    uint64_t digits = 0;
    int exponent = 0;
    const char *whole = q;
    q = scan_digits(q, end, &digits, &exponent, false);
    size_t digit_count = (size_t)(q - whole);
    if (q < end && *q == '.') {
        const char *fraction = q + 1;
        q = scan_digits(fraction, end, &digits, &exponent, true);
        digit_count += (size_t)(q - fraction);
    }
    if (digit_count == 0)
        return p;
    if (q < end && (*q == 'e' || *q == 'E'))
        q = scan_exponent(q, end, &exponent);
    double magnitude;
    if (digits < UINT64_C(1) << 53 && exponent >= -22 && exponent <= 22)
        magnitude = exponent < 0 ? (double)digits / small_powers[-exponent] : (double)digits * small_powers[exponent];
    else
        magnitude = digits ? (double)scaled(digits, exponent) : 0.0;
    *value = negative ? -magnitude : magnitude;
    return q;
}
