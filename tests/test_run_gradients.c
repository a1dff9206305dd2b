/* Accurate skinned normals: gradients of weights, kernels against each other and against the normals of a deformed
 * surface in closed form. */
#include "support.h"

#include "core/core.h"

#include <math.h>

#define BONES 3u
#define PI    3.14159265358979323846

/* ---- A tube ------------------------------------------------------------------------------------------------ */

/* Point of the tube: along the axis, then around it. */
static void tube_point(double along, double around, double out[3]) {
    double radius = 0.5 + 0.1 * sin(2 * along);
    out[0] = along, out[1] = radius * cos(around), out[2] = radius * sin(around);
}

static void tube_weights(double along, double around, double w[BONES]) {
    w[1] = 0.5 + 0.5 * sin(fmin(fmax(along, -1), 1) * PI / 2);
    w[2] = 0.2 * (1 + cos(around)) * (1 - along * along / 4);
    w[1] *= 1 - w[2];
    w[0] = 1 - w[1] - w[2];
}

static pelt_affine tube_bone(uint32_t j, double angle) {
    double c = cos(angle), s = sin(angle);
    pelt_affine bones[BONES] = {{{1, 0, 0, 5, 0, 1, 0, 3, 0, 0, 1, -4}},
                                {{(float)c, (float)-s, 0, 5, (float)s, (float)c, 0, 3, 0, 0, 1, -4}},
                                {{1.1f, 0, 0, 5, 0, 1.3f, 0, 3.1f, 0, 0, 0.9f, -4}}};
    return bones[j];
}

static void tube_deformed(double along, double around, double angle, double out[3]) {
    double p[3], w[BONES];
    tube_point(along, around, p);
    tube_weights(along, around, w);
    memset(out, 0, 3 * sizeof *out);
    for (uint32_t j = 0; j < BONES; j++) {
        pelt_affine b = tube_bone(j, angle);
        for (int r = 0; r < 3; r++)
            out[r] += w[j] * ((double)b.m[4 * r] * p[0] + (double)b.m[4 * r + 1] * p[1] +
                              (double)b.m[4 * r + 2] * p[2] + (double)b.m[4 * r + 3]);
    }
}

static void cross_unit(const double a[3], const double b[3], double out[3]) {
    double length2 = 0;
    for (int c = 0; c < 3; c++) {
        out[c] = a[(c + 1) % 3] * b[(c + 2) % 3] - a[(c + 2) % 3] * b[(c + 1) % 3];
        length2 += out[c] * out[c];
    }
    for (int c = 0; c < 3; c++)
        out[c] /= sqrt(length2);
}

/* Normal by finite differences. `angle` NAN: at rest. */
static void tube_normal(double along, double around, double angle, double out[3]) {
    const double h = 1e-5;
    double ends[4][3], d[2][3];
    for (int e = 0; e < 4; e++) {
        double u = along + (e < 2 ? (e ? h : -h) : 0), v = around + (e < 2 ? 0 : e == 3 ? h : -h);
        if (isnan(angle))
            tube_point(u, v, ends[e]);
        else
            tube_deformed(u, v, angle, ends[e]);
    }
    for (int c = 0; c < 3; c++)
        d[0][c] = ends[1][c] - ends[0][c], d[1][c] = ends[3][c] - ends[2][c];
    cross_unit(d[1], d[0], out);
}

/* Largest first. */
static void set_weights(const double w[BONES], uint16_t *bones, float *weights) {
    for (uint16_t j = 0; j < BONES; j++) {
        uint32_t place = 0;
        for (uint32_t other = 0; other < BONES; other++)
            place += w[other] > w[j] || (w[other] == w[j] && other < j);
        bones[place] = j;
        weights[place] = (float)w[j];
    }
}

/* `rings` cells along, as many around; a seam: the first and last vertices of a ring coincide. */
static pelt_result make_tube(pelt_context *context, uint32_t rings, pelt_model **out) {
    PX_TRY(pelt_model_create(context, out));
    pelt_mesh *mesh = &(*out)->mesh;
    pelt_skin *skin = &(*out)->skin;
    uint32_t row = rings + 1, count = row * row;
    mesh->vertex_count = mesh->points.count = count;
    mesh->positions = pelt_model_alloc(context, *out, count, 3 * sizeof(float));
    mesh->normals = pelt_model_alloc(context, *out, count, 3 * sizeof(float));
    mesh->triangles = pelt_model_alloc(context, *out, (size_t)2 * rings * rings, 3 * sizeof(uint32_t));
    skin->bone_count = skin->influence_count = BONES;
    skin->bones = pelt_model_alloc(context, *out, (size_t)BONES * count, sizeof *skin->bones);
    skin->weights = pelt_model_alloc(context, *out, (size_t)BONES * count, sizeof *skin->weights);
    if (!mesh->positions || !mesh->normals || !mesh->triangles || !skin->bones || !skin->weights)
        return PELT_ERROR_MEMORY;
    for (uint32_t i = 0; i < count; i++) {
        double along = -2 + 4.0 * (i / row) / rings, around = 2 * PI * (i % row % rings) / rings, p[3], n[3], w[BONES];
        tube_point(along, around, p);
        tube_normal(along, around, (double)NAN, n);
        tube_weights(along, around, w);
        for (uint32_t c = 0; c < 3; c++) {
            mesh->positions[3 * i + c] = (float)p[c];
            mesh->normals[3 * i + c] = (float)n[c];
        }
        set_weights(w, skin->bones + (size_t)BONES * i, skin->weights + (size_t)BONES * i);
    }
    for (uint32_t r = 0; r < rings; r++)
        for (uint32_t s = 0; s < rings; s++) {
            uint32_t a = r * row + s, b = a + row, cell[6] = {a, b + 1, b, a, a + 1, b + 1};
            for (int c = 0; c < 6; c++)
                mesh->triangles[3 * (size_t)mesh->triangle_count + c] = cell[c];
            mesh->triangle_count += 2;
        }
    return PELT_OK;
}

