/* Pelt: a mesh as it comes out of production and a skeleton become skin weights.
 *
 * The mesh becomes voxels, which know neither holes nor shells nor crossing triangles, and weights spread from the bones
 * through them: by diffusion (`heat`, the default), or by a falloff of distances (`geodesic`: Dionne, de Lasa 2013).
 *
 * Two doors: pelt_bind does everything at once; a pelt_binding keeps voxels and fields, so that other settings give
 * other weights in milliseconds.
 */
#ifndef PELT_BIND_H
#define PELT_BIND_H

#include <pelt/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pelt_bind_method {
    PELT_BIND_HEAT,    /* diffusion through the solid, held the firmer the nearer a bone is */
    PELT_BIND_GEODESIC /* a falloff of every bone's distance through the solid */
} pelt_bind_method;

typedef enum pelt_bind_distance {
    PELT_BIND_DISTANCE_ISOTROPIC, /* the same in all directions */
    PELT_BIND_DISTANCE_PAPER      /* from face to face of the voxels: along the grid's axes only */
} pelt_bind_distance;

typedef enum pelt_bind_curve {
    PELT_BIND_CURVE_PAPER, /* (1 / ((1 − α) d + α d²))² */
    PELT_BIND_CURVE_SHARP  /* that, to the power of 3: distant bones matter much less */
} pelt_bind_curve;

/* Axis across which weights are made symmetric. */
typedef enum pelt_bind_mirror {
    PELT_BIND_MIRROR_OFF,
    PELT_BIND_MIRROR_X,
    PELT_BIND_MIRROR_Y,
    PELT_BIND_MIRROR_Z
} pelt_bind_mirror;

/* Which joints may deform, where `only` names none. */
typedef enum pelt_bind_joints {
    PELT_BIND_JOINTS_WEIGHTED, /* those with weights in the skin that is there; all where fewer than two have any */
    PELT_BIND_JOINTS_ALL       /* all that the skin names, but for those that steer by their name or place */
} pelt_bind_joints;

/* AUTO: shells that are accessories follow one joint rigidly, see pelt_bind_desc.rigid_parts. OFF: they do not. */
typedef enum pelt_bind_rigid { PELT_BIND_RIGID_AUTO, PELT_BIND_RIGID_OFF } pelt_bind_rigid;

typedef struct pelt_bind_desc {
    uint32_t cookie; /* set by pelt_bind_desc_default; do not change */
    /* What a pelt_binding is made of. */
    uint32_t method;            /* pelt_bind_method; default heat */
    uint32_t resolution;        /* voxels along the longest side of the mesh; default 256 */
    const char *grid;           /* "X,Y,Z": as many along each side instead; or NULL (default) */
    const char *views;          /* views left out of the vote on what is inside: "+x,-y"; or NULL (default): none */
    uint32_t distance;          /* pelt_bind_distance, geodesic only; default paper */
    const pelt_model *skeleton; /* whose skeleton and motions the model gets; NULL (default): it has its own. Must stay
                                  * until the binding is destroyed; may be the model */
    bool fit;                   /* scale, turn and move the skeleton to fit the mesh, with its motions, before binding;
                                  * one that fits stays as it is; default false */
    bool no_fit;                /* do not check whether the skeleton fits the mesh; default false */
    uint32_t joints;            /* pelt_bind_joints; default weighted */
    const char *exclude;        /* names, divided by commas, of joints that must not deform; or NULL (default) */
    const char *only;           /* names of the joints that may, with or without weights in the skin that is there,
                                  * whatever they are called; or NULL (default): what `joints` says */

    /* What can change afterwards. So can `exclude` and `only`, among the joints that the binding was made with: what is
     * left out there goes to the others, in proportion. Vertices that belong to such a joint alone go to its nearest
     * ancestor that is left, else to the nearest descendant, else to whose joint is nearest. */
    double falloff; /* α, 0 to 1: higher is stiffer; default 0.7, with which heat's weights stay as they are */
    const float *vertex_falloff; /* [vertex] α of its own instead, 0 to 1; NULL (default): none. Borrowed: must stay as
                                  * long as the desc is used, and for `desc` NULL in apply as long as the binding */
    uint32_t curve;              /* pelt_bind_curve, geodesic only; default sharp */
    uint32_t influences;         /* K, 1 to 8; default 4. Vertices that keep their weights may have more */
    double prune;                /* smaller weights are dropped, but for each vertex's largest; default 0.01 */
    uint32_t smooth;             /* times that weights go half way to the mean along edges; default 0 */
    uint32_t mirror;             /* pelt_bind_mirror: vertices whose mirrored place is another's get the same weights on
                                  * both sides, to the bit, of joints that are each other's counterparts by name or
                                  * place. The plane is where pairs of joints have their middle. Default off */
    uint32_t rigid_parts;        /* pelt_bind_rigid: whether shells that are plainly accessories (small, and nearly all
                                  * of one joint already), and parts of machines (meshes of many shells that
                                  * mainly belong to one joint each) wholly follow one joint; default auto */
    const char *rigid;           /* "REGION=JOINT,…": parts or materials by name that wholly follow a joint, whatever
                                  * else is asked for; or NULL (default) */
    const char *lock;            /* joints that keep the weights they have in the model, everywhere; the others share
                                  * what these leave. Needs a skin that the model has already; or NULL (default) */
} pelt_bind_desc;
PELT_API const pelt_option_table *pelt_bind_options(void);
PELT_API pelt_bind_desc pelt_bind_desc_default(void);

