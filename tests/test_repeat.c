/* Operations that replace data of a model, called repeatedly: the model's memory must not grow, and a failed call frees
 * what it allocated. */
#include "support.h"

#include "scenes.h"

/* Arrays of reports live as long as the model: less than 3 kB per call here. Skin or morphs of a call take at least 50
 * kB. */
#define REPORT_SIZE ((size_t)3 * 1024)
#define CHUNK_SIZE  ((size_t)64 * 1024) /* memory grows in steps of this size */

typedef struct fixture {
    test_context test;
    pelt_model *model, *other;
    scene_poses poses;
} fixture;

typedef pelt_result operation(fixture *f);

static pelt_result smooth(fixture *f) {
    return pelt_weights_smooth(f->test.context, f->model, NULL, NULL, NULL);
}

static pelt_result prune(fixture *f) {
    return pelt_weights_prune(f->test.context, f->model, NULL, NULL, NULL);
}

static pelt_result relax(fixture *f) {
    return pelt_weights_relax(f->test.context, f->model, NULL, NULL, NULL);
}

static pelt_result hammer(fixture *f) {
    return pelt_weights_hammer(f->test.context, f->model, NULL, NULL, NULL);
}

static pelt_result limit(fixture *f) {
    return pelt_weights_limit(f->test.context, f->model, NULL, NULL, NULL);
}

static pelt_result copy(fixture *f) {
    return pelt_weights_copy(f->test.context, f->model, NULL, NULL, NULL);
}

static pelt_result normalise(fixture *f) {
    return pelt_weights_normalise(f->test.context, f->model, NULL, NULL);
}

static pelt_result mirror(fixture *f) {
    return pelt_weights_mirror(f->test.context, f->model, NULL, NULL, NULL);
}

static pelt_result transfer(fixture *f) {
    return pelt_weights_transfer(f->test.context, f->other, f->model, NULL, NULL);
}

static pelt_result bind(fixture *f) {
    pelt_bind_desc desc = pelt_bind_desc_default();
    desc.resolution = 24;
    return pelt_bind(f->test.context, f->model, &desc, NULL);
}

/* Bindings that overlap: each applies to the model after the other did, the older one last. */
static pelt_result rebind(fixture *f) {
    pelt_bind_desc desc = pelt_bind_desc_default();
    pelt_binding *older = NULL, *newer = NULL;
    float *first = malloc((size_t)f->model->mesh.vertex_count * 4 * sizeof *first);
    desc.resolution = 24;
    test_ok(&f->test, pelt_binding_create(f->test.context, f->model, &desc, &older));
    test_ok(&f->test, pelt_binding_apply(older, NULL));
    assert_int_equal(f->model->skin.influence_count, 4);
    memcpy(first, f->model->skin.weights, (size_t)f->model->mesh.vertex_count * 4 * sizeof *first);
    desc.influences = 6;
    test_ok(&f->test, pelt_binding_create(f->test.context, f->model, &desc, &newer));
    test_ok(&f->test, pelt_binding_apply(newer, NULL));
    test_ok(&f->test, smooth(f));
    test_ok(&f->test, pelt_binding_apply(older, NULL));
    assert_memory_equal(first, f->model->skin.weights, (size_t)f->model->mesh.vertex_count * 4 * sizeof *first);
    pelt_binding_destroy(older);
    pelt_binding_destroy(newer);
    assert_memory_equal(first, f->model->skin.weights, (size_t)f->model->mesh.vertex_count * 4 * sizeof *first);
    free(first);
    return PELT_OK;
}

static pelt_result displace(fixture *f) {
    float *distances = calloc(f->model->mesh.vertex_count, sizeof *distances);
    distances[0] = 0.001f;
    pelt_result result = pelt_edit_displace(f->test.context, f->model, distances, NULL, NULL);
    free(distances);
    return result;
}

static pelt_result light(fixture *f) {
    pelt_light_desc desc = pelt_light_desc_default();
    desc.directions = 8;
    desc.fps = 4;
    return pelt_light(f->test.context, f->model, &desc, NULL);
}

