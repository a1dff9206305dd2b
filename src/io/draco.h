/* Draco streams, decoded by libdraco, which is C++ (draco.cc); in builds without PELT_DRACO nothing is (draco_none.c). */
#ifndef PELT_IO_DRACO_H
#define PELT_IO_DRACO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum px_draco_result {
    PX_DRACO_OK,
    PX_DRACO_NONE,         /* this build has no libdraco */
    PX_DRACO_MEMORY,       /* libdraco found none */
    PX_DRACO_REFUSED,      /* `take` said no */
    PX_DRACO_NO_STREAM,    /* these bytes do not begin as a Draco stream does */
    PX_DRACO_NO_TRIANGLES, /* a point cloud */
    PX_DRACO_VERSION,      /* a version of the format that glTF does not have */
    PX_DRACO_DAMAGED,
    PX_DRACO_NO_ATTRIBUTE, /* there is no attribute with this id */
    PX_DRACO_WIDTH,        /* the attribute has another number of components … */
    PX_DRACO_TYPE          /* … or values that the component type cannot hold */
} px_draco_result;

typedef struct px_draco px_draco;

/* Asked before libdraco allocates memory by numbers that it has read from the stream, about as many bytes as said, beside
 * those before. false: decoding ends with PX_DRACO_REFUSED. */
typedef bool px_draco_take(void *user, uint64_t bytes);

/* Decodes data[size]. On failure *draco is NULL. */
px_draco_result px_draco_decode(const uint8_t *data, size_t size, px_draco_take *take, void *user, px_draco **draco);
/* NULL is allowed. */
void px_draco_free(px_draco *draco);
uint32_t px_draco_vertex_count(const px_draco *draco);
uint32_t px_draco_triangle_count(const px_draco *draco);
/* out [triangle][3]. Vertices that do not exist: PX_DRACO_DAMAGED. */
px_draco_result px_draco_triangles(const px_draco *draco, uint32_t *out);
/* Values of the attribute with this unique id: `width` components of a glTF type (5120 to 5126) for each vertex, which is
 * `stride` bytes behind the one before. */
px_draco_result px_draco_values(const px_draco *draco, uint32_t id, uint32_t width, uint32_t component, size_t stride,
                                uint8_t *out);

#ifdef __cplusplus
}
#endif

#endif
