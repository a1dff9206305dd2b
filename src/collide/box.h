/* Axis-aligned bounding boxes of leaves and triangles, with SIMD vectors of four floats. */
#ifndef PELT_COLLIDE_BOX_H
#define PELT_COLLIDE_BOX_H

#include "collide/collide.h"

static inline px_quad px_quad_pick(px_quad_mask mask, px_quad yes, px_quad no) {
    return (px_quad)((mask & (px_quad_mask)yes) | (~mask & (px_quad_mask)no));
}
static inline px_quad px_quad_min(px_quad a, px_quad b) {
    return px_quad_pick(a < b, a, b);
}
static inline px_quad px_quad_max(px_quad a, px_quad b) {
    return px_quad_pick(a > b, a, b);
}

static inline px_quad_box px_box_of(const float *const corners[3]) {
    px_quad a = px_quad_load(corners[0]), b = px_quad_load(corners[1]), c = px_quad_load(corners[2]);
    return (px_quad_box){px_quad_min(px_quad_min(a, b), c), px_quad_max(px_quad_max(a, b), c)};
}

static inline bool px_boxes_meet(const px_quad_box *a, const px_quad_box *b) {
    px_quad_mask apart = (a->low > b->high) | (b->low > a->high);
    return !(apart[0] | apart[1] | apart[2]);
}

#endif
