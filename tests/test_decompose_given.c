/* Parts of the problem given by a rig: weights from its motion, transforms from its weights, refining, locks, helpers.
 */
#include "support.h"

#include <pelt/pelt.h>
#include <scenes.h>

#include <math.h>

/* A creature, and a copy of it with its walk as a clip; the copy is decomposed. */
typedef struct pair {
    test_context test;
    pelt_model *rig, *model;
    float *positions; /* of the clip, to be changed */
} pair;

static void begin(pair *p, uint32_t vertex_count, uint32_t frame_count) {
    test_begin(&p->test, 2);
    pelt_context *context = p->test.context;
    scene_desc desc = {vertex_count, frame_count, 1};
    test_ok(&p->test, scene_find("creature")->make(context, &desc, &p->rig));
    test_ok(&p->test, scene_find("creature")->make(context, &desc, &p->model));
    pelt_clip lazy, *clip = pelt_model_alloc(context, p->model, 1, sizeof *clip);
    test_ok(&p->test, pelt_clip_from_motion(context, p->rig, &p->rig->motions[0], 30, PELT_SKINNING_LINEAR, &lazy));
    size_t size = 3 * (size_t)lazy.point_count;
    p->positions = pelt_model_alloc(context, p->model, lazy.frame_count * size, sizeof(float));
    for (uint32_t k = 0; k < lazy.frame_count; k++)
        test_ok(&p->test, pelt_clip_read(context, &lazy, k, 0, lazy.point_count, p->positions + k * size));
    *clip = lazy;
    clip->positions = p->positions;
    clip->source = (pelt_clip_source){0};
    p->model->clips = clip;
    p->model->clip_count = 1;
}

static void end(pair *p) {
    pelt_model_destroy(p->model);
    pelt_model_destroy(p->rig);
    test_end(&p->test);
}

/* Vertices between two heights swell and shrink along their normals, which no bone of the rig can reproduce. */
static void bulge(pair *p) {
    const pelt_mesh *mesh = &p->rig->mesh;
    const pelt_clip *clip = &p->model->clips[0];
    for (uint32_t k = 0; k < clip->frame_count; k++)
        for (size_t i = 0; i < mesh->vertex_count; i++) {
            const float *at = mesh->positions + 3 * i;
            double d = hypot((double)at[1] - 1, (double)at[2] - 0.1);
            for (size_t c = 0; c < 3 && d < 0.4; c++)
                p->positions[((size_t)k * mesh->vertex_count + i) * 3 + c] +=
                    (float)(0.08 * sin(0.4 * k) * (1 - d / 0.4) * (double)mesh->normals[3 * i + c]);
        }
}

static pelt_decompose_desc given(const pair *p, bool motion, bool weights) {
    pelt_decompose_desc desc = pelt_decompose_desc_default();
    desc.rig = p->rig;
    desc.key_tolerance = 0;
    desc.given_motion = motion;
    desc.given_weights = weights;
    return desc;
}

/* Decomposes step by step: the error must never rise, and the result must be a valid model. */
static double decompose(pair *p, const pelt_decompose_desc *desc) {
    pelt_decomposer *d;
    test_ok(&p->test, pelt_decomposer_create(p->test.context, p->model, desc, &d));
    double error = pelt_decomposer_error(d);
    for (bool done = false; !done;) {
        test_ok(&p->test, pelt_decomposer_step(d, &done));
        assert_true(pelt_decomposer_error(d) <= error);
        error = pelt_decomposer_error(d);
    }
    pelt_decompose_report report;
    test_ok(&p->test, pelt_decomposer_finish(d, &report));
    pelt_decomposer_destroy(d);
    pelt_clip clip = p->model->clips[0];
    test_ok(&p->test, pelt_model_validate(p->test.context, p->model));
    pelt_clip played;
    test_ok(&p->test, pelt_clip_from_motion_at(p->test.context, p->model, &p->model->motions[0], clip.times,
                                               clip.frame_count, PELT_SKINNING_LINEAR, &played));
    pelt_difference difference;
    test_ok(&p->test, pelt_compare_clips(p->test.context, &clip, &played, NULL, &difference, NULL));
    if (fabs(difference.error_rms - report.error_fit) > 0.1 * report.error_fit + 1e-2) /* vertices are welded there */
        fail_msg("E_rms is %g, but the solver thought %g", difference.error_rms, report.error_fit);
    return difference.error_rms;
}

