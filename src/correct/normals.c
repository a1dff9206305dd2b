/* Corrections of normals (James and Twigg 2005, eq. 13): n = G (ñ + Σ_r q_rk d_r), normalised, with G the blended
 * transform itself, as engines skin normals, or its inverse transpose (desc.normal_rule). Modes share the weights of
 * the positions, or have weights of their own, or both.
 *
 * Target normals are those of the clips' triangles; where the mesh's normals differ between welded vertices, edges are
 * hard and stay hard. Weights of their own are the leading right singular vectors of the missing displacements at rest,
 * G⁻¹n / |G⁻¹n| − ñ, less their part in the span of shared weights. Displacements are the projections on the weights
 * (REST, the paper's truncated SVD), or these improved by Levenberg-Marquardt steps on the squared angles after
 * skinning, for all modes of a vertex at once (SKINNED); a step is kept only if it reduces the vertex's error over all
 * frames.
 *
 *   G  matrices     ñ  bases     n  wanted     q  normal_weights     d  places */
#include "core/direction.h"
#include "core/math3.h"
#include "core/shading.h"
#include "correct/correct.h"

#include <math.h>

#define STEPS       8u   /* per vertex */
#define TRIES       3u   /* per step, with increasing damping */
#define MIN_GAIN    1e-3 /* stop when a step reduces the error by less than this fraction */
#define FRAME_BLOCK 4u
/* G⁻¹ replaces singular values below this fraction of the largest. */
#define MIN_SINGULAR_RATIO 0.1
/* Modes that displace normals by less than this (RMS, of unit normals) are rounding errors. */
#define MIN_DISPLACEMENT 1e-6

typedef struct normal_work {
    px_correction *c;
    px_shading shading;
    float *wanted;    /* [class][frame][3] target normals */
    double *products; /* [frame][r ≥ s] q_rk · q_sk */
    double *inverses; /* [normal_rank] 1 / Σ_k q_rk², or 0 */
    double *shares;   /* [class] number of points whose first vertex is in it */
    double *sums[2];  /* [class] Σ over frames of squared differences, before and after */
} normal_work;

/* ---- Target normals ---------------------------------------------------------------------------------------- */

typedef struct same_work {
    const pelt_skin *skin;
    const float *normals;
} same_work;

static bool same_normal(const void *user, uint32_t a, uint32_t b) {
    const same_work *w = user;
    size_t count = w->skin->influence_count;
    return memcmp(w->normals + 3 * (size_t)a, w->normals + 3 * (size_t)b, 3 * sizeof *w->normals) == 0 &&
           memcmp(w->skin->bones + a * count, w->skin->bones + b * count, count * sizeof *w->skin->bones) == 0 &&
           memcmp(w->skin->weights + a * count, w->skin->weights + b * count, count * sizeof *w->skin->weights) == 0;
}

static pelt_result read_frames(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const normal_work *w = user;
    const px_correction *c = w->c;
    px_arena *arena = px_arena_create(c->context);
    if (!arena)
        return PELT_ERROR_MEMORY;
    float *points = PX_NEW(arena, float, 3 * (size_t)c->mesh.points.count);
    float *normals = PX_NEW(arena, float, 3 * (size_t)c->mesh.vertex_count);
    double *sums = PX_NEW(arena, double, 3 * (size_t)w->shading.pieces.count);
    pelt_result result = points && normals && sums ? PELT_OK : PELT_ERROR_MEMORY;
    for (size_t k = first; result == PELT_OK && k < first + count; k++) {
        uint32_t pair = px_correct_pair_of(c, (uint32_t)k);
        const pelt_clip *clip = c->pairs[pair].clip;
        result = pelt_clip_read(c->context, clip, (uint32_t)k - c->pair_frames[pair], 0, clip->point_count, points);
        px_clip_release(clip, clip->point_count);
        if (result != PELT_OK)
            break;
        px_shading_frame(&w->shading, points, sums, normals, NULL);
        for (size_t s = 0; s < c->normal_classes.count; s++)
            memcpy(w->wanted + 3 * (s * c->frame_count + k),
                   normals + 3 * (size_t)pelt_class_vertex(&c->normal_classes, s), 3 * sizeof *normals);
    }
    px_arena_destroy(arena);
    return result;
}

