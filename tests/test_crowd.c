/* Crowds: every instance equals pelt_model_pose of its model, in every layout and batch. */
#include "support.h"

#include "core/math3.h"
#include "crowd/crowd.h"
#include "scenes.h"

#define FPS   32.0 /* sample times are exact floats */
#define MOST  4000u
#define FRAME ((size_t)400000)

/* ---- Animals ---------------------------------------------------------------------------------------------- */

typedef struct herd {
    test_context test;
    pelt_model *models[2]; /* levels of detail of one character */
    pelt_crowd *crowd;
} herd;

/* A second motion: half of the joints move, in less time; quaternions are negated, which is the same rotation. */
static void add_motion(pelt_context *context, pelt_model *model) {
    pelt_motion *motions = pelt_model_alloc(context, model, 2, sizeof *motions);
    motions[0] = motions[1] = model->motions[0];
    pelt_track *tracks = pelt_model_alloc(context, model, motions[0].track_count, sizeof *tracks);
    motions[1].track_count = 0;
    for (uint32_t t = 0; t < motions[0].track_count; t += 2) {
        pelt_track track = motions[0].tracks[t];
        track.key_count = track.key_count / 2;
        motions[1].end = track.times[track.key_count - 1];
        if (track.path == PELT_PATH_ROTATION) {
            float *values = pelt_model_alloc(context, model, (size_t)track.key_count * 4, sizeof *values);
            for (uint32_t e = 0; e < 4 * track.key_count; e++)
                values[e] = -track.values[e];
            track.values = values;
        }
        tracks[motions[1].track_count++] = track;
    }
    motions[1].name = "trot";
    motions[1].tracks = tracks;
    model->motions = motions;
    model->motion_count = 2;
}

static pelt_model *make_animal(pelt_context *context, const char *name, uint32_t vertex_count) {
    pelt_model *model;
    scene_desc desc = {.vertex_count = vertex_count};
    assert_int_equal(scene_find(name)->make(context, &desc, &model), PELT_OK);
    assert_true(model->mesh.vertex_count <= MOST);
    add_motion(context, model);
    return model;
}

/* Two morphs: a bump on every vertex and a dent in every third, driven by joint 1 or by the tracks of motion 0. */
static void add_morphs(pelt_context *context, pelt_model *model) {
    static const float times[2] = {0, 2}, values[4] = {0, 1, 1, 0.5f};
    static const float centres[8] = {0, 0, 0, 1, 0.70710678f, 0, 0, 0.70710678f}, coefficients[3] = {-1, 1, 0.25f};
    static const uint32_t driven[1] = {1};
    uint32_t count = model->mesh.vertex_count;
    model->morphs.morph_count = 2;
    model->morphs.morphs = pelt_model_alloc(context, model, 2, sizeof(pelt_morph));
    for (uint32_t m = 0; m < 2; m++) {
        float *positions = pelt_model_alloc(context, model, count, 3 * sizeof(float));
        float *normals = pelt_model_alloc(context, model, count, 3 * sizeof(float));
        for (uint32_t i = 0; i < count; i += 1 + 2 * m)
            for (uint32_t c = 0; c < 3; c++) {
                positions[3 * i + c] = (m ? -0.05f : 0.1f) * model->mesh.normals[3 * i + c];
                normals[3 * i + c] = 0.2f * (float)(i % (c + 2));
            }
        model->morphs.morphs[m] = (pelt_morph){
            .name = "", .index = m, .vertex_count = count, .weight = 0.5f, .positions = positions, .normals = normals};
    }
    pelt_motion *motion = &model->motions[0];
    pelt_track *tracks = pelt_model_alloc(context, model, motion->track_count + 1, sizeof *tracks);
    memcpy(tracks, motion->tracks, motion->track_count * sizeof *tracks);
    tracks[motion->track_count++] = (pelt_track){0, PELT_PATH_WEIGHTS, PELT_INTERPOLATION_LINEAR, 2, 2, times, values};
    motion->tracks = tracks;
    model->drivers = pelt_model_alloc(context, model, 1, sizeof *model->drivers);
    model->drivers[0] = (pelt_driver){.joint = 1,
                                      .radius = 1,
                                      .centre_count = 2,
                                      .centres = centres,
                                      .morph_count = 1,
                                      .morphs = driven,
                                      .coefficients = coefficients};
    model->driver_count = 1;
}

static void make_crowd(herd *h, uint32_t skinning) {
    pelt_crowd_character character = {(const pelt_model *const *)h->models, h->models[1] ? 2 : 1};
    pelt_crowd_desc desc = {PELT_DESC_COOKIE, .fps = FPS, .skinning = skinning, .instance_count = 64};
    test_ok(&h->test, pelt_crowd_create(h->test.context, &character, 1, &desc, &h->crowd));
}

static void begin_scene(herd *h, const char *name, uint32_t thread_count) {
    test_begin(&h->test, thread_count);
    h->models[0] = make_animal(h->test.context, name, 700);
    h->models[1] = make_animal(h->test.context, name, 150);
    make_crowd(h, PELT_SKINNING_LINEAR);
}

static void begin(herd *h, uint32_t thread_count) {
    begin_scene(h, "arm", thread_count);
}

