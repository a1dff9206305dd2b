/* Pelt: the measures that every verb reports, in one place.
 *
 * Distances are normalised so that the first frame's minimal enclosing ball is the unit ball (FESAM §5). Where the first frame
 * has less than a tenth of the median size (things that grow from a point), it is the ball of the frame of median size.
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
    pelt_ball ball;       /* that distances are divided by: of a's first frame … */
    uint32_t ball_frame;  /* … or of this one, where the first is degenerate */
    double error_rms;     /* E_rms = 1000·‖A−B‖_F / √(3NF), normalised (FESAM) */
    double error_kg; /* E_kg = 100·‖A−B‖_F / ‖A−mean over time of A‖_F, percent (SMA); still and equal: 0, still: ∞ */
    double error_max;       /* largest point distance as a fraction of the ball's diameter … */
    double error_max_units; /* … and in object units */
    uint32_t max_frame;     /* where it is */
    uint32_t max_point;     /* point where it is */
    double normal_rms;      /* RMS length of the difference of unit vertex normals (SMA) … */
    double normal_degrees;  /* … and RMS angle between them; both of the triangles, NaN without a mesh */
    /* The same for the normals that a skin moves (b's, else a's) against those that the other's surface should show, by
     * the blended matrix itself as engines do … */
    double skinned_normal_rms, skinned_normal_degrees;
    /* … and by its inverse transposed; all four NaN where neither clip has such normals. */
    double inverse_normal_rms, inverse_normal_degrees;
} pelt_difference;

/* Compares clip b with the reference a: same points, same frames. `mesh` gives the triangles for normals (its points are
 * the clips'; with its weld, seams count as closed); NULL: no normals. What a surface should show are mesh.normals, carried
 * from mesh.positions along with the triangles around them: hard edges stay hard. Without them, or without a weld, they
 * are the triangles' own. A point shows the normal of its first vertex. `frame_rms` [frame], E_rms of each frame, or NULL.
 * A position that is not finite fails, naming frame and point. Reads both clips frame by frame, twice. */
PELT_API pelt_result pelt_compare_clips(pelt_context *context, const pelt_clip *a, const pelt_clip *b,
                                        const pelt_mesh *mesh, pelt_difference *difference, double *frame_rms);

/* How far two surfaces are apart, whatever their triangles: distances from places of one to the nearest place of the
 * other, both ways. Places are spread evenly over the area that a surface has in the first frame, and stay where they are
 * on their triangles. */
typedef struct pelt_surface_difference {
    uint32_t frame_count;  /* frames compared */
    uint32_t sample_count; /* places on each surface in each frame */
    pelt_ball ball;        /* as in pelt_difference */
    double error_rms; /* root of the mean of both ways' mean squared distances, as a fraction of the ball's diameter */
    double error_max; /* largest distance, corners included, as such a fraction … */
    uint32_t max_frame; /* … and its frame */
} pelt_surface_difference;

/* Compares the surface of mesh b, moved by clip b, with that of mesh a, moved by clip a: clips of the same frames, each of
 * its mesh's points. `sample_count` 0: 20,000. A position that is not finite fails, naming frame and point. */
PELT_API pelt_result pelt_compare_surfaces(pelt_context *context, const pelt_mesh *mesh_a, const pelt_clip *a,
                                           const pelt_mesh *mesh_b, const pelt_clip *b, uint32_t sample_count,
                                           pelt_surface_difference *difference);

/* Which axis points up. */
typedef enum pelt_up_axis { PELT_UP_FILE, PELT_UP_Y, PELT_UP_Z, PELT_UP_X } pelt_up_axis;

/* How the same points of two files differ by the axis that points up and by their unit. */
typedef struct pelt_axes {
    bool differ;       /* other axes or another unit bring the points much nearer to each other */
    bool certain;      /* … and onto each other: nothing else differs */
    uint32_t up;       /* pelt_up_axis of the points: y, z or x … */
    uint32_t other_up; /* … and of the others; only how they differ is known, y is taken where it may be */
    double scale;      /* units of the points per unit of the others */
} pelt_axes;

/* Compares points [count][3] with others [count][3]: mesh and first frame of a cache, or two first frames. Axes are turned
 * about the origin; in `differ` the points may have been moved elsewhere. Points that are not finite do not count. */
PELT_API void pelt_compare_axes(const float *points, const float *others, size_t count, pelt_axes *axes);
/* "has Z up where man.obj has Y up and is 100 times as small": what `axes` says of the others; `name` is whose the points
 * are. Returns `text`. */
PELT_API const char *pelt_axes_text(const pelt_axes *axes, const char *name, char *text, size_t size);

/* How far the weights of skin b are from those of skin a. */
typedef struct pelt_weight_difference {
    uint32_t vertex_count;     /* vertices compared */
    uint32_t matched_joints;   /* joints of a's bones with a namesake among b's */
    uint32_t unmatched_joints; /* joints of either without one; their weights count in full */
    double l1_mean;            /* mean over vertices of Σ_j |w_a − w_b|, joints matched by name; 0 to 2 */
    double l1_max;             /* largest of these sums */
    uint32_t max_vertex;       /* vertex where it is */
} pelt_weight_difference;

/* Compares the skins of two models with the same vertex count. */
PELT_API pelt_result pelt_compare_weights(pelt_context *context, const pelt_model *a, const pelt_model *b,
                                          pelt_weight_difference *difference);

#ifdef __cplusplus
}
#endif

#endif
