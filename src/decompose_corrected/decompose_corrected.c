/* Alternates between bones and corrections, then adds the corrections; see decompose_corrected.h.
 *
 * A round decomposes, starting from the bones at hand, the animation less what the corrections add to the skin, and then
 * corrects the new bones starting from the mode weights at hand. Corrections are small beside the mesh, so what they add
 * hardly depends on the bones; where it does, and the round raised the error, the round is discarded.
 *
 * Rounds converge slowly along a narrow valley: what corrections add changes in about the same direction from round to
 * round. It is therefore extrapolated by its last change, until that fails.
 */
#include "core/skin.h"
#include "correct/correct.h"

#include <math.h>
#include <pelt/decompose_corrected.h>

#define FIELD(name) PELT_FIELD(pelt_decompose_corrected_desc, name)
static const pelt_option options[] = {
    {"corrections", 0, PELT_OPTION_UINT, FIELD(corrections), "0", 0, PELT_CORRECT_RANK_MAX, NULL, "R",
     "morph targets to add for the error that bones leave; see 'pelt help correct'"},
    {"rounds", 0, PELT_OPTION_UINT, FIELD(rounds), "8", 0, PELT_CORRECTION_ROUNDS_MAX, NULL, "N",
     "alternations between bones and corrections at most; 0: bones that fit best alone"},
    {"weights-format", 0, PELT_OPTION_CHOICE, FIELD(weights), "f32", 0, 0, "f32|u16|u8", NULL,
     "type of skin weights in the file: floats, which every program reads, or smaller whole numbers"},
};

PX_DESC(decompose_corrected, options)

#define ROUND_ITERATIONS 4u    /* per decomposition: more gain little before the modes are updated */
#define ROUND_SWEEPS     2u    /* alternations of the modes, likewise */
#define ROUND_MIN_GAIN   0.005 /* minimum relative reduction of the error for another round */

typedef struct rounds {
    pelt_context *context;
    px_arena *scratch;
    pelt_model *model;
    pelt_decompose_desc desc; /* of a round: few iterations, starting from a rig */
    pelt_correct_desc correct;
    pelt_correct_pair *pairs; /* [pair] clips that have frames */
    uint32_t pair_count;
    pelt_clip *clips; /* [clip] what a round decomposes: the animation less what corrections add */
    double *weights;  /* [rank][frame] of the modes; NULL before the first corrections */
    float *added;     /* [frame][point][3] what corrections add to the skin now … */
    float *before;    /* … and before the last round */
    float *next;      /* positions of `clips`, then what the corrections of the round add */
    double *errors;   /* [round + 1] E_rms */
    uint32_t round_count;
} rounds;

/* ---- Corrections ------------------------------------------------------------------------------------------ */

typedef struct adding {
    const px_correction *c;
    float *out; /* [frame][point][3] */
} adding;

/* Displacements of a class's rest position, through the blended transform. */
static void add_class(const px_correction *c, uint32_t u, uint32_t frame, float out[3]) {
    px_matrix places = px_modes_of(c, &c->modes, u, 1, c->rank_most);
    double b[9], x[3] = {0};
    px_correct_blend(c, u, frame, b);
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
        float *out = job->out + 3 * k * c->mesh.points.count;
        for (uint32_t i = 0; i < c->mesh.vertex_count; i++) {
            uint32_t u = pelt_vertex_class(&c->classes, i), same = pelt_class_vertex(&c->classes, u);
            float *place = out + 3 * (size_t)px_correct_point(c, i);
            if (same == i)
                add_class(c, u, (uint32_t)k, place);
            else
                memmove(place, out + 3 * (size_t)px_correct_point(c, same), 3 * sizeof *place);
        }
    }
    return PELT_OK;
}

static pelt_result find_modes(rounds *t, px_correction *c, double *error) {
    size_t numbers = (size_t)c->rank_most * c->frame_count;
    if (!t->weights)
        PX_TRY(px_correct_seed(c));
    memcpy(c->modes.weights, t->weights ? t->weights : c->seeds, numbers * sizeof *t->weights);
    return px_correct_settle(c, c->rank_most, ROUND_SWEEPS, error);
}

