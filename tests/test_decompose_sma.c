/* SMA (Skinning Mesh Animations): mean shift against brute force, weights against the equations, known bones, and
 * properties of every method. */
#include "decompose/divide.h"
#include "decompose/kinds.h"
#include "decompose/sma.h"
#include "scenes.h"
#include "support.h"

#include <math.h>
#include <stdlib.h>

/* ---- Mean shift ------------------------------------------------------------------------------------------- */

enum { dimension = 93, pitch = 96, point_count = 150 };

static double l1(const double *a, const double *b) {
    double sum = 0;
    for (size_t e = 0; e < dimension; e++)
        sum += fabs(a[e] - b[e]);
    return sum;
}

/* Clusters of different density, and outliers. */
static void make_points(test_random *random, float *points) {
    double centers[5][dimension];
    for (size_t e = 0; e < 5 * dimension; e++)
        centers[e / dimension][e % dimension] = test_random_real(random, -1, 1);
    for (size_t p = 0; p < point_count; p++) {
        size_t cluster = test_random_below(random, 6);
        double spread = cluster == 5 ? 2 : 0.05 + 0.03 * (double)cluster;
        for (size_t e = 0; e < dimension; e++)
            points[p * pitch + e] = (float)(centers[cluster % 5][e] + test_random_real(random, -spread, spread));
    }
}

/* Reference mean shift: visits every point in every step, until it converges. */
static void climb_slowly(const float *points, double h, double *place) {
    for (int round = 0; round < 2000; round++) {
        double mean[dimension] = {0}, total = 0, point[dimension];
        for (size_t p = 0; p < point_count; p++) {
            for (size_t e = 0; e < dimension; e++)
                point[e] = (double)points[p * pitch + e];
            double x = fmax(1 - l1(point, place) / h, 0);
            total += x * x;
            for (size_t e = 0; e < dimension; e++)
                mean[e] += x * x * point[e];
        }
        for (size_t e = 0; e < dimension; e++)
            mean[e] /= total;
        double moved = l1(mean, place);
        memcpy(place, mean, sizeof mean);
        if (moved < 1e-9 * h)
            return;
    }
}

/* Two points share a mode exactly when they converge to one position that at least `least` points reach. */
static void check_modes(const float *points, double h, uint32_t least, const uint32_t *modes, const float *offsets) {
    static double ends[point_count][dimension];
    uint32_t sizes[point_count] = {0};
    for (size_t p = 0; p < point_count; p++) {
        for (size_t e = 0; e < dimension; e++)
            ends[p][e] = (double)points[p * pitch + e];
        climb_slowly(points, h, ends[p]);
    }
    for (size_t p = 0; p < point_count; p++)
        for (size_t q = 0; q < point_count; q++)
            sizes[p] += l1(ends[p], ends[q]) < h / 4;
    for (size_t p = 0; p < point_count; p++) {
        double point[dimension];
        for (size_t e = 0; e < dimension; e++)
            point[e] = (double)points[p * pitch + e];
        assert_int_equal(modes[p] == PELT_NONE, sizes[p] < least);
        if (modes[p] != PELT_NONE) /* tolerance: the distance remaining when it stops */
            assert_true(fabs((double)offsets[p] - l1(point, ends[p]) / h) < 0.02);
        for (size_t q = 0; q < p; q++)
            if (modes[p] != PELT_NONE && modes[q] != PELT_NONE)
                assert_int_equal(modes[p] == modes[q], l1(ends[p], ends[q]) < h / 4);
    }
}

static void shift_is_exact(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    static float points[point_count * pitch];
    float offsets[point_count];
    uint32_t modes[point_count], mode_count, most = 0;
    test_random random = {11};
    for (int round = 0; round < 12; round++) {
        double h = dimension * test_random_real(&random, 0.15, 0.35);
        make_points(&random, points);
        test_ok(&test, px_mean_shift(test.context, &(px_shift_points){points, point_count, dimension, pitch}, h, 5,
                                     modes, offsets, &mode_count));
        check_modes(points, h, 5, modes, offsets);
        most = mode_count > most ? mode_count : most;
    }
    assert_int_equal(most, 5);
    test_end(&test);
}