/* E_rms of the rig without changes. */
static double rig_error(pair *p) {
    pelt_clip played;
    const pelt_clip *clip = &p->model->clips[0];
    test_ok(&p->test, pelt_clip_from_motion_at(p->test.context, p->rig, &p->rig->motions[0], clip->times,
                                               clip->frame_count, PELT_SKINNING_LINEAR, &played));
    pelt_difference difference;
    test_ok(&p->test, pelt_compare_clips(p->test.context, clip, &played, NULL, &difference, NULL));
    return difference.error_rms;
}

static bool same_track(const pelt_track *a, const pelt_track *b) {
    return a->joint == b->joint && a->path == b->path && a->key_count == b->key_count &&
           memcmp(a->times, b->times, a->key_count * sizeof(float)) == 0 &&
           memcmp(a->values, b->values, (size_t)a->key_count * a->width * sizeof(float)) == 0;
}

/* The rig's joints and tracks come first, unchanged. */
static void assert_kept(const pair *p) {
    const pelt_model *rig = p->rig, *model = p->model;
    assert_true(model->skeleton.joint_count >= rig->skeleton.joint_count);
    for (uint32_t j = 0; j < rig->skeleton.joint_count; j++) {
        assert_string_equal(model->skeleton.names[j], rig->skeleton.names[j]);
        assert_int_equal(model->skeleton.parents[j], rig->skeleton.parents[j]);
        assert_memory_equal(&model->skeleton.rest[j], &rig->skeleton.rest[j], sizeof rig->skeleton.rest[j]);
    }
    assert_int_equal(model->motion_count, rig->motion_count);
    assert_true(model->motions[0].track_count >= rig->motions[0].track_count);
    for (uint32_t t = 0; t < rig->motions[0].track_count; t++)
        assert_true(same_track(&model->motions[0].tracks[t], &rig->motions[0].tracks[t]));
}

static float weight_of(const pelt_skin *skin, size_t i, uint32_t bone) {
    float sum = 0;
    for (size_t a = 0; a < skin->influence_count; a++)
        if (skin->bones[i * skin->influence_count + a] == bone)
            sum += skin->weights[i * skin->influence_count + a];
    return sum;
}

/* ---- One half given --------------------------------------------------------------------------------------- */

static void weights_from_motion(void **state) {
    (void)state;
    pair p;
    begin(&p, 1200, 40);
    pelt_decompose_desc desc = given(&p, true, false);
    double error = decompose(&p, &desc);
    pelt_weight_difference difference;
    test_ok(&p.test, pelt_compare_weights(p.test.context, p.rig, p.model, &difference));
    print_message("E_rms %g, weights differ by %g on average, %g at most\n", error, difference.l1_mean,
                  difference.l1_max);
    assert_true(error < 0.01);
    assert_true(difference.l1_max < 0.01);
    assert_int_equal(difference.unmatched_joints, 0);
    assert_kept(&p);
    assert_int_equal(p.model->skeleton.joint_count, p.rig->skeleton.joint_count);
    end(&p);
}

/* The model's own rig: only the skin changes. */
static void own_rig(void **state) {
    (void)state;
    pair p;
    begin(&p, 600, 20);
    pelt_decompose_desc desc = given(&p, true, false);
    desc.rig = p.model;
    const float *positions = p.model->mesh.positions;
    assert_true(decompose(&p, &desc) < 0.05); /* few vertices and frames: some weights are ambiguous */
    assert_int_equal(p.model->changed, PELT_CHANGED_SKIN);
    assert_ptr_equal(p.model->mesh.positions, positions);
    assert_kept(&p);
    end(&p);
}

