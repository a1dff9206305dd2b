/* Lattice shape matching, for every instruction set. The includer defines LANES (see core/lanes.h). Every version does
 * the same operations in the same order for each particle, so results are identical to the last bit.
 *
 * A. Rivers, D. James, "FastLSM: fast lattice shape matching for robust real-time deformation", ACM Trans. Graph.
 * 26(3), 2007. Regions match the current skin x̄ instead of the rest shape, so that the skin is the equilibrium of
 * every pose. All quantities are in y, the skin relative to a common centre, and in displacements from it, d = δ u: if
 * these are 0, so are their sums, without rounding.
 *
 * Region r with particles p, m = mass / regions of p:
 *   c = Σ m y / Σ m,  d̄ = Σ m d / Σ m,  A = Σ m (y − c + d − d̄)(y − c)ᵀ,  R = the rotation nearest to A
 *   goal of p = (R − 1)(y − c) + d̄, the mean over its regions
 * and for velocities w relative to the skin, so that damping preserves the momenta of every region:
 *   ω = inertia⁻¹ · Σ m (y − c) × w,  rigid velocity of p = w̄ + ω × (y − c)
 *
 * With the rest shape x⁰ (LBSD, eq. 11), z = x⁰ relative to the same particle, e = y + d:
 *   A = Σ m (e − ē)(z − z̄)ᵀ,  goal of p = R (z − z̄) + ē, the mean over its regions
 */
#include "core/lanes.h"
#include "jiggle/kernels.h"
#include "jiggle/polar_kernel.h"

/* Offsets in a particle's row. */
enum { UP_Y = 0, UP_YY = 3, UP_D = 9, UP_DY = 12, UP_W = 21, UP_YW = 24, UP_M = 27, UP_COUNT = 28, UP_Z = 28 };
/* Offsets in a region's row. */
enum { DOWN_TURN = 0, DOWN_SHIFT = 9, DOWN_SPIN = 12, DOWN_DRIFT = 15, DOWN_COUNT = 18 };

/* Iterations start from the rotation of the last substep and converge quadratically; the second is for large
 * rotations. */
#define POLAR_ITERATIONS 2
/* In cells. Larger displacements and NaN are reset to 0. */
#define MAX_DISPLACEMENT 1e6f

/* ---- Sums ------------------------------------------------------------------------------------------------- */

/* Running sums: the cost does not depend on the width of the window. */
INLINE void sum_windows(const px_window_pass *pass, size_t width) {
    for (uint32_t chain = 0; chain < pass->chains->count; chain++) {
        size_t first = pass->chains->firsts[chain], count = pass->chains->firsts[chain + 1] - first, half = pass->half;
        const uint32_t *items = pass->chains->items + first;
        lanes sum[PX_MATCH_UP / LANES] = {0};
        for (size_t i = 0; i < half && i < count; i++)
            for (size_t v = 0; v < width / LANES; v++)
                sum[v] += lanes_load(pass->in + items[i] * width + v * LANES);
        for (size_t i = 0; i < count; i++) {
            float *out = pass->out + items[i] * width;
            if (i + half < count)
                for (size_t v = 0; v < width / LANES; v++)
                    sum[v] += lanes_load(pass->in + items[i + half] * width + v * LANES);
            if (i > half)
                for (size_t v = 0; v < width / LANES; v++)
                    sum[v] -= lanes_load(pass->in + items[i - half - 1] * width + v * LANES);
            bool add = pass->add || pass->again[first + i];
            for (size_t v = 0; v < width / LANES; v++)
                lanes_store(out + v * LANES, add ? lanes_load(out + v * LANES) + sum[v] : sum[v]);
        }
    }
}

static void sum_up(const px_window_pass *pass) {
    sum_windows(pass, PX_MATCH_UP);
}

static void sum_down(const px_window_pass *pass) {
    sum_windows(pass, PX_MATCH_DOWN);
}

/* ---- Particles to rows ------------------------------------------------------------------------------------ */

