/* Light on moving rigs: ray casting, factorisation, and the changes to the model. */
#include "light/light.h"
#include "light/rays.h"
#include "scenes.h"
#include "support.h"

#include <math.h>

static pelt_model *make_scene(const test_context *test, const char *name, uint32_t vertices, uint32_t frames) {
    pelt_model *model;
    scene_desc desc = {.vertex_count = vertices, .frame_count = frames, .seed = 1};
    test_ok(test, scene_find(name)->make(test->context, &desc, &model));
    return model;
}

static pelt_light_desc quick(void) {
    pelt_light_desc desc = pelt_light_desc_default();
    desc.directions = 64;
    return desc;
}

/* ---- Rays ----------------------------------------------------------------------------------------------------- */

enum { TRIANGLES = 200, ORIGINS = 200, WAYS = 12 };

typedef struct rays {
    float from[3 * ORIGINS], normals[3 * ORIGINS], way[3], far;
    uint8_t open[ORIGINS];
    px_ray_hit hits[ORIGINS];
} rays;

static void cast(const test_context *test, rays *r, const px_ray_mesh *mesh, pelt_simd simd, bool nearest) {
    px_view view;
    test_ok(test, px_view_make(test->context, mesh, &view));
    px_ray_job job = {.mesh = mesh,
                      .view = &view,
                      .count = ORIGINS,
                      .from = r->from,
                      .normals = r->normals,
                      .cosine = 0.02f,
                      .far = r->far,
                      .open = r->open,
                      .hits = nearest ? r->hits : NULL};
    memcpy(job.way, r->way, sizeof job.way);
    px_rays_of(simd)(&job);
    px_view_free(test->context, &view);
}

/* Möller and Trumbore in doubles. `margin`: how far the ray is from an edge or an end, at most 1. */
static bool meets(const float *const p[3], const float *from, const float *way, double far, double *margin) {
    double u[3], v[3], w[3], a[3], b[3], det = 0, x = 0, y = 0, at = 0;
    for (int c = 0; c < 3; c++) {
        u[c] = (double)p[1][c] - (double)p[0][c];
        v[c] = (double)p[2][c] - (double)p[0][c];
        w[c] = (double)from[c] - (double)p[0][c];
    }
    for (int c = 0; c < 3; c++) {
        int d = (c + 1) % 3, e = (c + 2) % 3;
        a[c] = (double)way[d] * v[e] - (double)way[e] * v[d];
        b[c] = w[d] * u[e] - w[e] * u[d];
    }
    for (int c = 0; c < 3; c++) {
        det += u[c] * a[c];
        x += w[c] * a[c];
        y += (double)way[c] * b[c];
        at += v[c] * b[c];
    }
    x /= det;
    y /= det;
    at /= det;
    *margin = fmin(fmin(fabs(x), fabs(y)), fmin(fabs(1 - x - y), fmin(fabs(at), fabs(far - at))));
    return det != 0 && x >= 0 && y >= 0 && x + y <= 1 && at > 0 && at < far;
}

/* Rays hit the same as a test of every triangle, with every instruction set, also along axes, before and after the mesh
 * moved; and the same as double precision, away from edges. */
