/* Which bone of a kept rig carries a bone that is new.
 *
 * A new joint hangs from the joint of its host, and its inverse bind matrix continues the host's: at rest it is where the
 * host has it, in motions without a clip it follows the host, and programs that rebind a skin in a rest pose of their own
 * (Blender drops all scales) find the same product rest · inverse bind in both.
 */
#ifndef PELT_DECOMPOSE_HOST_H
#define PELT_DECOMPOSE_HOST_H

#include "core/similarity.h"
#include "decompose/given.h"

typedef struct px_hosts {
    const px_given *given;
    uint32_t *bones; /* [bone of the fit] its host, a bone of the rig with locked motion; PELT_NONE: it has none */
    double *sizes;   /* [bone of the fit] largest scale of the host's matrices over all frames; 1 without a host */
} px_hosts;

/* The locked bone that shares most weight with it, of those whose inverse bind matrix is a similarity and whose matrices
 * can be divided by in every frame and leave a bone of the fit's kind one of that kind. Without a kept rig no bone has a
 * host. Arrays live in the fit's arena. */
pelt_result px_hosts_find(const px_given *given, px_fit *fit, px_hosts *hosts);

/* The host's matrix in a row of the fit, normalised, as 3×4. */
void px_host_matrix(const px_hosts *hosts, uint32_t bone, size_t row, double out[12]);
/* m becomes host⁻¹ · m in a row; both normalised. */
void px_host_divide(const px_hosts *hosts, uint32_t bone, size_t row, double m[12]);
/* m becomes host · m. */
void px_host_multiply(const px_hosts *hosts, uint32_t bone, size_t row, double m[12]);

/* An inverse bind matrix as a similarity, with a negative scale when it mirrors; false when it is none. */
bool px_host_bind(const pelt_affine *a, px_similarity *out);

/* Bones with locked motions get the joints and tracks of the rig, as they are (keep.c); the others' joints and tracks are
 * added to its skeleton and motions, below their hosts. `built` has a motion per clip and is changed. */
pelt_result px_given_keep(const px_given *given, const px_fit *fit, const px_hosts *hosts, const pelt_model *model,
                          px_built *built);

#endif