INLINE void fill_all_rows(const px_swing_pass *pass, bool rest) {
    float inverse = 1 / pass->cell;
    for (size_t i = 0; i < PX_JIGGLE_BLOCK * (size_t)pass->block_count; i += LANES) {
        lanes y[4], u[4], w[4], z[4], row[PX_MATCH_UP], m = lanes_load(pass->masses + i);
        lanes md = m * lanes_load(pass->deltas + i), mw[3];
        lanes_load4(pass->skin + 4 * i, y);
        lanes_load4(pass->u + 4 * i, u);
        lanes_load4(pass->w + 4 * i, w);
        if (rest)
            lanes_load4(pass->shape + 4 * i, z);
        for (int c = 0; c < 3; c++) {
            y[c] = (y[c] - pass->centre[c]) * inverse;
            row[UP_Y + c] = m * y[c];
            row[UP_D + c] = rest ? m * y[c] + md * u[c] : md * u[c];
            row[UP_Z + c] = rest ? m * z[c] : m;
            row[UP_W + c] = mw[c] = m * w[c];
        }
        for (int r = 0, e = UP_YY; r < 3; r++)
            for (int c = r; c < 3; c++)
                row[e++] = row[UP_Y + r] * y[c];
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++)
                row[UP_DY + 3 * r + c] = row[UP_D + r] * (rest ? z[c] : y[c]);
        lanes_cross3(y, mw, row + UP_YW);
        row[UP_M] = row[PX_MATCH_UP - 1] = m;
        for (int e = 0; e < (rest ? (int)PX_MATCH_UP : UP_COUNT); e += 4)
            lanes_store4_stride(pass->rows + i * PX_MATCH_UP + e, PX_MATCH_UP, row + e);
    }
}

static void fill_rows(const px_swing_pass *pass) {
    fill_all_rows(pass, false);
}

static void fill_rest_rows(const px_swing_pass *pass) {
    fill_all_rows(pass, true);
}

/* ---- Regions ---------------------------------------------------------------------------------------------- */

/* Goals of a region, as affine maps of y; with the rest shape, of z. */
INLINE void match_region(const lanes sum[PX_MATCH_UP], lanes q[4], lanes down[DOWN_COUNT], bool rest) {
    const lanes *y = sum + UP_Y;
    lanes inverse = 1.0f / lanes_select(sum[UP_M] > 0, sum[UP_M], (lanes){0} + 1.0f); /* padding has mass 0 */
    static const int symmetric[9] = {0, 1, 2, 1, 3, 4, 2, 4, 5};
    lanes centre[3], shape[3], d[3], w[3], s[6], a[9], l[3], away[3], turn[9];
    for (int c = 0; c < 3; c++) {
        centre[c] = y[c] * inverse;
        shape[c] = rest ? sum[UP_Z + c] * inverse : centre[c];
        d[c] = sum[UP_D + c] * inverse;
        w[c] = sum[UP_W + c] * inverse;
    }
    for (int r = 0, e = 0; r < 3; r++)
        for (int c = r; c < 3; c++, e++)
            s[e] = sum[UP_YY + e] - centre[r] * y[c];
    s[0] += RIDGE, s[3] += RIDGE, s[5] += RIDGE;
    if (rest)
        turn_of(q, turn); /* the ridge has the last rotation */
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            a[3 * r + c] = rest ? RIDGE * (turn[3 * r + c] + (r == c ? 1.0f : 0.0f)) +
                                      (sum[UP_DY + 3 * r + c] - d[r] * sum[UP_Z + c])
                                : s[symmetric[3 * r + c]] + (sum[UP_DY + 3 * r + c] - d[r] * y[c]);
    for (int n = 0; n < POLAR_ITERATIONS; n++)
        improve_rotation(a, q);
    turn_of(q, down + DOWN_TURN);
    for (int r = 0; r < 3; r++) {
        const lanes *e = down + DOWN_TURN + 3 * r;
        lanes shift = rest ? d[r] - shape[r] : d[r];
        down[DOWN_SHIFT + r] = shift - (e[0] * shape[0] + e[1] * shape[1] + e[2] * shape[2]);
    }
    lanes_cross3(centre, sum + UP_W, l);
    for (int c = 0; c < 3; c++)
        l[c] = sum[UP_YW + c] - l[c];
    solve_turn(s, l, down + DOWN_SPIN);
    lanes_cross3(down + DOWN_SPIN, centre, away);
    for (int c = 0; c < 3; c++)
        down[DOWN_DRIFT + c] = w[c] - away[c];
}

