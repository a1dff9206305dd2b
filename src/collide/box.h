/* Boxes around what a leaf holds, four numbers at a time. The last of each means nothing. */
#ifndef PELT_COLLIDE_BOX_H
#define PELT_COLLIDE_BOX_H

#include "collide/collide.h"

#include <math.h>

typedef struct px_box {
    px_quad low, high;
} px_box;

static inline px_quad px_quad_pick(px_quad_mask mask, px_quad yes, px_quad no) {
    return (px_quad)((mask & (px_quad_mask)yes) | (~mask & (px_quad_mask)no));
}
static inline px_quad px_quad_min(px_quad a, px_quad b) {
    return px_quad_pick(a < b, a, b);
}
static inline px_quad px_quad_max(px_quad a, px_quad b) {
    return px_quad_pick(a > b, a, b);
}

static inline px_box px_box_of(const float *const corners[3]) {
    px_quad a = px_quad_load(corners[0]), b = px_quad_load(corners[1]), c = px_quad_load(corners[2]);
    return (px_box){px_quad_min(px_quad_min(a, b), c), px_quad_max(px_quad_max(a, b), c)};
}

/* Around the vertices of a leaf; around everything when one of them is not finite. */
static inline px_box px_box_of_leaf(pelt_body *body, uint32_t leaf) {
    const float(*posed)[3] = px_body_leaf(body, leaf);
    if (body->finite[leaf] != (1u << PX_LEAF_VERTICES) - 1)
        return (px_box){{-INFINITY, -INFINITY, -INFINITY}, {INFINITY, INFINITY, INFINITY}};
    px_quad first = px_quad_load(posed[0]);
    px_box out = {first, first};
    for (uint32_t v = 1; v < PX_LEAF_VERTICES; v++) {
        px_quad p = px_quad_load(posed[v]);
        out = (px_box){px_quad_min(out.low, p), px_quad_max(out.high, p)};
    }
    return out;
}

static inline bool px_boxes_meet(const px_box *a, const px_box *b) {
    px_quad_mask apart = (a->low > b->high) | (b->low > a->high);
    return !(apart[0] | apart[1] | apart[2]);
}

#endif
