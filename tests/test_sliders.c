/* Sliders as bones: recovers a constructed rig, keeps its budgets, is the same for any number of threads, plays what the
 * evaluator computes, survives a file, shares vertices with the bones of a skin, leaves the model as it was after a failure. */
#include "support.h"

#include "core/core.h"
#include "core/slider.h"
#include "scenes.h"

#include <math.h>

typedef struct subject {
    test_context test;
    pelt_context *context;
    pelt_model *source, *model;
    pelt_sliders_desc desc;
    pelt_sliders_report report;
    pelt_slider_error errors[64];
    double height;
} subject;

static void begin_scene(subject *s, uint32_t threads, uint32_t vertices, uint32_t sliders) {
    *s = (subject){.desc = pelt_sliders_desc_default()};
    s->context = test_begin(&s->test, threads);
    scene_desc desc = {.vertex_count = vertices, .frame_count = 12, .seed = 5};
    test_ok(&s->test, scene_face_make(s->context, &desc, sliders, &s->source));
}

static void run(subject *s) {
    test_ok(&s->test, pelt_model_borrow(s->context, s->source, &s->model));
    test_ok(&s->test, pelt_decompose_sliders(s->context, s->model, &s->desc, &s->report));
    test_ok(&s->test, pelt_model_validate(s->context, s->model));
    assert_in_range(s->report.slider_count, 1, PX_COUNT(s->errors));
    test_ok(&s->test, pelt_sliders_measure(s->context, s->source, s->model, s->errors, &s->height));
}

static void end(subject *s) {
    pelt_model_destroy(s->model);
    pelt_model_destroy(s->source);
    test_end(&s->test);
}

static double largest(const subject *s) {
    double most = 0;
    for (uint32_t n = 0; n < s->report.slider_count; n++)
        most = fmax(most, s->errors[n].largest);
    return most;
}

static double mean(const subject *s) {
    double sum = 0;
    for (uint32_t n = 0; n < s->report.slider_count; n++)
        sum += s->errors[n].mean / s->report.slider_count;
    return sum;
}

/* ---- A constructed rig ------------------------------------------------------------------------------------ */

#define SIDE    8u /* vertices along a patch */
#define PATCHES 6u
#define SLIDERS 5u

/* Curved patches apart from each other, on one joint. Slider s moves patches p with (p + s) % 3 == 0, each by a matrix of its
 * own: 10 pairs. */
