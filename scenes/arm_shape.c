/* The ground-truth shape of the arm: a deformation of space.
 *
 *   the axis     turns through a zone about every joint instead of at a point, and is as long as its chord;
 *   the section  of every wedge about the axis keeps its volume: inside of a bend the tissue swells, outside it thins;
 *   muscles      swell in the middle and thin at their ends by as much, as the joint bends that they pull at;
 *   the skin     slides along the bone, towards the joint outside of a bend and away from it inside.
 * Outside of zones and muscles the shape is that of linear skinning, so only skin deformation is learned.
 */
#include "arm.h"

#define ZONE      0.5 /* half the length of the bending zone of a joint */
#define SLIDE     0.6 /* half the length of the zone in which skin slides */
#define INTERVALS 16  /* Simpson intervals of an integral along a zone; even */

const double arm_heads[ARM_BENDS + 1] = {0, 0.6, 1.6, 2.6};

/* ---- The axis --------------------------------------------------------------------------------------------- */

/* Smooth step from 0 to 1 over a zone (u from −1 to 1), with zero slope and curvature at its ends; and its slope. */
static double ramp(double u) {
    double t = scene_clamp((u + 1) / 2, 0, 1);
    return t * t * t * (10 + t * (6 * t - 15));
}
static double ramp_slope(double u) {
    double t = scene_clamp((u + 1) / 2, 0, 1);
    return 15 * t * t * (1 - t) * (1 - t);
}
/* Bump: 1 at 0, 0 from ±1 on. */
static double bump(double u) {
    double t = 1 - scene_clamp(u * u, 0, 1);
    return t * t;
}

/* ∫ (whole + squeezed · bump) · direction of the axis, from the start of the zone to u, by Simpson's rule. */
static vec axis_integral(const arm_zone *z, double u, double whole, double squeezed) {
    vec sum = {0, 0, 0};
    for (int k = 0; k <= INTERVALS; k++) {
        double v = -1 + (u + 1) * k / INTERVALS, weight = k == 0 || k == INTERVALS ? 1 : k % 2 ? 4 : 2;
        double angle = z->angle * ramp(v), speed = weight * (whole + squeezed * bump(v));
        sum = vec_mad(sum, speed * scene_cos(angle), ARM_AXIS);
        sum = vec_mad(sum, speed * scene_sin(angle), z->inside);
    }
    return vec_scale(sum, ZONE * (u + 1) / (3 * INTERVALS));
}

static arm_zone make_zone(const arm_bend *b) {
    arm_zone z = {.angle = sqrt(b->x * b->x + b->z * b->z), .axis = (vec){1, 0, 0}, .twist = b->twist};
    if (z.angle > 0)
        z.axis = vec_scale((vec){b->x, 0, b->z}, 1 / z.angle);
    z.inside = vec_cross(z.axis, ARM_AXIS);
    vec bisector = vec_add(vec_scale(ARM_AXIS, scene_cos(z.angle / 2)), vec_scale(z.inside, scene_sin(z.angle / 2)));
    double whole = vec_dot(axis_integral(&z, 1, 1, 0), bisector), part = vec_dot(axis_integral(&z, 1, 0, 1), bisector);
    z.squeeze = (whole - 2 * ZONE * scene_cos(z.angle / 2)) / part;
    return z;
}

quat arm_turn(const arm_bend *b) {
    double angle = sqrt(b->x * b->x + b->z * b->z);
    return quat_mul(quat_turn(angle > 0 ? (vec){b->x, 0, b->z} : (vec){1, 0, 0}, angle), quat_turn(ARM_AXIS, b->twist));
}

arm_pose arm_pose_make(const arm_bend *bends) {
    arm_pose p = {.turns = {{0, 0, 0, 1}}};
    for (uint32_t j = 0; j < ARM_BENDS; j++) {
        p.bends[j] = bends[j];
        p.zones[j] = make_zone(&bends[j]);
        p.turns[j + 1] = quat_mul(p.turns[j], arm_turn(&bends[j]));
        p.origins[j + 1] =
            vec_add(p.origins[j], quat_apply(p.turns[j], vec_scale(ARM_AXIS, arm_heads[j + 1] - arm_heads[j])));
    }
    return p;
}

/* ---- Muscles and skin ------------------------------------------------------------------------------------- */

double arm_radius(double s) {
    static const double at[] = {0, 0.6, 1.6, 2.6, ARM_LENGTH}, radii[] = {0.15, 0.145, 0.115, 0.09, 0.1};
    uint32_t k = 0;
    while (k + 2 < SCENE_COUNT(at) && s > at[k + 1])
        k++;
    return radii[k] + (radii[k + 1] - radii[k]) * scene_smooth((s - at[k]) / (at[k + 1] - at[k]));
}

