/* Selection of poses that represent a motion: farthest-point sampling. Of many candidates (the rest pose, each morph
 * alone, frames of motions or clips), chooses the one farthest from those chosen so far, until all are close to one.
 * Poses are compared by distances between pairs of classes, which rigid motions preserve. The weight of a pose is the
 * share of the candidates that are nearest to it. */
#include "core/frames.h"
#include "core/mesh.h"
#include "simplify/simplify.h"

#include <math.h>

#define MAX_CANDIDATES 256u
#define FEATURE_PAIRS  192u
/* RMS over the pairs, as a fraction of the size: a pose closer than this to a chosen one is not chosen. */
#define POSE_TOLERANCE 1e-3

typedef struct candidate {
    const pelt_motion *motion; /* NULL: the rest pose … */
    float time;                /* seconds */
    uint32_t morph;            /* … with this morph, or PELT_NONE */
    const pelt_clip *clip;     /* NULL: not a frame of a clip */
    uint32_t frame;            /* of the clip */
} candidate;

typedef struct chooser {
    px_simplify *s;
    px_arena *arena;
    uint32_t count;
    candidate *candidates;
    float (*features)[FEATURE_PAIRS]; /* [candidate] distances between pairs of classes */
    /* Current pose */
    pelt_transform *locals; /* [joint] */
    pelt_affine *globals;   /* [joint] */
    pelt_affine *palette;   /* [bone] */
    float *morph_weights;   /* [morph] */
    float *points;          /* [point][3], clips only */
} chooser;

/* ---- Poses ------------------------------------------------------------------------------------------------ */

static pelt_result set_pose(chooser *c, const candidate *at) {
    const pelt_model *model = c->s->model;
    if (at->clip) {
        pelt_result result = pelt_clip_read(c->s->context, at->clip, at->frame, 0, at->clip->point_count, c->points);
        px_clip_release(at->clip, at->clip->point_count);
        return result;
    }
    pelt_motion_sample(model, at->motion, at->time, c->locals, c->morph_weights);
    if (at->morph != PELT_NONE)
        c->morph_weights[at->morph] = 1;
    pelt_skeleton_globals(&model->skeleton, c->locals, c->globals);
    pelt_skin_palette(&model->skin, c->globals, c->palette);
    return PELT_OK;
}

/* Position of a class in the pose, and the linear map of displacements at rest. */
static void place_class(const chooser *c, const candidate *at, uint32_t u, double place[3], double linear[9]) {
    const pelt_model *model = c->s->model;
    uint32_t vertex = c->s->classes.first[u];
    double blend[12], rest[3];
    for (int e = 0; e < 9; e++)
        linear[e] = e % 4 == 0;
    if (at->clip) {
        size_t point = pelt_vertex_class(&model->mesh.points, vertex);
        for (int a = 0; a < 3; a++)
            place[a] = (double)c->points[3 * point + (size_t)a];
        return;
    }
    px_morphed_place(model, c->morph_weights, vertex, rest);
    memcpy(place, rest, sizeof rest);
    if (model->skin.bone_count == 0)
        return;
    px_skin_blend(&model->skin, c->palette, vertex, blend);
    for (int a = 0; a < 3; a++) {
        place[a] = blend[4 * a + 3];
        for (int b = 0; b < 3; b++) {
            place[a] += blend[4 * a + b] * rest[b];
            linear[3 * a + b] = blend[4 * a + b];
        }
    }
}

/* ---- Candidates ------------------------------------------------------------------------------------------- */

static void add(chooser *c, candidate at) {
    if (c->count < MAX_CANDIDATES)
        c->candidates[c->count++] = at;
}

/* Step between frames, such that about half of the candidates' capacity is filled; 1 for short motions. */
static uint32_t frame_step(uint64_t total) {
    return (uint32_t)(1 + total / (MAX_CANDIDATES / 2 + 1));
}