static void test_rays(void **state) {
    (void)state;
    static float positions[9 * TRIANGLES], moved[9 * TRIANGLES];
    static uint32_t triangles[3 * TRIANGLES];
    static rays all, one, expected;
    static px_ray_hit hits[ORIGINS];
    test_random random = {5};
    test_context test;
    px_arena *arena = px_arena_create(test_begin(&test, 1));
    px_ray_mesh mesh, single;
    for (uint32_t v = 0; v < 3 * TRIANGLES; v++) {
        for (uint32_t c = 0; c < 3; c++) {
            positions[3 * v + c] = v % 3 ? positions[3 * (v - v % 3) + c] + (float)test_random_real(&random, -0.2, 0.2)
                                         : (float)test_random_real(&random, -1, 1);
            moved[3 * v + c] = positions[3 * v + c] + (c == 0 ? 0.7f * sinf(3 * positions[3 * v + 1]) : 0);
        }
        triangles[v] = v;
    }
    test_ok(&test, px_ray_mesh_make(arena, positions, triangles, TRIANGLES, &mesh));
    uint32_t blocked = 0, checked = 0, near_edges = 0;
    for (uint32_t n = 0; n < WAYS; n++) {
        if (n == WAYS / 2)
            test_ok(&test, px_ray_mesh_move(test.context, &mesh, moved));
        const float *place = n < WAYS / 2 ? positions : moved;
        double length = 0;
        all.far = n % 3 ? INFINITY : 0.5f;
        for (uint32_t c = 0; c < 3; c++) {
            all.way[c] = n % 4 ? (float)test_random_real(&random, -1, 1) : (n % 8 ? -1.0f : 1.0f) * (c == n / 4 % 3);
            length += (double)all.way[c] * (double)all.way[c];
        }
        for (uint32_t c = 0; c < 3; c++)
            all.way[c] = (float)((double)all.way[c] / sqrt(length));
        for (uint32_t e = 0; e < 3 * ORIGINS; e++) {
            all.from[e] = (float)test_random_real(&random, -1, 1);
            all.normals[e] = (float)test_random_real(&random, -1, 1);
        }
        one = expected = all;
        for (uint32_t t = 0; t < TRIANGLES; t++) {
            test_ok(&test, px_ray_mesh_make(arena, place, triangles + 3 * t, 1, &single));
            cast(&test, &one, &single, PELT_SIMD_SCALAR, true);
            for (uint32_t r = 0; r < ORIGINS; r++) {
                double margin;
                const float *corners[3] = {place + 9 * t, place + 9 * t + 3, place + 9 * t + 6};
                float cosine = all.normals[3 * r] * all.way[0] + all.normals[3 * r + 1] * all.way[1] +
                               all.normals[3 * r + 2] * all.way[2];
                expected.open[r] = t == 0 ? one.open[r] : expected.open[r] & one.open[r];
                if (!(cosine > 0.02f))
                    continue;
                bool truth = meets(corners, all.from + 3 * r, all.way, (double)all.far, &margin);
                checked++;
                near_edges += margin < 1e-4;
                assert_true(margin < 1e-4 || truth == (one.hits[r].triangle == 0));
            }
        }
        for (pelt_simd simd = PELT_SIMD_SCALAR; simd < PELT_SIMD_COUNT; simd++) {
            if (!pelt_simd_available(simd))
                continue;
            for (int nearest = 0; nearest < 2; nearest++) {
                cast(&test, &all, &mesh, simd, nearest);
                assert_memory_equal(all.open, expected.open, sizeof all.open);
            }
            if (simd == PELT_SIMD_SCALAR)
                memcpy(hits, all.hits, sizeof hits);
            for (uint32_t r = 0; r < ORIGINS;
                 r++) { /* by field: hits have padding, and without a triangle no more is set */
                assert_int_equal(all.hits[r].triangle, hits[r].triangle);
                assert_true(hits[r].triangle == PELT_NONE || all.hits[r].front == hits[r].front);
                if (hits[r].triangle != PELT_NONE)
                    assert_memory_equal(all.hits[r].shares, hits[r].shares, sizeof hits[r].shares);
            }
        }
        for (uint32_t r = 0; r < ORIGINS; r++) { /* the nearest hit lies on the ray at its barycentric coordinates */
            const px_ray_hit *hit = &hits[r];
            if (hit->triangle == PELT_NONE)
                continue;
            double off[3], along = 0, normal[3], towards = 0;
            const float *p = place + 9 * (size_t)hit->triangle;
            for (int c = 0; c < 3; c++) {
                off[c] = -(double)all.from[3 * r + (uint32_t)c];
                for (int k = 0; k < 3; k++)
                    off[c] += (double)hit->shares[k] * (double)p[3 * k + c];
                along += off[c] * (double)all.way[c];
            }
            for (int c = 0; c < 3; c++) {
                int d = (c + 1) % 3, e = (c + 2) % 3;
                normal[c] = ((double)p[3 + d] - (double)p[d]) * ((double)p[6 + e] - (double)p[e]) -
                            ((double)p[3 + e] - (double)p[e]) * ((double)p[6 + d] - (double)p[d]);
                towards += normal[c] * (double)all.way[c];
                assert_float_equal(off[c], along * (double)all.way[c], 1e-3);
            }
            assert_true(along > 0 && hit->front == (towards < 0));
            blocked++;
        }
    }
    assert_in_range(blocked, WAYS * ORIGINS / 20, WAYS * ORIGINS / 2);
    assert_true(near_edges < checked / 100);
    px_arena_destroy(arena);
    test_end(&test);
}

