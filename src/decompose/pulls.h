/* What keeps a fit presentable where the error says next to nothing.
 *
 * Rest pose and bones may be changed together in ways that the error does not see (any affine change of the rest pose is
 * undone by the bones), and the direction across a flat or thin piece of surface hardly shows in it. Left alone, rest
 * poses drift and bones become flat or mirrored: the error is small, but whatever is derived from the matrices, such as
 * normals, is wrong. Two pulls decide what the error does not:
 *
 *   rest positions  to where they were at first           rest_pull · ‖v_i − home_i‖²
 *   affine bones    to the rotations that are nearest     bone_pull · size_j² · ‖L_jk − R_jk‖², size_j² the mean scatter
 *                                                         of what bone j carries
 *
 * Their strength follows the error: what a pull adds to the objective is a fixed share of it. The smaller the error, the
 * weaker the pull, so that exact fits stay exact.
 */
#ifndef PELT_DECOMPOSE_PULLS_H
#define PELT_DECOMPOSE_PULLS_H

#include "decompose/fit.h"

/* Sets the pull on rest positions for the next step. */
void px_pull_rest(px_fit *fit);

/* The rotations nearest to the bones of every frame, as `out` [4P][dimension] without translations; *away is Σ size_j² ·
 * ‖L_jk − R_jk‖². Affine bones only. Needs the moments. */
pelt_result px_pull_rotations(px_fit *fit, double *out, double *away);
/* For a fit that is done, with affine bones: how surfaces turn across themselves need not be in the basis of how they
 * move. Sets fit->outside to what brings bones nearer to rotations without it, as far as the objective stays below
 * `most`. */
pelt_result px_pull_outside(px_fit *fit, double most);
/* The share of all vertices and frames in which affine bones turn the rest normal to the other side of the surface.
 * vertices [the mesh's vertex]: the fit's. */
pelt_result px_turn_wrong(const px_fit *fit, const pelt_mesh *mesh, const uint32_t *vertices, double *share);
/* For a fit that is done, with affine bones: sets fit->outside to what makes bones turn normals as the surface turns, as far
 * as the objective stays below `most`. */
pelt_result px_turn_bones(px_fit *fit, const pelt_mesh *mesh, const uint32_t *vertices, double most);
/* size_j² of a bone. Needs the moments. */
double px_pull_size(const px_fit *fit, size_t bone);

#endif
