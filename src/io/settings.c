/* Settings files: JSON objects whose members are options by their names, as pelt writes them into its reports. */
#include "core/json.h"
#include "io/io.h"

/* A value as pelt_options_set takes it: NULL for a flag that is set. Lists become texts with commas. */
static pelt_result value_text(px_arena *arena, const px_json *member, const char **text) {
    pelt_context *context = px_arena_context(arena);
    switch (member->kind) {
    case PX_JSON_TRUE:
        *text = NULL;
        return PELT_OK;
    case PX_JSON_FALSE:
        *text = "false";
        return PELT_OK;
    case PX_JSON_NUMBER:
    case PX_JSON_STRING:
        *text = member->text;
        return PELT_OK;
    case PX_JSON_ARRAY: {
        px_buffer list = {.context = context};
        bool plain = true;
        for (const px_json *item = member->first; item; item = item->next) {
            plain = plain && (item->kind == PX_JSON_NUMBER || item->kind == PX_JSON_STRING);
            if (item != member->first)
                px_buffer_text(&list, ",");
            if (plain)
                px_buffer_text(&list, item->text);
        }
        *text = plain && !list.failed ? px_arena_text(arena, list.size ? list.data : "", list.size) : NULL;
        px_buffer_free(&list);
        if (plain)
            return *text ? PELT_OK : PELT_ERROR_MEMORY;
        break;
    }
    case PX_JSON_NULL:
    case PX_JSON_OBJECT:
        break;
    }
    return px_fail(context, PELT_ERROR_INPUT, "'%s' should be a number, a text, true, false or a list of these",
                   member->key);
}

static pelt_result read_members(px_arena *arena, const px_json *root, pelt_setting_fn *each, void *user) {
    pelt_context *context = px_arena_context(arena);
    const px_json *settings = px_json_get(root, "settings");
    if (!px_json_is(root, PX_JSON_OBJECT) || (settings && !px_json_is(settings, PX_JSON_OBJECT)))
        return px_fail(context, PELT_ERROR_INPUT,
                       "should be an object of settings, or have one as its member 'settings', as the reports of "
                       "--json do");
    const char *verb = px_json_string(px_json_get(root, "verb"), NULL);
    if (verb)
        PX_TRY(each(user, NULL, verb));
    for (const px_json *member = settings ? settings->first : root->first; member; member = member->next) {
        const char *text;
        if (member->kind == PX_JSON_NULL || (!settings && strcmp(member->key, "verb") == 0))
            continue;
        PX_TRY(value_text(arena, member, &text));
        PX_TRY(each(user, member->key, text));
    }
    return PELT_OK;
}

pelt_result pelt_settings_load(pelt_context *context, const char *path, pelt_setting_fn *each, void *user) {
    px_arena *arena = px_arena_create(context);
    px_file file;
    px_json *root;
    const char *previous = px_subject(context, path);
    pelt_result result = arena ? px_file_open(arena, path, &file) : PELT_ERROR_MEMORY;
    if (result == PELT_OK)
        result = px_json_read(arena, (const char *)file.data, file.size, &root);
    if (result == PELT_OK)
        result = read_members(arena, root, each, user);
    px_subject(context, previous);
    px_arena_destroy(arena);
    return result;
}