/* Subtrees below the tangent plane of an origin are skipped, without changing any result. */
static void test_below(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_scene(&test, "troll", 600, 2);
    pelt_mesh *mesh = &model->mesh;
    px_arena *arena = px_arena_create(test.context);
    px_ray_mesh tree;
    test_ok(&test, pelt_model_weld(test.context, model));
    test_ok(&test, px_ray_mesh_make(arena, mesh->positions, mesh->triangles, mesh->triangle_count, &tree));
    float *normals = PX_NEW(arena, float, 3 * (size_t)mesh->vertex_count),
          *from = PX_NEW(arena, float, 3 * (size_t)mesh->vertex_count);
    px_ray_own *own = PX_NEW(arena, px_ray_own, mesh->vertex_count);
    uint8_t *open[2] = {PX_NEW(arena, uint8_t, mesh->vertex_count), PX_NEW(arena, uint8_t, mesh->vertex_count)};
    px_view view;
    uint32_t below = 0;
    test_ok(&test, pelt_mesh_normals(test.context, mesh, NULL, normals));
    test_ok(&test, px_view_make(test.context, &tree, &view));
    for (uint32_t i = 0; i < mesh->vertex_count; i++) {
        for (uint32_t c = 0; c < 3; c++)
            from[3 * i + c] = mesh->positions[3 * i + c] + 2e-4f * normals[3 * i + c];
        for (own[i].group = 0; own[i].leaves == 0 && own[i].group < tree.group_count; own[i].group++)
            px_ray_mesh_below(&tree, from + 3 * i, normals + 3 * i, &own[i]);
        own[i].group--;
        below += own[i].leaves != 0;
    }
    assert_true(below > mesh->vertex_count / 2);
    for (int n = 0; n < 6; n++) {
        for (int o = 0; o < 2; o++) {
            px_ray_job job = {.mesh = &tree,
                              .view = &view,
                              .count = mesh->vertex_count,
                              .from = from,
                              .normals = normals,
                              .own = o ? own : NULL,
                              .cosine = 0.02f,
                              .far = INFINITY,
                              .open = open[o]};
            job.way[n % 3] = n < 3 ? 0.8f : -0.8f;
            job.way[(n + 1) % 3] = 0.6f;
            px_rays_of(pelt_simd_best())(&job);
        }
        assert_memory_equal(open[0], open[1], mesh->vertex_count);
    }
    px_view_free(test.context, &view);
    px_arena_destroy(arena);
    pelt_model_destroy(model);
    test_end(&test);
}

/* A model of boxes from −size to size, facing outwards; size 0: a square of side 2 facing up. */
static pelt_model *make_boxes(const test_context *test, const float *sizes, uint32_t count) {
    static const uint32_t quads[6][4] = {{0, 4, 6, 2}, {1, 3, 7, 5}, {0, 1, 5, 4},
                                         {2, 6, 7, 3}, {0, 2, 3, 1}, {4, 5, 7, 6}};
    pelt_model *model;
    test_ok(test, pelt_model_create(test->context, &model));
    pelt_mesh *mesh = &model->mesh;
    mesh->positions = pelt_model_alloc(test->context, model, 8 * count, 3 * sizeof(float));
    mesh->triangles = pelt_model_alloc(test->context, model, 12 * count, 3 * sizeof(uint32_t));
    for (uint32_t b = 0; b < count; b++) {
        bool flat = sizes[b] == 0;
        for (uint32_t k = 0; k < 8; k++)
            for (uint32_t c = 0; c < 3; c++)
                mesh->positions[3 * (8 * b + k) + c] =
                    flat && c == 1 ? 0 : (k >> c & 1 ? 1 : -1) * (flat ? 1 : sizes[b]);
        for (uint32_t q = flat ? 3 : 0; q < (flat ? 4 : 6); q++)
            for (uint32_t t = 0; t < 2; t++) {
                uint32_t *triangle = mesh->triangles + 3 * (size_t)mesh->triangle_count++;
                triangle[0] = 8 * b + quads[q][0];
                triangle[1] = 8 * b + quads[q][1 + t];
                triangle[2] = 8 * b + quads[q][2 + t];
            }
    }
    mesh->vertex_count = mesh->points.count = 8 * count;
    mesh->polygon_count = mesh->triangle_count;
    return model;
}

/* A box in the open is white; inside another box it is black, and white again when the reach is short. */
static void test_known_light(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    pelt_light_desc desc = quick();
    for (int round = 0; round < 2; round++) {
        pelt_model *model = make_boxes(&test, (const float[]){1, 3}, 2);
        desc.reach = round ? 0.05 : 0;
        test_ok(&test, pelt_light(test.context, model, &desc, NULL));
        for (uint32_t e = 0; e < 48; e++)
            assert_float_equal(model->mesh.colors[e], e < 24 && !round ? 0 : 1, 1e-6f);
        assert_int_equal(model->morphs.morph_count, 0);
        pelt_model_destroy(model);
    }
    /* The cosine-weighted mean height over a hemisphere is 2/3: 5/6 of the light is the sky's. */
    pelt_model *flat = make_boxes(&test, (const float[]){0}, 1);
    desc = (pelt_light_desc){PELT_DESC_COOKIE,   .kind = PELT_LIGHT_SKY, .rank = 1,  .directions = 4096, .fps = 30,
                             .sky = {1, 0.5, 0}, .sun = {0, 1, 0},       .bands = 3, .transfer_rank = 1};
    desc.ground[2] = 0.6;
    test_ok(&test, pelt_light(test.context, flat, &desc, NULL));
    for (uint32_t v = 2; v < 8; v += v == 3 ? 3 : 1) {
        assert_float_equal(flat->mesh.colors[3 * v], 5.0 / 6, 2e-3f);
        assert_float_equal(flat->mesh.colors[3 * v + 1], 2.5 / 6, 2e-3f);
        assert_float_equal(flat->mesh.colors[3 * v + 2], 0.1, 2e-3f);
    }
    pelt_model_destroy(flat);
    test_end(&test);
}

