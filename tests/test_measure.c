/* core/ball.c and core/measure.c: enclosing spheres against brute force and known shapes, errors computed by hand. */
#include "support.h"

#include "core/ball.h"

#include <math.h>

static bool near_to(double a, double b, double tolerance) {
    return fabs(a - b) <= tolerance;
}

/* ---- Ball ------------------------------------------------------------------------------------------------- */

static pelt_ball ball_of(const float *positions, uint32_t count, uint32_t thread_count) {
    test_context test;
    pelt_context *context = test_begin(&test, thread_count);
    pelt_ball ball;
    test_ok(&test, pelt_enclosing_ball(context, positions, count, &ball));
    for (uint32_t i = 0; i < count; i++) {
        double d2 = 0;
        for (int c = 0; c < 3; c++)
            d2 += pow((double)positions[3 * i + c] - ball.center[c], 2);
        assert_true(sqrt(d2) <= ball.radius * (1 + 1e-12));
    }
    test_end(&test);
    return ball;
}

static void ball_of_known_shapes(void **state) {
    (void)state;
    assert_true(ball_of(NULL, 0, 1).radius == 0);
    float point[] = {3, -4, 5, 3, -4, 5, 3, -4, 5};
    pelt_ball ball = ball_of(point, 3, 1);
    assert_true(ball.radius == 0 && ball.center[0] == 3 && ball.center[1] == -4 && ball.center[2] == 5);
    float segment[] = {1, 1, 1, 0, 1, 1, 0.25f, 1, 1, -3, 1, 1, 0.5f, 1, 1};
    ball = ball_of(segment, 5, 1);
    assert_true(near_to(ball.radius, 2, 1e-12) && near_to(ball.center[0], -1, 1e-12));
    /* Obtuse: two points; equilateral: three; the corners of a cube, all on one sphere. */
    float obtuse[] = {-2, 0, 0, 2, 0, 0, 0, 0.5f, 0};
    assert_true(near_to(ball_of(obtuse, 3, 1).radius, 2, 1e-12));
    float equal[] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    assert_true(near_to(ball_of(equal, 3, 1).radius, sqrt(2.0 / 3), 1e-12));
    float cube[24];
    for (int e = 0; e < 24; e++)
        cube[e] = (float)(e / 3 >> (e % 3) & 1);
    ball = ball_of(cube, 8, 1);
    assert_true(near_to(ball.radius, sqrt(3) / 2, 1e-12) && near_to(ball.center[2], 0.5, 1e-12));
}

static void ball_of_spheres_and_offsets(void **state) {
    (void)state;
    enum { RINGS = 60, COUNT = RINGS * RINGS };
    static float sphere[3 * COUNT];
    static const double offsets[] = {0, 1e4}, radii[] = {1, 1e-30, 1e30};
    for (int r = 0; r < 3; r++)
        for (int o = 0; o < 2; o++) {
            if (offsets[o] != 0 && radii[r] != 1)
                continue;
            for (int i = 0; i < COUNT; i++) {
                double u = M_PI * (i / RINGS) / (RINGS - 1), v = 2 * M_PI * (i % RINGS) / RINGS;
                sphere[3 * i] = (float)(radii[r] * sin(u) * cos(v) + offsets[o]);
                sphere[3 * i + 1] = (float)(radii[r] * sin(u) * sin(v));
                sphere[3 * i + 2] = (float)(radii[r] * cos(u));
            }
            pelt_ball ball = ball_of(sphere, COUNT, 2);
            assert_true(near_to(ball.radius / radii[r], 1, offsets[o] != 0 ? 1e-3 : 3e-7));
        }
}

/* Brute force: minimises the largest distance over the circumcentres of all subsets of two to four points. Slow, and
 * independent of the library's method (Gram matrices, elimination). */
