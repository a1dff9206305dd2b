/* Modes: for every joint the principal components of its displacements (Kry, James, Pai 2002, §2.3), and their weights;
 * then displacements of all modes at a class, by least squares.
 *
 * Joint j displaces class u in pose p by U_u(p) = Σ_c factor_pc β_uc with β_u = fade · m · factorᵀ a_u. With B = Σ_u β_u
 * β_uᵀ [centre][centre] = S Sᵀ, the right singular vectors v of U are the left ones of factor · S, with the same
 * singular values σ. The weight of a mode is the projection of U on it, Σ_c factor_pc (B factorᵀ v)_c / σ², which is
 * valid in any pose: the coefficients need no further equations.
 *
 * If every pose moves one joint only, the displacements that fit best are the principal components. Otherwise, joints
 * with correlated motion share the residual that a few modes of one joint cannot explain. So modes are added one level
 * (one mode per joint) at a time; displacements are fitted to the residual, regularised towards the principal
 * components, and a line search limits the step so that the error decreases.
 */
#include "eigenskin/eigenskin.h"

/* Singular values below this fraction of the joint's largest are rounding errors. */
#define MIN_SINGULAR_RATIO 1e-7
/* Weight of the principal components in the fit, as a fraction of the poses. */
#define RIDGE 0.03
/* With more modes at a class, only those of the new level are fitted. */
#define MAX_JOINT_FIT 64u
#define SHARE_BLOCK   32u
#define CLASS_BLOCK   64u

/* ---- Principal components of a joint ---------------------------------------------------------------------- */

/* Rows gain · fade · m · a of the positions of a joint's shares [first, first + count), times √(vertices of the
 * class). */
static px_matrix load_rows(const px_eigenskin *e, const px_bend *bend, size_t first, size_t count, double *rows) {
    size_t floats = 3 * (size_t)e->pose_count;
    for (size_t n = 0; n < count; n++) {
        const px_share *share = &e->shares[bend->shares[first + n]];
        uint32_t class = e->share_classes[bend->shares[first + n]];
        const double *from = px_class_rows(e, e->solutions, class).data;
        double scale = bend->gain * (double)share->prior * (double)share->fade * sqrt(e->counts[class]);
        for (size_t k = 0; k < floats; k++)
            rows[n * floats + k] = scale * from[k];
    }
    return px_matrix_of(rows, 3 * count, e->pose_count);
}

