/* Enclosing spheres: of points, of two spheres, and of the vertices of a node in a pose (proof in bounds.c). */
#include "collide/collide.h"

#include <float.h>
#include <math.h>

#define UNIT 0x1p-24
/* Squares of lengths below 1e-19 underflow in floats: `grain` times this exceeds the sum of such lengths. */
#define SHORT 1e-11f

static double farthest(const float (*points)[3], size_t count, const double center[3], size_t *which) {
    double most = -1;
    for (size_t p = 0; p < count; p++) {
        double square = 0;
        for (int c = 0; c < 3; c++) {
            double off = (double)points[p][c] - center[c];
            square += off * off;
        }
        if (square > most) {
            most = square;
            *which = p;
        }
    }
    return sqrt(most);
}

static void middle_of_box(const float (*points)[3], size_t count, double out[3]) {
    for (int c = 0; c < 3; c++) {
        float low = points[0][c], high = low;
        for (size_t p = 1; p < count; p++) {
            low = points[p][c] < low ? points[p][c] : low;
            high = points[p][c] > high ? points[p][c] : high;
        }
        out[c] = ((double)low + (double)high) / 2;
    }
}

/* Starts at the centre of the bounding box and takes decreasing steps towards the farthest point (M. Bădoiu, K. L.
 * Clarkson, "Smaller core-sets for balls", 2003). Keeps the best centre. */
px_ball px_ball_of_points(const float (*points)[3], size_t count, int steps) {
    double center[3], best = INFINITY;
    px_ball ball = {.radius = 0};
    middle_of_box(points, count, center);
    for (int step = 0; step <= steps; step++) {
        size_t far = 0;
        double rounded[3];
        for (int c = 0; c < 3; c++)
            rounded[c] = (double)(float)center[c];
        double radius = farthest(points, count, rounded, &far);
        if (radius < best) {
            best = radius;
            for (int c = 0; c < 3; c++)
                ball.center[c] = (float)rounded[c];
        }
        for (int c = 0; c < 3; c++)
            center[c] += ((double)points[far][c] - center[c]) / (step + 4);
    }
    ball.radius = (float)(best * (1 + 4 * UNIT)) + FLT_MIN;
    return ball;
}

/* An unbounded sphere: every intersection test succeeds. */
static px_ball everywhere(void) {
    return (px_ball){{0, 0, 0}, INFINITY};
}

px_ball px_ball_around(const px_ball *a, const px_ball *b) {
    if (!(a->radius < INFINITY && b->radius < INFINITY))
        return everywhere();
    double off[3], distance = 0, size = 0, ra = (double)a->radius, rb = (double)b->radius;
    for (int c = 0; c < 3; c++) {
        off[c] = (double)b->center[c] - (double)a->center[c];
        distance += off[c] * off[c];
        size += fabs((double)a->center[c]) + fabs((double)b->center[c]);
    }
    distance = sqrt(distance);
    double radius =
        px_fmax(px_fmax(ra, rb), (ra + rb + distance) / 2); /* the larger sphere alone if it contains the other */
    double share = distance > 0 ? px_fmin((radius - ra) / distance, 1) : 0;
    px_ball out;
    for (int c = 0; c < 3; c++)
        out.center[c] = (float)((double)a->center[c] + share * off[c]);
    out.radius = (float)((radius + 2 * UNIT * size) * (1 + 4 * UNIT));
    return out.radius < INFINITY ? out : everywhere();
}

static float larger(float a, float b) {
    return a > b ? a : b;
}

static float length_of(px_quad v) {
    px_quad square = v * v;
    return sqrtf(square[0] + square[1] + square[2]);
}

static px_quad image(const px_bone *bone, const float c[3]) {
    return px_quad_load(bone->columns[0]) * c[0] + px_quad_load(bone->columns[1]) * c[1] +
           px_quad_load(bone->columns[2]) * c[2] + px_quad_load(bone->columns[3]);
}

px_ball px_deformed_ball(const pelt_body *body, const px_node *node) {
    px_quad morphed = px_quad_load(node->center); /* center and radius */
    float size = node->size;
    const px_mode *modes = body->tree->modes + node->mode;
    for (uint32_t m = 0; body->morphed && m < node->mode_count; m++) {
        float weight = body->weights[modes[m].morph], most = fabsf(weight);
        morphed += (px_quad){weight, weight, weight, most} * px_quad_load(modes[m].mean);
        size += most * modes[m].size;
    }
    const float c[3] = {morphed[0], morphed[1], morphed[2]}, r = morphed[3];
    const px_bone_share *shares = body->tree->shares + node->share;
    px_quad images[PX_MOST_SHARES], center = {0, 0, 0, 0};
    float stretch = 0, reach = 0;
    for (uint32_t n = 0; n < node->share_count; n++) {
        const px_bone *bone = &body->bones[shares[n].bone];
        images[n] = image(bone, c);
        center += shares[n].mean * images[n];
        stretch = larger(bone->stretch, stretch);
        reach = larger(bone->stretch * size + bone->shift, reach);
    }
    float sum = 0, most = 0;
    for (uint32_t n = 0; n < node->share_count; n++) {
        float distance = length_of(images[n] - center);
        sum += shares[n].spread * distance;
        most = larger(distance, most);
    }
    most *= node->total;
    float radius = node->total * stretch * r + (sum < most ? sum : most) + node->uneven * length_of(center) +
                   node->grain * (node->total * reach + SHORT);
    px_ball out = {{center[0], center[1], center[2]}, radius};
    return radius < INFINITY ? out : everywhere();
}
