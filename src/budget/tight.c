/* Fit of rigid or affine bones to the largest distance of a vertex.
 *
 * pelt_decompose minimises the mean square. A bound on the largest distance is then set by few vertices in few frames, and
 * more bones are needed than with a fit that spreads the distance evenly. From its result, minimised is
 *
 *   Σ_ik φ(|r_ik|),  φ(d) = d^p / m^(p−2) + FLOOR · d²
 *
 * with the residuals r_ik = x_ik − Σ_j w_ij (R_jk (p_i − g_j) + t_jk) and their largest length m; p rises to 64. Newton steps
 * in turn for the transforms of each frame (conjugate gradients on all bones, preconditioned by the block of each) and for
 * rest position and weights of each point. The Hessian of φ is u (I + (p − 2) r̂ r̂ᵀ) with u = (d/m)^(p−2), constants dropped.
 *
 * Points that stay far off change bones. The differences of affine bones from the first solution are kept even from frame to frame,
 * by a penalty on second differences: where only a few points bind, keys would wander within the bound, and uneven keys take more bytes.
 */
#include "budget/tight.h"

#include "core/math3.h"

#include <math.h>

#define FLOOR           1e-3 /* weight of the mean square: keeps the problem regular */
#define CG_STEPS        5
#define CG_END          1e-4 /* of the first preconditioned square of the gradient */
#define K               PX_TIGHT_INFLUENCES
#define SMOOTHNESS      1e-4 /* weight of the differences of affine bones from frame to frame: uneven keys take more bytes */
#define EXCHANGE_SHARE  0.5 /* of the largest distance, from which points try other bones */
#define EXCHANGE_ROUNDS 10  /* the first rounds after that of the bones of pelt_decompose */
#define EXCHANGE_TURNS  3   /* Newton steps with another bone before it is judged */

/* ---- Small linear systems --------------------------------------------------------------------------------- */

/* Cholesky factorisation in place: a [n][n] symmetric, its lower half becomes L. False: not positive definite. */
static bool factor(size_t n, double *a) {
    for (size_t c = 0; c < n; c++) {
        for (size_t r = c; r < n; r++) {
            double sum = a[r * n + c];
            for (size_t e = 0; e < c; e++)
                sum -= a[r * n + e] * a[c * n + e];
            if (r == c && !(sum > 0))
                return false;
            a[r * n + c] = r == c ? sqrt(sum) : sum / a[c * n + c];
        }
    }
    return true;
}

/* Solves L Lᵀ x = b in place. */
static void substitute(size_t n, const double *l, double *b) {
    for (size_t r = 0; r < n; r++) {
        for (size_t e = 0; e < r; e++)
            b[r] -= l[r * n + e] * b[e];
        b[r] /= l[r * n + r];
    }
    for (size_t r = n; r-- > 0;) {
        for (size_t e = r + 1; e < n; e++)
            b[r] -= l[e * n + r] * b[e];
        b[r] /= l[r * n + r];
    }
}

/* ---- Transforms of a frame -------------------------------------------------------------------------------- */

typedef struct polish {
    px_tight *r;
    int power;      /* p, even */
    double largest; /* m */
    bool exchange;  /* points far off may change their bones */
    double enough;  /* points within this distance stay as they are */
    double *masses; /* [bone][4][4] Σ w² q̂ q̂ᵀ of the points, q̂ = (p − g, 1); NULL: motions are not smoothed */
    double *first;      /* [frame][bone][12] poses of pelt_decompose */
    double *means;      /* [frame][bone][12] mean of the poses in the frames before and after, of the last round */
    double *frame_most; /* [frame] */
    double *point_most; /* [point] */
} polish;

/* u of the Hessian and of the gradient for a squared distance. */
static double penalty(const polish *p, double square) {
    double ratio = square / (p->largest * p->largest), product = 1;
    for (int left = (p->power - 2) / 2; left > 0; left /= 2, ratio *= ratio)
        product *= left % 2 ? ratio : 1;
    return product;
}

static double cost(const polish *p, double square) {
    return square * (penalty(p, square) + FLOOR);
}

