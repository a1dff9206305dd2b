/* Any bytes as JSON: parsed documents are written, indented and in one line, and parse to the same; edits keep them
 * valid. */
#include "chain.h"

#include "core/json.h"

/* The text of a value, 0-terminated. */
static px_buffer text_of(pelt_context *context, const px_json *value, int indent) {
    px_buffer text = {.context = context};
    px_json_write(&text, value, indent);
    px_buffer_add(&text, "", 1);
    FUZZ_REQUIRE(!text.failed);
    return text;
}

/* Parsing and writing again gives the same text. */
static void read_again(px_arena *arena, const px_json *value, int indent) {
    pelt_context *context = px_arena_context(arena);
    px_buffer text = text_of(context, value, indent), same;
    px_json *again;
    FUZZ_REQUIRE(px_json_read(arena, text.data, text.size - 1, &again) == PELT_OK);
    same = text_of(context, again, indent);
    FUZZ_REQUIRE(same.size == text.size && memcmp(same.data, text.data, text.size) == 0);
    px_buffer_free(&same);
    px_buffer_free(&text);
}

/* Reads every value with every accessor; returns their number. */
static size_t look(const px_json *value) {
    size_t count = 1;
    (void)px_json_string(value, "");
    (void)px_json_double(value, 0);
    (void)px_json_bool(value, false);
    FUZZ_REQUIRE(px_json_uint(value, 1000, 7) <= 1000);
    for (const px_json *child = value->first; child; child = child->next)
        count += look(child);
    return count;
}

static void edit(px_arena *arena, px_json *value) {
    const char *key = value->first && value->first->key ? value->first->key : "key";
    if (px_json_is(value, PX_JSON_OBJECT)) {
        px_json_set(arena, value, key, px_json_new_double(arena, 0.1));
        FUZZ_REQUIRE(px_json_double(px_json_get(value, key), 0) == 0.1);
        px_json_remove(value, key);
        FUZZ_REQUIRE(!px_json_get(value, key));
    }
    if (px_json_is(value, PX_JSON_ARRAY))
        FUZZ_REQUIRE(px_json_append(value, px_json_copy(arena, px_json_at(value, 0))) || value->count == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pelt_context *context = fuzz_context();
    px_arena *arena = px_arena_create(context);
    FUZZ_REQUIRE(arena);
    px_json *value;
    if (fuzz_done(context, px_json_read(arena, (const char *)data, size, &value))) {
        FUZZ_REQUIRE(look(value) <= size);
        read_again(arena, value, 0);
        read_again(arena, value, 2);
        edit(arena, value);
        read_again(arena, value, 0);
    }
    px_arena_destroy(arena);
    pelt_context_destroy(context);
    return 0;
}