static void end(herd *h) {
    pelt_crowd_destroy(h->crowd);
    pelt_model_destroy(h->models[0]);
    pelt_model_destroy(h->models[1]);
    test_end(&h->test);
}

static pelt_crowd_instance animal(uint32_t level, uint32_t motion, float time) {
    return (pelt_crowd_instance){
        .level = level, .layer_count = 1, .layers = {{motion, time, 1, false}}, .world = px_affine_identity()};
}

/* Animals of both levels in many poses and places. */
static void mixed(herd *h, pelt_crowd_instance *animals, uint32_t count, size_t *vertex_count) {
    test_random random = {3};
    for (uint32_t i = 0; i < count; i++) {
        animals[i] = animal(test_random_below(&random, 2), test_random_below(&random, 2),
                            (float)test_random_real(&random, -1, 5));
        animals[i].layers[0].loop = i % 3 == 0;
        if (i % 5 == 0)
            animals[i].layers[animals[i].layer_count++] = (pelt_crowd_layer){i % 2, 0.5f, 0.75f, true};
        for (int e = 0; e < 12; e++)
            animals[i].world.m[e] += (float)test_random_real(&random, -0.5, 0.5);
    }
    test_ok(&h->test, pelt_crowd_place(h->crowd, animals, count, vertex_count));
}

/* ---- Comparing -------------------------------------------------------------------------------------------- */

static float positions[3 * FRAME], normals[3 * FRAME], want_positions[3 * MOST], want_normals[3 * MOST];

static void run(herd *h, const pelt_crowd_instance *animals, uint32_t count) {
    pelt_crowd_output output = {positions, normals, 0, FRAME};
    memset(positions, 0xff, sizeof positions); /* NaN */
    memset(normals, 0xff, sizeof normals);
    test_ok(&h->test, pelt_crowd_frame(h->crowd, animals, count, &output));
}

/* The largest difference of any coordinate; `want` is the result of a single model. */
static double distance(const float *got, const float *want, size_t vertex_count) {
    double largest = 0;
    for (size_t e = 0; e < 3 * vertex_count; e++) {
        double off = fabs((double)got[e] - (double)want[e]);
        if (!(off <= largest))
            largest = off;
    }
    return largest;
}

static void want_pose(herd *h, const pelt_crowd_instance *a, pelt_skinning skinning) {
    const pelt_model *model = h->models[a->level];
    const pelt_motion *motion = a->layer_count ? &h->models[0]->motions[a->layers[0].motion] : NULL;
    test_ok(&h->test,
            pelt_model_pose(h->test.context, model, motion, a->layers[0].time, skinning, want_positions, want_normals));
}

static double off_from_want(const herd *h, const pelt_crowd_instance *a) {
    uint32_t count = h->models[a->level]->mesh.vertex_count;
    return fmax(distance(positions + 3 * a->first_vertex, want_positions, count),
                distance(normals + 3 * a->first_vertex, want_normals, count));
}

/* ---- Poses ------------------------------------------------------------------------------------------------ */

/* An instance equals pelt_model_pose up to rounding, alone or with many others of its level. */
static void samples_are_poses(void **state) {
    (void)state;
    static pelt_crowd_instance animals[27];
    herd h;
    begin_scene(&h, "creature", 2);
    for (uint32_t count = 1; count <= 27; count += 13) {
        size_t vertex_count;
        for (uint32_t i = 0; i < count; i++) {
            bool still = i % 4 == 3; /* samples of the second motion are at times that are not exact floats */
            animals[i] = animal(i % 2, still, still ? 0 : (float)(i % 12) * (float)(1 / FPS));
            animals[i].layer_count = i % 9 != 8; /* or the rest pose */
        }
        test_ok(&h.test, pelt_crowd_place(h.crowd, animals, count, &vertex_count));
        run(&h, animals, count);
        for (uint32_t i = 0; i < count; i++) {
            want_pose(&h, &animals[i], PELT_SKINNING_LINEAR);
            assert_true(off_from_want(&h, &animals[i]) < 2e-6);
        }
        assert_true(isnan(positions[3 * vertex_count]));
    }
    end(&h);
}

static void between_samples_poses_are_near(void **state) {
    (void)state;
    herd h;
    begin_scene(&h, "creature", 1);
    pelt_crowd_destroy(h.crowd);
    pelt_crowd_character character = {(const pelt_model *const *)h.models, 2};
    test_ok(&h.test, pelt_crowd_create(h.test.context, &character, 1, NULL, &h.crowd)); /* samples where keys are */
    double worst = 0;
    for (float time = -0.5f; time < 2.5f; time += 0.17f) {
        pelt_crowd_instance a = animal(0, 0, time);
        run(&h, &a, 1);
        want_pose(&h, &a, PELT_SKINNING_LINEAR);
        worst = fmax(worst, off_from_want(&h, &a));
    }
    assert_true(worst > 0 && worst < 3e-3); /* the animal is 5 long */
    end(&h);
}

static void loops_begin_anew(void **state) {
    (void)state;
    herd h;
    begin(&h, 1);
    for (int n = -2; n <= 2; n++) {
        pelt_crowd_instance a = animal(1, 0, 0.625f + 2.0f * (float)n);
        a.layers[0].loop = true;
        run(&h, &a, 1);
        a.layers[0].time = 0.625f;
        want_pose(&h, &a, PELT_SKINNING_LINEAR);
        assert_true(off_from_want(&h, &a) < 2e-6);
    }
    end(&h);
}

