/* Tokenizer for text files of words and numbers (BVH, ASF, AMC), with line numbers in error messages. */
#ifndef PELT_IO_WORDS_H
#define PELT_IO_WORDS_H

#include "io/io.h"

typedef struct px_words {
    pelt_context *context;
    const char *start, *end; /* the text, [start, end) */
    const char *p;           /* read position */
    char comment;            /* begins a comment that extends to the end of the line; 0: the format has no comments */
} px_words;

/* A token; points into the text. Length 0: end of the text or of the line. */
typedef struct px_word {
    const char *text;
    size_t length;
} px_word;

/* Fails if the content is not text. */
pelt_result px_words_begin(const px_read *read, char comment, px_words *words);
/* The next word of the text; the second function stops at the end of the current line. */
px_word px_words_next(px_words *words);
px_word px_words_next_in_line(px_words *words);
/* The rest of the line, trimmed; moves to the end of the line. */
px_word px_words_line(px_words *words);
/* Case-insensitive comparison. */
bool px_word_is(px_word word, const char *text);
/* Returns false if the word is not a finite number. */
bool px_word_number(px_word word, double *value);
/* Reads the next word, which must be a finite number. `what` names it in the error message ("an offset"). */
pelt_result px_words_number(px_words *words, const char *what, double *value);
pelt_result px_words_numbers(px_words *words, const char *what, double *values, int count);
/* Reads the next word, which must be `text`. */
pelt_result px_words_expect(px_words *words, const char *text);
/* Fails with "line 7: …", the line of the word. Length 0: the line of the read position. */
pelt_result px_words_fail(const px_words *words, px_word word, const char *format, ...) PELT_PRINTF(3, 4);
/* printf arguments ("%.*s") for a word: at most its first 40 bytes, or "the end of file" if its length is 0. */
#define PX_WORD_ARGS(word)                                                                                             \
    (int)((word).length ? px_min_size((word).length, 40) : 15), (word).length ? (word).text : "the end of file"

#endif
