/* Pelt: the data structures. A model has a mesh and its animation: clips, or a skeleton with motions, a skin and morphs.
 *
 * All are plain structs: read any field directly. Shapes are in brackets, slowest index first. Index letters are the same
 * everywhere: i vertex, j joint or bone, k frame. Arrays live in the model's memory (pelt_model_alloc) or in files that it
 * maps, and are freed with the model. An operation that replaces arrays (pelt_bind, pelt_light …) frees those that an
 * earlier operation made, unless a clip, crowd, tree or other object was made from them meanwhile: calling it again does
 * not grow the model. Do not keep pointers to arrays, or copies of the struct, across operations. Results that a function
 * returns in a struct of the caller (pelt_clip_from_motion, pelt_skin_prepare …) live in the model's memory too; free them with
 * their own function (pelt_clip_free …), or with the model.
 *
 *   vertex   a corner of the drawn mesh: position, normal, UV. Files split vertices at UV and normal seams.
 *   class    a set of vertices that are the same vertex for some purpose (pelt_vertex_classes). Algorithms compute one
 *            result per class and copy it to its vertices, so that no seam opens. A mesh has two partitions into classes:
 *   point    - an animated element of the source file: an OBJ `v`, a point of a cache, an element of a glTF accessor
 *   weld     - vertices that coincide at rest, in every frame and in every morph (pelt_model_weld)
 *   joint    a node of the skeleton, with a parent and a local transform
 *   bone     a joint with an inverse bind matrix; skins refer to bones
 */
#ifndef PELT_MODEL_H
#define PELT_MODEL_H

#include <pelt/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A 3×4 matrix, row by row: y = m[0..2]·x + m[3], m[4..6]·x + m[7], m[8..10]·x + m[11]. */
typedef struct pelt_affine {
    float m[12]; /* [row][4]: the 3×3 part and, last in each row, the translation */
} pelt_affine;

/* Scale, then rotation, then translation. */
typedef struct pelt_transform {
    float translation[3]; /* object units */
    float rotation[4];    /* unit quaternion x y z w */
    float scale[3];       /* may be negative or zero */
} pelt_transform;

/* ---- Classes of vertices ---------------------------------------------------------------------------------- */

/* A partition of a mesh's vertices into classes. Every vertex belongs to one class, every class has a vertex. */
typedef struct pelt_vertex_classes {
    uint32_t count;  /* number of classes */
    uint32_t *of;    /* [vertex] its class, < count; NULL: every vertex is a class of its own, class i = vertex i */
    uint32_t *first; /* [class] its vertex with the smallest index; NULL exactly where `of` is */
} pelt_vertex_classes;

/* The class of a vertex. */
static inline uint32_t pelt_vertex_class(const pelt_vertex_classes *classes, size_t vertex) {
    return classes->of ? classes->of[vertex] : (uint32_t)vertex;
}
/* The first vertex of a class. */
static inline uint32_t pelt_class_vertex(const pelt_vertex_classes *classes, size_t number) {
    return classes->first ? classes->first[number] : (uint32_t)number;
}

/* ---- Mesh ------------------------------------------------------------------------------------------------- */

/* A named range of triangles: a glTF primitive of one node, an OBJ group. */
typedef struct pelt_part {
    const char *name;        /* never NULL; "" where the file has none */
    const char *material;    /* name of its material; NULL: none */
    uint32_t first_triangle; /* index into mesh.triangles */
    uint32_t triangle_count; /* 0 for points and lines */
    uint32_t first_vertex;   /* range of its own vertices (glTF) … */
    uint32_t vertex_count;   /* … 0 and 0 where parts share vertices (OBJ) */
    uint32_t joint;          /* joint of the node that it is attached to; PELT_NONE: none */
    bool skinned;            /* true: skinned in the file; false: it follows `joint` rigidly */
} pelt_part;

