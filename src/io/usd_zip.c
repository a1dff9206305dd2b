/* USDZ packages: zip archives without compression, in which the data of every file begins at a multiple of 64 bytes: see usd.h. */
#include "io/usd.h"

#define ALIGNMENT    64u
#define LOCAL_SIZE   30u
#define CENTRAL_SIZE 46u
#define END_SIZE     22u

static void store_u16(uint8_t *p, uint32_t value) {
    p[0] = (uint8_t)value;
    p[1] = (uint8_t)(value >> 8);
}

static void store_u32(uint8_t *p, uint32_t value) {
    store_u16(p, value);
    store_u16(p + 2, value >> 16);
}

/* The checksum of zip archives (CRC-32, reflected polynomial EDB88320). */
static uint32_t checksum(const uint8_t *data, size_t size) {
    uint32_t table[256], crc = UINT32_MAX;
    for (uint32_t n = 0; n < 256; n++) {
        table[n] = n;
        for (int b = 0; b < 8; b++)
            table[n] = table[n] >> 1 ^ (table[n] & 1 ? 0xEDB88320u : 0);
    }
    for (size_t i = 0; i < size; i++)
        crc = crc >> 8 ^ table[(crc ^ data[i]) & 255];
    return ~crc;
}

/* The fields that local and central headers share, from the version on. The date is 1 January 1980: the same model gives the same bytes. */
static void store_fields(uint8_t *p, const px_usd_entry *entry, uint32_t crc) {
    store_u16(p, 10);             /* version needed */
    store_u16(p + 8, 1 << 5 | 1); /* date, after flags, method and time of 0 */
    store_u32(p + 10, crc);
    store_u32(p + 14, (uint32_t)entry->size);
    store_u32(p + 18, (uint32_t)entry->size);
    store_u16(p + 22, (uint32_t)strlen(entry->name));
}

/* Bytes of the extra field that move the data of an entry to a multiple of 64; a field has at least 4. */
static uint32_t padding(uint64_t offset, const px_usd_entry *entry) {
    uint32_t pad = (uint32_t)(0 - (offset + LOCAL_SIZE + strlen(entry->name))) & (ALIGNMENT - 1);
    return pad > 0 && pad < 4 ? pad + ALIGNMENT : pad;
}

pelt_result px_usd_write_zip(pelt_context *context, px_output_file *file, const px_usd_entry *entries,
                             uint32_t entry_count) {
    uint64_t offset = 0, central_size = 0;
    uint8_t bytes[LOCAL_SIZE + 2 * ALIGNMENT];
    px_buffer central = {.context = context};
    pelt_result result = PELT_OK;
    for (uint32_t n = 0; n < entry_count; n++)
        offset += LOCAL_SIZE + strlen(entries[n].name) + 2 * ALIGNMENT + entries[n].size;
    if (offset > UINT32_MAX / 2 || entry_count > 65535)
        return px_fail(context, PELT_ERROR_OUTPUT, "would be larger than 2 GB; write a .usda instead");
    offset = 0;
    for (uint32_t n = 0; n < entry_count && result == PELT_OK; n++) {
        const px_usd_entry *entry = &entries[n];
        uint32_t pad = padding(offset, entry), crc = checksum(entry->data, entry->size);
        memset(bytes, 0, sizeof bytes);
        store_u32(bytes, 0x02014B50);
        store_u16(bytes + 4, 10);
        store_fields(bytes + 6, entry, crc);
        store_u32(bytes + 42, (uint32_t)offset);
        px_buffer_add(&central, bytes, CENTRAL_SIZE);
        px_buffer_text(&central, entry->name);
        memset(bytes, 0, sizeof bytes);
        store_u32(bytes, 0x04034B50);
        store_fields(bytes + 4, entry, crc);
        store_u16(bytes + 28, pad);
        result = px_output_write(file, bytes, LOCAL_SIZE);
        if (result == PELT_OK)
            result = px_output_write(file, entry->name, strlen(entry->name));
        memset(bytes, 0, sizeof bytes);
        store_u16(bytes, 0x1986); /* an identifier that readers skip */
        store_u16(bytes + 2, pad - 4);
        if (result == PELT_OK)
            result = px_output_write(file, bytes, pad);
        if (result == PELT_OK)
            result = px_output_write(file, entry->data, entry->size);
        offset += LOCAL_SIZE + strlen(entry->name) + pad + entry->size;
    }
    central_size = central.size;
    memset(bytes, 0, sizeof bytes);
    store_u32(bytes, 0x06054B50);
    store_u16(bytes + 8, entry_count);
    store_u16(bytes + 10, entry_count);
    store_u32(bytes + 12, (uint32_t)central_size);
    store_u32(bytes + 16, (uint32_t)offset);
    px_buffer_add(&central, bytes, END_SIZE);
    if (result == PELT_OK)
        result = central.failed ? PELT_ERROR_MEMORY : px_output_write(file, central.data, central.size);
    px_buffer_free(&central);
    return result;
}

