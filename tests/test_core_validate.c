/* core/validate.c: a valid model passes; each invariant, violated alone, is named in the error. */
#include "support.h"

#include "core/core.h"

#include <math.h>

/* A model with all kinds of data: five vertices of four points, a quad and a triangle in two parts, a clip, three
 * joints, a motion, a skin, morphs, a driver of the last two. */
typedef struct full {
    pelt_model model;
    float positions[15], clip_times[2], clip_positions[24], times[3], values[36], weights[10], deltas[6];
    uint32_t points[5], point_firsts[5], triangles[9], polygons[3], weld[5], weld_firsts[5], parents[3], bone_joints[2];
    uint16_t bones[10];
    pelt_part parts[2];
    pelt_clip clip;
    const char *names[3];
    pelt_transform rest[3];
    pelt_motion motion;
    pelt_track tracks[2];
    pelt_affine binds[2];
    pelt_morph morphs[3];
    pelt_driver driver;
    float centres[8], coefficients[6];
    uint32_t driven[2];
} full;

static void fill_mesh(full *f) {
    static const uint32_t triangles[9] = {0, 1, 2, 0, 2, 3, 2, 1, 4}, points[5] = {0, 1, 2, 3, 3},
                          firsts[4] = {0, 1, 2, 3}, weld[5] = {0, 1, 2, 3, 3};
    memcpy(f->triangles, triangles, sizeof triangles);
    memcpy(f->points, points, sizeof points);
    memcpy(f->weld, weld, sizeof weld);
    memcpy(f->point_firsts, firsts, sizeof firsts);
    memcpy(f->weld_firsts, firsts, sizeof firsts);
    f->polygons[2] = 1;
    f->parts[0] = (pelt_part){.name = "quad", .triangle_count = 2, .vertex_count = 4, .joint = 2};
    f->parts[1] = (pelt_part){.name = "", .first_triangle = 2, .triangle_count = 1, .joint = PELT_NONE};
    f->model.mesh = (pelt_mesh){.vertex_count = 5,
                                .triangle_count = 3,
                                .polygon_count = 2,
                                .part_count = 2,
                                .positions = f->positions,
                                .triangles = f->triangles,
                                .triangle_polygons = f->polygons,
                                .parts = f->parts,
                                .points = {4, f->points, f->point_firsts},
                                .weld = {4, f->weld, f->weld_firsts}};
    f->clip = (pelt_clip){"clip", 2, 4, f->clip_times, f->clip_positions, {0}};
    f->model.clip_count = 1;
    f->model.clips = &f->clip;
}

static void fill_rig(full *f) {
    for (int j = 0; j < 3; j++) {
        f->names[j] = "joint";
        f->parents[j] = j ? (uint32_t)j - 1 : PELT_NONE;
        f->rest[j] = (pelt_transform){{0, 0, 0}, {0, 0, 0, 1}, {1, 1, 1}};
    }
    f->model.skeleton = (pelt_skeleton){3, f->names, f->parents, f->rest};
    f->times[0] = 0.5f, f->times[1] = 1, f->times[2] = 4;
    f->tracks[0] = (pelt_track){1, PELT_PATH_ROTATION, PELT_INTERPOLATION_CUBIC, 4, 3, f->times, f->values};
    f->tracks[1] = (pelt_track){2, PELT_PATH_WEIGHTS, PELT_INTERPOLATION_LINEAR, 2, 2, f->times, f->values};
    f->motion = (pelt_motion){"motion", 0.5f, 4, 2, f->tracks};
    f->model.motion_count = 1;
    f->model.motions = &f->motion;
    for (int i = 0; i < 5; i++) {
        f->weights[2 * i] = 0.75f, f->weights[2 * i + 1] = 0.25f;
        f->bones[2 * i] = 1;
    }
    f->bone_joints[0] = 2;
    f->model.skin = (pelt_skin){2, 2, f->bone_joints, f->binds, f->bones, f->weights};
    f->morphs[0] = (pelt_morph){.name = "a", .joint = 0, .first_vertex = 4, .vertex_count = 1, .positions = f->deltas};
    f->morphs[1] = (pelt_morph){.name = "b", .joint = 2, .first_vertex = 3, .vertex_count = 2, .positions = f->deltas};
    f->morphs[2] = (pelt_morph){.name = "c", .joint = 2, .index = 1};
    f->model.morphs = (pelt_morph_set){3, f->morphs};
}