static void list_clips(chooser *c) {
    const pelt_model *model = c->s->model;
    uint64_t total = 0;
    for (uint32_t n = 0; n < model->clip_count; n++)
        total += model->clips[n].frame_count;
    for (uint32_t n = 0; n < model->clip_count; n++)
        for (uint32_t k = 0; k < model->clips[n].frame_count; k += frame_step(total))
            add(c, (candidate){.clip = &model->clips[n], .frame = k});
}

static pelt_result list_motions(chooser *c) {
    const pelt_model *model = c->s->model;
    uint64_t total = 0;
    double rate;
    uint32_t frames;
    add(c, (candidate){.morph = PELT_NONE});
    for (uint32_t m = 0; m < model->morphs.morph_count && m < MAX_CANDIDATES / 4; m++)
        add(c, (candidate){.morph = m});
    for (uint32_t n = 0; n < model->motion_count; n++) {
        PX_TRY(px_motion_frames(c->s->context, &model->motions[n], 0, &rate, &frames));
        total += frames;
    }
    for (uint32_t n = 0; n < model->motion_count; n++) {
        PX_TRY(px_motion_frames(c->s->context, &model->motions[n], 0, &rate, &frames));
        for (uint32_t k = 0; k < frames; k += frame_step(total))
            add(c, (candidate){.motion = &model->motions[n],
                               .time = (float)((double)model->motions[n].start + k / rate),
                               .morph = PELT_NONE});
    }
    return PELT_OK;
}

static pelt_result list_candidates(chooser *c) {
    c->candidates = PX_NEW(c->arena, candidate, MAX_CANDIDATES);
    if (!c->candidates)
        return PELT_ERROR_MEMORY;
    if (c->s->own_places)
        list_clips(c);
    else
        PX_TRY(list_motions(c));
    c->count = c->s->desc.poses == 1 ? 1 : c->count;
    return PELT_OK;
}

/* ---- Choosing --------------------------------------------------------------------------------------------- */

/* Features of a candidate: distances between pairs of classes far apart in index, the same pairs for every pose. */
static pelt_result describe(chooser *c, uint32_t n) {
    uint32_t classes = c->s->classes.count;
    PX_TRY(set_pose(c, &c->candidates[n]));
    for (uint32_t pair = 0; pair < FEATURE_PAIRS; pair++) {
        uint32_t a = (uint32_t)((uint64_t)pair * classes / FEATURE_PAIRS);
        uint32_t b = (uint32_t)(((uint64_t)pair * 7919 + 1) % FEATURE_PAIRS * classes / FEATURE_PAIRS);
        double place[2][3], linear[9], square = 0;
        place_class(c, &c->candidates[n], a, place[0], linear);
        place_class(c, &c->candidates[n], b, place[1], linear);
        for (int e = 0; e < 3; e++)
            square += (place[0][e] - place[1][e]) * (place[0][e] - place[1][e]);
        c->features[n][pair] = (float)(sqrt(square) / c->s->size);
    }
    return PELT_OK;
}

static double feature_distance(const chooser *c, uint32_t a, uint32_t b) {
    double square = 0;
    for (uint32_t pair = 0; pair < FEATURE_PAIRS; pair++) {
        double off = (double)c->features[a][pair] - (double)c->features[b][pair];
        square += off * off;
    }
    return sqrt(square / FEATURE_PAIRS);
}

/* chosen [pose]: candidate; also sets the weights of the poses. */
static pelt_result choose(chooser *c, uint32_t *chosen) {
    px_simplify *s = c->s;
    double *distances = PX_NEW(c->arena, double, c->count);
    uint32_t *nearest = PX_NEW(c->arena, uint32_t, c->count);
    c->features = px_arena_alloc(c->arena, c->count, sizeof *c->features);
    if (!distances || !nearest || !c->features)
        return PELT_ERROR_MEMORY;
    for (uint32_t n = 0; n < c->count; n++) {
        PX_TRY(describe(c, n));
        PX_TRY(px_progress(s->context, "poses", n, c->count));
        distances[n] = INFINITY;
    }
    uint32_t farthest = 0;
    while (s->pose_count < s->desc.poses && distances[farthest] > POSE_TOLERANCE) {
        chosen[s->pose_count] = farthest;
        for (uint32_t n = 0; n < c->count; n++) {
            double distance = feature_distance(c, n, farthest);
            if (distance < distances[n]) {
                distances[n] = distance;
                nearest[n] = s->pose_count;
            }
        }
        s->pose_count++;
        for (uint32_t n = 0; n < c->count; n++)
            farthest = distances[n] > distances[farthest] ? n : farthest;
    }
    for (uint32_t n = 0; n < c->count; n++)
        s->weights[nearest[n]] += 1.0 / c->count;
    return PELT_OK;
}

