/* Settings of a binding: weights from distance fields, accessories, locks, mirroring, failures. */
#include "bind_models.h"

static void bind_arms(test_context *test, pelt_model *model, const pelt_bind_desc *desc, pelt_bind_report *report) {
    test_ok(test, pelt_bind(test->context, model, desc, report));
    assert_sound(test, model, desc->influences);
}

typedef struct saved_skin {
    pelt_skin skin;
    uint32_t vertex_count;
} saved_skin;

static saved_skin save_skin(const pelt_model *model) {
    saved_skin out = {model->skin, model->mesh.vertex_count};
    size_t count = (size_t)out.vertex_count * out.skin.influence_count;
    out.skin.bones = memcpy(malloc(count * sizeof(uint16_t)), model->skin.bones, count * sizeof(uint16_t));
    out.skin.weights = memcpy(malloc(count * sizeof(float)), model->skin.weights, count * sizeof(float));
    return out;
}

/* Fails when the model's weights differ from the saved ones; frees the saved ones. */
static void assert_skin(const pelt_model *model, saved_skin saved) {
    assert_same_skin(&model->skin, &saved.skin, saved.vertex_count);
    free(saved.skin.bones);
    free(saved.skin.weights);
}

/* ---- Weights --------------------------------------------------------------------------------------------------- */

static void test_every_setting_gives_sound_weights(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    for (uint32_t method = PELT_BIND_HEAT; method <= PELT_BIND_HIERARCHY; method++)
        for (uint32_t n = 0; n < 24; n++) {
            pelt_model *model = make_arms(&test, true);
            pelt_bind_desc desc = quick_desc();
            desc.method = method;
            desc.resolution = 24;
            desc.influences = 1 + n % 8;
            desc.falloff = 0.5 * (n % 3);
            desc.prune = n % 5 == 0 ? 0 : 0.02 * (n % 5);
            desc.smooth = n % 4;
            desc.curve = n % 2;
            desc.mirror = n % 3 == 0 ? PELT_BIND_MIRROR_X : PELT_BIND_MIRROR_OFF;
            bind_arms(&test, model, &desc, NULL);
            for (uint32_t e = 0; e < model->mesh.vertex_count * model->skin.influence_count; e++)
                assert_true(model->skin.weights[e] == 0 || e % desc.influences == 0 ||
                            (double)model->skin.weights[e] >= desc.prune);
            pelt_model_destroy(model);
        }
    test_end(&test);
}

static double mean_largest(const pelt_model *model) {
    double sum = 0;
    for (size_t i = 0; i < model->mesh.vertex_count; i++)
        sum += (double)model->skin.weights[i * model->skin.influence_count];
    return sum / model->mesh.vertex_count;
}

/* A higher stiffness brings weights closer to 0 and 1; every vertex can have its own α. */
static void test_falloff_makes_stiffer(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    for (uint32_t method = PELT_BIND_HEAT; method <= PELT_BIND_GEODESIC; method++) {
        pelt_model *model = make_arms(&test, true);
        pelt_bind_desc desc = quick_desc();
        pelt_binding *binding;
        double before = 0;
        desc.method = method;
        desc.rigid_parts = PELT_BIND_RIGID_OFF;
        test_ok(&test, pelt_binding_create(test.context, model, &desc, &binding));
        for (int n = 0; n <= 4; n++) {
            desc.falloff = 0.25 * n;
            test_ok(&test, pelt_binding_apply(binding, &desc));
            double now = mean_largest(model);
            assert_true(now > before + 1e-4);
            before = now;
        }
        saved_skin stiff = save_skin(model);
        float *own = malloc(model->mesh.vertex_count * sizeof *own);
        for (uint32_t i = 0; i < model->mesh.vertex_count; i++)
            own[i] = model->mesh.positions[3 * (size_t)i] > 0 ? 1.0f : 0.25f;
        desc.falloff = 0.5;
        desc.vertex_falloff = own;
        test_ok(&test, pelt_binding_apply(binding, &desc));
        size_t K = model->skin.influence_count, changed = 0;
        for (size_t i = 0; i < model->mesh.vertex_count; i++) {
            bool same = memcmp(model->skin.weights + i * K, stiff.skin.weights + i * K, K * sizeof(float)) == 0;
            if (own[i] == 1)
                assert_true(same);
            changed += !same;
        }
        assert_true(changed > model->mesh.vertex_count / 8);
        own[3] = 2;
        test_fails(&test, pelt_binding_apply(binding, &desc), PELT_ERROR_USAGE, "falloff of vertex 3");
        free(own);
        free(stiff.skin.bones);
        free(stiff.skin.weights);
        pelt_binding_destroy(binding);
        pelt_model_destroy(model);
    }
    test_end(&test);
}

