/* Vertex data of a model's source file that the model does not hold: texture coordinates after the first set, colours. Writers of
 * other formats than that of the file take them from here. */
#ifndef PELT_IO_LAYERS_H
#define PELT_IO_LAYERS_H

#include "io/materials.h"

#define PX_UV_WIDTH    2u
#define PX_COLOR_WIDTH 4u
/* Of one file; more are left out, with a warning. */
#define PX_MAX_LAYERS 16u

typedef struct px_layer {
    const char *name; /* of the set in the file ("UVMap.001"), never NULL; need not be unique */
    uint32_t width;   /* PX_UV_WIDTH: texture coordinates, v upwards; PX_COLOR_WIDTH: red, green, blue, alpha */
    float *values;    /* [vertex][width] */
} px_layer;

typedef struct px_layers {
    uint32_t layer_count, vertex_count;
    px_layer *layers;
} px_layers;

/* What the document of a model keeps of a file that is not glTF. */
typedef struct px_kept {
    px_materials materials;
    px_layers layers; /* of the vertices of the file */
} px_kept;

/* Layers of the model's document for the vertices of the model, allocated in the arena; none where its format has none. */
pelt_result px_layers_get(px_arena *arena, const pelt_model *model, px_layers *out);
/* Value `c` of layers where a file has none: colours are white. */
float px_layer_default(const px_layer *layer);
/* Number of layers of this width before layer n. */
uint32_t px_layer_number(const px_layers *layers, uint32_t n);
/* Makes room for a layer of `count` vertices in the arena, filled with its default; NULL: out of memory. */
float *px_layer_alloc(px_arena *arena, const px_layer *layer, size_t count);

#endif
