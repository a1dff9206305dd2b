/* Corrections of normals (James and Twigg 2005, eq. 13), with the weights of the positions, for normals skinned as
 * engines do: by the blended transform itself (core/direction.h).
 *
 * Target normals are those of the clips' triangles; where the mesh's normals differ between welded vertices, edges are
 * hard and stay hard. Displacements of the normals are found mode by mode, in turn, by damped Gauss-Newton steps; a
 * step is kept only if it reduces the vertex's error over all frames. */
#include "core/direction.h"
#include "core/shading.h"
#include "correct/correct.h"

#include <math.h>

#define SWEEPS      4u /* over the modes */
#define TRIES       3u /* per step, with increasing damping */
#define FRAME_BLOCK 4u

typedef struct normal_work {
    px_correction *c;
    px_shading shading;
    float *wanted;   /* [class][frame][3] target normals */
    double *shares;  /* [class] number of points whose first vertex is in it */
    double *sums[2]; /* [class] Σ over frames of squared differences, before and after */
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
        if (!seen[px_correct_point(c, i)]++)
            w->shares[pelt_vertex_class(&c->normal_classes, i)] += 1;
    px_free(c->context, seen);
    return PELT_OK;
}

/* ---- One class --------------------------------------------------------------------------------------------- */

typedef struct class_work {
    const px_correction *c;
    const float *wanted; /* [frame][3] target normals */
    double rest[3];
    float *matrices; /* [frame][9] linear parts of the blended transforms */
    double *places;  /* [3][rank] displacements */
} class_work;

/* The morphed normal in frame k before skinning, with `step` added to a mode. */
static void morphed(const class_work *s, size_t k, uint32_t mode, const double step[3], double out[3]) {
    const px_correction *c = s->c;
    for (size_t a = 0; a < 3; a++) {
        out[a] = s->rest[a];
        for (size_t r = 0; r < c->rank; r++)
            out[a] +=
                c->modes.weights[r * c->frame_count + k] * (s->places[a * c->rank + r] + (r == mode ? step[a] : 0));
    }
}

/* Sum of squared angles after a step, and the linear system of the next step. */
static double sum_up(const class_work *s, uint32_t mode, const double step[3], px_direction_step *system) {
    double sum = 0, n[3];
    *system = (px_direction_step){0};
    for (size_t k = 0; k < s->c->frame_count; k++) {
        morphed(s, k, mode, step, n);
        sum += px_direction_add(system, s->matrices + 9 * k, n, s->wanted + 3 * k,
                                s->c->modes.weights[mode * s->c->frame_count + k]);
    }
    return sum;
}

static void improve(const class_work *s, uint32_t mode) {
    static const double none[3];
    px_direction_step here, there;
    double step[3], damping = PX_DAMPING, sum = sum_up(s, mode, none, &here);
    for (uint32_t n = 0; n < TRIES; n++, damping *= 30) {
        if (!px_direction_solve(&here, none, damping, step) || !(sum_up(s, mode, step, &there) < sum))
            continue;
        for (size_t a = 0; a < 3; a++)
            s->places[a * s->c->rank + mode] += step[a];
        return;
    }
}

/* Σ over frames of squared differences of unit normals. */
static double miss(const class_work *s) {
    static const double none[3];
    double sum = 0;
    for (size_t k = 0; k < s->c->frame_count; k++) {
        double n[3], b[9], shown[3];
        morphed(s, k, 0, none, n);
        for (size_t e = 0; e < 9; e++)
            b[e] = (double)s->matrices[9 * k + e];
        px_skin_direction(b, n, shown);
        for (size_t a = 0; a < 3; a++)
            sum += (shown[a] - (double)s->wanted[3 * k + a]) * (shown[a] - (double)s->wanted[3 * k + a]);
    }
    return sum;
}

static pelt_result fit_classes(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const normal_work *w = user;
    const px_correction *c = w->c;
    float *matrices = PX_ALLOC(c->context, float, px_mul_size(9, c->frame_count));
    if (!matrices)
        return PELT_ERROR_MEMORY;
    for (size_t n = first; n < first + count; n++) {
        uint32_t vertex = pelt_class_vertex(&c->normal_classes, n);
        class_work s = {.c = c, .wanted = w->wanted + 3 * n * c->frame_count, .matrices = matrices};
        s.places = c->normals + 3 * n * c->rank;
        for (size_t a = 0; a < 3; a++)
            s.rest[a] = (double)c->mesh.normals[3 * (size_t)vertex + a];
        for (uint32_t k = 0; k < c->frame_count; k++) {
            double b[9];
            px_correct_blend(c, pelt_vertex_class(&c->classes, vertex), k, b);
            for (size_t e = 0; e < 9; e++)
                matrices[9 * (size_t)k + e] = (float)b[e];
        }
        w->sums[0][n] = miss(&s);
        for (uint32_t step = 0; step < SWEEPS * c->rank; step++)
            improve(&s, step % c->rank);
        w->sums[1][n] = miss(&s);
    }
    px_free(c->context, matrices);
    return PELT_OK;
}

/* ---- Entry point ------------------------------------------------------------------------------------------- */

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
    c->normals = PX_NEW(c->scratch, double, 3 * (size_t)c->normal_classes.count * c->rank);
    if (!w.wanted || !w.shares || !w.sums[0] || !w.sums[1] || !c->normals)
        return PELT_ERROR_MEMORY;
    PX_TRY(count_points(&w));
    PX_TRY(px_parallel(c->context, "normals", c->frame_count, FRAME_BLOCK, read_frames, &w));
    PX_TRY(px_parallel(c->context, "normals", c->normal_classes.count, PX_CLASS_BLOCK, fit_classes, &w));
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
