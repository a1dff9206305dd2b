/* The nearest point on a surface, against a test of every triangle. */
#include "support.h"

#include "core/surface.h"

#include <math.h>

typedef struct soup {
    float *positions;
    uint32_t *triangles;
    uint32_t triangle_count;
} soup;

/* Triangles of all sizes, some without area, some twice. */
static soup make_soup(test_random *random, uint32_t triangle_count) {
    soup s = {malloc(9 * sizeof(float) * (triangle_count + 1)), malloc(3 * sizeof(uint32_t) * (triangle_count + 1)),
              triangle_count};
    for (size_t t = 0; t < triangle_count; t++) {
        double size = test_random_real(random, 0, 0.5), middle[3];
        for (int c = 0; c < 3; c++)
            middle[c] = test_random_real(random, -1, 1);
        for (size_t e = 0; e < 9; e++)
            s.positions[9 * t + e] = (float)(middle[e % 3] + size * test_random_real(random, -1, 1));
        for (uint32_t c = 0; c < 3; c++)
            s.triangles[3 * t + c] = (uint32_t)(3 * t) + (t % 7 == 0 ? c % 2 : t % 11 == 0 ? 0 : c);
        if (t % 13 == 0 && t > 0)
            memcpy(s.triangles + 3 * t, s.triangles, 3 * sizeof(uint32_t));
    }
    return s;
}

static void free_soup(soup *s) {
    free(s->positions);
    free(s->triangles);
}

/* Distance to a triangle by sampling: coarse, then dense around the best. */
static double slow_distance(const soup *s, uint32_t t, const double p[3]) {
    const float *a = s->positions + 3 * (size_t)s->triangles[3 * (size_t)t];
    const float *b = s->positions + 3 * (size_t)s->triangles[3 * (size_t)t + 1];
    const float *c = s->positions + 3 * (size_t)s->triangles[3 * (size_t)t + 2];
    double best = INFINITY, at[2] = {0, 0}, step = 0.25;
    for (int level = 0; level < 24; level++, step *= 0.5) {
        double from[2] = {at[0], at[1]};
        for (int n = 0; n < 81; n++) {
            double u = fmin(fmax(from[0] + step * (n % 9 - 4), 0), 1), v = from[1] + step * (n / 9 - 4);
            v = fmin(fmax(v, 0), 1 - u);
            double square = 0;
            for (int axis = 0; axis < 3; axis++) {
                double off = (double)a[axis] * (1 - u - v) + (double)b[axis] * u + (double)c[axis] * v - p[axis];
                square += off * off;
            }
            if (square < best) {
                best = square;
                at[0] = u;
                at[1] = v;
            }
        }
    }
    return sqrt(best);
}

static bool is_even(const void *user, const px_surface_point *candidate) {
    (void)user;
    return candidate->triangle % 2 == 0;
}

static void nearest_of_all(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    test_random random = {3};
    static const uint32_t counts[] = {1, 2, 5, 17, 150};
    for (size_t n = 0; n < sizeof counts / sizeof counts[0]; n++) {
        soup s = make_soup(&random, counts[n]);
        px_arena *arena = px_arena_create(test.context);
        px_surface surface;
        test_ok(&test, px_surface_make(arena, s.positions, s.triangles, s.triangle_count, &surface));
        for (int round = 0; round < 40; round++) {
            double p[3], all = INFINITY, even = INFINITY, limit = test_random_real(&random, 0, 1);
            for (int c = 0; c < 3; c++)
                p[c] = test_random_real(&random, -1.5, 1.5);
            for (uint32_t t = 0; t < s.triangle_count; t++) {
                double d = slow_distance(&s, t, p);
                all = fmin(all, d);
                even = t % 2 == 0 ? fmin(even, d) : even;
            }
            px_surface_point got;
            assert_true(px_surface_nearest(&surface, p, INFINITY, NULL, NULL, &got));
            assert_true(fabs(got.distance - all) < 1e-5);
            double sum = 0, square = 0;
            for (int c = 0; c < 3; c++) {
                assert_true(got.corners[c] >= 0);
                sum += got.corners[c];
            }
            assert_true(fabs(sum - 1) < 1e-12);
            for (int axis = 0; axis < 3; axis++) { /* the point is at its barycentric coordinates */
                double off = -p[axis];
                for (size_t c = 0; c < 3; c++)
                    off += got.corners[c] *
                           (double)s.positions[3 * s.triangles[3 * (size_t)got.triangle + c] + (size_t)axis];
                square += off * off;
            }
            assert_true(fabs(sqrt(square) - got.distance) < 1e-9);
            assert_true(px_surface_nearest(&surface, p, INFINITY, is_even, NULL, &got));
            assert_true(got.triangle % 2 == 0 && fabs(got.distance - even) < 1e-5);
            bool found = px_surface_nearest(&surface, p, limit, NULL, NULL, &got);
            assert_true(found == (all <= limit) || fabs(all - limit) < 1e-5);
        }
        px_arena_destroy(arena);
        free_soup(&s);
    }
    test_end(&test);
}

static void odd_input(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    px_arena *arena = px_arena_create(test.context);
    px_surface surface;
    px_surface_point got;
    double origin[3] = {0, 0, 0};
    test_ok(&test, px_surface_make(arena, NULL, NULL, 0, &surface));
    assert_false(px_surface_nearest(&surface, origin, INFINITY, NULL, NULL, &got));
    /* Non-finite triangles are skipped. Many at the same position still make a tree. */
    float positions[] = {NAN, 0, 0, 1, 0, 0, 0, 1, 0, 5, 5, 5};
    uint32_t triangles[3 * 1000];
    for (size_t e = 0; e < 3 * 1000; e++)
        triangles[e] = e < 3 ? (uint32_t)e : 3;
    test_ok(&test, px_surface_make(arena, positions, triangles, 1000, &surface));
    assert_true(px_surface_nearest(&surface, origin, INFINITY, NULL, NULL, &got));
    assert_true(got.triangle > 0 && fabs(got.distance - sqrt(75)) < 1e-12);
    double there[3] = {5, 5, 5};
    assert_true(px_surface_nearest(&surface, there, 0, NULL, NULL, &got));
    px_arena_destroy(arena);
    test_end(&test);
}

static pelt_result make_tree(pelt_context *context, void *user) {
    const soup *s = user;
    px_arena *arena = px_arena_create(context);
    px_surface surface;
    pelt_result result =
        arena ? px_surface_make(arena, s->positions, s->triangles, s->triangle_count, &surface) : PELT_ERROR_MEMORY;
    px_arena_destroy(arena);
    return result;
}

static void no_memory(void **state) {
    (void)state;
    test_random random = {4};
    soup s = make_soup(&random, 3000);
    test_fail_each_allocation(1, make_tree, &s);
    free_soup(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nearest_of_all),
        cmocka_unit_test(odd_input),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