static bool center_of(double (*p)[3], int count, double out[3]) {
    double m[3][4] = {{0}};
    int n = count - 1;
    for (int r = 0; r < n; r++) {
        for (int s = 0; s < n; s++)
            for (int c = 0; c < 3; c++)
                m[r][s] += 2 * (p[r + 1][c] - p[0][c]) * (p[s + 1][c] - p[0][c]);
        m[r][3] = m[r][r] / 2;
    }
    for (int r = 0; r < n; r++) {
        int pivot = r;
        for (int s = r; s < n; s++)
            if (fabs(m[s][r]) > fabs(m[pivot][r]))
                pivot = s;
        if (fabs(m[pivot][r]) < 1e-12)
            return false;
        for (int c = 0; c < 4; c++) {
            double swap = m[r][c];
            m[r][c] = m[pivot][c], m[pivot][c] = swap;
        }
        for (int s = 0; s < n; s++)
            for (int c = 3; s != r && c >= r; c--)
                m[s][c] -= m[r][c] * m[s][r] / m[r][r];
    }
    for (int c = 0; c < 3; c++) {
        out[c] = p[0][c];
        for (int r = 0; r < n; r++)
            out[c] += m[r][3] / m[r][r] * (p[r + 1][c] - p[0][c]);
    }
    return true;
}

static double brute_radius(const float *positions, int count) {
    double best = INFINITY;
    for (unsigned set = 1; set < 1u << count; set++) {
        double p[4][3], center[3], largest = 0;
        int size = 0;
        if (__builtin_popcount(set) > 4)
            continue;
        for (int i = 0; i < count; i++)
            for (int c = 0; set >> i & 1 && c < 3; c++)
                p[c == 2 ? size++ : size][c] = positions[3 * i + c];
        if (!center_of(p, size, center))
            continue;
        for (int i = 0; i < count; i++)
            largest = fmax(largest, hypot(hypot(positions[3 * i] - center[0], positions[3 * i + 1] - center[1]),
                                          positions[3 * i + 2] - center[2]));
        best = fmin(best, largest);
    }
    return best;
}

static void ball_is_minimal(void **state) {
    (void)state;
    test_random random = {5};
    for (int trial = 0; trial < 600; trial++) {
        float positions[36];
        int count = 1 + (int)test_random_below(&random, 12), kind = trial % 4;
        for (int e = 0; e < 3 * count;
             e++) /* arbitrary, in a plane, on a small grid (duplicates, cospherical), on a line */
            positions[e] = kind == 0                ? (float)test_random_real(&random, -1, 1)
                           : kind == 1 && e % 3 < 2 ? (float)test_random_real(&random, -1, 1)
                           : kind == 2              ? (float)test_random_below(&random, 3)
                           : kind == 3 && e % 3 < 1 ? (float)test_random_real(&random, -1, 1)
                                                    : 0.75f;
        double wanted = brute_radius(positions, count);
        pelt_ball ball = ball_of(positions, (uint32_t)count, 1);
        if (!near_to(ball.radius, wanted, 1e-9 * wanted))
            fail_msg("trial %d: %d points, radius %.12g, should be %.12g", trial, count, ball.radius, wanted);
    }
}

/* Many points, shuffled: the same sphere to 1e-9; with any number of threads to the last bit. */
static void ball_of_many(void **state) {
    (void)state;
    enum { COUNT = 70000 };
    static float positions[3 * COUNT];
    test_random random = {9};
    for (int e = 0; e < 3 * COUNT; e++)
        positions[e] = (float)(test_random_real(&random, -1, 1) + test_random_real(&random, -1, 1));
    pelt_ball one = ball_of(positions, COUNT, 1), two = ball_of(positions, COUNT, 2),
              eight = ball_of(positions, COUNT, 8);
    assert_memory_equal(&one, &two, sizeof one);
    assert_memory_equal(&one, &eight, sizeof one);
    for (uint32_t i = COUNT - 1; i > 0; i--) {
        uint32_t other = test_random_below(&random, i + 1);
        for (int c = 0; c < 3; c++) {
            float swap = positions[3 * i + c];
            positions[3 * i + c] = positions[3 * other + c], positions[3 * other + c] = swap;
        }
    }
    pelt_ball shuffled = ball_of(positions, COUNT, 2);
    assert_true(near_to(shuffled.radius, one.radius, 1e-9 * one.radius));
    for (int c = 0; c < 3; c++)
        assert_true(near_to(shuffled.center[c], one.center[c], 1e-9 * one.radius));
}

