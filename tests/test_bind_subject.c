/* Input of a binding: poses, spaces, skins, nodes and skeletons of other files; equivalent inputs in other
 * positions. */
#include "bind_models.h"

#include "core/math3.h"

#include <pelt/io.h>

#define TURN 0.70710678f /* component of the quaternion of a quarter turn */

static pelt_model *bound_arms(test_context *test, const pelt_bind_desc *desc) {
    pelt_model *model = make_arms(test, true);
    test_ok(test, pelt_bind(test->context, model, desc, NULL));
    return model;
}

/* Position of a vertex in the skeleton's rest pose. */
static void rest_place(const pelt_model *model, size_t vertex, float out[3]) {
    pelt_affine globals[16];
    pelt_skeleton_globals(&model->skeleton, model->skeleton.rest, globals);
    out[0] = out[1] = out[2] = 0;
    for (size_t e = vertex * model->skin.influence_count; e < (vertex + 1) * model->skin.influence_count; e++) {
        uint32_t bone = model->skin.bones[e];
        pelt_affine move = px_affine_mul(&globals[model->skin.bone_joints[bone]], &model->skin.inverse_binds[bone]);
        float p[3];
        px_affine_point(&move, model->mesh.positions + 3 * vertex, p);
        for (int c = 0; c < 3; c++)
            out[c] += model->skin.weights[e] * p[c];
    }
}

/* ---- Poses ----------------------------------------------------------------------------------------------------- */

/* The rest pose of a file may differ from its bind pose: the bind pose is used. */
static void test_rest_pose_is_not_bind_pose(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_bind_desc desc = quick_desc();
    pelt_model *plain = bound_arms(&test, &desc), *posed = make_arms(&test, true);
    posed->skeleton.rest[FORE_L].rotation[2] = TURN;
    posed->skeleton.rest[FORE_L].rotation[3] = TURN;
    posed->skeleton.rest[ARM_R].rotation[1] = TURN;
    posed->skeleton.rest[ARM_R].rotation[3] = TURN;
    pelt_skin old = posed->skin;
    test_ok(&test, pelt_bind(test.context, posed, &desc, NULL));
    assert_true(mean_distance(plain, posed, NULL) < 1e-6);
    assert_int_equal(posed->skin.bone_count, old.bone_count);
    assert_memory_equal(posed->skin.inverse_binds, old.inverse_binds, old.bone_count * sizeof *old.inverse_binds);
    pelt_model_destroy(plain);
    pelt_model_destroy(posed);
    test_end(&test);
}

/* ---- Spaces ---------------------------------------------------------------------------------------------------- */

/* Two skins of one skeleton: the button's vertices are in another space, with bones of their own. */
static pelt_model *two_skins(test_context *test, uint32_t own_bones) {
    pelt_model *model = make_arms(test, true);
    const pelt_part *button = &model->mesh.parts[1];
    pelt_skin *skin = &model->skin;
    pelt_affine to = {{0, -2, 0, 3, 2, 0, 0, 1, 0, 0, 2, -1}}, back; /* rotated, scaled by 2 and moved */
    assert_true(px_affine_inverse(&to, &back));
    uint32_t *joints = pelt_model_alloc(test->context, model, ARMS + own_bones, sizeof *joints);
    pelt_affine *binds = pelt_model_alloc(test->context, model, ARMS + own_bones, sizeof *binds);
    memcpy(joints, skin->bone_joints, ARMS * sizeof *joints);
    memcpy(binds, skin->inverse_binds, ARMS * sizeof *binds);
    for (uint32_t b = 0; b < own_bones; b++) {
        joints[ARMS + b] = b;
        binds[ARMS + b] = px_affine_mul(&skin->inverse_binds[b], &back);
    }
    skin->bone_joints = joints;
    skin->inverse_binds = binds;
    skin->bone_count += own_bones;
    for (size_t i = button->first_vertex; i < (size_t)button->first_vertex + button->vertex_count; i++) {
        float moved[3];
        px_affine_point(&to, model->mesh.positions + 3 * i, moved);
        memcpy(model->mesh.positions + 3 * i, moved, sizeof moved);
        skin->bones[2 * i] = ARMS;
    }
    test_ok(test, pelt_model_validate(test->context, model));
    return model;
}

