/* Pose-driven corrections of an arm whose poses have noise: the error of unseen poses, with every joint of every
 * example randomly rotated, with unchanged shapes and with the shapes of the rotated poses. And of real clips:
 * animations become rigid bones with a hierarchy, every third frame is held out, and the others are the examples.
 * Prints tables of docs/eigenskin.md: E_rms of the training frames and of those held out, without corrections and
 * with them, driven by the poses alone.
 *
 *   bench_eigenskin [TABLE] [OPTION=VALUE…]    noise: the arm; weights: the arm with given and fitted bone weights; clips:
 *                                              all clips; or the clips whose name begins like this. Without TABLE noise
 *                                              and clips. Settings of pelt_eigenskin
 */
#include "animations.h"
#include "arm.h"

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
    float *points = pelt_model_alloc(w->context, m, 3 * (size_t)m->mesh.points.count, sizeof(float));
    w->locals = pelt_model_alloc(w->context, m, w->clip->frame_count * joints, sizeof *w->locals);
    w->targets = pelt_model_alloc(w->context, m, 3 * w->clip->frame_count * vertices, sizeof *w->targets);
    if (!points || !w->locals || !w->targets)
        return PELT_ERROR_MEMORY;
    for (uint32_t k = 0; k < w->clip->frame_count; k++) {
        pelt_result result = pelt_clip_read(w->context, w->clip, k, 0, m->mesh.points.count, points);
        pelt_ball ball;
        if (result == PELT_OK && k == 0)
            result = pelt_enclosing_ball(w->context, points, m->mesh.points.count, &ball);
        if (result != PELT_OK)
            return result;
        w->radius = k == 0 ? ball.radius : w->radius;
        pelt_motion_sample(m, &m->motions[0], w->clip->times[k], w->locals + k * joints, NULL);
        pelt_vertex_classes_spread(&m->mesh.points, m->mesh.vertex_count, points, w->targets + 3 * k * vertices);
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
        printf("| %s | %u | %.3f | %.3f | %.3f | %.3f | %.1f %% | %.3f |\n", a->name, a->bone_count, before.learned,
               after.learned, before.held, after.held, 100 * (1 - after.held / before.held), report.left_out_error);
    pelt_model_destroy(w.model);
    return result;
}

static pelt_result print_clips(pelt_context *context, const char *name, const pelt_eigenskin_desc *desc) {
    printf("| animation | bones | learned | with modes | held out | with modes | less | left out |\n"
           "|---|---|---|---|---|---|---|---|\n");
    pelt_result result = PELT_OK;
    for (size_t n = 0; n < ANIMATION_COUNT && result == PELT_OK; n++)
        if (!animations[n].scene && animation_wanted(&animations[n], name))
            result = run(context, &animations[n], desc);
    return result;
}

/* ---- Noise ------------------------------------------------------------------------------------------------ */

#define SEEDS 5u

/* Rotates every joint by up to so many degrees about each axis; with `shape` [vertex][3], stores the shape of the new
 * pose. Examples of the arm either swing or twist. */
static void turn_joints(scene_random *random, double degrees, const pelt_mesh *mesh, pelt_transform *locals,
                        float *shape) {
    arm_bend bends[ARM_BENDS];
    for (uint32_t j = 0; j <= ARM_BENDS; j++) {
        float *r = locals[j].rotation;
        quat q = {r[0], r[1], r[2], r[3]};
        double noise[3];
        for (int c = 0; c < 3; c++)
            noise[c] = scene_random_range(random, -degrees, degrees) * 3.141592653589793 / 180;
        vec axis = {noise[0], noise[1], noise[2]};
        double angle = sqrt(noise[0] * noise[0] + noise[1] * noise[1] + noise[2] * noise[2]);
        double half = sqrt(q.x * q.x + q.z * q.z);
        double swing = half > 0 ? 2 * atan2(half, sqrt(q.y * q.y + q.w * q.w)) / half : 0;
        if (j)
            bends[j - 1] = (arm_bend){swing * q.x + noise[0], swing * q.z + noise[1], 2 * atan2(q.y, q.w) + noise[2]};
        if (shape && j)
            q = arm_turn(&bends[j - 1]);
        else if (!shape && angle > 0)
            q = quat_mul(q, quat_turn(vec_unit(axis), angle));
        r[0] = (float)q.x, r[1] = (float)q.y, r[2] = (float)q.z, r[3] = (float)q.w;
    }
    arm_pose pose = arm_pose_make(bends);
    for (size_t i = 0; shape && i < mesh->vertex_count; i++)
        vec_store(shape + 3 * i, arm_place(&pose, vec_load(mesh->positions + 3 * i)));
}

