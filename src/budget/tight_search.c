/* The smallest file of rigid or affine bones that keeps a largest distance: bones are fitted to that distance (tight.c), and vertices
 * are chosen that encode to few bytes (tight_vertices.c).
 *
 * The distance of a fit falls about as a power of the number of bones, which says where on the ladder to look for the fewest that keep it. More
 * follow while files shrink, then numbers around the best.
 */
#include "budget/search.h"
#include "budget/tight.h"

#include <math.h>

#define POLISH_ROUNDS 16u
#define TIGHT_ROOM    0.93 /* share of max_error that exact numbers may take */
#define TIGHT_THIN    0.85 /* share of it for removed key frames */
#define KEY_STEP      0.35 /* first step of keys, as a share of max_error */
#define RIGID_MAX     48   /* where more rigid bones would be needed, affine ones are tried instead */
#define START_TRIES   8    /* precisions for the first file of a solution */
#define LOST          1.15 /* a first file larger than the best by this factor is not searched further */

/* A number of bones that was tried. */
typedef struct tight_fit {
    uint32_t bones;
    double distance; /* of exact numbers; an estimate where the fit ended early */
    uint64_t bytes;  /* of the smallest file; 0: none keeps the error */
} tight_fit;

typedef struct tight_search {
    px_budget *b;
    uint32_t transforms; /* pelt_transforms: rigid or affine */
    px_tight clips;      /* for all fits */
    px_precision first;  /* precision to begin with at the first number of bones … */
    px_precision start;  /* … and at this one: the keys of the best of the last number */
    tight_fit fits[2 * PX_LADDER_MAX];
    uint32_t fit_count;
} tight_search;

/* A file with vertices chosen for a precision. */
typedef struct tight_file {
    pelt_model *model; /* borrows from the solution */
    px_precision precision;
    double distance, error_rms;
    uint64_t bytes;
} tight_file;

static int bits_of(const px_budget *b, double step) {
    int bits = (int)ceil(b->exponent - px_log2(step));
    return bits < PX_PRECISION_MIN ? PX_PRECISION_MIN : bits > 22 ? 22 : bits;
}

/* Chooses vertices of a fit for its rounded keys as a reader has them. The model borrows from a solution. *distance: the largest. */
static pelt_result choose_vertices(px_budget *b, px_tight *fit, const px_write *write, const px_precision *precision,
                                   pelt_model *model, double *distance) {
    px_buffer bytes = {.context = b->context};
    pelt_model *keys = NULL;
    px_precision exact = *precision;
    px_vertex_grid grid = {b->exponent - precision->bits[PX_PRECISION_POSITIONS], precision->bits[PX_PRECISION_WEIGHTS],
                           0.9999 * b->desc.max_error};
    exact.keep_order = true;
    pelt_result result = px_tight_round(fit, model, precision);
    if (result == PELT_OK)
        result = px_precision_write(write, &exact, &bytes);
    if (result == PELT_OK)
        result = px_precision_read(b->context, &bytes, &keys);
    if (result == PELT_OK)
        result = px_tight_vertices(fit, b->model, keys, &grid, distance);
    pelt_model_destroy(keys); /* it reads from the bytes */
    px_buffer_free(&bytes);
    return result;
}

/* A fit with vertices of its own. */
static pelt_result copy_vertices(const px_tight *fit, px_arena *scratch, px_tight *copy) {
    size_t N = fit->point_count;
    *copy = *fit;
    copy->rest = PX_NEW(scratch, float, 3 * N);
    copy->bones = PX_NEW(scratch, uint16_t, PX_TIGHT_INFLUENCES * N);
    copy->weights = PX_NEW(scratch, float, PX_TIGHT_INFLUENCES *N);
    if (!copy->rest || !copy->bones || !copy->weights)
        return PELT_ERROR_MEMORY;
    memcpy(copy->rest, fit->rest, 3 * N * sizeof *copy->rest);
    memcpy(copy->bones, fit->bones, PX_TIGHT_INFLUENCES * N * sizeof *copy->bones);
    memcpy(copy->weights, fit->weights, PX_TIGHT_INFLUENCES * N * sizeof *copy->weights);
    return PELT_OK;
}

