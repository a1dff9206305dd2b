/* Building blocks of binding: nearest voxels, wavefronts, bridges, voxels of vertices, graphs. */
#include "bind_volumes.h"

#define SIDE 16u

static const double cubes[3] = {1, 1, 1}, boxes[3] = {1, 0.6, 1.7};

/* A random solid: `share` is the fraction of occupied cells. */
static void random_cells(test_random *random, const uint32_t size[3], double share, uint8_t *cells) {
    cells[0] = 1;
    for (size_t k = 1; k < (size_t)size[0] * size[1] * size[2]; k++)
        cells[k] = test_random_real(random, 0, 1) < share;
}

static float distance_to(const px_bind_volume *volume, const float p[3], uint32_t voxel) {
    float sum = 0;
    for (int c = 0; c < 3; c++) {
        float off = ((float)volume->voxels.cells[voxel][c] - p[c]) * volume->step[c];
        sum += off * off;
    }
    return sqrtf(sum);
}

/* ---- Nearest voxels, places ---------------------------------------------------------------------------------- */

static void test_nearest(void **state) {
    (void)state;
    static const uint32_t size[3] = {90, 24, 40};
    static uint8_t cells[90 * 24 * 40];
    test_random random = {1};
    uint32_t far = 0;
    for (int round = 0; round < 6; round++) {
        test_context test;
        px_arena *arena = px_arena_create(test_begin(&test, 1));
        px_bind_volume volume;
        random_cells(&random, size, round < 3 ? 0.0001 : 0.4, cells);
        test_volume(&test, arena, size, round % 2 ? boxes : cubes, cells, &volume);
        for (int n = 0; n < 200; n++) {
            float p[3], distance, best = INFINITY, most = n % 4 ? INFINITY : 5;
            for (int c = 0; c < 3; c++)
                p[c] = (float)test_random_real(&random, n % 8 ? 0 : -30, size[c] + (n % 8 ? 0 : 30));
            for (uint32_t v = 0; v < volume.voxels.count; v++)
                best = fminf(best, distance_to(&volume, p, v));
            uint32_t found = px_bind_nearest_voxel(&volume, p, most, &distance);
            if (found != PELT_NONE) {
                assert_float_equal(distance, best, 1e-4f);
                assert_float_equal(distance_to(&volume, p, found), best, 1e-4f);
            } else
                assert_true(best >= most);
            far += found != PELT_NONE && best > 15;
        }
        px_arena_destroy(arena);
        test_end(&test);
    }
    assert_true(far > 20);
}

/* Every vertex gets a voxel, wherever it is; vertices that no triangle uses take the nearest voxel. */
static void test_places(void **state) {
    (void)state;
    static const uint32_t size[3] = {12, 12, 12};
    uint8_t cells[12 * 12 * 12];
    test_random random = {2};
    test_context test;
    px_arena *arena = px_arena_create(test_begin(&test, 1));
    px_bind_volume volume;
    random_cells(&random, size, 0.05, cells);
    test_volume(&test, arena, size, boxes, cells, &volume);
    for (int n = 0; n < 500; n++) {
        float position[3], p[3], sum = 0, best = INFINITY;
        px_bind_place place;
        uint32_t cell[3];
        for (int c = 0; c < 3; c++)
            position[c] = (float)(test_random_real(&random, 0, 1) * size[c] * boxes[c]);
        px_bind_place_at(&volume, position, &place);
        assert_true(place.count >= 1 && place.count <= 8);
        for (uint32_t k = 0; k < place.count; k++) {
            assert_true(place.voxels[k] < volume.voxels.count);
            sum += place.weights[k];
        }
        assert_float_equal(sum, 1, 1e-5f);
        uint32_t voxel = px_bind_voxel_at(&volume, position);
        px_grid_cell(&volume.voxels.grid, position, cell);
        px_bind_to_grid(&volume.voxels.grid, position, p);
        for (uint32_t v = 0; v < volume.voxels.count; v++)
            best = fminf(best, distance_to(&volume, p, v));
        if (cells[cell[0] + size[0] * (cell[1] + size[1] * cell[2])])
            assert_int_equal(voxel, px_voxel_at(&volume.voxels, cell[0], cell[1], cell[2]));
        else
            assert_float_equal(distance_to(&volume, p, voxel), best, 1e-4f);
    }
    px_arena_destroy(arena);
    test_end(&test);
}

/* ---- Waves --------------------------------------------------------------------------------------------------- */

