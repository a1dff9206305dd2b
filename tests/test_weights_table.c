/* Rows of weights: cutting, locks, reading and spreading, smoothing; left and right joints. */
#include "support.h"

#include "weights/weights.h"

#include <pelt/pelt.h>
#include <scenes.h>

#include <math.h>

/* ---- Rows ------------------------------------------------------------------------------------------------- */

static px_weight_sum random_sum(test_random *random, uint32_t count) {
    px_weight_sum sum = {0};
    for (uint32_t e = 0; e < count; e++)
        px_weight_sum_add(&sum, test_random_below(random, 40), test_random_real(random, 0, 1));
    return sum;
}

static double total(const px_weight_sum *sum) {
    double out = 0;
    for (uint32_t e = 0; e < sum->count; e++)
        out += sum->weights[e];
    return out;
}

static void cut_rows(void **state) {
    (void)state;
    test_random random = {1};
    for (int round = 0; round < 2000; round++) {
        px_weight_sum sum = random_sum(&random, 1 + test_random_below(&random, 30)), old = sum;
        px_weight_limits limits = {.influences = 1 + test_random_below(&random, 8), .threshold = 0.05 * (round % 4)};
        px_weight_sum_cut(&sum, &limits);
        assert_true(sum.count >= 1 && sum.count <= limits.influences);
        assert_true(fabs(total(&sum) - 1) < 1e-12);
        double least = INFINITY;
        for (uint32_t e = 0; e < sum.count; e++) {
            assert_true(e == 0 || sum.weights[e] <= sum.weights[e - 1]);
            least = fmin(least, px_weight_sum_of(&old, sum.bones[e]));
        }
        assert_true(sum.count == 1 || least / total(&old) >= limits.threshold);
        for (uint32_t e = 0; e < old.count; e++) /* removed: smaller, and below threshold or over limit */
            if (px_weight_sum_of(&sum, old.bones[e]) == 0) {
                assert_true(old.weights[e] <= least);
                assert_true(sum.count == limits.influences || old.weights[e] / total(&old) < limits.threshold);
            }
    }
}

static void locked_rows(void **state) {
    (void)state;
    test_random random = {2};
    bool locked[40] = {[3] = true, [7] = true, [11] = true};
    for (int round = 0; round < 2000; round++) {
        px_weight_sum sum = random_sum(&random, 1 + test_random_below(&random, 30));
        px_weight_sum_cut(&sum, &(px_weight_limits){.influences = 8});
        px_weight_sum before = sum;
        px_weight_sum_add(&sum, 39, 2); /* the others change */
        px_weight_sum_cut(&sum, &(px_weight_limits){.influences = 4, .threshold = 0.1, .locked = locked});
        assert_true(sum.count <= 4 && fabs(total(&sum) - 1) < 1e-12);
        double most = 0;
        for (uint32_t j = 0; j < 40; j++)
            if (locked[j]) {
                assert_true(px_weight_sum_of(&sum, j) == px_weight_sum_of(&before, j));
                most += px_weight_sum_of(&sum, j);
            }
        assert_true(most <= 1);
    }
    /* Without others, locked ones take the whole sum; of more than K, the largest are kept. */
    px_weight_sum sum = {2, {3, 7}, {0.1, 0.3}};
    px_weight_sum_cut(&sum, &(px_weight_limits){.influences = 4, .locked = locked});
    assert_true(sum.bones[0] == 7 && fabs(sum.weights[0] - 0.75) < 1e-12);
    px_weight_sum_cut(&sum, &(px_weight_limits){.influences = 1, .locked = locked});
    assert_true(sum.count == 1 && sum.bones[0] == 7 && sum.weights[0] == 1);
}

/* The smallest are removed when there are too many bones. */
static void crowded_row(void **state) {
    (void)state;
    px_weight_sum sum = {0};
    for (uint32_t j = 0; j < 1000; j++)
        px_weight_sum_add(&sum, j, 1 + j);
    px_weight_sum_add(&sum, 1, 0.5);
    assert_int_equal(sum.count, PX_WEIGHT_SUM_MOST);
    px_weight_sum_cut(&sum, &(px_weight_limits){.influences = 3});
    assert_true(sum.bones[0] == 999 && sum.bones[1] == 998 && sum.bones[2] == 997);
}

/* ---- Tables ----------------------------------------------------------------------------------------------- */

