/* Queries of one body: first hit of a ray, nearest point, triangles within a radius.
 *
 * The spheres include the rounding of floats. FUZZ covers the rounding of the queries themselves, which use doubles.
 */
#include "collide/box.h"
#include "core/math3.h"
#include "core/surface.h"

#include <math.h>

#define FUZZ 1e-14

static void widen(const float v[3], double out[3]) {
    for (int c = 0; c < 3; c++)
        out[c] = (double)v[c];
}

/* ---- Rays ------------------------------------------------------------------------------------------------- */

typedef struct ray_query {
    pelt_body *body;
    pelt_ray ray; /* `most` decreases to the distance of the nearest hit */
    double origin[3], unit[3], length;
    double far; /* distance of the ray's origin from (0, 0, 0) */
    bool found;
    pelt_body_point *out;
} ray_query;

/* Lower bound on the distance at which the ray enters the sphere; INFINITY: it misses. */
static double entry(const ray_query *q, uint32_t node) {
    const px_ball *ball = px_body_ball(q->body, node);
    double to[3], along = 0, square = 0;
    for (int c = 0; c < 3; c++) {
        to[c] = (double)ball->center[c] - q->origin[c];
        along += to[c] * q->unit[c];
        square += to[c] * to[c];
    }
    /* The difference of the squares has an error of a few ulps of the larger one. */
    double radius = (double)ball->radius + FUZZ * (fabs(along) + q->far);
    if (square - along * along > radius * radius + FUZZ * square || along < -radius)
        return INFINITY;
    return along > radius ? (along - radius) / q->length * (1 - FUZZ) : 0;
}

static void ray_leaf(ray_query *q, uint32_t number) {
    const pelt_bdtree *tree = q->body->tree;
    const px_leaf *leaf = &tree->leaves[number];
    const px_opened *opened = px_body_leaf(q->body, number);
    for (uint32_t place = leaf->first; place < leaf->first + leaf->count; place++) {
        const float *corners[3];
        pelt_body_point point = {.triangle = tree->order[place]};
        if (!px_leaf_corners(opened, tree->corners[place], corners) ||
            !px_ray_meets(&q->ray, corners, &point.distance, point.corners))
            continue;
        if (q->found && point.distance == q->out->distance && point.triangle > q->out->triangle)
            continue;
        q->found = true;
        q->ray.most = point.distance;
        *q->out = point;
    }
}

static void ray_node(ray_query *q, uint32_t n) {
    const px_node *node = &q->body->tree->nodes[n];
    if (!node->second) {
        ray_leaf(q, node->leaf);
        return;
    }
    uint32_t children[2] = {n + 1, node->second};
    double entries[2] = {entry(q, children[0]), entry(q, children[1])};
    int nearer = entries[1] < entries[0];
    for (int c = 0; c < 2; c++) {
        int child = c == 0 ? nearer : !nearer;
        if (entries[child] <= q->ray.most && entries[child] < INFINITY)
            ray_node(q, children[child]);
    }
}

bool pelt_body_ray(pelt_body *body, const pelt_ray *ray, pelt_body_point *out) {
    ray_query q = {.body = body, .ray = *ray, .out = out};
    widen(ray->origin, q.origin);
    widen(ray->direction, q.unit);
    q.length = px_length3(q.unit);
    q.far = px_length3(q.origin);
    if (body->tree->node_count == 0 || !(q.length > 0) || !(q.length < INFINITY))
        return false;
    for (int c = 0; c < 3; c++)
        q.unit[c] /= q.length;
    if (entry(&q, 0) <= ray->most)
        ray_node(&q, 0);
    return q.found;
}

/* ---- The nearest point ------------------------------------------------------------------------------------ */

typedef struct spot {
    double p[3];
    double far; /* distance from (0, 0, 0) */
} spot;

static spot make_spot(const float p[3]) {
    spot out;
    widen(p, out.p);
    out.far = px_length3(out.p);
    return out;
}

/* Lower bound on a distance, from its square as computed in doubles, minus `radius`. */
static double at_least(const spot *from, double square, double radius) {
    double distance = sqrt(square), least = distance - radius - FUZZ * (distance + radius + from->far);
    return least > 0 ? least : 0;
}

/* Lower bound on the distance to the box. */
static double box_distance(const px_quad_box *box, const spot *from) {
    double square = 0;
    for (int c = 0; c < 3; c++) {
        double below = (double)box->low[c] - from->p[c], above = from->p[c] - (double)box->high[c];
        double off = below > above ? below : above;
        square += off > 0 ? off * off : 0;
    }
    return at_least(from, square, 0);
}

