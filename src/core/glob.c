/* Patterns of names: *, ?, [sets]. */
#include "core/platform.h"

#include <string.h>

/* The set "[a-z]" or "[!a-z]" at `p`: whether it has the character, and what is behind it. A '[' without ']' is itself. */
static bool in_set(const char *p, const char *end, char c, const char **behind) {
    bool negated = p + 1 < end && (p[1] == '!' || p[1] == '^'), found = false;
    const char *q = p + 1 + negated, *first = q;
    while (q < end && (*q != ']' || q == first)) {
        bool range = q + 2 < end && q[1] == '-' && q[2] != ']';
        unsigned char low = (unsigned char)q[0], high = (unsigned char)q[range ? 2 : 0];
        found |= low <= (unsigned char)c && (unsigned char)c <= high;
        q += range ? 3 : 1;
    }
    *behind = q < end ? q + 1 : p + 1;
    return q < end ? found != negated : c == '[';
}

/* Whether one character matches the pattern at `p`, which is not a star, and what is behind it. */
static bool matches_one(const char *p, const char *end, char c, const char *separators, const char **behind) {
    bool separator = c && strchr(separators, c);
    *behind = p + 1;
    if (*p == '?')
        return !separator;
    if (*p == '[')
        return in_set(p, end, c, behind) && !separator;
    if (*p == '\\' && p + 1 < end && !strchr(separators, '\\'))
        *behind = ++p + 1;
    return *p == c;
}

bool px_glob_matches(const char *pattern, size_t pattern_length, const char *text, size_t length,
                     const char *separators) {
    const char *p = pattern, *end = pattern + pattern_length, *text_end = text + length, *behind;
    const char *star = NULL, *retry = NULL; /* behind the last star, and the first character that it did not take */
    while (text < text_end || p < end) {
        if (p < end && *p == '*') {
            star = ++p;
            retry = text;
        } else if (p < end && text < text_end && matches_one(p, end, *text, separators, &behind)) {
            p = behind;
            text++;
        } else if (star && retry < text_end && !(*retry && strchr(separators, *retry))) {
            p = star;
            text = ++retry;
        } else {
            return false;
        }
    }
    return true;
}
