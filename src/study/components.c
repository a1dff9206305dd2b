/* Clustered principal component analysis (Sattler, Sarlette and Klein 2005): points that move alike share a few
 * trajectories.
 *
 * k-means with subspaces as centres (Lloyd iteration): compute the principal components of each cluster, assign each
 * point to the cluster with the smallest residual, repeat. Neither step can raise the error. The mean is not
 * subtracted: a cluster of C components stores exactly C trajectories, comparable with C columns of a skin's
 * transforms.
 */
#include "study/study.h"

#include <math.h>

#define POINTS_PER_TASK 256u
#define CLOSE           1e-4 /* relative error from which further directions are ignored when assigning clusters */
#define SETTLED         1e-4 /* stop after a round that lowers the error by less than this fraction */

#define FIELD(name) PELT_FIELD(pelt_components_desc, name)
static const pelt_option options[] = {
    {"clusters", 0, PELT_OPTION_UINT, FIELD(clusters), "1", 1, UINT32_MAX, NULL, "N",
     "clusters of points; 1: truncated SVD"},
    {"components", 0, PELT_OPTION_UINT, FIELD(components), "4", 1, UINT32_MAX, NULL, "N", "components of each cluster"},
    {"rounds", 0, PELT_OPTION_UINT, FIELD(rounds), "10", 0, 0, NULL, "N",
     "rounds in which points choose their cluster"},
};

PX_DESC(components, options)

/* State of the clustering. Symbols: P clusters, C components per cluster, D dimension of the study. */
typedef struct clustering {
    const pelt_study *study;
    size_t P, C;         /* clusters, components of each */
    size_t d;            /* leading coordinates used when assigning clusters, ≤ D */
    uint32_t *clusters;  /* [point] */
    double *nearest2;    /* [point] squared distance from the nearest seed */
    double *bases;       /* [P][C][D] orthonormal rows; missing ones are 0 */
    uint32_t *order;     /* [point] points sorted by cluster */
    uint32_t *offsets;   /* [P + 1] cluster p is order[offsets[p] .. offsets[p + 1]) */
    double *block_error; /* [block] */
} clustering;

/* ---- Seeds ------------------------------------------------------------------------------------------------ */

static double distance2(const clustering *c, size_t i, size_t j) {
    const double *a = c->study->coords + i * c->study->dimension, *b = c->study->coords + j * c->study->dimension;
    double sum = 0;
    for (size_t e = 0; e < c->d; e++)
        sum += (a[e] - b[e]) * (a[e] - b[e]);
    return sum;
}

/* Farthest-point sampling: starts with point 0, then repeatedly adds the point farthest from all seeds. Assigns each
 * point to its nearest seed. */
static pelt_result seed(clustering *c) {
    uint32_t N = c->study->point_count;
    for (uint32_t i = 0; i < N; i++)
        c->nearest2[i] = INFINITY;
    uint32_t next = 0;
    for (size_t p = 0; p < c->P; p++) {
        uint32_t farthest = 0;
        PX_TRY(px_progress(c->study->context, "cluster", 0, 1));
        for (uint32_t i = 0; i < N; i++) {
            double distance = distance2(c, i, next);
            if (distance < c->nearest2[i]) {
                c->nearest2[i] = distance;
                c->clusters[i] = (uint32_t)p;
            }
            if (c->nearest2[i] > c->nearest2[farthest])
                farthest = i;
        }
        next = farthest;
    }
    return PELT_OK;
}

/* ---- Bases ------------------------------------------------------------------------------------------------ */

static void sort_points(clustering *c) {
    memset(c->offsets, 0, (c->P + 1) * sizeof *c->offsets);
    for (uint32_t i = 0; i < c->study->point_count; i++)
        c->offsets[c->clusters[i] + 1]++;
    for (size_t p = 0; p < c->P; p++)
        c->offsets[p + 1] += c->offsets[p];
    for (uint32_t i = 0; i < c->study->point_count; i++)
        c->order[c->offsets[c->clusters[i]]++] = i;
    memmove(c->offsets + 1, c->offsets, c->P * sizeof *c->offsets);
    c->offsets[0] = 0;
}

/* Computes the principal components of cluster p from the first `d` coordinates. */
static pelt_result fit_cluster(const clustering *c, size_t p, size_t d) {
    pelt_context *context = c->study->context;
    size_t D = c->study->dimension, count = c->offsets[p + 1] - c->offsets[p];
    size_t found = px_min_size(c->C, px_min_size(count, d));
    double *basis = c->bases + p * c->C * D;
    double *rows = PX_ALLOC(context, double, px_mul_size(count, d)), *squares = PX_ALLOC(context, double, found);
    pelt_result result = rows && squares ? PELT_OK : PELT_ERROR_MEMORY;
    if (result == PELT_OK) {
        memset(basis, 0, c->C * D * sizeof *basis);
        for (size_t n = 0; n < count; n++)
            memcpy(rows + n * d, c->study->coords + c->order[c->offsets[p] + n] * D, d * sizeof *rows);
        px_matrix out = px_matrix_part(px_matrix_of(basis, c->C, D), 0, found, 0, d);
        result = px_study_principal(context, px_matrix_in(rows, count, d), found, squares, out);
    }
    px_free(context, rows);
    px_free(context, squares);
    return result;
}