/* The bones move although the animation does not: the solver must account for the error that this causes. */
static void still_clip(void **state) {
    (void)state;
    for (uint32_t kind = 0; kind < 4; kind++) {
        pair p;
        begin(&p, 300, 20);
        size_t size = 3 * (size_t)p.model->mesh.vertex_count;
        for (size_t k = 1; k < p.model->clips[0].frame_count; k++)
            memcpy(p.positions + k * size, p.positions, size * sizeof *p.positions);
        pelt_decompose_desc desc = given(&p, true, false);
        desc.transforms = kind;
        assert_true(decompose(&p, &desc) > 1);
        end(&p);
    }
}

static void transforms_from_weights(void **state) {
    (void)state;
    for (uint32_t kind = 0; kind < 4; kind++) {
        pair p;
        begin(&p, 600, 20);
        pelt_decompose_desc desc = given(&p, false, true);
        desc.transforms = kind;
        desc.iterations = 80;
        desc.tolerance = 0;
        double error = decompose(&p, &desc);
        print_message("kind %u: E_rms %g\n", kind, error);
        assert_true(error < (kind == PELT_TRANSFORMS_AFFINE ? 0.01 : 0.5));
        pelt_weight_difference difference;
        test_ok(&p.test, pelt_compare_weights(p.test.context, p.rig, p.model, &difference));
        assert_true(difference.l1_max == 0);
        end(&p);
    }
}

/* Zero weights between others are not influences. */
static void zero_weights(void **state) {
    (void)state;
    pair p;
    begin(&p, 300, 6);
    pelt_skin *skin = &p.rig->skin;
    uint32_t K = skin->influence_count;
    size_t count = p.rig->mesh.vertex_count;
    uint16_t *bones = pelt_model_alloc(p.test.context, p.rig, 2 * count * K, sizeof *bones);
    float *weights = pelt_model_alloc(p.test.context, p.rig, 2 * count * K, sizeof *weights);
    assert_true(bones && weights);
    for (size_t e = 0; e < count * K; e++) { /* each weight after a zero */
        bones[2 * e + 1] = skin->bones[e];
        weights[2 * e + 1] = skin->weights[e];
    }
    skin->bones = bones;
    skin->weights = weights;
    skin->influence_count = 2 * K;
    pelt_decompose_desc desc = given(&p, false, true);
    desc.iterations = 1;
    desc.influences = K;
    pelt_decompose_report report;
    test_ok(&p.test, pelt_decompose(p.test.context, p.model, &desc, &report));
    assert_int_equal(report.influence_count, K);
    end(&p);
}

/* Vertices in another order are matched by position. */
static void other_order(void **state) {
    (void)state;
    pair p;
    begin(&p, 600, 10);
    pelt_mesh *mesh = &p.rig->mesh;
    size_t N = mesh->vertex_count, K = p.rig->skin.influence_count;
    for (size_t i = 0; i < N / 2; i++)
        for (size_t c = 0; c < 8; c++) {
            size_t a = i, b = N - 1 - i;
            if (c < 3) {
                float swap = mesh->positions[3 * a + c];
                mesh->positions[3 * a + c] = mesh->positions[3 * b + c];
                mesh->positions[3 * b + c] = swap;
            }
            if (c < K) {
                float swap = p.rig->skin.weights[K * a + c];
                p.rig->skin.weights[K * a + c] = p.rig->skin.weights[K * b + c];
                p.rig->skin.weights[K * b + c] = swap;
                uint16_t bone = p.rig->skin.bones[K * a + c];
                p.rig->skin.bones[K * a + c] = p.rig->skin.bones[K * b + c];
                p.rig->skin.bones[K * b + c] = bone;
            }
        }
    pelt_decompose_desc desc = given(&p, false, true);
    assert_true(decompose(&p, &desc) < 0.01);
    for (uint32_t j = 0; j < p.rig->skin.bone_count; j++)
        for (size_t i = 0; i < N; i++)
            assert_true(weight_of(&p.model->skin, i, j) == weight_of(&p.rig->skin, N - 1 - i, j));
    end(&p);
}

/* ---- A start ---------------------------------------------------------------------------------------------- */

