/* Motions to measure volumes in: files put on a rig, and bends of named joints. */
#ifndef PELT_BENCH_VOLUME_POSES_H
#define PELT_BENCH_VOLUME_POSES_H

#include <pelt/model.h>

/* The folder of the real data, as bench/animations.h looks for it. */
const char *volume_data(void);

typedef struct volume_motion {
    pelt_model *rig;
    const pelt_motion *motion; /* NULL: a bend */
    uint32_t frame_count;
    double start, step;
    float (*axes)[4]; /* [joint] bends: world axis at rest and degrees; rigid with the parent */
} volume_motion;

/* `name`: a file under the data folder or a path (.bvh, .amc), put on the rig as pelt_retarget does; "sit": thighs by
 * 100 degrees, knees by 90; "fist": every joint of the fingers by 75; "own:NAME" a motion of the rig. */
pelt_result volume_motion_open(pelt_context *context, pelt_model *rig, const char *name, volume_motion *out);
void volume_motion_close(volume_motion *motion);
/* locals [joint] in a frame. */
void volume_motion_sample(const volume_motion *motion, uint32_t frame, pelt_transform *locals);

#endif