static pelt_result fit_roughly(void *user, size_t first, size_t count, size_t block) {
    (void)count;
    (void)block;
    const clustering *c = user;
    return fit_cluster(c, first, c->d);
}

static pelt_result fit_finally(void *user, size_t first, size_t count, size_t block) {
    (void)count;
    (void)block;
    const clustering *c = user;
    return fit_cluster(c, first, c->study->dimension);
}

/* ---- Choosing --------------------------------------------------------------------------------------------- */

/* Selects the cluster whose subspace captures most of a point, from its dot products [P][C] with the bases. Returns the
 * squared residual; `norm` is the squared norm of the point. */
static double choose(const clustering *c, const double *products, double norm, uint32_t *cluster) {
    double most = -1;
    for (size_t p = 0; p < c->P; p++) {
        double held = 0;
        for (size_t e = p * c->C; e < (p + 1) * c->C; e++)
            held += products[e] * products[e];
        if (held > most) {
            most = held;
            *cluster = (uint32_t)p;
        }
    }
    return px_fmax(norm - most, 0);
}

static pelt_result choose_block(void *user, size_t first, size_t count, size_t block) {
    clustering *c = user;
    size_t D = c->study->dimension, width = c->P * c->C;
    double *products = PX_ALLOC(c->study->context, double, px_mul_size(count, width));
    if (!products)
        return PELT_ERROR_MEMORY;
    px_matrix coords = px_matrix_part(px_matrix_in(c->study->coords + first * D, count, D), 0, count, 0, c->d);
    px_matrix bases = px_matrix_part(px_matrix_of(c->bases, width, D), 0, width, 0, c->d);
    px_gemm(1, coords, px_transposed(bases), 0, px_matrix_of(products, count, width));
    c->block_error[block] = 0;
    for (size_t i = 0; i < count; i++) {
        double norm = 0;
        for (size_t e = 0; e < c->d; e++)
            norm += *px_matrix_at(coords, i, e) * *px_matrix_at(coords, i, e);
        c->block_error[block] += choose(c, products + i * width, norm, &c->clusters[first + i]);
    }
    px_free(c->study->context, products);
    return PELT_OK;
}

/* ---- Rounds ----------------------------------------------------------------------------------------------- */

static pelt_result round_of(clustering *c, double *error) {
    size_t N = c->study->point_count;
    sort_points(c);
    PX_TRY(px_parallel(c->study->context, NULL, c->P, 1, fit_roughly, c));
    PX_TRY(px_parallel(c->study->context, NULL, N, POINTS_PER_TASK, choose_block, c));
    *error = 0;
    for (size_t b = 0; b < px_block_count(N, POINTS_PER_TASK); b++)
        *error += c->block_error[b];
    return PELT_OK;
}

static pelt_result find_clusters(clustering *c, uint32_t rounds, uint32_t *round_count) {
    double last = INFINITY, error;
    PX_TRY(seed(c));
    for (*round_count = 0; c->P > 1 && *round_count < rounds; last = error) {
        PX_TRY(px_progress(c->study->context, "cluster", *round_count, rounds));
        PX_TRY(round_of(c, &error));
        ++*round_count;
        if (!(error < (1 - SETTLED) * last))
            break;
    }
    sort_points(c);
    return px_parallel(c->study->context, NULL, c->P, 1, fit_finally, c);
}

static size_t rough_dimension(const pelt_study *s) {
    size_t d = 1;
    while (d < s->dimension && s->errors[d] > CLOSE * s->errors[0])
        d++;
    return px_min_size(d, s->dimension);
}

/* ---- Result ----------------------------------------------------------------------------------------------- */

static pelt_result read_points(pelt_context *context, const void *user, uint32_t frame, uint32_t first, uint32_t count,
                               float *out) {
    (void)context;
    const pelt_components *s = user;
    size_t C = s->component_count;
    for (size_t i = first; i < (size_t)first + count; i++, out += 3) {
        const float *t = s->trajectories + 3 * C * ((size_t)frame * s->cluster_count + s->clusters[i]);
        double p[3] = {(double)s->center[0], (double)s->center[1], (double)s->center[2]};
        for (size_t e = 0; e < C; e++)
            for (size_t axis = 0; axis < 3; axis++)
                p[axis] += (double)s->coordinates[i * C + e] * (double)t[3 * e + axis];
        for (size_t axis = 0; axis < 3; axis++)
            out[axis] = (float)p[axis];
    }
    return PELT_OK;
}

