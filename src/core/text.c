/* Growable buffers; locale-independent conversion between numbers and text; lists of names. */
#include "core/core.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

/* ---- Growing bytes ---------------------------------------------------------------------------------------- */

/* Ensures capacity for `size` more bytes and returns the write position, or NULL. */
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

/* ---- Powers of ten ---------------------------------------------------------------------------------------- */

/* Exact in a double up to 22. */
static const double small_powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                      1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* high + low: a number of about 105 bits. */
typedef struct pair {
    double high, low;
} pair;

static pair pair_mul(pair a, pair b) {
    double rest, product = px_two_product(a.high, b.high, &rest);
    rest += a.high * b.low + a.low * b.high;
    double sum = product + rest;
    return (pair){sum, product - sum + rest};
}

static pair pair_divide(pair a, pair b) {
    double quotient = a.high / b.high, rest, product = px_two_product(quotient, b.high, &rest);
    double next = (a.high - product - rest + a.low - quotient * b.low) / b.high, sum = quotient + next;
    return (pair){sum, quotient - sum + next};
}

/* value · 10^exponent. The error is less than 2^-98 of it, so that the sum of the two is rounded correctly but for numbers that
 * are as close to the middle between two doubles. Long double would be simpler, but is another type on every machine. */
static double scaled(pair value, int exponent) {
    static const struct {
        pair mantissa;
        int twos;
    } powers[] = {
        {{0x1.4p3, 0}, 0}, /* 10^1, 10^2, 10^4, … = mantissa · 2^twos: far from overflow */
        {{0x1.9p6, 0}, 0},
        {{0x1.388p13, 0}, 0},
        {{0x1.7d784p26, 0}, 0},
        {{0x1.1c37937e08000p+53, 0}, 0},
        {{0x1.3b8b5b5056e17p+0, -0x1.3107f00000000p-54}, 106},
        {{0x1.84f03e93ff9f5p+0, -0x1.2ac340948e389p-55}, 212},
        {{0x1.27748f9301d32p+0, -0x1.901cc86649e4ap-54}, 425},
        {{0x1.54fdd7f73bf3cp+0, -0x1.7222446fe4670p-55}, 850},
    };
    unsigned left = (unsigned)(exponent < 0 ? -exponent : exponent);
    if (left > 400 || value.high == 0) /* beyond any double; digits have at most 19 places */
        return exponent < 0 || value.high == 0 ? 0 : INFINITY;
    int twos = 0;
    for (unsigned p = 0; left; p++, left >>= 1)
        if (left & 1) {
            value = exponent < 0 ? pair_divide(value, powers[p].mantissa) : pair_mul(value, powers[p].mantissa);
            twos += exponent < 0 ? -powers[p].twos : powers[p].twos;
        }
    return ldexp(value.high, twos); /* high is the rounded sum */
}

/* digits · 10^exponent, rounded as px_parse_double promises. */
static inline double decimal(uint64_t digits, int exponent) {
    if (digits < UINT64_C(1) << 53 && exponent >= -22 && exponent <= 22)
        return exponent < 0 ? (double)digits / small_powers[-exponent] : (double)digits * small_powers[exponent];
    double high = (double)(digits & ~UINT64_C(0x7FF)), low = (double)(digits & 0x7FF);
    return scaled((pair){high + low, high - (high + low) + low}, exponent);
}

/* value · 10^exponent, nearly. */
static inline double shifted(double value, int exponent) {
    if (exponent >= -22 && exponent <= 22)
        return exponent < 0 ? value / small_powers[-exponent] : value * small_powers[exponent];
    return scaled((pair){value, 0}, exponent);
}

/* ---- Numbers to text -------------------------------------------------------------------------------------- */

/* Writes the digits of a number and returns their count, at most 20. */
static size_t spell_uint(char *text, uint64_t value) {
    char digits[20];
    size_t first = sizeof digits;
    for (; value > UINT32_MAX; value /= 10)
        digits[--first] = (char)('0' + value % 10);
    uint32_t small = (uint32_t)value; /* divides several times faster */
    do
        digits[--first] = (char)('0' + small % 10);
    while ((small /= 10) != 0);
    memcpy(text, digits + first, sizeof digits - first);
    return sizeof digits - first;
}

void px_buffer_uint(px_buffer *buffer, uint64_t value) {
    char *room = buffer_room(buffer, 20);
    if (room)
        buffer->size += spell_uint(room, value);
}

/* The place of the first digit of value > 0: 0 for 1 to 9.99, −1 for 0.1 to 0.99. */
static int first_place(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    int twos = (int)(bits >> 52) - 1023; /* no double made from a float is denormal */
    int tens = (int)floor(twos * 0.30102999566398120);
    return value >= decimal(1, tens + 1) ? tens + 1 : tens;
}

/* The fewest digits D with D · 10^*exponent reading back as `value` > 0. The guess is rounded twice and
 * may be one off where it matters (9 digits); reading it back decides. Every number of 6 digits has a float of its own,
 * so that no shorter spelling is missed by beginning there; but not where floats lose digits towards 0. */
static uint64_t shortest_digits(float value, int *exponent) {
    int place = first_place((double)value);
    for (int count = value < FLT_MIN ? 1 : 6; count < 17; count++) {
        int shift = count - 1 - place;
        uint64_t guess = (uint64_t)(shifted((double)value, shift) + 0.5), slack = count >= 9;
        *exponent = -shift;
        for (uint64_t digits = guess - slack; digits <= guess + slack; digits++)
            if ((float)decimal(digits, *exponent) == value)
                return digits;
    }
    assert(false && "no float needs more than 9 digits");
    return 0;
}

