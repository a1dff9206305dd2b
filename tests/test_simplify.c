/* Simplification: kept vertices are unchanged, surfaces stay closed and unflipped in every pose, using poses pays,
 * flawed meshes are handled. */
#include "support.h"

#include "core/surface.h"
#include "scenes.h"

#include <math.h>

/* ---- Scenes and levels ------------------------------------------------------------------------------------ */

typedef struct level_test {
    test_context test;
    pelt_context *context;
    pelt_model *model, *level;
    pelt_simplify_report report;
} level_test;

static void begin_with(level_test *t, const char *name, uint32_t vertices, double ratio, pelt_simplify_desc desc,
                       uint32_t threads) {
    t->context = test_begin(&t->test, threads);
    test_ok(&t->test, scene_find(name)->make(t->context, &(scene_desc){vertices, 12, 1}, &t->model));
    test_ok(&t->test, pelt_simplify_levels(t->context, t->model, &desc, &ratio, 1, &t->level, &t->report));
    test_ok(&t->test, pelt_model_validate(t->context, t->level));
}

static void begin(level_test *t, const char *name, uint32_t vertices, double ratio) {
    begin_with(t, name, vertices, ratio, pelt_simplify_desc_default(), 2);
}

static void end(level_test *t) {
    pelt_model_destroy(t->level);
    pelt_model_destroy(t->model);
    test_end(&t->test);
}

/* The frames of a model: its clip, or its first motion. */
static pelt_clip frames_of(level_test *t, pelt_model *model) {
    pelt_clip clip;
    if (model->skin.bone_count == 0 && model->clip_count)
        return model->clips[0];
    test_ok(&t->test, pelt_clip_from_motion(t->context, model, model->motion_count ? model->motions : NULL, 6,
                                            PELT_SKINNING_LINEAR, &clip));
    return clip;
}

static uint32_t point_of(const pelt_mesh *mesh, uint32_t vertex) {
    return pelt_vertex_class(&mesh->points, vertex);
}

static pelt_surface_difference error_of(level_test *t) {
    pelt_surface_difference d;
    pelt_clip before = frames_of(t, t->model), after = frames_of(t, t->level);
    test_ok(&t->test, pelt_compare_surfaces(t->context, &t->model->mesh, &before, &t->level->mesh, &after, 600, &d));
    return d;
}

