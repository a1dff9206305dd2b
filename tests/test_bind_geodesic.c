/* Geodesic distances from bones: against a reference Dijkstra, and against closed-form distances in simple solids. */
#include "bind_volumes.h"

#define MAX_SIDE     12u
#define MAX_TARGETS  11u
#define MAX_SEGMENTS (2 * MAX_TARGETS)

/* Bones in a volume, and one vertex at the centre of every voxel. */
typedef struct scene {
    px_bind_volume volume;
    px_bind_bones bones;
    px_bind_segment segments[MAX_SEGMENTS];
    px_bind_bridges bridges;
    px_bind_subject subject;
    uint32_t targets[MAX_TARGETS];
    uint8_t idle[MAX_TARGETS];
    float *values; /* [voxel][target] */
} scene;

static void add_segment(scene *s, uint32_t target, const double a[3], const double b[3]) {
    px_bind_segment *segment = &s->segments[s->bones.segment_count++];
    segment->target = target;
    for (int c = 0; c < 3; c++) {
        segment->a[c] = (float)a[c];
        segment->b[c] = (float)b[c];
    }
}

static void finish_scene(px_arena *arena, scene *s, uint32_t target_count) {
    const px_voxels *voxels = &s->volume.voxels;
    s->bones.segments = s->segments;
    s->subject = (px_bind_subject){.classes.count = voxels->count, .target_count = target_count};
    s->subject.targets = s->targets;
    s->subject.idle = s->idle;
    s->subject.positions = PX_NEW(arena, float, 3 * (size_t)voxels->count);
    s->values = PX_NEW(arena, float, (size_t)voxels->count *target_count);
    assert_true(s->subject.positions && s->values);
    for (uint32_t t = 0; t < target_count; t++)
        s->targets[t] = t;
    for (uint32_t v = 0; v < voxels->count; v++)
        for (uint32_t c = 0; c < 3; c++)
            s->subject.positions[3 * v + c] = (float)px_grid_centre(&voxels->grid, voxels->cells[v][c], c);
}

/* Builds bridges to the components that no bone reaches. */
static pelt_result build_bridges(pelt_context *context, px_arena *arena, scene *s) {
    px_bind_wave wave;
    bool seeded;
    pelt_result result = px_bind_wave_make(context, &s->volume, s->segments, NULL, &wave);
    wave.floods = true;
    for (uint32_t k = 0; result == PELT_OK && k < s->bones.segment_count; k++)
        if (s->idle[s->segments[k].target] == PELT_BIND_ACTIVE)
            result = px_bind_wave_start(&wave, k, 1, INFINITY, &seeded);
    if (result == PELT_OK)
        result = px_bind_wave_run(&wave);
    if (result == PELT_OK)
        result = px_bind_bridges_make(arena, &wave, &s->bridges);
    px_bind_wave_free(&wave);
    return result;
}

static pelt_result run_scene(pelt_context *context, scene *s, uint32_t distance) {
    return px_bind_geodesic(context, &s->subject, &s->volume, &s->bones, &s->bridges, distance,
                            &(px_bind_fields){.values = s->values, .method = PELT_BIND_GEODESIC});
}

/* ---- Paper ------------------------------------------------------------------------------------------------ */

/* Reference Dijkstra: repeatedly settles the nearest open voxel. Returns false when the bone passes through no
 * voxel. */
static bool dijkstra(const scene *s, uint32_t target, float *distances) {
    uint32_t count = s->volume.voxels.count;
    bool *done = calloc(count, sizeof *done), any = false;
    for (uint32_t v = 0; v < count; v++) {
        distances[v] = INFINITY;
        for (uint32_t k = 0; k < s->bones.segment_count; k++)
            if (s->segments[k].target == target && test_passes(&s->segments[k], s->volume.voxels.cells[v]))
                distances[v] = 0;
        any |= distances[v] == 0;
    }
    for (;;) {
        uint32_t at = PELT_NONE;
        for (uint32_t v = 0; v < count; v++)
            if (!done[v] && distances[v] < INFINITY && (at == PELT_NONE || distances[v] < distances[at]))
                at = v;
        if (at == PELT_NONE)
            break;
        done[at] = true;
        for (uint32_t k = 0; k < 6; k++) {
            uint32_t next = s->volume.neighbours[at][k];
            if (next != PELT_NONE)
                distances[next] = fminf(distances[next], distances[at] + s->volume.step[k / 2]);
        }
        for (uint32_t b = 0; b < s->bridges.count; b++)
            for (int side = 0; side < 2; side++) {
                uint32_t from = side ? s->bridges.items[b].to : s->bridges.items[b].from;
                uint32_t to = side ? s->bridges.items[b].from : s->bridges.items[b].to;
                if (from == at)
                    distances[to] = fminf(distances[to], distances[at] + test_gap(&s->volume, from, to));
            }
    }
    free(done);
    return any;
}

