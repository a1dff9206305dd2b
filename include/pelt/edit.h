/* Pelt: rest pose editing. Carries an edited rest pose through the animation of a rig.
 *
 * A skin moves any rest pose, so an edit of it appears in every frame: "Skinning Mesh Animations" (James and Twigg 2005,
 * §7).
 *
 *   v_i(k) = T_ik · (rest_i + u_i + morphs),   T_ik the blended transform of vertex i in frame k
 *
 * u are the edits in the rest pose. Edits d made in another pose P are transformed back: u_i = B_iP⁻¹ · d_i, with B the
 * linear part of T. Morph targets are not changed: displacements at rest that are added to the edited rest pose.
 *
 * Welded vertices move together, so no seam opens. Normals and tangents change only at triangles that moved: normals
 * rotate with those of the triangles (smooth ones stay smooth, hard edges hard), tangents with the surface.
 */
#ifndef PELT_EDIT_H
#define PELT_EDIT_H

#include <pelt/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The pose that an edit was made in. */
typedef enum pelt_edit_pose {
    PELT_EDIT_AUTO,  /* BIND or REST, whichever is closer to the edited mesh (or its original); displacements: BIND */
    PELT_EDIT_BIND,  /* mesh.positions, without morphs and skin */
    PELT_EDIT_REST,  /* the rest pose of the skeleton, with morphs at their rest weights */
    PELT_EDIT_MOTION /* a motion at a time */
} pelt_edit_pose;

typedef struct pelt_edit_desc {
    uint32_t cookie; /* set by pelt_edit_desc_default; do not change */
    uint32_t pose;   /* pelt_edit_pose; default AUTO */
    uint32_t motion; /* MOTION: which one of the model; default 0 */
    double time;     /* MOTION: seconds; default 0 */
} pelt_edit_desc;
PELT_API const pelt_option_table *pelt_edit_options(void);
PELT_API pelt_edit_desc pelt_edit_desc_default(void);

typedef struct pelt_edit_report {
    uint32_t pose;            /* pelt_edit_pose, not AUTO */
    uint32_t vertex_count;    /* welded vertices; so are all counts below */
    uint32_t moved_count;     /* moved by more than a millionth of the model's size */
    uint32_t turned_count;    /* with changed normals: the moved ones and those that share a triangle with them */
    uint32_t torn_count;      /* whose vertices the edit moves apart: they go to the mean */
    uint32_t ill_conditioned; /* that miss their target because T compresses to below a tenth in the pose */
    double distance_mean;     /* mean distance of the moved ones in the rest pose, object units */
    double distance_max;      /* largest distance */
    uint32_t max_vertex;      /* vertex with the largest distance */
    double missed_max;        /* largest distance of a vertex from its target, in the pose */
} pelt_edit_report;

/* Moves the model to the positions of an edited mesh with the same faces (see pelt_model_match for the correspondence).
 * With `original`, the mesh before the edit, the model moves by the difference: use it for decomposed rigs, whose rest
 * pose differs slightly from the source mesh. NULL: the model itself is the original. Vertices without correspondence
 * stay, except those welded to others. Materials, weights and motions are not changed. On failure the model is unchanged
 * except for its weld. `desc` and `report` may be NULL. */
PELT_API pelt_result pelt_edit_mesh(pelt_context *context, pelt_model *model, const pelt_model *edited,
                                    const pelt_model *original, const pelt_edit_desc *desc, pelt_edit_report *report);

/* The same with edited positions of the model's vertices [vertex][3]. A vertex whose first number is NaN follows the
 * vertices it is welded to, or stays. */
PELT_API pelt_result pelt_edit_positions(pelt_context *context, pelt_model *model, const float *positions,
                                         const pelt_edit_desc *desc, pelt_edit_report *report);

/* The same with distances [vertex] along the smooth normals of the pose, positive outwards, object units; welded vertices
 * take the mean. NaN: unknown, as above. */
PELT_API pelt_result pelt_edit_displace(pelt_context *context, pelt_model *model, const float *distances,
                                        const pelt_edit_desc *desc, pelt_edit_report *report);

#ifdef __cplusplus
}
#endif

#endif
