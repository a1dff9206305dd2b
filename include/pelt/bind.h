/* Pelt: automatic skin weights for a mesh and a skeleton.
 *
 * The mesh is voxelized, which handles holes, shells and self-intersections. Weights are computed in the voxels by heat
 * diffusion from the bones (`heat`, the default), or from a falloff of distances (`geodesic`: Dionne, de Lasa 2013).
 *
 * pelt_bind does everything in one call. A pelt_binding keeps voxels and fields, so that weights for other settings take
 * milliseconds.
 */
#ifndef PELT_BIND_H
#define PELT_BIND_H

#include <pelt/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How weights are computed. */
typedef enum pelt_bind_method {
    PELT_BIND_HEAT, /* heat diffusion through the solid, with a source term that falls with the squared distance from the bone */
    PELT_BIND_GEODESIC, /* a falloff of the distance of each bone through the solid */
    PELT_BIND_SURFACE,  /* for comparison: heat diffusion on the surface (Baran, Popović 2007) */
    PELT_BIND_CLOSEST,  /* for comparison: a falloff of the straight distance of each bone */
    PELT_BIND_HIERARCHY /* for comparison: the same, of bones at most two links from the nearest one */
} pelt_bind_method;

typedef enum pelt_bind_distance {
    PELT_BIND_DISTANCE_ISOTROPIC, /* Euclidean, around obstacles */
    PELT_BIND_DISTANCE_PAPER      /* shortest paths across voxel faces, along the axes of the grid */
} pelt_bind_distance;

typedef enum pelt_bind_curve {
    PELT_BIND_CURVE_PAPER, /* (1 / ((1 − α) d + α d²))² */
    PELT_BIND_CURVE_SHARP  /* the above to the power of 3: distant bones have much less influence */
} pelt_bind_curve;

/* Axis across which weights are made symmetric. */
typedef enum pelt_bind_mirror {
    PELT_BIND_MIRROR_OFF,
    PELT_BIND_MIRROR_X,
    PELT_BIND_MIRROR_Y,
    PELT_BIND_MIRROR_Z
} pelt_bind_mirror;

/* Which joints may deform, if `only` is NULL. */
typedef enum pelt_bind_joints {
    PELT_BIND_JOINTS_WEIGHTED, /* joints with weights in the existing skin; all joints if fewer than two have any */
    PELT_BIND_JOINTS_ALL       /* all joints of the skin except control joints, recognised by name or position */
} pelt_bind_joints;

/* AUTO: shells that are accessories follow one joint rigidly, see pelt_bind_desc.rigid_parts. OFF: they do not. */
typedef enum pelt_bind_rigid { PELT_BIND_RIGID_AUTO, PELT_BIND_RIGID_OFF } pelt_bind_rigid;

/* Numbers per vertex that regions refer to by name. */
typedef struct pelt_bind_attribute {
    const char *name;    /* in attribute(NAME) */
    const float *values; /* [vertex] selected where ≥ ½ */
} pelt_bind_attribute;

/* Regions in `rigid`, `falloffs` and `paint`: the name of a part or material, "box(X Y Z X Y Z)" (lower and upper corner, in
 * the space of the bind pose), "sphere(X Y Z R)", "vertices(0 7-12)" (indices of the mesh) or "attribute(NAME)" (a name in
 * `attributes`). */
