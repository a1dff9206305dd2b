/* Decomposition within a budget: a search over kinds of bones, numbers of bones and of morph targets, key frames and
 * precision.
 *
 * Numbers of bones are tried on a ladder of ratio √2, refined around the best. For the smallest file of a given error the
 * fewest bones that reach it come first; more bones leave room for fewer keys and coarser numbers, so the ladder is
 * climbed while files shrink. With desc.smallest, bones are rigid and fitted to the largest distance (rigid.c), and vertices
 * are chosen that encode to few bytes (rigid_vertices.c); where no number of rigid bones keeps the error, other kinds
 * follow. For the smallest error within a number of bytes the ladder is descended while the error falls. The animation is reduced once.
 */
#include <pelt/budget.h>

#include "budget/rigid.h"
#include "budget/thin.h"
#include "io/meshopt.h"
#include "io/precision.h"

#include <math.h>
#include <pelt/measure.h>
#include <pelt/run.h>

#define FIELD(name) PELT_FIELD(pelt_budget_desc, name)
static const pelt_option options[] = {
    {"budget-bones", 0, PELT_OPTION_UINT, FIELD(bones), "128", 1, 4000, NULL, "N", "bones at most"},
    {"budget-influences", 0, PELT_OPTION_UINT, FIELD(influences), "4", 1, PELT_MAX_INFLUENCES, NULL, "K",
     "bones per vertex at most"},
    {"budget-morphs", 0, PELT_OPTION_UINT, FIELD(morphs), "0", 0, PELT_CORRECT_RANK_MAX, NULL, "R",
     "corrective morph targets at most"},
    {"budget-bytes", 0, PELT_OPTION_SIZE, FIELD(bytes), "0", 0, 0, NULL, "SIZE", "size of the file at most; 0: any"},
    {"max-error", 0, PELT_OPTION_REAL, FIELD(max_error), "0", 0, 1e30, NULL, "X",
     "largest distance of a vertex, in units of the file: the smallest file that keeps it; 0: the smallest error"},
    {"one-kind", 0, PELT_OPTION_FLAG, FIELD(one_kind), NULL, 0, 0, NULL, NULL, "use bones of one kind only"},
    {"smallest", 0, PELT_OPTION_FLAG, FIELD(smallest), NULL, 0, 0, NULL, NULL,
     "with max-error: fewer bytes, an uneven surface, and normals only where the source has some"},
};

PX_DESC(budget, options)

#define LADDER_RATIO  1.41421356
#define LADDER_MAX    24u
#define TRIAL_MAX     160u
#define SEARCH_ROUNDS 2u    /* alternations of bones and morph targets in a trial */
#define EXACT_ROOM    0.98  /* share of max_error that exact numbers may take: rounding needs some */
#define CLIMB_GAIN    0.995 /* more bones must make the file smaller by this factor */
#define PROBES        12u /* frames with the largest errors, and as many spread evenly, that precisions are tried on */

typedef struct budget {
    pelt_context *context;
    px_arena *scratch;
    pelt_model *model; /* what is decomposed */
    pelt_budget_desc desc;
    pelt_decompose_desc bones;
    pelt_decompose_cache *cache;
    pelt_save_desc save;
    double size;   /* of the model at rest */
    int exponent;  /* of px_precision */
    double radius; /* by which E_rms is divided */
    size_t images; /* bytes of the file that trials leave out */
    uint32_t frame_count;
    pelt_budget_trial *trials; /* [TRIAL_MAX] */
    uint32_t trial_count;
    pelt_model *best;      /* NULL: none yet; borrows from … */
    pelt_model *best_base; /* … the solution before key frames were removed, which borrows from `model` */
    px_precision best_precision;
    pelt_budget_trial best_trial;
    bool met;
    bool closest; /* no trial kept max_error: write one that exceeds it */
    /* the candidate at hand */
    uint32_t *points; /* [vertex of its file] point; NULL: i */
    uint32_t point_count;
    px_rigid rigid;              /* clips for fits of rigid bones; targets NULL: there are none */
    px_precision start;          /* precision to begin with: the best of the last number of bones */
    double *frame_most;          /* [frame] largest squared distance, over all clips … */
    double *frame_sums;          /* [frame] … and the sum of squares */
    bool *probed;                /* [frame] */
    double error_rms, error_max; /* last measured in all frames */
} budget;

/* ---- Errors of a file ------------------------------------------------------------------------------------- */

typedef struct comparison {
    const pelt_clip *clip, *played;
    pelt_context *context;
    double *most, *sums; /* [frame] */
    const bool *wanted;  /* [frame]; NULL: all */
} comparison;

