/* Pictures: settings, the times of a contact sheet, and the drawing of its panels. */
#include "view/view.h"

#include <stdio.h>

#define FIT_TIMES 13u /* sample times of an animation for the camera fit, besides the drawn times */

#define MODES       "shaded|bones|weights|influences|parts|error|displacement|colors|morph|support"
#define FIELD(name) PELT_FIELD(pelt_picture_desc, name)
static const pelt_option options[] = {
    {"width", 0, PELT_OPTION_UINT, FIELD(width), "1280", 1, PELT_PICTURE_MAX_SIDE, NULL, "PIXELS",
     "width of the picture"},
    {"height", 0, PELT_OPTION_UINT, FIELD(height), "720", 1, PELT_PICTURE_MAX_SIDE, NULL, "PIXELS",
     "height of the picture"},
    {"mode", 0, PELT_OPTION_CHOICE, FIELD(mode), "shaded", 0, 0, MODES, NULL, "what the colours show"},
    {"second-mode", 0, PELT_OPTION_CHOICE, FIELD(second_mode), "none", 0, 0, "none|" MODES, NULL,
     "mode of a sheet's lower rows, or of its right columns when it has one row"},
    {"joint", 0, PELT_OPTION_TEXT, FIELD(joint), NULL, 0, 0, NULL, "NAME|INDEX",
     "joint whose weights mode weights shows, or whose driven morph targets mode support; default the first bone"},
    {"morph", 0, PELT_OPTION_TEXT, FIELD(morph), NULL, 0, 0, NULL, "NAME|INDEX",
     "morph target that mode morph shows; default the first"},
    {"max", 0, PELT_OPTION_REAL, FIELD(max), "0", 0, 1e30, NULL, "UNITS",
     "distance of the darkest colour in modes error and displacement; 0: the largest of all frames"},
    {"motion", 0, PELT_OPTION_TEXT, FIELD(motion), NULL, 0, 0, NULL, "NAME|INDEX",
     "animation to draw; default the first"},
    {"rest", 0, PELT_OPTION_FLAG, FIELD(rest), NULL, 0, 0, NULL, NULL, "draw the rest pose"},
    {"frame", 0, PELT_OPTION_UINT, FIELD(frame), "0", 0, 4294967294.0, NULL, "N", "frame to draw, from 0"},
    {"fps", 0, PELT_OPTION_REAL, FIELD(fps), "30", 0.001, 100000, NULL, "N",
     "frame rate of --frame, and of inputs that store none"},
    {"time", 0, PELT_OPTION_REAL, FIELD(time), "-1", -1, 1e9, NULL, "SECONDS",
     "time to draw, from the start; -1: use --frame"},
    {"yaw", 0, PELT_OPTION_REAL, FIELD(yaw), "30", -3600, 3600, NULL, "DEGREES",
     "angle of the camera around the model; 0: front"},
    {"pitch", 0, PELT_OPTION_REAL, FIELD(pitch), "12", -89, 89, NULL, "DEGREES", "elevation of the camera"},
    {"zoom", 0, PELT_OPTION_REAL, FIELD(zoom), "1", 0.1, 20, NULL, "FACTOR",
     "magnification; 1: the whole animation fits"},
    {"fit-pose", 0, PELT_OPTION_FLAG, FIELD(fit_pose), NULL, 0, 0, NULL, NULL,
     "fit the camera to the drawn pose, not to the whole animation"},
    {"background", 0, PELT_OPTION_CHOICE, FIELD(background), "light", 0, 0, "light|dark|transparent", NULL,
     "background colour"},
    {"skeleton", 0, PELT_OPTION_CHOICE, FIELD(skeleton), "auto", 0, 0, "auto|on|off", NULL,
     "draw the skeleton over the mesh; auto: in modes bones and weights"},
    {"wireframe", 0, PELT_OPTION_FLAG, FIELD(wireframe), NULL, 0, 0, NULL, NULL, "draw edges over the surface"},
    {"floating", 0, PELT_OPTION_FLAG, FIELD(floating), NULL, 0, 0, NULL, NULL, "draw no ground and no shadow"},
    {"no-legend", 0, PELT_OPTION_FLAG, FIELD(no_legend), NULL, 0, 0, NULL, NULL, "draw no colour bar"},
    {"labels", 0, PELT_OPTION_FLAG, FIELD(labels), NULL, 0, 0, NULL, NULL, "label cells with frame numbers or times"},
    {"columns", 0, PELT_OPTION_UINT, FIELD(columns), "1", 1, 64, NULL, "N", "cells side by side"},
    {"rows", 0, PELT_OPTION_UINT, FIELD(rows), "1", 1, 64, NULL, "N", "cells below each other"},
    {"samples", 0, PELT_OPTION_UINT, FIELD(samples), "2", 1, 4, NULL, "N", "samples per pixel along each axis"},
};

