/* Vertices of few bytes: rest positions and weights on a grid, chosen for the encoder.
 *
 * meshoptimizer stores each byte of a vertex as its difference from the vertex before, in groups of 16 that take 0, 2, 4
 * or 8 bits a byte. Most vertices are far within the bound: among the choices that keep it, the one is taken whose
 * differences are cheapest. Weights are tried first as those of the vertex before, which cost nothing, then as solved for
 * its bones, then as the vertex's own with fewer and fewer bones. For each the rest position is solved, and moved towards
 * the vertex before while the bound holds. Blocks of BLOCK vertices are independent.
 */
#include "budget/tight.h"

#include "core/math3.h"

#include <math.h>
#include <stdlib.h>

#define K            PX_TIGHT_INFLUENCES
#define BLOCK        1024u
#define REFINE_SHARE 0.8 /* of the bound: points farther off are solved again for the bones as they are in the file */
#define REPAIR_MAX   1.5 /* times the bound: points farther off are given up */
#define REPAIR_TURNS 48
#define GRID_MAX     8388600 /* largest coordinate: 24 bits with sign */

/* A vertex as it is stored. */
typedef struct code {
    int32_t place[3];
    uint16_t bones[K]; /* 0 where the weight is */
    int32_t weights[K];
} code;

typedef struct vertex_job {
    px_tight *r;
    const px_vertex_grid *grid;
    const float *matrices; /* [bone][frame][12] */
    double *point_most;    /* [point] */
} vertex_job;

/* Scratch of a block. */
typedef struct block_work {
    const vertex_job *job;
    const float *targets; /* [frame][3] of the point */
    float *blend;         /* [frame][12] matrices of the weights at hand */
} block_work;

/* ---- Bits ------------------------------------------------------------------------------------------------- */

static double byte_cost(int32_t difference) {
    uint32_t size = (uint32_t)abs(difference);
    return size == 0 ? 1 : size == 1 ? 2.2 : size <= 7 ? 4.5 : 9;
}

static double position_cost(const code *c, const code *before) {
    double sum = 0;
    for (size_t x = 0; x < 3; x++) {
        sum += byte_cost((int8_t)(uint8_t)((uint32_t)c->place[x] - (uint32_t)before->place[x]));
        sum += byte_cost((c->place[x] >> 8) - (before->place[x] >> 8));
    }
    return sum;
}

static double weight_cost(const code *c, const code *before) {
    double sum = 0;
    for (size_t a = 0; a < K; a++) {
        sum += byte_cost((int8_t)(uint8_t)(c->bones[a] - before->bones[a]));
        sum += byte_cost((int8_t)(uint8_t)(uint32_t)(c->weights[a] - before->weights[a]));
    }
    return sum;
}

/* ---- Distances -------------------------------------------------------------------------------------------- */

static void blend(const block_work *w, const code *c) {
    const px_tight *r = w->job->r;
    size_t F = r->frame_count;
    float scale = ldexpf(1, -w->job->grid->weight_bits);
    memset(w->blend, 0, 12 * F * sizeof *w->blend);
    for (size_t a = 0; a < K; a++) {
        if (c->weights[a] == 0)
            continue;
        const float *m = w->job->matrices + 12 * F * c->bones[a];
        float weight = scale * (float)c->weights[a];
        for (size_t e = 0; e < 12 * F; e++)
            w->blend[e] += weight * m[e];
    }
}

static double distance_at(const block_work *w, const int32_t place[3]) {
    double step = ldexp(1, w->job->grid->exponent);
    float p[3] = {(float)(place[0] * step), (float)(place[1] * step), (float)(place[2] * step)}, most = 0;
    for (size_t k = 0; k < w->job->r->frame_count; k++) {
        const float *m = w->blend + 12 * k, *x = w->targets + 3 * k;
        float a = m[0] * p[0] + m[1] * p[1] + m[2] * p[2] + m[3] - x[0];
        float b = m[4] * p[0] + m[5] * p[1] + m[6] * p[2] + m[7] - x[1];
        float c = m[8] * p[0] + m[9] * p[1] + m[10] * p[2] + m[11] - x[2], square = a * a + b * b + c * c;
        most = square > most ? square : most;
    }
    return sqrt((double)most);
}

/* ---- Rest position ---------------------------------------------------------------------------------------- */

