/* Differences between two vertex animations, or two skins. Definitions in pelt/measure.h.
 *
 * Clips are streamed in two passes: first the mean over time of every point of a, by blocks of points; then the
 * differences, by blocks of frames, because normals need whole frames. Each frame has its own partial sums, which are
 * added in order, so that the result does not depend on the number of threads.
 */
#include "core/ball.h"
#include "core/group.h"
#include "core/mesh.h"
#include "core/shading.h"

#include <math.h>
#include <pelt/measure.h>
#include <stdlib.h>

#define MEAN_BLOCK  8192u
#define FRAME_BLOCK 4u
#define DEGREES     57.295779513082321 /* of one radian */

/* Kinds of normals: of triangles; skinned by each pelt_normal_rule. */
enum { OF_TRIANGLES, BY_RULE, KINDS = BY_RULE + PELT_NORMAL_RULES };

/* Partial sums of one frame. */
typedef struct frame_sums {
    double error2;     /* Σ |a − b|² */
    double deviation2; /* Σ |a − mean over time of a|² */
    double max2;       /* largest |a − b|² … */
    uint32_t max_point;
    double normal2[KINDS]; /* Σ |normal of a − normal of b|² … */
    double angle2[KINDS];  /* … and Σ of the squared angles between them */
} frame_sums;

typedef struct comparison {
    pelt_context *context;
    const pelt_clip *a, *b;
    const pelt_mesh *mesh; /* or NULL */
    uint32_t point_count, frame_count;
    size_t first_point; /* of this process */
    size_t first_frame; /* likewise */
    double *mean;       /* [point][3] */
    frame_sums *frames; /* [frame] */
    uint32_t normal_count;
    uint32_t *point_normals;   /* [point] row of its normal; NULL: the point itself */
    const pelt_clip *skinned;  /* a or b, the one with skinned normals; NULL: neither */
    const px_shading *shading; /* reference normals of the other clip; NULL: normals of its triangles */
} comparison;

/* ---- The mean over time ----------------------------------------------------------------------------------- */

/* Points [first, first + count) of a frame: in place when the clip is in memory, else copied to `scratch`. */
static pelt_result frame_points(const comparison *c, const pelt_clip *clip, uint32_t k, uint32_t first, uint32_t count,
                                float *scratch, const float **out) {
    *out = scratch;
    if (!clip->positions)
        return pelt_clip_read(c->context, clip, k, first, count, scratch);
    *out = clip->positions + ((size_t)k * clip->point_count + first) * 3;
    return PELT_OK;
}

static pelt_result sum_over_time(comparison *c, uint32_t first, uint32_t count, float *scratch) {
    double *mean = c->mean + 3 * (size_t)first;
    for (uint32_t k = 0; k < c->frame_count; k++) {
        const float *a;
        PX_TRY(frame_points(c, c->a, k, first, count, scratch, &a));
        for (size_t e = 0; e < 3 * (size_t)count; e++)
            mean[e] += (double)a[e];
        px_clip_release(c->a, count);
    }
    /* The sum of equal floats and this quotient are exact: a point that stands still deviates by exactly 0. */
    for (size_t e = 0; e < 3 * (size_t)count; e++)
        mean[e] /= (double)c->frame_count;
    return PELT_OK;
}

static pelt_result mean_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    comparison *c = user;
    float *scratch = c->a->positions ? NULL : PX_ALLOC(c->context, float, 3 * count);
    if (!c->a->positions && !scratch)
        return PELT_ERROR_MEMORY;
    pelt_result result = sum_over_time(c, (uint32_t)(c->first_point + first), (uint32_t)count, scratch);
    px_free(c->context, scratch);
    return result;
}

/* ---- Differences ------------------------------------------------------------------------------------------ */

typedef struct frame_scratch {
    float *a, *b;                  /* [point][3]; NULL when the clip is in memory */
    double *normals_a, *normals_b; /* [normal][3]; NULL without a mesh */
    float *skinned;                /* [point][PELT_NORMAL_RULES][3]; NULL without such normals … */
    float *shown;                  /* [vertex][3] … or without shading, */
    double *sums;                  /* [piece][3] likewise */
} frame_scratch;

static pelt_result not_finite(const comparison *c, uint32_t k, uint32_t point, const float *a) {
    bool first = isfinite(a[0]) && isfinite(a[1]) && isfinite(a[2]);
    return px_fail(c->context, PELT_ERROR_INPUT, "clip '%s' frame %u point %u: its position is not finite",
                   first ? c->b->name : c->a->name, k, point);
}

