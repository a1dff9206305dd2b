/* Weights by heat diffusion, before pruning and normalisation; and which joints get bones. */
#include "bind_models.h"
#include "core/math3.h"

#include "bind/bind.h"

static void test_names(void **state) {
    (void)state;
    assert_true(px_bind_name_steers("PoleTarget.L"));
    assert_true(px_bind_name_steers("hand_ctrl"));
    assert_false(px_bind_name_steers("Controller"));
    assert_false(px_bind_name_steers("Spike"));
    assert_true(px_bind_name_is_ik("IKFoot.L"));
    assert_true(px_bind_name_is_ik("ik_hand_r"));
    assert_false(px_bind_name_is_ik("Spike"));
    assert_true(px_bind_name_is_root("CharacterRoot"));
    assert_false(px_bind_name_is_root("Rooted"));
    assert_true(px_bind_name_is_end("Head_end"));
    assert_true(px_bind_name_is_end("Bip01 HeadNub"));
    assert_false(px_bind_name_is_end("Bend"));
    assert_true(px_bind_name_is_clavicle("Bip01 L Clavicle"));
    assert_true(px_bind_name_is_clavicle("LeftShoulder"));
    assert_false(px_bind_name_is_clavicle("Shoulders"));
}

/* A tube along an axis, with a skin. */
static pelt_model *make_tube_along(test_context *test, uint32_t axis, const test_joint *joints, uint32_t count) {
    shape *s = calloc(1, sizeof *s);
    shape_part(s, "tube", NULL);
    shape_tube(s, axis, -2, 2, 32, 0.25, (double[3]){0, 0, 0});
    shape_part_end(s);
    pelt_model *model = shape_model(test, s);
    free(s);
    add_skeleton(test, model, joints, count);
    add_skin(test, model, joints, count);
    return model;
}

/* The tube alone, without the button: weights along it match the solution of the equation. */
static pelt_model *make_tube(test_context *test, const test_joint *joints, uint32_t count) {
    return make_tube_along(test, 0, joints, count);
}

static void test_fields(void **state) {
    (void)state;
    static const test_joint joints[] = {{"A", PELT_NONE, {-2, 0, 0}}, {"B", 0, {0, 0, 0}}};
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_tube(&test, joints, 2);
    pelt_bind_desc desc = quick_desc();
    desc.resolution = 128; /* the accuracy of borders is the size of coarse nodes */
    pelt_binding *binding;
    test_ok(&test, pelt_binding_create(test.context, model, &desc, &binding));
    const px_bind_subject *s = &binding->subject;
    assert_int_equal(s->target_count, 2);
    for (uint32_t i = 0; i < s->classes.count; i++) {
        const float *w = binding->fields.values + 2 * (size_t)i;
        float x = s->positions[3 * (size_t)i];
        assert_true(fabsf(w[0] + w[1] - 1) < 0.02f);
        assert_true(x < -1 ? w[0] > 0.97f : x > 1 ? w[1] > 0.97f : true);
        if (fabsf(x) < 1e-6f) /* the border is at the joint */
            if (!(fabsf(w[0] - 0.5f) < 0.25f))
                fail_msg("%g at the joint", w[0]);
        for (uint32_t k = 0; k < s->classes.count; k++) /* the weight of B never decreases along x */
            if (s->positions[3 * (size_t)k] > x + 1e-6f)
                assert_true(binding->fields.values[2 * (size_t)k + 1] > w[1] - 0.02f);
    }
    pelt_binding_destroy(binding);
    pelt_model_destroy(model);
    test_end(&test);
}

static void test_joints_that_steer(void **state) {
    (void)state;
    static const test_joint joints[] = {
        {"Root", PELT_NONE, {0, 0, 0}},  {"A", 0, {-2, 0, 0}},   {"B", 1, {0, 0, 0}},
        {"PoleTarget", 1, {1, 0.2f, 0}}, {"ik_B", 0, {0, 0, 0}}, {"IKFore", 2, {1, 0, 0}}};
    static const uint8_t expected[] = {PELT_BIND_CONTROL, PELT_BIND_ACTIVE,  PELT_BIND_ACTIVE,
                                       PELT_BIND_CONTROL, PELT_BIND_CONTROL, PELT_BIND_ACTIVE};
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_tube(&test, joints, 6);
    pelt_bind_desc desc = quick_desc();
    pelt_bind_report report;
    test_ok(&test, pelt_bind(test.context, model, &desc, &report));
    for (uint32_t j = 0; j < 6; j++)
        if (report.idle[j] != expected[j])
            fail_msg("%s is %u", joints[j].name, report.idle[j]);
    pelt_model_destroy(model);
    test_end(&test);
}