/* On a slope, the position of a mode depends on the weights of the points around it; two modes less than h apart stay
 * separate. */
static void shift_knows_slopes(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    static float points[point_count * pitch];
    float offsets[point_count];
    uint32_t modes[point_count], mode_count;
    double h = 10;
    for (size_t p = 0; p < point_count; p++) {
        double t = (double)p / point_count;
        points[p * pitch] = (float)(p % 2 == 0 ? 0.95 * h + 0.01 * t : 0.2 * h * t * t);
    }
    test_ok(&test, px_mean_shift(test.context, &(px_shift_points){points, point_count, dimension, pitch}, h, 5, modes,
                                 offsets, &mode_count));
    check_modes(points, h, 5, modes, offsets);
    assert_int_equal(mode_count, 2);
    test_end(&test);
}

/* Points that all differ still make one mode: there is always at least one bone. */
static void shift_finds_something(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    float points[3 * 8] = {0};
    points[8] = 5, points[17] = -5;
    uint32_t modes[3], mode_count;
    float offsets[3];
    test_ok(&test, px_mean_shift(test.context, &(px_shift_points){points, 3, 2, 8}, 1, 4, modes, offsets, &mode_count));
    assert_int_equal(mode_count, 1);
    assert_int_equal(modes[0], 0);
    assert_int_equal(modes[1], PELT_NONE);
    test_end(&test);
}

enum { byte_pitch = 128 };

typedef struct answers {
    uint32_t distances[5][point_count]; /* UINT32_MAX: not found */
} answers;

static void mark(void *user, uint32_t point, const uint32_t distances[PX_SHIFT_PLACES]) {
    answers *found = user;
    for (size_t place = 0; place < 5; place++)
        found->distances[place][point] = distances[place];
}

/* Both versions of the inner loops find exactly the points within the limit, with their distances. */
static void tree_misses_nothing(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    static float points[point_count * pitch];
    static uint8_t bytes[point_count * byte_pitch];
    const px_shift_kernels *const kernels[] = {px_shift_kernels_best(), px_shift_kernels_plain()};
    test_random random = {12};
    make_points(&random, points);
    for (size_t e = 0; e < (size_t)point_count * dimension; e++)
        bytes[e / dimension * byte_pitch + e % dimension] =
            (uint8_t)(127 + 40 * (double)points[e / dimension * pitch + e % dimension]);
    px_shift_tree tree;
    test_ok(&test, px_shift_tree_create(test.context, bytes, byte_pitch, point_count, &tree));
    uint32_t limit = 600;
    size_t within = 0;
    for (size_t first = 0; first < 2 * point_count; first += 5) { /* five places at once, twice all points */
        static answers found;
        memset(&found, 0xFF, sizeof found);
        const uint8_t *places = bytes + first % point_count * byte_pitch;
        kernels[first / point_count]->find(&tree, places, 5, limit, mark, &found);
        for (size_t e = 0; e < 5 * point_count; e++) {
            const uint8_t *a = places + e / point_count * byte_pitch, *b = bytes + e % point_count * byte_pitch;
            uint32_t distance = 0;
            for (size_t x = 0; x < dimension; x++)
                distance += (uint32_t)abs(a[x] - b[x]);
            assert_int_equal(found.distances[e / point_count][e % point_count],
                             distance <= limit ? distance : UINT32_MAX);
            within += distance <= limit;
        }
    }
    assert_in_range(within, 4 * point_count, point_count * point_count);
    px_shift_tree_free(&tree);
    test_end(&test);
}

/* ---- Weights ---------------------------------------------------------------------------------------------- */

enum { rows = 12, bones = 4, vertices = 60 };

