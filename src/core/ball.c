/* The minimal enclosing ball, exact up to rounding.
 *
 * Pivoting (after Gärtner, Fast and robust smallest enclosing balls, 1999): take the ball of a support set of at most
 * four points, add the farthest point of all, replace the support by that of the five, repeat. The radius of the
 * support's ball rises strictly, so no support returns; ten rounds or so are enough in practice. The ball of five
 * points is found by trying the circumcentres of all their subsets: the one with the least distance to its farthest
 * point is the centre, by definition. That needs no tolerance and no special cases: degenerate subsets merely lose.
 */
#include "core/ball.h"
#include "core/group.h"

#include <math.h>
#include <stdlib.h>

#define POINT_BLOCK 16384u
/* Only rounding errors can cause so many rounds; the best ball so far is then accurate to rounding. */
#define MAX_ROUNDS 1000

typedef struct vec {
    double x, y, z;
} vec;

static vec sub(vec a, vec b) {
    return (vec){a.x - b.x, a.y - b.y, a.z - b.z};
}

static vec add_scaled(vec a, double s, vec b) {
    return (vec){a.x + s * b.x, a.y + s * b.y, a.z + s * b.z};
}

static double dot(vec a, vec b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static vec cross(vec a, vec b) {
    return (vec){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static vec point_at(const float *positions, size_t i) {
    return (vec){(double)positions[3 * i], (double)positions[3 * i + 1], (double)positions[3 * i + 2]};
}

/* ---- The ball of at most five points ---------------------------------------------------------------------- */

/* The point in the affine hull of p[0..count) that is equidistant to all of them; not finite when there is none. */
static vec circumcenter(const vec *p, int count) {
    if (count == 1)
        return p[0];
    vec a = sub(p[1], p[0]);
    if (count == 2)
        return add_scaled(p[0], 0.5, a);
    vec b = sub(p[2], p[0]), normal = cross(a, b);
    if (count == 3) {
        vec side = add_scaled((vec){0, 0, 0}, dot(a, a), b);
        return add_scaled(p[0], 0.5 / dot(normal, normal), cross(add_scaled(side, -dot(b, b), a), normal));
    }
    vec c = sub(p[3], p[0]);
    vec sum = add_scaled((vec){0, 0, 0}, dot(a, a), cross(b, c));
    sum = add_scaled(add_scaled(sum, dot(b, b), cross(c, a)), dot(c, c), normal);
    return add_scaled(p[0], 0.5 / dot(c, normal), sum);
}

/* A few points and their smallest enclosing ball. */
typedef struct support {
    vec points[5];
    int count;
    vec center;
    double radius2;
} support;

static double farthest2(const vec *points, int count, vec center) {
    double largest = 0;
    for (int p = 0; p < count; p++) {
        vec d = sub(points[p], center);
        double distance2 = dot(d, d);
        if (!(distance2 <= largest)) /* NaN counts as infinite */
            largest = isfinite(distance2) ? distance2 : INFINITY;
    }
    return largest;
}

/* Reduces up to five points to the subset that determines their smallest enclosing ball. */
static void solve_support(support *s) {
    support best = {.radius2 = INFINITY};
    for (int size = 1; size <= 4 && size <= s->count; size++)
        for (unsigned set = 1; set < 1u << s->count; set++) {
            if (__builtin_popcount(set) != size)
                continue;
            support trial = {.count = 0};
            for (int p = 0; p < s->count; p++)
                if (set >> p & 1)
                    trial.points[trial.count++] = s->points[p];
            trial.center = circumcenter(trial.points, trial.count);
            trial.radius2 = farthest2(s->points, s->count, trial.center);
            if (trial.radius2 < best.radius2) /* ties: the smaller subset wins */
                best = trial;
        }
    *s = best;
}

/* ---- All points ------------------------------------------------------------------------------------------- */

typedef struct farthest {
    double distance2;
    size_t point;
} farthest;

typedef struct search {
    pelt_context *context;
    const float *positions;
    vec center;
    farthest *blocks; /* [block] */
} search;

static pelt_result search_block(void *user, size_t first, size_t count, size_t block) {
    search *s = user;
    farthest best = {-1, first};
    for (size_t i = first; i < first + count; i++) {
        vec d = sub(point_at(s->positions, i), s->center);
        double distance2 = dot(d, d);
        if (!isfinite(distance2)) /* the squares of floats always fit into doubles */
            return px_fail(s->context, PELT_ERROR_INPUT, "point %zu: its position is not finite", i);
        if (distance2 > best.distance2)
            best = (farthest){distance2, i};
    }
    s->blocks[block] = best;
    return PELT_OK;
}

static pelt_result find_farthest(search *s, uint32_t count, farthest *out) {
    PX_TRY(px_parallel(s->context, NULL, count, POINT_BLOCK, search_block, s));
    *out = s->blocks[0];
    for (size_t b = 1; b < px_block_count(count, POINT_BLOCK); b++)
        if (s->blocks[b].distance2 > out->distance2)
            *out = s->blocks[b];
    return PELT_OK;
}

/* Finds the centre by pivoting; the ball of *center and *radius2 contains all points. */
static pelt_result improve(search *s, uint32_t count, vec *center, double *radius2) {
    support basis = {.points = {point_at(s->positions, 0)}, .count = 1, .center = point_at(s->positions, 0)};
    *radius2 = INFINITY;
    for (int round = 0; round < MAX_ROUNDS; round++) {
        farthest far;
        s->center = basis.center;
        PX_TRY(find_farthest(s, count, &far));
        if (far.distance2 < *radius2) {
            *radius2 = far.distance2;
            *center = basis.center;
        }
        if (far.distance2 <= basis.radius2)
            break;
        double before = basis.radius2;
        basis.points[basis.count++] = point_at(s->positions, far.point);
        solve_support(&basis);
        if (!(basis.radius2 > before)) /* no progress: limit of rounding */
            break;
    }
    return PELT_OK;
}

pelt_result pelt_enclosing_ball(pelt_context *context, const float *positions, uint32_t count, pelt_ball *ball) {
    *ball = (pelt_ball){{0, 0, 0}, 0};
    if (count == 0)
        return PELT_OK;
    if (!isfinite(positions[0]) || !isfinite(positions[1]) || !isfinite(positions[2])) /* the first centre */
        return px_fail(context, PELT_ERROR_INPUT, "point 0: its position is not finite");
    search s = {.context = context, .positions = positions};
    s.blocks = PX_ALLOC(context, farthest, px_block_count(count, POINT_BLOCK));
    if (!s.blocks)
        return PELT_ERROR_MEMORY;
    vec center = {0, 0, 0};
    double radius2 = 0;
    pelt_result result = improve(&s, count, &center, &radius2);
    px_free(context, s.blocks);
    if (result == PELT_OK)
        *ball = (pelt_ball){{center.x, center.y, center.z}, sqrt(radius2)};
    return result;
}

/* ---- The ball of a clip ------------------------------------------------------------------------------------ */

#define SIZED_FRAMES     64u /* frames sampled at most, evenly spaced: enough for a median */
#define DEGENERATE_RATIO 0.1 /* of the median size: a smaller first frame is not used as the reference */

static pelt_result read_finite(pelt_context *context, const pelt_clip *clip, uint32_t frame, float *points) {
    PX_TRY(pelt_clip_read(context, clip, frame, 0, clip->point_count, points));
    px_clip_release(clip, clip->point_count);
    for (size_t e = 0; e < 3 * (size_t)clip->point_count; e++)
        if (!isfinite(points[e]))
            return px_fail(context, PELT_ERROR_INPUT, "clip '%s', frame %u, vertex %zu: the position is not finite",
                           clip->name, frame, e / 3);
    return PELT_OK;
}

/* The RMS distance of the points from their mean. */
static double size_of(const float *points, uint32_t count) {
    double mean[3] = {0, 0, 0}, sum = 0;
    for (size_t e = 0; e < 3 * (size_t)count; e++)
        mean[e % 3] += (double)points[e] / count;
    for (size_t e = 0; e < 3 * (size_t)count; e++)
        sum += ((double)points[e] - mean[e % 3]) * ((double)points[e] - mean[e % 3]);
    return sqrt(sum / (count > 0 ? count : 1));
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The first frame, or the one of median size (the first of those) where the first one is degenerate. */
static pelt_result choose_frame(pelt_context *context, const pelt_clip *clip, float *points, uint32_t *frame) {
    uint32_t count = clip->frame_count < SIZED_FRAMES ? clip->frame_count : SIZED_FRAMES;
    double sizes[SIZED_FRAMES], sorted[SIZED_FRAMES];
    *frame = 0;
    for (uint32_t n = 0; n < count; n++) {
        uint32_t k = (uint32_t)((uint64_t)n * clip->frame_count / count);
        PX_TRY(pelt_clip_read(context, clip, k, 0, clip->point_count, points));
        px_clip_release(clip, clip->point_count);
        double size = size_of(points, clip->point_count);
        sizes[n] = isfinite(size) ? size : INFINITY; /* read_finite reports the error if the frame is used */
    }
    if (count < 2)
        return PELT_OK;
    memcpy(sorted, sizes, count * sizeof *sorted);
    px_sort(sorted, count, sizeof *sorted, ascending);
    double median = sorted[count / 2];
    for (uint32_t n = 0; sizes[0] < DEGENERATE_RATIO * median && n < count; n++)
        if (sizes[n] == median) {
            *frame = (uint32_t)((uint64_t)n * clip->frame_count / count);
            break;
        }
    return PELT_OK;
}

pelt_result px_clip_ball(pelt_context *context, const pelt_clip *clip, pelt_ball *ball, uint32_t *frame) {
    float *points = PX_ALLOC(context, float, 3 * (size_t)clip->point_count);
    uint32_t chosen = 0;
    pelt_result result = points ? choose_frame(context, clip, points, &chosen) : PELT_ERROR_MEMORY;
    if (result == PELT_OK)
        result = read_finite(context, clip, chosen, points);
    if (result == PELT_OK)
        result = pelt_enclosing_ball(context, points, clip->point_count, ball);
    px_free(context, points);
    if (result == PELT_OK && !(ball->radius > 0))
        ball->radius = 1;
    if (frame)
        *frame = chosen;
    return result;
}

pelt_result px_clip_ball_shared(pelt_context *context, const pelt_clip *clip, pelt_ball *ball, uint32_t *frame) {
    struct {
        pelt_ball ball;
        uint32_t frame;
    } found = {.frame = 0};
    if (pelt_group_rank(context) == 0)
        PX_TRY(px_clip_ball(context, clip, &found.ball, &found.frame));
    PX_TRY(pelt_group_broadcast(context, 0, &found, sizeof found));
    *ball = found.ball;
    *frame = found.frame;
    return PELT_OK;
}