static pelt_result compare_positions(const comparison *c, uint32_t k, const float *a, const float *b,
                                     frame_sums *sums) {
    for (uint32_t p = 0; p < c->point_count; p++) {
        double error2 = 0, deviation2 = 0;
        for (size_t e = 3 * (size_t)p; e < 3 * (size_t)p + 3; e++) {
            double error = (double)a[e] - (double)b[e], deviation = (double)a[e] - c->mean[e];
            error2 += error * error;
            deviation2 += deviation * deviation;
        }
        if (!isfinite(error2)) /* the squares of floats fit into doubles */
            return not_finite(c, k, p, a + 3 * (size_t)p);
        sums->error2 += error2;
        sums->deviation2 += deviation2;
        if (error2 > sums->max2) {
            sums->max2 = error2;
            sums->max_point = p;
        }
    }
    return PELT_OK;
}

static void add_normals(const double a[3], const double b[3], int kind, frame_sums *sums) {
    double square = 0;
    for (int e = 0; e < 3; e++)
        square += (a[e] - b[e]) * (a[e] - b[e]);
    double angle = px_acos_below(px_fmin(square / 2, 2));
    sums->normal2[kind] += square;
    sums->angle2[kind] += angle * angle;
}

/* Compares the skinned normals of a point with its reference normal. */
static void compare_skinned(const comparison *c, uint32_t p, const frame_scratch *s, const double of_triangles[3],
                            frame_sums *sums) {
    double wanted[3] = {of_triangles[0], of_triangles[1], of_triangles[2]};
    const float *own = s->skinned + 3 * PELT_NORMAL_RULES * (size_t)p;
    for (size_t e = 0; e < 3 && c->shading; e++)
        wanted[e] = (double)s->shown[3 * (size_t)pelt_class_vertex(&c->mesh->points, p) + e];
    for (int rule = 0; rule < PELT_NORMAL_RULES; rule++, own += 3)
        add_normals(wanted, (double[3]){(double)own[0], (double)own[1], (double)own[2]}, BY_RULE + rule, sums);
}

static void compare_normals(const comparison *c, const float *a, const float *b, const frame_scratch *s,
                            frame_sums *sums) {
    const pelt_mesh *mesh = c->mesh;
    const uint32_t *rows = mesh->weld.of ? mesh->weld.of : mesh->points.of;
    memset(s->normals_a, 0, 3 * (size_t)c->normal_count * sizeof(double));
    memset(s->normals_b, 0, 3 * (size_t)c->normal_count * sizeof(double));
    px_normals_sum(mesh->triangles, mesh->triangle_count, mesh->points.of, rows, a, s->normals_a);
    px_normals_sum(mesh->triangles, mesh->triangle_count, mesh->points.of, rows, b, s->normals_b);
    if (c->shading)
        px_shading_frame(c->shading, c->skinned == c->b ? a : b, s->sums, s->shown, NULL);
    for (uint32_t p = 0; p < c->point_count; p++) {
        size_t row = 3 * (size_t)(c->point_normals ? c->point_normals[p] : p);
        double unit_a[3], unit_b[3];
        px_normal_unit(s->normals_a + row, unit_a);
        px_normal_unit(s->normals_b + row, unit_b);
        add_normals(unit_a, unit_b, OF_TRIANGLES, sums);
        const double *shown = (c->skinned == c->b ? s->normals_a : s->normals_b) + row;
        bool shows = shown[0] != 0 || shown[1] != 0 || shown[2] != 0; /* a surface without area shows no normal */
        if (c->skinned && shows)
            compare_skinned(c, p, s, c->skinned == c->b ? unit_a : unit_b, sums);
    }
}

static pelt_result compare_frames(const comparison *c, uint32_t first, uint32_t count, const frame_scratch *s) {
    for (uint32_t k = first; k < first + count; k++) {
        const float *a, *b;
        frame_sums *sums = &c->frames[k];
        PX_TRY(px_cancelled(c->context));
        PX_TRY(frame_points(c, c->a, k, 0, c->point_count, s->a, &a));
        PX_TRY(frame_points(c, c->b, k, 0, c->point_count, s->b, &b));
        PX_TRY(compare_positions(c, k, a, b, sums));
        if (c->skinned)
            PX_TRY(c->skinned->source.read_normals(c->context, c->skinned->source.user, k, false, 0, c->point_count,
                                                   s->skinned));
        if (c->mesh)
            compare_normals(c, a, b, s, sums);
        px_clip_release(c->a, c->point_count);
        px_clip_release(c->b, c->point_count);
    }
    return PELT_OK;
}

