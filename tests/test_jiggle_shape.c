/* Morphs on simulated tissue: displacements and normals of the rest pose rotate with it, and weight tracks are
 * baked. */
#include "support.h"

#include "core/math3.h"
#include "core/rotation.h"
#include "scenes.h"

#define FRAME 7u

static const float move[3] = {0.01f, -0.02f, 0.03f};

typedef struct fixture {
    test_context test;
    pelt_model *model;
    pelt_jiggle_desc desc;
    size_t floats;
    float *before, *after, *normals;
} fixture;

/* A small troll with a morph that moves all vertices and turns their normals to x. */
static void begin(fixture *f) {
    *f = (fixture){.desc = pelt_jiggle_desc_default()};
    f->desc.particles = 300;
    pelt_context *context = test_begin(&f->test, 1);
    scene_desc desc = {.vertex_count = 600, .frame_count = 31};
    test_ok(&f->test, scene_find("troll")->make(context, &desc, &f->model));
    pelt_mesh *mesh = &f->model->mesh;
    assert_non_null(mesh->normals);
    f->floats = 3 * (size_t)mesh->vertex_count;
    float **arrays[] = {&f->before, &f->after, &f->normals};
    for (size_t a = 0; a < 3; a++)
        *arrays[a] = test_malloc(f->floats * sizeof(float));
    pelt_morph *morph = pelt_model_alloc(context, f->model, 1, sizeof *morph);
    float *moves = pelt_model_alloc(context, f->model, f->floats, sizeof *moves);
    float *turns = pelt_model_alloc(context, f->model, f->floats, sizeof *turns);
    assert_true(morph && moves && turns);
    for (size_t e = 0; e < f->floats; e++) {
        moves[e] = move[e % 3];
        turns[e] = (e % 3 == 0 ? 1 : 0) - mesh->normals[e];
    }
    *morph = (pelt_morph){
        .name = "push", .joint = 0, .vertex_count = mesh->vertex_count, .positions = moves, .normals = turns};
    f->model->morphs = (pelt_morph_set){1, morph};
    test_ok(&f->test, pelt_model_validate(context, f->model));
}

static void end(fixture *f) {
    test_free(f->before);
    test_free(f->after);
    test_free(f->normals);
    pelt_model_destroy(f->model);
    test_end(&f->test);
}

/* Upright, lying on its back, and lying at rest but bound upright: the whole rig is rotated, so displacements rotate
 * exactly. */
static void displacements_turn_with_the_rig(void **state) {
    (void)state;
    for (int lying = 0; lying < 3; lying++) {
        fixture f;
        begin(&f);
        pelt_skeleton *skeleton = &f.model->skeleton;
        px_rotation back = {{-sqrt(0.5), 0, 0, sqrt(0.5)}};
        px_rotation turned = px_rotation_mul(back, px_rotation_of(skeleton->rest[0].rotation));
        pelt_transform *locals = test_malloc(skeleton->joint_count * sizeof *locals);
        memcpy(locals, skeleton->rest, skeleton->joint_count * sizeof *locals);
        for (int c = 0; lying && c < 4; c++)
            locals[0].rotation[c] = (float)turned.q[c];
        if (lying == 2)
            skeleton->rest[0] = locals[0];
        pelt_jiggle *jiggle;
        test_ok(&f.test, pelt_jiggle_create(f.test.context, f.model, &f.desc, &jiggle));
        pelt_jiggle_set_pose(jiggle, locals);
        test_free(locals);
        pelt_jiggle_positions(jiggle, f.before, NULL);
        pelt_jiggle_set_weights(jiggle, (const float[]){1});
        pelt_jiggle_positions(jiggle, f.after, f.normals);
        for (size_t e = 0; e < f.floats; e++) {
            float wanted[2][3] = {{move[0], move[1], move[2]}, {move[0], move[2], -move[1]}};
            assert_true(fabsf(f.after[e] - f.before[e] - wanted[lying > 0][e % 3]) < 5e-6f);
            assert_true(fabsf(f.normals[e] - (e % 3 == 0)) < 1e-4f);
        }
        /* Resetting the weights restores the positions to the last bit. */
        pelt_jiggle_set_weights(jiggle, (const float[]){NAN});
        pelt_jiggle_positions(jiggle, f.after, NULL);
        assert_memory_equal(f.before, f.after, f.floats * sizeof(float));
        pelt_jiggle_destroy(jiggle);
        end(&f);
    }
}

/* A weight track affects every frame of the bake and nothing else: the rig swings as without it. */
static void bakes_play_tracks_of_weights(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    pelt_clip plain, morphed;
    pelt_motion motion = f.model->motions[0];
    test_ok(&f.test, pelt_jiggle_bake(f.test.context, f.model, &motion, &f.desc, NULL, &plain, NULL));
    const float times[] = {motion.start, motion.end}, values[] = {0, 1};
    pelt_track *tracks =
        pelt_model_alloc(f.test.context, f.model, (size_t)motion.track_count + 1, sizeof *motion.tracks);
    assert_non_null(tracks);
    memcpy(tracks, motion.tracks, motion.track_count * sizeof *tracks);
    tracks[motion.track_count++] = (pelt_track){.joint = 0,
                                                .path = PELT_PATH_WEIGHTS,
                                                .interpolation = PELT_INTERPOLATION_LINEAR,
                                                .width = 1,
                                                .key_count = 2,
                                                .times = times,
                                                .values = values};
    motion.tracks = tracks;
    test_ok(&f.test, pelt_jiggle_bake(f.test.context, f.model, &motion, &f.desc, NULL, &morphed, NULL));
    assert_int_equal(plain.frame_count, morphed.frame_count);
    double expected = sqrt((double)px_dot3(move, move)) * FRAME / (plain.frame_count - 1), sum = 0;
    const float *a = plain.positions + 3 * (size_t)plain.point_count * FRAME;
    const float *b = morphed.positions + 3 * (size_t)plain.point_count * FRAME;
    for (size_t p = 0; p < plain.point_count; p++) {
        float off[3];
        px_sub3(b + 3 * p, a + 3 * p, off);
        sum += sqrt((double)px_dot3(off, off)) / plain.point_count;
    }
    assert_true(fabs(sum / expected - 1) < 0.1); /* cells stretch slightly */
    assert_memory_equal(plain.positions, morphed.positions, f.floats * sizeof(float));
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(displacements_turn_with_the_rig),
        cmocka_unit_test(bakes_play_tracks_of_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
