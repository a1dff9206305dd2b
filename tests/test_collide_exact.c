/* Exact tests of triangles and rays, against integer arithmetic. */
#include "collide/collide.h"
#include "support.h"

#include <math.h>

typedef struct whole {
    int64_t x, y, z;
} whole;

static whole whole_sub(whole a, whole b) {
    return (whole){a.x - b.x, a.y - b.y, a.z - b.z};
}
static whole whole_cross(whole a, whole b) {
    return (whole){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
static int64_t whole_dot(whole a, whole b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
static void whole_floats(whole a, float out[3]) {
    out[0] = (float)a.x, out[1] = (float)a.y, out[2] = (float)a.z;
}
static whole whole_random(test_random *random, uint32_t size) {
    return (whole){test_random_below(random, size), test_random_below(random, size), test_random_below(random, size)};
}
static int whole_orient(whole a, whole b, whole c, whole d) {
    int64_t volume = whole_dot(whole_cross(whole_sub(b, a), whole_sub(c, a)), whole_sub(d, a));
    return (volume > 0) - (volume < 0);
}

static bool parts_them(whole axis, const whole a[3], const whole b[3]) {
    int64_t low_a = INT64_MAX, high_a = INT64_MIN, low_b = INT64_MAX, high_b = INT64_MIN;
    for (int c = 0; c < 3; c++) {
        int64_t of_a = whole_dot(axis, a[c]), of_b = whole_dot(axis, b[c]);
        low_a = of_a < low_a ? of_a : low_a, high_a = of_a > high_a ? of_a : high_a;
        low_b = of_b < low_b ? of_b : low_b, high_b = of_b > high_b ? of_b : high_b;
    }
    return high_a < low_b || high_b < low_a;
}

/* Separating-axis test, with the extra axes for coplanar triangles and triangles without area or length. */
static bool whole_meet(const whole a[3], const whole b[3]) {
    whole lines[15];
    for (int e = 0; e < 3; e++) {
        lines[e] = whole_sub(a[(e + 1) % 3], a[e]);
        lines[3 + e] = whole_sub(b[(e + 1) % 3], b[e]);
    }
    for (int e = 0; e < 9; e++)
        lines[6 + e] = whole_sub(a[e / 3], b[e % 3]);
    for (int m = 0; m < 15; m++) {
        if (parts_them(lines[m], a, b))
            return false;
        for (int n = 0; n < 15; n++) {
            whole across = whole_cross(lines[m], lines[n]);
            if (parts_them(across, a, b) || parts_them(whole_cross(across, lines[m]), a, b))
                return false;
        }
    }
    return true;
}

static void check_pair(const whole a[3], const whole b[3]) {
    float corners[6][3];
    for (int c = 0; c < 3; c++) {
        whole_floats(a[c], corners[c]);
        whole_floats(b[c], corners[3 + c]);
    }
    bool meet = whole_meet(a, b);
    for (int turn = 0; turn < 6; turn++) { /* corners in any order, either triangle first */
        const float *of_a[3], *of_b[3];
        for (int c = 0; c < 3; c++) {
            of_a[c] = corners[(c + turn) % 3];
            of_b[c] = corners[3 + (turn < 3 ? c : 2 - c)];
        }
        assert_int_equal(px_triangles_meet(of_a, of_b), meet);
        assert_int_equal(px_triangles_meet(of_b, of_a), meet);
    }
}

static void test_triangles(void **state) {
    (void)state;
    test_random random = {1};
    uint32_t met = 0;
    for (int round = 0; round < 8000; round++) {
        uint32_t size = 2 + test_random_below(&random, 5); /* small: many touch, are coplanar, are points or lines */
        whole a[3], b[3];
        for (int c = 0; c < 3; c++) {
            a[c] = whole_random(&random, size);
            b[c] = whole_random(&random, size);
            if (round % 3 == 0)
                a[c].z = b[c].z = 1;
        }
        check_pair(a, b);
        met += whole_meet(a, b);
    }
    assert_in_range(met, 1600, 6400);
}

static void test_orient(void **state) {
    (void)state;
    test_random random = {2};
    for (int round = 0; round < 50000; round++) {
        whole p[4];
        float q[4][3];
        for (int c = 0; c < 4; c++)
            p[c] = whole_random(&random, round % 2 ? 3 : 1u << 19);
        if (round % 4 == 0) /* coplanar, or nearly so */
            p[3] =
                (whole){p[0].x + p[1].x - p[2].x, p[0].y + p[1].y - p[2].y, p[0].z + p[1].z - p[2].z + round % 8 / 4};
        for (int c = 0; c < 4; c++)
            whole_floats(p[c], q[c]);
        assert_int_equal(px_orient(q[0], q[1], q[2], q[3]), whole_orient(p[0], p[1], p[2], p[3]));
        whole ahead = whole_sub(p[1], p[0]);
        float u[3];
        whole_floats(ahead, u);
        assert_int_equal(px_orient_line(q[0], u, q[2], q[3]), whole_orient(p[0], p[1], p[2], p[3]));
    }
    /* The smallest and the largest scales of floats; coordinates differ by a factor of 2^20. */
    for (float scale = 0x1p-149f; scale < 0x1p100f; scale = scale < 0x1p-20f ? 0x1p99f : 2 * scale) {
        float a[3] = {0}, b[3] = {scale * 0x1p20f, 0, 0}, c[3] = {0, scale * 0x1p20f, 0}, d[3] = {scale, scale, scale};
        assert_int_equal(px_orient(a, b, c, d), 1);
        assert_int_equal(px_orient(a, c, b, d), -1);
        d[2] = 0;
        assert_int_equal(px_orient(a, b, c, d), 0);
    }
}

/* No ray from above a fan passes between its triangles, and nothing behind the origin is hit. */
static void test_rays(void **state) {
    (void)state;
    test_random random = {3};
    for (int round = 0; round < 2000; round++) {
        float rim[7][3], middle[3] = {0.1f, 0.2f, (float)test_random_real(&random, -1, 1)};
        for (int p = 0; p < 7; p++) {
            rim[p][0] = 3 * cosf((float)p), rim[p][1] = 3 * sinf((float)p);
            rim[p][2] = (float)test_random_real(&random, -1, 1);
        }
        float mixed[3], share = (float)test_random_real(&random, 0, 0.5);
        const float *end = rim[test_random_below(&random, 7)];
        for (int c = 0; c < 3; c++)
            mixed[c] = middle[c] + share * (end[c] - middle[c]); /* on an edge, up to rounding */
        for (int back = 0; back < 2; back++) {
            pelt_ray ray = {.origin = {0.3f, -0.2f, back ? -9.0f : 9.0f}, .most = INFINITY};
            for (int c = 0; c < 3; c++)
                ray.direction[c] = mixed[c] - ray.origin[c];
            int order[8] = {0, 1, 2, 3, 4, 5, 6, 0}, met = 0; /* cosines of 0 to 6: about once around, with a gap */
            for (int t = 0; t < 7; t++) {
                const float *corners[3] = {middle, rim[order[t]], rim[order[t + 1]]};
                double distance, shares[3];
                bool hit = px_ray_meets(&ray, corners, &distance, shares);
                met += hit;
                if (hit) {
                    assert_true(fabs(distance - 1) < 1e-4);
                    assert_true(fabs(shares[0] + shares[1] + shares[2] - 1) < 1e-12);
                }
            }
            assert_in_range(met, 1, 7);
            for (int c = 0; c < 3; c++)
                ray.direction[c] = -ray.direction[c];
            for (int t = 0; t < 7; t++) {
                const float *corners[3] = {middle, rim[order[t]], rim[order[t + 1]]};
                double distance, shares[3];
                assert_false(px_ray_meets(&ray, corners, &distance, shares));
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_triangles),
        cmocka_unit_test(test_orient),
        cmocka_unit_test(test_rays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
