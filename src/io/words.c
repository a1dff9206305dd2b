/* Tokenizer for text files of words and numbers: see words.h. */
#include "io/words.h"

#include <math.h>
#include <stdio.h>
#include <strings.h>

pelt_result px_words_begin(const px_read *read, char comment, px_words *words) {
    const char *text = (const char *)read->file.data;
    size_t size = read->file.size;
    *words = (px_words){.context = read->context, .start = text, .end = text + size, .p = text, .comment = comment};
    if (size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0)
        words->p += 3; /* UTF-8 byte order mark */
    if (memchr(text, 0, px_min_size(size, 1024)))
        return px_fail(read->context, PELT_ERROR_INPUT, "is not text, as its format must be");
    return PELT_OK;
}

static inline bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\v' || c == '\f';
}

static inline bool is_line_end(char c) {
    return c == '\n' || c == '\r' || c == 0;
}

/* Skips blanks and a comment; stops at a line end. */
static inline void skip_blanks(px_words *words) {
    while (words->p < words->end && is_blank(*words->p))
        words->p++;
    if (words->comment && words->p < words->end && *words->p == words->comment)
        while (words->p < words->end && !is_line_end(*words->p))
            words->p++;
}

px_word px_words_next_in_line(px_words *words) {
    skip_blanks(words);
    const char *first = words->p;
    while (words->p < words->end && !is_blank(*words->p) && !is_line_end(*words->p))
        words->p++;
    return (px_word){first, (size_t)(words->p - first)};
}

px_word px_words_next(px_words *words) {
    for (;;) {
        px_word word = px_words_next_in_line(words);
        if (word.length || words->p >= words->end)
            return word;
        words->p++;
    }
}

px_word px_words_line(px_words *words) {
    skip_blanks(words);
    const char *first = words->p, *last;
    while (words->p < words->end && !is_line_end(*words->p) && !(words->comment && *words->p == words->comment))
        words->p++;
    for (last = words->p; last > first && is_blank(last[-1]);)
        last--;
    return (px_word){first, (size_t)(last - first)};
}

bool px_word_is(px_word word, const char *text) {
    return strlen(text) == word.length && strncasecmp(word.text, text, word.length) == 0;
}

bool px_word_number(px_word word, double *value) {
    const char *end = word.text + word.length;
    return word.length && px_parse_double(word.text, end, value) == end && isfinite((float)*value);
}

pelt_result px_words_number(px_words *words, const char *what, double *value) {
    px_word word = px_words_next(words);
    if (px_word_number(word, value))
        return PELT_OK;
    return px_words_fail(words, word, "'%.*s' stands where %s should be, a finite number", PX_WORD_ARGS(word), what);
}

pelt_result px_words_numbers(px_words *words, const char *what, double *values, int count) {
    for (int i = 0; i < count; i++)
        PX_TRY(px_words_number(words, what, &values[i]));
    return PELT_OK;
}

pelt_result px_words_expect(px_words *words, const char *text) {
    px_word word = px_words_next(words);
    if (px_word_is(word, text))
        return PELT_OK;
    return px_words_fail(words, word, "'%.*s' stands where '%s' should", PX_WORD_ARGS(word), text);
}

pelt_result px_words_fail(const px_words *words, px_word word, const char *format, ...) {
    const char *place = word.length ? word.text : words->p;
    size_t line = 1;
    for (const char *c = words->start; c < place; c++)
        line += *c == '\n' || (*c == '\r' && !(c + 1 < words->end && c[1] == '\n'));
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return px_fail(words->context, PELT_ERROR_INPUT, "line %zu: %s", line, text);
}
