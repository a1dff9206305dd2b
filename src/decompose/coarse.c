/* Transforms of a mesh from a sample of its vertices.
 *
 * Moments are sums over vertices. Vertices move much like their neighbours, so the sums of a sample lead to nearly the same
 * transforms, at a fraction of the time per iteration. Seeds, exchange of bones and most iterations run on the sample; then every
 * vertex starts from bones, weights and displacement of the sample's vertex that is nearest at rest, and a few iterations with all
 * vertices follow. (Starts from the best single bone end in far worse sets of bones.)
 *
 * Every process of a group solves the whole sample: it is small, and so the result does not depend on their number.
 */
#include "decompose/coarse.h"
#include "decompose/divide.h"
#include "decompose/kinds.h"
#include "decompose/reduce.h"

#include <math.h>

#define SAMPLE_LEAST    16384u /* vertices of a sample of a large mesh, at least … */
#define SAMPLE_PER_BONE 512u   /* … and for each bone */
/* Affine bones are solved on half of the vertices of smaller meshes too, if that is so many for each bone. (With a third of the
 * vertices, a character with small parts has 17 % more error; other kinds of bones lose more: 0.74 instead of 0.62 for the horse
 * with 30 rigid ones.) */
#define HALF_PER_BONE   80u
#define BLOCK_VERTICES  1024u
#define STARTS_PER_BONE 55u /* vertices for each bone by which starts are compared: with 160 as good, but slower */

size_t px_coarse_starts_stride(const px_fit *fit) {
    return px_max_size(fit->total_count / (STARTS_PER_BONE * (size_t)fit->bone_target), 1);
}

size_t px_coarse_stride(const px_fit *fit) {
    size_t bones = fit->bone_target, stride = fit->total_count / px_max_size(SAMPLE_PER_BONE * bones, SAMPLE_LEAST);
    bool half = fit->kind->unconstrained && fit->total_count >= 2 * HALF_PER_BONE * bones;
    return stride >= PX_STRIDE_LARGE ? stride : half ? 2 : 1;
}

/* ---- Sample ----------------------------------------------------------------------------------------------- */

/* Copies elements [sample vertex][width] from those of `whole` that this process has, and gets the others. */
static pelt_result take(const px_fit *whole, size_t stride, const double *all, size_t width, double *out) {
    size_t count = whole->total_count / stride;
    memset(out, 0, count * width * sizeof *out);
    for (size_t n = 0; n < count; n++) {
        size_t i = px_sample_place(n * stride, stride);
        if (i >= whole->first_vertex && i - whole->first_vertex < whole->vertex_count)
            memcpy(out + n * width, all + (i - whole->first_vertex) * width, width * sizeof *out);
    }
    return whole->leaves.divided ? pelt_group_sum(whole->context, out, count * width) : PELT_OK;
}

/* The same for coordinates, a column at a time: groups add doubles. */
static pelt_result take_coords(const px_fit *whole, size_t stride, float *out) {
    size_t d = whole->dimension, N = whole->vertex_count, count = whole->total_count / stride;
    double *column = PX_ALLOC(whole->context, double, N), *taken = PX_ALLOC(whole->context, double, count);
    pelt_result result = column && taken ? PELT_OK : PELT_ERROR_MEMORY;
    for (size_t e = 0; result == PELT_OK && e < d; e++) {
        for (size_t i = 0; i < N; i++)
            column[i] = (double)whole->coords[i * d + e];
        result = take(whole, stride, column, 1, taken);
        for (size_t n = 0; result == PELT_OK && n < count; n++)
            out[n * d + e] = (float)taken[n];
    }
    px_free(whole->context, column);
    px_free(whole->context, taken);
    return result;
}

pelt_result px_coarse_make(const px_fit *whole, size_t stride, px_arena *arena, px_fit *sample, px_fit_state *spare) {
    size_t count = whole->total_count / stride;
    *sample = *whole;
    sample->arena = arena;
    px_fit_divide(sample, (uint32_t)count, false);
    PX_TRY(px_fit_state_make(sample, &sample->now));
    PX_TRY(px_fit_state_make(sample, &sample->before));
    PX_TRY(px_fit_state_make(sample, spare));
    PX_TRY(px_fit_make_moments(sample));
    double *home = PX_NEW(arena, double, 3 * count);
    sample->coords = PX_NEW(arena, float, px_mul_size(count, whole->dimension));
    sample->norms = PX_NEW(arena, double, count);
    if (!home || !sample->coords || !sample->norms)
        return PELT_ERROR_MEMORY;
    PX_TRY(take_coords(whole, stride, sample->coords));
    PX_TRY(take(whole, stride, whole->norms, 1, sample->norms));
    PX_TRY(take(whole, stride, whole->now.rest, 3, home));
    memcpy(sample->now.rest, home, 3 * count * sizeof *home);
    sample->home = whole->home ? home : NULL;
    return PELT_OK;
}

/* ---- All vertices ------------------------------------------------------------------------------------------ */

/* A vertex of the sample. Along the axis of largest extent few others lie between a vertex and the nearest of these. */
typedef struct place {
    double along; /* rest position on that axis */
    size_t vertex;
} place;

