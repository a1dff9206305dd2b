/* Run-time cost of pose-driven corrections, relative to skinning alone: drivers (radial basis functions of joint
 * rotations), morphs, linear blend skinning, for every vertex and frame.
 *
 * A chain of 60 joints in a tube of 30,000 and 300,000 vertices, and a production character in its own order of vertices. Every
 * joint has 5 modes and 6 example poses; a mode moves the vertices of which its joint is one of the two heaviest bones,
 * so that a vertex has up to 10 displacements. "skin alone" is pelt_skin_run without morphs; "drivers" are the weights alone. The
 * others are drivers, packed morphs and skinning: "one pass" in jobs with morphs, "two passes" by pelt_morph_run_packed for the
 * whole mesh and then pelt_skin_run, "unpacked" the same by pelt_morph_run, "prepared" in one pass of the prepared skin, without
 * and with drivers and morphs. All relative to "skin alone". Bytes are those that a vertex streams in and out of
 * memory: rest, weights, bones, packed displacements, result; two passes also write and read the morphed mesh. Times are
 * the least of many rounds, in which the variants take turns, to exclude effects of other programs.
 *
 *   bench_pose [ROUNDS]
 */
#include "build.h"
#include "core/core.h"
#include "core/rotation.h"

#include <pelt/pelt.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define JOINTS  60u
#define SIDES   20u
#define MODES   5u
#define CENTRES 6u

static scene_random random_numbers = {1};

static void check(pelt_context *context, pelt_result result) {
    if (result == PELT_OK)
        return;
    fprintf(stderr, "bench_pose: %s\n", pelt_error_text(context));
    exit(1);
}

static void *array(pelt_context *context, pelt_model *model, size_t count, size_t size) {
    void *out = pelt_model_alloc(context, model, count, size);
    if (!out)
        check(context, PELT_ERROR_MEMORY);
    return out;
}
#define ARRAY(type, count) ((type *)array(context, model, count, sizeof(type)))

static void random_rotation(double angle, float q[4]) {
    px_rotation a = px_rotation_identity();
    for (int axis = 0; axis < 3; axis++)
        a = px_rotation_mul(a, px_rotation_about(axis, scene_random_range(&random_numbers, -angle, angle)));
    px_rotation_store(a, q);
}

/* ---- Rigs ------------------------------------------------------------------------------------------------- */

/* Four influences: the two joints around a ring, and one more on each side. */
static pelt_model *make_chain(pelt_context *context, uint32_t rings) {
    pelt_model *model;
    check(context, pelt_model_create(context, &model));
    pelt_mesh *mesh = &model->mesh;
    mesh->vertex_count = mesh->points.count = rings * SIDES;
    mesh->positions = ARRAY(float, 3 * rings * SIDES);
    mesh->normals = ARRAY(float, 3 * rings * SIDES);
    model->skeleton =
        (pelt_skeleton){JOINTS, ARRAY(const char *, JOINTS), ARRAY(uint32_t, JOINTS), ARRAY(pelt_transform, JOINTS)};
    model->skin = (pelt_skin){JOINTS,
                              4,
                              ARRAY(uint32_t, JOINTS),
                              ARRAY(pelt_affine, JOINTS),
                              ARRAY(uint16_t, 4 * rings * SIDES),
                              ARRAY(float, 4 * rings * SIDES)};
    for (uint32_t j = 0; j < JOINTS; j++) {
        model->skeleton.names[j] = "";
        model->skeleton.parents[j] = j - 1; /* PELT_NONE of the first */
        model->skeleton.rest[j] = px_transform_identity();
        model->skeleton.rest[j].translation[1] = j > 0;
        model->skin.bone_joints[j] = j;
        model->skin.inverse_binds[j] = px_affine_identity();
        model->skin.inverse_binds[j].m[7] = -(float)j;
    }
    for (uint32_t i = 0; i < rings * SIDES; i++) {
        double at = (double)(i / SIDES) * (JOINTS - 3.0) / rings + 1, angle = 2 * PX_DEGREE * 180 * (i % SIDES) / SIDES;
        uint16_t below = (uint16_t)at, bones[4] = {below, below + 1, below - 1, (uint16_t)(below + 2) % JOINTS};
        float normal[3] = {(float)cos(angle), 0, (float)sin(angle)}, u = (float)(at - below);
        bool upper = u > 0.5f;
        float weights[4] = {upper ? u : 1 - u, upper ? 1 - u : u};
        for (int c = 0; c < 3; c++) {
            mesh->normals[3 * i + c] = normal[c];
            mesh->positions[3 * i + c] = c == 1 ? (float)at : 0.3f * normal[c];
        }
        for (int k = 0; k < 4; k++) {
            model->skin.bones[4 * i + k] = bones[k < 2 && upper ? 1 - k : k];
            model->skin.weights[4 * i + k] = (weights[k] + 0.0625f) / 1.25f;
        }
    }
    return model;
}

