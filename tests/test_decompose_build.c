/* Results of a decomposition in the model: weights, keys, motions between keys. */
#include "support.h"

#include "core/frames.h"
#include "core/math3.h"
#include "decompose/keys.h"
#include "decompose/stretch.h"
#include "scenes.h"

static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

/* ---- Stretch ---------------------------------------------------------------------------------------------- */

static void compose(const double u[9], const double s[3], const double v[9], double out[9]) {
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            out[3 * r + c] =
                u[3 * r] * s[0] * v[3 * c] + u[3 * r + 1] * s[1] * v[3 * c + 1] + u[3 * r + 2] * s[2] * v[3 * c + 2];
}

static void turn_about(int axis, double angle, double out[9]) {
    int p = (axis + 1) % 3, q = (axis + 2) % 3;
    memcpy(out, identity, sizeof identity);
    out[4 * p] = out[4 * q] = cos(angle);
    out[3 * p + q] = -sin(angle);
    out[3 * q + p] = sin(angle);
}

/* Matrices along a path, u from 0 to 1. */
typedef void path_fn(double u, double m[9]);

static void crossing_scales(double u, double m[9]) {
    double a[9], b[9];
    turn_about(2, 2 * u, a);
    turn_about(0, 0.7, b);
    compose(a, (const double[]){0.5 + u, 1.5 - u, 1}, b, m);
}

static void equal_scales(double u, double m[9]) {
    turn_about(1, 5 * u, m);
    for (int e = 0; e < 9; e++)
        m[e] *= 1 + 0.3 * u;
}

static void reflecting(double u, double m[9]) {
    double a[9];
    turn_about(0, u, a);
    compose(a, (const double[]){1 - 2 * u, 1.2, 0.9}, a, m);
}

static void flattening(double u, double m[9]) {
    double a[9], b[9];
    turn_about(0, 3 * u, a);
    turn_about(1, 0.4, b);
    compose(a, (const double[]){1, fmax(1 - 3 * u, 0), fmax(1 - 2 * u, 0)}, b, m);
}

static void turning_axes(double u, double m[9]) {
    double a[9], b[9];
    turn_about(2, 6 * u, a);
    turn_about(2, 6 * u + 0.3 * u, b);
    compose(b, (const double[]){1.4, 0.7, 1}, a, m);
}

/* Two frames half a turn apart, then back again. */
static void half_turns(double u, double m[9]) {
    turn_about(2, u < 0.3 || u > 0.7 ? 0 : 3.14159, m);
}

static void shearing(double u, double m[9]) {
    memcpy(m, identity, sizeof identity);
    m[1] = 3 * (u - 0.5);
    m[5] = -2 * u;
}

static const struct {
    const char *name;
    path_fn *path;
} paths[] = {{"crossing scales", crossing_scales},
             {"equal scales", equal_scales},
             {"reflecting", reflecting},
             {"flattening", flattening},
             {"turning axes", turning_axes},
             {"half turns", half_turns},
             {"shearing", shearing}};

static void stretches_are_exact(void **state) {
    (void)state;
    for (size_t p = 0; p < sizeof paths / sizeof paths[0]; p++) {
        px_stretch path = px_stretch_start(identity);
        for (int k = 0; k <= 40; k++) {
            double m[9], back[9], unit[9];
            paths[p].path(k / 40.0, m);
            px_stretch_follow(&path, m, false);
            compose(path.u, path.s, path.v, back);
            compose(path.u, (const double[]){1, 1, 1}, path.u, unit);
            for (int e = 0; e < 9; e++)
                if (fabs(back[e] - m[e]) > 1e-6 || fabs(unit[e] - identity[e]) > 1e-9)
                    fail_msg("%s, frame %d: element %d is %g, not %g", paths[p].name, k, e, back[e], m[e]);
        }
    }
}

/* ---- Between keys ----------------------------------------------------------------------------------------- */

