/* Building blocks of pictures: triangles on known samples, light, and colour maps. */
#include "support.h"
#include "view/view.h"

/* ---- Filling triangles ------------------------------------------------------------------------------------ */

static px_screen_corner corner(double x, double y, float depth) {
    return (px_screen_corner){(int32_t)lround(x * PX_SUBPIXEL), (int32_t)lround(y * PX_SUBPIXEL), depth};
}

static px_tile make_tile(float *depth, uint32_t *ids, int32_t first_row, int32_t row_count) {
    px_tile tile = {.width = 8, .first_row = first_row, .row_count = row_count, .near_depth = depth, .ids = ids};
    px_tile_pattern(&tile, 1);
    for (int p = 0; p < 8 * row_count; p++) {
        depth[p] = 0;
        ids[p] = PELT_NONE;
    }
    return tile;
}

static void test_fill_known_pixels(void **state) {
    (void)state;
    float depth[64];
    uint32_t ids[64];
    px_tile tile = make_tile(depth, ids, 0, 8);
    px_screen_corner a = corner(1, 1, 1), b = corner(6, 1, 1), c = corner(1, 6, 2);
    px_tile_fill(&tile, &a, &b, &c, 7);
    for (int y = 0; y < 8; y++)
        for (int x = 0; x < 8; x++) { /* centres at x + ½: inside when (x − ½) + (y − ½) < 5, on the line at 5 */
            bool inside = x >= 1 && y >= 1 && x + y < 6;
            assert_int_equal(ids[8 * y + x], inside ? 7 : PELT_NONE);
            if (inside)
                assert_float_equal(depth[8 * y + x], 1 + (y + 0.5 - 1) / 5, 1e-6);
        }
}

/* Every sample of a square cut in two belongs to exactly one half, however it is turned. */
static void test_fill_shares_edges(void **state) {
    (void)state;
    test_random random = {5};
    for (int round = 0; round < 200; round++) {
        float depth[64];
        uint32_t ids[64], counts[64] = {0};
        px_screen_corner p[4] = {corner(0, 0, 1), corner(8, 0, 1), corner(8, 8, 1), corner(0, 8, 1)};
        px_screen_corner middle = {(int32_t)test_random_below(&random, 8 * PX_SUBPIXEL),
                                   (int32_t)test_random_below(&random, 8 * PX_SUBPIXEL), 1};
        if (round % 3 == 0) /* on pixel centres, where the tie rule decides */
            middle = corner(test_random_below(&random, 7) + 0.5, test_random_below(&random, 7) + 0.5, 1);
        for (uint32_t t = 0; t < 4; t++) {
            px_tile tile = make_tile(depth, ids, 0, 8);
            px_screen_corner *q = &p[t], *r = &p[(t + 1) % 4];
            px_tile_fill(&tile, &middle, round % 2 ? q : r, round % 2 ? r : q, t);
            for (int s = 0; s < 64; s++)
                counts[s] += ids[s] == t;
        }
        for (int s = 0; s < 64; s++)
            assert_int_equal(counts[s], 1);
    }
}

static void test_fill_bands_agree(void **state) {
    (void)state;
    float whole[64], part[64];
    uint32_t whole_ids[64], part_ids[64];
    px_screen_corner a = corner(-3.3, 1.2, 1), b = corner(9.1, -2.7, 3), c = corner(4.4, 11, 2);
    px_tile tile = make_tile(whole, whole_ids, 0, 8);
    px_tile_fill(&tile, &a, &b, &c, 1);
    for (int32_t row = 0; row < 8; row += 2) {
        tile = make_tile(part + 8 * row, part_ids + 8 * row, row, 2);
        px_tile_fill(&tile, &a, &b, &c, 1);
    }
    assert_memory_equal(whole, part, sizeof whole);
    assert_memory_equal(whole_ids, part_ids, sizeof whole_ids);
    assert_int_equal(whole_ids[8 * 4 + 4], 1);
}

static void test_fill_depth_order(void **state) {
    (void)state;
    for (int order = 0; order < 2; order++) {
        float depth[64], far_depth[64];
        uint32_t ids[64];
        px_tile tile = make_tile(depth, ids, 0, 8);
        for (int s = 0; s < 64; s++)
            far_depth[s] = INFINITY;
        tile.far_depth = far_depth;
        px_screen_corner near_corners[3] = {corner(0, 0, 2), corner(20, 0, 2), corner(0, 20, 2)};
        px_screen_corner far_corners[3] = {corner(0, 0, 1), corner(20, 0, 1), corner(0, 20, 1)};
        const px_screen_corner *sets[2] = {order ? near_corners : far_corners, order ? far_corners : near_corners};
        for (int t = 0; t < 2; t++)
            px_tile_fill(&tile, &sets[t][0], &sets[t][1], &sets[t][2], sets[t] == near_corners ? 1 : 0);
        px_tile_fill(&tile, &near_corners[0], &near_corners[1], &near_corners[2], 9); /* equal depth: first is kept */
        assert_int_equal(ids[0], 1);
        assert_float_equal(depth[0], 2, 0);
        assert_float_equal(far_depth[0], 1, 0);
    }
}