/* Scratch of a frame. */
typedef struct frame_work {
    double *arms;                                  /* [point][4][3] R (p − g); affine bones: p − g */
    double *residuals;                             /* [point][3] */
    double *directions;                            /* [point][3] r̂ */
    double *strengths;                             /* [point][2] u + FLOOR, (p − 2) u */
    double *blocks;                                /* [bone][D][D] */
    double *step, *rest, *search, *image, *solved; /* [bone][D] of the conjugate gradients */
    double *poses;                                 /* [bone][12] tried */
} frame_work;

static double frame_residuals(const polish *p, frame_work *w, size_t k, const double *poses, double *most) {
    const px_tight *r = p->r;
    double sum = 0;
    *most = 0;
    for (size_t i = 0; i < r->point_count; i++) {
        const float *x = r->targets + 3 * (i * r->frame_count + k);
        double at[3] = {0};
        for (size_t a = 0; a < K; a++) {
            double weight = (double)r->weights[K * i + a], *arm = w->arms + 3 * (K * i + a);
            if (!(weight > 0))
                continue;
            const double *pose = poses + 12 * (size_t)r->bones[K * i + a],
                         *g = r->pivots + 3 * (size_t)r->bones[K * i + a];
            double q[3];
            for (size_t c = 0; c < 3; c++)
                q[c] = (double)r->rest[3 * i + c] - g[c];
            for (size_t c = 0; c < 3; c++) {
                double turned = px_dot3d(pose + 3 * c, q);
                arm[c] = r->affine ? q[c] : turned;
                at[c] += weight * (turned + pose[9 + c]);
            }
        }
        double square = 0;
        for (size_t c = 0; c < 3; c++) {
            w->residuals[3 * i + c] = (double)x[c] - at[c];
            square += w->residuals[3 * i + c] * w->residuals[3 * i + c];
        }
        *most = px_fmax(*most, square);
        sum += cost(p, square);
    }
    return sum;
}

/* ---- Smoothness ------------------------------------------------------------------------------------------- */

/* Whether a bone is pulled in frame k to the mean of its poses before and after. */
static bool is_smoothed(const polish *p, size_t k) {
    return p->masses && p->r->inside[k];
}

/* Entry c of the row [R | t] of a pose. */
static double row_entry(const double *pose, size_t row, size_t c) {
    return c < 3 ? pose[3 * row + c] : pose[9 + row];
}

/* SMOOTHNESS Σ δᵀ M δ over the rows of all bones, δ the difference from the mean of the poses before and after. */
static double smooth_cost(const polish *p, size_t k, const double *poses) {
    size_t P = p->r->bone_count;
    double sum = 0;
    for (size_t j = 0; j < P && is_smoothed(p, k); j++)
        for (size_t row = 0; row < 3; row++) {
            double off[4];
            for (size_t c = 0; c < 4; c++)
                off[c] = row_entry(poses + 12 * j, row, c) - row_entry(p->means + 12 * (k * P + j), row, c);
            for (size_t c = 0; c < 4; c++)
                for (size_t d = 0; d < 4; d++)
                    sum += off[c] * p->masses[16 * j + 4 * c + d] * off[d];
        }
    return SMOOTHNESS * sum;
}

/* Adds the gradient of that to the pulls on the bones, and its second derivative to their blocks. */
static void add_smoothness(const polish *p, size_t k, double *pulls, double *blocks) {
    size_t P = p->r->bone_count;
    for (size_t j = 0; j < P && is_smoothed(p, k); j++) {
        const double *pose = p->r->poses + 12 * (k * P + j), *mean = p->means + 12 * (k * P + j),
                     *mass = p->masses + 16 * j;
        for (size_t row = 0; row < 3; row++)
            for (size_t c = 0; c < 4; c++)
                for (size_t d = 0; d < 4; d++) {
                    pulls[12 * j + 4 * row + c] +=
                        SMOOTHNESS * mass[4 * c + d] * (row_entry(mean, row, d) - row_entry(pose, row, d));
                    blocks[144 * j + 12 * (4 * row + c) + 4 * row + d] += SMOOTHNESS * mass[4 * c + d];
                }
    }
}

