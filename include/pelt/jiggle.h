/* Pelt: flesh for a rig. Joints keep their volume, and what is soft follows through.
 *
 * "Lattice-based Skinning and Deformation for Real-time Skeleton-driven Animation" (Chen, Lin, Tsai, Lu) and "FastLSM"
 * (Rivers, James 2007). A lattice of cubes lies around the mesh. Its corners, the particles, are moved by the skeleton
 * and corrected for volume (primary motion, x̄); around this skin they swing by lattice shape matching (secondary
 * motion, x). What is shown is δ x + (1 − δ) x̄; vertices move with the cubes they lie in.
 *
 * The skin is where everything comes to rest: in a pose that stands still, x = x̄ stays so to the last bit.
 *
 * Two doors: a pelt_jiggle is stepped by whoever plays it, frame by frame, and never allocates after it was made;
 * pelt_jiggle_bake steps one through a motion and gives a clip. The same poses give the same bits in both.
 */
#ifndef PELT_JIGGLE_H
#define PELT_JIGGLE_H

#include <pelt/model.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PELT_JIGGLE_STIFFNESS_MOST 8u

typedef enum pelt_jiggle_weights {
    PELT_JIGGLE_WEIGHTS_SKIN,   /* the rig's own skin weights, spread to the particles */
    PELT_JIGGLE_WEIGHTS_LATTICE /* heat that diffuses from the bones through the lattice */
} pelt_jiggle_weights;

/* What has how much of δ. */
typedef enum pelt_jiggle_softness {
    PELT_JIGGLE_SOFTNESS_THICKNESS, /* thick flesh all of it, thin flesh, hands, feet and heads none; it swings by at most
                                     * an eighth of its thickness. Joints and vertices with a δ of their own have that.
                                     * Shells that one joint alone moves are rigid, unless it moves the whole mesh */
    PELT_JIGGLE_SOFTNESS_EVEN       /* everything all of it, and swings as far as it likes */
} pelt_jiggle_softness;

/* ---- What can be set locally ------------------------------------------------------------------------------ */

/* Values of one joint, for the particles that follow it, as far as they do so. Below 0: as elsewhere. */
typedef struct pelt_jiggle_joint {
    uint32_t joint;  /* index into the skeleton */
    float stiffness; /* see pelt_jiggle_desc */
    float damping;   /* see pelt_jiggle_desc */
    float delta;     /* where it is given, when made, the joint's bone has no rigid cylinder */
    float pin;       /* 0 to 1: how much of delta is taken away; 1: rigid on the skin */
    float strength;  /* of its heat, with WEIGHTS_LATTICE; more than 0, elsewhere 1. Only when made */
    float width;     /* in cells: nearer particles are heated by it alone; elsewhere 1. Only when made */
} pelt_jiggle_joint;
/* Everything as elsewhere. */
PELT_API pelt_jiggle_joint pelt_jiggle_joint_default(uint32_t joint);

/* Values of vertices [vertex], spread to the particles around them; each may be NULL. They stand above those of joints;
 * below 0, or not a number: as without the map. Flesh under the surface is like the surface above it. */
typedef struct pelt_jiggle_maps {
    const float *stiffness; /* 0 to PELT_JIGGLE_STIFFNESS_MOST */
    const float *damping;   /* ≥ 0 */
    const float *delta;     /* 0 to 1 */
    const float *pin;       /* 0 to 1 */
} pelt_jiggle_maps;

/* ---- What pushes and holds -------------------------------------------------------------------------------- */

/* Shapes of colliders. */
typedef enum pelt_collider_kind { PELT_COLLIDER_SPHERE, PELT_COLLIDER_CAPSULE, PELT_COLLIDER_PLANE } pelt_collider_kind;

/* The mesh's surface stays out of it: particles, each let in or kept out by as much as it lies outside or inside. */
typedef struct pelt_collider {
    pelt_collider_kind kind; /* shape */
    uint32_t joint;          /* whose space it is in, scale and all; PELT_NONE: the world's */
    float a[3];              /* centre; one end of the capsule; a place on the plane */
    float b[3];     /* the other end of the capsule; the plane's normal, any length: what is behind it is kept out of */
    float radius;   /* ≥ 0; of the plane: how far before it things stop */
    float friction; /* 0 (slides) to 1 (sticks) */
} pelt_collider;

/* What moves everything soft, in the world. Of gravity g − R g acts, where R turns the flesh from rest: the rest pose was
 * modelled under gravity and stays as it is; what lies down sags. */
typedef struct pelt_jiggle_forces {
    float gravity[3]; /* units / s²; default 0 */
    float wind[3];    /* units / s; default 0. Air moves flesh by drag · (wind − velocity) */
    float drag;       /* 1 / s, ≥ 0; default 0: no air. Wind needs some */
} pelt_jiggle_forces;

