/* Checkpoints: the state of a decomposition in files, from which a later run with the same inputs and settings goes on to the same
 * bytes.
 *
 *   FILE           trials of a search, unknowns and history of the solver: replaced every desc.checkpoint_every iterations
 *   FILE.reduced   what the reduction found: written once for each number of bones
 *
 * A file is written beside its place as FILE.new and renamed, so a process that is killed leaves the old one. Arrays by vertex hold
 * those of all processes in their order: any number of processes can go on. Process 0 writes, every process reads its own vertices.
 */
#ifndef PELT_DECOMPOSE_CHECKPOINT_H
#define PELT_DECOMPOSE_CHECKPOINT_H

#include "core/digest.h"
#include "decompose/fit.h"

#define PX_TRIALS_MOST 64u /* of a search for the number of bones */

typedef struct px_trial {
    double error;
    uint32_t bones;
    uint32_t rigid;     /* groups of rigid components */
    uint32_t all_rigid; /* 1: these hold all vertices */
    uint32_t unused;
} px_trial;

typedef struct px_checkpoint {
    const char *path;
    px_digest key; /* of inputs and settings */
    uint32_t trial_count;
    px_trial trials[PX_TRIALS_MOST]; /* that have ended, in any order */
} px_checkpoint;

/* Reads the inputs for their digest, and the trials of an earlier run. Fails if the file is of other inputs or settings. */
pelt_result px_checkpoint_open(pelt_context *context, const pelt_model *model, const pelt_decompose_desc *desc,
                               px_checkpoint *checkpoint);

/* The result of the reduction: dimension, basis, coords, norms and now.rest. *loaded: they were in the file of an earlier run with
 * this number of bones. */
pelt_result px_checkpoint_load_reduced(const px_checkpoint *checkpoint, px_fit *fit, bool *loaded);
pelt_result px_checkpoint_save_reduced(const px_checkpoint *checkpoint, px_fit *fit);

/* The same for the state between two iterations. Needs px_fit_make_moments. */
pelt_result px_checkpoint_load(pelt_decomposer *decomposer, bool *loaded);
pelt_result px_checkpoint_save(pelt_decomposer *decomposer);

#endif
