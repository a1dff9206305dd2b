/* Pelt: delta mush, a deformer that smooths a skinned mesh and puts the details of the rest pose back. docs/helpers.md describes
 * it, and how it becomes helper bones, which any engine plays.
 *
 * J. Mancewicz, M. L. Derksen, H. Rijpkema, C. A. Wilson: Delta Mush: smoothing deformations while preserving detail. Digital
 * Production Symposium 2014.
 */
#ifndef PELT_DELTA_MUSH_H
#define PELT_DELTA_MUSH_H

#include <pelt/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pelt_delta_mush_desc {
    uint32_t cookie;     /* set by pelt_delta_mush_desc_default; do not change */
    uint32_t iterations; /* smoothing steps, 0 to 1000; more reach farther; 0 leaves the skin as it is; default 10 */
    double strength;     /* of a step, 0 to 1: how far a vertex moves to the mean of its neighbours; default 0.5 */
} pelt_delta_mush_desc;
PELT_EXPERIMENTAL PELT_API const pelt_option_table *pelt_delta_mush_options(void);
PELT_EXPERIMENTAL PELT_API pelt_delta_mush_desc pelt_delta_mush_desc_default(void);

/* Evaluates a motion of a model with a skin: linear blend skinning, then delta mush. Frames are those of pelt_clip_from_motion;
 * `motion` NULL: one frame, the rest pose. Coincident vertices with a common joint stay together. Active morph targets are part of
 * the details. Welds the model. The clip has its positions in the model's memory until pelt_clip_free. `desc` NULL: defaults. */
PELT_EXPERIMENTAL PELT_API pelt_result pelt_clip_delta_mush(pelt_context *context, pelt_model *model,
                                                            const pelt_motion *motion, double fps,
                                                            const pelt_delta_mush_desc *desc, pelt_clip *clip);

#ifdef __cplusplus
}
#endif

#endif
