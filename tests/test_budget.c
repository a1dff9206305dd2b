/* Decomposition in a budget: limits hold for the file itself, which is read back and measured here; results do not depend
 * on threads; what cannot be kept is said; sizes of other representations keep the error. */
#include "support.h"

#include "budget/tight.h"
#include "core/core.h"
#include "gltf_written.h"
#include "io/meshopt.h"
#include "scenes.h"

#include <math.h>

typedef struct subject {
    test_context test;
    pelt_context *context;
    char folder[1024], path[1100];
    pelt_model *model;
    pelt_decompose_desc bones;
    pelt_budget_desc desc;
    pelt_budget_report report;
    double size; /* diameter */
} subject;

static void begin_frames(subject *s, uint32_t threads, uint32_t frames) {
    *s = (subject){.bones = pelt_decompose_desc_default(), .desc = pelt_budget_desc_default()};
    s->context = test_begin(&s->test, threads);
    test_folder(s->folder);
    snprintf(s->path, sizeof s->path, "%s/out.glb", s->folder);
    scene_desc desc = {.vertex_count = 250, .frame_count = frames, .seed = 5};
    test_ok(&s->test, scene_find("cloth")->make(s->context, &desc, &s->model));
    pelt_difference still;
    test_ok(&s->test, pelt_compare_clips(s->context, s->model->clips, s->model->clips, NULL, &still, NULL));
    s->size = 2 * still.ball.radius;
    s->bones.iterations = 5;
    s->desc.bones = 32;
}

static void begin(subject *s, uint32_t threads) {
    begin_frames(s, threads, 10);
}

static void end(subject *s) {
    unlink(s->path);
    rmdir(s->folder);
    pelt_model_destroy(s->model);
    test_end(&s->test);
}

static void run(subject *s) {
    test_ok(&s->test, pelt_decompose_budget(s->context, s->model, &s->bones, &s->desc, s->path, &s->report));
    test_ok(&s->test, pelt_model_validate(s->context, s->model));
}

/* Difference of the file from the clip; *bytes: its size. */
static pelt_difference measure(const subject *s, size_t *bytes, pelt_model **file) {
    const char *path = s->path;
    pelt_clip played;
    pelt_difference difference;
    written w = {0};
    const pelt_clip *clip = &s->model->clips[0];
    read_whole(s->path, &w);
    *bytes = w.size;
    free(w.file);
    test_ok(&s->test, pelt_load(s->context, &path, 1, NULL, file));
    test_ok(&s->test, pelt_model_take_points(s->context, *file, s->model));
    test_ok(&s->test, pelt_clip_from_motion_at(s->context, *file, &(*file)->motions[0], clip->times, clip->frame_count,
                                               PELT_SKINNING_LINEAR, &played));
    test_ok(&s->test, pelt_compare_clips(s->context, clip, &played, NULL, &difference, NULL));
    return difference;
}

static void keeps_error(void **state) {
    (void)state;
    uint64_t last = UINT64_MAX;
    static const struct {
        double error;
        bool smallest;
    } files[] = {{0.02, false}, {0.08, false}, {0.08, true}};
    if (!px_meshopt_encodes())
        skip();
    for (size_t e = 0; e < PX_COUNT(files); e++) {
        subject s;
        size_t bytes;
        pelt_model *file;
        begin(&s, 2);
        s.desc.max_error = files[e].error * s.size;
        s.desc.smallest = files[e].smallest;
        run(&s);
        assert_true(s.report.met);
        pelt_difference d = measure(&s, &bytes, &file);
        assert_true(d.error_max_units <= s.desc.max_error);
        assert_true(fabs(d.error_max_units - s.report.chosen.error_max_units) < 1e-5 * s.size);
        assert_true(fabs(d.error_rms - s.report.chosen.error_rms) < 1e-3 * d.error_rms);
        assert_int_equal(bytes, s.report.chosen.bytes);
        assert_true(s.report.numbers_bytes < bytes);
        assert_true(bytes < last);
        for (uint32_t t = 0; t < s.report.trial_count; t++) /* the smallest of those that keep it */
            if (s.report.trials[t].bytes > 0 && s.report.trials[t].error_max_units <= s.desc.max_error)
                assert_true(s.report.trials[t].bytes >= s.report.chosen.bytes);
        last = bytes;
        pelt_model_destroy(file);
        end(&s);
    }
}

/* Bones fitted to the largest distance have a smaller one than those of least squares; vertices chosen for the encoder keep the
 * bound and are on their grid. */
