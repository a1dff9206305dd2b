/* A scene whose rest pose is edited, for tests of edits. */
#ifndef PELT_TESTS_EDIT_SCENE_H
#define PELT_TESTS_EDIT_SCENE_H

#include "support.h"

#include "core/core.h"
#include "scenes.h"

#include <math.h>

#define FRAMES 6

typedef struct scene_test {
    test_context test;
    pelt_context *context;
    pelt_model *model;
    size_t floats;                  /* of the mesh's positions */
    float *before, *wanted, *after; /* [vertex][3] */
} scene_test;

static inline void begin(scene_test *t, const char *name) {
    t->context = test_begin(&t->test, 2);
    test_ok(&t->test, scene_find(name)->make(t->context, &(scene_desc){400, FRAMES, 1}, &t->model));
    t->floats = 3 * (size_t)t->model->mesh.vertex_count;
    t->before = malloc(t->floats * sizeof(float));
    t->wanted = malloc(t->floats * sizeof(float));
    t->after = malloc(t->floats * sizeof(float));
    assert_true(t->before && t->wanted && t->after);
    memcpy(t->before, t->model->mesh.positions, t->floats * sizeof(float));
}

static inline void end(scene_test *t) {
    free(t->before), free(t->wanted), free(t->after);
    pelt_model_destroy(t->model);
    test_end(&t->test);
}

static inline void pose(scene_test *t, const pelt_motion *motion, float time, float *out) {
    test_ok(&t->test, pelt_model_pose(t->context, t->model, motion, time, PELT_SKINNING_LINEAR, out, NULL));
}

static inline float frame_time(const pelt_model *model, uint32_t frame) {
    return model->motions[0].start + (float)frame / 30;
}

/* `wanted` is `from` with its upper half inflated and shifted: a function of the position, so seams stay closed. */
static inline void bump(scene_test *t, const float *from) {
    float low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < t->floats; i += 3) {
        low = fminf(low, from[i + 1]);
        high = fmaxf(high, from[i + 1]);
    }
    for (size_t n = 0; n < t->floats; n++) {
        float above = fmaxf(from[n / 3 * 3 + 1] - (low + high) / 2, 0);
        t->wanted[n] = from[n] + above * (0.1f + 0.2f * sinf(3 * from[n]));
    }
}

#endif
