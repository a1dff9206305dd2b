/* Affine bones that rotate normals as the surface rotates.
 *
 * The error hardly determines how a bone acts along the normal of a thin piece of surface: its matrix may be flat or
 * mirrored there, and engines skin normals with that matrix. px_turn_wrong counts the vertices where the normal would
 * point to the wrong side. px_turn_bones replaces the transforms, for fixed weights and rest pose, by the least squares
 * solution for positions and normals together,
 *
 *   ‖T X − A‖² + h² ‖T X_n − N‖²,   column i of X_n holding w_ij · (n_i, 0),
 *
 * with n_i the rest normal and N [row][vertex] the normals of the animation: T (S + h² X_n X_nᵀ) = A Xᵀ + h² N X_nᵀ. It
 * uses the largest h that the limit of the objective allows, by halving h².
 */
#include "decompose/divide.h"
#include "decompose/pulls.h"

#include <math.h>

#define FRAMES_BLOCK 8u
#define STRIP        256u
#define MOST_HEIGHT  0.1 /* largest h: a normal counts like a point this far above the surface (mesh radius: 1) */
#define HALVINGS     24  /* most halvings of h² */

typedef struct turning {
    const px_fit *fit;
    size_t triangle_count;   /* triangles with an own vertex */
    const uint32_t *corners; /* [triangle][3] own vertices, then ghosts: vertices of other processes beside own ones */
    size_t ghost_count;
    const float *ghost_coords; /* [ghost][dimension] */
    const double *positions;   /* [vertex, ghost][3] rest positions */
    double *rest;              /* [vertex][3] unit normals at rest */
    const double *transforms;  /* [row][4P], used for `wrong` */
    uint32_t *wrong;           /* [frame] number of vertices with inverted normals; NULL: not counted */
} turning;

/* ---- Surface ------------------------------------------------------------------------------------------------ */

/* Numbers of the vertices that the triangles of own vertices use: own ones first, then ghosts in ascending order. */
static pelt_result list_corners(turning *t, px_arena *scratch, const pelt_mesh *mesh,
                                const pelt_vertex_classes *classes, const uint32_t **ghosts) {
    const px_fit *fit = t->fit;
    uint32_t first = fit->first_vertex, count = fit->vertex_count, total = fit->total_count;
    uint32_t *numbers = PX_ALLOC(fit->context, uint32_t, total); /* 1: a ghost */
    uint32_t *corners = NULL, *list = NULL;
    for (int pass = 0; numbers && pass < 2; pass++) {
        size_t used = 0;
        for (size_t f = 0; f < mesh->triangle_count; f++) {
            uint32_t corner[3];
            bool own = false;
            for (size_t c = 0; c < 3; c++) {
                corner[c] = pelt_vertex_class(classes, mesh->triangles[3 * f + c]);
                own |= corner[c] - first < count;
            }
            for (size_t c = 0; own && c < 3; c++)
                if (pass == 0)
                    numbers[corner[c]] = corner[c] - first >= count;
                else
                    corners[3 * used + c] = corner[c] - first < count ? corner[c] - first : numbers[corner[c]];
            used += own;
        }
        if (pass == 1)
            break;
        t->triangle_count = used;
        for (size_t i = 0; i < total; i++)
            t->ghost_count += numbers[i];
        corners = PX_NEW(scratch, uint32_t, 3 * used);
        list = PX_NEW(scratch, uint32_t, t->ghost_count);
        if (!corners || !list)
            break;
        for (uint32_t i = 0, g = 0; i < total; i++)
            if (numbers[i]) {
                list[g] = i;
                numbers[i] = count + g++;
            }
    }
    px_free(fit->context, numbers);
    t->corners = corners;
    *ghosts = list;
    return numbers && corners && list ? PELT_OK : PELT_ERROR_MEMORY;
}

/* Part of a list of vertices, ascending, that belongs to a process. */
static size_t part_of(const px_fit *fit, uint32_t rank, const uint32_t *list, size_t count, size_t *first) {
    size_t low = px_leaf_first(&fit->leaves, px_leaves_first_of(fit->context, &fit->leaves, rank));
    size_t high = px_leaf_first(&fit->leaves, px_leaves_first_of(fit->context, &fit->leaves, rank + 1)), end;
    for (*first = 0; *first < count && list[*first] < low; ++*first)
        ;
    for (end = *first; end < count && list[end] < high; end++)
        ;
    return end - *first;
}