/* Sets masses and means for the poses and weights at hand. */
static void set_smoothness(const polish *p) {
    const px_tight *r = p->r;
    size_t P = r->bone_count;
    memset(p->masses, 0, 16 * P * sizeof *p->masses);
    for (size_t e = 0; e < K * (size_t)r->point_count; e++) {
        size_t j = r->bones[e];
        double at[4] = {0, 0, 0, 1}, square = (double)r->weights[e] * (double)r->weights[e];
        for (size_t c = 0; c < 3; c++)
            at[c] = (double)r->rest[3 * (e / K) + c] - r->pivots[3 * j + c];
        for (size_t c = 0; c < 16 && square > 0; c++)
            p->masses[16 * j + c] += square * at[c / 4] * at[c % 4];
    }
    for (size_t k = 0; k < r->frame_count; k++)
        for (size_t e = 12 * P * k; e < 12 * P * (k + 1) && r->inside[k]; e++)
            p->means[e] = p->first[e] + 0.5 * (r->poses[e - 12 * P] - p->first[e - 12 * P] + r->poses[e + 12 * P] -
                                               p->first[e + 12 * P]);
}

/* ---- Newton steps ----------------------------------------------------------------------------------------- */

/* Numbers that change a bone, D: of a rigid one a rotation vector and a translation, of an affine one rows of its matrix. */
static size_t freedom(const px_tight *r) {
    return r->affine ? 12 : 6;
}

/* Adds to y how a change of a bone moves a point, times the weight. */
static void add_move(bool affine, const double *arm, double weight, const double *change, double y[3]) {
    double turn[3];
    if (affine) {
        for (size_t c = 0; c < 3; c++)
            y[c] += weight * (px_dot3d(change + 4 * c, arm) + change[4 * c + 3]);
        return;
    }
    px_cross3d(change, arm, turn);
    for (size_t c = 0; c < 3; c++)
        y[c] += weight * (turn[c] + change[3 + c]);
}

/* The transposed map: adds to a change of a bone what y pulls. */
static void add_pull(bool affine, const double *arm, double weight, const double y[3], double *change) {
    double turn[3];
    if (affine) {
        for (size_t c = 0; c < 3; c++) {
            for (size_t x = 0; x < 3; x++)
                change[4 * c + x] += weight * y[c] * arm[x];
            change[4 * c + 3] += weight * y[c];
        }
        return;
    }
    px_cross3d(arm, y, turn);
    for (size_t c = 0; c < 3; c++) {
        change[c] += weight * turn[c];
        change[3 + c] += weight * y[c];
    }
}

/* out = Hessian · in. */
static void apply_hessian(const polish *p, const frame_work *w, size_t k, const double *in, double *out) {
    const px_tight *r = p->r;
    size_t D = freedom(r);
    memset(out, 0, D * r->bone_count * sizeof *out);
    for (size_t e = 0; e < 12 * (size_t)r->bone_count && is_smoothed(p, k); e++)
        for (size_t d = 0; d < 4; d++)
            out[e] += SMOOTHNESS * p->masses[16 * (e / 12) + 4 * (e % 4) + d] * in[e - e % 4 + d];
    for (size_t i = 0; i < r->point_count; i++) {
        double y[3] = {0};
        for (size_t e = K * i; e < K * i + K; e++)
            if (r->weights[e] > 0)
                add_move(r->affine, w->arms + 3 * e, (double)r->weights[e], in + D * r->bones[e], y);
        const double *d = w->directions + 3 * i, *u = w->strengths + 2 * i;
        double along = u[1] * px_dot3d(d, y);
        for (size_t c = 0; c < 3; c++)
            y[c] = u[0] * y[c] + along * d[c];
        for (size_t e = K * i; e < K * i + K; e++)
            if (r->weights[e] > 0)
                add_pull(r->affine, w->arms + 3 * e, (double)r->weights[e], y, out + D * r->bones[e]);
    }
}

