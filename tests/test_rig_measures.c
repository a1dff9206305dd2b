/* The measures of bench/bench_bind on a rig with known values, and bends against real poses. */
#include "support.h"

#include "core/math3.h"
#include "rig_measures.h"

#define INFLUENCES 8u

/* ---- Rigs ------------------------------------------------------------------------------------------------- */

/* Every triangle has its own vertices; the last triangle is attached to joint 0 without a skin. */
static pelt_model *make_model(pelt_context *context, uint32_t joint_count, uint32_t triangle_count) {
    pelt_model *model;
    assert_int_equal(pelt_model_create(context, &model), PELT_OK);
    pelt_mesh *mesh = &model->mesh;
    size_t vertices = mesh->vertex_count = mesh->points.count = 3 * triangle_count;
    mesh->triangle_count = mesh->polygon_count = triangle_count;
    mesh->positions = pelt_model_alloc(context, model, vertices, 3 * sizeof(float));
    mesh->triangles = pelt_model_alloc(context, model, vertices, sizeof(uint32_t));
    for (uint32_t i = 0; i < vertices; i++)
        mesh->triangles[i] = i;
    mesh->part_count = 2;
    mesh->parts = pelt_model_alloc(context, model, 2, sizeof(pelt_part));
    mesh->parts[0] = (pelt_part){"skinned", NULL, 0, triangle_count - 1, 0, (uint32_t)vertices - 3, 0, true};
    mesh->parts[1] = (pelt_part){"hat", NULL, triangle_count - 1, 1, (uint32_t)vertices - 3, 3, 0, false};
    pelt_skeleton *skeleton = &model->skeleton;
    skeleton->joint_count = joint_count;
    skeleton->names = pelt_model_alloc(context, model, joint_count, sizeof(char *));
    skeleton->parents = pelt_model_alloc(context, model, joint_count, sizeof(uint32_t));
    skeleton->rest = pelt_model_alloc(context, model, joint_count, sizeof(pelt_transform));
    for (uint32_t j = 0; j < joint_count; j++) {
        skeleton->names[j] = "";
        skeleton->parents[j] = j ? j - 1 : PELT_NONE;
        skeleton->rest[j] = px_transform_identity();
    }
    return model;
}

/* One bone per joint and one more of the last joint, bound at rest; all weight on bone 0. */
static void add_skin(pelt_context *context, pelt_model *model) {
    uint32_t joints = model->skeleton.joint_count, bones = joints + 1;
    pelt_affine *globals = pelt_model_alloc(context, model, joints, sizeof(pelt_affine));
    pelt_skeleton_globals(&model->skeleton, model->skeleton.rest, globals);
    model->skin = (pelt_skin){
        .bone_count = bones,
        .influence_count = INFLUENCES,
        .bone_joints = pelt_model_alloc(context, model, bones, sizeof(uint32_t)),
        .inverse_binds = pelt_model_alloc(context, model, bones, sizeof(pelt_affine)),
        .bones = pelt_model_alloc(context, model, model->mesh.vertex_count, INFLUENCES * sizeof(uint16_t)),
        .weights = pelt_model_alloc(context, model, model->mesh.vertex_count, INFLUENCES * sizeof(float)),
    };
    for (uint32_t b = 0; b < bones; b++) {
        model->skin.bone_joints[b] = b < joints ? b : joints - 1;
        assert_true(px_affine_inverse(&globals[model->skin.bone_joints[b]], &model->skin.inverse_binds[b]));
    }
    for (size_t i = 0; i < model->mesh.vertex_count; i++)
        model->skin.weights[INFLUENCES * i] = 1;
}

static void set_weight(pelt_model *model, size_t i, uint32_t k, uint32_t bone, float weight) {
    model->skin.bones[INFLUENCES * i + k] = (uint16_t)bone;
    model->skin.weights[INFLUENCES * i + k] = weight;
}

static const float key_times[1] = {0}, quarter_turn[4] = {0, 0, 0.70710678f, 0.70710678f};