/* Solves for the rest position: least squares, then `turns` Newton steps on the 10-norm. */
static void solve_position(const block_work *w, int turns, double p[3]) {
    for (int turn = 0; turn <= turns; turn++) {
        double g[6] = {0}, h[3] = {0}, most = 1e-30;
        for (size_t k = 0; turn > 0 && k < w->job->r->frame_count; k++) {
            const float *m = w->blend + 12 * k, *x = w->targets + 3 * k;
            double square = 0;
            for (size_t c = 0; c < 3; c++) {
                double e = (double)m[4 * c] * p[0] + (double)m[4 * c + 1] * p[1] + (double)m[4 * c + 2] * p[2] +
                           (double)m[4 * c + 3] - (double)x[c];
                square += e * e;
            }
            most = px_fmax(most, square);
        }
        for (size_t k = 0; k < w->job->r->frame_count; k++) {
            const float *m = w->blend + 12 * k, *x = w->targets + 3 * k;
            double e[3], square = 0, u = 1, v = 0;
            for (size_t c = 0; c < 3; c++) {
                e[c] = (double)x[c] - (double)m[4 * c + 3];
                if (turn > 0)
                    e[c] -= (double)m[4 * c] * p[0] + (double)m[4 * c + 1] * p[1] + (double)m[4 * c + 2] * p[2];
                square += e[c] * e[c];
            }
            if (turn > 0 && square > 0) {
                double ratio = square / most;
                u = ratio * ratio * ratio * ratio; /* d^8 */
                v = 8 * u / square;
                u += 1e-3;
            }
            double along[3];
            for (size_t c = 0; c < 3; c++)
                along[c] = (double)m[c] * e[0] + (double)m[4 + c] * e[1] + (double)m[8 + c] * e[2];
            for (size_t c = 0, n = 0; c < 3; c++) {
                h[c] += u * along[c];
                for (size_t d = c; d < 3; d++, n++)
                    g[n] += u * ((double)m[c] * (double)m[d] + (double)m[4 + c] * (double)m[4 + d] +
                                 (double)m[8 + c] * (double)m[8 + d]) +
                            v * along[c] * along[d];
            }
        }
        /* the inverse of a symmetric 3×3 matrix by cofactors */
        double a = g[3] * g[5] - g[4] * g[4], b = g[2] * g[4] - g[1] * g[5], c = g[1] * g[4] - g[2] * g[3];
        double determinant = g[0] * a + g[1] * b + g[2] * c, trace = g[0] + g[3] + g[5];
        if (!(determinant > 1e-12 * trace * trace * trace))
            return;
        double d = g[0] * g[5] - g[2] * g[2], e = g[1] * g[2] - g[0] * g[4], f = g[0] * g[3] - g[1] * g[1];
        double out[3] = {a * h[0] + b * h[1] + c * h[2], b * h[0] + d * h[1] + e * h[2],
                         c * h[0] + e * h[1] + f * h[2]};
        for (size_t x = 0; x < 3; x++)
            p[x] = (turn > 0 ? p[x] : 0) + out[x] / determinant;
    }
}

static void round_position(const block_work *w, const double p[3], int32_t place[3]) {
    for (size_t x = 0; x < 3; x++)
        place[x] = (int32_t)px_fmin(px_fmax(nearbyint(ldexp(p[x], -w->job->grid->exponent)), -GRID_MAX), GRID_MAX);
}

/* Steps to the neighbour on the grid with the least distance while that falls. */
static double descend(const block_work *w, int32_t place[3], double distance) {
    for (int turn = 0; turn < 4 && distance > w->job->grid->bound; turn++) {
        size_t best = 6;
        for (size_t n = 0; n < 6; n++) {
            int32_t next[3] = {place[0], place[1], place[2]};
            next[n / 2] += n % 2 ? 1 : -1;
            double tried = distance_at(w, next);
            if (tried < distance) {
                distance = tried;
                best = n;
            }
        }
        if (best == 6)
            break;
        place[best / 2] += best % 2 ? 1 : -1;
    }
    return distance;
}

/* Moves coordinates to cheaper differences while the bound holds. */
static double cheapen(const block_work *w, code *c, const code *before, double distance) {
    static const int32_t limits[] = {0, 1, 7};
    for (size_t x = 0; x < 3; x++) {
        int32_t difference = c->place[x] - before->place[x], size = abs(difference);
        for (size_t n = 0; n < PX_COUNT(limits) && limits[n] < size; n++) {
            if (size - limits[n] > 3)
                continue;
            int32_t kept = c->place[x];
            c->place[x] = before->place[x] + (difference < 0 ? -limits[n] : limits[n]);
            double tried = distance_at(w, c->place);
            if (tried <= w->job->grid->bound) {
                distance = tried;
                break;
            }
            c->place[x] = kept;
        }
    }
    return distance;
}