typedef struct pelt_bind_desc {
    uint32_t cookie; /* set by pelt_bind_desc_default; do not change */
    /* Settings of pelt_binding_create. */
    uint32_t method; /* pelt_bind_method; default heat */
    /* voxels along the longest side of the mesh's box along its principal axes (along x, y and z with views or paint);
     * default 256 */
    uint32_t resolution;
    /* Above resolution 256: with more voxels, fields are solved on blocks of 2³, 4³, 8³ or 16³ voxels, so that memory is
     * bounded. Blocks are split into their connected pieces: surfaces that the voxels separate stay apart. Default
     * 1,000,000. */
    uint32_t max_voxels;
    const char *grid;  /* "X,Y,Z": voxels along x, y and z instead; NULL (default): use resolution */
    const char *views; /* views excluded from the inside vote, "+x,-y"; NULL (default): none */
    uint32_t distance; /* pelt_bind_distance, geodesic only; default paper */
    /* model whose skeleton and motions are used; NULL (default): the model's own. Borrowed until the binding is
     * destroyed; may be the model itself */
    const pelt_model *skeleton;
    /* raise the resolution, at most to max_resolution, until limbs with a gap between them do not touch in the
     * voxels (report.touching); not with `grid`; default false */
    bool separate;
    uint32_t max_resolution; /* with `separate`; default 1024 */
    /* scale, rotate and translate the skeleton and its motions to fit the mesh before binding; a skeleton that fits
     * is not changed; default false */
    bool fit;
    bool no_fit;         /* do not check whether the skeleton fits the mesh; default false */
    uint32_t joints;     /* pelt_bind_joints; default weighted */
    const char *exclude; /* names, separated by commas, of joints that get no weights; NULL (default): none */
    /* names of the only joints that get weights, overriding all rules; NULL (default): see `joints` */
    const char *only;
    /* "+REGION,-REGION,…", in this order: voxels to add or remove, where the mesh leaves no other way. Boxes and
     * spheres: voxels whose centre they contain, inside the box of the mesh; other regions: those that a triangle of
     * three selected vertices touches. NULL (default): none */
    const char *paint;
    /* [attribute_count] for regions; borrowed like vertex_falloff; default NULL */
    const pelt_bind_attribute *attributes;
    uint32_t attribute_count; /* default 0 */
    /* heat and geodesic: keep the fields of the voxels, for pelt_binding_reuse and sections: 8 bytes per voxel and
     * joint near it (heat), 4 per voxel and joint (geodesic); default false */
    bool keep_fields;

    /* Settings of pelt_binding_apply, together with `exclude` and `only` among the joints of the binding: weights of
     * removed joints go to the others in proportion. Vertices of a removed joint alone go to its nearest remaining
     * ancestor, else to the nearest descendant, else to the nearest joint. */
    double falloff; /* α, 0 to 1: higher is stiffer; default 0.7, which leaves the weights of heat unchanged */
    /* [vertex] α per vertex, 0 to 1; NULL (default): use falloff. Borrowed as long as the desc is used, and as long
     * as the binding if apply is called with `desc` NULL */
    const float *vertex_falloff;
    /* "REGION=A,…": α of regions; later ones override earlier ones, vertex_falloff and falloff. "REGION=A B DEGREES
     * JOINT": α goes from A to B as the joint turns by DEGREES from its rest pose; see pelt_binding_apply_pose. NULL
     * (default): none */
    const char *falloffs;
    uint32_t curve;      /* pelt_bind_curve, geodesic only; default sharp */
    uint32_t influences; /* K, 1 to 8; default 4. Vertices with locked weights may have more */
    double prune;        /* drop weights below this, except the largest of each vertex; default 0.01 */
    uint32_t smooth;     /* smoothing iterations, half way to the mean of edge neighbours; default 0 */
    /* pelt_bind_mirror: vertices at mirrored positions get the same weights to the bit, with joints paired by name
     * or position. The plane is the mean of the joint pairs. Default off */
    uint32_t mirror;
    /* pelt_bind_rigid: whether accessories (small shells with nearly all weights from one joint) and parts of
     * machines (meshes of many shells that mainly belong to one joint each) follow one joint rigidly; default auto */
    uint32_t rigid_parts;
    /* "REGION=JOINT,…": regions that follow one joint rigidly, overriding other settings; NULL (default): none */
    const char *rigid;
    /* joints that keep their weights of the existing skin, which is required; the other joints share the rest. NULL
     * (default): none */
    const char *lock;
} pelt_bind_desc;
PELT_API const pelt_option_table *pelt_bind_options(void);
PELT_API pelt_bind_desc pelt_bind_desc_default(void);

