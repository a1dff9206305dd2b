#include "cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_cache(data, size, "pc2", size > 16 ? data[16] : 4);
    return 0;
}
