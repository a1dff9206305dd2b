/* Pictures of distances, their legends, selected frames, and skeletons without a surface. */
#include "support.h"
#include "view_models.h"

/* ---- Distances -------------------------------------------------------------------------------------------- */

#define FRAMES 3

/* The rig's motion as a clip in `owner`; in its last frame the right square is `away` too far to the front. */
static void add_clip(pelt_context *context, pelt_model *owner, const pelt_model *rig, float away) {
    float *times = keep(context, owner, (const float[FRAMES]){0, 0.5f, 1}, FRAMES, sizeof(float));
    float *frames = keep(context, owner, NULL, FRAMES, 24 * sizeof(float));
    for (int k = 0; k < FRAMES; k++)
        assert_int_equal(
            pelt_model_pose(context, rig, rig->motions, times[k], PELT_SKINNING_LINEAR, frames + 24 * k, NULL),
            PELT_OK);
    for (int i = 4; i < 8; i++)
        frames[24 * (FRAMES - 1) + 3 * i + 2] += away;
    pelt_clip clip = {.name = "rise", .frame_count = FRAMES, .point_count = 8, .times = times, .positions = frames};
    owner->clips = keep(context, owner, &clip, 1, sizeof clip);
    owner->clip_count = 1;
}

static pelt_picture_desc error_desc(const pelt_model *source) {
    pelt_picture_desc desc = plain_desc();
    desc.mode = PELT_PICTURE_ERROR;
    desc.source = source;
    desc.frame = FRAMES - 1;
    desc.fit_pose = true;
    return desc;
}

/* Pixel of the right square at the end of the motion, where it is raised. */
static const uint8_t *right_pixel(image out) {
    return out[SIDE / 2 - 6][3 * SIDE / 4];
}

static void test_error_against_a_source(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    pelt_model *rig = make_rig(context), *source = make_squares(context, 0);
    add_clip(context, source, rig, 0.4f);
    pelt_picture_desc desc = error_desc(source);
    pelt_picture_facts facts;
    test_ok(&test, pelt_picture_measure(context, rig, &desc, &facts));
    assert_int_equal(facts.frame_count, FRAMES); /* those of the source, independent of fps */
    assert_float_equal(facts.max, 0.4, 1e-6);
    image out;
    render(context, rig, &desc, out);
    assert_looks(out[SIDE / 2][SIDE / 4], px_color_heat(0), px_color_heat(1));
    assert_looks(right_pixel(out), px_color_heat(1), px_color_heat(0));
    desc.max = 0.8;
    render(context, rig, &desc, out);
    assert_looks(right_pixel(out), px_color_heat(0.5f), px_color_heat(1));
    desc.frame = 1; /* frame 1 of the source is 0.5 s, matched exactly */
    desc.max = 0.01;
    render(context, rig, &desc, out);
    assert_looks(right_pixel(out), px_color_heat(0), px_color_heat(0.4f));
    desc.frame = FRAMES;
    test_fails(&test, pelt_picture_render(context, rig, &desc, &out[0][0][0]), PELT_ERROR_USAGE, "no frame 3");
    pelt_model_destroy(source);
    pelt_model_destroy(rig);
    test_end(&test);
}

/* A rig with a cache is its own source. */
static void test_error_of_one_model(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    pelt_model *rig = make_rig(context), *other = make_squares(context, 0);
    pelt_picture_desc desc = error_desc(NULL);
    image own, with_source;
    test_fails(&test, pelt_picture_render(context, rig, &desc, &own[0][0][0]), PELT_ERROR_INPUT, "needs a source");
    add_clip(context, rig, rig, 0.4f);
    add_clip(context, other, rig, 0.4f);
    render(context, rig, &desc, own);
    assert_looks(right_pixel(own), px_color_heat(1), px_color_heat(0));
    desc.source = other;
    desc.motion = "1"; /* motions are numbered after clips */
    render(context, rig, &desc, with_source);
    assert_memory_equal(own, with_source, sizeof own);
    pelt_model_destroy(other);
    pelt_model_destroy(rig);
    test_end(&test);
}

