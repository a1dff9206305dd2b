/* Pelt: error measures. See docs/notation.md.
 *
 * Distances are normalised by the minimal enclosing ball of the first frame (FESAM §5). If the first frame has less than
 * a tenth of the median size (objects that grow from a point), the ball of the frame with the median size is used.
 */
#ifndef PELT_MEASURE_H
#define PELT_MEASURE_H

#include <pelt/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A sphere. */
typedef struct pelt_ball {
    double center[3]; /* object units */
    double radius;    /* object units */
} pelt_ball;

/* The minimal enclosing ball of `positions` [count][3], to 1e-9 of its radius; independent of the order of points up
 * to that. No point: center 0, radius 0. */
PELT_API pelt_result pelt_enclosing_ball(pelt_context *context, const float *positions, uint32_t count,
                                         pelt_ball *ball);

/* How far clip b is from clip a. */
typedef struct pelt_difference {
    uint32_t frame_count; /* frames compared */
    uint32_t point_count; /* points compared */
    pelt_ball ball;       /* by whose radius distances are divided */
    uint32_t ball_frame;  /* frame of the ball: 0 unless that frame is degenerate */
    double error_rms;     /* E_rms = 1000·‖A−B‖_F / √(3NF), normalised (FESAM) */
    double error_kg; /* E_kg = 100·‖A−B‖_F / ‖A−mean over time of A‖_F, percent (SMA); still and equal: 0, still: ∞ */
    double error_max;       /* largest point distance as a fraction of the ball's diameter */
    double error_max_units; /* the same in object units */
    uint32_t max_frame;     /* frame of the largest distance */
    uint32_t max_point;     /* point of the largest distance */
    /* RMS length of the difference of unit vertex normals of the triangles (SMA); NaN without a mesh */
    double normal_rms;
    double normal_degrees; /* RMS angle between them */
    /* The same for skinned normals (of b, else of a) against the reference normals of the other clip; transformed by the
     * blended matrix, as engines do. NaN if neither clip has skinned normals. */
    double skinned_normal_rms, skinned_normal_degrees;
    /* The same, transformed by the inverse transpose. */
    double inverse_normal_rms, inverse_normal_degrees;
    /* The same, transformed by the inverse transpose of the deformation gradient (PELT_NORMALS_ACCURATE). */
    double accurate_normal_rms, accurate_normal_degrees;
} pelt_difference;

/* Compares clip b with the reference a: same points, same frames. `mesh` has the triangles for normals and the points of
 * the clips (with its weld, seams are closed); NULL: no normals. Reference normals are mesh.normals transported from
 * mesh.positions with the triangles around them, so hard edges stay hard; without normals or weld, those of the
 * triangles. A point has the normal of its first vertex. `frame_rms` [frame] gets the E_rms of each frame; may be NULL.
 * A non-finite position is an error that names frame and point. Reads both clips frame by frame, twice. */
PELT_API pelt_result pelt_compare_clips(pelt_context *context, const pelt_clip *a, const pelt_clip *b,
                                        const pelt_mesh *mesh, pelt_difference *difference, double *frame_rms);

/* Distance of two surfaces with any triangles: from samples of each to the closest point of the other. Samples are
 * distributed uniformly over the area in the first frame, and keep their barycentric coordinates. */
typedef struct pelt_surface_difference {
    uint32_t frame_count;  /* frames compared */
    uint32_t sample_count; /* samples on each surface in each frame */
    pelt_ball ball;        /* as in pelt_difference */
    double error_rms;      /* RMS distance of both directions, as a fraction of the ball's diameter */
    double error_max;      /* largest distance, vertices included, as such a fraction */
    uint32_t max_frame;    /* its frame */
} pelt_surface_difference;

/* Compares the surface of mesh b, moved by clip b, with that of mesh a, moved by clip a. Both clips have the same frames,
 * and the points of their meshes. `sample_count` 0: 20,000. A non-finite position is an error that names frame and point. */
PELT_API pelt_result pelt_compare_surfaces(pelt_context *context, const pelt_mesh *mesh_a, const pelt_clip *a,
                                           const pelt_mesh *mesh_b, const pelt_clip *b, uint32_t sample_count,
                                           pelt_surface_difference *difference);

/* Up axis. */
typedef enum pelt_up_axis { PELT_UP_FILE, PELT_UP_Y, PELT_UP_Z, PELT_UP_X } pelt_up_axis;

/* Difference of up axis and unit between the same points of two files. */
typedef struct pelt_axes {
    bool differ;       /* other axes or another unit bring the points much closer together */
    bool certain;      /* … and make them equal: nothing else differs */
    uint32_t up;       /* pelt_up_axis of the points: y, z or x */
    uint32_t other_up; /* pelt_up_axis of the others; only the difference is known, y is preferred */
    double scale;      /* units of the points per unit of the others */
} pelt_axes;

/* Compares points [count][3] with others [count][3]: mesh and first frame of a cache, or two first frames. Axes are
 * rotated about the origin; for `differ` the points may also be translated. Non-finite points are ignored. */
PELT_API void pelt_compare_axes(const float *points, const float *others, size_t count, pelt_axes *axes);
/* Describes the others: "has Z up where man.obj has Y up and is 100 times as small", with `name` the file of the points.
 * Returns `text`. */
PELT_API const char *pelt_axes_text(const pelt_axes *axes, const char *name, char *text, size_t size);

/* How far the weights of skin b are from those of skin a. */
typedef struct pelt_weight_difference {
    uint32_t vertex_count;     /* vertices compared */
    uint32_t matched_joints;   /* joints that move vertices in both, by name; the nth of a name is that of the other */
    uint32_t unmatched_joints; /* other joints that move vertices; their weights count fully */
    double l1_mean;            /* mean over vertices of Σ_j |w_a − w_b|, joints matched by name; 0 to 2 */
    double l1_max;             /* largest of these sums */
    uint32_t max_vertex;       /* vertex with the largest sum */
} pelt_weight_difference;

/* Compares the skins of two models with the same vertex count. */
PELT_API pelt_result pelt_compare_weights(pelt_context *context, const pelt_model *a, const pelt_model *b,
                                          pelt_weight_difference *difference);

/* Defects of a mesh's connectivity. Vertices at the same place (mesh.weld) are one; triangles with two equal corners do not
 * count. */
typedef struct pelt_mesh_defects {
    uint32_t shell_count;              /* connected components */
    uint32_t edge_count;               /* edges */
    uint32_t boundary_edge_count;      /* edges of one triangle */
    uint32_t hole_count;               /* connected components of the boundary edges */
    uint32_t nonmanifold_edge_count;   /* edges of three triangles or more */
    uint32_t nonmanifold_vertex_count; /* vertices whose triangles form several fans */
} pelt_mesh_defects;
/* Needs mesh.weld. For triangles that intersect see pelt_collide. */
PELT_API pelt_result pelt_mesh_count_defects(pelt_context *context, const pelt_mesh *mesh, pelt_mesh_defects *defects);

#ifdef __cplusplus
}
#endif

#endif