static pelt_model *make_character(pelt_context *context) {
    pelt_model *model;
    scene_desc desc = {.vertex_count = 30000};
    check(context, scene_find("production")->make(context, &desc, &model));
    return model;
}

/* ---- Corrections ------------------------------------------------------------------------------------------ */

/* Whether a bone is one of a vertex's two heaviest. */
static bool moves(const pelt_skin *skin, uint32_t vertex, uint32_t bone) {
    size_t first = (size_t)vertex * skin->influence_count;
    return (skin->bones[first] == bone && skin->weights[first] > 0) ||
           (skin->influence_count > 1 && skin->bones[first + 1] == bone && skin->weights[first + 1] > 0);
}

static float *random_offsets(pelt_context *context, pelt_model *model, uint32_t bone, uint32_t first, uint32_t count) {
    float *offsets = ARRAY(float, 3 * (size_t)count);
    for (uint32_t i = 0; i < count; i++)
        for (int c = 0; c < 3 && moves(&model->skin, first + i, bone); c++)
            offsets[3 * i + c] = (float)scene_random_range(&random_numbers, -0.05, 0.05);
    return offsets;
}

static void add_modes(pelt_context *context, pelt_model *model, uint32_t bone) {
    uint32_t first = 0, end = model->mesh.vertex_count;
    while (first < end && !moves(&model->skin, first, bone))
        first++;
    while (first < end && !moves(&model->skin, end - 1, bone))
        end--;
    for (uint32_t mode = 0; mode < MODES; mode++)
        model->morphs.morphs[model->morphs.morph_count++] =
            (pelt_morph){.name = "",
                         .index = bone * MODES + mode,
                         .first_vertex = first,
                         .vertex_count = end - first,
                         .positions = random_offsets(context, model, bone, first, end - first),
                         .normals = random_offsets(context, model, bone, first, end - first)};
}

static void add_driver(pelt_context *context, pelt_model *model, uint32_t bone) {
    float *centres = ARRAY(float, 4 * CENTRES), *coefficients = ARRAY(float, MODES *(CENTRES + 1));
    uint32_t *morphs = ARRAY(uint32_t, MODES);
    for (uint32_t c = 0; c < CENTRES; c++)
        random_rotation(1, centres + 4 * c);
    for (uint32_t e = 0; e < MODES * (CENTRES + 1); e++)
        coefficients[e] = (float)scene_random_range(&random_numbers, -1, 1);
    for (uint32_t m = 0; m < MODES; m++)
        morphs[m] = bone * MODES + m;
    model->drivers[model->driver_count++] = (pelt_driver){.joint = model->skin.bone_joints[bone],
                                                          .radius = 1,
                                                          .centre_count = CENTRES,
                                                          .centres = centres,
                                                          .morph_count = MODES,
                                                          .morphs = morphs,
                                                          .coefficients = coefficients};
}