static void store_coordinates(const clustering *c, float *out) {
    size_t D = c->study->dimension;
    for (size_t i = 0; i < c->study->point_count; i++)
        for (size_t e = 0; e < c->C; e++) {
            const double *a = c->study->coords + i * D, *b = c->bases + (c->clusters[i] * c->C + e) * D;
            double sum = 0;
            for (size_t n = 0; n < D; n++)
                sum += a[n] * b[n];
            out[i * c->C + e] = (float)sum;
        }
}

/* Converts the bases from directions to frames, and to the units of the file. */
static pelt_result store_trajectories(const clustering *c, float *out, float *times) {
    const pelt_study *s = c->study;
    size_t D = s->dimension, count = c->P * c->C, width = 3 * (size_t)s->frame_count;
    double *wide = PX_ALLOC(s->context, double, px_mul_size(count, width));
    if (!wide)
        return PELT_ERROR_MEMORY;
    px_gemm(s->radius, px_matrix_in(c->bases, count, D), px_matrix_in(s->directions, D, width), 0,
            px_matrix_of(wide, count, width));
    for (size_t k = 0; k < s->frame_count; k++) {
        times[k] = (float)k;
        for (size_t e = 0; e < count; e++)
            for (size_t axis = 0; axis < 3; axis++)
                out[3 * (k * count + e) + axis] = (float)wide[e * width + 3 * k + axis];
    }
    px_free(s->context, wide);
    return PELT_OK;
}

static pelt_result store(const clustering *c, pelt_components *out) {
    const pelt_study *s = c->study;
    float *coordinates = PX_NEW(s->arena, float, px_mul_size(s->point_count, c->C));
    float *trajectories = PX_NEW(s->arena, float, px_mul_size(3 * (size_t)s->frame_count, c->P * c->C));
    float *times = PX_NEW(s->arena, float, s->frame_count);
    if (!coordinates || !trajectories || !times)
        return PELT_ERROR_MEMORY;
    store_coordinates(c, coordinates);
    PX_TRY(store_trajectories(c, trajectories, times));
    out->frame_count = s->frame_count;
    out->point_count = s->point_count;
    out->cluster_count = (uint32_t)c->P;
    out->component_count = (uint32_t)c->C;
    for (int axis = 0; axis < 3; axis++)
        out->center[axis] = (float)s->center[axis];
    out->trajectories = trajectories;
    out->coordinates = coordinates;
    out->clusters = c->clusters;
    out->clip = (pelt_clip){.name = "components",
                            .frame_count = s->frame_count,
                            .point_count = s->point_count,
                            .times = times,
                            .source = {.read = read_points, .user = out}};
    return PELT_OK;
}

/* ---- Entry point --------------------------------------------------------------------------------------------- */

static pelt_result cluster_and_store(clustering *c, px_arena *scratch, uint32_t rounds, pelt_components *out) {
    const pelt_study *s = c->study;
    c->clusters = PX_NEW(s->arena, uint32_t, s->point_count);
    c->nearest2 = PX_NEW(scratch, double, s->point_count);
    c->bases = PX_NEW(scratch, double, px_mul_size(c->P * c->C, s->dimension));
    c->order = PX_NEW(scratch, uint32_t, s->point_count);
    c->offsets = PX_NEW(scratch, uint32_t, c->P + 1);
    c->block_error = PX_NEW(scratch, double, px_block_count(s->point_count, POINTS_PER_TASK));
    if (!c->clusters || !c->nearest2 || !c->bases || !c->order || !c->offsets || !c->block_error)
        return PELT_ERROR_MEMORY;
    PX_TRY(find_clusters(c, rounds, &out->round_count));
    return store(c, out);
}

pelt_result pelt_study_components(pelt_study *study, const pelt_components_desc *desc,
                                  const pelt_components **components) {
    *components = NULL;
    PX_TAKE_DESC(study->context, components, desc, settings);
    clustering c = {.study = study,
                    .P = px_min_size(settings.clusters, study->point_count),
                    .C = px_min_size(settings.components, px_max_size(study->dimension, 1)),
                    .d = rough_dimension(study)};
    pelt_components *out = PX_NEW(study->arena, pelt_components, 1);
    px_arena *scratch = out ? px_arena_create(study->context) : NULL;
    if (!scratch)
        return PELT_ERROR_MEMORY;
    pelt_result result = cluster_and_store(&c, scratch, settings.rounds, out);
    px_arena_destroy(scratch);
    if (result == PELT_OK)
        *components = out;
    return result;
}
