/* Bounding volume hierarchy over triangles: nodes are split at the median centroid along the longest side. */
#include "core/surface.h"
#include "core/math3.h"

#define MAX_LEAF_TRIANGLES 4u

/* ---- Making ----------------------------------------------------------------------------------------------- */

typedef struct builder {
    px_surface *surface;
    float *middles; /* [triangle][3] */
} builder;

static const float *corner(const px_surface *surface, uint32_t triangle, int c) {
    return surface->positions + 3 * (size_t)surface->triangles[3 * (size_t)triangle + (size_t)c];
}

static bool set_middle(const px_surface *surface, uint32_t triangle, float *middle) {
    bool finite = true;
    for (int axis = 0; axis < 3; axis++) {
        double sum = 0;
        for (int c = 0; c < 3; c++)
            sum += (double)corner(surface, triangle, c)[axis];
        middle[axis] = (float)(sum / 3);
        finite = finite && isfinite(sum);
    }
    return finite;
}

static void set_box(const px_surface *surface, px_surface_node *node, uint32_t first, uint32_t count) {
    for (int axis = 0; axis < 3; axis++) {
        node->low[axis] = INFINITY;
        node->high[axis] = -INFINITY;
    }
    for (uint32_t n = first; n < first + count; n++)
        for (int e = 0; e < 9; e++) {
            float value = corner(surface, surface->order[n], e / 3)[e % 3];
            node->low[e % 3] = px_fminf(node->low[e % 3], value);
            node->high[e % 3] = px_fmaxf(node->high[e % 3], value);
        }
}

void px_select(uint32_t *order, uint32_t count, uint32_t place, const float *keys) {
    uint32_t low = 0, high = count - 1;
    while (low < high) {
        float pivot = keys[3 * (size_t)order[low + (high - low) / 2]];
        uint32_t l = low, h = high;
        for (;; l++, h--) {
            while (keys[3 * (size_t)order[l]] < pivot)
                l++;
            while (keys[3 * (size_t)order[h]] > pivot)
                h--;
            if (l >= h)
                break;
            uint32_t swap = order[l];
            order[l] = order[h];
            order[h] = swap;
        }
        if (place <= h)
            high = h;
        else
            low = h + 1;
    }
}

/* Builds a subtree. Splitting in halves bounds the recursion depth by the number of bits of the count. */
static void build(const builder *b, uint32_t first, uint32_t count) {
    px_surface *surface = b->surface;
    px_surface_node *node = &surface->nodes[surface->node_count++];
    set_box(surface, node, first, count);
    if (count <= MAX_LEAF_TRIANGLES) {
        node->first = first;
        node->count = count;
        return;
    }
    int axis = 0;
    for (int a = 1; a < 3; a++)
        if (node->high[a] - node->low[a] > node->high[axis] - node->low[axis])
            axis = a;
    uint32_t half = count / 2;
    px_select(surface->order + first, count, half, b->middles + axis);
    build(b, first, half);
    node->first = surface->node_count;
    build(b, first + half, count - half);
}

pelt_result px_surface_make(px_arena *arena, const float *positions, const uint32_t *triangles, uint32_t triangle_count,
                            px_surface *out) {
    *out = (px_surface){.positions = positions, .triangles = triangles};
    out->nodes = PX_NEW(arena, px_surface_node, px_max_size(1, triangle_count)); /* leaves have 2 triangles or more */
    out->order = PX_NEW(arena, uint32_t, triangle_count);
    if (!out->nodes || !out->order)
        return PELT_ERROR_MEMORY;
    return px_surface_rebuild(px_arena_context(arena), out, triangle_count);
}

pelt_result px_surface_rebuild(pelt_context *context, px_surface *surface, uint32_t triangle_count) {
    builder b = {surface, PX_ALLOC(context, float, 3 * (size_t)triangle_count)};
    if (!b.middles)
        return PELT_ERROR_MEMORY;
    uint32_t count = 0;
    for (uint32_t t = 0; t < triangle_count; t++)
        if (set_middle(surface, t, b.middles + 3 * (size_t)t))
            surface->order[count++] = t;
    surface->node_count = 0;
    if (count > 0)
        build(&b, 0, count);
    px_free(context, b.middles);
    return PELT_OK;
}

/* Nodes come before their children. */
void px_surface_move(px_surface *surface, const float *positions) {
    surface->positions = positions;
    for (uint32_t n = surface->node_count; n-- > 0;) {
        px_surface_node *node = &surface->nodes[n];
        if (node->count > 0) {
            set_box(surface, node, node->first, node->count);
            continue;
        }
        const px_surface_node *one = node + 1, *other = &surface->nodes[node->first];
        for (int axis = 0; axis < 3; axis++) {
            node->low[axis] = px_fminf(one->low[axis], other->low[axis]);
            node->high[axis] = px_fmaxf(one->high[axis], other->high[axis]);
        }
    }
}

