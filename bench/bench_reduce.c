/* Methods to reduce an animation to a subspace: Table 1 of FESAM (L. Kavan, P.-P. Sloan, C. O'Sullivan 2010), on more
 * animations. All methods may lose the same E_rms, 0.5, as in the paper.
 *
 * Per animation and method: the dimension d and CPU seconds of all threads. Over all: the largest E_rms lost, and the
 * largest deviation of BᵀB from the identity.
 *
 *   bench_reduce [NAME]          only animations whose name begins like this
 *   bench_reduce orthogonality   Figure 4 of the paper: max with and without the stabilisation of line 5
 */
#include "animations.h"
#include "decompose/gather.h"
#include "decompose/kinds.h"

#include <math.h>
#include <pelt/measure.h>
#include <time.h>

static double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double lost(const px_fit *fit) {
    double sum = 0;
    for (size_t i = 0; i < fit->vertex_count; i++) {
        sum += fit->norms[i];
        for (size_t e = 0; e < fit->dimension; e++)
            sum -= (double)fit->coords[i * fit->dimension + e] * (double)fit->coords[i * fit->dimension + e];
    }
    return px_fit_error(fit, sum);
}

static double skewness(const px_fit *fit) {
    double worst = 0;
    size_t d = fit->dimension;
    for (size_t a = 0; a < d; a++)
        for (size_t b = 0; b <= a; b++) {
            double sum = a == b ? -1 : 0;
            for (size_t row = 0; row < fit->row_count; row++)
                sum += fit->basis[row * d + a] * fit->basis[row * d + b];
            worst = fmax(worst, fabs(sum));
        }
    return worst;
}

/* Every point is a vertex of its own here. */
static pelt_result plan_all(pelt_context *context, px_arena *arena, const pelt_clip *clip, px_gathered *plan) {
    float *frame = PX_NEW(arena, float, 3 * (size_t)clip->point_count);
    plan->classes.count = clip->point_count;
    plan->points = PX_NEW(arena, uint32_t, clip->point_count);
    if (!frame || !plan->points)
        return PELT_ERROR_MEMORY;
    for (uint32_t p = 0; p < clip->point_count; p++)
        plan->points[p] = p;
    PX_TRY(pelt_clip_read(context, clip, 0, 0, clip->point_count, frame));
    pelt_ball ball;
    PX_TRY(pelt_enclosing_ball(context, frame, clip->point_count, &ball));
    memcpy(plan->center, ball.center, sizeof plan->center);
    plan->radius = ball.radius;
    return PELT_OK;
}

typedef struct reduction {
    uint32_t dimension;
    double seconds, lost, skewness;
} reduction;

static pelt_result run_method(pelt_context *context, const pelt_model *model, uint32_t method, reduction *out) {
    px_fit fit = {.context = context,
                  .kind = &px_bone_affine,
                  .arena = px_arena_create(context),
                  .influence_count = 4,
                  .bone_capacity = 30};
    if (!fit.arena)
        return PELT_ERROR_MEMORY;
    const pelt_clip *clip = &model->clips[0];
    fit.vertex_count = clip->point_count;
    fit.row_count = 3 * clip->frame_count;
    fit.now.rest = PX_NEW(fit.arena, double, 3 * (size_t)fit.vertex_count);
    px_gathered plan = {0};
    pelt_decompose_desc desc = pelt_decompose_desc_default();
    desc.reduce = method;
    desc.epsilon = 0.5;
    pelt_result result = fit.now.rest ? plan_all(context, fit.arena, clip, &plan) : PELT_ERROR_MEMORY;
    double start = seconds_now();
    if (result == PELT_OK)
        result = px_fit_gather(&fit, model->clips, &plan, &desc);
    out->seconds = seconds_now() - start;
    if (result == PELT_OK) {
        out->dimension = fit.dimension;
        out->lost = lost(&fit);
        out->skewness = skewness(&fit);
    }
    px_arena_destroy(fit.arena);
    return result;
}

enum { METHOD_COUNT = 5 }; /* of pelt_decompose_desc.reduce */

/* Two rows of the table; `worst` has the largest loss and the largest deviation from orthogonality so far. */
static pelt_result run_animation(pelt_context *context, const animation *a, reduction *worst) {
    reduction found[METHOD_COUNT];
    pelt_model *model = NULL;
    pelt_result result = animation_open(context, a, &model);
    for (uint32_t method = 0; method < METHOD_COUNT && result == PELT_OK; method++)
        result = run_method(context, model, method, &found[method]);
    if (result == PELT_OK) {
        printf("| %s, %u × %u | d |", a->name, model->clips[0].point_count, model->clips[0].frame_count);
        for (int method = 0; method < METHOD_COUNT; method++)
            printf(" %u |", found[method].dimension);
        printf("\n| | s |");
        for (int method = 0; method < METHOD_COUNT; method++) {
            printf(" %.2f |", found[method].seconds);
            worst->lost = fmax(worst->lost, found[method].lost);
            worst->skewness = fmax(worst->skewness, found[method].skewness);
        }
        printf("\n");
    }
    pelt_model_destroy(model);
    return result;
}

/* A row of the table of orthogonality. */
static pelt_result compare_plain(pelt_context *context, const animation *a) {
    static const uint32_t methods[] = {PELT_REDUCE_MAX, PELT_REDUCE_MAX_PLAIN};
    reduction found[2];
    pelt_model *model = NULL;
    pelt_result result = animation_open(context, a, &model);
    for (size_t m = 0; m < 2 && result == PELT_OK; m++)
        result = run_method(context, model, methods[m], &found[m]);
    if (result == PELT_OK)
        printf("| %s | %u | %.1e | %.1e | %.4f | %.4f |\n", a->name, found[0].dimension, found[1].skewness,
               found[0].skewness, found[1].lost, found[0].lost);
    pelt_model_destroy(model);
    return result;
}

int main(int count, char **texts) {
    bool orthogonality = count > 1 && strcmp(texts[1], "orthogonality") == 0;
    pelt_context *context;
    if (pelt_context_create(NULL, &context) != PELT_OK)
        return 1;
    if (orthogonality)
        printf("| animation | d | max-plain: BᵀB − I | max: BᵀB − I | max-plain: E_rms lost | max: E_rms lost |\n"
               "|---|--:|--:|--:|--:|--:|\n");
    else
        printf("| animation | | svd (ours) | max | gram-schmidt | power1 | power2 |\n|---|---|--:|--:|--:|--:|--:|\n");
    pelt_result result = PELT_OK;
    reduction worst = {0};
    for (size_t n = 0; n < ANIMATION_COUNT && result == PELT_OK; n++)
        if (animation_wanted(&animations[n], count > 1 && !orthogonality ? texts[1] : NULL))
            result =
                orthogonality ? compare_plain(context, &animations[n]) : run_animation(context, &animations[n], &worst);
    if (result != PELT_OK)
        fprintf(stderr, "\nbench_reduce: %s\n", pelt_error_text(context));
    else if (!orthogonality)
        printf("\nE_rms lost: %.3f at most; BᵀB − I: %.1e at most\n", worst.lost, worst.skewness);
    pelt_context_destroy(context);
    return result == PELT_OK ? 0 : 1;
}
