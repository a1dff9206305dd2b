/* Pelt: soft-tissue simulation of rigged characters: volume preservation and secondary motion.
 *
 * Chen, Lin, Tsai, Lu: "Lattice-based Skinning and Deformation for Real-time Skeleton-driven Animation"; Rivers, James:
 * "FastLSM: Fast Lattice Shape Matching for Robust Real-time Deformation" (2007).
 *
 * A lattice of cubic cells encloses the mesh; the corners of the cells are the particles. The skeleton moves the particles
 * and a correction restores volume that bends lose or gain: the primary motion x̄. Lattice shape matching adds the
 * secondary motion x. Particles are shown at δ x + (1 − δ) x̄; each vertex moves with the cell that contains it. In a pose
 * that does not change, the simulation comes to rest at x = x̄, bit for bit.
 *
 * Two entry points: pelt_jiggle is stepped by the caller, frame by frame, and allocates only when it is created;
 * pelt_jiggle_bake simulates a motion and returns a clip. Equal poses give equal bits in both. Operations on a whole rig
 * are in jiggle_rig.h.
 */
#ifndef PELT_JIGGLE_H
#define PELT_JIGGLE_H

#include <pelt/model.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PELT_JIGGLE_MAX_STIFFNESS 8u

/* Source of the joint weights of particles. */
typedef enum pelt_jiggle_weights {
    PELT_JIGGLE_WEIGHTS_SKIN,    /* weights of the skin, transferred to the particles */
    PELT_JIGGLE_WEIGHTS_LATTICE, /* heat that diffuses from the bones through the lattice: the Laplace equation, solved */
    PELT_JIGGLE_WEIGHTS_ITERATED /* heat as in Chen et al., eq. 3 to 5: means over the 26 neighbours, iterated; the four
                                  * largest weights */
} pelt_jiggle_weights;

/* How joints move particles. */
typedef enum pelt_jiggle_blend {
    PELT_JIGGLE_BLEND_CENTRES, /* blended quaternions, about the centre of tissue with similar weights */
    PELT_JIGGLE_BLEND_POLAR /* Chen et al., eq. 1 and 2: rotation of the blended matrix, by polar decomposition, about
                                * the joint of the particle's part */
} pelt_jiggle_blend;

/* Displacements that restore the volume of a part. */
typedef enum pelt_jiggle_volume_field {
    PELT_JIGGLE_VOLUME_GRADIENT, /* gradient of the volume that the mesh fills; all parts solved together */
    PELT_JIGGLE_VOLUME_BOUNDARY /* Chen et al., eq. 6 to 10: towards the nearest boundary of the lattice, volume of whole
                                  * cells; one pass from the root outwards */
} pelt_jiggle_volume_field;

/* Shape that regions keep in shape matching. */
typedef enum pelt_jiggle_regions {
    PELT_JIGGLE_REGIONS_SKIN, /* the primary motion of the pose, which is then the equilibrium */
    PELT_JIGGLE_REGIONS_REST  /* Chen et al., eq. 11 to 13: the rest shape; bent tissue is straightened by δ */
} pelt_jiggle_regions;

/* How δ varies over the mesh. */
typedef enum pelt_jiggle_softness {
    PELT_JIGGLE_SOFTNESS_THICKNESS, /* all of δ where tissue is thick; none where it is thin and at hands, feet and heads.
                                     * Secondary motion is at most an eighth of the thickness. δ of joints and of maps
                                     * takes precedence, without that bound. Shells that one joint moves alone are rigid,
                                     * unless that joint moves the whole mesh */
    PELT_JIGGLE_SOFTNESS_EVEN       /* all of δ everywhere, without a bound */
} pelt_jiggle_softness;

/* ---- Local settings --------------------------------------------------------------------------------------- */

/* Settings of one joint, for the particles that follow it, in proportion to its weight. Negative: inherit the value from
 * pelt_jiggle_desc. */