/* Σ |posed − right|² of the unseen poses. */
static pelt_result sum_unseen(pelt_context *context, pelt_model *m, const scene_poses *poses, double *sum) {
    size_t floats = 3 * (size_t)m->mesh.vertex_count;
    float *weights = pelt_model_alloc(context, m, m->morphs.morph_count, sizeof *weights);
    float *posed = pelt_model_alloc(context, m, floats, sizeof *posed);
    pelt_result result = weights && posed ? PELT_OK : PELT_ERROR_MEMORY;
    *sum = 0;
    for (uint32_t p = 0; result == PELT_OK && p < poses->unseen_count; p++) {
        const scene_pose *pose = &poses->unseen[p];
        pelt_pose_weights(m, pose->locals, weights);
        result = pelt_model_pose_locals(context, m, pose->locals, weights, PELT_SKINNING_LINEAR, posed, NULL);
        for (size_t c = 0; result == PELT_OK && c < floats; c++)
            *sum += ((double)posed[c] - (double)pose->positions[c]) * ((double)posed[c] - (double)pose->positions[c]);
    }
    return result;
}

/* The error of one arm. */
static pelt_result run_noise(pelt_context *context, const pelt_eigenskin_desc *desc, double degrees, bool shapes,
                             uint32_t seed, pelt_eigenskin_report *report, double *error) {
    const scene *arm = scene_find("arm");
    const scene_desc size = {.seed = 1};
    pelt_model *m = NULL;
    scene_poses poses;
    scene_random random = {seed};
    pelt_pose_example examples[64];
    double before = 0, after = 0;
    pelt_result result = arm->make(context, &size, &m);
    if (result == PELT_OK)
        result = arm->poses(context, &size, m, &poses);
    if (result == PELT_OK)
        result = sum_unseen(context, m, &poses, &before);
    for (uint32_t p = 0; result == PELT_OK && p < poses.seen_count; p++) {
        const scene_pose *pose = &poses.seen[p];
        turn_joints(&random, degrees, &m->mesh, (pelt_transform *)(uintptr_t)pose->locals,
                    shapes ? (float *)(uintptr_t)pose->positions : NULL);
        examples[p] = (pelt_pose_example){pose->name, pose->locals, pose->positions, NULL};
    }
    if (result == PELT_OK)
        result = pelt_eigenskin(context, m, examples, poses.seen_count, desc, report);
    if (result == PELT_OK)
        result = sum_unseen(context, m, &poses, &after);
    *error = sqrt(after / before);
    pelt_model_destroy(m);
    return result;
}

static pelt_result print_noise(pelt_context *context, const pelt_eigenskin_desc *desc) {
    static const double levels[] = {0, 1e-6, 1e-4, 1e-2, 0.1, 0.3, 1};
    printf("| noise, degrees | poses turned, shapes stay | poses turned, shapes with them |\n|---|---|---|\n");
    for (size_t n = 0; n < sizeof levels / sizeof levels[0]; n++) {
        double most[2] = {0};
        for (int shapes = 0; shapes < 2; shapes++)
            for (uint32_t seed = 1; seed <= (n ? SEEDS : 1); seed++) {
                double error;
                pelt_result result = run_noise(context, desc, levels[n], shapes, seed, NULL, &error);
                if (result != PELT_OK)
                    return result;
                most[shapes] = fmax(most[shapes], error);
            }
        printf("| %g | %.3f | %.3f |\n", levels[n], most[0], most[1]);
    }
    return PELT_OK;
}

/* ---- Weights ---------------------------------------------------------------------------------------------- */

/* The arm with the given bone weights, and with those fitted under the corrections. */
static pelt_result print_weights(pelt_context *context, const pelt_eigenskin_desc *given) {
    printf("| modes per joint | left out: ratio | rounds | unseen | with `--refit-weights` |\n|---|---|---|---|---|\n");
    for (uint32_t modes = 1; modes <= 5; modes++) {
        pelt_eigenskin_report report;
        double unseen[2];
        for (int refit = 0; refit < 2; refit++) {
            pelt_eigenskin_desc desc = *given;
            desc.modes = modes;
            desc.refit_weights = refit;
            pelt_result result = run_noise(context, &desc, 0, false, 1, &report, &unseen[refit]);
            if (result != PELT_OK)
                return result;
        }
        printf("| %u | %.3f | %u | %.3f | %.3f |\n", modes, report.refit_ratio, report.refit_rounds, unseen[0],
               unseen[1]);
    }
    return PELT_OK;
}

/* Applies OPTION=VALUE arguments; returns the argument that is a name. */
static const char *read_arguments(pelt_context *context, int count, char **texts, pelt_eigenskin_desc *desc) {
    const char *name = NULL;
    for (int n = 1; n < count; n++) {
        char *value = strchr(texts[n], '=');
        if (value)
            *value++ = 0;
        if (!value)
            name = texts[n];
        else if (pelt_options_set(context, pelt_eigenskin_options(), desc, texts[n], value) != PELT_OK)
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
    pelt_result result = PELT_OK;
    bool noise = name && strcmp(name, "noise") == 0, weights = name && strcmp(name, "weights") == 0;
    if (noise || !name)
        result = print_noise(context, &desc);
    if (weights)
        result = print_weights(context, &desc);
    if (!noise && !weights && result == PELT_OK)
        result = print_clips(context, name && strcmp(name, "clips") == 0 ? NULL : name, &desc);
    if (result != PELT_OK)
        fprintf(stderr, "bench_eigenskin: %s\n", pelt_error_text(context));
    pelt_context_destroy(context);
    return result == PELT_OK ? 0 : 1;
}
