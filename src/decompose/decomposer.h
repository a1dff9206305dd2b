/* A decomposition step by step, from inside. */
#ifndef PELT_DECOMPOSE_DECOMPOSER_H
#define PELT_DECOMPOSE_DECOMPOSER_H

#include "decompose/given.h"
#include "decompose/neighbours.h"
#include "decompose/shells.h"
#include "decompose/sma.h"
#include "decompose/solve.h"

/* A way to find bones and weights.
 *
 * To add one: a file with a px_decompose_method, its name in PX_DECOMPOSE_METHODS, and its value in pelt_decompose_method
 * (decompose.h). Settings of its own are fields of pelt_decompose_desc with rows in the option table. */
#define PX_DECOMPOSE_METHODS(METHOD) METHOD(fesam) METHOD(sma) /* in the order of pelt_decompose_method */
typedef struct px_decompose_method {
    const char *name; /* in the option `method` */
    bool keeps_rest;  /* the rest pose stays */
    /* Before the reduction: how many bones there are. The settings bones, error and rig are then usage errors. NULL: the
     * settings say how many, or they are searched for. */
    pelt_result (*count_bones)(pelt_decomposer *d, uint32_t *count);
    const char *count_setting;                 /* of pelt_decompose_desc, from which that number follows */
    pelt_result (*start)(pelt_decomposer *d);  /* after the reduction: first bones and weights */
    pelt_result (*step)(pelt_decomposer *d);   /* one iteration; the objective never rises. NULL: `start` does it all */
    pelt_result (*settle)(pelt_decomposer *d); /* once, after the last step; NULL: nothing to do */
} px_decompose_method;
#define PX_METHOD_DECLARE(name) extern const px_decompose_method px_method_##name;
PX_DECOMPOSE_METHODS(PX_METHOD_DECLARE)
#undef PX_METHOD_DECLARE

struct pelt_decomposer {
    const px_decompose_method *method;
    px_fit fit;
    px_gathered plan;
    px_given given;
    px_solver solver;
    px_fit_state spare;
    pelt_decompose_desc desc;
    pelt_model *model;
    pelt_model was; /* the model before its parts were joined to the skin … */
    bool joined;    /* … which it is again unless the result is built */
    pelt_decompose_report report;
    px_shells shells;         /* not with a rig or other seeds */
    px_neighbours neighbours; /* only where something needs them */
    px_sma sma;               /* only with that method */
    float *errors;            /* [desc.iterations] */
    uint32_t next_move;
    bool settled;  /* all is done but building */
    bool searched; /* the bone count was searched for: no iteration is left, trials are in the report, in fit.arena */
};

/* pelt_decomposer_create with a cache of the same clips and settings but for `bones`; NULL: none. */
pelt_result px_decomposer_create(pelt_context *context, pelt_model *model, const pelt_decompose_desc *desc,
                                 px_reduction_cache *cache, pelt_decomposer **decomposer);

/* After the last iteration: what the result may be measured by is then there. Once. */
pelt_result px_decomposer_settle(pelt_decomposer *decomposer);

/* Searches for the number of bones; every number is tried as if it had been asked for. The decomposer has all its
 * iterations done. */
pelt_result px_search_bones(pelt_context *context, pelt_model *model, const pelt_decompose_desc *desc,
                            pelt_decomposer **out);

#endif