/* Random affine bones and trajectories; the basis is the frames themselves. */
static void make_fit(test_context *test, px_fit *fit, test_random *random, uint32_t bone_count) {
    *fit = (px_fit){.context = test->context, .kind = &px_bone_affine, .arena = px_arena_create(test->context)};
    px_fit_divide(fit, vertices, false);
    fit->row_count = fit->dimension = rows;
    fit->bone_capacity = fit->bone_count = bone_count;
    fit->influence_count = bones;
    fit->coords = PX_NEW(fit->arena, float, vertices *rows);
    fit->norms = PX_NEW(fit->arena, double, vertices);
    test_ok(test, px_fit_state_make(fit, &fit->now));
    test_ok(test, px_fit_make_moments(fit));
    for (size_t e = 0; e < (size_t)4 * bone_count * rows; e++)
        fit->now.reduced[e] = test_random_real(random, -1, 1);
    for (size_t e = 0; e < (size_t)vertices * rows; e++) {
        fit->coords[e] = (float)test_random_real(random, -1, 1);
        fit->norms[e / rows] += (double)fit->coords[e] * (double)fit->coords[e];
        fit->now.rest[e / rows * 3 + e % 3] = test_random_real(random, -1, 1);
    }
    for (size_t e = 0; e < rows; e++) /* two bones that move nearly alike: a case for truncation */
        for (size_t c = 0; c < 4; c++)
            fit->now.reduced[(4 + c) * rows + e] = fit->now.reduced[c * rows + e] + 1e-7 * (double)c;
    px_fit_gram(fit);
}

/* [c A; 1 … 1] and [c a; 1] of a vertex. */
static void make_system(const px_fit *fit, size_t i, double a[(rows + 1) * bones], double b[rows + 1]) {
    double scale = 1 / sqrt(fit->norms[i]);
    const double *v = fit->now.rest + 3 * i;
    for (size_t j = 0; j < bones; j++) {
        const double *t = fit->now.reduced + 4 * j * rows;
        for (size_t e = 0; e < rows; e++)
            a[e * bones + j] = scale * (t[e] * v[0] + t[rows + e] * v[1] + t[2 * rows + e] * v[2] + t[3 * rows + e]);
        a[rows * bones + j] = 1;
    }
    for (size_t e = 0; e < rows; e++)
        b[e] = scale * (double)fit->coords[i * rows + e];
    b[rows] = 1;
}

static void weights_of(const px_fit *fit, size_t i, double w[bones]) {
    memset(w, 0, bones * sizeof *w);
    for (size_t a = 0; a < fit->now.counts[i]; a++)
        w[fit->now.bones[i * bones + a]] = fit->now.weights[i * bones + a];
}

static void tsvd_reference(const test_context *test, const double *a, const double *b, double w[bones]) {
    double copy[(rows + 1) * bones], u[(rows + 1) * bones], s[bones], vt[bones * bones], sum = 0;
    memcpy(copy, a, sizeof copy);
    test_ok(test, px_svd(test->context, px_matrix_of(copy, rows + 1, bones), px_matrix_of(u, rows + 1, bones), s,
                         px_matrix_of(vt, bones, bones)));
    memset(w, 0, bones * sizeof *w);
    for (size_t k = 0; k < bones && s[k] > 1e-5 * s[0]; k++) {
        double along = 0;
        for (size_t e = 0; e <= rows; e++)
            along += u[e * bones + k] * b[e];
        for (size_t j = 0; j < bones; j++)
            w[j] += along / s[k] * vt[k * bones + j];
    }
    for (size_t j = 0; j < bones; j++)
        sum += w[j];
    for (size_t j = 0; j < bones; j++)
        w[j] = sum >= 0.1 ? w[j] / sum : NAN;
}

