/* Wavefront OBJ: entry in the table of formats, and detection by content. */
#include "io/obj.h"

/* Number of bytes that are examined to detect the format. */
#define SNIFF_SIZE ((size_t)4096)

static bool is_keyword(const char *word, size_t length) {
    static const char *const keywords[] = {"v", "vt", "vn", "vp", "f", "o", "g", "s", "l", "p", "mtllib", "usemtl"};
    for (size_t i = 0; i < PX_COUNT(keywords); i++)
        if (strlen(keywords[i]) == length && memcmp(keywords[i], word, length) == 0)
            return true;
    return false;
}

/* Whether [p, end) begins with three numbers. */
static bool is_position(const char *p, const char *end) {
    for (int i = 0; i < 3; i++) {
        while (p < end && (*p == ' ' || *p == '\t'))
            p++;
        double value;
        const char *next = px_parse_double(p, end, &value);
        if (next == p)
            return false;
        p = next;
    }
    return true;
}

/* OBJ has no magic number. Its beginning must consist of comments and the common statements, with a vertex or a
 * material library among them; files that begin otherwise need the extension. */
static bool sniff(const uint8_t *data, size_t size) {
    const char *p = (const char *)data, *end = p + px_min_size(size, SNIFF_SIZE);
    bool found = false;
    if (end - p >= 3 && memcmp(p, "\xEF\xBB\xBF", 3) == 0)
        p += 3;
    while (p < end) {
        const char *line_end = p;
        while (line_end < end && *line_end != '\n' && *line_end != '\r' && *line_end != 0)
            line_end++;
        if (line_end == end && size > SNIFF_SIZE)
            break; /* incomplete line */
        if (line_end < end && *line_end == 0)
            return false;
        while (p < line_end && (*p == ' ' || *p == '\t'))
            p++;
        const char *word = p;
        while (p < line_end && *p != ' ' && *p != '\t')
            p++;
        size_t length = (size_t)(p - word);
        if (length && *word != '#' && !is_keyword(word, length))
            return false;
        found |= (length == 1 && *word == 'v' && is_position(p, line_end)) ||
                 (length == 6 && memcmp(word, "mtllib", 6) == 0);
        p = line_end + 1;
    }
    return found;
}

const px_format px_format_obj = {
    .info = {"OBJ", "obj", "Wavefront OBJ, and sequences of it",
             PELT_FORMAT_READ | PELT_FORMAT_WRITE | PELT_FORMAT_MESH | PELT_FORMAT_SEQUENCE},
    .sniff = sniff,
    .read = px_obj_read,
    .write = px_obj_write,
};
