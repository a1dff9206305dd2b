/* Models for tests of weight editing. */
#ifndef PELT_TESTS_WEIGHTS_MODELS_H
#define PELT_TESTS_WEIGHTS_MODELS_H

#include "support.h"

#include <pelt/pelt.h>
#include <scenes.h>

#include <math.h>

static inline pelt_model *make_scene(test_context *test, const char *name, uint32_t vertex_count) {
    pelt_model *model;
    scene_desc desc = {vertex_count, 8, 1};
    test_ok(test, scene_find(name)->make(test->context, &desc, &model));
    return model;
}

/* A mesh alone: positions and triangles are copied. */
static inline pelt_model *make_mesh(test_context *test, const float *positions, uint32_t vertex_count,
                                    const uint32_t *triangles, uint32_t triangle_count) {
    pelt_model *model;
    test_ok(test, pelt_model_create(test->context, &model));
    pelt_mesh *mesh = &model->mesh;
    mesh->vertex_count = mesh->points.count = vertex_count;
    mesh->triangle_count = mesh->polygon_count = triangle_count;
    mesh->positions = pelt_model_alloc(test->context, model, 3 * (size_t)vertex_count, sizeof(float));
    mesh->triangles = pelt_model_alloc(test->context, model, 3 * (size_t)triangle_count, sizeof(uint32_t));
    memcpy(mesh->positions, positions, 3 * (size_t)vertex_count * sizeof(float));
    memcpy(mesh->triangles, triangles, 3 * (size_t)triangle_count * sizeof(uint32_t));
    return model;
}

/* A flat skeleton of `names` with joints at `places` [joint][3], bound there; every vertex has all its weight on bone
 * 0. */
static inline void add_rig(test_context *test, pelt_model *model, const char *const *names, const float *places,
                           uint32_t count) {
    pelt_skeleton *s = &model->skeleton;
    pelt_skin *skin = &model->skin;
    s->joint_count = skin->bone_count = count;
    s->names = pelt_model_alloc(test->context, model, count, sizeof *s->names);
    s->parents = pelt_model_alloc(test->context, model, count, sizeof *s->parents);
    s->rest = pelt_model_alloc(test->context, model, count, sizeof *s->rest);
    skin->bone_joints = pelt_model_alloc(test->context, model, count, sizeof *skin->bone_joints);
    skin->inverse_binds = pelt_model_alloc(test->context, model, count, sizeof *skin->inverse_binds);
    skin->influence_count = 4;
    skin->bones = pelt_model_alloc(test->context, model, 4 * (size_t)model->mesh.vertex_count, sizeof *skin->bones);
    skin->weights = pelt_model_alloc(test->context, model, 4 * (size_t)model->mesh.vertex_count, sizeof(float));
    for (uint32_t j = 0; j < count; j++) {
        const float *p = places + 3 * (size_t)j;
        s->names[j] = names[j];
        s->parents[j] = j ? 0 : PELT_NONE;
        s->rest[j] =
            (pelt_transform){{p[0] - (j ? places[0] : 0), p[1] - (j ? places[1] : 0), p[2] - (j ? places[2] : 0)},
                             {0, 0, 0, 1},
                             {1, 1, 1}};
        skin->bone_joints[j] = j;
        skin->inverse_binds[j] = (pelt_affine){{1, 0, 0, -p[0], 0, 1, 0, -p[1], 0, 0, 1, -p[2]}};
    }
    for (uint32_t i = 0; i < model->mesh.vertex_count; i++)
        skin->weights[4 * (size_t)i] = 1;
}

/* Two weights of a vertex; the larger one comes first. */
static inline void set_weights(pelt_model *model, uint32_t vertex, uint16_t a, uint16_t b, double of_b) {
    uint16_t *bones = model->skin.bones + (size_t)vertex * model->skin.influence_count;
    float *weights = model->skin.weights + (size_t)vertex * model->skin.influence_count;
    int first = of_b > 0.5;
    bones[first] = a, weights[first] = (float)(1 - of_b);
    bones[!first] = of_b > 0 ? b : 0, weights[!first] = (float)of_b;
}

static inline float weight_of(const pelt_model *model, size_t vertex, uint32_t bone) {
    const pelt_skin *skin = &model->skin;
    float sum = 0;
    for (size_t e = vertex * skin->influence_count; e < (vertex + 1) * skin->influence_count; e++)
        sum += skin->bones[e] == bone ? skin->weights[e] : 0;
    return sum;
}

/* Invariants of every edit: a valid model, the same K, equal weights within each welded vertex. */
static inline void assert_sound(test_context *test, pelt_model *model, uint32_t influences) {
    test_ok(test, pelt_model_validate(test->context, model));
    test_ok(test, pelt_model_weld(test->context, model));
    const pelt_skin *skin = &model->skin;
    size_t K = skin->influence_count;
    assert_true(K <= influences);
    uint32_t *first = calloc(model->mesh.weld.count, sizeof *first);
    for (uint32_t i = 0; i < model->mesh.vertex_count; i++) {
        double sum = 0;
        for (size_t e = i * K; e < (i + 1) * K; e++)
            sum += (double)skin->weights[e];
        assert_true(fabs(sum - 1) < 1e-6);
        uint32_t *head = &first[model->mesh.weld.of[i]];
        if (*head == 0)
            *head = i + 1;
        assert_memory_equal(skin->weights + i * K, skin->weights + (*head - 1) * K, K * sizeof(float));
    }
    free(first);
}

/* L1 distance of two vertices' weights. */
static inline double row_distance(const pelt_model *a, size_t i, const pelt_model *b, size_t k) {
    double sum = 0;
    for (uint32_t bone = 0; bone < a->skin.bone_count; bone++)
        sum += fabs((double)weight_of(a, i, bone) - (double)weight_of(b, k, bone));
    return sum;
}

#endif
