/* trs bones: matrices that a single node of any engine can hold, L = R·diag(s)·U, with U a rotation that is constant
 * over time and goes into the inverse bind matrix.
 *
 * For given U, with Σ' = U Σ Uᵀ and C' = C Uᵀ, the objective of a block is Σ_c s_c² Σ'_cc − 2 Σ_c s_c r_c·c'_c, where
 * r_c and c'_c are columns of R and C'. For given R the best scales are s_c = r_c·c'_c / Σ'_cc; for given scales the
 * best R is the polar factor of C' diag(s). Both are alternated. U is updated bone by bone, for all frames together,
 * and only if that lowers the objective.
 */
#include "decompose/kinds.h"

#include <math.h>

#define TURNS 2 /* alternations of rotation and scales; sweeps and iterations repeat them */

/* ---- One block -------------------------------------------------------------------------------------------- */

static void multiply(const double a[9], const double b[9], double out[9]) {
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            out[3 * r + c] = a[3 * r] * b[c] + a[3 * r + 1] * b[3 + c] + a[3 * r + 2] * b[6 + c];
}

/* a·bᵀ */
static void multiply_by_transposed(const double a[9], const double b[9], double out[9]) {
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            out[3 * r + c] = a[3 * r] * b[3 * c] + a[3 * r + 1] * b[3 * c + 1] + a[3 * r + 2] * b[3 * c + 2];
}

static double dot_columns(const double *a, const double *b, int c) {
    return a[c] * b[c] + a[3 + c] * b[3 + c] + a[6 + c] * b[6 + c];
}

static void diagonal_in(const double axes[9], const double scatter[9], double out[3]) {
    double product[9];
    multiply(axes, scatter, product);
    for (int c = 0; c < 3; c++)
        out[c] =
            product[3 * c] * axes[3 * c] + product[3 * c + 1] * axes[3 * c + 1] + product[3 * c + 2] * axes[3 * c + 2];
}

/* Alternates rotation and scales; the objective of the block never rises. `lengths`: diagonal of Σ'; `c`: C'; `mass`:
 * of the bone. */
static void alternate(double mass, const double lengths[3], const double c[9], double r[9], double s[3]) {
    /* Damping towards the current scales. A flat bone leaves one scale undetermined: it keeps its value if the extent
     * is below a thousandth of the bone's size. A single point leaves all undetermined: below a millionth of the unit
     * sphere the extent is rounding. */
    double pull = px_fmax(1e-6 * (lengths[0] + lengths[1] + lengths[2]), 1e-12 * mass);
    for (int turn = 0; turn < TURNS; turn++) {
        double scaled[9];
        for (int e = 0; e < 9; e++)
            scaled[e] = c[e] * s[e % 3];
        px_rotation_towards(scaled, r);
        for (int a = 0; a < 3; a++)
            s[a] = (dot_columns(r, c, a) + pull * s[a]) / (px_fmax(lengths[a], 0) + pull);
    }
}

static double block_value(const double lengths[3], const double c[9], const double r[9], const double s[3]) {
    double sum = 0;
    for (int a = 0; a < 3; a++)
        sum += s[a] * (s[a] * lengths[a] - 2 * dot_columns(r, c, a));
    return sum;
}

/* Splits L·Uᵀ = R·diag(s). R follows from the two longest columns, so only the shortest can have a negative scale. If L
 * was made with another U, R is a nearby rotation. */