static void check_fit(uint32_t transforms) {
    subject s;
    pelt_decompose_report report;
    pelt_model *solution;
    px_tight clips, fit;
    const int8_t *joint_bits;
    double distance;
    begin(&s, 2);
    s.bones.bones = 12;
    s.bones.transforms = transforms;
    s.bones.key_tolerance = 0;
    px_arena *arena = px_arena_create(s.context);
    test_ok(&s.test, pelt_model_weld(s.context, s.model));
    test_ok(&s.test, px_tight_begin(s.context, arena, s.model, &clips));
    test_ok(&s.test, pelt_model_borrow(s.context, s.model, &solution));
    test_ok(&s.test, pelt_decompose(s.context, solution, &s.bones, &report));
    test_ok(&s.test, px_tight_read(&clips, arena, solution, report.motions, &fit));
    assert_true(fit.affine == (transforms == PELT_TRANSFORMS_AFFINE));
    pelt_clip played;
    pelt_difference before, after;
    const pelt_clip *clip = &s.model->clips[0];
    test_ok(&s.test, pelt_clip_from_motion_at(s.context, solution, &solution->motions[report.motions[0]], clip->times,
                                              clip->frame_count, PELT_SKINNING_LINEAR, &played));
    test_ok(&s.test, pelt_compare_clips(s.context, clip, &played, NULL, &before, NULL));
    test_ok(&s.test, px_tight_polish(&fit, 5, 1e-3 * before.error_max_units)); /* out of reach: it ends early */
    assert_true(fit.expected < fit.distance);
    test_ok(&s.test, px_tight_polish(&fit, 5, before.error_max_units));
    double first = fit.distance;
    assert_true(first < 0.9 * before.error_max_units && fit.expected == first);
    test_ok(&s.test, px_tight_polish(&fit, 16, before.error_max_units));
    assert_true(fit.distance < 0.9 * first);
    test_ok(&s.test, px_tight_join(&fit, 0.1 * fit.distance));
    test_ok(&s.test, px_tight_frames(&fit));
    test_ok(&s.test, px_tight_write(&fit, solution, &joint_bits));
    test_ok(&s.test, pelt_clip_from_motion_at(s.context, solution, &solution->motions[report.motions[0]], clip->times,
                                              clip->frame_count, PELT_SKINNING_LINEAR, &played));
    test_ok(&s.test, pelt_compare_clips(s.context, clip, &played, NULL, &after, NULL));
    assert_true(fabs(after.error_max_units - fit.distance) < 1e-4 * s.size);

    px_vertex_grid grid = {.exponent = (int)floor(log2(0.2 * fit.distance)), .weight_bits = 10};
    grid.bound = 1.5 * fit.distance;
    test_ok(&s.test, px_tight_vertices(&fit, s.model, solution, &grid, &distance));
    assert_true(distance <= grid.bound);
    for (size_t i = 0; i < fit.point_count; i++) {
        double sum = 0;
        for (size_t x = 0; x < 3; x++) {
            double place = ldexp((double)fit.rest[3 * i + x], -grid.exponent);
            assert_true(place == nearbyint(place));
        }
        for (size_t a = 0; a < PX_TIGHT_INFLUENCES; a++) {
            double weight = ldexp((double)fit.weights[PX_TIGHT_INFLUENCES * i + a], grid.weight_bits);
            assert_true(weight == nearbyint(weight) && weight >= 0);
            assert_true(fit.bones[PX_TIGHT_INFLUENCES * i + a] < fit.bone_count);
            sum += (double)fit.weights[PX_TIGHT_INFLUENCES * i + a];
        }
        assert_true(sum == 1);
    }
    test_ok(&s.test, px_tight_write_vertices(&fit, solution));
    test_ok(&s.test, pelt_model_validate(s.context, solution));
    test_ok(&s.test, pelt_clip_from_motion_at(s.context, solution, &solution->motions[report.motions[0]], clip->times,
                                              clip->frame_count, PELT_SKINNING_LINEAR, &played));
    test_ok(&s.test, pelt_compare_clips(s.context, clip, &played, NULL, &after, NULL));
    assert_true(fabs(after.error_max_units - distance) < 1e-4 * s.size);
    px_arena_destroy(arena);
    pelt_model_destroy(solution);
    end(&s);
}

/* The writer rounds keys as px_tight_round did, with bits of their joint; bones take few bytes of JSON: no names, and axes only where they
 * spare more bytes of keys. */