/* In a box every voxel belongs to the nearest bone, with the Euclidean distance to it. */
static void test_wave(void **state) {
    (void)state;
    static const uint32_t size[3] = {30, 12, 10};
    static uint8_t cells[30 * 12 * 10];
    static const px_bind_segment segments[] = {
        {{3, 2, 2}, {9, 6, 5}, 0}, {{20, 9, 2}, {20, 3, 7}, 1}, {{27, 5, 5}, {27, 5, 5}, 2}};
    memset(cells, 1, sizeof cells);
    for (int kind = 0; kind < 2; kind++) {
        test_context test;
        px_arena *arena = px_arena_create(test_begin(&test, 1));
        px_bind_volume volume;
        px_bind_wave wave;
        bool seeded;
        test_volume(&test, arena, size, kind ? boxes : cubes, cells, &volume);
        test_ok(&test, px_bind_wave_make(test.context, &volume, segments, NULL, &wave));
        for (uint32_t k = 0; k < 3; k++) {
            test_ok(&test, px_bind_wave_start(&wave, k, 1, 5, &seeded));
            assert_true(seeded);
        }
        test_ok(&test, px_bind_wave_run(&wave));
        for (uint32_t v = 0; v < volume.voxels.count; v++) {
            const uint16_t *cell = volume.voxels.cells[v];
            float p[3] = {cell[0], cell[1], cell[2]}, nearest[3], distances[3];
            for (uint32_t k = 0; k < 3; k++)
                distances[k] = px_bind_segment_distance(&segments[k], volume.step, p, nearest);
            float best = fminf(distances[0], fminf(distances[1], distances[2]));
            assert_float_equal(wave.distances[v], best, 0.02f * best + 1e-4f);
            assert_float_equal(distances[wave.owners[v]], wave.distances[v], 0.02f * best + 1e-4f);
        }
        px_bind_wave_free(&wave);
        px_arena_destroy(arena);
        test_end(&test);
    }
}

/* Beyond the joint of two bones, both are at the same distance. Their border is a plane, not what the last bits of the
 * joint's position say. */
static void test_wave_joint(void **state) {
    (void)state;
    enum { WIDTH = 24, COUNT = WIDTH * WIDTH * WIDTH };
    static const uint32_t size[3] = {WIDTH, WIDTH, WIDTH};
    static uint8_t cells[COUNT];
    static uint32_t owners[COUNT];
    static const float reach[2] = {100, 100};
    memset(cells, 1, sizeof cells);
    test_context test;
    px_arena *arena = px_arena_create(test_begin(&test, 1));
    px_bind_volume volume;
    test_volume(&test, arena, size, cubes, cells, &volume);
    for (int side = 0; side < 2; side++) {
        float off = side ? 2e-5f : -2e-5f;
        const px_bind_segment segments[] = {{{12.252f, 21.9f, 18}, {12.252f, 12.8265f, 12.3856f}, 0},
                                            {{12.252f, 12.8265f + off, 12.3856f}, {12.252f, 3.2f, 11.76f}, 1}};
        px_bind_wave wave;
        bool seeded;
        uint32_t changed = 0;
        test_ok(&test, px_bind_wave_make(test.context, &volume, segments, reach, &wave));
        for (uint32_t k = 0; k < 2; k++)
            test_ok(&test, px_bind_wave_start(&wave, k, 1, 5, &seeded));
        test_ok(&test, px_bind_wave_run(&wave));
        for (uint32_t v = 0; v < COUNT; v++)
            changed += side && wave.owners[v] != owners[v];
        assert_in_range(changed, 0, 4);
        memcpy(owners, wave.owners, sizeof owners);
        px_bind_wave_free(&wave);
    }
    px_arena_destroy(arena);
    test_end(&test);
}

/* ---- Bridges --------------------------------------------------------------------------------------------------- */

/* A core and two concentric thin shells: with or without flooding, all voxels are reached, and only those of the shells
 * are bridged. Each component is attached to the one inside it. */