static void tsvd_is_the_svd(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    test_random random = {13};
    px_fit fit;
    make_fit(&test, &fit, &random, bones);
    pelt_decompose_desc desc = {PELT_DESC_COOKIE, .weight_solver = PELT_WEIGHT_SOLVER_TSVD};
    test_ok(&test, px_sma_weights(&fit, &desc));
    size_t checked = 0, negative = 0;
    for (size_t i = 0; i < vertices; i++) {
        double a[(rows + 1) * bones], b[rows + 1], wanted[bones], w[bones];
        make_system(&fit, i, a, b);
        tsvd_reference(&test, a, b, wanted);
        weights_of(&fit, i, w);
        for (size_t j = 0; j < bones && !isnan(wanted[0]); j++) {
            assert_true(fabs(w[j] - wanted[j]) < 1e-6);
            negative += w[j] < 0;
            checked++;
        }
    }
    assert_true(checked > vertices && negative > 10);
    uint32_t count;
    count = px_sma_negative(&fit);
    test_ok(&test, px_sma_convex(&fit));
    assert_true(count > 0);
    for (size_t e = 0; e < (size_t)vertices * bones; e++)
        assert_true(fit.now.weights[e] >= 0);
    px_arena_destroy(fit.arena);
    test_end(&test);
}

/* Karush-Kuhn-Tucker conditions: the gradient is zero for weights above the bound and not negative for those at it.
 * Weights are known up to their sum: the best scale along them undoes the normalisation. */
static void check_bounded(const px_fit *fit, double bound) {
    for (size_t i = 0; i < vertices; i++) {
        double a[(rows + 1) * bones], b[rows + 1], w[bones], residual[rows + 1], lowest = INFINITY;
        make_system(fit, i, a, b);
        weights_of(fit, i, w);
        for (size_t j = 0; j < bones; j++)
            lowest = fmin(lowest, w[j]);
        double scale = 1;
        if (bound == 0) {
            double ab = 0, aa = 0;
            for (size_t e = 0; e <= rows; e++) {
                double value = 0;
                for (size_t j = 0; j < bones; j++)
                    value += a[e * bones + j] * w[j];
                ab += value * b[e], aa += value * value;
            }
            scale = ab / aa;
        } else if (lowest < 0) {
            scale = bound / lowest; /* the lowest weight was at the bound, if any was */
        }
        for (size_t e = 0; e <= rows; e++) {
            residual[e] = -b[e];
            for (size_t j = 0; j < bones; j++)
                residual[e] += scale * a[e * bones + j] * w[j];
        }
        for (size_t j = 0; j < bones; j++) {
            double slope = 0;
            for (size_t e = 0; e <= rows; e++)
                slope += a[e * bones + j] * residual[e];
            assert_true(scale * w[j] >= bound - 1e-9);
            if (bound == 0 || fabs(lowest * scale - bound) < 1e-9) {
                assert_true(slope > -1e-6);
                assert_true(slope < 1e-6 || scale * w[j] < bound + 1e-6);
            }
        }
    }
}

static void bounded_weights_are_best(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    test_random random = {14};
    px_fit fit;
    make_fit(&test, &fit, &random, bones);
    pelt_decompose_desc desc = {PELT_DESC_COOKIE, .weight_solver = PELT_WEIGHT_SOLVER_NNLS, .min_weight = -0.1};
    test_ok(&test, px_sma_weights(&fit, &desc));
    check_bounded(&fit, 0);
    desc.weight_solver = PELT_WEIGHT_SOLVER_BOUNDED;
    desc.min_weight = 0; /* equivalent to NNLS */
    double nnls = fit.now.objective;
    test_ok(&test, px_sma_weights(&fit, &desc));
    assert_true(fit.now.objective == nnls);
    px_arena_destroy(fit.arena);
    test_end(&test);
}

enum { many = 9 }; /* bones, of which `bones` are the vertex's */

/* Position of vertex i moved by bone j. */
static double carried(const px_fit *fit, size_t i, size_t j, size_t row) {
    const double *v = fit->now.rest + 3 * i, *t = fit->now.reduced + 4 * j * rows + row;
    return v[0] * t[0] + v[1] * t[rows] + v[2] * t[2 * rows] + t[3 * rows];
}

