/* Options and entry point: sample all motions, bake, factor, apply to the model. */
#include "light/light.h"

#include <pelt/run.h>

#include <math.h>

#define MAX_FRAMES     4096u /* the SVD takes cubic time in the frame count */
#define DEFAULT_FPS    30.0
#define DEFAULT_FRAMES 120.0 /* light changes slowly: more frames take minutes and do not lower the error visibly */

#define FIELD(name) PELT_FIELD(pelt_light_desc, name)
static const pelt_option options[] = {
    {"kind", 0, PELT_OPTION_CHOICE, FIELD(kind), "ambient", 0, 0, "ambient|sky|transfer", NULL,
     "ambient occlusion, the light of a sky, or transfer vectors for any light"},
    {"factors", 0, PELT_OPTION_CHOICE, FIELD(factors), "nmf", 0, 0, "nmf|svd", NULL,
     "non-negative patterns and weights, or those of least error"},
    {"rank", 0, PELT_OPTION_UINT, FIELD(rank), "4", 1, PELT_LIGHT_RANK_MAX, NULL, "N", "patterns of colour"},
    {"directions", 0, PELT_OPTION_UINT, FIELD(directions), "256", 8, 65536, NULL, "N", "sampled on the sphere"},
    {"reach", 0, PELT_OPTION_REAL, FIELD(reach), "0", 0, 1000, NULL, "SHARE",
     "length of rays, as a fraction of the mesh's diagonal; 0: unlimited"},
    {"sky", 0, PELT_OPTION_VECTOR, FIELD(sky), "1,1,1", 0, 1, NULL, "R,G,B",
     "kind sky, transfer: light from above (+y), linear, 0 to 1 each"},
    {"ground", 0, PELT_OPTION_VECTOR, FIELD(ground), "0.3,0.25,0.2", 0, 1, NULL, "R,G,B",
     "kind sky, transfer: light from below"},
    {"sun", 0, PELT_OPTION_VECTOR, FIELD(sun), "0.4,0.7,0.6", -1, 1, NULL, "X,Y,Z",
     "kind transfer: direction to the sun of the baked colours"},
    {"sun-color", 0, PELT_OPTION_VECTOR, FIELD(sun_color), "0.5,0.47,0.4", 0, 100, NULL, "R,G,B",
     "kind transfer: its light on a surface that faces it"},
    {"bands", 0, PELT_OPTION_UINT, FIELD(bands), "3", 3, 4, NULL, "N",
     "kind transfer: of spherical harmonics; 3: 9 coefficients, 4: 16"},
    {"transfer-rank", 0, PELT_OPTION_UINT, FIELD(transfer_rank), "8", 1, PELT_LIGHT_RANK_MAX, NULL, "N",
     "kind transfer: patterns of transfer vectors"},
    {"bounce", 0, PELT_OPTION_REAL, FIELD(bounce), "0", 0, 1, NULL, "ALBEDO",
     "light reflected once by the rig and the floor; 0: none"},
    {"floor", 0, PELT_OPTION_FLAG, FIELD(floor), "false", 0, 0, NULL, NULL,
     "a floor at the lowest point of all frames (-y)"},
    {"fps", 0, PELT_OPTION_REAL, FIELD(fps), "0", 0, 100000, NULL, "N",
     "frames per second; 0: 30, or fewer where all motions together would have over 120 frames"},
};

PX_DESC(light, options)

static pelt_result check(const px_light *l) {
    if (l->desc.sun[0] == 0 && l->desc.sun[1] == 0 && l->desc.sun[2] == 0)
        return px_fail(l->context, PELT_ERROR_USAGE, "pelt_light_desc.sun is 0, 0, 0: it should be a direction");
    if (l->model->mesh.triangle_count == 0)
        return px_fail(l->context, PELT_ERROR_INPUT, "there are no triangles for light to fall on");
    if (l->model->skeleton.joint_count == 0 && l->model->clip_count > 0)
        return px_fail(l->context, PELT_ERROR_INPUT,
                       "there is no rig to carry the light, only a vertex animation; decompose it first");
    return PELT_OK;
}

/* Frames per second: the option, else DEFAULT_FPS, or less so that all motions together have about DEFAULT_FRAMES. */
static double frame_rate(const px_light *l) {
    double seconds = 0;
    for (uint32_t m = 0; m < l->model->motion_count; m++)
        seconds += (double)l->model->motions[m].end - (double)l->model->motions[m].start;
    if (l->desc.fps > 0)
        return l->desc.fps;
    return seconds * DEFAULT_FPS > DEFAULT_FRAMES ? DEFAULT_FRAMES / seconds : DEFAULT_FPS;
}