/* Finds the cheapest place for the weights at hand. Returns the distance. */
static double find_place(const block_work *w, code *c, const code *before) {
    double p[3] = {0}, bound = w->job->grid->bound, distance;
    blend(w, c);
    solve_position(w, 0, p);
    round_position(w, p, c->place);
    distance = distance_at(w, c->place);
    if (distance > bound && distance < 3 * bound) {
        solve_position(w, 4, p);
        round_position(w, p, c->place);
        distance = descend(w, c->place, distance_at(w, c->place));
    }
    return distance <= bound ? cheapen(w, c, before, distance) : distance;
}

/* ---- Weights ---------------------------------------------------------------------------------------------- */

/* Rounds weights to the grid; the largest takes the rest. */
static void round_weights(const double *weights, size_t count, int32_t total, int32_t *out) {
    size_t largest = 0;
    int32_t rest = total;
    for (size_t a = 1; a < count; a++)
        largest = weights[a] > weights[largest] ? a : largest;
    for (size_t a = 0; a < count; a++) {
        out[a] = a == largest ? 0 : (int32_t)(weights[a] * total + 0.5);
        out[a] = out[a] > rest ? rest : out[a];
        rest -= out[a];
    }
    out[largest] = rest;
}

/* Least squares for weights [count] of bones with sum 1, for rest position p: the negative ones are removed one after
 * another. */
static void solve_weights(const block_work *w, const uint16_t *bones, size_t count, const double p[3],
                          double *weights) {
    size_t F = w->job->r->frame_count;
    bool used[K];
    double gram[K][K] = {{0}};
    for (size_t k = 0; k < F; k++) {
        double e[K][3];
        for (size_t a = 0; a < count; a++) {
            const float *m = w->job->matrices + 12 * (F * bones[a] + k);
            for (size_t c = 0; c < 3; c++)
                e[a][c] = (double)m[4 * c] * p[0] + (double)m[4 * c + 1] * p[1] + (double)m[4 * c + 2] * p[2] +
                          (double)m[4 * c + 3] - (double)w->targets[3 * k + c];
        }
        for (size_t a = 0; a < count; a++)
            for (size_t b = 0; b <= a; b++)
                gram[a][b] += px_dot3d(e[a], e[b]);
    }
    double trace = 0;
    for (size_t a = 0; a < count; a++) {
        used[a] = true;
        trace += gram[a][a];
    }
    for (;;) { /* gram · λ = 1, then λ is scaled to sum 1 */
        double l[K][K] = {{0}}, y[K], sum = 0;
        size_t worst = K;
        for (size_t a = 0; a < count; a++) {
            weights[a] = 0;
            if (!used[a])
                continue;
            for (size_t b = 0; b <= a; b++) {
                if (!used[b])
                    continue;
                double s = gram[a][b] + (a == b ? 1e-9 * trace + 1e-30 : 0);
                for (size_t c = 0; c < b; c++)
                    s -= used[c] ? l[a][c] * l[b][c] : 0;
                l[a][b] = a == b ? sqrt(px_fmax(s, 1e-30)) : s / l[b][b];
            }
            y[a] = 1;
            for (size_t b = 0; b < a; b++)
                y[a] -= used[b] ? l[a][b] * y[b] : 0;
            y[a] /= l[a][a];
        }
        for (size_t a = count; a-- > 0;) {
            if (!used[a])
                continue;
            weights[a] = y[a];
            for (size_t b = a + 1; b < count; b++)
                weights[a] -= used[b] ? l[b][a] * weights[b] : 0;
            weights[a] /= l[a][a];
            sum += weights[a];
        }
        for (size_t a = 0; a < count; a++) {
            weights[a] /= sum;
            if (used[a] && weights[a] < 0 && (worst == K || weights[a] < weights[worst]))
                worst = a;
        }
        if (worst == K)
            return;
        used[worst] = false;
    }
}

/* Gives bones that the vertex before has too the same slots, as the writer does. */
static void align(code *c, const code *before) {
    code in = *c;
    bool taken[K] = {false}, placed[K] = {false};
    memset(c->bones, 0, sizeof c->bones);
    memset(c->weights, 0, sizeof c->weights);
    for (int pass = 0; pass < 2; pass++)
        for (size_t a = 0; a < K; a++)
            for (size_t s = 0; s < K && !placed[a]; s++)
                if (in.weights[a] > 0 && !taken[s] &&
                    (pass == 1 || (before->weights[s] > 0 && before->bones[s] == in.bones[a]))) {
                    c->bones[s] = in.bones[a];
                    c->weights[s] = in.weights[a];
                    taken[s] = placed[a] = true;
                }
}

