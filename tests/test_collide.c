/* Collisions: exact tests of triangles, balls that hold their vertices, questions against looking at every triangle. */
#include "collide/collide.h"
#include "core/surface.h"
#include "scenes.h"
#include "support.h"

#include <math.h>

/* ---- Triangles, against whole numbers --------------------------------------------------------------------- */

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

/* By separating axes, with those that triangles in one plane, without area or without length need. */
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
        uint32_t size = 2 + test_random_below(&random, 5); /* small: many touch, lie in a plane, are points or lines */
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
        if (round % 4 == 0) /* in one plane, or just beside it */
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
    /* The largest and smallest floats there are, a thousandth of a thousandth apart. */
    for (float scale = 0x1p-149f; scale < 0x1p100f; scale = scale < 0x1p-20f ? 0x1p99f : 2 * scale) {
        float a[3] = {0}, b[3] = {scale * 0x1p20f, 0, 0}, c[3] = {0, scale * 0x1p20f, 0}, d[3] = {scale, scale, scale};
        assert_int_equal(px_orient(a, b, c, d), 1);
        assert_int_equal(px_orient(a, c, b, d), -1);
        d[2] = 0;
        assert_int_equal(px_orient(a, b, c, d), 0);
    }
}

/* No ray from above a fan slips through between its triangles, and behind the origin there is nothing. */
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
            mixed[c] = middle[c] + share * (end[c] - middle[c]); /* on an edge, but for rounding */
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

/* ---- Models ----------------------------------------------------------------------------------------------- */

/* A scene, or NULL: triangles anywhere, with weights that need not be positive nor sum to one, and morphs. */
static pelt_model *make_model(test_context *test, const char *name, uint32_t vertex_count) {
    pelt_model *model;
    if (name) {
        scene_desc desc = {.vertex_count = vertex_count, .frame_count = 12, .seed = 5};
        test_ok(test, scene_find(name)->make(test->context, &desc, &model));
        return model;
    }
    test_random random = {vertex_count};
    test_ok(test, pelt_model_create(test->context, &model));
    model->mesh =
        (pelt_mesh){.vertex_count = vertex_count, .point_count = vertex_count, .triangle_count = vertex_count};
    model->skin = (pelt_skin){.bone_count = 7, .influence_count = 3};
    model->morphs.morph_count = 3;
#define ARRAY(field, count) field = pelt_model_alloc(test->context, model, count, sizeof *(field))
    ARRAY(model->mesh.positions, 3 * vertex_count);
    ARRAY(model->mesh.triangles, 3 * vertex_count);
    ARRAY(model->skin.bones, 3 * vertex_count);
    ARRAY(model->skin.bone_joints, 7);
    ARRAY(model->skin.inverse_binds, 7);
    ARRAY(model->skeleton.parents, 1);
    ARRAY(model->skeleton.rest, 1);
    model->skeleton.joint_count = 1;
    model->skeleton.parents[0] = PELT_NONE;
    ARRAY(model->skin.weights, 3 * vertex_count);
    ARRAY(model->morphs.morphs, 3);
    for (uint32_t e = 0; e < 3 * vertex_count; e++) {
        model->mesh.positions[e] = (float)test_random_real(&random, -1, 1);
        model->mesh.triangles[e] = test_random_below(&random, vertex_count);
        model->skin.bones[e] = (uint16_t)test_random_below(&random, 7);
        model->skin.weights[e] = (float)test_random_real(&random, -0.3, 1);
    }
    for (uint32_t m = 0; m < 3; m++) {
        float *ARRAY(positions, 3 * (vertex_count / 2));
        for (uint32_t e = 0; e < 3 * (vertex_count / 2); e++)
            positions[e] = (float)test_random_real(&random, -0.2, 0.2);
        model->morphs.morphs[m] = (pelt_morph){
            .name = "", .first_vertex = m * vertex_count / 4, .vertex_count = vertex_count / 2, .positions = positions};
    }
    return model;
}

static void random_palette(test_random *random, uint32_t count, double size, pelt_affine *palette) {
    for (uint32_t e = 0; e < 12 * count; e++)
        palette[e / 12].m[e % 12] = (float)test_random_real(random, -size, size);
}

