/* Two independent multiplicative hashes of 8 bytes at a time. */
#include "core/digest.h"

#include <string.h>

void px_digest_add(px_digest *digest, const void *data, size_t size) {
    const unsigned char *bytes = data;
    uint64_t a = digest->words[0] ^ size, b = digest->words[1] + size;
    for (size_t n = 0; n < size; n += 8) {
        uint64_t word = 0;
        memcpy(&word, bytes + n, size - n >= 8 ? 8 : size - n);
        a = (a ^ word) * UINT64_C(0x9E3779B97F4A7C15);
        a ^= a >> 29;
        b = (b + word) * UINT64_C(0xD6E8FEB86659FD93);
        b ^= b >> 32;
    }
    digest->words[0] = a;
    digest->words[1] = b;
}