/* Adds weight² JᵀHJ of a point to the lower half of a bone's block, J the map of add_move. */
static void add_block(const px_tight *r, const double *arm, double weight, const double *direction, const double u[2],
                      double *block) {
    size_t D = freedom(r);
    double map[12][3] = {{0}};
    for (size_t s = 0; s < D; s++) {
        double unit[12] = {0};
        unit[s] = weight;
        add_move(r->affine, arm, 1, unit, map[s]);
    }
    for (size_t s = 0; s < D; s++) {
        double along = u[1] * px_dot3d(direction, map[s]), h[3];
        for (size_t c = 0; c < 3; c++)
            h[c] = u[0] * map[s][c] + along * direction[c];
        for (size_t t = s; t < D; t++)
            block[D * t + s] += px_dot3d(h, map[t]);
    }
}

/* Gradient to w->rest, and the block of each bone. */
static void set_up(const polish *p, size_t k, frame_work *w) {
    const px_tight *r = p->r;
    size_t P = r->bone_count, D = freedom(r);
    memset(w->rest, 0, D * P * sizeof *w->rest);
    memset(w->blocks, 0, D * D * P * sizeof *w->blocks);
    for (size_t i = 0; i < r->point_count; i++) {
        double *d = w->directions + 3 * i, *u = w->strengths + 2 * i, force[3];
        const double *e = w->residuals + 3 * i;
        double square = px_dot3d(e, e), distance = sqrt(square), pull = penalty(p, square);
        u[0] = pull + FLOOR;
        u[1] = (p->power - 2) * pull;
        for (size_t c = 0; c < 3; c++) {
            d[c] = distance > 0 ? e[c] / distance : 0;
            force[c] = u[0] * e[c];
        }
        for (size_t a = K * i; a < K * i + K; a++) {
            if (!(r->weights[a] > 0))
                continue;
            double weight = (double)r->weights[a];
            add_pull(r->affine, w->arms + 3 * a, weight, force, w->rest + D * r->bones[a]);
            add_block(r, w->arms + 3 * a, weight, d, u, w->blocks + D * D * r->bones[a]);
        }
    }
    add_smoothness(p, k, w->rest, w->blocks);
}

/* out = blocks⁻¹ · in; the blocks are factors. */
static void precondition(const px_tight *r, const frame_work *w, const double *in, double *out) {
    size_t D = freedom(r);
    memcpy(out, in, D * r->bone_count * sizeof *out);
    for (size_t j = 0; j < r->bone_count; j++)
        substitute(D, w->blocks + D * D * j, out + D * j);
}

static void factor_blocks(const px_tight *r, frame_work *w) {
    size_t D = freedom(r);
    for (size_t j = 0; j < r->bone_count; j++) {
        double *block = w->blocks + D * D * j, trace = 0;
        for (size_t s = 0; s < D; s++)
            trace += block[(D + 1) * s];
        for (size_t s = 0; s < D; s++)
            block[(D + 1) * s] += 1e-9 * trace + 1e-300;
        if (!factor(D, block)) {
            memset(block, 0, D * D * sizeof *block);
            for (size_t s = 0; s < D; s++)
                block[(D + 1) * s] = sqrt(trace + 1e-100);
        }
    }
}

static double dot(size_t n, const double *a, const double *b) {
    double sum = 0;
    for (size_t e = 0; e < n; e++)
        sum += a[e] * b[e];
    return sum;
}

static void find_step(const polish *p, size_t k, frame_work *w) {
    size_t n = freedom(p->r) * p->r->bone_count;
    factor_blocks(p->r, w);
    memset(w->step, 0, n * sizeof *w->step);
    precondition(p->r, w, w->rest, w->solved);
    memcpy(w->search, w->solved, n * sizeof *w->search);
    double now = dot(n, w->rest, w->solved), first = now;
    for (int step = 0; step < CG_STEPS && now > CG_END * first && now > 0; step++) {
        apply_hessian(p, w, k, w->search, w->image);
        double curve = dot(n, w->search, w->image);
        if (!(curve > 0))
            return;
        for (size_t e = 0; e < n; e++) {
            w->step[e] += now / curve * w->search[e];
            w->rest[e] -= now / curve * w->image[e];
        }
        precondition(p->r, w, w->rest, w->solved);
        double next = dot(n, w->rest, w->solved);
        for (size_t e = 0; e < n; e++)
            w->search[e] = w->solved[e] + next / now * w->search[e];
        now = next;
    }
}