static pelt_result compare_frames(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const comparison *c = user;
    size_t points = c->clip->point_count;
    float *a = PX_ALLOC(c->context, float, 6 * points), *b = a ? a + 3 * points : NULL;
    pelt_result result = a ? PELT_OK : PELT_ERROR_MEMORY;
    for (size_t k = first; k < first + count && result == PELT_OK; k++) {
        if (c->wanted && !c->wanted[k])
            continue;
        result = pelt_clip_read(c->context, c->clip, (uint32_t)k, 0, (uint32_t)points, a);
        if (result == PELT_OK)
            result = pelt_clip_read(c->context, c->played, (uint32_t)k, 0, (uint32_t)points, b);
        double most = 0, sum = 0;
        for (size_t p = 0; p < points && result == PELT_OK; p++) {
            double square = 0;
            for (size_t x = 0; x < 3; x++) {
                double d = (double)a[3 * p + x] - (double)b[3 * p + x];
                square += d * d;
            }
            most = px_fmax(most, square);
            sum += square;
        }
        c->most[k] = most;
        c->sums[k] = sum;
    }
    px_free(c->context, a);
    return result;
}

/* Adds the frames with the largest errors to those that precisions are tried on, after all were measured. */
static void choose_probes(budget *b) {
    uint32_t step = b->frame_count / PROBES + 1;
    for (uint32_t k = 0; k < b->frame_count; k++)
        b->probed[k] |= k % step == 0;
    for (uint32_t n = 0; n < PROBES; n++) {
        uint32_t worst = PELT_NONE;
        for (uint32_t k = 0; k < b->frame_count; k++)
            if (!b->probed[k] && (worst == PELT_NONE || b->frame_most[k] > b->frame_most[worst]))
                worst = k;
        if (worst != PELT_NONE)
            b->probed[worst] = true;
    }
}

/* The largest distance of the motions of a file from the clips. */
static pelt_result measure(void *user, pelt_model *written, bool all, double *distance) {
    budget *b = user;
    double most = 0, sum = 0;
    uint32_t motion = 0, first = 0;
    if (b->points)
        PX_TRY(pelt_model_set_points(b->context, written, b->point_count, b->points));
    for (uint32_t n = 0; n < b->model->clip_count; n++) {
        const pelt_clip *clip = &b->model->clips[n];
        pelt_clip played;
        if (clip->frame_count == 0)
            continue;
        const pelt_motion *played_motion = motion < written->motion_count ? &written->motions[motion++] : NULL;
        PX_TRY(pelt_clip_from_motion_at(b->context, written, played_motion, clip->times, clip->frame_count,
                                        PELT_SKINNING_LINEAR, &played));
        comparison c = {
            clip, &played, b->context, b->frame_most + first, b->frame_sums + first, all ? NULL : b->probed + first};
        PX_TRY(px_parallel(b->context, NULL, clip->frame_count, 1, compare_frames, &c));
        first += clip->frame_count;
    }
    for (uint32_t k = 0; k < b->frame_count; k++) {
        if (!all && !b->probed[k])
            continue;
        most = px_fmax(most, b->frame_most[k]);
        sum += b->frame_sums[k];
    }
    *distance = sqrt(most);
    if (all) { /* the worst frames are probed from now on */
        choose_probes(b);
        double numbers = 3.0 * b->model->mesh.points.count * b->frame_count;
        b->error_max = *distance;
        b->error_rms = 1000 * sqrt(sum / numbers) / b->radius;
    }
    return PELT_OK;
}

/* ---- Files ------------------------------------------------------------------------------------------------ */

/* Measures the candidate with exact numbers, and finds the points of its file's vertices. */
static pelt_result measure_exact(budget *b, const px_write *write) {
    px_buffer bytes = {.context = b->context};
    pelt_model *plain = NULL;
    double distance;
    b->points = NULL;
    pelt_result result = px_precision_write(write, NULL, &bytes);
    if (result == PELT_OK)
        result = px_precision_read(b->context, &bytes, &plain);
    if (result == PELT_OK)
        result = pelt_model_take_points(b->context, plain, b->model);
    if (result == PELT_OK && plain->mesh.points.of) {
        b->point_count = plain->mesh.points.count;
        b->points = PX_NEW(b->scratch, uint32_t, plain->mesh.vertex_count);
        if (b->points)
            memcpy(b->points, plain->mesh.points.of, plain->mesh.vertex_count * sizeof *b->points);
        else
            result = PELT_ERROR_MEMORY;
    }
    memset(b->probed, 0, b->frame_count * sizeof *b->probed);
    if (result == PELT_OK)
        result = measure(b, plain, true, &distance);
    pelt_model_destroy(plain);
    px_buffer_free(&bytes);
    return result;
}

/* Finds the coarsest precision within a distance; fills in error and bytes of the trial. */
static pelt_result round_within(budget *b, const px_write *write, double bound, px_precision *precision,
                                pelt_budget_trial *trial) {
    px_precision_search search = {write, bound, b->exponent, measure, b};
    px_buffer bytes = {.context = b->context};
    PX_TRY(px_precision_find(&search, precision, &trial->error_max_units));
    trial->error_rms = b->error_rms;
    pelt_result result = px_precision_write(write, precision, &bytes);
    trial->bytes = bytes.size + b->images;
    px_buffer_free(&bytes);
    return result;
}

