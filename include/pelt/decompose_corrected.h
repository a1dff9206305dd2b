/* Pelt: bones, weights and corrective morph targets in one operation.
 *
 * pelt_decompose finds the bones that fit an animation best by themselves; pelt_correct adds morph targets for the error
 * that is left. With R targets to come other bones are better: those that fit best what the targets cannot express. This
 * operation alternates between the two, then adds the targets.
 */
#ifndef PELT_DECOMPOSE_CORRECTED_H
#define PELT_DECOMPOSE_CORRECTED_H

#include <pelt/correct.h>
#include <pelt/decompose.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PELT_CORRECTION_ROUNDS_MAX 100u

typedef struct pelt_decompose_corrected_desc {
    uint32_t cookie;      /* set by pelt_decompose_corrected_desc_default; do not change */
    uint32_t corrections; /* R, morph targets to add, 0 to 100; default 0: pelt_decompose alone */
    /* alternations between bones and targets at most, 0 to 100; default 8. 0: the bones stay those of
     * pelt_decompose. Fewer run when a round lowers the error by less than 0.5 % */
    uint32_t rounds;
    /* pelt_weight_format that the skin will be saved in; default f32. Weights are rounded to it before the targets
     * are fitted, so that targets make up for the rounding too */
    uint32_t weights;
} pelt_decompose_corrected_desc;
PELT_EXPERIMENTAL PELT_API const pelt_option_table *pelt_decompose_corrected_options(void);
PELT_EXPERIMENTAL PELT_API pelt_decompose_corrected_desc pelt_decompose_corrected_desc_default(void);

/* Arrays live in the model. */
typedef struct pelt_decompose_corrected_report {
    pelt_decompose_report decompose; /* of the first decomposition, before rounds */
    pelt_correct_report correct;     /* all zero without corrections */
    uint32_t round_count;            /* rounds that lowered the error; the others were discarded */
    /* [round_count + 1] E_rms with corrections before and after each round, falling; NULL where no round was tried */
    const double *round_errors;
    double seconds_correct; /* of rounds, normals and corrections */
} pelt_decompose_corrected_report;

/* Decomposes all clips of the model as pelt_decompose does with `bones`, improves the bones for `desc->corrections` morph
 * targets, fits rest normals, and adds the targets with a weight channel to each motion. With rounds the bones alone have
 * a larger error than those of pelt_decompose. Rounds need bones that are all free to change: with a rig, a hierarchy or
 * the method sma none is tried. Holds 36 bytes for each point and frame beside what pelt_decompose and pelt_correct take.
 * After a failure the model is as it was. `bones`, `desc` and `report` may be NULL. */
PELT_EXPERIMENTAL PELT_API pelt_result pelt_decompose_corrected(pelt_context *context, pelt_model *model,
                                                                const pelt_decompose_desc *bones,
                                                                const pelt_decompose_corrected_desc *desc,
                                                                pelt_decompose_corrected_report *report);

#ifdef __cplusplus
}
#endif

#endif