/* How a skeleton fits the mesh, and the similarity transform that fits it: scale · rotation · x + translation. A skeleton
 * does not fit if its units, axes or position differ from those of the mesh. */
typedef struct pelt_bind_fit {
    bool misfit;           /* without a fit, most of the mesh would get the wrong joints */
    bool changes;          /* a better fit was found; otherwise the transform is the identity */
    bool posed;            /* limbs were rotated into the mesh too (skeletons without a skin) */
    double scale;          /* mesh units per skeleton unit */
    float rotation[4];     /* unit quaternion x y z w: a multiple of quarter turns */
    double translation[3]; /* object units */
    double inside_before;  /* fraction of the joints inside the mesh before the fit */
    double inside_after;   /* and after the fit */
} pelt_bind_fit;

/* Whether a joint has weights, and if not, why. */
typedef enum pelt_bind_idle {
    PELT_BIND_ACTIVE,       /* it has weights */
    PELT_BIND_EXCLUDED,     /* by the settings */
    PELT_BIND_CONTROL,      /* a control joint (root, target …) without volume of its own */
    PELT_BIND_FAR,          /* no part of the mesh is near */
    PELT_BIND_OVERSHADOWED, /* other joints are nearer everywhere */
    PELT_BIND_UNWEIGHTED    /* no weights in the existing skin; see desc.joints */
} pelt_bind_idle;

/* Two joints far apart along the skeleton whose parts of the mesh touch in the voxels. */
typedef struct pelt_bind_touch {
    uint32_t joints[2];  /* the lower index first */
    uint32_t face_count; /* faces between voxels of one and voxels of the other */
    /* least distance between their surfaces there, object units; 0: no gap was found: the surfaces touch or meet in
     * a crease */
    double gap;
    /* estimate of the resolution that separates them: no voxel of one has a face in common with the other; 0: none
     * does */
    uint32_t resolution;
} pelt_bind_touch;

typedef struct pelt_bind_report {
    uint32_t grid[3];              /* cells */
    double cell[3];                /* sides of one, in object units */
    uint32_t interior_voxel_count; /* voxels inside the mesh that no triangle touches */
    uint32_t boundary_voxel_count; /* voxels that a triangle touches */
    uint32_t block_size;           /* voxels along the edge of the blocks that fields are solved on; 1: on the voxels */
    uint32_t solved_voxel_count;   /* voxels or pieces of blocks that fields are solved on */
    uint32_t vertex_count;         /* vertices that got weights */
    uint32_t bridged_count;        /* of these, in shells that no bone reaches: weighted as the nearest part */
    uint32_t rigid_count;          /* of these, in shells or regions that follow one joint rigidly */
    uint32_t unmatched_count;      /* of these, with `mirror`: without a vertex at the mirrored position */
    uint32_t outside_count;        /* of these, in no voxel: weighted as the nearest one */
    uint32_t bridged_part_count;   /* parts that have bridged vertices */
    const uint32_t *bridged_parts; /* [bridged part] mesh.parts that have bridged vertices */
    uint32_t joint_count;          /* joints of the skeleton (of desc.skeleton, if given) */
    const uint8_t *idle;           /* [joint] pelt_bind_idle */
    uint32_t touching_count;       /* voxels where parts touch that are far apart along the skeleton */
    uint32_t touching_joints[2];   /* the pair of joints with most of them, or PELT_NONE */
    uint32_t touching_pair_count;  /* pairs of joints between which parts touch */
    const pelt_bind_touch *touching; /* [touching pair] most faces first; heat does not diffuse across them */
    pelt_bind_fit fit;               /* the applied fit; the identity unless desc.fit */
    double seconds_fit, seconds_voxelize, seconds_solve, seconds_weights; /* wall time of each step */
} pelt_bind_report;

/* How the model's skeleton, or desc->skeleton, fits the mesh. Changes nothing. `desc` may be NULL. */
PELT_API pelt_result pelt_bind_measure_fit(pelt_context *context, pelt_model *model, const pelt_bind_desc *desc,
                                           pelt_bind_fit *fit);
