/* Materials and images of a model's source file, in terms that formats share (metallic and roughness). Writers of other formats than
 * that of the file take them from here. */
#ifndef PELT_IO_MATERIALS_H
#define PELT_IO_MATERIALS_H

#include "io/io.h"

typedef enum px_texture_use {
    PX_TEXTURE_BASE,     /* red, green, blue in sRGB; alpha */
    PX_TEXTURE_SURFACE,  /* green: roughness, blue: metallic */
    PX_TEXTURE_NORMAL,   /* tangent space */
    PX_TEXTURE_SHADE,    /* red: ambient occlusion */
    PX_TEXTURE_EMISSIVE, /* sRGB */
    PX_TEXTURE_USES
} px_texture_use;

typedef enum px_wrap { PX_WRAP_REPEAT, PX_WRAP_MIRROR, PX_WRAP_CLAMP } px_wrap;
typedef enum px_alpha { PX_ALPHA_OPAQUE, PX_ALPHA_MASK, PX_ALPHA_BLEND } px_alpha;

typedef struct px_texture {
    uint32_t image;  /* PELT_NONE: none */
    px_wrap wrap[2]; /* along u and v */
} px_texture;

typedef struct px_image {
    const char *name;      /* without extension; "": none */
    const char *extension; /* "png", "jpg", …; tells the type; NULL: unknown, and the name is that of the file */
    const uint8_t *data;   /* NULL: it cannot be read */
    size_t size;
} px_image;

typedef struct px_material {
    const char *name;    /* as parts refer to it */
    float base_color[4]; /* linear red, green, blue; opacity */
    float metallic, roughness;
    float emissive[3];
    px_alpha alpha;
    float cutoff; /* MASK: opacities below are cut out */
    bool double_sided;
    px_texture textures[PX_TEXTURE_USES];
} px_material;

typedef struct px_materials {
    uint32_t material_count, image_count;
    px_material *materials;
    px_image *images;
} px_materials;

/* The default material of glTF with this name. */
px_material px_material_default(const char *name);
/* The material with this name; NULL: there is none. */
const px_material *px_material_named(const px_materials *materials, const char *name);
/* Extension of an image by its first bytes; NULL: of an unknown type. */
const char *px_image_extension(const uint8_t *data, size_t size);
/* The MIME type of such an extension. */
const char *px_image_type(const char *extension);
/* Reads an image from a file by its name relative to the folder of the file that is read, and never outside of it; without data where
 * there is none. The name of the image is that of its file. */
pelt_result px_image_beside(const px_read *read, const char *name, px_image *out);
/* Materials of the model's document, allocated in the arena; empty where its format has none. Warns of images that cannot be read. */
pelt_result px_materials_get(px_arena *arena, const pelt_model *model, px_materials *out);

#endif