/* Gives process `to` the coordinates and rest positions of its ghosts. */
static pelt_result pass_ghosts(const turning *t, uint32_t to, const uint32_t *list, size_t count, float *coords,
                               double *rest) {
    const px_fit *fit = t->fit;
    pelt_context *context = fit->context;
    size_t d = fit->dimension, first;
    for (uint32_t from = 0; to == pelt_group_rank(context) && from < pelt_group_size(context); from++) {
        size_t some = part_of(fit, from, list, count, &first);
        PX_TRY(px_group_receive(context, from, coords + first * d, some * d * sizeof *coords));
        PX_TRY(px_group_receive(context, from, rest + 3 * first, 3 * some * sizeof *rest));
    }
    size_t some = part_of(fit, pelt_group_rank(context), list, count, &first);
    if (to == pelt_group_rank(context) || some == 0)
        return PELT_OK;
    float *own_coords = PX_ALLOC(context, float, some *d);
    double *own_rest = PX_ALLOC(context, double, 3 * some);
    pelt_result result = own_coords && own_rest ? PELT_OK : PELT_ERROR_MEMORY;
    for (size_t g = 0; result == PELT_OK && g < some; g++) {
        size_t i = list[first + g] - fit->first_vertex;
        memcpy(own_coords + g * d, fit->coords + i * d, d * sizeof *own_coords);
        memcpy(own_rest + 3 * g, fit->now.rest + 3 * i, 3 * sizeof *own_rest);
    }
    if (result == PELT_OK)
        result = px_group_send(context, to, own_coords, some * d * sizeof *own_coords);
    if (result == PELT_OK)
        result = px_group_send(context, to, own_rest, 3 * some * sizeof *own_rest);
    px_free(context, own_rest);
    px_free(context, own_coords);
    return result;
}

static pelt_result make_surface(turning *t, px_arena *scratch, const pelt_mesh *mesh,
                                const pelt_vertex_classes *classes) {
    const px_fit *fit = t->fit;
    const uint32_t *ghosts;
    PX_TRY(list_corners(t, scratch, mesh, classes, &ghosts));
    t->positions = fit->now.rest;
    if (!fit->leaves.divided)
        return PELT_OK;
    float *coords = PX_NEW(scratch, float, px_mul_size(t->ghost_count, fit->dimension));
    double *rest = PX_NEW(scratch, double, 3 * (fit->vertex_count + t->ghost_count));
    if (!coords || !rest)
        return PELT_ERROR_MEMORY;
    memcpy(rest, fit->now.rest, 3 * (size_t)fit->vertex_count * sizeof *rest);
    t->ghost_coords = coords;
    t->positions = rest;
    for (uint32_t rank = 0; rank < pelt_group_size(fit->context); rank++) {
        bool own = rank == pelt_group_rank(fit->context);
        uint64_t count = t->ghost_count;
        PX_TRY(pelt_group_broadcast(fit->context, rank, &count, sizeof count));
        uint32_t *list = PX_ALLOC(fit->context, uint32_t, (size_t)count);
        if (list && own)
            memcpy(list, ghosts, count * sizeof *list);
        pelt_result result =
            list ? pelt_group_broadcast(fit->context, rank, list, count * sizeof *list) : PELT_ERROR_MEMORY;
        if (result == PELT_OK)
            result = pass_ghosts(t, rank, list, (size_t)count, coords, rest + 3 * (size_t)fit->vertex_count);
        px_free(fit->context, list);
        PX_TRY(result);
    }
    return PELT_OK;
}

/* Area-weighted unit normals [vertex][3]; positions [vertex, ghost][pitch], x, y, z first. Zero for vertices without
 * area. */
static void find_normals(const turning *t, const double *positions, size_t pitch, double *normals) {
    size_t N = t->fit->vertex_count;
    memset(normals, 0, 3 * N * sizeof *normals);
    for (size_t f = 0; f < t->triangle_count; f++) {
        const uint32_t *corners = t->corners + 3 * f;
        double u[3], v[3];
        for (size_t c = 0; c < 3; c++) {
            u[c] = positions[corners[1] * pitch + c] - positions[corners[0] * pitch + c];
            v[c] = positions[corners[2] * pitch + c] - positions[corners[0] * pitch + c];
        }
        for (size_t c = 0; c < 3; c++)
            for (size_t a = 0; a < 3 && corners[c] < N; a++)
                normals[3 * (size_t)corners[c] + a] +=
                    u[(a + 1) % 3] * v[(a + 2) % 3] - u[(a + 2) % 3] * v[(a + 1) % 3];
    }
    for (size_t i = 0; i < N; i++) {
        double *n = normals + 3 * i, length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
        for (size_t a = 0; a < 3; a++)
            n[a] = length > 0 ? n[a] / length : 0;
    }
}