static void test_nested(void **state) {
    (void)state;
    static const uint32_t size[3] = {40, 40, 40};
    static const px_bind_segment bone = {{19, 19, 17}, {20, 20, 22}, 0};
    static uint8_t cells[40 * 40 * 40];
    for (uint32_t k = 0; k < 40 * 40 * 40; k++) {
        double r = hypot(hypot(k % 40 - 19.5, k / 40 % 40 - 19.5), k / 1600 - 19.5);
        cells[k] = r < 6 ? 1 : r > 9 && r < 11 ? 2 : r > 15 && r < 17 ? 3 : 0;
    }
    for (int floods = 0; floods < 2; floods++) {
        test_context test;
        px_arena *arena = px_arena_create(test_begin(&test, 2));
        px_bind_volume volume;
        px_bind_wave wave;
        px_bind_bridges bridges;
        bool seeded;
        test_volume(&test, arena, size, cubes, cells, &volume);
        test_ok(&test, px_bind_wave_make(test.context, &volume, &bone, NULL, &wave));
        wave.floods = floods;
        test_ok(&test, px_bind_wave_start(&wave, 0, 1, 5, &seeded));
        test_ok(&test, px_bind_wave_run(&wave));
        test_ok(&test, px_bind_bridges_make(arena, &wave, &bridges));
        for (uint32_t v = 0; v < volume.voxels.count; v++) {
            const uint16_t *cell = volume.voxels.cells[v];
            assert_int_equal(wave.owners[v], 0);
            assert_true(isfinite(wave.distances[v]));
            assert_int_equal(bridges.bridged[v], cells[cell[0] + 40 * (cell[1] + 40 * cell[2])] > 1);
        }
        uint32_t counts[4] = {0};
        for (uint32_t b = 0; b < bridges.count; b++) {
            const uint16_t *from = volume.voxels.cells[bridges.items[b].from];
            const uint16_t *to = volume.voxels.cells[bridges.items[b].to];
            uint8_t shell = cells[from[0] + 40 * (from[1] + 40 * from[2])];
            assert_int_equal(cells[to[0] + 40 * (to[1] + 40 * to[2])], shell - 1);
            counts[shell]++;
        }
        assert_true(counts[1] == 0 && counts[2] > 50 && counts[3] > 50);
        px_bind_wave_free(&wave);
        px_arena_destroy(arena);
        test_end(&test);
    }
}

/* Scattered components, far and near: all are reached over bridges. */
static void test_scattered(void **state) {
    (void)state;
    static const uint32_t size[3] = {SIDE, SIDE, SIDE};
    static const px_bind_segment bone = {{0, 0, 0}, {0, 0, 0}, 0};
    uint8_t cells[SIDE * SIDE * SIDE];
    test_random random = {3};
    for (int round = 0; round < 20; round++) {
        test_context test;
        px_arena *arena = px_arena_create(test_begin(&test, 1));
        px_bind_volume volume;
        px_bind_wave wave;
        px_bind_bridges bridges;
        px_bind_crossings crossings;
        bool seeded;
        random_cells(&random, size, test_random_real(&random, 0.01, 0.3), cells);
        test_volume(&test, arena, size, round % 2 ? boxes : cubes, cells, &volume);
        test_ok(&test, px_bind_wave_make(test.context, &volume, &bone, NULL, &wave));
        wave.floods = round % 3 == 0;
        test_ok(&test, px_bind_wave_start(&wave, 0, 1, 5, &seeded));
        test_ok(&test, px_bind_wave_run(&wave));
        test_ok(&test, px_bind_bridges_make(arena, &wave, &bridges));
        for (uint32_t v = 0; v < volume.voxels.count; v++)
            assert_int_equal(wave.owners[v], 0);
        test_ok(&test, px_bind_crossings_make(arena, &volume, &bridges, &crossings));
        assert_int_equal(crossings.count, 2 * bridges.count);
        for (uint32_t b = 0; b < bridges.count; b++) {
            uint32_t c = px_bind_crossings_from(&crossings, bridges.items[b].to);
            while (crossings.items[c].from == bridges.items[b].to && crossings.items[c].to != bridges.items[b].from)
                c++;
            assert_int_equal(crossings.items[c].to, bridges.items[b].from);
        }
        px_bind_wave_free(&wave);
        px_arena_destroy(arena);
        test_end(&test);
    }
}

/* ---- Graphs ------------------------------------------------------------------------------------------------------ */

/* Σ over edges of weight · (difference)², each edge counted once. */
static double energy(const px_graph *graph, const double *field) {
    double sum = 0;
    for (uint32_t i = 0; i < graph->count; i++)
        for (uint32_t e = graph->firsts[i]; e < graph->firsts[i + 1]; e++)
            sum += 0.5 * graph->weights[e] * (field[i] - field[graph->to[e]]) * (field[i] - field[graph->to[e]]);
    return sum;
}

/* The energy of a linear field is that of the solid: slope² · volume, minus the half cells at both ends. */
static void test_linear_field(void **state) {
    (void)state;
    static const uint32_t size[3] = {32, 16, 16};
    static uint8_t cells[32 * 16 * 16];
    memset(cells, 1, sizeof cells);
    test_context test;
    px_arena *arena = px_arena_create(test_begin(&test, 1));
    px_bind_volume volume;
    px_graph graph;
    px_bind_bridges none = {0};
    test_volume(&test, arena, size, boxes, cells, &volume);
    test_ok(&test, px_graph_of_voxels(arena, &volume, &none, &graph));
    uint16_t(*places)[3] = volume.voxels.cells;
    for (int level = 0; level < 3; level++) {
        double *field = PX_NEW(arena, double, graph.count);
        for (int axis = 0; axis < 3; axis++) {
            double step = boxes[axis] * (1 << level), share = 1 - (double)(1 << level) / size[axis];
            for (uint32_t i = 0; i < graph.count; i++)
                field[i] = places[i][axis] * step;
            double all = 32 * 16 * 16 * boxes[0] * boxes[1] * boxes[2];
            assert_float_equal((float)energy(&graph, field), (float)(all * share), (float)(1e-4 * all));
        }
        px_graph coarse;
        px_graph_groups groups;
        test_ok(&test, px_graph_coarsen(arena, &graph, &places, &coarse, &groups));
        assert_int_equal(coarse.count, graph.count / 8);
        graph = coarse;
    }
    px_arena_destroy(arena);
    test_end(&test);
}