static int compare_edges(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Unpaired edges between welded vertices. `crowded`, unless NULL, gets the number of edges with more than two
 * triangles. */
static uint32_t count_borders(level_test *t, pelt_model *model, uint32_t *crowded) {
    test_ok(&t->test, pelt_model_weld(t->context, model));
    const pelt_mesh *mesh = &model->mesh;
    uint32_t borders = 0, sides = 3 * mesh->triangle_count;
    uint64_t *edges = calloc(sides, sizeof *edges); /* the lower vertex, the higher one, the direction */
    assert_non_null(edges);
    for (uint32_t e = 0; e < sides; e++) {
        uint64_t a = mesh->weld.of[mesh->triangles[e]], b = mesh->weld.of[mesh->triangles[e % 3 == 2 ? e - 2 : e + 1]];
        edges[e] = a < b ? a << 33 | b << 1 : b << 33 | a << 1 | 1;
    }
    qsort(edges, sides, sizeof *edges, compare_edges);
    for (uint32_t first = 0, end; first < sides; first = end) {
        int balance = 0;
        for (end = first; end < sides && edges[end] >> 1 == edges[first] >> 1; end++)
            balance += edges[end] & 1 ? -1 : 1;
        borders += (uint32_t)abs(balance);
        if (crowded)
            *crowded += end - first > 2;
    }
    free(edges);
    return borders;
}

/* ---- Kept vertex data ------------------------------------------------------------------------------------- */

static void same_rows(const level_test *t, const void *before, const void *after, size_t size) {
    assert_true(!before == !after);
    for (uint32_t i = 0; before && i < t->level->mesh.vertex_count; i++)
        assert_memory_equal((const char *)after + i * size, (const char *)before + t->level->mesh.origins[i] * size,
                            size);
}

/* For a rig, all vertex data but positions is that of the kept vertex. */
static void keeps_rows(void **state) {
    (void)state;
    static const char *const scenes[] = {"creature", "production", "morph"};
    for (size_t n = 0; n < 3; n++) {
        level_test t;
        begin(&t, scenes[n], 1500, 0.3);
        const pelt_model *a = t.model, *b = t.level;
        assert_true(t.report.triangle_count <= t.report.wanted_count + 1);
        assert_true(t.report.triangle_count == b->mesh.triangle_count && t.report.pose_count > 3);
        same_rows(&t, a->mesh.normals, b->mesh.normals, 3 * sizeof(float));
        same_rows(&t, a->mesh.uvs, b->mesh.uvs, 2 * sizeof(float));
        same_rows(&t, a->skin.bones, b->skin.bones, a->skin.influence_count * sizeof(uint16_t));
        same_rows(&t, a->skin.weights, b->skin.weights, a->skin.influence_count * sizeof(float));
        assert_int_equal(a->morphs.morph_count, b->morphs.morph_count);
        for (uint32_t m = 0; m < a->morphs.morph_count; m++)
            same_rows(&t, a->morphs.morphs[m].positions, b->morphs.morphs[m].positions, 3 * sizeof(float));
        assert_int_equal(b->changed & PELT_CHANGED_VERTICES, PELT_CHANGED_VERTICES);
        for (uint32_t p = 0; p < a->mesh.part_count; p++)
            assert_true(b->mesh.parts[p].triangle_count > 0 && b->mesh.parts[p].name == a->mesh.parts[p].name);
        end(&t);
    }
}

/* Radiance transfer too: its patterns have one row per vertex. */
static void keeps_transfer(void **state) {
    (void)state;
    level_test t;
    begin(&t, "creature", 600, 0.5);
    pelt_light_desc light = pelt_light_desc_default();
    light.kind = PELT_LIGHT_TRANSFER;
    light.directions = 32;
    light.fps = 2;
    test_ok(&t.test, pelt_light(t.context, t.model, &light, NULL));
    pelt_model_destroy(t.level);
    pelt_simplify_desc desc = pelt_simplify_desc_default();
    test_ok(&t.test, pelt_simplify_levels(t.context, t.model, &desc, &(double){0.5}, 1, &t.level, &t.report));
    const pelt_transfer *a = t.model->transfer, *b = t.level->transfer;
    assert_true(a && b && a->patterns != b->patterns && a->plane_count == b->plane_count);
    for (size_t n = 0; n < a->plane_count; n++)
        same_rows(&t, a->patterns + 4 * n * t.model->mesh.vertex_count,
                  b->patterns + 4 * n * t.level->mesh.vertex_count, 4 * sizeof(float));
    end(&t);
}

/* Positions too, if requested. */
static void keeps_positions(void **state) {
    (void)state;
    level_test t;
    pelt_simplify_desc desc = pelt_simplify_desc_default();
    desc.keep_positions = true;
    begin_with(&t, "creature", 1500, 0.3, desc, 2);
    same_rows(&t, t.model->mesh.positions, t.level->mesh.positions, 3 * sizeof(float));
    end(&t);
    begin_with(&t, "softbody", 600, 0.3, desc, 2);
    same_rows(&t, t.model->mesh.positions, t.level->mesh.positions, 3 * sizeof(float));
    for (uint32_t k = 0; k < t.model->clips[0].frame_count; k++)
        for (uint32_t i = 0; i < t.level->mesh.vertex_count; i++) {
            float a[3], b[3];
            const pelt_mesh *m = &t.model->mesh, *l = &t.level->mesh;
            test_ok(&t.test, pelt_clip_read(t.context, t.model->clips, k, point_of(m, l->origins[i]), 1, a));
            test_ok(&t.test, pelt_clip_read(t.context, t.level->clips, k, point_of(l, i), 1, b));
            assert_memory_equal(a, b, sizeof a);
        }
    end(&t);
}

/* Coincident vertices stay coincident: closed surfaces stay closed, no edge gets a third triangle, and borders do not
 * grow. */
static void stays_closed(void **state) {
    (void)state;
    static const double ratios[] = {0.25, 0.08};
    level_test t;
    for (int n = 0; n < 2; n++) {
        uint32_t crowded[2] = {0, 0};
        begin(&t, "creature", 1500, ratios[n]);
        assert_int_equal(count_borders(&t, t.model, &crowded[0]), 0);
        assert_int_equal(count_borders(&t, t.level, &crowded[1]), 0);
        print_message("%u triangles, %u edges of more than two of them\n", t.level->mesh.triangle_count, crowded[1]);
        assert_true(crowded[1] <= crowded[0]);
        end(&t);
    }
    begin(&t, "production", 1500, 0.25);
    uint32_t before = count_borders(&t, t.model, NULL), after = count_borders(&t, t.level, NULL);
    assert_true(after > 0 && after < before);
    end(&t);
}

/* ---- In motion -------------------------------------------------------------------------------------------- */

/* The share of triangles of the level that face away from the surface nearest to their centre, over all frames. */
static double turned_share(level_test *t) {
    pelt_clip clips[2] = {frames_of(t, t->model), frames_of(t, t->level)};
    const pelt_mesh *meshes[2] = {&t->model->mesh, &t->level->mesh};
    double turned = 0, count = 0;
    for (uint32_t k = 0; k < clips[0].frame_count; k++) {
        px_arena *arena = px_arena_create(t->context);
        float *positions[2];
        px_surface surface;
        for (int s = 0; s < 2; s++) {
            positions[s] = px_arena_alloc(arena, clips[s].point_count, 3 * sizeof(float));
            test_ok(&t->test, pelt_clip_read(t->context, &clips[s], k, 0, clips[s].point_count, positions[s]));
        }
        uint32_t *triangles = px_arena_alloc(arena, meshes[0]->triangle_count, 3 * sizeof *triangles);
        for (uint32_t e = 0; e < 3 * meshes[0]->triangle_count; e++)
            triangles[e] = point_of(meshes[0], meshes[0]->triangles[e]);
        test_ok(&t->test, px_surface_make(arena, positions[0], triangles, meshes[0]->triangle_count, &surface));
        for (uint32_t n = 0; n < meshes[1]->triangle_count; n++) {
            double normals[2][3], middle[3] = {0, 0, 0};
            px_surface_point at;
            for (int e = 0; e < 9; e++)
                middle[e % 3] +=
                    (double)positions[1][3 * point_of(meshes[1], meshes[1]->triangles[3 * n + e / 3]) + e % 3] / 3;
            assert_true(px_surface_nearest(&surface, middle, INFINITY, NULL, NULL, &at));
            for (int s = 0; s < 2; s++) {
                uint32_t c[3];
                for (size_t e = 0; e < 3; e++)
                    c[e] = point_of(meshes[s], meshes[s]->triangles[3 * (size_t)(s ? n : at.triangle) + e]);
                const float *p = positions[s] + 3 * c[0], *q = positions[s] + 3 * c[1], *r = positions[s] + 3 * c[2];
                for (int a = 0; a < 3; a++) {
                    int i = (a + 1) % 3, j = (a + 2) % 3;
                    normals[s][a] = (double)((q[i] - p[i]) * (r[j] - p[j]) - (q[j] - p[j]) * (r[i] - p[i]));
                }
            }
            turned += normals[0][0] * normals[1][0] + normals[0][1] * normals[1][1] + normals[0][2] * normals[1][2] < 0;
            count++;
        }
        px_arena_destroy(arena);
    }
    return turned / count;
}

static void turns_nothing(void **state) {
    (void)state;
    level_test t;
    begin(&t, "creature", 3000, 0.2);
    assert_true(turned_share(&t) < 0.002);
    end(&t);
    begin(&t, "softbody", 2000, 0.2);
    assert_true(turned_share(&t) < 0.002);
    end(&t);
}

/* Twice the signed area of a triangle of the level in a frame, along the sum of its vertices' normals, which are those
 * of the whole mesh. Negative: it is flipped. */
static double facing(const level_test *t, const float *places, const float *normals, uint32_t triangle, bool own) {
    const pelt_mesh *level = &t->level->mesh;
    const uint32_t *c = level->triangles + 3 * (size_t)triangle;
    const float *p[3];
    double way[3] = {0, 0, 0}, sum = 0;
    for (int n = 0; n < 3; n++) {
        uint32_t origin = level->origins[c[n]];
        p[n] = places + 3 * (size_t)(own ? point_of(level, c[n]) : point_of(&t->model->mesh, origin));
        for (int a = 0; a < 3; a++)
            way[a] += (double)normals[3 * (size_t)t->model->mesh.weld.of[origin] + a];
    }
    for (int a = 0; a < 3; a++) {
        int i = (a + 1) % 3, j = (a + 2) % 3;
        sum += way[a] * (double)((p[1][i] - p[0][i]) * (p[2][j] - p[0][j]) - (p[1][j] - p[0][j]) * (p[2][i] - p[0][i]));
    }
    return sum;
}

/* Area-weighted sums of the triangles' normals at welded vertices. */
static void sum_normals(const pelt_mesh *mesh, const float *places, float *normals) {
    memset(normals, 0, 3 * (size_t)mesh->weld.count * sizeof *normals);
    for (uint32_t n = 0; n < mesh->triangle_count; n++) {
        const uint32_t *c = mesh->triangles + 3 * (size_t)n;
        const float *p[3];
        for (int e = 0; e < 3; e++)
            p[e] = places + 3 * (size_t)point_of(mesh, c[e]);
        for (int a = 0; a < 3; a++) {
            int i = (a + 1) % 3, j = (a + 2) % 3;
            float area = (p[1][i] - p[0][i]) * (p[2][j] - p[0][j]) - (p[1][j] - p[0][j]) * (p[2][i] - p[0][i]);
            for (int e = 0; e < 3; e++)
                normals[3 * (size_t)mesh->weld.of[c[e]] + a] += area;
        }
    }
}

/* Using poses reduces the error in motion, and so does moving vertices; both clearly. */
static void poses_pay(void **state) {
    (void)state;
    static const char *const scenes[] = {"creature", "cloth"};
    for (size_t n = 0; n < 2; n++) {
        double errors[2][2];
        for (int poses = 0; poses < 2; poses++)
            for (int moved = 0; moved < 2; moved++) {
                level_test t;
                pelt_simplify_desc desc = pelt_simplify_desc_default();
                desc.poses = poses ? desc.poses : 1;
                desc.keep_positions = !moved;
                begin_with(&t, scenes[n], 2000, 0.125, desc, 2);
                errors[poses][moved] = error_of(&t).error_rms;
                end(&t);
            }
        assert_true(errors[1][1] < 0.75 * errors[0][0]);
        assert_true(errors[1][1] < 0.92 * errors[1][0] && errors[1][1] < 0.92 * errors[0][1]);
    }
}

/* The paper's horse: an eighth of its triangles. */
static void horse(void **state) {
    (void)state;
    char mesh[1024], cache[1024];
    test_data(mesh, "bench/horse-gallop.obj");
    test_data(cache, "bench/horse-gallop.pc2");
    double errors[2];
    for (int best = 0; best < 2; best++) {
        level_test t = {.context = test_begin(&t.test, 2)};
        const char *const paths[] = {mesh, cache};
        pelt_simplify_desc desc = pelt_simplify_desc_default();
        desc.poses = best ? desc.poses : 1;
        desc.keep_positions = !best;
        double ratio = 2100.0 / 16843;
        test_ok(&t.test, pelt_load(t.context, paths, 2, NULL, &t.model));
        test_ok(&t.test, pelt_simplify_levels(t.context, t.model, &desc, &ratio, 1, &t.level, NULL));
        assert_true(t.level->mesh.triangle_count <= 2101);
        errors[best] = error_of(&t).error_rms;
        end(&t);
    }
    assert_true(errors[1] < 0.6 * errors[0]);
}

/* ---- Levels ----------------------------------------------------------------------------------------------- */

static void levels_descend(void **state) {
    (void)state;
    level_test t;
    begin(&t, "creature", 1500, 1);
    static const double ratios[3] = {0.5, 0.25, 0.125};
    pelt_model *levels[3];
    pelt_simplify_report reports[3];
    uint32_t before = t.model->mesh.triangle_count;
    const float *positions = t.model->mesh.positions;
    test_ok(&t.test, pelt_simplify_levels(t.context, t.model, NULL, ratios, 3, levels, reports));
    assert_true(t.model->mesh.triangle_count == before && t.model->mesh.positions == positions);
    for (int n = 0; n < 3; n++) {
        assert_true(fabs((double)levels[n]->mesh.triangle_count - ratios[n] * before) <= 2);
        assert_true(n == 0 || reports[n].harm >= reports[n - 1].harm);
    }
    /* The last of several levels equals a single level of that size. */
    pelt_simplify_desc desc = pelt_simplify_desc_default();
    desc.ratio = ratios[2];
    test_ok(&t.test, pelt_simplify(t.context, t.model, &desc, NULL));
    assert_int_equal(t.model->mesh.triangle_count, levels[2]->mesh.triangle_count);
    assert_memory_equal(t.model->mesh.positions, levels[2]->mesh.positions,
                        3 * sizeof(float) * t.model->mesh.vertex_count);
    for (int n = 0; n < 3; n++)
        pelt_model_destroy(levels[n]);
    end(&t);
}

/* The error limit stops the simplification when every collapse exceeds it. */
static void error_ends_it(void **state) {
    (void)state;
    uint32_t counts[3];
    static const double limits[3] = {1e-4, 1e-3, 1e-2};
    for (int n = 0; n < 3; n++) {
        level_test t;
        pelt_simplify_desc desc = pelt_simplify_desc_default();
        desc.error = limits[n];
        begin_with(&t, "creature", 2000, 0, desc, 2);
        counts[n] = t.level->mesh.triangle_count;
        assert_true(t.report.harm <= limits[n] && error_of(&t).error_rms < 2 * limits[n]);
        end(&t);
    }
    assert_true(counts[0] > counts[1] && counts[1] > counts[2] && counts[2] > 0);
}

static void threads_do_not_matter(void **state) {
    (void)state;
    static const char *const scenes[] = {"creature", "softbody"};
    for (int n = 0; n < 2; n++) {
        level_test a, b;
        begin_with(&a, scenes[n], 1500, 0.25, pelt_simplify_desc_default(), 1);
        begin_with(&b, scenes[n], 1500, 0.25, pelt_simplify_desc_default(), 4);
        const pelt_mesh *x = &a.level->mesh, *y = &b.level->mesh;
        assert_true(x->vertex_count == y->vertex_count && x->triangle_count == y->triangle_count);
        assert_memory_equal(x->positions, y->positions, 3 * sizeof(float) * x->vertex_count);
        assert_memory_equal(x->triangles, y->triangles, 3 * sizeof(uint32_t) * x->triangle_count);
        if (n == 1)
            assert_memory_equal(a.level->clips[0].positions, b.level->clips[0].positions,
                                3 * sizeof(float) * x->points.count * a.level->clips[0].frame_count);
        end(&a);
        end(&b);
    }
}

/* ---- Flaws ------------------------------------------------------------------------------------------------ */

/* A mesh of positions [vertex_count][3] and triangles, copied. */
static void make_mesh(level_test *t, const float *positions, uint32_t vertex_count, const uint32_t *triangles,
                      uint32_t triangle_count) {
    t->context = test_begin(&t->test, 1);
    test_ok(&t->test, pelt_model_create(t->context, &t->model));
    pelt_mesh *mesh = &t->model->mesh;
    mesh->vertex_count = mesh->points.count = vertex_count;
    mesh->triangle_count = mesh->polygon_count = triangle_count;
    mesh->positions = pelt_model_alloc(t->context, t->model, vertex_count, 3 * sizeof(float));
    mesh->triangles = pelt_model_alloc(t->context, t->model, triangle_count, 3 * sizeof(uint32_t));
    memcpy(mesh->positions, positions, 3 * sizeof(float) * vertex_count);
    memcpy(mesh->triangles, triangles, 3 * sizeof(uint32_t) * triangle_count);
    test_ok(&t->test, pelt_model_validate(t->context, t->model));
    t->level = NULL;
}

static double area_of(const pelt_mesh *mesh) {
    double sum = 0;
    for (uint32_t n = 0; n < mesh->triangle_count; n++) {
        const float *p = mesh->positions + 3 * mesh->triangles[3 * n],
                    *q = mesh->positions + 3 * mesh->triangles[3 * n + 1],
                    *r = mesh->positions + 3 * mesh->triangles[3 * n + 2];
        sum += (double)((q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])) / 2; /* signed */
    }
    return sum;
}