static void ball_refuses_nan(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    pelt_ball ball;
    for (uint32_t bad = 0; bad < 4; bad++)
        for (int kind = 0; kind < 3; kind++) {
            float positions[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1};
            positions[3 * bad + 1] = kind == 0 ? NAN : kind == 1 ? INFINITY : -INFINITY;
            char words[40];
            snprintf(words, sizeof words, "point %u: its position is not finite", bad);
            test_fails(&test, pelt_enclosing_ball(context, positions, 4, &ball), PELT_ERROR_INPUT, words);
            assert_true(ball.radius == 0);
        }
    test_end(&test);
}

/* The error of a single point is in units; non-finite positions are reported with their clip. */
static void ball_of_a_clip(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    float positions[] = {1, 2, 3, 3, 2, 3}, times[] = {0};
    pelt_clip clip = {.name = "jump", .frame_count = 1, .point_count = 2, .times = times, .positions = positions};
    pelt_ball ball;
    test_ok(&test, px_clip_ball(context, &clip, &ball, NULL));
    assert_true(near_to(ball.radius, 1, 1e-12) && near_to(ball.center[0], 2, 1e-12));
    positions[3] = 1;
    test_ok(&test, px_clip_ball(context, &clip, &ball, NULL));
    assert_true(ball.radius == 1 && near_to(ball.center[0], 1, 1e-12));
    positions[4] = NAN;
    test_fails(&test, px_clip_ball(context, &clip, &ball, NULL), PELT_ERROR_INPUT, "clip 'jump', frame 0, vertex 1");
    test_end(&test);
}

/* Two points that start within `first` of each other and are 2 apart in later frames; b misses the last frame by 1. */
static pelt_difference compare_growth(test_context *test, float first) {
    enum { frames = 5 };
    float a[frames][6] = {{0}}, b[frames][6];
    for (int k = 0; k < frames; k++)
        a[k][3] = k == 0 ? first : 2;
    memcpy(b, a, sizeof b);
    b[frames - 1][1] = 1;
    float seconds[frames] = {0, 1, 2, 3, 4};
    pelt_clip x = {.name = "a", .frame_count = frames, .point_count = 2, .times = seconds, .positions = a[0]}, y = x;
    y.positions = b[0];
    pelt_difference d;
    test_ok(test, pelt_compare_clips(test->context, &x, &y, NULL, &d, NULL));
    return d;
}

/* A first frame smaller than a tenth of the median size is not used as the unit; a larger one is. */
static void ball_of_growth(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    static const float degenerate[] = {0, 0.001f, 0.19f};
    for (int n = 0; n < 3; n++) {
        pelt_difference d = compare_growth(&test, degenerate[n]);
        assert_true(d.ball_frame == 1 && near_to(d.ball.radius, 1, 1e-9) && near_to(d.error_max, 0.5, 1e-9));
        assert_true(near_to(d.error_rms, 1000 / sqrt(30), 1e-6));
    }
    pelt_difference d = compare_growth(&test, 0.25f);
    assert_true(d.ball_frame == 0 && near_to(d.ball.radius, 0.125, 1e-9) && near_to(d.error_max, 4, 1e-9));
    test_end(&test);
}

/* ---- Clips ------------------------------------------------------------------------------------------------ */

static pelt_result read_positions(pelt_context *context, const void *user, uint32_t frame, uint32_t first,
                                  uint32_t count, float *out) {
    return pelt_clip_read(context, user, frame, first, count, out);
}

static float times[64];

