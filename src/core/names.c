/* Names that people may have meant. */
#include "core/core.h"

#define NAME_MAX_LENGTH 63u /* longer ones are near to none */

/* Letters to insert, remove, change or swap with their neighbour to come from a to b. */
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
        size_t distance = edit_distance(name, names[n]);
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