/* Vertices moved by random bones: bit j of `truth` [vertex] is set for bone j. */
static void carry_vertices(px_fit *fit, test_random *random, uint32_t *truth) {
    memset(fit->coords, 0, (size_t)vertices * rows * sizeof *fit->coords);
    memset(fit->norms, 0, vertices * sizeof *fit->norms);
    for (size_t i = 0; i < vertices; i++) {
        truth[i] = 0;
        for (size_t n = 0; n < bones;) {
            size_t j = 2 + test_random_below(random, many - 2); /* the first two move alike */
            if (truth[i] >> j & 1)
                continue;
            truth[i] |= 1u << j;
            n++;
            for (size_t e = 0; e < rows; e++)
                fit->coords[i * rows + e] += (float)(carried(fit, i, j, e) / bones);
        }
        for (size_t e = 0; e < rows; e++)
            fit->norms[i] += (double)fit->coords[i * rows + e] * (double)fit->coords[i * rows + e];
    }
}

/* The `count` bones that predict a vertex best, as a bit mask. */
static uint32_t best_alone(const px_fit *fit, size_t i, size_t count) {
    uint32_t chosen = 0;
    for (size_t n = 0; n < count; n++) {
        double least = INFINITY;
        size_t best = 0;
        for (size_t j = 0; j < many; j++) {
            double sum = 0;
            for (size_t e = 0; e < rows; e++) {
                double off = carried(fit, i, j, e) - (double)fit->coords[i * rows + e];
                sum += off * off;
            }
            if (!(chosen >> j & 1) && sum < least) {
                least = sum;
                best = j;
            }
        }
        chosen |= 1u << best;
    }
    return chosen;
}

/* Bones that together move a vertex are found among the candidates, even if others alone predict it better. */
static void bones_complete_each_other(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    test_random random = {15};
    px_fit fit;
    uint32_t truth[vertices], hidden = 0;
    make_fit(&test, &fit, &random, many);
    carry_vertices(&fit, &random, truth);
    pelt_decompose_desc desc = {PELT_DESC_COOKIE, .weight_solver = PELT_WEIGHT_SOLVER_NNLS};
    test_ok(&test, px_sma_weights(&fit, &desc));
    for (size_t i = 0; i < vertices; i++) {
        if ((best_alone(&fit, i, 2 * bones) & truth[i]) != truth[i])
            continue;
        hidden += best_alone(&fit, i, bones) != truth[i];
        for (size_t a = 0; a < bones; a++) {
            assert_true(truth[i] >> fit.now.bones[i * bones + a] & 1);
            assert_true(fabs(fit.now.weights[i * bones + a] - 1.0 / bones) < 1e-5);
        }
    }
    assert_true(hidden > vertices / 4);
    px_arena_destroy(fit.arena);
    test_end(&test);
}

/* ---- Known bones ------------------------------------------------------------------------------------------ */

/* A sheet in three parts, each of which rotates about its own axis; vertices between parts are stretched. */
static pelt_result make_parts(pelt_context *context, uint32_t vertex_count, pelt_model **model) {
    enum { frames = 10 };
    PX_TRY(scene_find("cloth")->make(context, &(scene_desc){vertex_count, frames, 1}, model));
    const pelt_mesh *mesh = &(*model)->mesh;
    float *rest = pelt_model_alloc(context, *model, (size_t)3 * mesh->points.count, sizeof *rest), low = 1e9f,
          high = -1e9f;
    float *positions = pelt_model_alloc(context, *model, (size_t)3 * mesh->points.count * frames, sizeof *positions);
    pelt_result result = rest && positions ? PELT_OK : PELT_ERROR_MEMORY;
    if (result == PELT_OK)
        result = pelt_clip_read(context, &(*model)->clips[0], 0, 0, mesh->points.count, rest);
    for (size_t i = 0; result == PELT_OK && i < mesh->points.count; i++) {
        low = fminf(low, rest[3 * i]);
        high = fmaxf(high, rest[3 * i]);
    }
    for (size_t e = 0; result == PELT_OK && e < (size_t)mesh->points.count * frames; e++) {
        const float *p = rest + 3 * (e % mesh->points.count);
        double k = (double)(e / mesh->points.count), part = fmin(floor((double)((p[0] - low) / (high - low)) * 3), 2);
        double angle = 0.25 * k * (part - 1) + 0.05 * k, c = cos(angle), s = sin(angle);
        positions[3 * e] = (float)(c * (double)p[0] - s * (double)p[1]);
        positions[3 * e + 1] = (float)(s * (double)p[0] + c * (double)p[1] + 0.1 * k * part);
        positions[3 * e + 2] = p[2];
    }
    if (result == PELT_OK) {
        (*model)->clips[0].positions = positions;
        (*model)->mesh.weld = (pelt_vertex_classes){0};
    } else {
        pelt_model_destroy(*model);
        *model = NULL;
    }
    return result;
}

