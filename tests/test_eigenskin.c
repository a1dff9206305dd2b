/* Pose-driven corrections: exact at the examples, accurate at others, within their supports, the same for any number of
 * threads, model unchanged when memory runs out. */
#include "core/rotation.h"
#include "eigenskin_arm.h"

/* ---- Accuracy --------------------------------------------------------------------------------------------- */

static void few_modes_are_enough(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    arm a = arm_open(&test);
    float **seen = plain_skins(&test, a.model, a.poses.seen, a.poses.seen_count);
    float **unseen = plain_skins(&test, a.model, a.poses.unseen, a.poses.unseen_count);
    pelt_eigenskin_report r;
    test_ok(&test, pelt_eigenskin(context, a.model, a.examples, a.poses.seen_count, NULL, &r));
    test_ok(&test, pelt_model_validate(context, a.model));
    assert_int_equal(r.mode_count, 5);
    assert_int_equal(r.morph_count, 15);
    assert_int_equal(a.model->driver_count, 3);
    assert_string_equal(a.model->morphs.morphs[5].name, "elbow mode 1");
    assert_true(r.errors[0] == 1 && r.errors[2] <= 0.1);
    for (uint32_t n = 1; n <= r.mode_count; n++)
        assert_true(r.errors[n] <= r.errors[n - 1]);
    assert_true(r.left_out_error > r.errors[5] && r.left_out_error < 0.5);
    assert_true(relative_error(&test, a.model, a.poses.seen, a.poses.seen_count, seen) <= 0.06);
    assert_true(relative_error(&test, a.model, a.poses.unseen, a.poses.unseen_count, unseen) <= 0.2);
    pelt_model_destroy(a.model);
    test_end(&test);
}

/* With all modes, any kernel, swing and twist together or separate; the rest pose is unchanged. */
static void exact_at_the_examples(void **state) {
    (void)state;
    for (uint32_t kernel = 0; kernel < 3; kernel++)
        for (int split = 0; split < 2; split++) {
            test_context test;
            pelt_context *context = test_begin(&test, 2);
            arm a = arm_open(&test);
            pelt_eigenskin_desc desc = exact_desc();
            desc.kernel = kernel;
            desc.split = split;
            const scene_pose rest = {"rest", a.model->skeleton.rest, driven(&test, a.model, a.model->skeleton.rest),
                                     NULL};
            assert_true(largest_error(&test, &a, a.poses.seen, a.poses.seen_count) > 0.02);
            test_ok(&test, pelt_eigenskin(context, a.model, a.examples, a.poses.seen_count, &desc, NULL));
            assert_true(largest_error(&test, &a, a.poses.seen, a.poses.seen_count) < 1e-5);
            assert_true(largest_error(&test, &a, &rest, 1) < 1e-6);
            assert_int_equal(a.model->driver_count, split ? 6 : 3);
            pelt_model_destroy(a.model);
            test_end(&test);
        }
}

/* Poses of all joints at once determine which joint displaces which vertices: other poses improve too. */
static void any_poses_will_do(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    arm a = arm_open(&test);
    float **others = plain_skins(&test, a.model, a.poses.seen, a.poses.seen_count);
    pelt_eigenskin_desc desc = exact_desc();
    learn_unseen(&test, &a, &desc);
    assert_true(largest_error(&test, &a, a.poses.unseen, a.poses.unseen_count) < 1e-5);
    assert_true(relative_error(&test, a.model, a.poses.seen, a.poses.seen_count, others) < 0.5);
    pelt_model_destroy(a.model);
    test_end(&test);
}

/* Fewer centres than poses: least squares, which removes most of the error. */
static void few_centres_are_least_squares(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    arm a = arm_open(&test);
    float **seen = plain_skins(&test, a.model, a.poses.seen, a.poses.seen_count);
    pelt_eigenskin_desc desc = pelt_eigenskin_desc_default();
    desc.centres = 3;
    pelt_eigenskin_report r;
    test_ok(&test, pelt_eigenskin(context, a.model, a.examples, a.poses.seen_count, &desc, &r));
    for (uint32_t j = 0; j < r.joint_count; j++)
        assert_int_equal(r.joints[j].centre_count, 3);
    double error = relative_error(&test, a.model, a.poses.seen, a.poses.seen_count, seen);
    assert_true(error > 0.06 && error < 0.2);
    pelt_model_destroy(a.model);
    test_end(&test);
}