/* Two points on the diameter of a unit sphere; a moves by ±1 in y, b is off in one position. */
static void errors_by_hand(void **state) {
    (void)state;
    float a[2][2][3] = {{{-2, 0, 0}, {2, 0, 0}}, {{-2, 2, 0}, {2, 2, 0}}}, b[2][2][3];
    memcpy(b, a, sizeof a);
    b[1][1][2] = 0.5f;
    pelt_clip ca = {"a", 2, 2, times, &a[0][0][0], {0}}, cb = {"b", 2, 2, times, &b[0][0][0], {0}};
    pelt_clip sa = {"a", 2, 2, times, NULL, {.read = read_positions, .user = &ca}},
              sb = {"b", 2, 2, times, NULL, {.read = read_positions, .user = &cb}};
    for (int through = 0; through < 4; through++) {
        test_context test;
        pelt_context *context = test_begin(&test, 2);
        pelt_difference d;
        double frame_rms[2];
        test_ok(&test,
                pelt_compare_clips(context, through & 1 ? &sa : &ca, through & 2 ? &sb : &cb, NULL, &d, frame_rms));
        assert_int_equal(d.frame_count, 2);
        assert_int_equal(d.point_count, 2);
        assert_true(d.ball.radius == 2);
        assert_true(near_to(d.error_rms, 1000 * 0.25 / sqrt(3 * 2 * 2), 1e-9)); /* 0.5 / radius 2 */
        assert_true(near_to(d.error_kg, 100 * 0.5 / sqrt(4), 1e-9));            /* each point deviates by 1, 4 times */
        assert_true(near_to(d.error_max, 0.125, 1e-12) && near_to(d.error_max_units, 0.5, 1e-12));
        assert_true(d.max_frame == 1 && d.max_point == 1);
        assert_true(isnan(d.normal_rms));
        assert_true(frame_rms[0] == 0 && near_to(frame_rms[1], 1000 * 0.25 / sqrt(6), 1e-9));
        assert_true(test.progress_count > 0 && test.progress_last == 1);
        test_end(&test);
    }
}

static void special_cases(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    float still[2][3] = {{0.1f, 0.3f, 0.7f}, {0.1f, 0.3f, 0.7f}}, off[2][3] = {{0.1f, 0.3f, 0.7f}, {0.1f, 0.3f, 0.8f}};
    pelt_clip a = {"a", 2, 1, times, &still[0][0], {0}}, b = {"b", 2, 1, times, &off[0][0], {0}};
    pelt_difference d;
    test_ok(&test, pelt_compare_clips(context, &a, &a, NULL, &d, NULL));
    assert_true(d.error_rms == 0 && d.error_kg == 0 && d.error_max == 0);
    test_ok(&test, pelt_compare_clips(context, &a, &b, NULL, &d, NULL));
    assert_true(isinf(d.error_kg));                                                                    /* a is static */
    assert_true(near_to(d.error_max, 0.05, 1e-6) && near_to(d.error_rms, 1000 * 0.1 / sqrt(6), 1e-3)); /* in units */
    pelt_clip other = {"other", 1, 1, times, &off[0][0], {0}}, more = {"more", 1, 2, times, &off[0][0], {0}};
    test_fails(&test, pelt_compare_clips(context, &a, &other, NULL, &d, NULL), PELT_ERROR_INPUT,
               "clip 'a' has 2 frames and clip 'other' has 1");
    test_fails(&test, pelt_compare_clips(context, &other, &more, NULL, &d, NULL), PELT_ERROR_INPUT,
               "clip 'other' has 1 points and clip 'more' has 2");
    pelt_mesh mesh = {.vertex_count = 5, .points.count = 5};
    test_fails(&test, pelt_compare_clips(context, &a, &b, &mesh, &d, NULL), PELT_ERROR_INPUT, "mesh has 5 points");
    pelt_clip no_frames = {"none", 0, 1, NULL, NULL, {0}}, no_points = {"none", 2, 0, times, &off[0][0], {0}};
    test_ok(&test, pelt_compare_clips(context, &no_frames, &no_frames, NULL, &d, NULL));
    assert_true(d.frame_count == 0 && d.error_rms == 0 && d.error_kg == 0 && d.ball.radius == 0);
    test_ok(&test, pelt_compare_clips(context, &no_points, &no_points, NULL, &d, NULL));
    assert_true(d.point_count == 0 && d.error_rms == 0 && d.error_max == 0);
    test_end(&test);
}