static void random_scene(test_context *test, px_arena *arena, test_random *random, bool cubes, scene *s) {
    uint8_t cells[MAX_SIDE * MAX_SIDE * MAX_SIDE];
    uint32_t size[3], target_count = 1 + test_random_below(random, MAX_TARGETS);
    double cell[3], share = test_random_real(random, 0.3, 0.95), side = test_random_real(random, 0.1, 10);
    *s = (scene){0};
    for (int c = 0; c < 3; c++) {
        size[c] = 3 + test_random_below(random, MAX_SIDE - 2);
        cell[c] = cubes ? side : test_random_real(random, 0.3, 2);
    }
    cells[0] = 1;
    for (uint32_t k = 1; k < size[0] * size[1] * size[2]; k++)
        cells[k] = test_random_real(random, 0, 1) < share;
    test_volume(test, arena, size, cell, cells, &s->volume);
    for (uint32_t t = 0; t < target_count; t++)
        for (uint32_t n = test_random_below(random, 2); n < 2; n++) {
            double a[3], b[3];
            for (int c = 0; c < 3; c++) {
                a[c] = test_random_real(random, -2, size[c] + 2);
                b[c] = test_random_below(random, 4) ? test_random_real(random, -2, size[c] + 2) : a[c];
            }
            add_segment(s, t, a, b);
        }
    finish_scene(arena, s, target_count);
    for (uint32_t t = 0; t < target_count; t++)
        s->idle[t] = t > 0 && test_random_below(random, 6) == 0 ? PELT_BIND_FAR : PELT_BIND_ACTIVE;
    test_ok(test, build_bridges(test->context, arena, s));
}

/* Also counts bridges and unreachable voxels, so that every case is known to occur in the random scenes. */
static void test_paper_is_dijkstra(void **state) {
    (void)state;
    test_random random = {1};
    uint32_t bridge_count = 0, endless_count = 0, compared = 0;
    for (int round = 0; round < 60; round++) {
        test_context test;
        px_arena *arena = px_arena_create(test_begin(&test, 2));
        scene s;
        random_scene(&test, arena, &random, round % 2 == 0, &s);
        test_ok(&test, run_scene(test.context, &s, PELT_BIND_DISTANCE_PAPER));
        float *distances = PX_NEW(arena, float, s.volume.voxels.count);
        for (uint32_t t = 0; t < s.subject.target_count; t++) {
            bool passes = dijkstra(&s, t, distances), active = s.idle[t] == PELT_BIND_ACTIVE;
            for (uint32_t v = 0; v < s.volume.voxels.count && (passes || !active); v++) {
                double sum = 0;
                for (uint32_t c = 0; c < 3; c++) {
                    double centre = px_grid_centre(&s.volume.voxels.grid, s.volume.voxels.cells[v][c], c);
                    sum += (s.subject.positions[3 * v + c] - centre) * (s.subject.positions[3 * v + c] - centre);
                }
                float gap = (float)(sqrt(sum) / s.volume.voxels.grid.cell[0]);
                float wanted = active ? (distances[v] + gap) / s.volume.diagonal : INFINITY;
                assert_memory_equal(&s.values[v * s.subject.target_count + t], &wanted, sizeof wanted);
                endless_count += active && wanted == INFINITY;
                compared++;
            }
        }
        bridge_count += s.bridges.count;
        px_arena_destroy(arena);
        test_end(&test);
    }
    assert_true(compared > 50000 && bridge_count > 100 && endless_count > 100);
}

/* A bone outside the volume starts at the nearest voxel, with the distance to it. */
static void test_outside(void **state) {
    (void)state;
    test_context test;
    px_arena *arena = px_arena_create(test_begin(&test, 1));
    static const uint32_t size[3] = {10, 3, 3};
    static const double cell[3] = {2, 2, 2};
    uint8_t cells[90] = {0};
    static scene s;
    s = (scene){0};
    for (uint32_t x = 2; x < 8; x++)
        cells[x + 40] = 1; /* y 1, z 1 */
    test_volume(&test, arena, size, cell, cells, &s.volume);
    assert_int_equal(s.volume.voxels.count, 6);
    add_segment(&s, 0, (double[3]){-20, 1, 1}, (double[3]){-3, 1, 1});
    finish_scene(arena, &s, 1);
    for (uint32_t distance = 0; distance < 2; distance++) {
        test_ok(&test, run_scene(test.context, &s, distance));
        for (uint32_t v = 0; v < 6; v++)
            assert_float_equal(s.values[v] * s.volume.diagonal, (float)(s.volume.voxels.cells[v][0] + 3), 1e-4f);
    }
    px_arena_destroy(arena);
    test_end(&test);
}

/* ---- Isotropic -------------------------------------------------------------------------------------------- */