static void test_displacement(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    pelt_model *rig = make_rig(context);
    pelt_picture_desc desc = plain_desc();
    desc.mode = PELT_PICTURE_DISPLACEMENT;
    desc.time = 1;
    pelt_picture_facts facts;
    test_ok(&test, pelt_picture_measure(context, rig, &desc, &facts));
    assert_int_equal(facts.frame_count, 31);
    assert_float_equal(facts.max, 0.75, 1e-6); /* three quarters of its weight rise by 1 */
    image out;
    desc.fit_pose = true;
    render(context, rig, &desc, out);
    assert_looks(out[SIDE / 2][SIDE / 4], px_color_heat(0), px_color_heat(1));
    assert_looks(right_pixel(out), px_color_heat(1), px_color_heat(0));
    desc.time = 0;
    render(context, rig, &desc, out);
    assert_looks(out[SIDE / 2][3 * SIDE / 4], px_color_heat(0), px_color_heat(1));
    pelt_model_destroy(rig);
    test_end(&test);
}

/* The ball, every vertex bound to joint 1 by a weight that is its height, 0 to 1. */
static pelt_model *make_weighted_ball(pelt_context *context, float *heights) {
    pelt_model *model = make_ball(context);
    uint32_t count = model->mesh.vertex_count;
    const char *names[2] = {"a", "b"};
    const uint32_t parents[2] = {PELT_NONE, 0}, joints[2] = {0, 1};
    const pelt_transform still = px_transform_identity(), rest[2] = {still, still};
    const pelt_affine binds[2] = {px_affine_identity(), px_affine_identity()};
    model->skeleton = (pelt_skeleton){2, keep(context, model, names, 2, sizeof names[0]),
                                      keep(context, model, parents, 2, sizeof parents[0]),
                                      keep(context, model, rest, 2, sizeof rest[0])};
    uint16_t *bones = keep(context, model, NULL, count, 2 * sizeof *bones);
    float *weights = keep(context, model, NULL, count, 2 * sizeof *weights);
    for (uint32_t i = 0; i < count; i++) {
        heights[i] = fminf(fmaxf(0.5f + 0.4f * model->mesh.positions[3 * i + 1], 0), 1);
        bool high = heights[i] >= 0.5f;
        bones[2 * i + (high ? 0 : 1)] = 1;
        weights[2 * i + (high ? 0 : 1)] = heights[i];
        weights[2 * i + (high ? 1 : 0)] = 1 - heights[i];
    }
    model->skin = (pelt_skin){2,
                              2,
                              keep(context, model, joints, 2, sizeof joints[0]),
                              keep(context, model, binds, 2, sizeof binds[0]),
                              bones,
                              weights};
    assert_int_equal(pelt_model_validate(context, model), PELT_OK);
    return model;
}

/* The same picture in two ways: an error that everywhere equals the weight. The source has another vertex order, which
 * its points undo. */
static void test_error_is_drawn_as_the_same_weight(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    float heights[512];
    pelt_model *model = make_weighted_ball(context, heights);
    uint32_t count = model->mesh.vertex_count, *order = malloc((count + 1) * sizeof *order);
    float *positions = malloc(3 * (count + 1) * sizeof *positions);
    for (uint32_t v = 0; v <= count; v++) { /* in reverse order, and the first point twice */
        uint32_t point = order[v] = v < count ? count - 1 - v : 0;
        memcpy(positions + 3 * v, model->mesh.positions + 3 * point, 3 * sizeof *positions);
        positions[3 * v + 2] += 0.25f * heights[point];
    }
    pelt_model *source = make_mesh(context, positions, count + 1, NULL, 0);
    test_ok(&test,
            pelt_model_set_points(context, source, count, keep(context, source, order, count + 1, sizeof *order)));
    pelt_picture_desc desc = plain_desc();
    desc.mode = PELT_PICTURE_WEIGHTS;
    desc.joint = "b";
    desc.skeleton = PELT_PICTURE_SKELETON_OFF;
    image weights, errors;
    render(context, model, &desc, weights);
    desc.mode = PELT_PICTURE_ERROR;
    desc.source = source;
    desc.max = 0.25;
    render(context, model, &desc, errors);
    for (size_t e = 0; e < sizeof errors; e++)
        assert_in_range((&errors[0][0][0])[e] + 1, (&weights[0][0][0])[e], (&weights[0][0][0])[e] + 2);
    free(positions);
    free(order);
    pelt_model_destroy(source);
    pelt_model_destroy(model);
    test_end(&test);
}