static void as_few_modes_as_reach_the_error(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    arm a = arm_open(&test);
    pelt_eigenskin_desc desc = pelt_eigenskin_desc_default();
    desc.error = 0.1;
    pelt_eigenskin_report r;
    test_ok(&test, pelt_eigenskin(context, a.model, a.examples, a.poses.seen_count, &desc, &r));
    assert_int_equal(r.mode_count, 2);
    assert_int_equal(r.morph_count, 6);
    assert_true(r.errors[2] <= 0.1 && r.errors[1] > 0.1);
    pelt_model_destroy(a.model);
    test_end(&test);
}

/* ---- Supports --------------------------------------------------------------------------------------------- */

/* Offsets belong to no joint: they keep the weights of motions in [0, 1]. */
static double length_at(const pelt_morph *morph, uint32_t vertex) {
    if (strcmp(morph->name, "mode offset") == 0 || vertex - morph->first_vertex >= morph->vertex_count)
        return 0;
    const float *d = morph->positions + 3 * (size_t)(vertex - morph->first_vertex);
    return sqrt((double)d[0] * d[0] + (double)d[1] * d[1] + (double)d[2] * d[2]);
}

/* No mode of a joint displaces a vertex that the joint's own poses move by less than 4 % of the largest
 * displacement. */
static void supports_do_not_leak(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    arm a = arm_open(&test);
    uint32_t count = a.model->mesh.vertex_count;
    float **plain = plain_skins(&test, a.model, a.poses.seen, a.poses.seen_count);
    test_ok(&test, pelt_eigenskin(context, a.model, a.examples, a.poses.seen_count, NULL, NULL));
    for (uint32_t d = 0; d < a.model->driver_count; d++) {
        const pelt_driver *driver = &a.model->drivers[d];
        double *moved = pelt_model_alloc(context, a.model, count, sizeof *moved), most = 0;
        uint32_t outside = 0, inside = 0;
        for (uint32_t p = 0; p < a.poses.seen_count; p++) {
            const float *q = a.poses.seen[p].locals[driver->joint].rotation;
            bool turned = memcmp(q, a.model->skeleton.rest[driver->joint].rotation, 4 * sizeof *q) != 0;
            for (size_t i = 0; turned && i < count; i++) {
                const float *x = plain[p] + 3 * i, *y = a.poses.seen[p].positions + 3 * i;
                moved[i] = fmax(moved[i], hypot(hypot((double)x[0] - y[0], (double)x[1] - y[1]), (double)x[2] - y[2]));
                most = fmax(most, moved[i]);
            }
        }
        for (uint32_t i = 0; i < count; i++) {
            double length = 0;
            for (uint32_t m = 0; m < driver->morph_count; m++)
                length += length_at(&a.model->morphs.morphs[driver->morphs[m]], i);
            bool is_outside = moved[i] < 0.03 * most; /* 3 % in posed space can be 4 % at rest, by blending */
            outside += is_outside;
            inside += length > 0;
            assert_true(!is_outside || length == 0);
        }
        assert_true(outside > count / 4 && inside > count / 8);
    }
    pelt_model_destroy(a.model);
    test_end(&test);
}

/* From poses that move all joints, a joint learns only at vertices with weight on its bone, the parent or a child. */
static void supports_stay_near(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    arm a = arm_open(&test);
    pelt_eigenskin_desc desc = exact_desc();
    learn_unseen(&test, &a, &desc);
    const pelt_skin *skin = &a.model->skin;
    for (uint32_t d = 0; d < a.model->driver_count; d++) {
        const pelt_driver *driver = &a.model->drivers[d];
        uint32_t far_count = 0;
        for (uint32_t i = 0; i < a.model->mesh.vertex_count; i++) {
            bool near = false;
            for (uint32_t n = i * skin->influence_count; n < (i + 1) * skin->influence_count; n++)
                near |= skin->weights[n] > 0 && abs((int)skin->bone_joints[skin->bones[n]] - (int)driver->joint) <= 1;
            far_count += !near;
            for (uint32_t m = 0; m < driver->morph_count; m++)
                assert_true(near || length_at(&a.model->morphs.morphs[driver->morphs[m]], i) == 0);
        }
        assert_true(far_count > 20 || driver->joint == 2); /* the whole chain is adjacent to the elbow */
    }
    pelt_model_destroy(a.model);
    test_end(&test);
}