/* A point is represented by its first vertex. */
static pelt_result count_points(normal_work *w) {
    px_correction *c = w->c;
    uint8_t *seen = PX_ALLOC(c->context, uint8_t, c->mesh.points.count);
    if (!seen)
        return PELT_ERROR_MEMORY;
    for (uint32_t i = 0; i < c->mesh.vertex_count; i++)
        if (!seen[px_correct_point(c, i)]) {
            w->shares[pelt_vertex_class(&c->normal_classes, i)] += 1;
            seen[px_correct_point(c, i)] = 1;
        }
    px_free(c->context, seen);
    return PELT_OK;
}

/* ---- Missing displacements at rest ------------------------------------------------------------------------- */

/* The normal of a vertex before skinning: that of the mesh, and displacements of the model's own morphs. */
static void base_normal(const px_correction *c, uint32_t vertex, size_t frame, double out[3]) {
    const pelt_morph_set *set = &c->model->morphs;
    for (size_t a = 0; a < 3; a++)
        out[a] = (double)c->mesh.normals[3 * (size_t)vertex + a];
    for (uint32_t m = 0; m < set->morph_count; m++) {
        const pelt_morph *morph = &set->morphs[m];
        if (morph->normals && vertex - morph->first_vertex < morph->vertex_count)
            for (size_t a = 0; a < 3; a++)
                out[a] += (double)c->morph_weights[frame * set->morph_count + m] *
                          (double)morph->normals[3 * (size_t)(vertex - morph->first_vertex) + a];
    }
}

/* G up to scale, from the linear part b of the blended transform. */
static void skinning_of(const px_correction *c, const double b[9], double g[9]) {
    if (c->desc.normal_rule == PELT_NORMALS_INVERSE)
        px_skin_cofactors(b, g);
    else
        memcpy(g, b, 9 * sizeof *g);
}

/* out [count][3][frame]. A target without a direction misses nothing. */
static uint32_t pull_normals(const void *user, size_t first, size_t count, double *out) {
    const normal_work *w = user;
    const px_correction *c = w->c;
    size_t frames = c->frame_count;
    for (size_t s = 0; s < count; s++) {
        uint32_t vertex = pelt_class_vertex(&c->normal_classes, first + s);
        for (size_t k = 0; k < frames; k++) {
            const float *n = w->wanted + 3 * ((first + s) * frames + k);
            double b[9], inverse[9], base[3], back[3] = {(double)n[0], (double)n[1], (double)n[2]};
            px_correct_blend(c, pelt_vertex_class(&c->classes, vertex), (uint32_t)k, b);
            base_normal(c, vertex, k, base);
            if (c->desc.normal_rule == PELT_NORMALS_INVERSE)
                px_unskin_normal(b, n, back);
            else {
                px_invert3(b, MIN_SINGULAR_RATIO, inverse);
                px_skin_direction(inverse, (const double[3]){back[0], back[1], back[2]}, back);
            }
            double length = px_length3(base);
            for (size_t a = 0; a < 3; a++)
                out[(3 * s + a) * frames + k] = px_length3(back) > 0 ? length * back[a] - base[a] : 0;
        }
    }
    return 0;
}

/* ---- Weights ----------------------------------------------------------------------------------------------- */

/* Missing displacements less their projections on the first `shared_count` weights, which are orthogonal. */
static uint32_t pull_unshared(const void *user, size_t first, size_t count, double *out) {
    const normal_work *w = user;
    size_t frames = w->c->frame_count;
    pull_normals(user, first, count, out);
    for (size_t row = 0; row < 3 * count; row++)
        for (size_t r = 0; r < w->c->shared_count; r++) {
            const double *q = w->c->normal_weights + r * frames;
            double dot = 0;
            for (size_t k = 0; k < frames; k++)
                dot += q[k] * out[row * frames + k];
            dot *= w->inverses[r];
            for (size_t k = 0; k < frames; k++)
                out[row * frames + k] -= dot * q[k];
        }
    return 0;
}

/* Scales the weights of a mode so that the one of largest magnitude is 1, and finds 1 / Σ_k q_k². */
static void finish_weights(normal_work *w, uint32_t mode) {
    size_t frames = w->c->frame_count;
    double *q = w->c->normal_weights + mode * frames, largest = 0, square = 0;
    for (size_t k = 0; k < frames; k++)
        largest = fabs(q[k]) > fabs(largest) ? q[k] : largest;
    for (size_t k = 0; largest != 0 && k < frames; k++) {
        q[k] /= largest;
        square += q[k] * q[k];
    }
    w->inverses[mode] = square > 0 ? 1 / square : 0;
}

