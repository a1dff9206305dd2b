/* pelt_jiggle_bake: simulates a motion and records a clip.
 *
 * Time advances by whole substeps from the start of the motion, with the pose of the motion at the end of each. Frames
 * are recorded between substeps and do not affect the simulation: a caller that steps a pelt_jiggle by its substep gets
 * the same bits.
 *
 * Loops: a cycle is a whole number of substeps. Cycles are simulated until one ends where it began; the remaining
 * difference is distributed over the frames in proportion to their time.
 */
#include "jiggle/object.h"

#include "core/frames.h"
#include "core/mesh.h"

#include <pelt/run.h>

#define FRAME_TOLERANCE 1e-6  /* of a substep: frames closer to a substep coincide with it */
#define MAX_CYCLES      64u   /* after those of the preroll */
#define SEAM_TOLERANCE  1e-5  /* of the mesh's size: a cycle whose ends are closer is closed */
#define EASE_SECONDS    0.1   /* time constant, seconds, of the acceleration before the start */
#define MAX_PREROLL     86400 /* seconds: one day */

static const pelt_option options[] = {
    {"fps", 0, PELT_OPTION_REAL, PELT_FIELD(pelt_jiggle_bake_desc, fps), "30", 0.001, 100000, NULL, "N",
     "frames per second; the simulation does not depend on it"},
    {"preroll", 0, PELT_OPTION_REAL, PELT_FIELD(pelt_jiggle_bake_desc, preroll), "1", 0, MAX_PREROLL, NULL, "SECONDS",
     "simulated time before the motion: the rig accelerates from rest; with --loop, cycles are played"},
    {"loop", 0, PELT_OPTION_FLAG, PELT_FIELD(pelt_jiggle_bake_desc, loop), NULL, 0, 0, NULL, NULL,
     "the motion is a cycle: make the last frame equal the first"},
};

PX_DESC(jiggle_bake, options)

typedef struct bake {
    pelt_context *context;
    pelt_model *model;
    const pelt_motion *motion; /* or NULL */
    pelt_jiggle_bake_desc desc;
    pelt_jiggle *jiggle;
    pelt_clip clip;              /* frames: evaluated from the rig until positions are recorded */
    double duration;             /* seconds */
    double substep, frame;       /* length of a substep and of a frame, seconds */
    double now;                  /* simulated time, seconds from the start of the motion */
    double size;                 /* diagonal of the bounding box of the skinned first frame */
    pelt_transform *locals;      /* [joint] scratch */
    pelt_transform *first;       /* [joint] at the start */
    float *weights;              /* [morph] scratch */
    float *vertices;             /* [vertex][3] scratch: shown positions */
    float *skin_vertices;        /* [vertex][3] scratch: positions by primary motion alone */
    float *points;               /* [point][3] scratch */
    float *positions;            /* [frame][point][3] */
    float *particles;            /* [frame][particle][3] or NULL */
    double lost;                 /* Σ |change of volume| of the frame in report->jiggle */
    pelt_jiggle_volume *volumes; /* [volume] of the report */
    pelt_jiggle_bake_report *report;
} bake;

/* ---- Time ------------------------------------------------------------------------------------------------- */

/* Reflects poses at the first pose: continues the motion before its start with the velocity of its first pose. */
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

/* Before the start (time < 0) the rig accelerates from rest: the reflected motion, slowed exponentially. */
static void set_pose(bake *b, double time) {
    double start = b->motion ? (double)b->motion->start : 0;
    double at = time >= 0 ? px_fmin(time, b->duration) : EASE_SECONDS * (1 - px_exp(time / EASE_SECONDS));
    pelt_motion_sample(b->model, b->motion, (float)(start + at), b->locals, NULL);
    if (time < 0)
        reflect(b->first, b->model->skeleton.joint_count, b->locals);
    pelt_jiggle_set_pose(b->jiggle, b->locals);
}

