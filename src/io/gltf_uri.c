/* URIs in glTF: embedded data (RFC 2397, base64 only) and files relative to the document (RFC 3986). */
#include "io/gltf_document.h"

bool px_gltf_is_data_uri(const char *uri) {
    return strncmp(uri, "data:", 5) == 0;
}

static int base64_value(char c) {
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

pelt_result px_gltf_data_uri(px_gltf *doc, const char *uri, size_t length, const uint8_t **data, size_t *size) {
    const char *comma = memchr(uri, ',', length), *end = uri + length;
    if (!comma || comma - uri < 7 || memcmp(comma - 7, ";base64", 7) != 0)
        return px_gltf_fail(doc, "its data URI is not in base64");
    const char *p = comma + 1;
    while (end > p && end[-1] == '=')
        end--;
    size_t digit_count = (size_t)(end - p);
    if (digit_count % 4 == 1)
        return px_gltf_fail(doc, "its data URI is cut off");
    uint8_t *out = px_arena_alloc(doc->memory, digit_count / 4 * 3 + 3, 1);
    if (!out)
        return PELT_ERROR_MEMORY;
    int8_t values[256];
    for (int c = 0; c < 256; c++)
        values[c] = (int8_t)base64_value((char)c);
    size_t used = 0;
    uint32_t bits = 0, bit_count = 0;
    int all = 0; /* negative if any digit was invalid */
    for (; p < end; p++) {
        int value = values[(uint8_t)*p];
        all |= value;
        bits = bits << 6 | ((uint32_t)value & 63);
        if ((bit_count += 6) >= 8)
            out[used++] = (uint8_t)(bits >> (bit_count -= 8));
    }
    if (all < 0)
        return px_gltf_fail(doc, "its data URI holds a character that is not base64");
    *data = out;
    *size = used;
    return PELT_OK;
}

static int hex_value(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Decodes %XX in place. Returns false on %00. */
static bool percent_decode(char *text) {
    char *out = text;
    for (const char *p = text; *p; p++) {
        int high = *p == '%' ? hex_value(p[1]) : -1, low = high >= 0 ? hex_value(p[2]) : -1;
        if (low < 0) {
            *out++ = *p;
            continue;
        }
        if ((high | low) == 0)
            return false;
        *out++ = (char)(high << 4 | low);
        p += 2;
    }
    *out = 0;
    return true;
}

/* Whether a path stays inside the folder it is relative to: not absolute, no scheme or drive, no "..". */
static bool stays_inside(const char *path) {
    if (path[0] == '/' || path[0] == '\\' || path[0] == 0)
        return false;
    for (const char *p = path; *p;) {
        size_t length = strcspn(p, "/\\");
        if (length == 2 && p[0] == '.' && p[1] == '.')
            return false;
        if (p == path && memchr(p, ':', length))
            return false;
        p += length + (p[length] != 0);
    }
    return true;
}

pelt_result px_gltf_path(px_gltf *doc, px_arena *arena, const char *uri, const char **path) {
    if (!doc->folder)
        return px_gltf_fail(doc, "names the file %.200s, but a document in memory has no folder to look in", uri);
    size_t folder_length = strlen(doc->folder), uri_length = strlen(uri);
    char *full = px_arena_alloc(arena, folder_length + uri_length + 1, 1);
    if (!full)
        return PELT_ERROR_MEMORY;
    memcpy(full, doc->folder, folder_length);
    memcpy(full + folder_length, uri, uri_length);
    if (!percent_decode(full + folder_length) || !stays_inside(full + folder_length))
        return px_gltf_fail(doc, "names the file %.200s, which is not in the document's folder; move it there", uri);
    *path = full;
    return PELT_OK;
}

const char *px_gltf_encode_uri(px_arena *arena, const char *name) {
    char *out = px_arena_alloc(arena, 3 * strlen(name) + 1, 1);
    if (!out)
        return NULL;
    char *p = out;
    for (; *name; name++) {
        unsigned char c = (unsigned char)*name;
        bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || strchr("-._~", c);
        if (plain) {
            *p++ = (char)c;
        } else {
            *p++ = '%';
            *p++ = "0123456789ABCDEF"[c >> 4];
            *p++ = "0123456789ABCDEF"[c & 15];
        }
    }
    return out;
}