/* ---- Transfer ------------------------------------------------------------------------------------------------- */

/* Transfer vectors of a model, [frame][class][coefficient], by the code of pelt_light. */
static px_light take_transfer(const test_context *test, pelt_model *model, pelt_light_desc desc) {
    px_light l = {.context = test->context, .model = model, .desc = desc, .arena = px_arena_create(test->context)};
    l.desc.kind = PELT_LIGHT_TRANSFER;
    test_ok(test, px_light_take(&l));
    return l;
}

static void test_harmonics(void **state) {
    (void)state;
    enum { COUNT = 20000 };
    double products[16][16] = {{0}};
    for (uint32_t n = 0; n < COUNT; n++) {
        double y = 1 - (2.0 * n + 1) / COUNT, turn = 2.399963229728653 * n, values[16];
        px_harmonics((const double[3]){sqrt(1 - y * y) * cos(turn), y, sqrt(1 - y * y) * sin(turn)}, 4, values);
        for (int e = 0; e < 256; e++)
            products[e / 16][e % 16] += 4 * 3.14159265358979 / COUNT * values[e / 16] * values[e % 16];
    }
    for (int e = 0; e < 256; e++)
        assert_true(fabs(products[e / 16][e % 16] - (e / 16 == e % 16)) < 1e-3);
}

/* In the open, the transfer vector of a surface is its cosine lobe; next to a large wall, half of it. */
static void test_known_transfer(void **state) {
    (void)state;
    static const double lobe[] = {1, 2.0 / 3, 0.25, 0};
    test_context test;
    test_begin(&test, 2);
    for (uint32_t wall = 0; wall < 2; wall++) {
        pelt_model *model = make_boxes(&test, (const float[]){0, 0}, 1 + wall);
        pelt_light_desc desc = quick();
        double expected[16];
        desc.directions = 16384;
        desc.bands = 4;
        for (uint32_t e = 24; e < 24 + 24 * wall; e += 3) { /* the second square stands at x = −1.001, 4000 wide */
            model->mesh.positions[e + 1] = 2000 * model->mesh.positions[e];
            model->mesh.positions[e] = -1.001f;
            model->mesh.positions[e + 2] *= 2000;
        }
        px_light l = take_transfer(&test, model, desc);
        px_harmonics((const double[3]){0, 1, 0}, 4, expected);
        for (uint32_t band = 0, c = 0; band < 4; band++)
            for (uint32_t m = 0; m < 2 * band + 1; m++, c++)
                expected[c] *= lobe[band];
        for (uint32_t v = 2; v < 8; v += v == 3 ? 3 : 1) {
            const double *got = l.colors + 16 * (size_t)model->mesh.weld.of[v];
            if (!wall)
                for (uint32_t c = 0; c < 16; c++)
                    assert_float_equal(got[c], expected[c], 1e-3);
            if (!wall || model->mesh.positions[3 * v] > 0)
                continue;
            double a = sqrt(3 / (4 * 3.14159265358979)); /* ∫ over x > 0 of cos θ · (1, y, z, x) / π */
            assert_float_equal(got[0], 0.5 * expected[0], 3e-3);
            assert_float_equal(got[1], a / 3, 3e-3);
            assert_float_equal(got[2], 0, 3e-3);
            assert_float_equal(got[3], 2 * a / (3 * 3.14159265358979), 3e-3);
        }
        px_arena_destroy(l.arena);
        pelt_model_destroy(model);
    }
    test_end(&test);
}

/* Under uniform light no vertex reflects more than it receives; a reflection adds at most albedo · blocked light, and a
 * positive amount where much is blocked. */
