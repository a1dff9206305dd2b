/* Vertices of thin flesh keep the rig's own skin. */
#ifndef PELT_JIGGLE_HOLD_H
#define PELT_JIGGLE_HOLD_H

#include "jiggle/mesh.h"
#include "jiggle/thickness.h"

typedef struct px_hold {
    const pelt_model *model;
    const px_jiggle_subject *subject;
    const px_weight_table *weights;
    uint32_t particle_count;
    const float *rest;    /* [particle][3] */
    float *shares;        /* [particle] how much is held */
    float *limits;        /* [particle] units: the longest difference, the thickness of the flesh */
    float *vertex_shares; /* [vertex] the same; NULL: nothing is held */
    float *bind;          /* [vertex][3] in the bind pose, with morphs as at rest */
    float *morphed;       /* [vertex][3] scratch: with morphs as they are; NULL: there are none */
    float *skinned;       /* [vertex][3] scratch: by the rig's skin … */
    float *blended;       /* … and by linear blending of the lattice */
    float *linear;        /* [particle][4] scratch: by linear blending */
    float *moved;         /* [particle][4] scratch */
    pelt_affine *motions; /* [joint] scratch */
    pelt_affine *palette; /* [bone] scratch */
} px_hold;

/* Arrays live in the arena; all arguments but `finer` must outlive it. finer [vertex]: how much a finer lattice moves, which
 * needs no such help; NULL: there is none. */
pelt_result px_hold_make(pelt_context *context, px_arena *arena, const px_jiggle_subject *subject,
                         const px_lattice *lattice, const px_weight_table *weights, const px_thickness *thickness,
                         const float *finer, px_hold *out);
/* Particles [particle][4] for joints at `globals` [joint], not farther from linear blending than the flesh is thick, as far
 * as they are held. Gives `particles` where nothing is. Never allocates. */
const float *px_hold_particles(const px_hold *hold, const pelt_affine *globals, const float *particles);
/* After px_hold_particles, moves vertices that `mesh` and those particles put at `positions`, so that they are off the rig's
 * own skin only by as much as the lattice is off its own linear blending. Never allocates. */
void px_hold_vertices(const px_hold *hold, const px_mesh_embedding *mesh, const pelt_affine *globals, float *positions);

#endif
