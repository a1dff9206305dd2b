/* What the two halves of pelt correct share: corrections that time drives (correct.c) and that the pose drives
 * (correct_pose.c, with examples that poses.c reads). */
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
    const char *poses;
    const char *unseen;
    uint32_t hold_out;
    bool sparse;
} correct_settings;

/* A rig with a motion, and what that should look like. */
typedef struct correct_input {
    pelt_model *rig, *source; /* source NULL: the rig has the clip */
    uint32_t motion;          /* of the rig, or PELT_NONE: its rest pose */
    pelt_clip clip;
    uint64_t bytes; /* of the rig's file */
} correct_input;

/* Reads them; the models are the caller's, whatever it gives. */
exit_code correct_read(cli_session *session, const correct_settings *settings, const char *const *args,
                       size_t arg_count, correct_input *in);

exit_code correct_by_pose(cli_session *session, const correct_settings *settings, const char *const *args,
                          size_t arg_count);

/* ---- poses.c ---------------------------------------------------------------------------------------------- */

/* Examples of the right shape; everything in them lives in the rig's memory. */
typedef struct pose_set {
    pelt_pose_example *items;
    uint32_t count;
} pose_set;

/* From a folder of meshes that have a pose file each, or from a file of poses that are named as morph targets of the
 * rig. */
exit_code poses_read(cli_session *session, pelt_model *rig, const char *path, const pelt_load_desc *load,
                     pose_set *out);
/* Whether a path is neither: an animation, then. */
bool poses_are_frames(const char *path);
/* The frames of the clip in the poses of the motion (poses_clip.c): every frame number `hold_out` (0: none) goes to
 * `unseen`. */
exit_code poses_of_clip(cli_session *session, const correct_input *in, uint32_t hold_out, pose_set *seen,
                        pose_set *unseen);
/* The other way round, for pages: the model gets a motion through the poses, a second apart, with the weights that its
 * drivers give them; the clip, in its memory, has the right shapes. */
pelt_result poses_motion(cli_session *session, pelt_model *model, const pose_set *set, const char *name,
                         pelt_clip *clip);

#endif
