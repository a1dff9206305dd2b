/* Rays of one direction; the includer defines LANES and RAYS_BODY. */
#include "core/lanes.h"
#include "light/rays.h"

#include <math.h>

/* The larger and the smaller. Bits of a mask, the first lane lowest. */
#if LANES == 8
INLINE lanes larger(lanes a, lanes b) {
    return (lanes)_mm256_max_ps((__m256)a, (__m256)b);
}
INLINE lanes smaller(lanes a, lanes b) {
    return (lanes)_mm256_min_ps((__m256)a, (__m256)b);
}
INLINE uint32_t bits_of(lanes_mask mask) {
    return (uint32_t)_mm256_movemask_ps((__m256)mask);
}
#elif LANES == 4 && defined(__x86_64__)
INLINE lanes larger(lanes a, lanes b) {
    return (lanes)_mm_max_ps((__m128)a, (__m128)b);
}
INLINE lanes smaller(lanes a, lanes b) {
    return (lanes)_mm_min_ps((__m128)a, (__m128)b);
}
INLINE uint32_t bits_of(lanes_mask mask) {
    return (uint32_t)_mm_movemask_ps((__m128)mask);
}
#else
INLINE lanes larger(lanes a, lanes b) {
    return lanes_select(a > b, a, b);
}
INLINE lanes smaller(lanes a, lanes b) {
    return lanes_select(a < b, a, b);
}
INLINE uint32_t bits_of(lanes_mask mask) {
#if LANES == 1
    return mask != 0;
#else
    return ((uint32_t)mask[0] & 1) | ((uint32_t)mask[1] & 2) | ((uint32_t)mask[2] & 4) | ((uint32_t)mask[3] & 8);
#endif
}
#endif

/* Smallest lane. */
INLINE float least_of(lanes x) {
#if LANES == 1
    return x;
#else
#if LANES == 8
    x = smaller(x, __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3));
    x = smaller(x, __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5));
    x = smaller(x, __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6));
#else
    x = smaller(x, __builtin_shufflevector(x, x, 2, 3, 0, 1));
    x = smaller(x, __builtin_shufflevector(x, x, 1, 0, 3, 2));
#endif
    return x[0];
#endif
}

/* ---- The mesh across the direction ------------------------------------------------------------------------ */

typedef struct turned {
    const px_ray_job *job;
    float axes[3][3]; /* rows: x, y, z */
} turned;

/* Frisvad's basis, as revised by Duff et al. (2017). */
static void set_axes(turned *w) {
    const float *d = w->job->way;
    float sign = d[2] < 0 ? -1 : 1, a = -1 / (sign + d[2]), b = d[0] * d[1] * a;
    const float axes[3][3] = {
        {1 + sign * d[0] * d[0] * a, sign * b, -sign * d[0]}, {b, sign + d[1] * d[1] * a, -d[1]}, {d[0], d[1], d[2]}};
    memcpy(w->axes, axes, sizeof axes);
}

static void turn_leaf(const turned *w, const px_ray_leaf *from, px_view_leaf *to, px_view_box *out) {
    lanes low[2] = {lanes_splat(INFINITY), lanes_splat(INFINITY)}, high[2] = {-low[0], -low[0]}, most = -low[0];
    for (size_t s = 0; s < PX_LEAF; s += LANES) {
        lanes a[3], u[3], v[3];
        for (int c = 0; c < 3; c++) {
            const float *axis = w->axes[c];
            a[c] = u[c] = v[c] = lanes_splat(0);
            for (int e = 0; e < 3; e++) {
                a[c] += axis[e] * lanes_load(from->a[e] + s);
                u[c] += axis[e] * lanes_load(from->u[e] + s);
                v[c] += axis[e] * lanes_load(from->v[e] + s);
            }
        }
        lanes det = u[0] * v[1] - u[1] * v[0];
        lanes_mask clockwise = det < 0.0f;
        lanes x = (u[2] * v[1] - v[2] * u[1]) / det, y = (u[0] * v[2] - v[0] * u[2]) / det;
        lanes top = a[2] + larger(larger(u[2], v[2]), lanes_splat(0));
        for (int c = 0; c < 3; c++)
            lanes_store(to->a[c] + s, a[c]);
        for (int c = 0; c < 2; c++) {
            lanes_store(to->u[c] + s, lanes_select(clockwise, v[c], u[c]));
            lanes_store(to->v[c] + s, lanes_select(clockwise, u[c], v[c]));
            low[c] = smaller(low[c], a[c] + smaller(smaller(u[c], v[c]), lanes_splat(0)));
            high[c] = larger(high[c], a[c] + larger(larger(u[c], v[c]), lanes_splat(0)));
        }
        lanes_store(to->slope[0] + s, x);
        lanes_store(to->slope[1] + s, y);
        lanes_store(to->det + s, lanes_flip(det, det));
        lanes_store(to->top + s, top);
        most = larger(most, top);
    }
    *out = (px_view_box){
        {least_of(low[0]), least_of(low[1])}, {-least_of(-high[0]), -least_of(-high[1])}, -least_of(-most)};
}