/* Writes rounded keys, chooses vertices for them, and measures the file. */
static pelt_result make_tight_file(px_budget *b, const px_tight *fit, const pelt_model *solution, tight_file *file) {
    px_buffer bytes = {.context = b->context};
    pelt_model *written = NULL;
    px_tight copy;
    px_precision exact = file->precision;
    exact.keep_order = true;
    PX_TRY(pelt_model_borrow(b->context, solution, &file->model));
    px_arena *scratch = px_arena_create(b->context);
    px_write write = {.context = b->context, .model = file->model, .mesh = &file->model->mesh, .desc = &b->save};
    pelt_result result = scratch ? copy_vertices(fit, scratch, &copy) : PELT_ERROR_MEMORY;
    if (result == PELT_OK)
        result = choose_vertices(b, &copy, &write, &file->precision, file->model, &file->distance);
    if (result == PELT_OK)
        result = px_tight_write_vertices(&copy, file->model);
    if (result == PELT_OK && file->distance <= b->desc.max_error) {
        result = px_precision_write(&write, &exact, &bytes);
        if (result == PELT_OK)
            result = px_precision_read(b->context, &bytes, &written);
        if (result == PELT_OK)
            result = px_budget_measure(b, written, true, &file->distance);
        file->error_rms = b->error_rms;
        pelt_model_destroy(written);
        if (result == PELT_OK)
            result = px_precision_write(&write, &file->precision, &bytes);
    }
    file->bytes = bytes.size + b->images;
    px_buffer_free(&bytes);
    px_arena_destroy(scratch);
    return result;
}

/* Kinds of numbers whose bits are searched for, and the fewest of each. */
static const struct {
    px_precision_kind kind;
    int least;
} tight_kinds[] = {{PX_PRECISION_TRANSLATIONS, PX_PRECISION_MIN},
                   {PX_PRECISION_ROTATIONS, PX_PRECISION_MIN},
                   {PX_PRECISION_SCALES, PX_PRECISION_MIN},
                   {PX_PRECISION_POSITIONS, PX_PRECISION_MIN},
                   {PX_PRECISION_WEIGHTS, 3}};
#define TIGHT_KEY_KINDS 3u /* the first of them are of keys */
#define TIGHT_BITS_MAX  22
#define TIGHT_ROUNDS    8u

/* Changes the bits of a kind by one. *better: the file is smaller and keeps the error; it becomes *best. */
static pelt_result try_bit(px_budget *b, const px_tight *fit, const pelt_model *solution, size_t n, int way,
                           tight_file *best, bool *better) {
    tight_file next = {.precision = best->precision};
    int bits = next.precision.bits[tight_kinds[n].kind] + way;
    *better = false;
    if (bits < tight_kinds[n].least || bits > TIGHT_BITS_MAX ||
        (!fit->affine && tight_kinds[n].kind == PX_PRECISION_SCALES))
        return PELT_OK;
    next.precision.bits[tight_kinds[n].kind] = (uint8_t)bits;
    pelt_result result = make_tight_file(b, fit, solution, &next);
    *better = result == PELT_OK && next.distance <= b->desc.max_error && next.bytes < best->bytes;
    pelt_model_destroy(*better ? best->model : next.model);
    if (*better)
        *best = next;
    return result;
}