/* A bone that rotates and hardly deforms: the stretch axes are ambiguous. */
static void nearly_rigid(double u, double m[9]) {
    double a[9], b[9], c[9], first[9], second[9];
    turn_about(0, 2.5 * u, a);
    turn_about(1, 40 * u, b);
    turn_about(2, 70 * u, c);
    compose(b, (const double[]){1.01, 0.99, 1}, b, first);
    compose(c, (const double[]){1.005, 1, 0.99}, c, second);
    for (int e = 0; e < 9; e++)
        b[e] = first[e] + second[e] - identity[e];
    for (int e = 0; e < 9; e++)
        m[e] = a[3 * (e / 3)] * b[e % 3] + a[3 * (e / 3) + 1] * b[3 + e % 3] + a[3 * (e / 3) + 2] * b[6 + e % 3];
}

enum { FRAMES = 11 };

/* Matrix M of the keys at frame k + u, 0 ≤ u ≤ 1. */
static pelt_affine matrix_at(const px_bone_path *path, const px_bone_keys *keys, size_t k, double u) {
    const double *c = path->frame.scales;
    size_t next = k + (k + 1 < FRAMES);
    pelt_transform outer = px_transform_identity(), inner = px_transform_identity();
    px_quat_slerp(keys->rotations + 4 * k, keys->rotations + 4 * next, u, outer.rotation);
    px_quat_slerp(keys->inner_rotations + 4 * k, keys->inner_rotations + 4 * next, u, inner.rotation);
    for (size_t axis = 0; axis < 3; axis++) {
        outer.scale[axis] = (float)((1 - u) * keys->scales[3 * k + axis] + u * keys->scales[3 * next + axis]);
        inner.scale[axis] = (float)(1 / c[axis]);
    }
    pelt_affine bind = px_affine_identity();
    for (int e = 0; e < 9; e++)
        bind.m[4 * (e / 3) + e % 3] = (float)path->frame.axes[3 * (e % 3) + e / 3];
    pelt_affine a = px_affine_from_transform(&outer), b = px_affine_from_transform(&inner), m = px_affine_mul(&a, &b);
    return px_affine_mul(&m, &bind);
}

/* The largest distance of M from linear interpolation halfway between frames, with chosen axes and scales or
 * without. */
static double worst_straying(test_context *test, path_fn *fill, bool chosen) {
    double matrices[FRAMES][12] = {{0}}, worst = 0;
    for (int k = 0; k < FRAMES; k++) {
        double m[9];
        fill(k / (FRAMES - 1.0), m);
        for (int e = 0; e < 9; e++)
            matrices[k][4 * (e / 3) + e % 3] = m[e];
    }
    px_arena *arena = px_arena_create(test->context);
    assert_non_null(arena);
    px_bone_path path = {.kind = &px_bone_affine, .frame_count = FRAMES, .matrices = matrices[0]};
    path.frame = (px_bone_frame){{1, 0, 0, 0, 1, 0, 0, 0, 1}, {1, 1, 1}};
    if (chosen)
        px_keys_frame(&path, 1, &path.frame);
    px_bone_keys keys;
    test_ok(test, px_keys_make(arena, &path, &keys));
    for (size_t k = 0; k < FRAMES; k++) {
        size_t next = k + (k + 1 < FRAMES);
        pelt_affine here = matrix_at(&path, &keys, k, 0), half = matrix_at(&path, &keys, k, 0.5);
        double sum = 0;
        for (int e = 0; e < 12; e++) {
            assert_true(fabs((double)here.m[e] - matrices[k][e]) < 2e-6);
            sum += pow((double)half.m[e] - 0.5 * (matrices[k][e] + matrices[next][e]), 2);
        }
        worst = fmax(worst, sqrt(sum));
    }
    px_arena_destroy(arena);
    return worst;
}

/* Rotations by a deviate from the line by √2 (1 − cos a/2). */
static void factors_do_not_wander(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    for (size_t p = 0; p < sizeof paths / sizeof paths[0]; p++) {
        double plain = worst_straying(&test, paths[p].path, false), chosen = worst_straying(&test, paths[p].path, true);
        printf("%-16s %6.4f, with axes and scales that suit it %6.4f\n", paths[p].name, plain, chosen);
        assert_true(chosen <= 1.2 * plain + 1e-3);
    }
    double arc = sqrt(2) * (1 - cos(0.125)), plain = worst_straying(&test, nearly_rigid, false),
           chosen = worst_straying(&test, nearly_rigid, true);
    printf("%-16s %6.4f, with axes and scales that suit it %6.4f; its arcs %6.4f\n", "nearly rigid", plain, chosen,
           arc);
    assert_true(chosen < 1.2 * arc);
    test_end(&test);
}