static void turn_group(const turned *w, uint32_t index) {
    const px_ray_group *from = &w->job->mesh->groups[index];
    px_view_group *to = &w->job->view->groups[index];
    px_view_box *all = &w->job->view->boxes[index];
    *all = (px_view_box){{INFINITY, INFINITY}, {-INFINITY, -INFINITY}, -INFINITY};
    for (uint32_t n = 0; n < PX_LEAF; n++) {
        px_view_box box = {{INFINITY, INFINITY}, {-INFINITY, -INFINITY}, -INFINITY};
        if (n < from->count)
            turn_leaf(w, &w->job->mesh->leaves[from->first + n], &w->job->view->leaves[from->first + n], &box);
        for (int c = 0; c < 2; c++) {
            to->low[c][n] = box.low[c];
            to->high[c][n] = box.high[c];
            all->low[c] = box.low[c] < all->low[c] ? box.low[c] : all->low[c];
            all->high[c] = box.high[c] > all->high[c] ? box.high[c] : all->high[c];
        }
        to->top[n] = box.top;
        all->top = box.top > all->top ? box.top : all->top;
    }
}

/* ---- Rays ------------------------------------------------------------------------------------------------- */

/* Whether a point is in the box of triangle e, as it is in those of its leaf and of the cells that the leaf is in. */
INLINE bool inside(const px_view_leaf *leaf, uint32_t e, const float at[3]) {
    for (int c = 0; c < 2; c++) {
        float a = leaf->a[c][e], u = leaf->u[c][e], v = leaf->v[c][e], less = u < v ? u : v, more = u < v ? v : u;
        if (at[c] < a + (less < 0 ? less : 0) || at[c] > a + (more > 0 ? more : 0))
            return false;
    }
    return leaf->top[e] > at[2];
}

/* Tests a ray with the triangles of a leaf. Returns true at the first hit if `hit` is NULL; else keeps the nearest one,
 * the first in the mesh of equals; hit->shares[0] is its distance meanwhile. */
INLINE bool meet(const turned *w, uint32_t index, const float at[3], px_ray_hit *hit) {
    const px_view_leaf *leaf = &w->job->view->leaves[index];
    const px_ray_leaf *source = &w->job->mesh->leaves[index];
    for (uint32_t s = 0; s < PX_LEAF; s += LANES) {
        lanes x = at[0] - lanes_load(leaf->a[0] + s), y = at[1] - lanes_load(leaf->a[1] + s);
        lanes rise = lanes_load(leaf->a[2] + s) + x * lanes_load(leaf->slope[0] + s) +
                     y * lanes_load(leaf->slope[1] + s) - at[2];
        lanes q = x * lanes_load(leaf->v[1] + s) - y * lanes_load(leaf->v[0] + s);
        lanes r = lanes_load(leaf->u[0] + s) * y - lanes_load(leaf->u[1] + s) * x, det = lanes_load(leaf->det + s);
        uint32_t bits =
            bits_of((rise > 0.0f) & (rise < w->job->far) & (q >= 0.0f) & (r >= 0.0f) & (q + r <= det) & (det > 0.0f));
        for (; bits; bits &= bits - 1) {
            uint32_t lane = (uint32_t)__builtin_ctz(bits), e = s + lane;
            if (e >= source->count || !inside(leaf, e, at))
                continue;
            if (!hit)
                return true;
            float values[3][LANES];
            lanes_store(values[0], rise);
            lanes_store(values[1], q / det);
            lanes_store(values[2], r / det);
            float distance = values[0][lane];
            if (distance > hit->shares[0] || (distance == hit->shares[0] && source->triangles[e] > hit->triangle))
                continue;
            hit->triangle = source->triangles[e];
            for (int c = 0; c < 3; c++)
                hit->shares[c] = values[c][lane];
        }
    }
    return false;
}

