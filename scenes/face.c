/* face: a head with many morph targets, as faces for animation have: the jaw moves as a whole, most shapes are local and come
 * in pairs, some are wide. Its weights follow a captured-like motion: a few shapes at a time. */
#include "build.h"

#include <stdio.h>

#define MAX_SLIDERS 2000u
#define NAME_SIZE   32u

/* A patch around `center` is displaced, turned about an axis through it, and scaled. */
typedef struct shape {
    vec center, move, axis;
    double radius, turn, swell;
    bool jaw;
} shape;

static vec random_vec(scene_random *random, double size) {
    double x = scene_random_range(random, -size, size), y = scene_random_range(random, -size, size);
    return (vec){x, y, scene_random_range(random, -size, size)};
}

/* Shapes 0 to 2 are the jaw's; then every eighth is wide, the others are pairs: odd ones left, even ones the mirror image. */
static void make_shape(scene_random *random, const pelt_mesh *mesh, uint32_t index, const shape *before, shape *out) {
    if (index < 3) {
        static const vec axes[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 0}};
        *out = (shape){.center = {0, 0, -0.05}, .axis = axes[index], .turn = index == 2 ? 0 : 0.25, .jaw = true};
        out->move = (vec){0, 0, index == 2 ? 0.08 : 0};
        return;
    }
    if (index % 2 == 0 && index % 8 != 0) {
        *out = *before;
        out->center.x = -out->center.x, out->move.x = -out->move.x;
        out->axis.y = -out->axis.y, out->axis.z = -out->axis.z;
        return;
    }
    vec at;
    do /* a point of the face: in front, above the neck */
        at = vec_load(mesh->positions + 3 * (scene_random_bits(random) % mesh->vertex_count));
    while (at.z < 0.15 || at.y < -0.7);
    bool wide = index % 8 == 0;
    out->jaw = false;
    out->center = at;
    out->radius = scene_random_range(random, wide ? 0.6 : 0.15, wide ? 1.0 : 0.35);
    out->move = random_vec(random, 0.25 * out->radius);
    out->axis = vec_unit(random_vec(random, 1));
    out->turn = scene_random_range(random, -0.3, 0.3);
    out->swell = scene_random_range(random, -0.2, 0.3);
}

static vec displace(const shape *s, vec p) {
    double share;
    if (s->jaw)
        share = scene_smooth((-0.33 - p.y) / 0.1) * scene_smooth((p.z + 0.15) / 0.45);
    else {
        double d = vec_length(vec_sub(p, s->center)) / s->radius;
        share = d < 1 ? 1 - scene_smooth(d) : 0;
    }
    if (share == 0)
        return (vec){0, 0, 0};
    vec arm = vec_sub(p, s->center), turned = s->turn != 0 ? quat_apply(quat_turn(s->axis, s->turn * share), arm) : arm;
    vec out = vec_mad(vec_sub(turned, arm), share * s->swell, arm);
    return vec_mad(out, share, s->move);
}

/* Keys at every frame, LINEAR: every shape comes and goes with a period of its own, and is at 0 most of the time. */
static pelt_result fill_motion(pelt_context *context, pelt_model *model, scene_random *random, uint32_t frame_count) {
    uint32_t count = model->morphs.morph_count;
    pelt_motion *motion = SCENE_NEW(context, model, pelt_motion, 1);
    pelt_track *track = SCENE_NEW(context, model, pelt_track, 1);
    float *times = SCENE_NEW(context, model, float, frame_count);
    float *values = SCENE_NEW(context, model, float, (size_t)frame_count *count);
    if (!motion || !track || !times || !values)
        return PELT_ERROR_MEMORY;
    for (uint32_t s = 0; s < count; s++) {
        double period = scene_random_range(random, 20, 90), phase = scene_random_range(random, 0, 1);
        double peak = scene_random_range(random, 0.3, 1);
        for (uint32_t k = 0; k < frame_count; k++) {
            double wave = scene_sin(2 * SCENE_PI * (k / period + phase)) - 0.3;
            values[(size_t)k * count + s] = wave > 0 ? (float)(peak * wave / 0.7) : 0;
        }
    }
    for (uint32_t k = 0; k < frame_count; k++)
        times[k] = (float)(k / SCENE_FPS);
    *track = (pelt_track){
        .path = PELT_PATH_WEIGHTS, .width = count, .key_count = frame_count, .times = times, .values = values};
    *motion = (pelt_motion){.name = "take", .end = times[frame_count - 1], .track_count = 1, .tracks = track};
    model->motion_count = 1;
    model->motions = motion;
    return PELT_OK;
}

static pelt_result build(pelt_context *context, const scene_desc *desc, uint32_t count, pelt_model *scratch,
                         pelt_model *model) {
    scene_random random = {desc->seed};
    SCENE_TRY(scene_head_make(context, scratch, &random, scene_count(desc->vertex_count, 5000, 500, SCENE_MAX_VERTICES),
                              count, model));
    char(*names)[NAME_SIZE] = pelt_model_alloc(context, model, count, sizeof *names);
    if (!names)
        return PELT_ERROR_MEMORY;
    shape last = {0};
    for (uint32_t s = 0; s < count; s++) {
        static const char *const jaw[3] = {"jaw_open", "jaw_left", "jaw_forward"};
        float *positions = SCENE_NEW(context, model, float, 3 * (size_t)model->mesh.vertex_count);
        if (!positions)
            return PELT_ERROR_MEMORY;
        shape now;
        make_shape(&random, &model->mesh, s, &last, &now);
        last = now;
        for (size_t i = 0; i < model->mesh.vertex_count; i++)
            vec_store(positions + 3 * i, displace(&now, vec_load(model->mesh.positions + 3 * i)));
        if (s < 3)
            snprintf(names[s], sizeof names[s], "%s", jaw[s]);
        else if (s % 8 == 0)
            snprintf(names[s], sizeof names[s], "wide_%u", s / 8);
        else
            snprintf(names[s], sizeof names[s], "shape_%u_%c", (s + 1) / 2, s % 2 ? 'L' : 'R');
        SCENE_TRY(scene_target(context, model, names[s], s, positions));
    }
    return fill_motion(context, model, &random, scene_count(desc->frame_count, 90, 1, SCENE_MAX_FRAMES));
}

pelt_result scene_face_make(pelt_context *context, const scene_desc *desc, uint32_t slider_count, pelt_model **out) {
    pelt_model *model = NULL, *scratch = NULL;
    *out = NULL;
    pelt_result result = pelt_model_create(context, &model);
    if (result == PELT_OK)
        result = pelt_model_create(context, &scratch);
    if (result == PELT_OK)
        result = build(context, desc, scene_count(slider_count, 52, 1, MAX_SLIDERS), scratch, model);
    pelt_model_destroy(scratch);
    if (result != PELT_OK)
        pelt_model_destroy(model);
    else
        *out = model;
    return result;
}

static pelt_result make(pelt_context *context, const scene_desc *desc, pelt_model **model) {
    return scene_face_make(context, desc, 0, model);
}

const scene scene_face = {"face", "a head with 52 morph targets, local and wide, and their weights over time", make,
                          NULL};