/* Joint 1 is one above joint 0 and turns by 90° about z. Vertices 2 and 3 follow it, 0, 1, 4 and 5 stay. */
static pelt_model *make_two_joints(pelt_context *context) {
    static const float positions[6][3] = {{0, 0, 0}, {2, 0, 0}, {1, 1, 0}, {0, 3, 0}, {0, 0, 0}, {0, 0, 0}};
    pelt_model *model = make_model(context, 2, 3);
    memcpy(model->mesh.positions, positions, sizeof positions);
    model->skeleton.rest[1].translation[1] = 1;
    add_skin(context, model);
    set_weight(model, 2, 0, 1, 1);
    set_weight(model, 3, 0, 1, 1);
    model->motion_count = 1;
    model->motions = pelt_model_alloc(context, model, 1, sizeof(pelt_motion));
    model->motions[0] = (pelt_motion){.name = "turn", .track_count = 1};
    model->motions[0].tracks = pelt_model_alloc(context, model, 1, sizeof(pelt_track));
    model->motions[0].tracks[0] =
        (pelt_track){1, PELT_PATH_ROTATION, PELT_INTERPOLATION_LINEAR, 4, 1, key_times, quarter_turn};
    return model;
}

/* ---- By hand ---------------------------------------------------------------------------------------------- */

static void equal_skins_are_zero_apart(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    pelt_model *model = make_two_joints(context);
    rig_measures m;
    test_ok(&test, rig_compare(context, model, model, NULL, &m));
    assert_int_equal(m.vertex_count, 6);
    assert_int_equal(m.joint_count, 2);
    assert_int_equal(m.pose_count, 8);
    assert_true(m.l1 == 0 && m.clip_percent == 0 && m.bend == 0 && m.bend_pooled == 0);
    pelt_model_destroy(model);
    test_end(&test);
}

static void half_a_vertex_is_known(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    pelt_model *artist = make_two_joints(context), *ours = make_two_joints(context);
    set_weight(ours, 2, 0, 0, 0.5f); /* vertex 2: half on joint 0, a quarter on each bone of joint 1 */
    set_weight(ours, 2, 1, 1, 0.25f);
    set_weight(ours, 2, 2, 2, 0.25f);
    set_weight(ours, 7, 0, 1, 1); /* the part without a skin does not count */
    rig_measures m;
    double moved[4], bends[2];
    test_ok(&test, rig_compare(context, artist, ours, &(rig_details){moved, bends}, &m));
    assert_int_equal(m.unweighted_count, 0);
    assert_float_equal(m.l1, 1.0 / 6, 1e-9);
    assert_float_equal(moved[2], 0.5 / 6, 1e-9); /* from joint 1 to joint 0 */
    assert_true(moved[0] == 0 && moved[1] == 0 && moved[3] == 0);
    /* It should go from (1, 1, 0) to (0, 2, 0) and goes half way; the box is 2 × 3 × 0. */
    assert_float_equal(m.clip_percent, 100 * sqrt(0.5) / 6 / sqrt(13), 1e-5);
    /* Distances of vertices 2 and 3 from the axes through joint 1 add up to 2 and 4; joint 0 carries all. */
    assert_float_equal(m.bend, (0 + 0.5 * 2 / (2 + 4)) / 2, 1e-7);
    assert_true(bends[0] == 0);
    assert_float_equal(bends[1], 1.0 / 6, 1e-7);
    /* Those of vertices 1, 2 and 3 from the axes through joint 0: 4, 2 + √2 and 6. */
    assert_float_equal(m.bend_pooled, 0.5 * 2 / (2 + 4 + 4 + 2 + sqrt(2) + 6), 1e-7);
    pelt_model_destroy(artist);
    pelt_model_destroy(ours);
    test_end(&test);
}