static bool is_better(const budget *b, const pelt_budget_trial *trial, bool met) {
    const pelt_budget_trial *best = &b->best_trial;
    if (!b->best || met != b->met)
        return !b->best || met;
    if (b->desc.max_error > 0)
        return met ? trial->bytes < best->bytes : trial->error_max_units < best->error_max_units;
    return met ? trial->error_rms < best->error_rms : trial->bytes < best->bytes;
}

/* Rounds a candidate as the goal asks and records it. *better: it is the best so far. */
static pelt_result try_file(budget *b, const pelt_model *candidate, pelt_budget_trial trial, bool *better) {
    static const double growth[] = {1.02, 1.1, 1.3, 1.7, 2.5, 4};
    px_write write = {.context = b->context, .model = candidate, .mesh = &candidate->mesh, .desc = &b->save};
    px_precision precision = {0};
    bool met = false;
    *better = false;
    PX_TRY(px_progress(b->context, "trials", b->trial_count, TRIAL_MAX));
    PX_TRY(measure_exact(b, &write));
    trial.error_rms = b->error_rms;
    trial.error_max_units = b->error_max;
    double exact = px_fmax(b->error_max, 1e-6 * b->size), most = b->desc.max_error;
    if (most > 0 && exact <= EXACT_ROOM * most) {
        PX_TRY(round_within(b, &write, most, &precision, &trial));
        met = trial.error_max_units <= most;
    } else if (most > 0 && b->closest)
        PX_TRY(round_within(b, &write, 1.05 * exact, &precision, &trial));
    for (size_t g = 0; most == 0 && !met && g < PX_COUNT(growth); g++) {
        PX_TRY(round_within(b, &write, growth[g] * exact, &precision, &trial));
        met = b->desc.bytes == 0 || trial.bytes <= b->desc.bytes;
    }
    if (b->trial_count < TRIAL_MAX)
        b->trials[b->trial_count++] = trial;
    *better = trial.bytes > 0 && is_better(b, &trial, met);
    if (*better) {
        b->best_precision = precision;
        b->best_trial = trial;
        b->met = met;
    }
    return PELT_OK;
}

/* ---- Candidates ------------------------------------------------------------------------------------------- */

/* Shares of max_error, or multiples of the exact error, that removed key frames may cause; 0: none are removed. */
static const double thin_shares[] = {0, 0.8, 0.93}, thin_growth[] = {0, 1.2, 1.6};

static pelt_result thin(budget *b, const pelt_decompose_report *report, pelt_model *candidate, double bound,
                        uint32_t *keys) {
    *keys = 0;
    for (uint32_t n = 0; n < b->model->clip_count; n++) {
        const pelt_clip *clip = &b->model->clips[n];
        uint32_t count = clip->frame_count;
        if (count > 0 && bound > 0)
            PX_TRY(px_thin_keys(b->context, candidate, &candidate->motions[report->motions[n]], clip, bound, &count));
        *keys += count;
    }
    return PELT_OK;
}

static void keep_best(budget *b, pelt_model *candidate, pelt_model *base) {
    pelt_model *old = b->best, *old_base = b->best_base;
    b->best = candidate;
    b->best_base = base;
    pelt_model_destroy(old);
    if (old_base != base)
        pelt_model_destroy(old_base);
}

/* Tries files of a solution with all key frames, then with fewer. Stops where fewer do not help. */
static pelt_result try_keys(budget *b, pelt_model *base, const pelt_decompose_report *report, pelt_budget_trial trial) {
    bool goal = b->desc.max_error > 0;
    double exact = 0;
    for (size_t n = 0; n < PX_COUNT(thin_shares); n++) {
        pelt_model *candidate;
        bool better = false;
        double bound = goal ? thin_shares[n] * b->desc.max_error : thin_growth[n] * exact;
        PX_TRY(pelt_model_borrow(b->context, base, &candidate));
        pelt_result result = thin(b, report, candidate, bound, &trial.key_count);
        bool fewer = n == 0 || trial.key_count < b->frame_count;
        if (result == PELT_OK && fewer)
            result = try_file(b, candidate, trial, &better);
        if (n == 0)
            exact = b->error_max;
        if (better)
            keep_best(b, candidate, base);
        else
            pelt_model_destroy(candidate);
        PX_TRY(result);
        bool hopeless = goal && exact > EXACT_ROOM * b->desc.max_error;
        bool idle = !goal && (b->desc.bytes == 0 || b->trials[b->trial_count - 1].bytes <= b->desc.bytes);
        if (hopeless || idle)
            break;
    }
    return PELT_OK;
}

/* The smallest files have normals only where the source has. */
static void leave_normals(const budget *b, pelt_model *solution) {
    if (b->desc.smallest && !b->model->mesh.normals)
        solution->mesh.normals = solution->mesh.tangents = NULL;
}

