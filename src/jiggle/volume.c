/* Volumes of parts, and swelling that keeps them: LBSD §III.D.
 *
 * From the root outwards every part k gets a λ so that Vol(x + λ v) is what it was at rest (eq. 10), with the field
 * v_p = s_p R_p u_p (eq. 9). The paper's u points to the nearest boundary and s falls off from there. Here u = x⁰ − c is
 * the way from the middle of the flesh (centres.c), not of unit length, and s how much the part blends a particle
 * (volume_make.c): as in the paper what is outside moves more; but a section is scaled as a whole, so that the mesh
 * inside gains as much as the cells do, and borders of parts do not tear.
 *
 * Joints that stretch (det S) change what is wanted by as much.
 */
#include "jiggle/primary.h"

#include <math.h>

/* Sections become at most this much wider or narrower where blending is strongest. */
#define MOST_SWELLING 0.5

/* ---- The cubic -------------------------------------------------------------------------------------------- */

static double cubic_at(const double c[4], double x) {
    return c[0] + x * (c[1] + x * (c[2] + x * c[3]));
}

/* Where the slope is 0, ascending; gives their number. */
static int find_turns(const double c[4], double out[2]) {
    double a = 3 * c[3], b = c[2], root = b * b - a * c[1]; /* a x² + 2 b x + c[1] */
    if (!(root > 0) && a != 0)
        return 0;
    double sum = b < 0 ? b - sqrt(fmax(root, 0)) : b + sqrt(fmax(root, 0)); /* no cancellation */
    int count = 0;
    if (sum != 0)
        out[count++] = -c[1] / sum;
    if (a != 0)
        out[count++] = -sum / a;
    if (count == 2 && out[0] > out[1]) {
        double swap = out[0];
        out[0] = out[1];
        out[1] = swap;
    }
    return count;
}

/* The zero in a stretch between whose ends the sign changes, and the slope does not: Newton's method, halving where it
 * would leave the stretch. */
static double find_zero(const double c[4], double from, double to) {
    bool below = cubic_at(c, from) < 0;
    double x = (from + to) / 2;
    for (int round = 0; round < 60; round++) {
        double value = cubic_at(c, x), next = x - value / (c[1] + x * (2 * c[2] + x * 3 * c[3]));
        if ((value < 0) == below)
            from = x;
        else
            to = x;
        if (!((next - from) * (next - to) < 0))
            next = (from + to) / 2;
        if (fabs(next - x) < 1e-12)
            return next;
        x = next;
    }
    return x;
}

/* The first zero on the way from 0 to `end`; without one false, and the place on it that is nearest to one. */
static bool search(const double c[4], const double turns[2], int turn_count, double end, double *at) {
    double stops[3], from = 0;
    int count = 0;
    *at = 0;
    for (int e = 0; e < turn_count; e++) {
        double turn = turns[end < 0 ? turn_count - 1 - e : e];
        if (turn * end > 0 && fabs(turn) < fabs(end))
            stops[count++] = turn;
    }
    stops[count++] = end;
    for (int e = 0; e < count; e++) {
        if ((cubic_at(c, from) < 0) != (cubic_at(c, stops[e]) < 0)) {
            *at = find_zero(c, from, stops[e]);
            return true;
        }
        from = stops[e];
        if (fabs(cubic_at(c, from)) < fabs(cubic_at(c, *at)))
            *at = from;
    }
    return false;
}

double px_cubic_nearest(const double c[4], double most) {
    if (c[0] == 0 || !isfinite(c[0]) || !isfinite(c[1]) || !isfinite(c[2]) || !isfinite(c[3]))
        return 0;
    double turns[2], up, down;
    int count = find_turns(c, turns);
    bool zero_up = search(c, turns, count, most, &up), zero_down = search(c, turns, count, -most, &down);
    if (zero_up && zero_down)
        return up <= -down ? up : down;
    if (zero_up != zero_down)
        return zero_up ? up : down;
    return fabs(cubic_at(c, up)) <= fabs(cubic_at(c, down)) ? up : down;
}

/* ---- Parts ------------------------------------------------------------------------------------------------ */

/* The volume of a part when the field is added λ times, as a polynomial in λ. */
static void part_volume(const px_primary *p, const px_volume_part *part, const float *positions, double out[4]) {
    float sums[4][PX_JIGGLE_BLOCK] = {{0}};
    p->kernels->volume(p->blocks + part->first_block, part->block_count, positions, p->field, sums);
    for (int e = 0; e < 4; e++) {
        out[e] = 0;
        for (uint32_t lane = 0; lane < PX_JIGGLE_BLOCK; lane++)
            out[e] += (double)sums[e][lane];
    }
}

void px_primary_volumes(const px_primary *primary, const float *positions, double *volumes) {
    for (uint32_t k = 0; k < primary->part_count; k++) {
        double polynomial[4];
        part_volume(primary, &primary->parts[k], positions, polynomial);
        volumes[k] = polynomial[0];
    }
}

static void swell_part(px_primary *p, const px_volume_part *part, double target, float amount) {
    if (part->swelling_count == 0)
        return;
    const px_swelling *swellings = p->swellings + part->first_swelling;
    float *positions = p->pass.positions, *field = p->field;
    for (uint32_t e = 0; e < part->swelling_count; e++)
        for (size_t c = 0, at = 4 * (size_t)swellings[e].particle; c < 4; c++)
            field[at + c] = swellings[e].share * p->pass.fields[at + c];
    double volume[4];
    part_volume(p, part, positions, volume);
    volume[0] = amount * (volume[0] - target);
    float lambda = (float)px_cubic_nearest(volume, MOST_SWELLING);
    for (uint32_t e = 0; e < part->swelling_count; e++)
        for (size_t c = 0, at = 4 * (size_t)swellings[e].particle; c < 4; c++) {
            positions[at + c] += c < 3 ? lambda * field[at + c] : 0;
            field[at + c] = 0;
        }
}

void px_primary_swell(px_primary *p, float amount) {
    for (uint32_t k = 0; k < p->part_count; k++)
        p->volumes[k] = p->parts[k].rest;
    for (size_t i = 0; i < p->particle_count; i++)
        p->volumes[p->particle_parts[i]] += (double)p->particle_volumes[i] * (double)p->pass.fields[4 * i + 3];
    for (uint32_t k = 0; k < p->part_count; k++)
        swell_part(p, &p->parts[k], p->volumes[k], amount);
}
