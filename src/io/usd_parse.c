/* Text of USD files (USDA) to a tree of prims and properties: see usd.h.
 *
 * The parser goes through the whole text once and checks brackets, quotes and the order of words; it keeps values as pieces of the text,
 * which are parsed when a reader asks for them.
 */
#include "io/usd.h"

#include <stdio.h>

/* ---- Errors ----------------------------------------------------------------------------------------------------- */

pelt_result px_usd_fail(const px_usd *usd, const char *p, const char *format, ...) {
    char text[256];
    size_t line = 1;
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    for (const char *c = usd->start; c < p; c++)
        line += *c == '\n';
    return px_fail(usd->context, PELT_ERROR_INPUT, "line %zu: %s", line, text);
}

/* ---- Words ------------------------------------------------------------------------------------------------------ */

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == ';';
}

/* Letters, digits, _ and all of UTF-8 beyond ASCII; also the separators of names. */
static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ':' ||
           c == '.' || (unsigned char)c >= 128;
}

static const char *skip_space(const char *p, const char *end) {
    while (p < end) {
        if (*p == '#') {
            while (p < end && *p != '\n')
                p++;
        } else if (is_space(*p)) {
            p++;
        } else {
            break;
        }
    }
    return p;
}

static px_text next_word(const char *p, const char *end) {
    const char *first = p;
    while (p < end && is_word(*p))
        p++;
    return (px_text){first, (size_t)(p - first)};
}

/* The end of a text in quotes, of an asset or a path that begins at p; NULL: it has no end. `inside` gets what is between. */
static const char *skip_quoted(const char *p, const char *end, px_text *inside) {
    char quote = *p == '<' ? '>' : *p;
    size_t width = quote != '>' && end - p >= 3 && p[1] == quote && p[2] == quote ? 3 : 1;
    for (const char *c = p + width; c < end; c++) {
        if (*c == '\\' && quote != '@' && quote != '>') {
            c++;
        } else if (*c == '\n' && width == 1) {
            return NULL;
        } else if (*c == quote && (width == 1 || (end - c >= 3 && c[1] == quote && c[2] == quote))) {
            *inside = (px_text){p + width, (size_t)(c - p) - width};
            return c + width;
        }
    }
    return NULL;
}

static bool is_quote(char c) {
    return c == '"' || c == '\'' || c == '@' || c == '<';
}

/* Finds the end of a value that begins at p: quotes, a bracket with all up to its partner, a word or a number. */
static pelt_result skip_value(const px_usd *usd, const char *p, const char **out) {
    char closers[PX_USD_MAX_DEPTH];
    int depth = 0;
    const char *first = p;
    px_text inside;
    do {
        p = skip_space(p, usd->end);
        if (p >= usd->end)
            return px_usd_fail(usd, first, depth ? "a bracket has no end" : "a value is missing");
        if (is_quote(*p)) {
            const char *after = skip_quoted(p, usd->end, &inside);
            if (!after)
                return px_usd_fail(usd, p, "a text has no end");
            p = after;
        } else if (*p == '(' || *p == '[' || *p == '{') {
            if (depth == PX_USD_MAX_DEPTH)
                return px_usd_fail(usd, p, "brackets are nested too deeply");
            closers[depth++] = *p == '(' ? ')' : *p == '[' ? ']' : '}';
            p++;
        } else if (*p == ')' || *p == ']' || *p == '}') {
            if (depth == 0 || closers[depth - 1] != *p)
                return px_usd_fail(usd, p, "'%c' has no partner", *p);
            depth--;
            p++;
        } else if (is_word(*p) || *p == '-' || *p == '+') {
            while (p < usd->end && (is_word(*p) || *p == '-' || *p == '+'))
                p++;
        } else if (depth && (*p == ',' || *p == '=')) {
            p++;
        } else {
            return px_usd_fail(usd, p, "'%c' where a value is expected", *p);
        }
    } while (depth);
    *out = p;
    return PELT_OK;
}

/* "( … )" at the read position, if there is one: what is between. */
static pelt_result parse_metadata(px_usd *usd, px_text *out) {
    const char *end;
    *out = (px_text){0};
    usd->p = skip_space(usd->p, usd->end);
    if (usd->p >= usd->end || *usd->p != '(')
        return PELT_OK;
    PX_TRY(skip_value(usd, usd->p, &end));
    *out = (px_text){usd->p + 1, (size_t)(end - usd->p) - 2};
    usd->p = end;
    return PELT_OK;
}

