/* JSON writer (RFC 8259): one member of an object or array per line; arrays of numbers on one line. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void add(cli_json *json, const char *text, size_t size) {
    if (json->size + size > json->capacity) {
        json->capacity = 2 * (json->size + size);
        json->data = must_resize(json->data, json->capacity, 1);
    }
    memcpy(json->data + json->size, text, size);
    json->size += size;
}

static void add_text(cli_json *json, const char *text) {
    add(json, text, strlen(text));
}

/* ---- Strings ---------------------------------------------------------------------------------------------- */

/* Bytes of the well-formed UTF-8 character at p; 0 if it is malformed. */
static size_t character_length(const unsigned char *p) {
    if (p[0] < 0x80)
        return 1;
    size_t length = p[0] >= 0xc2 && p[0] < 0xe0   ? 2
                    : p[0] >= 0xe0 && p[0] < 0xf0 ? 3
                    : p[0] >= 0xf0 && p[0] < 0xf5 ? 4
                                                  : 0;
    for (size_t b = 1; b < length; b++)
        if ((p[b] & 0xc0) != 0x80)
            return 0;
    bool too_long = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xf0 && p[1] < 0x90);
    bool no_character = (p[0] == 0xed && p[1] >= 0xa0) || (p[0] == 0xf4 && p[1] >= 0x90);
    return too_long || no_character ? 0 : length;
}

/* Malformed UTF-8 (file names may contain any bytes) becomes U+FFFD. */
static void add_quoted(cli_json *json, const char *text) {
    add_text(json, "\"");
    for (const unsigned char *p = (const unsigned char *)text; *p;) {
        size_t length = character_length(p);
        char escape[8];
        if (length == 0)
            add_text(json, "\xef\xbf\xbd");
        else if (*p == '"' || *p == '\\') {
            escape[0] = '\\', escape[1] = (char)*p;
            add(json, escape, 2);
        } else if (*p < 0x20 || *p == 0x7f) {
            snprintf(escape, sizeof escape, "\\u%04x", *p);
            add_text(json, escape);
        } else
            add(json, (const char *)p, length);
        p += length ? length : 1;
    }
    add_text(json, "\"");
}

/* ---- Members ---------------------------------------------------------------------------------------------- */

static void new_line(cli_json *json) {
    add_text(json, "\n");
    for (uint32_t d = 0; d < json->depth; d++)
        add_text(json, "  ");
}

static void begin_member(cli_json *json, const char *key) {
    if (json->comma)
        add_text(json, ",");
    if (json->depth)
        new_line(json);
    if (key) {
        add_quoted(json, key);
        add_text(json, ": ");
    }
    json->comma = true;
}

void json_open(cli_json *json, const char *key, char bracket) {
    begin_member(json, key);
    add(json, &bracket, 1);
    json->depth++;
    json->comma = false;
}

void json_close(cli_json *json, char bracket) {
    json->depth--;
    if (json->comma)
        new_line(json);
    add(json, &bracket, 1);
    json->comma = true;
}

void json_text(cli_json *json, const char *key, const char *text) {
    begin_member(json, key);
    add_quoted(json, text);
}

void json_count(cli_json *json, const char *key, uint64_t value) {
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    begin_member(json, key);
    add_text(json, text);
}

void json_flag(cli_json *json, const char *key, bool value) {
    begin_member(json, key);
    add_text(json, value ? "true" : "false");
}

/* Writes the shortest decimal that reads back as the same number; `single`: the same float. */
static void add_number(cli_json *json, double value, bool single) {
    char text[40] = "null";
    int digits = single ? 6 : 15, most = single ? 9 : 17;
    for (; isfinite(value) && digits <= most; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (single ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value)
            break;
    }
    add_text(json, text);
}

void json_real(cli_json *json, const char *key, double value) {
    begin_member(json, key);
    add_number(json, value, false);
}

void json_reals(cli_json *json, const char *key, const double *values, size_t count) {
    begin_member(json, key);
    for (size_t n = 0; n < count; n++) {
        add_text(json, n ? ", " : "[");
        add_number(json, values[n], false);
    }
    add_text(json, count ? "]" : "[]");
}

void json_floats(cli_json *json, const char *key, const float *values, size_t count) {
    begin_member(json, key);
    for (size_t n = 0; n < count; n++) {
        add_text(json, n ? ", " : "[");
        add_number(json, values[n], true);
    }
    add_text(json, count ? "]" : "[]");
}

/* ---- Files ------------------------------------------------------------------------------------------------ */

exit_code json_write(const cli_session *session, const cli_json *json, const char *path) {
    if (strcmp(path, "-") == 0) { /* main checks the error flag of stdout */
        fwrite(json->data, 1, json->size, stdout);
        fputc('\n', stdout);
        return EXIT_DONE;
    }
    pelt_context *context; /* separate: the session's may have reached its memory limit */
    pelt_result made = pelt_context_create(NULL, &context);
    if (made != PELT_OK) {
        say(session, MESSAGE_ERROR, "%s: %s", path, pelt_result_text(made));
        return session_exit_code(made);
    }
    char *text = must_alloc(json->size + 1, 1);
    memcpy(text, json->data, json->size);
    text[json->size] = '\n';
    pelt_result result = pelt_file_write(context, path, text, json->size + 1);
    if (result != PELT_OK)
        say(session, MESSAGE_ERROR, "%s", pelt_error_text(context));
    free(text);
    pelt_context_destroy(context);
    return session_exit_code(result);
}