/* Decomposes with these numbers of bones and morph targets and tries files of the result. *trial: the first of them. */
static pelt_result try_bones(budget *b, uint32_t transforms, uint32_t bones, uint32_t morphs,
                             pelt_budget_trial *first) {
    pelt_decompose_desc desc = b->bones;
    pelt_decompose_corrected_desc corrected = pelt_decompose_corrected_desc_default();
    pelt_decompose_corrected_report report;
    pelt_model *base;
    for (uint32_t n = 0; n < b->trial_count; n++) /* tried before */
        if (b->trials[n].transforms == transforms && b->trials[n].bones == bones && b->trials[n].morphs == morphs) {
            *first = b->trials[n];
            return PELT_OK;
        }
    desc.bones = bones;
    desc.transforms = transforms;
    corrected.corrections = morphs;
    corrected.rounds = SEARCH_ROUNDS;
    uint32_t number = b->trial_count;
    PX_TRY(pelt_model_borrow(b->context, b->model, &base));
    pelt_result result = pelt_decompose_corrected(b->context, base, &desc, &corrected, &report);
    pelt_budget_trial trial = {.bones = bones, .transforms = transforms, .morphs = morphs};
    if (result == PELT_OK)
        leave_normals(b, base);
    if (result == PELT_OK)
        result = try_keys(b, base, &report.decompose, trial);
    if (b->best_base != base)
        pelt_model_destroy(base);
    if (result == PELT_OK)
        *first = b->trials[number < b->trial_count ? number : b->trial_count - 1];
    return result;
}

/* ---- Search ----------------------------------------------------------------------------------------------- */

/* Numbers of bones with ratio √2, the largest allowed last. */
static uint32_t make_ladder(const budget *b, uint32_t *ladder) {
    uint32_t count = 0, most = b->desc.bones, points = b->model->mesh.points.count;
    most = most < points ? most : points;
    for (double bones = 4; bones < most * 0.85 && count + 1 < LADDER_MAX; bones *= LADDER_RATIO)
        ladder[count++] = (uint32_t)(bones + 0.5);
    ladder[count++] = most;
    return count;
}

static bool keeps_error(const budget *b, const pelt_budget_trial *trial) {
    return trial->bytes > 0 && trial->error_max_units <= b->desc.max_error;
}

/* ---- Rigid bones -------------------------------------------------------------------------------------------- */

#define POLISH_ROUNDS    5u
#define RIGID_ROOM       0.93       /* share of max_error that exact numbers may take */
#define RIGID_THIN       0.85       /* share of it for removed key frames */
#define RIGID_NUMBER_MAX (1u << 26) /* points times frames that are held in memory */

/* A file with vertices chosen for a precision. */
typedef struct rigid_file {
    pelt_model *model; /* borrows from the solution */
    px_precision precision;
    double distance, error_rms;
    uint64_t bytes;
} rigid_file;

static int bits_of(const budget *b, double step) {
    int bits = (int)ceil(b->exponent - px_log2(step));
    return bits < PX_PRECISION_MIN ? PX_PRECISION_MIN : bits > 22 ? 22 : bits;
}