/* ---- Settings --------------------------------------------------------------------------------------------- */

typedef struct pelt_jiggle_desc {
    uint32_t cookie; /* set by pelt_jiggle_desc_default; do not change */
    /* The lattice and the primary motion. */
    uint32_t cells;     /* along the longest side of the mesh, 1 to 1024; 0 (default): as many as give … */
    uint32_t particles; /* … about this number of particles; default 2000 */
    uint32_t weights;   /* pelt_jiggle_weights; default skin. Without a skin: lattice */
    double volume;      /* how much of the volume that bends lose or win is put right, 0 to 1; default 1 */

    /* The secondary motion. */
    double stiffness;  /* half-width of regions that try to stay rigid, in cells; may lie between whole ones; 0 to 8,
                       * default 2 */
    double delta;      /* δ, 0 to 1: 0 is the skin alone, 1 hangs on the bones alone; default 0.9 */
    uint32_t softness; /* pelt_jiggle_softness; default by thickness. Without a skin: even */
    double bones;      /* radius of the rigid cylinders around bones, in cells, ≥ 0; default 1; 0: none */
    double frequency;  /* Hz: how fast a particle alone swings about where its regions want it, > 0; default 16. Flesh
                       * that is not held by bones swings at √(1 − δ) of it. More than 1 / (6 substep) counts as that */
    double damping;    /* 1 / s: how fast motion against the skin dies (amplitudes at half of it), ≥ 0; default 8 */
    double region_damping; /* 1 / s: the same for motion within regions, which keep their momentum, linear and angular
                            * (FastLSM); ≥ 0, default 20 */
    double max_distance;   /* from the skin, in units, ≥ 0; 0 (default): any */
    double teleport;       /* a joint that moves farther than this in one step, in diagonals of the mesh's box, did not
                          * move but jump: all is put on the skin; ≥ 0, default 1; 0: nothing is a jump */
    double substep;        /* seconds, 1/4000 to 1/10; default 1/240 */
    pelt_jiggle_forces forces;       /* gravity, wind and drag */
    uint32_t joint_count;            /* number of joints with values of their own; default 0 */
    const pelt_jiggle_joint *joints; /* [joint_count] values of joints, no joint twice; copied, as all below */
    pelt_jiggle_maps maps;           /* values per vertex; default: all NULL */
    uint32_t collider_count;         /* number of colliders; default 0 */
    const pelt_collider *colliders;  /* [collider_count] */
} pelt_jiggle_desc;
/* All but forces and what follows. */
PELT_API const pelt_option_table *pelt_jiggle_options(void);
PELT_API pelt_jiggle_desc pelt_jiggle_desc_default(void);

/* ---- The stepping object ---------------------------------------------------------------------------------- */

/* A simulation of one model. */
typedef struct pelt_jiggle pelt_jiggle;

/* Makes all there ever is. Welds the model, which must stay and keep its mesh, skeleton, skin and morphs. Needs joints.
 * `desc` may be NULL. On failure *jiggle is NULL. */
PELT_API pelt_result pelt_jiggle_create(pelt_context *context, pelt_model *model, const pelt_jiggle_desc *desc,
                                        pelt_jiggle **jiggle);
/* NULL is allowed. */
PELT_API void pelt_jiggle_destroy(pelt_jiggle *jiggle);

/* Nothing below but the bake allocates or can fail. One thread at a time. */

/* Where the rig is at the end of the coming step: local transforms [joint]. The first pose, or the first one after a
 * reset, holds at once. Local transforms that are not finite count as the ones before. */
PELT_API void pelt_jiggle_set_pose(pelt_jiggle *jiggle, const pelt_transform *locals);
/* Time goes on, in fixed substeps; the rest of it waits for the next call. Between poses joints go on smooth
 * paths, by the three last ones. Less than 0 and what is not finite counts as 0, more than a second as one. */
PELT_API void pelt_jiggle_step(pelt_jiggle *jiggle, double seconds);
/* Vertices now: the skin at this very time, and the swing of the last substep carried on to it. positions [vertex][3],
 * normals [vertex][3] or NULL: those of the mesh (smooth ones, where it has none) turned by the lattice's deformation. */
PELT_API void pelt_jiggle_positions(const pelt_jiggle *jiggle, float *positions, float *normals);
/* Puts everything on the skin, at rest in the pose that was set. */
PELT_API void pelt_jiggle_reset(pelt_jiggle *jiggle);

/* Weights of the model's morphs [morph] from now on; at first they are at rest. They move vertices in the lattice, and do
 * not weigh: flesh swings as it did. What is not finite counts as at rest. */