static double played_error(const test_context *test, pelt_model *model) {
    pelt_clip played;
    pelt_difference difference;
    const pelt_clip *clip = &model->clips[0];
    test_ok(test, pelt_clip_from_motion_at(test->context, model, &model->motions[0], clip->times, clip->frame_count,
                                           PELT_SKINNING_LINEAR, &played));
    test_ok(test, pelt_compare_clips(test->context, clip, &played, NULL, &difference, NULL));
    return difference.error_rms;
}

static pelt_decompose_desc settings(pelt_transforms kind) {
    pelt_decompose_desc desc = pelt_decompose_desc_default();
    desc.method = PELT_DECOMPOSE_SMA;
    desc.transforms = kind;
    return desc;
}

static void known_bones(void **state) {
    (void)state;
    static const pelt_transforms kinds[] = {PELT_TRANSFORMS_AFFINE, PELT_TRANSFORMS_TRS, PELT_TRANSFORMS_RIGID,
                                            PELT_TRANSFORMS_SIMILARITY};
    for (size_t k = 0; k < 4; k++) {
        test_context test;
        test_begin(&test, 2);
        pelt_model *model;
        test_ok(&test, make_parts(test.context, 900, &model));
        pelt_decompose_desc desc = settings(kinds[k]);
        pelt_decompose_report report;
        test_ok(&test, pelt_decompose(test.context, model, &desc, &report));
        assert_int_equal(report.bone_count, 3);
        assert_int_equal(report.iteration_count, 0);
        assert_true(report.near_rigid > 0.8 && report.near_rigid < 1); /* all but the stretched vertices */
        assert_true(report.error_fit < 0.01);
        assert_true(played_error(&test, model) < 0.02);
        pelt_model_destroy(model);
        test_end(&test);
    }
}

static uint32_t count_bones(test_context *test, double tolerance) {
    pelt_model *model;
    test_ok(test, scene_find("cloth")->make(test->context, &(scene_desc){700, 12, 1}, &model));
    pelt_decompose_desc desc = settings(PELT_TRANSFORMS_AFFINE);
    desc.rotation_tolerance = tolerance;
    pelt_decompose_report report;
    test_ok(test, pelt_decompose(test->context, model, &desc, &report));
    pelt_model_destroy(model);
    return report.bone_count;
}

static void fewer_bones_when_tolerant(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    uint32_t fine = count_bones(&test, 0.05), coarse = count_bones(&test, 0.3);
    assert_true(fine > coarse && coarse >= 1);
    test_end(&test);
}

static pelt_decompose_report fit_cloth(pelt_transforms kind, pelt_weight_solver solver) {
    test_context test;
    test_begin(&test, 2);
    pelt_model *model;
    test_ok(&test, scene_find("cloth")->make(test.context, &(scene_desc){300, 12, 1}, &model));
    pelt_decompose_desc desc = settings(kind);
    desc.weight_solver = solver;
    pelt_decompose_report report;
    test_ok(&test, pelt_decompose(test.context, model, &desc, &report));
    assert_int_equal(report.negative_count > 0, solver != PELT_WEIGHT_SOLVER_NNLS);
    test_ok(&test, pelt_model_validate(test.context, model));
    pelt_model_destroy(model);
    test_end(&test);
    return report;
}

/* More degrees of freedom fit better, for any kind of bone. Weights saved to files respect the format's limits, and
 * come near the optimum under them. */