static pelt_result expect(px_usd *usd, char c) {
    usd->p = skip_space(usd->p, usd->end);
    if (usd->p >= usd->end || *usd->p != c)
        return px_usd_fail(usd, usd->p, "'%c' is expected", c);
    usd->p++;
    return PELT_OK;
}

/* ---- Properties ------------------------------------------------------------------------------------------------- */

static bool is_list_edit(px_text word) {
    static const char *const words[] = {"prepend", "append", "add", "delete", "reorder"};
    for (size_t n = 0; n < PX_COUNT(words); n++)
        if (px_text_is(word, words[n]))
            return true;
    return false;
}

/* Cuts ".timeSamples" or ".connect" from a name. Other endings stay, so that nobody finds them. */
static px_usd_kind cut_kind(px_text *name) {
    static const char *const ends[] = {NULL, ".timeSamples", ".connect"};
    for (int kind = PX_USD_SAMPLES; kind <= PX_USD_CONNECTION; kind++) {
        size_t size = strlen(ends[kind]);
        if (name->size > size && memcmp(name->data + name->size - size, ends[kind], size) == 0) {
            name->size -= size;
            return (px_usd_kind)kind;
        }
    }
    return PX_USD_VALUE;
}

/* A property whose first word was read already. */
static pelt_result parse_property(px_usd *usd, px_usd_prim *prim, px_text word) {
    const char *line = word.data;
    bool deletes = false;
    while (px_text_is(word, "custom") || px_text_is(word, "uniform") || px_text_is(word, "varying") ||
           px_text_is(word, "config") || is_list_edit(word)) {
        deletes |= px_text_is(word, "delete") || px_text_is(word, "reorder");
        usd->p = skip_space(usd->p, usd->end);
        word = next_word(usd->p, usd->end);
        usd->p += word.size;
    }
    px_usd_property property = {.type = word};
    usd->p = skip_space(usd->p, usd->end);
    if (usd->p < usd->end && *usd->p == '[') { /* an array type */
        usd->p++;
        PX_TRY(expect(usd, ']'));
        usd->p = skip_space(usd->p, usd->end);
    }
    property.name = next_word(usd->p, usd->end);
    usd->p += property.name.size;
    if (property.type.size == 0 || property.name.size == 0)
        return px_usd_fail(usd, line, "'TYPE NAME' is expected");
    property.kind = cut_kind(&property.name);
    usd->p = skip_space(usd->p, usd->end);
    if (usd->p < usd->end && *usd->p == '=') {
        const char *end;
        usd->p = skip_space(usd->p + 1, usd->end);
        PX_TRY(skip_value(usd, usd->p, &end));
        property.value = (px_text){usd->p, (size_t)(end - usd->p)};
        usd->p = end;
    }
    PX_TRY(parse_metadata(usd, &property.metadata));
    if (deletes)
        return PELT_OK;
    px_usd_property *kept = PX_NEW(usd->arena, px_usd_property, 1);
    if (!kept)
        return PELT_ERROR_MEMORY;
    *kept = property;
    if (prim->last_property)
        prim->last_property->next = kept;
    else
        prim->properties = kept;
    prim->last_property = kept;
    return PELT_OK;
}

/* ---- Prims ------------------------------------------------------------------------------------------------------ */

static bool is_specifier(px_text word) {
    return px_text_is(word, "def") || px_text_is(word, "over") || px_text_is(word, "class");
}

/* "def TYPE "NAME" (METADATA) {" with the first word read already; the prim becomes the last child of its parent. */
static pelt_result open_prim(px_usd *usd, px_usd_prim *parent, px_usd_prim **out) {
    usd->p = skip_space(usd->p, usd->end);
    px_text type = next_word(usd->p, usd->end), name;
    usd->p = skip_space(usd->p + type.size, usd->end);
    const char *after =
        usd->p < usd->end && (*usd->p == '"' || *usd->p == '\'') ? skip_quoted(usd->p, usd->end, &name) : NULL;
    if (!after)
        return px_usd_fail(usd, usd->p, "a name in quotes is expected");
    usd->p = after;
    px_usd_prim *prim = PX_NEW(usd->arena, px_usd_prim, 1);
    if (!prim)
        return PELT_ERROR_MEMORY;
    *prim = (px_usd_prim){.type = type, .name = name, .parent = parent, .number = usd->prim_count++};
    if (parent->last)
        parent->last->next = prim;
    else
        parent->first = prim;
    parent->last = prim;
    PX_TRY(parse_metadata(usd, &prim->metadata));
    static const char *const arcs[] = {"references", "payload", "inherits", "specializes", "variantSets"};
    for (size_t n = 0; n < PX_COUNT(arcs); n++)
        usd->left_out += px_usd_metadata(prim->metadata, arcs[n]).data != NULL;
    *out = prim;
    return expect(usd, '{');
}