static pelt_model *make_scene(test_context *test, const char *name, uint32_t vertex_count) {
    pelt_model *model;
    scene_desc desc = {vertex_count, 4, 1};
    test_ok(test, scene_find(name)->make(test->context, &desc, &model));
    test_ok(test, pelt_model_weld(test->context, model));
    return model;
}

static void spread_again(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    pelt_model *model = make_scene(&test, "production", 2000);
    const pelt_skin *skin = &model->skin;
    px_arena *arena = px_arena_create(context);
    px_weight_table table;
    pelt_skin out = {0};
    test_ok(&test, px_weight_table_read(arena, model, &model->mesh.weld, NULL, &table));
    assert_int_equal(table.row_count, model->mesh.weld.count);
    test_ok(&test, px_weight_table_spread(&table, model, &model->mesh.weld, NULL, skin->influence_count, &out));
    for (size_t e = 0; e < (size_t)model->mesh.vertex_count * skin->influence_count; e++)
        assert_true(fabsf(out.weights[e] - skin->weights[e]) < 1e-6f);
    /* Frozen vertices do not count and keep all their weights. */
    uint8_t *frozen = PX_NEW(arena, uint8_t, model->mesh.vertex_count);
    memset(frozen, 1, model->mesh.vertex_count);
    test_ok(&test, px_weight_table_read(arena, model, &model->mesh.weld, frozen, &table));
    for (size_t r = 0; r < table.row_count; r++)
        assert_true(table.weights[r * table.capacity] == 0);
    test_ok(&test, px_weight_table_spread(&table, model, &model->mesh.weld, frozen, 1, &out));
    assert_true(out.influence_count >= 2);
    for (size_t i = 0; i < model->mesh.vertex_count; i++)
        for (size_t a = 0; a < skin->influence_count; a++)
            assert_true((a < out.influence_count ? out.weights[i * out.influence_count + a] : 0) ==
                        skin->weights[i * skin->influence_count + a]);
    px_arena_destroy(arena);
    pelt_model_destroy(model);
    test_end(&test);
}

static double row_weight(const px_weight_table *t, size_t row, uint32_t bone) {
    px_weight_sum sum = {0};
    px_weight_sum_add_row(&sum, t, row, 1);
    return px_weight_sum_of(&sum, bone);
}

static void smooth_rows(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    pelt_model *model = make_scene(&test, "creature", 1000);
    px_arena *arena = px_arena_create(context);
    px_neighbours around;
    px_weight_table before, table;
    uint32_t bone = model->skin.bones[0], rows = model->mesh.weld.count;
    bool *locked = PX_NEW(arena, bool, model->skin.bone_count);
    uint8_t *fixed = PX_NEW(arena, uint8_t, rows);
    locked[bone] = true;
    memset(fixed, 1, rows / 2);
    test_ok(&test, px_neighbours_make(arena, &model->mesh, &model->mesh.weld, &around));
    test_ok(&test, px_weight_table_read(arena, model, &model->mesh.weld, NULL, &before));
    test_ok(&test, px_weight_table_read(arena, model, &model->mesh.weld, NULL, &table));
    px_weight_smoothing how = {.strength = 0.5, .iterations = 3, .locked = locked, .fixed = fixed};
    test_ok(&test, px_weight_table_smooth(context, &table, &around, &how));
    size_t moved = 0;
    for (size_t r = 0; r < rows; r++) {
        double sum = 0;
        for (size_t e = r * table.capacity; e < (r + 1) * table.capacity; e++) {
            sum += (double)table.weights[e];
            moved += table.weights[e] != before.weights[e];
            assert_true(r >= rows / 2 || table.weights[e] == before.weights[e]);
        }
        assert_true(fabs(sum - 1) < 1e-6);
        assert_true(row_weight(&table, r, bone) == row_weight(&before, r, bone));
    }
    assert_true(moved > 100);
    /* Constant weights stay. */
    for (size_t e = 0; e < (size_t)rows * table.capacity; e++) {
        static const float constant[3] = {0.6f, 0.3f, 0.1f};
        table.bones[e] = (uint16_t)(e % table.capacity < 3 ? 5 + e % table.capacity : 0);
        table.weights[e] = e % table.capacity < 3 ? constant[e % table.capacity] : 0;
    }
    how = (px_weight_smoothing){.strength = 1, .iterations = 10};
    test_ok(&test, px_weight_table_smooth(context, &table, &around, &how));
    for (size_t r = 0; r < rows; r++)
        assert_true(fabs(row_weight(&table, r, 5) - 0.6) < 1e-6 && fabs(row_weight(&table, r, 7) - 0.1) < 1e-6);
    px_arena_destroy(arena);
    pelt_model_destroy(model);
    test_end(&test);
}

