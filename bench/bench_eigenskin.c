/* Pose-dependent corrections of real clips: animations become rigid bones with a hierarchy, every third frame is held
 * out, and the others are the examples. Prints the table of docs/eigenskin.md: E_rms of the frames learned from and of
 * those held out, without corrections and with them, driven by the poses alone.
 *
 *   bench_eigenskin [NAME] [OPTION=VALUE…]     only animations whose name begins like this; settings of pelt_eigenskin
 */
#include "animations.h"

#include <math.h>

#define HELD_OUT(frame) ((frame) % 3 == 2)

typedef struct work {
    pelt_context *context;
    pelt_model *model;
    const pelt_clip *clip;
    pelt_transform *locals; /* [frame][joint] */
    float *targets;         /* [frame][vertex][3] */
    double radius;          /* of the ball around the first frame */
} work;

static pelt_result gather(work *w) {
    pelt_model *m = w->model;
    size_t joints = m->skeleton.joint_count, vertices = m->mesh.vertex_count;
    float *points = pelt_model_alloc(w->context, m, 3 * (size_t)m->mesh.point_count, sizeof(float));
    w->locals = pelt_model_alloc(w->context, m, w->clip->frame_count * joints, sizeof *w->locals);
    w->targets = pelt_model_alloc(w->context, m, 3 * w->clip->frame_count * vertices, sizeof *w->targets);
    if (!points || !w->locals || !w->targets)
        return PELT_ERROR_MEMORY;
    for (uint32_t k = 0; k < w->clip->frame_count; k++) {
        pelt_result result = pelt_clip_read(w->context, w->clip, k, 0, m->mesh.point_count, points);
        pelt_ball ball;
        if (result == PELT_OK && k == 0)
            result = pelt_enclosing_ball(w->context, points, m->mesh.point_count, &ball);
        if (result != PELT_OK)
            return result;
        w->radius = k == 0 ? ball.radius : w->radius;
        pelt_motion_sample(m, &m->motions[0], w->clip->times[k], w->locals + k * joints, NULL);
        for (size_t i = 0; i < vertices; i++)
            memcpy(w->targets + 3 * (k * vertices + i),
                   points + 3 * (size_t)(m->mesh.vertex_points ? m->mesh.vertex_points[i] : i), 3 * sizeof(float));
    }
    return PELT_OK;
}

typedef struct errors {
    double learned, held;
} errors;

/* Drives every pose and compares. */
static pelt_result measure(const work *w, errors *out) {
    pelt_model *m = w->model;
    size_t vertices = m->mesh.vertex_count, joints = m->skeleton.joint_count;
    float *weights = pelt_model_alloc(w->context, m, m->morphs.morph_count, sizeof *weights);
    float *posed = pelt_model_alloc(w->context, m, 3 * vertices, sizeof *posed);
    if (!weights || !posed)
        return PELT_ERROR_MEMORY;
    double sums[2] = {0}, counts[2] = {0};
    for (uint32_t k = 0; k < w->clip->frame_count; k++) {
        const pelt_transform *locals = w->locals + k * joints;
        pelt_motion_sample(m, NULL, 0, NULL, weights);
        pelt_pose_weights(m, locals, weights);
        pelt_result result = pelt_model_pose_locals(w->context, m, locals, weights, PELT_SKINNING_LINEAR, posed, NULL);
        if (result != PELT_OK)
            return result;
        for (size_t c = 0; c < 3 * vertices; c++) {
            double miss = ((double)posed[c] - (double)w->targets[3 * k * vertices + c]) / w->radius;
            sums[HELD_OUT(k)] += miss * miss;
        }
        counts[HELD_OUT(k)] += 3 * (double)vertices;
    }
    *out = (errors){1000 * sqrt(sums[0] / counts[0]), 1000 * sqrt(sums[1] / counts[1])};
    return PELT_OK;
}

static pelt_result learn(const work *w, const pelt_eigenskin_desc *desc, pelt_eigenskin_report *report) {
    pelt_model *m = w->model;
    pelt_pose_example *examples = pelt_model_alloc(w->context, m, w->clip->frame_count, sizeof *examples);
    char(*names)[24] = pelt_model_alloc(w->context, m, w->clip->frame_count, sizeof *names);
    uint32_t count = 0;
    if (!examples || !names)
        return PELT_ERROR_MEMORY;
    for (uint32_t k = 0; k < w->clip->frame_count; k++) {
        if (HELD_OUT(k))
            continue;
        snprintf(names[k], sizeof names[k], "frame %u", k);
        examples[count++] = (pelt_pose_example){.name = names[k],
                                                .locals = w->locals + k * m->skeleton.joint_count,
                                                .positions = w->targets + 3 * (size_t)k * m->mesh.vertex_count};
    }
    return pelt_eigenskin(w->context, m, examples, count, desc, report);
}

static pelt_result run(pelt_context *context, const animation *a, const pelt_eigenskin_desc *desc) {
    work w = {.context = context};
    errors before, after;
    pelt_eigenskin_report report;
    pelt_result result = animation_open(context, a, &w.model);
    pelt_decompose_desc bones = pelt_decompose_desc_default();
    bones.bones = a->bone_count;
    bones.transforms = PELT_TRANSFORMS_RIGID;
    bones.hierarchy = true;
    if (result == PELT_OK)
        result = pelt_decompose(context, w.model, &bones, NULL);
    w.clip = result == PELT_OK ? &w.model->clips[0] : NULL;
    if (result == PELT_OK)
        result = gather(&w);
    if (result == PELT_OK)
        result = measure(&w, &before);
    if (result == PELT_OK)
        result = learn(&w, desc, &report);
    if (result == PELT_OK)
        result = measure(&w, &after);
    if (result == PELT_OK)
        printf("| %s | %u | %u | %.3f | %.3f | %.3f | %.3f | %.1f %% | %.3f | %.3f |\n", a->name, report.example_count,
               report.morph_count, before.learned, after.learned, before.held, after.held,
               100 * (1 - after.held / before.held), report.errors[report.mode_count], report.left_out_error);
    pelt_model_destroy(w.model);
    return result;
}

/* OPTION=VALUE among the arguments; gives the one that is a name. */
static const char *read_arguments(pelt_context *context, int count, char **texts, pelt_eigenskin_desc *desc) {
    size_t option_count;
    const pelt_option *options = pelt_eigenskin_options(&option_count);
    const char *name = NULL;
    for (int n = 1; n < count; n++) {
        char *value = strchr(texts[n], '=');
        if (value)
            *value++ = 0;
        if (!value)
            name = texts[n];
        else if (pelt_options_set(context, options, option_count, desc, texts[n], value) != PELT_OK)
            fprintf(stderr, "bench_eigenskin: %s\n", pelt_error_text(context));
    }
    return name;
}

int main(int count, char **texts) {
    pelt_context *context;
    if (pelt_context_create(NULL, &context) != PELT_OK)
        return 1;
    pelt_eigenskin_desc desc = pelt_eigenskin_desc_default();
    const char *name = read_arguments(context, count, texts, &desc);
    printf("| animation | poses | modes | learned | with modes | held out | with modes | less | errors | left out |\n"
           "|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t n = 0; n < ANIMATION_COUNT; n++)
        if (!animations[n].scene && animation_wanted(&animations[n], name) &&
            run(context, &animations[n], &desc) != PELT_OK)
            printf("%s: %s\n", animations[n].name, pelt_error_text(context));
    pelt_context_destroy(context);
    return 0;
}