/* Weights, coefficients and singular values of a joint's modes. */
static pelt_result find_weights(px_eigenskin *e, px_bend *bend, px_arena *arena) {
    size_t poses = e->pose_count, centres = bend->centre_count, rank = px_min_size(poses, centres);
    size_t most = bend->gain > 0 ? px_min_size(e->desc.modes, rank) : 0, square = centres * centres;
    if (most == 0)
        return PELT_OK;
    double *rows = PX_NEW(arena, double, 3 * SHARE_BLOCK * poses);   /* [SHARE_BLOCK][3][pose] */
    double *beta = PX_NEW(arena, double, 3 * SHARE_BLOCK * centres); /* [SHARE_BLOCK][3][centre] */
    double *values = PX_NEW(arena, double, centres), *vector = PX_NEW(arena, double, poses);
    px_matrix gram = px_matrix_of(PX_NEW(arena, double, square), centres, centres); /* B */
    px_matrix root = px_matrix_of(PX_NEW(arena, double, square), centres, centres); /* eigenvectors of B, then Sᵀ */
    px_matrix spread = px_matrix_of(PX_NEW(arena, double, poses *centres), poses, centres); /* factor · S */
    px_matrix left = px_matrix_of(PX_NEW(arena, double, poses *centres), poses, rank);
    px_matrix right = px_matrix_of(PX_NEW(arena, double, square), rank, centres);
    if (!rows || !beta || !values || !vector || !gram.data || !root.data || !spread.data || !left.data || !right.data)
        return PELT_ERROR_MEMORY;

    px_matrix factor = px_matrix_of(bend->factor, poses, centres);
    for (size_t n = 0; n < bend->share_count; n += SHARE_BLOCK) {
        size_t count = px_min_size(SHARE_BLOCK, bend->share_count - n);
        px_matrix some = px_matrix_of(beta, 3 * count, centres);
        px_gemm(1, load_rows(e, bend, n, count, rows), factor, 0, some);
        px_syrk(1, px_transposed(some), 1, gram);
    }
    memcpy(root.data, gram.data, square * sizeof *root.data);
    PX_TRY(px_symmetric_eigen(e->context, root, values));
    for (size_t v = 0; v < centres; v++)
        for (size_t c = 0; c < centres; c++)
            root.data[v * centres + c] *= sqrt(px_fmax(values[v], 0));
    px_gemm(1, factor, px_transposed(root), 0, spread);
    PX_TRY(px_svd(e->context, spread, left, values, right));

    for (; bend->mode_count < most && values[bend->mode_count] > MIN_SINGULAR_RATIO * values[0]; bend->mode_count++) {
        size_t mode = bend->mode_count;
        double sigma = values[mode], largest = 0; /* the largest weight among the examples becomes 1 */
        for (size_t p = 0; p < poses; p++) {
            vector[p] = left.data[p * rank + mode];
            largest = fabs(vector[p]) > fabs(largest) ? vector[p] : largest;
        }
        px_matrix a = px_matrix_of(beta, 1, centres), b = px_matrix_of(root.data, 1, centres);
        px_gemm(1, px_matrix_of(vector, 1, poses), factor, 0, a);
        px_gemm(1 / (sigma * sigma * largest), a, gram, 0, b);
        px_gemm(1, b, px_transposed(px_matrix_of(bend->basis, centres, centres)), 0,
                px_matrix_of(bend->coefficients + mode * centres, 1, centres));
        for (size_t p = 0; p < poses; p++)
            bend->weights[mode * poses + p] = vector[p] / largest;
    }
    memcpy(bend->singular, values, bend->mode_count * sizeof *values);
    return PELT_OK;
}

/* d = U w / |w|² for all modes: the least-squares displacements if the joint acted alone. */
static pelt_result project_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    px_eigenskin *e = user;
    size_t poses = e->pose_count, most = e->desc.modes;
    double *turned = PX_ALLOC(e->context, double, most *poses);
    for (size_t j = first; turned && j < first + count; j++) {
        const px_bend *bend = &e->bends[j];
        px_matrix turn = px_matrix_of(turned, bend->mode_count, poses);
        for (size_t n = 0; n < bend->mode_count; n++) {
            double *w = bend->weights + n * poses, length2 = 0;
            for (size_t p = 0; p < poses; p++)
                length2 += w[p] * w[p];
            px_gemm(1 / length2, px_matrix_of(w, 1, poses), px_matrix_of(bend->kernel, poses, poses), 0,
                    px_matrix_part(turn, n, 1, 0, poses));
        }
        for (size_t n = 0; n < bend->share_count; n++) {
            const px_share *share = &e->shares[bend->shares[n]];
            px_matrix modes = {e->modes + bend->shares[n] * e->width * most, e->width, bend->mode_count, most, false};
            px_gemm(bend->gain * (double)share->prior * (double)share->fade,
                    px_class_rows(e, e->solutions, e->share_classes[bend->shares[n]]), px_transposed(turn), 0, modes);
        }
    }
    px_free(e->context, turned);
    return turned ? PELT_OK : PELT_ERROR_MEMORY;
}

static pelt_result bend_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    px_eigenskin *e = user;
    pelt_result result = PELT_OK;
    for (size_t j = first; result == PELT_OK && j < first + count; j++) {
        px_arena *arena = px_arena_create(e->context);
        result = arena ? find_weights(e, &e->bends[j], arena) : PELT_ERROR_MEMORY;
        px_arena_destroy(arena);
    }
    return result;
}

/* ---- Displacements of a class ------------------------------------------------------------------------------ */

