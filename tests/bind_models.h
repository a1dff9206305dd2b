/* Models for tests of binding: tubes and boxes with skeletons, exactly symmetric in x unless stated otherwise. */
#ifndef PELT_TESTS_BIND_MODELS_H
#define PELT_TESTS_BIND_MODELS_H

#include "support.h"
#include "weights_models.h"

#include <pelt/bind.h>

#define SHAPE_MOST 4096u

/* A growing mesh. */
typedef struct shape {
    uint32_t vertex_count, triangle_count, part_count;
    float positions[3 * SHAPE_MOST];
    uint32_t triangles[6 * SHAPE_MOST];
    pelt_part parts[8];
} shape;

static inline void shape_quad(shape *s, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    const uint32_t corners[6] = {a, b, c, a, c, d};
    memcpy(s->triangles + 3 * (size_t)s->triangle_count, corners, sizeof corners);
    s->triangle_count += 2;
}

/* Starts a part; later additions belong to it. */
static inline void shape_part(shape *s, const char *name, const char *material) {
    s->parts[s->part_count++] = (pelt_part){.name = name,
                                            .material = material,
                                            .first_triangle = s->triangle_count,
                                            .first_vertex = s->vertex_count,
                                            .joint = PELT_NONE};
}

static inline void shape_part_end(shape *s) {
    pelt_part *part = &s->parts[s->part_count - 1];
    part->vertex_count = s->vertex_count - part->first_vertex;
    part->triangle_count = s->triangle_count - part->first_triangle;
}

/* A closed square tube from `from` to `to` along an axis, `steps` long, `half` thick, around `at` of the other axes. */
static inline void shape_tube(shape *s, uint32_t axis, double from, double to, uint32_t steps, double half,
                              const double at[3]) {
    static const double around[8][2] = {{1, 0}, {1, 1}, {0, 1}, {-1, 1}, {-1, 0}, {-1, -1}, {0, -1}, {1, -1}};
    uint32_t first = s->vertex_count, u = (axis + 1) % 3, v = (axis + 2) % 3;
    for (uint32_t n = 0; n <= steps; n++)
        for (uint32_t k = 0; k < 8; k++) {
            float *p = s->positions + 3 * (size_t)s->vertex_count++;
            p[axis] = (float)(at[axis] + (from * (steps - n) + to * n) / steps);
            p[u] = (float)(at[u] + half * around[k][0]);
            p[v] = (float)(at[v] + half * around[k][1]);
        }
    for (uint32_t n = 0; n < steps; n++)
        for (uint32_t k = 0; k < 8; k++) {
            uint32_t a = first + 8 * n + k, b = first + 8 * n + (k + 1) % 8;
            shape_quad(s, a, b, b + 8, a + 8);
        }
    for (uint32_t k = 1; k < 7; k += 2) {
        uint32_t low = first, high = first + 8 * steps;
        shape_quad(s, low, low + k + 2 > low + 7 ? low + 7 : low + k + 2, low + k + 1, low + k);
        shape_quad(s, high, high + k, high + k + 1, high + k + 2 > high + 7 ? high + 7 : high + k + 2);
    }
}

/* The model of a shape, without skeleton. */
static inline pelt_model *shape_model(test_context *test, const shape *s) {
    pelt_model *model = make_mesh(test, s->positions, s->vertex_count, s->triangles, s->triangle_count);
    model->mesh.part_count = s->part_count;
    model->mesh.parts = pelt_model_alloc(test->context, model, s->part_count, sizeof(pelt_part));
    memcpy(model->mesh.parts, s->parts, s->part_count * sizeof(pelt_part));
    return model;
}

/* A joint of a test's skeleton. */
typedef struct test_joint {
    const char *name;
    uint32_t parent;
    float place[3]; /* in the world */
} test_joint;

static inline void add_skeleton(test_context *test, pelt_model *model, const test_joint *joints, uint32_t count) {
    pelt_skeleton *s = &model->skeleton;
    s->joint_count = count;
    s->names = pelt_model_alloc(test->context, model, count, sizeof *s->names);
    s->parents = pelt_model_alloc(test->context, model, count, sizeof *s->parents);
    s->rest = pelt_model_alloc(test->context, model, count, sizeof *s->rest);
    for (uint32_t j = 0; j < count; j++) {
        s->names[j] = joints[j].name;
        s->parents[j] = joints[j].parent;
        s->rest[j] = (pelt_transform){{0}, {0, 0, 0, 1}, {1, 1, 1}};
        for (int c = 0; c < 3; c++)
            s->rest[j].translation[c] =
                joints[j].place[c] - (joints[j].parent == PELT_NONE ? 0 : joints[joints[j].parent].place[c]);
    }
}