/* "variantSet "NAME" = { … }": left out. */
static pelt_result skip_variants(px_usd *usd) {
    const char *end;
    PX_TRY(skip_value(usd, usd->p, &end));
    usd->p = end;
    PX_TRY(expect(usd, '='));
    PX_TRY(skip_value(usd, usd->p, &end));
    usd->p = end;
    usd->left_out++;
    return PELT_OK;
}

/* Content of prims up to the end of the text, without recursion. */
static pelt_result parse_content(px_usd *usd) {
    px_usd_prim *prim = usd->root;
    int depth = 0;
    for (;;) {
        usd->p = skip_space(usd->p, usd->end);
        if (usd->p >= usd->end)
            return prim == usd->root ? PELT_OK : px_usd_fail(usd, usd->p, "'}' is missing");
        if (*usd->p == '}') {
            if (prim == usd->root)
                return px_usd_fail(usd, usd->p, "'}' has no '{'");
            usd->p++;
            prim = prim->parent;
            depth--;
            continue;
        }
        px_text word = next_word(usd->p, usd->end);
        if (word.size == 0)
            return px_usd_fail(usd, usd->p, "'%c' is not expected here", *usd->p);
        usd->p += word.size;
        if (is_specifier(word)) {
            if (++depth > PX_USD_MAX_DEPTH)
                return px_usd_fail(usd, usd->p, "prims are nested too deeply");
            PX_TRY(open_prim(usd, prim, &prim));
        } else if (px_text_is(word, "variantSet")) {
            usd->p = skip_space(usd->p, usd->end);
            PX_TRY(skip_variants(usd));
        } else {
            PX_TRY(parse_property(usd, prim, word));
        }
    }
}

pelt_result px_usd_parse(px_usd *usd) {
    if (!(usd->root = PX_NEW(usd->arena, px_usd_prim, 1)))
        return PELT_ERROR_MEMORY;
    usd->p = usd->start;
    PX_TRY(parse_metadata(usd, &usd->root->metadata)); /* "#usda 1.0" is a comment */
    usd->left_out += px_usd_metadata(usd->root->metadata, "subLayers").data != NULL;
    return parse_content(usd);
}

/* ---- Search ----------------------------------------------------------------------------------------------------- */

const px_usd_prim *px_usd_next(const px_usd_prim *root, const px_usd_prim *prim) {
    if (prim->first)
        return prim->first;
    while (prim != root && !prim->next)
        prim = prim->parent;
    return prim == root ? NULL : prim->next;
}

bool px_usd_is(const px_usd_prim *prim, const char *type) {
    return px_text_is(prim->type, type);
}

const px_usd_property *px_usd_find(const px_usd_prim *prim, const char *name, px_usd_kind kind) {
    for (const px_usd_property *p = prim ? prim->properties : NULL; p; p = p->next)
        if (p->kind == kind && px_text_is(p->name, name))
            return p;
    return NULL;
}

px_text px_usd_value(const px_usd_prim *prim, const char *name) {
    const px_usd_property *property = px_usd_find(prim, name, PX_USD_VALUE);
    return property ? property->value : (px_text){0};
}

