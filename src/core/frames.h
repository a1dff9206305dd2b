/* Motions as sampled frames: every animated joint has a value in every frame, all at the same times. Motion capture
 * files store motions this way, and retargeting produces them. */
#ifndef PELT_CORE_FRAMES_H
#define PELT_CORE_FRAMES_H

#include "core/core.h"

typedef struct px_frames {
    uint32_t frame_count;
    float *times;         /* [frame] seconds, ascending */
    float **translations; /* [joint][frame][3]; NULL for joints without */
    float **rotations;    /* [joint][frame][4] unit quaternions; NULL for joints without */
} px_frames;

typedef enum px_moves { PX_MOVES_TRANSLATION = 1, PX_MOVES_ROTATION = 2 } px_moves;

/* Allocates zeroed frames in the model's memory. `moves` [joint]: px_moves bits of the channels to allocate. */
pelt_result px_frames_create(pelt_model *model, const uint8_t *moves, uint32_t frame_count, px_frames *frames);
/* Appends the frames to the model's motions as linear tracks. Consecutive quaternions get the same sign. Frames without
 * any channel add no motion. `name` must live as long as the model. */
pelt_result px_frames_add_motion(pelt_model *model, const px_frames *frames, const char *name);

/* Number of frame intervals in `duration` seconds: the smallest integer that gives at least `fps` frames per second,
 * with a slack of 1/1000 frame. NaN or infinite where an argument is. */
double px_motion_steps(double duration, double fps);
/* Frame rate and frame count for sampling a motion evenly, the first frame at its start, the last at its end. `rate` is
 * `fps` where the duration is a whole number of frames (to 1/1000 frame), else px_motion_steps / duration. `fps` 0: the
 * key rate of the track with the most keys if its keys are evenly spaced, else 30. A motion of duration 0 has one
 * frame. Fails when the frame count is implausible (more than 8 640 000). */
pelt_result px_motion_frames(pelt_context *context, const pelt_motion *motion, double fps, double *rate,
                             uint32_t *frame_count);
/* Time of a frame in seconds: exactly motion->start for frame 0 and motion->end for the last one. In between it is
 * start + frame / rate, with the rate from px_motion_frames, rounded as point caches of that rate round it. */
float px_motion_frame_time(const pelt_motion *motion, double rate, uint32_t frame_count, uint32_t frame);

/* Seconds between the keys of the track with the most keys if they are evenly spaced, else 1/30. */
double px_motion_key_step(const pelt_motion *motion);

/* First and last pose of a cycle agree to this fraction of the bounding box diagonal. */
#define PX_CYCLE_APART 1e-3

/* Samples a track: out [width], without normalising CUBIC rotations. `slope` [width], or NULL: the time derivative, for
 * CUBIC tracks only. At a key, `before` selects the segment that ends there instead of the one that begins there. */
void px_track_sample(const pelt_track *track, float time, bool before, float *out, float *slope);

#endif