/* Bits of the leaves of a group whose boxes the ray meets. */
INLINE uint32_t enter(const px_view_group *group, const float at[3]) {
    uint32_t bits = 0;
    for (uint32_t s = 0; s < PX_LEAF; s += LANES) {
        lanes_mask in = lanes_load(group->top + s) > at[2];
        for (int c = 0; c < 2; c++) {
            in &= lanes_load(group->low[c] + s) <= at[c];
            in &= lanes_load(group->high[c] + s) >= at[c];
        }
        bits |= bits_of(in) << s;
    }
    return bits;
}

/* True: the ray meets nothing. */
INLINE bool trace(const turned *w, const float at[3], px_ray_own own, px_ray_hit *hit) {
    const px_view *v = w->job->view;
    size_t cell = (size_t)px_view_cell(v, 1, at[1]) * v->side[0] + px_view_cell(v, 0, at[0]);
    if (!(v->tops[cell] > at[2]))
        return true;
    for (uint32_t n = v->first[cell]; n < v->first[cell + 1]; n++) {
        uint32_t group = v->entries[n], bits = enter(&v->groups[group], at) & (group == own.group ? ~own.leaves : ~0u);
        for (; bits; bits &= bits - 1)
            if (meet(w, w->job->mesh->groups[group].first + (uint32_t)__builtin_ctz(bits), at, hit))
                return false;
    }
    return !hit || hit->triangle == PELT_NONE;
}

/* Sets barycentric coordinates and the side from those of the triangle as it was turned. */
static void finish(const turned *w, px_ray_hit *hit) {
    const px_surface *surface = &w->job->mesh->surface;
    const uint32_t *corners = surface->triangles + 3 * (size_t)hit->triangle;
    float edges[2][2] = {{0}}, q = hit->shares[1], r = hit->shares[2];
    for (int e = 0; e < 2; e++)
        for (int c = 0; c < 2; c++)
            for (size_t d = 0; d < 3; d++)
                edges[e][c] += w->axes[c][d] * (surface->positions[3 * (size_t)corners[1 + e] + d] -
                                                surface->positions[3 * (size_t)corners[0] + d]);
    hit->front = edges[0][0] * edges[1][1] - edges[0][1] * edges[1][0] < 0; /* clockwise as seen against z */
    hit->shares[1] = hit->front ? r : q;
    hit->shares[2] = hit->front ? q : r;
    hit->shares[0] = 1 - q - r;
}

void RAYS_BODY(const px_ray_job *job) {
    turned w = {.job = job};
    set_axes(&w);
    for (uint32_t n = 0; n < job->mesh->group_count; n++)
        turn_group(&w, n);
    px_view_fill(job->view, job->mesh->group_count);
    for (size_t n = 0; n < job->count; n++) {
        const float *from = job->from + 3 * n, *normal = job->normals + 3 * n;
        px_ray_hit *hit = job->hits ? &job->hits[n] : NULL;
        float at[3];
        job->open[n] = 0;
        if (hit)
            *hit = (px_ray_hit){.triangle = PELT_NONE, .shares = {INFINITY}};
        if (!(normal[0] * job->way[0] + normal[1] * job->way[1] + normal[2] * job->way[2] > job->cosine))
            continue;
        for (int c = 0; c < 3; c++)
            at[c] = w.axes[c][0] * from[0] + w.axes[c][1] * from[1] + w.axes[c][2] * from[2];
        px_ray_own own = job->own ? job->own[n] : (px_ray_own){PELT_NONE, 0};
        job->open[n] = hit ? trace(&w, at, own, hit) : trace(&w, at, own, NULL);
        if (hit && hit->triangle != PELT_NONE)
            finish(&w, hit);
    }
}