/* Weighted means of local transforms, computed here in double precision. */
static void blends_are_means_of_joints(void **state) {
    (void)state;
    static pelt_transform locals[2][64], mean[64];
    herd h;
    begin(&h, 1);
    pelt_crowd_instance a = animal(0, 0, 0.25f);
    a.layer_count = 3;
    a.layers[0].weight = 3;
    a.layers[1] = (pelt_crowd_layer){1, 0, 0, false}; /* without weight */
    a.layers[2] = (pelt_crowd_layer){1, 0, 1, false};
    run(&h, &a, 1);
    const pelt_model *model = h.models[0];
    pelt_motion_sample(model, &model->motions[0], 0.25f, locals[0], NULL);
    pelt_motion_sample(model, &model->motions[1], 0, locals[1], NULL);
    for (uint32_t j = 0; j < model->skeleton.joint_count; j++) {
        const pelt_transform *x = &locals[0][j], *y = &locals[1][j];
        float dot = 0;
        for (int c = 0; c < 4; c++)
            dot += x->rotation[c] * y->rotation[c];
        for (int c = 0; c < 4; c++)
            mean[j].rotation[c] = 0.75f * x->rotation[c] + (dot < 0 ? -0.25f : 0.25f) * y->rotation[c];
        px_quat_normalize(mean[j].rotation);
        for (int c = 0; c < 3; c++) {
            mean[j].translation[c] = 0.75f * x->translation[c] + 0.25f * y->translation[c];
            mean[j].scale[c] = 0.75f * x->scale[c] + 0.25f * y->scale[c];
        }
    }
    test_ok(&h.test, pelt_model_pose_locals(h.test.context, model, mean, NULL, PELT_SKINNING_LINEAR, want_positions,
                                            want_normals));
    assert_true(off_from_want(&h, &a) < 1e-5);
    a = (pelt_crowd_instance){.locals = mean, .world = px_affine_identity()};
    run(&h, &a, 1);
    assert_true(off_from_want(&h, &a) < 1e-5);
    end(&h);
}

/* Positions by the matrix, normals by its cofactors. */
static void the_world_moves_animals(void **state) {
    (void)state;
    static pelt_crowd_instance animals[2];
    herd h;
    size_t vertex_count;
    pelt_affine inverse = {0};
    begin(&h, 1);
    animals[0] = animals[1] = animal(0, 0, 0.3f);
    animals[1].world = (pelt_affine){{0, -2, 0, 5, 3, 0, 0, 6, 0, 0.5f, 1, 7}};
    assert_true(px_affine_inverse(&animals[1].world, &inverse) && px_affine_determinant(&animals[1].world) > 0);
    test_ok(&h.test, pelt_crowd_place(h.crowd, animals, 2, &vertex_count));
    run(&h, animals, 2);
    size_t count = h.models[0]->mesh.vertex_count, second = animals[1].first_vertex;
    for (size_t i = 0; i < count; i++) {
        const float *n = normals + 3 * i;
        float moved[3], turned[3];
        px_affine_point(&animals[1].world, positions + 3 * i, moved);
        assert_true(distance(positions + 3 * (second + i), moved, 1) < 2e-5);
        for (int c = 0; c < 3; c++)
            turned[c] = inverse.m[c] * n[0] + inverse.m[4 + c] * n[1] + inverse.m[8 + c] * n[2];
        double length = sqrt((double)px_dot3(turned, turned));
        for (int c = 0; c < 3; c++)
            turned[c] = (float)((double)turned[c] / length);
        assert_true(distance(normals + 3 * (second + i), turned, 1) < 1e-5);
    }
    end(&h);
}

/* As in pelt_skin_run: a singular world matrix leaves the rest normal. */
static void flat_worlds_keep_rest_normals(void **state) {
    (void)state;
    herd h;
    begin(&h, 1);
    pelt_crowd_destroy(h.crowd);
    float *rest = h.models[0]->mesh.normals;
    rest[0] = rest[1] = rest[2] = 0;
    rest[3] = -1, rest[4] = rest[5] = 0;
    make_crowd(&h, PELT_SKINNING_LINEAR);
    pelt_crowd_instance a = animal(0, 0, 0.5f);
    a.world = (pelt_affine){{0}};
    run(&h, &a, 1);
    assert_true(distance(normals, rest, h.models[0]->mesh.vertex_count) < 1e-6);
    a.world = px_affine_identity();
    run(&h, &a, 1);
    want_pose(&h, &a, PELT_SKINNING_LINEAR);
    assert_true(off_from_want(&h, &a) < 2e-6 && normals[0] == 0 && normals[1] == 0 && normals[2] == 0);
    end(&h);
}

/* ---- Layouts and threads ---------------------------------------------------------------------------------- */

/* Vertices that belong to no instance are not written, in any layout. */
static bool is_gap(size_t vertex) {
    return isnan(positions[3 * vertex]);
}

