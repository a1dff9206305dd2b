/* Common begin and end of all weight edits; classes of vertices that share weights; bones by joint. */
#ifndef PELT_WEIGHTS_EDIT_H
#define PELT_WEIGHTS_EDIT_H

#include "weights/weights.h"

#include <pelt/weights.h>

typedef struct px_edit {
    pelt_context *context;
    pelt_model *model;
    px_arena *arena; /* owns all arrays below */
    px_operation operation;
    pelt_mesh mesh; /* the model's; its weld is split by px_weight_classes: class r is row r of the tables */
    px_weight_limits limits;
    px_weight_table before; /* weights before the edit */
    px_weight_table table;  /* weights to edit; initialised with `before` */
    uint8_t *frozen;        /* [vertex] 1: keeps its weights */
    uint8_t *fixed;         /* [row] 1: all its vertices are frozen */
} px_edit;

/* Fails when the model has no skin or the scope names unknown joints or parts. On failure there is nothing to
 * finish. */
pelt_result px_edit_begin(pelt_context *context, pelt_model *model, const pelt_weights_scope *scope, px_edit *out);
/* Cuts the rows to the limits, writes them to the model, reports the changes and releases the edit. If `result` is a
 * failure of an earlier step, only releases the edit and returns `result`. */
pelt_result px_edit_finish(px_edit *edit, pelt_result result, pelt_weights_report *report);

/* Poses in which an edit measures how far it moves vertices: of the model's motions, at equal steps, or, if they last less
 * than PX_STILL_SECONDS, with every joint turned by half a radian. */
#define PX_STILL_SECONDS 0.1
typedef struct px_edit_poses {
    uint32_t count, bone_count;
    pelt_affine *palettes; /* [pose][bone] */
    float *positions;      /* [row][3] in the bind pose */
    double diagonal;       /* of their box */
} px_edit_poses;
pelt_result px_edit_poses_make(px_edit *edit, uint32_t count, px_edit_poses *out);
/* Adds weight · (the row as the bone moves it) to moved [pose]. */
void px_edit_poses_add(const px_edit_poses *poses, size_t row, uint32_t bone, double weight, double (*moved)[3]);

/* The weld of a skinned model, split where vertices have no joint in common: instances of one mesh with separate
 * skeletons coincide in the bind pose. */
pelt_result px_weight_classes(px_arena *arena, const pelt_model *model, pelt_vertex_classes *out);
/* The area-weighted unit normal of each class of mesh.weld, [class][3]; 0 for classes without area. NULL when out of
 * memory. */
double *px_class_normals(px_arena *arena, const pelt_mesh *mesh, const float *positions);

/* ---- Bones by joint --------------------------------------------------------------------------------------- */

/* The bones of joint j are items[offsets[j] .. offsets[j + 1]). A joint has several bones when a file has several
 * skins. */
typedef struct px_joint_bones {
    const pelt_model *model;
    size_t *offsets;      /* [joint + 1] */
    uint32_t *items;      /* [bone] */
    pelt_affine *globals; /* [joint] global transforms at rest */
    pelt_affine *palette; /* [bone] global · inverse bind matrix at rest */
} px_joint_bones;
pelt_result px_joint_bones_make(px_arena *arena, const pelt_model *model, px_joint_bones *out);
/* The joint's bone whose rest palette is nearest to `palette`: bones of one skin have about the same rest palette, so
 * this selects the bone of the same skin. PELT_NONE when the joint has no bone. */
uint32_t px_bone_like(const px_joint_bones *bones, uint32_t joint, const pelt_affine *palette);
/* The rest palette of a joint: that of its first bone, or of its nearest ancestor with a bone; else identity. */
pelt_affine px_joint_palette(const px_joint_bones *bones, uint32_t joint);

#endif
