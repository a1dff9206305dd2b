/* Finds how coarsely the numbers of a model can be stored so that no vertex moves farther than a bound.
 *
 * Nothing is estimated: every choice is written to memory, read back and measured. Each kind of numbers gets a share of
 * the bound and the fewest bits that keep it; then kinds lose further bits while the bound holds.
 */
#include "io/precision.h"

#include <math.h>
#include <pelt/measure.h>
#include <pelt/run.h>

#define SEARCH_POSES 48u /* compared while searching; the result is measured in all poses */

/* ---- Writing and reading a trial -------------------------------------------------------------------------- */

pelt_result px_precision_write(const px_write *write, const px_precision *precision, px_buffer *bytes) {
    px_write one = *write;
    one.precision = precision;
    one.path = "trial.glb";
    one.in_memory = one.trial = true;
    bytes->size = 0;
    one.output = px_output_begin_memory(write->context, bytes);
    if (!one.output)
        return PELT_ERROR_MEMORY;
    pelt_result result = px_format_gltf.write(&one);
    if (result == PELT_OK)
        return px_output_commit(one.output);
    px_output_abort(one.output);
    return result;
}

pelt_result px_precision_read(pelt_context *context, const px_buffer *bytes, pelt_model **model) {
    pelt_load_desc desc = pelt_load_desc_default();
    desc.join = "none";
    return pelt_load_memory(context, bytes->data, bytes->size, "trial.glb", &desc, model);
}

/* ---- Distance of two models ------------------------------------------------------------------------------- */

/* Poses two models alike and returns the largest distance of a vertex, or of a joint without vertices. */
typedef struct comparison {
    pelt_context *context;
    pelt_model *a, *b;
    float *positions[2]; /* [vertex][3] */
    pelt_affine *globals[2];
    pelt_transform *locals;
    double most;
} comparison;

static pelt_result compare_pose(comparison *c, uint32_t motion, float time) {
    const pelt_model *models[2] = {c->a, c->b};
    uint32_t vertices = c->a->mesh.vertex_count, joints = c->a->skeleton.joint_count;
    for (int m = 0; m < 2; m++) {
        const pelt_motion *played = motion == PELT_NONE ? NULL : &models[m]->motions[motion];
        if (vertices > 0) {
            PX_TRY(pelt_model_pose(c->context, models[m], played, time, PELT_SKINNING_LINEAR, c->positions[m], NULL));
            continue;
        }
        pelt_motion_sample(models[m], played, time, c->locals, NULL);
        pelt_skeleton_globals(&models[m]->skeleton, c->locals, c->globals[m]);
    }
    for (size_t i = 0; i < vertices || (vertices == 0 && i < joints); i++) {
        double square = 0;
        for (size_t x = 0; x < 3; x++) {
            double d = vertices > 0 ? (double)c->positions[0][3 * i + x] - (double)c->positions[1][3 * i + x]
                                    : (double)c->globals[0][i].m[4 * x + 3] - (double)c->globals[1][i].m[4 * x + 3];
            square += d * d;
        }
        c->most = px_fmax(c->most, sqrt(square));
    }
    return PELT_OK;
}

static const pelt_track *densest_track(const pelt_motion *motion) {
    const pelt_track *most = motion->track_count ? motion->tracks : NULL;
    for (uint32_t t = 1; t < motion->track_count; t++)
        if (motion->tracks[t].key_count > most->key_count)
            most = &motion->tracks[t];
    return most;
}

static pelt_result compare_poses(comparison *c, bool all) {
    size_t keys = 0;
    PX_TRY(compare_pose(c, PELT_NONE, 0));
    for (uint32_t m = 0; m < c->a->motion_count; m++) {
        const pelt_track *track = densest_track(&c->a->motions[m]);
        keys += track ? track->key_count : 0;
    }
    size_t step = all ? 1 : 1 + keys / SEARCH_POSES;
    for (uint32_t m = 0; m < c->a->motion_count; m++) {
        const pelt_track *track = densest_track(&c->a->motions[m]);
        for (size_t k = 0; track && k < track->key_count; k += step) {
            PX_TRY(px_cancelled(c->context));
            PX_TRY(compare_pose(c, m, track->times[k]));
        }
    }
    return PELT_OK;
}

static pelt_result measure_models(pelt_context *context, pelt_model *a, pelt_model *b, bool all, double *distance) {
    size_t vertices = a->mesh.vertex_count, joints = a->skeleton.joint_count;
    comparison c = {.context = context, .a = a, .b = b};
    if (b->mesh.vertex_count != vertices || b->skeleton.joint_count != joints || b->motion_count != a->motion_count)
        return px_fail(context, PELT_ERROR_OUTPUT, "the compressed file does not hold what was written");
    px_arena *scratch = px_arena_create(context);
    if (!scratch)
        return PELT_ERROR_MEMORY;
    for (int m = 0; m < 2; m++) {
        c.positions[m] = PX_NEW(scratch, float, 3 * vertices);
        c.globals[m] = PX_NEW(scratch, pelt_affine, joints);
    }
    c.locals = PX_NEW(scratch, pelt_transform, joints);
    bool enough = c.positions[0] && c.positions[1] && c.globals[0] && c.globals[1] && c.locals;
    pelt_result result = enough ? compare_poses(&c, all) : PELT_ERROR_MEMORY;
    px_arena_destroy(scratch);
    *distance = c.most;
    return result;
}

