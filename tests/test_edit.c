/* Edits of the rest pose: unmoved vertices keep their bytes, every frame follows the blended transforms, edits are
 * possible in any pose, seams stay closed, morphs are unchanged. */
#include "edit_scene.h"

/* ---- Morphs for scenes that have none --------------------------------------------------------------------- */

/* One morph of all vertices, driven by the first joint: a wave. */
static void add_morph(scene_test *t) {
    pelt_model *model = t->model;
    pelt_morph *morph = pelt_model_alloc(t->context, model, 1, sizeof *morph);
    float *shift = pelt_model_alloc(t->context, model, t->floats, sizeof *shift);
    pelt_track *tracks = pelt_model_alloc(t->context, model, model->motions[0].track_count + 1, sizeof *tracks);
    float *keys = pelt_model_alloc(t->context, model, 4, sizeof *keys);
    assert_true(morph && shift && tracks && keys);
    for (size_t n = 0; n < t->floats; n++)
        shift[n] = 0.05f * sinf(5 * t->before[n / 3 * 3] + (float)(n % 3));
    *morph = (pelt_morph){.name = "wave", .vertex_count = model->mesh.vertex_count, .weight = 0.5f, .positions = shift};
    model->morphs = (pelt_morph_set){1, morph};
    memcpy(tracks, model->motions[0].tracks, model->motions[0].track_count * sizeof *tracks);
    memcpy(keys, (float[4]){model->motions[0].start, model->motions[0].end, 0, 1}, 4 * sizeof *keys);
    tracks[model->motions[0].track_count++] =
        (pelt_track){0, PELT_PATH_WEIGHTS, PELT_INTERPOLATION_LINEAR, 1, 2, keys, keys + 2};
    model->motions[0].tracks = tracks;
    test_ok(&t->test, pelt_model_validate(t->context, model));
}

/* ---- Nothing moves ---------------------------------------------------------------------------------------- */

static void nothing_moves(void **state) {
    (void)state;
    static const char *const names[] = {"creature", "production", "morph"};
    for (size_t n = 0; n < PX_COUNT(names); n++) {
        scene_test t;
        begin(&t, names[n]);
        pelt_mesh was = t.model->mesh;
        pelt_edit_report report;
        const pelt_edit_desc poses[] = {{PELT_DESC_COOKIE, PELT_EDIT_AUTO, 0, 0},
                                        {PELT_DESC_COOKIE, PELT_EDIT_BIND, 0, 0},
                                        {PELT_DESC_COOKIE, PELT_EDIT_REST, 0, 0},
                                        {PELT_DESC_COOKIE, PELT_EDIT_MOTION, 0, 0.1f}};
        for (size_t p = 0; p < PX_COUNT(poses); p++) {
            memcpy(t.wanted, t.before, t.floats * sizeof(float));
            if (poses[p].pose >= PELT_EDIT_REST)
                pose(&t, poses[p].pose == PELT_EDIT_MOTION ? t.model->motions : NULL, poses[p].time, t.wanted);
            test_ok(&t.test, pelt_edit_positions(t.context, t.model, t.wanted, &poses[p], &report));
            assert_int_equal(report.pose, p ? poses[p].pose : PELT_EDIT_BIND);
            assert_true(report.vertex_count == t.model->mesh.weld.count && report.moved_count == 0);
            assert_true(report.turned_count == 0 && report.torn_count == 0 && report.distance_max == 0);
            assert_true(report.missed_max == 0 && report.ill_conditioned == 0);
        }
        assert_int_equal(t.model->changed & PELT_CHANGED_POSITIONS, 0);
        assert_ptr_equal(t.model->mesh.positions, was.positions);
        assert_ptr_equal(t.model->mesh.normals, was.normals);
        assert_memory_equal(was.positions, t.before, t.floats * sizeof(float));
        end(&t);
    }
}

/* ---- Every frame ------------------------------------------------------------------------------------------ */

