/* Decompression of zlib data (RFC 1950, 1951), for arrays in FBX files. */
#ifndef PELT_IO_INFLATE_H
#define PELT_IO_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decompresses data [size] to exactly out_size bytes. False: the data is damaged, or has more or fewer bytes. */
bool px_inflate(const uint8_t *data, size_t size, uint8_t *out, size_t out_size);

#endif