static void check_written(const subject *s, const pelt_model *rounded, const px_tight *fit,
                          const px_precision *precision) {
    px_buffer bytes = {.context = s->context};
    pelt_model *read;
    pelt_save_desc save = pelt_save_desc_default();
    save.skip_clips = true;
    px_write write = {.context = s->context, .model = rounded, .mesh = &rounded->mesh, .desc = &save};
    test_ok(&s->test, px_precision_write(&write, precision, &bytes));
    test_ok(&s->test, px_precision_read(s->context, &bytes, &read));
    const pelt_motion *made = &rounded->motions[0], *back = &read->motions[0];
    assert_int_equal(back->track_count, made->track_count);
    for (uint32_t t = 0; t < made->track_count; t++) {
        const pelt_track *a = &made->tracks[t], *b = &back->tracks[t];
        assert_true(a->path == b->path && a->key_count == b->key_count);
        for (size_t k = 0; k < a->key_count; k++) {
            double same = 0, opposite = 0; /* −q equals q; rounded again, another component may be left out */
            for (size_t e = a->width * k; e < a->width * (k + 1); e++) {
                same = fmax(same, fabs((double)a->values[e] - (double)b->values[e]));
                opposite = fmax(opposite, fabs((double)a->values[e] + (double)b->values[e]));
            }
            assert_true(a->path == PELT_PATH_ROTATION ? fmin(same, opposite) < 0.02 : same == 0);
        }
    }
    for (uint32_t j = 0; j < read->skin.bone_count; j++)
        assert_string_equal(read->skeleton.names[read->skin.bone_joints[j]], "");
    assert_true(px_load_u32(bytes.data + 12) < (fit->affine ? 13000 : 8100));
    pelt_model_destroy(read);
    px_buffer_free(&bytes);
}

/* Bones have parents, which come first; keys rounded coarsely move a joint by no more than the rounding of its own translation, however
 * many parents it has. */
static void check_tree(uint32_t transforms) {
    subject s;
    pelt_decompose_report report;
    pelt_model *solution, *rounded;
    px_tight clips, fit;
    const int8_t *joint_bits;
    size_t depths[12] = {0}, deepest = 0;
    begin_frames(&s, 2, 60); /* keys that pay for lists of children */
    s.bones.bones = 12;
    s.bones.transforms = transforms;
    s.bones.key_tolerance = 0;
    px_arena *arena = px_arena_create(s.context);
    test_ok(&s.test, pelt_model_weld(s.context, s.model));
    test_ok(&s.test, px_tight_begin(s.context, arena, s.model, &clips));
    test_ok(&s.test, pelt_model_borrow(s.context, s.model, &solution));
    test_ok(&s.test, pelt_decompose(s.context, solution, &s.bones, &report));
    test_ok(&s.test, px_tight_read(&clips, arena, solution, report.motions, &fit));
    test_ok(&s.test, px_tight_join(&fit, 1e-3 * s.size));
    test_ok(&s.test, px_tight_frames(&fit));
    test_ok(&s.test, px_tight_write(&fit, solution, &joint_bits));
    test_ok(&s.test, pelt_model_validate(s.context, solution));
    assert_int_equal(fit.bone_count, 12);
    for (size_t n = 0; n < fit.bone_count; n++) {
        uint32_t j = fit.sequence[n];
        if (fit.parents[j] != PELT_NONE) {
            assert_true(depths[fit.parents[j]] > 0);
            depths[j] = depths[fit.parents[j]];
        }
        depths[j]++;
        deepest = depths[j] > deepest ? depths[j] : deepest;
    }
    assert_true(deepest > 1);
    px_precision precision = {.bits = {8, 8, 8, 8, 6, 7, 8}};
    precision.bits[PX_PRECISION_TRANSLATIONS] = 10;
    precision.bits[PX_PRECISION_ROTATIONS] = 6;
    precision.bits[PX_PRECISION_SCALES] = 7;
    frexp(s.size, &precision.exponent);
    test_ok(&s.test, pelt_model_borrow(s.context, solution, &rounded));
    int8_t own[64];
    assert_true(solution->skeleton.joint_count <= PX_COUNT(own));
    for (int n = 0; n < (int)PX_COUNT(own); n++)
        own[n] = (int8_t)(n % 3 - 1);
    precision.joint_bits = own;
    test_ok(&s.test, px_tight_round(&fit, rounded, &precision));
    test_ok(&s.test, pelt_model_validate(s.context, rounded));
    check_written(&s, rounded, &fit, &precision);
    double step = ldexp(1, precision.exponent - 10), most = 0;
    uint32_t joints = rounded->skeleton.joint_count;
    pelt_transform *locals = calloc(joints, sizeof *locals);
    pelt_affine *globals = calloc(joints, sizeof *globals);
    const pelt_clip *clip = &s.model->clips[0];
    for (size_t k = 0; k < clip->frame_count; k++) {
        pelt_motion_sample(rounded, &rounded->motions[report.motions[0]], clip->times[k], locals, NULL);
        pelt_skeleton_globals(&rounded->skeleton, locals, globals);
        for (size_t j = 0; j < fit.bone_count; j++) {
            double square = 0;
            for (size_t x = 0; x < 3; x++) {
                double off = (double)globals[rounded->skin.bone_joints[j]].m[4 * x + 3] -
                             fit.poses[12 * (k * fit.bone_count + j) + 9 + x];
                square += off * off;
            }
            most = fmax(most, sqrt(square));
        }
    }
    /* half a step along each axis of the parent, which an affine one may stretch */
    assert_true(most > 0.3 * step && most < (fit.affine ? 2 : 0.9) * step);
    free(locals);
    free(globals);
    px_arena_destroy(arena);
    pelt_model_destroy(rounded);
    pelt_model_destroy(solution);
    end(&s);
}

