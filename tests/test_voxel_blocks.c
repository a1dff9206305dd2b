/* Blocks of voxels: their pieces are the connected components of the fine voxels, joined where those touch. */
#include "core/groups.h"
#include "voxel_solids.h"

static soup the_soup; /* large, so not on the stack */

typedef struct blocks {
    px_grid grid; /* of the fine voxels */
    px_voxels fine, voxels;
    uint32_t (*neighbours)[6];
    px_voxel_pieces pieces;
} blocks;

static pelt_result make_blocks(pelt_context *context, px_arena *arena, const soup *s, uint32_t resolution,
                               uint32_t factor, blocks *b) {
    px_voxels runs;
    b->grid = grid_of(s, resolution);
    px_grid coarse = px_grid_of_blocks(&b->grid, factor);
    PX_TRY(make(context, arena, s, &b->grid, PX_VIEWS_ALL, &b->fine));
    PX_TRY(px_voxels_make_painted(context, arena, s->positions[0], s->vertex_count, s->triangles[0], s->triangle_count,
                                  &b->grid, PX_VIEWS_ALL, NULL, 0, true, &runs));
    assert_true(!runs.kinds && !runs.cells && runs.count == b->fine.count && runs.run_count == b->fine.run_count);
    assert_memory_equal(runs.runs, b->fine.runs, (runs.run_count + 1) * sizeof *runs.runs);
    PX_TRY(make(context, arena, s, &coarse, PX_VIEWS_ALL, &b->voxels));
    return px_voxels_split(context, arena, &runs, factor, &b->voxels, &b->neighbours, &b->pieces);
}

/* The block of a fine voxel, or PELT_NONE, and its piece. */
static uint32_t piece_of(const blocks *b, uint32_t voxel, uint32_t *block) {
    uint32_t f = b->pieces.factor, at[3];
    float inside[3];
    for (int c = 0; c < 3; c++) {
        uint32_t cell = b->fine.cells[voxel][c] + f - 1;
        at[c] = cell / f;
        inside[c] = ((float)(cell % f) + 0.5f) / (float)f;
    }
    *block = px_voxel_at(&b->voxels, at[0], at[1], at[2]);
    return *block == PELT_NONE ? PELT_NONE : px_voxel_piece(&b->pieces, *block, inside);
}

static bool linked(const blocks *b, uint32_t from, uint32_t to, uint32_t side) {
    bool found = b->neighbours[from][side] == to;
    for (uint32_t n = 0; n < b->pieces.link_count && !found; n++)
        found = b->pieces.links[n][0] == from && b->pieces.links[n][1] == to;
    return found;
}

/* Faces of fine voxels join pieces, and nothing else does; within a block, pieces are its connected components. */
static void check_blocks(const blocks *b) {
    uint32_t(*next)[6] = malloc(b->fine.count * sizeof *next), *groups = malloc(b->fine.count * sizeof *groups);
    uint32_t *group_of = malloc(b->voxels.count * sizeof *group_of), missing = 0, block, other;
    uint8_t *met = calloc(b->voxels.count, 6);
    test_context test;
    test_begin(&test, 1);
    test_ok(&test, px_voxels_neighbours(test.context, &b->fine, next));
    for (uint32_t v = 0; v < b->fine.count; v++)
        groups[v] = v;
    for (uint32_t v = 0; v < b->fine.count; v++)
        for (uint32_t side = 1; side < 6; side += 2) {
            uint32_t n = next[v][side];
            if (n == PELT_NONE)
                continue;
            uint32_t from = piece_of(b, v, &block), to = piece_of(b, n, &other);
            if (block == PELT_NONE || other == PELT_NONE)
                continue;
            if (block == other) {
                assert_int_equal(from, to);
                px_group_join(groups, v, n);
                continue;
            }
            assert_true(linked(b, from, to, side));
            met[6 * (size_t)from + side] |= b->neighbours[from][side] == to;
        }
    memset(group_of, 0xff, b->voxels.count * sizeof *group_of);
    for (uint32_t v = 0; v < b->fine.count; v++) {
        uint32_t piece = piece_of(b, v, &block), group = px_group_of(groups, v);
        missing += block == PELT_NONE;
        if (block == PELT_NONE)
            continue;
        assert_memory_equal(b->voxels.cells[piece], b->voxels.cells[block], sizeof *b->voxels.cells);
        if (group_of[piece] == PELT_NONE)
            group_of[piece] = group;
        assert_int_equal(group_of[piece], group);
    }
    assert_true(missing * 1000 < b->fine.count); /* rounding differs between the grids */
    for (uint32_t p = 0; p < b->voxels.count; p++)
        for (uint32_t side = 1; side < 6; side += 2) {
            uint32_t n = b->neighbours[p][side];
            if (n == PELT_NONE)
                continue;
            assert_int_equal(b->neighbours[n][side ^ 1], p);
            assert_true(met[6 * (size_t)p + side]);
        }
    free(next);
    free(groups);
    free(group_of);
    free(met);
    test_end(&test);
}