/* The same settings give the same bytes whatever was applied in between; memory does not grow. */
static void test_apply_again(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    pelt_model *model = make_arms(&test, true);
    pelt_bind_desc desc = quick_desc(), other = desc;
    pelt_binding *binding;
    other.influences = 2;
    other.exclude = "Fore_L";
    other.smooth = 2;
    test_ok(&test, pelt_binding_create(test.context, model, &desc, &binding));
    test_ok(&test, pelt_binding_apply(binding, NULL));
    saved_skin first = save_skin(model);
    int64_t size = 0;
    for (int n = 0; n < 8; n++) {
        test_ok(&test, pelt_binding_apply(binding, &other));
        assert_int_equal(model->skin.influence_count, 2);
        test_ok(&test, pelt_binding_apply(binding, n % 2 ? NULL : &desc));
        if (n == 0)
            size = atomic_load(&test.live_size);
        assert_int_equal(atomic_load(&test.live_size), size);
    }
    assert_skin(model, first);
    pelt_binding_destroy(binding);
    assert_sound(&test, model, 4);
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Excluded joints ------------------------------------------------------------------------------------------- */

static void test_exclude_shares_the_rest(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_arms(&test, true), *all = make_arms(&test, true);
    pelt_bind_desc desc = quick_desc();
    pelt_binding *binding;
    desc.influences = 8;
    desc.prune = 0;
    desc.rigid_parts = PELT_BIND_RIGID_OFF;
    bind_arms(&test, all, &desc, NULL);
    test_ok(&test, pelt_binding_create(test.context, model, &desc, &binding));
    desc.exclude = "Fore_L";
    test_ok(&test, pelt_binding_apply(binding, &desc));
    for (uint32_t i = 0; i < model->mesh.vertex_count; i++) {
        double out = joint_weight(all, i, FORE_L);
        assert_true(joint_weight(model, i, FORE_L) == 0);
        for (uint32_t j = 0; j < ARMS && out < 0.98; j++)
            if (j != FORE_L)
                assert_true(fabs(joint_weight(model, i, j) - joint_weight(all, i, j) / (1 - out)) < 1e-5);
        if (out > 0.999999)
            assert_true(joint_weight(model, i, ARM_L) > 0.999);
    }
    assert_int_equal(pelt_binding_report(binding).idle[FORE_L], PELT_BIND_EXCLUDED);
    assert_int_equal(pelt_binding_report(binding).idle[ARM_L], PELT_BIND_ACTIVE);
    desc.exclude = "Mid,Arm_L,Arm_R,Fore_R"; /* no relative of the right arm remains: the nearest joint takes over */
    test_ok(&test, pelt_binding_apply(binding, &desc));
    for (uint32_t i = 0; i < model->mesh.vertex_count; i++)
        assert_true(joint_weight(model, i, FORE_L) == 1);
    desc.exclude = NULL;
    desc.only = "Mid, Fore_R";
    test_ok(&test, pelt_binding_apply(binding, &desc));
    for (uint32_t i = 0; i < model->mesh.vertex_count; i++)
        assert_true(fabs(joint_weight(model, i, MID) + joint_weight(model, i, FORE_R) - 1) < 1e-6);
    saved_skin before = save_skin(model);
    desc.only = "Mid,Nobody";
    test_fails(&test, pelt_binding_apply(binding, &desc), PELT_ERROR_INPUT, "only: there is no joint 'Nobody'");
    desc.only = "Mid";
    desc.exclude = "Mid";
    test_fails(&test, pelt_binding_apply(binding, &desc), PELT_ERROR_USAGE, "leave no joint");
    assert_skin(model, before);
    pelt_binding_destroy(binding);
    pelt_model_destroy(model);
    pelt_model_destroy(all);
    test_end(&test);
}

/* ---- Accessories ----------------------------------------------------------------------------------------------- */

static void test_small_shells_follow_one_joint(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_arms(&test, true);
    const pelt_part *button = &model->mesh.parts[1];
    pelt_bind_desc desc = quick_desc();
    pelt_bind_report report;
    bind_arms(&test, model, &desc, &report);
    assert_int_equal(report.rigid_count, button->vertex_count);
    for (uint32_t i = 0; i < button->vertex_count; i++)
        assert_true(joint_weight(model, button->first_vertex + i, FORE_R) == 1);
    desc.rigid_parts = PELT_BIND_RIGID_OFF;
    desc.falloff = 0;
    desc.prune = 0;
    bind_arms(&test, model, &desc, &report);
    assert_int_equal(report.rigid_count, 0);
    double least = 1;
    for (uint32_t i = 0; i < button->vertex_count; i++)
        least = fmin(least, joint_weight(model, button->first_vertex + i, FORE_R));
    assert_true(least < 1);
    pelt_model_destroy(model);
    test_end(&test);
}

/* Half a ball at the end of the body with a joint at its centre and another joint nearby: an eye and its lid. */
static void test_eyes_follow_their_joint(void **state) {
    (void)state;
    enum { EYE = ARMS, LID, JOINTS };
    test_context test;
    test_begin(&test, 1);
    shape *s = arms_shape();
    shape_part(s, "eye", NULL);
    uint32_t first = s->vertex_count;
    const float middle[3] = {1.9f, 0.125f, 0.05f};
    for (uint32_t i = 0; i < 40; i++) {
        double up = 1.5 * (i / 8) / 4, around = 2 * 3.14159265358979 * (i % 8) / 8;
        float *p = s->positions + 3 * (size_t)s->vertex_count++;
        p[0] = (float)(middle[0] + 0.09 * sin(up));
        p[1] = (float)(middle[1] + 0.09 * cos(up) * cos(around));
        p[2] = (float)(middle[2] + 0.09 * cos(up) * sin(around));
    }
    for (uint32_t i = 0; i < 32; i++)
        shape_quad(s, first + i, first + i + 8, first + (i % 8 == 7 ? i + 1 : i + 9),
                   first + (i % 8 == 7 ? i - 7 : i + 1));
    shape_part_end(s);
    test_joint joints[JOINTS];
    memcpy(joints, arms_joints, sizeof arms_joints);
    joints[EYE] = (test_joint){"Eye", FORE_L, {middle[0], middle[1], middle[2]}};
    joints[LID] = (test_joint){"Lid", FORE_L, {middle[0] + 0.03f, middle[1] + 0.02f, middle[2]}};
    for (int out = 0; out < 2; out++) {
        pelt_model *model = shape_model(&test, s);
        add_skeleton(&test, model, joints, JOINTS);
        add_skin(&test, model, joints, JOINTS);
        pelt_bind_desc desc = quick_desc();
        pelt_binding *binding;
        test_ok(&test, pelt_binding_create(test.context, model, &desc, &binding));
        desc.exclude = out ? "Eye" : NULL;
        test_ok(&test, pelt_binding_apply(binding, &desc));
        for (uint32_t i = first; i < model->mesh.vertex_count; i++)
            assert_true(joint_weight(model, i, EYE) == (out ? 0 : 1));
        pelt_binding_destroy(binding);
        pelt_model_destroy(model);
    }
    free(s);
    test_end(&test);
}

static void test_rigid_regions(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_arms(&test, true);
    const pelt_part *button = &model->mesh.parts[1];
    pelt_bind_desc desc = quick_desc();
    pelt_bind_report report;
    desc.rigid = "brass = Arm_L";
    desc.lock = "Mid"; /* Mid has all weights at this point */
    desc.smooth = 4;
    desc.mirror = PELT_BIND_MIRROR_X;
    bind_arms(&test, model, &desc, &report);
    assert_int_equal(report.rigid_count, button->vertex_count);
    for (uint32_t i = 0; i < model->mesh.vertex_count; i++)
        assert_true(joint_weight(model, i, i < button->first_vertex ? MID : ARM_L) == 1);
    saved_skin before = save_skin(model);
    static const char *const wrong[][2] = {{"brass", "like Sword=RightHand"},
                                           {"=Arm_L", "like Sword=RightHand"},
                                           {"brass=Leg", "rigid: there is no joint 'Leg'"},
                                           {"brass=Arm_L,gold=Arm_L", "rigid: there is no part or material 'gold'"}};
    for (size_t n = 0; n < sizeof wrong / sizeof wrong[0]; n++) {
        desc.rigid = wrong[n][0];
        test_fails(&test, pelt_bind(test.context, model, &desc, NULL), n < 2 ? PELT_ERROR_USAGE : PELT_ERROR_INPUT,
                   wrong[n][1]);
    }
    assert_skin(model, before);
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Locks ----------------------------------------------------------------------------------------------------- */

/* Regions by box, sphere, vertices and attribute. */
static void test_regions_by_place(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_arms(&test, true);
    uint32_t count = model->mesh.vertex_count;
    float *chosen = calloc(count, sizeof *chosen);
    for (uint32_t i = 0; i < count; i++)
        chosen[i] = model->mesh.positions[3 * i] > 1.9f;
    const pelt_bind_attribute attributes[] = {{"mask", chosen}};
    static const char *const texts[] = {"box(1.9 -1 -1 3 1 1)=Arm_R", "sphere(2.4 0 0 0.55)=Arm_R",
                                        "vertices(256-263)=Arm_R", "attribute(mask)=Arm_R"};
    pelt_bind_desc desc = quick_desc();
    pelt_binding *binding;
    test_ok(&test, pelt_binding_create(test.context, model, &desc, &binding));
    desc.attributes = attributes;
    desc.attribute_count = 1;
    for (size_t n = 0; n < 4; n++) {
        desc.rigid = texts[n];
        test_ok(&test, pelt_binding_apply(binding, &desc));
        for (uint32_t i = 0; i < count; i++)
            if (chosen[i] > 0)
                assert_true(joint_weight(model, i, ARM_R) == 1);
            else if (model->mesh.positions[3 * i] > 1.5f)
                assert_true(joint_weight(model, i, ARM_R) == 0);
    }
    static const char *const wrong[][2] = {{"box(1 2 3)=Mid", "six numbers"},
                                           {"box(1 0 0 0 1 1)=Mid", "six numbers"},
                                           {"sphere(0 0 0 -1)=Mid", "four numbers"},
                                           {"sphere(9 9 9 1)=Mid", "no vertex that gets weights"},
                                           {"vertices(1 x)=Mid", "indices and ranges below"},
                                           {"vertices(0-9999)=Mid", "indices and ranges below"},
                                           {"attribute(other)=Mid", "is not among pelt_bind_desc.attributes"},
                                           {"nothing=Mid", "there is no part or material 'nothing'"},
                                           {"sphere(0 0 0 1)=Foot", "there is no joint 'Foot'"}};
    for (size_t n = 0; n < sizeof wrong / sizeof wrong[0]; n++) {
        desc.rigid = wrong[n][0];
        assert_int_not_equal(pelt_binding_apply(binding, &desc), PELT_OK);
        assert_non_null(strstr(pelt_error_text(test.context), wrong[n][1]));
    }
    pelt_binding_destroy(binding);
    pelt_model_destroy(model);
    free(chosen);
    test_end(&test);
}

/* Falloff α of a region, which depends on the rotation of a joint. */
static void test_falloffs_of_regions_and_poses(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_arms(&test, true);
    pelt_bind_desc desc = quick_desc();
    pelt_binding *binding;
    double blends[4]; /* weight of the forearm next to the elbow */
    pelt_transform pose[ARMS];
    desc.rigid_parts = PELT_BIND_RIGID_OFF;
    test_ok(&test, pelt_binding_create(test.context, model, &desc, &binding));
    test_ok(&test, pelt_binding_apply(binding, NULL));
    uint32_t beside = 0;
    while (model->mesh.positions[3 * beside] < 1.1f)
        beside++;
    double before = joint_weight(model, beside, FORE_L);
    assert_true(before > 0.02 && before < 0.48);
    for (uint32_t n = 0; n < 4; n++) {
        desc.falloffs = n ? "box(0.5 -1 -1 2 1 1)=0.7 0 90 Fore_L" : "box(0.5 -1 -1 2 1 1)=0";
        memcpy(pose, model->skeleton.rest, sizeof pose);
        double half = n == 2 ? 0.25 * 0.7853981633974483 * 2 : 0.7853981633974483; /* 45°, then 90° */
        if (n > 1) {
            pose[FORE_L].rotation[2] = (float)sin(half);
            pose[FORE_L].rotation[3] = (float)cos(half);
        }
        test_ok(&test, pelt_binding_apply_pose(binding, &desc, n ? pose : NULL));
        blends[n] = joint_weight(model, beside, FORE_L);
        for (uint32_t i = 0; i < model->mesh.vertex_count; i++)
            if (model->mesh.positions[3 * i] < -1.3f)
                assert_true(joint_weight(model, i, FORE_L) == 0);
    }
    assert_true(fabs(blends[1] - before) < 1e-6);
    assert_true(blends[2] > blends[1] + 0.002 && blends[3] > blends[2] + 0.002);
    assert_true(fabs(blends[3] - blends[0]) < 1e-6);
    static const char *const wrong[] = {"body=2", "body=0.5 0.5", "body=0.1 0.2 0 Mid", "body=0.1 0.2 90 Foot", "body"};
    for (size_t n = 0; n < sizeof wrong / sizeof wrong[0]; n++) {
        desc.falloffs = wrong[n];
        assert_int_not_equal(pelt_binding_apply(binding, &desc), PELT_OK);
    }
    pelt_binding_destroy(binding);
    pelt_model_destroy(model);
    test_end(&test);
}

/* Removing voxels splits the tube, so that heat does not cross; adding voxels fills cells. */
static void test_painted_voxels(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_arms(&test, true);
    pelt_bind_desc desc = quick_desc();
    pelt_bind_report plain, painted;
    test_ok(&test, pelt_bind(test.context, model, &desc, &plain));
    desc.paint = "-box(-0.5 -1 -1 0.5 1 1)";
    test_ok(&test, pelt_bind(test.context, model, &desc, &painted));
    uint32_t all = plain.interior_voxel_count + plain.boundary_voxel_count;
    uint32_t rest = painted.interior_voxel_count + painted.boundary_voxel_count;
    assert_true(rest < all && fabs(rest / (double)all - 0.75) < 0.05 && painted.outside_count > 0);
    assert_sound(&test, model, desc.influences);
    desc.paint = "-box(-9 -9 -9 9 9 9)\n+sphere(0 0 0 0.2)";
    test_ok(&test, pelt_bind(test.context, model, &desc, &painted));
    assert_true(painted.boundary_voxel_count == 0 && painted.interior_voxel_count > 8);
    desc.paint = "-button";
    test_ok(&test, pelt_bind(test.context, model, &desc, &painted));
    assert_true(painted.outside_count > 0 && painted.boundary_voxel_count < plain.boundary_voxel_count);
    desc.paint = "-box(-9 -9 -9 9 9 9)";
    test_fails(&test, pelt_bind(test.context, model, &desc, NULL), PELT_ERROR_INPUT, "paint removes all voxels");
    desc.paint = "body";
    test_fails(&test, pelt_bind(test.context, model, &desc, NULL), PELT_ERROR_USAGE, "begin with +");
    pelt_model_destroy(model);
    test_end(&test);
}

static void test_locked_joints_keep_their_weights(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_arms(&test, true);
    test_random random = {7};
    pelt_bind_desc desc = quick_desc();
    for (uint32_t i = 0; i < model->mesh.vertex_count; i++)
        set_weights(model, i, ARM_L, i % 3 ? ARM_R : FORE_R, test_random_below(&random, 9) / 8.0);
    float *old = malloc(model->mesh.vertex_count * sizeof *old);
    for (uint32_t i = 0; i < model->mesh.vertex_count; i++)
        old[i] = weight_of(model, i, ARM_R);
    desc.lock = "Arm_R";
    desc.smooth = 2;
    for (int n = 0; n < 2; n++) {
        desc.mirror = n ? PELT_BIND_MIRROR_X : PELT_BIND_MIRROR_OFF;
        bind_arms(&test, model, &desc, NULL);
        for (uint32_t i = 0; i < model->mesh.vertex_count; i++)
            assert_true(weight_of(model, i, ARM_R) == old[i]);
    }
    free(old);
    pelt_model_destroy(model);
    model = make_arms(&test, false);
    test_fails(&test, pelt_bind(test.context, model, &desc, NULL), PELT_ERROR_USAGE, "has no skin yet");
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Left and right -------------------------------------------------------------------------------------------- */

static uint32_t mirrored_vertex(const pelt_model *model, uint32_t vertex) {
    const float *p = model->mesh.positions + 3 * (size_t)vertex;
    for (uint32_t i = 0; i < model->mesh.vertex_count; i++) {
        const float *q = model->mesh.positions + 3 * (size_t)i;
        if (q[0] == -p[0] && q[1] == p[1] && q[2] == p[2])
            return i;
    }
    return PELT_NONE;
}

static void test_mirror_is_exact(void **state) {
    (void)state;
    static const uint32_t pairs[ARMS] = {MID, ARM_R, FORE_R, ARM_L, FORE_L};
    test_context test;
    test_begin(&test, 2);
    for (uint32_t influences = 1; influences <= 4; influences++) {
        pelt_model *model = make_arms(&test, true);
        pelt_bind_desc desc = quick_desc();
        pelt_bind_report report;
        desc.influences = influences;
        desc.prune = 0.001;
        desc.falloff = 0.1;
        desc.mirror = PELT_BIND_MIRROR_X;
        bind_arms(&test, model, &desc, &report);
        uint32_t unmatched = 0;
        for (uint32_t i = 0; i < model->mesh.vertex_count; i++) {
            uint32_t other = mirrored_vertex(model, i);
            bool middle = other == i && influences == 1; /* tie: one of two equal joints gets all the weight */
            unmatched += other == PELT_NONE;
            for (uint32_t j = 0; j < ARMS && other != PELT_NONE && !middle; j++)
                assert_true(joint_weight(model, i, j) == joint_weight(model, other, pairs[j]));
        }
        assert_int_equal(unmatched, model->mesh.parts[1].vertex_count);
        assert_int_equal(report.unmatched_count, unmatched);
        pelt_model_destroy(model);
    }
    test_end(&test);
}

/* An excluded joint gets no weight from the mirrored side either. */
static void test_mirror_respects_exclusions(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_arms(&test, true);
    pelt_bind_desc desc = quick_desc();
    pelt_bind_report report;
    pelt_binding *binding;
    test_ok(&test, pelt_binding_create(test.context, model, &desc, &binding));
    desc.mirror = PELT_BIND_MIRROR_X;
    desc.exclude = "Fore_L";
    test_ok(&test, pelt_binding_apply(binding, &desc));
    report = pelt_binding_report(binding);
    assert_true(report.unmatched_count > model->mesh.parts[1].vertex_count);
    for (uint32_t i = 0; i < model->mesh.vertex_count; i++)
        assert_true(joint_weight(model, i, FORE_L) == 0);
    pelt_binding_destroy(binding);
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Report ---------------------------------------------------------------------------------------------------- */

/* A U: two long limbs side by side with a gap that only a fine grid resolves. */
static pelt_model *make_thick_fork(test_context *test, double half) {
    static const test_joint joints[] = {{"Palm", PELT_NONE, {0, 0, 0}}, {"A1", 0, {-0.15f, 0.2f, 0}},
                                        {"A2", 1, {-0.15f, 0.8f, 0}},   {"A3", 2, {-0.15f, 1.4f, 0}},
                                        {"B1", 0, {0.15f, 0.2f, 0}},    {"B2", 4, {0.15f, 0.8f, 0}},
                                        {"B3", 5, {0.15f, 1.4f, 0}}};
    shape *s = calloc(1, sizeof *s);
    shape_part(s, "hand", NULL);
    shape_tube(s, 1, -0.4, 0.1, 4, 0.3, (double[3]){0, 0, 0});
    shape_tube(s, 1, 0, 2, 16, half, (double[3]){-0.15, 0, 0});
    shape_tube(s, 1, 0, 2, 16, half, (double[3]){0.15, 0, 0});
    shape_part_end(s);
    pelt_model *model = shape_model(test, s);
    free(s);
    add_skeleton(test, model, joints, 7);
    add_skin(test, model, joints, 7);
    return model;
}

static pelt_model *make_fork(test_context *test) {
    return make_thick_fork(test, 0.13);
}

static void test_touching_limbs_are_reported(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    for (int fine = 0; fine < 2; fine++) {
        pelt_model *model = make_fork(&test);
        pelt_bind_desc desc = quick_desc();
        pelt_bind_report report;
        desc.resolution = fine ? 160 : 24;
        test_ok(&test, pelt_bind(test.context, model, &desc, &report));
        assert_int_equal(report.touching_count > 0, !fine);
        if (!fine) {
            const char *a = model->skeleton.names[report.touching_joints[0]];
            const char *b = model->skeleton.names[report.touching_joints[1]];
            assert_true(a[0] == 'A' && b[0] == 'B' && a[1] >= '2' && b[1] >= '2');
            assert_true(report.touching_pair_count > 1); /* A2 and B2, A3 and B3 */
            assert_memory_equal(report.touching[0].joints, report.touching_joints, sizeof report.touching_joints);
            for (uint32_t n = 1; n < report.touching_pair_count; n++)
                assert_true(report.touching[n].face_count <= report.touching[n - 1].face_count);
            for (uint32_t n = 0; n < report.touching_pair_count; n++) /* the gap is 0.04 along x, the mesh 2.4 long */
                assert_true(fabs(report.touching[n].gap - 0.04) < 1e-6 && report.touching[n].resolution >= 120 &&
                            report.touching[n].resolution <= 121);
        } else {
            assert_int_equal(report.touching_joints[0], PELT_NONE);
            assert_int_equal(report.touching_pair_count, 0);
        }
        pelt_model_destroy(model);
    }
    test_end(&test);
}

/* The resolution is chosen by the gap; without a gap, none separates the limbs. */
static void test_limbs_are_separated(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    for (uint32_t n = 0; n < 3; n++) {
        pelt_model *model = make_thick_fork(&test, n == 2 ? 0.15 : 0.13);
        pelt_bind_desc desc = quick_desc();
        pelt_bind_report report;
        desc.resolution = 24;
        desc.separate = true;
        desc.max_resolution = n == 1 ? 40 : 200;
        test_ok(&test, pelt_bind(test.context, model, &desc, &report));
        static const uint32_t cells[3] = {123, 42, 26};
        assert_int_equal(report.grid[1], cells[n]);
        assert_int_equal(report.touching_count > 0, n > 0);
        assert_int_equal(report.touching_count && report.touching[0].resolution > 0, n == 1);
        assert_sound(&test, model, desc.influences);
        desc.grid = "9,9,9";
        test_fails(&test, pelt_bind(test.context, model, &desc, NULL), PELT_ERROR_USAGE, "leave it or grid out");
        pelt_model_destroy(model);
    }
    test_end(&test);
}

/* Euclidean distances reach across the gap; distances along the hierarchy do not; surface heat stays on its shell. */
static void test_methods_for_comparison(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    double other[5]; /* mean weight of the B joints on the side of limb A that faces B */
    for (uint32_t method = PELT_BIND_HEAT; method <= PELT_BIND_HIERARCHY; method++) {
        pelt_model *model = make_fork(&test);
        pelt_bind_desc desc = quick_desc();
        uint32_t count = 0;
        desc.method = method;
        desc.resolution = 130;
        desc.curve = PELT_BIND_CURVE_PAPER;
        desc.rigid_parts = PELT_BIND_RIGID_OFF;
        desc.joints = PELT_BIND_JOINTS_ALL;
        test_ok(&test, pelt_bind(test.context, model, &desc, NULL));
        assert_sound(&test, model, desc.influences);
        other[method] = 0;
        for (uint32_t i = 0; i < model->mesh.vertex_count; i++) {
            const float *p = model->mesh.positions + 3 * (size_t)i;
            if (p[0] < -0.01f && p[0] > -0.03f && p[1] > 1) {
                other[method] += joint_weight(model, i, 5) + joint_weight(model, i, 6);
                count++;
            }
        }
        other[method] /= count;
        desc.keep_fields = true;
        pelt_binding *binding;
        pelt_result want = method > PELT_BIND_GEODESIC ? PELT_ERROR_USAGE : PELT_OK;
        assert_int_equal(pelt_binding_create(test.context, model, &desc, &binding), want);
        pelt_binding_destroy(binding);
        pelt_model_destroy(model);
    }
    assert_true(other[PELT_BIND_HEAT] < 0.01 && other[PELT_BIND_SURFACE] < 0.01);
    assert_true(other[PELT_BIND_HIERARCHY] == 0);
    assert_true(other[PELT_BIND_CLOSEST] > 0.1 && other[PELT_BIND_GEODESIC] < 0.02);
    test_end(&test);
}

/* Weights do not leak where limbs touch: more than a voxel from the contact, vertices have no weight of the other
 * limb. */
static void test_touching_limbs_are_parted(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_fork(&test);
    pelt_bind_desc desc = quick_desc();
    desc.resolution = 24;
    test_ok(&test, pelt_bind(test.context, model, &desc, NULL));
    uint32_t count = 0;
    for (uint32_t i = 0; i < model->mesh.vertex_count; i++) {
        const float *p = model->mesh.positions + 3 * (size_t)i;
        if (p[1] < 1.2f || fabsf(p[0]) < 0.1f)
            continue;
        uint32_t first = p[0] < 0 ? 4 : 1; /* of the other limb */
        count++;
        for (uint32_t j = first; j < first + 3; j++)
            if (!(joint_weight(model, i, j) < 1e-6))
                fail_msg("%g of %s at %g", joint_weight(model, i, j), model->skeleton.names[j], (double)p[0]);
    }
    assert_true(count > 20);
    pelt_model_destroy(model);
    test_end(&test);
}

/* On blocks of voxels, limbs stay apart that the voxels separate: the gap of the fork is smaller than a block. */
static void test_blocks_keep_limbs_apart(void **state) {
    (void)state;
    test_context one, four;
    test_begin(&one, 1);
    test_begin(&four, 4);
    for (uint32_t method = PELT_BIND_HEAT; method <= PELT_BIND_GEODESIC; method++) {
        pelt_bind_desc desc = quick_desc();
        pelt_bind_report dense, report;
        desc.method = method;
        desc.resolution = 300;
        pelt_model *model = make_fork(&one), *blocks = make_fork(&one), *again = make_fork(&four);
        test_ok(&one, pelt_bind(one.context, model, &desc, &dense));
        assert_int_equal(dense.block_size, 1);
        desc.max_voxels = 2000;
        test_ok(&one, pelt_bind(one.context, blocks, &desc, &report));
        test_ok(&four, pelt_bind(four.context, again, &desc, NULL));
        assert_skin(blocks, save_skin(again));
        assert_sound(&one, blocks, desc.influences);
        assert_true(report.block_size >= 8 && report.touching_count == 0);
        assert_int_equal(report.boundary_voxel_count, dense.boundary_voxel_count);
        assert_int_equal(report.interior_voxel_count, dense.interior_voxel_count);
        double sum = 0;
        for (uint32_t i = 0; i < model->mesh.vertex_count; i++) {
            float x = model->mesh.positions[3 * (size_t)i], y = model->mesh.positions[3 * (size_t)i + 1];
            for (uint32_t j = 0; j < model->skeleton.joint_count; j++)
                sum += fabs((double)joint_weight(model, i, j) - (double)joint_weight(blocks, i, j));
            for (uint32_t j = x < 0 ? 4 : 1, end = j + 3; j < end && y > 1.3f; j++)
                assert_true(joint_weight(blocks, i, j) < (method == PELT_BIND_HEAT ? 1e-6 : 0.02));
        }
        assert_true(sum < 0.15 * model->mesh.vertex_count);
        pelt_model_destroy(model);
        pelt_model_destroy(blocks);
        pelt_model_destroy(again);
    }
    test_end(&one);
    test_end(&four);
}

static void test_joints_without_weights_say_why(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_arms(&test, true);
    pelt_bind_desc desc = quick_desc();
    pelt_bind_report report;
    desc.rigid = "cloth=Mid,brass=Mid";
    bind_arms(&test, model, &desc, &report);
    assert_int_equal(report.joint_count, ARMS);
    assert_int_equal(report.idle[MID], PELT_BIND_ACTIVE);
    assert_int_equal(report.idle[FORE_L], PELT_BIND_OVERSHADOWED);
    assert_int_equal(report.vertex_count, model->mesh.vertex_count);
    assert_int_equal(report.rigid_count, model->mesh.vertex_count);
    pelt_model_destroy(model);
    test_end(&test);
}

static void test_bridged_parts_are_named(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    shape *s = arms_shape();
    shape_part(s, "satellite", NULL);
    shape_tube(s, 1, 0, 0.25, 1, 0.125, (double[3]){1, 1.5, 0});
    shape_part_end(s);
    pelt_model *model = shape_model(&test, s);
    free(s);
    add_skeleton(&test, model, arms_joints, ARMS);
    add_skin(&test, model, arms_joints, ARMS);
    pelt_bind_desc desc = quick_desc();
    pelt_bind_report report;
    bind_arms(&test, model, &desc, &report);
    assert_int_equal(report.bridged_part_count, 1);
    assert_int_equal(report.bridged_parts[0], 2);
    assert_int_equal(report.bridged_count, model->mesh.parts[2].vertex_count);
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Failing --------------------------------------------------------------------------------------------------- */

/* A cancelled or failed run leaves the model unchanged. */
static pelt_result bind_once(pelt_context *context, void *user) {
    test_context quiet;
    test_begin(&quiet, 1);
    pelt_model *made = make_arms(&quiet, true), *model = NULL;
    pelt_bind_desc desc = quick_desc();
    desc.resolution = 16;
    desc.lock = "Arm_R";
    desc.rigid = "brass=Fore_R";
    (void)user;
    desc.mirror = PELT_BIND_MIRROR_X;
    desc.smooth = 1;
    pelt_result result = pelt_model_borrow(context, made, &model);
    if (result == PELT_OK) {
        pelt_bind_report report;
        result = pelt_bind(context, model, &desc, &report);
        if (result != PELT_OK) {
            assert_memory_equal(&model->skin, &made->skin, sizeof model->skin);
            assert_int_equal(model->changed, made->changed);
            assert_int_equal(report.vertex_count, 0);
        }
        pelt_model_destroy(model);
    }
    pelt_model_destroy(made);
    test_end(&quiet);
    return result;
}

static void test_failing_allocations(void **state) {
    (void)state;
    test_fail_each_allocation(1, bind_once, NULL);
}

static void test_cancelling(void **state) {
    (void)state;
    test_context test;
    pelt_result result = PELT_ERROR_CANCELLED;
    uint64_t at = 1;
    for (; result == PELT_ERROR_CANCELLED; at += 1 + at / 4) {
        test_begin(&test, 1);
        atomic_store(&test.cancel_at, at);
        result = bind_once(test.context, NULL);
        test_end(&test);
    }
    assert_int_equal(result, PELT_OK);
    assert_true(at > 4);
}

static void test_wrong_numbers(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_arms(&test, true);
    pelt_bind_desc desc = quick_desc();
    desc.influences = 9;
    test_fails(&test, pelt_bind(test.context, model, &desc, NULL), PELT_ERROR_USAGE, "pelt_bind_desc.influences is 9");
    desc = quick_desc();
    desc.falloff = -1;
    test_fails(&test, pelt_bind(test.context, model, &desc, NULL), PELT_ERROR_USAGE, "pelt_bind_desc.falloff is -1");
    desc = quick_desc();
    desc.prune = NAN;
    test_fails(&test, pelt_bind(test.context, model, &desc, NULL), PELT_ERROR_USAGE, "pelt_bind_desc.prune is");
    pelt_model_destroy(model);
    test_end(&test);
}

static void test_threads_do_not_matter(void **state) {
    (void)state;
    test_context one, four;
    test_begin(&one, 1);
    test_begin(&four, 4);
    for (uint32_t method = PELT_BIND_HEAT; method <= PELT_BIND_GEODESIC; method++) {
        pelt_model *a = make_scene(&one, "production", 3000), *b = make_scene(&four, "production", 3000);
        pelt_bind_desc desc = quick_desc();
        desc.method = method;
        desc.mirror = PELT_BIND_MIRROR_X;
        desc.smooth = 2;
        bind_arms(&one, a, &desc, NULL);
        bind_arms(&four, b, &desc, NULL);
        assert_skin(a, save_skin(b));
        pelt_model_destroy(a);
        pelt_model_destroy(b);
    }
    test_end(&one);
    test_end(&four);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_setting_gives_sound_weights),
        cmocka_unit_test(test_falloff_makes_stiffer),
        cmocka_unit_test(test_apply_again),
        cmocka_unit_test(test_exclude_shares_the_rest),
        cmocka_unit_test(test_small_shells_follow_one_joint),
        cmocka_unit_test(test_eyes_follow_their_joint),
        cmocka_unit_test(test_rigid_regions),
        cmocka_unit_test(test_regions_by_place),
        cmocka_unit_test(test_falloffs_of_regions_and_poses),
        cmocka_unit_test(test_painted_voxels),
        cmocka_unit_test(test_locked_joints_keep_their_weights),
        cmocka_unit_test(test_mirror_is_exact),
        cmocka_unit_test(test_mirror_respects_exclusions),
        cmocka_unit_test(test_touching_limbs_are_reported),
        cmocka_unit_test(test_limbs_are_separated),
        cmocka_unit_test(test_methods_for_comparison),
        cmocka_unit_test(test_touching_limbs_are_parted),
        cmocka_unit_test(test_joints_without_weights_say_why),
        cmocka_unit_test(test_bridged_parts_are_named),
        cmocka_unit_test(test_failing_allocations),
        cmocka_unit_test(test_cancelling),
        cmocka_unit_test(test_wrong_numbers),
        cmocka_unit_test(test_threads_do_not_matter),
        cmocka_unit_test(test_blocks_keep_limbs_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
