/* Regions of a mesh that texts name. */
#ifndef PELT_WEIGHTS_REGIONS_H
#define PELT_WEIGHTS_REGIONS_H

#include "core/mesh.h"

/* Sets marks[i] = 1 for the vertices of every region in `list`, which are divided by commas or lines: the name of a part
 * or material, "box(X Y Z X Y Z)" (lower and upper corner), "sphere(X Y Z R)" or "vertices(0 7-12)". Boxes and spheres are
 * in the space of mesh.positions. `field`: for messages. Fails for a name that the mesh does not have, and for wrong
 * numbers. */
pelt_result px_regions_mark(pelt_context *context, const pelt_model *model, const char *field, const char *list,
                            uint8_t *marks);

#endif