/* How a skeleton fits the mesh, and the similarity that mends it: scale · rotation · place + translation. A skeleton does
 * not fit when its units or axes are others than the mesh's, or when it stands elsewhere. */
typedef struct pelt_bind_fit {
    bool misfit;       /* bound as it is, most of the mesh would go to the wrong joints */
    bool changes;      /* something fits better than the skeleton as it is; else what follows is the identity */
    bool posed;        /* … and in another rest pose: of a skeleton without a skin, limbs are turned into the mesh */
    double scale;      /* mesh units per skeleton unit */
    float rotation[4]; /* unit quaternion x y z w: quarter turns */
    double translation[3]; /* object units */
    double inside_before;  /* share of the joints that lie inside the mesh as it is … */
    double inside_after;   /* … and when mended */
} pelt_bind_fit;

/* A joint that got nothing, and why. */
typedef enum pelt_bind_idle {
    PELT_BIND_ACTIVE,       /* it has weights */
    PELT_BIND_EXCLUDED,     /* by the settings */
    PELT_BIND_CONTROL,      /* a root, target or other joint that steers and has no volume of its own */
    PELT_BIND_FAR,          /* no volume near */
    PELT_BIND_OVERSHADOWED, /* others were nearer everywhere */
    PELT_BIND_UNWEIGHTED    /* the skin that is there names it without weights, as desc.joints says */
} pelt_bind_idle;

/* Two joints, far apart along the skeleton, that move parts of the mesh which touch in the voxels. */
typedef struct pelt_bind_touch {
    uint32_t joints[2];  /* the lower number first */
    uint32_t face_count; /* faces between voxels of one and voxels of the other */
} pelt_bind_touch;

