/* Intersecting triangles of two bodies: both trees are traversed together, descending into the larger sphere first. */
#include "collide/box.h"

typedef struct pair_query {
    pelt_body *a, *b;
    pelt_pair_fn *found;
    void *user;
} pair_query;

/* ---- Leaves ----------------------------------------------------------------------------------------------- */

/* Returns true if the triangles at two positions of `order` share a welded vertex. */
static bool are_neighbours(const pelt_bdtree *tree, const px_leaf *a, uint32_t place_a, const px_leaf *b,
                           uint32_t place_b) {
    for (int e = 0; e < 9; e++)
        if (a->welds[tree->corners[place_a][e / 3]] == b->welds[tree->corners[place_b][e % 3]])
            return true;
    return false;
}

static bool visit_pair(const pair_query *q, uint32_t place_a, uint32_t place_b) {
    uint32_t of_a = q->a->tree->order[place_a], of_b = q->b->tree->order[place_b];
    if (q->a != q->b)
        return q->found(q->user, of_a, of_b);
    return of_a < of_b ? q->found(q->user, of_a, of_b) : q->found(q->user, of_b, of_a);
}

/* Returns false to stop the query. */
static bool pair_leaves(const pair_query *q, uint32_t number_a, uint32_t number_b) {
    const px_leaf *a = &q->a->tree->leaves[number_a], *b = &q->b->tree->leaves[number_b];
    const px_opened *open_a = px_body_leaf(q->a, number_a), *open_b = px_body_leaf(q->b, number_b);
    if (!px_boxes_meet(&open_a->box, &open_b->box))
        return true;
    for (uint32_t m = a->first; m < a->first + a->count; m++) {
        const float *of_a[3], *of_b[3];
        if (!px_leaf_corners(open_a, q->a->tree->corners[m], of_a))
            continue;
        px_quad_box box_a = px_box_of(of_a);
        if (!px_boxes_meet(&box_a, &open_b->box))
            continue;
        for (uint32_t n = a == b ? m + 1 : b->first; n < b->first + b->count; n++) {
            if (!px_leaf_corners(open_b, q->b->tree->corners[n], of_b))
                continue;
            px_quad_box box_b = px_box_of(of_b);
            if (px_boxes_meet(&box_a, &box_b) && !(q->a == q->b && are_neighbours(q->a->tree, a, m, b, n)) &&
                px_triangles_meet(of_a, of_b) && !visit_pair(q, m, n))
                return false;
        }
    }
    return true;
}

/* ---- Nodes ------------------------------------------------------------------------------------------------ */

/* Squares of floats do not overflow in doubles, and the rounding of doubles is far below the margin of spheres. */
static bool balls_meet(const px_ball *a, const px_ball *b) {
    double square = 0, reach = (double)a->radius + (double)b->radius;
    for (int c = 0; c < 3; c++) {
        double off = (double)a->center[c] - (double)b->center[c];
        square += off * off;
    }
    return !(square > reach * reach * (1 + 1e-14));
}

static bool pair_nodes(const pair_query *q, uint32_t m, uint32_t n) {
    const px_node *a = &q->a->tree->nodes[m], *b = &q->b->tree->nodes[n];
    if (q->a == q->b && m == n)
        return a->second ? pair_nodes(q, m + 1, m + 1) && pair_nodes(q, a->second, a->second) &&
                               pair_nodes(q, m + 1, a->second)
                         : pair_leaves(q, a->leaf, a->leaf);
    const px_ball *of_a = px_body_ball(q->a, m), *of_b = px_body_ball(q->b, n);
    if (!balls_meet(of_a, of_b))
        return true;
    bool tighter = px_body_tighten(q->a, m);
    if ((px_body_tighten(q->b, n) || tighter) && !balls_meet(of_a, of_b))
        return true;
    if (!a->second && !b->second)
        return pair_leaves(q, a->leaf, b->leaf);
    if (a->second && (!b->second || of_a->radius >= of_b->radius))
        return pair_nodes(q, m + 1, n) && pair_nodes(q, a->second, n);
    return pair_nodes(q, m, n + 1) && pair_nodes(q, m, b->second);
}

void pelt_body_pairs(pelt_body *a, pelt_body *b, pelt_pair_fn *found, void *user) {
    pair_query q = {a, b, found, user};
    if (a->tree->node_count > 0 && b->tree->node_count > 0)
        pair_nodes(&q, 0, 0);
}