/* Strides in floats; in a vertex the position is at 1 and the normal at 4, except in packed layouts. */
static void layouts_hold_the_same(void **state) {
    (void)state;
    static pelt_crowd_instance animals[40];
    static const size_t strides[3] = {6, 8, 11};
    herd h;
    size_t vertex_count;
    begin(&h, 1);
    mixed(&h, animals, 40, &vertex_count);
    run(&h, animals, 40);
    float *buffer = malloc(11 * (vertex_count + 1) * sizeof *buffer);
    for (int s = 0; s < 3; s++) {
        size_t stride = strides[s], at = stride == 6 ? 0 : 1, floats = stride * vertex_count;
        for (size_t e = 0; e < floats; e++)
            buffer[e] = -77;
        pelt_crowd_output output = {buffer + at, buffer + at + 3, stride * sizeof(float), vertex_count};
        test_ok(&h.test, pelt_crowd_frame(h.crowd, animals, 40, &output));
        for (size_t i = 0; i < vertex_count; i++) {
            const float *vertex = buffer + i * stride;
            for (size_t e = 0; e < stride; e++)
                assert_true((e >= at && e < at + 6 && !is_gap(i)) || vertex[e] == -77);
            assert_true(is_gap(i) || (memcmp(vertex + at, positions + 3 * i, 12) == 0 &&
                                      memcmp(vertex + at + 3, normals + 3 * i, 12) == 0));
        }
    }
    pelt_crowd_output output = {buffer, NULL, 0, vertex_count};
    test_ok(&h.test, pelt_crowd_frame(h.crowd, animals, 40, &output));
    for (size_t i = 0; i < vertex_count; i++)
        assert_true(is_gap(i) || memcmp(buffer + 3 * i, positions + 3 * i, 12) == 0);
    free(buffer);
    end(&h);
}

static void threads_change_nothing(void **state) {
    (void)state;
    static pelt_crowd_instance animals[64];
    float *first = NULL;
    for (uint32_t threads = 1; threads <= 5; threads += 2) {
        herd h;
        size_t vertex_count;
        begin(&h, threads);
        mixed(&h, animals, 64, &vertex_count);
        run(&h, animals, 64);
        if (!first) {
            first = malloc(6 * vertex_count * sizeof *first);
            memcpy(first, positions, 3 * vertex_count * sizeof *first);
            memcpy(first + 3 * vertex_count, normals, 3 * vertex_count * sizeof *first);
        }
        assert_memory_equal(first, positions, 3 * vertex_count * sizeof *first);
        assert_memory_equal(first + 3 * vertex_count, normals, 3 * vertex_count * sizeof *first);
        end(&h);
    }
    free(first);
}

/* A frame written with non-temporal stores equals its instances one by one. */
static void large_frames_are_the_same(void **state) {
    (void)state;
    herd h;
    size_t vertex_count;
    uint32_t count = 900;
    pelt_crowd_instance *animals = malloc(count * sizeof *animals);
    begin(&h, 2);
    mixed(&h, animals, count, &vertex_count);
    assert_true(24 * vertex_count > (size_t)8 << 20 && vertex_count <= FRAME);
    run(&h, animals, count);
    for (uint32_t i = 0; i < count; i += 7) {
        pelt_crowd_output output = {want_positions, want_normals, 0, MOST};
        pelt_crowd_instance alone = animals[i];
        alone.first_vertex = 0;
        test_ok(&h.test, pelt_crowd_frame(h.crowd, &alone, 1, &output));
        assert_true(off_from_want(&h, &animals[i]) == 0);
    }
    free(animals);
    end(&h);
}

static void begin_morphs(herd *h, uint32_t skinning) {
    test_begin(&h->test, 1);
    for (uint32_t l = 0; l < 2; l++) {
        h->models[l] = make_animal(h->test.context, "arm", l ? 300 : 900);
        add_morphs(h->test.context, h->models[l]);
    }
    h->models[1]->morphs.morph_count = h->models[1]->driver_count = 0; /* the coarse level has no morphs */
    make_crowd(h, skinning);
}

/* Gathers and skins a stage, `body->lanes` instances at a time. weights [lane] are those of the first morph. */
static void fill_stages(const px_crowd_body *body, px_crowd_job job, const float *weights,
                        float stages[PX_CROWD_LANES][6 * PX_CROWD_STAGE]) {
    static float palette[(64 * 20 + 24) * PX_CROWD_LANES];
    const px_crowd_pose *poses = job.poses;
    float lane_weights[2 * PX_CROWD_LANES] = {0};
    memset(stages, 0, PX_CROWD_LANES * sizeof stages[0]);
    job.palette = palette;
    job.weights = lane_weights;
    for (uint32_t v = 0; v < PX_CROWD_LANES; v += body->lanes) {
        job.poses = poses + v;
        memcpy(lane_weights, weights + v, body->lanes * sizeof *weights);
        body->gather(&job);
        body->skin(&job, 3, PX_CROWD_STAGE / 4, stages[v]);
    }
}

/* Bodies with and without fused multiply-adds: each kind has the same bits, and both are near to each other. */
static void check_bodies(const px_crowd_job *job, const float *weights) {
    static float stages[2][PX_CROWD_LANES][6 * PX_CROWD_STAGE];
    const px_crowd_body *before = &px_crowd_one;
    for (pelt_simd simd = PELT_SIMD_SCALAR; simd < PELT_SIMD_COUNT; simd++) {
        if (!pelt_simd_available(simd))
            continue;
        const px_crowd_body *body = px_crowd_body_of(simd);
        fill_stages(before, *job, weights, stages[0]);
        fill_stages(body, *job, weights, stages[1]);
        if (body->lanes != 8) /* the first with fused multiply-adds */
            assert_memory_equal(stages[0], stages[1], sizeof stages[0]);
        else
            assert_true(distance(stages[0][0], stages[1][0], sizeof stages[0] / 12) < 4e-6);
        before = body;
    }
}