static void add_corrections(pelt_context *context, pelt_model *model) {
    uint32_t bone_count = model->skin.bone_count;
    model->morphs = (pelt_morph_set){0, ARRAY(pelt_morph, (size_t)MODES * bone_count)};
    model->drivers = ARRAY(pelt_driver, bone_count);
    for (uint32_t b = 0; b < bone_count; b++) {
        add_modes(context, model, b);
        add_driver(context, model, b);
    }
    check(context, pelt_model_validate(context, model));
}

/* ---- Measuring -------------------------------------------------------------------------------------------- */

typedef struct frame {
    const pelt_model *model;
    pelt_prepared_skin prepared;
    pelt_packed_morphs packed, packed_prepared;
    pelt_transform *locals;
    pelt_affine *palette;
    float *weights;
    bool corrects_normals;            /* whether morphs move normals */
    float *morphed, *morphed_normals; /* of the whole mesh, for two passes */
    float *positions, *normals;       /* output; normals NULL: not computed */
} frame;

static pelt_packed_morphs used(const frame *f, pelt_packed_morphs packed) {
    packed.normals = f->corrects_normals ? packed.normals : NULL;
    return packed;
}

static pelt_skin_job make_job(const frame *f) {
    const pelt_mesh *mesh = &f->model->mesh;
    const pelt_skin *s = &f->model->skin;
    return (pelt_skin_job){.vertex_count = mesh->vertex_count,
                           .influence_count = s->influence_count,
                           .bones = s->bones,
                           .weights = s->weights,
                           .palette = f->palette,
                           .positions = mesh->positions,
                           .normals = f->normals ? mesh->normals : NULL,
                           .out_positions = f->positions,
                           .out_normals = f->normals};
}

static void run_plain(const frame *f) {
    pelt_skin_job job = make_job(f);
    pelt_skin_run(&job);
}

static void run_drivers(const frame *f) {
    pelt_pose_weights(f->model, f->locals, f->weights);
}

static void run_one_pass(const frame *f) {
    pelt_skin_job job = make_job(f);
    run_drivers(f);
    job.morphs = used(f, f->packed);
    job.morph_weights = f->weights;
    pelt_skin_run(&job);
}

static void skin_morphed(const frame *f) {
    pelt_skin_job job = make_job(f);
    job.positions = f->morphed;
    job.normals = f->corrects_normals ? f->morphed_normals : job.normals;
    pelt_skin_run(&job);
}

static void run_two_passes(const frame *f) {
    const pelt_mesh *mesh = &f->model->mesh;
    run_drivers(f);
    pelt_morph_run_packed(mesh, &f->packed, f->weights, 0, mesh->vertex_count, f->morphed,
                          f->corrects_normals ? f->morphed_normals : NULL);
    skin_morphed(f);
}

static void run_unpacked(const frame *f) {
    run_drivers(f);
    pelt_morph_run(&f->model->mesh, &f->model->morphs, f->weights, f->morphed,
                   f->corrects_normals ? f->morphed_normals : NULL, NULL);
    skin_morphed(f);
}

static pelt_prepared_job make_prepared(const frame *f) {
    return (pelt_prepared_job){.prepared = &f->prepared,
                               .group_count = PELT_NONE,
                               .palette = f->palette,
                               .out_positions = f->positions,
                               .out_normals = f->normals};
}

static void run_prepared_plain(const frame *f) {
    pelt_prepared_job job = make_prepared(f);
    pelt_prepared_run(&job);
}

