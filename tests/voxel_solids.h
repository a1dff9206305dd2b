/* Solids for tests of voxels: triangles of boxes, spheres and rings, and their voxels. */
#ifndef PELT_TESTS_VOXEL_SOLIDS_H
#define PELT_TESTS_VOXEL_SOLIDS_H

#include "core/core.h"
#include "support.h"
#include "voxel/soup.h"

#include <math.h>

#define MAX_VERTICES  20000u
#define MAX_TRIANGLES 40000u

typedef struct soup {
    uint32_t vertex_count, triangle_count;
    float positions[MAX_VERTICES][3];
    uint32_t triangles[MAX_TRIANGLES][3];
} soup;

static inline uint32_t add_vertex(soup *s, double x, double y, double z) {
    float *p = s->positions[s->vertex_count];
    assert_true(s->vertex_count < MAX_VERTICES);
    p[0] = (float)x, p[1] = (float)y, p[2] = (float)z;
    return s->vertex_count++;
}

static inline void add_triangle(soup *s, uint32_t a, uint32_t b, uint32_t c) {
    uint32_t *t = s->triangles[s->triangle_count++];
    assert_true(s->triangle_count <= MAX_TRIANGLES);
    t[0] = a, t[1] = b, t[2] = c;
}

/* Two triangles, counter-clockwise. */
static inline void add_quad(soup *s, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    add_triangle(s, a, b, c);
    add_triangle(s, a, c, d);
}

static inline void add_box(soup *s, const double low[3], const double high[3]) {
    static const uint32_t faces[6][4] = {{0, 4, 6, 2}, {1, 3, 7, 5}, {0, 1, 5, 4},
                                         {2, 6, 7, 3}, {0, 2, 3, 1}, {4, 5, 7, 6}};
    uint32_t v = s->vertex_count;
    for (uint32_t k = 0; k < 8; k++)
        add_vertex(s, k & 1 ? high[0] : low[0], k & 2 ? high[1] : low[1], k & 4 ? high[2] : low[2]);
    for (uint32_t f = 0; f < 6; f++)
        add_quad(s, v + faces[f][0], v + faces[f][1], v + faces[f][2], v + faces[f][3]);
}

/* A ring of n × n quads; `hole` 0 gives a sphere with two poles of doubled vertices. */
static inline void add_torus(soup *s, double x, double y, double z, double hole, double radius, uint32_t n) {
    uint32_t v = s->vertex_count;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++) {
            double a = 2 * M_PI * i / n, b = 2 * M_PI * j / n, r = hole + radius * cos(b);
            add_vertex(s, x + r * cos(a), y + r * sin(a), z + radius * sin(b));
        }
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++) {
            uint32_t k = (i + 1) % n, l = (j + 1) % n;
            add_quad(s, v + i * n + j, v + k * n + j, v + k * n + l, v + i * n + l);
        }
}

static inline void add_sphere(soup *s, double x, double y, double z, double radius, uint32_t n) {
    uint32_t v = s->vertex_count, low = add_vertex(s, x, y, z - radius), high = add_vertex(s, x, y, z + radius);
    for (uint32_t i = 1; i < n; i++)
        for (uint32_t j = 0; j < n; j++) {
            double a = M_PI * i / n, b = 2 * M_PI * j / n;
            add_vertex(s, x + radius * sin(a) * cos(b), y + radius * sin(a) * sin(b), z - radius * cos(a));
        }
    for (uint32_t j = 0; j < n; j++) {
        uint32_t k = (j + 1) % n;
        add_triangle(s, low, v + 2 + k, v + 2 + j);
        for (uint32_t i = 0; i + 2 < n; i++)
            add_quad(s, v + 2 + i * n + j, v + 2 + i * n + k, v + 2 + (i + 1) * n + k, v + 2 + (i + 1) * n + j);
        add_triangle(s, high, v + 2 + (n - 2) * n + j, v + 2 + (n - 2) * n + k);
    }
}

static inline void turn_over(soup *s, uint32_t first_triangle) {
    for (uint32_t t = first_triangle; t < s->triangle_count; t++) {
        uint32_t swap = s->triangles[t][1];
        s->triangles[t][1] = s->triangles[t][2];
        s->triangles[t][2] = swap;
    }
}

/* Turns everything about a random axis. */
static inline void rotate(soup *s, test_random *random) {
    double q[4], length = 0;
    for (uint32_t c = 0; c < 4; c++) {
        q[c] = test_random_real(random, -1, 1);
        length += q[c] * q[c];
    }
    double x = q[0], y = q[1], z = q[2], w = q[3], n = 2 / length;
    double m[3][3] = {{1 - n * (y * y + z * z), n * (x * y - w * z), n * (x * z + w * y)},
                      {n * (x * y + w * z), 1 - n * (x * x + z * z), n * (y * z - w * x)},
                      {n * (x * z - w * y), n * (y * z + w * x), 1 - n * (x * x + y * y)}};
    for (uint32_t i = 0; i < s->vertex_count; i++) {
        float p[3];
        memcpy(p, s->positions[i], sizeof p);
        for (uint32_t r = 0; r < 3; r++)
            s->positions[i][r] = (float)(m[r][0] * p[0] + m[r][1] * p[1] + m[r][2] * p[2]);
    }
}

static inline void box_of(const soup *s, float low[3], float high[3]) {
    for (uint32_t c = 0; c < 3; c++)
        low[c] = high[c] = s->vertex_count ? s->positions[0][c] : 0;
    for (uint32_t i = 0; i < s->vertex_count; i++)
        for (uint32_t c = 0; c < 3; c++) {
            low[c] = fminf(low[c], s->positions[i][c]);
            high[c] = fmaxf(high[c], s->positions[i][c]);
        }
}

static inline px_grid grid_of(const soup *s, uint32_t resolution) {
    float low[3], high[3];
    box_of(s, low, high);
    return px_grid_around(low, high, resolution);
}

static inline pelt_result make(pelt_context *context, px_arena *arena, const soup *s, const px_grid *grid,
                               uint32_t views, px_voxels *out) {
    return px_voxels_make(context, arena, s->positions[0], s->vertex_count, s->triangles[0], s->triangle_count, grid,
                          views, out);
}

static inline void begin(soup *s) {
    s->vertex_count = s->triangle_count = 0;
}

#endif