PX_DESC(picture, options)

/* ---- Checks and times ------------------------------------------------------------------------------------- */

static pelt_result check(pelt_context *context, const pelt_picture_desc *desc) {
    PX_TRY(pelt_options_check(context, pelt_picture_options(), desc));
    if (desc->columns > desc->width || desc->rows > desc->height)
        return px_fail(context, PELT_ERROR_USAGE, "picture: %u × %u pixels are too few for a sheet of %u × %u",
                       desc->width, desc->height, desc->columns, desc->rows);
    return PELT_OK;
}

/* ---- Times ------------------------------------------------------------------------------------------------ */

typedef struct sheet {
    pelt_context *context;
    px_shot shot;
    double times[64 * 64 + FIT_TIMES]; /* [time] of the panels, then of the camera fit */
    uint32_t panel_count;              /* cells that are not empty */
    uint32_t time_count;
    uint8_t *pixels;
} sheet;

static pelt_result frame_time(const sheet *s, uint64_t frame, double *time) {
    uint32_t count = px_shot_frame_count(&s->shot);
    if (frame >= count)
        return px_fail(s->context, PELT_ERROR_USAGE, "there is no frame %llu: the animation has %u",
                       (unsigned long long)frame, count);
    *time = px_shot_time(&s->shot, (uint32_t)frame);
    return PELT_OK;
}

/* Time of the first panel, in seconds. */
static pelt_result start_time(const sheet *s, double *time) {
    const px_animation *animation = &s->shot.animation;
    *time = animation->start;
    if (!animation->clip && !animation->motion)
        return PELT_OK;
    if (s->shot.desc->time < 0)
        return frame_time(s, s->shot.desc->frame, time);
    *time += s->shot.desc->time;
    if (*time > animation->end + 1e-6 * (1 + fabs(animation->end)))
        return px_fail(s->context, PELT_ERROR_USAGE, "%g s is behind the end: the animation lasts %g s",
                       *time - animation->start, animation->end - animation->start);
    return PELT_OK;
}

/* Panel times: every frame_step-th frame. */
static pelt_result step_times(sheet *s) {
    const pelt_picture_desc *desc = s->shot.desc;
    uint32_t count = px_shot_frame_count(&s->shot), step = desc->frame_step, cells = desc->columns * desc->rows;
    uint32_t rest = desc->frame < count ? 1 + (count - 1 - desc->frame) / step : 1;
    uint32_t wanted = desc->frame_count > 0 ? desc->frame_count : rest;
    s->panel_count = wanted < cells ? wanted : cells;
    for (uint32_t p = 0; p < s->panel_count; p++)
        PX_TRY(frame_time(s, desc->frame + (uint64_t)p * step, &s->times[p]));
    return PELT_OK;
}

static pelt_result set_times(sheet *s) {
    const pelt_picture_desc *desc = s->shot.desc;
    const px_animation *animation = &s->shot.animation;
    if (desc->frame_step > 0) {
        PX_TRY(step_times(s));
    } else {
        double first;
        PX_TRY(start_time(s, &first));
        double end = px_fmax(animation->end, first);
        s->panel_count = desc->columns * desc->rows;
        for (uint32_t p = 0; p < s->panel_count; p++)
            s->times[p] = first + (end - first) * p / s->panel_count;
    }
    s->time_count = s->panel_count;
    if (desc->fit_pose || animation->end <= animation->start)
        return PELT_OK;
    for (uint32_t t = 0; t < FIT_TIMES; t++)
        s->times[s->time_count++] = animation->start + (animation->end - animation->start) * t / (FIT_TIMES - 1);
    return PELT_OK;
}