static void run_prepared(const frame *f) {
    pelt_prepared_job job = make_prepared(f);
    run_drivers(f);
    job.morphs = used(f, f->packed_prepared);
    job.morph_weights = f->weights;
    pelt_prepared_run(&job);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum { PLAIN, DRIVERS, ONE_PASS, TWO_PASSES, PREPARED_PLAIN, PREPARED, UNPACKED, WAYS };

/* Runs variants [first, end) in turns and keeps the least time of each. */
static void measure(const frame *f, int first, int end, long rounds, double seconds[WAYS]) {
    static void (*const ways[WAYS])(const frame *) = {run_plain,          run_drivers,  run_one_pass, run_two_passes,
                                                      run_prepared_plain, run_prepared, run_unpacked};
    for (int w = first; w < end; w++)
        seconds[w] = INFINITY;
    for (long r = 0; r < rounds; r++)
        for (int w = first; w < end; w++) {
            double start = now();
            ways[w](f);
            seconds[w] = fmin(seconds[w], now() - start);
        }
}

static void print_row(const frame *f, const char *name, const char *arrays, long rounds) {
    double seconds[WAYS];
    measure(f, PLAIN, UNPACKED, rounds, seconds);
    measure(f, UNPACKED, WAYS, rounds / 10 + 1, seconds); /* separately: it would evict the others from the cache */
    size_t count = f->packed.vertex_count, blocks = (count + PELT_MORPH_BLOCK - 1) / PELT_MORPH_BLOCK;
    double entries = (double)f->packed.offsets[blocks], morphed = f->corrects_normals ? 24 : 12;
    double bytes = 6.0 * f->model->skin.influence_count + (f->normals ? 48 : 24) +
                   (f->corrects_normals ? 2 : 1) * entries * sizeof(pelt_packed_delta) / (double)count;
    printf("| %s | %zu | %u | %.1f | %s | %.0f | %.2f |", name, count, f->model->driver_count * MODES,
           entries / (double)blocks, arrays, 1e6 * seconds[PLAIN], seconds[DRIVERS] / seconds[PLAIN]);
    for (int w = ONE_PASS; w < WAYS; w++)
        printf(" %.2f |", seconds[w] / seconds[PLAIN]);
    printf(" %.0f | %.0f |\n", bytes, bytes + 2 * morphed);
}

static void bench(pelt_context *context, const char *name, pelt_model *model, long rounds) {
    size_t floats = 3 * (size_t)model->mesh.vertex_count;
    add_corrections(context, model);
    frame f = {.model = model, .locals = ARRAY(pelt_transform, model->skeleton.joint_count)};
    check(context, pelt_morph_pack(context, model, &f.packed));
    check(context, pelt_skin_prepare(context, model, &f.prepared));
    check(context, pelt_morph_pack_prepared(context, model, &f.prepared, &f.packed_prepared));
    pelt_affine *globals = ARRAY(pelt_affine, model->skeleton.joint_count);
    f.palette = ARRAY(pelt_affine, model->skin.bone_count);
    f.weights = ARRAY(float, model->morphs.morph_count);
    f.morphed = ARRAY(float, floats);
    f.morphed_normals = ARRAY(float, floats);
    f.positions = ARRAY(float, floats);
    for (uint32_t j = 0; j < model->skeleton.joint_count; j++) {
        f.locals[j] = model->skeleton.rest[j];
        random_rotation(0.5, f.locals[j].rotation);
    }
    pelt_skeleton_globals(&model->skeleton, f.locals, globals);
    pelt_skin_palette(&model->skin, globals, f.palette);
    print_row(&f, name, "positions", rounds);
    f.normals = ARRAY(float, floats);
    print_row(&f, name, "+ normals", rounds);
    f.corrects_normals = true;
    print_row(&f, name, "+ normals, corrected too", rounds);
    pelt_model_destroy(model);
}

int main(int argc, char **argv) {
    long rounds = argc > 1 ? atol(argv[1]) : 200;
    pelt_context *context;
    if (pelt_context_create(NULL, &context) != PELT_OK)
        return 1;
    printf("%u modes a joint, %u example poses, least of %ld rounds on one thread, %s\n", MODES, CENTRES, rounds,
           pelt_simd_name(pelt_simd_best()));
    printf(
        "| rig | vertices | morphs | of a block | arrays | skin alone, µs | drivers, × | one pass, × | two passes, × "
        "| prepared, skin alone, × | prepared, one pass, × | unpacked, × | bytes of a vertex | in two passes |\n"
        "|---|---:|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
    bench(context, "chain", make_chain(context, 1500), rounds);
    bench(context, "chain", make_chain(context, 15000), rounds);
    bench(context, "production", make_character(context), rounds);
    pelt_context_destroy(context);
    return 0;
}