/* The weights of positions first, which have a maximum of 1, then the modes' own. */
static pelt_result find_weights(normal_work *w) {
    px_correction *c = w->c;
    size_t frames = c->frame_count, own = px_min_size(c->desc.normal_rank, frames);
    uint32_t ill;
    double least = 0; /* squared singular value */
    c->shared_count = c->desc.normals ? c->rank : 0;
    c->normal_weights = PX_NEW(c->scratch, double, (c->shared_count + own) * frames);
    w->inverses = PX_NEW(c->scratch, double, c->shared_count + own);
    double *values = PX_NEW(c->scratch, double, own);
    if (!c->normal_weights || !w->inverses || !values)
        return PELT_ERROR_MEMORY;
    memcpy(c->normal_weights, c->modes.weights, c->shared_count * frames * sizeof *c->normal_weights);
    for (c->normal_rank = 0; c->normal_rank < c->shared_count; c->normal_rank++)
        finish_weights(w, c->normal_rank);
    if (own == 0)
        return PELT_OK;
    px_row_source rows = {c->normal_classes.count, w->shares, pull_unshared, w};
    PX_TRY(px_correct_singular(c, &rows, (uint32_t)own, c->normal_weights + c->shared_count * frames, values, &ill));
    for (size_t s = 0; s < c->normal_classes.count; s++)
        least += MIN_DISPLACEMENT * MIN_DISPLACEMENT * w->shares[s] * (double)frames;
    for (size_t r = 0; r < own && values[r] > least; r++)
        finish_weights(w, c->normal_rank++);
    return PELT_OK;
}

/* ---- Displacements of a class ------------------------------------------------------------------------------ */

typedef struct class_fit {
    const normal_work *w;
    uint32_t rank;
    size_t frames;
    const float *wanted; /* [frame][3] target normals */
    float *matrices;     /* [frame][9] G */
    double *bases;       /* [3][frame] normals before skinning, without modes */
    double *rows;        /* [3][frame] missing displacements, then normals before skinning */
    double *squares;     /* [PX_SYMMETRIC][frame] Gauss-Newton matrices of the squared angles */
    double *slopes;      /* [3][frame] and their right-hand sides */
    double *normal;      /* [PX_SYMMETRIC][r ≥ s] */
    double *right;       /* [3][rank] */
    double *matrix;      /* [3·rank][3·rank] */
    double *step;        /* [3·rank] */
    double *tried;       /* [3][rank] */
} class_fit;

static bool make_fit(const normal_work *w, px_arena *arena, class_fit *f) {
    size_t frames = w->c->frame_count, rank = w->c->normal_rank;
    *f = (class_fit){.w = w,
                     .rank = w->c->normal_rank,
                     .frames = frames,
                     .matrices = PX_NEW(arena, float, 9 * frames),
                     .bases = PX_NEW(arena, double, 3 * frames),
                     .rows = PX_NEW(arena, double, 3 * frames),
                     .squares = PX_NEW(arena, double, PX_SYMMETRIC *frames),
                     .slopes = PX_NEW(arena, double, 3 * frames),
                     .normal = PX_NEW(arena, double, PX_SYMMETRIC *px_mode_pairs(rank)),
                     .right = PX_NEW(arena, double, 3 * rank),
                     .matrix = PX_NEW(arena, double, 9 * rank * rank),
                     .step = PX_NEW(arena, double, 3 * rank),
                     .tried = PX_NEW(arena, double, 3 * rank)};
    return f->matrices && f->bases && f->rows && f->squares && f->slopes && f->normal && f->right && f->matrix &&
           f->step && f->tried;
}

/* Normals before skinning, to f->rows. */
static void morph(const class_fit *f, double *places) {
    memcpy(f->rows, f->bases, 3 * f->frames * sizeof *f->rows);
    if (f->rank > 0)
        px_gemm(1, px_matrix_of(places, 3, f->rank), px_matrix_of(f->w->c->normal_weights, f->rank, f->frames), 1,
                px_matrix_of(f->rows, 3, f->frames));
}