static void bodies_agree(void **state) {
    (void)state;
    pelt_affine worlds[PX_CROWD_LANES];
    px_crowd_pose poses[PX_CROWD_LANES];
    float weights[PX_CROWD_LANES];
    for (int kind = 0; kind < 6; kind++) {
        herd h;
        begin_morphs(&h, kind < 2 ? PELT_SKINNING_LINEAR : PELT_SKINNING_DUAL_QUATERNION);
        const px_crowd_level *level = &h.crowd->characters[0].levels[0];
        size_t size = level->model->skin.bone_count * px_crowd_width(level);
        for (uint32_t v = 0; v < PX_CROWD_LANES; v++) {
            worlds[v] = px_affine_identity();
            worlds[v].m[1] = 0.125f * (float)v;
            weights[v] = 0.0625f * (float)v;
            poses[v] = (px_crowd_pose){.palette = {level->palettes[0] + v * size, level->palettes[1] + v * size},
                                       .share = {0.7f, 0.3f},
                                       .world = &worlds[v]};
        }
        px_crowd_job job = {.level = level, .stretched = kind / 2 == 2, .morphed = kind % 2, .poses = poses};
        for (job.layout = PX_CROWD_POSITIONS; job.layout <= PX_CROWD_INTERLEAVED; job.layout++)
            check_bodies(&job, weights);
        end(&h);
    }
}

/* ---- Morphs, drivers, dual quaternions -------------------------------------------------------------------- */

/* Packed morphs are off by 1/65534 of the largest. */
static void morphs_follow_tracks(void **state) {
    (void)state;
    for (uint32_t skinning = 0; skinning < 2; skinning++) {
        herd h;
        begin_morphs(&h, skinning);
        for (uint32_t level = 0; level < 2; level++) {
            pelt_crowd_instance a = animal(level, 0, 0.75f);
            run(&h, &a, 1);
            want_pose(&h, &a, (pelt_skinning)skinning);
            assert_true(off_from_want(&h, &a) < 5e-5);
            a.layer_count = 0;
            run(&h, &a, 1);
            want_pose(&h, &a, (pelt_skinning)skinning);
            assert_true(off_from_want(&h, &a) < 5e-5);
        }
        end(&h);
    }
}

/* Without a weight track, drivers set the weights from the pose: in motion 1, in blends and in poses of the caller. */
static void driven_morphs_follow_the_pose(void **state) {
    (void)state;
    herd h;
    begin_morphs(&h, PELT_SKINNING_LINEAR);
    const pelt_model *model = h.models[0];
    pelt_transform locals[8];
    float weights[2];
    for (int way = 0; way < 3; way++) {
        pelt_crowd_instance a = animal(0, 1, 0);
        if (way == 1) /* a blend of two equal halves */
            a.layers[a.layer_count++] = a.layers[0];
        if (way == 2)
            a.locals = locals;
        pelt_motion_sample(model, &model->motions[1], 0, locals, weights);
        pelt_pose_weights(model, locals, weights);
        assert_true(weights[0] == 0.5f && weights[1] != 0.5f);
        run(&h, &a, 1);
        test_ok(&h.test, pelt_model_pose_locals(h.test.context, model, locals, weights, PELT_SKINNING_LINEAR,
                                                want_positions, want_normals));
        assert_true(off_from_want(&h, &a) < 5e-5);
    }
    end(&h);
}

/* Results equal those of pelt_model_pose, and are twice as large in a world that scales by 2. */
static void dual_quaternions_are_poses(void **state) {
    (void)state;
    static pelt_crowd_instance animals[12];
    herd h;
    size_t vertex_count;
    begin(&h, 1);
    pelt_crowd_destroy(h.crowd);
    make_crowd(&h, PELT_SKINNING_DUAL_QUATERNION);
    for (uint32_t i = 0; i < 12; i++)
        animals[i] = animal(i % 2, 0, (float)i * 0.125f);
    test_ok(&h.test, pelt_crowd_place(h.crowd, animals, 12, &vertex_count));
    run(&h, animals, 12);
    for (uint32_t i = 0; i < 12; i++) {
        want_pose(&h, &animals[i], PELT_SKINNING_DUAL_QUATERNION);
        assert_true(off_from_want(&h, &animals[i]) < 2e-6);
    }
    animals[0].world = (pelt_affine){{2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0}};
    run(&h, animals, 1);
    want_pose(&h, &animals[0], PELT_SKINNING_DUAL_QUATERNION);
    for (uint32_t e = 0; e < 3 * h.models[0]->mesh.vertex_count; e++)
        want_positions[e] *= 2;
    assert_true(off_from_want(&h, &animals[0]) < 1e-5);
    end(&h);
}

/* Every instance has the same bits alone and among others: with and without morphs, with bones that stretch and that do
 * not, in both kinds of skinning. */
