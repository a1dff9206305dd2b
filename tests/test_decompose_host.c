/* Helper bones as children of rig bones, preserved data of the rig, and parts that join its skin. */
#include "core/math3.h"
#include "core/skin_parts.h"
#include "support.h"

#include <pelt/pelt.h>
#include <scenes.h>

#include <math.h>

#define SIZE 100.0f /* scale of the node above the skeleton */

static pelt_track *copy_tracks(pelt_context *context, pelt_model *model, uint32_t more) {
    pelt_motion *motion = &model->motions[0];
    pelt_track *tracks = pelt_model_alloc(context, model, (size_t)motion->track_count + more, sizeof *tracks);
    memcpy(tracks, motion->tracks, motion->track_count * sizeof *tracks);
    motion->tracks = tracks;
    return tracks;
}

/* Puts the skeleton below a node of this scale, as exporters that convert units do; a negative scale mirrors. Every
 * pose stays the same. */
static void put_below(pelt_context *context, pelt_model *model, float size) {
    pelt_skeleton *old = &model->skeleton, s = {.joint_count = old->joint_count + 1};
    s.names = pelt_model_alloc(context, model, s.joint_count, sizeof *s.names);
    s.parents = pelt_model_alloc(context, model, s.joint_count, sizeof *s.parents);
    s.rest = pelt_model_alloc(context, model, s.joint_count, sizeof *s.rest);
    s.names[0] = "Armature";
    s.parents[0] = PELT_NONE;
    s.rest[0] = (pelt_transform){{0}, {0, 0, 0, 1}, {size, size, size}};
    for (uint32_t j = 0; j < old->joint_count; j++) {
        s.names[j + 1] = old->names[j];
        s.parents[j + 1] = old->parents[j] == PELT_NONE ? 0 : old->parents[j] + 1;
        s.rest[j + 1] = old->rest[j];
        for (int c = 0; c < 3; c++)
            s.rest[j + 1].translation[c] /= size;
    }
    model->skeleton = s;
    for (uint32_t b = 0; b < model->skin.bone_count; b++) {
        model->skin.bone_joints[b]++;
        for (int e = 0; e < 12; e++)
            model->skin.inverse_binds[b].m[e] /= size;
    }
    for (uint32_t p = 0; p < model->mesh.part_count; p++)
        model->mesh.parts[p].joint += model->mesh.parts[p].joint != PELT_NONE;
    pelt_track *tracks = copy_tracks(context, model, 0);
    for (uint32_t t = 0; t < model->motions[0].track_count; t++) {
        size_t count = (size_t)tracks[t].key_count * tracks[t].width;
        float *values = pelt_model_alloc(context, model, count, sizeof *values);
        for (size_t e = 0; e < count; e++)
            values[e] = tracks[t].values[e] / (tracks[t].path == PELT_PATH_TRANSLATION ? size : 1);
        tracks[t].values = values;
        tracks[t].joint++;
    }
}

/* A morph target of all vertices, and a weight track from 0 to 1 and back. */
static void put_morph(pelt_context *context, pelt_model *model) {
    uint32_t count = model->mesh.vertex_count, joint = model->skeleton.joint_count - 1;
    float *offsets = pelt_model_alloc(context, model, 3 * (size_t)count, sizeof *offsets);
    float *times = pelt_model_alloc(context, model, 3, sizeof *times);
    float *values = pelt_model_alloc(context, model, 3, sizeof *values);
    pelt_morph *morph = pelt_model_alloc(context, model, 1, sizeof *morph);
    pelt_motion *motion = &model->motions[0];
    for (size_t i = 0; i < 3 * (size_t)count; i++)
        offsets[i] = model->mesh.positions[i - i % 3 + 1] > 1 ? 0.1f * model->mesh.normals[i] : 0;
    *morph = (pelt_morph){.name = "swell", .joint = joint, .vertex_count = count, .positions = offsets};
    model->morphs = (pelt_morph_set){1, morph};
    times[0] = motion->start, times[1] = 0.4f * motion->start + 0.6f * motion->end, times[2] = motion->end;
    values[1] = 1;
    pelt_track *tracks = copy_tracks(context, model, 1);
    tracks[motion->track_count++] =
        (pelt_track){.joint = joint, .path = PELT_PATH_WEIGHTS, .width = 1, .key_count = 3, times, values};
}