typedef struct pelt_bind_report {
    uint32_t grid[3];              /* cells */
    double cell[3];                /* sides of one, in object units */
    uint32_t interior_voxel_count; /* voxels inside the mesh that no triangle touches */
    uint32_t boundary_voxel_count; /* voxels that a triangle touches */
    uint32_t vertex_count;         /* that got weights */
    uint32_t bridged_count;        /* of these, in shells that no bone reaches */
    uint32_t rigid_count;          /* of these, in shells or regions that follow one joint */
    uint32_t unmatched_count;      /* of these, with `mirror`: nothing lies at their mirrored place */
    uint32_t bridged_part_count;   /* parts that have bridged vertices */
    const uint32_t *bridged_parts; /* [bridged part] mesh.parts that have bridged vertices */
    uint32_t joint_count;          /* joints of the skeleton: of desc.skeleton, where that is another model's */
    const uint8_t *idle;           /* [joint] pelt_bind_idle; joints that no skin could use are CONTROL */
    uint32_t touching_count;     /* voxels through which parts of the mesh touch that are far apart along the surface */
    uint32_t touching_joints[2]; /* the two joints that most of them lie between, or PELT_NONE */
    uint32_t touching_pair_count;    /* pairs of joints between which parts touch */
    const pelt_bind_touch *touching; /* [touching pair] most faces first. Weights of `heat` do not spread there */
    pelt_bind_fit fit;               /* how the skeleton was fitted: the identity unless desc.fit */
    double seconds_fit, seconds_voxelize, seconds_solve, seconds_weights; /* wall time of each step */
} pelt_bind_report;

/* How the model's skeleton, or desc->skeleton, fits the mesh. Changes nothing. `desc` may be NULL. */
PELT_API pelt_result pelt_bind_measure_fit(pelt_context *context, pelt_model *model, const pelt_bind_desc *desc,
                                           pelt_bind_fit *fit);
/* What is wrong with a skeleton that does not fit, to stand behind "the skeleton ": "is 10 times too small for the
 * mesh". Returns `text`, at most `size` bytes with the 0 behind. */
PELT_API const char *pelt_bind_fit_text(const pelt_bind_fit *fit, char *text, size_t size);

/* Binds the model in place: its skin gets new weights, all else stays as it was. Joints are where the model's skin has
 * them; what has no skin is bound in its rest pose. Parts that merely follow a node keep doing so when others have a
 * skin. Bones of the skin stay, with their numbers and matrices; where a joint has none for a part, one is added. A
 * skeleton of another model comes with its motions behind the model's own joints. A skeleton that does not fit the mesh
 * is PELT_ERROR_INPUT unless `fit` or `no_fit` is set. After a failure the model is as it
 * was. `desc` and `report` may be NULL; arrays of the report live in the model's memory. */
PELT_API pelt_result pelt_bind(pelt_context *context, pelt_model *model, const pelt_bind_desc *desc,
                               pelt_bind_report *report);

/* The same in two steps, for hosts that let people change settings. The model must stay until the binding is destroyed;
 * it changes only in apply. */
typedef struct pelt_binding pelt_binding;
/* Places the skeleton, voxelizes the mesh and solves for distances or heat. On failure *binding is NULL. */
PELT_API pelt_result pelt_binding_create(pelt_context *context, pelt_model *model, const pelt_bind_desc *desc,
                                         pelt_binding **binding);
/* Puts weights into the model. `desc` NULL: as the binding was made. What an earlier call has put there is replaced,
 * and its memory used again. */
PELT_API pelt_result pelt_binding_apply(pelt_binding *binding, const pelt_bind_desc *desc);
/* What happened so far; its arrays live as long as the binding. */
PELT_API pelt_bind_report pelt_binding_report(const pelt_binding *binding);
/* NULL is allowed. */
PELT_API void pelt_binding_destroy(pelt_binding *binding);

/* The voxels of a binding, to show them: centres in the space of the rest pose. */
typedef struct pelt_bind_voxels {
    uint32_t count;             /* number of voxels */
    double origin[3], cell[3];  /* centre of (x, y, z) = origin + (x + ½, y + ½, z + ½) · cell */
    const uint16_t (*cells)[3]; /* [voxel] x y z */
    const uint8_t *boundary;    /* [voxel] 1: a triangle touches it; 0: inside */
} pelt_bind_voxels;
/* The arrays live as long as the binding. */
PELT_API pelt_bind_voxels pelt_binding_voxels(const pelt_binding *binding);

#ifdef __cplusplus
}
#endif

#endif