static void make_rig(subject *s, uint32_t threads) {
    *s = (subject){.desc = pelt_sliders_desc_default()};
    s->desc.normals = 0; /* matrices of the rig do not turn normals as its triangles do */
    pelt_context *context = s->context = test_begin(&s->test, threads);
    test_ok(&s->test, pelt_model_create(context, &s->source));
    pelt_model *model = s->source;
    uint32_t N = SIDE * SIDE * PATCHES;
#define NEW(type, count) ((type *)pelt_model_alloc(context, model, count, sizeof(type)))
    pelt_mesh *mesh = &model->mesh;
    mesh->positions = NEW(float, 3 * N);
    mesh->triangles = NEW(uint32_t, 6 * N);
    mesh->parts = NEW(pelt_part, 1);
    model->skeleton = (pelt_skeleton){1, NEW(const char *, 1), NEW(uint32_t, 1), NEW(pelt_transform, 1)};
    model->skeleton.names[0] = "head";
    model->skeleton.parents[0] = PELT_NONE;
    model->skeleton.rest[0] = (pelt_transform){{0.5f, 1, 0}, {0, 0, 0, 1}, {2, 2, 2}};
    model->skin = (pelt_skin){1, 1, NEW(uint32_t, 1), NEW(pelt_affine, 1), NEW(uint16_t, N), NEW(float, N)};
    model->skin.inverse_binds[0] = (pelt_affine){{0.5f, 0, 0, 0.1f, 0, 0.5f, 0, 0, 0, 0, 0.5f, -0.2f}};
    model->morphs = (pelt_morph_set){SLIDERS, NEW(pelt_morph, SLIDERS)};
    for (uint32_t i = 0; i < N; i++) {
        uint32_t patch = i / (SIDE * SIDE), x = i % SIDE, y = i / SIDE % SIDE;
        float *p = mesh->positions + 3 * (size_t)i;
        p[0] = (float)x / SIDE + 2 * (float)(patch % 3);
        p[1] = (float)y / SIDE + 2 * (float)(patch / 3);
        p[2] = 0.1f * (float)(x * x + 2 * y) / SIDE;
        model->skin.weights[i] = 1;
        if (x + 1 < SIDE && y + 1 < SIDE) {
            const uint32_t corners[6] = {i, i + 1, i + SIDE, i + 1, i + SIDE + 1, i + SIDE};
            memcpy(mesh->triangles + 3 * (size_t)mesh->triangle_count, corners, sizeof corners);
            mesh->triangle_count += 2;
        }
    }
    mesh->vertex_count = mesh->points.count = N;
    mesh->polygon_count = mesh->triangle_count;
    mesh->part_count = 1;
    mesh->parts[0] = (pelt_part){.name = "face", .triangle_count = mesh->triangle_count, .vertex_count = N};
    test_random random = {7};
    for (uint32_t m = 0; m < SLIDERS; m++) {
        static const char *const names[SLIDERS] = {"a", "b", "c", "d", "e"};
        float *moves = NEW(float, 3 * N);
        for (uint32_t patch = 0; patch < PATCHES; patch++) {
            double matrix[12];
            for (int e = 0; e < 12; e++)
                matrix[e] = test_random_real(&random, -0.1, 0.1);
            for (uint32_t i = patch * SIDE * SIDE; (patch + m) % 3 == 0 && i < (patch + 1) * SIDE * SIDE; i++)
                for (size_t r = 0; r < 3; r++) {
                    const float *p = mesh->positions + 3 * (size_t)i;
                    moves[3 * i + r] = (float)(matrix[4 * r] * (double)p[0] + matrix[4 * r + 1] * (double)p[1] +
                                               matrix[4 * r + 2] * (double)p[2] + matrix[4 * r + 3]);
                }
        }
        model->morphs.morphs[m] = (pelt_morph){.name = names[m], .index = m, .vertex_count = N, .positions = moves};
    }
#undef NEW
    test_ok(&s->test, pelt_model_validate(context, model));
}

static void recovers_a_constructed_rig(void **state) {
    (void)state;
    subject s;
    make_rig(&s, 1);
    s.desc.bones = PATCHES + 1;
    s.desc.moves = 10;
    s.desc.influences = 1;
    run(&s);
    assert_int_equal(s.report.bone_count, PATCHES + 1);
    assert_int_equal(s.report.move_count, 10);
    assert_int_equal(s.model->morphs.morph_count, 0);
    print_message("largest error %.2g of the height\n", largest(&s) / s.height);
    assert_true(largest(&s) < 1e-4 * s.height);
    end(&s);
}

/* A transform less than there are: some slider must be wrong. */
static void budget_binds(void **state) {
    (void)state;
    subject s;
    make_rig(&s, 1);
    s.desc.bones = PATCHES + 1;
    s.desc.moves = 9;
    s.desc.influences = 1;
    run(&s);
    assert_int_equal(s.report.move_count, 9);
    assert_true(largest(&s) > 1e-3 * s.height);
    end(&s);
}

/* ---- Budgets ---------------------------------------------------------------------------------------------- */

static uint32_t most_bones(const pelt_model *model) {
    uint32_t most = 0;
    for (size_t i = 0; i < model->mesh.vertex_count; i++) {
        uint32_t count = 0;
        for (size_t k = 0; k < model->skin.influence_count; k++)
            count += model->skin.weights[i * model->skin.influence_count + k] > 0;
        most = count > most ? count : most;
    }
    return most;
}

static void keeps_budgets(void **state) {
    (void)state;
    subject s;
    begin_scene(&s, 2, 900, 12);
    s.desc.bones = 14;
    s.desc.moves = 60;
    s.desc.influences = 3;
    run(&s);
    assert_in_range(s.report.bone_count, 2, 14);
    assert_in_range(s.report.move_count, 12, 60);
    assert_in_range(most_bones(s.model), 1, 3);
    uint32_t moves = 0;
    for (uint32_t n = 0; n < s.model->sliders.slider_count; n++)
        moves += s.model->sliders.sliders[n].move_count;
    assert_int_equal(moves, s.report.move_count);
    double few = mean(&s);
    end(&s);
    begin_scene(&s, 2, 900, 12);
    s.desc.bones = 30;
    s.desc.moves = 300;
    run(&s);
    print_message("mean error with a larger budget: %.2f of that with a small one\n", mean(&s) / few);
    assert_true(mean(&s) < 0.75 * few);
    assert_true(mean(&s) < 1e-3 * s.height);
    end(&s);
}