/* The motion as a clip in which vertices between two heights swell more than any bone can make them. */
static void put_clip(test_context *test, pelt_model *model) {
    pelt_context *context = test->context;
    pelt_clip lazy, *clip = pelt_model_alloc(context, model, 1, sizeof *clip);
    test_ok(test, pelt_clip_from_motion(context, model, &model->motions[0], 30, PELT_SKINNING_LINEAR, &lazy));
    size_t size = 3 * (size_t)lazy.point_count;
    float *positions = pelt_model_alloc(context, model, lazy.frame_count * size, sizeof *positions);
    for (uint32_t k = 0; k < lazy.frame_count; k++) {
        float *out = positions + k * size;
        test_ok(test, pelt_clip_read(context, &lazy, k, 0, lazy.point_count, out));
        for (size_t i = 0; i < size; i += 3) {
            const float *at = model->mesh.positions + i;
            double d = hypot((double)at[1] - 1, (double)at[2] - 0.1);
            for (size_t c = 0; c < 3 && d < 0.4; c++)
                out[i + c] += (float)(0.08 * sin(0.4 * k) * (1 - d / 0.4) * (double)model->mesh.normals[i + c]);
        }
    }
    *clip = lazy;
    clip->positions = positions;
    clip->source = (pelt_clip_source){0};
    model->clips = clip;
    model->clip_count = 1;
}

static pelt_model *make(test_context *test) {
    pelt_model *model;
    scene_desc desc = {700, 16, 1};
    test_ok(test, scene_find("creature")->make(test->context, &desc, &model));
    return model;
}

static double error_of(test_context *test, pelt_model *model) {
    pelt_clip played;
    pelt_difference difference;
    test_ok(test, pelt_clip_from_motion_at(test->context, model, &model->motions[0], model->clips[0].times,
                                           model->clips[0].frame_count, PELT_SKINNING_LINEAR, &played));
    test_ok(test, pelt_compare_clips(test->context, &model->clips[0], &played, NULL, &difference, NULL));
    return difference.error_rms;
}

static double add_bones(test_context *test, pelt_model *model, pelt_transforms kind) {
    pelt_decompose_desc desc = pelt_decompose_desc_default();
    desc.rig = model;
    desc.add = 3;
    desc.influences = 6;
    desc.iterations = 4;
    desc.transforms = kind;
    test_ok(test, pelt_decompose(test->context, model, &desc, NULL));
    test_ok(test, pelt_model_validate(test->context, model));
    return error_of(test, model);
}

/* ---- Hosts ------------------------------------------------------------------------------------------------ */

/* Blender rebinds skins in the rest pose without scales: vertices keep their positions only when the resulting matrix
 * is the same for all bones. */
static pelt_affine rebound(const pelt_model *model, uint32_t bone) {
    pelt_affine out = model->skin.inverse_binds[bone];
    for (uint32_t j = model->skin.bone_joints[bone]; j != PELT_NONE; j = model->skeleton.parents[j]) {
        pelt_transform rest = model->skeleton.rest[j];
        rest.scale[0] = rest.scale[1] = rest.scale[2] = 1;
        pelt_affine local = px_affine_from_transform(&rest);
        out = px_affine_mul(&local, &out);
    }
    return out;
}

static void assert_near(const pelt_affine *a, const pelt_affine *b, double slack) {
    for (int e = 0; e < 12; e++)
        if (!(fabs((double)a->m[e] - (double)b->m[e]) <= slack))
            fail_msg("entry %d is %g, not %g", e, (double)a->m[e], (double)b->m[e]);
}

