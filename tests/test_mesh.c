/* core/mesh.c: reading clips, welding vertices, normals. */
#include "support.h"
#include "weights_models.h"

#include <pelt/measure.h>

#include "core/core.h"

#include <math.h>

/* ---- Clips ------------------------------------------------------------------------------------------------ */

static pelt_result read_positions(pelt_context *context, const void *user, uint32_t frame, uint32_t first,
                                  uint32_t count, float *out) {
    const pelt_clip *clip = user;
    return pelt_clip_read(context, clip, frame, first, count, out);
}

static void clip_read_checks(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    float positions[2][3][3], times[2] = {0, 1}, out[9];
    for (int e = 0; e < 18; e++)
        ((float *)positions)[e] = (float)e;
    pelt_clip clip = {"c", 2, 3, times, &positions[0][0][0], {0}};
    pelt_clip through = {"s", 2, 3, times, NULL, {.read = read_positions, .user = &clip}};
    const pelt_clip *both[2] = {&clip, &through};
    for (int b = 0; b < 2; b++) {
        test_ok(&test, pelt_clip_read(context, both[b], 1, 1, 2, out));
        assert_memory_equal(out, positions[1][1], 6 * sizeof(float));
        test_ok(&test, pelt_clip_read(context, both[b], 0, 3, 0, out));
        test_fails(&test, pelt_clip_read(context, both[b], 2, 0, 1, out), PELT_ERROR_USAGE, "no frame 2, it has 2");
        test_fails(&test, pelt_clip_read(context, both[b], 0, 2, 2, out), PELT_ERROR_USAGE, "points 2 to 4");
        test_fails(&test, pelt_clip_read(context, both[b], 0, 4, UINT32_MAX, out), PELT_ERROR_USAGE, "out of range");
    }
    test_end(&test);
}

/* ---- Welding ---------------------------------------------------------------------------------------------- */

/* A random model with few distinct values, so that many vertices agree in some frames and not in others. */
typedef struct weld_case {
    uint32_t vertex_count, point_count, clip_count, frame_count, morph_count, values;
    bool through_source, maps_points;
    uint64_t seed;
} weld_case;

static float few(test_random *random, uint32_t values) {
    static const float choices[] = {0, -0.0f, 1, 1, 2, -1, 0.5f, 1e30f};
    return choices[test_random_below(random, values)];
}

static pelt_result make_case(pelt_context *context, const weld_case *c, pelt_model **out) {
    pelt_model *model;
    PX_TRY(pelt_model_create(context, &model));
    test_random random = {c->seed};
    pelt_mesh *mesh = &model->mesh;
    mesh->vertex_count = c->vertex_count;
    uint32_t points = mesh->points.count = c->maps_points ? c->point_count : c->vertex_count;
    size_t frame_size = 3 * (size_t)points;
    mesh->positions = PX_NEW(model->memory, float, 3 * (size_t)c->vertex_count);
    uint32_t *of = PX_NEW(model->memory, uint32_t, c->vertex_count);
    model->clip_count = c->clip_count;
    model->clips = PX_NEW(model->memory, pelt_clip, 2 * c->clip_count);
    float *frames = PX_NEW(model->memory, float, c->clip_count * c->frame_count * frame_size);
    float *times = PX_NEW(model->memory, float, c->frame_count);
    model->morphs.morph_count = c->morph_count;
    model->morphs.morphs = PX_NEW(model->memory, pelt_morph, c->morph_count);
    float *deltas = PX_NEW(model->memory, float, c->morph_count * 3 * (size_t)c->vertex_count);
    if (!mesh->positions || !of || !model->clips || !frames || !times || !model->morphs.morphs || !deltas) {
        pelt_model_destroy(model);
        return PELT_ERROR_MEMORY;
    }
    for (uint32_t e = 0; e < 3 * c->vertex_count; e++)
        mesh->positions[e] = few(&random, c->values);
    for (uint32_t i = 0; i < c->vertex_count; i++)
        of[i] = i < points ? i : test_random_below(&random, points);
    if (c->maps_points)
        PX_TRY(pelt_model_set_points(context, model, points, of));
    for (size_t e = 0; e < c->clip_count * c->frame_count * frame_size; e++)
        frames[e] = few(&random, 3);
    for (uint32_t k = 0; k < c->frame_count; k++)
        times[k] = (float)k;
    for (uint32_t n = 0; n < c->clip_count; n++) {
        pelt_clip *clip = &model->clips[n], *inner = &model->clips[c->clip_count + n];
        *clip = *inner =
            (pelt_clip){"c", c->frame_count, mesh->points.count, times, frames + n * c->frame_count * frame_size, {0}};
        if (c->through_source) {
            clip->positions = NULL;
            clip->source = (pelt_clip_source){.read = read_positions, .user = inner};
        }
    }
    for (uint32_t m = 0; m < c->morph_count; m++) {
        /* Pairs of morphs with the same joint and index, each over its half of the vertices, like parts of a mesh. */
        uint32_t half = c->vertex_count / 2, first = m % 2 ? half : 0, count = m % 2 ? c->vertex_count - half : half;
        float *delta = deltas + m * 3 * (size_t)c->vertex_count;
        for (size_t e = 0; e < 3 * (size_t)count; e++)
            delta[e] = few(&random, 3);
        model->morphs.morphs[m] = (pelt_morph){"m", 0, m / 2, first, count, 0, delta, NULL, NULL, NULL};
    }
    *out = model;
    return PELT_OK;
}