/* Changes a pose by a fraction of a step. */
static void move_pose(bool affine, const double *pose, const double *step, double by, double *out) {
    if (affine) {
        for (size_t e = 0; e < 12; e++)
            out[e % 4 < 3 ? e / 4 * 3 + e % 4 : 9 + e / 4] =
                pose[e % 4 < 3 ? e / 4 * 3 + e % 4 : 9 + e / 4] + by * step[e];
        return;
    }
    double axis[3] = {by * step[0], by * step[1], by * step[2]}, angle = px_normalize3(axis), s = px_sin(angle),
           c = px_cos(angle);
    for (size_t column = 0; column < 3; column++) {
        double v[3] = {pose[column], pose[3 + column], pose[6 + column]}, turn[3], along = px_dot3d(axis, v) * (1 - c);
        px_cross3d(axis, v, turn);
        for (size_t x = 0; x < 3; x++)
            out[3 * x + column] = v[x] * c + turn[x] * s + axis[x] * along;
    }
    for (size_t x = 0; x < 3; x++)
        out[9 + x] = pose[9 + x] + by * step[3 + x];
}

static pelt_result begin_frame(const polish *p, px_arena *scratch, frame_work *w) {
    size_t N = p->r->point_count, P = p->r->bone_count, D = freedom(p->r);
    w->arms = PX_NEW(scratch, double, 3 * K * N);
    w->residuals = PX_NEW(scratch, double, 3 * N);
    w->directions = PX_NEW(scratch, double, 3 * N);
    w->strengths = PX_NEW(scratch, double, 2 * N);
    w->blocks = PX_NEW(scratch, double, D *D *P);
    w->step = PX_NEW(scratch, double, D *P);
    w->rest = PX_NEW(scratch, double, D *P);
    w->search = PX_NEW(scratch, double, D *P);
    w->image = PX_NEW(scratch, double, D *P);
    w->solved = PX_NEW(scratch, double, D *P);
    w->poses = PX_NEW(scratch, double, 12 * P);
    return w->arms && w->residuals && w->directions && w->strengths && w->blocks && w->step && w->rest && w->search &&
                   w->image && w->solved && w->poses
               ? PELT_OK
               : PELT_ERROR_MEMORY;
}

static pelt_result polish_frames(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    polish *p = user;
    size_t P = p->r->bone_count;
    px_arena *scratch = px_arena_create(p->r->context);
    frame_work w;
    pelt_result result = scratch ? begin_frame(p, scratch, &w) : PELT_ERROR_MEMORY;
    for (size_t k = first; k < first + count && result == PELT_OK; k++) {
        double *poses = p->r->poses + 12 * P * k, most, tried;
        double old = frame_residuals(p, &w, k, poses, &most) + smooth_cost(p, k, poses);
        set_up(p, k, &w);
        find_step(p, k, &w);
        p->frame_most[k] = most;
        for (double by = 1; by > 0.1; by /= 2) {
            for (size_t j = 0; j < P; j++)
                move_pose(p->r->affine, poses + 12 * j, w.step + freedom(p->r) * j, by, w.poses + 12 * j);
            if (frame_residuals(p, &w, k, w.poses, &tried) + smooth_cost(p, k, w.poses) < old) {
                memcpy(poses, w.poses, 12 * P * sizeof *poses);
                p->frame_most[k] = tried;
                break;
            }
        }
    }
    px_arena_destroy(scratch);
    return result;
}

/* ---- Rest position and weights of a point ----------------------------------------------------------------- */

/* Places of the point by each of its bones, [frame][4][3], and its residuals. Returns the cost. */
static double point_residuals(const polish *p, size_t i, const double *rest, const double *weights, double *residuals,
                              double *most) {
    const px_tight *r = p->r;
    double sum = 0;
    *most = 0;
    for (size_t k = 0; k < r->frame_count; k++) {
        const float *x = r->targets + 3 * (i * r->frame_count + k);
        double *e = residuals + 3 * k;
        for (size_t c = 0; c < 3; c++)
            e[c] = (double)x[c];
        for (size_t a = 0; a < K; a++) {
            if (!(weights[a] > 0))
                continue;
            size_t j = r->bones[K * i + a];
            const double *pose = r->poses + 12 * (k * r->bone_count + j), *g = r->pivots + 3 * j;
            double q[3] = {rest[0] - g[0], rest[1] - g[1], rest[2] - g[2]};
            for (size_t c = 0; c < 3; c++)
                e[c] -= weights[a] * (px_dot3d(pose + 3 * c, q) + pose[9 + c]);
        }
        double square = px_dot3d(e, e);
        *most = px_fmax(*most, square);
        sum += cost(p, square);
    }
    return sum;
}

