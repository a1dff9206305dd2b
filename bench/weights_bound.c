/* Lower bound of a round trip of weights through a thinned copy: bench_weights --bound.
 *
 * Whatever weights W the vertices of the copy have, weights that are interpolated on its triangles at the points nearest to the
 * vertices of the character differ from the character's own weights w by at least
 *
 *   min_W Σ_s m_s |(B W)_s − w_s|,      B: barycentric coordinates, m_s: vertices at the same place
 *
 * for every bone. This linear program is solved by iteratively reweighted least squares, a_s = m_s / max(|r_s|, ε), r = w − B W.
 * Then y_s = a_s r_s has |y_s| ≤ m_s and Bᵀ y = 0 (the normal equations): a point of the dual program, whose value Σ y_s w_s = Σ
 * y_s r_s is a lower bound, converged or not. (The residuals of the next round are larger than those of a_s in places: y is divided
 * by the largest |y_s| / m_s.) Sums of 1, weights ≥ 0 and the number of bones per vertex are left out, which would only raise it.
 */
#include "weights_bound.h"
#include "core/classes.h"
#include "core/surface.h"
#include "weights/edit.h"
#include "weights/solve.h"

#include <math.h>
#include <stdlib.h>

#define ROUNDS         25
#define SMALL_RESIDUAL 1e-3
#define MAX_ITERATIONS 200u
#define TOLERANCE      1e-5
#define KEEP           1e-9 /* keeps the system definite where no vertex lies on a row's triangles */

typedef struct sample {
    uint32_t rows[3]; /* of the copy */
    double corners[3];
    double count; /* m_s */
} sample;

typedef struct system {
    const sample *samples;
    size_t sample_count;
    const double *shares; /* [sample] a_s */
    uint32_t row_count;
} bound_system;

static double multiply(const void *user, const double *x, double *out) {
    const bound_system *b = user;
    double energy = 0;
    for (uint32_t r = 0; r < b->row_count; r++)
        out[r] = KEEP * x[r];
    for (size_t s = 0; s < b->sample_count; s++) {
        const sample *at = &b->samples[s];
        double value = 0;
        for (int c = 0; c < 3; c++)
            value += at->corners[c] * x[at->rows[c]];
        for (int c = 0; c < 3; c++)
            out[at->rows[c]] += b->shares[s] * at->corners[c] * value;
    }
    for (uint32_t r = 0; r < b->row_count; r++)
        energy += x[r] * out[r];
    return energy;
}

static double residual(const sample *s, double w, const double *x) {
    for (int c = 0; c < 3; c++)
        w -= s->corners[c] * x[s->rows[c]];
    return w;
}

/* Adds the bounds of one bone; w [sample]. */
static void add_bone(px_arena *arena, const sample *samples, size_t sample_count, uint32_t row_count, const double *w,
                     weights_bound *bound) {
    double *x = PX_NEW(arena, double, row_count), *r = PX_NEW(arena, double, 3 * (size_t)row_count);
    double *diagonal = PX_NEW(arena, double, row_count), *shares = PX_NEW(arena, double, sample_count);
    double lower = 0, reached = INFINITY;
    if (!x || !r || !diagonal || !shares)
        exit(1);
    for (size_t s = 0; s < sample_count; s++)
        shares[s] = samples[s].count;
    for (int round = 0; round < ROUNDS; round++) {
        bound_system b = {samples, sample_count, shares, row_count};
        for (uint32_t t = 0; t < row_count; t++) {
            r[t] = -KEEP * x[t];
            diagonal[t] = KEEP;
        }
        for (size_t s = 0; s < sample_count; s++) {
            double off = residual(&samples[s], w[s], x);
            for (int c = 0; c < 3; c++) {
                r[samples[s].rows[c]] += shares[s] * samples[s].corners[c] * off;
                diagonal[samples[s].rows[c]] += shares[s] * samples[s].corners[c] * samples[s].corners[c];
            }
        }
        px_cg system = {multiply, &b, row_count, diagonal, MAX_ITERATIONS, TOLERANCE};
        px_cg_solve(&system, x, r, r + row_count);
        double dual = 0, primal = 0, most = 1;
        for (size_t s = 0; s < sample_count; s++) {
            double off = residual(&samples[s], w[s], x), y = shares[s] * off;
            dual += y * off;
            primal += samples[s].count * fabs(off);
            most = fmax(most, fabs(y) / samples[s].count);
            shares[s] = samples[s].count / fmax(fabs(off), SMALL_RESIDUAL);
        }
        lower = fmax(lower, dual / most);
        reached = fmin(reached, primal);
    }
    bound->lower += lower;
    bound->reached += reached;
}

weights_bound weights_bound_find(pelt_context *context, const pelt_model *model, const pelt_model *thin) {
    px_arena *arena = px_arena_create(context), *scratch;
    pelt_vertex_classes classes, rows;
    px_weight_table table;
    px_surface tree;
    weights_bound out = {0};
    if (!arena || px_weight_classes(arena, model, &classes) != PELT_OK ||
        px_weight_classes(arena, thin, &rows) != PELT_OK ||
        px_weight_table_read(arena, model, &classes, NULL, &table) != PELT_OK)
        exit(1);
    float *places = px_class_positions(arena, &classes, model->mesh.positions);
    float *corners = px_class_positions(arena, &rows, thin->mesh.positions);
    uint32_t *triangles = px_class_triangles(arena, &thin->mesh, &rows);
    sample *samples = PX_NEW(arena, sample, classes.count);
    double *w = PX_NEW(arena, double, classes.count), vertices = 0;
    if (!places || !corners || !triangles || !samples || !w ||
        px_surface_make(arena, corners, triangles, thin->mesh.triangle_count, &tree) != PELT_OK)
        exit(1);
    for (uint32_t p = 0; p < model->mesh.part_count; p++) {
        const pelt_part *part = &model->mesh.parts[p];
        for (size_t i = part->first_vertex; part->skinned && i < part->first_vertex + part->vertex_count; i++)
            samples[pelt_vertex_class(&classes, i)].count++;
    }
    for (uint32_t s = 0; s < classes.count; s++) {
        const double at[] = {places[3 * (size_t)s], places[3 * (size_t)s + 1], places[3 * (size_t)s + 2]};
        px_surface_point found;
        if (!px_surface_nearest(&tree, at, INFINITY, NULL, NULL, &found))
            exit(1);
        for (int c = 0; c < 3; c++) {
            samples[s].rows[c] = triangles[3 * (size_t)found.triangle + c];
            samples[s].corners[c] = found.corners[c];
        }
        vertices += samples[s].count;
    }
    for (uint32_t b = 0; b < model->skin.bone_count; b++) {
        double sum = 0;
        for (uint32_t s = 0; s < classes.count; s++)
            sum += w[s] = px_weight_table_of(&table, s, b);
        if (sum == 0)
            continue;
        if (!(scratch = px_arena_create(context)))
            exit(1);
        add_bone(scratch, samples, classes.count, rows.count, w, &out);
        px_arena_destroy(scratch);
    }
    px_arena_destroy(arena);
    out.lower /= vertices;
    out.reached /= vertices;
    return out;
}