static void test_bounce(void **state) {
    (void)state;
    static const double albedos[] = {0, 0.5, 1};
    for (int floor = 0; floor < 2; floor++) {
        px_light lights[3];
        test_context test;
        test_begin(&test, 2);
        double y0 = 0.5 / sqrt(3.14159265358979), most = 0;
        for (int n = 0; n < 3; n++) {
            pelt_light_desc desc = quick();
            desc.bounce = albedos[n];
            desc.floor = floor;
            desc.fps = 3;
            lights[n] = take_transfer(&test, make_scene(&test, "troll", 300, 12), desc);
        }
        size_t count = lights[0].column_count * lights[0].frame_count;
        for (size_t e = 0; e < count; e += 9) {
            double direct = lights[0].colors[e] / y0, half = lights[1].colors[e] / y0, whole = lights[2].colors[e] / y0;
            assert_true(direct >= 0 && whole <= 1 + 1e-9);
            assert_true(half >= direct - 1e-12 && half - direct <= 0.5 * (1 - direct) + 1e-9);
            assert_true(fabs(whole - direct - 2 * (half - direct)) < 1e-9);
            most = fmax(most, whole - direct);
        }
        assert_true(most > 0.1);
        for (int n = 0; n < 3; n++) {
            px_arena_destroy(lights[n].arena);
            pelt_model_destroy(lights[n].model);
        }
        test_end(&test);
    }
}

/* A floor blocks light from below: a box over it has a dark bottom, and sides with half of a uniform light. */
static void test_floor(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_light_desc desc = quick();
    desc.directions = 4096;
    desc.floor = true;
    pelt_model *model = make_boxes(&test, (const float[]){0}, 1);
    for (uint32_t v = 0; v < 8; v++) { /* the square stands, facing +x */
        model->mesh.positions[3 * v + 1] = model->mesh.positions[3 * v];
        model->mesh.positions[3 * v] = 0;
    }
    test_ok(&test, pelt_light(test.context, model, &desc, NULL));
    for (uint32_t v = 2; v < 8; v += v == 3 ? 3 : 1)
        assert_float_equal(model->mesh.colors[3 * v], 0.5, 5e-3);
    pelt_model_destroy(model);
    test_end(&test);
}

/* More patterns have less error; the vectors are the same for any number of threads; the colours match the light. */
static void test_transfer_rank(void **state) {
    (void)state;
    float *first = NULL;
    for (uint32_t threads = 1; threads <= 2; threads++) {
        test_context test;
        test_begin(&test, threads);
        pelt_model *model = make_scene(&test, "troll", 400, 16);
        pelt_light_desc desc = quick();
        pelt_light_report report;
        desc.kind = PELT_LIGHT_TRANSFER;
        desc.transfer_rank = 12;
        desc.bounce = 0.5;
        desc.floor = true;
        test_ok(&test, pelt_light(test.context, model, &desc, &report));
        const pelt_transfer *t = model->transfer;
        assert_non_null(t);
        assert_int_equal(report.transfer_rank, 12);
        assert_int_equal(report.coefficient_count, 9);
        for (uint32_t r = 0; r < 12; r++)
            assert_true(report.transfer_bounds[r + 1] < report.transfer_bounds[r]);
        assert_true(report.transfer_bounds[12] < 0.02 * report.transfer_bounds[0]);
        size_t size = 4 * (size_t)t->plane_count * model->mesh.vertex_count * sizeof *first;
        if (!first) {
            first = test_malloc(size);
            memcpy(first, t->patterns, size);
        }
        assert_memory_equal(first, t->patterns, size);
        /* The mean over frames, reconstructed from the patterns, is the mean colour of the file, up to ringing and the
         * rank. */
        double off = 0;
        for (uint32_t i = 0; i < model->mesh.vertex_count; i++) {
            double sum = 0;
            for (uint32_t k = 0; k < t->frame_count; k++)
                for (uint32_t n = 0; n < 12 * 9; n++)
                    sum += (double)t->weights[12 * k + n / 9] * (double)t->light[3 * (n % 9) + 1] *
                           (double)t->patterns[((size_t)(n / 4) * model->mesh.vertex_count + i) * 4 + n % 4];
            off +=
                fabs(fmin(sum / t->frame_count, 1) - (double)model->mesh.colors[3 * i + 1]) / model->mesh.vertex_count;
        }
        assert_true(off < 0.02);
        pelt_model_destroy(model);
        test_end(&test);
    }
    test_free(first);
}