/* Where two joints meet, a vertex has at most the allowed number of displacements. */
static void displacements_of_a_vertex_are_bounded(void **state) {
    (void)state;
    for (uint32_t most = 5; most <= 10; most += 5) {
        test_context test;
        pelt_context *context = test_begin(&test, 2);
        arm a = arm_open(&test);
        pelt_eigenskin_desc desc = pelt_eigenskin_desc_default();
        desc.support = 0;
        desc.kernel = PELT_KERNEL_EXPONENTIAL;
        desc.max_per_vertex = most;
        test_ok(&test, pelt_eigenskin(context, a.model, a.examples, a.poses.seen_count, &desc, NULL));
        uint32_t largest = 0;
        for (uint32_t i = 0; i < a.model->mesh.vertex_count; i++) {
            uint32_t count = 0;
            for (uint32_t m = 0; m < a.model->morphs.morph_count; m++)
                count += length_at(&a.model->morphs.morphs[m], i) > 0;
            largest = count > largest ? count : largest;
        }
        assert_int_equal(largest, most);
        pelt_model_destroy(a.model);
        test_end(&test);
    }
}

/* The rig is rotated and moved as a whole, in all poses: drivers and morphs are the same up to rounding. */
static void the_whole_may_move(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    arm a = arm_open(&test), b = arm_open(&test);
    uint32_t joints = b.model->skeleton.joint_count;
    for (uint32_t p = 0; p < b.poses.seen_count; p++) {
        pelt_transform *locals = pelt_model_alloc(context, b.model, joints, sizeof *locals);
        memcpy(locals, b.examples[p].locals, joints * sizeof *locals);
        /* half a turn about z, composed with the base's rotation: (x, y, z, w) becomes (-y, x, w, -z) */
        float q[4], *r = locals[0].rotation;
        memcpy(q, r, sizeof q);
        r[0] = -q[1], r[1] = q[0], r[2] = q[3], r[3] = -q[2];
        locals[0].translation[0] = 5 - locals[0].translation[0];
        locals[0].translation[1] = -locals[0].translation[1];
        float *positions = (float *)(uintptr_t)b.examples[p].positions;
        for (size_t i = 0; i < b.model->mesh.vertex_count; i++) {
            positions[3 * i] = 5 - positions[3 * i];
            positions[3 * i + 1] = -positions[3 * i + 1];
        }
        b.examples[p].locals = locals;
    }
    test_ok(&test, pelt_eigenskin(context, a.model, a.examples, a.poses.seen_count, NULL, NULL));
    test_ok(&test, pelt_eigenskin(context, b.model, b.examples, b.poses.seen_count, NULL, NULL));
    assert_int_equal(a.model->driver_count, b.model->driver_count);
    float first[16], second[16]; /* 3 joints, 5 modes each, and the offset */
    assert_true(a.model->morphs.morph_count == 16 && b.model->morphs.morph_count == 16);
    for (uint32_t p = 0; p < a.poses.unseen_count; p++) {
        pelt_transform *locals = (pelt_transform *)(uintptr_t)a.poses.unseen[p].locals;
        pelt_pose_weights(a.model, locals, first);
        locals[0].rotation[0] = locals[0].rotation[3] = sqrtf(0.5f);
        pelt_pose_weights(a.model, locals, second); /* the base has no driver */
        assert_memory_equal(first, second, sizeof first);
        difference d = compare(a.model, driven(&test, a.model, locals), driven(&test, b.model, locals));
        assert_true(d.most < 1e-5);
    }
    pelt_model_destroy(a.model);
    pelt_model_destroy(b.model);
    test_end(&test);
}

/* ---- Other data of the model ------------------------------------------------------------------------------ */

/* Keeps every tenth key of a motion: joints rotate far between keys. */
static void thin_out(pelt_motion *motion) {
    for (uint32_t t = 0; t < motion->track_count; t++) {
        pelt_track *track = &motion->tracks[t];
        float *times = (float *)(uintptr_t)track->times, *values = (float *)(uintptr_t)track->values;
        uint32_t count = 0;
        for (uint32_t k = 0; k < track->key_count; k += 10, count++) {
            times[count] = times[k];
            memmove(values + count * track->width, values + k * track->width, track->width * sizeof *values);
        }
        track->key_count = count;
        motion->end = times[count - 1];
    }
}

