/* Unit and axis conventions: candidate rotations and scales between files of different programs, and detection of the
 * one that relates two files of the same points.
 *
 * m are the points of one file, f those of the other, both relative to their centroids; s is a scale, R a rotation:
 *   Σ|m − s·R·f|² = Σ|m|² + s²·Σ|f|² − 2·s·Σ R_ij·C_ij,  C = Σ m·fᵀ
 * C and the sums do not depend on s and R, so all candidates are evaluated without further passes over the points. */
#include "core/similarity.h"

#include <math.h>
#include <pelt/measure.h>
#include <stdio.h>

#define UNIT_TOLERANCE 0.02 /* relative tolerance for a scale to count as a unit factor */
#define SWELL_MAX      1.5  /* other scales up to this are a change of shape, not of units */
#define GAIN_MIN       3.0  /* other axes or units are reported only if they reduce the distance by this factor */

/* RMS distances between two sets of points, relative to the RMS distance of the points from their centroid. */
#define SAME_RMS_MAX    0.05 /* up to this distance, axes and units agree as they are */
#define TURNED_RMS_MAX  0.4  /* with other axes or units: from this distance on, the shapes differ */
#define CERTAIN_RMS_MAX 0.1  /* with other axes or units, not centred: up to this, the result is certain */

/* ---- Candidates -------------------------------------------------------------------------------------------- */

double px_unit_scale(uint32_t index) {
    static const double factors[PX_UNIT_COUNT / 2] = {1, 10, 100, 1000, 2.54, 25.4, 254, 12, 30.48, 304.8, 100 / 2.54};
    return index % 2 ? 1 / factors[index / 2] : factors[index / 2];
}

/* Signed permutation matrix `number` (0 to 47); false for reflections. */
static bool make_turn(uint32_t number, double turn[9]) {
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {2, 1, 0}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}};
    static const int parities[6] = {1, -1, -1, -1, 1, 1};
    int sign = parities[number / 8];
    memset(turn, 0, 9 * sizeof *turn);
    for (int c = 0; c < 3; c++) {
        int negative = (number >> c) & 1;
        turn[3 * c + orders[number / 8][c]] = negative ? -1 : 1;
        sign *= negative ? -1 : 1;
    }
    return sign > 0;
}

static int turn_rank(const double turn[9]) {
    int trace = (int)(turn[0] + turn[4] + turn[8]);
    bool half = turn[0] * turn[0] + turn[4] * turn[4] + turn[8] * turn[8] > 2;
    return trace == 3 ? 0 : trace == 1 ? 1 : trace == -1 && half ? 2 : 3;
}

void px_quarter_turns(double turns[PX_TURN_COUNT][9]) {
    uint32_t count = 0;
    for (int rank = 0; rank < 4; rank++)
        for (uint32_t number = 0; number < 48; number++) {
            double turn[9];
            if (make_turn(number, turn) && turn_rank(turn) == rank)
                memcpy(turns[count++], turn, sizeof turn);
        }
}

void px_up_turn(uint32_t up, double turn[9]) {
    static const double turns[4][9] = {
        {1, 0, 0, 0, 1, 0, 0, 0, 1},  /* as it is */
        {1, 0, 0, 0, 1, 0, 0, 0, 1},  /* y */
        {1, 0, 0, 0, 0, 1, 0, -1, 0}, /* z: (x, z, −y) */
        {0, -1, 0, 1, 0, 0, 0, 0, 1}, /* x: (−y, x, z) */
    };
    memcpy(turn, turns[up < 4 ? up : 0], sizeof turns[0]);
}

void px_axes_turn(uint32_t up, uint32_t other_up, double turn[9]) {
    double own[9], other[9];
    px_up_turn(up, own);
    px_up_turn(other_up, other);
    for (int e = 0; e < 9; e++) {
        turn[e] = 0; /* ownᵀ · other */
        for (int c = 0; c < 3; c++)
            turn[e] += own[3 * c + e / 3] * other[3 * c + e % 3];
    }
}

/* ---- Two files of the same points --------------------------------------------------------------------------- */

typedef struct moments {
    size_t count;
    double own[3], other[3];   /* centroids */
    double own_sum, other_sum; /* Σ|m|², Σ|f|² */
    double product[9];         /* C */
} moments;

static bool is_finite3(const float p[3]) {
    return isfinite(p[0]) && isfinite(p[1]) && isfinite(p[2]);
}

