/* Volumes of parts and their correction: LBSD §III.D.
 *
 * Every part k gets a λ so that Vol(x + λ v) equals its rest volume (eq. 10). The field v of the paper moves particles
 * towards the nearest boundary (eq. 9); by default it is the gradient of the part's volume at rest. Both are rotated with
 * the particles (volume_make.c). Stretch of joints (det S) scales the target.
 *
 * The paper corrects the parts once, from the root outwards, but expanding a part also changes its neighbours. So by
 * default parts are corrected in several sweeps (nonlinear Gauss-Seidel), skipping parts whose neighbours did not move; after the
 * first sweep only the volume is recomputed and the cubic reused, which is three times faster.
 */
#include "jiggle/primary.h"

#include <math.h>

/* Relative error of a volume that is accepted. */
#define VOLUME_TOLERANCE 1e-3
/* Steps of λ below this do not trigger another correction of neighbours. */
#define MIN_STEP 5e-3

/* ---- The cubic -------------------------------------------------------------------------------------------- */

static double cubic_at(const double c[4], double x) {
    return c[0] + x * (c[1] + x * (c[2] + x * c[3]));
}

/* Extrema of the cubic, ascending; returns their number. */
static int find_turns(const double c[4], double out[2]) {
    double a = 3 * c[3], b = c[2], root = b * b - a * c[1]; /* a x² + 2 b x + c[1] */
    if (!(root > 0) && a != 0)
        return 0;
    double sum =
        b < 0 ? b - sqrt(px_fmax(root, 0)) : b + sqrt(px_fmax(root, 0)); /* signs chosen to avoid cancellation */
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

/* The root in an interval in which the cubic is monotonic and changes sign: Newton's method, with bisection when a
 * step leaves the interval. */
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

/* Finds the first root between 0 and `end`. Returns false if there is none; *at then minimises the absolute value. */
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

double px_cubic_nearest(const double c[4], double low, double high) {
    if (c[0] == 0 || !isfinite(c[0]) || !isfinite(c[1]) || !isfinite(c[2]) || !isfinite(c[3]))
        return 0;
    double turns[2], up, down;
    int count = find_turns(c, turns);
    bool zero_up = search(c, turns, count, high, &up), zero_down = search(c, turns, count, low, &down);
    if (zero_up && zero_down)
        return up <= -down ? up : down;
    if (zero_up != zero_down)
        return zero_up ? up : down;
    return fabs(cubic_at(c, up)) <= fabs(cubic_at(c, down)) ? up : down;
}

/* ---- Parts ------------------------------------------------------------------------------------------------ */

/* Volume of a part at positions + λ · field, as a polynomial in λ. field NULL: only out[0]. */
static void part_volume(const px_primary *p, const px_volume_part *part, const float *positions, const float *field,
                        double out[4]) {
    float sums[4][PX_JIGGLE_BLOCK] = {{0}};
    p->kernels->volume(p->blocks + part->first_block, part->block_count, p->volume->inset, positions, field, sums);
    for (int e = 0; e < (field ? 4 : 1); e++) {
        out[e] = 0;
        for (uint32_t lane = 0; lane < PX_JIGGLE_BLOCK; lane++)
            out[e] += (double)sums[e][lane];
    }
}

void px_primary_volumes(const px_primary *primary, const float *positions, double *volumes) {
    for (uint32_t k = 0; k < primary->part_count; k++)
        part_volume(primary, &primary->parts[k], positions, NULL, &volumes[k]);
}

/* Rotates the displacement of a particle; stores it twice, so that no result is read back from memory. */
static void turn_way(const float q[4], const float v[3], float *restrict out, float *restrict copy) {
    float x = q[1] * v[2] - q[2] * v[1] + q[3] * v[0], y = q[2] * v[0] - q[0] * v[2] + q[3] * v[1];
    float z = q[0] * v[1] - q[1] * v[0] + q[3] * v[2];
    out[0] = copy[0] = v[0] + 2 * (q[1] * z - q[2] * y);
    out[1] = copy[1] = v[1] + 2 * (q[2] * x - q[0] * z);
    out[2] = copy[2] = v[2] + 2 * (q[0] * y - q[1] * x);
}

/* The polynomial of a part about the current positions. The field is 0 outside the part's swellings. */
static void find_cubic(px_primary *p, const px_volume_part *part, double out[4]) {
    const px_swelling *swellings = p->swellings + part->first_swelling;
    float(*turned)[3] = p->turned + part->first_swelling;
    for (uint32_t e = 0; e < part->swelling_count; e++) {
        size_t at = 4 * (size_t)swellings[e].particle;
        turn_way(p->pass.turns + at, swellings[e].way, turned[e], p->field + at);
    }
    part_volume(p, part, p->pass.positions, p->field, out);
    for (uint32_t e = 0; e < part->swelling_count; e++)
        memset(p->field + 4 * (size_t)swellings[e].particle, 0, 4 * sizeof *p->field);
}

/* Re-expands the polynomial about λ = at, except for c[0], which is recomputed. */
static void shift_cubic(double c[4], double at) {
    c[1] += at * (2 * c[2] + at * 3 * c[3]);
    c[2] += at * 3 * c[3];
}

static void add_field(px_primary *p, const px_volume_part *part, float lambda) {
    const px_swelling *swellings = p->swellings + part->first_swelling;
    float(*turned)[3] = p->turned + part->first_swelling;
    for (uint32_t e = 0; e < part->swelling_count; e++)
        for (size_t c = 0, at = 4 * (size_t)swellings[e].particle; c < 3; c++)
            p->pass.positions[at + c] += lambda * turned[e][c];
}

static void wake_neighbours(px_primary *p, const px_volume_part *part) {
    for (uint32_t e = 0; e < part->neighbour_count; e++)
        p->states[p->neighbours[part->first_neighbour + e]].waiting = true;
}

/* Corrects one part. */
static void swell_part(px_primary *p, const px_volume_part *part, double target, px_swell_state *state) {
    double *cubic = state->cubic;
    state->waiting = false;
    if (!state->known && state->likely)
        find_cubic(p, part, cubic);
    else
        part_volume(p, part, p->pass.positions, NULL, cubic);
    bool off = fabs(cubic[0] - target) > VOLUME_TOLERANCE * fabs(target);
    if (off && !state->known && !state->likely)
        find_cubic(p, part, cubic);
    if (!off)
        return;
    state->known = state->needed = true;
    cubic[0] -= target;
    double step = px_cubic_nearest(cubic, -p->volume->limit - state->lambda, p->volume->limit - state->lambda);
    add_field(p, part, (float)step);
    shift_cubic(cubic, step);
    state->lambda += step;
    if (fabs(step) > MIN_STEP)
        wake_neighbours(p, part);
}

/* Target volumes: rest volumes scaled by the stretch of the joints, blended with the current volumes by `amount`. */
static void find_targets(px_primary *p, float amount, double *targets) {
    if (amount < 1)
        px_primary_volumes(p, p->pass.positions, p->volumes);
    for (uint32_t k = 0; k < p->part_count; k++)
        targets[k] = p->parts[k].rest;
    for (size_t i = 0; i < p->particle_count; i++)
        targets[p->particle_parts[i]] += (double)p->particle_volumes[i] * (double)p->pass.growths[i];
    for (uint32_t k = 0; k < p->part_count && amount < 1; k++)
        targets[k] = p->volumes[k] + (double)amount * (targets[k] - p->volumes[k]);
}

void px_primary_swell(px_primary *p, float amount) {
    find_targets(p, amount, p->targets);
    for (uint32_t k = 0; k < p->part_count; k++)
        p->states[k] = (px_swell_state){.waiting = p->parts[k].swelling_count > 0, .likely = p->states[k].needed};
    for (int sweep = 0; sweep < p->volume->sweeps; sweep++)
        for (uint32_t k = 0; k < p->part_count; k++)
            if (p->states[k].waiting)
                swell_part(p, &p->parts[k], p->targets[k], &p->states[k]);
}
