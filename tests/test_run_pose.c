/* Morphs, poses of models and clips of motions, on a small model with known values. */
#include "support.h"

#include "core/core.h"
#include "core/math3.h"

#define VERTICES 9000u /* more than two blocks of threads, and not a whole number of them */
#define MORPHS   3u

/* ---- A model ---------------------------------------------------------------------------------------------- */

/* Two joints, the second one unit above the first; vertices on a tube between them; three morphs over parts of it. In
 * two seconds the second joint turns by 90° about z and the second morph's weight goes from 0 to 2. */
static void add_mesh(pelt_context *context, pelt_model *model) {
    pelt_mesh *mesh = &model->mesh;
    mesh->vertex_count = mesh->points.count = VERTICES;
    mesh->positions = pelt_model_alloc(context, model, VERTICES, 3 * sizeof(float));
    mesh->normals = pelt_model_alloc(context, model, VERTICES, 3 * sizeof(float));
    mesh->tangents = pelt_model_alloc(context, model, VERTICES, 4 * sizeof(float));
    for (size_t i = 0; i < VERTICES; i++) {
        float angle = 0.1f * (float)i;
        float n[3] = {cosf(angle), 0, sinf(angle)}, t[4] = {0, 1, 0, -1};
        memcpy(mesh->normals + 3 * i, n, sizeof n);
        memcpy(mesh->tangents + 4 * i, t, sizeof t);
        float p[3] = {0.3f * n[0], 2.0f * (float)i / VERTICES, 0.3f * n[2]};
        memcpy(mesh->positions + 3 * i, p, sizeof p);
    }
}

static void add_skin(pelt_context *context, pelt_model *model) {
    pelt_skeleton *skeleton = &model->skeleton;
    skeleton->joint_count = 2;
    skeleton->names = pelt_model_alloc(context, model, 2, sizeof(char *));
    skeleton->parents = pelt_model_alloc(context, model, 2, sizeof(uint32_t));
    skeleton->rest = pelt_model_alloc(context, model, 2, sizeof(pelt_transform));
    skeleton->names[0] = "root", skeleton->names[1] = "tip";
    skeleton->parents[0] = PELT_NONE, skeleton->parents[1] = 0;
    skeleton->rest[0] = skeleton->rest[1] = px_transform_identity();
    skeleton->rest[1].translation[1] = 1;
    pelt_skin *skin = &model->skin;
    skin->bone_count = skin->influence_count = 2;
    skin->bone_joints = pelt_model_alloc(context, model, 2, sizeof(uint32_t));
    skin->inverse_binds = pelt_model_alloc(context, model, 2, sizeof(pelt_affine));
    skin->bones = pelt_model_alloc(context, model, VERTICES, 2 * sizeof(uint16_t));
    skin->weights = pelt_model_alloc(context, model, VERTICES, 2 * sizeof(float));
    skin->bone_joints[1] = 1;
    skin->inverse_binds[0] = skin->inverse_binds[1] = px_affine_identity();
    skin->inverse_binds[1].m[7] = -1;
    for (size_t i = 0; i < VERTICES; i++) {
        float upper = (float)i / VERTICES, w[2] = {upper > 0.5f ? upper : 1 - upper, upper > 0.5f ? 1 - upper : upper};
        skin->bones[2 * i + (upper <= 0.5f)] = 1;
        memcpy(skin->weights + 2 * i, w, sizeof w);
    }
}

static void add_morphs(pelt_context *context, pelt_model *model) {
    static const uint32_t first[MORPHS] = {0, 100, 4000}, count[MORPHS] = {50, 4500, 5000};
    model->morphs.morph_count = MORPHS;
    model->morphs.morphs = pelt_model_alloc(context, model, MORPHS, sizeof(pelt_morph));
    test_random random = {6};
    for (uint32_t t = 0; t < MORPHS; t++) {
        float *deltas[3];
        for (int a = 0; a < 3; a++) {
            deltas[a] = pelt_model_alloc(context, model, count[t], 3 * sizeof(float));
            for (size_t e = 0; e < 3 * (size_t)count[t]; e++)
                deltas[a][e] = (float)test_random_real(&random, -0.1, 0.1);
        }
        model->morphs.morphs[t] = (pelt_morph){.name = "",
                                               .joint = 0,
                                               .index = t,
                                               .first_vertex = first[t],
                                               .vertex_count = count[t],
                                               .positions = deltas[0],
                                               .normals = t == 2 ? NULL : deltas[1],
                                               .tangents = deltas[2]};
    }
}

