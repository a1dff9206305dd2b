/* The frame of the grid: the principal axes of the surface, in an order and in directions that the surface gives itself, so
 * that a turned input gets the same voxels in the same order. */
#include "bind/bind.h"
#include "core/math3.h"
#include "numeric/numeric.h"

#include <math.h>

#define MIN_SPREAD_RATIO 1.01  /* of two principal variances: axes with closer ones have no direction of their own */
#define SAME_DIRECTION   1e-3f /* sine: an axis this near to that of the input is the same */

/* The corners of a triangle relative to a point; returns twice its area. */
static double read_triangle(const px_bind_subject *s, size_t triangle, const double from[3], double p[3][3]) {
    double u[3], v[3], normal[3];
    for (size_t k = 0; k < 3; k++)
        for (size_t c = 0; c < 3; c++)
            p[k][c] = (double)s->positions[3 * (size_t)s->triangles[3 * triangle + k] + c] - from[c];
    for (int c = 0; c < 3; c++) {
        u[c] = p[1][c] - p[0][c];
        v[c] = p[2][c] - p[0][c];
    }
    px_cross3d(u, v, normal);
    return px_length3(normal);
}

static void measure_centroid(const px_bind_subject *s, double out[3]) {
    double p[3][3], sums[3] = {0}, area = 0;
    const double *from = out;
    for (size_t t = 0; t < s->triangle_count; t++) {
        double own = read_triangle(s, t, from, p);
        area += own;
        for (int k = 0; k < 9; k++)
            sums[k % 3] += own * p[k / 3][k % 3] / 3;
    }
    for (int c = 0; c < 3 && area > 0; c++)
        out[c] += sums[c] / area;
}

/* Second moments of the surface about a point, times a factor. */
static void measure_moments(const px_bind_subject *s, const double middle[3], double moments[3][3]) {
    double p[3][3];
    for (size_t t = 0; t < s->triangle_count; t++) {
        double own = read_triangle(s, t, middle, p), sum[3];
        for (int c = 0; c < 3; c++)
            sum[c] = p[0][c] + p[1][c] + p[2][c];
        for (int c = 0; c < 3; c++)
            for (int d = 0; d < 3; d++)
                moments[c][d] += own * (p[0][c] * p[0][d] + p[1][c] * p[1][d] + p[2][c] * p[2][d] + sum[c] * sum[d]);
    }
}

/* Third moment of the surface about the plane through a point, times a factor. */
static double measure_skew(const px_bind_subject *s, const double middle[3], const double normal[3]) {
    double p[3][3], out = 0;
    for (size_t t = 0; t < s->triangle_count; t++) {
        double own = read_triangle(s, t, middle, p);
        double x = px_dot3d(p[0], normal), y = px_dot3d(p[1], normal), z = px_dot3d(p[2], normal);
        out += own * ((x * x + y * y + z * z) * (x + y + z) + x * y * z); /* all products of three of x, y, z */
    }
    return out;
}

/* Axis `along` of the grid becomes ±u; the next one stays as near to its own direction as it can. */
static void turn_one(const double u[3], int along, float axes[3][3]) {
    double sign = u[along] < 0 ? -1 : 1, next[3];
    int second = (along + 1) % 3, third = (along + 2) % 3;
    for (int c = 0; c < 3; c++)
        next[c] = (c == second) - u[second] * u[c];
    double length = px_length3(next);
    for (int c = 0; c < 3; c++) {
        axes[along][c] = (float)(sign * u[c]);
        axes[second][c] = (float)(next[c] / length);
    }
    px_cross3(axes[along], axes[second], axes[third]);
}

static int largest(const double v[3]) {
    int best = 0;
    for (int c = 1; c < 3; c++)
        best = fabs(v[c]) > fabs(v[best]) ? c : best;
    return best;
}

/* The three directions (rows of v) become the axes of the grid, in the order of their variances. Two of them point to where
 * the surface reaches farther; the third, across the plane about which it is most symmetric, follows from these. */