/* ---- Fewer keys ------------------------------------------------------------------------------------------- */

static void keys_that_are_not_missed_go(void **state) {
    (void)state;
    enum { KEYS = 400 };
    test_context test;
    test_begin(&test, 1);
    px_arena *arena = px_arena_create(test.context);
    float times[KEYS], values[KEYS][3], turns[KEYS][4];
    for (int k = 0; k < KEYS; k++) {
        double t = k / 60.0;
        times[k] = (float)t;
        values[k][0] = (float)sin(t), values[k][1] = k < 200 ? 0 : (float)(k - 200), values[k][2] = 5;
        double angle = t * t / 8;
        memcpy(turns[k], (float[]){0, 0, (float)sin(angle), (float)cos(angle)}, sizeof turns[k]);
    }
    pelt_track tracks[2] = {{.path = PELT_PATH_TRANSLATION, .width = 3, .values = values[0]},
                            {.path = PELT_PATH_ROTATION, .width = 4, .values = turns[0]}};
    for (int t = 0; t < 2; t++) {
        tracks[t].key_count = KEYS;
        tracks[t].times = times;
        test_ok(&test, px_keys_reduce(arena, &tracks[t], 0.01, false));
        printf("%u of %u keys\n", tracks[t].key_count, KEYS);
        assert_in_range(tracks[t].key_count, 8, 60);
        assert_true(tracks[t].times[0] == times[0]);
        assert_true(tracks[t].times[tracks[t].key_count - 1] == times[KEYS - 1]);
    }
    pelt_model model = {.skeleton = {.joint_count = 1, .parents = (uint32_t[]){PELT_NONE}}};
    pelt_transform rest = px_transform_identity(), now;
    model.skeleton.rest = &rest;
    pelt_motion motion = {.name = "", .end = times[KEYS - 1], .track_count = 2, .tracks = tracks};
    for (int k = 0; k < KEYS; k++) {
        pelt_motion_sample(&model, &motion, times[k], &now, NULL);
        double off = 0, turn = 0;
        for (int c = 0; c < 4; c++) {
            off += c < 3 ? pow(now.translation[c] - values[k][c], 2) : 0;
            turn += pow(now.rotation[c] - turns[k][c], 2);
        }
        assert_true(sqrt(off) <= 0.0101 && sqrt(turn) <= 0.0101);
    }
    px_arena_destroy(arena);
    test_end(&test);
}

static void constant_tracks_become_one_key(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    px_arena *arena = px_arena_create(test.context);
    const float times[4] = {0, 1, 2, 3}, values[4][3] = {{1, 2, 3}, {1, 2, 3}, {1, 2, 3.0001f}, {1, 2, 3}};
    for (int ends = 0; ends < 2; ends++) {
        pelt_track track = {.path = PELT_PATH_SCALE, .width = 3, .key_count = 4, .times = times, .values = values[0]};
        test_ok(&test, px_keys_reduce(arena, &track, 1e-3, ends));
        assert_int_equal(track.key_count, 1 + ends);
        assert_true(track.times[track.key_count - 1] == (ends ? 3 : 0));
        assert_true(track.values[2] == 3);
    }
    /* the same with a tolerance that shows the difference: too few keys to save any */
    pelt_track track = {.path = PELT_PATH_SCALE, .width = 3, .key_count = 4, .times = times, .values = values[0]};
    test_ok(&test, px_keys_reduce(arena, &track, 1e-5, false));
    assert_int_equal(track.key_count, 4);
    px_arena_destroy(arena);
    test_end(&test);
}

/* ---- Whole decompositions --------------------------------------------------------------------------------- */

/* A model with a clip: `mesh` and the cache next to it, or a scene when `mesh` is NULL. `source` evaluates the motion
 * of a rig. */