/* Transfer vectors are written as vertex attributes, and removed when the rig is lit in another way. */
static void test_transfer_file(void **state) {
    (void)state;
    test_context test;
    char folder[1024], path[1100];
    test_folder(folder);
    snprintf(path, sizeof path, "%s/lit.glb", folder);
    test_begin(&test, 1);
    pelt_model *model = make_scene(&test, "troll", 200, 4), *back;
    pelt_light_desc desc = quick();
    desc.kind = PELT_LIGHT_TRANSFER;
    desc.transfer_rank = 3;
    test_ok(&test, pelt_light(test.context, model, &desc, NULL));
    test_ok(&test, pelt_save(test.context, model, path, NULL));
    test_ok(&test, pelt_load(test.context, (const char *const[]){path}, 1, NULL, &back));
    float *values = test_malloc(model->mesh.vertex_count * sizeof *values);
    test_ok(&test, pelt_vertex_attribute(test.context, back, "_LIGHT_6", values));
    for (uint32_t i = 0; i < back->mesh.vertex_count; i++)
        assert_true(values[i] == model->transfer->patterns[4 * ((size_t)6 * model->mesh.vertex_count + i)]);
    desc.kind = PELT_LIGHT_AMBIENT;
    test_ok(&test, pelt_light(test.context, back, &desc, NULL));
    test_ok(&test, pelt_save(test.context, back, path, NULL));
    pelt_model_destroy(back);
    test_ok(&test, pelt_load(test.context, (const char *const[]){path}, 1, NULL, &back));
    assert_true(pelt_vertex_attribute(test.context, back, "_LIGHT_0", values) != PELT_OK);
    test_free(values);
    pelt_model_destroy(model);
    pelt_model_destroy(back);
    test_end(&test);
    unlink(path);
    rmdir(folder);
}

/* ---- Factors -------------------------------------------------------------------------------------------------- */

/* NMF is ≥ 0 and near the least error of its rank: exact for data with non-negative factors of that rank, and within 15
 * % of the SVD on light. */
static void test_factors(void **state) {
    (void)state;
    enum { FRAMES = 30, COLUMNS = 200, RANK = 5 };
    static double a[FRAMES * COLUMNS], w[FRAMES * RANK], h[RANK * COLUMNS];
    test_random random = {9};
    test_context test;
    test_begin(&test, 1);
    double left[FRAMES * 3], right[3 * COLUMNS], bounds[RANK + 1], rms, most;
    for (size_t e = 0; e < sizeof left / sizeof *left; e++)
        left[e] = test_random_real(&random, 0, 1);
    for (size_t e = 0; e < sizeof right / sizeof *right; e++)
        right[e] = test_random_real(&random, 0, 1);
    for (size_t k = 0; k < FRAMES; k++)
        for (size_t e = 0; e < COLUMNS; e++)
            for (size_t r = 0; r < 3; r++)
                a[k * COLUMNS + e] += left[3 * k + r] * right[r * COLUMNS + e];
    for (uint32_t rank = 1; rank <= RANK; rank++) {
        test_ok(&test, px_light_svd(test.context, a, FRAMES, COLUMNS, rank, w, h, bounds));
        test_ok(&test, px_light_error(test.context, a, FRAMES, COLUMNS, rank, w, h, &rms, &most));
        assert_true(fabs(rms - bounds[rank]) < 1e-6 && most >= rms);
        test_ok(&test, px_light_nmf(test.context, a, FRAMES, COLUMNS, rank, w, h));
        test_ok(&test, px_light_error(test.context, a, FRAMES, COLUMNS, rank, w, h, &rms, NULL));
        for (size_t e = 0; e < FRAMES * rank; e++)
            assert_true(w[e] >= 0);
        for (size_t e = 0; e < COLUMNS * rank; e++)
            assert_true(h[e] >= 0);
        assert_true(rms >= bounds[rank] - 1e-9);
        assert_true(rms <= 1.15 * bounds[rank] + 0.005);
    }
    test_end(&test);
}

/* ---- Models --------------------------------------------------------------------------------------------------- */

/* The colour of a vertex in a motion, as a player shows it. */
static double shown(const pelt_model *model, const float *weights, size_t vertex, size_t channel) {
    double value = (double)model->mesh.colors[3 * vertex + channel];
    for (uint32_t m = 0; m < model->morphs.morph_count; m++) {
        const pelt_morph *morph = &model->morphs.morphs[m];
        if (morph->colors && vertex - morph->first_vertex < morph->vertex_count)
            value += (double)weights[m] * (double)morph->colors[3 * (vertex - morph->first_vertex) + channel];
    }
    return value;
}