static void vertices_without_weights_are_counted(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    pelt_model *artist = make_two_joints(context), *ours = make_two_joints(context);
    ours->skin.weights[0] = 0;
    ours->skin.weights[INFLUENCES] = NAN;
    ours->skin.weights[2 * INFLUENCES] = 0.5f; /* not normalised: counted, though L1 is that of the normalised weight */
    artist->motion_count = 0;
    rig_measures m;
    test_ok(&test, rig_compare(context, artist, ours, NULL, &m));
    assert_int_equal(m.unweighted_count, 3);
    assert_float_equal(m.l1, 2.0 / 6, 1e-9);
    assert_int_equal(m.pose_count, 0);
    assert_true(isnan(m.clip_percent));
    pelt_model_destroy(artist);
    pelt_model_destroy(ours);
    test_end(&test);
}

static void motions_at_rest_are_none(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    pelt_model *artist = make_two_joints(context);
    artist->motions[0].track_count = 0;
    rig_measures m;
    test_ok(&test, rig_compare(context, artist, artist, NULL, &m));
    assert_int_equal(m.pose_count, 0);
    assert_true(isnan(m.clip_percent));
    pelt_model_destroy(artist);
    test_end(&test);
}

static void other_models_are_refused(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    pelt_model *two = make_two_joints(context), *other = make_model(context, 2, 4);
    rig_measures m;
    test_fails(&test, rig_compare(context, two, other, NULL, &m), PELT_ERROR_INPUT, "differ in vertices");
    other->mesh.vertex_count = two->mesh.vertex_count;
    test_fails(&test, rig_compare(context, two, other, NULL, &m), PELT_ERROR_INPUT, "no skin");
    two->mesh.parts[0].skinned = false;
    test_fails(&test, rig_compare(context, two, two, NULL, &m), PELT_ERROR_INPUT, "no part of the model is skinned");
    pelt_model_destroy(two);
    pelt_model_destroy(other);
    test_end(&test);
}

/* ---- Against real poses ----------------------------------------------------------------------------------- */

#define JOINTS    7u
#define TRIANGLES 20u

/* A tree of joints with rotated frames; `extra` adds two small weights that the limit of four removes again. */
static pelt_model *make_random(pelt_context *context, uint64_t seed, bool extra) {
    pelt_model *model = make_model(context, JOINTS, TRIANGLES);
    test_random shape = {1}, random = {seed};
    for (size_t e = 0; e < 9 * TRIANGLES; e++)
        model->mesh.positions[e] = (float)test_random_real(&shape, -1, 1);
    for (uint32_t j = 0; j < JOINTS; j++) {
        pelt_transform *rest = &model->skeleton.rest[j];
        model->skeleton.parents[j] = j ? test_random_below(&shape, j) : PELT_NONE;
        for (int c = 0; c < 3; c++)
            rest->translation[c] = (float)test_random_real(&shape, -1, 1);
        for (int c = 0; c < 4; c++)
            rest->rotation[c] = (float)test_random_real(&shape, -1, 1);
        px_quat_normalize(rest->rotation);
    }
    add_skin(context, model);
    for (size_t i = 0; i < 3 * TRIANGLES; i++) {
        float weights[4] = {0.4f, 0.3f, 0.2f, 0.1f};
        uint32_t first = test_random_below(&random, JOINTS);
        for (uint32_t k = 0; k < 4; k++)
            set_weight(model, i, k, (first + k) % JOINTS, weights[k] * (extra ? 0.9f : 1));
        for (uint32_t k = 4; extra && k < 6; k++)
            set_weight(model, i, k, (first + k) % JOINTS, 0.05f);
    }
    return model;
}

/* Local rest of joint j such that it is turned by `angle` about a world axis through itself. */
static pelt_transform bent(const pelt_skeleton *skeleton, const pelt_affine *globals, uint32_t j, int axis,
                           double angle) {
    pelt_transform turn = px_transform_identity(), local;
    turn.rotation[axis] = (float)sin(angle / 2);
    turn.rotation[3] = (float)cos(angle / 2);
    pelt_affine global = globals[j], q = px_affine_from_transform(&turn), inverse = px_affine_identity();
    for (int c = 0; c < 3; c++)
        global.m[4 * c + 3] = 0;
    global = px_affine_mul(&q, &global);
    for (int c = 0; c < 3; c++)
        global.m[4 * c + 3] = globals[j].m[4 * c + 3];
    if (skeleton->parents[j] != PELT_NONE)
        assert_true(px_affine_inverse(&globals[skeleton->parents[j]], &inverse));
    global = px_affine_mul(&inverse, &global);
    px_transform_from_affine(&global, &local);
    return local;
}