static void test_pattern_has_no_two_on_a_line(void **state) {
    (void)state;
    for (uint32_t side = 1; side <= 4; side++) {
        px_tile tile = {0};
        px_tile_pattern(&tile, side);
        assert_int_equal(tile.sample_count, side * side);
        for (int a = 0; a < tile.sample_count; a++) {
            assert_in_range(tile.sample_x[a], 1, PX_SUBPIXEL - 1);
            assert_in_range(tile.sample_y[a], 1, PX_SUBPIXEL - 1);
            for (int b = 0; b < a; b++) {
                assert_int_not_equal(tile.sample_x[a], tile.sample_x[b]);
                assert_int_not_equal(tile.sample_y[a], tile.sample_y[b]);
            }
        }
    }
}

/* ---- Light --------------------------------------------------------------------------------------------------- */

/* A roof over the centre of a floor: the centre sees less of the sky and of the light above; the rim sees all of it,
 * and so does the roof. From below, the roof sees little. */
static void test_light_under_a_roof(void **state) {
    (void)state;
    enum { SIDES = 9, FLOOR = SIDES * SIDES };
    float positions[(FLOOR + 4) * 3], normals[(FLOOR + 4) * 3] = {0}, light[FLOOR + 4][3];
    uint32_t triangles[((SIDES - 1) * (SIDES - 1) * 2 + 2) * 3], used = 0;
    for (uint32_t i = 0; i < FLOOR; i++) {
        float *p = positions + 3 * i;
        p[0] = (float)(i % SIDES) / 4 - 1, p[1] = 0, p[2] = (float)(i / SIDES) / 4 - 1;
        if (i % SIDES == 0 || i < SIDES)
            continue;
        const uint32_t quad[6] = {i, i - 1, i - SIDES - 1, i, i - SIDES - 1, i - SIDES};
        memcpy(triangles + used, quad, sizeof quad);
        used += 6;
    }
    const float roof[12] = {-0.4f, 0.3f, -0.4f, -0.4f, 0.3f, 0.4f, 0.4f, 0.3f, 0.4f, 0.4f, 0.3f, -0.4f};
    const uint32_t quad[6] = {FLOOR, FLOOR + 1, FLOOR + 2, FLOOR, FLOOR + 2, FLOOR + 3};
    memcpy(positions + 3 * FLOOR, roof, sizeof roof);
    memcpy(triangles + used, quad, sizeof quad);
    used += 6;
    for (uint32_t i = 0; i < FLOOR + 4; i++)
        normals[3 * i + 1] = 1;
    px_scene scene = {.vertex_count = FLOOR + 4,
                      .triangle_count = used / 3,
                      .triangles = triangles,
                      .positions = positions,
                      .normals = normals,
                      .light = light,
                      .low = {-1, 0, -1},
                      .high = {1, 0.3f, 1}};
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    px_arena *arena = px_arena_create(context);
    px_ground ground = {.height = -0.2f};
    assert_int_equal(px_light_scene(arena, &scene, (const float[3]){0, 1, 0}, &ground), PELT_OK);
    const float *middle = light[FLOOR / 2], *rim = light[0], *top = light[FLOOR];
    assert_true(middle[0] < 0.5f && rim[0] > 0.9f && top[0] > 0.95f);
    assert_float_equal(middle[2], 0, 1e-6);
    assert_true(rim[2] > 0.9f && top[2] > 0.95f);
    assert_true(top[1] < 0.6f && middle[1] > 0.95f); /* the other sides: the roof faces the floor */
    const float *under = ground.light[PX_GROUND_SIDE * (PX_GROUND_SIDE + 1) / 2], *far_off = ground.light[0];
    assert_true(under[0] < 0.2f && under[1] < 0.05f && far_off[0] > 0.9f);
    assert_float_equal(far_off[1], 1, 1e-6);
    px_arena_destroy(arena);
    test_end(&test);
}

/* ---- Colours -------------------------------------------------------------------------------------------------- */

static void test_color_maps_fall_in_lightness(void **state) {
    (void)state;
    px_color (*const maps[2])(float) = {px_color_heat, px_color_count};
    for (int m = 0; m < 2; m++) {
        double last = 2;
        for (int s = 0; s <= 40; s++) {
            px_color c = maps[m]((float)s / 40);
            double y = 0.2126 * c.r + 0.7152 * c.g + 0.0722 * c.b;
            assert_true(y < last);
            assert_true(c.r <= 1.001f && c.g <= 1.001f && c.b <= 1.001f);
            last = y;
        }
    }
    for (uint32_t a = 0; a < 12; a++) /* adjacent entries of a table of bones differ clearly */
        for (uint32_t b = 0; b < a; b++) {
            px_color p = px_color_category(a), q = px_color_category(b);
            assert_true(fabsf(p.r - q.r) + fabsf(p.g - q.g) + fabsf(p.b - q.b) > 0.12f);
        }
    assert_int_equal(px_color_encode(0.5f), 188);
    assert_int_equal(px_color_encode(px_color_decode(0x336699).r), 0x33);
    assert_int_equal(px_color_encode(px_color_decode(0x336699).b), 0x99);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fill_known_pixels),
        cmocka_unit_test(test_fill_shares_edges),
        cmocka_unit_test(test_fill_bands_agree),
        cmocka_unit_test(test_fill_depth_order),
        cmocka_unit_test(test_pattern_has_no_two_on_a_line),
        cmocka_unit_test(test_light_under_a_roof),
        cmocka_unit_test(test_color_maps_fall_in_lightness),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
