/* Regions of the mesh that options name (internal header). */
#ifndef PELT_BIND_REGIONS_H
#define PELT_BIND_REGIONS_H

#include "bind/bind.h"
#include "weights/regions.h"

/* *rows [class]: 1 in the region; *count: how many. Allocated in the arena. Fails if the mesh has no such part, vertex or
 * attribute. */
pelt_result px_bind_region_rows(px_arena *arena, pelt_context *context, const px_bind_subject *subject,
                                const pelt_bind_desc *desc, const char *option, const px_region *region, uint8_t **rows,
                                uint32_t *count);

#endif
