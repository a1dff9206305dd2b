/* Fits the camera tightly to everything that the model moves through.
 *
 * A point p is visible if |right·(p−e)| ≤ s · forward·(p−e) for the eye e and s the tangent of half the angle of view,
 * and likewise for up. The maxima of ±right·p − s·forward·p over all points therefore determine e: the tightest fit
 * that perspective allows, from four numbers, in one pass over the poses.
 */
#include "view/view.h"

#define HALF_ANGLE 0.23 /* radians, vertical: a portrait lens, which keeps proportions */
#define MARGIN     0.88 /* largest fraction of the cell that the model fills */

typedef struct extent {
    double right[3], up[3], forward[3]; /* unit vectors of the camera, y up */
    double slope_x, slope_y;
    double reach[4]; /* maxima of right − s·forward, −right − s·forward, up − s·forward, −up − s·forward */
    double nearest;         /* smallest forward·p */
    double low[3], high[3]; /* bounding box */
    bool any;
} extent;

static void add_point(extent *e, const float p[3]) {
    if (!px_finite3(p))
        return;
    double r = 0, u = 0, f = 0;
    for (int c = 0; c < 3; c++) {
        r += e->right[c] * p[c];
        u += e->up[c] * p[c];
        f += e->forward[c] * p[c];
    }
    const double reach[4] = {r - e->slope_x * f, -r - e->slope_x * f, u - e->slope_y * f, -u - e->slope_y * f};
    for (int s = 0; s < 4; s++)
        e->reach[s] = e->any ? px_fmax(e->reach[s], reach[s]) : reach[s];
    e->nearest = e->any ? px_fmin(e->nearest, f) : f;
    for (int c = 0; c < 3; c++) {
        e->low[c] = e->any ? px_fmin(e->low[c], (double)p[c]) : (double)p[c];
        e->high[c] = e->any ? px_fmax(e->high[c], (double)p[c]) : (double)p[c];
    }
    e->any = true;
}

static void set_axes(extent *e, const pelt_picture_desc *desc, uint32_t width, uint32_t height) {
    double yaw = desc->yaw * 0.017453292519943295, pitch = desc->pitch * 0.017453292519943295;
    double sy = px_sin(yaw), cy = px_cos(yaw), sp = px_sin(pitch), cp = px_cos(pitch);
    const double right[3] = {cy, 0, -sy}, forward[3] = {-sy * cp, -sp, -cy * cp}, up[3] = {-sy * sp, cp, -cy * sp};
    memcpy(e->right, right, sizeof right);
    memcpy(e->up, up, sizeof up);
    memcpy(e->forward, forward, sizeof forward);
    e->slope_y = px_tan(HALF_ANGLE) * MARGIN;
    e->slope_x = e->slope_y * width / height;
}

/* Adds the vertices of a pose, or its joints if the model is only a skeleton. */
static pelt_result add_pose(pelt_context *context, const pelt_model *model, const px_animation *animation, double time,
                            float *scratch, extent *e) {
    bool bones = px_is_skeleton(model);
    uint32_t count = bones ? model->skeleton.joint_count : model->mesh.vertex_count;
    PX_TRY(bones ? px_animation_joints(context, model, animation, time, scratch)
                 : px_animation_pose(context, model, animation, time, scratch, NULL));
    for (uint32_t i = 0; i < count; i++)
        add_point(e, scratch + (size_t)3 * i);
    return PELT_OK;
}

/* The eye position along the camera's axes, in model units. */
static void place_eye(const extent *e, double size, double eye[3]) {
    eye[0] = (e->reach[0] - e->reach[1]) / 2;
    eye[1] = (e->reach[2] - e->reach[3]) / 2;
    eye[2] = px_fmin(-(e->reach[0] + e->reach[1]) / (2 * e->slope_x), -(e->reach[2] + e->reach[3]) / (2 * e->slope_y));
    eye[2] = px_fmin(eye[2], e->nearest - size / 2); /* a flat model or a single point gives no distance */
}

static void finish(const extent *e, const pelt_picture_desc *desc, uint32_t width, uint32_t height, px_frame *frame,
                   px_camera *camera) {
    double size = 0, eye[3], center[3] = {0, 0, 0};
    for (int c = 0; c < 3; c++) {
        frame->center[c] = (e->low[c] + e->high[c]) / 2;
        size += (e->high[c] - e->low[c]) / 2 * ((e->high[c] - e->low[c]) / 2);
    }
    size = sqrt(size);
    frame->scale = size > 0 && isfinite(1 / size) ? size : 1;
    frame->ground = (float)((e->low[1] - frame->center[1]) / frame->scale);
    place_eye(e, frame->scale, eye);
    for (int c = 0; c < 3; c++) {
        center[0] += e->right[c] * frame->center[c];
        center[1] += e->up[c] * frame->center[c];
        center[2] += e->forward[c] * frame->center[c];
    }
    for (int c = 0; c < 3; c++) {
        camera->right[c] = (float)e->right[c];
        camera->up[c] = (float)e->up[c];
        camera->forward[c] = (float)e->forward[c];
        camera->eye[c] = (float)((e->right[c] * (eye[0] - center[0]) + e->up[c] * (eye[1] - center[1]) +
                                  e->forward[c] * (eye[2] - center[2])) /
                                 frame->scale);
    }
    camera->focal = (float)(desc->zoom * height / (2 * px_tan(HALF_ANGLE)));
    camera->x = (float)width / 2;
    camera->y = (float)height / 2;
}

pelt_result px_camera_fit(pelt_context *context, const px_shot *shot, const double *times, uint32_t time_count,
                          uint32_t width, uint32_t height, px_frame *frame, px_camera *camera) {
    const pelt_model *model = shot->model;
    const pelt_picture_desc *desc = shot->desc;
    uint32_t count = px_is_skeleton(model) ? model->skeleton.joint_count : model->mesh.vertex_count;
    extent e = {0};
    set_axes(&e, desc, width, height);
    *frame = (px_frame){.scale = 1};
    float *scratch = PX_ALLOC(context, float, px_mul_size(3, count));
    if (!scratch)
        return PELT_ERROR_MEMORY;
    pelt_result result = PELT_OK;
    for (uint32_t t = 0; t < time_count && result == PELT_OK; t++) {
        result = add_pose(context, model, &shot->animation, times[t], scratch, &e);
        if (result == PELT_OK)
            result = px_cancelled(context);
    }
    px_free(context, scratch);
    if (result == PELT_OK)
        finish(&e, desc, width, height, frame, camera);
    return result;
}