static void split(const double linear[9], const double axes[9], double r[9], double s[3]) {
    double p[9], lengths[3], along = 0;
    multiply_by_transposed(linear, axes, p);
    for (int c = 0; c < 3; c++)
        lengths[c] = dot_columns(p, p, c);
    int short_axis = lengths[0] < lengths[1] ? (lengths[0] < lengths[2] ? 0 : 2) : (lengths[1] < lengths[2] ? 1 : 2);
    int a = (short_axis + 1) % 3, b = (short_axis + 2) % 3;
    double left = 0, scale = 1 / sqrt(lengths[a]);
    for (int e = 0; e < 9; e += 3)
        along += (r[e + a] = p[e + a] * scale) * p[e + b];
    for (int e = 0; e < 9; e += 3) {
        r[e + b] = p[e + b] - along * r[e + a];
        left += r[e + b] * r[e + b];
    }
    if (!(left > 1e-20 * lengths[a]) || !isfinite(scale)) { /* rank 1: fall back to the polar factor */
        px_polar3(p, r, NULL);
    } else {
        for (int e = 0; e < 9; e += 3)
            r[e + b] /= sqrt(left);
        for (int e = 0; e < 3; e++) {
            int f = 3 * ((e + 1) % 3), g = 3 * ((e + 2) % 3);
            r[3 * e + short_axis] = r[f + a] * r[g + b] - r[g + a] * r[f + b];
        }
    }
    for (int c = 0; c < 3; c++)
        s[c] = dot_columns(r, p, c);
}

static void join(const double r[9], const double s[3], const double axes[9], double linear[9]) {
    double scaled[9];
    for (int e = 0; e < 9; e++)
        scaled[e] = r[e] * s[e % 3];
    multiply(scaled, axes, linear);
}

static void solve_block(const px_blocks *b, size_t j, const double covariance[9], double linear[9]) {
    const double *axes = b->fit->now.axes + 9 * j;
    double lengths[3], c[9], r[9], s[3];
    diagonal_in(axes, b->bones[j].scatter, lengths);
    multiply_by_transposed(covariance, axes, c);
    split(linear, axes, r, s);
    alternate(b->bones[j].mass, lengths, c, r, s);
    join(r, s, axes, linear);
}

/* ---- Axes ------------------------------------------------------------------------------------------------- */

/* One bone over all frames. */
typedef struct bone_frames {
    px_blocks *blocks;
    size_t j, frame_count;
    double *covariances; /* [frame][9] */
    double *middles;     /* [frame][3] */
    double *linears;     /* [frame][9] current L */
    double *tried;       /* [frame][9] */
    double value;        /* objective of `linears` */
} bone_frames;

static double value_in(const bone_frames *f, const double axes[9], bool improve, double *linears) {
    double lengths[3], sum = 0;
    diagonal_in(axes, f->blocks->bones[f->j].scatter, lengths);
    for (size_t k = 0; k < f->frame_count; k++) {
        double c[9], r[9], s[3];
        multiply_by_transposed(f->covariances + 9 * k, axes, c);
        split(f->linears + 9 * k, axes, r, s);
        if (improve) {
            alternate(f->blocks->bones[f->j].mass, lengths, c, r, s);
            join(r, s, axes, linears + 9 * k);
        }
        sum += block_value(lengths, c, r, s);
    }
    return sum;
}

static bool try_axes(bone_frames *f, const double axes[9]) {
    double value = value_in(f, axes, true, f->tried);
    if (!(value < f->value))
        return false;
    f->value = value;
    memcpy(f->blocks->fit->now.axes + 9 * f->j, axes, 9 * sizeof *axes);
    double *swap = f->linears;
    f->linears = f->tried;
    f->tried = swap;
    return true;
}

/* Principal axes of stretch of the unconstrained linear parts C Σ⁻¹ over all frames. */
static void stretch_axes(const bone_frames *f, double axes[9]) {
    const double *scatter = f->blocks->bones[f->j].scatter;
    double u[9], s[3], v[9], inverse[9], sum[9] = {0};
    px_svd3(scatter, u, s, v);
    for (int e = 0; e < 9; e++) {
        inverse[e] = 0;
        for (int a = 0; a < 3; a++) /* pseudo-inverse; 1e-6: a flat bone has no data along its normal */
            inverse[e] += s[a] > 1e-6 * s[0] ? v[3 * (e / 3) + a] * u[3 * (e % 3) + a] / s[a] : 0;
    }
    for (size_t k = 0; k < f->frame_count; k++) {
        double linear[9];
        multiply(f->covariances + 9 * k, inverse, linear);
        for (int e = 0; e < 9; e++)
            for (int r = 0; r < 3; r++)
                sum[e] += linear[3 * r + e / 3] * linear[3 * r + e % 3];
    }
    px_svd3(sum, u, s, v);
    for (int e = 0; e < 9; e++)
        axes[e] = v[3 * (e % 3) + e / 3];
}

