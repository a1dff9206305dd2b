/* Draco decoder: a C interface to libdraco, which is C++ (draco.cc). Builds without PELT_DRACO use draco_none.c, which
 * decodes nothing. */
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
    PX_DRACO_MEMORY,       /* libdraco ran out of memory */
    PX_DRACO_REFUSED,      /* `take` returned false */
    PX_DRACO_NO_STREAM,    /* the data does not begin with the header of a Draco stream */
    PX_DRACO_NO_TRIANGLES, /* a point cloud */
    PX_DRACO_VERSION,      /* a version of the format that glTF does not allow */
    PX_DRACO_DAMAGED,
    PX_DRACO_NO_ATTRIBUTE, /* no attribute has this id */
    PX_DRACO_WIDTH,        /* the attribute has a different number of components */
    PX_DRACO_TYPE          /* the component type cannot hold the attribute's values */
} px_draco_result;

typedef struct px_draco px_draco;

/* Called before libdraco allocates memory for counts that it read from the stream: about `bytes` more, in addition to
 * all earlier calls. Return false to stop decoding with PX_DRACO_REFUSED. */
typedef bool px_draco_take(void *user, uint64_t bytes);

/* Decodes data[size]. On failure *draco is NULL. */
px_draco_result px_draco_decode(const uint8_t *data, size_t size, px_draco_take *take, void *user, px_draco **draco);
/* draco may be NULL. */
void px_draco_free(px_draco *draco);
uint32_t px_draco_vertex_count(const px_draco *draco);
uint32_t px_draco_triangle_count(const px_draco *draco);
/* out [triangle][3]. Fails with PX_DRACO_DAMAGED if an index is out of range. */
px_draco_result px_draco_triangles(const px_draco *draco, uint32_t *out);
/* Decodes the attribute with this unique id: `width` components of a glTF component type (5120 to 5126) per vertex,
 * `stride` bytes from one vertex to the next. */
px_draco_result px_draco_values(const px_draco *draco, uint32_t id, uint32_t width, uint32_t component, size_t stride,
                                uint8_t *out);

#ifdef __cplusplus
}
#endif

#endif
