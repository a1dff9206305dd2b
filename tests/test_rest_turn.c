/* Normals and tangents that rotate with a surface whose rest pose changes. */
#include "support.h"

#include "rest/rest.h"

#include <math.h>

enum { CUBE = 24 };

/* A cube with separate corners per face (hard edges), welded where they meet. */
typedef struct cube {
    float positions[CUBE][3], normals[CUBE][3], tangents[CUBE][4];
    uint32_t triangles[12][3], weld[CUBE], firsts[8];
    pelt_mesh mesh;
} cube;

static void make_cube(cube *c) {
    const uint32_t fan[6] = {0, 1, 2, 0, 2, 3};
    for (uint32_t f = 0; f < 6; f++) {
        uint32_t axis = f / 2;
        float side = f % 2 ? 1.0f : -1.0f;
        for (uint32_t k = 0; k < 4; k++) {
            uint32_t i = 4 * f + k, u = (axis + 1) % 3, v = (axis + 2) % 3;
            float *p = c->positions[i];
            p[axis] = side;
            p[u] = (k == 1 || k == 2 ? 1.0f : -1.0f) * side;
            p[v] = k >= 2 ? 1.0f : -1.0f;
            for (uint32_t e = 0; e < 3; e++) {
                c->normals[i][e] = e == axis ? side : 0;
                c->tangents[i][e] = e == u ? 1 : 0;
            }
            c->tangents[i][3] = f % 2 ? 1 : -1;
            c->weld[i] = (p[0] > 0) + 2u * (p[1] > 0) + 4u * (p[2] > 0);
        }
        for (uint32_t e = 0; e < 6; e++)
            c->triangles[2 * f + e / 3][e % 3] = 4 * f + fan[e];
    }
    c->mesh = (pelt_mesh){.vertex_count = CUBE,
                          .triangle_count = 12,
                          .points.count = CUBE,
                          .positions = c->positions[0],
                          .normals = c->normals[0],
                          .tangents = c->tangents[0],
                          .triangles = c->triangles[0],
                          .weld = {8, c->weld, c->firsts}};
    for (uint32_t i = CUBE; i-- > 0;)
        c->firsts[c->weld[i]] = i;
}

/* About (1, 2, 2) / 3 by `angle`. */
static void rotate(double angle, const float in[3], float out[3]) {
    const double k[3] = {1 / 3.0, 2 / 3.0, 2 / 3.0};
    double c = cos(angle), s = sin(angle), along = k[0] * in[0] + k[1] * in[1] + k[2] * in[2];
    for (int e = 0; e < 3; e++) {
        int f = (e + 1) % 3, g = (e + 2) % 3;
        out[e] = (float)(in[e] * c + (k[f] * in[g] - k[g] * in[f]) * s + k[e] * along * (1 - c));
    }
}

static double dot(const float a[3], const float b[3]) {
    return (double)a[0] * b[0] + (double)a[1] * b[1] + (double)a[2] * b[2];
}

static void assert_near(const float a[3], const float b[3], double tolerance) {
    for (int e = 0; e < 3; e++)
        assert_float_equal(a[e], b[e], tolerance);
}

static void turned_surface(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    cube c;
    make_cube(&c);
    for (int n = 0; n < 6; n++) { /* rotated, scaled and moved; unchanged; upside down */
        float positions[CUBE][3], normals[CUBE][3], tangents[CUBE][4], wanted[3];
        double angle = 3.14159265358979 * n / 5;
        for (int i = 0; i < CUBE; i++) {
            rotate(angle, c.positions[i], positions[i]);
            for (int e = 0; e < 3; e++)
                positions[i][e] = positions[i][e] * (1 + (float)n) + (float)(n * e);
        }
        test_ok(&test, px_turn_normals(context, &c.mesh, positions[0], normals[0], tangents[0]));
        for (int i = 0; i < CUBE; i++) {
            rotate(angle, c.normals[i], wanted);
            assert_near(normals[i], wanted, 2e-6);
            rotate(angle, c.tangents[i], wanted);
            assert_near(tangents[i], wanted, 2e-6);
            assert_float_equal(tangents[i][3], c.tangents[i][3], 0); /* handedness */
        }
    }
    test_end(&test);
}