/* ---- Search ----------------------------------------------------------------------------------------------- */

static pelt_result try_precision(const px_precision_search *s, const px_precision *precision, bool all, size_t *size,
                                 double *distance) {
    px_buffer bytes = {.context = s->write->context};
    pelt_model *model = NULL;
    pelt_result result = px_precision_write(s->write, precision, &bytes);
    if (result == PELT_OK)
        result = px_precision_read(s->write->context, &bytes, &model);
    if (result == PELT_OK)
        result = s->measure(s->user, model, all, distance);
    *size = bytes.size;
    pelt_model_destroy(model);
    px_buffer_free(&bytes);
    return result;
}

#define GUESS_BITS 4 /* added to a guess at most */
#define SPARE_BITS 3 /* of the other kinds while one is measured */

static int clamp_bits(int bits) {
    return bits < PX_PRECISION_MIN ? PX_PRECISION_MIN : bits > PX_PRECISION_EXACT ? PX_PRECISION_EXACT : bits;
}

static void set_bits(px_precision *precision, int bits) {
    for (int k = 0; k < PX_PRECISION_KINDS; k++)
        precision->bits[k] = (uint8_t)clamp_bits(bits);
}

static void add_bit(px_precision *precision) {
    for (int k = 0; k < PX_PRECISION_KINDS; k++)
        precision->bits[k] = (uint8_t)clamp_bits(precision->bits[k] + 1);
}

static bool is_exact(const px_precision *precision) {
    for (int k = 0; k < PX_PRECISION_KINDS; k++)
        if (precision->bits[k] < PX_PRECISION_EXACT)
            return false;
    return true;
}

/* Bytes that one bit of each kind takes; 0: the file has no such numbers. */
static pelt_result find_gains(const px_precision_search *s, const px_precision *fine, double *gains) {
    size_t whole, less;
    double distance;
    PX_TRY(try_precision(s, fine, false, &whole, &distance));
    for (int k = 0; k < PX_PRECISION_KINDS; k++) {
        px_precision next = *fine;
        next.bits[k] = (uint8_t)clamp_bits(next.bits[k] - 2);
        PX_TRY(try_precision(s, &next, false, &less, &distance));
        gains[k] = whole > less ? 0.5 * (double)(whole - less) : 0;
    }
    return PELT_OK;
}

/* The fewest bits of one kind with which it alone moves no vertex by more than `bound`. */
static pelt_result find_bits(const px_precision_search *s, const px_precision *fine, int k, double bound, int *bits) {
    int low = PX_PRECISION_MIN, high = fine->bits[k];
    while (low < high) {
        px_precision next = *fine;
        size_t size;
        double distance;
        next.bits[k] = (uint8_t)((low + high) / 2);
        PX_TRY(try_precision(s, &next, false, &size, &distance));
        if (distance <= bound)
            high = (low + high) / 2;
        else
            low = (low + high) / 2 + 1;
    }
    *bits = low;
    return PELT_OK;
}

/* Independent errors add up like the sides of a right angle. The file is smallest where the square of each kind's share
 * is proportional to the bytes that a bit of it takes: as in rate-distortion theory, every byte saved then costs alike. */
static pelt_result share_bound(const px_precision_search *s, const px_precision *fine, const double *gains,
                               px_precision *out) {
    double sum = 0;
    for (int k = 0; k < PX_PRECISION_KINDS; k++)
        sum += gains[k];
    *out = *fine;
    for (int k = 0; k < PX_PRECISION_KINDS; k++) {
        int bits = PX_PRECISION_MIN;
        if (gains[k] > 0)
            PX_TRY(find_bits(s, fine, k, s->bound * sqrt(gains[k] / sum), &bits));
        out->bits[k] = (uint8_t)bits;
    }
    return PELT_OK;
}

/* Takes bits from one kind of numbers after another while the bound holds, those that save most first. */
static pelt_result coarsen(const px_precision_search *s, const double *gains, px_precision *best) {
    double left[PX_PRECISION_KINDS];
    memcpy(left, gains, sizeof left);
    for (;;) {
        int most = 0;
        for (int k = 1; k < PX_PRECISION_KINDS; k++)
            most = left[k] > left[most] ? k : most;
        px_precision next = *best;
        size_t size;
        double distance;
        if (left[most] == 0)
            return PELT_OK;
        next.bits[most] = (uint8_t)clamp_bits(next.bits[most] - 1);
        PX_TRY(try_precision(s, &next, false, &size, &distance));
        if (distance > s->bound || next.bits[most] == best->bits[most])
            left[most] = 0;
        else
            *best = next;
    }
}

