/* Option tables: defaults and checked setting of desc fields by name. */
#include "core/core.h"

#include <ctype.h>
#include <math.h>

static const pelt_option *find_option(const pelt_option *options, size_t count, const char *name) {
    for (size_t o = 0; o < count; o++)
        if (strcmp(options[o].name, name) == 0)
            return &options[o];
    return NULL;
}

/* The index of `text` among "a|b|c", or PELT_NONE. */
static uint32_t choice_index(const char *choices, const char *text) {
    size_t length = strlen(text);
    uint32_t index = 0;
    for (const char *p = choices; p; index++) {
        const char *bar = strchr(p, '|');
        size_t size = bar ? (size_t)(bar - p) : strlen(p);
        if (size == length && memcmp(p, text, size) == 0)
            return index;
        p = bar ? bar + 1 : NULL;
    }
    return PELT_NONE;
}

static pelt_result set_number(pelt_context *context, const pelt_option *option, void *field, const char *text) {
    const char *end = text + strlen(text);
    double value;
    const char *rest = px_parse_double(text, end, &value);
    bool whole = option->kind != PELT_OPTION_REAL;
    double unit = 1;
    if (option->kind == PELT_OPTION_SIZE && rest > text && rest + 1 == end) {
        const char *units = "KMG", *found = strchr(units, toupper((unsigned char)*rest));
        if (found && *found) {
            unit = pow(1024, (double)(found - units + 1));
            rest++;
        }
    }
    if (rest == text || rest != end)
        return px_fail(context, PELT_ERROR_ARGUMENT, "--%s: '%s' is not a %snumber", option->name, text,
                       whole ? "whole " : "");
    value *= unit;
    bool ranged = option->min != 0 || option->max != 0;
    double min = ranged ? option->min : whole ? 0 : -INFINITY;
    double max = ranged ? option->max : option->kind == PELT_OPTION_UINT ? UINT32_MAX - 1.0 : whole ? 1e18 : INFINITY;
    if (!(value >= min && value <= max) || isinf(value) || (whole && value != floor(value)))
        return px_fail(context, PELT_ERROR_ARGUMENT, "--%s: %s is out of range; it takes a %snumber from %g to %g",
                       option->name, text, whole ? "whole " : "", min, max);
    if (option->kind == PELT_OPTION_UINT)
        *(uint32_t *)field = (uint32_t)value;
    else if (option->kind == PELT_OPTION_SIZE)
        *(size_t *)field = (size_t)value;
    else
        *(double *)field = value;
    return PELT_OK;
}

static pelt_result set_field(pelt_context *context, const pelt_option *option, void *field, const char *text) {
    if (!text && option->kind != PELT_OPTION_FLAG)
        return px_fail(context, PELT_ERROR_ARGUMENT, "--%s needs a value", option->name);
    switch (option->kind) {
    case PELT_OPTION_FLAG:
        if (text && strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
            return px_fail(context, PELT_ERROR_ARGUMENT, "--%s takes no value", option->name);
        *(bool *)field = !text || strcmp(text, "true") == 0;
        return PELT_OK;
    case PELT_OPTION_TEXT:
        *(const char **)field = text;
        return PELT_OK;
    case PELT_OPTION_CHOICE: {
        uint32_t index = choice_index(option->choices, text);
        if (index == PELT_NONE)
            return px_fail(context, PELT_ERROR_ARGUMENT, "--%s: '%s' is not one of %s", option->name, text,
                           option->choices);
        *(uint32_t *)field = index;
        return PELT_OK;
    }
    case PELT_OPTION_UINT:
    case PELT_OPTION_REAL:
    case PELT_OPTION_SIZE:
        break;
    }
    return set_number(context, option, field, text);
}

static void clear_field(pelt_option_kind kind, void *field) {
    static const size_t sizes[] = {[PELT_OPTION_FLAG] = sizeof(bool),   [PELT_OPTION_UINT] = sizeof(uint32_t),
                                   [PELT_OPTION_REAL] = sizeof(double), [PELT_OPTION_SIZE] = sizeof(size_t),
                                   [PELT_OPTION_TEXT] = sizeof(char *), [PELT_OPTION_CHOICE] = sizeof(uint32_t)};
    memset(field, 0, sizes[kind]);
}

void pelt_options_default(const pelt_option *options, size_t count, void *desc) {
    for (size_t o = 0; o < count; o++) {
        void *field = (char *)desc + options[o].offset;
        clear_field(options[o].kind, field);
        if (!options[o].initial)
            continue;
        pelt_result result = set_field(NULL, &options[o], field, options[o].initial);
        assert(result == PELT_OK && "a default in a table must pass its own check");
        (void)result;
    }
}

pelt_result pelt_options_set(pelt_context *context, const pelt_option *options, size_t count, void *desc,
                             const char *name, const char *text) {
    const pelt_option *option = find_option(options, count, name);
    if (!option)
        return px_fail(context, PELT_ERROR_ARGUMENT, "there is no option --%s", name);
    return set_field(context, option, (char *)desc + option->offset, text);
}