/* Triangles with vertex attributes, in the rest pose. */
typedef struct pelt_mesh {
    uint32_t vertex_count;   /* N */
    uint32_t triangle_count; /* number of triangles */
    uint32_t polygon_count;  /* number of polygons; triangle_count where triangle_polygons is NULL */
    uint32_t part_count;     /* number of parts */
    float *positions;        /* [vertex][3] rest positions, in the space that the inverse bind matrices map from */
    float *normals;          /* [vertex][3] unit length; NULL: none */
    float *tangents;         /* [vertex][4] unit length xyz, handedness ±1; NULL: none */
    float *uvs;              /* [vertex][2] v upwards as in OBJ; NULL: none */
    /* [vertex][3] linear red, green, blue; NULL: none. Readers do not set it: see pelt_vertex_attribute for colours
     * of a file */
    float *colors;
    uint32_t *triangles; /* [triangle][3] vertices, counter-clockwise seen from outside */
    /* [triangle] its polygon, ascending; a polygon is a fan around its first vertex. NULL: every triangle is a
     * polygon */
    uint32_t *triangle_polygons;
    pelt_part *parts;           /* [part] in the order of first_triangle */
    uint32_t *origins;          /* [vertex] index in the file, counted over all parts; NULL: i */
    pelt_vertex_classes points; /* points of the source file; clips store one position per point */
    pelt_vertex_classes weld;   /* coincident vertices, numbered by first appearance; {0} until pelt_model_weld */
} pelt_mesh;

/* ---- Clip: a vertex animation ----------------------------------------------------------------------------- */

/* Rules by which a skin moves normals. */
typedef enum pelt_normal_rule {
    PELT_NORMALS_MATRIX,   /* by the blended matrix itself, as most engines do */
    PELT_NORMALS_INVERSE,  /* by its inverse transpose */
    PELT_NORMALS_ACCURATE, /* by the inverse transpose of the deformation gradient, which includes that of the weights */
    PELT_NORMAL_RULES
} pelt_normal_rule;

/* Reads frames of a clip that are not one array in memory. `read` copies positions of points [first, first + count) of one
 * frame to `out` [count][3]. Called from several threads at once. */
typedef struct pelt_clip_source {
    /* Required when clip.positions is NULL. */
    pelt_result (*read)(pelt_context *context, const void *user, uint32_t frame, uint32_t first, uint32_t count,
                        float *out);
    const void *user; /* passed to the functions */
    /* Hint: `count` points of a frame were read and are not needed again soon; a mapped file may drop the pages. NULL:
     * nothing to release. Also called for clips with `positions`. */
    void (*release)(const void *user, uint32_t count);
    /* Unit normals that a skin moves, to `out` [count][PELT_NORMAL_RULES][3]: of the first vertices of points [first,
     * first + count), or, if `by_vertex`, of these vertices of the clip's mesh. NULL: only normals of the triangles. Also
     * used for clips with `positions`. */
    pelt_result (*read_normals)(pelt_context *context, const void *user, uint32_t frame, bool by_vertex, uint32_t first,
                                uint32_t count, float *out);
} pelt_clip_source;

/* One vertex animation: the positions of all points in every frame. */
typedef struct pelt_clip {
    const char *name;        /* never NULL */
    uint32_t frame_count;    /* F */
    uint32_t point_count;    /* the mesh's points.count */
    const float *times;      /* [frame] seconds, ascending */
    const float *positions;  /* [frame][point][3]; NULL: read through `source` */
    pelt_clip_source source; /* `read` is used when positions is NULL */
} pelt_clip;

/* Copies positions of points [first, first + count) of one frame to `out` [count][3]. Values are those of the file: they
 * may be infinite or NaN. */
PELT_API pelt_result pelt_clip_read(pelt_context *context, const pelt_clip *clip, uint32_t frame, uint32_t first,
                                    uint32_t count, float *out);

/* ---- Skeleton and motion ---------------------------------------------------------------------------------- */

/* Joints: one or more trees. */
typedef struct pelt_skeleton {
    uint32_t joint_count; /* number of joints; 0: the model has no skeleton */
    const char **names;   /* [joint] never NULL; need not be unique */
    uint32_t *parents;    /* [joint] index of its parent, smaller than its own; PELT_NONE: a root */
    pelt_transform *rest; /* [joint] local rest transform */
} pelt_skeleton;