static void make_input(test_context *test, const char *name, const char *mesh, pelt_model **source,
                       pelt_model **model) {
    *source = NULL;
    if (mesh) {
        char cache[1100];
        snprintf(cache, sizeof cache, "%.*s.pc2", (int)strlen(mesh) - 4, mesh);
        test_ok(test, pelt_load(test->context, (const char *[]){mesh, cache}, 2, NULL, model));
        return;
    }
    scene_desc desc = {.vertex_count = 600, .frame_count = 24};
    test_ok(test, scene_find(name)->make(test->context, &desc, model));
    if ((*model)->clip_count > 0)
        return;
    test_ok(test, scene_find(name)->make(test->context, &desc, source));
    (*model)->clips = pelt_model_alloc(test->context, *model, 1, sizeof(pelt_clip));
    (*model)->clip_count = 1;
    test_ok(test, pelt_clip_from_motion(test->context, *source, (*source)->motions, 30, PELT_SKINNING_LINEAR,
                                        (*model)->clips));
}

static void check_weights(const pelt_model *model) {
    const pelt_skin *skin = &model->skin;
    for (size_t i = 0; i < model->mesh.vertex_count; i++) {
        double sum = 0;
        for (size_t k = 0; k < skin->influence_count; k++) {
            size_t e = i * skin->influence_count + k;
            assert_true(skin->weights[e] >= 0 && skin->bones[e] < skin->bone_count);
            assert_true(k == 0 || skin->weights[e] <= skin->weights[e - 1]);
            sum += (double)skin->weights[e];
        }
        assert_true(fabs(sum - 1) < 1e-6);
    }
}

/* A motion as importers resample it: every track sampled at the frames of the clip. */
static pelt_motion sampled_motion(px_arena *arena, const pelt_model *model, const pelt_clip *clip) {
    pelt_motion motion = *model->motions;
    motion.tracks = PX_NEW(arena, pelt_track, motion.track_count);
    assert_non_null(motion.tracks);
    for (uint32_t t = 0; t < motion.track_count; t++) {
        pelt_track *track = &motion.tracks[t];
        *track = model->motions->tracks[t];
        float *values = PX_NEW(arena, float, (size_t)clip->frame_count * track->width);
        assert_non_null(values);
        for (uint32_t k = 0; k < clip->frame_count; k++)
            px_track_sample(&model->motions->tracks[t], clip->times[k], false, values + (size_t)k * track->width, NULL);
        track->times = clip->times, track->values = values, track->key_count = clip->frame_count;
    }
    return motion;
}

/* The largest distances of a vertex halfway between two frames, in units of the model's size. */
typedef struct halfway {
    double sampled; /* from its position when tracks are sampled on frames */
    double line;    /* from the mean of its positions at the two frames */
} halfway;

static halfway between_frames(test_context *test, pelt_model *model) {
    const pelt_clip *clip = &model->clips[0];
    uint32_t moments = 2 * clip->frame_count - 1, points = clip->point_count;
    size_t size = (size_t)3 * points;
    float *times = calloc(moments, sizeof *times), *poses = calloc(4 * size, sizeof *poses);
    for (uint32_t n = 0; n < moments; n++)
        times[n] = n % 2 ? 0.5f * (clip->times[n / 2] + clip->times[n / 2 + 1]) : clip->times[n / 2];
    px_arena *arena = px_arena_create(test->context);
    assert_non_null(arena);
    pelt_motion motion = sampled_motion(arena, model, clip);
    pelt_clip played, sampled;
    pelt_ball ball;
    test_ok(test, pelt_clip_from_motion_at(test->context, model, model->motions, times, moments, PELT_SKINNING_LINEAR,
                                           &played));
    test_ok(test,
            pelt_clip_from_motion_at(test->context, model, &motion, times, moments, PELT_SKINNING_LINEAR, &sampled));
    halfway worst = {0, 0};
    for (uint32_t k = 0; k + 1 < clip->frame_count; k++) {
        for (uint32_t n = 0; n < 3; n++)
            test_ok(test, pelt_clip_read(test->context, &played, 2 * k + n, 0, points, poses + n * size));
        test_ok(test, pelt_clip_read(test->context, &sampled, 2 * k + 1, 0, points, poses + 3 * size));
        if (k == 0)
            test_ok(test, pelt_enclosing_ball(test->context, poses, points, &ball));
        for (size_t i = 0; i < size; i += 3) {
            double line = 0, other = 0;
            for (size_t e = i; e < i + 3; e++) {
                line += pow((double)poses[size + e] - 0.5 * ((double)poses[e] + (double)poses[2 * size + e]), 2);
                other += pow((double)poses[size + e] - (double)poses[3 * size + e], 2);
            }
            worst.line = fmax(worst.line, sqrt(line) / (2 * ball.radius));
            worst.sampled = fmax(worst.sampled, sqrt(other) / (2 * ball.radius));
        }
    }
    px_arena_destroy(arena);
    free(times);
    free(poses);
    return worst;
}