/* ---- Frames ------------------------------------------------------------------------------------------------- */

/* True if bones with these matrices [3 rows][4P] rotate the rest normal of vertex i to the wrong side of the surface.
 */
static bool is_wrong(const turning *t, const double *transforms, size_t i, const double *normal) {
    const px_fit_state *s = &t->fit->now;
    size_t n = 4 * (size_t)t->fit->bone_count, K = t->fit->influence_count;
    double along = 0;
    for (size_t a = 0; a < s->counts[i]; a++)
        for (size_t e = 0; e < 9; e++)
            along += s->weights[i * K + a] * normal[e / 3] * t->rest[3 * i + e % 3] *
                     transforms[e / 3 * n + 4 * (size_t)s->bones[i * K + a] + e % 3];
    return along < 0;
}

/* Reconstructs positions of `count` vertices with these coords: out [vertex][row_count]. `wide` [STRIP][dimension] is
 * scratch. */
static void animate(const px_fit *fit, const float *coords, size_t count, size_t first_row, size_t row_count,
                    double *wide, double *out) {
    size_t d = fit->dimension;
    for (size_t i = 0, strip; i < count; i += strip) {
        strip = px_min_size(STRIP, count - i);
        for (size_t e = 0; e < strip * d; e++)
            wide[e] = (double)coords[i * d + e];
        px_gemm(1, px_matrix_in(wide, strip, d), px_transposed(px_matrix_in(fit->basis + first_row * d, row_count, d)),
                0, px_matrix_of(out + i * row_count, strip, row_count));
    }
}

static pelt_result count_frames(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const turning *t = user;
    const px_fit *fit = t->fit;
    size_t n = 4 * (size_t)fit->bone_count, N = fit->vertex_count, rows = 3 * count, all = N + t->ghost_count;
    double *positions = PX_ALLOC(fit->context, double, px_mul_size(all, rows) + 3 * N + STRIP * (size_t)fit->dimension);
    if (!positions)
        return PELT_ERROR_MEMORY;
    double *normals = positions + all * rows, *wide = normals + 3 * N;
    animate(fit, fit->coords, N, 3 * first, rows, wide, positions);
    animate(fit, t->ghost_coords, t->ghost_count, 3 * first, rows, wide, positions + N * rows);
    for (size_t k = 0; k < count; k++) {
        find_normals(t, positions + 3 * k, rows, normals);
        for (size_t i = 0; i < N; i++)
            t->wrong[first + k] += is_wrong(t, t->transforms + 3 * (first + k) * n, i, normals + 3 * i);
    }
    px_free(fit->context, positions);
    return PELT_OK;
}

/* Normals of up to FRAMES_BLOCK frames, and the vertices of a leaf that are added to N X_nᵀ. */
typedef struct normal_sum {
    const turning *t;
    size_t frame, frames; /* the first, and their number */
    double *positions;    /* [vertex, ghost][3 · frames] */
    double *normals;      /* [frame][vertex][3] */
    size_t first, count;  /* vertices */
    double *cross;        /* [3 · frame][4P] */
} normal_sum;

static pelt_result place_vertices(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const normal_sum *s = user;
    const px_fit *fit = s->t->fit;
    size_t N = fit->vertex_count, d = fit->dimension, rows = 3 * s->frames;
    size_t own = first < N ? px_min_size(count, N - first) : 0;
    double *wide = PX_ALLOC(fit->context, double, STRIP *d);
    if (!wide)
        return PELT_ERROR_MEMORY;
    animate(fit, fit->coords + first * d, own, 3 * s->frame, rows, wide, s->positions + first * rows);
    if (own < count)
        animate(fit, s->t->ghost_coords + (first + own - N) * d, count - own, 3 * s->frame, rows, wide,
                s->positions + (first + own) * rows);
    px_free(fit->context, wide);
    return PELT_OK;
}

static pelt_result find_frame(void *user, size_t frame, size_t count, size_t block) {
    (void)count, (void)block;
    const normal_sum *s = user;
    find_normals(s->t, s->positions + 3 * frame, 3 * s->frames,
                 s->normals + 3 * (size_t)s->t->fit->vertex_count * frame);
    return PELT_OK;
}