/* Distance of a point from a triangle in the body's pose; INFINITY if it exceeds `most` or a corner is not finite. */
static double triangle_distance(const px_opened *leaf, const uint8_t of_leaf[3], const spot *from, double most,
                                double share[3]) {
    const float *posed[3];
    double corners[3][3];
    if (!px_leaf_corners(leaf, of_leaf, posed))
        return INFINITY;
    px_quad_box box = px_box_of(posed);
    if (box_distance(&box, from) > most)
        return INFINITY;
    for (int c = 0; c < 3; c++)
        widen(posed[c], corners[c]);
    double distance = sqrt(px_triangle_nearest(from->p, corners, share));
    return distance <= most ? distance : INFINITY;
}

/* Lower bound on the distance to the node's sphere. */
static double ball_distance(pelt_body *body, uint32_t node, const spot *from) {
    const px_ball *ball = px_body_ball(body, node);
    double square = 0, radius = (double)ball->radius;
    for (int c = 0; c < 3; c++) {
        double off = (double)ball->center[c] - from->p[c];
        square += off * off;
    }
    return at_least(from, square, radius);
}

typedef struct nearest_query {
    pelt_body *body;
    spot from;
    double most;
    bool found;
    pelt_body_point *out;
} nearest_query;

static void nearest_leaf(nearest_query *q, uint32_t number) {
    const pelt_bdtree *tree = q->body->tree;
    const px_leaf *leaf = &tree->leaves[number];
    const px_opened *opened = px_body_leaf(q->body, number);
    if (box_distance(&opened->box, &q->from) > q->most)
        return;
    for (uint32_t place = leaf->first; place < leaf->first + leaf->count; place++) {
        pelt_body_point point = {.triangle = tree->order[place]};
        point.distance = triangle_distance(opened, tree->corners[place], &q->from, q->most, point.corners);
        if (point.distance == INFINITY || (q->found && point.distance == q->most && point.triangle > q->out->triangle))
            continue;
        q->found = true;
        q->most = point.distance;
        *q->out = point;
    }
}

static void nearest_node(nearest_query *q, uint32_t n) {
    const px_node *node = &q->body->tree->nodes[n];
    if (!node->second) {
        nearest_leaf(q, node->leaf);
        return;
    }
    uint32_t children[2] = {n + 1, node->second};
    double distances[2] = {ball_distance(q->body, children[0], &q->from),
                           ball_distance(q->body, children[1], &q->from)};
    int nearer = distances[1] < distances[0];
    for (int c = 0; c < 2; c++) {
        int child = c == 0 ? nearer : !nearer;
        if (distances[child] <= q->most)
            nearest_node(q, children[child]);
    }
}

bool pelt_body_nearest(pelt_body *body, const float p[3], double most, pelt_body_point *out) {
    nearest_query q = {.body = body, .from = make_spot(p), .most = most, .out = out};
    if (body->tree->node_count > 0 && ball_distance(body, 0, &q.from) <= most)
        nearest_node(&q, 0);
    return q.found;
}

/* ---- Spheres ---------------------------------------------------------------------------------------------- */

typedef struct sphere_query {
    pelt_body *body;
    spot center;
    double radius;
    pelt_triangle_fn *found;
    void *user;
} sphere_query;

/* Returns false to stop the query. */
static bool sphere_node(const sphere_query *q, uint32_t n) {
    const pelt_bdtree *tree = q->body->tree;
    const px_node *node = &tree->nodes[n];
    if (ball_distance(q->body, n, &q->center) > q->radius)
        return true;
    if (node->second)
        return sphere_node(q, n + 1) && sphere_node(q, node->second);
    const px_leaf *leaf = &tree->leaves[node->leaf];
    const px_opened *opened = px_body_leaf(q->body, node->leaf);
    for (uint32_t place = leaf->first; place < leaf->first + leaf->count; place++) {
        double share[3], distance = triangle_distance(opened, tree->corners[place], &q->center, q->radius, share);
        if (distance < INFINITY && !q->found(q->user, tree->order[place]))
            return false;
    }
    return true;
}

void pelt_body_sphere(pelt_body *body, const float center[3], double radius, pelt_triangle_fn *found, void *user) {
    sphere_query q = {.body = body, .center = make_spot(center), .radius = radius, .found = found, .user = user};
    if (body->tree->node_count > 0)
        sphere_node(&q, 0);
}
