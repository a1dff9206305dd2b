/* Internal declarations of the view module: animations, scenes, camera, light, and the picture.
 *
 * The renderer works in drawing space: y up, the animation's bounds centred on 0 with a radius of about one unit.
 * Floats and fixed tolerances therefore suffice for models of any size and position. Colours are linear RGB.
 */
#ifndef PELT_VIEW_VIEW_H
#define PELT_VIEW_VIEW_H

#include "core/core.h"
#include "core/math3.h"
#include <pelt/run.h>
#include <pelt/view.h>

/* ---- Colours (colors.c) ----------------------------------------------------------------------------------- */

typedef struct px_color {
    float r, g, b;
} px_color;

uint8_t px_color_encode(float linear);  /* to sRGB 0…255, rounded and clamped */
px_color px_color_decode(uint32_t rgb); /* from 0xRRGGBB in sRGB */
px_color px_color_mix(px_color a, px_color b, float u);
/* Colours for categories: consecutive indices are far apart in hue and have similar chroma. */
px_color px_color_category(uint32_t index);
px_color px_color_heat(float heat);   /* colour map for heat 0 to 1; the lightness falls monotonically */
px_color px_color_count(float count); /* the same for 0 to 1, in blue */
px_color px_color_clay(void);

/* ---- Animations (animation.c) ----------------------------------------------------------------------------- */

/* The animation to draw. Both pointers NULL: the rest pose. */
typedef struct px_animation {
    const pelt_clip *clip;
    const pelt_motion *motion;
    double start, end; /* seconds */
} px_animation;

/* The animation that the settings name, else the first. `motions_only`: clips do not count. */
pelt_result px_animation_find(pelt_context *context, const pelt_model *model, const pelt_picture_desc *desc,
                              bool motions_only, px_animation *animation);
/* The animation of a model by index, clips before motions. Index out of range: the rest pose. */
px_animation px_animation_at(const pelt_model *model, uint32_t index);
/* The number of frames of a clip, or of a motion sampled at `fps`; 1 for the rest pose. The time of a frame, in
 * seconds. */
uint32_t px_animation_frames(const px_animation *animation, double fps);
double px_animation_time(const px_animation *animation, double fps, uint32_t frame);
/* positions [vertex][3], and normals [vertex][3] unless NULL, at `time` seconds. Clips use the nearest frame. */
pelt_result px_animation_pose(pelt_context *context, const pelt_model *model, const px_animation *animation,
                              double time, float *positions, float *normals);
/* joints [joint][3] in model space. */
pelt_result px_animation_joints(pelt_context *context, const pelt_model *model, const px_animation *animation,
                                double time, float *joints);

/* ---- The drawn animation and its reference (reference.c) -------------------------------------------------- */

/* The reference that vertex distances are measured against: the source animation, or the rest pose. */
typedef struct px_reference {
    const pelt_model *model;  /* NULL: no reference */
    px_animation animation;   /* the animation of `model` */
    const uint32_t *vertices; /* [vertex of the drawn model] vertex of `model`; NULL: the same index */
    double max;               /* distance at the end of the colour map, in model units */
} px_reference;

/* Data that all panels of a picture share. */
typedef struct px_shot {
    const pelt_model *model;
    const pelt_picture_desc *desc;
    px_animation animation; /* the animation of `model` */
    px_reference source;    /* for mode ERROR */
    px_reference rest;      /* for mode DISPLACEMENT */
} px_shot;

/* Finds the animation and the references that the picture's modes need. Arrays live in the arena. */
pelt_result px_shot_make(px_arena *arena, const pelt_model *model, const pelt_picture_desc *desc, px_shot *shot);
/* The reference of a mode, or NULL. */
const px_reference *px_shot_reference(const px_shot *shot, pelt_picture_mode mode);
/* Frames are those of the source if there is one, else those of the drawn animation. Times are always in seconds of the
 * drawn animation. */
uint32_t px_shot_frame_count(const px_shot *shot);
double px_shot_time(const px_shot *shot, uint32_t frame);
/* distances [vertex] of positions [vertex][3], posed at `time`, from the reference. NaN if a position is not finite. */
pelt_result px_reference_distances(pelt_context *context, const px_shot *shot, const px_reference *reference,
                                   double time, const float *positions, float *distances);

/* Whether any cell of the picture has this mode. */
bool px_picture_has(const pelt_picture_desc *desc, pelt_picture_mode mode);
/* Whether the model has joints but no triangles. */
static inline bool px_is_skeleton(const pelt_model *model) {
    return model->mesh.triangle_count == 0 && model->skeleton.joint_count > 0;
}