typedef struct pelt_jiggle_joint {
    uint32_t joint;  /* index into the skeleton */
    float stiffness; /* as pelt_jiggle_desc.stiffness */
    float damping;   /* as pelt_jiggle_desc.damping */
    float frequency; /* as pelt_jiggle_desc.frequency */
    float delta;     /* as pelt_jiggle_desc.delta. Given at creation: the bone has no rigid cylinder */
    float pin;       /* fraction by which delta is reduced, 0 to 1; 1: rigid. Negative: 0 */
    float strength;  /* strength of the heat of the joint with heat weights, > 0; negative: 1. Read at creation only */
    /* distance from the bone, in cells, within which it alone heats, with heat weights; negative: 1. Read at
     * creation only */
    float width;
} pelt_jiggle_joint;
/* Every value inherited. */
PELT_API pelt_jiggle_joint pelt_jiggle_joint_default(uint32_t joint);

/* Settings per vertex, [vertex] each, transferred to the particles around the vertices and to those below the surface. They
 * take precedence over settings of joints. NULL: no map. Elements that are negative or NaN: no value at this vertex. */
typedef struct pelt_jiggle_maps {
    const float *stiffness; /* 0 to PELT_JIGGLE_MAX_STIFFNESS */
    const float *damping;   /* ≥ 0 */
    const float *delta;     /* 0 to 1 */
    const float *pin;       /* 0 to 1 */
} pelt_jiggle_maps;

/* A change of the deformable parts, whose volume is preserved. A part is the tissue around a joint: the second half of the
 * bone that ends there and the first half of the bone that starts there. */
typedef struct pelt_jiggle_part {
    uint32_t joint; /* joint of the part */
    uint32_t into;  /* joint of the part that it becomes a part of; PELT_NONE: split into its two halves */
} pelt_jiggle_part;

/* ---- Colliders and forces --------------------------------------------------------------------------------- */

/* Shape of a collider; a plane is the solid half-space behind it. */
typedef enum pelt_collider_kind { PELT_COLLIDER_SPHERE, PELT_COLLIDER_CAPSULE, PELT_COLLIDER_PLANE } pelt_collider_kind;

/* A solid that the surface of the mesh is kept out of. Particles collide; each keeps the distance to the surface that it
 * has at rest. */
typedef struct pelt_collider {
    pelt_collider_kind kind; /* shape */
    uint32_t joint;          /* joint whose space, with its scale, the collider is in; PELT_NONE: world space */
    float a[3];              /* sphere: centre; capsule: one end; plane: a point on it */
    float b[3];              /* capsule: the other end; plane: normal, any length but 0, away from the solid */
    float radius;            /* ≥ 0; plane: distance in front of it at which particles stop */
    float friction;          /* 0 (slides) to 1 (sticks) */
} pelt_collider;

/* Forces on all soft tissue, in world space. The rest pose was modelled under gravity g, so the force is g − R g, with R
 * the rotation of the tissue from rest: none at rest. */
typedef struct pelt_jiggle_forces {
    float gravity[3]; /* units / s²; default 0 */
    float wind[3];    /* units / s; default 0. The acceleration is drag · (wind − velocity) */
    float drag;       /* 1 / s, ≥ 0; default 0. Required with wind */
} pelt_jiggle_forces;

/* A hold on soft tissue, by a hand or a pointer. */
typedef struct pelt_jiggle_grab {
    uint32_t vertex; /* the vertex that is held */
    float target[3]; /* place to pull it to, world space, finite */
    /* ≥ 0, units: tissue nearer to the vertex in the rest pose is pulled too, less towards this distance. The tissue around
     * the vertex's cell always is */
    float radius;
} pelt_jiggle_grab;

/* ---- Settings --------------------------------------------------------------------------------------------- */