static bool same3(const float *a, const float *b) {
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2]; /* the cases have no NaN */
}

static void delta_of(const pelt_model *model, uint32_t index, uint32_t i, float out[3]) {
    memset(out, 0, 3 * sizeof *out);
    for (uint32_t m = 0; m < model->morphs.morph_count; m++) {
        const pelt_morph *morph = &model->morphs.morphs[m];
        if (morph->index == index && i >= morph->first_vertex && i - morph->first_vertex < morph->vertex_count)
            memcpy(out, morph->positions + 3 * (i - morph->first_vertex), 3 * sizeof *out);
    }
}

/* The definition of the weld, by brute force. */
static bool same_vertex(pelt_context *context, const pelt_model *model, uint32_t a, uint32_t b) {
    const pelt_mesh *mesh = &model->mesh;
    if (!same3(mesh->positions + 3 * a, mesh->positions + 3 * b))
        return false;
    for (uint32_t c = 0; c < model->clip_count; c++)
        for (uint32_t k = 0; k < model->clips[c].frame_count; k++) {
            float pa[3], pb[3];
            pelt_clip_read(context, &model->clips[c], k, pelt_vertex_class(&mesh->points, a), 1, pa);
            pelt_clip_read(context, &model->clips[c], k, pelt_vertex_class(&mesh->points, b), 1, pb);
            if (!same3(pa, pb))
                return false;
        }
    for (uint32_t n = 0; n < model->morphs.morph_count; n++) {
        float da[3], db[3];
        delta_of(model, n, a, da);
        delta_of(model, n, b, db);
        if (!same3(da, db))
            return false;
    }
    return true;
}

static void check_case(const weld_case *c, uint32_t thread_count) {
    test_context test;
    pelt_context *context = test_begin(&test, thread_count);
    pelt_model *model;
    test_ok(&test, make_case(context, c, &model));
    test_ok(&test, pelt_model_weld(context, model));
    uint32_t *weld = model->mesh.weld.of, next = 0;
    for (uint32_t i = 0; i < c->vertex_count; i++) {
        uint32_t twin = 0;
        while (twin < i && !same_vertex(context, model, twin, i))
            twin++;
        if (weld[i] != (twin < i ? weld[twin] : next))
            fail_msg("seed %llu vertex %u: welded to %u", (unsigned long long)c->seed, i, weld[i]);
        next += twin == i;
    }
    assert_int_equal(model->mesh.weld.count, next);
    test_ok(&test, pelt_model_weld(context, model)); /* a second call reuses the weld */
    assert_ptr_equal(model->mesh.weld.of, weld);
    pelt_model_destroy(model);
    test_end(&test);
}

