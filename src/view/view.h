/* Inside the view room: what is drawn, the light that falls on it, the camera, and the picture.
 *
 * Everything is drawn in a space of its own: y up, the animation's bounds centred on 0 and about one unit in radius,
 * so that floats and fixed tolerances are enough for models of any size and place. Colours are linear RGB.
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

uint8_t px_color_encode(float linear);  /* to sRGB, rounded; clamps */
px_color px_color_decode(uint32_t rgb); /* from 0xRRGGBB in sRGB */
px_color px_color_mix(px_color a, px_color b, float u);
/* Categories far apart in hue for neighbouring indices, of similar strength. */
px_color px_color_category(uint32_t index);
px_color px_color_heat(float heat);   /* 0 to 1, lightness falls evenly */
px_color px_color_count(float count); /* 0 to 1, the same in blue */
px_color px_color_clay(void);

/* ---- Animations (animation.c) ----------------------------------------------------------------------------- */

/* Which animation is drawn. Neither: the rest pose. */
typedef struct px_animation {
    const pelt_clip *clip;
    const pelt_motion *motion;
    double start, end; /* seconds */
} px_animation;

pelt_result px_animation_find(pelt_context *context, const pelt_model *model, const pelt_picture_desc *desc,
                              px_animation *animation);
/* An animation of a model by its place, clips before motions; the rest pose behind the last. */
px_animation px_animation_at(const pelt_model *model, uint32_t index);
/* Frames of a clip, or of a motion at `fps`; 1: the rest pose. Seconds of a frame, the last one may lie behind the
 * end. */
uint32_t px_animation_frames(const px_animation *animation, double fps);
double px_animation_time(const px_animation *animation, double fps, uint32_t frame);
/* positions [vertex][3], and normals [vertex][3] unless NULL, at `time` seconds; clips: at the nearest frame. */
pelt_result px_animation_pose(pelt_context *context, const pelt_model *model, const px_animation *animation,
                              double time, float *positions, float *normals);
/* joints [joint][3] in the model's space. */
pelt_result px_animation_joints(pelt_context *context, const pelt_model *model, const px_animation *animation,
                                double time, float *joints);

/* ---- What is drawn, and what it is measured against (reference.c) ----------------------------------------- */

/* Where vertices should be, or were. */
typedef struct px_reference {
    const pelt_model *model;  /* NULL: there is none */
    px_animation animation;   /* what `model` plays */
    const uint32_t *vertices; /* [vertex of the drawn model] the vertex of `model`; NULL: of the same number */
    double max;               /* distance with the deepest colour */
} px_reference;

/* What all panels of a picture share. */
typedef struct px_shot {
    const pelt_model *model;
    const pelt_picture_desc *desc;
    px_animation animation; /* what `model` plays */
    px_reference source;    /* of mode ERROR */
    px_reference rest;      /* of mode DISPLACEMENT */
} px_shot;

/* Finds the animation and, for the modes that the picture has, the references. Arrays live in the arena. */
pelt_result px_shot_make(px_arena *arena, const pelt_model *model, const pelt_picture_desc *desc, px_shot *shot);
/* The reference of a mode, or NULL. */
const px_reference *px_shot_reference(const px_shot *shot, pelt_picture_mode mode);
/* Frames are those of the source where there is one, else of the drawn animation. Seconds are always the latter's. */
uint32_t px_shot_frame_count(const px_shot *shot);
double px_shot_time(const px_shot *shot, uint32_t frame);
/* distances [vertex] of positions [vertex][3], posed at `time`; NaN where a position is not finite. */
pelt_result px_reference_distances(pelt_context *context, const px_shot *shot, const px_reference *reference,
                                   double time, const float *positions, float *distances);

/* Whether the picture has this mode in any cell. */
bool px_picture_has(const pelt_picture_desc *desc, pelt_picture_mode mode);
/* Whether bones are all there is to draw. */
static inline bool px_is_skeleton(const pelt_model *model) {
    return model->mesh.triangle_count == 0 && model->skeleton.joint_count > 0;
}

/* ---- The scene (scene.c, bones.c) ------------------------------------------------------------------------- */