/* Property of a joint that a track animates; WEIGHTS are those of its morph targets. */
typedef enum pelt_path { PELT_PATH_TRANSLATION, PELT_PATH_ROTATION, PELT_PATH_SCALE, PELT_PATH_WEIGHTS } pelt_path;
/* How values between two keys are interpolated. */
typedef enum pelt_interpolation {
    PELT_INTERPOLATION_LINEAR, /* rotations: spherical, along the shorter arc */
    PELT_INTERPOLATION_STEP,   /* the value of the key before */
    PELT_INTERPOLATION_CUBIC   /* in-tangent, value, out-tangent per key, as in glTF CUBICSPLINE */
} pelt_interpolation;

/* Keys of one property of one joint. */
typedef struct pelt_track {
    uint32_t joint;                   /* joint that it animates */
    pelt_path path;                   /* property that the keys set */
    pelt_interpolation interpolation; /* between keys */
    uint32_t width;      /* floats per value: TRANSLATION, SCALE 3, ROTATION 4, WEIGHTS the morph count of the joint */
    uint32_t key_count;  /* at least 1 */
    const float *times;  /* [key] seconds, strictly ascending */
    const float *values; /* [key][width], CUBIC: [key][3][width] */
} pelt_track;

/* One animation. Properties without a track keep their rest value. */
typedef struct pelt_motion {
    const char *name;     /* never NULL */
    float start, end;     /* seconds: first and last key of all tracks */
    uint32_t track_count; /* number of tracks */
    pelt_track *tracks;   /* [track] */
} pelt_motion;

/* ---- Skin and morphs -------------------------------------------------------------------------------------- */

#define PELT_MAX_INFLUENCES 8u

/* v' = Σ_k weights[k] · global(bone_joints[b]) · inverse_binds[b] · v with b = bones[k], for every vertex of the mesh:
 * parts that are not skinned have their joint as the only bone. */
typedef struct pelt_skin {
    uint32_t bone_count;        /* at most 65,535; 0: the model has no skin */
    uint32_t influence_count;   /* K, 1 to 8 */
    uint32_t *bone_joints;      /* [bone] joint */
    pelt_affine *inverse_binds; /* [bone] from mesh space to the joint's space */
    uint16_t *bones;            /* [vertex][K] */
    float *weights;             /* [vertex][K] largest first, ≥ 0, sum 1; unused influences are bone 0, weight 0 */
} pelt_skin;

/* How skin weights that are new are written (glTF). Every program reads floats; assimp 5.2 reads whole numbers as garbage.
 * Whole numbers sum to exactly 65,535 or 255; weights too small for them are dropped. Weights that an algorithm did not
 * change stay as they were in the file. */
typedef enum pelt_weight_format { PELT_WEIGHTS_F32, PELT_WEIGHTS_U16, PELT_WEIGHTS_U8 } pelt_weight_format;

/* One morph target on a range of vertices: v' = v + weight · displacement, before the skin. */
typedef struct pelt_morph {
    const char *name;       /* never NULL */
    uint32_t joint;         /* joint whose WEIGHTS tracks animate it */
    uint32_t index;         /* index among the weights of that joint */
    uint32_t first_vertex;  /* first vertex of the range */
    uint32_t vertex_count;  /* number of vertices in the range */
    float weight;           /* rest weight */
    const float *positions; /* [vertex_count][3] displacements */
    const float *normals;   /* [vertex_count][3] displacements; NULL: none */
    const float *tangents;  /* [vertex_count][3] displacements; NULL: none */
    const float *colors;    /* [vertex_count][3] added to vertex colours (glTF COLOR_0); NULL: none */
} pelt_morph;

/* All morph targets of a model. */
typedef struct pelt_morph_set {
    uint32_t morph_count; /* number of morph targets */
    pelt_morph *morphs;   /* [morph] sorted by joint, then index */
} pelt_morph_set;

/* ---- Drivers: morph weights from a pose ------------------------------------------------------------------- */

typedef enum pelt_kernel {
    PELT_KERNEL_EXPONENTIAL, /* φ(r) = exp(−r / radius) */
    PELT_KERNEL_GAUSSIAN,    /* exp(−(r / radius)²) */
    PELT_KERNEL_THIN_PLATE   /* (r / radius)² ln(r / radius), 0 at 0 */
} pelt_kernel;

