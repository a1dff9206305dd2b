/* Parts of the problem that are known already: a rig's motion, its weights, a rest pose, and what of it is locked. */
#ifndef PELT_DECOMPOSE_GIVEN_H
#define PELT_DECOMPOSE_GIVEN_H

#include "decompose/gather.h"

/* A rig beside the clips. Its bones are the first bones of the fit. */
typedef struct px_given {
    const pelt_model *rig; /* NULL: there is none */
    uint32_t bone_count;   /* the rig's */
    uint32_t *motions;     /* [clip] the rig's motion that moves it; NULL: its motion is not given */
    uint32_t *vertices;    /* [vertex of the fit] the rig's vertex; NULL: its mesh is another */
    bool in_order;         /* the rig's vertices are those of the mesh, one by one */
    double *transforms;    /* [row][4P] of the rig's bones, normalised; NULL: its motion is not given */
    bool kept;             /* some bones keep their motion: its skeleton and motions stay … */
    bool keeps_morphs; /* … and, where the rig is the model itself, its morph targets with their tracks and drivers */
} px_given;

/* Checks that the rig fits the model's mesh and clips, and sets what the fit must know beforehand: bones, influences
 * and whether the rest pose is fixed. */
pelt_result px_given_plan(px_given *given, px_fit *fit, const px_gathered *plan, const pelt_model *model,
                          const pelt_decompose_desc *desc);
/* Where morph targets stay, replaces `*clips` by the model's clips less what the rig's skin makes of those targets at the
 * times of the frames (unmorph.c): what bones are fitted to. */
pelt_result px_given_unmorph(const px_given *given, px_fit *fit, const pelt_model *model, const pelt_clip **clips);
/* After the reduction: the rest pose, and a basis in which the rig's motion can be said. */
pelt_result px_given_reduce(px_given *given, px_fit *fit, const px_gathered *plan, const pelt_model *model,
                            const pelt_decompose_desc *desc);
/* Where a vertex of the mesh rests with a rig: as in the rig, or in the mesh where the rig's is another. */
const float *px_given_position(const px_given *given, const pelt_mesh *mesh, const px_gathered *plan, uint32_t i);
/* With that position: the rig's normal and tangent in the place of those that are given, where it is known which of its
 * vertices is vertex i. `tangent` may be NULL. */
void px_given_normal(const px_given *given, const pelt_mesh *mesh, uint32_t i, float normal[3], float tangent[4]);
/* Instead of seeds: the first state, and the locks. */
pelt_result px_given_start(px_given *given, px_fit *fit, const px_gathered *plan, const pelt_model *model,
                           const pelt_decompose_desc *desc);

/* What replaces the nouns of the model in the end. */
typedef struct px_built {
    pelt_skeleton skeleton;
    pelt_skin skin;
    uint32_t motion_count;
    pelt_motion *motions;
    uint32_t changed;  /* pelt_change bits */
    bool keeps_joints; /* the model's joints are the first of the skeleton's, as they were */
} px_built;

#endif