/* digits · 10^exponent as 0.0012, 1.5 or 120000, further out as 1.2e-9 or 1.2e12. Returns the length, at most 40. */
static size_t spell_decimal(char *text, uint64_t digits, int exponent) {
    for (; digits && digits % 10 == 0; digits /= 10)
        exponent++;
    char spelled[20], *out = text;
    int count = (int)spell_uint(spelled, digits), whole = count + exponent; /* places before the point */
    bool power = whole < -3 || whole > 9;
    int shown = power ? 1 : whole; /* digits before the point that is written */
    if (shown <= 0)
        *out++ = '0';
    for (int i = 0; i < shown; i++)
        *out++ = i < count ? spelled[i] : '0';
    if (count > shown)
        *out++ = '.';
    for (int i = shown; i < count; i++)
        *out++ = i < 0 ? '0' : spelled[i];
    if (power) {
        *out++ = 'e';
        if (whole < 1)
            *out++ = '-';
        out += spell_uint(out, (uint64_t)(whole < 1 ? 1 - whole : whole - 1));
    }
    return (size_t)(out - text);
}

void px_buffer_float(px_buffer *buffer, float value) {
    char *room = buffer_room(buffer, 41);
    if (!room)
        return;
    char *out = room;
    if (signbit(value))
        *out++ = '-';
    float size = fabsf(value);
    int exponent = 0;
    uint64_t digits = size < 1e6f && size == (float)(uint32_t)size ? (uint64_t)size : shortest_digits(size, &exponent);
    buffer->size += (size_t)(out - room) + spell_decimal(out, digits, exponent);
}

/* The locale's decimal point becomes ours, whatever its bytes. */
static void plain_point(char *text) {
    char *out = text;
    for (const char *c = text; *c; c++)
        if (strchr("0123456789+-e", *c))
            *out++ = *c;
        else if (out == text || out[-1] != '.')
            *out++ = '.';
    *out = 0;
}

/* As for floats, a number of 15 digits has a double of its own. */
void px_buffer_double(px_buffer *buffer, double value) {
    char text[64] = "";
    for (int digits = fabs(value) < DBL_MIN ? 1 : 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        plain_point(text);
        double back = 0;
        px_parse_double(text, text + strlen(text), &back);
        if (back == value)
            break;
    }
    px_buffer_text(buffer, text);
}

/* ---- Text to numbers -------------------------------------------------------------------------------------- */

/* At most 19 digits are kept in *digits; dropped and fractional ones move *exponent. */
static const char *scan_digits(const char *p, const char *end, uint64_t *digits, int *exponent, bool fraction) {
    for (; p < end; p++) {
        unsigned digit = (unsigned)(unsigned char)*p - '0';
        if (digit > 9)
            break;
        if (*digits < UINT64_C(1000000000000000000)) {
            *digits = *digits * 10 + digit;
            *exponent -= fraction && *exponent > -100000;
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

/* Any number: slower, with any count of digits. Returns start when there is none. */
static const char *scan_number(const char *start, const char *end, uint64_t *digits, int *exponent) {
    const char *q = scan_digits(start, end, digits, exponent, false);
    size_t digit_count = (size_t)(q - start);
    if (q < end && *q == '.') {
        const char *fraction = q + 1;
        q = scan_digits(fraction, end, digits, exponent, true);
        digit_count += (size_t)(q - fraction);
    }
    return digit_count ? q : start;
}

/* Adds the digits at p. Wraps around behind 19 of them. */
static inline const char *take_digits(const char *p, const char *end, uint64_t *digits) {
    uint64_t value = *digits;
    for (unsigned digit; p < end && (digit = (unsigned)(unsigned char)*p - '0') <= 9; p++)
        value = value * 10 + digit;
    *digits = value;
    return p;
}

const char *px_parse_double(const char *p, const char *end, double *value) {
    const char *start = p;
    bool negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+'))
        start++;
    uint64_t digits = 0;
    int exponent = 0;
    const char *q = take_digits(start, end, &digits), *point = q;
    if (q < end && *q == '.') {
        q = take_digits(point + 1, end, &digits);
        exponent = q - point < 100 ? -(int)(q - point - 1) : 0;
    }
    if (q - start > 19 || q == start || (q == start + 1 && point == start)) {
        digits = 0;
        exponent = 0;
        q = scan_number(start, end, &digits, &exponent);
        if (q == start)
            return p;
    }
    if (q < end && (*q == 'e' || *q == 'E'))
        q = scan_exponent(q, end, &exponent);
    double magnitude = decimal(digits, exponent);
    *value = negative ? -magnitude : magnitude;
    return q;
}

bool px_is_not_finite(const char *p, const char *end) {
    p += p < end && (*p == '-' || *p == '+');
    if (end - p < 3)
        return false;
    return ((p[0] | 32) == 'n' && (p[1] | 32) == 'a' && (p[2] | 32) == 'n') ||
           ((p[0] | 32) == 'i' && (p[1] | 32) == 'n' && (p[2] | 32) == 'f') ||
           (p[0] >= '0' && p[0] <= '9' && p[1] == '.' && p[2] == '#');
}

/* ---- Lists of names --------------------------------------------------------------------------------------- */

bool px_next_name(const char **text, const char **name, size_t *length) {
    const char *p = *text;
    p += strspn(p, ", \t\r\n");
    *name = p;
    size_t size = strcspn(p, ",\r\n");
    *text = p + size;
    while (size > 0 && (p[size - 1] == ' ' || p[size - 1] == '\t'))
        size--;
    *length = size;
    return size > 0;
}

bool px_is_name(const char *text, const char *name, size_t length) {
    return text && strlen(text) == length && memcmp(text, name, length) == 0;
}