static void check_hosts(float size, pelt_transforms kind) {
    test_context test;
    test_begin(&test, 2);
    pelt_model *model = make(&test);
    if (size != 1)
        put_below(test.context, model, size);
    put_clip(&test, model);
    uint32_t bones = model->skin.bone_count, joints = model->skeleton.joint_count;
    double before = error_of(&test, model), error = add_bones(&test, model, kind);
    assert_true(error < 0.8 * before);
    assert_int_equal(model->skin.bone_count, bones + 3);
    pelt_affine *globals = pelt_model_alloc(test.context, model, model->skeleton.joint_count, sizeof *globals);
    pelt_affine *palette = pelt_model_alloc(test.context, model, model->skin.bone_count, sizeof *palette);
    pelt_skeleton_globals(&model->skeleton, model->skeleton.rest, globals);
    pelt_skin_palette(&model->skin, globals, palette);
    for (uint32_t b = bones; b < bones + 3; b++) {
        pelt_affine first = rebound(model, 0), own = rebound(model, b);
        uint32_t j = model->skin.bone_joints[b];
        assert_near(&own, &first, 1e-5);
        assert_near(&palette[b], &palette[0], 1e-4); /* at rest the helper displaces nothing */
        while (j != PELT_NONE && j >= joints)
            j = model->skeleton.parents[j];
        assert_true(j < joints && j != 0); /* a joint of the rig that the skin uses */
    }
    pelt_model_destroy(model);
    test_end(&test);
}

static void helpers_hang_from_the_rig(void **state) {
    (void)state;
    check_hosts(1, PELT_TRANSFORMS_AFFINE);
    check_hosts(1, PELT_TRANSFORMS_RIGID);
}

static void helpers_hang_below_a_scaled_node(void **state) {
    (void)state;
    check_hosts(SIZE, PELT_TRANSFORMS_AFFINE);
    check_hosts(SIZE, PELT_TRANSFORMS_TRS);
    check_hosts(SIZE, PELT_TRANSFORMS_SIMILARITY);
}

static void helpers_hang_below_a_mirrored_node(void **state) {
    (void)state;
    check_hosts(-1, PELT_TRANSFORMS_AFFINE);
    check_hosts(-SIZE, PELT_TRANSFORMS_TRS);
    check_hosts(-SIZE, PELT_TRANSFORMS_SIMILARITY);
}

/* ---- Morphs ----------------------------------------------------------------------------------------------- */

static void morphs_stay(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    pelt_model *plain = make(&test), *model = make(&test);
    put_clip(&test, plain);
    put_morph(test.context, model);
    put_clip(&test, model);
    pelt_morph morph = model->morphs.morphs[0];
    double before = error_of(&test, model), without = add_bones(&test, plain, PELT_TRANSFORMS_AFFINE), error;
    error = add_bones(&test, model, PELT_TRANSFORMS_AFFINE);
    print_message("E_rms %g with a morph, %g without, %g before\n", error, without, before);
    assert_true(error < 4 * without && error < 0.25 * before); /* helpers take over part of the target's displacement */
    assert_int_equal(model->morphs.morph_count, 1);
    assert_memory_equal(&model->morphs.morphs[0], &morph, sizeof morph);
    assert_int_equal(model->changed & PELT_CHANGED_MORPHS, 0);
    const pelt_track *weights = NULL;
    for (uint32_t t = 0; t < model->motions[0].track_count; t++)
        if (model->motions[0].tracks[t].path == PELT_PATH_WEIGHTS)
            weights = &model->motions[0].tracks[t];
    assert_non_null(weights);
    assert_int_equal(weights->key_count, 3);
    assert_int_equal(weights->joint, morph.joint);
    pelt_model_destroy(model);
    pelt_model_destroy(plain);
    test_end(&test);
}

/* ---- Parts attached to a joint ----------------------------------------------------------------------------- */

/* Arrays of the test's model, owned by the test. */
typedef struct parts {
    float positions[24], normals[24], offsets[12], weights[16];
    uint16_t bones[16];
    uint32_t bone_joints[3];
    pelt_affine inverse_binds[3];
    pelt_part items[2];
    pelt_morph morph;
    pelt_motion motion;
    pelt_track track;
} parts;

static uint32_t triangles[] = {0, 1, 2, 0, 2, 3, 4, 5, 6, 4, 6, 7}, parents[] = {PELT_NONE, 0, 1, 2};
static const float square[] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0}, times[] = {0, 1};
static const float turns[] = {0, 0, 0, 1, 0, 0.6f, 0, 0.8f};
static const char *names[] = {"Armature", "a", "b", "Hat"};
static pelt_transform rest[] = {{{0, 0, 0}, {0, 0, 0, 1}, {SIZE, SIZE, SIZE}},
                                {{0, 0.01f, 0}, {0.6f, 0, 0, 0.8f}, {1, 1, 1}},
                                {{0, 0.02f, 0}, {0, 0, 0, 1}, {1, 1, 1}},
                                {{0.01f, 0, 0}, {0, 0, 0.6f, 0.8f}, {0.5f, 0.5f, 0.5f}}};

