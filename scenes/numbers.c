/* Sines, rotations and random numbers that are the same everywhere. */
#include "build.h"

/* sin on [-π/4, π/4] and cos there: Taylor series to double precision. */
static double sin_core(double x) {
    double s = x * x;
    return x * (1 + s * (-1.0 / 6 +
                         s * (1.0 / 120 + s * (-1.0 / 5040 +
                                               s * (1.0 / 362880 + s * (-1.0 / 39916800 + s * (1.0 / 6227020800)))))));
}

static double cos_core(double x) {
    double s = x * x;
    return 1 + s * (-0.5 + s * (1.0 / 24 +
                                s * (-1.0 / 720 + s * (1.0 / 40320 + s * (-1.0 / 3628800 + s * (1.0 / 479001600 -
                                                                                                s / 87178291200.0))))));
}

static double sin_quarter(double x, int quarter) {
    double turns = floor(x * (2 / SCENE_PI) + 0.5);
    double rest = x - turns * 1.57079632679489655800 - turns * 6.12323399573676603587e-17;
    int part = (int)(turns - 4 * floor(turns / 4)) + quarter;
    double value = part & 1 ? cos_core(rest) : sin_core(rest);
    return part & 2 ? -value : value;
}

double scene_sin(double x) {
    return sin_quarter(x, 0);
}

double scene_cos(double x) {
    return sin_quarter(x, 1);
}

quat quat_turn(vec axis, double angle) {
    vec a = vec_scale(vec_unit(axis), scene_sin(angle / 2));
    return (quat){a.x, a.y, a.z, scene_cos(angle / 2)};
}

quat quat_mul(quat a, quat b) {
    return (quat){a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y, a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
                  a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w, a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z};
}

quat quat_conjugate(quat q) {
    return (quat){-q.x, -q.y, -q.z, q.w};
}

quat quat_unit(quat q) {
    double length = sqrt(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
    return length > 1e-30 ? (quat){q.x / length, q.y / length, q.z / length, q.w / length} : (quat){0, 0, 0, 1};
}

quat quat_between(vec a, vec b) {
    vec axis = vec_cross(a, b);
    double w = 1 + vec_dot(a, b);
    if (w < 1e-9) /* opposite: half a turn about any perpendicular axis */
        return quat_turn(fabs(a.x) < 0.7 ? vec_cross(a, (vec){1, 0, 0}) : vec_cross(a, (vec){0, 0, 1}), SCENE_PI);
    return quat_unit((quat){axis.x, axis.y, axis.z, w});
}

vec quat_apply(quat q, vec p) {
    vec u = {q.x, q.y, q.z};
    vec t = vec_scale(vec_cross(u, p), 2);
    return vec_add(vec_mad(p, q.w, t), vec_cross(u, t));
}

uint64_t scene_random_bits(scene_random *random) {
    uint64_t z = random->state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

double scene_random_range(scene_random *random, double low, double high) {
    return low + (high - low) * ((double)(scene_random_bits(random) >> 11) * 0x1p-53);
}

uint32_t scene_count(uint32_t wanted, uint32_t initial, uint32_t low, uint32_t high) {
    uint32_t count = wanted ? wanted : initial;
    return count < low ? low : count > high ? high : count;
}