static pelt_result retarget(fixture *f) {
    pelt_retarget_desc desc = pelt_retarget_desc_default();
    pelt_joint_match matches[256];
    assert_true(f->model->skeleton.joint_count <= 256);
    desc.replace = true;
    test_ok(&f->test, pelt_match_joints(f->test.context, &f->model->skeleton, &f->other->skeleton, &desc, matches));
    return pelt_retarget(f->test.context, f->other, &f->other->motions[0], matches, &desc, f->model, NULL);
}

static pelt_result simplify(fixture *f) {
    return pelt_simplify(f->test.context, f->model, NULL, NULL);
}

static pelt_result spread(fixture *f) {
    return pelt_study_spread(f->test.context, f->model, 6, 4);
}

static pelt_result correct(fixture *f) {
    pelt_correct_pair pair = {0, &f->model->clips[0]};
    pelt_correct_desc desc = pelt_correct_desc_default();
    desc.rank = 2;
    return pelt_correct(f->test.context, f->model, &pair, 1, &desc, NULL);
}

static pelt_result eigenskin(fixture *f) {
    pelt_pose_example examples[64];
    uint32_t count = f->poses.seen_count;
    assert_true(count > 0 && count <= 64);
    for (uint32_t p = 0; p < count; p++)
        examples[p] = (pelt_pose_example){f->poses.seen[p].name, f->poses.seen[p].locals, f->poses.seen[p].positions,
                                          f->poses.seen[p].normals};
    return pelt_eigenskin(f->test.context, f->model, examples, count, NULL, NULL);
}

static pelt_decompose_desc quick(void) {
    pelt_decompose_desc desc = pelt_decompose_desc_default();
    desc.bones = 4;
    desc.iterations = 2;
    return desc;
}

static pelt_result decompose(fixture *f) {
    pelt_decompose_desc desc = quick();
    return pelt_decompose(f->test.context, f->model, &desc, NULL);
}

static pelt_result simulate(fixture *f) {
    pelt_jiggle_desc jiggle = pelt_jiggle_desc_default();
    pelt_jiggle_simulate_desc desc = pelt_jiggle_simulate_desc_default();
    jiggle.particles = 100;
    desc.jiggle = &jiggle;
    return pelt_jiggle_simulate(f->test.context, f->model, &desc, NULL);
}

static pelt_result decompose_corrected(fixture *f) {
    pelt_decompose_desc bones = quick();
    pelt_decompose_corrected_desc desc = pelt_decompose_corrected_desc_default();
    desc.corrections = 2;
    desc.rounds = 1;
    return pelt_decompose_corrected(f->test.context, f->model, &bones, &desc, NULL);
}

static pelt_result add_bones(fixture *f) {
    pelt_decompose_desc bones = pelt_jiggle_bones_default();
    bones.add = 2;
    bones.iterations = 2;
    pelt_result result = simulate(f);
    return result == PELT_OK ? pelt_jiggle_add_bones(f->test.context, f->model, &bones, NULL, NULL) : result;
}

static pelt_result sliders(fixture *f) {
    pelt_sliders_desc desc = pelt_sliders_desc_default();
    desc.bones = 5;
    desc.iterations = 2;
    return pelt_decompose_sliders(f->test.context, f->model, &desc, NULL);
}

static pelt_result add_helpers(fixture *f) {
    pelt_helper_bones_desc desc = pelt_helper_bones_desc_default();
    desc.add = 2;
    return pelt_helper_bones_add(f->test.context, f->model, &desc, NULL);
}

static pelt_result load_cache(fixture *f) {
    return pelt_load_cache_memory(f->test.context, "PC2", 3, "broken.pc2", NULL, f->model) == PELT_OK ? PELT_ERROR_INPUT
                                                                                                      : PELT_OK;
}

/* Results of the caller. */