/* Newton step for rest position and weights; the weight `held` is 1 − the others. False: none. */
static bool point_step(const polish *p, size_t i, const double *rest, const double *weights, const double *residuals,
                       size_t held, double *move, double *change) {
    const px_tight *r = p->r;
    size_t used[K], n = 3;
    double a[36] = {0}, b[6] = {0};
    for (size_t s = 0; s < K; s++)
        if (weights[s] > 0 && s != held)
            used[n++ - 3] = s;
    for (size_t k = 0; k < r->frame_count; k++) {
        double columns[6][3] = {{0}}, places[K][3] = {{0}};
        for (size_t s = 0; s < K; s++) {
            if (!(weights[s] > 0))
                continue;
            size_t j = r->bones[K * i + s];
            const double *pose = r->poses + 12 * (k * r->bone_count + j), *g = r->pivots + 3 * j;
            double q[3] = {rest[0] - g[0], rest[1] - g[1], rest[2] - g[2]};
            for (size_t c = 0; c < 3; c++) {
                places[s][c] = px_dot3d(pose + 3 * c, q) + pose[9 + c];
                for (size_t x = 0; x < 3; x++)
                    columns[x][c] += weights[s] * pose[3 * c + x];
            }
        }
        for (size_t s = 3; s < n; s++)
            for (size_t c = 0; c < 3; c++)
                columns[s][c] = places[used[s - 3]][c] - places[held][c];
        const double *e = residuals + 3 * k;
        double square = px_dot3d(e, e), pull = penalty(p, square), u = pull + FLOOR;
        double v = square > 0 ? (p->power - 2) * pull / square : 0;
        for (size_t s = 0; s < n; s++) {
            double along = px_dot3d(columns[s], e);
            b[s] += u * along;
            for (size_t t = 0; t <= s; t++)
                a[s * n + t] += u * px_dot3d(columns[s], columns[t]) + v * along * px_dot3d(columns[t], e);
        }
    }
    for (size_t s = 0; s < n; s++)
        a[s * n + s] *= 1 + 1e-6;
    if (!factor(n, a))
        return false;
    substitute(n, a, b);
    memcpy(move, b, 3 * sizeof *move);
    memset(change, 0, K * sizeof *change);
    for (size_t s = 3; s < n; s++) {
        change[used[s - 3]] = b[s];
        change[held] -= b[s];
    }
    return true;
}

/* Rest position and weights of a point. */
typedef struct point_state {
    double rest[3], weights[K];
    double cost, most; /* of the residuals at hand; largest squared distance */
} point_state;

static void measure_point(const polish *p, size_t i, point_state *s, double *residuals) {
    s->cost = point_residuals(p, i, s->rest, s->weights, residuals, &s->most);
}

/* Newton steps with the bones that the point has; the residuals are those of *s, before and after. */
static void solve_point(const polish *p, size_t i, int turns, point_state *s, double *residuals) {
    for (int turn = 0; turn < turns; turn++) {
        double move[3], change[K], least = 1;
        size_t held = 0;
        for (size_t a = 1; a < K; a++)
            held = s->weights[a] > s->weights[held] ? a : held;
        if (!point_step(p, i, s->rest, s->weights, residuals, held, move, change))
            return;
        for (size_t a = 0; a < K; a++)
            if (change[a] < 0)
                least = px_fmin(least, s->weights[a] / -change[a]);
        bool better = false;
        for (double by = least; by > 0.05 * least && !better; by /= 2) {
            point_state next = *s;
            for (size_t c = 0; c < 3; c++)
                next.rest[c] += by * move[c];
            for (size_t a = 0; a < K; a++)
                next.weights[a] = px_fmax(next.weights[a] + by * change[a], 0);
            measure_point(p, i, &next, residuals);
            better = next.cost < s->cost;
            if (better)
                *s = next;
        }
        if (!better) {
            measure_point(p, i, s, residuals);
            return;
        }
    }
}