static void batches_of_all_kinds_are_the_same(void **state) {
    (void)state;
    static pelt_crowd_instance animals[37];
    static pelt_transform locals[37][8];
    for (uint32_t skinning = 0; skinning < 2; skinning++) {
        herd h;
        size_t vertex_count;
        begin_morphs(&h, skinning);
        const pelt_model *model = h.models[0];
        for (uint32_t i = 0; i < 37; i++) {
            animals[i] = animal(i % 3 == 2, i % 2, (float)i * 0.11f);
            animals[i].world.m[3] = (float)i;
            if (i % 4)
                continue;
            float weights[2];
            pelt_motion_sample(model, &model->motions[1], 0, locals[i], weights);
            if (i % 8)
                locals[i][1].scale[1] = 1.5f;
            animals[i].locals = locals[i];
        }
        test_ok(&h.test, pelt_crowd_place(h.crowd, animals, 37, &vertex_count));
        run(&h, animals, 37);
        for (uint32_t i = 0; i < 37; i++) {
            pelt_crowd_output output = {want_positions, want_normals, 0, MOST};
            pelt_crowd_instance alone = animals[i];
            alone.first_vertex = 0;
            test_ok(&h.test, pelt_crowd_frame(h.crowd, &alone, 1, &output));
            assert_true(off_from_want(&h, &animals[i]) == 0);
        }
        end(&h);
    }
}

/* Poses of the caller with bones that stretch equal pelt_model_pose_locals. */
static void stretched_bones_are_poses(void **state) {
    (void)state;
    pelt_transform locals[8];
    float weights[2];
    herd h;
    begin_morphs(&h, PELT_SKINNING_DUAL_QUATERNION);
    const pelt_model *model = h.models[0];
    pelt_motion_sample(model, &model->motions[1], 0, locals, weights);
    locals[1].scale[1] = 1.5f, locals[1].scale[2] = 0.75f;
    pelt_pose_weights(model, locals, weights);
    pelt_crowd_instance a = animal(0, 0, 0);
    a.locals = locals;
    run(&h, &a, 1);
    test_ok(&h.test, pelt_model_pose_locals(h.test.context, model, locals, weights, PELT_SKINNING_DUAL_QUATERNION,
                                            want_positions, want_normals));
    assert_true(off_from_want(&h, &a) < 5e-5);
    end(&h);
}

/* A level whose skin has its bones in another order. */
static void levels_may_have_other_bones(void **state) {
    (void)state;
    herd h;
    begin(&h, 1);
    pelt_crowd_destroy(h.crowd);
    pelt_skin *skin = &h.models[1]->skin;
    uint32_t joint = skin->bone_joints[0], last = skin->bone_count - 1;
    pelt_affine bind = skin->inverse_binds[0];
    skin->bone_joints[0] = skin->bone_joints[last], skin->inverse_binds[0] = skin->inverse_binds[last];
    skin->bone_joints[last] = joint, skin->inverse_binds[last] = bind;
    make_crowd(&h, PELT_SKINNING_LINEAR);
    for (uint32_t level = 0; level < 2; level++) {
        pelt_crowd_instance a = animal(level, 0, 0.5f);
        run(&h, &a, 1);
        want_pose(&h, &a, PELT_SKINNING_LINEAR);
        assert_true(off_from_want(&h, &a) < 2e-6);
    }
    end(&h);
}

/* ---- Memory ----------------------------------------------------------------------------------------------- */

static void frames_allocate_nothing(void **state) {
    (void)state;
    static pelt_crowd_instance animals[65];
    herd h;
    size_t vertex_count;
    begin(&h, 2);
    mixed(&h, animals, 64, &vertex_count);
    uint64_t before = pelt_context_memory(h.test.context).count;
    for (int frame = 0; frame < 5; frame++) {
        for (uint32_t i = 0; i < 64; i++) {
            animals[i].layers[0].time += 0.04f;
            animals[i].level = (i + (uint32_t)frame) % 2;
        }
        test_ok(&h.test, pelt_crowd_place(h.crowd, animals, 64, &vertex_count));
        run(&h, animals, 64);
    }
    assert_int_equal(pelt_context_memory(h.test.context).count, before);
    animals[64] = animals[0]; /* more instances than reserved: allocates once, then no more */
    test_ok(&h.test, pelt_crowd_place(h.crowd, animals, 65, &vertex_count));
    run(&h, animals, 65);
    assert_true(pelt_context_memory(h.test.context).count > before);
    before = pelt_context_memory(h.test.context).count;
    for (int frame = 0; frame < 3; frame++) {
        animals[64].first_vertex = vertex_count; /* after all others: requires sorting */
        run(&h, animals, 65);
    }
    assert_int_equal(pelt_context_memory(h.test.context).count, before);
    end(&h);
}

static pelt_result create_once(pelt_context *context, void *user) {
    const pelt_crowd_character *character = user;
    pelt_crowd_desc desc = {PELT_DESC_COOKIE, .fps = FPS, .instance_count = 8};
    pelt_crowd *crowd;
    pelt_result result = pelt_crowd_create(context, character, 1, &desc, &crowd);
    assert_true((result == PELT_OK) == (crowd != NULL));
    pelt_crowd_destroy(crowd);
    return result;
}

