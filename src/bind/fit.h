/* Whether a skeleton has the size, direction and place of the mesh.
 *
 *   fit.c      measures it, and finds the similarity that mends it
 *   fit_pose.c turns the limbs of a bare skeleton into the mesh
 *   refit.c    applies that to joints, rest pose and motions */
#ifndef PELT_BIND_FIT_H
#define PELT_BIND_FIT_H

#include "bind/bind.h"
#include "core/similarity.h"

/* Measures the skeleton of a subject and finds what would mend it. The search runs where the skeleton does not fit as
 * it is, and in any case with `full`; only then bare skeletons are posed. *pose [joint], in the arena: the rest pose to
 * take, or NULL: the skeleton's own. */
pelt_result px_bind_fit_find(px_arena *arena, const px_bind_subject *subject, bool full, pelt_bind_fit *fit,
                             pelt_transform **pose);

/* The rig of a subject with a fitted rest pose and fitted motions; all else is the rig's. New arrays are in the arena. */
pelt_result px_bind_fit_rig(px_arena *arena, const pelt_bind_fit *fit, const pelt_transform *pose,
                            const px_bind_subject *subject, pelt_model *fitted);
/* Moves the joints of the subject to where the fitted rig has them. */
pelt_result px_bind_fit_joints(px_arena *arena, const pelt_bind_fit *fit, const pelt_model *fitted,
                               px_bind_subject *subject);

/* ---- The search from inside --------------------------------------------------------------------------------- */

typedef struct px_fit_search {
    const px_bind_subject *s;
    const px_voxels *voxels;
    double diagonal, centre[3]; /* of the mesh's box */
    uint32_t sample_count;
    double (*samples)[3]; /* voxels at its surface, world: limbs count more there than inside */
    uint32_t joint_count;
    uint32_t *joints;       /* [n] joints that should lie inside */
    uint32_t *above;        /* [n] the next of these above it, as a place in `joints`; or itself */
    double (*places)[3];    /* [n] of the pose that is tried */
    double (*moved)[3];     /* [n] scratch */
    double low[3], high[3]; /* box of places */
    bool whole_bones;       /* bones should lie inside, not only their joints */
} px_fit_search;

/* The misfit under a similarity. *inside, where wanted: the share of the joints that lie in voxels. */
double px_fit_misfit(const px_fit_search *f, const px_similarity *m, double *inside);
/* Coordinate descent on the place and, with `scales`, the size of the skeleton; `cost` is the misfit before. */
double px_fit_refine(const px_fit_search *f, px_similarity *m, double cost, bool scales);
/* Takes the joints' places, world. */
void px_fit_take(px_fit_search *f, const pelt_affine *globals);
/* Turns joints and refines size and place in turn, from globals [joint] and *m, which get the result. */
pelt_result px_fit_pose(px_arena *arena, px_fit_search *f, pelt_affine *globals, px_similarity *m, double *cost);
/* Where the first motion of a bare skeleton stands on another ground than its rest pose (BVH files rest with the root at
 * the origin), the root gets its place from the first frame, and *m brings it back: motions then begin where the mesh
 * stands. *pose as for px_bind_fit_find. */
pelt_result px_fit_stand(px_arena *arena, const px_fit_search *f, px_similarity *m, pelt_transform **pose);

#endif