/* Reference evaluation of the skinning formula with these rest positions. */
static void evaluate(const pelt_model *model, const float *rest, float time, double *out) {
    pelt_transform *locals = calloc(model->skeleton.joint_count, sizeof *locals);
    pelt_affine *globals = calloc(model->skeleton.joint_count, sizeof *globals);
    pelt_affine *palette = calloc(model->skin.bone_count + 1, sizeof *palette);
    float *weights = calloc(model->morphs.morph_count + 1, sizeof *weights);
    assert_true(locals && globals && palette && weights);
    pelt_motion_sample(model, &model->motions[0], time, locals, weights);
    pelt_skeleton_globals(&model->skeleton, locals, globals);
    pelt_skin_palette(&model->skin, globals, palette);
    size_t K = model->skin.influence_count;
    for (uint32_t i = 0; i < model->mesh.vertex_count; i++) {
        double v[3] = {rest[3 * i], rest[3 * i + 1], rest[3 * i + 2]};
        for (uint32_t m = 0; m < model->morphs.morph_count; m++) {
            const pelt_morph *morph = &model->morphs.morphs[m];
            for (int a = 0; a < 3; a++)
                if (i >= morph->first_vertex && i < morph->first_vertex + morph->vertex_count)
                    v[a] += (double)weights[m] * (double)morph->positions[3 * (i - morph->first_vertex) + a];
        }
        for (int a = 0; a < 3; a++) {
            out[3 * i + a] = model->skin.bone_count ? 0 : v[a];
            for (size_t k = 0; k < K && model->skin.bone_count; k++) {
                const float *row = palette[model->skin.bones[i * K + k]].m + 4 * a;
                out[3 * i + a] +=
                    (double)model->skin.weights[i * K + k] *
                    ((double)row[0] * v[0] + (double)row[1] * v[1] + (double)row[2] * v[2] + (double)row[3]);
            }
        }
    }
    free(weights), free(palette), free(globals), free(locals);
}

/* All frames of the edited model equal the formula with the edited rest pose. */
static void check_frames(scene_test *t, const float *rest) {
    double *expected = malloc(t->floats * sizeof *expected);
    assert_non_null(expected);
    for (uint32_t k = 0; k < FRAMES; k++) {
        float time = frame_time(t->model, k);
        evaluate(t->model, rest, time, expected);
        pose(t, &t->model->motions[0], time, t->after);
        for (size_t n = 0; n < t->floats; n++)
            assert_float_equal(t->after[n], expected[n], 2e-5);
    }
    free(expected);
}

static void edits_reach_every_frame(void **state) {
    (void)state;
    static const struct {
        const char *name;
        bool morph;
    } cases[] = {{"creature", false}, {"creature", true}, {"production", false}, {"morph", false}};
    for (size_t n = 0; n < PX_COUNT(cases); n++) {
        scene_test t;
        begin(&t, cases[n].name);
        if (cases[n].morph)
            add_morph(&t);
        pelt_morph_set morphs = t.model->morphs;
        pelt_skin skin = t.model->skin;
        bump(&t, t.before);
        pelt_edit_report report;
        test_ok(&t.test, pelt_edit_positions(t.context, t.model, t.wanted, NULL, &report));
        test_ok(&t.test, pelt_model_validate(t.context, t.model));
        assert_int_equal(report.pose, PELT_EDIT_BIND);
        assert_memory_equal(t.model->mesh.positions, t.wanted, t.floats * sizeof(float));
        assert_in_range(report.moved_count, report.vertex_count / 10, report.vertex_count - 1);
        assert_true(report.turned_count > report.moved_count && report.torn_count == 0);
        assert_true(report.distance_max > report.distance_mean && report.distance_mean > 0);
        assert_true(report.missed_max < 1e-6);
        assert_int_equal(t.model->changed, PELT_CHANGED_POSITIONS);
        assert_memory_equal(&t.model->morphs, &morphs, sizeof morphs);
        assert_memory_equal(&t.model->skin, &skin, sizeof skin);
        check_frames(&t, t.wanted);
        end(&t);
    }
}

/* ---- Other poses ------------------------------------------------------------------------------------------ */

/* An edit in a frame is exact in that frame, and follows the formula in all others. */
static void edits_in_a_frame(void **state) {
    (void)state;
    static const char *const names[] = {"creature", "production", "tube"};
    for (size_t n = 0; n < PX_COUNT(names); n++) {
        scene_test t;
        begin(&t, names[n]);
        if (n == 0)
            add_morph(&t);
        float time = frame_time(t.model, 4);
        pose(&t, &t.model->motions[0], time, t.after);
        bump(&t, t.after);
        pelt_edit_desc desc = {PELT_DESC_COOKIE, PELT_EDIT_MOTION, 0, time};
        pelt_edit_report report;
        test_ok(&t.test, pelt_edit_positions(t.context, t.model, t.wanted, &desc, &report));
        assert_true(report.moved_count > 20 && report.ill_conditioned == 0 && report.missed_max < 1e-4);
        pose(&t, &t.model->motions[0], time, t.after);
        for (size_t e = 0; e < t.floats; e++)
            assert_float_equal(t.after[e], t.wanted[e], 1e-4);
        check_frames(&t, t.model->mesh.positions);
        end(&t);
    }
}