typedef struct nearest {
    const px_fit *sample;
    px_fit *whole;
    const double *home; /* [sample vertex][3] initial rest positions */
    place *places;      /* [sample vertex] ascending */
    size_t axis;
} nearest;

static int compare_places(const void *a, const void *b) {
    double x = ((const place *)a)->along, y = ((const place *)b)->along;
    return (x > y) - (x < y);
}

static size_t largest_axis(const double *points, size_t count) {
    double extents[3];
    for (size_t axis = 0; axis < 3; axis++) {
        double low = INFINITY, high = -INFINITY;
        for (size_t n = 0; n < count; n++) {
            low = px_fmin(low, points[3 * n + axis]);
            high = px_fmax(high, points[3 * n + axis]);
        }
        extents[axis] = high - low;
    }
    return extents[0] >= extents[1] && extents[0] >= extents[2] ? 0 : extents[1] >= extents[2] ? 1 : 2;
}

/* Compares vertex n of the sample with the nearest so far. */
static void consider(const nearest *near, const double p[3], size_t n, double *distance2, size_t *best) {
    const double *q = near->home + 3 * n;
    double x = q[0] - p[0], y = q[1] - p[1], z = q[2] - p[2], found = x * x + y * y + z * z;
    if (found < *distance2 || (found == *distance2 && n < *best)) {
        *distance2 = found;
        *best = n;
    }
}

static size_t find_nearest(const nearest *near, const double p[3]) {
    size_t count = near->sample->vertex_count, low = 0, high = count, best = SIZE_MAX;
    double at = p[near->axis], distance2 = INFINITY;
    while (low < high) { /* the first place not below p */
        size_t middle = low + (high - low) / 2;
        if (near->places[middle].along < at)
            low = middle + 1;
        else
            high = middle;
    }
    for (bool more = true; more;) { /* outwards, on both sides */
        more = false;
        double up = high < count ? near->places[high].along - at : INFINITY;
        double down = low > 0 ? at - near->places[low - 1].along : INFINITY;
        if (up < INFINITY && up * up <= distance2) {
            consider(near, p, near->places[high++].vertex, &distance2, &best);
            more = true;
        }
        if (down < INFINITY && down * down <= distance2) {
            consider(near, p, near->places[--low].vertex, &distance2, &best);
            more = true;
        }
    }
    return best;
}

static pelt_result start_some(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const nearest *near = user;
    size_t K = near->sample->influence_count;
    const px_fit_state *from = &near->sample->now;
    px_fit_state *to = &near->whole->now;
    for (size_t i = first; i < first + count; i++) {
        size_t n = find_nearest(near, to->rest + 3 * i);
        for (size_t c = 0; c < 3; c++)
            to->rest[3 * i + c] += from->rest[3 * n + c] - near->home[3 * n + c];
        memcpy(to->bones + i * K, from->bones + n * K, K * sizeof *to->bones);
        memcpy(to->weights + i * K, from->weights + n * K, K * sizeof *to->weights);
        to->counts[i] = from->counts[n];
    }
    return PELT_OK;
}

static pelt_result start_vertices(const px_fit *sample, size_t stride, px_fit *whole) {
    pelt_context *context = whole->context;
    size_t count = sample->vertex_count;
    double *home = PX_ALLOC(context, double, 3 * count);
    nearest near = {sample, whole, home, PX_ALLOC(context, place, count), 0};
    pelt_result result = home && near.places ? take(whole, stride, whole->now.rest, 3, home) : PELT_ERROR_MEMORY;
    if (result == PELT_OK) {
        near.axis = largest_axis(home, count);
        for (size_t n = 0; n < count; n++)
            near.places[n] = (place){home[3 * n + near.axis], n};
        px_sort(near.places, count, sizeof *near.places, compare_places);
        result = px_parallel(context, NULL, whole->vertex_count, BLOCK_VERTICES, start_some, &near);
    }
    px_free(context, near.places);
    px_free(context, home);
    return result;
}

void px_coarse_transforms(const px_fit *sample, px_fit *whole) {
    size_t n = 4 * (size_t)sample->bone_count;
    whole->bone_count = sample->bone_count;
    memcpy(whole->now.reduced, sample->now.reduced, n * whole->dimension * sizeof *whole->now.reduced);
    if (whole->now.full)
        memcpy(whole->now.full, sample->now.full, n * whole->row_count * sizeof *whole->now.full);
    if (whole->now.axes)
        memcpy(whole->now.axes, sample->now.axes, 9 * (size_t)sample->bone_count * sizeof *whole->now.axes);
}

pelt_result px_coarse_end(const px_fit *sample, size_t stride, px_fit *whole) {
    whole->rest_pull = sample->rest_pull;
    whole->rest_most = sample->rest_most;
    px_coarse_transforms(sample, whole);
    PX_TRY(start_vertices(sample, stride, whole));
    px_fit_gram(whole);
    PX_TRY(px_fit_vertices(whole, true));
    return px_fit_vertices_wide(whole); /* no bone of the sample may serve vertices between its own */
}