typedef struct fit_work {
    px_eigenskin *e;
    double *sums; /* [block of classes][level + 1] Σ |residual|² with that many modes per joint */
} fit_work;

/* A mode of a share. */
typedef struct entry {
    size_t share;
    size_t mode;
} entry;

typedef struct class_scratch {
    entry *entries;  /* [entry] */
    double *weights; /* [entry][pose] */
    double *gram;    /* [entry][entry] */
    double *right;   /* [entry][width] */
    double *moved;   /* [width][pose] */
} class_scratch;

static double *place_of(const px_eigenskin *e, entry n, size_t row) {
    return e->modes + (n.share * e->width + row) * e->desc.modes + n.mode;
}

static double left_of(const px_eigenskin *e, size_t class) {
    const double *left = px_class_rows(e, e->residuals, class).data,
                 *all = px_class_rows(e, e->displacements, class).data;
    const double *target = px_class_rows(e, e->targets, class).data;
    double sum = 0;
    for (size_t k = 0; k < 3 * (size_t)e->pose_count; k++)
        sum += (left[k] + all[k] - target[k]) * (left[k] + all[k] - target[k]);
    return e->counts[class] * sum;
}

/* Adds a mode of every joint to those of a class: finds the change d of the displacements (new modes start from 0) that
 * minimises |residual − Σ d w|² + Σ ridge |d − wanted|², then an exact line search along it. `wanted` is the mode's own
 * projection for new modes, and 0 for the others. A single mode with ridge |w|² (1 / fade − 1) keeps about its faded
 * displacement. */
static void fit_level(const px_eigenskin *e, size_t class, uint32_t level, const class_scratch *s) {
    size_t poses = e->pose_count, first = e->offsets[class], end = e->offsets[class + 1], count = 0;
    size_t from = (end - first) * (level + 1u) > MAX_JOINT_FIT ? level : 0;
    for (size_t n = first; n < end; n++) {
        const px_bend *bend = &e->bends[e->shares[n].bend];
        for (size_t m = from; m < px_min_size(level + 1u, bend->mode_count); m++) {
            memcpy(s->weights + count * poses, bend->weights + m * poses, poses * sizeof *s->weights);
            s->entries[count++] = (entry){n, m};
        }
    }
    if (count == 0)
        return;
    px_matrix weights = px_matrix_of(s->weights, count, poses), gram = px_matrix_of(s->gram, count, count);
    px_matrix right = px_matrix_of(s->right, count, e->width), residual = px_class_rows(e, e->residuals, class);
    px_syrk(1, weights, 0, gram);
    px_gemm(1, weights, px_transposed(residual), 0, right);
    for (size_t n = 0; n < count; n++) {
        double fade = (double)e->shares[s->entries[n].share].fade;
        double ridge = *px_matrix_at(gram, n, n) * (1 / fade - 1 + RIDGE);
        *px_matrix_at(gram, n, n) += ridge;
        for (size_t a = 0; a < e->width && s->entries[n].mode == level; a++)
            *px_matrix_at(right, n, a) += ridge * *place_of(e, s->entries[n], a);
    }
    if (!px_cholesky_solve(gram, right))
        return;
    px_matrix moved = px_matrix_of(s->moved, e->width, poses);
    double dot = 0, length2 = 0;
    px_gemm(1, px_transposed(right), weights, 0, moved);
    for (size_t k = 0; k < 3 * poses; k++) {
        dot += moved.data[k] * residual.data[k];
        length2 += moved.data[k] * moved.data[k];
    }
    double step = dot > 0 ? px_fmin(dot / length2, 1) : 0;
    for (size_t k = 0; k < e->width * poses; k++)
        residual.data[k] -= step * moved.data[k];
    for (size_t n = 0; n < count; n++)
        for (size_t a = 0; a < e->width; a++) {
            double *place = place_of(e, s->entries[n], a), old = s->entries[n].mode == level ? 0 : *place;
            *place = old + step * *px_matrix_at(right, n, a);
        }
}

