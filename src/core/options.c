/* Option tables: defaults, text and checks of the fields of a desc. */
#include "core/core.h"

#include <ctype.h>
#include <float.h>
#include <math.h>

typedef struct range {
    double min, max;
} range;

static bool is_whole(const pelt_option *option) {
    return option->kind == PELT_OPTION_UINT || option->kind == PELT_OPTION_SIZE;
}

/* The values that a number of this option may have. */
static range range_of(const pelt_option *option) {
    if (option->min != 0 || option->max != 0)
        return (range){option->min, option->max};
    switch (option->kind) {
    case PELT_OPTION_UINT:
        return (range){0, PELT_NONE - 1.0};
    case PELT_OPTION_SIZE:
        return (range){0, 1e18};
    default:
        return (range){-DBL_MAX, DBL_MAX};
    }
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

static uint32_t choice_count(const char *choices) {
    uint32_t count = 1;
    for (const char *p = strchr(choices, '|'); p; p = strchr(p + 1, '|'))
        count++;
    return count;
}

/* ---- Text --------------------------------------------------------------------------------------------------- */

/* Reads one number in range at *p and moves *p behind it. */
static pelt_result read_number(pelt_context *context, const pelt_option *option, const char *text, const char **p,
                               double *out) {
    const char *end = *p + strlen(*p), *whole = is_whole(option) ? "whole " : "";
    double value, unit = 1;
    const char *rest = px_parse_double(*p, end, &value);
    if (rest == *p)
        return px_fail(context, PELT_ERROR_USAGE, "%s: '%s' is not a %snumber", option->name, text, whole);
    if (option->kind == PELT_OPTION_SIZE && *rest) {
        const char *units = "KMG", *found = strchr(units, toupper((unsigned char)*rest));
        if (found) {
            unit = px_pow(1024, (double)(found - units + 1));
            rest++;
        }
    }
    value *= unit;
    range allowed = range_of(option);
    if (!(value >= allowed.min && value <= allowed.max) || (is_whole(option) && value != floor(value)))
        return px_fail(context, PELT_ERROR_USAGE, "%s: %s is out of range; it takes a %snumber from %g to %g",
                       option->name, text, whole, allowed.min, allowed.max);
    *p = rest;
    *out = value;
    return PELT_OK;
}

static pelt_result set_numbers(pelt_context *context, const pelt_option *option, void *field, const char *text) {
    int count = option->kind == PELT_OPTION_VECTOR ? 3 : 1;
    double values[3];
    const char *p = text;
    for (int c = 0; c < count; c++) {
        PX_TRY(read_number(context, option, text, &p, &values[c]));
        if (*p != (c + 1 < count ? ',' : 0))
            return px_fail(context, PELT_ERROR_USAGE, "%s: '%s' is not %s", option->name, text,
                           count == 3         ? "three numbers with commas between"
                           : is_whole(option) ? "a whole number"
                                              : "a number");
        p++;
    }
    if (option->kind == PELT_OPTION_UINT)
        *(uint32_t *)field = (uint32_t)values[0];
    else if (option->kind == PELT_OPTION_SIZE)
        *(size_t *)field = (size_t)values[0];
    else
        memcpy(field, values, (size_t)count * sizeof *values);
    return PELT_OK;
}

static pelt_result set_field(pelt_context *context, const pelt_option *option, void *field, const char *text) {
    if (!text && option->kind != PELT_OPTION_FLAG)
        return px_fail(context, PELT_ERROR_USAGE, "%s needs a value", option->name);
    switch (option->kind) {
    case PELT_OPTION_FLAG:
        if (text && strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
            return px_fail(context, PELT_ERROR_USAGE, "%s takes no value", option->name);
        *(bool *)field = !text || strcmp(text, "true") == 0;
        return PELT_OK;
    case PELT_OPTION_TEXT:
        *(const char **)field = text;
        return PELT_OK;
    case PELT_OPTION_CHOICE: {
        uint32_t index = choice_index(option->choices, text);
        if (index == PELT_NONE)
            return px_fail(context, PELT_ERROR_USAGE, "%s: '%s' is not one of %s", option->name, text, option->choices);
        *(uint32_t *)field = index;
        return PELT_OK;
    }
    case PELT_OPTION_UINT:
    case PELT_OPTION_REAL:
    case PELT_OPTION_SIZE:
    case PELT_OPTION_VECTOR:
        break;
    }
    return set_numbers(context, option, field, text);
}

pelt_result pelt_options_set(pelt_context *context, const pelt_option_table *table, void *desc, const char *name,
                             const char *text) {
    for (size_t o = 0; o < table->count; o++)
        if (strcmp(table->rows[o].name, name) == 0)
            return set_field(context, &table->rows[o], (char *)desc + table->rows[o].offset, text);
    return px_fail(context, PELT_ERROR_USAGE, "%s: there is no such option", name);
}

pelt_result pelt_options_preset(pelt_context *context, const pelt_option_table *table, void *desc, const char *preset) {
    bool found = false;
    for (size_t v = 0; v < table->preset_count; v++) {
        const pelt_preset_value *value = &table->presets[v];
        if (strcmp(value->preset, preset) != 0)
            continue;
        PX_TRY(pelt_options_set(context, table, desc, value->option, value->text));
        found = true;
    }
    return found ? PELT_OK : px_fail(context, PELT_ERROR_USAGE, "%s: there is no such preset", preset);
}

/* ---- Defaults ----------------------------------------------------------------------------------------------- */

static void clear_field(pelt_option_kind kind, void *field) {
    static const size_t sizes[] = {[PELT_OPTION_FLAG] = sizeof(bool),       [PELT_OPTION_UINT] = sizeof(uint32_t),
                                   [PELT_OPTION_REAL] = sizeof(double),     [PELT_OPTION_SIZE] = sizeof(size_t),
                                   [PELT_OPTION_TEXT] = sizeof(char *),     [PELT_OPTION_CHOICE] = sizeof(uint32_t),
                                   [PELT_OPTION_VECTOR] = sizeof(double[3])};
    memset(field, 0, sizes[kind]);
}

void pelt_options_default(const pelt_option_table *table, void *desc) {
    if (table->desc)
        *(uint32_t *)desc = PELT_DESC_COOKIE;
    for (size_t o = 0; o < table->count; o++) {
        const pelt_option *option = &table->rows[o];
        void *field = (char *)desc + option->offset;
        clear_field(option->kind, field);
        if (!option->initial)
            continue;
        pelt_result result = set_field(NULL, option, field, option->initial);
        assert(result == PELT_OK && "a default in a table must pass its own check");
        (void)result;
    }
}

/* ---- Checks ------------------------------------------------------------------------------------------------- */

static pelt_result check_numbers(pelt_context *context, const char *desc, const pelt_option *option,
                                 const double *values, int count) {
    range allowed = range_of(option);
    for (int c = 0; c < count; c++)
        if (!(values[c] >= allowed.min && values[c] <= allowed.max))
            return px_fail(context, PELT_ERROR_USAGE, "%s.%s is %g, should be from %g to %g", desc, option->field,
                           values[c], allowed.min, allowed.max);
    return PELT_OK;
}

static pelt_result check_field(pelt_context *context, const char *desc, const pelt_option *option, const void *field) {
    uint32_t whole = 0;
    double values[3];
    switch (option->kind) {
    case PELT_OPTION_FLAG:
        if (*(const unsigned char *)field > 1)
            return px_fail(context, PELT_ERROR_USAGE, "%s.%s is neither true nor false", desc, option->field);
        break;
    case PELT_OPTION_UINT:
        memcpy(&whole, field, sizeof whole);
        values[0] = whole;
        return check_numbers(context, desc, option, values, 1);
    case PELT_OPTION_REAL:
    case PELT_OPTION_VECTOR: {
        int count = option->kind == PELT_OPTION_VECTOR ? 3 : 1;
        memcpy(values, field, (size_t)count * sizeof *values);
        return check_numbers(context, desc, option, values, count);
    }
    case PELT_OPTION_CHOICE:
        memcpy(&whole, field, sizeof whole);
        if (whole >= choice_count(option->choices))
            return px_fail(context, PELT_ERROR_USAGE, "%s.%s is %u, should be from 0 to %u: %s", desc, option->field,
                           whole, choice_count(option->choices) - 1, option->choices);
        break;
    case PELT_OPTION_SIZE:
    case PELT_OPTION_TEXT:
        break;
    }
    return PELT_OK;
}

pelt_result pelt_options_check(pelt_context *context, const pelt_option_table *table, const void *desc) {
    if (table->desc && *(const uint32_t *)desc != PELT_DESC_COOKIE)
        return px_fail(context, PELT_ERROR_USAGE, "%s is not initialised: start from %s_default()", table->desc,
                       table->desc);
    for (size_t o = 0; o < table->count; o++)
        PX_TRY(check_field(context, table->desc ? table->desc : "settings", &table->rows[o],
                           (const char *)desc + table->rows[o].offset));
    return PELT_OK;
}
