/* A motion played through the stepping object, as a clip.
 *
 * Time goes on by whole substeps from the motion's start, with the motion's own pose at the end of each; frames lie
 * wherever they lie between them. So frames do not change what is computed, and whoever steps a pelt_jiggle by its substep
 * gets the same bits.
 *
 * Loops: a turn is a whole number of substeps too. It is played until one ends where it began; what is left to
 * that is taken from all frames in proportion to their time.
 */
#include "jiggle/object.h"

#include "core/frames.h"
#include "core/mesh.h"

#include <pelt/run.h>

#define SLACK      1e-6  /* of a substep: frames this near to one are at it */
#define TURNS_MOST 64u   /* beside those of the preroll */
#define SEAM_LEAST 1e-5  /* of the mesh's size: a turn that ends this near to where it began needs no other */
#define EASE       0.1   /* seconds in which the rig comes to the motion's speed, before its start */
#define DAY        86400 /* seconds of preroll that are enough for anyone */

static const pelt_option options[] = {
    {"fps", 0, PELT_OPTION_REAL, PELT_FIELD(pelt_jiggle_bake_desc, fps), "30", 0.001, 100000, NULL, "N",
     "frames per second; what is computed does not depend on it"},
    {"preroll", 0, PELT_OPTION_REAL, PELT_FIELD(pelt_jiggle_bake_desc, preroll), "1", 0, DAY, NULL, "SECONDS",
     "the rig comes out of standing this long before the motion starts; of a loop, turns are played"},
    {"loop", 0, PELT_OPTION_FLAG, PELT_FIELD(pelt_jiggle_bake_desc, loop), NULL, 0, 0, NULL, NULL,
     "the motion is a cycle: the last frame is the first, without a seam"},
};

PX_DESC(jiggle_bake, options)

typedef struct bake {
    pelt_context *context;
    pelt_model *model;
    const pelt_motion *motion; /* or NULL */
    pelt_jiggle_bake_desc desc;
    pelt_jiggle *jiggle;
    pelt_clip clip;              /* the frames, of the rig alone until there are others */
    double duration;             /* seconds */
    double substep, frame;       /* seconds from one to the next */
    double now;                  /* seconds from the motion's start to where the jiggle is */
    double size;                 /* diagonal of the box of the skin's first frame */
    pelt_transform *locals;      /* [joint] scratch */
    pelt_transform *first;       /* [joint] at the start */
    float *weights;              /* [morph] scratch */
    float *vertices;             /* [vertex][3] scratch … */
    float *skin_vertices;        /* … and where the skeleton alone has them */
    float *points;               /* [point][3] scratch */
    float *positions;            /* [frame][point][3] */
    double lost;                 /* volume that the frame of report->jiggle loses and wins, all parts together */
    pelt_jiggle_volume *volumes; /* [volume] of the report */
    pelt_jiggle_bake_report *report;
} bake;

/* ---- Time ------------------------------------------------------------------------------------------------- */

/* What would have led to the first pose at the speed that it is left with: the motion backwards and upside down. */
static void reflect(const pelt_transform *first, uint32_t joint_count, pelt_transform *locals) {
    for (uint32_t j = 0; j < joint_count; j++) {
        float turned[4];
        px_quat_slerp(first[j].rotation, locals[j].rotation, -1, turned);
        memcpy(locals[j].rotation, turned, sizeof turned);
        for (int c = 0; c < 3; c++) {
            locals[j].translation[c] = 2 * first[j].translation[c] - locals[j].translation[c];
            locals[j].scale[c] = first[j].scale[c];
        }
    }
}

/* Before the start the rig comes out of standing: its time runs ever slower, seen backwards. */
static void set_pose(bake *b, double time) {
    double start = b->motion ? (double)b->motion->start : 0;
    double at = time >= 0 ? fmin(time, b->duration) : EASE * (1 - exp(time / EASE));
    pelt_motion_sample(b->model, b->motion, (float)(start + at), b->locals, NULL);
    if (time < 0)
        reflect(b->first, b->model->skeleton.joint_count, b->locals);
    pelt_jiggle_set_pose(b->jiggle, b->locals);
}

/* To a time in the substep that has begun, or its end. */
static void go_to(bake *b, double time) {
    set_pose(b, time);
    pelt_jiggle_step(b->jiggle, time - b->now);
    b->now = time;
}

static void one_substep(bake *b, double time) {
    if (b->desc.at)
        b->desc.at(b->desc.user, fmax(time, 0), b->jiggle);
    go_to(b, time);
}

static pelt_result come_to_speed(bake *b) {
    double count = ceil(b->desc.preroll / b->substep);
    b->now = -count * b->substep;
    set_pose(b, b->now);
    for (double n = 1; n <= count; n++) {
        one_substep(b, (n - count) * b->substep);
        PX_TRY(px_progress(b->context, "preroll", (uint64_t)n, (uint64_t)count));
    }
    return PELT_OK;
}