/* When the rest pose of skeleton and morphs differs from the bind pose, the pose nearest to the edit is chosen. */
static void finds_the_pose(void **state) {
    (void)state;
    for (int in_rest = 0; in_rest < 2; in_rest++) {
        scene_test t;
        begin(&t, "creature");
        add_morph(&t);
        t.model->skeleton.rest[0].translation[0] += 3;
        t.model->skeleton.rest[0].scale[1] *= 2;
        pose(&t, NULL, 0, t.after);
        bump(&t, in_rest ? t.after : t.before);
        pelt_edit_report report;
        test_ok(&t.test, pelt_edit_positions(t.context, t.model, t.wanted, NULL, &report));
        assert_int_equal(report.pose, in_rest ? PELT_EDIT_REST : PELT_EDIT_BIND);
        if (in_rest)
            pose(&t, NULL, 0, t.after);
        else
            memcpy(t.after, t.model->mesh.positions, t.floats * sizeof(float));
        for (size_t e = 0; e < t.floats; e++)
            assert_float_equal(t.after[e], t.wanted[e], 1e-5);
        end(&t);
    }
}

/* A pose that flattens the mesh cannot be inverted: vertices are reported as ill-conditioned and stay bounded. A
 * mirrored pose can be inverted. */
static void flattened_and_mirrored(void **state) {
    (void)state;
    for (int mirrored = 0; mirrored < 2; mirrored++) {
        scene_test t;
        begin(&t, "creature");
        t.model->skeleton.rest[0].scale[1] = mirrored ? -1 : 1e-4f;
        pose(&t, NULL, 0, t.wanted);
        for (size_t e = 0; e < t.floats; e++)
            t.wanted[e] += 0.1f;
        pelt_edit_desc desc = {PELT_DESC_COOKIE, .pose = PELT_EDIT_REST};
        pelt_edit_report report;
        test_ok(&t.test, pelt_edit_positions(t.context, t.model, t.wanted, &desc, &report));
        assert_int_equal(report.moved_count, report.vertex_count);
        assert_int_equal(report.torn_count, 0);
        if (mirrored) {
            assert_true(report.ill_conditioned == 0 && report.missed_max < 1e-5);
            assert_float_equal(report.distance_mean, 0.1 * sqrt(3), 1e-4);
        } else {
            assert_int_equal(report.ill_conditioned, report.vertex_count);
            assert_true(report.missed_max > 0.05 && report.missed_max <= 0.1 * sqrt(3));
            assert_true(report.distance_max < 10 * 0.1 * sqrt(3)); /* singular values are clamped to a tenth */
        }
        end(&t);
    }
}

/* ---- Seams ------------------------------------------------------------------------------------------------ */

/* Only one vertex of a seam is moved, or its other vertices are unspecified. */
static void seams_stay_closed(void **state) {
    (void)state;
    scene_test t;
    begin(&t, "creature");
    test_ok(&t.test, pelt_model_weld(t.context, t.model));
    const pelt_mesh *mesh = &t.model->mesh;
    uint32_t a = 0, b = 0;
    for (b = 1; b < mesh->vertex_count && mesh->weld.of[b] != mesh->weld.of[a]; b++)
        if (b + 1 == mesh->vertex_count)
            b = ++a;
    assert_true(a < b && mesh->weld.of[a] == mesh->weld.of[b]);
    for (int told = 0; told < 2; told++) {
        memcpy(t.before, mesh->positions, t.floats * sizeof(float));
        memcpy(t.wanted, mesh->positions, t.floats * sizeof(float));
        t.wanted[3 * a] += 0.5f;
        if (!told)
            for (uint32_t i = 0; i < mesh->vertex_count; i++)
                t.wanted[3 * i] = i == a ? t.wanted[3 * i] : NAN;
        uint32_t sides = 0;
        for (uint32_t i = 0; i < mesh->vertex_count; i++)
            sides += mesh->weld.of[i] == mesh->weld.of[a];
        double distance = told ? 0.5 / sides : 0.5;
        pelt_edit_report report;
        test_ok(&t.test, pelt_edit_positions(t.context, t.model, t.wanted, NULL, &report));
        assert_int_equal(report.moved_count, 1);
        assert_int_equal(report.torn_count, told);
        assert_float_equal(report.distance_max, distance, 1e-6);
        assert_int_equal(mesh->weld.of[report.max_vertex], mesh->weld.of[a]);
        for (uint32_t i = 0; i < mesh->vertex_count; i++) /* as before, or together */
            assert_memory_equal(mesh->positions + 3 * (size_t)i,
                                mesh->weld.of[i] == mesh->weld.of[a] ? mesh->positions + 3 * (size_t)a
                                                                     : t.before + 3 * (size_t)i,
                                3 * sizeof(float));
    }
    end(&t);
}

/* ---- Distances -------------------------------------------------------------------------------------------- */

