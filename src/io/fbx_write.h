/* FBX writer: declarations shared by the files fbx_write*.c.
 *
 *   fbx_write_target.c  axes, unit, root and frame rate that a program expects
 *   fbx_write_plan.c    which joints, meshes and materials the file has, and their names
 *   fbx_write_scene.c   records of properties and transforms; nodes
 *   fbx_write_material.c  materials, textures, images
 *   fbx_write_mesh.c    geometries
 *   fbx_write_deform.c  skins, blend shapes, bind pose
 *   fbx_write_motion.c  animation stacks
 *   fbx_write.c         header, settings, connections; the file
 */
#ifndef PELT_IO_FBX_WRITE_H
#define PELT_IO_FBX_WRITE_H

#include "io/fbx_emit.h"
#include "io/layers.h"
#include "io/mesh_groups.h"

#define PX_FBX_UV_SET "UVMap"
#define PX_FBX_TICKS  46186158000.0 /* a second */

/* Sorts of objects. */
typedef enum px_fbx_sort {
    PX_FBX_MODEL,
    PX_FBX_ATTRIBUTE,
    PX_FBX_GEOMETRY,
    PX_FBX_MATERIAL,
    PX_FBX_TEXTURE,
    PX_FBX_VIDEO,
    PX_FBX_DEFORMER,
    PX_FBX_POSE,
    PX_FBX_STACK,
    PX_FBX_LAYER,
    PX_FBX_CURVE_NODE,
    PX_FBX_CURVE,
    PX_FBX_SORTS
} px_fbx_sort;

typedef struct px_fbx_connection {
    int64_t child, parent;
    const char *property; /* NULL: none */
} px_fbx_connection;

#define PX_FBX_RATES 6

/* What a program expects. */
typedef struct px_fbx_target {
    const char *name;           /* NULL: no program in particular */
    bool z_up;                  /* else y up */
    double unit;                /* units of the file in a metre */
    bool one_root;              /* skeletons have one root */
    double rates[PX_FBX_RATES]; /* frames per second, the preferred first; 0: keys stay where they are */
    const char *axes_reason, *unit_reason, *rate_reason;
} px_fbx_target;

typedef struct px_fbx_writer {
    const px_fbx_target *target;
    double rate;         /* frames per second; 0: keys stay where they are */
    bool new_root;       /* a root above those of the skeleton, with the number of joints as its own */
    uint32_t root_count; /* joints that it is above */
    const px_write *write;
    const pelt_model *model;
    pelt_mesh mesh; /* that of the model; all of it is one part where it has none */
    pelt_part whole;
    px_layers layers; /* further texture coordinates and colours */
    px_arena *arena;
    px_fbx_out out;
    px_buffer links; /* px_fbx_connection */
    px_mesh_group *groups;
    uint32_t group_count;
    bool *own_nodes;        /* [group] the joint of its parts is its node; else it gets one */
    uint32_t *local_points; /* [point of the model] its number in the group that is written + 1, or 0 */
    pelt_affine *globals;   /* [joint] rest pose */
    bool *limbs;            /* [joint] a bone of a skinned mesh, or above one */
    bool *nodes;            /* [joint] the node of a mesh */
    const char **names;     /* [joint] unique */
    const char **materials; /* [material_count] */
    uint32_t material_count;
    int64_t last_id;
    uint32_t counts[PX_FBX_SORTS]; /* objects of each sort */
} px_fbx_writer;

/* Ids: joints and materials have numbers that follow from their index; others are counted. */
#define PX_FBX_JOINT_ID(j)    (INT64_C(1000000000) + (j))
#define PX_FBX_MATERIAL_ID(m) (INT64_C(2000000000) + (m))
#define PX_FBX_FIRST_ID       INT64_C(3000000000)
/* Of the channel of morph m in group g: motions refer to it. */
#define PX_FBX_CHANNEL_ID(w, g, m) (INT64_C(8000000000) + (int64_t)(g) * (w)->model->morphs.morph_count + (m))

/* A name, which may be missing. */
static inline const char *px_fbx_text_or(const char *text) {
    return text && *text ? text : "unnamed";
}