/* Every vertex of the tube is assigned to the joint that `steps` gives it; a step is eight vertices. */
static void paint(pelt_model *model, const uint32_t *steps, uint16_t count) {
    uint32_t vertex = 0;
    for (uint16_t j = 0; j < count; j++)
        for (uint32_t n = 0; n < 8 * steps[j] && vertex < model->mesh.vertex_count; n++)
            set_weights(model, vertex++, j, j, 0);
    while (vertex < model->mesh.vertex_count)
        set_weights(model, vertex++, 1, 1, 0);
}

/* Joints with weights in the file are used whatever their name; joints without weights are not, and the report lists
 * them. */
static void test_weights_in_the_file_say_which_joints_are_used(void **state) {
    (void)state;
    static const test_joint joints[] = {{"Root", PELT_NONE, {-2, 0, 0}}, {"A", 0, {-1.5f, 0, 0}},
                                        {"CTRL_B", 1, {-0.5f, 0, 0}},    {"Spare", 2, {0.5f, 0, 0}},
                                        {"IK_Spare", 3, {1, 0, 0}},      {"B_end", 3, {2, 0, 0}}};
    enum { ON = PELT_BIND_ACTIVE, OFF = PELT_BIND_CONTROL, BARE = PELT_BIND_UNWEIGHTED, OUT = PELT_BIND_EXCLUDED };
    static const struct {
        uint32_t steps[6], joints;
        const char *only;
        uint8_t idle[6];
    } cases[] = {
        {{9, 12, 12, 0, 0, 0}, PELT_BIND_JOINTS_WEIGHTED, NULL, {ON, ON, ON, BARE, OFF, OFF}},
        {{1, 16, 16, 0, 0, 0}, PELT_BIND_JOINTS_WEIGHTED, NULL, {OFF, ON, ON, BARE, OFF, OFF}}, /* a stray root */
        {{9, 12, 12, 0, 0, 0}, PELT_BIND_JOINTS_ALL, NULL, {OFF, ON, OFF, ON, ON, ON}},
        {{0, 33, 0, 0, 0, 0}, PELT_BIND_JOINTS_WEIGHTED, NULL, {OFF, ON, OFF, ON, ON, ON}}, /* unpainted skin */
        {{9, 12, 12, 0, 0, 0}, PELT_BIND_JOINTS_WEIGHTED, "CTRL_B,Spare", {OUT, OUT, ON, ON, OUT, OUT}},
    };
    test_context test;
    test_begin(&test, 1);
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
        pelt_model *model = make_tube(&test, joints, 6);
        paint(model, cases[n].steps, 6);
        pelt_bind_desc desc = quick_desc();
        pelt_bind_report report;
        desc.joints = cases[n].joints;
        desc.only = cases[n].only;
        test_ok(&test, pelt_bind(test.context, model, &desc, &report));
        for (uint32_t j = 0; j < 6; j++) /* an active bone may be overshadowed by nearer ones */
            if (report.idle[j] != cases[n].idle[j] &&
                !(report.idle[j] == PELT_BIND_OVERSHADOWED && cases[n].idle[j] == ON))
                fail_msg("case %zu: %s is %u", n, joints[j].name, report.idle[j]);
        pelt_model_destroy(model);
    }
    test_end(&test);
}