PELT_API void pelt_jiggle_set_weights(pelt_jiggle *jiggle, const float *weights);

/* What can change while it runs. Values out of range count as the nearest in it. */
PELT_API void pelt_jiggle_set_forces(pelt_jiggle *jiggle, const pelt_jiggle_forces *forces);
/* `index` below desc.collider_count. It does not sweep from the old place to the new one. */
PELT_API void pelt_jiggle_set_collider(pelt_jiggle *jiggle, uint32_t index, const pelt_collider *collider);
/* All values of joints and vertices anew; either may be NULL or 0: none. Copied. */
PELT_API void pelt_jiggle_set_values(pelt_jiggle *jiggle, const pelt_jiggle_joint *joints, uint32_t joint_count,
                                     const pelt_jiggle_maps *maps);

/* ---- What it tells ---------------------------------------------------------------------------------------- */

/* Volume of the flesh around a joint: at rest, moved by the skeleton alone, and put right; cubic units. */
typedef struct pelt_jiggle_volume {
    uint32_t joint;             /* index into the skeleton */
    double rest, before, after; /* in the pose of the last substep */
} pelt_jiggle_volume;

typedef struct pelt_jiggle_report {
    uint32_t cell_count, particle_count; /* size of the lattice */
    uint32_t pinned_count;               /* particles that are rigid on the skin */
    double cell;                         /* a cell's side, units */
    uint32_t volume_count;               /* joints whose volume is measured */
    const pelt_jiggle_volume *volumes;   /* [volume_count] from the root outwards; lives as long as the jiggle */
    uint32_t teleport_count;             /* jumps so far */
} pelt_jiggle_report;
/* Lattice sizes and volumes now. */
PELT_API pelt_jiggle_report pelt_jiggle_tell(pelt_jiggle *jiggle);

/* The lattice as it is now: particles that are shown. Live as long as the jiggle; positions change with steps. */
typedef struct pelt_jiggle_lattice {
    uint32_t cell_count, particle_count; /* size of the lattice */
    const uint32_t (*cells)[8];          /* [cell] particles at corners x + 2y + 4z */
    const float (*positions)[4];         /* [particle] x y z 0 */
} pelt_jiggle_lattice;
/* The lattice as it is now, for drawing. */
PELT_API pelt_jiggle_lattice pelt_jiggle_lattice_now(const pelt_jiggle *jiggle);

/* ---- Baking ----------------------------------------------------------------------------------------------- */

/* Called before every substep with the time at its end, seconds from the motion's start: forces, values and colliders may
 * be set. */
typedef void pelt_jiggle_at_fn(void *user, double time, pelt_jiggle *jiggle);

typedef struct pelt_jiggle_bake_desc {
    uint32_t cookie; /* set by pelt_jiggle_bake_desc_default; do not change */
    double fps; /* frames per second of the clip, more than 0; default 30. See pelt_clip_from_motion: where it does not
                     * divide the motion's duration, frames are slightly closer */
    double preroll; /* seconds before the clip in which the rig comes out of standing to the speed that its first pose
                     * has, or with `loop` turns are played; default 1 */
    bool loop;      /* the motion is a cycle: it is played until it comes back to where it was, and what is left to that
                     * is spread over the frames. The clip's last frame is its first, bit for bit; see pelt_motion_close
                     * for cycles without their last key; default false */
    pelt_jiggle_at_fn *at; /* NULL (default): nothing changes */
    void *user;            /* of `at` */
} pelt_jiggle_bake_desc;
/* All but at and user. */
PELT_API const pelt_option_table *pelt_jiggle_bake_options(void);
PELT_API pelt_jiggle_bake_desc pelt_jiggle_bake_desc_default(void);

typedef struct pelt_jiggle_bake_report {
    pelt_jiggle_report jiggle; /* with volumes at the frame that loses or wins most; in the model's memory */
    double farthest;           /* units: of a vertex from where the skeleton alone has it, volume and all … */
    uint32_t farthest_frame, farthest_vertex; /* … there */
    double fps;                               /* of the clip */
    uint32_t turns;                           /* of a loop that were played; else 0 */
    double seam; /* units: what was left between the ends of a loop's last turn, and spread over it */
} pelt_jiggle_bake_report;

/* Steps through a motion of the model (NULL: its rest pose), one substep after the other, so that the result does not
 * depend on `fps`. The clip lives in the model's memory. `desc`, `bake` and `report` may be NULL. */
PELT_API pelt_result pelt_jiggle_bake(pelt_context *context, pelt_model *model, const pelt_motion *motion,
                                      const pelt_jiggle_desc *desc, const pelt_jiggle_bake_desc *bake, pelt_clip *clip,
                                      pelt_jiggle_bake_report *report);

#ifdef __cplusplus
}
#endif

#endif