typedef struct pelt_jiggle_desc {
    uint32_t cookie; /* set by pelt_jiggle_desc_default; do not change */
    /* Lattice and primary motion. */
    uint32_t cells;        /* along the longest side of the mesh, 1 to 1024; 0 (default): chosen for `particles` */
    uint32_t particles;    /* approximate number of particles, 8 to 1,000,000; default 2000. Ignored with `cells` */
    uint32_t weights;      /* pelt_jiggle_weights; default skin. A model without a skin uses lattice */
    uint32_t blend;        /* pelt_jiggle_blend; default centres */
    uint32_t volume_field; /* pelt_jiggle_volume_field; default gradient */
    double volume;         /* fraction of the change of volume in bends that is corrected, 0 to 1; default 1 */

    /* Secondary motion. */
    /* half-width, in cells, of the regions that shape matching keeps rigid, 0 to 8, fractions allowed; default 2 */
    double stiffness;
    uint32_t regions;   /* pelt_jiggle_regions; default skin */
    double delta;       /* δ, 0 to 1: 0 no secondary motion, 1 held by bones alone; default 0.9 */
    uint32_t softness;  /* pelt_jiggle_softness; default thickness. A model without a skin uses even */
    double bone_radius; /* radius of the rigid cylinder around each bone, in cells, ≥ 0; default 1; 0: none */
    /* Hz, > 0; default 16: of one particle about the goal of its regions. Tissue far from bones oscillates at √(1 −
     * δ) of it. At most 1 / (6 substep) is used */
    double frequency;
    /* 1 / s, ≥ 0; default 8: decay of velocity against the primary motion; amplitudes decay at half the rate */
    double damping;
    /* 1 / s, ≥ 0; default 20: decay of velocity within regions, which conserves linear and angular momentum
     * (FastLSM) */
    double region_damping;
    double max_distance; /* of a particle from its primary motion, in units, ≥ 0; 0 (default): no bound */
    /* distance, in diagonals of the bounding box, ≥ 0; default 1; 0: off. A joint that moves farther in one step
     * resets the simulation */
    double teleport;
    double substep;                  /* seconds, 1/4000 to 1/10; default 1/240 */
    pelt_jiggle_forces forces;       /* default all 0 */
    uint32_t joint_count;            /* length of `joints` */
    const pelt_jiggle_joint *joints; /* [joint_count] each joint at most once. Copied, as are maps and colliders */
    pelt_jiggle_maps maps;           /* default all NULL */
    uint32_t part_count;             /* length of `parts` */
    const pelt_jiggle_part *parts;   /* [part_count] each joint at most once, no cycles; default none */
    uint32_t collider_count;         /* length of `colliders` */
    const pelt_collider *colliders;  /* [collider_count] */
} pelt_jiggle_desc;
/* The fields from cells to substep. Preset lattice2011: the forms of Chen et al. */
PELT_API const pelt_option_table *pelt_jiggle_options(void);
PELT_API pelt_jiggle_desc pelt_jiggle_desc_default(void);

/* ---- Stepping --------------------------------------------------------------------------------------------- */

/* A simulation in progress. Used by one thread at a time. */
typedef struct pelt_jiggle pelt_jiggle;

/* Allocates all memory that stepping needs. Welds the model, which must outlive the jiggle and keep its mesh, skeleton, skin
 * and morphs. Fails on a model without joints or vertices. `desc` may be NULL. On failure *jiggle is NULL. */
PELT_API pelt_result pelt_jiggle_create(pelt_context *context, pelt_model *model, const pelt_jiggle_desc *desc,
                                        pelt_jiggle **jiggle);
/* NULL is allowed. */
PELT_API void pelt_jiggle_destroy(pelt_jiggle *jiggle);

/* The functions below, except pelt_jiggle_bake, neither allocate nor fail. */

/* Sets the pose at the end of the next step: local transforms [joint]. The first pose after creation or reset takes effect
 * at once. Joints whose transform is not finite keep their previous one. */
PELT_API void pelt_jiggle_set_pose(pelt_jiggle *jiggle, const pelt_transform *locals);
/* Advances time in substeps of fixed length; the remainder is carried to the next call. Between poses joints move on smooth
 * curves through the last three. `seconds` is clamped to 0 … 1; NaN counts as 0. */