/* A joint without weights gets no bone of its own, but the parent's bone still extends to it. */
static void test_joints_without_weights_mark_ends(void **state) {
    (void)state;
    static const test_joint joints[] = {
        {"A", PELT_NONE, {-2, 0, 0}}, {"Side", 0, {-1, 0.2f, 0}}, {"Tip", 0, {1.5f, 0, 0}}};
    static const uint32_t steps[] = {20, 13, 0};
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_tube(&test, joints, 3);
    paint(model, steps, 3);
    pelt_bind_desc desc = quick_desc();
    pelt_binding *binding;
    test_ok(&test, pelt_binding_create(test.context, model, &desc, &binding));
    float tip[3];
    bool reached = false;
    px_bind_to_grid(&binding->volume.voxels.grid, joints[2].place, tip);
    for (uint32_t k = 0; k < binding->bones.segment_count; k++)
        reached |= binding->bones.segments[k].target == 0 && fabsf(binding->bones.segments[k].b[0] - tip[0]) < 0.01f;
    assert_true(reached);
    assert_int_equal(binding->subject.target_count, 2);
    pelt_binding_destroy(binding);
    pelt_model_destroy(model);
    test_end(&test);
}

/* The last bone is at most twice as long as the distance to its parent joint: the volume beyond may be another
 * limb's. */
static void test_last_bones_do_not_go_on_for_ever(void **state) {
    (void)state;
    static const test_joint joints[] = {{"A", PELT_NONE, {-2, 0, 0}}, {"B", 0, {-1.5f, 0, 0}}, {"C", 1, {-1.5f, 0, 0}}};
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_tube(&test, joints, 3); /* the tube ends at x = 2 */
    pelt_bind_desc desc = quick_desc();
    pelt_binding *binding;
    test_ok(&test, pelt_binding_create(test.context, model, &desc, &binding));
    const px_grid *grid = &binding->volume.voxels.grid;
    double last = -2;
    for (uint32_t k = 0; k < binding->bones.segment_count; k++)
        last = fmax(last, grid->origin[0] + (binding->bones.segments[k].b[0] + 0.5) * grid->cell[0]);
    if (!(fabs(last - -0.5) < 2 * grid->cell[0]))
        fail_msg("the last bone ends at %g", last);
    pelt_binding_destroy(binding);
    pelt_model_destroy(model);
    test_end(&test);
}

/* A body along x with one limb, so that no two directions are alike, turned about x by a quarter and moved if `moved`. */
static pelt_model *make_placed(test_context *test, bool moved) {
    static const test_joint joints[] = {
        {"Root", PELT_NONE, {-1.9f, 0, 0}}, {"Middle", 0, {-0.3f, 0, 0}}, {"Last", 1, {0.77f, 0, 0}}};
    test_joint placed[3];
    shape *s = calloc(1, sizeof *s);
    shape_part(s, "body", NULL);
    shape_tube(s, 0, -2, 2, 32, 0.25, (double[3]){0, 0, 0});
    shape_tube(s, 1, 0, 1.4, 12, 0.2, (double[3]){1.1, 0.1, 0.07});
    shape_part_end(s);
    pelt_model *model = shape_model(test, s);
    free(s);
    memcpy(placed, joints, sizeof joints);
    for (uint32_t i = 0; i < model->mesh.vertex_count && moved; i++) {
        float *p = model->mesh.positions + 3 * (size_t)i, y = p[1];
        p[0] += 5;
        p[1] = 7 - p[2];
        p[2] = y - 3;
    }
    for (int j = 0; j < 3 && moved; j++)
        memcpy(placed[j].place, (float[3]){joints[j].place[0] + 5, 7, -3}, sizeof placed[j].place);
    add_skeleton(test, model, placed, 3);
    add_skin(test, model, placed, 3);
    return model;
}

static void test_weights_do_not_depend_on_the_place(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *plain = make_placed(&test, false), *moved = make_placed(&test, true);
    pelt_bind_desc desc = quick_desc();
    test_ok(&test, pelt_bind(test.context, plain, &desc, NULL));
    test_ok(&test, pelt_bind(test.context, moved, &desc, NULL));
    double off = mean_distance(plain, moved, NULL);
    print_message("turned and moved: %g\n", off);
    assert_true(off < 1e-6);
    pelt_model_destroy(plain);
    pelt_model_destroy(moved);
    test_end(&test);
}

/* Whether a bone of a joint ends within two cells of a place. */
static bool ends_at(const pelt_binding *binding, uint32_t joint, const float place[3]) {
    const px_bind_bones *bones = &binding->bones;
    float turned[3], p[3];
    bool found = false;
    for (int a = 0; a < 3; a++)
        turned[a] = px_dot3(binding->frame.axes[a], place) - (float)px_bind_frame_offset(&binding->frame, (uint32_t)a);
    px_bind_to_grid(&binding->volume.voxels.grid, turned, p);
    for (uint32_t k = 0; k < bones->segment_count; k++)
        found |= binding->subject.targets[bones->segments[k].target] == joint &&
                 hypotf(hypotf(bones->segments[k].b[0] - p[0], bones->segments[k].b[1] - p[1]),
                        bones->segments[k].b[2] - p[2]) < 2;
    return found;
}