/* The first file that keeps the error, from a precision on; no model: none does. */
static pelt_result first_tight_file(px_budget *b, const px_tight *fit, const pelt_model *solution, tight_file *best) {
    for (int finer = 0; finer < START_TRIES; finer++) {
        PX_TRY(px_cancelled(b->context));
        pelt_result result = make_tight_file(b, fit, solution, best);
        if (result == PELT_OK && best->distance <= b->desc.max_error)
            return PELT_OK;
        pelt_model_destroy(best->model);
        best->model = NULL;
        PX_TRY(result);
        for (size_t n = 0; n < PX_COUNT(tight_kinds); n++)
            if (best->precision.bits[tight_kinds[n].kind] < TIGHT_BITS_MAX)
                best->precision.bits[tight_kinds[n].kind]++;
    }
    return PELT_OK;
}

/* Changes the bits of one kind after another by one, in turn, while the file shrinks. All are lowered before any is raised: a kind lowered as
 * far as it goes would leave no distance to the others. Keys come first: they have most of the bytes, and vertices that are finer
 * than needed spare them some. All kinds follow where the file is smaller than the best. best->precision: where to begin. */
static pelt_result search_tight_file(px_budget *b, const px_tight *fit, const pelt_model *solution, tight_file *best) {
    static const size_t kinds[] = {TIGHT_KEY_KINDS, PX_COUNT(tight_kinds)};
    pelt_result result = first_tight_file(b, fit, solution, best);
    double most = b->best ? (double)b->best_trial.bytes : INFINITY;
    for (size_t phase = 0; phase < PX_COUNT(kinds) && result == PELT_OK && best->model; phase++) {
        size_t count = kinds[phase], idle = 0;
        if ((double)best->bytes > (phase == 0 ? LOST : 1) * most)
            break;
        for (size_t turn = 0; idle < count && turn < TIGHT_ROUNDS * count && result == PELT_OK; turn++) {
            bool better;
            result = try_bit(b, fit, solution, turn % count, -1, best, &better);
            if (!better && phase > 0 && result == PELT_OK)
                result = try_bit(b, fit, solution, turn % count, 1, best, &better);
            idle = better ? 0 : idle + 1;
        }
    }
    if (result != PELT_OK) {
        pelt_model_destroy(best->model);
        best->model = NULL;
    }
    return result;
}

/* ---- Solutions -------------------------------------------------------------------------------------------- */

/* Records a file; the best so far is kept with its solution. *taken: it was. */
static void take_file(tight_search *s, pelt_budget_trial trial, tight_file *file, pelt_model *solution,
                      pelt_model *base, bool *taken) {
    px_budget *b = s->b;
    trial.bytes = file->bytes;
    trial.error_rms = file->error_rms;
    trial.error_max_units = file->distance;
    px_budget_record(b, &trial);
    *taken = px_budget_is_better(b, &trial, true);
    s->start = file->precision;
    s->start.joint_bits = NULL; /* those of the solution */
    s->start.bits[PX_PRECISION_POSITIONS] = s->first.bits[PX_PRECISION_POSITIONS];
    s->start.bits[PX_PRECISION_WEIGHTS] = s->first.bits[PX_PRECISION_WEIGHTS];
    if (!*taken) {
        pelt_model_destroy(file->model);
        return;
    }
    px_model_adopt(solution, file->model);
    b->best_precision = file->precision;
    b->best_trial = trial;
    b->met = true;
    px_budget_keep(b, solution, base);
}

/* Files of one solution: with all key frames, and with fewer. *least: bytes of the smallest; 0: none keeps the error. */
static pelt_result try_tight_keys(tight_search *s, const px_tight *fit, pelt_model *base,
                                  const pelt_decompose_report *report, pelt_budget_trial trial, uint64_t *least) {
    px_budget *b = s->b;
    for (int pass = 0; pass < 2; pass++) {
        pelt_model *solution;
        tight_file file = {.precision = s->start};
        bool taken = false;
        PX_TRY(pelt_model_borrow(b->context, base, &solution));
        pelt_result result = px_tight_write(fit, solution, &file.precision.joint_bits);
        if (result == PELT_OK)
            result =
                px_budget_thin(b, report, solution, pass == 0 ? 0 : TIGHT_THIN * b->desc.max_error, &trial.key_count);
        bool tried = result == PELT_OK && (pass == 0 || trial.key_count <= 0.95 * b->frame_count);
        if (tried)
            result = search_tight_file(b, fit, solution, &file);
        if (tried && result == PELT_OK && file.model) {
            *least = *least == 0 || file.bytes < *least ? file.bytes : *least;
            take_file(s, trial, &file, solution, base, &taken);
        }
        if (!taken)
            pelt_model_destroy(solution);
        PX_TRY(result);
    }
    return PELT_OK;
}