/* ---- Points ----------------------------------------------------------------------------------------------- */

typedef struct choice {
    code best;
    double cost, distance;
    bool keeps; /* it keeps the bound */
} choice;

static void try_code(const block_work *w, code c, const code *before, choice *out) {
    align(&c, before);
    double weights = weight_cost(&c, before);
    if (out->keeps && weights + 6 >= out->cost) /* positions cost 6 at least */
        return;
    double distance = find_place(w, &c, before), cost = weights + position_cost(&c, before);
    bool keeps = distance <= w->job->grid->bound;
    bool better = keeps == out->keeps ? (keeps ? cost < out->cost : distance < out->distance) : keeps;
    if (better)
        *out = (choice){c, cost, distance, keeps};
}

static code make_code(const block_work *w, const uint16_t *bones, const double *weights, size_t count) {
    code c = {{0}, {0}, {0}};
    round_weights(weights, count, 1 << w->job->grid->weight_bits, c.weights);
    for (size_t a = 0; a < count; a++)
        c.bones[a] = c.weights[a] > 0 ? bones[a] : 0;
    return c;
}

/* Steps to the neighbour with the least distance, over coordinates and pairs of weights, until the bound is kept or no neighbour is nearer. */
static void repair(const block_work *w, const code *before, choice *out) {
    for (int turn = 0; turn < REPAIR_TURNS && out->distance > w->job->grid->bound; turn++) {
        code best = out->best;
        double least = out->distance;
        for (size_t n = 0; n < 6 + K * K; n++) {
            code next = out->best;
            size_t from = n < 6 ? 0 : (n - 6) / K, to = n < 6 ? 0 : (n - 6) % K;
            if (n < 6)
                next.place[n / 2] += n % 2 ? 1 : -1;
            else if (from == to || next.weights[from] <= 1 || next.weights[to] == 0)
                continue;
            else {
                next.weights[from]--;
                next.weights[to]++;
            }
            if (n == 0 || n >= 6)
                blend(w, &next);
            double tried = distance_at(w, next.place);
            if (tried < least) {
                least = tried;
                best = next;
            }
        }
        if (!(least < out->distance))
            return;
        out->best = best;
        out->distance = least;
    }
    out->keeps = out->distance <= w->job->grid->bound;
    out->cost = weight_cost(&out->best, before) + position_cost(&out->best, before);
}

static choice choose(const block_work *w, size_t i, const code *before, bool first) {
    const px_tight *r = w->job->r;
    double rest[3], weights[K];
    uint16_t bones[K];
    size_t count = 0;
    choice out = {.distance = INFINITY};
    if (!first)
        try_code(w, *before, before, &out);
    for (size_t c = 0; c < 3; c++)
        rest[c] = (double)r->rest[3 * i + c];
    if (!first) {
        for (size_t a = 0; a < K; a++)
            if (before->weights[a] > 0)
                bones[count++] = before->bones[a];
        if (count > 1) {
            solve_weights(w, bones, count, rest, weights);
            try_code(w, make_code(w, bones, weights, count), before, &out);
        }
    }
    count = 0;
    for (size_t a = 0; a < K; a++)
        if (r->weights[K * i + a] > 0) {
            bones[count] = r->bones[K * i + a];
            weights[count++] = (double)r->weights[K * i + a];
        }
    for (; count > 0; count--) {
        try_code(w, make_code(w, bones, weights, count), before, &out);
        size_t least = 0;
        for (size_t a = 1; a < count; a++)
            least = weights[a] < weights[least] ? a : least;
        for (size_t a = least; a + 1 < count; a++)
            bones[a] = bones[a + 1];
        if (count > 1)
            solve_weights(w, bones, count - 1, rest, weights);
    }
    if (!out.keeps && out.distance < REPAIR_MAX * w->job->grid->bound)
        repair(w, before, &out);
    return out;
}