/* Adds bits until some poses keep the bound, removes those that are not needed, and repeats with the poses that do not
 * keep it. After REPEATS adds bits only. */
#define REPEATS 3
static pelt_result settle(const px_precision_search *s, const double *gains, px_precision *precision,
                          double *distance) {
    size_t size;
    for (int round = 0;; round++) {
        for (;;) {
            PX_TRY(try_precision(s, precision, false, &size, distance));
            if (*distance <= s->bound || is_exact(precision))
                break;
            add_bit(precision);
        }
        if (*distance <= s->bound && round < REPEATS)
            PX_TRY(coarsen(s, gains, precision));
        PX_TRY(try_precision(s, precision, true, &size, distance));
        if (*distance <= s->bound || is_exact(precision))
            return PELT_OK;
        if (round >= REPEATS)
            add_bit(precision);
    }
}

/* Adds bits to a guess until some poses keep the bound; *kept: they do. */
static pelt_result adapt_guess(const px_precision_search *s, px_precision_guess *found, bool *kept) {
    *found = *s->guess;
    found->precision.keep_order = true;
    for (int turn = 0; turn < GUESS_BITS; turn++) {
        size_t size;
        double distance;
        PX_TRY(try_precision(s, &found->precision, false, &size, &distance));
        *kept = distance <= s->bound;
        if (*kept)
            return PELT_OK;
        add_bit(&found->precision);
    }
    return PELT_OK;
}

pelt_result px_precision_find(const px_precision_search *s, px_precision_guess *found, double *distance) {
    px_precision fine = {.exponent = s->exponent, .keep_order = true};
    size_t size;
    bool kept = false;
    if (s->guess)
        PX_TRY(adapt_guess(s, found, &kept));
    if (kept) {
        PX_TRY(settle(s, found->gains, &found->precision, distance));
        found->precision.keep_order = false;
        return PELT_OK;
    }
    set_bits(&fine, (int)ceil(s->exponent - px_log2(s->bound)) + SPARE_BITS);
    for (;;) {
        PX_TRY(try_precision(s, &fine, false, &size, distance));
        if (*distance <= s->bound || is_exact(&fine))
            break;
        add_bit(&fine);
    }
    *found = (px_precision_guess){.precision = fine};
    if (*distance <= s->bound) {
        PX_TRY(find_gains(s, &fine, found->gains));
        PX_TRY(share_bound(s, &fine, found->gains, &found->precision));
        PX_TRY(settle(s, found->gains, &found->precision, distance));
    } else
        PX_TRY(try_precision(s, &fine, true, &size, distance));
    found->precision.keep_order = false;
    return PELT_OK;
}

/* ---- Of one model ----------------------------------------------------------------------------------------- */

typedef struct own_measure {
    pelt_context *context;
    pelt_model *plain; /* the uncompressed file */
    bool all;          /* compare in all poses */
} own_measure;

static pelt_result measure_own(void *user, pelt_model *written, bool all, double *distance) {
    own_measure *own = user;
    PX_TRY(measure_models(own->context, own->plain, written, all || own->all, distance));
    own->all |= all; /* the poses left out missed the bound: compare all from now on */
    return PELT_OK;
}

pelt_result px_precision_size(pelt_context *context, const pelt_model *model, double *size, int *exponent) {
    const pelt_skeleton *skeleton = &model->skeleton;
    pelt_ball ball = {0};
    if (model->mesh.vertex_count > 0)
        PX_TRY(pelt_enclosing_ball(context, model->mesh.positions, model->mesh.vertex_count, &ball));
    else if (skeleton->joint_count > 0) {
        pelt_affine *globals = PX_ALLOC(context, pelt_affine, skeleton->joint_count);
        if (!globals)
            return PELT_ERROR_MEMORY;
        pelt_skeleton_globals(skeleton, skeleton->rest, globals);
        for (uint32_t j = 0; j < skeleton->joint_count; j++)
            for (int x = 0; x < 3; x++)
                ball.radius = px_fmax(ball.radius, fabs((double)globals[j].m[4 * x + 3]));
        px_free(context, globals);
    }
    *size = ball.radius > 0 ? 2 * ball.radius : 1;
    frexp(*size, exponent);
    return PELT_OK;
}

pelt_result px_precision_of(const px_write *write, px_precision *precision, pelt_compress_report *report) {
    own_measure own = {.context = write->context};
    px_precision_search search = {.write = write, .measure = measure_own, .user = &own};
    px_buffer bytes = {.context = write->context};
    px_precision_guess found = {0};
    double size;
    PX_TRY(px_precision_size(write->context, write->model, &size, &search.exponent));
    search.bound = write->desc->compress_error * size;
    pelt_result result = px_precision_write(write, NULL, &bytes);
    if (result == PELT_OK)
        result = px_precision_read(write->context, &bytes, &own.plain);
    if (result == PELT_OK)
        result = px_precision_find(&search, &found, &report->distance);
    *precision = found.precision;
    report->fraction = report->distance / size;
    pelt_model_destroy(own.plain);
    px_buffer_free(&bytes);
    return result;
}