/* ---- The nearest point ------------------------------------------------------------------------------------ */

/* Of a point at distance² from `p`, given by what it has of the corners. */
static double squared_distance(const double p[3], double corners[3][3], const double share[3]) {
    double square = 0;
    for (int axis = 0; axis < 3; axis++) {
        double off = share[0] * corners[0][axis] + share[1] * corners[1][axis] + share[2] * corners[2][axis] - p[axis];
        square += off * off;
    }
    return square;
}

/* The projection of `p` if it is inside the triangle, else the nearest point of the edges. */
double px_triangle_nearest(const double p[3], double corners[3][3], double share[3]) {
    double u[3], v[3], w[3];
    for (int axis = 0; axis < 3; axis++) {
        u[axis] = corners[1][axis] - corners[0][axis];
        v[axis] = corners[2][axis] - corners[0][axis];
        w[axis] = p[axis] - corners[0][axis];
    }
    double uu = px_dot3d(u, u), uv = px_dot3d(u, v), vv = px_dot3d(v, v), wu = px_dot3d(w, u), wv = px_dot3d(w, v),
           area = uu * vv - uv * uv;
    if (area > 1e-14 * uu * vv) {
        share[1] = (vv * wu - uv * wv) / area;
        share[2] = (uu * wv - uv * wu) / area;
        share[0] = 1 - share[1] - share[2];
        if (share[0] >= 0 && share[1] >= 0 && share[2] >= 0)
            return squared_distance(p, corners, share);
    }
    double best = INFINITY;
    for (int e = 0; e < 3; e++) {
        int f = (e + 1) % 3;
        double along = 0, length = 0;
        for (int axis = 0; axis < 3; axis++) {
            double edge = corners[f][axis] - corners[e][axis];
            along += edge * (p[axis] - corners[e][axis]);
            length += edge * edge;
        }
        double t = length > 0 ? px_fmin(px_fmax(along / length, 0), 1) : 0, of_edge[3] = {0, 0, 0};
        of_edge[e] = 1 - t;
        of_edge[f] = t;
        double square = squared_distance(p, corners, of_edge);
        if (square < best) {
            best = square;
            memcpy(share, of_edge, sizeof of_edge);
        }
    }
    return best;
}

static double box_distance(const px_surface_node *node, const double p[3]) {
    double square = 0;
    for (int axis = 0; axis < 3; axis++) {
        double off = px_fmax(px_fmax((double)node->low[axis] - p[axis], p[axis] - (double)node->high[axis]), 0);
        square += off * off;
    }
    return square;
}

/* State of a nearest-point query. */
typedef struct query {
    const px_surface *surface;
    const double *p;
    px_surface_accept_fn *accept;
    const void *user;
    double best; /* distance² */
    bool found;
    px_surface_point *out;
} query;

static void look_at_leaf(query *q, const px_surface_node *node) {
    for (uint32_t n = node->first; n < node->first + node->count; n++) {
        px_surface_point candidate = {.triangle = q->surface->order[n]};
        double corners[3][3];
        for (int e = 0; e < 9; e++)
            corners[e / 3][e % 3] = (double)corner(q->surface, candidate.triangle, e / 3)[e % 3];
        double square = px_triangle_nearest(q->p, corners, candidate.corners);
        if (!(square < q->best || (!q->found && square == q->best)))
            continue;
        candidate.distance = sqrt(square);
        if (q->accept && !q->accept(q->user, &candidate))
            continue;
        q->best = square;
        q->found = true;
        *q->out = candidate;
    }
}

static void look_at(query *q, const px_surface_node *node) {
    if (node->count > 0) {
        look_at_leaf(q, node);
        return;
    }
    const px_surface_node *children[2] = {node + 1, &q->surface->nodes[node->first]};
    double distances[2] = {box_distance(children[0], q->p), box_distance(children[1], q->p)};
    int nearer = distances[1] < distances[0];
    for (int n = 0; n < 2; n++) {
        int child = n == 0 ? nearer : !nearer;
        if (distances[child] <= q->best)
            look_at(q, children[child]);
    }
}

bool px_surface_nearest(const px_surface *surface, const double p[3], double distance, px_surface_accept_fn *accept,
                        const void *user, px_surface_point *out) {
    query q = {surface, p, accept, user, distance * distance, false, out};
    if (surface->node_count > 0)
        look_at(&q, surface->nodes);
    return q.found;
}