/* With as many patterns as frames, the colours of a frame equal the light of a static mesh in that pose. */
static void test_frames(void **state) {
    (void)state;
    static const char *const names[] = {"troll", "morph", "production"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        test_context test;
        test_begin(&test, 2);
        pelt_model *model = make_scene(&test, names[n], 400, 6), *still = make_scene(&test, names[n], 400, 6);
        pelt_light_desc desc = quick();
        pelt_light_report report;
        uint32_t old = model->morphs.morph_count;
        desc.factors = PELT_LIGHT_SVD;
        desc.rank = PELT_LIGHT_RANK_MAX;
        desc.fps = model->motions[0].end > model->motions[0].start
                       ? 5 / (double)(model->motions[0].end - model->motions[0].start)
                       : 30;
        test_ok(&test, pelt_light(test.context, model, &desc, &report));
        test_ok(&test, pelt_model_validate(test.context, model));
        assert_true(model->morphs.morph_count > old && report.error_rms < 1e-6 && report.change_rms > 0.001);
        float time = model->motions[0].start + (float)(2 / desc.fps);
        float *weights = test_malloc(model->morphs.morph_count * sizeof *weights);
        pelt_motion_sample(model, &model->motions[0], time, NULL, weights);
        test_ok(&test, pelt_model_pose(test.context, still, &still->motions[0], time, PELT_SKINNING_LINEAR,
                                       still->mesh.positions, NULL));
        still->motion_count = still->skin.bone_count = still->morphs.morph_count = 0;
        still->skeleton.joint_count = still->mesh.part_count = still->clip_count = 0;
        still->mesh.weld = (pelt_vertex_classes){0};
        test_ok(&test, pelt_light(test.context, still, &desc, NULL));
        double off = 0;
        for (size_t i = 0; i < model->mesh.vertex_count; i++)
            off += fabs(shown(model, weights, i, 0) - (double)still->mesh.colors[3 * i]) / model->mesh.vertex_count;
        assert_true(off < 2e-3); /* normals of seams that meet only in the pose are smoothed there */
        test_free(weights);
        pelt_model_destroy(model);
        pelt_model_destroy(still);
        test_end(&test);
    }
}

/* Without a rate, long motions are sampled more coarsely: 600 frames at 30 per second get about 120. */
static void test_default_rate(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    for (uint32_t frames = 60; frames <= 600; frames *= 10) {
        pelt_model *model = make_scene(&test, "tube", 60, frames);
        pelt_light_desc desc = quick();
        pelt_light_report report;
        desc.fps = 0;
        desc.directions = 8;
        model->motions[0].end = model->motions[0].start + (float)(frames - 1) / 30;
        test_ok(&test, pelt_light(test.context, model, &desc, &report));
        assert_int_equal(report.frame_count, frames == 60 ? 60 : 121);
        pelt_model_destroy(model);
    }
    test_end(&test);
}

/* Few patterns: within 15 % of the bound, and far better than constant colours; the same for any number of threads. */
static void test_few_patterns(void **state) {
    (void)state;
    static const struct {
        const char *scene;
        uint32_t kind, rank;
    } rows[] = {{"troll", PELT_LIGHT_AMBIENT, 4}, {"production", PELT_LIGHT_SKY, 4}, {"production", PELT_LIGHT_SKY, 8}};
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        double errors[2];
        for (uint32_t threads = 1; threads <= 2; threads++) {
            test_context test;
            test_begin(&test, threads);
            pelt_model *model = make_scene(&test, rows[n].scene, 400, 16);
            pelt_light_desc desc = quick();
            pelt_light_report report;
            desc.kind = rows[n].kind;
            desc.rank = rows[n].rank;
            test_ok(&test, pelt_light(test.context, model, &desc, &report));
            assert_int_equal(report.rank, rows[n].rank);
            double bound = report.bounds[report.rank];
            assert_true(bound <= report.error_rms + 1e-9 && report.error_rms <= 1.15 * bound);
            assert_true(report.error_rms < 0.5 * report.change_rms && report.bounds[1] > report.bounds[2]);
            assert_true(test.progress_count > 0);
            errors[threads - 1] = report.error_rms;
            pelt_model_destroy(model);
            test_end(&test);
        }
        assert_true(errors[0] == errors[1]);
    }
}