static void fill_driver(full *f) {
    f->centres[3] = f->centres[4] = 1;
    f->driven[0] = 2, f->driven[1] = 1;
    f->driver = (pelt_driver){.joint = 1,
                              .part = PELT_ROTATION_SWING,
                              .axis = {0, 1, 0},
                              .kernel = PELT_KERNEL_GAUSSIAN,
                              .radius = 0.5f,
                              .centre_count = 2,
                              .centres = f->centres,
                              .morph_count = 2,
                              .morphs = f->driven,
                              .coefficients = f->coefficients};
    f->model.driver_count = 1;
    f->model.drivers = &f->driver;
}

static full *fresh(void) {
    static full f;
    memset(&f, 0, sizeof f);
    fill_mesh(&f);
    fill_rig(&f);
    fill_driver(&f);
    return &f;
}

static pelt_result validate_user(pelt_context *context, void *user) {
    return pelt_model_validate(context, user);
}

static void good_models_pass(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    test_ok(&test, pelt_model_validate(context, &fresh()->model));
    full *f = fresh(); /* no maps, no parts, no weld, no skin */
    f->model.mesh.triangle_polygons = NULL;
    f->model.mesh.points = (pelt_vertex_classes){.count = 5};
    f->model.mesh.weld = (pelt_vertex_classes){0};
    f->clip.point_count = 5;
    f->model.mesh.polygon_count = 3;
    f->model.mesh.part_count = f->model.skin.bone_count = 0;
    f->clip_times[1] = f->clip_times[0]; /* frames may have equal times */
    f->tracks[1].width = 3;              /* weight tracks without morphs are valid */
    f->driver.part = PELT_ROTATION_WHOLE;
    f->driver.axis[1] = 0; /* the whole rotation needs no axis */
    f->driver.centre_count = 0;
    f->driver.centres = NULL; /* constants need no centres */
    test_ok(&test, pelt_model_validate(context, &f->model));
    pelt_model empty = {0};
    test_ok(&test, pelt_model_validate(context, &empty));
    test_end(&test);
    test_fail_each_allocation(1, validate_user, &fresh()->model);
}

#define BREAK(change, words)                                                                                           \
    do {                                                                                                               \
        full *f = fresh();                                                                                             \
        change;                                                                                                        \
        test_fails(&test, pelt_model_validate(context, &f->model), PELT_ERROR_INPUT, words);                           \
    } while (0)

static void broken_meshes_are_named(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    BREAK(f->positions[7] = NAN, "vertex 2: its position is not finite");
    BREAK(f->positions[14] = -INFINITY, "vertex 4: its position is not finite");
    BREAK(f->model.mesh.positions = NULL, "positions are missing");
    BREAK(f->model.mesh.triangles = NULL, "triangles are missing");
    BREAK(f->triangles[5] = 5, "triangle 1: refers to vertex 5 of 5");
    BREAK(f->points[1] = 4, "mesh.points: vertex 1 is of class 4 of 4");
    BREAK(f->points[1] = 0, "mesh.points: the first vertex of class 1 is 1, which is not of that class");
    BREAK(f->point_firsts[1] = 5, "mesh.points: the first vertex of class 1 is 5, which is not of that class");
    BREAK(f->point_firsts[3] = 4, "mesh.points: the first vertex of class 3 is 3, not 4");
    BREAK(f->model.mesh.points.count = 6, "mesh.points: 6 classes but only 5 vertices");
    BREAK(f->model.mesh.points.of = NULL, "mesh.points: 'of' and 'first' come together");
    BREAK(f->model.mesh.points.first = NULL, "mesh.points: 'of' and 'first' come together");
    BREAK(f->model.mesh.points = (pelt_vertex_classes){.count = 4}, "mesh.points: 4 classes for 5 vertices");
    BREAK(f->polygons[2] = 2, "triangle 2: is of polygon 2 of 2");
    BREAK(f->polygons[0] = 1, "triangle 1: its polygon 0 comes before the last one, 1");
    BREAK(f->triangles[4] = 1, "triangle 1: does not continue the fan of polygon 0");
    BREAK(f->triangles[3] = 4, "triangle 1: does not continue the fan");
    BREAK(f->model.mesh.triangle_polygons = NULL, "2 polygons for 3 triangles");
    BREAK(f->parts[1].name = NULL, "part 1: has no name");
    BREAK(f->parts[1].first_triangle = 1, "part 1: begins at triangle 1, should at 2");
    BREAK(f->parts[1].triangle_count = 0, "its parts have 2 triangles, the mesh 3");
    BREAK(f->parts[1].triangle_count = UINT32_MAX, "its parts have 4294967297 triangles");
    BREAK(f->parts[0].first_vertex = 2, "part 0: has vertices 2 to 6 of 5");
    BREAK(f->parts[0].first_vertex = UINT32_MAX, "part 0: has vertices");
    BREAK(f->parts[0].joint = 3, "part 0: hangs from joint 3 of 3");
    BREAK(f->model.mesh.parts = NULL, "2 parts, but no list");
    BREAK((f->weld[1] = f->weld_firsts[1] = 2, f->weld[2] = f->weld_firsts[2] = 1),
          "mesh.weld: class 2 appears before class 1");
    BREAK(f->model.mesh.weld.count = 5, "mesh.weld: the first vertex of class 4 is 0");
    BREAK(f->model.mesh.weld = (pelt_vertex_classes){.count = 4}, "mesh.weld: 4 classes for 5 vertices");
    BREAK(f->clip.name = NULL, "clip 0: has no name");
    BREAK(f->clip.point_count = 5, "clip 0: has 5 points, the mesh 4");
    BREAK(f->clip.times = NULL, "clip 0: has 2 frames, but no times");
    BREAK(f->clip.positions = NULL, "clip 0: has neither positions nor a source");
    BREAK(f->clip_times[1] = -1, "clip 0: the time of frame 1");
    BREAK(f->clip_times[0] = NAN, "clip 0: the time of frame 0");
    BREAK(f->model.clips = NULL, "1 clips, but no list");
    test_end(&test);
}

