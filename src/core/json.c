/* JSON reading, writing and editing (RFC 8259). */
#include "core/json.h"

#include <math.h>
#include <stdio.h>

/* ---- Reading ---------------------------------------------------------------------------------------------- */

typedef struct parser {
    px_arena *arena;
    pelt_context *context;
    const char *start, *p, *end;
    int depth;
} parser;

static pelt_result bad(parser *s, const char *what) {
    size_t line = 1;
    for (const char *q = s->start; q < s->p; q++)
        line += *q == '\n';
    return px_fail(s->context, PELT_ERROR_INPUT, "JSON line %zu (byte %zu): %s", line, (size_t)(s->p - s->start), what);
}

static void skip_space(parser *s) {
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\n' || *s->p == '\r' || *s->p == '\t'))
        s->p++;
}

static int hex4(const char *p) {
    int value = 0;
    for (int d = 0; d < 4; d++) {
        char c = p[d];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

static char *put_utf8(char *out, uint32_t code) {
    if (code < 0x80) {
        *out++ = (char)code;
    } else if (code < 0x800) {
        *out++ = (char)(0xC0 | code >> 6);
        *out++ = (char)(0x80 | (code & 63));
    } else if (code < 0x10000) {
        *out++ = (char)(0xE0 | code >> 12);
        *out++ = (char)(0x80 | (code >> 6 & 63));
        *out++ = (char)(0x80 | (code & 63));
    } else {
        *out++ = (char)(0xF0 | code >> 18);
        *out++ = (char)(0x80 | (code >> 12 & 63));
        *out++ = (char)(0x80 | (code >> 6 & 63));
        *out++ = (char)(0x80 | (code & 63));
    }
    return out;
}

/* \uXXXX, or a pair of them, with s->p behind the u. A lone surrogate becomes U+FFFD. */
static pelt_result read_unicode(parser *s, char **out) {
    int code = s->end - s->p >= 4 ? hex4(s->p) : -1;
    if (code < 0)
        return bad(s, "\\u needs four hexadecimal digits");
    s->p += 4;
    uint32_t full = (uint32_t)code;
    if (code >= 0xD800 && code < 0xE000) {
        int low = code < 0xDC00 && s->end - s->p >= 6 && s->p[0] == '\\' && s->p[1] == 'u' ? hex4(s->p + 2) : -1;
        if (low >= 0xDC00 && low < 0xE000) {
            full = 0x10000 + ((uint32_t)(code - 0xD800) << 10) + (uint32_t)(low - 0xDC00);
            s->p += 6;
        } else {
            full = 0xFFFD;
        }
    }
    *out = put_utf8(*out, full);
    return PELT_OK;
}

static pelt_result read_escape(parser *s, char **out) {
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    if (s->p >= s->end)
        return bad(s, "the text ends inside a string");
    char c = *s->p++;
    if (c == 'u')
        return read_unicode(s, out);
    const char *found = c ? strchr(names, c) : NULL;
    if (!found)
        return bad(s, "unknown escape in a string");
    *(*out)++ = values[found - names];
    return PELT_OK;
}

/* With s->p behind the opening quote. The decoded text is never longer than its spelling. */
static pelt_result read_string(parser *s, const char **text, uint32_t *length) {
    const char *close = s->p;
    while (close < s->end && *close != '"')
        close += *close == '\\' && s->end - close > 1 ? 2 : 1;
    if (close >= s->end)
        return bad(s, "a string has no end");
    if ((size_t)(close - s->p) > UINT32_MAX / 2)
        return bad(s, "a string is longer than 2 GB");
    char *copy = px_arena_text(s->arena, s->p, (size_t)(close - s->p)); /* room; decoded over it */
    if (!copy)
        return PELT_ERROR_MEMORY;
    char *out = copy;
    while (s->p < close) {
        unsigned char c = (unsigned char)*s->p++;
        if (c < 0x20)
            return bad(s, "control character in a string");
        if (c == '\\')
            PX_TRY(read_escape(s, &out));
        else
            *out++ = (char)c;
    }
    s->p = close + 1;
    *out = 0;
    *text = copy;
    *length = (uint32_t)(out - copy);
    return PELT_OK;
}

static const char *skip_digits(const char *p, const char *end) {
    while (p < end && *p >= '0' && *p <= '9')
        p++;
    return p;
}

/* Behind a number as RFC 8259 spells it, or p: our own output repeats the spelling and must be JSON. */
static const char *skip_number(const char *p, const char *end) {
    const char *whole = p + (p < end && *p == '-'), *q = skip_digits(whole, end);
    if (q == whole || (*whole == '0' && q - whole > 1))
        return p;
    if (q < end && *q == '.') {
        const char *fraction = q + 1;
        if ((q = skip_digits(fraction, end)) == fraction)
            return p;
    }
    if (q < end && (*q == 'e' || *q == 'E')) {
        const char *exponent = q + 1;
        exponent += exponent < end && (*exponent == '-' || *exponent == '+');
        if ((q = skip_digits(exponent, end)) == exponent)
            return p;
    }
    return q;
}

static pelt_result read_number(parser *s, px_json *value) {
    const char *end = skip_number(s->p, s->end);
    if (end == s->p)
        return bad(s, "this is no JSON value");
    if ((size_t)(end - s->p) > UINT32_MAX / 2)
        return bad(s, "a number is longer than 2 GB");
    value->kind = PX_JSON_NUMBER;
    value->length = (uint32_t)(end - s->p);
    value->text = px_arena_text(s->arena, s->p, value->length);
    s->p = end;
    return value->text ? PELT_OK : PELT_ERROR_MEMORY;
}

static pelt_result read_value(parser *s, px_json *value);

static void link_child(px_json *parent, px_json *child) {
    child->next = NULL;
    if (parent->last)
        parent->last->next = child;
    else
        parent->first = child;
    parent->last = child;
    parent->count++;
}

static pelt_result read_member(parser *s, px_json *child) {
    skip_space(s);
    if (s->p >= s->end || *s->p != '"')
        return bad(s, "an object member needs a name in quotes");
    s->p++;
    PX_TRY(read_string(s, &child->key, &child->key_length));
    skip_space(s);
    if (s->p >= s->end || *s->p != ':')
        return bad(s, "an object member needs a colon behind its name");
    s->p++;
    return PELT_OK;
}

/* With s->p behind the opening bracket. */
static pelt_result read_children(parser *s, px_json *value, char close) {
    value->kind = close == '}' ? PX_JSON_OBJECT : PX_JSON_ARRAY;
    skip_space(s);
    if (s->p < s->end && *s->p == close) {
        s->p++;
        return PELT_OK;
    }
    for (;;) {
        px_json *child = PX_NEW(s->arena, px_json, 1);
        if (!child)
            return PELT_ERROR_MEMORY;
        if (close == '}')
            PX_TRY(read_member(s, child));
        PX_TRY(read_value(s, child));
        link_child(value, child);
        skip_space(s);
        if (s->p >= s->end)
            return bad(s, close == '}' ? "an object has no end" : "an array has no end");
        char c = *s->p++;
        if (c == close)
            return PELT_OK;
        if (c != ',') {
            s->p--;
            return bad(s, close == '}' ? "expected , or }" : "expected , or ]");
        }
    }
}

static bool read_word(parser *s, const char *word) {
    size_t length = strlen(word);
    if ((size_t)(s->end - s->p) < length || memcmp(s->p, word, length) != 0)
        return false;
    s->p += length;
    return true;
}

static pelt_result read_value(parser *s, px_json *value) {
    skip_space(s);
    if (s->p >= s->end)
        return bad(s, "the text ends where a value should be");
    switch (*s->p) {
    case '{':
    case '[': {
        char close = *s->p++ == '{' ? '}' : ']';
        if (++s->depth > PX_JSON_MAX_DEPTH)
            return bad(s, "nested too deep");
        PX_TRY(read_children(s, value, close));
        s->depth--;
        return PELT_OK;
    }
    case '"':
        s->p++;
        value->kind = PX_JSON_STRING;
        return read_string(s, &value->text, &value->length);
    case 't':
        value->kind = PX_JSON_TRUE;
        return read_word(s, "true") ? PELT_OK : bad(s, "this is no JSON value");
    case 'f':
        value->kind = PX_JSON_FALSE;
        return read_word(s, "false") ? PELT_OK : bad(s, "this is no JSON value");
    case 'n':
        value->kind = PX_JSON_NULL;
        return read_word(s, "null") ? PELT_OK : bad(s, "this is no JSON value");
    default:
        return read_number(s, value);
    }
}

pelt_result px_json_read(px_arena *arena, const char *text, size_t size, px_json **out) {
    *out = NULL;
    parser s = {arena, px_arena_context(arena), text, text, text + size, 0};
    if (size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) /* a byte order mark means nothing in UTF-8 */
        s.p += 3;
    px_json *value = PX_NEW(arena, px_json, 1);
    if (!value)
        return PELT_ERROR_MEMORY;
    PX_TRY(read_value(&s, value));
    skip_space(&s);
    if (s.p != s.end)
        return bad(&s, "more text behind the end");
    *out = value;
    return PELT_OK;
}

/* ---- Writing ---------------------------------------------------------------------------------------------- */

static void write_string(px_buffer *buffer, const char *text, size_t length) {
    px_buffer_add(buffer, "\"", 1);
    size_t plain = 0; /* start of the run not yet added */
    for (size_t c = 0; c < length; c++) {
        unsigned char byte = (unsigned char)text[c];
        if (byte >= 0x20 && byte != '"' && byte != '\\')
            continue;
        px_buffer_add(buffer, text + plain, c - plain);
        plain = c + 1;
        if (byte == '"' || byte == '\\')
            px_buffer_format(buffer, "\\%c", byte);
        else if (byte == '\n')
            px_buffer_text(buffer, "\\n");
        else if (byte == '\t')
            px_buffer_text(buffer, "\\t");
        else
            px_buffer_format(buffer, "\\u%04x", byte);
    }
    px_buffer_add(buffer, text + plain, length - plain);
    px_buffer_add(buffer, "\"", 1);
}

static void new_line(px_buffer *buffer, int indent, int level) {
    if (indent > 0)
        px_buffer_format(buffer, "\n%*s", indent * level, "");
}

static void write_value(px_buffer *buffer, const px_json *value, int indent, int level) {
    static const char *const words[] = {"null", "false", "true"};
    if (value->kind <= PX_JSON_TRUE) {
        px_buffer_text(buffer, words[value->kind]);
    } else if (value->kind == PX_JSON_NUMBER) {
        px_buffer_add(buffer, value->text, value->length);
    } else if (value->kind == PX_JSON_STRING) {
        write_string(buffer, value->text, value->length);
    } else {
        bool object = value->kind == PX_JSON_OBJECT;
        px_buffer_add(buffer, object ? "{" : "[", 1);
        for (const px_json *child = value->first; child; child = child->next) {
            new_line(buffer, indent, level + 1);
            if (object) {
                write_string(buffer, child->key, child->key_length);
                px_buffer_text(buffer, indent > 0 ? ": " : ":");
            }
            write_value(buffer, child, indent, level + 1);
            if (child->next)
                px_buffer_add(buffer, ",", 1);
        }
        if (value->first)
            new_line(buffer, indent, level);
        px_buffer_add(buffer, object ? "}" : "]", 1);
    }
}

void px_json_write(px_buffer *buffer, const px_json *value, int indent) {
    write_value(buffer, value, indent, 0);
}

/* ---- Looking ---------------------------------------------------------------------------------------------- */

bool px_json_is(const px_json *value, px_json_kind kind) {
    return value && value->kind == kind;
}

/* By length too: a name may hold a 0. */
static bool has_key(const px_json *child, const char *key, size_t length) {
    return child->key_length == length && memcmp(child->key, key, length) == 0;
}

px_json *px_json_get(const px_json *object, const char *key) {
    if (!px_json_is(object, PX_JSON_OBJECT))
        return NULL;
    size_t length = strlen(key);
    for (px_json *child = object->first; child; child = child->next)
        if (has_key(child, key, length))
            return child;
    return NULL;
}

px_json *px_json_at(const px_json *array, uint32_t index) {
    if (!px_json_is(array, PX_JSON_ARRAY) || index >= array->count)
        return NULL;
    px_json *child = array->first;
    while (index--)
        child = child->next;
    return child;
}

uint32_t px_json_count(const px_json *value) {
    return value ? value->count : 0;
}

const char *px_json_string(const px_json *value, const char *fallback) {
    return px_json_is(value, PX_JSON_STRING) ? value->text : fallback;
}

double px_json_double(const px_json *value, double fallback) {
    double number = fallback;
    if (px_json_is(value, PX_JSON_NUMBER))
        px_parse_double(value->text, value->text + value->length, &number);
    return number;
}

uint64_t px_json_uint(const px_json *value, uint64_t max, uint64_t fallback) {
    double number = px_json_double(value, -1);
    return number >= 0 && number <= (double)max && number < 0x1p63 && number == floor(number) ? (uint64_t)number
                                                                                              : fallback;
}

bool px_json_bool(const px_json *value, bool fallback) {
    return px_json_is(value, PX_JSON_TRUE) || (!px_json_is(value, PX_JSON_FALSE) && fallback);
}

/* ---- Making and changing ---------------------------------------------------------------------------------- */

static px_json *new_value(px_arena *arena, px_json_kind kind) {
    px_json *value = PX_NEW(arena, px_json, 1);
    if (value)
        value->kind = kind;
    return value;
}

px_json *px_json_object(px_arena *arena) {
    return new_value(arena, PX_JSON_OBJECT);
}

px_json *px_json_array(px_arena *arena) {
    return new_value(arena, PX_JSON_ARRAY);
}

static px_json *new_text(px_arena *arena, px_json_kind kind, const char *text, size_t length) {
    px_json *value = length <= UINT32_MAX ? new_value(arena, kind) : NULL;
    if (!value || !(value->text = px_arena_text(arena, text, length)))
        return NULL;
    value->length = (uint32_t)length;
    return value;
}

px_json *px_json_new_string(px_arena *arena, const char *text) {
    return new_text(arena, PX_JSON_STRING, text, strlen(text));
}

static px_json *new_number(px_arena *arena, double value, bool single) {
    if (!isfinite(value))
        return new_value(arena, PX_JSON_NULL);
    px_buffer text = {.context = px_arena_context(arena)};
    if (single)
        px_buffer_float(&text, (float)value);
    else
        px_buffer_double(&text, value);
    px_json *number = text.failed ? NULL : new_text(arena, PX_JSON_NUMBER, text.data, text.size);
    px_buffer_free(&text);
    return number;
}

px_json *px_json_new_double(px_arena *arena, double value) {
    return new_number(arena, value, false);
}

px_json *px_json_new_float(px_arena *arena, float value) {
    return new_number(arena, (double)value, true);
}

px_json *px_json_new_uint(px_arena *arena, uint64_t value) {
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    return new_text(arena, PX_JSON_NUMBER, text, strlen(text));
}

px_json *px_json_new_bool(px_arena *arena, bool value) {
    return new_value(arena, value ? PX_JSON_TRUE : PX_JSON_FALSE);
}

px_json *px_json_copy(px_arena *arena, const px_json *value) {
    px_json *copy = value ? PX_NEW(arena, px_json, 1) : NULL;
    if (!copy)
        return NULL;
    *copy = (px_json){.kind = value->kind, .key_length = value->key_length, .length = value->length};
    if (value->key && !(copy->key = px_arena_text(arena, value->key, value->key_length)))
        return NULL;
    if (value->text && !(copy->text = px_arena_text(arena, value->text, value->length)))
        return NULL;
    for (const px_json *child = value->first; child; child = child->next) {
        px_json *child_copy = px_json_copy(arena, child);
        if (!child_copy)
            return NULL;
        link_child(copy, child_copy);
    }
    return copy;
}

px_json *px_json_set(px_arena *arena, px_json *object, const char *key, px_json *value) {
    if (!object || !value)
        return NULL;
    size_t length = strlen(key);
    if (!(value->key = px_arena_text(arena, key, length)))
        return NULL;
    value->key_length = (uint32_t)length;
    for (px_json **place = &object->first; *place; place = &(*place)->next)
        if (has_key(*place, key, length)) {
            value->next = (*place)->next;
            if (object->last == *place)
                object->last = value;
            *place = value;
            return value;
        }
    link_child(object, value);
    return value;
}

px_json *px_json_append(px_json *array, px_json *value) {
    if (!array || !value)
        return NULL;
    link_child(array, value);
    return value;
}

void px_json_remove(px_json *object, const char *key) {
    px_json *previous = NULL;
    size_t length = strlen(key);
    for (px_json *child = object ? object->first : NULL; child; child = child->next) {
        if (!has_key(child, key, length)) {
            previous = child;
            continue;
        }
        if (previous)
            previous->next = child->next;
        else
            object->first = child->next;
        if (object->last == child)
            object->last = previous;
        object->count--;
    }
}