INLINE void match_all_regions(const px_swing_pass *pass, bool rest) {
    for (size_t i = 0; i < PX_JIGGLE_BLOCK * (size_t)pass->block_count; i += LANES) {
        lanes sum[PX_MATCH_UP], q[4], down[PX_MATCH_DOWN] = {0}, share = lanes_load(pass->shares + i);
        for (int e = 0; e < (rest ? (int)PX_MATCH_UP : UP_COUNT); e += 4)
            lanes_load4_stride(pass->sums + i * PX_MATCH_UP + e, PX_MATCH_UP, sum + e);
        lanes_load4(pass->rotations + 4 * i, q);
        match_region(sum, q, down, rest);
        lanes_store4(pass->rotations + 4 * i, q);
        for (int e = 0; e < DOWN_COUNT; e++)
            down[e] *= share;
        for (size_t e = 0; e < PX_MATCH_DOWN; e += 4)
            lanes_store4_stride(pass->rows + i * PX_MATCH_DOWN + e, PX_MATCH_DOWN, down + e);
    }
}

static void match_regions(const px_swing_pass *pass) {
    match_all_regions(pass, false);
}

static void match_rest_regions(const px_swing_pass *pass) {
    match_all_regions(pass, true);
}

/* ---- Rows to particles ------------------------------------------------------------------------------------ */

/* v(t + h) = v + α (g − x) / h + h f / m, x(t + h) = x + h v (eq. 12, 13), for velocities relative to the skin: the
 * acceleration of the skin acts as an inertial force in the opposite direction. */
INLINE void move_all_particles(const px_swing_pass *pass, bool rest) {
    float inverse = 1 / pass->cell, rate = inverse / pass->step;
    for (size_t i = 0; i < PX_JIGGLE_BLOCK * (size_t)pass->block_count; i += LANES) {
        lanes skin[4], before[4], speed[4], u[4], w[4], y[3], z[4], rigid[3], push[4] = {0}, goal[DOWN_COUNT + 2];
        lanes m = lanes_load(pass->masses + i), keep = lanes_load(pass->keeps + i), pull = lanes_load(pass->pulls + i);
        lanes_load4(pass->skin + 4 * i, skin);
        lanes_load4(pass->skin_before + 4 * i, before);
        lanes_load4(pass->skin_velocity + 4 * i, speed);
        lanes_load4(pass->u + 4 * i, u);
        lanes_load4(pass->w + 4 * i, w);
        if (pass->pushes)
            lanes_load4(pass->pushes + 4 * i, push);
        for (int e = 0; e < DOWN_COUNT; e += 4)
            lanes_load4_stride(pass->goals + i * PX_MATCH_DOWN + e, PX_MATCH_DOWN, goal + e);
        if (rest)
            lanes_load4(pass->shape + 4 * i, z);
        for (int c = 0; c < 3; c++)
            y[c] = (skin[c] - pass->centre[c]) * inverse;
        lanes_cross3(goal + DOWN_SPIN, y, rigid);
        for (int c = 0; c < 3; c++) {
            const lanes *e = goal + DOWN_TURN + 3 * c;
            const lanes *of = rest ? z : y;
            lanes wanted = m * (e[0] * of[0] + e[1] * of[1] + e[2] * of[2] + goal[DOWN_SHIFT + c]);
            if (rest)
                wanted += z[c] - y[c];
            lanes with = m * (rigid[c] + goal[DOWN_DRIFT + c]), now = (skin[c] - before[c]) * rate;
            w[c] = keep * (w[c] + pass->region_damping * (with - w[c])) + pull * (wanted - u[c]) +
                   (push[c] - (now - speed[c]));
            u[c] += pass->step * w[c];
            speed[c] = now;
        }
        lanes_mask good = (lanes_load(pass->deltas + i) > 0) &
                          (u[0] * u[0] + u[1] * u[1] + u[2] * u[2] < MAX_DISPLACEMENT * MAX_DISPLACEMENT);
        for (int c = 0; c < 3; c++) {
            u[c] = lanes_select(good, u[c], (lanes){0});
            w[c] = lanes_select(good, w[c], (lanes){0});
        }
        lanes_store4(pass->u + 4 * i, u);
        lanes_store4(pass->w + 4 * i, w);
        lanes_store4(pass->skin_before + 4 * i, skin);
        lanes_store4(pass->skin_velocity + 4 * i, speed);
    }
}

static void move_particles(const px_swing_pass *pass) {
    move_all_particles(pass, false);
}

static void move_rest_particles(const px_swing_pass *pass) {
    move_all_particles(pass, true);
}