static void broken_rigs_are_named(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    BREAK(f->names[2] = NULL, "joint 2: has no name");
    BREAK(f->parents[1] = 1, "joint 1: its parent, 1, must come before it");
    BREAK(f->parents[0] = 2, "joint 0: its parent, 2, must");
    BREAK(f->rest[1].translation[2] = INFINITY, "joint 1: its translation or scale is not finite");
    BREAK(f->rest[1].scale[0] = NAN, "joint 1: its translation or scale is not finite");
    BREAK(f->rest[2].rotation[3] = 0, "joint 2: its rotation has length 0");
    BREAK(f->rest[2].rotation[0] = NAN, "joint 2: its rotation has length");
    BREAK(f->rest[2].rotation[3] = 1.01f, "joint 2: its rotation has length 1.01");
    BREAK(f->model.skeleton.rest = NULL, "rest transforms are missing");
    BREAK(f->model.motions = NULL, "1 motions, but no list");
    BREAK(f->motion.name = NULL, "motion 0: has no name");
    BREAK(f->motion.tracks = NULL, "motion 0: 2 tracks, but no list");
    BREAK(f->motion.start = 0, "motion 0: says it goes from 0 to 4");
    BREAK(f->motion.end = 5, "motion 0: says it goes from 0.5 to 5");
    BREAK((f->motion.track_count = 0, f->motion.end = NAN), "motion 0: says");
    BREAK(f->tracks[0].joint = 3, "motion 0 track 0: moves joint 3 of 3");
    BREAK(f->tracks[0].path = (pelt_path)4, "track 0: unknown property");
    BREAK(f->tracks[0].interpolation = (pelt_interpolation)3, "track 0: unknown property or interpolation");
    BREAK(f->tracks[1].key_count = 0, "track 1: has no keys");
    BREAK(f->tracks[1].values = NULL, "track 1: has no keys");
    BREAK(f->tracks[0].width = 3, "track 0: has 3 numbers per key, should have 4");
    BREAK(f->tracks[1].width = 1, "track 1: has 1 morph weights, joint 2 needs 2");
    BREAK((f->tracks[1].width = 0, f->tracks[1].joint = 1), "track 1: has 0 morph weights");
    BREAK(f->times[1] = 0.5f, "track 0: the time of key 1, 0.5, is not finite or not after");
    BREAK(f->times[2] = INFINITY, "track 0: the time of key 2");
    BREAK(f->values[35] = NAN, "track 0: the value of key 2 is not finite");
    BREAK(f->model.skin.bone_count = 65536, "65536 bones");
    BREAK(f->model.skin.influence_count = 0, "0 influences");
    BREAK(f->model.skin.influence_count = 9, "9 influences per vertex; 1 to 8");
    BREAK(f->model.skin.bones = NULL, "bones or weights are missing");
    BREAK(f->bone_joints[1] = 3, "bone 1: refers to joint 3 of 3");
    BREAK(f->binds[1].m[11] = NAN, "bone 1: its inverse bind matrix is not finite");
    BREAK(f->bones[9] = 2, "vertex 4: refers to bone 2 of 2");
    BREAK(f->weights[3] = -0.25f, "vertex 1: its weight 1 is -0.25");
    BREAK(f->weights[2] = NAN, "vertex 1: its weight 0 is");
    BREAK((f->weights[0] = 0.25f, f->weights[1] = 0.75f), "vertex 0: its weights are not sorted");
    BREAK(f->weights[8] = 0.752f, "vertex 4: its weights sum to 1.002");
    BREAK(f->weights[8] = INFINITY, "vertex 4: its weights sum to");
    BREAK(f->model.morphs.morphs = NULL, "3 morphs, but no list");
    BREAK(f->morphs[0].name = NULL, "morph 0: has no name");
    BREAK(f->morphs[2].joint = 3, "morph 2: belongs to joint 3 of 3");
    BREAK(f->morphs[1].index = 2, "morph 2: is not sorted");
    BREAK(f->morphs[0].joint = 2; f->morphs[1].joint = 1, "morph 1: is not sorted");
    BREAK(f->morphs[1].first_vertex = 4, "morph 1: moves vertices 4 to 6 of 5");
    BREAK(f->morphs[1].weight = NAN, "morph 1: its weight is not finite");
    BREAK(f->morphs[1].positions = NULL, "morph 1: has no displacements");
    BREAK(f->deltas[3] = NAN, "morph 1: the displacement of vertex 4 is not finite");
    test_end(&test);
}