/* Majorisation step for U. For fixed R and s the objective in U is tr(W U Σ Uᵀ) − 2 tr(Uᵀ B), W = Σ_k diag(s²), B = Σ_k
 * diag(s) Rᵀ C. Its convex part is bounded by `hold` times a multiple of the identity (hold = 1: a true bound), and the
 * minimum of the bound is a polar factor. */
static void turned_axes(const bone_frames *f, double hold, double out[9]) {
    const double *axes = f->blocks->fit->now.axes + 9 * f->j, *scatter = f->blocks->bones[f->j].scatter;
    double squares[3] = {0}, slope[9] = {0}, product[9];
    for (size_t k = 0; k < f->frame_count; k++) {
        double r[9], s[3];
        split(f->linears + 9 * k, axes, r, s);
        for (int a = 0; a < 3; a++) {
            squares[a] += s[a] * s[a];
            for (int c = 0; c < 3; c++)
                for (int e = 0; e < 3; e++)
                    slope[3 * a + c] += s[a] * r[3 * e + a] * f->covariances[9 * k + 3 * (size_t)e + (size_t)c];
        }
    }
    multiply(axes, scatter, product);
    double bound = hold * px_fmax(squares[0], px_fmax(squares[1], squares[2])) * (scatter[0] + scatter[4] + scatter[8]);
    for (int e = 0; e < 9; e++)
        slope[e] += bound * axes[e] - squares[e / 3] * product[e];
    memcpy(out, axes, 9 * sizeof *out);
    px_rotation_towards(slope, out);
}

static void turn_bone(bone_frames *f) {
    px_fit *fit = f->blocks->fit;
    double axes[9];
    for (size_t k = 0; k < f->frame_count; k++) {
        px_block_left(f->blocks, k, f->j, f->covariances + 9 * k, f->middles + 3 * k);
        px_block_get(f->blocks, k, f->j, f->linears + 9 * k);
    }
    f->value = value_in(f, fit->now.axes + 9 * f->j, false, NULL);
    stretch_axes(f, axes);
    try_axes(f, axes);
    turned_axes(f, 0.1, axes); /* the bound is far from tight: try a longer step first */
    if (!try_axes(f, axes)) {
        turned_axes(f, 1, axes);
        try_axes(f, axes);
    }
    for (size_t k = 0; k < f->frame_count; k++)
        px_block_put(f->blocks, k, f->j, f->linears + 9 * k, f->middles + 3 * k);
}

static pelt_result turn_all(px_blocks *blocks) {
    px_fit *fit = blocks->fit;
    size_t F = fit->row_count / 3;
    double *scratch = PX_ALLOC(fit->context, double, 30 * F);
    if (!scratch)
        return PELT_ERROR_MEMORY;
    bone_frames f = {.blocks = blocks, .frame_count = F};
    f.covariances = scratch, f.middles = scratch + 9 * F, f.linears = scratch + 12 * F, f.tried = scratch + 21 * F;
    for (f.j = 0; f.j < fit->bone_count; f.j++)
        if (blocks->bones[f.j].mass > 0)
            turn_bone(&f);
    px_free(fit->context, scratch);
    return PELT_OK;
}

/* ---- Bone kind ---------------------------------------------------------------------------------------------- */

/* Projects to L·Uᵀ = R·diag(s), with R the polar factor of L·Uᵀ. */
static void project(const double *axes, double linear[9]) {
    double p[9], r[9], s[3];
    multiply_by_transposed(linear, axes, p);
    px_polar3(p, r, NULL);
    for (int c = 0; c < 3; c++)
        s[c] = dot_columns(r, p, c);
    join(r, s, axes, linear);
}

static void follow(px_stretch *path, const double linear[9]) {
    px_stretch_follow(path, linear, true);
}

const px_bone_kind px_bone_trs = {
    .name = "trs",
    .has_axes = true,
    .scales = true,
    .host = PX_HOST_SIMILARITY,
    .prepare = turn_all,
    .solve_block = solve_block,
    .project = project,
    .follow = follow,
};