/* Writes keys with a precision, reads them back, chooses vertices for them, and measures the file. */
static pelt_result make_rigid_file(budget *b, const px_rigid *fit, const pelt_model *solution, rigid_file *file) {
    px_buffer bytes = {.context = b->context};
    pelt_model *keys = NULL, *written = NULL;
    px_arena *scratch = px_arena_create(b->context);
    px_rigid copy = *fit;
    px_precision exact = file->precision;
    px_vertex_grid grid = {b->exponent - file->precision.bits[PX_PRECISION_POSITIONS],
                           file->precision.bits[PX_PRECISION_WEIGHTS], 0.9999 * b->desc.max_error};
    size_t N = fit->point_count;
    exact.keep_order = true;
    copy.rest = scratch ? PX_NEW(scratch, float, 3 * N) : NULL;
    copy.bones = scratch ? PX_NEW(scratch, uint16_t, PX_RIGID_INFLUENCES * N) : NULL;
    copy.weights = scratch ? PX_NEW(scratch, float, PX_RIGID_INFLUENCES *N) : NULL;
    pelt_result result = copy.rest && copy.bones && copy.weights ? PELT_OK : PELT_ERROR_MEMORY;
    if (result == PELT_OK) {
        memcpy(copy.rest, fit->rest, 3 * N * sizeof *copy.rest);
        memcpy(copy.bones, fit->bones, PX_RIGID_INFLUENCES * N * sizeof *copy.bones);
        memcpy(copy.weights, fit->weights, PX_RIGID_INFLUENCES * N * sizeof *copy.weights);
        result = pelt_model_borrow(b->context, solution, &file->model);
    }
    px_write write = {.context = b->context, .desc = &b->save};
    if (result == PELT_OK) {
        write.model = solution, write.mesh = &solution->mesh;
        result = px_precision_write(&write, &exact, &bytes);
    }
    if (result == PELT_OK)
        result = px_precision_read(b->context, &bytes, &keys);
    if (result == PELT_OK)
        result = px_rigid_vertices(&copy, b->model, keys, &grid, &file->distance);
    if (result == PELT_OK)
        result = px_rigid_write_vertices(&copy, file->model);
    pelt_model_destroy(keys); /* it reads from the bytes */
    if (result == PELT_OK && file->distance <= b->desc.max_error) {
        write.model = file->model, write.mesh = &file->model->mesh;
        result = px_precision_write(&write, &exact, &bytes);
        if (result == PELT_OK)
            result = px_precision_read(b->context, &bytes, &written);
        if (result == PELT_OK)
            result = measure(b, written, true, &file->distance);
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
} rigid_kinds[] = {{PX_PRECISION_TRANSLATIONS, PX_PRECISION_MIN},
                   {PX_PRECISION_ROTATIONS, PX_PRECISION_MIN},
                   {PX_PRECISION_POSITIONS, PX_PRECISION_MIN},
                   {PX_PRECISION_WEIGHTS, 3}};
#define RIGID_BITS_MAX 22

/* Changes the bits of a kind by one. *better: the file is smaller and keeps the error; it becomes *best. */
static pelt_result try_bit(budget *b, const px_rigid *fit, const pelt_model *solution, size_t n, int way,
                           rigid_file *best, bool *better) {
    rigid_file next = {.precision = best->precision};
    int bits = next.precision.bits[rigid_kinds[n].kind] + way;
    *better = false;
    if (bits < rigid_kinds[n].least || bits > RIGID_BITS_MAX)
        return PELT_OK;
    next.precision.bits[rigid_kinds[n].kind] = (uint8_t)bits;
    pelt_result result = make_rigid_file(b, fit, solution, &next);
    *better = result == PELT_OK && next.distance <= b->desc.max_error && next.bytes < best->bytes;
    pelt_model_destroy(*better ? best->model : next.model);
    if (*better)
        *best = next;
    return result;
}

/* The first file that keeps the error, from b->start on; no model: none of three does. */
static pelt_result first_rigid_file(budget *b, const px_rigid *fit, const pelt_model *solution, rigid_file *best) {
    *best = (rigid_file){.precision = b->start};
    for (int finer = 0; finer < 3; finer++) {
        PX_TRY(px_cancelled(b->context));
        pelt_result result = make_rigid_file(b, fit, solution, best);
        if (result == PELT_OK && best->distance <= b->desc.max_error)
            return PELT_OK;
        pelt_model_destroy(best->model);
        best->model = NULL;
        PX_TRY(result);
        for (size_t n = 0; n < PX_COUNT(rigid_kinds); n++)
            best->precision.bits[rigid_kinds[n].kind]++;
    }
    return PELT_OK;
}

/* Changes the bits of one kind after another while the file shrinks; of keys only, unless `thorough`. */
static pelt_result search_rigid_file(budget *b, const px_rigid *fit, const pelt_model *solution, bool thorough,
                                     rigid_file *best) {
    bool settled[PX_COUNT(rigid_kinds)] = {false};
    size_t turns = thorough ? 2 * PX_COUNT(rigid_kinds) : 2;
    pelt_result result = first_rigid_file(b, fit, solution, best);
    for (size_t turn = 0; turn < turns && best->model && result == PELT_OK; turn++) {
        size_t n = turn % PX_COUNT(rigid_kinds);
        bool better = !settled[n], changed = false;
        while (better && result == PELT_OK) {
            result = try_bit(b, fit, solution, n, -1, best, &better);
            changed |= better;
        }
        if (!settled[n] && !changed && result == PELT_OK)
            result = try_bit(b, fit, solution, n, 1, best, &changed);
        if (changed)
            memset(settled, 0, sizeof settled);
        settled[n] = true;
    }
    if (result != PELT_OK) {
        pelt_model_destroy(best->model);
        best->model = NULL;
    }
    return result;
}

static void record(budget *b, const pelt_budget_trial *trial) {
    if (b->trial_count < TRIAL_MAX)
        b->trials[b->trial_count++] = *trial;
}

/* Files of one solution: with all key frames, and with fewer. */
static pelt_result try_rigid_keys(budget *b, px_rigid *fit, pelt_model *base, const pelt_decompose_report *report,
                                  pelt_budget_trial *trial) {
    for (int pass = 0; pass < 2; pass++) {
        pelt_model *solution;
        rigid_file file;
        uint32_t keys;
        PX_TRY(pelt_model_borrow(b->context, base, &solution));
        pelt_result result = px_rigid_write(fit, solution, report->motions);
        if (result == PELT_OK)
            result = thin(b, report, solution, pass == 0 ? 0 : RIGID_THIN * b->desc.max_error, &keys);
        if (result != PELT_OK || (pass == 1 && keys > 0.95 * b->frame_count)) {
            pelt_model_destroy(solution);
            return result;
        }
        trial->key_count = keys;
        result = search_rigid_file(b, fit, solution, pass == 0 && !b->best, &file);
        bool kept = result == PELT_OK && file.model, better = false;
        if (kept) {
            pelt_budget_trial done = *trial;
            done.bytes = file.bytes;
            done.error_rms = file.error_rms;
            done.error_max_units = file.distance;
            record(b, &done);
            if (trial->bytes == 0 || done.bytes < trial->bytes)
                *trial = done;
            better = is_better(b, &done, true);
            b->start = file.precision;
            if (better) {
                px_model_adopt(solution, file.model);
                b->best_precision = file.precision;
                b->best_trial = done;
                b->met = true;
                keep_best(b, solution, base);
            } else
                pelt_model_destroy(file.model);
        }
        if (!better)
            pelt_model_destroy(solution);
        PX_TRY(result);
    }
    return PELT_OK;
}

/* Decomposes to a number of rigid bones, fits them to the largest distance, and tries files. trial->bytes 0: none keeps
 * the error. */
static pelt_result try_rigid(budget *b, uint32_t bones, pelt_budget_trial *trial) {
    pelt_decompose_desc desc = b->bones;
    pelt_decompose_report report;
    pelt_model *base;
    for (uint32_t n = 0; n < b->trial_count; n++) /* tried before */
        if (b->trials[n].bones == bones && b->trials[n].transforms == PELT_TRANSFORMS_RIGID) {
            if (trial->bones != bones || (b->trials[n].bytes > 0 && b->trials[n].bytes < trial->bytes))
                *trial = b->trials[n];
        }
    if (trial->bones == bones)
        return PELT_OK;
    *trial = (pelt_budget_trial){.bones = bones, .transforms = PELT_TRANSFORMS_RIGID};
    desc.bones = bones;
    desc.transforms = PELT_TRANSFORMS_RIGID;
    desc.influences = desc.influences < PX_RIGID_INFLUENCES ? desc.influences : PX_RIGID_INFLUENCES;
    PX_TRY(px_progress(b->context, "trials", b->trial_count, TRIAL_MAX));
    PX_TRY(pelt_model_borrow(b->context, b->model, &base));
    px_arena *arena = px_arena_create(b->context);
    px_rigid fit;
    pelt_result result = arena ? pelt_decompose(b->context, base, &desc, &report) : PELT_ERROR_MEMORY;
    if (result == PELT_OK)
        leave_normals(b, base);
    if (result == PELT_OK)
        result = px_rigid_read(&b->rigid, arena, base, report.motions, &fit);
    if (result == PELT_OK)
        result = px_rigid_polish(&fit, POLISH_ROUNDS);
    if (result == PELT_OK) {
        trial->error_max_units = fit.distance;
        trial->error_rms = report.error_fit;
        if (fit.distance <= RIGID_ROOM * b->desc.max_error)
            result = try_rigid_keys(b, &fit, base, &report, trial);
        if (trial->bytes == 0)
            record(b, trial);
    }
    px_arena_destroy(arena);
    if (b->best_base != base)
        pelt_model_destroy(base);
    return result;
}

/* The smallest file of rigid bones: the fewest that keep the error, then more while files shrink, then between. */
static pelt_result search_rigid(budget *b) {
    uint32_t ladder[LADDER_MAX], count = make_ladder(b, ladder), low = 0, high = count - 1;
    pelt_budget_trial trial = {0};
    PX_TRY(px_rigid_begin(b->context, b->scratch, b->model, &b->rigid));
    b->start = (px_precision){.exponent = b->exponent};
    for (int n = 0; n < PX_PRECISION_KINDS; n++)
        b->start.bits[n] = (uint8_t)bits_of(b, 0.35 * b->desc.max_error);
    b->start.bits[PX_PRECISION_POSITIONS] = (uint8_t)bits_of(b, b->desc.max_error);
    b->start.bits[PX_PRECISION_WEIGHTS] = 4;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        PX_TRY(try_rigid(b, ladder[middle], &trial));
        if (trial.bytes > 0)
            high = middle;
        else
            low = middle + 1;
    }
    uint64_t last = UINT64_MAX;
    for (uint32_t n = low; n < count; n++) {
        PX_TRY(try_rigid(b, ladder[n], &trial));
        if (trial.bytes > 0 && (double)trial.bytes > CLIMB_GAIN * (double)last)
            break;
        last = trial.bytes > 0 ? trial.bytes : last;
    }
    uint32_t best = b->best_trial.bones;
    for (int way = -1; way <= 1 && b->best; way += 2) {
        uint32_t bones = (uint32_t)(best * px_pow(LADDER_RATIO, 0.5 * way) + 0.5);
        if (bones != best && bones <= b->desc.bones)
            PX_TRY(try_rigid(b, bones, &trial));
    }
    return PELT_OK;
}