static void rounds_along_hierarchy(void **state) {
    (void)state;
    if (!px_meshopt_encodes())
        skip();
    check_tree(PELT_TRANSFORMS_RIGID);
    check_tree(PELT_TRANSFORMS_AFFINE);
}

static void fits_largest_distance(void **state) {
    (void)state;
    if (!px_meshopt_encodes())
        skip();
    check_fit(PELT_TRANSFORMS_RIGID);
    check_fit(PELT_TRANSFORMS_AFFINE);
}

typedef struct precision_subject {
    const pelt_mesh *mesh;
    int trials;
} precision_subject;

static pelt_result measure_rest(void *user, pelt_model *read, bool all, double *distance) {
    (void)all;
    precision_subject *p = user;
    p->trials++;
    *distance = 0;
    for (size_t e = 0; e < 3 * (size_t)p->mesh->vertex_count; e++)
        *distance = fmax(*distance, fabs((double)p->mesh->positions[e] - (double)read->mesh.positions[e]));
    return PELT_OK;
}

/* A search for a precision that begins with that of a similar file takes fewer trials, and keeps the bound however bad the
 * guess is. */
static void takes_guesses(void **state) {
    (void)state;
    if (!px_meshopt_encodes())
        skip();
    subject s;
    precision_subject measured = {0};
    px_precision_guess first, second, third, coarse;
    double distance;
    begin(&s, 1);
    s.model->clip_count = 0;
    measured.mesh = &s.model->mesh;
    pelt_save_desc save = pelt_save_desc_default();
    px_write write = {.context = s.context, .model = s.model, .mesh = &s.model->mesh, .desc = &save};
    px_precision_search search = {
        .write = &write, .bound = 1e-3 * s.size, .measure = measure_rest, .user = &measured, .guess = NULL};
    frexp(s.size, &search.exponent);
    test_ok(&s.test, px_precision_find(&search, &first, &distance));
    int trials = measured.trials;
    assert_true(distance <= search.bound && first.gains[PX_PRECISION_POSITIONS] > 0);
    search.guess = &first;
    search.bound *= 0.8;
    measured.trials = 0;
    test_ok(&s.test, px_precision_find(&search, &second, &distance));
    assert_true(distance <= search.bound && 2 * measured.trials < trials);
    assert_true(second.precision.bits[PX_PRECISION_POSITIONS] <= first.precision.bits[PX_PRECISION_POSITIONS] + 1);
    coarse = first;
    memset(coarse.precision.bits, PX_PRECISION_MIN, sizeof coarse.precision.bits);
    search.guess = &coarse;
    search.bound = 1e-6 * s.size;
    test_ok(&s.test, px_precision_find(&search, &third, &distance));
    assert_true(distance <= search.bound);
    end(&s);
}

/* Files of a given error have normals where the source has some, and only there. */
static void keeps_normals(void **state) {
    (void)state;
    if (!px_meshopt_encodes())
        skip();
    for (int with = 0; with < 2; with++) {
        subject s;
        size_t bytes;
        pelt_model *file;
        begin(&s, 2);
        test_ok(&s.test, pelt_model_weld(s.context, s.model));
        float *normals = pelt_model_alloc(s.context, s.model, 3 * (size_t)s.model->mesh.vertex_count, sizeof *normals);
        test_ok(&s.test, pelt_mesh_normals(s.context, &s.model->mesh, s.model->mesh.positions, normals));
        s.model->mesh.normals = with ? normals : NULL;
        s.desc.max_error = 0.08 * s.size;
        s.desc.smallest = true;
        run(&s);
        measure(&s, &bytes, &file);
        assert_true((file->mesh.normals != NULL) == with);
        pelt_model_destroy(file);
        end(&s);
    }
}

