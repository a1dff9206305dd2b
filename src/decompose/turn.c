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
#include "decompose/pulls.h"

#include <math.h>

#define FRAMES_BLOCK 8u
#define STRIP        256u
#define MOST_HEIGHT  0.1 /* largest h: a normal counts like a point this far above the surface (mesh radius: 1) */
#define HALVINGS     24  /* most halvings of h² */

typedef struct turning {
    const px_fit *fit;
    const pelt_mesh *mesh;
    const pelt_vertex_classes *classes; /* px_gathered.classes */
    double *rest;                       /* [vertex][3] unit normals at rest */
    double *cross;                      /* [row][4P] N X_nᵀ; NULL: not computed */
    const double *transforms;           /* [row][4P], used for `wrong` */
    uint32_t *wrong;                    /* [frame] number of vertices with inverted normals; NULL: not counted */
} turning;

/* Area-weighted unit normals [vertex][3]; positions [vertex][pitch], x, y, z first. Zero for vertices without area. */
static void find_normals(const turning *t, const double *positions, size_t pitch, double *normals) {
    memset(normals, 0, 3 * (size_t)t->fit->vertex_count * sizeof *normals);
    for (size_t f = 0; f < t->mesh->triangle_count; f++) {
        size_t corners[3];
        double u[3], v[3];
        for (size_t c = 0; c < 3; c++)
            corners[c] = pelt_vertex_class(t->classes, t->mesh->triangles[3 * f + c]);
        for (size_t c = 0; c < 3; c++) {
            u[c] = positions[corners[1] * pitch + c] - positions[corners[0] * pitch + c];
            v[c] = positions[corners[2] * pitch + c] - positions[corners[0] * pitch + c];
        }
        for (size_t c = 0; c < 3; c++)
            for (size_t a = 0; a < 3; a++)
                normals[3 * corners[c] + a] += u[(a + 1) % 3] * v[(a + 2) % 3] - u[(a + 2) % 3] * v[(a + 1) % 3];
    }
    for (size_t i = 0; i < t->fit->vertex_count; i++) {
        double *n = normals + 3 * i, length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
        for (size_t a = 0; a < 3; a++)
            n[a] = length > 0 ? n[a] / length : 0;
    }
}

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

/* Reconstructs positions of the animation: out [vertex][row_count]. `wide` [STRIP][dimension] is scratch. */
static void animate(const px_fit *fit, size_t first_row, size_t row_count, double *wide, double *out) {
    size_t d = fit->dimension;
    for (size_t i = 0, strip; i < fit->vertex_count; i += strip) {
        strip = px_min_size(STRIP, fit->vertex_count - i);
        for (size_t e = 0; e < strip * d; e++)
            wide[e] = (double)fit->coords[i * d + e];
        px_gemm(1, px_matrix_in(wide, strip, d), px_transposed(px_matrix_in(fit->basis + first_row * d, row_count, d)),
                0, px_matrix_of(out + i * row_count, strip, row_count));
    }
}

static void add_normals(const turning *t, const double *normals, double *cross) {
    const px_fit_state *s = &t->fit->now;
    size_t n = 4 * (size_t)t->fit->bone_count, K = t->fit->influence_count;
    for (size_t i = 0; i < t->fit->vertex_count; i++)
        for (size_t a = 0; a < s->counts[i]; a++)
            for (size_t row = 0; row < 3; row++)
                for (size_t c = 0; c < 3; c++)
                    cross[row * n + 4 * (size_t)s->bones[i * K + a] + c] +=
                        normals[3 * i + row] * s->weights[i * K + a] * t->rest[3 * i + c];
}

