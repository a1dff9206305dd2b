/* PLY (Stanford polygon format): entry in the table of formats, and the header parser.
 *
 * The header is text: "ply", "format ENCODING 1.0", then the elements in the order of the body, each with its
 * properties:
 *
 *   element vertex 8
 *   property float x
 *   property list uchar int vertex_indices
 *   end_header
 */
#include "io/ply.h"

static bool sniff(const uint8_t *data, size_t size) {
    return size >= 4 && memcmp(data, "ply", 3) == 0 && (data[3] == '\n' || data[3] == '\r');
}

size_t px_ply_size(ply_type type) {
    static const uint8_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 8, 0};
    return sizes[type];
}

/* ---- Words ------------------------------------------------------------------------------------------------ */

typedef struct reader {
    pelt_context *context;
    const char *p, *end; /* read position, end of the file */
    size_t line;         /* counted from 1 */
    ply_header *header;
} reader;

/* The next word of the line; size 0 at the end of the line. */
static px_text next_word(reader *r) {
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\t'))
        r->p++;
    const char *start = r->p;
    while (r->p < r->end && (unsigned char)*r->p > ' ')
        r->p++;
    return (px_text){start, (size_t)(r->p - start)};
}

/* Skips the rest of the line and its line end. `pairs`: lines end in CR LF, as the first line shows. Otherwise an LF
 * after a CR may be the first byte of a binary body. */
static pelt_result end_line(reader *r, bool pairs) {
    while (r->p < r->end && *r->p != '\n' && *r->p != '\r')
        r->p++;
    if (r->p == r->end)
        return px_fail(r->context, PELT_ERROR_INPUT, "line %zu: the file ends before 'end_header'", r->line);
    bool two = pairs && *r->p == '\r' && r->p + 1 < r->end && r->p[1] == '\n';
    r->p += two ? 2 : 1;
    r->line++;
    return PELT_OK;
}

static pelt_result fail_word(reader *r, px_text word, const char *what) {
    char text[40];
    size_t size = 0;
    for (; size < word.size && size < sizeof text - 1; size++)
        text[size] = word.data[size] > ' ' && word.data[size] < 127 ? word.data[size] : '?';
    text[size] = 0;
    return px_fail(r->context, PELT_ERROR_INPUT, "line %zu: '%s' %s", r->line, text, what);
}

/* ---- Statements ------------------------------------------------------------------------------------------- */

static pelt_result read_format(reader *r) {
    static const char *const names[] = {"ascii", "binary_little_endian", "binary_big_endian"};
    px_text word = next_word(r);
    for (size_t e = 0; e < PX_COUNT(names); e++)
        if (px_text_is(word, names[e])) {
            r->header->encoding = (ply_encoding)e;
            return PELT_OK;
        }
    return fail_word(r, word, "is no encoding of PLY (ascii, binary_little_endian, binary_big_endian)");
}

static pelt_result read_type(reader *r, ply_type *type) {
    static const char *const names[][2] = {{"char", "int8"},     {"uchar", "uint8"},   {"short", "int16"},
                                           {"ushort", "uint16"}, {"int", "int32"},     {"uint", "uint32"},
                                           {"float", "float32"}, {"double", "float64"}};
    px_text word = next_word(r);
    for (size_t t = 0; t < PX_COUNT(names); t++)
        if (px_text_is(word, names[t][0]) || px_text_is(word, names[t][1])) {
            *type = (ply_type)t;
            return PELT_OK;
        }
    return fail_word(r, word, "is no type of a PLY property");
}

static pelt_result read_element(reader *r) {
    ply_element *element = px_list_room(r->context, &r->header->elements, 1, sizeof *element);
    if (!element)
        return PELT_ERROR_MEMORY;
    *element = (ply_element){.name = next_word(r), .first_property = r->header->properties.count};
    px_text count = next_word(r);
    for (size_t i = 0; i < count.size; i++) {
        unsigned digit = (unsigned)(unsigned char)count.data[i] - '0';
        if (digit > 9 || element->count > UINT64_MAX / 10 - 1)
            return fail_word(r, count, "is no number of elements");
        element->count = element->count * 10 + digit;
    }
    if (count.size == 0)
        return fail_word(r, element->name, "is an element without a number");
    r->header->elements.count++;
    return PELT_OK;
}

