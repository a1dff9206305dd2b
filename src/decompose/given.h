/* Input rig: its motion, weights and rest pose as initial values or constants of the fit, and its locks. */
#ifndef PELT_DECOMPOSE_GIVEN_H
#define PELT_DECOMPOSE_GIVEN_H

#include "decompose/gather.h"

/* An input rig beside the clips. Its bones are the first bones of the fit. */
typedef struct px_given {
    const pelt_model *rig; /* NULL: no rig */
    uint32_t bone_count;   /* bones of the rig */
    uint32_t *motions;     /* [clip] index of the rig's motion; NULL: its motion is not used */
    uint32_t *vertices;    /* [class] the rig's vertex; NULL: the meshes do not match */
    bool in_order;         /* the rig's vertices are those of the mesh, in the same order */
    double *transforms;    /* [row][4P] matrices of the rig's bones, normalised; NULL: its motion is not used */
    bool kept;             /* some bones keep their motion, so the rig's skeleton and motions are kept */
    bool keeps_morphs; /* with `kept`, if the rig is the model itself: its morph targets, their tracks and drivers are
                        * kept */
} px_given;

/* Checks that the rig matches the model's mesh and clips. Sets the fit's bone_target, bone_capacity, influence_count and fixed_rest.
 */
pelt_result px_given_plan(px_given *given, px_fit *fit, const px_gathered *plan, const pelt_model *model,
                          const pelt_decompose_desc *desc);
/* If morph targets are kept, replaces `*clips` by the model's clips minus the skinned displacements of those targets at
 * the times of the frames (unmorph.c). Bones are fitted to the result. */
pelt_result px_given_unmorph(const px_given *given, px_fit *fit, const pelt_model *model, const pelt_clip **clips);
/* After the reduction: sets the rest pose and extends the basis so that it contains the rig's motion. */
pelt_result px_given_reduce(px_given *given, px_fit *fit, const px_gathered *plan, const pelt_model *model,
                            const pelt_decompose_desc *desc);
/* Rest position of mesh vertex i: the rig's, or the mesh's if the meshes do not match. */
const float *px_given_position(const px_given *given, const pelt_mesh *mesh, const px_gathered *plan, uint32_t i);
/* Replaces `normal` and `tangent` (may be NULL) by those of the rest pose of px_given_position. Does nothing if the
 * rig's vertices match by position only, which does not identify the vertex. */
void px_given_normal(const px_given *given, const pelt_mesh *mesh, uint32_t i, float normal[3], float tangent[4]);
/* Replaces seeding: sets the initial state and the locks. */
pelt_result px_given_start(px_given *given, px_fit *fit, const px_gathered *plan, const pelt_model *model,
                           const pelt_decompose_desc *desc);

/* The parts of the model that the result replaces. */
typedef struct px_built {
    pelt_skeleton skeleton;
    pelt_skin skin;
    uint32_t motion_count;
    pelt_motion *motions;
    uint32_t changed;  /* pelt_change bits */
    bool keeps_joints; /* the model's joints are the first joints of the skeleton, unchanged */
} px_built;

#endif