/* A skin that binds all joints at rest; every vertex has all its weight on bone 0. */
static inline void add_skin(test_context *test, pelt_model *model, const test_joint *joints, uint32_t count) {
    pelt_skin *skin = &model->skin;
    skin->bone_count = count;
    skin->influence_count = 2;
    skin->bone_joints = pelt_model_alloc(test->context, model, count, sizeof *skin->bone_joints);
    skin->inverse_binds = pelt_model_alloc(test->context, model, count, sizeof *skin->inverse_binds);
    skin->bones = pelt_model_alloc(test->context, model, 2 * (size_t)model->mesh.vertex_count, sizeof *skin->bones);
    skin->weights = pelt_model_alloc(test->context, model, 2 * (size_t)model->mesh.vertex_count, sizeof(float));
    for (uint32_t j = 0; j < count; j++) {
        const float *p = joints[j].place;
        skin->bone_joints[j] = j;
        skin->inverse_binds[j] = (pelt_affine){{1, 0, 0, -p[0], 0, 1, 0, -p[1], 0, 0, 1, -p[2]}};
    }
    for (uint32_t i = 0; i < model->mesh.vertex_count; i++)
        skin->weights[2 * (size_t)i] = 1;
    for (uint32_t p = 0; p < model->mesh.part_count; p++)
        model->mesh.parts[p].skinned = true;
}

/* Two arms along x: a tube from −2 to 2, and a button on the right forearm, at −x. */
enum { MID, ARM_L, FORE_L, ARM_R, FORE_R, ARMS };
static const test_joint arms_joints[ARMS] = {{"Mid", PELT_NONE, {0, 0, 0}},
                                             {"Arm_L", MID, {0.5f, 0, 0}},
                                             {"Fore_L", ARM_L, {1.25f, 0, 0}},
                                             {"Arm_R", MID, {-0.5f, 0, 0}},
                                             {"Fore_R", ARM_R, {-1.25f, 0, 0}}};

static inline shape *arms_shape(void) {
    shape *s = calloc(1, sizeof *s);
    shape_part(s, "body", "cloth");
    shape_tube(s, 0, -2, 2, 32, 0.25, (double[3]){0, 0, 0});
    shape_part_end(s);
    shape_part(s, "button", "brass");
    shape_tube(s, 1, 0, 0.125, 1, 0.0625, (double[3]){-1.625, 0.28125, 0});
    shape_part_end(s);
    return s;
}

static inline pelt_model *make_arms(test_context *test, bool skinned) {
    shape *s = arms_shape();
    pelt_model *model = shape_model(test, s);
    free(s);
    add_skeleton(test, model, arms_joints, ARMS);
    if (skinned)
        add_skin(test, model, arms_joints, ARMS);
    test_ok(test, pelt_model_validate(test->context, model));
    return model;
}

static inline pelt_bind_desc quick_desc(void) {
    pelt_bind_desc desc = pelt_bind_desc_default();
    desc.resolution = 48;
    return desc;
}

/* The summed weight of a joint over all its bones. */
static inline double joint_weight(const pelt_model *model, size_t vertex, uint32_t joint) {
    const pelt_skin *skin = &model->skin;
    double sum = 0;
    for (size_t e = vertex * skin->influence_count; e < (vertex + 1) * skin->influence_count; e++)
        sum += skin->bone_joints[skin->bones[e]] == joint ? (double)skin->weights[e] : 0;
    return sum;
}

/* Mean L1 distance between the joint weights of two models; places [vertex of a] are vertices of b, NULL: the same
 * indices. */
static inline double mean_distance(const pelt_model *a, const pelt_model *b, const uint32_t *places) {
    double sum = 0;
    for (uint32_t i = 0; i < a->mesh.vertex_count; i++)
        for (uint32_t j = 0; j < a->skeleton.joint_count; j++)
            sum += fabs(joint_weight(a, i, j) - joint_weight(b, places ? places[i] : i, j));
    return sum / a->mesh.vertex_count;
}

/* The same bones and weights, to the bit. */
static inline void assert_same_skin(const pelt_skin *a, const pelt_skin *b, uint32_t vertex_count) {
    size_t count = (size_t)vertex_count * a->influence_count;
    assert_int_equal(a->bone_count, b->bone_count);
    assert_int_equal(a->influence_count, b->influence_count);
    assert_memory_equal(a->bones, b->bones, count * sizeof *a->bones);
    assert_memory_equal(a->weights, b->weights, count * sizeof *a->weights);
}

/* Binds, and checks the weights. */
static inline void bind_soundly(test_context *test, pelt_model *model, const pelt_bind_desc *desc,
                                pelt_bind_report *report) {
    test_ok(test, pelt_bind(test->context, model, desc, report));
    assert_sound(test, model, desc->influences);
}

/* A copy of the weights. */
typedef struct saved_skin {
    pelt_skin skin;
    uint32_t vertex_count;
} saved_skin;

static inline saved_skin save_skin(const pelt_model *model) {
    saved_skin out = {model->skin, model->mesh.vertex_count};
    size_t count = (size_t)out.vertex_count * out.skin.influence_count;
    out.skin.bones = memcpy(malloc(count * sizeof(uint16_t)), model->skin.bones, count * sizeof(uint16_t));
    out.skin.weights = memcpy(malloc(count * sizeof(float)), model->skin.weights, count * sizeof(float));
    return out;
}

/* Fails when the model's weights differ from the saved ones; frees the saved ones. */
static inline void assert_skin(const pelt_model *model, saved_skin saved) {
    assert_same_skin(&model->skin, &saved.skin, saved.vertex_count);
    free(saved.skin.bones);
    free(saved.skin.weights);
}

#endif