/* ---- Targets (fbx_write_target.c) --------------------------------------------------------------------------- */

/* The target by its pelt_file_target. */
const px_fbx_target *px_fbx_target_at(uint32_t index);
/* The frame rate of a target that has rates. */
double px_fbx_target_rate(const px_fbx_target *target, const pelt_model *model);
/* The number that files have for a frame rate; 30 frames per second for those without one. */
int32_t px_fbx_time_mode(double rate);
/* Logs what the target sets, and why. */
void px_fbx_target_tell(const px_fbx_writer *w);

/* Turns from y up to the axes of the file: a vector, the transform of a node without a parent, a matrix from the scene (inverse bind) and one
 * to it. */
void px_fbx_turn_vector(const px_fbx_writer *w, double v[3]);
void px_fbx_turn_root(const px_fbx_writer *w, pelt_transform *local);
pelt_affine px_fbx_turn_from(const px_fbx_writer *w, const pelt_affine *a);
pelt_affine px_fbx_turn_to(const px_fbx_writer *w, const pelt_affine *a);
/* Whether the vertices of a group are in the space of the scene, and turn with it. */
bool px_fbx_is_free(const px_fbx_writer *w, const px_mesh_group *g);

/* ---- Plan (fbx_write_plan.c) -------------------------------------------------------------------------------- */

pelt_result px_fbx_plan(px_fbx_writer *w);
/* A rigid mesh follows the bone of its vertices: the transform from its space to the joint. */
pelt_transform px_fbx_rigid_place(const px_fbx_writer *w, const px_mesh_group *g);

/* ---- Records and nodes (fbx_write_scene.c) ------------------------------------------------------------------ */

void px_fbx_begin_object(px_fbx_writer *w, px_fbx_sort which, const char *record, int64_t id, const char *name,
                         const char *type, const char *kind);
void px_fbx_connect(px_fbx_writer *w, int64_t child, int64_t parent, const char *property);
void px_fbx_begin_property(px_fbx_out *out, const char *name, const char *type, const char *label, const char *flags);
void px_fbx_property_i32(px_fbx_out *out, const char *name, const char *type, const char *label, int32_t value);
/* `flags`: "U" for properties of the user, else "". */
void px_fbx_property_text(px_fbx_out *out, const char *name, const char *flags, const char *text);
void px_fbx_property_f64(px_fbx_out *out, const char *name, const char *type, const char *label, const char *flags,
                         double value);
/* A matrix as files store it: transposed, translations in the unit of the file. */
void px_fbx_record_matrix(px_fbx_writer *w, const char *name, const pelt_affine *a);
/* Euler angles in degrees, R = Rz · Ry · Rx; of the two solutions and all turns the one nearest to `angles`, which holds
 * the angles before. */
void px_fbx_euler_angles(const float rotation[4], double angles[3]);
/* `original`: the name that it has in the model. */
void px_fbx_write_model(px_fbx_writer *w, int64_t id, const char *name, const char *original, const char *kind,
                        const pelt_transform *local, int64_t parent);
void px_fbx_write_joints(px_fbx_writer *w);
/* Writes materials, and the textures and images that the source document has for them (fbx_write_material.c). */
pelt_result px_fbx_write_materials(px_fbx_writer *w);

/* ---- Meshes (fbx_write_mesh.c, fbx_write_deform.c) ---------------------------------------------------------- */

/* Writes all meshes with their skins and shapes. */
pelt_result px_fbx_write_meshes(px_fbx_writer *w);
pelt_result px_fbx_write_skin(px_fbx_writer *w, const px_mesh_group *g, int64_t geometry_id);
/* Writes a channel with one shape for each morph that moves the group. */
pelt_result px_fbx_write_shapes(px_fbx_writer *w, const px_mesh_group *g, int64_t geometry_id);
/* Writes the pose that skins are bound in: bind matrices of bones, and the nodes of skinned meshes [mesh_count]. */
void px_fbx_write_bind_pose(px_fbx_writer *w, const int64_t *mesh_ids, uint32_t mesh_count);

/* ---- Motions (fbx_write_motion.c) --------------------------------------------------------------------------- */

pelt_result px_fbx_write_motions(px_fbx_writer *w);

#endif