/* A flat square of CELLS² cells; with `back`, its triangles are repeated with the opposite orientation. */
#define CELLS 8u
static void make_square(level_test *t, bool back) {
    static float positions[3 * (CELLS + 1) * (CELLS + 1)];
    static uint32_t triangles[2 * 6 * CELLS * CELLS];
    uint32_t count = 0;
    for (uint32_t v = 0; v < (CELLS + 1) * (CELLS + 1); v++) {
        positions[3 * v] = (float)(v % (CELLS + 1)) / CELLS;
        positions[3 * v + 1] = (float)(v / (CELLS + 1)) / CELLS;
    }
    for (uint32_t c = 0; c < CELLS * CELLS; c++) {
        uint32_t v = c / CELLS * (CELLS + 1) + c % CELLS;
        const uint32_t quad[6] = {v, v + 1, v + CELLS + 2, v, v + CELLS + 2, v + CELLS + 1};
        memcpy(triangles + count, quad, sizeof quad);
        count += 6;
        for (int e = 5; back && e >= 0; e--)
            triangles[count++] = quad[e];
    }
    make_mesh(t, positions, (CELLS + 1) * (CELLS + 1), triangles, count / 3);
}

/* Moving vertices to the minimum of the quadrics flips no triangle in any frame, on surfaces rough enough to provoke
 * it. */
