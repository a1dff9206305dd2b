/* Pictures: known triangles on known pixels, depth, colours of every mode, times, sheets, PNG files, failures. */
#include "support.h"
#include "view_models.h"

#include <png.h>

/* ---- Pictures --------------------------------------------------------------------------------------------- */

/* A square seen frontally fills exactly the part of the picture inside the camera's margin. */
static void test_square_covers_known_pixels(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    pelt_model *model = make_squares(context, -0.1f);
    pelt_picture_desc desc = plain_desc();
    image out;
    render(context, model, &desc, out);
    double half = 0.88 * SIDE / 2; /* the margin of camera.c */
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            double away = fmax(fabs(x + 0.5 - SIDE / 2), fabs(y + 0.5 - SIDE / 2));
            if (away < half - 1)
                assert_int_equal(out[y][x][3], 255);
            if (away > half + 1)
                assert_int_equal(out[y][x][3], 0);
        }
    pelt_model_destroy(model);
    test_end(&test);
}

static void test_nearer_part_is_seen(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    pelt_picture_desc desc = plain_desc();
    desc.mode = PELT_PICTURE_PARTS;
    px_color big = px_color_category(0), small = px_color_category(1);
    image out;
    for (int before = 0; before < 2; before++) {
        pelt_model *model = make_squares(context, before ? 0.3f : -0.3f);
        render(context, model, &desc, out);
        assert_looks(out[SIDE / 2][SIDE / 2], before ? small : big, before ? big : small);
        assert_looks(out[SIDE / 2][SIDE / 2 + 22], big, small);
        pelt_model_destroy(model);
        model = make_squares(context, before ? 0.3f : -0.3f);
        desc.yaw = 180; /* from behind it is the other way round */
        render(context, model, &desc, out);
        assert_looks(out[SIDE / 2][SIDE / 2], before ? big : small, before ? small : big);
        desc.yaw = 0;
        pelt_model_destroy(model);
    }
    test_end(&test);
}

static void test_modes_draw_their_colors(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    pelt_model *model = make_rig(context);
    pelt_picture_desc desc = plain_desc();
    desc.skeleton = PELT_PICTURE_SKELETON_OFF;
    desc.fit_pose = true;
    image out;
    desc.mode = PELT_PICTURE_BONES;
    render(context, model, &desc, out);
    px_color left = px_color_category(0), right = px_color_mix(px_color_category(0), px_color_category(1), 0.75f);
    assert_looks(out[SIDE / 2][SIDE / 4], left, right);
    assert_looks(out[SIDE / 2][3 * SIDE / 4], right, left);
    desc.mode = PELT_PICTURE_WEIGHTS;
    desc.joint = "right";
    render(context, model, &desc, out);
    assert_looks(out[SIDE / 2][SIDE / 4], px_color_heat(0), px_color_heat(0.75f));
    assert_looks(out[SIDE / 2][3 * SIDE / 4], px_color_heat(0.75f), px_color_heat(0));
    desc.joint = "0";
    render(context, model, &desc, out);
    assert_looks(out[SIDE / 2][SIDE / 4], px_color_heat(1), px_color_heat(0.25f));
    desc.mode = PELT_PICTURE_INFLUENCES;
    render(context, model, &desc, out);
    assert_looks(out[SIDE / 2][SIDE / 4], px_color_count(0), px_color_count(1));
    assert_true(out[SIDE / 2][SIDE / 4][0] > out[SIDE / 2][3 * SIDE / 4][0] + 8);
    pelt_model_destroy(model);
    test_end(&test);
}

/* Rows from the top that the right square covers. */
static int top_of_right(image out) {
    for (int y = 0; y < SIDE; y++)
        if (out[y][3 * SIDE / 4][3] > 128)
            return y;
    return SIDE;
}