static pelt_result add_frame(void *user, size_t frame, size_t count, size_t block) {
    (void)count, (void)block;
    const normal_sum *sum = user;
    const turning *t = sum->t;
    const px_fit_state *s = &t->fit->now;
    size_t n = 4 * (size_t)t->fit->bone_count, K = t->fit->influence_count;
    const double *normals = sum->normals + 3 * (size_t)t->fit->vertex_count * frame;
    double *cross = sum->cross + 3 * frame * n;
    for (size_t i = sum->first; i < sum->first + sum->count; i++)
        for (size_t a = 0; a < s->counts[i]; a++)
            for (size_t row = 0; row < 3; row++)
                for (size_t c = 0; c < 3; c++)
                    cross[row * n + 4 * (size_t)s->bones[i * K + a] + c] +=
                        normals[3 * i + row] * s->weights[i * K + a] * t->rest[3 * i + c];
    return PELT_OK;
}

static pelt_result add_normals(void *user, size_t first, size_t count, double *cross) {
    normal_sum *sum = user;
    sum->first = first;
    sum->count = count;
    sum->cross = cross;
    return px_parallel(sum->t->fit->context, NULL, sum->frames, 1, add_frame, sum);
}

/* cross [row][4P]: N X_nᵀ, FRAMES_BLOCK frames at a time. */
static pelt_result sum_normals(const turning *t, double *cross) {
    const px_fit *fit = t->fit;
    pelt_context *context = fit->context;
    size_t n = 4 * (size_t)fit->bone_count, frames = fit->row_count / 3, N = fit->vertex_count,
           all = N + t->ghost_count;
    normal_sum sum = {.t = t,
                      .positions = PX_ALLOC(context, double, px_mul_size(3 * FRAMES_BLOCK, all)),
                      .normals = PX_ALLOC(context, double, px_mul_size(3 * FRAMES_BLOCK, N))};
    pelt_result result = sum.positions && sum.normals ? PELT_OK : PELT_ERROR_MEMORY;
    for (; result == PELT_OK && sum.frame < frames; sum.frame += FRAMES_BLOCK) {
        sum.frames = px_min_size(FRAMES_BLOCK, frames - sum.frame);
        result = px_parallel(context, NULL, all, STRIP, place_vertices, &sum);
        if (result == PELT_OK)
            result = px_parallel(context, NULL, sum.frames, 1, find_frame, &sum);
        if (result == PELT_OK)
            result = px_fit_sum(fit, 3 * sum.frames * n, add_normals, &sum, cross + 3 * sum.frame * n);
    }
    px_free(context, sum.normals);
    px_free(context, sum.positions);
    return result;
}

/* X_n X_nᵀ [4P][4P] */
static pelt_result add_scatter(void *user, size_t first, size_t count, double *scatter) {
    const turning *t = user;
    const px_fit_state *s = &t->fit->now;
    size_t n = 4 * (size_t)t->fit->bone_count, K = t->fit->influence_count;
    for (size_t i = first; i < first + count; i++)
        for (size_t a = 0; a < s->counts[i]; a++)
            for (size_t b = 0; b < s->counts[i]; b++)
                for (size_t e = 0; e < 9; e++)
                    scatter[(4 * (size_t)s->bones[i * K + a] + e / 3) * n + 4 * (size_t)s->bones[i * K + b] + e % 3] +=
                        s->weights[i * K + a] * s->weights[i * K + b] * t->rest[3 * i + e / 3] * t->rest[3 * i + e % 3];
    return PELT_OK;
}

static pelt_result count_wrong(turning *t, px_arena *scratch, double *share) {
    const px_fit *fit = t->fit;
    size_t n = 4 * (size_t)fit->bone_count, rows = fit->row_count, N = fit->vertex_count;
    double *transforms = PX_NEW(scratch, double, px_mul_size(rows, n));
    double *counts = PX_NEW(scratch, double, rows / 3);
    t->rest = PX_NEW(scratch, double, 3 * N);
    t->wrong = PX_NEW(scratch, uint32_t, rows / 3);
    if (!transforms || !counts || !t->rest || !t->wrong)
        return PELT_ERROR_MEMORY;
    t->transforms = transforms;
    px_gemm(1, px_matrix_in(fit->basis, rows, fit->dimension),
            px_transposed(px_matrix_in(fit->now.reduced, n, fit->dimension)), 0, px_matrix_of(transforms, rows, n));
    find_normals(t, t->positions, 3, t->rest);
    PX_TRY(px_parallel(fit->context, NULL, rows / 3, FRAMES_BLOCK, count_frames, t));
    for (size_t k = 0; k < rows / 3; k++)
        counts[k] = t->wrong[k];
    if (fit->leaves.divided)
        PX_TRY(pelt_group_sum(fit->context, counts, rows / 3));
    for (size_t k = 0; k < rows / 3; k++)
        *share += counts[k] / ((double)fit->total_count * (double)(rows / 3));
    return PELT_OK;
}

