/* Fits a skeleton to a mesh: size, orientation and position.
 *
 *   fit.c      measures the misfit and finds the similarity transform that reduces it
 *   fit_pose.c rotates the limbs of a skeleton without skin to follow the mesh
 *   refit.c    applies the fit to joints, rest pose and motions */
#ifndef PELT_BIND_FIT_H
#define PELT_BIND_FIT_H

#include "bind/bind.h"
#include "core/similarity.h"

/* Measures how well the skeleton fits and finds the transform that fits it best. The search runs if the skeleton does
 * not fit as it is, and always with `full`; skeletons without skin are posed only with `full`. *pose [joint], in the
 * arena: the rest pose to use; NULL: the skeleton's own. */
pelt_result px_bind_fit_find(px_arena *arena, const px_bind_subject *subject, bool full, pelt_bind_fit *fit,
                             pelt_transform **pose);

/* The fitted rest pose [joint] and motions [motion] of the subject's rig, in the arena. */
pelt_result px_bind_fit_rig(px_arena *arena, const pelt_bind_fit *fit, const pelt_transform *pose,
                            const px_bind_subject *subject, pelt_transform **rest, pelt_motion **motions);
/* Moves the joints of the subject to their positions in the fitted rest pose. */
pelt_result px_bind_fit_joints(px_arena *arena, const pelt_bind_fit *fit, const pelt_transform *rest,
                               px_bind_subject *subject);

/* ---- Search ------------------------------------------------------------------------------------------------- */

typedef struct px_fit_search {
    const px_bind_subject *s;
    const px_voxels *voxels;
    double diagonal, centre[3]; /* of the mesh's bounding box, world space */
    uint32_t sample_count;
    double (*samples)[3]; /* boundary voxels, world space: limbs get more samples from the surface than from the
                           * volume */
    uint32_t joint_count;
    uint32_t *joints;       /* [n] joints that should lie inside the mesh */
    uint32_t *above;        /* [n] nearest ancestor in `joints`, as an index into it; itself if it has none */
    double (*places)[3];    /* [n] positions in the current pose, world space */
    double (*moved)[3];     /* [n] scratch: transformed places */
    double low[3], high[3]; /* bounding box of places */
    bool whole_bones;       /* misfit also measures the midpoints of bones, not only joints */
} px_fit_search;

/* Misfit of the skeleton under a similarity transform. *inside (may be NULL): fraction of the joints that lie in
 * voxels. */
double px_fit_misfit(const px_fit_search *f, const px_similarity *m, double *inside);
/* Coordinate descent on translation and, with `scales`, scale of the skeleton. `cost`: misfit of *m on entry. Returns
 * the reduced misfit. */
double px_fit_refine(const px_fit_search *f, px_similarity *m, double cost, bool scales);
/* Sets places and their box from globals [joint], world space. */
void px_fit_take(px_fit_search *f, const pelt_affine *globals);
/* Alternates between rotating joints and refining scale and translation, starting from globals [joint] and *m; both
 * receive the result. */
pelt_result px_fit_pose(px_arena *arena, px_fit_search *f, pelt_affine *globals, px_similarity *m, double *cost);
/* The first motion of a skeleton without skin may stand at another height than its rest pose (BVH files rest with the
 * root at the origin). In that case the root takes its translation from the first frame and *m compensates, so that
 * motions start at the mesh. *pose as in px_bind_fit_find. */
pelt_result px_fit_stand(px_arena *arena, const px_fit_search *f, px_similarity *m, pelt_transform **pose);

#endif
