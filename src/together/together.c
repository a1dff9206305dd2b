/* Bones and corrections in turn; see together.h.
 *
 * A round decomposes, from the bones that are there, the animation less what the corrections add to the skin, and then
 * corrects the new bones from the weights that the modes had. Corrections are small beside the mesh, so that what they
 * add hardly depends on the bones; where it does, and the round made it worse, it is not kept.
 *
 * Rounds go along a narrow valley: what corrections add changes from each to the next in about the same direction. They
 * are therefore carried on by as much as they changed, until that fails.
 */
#include "correct/correct.h"

#include <math.h>
#include <pelt/together.h>

#define STEPS  4u    /* iterations of each decomposition: more gain little before the modes follow */
#define SWEEPS 2u    /* of the modes, likewise */
#define ENOUGH 0.005 /* a round that takes less than this part of the error away did not pay */

typedef struct together {
    pelt_context *context;
    px_arena *scratch;
    pelt_model *model;
    pelt_decompose_desc desc; /* of a round */
    pelt_correct_desc correct;
    pelt_correct_pair *pairs; /* [pair] clips that have frames */
    uint32_t pair_count;
    pelt_clip *clips; /* [clip] the targets of a round */
    double *weights;  /* [rank][frame] of the modes; NULL: they are not known yet */
    float *added;     /* [frame][point][3] what corrections add to the skin … */
    float *before;    /* … did so before the last round … */
    float *next;      /* … or will, when the round is kept: until then, its targets */
    double *errors;   /* [round + 1] */
    uint32_t round_count;
} together;

/* ---- Corrections ------------------------------------------------------------------------------------------ */

typedef struct adding {
    const px_correction *c;
    float *out; /* [frame][point][3] */
} adding;

/* Displacements of a unit's rest position, through the blended transform. */
static void add_unit(const px_correction *c, uint32_t unit, uint32_t frame, float out[3]) {
    px_matrix places = px_modes_of(c, &c->modes, unit, 1, c->rank_most);
    double b[9], x[3] = {0};
    px_correct_blend(c, unit, frame, b);
    for (size_t r = 0; r < c->rank_most; r++)
        for (size_t a = 0; a < 3; a++)
            x[a] += c->modes.weights[r * c->frame_count + frame] * *px_matrix_at(places, a, r);
    for (size_t a = 0; a < 3; a++)
        out[a] = (float)(b[3 * a] * x[0] + b[3 * a + 1] * x[1] + b[3 * a + 2] * x[2]);
}

static pelt_result add_frames(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const adding *job = user;
    const px_correction *c = job->c;
    for (size_t k = first; k < first + count; k++) {
        float *out = job->out + 3 * k * c->mesh.point_count;
        for (uint32_t i = 0; i < c->mesh.vertex_count; i++) {
            uint32_t unit = c->units.of[i], same = c->units.vertices[unit];
            float *place = out + 3 * (size_t)px_correct_point(c, i);
            if (same == i)
                add_unit(c, unit, (uint32_t)k, place);
            else
                memmove(place, out + 3 * (size_t)px_correct_point(c, same), 3 * sizeof *place);
        }
    }
    return PELT_OK;
}

static pelt_result find_modes(together *t, px_correction *c, double *error) {
    size_t numbers = (size_t)c->rank_most * c->frame_count;
    if (!t->weights)
        PX_TRY(px_correct_seed(c));
    memcpy(c->modes.weights, t->weights ? t->weights : c->seeds, numbers * sizeof *t->weights);
    return px_correct_settle(c, c->rank_most, SWEEPS, error);
}

static pelt_result keep_modes(together *t, const px_correction *c) {
    if (!t->weights && !(t->weights = PX_NEW(t->scratch, double, (size_t)t->correct.rank * c->frame_count)))
        return PELT_ERROR_MEMORY;
    memcpy(t->weights, c->modes.weights, (size_t)c->rank_most * c->frame_count * sizeof *t->weights);
    PX_TRY(px_parallel(t->context, NULL, c->frame_count, 4, add_frames, &(adding){c, t->next}));
    float *oldest = t->before;
    t->before = t->added;
    t->added = t->next;
    t->next = oldest;
    return PELT_OK;
}

/* The error of bones with their corrections. When it is lower than `most` the corrections are kept. */
static pelt_result correct(together *t, pelt_model *bones, double most, double *error) {
    px_correction c = {.context = t->context,
                       .scratch = px_arena_create(t->context),
                       .model = bones,
                       .pairs = t->pairs,
                       .pair_count = t->pair_count,
                       .desc = t->correct};
    pelt_result result = c.scratch ? px_correct_begin(&c) : PELT_ERROR_MEMORY;
    if (result == PELT_OK)
        result = find_modes(t, &c, error);
    if (result == PELT_OK && *error < most)
        result = keep_modes(t, &c);
    px_arena_destroy(c.scratch);
    return result;
}

/* ---- Bones ------------------------------------------------------------------------------------------------ */

