/* JSON (RFC 8259) as an editable tree that preserves the spelling of numbers.
 *
 * Numbers are kept as text, so a document that is read and written again keeps every digit. All memory belongs to one
 * arena. Nesting depth is bounded (hostile files). Objects keep the order of their members; of duplicate keys the first
 * counts.
 */
#ifndef PELT_CORE_JSON_H
#define PELT_CORE_JSON_H

#include "core/core.h"

#define PX_JSON_MAX_DEPTH 128

typedef enum px_json_kind {
    PX_JSON_NULL,
    PX_JSON_FALSE,
    PX_JSON_TRUE,
    PX_JSON_NUMBER,
    PX_JSON_STRING,
    PX_JSON_ARRAY,
    PX_JSON_OBJECT
} px_json_kind;

typedef struct px_json {
    px_json_kind kind;
    uint32_t count;        /* number of children */
    uint32_t length;       /* bytes of text */
    uint32_t key_length;   /* bytes of key */
    const char *key;       /* in an object: decoded, 0-terminated UTF-8; else NULL */
    const char *text;      /* NUMBER: its spelling; STRING: decoded UTF-8; 0-terminated */
    struct px_json *first; /* children, in order */
    struct px_json *last;
    struct px_json *next; /* next sibling */
} px_json;

/* Parses text[size]. Error messages name the line. *value is allocated in the arena. */
pelt_result px_json_read(px_arena *arena, const char *text, size_t size, px_json **value);
/* Appends the text of a value; `indent` spaces per level, 0: all on one line. */
void px_json_write(px_buffer *buffer, const px_json *value, int indent);

/* Look-up. All accept NULL, and return NULL, the fallback or false when the value is missing or of another kind, so
 * that look-ups chain. */
px_json *px_json_get(const px_json *object, const char *key);
px_json *px_json_at(const px_json *array, uint32_t index); /* linear time: for short arrays */
uint32_t px_json_count(const px_json *array_or_object);
bool px_json_is(const px_json *value, px_json_kind kind);
const char *px_json_string(const px_json *value, const char *fallback);
double px_json_double(const px_json *value, double fallback);
/* An integer from 0 to `max`; `fallback` when missing, not an integer or out of range. */
uint64_t px_json_uint(const px_json *value, uint64_t max, uint64_t fallback);
bool px_json_bool(const px_json *value, bool fallback);

/* Creation. New values are allocated in the arena; NULL when out of memory. Adding NULL, or adding to NULL, does
 * nothing and returns NULL, so that a chain of calls needs one check at its end. */
px_json *px_json_object(px_arena *arena);
px_json *px_json_array(px_arena *arena);
px_json *px_json_new_string(px_arena *arena, const char *text);
px_json *px_json_new_double(px_arena *arena, double value); /* not finite: null */
px_json *px_json_new_float(px_arena *arena, float value);
px_json *px_json_new_uint(px_arena *arena, uint64_t value);
px_json *px_json_new_bool(px_arena *arena, bool value);
/* A deep copy. */
px_json *px_json_copy(px_arena *arena, const px_json *value);
/* Sets the member `key` to `value` (newly created, in no other tree), replacing an existing one. Returns `value`. */
px_json *px_json_set(px_arena *arena, px_json *object, const char *key, px_json *value);
/* Appends to an array and returns `value`. */
px_json *px_json_append(px_json *array, px_json *value);
/* Removes all members with this key. */
void px_json_remove(px_json *object, const char *key);

#endif