static void test_two_skins(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_bind_desc desc = quick_desc();
    desc.rigid_parts = PELT_BIND_RIGID_OFF;
    pelt_model *plain = bound_arms(&test, &desc);
    for (uint32_t own = 2; own <= ARMS; own += 3) { /* with bones for some joints, or for all */
        pelt_model *model = two_skins(&test, own);
        pelt_skin old = model->skin;
        test_ok(&test, pelt_bind(test.context, model, &desc, NULL));
        assert_sound(&test, model, 4);
        assert_true(mean_distance(plain, model, NULL) < 2e-3);
        assert_true(own == ARMS ? model->skin.bone_count == old.bone_count : model->skin.bone_count > old.bone_count);
        assert_memory_equal(model->skin.bone_joints, old.bone_joints, old.bone_count * sizeof *old.bone_joints);
        assert_memory_equal(model->skin.inverse_binds, old.inverse_binds, old.bone_count * sizeof *old.inverse_binds);
        for (uint32_t i = 0; i < model->mesh.vertex_count; i++) { /* every vertex rests where it was */
            float p[3];
            rest_place(model, i, p);
            for (int c = 0; c < 3; c++)
                assert_true(fabsf(p[c] - plain->mesh.positions[3 * (size_t)i + c]) < 1e-5f);
        }
        pelt_model_destroy(model);
    }
    pelt_model_destroy(plain);
    test_end(&test);
}

/* A part that follows a node, next to skinned parts, keeps its weights to the bit although the influence count
 * grows. */