static void keeps_morphs(void **state) {
    (void)state;
    subject s;
    begin_scene(&s, 2, 900, 12);
    s.desc.bones = 12;
    s.desc.morphs = 2;
    s.desc.keep = "jaw_left";
    run(&s);
    uint32_t kept = 0;
    for (uint32_t n = 0; n < s.report.slider_count; n++) {
        const pelt_slider *slider = &s.model->sliders.sliders[n];
        kept += s.report.kept[n];
        assert_int_equal(slider->morph_count, s.report.kept[n]);
        if (s.report.kept[n]) {
            assert_int_equal(slider->move_count, 0);
            assert_string_equal(s.model->morphs.morphs[slider->morphs[0]].name, slider->name);
            assert_true(s.errors[n].largest < 1e-6 * s.height);
        }
    }
    assert_int_equal(kept, 3);
    assert_int_equal(s.model->morphs.morph_count, 3);
    assert_true(s.report.kept[pelt_slider_find(&s.model->sliders, "jaw_left")]);
    end(&s);
}

/* ---- Playing ---------------------------------------------------------------------------------------------- */

/* Positions of the model with sliders at `values`. */
static void evaluate(const subject *s, const float *values, float *out) {
    test_ok(&s->test, pelt_model_pose_sliders(s->context, s->model, NULL, values, PELT_SKINNING_LINEAR, out, NULL));
}

static double distance(const float *a, const float *b, size_t count) {
    double most = 0;
    for (size_t e = 0; e < count; e++)
        most = fmax(most, fabs((double)a[e] - (double)b[e]));
    return most;
}

/* The motion of a slider, the baked motion and the evaluator agree; and the evaluator is linear. */
static void motions_play_sliders(void **state) {
    (void)state;
    subject s;
    begin_scene(&s, 2, 900, 10);
    s.desc.bones = 16;
    s.desc.morphs = 1;
    run(&s);
    size_t count = 3 * (size_t)s.model->mesh.vertex_count;
    float *played = malloc(count * sizeof *played), *wanted = malloc(count * sizeof *wanted), values[64], weights[64];
    assert_true(played && wanted);
    assert_int_equal(s.model->motion_count, 1 + s.report.slider_count);
    for (uint32_t n = 0; n < s.report.slider_count; n++) {
        const pelt_motion *motion = &s.model->motions[1 + n];
        assert_string_equal(motion->name, s.report.names[n]);
        assert_true(motion->start == 0 && motion->end == 1);
        for (int step = 0; step <= 4; step++) {
            float time = 0.25f * (float)step;
            for (uint32_t v = 0; v < s.report.slider_count; v++)
                values[v] = v == n ? time : 0;
            evaluate(&s, values, wanted);
            test_ok(&s.test, pelt_model_pose(s.context, s.model, motion, time, PELT_SKINNING_LINEAR, played, NULL));
            assert_true(distance(played, wanted, count) < 3e-4 * s.height);
        }
    }
    const pelt_motion *take = &s.model->motions[0];
    assert_string_equal(take->name, "take");
    for (int step = 0; step <= 4; step++) {
        float time = take->start + 0.25f * (float)step * (take->end - take->start);
        pelt_motion_sample(s.source, &s.source->motions[0], time, NULL, weights); /* one morph per slider, in order */
        evaluate(&s, weights, wanted);
        test_ok(&s.test, pelt_model_pose(s.context, s.model, take, time, PELT_SKINNING_LINEAR, played, NULL));
        assert_true(distance(played, wanted, count) < 1e-3 * s.height);
    }
    pelt_slider_error error;
    test_ok(&s.test,
            pelt_sliders_measure_motion(s.context, s.source, &s.source->motions[0], s.model, take, 30, &error));
    assert_true(error.largest > 0 && error.largest < 0.05 * s.height);
    free(played);
    free(wanted);
    end(&s);
}