static double distance(const float *a, const float *b) {
    return hypot(hypot((double)a[0] - (double)b[0], (double)a[1] - (double)b[1]), (double)a[2] - (double)b[2]);
}

/* ---- Frames ----------------------------------------------------------------------------------------------- */

static void keep_volumes(bake *b) {
    pelt_jiggle_report now = pelt_jiggle_get_report(b->jiggle), *kept = &b->report->jiggle;
    double lost = 0;
    for (uint32_t v = 0; v < now.volume_count; v++)
        lost += fabs(now.volumes[v].before - now.volumes[v].rest);
    kept->teleport_count = now.teleport_count;
    if (lost < b->lost)
        return;
    b->lost = lost;
    if (now.volume_count)
        memcpy(b->volumes, now.volumes, now.volume_count * sizeof *now.volumes);
}

/* How far the flesh is from where the skeleton alone has it, at most. */
static void measure_swing(bake *b, uint32_t k) {
    pelt_jiggle_bake_report *report = b->report;
    px_jiggle_vertices(b->jiggle, b->jiggle->skin, b->skin_vertices, NULL);
    for (uint32_t i = 0; i < b->model->mesh.vertex_count; i++) {
        double far = distance(b->vertices + 3 * (size_t)i, b->skin_vertices + 3 * (size_t)i);
        if (far > report->farthest) {
            report->farthest = far;
            report->farthest_frame = k;
            report->farthest_vertex = i;
        }
    }
}

static void keep_frame(bake *b, uint32_t k) {
    const pelt_mesh *mesh = &b->model->mesh;
    float *out = b->positions + (size_t)3 * b->clip.point_count * k;
    pelt_motion_sample(b->model, b->motion, b->clip.times[k], NULL, b->weights);
    pelt_jiggle_set_weights(b->jiggle, b->weights);
    pelt_jiggle_positions(b->jiggle, b->vertices, NULL);
    for (size_t i = 0; i < mesh->vertex_count; i++)
        memcpy(out + 3 * (size_t)(mesh->vertex_points ? mesh->vertex_points[i] : i), b->vertices + 3 * i,
               3 * sizeof *out);
    measure_swing(b, k);
    keep_volumes(b);
}

/* From the start to the last frame. */
static pelt_result play(bake *b, const char *phase, bool keep) {
    double next = 1; /* substep */
    for (uint32_t k = 0; k < b->clip.frame_count; k++) {
        double time = k * b->frame;
        for (; next * b->substep <= time + SLACK * b->substep; next++)
            one_substep(b, next * b->substep);
        if (keep && time > b->now + SLACK * b->substep)
            go_to(b, time);
        if (keep)
            keep_frame(b, k);
        PX_TRY(px_progress(b->context, phase, k, b->clip.frame_count));
    }
    return PELT_OK;
}

/* ---- Loops ------------------------------------------------------------------------------------------------ */

/* The largest distance between the points of two frames. */
static double distance_between(const float *a, const float *b, uint32_t point_count) {
    double largest = 0;
    for (size_t p = 0; p < point_count; p++)
        largest = fmax(largest, distance(a + 3 * p, b + 3 * p));
    return largest;
}

static pelt_result check_cycle(bake *b) {
    uint32_t count = b->clip.point_count;
    float *first = b->positions; /* nothing is in there yet */
    PX_TRY(pelt_clip_read(b->context, &b->clip, 0, 0, count, first));
    PX_TRY(pelt_clip_read(b->context, &b->clip, b->clip.frame_count - 1, 0, count, b->points));
    double apart = distance_between(first, b->points, count);
    if (apart <= PX_CYCLE_APART * b->size)
        return PELT_OK;
    return px_fail(b->context, PELT_ERROR_INPUT,
                   "motion '%s' is no cycle: its first and last pose are up to %.3g units apart; loop another, or none",
                   b->motion->name, apart);
}

static void close_seam(bake *b) {
    uint32_t last = b->clip.frame_count - 1;
    size_t floats = (size_t)3 * b->clip.point_count;
    float *first_frame = b->positions, *last_frame = b->positions + floats * last;
    for (size_t e = 0; e < floats; e++)
        b->points[e] = first_frame[e] - last_frame[e];
    for (uint32_t k = 1; k < last; k++)
        for (size_t e = 0; e < floats; e++)
            b->positions[floats * k + e] += (float)k / (float)last * b->points[e];
    memcpy(last_frame, first_frame, floats * sizeof *last_frame);
}