/* Colours of morph targets, and of the vertices that a joint's targets displace. */
static void test_morphs_and_supports(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    pelt_model *model = make_rig(context);
    const float moved[12] = {0, 0, 0.2f, 0, 0, 0.2f, 0, 0, 0.2f, 0, 0, 0.2f};
    const uint32_t driven[1] = {1};
    const float coefficients[1] = {0.5f};
    pelt_morph morphs[2] = {{.name = "none", .vertex_count = 0},
                            {.name = "forward",
                             .first_vertex = 4,
                             .vertex_count = 4,
                             .index = 1,
                             .positions = keep(context, model, moved, 12, sizeof *moved)}};
    pelt_driver driver = {.joint = 1, .radius = 1, .morph_count = 1, .morphs = driven, .coefficients = coefficients};
    model->morphs = (pelt_morph_set){2, keep(context, model, morphs, 2, sizeof *morphs)};
    model->driver_count = 1;
    model->drivers = keep(context, model, &driver, 1, sizeof driver);
    pelt_picture_desc desc = plain_desc();
    desc.skeleton = PELT_PICTURE_SKELETON_OFF;
    desc.mode = PELT_PICTURE_MORPH;
    const char *names[] = {"forward", "1"};
    image out;
    for (int n = 0; n < 2; n++) {
        desc.morph = names[n];
        render(context, model, &desc, out); /* z is blue; the other square is grey */
        const uint8_t *left = out[SIDE / 2][SIDE / 4], *right = out[SIDE / 2][3 * SIDE / 4];
        assert_true(abs(left[0] - left[2]) < 12 && right[2] > right[0] + 30 && right[0] > 0);
    }
    desc.morph = "no such";
    test_fails(&test, pelt_picture_render(context, model, &desc, &out[0][0][0]), PELT_ERROR_USAGE, "no morph target");
    desc.mode = PELT_PICTURE_SUPPORT;
    desc.joint = "right";
    render(context, model, &desc, out);
    assert_looks(out[SIDE / 2][3 * SIDE / 4], px_color_heat(0.6f), px_color_clay());
    assert_looks(out[SIDE / 2][SIDE / 4], px_color_clay(), px_color_heat(0.6f));
    desc.joint = "left"; /* drives nothing */
    render(context, model, &desc, out);
    assert_looks(out[SIDE / 2][3 * SIDE / 4], px_color_clay(), px_color_heat(0.6f));
    pelt_model_destroy(model);
    test_end(&test);
}

static void test_sources_that_do_not_fit(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    pelt_model *rig = make_rig(context), *ball = make_ball(context), *squares = make_squares(context, 0);
    pelt_picture_desc desc = error_desc(ball);
    image out;
    desc.rest = true;
    test_fails(&test, pelt_picture_render(context, rig, &desc, &out[0][0][0]), PELT_ERROR_INPUT,
               "has 8 vertices, its source 240");
    desc.source = squares;
    desc.rest = false;
    test_fails(&test, pelt_picture_render(context, rig, &desc, &out[0][0][0]), PELT_ERROR_INPUT, "its source is not");
    add_clip(context, squares, rig, 0);
    squares->clips[0].times = keep(context, squares, (const float[FRAMES]){0, 1, 2}, FRAMES, sizeof(float));
    render(context, rig,
           &(pelt_picture_desc){PELT_DESC_COOKIE, .width = SIDE, .height = SIDE, .mode = PELT_PICTURE_ERROR, .fps = 30,
                                .source = squares, .time = -1, .zoom = 1, .columns = 1, .rows = 1, .samples = 1},
           out);
    assert_non_null(strstr(test.log, "lasts 1 s, its source 2 s"));
    pelt_model_destroy(squares);
    pelt_model_destroy(ball);
    pelt_model_destroy(rig);
    test_end(&test);
}

/* ---- Words and legends ------------------------------------------------------------------------------------ */

static void test_letters(void **state) {
    (void)state;
    enum { WIDTH = 16, HEIGHT = 9 };
    uint8_t pixels[HEIGHT][WIDTH][4] = {{{0}}};
    const px_canvas canvas = {WIDTH, HEIGHT, &pixels[0][0][0]};
    const uint8_t red[3] = {200, 10, 20};
    px_canvas_text(&canvas, 1, 1, 1, red, "L\xc3\xa9");
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            bool l = y >= 1 && y < 8 && (x == 1 || (y == 7 && x >= 1 && x <= 5));
            bool box = y >= 1 && y < 8 && x >= 7 && x <= 11 && (x == 7 || x == 11 || y == 1 || y == 7);
            assert_int_equal(pixels[y][x][3], l || box ? 255 : 0);
            if (l)
                assert_memory_equal(pixels[y][x], red, 3);
        }
    assert_int_equal(px_text_width(""), 0);
    assert_int_equal(px_text_width("L\xc3\xa9"), 11);
    px_canvas_text(&canvas, -40, -40, 9, red, "cut at every side"); /* nothing is written outside the picture */
    px_canvas_text(&canvas, INT32_MAX, INT32_MAX, 1000, red, "far");
    px_canvas_rect(&canvas, 0, 8, 1, 1, (const uint8_t[3]){100, 0, 0}, 0.5f); /* over transparency: its own colour */
    assert_int_equal(pixels[8][0][0] == 100 || pixels[8][0][3] == 255, true);
}

