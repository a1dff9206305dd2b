/* Pelt: fewer triangles, chosen by what they do in motion.
 *
 * Edges collapse in the order of the harm that they do, which quadrics measure (Garland and Heckbert 1997), summed over
 * poses that stand for the whole motion (after Mohr and Gleicher 2003, Pose-independent simplification): a knee that is
 * straight at rest keeps what it needs to bend.
 *
 *   harm of v = Σ_k weight_k · Q_k(v in pose k)
 *
 * A vertex that stays keeps everything that it had: weights, UVs, normals, morph targets. It only moves, to where the
 * harm is least: of a rig by a displacement u at rest, which the skin carries into every pose k as B_k · u, so that one
 * small system has the answer; of a vertex animation in every frame by itself. What welds moves together, so no seam
 * opens. Borders, seams and folds collapse only along themselves. No triangle turns over in any of the poses.
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
    double ratio;    /* triangles to keep, as a part of those that are there; default 0.5 (with an error: 0) */
    double error;    /* no collapse moves the surface by more than this part of the model's size in any of the poses, as
                          * the quadrics have it; 0 (default): any */
    uint32_t poses;  /* most poses that the motion is measured in, 1 to 64; default 16; 1: the rest pose alone */
    bool keep_positions; /* vertices that stay do not move; default false */
} pelt_simplify_desc;
PELT_API const pelt_option_table *pelt_simplify_options(void);
PELT_API pelt_simplify_desc pelt_simplify_desc_default(void);

typedef struct pelt_simplify_report {
    uint32_t triangles_before, triangle_count; /* triangles of the input and of the result */
    uint32_t vertices_before, vertex_count;    /* vertices of the input and of the result */
    uint32_t wanted_count; /* triangles asked for; more may be left, where nothing could go without harm to topology */
    uint32_t pose_count;   /* poses that the harm was measured in */
    double harm;           /* largest distance of a collapse, as desc.error has it */
} pelt_simplify_report;

/* Replaces the mesh, and with it skin, morphs and the points of clips. Poses are those of the motions, the rest pose and
 * each morph alone; of a model without skin the frames of its clips. What hangs from the mesh (materials, names, other
 * attributes of a glTF file) stays right: mesh.origins tells which vertex of the file each is. After a failure the model is
 * as it was, but for its weld. `desc` and `report` may be NULL. */
PELT_API pelt_result pelt_simplify(pelt_context *context, pelt_model *model, const pelt_simplify_desc *desc,
                                   pelt_simplify_report *report);

/* Several levels in one go, each a part ratios[level] (descending) of the model's triangles; each begins where the one
 * before ends. The model itself stays. levels [level_count] are models of their own; they share skeleton, motions,
 * drivers and document with the model, which must outlive them. `reports` [level_count] may be NULL; desc.ratio is not
 * used. */
PELT_API pelt_result pelt_simplify_levels(pelt_context *context, pelt_model *model, const pelt_simplify_desc *desc,
                                          const double *ratios, uint32_t level_count, pelt_model **levels,
                                          pelt_simplify_report *reports);

#ifdef __cplusplus
}
#endif

#endif