/* Creates one clip per motion, or one of the rest pose. */
static pelt_result take_frames(px_light *l) {
    const pelt_model *model = l->model;
    size_t frames = 0;
    double fps = frame_rate(l);
    l->motion_count = model->motion_count ? model->motion_count : 1;
    l->clips = PX_NEW(l->arena, pelt_clip, l->motion_count);
    l->motion_frames = PX_NEW(l->arena, uint32_t, (size_t)l->motion_count + 1);
    if (!l->clips || !l->motion_frames)
        return PELT_ERROR_MEMORY;
    for (uint32_t m = 0; m < l->motion_count; m++) {
        PX_TRY(pelt_clip_from_motion(l->context, l->model, model->motion_count ? &model->motions[m] : NULL, fps,
                                     PELT_SKINNING_LINEAR, &l->clips[m]));
        frames += l->clips[m].frame_count;
        if (frames > MAX_FRAMES)
            return px_fail(l->context, PELT_ERROR_UNSUPPORTED,
                           "the motions have over %u frames together; lower the frames per second", MAX_FRAMES);
        l->motion_frames[m + 1] = (uint32_t)frames;
    }
    l->frame_count = (uint32_t)frames;
    l->channel_count = l->desc.kind == PELT_LIGHT_TRANSFER ? l->desc.bands * l->desc.bands
                       : l->desc.kind == PELT_LIGHT_SKY    ? 3
                                                           : 1;
    l->column_count = (size_t)model->mesh.weld.count * l->channel_count;
    return PELT_OK;
}

static pelt_result factor(px_light *l, pelt_light_report *report) {
    l->rank = (uint32_t)px_min_size(l->desc.rank, l->frame_count);
    l->weights = PX_NEW(l->arena, double, (size_t)l->frame_count * l->rank);
    l->patterns = PX_NEW(l->arena, double, px_mul_size(l->rank, l->column_count));
    if (!l->weights || !l->patterns)
        return PELT_ERROR_MEMORY;
    PX_TRY(px_light_svd(l->context, l->colors, l->frame_count, l->column_count, l->rank, l->weights, l->patterns,
                        report->bounds));
    if (l->desc.factors == PELT_LIGHT_NMF)
        PX_TRY(px_light_nmf(l->context, l->colors, l->frame_count, l->column_count, l->rank, l->weights, l->patterns));
    return px_light_error(l->context, l->colors, l->frame_count, l->column_count, l->rank, l->weights, l->patterns,
                          &report->error_rms, &report->error_max);
}

static void measure_colors(const px_light *l, pelt_light_report *report) {
    double all = (double)l->frame_count * (double)l->column_count, change = 0;
    for (size_t e = 0; e < l->column_count; e++) {
        double sum = 0, squares = 0;
        for (uint32_t k = 0; k < l->frame_count; k++) {
            double value = l->colors[k * l->column_count + e];
            sum += value;
            squares += value * value;
        }
        report->mean += sum / all;
        change += px_fmax(squares - sum * sum / l->frame_count, 0) / all;
    }
    report->change_rms = sqrt(change);
}

pelt_result px_light_take(px_light *l) {
    PX_TRY(check(l));
    PX_TRY(pelt_model_weld(l->context, l->model));
    PX_TRY(take_frames(l));
    return px_light_bake(l);
}

static pelt_result run(px_light *l, pelt_light_report *report) {
    PX_TRY(px_light_take(l));
    if (l->desc.kind == PELT_LIGHT_TRANSFER)
        PX_TRY(px_light_transfer(l, report));
    PX_TRY(factor(l, report));
    measure_colors(l, report);
    report->frame_count = l->frame_count;
    report->fps = frame_rate(l);
    report->vertex_count = l->model->mesh.weld.count;
    report->rank = l->rank;
    report->ray_count = l->ray_count;
    return px_light_apply(l);
}

pelt_result pelt_light(pelt_context *context, pelt_model *model, const pelt_light_desc *desc,
                       pelt_light_report *report) {
    pelt_light_report unused, *out = report ? report : &unused;
    *out = (pelt_light_report){0};
    PX_TAKE_DESC(context, light, desc, settings);
    px_light l = {.context = context, .model = model, .desc = settings};
    l.arena = px_arena_create(context);
    if (!l.arena)
        return PELT_ERROR_MEMORY;
    const char *subject = px_subject(context, model->path[0] ? model->path : NULL);
    px_operation operation = px_operation_begin(model);
    pelt_result result = px_operation_end(&operation, run(&l, out));
    px_subject(context, subject);
    px_arena_destroy(l.arena);
    if (result != PELT_OK)
        *out = (pelt_light_report){0};
    return result;
}