static const float key_times[2] = {0, 2};
static const float rotations[8] = {0, 0, 0, 1, 0, 0, 0.70710678f, 0.70710678f};
static const float morph_weights[2 * MORPHS] = {0, 0, 0, 0, 2, 0};

static pelt_result make_model(pelt_context *context, bool skin, bool morphs, pelt_model **out) {
    pelt_result result = pelt_model_create(context, out);
    if (result != PELT_OK)
        return result;
    pelt_model *model = *out;
    add_mesh(context, model);
    if (skin)
        add_skin(context, model);
    if (morphs)
        add_morphs(context, model);
    model->motion_count = 1;
    model->motions = pelt_model_alloc(context, model, 1, sizeof(pelt_motion));
    model->motions[0] = (pelt_motion){.name = "bend", .start = 0, .end = 2};
    pelt_track *tracks = model->motions[0].tracks = pelt_model_alloc(context, model, 2, sizeof(pelt_track));
    pelt_track bend = {1, PELT_PATH_ROTATION, PELT_INTERPOLATION_LINEAR, 4, 2, key_times, rotations};
    pelt_track swell = {0, PELT_PATH_WEIGHTS, PELT_INTERPOLATION_LINEAR, MORPHS, 2, key_times, morph_weights};
    if (skin)
        tracks[model->motions[0].track_count++] = bend;
    if (morphs)
        tracks[model->motions[0].track_count++] = swell;
    return PELT_OK;
}

/* ---- Morphs ----------------------------------------------------------------------------------------------- */

/* Expected sum of morphs at one component, added in the order of the morphs. */
static float morphed(float rest, const pelt_morph_set *set, const float *weights, size_t i, int c, int array) {
    for (uint32_t t = 0; t < set->morph_count; t++) {
        const pelt_morph *morph = &set->morphs[t];
        const float *deltas = array == 0 ? morph->positions : array == 1 ? morph->normals : morph->tangents;
        if (deltas && i >= morph->first_vertex && i < morph->first_vertex + morph->vertex_count)
            rest += weights[t] * deltas[3 * (i - morph->first_vertex) + (size_t)c];
    }
    return rest;
}

static void morphs_add_up(void **state) {
    (void)state;
    test_context test;
    pelt_model *model;
    test_begin(&test, 1);
    test_ok(&test, make_model(test.context, false, true, &model));
    const pelt_mesh *mesh = &model->mesh;
    const float weights[MORPHS] = {0.5f, -1.5f, 0.25f};
    static float p[VERTICES * 3], n[VERTICES * 3], t[VERTICES * 4];
    pelt_morph_run(mesh, &model->morphs, weights, p, n, t);
    for (size_t i = 0; i < VERTICES; i++) {
        for (int c = 0; c < 3; c++) {
            assert_true(p[3 * i + c] == morphed(mesh->positions[3 * i + c], &model->morphs, weights, i, c, 0));
            assert_true(n[3 * i + c] == morphed(mesh->normals[3 * i + c], &model->morphs, weights, i, c, 1));
            assert_true(t[4 * i + c] == morphed(mesh->tangents[4 * i + c], &model->morphs, weights, i, c, 2));
        }
        assert_true(t[4 * i + 3] == mesh->tangents[4 * i + 3]);
    }
    pelt_morph_run(mesh, &model->morphs, (float[MORPHS]){0}, p, NULL, NULL);
    assert_memory_equal(p, mesh->positions, sizeof p);
    pelt_model_destroy(model);
    test_end(&test);
}