static void displaces_along_normals(void **state) {
    (void)state;
    scene_test t;
    begin(&t, "creature");
    const pelt_mesh *mesh = &t.model->mesh;
    test_ok(&t.test, pelt_model_weld(t.context, t.model));
    float *normals = malloc(t.floats * sizeof *normals), *distances = calloc(mesh->vertex_count, sizeof *distances);
    double *means = calloc(mesh->weld.count, sizeof *means);
    uint32_t *counts = calloc(mesh->weld.count, sizeof *counts);
    assert_true(normals && distances && means && counts);
    test_ok(&t.test, pelt_mesh_normals(t.context, mesh, NULL, normals));
    for (uint32_t i = 0; i < mesh->vertex_count; i++) {
        distances[i] = i % 5 == 0 ? NAN : 0.02f * (float)(i % 7);
        if (!isnan(distances[i])) {
            means[mesh->weld.of[i]] += (double)distances[i];
            counts[mesh->weld.of[i]]++;
        }
    }
    pelt_edit_report report;
    test_ok(&t.test, pelt_edit_displace(t.context, t.model, distances, NULL, &report));
    assert_true(report.pose == PELT_EDIT_BIND && report.torn_count == 0 && report.missed_max < 1e-9);
    for (uint32_t i = 0; i < mesh->vertex_count; i++)
        for (size_t a = 0; a < 3; a++) {
            double by = counts[mesh->weld.of[i]] ? means[mesh->weld.of[i]] / counts[mesh->weld.of[i]] : 0;
            assert_float_equal(mesh->positions[3 * i + a],
                               (double)t.before[3 * i + a] + by * (double)normals[3 * i + a], 1e-6);
        }
    free(counts), free(means), free(distances), free(normals);
    end(&t);
}

/* In a pose, along the normals of that pose. */
static void displaces_in_a_pose(void **state) {
    (void)state;
    scene_test t;
    begin(&t, "creature");
    const pelt_mesh *mesh = &t.model->mesh;
    float time = frame_time(t.model, 3), *normals = malloc(t.floats * sizeof *normals);
    float *distances = calloc(mesh->vertex_count, sizeof *distances);
    assert_true(normals && distances);
    for (uint32_t i = 0; i < mesh->vertex_count; i++)
        distances[i] = -0.03f;
    test_ok(&t.test, pelt_model_weld(t.context, t.model));
    pose(&t, t.model->motions, time, t.wanted);
    test_ok(&t.test, pelt_mesh_normals(t.context, mesh, t.wanted, normals));
    pelt_edit_desc desc = {PELT_DESC_COOKIE, PELT_EDIT_MOTION, 0, time};
    pelt_edit_report report;
    test_ok(&t.test, pelt_edit_displace(t.context, t.model, distances, &desc, &report));
    assert_int_equal(report.ill_conditioned, 0);
    pose(&t, t.model->motions, time, t.after);
    for (size_t e = 0; e < t.floats; e++)
        assert_float_equal(t.after[e], t.wanted[e] - 0.03f * normals[e], 1e-5);
    free(distances), free(normals);
    end(&t);
}

/* ---- Memory ----------------------------------------------------------------------------------- */

static pelt_result edit_all(pelt_context *context, void *user) {
    (void)user;
    pelt_model *model = NULL, *edited = NULL;
    pelt_result result = scene_find("tube")->make(context, &(scene_desc){100, 2, 1}, &model);
    if (result == PELT_OK)
        result = scene_find("tube")->make(context, &(scene_desc){100, 2, 1}, &edited);
    for (size_t n = 0; result == PELT_OK && n < 3 * (size_t)edited->mesh.vertex_count; n++)
        edited->mesh.positions[n] *= 1.1f;
    float distances[300] = {1};
    pelt_edit_desc desc = {PELT_DESC_COOKIE, PELT_EDIT_MOTION, 0, 0.01f};
    const float *was = model ? model->mesh.positions : NULL, *normals = model ? model->mesh.normals : NULL;
    if (result == PELT_OK) {
        assert_in_range(model->mesh.vertex_count, 1, 300);
        result = pelt_edit_mesh(context, model, edited, NULL, NULL, NULL);
        assert_true(result == PELT_OK || (model->mesh.positions == was && model->mesh.normals == normals));
    }
    if (result == PELT_OK)
        result = pelt_edit_displace(context, model, distances, &desc, NULL);
    pelt_model_destroy(edited);
    pelt_model_destroy(model);
    return result;
}

static void without_memory(void **state) {
    (void)state;
    test_fail_each_allocation(1, edit_all, NULL);
    test_fail_each_allocation(2, edit_all, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_moves),           cmocka_unit_test(edits_reach_every_frame),
        cmocka_unit_test(edits_in_a_frame),        cmocka_unit_test(finds_the_pose),
        cmocka_unit_test(flattened_and_mirrored),  cmocka_unit_test(seams_stay_closed),
        cmocka_unit_test(displaces_along_normals), cmocka_unit_test(displaces_in_a_pose),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
