#include "cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_cache(data, size, "mdd", size > 7 ? data[7] : 4);
    return 0;
}
