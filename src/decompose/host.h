/* Hosts: the bone of a kept rig to which a new bone is attached.
 *
 * The new joint is a child of the host's joint, and its inverse bind matrix continues the host's: at rest it keeps its
 * place relative to the host, and in motions without a clip it follows the host. Programs that rebind a skin in a rest
 * pose of their own (Blender drops all scales) find the same product rest · inverse bind for both.
 */
#ifndef PELT_DECOMPOSE_HOST_H
#define PELT_DECOMPOSE_HOST_H

#include "core/similarity.h"
#include "decompose/given.h"

typedef struct px_hosts {
    const px_given *given;
    uint32_t *bones; /* [bone of the fit] its host, a bone of the rig with locked motion; PELT_NONE: none */
    double *sizes;   /* [bone of the fit] largest scale of the host's matrices over all frames; 1 without a host */
} px_hosts;

/* Chooses as host the locked bone that shares most weight with a bone, among those whose inverse bind matrix is a
 * similarity and whose matrices M_h are invertible in every frame, such that M_h⁻¹ · M is still of the fit's bone kind.
 * Without a kept rig no bone has a host. Arrays live in the fit's arena. */
pelt_result px_hosts_find(const px_given *given, px_fit *fit, px_hosts *hosts);

/* The host's 3×4 matrix in the frame of a row, normalised. */
void px_host_matrix(const px_hosts *hosts, uint32_t bone, size_t row, double out[12]);
/* m := host⁻¹ · m in the frame of a row; both normalised. */
void px_host_divide(const px_hosts *hosts, uint32_t bone, size_t row, double m[12]);
/* m := host · m in the frame of a row; both normalised. */
void px_host_multiply(const px_hosts *hosts, uint32_t bone, size_t row, double m[12]);

/* Converts an inverse bind matrix to a similarity, with negative scale if it mirrors. Returns false if it is no
 * similarity. */
bool px_host_bind(const pelt_affine *a, px_similarity *out);

/* Bones with locked motions get the rig's joints and tracks unchanged (keep.c). Joints and tracks of the other bones
 * are added to its skeleton and motions, below their hosts. `built` has one motion per clip and is modified. */
pelt_result px_given_keep(const px_given *given, const px_fit *fit, const px_hosts *hosts, const pelt_model *model,
                          px_built *built);

#endif