/* A rotation is a twist about an axis, then a swing without any twist about it. */
typedef enum pelt_rotation_part { PELT_ROTATION_WHOLE, PELT_ROTATION_SWING, PELT_ROTATION_TWIST } pelt_rotation_part;

/* Computes weights of morphs from the rotation of one joint, as a sum of radial basis functions (EigenSkin: Kry, James,
 * Pai 2002). The rotation is rest⁻¹ · local, or its swing or twist. Where `relative`, local is the rotation against
 * another joint, global(against)⁻¹ · global(joint), and rest the same in the rest pose. With r_c the angle between the
 * rotation and centre c, 0 to π:
 *   weight of morphs[m] = Σ_c coefficients[m][c] · φ(r_c) + coefficients[m][centre_count]
 * Results of several drivers of one morph are added. pelt_motion_sample does not run drivers: call pelt_pose_weights. */
typedef struct pelt_driver {
    uint32_t joint;            /* joint whose rotation drives the morphs */
    bool relative;             /* true: measure its rotation against the joint `against`; false: against its parent */
    uint32_t against;          /* used if relative; differs from `joint` */
    pelt_rotation_part part;   /* part of the rotation that is used */
    float axis[3];             /* SWING and TWIST: unit length, in the joint's own space */
    pelt_kernel kernel;        /* φ */
    float radius;              /* radians, more than 0 */
    uint32_t centre_count;     /* 0: the weights are constants */
    const float *centres;      /* [centre][4] unit quaternions x y z w, of the same part */
    uint32_t morph_count;      /* number of morphs driven */
    const uint32_t *morphs;    /* [morph_count] indices into model.morphs */
    const float *coefficients; /* [morph_count][centre_count + 1] the constant last */
} pelt_driver;

/* ---- Sliders: joint transforms from controls -------------------------------------------------------------- */

/* How a slider moves one joint. */
typedef struct pelt_slider_move {
    uint32_t joint;     /* index into pelt_slider_set.joints */
    pelt_affine change; /* added to the joint's matrix relative to its base when the slider goes from 0 to 1 */
} pelt_slider_move;

/* A named control, usually between 0 and 1: "jawOpen". */
typedef struct pelt_slider {
    const char *name;              /* never NULL */
    float value;                   /* its value in the rest pose */
    uint32_t move_count;           /* number of joints that it moves */
    const pelt_slider_move *moves; /* [move_count] ascending by joint */
    uint32_t morph_count;          /* number of morph targets that it moves */
    const uint32_t *morphs;        /* [morph_count] indices into model.morphs, whose weights are the slider's value */
} pelt_slider;

/* Controls that move joints linearly (pelt_decompose_sliders). With values c_s, the matrix of a joint relative to its base,
 * a joint above it, is
 *   rest + Σ_s (c_s − value_s) · change_s
 * which is no product of scale, rotation and translation in general. Motions hold joint transforms as usual: only
 * pelt_slider_globals applies sliders. */
typedef struct pelt_slider_set {
    uint32_t slider_count;    /* number of sliders; 0: none */
    uint32_t joint_count;     /* joints that they move */
    pelt_slider *sliders;     /* [slider] */
    const uint32_t *joints;   /* [joint_count] joints of the skeleton, ascending; no other joint of it is below them */
    const uint32_t *bases;    /* [joint_count] an ancestor of each joint, which no slider moves */
    const pelt_affine *rests; /* [joint_count] matrix of the joint relative to its base in the rest pose */
} pelt_slider_set;

/* ---- Radiance transfer ------------------------------------------------------------------------------------ */

/* Precomputed radiance transfer of a moving rig (pelt_light). The colour of vertex i in frame k in a light with
 * coefficients L_c of real spherical harmonics, in the order l = 0, 1 …, m = −l … l with the polar axis z, is
 *   Σ_r weights[k][r] · Σ_c pattern(r, i, c) · L_c
 * Writers store it; readers do not set it. */