static ply_slot find_slot(const ply_element *element, const ply_property *property) {
    static const struct {
        const char *name;
        ply_slot slot;
    } values[] = {{"x", PLY_SLOT_POSITION},   {"y", PLY_SLOT_POSITION + 1}, {"z", PLY_SLOT_POSITION + 2},
                  {"nx", PLY_SLOT_NORMAL},    {"ny", PLY_SLOT_NORMAL + 1},  {"nz", PLY_SLOT_NORMAL + 2},
                  {"u", PLY_SLOT_UV},         {"v", PLY_SLOT_UV + 1},       {"s", PLY_SLOT_UV},
                  {"t", PLY_SLOT_UV + 1},     {"texture_u", PLY_SLOT_UV},   {"texture_v", PLY_SLOT_UV + 1},
                  {PLY_POINT, PLY_SLOT_POINT}};
    if (property->count_type == PLY_NONE && px_text_is(element->name, "vertex"))
        for (size_t i = 0; i < PX_COUNT(values); i++)
            if (px_text_is(property->name, values[i].name))
                return values[i].slot;
    if (property->count_type == PLY_NONE || px_text_is(element->name, "vertex"))
        return PLY_SLOT_UNKNOWN;
    if (px_text_is(property->name, "vertex_indices") || px_text_is(property->name, "vertex_index"))
        return PLY_SLOT_INDICES;
    return px_text_is(property->name, "texcoord") ? PLY_SLOT_TEXCOORD : PLY_SLOT_UNKNOWN;
}

static pelt_result read_property(reader *r) {
    ply_header *header = r->header;
    if (header->elements.count == 0)
        return px_fail(r->context, PELT_ERROR_INPUT, "line %zu: a property stands before the first element", r->line);
    ply_property *property = px_list_room(r->context, &header->properties, 1, sizeof *property);
    if (!property)
        return PELT_ERROR_MEMORY;
    *property = (ply_property){.count_type = PLY_NONE};
    const char *start = r->p;
    if (px_text_is(next_word(r), "list")) {
        PX_TRY(read_type(r, &property->count_type));
        if (property->count_type >= PLY_F32)
            return px_fail(r->context, PELT_ERROR_INPUT, "line %zu: the length of a list is no whole number", r->line);
    } else {
        r->p = start;
    }
    PX_TRY(read_type(r, &property->type));
    property->name = next_word(r);
    header->properties.count++;
    ply_element *element = (ply_element *)header->elements.data + header->elements.count - 1;
    element->property_count++;
    property->slot = find_slot(element, property);
    return PELT_OK;
}

pelt_result px_ply_read_header(pelt_context *context, const px_file *file, ply_header *header) {
    const char *start = (const char *)file->data;
    reader r = {.context = context, .p = start, .end = start + file->size, .line = 1, .header = header};
    if (!sniff(file->data, file->size))
        return px_fail(context, PELT_ERROR_INPUT, "does not begin with a line 'ply', as a PLY file must");
    bool pairs = file->size > 4 && start[3] == '\r' && start[4] == '\n', has_format = false;
    PX_TRY(end_line(&r, pairs));
    for (px_text word; !px_text_is(word = next_word(&r), "end_header");) {
        if (px_text_is(word, "format")) {
            PX_TRY(read_format(&r));
            has_format = true;
        } else if (px_text_is(word, "element")) {
            PX_TRY(read_element(&r));
        } else if (px_text_is(word, "property")) {
            PX_TRY(read_property(&r));
        } else if (word.size && !px_text_is(word, "comment") && !px_text_is(word, "obj_info")) {
            return fail_word(&r, word, "is no statement of a PLY header");
        }
        PX_TRY(end_line(&r, pairs));
    }
    if (!has_format)
        return px_fail(context, PELT_ERROR_INPUT, "its header does not tell the format (ascii or binary)");
    if (r.p < r.end)
        PX_TRY(end_line(&r, pairs));
    header->size = (size_t)(r.p - start);
    return PELT_OK;
}

const px_format px_format_ply = {
    .info = {"PLY", "ply", "Stanford PLY, and sequences of it",
             PELT_FORMAT_READ | PELT_FORMAT_WRITE | PELT_FORMAT_MESH | PELT_FORMAT_SEQUENCE},
    .sniff = sniff,
    .read = px_ply_read,
    .write = px_ply_write,
};