static void refined(void **state) {
    (void)state;
    for (uint32_t kind = 0; kind < 4; kind++) {
        pair p;
        begin(&p, 600, 20);
        pelt_decompose_desc desc = pelt_decompose_desc_default();
        desc.bones = p.rig->skin.bone_count;
        desc.transforms = kind;
        desc.iterations = 15;
        double from_scratch = decompose(&p, &desc);
        end(&p);
        begin(&p, 600, 20);
        test_random random = {1};
        for (size_t i = 0; i < p.rig->mesh.vertex_count; i++) { /* perturbs the two largest weights of a vertex */
            float *w = p.rig->skin.weights + i * p.rig->skin.influence_count;
            float moved = (float)test_random_real(&random, 0, 0.2) * w[0];
            w[0] -= moved;
            w[1] += moved;
        }
        desc = given(&p, true, true);
        desc.refine = true;
        desc.transforms = kind;
        desc.iterations = 15;
        double refined = decompose(&p, &desc);
        print_message("kind %u: E_rms %g from scratch, %g refined\n", kind, from_scratch, refined);
        assert_true(refined < 0.5 * from_scratch);
        assert_string_equal(p.model->skeleton.names[p.model->skin.bone_joints[3]], "chest");
        end(&p);
    }
}

static void one_half_refined(void **state) {
    (void)state;
    for (int half = 0; half < 2; half++) {
        pair p;
        begin(&p, 800, 20);
        bulge(&p);
        pelt_decompose_desc desc = given(&p, half == 0, half == 1);
        double held = decompose(&p, &desc);
        end(&p);
        begin(&p, 800, 20);
        bulge(&p);
        desc = given(&p, half == 0, half == 1);
        desc.refine = true;
        double refined = decompose(&p, &desc);
        print_message("E_rms %g held, %g refined\n", held, refined);
        assert_true(refined < 0.8 * held);
        end(&p);
    }
}

/* ---- Locks ------------------------------------------------------------------------------------------------ */

static void locked_bones(void **state) {
    (void)state;
    for (uint32_t kind = 0; kind < 4; kind++) {
        pair p;
        begin(&p, 800, 20);
        bulge(&p);
        pelt_decompose_desc desc = given(&p, true, true);
        desc.lock_bones = "head, spine.2\nchest";
        desc.transforms = kind;
        desc.iterations = 12;
        double before = rig_error(&p), error = decompose(&p, &desc);
        print_message("kind %u: E_rms %g, refined but for 3 bones %g\n", kind, before, error);
        assert_true(error < 0.5 * before);
        assert_kept(&p);
        uint32_t locked = 0, changed = 0;
        for (uint32_t j = 0; j < p.rig->skin.bone_count; j++) {
            const char *name = p.rig->skeleton.names[p.rig->skin.bone_joints[j]];
            bool lock = !strcmp(name, "head") || !strcmp(name, "spine.2") || !strcmp(name, "chest");
            assert_true(lock == (p.model->skin.bone_joints[j] == p.rig->skin.bone_joints[j]));
            locked += lock;
            for (size_t i = 0; i < p.rig->mesh.vertex_count; i++) {
                bool same = weight_of(&p.rig->skin, i, j) == weight_of(&p.model->skin, i, j);
                assert_true(same || !lock);
                changed += !same;
            }
            if (lock)
                assert_memory_equal(&p.model->skin.inverse_binds[j], &p.rig->skin.inverse_binds[j],
                                    sizeof(pelt_affine));
        }
        assert_int_equal(locked, 3);
        assert_true(changed > 0);
        end(&p);
    }
}