static pelt_binding *bones_of(test_context *test, pelt_model *model) {
    pelt_bind_desc desc = quick_desc();
    pelt_binding *binding;
    test_ok(test, pelt_binding_create(test->context, model, &desc, &binding));
    return binding;
}

/* A joint with several children has bones to those beside its axis too, except clavicles, which are held back. Rigs
 * along +y have neither. */
static void test_bones_to_children_beside_the_axis(void **state) {
    (void)state;
    enum { A, B, C, D, SIDE, CLAVICLE, COUNT };
    for (uint32_t axis = 0; axis < 2; axis++) {
        test_joint joints[COUNT] = {{"A", PELT_NONE, {-1.75f, 0, 0}},
                                    {"B", A, {-1, 0, 0}},
                                    {"C", B, {0, 0, 0}},
                                    {"D", C, {1, 0, 0}},
                                    {"Side", B, {-0.75f, 0.1875f, 0}},
                                    {"L Clavicle", B, {-0.75f, -0.1875f, 0}}};
        for (uint32_t j = 0; j < COUNT && axis == 1; j++) {
            float *p = joints[j].place, x = p[0];
            p[0] = p[1];
            p[1] = x;
        }
        test_context test;
        test_begin(&test, 1);
        pelt_model *model = make_tube_along(&test, axis, joints, COUNT);
        pelt_binding *binding = bones_of(&test, model);
        assert_true(ends_at(binding, B, joints[C].place));
        assert_int_equal(ends_at(binding, B, joints[SIDE].place), axis == 0);
        assert_false(ends_at(binding, B, joints[CLAVICLE].place));
        for (uint32_t j = 0; j < COUNT; j++) {
            float handicap = binding->bones.handicap[j], behind = binding->bones.behind[j];
            assert_int_equal(handicap > 1, j == CLAVICLE && axis == 0);
            assert_int_equal(behind > 0, j == CLAVICLE && axis == 0);
        }
        pelt_binding_destroy(binding);
        pelt_model_destroy(model);
        test_end(&test);
    }
}

/* A thigh that hangs from the spine begins at the pelvis, which has the bone to it. */
static void test_bones_to_raised_children(void **state) {
    (void)state;
    enum { PELVIS, SPINE, CHEST, NECK, THIGH, COUNT };
    static const test_joint joints[COUNT] = {{"Pelvis", PELT_NONE, {-1, 0, 0}},
                                             {"Spine", PELVIS, {-0.5f, 0, 0}},
                                             {"Chest", SPINE, {0.5f, 0, 0}},
                                             {"Neck", CHEST, {1.5f, 0, 0}},
                                             {"Thigh", SPINE, {-1.0625f, 0.1875f, 0}}};
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_tube(&test, joints, COUNT);
    pelt_binding *binding = bones_of(&test, model);
    assert_true(ends_at(binding, PELVIS, joints[THIGH].place));
    assert_false(ends_at(binding, SPINE, joints[THIGH].place));
    assert_true(ends_at(binding, SPINE, joints[CHEST].place));
    pelt_binding_destroy(binding);
    pelt_model_destroy(model);
    test_end(&test);
}

/* In a rig along +y, a body above the joints of its limbs has a bone along its axis and none to the limbs. */
static void test_bodies_above_their_limbs(void **state) {
    (void)state;
    enum { BODY, L1, L2, R1, R2, COUNT };
    static const test_joint joints[COUNT] = {{"Body", PELT_NONE, {0, 0.25f, 0}},
                                             {"L1", BODY, {0.1875f, -1, 0}},
                                             {"L2", L1, {0.1875f, 0, 0}},
                                             {"R1", BODY, {-0.1875f, -1, 0}},
                                             {"R2", R1, {-0.1875f, 0, 0}}};
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_tube_along(&test, 1, joints, COUNT);
    pelt_binding *binding = bones_of(&test, model);
    assert_true(ends_at(binding, BODY, (float[3]){0, 2, 0}));
    assert_false(ends_at(binding, BODY, joints[L1].place));
    assert_false(ends_at(binding, BODY, joints[R1].place));
    pelt_binding_destroy(binding);
    pelt_model_destroy(model);
    test_end(&test);
}