static void test_moments_differ(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    pelt_model *model = make_rig(context);
    pelt_picture_desc desc = plain_desc();
    image first, half, last, other;
    render(context, model, &desc, first);
    desc.frame = 15;
    render(context, model, &desc, half);
    desc.time = 1;
    render(context, model, &desc, last);
    assert_true(top_of_right(first) > top_of_right(half));
    assert_true(top_of_right(half) > top_of_right(last));
    desc.time = 0.5; /* the same time, specified in another way */
    render(context, model, &desc, other);
    assert_memory_equal(half, other, sizeof half);
    desc.motion = "rise";
    render(context, model, &desc, other);
    assert_memory_equal(half, other, sizeof half);
    pelt_model_destroy(model);
    test_end(&test);
}

static void test_clip_frames(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    pelt_model *model = make_squares(context, 0.1f);
    float frames[2][24], times[2] = {3, 4}; /* clips need not start at 0 */
    memcpy(frames[0], model->mesh.positions, sizeof frames[0]);
    for (int e = 0; e < 24; e++)
        frames[1][e] = e % 3 == 0 ? frames[0][e] / 2 : frames[0][e];
    pelt_clip clip = {.name = "thin", .frame_count = 2, .point_count = 8, .times = times, .positions = frames[0]};
    model->clips = &clip;
    model->clip_count = 1;
    pelt_picture_desc desc = plain_desc();
    image wide, thin;
    render(context, model, &desc, wide);
    desc.frame = 1;
    render(context, model, &desc, thin);
    assert_int_equal(wide[SIDE / 2][SIDE / 2 + 24][3], 255);
    assert_int_equal(thin[SIDE / 2][SIDE / 2 + 24][3], 0);
    assert_int_equal(thin[SIDE / 2][SIDE / 2 + 10][3], 255);
    desc.time = 1;
    image other;
    render(context, model, &desc, other);
    assert_memory_equal(thin, other, sizeof thin);
    desc.time = -1;
    desc.frame = 2;
    assert_int_equal(pelt_picture_render(context, model, &desc, &other[0][0][0]), PELT_ERROR_USAGE);
    assert_non_null(strstr(pelt_error_text(context), "no frame 2"));
    frames[1][0] = NAN; /* caches may hold non-finite values: the triangles of that point are skipped */
    frames[1][4] = INFINITY;
    desc.frame = 1;
    render(context, model, &desc, other);
    assert_int_equal(other[SIDE / 2][SIDE / 2][3], 255);
    pelt_model_destroy(model);
    test_end(&test);
}

static void test_skeleton_and_wireframe_show(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    pelt_model *model = make_rig(context);
    pelt_picture_desc desc = plain_desc();
    desc.fit_pose = true;
    image bare, bones, wires;
    render(context, model, &desc, bare);
    desc.skeleton = PELT_PICTURE_SKELETON_ON;
    render(context, model, &desc, bones);
    assert_int_equal(bare[SIDE / 2][SIDE / 2][3], 0); /* the gap between the squares … */
    assert_true(bones[SIDE / 2][SIDE / 2][3] > 100);  /* … is crossed by the bone */
    assert_memory_equal(bare[2], bones[2], sizeof bare[2]);
    desc.skeleton = PELT_PICTURE_SKELETON_OFF;
    desc.wireframe = true;
    render(context, model, &desc, wires);
    /* the diagonal of the left square passes its centre; a point off it is unaffected */
    assert_true(wires[SIDE / 2][SIDE / 4 + 1][1] + 20 < bare[SIDE / 2][SIDE / 4 + 1][1]);
    assert_int_equal(wires[SIDE / 2][SIDE / 4 + 8][1], bare[SIDE / 2][SIDE / 4 + 8][1]);
    const uint32_t polygons[4] = {0, 0, 1, 1};
    model->mesh.triangle_polygons = keep(context, model, polygons, 4, sizeof polygons[0]);
    model->mesh.polygon_count = 2;
    render(context, model, &desc, wires); /* a diagonal inside a polygon is no edge */
    for (int x = SIDE / 4 - 6; x < SIDE / 4 + 6; x++)
        assert_int_equal(wires[SIDE / 2][x][1], bare[SIDE / 2][x][1]);
    pelt_model_destroy(model);
    test_end(&test);
}