static void locked_vertices(void **state) {
    (void)state;
    pair p;
    begin(&p, 800, 20);
    bulge(&p);
    /* Makes every other triangle a part with its own name. */
    pelt_mesh *mesh = &p.model->mesh;
    pelt_part *parts = pelt_model_alloc(p.test.context, p.model, 2, sizeof *parts);
    parts[0] = parts[1] = mesh->parts[0];
    parts[0].name = "front", parts[1].name = "back";
    parts[0].first_vertex = parts[1].first_vertex = parts[0].vertex_count = parts[1].vertex_count = 0;
    parts[0].triangle_count = parts[1].first_triangle = mesh->triangle_count / 2;
    parts[1].triangle_count = mesh->triangle_count - parts[1].first_triangle;
    mesh->parts = parts, mesh->part_count = 2;
    pelt_decompose_desc desc = given(&p, true, true);
    desc.lock_vertices = "back";
    desc.iterations = 12;
    decompose(&p, &desc);
    uint8_t *locked = calloc(mesh->vertex_count, 1);
    for (size_t e = 3 * (size_t)parts[1].first_triangle; e < 3 * (size_t)mesh->triangle_count; e++)
        locked[mesh->triangles[e]] = 1;
    uint32_t changed = 0;
    for (size_t i = 0; i < mesh->vertex_count; i++)
        for (uint32_t j = 0; j < p.rig->skin.bone_count; j++) {
            bool same = weight_of(&p.rig->skin, i, j) == weight_of(&p.model->skin, i, j);
            assert_true(same || !locked[i]);
            changed += !same;
        }
    assert_true(changed > 0);
    free(locked);
    end(&p);
}

/* ---- Helper bones ----------------------------------------------------------------------------------------- */

static void helpers(void **state) {
    (void)state;
    for (uint32_t kind = 0; kind < 4; kind++) {
        pair p;
        begin(&p, 1000, 20);
        bulge(&p);
        double before = rig_error(&p);
        pelt_decompose_desc desc = given(&p, true, true);
        desc.add = 3;
        desc.influences = 6;
        desc.transforms = kind;
        double error = decompose(&p, &desc);
        print_message("kind %u: E_rms %g, with 3 helper bones %g\n", kind, before, error);
        assert_true(error < 0.7 * before);
        assert_kept(&p);
        const pelt_skin *rig = &p.rig->skin, *skin = &p.model->skin;
        assert_int_equal(skin->bone_count, rig->bone_count + 3);
        assert_memory_equal(skin->bone_joints, rig->bone_joints, rig->bone_count * sizeof(uint32_t));
        assert_memory_equal(skin->inverse_binds, rig->inverse_binds, rig->bone_count * sizeof(pelt_affine));
        assert_string_equal(p.model->skeleton.names[skin->bone_joints[rig->bone_count]], "helper_000");
        uint32_t helped = 0;
        for (size_t i = 0; i < p.rig->mesh.vertex_count; i++) {
            float help = 0;
            for (uint32_t h = 0; h < 3; h++)
                help += weight_of(skin, i, rig->bone_count + h);
            helped += help > 0;
            for (uint32_t j = 0; j < rig->bone_count; j++) {
                float was = weight_of(rig, i, j), now = weight_of(skin, i, j);
                assert_true(help > 0 ? fabsf(now - (1 - help) * was) < 1e-6f : now == was);
            }
        }
        assert_true(helped > 0 && helped < p.rig->mesh.vertex_count);
        end(&p);
    }
}

/* ---- Rest pose -------------------------------------------------------------------------------------------- */

static void rest_poses(void **state) {
    (void)state;
    pair p;
    begin(&p, 400, 10);
    pelt_decompose_desc desc = pelt_decompose_desc_default();
    desc.bones = 8;
    desc.iterations = 3;
    desc.fixed_rest = true;
    desc.rest_frame = 7;
    decompose(&p, &desc);
    const float *frame = p.positions + (size_t)7 * 3 * p.model->mesh.vertex_count;
    for (size_t e = 0; e < 3 * (size_t)p.model->mesh.vertex_count; e++)
        assert_true(fabsf(p.model->mesh.positions[e] - frame[e]) < 1e-5f);
    desc.rest_positions = p.rig->mesh.positions;
    decompose(&p, &desc);
    for (size_t e = 0; e < 3 * (size_t)p.model->mesh.vertex_count; e++)
        assert_true(fabsf(p.model->mesh.positions[e] - p.rig->mesh.positions[e]) < 1e-5f);
    desc.rest_frame = 10;
    test_fails(&p.test, pelt_decompose(p.test.context, p.model, &desc, NULL), PELT_ERROR_USAGE, "frame 10");
    end(&p);
}