/* The bone of an ankle follows the foot, not the direction of the shin. */
static void test_last_bones_turn_to_the_volume(void **state) {
    (void)state;
    static const test_joint joints[] = {
        {"Pelvis", PELT_NONE, {1, 2, 0}}, {"Hip", 0, {0, 2, 0}}, {"Ankle", 1, {0, 0, 0}}};
    test_context test;
    test_begin(&test, 1);
    shape *s = calloc(1, sizeof *s);
    shape_part(s, "leg", NULL);
    shape_tube(s, 0, 0, 1.25, 8, 0.25, (double[3]){0, 2, 0});
    shape_tube(s, 1, 0, 2, 16, 0.25, (double[3]){0, 0, 0});
    shape_tube(s, 2, -0.25, 1.25, 12, 0.25, (double[3]){0, 0, 0});
    shape_part_end(s);
    pelt_model *model = shape_model(&test, s);
    free(s);
    add_skeleton(&test, model, joints, 3);
    add_skin(&test, model, joints, 3);
    pelt_binding *binding = bones_of(&test, model);
    const px_bind_segment *last = &binding->bones.segments[binding->bones.segment_count - 1];
    assert_int_equal(binding->subject.targets[last->target], 2);
    double forward = 0;
    for (int a = 0; a < 3; a++)
        forward +=
            (double)(last->b[a] - last->a[a]) * binding->volume.voxels.grid.cell[a] * (double)binding->frame.axes[a][2];
    if (!(forward > 0.75))
        fail_msg("the bone of the ankle goes forward by %g", forward);
    pelt_binding_destroy(binding);
    pelt_model_destroy(model);
    test_end(&test);
}

/* Toes at the very end of a foot have a short bone, yet their reach is not limited. */
static void test_short_ends_of_chains_are_not_limited(void **state) {
    (void)state;
    static const test_joint joints[] = {{"A", PELT_NONE, {-2, 0, 0}}, {"B", 0, {0, 0, 0}}, {"C", 1, {1.875f, 0, 0}}};
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_tube(&test, joints, 3);
    pelt_binding *binding = bones_of(&test, model);
    assert_true(isinf(binding->bones.limit[2]));
    pelt_binding_destroy(binding);
    pelt_model_destroy(model);
    test_end(&test);
}

/* Joints without hierarchy: wrist and metacarpal both point at the next joint; the nearer one gets the bone. */
static void test_flat_rigs_link_the_nearest_joint(void **state) {
    (void)state;
    enum { METACARPAL, WRIST, PHALANX, COUNT };
    static const test_joint joints[COUNT] = {{"Metacarpal", PELT_NONE, {-0.875f, 0.1875f, 0}},
                                             {"Wrist", PELT_NONE, {-1.5f, 0, 0}},
                                             {"Phalanx", PELT_NONE, {1, 0, 0}}};
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_tube(&test, joints, COUNT);
    pelt_binding *binding = bones_of(&test, model);
    assert_true(ends_at(binding, METACARPAL, joints[PHALANX].place));
    assert_false(ends_at(binding, WRIST, joints[PHALANX].place));
    pelt_binding_destroy(binding);
    pelt_model_destroy(model);
    test_end(&test);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_weights_do_not_depend_on_the_place),
        cmocka_unit_test(test_joints_that_steer),
        cmocka_unit_test(test_weights_in_the_file_say_which_joints_are_used),
        cmocka_unit_test(test_joints_without_weights_mark_ends),
        cmocka_unit_test(test_last_bones_do_not_go_on_for_ever),
        cmocka_unit_test(test_bones_to_children_beside_the_axis),
        cmocka_unit_test(test_bones_to_raised_children),
        cmocka_unit_test(test_bodies_above_their_limbs),
        cmocka_unit_test(test_last_bones_turn_to_the_volume),
        cmocka_unit_test(test_short_ends_of_chains_are_not_limited),
        cmocka_unit_test(test_flat_rigs_link_the_nearest_joint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