/* A motion plays the driven weights, also between its keys: each of 15 modes within 1e-4 of the size. */
static void motions_play_what_is_driven(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    arm a = arm_open(&test);
    pelt_model *model = a.model;
    thin_out(&model->motions[0]);
    test_ok(&test, pelt_eigenskin(context, model, a.examples, a.poses.seen_count, NULL, NULL));
    const pelt_motion *motion = &model->motions[0];
    pelt_transform *locals = pelt_model_alloc(context, model, model->skeleton.joint_count, sizeof *locals);
    float *played = pelt_model_alloc(context, model, 3 * (size_t)model->mesh.vertex_count, sizeof *played);
    double most = 0;
    for (int k = 0; k <= 101; k++) {
        float time = motion->start + (motion->end - motion->start) * (float)k / 101;
        pelt_motion_sample(model, motion, time, locals, NULL);
        test_ok(&test, pelt_model_pose(context, model, motion, time, PELT_SKINNING_LINEAR, played, NULL));
        most = fmax(most, compare(model, played, driven(&test, model, locals)).most);
    }
    assert_true(most < 1e-3);
    assert_int_equal(model->changed & (PELT_CHANGED_MORPHS | PELT_CHANGED_DRIVERS | PELT_CHANGED_MOTIONS),
                     PELT_CHANGED_MORPHS | PELT_CHANGED_DRIVERS | PELT_CHANGED_MOTIONS);
    pelt_model_destroy(model);
    test_end(&test);
}

/* Applied twice: existing morphs, drivers and tracks stay and are taken into account. */
static void others_stay_and_count(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    arm a = arm_open(&test);
    pelt_eigenskin_desc one = pelt_eigenskin_desc_default(), all = exact_desc();
    one.modes = 1;
    pelt_eigenskin_report r;
    test_ok(&test, pelt_eigenskin(context, a.model, a.examples, a.poses.seen_count, &one, &r));
    assert_int_equal(a.model->morphs.morph_count, 3 + 1); /* the offset */
    double left = largest_error(&test, &a, a.poses.seen, a.poses.seen_count);
    test_ok(&test, pelt_eigenskin(context, a.model, a.examples, a.poses.seen_count, &all, &r));
    test_ok(&test, pelt_model_validate(context, a.model));
    assert_int_equal(a.model->driver_count, 6);
    assert_int_equal(a.model->morphs.morph_count, 3 + 1 + r.morph_count); /* the existing offset serves both */
    assert_string_equal(a.model->morphs.morphs[2].name, "wrist mode 1");
    assert_true(left > 1e-3 && largest_error(&test, &a, a.poses.seen, a.poses.seen_count) < 1e-5);
    pelt_model_destroy(a.model);
    test_end(&test);
}

/* Normals of the surface, or those of the examples. */
static void normals_come_nearer(void **state) {
    (void)state;
    for (int given = 0; given < 2; given++) {
        test_context test;
        pelt_context *context = test_begin(&test, 2);
        arm a = arm_open(&test);
        for (uint32_t p = 0; given && p < a.poses.seen_count; p++)
            a.examples[p].normals = a.poses.seen[p].normals;
        pelt_eigenskin_desc desc = pelt_eigenskin_desc_default();
        desc.normals = true;
        pelt_eigenskin_report r;
        test_ok(&test, pelt_eigenskin(context, a.model, a.examples, a.poses.seen_count, &desc, &r));
        assert_true(r.normals_before > 0.03 && r.normals_after < 0.35 * r.normals_before);
        for (uint32_t m = 0; m < a.model->morphs.morph_count; m++)
            assert_non_null(a.model->morphs.morphs[m].normals);
        pelt_model_destroy(a.model);
        test_end(&test);
    }
}

/* ---- Threads, memory, bad input --------------------------------------------------------------------------- */

static void same_for_any_number_of_threads(void **state) {
    (void)state;
    test_context tests[2];
    arm arms[2];
    for (int n = 0; n < 2; n++) {
        test_begin(&tests[n], n ? 4 : 1);
        arms[n] = arm_open(&tests[n]);
        test_ok(&tests[n], pelt_eigenskin(tests[n].context, arms[n].model, arms[n].examples, arms[n].poses.seen_count,
                                          NULL, NULL));
    }
    const pelt_model *a = arms[0].model, *b = arms[1].model;
    assert_int_equal(a->morphs.morph_count, b->morphs.morph_count);
    for (uint32_t m = 0; m < a->morphs.morph_count; m++)
        assert_memory_equal(a->morphs.morphs[m].positions, b->morphs.morphs[m].positions,
                            12 * (size_t)a->morphs.morphs[m].vertex_count);
    for (uint32_t d = 0; d < a->driver_count; d++)
        assert_memory_equal(a->drivers[d].coefficients, b->drivers[d].coefficients,
                            sizeof(float) * a->drivers[d].morph_count * (a->drivers[d].centre_count + 1));
    for (int n = 0; n < 2; n++) {
        pelt_model_destroy(arms[n].model);
        test_end(&tests[n]);
    }
}