/* A morph of weight 0 is not read. */
static void sleeping_morphs_cost_nothing(void **state) {
    (void)state;
    test_context test;
    pelt_model *model;
    test_begin(&test, 1);
    test_ok(&test, make_model(test.context, false, true, &model));
    model->morphs.morphs[1].positions = model->morphs.morphs[1].normals = NULL;
    static float p[VERTICES * 3], n[VERTICES * 3];
    pelt_morph_run(&model->mesh, &model->morphs, (float[MORPHS]){0}, p, n, NULL);
    assert_memory_equal(n, model->mesh.normals, sizeof n);
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Poses ------------------------------------------------------------------------------------------------ */

/* The same operations, step by step and in one call. */
static void pose_by_hand(const pelt_model *model, const pelt_motion *motion, float time, pelt_skinning skinning,
                         float *out_positions, float *out_normals) {
    static float p[VERTICES * 3], n[VERTICES * 3];
    pelt_transform locals[2];
    pelt_affine globals[2], palette[2];
    pelt_dual_quaternion dual[2];
    float weights[MORPHS] = {0};
    pelt_motion_sample(model, motion, time, locals, weights);
    pelt_skeleton_globals(&model->skeleton, locals, globals);
    pelt_skin_palette(&model->skin, globals, palette);
    pelt_dual_quaternions(palette, 2, dual);
    pelt_morph_run(&model->mesh, &model->morphs, weights, p, n, NULL);
    pelt_skin_job job = {
        .vertex_count = VERTICES,
        .influence_count = 2,
        .bones = model->skin.bones,
        .weights = model->skin.weights,
        .palette = palette,
        .dual_quaternions = dual,
        .skinning = skinning,
        .positions = p,
        .normals = n,
        .out_positions = out_positions,
        .out_normals = out_normals,
    };
    pelt_skin_run_simd(&job, PELT_SIMD_SCALAR);
}

static void poses_are_the_chain(void **state) {
    (void)state;
    static float p[VERTICES * 3], n[VERTICES * 3], want_p[VERTICES * 3], want_n[VERTICES * 3];
    for (int c = 0; c < 8; c++) { /* threads, morphs, skinning */
        test_context test;
        pelt_model *model;
        test_begin(&test, c & 1 ? 3 : 1);
        test_ok(&test, make_model(test.context, true, c & 2, &model));
        const pelt_motion *motion = &model->motions[0];
        pelt_skinning skinning = c & 4 ? PELT_SKINNING_DUAL_QUATERNION : PELT_SKINNING_LINEAR;
        for (float time = -1; time < 3; time += 0.7f) {
            pose_by_hand(model, motion, time, skinning, want_p, want_n);
            test_ok(&test, pelt_model_pose(test.context, model, motion, time, skinning, p, n));
            assert_memory_equal(p, want_p, sizeof p);
            assert_memory_equal(n, want_n, sizeof n);
            memset(p, 0, sizeof p);
            test_ok(&test, pelt_model_pose(test.context, model, motion, time, skinning, p, NULL));
            assert_memory_equal(p, want_p, sizeof p);
            pelt_transform locals[2];
            float weights[MORPHS];
            pelt_motion_sample(model, motion, time, locals, weights);
            memset(p, 0, sizeof p);
            test_ok(&test, pelt_model_pose_locals(test.context, model, locals, weights, skinning, p, n));
            assert_memory_equal(p, want_p, sizeof p);
            assert_memory_equal(n, want_n, sizeof n);
        }
        pelt_model_destroy(model);
        test_end(&test);
    }
}

/* The last vertex, nearly all on the tip, after a quarter turn: from (x, 2, z) to (-1, 1 + x, z) about the joint. */
static void poses_are_right(void **state) {
    (void)state;
    test_context test;
    pelt_model *model;
    static float p[VERTICES * 3], n[VERTICES * 3];
    test_begin(&test, 1);
    test_ok(&test, make_model(test.context, true, false, &model));
    float *weights = model->skin.weights + 2 * (VERTICES - 1);
    model->skin.bones[2 * (VERTICES - 1)] = 1;
    weights[0] = 1, weights[1] = 0;
    const float *rest = model->mesh.positions + 3 * (VERTICES - 1), *got = p + 3 * (VERTICES - 1);
    for (int s = 0; s < 2; s++) {
        test_ok(&test, pelt_model_pose(test.context, model, &model->motions[0], 2, (pelt_skinning)s, p, n));
        assert_true(fabsf(got[0] - (1 - rest[1])) < 1e-6f);
        assert_true(fabsf(got[1] - (1 + rest[0])) < 1e-6f);
        assert_true(fabsf(got[2] - rest[2]) < 1e-6f);
        test_ok(&test, pelt_model_pose(test.context, model, NULL, 2, (pelt_skinning)s, p, n));
        for (size_t e = 0; e < sizeof p / sizeof p[0]; e++)
            assert_true(fabsf(p[e] - model->mesh.positions[e]) < 1e-6f);
    }
    pelt_model_destroy(model);
    test_end(&test);
}

static void poses_without_skin(void **state) {
    (void)state;
    test_context test;
    pelt_model *model;
    static float p[VERTICES * 3], n[VERTICES * 3], want[VERTICES * 3];
    test_begin(&test, 2);
    test_ok(&test, make_model(test.context, false, true, &model));
    test_ok(&test, pelt_model_pose(test.context, model, NULL, 0, PELT_SKINNING_LINEAR, p, n));
    assert_memory_equal(p, model->mesh.positions, sizeof p);
    assert_memory_equal(n, model->mesh.normals, sizeof n);
    test_ok(&test, pelt_model_pose(test.context, model, &model->motions[0], 2, PELT_SKINNING_LINEAR, p, n));
    pelt_morph_run(&model->mesh, &model->morphs, (float[MORPHS]){0, 2, 0}, want, NULL, NULL);
    assert_memory_equal(p, want, sizeof p);
    for (size_t i = 0; i < VERTICES; i++)
        assert_true(fabsf(px_dot3(n + 3 * i, n + 3 * i) - 1) < 1e-6f);
    model->mesh.normals = NULL;
    test_fails(&test, pelt_model_pose(test.context, model, NULL, 0, PELT_SKINNING_LINEAR, p, n), PELT_ERROR_USAGE,
               "normals");
    pelt_model_destroy(model);
    test_end(&test);
}

static pelt_result pose_once(pelt_context *context, void *user) {
    static float p[VERTICES * 3], n[VERTICES * 3];
    return pelt_model_pose(context, user, ((const pelt_model *)user)->motions, 1, PELT_SKINNING_DUAL_QUATERNION, p, n);
}

static pelt_result pose_locals_once(pelt_context *context, void *user) {
    static float p[VERTICES * 3], n[VERTICES * 3];
    const pelt_model *model = user;
    return pelt_model_pose_locals(context, model, model->skeleton.rest, (float[MORPHS]){1, 1, 1},
                                  PELT_SKINNING_DUAL_QUATERNION, p, n);
}

static void poses_survive_lack_of_memory(void **state) {
    (void)state;
    test_context test;
    pelt_model *model;
    test_begin(&test, 1);
    test_ok(&test, make_model(test.context, true, true, &model));
    test_fail_each_allocation(1, pose_once, model);
    test_fail_each_allocation(1, pose_locals_once, model);
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Clips ------------------------------------------------------------------------------------------------ */

static void clips_count_frames(void **state) {
    (void)state;
    static const struct {
        float start, end;
        double fps;
        uint32_t frames;
    } rows[] = {
        {0, 2, 30, 61},      {0, 2, 1, 3},           {0, 2.01f, 1, 4},           {1, 1, 24, 1},
        {0.5f, 1, 24, 13},   {-1, 1, 10, 21},        {0, 1.0f / 3, 30, 11},      {0, 0.001f, 24, 2},
        {0, 2.00001f, 1, 3}, {0, 0.708333f, 30, 23}, {0.041667f, 0.75f, 30, 23}, {0, 83.3333f, 120, 10001},
    };
    test_context test;
    pelt_model *model;
    test_begin(&test, 1);
    test_ok(&test, make_model(test.context, true, false, &model));
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        pelt_motion motion = model->motions[0];
        pelt_clip clip;
        motion.start = rows[r].start, motion.end = rows[r].end;
        test_ok(&test, pelt_clip_from_motion(test.context, model, &motion, rows[r].fps, PELT_SKINNING_LINEAR, &clip));
        assert_int_equal(clip.frame_count, rows[r].frames);
        assert_int_equal(clip.point_count, VERTICES);
        assert_string_equal(clip.name, "bend");
        assert_null(clip.positions);
        /* Evenly spaced from start to end, both exact to the bit. */
        assert_true(clip.times[0] == rows[r].start && clip.times[clip.frame_count - 1] == rows[r].end);
        double duration = (double)rows[r].end - (double)rows[r].start;
        for (uint32_t k = 1; k < clip.frame_count; k++)
            assert_true(fabs((double)clip.times[k] - (rows[r].start + duration * k / (rows[r].frames - 1))) < 1e-5);
    }
    pelt_model_destroy(model);
    test_end(&test);
}

static void clips_refuse_nonsense(void **state) {
    (void)state;
    test_context test;
    pelt_model *model;
    pelt_clip clip;
    test_begin(&test, 1);
    test_ok(&test, make_model(test.context, true, false, &model));
    static const double bad[] = {0, -1, NAN, INFINITY};
    for (int b = 0; b < 4; b++)
        test_fails(&test,
                   pelt_clip_from_motion(test.context, model, model->motions, bad[b], PELT_SKINNING_LINEAR, &clip),
                   PELT_ERROR_USAGE, "frames per second");
    pelt_motion motion = model->motions[0];
    motion.end = 1e30f;
    test_fails(&test, pelt_clip_from_motion(test.context, model, &motion, 30, PELT_SKINNING_LINEAR, &clip),
               PELT_ERROR_INPUT, "too long");
    motion.end = NAN;
    test_fails(&test, pelt_clip_from_motion(test.context, model, &motion, 30, PELT_SKINNING_LINEAR, &clip),
               PELT_ERROR_INPUT, "too long");
    assert_int_equal(clip.frame_count, 0);
    pelt_model_destroy(model);
    test_end(&test);
}

static void clips_read_poses(void **state) {
    (void)state;
    static float want[VERTICES * 3], got[VERTICES * 3];
    test_context test;
    pelt_model *model;
    pelt_clip clip, rest;
    test_begin(&test, 2);
    test_ok(&test, make_model(test.context, true, true, &model));
    for (int s = 0; s < 2; s++) {
        pelt_skinning skinning = (pelt_skinning)s;
        test_ok(&test, pelt_clip_from_motion(test.context, model, model->motions, 2.5, skinning, &clip));
        for (uint32_t k = 0; k < clip.frame_count; k++) {
            test_ok(&test, pelt_model_pose(test.context, model, model->motions, clip.times[k], skinning, want, NULL));
            test_ok(&test, pelt_clip_read(test.context, &clip, k, 0, VERTICES, got));
            assert_memory_equal(want, got, sizeof want);
            test_ok(&test, pelt_clip_read(test.context, &clip, k, 4321, 77, got));
            assert_memory_equal(want + 3 * 4321, got, 3 * 77 * sizeof(float));
            test_ok(&test, pelt_clip_read(test.context, &clip, k, VERTICES, 0, got));
        }
        test_ok(&test, pelt_clip_from_motion(test.context, model, NULL, 0, skinning, &rest));
        assert_int_equal(rest.frame_count, 1);
        test_ok(&test, pelt_model_pose(test.context, model, NULL, 0, skinning, want, NULL));
        test_ok(&test, pelt_clip_read(test.context, &rest, 0, 0, VERTICES, got));
        assert_memory_equal(want, got, sizeof want);
    }
    pelt_model_destroy(model);
    test_end(&test);
}

/* Three vertices share each point, in a scattered order: the first one is used. */
static void clips_read_points(void **state) {
    (void)state;
    static float pose[VERTICES * 3], got[VERTICES];
    test_context test;
    pelt_model *model;
    pelt_clip clip;
    test_begin(&test, 1);
    test_ok(&test, make_model(test.context, true, false, &model));
    uint32_t points = VERTICES / 3;
    uint32_t *of = pelt_model_alloc(test.context, model, VERTICES, sizeof *of);
    assert_non_null(of);
    for (uint32_t i = 0; i < VERTICES; i++)
        of[i] = (i * 7 + i / points) % points;
    test_ok(&test, pelt_model_set_points(test.context, model, points, of));
    test_ok(&test, pelt_clip_from_motion(test.context, model, model->motions, 1, PELT_SKINNING_LINEAR, &clip));
    assert_int_equal(clip.point_count, points);
    test_ok(&test, pelt_model_pose(test.context, model, model->motions, 1, PELT_SKINNING_LINEAR, pose, NULL));
    for (int part = 0; part < 2; part++) {
        uint32_t first = part ? 1000 : 0, count = part ? 55 : points;
        test_ok(&test, pelt_clip_read(test.context, &clip, 1, first, count, got));
        for (uint32_t p = first; p < first + count; p++) {
            uint32_t i = 0;
            while (model->mesh.points.of[i] != p)
                i++;
            assert_memory_equal(got + (size_t)3 * (p - first), pose + (size_t)3 * i, 3 * sizeof(float));
        }
    }
    pelt_model_destroy(model);
    test_end(&test);
}

typedef struct read_task {
    pelt_context *context;
    const pelt_clip *clip;
    float *out;
} read_task;

static pelt_result read_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const read_task *task = user;
    return pelt_clip_read(task->context, task->clip, 3, (uint32_t)first, (uint32_t)count, task->out + 3 * first);
}