static double distances(const float *a, const float *b) {
    double sum = 0;
    for (size_t i = 0; i < 3 * (TRIANGLES - 1); i++)
        sum += sqrt(pow(a[3 * i] - b[3 * i], 2) + pow(a[3 * i + 1] - b[3 * i + 1], 2) +
                    pow(a[3 * i + 2] - b[3 * i + 2], 2));
    return sum;
}

static double bend_by_poses(pelt_context *context, pelt_model *artist, pelt_model *ours) {
    static float rest[9 * TRIANGLES], a[9 * TRIANGLES], b[9 * TRIANGLES];
    pelt_affine globals[JOINTS];
    double ratios = 0;
    pelt_skeleton_globals(&artist->skeleton, artist->skeleton.rest, globals);
    pelt_model_pose(context, artist, NULL, 0, PELT_SKINNING_LINEAR, rest, NULL);
    for (uint32_t j = 0; j < JOINTS; j++) {
        double off = 0, moved = 0;
        pelt_transform kept = artist->skeleton.rest[j];
        for (int bend = 0; bend < 6; bend++) {
            double angle = (bend < 3 ? 0.25 : -0.25) * 3.14159265358979;
            artist->skeleton.rest[j] = ours->skeleton.rest[j] = bent(&artist->skeleton, globals, j, bend % 3, angle);
            pelt_model_pose(context, artist, NULL, 0, PELT_SKINNING_LINEAR, a, NULL);
            pelt_model_pose(context, ours, NULL, 0, PELT_SKINNING_LINEAR, b, NULL);
            artist->skeleton.rest[j] = ours->skeleton.rest[j] = kept;
            off += distances(a, b);
            moved += distances(a, rest);
        }
        ratios += off / moved;
    }
    return ratios / JOINTS;
}

static void bends_are_those_of_poses(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    for (uint64_t seed = 1; seed < 4; seed++) {
        pelt_model *artist = make_random(context, seed, false), *ours = make_random(context, seed + 10, false);
        rig_measures m;
        double moved[JOINTS * JOINTS], sum = 0;
        test_ok(&test, rig_compare(context, artist, ours, &(rig_details){moved, NULL}, &m));
        assert_true(m.bend > 0.1);
        assert_float_equal(m.bend, bend_by_poses(context, artist, ours), 1e-4 * m.bend);
        for (size_t e = 0; e < JOINTS * JOINTS; e++)
            sum += moved[e];
        assert_float_equal(2 * sum, m.l1, 1e-9);
        pelt_model_destroy(artist);
        pelt_model_destroy(ours);
    }
    test_end(&test);
}

static void four_weights_are_compared(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    pelt_model *artist = make_random(context, 1, false), *ours = make_random(context, 1, true);
    rig_measures m;
    test_ok(&test, rig_compare(context, artist, ours, NULL, &m));
    assert_int_equal(m.unweighted_count, 0);
    assert_float_equal(m.l1, 0, 1e-6);
    assert_float_equal(m.bend, 0, 1e-6);
    pelt_model_destroy(artist);
    pelt_model_destroy(ours);
    test_end(&test);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_skins_are_zero_apart),
        cmocka_unit_test(half_a_vertex_is_known),
        cmocka_unit_test(vertices_without_weights_are_counted),
        cmocka_unit_test(motions_at_rest_are_none),
        cmocka_unit_test(other_models_are_refused),
        cmocka_unit_test(bends_are_those_of_poses),
        cmocka_unit_test(four_weights_are_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
