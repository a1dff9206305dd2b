/* Digests of data: to tell whether it is the same, not against forgery. */
#ifndef PELT_CORE_DIGEST_H
#define PELT_CORE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

typedef struct px_digest {
    uint64_t words[2];
} px_digest;

#define PX_DIGEST_START                                                                                                \
    {                                                                                                                  \
        { 1, 2 }                                                                                                       \
    }

/* Adds bytes, and that they are `size`: the same bytes in other portions give another digest. */
void px_digest_add(px_digest *digest, const void *data, size_t size);

#endif