static void weld_is_the_definition(void **state) {
    (void)state;
    test_random random = {1};
    for (uint64_t seed = 0; seed < 200; seed++) {
        weld_case c = {.vertex_count = 1 + test_random_below(&random, 90),
                       .clip_count = test_random_below(&random, 3),
                       .frame_count = test_random_below(&random, 4),
                       .morph_count = test_random_below(&random, 5),
                       .values = 1 + test_random_below(&random, 8),
                       .through_source = seed % 2,
                       .maps_points = seed % 3 == 0,
                       .seed = seed};
        c.point_count = 1 + test_random_below(&random, c.vertex_count);
        check_case(&c, 1 + (uint32_t)(seed % 3));
    }
    weld_case none = {.vertex_count = 0, .clip_count = 1, .frame_count = 2};
    check_case(&none, 2);
}

/* Vertices of a seam that a converter rounded differently are welded, wherever they lie in the grid of cells; those
 * farther apart are not, nor are those that a frame of a clip separates. */
static void weld_closes_rounded_seams(void **state) {
    (void)state;
    enum { PAIRS = 500, FRAMES = 2 };
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    test_random random = {5};
    pelt_model *model;
    test_ok(&test, pelt_model_create(context, &model));
    float *positions = pelt_model_alloc(context, model, 6 * PAIRS, sizeof *positions);
    float *frames = pelt_model_alloc(context, model, 6 * PAIRS * FRAMES, sizeof *frames);
    float *times = pelt_model_alloc(context, model, FRAMES, sizeof *times);
    pelt_clip *clip = pelt_model_alloc(context, model, 1, sizeof *clip);
    uint32_t *triangles = pelt_model_alloc(context, model, 3, sizeof *triangles);
    assert_true(positions && frames && times && clip && triangles);
    for (uint32_t i = 0; i < PAIRS; i++)
        for (int c = 0; c < 3; c++) {
            positions[3 * i + c] = (float)test_random_real(&random, -1, 1);
            double offset = i % 5 == 0 ? 2e-5 : test_random_real(&random, -4e-6, 4e-6); /* the diagonal is over 3 */
            positions[3 * (PAIRS + i) + c] = (float)((double)positions[3 * i + c] + offset);
        }
    for (int k = 0; k < FRAMES; k++)
        for (size_t e = 0; e < 6 * PAIRS; e++)
            frames[6 * PAIRS * (size_t)k + e] = positions[e] + (float)k;
    times[1] = 1;
    frames[6 * PAIRS + 3 * (PAIRS + 1)] += 2e-5f; /* the twin of vertex 1 in frame 1 */
    *clip = (pelt_clip){"clip", FRAMES, 2 * PAIRS, times, frames, {0}};
    model->mesh.positions = positions;
    model->mesh.vertex_count = model->mesh.points.count = 2 * PAIRS;
    memcpy(triangles, (const uint32_t[]){2, 3, 4}, 3 * sizeof *triangles); /* edges of about the mesh's size */
    model->mesh.triangles = triangles;
    model->mesh.triangle_count = 1;
    model->clips = clip;
    model->clip_count = 1;
    test_ok(&test, pelt_model_weld(context, model));
    for (uint32_t i = 0; i < PAIRS; i++)
        assert_true((model->mesh.weld.of[i] == model->mesh.weld.of[PAIRS + i]) == (i % 5 != 0 && i != 1));
    pelt_model_destroy(model);
    test_end(&test);
}