/* The bone whose weight would lower the cost most, and that weight, by a Newton step along w ← (1 − z) w + z e_j; false: none does. The step
 * takes the curvature of u alone. */
static bool find_bone(const polish *p, size_t i, const point_state *s, const double *residuals, uint16_t *bone,
                      double *weight) {
    const px_tight *r = p->r;
    double best = 0;
    for (size_t j = 0; j < r->bone_count; j++) {
        const double *g = r->pivots + 3 * j;
        double q[3] = {s->rest[0] - g[0], s->rest[1] - g[1], s->rest[2] - g[2]}, slope = 0, curve = 0;
        bool used = false;
        for (size_t a = 0; a < K; a++)
            used |= s->weights[a] > 0 && r->bones[K * i + a] == j;
        for (size_t k = 0; k < r->frame_count && !used; k++) {
            const float *x = r->targets + 3 * (i * r->frame_count + k);
            const double *pose = r->poses + 12 * (k * r->bone_count + j), *e = residuals + 3 * k;
            double way[3], square = px_dot3d(e, e), pull = penalty(p, square), u = pull + FLOOR;
            for (size_t c = 0; c < 3; c++) /* from where the point is to where the bone has it */
                way[c] = px_dot3d(pose + 3 * c, q) + pose[9 + c] - ((double)x[c] - e[c]);
            double along = px_dot3d(way, e);
            slope += u * along;
            curve += u * px_dot3d(way, way) + (square > 0 ? (p->power - 2) * pull / square * along * along : 0);
        }
        if (slope > 0 && slope * slope > best * curve) {
            best = slope * slope / curve;
            *bone = (uint16_t)j;
            *weight = px_fmin(slope / curve, 0.5);
        }
    }
    return best > 0;
}

/* Gives the point another bone, in the place of the one with the least weight unless a place is free, where that lowers the cost. */
static void exchange_bone(const polish *p, size_t i, point_state *s, double *residuals) {
    const px_tight *r = p->r;
    point_state next = *s;
    size_t place = 0;
    uint16_t bone = 0;
    double weight = 0, sum = 0;
    if (!find_bone(p, i, s, residuals, &bone, &weight))
        return;
    for (size_t a = 1; a < r->influence_count; a++)
        place = s->weights[a] < s->weights[place] ? a : place;
    next.weights[place] = 0;
    for (size_t a = 0; a < K; a++)
        sum += next.weights[a];
    if (!(sum > 0))
        return;
    for (size_t a = 0; a < K; a++)
        next.weights[a] *= (1 - weight) / sum;
    next.weights[place] = weight;
    uint16_t *slot = &r->bones[K * i + place], kept = *slot;
    *slot = bone;
    measure_point(p, i, &next, residuals);
    solve_point(p, i, EXCHANGE_TURNS, &next, residuals);
    if (next.cost < s->cost)
        *s = next;
    else
        *slot = kept;
}

static void polish_point(const polish *p, size_t i, double *residuals) {
    const px_tight *r = p->r;
    point_state s;
    for (size_t c = 0; c < 3; c++)
        s.rest[c] = (double)r->rest[3 * i + c];
    for (size_t a = 0; a < K; a++)
        s.weights[a] = (double)r->weights[K * i + a];
    polish own = *p;
    measure_point(p, i, &s, residuals);
    p->point_most[i] = s.most;
    if (s.most < p->enough * p->enough)
        return;
    own.largest = px_fmax(sqrt(s.most), 1e-12);
    measure_point(&own, i, &s, residuals);
    solve_point(&own, i, 2, &s, residuals);
    if (p->exchange && s.most > EXCHANGE_SHARE * EXCHANGE_SHARE * p->largest * p->largest)
        exchange_bone(&own, i, &s, residuals);
    double sum = 0;
    for (size_t a = 0; a < K; a++)
        sum += s.weights[a];
    for (size_t c = 0; c < 3; c++)
        r->rest[3 * i + c] = (float)s.rest[c];
    for (size_t a = 0; a < K; a++)
        r->weights[K * i + a] = (float)(s.weights[a] / sum);
    p->point_most[i] = s.most;
}

