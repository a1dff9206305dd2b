/* Triangle rasterizer with depth buffer: exact coverage by integer edge functions (Pineda 1988). Triangles that share
 * an edge never overlap and never leave a gap. */
#include "view/view.h"

/* Sample (i, j) of a square pattern is offset by the other index: no two samples share a row or a column, which smooths
 * edges that are nearly parallel to an axis. A single sample lies at the pixel's centre. */
void px_tile_pattern(px_tile *tile, uint32_t side) {
    tile->sample_count = (int32_t)(side * side);
    for (uint32_t j = 0; j < side; j++)
        for (uint32_t i = 0; i < side; i++) {
            double x = (i + (j + 0.5) / side) / side, y = (side - 1 - j + (i + 0.5) / side) / side;
            tile->sample_x[j * side + i] = (int32_t)lround(x * PX_SUBPIXEL);
            tile->sample_y[j * side + i] = (int32_t)lround(y * PX_SUBPIXEL);
        }
}

/* Edge function E(x, y) = dx·(y − y0) − dy·(x − x0) − bias: ≥ 0 inside. The bias assigns a sample exactly on an edge to
 * one side only. */
typedef struct edge {
    int64_t dx, dy, x0, y0, bias;
} edge;

static edge edge_of(const px_screen_corner *a, const px_screen_corner *b) {
    edge e = {.dx = (int64_t)b->x - a->x, .dy = (int64_t)b->y - a->y, .x0 = a->x, .y0 = a->y};
    e.bias = e.dy < 0 || (e.dy == 0 && e.dx > 0) ? 0 : 1;
    return e;
}

static int64_t edge_at(const edge *e, int64_t x, int64_t y) {
    return e->dx * (y - e->y0) - e->dy * (x - e->x0) - e->bias;
}

typedef struct plane {
    double base, dx, dy, x0, y0;
} plane;

static plane plane_of(const px_screen_corner *a, const px_screen_corner *b, const px_screen_corner *c, double area) {
    double abx = (double)b->x - a->x, aby = (double)b->y - a->y, acx = (double)c->x - a->x, acy = (double)c->y - a->y;
    double ab = (double)b->depth - a->depth, ac = (double)c->depth - a->depth;
    return (plane){a->depth, (ab * acy - ac * aby) / area, (ac * abx - ab * acx) / area, a->x, a->y};
}

static void put(px_tile *tile, size_t slot, float depth, uint32_t id) {
    if (depth > tile->near_depth[slot]) {
        tile->near_depth[slot] = depth;
        if (tile->ids)
            tile->ids[slot] = id;
    }
    if (tile->far_depth && depth < tile->far_depth[slot])
        tile->far_depth[slot] = depth;
}

static int32_t clamp(int64_t value, int32_t low, int32_t high) {
    return value < low ? low : value > high ? high : (int32_t)value;
}

static int32_t min3(int32_t a, int32_t b, int32_t c) {
    return a < b ? (a < c ? a : c) : (b < c ? b : c);
}
static int32_t max3(int32_t a, int32_t b, int32_t c) {
    return a > b ? (a > c ? a : c) : (b > c ? b : c);
}
static int64_t pixel_of(int32_t place) {
    return place >= 0 ? place / PX_SUBPIXEL : -1;
}

void px_tile_fill(px_tile *tile, const px_screen_corner *a, const px_screen_corner *b, const px_screen_corner *c,
                  uint32_t id) {
    int32_t last_row = tile->first_row + tile->row_count - 1;
    int32_t y0 = clamp(pixel_of(min3(a->y, b->y, c->y)), tile->first_row, last_row + 1);
    int32_t y1 = clamp(pixel_of(max3(a->y, b->y, c->y)), tile->first_row - 1, last_row);
    int32_t x0 = clamp(pixel_of(min3(a->x, b->x, c->x)), 0, tile->width);
    int32_t x1 = clamp(pixel_of(max3(a->x, b->x, c->x)), -1, tile->width - 1);
    int64_t area = ((int64_t)b->x - a->x) * ((int64_t)c->y - a->y) - ((int64_t)b->y - a->y) * ((int64_t)c->x - a->x);
    if (y0 > y1 || x0 > x1 || area == 0)
        return;
    if (area < 0) { /* draw both sides */
        const px_screen_corner *swap = b;
        b = c;
        c = swap;
        area = -area;
    }
    edge edges[3] = {edge_of(a, b), edge_of(b, c), edge_of(c, a)};
    plane depth = plane_of(a, b, c, (double)area);
    for (int32_t y = y0; y <= y1; y++)
        for (int32_t x = x0; x <= x1; x++)
            for (int32_t s = 0; s < tile->sample_count; s++) {
                int64_t sx = (int64_t)x * PX_SUBPIXEL + tile->sample_x[s];
                int64_t sy = (int64_t)y * PX_SUBPIXEL + tile->sample_y[s];
                if ((edge_at(&edges[0], sx, sy) | edge_at(&edges[1], sx, sy) | edge_at(&edges[2], sx, sy)) < 0)
                    continue;
                double d = depth.base + depth.dx * ((double)sx - depth.x0) + depth.dy * ((double)sy - depth.y0);
                size_t slot =
                    ((size_t)(y - tile->first_row) * (size_t)tile->width + (size_t)x) * (size_t)tile->sample_count +
                    (size_t)s;
                put(tile, slot, (float)d, id);
            }
}
