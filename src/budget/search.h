/* The state of a search for a decomposition within a budget, and what its parts share. */
#ifndef PELT_BUDGET_SEARCH_H
#define PELT_BUDGET_SEARCH_H

#include "io/precision.h"

#include <pelt/budget.h>

#define PX_LADDER_RATIO 1.41421356
#define PX_LADDER_MAX   24u
#define PX_TRIAL_MAX    160u
#define PX_EXACT_ROOM   0.98  /* share of max_error that exact numbers may take: rounding needs some */
#define PX_CLIMB_GAIN   0.995 /* more bones must make the file smaller by this factor */

typedef struct px_budget {
    pelt_context *context;
    px_arena *scratch;
    pelt_model *model; /* what is decomposed */
    pelt_budget_desc desc;
    pelt_decompose_desc bones;
    pelt_decompose_cache *cache;
    pelt_save_desc save;
    double size;   /* of the model at rest */
    int exponent;  /* of px_precision */
    double radius; /* by which E_rms is divided */
    size_t images; /* bytes of the file that trials leave out */
    uint32_t frame_count;
    pelt_budget_trial *trials; /* [TRIAL_MAX] */
    uint32_t trial_count;
    pelt_model *best;      /* NULL: none yet; borrows from … */
    pelt_model *best_base; /* … the solution before key frames were removed, which borrows from `model` */
    px_precision best_precision;
    pelt_budget_trial best_trial;
    bool met;
    bool roomy;               /* without max_error: a file of a solution was within the bytes without coarse numbers */
    bool closest;             /* no trial kept max_error: write one that exceeds it */
    px_precision_guess guess; /* of the last file with max_error of these transforms and morph targets … */
    uint32_t guess_transforms, guess_morphs;
    bool guessed, thorough; /* … there is one; do not use it */
    /* the candidate at hand */
    uint32_t *points; /* [vertex of its file] point; NULL: i */
    uint32_t point_count;
    double *frame_most;          /* [frame] largest squared distance, over all clips … */
    double *frame_sums;          /* [frame] … and the sum of squares */
    bool *probed;                /* [frame] */
    double error_rms, error_max; /* last measured in all frames */
} px_budget;

/* ---- Files (files.c) -------------------------------------------------------------------------------------- */

/* The largest distance of the motions of a file from the clips; `all`: in all frames, else in those with b->probed. */
pelt_result px_budget_measure(void *budget, pelt_model *written, bool all, double *distance);
/* Rounds a candidate as the goal asks and records it. *better: it is the best so far. */
pelt_result px_budget_try_file(px_budget *b, const pelt_model *candidate, pelt_budget_trial trial, bool *better);
/* The precision of the best file searched for from scratch: it is kept where that is smaller. */
pelt_result px_budget_round_best(px_budget *b);
/* Whether a file is better than the best; `met`: it keeps the limits. */
bool px_budget_is_better(const px_budget *b, const pelt_budget_trial *trial, bool met);
void px_budget_record(px_budget *b, const pelt_budget_trial *trial);

/* ---- Candidates (search.c) -------------------------------------------------------------------------------- */

/* Numbers of bones with ratio √2, the largest allowed last: ladder [PX_LADDER_MAX]. Returns how many. */
uint32_t px_budget_ladder(const px_budget *b, uint32_t *ladder);
/* Removes key frames of all motions of a solution while no vertex is farther than `bound` from the clips; 0: none. *keys:
 * those left. */
pelt_result px_budget_thin(px_budget *b, const pelt_decompose_report *report, pelt_model *candidate, double bound,
                           uint32_t *keys);
/* The smallest files have normals only where the source has. */
void px_budget_leave_normals(const px_budget *b, pelt_model *solution);
/* Makes a candidate, which borrows from `base`, the best, and frees the one before. */
void px_budget_keep(px_budget *b, pelt_model *candidate, pelt_model *base);
/* Finds the best file within the budget. */
pelt_result px_budget_search(px_budget *b);

/* ---- Bones fitted to the largest distance (tight_search.c) ------------------------------------------------ */

/* Points times frames that these fits hold in memory. */
#define PX_TIGHT_NUMBER_MAX (1u << 26)
/* The smallest file of rigid or affine bones that keeps max_error; b->best stays NULL where there is none. */
pelt_result px_budget_search_tight(px_budget *b);

#endif
