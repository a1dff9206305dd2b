/* Ogawa files, for writing: groups, data and the keys of samples. */
#include "io/ogawa.h"

#define DATA_BIT (UINT64_C(1) << 63)

void px_ogawa_store(void *out, uint64_t value, size_t size) {
    for (size_t i = 0; i < size; i++)
        ((uint8_t *)out)[i] = (uint8_t)(value >> 8 * i);
}

void px_ogawa_number(px_buffer *bytes, uint64_t value, size_t size) {
    uint8_t stored[8];
    px_ogawa_store(stored, value,
                   sizeof stored); /* a fixed number: gcc 12 warns of an overflow where `size` is not known */
    px_buffer_add(bytes, stored, size);
}

void px_ogawa_words(void *out, const void *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, (const uint8_t *)values + 4 * i, sizeof bits);
        px_ogawa_store((uint8_t *)out + 4 * i, bits, 4);
    }
}

void px_ogawa_header(uint64_t root, uint8_t header[PX_OGAWA_HEADER]) {
    memcpy(header, "Ogawa\xFF\0\1", 8);
    px_ogawa_store(header + 8, root, 8);
}

/* ---- Keys ------------------------------------------------------------------------------------------------- */

#define C1 UINT64_C(0x87C37B91114253D5)
#define C2 UINT64_C(0x4CF5AD432745937F)

static inline uint64_t rotate(uint64_t x, int bits) {
    return x << bits | x >> (64 - bits);
}

static uint64_t finish(uint64_t k) {
    k = (k ^ k >> 33) * UINT64_C(0xFF51AFD7ED558CCD);
    k = (k ^ k >> 33) * UINT64_C(0xC4CEB9FE1A85EC53);
    return k ^ k >> 33;
}

void px_ogawa_key(const void *values, size_t size, uint8_t key[PX_OGAWA_KEY]) {
    const uint8_t *bytes = (const uint8_t *)values;
    uint64_t h1 = 0, h2 = 0;
    size_t whole = size - size % 16;
    for (size_t at = 0; at < whole; at += 16) {
        h1 ^= rotate(px_load_u64(bytes + at) * C1, 31) * C2;
        h1 = (rotate(h1, 27) + h2) * 5 + 0x52DCE729;
        h2 ^= rotate(px_load_u64(bytes + at + 8) * C2, 33) * C1;
        h2 = (rotate(h2, 31) + h1) * 5 + 0x38495AB5;
    }
    uint8_t rest[16] = {0};
    if (size > whole)
        memcpy(rest, bytes + whole, size - whole);
    h2 ^= rotate(px_load_u64(rest + 8) * C2, 33) * C1;
    h1 ^= rotate(px_load_u64(rest) * C1, 31) * C2;
    h1 ^= size;
    h2 ^= size;
    h1 += h2;
    h2 += h1;
    h1 = finish(h1);
    h2 = finish(h2);
    h1 += h2;
    h2 += h1;
    px_ogawa_store(key, h1, 8);
    px_ogawa_store(key + 8, h2, 8);
}

/* ---- Groups and data -------------------------------------------------------------------------------------- */

uint64_t px_ogawa_data_at(uint64_t place) {
    return place | DATA_BIT;
}

uint64_t px_ogawa_put_group(ogawa_out *out, const uint64_t *children, size_t count) {
    uint64_t place = out->base + out->bytes.size;
    if (count == 0)
        return 0;
    px_ogawa_number(&out->bytes, count, 8);
    for (size_t i = 0; i < count; i++)
        px_ogawa_number(&out->bytes, children[i], 8);
    return place;
}

uint64_t px_ogawa_put_data(ogawa_out *out, const void *bytes, size_t size) {
    uint64_t place = out->base + out->bytes.size;
    if (size == 0)
        return DATA_BIT;
    px_ogawa_number(&out->bytes, size, 8);
    px_buffer_add(&out->bytes, bytes, size);
    return px_ogawa_data_at(place);
}

uint64_t px_ogawa_put_sample(ogawa_out *out, const uint8_t key[PX_OGAWA_KEY], const void *values, size_t size) {
    uint64_t place = out->base + out->bytes.size;
    if (size == 0)
        return DATA_BIT;
    px_ogawa_number(&out->bytes, PX_OGAWA_KEY + size, 8);
    px_buffer_add(&out->bytes, key, PX_OGAWA_KEY);
    px_buffer_add(&out->bytes, values, size);
    return px_ogawa_data_at(place);
}
