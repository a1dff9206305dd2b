/* A decomposition step by step, from inside. */
#ifndef PELT_DECOMPOSE_DECOMPOSER_H
#define PELT_DECOMPOSE_DECOMPOSER_H

#include "decompose/given.h"
#include "decompose/neighbours.h"
#include "decompose/shells.h"
#include "decompose/sma.h"
#include "decompose/solve.h"

struct pelt_decomposer {
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
    bool firm;     /* all is done but building */
    bool searched; /* … by the search, and nothing is left to do: its trials are in the report, in fit.arena */
};

/* After the last iteration: what the result may be measured by is then there. Once. */
pelt_result px_decomposer_settle(pelt_decomposer *decomposer);

/* Whether the number of bones is to be found. */
bool px_search_wanted(const pelt_decompose_desc *desc);
/* Finds it; every number is tried as if it had been asked for. The decomposer has all its iterations done. */
pelt_result px_search_bones(pelt_context *context, pelt_model *model, const pelt_decompose_desc *desc,
                            pelt_decomposer **out);

#endif