static pelt_skin_job make_job(const pelt_model *model, const pelt_affine *palette, float *positions, float *normals) {
    return (pelt_skin_job){.vertex_count = model->mesh.vertex_count,
                           .influence_count = model->skin.influence_count,
                           .bones = model->skin.bones,
                           .weights = model->skin.weights,
                           .palette = palette,
                           .positions = model->mesh.positions,
                           .normals = model->mesh.normals,
                           .out_positions = positions,
                           .out_normals = normals};
}

/* RMS angle to the true normals, degrees, without the open ends, where differences are one-sided. */
static double tube_error(const float *normals, uint32_t rings, double angle) {
    double sum = 0, count = 0;
    uint32_t row = rings + 1;
    for (uint32_t i = row; i < row * rings; i++) {
        double n[3], d2 = 0;
        tube_normal(-2 + 4.0 * (i / row) / rings, 2 * PI * (i % row % rings) / rings, angle, n);
        for (uint32_t c = 0; c < 3; c++)
            d2 += pow(n[c] - (double)normals[3 * i + c], 2);
        sum += pow(2 * asin(fmin(sqrt(d2) / 2, 1)), 2);
        count++;
    }
    return 180 / PI * sqrt(sum / count);
}

/* The plain rules keep their error on finer meshes; the accurate rule converges. */
static void converges_to_the_surface(void **state) {
    (void)state;
    double before = INFINITY;
    for (uint32_t rings = 16; rings <= 64; rings *= 2) {
        test_context test;
        pelt_context *context = test_begin(&test, 1);
        pelt_model *model;
        pelt_weight_gradients gradients;
        test_ok(&test, make_tube(context, rings, &model));
        test_ok(&test, pelt_skin_gradients(context, model, &gradients));
        pelt_affine palette[BONES];
        for (uint32_t j = 0; j < BONES; j++)
            palette[j] = tube_bone(j, 1);
        float *positions = calloc(model->mesh.vertex_count, 3 * sizeof *positions);
        float *normals = calloc(model->mesh.vertex_count, 3 * sizeof *normals);
        assert_true(positions && normals);
        pelt_skin_job job = make_job(model, palette, positions, normals);
        pelt_skin_run(&job);
        double plain = tube_error(normals, rings, 1);
        job.gradients = gradients;
        pelt_skin_run(&job);
        double accurate = tube_error(normals, rings, 1);
        print_message("%u rings: cofactor %.3f°, accurate %.3f°\n", rings, plain, accurate);
        assert_true(plain > 5 && accurate < 0.25 * plain && accurate < 0.45 * before);
        before = accurate;
        for (uint32_t c = 0; c < 3; c++) /* at the seam both vertices have the same normal */
            assert_float_equal(normals[3 * (rings + 1) + c], normals[3 * (2 * rings + 1) + c], 1e-5);
        free(normals), free(positions);
        pelt_model_destroy(model);
        test_end(&test);
    }
    assert_true(before < 0.5);
}

/* ---- Kernels ----------------------------------------------------------------------------------------------- */