static void clips_are_read_by_many(void **state) {
    (void)state;
    static float want[VERTICES * 3], got[VERTICES * 3];
    test_context test;
    pelt_model *model;
    pelt_clip clip;
    test_begin(&test, 4);
    test_ok(&test, make_model(test.context, true, true, &model));
    test_ok(&test, pelt_clip_from_motion(test.context, model, model->motions, 5, PELT_SKINNING_LINEAR, &clip));
    test_ok(&test, pelt_clip_read(test.context, &clip, 3, 0, VERTICES, want));
    read_task task = {test.context, &clip, got};
    test_ok(&test, px_parallel(test.context, NULL, VERTICES, 97, read_block, &task));
    assert_memory_equal(want, got, sizeof want);
    pelt_model_destroy(model);
    test_end(&test);
}

static pelt_result read_once(pelt_context *context, void *user) {
    (void)user;
    static float out[300];
    pelt_model *model = NULL;
    pelt_context *steady;
    pelt_clip clip;
    assert_int_equal(pelt_context_create(NULL, &steady), PELT_OK);
    assert_int_equal(make_model(steady, true, true, &model), PELT_OK);
    uint32_t *points = pelt_model_alloc(steady, model, VERTICES, sizeof(uint32_t));
    for (uint32_t i = 0; i < VERTICES; i++)
        points[i] = i;
    assert_int_equal(pelt_model_set_points(steady, model, VERTICES, points), PELT_OK);
    px_arena *memory = model->memory, *poor = px_arena_create(context);
    pelt_result result = poor ? PELT_OK : PELT_ERROR_MEMORY;
    model->memory = poor; /* the clip's own memory comes from the failing heap too */
    if (result == PELT_OK)
        result = pelt_clip_from_motion(context, model, model->motions, 5, PELT_SKINNING_LINEAR, &clip);
    if (result == PELT_OK)
        result = pelt_clip_read(context, &clip, 1, 50, 100, out);
    px_arena_destroy(poor);
    model->memory = memory;
    pelt_model_destroy(model);
    pelt_context_destroy(steady);
    return result;
}

static void clips_survive_lack_of_memory(void **state) {
    (void)state;
    test_fail_each_allocation(1, read_once, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(morphs_add_up),          cmocka_unit_test(sleeping_morphs_cost_nothing),
        cmocka_unit_test(poses_are_the_chain),    cmocka_unit_test(poses_are_right),
        cmocka_unit_test(poses_without_skin),     cmocka_unit_test(poses_survive_lack_of_memory),
        cmocka_unit_test(clips_count_frames),     cmocka_unit_test(clips_refuse_nonsense),
        cmocka_unit_test(clips_read_poses),       cmocka_unit_test(clips_read_points),
        cmocka_unit_test(clips_are_read_by_many), cmocka_unit_test(clips_survive_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