/* ---- Panels ----------------------------------------------------------------------------------------------- */

static pelt_picture_mode mode_of(const pelt_picture_desc *desc, uint32_t panel) {
    uint32_t column = panel % desc->columns, row = panel / desc->columns;
    bool second = desc->rows > 1 ? 2 * row >= desc->rows : desc->columns > 1 && 2 * column >= desc->columns;
    return second && desc->second_mode > 0 ? desc->second_mode - 1 : desc->mode;
}

static bool shows_skeleton(const px_shot *shot, pelt_picture_mode mode) {
    if (shot->animation.clip || shot->model->skeleton.joint_count == 0) /* clips do not move joints */
        return false;
    bool useful = (mode == PELT_PICTURE_BONES || mode == PELT_PICTURE_WEIGHTS) && !px_is_skeleton(shot->model);
    return shot->desc->skeleton == PELT_PICTURE_SKELETON_ON ||
           (shot->desc->skeleton == PELT_PICTURE_SKELETON_AUTO && useful);
}

/* Computes the cell of a panel. Returns the height that the camera fits, which excludes the legend. */
static uint32_t place_panel(const sheet *s, uint32_t index, px_panel *panel) {
    const pelt_picture_desc *desc = s->shot.desc;
    uint32_t column = index % desc->columns, row = index / desc->columns;
    uint32_t height = desc->height - px_legend_height(desc);
    panel->x = (uint32_t)((uint64_t)desc->width * column / desc->columns);
    panel->y = (uint32_t)((uint64_t)height * row / desc->rows);
    panel->width = (uint32_t)((uint64_t)desc->width * (column + 1) / desc->columns) - panel->x;
    uint32_t fit = (uint32_t)((uint64_t)height * (row + 1) / desc->rows) - panel->y;
    panel->height = row + 1 == desc->rows ? desc->height - panel->y : fit;
    return fit;
}

static pelt_result draw_panel(const sheet *s, uint32_t index, px_arena *arena) {
    const pelt_picture_desc *desc = s->shot.desc;
    pelt_picture_mode mode = mode_of(desc, index);
    px_frame frame;
    px_camera camera;
    px_scene scene = {0};
    px_panel panel = {.desc = desc, .pixels = s->pixels, .scene = &scene, .camera = &camera};
    uint32_t height = place_panel(s, index, &panel);
    if (index >= s->panel_count)
        return px_panel_draw(arena, &panel);
    panel.skeleton = shows_skeleton(&s->shot, mode);
    const double *times = desc->fit_pose ? s->times + index : s->times;
    PX_TRY(px_camera_fit(s->context, &s->shot, times, desc->fit_pose ? 1 : s->time_count, panel.width, height, &frame,
                         &camera));
    PX_TRY(px_scene_make(arena, &s->shot, s->times[index], mode, &frame, &scene));
    px_light_key(&camera, panel.key);
    px_ground ground = {.height = frame.ground};
    panel.ground = !desc->floating && scene.triangle_count > 0 ? &ground : NULL;
    PX_TRY(px_light_scene(arena, &scene, panel.key, panel.ground ? &ground : NULL));
    return px_panel_draw(arena, &panel);
}

static void draw_label(const sheet *s, const px_canvas *canvas, uint32_t index) {
    const pelt_picture_desc *desc = s->shot.desc;
    bool frames = desc->frame_step > 0 || (desc->time < 0 && desc->columns * desc->rows == 1);
    char text[32];
    px_panel panel;
    place_panel(s, index, &panel);
    if (frames)
        snprintf(text, sizeof text, "%llu", desc->frame + (unsigned long long)index * desc->frame_step);
    else
        snprintf(text, sizeof text, "%.2f s", s->times[index] - s->shot.animation.start);
    px_label_draw(desc, canvas, panel.x, panel.y, text);
}