static pelt_result keep_modes(rounds *t, const px_correction *c) {
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

/* E_rms of a model with corrections. Where it is lower than `most` the corrections are kept for the next round. */
static pelt_result try_corrections(rounds *t, pelt_model *model, double most, double *error) {
    px_correction c = {.context = t->context,
                       .scratch = px_arena_create(t->context),
                       .model = model,
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

/* ---- Rounds ----------------------------------------------------------------------------------------------- */

/* The animation less what corrections add, extrapolated by `ahead` times their last change. */
static pelt_result make_targets(rounds *t, float ahead) {
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

static pelt_result try_round(rounds *t, float ahead, double *error) {
    pelt_model *bones;
    PX_TRY(make_targets(t, ahead));
    PX_TRY(pelt_model_borrow(t->context, t->model, &bones));
    bones->clips = t->clips;
    t->desc.rig = bones;
    double last = t->errors[t->round_count];
    pelt_result result = pelt_decompose(t->context, bones, &t->desc, NULL);
    if (result == PELT_OK)
        result = try_corrections(t, bones, last, error);
    if (result != PELT_OK || !(*error < last)) {
        pelt_model_destroy(bones);
        return result;
    }
    t->errors[++t->round_count] = *error;
    bones->clips = t->model->clips;
    px_model_adopt(t->model, bones);
    return PELT_OK;
}

static pelt_result run_rounds(rounds *t, uint32_t most) {
    const pelt_model *model = t->model;
    size_t frames = 0;
    t->clips = PX_NEW(t->scratch, pelt_clip, model->clip_count);
    t->errors = PX_NEW_LASTING(model->memory, double, (size_t)most + 1);
    if (!t->clips || !t->errors)
        return PELT_ERROR_MEMORY;
    for (uint32_t c = 0; c < model->clip_count; c++) {
        t->clips[c] = model->clips[c];
        t->clips[c].source = (pelt_clip_source){0};
        frames += model->clips[c].frame_count;
    }
    size_t floats = px_mul_size(px_mul_size(frames, model->mesh.points.count), 3);
    t->added = PX_NEW(t->scratch, float, floats);
    t->before = PX_NEW(t->scratch, float, floats);
    t->next = PX_NEW(t->scratch, float, floats);
    if (!t->added || !t->before || !t->next)
        return PELT_ERROR_MEMORY;
    PX_TRY(try_corrections(t, t->model, INFINITY, &t->errors[0]));
    float ahead = 0;
    for (uint32_t round = 0; round < most; round++) {
        double error, last = t->errors[t->round_count];
        PX_TRY(px_progress(t->context, "rounds", round, most));
        PX_TRY(try_round(t, ahead, &error));
        bool pays = error < (1 - ROUND_MIN_GAIN) * last;
        if (!pays && ahead == 0)
            break;
        ahead = pays;
    }
    return PELT_OK;
}

/* ---- Entry point ----------------------------------------------------------------------------------------- */

/* Rounds the weights to the file's integer format; no change for floats. */
static pelt_result round_weights(pelt_model *model, pelt_weight_format format) {
    pelt_skin *skin = &model->skin;
    uint32_t K = skin->influence_count, total = px_weight_total(format);
    if (total == 0)
        return PELT_OK;
    size_t count = (size_t)model->mesh.vertex_count * K;
    float *weights = PX_NEW(model->memory, float, count);
    uint16_t *bones = PX_NEW(model->memory, uint16_t, count);
    if (!weights || !bones)
        return PELT_ERROR_MEMORY;
    for (size_t i = 0; i < count; i += K)
        px_skin_round_weights(skin->weights + i, K, format, weights + i);
    for (size_t a = 0; a < count; a++) {
        weights[a] /= (float)total;
        bones[a] = weights[a] > 0 ? skin->bones[a] : 0;
    }
    skin->weights = weights;
    skin->bones = bones;
    return PELT_OK;
}

/* Rounds, normals and corrections of a model that was just decomposed; `source`: its mesh before. */
static pelt_result correct(rounds *t, const pelt_mesh *source, const pelt_decompose_corrected_desc *desc,
                           pelt_decompose_corrected_report *report) {
    pelt_model *model = t->model;
    bool free_bones = !t->desc.rig && !t->desc.hierarchy && t->desc.method == PELT_DECOMPOSE_FESAM;
    t->pairs = PX_NEW(t->scratch, pelt_correct_pair, model->clip_count);
    if (!t->pairs)
        return PELT_ERROR_MEMORY;
    for (uint32_t c = 0; c < model->clip_count; c++)
        if (model->clips[c].frame_count > 0)
            t->pairs[t->pair_count++] = (pelt_correct_pair){report->decompose.motions[c], &model->clips[c]};
    if (desc->rounds > 0 && free_bones) {
        bool fits_normals = !t->desc.turned_normals;
        t->desc.given_motion = t->desc.given_weights = true;
        t->desc.turned_normals = true;
        t->desc.iterations = ROUND_ITERATIONS;
        t->desc.rest_positions = NULL;
        t->desc.checkpoint = NULL;
        PX_TRY(run_rounds(t, desc->rounds));
        if (t->round_count > 0 && fits_normals)
            PX_TRY(pelt_decompose_normals(t->context, model, source));
        report->round_count = t->round_count;
        report->round_errors = t->errors;
    }
    PX_TRY(round_weights(model, (pelt_weight_format)desc->weights));
    return pelt_correct(t->context, model, t->pairs, t->pair_count, &t->correct, &report->correct);
}

static pelt_result decompose_and_correct(rounds *t, const pelt_decompose_corrected_desc *desc,
                                         pelt_decompose_corrected_report *report) {
    pelt_mesh source = t->model->mesh;
    PX_TRY(pelt_decompose(t->context, t->model, &t->desc, &report->decompose));
    double start = px_seconds();
    if (desc->corrections > 0)
        PX_TRY(correct(t, &source, desc, report));
    report->seconds_correct = px_seconds() - start;
    return PELT_OK;
}

pelt_result pelt_decompose_corrected(pelt_context *context, pelt_model *model, const pelt_decompose_desc *bones,
                                     const pelt_decompose_corrected_desc *desc,
                                     pelt_decompose_corrected_report *report) {
    if (report)
        *report = (pelt_decompose_corrected_report){0};
    PX_TAKE_DESC(context, decompose, bones, settings);
    PX_TAKE_DESC(context, decompose_corrected, desc, corrected);
    pelt_decompose_corrected_report made = {0};
    rounds t = {.context = context, .model = model, .desc = settings, .correct = pelt_correct_desc_default()};
    t.correct.rank = corrected.corrections;
    t.scratch = px_arena_create(context);
    px_operation operation = px_operation_begin(model);
    pelt_result result = t.scratch ? decompose_and_correct(&t, &corrected, &made) : PELT_ERROR_MEMORY;
    px_arena_destroy(t.scratch);
    if (report && result == PELT_OK)
        *report = made;
    return px_operation_end(&operation, result);
}
