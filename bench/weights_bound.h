/* Lower bound of the error of a round trip of weights through a thinned copy; see weights_bound.c. */
#ifndef PELT_BENCH_WEIGHTS_BOUND_H
#define PELT_BENCH_WEIGHTS_BOUND_H

#include <pelt/model.h>

/* Mean L1 over the vertices of the model. */
typedef struct weights_bound {
    double lower;   /* no weights of the copy give less */
    double reached; /* the least that was found */
} weights_bound;

/* `thin`: a model with fewer vertices in the same bind pose; its weights are not used, but tell which of its vertices are separate. */
weights_bound weights_bound_find(pelt_context *context, const pelt_model *model, const pelt_model *thin);

#endif
