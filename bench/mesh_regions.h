/* Volumes of regions of a mesh: its triangles by region, each region closed by fans over its border. */
#ifndef PELT_BENCH_MESH_REGIONS_H
#define PELT_BENCH_MESH_REGIONS_H

#include <pelt/model.h>

typedef struct border_edge {
    uint32_t region, loop; /* loop: of all regions */
    uint32_t a, b;         /* vertices, as the triangle has them */
} border_edge;

typedef struct mesh_regions {
    const pelt_mesh *mesh;
    uint32_t region_count, loop_count;
    uint32_t *triangle_regions; /* [triangle] */
    size_t border_count;
    border_edge *border;
    double (*middles)[4]; /* [loop] scratch */
} mesh_regions;

/* The mesh must be welded and outlive the regions. A triangle belongs to the region of most of its vertices, else to
 * that of its first. Exits when out of memory. */
mesh_regions mesh_regions_make(const pelt_mesh *mesh, const uint32_t *vertex_regions, uint32_t region_count);
void mesh_regions_free(mesh_regions *regions);

/* volumes [region] of positions [vertex][3]: each border loop is closed by a fan about the mean of its vertices. */
void mesh_regions_volumes(mesh_regions *regions, const float *positions, double *volumes);

#endif