/* The smallest file of a given error with bones of one kind: the first number on the ladder that keeps the error, then
 * more bones while files shrink. */
static pelt_result search_bytes(budget *b, uint32_t transforms) {
    uint32_t ladder[LADDER_MAX], count = make_ladder(b, ladder), low = 0, high = count - 1;
    pelt_budget_trial trial;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        PX_TRY(try_bones(b, transforms, ladder[middle], 0, &trial));
        if (keeps_error(b, &trial))
            high = middle;
        else
            low = middle + 1;
    }
    uint64_t last = UINT64_MAX;
    for (uint32_t n = low; n < count; n++) {
        uint64_t least = UINT64_MAX;
        PX_TRY(try_bones(b, transforms, ladder[n], 0, &trial));
        for (uint32_t t = 0; t < b->trial_count; t++)
            if (b->trials[t].transforms == transforms && b->trials[t].bones == ladder[n] &&
                keeps_error(b, &b->trials[t]) && b->trials[t].bytes < least)
                least = b->trials[t].bytes;
        if (least != UINT64_MAX && (double)least > CLIMB_GAIN * (double)last)
            break;
        last = least < last ? least : last;
    }
    return PELT_OK;
}

/* Tries numbers of bones around the best. */
static pelt_result refine(budget *b) {
    pelt_budget_trial best = b->best_trial, trial;
    for (int step = -2; step <= 2 && b->best; step++) {
        double bones = floor(best.bones * px_pow(LADDER_RATIO, step / 3.0) + 0.5);
        if (bones >= 1 && bones <= b->desc.bones)
            PX_TRY(try_bones(b, best.transforms, (uint32_t)bones, best.morphs, &trial));
    }
    return PELT_OK;
}