/* After every failure the model is unchanged. */
static pelt_result learn_small(pelt_context *context, void *user) {
    (void)user;
    const scene_desc size = {.vertex_count = 60, .frame_count = 3, .seed = 1};
    arm a = {0};
    pelt_result result = arm_make(context, &size, &a);
    pelt_eigenskin_desc desc = pelt_eigenskin_desc_default();
    desc.modes = 2;
    desc.normals = true;
    pelt_eigenskin_report report;
    const pelt_motion *motions = a.model ? a.model->motions : NULL;
    if (result == PELT_OK) {
        result = pelt_eigenskin(context, a.model, a.examples, a.poses.seen_count, &desc, &report);
        if (result != PELT_OK)
            assert_true(a.model->morphs.morph_count == 0 && a.model->driver_count == 0 && a.model->motions == motions);
    }
    pelt_model_destroy(a.model);
    return result;
}

static void memory_may_run_out(void **state) {
    (void)state;
    test_fail_some_allocations(1, 150, learn_small, NULL);
}

static void bad_input_is_reported(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    arm a = arm_open(&test);
    pelt_model *model = a.model;
    uint32_t count = a.poses.seen_count;
    pelt_eigenskin_desc desc = pelt_eigenskin_desc_default();
    test_fails(&test, pelt_eigenskin(context, model, a.examples, 0, &desc, NULL), PELT_ERROR_USAGE, "no examples");
    desc.modes = 12;
    test_fails(&test, pelt_eigenskin(context, model, a.examples, count, &desc, NULL), PELT_ERROR_USAGE, "12 modes");
    desc = pelt_eigenskin_desc_default();
    desc.centres = 1;
    test_fails(&test, pelt_eigenskin(context, model, a.examples, count, &desc, NULL), PELT_ERROR_USAGE, "centres is 1");
    desc = pelt_eigenskin_desc_default();
    desc.exact = true;
    pelt_pose_example kept = a.examples[4];
    a.examples[4] = a.examples[1];
    a.examples[4].name = "the twin";
    char words[256];
    snprintf(words, sizeof words, "examples '%s' and 'the twin' have the same pose", a.examples[1].name);
    test_fails(&test, pelt_eigenskin(context, model, a.examples, count, &desc, NULL), PELT_ERROR_INPUT, words);
    a.examples[4].locals = model->skeleton.rest;
    test_fails(&test, pelt_eigenskin(context, model, a.examples, count, &desc, NULL), PELT_ERROR_INPUT,
               "'the twin' has the rest pose but not its shape");
    a.examples[4] = kept;
    desc.exact = false;
    for (uint32_t p = 0; p < count; p++)
        a.examples[p].locals = model->skeleton.rest;
    test_fails(&test, pelt_eigenskin(context, model, a.examples, count, &desc, NULL), PELT_ERROR_INPUT,
               "no joint turns against another");
    for (uint32_t p = 0; p < count; p++)
        a.examples[p].locals = a.poses.seen[p].locals;
    ((float *)(uintptr_t)a.examples[2].positions)[10] = NAN;
    snprintf(words, sizeof words, "example '%s', vertex 3", a.examples[2].name);
    test_fails(&test, pelt_eigenskin(context, model, a.examples, count, &desc, NULL), PELT_ERROR_INPUT, words);
    desc.normals = true;
    model->mesh.normals = NULL;
    test_fails(&test, pelt_eigenskin(context, model, a.examples, count, &desc, NULL), PELT_ERROR_INPUT, "no normals");
    model->skin.bone_count = 0;
    test_fails(&test, pelt_eigenskin(context, model, a.examples, count, &desc, NULL), PELT_ERROR_INPUT, "no skin");
    assert_true(model->morphs.morph_count == 0 && model->changed == 0);
    pelt_model_destroy(model);
    test_end(&test);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_modes_are_enough),
        cmocka_unit_test(exact_at_the_examples),
        cmocka_unit_test(any_poses_will_do),
        cmocka_unit_test(few_centres_are_least_squares),
        cmocka_unit_test(as_few_modes_as_reach_the_error),
        cmocka_unit_test(supports_do_not_leak),
        cmocka_unit_test(supports_stay_near),
        cmocka_unit_test(displacements_of_a_vertex_are_bounded),
        cmocka_unit_test(the_whole_may_move),
        cmocka_unit_test(motions_play_what_is_driven),
        cmocka_unit_test(others_stay_and_count),
        cmocka_unit_test(normals_come_nearer),
        cmocka_unit_test(same_for_any_number_of_threads),
        cmocka_unit_test(memory_may_run_out),
        cmocka_unit_test(bad_input_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