static void crowds_survive_lack_of_memory(void **state) {
    (void)state;
    herd h;
    begin_morphs(&h, PELT_SKINNING_LINEAR);
    pelt_crowd_character character = {(const pelt_model *const *)h.models, 2};
    test_fail_each_allocation(2, create_once, &character);
    end(&h);
}

/* ---- Invalid input ---------------------------------------------------------------------------------------- */

static void crowds_are_of_one_rig(void **state) {
    (void)state;
    herd h;
    begin(&h, 1);
    pelt_context *context = h.test.context;
    pelt_crowd_character character = {(const pelt_model *const *)h.models, 2};
    pelt_crowd_desc desc = pelt_crowd_desc_default();
    pelt_crowd *crowd = h.crowd;
    desc.fps = 0;
    test_fails(&h.test, pelt_crowd_create(context, &character, 1, &desc, &crowd), PELT_ERROR_USAGE,
               "pelt_crowd_desc.fps is 0");
    assert_null(crowd);
    desc = (pelt_crowd_desc){PELT_DESC_COOKIE, .fps = 1e12};
    test_fails(&h.test, pelt_crowd_create(context, &character, 1, &desc, &crowd), PELT_ERROR_USAGE, "fps is 1e+12");
    desc = (pelt_crowd_desc){PELT_DESC_COOKIE, .fps = 30, .skinning = 2};
    test_fails(&h.test, pelt_crowd_create(context, &character, 1, &desc, &crowd), PELT_ERROR_USAGE,
               "pelt_crowd_desc.skinning is 2");
    h.models[1]->skeleton.joint_count--;
    test_fails(&h.test, pelt_crowd_create(context, &character, 1, NULL, &crowd), PELT_ERROR_USAGE, "joints of level 1");
    h.models[1]->skeleton.joint_count++;
    h.models[1]->morphs.morph_count = 1;
    test_fails(&h.test, pelt_crowd_create(context, &character, 1, NULL, &crowd), PELT_ERROR_USAGE,
               "level 1 has 1 morphs, level 0 has 0");
    h.models[1]->morphs.morph_count = 0;
    uint32_t bone_count = h.models[0]->skin.bone_count;
    h.models[0]->skin.bone_count = 0;
    test_fails(&h.test, pelt_crowd_create(context, &character, 1, NULL, &crowd), PELT_ERROR_USAGE,
               "level 0 has no skin");
    h.models[0]->skin.bone_count = bone_count;
    character.level_count = 0;
    test_fails(&h.test, pelt_crowd_create(context, &character, 1, NULL, &crowd), PELT_ERROR_USAGE, "no levels");
    test_ok(&h.test, pelt_crowd_create(context, NULL, 0, NULL, &crowd));
    pelt_crowd_output output = {0};
    test_ok(&h.test, pelt_crowd_frame(crowd, NULL, 0, &output));
    pelt_crowd_destroy(crowd);
    end(&h);
}

/* Instance 1 is invalid: nothing is written, not even instance 0. */
static void refuse(herd *h, pelt_crowd_instance wrong, pelt_crowd_output output, const char *words) {
    pelt_crowd_instance animals[2] = {animal(0, 0, 0), wrong};
    positions[0] = -77;
    test_fails(&h->test, pelt_crowd_frame(h->crowd, animals, 2, &output), PELT_ERROR_USAGE, words);
    assert_true(positions[0] == -77);
}

static void wrong_instances_are_refused(void **state) {
    (void)state;
    herd h;
    begin(&h, 1);
    pelt_crowd_output output = {positions, normals, 0, FRAME};
    pelt_crowd_instance a = animal(0, 0, 0);
    a.character = 1;
    refuse(&h, a, output, "instance 1: there is no character 1, only 1");
    size_t vertex_count = 1;
    test_fails(&h.test, pelt_crowd_place(h.crowd, &a, 1, &vertex_count), PELT_ERROR_USAGE, "instance 0");
    assert_int_equal(vertex_count, 0);
    assert_int_equal(pelt_crowd_vertex_count(h.crowd, 1, 0), 0);
    assert_int_equal(pelt_crowd_vertex_count(h.crowd, 0, 1), h.models[1]->mesh.vertex_count);
    refuse(&h, animal(2, 0, 0), output, "no level 2");
    refuse(&h, animal(0, 2, 0), output, "layer 0: character 0 has no motion 2, only 2");
    refuse(&h, animal(0, 0, (float)INFINITY), output, "finite");
    a = animal(0, 0, 0);
    a.layers[0].weight = -1;
    refuse(&h, a, output, "weight -1");
    a.layers[0].weight = 0;
    refuse(&h, a, output, "sum to 0");
    a.layer_count = 5;
    refuse(&h, a, output, "5 layers; 4 are possible");
    a = animal(0, 0, 0);
    a.first_vertex = FRAME;
    refuse(&h, a, output, "do not fit");
    a.first_vertex = SIZE_MAX;
    refuse(&h, a, output, "do not fit");
    output.stride = 10;
    refuse(&h, animal(0, 0, 0), output, "a stride of 10 bytes");
    end(&h);
}

