/* The Ogawa container: see ogawa.h. No data is copied and no function recurses: a group that contains itself is
 * harmless here; callers that traverse groups limit their work. */
#include "io/ogawa.h"

#define HEADER_SIZE ((size_t)16)
#define DATA_BIT    (UINT64_C(1) << 63)

bool px_ogawa_sniff(const uint8_t *data, size_t size) {
    return size >= 5 && memcmp(data, "Ogawa", 5) == 0;
}

pelt_result px_ogawa_open(const ogawa_file *file, ogawa_group *root) {
    if (file->size < HEADER_SIZE)
        return px_fail(file->context, PELT_ERROR_INPUT, "is cut off: it has %zu bytes, its header alone %zu",
                       file->size, HEADER_SIZE);
    if (file->bytes[5] != 0xFF)
        return px_fail(file->context, PELT_ERROR_INPUT,
                       "was never closed by the program that wrote it; export it again");
    unsigned version = (unsigned)file->bytes[6] << 8 | file->bytes[7];
    if (version != 1)
        return px_fail(file->context, PELT_ERROR_UNSUPPORTED, "is Ogawa version %u; version 1 is read", version);
    return px_ogawa_group(file, px_load_u64(file->bytes + 8), root);
}

uint64_t px_ogawa_child(const ogawa_group *group, size_t index) {
    return index < group->count ? px_load_u64(group->children + 8 * index) : 0;
}

bool px_ogawa_is_data(uint64_t child) {
    return (child & DATA_BIT) != 0;
}

/* Reads the u64 at an offset. *left: number of bytes after it. */
static pelt_result open_place(const ogawa_file *file, uint64_t place, uint64_t *value, size_t *left) {
    if (place < HEADER_SIZE || place > file->size || file->size - place < 8)
        return px_fail(file->context, PELT_ERROR_INPUT, "is cut off or damaged: it refers to byte %llu of %zu",
                       (unsigned long long)place, file->size);
    *value = px_load_u64(file->bytes + place);
    *left = file->size - (size_t)place - 8;
    return PELT_OK;
}

pelt_result px_ogawa_group(const ogawa_file *file, uint64_t child, ogawa_group *group) {
    *group = (ogawa_group){0};
    if (child == 0)
        return PELT_OK;
    if (px_ogawa_is_data(child))
        return px_fail(file->context, PELT_ERROR_INPUT, "is damaged: there is data where a group should be");
    uint64_t count = 0;
    size_t left = 0;
    PX_TRY(open_place(file, child, &count, &left));
    if (count > left / 8)
        return px_fail(file->context, PELT_ERROR_INPUT,
                       "is cut off or damaged: the group at byte %llu has %llu children", (unsigned long long)child,
                       (unsigned long long)count);
    *group = (ogawa_group){file->bytes + child + 8, (size_t)count};
    return PELT_OK;
}

pelt_result px_ogawa_data(const ogawa_file *file, uint64_t child, ogawa_data *data) {
    *data = (ogawa_data){(const uint8_t *)"", 0};
    if (child == DATA_BIT)
        return PELT_OK;
    if (!px_ogawa_is_data(child))
        return px_fail(file->context, PELT_ERROR_INPUT, "is damaged: there is a group where data should be");
    uint64_t place = child & ~DATA_BIT, size = 0;
    size_t left = 0;
    PX_TRY(open_place(file, place, &size, &left));
    if (size > left)
        return px_fail(file->context, PELT_ERROR_INPUT, "is cut off or damaged: the data at byte %llu has %llu bytes",
                       (unsigned long long)place, (unsigned long long)size);
    *data = (ogawa_data){file->bytes + place + 8, (size_t)size};
    return PELT_OK;
}
