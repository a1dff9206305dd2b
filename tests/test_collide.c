/* Collisions: bounding spheres that contain their vertices, and queries against a test of every triangle. */
#include "collide_models.h"
#include "core/surface.h"

#include <math.h>

/* ---- Balls ------------------------------------------------------------------------------------------------ */

/* Every node's sphere contains the vertices of the leaves below it, which equal `positions` to the bit. Returns the sum
 * over leaves of radius / radius of the smallest enclosing sphere. */
static double check_balls(pelt_body *body, const float *positions, uint32_t n, uint32_t *above, uint32_t depth) {
    const px_node *node = &body->tree->nodes[n];
    above[depth] = n;
    if (node->second)
        return check_balls(body, positions, n + 1, above, depth + 1) +
               check_balls(body, positions, node->second, above, depth + 1);
    const float(*posed)[3] = (const float(*)[3])px_body_leaf(body, node->leaf)->posed;
    for (uint32_t v = 0; v < PX_LEAF_VERTICES; v++) {
        assert_memory_equal(posed[v], positions + 3 * (size_t)body->tree->leaves[node->leaf].vertices[v], 12);
        for (uint32_t d = 0; d <= depth; d++) {
            const px_ball *ball = px_body_ball(body, above[d]);
            double square = 0;
            for (int c = 0; c < 3; c++)
                square +=
                    ((double)posed[v][c] - (double)ball->center[c]) * ((double)posed[v][c] - (double)ball->center[c]);
            assert_true(sqrt(square) <= (double)ball->radius);
        }
    }
    px_ball least = px_ball_of_points(posed, PX_LEAF_VERTICES, 16);
    return (double)px_body_ball(body, n)->radius / (double)least.radius;
}

static void test_balls(void **state) {
    (void)state;
    static const char *const names[] = {"creature", "production", "tube", "morph", "arm", NULL};
    test_context test;
    test_begin(&test, 1);
    for (size_t n = 0; n < 6; n++) {
        pelt_model *model = make_model(&test, names[n], 900);
        uint32_t vertex_count = model->mesh.vertex_count, above[64];
        float *positions = malloc(3 * vertex_count * sizeof *positions);
        pelt_bdtree *tree;
        pelt_body *body;
        test_ok(&test, pelt_bdtree_create(test.context, model, &tree));
        test_ok(&test, pelt_body_create(test.context, tree, &body));
        for (uint32_t m = 0; m < model->motion_count; m++)
            for (int k = 0; k < 10; k++) {
                float time = model->motions[m].start + 0.1f * (float)k;
                pelt_body_motion(body, &model->motions[m], time);
                test_ok(&test, pelt_model_pose(test.context, model, &model->motions[m], time, PELT_SKINNING_LINEAR,
                                               positions, NULL));
                double ratio = check_balls(body, positions, 0, above, 0) / tree->leaf_count;
                assert_true(ratio < 1.5); /* spheres of a moving skin are close to the smallest */
            }
        test_random random = {n};
        pelt_affine *palette = malloc(tree->bone_count * sizeof *palette);
        float *weights = calloc(model->morphs.morph_count + 1, sizeof *weights);
        for (int k = 0; k < 30 && model->skin.bone_count; k++) { /* arbitrary, far away, tiny */
            random_palette(&random, tree->bone_count, k % 3 == 0 ? 1 : k % 3 == 1 ? 1e6 : 1e-30, palette);
            for (uint32_t m = 0; m < model->morphs.morph_count; m++)
                weights[m] = k % 2 ? (float)test_random_real(&random, -2, 2) : 0;
            pelt_body_palette(body, palette, weights);
            pose_by_palette(model, palette, weights, pelt_simd_best(), positions);
            check_balls(body, positions, 0, above, 0);
        }
        pelt_body_positions(body, positions);
        check_balls(body, positions, 0, above, 0);
        free(weights);
        free(palette);
        free(positions);
        pelt_body_destroy(body);
        pelt_bdtree_destroy(tree);
        pelt_model_destroy(model);
    }
    test_end(&test);
}

/* All kernels give the same corners to queries. */
static void test_kernels(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    subject s = make_subject(&test, NULL, 90);
    test_random random = {9};
    for (pelt_simd simd = PELT_SIMD_SCALAR; simd < PELT_SIMD_COUNT; simd++) {
        pelt_affine palette[7];
        uint32_t above[64];
        float weights[3] = {0.5f, -1, 2};
        if (!pelt_simd_available(simd))
            continue;
        random_palette(&random, 7, 2, palette);
        pelt_body_palette(s.body, palette, weights);
        pose_by_palette(s.model, palette, weights, simd, s.positions);
        check_balls(s.body, s.positions, 0, above, 0);
    }
    free_subject(&s);
    test_end(&test);
}