static pelt_result draw_sheet(sheet *s) {
    const pelt_picture_desc *desc = s->shot.desc;
    const px_canvas canvas = {desc->width, desc->height, s->pixels};
    uint32_t cells = desc->columns * desc->rows;
    for (uint32_t p = 0; p < cells; p++) {
        px_arena *arena = px_arena_create(s->context);
        pelt_result result = arena ? draw_panel(s, p, arena) : PELT_ERROR_MEMORY;
        px_arena_destroy(arena);
        PX_TRY(result);
        PX_TRY(px_progress(s->context, "picture", p + 1, cells));
    }
    for (uint32_t p = 0; p < s->panel_count && desc->labels; p++)
        draw_label(s, &canvas, p);
    return px_legend_draw(s->context, &s->shot, &canvas);
}

/* ---- Entry points ----------------------------------------------------------------------------------------- */

static pelt_result render(pelt_context *context, const pelt_model *model, const pelt_picture_desc *desc,
                          uint8_t *pixels) {
    px_arena *arena = px_arena_create(context);
    sheet *s = arena ? PX_NEW(arena, sheet, 1) : NULL;
    pelt_result result = PELT_ERROR_MEMORY;
    if (s) {
        s->context = context;
        s->pixels = pixels;
        result = px_shot_make(arena, model, desc, &s->shot);
    }
    if (result == PELT_OK)
        result = set_times(s);
    if (result == PELT_OK)
        result = draw_sheet(s);
    px_arena_destroy(arena);
    return result;
}

pelt_result pelt_picture_measure(pelt_context *context, const pelt_model *model, const pelt_picture_desc *given,
                                 pelt_picture_facts *facts) {
    *facts = (pelt_picture_facts){0};
    pelt_picture_desc desc = given ? *given : pelt_picture_desc_default();
    PX_TRY(check(context, &desc));
    const char *subject = px_subject(context, model->path[0] ? model->path : NULL);
    px_arena *arena = px_arena_create(context);
    px_shot shot;
    desc.max = 0;
    pelt_result result = arena ? px_shot_make(arena, model, &desc, &shot) : PELT_ERROR_MEMORY;
    if (result == PELT_OK) {
        const px_reference *reference = px_shot_reference(&shot, (pelt_picture_mode)desc.mode);
        *facts = (pelt_picture_facts){px_shot_frame_count(&shot), reference ? reference->max : 0};
    }
    px_arena_destroy(arena);
    px_subject(context, subject);
    return result;
}

pelt_result pelt_picture_render(pelt_context *context, const pelt_model *model, const pelt_picture_desc *given,
                                uint8_t *pixels) {
    pelt_picture_desc desc = given ? *given : pelt_picture_desc_default();
    PX_TRY(check(context, &desc));
    const char *subject = px_subject(context, model->path[0] ? model->path : NULL);
    pelt_result result = render(context, model, &desc, pixels);
    px_subject(context, subject);
    if (result != PELT_OK)
        memset(pixels, 0, (size_t)4 * desc.width * desc.height);
    return result;
}

pelt_result pelt_picture_save(pelt_context *context, const pelt_model *model, const pelt_picture_desc *given,
                              const char *path) {
    pelt_picture_desc desc = given ? *given : pelt_picture_desc_default();
    PX_TRY(check(context, &desc));
    uint8_t *pixels = PX_ALLOC(context, uint8_t, (size_t)4 * desc.width * desc.height);
    if (!pixels)
        return PELT_ERROR_MEMORY;
    pelt_result result = pelt_picture_render(context, model, &desc, pixels);
    if (result == PELT_OK)
        result = px_png_write(context, path, desc.width, desc.height, pixels);
    px_free(context, pixels);
    return result;
}

pelt_result pelt_image_save(pelt_context *context, const char *path, uint32_t width, uint32_t height,
                            const uint8_t *pixels) {
    if (width == 0 || height == 0)
        return px_fail(context, PELT_ERROR_USAGE, "%s: a picture of %u × %u pixels cannot be written", path, width,
                       height);
    return px_png_write(context, path, width, height, pixels);
}