/* A grid with a waving height; b is a with noise. */
enum { SIDE = 40, POINTS = SIDE * SIDE, FRAMES = 19 };
static float wave_a[FRAMES][POINTS][3], wave_b[FRAMES][POINTS][3];
static uint32_t wave_triangles[2 * (SIDE - 1) * (SIDE - 1)][3];
static pelt_clip clip_a = {"a", FRAMES, POINTS, times, &wave_a[0][0][0], {0}};
static pelt_clip clip_b = {"b", FRAMES, POINTS, times, &wave_b[0][0][0], {0}};
static pelt_mesh wave_mesh = {.vertex_count = POINTS, .points.count = POINTS, .triangles = &wave_triangles[0][0]};

static void make_waves(void) {
    test_random random = {77};
    for (int k = 0; k < FRAMES; k++)
        for (int i = 0; i < POINTS; i++)
            for (int c = 0; c < 3; c++) {
                wave_a[k][i][c] = c < 2 ? (float)(c ? i / SIDE : i % SIDE) : 3 * sinf(0.3f * (float)(i % SIDE + k));
                wave_b[k][i][c] = wave_a[k][i][c] + (float)test_random_real(&random, -0.1, 0.1);
            }
    for (uint32_t y = 0; y + 1 < SIDE; y++)
        for (uint32_t x = 0; x + 1 < SIDE; x++) {
            uint32_t i = y * SIDE + x, quad[6] = {i, i + 1, i + SIDE, i + 1, i + SIDE + 1, i + SIDE};
            memcpy(wave_triangles[wave_mesh.triangle_count], quad, sizeof quad);
            wave_mesh.triangle_count += 2;
        }
}

static void same_with_any_threads(void **state) {
    (void)state;
    pelt_difference first = {0};
    double first_rms[FRAMES], rms[FRAMES];
    for (uint32_t thread_count = 1; thread_count <= 8; thread_count += thread_count < 3 ? 1 : 5) {
        test_context test;
        pelt_context *context = test_begin(&test, thread_count);
        pelt_difference d;
        test_ok(&test, pelt_compare_clips(context, &clip_a, &clip_b, &wave_mesh, &d, rms));
        if (thread_count == 1) {
            first = d;
            memcpy(first_rms, rms, sizeof rms);
        }
        assert_memory_equal(&first, &d, sizeof d);
        assert_memory_equal(first_rms, rms, sizeof rms);
        test_end(&test);
    }
    double error2 = 0, largest = 0;
    for (int k = 0; k < FRAMES; k++)
        for (int i = 0; i < POINTS; i++) {
            double d2 = 0;
            for (int c = 0; c < 3; c++)
                d2 += pow((double)wave_a[k][i][c] - wave_b[k][i][c], 2);
            error2 += d2;
            largest = fmax(largest, d2);
        }
    assert_true(near_to(first.error_rms, 1000 * sqrt(error2 / (3.0 * POINTS * FRAMES)) / first.ball.radius, 1e-9));
    assert_true(near_to(first.error_max_units, sqrt(largest), 1e-12));
    assert_true(first.normal_rms > 0.01 && first.normal_rms < 0.5);
}