/* Colours survive files, and other changes of the model. */
static void test_files(void **state) {
    (void)state;
    test_context test;
    char folder[1024], path[1100];
    test_folder(folder);
    snprintf(path, sizeof path, "%s/lit.glb", folder);
    test_begin(&test, 1);
    pelt_model *model = make_scene(&test, "morph", 300, 5), *back, *again;
    pelt_light_desc desc = quick();
    test_ok(&test, pelt_light(test.context, model, &desc, NULL));
    test_ok(&test, pelt_save(test.context, model, path, NULL));
    test_ok(&test, pelt_load(test.context, (const char *const[]){path}, 1, NULL, &back));
    back->changed |= PELT_CHANGED_MORPHS;
    test_ok(&test, pelt_save(test.context, back, path, NULL));
    test_ok(&test, pelt_load(test.context, (const char *const[]){path}, 1, NULL, &again));
    assert_int_equal(again->morphs.morph_count, model->morphs.morph_count);
    for (uint32_t m = 0; m < model->morphs.morph_count; m++) {
        const pelt_morph *a = &model->morphs.morphs[m], *b = &again->morphs.morphs[m];
        assert_string_equal(a->name, b->name);
        assert_non_null(b->colors);
        assert_memory_equal(a->colors, b->colors, 3 * (size_t)a->vertex_count * sizeof(float));
    }
    float *red = test_malloc(again->mesh.vertex_count * sizeof *red);
    test_ok(&test, pelt_vertex_attribute(test.context, again, "COLOR_0", red));
    for (uint32_t i = 0; i < again->mesh.vertex_count; i++)
        assert_true(red[i] == model->mesh.colors[3 * i]);
    test_free(red);
    pelt_model_destroy(model);
    pelt_model_destroy(back);
    pelt_model_destroy(again);
    test_end(&test);
    unlink(path);
    rmdir(folder);
}

/* Triangles of a troll that face inwards, as in a mirrored rig: the light is the same, with a warning. */
static void test_inside_out(void **state) {
    (void)state;
    pelt_light_report reports[2];
    for (uint32_t n = 0; n < 2; n++) {
        test_context test;
        test_begin(&test, 1);
        pelt_model *model = make_scene(&test, "troll", 300, 2);
        pelt_light_desc desc = quick();
        for (size_t t = 0; n && t < model->mesh.triangle_count; t++) {
            uint32_t corner = model->mesh.triangles[3 * t];
            model->mesh.triangles[3 * t] = model->mesh.triangles[3 * t + 1];
            model->mesh.triangles[3 * t + 1] = corner;
        }
        test_ok(&test, pelt_light(test.context, model, &desc, &reports[n]));
        assert_int_equal(strstr(test.log, "inside out") != NULL, n);
        pelt_model_destroy(model);
        test_end(&test);
    }
    assert_float_equal(reports[0].mean, reports[1].mean, 1e-6);
}

static void test_bad_input(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_boxes(&test, (const float[]){1}, 1);
    pelt_light_desc desc = quick();
    desc.rank = 0;
    test_fails(&test, pelt_light(test.context, model, &desc, NULL), PELT_ERROR_USAGE, "pelt_light_desc.rank is 0");
    desc = quick();
    model->mesh.positions[4] = NAN;
    test_fails(&test, pelt_light(test.context, model, &desc, NULL), PELT_ERROR_INPUT, "vertex 1 is not at a finite");
    model->mesh.triangle_count = model->mesh.polygon_count = 0;
    test_fails(&test, pelt_light(test.context, model, &desc, NULL), PELT_ERROR_INPUT, "no triangles");
    assert_null(model->mesh.colors);
    pelt_model_destroy(model);
    model = make_scene(&test, "troll", 200, 4);
    desc.fps = 100000;
    test_fails(&test, pelt_light(test.context, model, &desc, NULL), PELT_ERROR_UNSUPPORTED, "over 4096 frames");
    atomic_store(&test.cancel_at, atomic_load(&test.asked) + 3);
    desc.fps = 30;
    assert_int_equal(pelt_light(test.context, model, &desc, NULL), PELT_ERROR_CANCELLED);
    pelt_model_destroy(model);
    test_end(&test);
}

static pelt_result light_scene(pelt_context *context, void *user) {
    pelt_model *model = NULL;
    pelt_light_desc desc = quick();
    scene_desc size = {.vertex_count = 100, .frame_count = 4, .seed = 1};
    (void)user;
    desc.directions = 8;
    pelt_result result = scene_find("morph")->make(context, &size, &model);
    if (result == PELT_OK)
        result = pelt_light(context, model, &desc, NULL);
    pelt_model_destroy(model);
    return result;
}

static void test_failing_allocations(void **state) {
    (void)state;
    test_fail_some_allocations(1, 200, light_scene, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rays),
        cmocka_unit_test(test_below),
        cmocka_unit_test(test_harmonics),
        cmocka_unit_test(test_known_transfer),
        cmocka_unit_test(test_bounce),
        cmocka_unit_test(test_floor),
        cmocka_unit_test(test_transfer_rank),
        cmocka_unit_test(test_transfer_file),
        cmocka_unit_test(test_known_light),
        cmocka_unit_test(test_factors),
        cmocka_unit_test(test_frames),
        cmocka_unit_test(test_default_rate),
        test_long(test_few_patterns),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_inside_out),
        cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