/* Decomposes to a number of bones, fits them to the largest distance, and tries files; once for each number. */
static pelt_result try_tight(tight_search *s, uint32_t bones, const tight_fit **out) {
    px_budget *b = s->b;
    pelt_decompose_desc desc = b->bones;
    pelt_decompose_report report;
    pelt_model *base;
    for (uint32_t n = 0; n < s->fit_count; n++)
        if (s->fits[n].bones == bones) {
            *out = &s->fits[n];
            return PELT_OK;
        }
    desc.bones = bones;
    desc.transforms = s->transforms;
    desc.influences = desc.influences < PX_TIGHT_INFLUENCES ? desc.influences : PX_TIGHT_INFLUENCES;
    PX_TRY(px_progress(b->context, "trials", b->trial_count, PX_TRIAL_MAX));
    PX_TRY(pelt_model_borrow(b->context, b->model, &base));
    px_arena *arena = px_arena_create(b->context);
    px_tight fit;
    tight_fit made = {.bones = bones};
    double bound = TIGHT_ROOM * b->desc.max_error;
    pelt_result result = arena ? pelt_decompose(b->context, base, &desc, &report) : PELT_ERROR_MEMORY;
    if (result == PELT_OK)
        px_budget_leave_normals(b, base);
    if (result == PELT_OK)
        result = px_tight_read(&s->clips, arena, base, report.motions, &fit);
    if (result == PELT_OK)
        result = px_tight_polish(&fit, POLISH_ROUNDS, bound);
    if (result == PELT_OK) {
        pelt_budget_trial trial = {.bones = bones,
                                   .transforms = desc.transforms,
                                   .error_rms = report.error_fit,
                                   .error_max_units = fit.distance};
        made.distance = fit.expected;
        if (fit.distance <= bound) {
            result = px_tight_join(&fit, KEY_STEP * b->desc.max_error);
            if (result == PELT_OK)
                result = px_tight_frames(&fit);
        }
        if (fit.distance <= bound && result == PELT_OK)
            result = try_tight_keys(s, &fit, base, &report, trial, &made.bytes);
        if (made.bytes == 0)
            px_budget_record(b, &trial);
    }
    px_arena_destroy(arena);
    if (b->best_base != base)
        pelt_model_destroy(base);
    if (result == PELT_OK) {
        *out = &s->fits[s->fit_count];
        s->fits[s->fit_count++] = made;
    }
    return result;
}

/* ---- Numbers of bones ------------------------------------------------------------------------------------- */

/* The number of bones at which the distance will be `wanted`, as a power law through the two fits nearest to it in distance says. */
static double predict_bones(const tight_search *s, double wanted) {
    const tight_fit *near[2] = {NULL, NULL};
    double power = 0.7;
    for (uint32_t n = 0; n < s->fit_count; n++) {
        const tight_fit *fit = &s->fits[n];
        for (size_t r = 0; r < 2 && fit; r++)
            if (!near[r] || fabs(px_log2(fit->distance / wanted)) < fabs(px_log2(near[r]->distance / wanted))) {
                const tight_fit *other = near[r];
                near[r] = fit;
                fit = other;
            }
    }
    if (near[1])
        power =
            -px_log2(near[0]->distance / near[1]->distance) / px_log2((double)near[0]->bones / (double)near[1]->bones);
    power = px_fmin(px_fmax(power, 0.3), 1.2); /* of clips measured: 0.33 to 0.8 */
    return near[0]->bones * px_pow(near[0]->distance / wanted, 1 / power);
}