/* Every kernel gives the same bits, for any range of vertices, also for vertices without gradients. */
static void bodies_agree(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    pelt_model *model;
    pelt_weight_gradients gradients;
    test_ok(&test, make_tube(context, 13, &model));
    for (uint32_t i = 0; i < 80; i++) /* a rigid end */
        set_weights((double[BONES]){1}, model->skin.bones + (size_t)BONES * i, model->skin.weights + (size_t)BONES * i);
    test_ok(&test, pelt_skin_gradients(context, model, &gradients));
    assert_true(gradients.offsets[56] == 0 && gradients.scales[0] == 0 && gradients.scales[100] > 0);
    pelt_affine palette[BONES];
    for (uint32_t j = 0; j < BONES; j++)
        palette[j] = tube_bone(j, 0.7);
    uint32_t count = model->mesh.vertex_count;
    float *results[2][3];
    float *tangents = calloc(count, 4 * sizeof *tangents);
    assert_non_null(tangents);
    for (size_t i = 0; i < count; i++)
        tangents[4 * i] = 1, tangents[4 * i + 3] = i % 2 ? 1 : -1;
    for (int a = 0; a < 6; a++)
        assert_non_null(results[a / 3][a % 3] = calloc(count, 4 * sizeof(float)));
    pelt_skin_job job = make_job(model, palette, results[0][0], results[0][1]);
    job.gradients = gradients, job.tangents = tangents, job.out_tangents = results[0][2];
    job.exact = true;
    pelt_skin_run_simd(&job, PELT_SIMD_SCALAR);
    for (pelt_simd simd = PELT_SIMD_SSE2; simd < PELT_SIMD_COUNT; simd++) {
        if (!pelt_simd_available(simd))
            continue;
        job.out_positions = results[1][0], job.out_normals = results[1][1], job.out_tangents = results[1][2];
        pelt_skin_run_simd(&job, simd);
        for (int a = 0; a < 3; a++)
            assert_memory_equal(results[0][a], results[1][a], (a == 2 ? 4 : 3) * count * sizeof(float));
    }
    for (uint32_t e = 0; e < count; e++) /* an exact sum, so that translations of all bones cancel */
        for (int c = 0, sum = 0; c < 3; c++, assert_int_equal(sum, 0))
            for (uint32_t n = gradients.offsets[e]; n < gradients.offsets[e + 1]; n++)
                sum += gradients.entries[n].value[c];
    for (int a = 0; a < 6; a++)
        free(results[a / 3][a % 3]);
    free(tangents);
    pelt_model_destroy(model);
    test_end(&test);
}

/* The values that pelt_compare_clips reads agree with the kernels. */
static void poses_agree(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    pelt_model *model;
    test_ok(&test, make_tube(context, 9, &model));
    pelt_clip clip;
    pelt_affine palette[BONES];
    pelt_skeleton *skeleton = &model->skeleton;
    skeleton->joint_count = BONES;
    skeleton->names = pelt_model_alloc(context, model, BONES, sizeof *skeleton->names);
    skeleton->parents = pelt_model_alloc(context, model, BONES, sizeof *skeleton->parents);
    skeleton->rest = pelt_model_alloc(context, model, BONES, sizeof *skeleton->rest);
    model->skin.bone_joints = pelt_model_alloc(context, model, BONES, sizeof *model->skin.bone_joints);
    model->skin.inverse_binds = pelt_model_alloc(context, model, BONES, sizeof *model->skin.inverse_binds);
    assert_true(skeleton->names && skeleton->parents && skeleton->rest && model->skin.bone_joints &&
                model->skin.inverse_binds);
    for (uint32_t j = 0; j < BONES; j++) {
        skeleton->names[j] = "joint";
        skeleton->parents[j] = PELT_NONE;
        skeleton->rest[j] = (pelt_transform){{0}, {0, 0, 0, 1}, {1, 1, 1}};
        model->skin.bone_joints[j] = j;
        model->skin.inverse_binds[j] = palette[j] = tube_bone(j, 1);
    }
    test_ok(&test, pelt_clip_from_motion(context, model, NULL, 30, PELT_SKINNING_LINEAR, &clip));
    test_ok(&test, pelt_clip_skin_normals(context, model, &clip));
    uint32_t count = model->mesh.vertex_count;
    float positions[3 * 100], normals[3 * 100], rules[100][PELT_NORMAL_RULES][3];
    assert_in_range(count, 50, 100);
    test_ok(&test, clip.source.read_normals(context, clip.source.user, 0, true, 0, count, rules[0][0]));
    pelt_skin_job job = make_job(model, palette, positions, normals);
    for (int accurate = 0; accurate < 2; accurate++) {
        double largest = 0;
        if (accurate)
            test_ok(&test, pelt_skin_gradients(context, model, &job.gradients));
        pelt_skin_run(&job);
        for (uint32_t e = 0; e < 3 * count; e++) {
            assert_float_equal(normals[e], rules[e / 3][PELT_NORMALS_INVERSE + accurate][e % 3], 2e-5);
            largest = fmax(largest, fabs((double)normals[e] - (double)rules[e / 3][PELT_NORMALS_MATRIX][e % 3]));
        }
        assert_true(largest > 0.05);
    }
    model->skin.bone_count = 0;
    test_fails(&test, pelt_skin_gradients(context, model, &job.gradients), PELT_ERROR_USAGE, "no skin");
    assert_null(job.gradients.offsets);
    pelt_model_destroy(model);
    test_end(&test);
}

static pelt_result make_and_compute(pelt_context *context, void *user) {
    (void)user;
    pelt_model *model = NULL;
    pelt_weight_gradients gradients;
    pelt_result result = make_tube(context, 5, &model);
    if (result == PELT_OK)
        result = pelt_skin_gradients(context, model, &gradients);
    pelt_model_destroy(model);
    return result;
}

static void without_memory(void **state) {
    (void)state;
    test_fail_some_allocations(1, 60, make_and_compute, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(converges_to_the_surface),
        cmocka_unit_test(bodies_agree),
        cmocka_unit_test(poses_agree),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