/* Describes a misfit, to follow "the skeleton ": "is 10 times too small for the mesh". Writes at most `size` bytes to
 * `text`, including the terminating 0, and returns it. */
PELT_API const char *pelt_bind_fit_text(const pelt_bind_fit *fit, char *text, size_t size);

/* Computes new skin weights in place; the rest of the model is not changed. A skinned mesh is bound in its bind pose,
 * others in their rest pose. Parts that follow a node without a skin keep doing so if others have a skin. Bones of the
 * skin keep their indices and matrices; missing bones are added. Joints and motions of another skeleton are appended to
 * those of the model. A skeleton that does not fit the mesh is PELT_ERROR_INPUT unless `fit` or `no_fit` is set. On
 * failure the model is unchanged. `desc` and `report` may be NULL; arrays of the report live in the model. */
PELT_API pelt_result pelt_bind(pelt_context *context, pelt_model *model, const pelt_bind_desc *desc,
                               pelt_bind_report *report);

/* The same in two steps, for interactive changes of settings. The model is borrowed until the binding is destroyed; only
 * pelt_binding_apply changes it. */
typedef struct pelt_binding pelt_binding;
/* Places the skeleton, voxelizes the mesh and solves for distances or heat. On failure *binding is NULL. */
PELT_API pelt_result pelt_binding_create(pelt_context *context, pelt_model *model, const pelt_bind_desc *desc,
                                         pelt_binding **binding);
/* Writes weights to the model. `desc` NULL: the settings of pelt_binding_create. Replaces the weights of an earlier call
 * and reuses their memory. */
PELT_API pelt_result pelt_binding_apply(pelt_binding *binding, const pelt_bind_desc *desc);
/* The same with the falloffs of a pose: desc.falloffs are evaluated with the local rotations of pose [joint of the binding's
 * skeleton]. For weights that change with the pose, call it every frame: it costs as much as pelt_binding_apply. `pose`
 * NULL: the rest pose. */
PELT_API pelt_result pelt_binding_apply_pose(pelt_binding *binding, const pelt_bind_desc *desc,
                                             const pelt_transform *pose);
/* A binding of another mesh in the voxels of this one, which has desc.keep_fields: a garment, an edited mesh, another level
 * of detail. Nothing is voxelized or solved. The mesh must be in the same place as the first; vertices outside of the
 * voxels get the weights of the nearest one (report.outside_count). A model whose skeleton has all joints of the binding by
 * name keeps it; one with none of them gets the binding's skeleton and motions; some of them are PELT_ERROR_INPUT. Settings
 * are those of this binding, without vertex_falloff, lock, attributes, and regions that the mesh does not have. `binding` and both models are borrowed until *reused is destroyed. On
 * failure *reused is NULL. */
PELT_API pelt_result pelt_binding_reuse(const pelt_binding *binding, pelt_model *model, pelt_binding **reused);
/* The report so far; its arrays live as long as the binding. */
PELT_API pelt_bind_report pelt_binding_report(const pelt_binding *binding);
/* NULL is allowed. */
PELT_API void pelt_binding_destroy(pelt_binding *binding);

/* ---- Examples of good poses -------------------------------------------------------------------------------- */

/* The shape that the mesh should have in a pose: a sculpt, a frame of an animation. */
typedef struct pelt_bind_example {
    const char *name;             /* for messages; not NULL */
    const pelt_transform *locals; /* [joint] of the model's skeleton */
    const float *positions;       /* [vertex][3] in world space */
} pelt_bind_example;

typedef struct pelt_bind_prefer_desc {
    uint32_t cookie; /* set by pelt_bind_prefer_desc_default; do not change */
    /* how strongly the weights of the model are kept: a change of a weight by 1 counts like a distance of this fraction of
     * the first example's diagonal in every example, 0 to 1; default 0.003 */
    double strength;
    uint32_t influences; /* bones per vertex at most, 1 to 8; default 0: as many as the skin has */
} pelt_bind_prefer_desc;
PELT_EXPERIMENTAL PELT_API const pelt_option_table *pelt_bind_prefer_options(void);
PELT_EXPERIMENTAL PELT_API pelt_bind_prefer_desc pelt_bind_prefer_desc_default(void);

