/* Pelt: pictures and pages. Pictures are drawn in software: the same model and settings give the same pixels on one
 * machine, for any number of threads. A page is one HTML file that shows a model and a report.
 */
#ifndef PELT_VIEW_H
#define PELT_VIEW_H

#include <pelt/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Pictures --------------------------------------------------------------------------------------------- */

#define PELT_PICTURE_MAX_SIDE 16384u

/* Colour mode. */
typedef enum pelt_picture_mode {
    PELT_PICTURE_SHADED,     /* one neutral material */
    PELT_PICTURE_BONES,      /* a colour per bone, blended by the skin's weights; the skeleton's bones match */
    PELT_PICTURE_WEIGHTS,    /* the weight of one joint, from pale (0) to deep plum (1) */
    PELT_PICTURE_INFLUENCES, /* bones per vertex, from pale (1) to deep blue (8) */
    PELT_PICTURE_PARTS,      /* a colour per part */
    /* Distances in object units, from pale (0) to deep plum (`max`). */
    PELT_PICTURE_ERROR,        /* from the vertex of the source at the same time */
    PELT_PICTURE_DISPLACEMENT, /* from the rest pose */
    PELT_PICTURE_COLORS,       /* the mesh's own colours, morphed */
    PELT_PICTURE_MORPH,        /* displacement of one morph target: x, y, z as red, green, blue, grey at 0 */
    PELT_PICTURE_SUPPORT,      /* vertices that the morph targets driven by one joint displace */
    PELT_PICTURE_MODE_COUNT
} pelt_picture_mode;

/* Whether the skeleton is drawn over the mesh. */
typedef enum pelt_picture_skeleton {
    PELT_PICTURE_SKELETON_AUTO, /* drawn in modes BONES and WEIGHTS */
    PELT_PICTURE_SKELETON_ON,
    PELT_PICTURE_SKELETON_OFF
} pelt_picture_skeleton;

/* Background of a picture. */
typedef enum pelt_picture_background {
    PELT_PICTURE_LIGHT,
    PELT_PICTURE_DARK,
    PELT_PICTURE_TRANSPARENT /* alpha 0 beside the model; the shadow on the ground is black with alpha */
} pelt_picture_background;

typedef struct pelt_picture_desc {
    uint32_t cookie;        /* set by pelt_picture_desc_default; do not change */
    uint32_t width, height; /* pixels, 1 to PELT_PICTURE_MAX_SIDE; default 1280 × 720 */
    uint32_t mode;          /* pelt_picture_mode; default SHADED */
    /* 0 (default): none; else 1 + the pelt_picture_mode of a sheet's lower half of rows, or of its right half of
     * columns when it has one row */
    uint32_t second_mode;
    const char *joint;        /* WEIGHTS, SUPPORT: joint, by name or index; default NULL: that of the first bone */
    const char *morph;        /* MORPH: morph target, by name or index; default NULL: the first */
    const pelt_model *source; /* ERROR: reference model, see below; default NULL: the model's own clips */
    /* ERROR, DISPLACEMENT: distance of the darkest colour, object units; 0 (default): the largest of all frames, so
     * that pictures of one animation match */
    double max;
    const char *motion;  /* animation, by name or index, clips before motions; default NULL: the first */
    bool rest;           /* draw the rest pose instead of an animation; default false */
    uint32_t frame;      /* of a clip, or at `fps` after the start of a motion; default 0. ERROR: of the source */
    double fps;          /* of `frame` in motions; default 30 */
    double time;         /* seconds after the animation's start; −1 (default): use `frame` */
    double yaw;          /* angle of the camera around the model, degrees; 0: front (+z); default 30 */
    double pitch;        /* elevation of the camera, degrees, −89 to 89; default 12 */
    double zoom;         /* magnification, 0.1 to 20; 1 (default): the animation fits */
    bool fit_pose;       /* fit the camera to the drawn pose; false (default): to the whole animation */
    uint32_t background; /* pelt_picture_background; default LIGHT */
    uint32_t skeleton;   /* pelt_picture_skeleton; default AUTO */
    bool wireframe;      /* edges of the source polygons over the surface; default false */
    bool floating;       /* draw no ground and no shadow; default false */
    bool no_legend;      /* no colour bar in modes with a scale (small pictures never have one); default false */
    bool labels;         /* label cells with frame numbers, or with times where cells are spread; default false */
    /* cells of a sheet, evenly spread in time from the given time to the end, which is excluded; 1 to 64, default 1
     * × 1 */
    uint32_t columns, rows;
    uint32_t frame_step;  /* 0 (default): spread; else cells show frame, frame + step, frame + 2 · step … */
    uint32_t frame_count; /* … this many; other cells stay empty; 0 (default): as many as fit */
    uint32_t samples;     /* samples per pixel along each axis, 1 to 4; default 2: 4 per pixel */
} pelt_picture_desc;

PELT_API const pelt_option_table *pelt_picture_options(void);
PELT_API pelt_picture_desc pelt_picture_desc_default(void);

