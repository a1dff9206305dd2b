/* Pelt: mesh simplification of animated models, and levels of detail.
 *
 * Edges collapse in the order of their quadric error (Garland and Heckbert 1997), summed over poses that represent the
 * motion (after Mohr and Gleicher 2003, Pose-independent simplification): a knee that is straight at rest keeps the
 * vertices it needs to bend.
 *
 *   error of v = Σ_k weight_k · Q_k(v in pose k)
 *
 * A remaining vertex keeps its attributes: weights, UVs, normals, morph targets. Only its position changes, to the minimum
 * of the error: for a rig by a displacement u at rest, which the skin maps to B_k · u in pose k (a 3×3 system); for a
 * vertex animation in every frame separately. Welded vertices move together, so no seam opens. Borders, seams and folds
 * collapse only along themselves. No triangle flips in any of the poses.
 */
#ifndef PELT_SIMPLIFY_H
#define PELT_SIMPLIFY_H

#include <pelt/model.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PELT_SIMPLIFY_POSES_MAX 64u

typedef struct pelt_simplify_desc {
    uint32_t cookie; /* set by pelt_simplify_desc_default; do not change */
    double ratio;    /* fraction of the triangles to keep; default 0.5 (with an error: 0) */
    /* largest movement of the surface by a collapse in any pose, by its quadric, as a fraction of the model's size;
     * 0 (default): no limit */
    double error;
    uint32_t poses; /* largest number of poses in which the error is measured, 1 to 64; default 16; 1: rest pose only */
    bool keep_positions; /* do not move the remaining vertices; default false */
} pelt_simplify_desc;
PELT_API const pelt_option_table *pelt_simplify_options(void);
PELT_API pelt_simplify_desc pelt_simplify_desc_default(void);

typedef struct pelt_simplify_report {
    uint32_t triangles_before, triangle_count; /* triangles of the input and of the result */
    uint32_t vertices_before, vertex_count;    /* vertices of the input and of the result */
    uint32_t wanted_count; /* requested triangles; more may remain if no further collapse is possible */
    uint32_t pose_count;   /* poses in which the error was measured */
    double harm;           /* largest movement of a collapse, as in desc.error */
} pelt_simplify_report;

/* Replaces the mesh, skin, morphs and points of clips. Poses are those of the motions, the rest pose and each morph alone;
 * for a model without skin, the frames of its clips. Materials, names and other attributes of a glTF file are kept:
 * mesh.origins maps vertices to those of the file. On failure the model is unchanged except for its weld. `desc` and
 * `report` may be NULL. */
PELT_API pelt_result pelt_simplify(pelt_context *context, pelt_model *model, const pelt_simplify_desc *desc,
                                   pelt_simplify_report *report);

/* Creates several levels, each with a fraction ratios[level] (descending) of the model's triangles; each continues from the
 * previous one. The model is not changed. levels [level_count] are new models that share skeleton, motions, drivers and
 * document with the model, which must outlive them. `reports` [level_count] may be NULL; desc.ratio is ignored. */
PELT_API pelt_result pelt_simplify_levels(pelt_context *context, pelt_model *model, const pelt_simplify_desc *desc,
                                          const double *ratios, uint32_t level_count, pelt_model **levels,
                                          pelt_simplify_report *reports);

#ifdef __cplusplus
}
#endif

#endif