/* One step computed by hand, on a strip: 0 - 1 - 2 with the triangle between all three. */
static void smooth_by_hand(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    uint32_t triangles[] = {0, 1, 2};
    pelt_mesh mesh = {.vertex_count = 3, .triangle_count = 1, .triangles = triangles};
    px_arena *arena = px_arena_create(context);
    px_neighbours around;
    px_weight_table t;
    test_ok(&test, px_neighbours_make(arena, &mesh, &(pelt_vertex_classes){.count = 3}, &around));
    test_ok(&test, px_weight_table_make(arena, 3, 4, &t));
    for (uint32_t r = 0; r < 3; r++) {
        t.bones[4 * r] = (uint16_t)r;
        t.weights[4 * r] = 1;
    }
    px_weight_smoothing how = {.strength = 0.4, .iterations = 1};
    test_ok(&test, px_weight_table_smooth(context, &t, &around, &how));
    for (uint32_t r = 0; r < 3; r++)
        for (uint32_t j = 0; j < 3; j++)
            assert_true(fabs(row_weight(&t, r, j) - (r == j ? 0.6 : 0.2)) < 1e-6);
    px_arena_destroy(arena);
    test_end(&test);
}

/* ---- Left and right --------------------------------------------------------------------------------------- */

static void pair_of_names(void **state) {
    (void)state;
    static const char *const pairs[][2] = {{"LeftArm", "RightArm"},
                                           {"mixamorig:LeftHand", "mixamorig:RightHand"},
                                           {"arm_L", "arm_R"},
                                           {"hand.l", "hand.r"},
                                           {"L_foot", "R_foot"},
                                           {"Bip01 L Thigh", "Bip01 R Thigh"},
                                           {"thumb.01.L", "thumb.01.R"},
                                           {"lShldr", "rShldr"},
                                           {"LThigh", "RThigh"},
                                           {"toeL", "toeR"},
                                           {"finger_l_02", "finger_r_02"},
                                           {"LEFT_EYE", "RIGHT_EYE"},
                                           {"l-ear", "r-ear"},
                                           {"knee_lft", "knee_rgt"},
                                           {"cleft_right_curl", "cleft_left_curl"},
                                           {"Ear_l", "ear_R"}};
    static const char *const single[] = {"root", "spine", "skull", "left_only", "arrow", "collar", "tail_r"};
    enum { PAIRS = PX_COUNT(pairs), COUNT = 2 * PAIRS + PX_COUNT(single) };
    const char *names[COUNT];
    uint32_t parents[COUNT], found[COUNT];
    float positions[3 * COUNT];
    px_joint_side sides[COUNT];
    for (uint32_t j = 0; j < COUNT; j++) {
        names[j] = j < 2 * PAIRS ? pairs[j / 2][j % 2] : single[j - 2 * PAIRS];
        parents[j] = PELT_NONE;
        positions[3 * j] = 5 + (float)j; /* positions give no hint */
        positions[3 * j + 1] = positions[3 * j + 2] = 0;
    }
    test_context test;
    test_begin(&test, 1);
    pelt_skeleton skeleton = {.joint_count = COUNT, .names = names, .parents = parents};
    test_ok(&test, px_mirror_joints(test.context, &skeleton, positions, (px_mirror_plane){0, 0}, found, sides));
    for (uint32_t j = 0; j < COUNT; j++) {
        uint32_t wanted = j < 2 * PAIRS ? j ^ 1 : PELT_NONE;
        if (found[j] != wanted)
            fail_msg("'%s' got '%s'", names[j], found[j] == PELT_NONE ? "nothing" : names[found[j]]);
        bool swapped = j / 2 == 14; /* its first name says right */
        px_joint_side side = (j % 2 == 1) != swapped ? PX_SIDE_RIGHT : PX_SIDE_LEFT;
        assert_int_equal(sides[j], wanted == PELT_NONE ? PX_SIDE_NONE : side);
    }
    test_end(&test);
}

