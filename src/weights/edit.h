/* What all edits of a model's weights begin and end with; its bones by joint. */
#ifndef PELT_WEIGHTS_EDIT_H
#define PELT_WEIGHTS_EDIT_H

#include "weights/weights.h"

#include <pelt/weights.h>

typedef struct px_edit {
    pelt_context *context;
    pelt_model *model;
    px_arena *arena; /* of everything below */
    pelt_model view; /* the model, its weld split by px_weight_classes: class r has row r of the tables */
    px_weight_limits limits;
    px_weight_table before;
    px_weight_table table; /* begins as `before` */
    uint8_t *frozen;       /* [vertex] it keeps its weights */
    uint8_t *fixed;        /* [row] all its vertices do */
} px_edit;

/* Fails without a skin, and for names that are not there. Ends itself when it fails. */
pelt_result px_edit_begin(pelt_context *context, pelt_model *model, const pelt_weights_scope *scope, px_edit *out);
/* Cuts the rows, puts them into the model and tells what changed; ends the edit. With a `result` of an earlier step
 * that failed it only ends it, and returns that. */
pelt_result px_edit_finish(px_edit *edit, pelt_result result, pelt_weights_report *report);

/* Welds a skinned model (usually a copy), then splits its weld where vertices have no joint in common: instances of one
 * mesh with skeletons of their own coincide in the bind pose. */
pelt_result px_weight_classes(pelt_context *context, px_arena *arena, pelt_model *model);
/* The area-weighted normal of each class of mesh.weld, [class][3]: unit length, or 0 where there is none; NULL without
 * memory. */
double *px_class_normals(px_arena *arena, const pelt_mesh *mesh, const float *positions);

/* ---- Bones by joint --------------------------------------------------------------------------------------- */

/* Bones of joint j are items[offsets[j]] … items[offsets[j + 1] - 1]. Several are of several skins of a file. */
typedef struct px_joint_bones {
    const pelt_model *model;
    size_t *offsets;
    uint32_t *items;
    pelt_affine *globals; /* [joint] at rest */
    pelt_affine *palette; /* [bone] at rest */
} px_joint_bones;
pelt_result px_joint_bones_make(px_arena *arena, const pelt_model *model, px_joint_bones *out);
/* The joint's bone of the same skin: bones of one skin move alike at rest. PELT_NONE when it has none. */
uint32_t px_bone_like(const px_joint_bones *bones, uint32_t joint, const pelt_affine *palette);
/* How what is near a joint moves from the mesh's space at rest: as its own bone, or that of its nearest ancestor. */
pelt_affine px_joint_palette(const px_joint_bones *bones, uint32_t joint);

#endif
