/* The arm of pelt-scenes with its example poses, for tests of EigenSkin. */
#ifndef PELT_TESTS_EIGENSKIN_ARM_H
#define PELT_TESTS_EIGENSKIN_ARM_H

#include "arm.h"
#include "eigenskin/eigenskin.h"
#include "scenes.h"
#include "support.h"

#include <math.h>

static const scene_desc arm_desc = {.vertex_count = 700, .frame_count = 20, .seed = 1};

typedef struct arm {
    pelt_model *model;
    scene_poses poses;
    pelt_pose_example *examples; /* [seen_count] */
} arm;

static inline pelt_result arm_make(pelt_context *context, const scene_desc *desc, arm *a) {
    const scene *s = scene_find("arm");
    pelt_result result = s->make(context, desc, &a->model);
    if (result == PELT_OK)
        result = s->poses(context, desc, a->model, &a->poses);
    if (result != PELT_OK)
        return result;
    a->examples = pelt_model_alloc(context, a->model, a->poses.seen_count, sizeof *a->examples);
    for (uint32_t p = 0; a->examples && p < a->poses.seen_count; p++) {
        const scene_pose *pose = &a->poses.seen[p];
        a->examples[p] = (pelt_pose_example){pose->name, pose->locals, pose->positions, NULL};
    }
    return a->examples ? PELT_OK : PELT_ERROR_MEMORY;
}

static inline arm arm_open(const test_context *test) {
    arm a = {0};
    test_ok(test, arm_make(test->context, &arm_desc, &a));
    return a;
}

/* The model in a pose, with weights set by drivers: positions [vertex][3] in its memory. */
static inline float *driven(const test_context *test, pelt_model *model, const pelt_transform *locals) {
    float *weights = pelt_model_alloc(test->context, model, model->morphs.morph_count, sizeof *weights);
    float *out = pelt_model_alloc(test->context, model, 3 * (size_t)model->mesh.vertex_count, sizeof *out);
    assert_true(weights && out);
    pelt_pose_weights(model, locals, weights);
    test_ok(test, pelt_model_pose_locals(test->context, model, locals, weights, PELT_SKINNING_LINEAR, out, NULL));
    return out;
}

/* √(Σ |a − b|²) and the largest |a − b| over the vertices. */
typedef struct difference {
    double root, most;
} difference;

static inline difference compare(const pelt_model *model, const float *a, const float *b) {
    difference d = {0};
    for (size_t i = 0; i < model->mesh.vertex_count; i++) {
        double sum = 0;
        for (size_t c = 3 * i; c < 3 * i + 3; c++)
            sum += ((double)a[c] - (double)b[c]) * ((double)a[c] - (double)b[c]);
        d.root += sum;
        d.most = fmax(d.most, sqrt(sum));
    }
    d.root = sqrt(d.root);
    return d;
}

/* Remaining error in the poses, relative to the error of `before` [pose]. */
static inline double relative_error(const test_context *test, pelt_model *model, const scene_pose *poses,
                                    uint32_t count, float *const *before) {
    double left = 0, all = 0;
    for (uint32_t p = 0; p < count; p++) {
        double now = compare(model, driven(test, model, poses[p].locals), poses[p].positions).root;
        double then = compare(model, before[p], poses[p].positions).root;
        left += now * now;
        all += then * then;
    }
    return sqrt(left / all);
}

static inline float **plain_skins(const test_context *test, pelt_model *model, const scene_pose *poses,
                                  uint32_t count) {
    float **out = pelt_model_alloc(test->context, model, count, sizeof *out);
    assert_non_null(out);
    for (uint32_t p = 0; p < count; p++)
        out[p] = driven(test, model, poses[p].locals);
    return out;
}

/* The largest distance of the driven model from the poses, relative to the arm's length. */
static inline double largest_error(const test_context *test, arm *a, const scene_pose *poses, uint32_t count) {
    double most = 0;
    for (uint32_t p = 0; p < count; p++)
        most = fmax(most, compare(a->model, driven(test, a->model, poses[p].locals), poses[p].positions).most);
    return most / 3.3;
}

static inline pelt_eigenskin_desc exact_desc(void) {
    pelt_eigenskin_desc desc = pelt_eigenskin_desc_default();
    desc.exact = true;
    return desc;
}

static inline void learn_unseen(const test_context *test, arm *a, const pelt_eigenskin_desc *desc) {
    pelt_pose_example examples[64];
    assert_true(a->poses.unseen_count <= 64);
    for (uint32_t p = 0; p < a->poses.unseen_count; p++) {
        const scene_pose *pose = &a->poses.unseen[p];
        examples[p] = (pelt_pose_example){pose->name, pose->locals, pose->positions, NULL};
    }
    test_ok(test, pelt_eigenskin(test->context, a->model, examples, a->poses.unseen_count, desc, NULL));
}

#endif
