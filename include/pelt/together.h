/* Pelt: bones that are best with corrections to come.
 *
 * pelt_decompose finds the bones that come nearest to an animation by themselves, and pelt_correct the morph targets for
 * what they miss. With R targets to come other bones are better: those that come nearest to what targets cannot say.
 */
#ifndef PELT_TOGETHER_H
#define PELT_TOGETHER_H

#include <pelt/correct.h>
#include <pelt/decompose.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PELT_TOGETHER_ROUNDS_MAX 100u

typedef struct pelt_together_report {
    uint32_t round_count; /* that made it better; the others are as if they had not been */
    const double *errors; /* [round_count + 1] E_rms with corrections, before and after each, falling: about what
                           * pelt_correct then reaches. Lives in the model; NULL when nothing was done */
} pelt_together_report;

/* Changes a model that pelt_decompose made, with these settings, for `rank` corrections (1 to 100): rest pose, weights
 * and motions. Corrections are not added: pelt_correct with that rank does it. Nor are normals fitted any more:
 * pelt_decompose_normals does. Up to `rounds` (at most 100) are tried,
 * fewer when they no longer pay. Bones alone come out worse than before. Where they are not all free to change (a
 * rig's, those of a hierarchy, of sma) nothing is done. Holds 36 bytes for each point and frame beside what pelt_correct
 * does, and leaves a rig's size in the model's memory for each round. After a failure the model is as it was. `settings`
 * and `report` may be NULL. */
PELT_EXPERIMENTAL PELT_API pelt_result pelt_together(pelt_context *context, pelt_model *model,
                                                     const pelt_decompose_desc *settings, uint32_t rank,
                                                     uint32_t rounds, pelt_together_report *report);

#ifdef __cplusplus
}
#endif

#endif