typedef struct pelt_transfer {
    uint32_t coefficient_count; /* 9 or 16 */
    uint32_t rank;              /* number of patterns */
    uint32_t plane_count;       /* rank · coefficient_count / 4, rounded up */
    uint32_t frame_count;       /* number of frames of all motions */
    const float *patterns;      /* [plane][vertex][4] value n = r · coefficient_count + c is at [n / 4][i][n % 4] */
    const uint32_t *motions;    /* [frame] its motion; PELT_NONE: the rest pose. Frames of a motion are consecutive */
    const float *times;         /* [frame] seconds */
    const float *weights;       /* [frame][rank] */
    const float *light; /* [coefficient][3] linear red, green, blue of the light that mesh.colors are baked in */
    float sun[3];       /* unit vector to the sun of that light */
    float sun_color[3]; /* its linear light on a surface that faces it */
} pelt_transfer;

/* ---- Model ------------------------------------------------------------------------------------------------ */

/* Parts of the model that were replaced since it was read. Writers copy all other data from the source document. */
typedef enum pelt_change {
    PELT_CHANGED_POSITIONS = 1,  /* mesh.positions, normals, tangents; counts unchanged */
    PELT_CHANGED_SKIN = 2,       /* skin */
    PELT_CHANGED_SKELETON = 4,   /* skeleton: other joints than in the file */
    PELT_CHANGED_MOTIONS = 8,    /* motions */
    PELT_CHANGED_MORPHS = 16,    /* morphs */
    PELT_CHANGED_DRIVERS = 32,   /* drivers */
    PELT_CHANGED_COLORS = 64,    /* mesh.colors */
    PELT_CHANGED_VERTICES = 128, /* vertices and triangles: each part has a subset of its vertices in the file, in any
                                  * order; mesh.origins maps them */
    PELT_CHANGED_SLIDERS = 256   /* sliders */
} pelt_change;

/* Everything read from an input: mesh, vertex animations, rig. */
typedef struct pelt_model {
    pelt_mesh mesh;                /* the drawn triangles at rest; vertex_count 0: no mesh */
    uint32_t clip_count;           /* number of clips */
    pelt_clip *clips;              /* [clip] vertex animations */
    pelt_skeleton skeleton;        /* joints and their rest pose; joint_count 0: none */
    uint32_t motion_count;         /* number of motions */
    pelt_motion *motions;          /* [motion] animations of the skeleton and the morph weights */
    pelt_skin skin;                /* bones and weights; bone_count 0: none */
    pelt_morph_set morphs;         /* morph targets; morph_count 0: none */
    uint32_t driver_count;         /* number of drivers */
    pelt_driver *drivers;          /* [driver] */
    pelt_slider_set sliders;       /* controls of joints and morphs; slider_count 0: none */
    const pelt_transfer *transfer; /* written with mesh.colors; NULL: none */
    uint32_t changed;              /* pelt_change bits: set them when you replace data of a model that was read */
    const char *path;              /* file that it was read from; "": none */
    const char *format;            /* name of the file's format ("glTF", "OBJ"); "": none */
    struct px_document *document;  /* format-specific content of the source file, kept for writing; NULL: none */
    struct px_arena *memory;       /* owns everything above */
} pelt_model;

/* Sets mesh.points to `count` points by a map `of` [vertex], which must live as long as the model. Fails where a point has
 * no vertex. */
PELT_API pelt_result pelt_model_set_points(pelt_context *context, pelt_model *model, uint32_t count, uint32_t *of);
/* Copies positions of classes [class][3] to their vertices [vertex][3]. */
PELT_API void pelt_vertex_classes_spread(const pelt_vertex_classes *classes, uint32_t vertex_count,
                                         const float *class_positions, float *vertex_positions);
/* Copies the position of the first vertex of each class, [vertex][3] to [class][3]. */
PELT_API void pelt_vertex_classes_gather(const pelt_vertex_classes *classes, const float *vertex_positions,
                                         float *class_positions);

/* Creates an empty model. */
PELT_API pelt_result pelt_model_create(pelt_context *context, pelt_model **model);
/* Frees the model and everything it owns. NULL is allowed. */
PELT_API void pelt_model_destroy(pelt_model *model);
/* A new model that shares the data of `source`, which must outlive it, and has memory of its own: for trying an operation
 * and keeping the source. Arrays of structs (parts, clips, motions, drivers) are copied; what they point to is shared. */
PELT_API pelt_result pelt_model_borrow(pelt_context *context, const pelt_model *source, pelt_model **model);
/* Allocates zeroed memory for `count` elements of `size` bytes, aligned to 64 bytes, that is freed with the model. Returns
 * NULL without memory, with an error in the context. For count 0: non-NULL, must not be dereferenced. */