/* ---- Queries, against every triangle ---------------------------------------------------------------------- */

/* Poses the subject in one of three ways: a motion, arbitrary matrices, positions. */
static void move_subject(const test_context *test, subject *s, test_random *random, float time) {
    const pelt_motion *motion = s->model->motion_count ? &s->model->motions[0] : NULL;
    if (motion) {
        test_ok(test, pelt_model_pose(test->context, s->model, motion, time, PELT_SKINNING_LINEAR, s->positions, NULL));
        pelt_body_motion(s->body, motion, time);
    } else {
        pelt_affine palette[7];
        float weights[3];
        random_palette(random, 7, 1, palette);
        for (int m = 0; m < 3; m++)
            weights[m] = (float)test_random_real(random, -1, 1);
        pelt_body_palette(s->body, palette, weights);
        pose_by_palette(s->model, palette, weights, (pelt_simd)PELT_SIMD_SCALAR, s->positions);
    }
    if (test_random_below(random, 8) == 0)
        pelt_body_positions(s->body, s->positions);
}

static void corners_of(const subject *s, uint32_t triangle, const float *corners[3]) {
    for (int c = 0; c < 3; c++)
        corners[c] = s->positions + 3 * (size_t)s->model->mesh.triangles[3 * (size_t)triangle + (size_t)c];
}

static double distance_of(const subject *s, uint32_t triangle, const float p[3], double share[3]) {
    const float *corners[3];
    double wide[3][3], place[3] = {(double)p[0], (double)p[1], (double)p[2]};
    corners_of(s, triangle, corners);
    for (int e = 0; e < 9; e++)
        wide[e / 3][e % 3] = (double)corners[e / 3][e % 3];
    return sqrt(px_triangle_nearest(place, wide, share));
}

static void random_place(const subject *s, test_random *random, double far, float out[3]) {
    const float *corner = s->positions + 3 * (size_t)test_random_below(random, s->model->mesh.vertex_count);
    for (int c = 0; c < 3; c++)
        out[c] = corner[c] + (float)test_random_real(random, -far, far);
}

/* Equality to the last bit. */
static void check_point(bool found, const pelt_body_point *got, const pelt_body_point *wanted) {
    assert_int_equal(found, wanted->triangle != PELT_NONE);
    if (!found)
        return;
    assert_int_equal(got->triangle, wanted->triangle);
    assert_memory_equal(got->corners, wanted->corners, sizeof got->corners);
    assert_memory_equal(&got->distance, &wanted->distance, sizeof got->distance);
}

static bool ask_ray(subject *s, test_random *random) {
    pelt_ray ray = {.most = test_random_below(random, 2) ? INFINITY : test_random_real(random, 0, 2)};
    float target[3];
    random_place(s, random, 0.5, ray.origin);
    random_place(s, random, test_random_below(random, 2) ? 0 : 0.2, target); /* also exactly at vertices */
    for (int c = 0; c < 3; c++)
        ray.direction[c] = target[c] - ray.origin[c];
    pelt_body_point best = {.triangle = PELT_NONE, .distance = INFINITY}, got;
    for (uint32_t t = 0; t < s->model->mesh.triangle_count; t++) {
        const float *corners[3];
        double distance, share[3];
        corners_of(s, t, corners);
        if (px_ray_meets(&ray, corners, &distance, share) && distance < best.distance) {
            best = (pelt_body_point){.triangle = t, .distance = distance};
            memcpy(best.corners, share, sizeof share);
        }
    }
    bool found = pelt_body_ray(s->body, &ray, &got);
    check_point(found, &got, &best);
    return found;
}

static bool ask_nearest(subject *s, test_random *random) {
    double most = test_random_below(random, 2) ? INFINITY : test_random_real(random, 0, 0.3);
    float p[3];
    random_place(s, random, 0.4, p);
    pelt_body_point best = {.triangle = PELT_NONE, .distance = INFINITY}, got;
    for (uint32_t t = 0; t < s->model->mesh.triangle_count; t++) {
        double share[3], distance = distance_of(s, t, p, share);
        if (distance <= most && distance < best.distance) {
            best = (pelt_body_point){.triangle = t, .distance = distance};
            memcpy(best.corners, share, sizeof share);
        }
    }
    bool found = pelt_body_nearest(s->body, p, most, &got);
    check_point(found, &got, &best);
    return found;
}