/* The smallest error within the bytes: from the most bones downwards, until files fit and the error rises twice. */
static pelt_result search_error(budget *b, uint32_t transforms, uint32_t morphs) {
    uint32_t ladder[LADDER_MAX], count = make_ladder(b, ladder), worse = 0;
    double least = INFINITY;
    for (uint32_t n = count; n-- > 0 && worse < 2;) {
        pelt_budget_trial trial;
        uint32_t first = b->trial_count;
        double error = INFINITY;
        PX_TRY(try_bones(b, transforms, ladder[n], morphs, &trial));
        for (uint32_t t = first; t < b->trial_count; t++)
            if (b->trials[t].bytes <= b->desc.bytes || b->desc.bytes == 0)
                error = px_fmin(error, b->trials[t].error_rms);
        if (b->desc.bytes == 0)
            break;
        worse += least < INFINITY && error >= least;
        least = px_fmin(least, error);
    }
    return PELT_OK;
}

static pelt_result search(budget *b) {
    uint32_t given = b->bones.transforms;
    bool fits = (uint64_t)b->model->mesh.weld.count * b->frame_count <= RIGID_NUMBER_MAX;
    fits = fits && !b->bones.hierarchy && (given == PELT_TRANSFORMS_RIGID || !b->desc.one_kind);
    if (b->desc.max_error > 0 && b->desc.smallest && fits) {
        PX_TRY(search_rigid(b));
        if (b->best)
            return PELT_OK;
    }
    bool rigid = !b->desc.one_kind && given != PELT_TRANSFORMS_RIGID && (b->desc.bytes > 0 || b->desc.max_error > 0);
    for (int kind = 0; kind < 1 + rigid; kind++) {
        uint32_t transforms = kind == 0 ? given : PELT_TRANSFORMS_RIGID;
        if (b->desc.max_error > 0) {
            PX_TRY(search_bytes(b, transforms));
            continue;
        }
        PX_TRY(search_error(b, transforms, b->desc.morphs));
        if (b->desc.bytes > 0 && b->desc.morphs > 3)
            PX_TRY(search_error(b, transforms, b->desc.morphs / 2));
        if (b->desc.bytes > 0 && b->desc.morphs > 0)
            PX_TRY(search_error(b, transforms, 0));
    }
    if (b->desc.max_error > 0 || b->desc.bytes > 0)
        PX_TRY(refine(b));
    if (b->best)
        return PELT_OK;
    uint32_t ladder[LADDER_MAX], count = make_ladder(b, ladder);
    pelt_budget_trial trial;
    b->closest = true;
    b->trial_count = 0; /* so that it is tried again */
    return try_bones(b, given, ladder[count - 1], 0, &trial);
}

/* ---- Entry point ------------------------------------------------------------------------------------------ */

static pelt_result check(const budget *b, const char *path) {
    const pelt_decompose_desc *bones = &b->bones;
    size_t length = path ? strlen(path) : 0;
    if (path && (length < 4 || strcasecmp(path + length - 4, ".glb") != 0))
        return px_fail(b->context, PELT_ERROR_USAGE, "%s: a budget is for one file: write a .glb", path);
    if (bones->rig || bones->add > 0 || bones->method != PELT_DECOMPOSE_FESAM)
        return px_fail(b->context, PELT_ERROR_USAGE, "a budget is for bones that are all solved for: no rig, no sma");
    if (b->desc.max_error > 0 && b->desc.bytes > 0)
        return px_fail(b->context, PELT_ERROR_USAGE, "set max_error or bytes: the other one is what is minimised");
    if (!px_meshopt_encodes())
        return px_fail(b->context, PELT_ERROR_UNSUPPORTED,
                       "this build has no meshoptimizer support: it cannot compress glTF files");
    return PELT_OK;
}

