/* Weights and parts of particles: from the skin, by heat, around joints. */
#include "jiggle/jiggle.h"
#include "scenes.h"
#include "support.h"

#include <math.h>

typedef struct made {
    px_arena *arena;
    pelt_model *model;
    px_jiggle_subject subject;
    px_lattice lattice;
} made;

static pelt_result make(pelt_context *context, const char *name, uint32_t cells, made *m) {
    scene_desc desc = {.vertex_count = 1500, .frame_count = 2, .seed = 1};
    *m = (made){.arena = px_arena_create(context)};
    pelt_result result = m->arena ? scene_find(name)->make(context, &desc, &m->model) : PELT_ERROR_MEMORY;
    if (result == PELT_OK)
        result = px_jiggle_subject_make(context, m->arena, m->model, &m->subject);
    if (result == PELT_OK)
        result = px_jiggle_lattice(context, m->arena, &m->subject, cells, 0, &m->lattice);
    return result;
}

static void unmake(made *m) {
    pelt_model_destroy(m->model);
    px_arena_destroy(m->arena);
}

static double weight_of(const px_weight_table *t, size_t row, uint32_t joint) {
    double sum = 0;
    for (size_t e = row * t->capacity; e < (row + 1) * t->capacity; e++)
        sum += t->bones[e] == joint ? (double)t->weights[e] : 0;
    return sum;
}

static void check_rows(const made *m, const px_weight_table *t) {
    assert_int_equal(t->row_count, m->lattice.particle_count);
    assert_int_equal(t->capacity, PX_JIGGLE_INFLUENCES);
    for (size_t p = 0; p < t->row_count; p++) {
        double sum = 0;
        for (size_t e = p * t->capacity; e < (p + 1) * t->capacity; e++) {
            assert_true(t->weights[e] >= 0 && t->bones[e] < m->model->skeleton.joint_count);
            assert_true(e % t->capacity == 0 || t->weights[e] <= t->weights[e - 1]);
            sum += (double)t->weights[e];
        }
        assert_true(fabs(sum - 1) < 1e-5);
    }
}

/* Vertices interpolate particles: their weights are close to the original, as far as the cell size allows. */
static void test_from_skin(void **state) {
    (void)state;
    static const struct {
        const char *scene;
        double most;
    } rows[] = {{"arm", 0.01}, {"troll", 0.05}, {"production", 0.15}};
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        test_context test;
        test_begin(&test, 1);
        made m;
        px_weight_table t;
        test_ok(&test, make(test.context, rows[n].scene, 0, &m));
        test_ok(&test, px_jiggle_weights_from_skin(test.context, m.arena, &m.subject, &m.lattice, &t));
        check_rows(&m, &t);
        const pelt_skin *skin = &m.model->skin;
        double off = 0;
        for (size_t i = 0; i < m.lattice.vertex_count; i++) {
            double mean = 0, own = 0;
            uint32_t joint = skin->bone_joints[skin->bones[i * skin->influence_count]];
            for (size_t e = i * skin->influence_count; e < (i + 1) * skin->influence_count; e++)
                own += skin->bone_joints[skin->bones[e]] == joint ? (double)skin->weights[e] : 0;
            for (uint32_t k = 0; k < 8; k++) {
                double share = 1;
                for (uint32_t c = 0; c < 3; c++)
                    share *= (double)(k >> c & 1 ? m.lattice.vertex_places[3 * i + c]
                                                 : 1 - m.lattice.vertex_places[3 * i + c]);
                mean += share * weight_of(&t, m.lattice.cells[m.lattice.vertex_cells[i]][k], joint);
            }
            off += fabs(mean - own) / m.lattice.vertex_count;
        }
        assert_true(off < rows[n].most);
        unmake(&m);
        test_end(&test);
    }
}

/* Free particles have the mean of their neighbours; particles at a bone follow it alone. */
static void test_heat_is_harmonic(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    made m;
    px_weight_table t;
    px_jiggle_bones bones;
    test_ok(&test, make(test.context, "arm", 0, &m));
    test_ok(&test, px_jiggle_bones_make(m.arena, &m.subject, &bones));
    test_ok(&test, px_jiggle_weights_by_heat(test.context, m.arena, &m.subject, &m.lattice, NULL, &t));
    check_rows(&m, &t);
    const px_graph *links = &m.lattice.links;
    uint32_t held = 0, between = 0;
    for (uint32_t p = 0; p < m.lattice.particle_count; p++) {
        float least = INFINITY, along;
        for (uint32_t b = 0; b < bones.count; b++)
            least = fminf(least, px_jiggle_bone_distance(&bones.items[b], m.lattice.rest + 3 * (size_t)p, &along));
        if (least <= m.lattice.cell) {
            assert_true(t.weights[(size_t)p * t.capacity] == 1);
            held++;
            continue;
        }
        for (uint32_t e = 0; e < t.capacity; e++) {
            uint32_t joint = t.bones[(size_t)p * t.capacity + e];
            double own = weight_of(&t, p, joint), sum = 0;
            for (uint32_t k = links->firsts[p]; k < links->firsts[p + 1]; k++)
                sum += weight_of(&t, links->to[k], joint) / (links->firsts[p + 1] - links->firsts[p]);
            assert_true(own == 0 || fabs(own - sum) < 1e-3); /* the threshold of 1e-4 removes some weight */
            between += own > 0.2 && own < 0.8;
        }
    }
    assert_true(held > 30 && between > 100);
    unmake(&m);
    test_end(&test);
}

