/* Distances of every bone. */
#include "bind/bind.h"
pelt_result px_bind_geodesic(pelt_context *context, px_arena *arena, const px_bind_subject *subject,
                             const px_bind_volume *volume, const px_bind_bones *bones, const px_bind_bridges *bridges,
                             uint32_t distance, float *values) {
    (void)arena, (void)subject, (void)volume, (void)bones, (void)bridges, (void)distance, (void)values;
    return px_fail(context, PELT_ERROR_UNSUPPORTED, "not yet");
}
