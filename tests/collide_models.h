/* Shared by tests of collisions: models with a tree and a body, arbitrary poses, marks for results. */
#ifndef PELT_TESTS_COLLIDE_MODELS_H
#define PELT_TESTS_COLLIDE_MODELS_H

#include "collide/collide.h"
#include "scenes.h"
#include "support.h"

/* A scene, or with NULL random triangles, with weights that need not be positive or sum to one, and morphs. */
static inline pelt_model *make_model(test_context *test, const char *name, uint32_t vertex_count) {
    pelt_model *model;
    if (name) {
        scene_desc desc = {.vertex_count = vertex_count, .frame_count = 12, .seed = 5};
        test_ok(test, scene_find(name)->make(test->context, &desc, &model));
        return model;
    }
    test_random random = {vertex_count};
    test_ok(test, pelt_model_create(test->context, &model));
    model->mesh =
        (pelt_mesh){.vertex_count = vertex_count, .points.count = vertex_count, .triangle_count = vertex_count};
    model->skin = (pelt_skin){.bone_count = 7, .influence_count = 3};
    model->morphs.morph_count = 3;
#define ARRAY(field, count) field = pelt_model_alloc(test->context, model, count, sizeof *(field))
    ARRAY(model->mesh.positions, 3 * vertex_count);
    ARRAY(model->mesh.triangles, 3 * vertex_count);
    ARRAY(model->skin.bones, 3 * vertex_count);
    ARRAY(model->skin.bone_joints, 7);
    ARRAY(model->skin.inverse_binds, 7);
    ARRAY(model->skeleton.parents, 1);
    ARRAY(model->skeleton.rest, 1);
    model->skeleton.joint_count = 1;
    model->skeleton.parents[0] = PELT_NONE;
    ARRAY(model->skin.weights, 3 * vertex_count);
    ARRAY(model->morphs.morphs, 3);
    for (uint32_t e = 0; e < 3 * vertex_count; e++) {
        model->mesh.positions[e] = (float)test_random_real(&random, -1, 1);
        model->mesh.triangles[e] = test_random_below(&random, vertex_count);
        model->skin.bones[e] = (uint16_t)test_random_below(&random, 7);
        model->skin.weights[e] = (float)test_random_real(&random, -0.3, 1);
    }
    for (uint32_t m = 0; m < 3; m++) {
        float *ARRAY(positions, 3 * (vertex_count / 2));
        for (uint32_t e = 0; e < 3 * (vertex_count / 2); e++)
            positions[e] = (float)test_random_real(&random, -0.2, 0.2);
        model->morphs.morphs[m] = (pelt_morph){
            .name = "", .first_vertex = m * vertex_count / 4, .vertex_count = vertex_count / 2, .positions = positions};
    }
    return model;
}

static inline void random_palette(test_random *random, uint32_t count, double size, pelt_affine *palette) {
    for (uint32_t e = 0; e < 12 * count; e++)
        palette[e / 12].m[e % 12] = (float)test_random_real(random, -size, size);
}

/* Poses by matrices, as pelt_model_pose does. */
static inline void pose_by_palette(const pelt_model *model, const pelt_affine *palette, const float *weights,
                                   pelt_simd simd, float *out) {
    float *morphed = malloc(3 * model->mesh.vertex_count * sizeof *morphed);
    pelt_morph_run(&model->mesh, &model->morphs, weights, morphed, NULL, NULL);
    pelt_skin_job job = {.exact = true,
                         .vertex_count = model->mesh.vertex_count,
                         .influence_count = model->skin.influence_count,
                         .bones = model->skin.bones,
                         .weights = model->skin.weights,
                         .palette = palette,
                         .positions = morphed,
                         .out_positions = out};
    pelt_skin_run_simd(&job, simd);
    free(morphed);
}

typedef struct subject {
    pelt_model *model;
    pelt_bdtree *tree;
    pelt_body *body;
    float *positions; /* [vertex][3] */
    uint8_t *hit;     /* [triangle] */
} subject;

static inline subject make_subject(test_context *test, const char *name, uint32_t vertex_count) {
    subject s = {.model = make_model(test, name, vertex_count)};
    test_ok(test, pelt_bdtree_create(test->context, s.model, &s.tree));
    test_ok(test, pelt_body_create(test->context, s.tree, &s.body));
    s.positions = malloc(3 * s.model->mesh.vertex_count * sizeof *s.positions);
    s.hit = malloc(s.model->mesh.triangle_count);
    return s;
}

static inline void free_subject(subject *s) {
    pelt_body_destroy(s->body);
    pelt_bdtree_destroy(s->tree);
    pelt_model_destroy(s->model);
    free(s->positions);
    free(s->hit);
}

static inline bool mark(void *user, uint32_t triangle) {
    const subject *s = user;
    assert_int_equal(s->hit[triangle], 0); /* no triangle is reported twice */
    s->hit[triangle] = 1;
    return true;
}

typedef struct pair_marks {
    uint8_t *hit; /* [triangle of a][triangle of b] */
    uint32_t width, count, most;
} pair_marks;

static inline bool mark_pair(void *user, uint32_t a, uint32_t b) {
    pair_marks *m = user;
    assert_int_equal(m->hit[(size_t)m->width * a + b], 0);
    m->hit[(size_t)m->width * a + b] = 1;
    return ++m->count != m->most;
}

#endif
