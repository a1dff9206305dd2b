/* Replaces draco.cc in builds without libdraco. */
#include "io/draco.h"

px_draco_result px_draco_decode(const uint8_t *data, size_t size, px_draco_take *take, void *user, px_draco **draco) {
    (void)data, (void)size, (void)take, (void)user;
    *draco = NULL;
    return PX_DRACO_NONE;
}

void px_draco_free(px_draco *draco) {
    (void)draco;
}

uint32_t px_draco_vertex_count(const px_draco *draco) {
    (void)draco;
    return 0;
}

uint32_t px_draco_triangle_count(const px_draco *draco) {
    (void)draco;
    return 0;
}

px_draco_result px_draco_triangles(const px_draco *draco, uint32_t *out) {
    (void)draco, (void)out;
    return PX_DRACO_NONE;
}

px_draco_result px_draco_values(const px_draco *draco, uint32_t id, uint32_t width, uint32_t component, size_t stride,
                                uint8_t *out) {
    (void)draco, (void)id, (void)width, (void)component, (void)stride, (void)out;
    return PX_DRACO_NONE;
}