/* Advances to a time within the current substep, or to its end. */
static void go_to(bake *b, double time) {
    set_pose(b, time);
    pelt_jiggle_step(b->jiggle, time - b->now);
    b->now = time;
}

static void one_substep(bake *b, double time) {
    if (b->desc.at)
        b->desc.at(b->desc.user, px_fmax(time, 0), b->jiggle);
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
    return px_hypot(px_hypot((double)a[0] - (double)b[0], (double)a[1] - (double)b[1]), (double)a[2] - (double)b[2]);
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

/* Updates the largest distance between the vertices and their primary motion. */
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
    pelt_vertex_classes_gather(&mesh->points, b->vertices, out);
    measure_swing(b, k);
    keep_volumes(b);
    pelt_jiggle_lattice lattice = pelt_jiggle_get_lattice(b->jiggle);
    for (size_t p = 0; b->particles && p < lattice.particle_count; p++)
        memcpy(b->particles + 3 * (lattice.particle_count * (size_t)k + p), lattice.positions[p], 3 * sizeof(float));
}

/* Simulates from the start to the last frame; with `keep`, records the frames. */
static pelt_result play(bake *b, const char *phase, bool keep) {
    double next = 1; /* index of the next substep */
    for (uint32_t k = 0; k < b->clip.frame_count; k++) {
        double time = k * b->frame;
        for (; next * b->substep <= time + FRAME_TOLERANCE * b->substep; next++)
            one_substep(b, next * b->substep);
        if (keep && time > b->now + FRAME_TOLERANCE * b->substep)
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
        largest = px_fmax(largest, distance(a + 3 * p, b + 3 * p));
    return largest;
}

static pelt_result check_cycle(bake *b) {
    uint32_t count = b->clip.point_count;
    float *first = b->positions; /* not recorded yet: serves as scratch */
    PX_TRY(pelt_clip_read(b->context, &b->clip, 0, 0, count, first));
    PX_TRY(pelt_clip_read(b->context, &b->clip, b->clip.frame_count - 1, 0, count, b->points));
    double apart = distance_between(first, b->points, count);
    if (apart <= PX_CYCLE_APART * b->size)
        return PELT_OK;
    return px_fail(b->context, PELT_ERROR_INPUT,
                   "motion '%s' is no cycle: its first and last pose are up to %.3g units apart; loop another, or none",
                   b->motion->name, apart);
}

/* Distributes the difference of the ends over the frames [frame][floats]. */
static void close_seam(uint32_t frame_count, float *positions, size_t floats) {
    uint32_t last = frame_count - 1;
    float *last_frame = positions + floats * last;
    for (size_t e = 0; e < floats; e++) {
        float apart = positions[e] - last_frame[e];
        for (uint32_t k = 1; k < last; k++)
            positions[floats * k + e] += (float)k / (float)last * apart;
        last_frame[e] = positions[e];
    }
}

static pelt_result play_loop(bake *b) {
    const float *last_frame = b->positions + (size_t)3 * b->clip.point_count * (b->clip.frame_count - 1);
    double before = ceil(b->desc.preroll / b->duration);
    PX_TRY(check_cycle(b));
    set_pose(b, 0);
    for (double turn = 0; turn < before; turn++, b->now = 0)
        PX_TRY(play(b, "preroll", false));
    for (uint32_t turn = 0; turn < MAX_CYCLES; turn++, b->now = 0) {
        b->report->farthest = b->lost = 0;
        PX_TRY(play(b, "jiggle", true));
        b->report->turns = (uint32_t)before + turn + 1;
        b->report->seam = distance_between(b->positions, last_frame, b->clip.point_count);
        if (b->report->seam <= SEAM_TOLERANCE * b->size)
            break;
    }
    close_seam(b->clip.frame_count, b->positions, (size_t)3 * b->clip.point_count);
    if (b->particles)
        close_seam(b->clip.frame_count, b->particles, (size_t)3 * b->report->lattice.point_count);
    return PELT_OK;
}

/* ---- Creation --------------------------------------------------------------------------------------------- */

/* Chooses frame and substep lengths that divide the duration (frames always, substeps in a loop), allocates what the
 * caller gets, and simulates. */
static pelt_result work(bake *b, pelt_jiggle_desc *desc, px_arena *scratch) {
    const pelt_model *model = b->model;
    px_arena *memory = model->memory;
    b->duration = b->motion ? (double)b->motion->end - (double)b->motion->start : 0;
    b->desc.loop = b->desc.loop && b->duration > 0;
    if (b->desc.loop)
        desc->substep = b->duration / ceil(b->duration / desc->substep - FRAME_TOLERANCE);
    b->substep = desc->substep;
    PX_TRY(pelt_clip_from_motion(b->context, b->model, b->motion, b->desc.fps, PELT_SKINNING_LINEAR, &b->clip));
    uint32_t frame_count = b->clip.frame_count, point_count = b->clip.point_count;
    b->frame = frame_count > 1 ? b->duration / (frame_count - 1) : 1 / b->desc.fps;
    PX_TRY(pelt_jiggle_create(b->context, b->model, desc, &b->jiggle));

    size_t floats = px_mul_size(3, point_count);
    b->locals = PX_NEW(scratch, pelt_transform, model->skeleton.joint_count);
    b->first = PX_NEW(scratch, pelt_transform, model->skeleton.joint_count);
    b->weights = PX_NEW(scratch, float, model->morphs.morph_count);
    b->vertices = PX_NEW(scratch, float, px_mul_size(3, model->mesh.vertex_count));
    b->skin_vertices = PX_NEW(scratch, float, px_mul_size(3, model->mesh.vertex_count));
    b->points = PX_NEW(scratch, float, floats);
    b->positions = PX_NEW(memory, float, px_mul_size(floats, frame_count));
    b->report->jiggle = pelt_jiggle_get_report(b->jiggle);
    b->report->jiggle.volumes = b->volumes = PX_NEW_LASTING(memory, pelt_jiggle_volume, b->report->jiggle.volume_count);
    if (!b->locals || !b->first || !b->weights || !b->vertices || !b->skin_vertices || !b->points || !b->positions ||
        !b->volumes)
        return PELT_ERROR_MEMORY;
    if (b->desc.keep_lattice) {
        uint32_t count = pelt_jiggle_get_lattice(b->jiggle).particle_count;
        float *times = PX_NEW_LASTING(memory, float, frame_count);
        b->particles = PX_NEW_LASTING(memory, float, px_mul_size(px_mul_size(3, count), frame_count));
        if (!times || !b->particles)
            return PELT_ERROR_MEMORY;
        memcpy(times, b->clip.times, frame_count * sizeof *times);
        b->report->lattice = (pelt_clip){.name = b->clip.name,
                                         .frame_count = frame_count,
                                         .point_count = count,
                                         .times = times,
                                         .positions = b->particles};
    }

    float low[3], high[3];
    PX_TRY(pelt_clip_read(b->context, &b->clip, 0, 0, point_count, b->points));
    b->size = px_box(b->points, point_count, low, high);
    if (b->desc.loop)
        return play_loop(b);
    pelt_motion_sample(model, b->motion, b->motion ? b->motion->start : 0, b->first, NULL);
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
    PX_TRY(pelt_model_weld(context, model)); /* stays in the model */
    px_result_begin(model);
    px_arena *scratch = px_arena_create(context);
    pelt_result result = scratch ? work(&b, &settings, scratch) : PELT_ERROR_MEMORY;
    px_arena_destroy(scratch);
    pelt_jiggle_destroy(b.jiggle);
    if (px_result_end(model, result) != PELT_OK) {
        *b.report = (pelt_jiggle_bake_report){0};
        return result;
    }
    *clip = b.clip;
    clip->source = (pelt_clip_source){0};
    clip->positions = b.positions;
    b.report->fps = fabs(b.frame * b.desc.fps - 1) < 1e-6 ? b.desc.fps : 1 / b.frame;
    return PELT_OK;
}