static void broken_drivers_are_named(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    BREAK(f->model.drivers = NULL, "1 drivers, but no list");
    BREAK(f->driver.joint = 3, "driver 0: follows joint 3 of 3");
    BREAK(f->driver.part = (pelt_rotation_part)3, "driver 0: unknown part");
    BREAK(f->driver.kernel = (pelt_kernel)3, "driver 0: unknown part of a rotation or kernel");
    BREAK(f->driver.axis[1] = 1.01f, "driver 0: its axis has length 1.01");
    BREAK((f->driver.part = PELT_ROTATION_TWIST, f->driver.axis[0] = NAN), "driver 0: its axis has length");
    BREAK(f->driver.radius = 0, "driver 0: its radius is 0");
    BREAK(f->driver.radius = NAN, "driver 0: its radius is");
    BREAK(f->driver.radius = INFINITY, "driver 0: its radius is");
    BREAK(f->driver.centres = NULL, "driver 0: its centres, morphs or coefficients are missing");
    BREAK(f->driver.morphs = NULL, "driver 0: its centres, morphs");
    BREAK(f->driver.coefficients = NULL, "driver 0: its centres, morphs");
    BREAK(f->centres[4] = 0, "driver 0: its centre 1 has length 0");
    BREAK(f->centres[7] = NAN, "driver 0: its centre 1 has length");
    BREAK(f->driven[1] = 3, "driver 0: drives morph 3 of 3");
    BREAK(f->coefficients[4] = INFINITY, "driver 0: coefficient 1 of morph 1 is not finite");
    test_end(&test);
}

/* Large arrays are scanned in blocks: the reported index is correct at block borders too. */
static void places_in_large_arrays(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    enum { VERTICES = 20000 };
    static float positions[3 * VERTICES];
    static uint32_t triangles[3 * VERTICES];
    pelt_model model = {.mesh = {.vertex_count = VERTICES, .points.count = VERTICES, .triangle_count = VERTICES}};
    model.mesh.polygon_count = VERTICES;
    model.mesh.positions = positions;
    model.mesh.triangles = triangles;
    test_ok(&test, pelt_model_validate(context, &model));
    for (uint32_t e = 0; e < 3 * VERTICES; e += e % 4096 < 4090 ? 4090 - e % 4096 : 1) {
        char words[64];
        positions[e] = INFINITY;
        snprintf(words, sizeof words, "vertex %u: its position is not finite", e / 3);
        test_fails(&test, pelt_model_validate(context, &model), PELT_ERROR_INPUT, words);
        positions[e] = 0;
        triangles[e] = VERTICES;
        snprintf(words, sizeof words, "triangle %u: refers to vertex %u of %u", e / 3, VERTICES, VERTICES);
        test_fails(&test, pelt_model_validate(context, &model), PELT_ERROR_INPUT, words);
        triangles[e] = 0;
    }
    test_end(&test);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_models_pass),       cmocka_unit_test(broken_meshes_are_named),
        cmocka_unit_test(broken_rigs_are_named),  cmocka_unit_test(broken_drivers_are_named),
        cmocka_unit_test(places_in_large_arrays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
