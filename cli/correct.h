/* Shared by the two drivers of pelt correct: morph targets whose weights are animated (correct.c) or computed from the
 * pose (EigenSkin; correct_pose.c, with example poses read by poses.c). */
#ifndef PELT_CLI_CORRECT_H
#define PELT_CLI_CORRECT_H

#include "cli.h"

typedef enum correct_driver { DRIVER_TIME, DRIVER_POSE } correct_driver;

typedef struct correct_settings {
    pelt_correct_desc correct;
    pelt_eigenskin_desc eigenskin;
    pelt_load_desc load;
    const char *output;
    const char *motion;
    double fps;
    uint32_t driver; /* correct_driver */
    uint32_t preset; /* used by the parser only */
    const char *poses;
    const char *unseen;
    uint32_t hold_out;
    rig_settings written;
} correct_settings;

/* A rig with a motion, and the target shape of each frame. */
typedef struct correct_input {
    pelt_model *rig, *source; /* source: model of the clip; NULL: the rig has it */
    uint32_t motion;          /* index in the rig, or PELT_NONE: its rest pose */
    pelt_clip clip;           /* target shapes */
    uint64_t bytes;           /* size of the rig's file */
} correct_input;

/* Reads rig, motion and clip. The caller owns the models, also after an error. */
exit_code correct_read(cli_session *session, const correct_settings *settings, const char *const *args,
                       size_t arg_count, correct_input *in);

exit_code correct_by_pose(cli_session *session, const correct_settings *settings, const char *const *args,
                          size_t arg_count);

/* ---- poses.c ---------------------------------------------------------------------------------------------- */

/* Example poses with their target shapes; all data is in the rig's memory. */
typedef struct pose_set {
    pelt_pose_example *items;
    uint32_t count;
} pose_set;

/* Reads examples from a folder of meshes with a pose file each, or from a file of poses that have the names of morph
 * targets of the rig. */
exit_code poses_read(cli_session *session, pelt_model *rig, const char *path, const pelt_load_desc *load,
                     pose_set *out);
/* Whether a path is an animation: neither a folder nor a file of poses. */
bool poses_are_frames(const char *path);
/* Makes the frames of the clip examples, in the poses of the motion (poses_clip.c). Every `hold_out`th frame (0: none)
 * goes to `unseen`. */
exit_code poses_of_clip(cli_session *session, const correct_input *in, uint32_t hold_out, pose_set *seen,
                        pose_set *unseen);
/* Makes examples an animation, for pages: adds a motion with a key per pose, one second apart, with the morph weights
 * that the model's drivers compute. `clip`, in the model's memory, receives the target shapes. */
pelt_result poses_motion(cli_session *session, pelt_model *model, const pose_set *set, const char *name,
                         pelt_clip *clip);

#endif