static pelt_result make_clip(fixture *f) {
    pelt_clip clip;
    float before[3], after[3];
    test_ok(&f->test,
            pelt_clip_from_motion(f->test.context, f->model, &f->model->motions[0], 30, PELT_SKINNING_LINEAR, &clip));
    test_ok(&f->test, pelt_clip_read(f->test.context, &clip, 1, 0, 1, before));
    test_ok(&f->test, smooth(f)); /* replaces arrays that the clip reads */
    test_ok(&f->test, smooth(f));
    test_ok(&f->test, pelt_clip_read(f->test.context, &clip, 1, 0, 1, after));
    assert_memory_equal(before, after, sizeof before);
    test_ok(&f->test, pelt_clip_skin_normals(f->test.context, f->model, &clip));
    pelt_clip_free(f->model, &clip);
    assert_null(clip.times);
    return smooth(f);
}

static pelt_result prepare(fixture *f) {
    pelt_prepared_skin prepared;
    pelt_result result = pelt_skin_prepare(f->test.context, f->model, &prepared);
    pelt_prepared_skin_free(f->model, &prepared);
    return result;
}

static pelt_result pack(fixture *f) {
    pelt_packed_morphs packed;
    pelt_result result = pelt_morph_pack(f->test.context, f->model, &packed);
    pelt_packed_morphs_free(f->model, &packed);
    return result;
}

static pelt_result gradients(fixture *f) {
    pelt_weight_gradients made;
    pelt_result result = pelt_skin_gradients(f->test.context, f->model, &made);
    pelt_weight_gradients_free(f->model, &made);
    return result;
}

static pelt_result bake(fixture *f) {
    pelt_jiggle_desc jiggle = pelt_jiggle_desc_default();
    pelt_jiggle_bake_desc desc = pelt_jiggle_bake_desc_default();
    pelt_clip clip;
    pelt_jiggle_bake_report report;
    jiggle.particles = 100;
    desc.preroll = 0;
    desc.keep_lattice = true;
    pelt_result result =
        pelt_jiggle_bake(f->test.context, f->model, &f->model->motions[0], &jiggle, &desc, &clip, &report);
    pelt_clip_free(f->model, &clip);
    return result;
}

static pelt_result cut(fixture *f) {
    pelt_motion part, whole;
    const pelt_motion *motion = &f->model->motions[0];
    double half = 0.5 * ((double)motion->end - (double)motion->start);
    test_ok(&f->test, pelt_motion_part(f->test.context, f->model, motion, 0, 10 * half, &whole));
    pelt_motion_free(f->model, &whole); /* the model's own motion stays */
    pelt_result result = pelt_motion_part(f->test.context, f->model, motion, 0, half, &part);
    assert_true(part.tracks != motion->tracks);
    pelt_motion_free(f->model, &part);
    return result;
}

static pelt_result load_poses(fixture *f) {
    static const char text[] = "{\"poses\":{\"a\":{\"joints\":{}},\"b\":{\"joints\":{}}}}";
    pelt_pose *poses;
    uint32_t count;
    pelt_result result =
        pelt_load_poses_memory(f->test.context, f->model, text, sizeof text - 1, "poses.json", NULL, &poses, &count);
    assert_int_equal(count, 2);
    pelt_poses_free(f->model, &poses);
    assert_null(poses);
    return result;
}

typedef struct row {
    const char *name, *scene;
    uint32_t vertices, frames;
    operation *run;
    bool restored; /* appends: the old data is restored before each call, as by an undo */
    bool freed;    /* the caller frees the result: not one byte stays */
} row;