/* Enough vertices for several blocks; the weld is the same for any number of threads. */
static void weld_large(void **state) {
    (void)state;
    uint32_t *first = NULL;
    enum { SIDE = 300, COUNT = 2 * SIDE * SIDE };
    for (uint32_t thread_count = 1; thread_count <= 8; thread_count += thread_count < 3 ? 1 : 5) {
        test_context test;
        pelt_context *context = test_begin(&test, thread_count);
        pelt_model *model;
        test_ok(&test, pelt_model_create(context, &model));
        model->mesh.vertex_count = model->mesh.points.count = COUNT;
        float *p = model->mesh.positions = PX_NEW(model->memory, float, 3 * COUNT);
        pelt_clip *clip = model->clips = PX_NEW(model->memory, pelt_clip, 1);
        float *frame = PX_NEW(model->memory, float, 3 * COUNT), time = 0;
        for (uint32_t i = 0; i < COUNT; i++) { /* two coincident grids; the clip separates every tenth pair */
            uint32_t g = i % (SIDE * SIDE);
            p[3 * i] = (float)(g % SIDE), p[3 * i + 1] = (float)(g / SIDE);
            memcpy(frame + 3 * i, p + 3 * i, 3 * sizeof *p);
            frame[3 * i + 2] = i >= SIDE * SIDE && g % 10 == 0;
        }
        *clip = (pelt_clip){"c", 1, COUNT, &time, frame, {0}};
        model->clip_count = 1;
        test_ok(&test, pelt_model_weld(context, model));
        assert_int_equal(model->mesh.weld.count, SIDE * SIDE + SIDE * SIDE / 10);
        for (uint32_t i = 0; i < COUNT; i++)
            assert_true((model->mesh.weld.of[i] < SIDE * SIDE) == (i < SIDE * SIDE || i % SIDE % 10 != 0));
        if (!first)
            first = memcpy(malloc(COUNT * sizeof *first), model->mesh.weld.of, COUNT * sizeof *first);
        assert_memory_equal(first, model->mesh.weld.of, COUNT * sizeof *first);
        pelt_model_destroy(model);
        test_end(&test);
    }
    free(first);
}

static pelt_result no_read(pelt_context *context, const void *user, uint32_t frame, uint32_t first, uint32_t count,
                           float *out) {
    (void)user, (void)first, (void)count, (void)out;
    return px_fail(context, PELT_ERROR_INPUT, "frame %u cannot be read", frame);
}

/* A mesh without seams reads no frame; with seams, a failing read is passed on and leaves no weld. */
static void weld_reads_what_it_must(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    float positions[9] = {0, 0, 0, 1, 0, 0, 2, 0, 0}, time = 0;
    pelt_clip clip = {"c", 1, 3, &time, NULL, {.read = no_read, .user = NULL}};
    pelt_model *model;
    for (int seam = 0; seam < 2; seam++) {
        test_ok(&test, pelt_model_create(context, &model));
        model->mesh.vertex_count = model->mesh.points.count = 3;
        model->mesh.positions = positions;
        model->clip_count = 1;
        model->clips = &clip;
        if (seam)
            positions[6] = 1;
        pelt_result result = pelt_model_weld(context, model);
        if (seam)
            test_fails(&test, result, PELT_ERROR_INPUT, "frame 0 cannot be read");
        else
            test_ok(&test, result);
        assert_int_equal(model->mesh.weld.count, seam ? 0 : 3);
        assert_true(!seam || !model->mesh.weld.of);
        pelt_model_destroy(model);
    }
    test_end(&test);
}

static void weld_can_be_cancelled(void **state) {
    (void)state;
    weld_case c = {.vertex_count = 50, .clip_count = 1, .frame_count = 9, .values = 1, .through_source = true};
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    pelt_model *model;
    test_ok(&test, make_case(context, &c, &model));
    atomic_store(&test.cancel_at, 4);
    test_fails(&test, pelt_model_weld(context, model), PELT_ERROR_CANCELLED, "cancelled");
    assert_null(model->mesh.weld.of);
    pelt_model_destroy(model);
    test_end(&test);
}

static pelt_result weld_and_normals(pelt_context *context, void *user) {
    pelt_model *model;
    PX_TRY(make_case(context, user, &model));
    static uint32_t triangle[3] = {0, 1, 2};
    model->mesh.triangle_count = 1;
    model->mesh.triangles = triangle;
    float normals[90];
    pelt_result result = pelt_model_weld(context, model);
    assert_true((result == PELT_OK) == (model->mesh.weld.of != NULL));
    if (result == PELT_OK)
        result = pelt_mesh_normals(context, &model->mesh, NULL, normals);
    pelt_model_destroy(model);
    return result;
}

static void weld_without_memory(void **state) {
    (void)state;
    weld_case c = {30, 10, 2, 3, 4, 3, true, true, 7};
    test_fail_each_allocation(1, weld_and_normals, &c);
}

/* ---- Normals ---------------------------------------------------------------------------------------------- */