/* Rest weights that are not 0: the rest pose and the evaluator show them. */
static void rest_weights_stay(void **state) {
    (void)state;
    subject s;
    make_rig(&s, 1);
    s.source->morphs.morphs[1].weight = 0.75f;
    s.desc.bones = PATCHES + 1;
    run(&s);
    assert_true(s.model->sliders.sliders[1].value == 0.75f);
    size_t count = 3 * (size_t)s.model->mesh.vertex_count;
    float wanted[3 * SIDE * SIDE * PATCHES], got[3 * SIDE * SIDE * PATCHES], values[SLIDERS] = {0, 0.75f, 0, 0, 0};
    test_ok(&s.test, pelt_model_pose(s.context, s.source, NULL, 0, PELT_SKINNING_LINEAR, wanted, NULL));
    test_ok(&s.test, pelt_model_pose(s.context, s.model, NULL, 0, PELT_SKINNING_LINEAR, got, NULL));
    assert_true(distance(wanted, got, count) < 1e-3 * s.height);
    evaluate(&s, values, wanted);
    assert_true(distance(wanted, got, count) < 1e-5 * s.height);
    end(&s);
}

/* A motion in which the sliders rest keeps its length. */
static void still_motions_stay(void **state) {
    (void)state;
    subject s;
    begin_scene(&s, 2, 900, 4);
    pelt_track *track = &s.source->motions[0].tracks[0];
    memset((void *)(uintptr_t)track->values, 0, (size_t)track->key_count * track->width * sizeof(float));
    s.desc.bones = 4;
    run(&s);
    const pelt_motion *take = &s.model->motions[0];
    assert_in_range(take->track_count, 1, 100);
    float last = take->tracks[0].times[take->tracks[0].key_count - 1];
    assert_true(last == s.source->motions[0].end);
    end(&s);
}

/* ---- Combinations ----------------------------------------------------------------------------------------- */

/* RMS error of a pose. */
static double pose_error(const subject *s, const float *values) {
    size_t count = 3 * (size_t)s->model->mesh.vertex_count;
    float *wanted = malloc(count * sizeof *wanted), *got = malloc(count * sizeof *got);
    assert_true(wanted && got);
    evaluate(s, values, got);
    test_ok(&s->test, pelt_model_pose_locals(s->context, s->source, s->source->skeleton.rest, values,
                                             PELT_SKINNING_LINEAR, wanted, NULL));
    double sum = 0;
    for (size_t e = 0; e < count; e++)
        sum += pow((double)got[e] - (double)wanted[e], 2);
    free(wanted);
    free(got);
    return sqrt(sum / (double)count);
}

static void poses_count(void **state) {
    (void)state;
    float poses[4][10];
    for (int p = 0; p < 4; p++) /* the same pose: counts four times */
        for (int v = 0; v < 10; v++)
            poses[p][v] = v % 2 ? 1.0f : 0.8f;
    double errors[2];
    for (int with = 0; with < 2; with++) {
        subject s;
        begin_scene(&s, 2, 900, 10);
        s.desc.bones = 10;
        s.desc.moves = 45;
        s.desc.pose_count = with ? 4 : 0;
        s.desc.poses = &poses[0][0];
        run(&s);
        assert_in_range(s.report.move_count, 1, 45);
        errors[with] = pose_error(&s, poses[0]);
        end(&s);
    }
    assert_true(errors[1] < 0.9 * errors[0]);
}

/* ---- Files, threads, failures ------------------------------------------------------------------------------ */

static void survives_a_file(void **state) {
    (void)state;
    subject s;
    begin_scene(&s, 2, 900, 10);
    s.desc.bones = 12;
    s.desc.morphs = 1;
    run(&s);
    char folder[1024], path[1100];
    test_folder(folder);
    snprintf(path, sizeof path, "%s/sliders.glb", folder);
    pelt_model *read;
    const char *paths = path;
    test_ok(&s.test, pelt_save(s.context, s.model, path, NULL));
    test_ok(&s.test, pelt_load(s.context, &paths, 1, NULL, &read));
    remove(path);
    rmdir(folder);
    assert_int_equal(s.test.warning_count, 0);
    const pelt_slider_set *a = &s.model->sliders, *b = &read->sliders;
    assert_int_equal(a->slider_count, b->slider_count);
    assert_int_equal(a->joint_count, b->joint_count);
    for (uint32_t n = 0; n < a->slider_count; n++) {
        const pelt_slider *x = &a->sliders[n], *y = &b->sliders[n];
        assert_string_equal(x->name, y->name);
        assert_int_equal(x->move_count, y->move_count);
        assert_memory_equal(x->moves, y->moves, x->move_count * sizeof *x->moves);
        assert_int_equal(x->morph_count, y->morph_count);
    }
    pelt_slider_error errors[64];
    double height;
    test_ok(&s.test, pelt_sliders_measure(s.context, s.source, read, errors, &height));
    for (uint32_t n = 0; n < a->slider_count; n++)
        assert_true(fabs(errors[n].largest - s.errors[n].largest) < 1e-5 * height);
    pelt_model_destroy(read);
    end(&s);
}