typedef struct pelt_bind_prefer_report {
    uint32_t vertex_count;  /* vertices, those that coincide and have equal weights counted once */
    uint32_t changed_count; /* of these, vertices whose weights changed */
    double change_mean;     /* mean L1 distance of new and old weights, 0 to 2 */
    double before, after;   /* RMS distance of the skin from the examples, as a fraction of the first one's diagonal */
} pelt_bind_prefer_report;

/* Changes skin weights so that linear blend skinning comes close to examples [example_count], at least one: least squares with the
 * weights of the model as the prior. A vertex gets bones that it or a vertex near it has. Parts without a skin stay. `desc`
 * NULL: defaults. `report` may be NULL. After a failure the model is as it was. */
PELT_EXPERIMENTAL PELT_API pelt_result pelt_bind_prefer(pelt_context *context, pelt_model *model,
                                                        const pelt_bind_example *examples, uint32_t example_count,
                                                        const pelt_bind_prefer_desc *desc,
                                                        pelt_bind_prefer_report *report);

/* The voxels of a binding, for display, in the space of the rest pose. */
typedef struct pelt_bind_voxels {
    uint32_t count;            /* number of voxels */
    double origin[3], cell[3]; /* in the space of `axes`: centre of (x, y, z) = origin + (x + ½, y + ½, z + ½) · cell */
    float axes[3][3];          /* unit vectors along the axes of the grid; world space, bind pose */
    const uint16_t (*cells)[3]; /* [voxel] x y z */
    const uint8_t *boundary;    /* [voxel] 1: touched by a triangle; 0: interior */
} pelt_bind_voxels;
/* The arrays live as long as the binding. */
PELT_API pelt_bind_voxels pelt_binding_voxels(const pelt_binding *binding);

/* Distances [vertex] from the bones of a joint through the voxels, object units, as the method geodesic with
 * isotropic distances measures them, for any method: one fast-marching pass. INFINITY: not reached; NaN: the vertex keeps its weights. A joint that gets no
 * weights is PELT_ERROR_INPUT. On failure `distances` is not changed. */
PELT_EXPERIMENTAL PELT_API pelt_result pelt_binding_distances(const pelt_binding *binding, uint32_t joint,
                                                              float *distances);

/* What a section through the voxels shows. */
typedef enum pelt_bind_section_kind {
    PELT_BIND_SECTION_VOXELS, /* interior red, boundary blue, voxels on bones white */
    PELT_BIND_SECTION_FIELD,  /* of one joint: distances in bands, near is light (geodesic), or weights (heat) */
    PELT_BIND_SECTION_WEIGHTS /* joints in colours of their own, mixed by their weights */
} pelt_bind_section_kind;

/* A picture of a section: one pixel per cell. */
typedef struct pelt_bind_section {
    uint32_t width, height; /* cells: along z and y (axis x), x and z (y), x and y (z) */
    double position;        /* of the section along its axis, from the origin, object units */
    uint8_t *pixels;        /* [height][width][4] red, green, blue, alpha; upper row first */
} pelt_bind_section;
/* Draws the section perpendicular to the axis of the grid, pelt_bind_voxels.axes, that is nearest to x, y or z (0 to 2),
 * through a position along it (NaN: where most voxels are). Fields and weights
 * need desc.keep_fields; `joint` is used by FIELD only and must be one that gets weights. On failure *section is empty. */
PELT_API pelt_result pelt_binding_section(const pelt_binding *binding, uint32_t kind, uint32_t axis, double position,
                                          uint32_t joint, pelt_bind_section *section);
/* Frees the pixels. */
PELT_API void pelt_bind_section_free(pelt_context *context, pelt_bind_section *section);

#ifdef __cplusplus
}
#endif

#endif
