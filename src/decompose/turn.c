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

#define FRAMES      8u    /* of a block: they are worked on side by side */
#define STRIP       2048u /* vertices whose normals are found by one task */
#define PLACED      256u  /* vertices whose positions are found by one task */
#define FRAMES_MOST 64u   /* in which inverted normals are counted */
#define MOST_HEIGHT 0.1   /* largest h: a normal counts like a point this far above the surface (mesh radius: 1) */
#define HALVINGS    24    /* most halvings of h² */

typedef struct turning {
    const px_fit *fit;
    /* Triangles that have a vertex of strip s, in ascending order: `starts[s]` to `starts[s + 1]`. */
    const size_t *starts;
    const uint32_t *corners; /* [triangle][3] own vertices, then ghosts: vertices of other processes beside own ones */
    size_t ghost_count;
    const float *ghost_coords; /* [ghost][dimension] */
    double *rest;              /* [vertex][3] unit normals at rest */
    /* A block of frames */
    double *basis;      /* [3][FRAMES][dimension] their rows of the basis; zero if there are fewer frames */
    double *positions;  /* [vertex, ghost][3][FRAMES] */
    double *normals;    /* [vertex][3][FRAMES] unit normals */
    double *transforms; /* [4P][3][FRAMES], used for `wrong` */
    uint32_t *wrong;    /* [strip] number of vertices and frames with inverted normals */
} turning;

/* ---- Surface ------------------------------------------------------------------------------------------------ */

/* Own vertices and their neighbours by number: own ones first, then ghosts in ascending order. */
static pelt_result number_vertices(turning *t, px_arena *scratch, const pelt_mesh *mesh,
                                   const pelt_vertex_classes *classes, uint32_t *numbers, const uint32_t **ghosts) {
    const px_fit *fit = t->fit;
    uint32_t first = fit->first_vertex, count = fit->vertex_count, total = fit->total_count;
    bool *beside = PX_ALLOC(fit->context, bool, total);
    for (size_t f = 0; beside && f < mesh->triangle_count; f++) {
        bool own = false;
        for (size_t c = 0; c < 3; c++)
            own |= pelt_vertex_class(classes, mesh->triangles[3 * f + c]) - first < count;
        for (size_t c = 0; own && c < 3; c++)
            beside[pelt_vertex_class(classes, mesh->triangles[3 * f + c])] = true;
    }
    for (uint32_t i = 0; beside && i < total; i++) {
        bool own = i - first < count;
        numbers[i] = own ? i - first : beside[i] ? count + (uint32_t)t->ghost_count : PELT_NONE;
        t->ghost_count += !own && beside[i];
    }
    uint32_t *list = PX_NEW(scratch, uint32_t, t->ghost_count);
    for (uint32_t i = 0; beside && list && i < total; i++)
        if (numbers[i] >= count && numbers[i] != PELT_NONE)
            list[numbers[i] - count] = i;
    px_free(fit->context, beside);
    *ghosts = list;
    return beside && list ? PELT_OK : PELT_ERROR_MEMORY;
}