/* Σ over frames of squared angles; squares and slopes for the next step. */
static double angles(const class_fit *f, double *places) {
    double sum = 0;
    morph(f, places);
    for (size_t k = 0; k < f->frames; k++) {
        px_direction_step system = {0};
        double n[3] = {f->rows[k], f->rows[f->frames + k], f->rows[2 * f->frames + k]};
        px_direction_frame frame = px_direction_frame_of(f->matrices + 9 * k, f->wanted + 3 * k);
        sum += px_direction_add(&system, &frame, n);
        for (size_t e = 0; e < PX_SYMMETRIC; e++)
            f->squares[e * f->frames + k] = system.h[e];
        for (size_t a = 0; a < 3; a++)
            f->slopes[a * f->frames + k] = system.g[a];
    }
    return sum;
}

/* Σ over frames of squared differences of unit normals. */
static double miss(const class_fit *f, double *places) {
    double sum = 0;
    morph(f, places);
    for (size_t k = 0; k < f->frames; k++) {
        double g[9], n[3] = {f->rows[k], f->rows[f->frames + k], f->rows[2 * f->frames + k]}, shown[3];
        for (size_t e = 0; e < 9; e++)
            g[e] = (double)f->matrices[9 * k + e];
        px_skin_direction(g, n, shown);
        for (size_t a = 0; a < 3; a++)
            sum += (shown[a] - (double)f->wanted[3 * k + a]) * (shown[a] - (double)f->wanted[3 * k + a]);
    }
    return sum;
}

/* One Levenberg-Marquardt step from `places`, whose squares and slopes are at hand. Returns the sum afterwards; equal to
 * `sum` if no step reduced it. */
static double improve(const class_fit *f, double *places, double sum, double *damping) {
    const normal_work *w = f->w;
    size_t rank = f->rank, n = 3 * rank, pairs = px_mode_pairs(rank);
    px_gemm(1, px_matrix_of(f->squares, PX_SYMMETRIC, f->frames), px_matrix_of(w->products, f->frames, pairs), 0,
            px_matrix_of(f->normal, PX_SYMMETRIC, pairs));
    px_gemm(1, px_matrix_of(f->slopes, 3, f->frames),
            px_transposed(px_matrix_of(w->c->normal_weights, rank, f->frames)), 0, px_matrix_of(f->right, 3, rank));
    for (uint32_t t = 0; t < TRIES; t++, *damping *= 30) {
        double trace = 0;
        px_correct_assemble(f->rank, f->normal, f->matrix);
        for (size_t e = 0; e < n; e++)
            trace += f->matrix[e * (n + 1)];
        for (size_t e = 0; e < n; e++) {
            f->matrix[e * (n + 1)] += *damping * trace / (double)n;
            f->step[e] = f->right[e % 3 * rank + e / 3];
        }
        if (!(trace > 0) || !px_cholesky_solve(px_matrix_of(f->matrix, n, n), px_matrix_of(f->step, n, 1)))
            continue;
        for (size_t e = 0; e < n; e++)
            f->tried[e % 3 * rank + e / 3] = places[e % 3 * rank + e / 3] + f->step[e];
        double now = angles(f, f->tried);
        if (!(now < sum))
            continue;
        memcpy(places, f->tried, n * sizeof *places);
        *damping /= 10;
        return now;
    }
    return sum;
}

/* SKINNED: improves the projections, or 0 where that is nearer. */
static void fit_class(const class_fit *f, double *places) {
    double damping = PX_DAMPING, sum = angles(f, places), last;
    memset(f->tried, 0, 3 * (size_t)f->rank * sizeof *f->tried);
    if (angles(f, f->tried) < sum)
        memcpy(places, f->tried, 3 * (size_t)f->rank * sizeof *places);
    sum = angles(f, places);
    for (uint32_t step = 0; step < STEPS; step++) {
        last = sum;
        sum = improve(f, places, sum, &damping);
        if (!(sum < (1 - MIN_GAIN) * last))
            return;
    }
}