/* Coarse nodes are the connected components of the fine graph within each block. Returns the number of nodes that share
 * their block with others. */
static uint32_t check_nodes(const px_graph *fine, const uint16_t (*cells)[3], const px_graph *coarse,
                            const uint16_t (*places)[3], const uint32_t *groups) {
    uint32_t *pieces = malloc(fine->count * sizeof *pieces), piece_count = 0, block_count = 0;
    bool blocks[SIDE * SIDE * SIDE / 8] = {0};
    for (uint32_t i = 0; i < fine->count; i++)
        pieces[i] = i;
    for (uint32_t i = 0; i < fine->count; i++)
        for (uint32_t e = fine->firsts[i]; e < fine->firsts[i + 1]; e++) {
            uint32_t other = fine->to[e];
            if (cells[i][0] / 2 != cells[other][0] / 2 || cells[i][1] / 2 != cells[other][1] / 2 ||
                cells[i][2] / 2 != cells[other][2] / 2)
                continue;
            px_group_join(pieces, i, other);
            assert_int_equal(groups[i], groups[other]);
        }
    for (uint32_t i = 0; i < fine->count; i++) {
        piece_count += px_group_of(pieces, i) == i;
        for (int c = 0; c < 3; c++)
            assert_int_equal(places[groups[i]][c], cells[i][c] / 2);
        bool *block = &blocks[cells[i][0] / 2 + SIDE / 2 * (cells[i][1] / 2 + SIDE / 2 * (cells[i][2] / 2))];
        block_count += !*block;
        *block = true;
    }
    assert_int_equal(coarse->count, piece_count);
    free(pieces);
    return piece_count - block_count;
}

/* The weight of a coarse edge is half the sum of the fine edges between its nodes; edges are stored from both ends. */
static void check_edges(const px_graph *fine, const px_graph *coarse, const uint32_t *groups) {
    double wanted = 0, total = 0;
    for (uint32_t i = 0; i < fine->count; i++)
        for (uint32_t e = fine->firsts[i]; e < fine->firsts[i + 1]; e++)
            wanted += groups[i] != groups[fine->to[e]] ? 0.5 * fine->weights[e] : 0;
    for (uint32_t i = 0; i < coarse->count; i++)
        for (uint32_t e = coarse->firsts[i]; e < coarse->firsts[i + 1]; e++) {
            uint32_t back = coarse->firsts[coarse->to[e]], end = coarse->firsts[coarse->to[e] + 1];
            while (back < end && coarse->to[back] != i)
                back++;
            assert_true(back < end);
            assert_float_equal(coarse->weights[back], coarse->weights[e], 1e-5f);
            total += coarse->weights[e];
        }
    assert_float_equal((float)total, (float)wanted, (float)(1e-5 * wanted));
}

static void test_coarsen(void **state) {
    (void)state;
    static const uint32_t size[3] = {SIDE, SIDE, SIDE};
    uint8_t cells[SIDE * SIDE * SIDE];
    test_random random = {4};
    uint32_t divided = 0;
    for (int round = 0; round < 10; round++) {
        test_context test;
        px_arena *arena = px_arena_create(test_begin(&test, 1));
        px_bind_volume volume;
        px_bind_bridges none = {0};
        px_graph fine, coarse;
        px_graph_groups groups;
        random_cells(&random, size, test_random_real(&random, 0.1, 0.9), cells);
        test_volume(&test, arena, size, round % 2 ? boxes : cubes, cells, &volume);
        test_ok(&test, px_graph_of_voxels(arena, &volume, &none, &fine));
        uint16_t(*places)[3] = volume.voxels.cells;
        test_ok(&test, px_graph_coarsen(arena, &fine, &places, &coarse, &groups));
        divided += check_nodes(&fine, (const uint16_t(*)[3])volume.voxels.cells, &coarse, (const uint16_t(*)[3])places,
                               groups.of);
        check_edges(&fine, &coarse, groups.of);
        px_arena_destroy(arena);
        test_end(&test);
    }
    assert_true(divided > 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nearest),      cmocka_unit_test(test_places),  cmocka_unit_test(test_wave),
        cmocka_unit_test(test_wave_joint),   cmocka_unit_test(test_nested),  cmocka_unit_test(test_scattered),
        cmocka_unit_test(test_linear_field), cmocka_unit_test(test_coarsen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
