/* Pelt: soft-tissue simulation as operations on a rig.
 *
 *   pelt_centre_joints      joints of a rough skeleton move to the middle of their limbs
 *   pelt_jiggle_simulate    motions of the model, or a motion of another skeleton, become clips
 *   pelt_jiggle_add_bones   the clips become helper bones beside the bones of the rig
 *   pelt_jiggle_add_morphs  the clips become morph targets with animated weights
 *
 * Simulate first, then add bones or morph targets, then save. Each operation changes the model in place; after a failure
 * the model is as it was.
 */
#ifndef PELT_JIGGLE_RIG_H
#define PELT_JIGGLE_RIG_H

#include <pelt/correct.h>
#include <pelt/decompose_corrected.h>
#include <pelt/jiggle.h>
#include <pelt/retarget.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pelt_centre_joints_report {
    uint32_t moved_count;    /* joints that moved */
    uint32_t farthest_joint; /* the joint that moved farthest */
    double farthest;         /* by this distance, units */
    double cell;             /* side of a cell of the lattice that volumes were measured with, units */
} pelt_centre_joints_report;

/* Moves joints to the middle of their limb's volume: across the limb, to the centroid of the tissue that blends the joint
 * and its parent; weights of the skin, or heat from the bones without one. The rest shape of the mesh, the axes of joints
 * and their rotations in motions stay; translations in motions move along. Roots, joints whose tissue does not blend and
 * nodes of parts without a skin stay. `cells` along the longest side of the mesh, at most 1024; 0: 48. `report` may be
 * NULL. */
PELT_EXPERIMENTAL PELT_API pelt_result pelt_centre_joints(pelt_context *context, pelt_model *model, uint32_t cells,
                                                          pelt_centre_joints_report *report);

typedef struct pelt_jiggle_simulate_desc {
    uint32_t cookie;       /* set by pelt_jiggle_simulate_desc_default; do not change */
    uint32_t motion;       /* index of the first motion to simulate; default 0. Ignored with source_motion */
    uint32_t motion_count; /* how many; 0 (default): all from `motion` on. Ignored with source_motion */
    double from; /* seconds after the start of a motion at which its simulated part begins, ≥ 0; default 0 */
    double to;   /* seconds after the start of a motion at which it ends, ≥ 0; 0 (default): at its end */
    /* a motion of `source` to retarget to the model first; NULL (default): simulate motions of the model */
    const pelt_motion *source_motion;
    const pelt_model *source;        /* the model that source_motion belongs to; required with it */
    const pelt_joint_match *matches; /* [joint of the model] partners in `source`; NULL (default): pelt_match_joints */
    const pelt_retarget_desc *retarget; /* NULL (default): defaults */
    const pelt_jiggle_desc *jiggle;     /* NULL (default): defaults */
    const pelt_jiggle_bake_desc *bake;  /* NULL (default): defaults */
} pelt_jiggle_simulate_desc;
/* The fields from and to. */
PELT_EXPERIMENTAL PELT_API const pelt_option_table *pelt_jiggle_simulate_options(void);
PELT_EXPERIMENTAL PELT_API pelt_jiggle_simulate_desc pelt_jiggle_simulate_desc_default(void);

/* Arrays live in the model's memory. */
typedef struct pelt_jiggle_simulate_report {
    uint32_t clip_count;                  /* model.clip_count */
    const uint32_t *motions;              /* [clip] the motion that was simulated; PELT_NONE: the rest pose */
    const double *added;                  /* [clip] seconds by which pelt_motion_close made the motion longer, or 0 */
    const pelt_jiggle_bake_report *bakes; /* [clip] */
    pelt_retarget_report retarget;        /* zero without source_motion */
} pelt_jiggle_simulate_report;

/* Simulates motions and replaces the clips of the model by the results, one clip per motion. A model without motions gets
 * one clip of one frame, its rest pose. The part between `from` and `to`, and with bake->loop the closed cycle
 * (pelt_motion_close), replaces the motion, so that motions and clips have equal durations. A retargeted motion is inserted
 * as motion 0. `desc` and `report` may be NULL. */
PELT_EXPERIMENTAL PELT_API pelt_result pelt_jiggle_simulate(pelt_context *context, pelt_model *model,
                                                            const pelt_jiggle_simulate_desc *desc,
                                                            pelt_jiggle_simulate_report *report);

/* Settings of pelt_decompose for simulated clips: 16 helper bones, 8 iterations. More of either fits closer; 8 iterations
 * take about as long as the simulation. */
PELT_EXPERIMENTAL PELT_API pelt_decompose_desc pelt_jiggle_bones_default(void);

/* Fits helper bones, desc->add of them, to the clips: pelt_decompose_corrected with the model as its rig. At every vertex at most half
 * of desc->influences is left to the bones of the rig, those of the largest weights; the others are for helper bones. With
 * desc->add 0 the bones of the rig are replaced. desc->rig is ignored. `desc` NULL: pelt_jiggle_bones_default.
 * `corrected` NULL: no corrections. `report` may be NULL. */
PELT_EXPERIMENTAL PELT_API pelt_result pelt_jiggle_add_bones(pelt_context *context, pelt_model *model,
                                                             const pelt_decompose_desc *desc,
                                                             const pelt_decompose_corrected_desc *corrected,
                                                             pelt_decompose_corrected_report *report);

/* Settings of pelt_correct for simulated clips: 20 morph targets. */
PELT_EXPERIMENTAL PELT_API pelt_correct_desc pelt_jiggle_morphs_default(void);

/* Adds morph targets for the difference between the skin and the clips: pelt_correct of every clip with its motion.
 * `motions` [clip] as in pelt_jiggle_simulate_report. `desc` NULL: pelt_jiggle_morphs_default. `report` may be NULL. */
PELT_EXPERIMENTAL PELT_API pelt_result pelt_jiggle_add_morphs(pelt_context *context, pelt_model *model,
                                                              const uint32_t *motions, const pelt_correct_desc *desc,
                                                              pelt_correct_report *report);

#ifdef __cplusplus
}
#endif

#endif
