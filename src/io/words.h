/* Text files of words and numbers (BVH, ASF, AMC): one cursor that knows its line. */
#ifndef PELT_IO_WORDS_H
#define PELT_IO_WORDS_H

#include "io/io.h"

typedef struct px_words {
    pelt_context *context;
    const char *start, *end; /* of the text */
    const char *p;           /* where reading is */
    char comment;            /* the rest of a line from this character on is no text; 0: there are no comments */
} px_words;

/* Length 0: there is none. Points into the text. */
typedef struct px_word {
    const char *text;
    size_t length;
} px_word;

/* Fails when the content is not text. */
pelt_result px_words_begin(const px_read *read, char comment, px_words *words);
/* The next word of the text, or of the current line only. */
px_word px_words_next(px_words *words);
px_word px_words_next_in_line(px_words *words);
/* The rest of the line without blanks around it; moves to its end. */
px_word px_words_line(px_words *words);
/* Whether it is this word, in any case. */
bool px_word_is(px_word word, const char *text);
/* Whether a word is a finite number. */
bool px_word_number(px_word word, double *value);
/* The next word must be a finite number of what `what` says ("an offset"). */
pelt_result px_words_number(px_words *words, const char *what, double *value);
pelt_result px_words_numbers(px_words *words, const char *what, double *values, int count);
/* The next word must be this one. */
pelt_result px_words_expect(px_words *words, const char *text);
/* "line 7: …" about a word; one of length 0 stands for the place where reading is. */
pelt_result px_words_fail(const px_words *words, px_word word, const char *format, ...) PELT_PRINTF(3, 4);
/* A word for a message: the word, or what to say when there is none. At most 40 bytes of it. */
#define PX_WORD_ARGS(word)                                                                                             \
    (int)((word).length ? px_min_size((word).length, 40) : 15), (word).length ? (word).text : "the end of file"

#endif