static void solvers_are_ordered(void **state) {
    (void)state;
    for (int kind = PELT_TRANSFORMS_AFFINE; kind <= PELT_TRANSFORMS_SIMILARITY; kind++) {
        pelt_decompose_report fits[] = {fit_cloth((pelt_transforms)kind, PELT_WEIGHT_SOLVER_TSVD),
                                        fit_cloth((pelt_transforms)kind, PELT_WEIGHT_SOLVER_BOUNDED),
                                        fit_cloth((pelt_transforms)kind, PELT_WEIGHT_SOLVER_NNLS)};
        assert_true(fits[0].error_weights < fits[1].error_weights);
        assert_true(fits[1].error_weights < fits[2].error_weights);
        assert_true(fits[0].error_fit < 1.2 * fits[2].error_fit && fits[1].error_fit < 1.2 * fits[2].error_fit);
    }
}

/* ---- Properties of every method --------------------------------------------------------------------------- */

static void threads_do_not_matter(void **state) {
    (void)state;
    test_context tests[2];
    pelt_model *models[2];
    pelt_decompose_desc desc = settings(PELT_TRANSFORMS_AFFINE);
    for (uint32_t t = 0; t < 2; t++) {
        test_begin(&tests[t], 1 + 2 * t);
        test_ok(&tests[t], scene_find("cloth")->make(tests[t].context, &(scene_desc){900, 12, 1}, &models[t]));
        test_ok(&tests[t], pelt_decompose(tests[t].context, models[t], &desc, NULL));
    }
    const pelt_skin *a = &models[0]->skin, *b = &models[1]->skin;
    size_t count = (size_t)models[0]->mesh.vertex_count * a->influence_count;
    assert_int_equal(a->bone_count, b->bone_count);
    assert_memory_equal(a->weights, b->weights, count * sizeof *a->weights);
    assert_memory_equal(a->bones, b->bones, count * sizeof *a->bones);
    for (uint32_t t = 0; t < 2; t++) {
        pelt_model_destroy(models[t]);
        test_end(&tests[t]);
    }
}

static void wrong_settings(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model;
    test_ok(&test, make_parts(test.context, 60, &model));
    pelt_decompose_desc desc = settings(PELT_TRANSFORMS_AFFINE);
    desc.bones = 4;
    test_fails(&test, pelt_decompose(test.context, model, &desc, NULL), PELT_ERROR_USAGE, "rotation_tolerance");
    desc.bones = 0;
    desc.rig = model;
    test_fails(&test, pelt_decompose(test.context, model, &desc, NULL), PELT_ERROR_USAGE, "rig");
    desc.rig = NULL;
    desc.memory = 1000;
    test_fails(&test, pelt_decompose(test.context, model, &desc, NULL), PELT_ERROR_MEMORY, "memory allows");
    desc.memory = 0;
    model->mesh.triangle_count = 0;
    test_fails(&test, pelt_decompose(test.context, model, &desc, NULL), PELT_ERROR_INPUT, "triangle");
    pelt_model_destroy(model);
    test_end(&test);
}

static pelt_result run_once(pelt_context *context, void *user) {
    pelt_model *model = NULL;
    pelt_result result = make_parts(context, 27, &model);
    if (result == PELT_OK)
        result = pelt_decompose(context, model, user, NULL);
    pelt_model_destroy(model);
    return result;
}

static void failing_allocations(void **state) {
    (void)state;
    pelt_decompose_desc desc = settings(PELT_TRANSFORMS_AFFINE);
    desc.weight_solver = PELT_WEIGHT_SOLVER_TSVD;
    test_fail_each_allocation(1, run_once, &desc);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shift_is_exact),
        cmocka_unit_test(shift_knows_slopes),
        cmocka_unit_test(shift_finds_something),
        cmocka_unit_test(tree_misses_nothing),
        cmocka_unit_test(tsvd_is_the_svd),
        cmocka_unit_test(bounded_weights_are_best),
        cmocka_unit_test(bones_complete_each_other),
        cmocka_unit_test(known_bones),
        cmocka_unit_test(fewer_bones_when_tolerant),
        test_long(solvers_are_ordered),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(wrong_settings),
        cmocka_unit_test(failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
