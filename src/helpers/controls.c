/* Matrices of helper bones.
 *
 * The motion D from bone a to bone b, D = a⁻¹ b, is a screw motion exp(ξ): ξ x = ω × x + u, ω = θ n, |n| = 1. Dual quaternion
 * skinning moves a vertex along exp(s ξ), s from 0 to 1. Its points go round the axis on arcs of the angle θ. A cubic Bézier
 * curve whose inner control points lie on the tangents of an arc's ends, κ = 4/3 tan(θ/4) radii away, is off by 0.03 % of the
 * radius for a quarter turn, by 1.8 % for half a turn; linear blending is off by 29 and 100 %. The four points are affine images
 * of the vertex, so four bones with weights that are Bernstein polynomials follow the curve.
 */
#include "core/matrix3.h"
#include "core/rotation.h"
#include "helpers/helpers.h"
#include "run/skin.h"

/* The sine of half the angle below which a motion is a translation. */
#define SMALLEST_SINE 1e-9

/* The product p q. */
static void quat_mul(const double p[4], const double q[4], double out[4]) {
    px_rotation r = px_rotation_mul((px_rotation){{p[0], p[1], p[2], p[3]}}, (px_rotation){{q[0], q[1], q[2], q[3]}});
    memcpy(out, r.q, sizeof r.q);
}

/* Unit dual quaternions are compared as the kernels compare them, so that half turns go the same way. */
static bool is_opposite(const pelt_dual_quaternion *a, const pelt_dual_quaternion *b) {
    return b->q[0] * a->q[0] + b->q[1] * a->q[1] + b->q[2] * a->q[2] + b->q[3] * a->q[3] < 0;
}

/* D = a⁻¹ b as rotation q, with a real part that is not negative, and translation t. */
static void relative_motion(const pelt_dual_quaternion *a, const pelt_dual_quaternion *b, double q[4], double t[3]) {
    double sign = is_opposite(a, b) ? -1 : 1, inverse[4], real[4], dual[4], ta[4], tb[4], length = 0;
    const pelt_dual_quaternion *both[2] = {a, b};
    double *shifts[2] = {ta, tb};
    for (int s = 0; s < 2; s++) { /* t = 2 · dual · conjugate real */
        for (int c = 0; c < 4; c++) {
            real[c] = (c < 3 ? -1 : 1) * (double)both[s]->q[c];
            dual[c] = 2 * (double)both[s]->q[4 + c];
        }
        quat_mul(dual, real, shifts[s]);
    }
    for (int c = 0; c < 4; c++) {
        inverse[c] = (c < 3 ? -1 : 1) * (double)a->q[c];
        real[c] = sign * (double)b->q[c];
    }
    quat_mul(inverse, real, q);
    for (int c = 0; c < 4; c++)
        length += q[c] * q[c];
    for (int c = 0; c < 4; c++)
        q[c] /= sqrt(length);
    double between[3] = {tb[0] - ta[0], tb[1] - ta[1], tb[2] - ta[2]};
    px_rotation_apply((px_rotation){{inverse[0], inverse[1], inverse[2], inverse[3]}}, between, t);
}

double px_helper_angle(const pelt_dual_quaternion *a, const pelt_dual_quaternion *b) {
    double q[4], t[3];
    relative_motion(a, b, q, t);
    return 2 * px_atan2(px_length3(q), fabs(q[3]));
}

/* I ± (κ N + a third of the shift along the axis); `across` is κ N 0. */
static void tangent_matrix(const double n[3], double kappa, const double across[3], const double along[3], double sign,
                           double out[12]) {
    const double cross[9] = {0, -n[2], n[1], n[2], 0, -n[0], -n[1], n[0], 0};
    for (int r = 0; r < 3; r++) {
        for (int c = 0; c < 3; c++)
            out[4 * r + c] = (r == c) + sign * kappa * cross[3 * r + c];
        out[4 * r + 3] = sign * (across[r] + along[r] / 3);
    }
}