/* ---- The scene (scene.c, bones.c) ------------------------------------------------------------------------- */

/* One pose of a model, in drawing space. Arrays live in the arena given to px_scene_make. */
typedef struct px_scene {
    uint32_t vertex_count, triangle_count;
    const uint32_t *triangles; /* [triangle][3] of the mesh */
    float *positions;          /* [vertex][3] drawing space; vertices that are not finite are not drawn */
    float *normals;            /* [vertex][3] approximately unit length */
    float *colors;             /* [vertex][3] */
    float *triangle_colors;    /* [triangle][3], replaces `colors`; NULL: use `colors` */
    uint8_t *edges;            /* [triangle] bit c: the edge from corner c to the next is a source polygon edge */
    float (*light)[3];         /* [vertex] visible fraction of the sky in front, of the sky behind, of the key light */
    uint32_t joint_count;
    float *joints;           /* [joint][3] drawing space */
    uint32_t *joint_parents; /* [joint] nearest shown ancestor, or PELT_NONE */
    uint32_t *joint_numbers; /* [joint] index among the shown joints; PELT_NONE: not shown */
    float low[3], high[3];   /* bounding box of this pose, drawing space; all 0 if it is empty */
} px_scene;

/* The transform from model space to drawing space. */
typedef struct px_frame {
    double center[3], scale; /* drawing = (position − center) / scale */
    float ground;            /* lowest y of all poses, drawing space */
} px_frame;

/* Makes the surface, the skeleton and their colours. px_light_scene computes the light. */
pelt_result px_scene_make(px_arena *arena, const px_shot *shot, double time, pelt_picture_mode mode,
                          const px_frame *frame, px_scene *scene);
/* Makes a surface from the bones of a scene whose skeleton is already set. */
pelt_result px_scene_bones(px_arena *arena, pelt_picture_mode mode, px_scene *scene);
void px_scene_color(float *colors, size_t index, px_color color);
/* Finds the joint that mode WEIGHTS shows. */
pelt_result px_view_joint(pelt_context *context, const pelt_model *model, const char *text, uint32_t *joint);
/* Computes low and high. */
void px_scene_bounds(px_scene *scene);
/* Transforms one position to drawing space. */
static inline void px_frame_apply(const px_frame *frame, const float p[3], float out[3]) {
    for (int c = 0; c < 3; c++)
        out[c] = (float)(((double)p[c] - frame->center[c]) / frame->scale);
}
static inline bool px_finite3(const float p[3]) {
    return isfinite(p[0]) && isfinite(p[1]) && isfinite(p[2]);
}

/* ---- The camera (camera.c) -------------------------------------------------------------------------------- */

typedef struct px_camera {
    float eye[3], right[3], up[3], forward[3]; /* drawing space, unit vectors */
    float focal;                               /* pixels: x offset from the centre = focal · right·p / forward·p */
    float x, y;                                /* centre of the view, pixels from the left and top */
} px_camera;

/* Fits the poses at all times [time_count] into a cell of width × height pixels with its corner at (0, 0). */
pelt_result px_camera_fit(pelt_context *context, const px_shot *shot, const double *times, uint32_t time_count,
                          uint32_t width, uint32_t height, px_frame *frame, px_camera *camera);

/* ---- Triangle rasterizer with depth buffer (fill.c) ------------------------------------------------------- */

#define PX_SUBPIXEL    256 /* positions are rounded to this fraction of a pixel, so that neighbours share edges */
#define PX_MAX_SAMPLES 16

/* A projected corner: position in 1/PX_SUBPIXEL pixels, and a depth that is linear in screen space; larger is nearer.
 */
typedef struct px_screen_corner {
    int32_t x, y;
    float depth;
} px_screen_corner;

/* Rows [first_row, first_row + row_count) of a picture. Arrays [row][column][sample]. */
typedef struct px_tile {
    int32_t width, first_row, row_count, sample_count;
    int32_t sample_x[PX_MAX_SAMPLES], sample_y[PX_MAX_SAMPLES]; /* position in the pixel, 1/PX_SUBPIXEL pixels */
    float *near_depth;                                          /* largest depth so far */
    float *far_depth;                                           /* smallest depth so far; NULL: not needed */
    uint32_t *ids;                                              /* nearest, the first on equal depth; NULL: not used */
} px_tile;

/* Sets a pattern of side² samples, no two in the same subpixel row or column. */
void px_tile_pattern(px_tile *tile, uint32_t side);
void px_tile_fill(px_tile *tile, const px_screen_corner *a, const px_screen_corner *b, const px_screen_corner *c,
                  uint32_t id);