static void test_light_and_shadow(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    pelt_model *model = make_ball(context);
    pelt_picture_desc desc = plain_desc();
    image out, ground;
    desc.pitch = 15;
    render(context, model, &desc, out);
    int light = out[18][24][1], dark = out[48][40][1]; /* towards the key light, and away from it */
    assert_true(light > dark + 40);
    desc.floating = false;
    render(context, model, &desc, ground);
    assert_int_equal(out[58][40][3], 0);
    assert_in_range(ground[58][40][3], 20, 240); /* black with alpha beside the ball */
    assert_int_equal(ground[2][2][3], 0);
    desc.background = PELT_PICTURE_LIGHT;
    render(context, model, &desc, ground);
    assert_in_range(ground[2][2][0], 215, 250);
    assert_int_equal(ground[2][2][3], 255);
    desc.background = PELT_PICTURE_DARK;
    render(context, model, &desc, ground);
    assert_in_range(ground[2][2][0], 10, 80);
    pelt_model_destroy(model);
    test_end(&test);
}

/* A small square in front of a fine grid casts its shadow to the lower right, away from the key light. */
static void test_shadow_on_the_surface(void **state) {
    (void)state;
    enum { SIDES = 33, GRID = SIDES * SIDES, TRIANGLES = (SIDES - 1) * (SIDES - 1) * 2 };
    static float positions[(GRID + 4) * 3];
    static uint32_t triangles[(TRIANGLES + 2) * 3];
    uint32_t used = 0;
    for (uint32_t i = 0; i < GRID; i++) {
        positions[3 * i] = (float)(i % SIDES) / 16 - 1;
        positions[3 * i + 1] = (float)(i / SIDES) / 16 - 1;
        if (i % SIDES == 0 || i < SIDES)
            continue;
        const uint32_t quad[6] = {i, i - 1, i - SIDES - 1, i, i - SIDES - 1, i - SIDES};
        memcpy(triangles + used, quad, sizeof quad);
        used += 6;
    }
    const float small[12] = {-0.3f, -0.3f, 0.3f, 0.3f, -0.3f, 0.3f, 0.3f, 0.3f, 0.3f, -0.3f, 0.3f, 0.3f};
    const uint32_t quad[6] = {GRID, GRID + 1, GRID + 2, GRID, GRID + 2, GRID + 3};
    memcpy(positions + 3 * GRID, small, sizeof small);
    memcpy(triangles + used, quad, sizeof quad);
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    pelt_model *model = make_mesh(context, positions, GRID + 4, triangles, TRIANGLES + 2);
    pelt_picture_desc desc = plain_desc();
    image with, without;
    render(context, model, &desc, with);
    model->mesh.triangle_count -= 2; /* the same vertices, so the same view */
    render(context, model, &desc, without);
    assert_true(with[47][39][1] + 30 < without[47][39][1]);
    assert_in_range(with[17][17][1] + 4, without[17][17][1], without[17][17][1] + 8);
    pelt_model_destroy(model);
    test_end(&test);
}

static void test_same_for_any_threads(void **state) {
    (void)state;
    image pictures[3];
    const uint32_t threads[3] = {1, 2, 7};
    for (int t = 0; t < 3; t++) {
        test_context test;
        pelt_context *context = test_begin(&test, threads[t]);
        pelt_model *model = make_ball(context);
        pelt_picture_desc desc = pelt_picture_desc_default();
        desc.width = desc.height = SIDE;
        desc.wireframe = true;
        render(context, model, &desc, pictures[t]);
        pelt_model_destroy(model);
        test_end(&test);
    }
    assert_memory_equal(pictures[0], pictures[1], sizeof pictures[0]);
    assert_memory_equal(pictures[0], pictures[2], sizeof pictures[0]);
}

