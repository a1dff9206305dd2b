/* Motions as frames: every joint that moves has a value in every frame, all at the same times. What capture files hold,
 * and what retargeting makes. */
#ifndef PELT_CORE_FRAMES_H
#define PELT_CORE_FRAMES_H

#include "core/core.h"

typedef struct px_frames {
    uint32_t frame_count;
    float *times;         /* [frame] seconds, ascending */
    float **translations; /* [joint] NULL, or [frame][3] */
    float **rotations;    /* [joint] NULL, or [frame][4] unit quaternions */
} px_frames;

typedef enum px_moves { PX_MOVES_TRANSLATION = 1, PX_MOVES_ROTATION = 2 } px_moves;

/* Zeroed frames in the model's memory; `moves` [joint] tells which values there are. */
pelt_result px_frames_create(pelt_model *model, const uint8_t *moves, uint32_t frame_count, px_frames *frames);
/* Appends them to the model's motions, with linear tracks. Neighbouring rotations get the same sign. Frames in which
 * nothing moves make no motion. `name` must live as long as the model. */
pelt_result px_frames_add_motion(pelt_model *model, const px_frames *frames, const char *name);

/* Steps from frame to frame in `duration` seconds: the least whole number that gives at least `fps` per second (less a
 * thousandth of a frame). NaN or infinite where an argument is. */
double px_motion_steps(double duration, double fps);
/* How a motion becomes frames: evenly spaced, the first at its start, the last at its end. `rate` is `fps` where that
 * divides the duration (to a thousandth of a frame), else px_motion_steps per duration.
 * `fps` 0: the rate at which the track with the most keys has them, when that is regular, else 30. A motion without
 * duration has one frame. Fails when there would be more frames than any motion has. */
pelt_result px_motion_frames(pelt_context *context, const pelt_motion *motion, double fps, double *rate,
                             uint32_t *frame_count);
/* Seconds; exactly motion->start for frame 0 and motion->end for the last one. Those between are whole steps of the rate
 * that px_motion_frames gave, rounded as caches of that rate round them. */
float px_motion_frame_time(const pelt_motion *motion, double rate, uint32_t frame_count, uint32_t frame);

/* Seconds between the keys of the track that has the most, where they are regular, else 1/30. */
double px_motion_key_step(const pelt_motion *motion);

/* Poses whose points are farther apart than this part of their box's diagonal are different: a motion between them is no
 * cycle. */
#define PX_CYCLE_APART 1e-3

/* The value of a track at a time, out [width], without the normalisation of CUBIC rotations; and with CUBIC keys its slope
 * [width] or NULL, at a key that of the segment before it or behind it. */
void px_track_sample(const pelt_track *track, float time, bool before, float *out, float *slope);

#endif