static pelt_result compare_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    comparison *c = user;
    px_arena *arena = px_arena_create(c->context);
    if (!arena)
        return PELT_ERROR_MEMORY;
    frame_scratch s = {0};
    size_t point_floats = 3 * (size_t)c->point_count, normal_doubles = 3 * (size_t)c->normal_count;
    bool ready = (c->a->positions || (s.a = PX_NEW(arena, float, point_floats))) &&
                 (c->b->positions || (s.b = PX_NEW(arena, float, point_floats))) &&
                 (!c->mesh || ((s.normals_a = PX_NEW(arena, double, normal_doubles)) &&
                               (s.normals_b = PX_NEW(arena, double, normal_doubles)))) &&
                 (!c->skinned || (s.skinned = PX_NEW(arena, float, PELT_NORMAL_RULES *point_floats))) &&
                 (!c->shading || ((s.shown = PX_NEW(arena, float, 3 * (size_t)c->mesh->vertex_count)) &&
                                  (s.sums = PX_NEW(arena, double, 3 * (size_t)c->shading->pieces.count))));
    pelt_result result =
        ready ? compare_frames(c, (uint32_t)(c->first_frame + first), (uint32_t)count, &s) : PELT_ERROR_MEMORY;
    px_arena_destroy(arena);
    return result;
}

/* ---- The whole comparison --------------------------------------------------------------------------------- */

static pelt_result check_clips(pelt_context *context, const pelt_clip *a, const pelt_clip *b, const pelt_mesh *mesh) {
    if (a->point_count != b->point_count)
        return px_fail(context, PELT_ERROR_INPUT,
                       "clip '%s' has %u points and clip '%s' has %u; only clips of the same points can be compared",
                       a->name, a->point_count, b->name, b->point_count);
    if (a->frame_count != b->frame_count)
        return px_fail(context, PELT_ERROR_INPUT,
                       "clip '%s' has %u frames and clip '%s' has %u; only clips of the same frames can be compared",
                       a->name, a->frame_count, b->name, b->frame_count);
    if (mesh && mesh->points.count != a->point_count)
        return px_fail(context, PELT_ERROR_INPUT, "the mesh has %u points, clip '%s' has %u", mesh->points.count,
                       a->name, a->point_count);
    return PELT_OK;
}

/* Maps points to rows of the normal sums: the weld class of the point's first vertex, or the point itself. */
static pelt_result map_normals(comparison *c, px_arena *arena) {
    const pelt_mesh *mesh = c->mesh;
    c->normal_count = c->point_count;
    if (!mesh || !mesh->weld.of)
        return PELT_OK;
    c->normal_count = mesh->weld.count;
    c->point_normals = PX_NEW(arena, uint32_t, c->point_count);
    if (!c->point_normals)
        return PELT_ERROR_MEMORY;
    for (uint32_t p = 0; p < c->point_count; p++)
        c->point_normals[p] = mesh->weld.of[pelt_class_vertex(&mesh->points, p)];
    return PELT_OK;
}

/* Creates reference normals that follow the surface, if the mesh has normals. */
static pelt_result map_shading(comparison *c, px_arena *arena) {
    const pelt_mesh *mesh = c->mesh;
    if (!c->skinned || !mesh->weld.of || !mesh->normals)
        return PELT_OK;
    px_shading *shading = PX_NEW(arena, px_shading, 1);
    if (!shading)
        return PELT_ERROR_MEMORY;
    PX_TRY(px_shading_make(arena, mesh, shading));
    c->shading = shading;
    return PELT_OK;
}

/* value / unit, with 0 / 0 = 0. */
static double ratio(double value, double unit) {
    return value == 0 ? 0 : value / unit;
}

static void sum_normals(const comparison *c, int kind, double *rms, double *degrees) {
    double normal2 = 0, angle2 = 0, count = (double)c->point_count * (double)c->frame_count;
    for (uint32_t k = 0; k < c->frame_count; k++) {
        normal2 += c->frames[k].normal2[kind];
        angle2 += c->frames[k].angle2[kind];
    }
    bool known = kind == OF_TRIANGLES ? c->mesh != NULL : c->skinned != NULL;
    *rms = known ? ratio(sqrt(normal2), sqrt(count)) : (double)NAN;
    *degrees = known ? DEGREES * ratio(sqrt(angle2), sqrt(count)) : (double)NAN;
}

