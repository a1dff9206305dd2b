/* Regions of the mesh that options name (internal header). */
#ifndef PELT_BIND_REGIONS_H
#define PELT_BIND_REGIONS_H

#include "bind/bind.h"

enum { PX_REGION_NAME, PX_REGION_BOX, PX_REGION_SPHERE, PX_REGION_VERTICES, PX_REGION_ATTRIBUTE };

typedef struct px_bind_region {
    uint32_t kind;    /* PX_REGION_… */
    const char *text; /* [length] the name, or what stands between the parentheses */
    size_t length;
    double numbers[6]; /* BOX: low, high; SPHERE: centre, radius */
} px_bind_region;

/* Parses text [length]. `option`: its name, for messages. */
pelt_result px_bind_region_parse(pelt_context *context, const char *option, const char *text, size_t length,
                                 px_bind_region *region);
/* Whether a box or a sphere contains a point in world space. */
bool px_bind_region_contains(const px_bind_region *region, const float p[3]);
/* *rows [class]: 1 in the region; *count: how many. Allocated in the arena. Fails if the mesh has no such part, vertex or
 * attribute. */
pelt_result px_bind_region_rows(px_arena *arena, pelt_context *context, const px_bind_subject *subject,
                                const pelt_bind_desc *desc, const char *option, const px_bind_region *region,
                                uint8_t **rows, uint32_t *count);

#endif