pelt_result px_turn_wrong(const px_fit *fit, const pelt_mesh *mesh, const pelt_vertex_classes *classes, double *share) {
    turning t = {.fit = fit};
    px_arena *scratch = px_arena_create(fit->context);
    pelt_result result = scratch ? make_surface(&t, scratch, mesh, classes) : PELT_ERROR_MEMORY;
    *share = 0;
    if (result == PELT_OK)
        result = count_wrong(&t, scratch, share);
    px_arena_destroy(scratch);
    return result;
}

/* ‖T X − A‖² − ‖A‖² for T as [4P][row]; `wanted` is X Aᵀ, `product` scratch, both of the same shape. */
static double error_of(const px_fit *fit, const double *transforms, const double *wanted, double *product) {
    size_t n = 4 * (size_t)fit->bone_count, rows = fit->row_count;
    double sum = 0;
    px_gemm(1, px_matrix_in(fit->scatter, n, n), px_matrix_in(transforms, n, rows), 0, px_matrix_of(product, n, rows));
    for (size_t e = 0; e < n * rows; e++)
        sum += transforms[e] * (product[e] - 2 * wanted[e]);
    return sum;
}

/* out [4P][row] += factor · (part of the bones in the basis). */
static void add_inside(const px_fit *fit, double factor, double *out) {
    size_t n = 4 * (size_t)fit->bone_count, d = fit->dimension, rows = fit->row_count;
    px_gemm(factor, px_matrix_in(fit->now.reduced, n, d), px_transposed(px_matrix_in(fit->basis, rows, d)), 1,
            px_matrix_of(out, n, rows));
}

pelt_result px_turn_bones(px_fit *fit, const pelt_mesh *mesh, const pelt_vertex_classes *classes, double most) {
    size_t n = 4 * (size_t)fit->bone_count, rows = fit->row_count, d = fit->dimension, size = px_mul_size(rows, n);
    turning t = {.fit = fit};
    px_arena *scratch = px_arena_create(fit->context);
    double *outside = PX_NEW(fit->arena, double, size);
    double *memory = PX_ALLOC(fit->context, double, px_mul_size(4, size) + 2 * n * n + 3 * (size_t)fit->vertex_count);
    pelt_result result = scratch && outside && memory ? px_fit_moments(fit) : PELT_ERROR_MEMORY;
    if (result == PELT_OK)
        result = make_surface(&t, scratch, mesh, classes);
    if (result == PELT_OK) {
        double *cross = memory, *wanted = memory + size, *x = wanted + size, *product = x + size,
               *scatter = product + size;
        double *system = scatter + n * n, trace = 0, cost = 0;
        t.rest = system + n * n;
        find_normals(&t, t.positions, 3, t.rest);
        result = px_fit_sum(fit, n * n, add_scatter, &t, scatter);
        if (result == PELT_OK)
            result = sum_normals(&t, cross);
        px_gemm(1, px_matrix_in(fit->cross, n, d), px_transposed(px_matrix_in(fit->basis, rows, d)), 0,
                px_matrix_of(wanted, n, rows));
        memset(x, 0, size * sizeof *x);
        add_inside(fit, 1, x);
        double before = error_of(fit, x, wanted, product);
        for (size_t r = 0; r < n; r++)
            trace += fit->scatter[r * n + r];
        bool found = false;
        double strength = MOST_HEIGHT * MOST_HEIGHT;
        for (int tries = 0; result == PELT_OK && !found && tries < HALVINGS; tries++, strength *= 0.5) {
            for (size_t e = 0; e < n * n; e++)
                system[e] =
                    fit->scatter[e] + strength * scatter[e] + (e % (n + 1) == 0 ? 1e-11 * trace / (double)n : 0);
            for (size_t r = 0; r < n; r++)
                for (size_t row = 0; row < rows; row++)
                    x[r * rows + row] = wanted[r * rows + row] + strength * cross[row * n + r];
            found = px_cholesky_solve(px_matrix_of(system, n, n), px_matrix_of(x, n, rows));
            cost = found ? error_of(fit, x, wanted, product) - before : 0;
            found = found && fit->now.objective + cost <= most;
        }
        if (result == PELT_OK && found) {
            add_inside(fit, -1, x);
            for (size_t e = 0; e < size; e++)
                outside[e] = x[e % n * rows + e / n];
            fit->outside = outside;
            fit->now.objective += cost;
        }
    }
    px_arena_destroy(scratch);
    px_free(fit->context, memory);
    return result;
}