px_text px_usd_metadata(px_text metadata, const char *key) {
    const char *p = metadata.data, *end = p ? p + metadata.size : p;
    while (p && (p = skip_space(p, end)) < end) {
        px_text word = next_word(p, end), inside;
        const char *before = p;
        p = skip_space(p + word.size, end);
        if (word.size && p < end && *p == '=') {
            /* brackets are balanced: the parser went through the text */
            int depth = 0;
            const char *first = p = skip_space(p + 1, end);
            do {
                p = skip_space(p, end);
                if (p >= end)
                    break;
                depth += *p == '(' || *p == '[' || *p == '{';
                depth -= *p == ')' || *p == ']' || *p == '}';
                if (is_quote(*p)) {
                    const char *after = skip_quoted(p, end, &inside);
                    p = after ? after : end;
                } else if (is_word(*p) || *p == '-') {
                    do
                        p++;
                    while (p < end && (is_word(*p) || *p == '-' || *p == '+'));
                } else {
                    p++;
                }
            } while (depth > 0);
            if (px_text_is(word, key))
                return (px_text){first, (size_t)(p - first)};
        } else if (word.size == 0) {
            const char *after = is_quote(*before) ? skip_quoted(before, end, &inside) : before + 1;
            p = after ? after : end;
        }
    }
    return (px_text){0};
}

const px_usd_prim *px_usd_at(const px_usd *usd, px_text path) {
    const px_usd_prim *prim = usd->root;
    if (!path.data || path.size == 0 || path.data[0] != '/')
        return NULL;
    const char *p = path.data, *end = p + path.size;
    while (p < end && prim) {
        const char *first = ++p;
        while (p < end && *p != '/' && *p != '.')
            p++;
        px_text name = {first, (size_t)(p - first)};
        const px_usd_prim *child = prim->first;
        while (child && !px_text_equal(child->name, name))
            child = child->next;
        prim = child;
        if (p < end && *p == '.')
            break;
    }
    return prim;
}

const px_usd_prim *px_usd_target(const px_usd *usd, const px_usd_prim *prim, const char *name, px_usd_kind kind) {
    const px_usd_property *property = px_usd_find(prim, name, kind);
    return property ? px_usd_at(usd, px_usd_first_text(property->value)) : NULL;
}

/* ---- Values ----------------------------------------------------------------------------------------------------- */

/* At most as many numbers as commas, and one more. */
static pelt_result make_room(px_usd *usd, px_text value) {
    size_t most = 1;
    for (size_t i = 0; i < value.size; i++)
        most += value.data[i] == ',';
    if (most <= usd->number_capacity)
        return PELT_OK;
    double *room = px_resize(usd->context, usd->numbers, px_max_size(most, 2 * usd->number_capacity), sizeof *room);
    if (!room)
        return PELT_ERROR_MEMORY;
    usd->numbers = room;
    usd->number_capacity = px_max_size(most, 2 * usd->number_capacity);
    return PELT_OK;
}

pelt_result px_usd_numbers(px_usd *usd, px_text value, const double **numbers, size_t *count) {
    *count = 0;
    *numbers = NULL;
    if (!value.data || px_text_is(value, "None"))
        return PELT_OK;
    PX_TRY(make_room(usd, value));
    const char *p = value.data, *end = p + value.size;
    bool separate = true; /* a comma or a bracket is before p */
    for (;;) {
        p = skip_space(p, end);
        if (p >= end)
            break;
        if (*p == ',' || *p == '(' || *p == ')' || *p == '[' || *p == ']') {
            separate = true;
            p++;
            continue;
        }
        double number = 0;
        const char *after = px_parse_double(p, end, &number);
        if (after == p && px_is_not_finite(p, end)) {
            number = NAN;
            while (after < end && *after != ',' && *after != ')' && *after != ']' && !is_space(*after))
                after++;
        }
        if (px_text_is(next_word(p, end), "true") || px_text_is(next_word(p, end), "false")) {
            number = *p == 't';
            after = p + next_word(p, end).size;
        }
        if (after == p || !separate || *count == usd->number_capacity)
            return px_usd_fail(usd, p, "'%.*s' where a number is expected", (int)px_min_size((size_t)(end - p), 20), p);
        usd->numbers[(*count)++] = number;
        separate = false;
        p = after;
    }
    *numbers = usd->numbers;
    return PELT_OK;
}

pelt_result px_usd_tuple_of(px_usd *usd, px_text value, double *numbers, size_t count, bool *found) {
    const double *all;
    size_t all_count;
    *found = false;
    PX_TRY(px_usd_numbers(usd, value, &all, &all_count));
    if (all_count != count)
        return PELT_OK;
    for (size_t n = 0; n < count; n++)
        if (!isfinite((float)all[n]))
            return PELT_OK;
    memcpy(numbers, all, count * sizeof *numbers);
    *found = true;
    return PELT_OK;
}