/* Poses by matrices as pelt_model_pose does it. */
static void pose_by_palette(const pelt_model *model, const pelt_affine *palette, const float *weights, pelt_simd simd,
                            float *out) {
    float *morphed = malloc(3 * model->mesh.vertex_count * sizeof *morphed);
    pelt_morph_run(&model->mesh, &model->morphs, weights, morphed, NULL, NULL);
    pelt_skin_job job = {.vertex_count = model->mesh.vertex_count,
                         .influence_count = model->skin.influence_count,
                         .bones = model->skin.bones,
                         .weights = model->skin.weights,
                         .palette = palette,
                         .positions = morphed,
                         .out_positions = out};
    pelt_skin_run_simd(&job, simd);
    free(morphed);
}

/* ---- Balls ------------------------------------------------------------------------------------------------ */

/* Vertices of the leaves below a node are in its ball and are those of `positions` to the bit. Gives the sum over leaves
 * of how much larger balls are than their vertices need. */
static double check_balls(pelt_body *body, const float *positions, uint32_t n, uint32_t *above, uint32_t depth) {
    const px_node *node = &body->tree->nodes[n];
    above[depth] = n;
    if (node->second)
        return check_balls(body, positions, n + 1, above, depth + 1) +
               check_balls(body, positions, node->second, above, depth + 1);
    const float(*posed)[3] = px_body_leaf(body, node->leaf);
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
    px_ball least = px_ball_of_points(posed, PX_LEAF_VERTICES);
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
                assert_true(ratio < 1.5); /* balls of a skin that moves are near the smallest */
            }
        test_random random = {n};
        pelt_affine *palette = malloc(tree->bone_count * sizeof *palette);
        float *weights = calloc(model->morphs.morph_count + 1, sizeof *weights);
        for (int k = 0; k < 30 && model->skin.bone_count; k++) { /* anything at all, far away, tiny */
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

/* ---- Questions, against every triangle -------------------------------------------------------------------- */

typedef struct subject {
    pelt_model *model;
    pelt_bdtree *tree;
    pelt_body *body;
    float *positions; /* [vertex][3] */
    uint8_t *hit;     /* [triangle] */
} subject;

static subject make_subject(test_context *test, const char *name, uint32_t vertex_count) {
    subject s = {.model = make_model(test, name, vertex_count)};
    test_ok(test, pelt_bdtree_create(test->context, s.model, &s.tree));
    test_ok(test, pelt_body_create(test->context, s.tree, &s.body));
    s.positions = malloc(3 * s.model->mesh.vertex_count * sizeof *s.positions);
    s.hit = malloc(s.model->mesh.triangle_count);
    return s;
}

static void free_subject(subject *s) {
    pelt_body_destroy(s->body);
    pelt_bdtree_destroy(s->tree);
    pelt_model_destroy(s->model);
    free(s->positions);
    free(s->hit);
}

/* In one of three ways: a motion, any matrices, positions. */
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

/* The same to the last bit. */
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
    random_place(s, random, test_random_below(random, 2) ? 0 : 0.2, target); /* corners too */
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

static bool mark(void *user, uint32_t triangle) {
    const subject *s = user;
    assert_int_equal(s->hit[triangle], 0); /* never twice */
    s->hit[triangle] = 1;
    return true;
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
        uint32_t vertices, poses, rounds; /* 100,000 in all, three kinds in turn */
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
    assert_in_range(found, 30000, 90000); /* both answers are asked for */
    test_end(&test);
}

typedef struct pair_marks {
    uint8_t *hit; /* [triangle of a][triangle of b] */
    uint32_t width, count, most;
} pair_marks;

static bool mark_pair(void *user, uint32_t a, uint32_t b) {
    pair_marks *m = user;
    assert_int_equal(m->hit[(size_t)m->width * a + b], 0);
    m->hit[(size_t)m->width * a + b] = 1;
    return ++m->count != m->most;
}

static bool are_apart(const pelt_mesh *mesh, uint32_t a, uint32_t b) {
    for (int e = 0; e < 9; e++) {
        uint32_t v = mesh->triangles[3 * (size_t)a + (size_t)e / 3], w = mesh->triangles[3 * (size_t)b + (size_t)e % 3];
        if (mesh->weld ? mesh->weld[v] == mesh->weld[w] : v == w)
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
    if (marks.count > 1) { /* stops when told to */
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

/* ---- Frames ----------------------------------------------------------------------------------------------- */

#define FRAMES 40u

typedef struct collide_run {
    pelt_model *models[2];
    uint32_t side_count;
    pelt_contacts frames[FRAMES];
    uint32_t pairs[FRAMES][4][2];
} collide_run;

static pelt_result run_collide(pelt_context *context, void *user) {
    collide_run *run = user;
    float times[FRAMES];
    pelt_mover movers[2];
    for (uint32_t k = 0; k < FRAMES; k++) {
        times[k] = (float)k / 30;
        run->frames[k] = (pelt_contacts){.pairs = run->pairs[k]};
    }
    for (uint32_t s = 0; s < 2; s++)
        movers[s] = (pelt_mover){.model = run->models[s],
                                 .frame_count = FRAMES - 10 * s,
                                 .times = times,
                                 .motion = run->models[s]->motions,
                                 .offset = {0.3f * (float)s, 0, 0}};
    return pelt_collide(context, &movers[0], run->side_count == 2 ? &movers[1] : NULL, 4, run->frames);
}

static collide_run make_run(test_context *test, uint32_t side_count) {
    collide_run run = {.models = {make_model(test, "tube", 300), make_model(test, "morph", 200)},
                       .side_count = side_count};
    return run;
}

static void free_run(const collide_run *run) {
    pelt_model_destroy(run->models[0]);
    pelt_model_destroy(run->models[1]);
}

/* Frames are those of bodies one by one, by positions too, whatever the number of threads. */
static void test_frames(void **state) {
    (void)state;
    for (uint32_t sides = 1; sides <= 2; sides++) {
        collide_run runs[2];
        for (uint32_t n = 0; n < 2; n++) {
            test_context test;
            test_begin(&test, 1 + 2 * n);
            runs[n] = make_run(&test, sides);
            test_ok(&test, run_collide(test.context, &runs[n]));
            free_run(&runs[n]);
            test_end(&test);
        }
        uint64_t sum = 0;
        for (uint32_t k = 0; k < FRAMES; k++) {
            const pelt_contacts *one = &runs[0].frames[k], *more = &runs[1].frames[k];
            assert_int_equal(one->pair_count, more->pair_count);
            assert_int_equal(one->triangle_count[0], more->triangle_count[0]);
            assert_int_equal(one->triangle_count[1], more->triangle_count[1]);
            assert_true(one->opened == more->opened && one->opened > 0 && one->opened <= 1);
            assert_int_equal(one->listed_count, one->pair_count < 4 ? one->pair_count : 4);
            assert_true(sides == 2 || one->triangle_count[1] == 0);
            sum += one->pair_count;
        }
        assert_memory_equal(runs[0].pairs, runs[1].pairs, sizeof runs[0].pairs);
        assert_true(sum > 100);
    }
}

static void test_clips(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    collide_run run = make_run(&test, 2);
    pelt_clip clips[2];
    pelt_mover movers[2];
    pelt_contacts by_motion[10], by_clip[10];
    memset(by_clip, 0, sizeof by_clip);
    memset(by_motion, 0, sizeof by_motion);
    for (uint32_t s = 0; s < 2; s++) {
        float times[10];
        for (int k = 0; k < 10; k++)
            times[k] = 0.1f * (float)k;
        test_ok(&test, pelt_clip_from_motion_at(test.context, run.models[s], run.models[s]->motions, times, 10,
                                                PELT_SKINNING_LINEAR, &clips[s]));
        movers[s] = (pelt_mover){run.models[s], 10, clips[s].times, run.models[s]->motions, NULL, {0}};
    }
    test_ok(&test, pelt_collide(test.context, &movers[0], &movers[1], 0, by_motion));
    for (uint32_t s = 0; s < 2; s++)
        movers[s].clip = &clips[s];
    test_ok(&test, pelt_collide(test.context, &movers[0], &movers[1], 0, by_clip));
    for (int k = 0; k < 10; k++) {
        assert_true(by_motion[k].pair_count > 0);
        assert_int_equal(by_motion[k].pair_count, by_clip[k].pair_count);
        assert_true(by_motion[k].opened < 1);
        assert_true(by_clip[k].opened == 1); /* all are needed for balls anew */
    }
    movers[1].frame_count = 9;
    test_fails(&test, pelt_collide(test.context, &movers[0], &movers[1], 0, by_clip), PELT_ERROR_ARGUMENT, "frames");
    movers[1] = (pelt_mover){.model = run.models[1]};
    test_fails(&test, pelt_collide(test.context, &movers[0], &movers[1], 0, by_clip), PELT_ERROR_ARGUMENT, "no frame");
    free_run(&run);
    test_end(&test);
}

static void test_cancel_frames(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    collide_run run = make_run(&test, 2);
    atomic_store(&test.cancel_at, atomic_load(&test.asked) + 3);
    assert_int_equal(run_collide(test.context, &run), PELT_ERROR_CANCELLED);
    free_run(&run);
    test_end(&test);
}

/* ---- Memory, nothing, and what is not finite -------------------------------------------------------------- */

static pelt_result run_once(pelt_context *context, void *user) {
    return run_collide(context, user);
}

static void test_memory(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    collide_run run = make_run(&test, 2);
    test_fail_each_allocation(1, run_once, &run);
    test_fail_some_allocations(2, 40, run_once, &run);
    free_run(&run);

    /* Poses and questions need none. */
    subject s = make_subject(&test, "morph", 400);
    uint64_t before = pelt_context_memory(test.context).count;
    for (int k = 0; k < 20; k++) {
        pelt_body_point point;
        pair_marks marks = {calloc(s.model->mesh.triangle_count, s.model->mesh.triangle_count),
                            s.model->mesh.triangle_count, 0, 0};
        pelt_body_motion(s.body, &s.model->motions[0], 0.1f * (float)k);
        assert_int_equal(pelt_body_cost(s.body).ball_count, 0);
        assert_true(pelt_body_ray(s.body, &(pelt_ray){{9, 9, 9}, {-9, -9, -9}, INFINITY}, &point) ||
                    pelt_body_nearest(s.body, (float[3]){9, 9, 9}, INFINITY, &point));
        pelt_body_work work = pelt_body_cost(s.body);
        assert_true(work.ball_count > 0 && work.ball_count < work.node_count);
        assert_true(work.open_count > 0 && work.open_count < work.leaf_count);
        pelt_body_pairs(s.body, s.body, mark_pair, &marks);
        free(marks.hit);
    }
    assert_int_equal(pelt_context_memory(test.context).count, before);
    free_subject(&s);
    test_end(&test);
}

static void check_nothing(pelt_body *body) {
    pelt_body_point point;
    pair_marks marks = {NULL, 0, 0, 0};
    subject none = {0};
    assert_false(pelt_body_ray(body, &(pelt_ray){{0, 0, 9}, {0, 0, -1}, INFINITY}, &point));
    assert_false(pelt_body_nearest(body, (float[3]){0, 0, 0}, INFINITY, &point));
    pelt_body_sphere(body, (float[3]){0, 0, 0}, INFINITY, mark, &none);
    pelt_body_pairs(body, body, mark_pair, &marks);
}

static void test_nothing(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    for (uint32_t vertices = 0; vertices <= 60; vertices += 60) {
        subject s = make_subject(&test, NULL, vertices);
        pelt_affine palette[7];
        if (vertices == 0)
            check_nothing(s.body);
        for (int way = 0; way < 3; way++) {
            for (int e = 0; e < 84; e++)
                palette[e / 12].m[e % 12] = way == 0 ? NAN : way == 1 ? INFINITY : 3e38f;
            pelt_body_palette(s.body, palette, (float[3]){1, 1, 1});
            check_nothing(s.body);
        }
        free_subject(&s);
    }
    /* One bad bone takes its own vertices only. */
    subject s = make_subject(&test, "creature", 300);
    pelt_body_point point;
    pelt_affine *palette = malloc(s.tree->bone_count * sizeof *palette);
    memcpy(palette, s.body->palette, s.tree->bone_count * sizeof *palette);
    palette[s.tree->bone_count - 1].m[5] = NAN;
    pelt_body_palette(s.body, palette, NULL);
    assert_true(pelt_body_nearest(s.body, (float[3]){0, 0, 0}, INFINITY, &point));
    free(palette);
    free_subject(&s);
    test_end(&test);
}

/* All kernels give the corners that questions see. */
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_triangles), cmocka_unit_test(test_orient),    cmocka_unit_test(test_rays),
        cmocka_unit_test(test_balls),     cmocka_unit_test(test_questions), cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_frames),    cmocka_unit_test(test_clips),     cmocka_unit_test(test_cancel_frames),
        cmocka_unit_test(test_memory),    cmocka_unit_test(test_nothing),   cmocka_unit_test(test_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
