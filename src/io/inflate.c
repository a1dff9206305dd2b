/* Decompression of zlib data: see inflate.h. Codes are decoded bit by bit, shortest first (canonical Huffman codes). */
#include "io/inflate.h"

#include <string.h>

#define MAX_BITS 15 /* of a code */
#define LENGTHS  288
#define OFFSETS  32

typedef struct stream {
    const uint8_t *in, *end;
    uint8_t *out;
    size_t count, size; /* bytes written, and in all */
    uint32_t bits;      /* that are read and not used yet, the next one lowest */
    int bit_count;
    bool failed; /* read beyond the end */
} stream;

/* A set of codes: codes of one length are consecutive numbers, in the order of their symbols. */
typedef struct codes {
    uint16_t counts[MAX_BITS + 1]; /* [length] number of codes */
    uint16_t symbols[LENGTHS];     /* by length, then symbol */
} codes;

static uint32_t take(stream *s, int count) {
    while (s->bit_count < count) {
        if (s->in == s->end) {
            s->failed = true;
            return 0;
        }
        s->bits |= (uint32_t)*s->in++ << s->bit_count;
        s->bit_count += 8;
    }
    uint32_t value = s->bits & ((1u << count) - 1);
    s->bits >>= count;
    s->bit_count -= count;
    return value;
}

/* Makes codes from their lengths [count]; 0: the symbol has none. False: there are more codes than bits allow. */
static bool make_codes(codes *c, const uint8_t *lengths, int count) {
    uint16_t firsts[MAX_BITS + 2] = {0};
    memset(c, 0, sizeof *c);
    for (int i = 0; i < count; i++)
        c->counts[lengths[i]]++;
    c->counts[0] = 0;
    int room = 1;
    for (int length = 1; length <= MAX_BITS; length++) {
        room = 2 * room - c->counts[length];
        if (room < 0)
            return false;
        firsts[length + 1] = (uint16_t)(firsts[length] + c->counts[length]);
    }
    for (int i = 0; i < count; i++)
        if (lengths[i])
            c->symbols[firsts[lengths[i]]++] = (uint16_t)i;
    return true;
}

/* The next symbol; -1: no code begins with these bits. */
static int decode(stream *s, const codes *c) {
    int code = 0, first = 0, index = 0;
    for (int length = 1; length <= MAX_BITS && !s->failed; length++) {
        code |= (int)take(s, 1);
        int count = c->counts[length];
        if (code - first < count)
            return c->symbols[index + code - first];
        index += count;
        first = (first + count) << 1;
        code <<= 1;
    }
    return -1;
}

static bool stored_block(stream *s) {
    s->bits = 0;
    s->bit_count = 0;
    if (s->end - s->in < 4)
        return false;
    size_t length = s->in[0] | (size_t)s->in[1] << 8, inverse = s->in[2] | (size_t)s->in[3] << 8;
    s->in += 4;
    if (length != (inverse ^ 0xFFFF) || length > (size_t)(s->end - s->in) || length > s->size - s->count)
        return false;
    memcpy(s->out + s->count, s->in, length);
    s->in += length;
    s->count += length;
    return true;
}

/* Copies `length` bytes from `distance` before: they may overlap. */
static bool copy_back(stream *s, size_t length, size_t distance) {
    if (distance > s->count || length > s->size - s->count)
        return false;
    for (size_t i = 0; i < length; i++, s->count++)
        s->out[s->count] = s->out[s->count - distance];
    return true;
}

static bool coded_block(stream *s, const codes *literals, const codes *offsets) {
    static const uint16_t lengths[] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                       31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
    static const uint8_t length_bits[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                          2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
    static const uint16_t distances[] = {1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
                                         33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
                                         1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
    static const uint8_t distance_bits[] = {0, 0, 0, 0, 1, 1, 2, 2,  3,  3,  4,  4,  5,  5,  6,
                                            6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13};
    for (int symbol; (symbol = decode(s, literals)) != 256;) {
        if (symbol < 0 || symbol > 285 || s->failed)
            return false;
        if (symbol < 256) {
            if (s->count == s->size)
                return false;
            s->out[s->count++] = (uint8_t)symbol;
            continue;
        }
        size_t length = lengths[symbol - 257] + take(s, length_bits[symbol - 257]);
        int offset = decode(s, offsets);
        if (offset < 0 || offset > 29)
            return false;
        size_t distance = distances[offset] + take(s, distance_bits[offset]);
        if (s->failed || !copy_back(s, length, distance))
            return false;
    }
    return !s->failed;
}

static bool fixed_block(stream *s) {
    uint8_t lengths[LENGTHS];
    codes literals, offsets;
    memset(lengths, 8, 144);
    memset(lengths + 144, 9, 112);
    memset(lengths + 256, 7, 24);
    memset(lengths + 280, 8, 8);
    make_codes(&literals, lengths, LENGTHS);
    memset(lengths, 5, OFFSETS);
    make_codes(&offsets, lengths, 30);
    return coded_block(s, &literals, &offsets);
}

static bool dynamic_block(stream *s) {
    static const uint8_t order[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    int literal_count = (int)take(s, 5) + 257, offset_count = (int)take(s, 5) + 1, order_count = (int)take(s, 4) + 4;
    uint8_t lengths[LENGTHS + OFFSETS] = {0};
    codes literals, offsets;
    if (literal_count > 286 || offset_count > 30)
        return false;
    for (int i = 0; i < order_count; i++)
        lengths[order[i]] = (uint8_t)take(s, 3);
    if (!make_codes(&literals, lengths, 19)) /* codes of the lengths */
        return false;
    memset(lengths, 0, sizeof lengths);
    for (int i = 0; i < literal_count + offset_count;) {
        int symbol = decode(s, &literals);
        if (symbol < 0 || s->failed)
            return false;
        if (symbol < 16) {
            lengths[i++] = (uint8_t)symbol;
            continue;
        }
        if (symbol == 16 && i == 0)
            return false;
        uint8_t value = symbol == 16 ? lengths[i - 1] : 0;
        int repeat = symbol == 16 ? 3 + (int)take(s, 2) : symbol == 17 ? 3 + (int)take(s, 3) : 11 + (int)take(s, 7);
        if (repeat > literal_count + offset_count - i)
            return false;
        while (repeat-- > 0)
            lengths[i++] = value;
    }
    return !s->failed && make_codes(&literals, lengths, literal_count) &&
           make_codes(&offsets, lengths + literal_count, offset_count) && coded_block(s, &literals, &offsets);
}

bool px_inflate(const uint8_t *data, size_t size, uint8_t *out, size_t out_size) {
    if (size < 2 || (data[0] & 15) != 8 || (data[0] << 8 | data[1]) % 31 != 0 || (data[1] & 32))
        return false;
    stream s = {.in = data + 2, .end = data + size, .out = out, .size = out_size};
    for (bool last = false; !last;) {
        last = take(&s, 1);
        uint32_t kind = take(&s, 2);
        bool ok = !s.failed && (kind == 0   ? stored_block(&s)
                                : kind == 1 ? fixed_block(&s)
                                : kind == 2 ? dynamic_block(&s)
                                            : false);
        if (!ok)
            return false;
    }
    return s.count == s.size;
}
