/* Stores around the caches. A line that is stored whole need not be read first, which for large outputs halves what goes
 * over the memory bus, and leaves the caches to palettes and rest vertices. */
#include "crowd/crowd.h"

#if defined(__x86_64__)

#include <emmintrin.h>

#define LINE_FLOATS ((size_t)16)

void px_crowd_stream(float *to, const float *from, size_t count) {
    size_t head = px_min_size(((uintptr_t)0 - (uintptr_t)to) / sizeof *to % LINE_FLOATS, count);
    memcpy(to, from, head * sizeof *to);
    size_t i = head;
    for (; i + LINE_FLOATS <= count; i += LINE_FLOATS)
        for (size_t e = 0; e < LINE_FLOATS; e += 4)
            _mm_stream_ps(to + i + e, _mm_loadu_ps(from + i + e));
    memcpy(to + i, from + i, (count - i) * sizeof *to);
}

void px_crowd_stream_end(void) {
    _mm_sfence();
}

#else

void px_crowd_stream(float *to, const float *from, size_t count) {
    memcpy(to, from, count * sizeof *to);
}

void px_crowd_stream_end(void) {}

#endif