/* A tent of two triangles unfolded by a quarter turn; the ridge has separate vertices on each side. */
static void normals_by_hand(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    float a[1][4][3] = {{{0, 0, 0}, {0, 1, 0}, {1, 0, 0}, {-1, 0, 0}}}, b[1][4][3];
    memcpy(b, a, sizeof a);
    b[0][2][0] = 0, b[0][2][2] = -1; /* the right wing points down: its normal turns from +z to +x */
    uint32_t points[6] = {0, 2, 1, 0, 1, 3}, triangles[6] = {0, 1, 2, 3, 4, 5}, weld[6] = {0, 1, 2, 0, 2, 3};
    uint32_t point_firsts[4] = {0, 2, 1, 5}, weld_firsts[4] = {0, 1, 2, 5};
    pelt_mesh mesh = {
        .vertex_count = 6, .triangle_count = 2, .points = {4, points, point_firsts}, .triangles = triangles};
    pelt_clip ca = {"a", 1, 4, times, &a[0][0][0], {0}}, cb = {"b", 1, 4, times, &b[0][0][0], {0}};
    pelt_difference d;
    /* Ridge points: (1,0,1)/√2 against (0,0,1): |difference|² = 2 − √2; wing tip: 2; the other: 0. */
    double wanted = sqrt((2 * (2 - sqrt(2)) + 2) / 4);
    for (int welded = 0; welded < 2; welded++) {
        mesh.weld = welded ? (pelt_vertex_classes){4, weld, weld_firsts} : (pelt_vertex_classes){0};
        test_ok(&test, pelt_compare_clips(context, &ca, &cb, &mesh, &d, NULL));
        assert_true(near_to(d.normal_rms, wanted, 1e-9));
    }
    test_end(&test);
}

static void not_finite_is_named(void **state) {
    (void)state;
    for (uint32_t thread_count = 1; thread_count < 4; thread_count++) {
        test_context test;
        pelt_context *context = test_begin(&test, thread_count);
        pelt_difference d;
        float kept = wave_b[7][33][2], kept_later = wave_a[16][2][0];
        wave_b[7][33][2] = NAN;
        wave_a[16][2][0] = INFINITY;
        for (int again = 0; again < 20; again++)
            test_fails(&test, pelt_compare_clips(context, &clip_a, &clip_b, NULL, &d, NULL), PELT_ERROR_INPUT,
                       "clip 'b' frame 7 point 33: its position is not finite");
        assert_true(d.frame_count == 0);
        wave_b[7][33][2] = kept;
        test_fails(&test, pelt_compare_clips(context, &clip_a, &clip_b, NULL, &d, NULL), PELT_ERROR_INPUT,
                   "clip 'a' frame 16 point 2");
        wave_a[16][2][0] = kept_later;
        test_end(&test);
    }
}

static void compare_can_be_cancelled(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    pelt_difference d;
    atomic_store(&test.cancel_at, 6);
    test_fails(&test, pelt_compare_clips(context, &clip_a, &clip_b, &wave_mesh, &d, NULL), PELT_ERROR_CANCELLED,
               "cancelled");
    test_end(&test);
}

/* ---- Weights ---------------------------------------------------------------------------------------------- */

typedef struct skinned {
    pelt_model model;
    uint32_t joints[4];
    uint16_t bones[8];
} skinned;

/* Four vertices, two influences. */
static void make_skinned(skinned *s, const char **names, const uint32_t *joints, const uint16_t *bones,
                         float *weights) {
    memset(s, 0, sizeof *s);
    memcpy(s->joints, joints, sizeof s->joints);
    memcpy(s->bones, bones, sizeof s->bones);
    s->model.mesh.vertex_count = 4;
    s->model.skeleton.joint_count = 4;
    s->model.skeleton.names = names;
    s->model.skin = (pelt_skin){.bone_count = 4, .influence_count = 2, .bone_joints = s->joints, .bones = s->bones};
    s->model.skin.weights = weights;
}

static const char *names_a[] = {"hip", "hand", "hand", "tail"}, *names_b[] = {"hand", "hip", "hand", "horn"};
static float weights_a[] = {1, 0, 0.75f, 0.25f, 0.5f, 0.5f, 1, 0}, weights_b[] = {1, 0, 0.5f, 0.5f, 1, 0, 1, 0};