static bool ask_sphere(subject *s, test_random *random) {
    double radius = test_random_real(random, 0, 0.3);
    bool any = false;
    float p[3];
    random_place(s, random, 0.3, p);
    memset(s->hit, 0, s->model->mesh.triangle_count);
    pelt_body_sphere(s->body, p, radius, mark, s);
    for (uint32_t t = 0; t < s->model->mesh.triangle_count; t++) {
        double share[3];
        assert_int_equal(s->hit[t], distance_of(s, t, p, share) <= radius);
        any = any || s->hit[t];
    }
    return any;
}

static void test_questions(void **state) {
    (void)state;
    static const struct {
        const char *name;
        uint32_t vertices, poses, rounds; /* 100,000 queries in all, of three kinds in turn */
    } rows[] = {{"creature", 150, 100, 100}, {"tube", 60, 200, 250}, {"morph", 60, 100, 200}, {NULL, 40, 200, 100}};
    test_context test;
    test_begin(&test, 1);
    test_random random = {4};
    uint32_t asked = 0, found = 0;
    for (size_t r = 0; r < 4; r++) {
        subject s = make_subject(&test, rows[r].name, rows[r].vertices);
        for (uint32_t k = 0; k < rows[r].poses; k++) {
            move_subject(&test, &s, &random, 0.037f * (float)k);
            for (uint32_t n = 0; n < rows[r].rounds; n++, asked++)
                found += n % 3 == 0   ? ask_ray(&s, &random)
                         : n % 3 == 1 ? ask_nearest(&s, &random)
                                      : ask_sphere(&s, &random);
        }
        free_subject(&s);
    }
    assert_int_equal(asked, 100000);
    assert_in_range(found, 30000, 90000); /* hits and misses both occur */
    test_end(&test);
}

static bool are_apart(const pelt_mesh *mesh, uint32_t a, uint32_t b) {
    for (int e = 0; e < 9; e++) {
        uint32_t v = mesh->triangles[3 * (size_t)a + (size_t)e / 3], w = mesh->triangles[3 * (size_t)b + (size_t)e % 3];
        if (pelt_vertex_class(&mesh->weld, v) == pelt_vertex_class(&mesh->weld, w))
            return false;
    }
    return a < b;
}

static void check_pairs(subject *a, subject *b, uint32_t *found) {
    uint32_t count_a = a->model->mesh.triangle_count, count_b = b->model->mesh.triangle_count;
    pair_marks marks = {calloc(count_a, count_b), count_b, 0, 0};
    pelt_body_pairs(a->body, b->body, mark_pair, &marks);
    for (uint32_t t = 0; t < count_a; t++) {
        const float *of_a[3], *of_b[3];
        corners_of(a, t, of_a);
        for (uint32_t u = 0; u < count_b; u++) {
            corners_of(b, u, of_b);
            bool wanted = px_triangles_meet(of_a, of_b) && (a != b || are_apart(&a->model->mesh, t, u));
            assert_int_equal(marks.hit[(size_t)count_b * t + u], wanted);
        }
    }
    *found += marks.count;
    if (marks.count > 1) { /* the query stops when the callback returns false */
        memset(marks.hit, 0, (size_t)count_a * count_b);
        marks.most = marks.count / 2;
        marks.count = 0;
        pelt_body_pairs(a->body, b->body, mark_pair, &marks);
        assert_int_equal(marks.count, marks.most);
    }
    free(marks.hit);
}

static void test_pairs(void **state) {
    (void)state;
    static const char *const names[][2] = {{"creature", "tube"}, {"creature", NULL}, {"production", NULL}};
    test_context test;
    test_begin(&test, 1);
    test_random random = {6};
    for (size_t n = 0; n < 3; n++) {
        subject a = make_subject(&test, names[n][0], 120), b = make_subject(&test, names[n][1], 80);
        uint32_t between = 0, itself = 0;
        for (int k = 0; k < 12; k++) {
            move_subject(&test, &a, &random, 0.09f * (float)k);
            move_subject(&test, &b, &random, 0.11f * (float)k);
            check_pairs(&a, &b, &between);
            check_pairs(&a, &a, &itself);
            check_pairs(&b, &b, &itself);
        }
        assert_true(between > 20);
        assert_true(itself > 20);
        free_subject(&a);
        free_subject(&b);
    }
    test_end(&test);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_balls),
        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_questions),
        cmocka_unit_test(test_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