/* One moment of one model in its own space. Arrays live in the arena given to px_scene_make. */
typedef struct px_scene {
    uint32_t vertex_count, triangle_count;
    const uint32_t *triangles; /* [triangle][3] the mesh's */
    float *positions;          /* [vertex][3] drawing space; not finite: not drawn */
    float *normals;            /* [vertex][3] about unit length */
    float *colors;             /* [vertex][3] */
    float *triangle_colors;    /* [triangle][3], used instead, or NULL */
    uint8_t *edges;            /* [triangle] bit c: the edge from corner c to the next is one of the source polygon */
    float (*light)[3];         /* [vertex] seen part of the sky in front and behind, seen part of the key light */
    uint32_t joint_count;
    float *joints;           /* [joint][3] drawing space */
    uint32_t *joint_parents; /* [joint] the nearest shown joint above, or PELT_NONE */
    uint32_t *joint_numbers; /* [joint] place among the shown joints, or PELT_NONE: not shown */
    float low[3], high[3];   /* box of this pose, drawing space; all 0 when there is nothing */
} px_scene;

/* From the model's space to drawing space. */
typedef struct px_frame {
    double center[3], scale; /* drawing = (position − center) / scale */
    float ground;            /* height under everything, drawing space */
} px_frame;

/* Makes the surface, the skeleton and their colours. Light is left for px_light_scene. */
pelt_result px_scene_make(px_arena *arena, const px_shot *shot, double time, pelt_picture_mode mode,
                          const px_frame *frame, px_scene *scene);
/* Makes the surface of a scene whose skeleton is there already out of its bones. */
pelt_result px_scene_bones(px_arena *arena, pelt_picture_mode mode, px_scene *scene);
void px_scene_color(float *colors, size_t index, px_color color);
/* The joint that mode WEIGHTS shows. */
pelt_result px_view_joint(pelt_context *context, const pelt_model *model, const char *text, uint32_t *joint);
/* Sets low and high. */
void px_scene_bounds(px_scene *scene);
/* Moves and scales one position. */
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
    float focal;                               /* pixels: x = focal · right·p / forward·p from the centre */
    float x, y;                                /* the centre, pixels from the picture's left and top */
} px_camera;

/* Fits the poses at all times [time_count] into a cell of width × height pixels whose corner is at 0, 0. */
pelt_result px_camera_fit(pelt_context *context, const px_shot *shot, const double *times, uint32_t time_count,
                          uint32_t width, uint32_t height, px_frame *frame, px_camera *camera);

/* ---- Triangles into depth (fill.c) ------------------------------------------------------------------------ */

#define PX_SUBPIXEL    256 /* positions are rounded to this part of a pixel, so that neighbours share edges */
#define PX_MAX_SAMPLES 16

/* A corner: place in 1/PX_SUBPIXEL pixels and a depth that is linear over the picture, larger is nearer. */
typedef struct px_screen_corner {
    int32_t x, y;
    float depth;
} px_screen_corner;

/* Rows [first_row, first_row + row_count) of a picture. Arrays [row][column][sample]. */
typedef struct px_tile {
    int32_t width, first_row, row_count, sample_count;
    int32_t sample_x[PX_MAX_SAMPLES], sample_y[PX_MAX_SAMPLES]; /* in a pixel, 1/PX_SUBPIXEL pixels */
    float *near_depth;                                          /* largest depth so far */
    float *far_depth;                                           /* smallest, or NULL */
    uint32_t *ids;                                              /* of the nearest; first one on equal depth; or NULL */
} px_tile;

/* A pattern of side² samples with no two on one line. */
void px_tile_pattern(px_tile *tile, uint32_t side);
void px_tile_fill(px_tile *tile, const px_screen_corner *a, const px_screen_corner *b, const px_screen_corner *c,
                  uint32_t id);

/* ---- Light (light.c) -------------------------------------------------------------------------------------- */

#define PX_GROUND_SIDE 192