/* However a surface bends, the normals and tangents of a welded vertex rotate as one: hard edges stay as hard. */
static void bent_surface(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    cube c;
    make_cube(&c);
    float positions[CUBE][3], normals[CUBE][3], tangents[CUBE][4];
    test_random random = {3};
    float moved[8][3];
    for (int w = 0; w < 8; w++)
        for (int e = 0; e < 3; e++)
            moved[w][e] = (float)test_random_real(&random, -0.4, 0.4);
    for (int i = 0; i < CUBE; i++)
        for (int e = 0; e < 3; e++)
            positions[i][e] = c.positions[i][e] + moved[c.weld[i]][e];
    test_ok(&test, px_turn_normals(context, &c.mesh, positions[0], normals[0], tangents[0]));
    double turned = 0;
    for (int a = 0; a < CUBE; a++) {
        assert_float_equal(dot(normals[a], normals[a]), 1, 1e-5);
        turned = fmax(turned, 1 - dot(normals[a], c.normals[a]));
        for (int b = 0; b < CUBE; b++)
            if (c.weld[a] == c.weld[b]) {
                assert_float_equal(dot(normals[a], normals[b]), dot(c.normals[a], c.normals[b]), 1e-5);
                assert_float_equal(dot(normals[a], tangents[b]), dot(c.normals[a], c.tangents[b]), 1e-5);
            }
    }
    assert_true(turned > 1e-3 && turned < 0.5);
    test_end(&test);
}

/* A flat sheet has no third direction, an isolated vertex none: undetermined directions must not be invented. */
static void little_surface(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    float positions[5][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}, {9, 9, 9}}, turned[5][3], out[5][3], wanted[3];
    float normals[5][3] = {{0, 0, 1}, {0, 0, 1}, {0, 0, 0}, {0.6f, 0, 0.8f}, {0, 1, 0}};
    uint32_t triangles[6] = {0, 1, 2, 0, 2, 3}, weld[5] = {0, 1, 2, 3, 4};
    pelt_mesh mesh = {.vertex_count = 5,
                      .triangle_count = 2,
                      .points.count = 5,
                      .positions = positions[0],
                      .normals = normals[0],
                      .triangles = triangles,
                      .weld = {5, weld, weld}};
    for (int i = 0; i < 5; i++)
        rotate(1.1, positions[i], turned[i]);
    test_ok(&test, px_turn_normals(context, &mesh, turned[0], out[0], NULL));
    for (int i = 0; i < 4; i++) {
        rotate(1.1, normals[i], wanted);
        assert_near(out[i], i == 2 ? (const float[3]){0, 0, 1} : wanted, 2e-6); /* a zero normal is replaced */
    }
    assert_near(out[4], normals[4], 0); /* its rotation is undetermined */
    test_end(&test);
}

/* A mesh without normals gets those of the new surface. */
static void made_normals(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    cube c;
    make_cube(&c);
    float positions[CUBE][3], normals[CUBE][3], wanted[CUBE][3], tangents[CUBE][4], turned[3];
    for (int i = 0; i < CUBE; i++)
        rotate(0.7, c.positions[i], positions[i]);
    c.mesh.normals = NULL;
    test_ok(&test, pelt_mesh_normals(context, &c.mesh, positions[0], wanted[0]));
    test_ok(&test, px_turn_normals(context, &c.mesh, positions[0], normals[0], tangents[0]));
    assert_memory_equal(normals, wanted, sizeof normals);
    rotate(0.7, c.tangents[5], turned);
    assert_near(tangents[5], turned, 2e-6);
    c.mesh.tangents = NULL;
    memset(normals, 0, sizeof normals);
    test_ok(&test, px_turn_normals(context, &c.mesh, positions[0], normals[0], NULL));
    assert_memory_equal(normals, wanted, sizeof normals);
    test_end(&test);
}

static pelt_result turn_once(pelt_context *context, void *user) {
    cube *c = user;
    float normals[CUBE][3], tangents[CUBE][4];
    return px_turn_normals(context, &c->mesh, c->positions[0], normals[0], tangents[0]);
}

static void no_memory(void **state) {
    (void)state;
    cube c;
    make_cube(&c);
    test_fail_each_allocation(1, turn_once, &c);
    c.mesh.normals = NULL;
    test_fail_each_allocation(1, turn_once, &c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(turned_surface), cmocka_unit_test(bent_surface), cmocka_unit_test(little_surface),
        cmocka_unit_test(made_normals),   cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
