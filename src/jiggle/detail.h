/* A fine lattice for tissue that is too thin for the coarse one (fingers, toes, eyelids).
 *
 * A cell as wide as a hand cannot bend between the joints of a finger, so vertices around such joints are embedded in finer
 * cells. Fine particles have their own primary motion with its correction of volume, and take the secondary motion of the
 * coarse cell that contains them. At its border the fine lattice follows the coarse one.
 */
#ifndef PELT_JIGGLE_DETAIL_H
#define PELT_JIGGLE_DETAIL_H

#include "jiggle/mesh.h"
#include "jiggle/primary.h"

/* Embedding of a fine particle in the coarse lattice. */
typedef struct px_detail_place {
    uint32_t corners[8]; /* coarse particles */
    float shares[8];     /* weights of the corners; may be negative or above 1 */
    float own;           /* weight of its own primary motion, 0 at the border to 1 */
} px_detail_place;

typedef struct px_detail {
    px_lattice lattice; /* without particles where no tissue is thin; cell PELT_NONE: a vertex of the coarse lattice */
    px_weight_table weights;
    px_jiggle_parts parts;
    px_primary primary;
    px_mesh_embedding mesh;
    px_detail_place *places; /* [particle] */
    float *shown;            /* [particle][4] scratch */
    bool *thin;              /* [joint] its tissue is in the fine lattice */
} px_detail;

/* Makes fine cells where tissue is thin. A subject without a skin gets none. */
pelt_result px_detail_make(pelt_context *context, px_arena *arena, const px_jiggle_subject *subject,
                           const px_lattice *lattice, px_detail *detail);
/* The coarse lattice without the vertices of the fine one. */
pelt_result px_detail_rest(px_arena *arena, const px_detail *detail, const px_lattice *lattice, px_lattice *rest);

/* Particles of the fine lattice [particle][4], with coarse particles at `shown` that primary motion has at `skin`, both
 * [particle][4]; `primary` is the coarse one in that pose. Never allocates. */
const float *px_detail_move(px_detail *detail, const px_primary *primary, const float *skin, const float *shown);

/* Adds the secondary motion of the coarse lattice, from `still` to `swung` [coarse particle][4], to fine particles
 * [particle][4]; at the border they coincide with the coarse lattice. */
void px_detail_follow(const px_detail *detail, const float *still, const float *swung, float *particles);

/* Whether the tissue of a joint is in the fine lattice. */
bool px_detail_has(const px_detail *detail, uint32_t joint);
/* Disables the correction of volume for coarse parts whose tissue is in the fine lattice. */
void px_detail_relieve(const px_detail *detail, px_primary *primary);
/* Replaces volumes of coarse parts by those of fine ones. `volumes` holds the coarse parts, with capacity for as many more
 * as the fine lattice has parts. Returns their number; sorted by joint. Never allocates. */
uint32_t px_detail_report(px_detail *detail, const px_primary *primary, pelt_jiggle_volume *volumes);

#endif