/* Finds the bar: row and column of its first pixel, and its width; all its pixels must be colours of the map. */
static void assert_bar(const uint8_t *pixels, uint32_t width, uint32_t y, px_color (*map)(float), uint32_t from,
                       uint32_t *right) {
    const uint8_t *row = pixels + (size_t)4 * width * y;
    px_color first = map(0.5f / 140), last = map(139.5f / 140);
    const uint8_t wanted[3] = {px_color_encode(first.r), px_color_encode(first.g), px_color_encode(first.b)};
    uint32_t x = from;
    while (x < width && memcmp(row + 4 * x, wanted, 3) != 0)
        x++;
    assert_true(x + 140 <= width);
    for (uint32_t c = 0; c < 140; c++) {
        px_color color = map(((float)c + 0.5f) / 140);
        const uint8_t rgb[3] = {px_color_encode(color.r), px_color_encode(color.g), px_color_encode(color.b)};
        assert_memory_equal(row + 4 * (x + c), rgb, 3);
    }
    assert_true(px_color_encode(last.r) != row[4 * (x + 140)]);
    *right = x + 140;
}

static void test_legends(void **state) {
    (void)state;
    enum { WIDTH = 800, HEIGHT = 200, STRIP = 29 };
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    pelt_model *rig = make_rig(context);
    pelt_picture_desc desc = plain_desc();
    desc.width = WIDTH, desc.height = HEIGHT;
    desc.mode = PELT_PICTURE_DISPLACEMENT;
    desc.second_mode = 1 + PELT_PICTURE_INFLUENCES;
    desc.columns = 2;
    desc.background = PELT_PICTURE_LIGHT;
    assert_int_equal(px_legend_height(&desc), STRIP);
    static uint8_t pixels[HEIGHT * WIDTH * 4], again[HEIGHT * WIDTH * 4];
    test_ok(&test, pelt_picture_render(context, rig, &desc, pixels));
    uint32_t right;
    assert_bar(pixels, WIDTH, HEIGHT - STRIP + 8, px_color_heat, 0, &right);
    /* The number at its end is the largest distance: exactly these dots are ink. */
    memcpy(again, pixels, sizeof pixels);
    const px_canvas canvas = {WIDTH, HEIGHT, again};
    px_canvas_text(&canvas, right - px_text_width("0.75"), HEIGHT - STRIP + 16, 1, (const uint8_t[3]){0x2A, 0x2F, 0x38},
                   "0.75");
    assert_memory_equal(again, pixels, sizeof pixels);
    px_canvas_text(&canvas, right - px_text_width("0.76"), HEIGHT - STRIP + 16, 1, (const uint8_t[3]){0x2A, 0x2F, 0x38},
                   "0.76");
    assert_memory_not_equal(again, pixels, sizeof pixels);
    assert_bar(pixels, WIDTH, HEIGHT - STRIP + 8, px_color_count, right, &right);
    desc.no_legend = true;
    assert_int_equal(px_legend_height(&desc), 0);
    test_ok(&test, pelt_picture_render(context, rig, &desc, again));
    assert_memory_not_equal(again, pixels, sizeof pixels);
    desc.no_legend = false;
    desc.second_mode = 0, desc.mode = PELT_PICTURE_SHADED;
    assert_int_equal(px_legend_height(&desc), 0); /* no legend needed */
    pelt_model_destroy(rig);
    test_end(&test);
}

/* The model does not overlap the bar. */
static void test_legend_has_its_place(void **state) {
    (void)state;
    enum { WIDTH = 400, HEIGHT = 200, STRIP = 29 };
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    pelt_model *model = make_squares(context, -0.1f);
    pelt_picture_desc desc = plain_desc();
    desc.width = WIDTH, desc.height = HEIGHT;
    desc.mode = PELT_PICTURE_DISPLACEMENT;
    static uint8_t pixels[HEIGHT][WIDTH][4];
    test_ok(&test, pelt_picture_render(context, model, &desc, &pixels[0][0][0]));
    int bottom = (int)((HEIGHT - STRIP) * (0.5 + 0.88 / 2)); /* the margin of camera.c */
    assert_int_equal(pixels[bottom - 2][WIDTH / 2][3], 255);
    for (int y = bottom + 2; y < HEIGHT - STRIP; y++)
        assert_int_equal(pixels[y][WIDTH / 2][3], 0);
    pelt_model_destroy(model);
    test_end(&test);
}