static void moving_turns_nothing(void **state) {
    (void)state;
    enum { FRAMES = 5, POINTS = (CELLS + 1) * (CELLS + 1) };
    static float frames[FRAMES][3 * POINTS];
    test_random random = {5};
    uint32_t turned = 0, moved = 0;
    for (int n = 0; n < 20; n++) {
        level_test t;
        make_square(&t, false);
        for (int k = 0; k < FRAMES; k++)
            for (uint32_t e = 0; e < 3 * POINTS; e++)
                frames[k][e] = t.model->mesh.positions[e] + (float)test_random_real(&random, -0.4, 0.4) / CELLS;
        t.model->clips =
            &(pelt_clip){.name = "rough", .frame_count = FRAMES, .point_count = POINTS, .positions = frames[0]};
        t.model->clip_count = 1;
        double ratio = 0.4;
        test_ok(&t.test, pelt_simplify_levels(t.context, t.model, NULL, &ratio, 1, &t.level, &t.report));
        for (size_t k = 0; k < FRAMES; k++) {
            const float *places = t.level->clips[0].positions + 3 * k * t.level->clips[0].point_count;
            float normals[3 * POINTS];
            sum_normals(&t.model->mesh, frames[k], normals);
            for (uint32_t m = 0; m < t.level->mesh.triangle_count; m++) {
                double before = facing(&t, frames[k], normals, m, false), after = facing(&t, places, normals, m, true);
                turned += before > 1e-9 && after < -1e-9;
                moved += before != after;
            }
        }
        end(&t);
    }
    print_message("%u of %u triangles are turned by moving\n", turned, moved);
    assert_true(moved > 1000);
    assert_int_equal(turned, 0);
}

