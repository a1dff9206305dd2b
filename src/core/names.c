/* Suggestions for misspelled names, by edit distance; look-up of joints by name. */
#include "core/core.h"

#include <stdio.h>

#define NAME_MAX_LENGTH 63u /* longer names match nothing */

/* Damerau-Levenshtein distance (insert, delete, replace, transpose adjacent letters). */
static size_t edit_distance(const char *a, const char *b) {
    size_t rows = strlen(a), columns = strlen(b);
    if (rows > NAME_MAX_LENGTH || columns > NAME_MAX_LENGTH)
        return SIZE_MAX;
    size_t d[NAME_MAX_LENGTH + 1][NAME_MAX_LENGTH + 1];
    for (size_t r = 0; r <= rows; r++) {
        for (size_t c = 0; c <= columns; c++) {
            if (r == 0 || c == 0) {
                d[r][c] = r + c;
                continue;
            }
            size_t change = d[r - 1][c - 1] + (a[r - 1] != b[c - 1]);
            d[r][c] = px_min_size(change, px_min_size(d[r - 1][c], d[r][c - 1]) + 1);
            if (r > 1 && c > 1 && a[r - 1] == b[c - 2] && a[r - 2] == b[c - 1])
                d[r][c] = px_min_size(d[r][c], d[r - 2][c - 2] + 1);
        }
    }
    return d[rows][columns];
}

const char *pelt_nearest_name(const char *name, const char *const *names, size_t count) {
    size_t length = strlen(name);
    size_t best = length < 3 ? 2 : length / 3 + 2; /* about every third letter may be wrong */
    const char *nearest = NULL;
    for (size_t n = 0; n < count; n++) {
        size_t other = strlen(names[n]), shortest = length < other ? other - length : length - other;
        size_t distance = shortest < best ? edit_distance(name, names[n]) : shortest;
        bool begins = length >= 2 && strncmp(name, names[n], length) == 0;
        if (begins)
            distance = px_min_size(distance, 1);
        if (distance < best) {
            best = distance;
            nearest = names[n];
        }
    }
    return nearest;
}

uint32_t px_joint_named(const pelt_skeleton *skeleton, const char *name, size_t length, uint32_t from) {
    for (uint32_t j = from; j < skeleton->joint_count; j++)
        if (px_is_name(skeleton->names[j], name, length))
            return j;
    return PELT_NONE;
}

#define LISTED_SIZE 160u /* bytes of a list of names; more are not read in a message */

/* "hip, knee, foot", or as many as fit and " …" behind. */
static void list_joints(const pelt_skeleton *skeleton, char text[LISTED_SIZE + 16]) {
    size_t size = 0;
    text[0] = 0;
    for (uint32_t j = 0; j < skeleton->joint_count; j++) {
        size_t length = strlen(skeleton->names[j]);
        if (size + length + 2 > LISTED_SIZE) {
            memcpy(text + size, " …", sizeof " …");
            return;
        }
        size += (size_t)sprintf(text + size, "%s%s", j ? ", " : "", skeleton->names[j]);
    }
}

pelt_result px_fail_joint(pelt_context *context, const pelt_skeleton *skeleton, const char *where, const char *name,
                          size_t length) {
    char wanted[256], listed[LISTED_SIZE + 16];
    size_t size = px_min_size(length, sizeof wanted - 1);
    memcpy(wanted, name, size);
    wanted[size] = 0;
    const char *near = pelt_nearest_name(wanted, skeleton->names, skeleton->joint_count);
    if (near)
        return px_fail(context, PELT_ERROR_INPUT, "%s: there is no joint '%s'; did you mean '%s'?", where, wanted,
                       near);
    list_joints(skeleton, listed);
    return px_fail(context, PELT_ERROR_INPUT, "%s: there is no joint '%s' among its %u: %s", where, wanted,
                   skeleton->joint_count, listed);
}