PELT_API void pelt_jiggle_step(pelt_jiggle *jiggle, double seconds);
/* Writes the current vertices: the primary motion at the current time and the secondary motion of the last substep,
 * extrapolated. positions [vertex][3]; normals [vertex][3] or NULL: those of the mesh (smooth normals where it has none),
 * transformed by the deformation of the lattice. */
PELT_API void pelt_jiggle_positions(const pelt_jiggle *jiggle, float *positions, float *normals);
/* Sets all particles to the primary motion of the current pose, at rest. */
PELT_API void pelt_jiggle_reset(pelt_jiggle *jiggle);

/* Sets the weights of the model's morphs [morph]; at creation their rest weights. Morphs displace vertices in the lattice
 * and do not change the simulation. Weights that are not finite count as rest weights. */
PELT_API void pelt_jiggle_set_weights(pelt_jiggle *jiggle, const float *weights);

/* Settings that may change between steps. Values are clamped to their ranges. */

/* Replaces pelt_jiggle_desc.forces. */
PELT_API void pelt_jiggle_set_forces(pelt_jiggle *jiggle, const pelt_jiggle_forces *forces);
/* Replaces a collider; `index` below pelt_jiggle_desc.collider_count. The collider does not sweep from its old place. */
PELT_API void pelt_jiggle_set_collider(pelt_jiggle *jiggle, uint32_t index, const pelt_collider *collider);
/* Replaces all settings of joints [joint_count] and maps: stiffness, damping, frequency, delta and pin. NULL or 0: none.
 * Copied. */
PELT_API void pelt_jiggle_set_values(pelt_jiggle *jiggle, const pelt_jiggle_joint *joints, uint32_t joint_count,
                                     const pelt_jiggle_maps *maps);

/* Pulls the tissue around a vertex to a place, with springs, until the next call; to move it, call again before each step
 * with the same vertex. Another vertex begins a new grab, NULL lets go, and so does a vertex or target that is invalid. Bones
 * and pinned tissue are not pulled, and displacements keep their bounds. */
PELT_EXPERIMENTAL PELT_API void pelt_jiggle_set_grab(pelt_jiggle *jiggle, const pelt_jiggle_grab *grab);

/* A value of soft tissue. */
typedef enum pelt_jiggle_value {
    PELT_JIGGLE_VALUE_STIFFNESS, /* half-width of regions, cells */
    PELT_JIGGLE_VALUE_DAMPING,   /* 1 / s */
    PELT_JIGGLE_VALUE_DELTA,     /* δ as simulated: reduced by pins, 0 near bones */
    PELT_JIGGLE_VALUE_PIN        /* 0 to 1 */
} pelt_jiggle_value;
/* Writes the values [vertex] that the tissue at the vertices has now, by settings, joints, maps and thickness. */
PELT_EXPERIMENTAL PELT_API void pelt_jiggle_get_values(const pelt_jiggle *jiggle, pelt_jiggle_value value,
                                                       float *values);

/* ---- Report ----------------------------------------------------------------------------------------------- */

/* A deformable part: its volume in the pose of the last substep, in cubic units. */
typedef struct pelt_jiggle_volume {
    uint32_t joint;          /* the joint that it is around */
    uint32_t bone;           /* joint of the bone whose half it is, if the part was split; PELT_NONE: not split */
    uint32_t particle_count; /* particles of the part */
    double rest;             /* in the rest pose */
    double before;           /* moved by the skeleton alone */
    double after;            /* with the correction of volume */
} pelt_jiggle_volume;

