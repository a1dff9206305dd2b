/* A fine lattice for tissue that is too thin for the coarse one (fingers, toes, eyelids).
 *
 * A cell as wide as a hand cannot bend between the joints of a finger, so vertices around such joints are embedded in
 * finer cells. Fine particles have their own primary motion with its volume correction, and take the secondary motion
 * of the coarse cell that contains them. At its border the fine lattice follows the coarse one.
 */
#ifndef PELT_JIGGLE_DETAIL_H
#define PELT_JIGGLE_DETAIL_H

#include "jiggle/mesh.h"
#include "jiggle/primary.h"

/* Trilinear embedding of a fine particle in the coarse lattice. */
typedef struct px_detail_place {
    uint32_t corners[8]; /* coarse particles */
    float shares[8];     /* weights of the corners, sum 1; may be negative or above 1 outside the cell */
    float own; /* weight of the particle's own primary motion: 0 at the border of the fine lattice to 1 inside */
} px_detail_place;

typedef struct px_detail {
    px_lattice lattice; /* no particles if no tissue is thin; vertex_cells PELT_NONE: the coarse lattice holds it */
    px_weight_table weights;
    px_jiggle_parts parts;
    px_primary primary;
    px_mesh_embedding mesh;
    px_detail_place *places; /* [particle] */
    float *shown;            /* [particle][4] scratch */
    bool *thin;              /* [joint] its tissue is in the fine lattice */
} px_detail;

/* Builds fine cells where tissue is thin. A subject without a skin gets none. */
pelt_result px_detail_make(pelt_context *context, px_arena *arena, const px_jiggle_subject *subject,
                           const px_lattice *lattice, const pelt_jiggle_desc *desc, px_detail *detail);
/* Copies the coarse lattice and removes the vertices that the fine lattice holds. */
pelt_result px_detail_rest(px_arena *arena, const px_detail *detail, const px_lattice *lattice, px_lattice *rest);

/* Returns the particles of the fine lattice [particle][4] for coarse particles at `shown`, whose primary motion is
 * `skin`, both [particle][4]. `primary` is the coarse primary motion in that pose. Never allocates. */
const float *px_detail_move(px_detail *detail, const px_primary *primary, const float *skin, const float *shown);

/* Adds the secondary motion of the coarse lattice, from `still` to `swung` [coarse particle][4], to fine particles
 * [particle][4]; at the border they coincide with the coarse lattice. */
void px_detail_follow(const px_detail *detail, const float *still, const float *swung, float *particles);

/* Returns true if the tissue of the joint is in the fine lattice. */
bool px_detail_has(const px_detail *detail, uint32_t joint);
/* Disables the correction of volume for coarse parts whose tissue is in the fine lattice. */
void px_detail_relieve(const px_detail *detail, px_primary *primary);
/* Replaces the volumes of coarse parts by those of fine parts of the same joint. `volumes` holds the coarse parts
 * and has capacity for part_count of the fine lattice more. Returns the new count; entries are sorted by joint.
 * Never allocates. */
uint32_t px_detail_report(px_detail *detail, const px_primary *primary, pelt_jiggle_volume *volumes);

#endif
