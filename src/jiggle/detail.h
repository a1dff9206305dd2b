/* Detail: flesh too thin for the lattice (fingers, toes, eyelids) has a finer lattice of its own.
 *
 * A cell as wide as a hand cannot bend between the joints of a finger. Vertices around such joints lie in finer cells
 * instead. Their particles have a primary motion of their own, volumes and all, and no swing: they take that of the
 * coarse cell around them. At its border the finer lattice follows the coarse one.
 */
#ifndef PELT_JIGGLE_DETAIL_H
#define PELT_JIGGLE_DETAIL_H

#include "jiggle/mesh.h"
#include "jiggle/primary.h"

/* Where a fine particle is in the coarse lattice. */
typedef struct px_detail_place {
    uint32_t corners[8]; /* coarse particles */
    float shares[8];     /* of them; they may lie beyond 0 and 1 */
    float own;           /* how much of its own primary motion counts: 0 at the border to 1 */
} px_detail_place;

typedef struct px_detail {
    px_lattice lattice; /* of no particles: there is no thin flesh. Vertices that are not in it have cell PELT_NONE */
    px_weight_table weights;
    px_jiggle_parts parts;
    px_primary primary;
    px_mesh_embedding mesh;
    px_detail_place *places; /* [particle] */
    float *shown;            /* [particle][4] scratch */
    bool *thin;              /* [joint] whose flesh it is for */
} px_detail;

/* Fine cells where the subject has thin flesh. Needs a skin; without one there are none. */
pelt_result px_detail_make(pelt_context *context, px_arena *arena, const px_jiggle_subject *subject,
                           const px_lattice *lattice, px_detail *detail);
/* The coarse lattice without the vertices of the fine one. */
pelt_result px_detail_rest(px_arena *arena, const px_detail *detail, const px_lattice *lattice, px_lattice *rest);

/* Particles of the fine lattice [particle][4], with coarse particles at `shown` that primary motion has at `skin`, both
 * [particle][4]; `primary` is the coarse one in that pose. Never allocates. */
const float *px_detail_move(px_detail *detail, const px_primary *primary, const float *skin, const float *shown);

/* Fine particles [particle][4] that moved on their own, with coarse ones at `still`: lets them follow the coarse ones to
 * `swung`, and at the border be where these are. */
void px_detail_follow(const px_detail *detail, const float *still, const float *swung, float *particles);

/* Whether the flesh of a joint is the fine lattice's. */
bool px_detail_has(const px_detail *detail, uint32_t joint);
/* Lets parts of the coarse primary motion that the fine lattice has be as blending leaves them: nobody sees them. */
void px_detail_relieve(const px_detail *detail, px_primary *primary);
/* volumes: those of the coarse parts, and room for as many as the fine lattice has parts. Puts volumes of fine parts in
 * the place of coarse ones; gives how many there are then, in the order of joints. Never allocates. */
uint32_t px_detail_report(px_detail *detail, const px_primary *primary, pelt_jiggle_volume *volumes);

#endif