static void check_limits(size_t limit) {
    subject s;
    size_t bytes;
    pelt_model *file;
    begin(&s, 2);
    s.desc.bones = 8;
    s.desc.influences = 3;
    s.desc.morphs = 2;
    s.desc.bytes = limit;
    run(&s);
    pelt_difference d = measure(&s, &bytes, &file);
    assert_true(s.report.met);
    assert_true(bytes <= limit);
    assert_int_equal(bytes, s.report.chosen.bytes);
    assert_true(file->skin.bone_count <= 8 && file->skin.influence_count <= 3 && file->morphs.morph_count <= 2);
    assert_true(fabs(d.error_rms - s.report.chosen.error_rms) < 1e-3 * d.error_rms);
    for (uint32_t t = 0; t < s.report.trial_count; t++)
        if (s.report.trials[t].bytes <= limit)
            assert_true(s.report.trials[t].error_rms >= s.report.chosen.error_rms);
    if (limit > 1000000) { /* all that may be used fits: nothing else is tried */
        assert_int_equal(s.report.trial_count, 1);
        assert_true(file->skin.bone_count == 8 && file->morphs.morph_count > 0);
    }
    pelt_model_destroy(file);
    end(&s);
}

static void keeps_limits(void **state) {
    (void)state;
    if (!px_meshopt_encodes())
        skip();
    check_limits(9000);
    check_limits(2000000);
}

static void says_what_is_missed(void **state) {
    (void)state;
    subject s;
    if (!px_meshopt_encodes())
        skip();
    begin(&s, 1);
    s.desc.bones = 2;
    s.desc.max_error = 1e-6 * s.size;
    run(&s);
    assert_false(s.report.met);
    assert_true(s.report.chosen.error_max_units > s.desc.max_error);
    end(&s);
}

static void threads(void **state) {
    (void)state;
    written files[2];
    if (!px_meshopt_encodes())
        skip();
    for (uint32_t n = 0; n < 2; n++) {
        subject s;
        begin(&s, n + 1);
        s.desc.max_error = 0.06 * s.size;
        run(&s);
        read_whole(s.path, &files[n]);
        end(&s);
    }
    assert_int_equal(files[0].size, files[1].size);
    assert_memory_equal(files[0].file, files[1].file, files[0].size);
    free(files[0].file);
    free(files[1].file);
}

static void refuses(void **state) {
    (void)state;
    subject s;
    begin(&s, 1);
    s.desc.max_error = 1;
    s.desc.bytes = 1000;
    test_fails(&s.test, pelt_decompose_budget(s.context, s.model, &s.bones, &s.desc, s.path, NULL), PELT_ERROR_USAGE,
               "max_error or bytes");
    s.desc.bytes = 0;
    test_fails(&s.test, pelt_decompose_budget(s.context, s.model, &s.bones, &s.desc, "a.gltf", NULL), PELT_ERROR_USAGE,
               ".glb");
    s.bones.rig = s.model;
    test_fails(&s.test, pelt_decompose_budget(s.context, s.model, &s.bones, &s.desc, s.path, NULL), PELT_ERROR_USAGE,
               "no rig");
    pelt_storage_size sizes[PELT_STORAGES];
    test_fails(&s.test, pelt_storage_sizes(s.context, s.model, 0, sizes), PELT_ERROR_USAGE, "max_error");
    assert_int_equal(s.model->skin.bone_count, 0);
    end(&s);
}

static void other_sizes(void **state) {
    (void)state;
    subject s;
    pelt_storage_size sizes[PELT_STORAGES], coarse[PELT_STORAGES];
    if (!px_meshopt_encodes())
        skip();
    begin(&s, 2);
    test_ok(&s.test, pelt_storage_sizes(s.context, s.model, 0.01 * s.size, sizes));
    test_ok(&s.test, pelt_storage_sizes(s.context, s.model, 0.05 * s.size, coarse));
    for (int n = 0; n < PELT_STORAGES; n++) {
        assert_true(sizes[n].bytes > coarse[n].bytes && coarse[n].bytes > 0);
        assert_true(sizes[n].error_max_units <= 0.01 * s.size && coarse[n].error_max_units <= 0.05 * s.size);
    }
    assert_int_equal(sizes[PELT_STORAGE_SVD].clusters, 1);
    end(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_error),
        cmocka_unit_test(fits_largest_distance),
        cmocka_unit_test(keeps_normals),
        cmocka_unit_test(takes_guesses),
        cmocka_unit_test(rounds_along_hierarchy),
        test_long(keeps_limits),
        cmocka_unit_test(says_what_is_missed),
        test_long(threads),
        cmocka_unit_test(refuses),
        cmocka_unit_test(other_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