/* A model with joints and no triangles is drawn as its bones.
 *
 * Mode ERROR measures a motion of the model against the clip, or else the motion, of the source with the same name, or
 * of the same index, or else the first; at the same time after the start. The source must have the model's vertices in
 * the model's order (or all of them again for every part, as in glTF files), or as many points. Without a source, the
 * model's own clips are used: those that pelt_decompose leaves in it, or a cache that was read with a rig. */

/* Facts about a picture. */
typedef struct pelt_picture_facts {
    /* of the drawn animation (at `fps` where it is a motion), in mode ERROR of the source; 1: the rest pose */
    uint32_t frame_count;
    double max; /* the value that `max` 0 selects; 0 in modes that show no distance */
} pelt_picture_facts;

/* Computes the facts about a picture without drawing it. `desc` may be NULL. */
PELT_API pelt_result pelt_picture_measure(pelt_context *context, const pelt_model *model, const pelt_picture_desc *desc,
                                          pelt_picture_facts *facts);

/* Draws into `pixels` [height][width][4]: red, green, blue (sRGB), alpha (straight), rows from the top. On failure
 * the pixels are transparent black. Positions that are not finite are left out. `desc` may be NULL. */
PELT_API pelt_result pelt_picture_render(pelt_context *context, const pelt_model *model, const pelt_picture_desc *desc,
                                         uint8_t *pixels);
/* Draws into a PNG file, which appears only when complete. */
PELT_API pelt_result pelt_picture_save(pelt_context *context, const pelt_model *model, const pelt_picture_desc *desc,
                                       const char *path);

/* Writes pixels [height][width][4] (red, green, blue, straight alpha; rows from the top) to a PNG file, which appears only
 * when complete. */
PELT_API pelt_result pelt_image_save(pelt_context *context, const char *path, uint32_t width, uint32_t height,
                                     const uint8_t *pixels);

/* The brightness of a PNG picture, 0 (black) to 1 (white) as it was painted, at places `uvs` [count][2]: v upwards,
 * repeating outside 0 to 1, blended between pixels; alpha is ignored. out [count]; NaN where a place is not
 * finite. On failure `out` is as it was. */
PELT_API pelt_result pelt_image_luminance(pelt_context *context, const char *path, const float *uvs, size_t count,
                                          float *out);

/* ---- Page ------------------------------------------------------------------------------------------------- */

/* Cubes of one size in the space of the rest pose: the voxels of pelt_bind. */
typedef struct pelt_page_voxels {
    const float *centers; /* [count][3] */
    uint32_t count;       /* 0 (default): none */
    float size;           /* length of an edge, object units */
} pelt_page_voxels;

/* Points and edges in the space of the rest pose: the lattice of pelt_jiggle. */
typedef struct pelt_page_lattice {
    const float *positions; /* [point_count][3] */
    uint32_t point_count;   /* number of points */
    const uint32_t *edges;  /* [edge_count][2] points */
    uint32_t edge_count;    /* 0 (default): none */
    /* [pelt_page_desc.clip_count] the points in the frames of each clip; NULL (default): the rest pose only */
    const pelt_clip *clips;
} pelt_page_lattice;

typedef struct pelt_page_desc {
    uint32_t cookie;   /* set by pelt_page_desc_default; do not change */
    const char *title; /* NULL (default): the file name of the model */
    double fps;        /* frames per second of motions that belong to no clip; default 30 */
    /* [clip_count] source clips to show beside the model and compare with, of the model's points */
    const pelt_clip *clips;
    uint32_t clip_count; /* default 0 */
    /* [clip_count] the model's motion that plays the clip, or PELT_NONE; NULL (default): the motion of the same
     * name, else the one in the same place */
    const uint32_t *motions;
    const char *report;        /* JSON object with figures to show, in the form of docs/page.md; NULL (default): none */
    pelt_page_voxels voxels;   /* drawn on demand; default none */
    pelt_page_lattice lattice; /* drawn on demand; default none */
} pelt_page_desc;
PELT_API const pelt_option_table *pelt_page_options(void);
PELT_API pelt_page_desc pelt_page_desc_default(void);

/* False in a library that was built without pages: pelt_page_save then fails with PELT_ERROR_UNSUPPORTED. */
PELT_API bool pelt_page_supported(void);
/* Writes one HTML file that needs neither server nor network; it appears only when complete. It contains the model as
 * GLB, and frames of clips as floats, or as 16-bit numbers when they are more than 32 MB (off by at most 1/131,070 of the
 * frame's box). `desc` may be NULL. */
PELT_API pelt_result pelt_page_save(pelt_context *context, const pelt_model *model, const pelt_page_desc *desc,
                                    const char *path);

/* Writes a copy of the studio (docs/studio.md) that opens with files. `page`: path of studio.html, as `make studio` builds it. `files`
 * [file_count]: paths; a pattern or folder stands for all its files, a .gltf file brings what it refers to; NULL with 0. Fails with
 * PELT_ERROR_INPUT when the page is no studio or a file cannot be read; with PELT_ERROR_UNSUPPORTED when the files have more than 384 MB.
 * After a failure an existing file is as it was. */
PELT_API pelt_result pelt_studio_save(pelt_context *context, const char *page, const char *const *files,
                                      size_t file_count, const char *path);

#ifdef __cplusplus
}
#endif

#endif