/* A skinned square, and one attached to a node below its second joint; either the node or the joint moves. */
static pelt_result make_parts(pelt_context *context, bool node_moves, parts *p, pelt_model **model) {
    pelt_result result = pelt_model_create(context, model);
    if (result != PELT_OK)
        return result;
    pelt_model *m = *model;
    *p = (parts){.items = {{"body", NULL, 0, 2, 0, 4, 0, true}, {"hat", NULL, 2, 2, 4, 4, 3, false}}};
    m->skeleton = (pelt_skeleton){4, names, parents, rest};
    pelt_affine globals[4];
    pelt_skeleton_globals(&m->skeleton, rest, globals);
    for (uint32_t b = 0; b < 3; b++) {
        p->bone_joints[b] = b + 1;
        assert_true(px_affine_inverse(&globals[b + 1], &p->inverse_binds[b]));
        for (int e = 0; b < 2 && e < 12; e++) /* the skin has its own space, 100 times smaller */
            p->inverse_binds[b].m[e] *= e % 4 < 3 ? SIZE : 1;
    }
    for (uint32_t i = 0; i < 8; i++) {
        for (uint32_t c = 0; c < 3; c++)
            p->positions[3 * i + c] = square[3 * (i % 4) + c] / (i < 4 ? SIZE : 1);
        p->normals[3 * i + 2] = 1;
        p->bones[2 * i] = (uint16_t)(i < 4 ? i % 2 : 2);
        p->weights[2 * i] = 1;
    }
    p->offsets[2] = p->offsets[4] = 0.5f;
    p->morph = (pelt_morph){
        .name = "up", .joint = 3, .first_vertex = 4, .vertex_count = 4, .weight = 0.5f, .positions = p->offsets};
    p->track = (pelt_track){node_moves ? 3 : 2, PELT_PATH_ROTATION, PELT_INTERPOLATION_LINEAR, 4, 2, times, turns};
    p->motion = (pelt_motion){"turn", 0, 1, 1, &p->track};
    m->mesh = (pelt_mesh){.vertex_count = 8,
                          .triangle_count = 4,
                          .polygon_count = 4,
                          .points.count = 8,
                          .part_count = 2,
                          .positions = p->positions,
                          .normals = p->normals,
                          .triangles = triangles,
                          .parts = p->items};
    m->skin = (pelt_skin){3, 2, p->bone_joints, p->inverse_binds, p->bones, p->weights};
    m->morphs = (pelt_morph_set){1, &p->morph};
    m->motions = &p->motion;
    m->motion_count = 1;
    return PELT_OK;
}

static void parts_join_the_skin(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    parts p;
    pelt_model *model;
    float before[2][48], after[2][48];
    test_ok(&test, make_parts(test.context, false, &p, &model));
    test_ok(&test, pelt_model_validate(test.context, model));
    for (int k = 0; k < 2; k++)
        test_ok(&test, pelt_model_pose(test.context, model, &model->motions[0], 0.7f * (float)k, PELT_SKINNING_LINEAR,
                                       before[k], before[k] + 24));
    test_ok(&test, px_skin_join_parts(model));
    test_ok(&test, pelt_model_validate(test.context, model));
    assert_int_equal(model->skin.bone_count, 2);
    assert_true(model->mesh.parts[1].skinned);
    assert_int_equal(model->skin.bones[2 * 4], 1);
    for (int k = 0; k < 2; k++)
        test_ok(&test, pelt_model_pose(test.context, model, &model->motions[0], 0.7f * (float)k, PELT_SKINNING_LINEAR,
                                       after[k], after[k] + 24));
    for (int e = 0; e < 96; e++)
        assert_float_equal(after[e / 48][e % 48], before[e / 48][e % 48], 1e-5f);
    pelt_model_destroy(model);
    test_ok(&test, make_parts(test.context, true, &p, &model)); /* a part with independent motion keeps its own bone */
    test_ok(&test, px_skin_join_parts(model));
    assert_int_equal(model->skin.bone_count, 3);
    assert_false(model->mesh.parts[1].skinned);
    pelt_model_destroy(model);
    test_end(&test);
}