/* ---- Mismatched input ------------------------------------------------------------------------------------- */

static void refuse(pair *p, const pelt_decompose_desc *desc, pelt_result result, const char *words) {
    test_fails(&p->test, pelt_decompose(p->test.context, p->model, desc, NULL), result, words);
}

static void refused(void **state) {
    (void)state;
    pair p;
    begin(&p, 400, 10);
    pelt_decompose_desc desc = given(&p, true, false);
    desc.lock_bones = "head";
    refuse(&p, &desc, PELT_ERROR_USAGE, "bones can be locked only");
    desc = given(&p, true, false);
    desc.lock_vertices = "creature";
    refuse(&p, &desc, PELT_ERROR_USAGE, "vertices can be locked only");
    desc = given(&p, false, false);
    refuse(&p, &desc, PELT_ERROR_USAGE, "neither its motion nor its weights");
    desc.rig = NULL;
    desc.refine = true;
    refuse(&p, &desc, PELT_ERROR_USAGE, "need a rig");
    desc = given(&p, true, true);
    desc.lock_bones = "head,nose";
    refuse(&p, &desc, PELT_ERROR_INPUT, "no bone 'nose'");
    desc.lock_bones = NULL;
    desc.lock_vertices = "hair";
    refuse(&p, &desc, PELT_ERROR_INPUT, "no part or material 'hair'");
    desc = given(&p, true, true);
    desc.transforms = PELT_TRANSFORMS_RIGID;
    desc.hierarchy = true;
    refuse(&p, &desc, PELT_ERROR_USAGE, "another hierarchy");
    desc = given(&p, true, false);
    p.rig->motions[0].end = 0.1f;
    refuse(&p, &desc, PELT_ERROR_INPUT, "runs from 0 to 0.1 seconds");
    p.rig->motion_count = 0;
    refuse(&p, &desc, PELT_ERROR_INPUT, "no motion for clip 'walk'");
    desc = given(&p, false, true);
    p.rig->mesh.vertex_count -= 5;
    refuse(&p, &desc, PELT_ERROR_INPUT, "are not those of the mesh");
    p.rig->mesh.vertex_count += 5;
    p.rig->skin.bone_count = 0;
    refuse(&p, &desc, PELT_ERROR_INPUT, "no bones");
    assert_int_equal(p.model->changed, 0);
    end(&p);
}

/* Failing allocations on every code path, on a small tube. */
static pelt_result run_tube(pelt_context *context, void *user) {
    const int *way = user;
    pelt_model *rig = NULL;
    scene_desc size = {24, 4, 1};
    pelt_clip *clip = NULL;
    pelt_result result = scene_find("tube")->make(context, &size, &rig);
    if (result == PELT_OK && !(clip = pelt_model_alloc(context, rig, 1, sizeof *clip)))
        result = PELT_ERROR_MEMORY;
    if (result == PELT_OK)
        result = pelt_clip_from_motion(context, rig, &rig->motions[0], 30, PELT_SKINNING_LINEAR, clip);
    if (result == PELT_OK) {
        rig->clips = clip;
        rig->clip_count = 1;
        pelt_decompose_desc desc = pelt_decompose_desc_default();
        desc.rig = rig;
        desc.given_motion = *way != 1;
        desc.given_weights = *way != 0;
        desc.add = *way == 2;
        desc.iterations = 2;
        result = pelt_decompose(context, rig, &desc, NULL);
    }
    pelt_model_destroy(rig);
    return result;
}

static void without_memory(void **state) {
    (void)state;
    for (int way = 0; way < 4; way++)
        test_fail_each_allocation(1, run_tube, &way);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_from_motion),
        cmocka_unit_test(own_rig),
        test_long(still_clip),
        test_long(transforms_from_weights),
        cmocka_unit_test(zero_weights),
        cmocka_unit_test(other_order),
        test_long(refined),
        test_long(one_half_refined),
        cmocka_unit_test(locked_bones),
        cmocka_unit_test(locked_vertices),
        test_long(helpers),
        cmocka_unit_test(rest_poses),
        cmocka_unit_test(refused),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