/* A muscle bulges as its joint bends about `axis`, and relaxes slightly when it bends back. */
typedef struct muscle {
    uint32_t joint;      /* of the bends */
    vec axis;            /* across the bone */
    double middle, half; /* along the arm */
    vec side;            /* of the arm that it lies on */
    double strength;
} muscle;

static const muscle muscles[] = {
    {0, {1, 0, 0}, 0.5, 0.45, {0, 0, 1}, 0.25},   /* of the shoulder */
    {1, {1, 0, 0}, 1.12, 0.46, {0, 0, 1}, 0.5},   /* biceps */
    {1, {-1, 0, 0}, 1.1, 0.44, {0, 0, -1}, 0.2},  /* triceps, relaxed */
    {1, {1, 0, 0}, 2.0, 0.4, {0.6, 0, 0.8}, 0.3}, /* of the forearm */
    {2, {1, 0, 0}, 2.15, 0.42, {0, 0, 1}, 0.3},   /* of the hand */
    {2, {-1, 0, 0}, 2.15, 0.42, {0, 0, -1}, 0.3},
};

/* Increase of the squared radius by muscles at (s, side). The integral along a muscle is 0. */
static double swelling(const arm_pose *p, double s, vec side) {
    double sum = 0;
    for (uint32_t m = 0; m < SCENE_COUNT(muscles); m++) {
        const muscle *k = &muscles[m];
        const arm_bend *b = &p->bends[k->joint];
        double pull = b->x * k->axis.x + b->z * k->axis.z, soft = 0.4;
        double tension = (pull + sqrt(pull * pull + soft * soft) - soft) / 2;
        double u = (s - k->middle) / k->half, facing = (1 + vec_dot(side, k->side)) / 2;
        sum += k->strength * tension / (1 + 0.5 * tension) * bump(u) * (1 - 7 * u * u) * facing * facing;
    }
    return sum;
}

/* Position along the arm of the skin at (s, side). */
static double slid(const arm_pose *p, double s, vec side) {
    double sum = s;
    for (uint32_t j = 0; j < ARM_BENDS; j++) {
        double u = (s - arm_heads[j + 1]) / SLIDE, inward = vec_dot(side, p->zones[j].inside);
        sum += 0.12 * p->zones[j].angle * inward * u * bump(u);
    }
    return sum;
}

/* How much wider a wedge of unit radius must be when the space at radius r is 1 − g·r: ρ²/2 − gρ³/3 = 1/2. Beyond a
 * g of about a half there is no solution and the tissue would fold: g is limited, which compresses the tissue. */
static double swell(double g) {
    double limit = g * g / 0.25, rho = 1;
    g /= sqrt(sqrt(1 + limit * limit));
    for (int round = 0; round < 8; round++)
        rho -= (rho * rho / 2 - g * rho * rho * rho / 3 - 0.5) / (rho - g * rho * rho);
    return rho;
}

/* ---- Ground truth ----------------------------------------------------------------------------------------- */

/* Index of the joint whose zone contains s; ARM_BENDS: none. */
static uint32_t zone_of(double s) {
    uint32_t j = 0;
    while (j < ARM_BENDS && fabs(s - arm_heads[j + 1]) >= ZONE)
        j++;
    return j;
}

static vec place_rigid(const arm_pose *p, double s, vec across) {
    uint32_t j = ARM_BENDS;
    while (j > 0 && s < arm_heads[j])
        j--;
    return vec_add(p->origins[j], quat_apply(p->turns[j], vec_mad(across, s - arm_heads[j], ARM_AXIS)));
}

static vec place_bent(const arm_pose *p, uint32_t j, double s, vec side, double radius) {
    const arm_zone *z = &p->zones[j];
    double u = (s - arm_heads[j + 1]) / ZONE, speed = 1 - z->squeeze * bump(u);
    side = quat_apply(quat_turn(ARM_AXIS, z->twist * ramp(u)), side);
    double turning = z->angle * ramp_slope(u) / ZONE, inward = vec_dot(side, z->inside);
    radius /= sqrt(speed);
    radius *= swell(turning * inward * radius / speed);
    vec on_axis = vec_mad(axis_integral(z, u, 1, -z->squeeze), -ZONE, ARM_AXIS);
    vec across = quat_apply(quat_turn(z->axis, z->angle * ramp(u)), vec_scale(side, radius));
    return vec_add(p->origins[j + 1], quat_apply(p->turns[j], vec_add(on_axis, across)));
}

vec arm_place(const arm_pose *p, vec rest) {
    double radius = sqrt(rest.x * rest.x + rest.z * rest.z);
    vec side = radius > 1e-12 ? (vec){rest.x / radius, 0, rest.z / radius} : (vec){1, 0, 0};
    double s = slid(p, rest.y, side);
    radius *= arm_radius(s) / arm_radius(rest.y) * sqrt(1 + swelling(p, s, side));
    uint32_t j = zone_of(s);
    return j == ARM_BENDS ? place_rigid(p, s, vec_scale(side, radius)) : place_bent(p, j, s, side, radius);
}
