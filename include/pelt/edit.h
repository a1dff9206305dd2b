/* Pelt: an edited rest pose, carried through everything that a rig does with it.
 *
 * A skin moves whatever the rest pose is, so what is done to that, once, is there in every frame: "Skinning Mesh
 * Animations" (James and Twigg 2005, §7, rest pose editing).
 *
 *   v_i(k) = T_ik · (rest_i + u_i + morphs),   T_ik the blended transform of vertex i in frame k
 *
 * u are the edits, in the rest pose. Those made in another pose P are brought there: u_i = B_iP⁻¹ · d_i, with B the linear
 * part of T and d the edit as it was made. Morph targets stay as they are: displacements at rest, added to the edited one.
 *
 * Vertices that weld move together, so no seam opens. Normals and tangents change where a triangle has moved, and only
 * there: normals that a vertex shares turn as those of its triangles do (so smooth ones stay smooth, hard edges hard, and
 * others keep how they differ), tangents turn along with the surface.
 */
#ifndef PELT_EDIT_H
#define PELT_EDIT_H

#include <pelt/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The pose that an edit was made in. */
typedef enum pelt_edit_pose {
    PELT_EDIT_AUTO,  /* BIND or REST: the one that the edited mesh, or its original, is nearer to; distances: BIND */
    PELT_EDIT_BIND,  /* mesh.positions, before morphs and skin move them */
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
    uint32_t pose;         /* pelt_edit_pose, not AUTO */
    uint32_t vertex_count; /* welded vertices; so are all counts below */
    uint32_t moved_count;  /* those that moved by more than a millionth of the model's size */
    uint32_t turned_count; /* those whose normals may have changed: they, and those that share a triangle with them */
    uint32_t torn_count;   /* those whose vertices the edit moves apart: all of them go to the middle */
    uint32_t
        ill_conditioned;  /* those that miss their place: T flattens or squeezes them to under a tenth in the pose */
    double distance_mean; /* of those that moved: how far, in the rest pose, in its units … */
    double distance_max;  /* … and at most … */
    uint32_t max_vertex;  /* … at this vertex of the mesh */
    double missed_max;    /* largest distance, in the pose, from where a vertex was wanted */
} pelt_edit_report;

/* The model moves to where an edited mesh is, which has the same faces (see pelt_model_match for whose vertex is which).
 * With an `original`, what the edited mesh was before, the model moves by their difference:
 * a decomposed rig has a rest pose of its own, near that of the mesh that it was made from. NULL: the model is that.
 * Vertices that the edited mesh does not tell stay, but for those that weld to others. Materials, weights, motions and everything else stay. After a failure the model is as it was, but for its weld.
 * `desc` and `report` may be NULL. */
PELT_API pelt_result pelt_edit_mesh(pelt_context *context, pelt_model *model, const pelt_model *edited,
                                    const pelt_model *original, const pelt_edit_desc *desc, pelt_edit_report *report);

/* The same by edited positions of the model's own vertices [vertex][3]. A vertex whose first number is NaN goes with
 * those it welds to, or stays. */
PELT_API pelt_result pelt_edit_positions(pelt_context *context, pelt_model *model, const float *positions,
                                         const pelt_edit_desc *desc, pelt_edit_report *report);

/* The same by distances [vertex] along the smooth normals of the pose, outwards where positive, in its units; of vertices
 * that weld the mean. NaN: none is known. */
PELT_API pelt_result pelt_edit_displace(pelt_context *context, pelt_model *model, const float *distances,
                                        const pelt_edit_desc *desc, pelt_edit_report *report);

#ifdef __cplusplus
}
#endif

#endif
