/* The frame of the grid: the principal axes of the surface, so that a turned input gets the same voxels. Each is the axis
 * 0, 1 or 2 of the grid that it is nearest to in the input. */
#include "bind/bind.h"
#include "core/math3.h"
#include "numeric/numeric.h"

#include <math.h>

#define MIN_SPREAD_RATIO 1.01  /* of two principal variances: axes with closer ones have no direction of their own */
#define SAME_DIRECTION   1e-3f /* sine: an axis this near to that of the input is the same */

/* Second moments of the surface about its centroid. */
static void measure_moments(const px_bind_subject *s, double moments[3][3]) {
    double middle[3] = {0}, area = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t t = 0; t < s->triangle_count; t++) {
            double p[3][3], u[3], v[3], normal[3], sum[3] = {0};
            for (int k = 0; k < 3; k++)
                for (int c = 0; c < 3; c++) {
                    p[k][c] = (double)s->positions[3 * (size_t)s->triangles[3 * t + (size_t)k] + (size_t)c] -
                              (pass ? middle[c] : 0);
                    sum[c] += p[k][c];
                }
            for (int c = 0; c < 3; c++) {
                u[c] = p[1][c] - p[0][c];
                v[c] = p[2][c] - p[0][c];
            }
            px_cross3d(u, v, normal);
            double own = px_length3(normal); /* twice the area */
            area += pass ? 0 : own;
            for (int c = 0; c < 3; c++) {
                middle[c] += pass ? 0 : own * sum[c] / 3;
                for (int d = 0; d < 3 && pass; d++)
                    moments[c][d] +=
                        own * (p[0][c] * p[0][d] + p[1][c] * p[1][d] + p[2][c] * p[2][d] + sum[c] * sum[d]);
            }
        }
        for (int c = 0; c < 3 && !pass && area > 0; c++)
            middle[c] /= area;
    }
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

/* Assigns three directions (rows of v) to the axes of the grid: the permutation with the largest sum of cosines. */
static void turn_all(double v[3][3], float axes[3][3]) {
    static const int orders[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};
    double best = -1;
    int order = 0;
    for (int k = 0; k < 6; k++) {
        double sum = 0;
        for (int a = 0; a < 3; a++)
            sum += fabs(v[orders[k][a]][a]);
        order = sum > best ? k : order;
        best = px_fmax(best, sum);
    }
    for (int a = 0; a < 2; a++) {
        const double *u = v[orders[order][a]];
        for (int c = 0; c < 3; c++)
            axes[a][c] = (float)(u[a] < 0 ? -u[c] : u[c]);
    }
    px_cross3(axes[0], axes[1], axes[2]);
}

pelt_result px_bind_frame(pelt_context *context, const px_bind_subject *subject, float axes[3][3]) {
    double moments[3][3] = {{0}}, values[3];
    for (int a = 0; a < 3; a++)
        for (int c = 0; c < 3; c++)
            axes[a][c] = a == c;
    measure_moments(subject, moments);
    PX_TRY(px_symmetric_eigen(context, px_matrix_of(moments[0], 3, 3), values));
    bool upper = values[2] > MIN_SPREAD_RATIO * values[1], lower = values[1] > MIN_SPREAD_RATIO * values[0];
    if (upper && lower)
        turn_all(moments, axes);
    else if (upper || lower)
        turn_one(moments[upper ? 2 : 0], largest(moments[upper ? 2 : 0]), axes);
    /* Symmetric meshes keep exactly the axis across their plane: rounding must not decide between their sides. */
    for (int a = 0; a < 3; a++) {
        int b = (a + 1) % 3, c = (a + 2) % 3;
        if (fabsf(axes[a][b]) < SAME_DIRECTION && fabsf(axes[a][c]) < SAME_DIRECTION) {
            axes[a][a] = 1;
            axes[a][b] = axes[a][c] = axes[b][a] = axes[c][a] = 0;
        }
    }
    return PELT_OK;
}

static void turn_point(const float axes[3][3], const float p[3], float out[3]) {
    for (int a = 0; a < 3; a++)
        out[a] = px_dot3(axes[a], p);
}

pelt_result px_bind_subject_turn(px_arena *arena, const px_bind_subject *subject, const float axes[3][3],
                                 px_bind_subject *turned) {
    uint32_t joints = subject->rig->skeleton.joint_count;
    *turned = *subject;
    turned->positions = PX_NEW(arena, float, 3 * (size_t)subject->classes.count);
    turned->joints = PX_NEW(arena, pelt_affine, joints);
    if (!turned->positions || !turned->joints)
        return PELT_ERROR_MEMORY;
    for (size_t i = 0; i < subject->classes.count; i++)
        turn_point(axes, subject->positions + 3 * i, turned->positions + 3 * i);
    for (uint32_t j = 0; j < joints; j++)
        for (int c = 0; c < 4; c++) {
            const float *m = subject->joints[j].m;
            float out[3];
            turn_point(axes, (float[3]){m[c], m[4 + c], m[8 + c]}, out);
            for (int a = 0; a < 3; a++)
                turned->joints[j].m[4 * a + c] = out[a];
        }
    return PELT_OK;
}