/* Both control matrices of the motion (q, t). */
static void affine_controls(const double q[4], const double t[3], double first[12], double second[12]) {
    double n[3] = {q[0], q[1], q[2]}, sine = px_normalize3(n), across[3], along[3], turned[3], kappa = 0;
    double angle = 2 * px_atan2(sine, q[3]), length = 0;
    for (int c = 0; c < 3 && sine > SMALLEST_SINE; c++)
        length += n[c] * t[c];
    for (int c = 0; c < 3; c++) {
        along[c] = sine > SMALLEST_SINE ? length * n[c] : t[c];
        across[c] = t[c] - along[c];
    }
    if (sine > SMALLEST_SINE) {
        /* u = θ/2 (cot(θ/2) t − n × t) across the axis */
        kappa = 4.0 / 3 * px_tan(angle / 4);
        px_cross3d(n, across, turned);
        for (int c = 0; c < 3; c++)
            across[c] = kappa * 0.5 * (across[c] * q[3] / sine - turned[c]);
    }
    tangent_matrix(n, kappa, across, along, 1, first);
    tangent_matrix(n, kappa, across, along, -1, second);
}

/* The blend of the identity and the motion (q, t) at a third of the way, as dual quaternion skinning blends. */
static void rigid_control(const double q[4], const double t[3], double out[12]) {
    const double half[4] = {t[0] / 2, t[1] / 2, t[2] / 2, 0};
    double dual[4];
    pelt_dual_quaternion blend;
    quat_mul(half, q, dual);
    for (int c = 0; c < 4; c++) {
        blend.q[c] = (float)(q[c] / 3 + (c == 3 ? 2.0 / 3 : 0));
        blend.q[4 + c] = (float)(dual[c] / 3);
    }
    pelt_affine m = px_affine_from_dual(&blend);
    for (int e = 0; e < 12; e++)
        out[e] = (double)m.m[e];
}

/* m := S_own⁻¹ · m · (2/3 S_own + 1/3 S_other): kernels blend stretches linearly and apply them first. `rigid`: the linear part
 * stays, as for equal uniform scales. */
static void add_stretch(const pelt_affine *own, const pelt_affine *other, bool rigid, double m[12]) {
    double s[9], inverse[9], mixed[9], product[9], out[12];
    for (int e = 0; e < 9; e++) {
        int place = 4 * (e / 3) + e % 3;
        s[e] = (double)own->m[place];
        mixed[e] = (2 * s[e] + (double)other->m[place]) / 3;
    }
    if (!px_invert3(s, 1e-6, inverse))
        return;
    for (int e = 0; e < 9; e++) {
        product[e] = 0;
        for (int k = 0; k < 3; k++)
            product[e] += m[4 * (e / 3) + k] * mixed[3 * k + e % 3];
    }
    for (int e = 0; e < 12; e++) {
        out[e] = 0;
        for (int k = 0; k < 3; k++)
            out[e] += inverse[3 * (e / 4) + k] * (e % 4 < 3 ? product[3 * k + e % 4] : m[4 * k + 3]);
        if (rigid && e % 4 < 3)
            out[e] = m[e];
    }
    memcpy(m, out, sizeof out);
}

void px_helper_controls(const px_helper_bones *bones, uint32_t a, uint32_t b, uint32_t transforms, double first[12],
                        double second[12]) {
    double q[4], t[3];
    relative_motion(&bones->duals[a], &bones->duals[b], q, t);
    if (transforms == PELT_HELPERS_AFFINE) {
        affine_controls(q, t, first, second);
    } else {
        rigid_control(q, t, first);
        px_rotation back = px_rotation_inverse((px_rotation){{q[0], q[1], q[2], q[3]}});
        double from[3];
        px_rotation_apply(back, t, from);
        rigid_control(back.q, (const double[3]){-from[0], -from[1], -from[2]}, second);
    }
    if (bones->stretched) {
        bool rigid = transforms == PELT_HELPERS_RIGID;
        add_stretch(&bones->stretches[a], &bones->stretches[b], rigid, first);
        add_stretch(&bones->stretches[b], &bones->stretches[a], rigid, second);
    }
}
