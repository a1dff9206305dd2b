/* Similarities: a scale, a rotation and a shift, and what they do to skeletons and motions; units and axes of programs. */
#ifndef PELT_CORE_SIMILARITY_H
#define PELT_CORE_SIMILARITY_H

#include "core/core.h"

typedef struct px_similarity {
    double scale;
    double turn[9]; /* rotation matrix, row by row */
    double shift[3];
} px_similarity;

/* scale · turn · p + shift; `out` may not be p. */
void px_similarity_map(const px_similarity *s, const double p[3], double out[3]);
/* turn · q, as a unit quaternion in place. */
void px_similarity_turn(const px_similarity *s, float q[4]);
px_similarity px_similarity_of(double scale, const float rotation[4], const double shift[3]);

/* The rest pose `from` [joint] under a similarity of the world, as `out` [joint], which may be `from`. Scale goes into
 * translations, so that no joint gets a scale; roots are turned and moved too. moves [joint] says which joints follow;
 * NULL: all. */
void px_similarity_rest(const px_similarity *s, const pelt_skeleton *skeleton, const bool *moves,
                        const pelt_transform *from, pelt_transform *out);
/* The same for the keys of the motions of a model from `first_motion` on: its list of motions is replaced by one in the
 * arena. */
pelt_result px_similarity_motions(px_arena *arena, const px_similarity *s, const bool *moves, uint32_t first_motion,
                                  pelt_model *model);

/* ---- Units and axes ---------------------------------------------------------------------------------------- */

/* The factors between units that programs use, from 1, and their inverses. */
#define PX_UNIT_COUNT 22u
double px_unit_scale(uint32_t index);

/* All rotations by quarter turns: none, single quarter turns (about x first), half turns about an axis, the others. */
#define PX_TURN_COUNT 24u
void px_quarter_turns(double turns[PX_TURN_COUNT][9]);

/* The rotation that makes y point up where this axis does: pelt_up_axis, PELT_UP_FILE as y. */
void px_up_turn(uint32_t up, double turn[9]);
/* The rotation from the axes of a file where `other_up` points up to those of one where `up` does. */
void px_axes_turn(uint32_t up, uint32_t other_up, double turn[9]);

#endif