/* Names of any length and script, on any background, in the smallest picture that has a legend. */
static void test_legend_of_a_long_name(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    pelt_model *rig = make_rig(context);
    rig->skeleton.names[1] = "лопатка_левая_подкрученная_дополнительная_и_ещё_одна_очень_длинная_кость_для_проверки";
    pelt_picture_desc desc = plain_desc();
    desc.mode = PELT_PICTURE_WEIGHTS;
    desc.joint = "1";
    uint8_t *pixels = NULL;
    for (desc.width = 100; desc.width < 300; desc.width += 38)
        for (desc.height = 100; desc.height < 150; desc.height += 16) {
            pixels = realloc(pixels, (size_t)4 * desc.width * desc.height);
            test_ok(&test, pelt_picture_render(context, rig, &desc, pixels));
            bool legend = px_legend_height(&desc) > 0;
            assert_int_equal(legend, desc.width >= 138 && desc.height >= 116);
            assert_int_equal(pixels[(size_t)4 * desc.width * (desc.height - 1) + 3] > 200, legend);
        }
    free(pixels);
    pelt_model_destroy(rig);
    test_end(&test);
}

/* ---- Chosen frames ---------------------------------------------------------------------------------------- */

static void test_sheet_of_frames(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    pelt_model *rig = make_rig(context);
    pelt_picture_desc desc = plain_desc(), one = plain_desc();
    desc.columns = desc.rows = 2;
    desc.frame = 3;
    desc.frame_step = 13;
    image sheet, labelled;
    render(context, rig, &desc, sheet);
    one.width = one.height = SIDE / 2;
    for (uint32_t p = 0; p < 4; p++) {
        uint8_t cell[SIDE / 2][SIDE / 2][4] = {{{0}}};
        one.frame = 3 + 13 * p;
        if (p < 3) /* there are 31 frames: the last cell is empty */
            test_ok(&test, pelt_picture_render(context, rig, &one, &cell[0][0][0]));
        for (uint32_t y = 0; y < SIDE / 2; y++)
            assert_memory_equal(cell[y], sheet[SIDE / 2 * (p / 2) + y][SIDE / 2 * (p % 2)], sizeof cell[y]);
    }
    desc.labels = true;
    render(context, rig, &desc, labelled);
    const px_canvas canvas = {SIDE, SIDE, &sheet[0][0][0]};
    px_label_draw(&desc, &canvas, 0, 0, "3");
    px_label_draw(&desc, &canvas, SIDE / 2, 0, "16");
    px_label_draw(&desc, &canvas, 0, SIDE / 2, "29");
    assert_memory_equal(sheet, labelled, sizeof sheet);
    desc.frame_count = 4;
    test_fails(&test, pelt_picture_render(context, rig, &desc, &sheet[0][0][0]), PELT_ERROR_USAGE, "no frame 42");
    desc.frame_step = 0; /* times between frames are labelled with the time */
    desc.frame = 0;
    render(context, rig, &desc, labelled);
    desc.labels = false;
    render(context, rig, &desc, sheet);
    px_label_draw(&desc, &canvas, 0, 0, "0.00 s");
    px_label_draw(&desc, &canvas, SIDE / 2, 0, "0.25 s");
    px_label_draw(&desc, &canvas, 0, SIDE / 2, "0.50 s");
    px_label_draw(&desc, &canvas, SIDE / 2, SIDE / 2, "0.75 s");
    assert_memory_equal(sheet, labelled, sizeof sheet);
    pelt_model_destroy(rig);
    test_end(&test);
}

/* ---- Skeletons -------------------------------------------------------------------------------------------- */

/* The rig's joints alone. */
static pelt_model *make_skeleton(pelt_context *context) {
    pelt_model *model = make_rig(context);
    model->mesh = (pelt_mesh){0};
    model->skin = (pelt_skin){0};
    assert_int_equal(pelt_model_validate(context, model), PELT_OK);
    return model;
}