PELT_API void *pelt_model_alloc(pelt_context *context, pelt_model *model, size_t count, size_t size);
/* Copies a string to the model's memory; NULL without memory. */
PELT_API const char *pelt_model_text(pelt_context *context, pelt_model *model, const char *text);

/* Checks all indices, counts, orders and ranges documented here. Readers call it at their end. */
PELT_API pelt_result pelt_model_validate(pelt_context *context, const pelt_model *model);

/* Computes mesh.weld, if it is not there yet. A vertex joins the class of an earlier vertex where their positions differ, at
 * rest and in every frame of every clip, by at most a tolerance along each axis, and all morphs displace both alike. The
 * tolerance is the smaller of 4e-6 of the mesh's size and a thousandth of its median edge; 0 without triangles. Reads
 * every frame once. */
PELT_API pelt_result pelt_model_weld(pelt_context *context, pelt_model *model);

/* Finds for each vertex of the model the corresponding vertex of `other`, the same mesh from another file: vertices
 * [vertex]. Matches corners of triangles in their order, which works for any split and numbering of vertices; else, where
 * triangles are ordered or cut differently, and for vertices without triangles, vertex numbers; else, where vertices are
 * ordered differently too (compressed files), connectivity. PELT_NONE: no match. Fails where the meshes differ. */
PELT_API pelt_result pelt_model_match(pelt_context *context, const pelt_model *model, const pelt_model *other,
                                      uint32_t *vertices);

/* Sets mesh.points of the model to the points of `source`, the same mesh from another file, so that clips of `source` fit
 * the model. Fails where a vertex has no match, or a point no vertex. */
PELT_API pelt_result pelt_model_take_points(pelt_context *context, pelt_model *model, const pelt_model *source);

/* Computes area-weighted unit normals [vertex][3], equal within each class of mesh.weld, for `positions` [vertex][3]
 * (NULL: mesh.positions). Vertices without triangles of non-zero area get (0, 0, 1). Needs mesh.weld. */
PELT_API pelt_result pelt_mesh_normals(pelt_context *context, const pelt_mesh *mesh, const float *positions,
                                       float *normals);
/* The same with hard edges: vertices of a class share a normal only where their mesh.normals are within one degree. */
PELT_API pelt_result pelt_mesh_edged_normals(pelt_context *context, const pelt_mesh *mesh, const float *positions,
                                             float *normals);

/* Samples local transforms [joint] and morph weights [morph] of a motion at a time in seconds, clamped to the keys.
 * `motion` NULL: the rest pose. `locals` and `weights` may be NULL. Does not allocate. */
PELT_API void pelt_motion_sample(const pelt_model *model, const pelt_motion *motion, float time, pelt_transform *locals,
                                 float *weights);
/* Runs the drivers: sets weights [morph] of driven morphs from local transforms [joint]; other weights stay unchanged.
 * Does not allocate. */
PELT_API void pelt_pose_weights(const pelt_model *model, const pelt_transform *locals, float *weights);
/* Computes global transforms [joint] from local ones [joint]. Does not allocate. */
PELT_API void pelt_skeleton_globals(const pelt_skeleton *skeleton, const pelt_transform *locals, pelt_affine *globals);
/* Applies sliders at `values` [slider] to global transforms [joint] of pelt_skeleton_globals: replaces those of the joints
 * that sliders move. Does not allocate. */
PELT_API void pelt_slider_globals(const pelt_slider_set *sliders, const float *values, pelt_affine *globals);
/* Sets weights [morph] of the morphs that sliders move; other weights stay unchanged. Does not allocate. */
PELT_API void pelt_slider_weights(const pelt_slider_set *sliders, const float *values, float *weights);
/* The index of the slider with this name; PELT_NONE: there is none. */
PELT_API uint32_t pelt_slider_find(const pelt_slider_set *sliders, const char *name);
/* Computes palette [bone] = global · inverse bind. Does not allocate. */
PELT_API void pelt_skin_palette(const pelt_skin *skin, const pelt_affine *globals, pelt_affine *palette);

#ifdef __cplusplus
}
#endif

#endif