static const row rows[] = {
    {"weights smooth", "creature", 3000, 8, smooth, false, false},
    {"weights prune", "creature", 3000, 8, prune, false, false},
    {"weights relax", "creature", 3000, 8, relax, false, false},
    {"weights hammer", "creature", 3000, 8, hammer, false, false},
    {"weights limit", "creature", 3000, 8, limit, false, false},
    {"weights copy", "creature", 3000, 8, copy, false, false},
    {"weights normalise", "creature", 3000, 8, normalise, false, false},
    {"weights mirror", "creature", 3000, 8, mirror, false, false},
    {"weights transfer", "creature", 3000, 8, transfer, false, false},
    {"bind", "tube", 3000, 8, bind, false, false},
    {"bindings", "tube", 3000, 8, rebind, false, false},
    {"edit", "tube", 3000, 8, displace, false, false},
    {"light", "tube", 3000, 8, light, true, false},
    {"retarget", "creature", 1000, 200, retarget, false, false},
    {"simplify", "tube", 3000, 8, simplify, true, false},
    {"study spread", "tube", 3000, 8, spread, false, false},
    {"correct", "arm", 3000, 8, correct, true, false},
    {"eigenskin", "arm", 1000, 8, eigenskin, true, false},
    {"decompose", "cloth", 1000, 20, decompose, false, false},
    {"decompose corrected", "cloth", 1000, 20, decompose_corrected, true, false},
    {"sliders", "face", 500, 4, sliders, true, false},
    {"jiggle", "tube", 1000, 8, simulate, false, false},
    {"jiggle bones", "tube", 1000, 8, add_bones, true, false},
    {"helper bones", "tube", 1000, 8, add_helpers, true, false},
    {"cache that fails", "tube", 1000, 8, load_cache, false, false},
    {"clip of a motion", "creature", 3000, 8, make_clip, false, true},
    {"prepared skin", "creature", 3000, 8, prepare, false, true},
    {"packed morphs", "morph", 3000, 8, pack, false, true},
    {"weight gradients", "creature", 3000, 8, gradients, false, true},
    {"baked jiggle", "tube", 1000, 8, bake, false, true},
    {"part of a motion", "creature", 1000, 200, cut, false, true},
    {"poses", "creature", 1000, 8, load_poses, false, true},
};

static void begin(fixture *f, const row *r) {
    const scene *from = scene_find(r->scene);
    scene_desc desc = {r->vertices, r->frames, 1};
    test_begin(&f->test, 2);
    test_ok(&f->test, from->make(f->test.context, &desc, &f->model));
    test_ok(&f->test, from->make(f->test.context, &desc, &f->other));
    if (from->poses)
        test_ok(&f->test, from->poses(f->test.context, &desc, f->model, &f->poses));
}

static void end(fixture *f) {
    pelt_model_destroy(f->model);
    pelt_model_destroy(f->other);
    test_end(&f->test);
}

static void memory_does_not_grow(void **state) {
    (void)state;
    int calls = test_all() ? 10 : 6; /* the first three may keep data that is computed once, such as the weld */
    for (size_t n = 0; n < sizeof rows / sizeof rows[0]; n++) {
        fixture f;
        begin(&f, &rows[n]);
        pelt_model first = *f.model;
        size_t early = 0;
        for (int call = 1; call <= calls; call++) {
            if (rows[n].restored)
                *f.model = first;
            test_ok(&f.test, rows[n].run(&f));
            if (call == 3)
                early = pelt_context_memory(f.test.context).current;
        }
        size_t late = pelt_context_memory(f.test.context).current;
        print_message("%-19s %8zu bytes after 3 calls, %8zu after %d\n", rows[n].name, early, late, calls);
        assert_true(late <= early + (rows[n].freed ? 0 : (size_t)(calls - 3) * REPORT_SIZE + CHUNK_SIZE));
        test_ok(&f.test, pelt_model_validate(f.test.context, f.model));
        end(&f);
    }
}

/* When any allocation of a call fails, the model and its memory size are unchanged. */
static void failed_calls_give_back(void **state) {
    (void)state;
    static operation *const runs[] = {smooth, prepare, gradients};
    for (size_t n = 0; n < sizeof runs / sizeof runs[0]; n++) {
        fixture f;
        begin(&f, &rows[0]);
        test_ok(&f.test, runs[n](&f)); /* creates the weld and the context's threads, which are kept */
        size_t before = pelt_context_memory(f.test.context).current;
        const float *weights = f.model->skin.weights;
        uint32_t failures = 0;
        for (uint64_t number = 1;; number += 3, failures++) {
            f.test.allocations = 0;
            f.test.fail_at = number;
            if (runs[n](&f) == PELT_OK)
                break;
            assert_ptr_equal(f.model->skin.weights, weights);
            assert_int_equal(pelt_context_memory(f.test.context).current, before);
        }
        assert_true(failures > 1);
        f.test.fail_at = 0;
        end(&f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_does_not_grow),
        cmocka_unit_test(failed_calls_give_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
