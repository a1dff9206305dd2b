/* Primary motion: particles moved by the skeleton, with their volume restored.
 *
 *   centres.c       centres of rotation
 *   skin.c          motions of joints, blending; one pose              skin_kernel.h
 *   volume_make.c   parts, and the field along which each expands
 *   volume.c        volumes of parts, and their correction          volume_kernel.h
 *   kernels*.c      kernels for every instruction set
 */
#ifndef PELT_JIGGLE_PRIMARY_H
#define PELT_JIGGLE_PRIMARY_H

#include "jiggle/jiggle.h"
#include "jiggle/kernels.h"

#include <pelt/jiggle.h>

/* A particle that is displaced when a part expands. */
typedef struct px_swelling {
    uint32_t particle;
    float way[3]; /* displacement at rest for λ = 1 */
} px_swelling;

/* Tissue around a joint, whose volume is preserved. Half-open ranges into arrays of px_primary. */
typedef struct px_volume_part {
    uint32_t joint, half; /* as in px_jiggle_parts */
    uint32_t particle_count;
    uint32_t first_block, block_count;         /* of px_primary.blocks */
    uint32_t first_swelling, swelling_count;   /* of px_primary.swellings */
    uint32_t first_neighbour, neighbour_count; /* of px_primary.neighbours */
    double rest;                               /* volume at rest, as summed by the kernel */
} px_volume_part;

/* State of a part during the correction. */
typedef struct px_swell_state {
    double cubic[4]; /* volume − target as a polynomial in λ about the current λ */
    double lambda;
    bool known;   /* cubic[1] … cubic[3] are valid */
    bool needed;  /* cubic[1] … cubic[3] were needed in this pose */
    bool likely;  /* they were needed in the previous pose: compute them together with the volume */
    bool waiting; /* its volume changed after its last correction */
} px_swell_state;

typedef struct px_growth px_growth;

/* How the parts of pelt_jiggle_volume_field are measured and expand; a row per field in volume_make.c. */
typedef struct px_volume_method {
    /* Finds the displacements [particle][3] of a part for λ = 1, at most one cell, from growth->outward and others. */
    void (*find_ways)(const px_growth *growth, uint32_t part, float (*ways)[3]);
    bool filled;  /* weight octants by the fraction that the mesh fills */
    float inset;  /* as in px_volume_kernel */
    int sweeps;   /* over all parts, from the root outwards */
    double limit; /* bound on |λ| */
} px_volume_method;
const px_volume_method *px_volume_method_of(pelt_jiggle_volume_field field);

typedef struct px_primary {
    uint32_t particle_count, joint_count, part_count;
    const uint32_t *parents;     /* [joint] */
    const pelt_affine *inverses; /* [joint] from the world to the joint, at rest */
    px_joint_motion *motions;    /* [joint] of the last pose */
    float (*turns)[4];           /* [joint] rotation relative to the parent in the last pose; all 0: no last pose */
    const px_jiggle_kernels *kernels;
    pelt_jiggle_blend blend;
    const px_volume_method *volume;
    px_skin_pass pass;
    px_volume_part *parts; /* [part] parents before children */
    const uint32_t *particle_parts;
    float *particle_volumes; /* [particle] at rest */
    px_volume_block *blocks;
    px_swelling *swellings;
    float (*turned)[3];        /* [swelling] displacements in the last pose, where needed */
    uint32_t *neighbours;      /* other parts whose volume changes when a part expands */
    float *field;              /* [particle][4] all 0 except during the correction of a part */
    double *volumes, *targets; /* [part] scratch */
    px_swell_state *states;    /* [part] scratch */
} px_primary;

/* Settings: desc->blend and volume_field. Arrays live in the arena; subject, lattice, weights and parts must outlive
 * it. */
pelt_result px_primary_make(px_arena *arena, const px_jiggle_subject *subject, const px_lattice *lattice,
                            const px_weight_table *weights, const px_jiggle_parts *parts, const pelt_jiggle_desc *desc,
                            px_primary *primary);

/* Moves the particles with the joints at `globals` [joint]. Returns positions [particle][4] (x y z 0), valid until
 * the next call. `amount` 0 (linear blend skinning) to 1 (volumes as at rest). Rotations near 180° keep the
 * direction of the last pose. Never allocates. */
const float *px_primary_move(px_primary *primary, const pelt_affine *globals, float amount);
/* Like px_primary_move, with the last pose and amount of another primary motion of the same skeleton. */
const float *px_primary_follow(px_primary *primary, const px_primary *other);
/* Clears the last pose. */
void px_primary_reset(px_primary *primary);

/* Reports volumes [part] of the last pose. Never allocates. */
void px_primary_report(px_primary *primary, pelt_jiggle_volume *volumes);

/* Computes volumes [part] of positions [particle][4], by eq. 7 of LBSD. Never allocates. */
void px_primary_volumes(const px_primary *primary, const float *positions, double *volumes);

/* ---- Shared by the files ---------------------------------------------------------------------------------- */

/* Computes centres [particle][4]. The centre of a particle with a single joint is its own position. */
pelt_result px_primary_centres(pelt_context *context, const px_lattice *lattice, const px_weight_table *weights,
                               float *centres);
/* Fills all fields of `primary` that concern volumes. */
pelt_result px_primary_make_parts(px_arena *arena, const px_lattice *lattice, const px_weight_table *weights,
                                  const px_jiggle_parts *parts, px_primary *primary);
/* Moves pass.positions so that volumes of parts approach their targets by the fraction `amount`. */
void px_primary_swell(px_primary *primary, float amount);
/* Returns the root of c[0] + c[1] λ + c[2] λ² + c[3] λ³ nearest to 0 in [low, high], low ≤ 0 ≤ high. Without a root:
 * the λ that minimises the absolute value. 0 if no λ improves on 0, or if a coefficient is not finite. */
double px_cubic_nearest(const double c[4], double low, double high);

#endif