static void weights_by_name(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    /* The bones of a are in another order than its joints; two bones of b have the same joint. */
    uint32_t joints_a[] = {3, 2, 1, 0}, joints_b[] = {0, 1, 2, 3};
    uint16_t bones_a[] = {3, 0, 3, 2, 1, 2, 0, 0}, bones_b[] = {1, 0, 1, 0, 2, 0, 3, 0};
    skinned a, b;
    make_skinned(&a, names_a, joints_a, bones_a, weights_a);
    make_skinned(&b, names_b, joints_b, bones_b, weights_b);
    pelt_weight_difference d;
    test_ok(&test, pelt_compare_weights(context, &a.model, &b.model, &d));
    assert_int_equal(d.vertex_count, 4);
    assert_int_equal(d.matched_joints, 3);
    assert_int_equal(d.unmatched_joints, 2); /* tail, horn */
    /* 0: hip 1 both. 1: hip ¾ and first hand ¼ against ½, ½. 2: second, first hand ½ against second 1. 3: tail, horn.
     */
    assert_true(near_to(d.l1_mean, (0 + 0.5 + 1 + 2) / 4, 1e-12));
    assert_true(d.l1_max == 2 && d.max_vertex == 3);
    test_ok(&test, pelt_compare_weights(context, &a.model, &a.model, &d));
    assert_true(d.l1_mean == 0 && d.matched_joints == 4 && d.unmatched_joints == 0);
    /* A joint of the same name that moves nothing is no partner: b has lost the bone of the first hand. */
    uint16_t second[] = {3, 0, 1, 0, 1, 0, 3, 0};
    float whole[] = {1, 0, 1, 0, 1, 0, 1, 0};
    make_skinned(&a, names_a, joints_a, second, whole);
    uint32_t fewer[] = {3, 2, 2, 0};
    make_skinned(&b, names_a, fewer, second, whole);
    test_ok(&test, pelt_compare_weights(context, &a.model, &b.model, &d));
    assert_true(d.l1_max == 0 && d.matched_joints == 2 && d.unmatched_joints == 0);
    b.model.mesh.vertex_count = 3;
    test_fails(&test, pelt_compare_weights(context, &a.model, &b.model, &d), PELT_ERROR_INPUT, "4 vertices");
    b.model.skin.bone_count = 0;
    test_fails(&test, pelt_compare_weights(context, &a.model, &b.model, &d), PELT_ERROR_INPUT, "second model");
    test_end(&test);
}

/* ---- Memory ----------------------------------------------------------------------------------------------- */

static pelt_result measure_all(pelt_context *context, void *user) {
    (void)user;
    pelt_difference d;
    pelt_clip through = {"a", FRAMES, POINTS, times, NULL, {.read = read_positions, .user = &clip_a}};
    through.frame_count = clip_b.frame_count = 5;
    pelt_result result = pelt_compare_clips(context, &through, &clip_b, &wave_mesh, &d, NULL);
    clip_b.frame_count = FRAMES;
    assert_true(d.frame_count == (result == PELT_OK ? 5 : 0));
    PX_TRY(result);
    uint32_t joints[] = {0, 1, 2, 3};
    uint16_t bones[8] = {0};
    skinned a;
    make_skinned(&a, names_a, joints, bones, weights_a);
    pelt_weight_difference w;
    return pelt_compare_weights(context, &a.model, &a.model, &w);
}

static void measures_without_memory(void **state) {
    (void)state;
    test_fail_each_allocation(1, measure_all, NULL);
    test_fail_each_allocation(2, measure_all, NULL);
}

int main(void) {
    for (int k = 0; k < 64; k++)
        times[k] = (float)k;
    make_waves();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ball_of_known_shapes),  cmocka_unit_test(ball_of_spheres_and_offsets),
        cmocka_unit_test(ball_is_minimal),       cmocka_unit_test(ball_of_a_clip),
        cmocka_unit_test(ball_of_many),          cmocka_unit_test(ball_refuses_nan),
        cmocka_unit_test(errors_by_hand),        cmocka_unit_test(special_cases),
        cmocka_unit_test(same_with_any_threads), cmocka_unit_test(normals_by_hand),
        cmocka_unit_test(not_finite_is_named),   cmocka_unit_test(compare_can_be_cancelled),
        cmocka_unit_test(weights_by_name),       cmocka_unit_test(measures_without_memory),
        cmocka_unit_test(ball_of_growth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