static pelt_result run_join(pelt_context *context, void *user) {
    pelt_model *model;
    pelt_result result = make_parts(context, false, user, &model);
    if (result == PELT_OK)
        result = px_skin_join_parts(model);
    pelt_model_destroy(model);
    return result;
}

/* The squares in motion, with extra displacements. */
typedef struct moving {
    parts parts;
    float positions[2][24];
    pelt_clip clip;
} moving;

static void check_unchanged(const pelt_model *model, const pelt_model *was) {
    assert_int_equal(model->changed, was->changed);
    assert_int_equal(model->skin.bone_count, was->skin.bone_count);
    assert_ptr_equal(model->skin.bones, was->skin.bones);
    assert_ptr_equal(model->mesh.positions, was->mesh.positions);
    assert_ptr_equal(model->mesh.parts, was->mesh.parts);
}

static pelt_result run_add(pelt_context *context, void *user) {
    moving *m = user;
    pelt_model *model;
    pelt_result result = make_parts(context, false, &m->parts, &model);
    if (result != PELT_OK)
        return result;
    model->clips = &m->clip;
    model->clip_count = 1;
    pelt_decompose_desc desc = pelt_decompose_desc_default();
    desc.rig = model;
    desc.add = 1;
    desc.iterations = 1;
    pelt_model was = *model;
    result = pelt_decompose(context, model, &desc, NULL);
    if (result == PELT_OK)
        assert_int_equal(model->morphs.morph_count, 1);
    else
        check_unchanged(model, &was);
    pelt_model_destroy(model);
    return result;
}

/* Both frames, with one vertex of each square displaced. */
static void move_squares(moving *m) {
    test_context test;
    pelt_model *model;
    *m = (moving){.clip = {"turn", 2, 8, times, NULL, {0}}};
    test_begin(&test, 1);
    test_ok(&test, make_parts(test.context, false, &m->parts, &model));
    for (int k = 0; k < 2; k++) {
        test_ok(&test, pelt_model_pose(test.context, model, &model->motions[0], times[k], PELT_SKINNING_LINEAR,
                                       m->positions[k], NULL));
        m->positions[k][3 * k] += 0.3f;
    }
    m->clip.positions = m->positions[0];
    pelt_model_destroy(model);
    test_end(&test);
}

/* Parts join the skin before solving: destroying the decomposer then restores the model. */
static void giving_up_changes_nothing(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    moving m;
    move_squares(&m);
    pelt_model *model;
    test_ok(&test, make_parts(context, false, &m.parts, &model));
    model->clips = &m.clip;
    model->clip_count = 1;
    pelt_decompose_desc desc = pelt_decompose_desc_default();
    desc.rig = model;
    desc.add = 1;
    pelt_model was = *model;
    pelt_decomposer *decomposer;
    bool done;
    test_ok(&test, pelt_decomposer_create(context, model, &desc, &decomposer));
    pelt_decomposer_destroy(decomposer);
    check_unchanged(model, &was);
    test_ok(&test, pelt_decomposer_create(context, model, &desc, &decomposer));
    atomic_store(&test.cancel_at, 1);
    test_fails(&test, pelt_decomposer_step(decomposer, &done), PELT_ERROR_CANCELLED, "cancelled");
    pelt_decomposer_destroy(decomposer);
    check_unchanged(model, &was);
    pelt_model_destroy(model);
    test_end(&test);
}

static void memory_may_run_out(void **state) {
    (void)state;
    moving m;
    move_squares(&m);
    test_fail_each_allocation(1, run_join, &m.parts);
    test_fail_each_allocation(1, run_add, &m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(helpers_hang_from_the_rig),
        cmocka_unit_test(helpers_hang_below_a_scaled_node),
        cmocka_unit_test(helpers_hang_below_a_mirrored_node),
        cmocka_unit_test(morphs_stay),
        cmocka_unit_test(parts_join_the_skin),
        cmocka_unit_test(giving_up_changes_nothing),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
