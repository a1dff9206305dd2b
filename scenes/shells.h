/* Meshes of many shells: grids of quads wrapped to tubes, caps and rings, counted first and then filled. */
#ifndef PELT_SCENES_SHELLS_H
#define PELT_SCENES_SHELLS_H

#include "build.h"

#define SHELLS_MAX_PARTS 64u

typedef struct shells_part {
    const char *name, *material;
    uint64_t bones; /* joints that may move it, one bit each */
    uint32_t first_vertex, first_triangle;
} shells_part;

/* The first pass has mesh NULL and only counts; the second fills arrays of that size. */
typedef struct shells {
    pelt_mesh *mesh;
    double density; /* of the grids, 1 as drawn */
    uint32_t vertex_count, triangle_count, part_count;
    shells_part parts[SHELLS_MAX_PARTS];
} shells;

/* Starts a part; later shells belong to it. */
void shells_begin(shells *s, const char *name, const char *material, uint64_t bones);

enum {
    SHELL_WRAP = 1,       /* around: the last column meets the first, with vertices of its own for the UVs */
    SHELL_WRAP_ALONG = 2, /* along: the last row meets the first in the same way */
    SHELL_POLE_LOW = 4,   /* the first row is one vertex */
    SHELL_POLE_HIGH = 8   /* the last row is one vertex */
};

/* A grid of around × along quads. `place` maps u around and v along, both 0 to 1, to space; seen from outside u runs to
 * the right and v upwards. */
typedef struct shell {
    uint32_t around, along; /* at density 1 */
    uint32_t least_around, least_along;
    uint32_t flags;
    vec (*place)(const void *user, double u, double v);
    const void *user;
    bool (*hole)(double u, double v); /* quads to omit, by their centre; NULL: none */
    double fin_at, fin_height; /* a fin on the column nearest to u = fin_at, this high; 0: none. Its foot has three
                                * triangles at every edge. Not on wrapped rows */
} shell;
void shells_add(shells *s, const shell *grid);

/* A vertex without triangles. */
uint32_t shells_vertex(shells *s, vec p);
void shells_triangle(shells *s, uint32_t a, uint32_t b, uint32_t c);

/* A swept ellipse: the usual `user` of a shell, with shells_sweep_place. */
typedef struct shells_sweep {
    uint32_t count;            /* of the places below, 2 to 8 */
    vec centers[8];            /* of the cross-sections */
    double across[8], deep[8]; /* half axes along e1 and e2 */
    vec e1, e2;                /* e1 × e2 points along */
    double low, high;          /* fraction of v over which the ends are rounded; 0: open */
} shells_sweep;
vec shells_sweep_place(const void *user, double u, double v);

#endif