static void sum_up(const comparison *c, pelt_difference *d, double *frame_rms) {
    double error2 = 0, deviation2 = 0, max2 = 0, radius = d->ball.radius;
    double points = (double)c->point_count, frames = (double)c->frame_count;
    for (uint32_t k = 0; k < c->frame_count; k++) {
        const frame_sums *sums = &c->frames[k];
        error2 += sums->error2;
        deviation2 += sums->deviation2;
        if (sums->max2 > max2) {
            max2 = sums->max2;
            d->max_frame = k;
            d->max_point = sums->max_point;
        }
        if (frame_rms)
            frame_rms[k] = ratio(1000 * sqrt(sums->error2), sqrt(3 * points) * radius);
    }
    d->error_rms = ratio(1000 * sqrt(error2), sqrt(3 * points * frames) * radius);
    d->error_kg = ratio(100 * sqrt(error2), sqrt(deviation2));
    d->error_max_units = sqrt(max2);
    d->error_max = ratio(sqrt(max2), 2 * radius);
    sum_normals(c, OF_TRIANGLES, &d->normal_rms, &d->normal_degrees);
    sum_normals(c, BY_RULE + PELT_NORMALS_MATRIX, &d->skinned_normal_rms, &d->skinned_normal_degrees);
    sum_normals(c, BY_RULE + PELT_NORMALS_INVERSE, &d->inverse_normal_rms, &d->inverse_normal_degrees);
    sum_normals(c, BY_RULE + PELT_NORMALS_ACCURATE, &d->accurate_normal_rms, &d->accurate_normal_degrees);
}

static pelt_result compare(comparison *c, px_arena *arena, pelt_difference *difference, double *frame_rms) {
    c->mean = PX_NEW(arena, double, 3 * (size_t)c->point_count);
    c->frames = PX_NEW(arena, frame_sums, c->frame_count);
    if (!c->mean || !c->frames)
        return PELT_ERROR_MEMORY;
    PX_TRY(map_normals(c, arena));
    PX_TRY(map_shading(c, arena));
    /* Each process of a group has its points of the mean, then its frames. */
    px_leaves points = px_leaves_even(c->context, c->point_count), frames = px_leaves_even(c->context, c->frame_count);
    c->first_point = px_leaves_first(&points);
    c->first_frame = px_leaves_first(&frames);
    if (c->frame_count)
        PX_TRY(px_parallel(c->context, "mean", px_leaves_own(&points), MEAN_BLOCK, mean_block, c));
    PX_TRY(px_leaves_gather(c->context, &points, c->mean, 3 * sizeof *c->mean));
    PX_TRY(px_parallel(c->context, "compare", px_leaves_own(&frames), FRAME_BLOCK, compare_block, c));
    PX_TRY(px_leaves_gather(c->context, &frames, c->frames, sizeof *c->frames));
    pelt_difference d = {.frame_count = c->frame_count, .point_count = c->point_count};
    if (c->frame_count > 0)
        PX_TRY(px_clip_ball_shared(c->context, c->a, &d.ball, &d.ball_frame));
    sum_up(c, &d, frame_rms);
    *difference = d;
    return PELT_OK;
}

pelt_result pelt_compare_clips(pelt_context *context, const pelt_clip *a, const pelt_clip *b, const pelt_mesh *mesh,
                               pelt_difference *difference, double *frame_rms) {
    *difference = (pelt_difference){0};
    PX_TRY(check_clips(context, a, b, mesh));
    px_arena *arena = px_arena_create(context);
    if (!arena)
        return PELT_ERROR_MEMORY;
    const pelt_clip *skinned = b->source.read_normals ? b : a->source.read_normals ? a : NULL;
    comparison c = {.context = context,
                    .a = a,
                    .b = b,
                    .mesh = mesh,
                    .point_count = a->point_count,
                    .frame_count = a->frame_count,
                    .skinned = mesh ? skinned : NULL};
    pelt_result result = compare(&c, arena, difference, frame_rms);
    px_arena_destroy(arena);
    return px_group_end(context, result);
}

/* ---- Weights ---------------------------------------------------------------------------------------------- */

/* A joint that moves vertices. Names need not be unique: the second "hand" of one matches the second "hand" of the other. */
typedef struct named_joint {
    const char *name;
    uint32_t joint;
} named_joint;

typedef struct joint_list {
    uint32_t count;
    named_joint *joints; /* sorted by name, then joint */
    uint32_t *numbers;   /* [joint] shared number of the matched pair or the lone joint */
} joint_list;

static int compare_joints(const void *a, const void *b) {
    const named_joint *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->joint > y->joint) - (x->joint < y->joint);
}