typedef struct pelt_jiggle_report {
    uint32_t cell_count;               /* cells of the lattice */
    uint32_t particle_count;           /* particles of the lattice */
    uint32_t pinned_count;             /* particles without secondary motion */
    double cell;                       /* side of a cell, units */
    uint32_t volume_count;             /* length of `volumes` */
    const pelt_jiggle_volume *volumes; /* [volume_count] from the root outwards; valid until the jiggle is destroyed */
    uint32_t teleport_count;           /* resets by pelt_jiggle_desc.teleport since creation */
} pelt_jiggle_report;
/* Measures the volumes of the current pose. */
PELT_API pelt_jiggle_report pelt_jiggle_get_report(pelt_jiggle *jiggle);

/* The lattice as shown. Arrays are valid until the jiggle is destroyed; positions change with every step. */
typedef struct pelt_jiggle_lattice {
    uint32_t cell_count;         /* length of `cells` */
    uint32_t particle_count;     /* length of `positions` */
    const uint32_t (*cells)[8];  /* [cell] particles at corners x + 2y + 4z */
    const float (*positions)[4]; /* [particle] x y z 0, world space */
} pelt_jiggle_lattice;
/* Returns the lattice with the particles of the last substep or pose. */
PELT_API pelt_jiggle_lattice pelt_jiggle_get_lattice(const pelt_jiggle *jiggle);

/* ---- Baking ----------------------------------------------------------------------------------------------- */

/* Called before every substep with the time at its end, in seconds from the start of the motion, to set forces, values and
 * colliders. */
typedef void pelt_jiggle_at_fn(void *user, double time, pelt_jiggle *jiggle);

typedef struct pelt_jiggle_bake_desc {
    uint32_t cookie; /* set by pelt_jiggle_bake_desc_default; do not change */
    /* frames per second of the clip, > 0; default 30. Slightly higher where it does not divide the duration of the
     * motion; see pelt_clip_from_motion */
    double fps;
    /* seconds simulated before the clip, ≥ 0; default 1. The rig accelerates from rest to the velocity of its first
     * pose; with `loop`, cycles are played */
    double preroll;
    /* the motion is a cycle; default false. Cycles are simulated until the end meets the start; the difference that
     * is left is distributed over the frames, so that the last frame equals the first bit for bit. For cycles
     * without a last key see pelt_motion_close */
    bool loop;
    pelt_jiggle_at_fn *at; /* NULL (default): settings do not change */
    void *user;            /* passed to `at` */
    bool keep_lattice;     /* record the lattice too, in pelt_jiggle_bake_report.lattice; default false */
} pelt_jiggle_bake_desc;
/* The fields from fps to loop. */
PELT_API const pelt_option_table *pelt_jiggle_bake_options(void);
PELT_API pelt_jiggle_bake_desc pelt_jiggle_bake_desc_default(void);

typedef struct pelt_jiggle_bake_report {
    pelt_jiggle_report jiggle; /* volumes in the frame where they change most; they live in the model's memory */
    double farthest;           /* largest distance of a vertex from its primary motion, units */
    uint32_t farthest_frame;   /* frame of that vertex */
    uint32_t farthest_vertex;  /* index of that vertex */
    double fps;                /* frames per second of the clip */
    uint32_t turns;            /* cycles simulated with `loop`, else 0 */
    double seam;               /* distance between the ends of the last cycle, units, before it was distributed */
    /* particles of the lattice in every frame of the clip, with keep_lattice: points are particles, as in
     * pelt_jiggle_lattice; they live in the model's memory. Else empty */
    pelt_clip lattice;
} pelt_jiggle_bake_report;

/* Simulates a motion of the model (NULL: its rest pose). The simulation does not depend on `fps`. The clip lives in the
 * model's memory until pelt_clip_free frees it and the arrays of the report. `desc`, `bake` and `report` may be NULL. */
PELT_API pelt_result pelt_jiggle_bake(pelt_context *context, pelt_model *model, const pelt_motion *motion,
                                      const pelt_jiggle_desc *desc, const pelt_jiggle_bake_desc *bake, pelt_clip *clip,
                                      pelt_jiggle_bake_report *report);

#ifdef __cplusplus
}
#endif

#endif