/* A flat square becomes two triangles with the same corners; one with two sides keeps its rim. */
static void square(void **state) {
    (void)state;
    level_test t;
    pelt_simplify_desc desc = pelt_simplify_desc_default();
    desc.error = 1e-4;
    desc.ratio = 0;
    make_square(&t, false);
    test_ok(&t.test, pelt_simplify(t.context, t.model, &desc, NULL));
    assert_int_equal(t.model->mesh.triangle_count, 2);
    assert_int_equal(t.model->mesh.vertex_count, 4);
    assert_true(fabs(area_of(&t.model->mesh) - 1) < 1e-5);
    test_ok(&t.test, pelt_model_validate(t.context, t.model));
    end(&t);
    make_square(&t, true);
    test_ok(&t.test, pelt_simplify(t.context, t.model, &desc, NULL));
    float low[2] = {1, 1}, high[2] = {0, 0};
    for (uint32_t i = 0; i < t.model->mesh.vertex_count; i++)
        for (int a = 0; a < 2; a++) {
            low[a] = fminf(low[a], t.model->mesh.positions[3 * i + a]);
            high[a] = fmaxf(high[a], t.model->mesh.positions[3 * i + a]);
        }
    assert_true(t.model->mesh.triangle_count < 40 && low[0] < 0.01f && low[1] < 0.01f && high[0] > 0.99f &&
                high[1] > 0.99f);
    end(&t);
}