static double written_error(test_context *test, pelt_model *model) {
    const pelt_clip *clip = &model->clips[0];
    pelt_clip played;
    pelt_difference difference;
    test_ok(test, pelt_clip_from_motion_at(test->context, model, model->motions, clip->times, clip->frame_count,
                                           PELT_SKINNING_LINEAR, &played));
    test_ok(test, pelt_compare_clips(test->context, clip, &played, NULL, &difference, NULL));
    return difference.error_rms;
}

/* Resampling a motion on frames loses nothing; between frames affine bones deviate at most `arcs` times as far as rigid bones
 * must; removing keys costs no more than allowed. */
static void check_input(const char *name, const char *mesh, uint32_t bones, double arcs) {
    static const char *const kinds[] = {"affine", "trs", "rigid"};
    halfway found[3] = {{0, 0}};
    for (uint32_t kind = 0; kind < 3; kind++) {
        double errors[2];
        for (int reduced = 0; reduced < 2; reduced++) {
            test_context test;
            pelt_model *source, *model;
            test_begin(&test, 0);
            make_input(&test, name, mesh, &source, &model);
            pelt_decompose_desc desc = pelt_decompose_desc_default();
            desc.bones = bones;
            desc.iterations = 12;
            desc.transforms = kind;
            desc.key_tolerance = reduced ? 0.01 : 0;
            test_ok(&test, pelt_decompose(test.context, model, &desc, NULL));
            test_ok(&test, pelt_model_validate(test.context, model));
            check_weights(model);
            errors[reduced] = written_error(&test, model);
            halfway worst = between_frames(&test, model);
            found[kind].sampled = fmax(found[kind].sampled, worst.sampled);
            found[kind].line = fmax(found[kind].line, worst.line);
            pelt_model_destroy(model);
            pelt_model_destroy(source);
            test_end(&test);
        }
        printf("%-12s %-6s E_rms %.4f, %.4f with fewer keys; halfway %.1e from sampled, %.5f from the line\n", name,
               kinds[kind], errors[0], errors[1], found[kind].sampled, found[kind].line);
        assert_true(errors[1] <= 1.012 * errors[0] + 2e-3);
        assert_true(found[kind].sampled < 1e-5);
    }
    assert_true(found[0].line < arcs * found[2].line + 2e-3);
}

static void scenes_between_frames(void **state) {
    (void)state;
    check_input("creature", NULL, 12, 1.5);
    check_input("cloth", NULL, 12, 3); /* with 6, 8 … 24 bones 1.1 to 2.7 times */
    check_input("softbody", NULL, 12, 1.5);
}

static void animations_between_frames(void **state) {
    (void)state;
    char horse[1024], cow[1024], samba[1024];
    test_data(horse, "bench/horse-gallop.obj");
    test_data(cow, "bench/elastic-cow.obj");
    test_data(samba, "bench/samba.obj");
    check_input("horse-gallop", horse, 20, 1.5);
    if (!test_all()) /* the others with `make test-all`: they take three times as long */
        return;
    check_input("elastic-cow", cow, 18, 1.5);
    check_input("samba", samba, 20, 1.5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stretches_are_exact),
        cmocka_unit_test(factors_do_not_wander),
        cmocka_unit_test(keys_that_are_not_missed_go),
        cmocka_unit_test(constant_tracks_become_one_key),
        test_long(scenes_between_frames),
        cmocka_unit_test(animations_between_frames),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
