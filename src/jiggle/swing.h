/* Secondary motion: displacements of particles from the primary motion. */
#ifndef PELT_JIGGLE_SWING_H
#define PELT_JIGGLE_SWING_H

#include "jiggle/match.h"
#include "jiggle/values.h"

/* A collider in world space. */
typedef struct px_obstacle {
    double a[3], b[3];                   /* world space; plane: b is the unit normal */
    double a_velocity[3], b_velocity[3]; /* units / s; plane: b_velocity is 0 */
    double radius;
    bool known; /* the velocities are valid: the collider existed in the previous substep */
} px_obstacle;

/* Tissue that is held (grab.c). */
typedef struct px_grab {
    uint32_t vertex;     /* PELT_NONE: none */
    uint32_t count;      /* held particles */
    uint32_t *particles; /* [held] capacity: all particles, as for the other arrays */
    bool *held;          /* [particle] */
    float *strengths;    /* [held] 0 to 1 */
    float (*places)[3];  /* [held] displayed position when it was grabbed, units */
    float start[3];      /* of the vertex when it was grabbed, units */
    float target[3];     /* units */
} px_grab;

typedef struct px_swing {
    const px_jiggle_subject *subject;
    const px_lattice *lattice;
    const px_weight_table *weights;
    px_values values;
    px_match match;
    px_swing_pass pass;                     /* settings and state passed to the kernels */
    float *deltas, *keeps, *pulls, *pushes; /* [particle], [particle], [particle], [particle][4]; padded to blocks */
    uint32_t centre;                        /* the particle that coordinates are relative to, to reduce rounding */
    double step;                            /* h, seconds */
    double frequency;                       /* Hz, of joints without their own */
    pelt_jiggle_forces forces;
    px_grab grab;
    float (*joint_pushes)[3]; /* [joint] scratch */
    float *outside;           /* [particle] distance outside the rest surface, units; NULL: no colliders */
    uint32_t collider_count;
    pelt_collider *colliders; /* [collider_count] */
    px_obstacle *obstacles;   /* [collider_count] */
} px_swing;

/* normals [vertex][3] of the mesh at rest. Arrays live in the arena; all other arguments must outlive it. */
pelt_result px_swing_make(px_arena *arena, const px_jiggle_subject *subject, const px_lattice *lattice,
                          const px_weight_table *weights, const px_thickness *thickness,
                          const px_jiggle_kernels *kernels, const float *normals, const pelt_jiggle_desc *desc,
                          px_swing *out);
void px_swing_set_values(px_swing *swing, const pelt_jiggle_joint *joints, uint32_t joint_count,
                         const pelt_jiggle_maps *maps);
/* Sets the forces, clamped to their ranges. */
void px_swing_set_forces(px_swing *swing, const pelt_jiggle_forces *forces);
void px_swing_set_collider(px_swing *swing, uint32_t index, const pelt_collider *collider);
/* Places all particles at the primary motion, with velocity 0: positions and rotations [particle][4]. */
void px_swing_reset(px_swing *swing, const float *skin, const float *turns);
/* Advances one substep, to the primary motion `skin` [particle][4] and joints at `globals` [joint]. */
void px_swing_step(px_swing *swing, const float *skin, const pelt_affine *globals);
/* Computes the displayed positions out [particle][4], `later` seconds after the last substep, with primary motion
 * `skin`. */
void px_swing_show(const px_swing *swing, const float *skin, double later, float *out);

/* ---- grab.c ----------------------------------------------------------------------------------------------- */

pelt_result px_grab_make(px_arena *arena, uint32_t particle_count, px_grab *grab);
/* `shown` [particle][4]: displayed positions, from which a new grab begins. NULL: lets go. */
void px_swing_set_grab(px_swing *swing, const float *shown, const pelt_jiggle_grab *grab);
/* Called in a substep: adds the forces of the grab to the pushes. */
void px_swing_pull(px_swing *swing, const float *skin);

/* ---- collide.c -------------------------------------------------------------------------------------------- */

pelt_result px_swing_make_colliders(px_arena *arena, const pelt_jiggle_desc *desc, const float *normals,
                                    px_swing *swing);
/* Called after a substep: resolves contacts and clamps distances from the primary motion. */
void px_swing_hold(px_swing *swing, const float *skin, const pelt_affine *globals);

#endif