double px_usd_number(px_text value, double fallback) {
    double number;
    if (!value.data)
        return fallback;
    const char *after = px_parse_double(value.data, value.data + value.size, &number);
    return after != value.data && isfinite((float)number) ? number : fallback;
}

px_text px_usd_first_text(px_text value) {
    px_text inside = {0};
    const char *p = value.data, *end = p ? p + value.size : p;
    while (p && p < end && !is_quote(*p))
        p++;
    if (p && p < end && !skip_quoted(p, end, &inside))
        return (px_text){0};
    return inside;
}

pelt_result px_usd_texts(px_usd *usd, px_text value, px_text **texts, uint32_t *count) {
    px_buffer list = {.context = usd->context};
    const char *p = value.data, *end = p ? p + value.size : p;
    px_text inside;
    *count = 0;
    *texts = NULL;
    while (p && (p = skip_space(p, end)) < end) {
        const char *after = is_quote(*p) ? skip_quoted(p, end, &inside) : NULL;
        if (after)
            px_buffer_add(&list, &inside, sizeof inside);
        p = after ? after : p + 1;
    }
    size_t found = list.size / sizeof inside;
    pelt_result result = list.failed ? PELT_ERROR_MEMORY : PELT_OK;
    if (result == PELT_OK && found >= PELT_NONE / 4)
        result = px_fail(usd->context, PELT_ERROR_UNSUPPORTED, "has too many names");
    if (result == PELT_OK && !(*texts = PX_NEW(usd->arena, px_text, found)))
        result = PELT_ERROR_MEMORY;
    if (result == PELT_OK && found) {
        memcpy(*texts, list.data, list.size);
        *count = (uint32_t)found;
    }
    px_buffer_free(&list);
    return result;
}

static int hex(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

const char *px_usd_string(const px_usd *usd, px_text text) {
    char *out = px_arena_text(usd->read->model->memory, text.data ? text.data : "", text.size), *to = out;
    for (const char *p = out; out && p < out + text.size; p++) {
        size_t left = (size_t)(out + text.size - p);
        if (*p != '\\' || left < 2) {
            *to++ = *p ? *p : '_';
            continue;
        }
        p++;
        if (*p == 'x' && left >= 4 && hex(p[1]) >= 0 && hex(p[2]) >= 0 && (hex(p[1]) || hex(p[2]))) {
            *to++ = (char)(16 * hex(p[1]) + hex(p[2]));
            p += 2;
        } else {
            *to++ = *p == 'n' ? '\n' : *p == 't' ? '\t' : *p ? *p : '_';
        }
    }
    if (out)
        *to = 0;
    return out;
}

const char *px_usd_prim_name(const px_usd *usd, const px_usd_prim *prim) {
    const px_usd_property *own = px_usd_find(prim, "pelt:name", PX_USD_VALUE);
    return px_usd_string(usd, own ? px_usd_first_text(own->value) : prim->name);
}

pelt_result px_usd_next_sample(const px_usd *usd, px_text samples, const char **at, double *time, px_text *value,
                               bool *found) {
    const char *p = *at ? *at : samples.data, *end = samples.data ? samples.data + samples.size : p, *after;
    *found = false;
    if (!p || (!*at && *p != '{'))
        return PELT_OK;
    p = skip_space(*at ? p : p + 1, end);
    if (p < end && *p == ',')
        p = skip_space(p + 1, end);
    if (p >= end || *p == '}')
        return PELT_OK;
    after = px_parse_double(p, end, time);
    if (after == p || !isfinite((float)*time))
        return px_usd_fail(usd, p, "a time is expected");
    p = skip_space(after, end);
    if (p >= end || *p != ':')
        return px_usd_fail(usd, p, "':' is expected after a time");
    p = skip_space(p + 1, end);
    PX_TRY(skip_value(usd, p, at));
    *value = (px_text){p, (size_t)(*at - p)};
    *found = true;
    return PELT_OK;
}

bool px_usd_matrices(const double *numbers, px_scene_matrix *out, size_t count) {
    bool finite = true;
    for (size_t n = 0; n < count; n++)
        for (size_t e = 0; e < 12; e++) {
            out[n].m[e] = numbers[16 * n + 4 * (e % 4) + e / 4];
            finite &= isfinite((float)out[n].m[e]);
        }
    return finite;
}
