/* Skinning of particles, for every instruction set. The includer defines LANES (see core/lanes.h).
 *
 * Linear blend skinning x = Σ w T x⁰ (LBSD, eq. 1) shrinks tissue between two bones that rotate against each other, to
 * a point at 180°. Here the blend moves only the centre of rotation c, and the particle rotates about it: x = Σ w T c +
 * R S (x⁰ − c), with S the blend of the joints' stretches. Two forms of R (pelt_jiggle_blend):
 *
 *   centres   the blend of the joints' rotations as quaternions; c: centres.c
 *   polar     the rotation of the polar decomposition of the blended matrix Σ w T (eq. 2); c: the joint of the part, about
 *             which its two bones rotate. At 180° R jumps from one bone's rotation to the other's, and the tissue between
 *             still collapses
 */
#include "core/lanes.h"
#include "jiggle/kernels.h"
#include "jiggle/polar_kernel.h"

#define MOTION_FLOATS (sizeof(px_joint_motion) / sizeof(float))
#define MOTION_ROWS   (MOTION_FLOATS / 4)

/* Blended quaternions of a smaller squared length have no usable direction. */
#define SHORTEST_TURN 1e-6f

/* Newton steps from the blended quaternion to the rotation of the blended matrix; four are exact to float precision for
 * joints up to 150° apart. */
#define POLAR_STEPS 4

INLINE const float *motion_of(const px_skin_pass *pass, size_t influence) {
    return (const float *)&pass->motions[pass->joints[influence]];
}

/* Σ w · motion for particles i, i + 1 …, one vector per float. As in the kernel of run, rows are blended in memory
 * order and only the sums are transposed. */
INLINE void blend_motions(const px_skin_pass *pass, size_t i, lanes sum[MOTION_FLOATS]) {
    size_t count = pass->counts[i / PX_JIGGLE_BLOCK];
    memset(sum, 0, MOTION_FLOATS * sizeof *sum);
#if LANES == 1
    size_t at = i * pass->influences;
    for (size_t k = 0; k < count; k++)
        for (size_t e = 0; e < MOTION_FLOATS; e++)
            sum[e] += pass->weights[at + k] * motion_of(pass, at + k)[e];
#else
    for (size_t v = 0; v < 4; v++) {
        size_t low = (i + v) * pass->influences, high = (i + v + LANES - 4) * pass->influences;
        lanes rows[MOTION_ROWS] = {{0}};
        for (size_t k = 0; k < count; k++) {
            const float *a = motion_of(pass, low + k), *b = motion_of(pass, high + k);
            lanes weight = lanes_pair_splat(pass->weights[low + k], pass->weights[high + k]);
            for (size_t r = 0; r < MOTION_ROWS; r++)
                rows[r] += weight * lanes_pair(a + 4 * r, b + 4 * r);
        }
        for (size_t r = 0; r < MOTION_ROWS; r++)
            sum[4 * r + v] = rows[r];
    }
    for (size_t r = 0; r < MOTION_ROWS; r++)
        lanes_transpose(sum + 4 * r);
#endif
}

/* Normalises; uses the root's rotation where the rotations of a particle cancel. */
INLINE void unit_turn(lanes q[4], const float root[4]) {
    lanes length2 = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    lanes inverse = 1.0f / lanes_sqrt(length2), zero = length2 - length2;
    for (int e = 0; e < 4; e++)
        q[e] = lanes_select(length2 > SHORTEST_TURN, q[e] * inverse, root[e] + zero);
}

/* det(1 + s) − 1, exactly 0 for s = 0. */
INLINE lanes growth_of(const lanes s[6]) {
    lanes xx = s[0], xy = s[1], xz = s[2], yy = s[3], yz = s[4], zz = s[5];
    lanes minors = xx * yy - xy * xy + xx * zz - xz * xz + yy * zz - yz * yz;
    lanes det = xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz);
    return xx + yy + zz + minors + det;
}

/* Replaces q by the rotation of the blended matrix. */
INLINE void polar_turn(const lanes *matrix, lanes q[4]) {
    lanes a[9];
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            a[3 * r + c] = matrix[4 * r + c] + (r == c ? 1.0f : 0.0f);
    for (int n = 0; n < POLAR_STEPS; n++)
        improve_rotation(a, q);
}

INLINE void skin_at(const px_skin_pass *pass, size_t i, bool polar) {
    lanes m[MOTION_FLOATS], rest[4], centre[4], arm[3], stretched[3], turned[3], out[4];
    blend_motions(pass, i, m);
    unit_turn(m, pass->motions[0].rotation);
    const lanes *matrix = m + 4, *s = m + 16;
    if (polar)
        polar_turn(matrix, m);
    lanes_load4(pass->rest + 4 * i, rest);
    lanes_load4(pass->centres + 4 * i, centre);
    for (int c = 0; c < 3; c++)
        arm[c] = rest[c] - centre[c];
    stretched[0] = arm[0] + (s[0] * arm[0] + s[1] * arm[1] + s[2] * arm[2]);
    stretched[1] = arm[1] + (s[1] * arm[0] + s[3] * arm[1] + s[4] * arm[2]);
    stretched[2] = arm[2] + (s[2] * arm[0] + s[4] * arm[1] + s[5] * arm[2]);
    lanes_turn3(m, stretched, turned);
    for (int r = 0; r < 3; r++) {
        const lanes *row = matrix + 4 * r;
        lanes blended = row[0] * rest[0] + row[1] * rest[1] + row[2] * rest[2] + row[3];
        lanes about = row[0] * centre[0] + row[1] * centre[1] + row[2] * centre[2] + row[3] + (turned[r] - arm[r]);
        out[r] = rest[r] + (blended + pass->amount * (about - blended));
    }
    out[3] = rest[3];
    lanes_store4(pass->positions + 4 * i, out);
    lanes_store4(pass->turns + 4 * i, m);
    lanes_store(pass->growths + i, growth_of(s));
}

static void skin_about_centres(const px_skin_pass *pass) {
    for (size_t i = 0; i < (size_t)pass->block_count * PX_JIGGLE_BLOCK; i += LANES)
        skin_at(pass, i, false);
}

static void skin_by_polar(const px_skin_pass *pass) {
    for (size_t i = 0; i < (size_t)pass->block_count * PX_JIGGLE_BLOCK; i += LANES)
        skin_at(pass, i, true);
}
