/* Search over kinds of bones, numbers of bones and of morph targets, key frames and precision.
 *
 * Numbers of bones are tried on a ladder of ratio √2, refined around the best. For the smallest file of a given error the
 * fewest bones that reach it come first; more bones leave room for fewer keys and coarser numbers, so the ladder is
 * climbed while files shrink. For the smallest error within a number of bytes the ladder is descended while the error falls.
 */
#include "budget/search.h"

#include "budget/thin.h"

#include <math.h>

#define SEARCH_ROUNDS 2u /* alternations of bones and morph targets in a trial */

/* ---- Candidates ------------------------------------------------------------------------------------------- */

/* Shares of max_error, or multiples of the exact error, that removed key frames may cause; 0: none are removed. */
static const double thin_shares[] = {0, 0.8, 0.93}, thin_growth[] = {0, 1.2, 1.6};

pelt_result px_budget_thin(px_budget *b, const pelt_decompose_report *report, pelt_model *candidate, double bound,
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

void px_budget_keep(px_budget *b, pelt_model *candidate, pelt_model *base) {
    pelt_model *old = b->best, *old_base = b->best_base;
    b->best = candidate;
    b->best_base = base;
    pelt_model_destroy(old);
    if (old_base != base)
        pelt_model_destroy(old_base);
}

/* Tries files of a solution with all key frames, then with fewer. Stops where fewer do not help. */
static pelt_result try_keys(px_budget *b, pelt_model *base, const pelt_decompose_report *report,
                            pelt_budget_trial trial) {
    bool goal = b->desc.max_error > 0;
    double exact = 0;
    for (size_t n = 0; n < PX_COUNT(thin_shares); n++) {
        pelt_model *candidate;
        bool better = false;
        double bound = goal ? thin_shares[n] * b->desc.max_error : thin_growth[n] * exact;
        PX_TRY(pelt_model_borrow(b->context, base, &candidate));
        pelt_result result = px_budget_thin(b, report, candidate, bound, &trial.key_count);
        bool fewer = n == 0 || trial.key_count < b->frame_count;
        if (result == PELT_OK && fewer)
            result = px_budget_try_file(b, candidate, trial, &better);
        if (n == 0)
            exact = b->error_max;
        if (better)
            px_budget_keep(b, candidate, base);
        else
            pelt_model_destroy(candidate);
        PX_TRY(result);
        bool hopeless = goal && exact > PX_EXACT_ROOM * b->desc.max_error;
        bool idle = !goal && (b->desc.bytes == 0 || b->trials[b->trial_count - 1].bytes <= b->desc.bytes);
        if (hopeless || idle)
            break;
    }
    return PELT_OK;
}

/* The smallest files have normals only where the source has. */
void px_budget_leave_normals(const px_budget *b, pelt_model *solution) {
    if (b->desc.smallest && !b->model->mesh.normals)
        solution->mesh.normals = solution->mesh.tangents = NULL;
}

/* Decomposes with these numbers of bones and morph targets and tries files of the result. *trial: the first of them. */
static pelt_result try_bones(px_budget *b, uint32_t transforms, uint32_t bones, uint32_t morphs,
                             pelt_budget_trial *first) {
    pelt_decompose_desc desc = b->bones;
    pelt_decompose_corrected_desc corrected = pelt_decompose_corrected_desc_default();
    pelt_decompose_corrected_report report;
    pelt_model *base;
    morphs = morphs > 1 ? morphs : 0;             /* one target holds the offset of weights that would be negative */
    for (uint32_t n = 0; n < b->trial_count; n++) /* tried before */
        if (b->trials[n].transforms == transforms && b->trials[n].bones == bones && b->trials[n].morphs == morphs) {
            *first = b->trials[n];
            return PELT_OK;
        }
    desc.bones = bones;
    desc.transforms = transforms;
    corrected.corrections = morphs > 0 ? morphs - 1 : 0;
    corrected.rounds = SEARCH_ROUNDS;
    uint32_t number = b->trial_count;
    PX_TRY(pelt_model_borrow(b->context, b->model, &base));
    pelt_result result = pelt_decompose_corrected(b->context, base, &desc, &corrected, &report);
    pelt_budget_trial trial = {.bones = bones, .transforms = transforms, .morphs = morphs};
    if (result == PELT_OK)
        px_budget_leave_normals(b, base);
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
uint32_t px_budget_ladder(const px_budget *b, uint32_t *ladder) {
    uint32_t count = 0, most = b->desc.bones, points = b->model->mesh.points.count;
    most = most < points ? most : points;
    for (double bones = 4; bones < most * 0.85 && count + 1 < PX_LADDER_MAX; bones *= PX_LADDER_RATIO)
        ladder[count++] = (uint32_t)(bones + 0.5);
    ladder[count++] = most;
    return count;
}

static bool keeps_error(const px_budget *b, const pelt_budget_trial *trial) {
    return trial->bytes > 0 && trial->error_max_units <= b->desc.max_error;
}

/* The smallest file of a given error with bones of one kind: the first number on the ladder that keeps the error, then
 * more bones while files shrink. *fewest: where on the ladder to begin, then that first number: kinds with less freedom
 * need as many bones or more. */
static pelt_result search_bytes(px_budget *b, uint32_t transforms, uint32_t *fewest) {
    uint32_t ladder[PX_LADDER_MAX], count = px_budget_ladder(b, ladder), low = *fewest, high = count - 1;
    pelt_budget_trial trial;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        PX_TRY(try_bones(b, transforms, ladder[middle], 0, &trial));
        if (keeps_error(b, &trial))
            high = middle;
        else
            low = middle + 1;
    }
    *fewest = low;
    uint64_t last = UINT64_MAX;
    for (uint32_t n = low; n < count; n++) {
        uint64_t least = UINT64_MAX;
        PX_TRY(try_bones(b, transforms, ladder[n], 0, &trial));
        for (uint32_t t = 0; t < b->trial_count; t++)
            if (b->trials[t].transforms == transforms && b->trials[t].bones == ladder[n] &&
                keeps_error(b, &b->trials[t]) && b->trials[t].bytes < least)
                least = b->trials[t].bytes;
        if (least != UINT64_MAX && (double)least > PX_CLIMB_GAIN * (double)last)
            break;
        last = least < last ? least : last;
    }
    return PELT_OK;
}

/* Tries numbers of bones around the best; below one that exceeds max_error none. */
static pelt_result refine(px_budget *b) {
    static const int steps[] = {-1, -2, 1, 2};
    pelt_budget_trial best = b->best_trial, trial;
    bool enough = true;
    for (size_t n = 0; n < PX_COUNT(steps) && b->best; n++) {
        double bones = floor(best.bones * px_pow(PX_LADDER_RATIO, steps[n] / 3.0) + 0.5);
        if (bones < 1 || bones > b->desc.bones || (steps[n] == -2 && !enough))
            continue;
        PX_TRY(try_bones(b, best.transforms, (uint32_t)bones, best.morphs, &trial));
        enough = b->desc.max_error == 0 || keeps_error(b, &trial);
    }
    return PELT_OK;
}

/* The smallest error within the bytes: from the most bones downwards, until files fit with fine numbers, or fit and the
 * error rises twice. */
static pelt_result search_error(px_budget *b, uint32_t transforms, uint32_t morphs) {
    uint32_t ladder[PX_LADDER_MAX], count = px_budget_ladder(b, ladder), worse = 0;
    double least = INFINITY;
    for (uint32_t n = count; n-- > 0 && worse < 2;) {
        pelt_budget_trial trial;
        uint32_t first = b->trial_count;
        double error = INFINITY;
        b->roomy = false;
        PX_TRY(try_bones(b, transforms, ladder[n], morphs, &trial));
        if (b->roomy)
            break;
        for (uint32_t t = first; t < b->trial_count; t++)
            if (b->trials[t].bytes <= b->desc.bytes)
                error = px_fmin(error, b->trials[t].error_rms);
        worse += least < INFINITY && error >= least;
        least = px_fmin(least, error);
    }
    return PELT_OK;
}

pelt_result px_budget_search(px_budget *b) {
    uint32_t given = b->bones.transforms, ladder[PX_LADDER_MAX], count = px_budget_ladder(b, ladder);
    bool fits = (uint64_t)b->model->mesh.weld.count * b->frame_count <= PX_TIGHT_NUMBER_MAX;
    fits = fits && !b->bones.hierarchy;
    if (b->desc.max_error > 0 && b->desc.smallest && fits) {
        PX_TRY(px_budget_search_tight(b));
        if (b->best)
            return PELT_OK;
    }
    bool rigid = !b->desc.one_kind && given != PELT_TRANSFORMS_RIGID && (b->desc.bytes > 0 || b->desc.max_error > 0);
    uint32_t fewest = 0;
    for (int kind = 0; kind < 1 + rigid; kind++) {
        uint32_t transforms = kind == 0 ? given : PELT_TRANSFORMS_RIGID;
        if (b->desc.max_error > 0) {
            PX_TRY(search_bytes(b, transforms, &fewest));
            continue;
        }
        PX_TRY(search_error(b, transforms, b->desc.morphs));
        if (b->roomy && b->best_trial.bones == ladder[count - 1]) /* all that may be used fits */
            return PELT_OK;
        if (b->desc.morphs > 3)
            PX_TRY(search_error(b, transforms, b->desc.morphs / 2));
        if (b->desc.morphs > 0)
            PX_TRY(search_error(b, transforms, 0));
    }
    PX_TRY(refine(b));
    if (b->best && b->met && b->desc.max_error > 0)
        return px_budget_round_best(b);
    if (b->best)
        return PELT_OK;
    pelt_budget_trial trial;
    b->closest = true;
    b->trial_count = 0; /* so that it is tried again */
    return try_bones(b, given, ladder[count - 1], 0, &trial);
}