static pelt_result add_frames(void *user, size_t first, size_t count, size_t block) {
    const turning *t = user;
    (void)block;
    size_t n = 4 * (size_t)t->fit->bone_count, N = t->fit->vertex_count, rows = 3 * count;
    double *positions = PX_ALLOC(t->fit->context, double, px_mul_size(N, rows + 3) + STRIP * (size_t)t->fit->dimension);
    if (!positions)
        return PELT_ERROR_MEMORY;
    double *normals = positions + N * rows;
    animate(t->fit, 3 * first, rows, normals + 3 * N, positions);
    for (size_t k = 0; k < count; k++) {
        find_normals(t, positions + 3 * k, rows, normals);
        if (t->cross)
            add_normals(t, normals, t->cross + 3 * (first + k) * n);
        for (size_t i = 0; t->wrong && i < N; i++)
            t->wrong[first + k] += is_wrong(t, t->transforms + 3 * (first + k) * n, i, normals + 3 * i);
    }
    px_free(t->fit->context, positions);
    return PELT_OK;
}

/* X_n X_nᵀ [4P][4P] */
static void add_scatter(const turning *t, double *scatter) {
    const px_fit_state *s = &t->fit->now;
    size_t n = 4 * (size_t)t->fit->bone_count, K = t->fit->influence_count;
    for (size_t i = 0; i < t->fit->vertex_count; i++)
        for (size_t a = 0; a < s->counts[i]; a++)
            for (size_t b = 0; b < s->counts[i]; b++)
                for (size_t e = 0; e < 9; e++)
                    scatter[(4 * (size_t)s->bones[i * K + a] + e / 3) * n + 4 * (size_t)s->bones[i * K + b] + e % 3] +=
                        s->weights[i * K + a] * s->weights[i * K + b] * t->rest[3 * i + e / 3] * t->rest[3 * i + e % 3];
}

pelt_result px_turn_wrong(const px_fit *fit, const pelt_mesh *mesh, const pelt_vertex_classes *classes, double *share) {
    size_t n = 4 * (size_t)fit->bone_count, rows = fit->row_count, N = fit->vertex_count;
    turning t = {.fit = fit, .mesh = mesh, .classes = classes};
    double *transforms = PX_ALLOC(fit->context, double, px_mul_size(rows, n) + 3 * N);
    pelt_result result = PELT_ERROR_MEMORY;
    t.wrong = PX_ALLOC(fit->context, uint32_t, rows / 3);
    *share = 0;
    if (transforms && t.wrong) {
        t.transforms = transforms;
        t.rest = transforms + rows * n;
        memset(t.wrong, 0, rows / 3 * sizeof *t.wrong);
        px_gemm(1, px_matrix_in(fit->basis, rows, fit->dimension),
                px_transposed(px_matrix_in(fit->now.reduced, n, fit->dimension)), 0, px_matrix_of(transforms, rows, n));
        find_normals(&t, fit->now.rest, 3, t.rest);
        result = px_parallel(fit->context, NULL, rows / 3, FRAMES_BLOCK, add_frames, &t);
        for (size_t k = 0; result == PELT_OK && k < rows / 3; k++)
            *share += t.wrong[k] / ((double)N * (double)(rows / 3));
    }
    px_free(fit->context, t.wrong);
    px_free(fit->context, transforms);
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
    turning t = {.fit = fit, .mesh = mesh, .classes = classes};
    double *outside = PX_NEW(fit->arena, double, size);
    double *memory = PX_ALLOC(fit->context, double, px_mul_size(4, size) + 2 * n * n + 3 * (size_t)fit->vertex_count);
    pelt_result result = outside && memory ? px_fit_moments(fit) : PELT_ERROR_MEMORY;
    if (result == PELT_OK) {
        t.cross = memory;
        double *wanted = memory + size, *x = wanted + size, *product = x + size, *scatter = product + size;
        double *system = scatter + n * n, trace = 0, cost = 0;
        t.rest = system + n * n;
        memset(t.cross, 0, size * sizeof *t.cross);
        memset(scatter, 0, n * n * sizeof *scatter);
        find_normals(&t, fit->now.rest, 3, t.rest);
        add_scatter(&t, scatter);
        result = px_parallel(fit->context, NULL, rows / 3, FRAMES_BLOCK, add_frames, &t);
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
                    x[r * rows + row] = wanted[r * rows + row] + strength * t.cross[row * n + r];
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
    px_free(fit->context, memory);
    return result;
}