static void fill(uint8_t *cells, const uint32_t size[3], const uint32_t low[3], const uint32_t high[3]) {
    for (uint32_t z = low[2]; z < high[2]; z++)
        for (uint32_t y = low[1]; y < high[1]; y++)
            for (uint32_t x = low[0]; x < high[0]; x++)
                cells[x + size[0] * (y + (size_t)size[1] * z)] = 1;
}

/* In a box, every voxel is visible from the bone. */
static void test_isotropic_box(void **state) {
    (void)state;
    static const uint32_t size[3] = {60, 14, 12}, low[3] = {1, 1, 1}, high[3] = {59, 13, 11};
    static const double kinds[2][3] = {{0.5, 0.5, 0.5}, {0.5, 0.8, 0.3}};
    static uint8_t cells[60 * 14 * 12];
    fill(cells, size, low, high);
    for (int kind = 0; kind < 2; kind++) {
        test_context test;
        px_arena *arena = px_arena_create(test_begin(&test, 2));
        scene s = {0};
        test_volume(&test, arena, size, kinds[kind], cells, &s.volume);
        add_segment(&s, 0, (double[3]){4.3, 3.1, 6.2}, (double[3]){17.9, 9.7, 4.4});
        add_segment(&s, 1, (double[3]){50, 7, 6}, (double[3]){50, 7, 6});
        finish_scene(arena, &s, 2);
        test_ok(&test, run_scene(test.context, &s, PELT_BIND_DISTANCE_ISOTROPIC));
        for (uint32_t v = 0; v < s.volume.voxels.count; v++)
            for (uint32_t t = 0; t < 2; t++) {
                const uint16_t *place = s.volume.voxels.cells[v];
                float p[3] = {place[0], place[1], place[2]}, nearest[3];
                float exact = px_bind_segment_distance(&s.segments[t], s.volume.step, p, nearest);
                assert_float_equal(s.values[2 * v + t] * s.volume.diagonal, exact, 0.02f * exact + 1e-4f);
            }
        px_arena_destroy(arena);
        test_end(&test);
    }
}

/* Whether the segment between two points avoids the quarter x > corner, y > corner. */
static bool is_clear(const double a[2], const double b[2], const double corner[2]) {
    for (int n = 0; n <= 4000; n++) {
        double u = n / 4000.0, x = a[0] + u * (b[0] - a[0]), y = a[1] + u * (b[1] - a[1]);
        if (x > corner[0] && y > corner[1])
            return false;
    }
    return true;
}

/* Two arms of 32 × 140 cells. The bone stands in one and is as tall as the tube, so that the shortest path lies in a
 * plane. The corner is voxelised too: distances behind it are about one cell too long. */
static void test_isotropic_tube(void **state) {
    (void)state;
    static const uint32_t size[3] = {140, 140, 8}, low[3] = {0, 0, 0}, across[3] = {140, 32, 8},
                          along[3] = {32, 140, 8};
    static const double cell[3] = {1, 1, 1}, corner[2] = {31.5, 31.5};
    static uint8_t cells[140 * 140 * 8];
    fill(cells, size, low, across);
    fill(cells, size, low, along);
    test_context test;
    px_arena *arena = px_arena_create(test_begin(&test, 2));
    scene s = {0};
    test_volume(&test, arena, size, cell, cells, &s.volume);
    add_segment(&s, 0, (double[3]){110, 16, -0.4}, (double[3]){110, 16, 7.4});
    finish_scene(arena, &s, 1);
    test_ok(&test, run_scene(test.context, &s, PELT_BIND_DISTANCE_ISOTROPIC));
    double worst = 0, mean = 0;
    for (uint32_t v = 0; v < s.volume.voxels.count; v++) {
        const double bone[2] = {110, 16}, p[2] = {s.volume.voxels.cells[v][0], s.volume.voxels.cells[v][1]};
        double exact = hypot(p[0] - bone[0], p[1] - bone[1]);
        if (!is_clear(bone, p, corner))
            exact = hypot(corner[0] - bone[0], corner[1] - bone[1]) + hypot(p[0] - corner[0], p[1] - corner[1]);
        double error = fabs(s.values[v] * s.volume.diagonal - exact) / fmax(exact, 1);
        worst = fmax(worst, error);
        mean += error / s.volume.voxels.count;
    }
    if (worst > 0.02)
        fail_msg("off by %.2f %%, %.2f %% in the mean", 100 * worst, 100 * mean);
    px_arena_destroy(arena);
    test_end(&test);
}

/* ---- Disconnected parts ------------------------------------------------------------------------------------ */