static void test_skeleton_without_surface(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    pelt_model *model = make_skeleton(context);
    pelt_picture_desc desc = plain_desc();
    desc.fit_pose = true;
    image out, risen;
    render(context, model, &desc, out); /* a bone from left to right, thickest near its joint */
    for (int x = 6; x < SIDE - 6; x++)
        assert_int_equal(out[SIDE / 2][x][3] > 0, true);
    assert_int_equal(out[SIDE / 2 - 3][SIDE / 4][3], 255);
    assert_int_equal(out[SIDE / 2 - 3][3 * SIDE / 4 + 4][3], 0);
    assert_int_equal(out[SIDE / 2 - 11][SIDE / 4][3], 0);
    desc.mode = PELT_PICTURE_BONES;
    render(context, model, &desc, out);
    assert_looks(out[SIDE / 2 + 2][SIDE / 4], px_color_category(0), px_color_category(1)); /* away from the shine */
    desc.time = 1;
    render(context, model, &desc, risen); /* now it goes up to the right */
    assert_int_equal(risen[SIDE / 2][SIDE / 2][3] > 0, true);
    assert_int_equal(risen[SIDE / 2 + 10][SIDE / 4][3] > 0, true);
    assert_int_equal(risen[SIDE / 2 - 14][SIDE / 4][3], 0);
    const uint32_t others[] = {PELT_PICTURE_WEIGHTS, PELT_PICTURE_PARTS, PELT_PICTURE_ERROR, PELT_PICTURE_DISPLACEMENT};
    for (size_t m = 0; m < PX_COUNT(others); m++) {
        desc.mode = others[m];
        test_fails(&test, pelt_picture_render(context, model, &desc, &out[0][0][0]), PELT_ERROR_INPUT, "no surface");
    }
    desc.mode = PELT_PICTURE_BONES;
    model->skeleton.joint_count = 1;
    model->motion_count = 0;
    desc.time = -1;
    render(context, model, &desc, out); /* a single joint is still drawn */
    assert_int_equal(out[SIDE / 2][SIDE / 2][3], 255);
    model->skeleton.rest[0].translation[0] = INFINITY;
    render(context, model, &desc, out);
    assert_int_equal(out[SIDE / 2][SIDE / 2][3], 0);
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Memory ----------------------------------------------------------------------------------------------- */

typedef struct drawing {
    const pelt_model *models[2]; /* of another context without failures */
    pelt_picture_desc descs[2];
} drawing;

static pelt_result draw_both(pelt_context *context, void *user) {
    const drawing *d = user;
    static uint8_t pixels[24 * 24 * 4];
    pelt_picture_facts facts;
    pelt_result result = pelt_picture_measure(context, d->models[0], &d->descs[0], &facts);
    for (int n = 0; n < 2 && result == PELT_OK; n++)
        result = pelt_picture_render(context, d->models[n], &d->descs[n], pixels);
    return result;
}

static void test_every_allocation_may_fail(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    pelt_model *rig = make_rig(context), *source = make_squares(context, 0), *joints = make_skeleton(context);
    add_clip(context, source, rig, 0.1f);
    uint32_t points[9] = {0, 1, 2, 3, 4, 5, 6, 7, 7}; /* counts differ: matched by points */
    source->mesh.positions = keep(context, source, NULL, 9, 3 * sizeof(float));
    source->mesh.vertex_count = 9;
    test_ok(&test, pelt_model_set_points(context, source, 8, keep(context, source, points, 9, sizeof points[0])));
    drawing d = {{rig, joints}, {error_desc(source), plain_desc()}};
    for (int n = 0; n < 2; n++)
        d.descs[n].width = d.descs[n].height = 24;
    test_fail_each_allocation(2, draw_both, &d);
    pelt_model_destroy(joints);
    pelt_model_destroy(source);
    pelt_model_destroy(rig);
    test_end(&test);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_error_against_a_source),
        cmocka_unit_test(test_error_of_one_model),
        cmocka_unit_test(test_displacement),
        cmocka_unit_test(test_error_is_drawn_as_the_same_weight),
        cmocka_unit_test(test_morphs_and_supports),
        cmocka_unit_test(test_sources_that_do_not_fit),
        cmocka_unit_test(test_letters),
        cmocka_unit_test(test_legends),
        cmocka_unit_test(test_legend_has_its_place),
        cmocka_unit_test(test_legend_of_a_long_name),
        cmocka_unit_test(test_sheet_of_frames),
        cmocka_unit_test(test_skeleton_without_surface),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