static void test_what_follows_a_node_keeps_its_weights(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_arms(&test, true);
    pelt_part *button = &model->mesh.parts[1];
    button->skinned = false;
    button->joint = ARM_L;
    for (uint32_t i = 0; i < button->vertex_count; i++)
        set_weights(model, button->first_vertex + i, ARM_L, FORE_L, 0.3);
    pelt_skin old = model->skin;
    pelt_bind_desc desc = quick_desc();
    pelt_bind_report report;
    desc.influences = 1;
    test_ok(&test, pelt_bind(test.context, model, &desc, &report));
    assert_int_equal(report.vertex_count, model->mesh.vertex_count - button->vertex_count);
    assert_int_equal(model->skin.influence_count, 2);
    assert_false(button->skinned);
    for (size_t i = 0; i < model->mesh.vertex_count; i++) {
        bool kept = i >= button->first_vertex;
        if (kept)
            assert_memory_equal(model->skin.weights + 2 * i, old.weights + 2 * i, 2 * sizeof(float));
        else
            assert_true(model->skin.weights[2 * i] == 1);
        assert_true(!kept || model->skin.bones[2 * i] == old.bones[2 * i]);
    }
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Nodes ----------------------------------------------------------------------------------------------------- */

/* A motion that turns the left forearm. */
static void add_motion(test_context *test, pelt_model *model, uint32_t joint) {
    static const float times[] = {0, 1}, values[] = {0, 0, 0, 1, 0, 0, TURN, TURN};
    model->motion_count = 1;
    model->motions = pelt_model_alloc(test->context, model, 1, sizeof *model->motions);
    pelt_track *track = pelt_model_alloc(test->context, model, 1, sizeof *track);
    *track = (pelt_track){joint, PELT_PATH_ROTATION, PELT_INTERPOLATION_LINEAR, 4, 2, times, values};
    model->motions[0] = (pelt_motion){"bend", 0, 1, 1, track};
}

static float *pose_at_end(test_context *test, const pelt_model *model) {
    float *out = malloc(3 * (size_t)model->mesh.vertex_count * sizeof *out);
    test_ok(test, pelt_model_pose(test->context, model, &model->motions[0], 1, PELT_SKINNING_LINEAR, out, NULL));
    return out;
}

/* Writes the model, reads it back, and compares the last pose of the first motion. */
static void assert_written(test_context *test, const pelt_model *model) {
    char folder[1024], file[1100];
    test_folder(folder);
    snprintf(file, sizeof file, "%s/out.glb", folder);
    test_ok(test, pelt_save(test->context, model, file, NULL));
    pelt_model *read;
    const char *paths[] = {file};
    test_ok(test, pelt_load(test->context, paths, 1, NULL, &read));
    assert_int_equal(read->mesh.vertex_count, model->mesh.vertex_count);
    assert_int_equal(read->motion_count, model->motion_count);
    for (uint32_t p = 0; p < read->mesh.part_count; p++)
        assert_true(read->mesh.parts[p].skinned);
    float *poses[] = {pose_at_end(test, model), pose_at_end(test, read)};
    for (size_t e = 0; e < 3 * (size_t)model->mesh.vertex_count; e++)
        assert_true(fabsf(poses[0][e] - poses[1][e]) < 1e-5f);
    free(poses[0]);
    free(poses[1]);
    pelt_model_destroy(read);
    unlink(file);
    rmdir(folder);
}

/* Bends like the arms that had a skin before. */
static void assert_bends(test_context *test, const pelt_model *model, const pelt_model *plain) {
    float *pose = pose_at_end(test, model), *wanted = pose_at_end(test, plain);
    double moved = 0;
    for (size_t e = 0; e < 3 * (size_t)plain->mesh.vertex_count; e++) {
        assert_true(fabsf(pose[e] - wanted[e]) < 1e-4f);
        moved = fmax(moved, fabs((double)pose[e] - (double)plain->mesh.positions[e]));
    }
    assert_true(moved > 0.5);
    free(pose);
    free(wanted);
}

/* Meshes attached to nodes, as in a file without a skin. */
static pelt_model *arms_on_nodes(test_context *test) {
    enum { BODY = ARMS, BUTTON, JOINTS };
    test_joint joints[JOINTS];
    pelt_model *model = make_arms(test, false);
    memcpy(joints, arms_joints, sizeof arms_joints);
    joints[BODY] = (test_joint){"body", PELT_NONE, {0.5f, 0.25f, 0}};
    joints[BUTTON] = (test_joint){"button", BODY, {-1, 0, 0.125f}};
    add_skeleton(test, model, joints, JOINTS);
    pelt_skin *skin = &model->skin;
    add_skin(test, model, joints, JOINTS);
    for (uint32_t p = 0; p < 2; p++) {
        pelt_part *part = &model->mesh.parts[p];
        part->skinned = false;
        part->joint = BODY + p;
        for (uint32_t i = 0; i < part->vertex_count; i++)
            skin->bones[2 * (size_t)(part->first_vertex + i)] = (uint16_t)(p);
        skin->bone_joints[p] = BODY + p;
        const float *at = joints[BODY + p].place;
        skin->inverse_binds[p] = (pelt_affine){{1, 0, 0, -at[0], 0, 1, 0, -at[1], 0, 0, 1, -at[2]}};
    }
    skin->bone_count = 2;
    test_ok(test, pelt_model_validate(test->context, model));
    return model;
}

static void test_meshes_on_nodes_get_a_skin(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_bind_desc desc = quick_desc();
    pelt_model *plain = bound_arms(&test, &desc);
    add_motion(&test, plain, FORE_L);
    for (int n = 0; n < 2; n++) { /* with nodes, and with a mesh attached to no node */
        pelt_model *model = n ? make_arms(&test, false) : arms_on_nodes(&test);
        add_motion(&test, model, FORE_L);
        test_ok(&test, pelt_bind(test.context, model, &desc, NULL));
        assert_sound(&test, model, 4);
        assert_int_equal(model->skin.bone_count, ARMS); /* one bone per joint, none for nodes of meshes */
        assert_true(mean_distance(plain, model, NULL) < 1e-6);
        assert_true(model->mesh.parts[0].skinned && model->mesh.parts[1].skinned);
        assert_true(model->changed == PELT_CHANGED_SKIN);
        assert_bends(&test, model, plain);
        assert_written(&test, model);
        pelt_model_destroy(model);
    }
    pelt_model_destroy(plain);
    test_end(&test);
}

static void test_nodes_that_only_carry_meshes_are_no_skeleton(void **state) {
    (void)state;
    static const test_joint nodes[] = {{"body", PELT_NONE, {0, 0, 0}}, {"button", PELT_NONE, {0, 0, 0}}};
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_arms(&test, false);
    add_skeleton(&test, model, nodes, 2);
    add_skin(&test, model, nodes, 2);
    for (uint32_t p = 0; p < 2; p++) {
        model->mesh.parts[p].skinned = false;
        model->mesh.parts[p].joint = p;
    }
    pelt_bind_desc desc = quick_desc();
    test_fails(&test, pelt_bind(test.context, model, &desc, NULL), PELT_ERROR_INPUT, "there is no skeleton");
    pelt_model_destroy(model);
    model = make_arms(&test, true);
    desc.exclude = "Mid,Arm_L,Arm_R,Fore_L,Fore_R";
    test_fails(&test, pelt_bind(test.context, model, &desc, NULL), PELT_ERROR_INPUT, "no joint is left");
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Skeletons of other files ---------------------------------------------------------------------------------- */

static void test_skeleton_of_another_model(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_bind_desc desc = quick_desc();
    pelt_model *plain = bound_arms(&test, &desc);
    add_motion(&test, plain, FORE_L);
    for (int n = 0; n < 4; n++) {
        pelt_model *model,
            *rig = make_arms(&test, n % 2); /* with its own mesh and skin, or with little more than a skeleton */
        add_motion(&test, rig, FORE_L);
        if (n < 2) {
            shape *s = arms_shape();
            model = shape_model(&test, s);
            free(s);
        } else {
            model = arms_on_nodes(&test);
        }
        uint32_t nodes = model->skeleton.joint_count;
        desc.skeleton = rig;
        pelt_binding *binding;
        test_ok(&test, pelt_binding_create(test.context, model, &desc, &binding));
        for (int again = 0; again < 2; again++)
            test_ok(&test, pelt_binding_apply(binding, NULL));
        pelt_binding_destroy(binding);
        pelt_model_destroy(rig); /* everything was copied */
        assert_sound(&test, model, 4);
        assert_int_equal(model->skeleton.joint_count, nodes + ARMS);
        assert_int_equal(model->motion_count, 1);
        assert_true(model->changed == (PELT_CHANGED_SKIN | PELT_CHANGED_SKELETON | PELT_CHANGED_MOTIONS));
        for (uint32_t i = 0; i < model->mesh.vertex_count; i++)
            for (uint32_t j = 0; j < ARMS; j++)
                assert_true(fabs(joint_weight(model, i, nodes + j) - joint_weight(plain, i, j)) < 1e-6);
        assert_bends(&test, model, plain);
        assert_written(&test, model);
        pelt_model_destroy(model);
    }
    pelt_model *rig = make_arms(&test, true), *model = arms_on_nodes(&test);
    desc.skeleton = rig;
    desc.lock = "Mid";
    test_fails(&test, pelt_bind(test.context, model, &desc, NULL), PELT_ERROR_USAGE, "of another skeleton");
    pelt_model_destroy(rig);
    pelt_model_destroy(model);
    pelt_model_destroy(plain);
    test_end(&test);
}

/* ---- Transformed input ----------------------------------------------------------------------------------------- */

/* Moves the whole model, so that every pose is the same, moved. */
static void move_model(pelt_model *model, pelt_transform by) {
    pelt_affine move = px_affine_from_transform(&by), back = move;
    assert_true(px_affine_inverse(&move, &back));
    for (size_t i = 0; i < model->mesh.vertex_count; i++) {
        float moved[3];
        px_affine_point(&move, model->mesh.positions + 3 * i, moved);
        memcpy(model->mesh.positions + 3 * i, moved, sizeof moved);
    }
    for (uint32_t b = 0; b < model->skin.bone_count; b++)
        model->skin.inverse_binds[b] = px_affine_mul(&model->skin.inverse_binds[b], &back);
    for (uint32_t j = 0; j < model->skeleton.joint_count; j++)
        if (model->skeleton.parents[j] == PELT_NONE) {
            pelt_affine root = px_affine_from_transform(&model->skeleton.rest[j]);
            root = px_affine_mul(&move, &root);
            px_transform_from_affine(&root, &model->skeleton.rest[j]);
        }
}

static void test_moved_inputs_get_the_same_weights(void **state) {
    (void)state;
    static const struct {
        pelt_transform by;
        double most;
        const char *scene; /* NULL: the arms */
    } cases[] = {{{{1.7f, -20, 3}, {0, 0, 0, 1}, {1, 1, 1}}, 1e-3, "creature"},
                 {{{0, 0, 0}, {0, 0, 0, 1}, {100, 100, 100}}, 1e-3, "creature"},
                 {{{0, 0, 0}, {TURN, 0, 0, TURN}, {1, 1, 1}}, 1e-2, "creature"},
                 {{{0, 0, 0}, {0.1830127f, 0.1830127f, 0.1830127f, 0.9484573f}, {1, 1, 1}}, 0.02, "creature"},
                 {{{0, 0, 0}, {0.1830127f, 0.1830127f, 0.1830127f, 0.9484573f}, {1, 1, 1}}, 0.02, NULL}};
    test_context test;
    test_begin(&test, 2);
    pelt_bind_desc desc = quick_desc();
    desc.resolution = 96;
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
        pelt_model *models[2];
        for (int moved = 0; moved < 2; moved++) {
            models[moved] = cases[n].scene ? make_scene(&test, cases[n].scene, 2000) : make_arms(&test, true);
            if (moved)
                move_model(models[moved], cases[n].by);
            test_ok(&test, pelt_bind(test.context, models[moved], &desc, NULL));
        }
        double distance = mean_distance(models[0], models[1], NULL);
        if (!(distance < cases[n].most))
            fail_msg("case %zu: %g", n, distance);
        pelt_model_destroy(models[0]);
        pelt_model_destroy(models[1]);
    }
    test_end(&test);
}

/* Divides every triangle into four: the surface is the same, so the weights of the old vertices must be too. */
static void test_divided_mesh(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_bind_desc desc = quick_desc();
    pelt_model *plain = bound_arms(&test, &desc);
    shape *s = arms_shape(), *finer = calloc(1, sizeof *finer);
    uint32_t places[512];
    for (uint32_t p = 0; p < s->part_count; p++) {
        const pelt_part *part = &s->parts[p];
        shape_part(finer, part->name, part->material);
        for (uint32_t i = part->first_vertex; i < part->first_vertex + part->vertex_count; i++) {
            places[i] = finer->vertex_count;
            memcpy(finer->positions + 3 * (size_t)finer->vertex_count++, s->positions + 3 * (size_t)i,
                   3 * sizeof(float));
        }
        for (uint32_t t = part->first_triangle; t < part->first_triangle + part->triangle_count; t++) {
            uint32_t corners[3], middles[3];
            for (uint32_t c = 0; c < 3; c++) {
                const float *a = s->positions + 3 * (size_t)s->triangles[3 * t + c];
                const float *b = s->positions + 3 * (size_t)s->triangles[3 * t + (c + 1) % 3];
                corners[c] = places[s->triangles[3 * t + c]];
                middles[c] = finer->vertex_count++;
                for (size_t e = 0; e < 3; e++)
                    finer->positions[3 * (size_t)middles[c] + e] = 0.5f * (a[e] + b[e]);
            }
            for (uint32_t c = 0; c < 3; c++) {
                uint32_t corner[3] = {corners[c], middles[c], middles[(c + 2) % 3]};
                memcpy(finer->triangles + 3 * (size_t)finer->triangle_count++, corner, sizeof corner);
            }
            memcpy(finer->triangles + 3 * (size_t)finer->triangle_count++, middles, sizeof middles);
        }
        shape_part_end(finer);
    }
    assert_true(finer->vertex_count <= SHAPE_MOST);
    pelt_model *model = shape_model(&test, finer);
    add_skeleton(&test, model, arms_joints, ARMS);
    add_skin(&test, model, arms_joints, ARMS);
    test_ok(&test, pelt_bind(test.context, model, &desc, NULL));
    assert_true(mean_distance(plain, model, places) < 0.02);
    free(s);
    free(finer);
    pelt_model_destroy(model);
    pelt_model_destroy(plain);
    test_end(&test);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rest_pose_is_not_bind_pose),
        cmocka_unit_test(test_two_skins),
        cmocka_unit_test(test_what_follows_a_node_keeps_its_weights),
        cmocka_unit_test(test_meshes_on_nodes_get_a_skin),
        cmocka_unit_test(test_nodes_that_only_carry_meshes_are_no_skeleton),
        cmocka_unit_test(test_skeleton_of_another_model),
        test_long(test_moved_inputs_get_the_same_weights),
        cmocka_unit_test(test_divided_mesh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