/* The animation less what corrections add, carried on by `ahead` times their last change. */
static pelt_result make_targets(together *t, float ahead) {
    float *out = t->next;
    const float *added = t->added, *before = t->before;
    for (uint32_t p = 0; p < t->pair_count; p++) {
        const pelt_clip *clip = t->pairs[p].clip;
        size_t floats = 3 * (size_t)clip->point_count;
        t->clips[clip - t->model->clips].positions = out;
        for (uint32_t k = 0; k < clip->frame_count; k++) {
            PX_TRY(pelt_clip_read(t->context, clip, k, 0, clip->point_count, out));
            px_clip_release(clip, clip->point_count);
            for (size_t e = 0; e < floats; e++)
                out[e] -= added[e] + ahead * (added[e] - before[e]);
            out += floats, added += floats, before += floats;
        }
    }
    return PELT_OK;
}

/* What decomposing made of it; all else stays the model's. */
static void take_bones(pelt_model *model, const pelt_model *from) {
    pelt_clip *clips = model->clips;
    *model = *from;
    model->clips = clips;
}

static pelt_result try_round(together *t, float ahead, double *error) {
    pelt_model bones = *t->model;
    bones.clips = t->clips;
    t->desc.rig = &bones;
    PX_TRY(make_targets(t, ahead));
    PX_TRY(pelt_decompose(t->context, &bones, &t->desc, NULL));
    double last = t->errors[t->round_count];
    PX_TRY(correct(t, &bones, last, error));
    if (*error < last) {
        take_bones(t->model, &bones);
        t->errors[++t->round_count] = *error;
    }
    return PELT_OK;
}

/* ---- The door --------------------------------------------------------------------------------------------- */

static pelt_result make_room(together *t, uint32_t rounds) {
    const pelt_model *model = t->model;
    size_t frames = 0;
    t->pairs = PX_NEW(t->scratch, pelt_correct_pair, model->clip_count);
    t->clips = PX_NEW(t->scratch, pelt_clip, model->clip_count);
    t->errors = PX_NEW(model->memory, double, (size_t)rounds + 1);
    if (!t->pairs || !t->clips || !t->errors)
        return PELT_ERROR_MEMORY;
    for (uint32_t c = 0; c < model->clip_count; c++) {
        t->clips[c] = model->clips[c];
        t->clips[c].source = (pelt_clip_source){0};
        frames += model->clips[c].frame_count;
        if (model->clips[c].frame_count > 0)
            t->pairs[t->pair_count++] = (pelt_correct_pair){c, &model->clips[c]};
    }
    size_t floats = px_mul_size(px_mul_size(frames, model->mesh.point_count), 3);
    t->added = PX_NEW(t->scratch, float, floats);
    t->before = PX_NEW(t->scratch, float, floats);
    t->next = PX_NEW(t->scratch, float, floats);
    return t->added && t->before && t->next ? PELT_OK : PELT_ERROR_MEMORY;
}

static pelt_result run(together *t, uint32_t rounds) {
    PX_TRY(make_room(t, rounds));
    PX_TRY(correct(t, t->model, INFINITY, &t->errors[0]));
    float ahead = 0;
    for (uint32_t round = 0; round < rounds; round++) {
        double error, last = t->errors[t->round_count];
        PX_TRY(px_progress(t->context, "together", round, rounds));
        PX_TRY(try_round(t, ahead, &error));
        bool pays = error < (1 - ENOUGH) * last;
        if (!pays && ahead == 0)
            break;
        ahead = pays;
    }
    return PELT_OK;
}

static bool are_free(const pelt_decompose_desc *desc) {
    return !desc->rig && !desc->hierarchy && desc->method == PELT_DECOMPOSE_FESAM;
}

pelt_result pelt_together(pelt_context *context, pelt_model *model, const pelt_decompose_desc *given, uint32_t rank,
                          uint32_t rounds, pelt_together_report *report) {
    if (report)
        *report = (pelt_together_report){0};
    PX_TAKE_DESC(context, decompose, given, settings);
    together t = {.context = context, .model = model, .desc = settings, .correct = pelt_correct_desc_default()};
    bool changes = rounds > 0 && are_free(&t.desc);
    pelt_model was = *model;
    if (rank < 1 || rank > PELT_CORRECT_RANK_MAX || rounds > PELT_TOGETHER_ROUNDS_MAX)
        return px_fail(context, PELT_ERROR_USAGE, "there can be from 1 to %u corrections and up to %u rounds",
                       PELT_CORRECT_RANK_MAX, PELT_TOGETHER_ROUNDS_MAX);
    t.correct.rank = rank;
    t.desc.given_motion = t.desc.given_weights = true;
    t.desc.turned_normals = true;
    t.desc.iterations = STEPS;
    t.desc.rest_positions = NULL;
    if (!(t.scratch = px_arena_create(context)))
        return PELT_ERROR_MEMORY;
    pelt_result result = changes ? run(&t, rounds) : PELT_OK;
    if (result != PELT_OK)
        *model = was;
    else if (report)
        *report = (pelt_together_report){t.round_count, t.errors};
    px_arena_destroy(t.scratch);
    return result;
}
