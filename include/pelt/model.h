/* Pelt: the nouns. A model holds a mesh and what moves it.
 *
 * All nouns are plain structs that may be read directly. Index letters are the same everywhere: i vertex, j joint
 * or bone, k frame. Shapes stand in brackets, slowest index first. Arrays of a model live in the model's own memory
 * (pelt_model_alloc) or in files mapped by it, and go with it. An operation that replaces arrays (pelt_bind, pelt_light …)
 * frees those that an earlier operation made, unless a clip, crowd, tree or other object was made from them meanwhile:
 * calling it again does not grow the model (pelt_decompose_corrected does). Do not keep pointers to arrays, or copies of the struct, across operations.
 *
 *   vertex   a corner of the drawn mesh: position, normal, UV. Files split vertices at UV and normal seams.
 *   class    vertices that are the same vertex for some purpose (pelt_vertex_classes). Algorithms compute one result per
 *            class and copy it to the vertices, so that no seam opens. A mesh has two partitions into classes:
 *   point      what the source file moves: an OBJ `v`, a cache's point, a glTF accessor element
 *   weld       vertices at the same position at rest, in every frame and in every morph (pelt_model_weld)
 *   joint    a node of the skeleton, with a parent and a local transform.
 *   bone     a joint together with an inverse bind matrix: what a skin refers to.
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

/* A run of triangles with a name: a glTF primitive of one node, an OBJ group. */
typedef struct pelt_part {
    const char *name;        /* never NULL; "" when the file has none */
    const char *material;    /* its material's name, or NULL */
    uint32_t first_triangle; /* index into mesh.triangles */
    uint32_t triangle_count; /* 0 for points and lines */
    uint32_t first_vertex;   /* the part's own vertices, where the file keeps them apart (glTF) … */
    uint32_t vertex_count;   /* … and 0, 0 where parts share vertices (OBJ) */
    uint32_t joint;          /* the joint it hangs from, or PELT_NONE */
    bool skinned;            /* it has skin weights of its own in the file (else it follows `joint` rigidly) */
} pelt_part;

/* Triangles with vertex attributes, in the rest pose. */
typedef struct pelt_mesh {
    uint32_t vertex_count;       /* N */
    uint32_t triangle_count;     /* number of triangles */
    uint32_t polygon_count;      /* = triangle_count when triangle_polygons is NULL */
    uint32_t part_count;         /* number of parts */
    float *positions;            /* [vertex][3] rest positions, in the space the skin's inverse bind matrices expect */
    float *normals;              /* [vertex][3] unit length, or NULL */
    float *tangents;             /* [vertex][4] unit length xyz and handedness ±1, or NULL */
    float *uvs;                  /* [vertex][2] v upwards as in OBJ, or NULL */
    float *colors;               /* [vertex][3] linear red, green, blue, or NULL; readers leave those of a file in its
                                  * document, see pelt_vertex_attribute */
    uint32_t *triangles;         /* [triangle][3] vertices, counter-clockwise seen from outside */
    uint32_t *triangle_polygons; /* [triangle] source polygon, ascending; polygons are fans around their first
                                  * vertex; NULL: every triangle is a polygon of its own */
    pelt_part *parts;            /* [part] in the order of first_triangle */
    uint32_t *origins; /* [vertex] which vertex of the file it is, counted over all parts; NULL: vertex i is i */
    pelt_vertex_classes points; /* points of the source file; clips store one position per point */
    pelt_vertex_classes weld;   /* coincident vertices, numbered by first appearance; {0} until pelt_model_weld */
} pelt_mesh;

/* ---- Clip: a vertex animation ----------------------------------------------------------------------------- */

/* Where a clip's frames come from when they are not one array in memory. `read` copies the positions of points
 * [first, first + count) of one frame to `out` [count][3]. It is called from several threads at once. */