/* Triangles without area, duplicates, three at an edge, isolated vertices. */
static void flaws(void **state) {
    (void)state;
    static const float positions[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0, 0.5f, 0.5f, 1, 2, 2, 2, 0, 0, 0};
    static const uint32_t triangles[] = {0, 1, 2, 1, 3, 2, 1, 4, 2, 1, 2, 4, 0, 0, 1, 3, 3, 3, 6, 1, 2};
    level_test t;
    pelt_simplify_report report;
    pelt_simplify_desc desc = pelt_simplify_desc_default();
    desc.ratio = 0;
    make_mesh(&t, positions, 7, triangles, 7);
    test_ok(&t.test, pelt_simplify(t.context, t.model, &desc, &report));
    test_ok(&t.test, pelt_model_validate(t.context, t.model));
    assert_true(report.triangle_count > 0 && report.triangle_count <= 5);
    assert_int_equal(report.triangles_before, 7);
    end(&t);
    /* Only triangles without area: they stay unchanged. */
    make_mesh(&t, positions, 7, triangles + 12, 2);
    test_ok(&t.test, pelt_simplify(t.context, t.model, &desc, &report));
    assert_int_equal(report.triangle_count, 2);
    end(&t);
    make_mesh(&t, positions, 7, triangles, 0);
    test_fails(&t.test, pelt_simplify(t.context, t.model, &desc, NULL), PELT_ERROR_INPUT, "no triangles");
    desc.poses = 0;
    test_fails(&t.test, pelt_simplify(t.context, t.model, &desc, NULL), PELT_ERROR_USAGE,
               "pelt_simplify_desc.poses is 0");
    end(&t);
}

