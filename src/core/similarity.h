/* Similarity transforms (uniform scale, rotation, translation) of points, skeletons and motions; unit and axis
 * conventions of programs. */
#ifndef PELT_CORE_SIMILARITY_H
#define PELT_CORE_SIMILARITY_H

#include "core/core.h"

typedef struct px_similarity {
    double scale;
    double turn[9];  /* rotation matrix, row-major */
    double shift[3]; /* translation */
} px_similarity;

/* scale · turn · p + shift; `out` must not alias p. */
void px_similarity_map(const px_similarity *s, const double p[3], double out[3]);
/* Multiplies q by the rotation from the left, in place; the length of q is preserved. */
void px_similarity_turn(const px_similarity *s, float q[4]);
px_similarity px_similarity_of(double scale, const float rotation[4], const double shift[3]);

/* Applies a similarity of the world to the rest pose `from` [joint]; `out` [joint] may be `from`. Scale is applied to
 * translations, so that no joint gets a scale; roots are also rotated and translated. `moves` [joint]: joints to
 * transform; NULL: all. */
void px_similarity_rest(const px_similarity *s, const pelt_skeleton *skeleton, const bool *moves,
                        const pelt_transform *from, pelt_transform *out);
/* The same for the keys of the model's motions with index ≥ `first_motion`. *out: [motion] all of
 * them, in the arena. */
pelt_result px_similarity_motions(px_arena *arena, const px_similarity *s, const bool *moves, uint32_t first_motion,
                                  const pelt_model *model, pelt_motion **out);

/* ---- Units and axes ---------------------------------------------------------------------------------------- */

/* Scale factors between the length units that programs use, starting with 1; odd indices are inverses. */
#define PX_UNIT_COUNT 22u
double px_unit_scale(uint32_t index);

/* The 24 rotations that permute the axes: identity, single quarter turns, half turns about a coordinate axis, then the
 * others. */
#define PX_TURN_COUNT 24u
void px_quarter_turns(double turns[PX_TURN_COUNT][9]);

/* The rotation to y-up from a file whose up axis is `up` (pelt_up_axis; PELT_UP_FILE counts as y). */
void px_up_turn(uint32_t up, double turn[9]);
/* The rotation from the axes of a file with up axis `other_up` to those of a file with up axis `up`. */
void px_axes_turn(uint32_t up, uint32_t other_up, double turn[9]);

#endif
