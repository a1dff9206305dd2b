/* Records of FBX files as a tree: see fbx.h. Binary files of version 7.1 to 7.7 and text files of version 7. */
#include "io/fbx.h"

#include "io/inflate.h"

#include <math.h>

#define MAX_DEPTH   64u
#define HEADER_SIZE 27u
#define MAX_RATIO   1032u /* bytes that a compressed byte can stand for */
#define MIN_VERSION 7000u
#define MAX_VERSION 7999u

static pelt_result damaged(px_fbx *fbx, size_t place, const char *what) {
    return px_fail(fbx->context, PELT_ERROR_INPUT, "byte %zu: %s", place, what);
}

static px_fbx_node *new_node(px_fbx *fbx, px_text name) {
    px_fbx_node *node = PX_NEW(fbx->arena, px_fbx_node, 1);
    if (node)
        node->name = name;
    return node;
}

/* ---- Binary files --------------------------------------------------------------------------------------------- */

typedef struct cursor {
    px_fbx *fbx;
    const uint8_t *data;
    size_t at, end;
    bool wide; /* offsets of 64 bits */
} cursor;

static bool has(const cursor *c, size_t size) {
    return size <= c->end - c->at;
}

static float load_f32(const uint8_t *p) {
    uint32_t bits = px_load_u32(p);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double load_f64(const uint8_t *p) {
    uint64_t bits = px_load_u64(p);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static size_t element_size(char type) {
    return type == 'd' || type == 'l' ? 8 : type == 'f' || type == 'i' ? 4 : 1;
}

static pelt_result read_array(cursor *c, px_fbx_value *value) {
    if (!has(c, 12))
        return damaged(c->fbx, c->at, "the file ends inside of an array");
    uint32_t count = px_load_u32(c->data + c->at), encoding = px_load_u32(c->data + c->at + 4),
             size = px_load_u32(c->data + c->at + 8);
    size_t whole = (size_t)count * element_size(value->type);
    c->at += 12;
    if (encoding > 1)
        return damaged(c->fbx, c->at, "an array has an unknown encoding");
    if (encoding == 0 && (whole / element_size(value->type) != count || whole > UINT32_MAX))
        return damaged(c->fbx, c->at, "an array is too long");
    size_t stored = encoding ? size : whole;
    if (!has(c, stored) || whole / MAX_RATIO > stored)
        return damaged(c->fbx, c->at, "an array is longer than the file");
    *value = (px_fbx_value){.kind = PX_FBX_ARRAY,
                            .type = value->type,
                            .packed = encoding == 1,
                            .count = count,
                            .text = {(const char *)c->data + c->at, stored}};
    c->at += stored;
    return PELT_OK;
}

static void set_number(px_fbx_value *value, px_fbx_kind kind, double number) {
    value->kind = kind;
    value->number = number;
    value->integer = number > -9e18 && number < 9e18 ? (int64_t)number : 0;
}

static pelt_result read_value(cursor *c, px_fbx_value *value) {
    static const struct {
        char type;
        uint8_t size;
    } scalars[] = {{'Y', 2}, {'C', 1}, {'B', 1}, {'I', 4}, {'F', 4}, {'D', 8}, {'L', 8}};
    if (!has(c, 1))
        return damaged(c->fbx, c->at, "the file ends inside of a record");
    char type = (char)c->data[c->at++];
    for (size_t s = 0; s < PX_COUNT(scalars); s++)
        if (scalars[s].type == type) {
            if (!has(c, scalars[s].size))
                return damaged(c->fbx, c->at, "the file ends inside of a number");
            const uint8_t *p = c->data + c->at;
            c->at += scalars[s].size;
            if (type == 'F' || type == 'D') {
                set_number(value, PX_FBX_NUMBER, type == 'F' ? (double)load_f32(p) : load_f64(p));
                return PELT_OK;
            }
            value->kind = PX_FBX_INTEGER;
            value->integer = type == 'L'   ? (int64_t)px_load_u64(p)
                             : type == 'I' ? (int32_t)px_load_u32(p)
                             : type == 'Y' ? (int16_t)(p[0] | p[1] << 8)
                                           : p[0];
            value->number = (double)value->integer;
            return PELT_OK;
        }
    if (type == 'S' || type == 'R') {
        if (!has(c, 4) || !(c->at += 4, has(c, px_load_u32(c->data + c->at - 4))))
            return damaged(c->fbx, c->at, "a text is longer than the file");
        size_t size = px_load_u32(c->data + c->at - 4);
        *value = (px_fbx_value){.kind = PX_FBX_TEXT, .text = {(const char *)c->data + c->at, size}};
        c->at += size;
        return PELT_OK;
    }
    if (!type || !strchr("ilfdbc", type))
        return damaged(c->fbx, c->at - 1, "a value has an unknown type");
    value->type = type;
    return read_array(c, value);
}

/* Reads a record; *out is NULL for the record of zeros that ends a list. */
static pelt_result read_record(cursor *c, uint32_t depth, px_fbx_node **out) {
    size_t start = c->at, width = c->wide ? 8 : 4;
    *out = NULL;
    if (depth > MAX_DEPTH)
        return damaged(c->fbx, start, "records are nested too deeply");
    if (!has(c, 3 * width + 1))
        return damaged(c->fbx, start, "the file ends inside of a record");
    const uint8_t *p = c->data + start;
    uint64_t end = c->wide ? px_load_u64(p) : px_load_u32(p);
    uint64_t count = c->wide ? px_load_u64(p + 8) : px_load_u32(p + 4);
    size_t name_size = p[3 * width];
    c->at += 3 * width + 1;
    if (end == 0)
        return PELT_OK;
    if (end > c->end || end < c->at || name_size > end - c->at || count > end - c->at - name_size)
        return damaged(c->fbx, start, "a record is longer than the file");
    px_fbx_node *node = new_node(c->fbx, (px_text){(const char *)c->data + c->at, name_size});
    c->at += name_size;
    if (!node || !(node->values = PX_NEW(c->fbx->arena, px_fbx_value, (size_t)count)))
        return PELT_ERROR_MEMORY;
    cursor inside = *c;
    inside.end = (size_t)end;
    for (; node->value_count < count; node->value_count++)
        PX_TRY(read_value(&inside, &node->values[node->value_count]));
    px_fbx_node **link = &node->first;
    while (inside.at < inside.end) {
        PX_TRY(read_record(&inside, depth + 1, link));
        if (!*link)
            break;
        link = &(*link)->next;
    }
    c->at = (size_t)end;
    *out = node;
    return PELT_OK;
}

static pelt_result parse_binary(px_fbx *fbx) {
    cursor c = {.fbx = fbx, .data = fbx->read->file.data, .at = HEADER_SIZE, .end = fbx->read->file.size};
    fbx->version = px_load_u32(c.data + 23);
    c.wide = fbx->version >= 7500;
    px_fbx_node **link = &fbx->root->first;
    while (c.at < c.end) {
        PX_TRY(read_record(&c, 0, link));
        if (!*link) /* the footer follows */
            return PELT_OK;
        link = &(*link)->next;
    }
    return PELT_OK;
}

/* ---- Text files ----------------------------------------------------------------------------------------------- */

typedef struct reader {
    px_fbx *fbx;
    const char *start, *p, *end;
    px_buffer values; /* px_fbx_value of the records that are open */
} reader;

static pelt_result text_damaged(const reader *r, const char *what) {
    size_t line = 1;
    for (const char *p = r->start; p < r->p; p++)
        line += *p == '\n';
    return px_fail(r->fbx->context, PELT_ERROR_INPUT, "line %zu: %s", line, what);
}

/* Skips blanks and comments; with `lines` also line ends. */
static void skip(reader *r, bool lines) {
    for (; r->p < r->end; r->p++) {
        if (*r->p == ';')
            while (r->p + 1 < r->end && r->p[1] != '\n')
                r->p++;
        else if (*r->p != ' ' && *r->p != '\t' && *r->p != '\r' && !(lines && *r->p == '\n'))
            return;
    }
}

static bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '|' || c == '.';
}

static bool is_next(const reader *r, char c) {
    return r->p < r->end && *r->p == c;
}

/* "*24 { a: 1,2,3 }" */
static pelt_result read_text_array(reader *r, px_fbx_value *value) {
    double count;
    const char *after = px_parse_double(r->p + 1, r->end, &count);
    if (!after)
        return text_damaged(r, "'*' should be followed by the length of an array");
    r->p = after;
    skip(r, true);
    const char *colon = is_next(r, '{') ? memchr(r->p, ':', (size_t)(r->end - r->p)) : NULL;
    const char *close = colon ? memchr(colon, '}', (size_t)(r->end - colon)) : NULL;
    if (!close && is_next(r, '{') && count == 0)
        colon = close = memchr(r->p, '}', (size_t)(r->end - r->p));
    if (!close)
        return text_damaged(r, "an array has no content");
    *value = (px_fbx_value){
        .kind = PX_FBX_ARRAY, .type = 't', .text = {colon + 1, colon == close ? 0 : (size_t)(close - colon - 1)}};
    r->p = close + 1;
    return PELT_OK;
}

static pelt_result read_text_value(reader *r, px_fbx_value *value) {
    *value = (px_fbx_value){0};
    if (is_next(r, ',')) { /* "Content: ," and the text in the next line */
        value->kind = PX_FBX_TEXT;
        value->text = (px_text){r->p, 0};
        return PELT_OK;
    }
    if (is_next(r, '"')) {
        const char *close = memchr(r->p + 1, '"', (size_t)(r->end - r->p - 1));
        if (!close)
            return text_damaged(r, "a text has no end");
        value->kind = PX_FBX_TEXT;
        value->text = (px_text){r->p + 1, (size_t)(close - r->p - 1)};
        r->p = close + 1;
        return PELT_OK;
    }
    if (is_next(r, '*'))
        return read_text_array(r, value);
    double number;
    const char *after = px_parse_double(r->p, r->end, &number);
    if (after && after > r->p) {
        set_number(value, number == floor(number) ? PX_FBX_INTEGER : PX_FBX_NUMBER, number);
        /* Identifiers have more digits than a double. */
        bool negative = is_next(r, '-');
        uint64_t integer = 0;
        const char *p = r->p + negative;
        while (p < after && *p >= '0' && *p <= '9' && integer < UINT64_MAX / 20)
            integer = 10 * integer + (uint64_t)(*p++ - '0');
        if (p == after)
            value->integer = negative ? -(int64_t)integer : (int64_t)integer;
        r->p = after;
        return PELT_OK;
    }
    const char *word = r->p;
    while (r->p < r->end && is_name(*r->p))
        r->p++;
    if (r->p == word)
        return text_damaged(r, "a value is expected");
    value->kind = PX_FBX_TEXT;
    value->text = (px_text){word, (size_t)(r->p - word)};
    return PELT_OK;
}

static pelt_result read_text_records(reader *r, uint32_t depth, px_fbx_node **link);

static pelt_result read_text_record(reader *r, uint32_t depth, px_fbx_node **out) {
    const char *name = r->p;
    while (r->p < r->end && is_name(*r->p))
        r->p++;
    px_fbx_node *node = new_node(r->fbx, (px_text){name, (size_t)(r->p - name)});
    if (!node)
        return PELT_ERROR_MEMORY;
    skip(r, false);
    if (r->p == name || !is_next(r, ':'))
        return text_damaged(r, "'NAME:' is expected");
    r->p++;
    skip(r, false);
    size_t first = r->values.size;
    bool more = r->p < r->end && *r->p != '\n' && *r->p != '{' && *r->p != '}';
    while (more) {
        px_fbx_value value;
        PX_TRY(read_text_value(r, &value));
        px_buffer_add(&r->values, &value, sizeof value);
        skip(r, false);
        more = is_next(r, ',');
        if (more) {
            r->p++;
            skip(r, true); /* long lists go on in the next line */
        }
    }
    node->value_count = (uint32_t)((r->values.size - first) / sizeof *node->values);
    node->values = PX_NEW(r->fbx->arena, px_fbx_value, node->value_count);
    if (r->values.failed || !node->values)
        return PELT_ERROR_MEMORY;
    if (node->value_count)
        memcpy(node->values, r->values.data + first, r->values.size - first);
    r->values.size = first;
    if (is_next(r, '{')) {
        r->p++;
        PX_TRY(read_text_records(r, depth + 1, &node->first));
        if (!is_next(r, '}'))
            return text_damaged(r, "'}' is missing");
        r->p++;
    }
    *out = node;
    return PELT_OK;
}

static pelt_result read_text_records(reader *r, uint32_t depth, px_fbx_node **link) {
    if (depth > MAX_DEPTH)
        return text_damaged(r, "records are nested too deeply");
    for (skip(r, true); r->p < r->end && *r->p != '}'; skip(r, true)) {
        PX_TRY(read_text_record(r, depth, link));
        link = &(*link)->next;
    }
    return PELT_OK;
}

static pelt_result parse_text(px_fbx *fbx) {
    const char *data = (const char *)fbx->read->file.data;
    reader r = {
        .fbx = fbx, .start = data, .p = data, .end = data + fbx->read->file.size, .values.context = fbx->context};
    pelt_result result = read_text_records(&r, 0, &fbx->root->first);
    if (result == PELT_OK && r.p < r.end)
        result = text_damaged(&r, "'}' has no '{'");
    px_buffer_free(&r.values);
    const px_fbx_value *version =
        px_fbx_at(px_fbx_child(px_fbx_child(fbx->root, "FBXHeaderExtension"), "FBXVersion"), 0);
    fbx->version = version && version->integer > 0 && version->integer < 100000 ? (uint32_t)version->integer : 0;
    return result;
}

pelt_result px_fbx_parse(px_fbx *fbx) {
    if (!(fbx->root = new_node(fbx, (px_text){0})))
        return PELT_ERROR_MEMORY;
    bool binary = fbx->read->file.size >= HEADER_SIZE && memcmp(fbx->read->file.data, "Kaydara FBX Binary", 18) == 0;
    if (binary && (fbx->version = px_load_u32(fbx->read->file.data + 23)) < MIN_VERSION)
        goto old;
    PX_TRY(binary ? parse_binary(fbx) : parse_text(fbx));
    if (fbx->version >= MIN_VERSION && fbx->version <= MAX_VERSION)
        return PELT_OK;
old:
    return px_fail(fbx->context, PELT_ERROR_UNSUPPORTED,
                   "is FBX of version %u.%u; versions 7.0 to 7.7 can be read: export it again with one of these",
                   fbx->version / 1000, fbx->version / 100 % 10);
}

/* ---- Access --------------------------------------------------------------------------------------------------- */

const px_fbx_node *px_fbx_child(const px_fbx_node *node, const char *name) {
    for (const px_fbx_node *child = node ? node->first : NULL; child; child = child->next)
        if (px_text_is(child->name, name))
            return child;
    return NULL;
}

const px_fbx_value *px_fbx_at(const px_fbx_node *node, uint32_t index) {
    return node && index < node->value_count ? &node->values[index] : NULL;
}

static pelt_result numbers_of_text(px_fbx *fbx, px_text text, double **numbers, size_t *count) {
    size_t most = 1;
    for (size_t i = 0; i < text.size; i++)
        most += text.data[i] == ',';
    if (!(*numbers = PX_NEW(fbx->arena, double, most)))
        return PELT_ERROR_MEMORY;
    const char *p = text.data, *end = text.data + text.size;
    for (;;) {
        while (p < end && (*p == ' ' || *p == ',' || *p == '\n' || *p == '\r' || *p == '\t'))
            p++;
        if (p == end)
            return PELT_OK;
        double number;
        const char *after = px_parse_double(p, end, &number);
        if (!after || after == p || *count == most) /* numbers without a comma between them are more than `most` */
            return px_fail(fbx->context, PELT_ERROR_INPUT, "an array has '%.*s' where a number is expected",
                           (int)px_min_size(20, (size_t)(end - p)), p);
        (*numbers)[(*count)++] = number;
        p = after;
    }
}

pelt_result px_fbx_numbers(px_fbx *fbx, const px_fbx_node *node, double **numbers, size_t *count) {
    const px_fbx_value *value = px_fbx_at(node, 0);
    *count = 0;
    *numbers = NULL;
    if (!value || value->kind != PX_FBX_ARRAY)
        return PELT_OK;
    if (value->type == 't')
        return numbers_of_text(fbx, value->text, numbers, count);
    size_t size = element_size(value->type);
    const uint8_t *bytes = (const uint8_t *)value->text.data;
    double *out = PX_NEW(fbx->arena, double, value->count);
    uint8_t *unpacked = value->packed ? PX_ALLOC(fbx->context, uint8_t, px_mul_size(value->count, size) + 1) : NULL;
    if (!out || (value->packed && !unpacked)) {
        px_free(fbx->context, unpacked);
        return PELT_ERROR_MEMORY;
    }
    bool good = !value->packed || px_inflate(bytes, value->text.size, unpacked, value->count * size);
    for (size_t i = 0; good && i < value->count; i++) {
        const uint8_t *p = (value->packed ? unpacked : bytes) + i * size;
        out[i] = value->type == 'd'   ? load_f64(p)
                 : value->type == 'f' ? (double)load_f32(p)
                 : value->type == 'i' ? (double)(int32_t)px_load_u32(p)
                 : value->type == 'l' ? (double)(int64_t)px_load_u64(p)
                                      : (double)p[0];
    }
    px_free(fbx->context, unpacked);
    if (!good)
        return px_fail(fbx->context, PELT_ERROR_INPUT, "the compressed array '%.*s' is damaged", (int)node->name.size,
                       node->name.data);
    *numbers = out;
    *count = value->count;
    return PELT_OK;
}

pelt_result px_fbx_indices(px_fbx *fbx, const px_fbx_node *node, int32_t **indices, size_t *count) {
    double *numbers;
    PX_TRY(px_fbx_numbers(fbx, node, &numbers, count));
    *indices = PX_NEW(fbx->arena, int32_t, *count);
    if (!*indices)
        return PELT_ERROR_MEMORY;
    for (size_t i = 0; i < *count; i++) {
        if (!(numbers[i] >= INT32_MIN && numbers[i] <= INT32_MAX))
            return px_fail(fbx->context, PELT_ERROR_INPUT, "'%.*s' has an index that is too large",
                           (int)node->name.size, node->name.data);
        (*indices)[i] = (int32_t)numbers[i];
    }
    return PELT_OK;
}