static void threads_do_not_matter(void **state) {
    (void)state;
    subject s[2];
    for (int n = 0; n < 2; n++) {
        begin_scene(&s[n], n ? 4 : 1, 1500, 10);
        s[n].desc.bones = 14;
        s[n].desc.fit_motions = true;
        run(&s[n]);
    }
    const pelt_model *a = s[0].model, *b = s[1].model;
    size_t weights = (size_t)a->mesh.vertex_count * a->skin.influence_count;
    assert_int_equal(a->skin.influence_count, b->skin.influence_count);
    assert_memory_equal(a->skin.weights, b->skin.weights, weights * sizeof(float));
    assert_memory_equal(a->skin.bones, b->skin.bones, weights * sizeof(uint16_t));
    for (uint32_t n = 0; n < a->sliders.slider_count; n++) {
        const pelt_slider *x = &a->sliders.sliders[n], *y = &b->sliders.sliders[n];
        assert_int_equal(x->move_count, y->move_count);
        assert_memory_equal(x->moves, y->moves, x->move_count * sizeof *x->moves);
    }
    end(&s[0]);
    end(&s[1]);
}

/* Half of the head follows a second bone: vertices keep their weights of the other bone. */
static void shares_skinned_vertices(void **state) {
    (void)state;
    subject s;
    begin_scene(&s, 2, 900, 8);
    pelt_model *model = s.source;
    uint32_t *joints = pelt_model_alloc(s.context, model, 2, sizeof *joints);
    pelt_affine *binds = pelt_model_alloc(s.context, model, 2, sizeof *binds);
    binds[0] = binds[1] = model->skin.inverse_binds[0];
    model->skin.bone_joints = joints;
    model->skin.inverse_binds = binds;
    model->skin.bone_count = 2;
    size_t K = model->skin.influence_count;
    for (size_t i = 0; i < model->mesh.vertex_count; i++)
        if (model->mesh.positions[3 * i + 1] < -0.2f) {
            model->skin.bones[i * K + 1] = 1;
            model->skin.weights[i * K] = 0.7f;
            model->skin.weights[i * K + 1] = 0.3f;
        }
    model->mesh.weld = (pelt_vertex_classes){0};
    s.desc.bones = 20;
    run(&s);
    assert_true(mean(&s) < 2e-3 * s.height);
    const pelt_skin *skin = &s.model->skin;
    for (size_t i = 0; i < s.model->mesh.vertex_count; i++) {
        double other = 0;
        for (size_t k = 0; k < skin->influence_count; k++)
            other += skin->bones[i * skin->influence_count + k] == 1
                         ? (double)skin->weights[i * skin->influence_count + k]
                         : 0;
        assert_true(fabs(other - (model->mesh.positions[3 * i + 1] < -0.2f ? 0.3 : 0)) < 1e-6);
    }
    end(&s);
}

static void bad_input_is_refused(void **state) {
    (void)state;
    subject s;
    make_rig(&s, 1);
    pelt_model *model = s.source;
    s.desc.keep = "a,nose";
    test_fails(&s.test, pelt_decompose_sliders(s.context, model, &s.desc, &s.report), PELT_ERROR_INPUT, "nose");
    s.desc.keep = NULL;
    s.desc.pose_count = 1;
    test_fails(&s.test, pelt_decompose_sliders(s.context, model, &s.desc, NULL), PELT_ERROR_USAGE, "poses");
    s.desc.pose_count = 0;
    s.desc.bones = 1;
    test_fails(&s.test, pelt_decompose_sliders(s.context, model, &s.desc, NULL), PELT_ERROR_INPUT, "too few");
    s.desc.bones = 0;
    assert_int_equal(model->morphs.morph_count, SLIDERS);
    assert_int_equal(model->skeleton.joint_count, 1);
    model->morphs.morph_count = 0;
    test_fails(&s.test, pelt_decompose_sliders(s.context, model, &s.desc, NULL), PELT_ERROR_INPUT, "morph targets");
    end(&s);
}