static void not_finite(void **state) {
    (void)state;
    level_test t;
    begin(&t, "softbody", 300, 1);
    float *frames = pelt_model_alloc(t.context, t.model, 1,
                                     3 * sizeof(float) * t.model->clips[0].point_count * t.model->clips[0].frame_count);
    for (uint32_t k = 0; k < t.model->clips[0].frame_count; k++)
        test_ok(&t.test, pelt_clip_read(t.context, t.model->clips, k, 0, t.model->clips[0].point_count,
                                        frames + 3 * (size_t)k * t.model->clips[0].point_count));
    frames[3] = NAN;
    t.model->clips[0].positions = frames;
    test_fails(&t.test, pelt_simplify(t.context, t.model, NULL, NULL), PELT_ERROR_INPUT, "not finite");
    end(&t);
}

/* ---- Surfaces --------------------------------------------------------------------------------------------- */

/* A square and the same one, lifted: the distance is the same everywhere. */
static void surfaces(void **state) {
    (void)state;
    level_test t;
    pelt_surface_difference d;
    make_square(&t, false);
    pelt_mesh *mesh = &t.model->mesh;
    float *lifted = pelt_model_alloc(t.context, t.model, mesh->vertex_count, 3 * sizeof(float));
    for (uint32_t e = 0; e < 3 * mesh->vertex_count; e++)
        lifted[e] = mesh->positions[e] + (e % 3 == 2 ? 0.1f : 0);
    static const float time = 0;
    pelt_clip a = {"a", 1, mesh->vertex_count, &time, mesh->positions, {0}};
    pelt_clip b = {"b", 1, mesh->vertex_count, &time, lifted, {0}};
    test_ok(&t.test, pelt_compare_surfaces(t.context, mesh, &a, mesh, &b, 0, &d));
    double wanted = 0.1 / sqrt(2);
    assert_true(fabs(d.error_rms - wanted) < 1e-6 && fabs(d.error_max - wanted) < 1e-6 && d.sample_count == 20000);
    /* Half of it against all of it: one way the distance is zero, the other way up to half a side. */
    pelt_mesh half = *mesh;
    half.triangle_count /= 2;
    test_ok(&t.test, pelt_compare_surfaces(t.context, mesh, &a, &half, &a, 0, &d));
    assert_true(fabs(d.error_max - 0.5 / sqrt(2)) < 1e-6);
    assert_true(fabs(d.error_rms - sqrt((0.25 / 3) / 4) / sqrt(2)) < 1e-3);
    b.frame_count = 2;
    test_fails(&t.test, pelt_compare_surfaces(t.context, mesh, &a, mesh, &b, 0, &d), PELT_ERROR_INPUT,
               "frame by frame");
    end(&t);
}