/* Bytes that trials leave out: images of the source document. */
static pelt_result measure_images(budget *b) {
    px_buffer whole = {.context = b->context}, trial = {.context = b->context};
    px_write write = {.context = b->context, .model = b->model, .mesh = &b->model->mesh, .desc = &b->save};
    pelt_result result = px_save_memory(b->context, b->model, "whole.glb", &b->save, &whole);
    if (result == PELT_OK)
        result = px_precision_write(&write, NULL, &trial);
    b->images = whole.size > trial.size ? whole.size - trial.size : 0;
    px_buffer_free(&whole);
    px_buffer_free(&trial);
    return result;
}

static pelt_result begin(budget *b) {
    const pelt_clip *first = NULL;
    pelt_difference still;
    PX_TRY(pelt_model_weld(b->context, b->model));
    for (uint32_t n = 0; n < b->model->clip_count; n++) {
        b->frame_count += b->model->clips[n].frame_count;
        if (!first && b->model->clips[n].frame_count > 0)
            first = &b->model->clips[n];
    }
    if (!first)
        return px_fail(b->context, PELT_ERROR_INPUT, "there is no animation to decompose");
    PX_TRY(pelt_compare_clips(b->context, first, first, NULL, &still, NULL));
    b->radius = still.ball.radius > 0 ? still.ball.radius : 1;
    PX_TRY(px_precision_size(b->context, b->model, &b->size, &b->exponent));
    b->trials = PX_NEW(b->scratch, pelt_budget_trial, TRIAL_MAX);
    b->frame_most = PX_NEW(b->scratch, double, b->frame_count);
    b->frame_sums = PX_NEW(b->scratch, double, b->frame_count);
    b->probed = PX_NEW(b->scratch, bool, b->frame_count);
    if (!b->trials || !b->frame_most || !b->frame_sums || !b->probed)
        return PELT_ERROR_MEMORY;
    PX_TRY(measure_images(b));
    return pelt_decompose_cache_create(b->context, &b->cache);
}

/* Bytes of the best file without its JSON, normals and tangents. */
static pelt_result count_numbers(budget *b, uint64_t *count) {
    px_buffer bytes = {.context = b->context};
    pelt_model *bare;
    PX_TRY(pelt_model_borrow(b->context, b->best, &bare));
    bare->mesh.normals = bare->mesh.tangents = NULL;
    px_write write = {.context = b->context, .model = bare, .mesh = &bare->mesh, .desc = &b->save};
    pelt_result result = px_precision_write(&write, &b->best_precision, &bytes);
    if (result == PELT_OK)
        *count = bytes.size - 28 - px_load_u32(bytes.data + 12); /* headers of a GLB, and its JSON */
    pelt_model_destroy(bare);
    px_buffer_free(&bytes);
    return result;
}

/* Writes the best file, then gives the model its data. */
static pelt_result finish(budget *b, const char *path, pelt_budget_report *report) {
    pelt_budget_trial *trials = PX_NEW_LASTING(b->model->memory, pelt_budget_trial, b->trial_count);
    uint64_t numbers = 0;
    if (!trials)
        return PELT_ERROR_MEMORY;
    PX_TRY(count_numbers(b, &numbers));
    if (path)
        PX_TRY(px_save_precise(b->context, b->best, path, &b->save, &b->best_precision));
    memcpy(trials, b->trials, b->trial_count * sizeof *trials);
    *report = (pelt_budget_report){.chosen = b->best_trial,
                                   .met = b->met,
                                   .numbers_bytes = numbers,
                                   .error_max = 0.5 * b->best_trial.error_max_units / b->radius,
                                   .trial_count = b->trial_count,
                                   .trials = trials};
    px_model_adopt(b->best_base, b->best);
    px_model_adopt(b->model, b->best_base);
    b->best = b->best_base = NULL;
    return PELT_OK;
}

pelt_result pelt_decompose_budget(pelt_context *context, pelt_model *model, const pelt_decompose_desc *bones,
                                  const pelt_budget_desc *desc, const char *path, pelt_budget_report *report) {
    if (report)
        *report = (pelt_budget_report){0};
    PX_TAKE_DESC(context, decompose, bones, settings);
    PX_TAKE_DESC(context, budget, desc, wanted);
    budget b = {.context = context, .model = model, .desc = wanted, .bones = settings};
    pelt_budget_report made = {0};
    PX_TRY(check(&b, path));
    b.bones.error = b.bones.key_tolerance = 0;
    b.bones.influences = wanted.influences;
    b.save = pelt_save_desc_default();
    b.save.skip_clips = true;
    b.save.player_influences = PELT_MAX_INFLUENCES;
    b.scratch = px_arena_create(context);
    px_operation operation = px_operation_begin(model);
    pelt_result result = b.scratch ? begin(&b) : PELT_ERROR_MEMORY;
    if (result == PELT_OK) {
        b.bones.cache = b.cache;
        result = search(&b);
    }
    if (result == PELT_OK)
        result = finish(&b, path, &made);
    pelt_model_destroy(b.best);
    pelt_model_destroy(b.best_base);
    pelt_decompose_cache_destroy(b.cache);
    px_arena_destroy(b.scratch);
    if (report && result == PELT_OK)
        *report = made;
    return px_operation_end(&operation, result);
}