static void test_sheet(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    pelt_model *model = make_rig(context);
    pelt_picture_desc desc = plain_desc(), one = desc;
    desc.columns = desc.rows = 2;
    desc.second_mode = 1 + PELT_PICTURE_BONES;
    desc.skeleton = PELT_PICTURE_SKELETON_OFF;
    image sheet;
    render(context, model, &desc, sheet);
    one.width = one.height = SIDE / 2;
    one.skeleton = PELT_PICTURE_SKELETON_OFF;
    for (int p = 0; p < 4; p++) { /* each cell is the picture of its time and mode */
        uint8_t cell[SIDE / 2][SIDE / 2][4];
        one.time = 0.25 * p;
        one.mode = p < 2 ? PELT_PICTURE_SHADED : PELT_PICTURE_BONES;
        assert_int_equal(pelt_picture_render(context, model, &one, &cell[0][0][0]), PELT_OK);
        for (int y = 0; y < SIDE / 2; y++)
            assert_memory_equal(cell[y], sheet[SIDE / 2 * (p / 2) + y][SIDE / 2 * (p % 2)], sizeof cell[y]);
    }
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Files ------------------------------------------------------------------------------------------------ */

static void read_png(const char *path, image out) {
    png_image png = {.version = PNG_IMAGE_VERSION};
    assert_true(png_image_begin_read_from_file(&png, path));
    assert_int_equal(png.width, SIDE);
    assert_int_equal(png.height, SIDE);
    png.format = PNG_FORMAT_RGBA;
    assert_true(png_image_finish_read(&png, NULL, out, 0, NULL));
}

static void test_png_reads_back(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    pelt_model *model = make_ball(context);
    char path[] = "/tmp/pelt-view-XXXXXX";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    for (uint32_t b = 0; b <= PELT_PICTURE_TRANSPARENT; b++) { /* files without and with alpha */
        pelt_picture_desc desc = plain_desc();
        desc.background = b;
        image drawn, stored;
        render(context, model, &desc, drawn);
        assert_int_equal(pelt_picture_save(context, model, &desc, path), PELT_OK);
        read_png(path, stored);
        for (int p = 0; p < SIDE * SIDE; p++) { /* libpng may drop the colour of fully transparent pixels */
            const uint8_t *d = drawn[p / SIDE][p % SIDE], *s = stored[p / SIDE][p % SIDE];
            assert_int_equal(d[3], s[3]);
            if (d[3] > 0)
                assert_memory_equal(d, s, 4);
        }
    }
    assert_int_equal(pelt_picture_save(context, model, NULL, "/tmp/no such folder/a.png"), PELT_ERROR_OUTPUT);
    assert_non_null(strstr(pelt_error_text(context), "no such folder"));
    unlink(path);
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Failures and edges ----------------------------------------------------------------------------------- */

static void test_degenerate_models(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    const float one[3] = {5, 5, 5}, same[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    const float huge[9] = {-3e38f, -3e38f, 0, 3e38f, -3e38f, 0, 0, 3e38f, 0};
    const float tiny[9] = {0, 0, 0, 1e-38f, 0, 0, 0, 1e-38f, 0}, bad[9] = {NAN, 0, 0, INFINITY, 0, 0, 1, 1, 1};
    const uint32_t triangle[3] = {0, 1, 2}, flat[3] = {0, 0, 0};
    pelt_model *models[] = {make_mesh(context, NULL, 0, NULL, 0),     make_mesh(context, one, 1, NULL, 0),
                            make_mesh(context, one, 1, flat, 1),      make_mesh(context, same, 3, triangle, 1),
                            make_mesh(context, huge, 3, triangle, 1), make_mesh(context, tiny, 3, triangle, 1),
                            make_mesh(context, bad, 3, triangle, 1)};
    for (size_t m = 0; m < PX_COUNT(models); m++) {
        pelt_picture_desc desc = plain_desc();
        image out;
        for (uint32_t mode = 0; mode < PELT_PICTURE_MODE_COUNT; mode++) {
            bool fails = mode != PELT_PICTURE_SHADED && mode != PELT_PICTURE_PARTS && mode != PELT_PICTURE_DISPLACEMENT;
            desc.mode = mode; /* without skin, without source */
            pelt_result result = pelt_picture_render(context, models[m], &desc, &out[0][0][0]);
            assert_int_equal(result, fails ? PELT_ERROR_INPUT : PELT_OK);
            bool solid = m == 4 || m == 5; /* a triangle is drawn, however large */
            assert_int_equal(out[5 * SIDE / 8][3 * SIDE / 8][3], solid && !fails ? 255 : 0);
        }
        pelt_model_destroy(models[m]);
    }
    test_end(&test);
}

static void test_arguments_are_checked(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    pelt_model *model = make_rig(context);
    image out;
    pelt_picture_desc bad[10];
    for (size_t b = 0; b < PX_COUNT(bad); b++)
        bad[b] = plain_desc();
    bad[0].width = 0, bad[0].height = 1;
    bad[1].mode = PELT_PICTURE_MODE_COUNT;
    bad[2].zoom = NAN;
    bad[3].motion = "no such";
    bad[4].time = 1.5;
    bad[5].mode = PELT_PICTURE_WEIGHTS, bad[5].joint = "7";
    bad[6].columns = 65;
    bad[7].samples = 0;
    bad[8].background = 9;
    bad[9].motion = "1";
    for (size_t b = 0; b < PX_COUNT(bad); b++) {
        assert_int_equal(pelt_picture_render(context, model, &bad[b], &out[0][0][0]), PELT_ERROR_USAGE);
        assert_true(strlen(pelt_error_text(context)) > 10);
    }
    pelt_model_destroy(model);
    test_end(&test);
}

typedef struct saving {
    const pelt_model *model; /* of another context without failures */
    const char *path;
} saving;

static pelt_result save_bones(pelt_context *context, void *user) {
    const saving *s = user;
    pelt_picture_desc desc = plain_desc();
    desc.mode = PELT_PICTURE_BONES;
    desc.floating = false;
    desc.width = desc.height = 24;
    pelt_result result = pelt_picture_save(context, s->model, &desc, s->path);
    assert_int_equal(access(s->path, F_OK), result == PELT_OK ? 0 : -1); /* the complete file, or none */
    unlink(s->path);
    return result;
}

static void test_every_allocation_may_fail(void **state) {
    (void)state;
    test_context test;
    char folder[1024], path[1100];
    test_folder(folder);
    snprintf(path, sizeof path, "%s/bones.png", folder);
    pelt_model *model = make_rig(test_begin(&test, 1));
    saving s = {model, path};
    test_fail_each_allocation(2, save_bones, &s);
    rmdir(folder);
    pelt_model_destroy(model);
    test_end(&test);
}

static void test_cancelled(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    pelt_model *model = make_ball(context);
    pelt_picture_desc desc = plain_desc();
    image out;
    for (uint64_t n = 1; n < 60; n += 9) {
        test.asked = 0;
        test.cancel_at = n;
        memset(out, 0x55, sizeof out);
        assert_int_equal(pelt_picture_render(context, model, &desc, &out[0][0][0]), PELT_ERROR_CANCELLED);
        image empty = {{{0}}};
        assert_memory_equal(out, empty, sizeof out);
    }
    pelt_model_destroy(model);
    test_end(&test);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_square_covers_known_pixels),
        cmocka_unit_test(test_nearer_part_is_seen),
        cmocka_unit_test(test_modes_draw_their_colors),
        cmocka_unit_test(test_moments_differ),
        cmocka_unit_test(test_clip_frames),
        cmocka_unit_test(test_skeleton_and_wireframe_show),
        cmocka_unit_test(test_light_and_shadow),
        cmocka_unit_test(test_shadow_on_the_surface),
        cmocka_unit_test(test_same_for_any_threads),
        cmocka_unit_test(test_sheet),
        cmocka_unit_test(test_png_reads_back),
        cmocka_unit_test(test_degenerate_models),
        cmocka_unit_test(test_arguments_are_checked),
        cmocka_unit_test(test_every_allocation_may_fail),
        cmocka_unit_test(test_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