/* Sheets, rings and spheres with gaps smaller than a block, and their bytes for any number of threads. */
static void test_blocks(void **state) {
    (void)state;
    test_random random = {8};
    uint32_t splits = 0, links = 0;
    for (uint32_t factor = 2; factor <= PX_MAX_BLOCK; factor *= 2) {
        soup *s = &the_soup;
        begin(s);
        for (uint32_t n = 0; n < 6; n++)
            add_box(s, (double[3]){-1, 0.08 * n, -1}, (double[3]){0, 0.08 * n + 0.02, 1});
        add_box(s, (double[3]){-0.1, -0.02, -1}, (double[3]){0.1, 0.45, -0.9});
        add_torus(s, 0.5, 0.5, 0, 0.3, 0.1, 24);
        add_sphere(s, 0.5, -0.2, 0.2, 0.28, 20);
        if (factor > 2)
            rotate(s, &random);
        test_context tests[2];
        px_arena *arenas[2];
        blocks b[2];
        for (uint32_t n = 0; n < 2; n++) {
            arenas[n] = px_arena_create(test_begin(&tests[n], n ? 4 : 1));
            test_ok(&tests[n], make_blocks(tests[n].context, arenas[n], s, 120 + factor, factor, &b[n]));
        }
        check_blocks(&b[0]);
        assert_true(b[0].voxels.count == b[1].voxels.count && b[0].pieces.link_count == b[1].pieces.link_count);
        assert_memory_equal(b[0].neighbours, b[1].neighbours, b[0].voxels.count * sizeof *b[0].neighbours);
        assert_memory_equal(b[0].pieces.links, b[1].pieces.links, b[0].pieces.link_count * sizeof *b[0].pieces.links);
        splits += b[0].pieces.split_count;
        links += b[0].pieces.link_count;
        for (uint32_t n = 0; n < 2; n++) {
            px_arena_destroy(arenas[n]);
            test_end(&tests[n]);
        }
    }
    if (!(splits > 1000 && links > 20))
        fail_msg("%u splits, %u links", splits, links);
}

static pelt_result split_once(pelt_context *context, void *user) {
    px_arena *arena = px_arena_create(context);
    blocks b = {0};
    pelt_result result = arena ? make_blocks(context, arena, user, 24, 4, &b) : PELT_ERROR_MEMORY;
    px_arena_destroy(arena);
    return result;
}

static void test_memory_fails(void **state) {
    (void)state;
    begin(&the_soup);
    for (uint32_t n = 0; n < 4; n++)
        add_box(&the_soup, (double[3]){0, 0.1 * n, 0}, (double[3]){1, 0.1 * n + 0.04, 0.5});
    test_fail_each_allocation(1, split_once, &the_soup);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_memory_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