/* At any position and in any order: overlapping instances are rejected, adjacent ones are not. */
static void overlaps_are_refused(void **state) {
    (void)state;
    static pelt_crowd_instance animals[40];
    herd h;
    size_t vertex_count, at = 0;
    begin(&h, 2);
    mixed(&h, animals, 40, &vertex_count);
    for (uint32_t i = 0; i < 40; i++) { /* 0, 27, 14, 1, 28 …: close together */
        pelt_crowd_instance *a = &animals[i * 27 % 40];
        a->first_vertex = at;
        at += pelt_crowd_vertex_count(h.crowd, 0, a->level);
    }
    run(&h, animals, 40);
    assert_false(isnan(positions[3 * at - 1]));
    assert_true(isnan(positions[3 * at]));

    pelt_crowd_output output = {positions, normals, 0, FRAME};
    for (uint32_t i = 1; i < 40; i++) {
        char words[80];
        uint32_t before = (i - 1) * 27 % 40, which = i * 27 % 40;
        (void)snprintf(words, sizeof words, "instances %u and %u overlap", before, which);
        animals[which].first_vertex--;
        positions[0] = -77;
        test_fails(&h.test, pelt_crowd_frame(h.crowd, animals, 40, &output), PELT_ERROR_USAGE, words);
        assert_true(positions[0] == -77);
        animals[which].first_vertex++;
    }
    test_ok(&h.test, pelt_crowd_place(h.crowd, animals, 40, &vertex_count));
    animals[39].first_vertex = animals[4].first_vertex;
    test_fails(&h.test, pelt_crowd_frame(h.crowd, animals, 40, &output), PELT_ERROR_USAGE, "4 and 39 overlap");
    end(&h);
}

/* Layouts in which a normal overlaps a position: of the same instance, or of another. */
static void normals_do_not_overwrite_positions(void **state) {
    (void)state;
    static const char *const words = "normals of instance 0 would be written over positions of instance";
    herd h;
    begin(&h, 1);
    size_t count = h.models[0]->mesh.vertex_count;
    pelt_crowd_instance animals[2] = {animal(0, 0, 0), animal(0, 0, 0.5f)};
    animals[1].first_vertex = 2 * count;
    size_t room = 4 * count;
    const struct {
        ptrdiff_t normals; /* offset from positions, in floats */
        size_t stride;
        const char *words; /* NULL: nothing overlaps */
    } cases[] = {
        {0, 0, words},
        {3, 0, words},
        {3, 24, NULL},
        {2, 24, words},
        {4, 24, words},
        {4, 28, NULL},
        {5, 28, words},
        {(ptrdiff_t)(3 * count), 0, NULL}, /* each instance has its normals right after its positions */
        {(ptrdiff_t)(3 * count) - 1, 0, words},
        {(ptrdiff_t)(3 * count) + 1, 0, words}, /* of instance 1 */
        {(ptrdiff_t)(3 * room), 0, NULL},
        {-(ptrdiff_t)(3 * room), 0, NULL},
        {-(ptrdiff_t)(3 * count), 0, NULL},
        {1 - (ptrdiff_t)(3 * count), 0, words},
    };
    float *middle = positions + 3 * FRAME / 2;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        pelt_crowd_output output = {middle, middle + cases[c].normals, cases[c].stride, room};
        pelt_result result = pelt_crowd_frame(h.crowd, animals, 2, &output);
        if (cases[c].words)
            test_fails(&h.test, result, PELT_ERROR_USAGE, cases[c].words);
        else
            test_ok(&h.test, result);
    }
    end(&h);
}

static void normals_must_be_there(void **state) {
    (void)state;
    herd h;
    begin(&h, 1);
    pelt_crowd_destroy(h.crowd);
    h.models[1]->mesh.normals = NULL;
    make_crowd(&h, PELT_SKINNING_LINEAR);
    pelt_crowd_output output = {positions, normals, 0, FRAME};
    refuse(&h, animal(1, 0, 0), output, "character 0 has none at level 1");
    pelt_crowd_instance a = animal(1, 0, 0.5f);
    output.normals = NULL;
    test_ok(&h.test, pelt_crowd_frame(h.crowd, &a, 1, &output));
    end(&h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_poses),          cmocka_unit_test(between_samples_poses_are_near),
        cmocka_unit_test(loops_begin_anew),           cmocka_unit_test(blends_are_means_of_joints),
        cmocka_unit_test(the_world_moves_animals),    cmocka_unit_test(flat_worlds_keep_rest_normals),
        cmocka_unit_test(layouts_hold_the_same),      cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(large_frames_are_the_same),  cmocka_unit_test(bodies_agree),
        cmocka_unit_test(morphs_follow_tracks),       cmocka_unit_test(driven_morphs_follow_the_pose),
        cmocka_unit_test(dual_quaternions_are_poses), cmocka_unit_test(batches_of_all_kinds_are_the_same),
        cmocka_unit_test(stretched_bones_are_poses),  cmocka_unit_test(levels_may_have_other_bones),
        cmocka_unit_test(frames_allocate_nothing),    cmocka_unit_test(crowds_survive_lack_of_memory),
        cmocka_unit_test(crowds_are_of_one_rig),      cmocka_unit_test(wrong_instances_are_refused),
        cmocka_unit_test(overlaps_are_refused),       cmocka_unit_test(normals_do_not_overwrite_positions),
        cmocka_unit_test(normals_must_be_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
