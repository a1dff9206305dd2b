/* Internal state of pelt_decomposer, and the interface of decomposition methods. */
#ifndef PELT_DECOMPOSE_DECOMPOSER_H
#define PELT_DECOMPOSE_DECOMPOSER_H

#include "decompose/checkpoint.h"
#include "decompose/given.h"
#include "decompose/neighbours.h"
#include "decompose/shells.h"
#include "decompose/sma.h"
#include "decompose/solve.h"

/* A decomposition method: finds bones and weights.
 *
 * To add one: write a file that defines a px_decompose_method, add its name to PX_DECOMPOSE_METHODS and its value to
 * pelt_decompose_method (decompose.h). Its own settings are fields of pelt_decompose_desc with rows in the option
 * table.
 */
#define PX_DECOMPOSE_METHODS(METHOD) METHOD(fesam) METHOD(sma) /* in the order of pelt_decompose_method */
typedef struct px_decompose_method {
    const char *name; /* value of the option `method` */
    bool keeps_rest;  /* the method does not change the rest pose */
    /* Called before the reduction: determines the number of bones. The settings bones, error and rig are then usage
     * errors, unless a rig gives the bones and only weights are solved for. NULL: the number is desc.bones, or is searched for. */
    pelt_result (*count_bones)(pelt_decomposer *d, uint32_t *count);
    /* Room for bones beyond fit.bone_target, before the reduction. NULL: none. */
    uint32_t (*extra_bones)(const pelt_decomposer *d);
    const char *count_setting;                 /* field of pelt_decompose_desc that determines the number */
    pelt_result (*start)(pelt_decomposer *d);  /* after the reduction: initial bones and weights */
    pelt_result (*step)(pelt_decomposer *d);   /* one iteration; the objective never rises. NULL: not iterative */
    pelt_result (*settle)(pelt_decomposer *d); /* once, after the last iteration. NULL: nothing to do */
} px_decompose_method;
#define PX_METHOD_DECLARE(name) extern const px_decompose_method px_method_##name;
PX_DECOMPOSE_METHODS(PX_METHOD_DECLARE)
#undef PX_METHOD_DECLARE

/* Factors of the settings for effort best. Quasi-Newton steps of affine bones need fewer iterations. */
#define PX_BEST_ITERATIONS(kind) ((kind)->unconstrained ? 2u : 8u)
#define PX_BEST_TOLERANCE        0.01

struct pelt_decompose_cache {
    pelt_context *context;
    px_reduction_cache reduction;
    px_arena *memory; /* of `sma`; NULL: no clusters yet */
    px_sma sma;
    double rotation_tolerance; /* of `sma` */
    bool published;            /* of `sma` */
};

struct pelt_decomposer {
    pelt_decompose_cache *cache; /* NULL: none */
    px_checkpoint *checkpoint;   /* NULL: none */
    const px_decompose_method *method;
    px_fit fit;
    px_gathered plan;
    px_given given;
    px_solver solver;
    px_fit_state spare;
    pelt_decompose_desc desc;
    pelt_model *model;  /* what is decomposed: `target`, or a model borrowed from it with parts joined to the skin */
    pelt_model *target; /* receives the result */
    pelt_decompose_report report;
    px_shells shells;         /* rigid components; empty with a rig or seed method `regions` */
    px_neighbours neighbours; /* filled for smoothing and seed method `regions` only */
    px_sma sma;               /* filled by method `sma` only */
    float *errors;            /* [desc.iterations] E_rms after each iteration */
    uint32_t next_move;
    uint64_t sent; /* bytes, by this process in the last iteration */
    bool coarse;   /* the first bones are from a sample, with which bones were exchanged and relocated */
    bool done;     /* the last iteration met the settings */
    bool resumed;  /* the state is that of a checkpoint, and no iteration followed */
    bool settled;  /* px_decomposer_settle has run */
    bool searched; /* made by px_search_bones: no iteration remains; trials are in the report, in fit.arena */
};

/* What calls with the same clips and the same settings except `bones` share. */
typedef struct px_shared {
    px_reduction_cache *cache; /* NULL: none */
    px_checkpoint *checkpoint; /* NULL: none, or that of desc->checkpoint */
} px_shared;
/* pelt_decomposer_create with what several calls share. */
pelt_result px_decomposer_create(pelt_context *context, pelt_model *model, const pelt_decompose_desc *desc,
                                 px_shared shared, pelt_decomposer **decomposer);

/* Runs the method's `settle` step once, after the last iteration. Measure the result only after this call. */
pelt_result px_decomposer_settle(pelt_decomposer *decomposer);

/* Searches for the number of bones. Each trial runs exactly as if its number had been requested. The decomposer
 * returned has all its iterations done. */
pelt_result px_search_bones(pelt_context *context, pelt_model *model, const pelt_decompose_desc *desc,
                            pelt_decomposer **out);

#endif