static void normals_by_area(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    /* Vertices 0 and 5 coincide: a large triangle in z = 0, a small one in x = 0; then a sliver and an isolated
     * vertex. */
    float positions[] = {0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 1, 0, 0, 0, 1, 0, 0, -0.0f, 5, 5, 5};
    uint32_t triangles[] = {0, 1, 2, 5, 3, 4, 1, 1, 2};
    pelt_model *model;
    test_ok(&test, pelt_model_create(context, &model));
    model->mesh.vertex_count = model->mesh.points.count = 7;
    model->mesh.positions = positions;
    model->mesh.triangle_count = model->mesh.polygon_count = 3;
    model->mesh.triangles = triangles;
    float n[21];
    test_fails(&test, pelt_mesh_normals(context, &model->mesh, NULL, n), PELT_ERROR_USAGE, "pelt_model_weld");
    test_ok(&test, pelt_model_weld(context, model));
    assert_int_equal(model->mesh.weld.count, 6);
    test_ok(&test, pelt_mesh_normals(context, &model->mesh, NULL, n));
    float both[3] = {(float)(1 / sqrt(17)), 0, (float)(4 / sqrt(17))}; /* areas 2 and 0.5 */
    assert_memory_equal(n + 15, n, 3 * sizeof *n);
    for (int c = 0; c < 3; c++)
        assert_true(fabsf(n[c] - both[c]) < 1e-7f);
    assert_true(n[3] == 0 && n[5] == 1 && n[9] == 1 && n[11] == 0);
    assert_true(n[18] == 0 && n[19] == 0 && n[20] == 1);
    /* Other positions; non-finite ones are ignored, huge ones do not overflow. */
    float others[21];
    for (int e = 0; e < 21; e++)
        others[e] = -1e37f * positions[e];
    others[12] = NAN;
    test_ok(&test, pelt_mesh_normals(context, &model->mesh, others, n));
    assert_true(n[0] == 0 && n[2] == 1 && n[9] == 0 && n[11] == 1);
    pelt_model_destroy(model);
    test_end(&test);
}

/* A tetrahedron, two that share a vertex, two that share an edge, and one without a face. */
static void test_defects(void **state) {
    (void)state;
    static const float positions[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, -1, 0, 0, 0, -1, 0, 0, 0, -1, 1, -1, -1};
    static const uint32_t triangles[] = {0, 2, 1, 0, 1, 3, 1, 2, 3, 0, 3, 2,  /* tetrahedron */
                                         0, 5, 4, 0, 4, 6, 4, 5, 6, 0, 6, 5,  /* at vertex 0 */
                                         0, 7, 1, 0, 1, 5, 1, 7, 5, 0, 5, 7}; /* at edge 0 1 */
    static const struct {
        uint32_t first, count;
        pelt_mesh_defects want;
    } cases[] = {{0, 4, {1, 6, 0, 0, 0, 0}},
                 {0, 3, {1, 6, 3, 1, 0, 0}},
                 {0, 8, {1, 12, 0, 0, 0, 1}},
                 {0, 12, {1, 16, 0, 0, 2, 0}},
                 {2, 1, {1, 3, 3, 1, 0, 0}}};
    test_context test;
    test_begin(&test, 1);
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
        pelt_model *model = make_mesh(&test, positions, 8, triangles + 3 * cases[n].first, cases[n].count);
        pelt_mesh_defects d;
        test_ok(&test, pelt_model_weld(test.context, model));
        test_ok(&test, pelt_mesh_count_defects(test.context, &model->mesh, &d));
        assert_memory_equal(&d, &cases[n].want, sizeof d);
        pelt_model_destroy(model);
    }
    test_end(&test);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clip_read_checks),
        cmocka_unit_test(weld_is_the_definition),
        cmocka_unit_test(weld_closes_rounded_seams),
        cmocka_unit_test(weld_large),
        cmocka_unit_test(weld_reads_what_it_must),
        cmocka_unit_test(weld_can_be_cancelled),
        cmocka_unit_test(weld_without_memory),
        cmocka_unit_test(normals_by_area),
        cmocka_unit_test(test_defects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