static pelt_result choose_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const vertex_job *job = user;
    px_tight *r = job->r;
    size_t F = r->frame_count;
    block_work w = {.job = job, .blend = PX_ALLOC(r->context, float, 12 * F)};
    code before = {{0}, {0}, {0}};
    for (size_t n = first; w.blend && n < first + count; n++) {
        size_t i = r->order[n];
        w.targets = r->targets + 3 * F * i;
        choice made = choose(&w, i, &before, n == first);
        before = made.best;
        job->point_most[i] = made.distance;
        for (size_t c = 0; c < 3; c++)
            r->rest[3 * i + c] = (float)ldexp(made.best.place[c], job->grid->exponent);
        for (size_t a = 0; a < K; a++) {
            r->bones[K * i + a] = made.best.bones[a];
            r->weights[K * i + a] = ldexpf((float)made.best.weights[a], -job->grid->weight_bits);
        }
    }
    bool enough = w.blend != NULL;
    px_free(r->context, w.blend);
    return enough ? PELT_OK : PELT_ERROR_MEMORY;
}

/* Matrices of the bones in all frames. */
static pelt_result read_matrices(const px_tight *r, const pelt_model *model, const pelt_model *written, float *out) {
    size_t joints = written->skeleton.joint_count, P = r->bone_count, F = r->frame_count, k = 0;
    uint32_t motion = 0;
    pelt_transform *locals = PX_ALLOC(r->context, pelt_transform, joints);
    pelt_affine *globals = PX_ALLOC(r->context, pelt_affine, joints);
    pelt_affine *palette = PX_ALLOC(r->context, pelt_affine, written->skin.bone_count);
    bool enough = locals && globals && palette && written->skin.bone_count >= P;
    for (uint32_t n = 0; n < model->clip_count && enough; n++) {
        const pelt_clip *clip = &model->clips[n];
        if (clip->frame_count == 0)
            continue;
        const pelt_motion *played = motion < written->motion_count ? &written->motions[motion++] : NULL;
        for (uint32_t f = 0; f < clip->frame_count; f++, k++) {
            pelt_motion_sample(written, played, clip->times[f], locals, NULL);
            pelt_skeleton_globals(&written->skeleton, locals, globals);
            pelt_skin_palette(&written->skin, globals, palette);
            for (size_t j = 0; j < P; j++)
                memcpy(out + 12 * (j * F + k), palette[j].m, 12 * sizeof *out);
        }
    }
    px_free(r->context, locals);
    px_free(r->context, globals);
    px_free(r->context, palette);
    return enough ? PELT_OK : PELT_ERROR_MEMORY;
}

/* Solves for points that rounded bones leave far off. */
static pelt_result refine(px_tight *r, const float *matrices, double enough) {
    size_t P = r->bone_count, F = r->frame_count;
    px_tight rounded = *r; /* with the vertices of r */
    rounded.poses = PX_ALLOC(r->context, double, 12 * P * F);
    for (size_t j = 0; j < P && rounded.poses; j++)
        for (size_t k = 0; k < F; k++) {
            double *pose = rounded.poses + 12 * (k * P + j);
            const float *m = matrices + 12 * (j * F + k);
            const double *g = r->pivots + 3 * j;
            for (size_t x = 0; x < 3; x++) {
                for (size_t c = 0; c < 3; c++)
                    pose[3 * x + c] = (double)m[4 * x + c];
                pose[9 + x] = px_dot3d(pose + 3 * x, g) + (double)m[4 * x + 3];
            }
        }
    pelt_result result = rounded.poses ? px_tight_refine(&rounded, enough) : PELT_ERROR_MEMORY;
    px_free(r->context, rounded.poses);
    return result;
}

pelt_result px_tight_vertices(px_tight *r, const pelt_model *model, const pelt_model *written,
                              const px_vertex_grid *grid, double *distance) {
    float *matrices = PX_ALLOC(r->context, float, 12 * (size_t)r->bone_count * r->frame_count);
    vertex_job job = {
        .r = r, .grid = grid, .matrices = matrices, .point_most = PX_ALLOC(r->context, double, r->point_count)};
    pelt_result result = matrices && job.point_most ? read_matrices(r, model, written, matrices) : PELT_ERROR_MEMORY;
    if (result == PELT_OK)
        result = refine(r, matrices, REFINE_SHARE * grid->bound);
    if (result == PELT_OK)
        result = px_parallel(r->context, NULL, r->point_count, BLOCK, choose_block, &job);
    *distance = 0;
    for (size_t i = 0; result == PELT_OK && i < r->point_count; i++)
        *distance = px_fmax(*distance, job.point_most[i]);
    px_free(r->context, matrices);
    px_free(r->context, job.point_most);
    return result;
}