/* ---- Positions -------------------------------------------------------------------------------------------- */

static pelt_result fill_pose(chooser *c, const candidate *at, uint32_t pose) {
    px_simplify *s = c->s;
    size_t poses = s->pose_count;
    double middle[3] = {0, 0, 0};
    PX_TRY(set_pose(c, at));
    for (uint32_t u = 0; u < s->classes.count; u++) {
        double place[3], linear[9];
        place_class(c, at, u, place, linear);
        if (!isfinite(place[0]) || !isfinite(place[1]) || !isfinite(place[2]))
            return px_fail(s->context, PELT_ERROR_INPUT, "vertex %u is not finite in %s '%s'", s->classes.first[u],
                           at->clip ? "clip" : "motion",
                           at->clip     ? at->clip->name
                           : at->motion ? at->motion->name
                                        : "");
        if (u == 0)
            memcpy(middle, place, sizeof place);
        for (size_t a = 0; a < 3; a++) /* relative to the first class: small numbers, precise floats */
            s->places[(3 * (size_t)u + a) * poses + pose] = (float)((place[a] - middle[a]) / s->size);
        for (size_t e = 0; s->linear && e < 9; e++)
            s->linear[(9 * (size_t)u + e) * poses + pose] = (float)linear[e];
    }
    return px_progress(s->context, "poses", pose, s->pose_count);
}

static pelt_result find_all(chooser *c) {
    px_simplify *s = c->s;
    const pelt_model *model = s->model;
    uint32_t chosen[PELT_SIMPLIFY_POSES_MAX];
    c->locals = PX_NEW(c->arena, pelt_transform, model->skeleton.joint_count);
    c->globals = PX_NEW(c->arena, pelt_affine, model->skeleton.joint_count);
    c->palette = PX_NEW(c->arena, pelt_affine, model->skin.bone_count);
    c->morph_weights = PX_NEW(c->arena, float, model->morphs.morph_count);
    c->points = PX_NEW(c->arena, float, 3 * (size_t)model->mesh.points.count);
    if (!c->locals || !c->globals || !c->palette || !c->morph_weights || !c->points)
        return PELT_ERROR_MEMORY;
    PX_TRY(list_candidates(c));
    PX_TRY(choose(c, chosen));
    size_t count = (size_t)s->classes.count * s->pose_count;
    s->places = PX_NEW(s->arena, float, 3 * count);
    bool skinned = !s->own_places && model->skin.bone_count > 0;
    s->linear = skinned ? PX_NEW(s->arena, float, 9 * count) : NULL;
    if (!s->places || (skinned && !s->linear))
        return PELT_ERROR_MEMORY;
    for (uint32_t pose = 0; pose < s->pose_count; pose++)
        PX_TRY(fill_pose(c, &c->candidates[chosen[pose]], pose));
    return PELT_OK;
}

pelt_result px_simplify_poses(px_simplify *s) {
    const pelt_model *model = s->model;
    float low[3], high[3];
    s->size = px_box(model->mesh.positions, model->mesh.vertex_count, low, high);
    s->size = s->size > 0 ? s->size : 1;
    s->own_places = model->skin.bone_count == 0 && model->clip_count > 0 && model->clips[0].frame_count > 0;
    s->weights = PX_NEW(s->arena, double, PELT_SIMPLIFY_POSES_MAX);
    chooser c = {.s = s, .arena = px_arena_create(s->context)};
    pelt_result result = s->weights && c.arena ? find_all(&c) : PELT_ERROR_MEMORY;
    px_arena_destroy(c.arena);
    return result;
}