static pelt_result play_loop(bake *b) {
    const float *last_frame = b->positions + (size_t)3 * b->clip.point_count * (b->clip.frame_count - 1);
    double before = ceil(b->desc.preroll / b->duration);
    PX_TRY(check_cycle(b));
    set_pose(b, 0);
    for (double turn = 0; turn < before; turn++, b->now = 0)
        PX_TRY(play(b, "preroll", false));
    for (uint32_t turn = 0; turn < TURNS_MOST; turn++, b->now = 0) {
        b->report->farthest = b->lost = 0;
        PX_TRY(play(b, "jiggle", true));
        b->report->turns = (uint32_t)before + turn + 1;
        b->report->seam = distance_between(b->positions, last_frame, b->clip.point_count);
        if (b->report->seam <= SEAM_LEAST * b->size)
            break;
    }
    close_seam(b);
    return PELT_OK;
}

/* ---- Making ----------------------------------------------------------------------------------------------- */

/* Frames: those of the rig alone, a whole number of which lasts as long as the motion; in a loop substeps do so too. */
static pelt_result plan(bake *b, pelt_jiggle_desc *desc) {
    b->duration = b->motion ? (double)b->motion->end - (double)b->motion->start : 0;
    b->desc.loop = b->desc.loop && b->duration > 0;
    if (b->desc.loop)
        desc->substep = b->duration / ceil(b->duration / desc->substep - SLACK);
    b->substep = desc->substep;
    PX_TRY(pelt_clip_from_motion(b->context, b->model, b->motion, b->desc.fps, PELT_SKINNING_LINEAR, &b->clip));
    b->frame = b->clip.frame_count > 1 ? b->duration / (b->clip.frame_count - 1) : 1 / b->desc.fps;
    return PELT_OK;
}

static pelt_result measure_size(bake *b) {
    uint32_t count = b->clip.point_count;
    PX_TRY(pelt_clip_read(b->context, &b->clip, 0, 0, count, b->points));
    float low[3], high[3];
    b->size = px_box(b->points, count, low, high);
    return PELT_OK;
}

/* Where the report's volumes are put. */
static pelt_result make_report(bake *b) {
    pelt_jiggle_report *report = &b->report->jiggle;
    *report = pelt_jiggle_get_report(b->jiggle);
    b->volumes = PX_NEW(b->model->memory, pelt_jiggle_volume, report->volume_count);
    report->volumes = b->volumes;
    return b->volumes ? PELT_OK : PELT_ERROR_MEMORY;
}

static pelt_result work(bake *b, px_arena *scratch) {
    const pelt_mesh *mesh = &b->model->mesh;
    size_t floats = px_mul_size(3, b->clip.point_count);
    b->locals = PX_NEW(scratch, pelt_transform, b->model->skeleton.joint_count);
    b->first = PX_NEW(scratch, pelt_transform, b->model->skeleton.joint_count);
    b->weights = PX_NEW(scratch, float, b->model->morphs.morph_count);
    b->vertices = PX_NEW(scratch, float, px_mul_size(3, mesh->vertex_count));
    b->skin_vertices = PX_NEW(scratch, float, px_mul_size(3, mesh->vertex_count));
    b->points = PX_NEW(scratch, float, floats);
    b->positions = PX_NEW(b->model->memory, float, px_mul_size(floats, b->clip.frame_count));
    if (!b->locals || !b->first || !b->weights || !b->vertices || !b->skin_vertices || !b->points || !b->positions)
        return PELT_ERROR_MEMORY;
    PX_TRY(make_report(b));
    PX_TRY(measure_size(b));
    if (b->desc.loop)
        return play_loop(b);
    pelt_motion_sample(b->model, b->motion, b->motion ? b->motion->start : 0, b->first, NULL);
    PX_TRY(come_to_speed(b));
    return play(b, "jiggle", true);
}

pelt_result pelt_jiggle_bake(pelt_context *context, pelt_model *model, const pelt_motion *motion,
                             const pelt_jiggle_desc *desc, const pelt_jiggle_bake_desc *how, pelt_clip *clip,
                             pelt_jiggle_bake_report *report) {
    pelt_jiggle_bake_report unwanted;
    report = report ? report : &unwanted;
    *clip = (pelt_clip){.name = ""};
    *report = (pelt_jiggle_bake_report){0};
    PX_TAKE_DESC(context, jiggle_bake, how, baking);
    PX_TAKE_DESC(context, jiggle, desc, settings);
    bake b = {.context = context, .model = model, .motion = motion, .desc = baking, .report = report};
    PX_TRY(plan(&b, &settings));
    PX_TRY(pelt_jiggle_create(context, model, &settings, &b.jiggle));
    px_arena *scratch = px_arena_create(context);
    pelt_result result = scratch ? work(&b, scratch) : PELT_ERROR_MEMORY;
    px_arena_destroy(scratch);
    pelt_jiggle_destroy(b.jiggle);
    if (result != PELT_OK) {
        *b.report = (pelt_jiggle_bake_report){0};
        return result;
    }
    *clip = b.clip;
    clip->source = (pelt_clip_source){0};
    clip->positions = b.positions;
    b.report->fps = fabs(b.frame * b.desc.fps - 1) < 1e-6 ? b.desc.fps : 1 / b.frame;
    return PELT_OK;
}