/* Lists of the triangles of each strip. */
static pelt_result list_corners(turning *t, px_arena *scratch, const pelt_mesh *mesh,
                                const pelt_vertex_classes *classes, const uint32_t *numbers) {
    size_t strips = px_block_count(t->fit->vertex_count, STRIP);
    size_t *starts = PX_NEW(scratch, size_t, strips + 2); /* of strip s at s + 1 while the lists are filled */
    uint32_t *corners = NULL;
    for (int pass = 0; starts && pass < 2; pass++) {
        for (size_t f = 0; f < mesh->triangle_count; f++) {
            uint32_t corner[3];
            size_t strip[3];
            for (size_t c = 0; c < 3; c++) {
                corner[c] = numbers[pelt_vertex_class(classes, mesh->triangles[3 * f + c])];
                strip[c] = corner[c] < t->fit->vertex_count ? corner[c] / STRIP : strips;
            }
            for (size_t c = 0; c < 3; c++) {
                bool first = (c < 1 || strip[c] != strip[0]) && (c < 2 || strip[c] != strip[1]);
                if (strip[c] == strips || !first)
                    continue;
                size_t *at = &starts[strip[c] + (pass == 0 ? 2 : 1)];
                if (pass == 1)
                    memcpy(corners + 3 * *at, corner, sizeof corner);
                ++*at;
            }
        }
        for (size_t s = 2; pass == 0 && s < strips + 2; s++)
            starts[s] += starts[s - 1];
        if (pass == 0 && !(corners = PX_NEW(scratch, uint32_t, px_mul_size(3, starts[strips + 1]))))
            break;
    }
    t->starts = starts;
    t->corners = corners;
    return starts && corners ? PELT_OK : PELT_ERROR_MEMORY;
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

/* Fetches the ghosts of all processes. rest [vertex, ghost][3]: has the own vertices. */
static pelt_result fetch_ghosts(turning *t, px_arena *scratch, const uint32_t *ghosts, double *rest) {
    const px_fit *fit = t->fit;
    float *coords = PX_NEW(scratch, float, px_mul_size(t->ghost_count, fit->dimension));
    if (!coords)
        return PELT_ERROR_MEMORY;
    t->ghost_coords = coords;
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

/* Area-weighted unit normals [vertex][3][width] of a strip; positions [vertex, ghost][3][width]. Zero for vertices
 * without area. */
static inline void find_normals(const turning *t, size_t strip, const double *positions, size_t width,
                                double *normals) {
    size_t first = strip * STRIP, count = px_min_size(STRIP, t->fit->vertex_count - first);
    normals += 3 * width * first;
    memset(normals, 0, 3 * width * count * sizeof *normals);
    for (size_t f = t->starts[strip]; f < t->starts[strip + 1]; f++) {
        const uint32_t *corners = t->corners + 3 * f;
        const double *p = positions + 3 * width * corners[0], *q = positions + 3 * width * corners[1],
                     *r = positions + 3 * width * corners[2];
        double face[3 * FRAMES];
        for (size_t a = 0; a < 3; a++) {
            size_t y = (a + 1) % 3 * width, z = (a + 2) % 3 * width;
            for (size_t k = 0; k < width; k++)
                face[a * width + k] =
                    (q[y + k] - p[y + k]) * (r[z + k] - p[z + k]) - (q[z + k] - p[z + k]) * (r[y + k] - p[y + k]);
        }
        for (size_t c = 0; c < 3; c++)
            for (size_t e = 0; e < 3 * width && corners[c] - first < count; e++)
                normals[3 * width * (corners[c] - first) + e] += face[e];
    }
    for (size_t i = 0; i < count; i++) {
        double *n = normals + 3 * width * i;
        for (size_t k = 0; k < width; k++) {
            double *x = n + k, *y = n + width + k, *z = n + 2 * width + k, length = sqrt(*x * *x + *y * *y + *z * *z);
            *x = length > 0 ? *x / length : 0;
            *y = length > 0 ? *y / length : 0;
            *z = length > 0 ? *z / length : 0;
        }
    }
}

static pelt_result make_surface(turning *t, px_arena *scratch, const pelt_mesh *mesh,
                                const pelt_vertex_classes *classes) {
    const px_fit *fit = t->fit;
    size_t N = fit->vertex_count, n = 4 * (size_t)fit->bone_count;
    uint32_t *numbers = PX_ALLOC(fit->context, uint32_t, fit->total_count);
    const uint32_t *ghosts = NULL;
    pelt_result result = numbers ? number_vertices(t, scratch, mesh, classes, numbers, &ghosts) : PELT_ERROR_MEMORY;
    if (result == PELT_OK)
        result = list_corners(t, scratch, mesh, classes, numbers);
    px_free(fit->context, numbers);
    PX_TRY(result);
    t->rest = PX_NEW(scratch, double, 3 * N);
    t->basis = PX_NEW(scratch, double, px_mul_size(3 * FRAMES, fit->dimension));
    t->positions = PX_NEW(scratch, double, px_mul_size(3 * FRAMES, N + t->ghost_count));
    t->normals = PX_NEW(scratch, double, px_mul_size(3 * FRAMES, N));
    t->transforms = PX_NEW(scratch, double, px_mul_size(3 * FRAMES, n));
    if (!t->rest || !t->basis || !t->positions || !t->normals || !t->transforms)
        return PELT_ERROR_MEMORY;
    memcpy(t->positions, fit->now.rest, 3 * N * sizeof *t->positions);
    if (fit->leaves.divided)
        PX_TRY(fetch_ghosts(t, scratch, ghosts, t->positions));
    for (size_t strip = 0; strip * STRIP < N; strip++)
        find_normals(t, strip, t->positions, 1, t->rest);
    return PELT_OK;
}

/* ---- Frames ------------------------------------------------------------------------------------------------- */

/* Positions of some vertices in the frames of the block. */
static pelt_result place_vertices(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const turning *t = user;
    const px_fit *fit = t->fit;
    size_t N = fit->vertex_count, d = fit->dimension, own = first < N ? px_min_size(count, N - first) : 0;
    double *wide = PX_ALLOC(fit->context, double, px_mul_size(count, d)); /* coordinates */
    if (!wide)
        return PELT_ERROR_MEMORY;
    for (size_t e = 0; e < own * d; e++)
        wide[e] = (double)fit->coords[first * d + e];
    for (size_t e = own * d; e < count * d; e++)
        wide[e] = (double)t->ghost_coords[(first - N) * d + e];
    px_gemm(1, px_matrix_in(wide, count, d), px_transposed(px_matrix_in(t->basis, 3 * FRAMES, d)), 0,
            px_matrix_of(t->positions + 3 * FRAMES * first, count, 3 * FRAMES));
    px_free(fit->context, wide);
    return PELT_OK;
}

static pelt_result find_strip(void *user, size_t strip, size_t count, size_t block) {
    (void)count, (void)block;
    const turning *t = user;
    find_normals(t, strip, t->positions, FRAMES, t->normals);
    return PELT_OK;
}

/* Normals of `count` frames, `step` apart. */
static pelt_result find_frames(turning *t, size_t first, size_t count, size_t step) {
    const px_fit *fit = t->fit;
    size_t d = fit->dimension;
    memset(t->basis, 0, 3 * FRAMES * d * sizeof *t->basis);
    for (size_t e = 0; e < 3 * count; e++) {
        size_t frame = first + e / 3 * step;
        memcpy(t->basis + (e % 3 * FRAMES + e / 3) * d, fit->basis + (3 * frame + e % 3) * d, d * sizeof *t->basis);
    }
    PX_TRY(px_parallel(fit->context, NULL, fit->vertex_count + t->ghost_count, PLACED, place_vertices, t));
    return px_parallel(fit->context, NULL, px_block_count(fit->vertex_count, STRIP), 1, find_strip, t);
}

/* Counts the vertices and frames in which bones rotate the rest normal to the wrong side of the surface. */
static pelt_result count_strip(void *user, size_t first, size_t count, size_t block) {
    const turning *t = user;
    const px_fit_state *s = &t->fit->now;
    size_t K = t->fit->influence_count;
    for (size_t i = first; i < first + count; i++) {
        double along[FRAMES] = {0};
        for (size_t a = 0; a < s->counts[i]; a++)
            for (size_t e = 0; e < 9; e++) {
                const double *normal = t->normals + 3 * FRAMES * i + e / 3 * FRAMES;
                const double *m =
                    t->transforms + 3 * FRAMES * (4 * (size_t)s->bones[i * K + a] + e % 3) + e / 3 * FRAMES;
                for (size_t k = 0; k < FRAMES; k++)
                    along[k] += s->weights[i * K + a] * normal[k] * t->rest[3 * i + e % 3] * m[k];
            }
        for (size_t k = 0; k < FRAMES; k++)
            t->wrong[block] += along[k] < 0;
    }
    return PELT_OK;
}

/* The vertices of a leaf that are added to N X_nᵀ of a block of frames. */
typedef struct normal_sum {
    const turning *t;
    size_t first, count; /* vertices */
    double *cross;       /* [3][4P][FRAMES] */
} normal_sum;

static pelt_result add_row(void *user, size_t row, size_t count, size_t block) {
    (void)count, (void)block;
    const normal_sum *sum = user;
    const turning *t = sum->t;
    const px_fit_state *s = &t->fit->now;
    size_t n = 4 * (size_t)t->fit->bone_count, K = t->fit->influence_count;
    for (size_t i = sum->first; i < sum->first + sum->count; i++) {
        const double *normal = t->normals + (3 * i + row) * FRAMES;
        for (size_t a = 0; a < s->counts[i]; a++) {
            double *cross = sum->cross + (row * n + 4 * (size_t)s->bones[i * K + a]) * FRAMES;
            for (size_t c = 0; c < 3; c++)
                for (size_t k = 0; k < FRAMES; k++)
                    cross[c * FRAMES + k] += normal[k] * s->weights[i * K + a] * t->rest[3 * i + c];
        }
    }
    return PELT_OK;
}

static pelt_result add_normals(void *user, size_t first, size_t count, double *cross) {
    normal_sum sum = {.t = user, .first = first, .count = count, .cross = cross};
    return px_parallel(sum.t->fit->context, NULL, 3, 1, add_row, &sum);
}

/* cross [row][4P]: N X_nᵀ. */
static pelt_result sum_normals(turning *t, double *cross) {
    const px_fit *fit = t->fit;
    size_t n = 4 * (size_t)fit->bone_count, frames = fit->row_count / 3;
    double *sum = PX_ALLOC(fit->context, double, px_mul_size(3 * FRAMES, n)); /* [3][4P][FRAMES] */
    pelt_result result = sum ? PELT_OK : PELT_ERROR_MEMORY;
    for (size_t first = 0; result == PELT_OK && first < frames; first += FRAMES) {
        size_t count = px_min_size(FRAMES, frames - first);
        result = find_frames(t, first, count, 1);
        if (result == PELT_OK)
            result = px_fit_sum(fit, 3 * FRAMES * n, add_normals, t, sum);
        for (size_t e = 0; result == PELT_OK && e < 3 * count * n; e++)
            cross[3 * first * n + e] = sum[(e / n % 3 * n + e % n) * FRAMES + e / n / 3];
    }
    px_free(fit->context, sum);
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
    size_t n = 4 * (size_t)fit->bone_count, d = fit->dimension, frames = fit->row_count / 3;
    size_t strips = px_block_count(fit->vertex_count, STRIP);
    size_t step = px_block_count(frames, FRAMES_MOST), used = px_block_count(frames, step);
    if (!(t->wrong = PX_NEW(scratch, uint32_t, strips)))
        return PELT_ERROR_MEMORY;
    for (size_t first = 0; first < used; first += FRAMES) {
        PX_TRY(find_frames(t, first * step, px_min_size(FRAMES, used - first), step));
        px_gemm(1, px_matrix_in(fit->now.reduced, n, d), px_transposed(px_matrix_in(t->basis, 3 * FRAMES, d)), 0,
                px_matrix_of(t->transforms, n, 3 * FRAMES));
        PX_TRY(px_parallel(fit->context, NULL, fit->vertex_count, STRIP, count_strip, t));
    }
    double wrong = 0;
    for (size_t s = 0; s < strips; s++)
        wrong += t->wrong[s];
    if (fit->leaves.divided)
        PX_TRY(pelt_group_sum(fit->context, &wrong, 1));
    *share = wrong / ((double)fit->total_count * (double)used);
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
    double *memory = PX_ALLOC(fit->context, double, px_mul_size(4, size) + 2 * n * n);
    pelt_result result = scratch && outside && memory ? px_fit_moments(fit) : PELT_ERROR_MEMORY;
    if (result == PELT_OK)
        result = make_surface(&t, scratch, mesh, classes);
    if (result == PELT_OK) {
        double *cross = memory, *wanted = memory + size, *x = wanted + size, *product = x + size,
               *scatter = product + size;
        double *system = scatter + n * n, trace = 0, cost = 0;
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
