/* USD writer: declarations shared by the files usd_write*.c.
 *
 *   usd_write_plan.c    names, joints and bind matrices, materials and images of the file
 *   usd_write_motion.c  skeleton and animations
 *   usd_write_mesh.c    meshes, blend shapes
 *   usd_write.c         the file
 */
#ifndef PELT_IO_USD_WRITE_H
#define PELT_IO_USD_WRITE_H

#include "io/mesh_groups.h"
#include "io/usd.h"

typedef struct px_usd_writer {
    const px_write *write;
    const pelt_model *model;
    pelt_mesh mesh; /* that of the model; all of it is one part where it has none */
    pelt_part whole;
    px_arena *arena;
    px_usd_out out;
    const char *root; /* name of the root prim */
    px_materials materials;
    px_material *used; /* [used_count] materials of parts */
    const char **used_names;
    const char **files; /* [image_count] */
    uint32_t used_count;
    px_layers layers;         /* further texture coordinates and colours */
    const char **layer_names; /* [layer] with "primvars:" */
    px_mesh_group *groups;
    const char **group_names;
    uint32_t *group_bones; /* [group] the only bone of its vertices; PELT_NONE: they have several */
    uint32_t group_count;
    uint32_t *local_points; /* [point of the model] its number in the group that is written + 1, or 0 */
    bool has_joints;        /* a Skeleton is written */
    uint32_t first_joint;   /* joint of the file that is joint 0 of the model: 1 behind PX_USD_ROOT_JOINT, else 0 */
    uint32_t joint_count;   /* joints of the file: those of the model, then further ones of bones */
    const char **paths;     /* [joint of the file] */
    px_scene_matrix *binds; /* [joint of the file] */
    uint32_t *bone_joints;  /* [bone] joint of the file */
    uint32_t *bind_bones;   /* [joint of the model] the bone that its bind matrix is of; PELT_NONE: none yet */
    const char **channels;  /* [morph] */
    double size;            /* of the mesh */
} px_usd_writer;

/* Two texts with a separator between them, in the arena; NULL: out of memory. */
const char *px_usd_join(px_arena *arena, const char *a, const char *separator, const char *b);
/* Whether a path is that of a package (.usdz). */
bool px_usd_is_package(const char *path);
pelt_result px_usd_plan(px_usd_writer *w);
/* Whether a morph is the first with its channel. */
bool px_usd_is_channel(const px_usd_writer *w, uint32_t m);
/* The clip that becomes time samples of points; NULL: none. */
const pelt_clip *px_usd_written_clip(const px_usd_writer *w);
pelt_result px_usd_write_skeleton(px_usd_writer *w);
pelt_result px_usd_write_meshes(px_usd_writer *w);

#endif