/* How much light reaches the ground round the model. */
typedef struct px_ground {
    float x, z, half, height; /* a square: centre and half side; its height */
    float (*light)[3];        /* [z cell][x cell] seen part of the sky, of the key light, and of the sky unsoftened */
} px_ground;

/* Direction to the key light for a camera. */
void px_light_key(const px_camera *camera, float key[3]);
/* Fills scene->light and, unless NULL, the ground: its height is given, the rest is set. Deterministic for any thread
 * count. */
pelt_result px_light_scene(px_arena *arena, px_scene *scene, const float key[3], px_ground *ground);

/* ---- The picture (raster.c, overlay.c, png.c) ------------------------------------------------------------- */

/* A cell of the picture with what is drawn in it. */
typedef struct px_panel {
    const px_scene *scene;
    const px_ground *ground; /* NULL: none */
    const px_camera *camera; /* its centre counts from the cell's corner */
    const pelt_picture_desc *desc;
    float key[3];
    bool skeleton;
    uint32_t x, y, width, height; /* the cell */
    uint8_t *pixels;              /* the whole picture */
} px_panel;

pelt_result px_panel_draw(px_arena *arena, const px_panel *panel);

/* Draws the skeleton over rows [first_row, first_row + row_count) of premultiplied RGBA [row][width]. */
typedef struct px_overlay px_overlay;
pelt_result px_overlay_make(px_arena *arena, const px_panel *panel, const px_overlay **overlay);
void px_overlay_draw(const px_overlay *overlay, uint32_t first_row, uint32_t row_count, float (*rows)[4]);

/* Where the camera sees p: x, y in pixels of the cell, and 1 / distance along the view. False: behind it. */
static inline bool px_camera_project(const px_camera *camera, const float p[3], double out[3]) {
    double d[3] = {(double)p[0] - camera->eye[0], (double)p[1] - camera->eye[1], (double)p[2] - camera->eye[2]};
    double depth = camera->forward[0] * d[0] + camera->forward[1] * d[1] + camera->forward[2] * d[2];
    if (!(depth > 1e-4)) /* also NaN; the fit keeps the whole animation much further away */
        return false;
    out[2] = 1 / depth;
    out[0] = camera->x +
             camera->focal * out[2] * (camera->right[0] * d[0] + camera->right[1] * d[1] + camera->right[2] * d[2]);
    out[1] = camera->y - camera->focal * out[2] * (camera->up[0] * d[0] + camera->up[1] * d[1] + camera->up[2] * d[2]);
    return true;
}

/* ---- Words on pictures (text.c, legend.c) ----------------------------------------------------------------- */

#define PX_TEXT_ADVANCE 6 /* of a letter, in its own dots … */
#define PX_TEXT_HEIGHT  7 /* … and its height, without the space between lines */

/* RGBA [height][width][4], straight alpha. */
typedef struct px_canvas {
    uint32_t width, height;
    uint8_t *pixels;
} px_canvas;

/* Covers a rectangle, clipped to the canvas. */
void px_canvas_rect(const px_canvas *canvas, int64_t x, int64_t y, int64_t width, int64_t height, const uint8_t rgb[3],
                    float alpha);
/* Writes from the left upper corner of the first letter; a dot is `dot` pixels large. Everything but printable ASCII
 * shows as a box, one for each character of UTF-8. */
void px_canvas_text(const px_canvas *canvas, int64_t x, int64_t y, uint32_t dot, const uint8_t rgb[3],
                    const char *text);
/* Dots that a text is wide, without the space behind its last letter. */
uint32_t px_text_width(const char *text);

/* Rows that the legends take at the bottom of the picture; 0: there is none. */
uint32_t px_legend_height(const pelt_picture_desc *desc);
pelt_result px_legend_draw(pelt_context *context, const px_shot *shot, const px_canvas *canvas);
/* A cell's label, in its left upper corner. */
void px_label_draw(const pelt_picture_desc *desc, const px_canvas *canvas, uint32_t x, uint32_t y, const char *text);

/* RGBA [height][width][4] to a PNG file. */
pelt_result px_png_write(pelt_context *context, const char *path, uint32_t width, uint32_t height,
                         const uint8_t *pixels);

#endif