/* A stronger bone gets more weight wherever it has any; a wider one holds more particles. */
static void test_strength_and_width(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    made m;
    px_weight_table plain, strong, wide;
    px_jiggle_bones bones;
    test_ok(&test, make(test.context, "arm", 0, &m));
    test_ok(&test, px_jiggle_bones_make(m.arena, &m.subject, &bones));
    px_jiggle_heat *heat = PX_NEW(m.arena, px_jiggle_heat, m.model->skeleton.joint_count);
    for (uint32_t j = 0; j < m.model->skeleton.joint_count; j++)
        heat[j] = (px_jiggle_heat){1, 1};
    uint32_t joint = bones.items[bones.count / 2].joint, more = 0, wider = 0;
    test_ok(&test, px_jiggle_weights_by_heat(test.context, m.arena, &m.subject, &m.lattice, heat, &plain));
    heat[joint].strength = 3;
    test_ok(&test, px_jiggle_weights_by_heat(test.context, m.arena, &m.subject, &m.lattice, heat, &strong));
    heat[joint] = (px_jiggle_heat){1, 1.6f};
    test_ok(&test, px_jiggle_weights_by_heat(test.context, m.arena, &m.subject, &m.lattice, heat, &wide));
    for (uint32_t p = 0; p < m.lattice.particle_count; p++) {
        double a = weight_of(&plain, p, joint), b = weight_of(&strong, p, joint);
        assert_true(fabs(b - 3 * a / (1 + 2 * a)) < 1e-3);
        more += b > a + 0.05;
        wider += weight_of(&wide, p, joint) == 1 && a < 1;
    }
    assert_true(more > 20 && wider > 5);
    unmake(&m);
    test_end(&test);
}

/* Every part consists of particles near its joint; parts are ordered outwards, and none is empty. */
static void test_parts(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    made m;
    px_weight_table t;
    px_jiggle_parts parts;
    test_ok(&test, make(test.context, "arm", 0, &m));
    test_ok(&test, px_jiggle_weights_from_skin(test.context, m.arena, &m.subject, &m.lattice, &t));
    test_ok(&test, px_jiggle_parts_make(m.arena, &m.subject, &m.lattice, &t, NULL, &parts));
    const uint32_t *parents = m.model->skeleton.parents;
    uint32_t *counts = PX_NEW(m.arena, uint32_t, parts.part_count), crossing = 0;
    for (uint32_t p = 0; p < m.lattice.particle_count; p++) {
        uint32_t joint = parts.joints[parts.parts[p]], bone = parts.bones[p];
        assert_int_equal(bone, t.bones[(size_t)p * t.capacity]);
        assert_true(joint == bone || parents[joint] == bone);
        crossing += joint != bone;
        counts[parts.parts[p]]++;
    }
    assert_true(crossing > 100);
    for (uint32_t n = 0; n < parts.part_count; n++) {
        assert_true(counts[n] > 0);
        assert_true(n == 0 || parts.joints[n] > parts.joints[n - 1]);
    }
    unmake(&m);
    test_end(&test);
}

/* A model without triangles, skin or skeleton: error messages. */
static void test_nothing_to_go_by(void **state) {
    (void)state;
    test_context test;
    pelt_model *model;
    px_arena *arena = px_arena_create(test_begin(&test, 1));
    px_jiggle_subject subject;
    px_lattice lattice;
    px_weight_table t;
    test_ok(&test, pelt_model_create(test.context, &model));
    test_fails(&test, px_jiggle_subject_make(test.context, arena, model, &subject), PELT_ERROR_INPUT, "no mesh");
    model->mesh.positions = pelt_model_alloc(test.context, model, 2, 3 * sizeof(float));
    model->mesh.vertex_count = model->mesh.points.count = 2;
    model->mesh.positions[3] = NAN;
    test_fails(&test, px_jiggle_subject_make(test.context, arena, model, &subject), PELT_ERROR_INPUT, "vertex 1");
    model->mesh.positions[3] = 1;
    test_ok(&test, px_jiggle_subject_make(test.context, arena, model, &subject));
    test_ok(&test, px_jiggle_lattice(test.context, arena, &subject, 5, 0, &lattice));
    test_fails(&test, px_jiggle_weights_from_skin(test.context, arena, &subject, &lattice, &t), PELT_ERROR_INPUT,
               "no skin weights");
    test_fails(&test, px_jiggle_weights_by_heat(test.context, arena, &subject, &lattice, NULL, &t), PELT_ERROR_INPUT,
               "no skeleton");
    pelt_model_destroy(model);
    px_arena_destroy(arena);
    test_end(&test);
}

static pelt_result make_all(pelt_context *context, void *user) {
    made m;
    px_weight_table t;
    px_jiggle_parts parts;
    (void)user;
    pelt_result result = make(context, "arm", 8, &m);
    if (result == PELT_OK)
        result = px_jiggle_weights_from_skin(context, m.arena, &m.subject, &m.lattice, &t);
    if (result == PELT_OK)
        result = px_jiggle_weights_by_heat(context, m.arena, &m.subject, &m.lattice, NULL, &t);
    if (result == PELT_OK)
        result = px_jiggle_weights_by_iteration(context, m.arena, &m.subject, &m.lattice, NULL, &t);
    if (result == PELT_OK)
        result = px_jiggle_parts_make(m.arena, &m.subject, &m.lattice, &t, NULL, &parts);
    unmake(&m);
    return result;
}

static void test_failing_allocations(void **state) {
    (void)state;
    test_fail_some_allocations(1, 150, make_all, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_from_skin),          cmocka_unit_test(test_heat_is_harmonic),
        cmocka_unit_test(test_strength_and_width), cmocka_unit_test(test_parts),
        cmocka_unit_test(test_nothing_to_go_by),   cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