/* ---- Reading ---------------------------------------------------------------------------------------------------- */

static uint32_t load_u16(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

/* The record at the end of the archive, behind which there may be a comment; NULL: there is none. */
static const uint8_t *find_end(const uint8_t *data, size_t size) {
    for (size_t back = END_SIZE; back <= size && back <= END_SIZE + 65535; back++)
        if (px_load_u32(data + size - back) == 0x06054B50)
            return data + size - back;
    return NULL;
}

static pelt_result read_entry(px_arena *arena, const uint8_t *data, size_t size, const uint8_t *central,
                              px_usd_entry *entry) {
    pelt_context *context = px_arena_context(arena);
    size_t length = px_load_u32(central + 24), offset = px_load_u32(central + 42), name_size = load_u16(central + 28);
    if (!(entry->name = px_arena_text(arena, (const char *)central + CENTRAL_SIZE, name_size)))
        return PELT_ERROR_MEMORY;
    if (load_u16(central + 10) != 0 || (load_u16(central + 8) & 1) || px_load_u32(central + 20) != length)
        return px_fail(context, PELT_ERROR_UNSUPPORTED,
                       "'%.100s' in it is compressed; USDZ packages are stored: unpack it, pack it again with 'zip -0'",
                       entry->name);
    if (offset > size || size - offset < LOCAL_SIZE || px_load_u32(data + offset) != 0x04034B50)
        return px_fail(context, PELT_ERROR_INPUT, "'%.100s' in it has no header", entry->name);
    size_t start = LOCAL_SIZE + load_u16(data + offset + 26) + load_u16(data + offset + 28);
    if (size - offset < start || size - offset - start < length)
        return px_fail(context, PELT_ERROR_INPUT, "'%.100s' in it is cut off", entry->name);
    entry->data = data + offset + start;
    entry->size = length;
    return PELT_OK;
}

pelt_result px_usd_read_zip(px_arena *arena, const uint8_t *data, size_t size, px_usd_entry **entries,
                            uint32_t *entry_count) {
    const uint8_t *end = find_end(data, size);
    pelt_context *context = px_arena_context(arena);
    if (!end)
        return px_fail(context, PELT_ERROR_INPUT, "is a zip archive that is cut off: it has no directory");
    uint32_t count = load_u16(end + 10);
    size_t offset = px_load_u32(end + 16), limit = (size_t)(end - data);
    if (!(*entries = PX_NEW(arena, px_usd_entry, count)))
        return PELT_ERROR_MEMORY;
    for (uint32_t n = 0; n < count; n++) {
        if (offset > limit || limit - offset < CENTRAL_SIZE || px_load_u32(data + offset) != 0x02014B50)
            return px_fail(context, PELT_ERROR_INPUT, "its directory is damaged");
        const uint8_t *central = data + offset;
        size_t length = CENTRAL_SIZE + load_u16(central + 28) + load_u16(central + 30) + load_u16(central + 32);
        if (limit - offset < length)
            return px_fail(context, PELT_ERROR_INPUT, "its directory is damaged");
        PX_TRY(read_entry(arena, data, size, central, &(*entries)[n]));
        offset += length;
    }
    *entry_count = count;
    return PELT_OK;
}
