/* Regions of a mesh in options: a part or material by name, or
 *
 *   box(X Y Z X Y Z)     lower and upper corner
 *   sphere(X Y Z R)      centre and radius
 *   vertices(A B-C …)    vertices by index
 *   attribute(NAME)      values per vertex that the caller knows
 */
#ifndef PELT_WEIGHTS_REGIONS_H
#define PELT_WEIGHTS_REGIONS_H

#include "core/mesh.h"

enum { PX_REGION_NAME, PX_REGION_BOX, PX_REGION_SPHERE, PX_REGION_VERTICES, PX_REGION_ATTRIBUTE };

typedef struct px_region {
    uint32_t kind;    /* PX_REGION_… */
    const char *text; /* [length] the name, or what stands between the parentheses */
    size_t length;
    double numbers[6]; /* BOX: low, high; SPHERE: centre, radius */
} px_region;

/* Parses text [length]. `field`: its name, for messages. */
pelt_result px_region_parse(pelt_context *context, const char *field, const char *text, size_t length,
                            px_region *region);
/* Whether a box or a sphere contains a point. */
bool px_region_contains(const px_region *region, const float p[3]);
/* Sets marks[i] = 1 for the vertices of a region that is no attribute; boxes and spheres are in the space of
 * mesh.positions. Fails if the mesh has no such part or vertex. */
pelt_result px_region_mark(pelt_context *context, const char *field, const px_region *region, const pelt_mesh *mesh,
                           uint8_t *marks);
/* The same for every region in `list`, divided by commas or lines. Attributes are not known here. */
pelt_result px_regions_mark(pelt_context *context, const pelt_mesh *mesh, const char *field, const char *list,
                            uint8_t *marks);

#endif