static pelt_result fit_classes(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const normal_work *w = user;
    const px_correction *c = w->c;
    px_arena *arena = px_arena_create(c->context);
    class_fit f;
    if (!arena || !make_fit(w, arena, &f)) {
        px_arena_destroy(arena);
        return PELT_ERROR_MEMORY;
    }
    for (size_t s = first; s < first + count; s++) {
        uint32_t vertex = pelt_class_vertex(&c->normal_classes, s);
        double *places = c->normals + 3 * s * f.rank; /* 0 */
        f.wanted = w->wanted + 3 * s * f.frames;
        for (size_t k = 0; k < f.frames; k++) {
            double b[9], g[9], base[3];
            px_correct_blend(c, pelt_vertex_class(&c->classes, vertex), (uint32_t)k, b);
            skinning_of(c, b, g);
            base_normal(c, vertex, k, base);
            for (size_t e = 0; e < 9; e++)
                f.matrices[9 * k + e] = (float)g[e];
            for (size_t a = 0; a < 3; a++)
                f.bases[a * f.frames + k] = base[a];
        }
        w->sums[0][s] = w->sums[1][s] = miss(&f, places);
        if (f.rank == 0)
            continue;
        pull_normals(w, s, 1, f.rows);
        px_gemm(1, px_matrix_of(f.rows, 3, f.frames), px_transposed(px_matrix_of(c->normal_weights, f.rank, f.frames)),
                0, px_matrix_of(places, 3, f.rank));
        for (size_t e = 0; e < 3 * (size_t)f.rank; e++)
            places[e] *= w->inverses[e % f.rank];
        if (c->desc.basis == PELT_CORRECT_SKINNED)
            fit_class(&f, places);
        w->sums[1][s] = miss(&f, places);
        if (c->desc.basis == PELT_CORRECT_SKINNED && !(w->sums[1][s] < w->sums[0][s])) {
            memset(places, 0, 3 * (size_t)f.rank * sizeof *places);
            w->sums[1][s] = w->sums[0][s];
        }
    }
    px_arena_destroy(arena);
    return PELT_OK;
}

/* ---- Entry point ------------------------------------------------------------------------------------------- */

static pelt_result fit(normal_work *w) {
    px_correction *c = w->c;
    size_t frames = c->frame_count, rank = c->normal_rank, at = 0;
    c->normals = PX_NEW(c->scratch, double, px_mul_size(3 * (size_t)c->normal_classes.count, rank));
    w->products = PX_NEW(c->scratch, double, px_mul_size(frames, px_mode_pairs(rank)));
    if (!c->normals || !w->products)
        return PELT_ERROR_MEMORY;
    for (size_t k = 0; k < frames; k++)
        for (size_t r = 0; r < rank; r++)
            for (size_t q = 0; q <= r; q++)
                w->products[at++] = c->normal_weights[r * frames + k] * c->normal_weights[q * frames + k];
    return px_parallel(c->context, "normals", c->normal_classes.count, PX_CLASS_BLOCK, fit_classes, w);
}

pelt_result px_correct_normals(px_correction *c) {
    normal_work w = {.c = c};
    same_work same = {&c->model->skin, c->mesh.normals};
    PX_TRY(px_classes_refine(c->scratch, c->mesh.vertex_count, &c->mesh.weld, same_normal, &same, &c->normal_classes));
    PX_TRY(px_shading_make(c->scratch, &c->mesh, &w.shading));
    w.shading.normals = NULL; /* use normals of the triangles, averaged up to hard edges */
    w.wanted = PX_NEW(c->scratch, float, px_mul_size(3 * (size_t)c->normal_classes.count, c->frame_count));
    w.shares = PX_NEW(c->scratch, double, c->normal_classes.count);
    w.sums[0] = PX_NEW(c->scratch, double, c->normal_classes.count);
    w.sums[1] = PX_NEW(c->scratch, double, c->normal_classes.count);
    if (!w.wanted || !w.shares || !w.sums[0] || !w.sums[1])
        return PELT_ERROR_MEMORY;
    PX_TRY(count_points(&w));
    PX_TRY(px_parallel(c->context, "normals", c->frame_count, FRAME_BLOCK, read_frames, &w));
    PX_TRY(find_weights(&w));
    PX_TRY(fit(&w));
    for (int after = 0; after < 2; after++) {
        double sum = 0, count = 0;
        for (size_t s = 0; s < c->normal_classes.count; s++) {
            sum += w.shares[s] * w.sums[after][s];
            count += w.shares[s] * c->frame_count;
        }
        c->normal_rms[after] = sqrt(sum / count);
    }
    return PELT_OK;
}