/* ---- Light (light.c) -------------------------------------------------------------------------------------- */

#define PX_GROUND_SIDE 192

/* Light that reaches the ground around the model. */
typedef struct px_ground {
    float x, z, half, height; /* a square: centre, half side length, height (y) */
    float (*light)[3];        /* [z cell][x cell] visible fraction of the sky, the key light, the sky less blurred */
} px_ground;

/* Unit vector to the key light, relative to the camera. */
void px_light_key(const px_camera *camera, float key[3]);
/* Computes scene->light and, unless NULL, the ground: its height is input, the other fields are output. The result does
 * not depend on the thread count. */
pelt_result px_light_scene(px_arena *arena, px_scene *scene, const float key[3], px_ground *ground);

/* ---- The picture (raster.c, overlay.c, png.c) ------------------------------------------------------------- */

/* A cell of the picture and the scene that is drawn in it. */
typedef struct px_panel {
    const px_scene *scene;
    const px_ground *ground; /* NULL: none */
    const px_camera *camera; /* its centre is relative to the cell's corner */
    const pelt_picture_desc *desc;
    float key[3];
    bool skeleton;
    uint32_t x, y, width, height; /* the cell's rectangle in the picture, pixels */
    uint8_t *pixels;              /* of the whole picture */
} px_panel;

pelt_result px_panel_draw(px_arena *arena, const px_panel *panel);

/* Skeleton overlay: draws the skeleton over rows [first_row, first_row + row_count) of premultiplied RGBA [row][width].
 */
typedef struct px_overlay px_overlay;
pelt_result px_overlay_make(px_arena *arena, const px_panel *panel, const px_overlay **overlay);
void px_overlay_draw(const px_overlay *overlay, uint32_t first_row, uint32_t row_count, float (*rows)[4]);

/* Projects p: x, y in pixels of the cell, and 1 / distance along the view direction. Returns false if p is behind the
 * camera. */
static inline bool px_camera_project(const px_camera *camera, const float p[3], double out[3]) {
    double d[3] = {(double)p[0] - camera->eye[0], (double)p[1] - camera->eye[1], (double)p[2] - camera->eye[2]};
    double depth = camera->forward[0] * d[0] + camera->forward[1] * d[1] + camera->forward[2] * d[2];
    if (!(depth > 1e-4)) /* also NaN; px_camera_fit keeps the whole animation much further away */
        return false;
    out[2] = 1 / depth;
    out[0] = camera->x +
             camera->focal * out[2] * (camera->right[0] * d[0] + camera->right[1] * d[1] + camera->right[2] * d[2]);
    out[1] = camera->y - camera->focal * out[2] * (camera->up[0] * d[0] + camera->up[1] * d[1] + camera->up[2] * d[2]);
    return true;
}

/* ---- Text on pictures (text.c, legend.c) ------------------------------------------------------------------ */

#define PX_TEXT_ADVANCE 6 /* width of a letter with its spacing, in dots */
#define PX_TEXT_HEIGHT  7 /* height of a letter without line spacing, in dots */

/* RGBA [height][width][4], straight alpha. */
typedef struct px_canvas {
    uint32_t width, height;
    uint8_t *pixels;
} px_canvas;

/* Blends a rectangle over the canvas, clipped to the canvas. */
void px_canvas_rect(const px_canvas *canvas, int64_t x, int64_t y, int64_t width, int64_t height, const uint8_t rgb[3],
                    float alpha);
/* Draws text; (x, y) is the upper left corner of the first letter. A dot is `dot` pixels large. Characters other than
 * printable ASCII show as a box, one per UTF-8 character. */
void px_canvas_text(const px_canvas *canvas, int64_t x, int64_t y, uint32_t dot, const uint8_t rgb[3],
                    const char *text);
/* Width of a text in dots, without the space after its last letter. */
uint32_t px_text_width(const char *text);

/* Height of the legends at the bottom of the picture, in pixels; 0: no legend. */
uint32_t px_legend_height(const pelt_picture_desc *desc);
pelt_result px_legend_draw(pelt_context *context, const px_shot *shot, const px_canvas *canvas);
/* Draws a cell's label in its upper left corner. */
void px_label_draw(const pelt_picture_desc *desc, const px_canvas *canvas, uint32_t x, uint32_t y, const char *text);

/* Writes RGBA [height][width][4] to a PNG file. */
pelt_result px_png_write(pelt_context *context, const char *path, uint32_t width, uint32_t height,
                         const uint8_t *pixels);

#endif