static void turn_all(const px_bind_subject *s, double v[3][3], const double values[3], px_bind_frame *frame) {
    double skews[3];
    int least = 0;
    float(*axes)[3] = frame->axes;
    for (int a = 0; a < 3; a++) {
        skews[a] = values[a] > 0 ? measure_skew(s, frame->origin, v[a]) / (values[a] * sqrt(values[a])) : 0;
        least = fabs(skews[a]) < fabs(skews[least]) ? a : least;
    }
    for (int a = 0; a < 3; a++)
        for (int c = 0; c < 3 && a != least; c++)
            axes[a][c] = (float)(skews[a] < 0 ? -v[a][c] : v[a][c]);
    px_cross3(axes[(least + 1) % 3], axes[(least + 2) % 3], axes[least]);
    frame->across = (uint32_t)least;
}

/* The axis of the grid nearest to each axis of the input: the permutation with the largest sum of cosines. */
static void name_axes(px_bind_frame *frame) {
    static const uint32_t orders[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};
    float best = -1;
    for (int k = 0; k < 6; k++) {
        float sum = 0;
        for (int c = 0; c < 3; c++)
            sum += fabsf(frame->axes[orders[k][c]][c]);
        if (sum > best)
            memcpy(frame->named, orders[k], sizeof frame->named);
        best = px_fmaxf(best, sum);
    }
}

px_bind_frame px_bind_frame_of_input(void) {
    return (px_bind_frame){.axes = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, .named = {0, 1, 2}, .across = PELT_NONE};
}

pelt_result px_bind_frame_make(pelt_context *context, const px_bind_subject *subject, px_bind_frame *frame) {
    double moments[3][3] = {{0}}, values[3];
    *frame = px_bind_frame_of_input();
    float(*axes)[3] = frame->axes;
    measure_centroid(subject, frame->origin);
    measure_moments(subject, frame->origin, moments);
    PX_TRY(px_symmetric_eigen(context, px_matrix_of(moments[0], 3, 3), values));
    bool upper = values[2] > MIN_SPREAD_RATIO * values[1], lower = values[1] > MIN_SPREAD_RATIO * values[0];
    if (upper && lower)
        turn_all(subject, moments, values, frame);
    else if (upper || lower)
        turn_one(moments[upper ? 2 : 0], largest(moments[upper ? 2 : 0]), axes);
    /* Symmetric meshes keep exactly the axis across their plane: rounding must not decide between their sides. */
    for (int a = 0; a < 3; a++)
        for (int k = 0; k < 3; k++) {
            int l = (k + 1) % 3, m = (k + 2) % 3;
            if (fabsf(axes[a][l]) < SAME_DIRECTION && fabsf(axes[a][m]) < SAME_DIRECTION) {
                axes[a][k] = axes[a][k] < 0 ? -1 : 1;
                axes[a][l] = axes[a][m] = axes[(a + 1) % 3][k] = axes[(a + 2) % 3][k] = 0;
            }
        }
    name_axes(frame);
    return PELT_OK;
}

double px_bind_frame_offset(const px_bind_frame *frame, uint32_t axis) {
    double sum = 0;
    for (int c = 0; c < 3; c++)
        sum += (double)frame->axes[axis][c] * frame->origin[c];
    return sum;
}

/* A column of a matrix in the space of the frame: a direction, or a point. */
static void turn_column(const px_bind_frame *frame, const float p[3], bool point, float out[3]) {
    for (int a = 0; a < 3; a++) {
        double sum = 0;
        for (int c = 0; c < 3; c++)
            sum += (double)frame->axes[a][c] * ((double)p[c] - (point ? frame->origin[c] : 0));
        out[a] = (float)sum;
    }
}

pelt_result px_bind_subject_turn(px_arena *arena, const px_bind_subject *subject, const px_bind_frame *frame,
                                 px_bind_subject *turned) {
    uint32_t joints = subject->rig->skeleton.joint_count;
    *turned = *subject;
    turned->positions = PX_NEW(arena, float, 3 * (size_t)subject->classes.count);
    turned->joints = PX_NEW(arena, pelt_affine, joints);
    if (!turned->positions || !turned->joints)
        return PELT_ERROR_MEMORY;
    for (size_t i = 0; i < subject->classes.count; i++)
        turn_column(frame, subject->positions + 3 * i, true, turned->positions + 3 * i);
    for (uint32_t j = 0; j < joints; j++)
        for (int c = 0; c < 4; c++) {
            const float *m = subject->joints[j].m;
            float out[3];
            turn_column(frame, (float[3]){m[c], m[4 + c], m[8 + c]}, c == 3, out);
            for (int a = 0; a < 3; a++)
                turned->joints[j].m[4 * a + c] = out[a];
        }
    return PELT_OK;
}