static void pair_of_places(void **state) {
    (void)state;
    /* A spine on the plane x = 1, two arms of two joints, a tail to one side. */
    static const char *names[] = {"a", "b", "c", "d", "e", "f", "g"};
    uint32_t parents[] = {PELT_NONE, 0, 0, 1, 2, 0, 5}, found[7];
    float positions[] = {1, 0, 0, 2, 1, 0, 0, 1, 0, 3, 1, 0, -1, 1.004f, 0, 1, 3, 0, 2, 4, 0};
    test_context test;
    test_begin(&test, 1);
    pelt_skeleton skeleton = {.joint_count = 7, .names = names, .parents = parents};
    test_ok(&test, px_mirror_joints(test.context, &skeleton, positions, (px_mirror_plane){0, 1}, found, NULL));
    static const uint32_t wanted[] = {0, 2, 1, 4, 3, 5, PELT_NONE};
    for (uint32_t j = 0; j < 7; j++)
        assert_int_equal(found[j], wanted[j]);
    parents[4] = 0; /* below another parent it is not the counterpart */
    test_ok(&test, px_mirror_joints(test.context, &skeleton, positions, (px_mirror_plane){0, 1}, found, NULL));
    assert_true(found[3] == PELT_NONE && found[4] == PELT_NONE && found[1] == 2);
    test_end(&test);
}

static void pair_of_scene(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_scene(&test, "production", 2000);
    uint32_t count = model->skeleton.joint_count;
    pelt_affine *globals = pelt_model_alloc(test.context, model, count, sizeof *globals);
    float *positions = pelt_model_alloc(test.context, model, 3 * count, sizeof *positions);
    uint32_t *by_name = pelt_model_alloc(test.context, model, count, sizeof *by_name);
    uint32_t *by_place = pelt_model_alloc(test.context, model, count, sizeof *by_place);
    pelt_skeleton_globals(&model->skeleton, model->skeleton.rest, globals);
    for (uint32_t j = 0; j < count; j++)
        for (int c = 0; c < 3; c++)
            positions[3 * j + (uint32_t)c] = globals[j].m[4 * c + 3];
    test_ok(&test, px_mirror_joints(test.context, &model->skeleton, positions, (px_mirror_plane){0, 0}, by_name, NULL));
    for (uint32_t j = 0; j < count; j++)
        model->skeleton.names[j] = "";
    test_ok(&test,
            px_mirror_joints(test.context, &model->skeleton, positions, (px_mirror_plane){0, 0}, by_place, NULL));
    uint32_t apart = 0;
    for (uint32_t j = 0; j < count; j++) {
        assert_int_equal(by_name[by_name[j]], j);
        assert_int_equal(by_place[j], by_name[j]);
        apart += by_name[j] != j;
    }
    assert_int_equal(apart, 38);
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Out of memory ---------------------------------------------------------------------------------------- */

static pelt_result run_all(pelt_context *context, void *user) {
    const pelt_model *model = user;
    px_arena *arena = px_arena_create(context);
    if (!arena)
        return PELT_ERROR_MEMORY;
    px_weight_table table;
    px_neighbours around;
    uint32_t pairs[64];
    float positions[3 * 64] = {0};
    pelt_result result = px_weight_table_read(arena, model, &model->mesh.weld, NULL, &table);
    if (result == PELT_OK)
        result = px_neighbours_make(arena, &model->mesh, &model->mesh.weld, &around);
    px_weight_smoothing how = {.strength = 1, .iterations = 1};
    if (result == PELT_OK)
        result = px_weight_table_smooth(context, &table, &around, &how);
    if (result == PELT_OK)
        result = px_mirror_joints(context, &model->skeleton, positions, (px_mirror_plane){0, 0}, pairs, NULL);
    px_arena_destroy(arena);
    return result;
}

static void no_memory(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_scene(&test, "creature", 300);
    assert_true(model->skeleton.joint_count <= 64);
    test_fail_each_allocation(2, run_all, model);
    pelt_model_destroy(model);
    test_end(&test);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_rows),      cmocka_unit_test(locked_rows),    cmocka_unit_test(crowded_row),
        cmocka_unit_test(spread_again),  cmocka_unit_test(smooth_rows),    cmocka_unit_test(smooth_by_hand),
        cmocka_unit_test(pair_of_names), cmocka_unit_test(pair_of_places), cmocka_unit_test(pair_of_scene),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
