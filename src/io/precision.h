/* Search for the precision of a compressed file. */
#ifndef PELT_IO_PRECISION_H
#define PELT_IO_PRECISION_H

#include "io/io.h"

/* What a search found. */
typedef struct px_precision_guess {
    px_precision precision;
    double gains[PX_PRECISION_KINDS]; /* bytes that a bit of each kind takes; 0: the file has no such numbers */
} px_precision_guess;

typedef struct px_precision_search {
    const px_write *write; /* what to write; only context, model, desc and levels are used */
    double bound;          /* largest distance; more than 0 */
    int exponent;          /* of px_precision */
    /* Distance of a file that was read back. Vertices, joints and motions are in the order of the uncompressed file. `all`:
     * in every pose; false: some are enough. */
    pelt_result (*measure)(void *user, pelt_model *written, bool all, double *distance);
    void *user;
    /* NULL, or where to begin: the precision of a similar model and, per kind, the bytes that a bit takes. Saves three quarters
     * of the trials. */
    const px_precision_guess *guess;
} px_precision_search;

/* The coarsest precision found within the bound, and its distance in all poses, which exceeds the bound only where exact
 * numbers would too. */
pelt_result px_precision_find(const px_precision_search *search, px_precision_guess *found, double *distance);
/* The same for the distance to the uncompressed file and write->desc->compress_error. */
pelt_result px_precision_of(const px_write *write, px_precision *precision, pelt_compress_report *report);

/* Size of a model at rest, and `exponent` of px_precision for it. */
pelt_result px_precision_size(pelt_context *context, const pelt_model *model, double *size, int *exponent);
/* Writes a GLB to memory (replacing the content of `bytes`), without images; precision NULL: uncompressed. */
pelt_result px_precision_write(const px_write *write, const px_precision *precision, px_buffer *bytes);
/* Reads it back. The bytes must outlive the model. */
pelt_result px_precision_read(pelt_context *context, const px_buffer *bytes, pelt_model **model);

#endif