static moments measure(const float *points, const float *others, size_t count) {
    moments m = {0};
    for (size_t i = 0; i < count; i++) {
        const float *p = points + 3 * i, *o = others + 3 * i;
        if (!is_finite3(p) || !is_finite3(o))
            continue;
        m.count++;
        for (int c = 0; c < 3; c++) {
            m.own[c] += (double)p[c];
            m.other[c] += (double)o[c];
        }
    }
    for (int c = 0; c < 3 && m.count; c++) {
        m.own[c] /= (double)m.count;
        m.other[c] /= (double)m.count;
    }
    for (size_t i = 0; i < count; i++) {
        const float *p = points + 3 * i, *o = others + 3 * i;
        if (!is_finite3(p) || !is_finite3(o))
            continue;
        for (int r = 0; r < 3; r++) {
            double a = (double)p[r] - m.own[r], own = (double)o[r] - m.other[r];
            m.own_sum += a * a;
            m.other_sum += own * own;
            for (int c = 0; c < 3; c++)
                m.product[3 * r + c] += a * ((double)o[c] - m.other[c]);
        }
    }
    return m;
}

/* RMS distance of the centred points, relative to the RMS distance of the points from their centroid; *placed: the same
 * without centring. */
static double misfit(const moments *m, const double turn[9], double scale, double *placed) {
    double both = 0, apart = 0;
    for (int e = 0; e < 9; e++)
        both += turn[e] * m->product[e];
    const px_similarity s = {.scale = scale,
                             .turn = {turn[0], turn[1], turn[2], turn[3], turn[4], turn[5], turn[6], turn[7], turn[8]}};
    double moved[3], sum = px_fmax(m->own_sum + scale * scale * m->other_sum - 2 * scale * both, 0);
    px_similarity_map(&s, m->other, moved);
    for (int c = 0; c < 3; c++)
        apart += (m->own[c] - moved[c]) * (m->own[c] - moved[c]);
    *placed = sqrt((sum + (double)m->count * apart) / m->own_sum);
    return sqrt(sum / m->own_sum);
}

/* The first unit factor within tolerance of the ratio of sizes; else the ratio. */
static double find_scale(const moments *m) {
    double ratio = sqrt(m->own_sum / m->other_sum);
    for (uint32_t k = 0; k < PX_UNIT_COUNT; k++)
        if (fabs(ratio / px_unit_scale(k) - 1) < UNIT_TOLERANCE)
            return px_unit_scale(k);
    return ratio;
}

static bool is_unit(double scale) {
    for (uint32_t k = 0; k < PX_UNIT_COUNT; k++)
        if (scale == px_unit_scale(k))
            return true;
    return false;
}

void pelt_compare_axes(const float *points, const float *others, size_t count, pelt_axes *axes) {
    static const uint32_t pairs[][2] = {{PELT_UP_Y, PELT_UP_Y}, {PELT_UP_Y, PELT_UP_Z}, {PELT_UP_Z, PELT_UP_Y},
                                        {PELT_UP_Y, PELT_UP_X}, {PELT_UP_X, PELT_UP_Y}, {PELT_UP_X, PELT_UP_Z},
                                        {PELT_UP_Z, PELT_UP_X}};
    *axes = (pelt_axes){.up = PELT_UP_Y, .other_up = PELT_UP_Y, .scale = 1};
    moments m = measure(points, others, count);
    if (m.count < 4 || !(m.own_sum > 0) || !(m.other_sum > 0) || !isfinite(m.own_sum) || !isfinite(m.other_sum))
        return;
    double before = 0, best = INFINITY, scale = find_scale(&m), placed;
    bool same_place = false;
    for (size_t p = 0; p < PX_COUNT(pairs); p++) {
        double turn[9];
        px_axes_turn(pairs[p][0], pairs[p][1], turn);
        if (p == 0)
            before = misfit(&m, turn, 1, &placed);
        double after = misfit(&m, turn, scale, &placed);
        if (after < best - 1e-6) {
            best = after;
            *axes = (pelt_axes){.up = pairs[p][0], .other_up = pairs[p][1], .scale = scale};
            same_place = placed <= CERTAIN_RMS_MAX;
        }
    }
    bool other_units = is_unit(scale) ? scale != 1 : scale > SWELL_MAX || scale * SWELL_MAX < 1;
    axes->differ = (axes->up != axes->other_up || other_units) && before > SAME_RMS_MAX && best < TURNED_RMS_MAX &&
                   best * GAIN_MIN < before;
    axes->certain = axes->differ && same_place && is_unit(scale);
}

const char *pelt_axes_text(const pelt_axes *axes, const char *name, char *text, size_t size) {
    static const char letters[] = "YYZX";
    char sizes[64] = "";
    if (size == 0)
        return text;
    if (axes->scale != 1)
        snprintf(sizes, sizeof sizes, "%sis %.4g times as %s", axes->up != axes->other_up ? " and " : "",
                 axes->scale < 1 ? 1 / axes->scale : axes->scale, axes->scale < 1 ? "large" : "small");
    if (axes->up != axes->other_up)
        snprintf(text, size, "has %c up where %s has %c up%s", letters[axes->other_up & 3], name, letters[axes->up & 3],
                 sizes);
    else
        snprintf(text, size, "%s as %s", sizes, name);
    return text;
}
