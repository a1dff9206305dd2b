/* Regularisation of directions that the error hardly determines.
 *
 * Rest pose and bones can change together without changing the error (the bones undo any affine change of the rest
 * pose), and the direction across a flat or thin piece of surface hardly affects it. Without regularisation rest poses
 * drift and bones become flat or mirrored: the error is small, but quantities derived from the matrices, such as
 * normals, are wrong. Two quadratic penalties ("pulls") determine these directions:
 *
 *   rest positions  towards the initial rest pose         rest_pull · ‖v_i − home_i‖²
 *   affine bones    towards the nearest rotations         bone_pull · size_j² · ‖L_jk − R_jk‖²
 *
 * size_j² is the mean scatter of the vertices of bone j.
 *
 * The strengths follow the error: a penalty is a share of the objective. The smaller the error, the weaker the penalty,
 * so exact fits stay exact.
 */
#ifndef PELT_DECOMPOSE_PULLS_H
#define PELT_DECOMPOSE_PULLS_H

#include "decompose/fit.h"

/* Updates fit->rest_pull for the next step. */
pelt_result px_pull_rest(px_fit *fit);

/* Nearest rotations of the bones in every frame, as `out` [4P][dimension] without translations; *away is Σ size_j² ·
 * ‖L_jk − R_jk‖². Affine bones only. Needs the moments. */
pelt_result px_pull_rotations(px_fit *fit, double *out, double *away);
/* For a finished fit with affine bones. The basis spans the motion of the surface and need not contain its rotation
 * along the normal. Sets fit->outside to a part outside the basis that brings bones nearer to rotations, while the
 * objective is at most `most`. */
pelt_result px_pull_outside(px_fit *fit, double most);
/* Share of all vertices and frames (64 at most, evenly spaced) in which affine bones rotate the rest normal to the wrong
 * side of the surface. classes: the fit's vertices (px_gathered.classes). */
pelt_result px_turn_wrong(const px_fit *fit, const pelt_mesh *mesh, const pelt_vertex_classes *classes, double *share);
/* For a finished fit with affine bones: sets fit->outside such that bones rotate normals as the surface rotates, while
 * the objective is at most `most`. */
pelt_result px_turn_bones(px_fit *fit, const pelt_mesh *mesh, const pelt_vertex_classes *classes, double most);
/* size_j² of bone j. Needs the moments. */
double px_pull_size(const px_fit *fit, size_t bone);

#endif