static pelt_result list_joints(px_arena *arena, const pelt_model *model, joint_list *list) {
    uint32_t joint_count = model->skeleton.joint_count;
    *list = (joint_list){0, PX_NEW(arena, named_joint, joint_count), PX_NEW(arena, uint32_t, joint_count)};
    if (!list->joints || !list->numbers)
        return PELT_ERROR_MEMORY;
    const pelt_skin *skin = &model->skin;
    for (size_t at = 0; at < (size_t)skin->influence_count * model->mesh.vertex_count; at++)
        if (skin->weights[at] > 0)
            list->numbers[skin->bone_joints[skin->bones[at]]] = 1; /* moves a vertex */
    for (uint32_t j = 0; j < joint_count; j++)
        if (list->numbers[j])
            list->joints[list->count++] = (named_joint){model->skeleton.names[j], j};
    px_sort(list->joints, list->count, sizeof *list->joints, compare_joints);
    return PELT_OK;
}

/* Numbers both lists so that matching joints, and only they, have equal numbers: a merge, so that equal names pair in
 * order. */
static void match_joints(joint_list *a, joint_list *b, pelt_weight_difference *d) {
    uint32_t x = 0, y = 0;
    for (uint32_t number = 0; x < a->count || y < b->count; number++) {
        const named_joint *ja = x < a->count ? &a->joints[x] : NULL, *jb = y < b->count ? &b->joints[y] : NULL;
        int order = !ja ? 1 : !jb ? -1 : strcmp(ja->name, jb->name);
        if (order <= 0)
            a->numbers[a->joints[x++].joint] = number;
        if (order >= 0)
            b->numbers[b->joints[y++].joint] = number;
        d->matched_joints += order == 0;
        d->unmatched_joints += order != 0;
    }
}

typedef struct weight_row {
    uint32_t count;
    uint32_t numbers[2 * PELT_MAX_INFLUENCES];
    double weights[2 * PELT_MAX_INFLUENCES];
} weight_row;

/* Adds sign · the weights of a vertex. */
static void add_weights(weight_row *row, const pelt_skin *skin, const joint_list *list, uint32_t i, double sign) {
    for (uint32_t k = 0; k < skin->influence_count; k++) {
        size_t at = (size_t)i * skin->influence_count + k;
        if (skin->weights[at] == 0)
            continue;
        uint32_t number = list->numbers[skin->bone_joints[skin->bones[at]]], r = 0;
        while (r < row->count && row->numbers[r] != number)
            r++;
        if (r == row->count) {
            row->numbers[row->count] = number;
            row->weights[row->count++] = 0;
        }
        row->weights[r] += sign * (double)skin->weights[at];
    }
}

static pelt_result compare_rows(px_arena *arena, const pelt_model *a, const pelt_model *b, pelt_weight_difference *d) {
    joint_list list_a, list_b;
    PX_TRY(list_joints(arena, a, &list_a));
    PX_TRY(list_joints(arena, b, &list_b));
    match_joints(&list_a, &list_b, d);
    double sum = 0;
    for (uint32_t i = 0; i < d->vertex_count; i++) {
        weight_row row = {.count = 0};
        add_weights(&row, &a->skin, &list_a, i, 1);
        add_weights(&row, &b->skin, &list_b, i, -1);
        double distance = 0;
        for (uint32_t r = 0; r < row.count; r++)
            distance += fabs(row.weights[r]);
        sum += distance;
        if (distance > d->l1_max) {
            d->l1_max = distance;
            d->max_vertex = i;
        }
    }
    d->l1_mean = ratio(sum, (double)d->vertex_count);
    return PELT_OK;
}

pelt_result pelt_compare_weights(pelt_context *context, const pelt_model *a, const pelt_model *b,
                                 pelt_weight_difference *difference) {
    *difference = (pelt_weight_difference){0};
    if (a->skin.bone_count == 0 || b->skin.bone_count == 0)
        return px_fail(context, PELT_ERROR_INPUT, "the %s model has no skin; weights need two skins",
                       a->skin.bone_count == 0 ? "first" : "second");
    if (a->mesh.vertex_count != b->mesh.vertex_count)
        return px_fail(context, PELT_ERROR_INPUT,
                       "one model has %u vertices, the other %u; only skins of the same vertices can be compared",
                       a->mesh.vertex_count, b->mesh.vertex_count);
    px_arena *arena = px_arena_create(context);
    if (!arena)
        return PELT_ERROR_MEMORY;
    pelt_weight_difference d = {.vertex_count = a->mesh.vertex_count};
    pelt_result result = compare_rows(arena, a, b, &d);
    px_arena_destroy(arena);
    if (result == PELT_OK)
        *difference = d;
    return result;
}