typedef struct pelt_clip_source {
    /* Required when clip.positions is NULL. */
    pelt_result (*read)(pelt_context *context, const void *user, uint32_t frame, uint32_t first, uint32_t count,
                        float *out);
    const void *user; /* passed to the functions */
    /* A hint: `count` points of a frame were read and are not needed again soon, so that pages of a mapped file may
     * leave the memory now and then. NULL: nothing to let go of. Called for clips with `positions` too. */
    void (*release)(const void *user, uint32_t count);
    /* As `read`, for unit normals that come with the positions, to `out` [count][2][3]: as engines skin them, by the blended
     * matrix itself, and by its inverse transposed. NULL: there are none but those of the triangles. Used for clips with
     * `positions` too. */
    pelt_result (*read_normals)(pelt_context *context, const void *user, uint32_t frame, uint32_t first, uint32_t count,
                                float *out);
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

/* Copies points [first, first + count) of one frame to `out` [count][3]. Cheap when positions are in memory or
 * mapped. Numbers are as in the file: they may be infinite or NaN. */
PELT_API pelt_result pelt_clip_read(pelt_context *context, const pelt_clip *clip, uint32_t frame, uint32_t first,
                                    uint32_t count, float *out);

/* ---- Skeleton and motion ---------------------------------------------------------------------------------- */

/* Joints as a forest. */
typedef struct pelt_skeleton {
    uint32_t joint_count; /* number of joints; 0: the model has no skeleton */
    const char **names;   /* [joint] never NULL; need not be unique */
    uint32_t *parents;    /* [joint] a smaller index, or PELT_NONE: parents come before their children */
    pelt_transform *rest; /* [joint] local rest transform */
} pelt_skeleton;

/* Property of a joint that a track animates; WEIGHTS are those of its morph targets. */
typedef enum pelt_path { PELT_PATH_TRANSLATION, PELT_PATH_ROTATION, PELT_PATH_SCALE, PELT_PATH_WEIGHTS } pelt_path;
/* How values between two keys are found. */
typedef enum pelt_interpolation {
    PELT_INTERPOLATION_LINEAR, /* rotations: spherical, along the shorter arc */
    PELT_INTERPOLATION_STEP,
    PELT_INTERPOLATION_CUBIC /* values hold in-tangent, value, out-tangent per key, as in glTF CUBICSPLINE */
} pelt_interpolation;

/* Keys of one property of one joint. */
typedef struct pelt_track {
    uint32_t joint;                   /* whose translation, rotation, scale or morph weights */
    pelt_path path;                   /* property that the keys set */
    pelt_interpolation interpolation; /* between keys */
    uint32_t width;                   /* floats per value: 3, 4, or for WEIGHTS the joint's morph count */
    uint32_t key_count;               /* at least 1 */
    const float *times;               /* [key] seconds, strictly ascending */
    const float *values;              /* [key][width], CUBIC: [key][3][width] */
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

/* v' = Σ_k weights[k] · global(bone_joints[b]) · inverse_binds[b] · v with b = bones[k]. Covers every vertex of the
 * mesh: parts that merely hang from a joint have that joint as their only bone. */
typedef struct pelt_skin {
    uint32_t bone_count;        /* at most 65,535; 0: the model has no skin */
    uint32_t influence_count;   /* K, 1 to 8 */
    uint32_t *bone_joints;      /* [bone] joint */
    pelt_affine *inverse_binds; /* [bone] from mesh space to the bone's space */
    uint16_t *bones;            /* [vertex][K] */
    float *weights;             /* [vertex][K] largest first, ≥ 0, sum 1; unused influences are bone 0, weight 0 */
} pelt_skin;

/* How skin weights that are new are written (glTF). Every program reads floats; assimp 5.2 reads whole numbers as garbage.
 * Whole numbers sum to exactly 65,535 or 255; weights too small for them are dropped. Weights that an algorithm did not
 * change stay as they were in the file. */
typedef enum pelt_weight_format { PELT_WEIGHTS_F32, PELT_WEIGHTS_U16, PELT_WEIGHTS_U8 } pelt_weight_format;

/* One morph target over a run of vertices: v' = v + weight · delta. */
typedef struct pelt_morph {
    const char *name;       /* never NULL */
    uint32_t joint;         /* whose weights track drives it */
    uint32_t index;         /* its place in that joint's weights */
    uint32_t first_vertex;  /* first vertex of the run */
    uint32_t vertex_count;  /* number of vertices in the run */
    float weight;           /* rest weight */
    const float *positions; /* [vertex_count][3] displacements */
    const float *normals;   /* [vertex_count][3] displacements, or NULL */
    const float *tangents;  /* [vertex_count][3] displacements, or NULL */
    const float *colors;    /* [vertex_count][3] what it adds to vertex colours (glTF COLOR_0), or NULL */
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

/* Weights of some morphs by one joint's rotation from rest, rest⁻¹ · local, or a part of it (EigenSkin: Kry, James, Pai
 * 2002). Of joints that are siblings, local is the rotation against another joint, global(against)⁻¹ · global(joint), and
 * rest the same in the rest pose. r_c is the angle between it and centre c, 0 to π:
 *   weight of morphs[m] = Σ_c coefficients[m][c] · φ(r_c) + coefficients[m][centre_count]
 * Drivers of one morph add up. Motions do not ask them: tracks of weights play as they stand. */
typedef struct pelt_driver {
    uint32_t joint;            /* whose rotation drives the morphs */
    bool relative;             /* its rotation is against another joint; false: against its parent */
    uint32_t against;          /* that joint, if relative; another than `joint` */
    pelt_rotation_part part;   /* part of the rotation that counts */
    float axis[3];             /* SWING and TWIST: unit length, in the joint's own space */
    pelt_kernel kernel;        /* φ */
    float radius;              /* radians, more than 0 */
    uint32_t centre_count;     /* may be 0: the weights are constants */
    const float *centres;      /* [centre][4] unit quaternions x y z w, of the same part */
    uint32_t morph_count;      /* number of morphs driven */
    const uint32_t *morphs;    /* [morph_count] places in the model's morph set */
    const float *coefficients; /* [morph_count][centre_count + 1] the constant last */
} pelt_driver;

/* ---- Model ------------------------------------------------------------------------------------------------ */

/* What an algorithm has replaced since the model was read. Writers keep the source file's own data for the rest. */
typedef enum pelt_change {
    PELT_CHANGED_POSITIONS = 1, /* mesh.positions, normals, tangents; counts unchanged */
    PELT_CHANGED_SKIN = 2,      /* skin */
    PELT_CHANGED_SKELETON = 4,  /* skeleton: other joints than in the file */
    PELT_CHANGED_MOTIONS = 8,   /* motions */
    PELT_CHANGED_MORPHS = 16,   /* morphs */
    PELT_CHANGED_DRIVERS = 32,  /* drivers */
    PELT_CHANGED_COLORS = 64,   /* mesh.colors */
    PELT_CHANGED_VERTICES = 128 /* other vertices and triangles than in the file: each part has some of its own, in any
                                 * order, and mesh.origins says which */
} pelt_change;

/* Everything read from an input: mesh, vertex animations, rig. */
typedef struct pelt_model {
    pelt_mesh mesh;               /* the drawn triangles at rest; vertex_count 0: no mesh */
    uint32_t clip_count;          /* number of clips */
    pelt_clip *clips;             /* [clip] vertex animations */
    pelt_skeleton skeleton;       /* joints and their rest pose; joint_count 0: none */
    uint32_t motion_count;        /* number of motions */
    pelt_motion *motions;         /* [motion] animations of the skeleton and the morph weights */
    pelt_skin skin;               /* bones and weights; bone_count 0: none */
    pelt_morph_set morphs;        /* morph targets; morph_count 0: none */
    uint32_t driver_count;        /* number of drivers */
    pelt_driver *drivers;         /* [driver] */
    uint32_t changed;             /* pelt_change bits, set by whoever replaces a noun */
    const char *path;             /* where it was read from, or "" */
    const char *format;           /* name of the format it was read from ("glTF", "OBJ"), or "" */
    struct px_document *document; /* what only the source format knows and what must survive a round trip, or NULL */
    struct px_arena *memory;      /* owns everything above */
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

/* An empty model. */
PELT_API pelt_result pelt_model_create(pelt_context *context, pelt_model **model);
/* NULL is allowed. */
PELT_API void pelt_model_destroy(pelt_model *model);
/* A new model that shares the data of `source`, which must outlive it, and has memory of its own: for trying an operation
 * and keeping the source. Arrays of structs (parts, clips, motions, drivers) are copied; what they point to is shared. */
PELT_API pelt_result pelt_model_borrow(pelt_context *context, const pelt_model *source, pelt_model **model);
/* Zeroed memory for count elements of `size` bytes that lives as long as the model, aligned to 64 bytes.
 * NULL (and an error in the context) when there is none. count 0 gives a pointer that must not be followed. */
PELT_API void *pelt_model_alloc(pelt_context *context, pelt_model *model, size_t count, size_t size);
/* A copy of a text that lives as long as the model; NULL as above. */
PELT_API const char *pelt_model_text(pelt_context *context, pelt_model *model, const char *text);

/* Checks every index, count, order and range promised above. Readers end with it. */
PELT_API pelt_result pelt_model_validate(pelt_context *context, const pelt_model *model);

/* Computes mesh.weld: vertices are one when their positions differ by at most 4e-6 of the mesh's size (and a
 * thousandth of its edges' length; without triangles not at all) along each axis from those of the first vertex of their class, at rest and in every frame of every clip, and their displacements by
 * morphs not at all. Reads every frame once. Does nothing when it is there already. */
PELT_API pelt_result pelt_model_weld(pelt_context *context, pelt_model *model);

/* Which vertex of `other`, a mesh of the same faces from another file, each vertex of the model is: vertices [vertex].
 * Triangles tell, however the files split and number vertices; numbers tell where triangles come in another order or were
 * cut in another way, and for vertices without triangles (PELT_NONE where those do not tell either). Fails with a sentence
 * where it is another mesh. */
PELT_API pelt_result pelt_model_match(pelt_context *context, const pelt_model *model, const pelt_model *other,
                                      uint32_t *vertices);

/* Gives the model's vertices the points of that mesh: what moves those moves the model. It must know all vertices. */
PELT_API pelt_result pelt_model_take_points(pelt_context *context, pelt_model *model, const pelt_model *source);

/* Area-weighted unit normals, one per welded vertex spread to the vertices; triangles without area count nothing
 * and lone vertices get (0, 0, 1). `positions` [vertex][3] (NULL: the mesh's own), `normals` [vertex][3].
 * Needs mesh.weld. */
PELT_API pelt_result pelt_mesh_normals(pelt_context *context, const pelt_mesh *mesh, const float *positions,
                                       float *normals);
/* The same, with hard edges: vertices that weld share a normal only where those in mesh.normals are within a degree. */
PELT_API pelt_result pelt_mesh_edged_normals(pelt_context *context, const pelt_mesh *mesh, const float *positions,
                                             float *normals);

/* Local transforms [joint] and morph weights [morph] of a motion at a time (seconds, clamped to the keys). `motion`
 * NULL gives the rest pose. `locals` or `weights` may be NULL when not wanted. Never allocates. */
PELT_API void pelt_motion_sample(const pelt_model *model, const pelt_motion *motion, float time, pelt_transform *locals,
                                 float *weights);
/* Sets the weights [morph] of the morphs that drivers drive, from local transforms [joint]; the others stay as they are.
 * Never allocates. */
PELT_API void pelt_pose_weights(const pelt_model *model, const pelt_transform *locals, float *weights);
/* globals [joint] from locals [joint]. Never allocates. */
PELT_API void pelt_skeleton_globals(const pelt_skeleton *skeleton, const pelt_transform *locals, pelt_affine *globals);
/* palette [bone] = global · inverse bind. Never allocates. */
PELT_API void pelt_skin_palette(const pelt_skin *skin, const pelt_affine *globals, pelt_affine *palette);

#ifdef __cplusplus
}
#endif

#endif