static void allocations_may_fail(void **state) {
    (void)state;
    for (uint64_t at = 1; at > 0; at += 1 + at / 12) {
        subject s;
        make_rig(&s, 1);
        s.desc.bones = 4;
        s.desc.morphs = 1;
        s.desc.fit_motions = true;
        s.desc.iterations = 2;
        uint64_t before = atomic_load(&s.test.allocations);
        atomic_store(&s.test.fail_at, before + at);
        pelt_result result = pelt_decompose_sliders(s.context, s.source, &s.desc, &s.report);
        atomic_store(&s.test.fail_at, 0);
        bool done = atomic_load(&s.test.allocations) < before + at;
        assert_int_equal(result, done ? PELT_OK : PELT_ERROR_MEMORY);
        assert_int_equal(s.source->morphs.morph_count, done ? 1 : SLIDERS);
        assert_int_equal(s.source->sliders.slider_count, done ? SLIDERS : 0);
        test_ok(&s.test, pelt_model_validate(s.context, s.source));
        end(&s);
        if (done)
            break;
    }
}

static void cancels(void **state) {
    (void)state;
    subject s;
    begin_scene(&s, 1, 900, 8);
    atomic_store(&s.test.cancel_at, 5);
    assert_int_equal(pelt_decompose_sliders(s.context, s.source, NULL, NULL), PELT_ERROR_CANCELLED);
    assert_int_equal(s.source->morphs.morph_count, 8);
    end(&s);
}

static void bad_sliders_are_invalid(void **state) {
    (void)state;
    subject s;
    make_rig(&s, 1);
    s.desc.bones = 3;
    run(&s);
    pelt_slider_set good = s.model->sliders;
    uint32_t joint = 0;
    pelt_slider_set *set = &s.model->sliders;
    set->joints = &joint; /* the base itself */
    set->joint_count = 1;
    test_fails(&s.test, pelt_model_validate(s.context, s.model), PELT_ERROR_INPUT, "not below its base");
    *set = good;
    set->rests = NULL;
    test_fails(&s.test, pelt_model_validate(s.context, s.model), PELT_ERROR_INPUT, "missing");
    *set = good;
    pelt_slider slider = good.sliders[0];
    slider.value = NAN;
    set->sliders = &slider;
    set->slider_count = 1;
    test_fails(&s.test, pelt_model_validate(s.context, s.model), PELT_ERROR_INPUT, "not finite");
    *set = good;
    end(&s);
}

/* The face of the data: the bars of docs/sliders.md, with a margin below them. */
static void real_face(void **state) {
    (void)state;
    char path[1024];
    test_data(path, "face-arkit/facecap.glb");
    if (!test_can_read(path))
        skip();
    subject s = {.desc = pelt_sliders_desc_default()};
    s.context = test_begin(&s.test, 2);
    const char *paths = path;
    test_ok(&s.test, pelt_load(s.context, &paths, 1, NULL, &s.source));
    run(&s);
    assert_in_range(s.report.bone_count, 2, 40);
    assert_in_range(s.report.move_count, 52, 1000);
    print_message("mean %.4f %%, largest %.3f %%\n", 100 * mean(&s) / s.height, 100 * largest(&s) / s.height);
    assert_true(mean(&s) < 0.0005 * s.height);
    assert_true(largest(&s) < 0.01 * s.height);
    pelt_slider_error clip;
    test_ok(&s.test, pelt_sliders_measure_motion(s.context, s.source, &s.source->motions[0], s.model,
                                                 &s.model->motions[0], 30, &clip));
    assert_true(clip.mean < 0.001 * s.height && clip.largest < 0.01 * s.height);
    end(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recovers_a_constructed_rig),
        cmocka_unit_test(budget_binds),
        cmocka_unit_test(keeps_budgets),
        cmocka_unit_test(keeps_morphs),
        cmocka_unit_test(motions_play_sliders),
        cmocka_unit_test(rest_weights_stay),
        cmocka_unit_test(still_motions_stay),
        cmocka_unit_test(poses_count),
        cmocka_unit_test(survives_a_file),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(shares_skinned_vertices),
        cmocka_unit_test(bad_input_is_refused),
        cmocka_unit_test(allocations_may_fail),
        cmocka_unit_test(cancels),
        cmocka_unit_test(bad_sliders_are_invalid),
        cmocka_unit_test(real_face),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