/* Three slabs; the bones lie in the first. */
static void slabs(test_context *test, px_arena *arena, scene *s) {
    static const uint32_t size[3] = {20, 8, 8};
    static const double cell[3] = {1, 1, 1};
    uint8_t cells[20 * 8 * 8] = {0};
    *s = (scene){0};
    fill(cells, size, (uint32_t[3]){1, 1, 1}, (uint32_t[3]){6, 7, 7});
    fill(cells, size, (uint32_t[3]){9, 1, 1}, (uint32_t[3]){12, 7, 7});
    fill(cells, size, (uint32_t[3]){17, 1, 1}, (uint32_t[3]){19, 7, 7});
    test_volume(test, arena, size, cell, cells, &s->volume);
    for (uint32_t t = 0; t < 6; t++)
        add_segment(s, t, (double[3]){1.5 + t / 2.0, 2, 2}, (double[3]){2 + t / 2.0, 5, 4});
    finish_scene(arena, s, 6);
    test_ok(test, build_bridges(test->context, arena, s));
}

/* Every voxel has a distance from every bone, and distances grow from slab to slab. */
static void test_bridges(void **state) {
    (void)state;
    test_context test;
    px_arena *arena = px_arena_create(test_begin(&test, 2));
    scene s;
    slabs(&test, arena, &s);
    assert_true(s.bridges.count > 0);
    for (uint32_t distance = 0; distance < 2; distance++) {
        test_ok(&test, run_scene(test.context, &s, distance));
        for (uint32_t t = 0; t < 6; t++) {
            float least[3] = {INFINITY, INFINITY, INFINITY};
            for (uint32_t v = 0; v < s.volume.voxels.count; v++) {
                uint32_t x = s.volume.voxels.cells[v][0], slab = x < 7 ? 0 : x < 14 ? 1 : 2;
                float value = s.values[6 * v + t] * s.volume.diagonal;
                assert_true(isfinite(value));
                least[slab] = fminf(least[slab], value);
            }
            assert_true(least[0] <= 1 && least[1] >= least[0] + 4 && least[2] >= least[1] + 8 - 1e-3f);
        }
    }
    px_arena_destroy(arena);
    test_end(&test);
}

/* ---- Threads and failures ---------------------------------------------------------------------------------- */

static void test_threads(void **state) {
    (void)state;
    float *first = NULL;
    size_t size = 0;
    for (uint32_t distance = 0; distance < 2; distance++) {
        for (uint32_t threads = 1; threads <= 4; threads += 3) {
            test_context test;
            px_arena *arena = px_arena_create(test_begin(&test, threads));
            test_random random = {7};
            scene s;
            random_scene(&test, arena, &random, false, &s);
            test_ok(&test, run_scene(test.context, &s, distance));
            size = (size_t)s.volume.voxels.count * s.subject.target_count * sizeof(float);
            if (threads == 1)
                first = memcpy(malloc(size), s.values, size);
            else
                assert_memory_equal(first, s.values, size);
            px_arena_destroy(arena);
            test_end(&test);
        }
        free(first);
    }
}

typedef struct failing {
    scene *s;
    uint32_t distance;
} failing;

static pelt_result run_failing(pelt_context *context, void *user) {
    failing *f = user;
    px_arena *arena = px_arena_create(context);
    if (!arena)
        return PELT_ERROR_MEMORY;
    pelt_result result = build_bridges(context, arena, f->s);
    if (result == PELT_OK)
        result = run_scene(context, f->s, f->distance);
    px_arena_destroy(arena);
    return result;
}

static void test_memory_fails(void **state) {
    (void)state;
    test_context test;
    px_arena *arena = px_arena_create(test_begin(&test, 1));
    scene s;
    slabs(&test, arena, &s);
    for (uint32_t distance = 0; distance < 2; distance++)
        test_fail_each_allocation(1, run_failing, &(failing){&s, distance});
    px_arena_destroy(arena);
    test_end(&test);
}

static void test_cancel_stops(void **state) {
    (void)state;
    test_context test;
    px_arena *arena = px_arena_create(test_begin(&test, 1));
    scene s;
    slabs(&test, arena, &s);
    for (uint32_t distance = 0; distance < 2; distance++) {
        uint64_t before = atomic_load(&test.asked);
        test_ok(&test, run_scene(test.context, &s, distance));
        uint64_t questions = atomic_load(&test.asked) - before;
        assert_true(questions > 3);
        atomic_store(&test.cancel_at, atomic_load(&test.asked) + questions / 2);
        assert_int_equal(run_scene(test.context, &s, distance), PELT_ERROR_CANCELLED);
        atomic_store(&test.cancel_at, 0);
    }
    px_arena_destroy(arena);
    test_end(&test);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paper_is_dijkstra), cmocka_unit_test(test_outside),
        cmocka_unit_test(test_isotropic_box),     cmocka_unit_test(test_isotropic_tube),
        cmocka_unit_test(test_bridges),           cmocka_unit_test(test_threads),
        cmocka_unit_test(test_memory_fails),      cmocka_unit_test(test_cancel_stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
