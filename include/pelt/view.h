/* Pelt: pictures of models, drawn in software. The same model and settings give the same pixels on one machine, for any
 * number of threads.
 */
#ifndef PELT_VIEW_H
#define PELT_VIEW_H

#include <pelt/model.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PELT_PICTURE_MAX_SIDE 16384u

typedef enum pelt_picture_mode {
    PELT_PICTURE_SHADED,     /* one material, as a sculptor's clay */
    PELT_PICTURE_BONES,      /* a colour per bone, blended by the skin's weights; the skeleton's bones match */
    PELT_PICTURE_WEIGHTS,    /* the weight of one joint, from pale (0) to deep plum (1) */
    PELT_PICTURE_INFLUENCES, /* how many bones move a vertex, from pale (1) to deep blue (8) */
    PELT_PICTURE_PARTS,      /* a colour per part */
    PELT_PICTURE_MODE_COUNT
} pelt_picture_mode;

typedef enum pelt_picture_skeleton {
    PELT_PICTURE_SKELETON_AUTO, /* drawn in modes BONES and WEIGHTS, and for a model without triangles */
    PELT_PICTURE_SKELETON_ON,
    PELT_PICTURE_SKELETON_OFF
} pelt_picture_skeleton;

typedef enum pelt_picture_background {
    PELT_PICTURE_LIGHT,
    PELT_PICTURE_DARK,
    PELT_PICTURE_TRANSPARENT /* alpha 0 beside the model; the ground's shadow stays, as black with alpha */
} pelt_picture_background;

typedef struct pelt_picture_desc {
    uint32_t width, height; /* pixels, 1 to PELT_PICTURE_MAX_SIDE; default 1280 × 720 */
    uint32_t mode;          /* pelt_picture_mode; default SHADED */
    uint32_t second_mode;   /* 0 (default): none; else 1 + the pelt_picture_mode of a sheet's lower half of rows, or of
                             * its right half of columns when it has one row */
    const char *joint;      /* WEIGHTS: whose, by name or index; default NULL: the first bone's */
    const char *motion;     /* animation, by name or index, clips before motions; default NULL: the first */
    bool rest;              /* the rest pose instead of an animation; default false */
    uint32_t frame;         /* of a clip, or at `fps` after the start of a motion; default 0 */
    double fps;             /* of `frame` in motions; default 30 */
    double time;            /* seconds after the animation's start; −1 (default): `frame` says when */
    double yaw;             /* degrees the camera goes round the model, 0: in front (+z), default 30 */
    double pitch;           /* degrees it looks down from; −89 to 89, default 12 */
    double zoom;            /* 1 (default): just fits; 0.1 to 20 */
    bool fit_pose;          /* fit the drawn pose; false (default): everything the animation moves through */
    uint32_t up;            /* axis that points up: 0 (default) y, 1 z */
    uint32_t background;    /* pelt_picture_background; default LIGHT */
    uint32_t skeleton;      /* pelt_picture_skeleton; default AUTO */
    bool wireframe;         /* edges of the source polygons over the surface; default false */
    bool floating;          /* no ground, so no shadow on it; default false */
    uint32_t columns, rows; /* a sheet of columns · rows moments, evenly spread from the given time up to the end and
                             * without it, sharing the picture; 1 to 64, default 1 × 1 */
    uint32_t samples;       /* per pixel and direction, 1 to 4; default 2, that is 4 per pixel */
} pelt_picture_desc;

PELT_API const pelt_option *pelt_picture_options(size_t *option_count);
PELT_API pelt_picture_desc pelt_picture_desc_default(void);

/* Draws into `pixels` [height][width][4]: red, green, blue (sRGB), alpha (straight), rows from the top. On failure
 * the pixels are transparent black. Positions that are not finite are left out. `desc` may be NULL. */
PELT_API pelt_result pelt_picture_render(pelt_context *context, const pelt_model *model, const pelt_picture_desc *desc,
                                         uint8_t *pixels);
/* Draws into a PNG file, which appears only when complete. */
PELT_API pelt_result pelt_picture_save(pelt_context *context, const pelt_model *model, const pelt_picture_desc *desc,
                                       const char *path);

#ifdef __cplusplus
}
#endif

#endif