/* ---- Failing ---------------------------------------------------------------------------------------------- */

static pelt_result run_small(pelt_context *context, void *user) {
    const char *name = user;
    static const double ratios[2] = {0.5, 0.25};
    pelt_model *model = NULL, *levels[2] = {NULL, NULL};
    pelt_result result = scene_find(name)->make(context, &(scene_desc){150, 4, 1}, &model);
    if (result == PELT_OK)
        result = pelt_simplify_levels(context, model, NULL, ratios, 2, levels, NULL);
    if (result == PELT_OK)
        result = pelt_simplify(context, model, NULL, NULL);
    pelt_model_destroy(levels[0]);
    pelt_model_destroy(levels[1]);
    pelt_model_destroy(model);
    return result;
}

static void memory_fails(void **state) {
    (void)state;
    char tube[] = "tube", softbody[] = "softbody";
    test_fail_some_allocations(1, 80, run_small, tube);
    test_fail_some_allocations(1, 80, run_small, softbody);
}

static void is_cancelled(void **state) {
    (void)state;
    level_test t;
    begin(&t, "creature", 1500, 1);
    pelt_mesh mesh = t.model->mesh;
    atomic_store(&t.test.cancel_at, atomic_load(&t.test.asked) + 25);
    assert_int_equal(pelt_simplify(t.context, t.model, NULL, NULL), PELT_ERROR_CANCELLED);
    assert_ptr_equal(t.model->mesh.triangles, mesh.triangles);
    assert_int_equal(t.model->mesh.triangle_count, mesh.triangle_count);
    end(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_rows),
        cmocka_unit_test(keeps_transfer),
        cmocka_unit_test(keeps_positions),
        cmocka_unit_test(stays_closed),
        cmocka_unit_test(turns_nothing),
        cmocka_unit_test(moving_turns_nothing),
        test_long(poses_pay),
        cmocka_unit_test(horse),
        cmocka_unit_test(levels_descend),
        cmocka_unit_test(error_ends_it),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(square),
        cmocka_unit_test(flaws),
        cmocka_unit_test(not_finite),
        cmocka_unit_test(surfaces),
        cmocka_unit_test(memory_fails),
        cmocka_unit_test(is_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