static pelt_result polish_points(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const polish *p = user;
    double *residuals = PX_ALLOC(p->r->context, double, 3 * (size_t)p->r->frame_count);
    for (size_t i = first; residuals && i < first + count; i++)
        polish_point(p, i, residuals);
    px_free(p->r->context, residuals);
    return residuals ? PELT_OK : PELT_ERROR_MEMORY;
}

static double largest_of(const double *squares, size_t count) {
    double most = 0;
    for (size_t e = 0; e < count; e++)
        most = px_fmax(most, squares[e]);
    return px_fmax(sqrt(most), 1e-12);
}

/* p of each round. It rises slowly: a high power pulls at few points, and a fit that begins with it moves little. */
static const int powers[] = {4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64};

/* A fit ends where its distance after a round exceeds the bound by a factor of `hopeless`: the rounds after it lower the distance to 0.27 of
 * that of the first round at best, 0.35 of the second, 0.46, 0.57, 0.66, 0.73, 0.79 … (horse, samba and cow, 6 to 64 bones); `usual`: what they leave
 * most often. */
static const double hopeless[] = {4.0,  3.0,  2.3,  1.85, 1.6,  1.42, 1.32, 1.24,
                                  1.19, 1.15, 1.12, 1.09, 1.07, 1.05, 1.03, 1.02},
                    usual[] = {0.38, 0.51, 0.60, 0.67, 0.73, 0.77, 0.81, 0.84,
                               0.87, 0.90, 0.92, 0.94, 0.96, 0.97, 0.98, 0.99};

pelt_result px_tight_polish(px_tight *r, uint32_t rounds, double bound) {
    polish p = {.r = r, .power = 2, .largest = 1};
    p.frame_most = PX_NEW(r->arena, double, r->frame_count);
    p.point_most = PX_NEW(r->arena, double, r->point_count);
    size_t numbers = 12 * (size_t)r->bone_count * r->frame_count;
    if (r->affine) {
        p.masses = PX_NEW(r->arena, double, 16 * (size_t)r->bone_count);
        p.means = PX_NEW(r->arena, double, numbers);
        p.first = PX_NEW(r->arena, double, numbers);
    }
    if (!p.frame_most || !p.point_most || (r->affine && (!p.masses || !p.means || !p.first)))
        return PELT_ERROR_MEMORY;
    if (r->affine)
        memcpy(p.first, r->poses, numbers * sizeof *p.first);
    for (uint32_t round = 0; round <= rounds; round++) {
        p.power = round < PX_COUNT(powers) ? powers[round] : powers[PX_COUNT(powers) - 1];
        p.exchange = round > 0 && round <= EXCHANGE_ROUNDS;
        PX_TRY(px_parallel(r->context, NULL, r->point_count, 64, polish_points, &p));
        p.largest = largest_of(p.point_most, r->point_count);
        r->distance = r->expected = p.largest;
        if (round < rounds && round < PX_COUNT(hopeless) && r->distance > hopeless[round] * bound) {
            r->expected *= usual[round];
            break;
        }
        if (round == rounds)
            break;
        if (p.masses)
            set_smoothness(&p);
        PX_TRY(px_parallel(r->context, NULL, r->frame_count, 1, polish_frames, &p));
    }
    return PELT_OK;
}

pelt_result px_tight_refine(px_tight *r, double enough) {
    static const int refining[] = {24, 64};
    polish p = {.r = r, .largest = enough, .enough = enough, .exchange = true};
    pelt_result result = (p.point_most = PX_ALLOC(r->context, double, r->point_count)) ? PELT_OK : PELT_ERROR_MEMORY;
    for (size_t n = 0; n < PX_COUNT(refining) && result == PELT_OK; n++) {
        p.power = refining[n];
        result = px_parallel(r->context, NULL, r->point_count, 64, polish_points, &p);
    }
    px_free(r->context, p.point_most);
    return result;
}
