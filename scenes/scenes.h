/* Procedural scenes: seeded, of any size, the same bytes on every platform. */
#ifndef PELT_SCENES_H
#define PELT_SCENES_H

#include <pelt/pelt.h>

typedef struct scene_desc {
    uint32_t vertex_count; /* approximate; 0: default of the scene */
    uint32_t frame_count;  /* 0: default of the scene */
    uint64_t seed;
} scene_desc;

/* The ground-truth shape of a rig in one pose. */
typedef struct scene_pose {
    const char *name;             /* "elbow_45_0_0", fit for a file */
    const pelt_transform *locals; /* [joint] */
    float *positions;             /* [vertex][3] world space */
    float *normals;               /* [vertex][3] unit length */
} scene_pose;

typedef struct scene_poses {
    uint32_t seen_count;      /* training poses: one joint each */
    uint32_t unseen_count;    /* test poses: all joints */
    const scene_pose *seen;   /* [seen_count] without the rest pose, in which the rig is exact */
    const scene_pose *unseen; /* [unseen_count] */
} scene_poses;

typedef struct scene {
    const char *name;    /* "creature" */
    const char *summary; /* one line */
    pelt_result (*make)(pelt_context *context, const scene_desc *desc, pelt_model **model);
    /* Poses of the model that `make` gave for `desc`, in its memory; NULL: the scene has none. */
    pelt_result (*poses)(pelt_context *context, const scene_desc *desc, pelt_model *model, scene_poses *poses);
} scene;

/* The scenes in the order of their table; index ≥ the count gives NULL. */
const scene *scene_at(uint32_t index);
/* By name; NULL when there is none. */
const scene *scene_find(const char *name);

/* The scene `face` with a number of morph targets; 0: 52. */
pelt_result scene_face_make(pelt_context *context, const scene_desc *desc, uint32_t slider_count, pelt_model **model);

/* Writes poses [count] of a model to an existing folder: NAME.obj has the true shape, NAME.json the pose. */
pelt_result scene_poses_save(pelt_context *context, const pelt_model *model, const scene_pose *poses, uint32_t count,
                             const char *folder);

#endif