static pelt_result class_block(void *user, size_t first, size_t count, size_t block) {
    const fit_work *w = user;
    px_eigenskin *e = w->e;
    size_t most = px_max_size(MAX_JOINT_FIT, e->bend_count);
    px_arena *arena = px_arena_create(e->context);
    if (!arena)
        return PELT_ERROR_MEMORY;
    class_scratch s = {.entries = PX_NEW(arena, entry, most),
                       .weights = PX_NEW(arena, double, most * e->pose_count),
                       .gram = PX_NEW(arena, double, most *most),
                       .right = PX_NEW(arena, double, most * e->width),
                       .moved = PX_NEW(arena, double, e->width * e->pose_count)};
    bool ready = s.entries && s.weights && s.gram && s.right && s.moved;
    double *sums = w->sums + block * ((size_t)e->desc.modes + 1);
    for (size_t u = first; ready && u < first + count; u++) {
        px_matrix residual = px_class_rows(e, e->residuals, u);
        memcpy(residual.data, px_class_rows(e, e->targets, u).data,
               residual.rows * residual.columns * sizeof *residual.data);
        sums[0] += left_of(e, u);
        for (uint32_t level = 0; level < e->mode_count; level++) {
            fit_level(e, u, level, &s);
            sums[level + 1] += left_of(e, u);
        }
    }
    px_arena_destroy(arena);
    return ready ? PELT_OK : PELT_ERROR_MEMORY;
}

/* ---- Entry points ----------------------------------------------------------------------------------------- */

/* Computes displacements and errors with up to `mode_count` modes per joint. */
static pelt_result fit(px_eigenskin *e) {
    size_t blocks = px_block_count(e->classes.count, CLASS_BLOCK), width = (size_t)e->desc.modes + 1;
    fit_work w = {e, PX_ALLOC(e->context, double, blocks *width)};
    if (!w.sums)
        return PELT_ERROR_MEMORY;
    pelt_result result = px_parallel(e->context, NULL, e->bend_count, 1, project_block, e);
    if (result == PELT_OK)
        result = px_parallel(e->context, "modes", e->classes.count, CLASS_BLOCK, class_block, &w);
    for (size_t n = 0; n <= e->mode_count; n++) {
        for (size_t b = 1; b < blocks; b++)
            w.sums[n] += w.sums[b * width + n];
        e->errors[n] = w.sums[0] > 0 ? sqrt(w.sums[n] / w.sums[0]) : 0;
    }
    px_free(e->context, w.sums);
    return result;
}

pelt_result px_eigenskin_modes(px_eigenskin *e) {
    size_t most = e->desc.modes;
    if (!(e->modes = PX_NEW(e->scratch, double, px_mul_size(e->offsets[e->classes.count], e->width * most))))
        return PELT_ERROR_MEMORY;
    for (uint32_t j = 0; j < e->bend_count; j++) {
        e->bends[j].weights = PX_NEW(e->scratch, double, most * e->pose_count);
        e->bends[j].coefficients = PX_NEW(e->scratch, double, most * e->bends[j].centre_count);
        e->bends[j].singular = PX_NEW_LASTING(e->model->memory, double, most);
        if (!e->bends[j].weights || !e->bends[j].coefficients || !e->bends[j].singular)
            return PELT_ERROR_MEMORY;
    }
    PX_TRY(px_parallel(e->context, NULL, e->bend_count, 1, bend_block, e));
    for (uint32_t j = 0; j < e->bend_count; j++)
        e->mode_count = e->mode_count > e->bends[j].mode_count ? e->mode_count : e->bends[j].mode_count;
    PX_TRY(fit(e));
    uint32_t enough = 0;
    while (enough < e->mode_count && e->errors[enough] > e->desc.error)
        enough++;
    if (enough == e->mode_count)
        return PELT_OK;
    e->mode_count = enough;
    for (uint32_t j = 0; j < e->bend_count; j++)
        if (e->bends[j].mode_count > enough)
            e->bends[j].mode_count = enough;
    return fit(e);
}