/* The fewest bones of the ladder that keep the error: *rung is its index, `count` where none does, or where more than
 * `most` will be needed. */
static pelt_result find_fewest(tight_search *s, const uint32_t *ladder, uint32_t count, uint32_t most, uint32_t *rung) {
    uint32_t low = 0, next = (count - 1) / 2;
    *rung = count;
    while (low < *rung && (*rung < count || ladder[next] <= most)) {
        const tight_fit *fit;
        PX_TRY(try_tight(s, ladder[next], &fit));
        if (fit->bytes > 0)
            *rung = next;
        else
            low = next + 1;
        double bones = predict_bones(s, TIGHT_ROOM * s->b->desc.max_error);
        for (next = low; next + 1 < *rung && ladder[next] < bones;)
            next++;
    }
    return PELT_OK;
}

/* The smallest file of bones of one kind, of which no more than `most` are needed. */
static pelt_result search_kind(tight_search *s, uint32_t most) {
    px_budget *b = s->b;
    uint32_t ladder[PX_LADDER_MAX], count = px_budget_ladder(b, ladder), rung, best = 0;
    const tight_fit *fit;
    for (int n = 0; n < PX_PRECISION_KINDS; n++)
        s->start.bits[n] = (uint8_t)bits_of(b, KEY_STEP * b->desc.max_error);
    s->start.bits[PX_PRECISION_POSITIONS] = (uint8_t)bits_of(b, 0.25 * b->desc.max_error);
    s->start.bits[PX_PRECISION_WEIGHTS] = 10; /* few bytes; fewer bits would need finer keys */
    s->first = s->start;
    PX_TRY(find_fewest(s, ladder, count, most, &rung));
    uint64_t last = UINT64_MAX;
    for (uint32_t n = rung; n < count; n++) {
        PX_TRY(try_tight(s, ladder[n], &fit));
        if (fit->bytes > 0 && (double)fit->bytes > PX_CLIMB_GAIN * (double)last)
            break;
        if (fit->bytes > 0) {
            last = fit->bytes;
            best = fit->bones;
        }
    }
    for (int way = -1; way <= 1 && best > 0; way += 2) {
        uint32_t bones = (uint32_t)(best * px_pow(PX_LADDER_RATIO, 0.5 * way) + 0.5);
        if (bones != best && bones <= b->desc.bones)
            PX_TRY(try_tight(s, bones, &fit));
    }
    if (b->best && b->best_trial.transforms == s->transforms) { /* halfway to the most bones that are too few */
        uint32_t few = 0, least = b->best_trial.bones;
        for (uint32_t n = 0; n < s->fit_count; n++)
            if (s->fits[n].bones < least && s->fits[n].bones > few)
                few = s->fits[n].bones;
        if (least - few > 1 + least / 12)
            PX_TRY(try_tight(s, (few + least) / 2, &fit));
    }
    return PELT_OK;
}

pelt_result px_budget_search_tight(px_budget *b) {
    tight_search rigid = {.b = b, .transforms = PELT_TRANSFORMS_RIGID, .start = {.exponent = b->exponent}};
    bool may_stretch = b->bones.transforms == PELT_TRANSFORMS_AFFINE;
    PX_TRY(px_tight_begin(b->context, b->scratch, b->model, &rigid.clips));
    tight_search affine = rigid;
    affine.transforms = PELT_TRANSFORMS_AFFINE;
    if (b->bones.transforms == PELT_TRANSFORMS_RIGID || !b->desc.one_kind)
        PX_TRY(search_kind(&rigid, may_stretch ? RIGID_MAX : PELT_NONE));
    return !b->best && may_stretch ? search_kind(&affine, PELT_NONE) : PELT_OK;
}
