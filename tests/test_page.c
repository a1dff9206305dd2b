/* HTML pages: data blocks, text that would end an element, wide and narrow frames, failures. */
#include "core/json.h"
#include "support.h"
#include "view/page.h"
#include "view_models.h"

/* ---- Reading a page back ---------------------------------------------------------------------------------- */

typedef struct page_file {
    char folder[1024], path[1100];
    char *text; /* the whole file, 0-terminated */
} page_file;

static void begin_page(page_file *file) {
    test_folder(file->folder);
    snprintf(file->path, sizeof file->path, "%s/page.html", file->folder);
    file->text = NULL;
}

static void read_page(page_file *file) {
    FILE *stream = fopen(file->path, "rb");
    assert_non_null(stream);
    fseek(stream, 0, SEEK_END);
    size_t size = (size_t)ftell(stream);
    rewind(stream);
    file->text = calloc(size + 1, 1);
    assert_int_equal(fread(file->text, 1, size, stream), size);
    fclose(stream);
}

static void end_page(page_file *file) {
    free(file->text);
    unlink(file->path);
    assert_int_equal(rmdir(file->folder), 0); /* no other file remains */
}

/* The content of an element; NULL: there is none. */
static const char *find_block(const page_file *file, const char *name, size_t *size) {
    char start[64];
    snprintf(start, sizeof start, "id=\"pelt-%s\">", name);
    const char *found = strstr(file->text, start);
    if (!found)
        return NULL;
    found += strlen(start);
    *size = strcspn(found, "<");
    return found;
}

static int digit(char c) {
    const char *digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", *at = strchr(digits, c);
    return c && at ? (int)(at - digits) : -1;
}

/* The bytes of a block; freed by the caller. */
static uint8_t *decode_block(const page_file *file, const char *name, size_t *size) {
    size_t length = 0;
    const char *text = find_block(file, name, &length);
    assert_non_null(text);
    assert_int_equal(length % 4, 0);
    uint8_t *bytes = calloc(length / 4 * 3 + 1, 1);
    *size = 0;
    for (size_t c = 0; c < length; c += 4) {
        uint32_t bits = 0;
        for (size_t d = 0; d < 4; d++)
            bits = bits << 6 | (uint32_t)(text[c + d] == '=' ? 0 : digit(text[c + d]));
        size_t have = text[c + 2] == '=' ? 1 : text[c + 3] == '=' ? 2 : 3;
        for (size_t b = 0; b < have; b++)
            bytes[(*size)++] = (uint8_t)(bits >> (16 - 8 * b));
    }
    return bytes;
}

static const px_json *read_data(px_arena *arena, const page_file *file) {
    size_t size = 0;
    const char *text = find_block(file, "data", &size);
    assert_non_null(text);
    px_json *data;
    assert_int_equal(px_json_read(arena, text, size, &data), PELT_OK);
    return data;
}

/* ---- A moving model --------------------------------------------------------------------------------------- */

static const float times[3] = {0, 0.5f, 1};

/* The squares of view_models.h, whose two parts share all 8 vertices, and three frames of them. */
static pelt_model *moving_squares(pelt_context *context, pelt_clip *clip) {
    pelt_model *model = make_squares(context, 0.3f);
    float *positions = keep(context, model, NULL, 3, 24 * sizeof(float));
    for (uint32_t e = 0; e < 72; e++)
        positions[e] = model->mesh.positions[e % 24] + 0.1f * (float)(e / 24);
    *clip = (pelt_clip){.name = "up", .frame_count = 3, .point_count = 8, .times = times, .positions = positions};
    return model;
}

static void test_blocks(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    page_file file;
    begin_page(&file);
    pelt_clip clip;
    pelt_model *model = moving_squares(context, &clip);
    const uint32_t edges[2] = {0, 1};
    pelt_page_desc desc = pelt_page_desc_default();
    desc.title = "two \"squares\"";
    desc.clips = &clip;
    desc.clip_count = 1;
    desc.report = "{\"warnings\": [\"</script><!-- <b>\"], \"error_rms\": 0.1}";
    desc.voxels = (pelt_page_voxels){.centers = model->mesh.positions, .count = 8, .size = 0.25f};
    desc.lattice = (pelt_page_lattice){model->mesh.positions, 8, edges, 1, &clip};
    test_ok(&test, pelt_page_save(context, model, &desc, file.path));
    read_page(&file);

    /* The page is the viewer program with the data inserted, and nothing else. */
    assert_memory_equal(file.text, px_page_head, px_page_head_size);
    assert_memory_equal(file.text + strlen(file.text) - px_page_tail_size, px_page_tail, px_page_tail_size);

    size_t size;
    uint8_t *bytes = decode_block(&file, "model", &size);
    pelt_model *back;
    test_ok(&test, pelt_load_memory(context, bytes, size, "model.glb", NULL, &back));
    assert_int_equal(back->mesh.vertex_count, 16); /* every part stores all vertices */
    pelt_model_destroy(back);
    free(bytes);
    uint32_t *points = (uint32_t *)(void *)decode_block(&file, "points", &size);
    assert_int_equal(size, 16 * sizeof *points);
    for (uint32_t v = 0; v < 16; v++)
        assert_int_equal(points[v], v % 8);
    free(points);
    const struct {
        const char *name;
        const void *data;
        size_t size;
    } blocks[] = {{"clip-0", clip.positions, 288},
                  {"voxels", model->mesh.positions, 96},
                  {"lattice-points", model->mesh.positions, 96},
                  {"lattice-edges", edges, 8},
                  {"lattice-clip-0", clip.positions, 288}};
    for (size_t b = 0; b < PX_COUNT(blocks); b++) {
        bytes = decode_block(&file, blocks[b].name, &size);
        assert_int_equal(size, blocks[b].size);
        assert_memory_equal(bytes, blocks[b].data, size);
        free(bytes);
    }
    end_page(&file);
    pelt_model_destroy(model);
    test_end(&test);
}

static void test_data_and_report(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    page_file file;
    begin_page(&file);
    pelt_clip clip;
    pelt_model *model = moving_squares(context, &clip);
    pelt_page_desc desc = pelt_page_desc_default();
    desc.title = "two \"squares\"";
    desc.clips = &clip;
    desc.clip_count = 1;
    desc.report = "{\"warnings\": [\"</script><!-- <b>\", \"<\"], \"error_rms\": 0.10}";
    test_ok(&test, pelt_page_save(context, model, &desc, file.path));
    read_page(&file);
    px_arena *arena = px_arena_create(context);
    const px_json *data = read_data(arena, &file), *json = px_json_at(px_json_get(data, "clips"), 0);
    assert_string_equal(px_json_string(px_json_get(data, "title"), ""), desc.title);
    assert_string_equal(px_json_string(px_json_get(json, "name"), ""), "up");
    assert_null(px_json_get(json, "motion")); /* the model has no motion */
    assert_int_equal(px_json_uint(px_json_get(json, "points"), 100, 0), 8);
    for (uint32_t k = 0; k < 3; k++)
        assert_true(px_json_double(px_json_at(px_json_get(json, "times"), k), -1) == (double)times[k]);
    pelt_ball ball;
    test_ok(&test, pelt_enclosing_ball(context, clip.positions, 8, &ball));
    assert_true(px_json_double(px_json_get(json, "radius"), 0) == ball.radius);
    const px_json *report = px_json_get(data, "report"), *warnings = px_json_get(report, "warnings");
    assert_string_equal(px_json_string(px_json_at(warnings, 0), ""), "</script><!-- <b>");
    assert_string_equal(px_json_string(px_json_at(warnings, 1), ""), "<");
    assert_string_equal(px_json_get(report, "error_rms")->text, "0.10"); /* original notation */
    px_arena_destroy(arena);
    end_page(&file);
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Many frames ------------------------------------------------------------------------------------------ */

enum { CLOUD = 40000, CLOUD_FRAMES = 71 }; /* 34 MB as floats */

static pelt_result read_cloud(pelt_context *context, const void *user, uint32_t frame, uint32_t first, uint32_t count,
                              float *out) {
    (void)context, (void)user;
    for (uint32_t i = 0; i < count; i++) {
        float x = (float)(first + i) / CLOUD;
        out[3 * i] = 100 + x * (float)(frame + 1);
        out[3 * i + 1] = x * x - 0.5f;
        out[3 * i + 2] = 7; /* zero extent */
    }
    return PELT_OK;
}

static pelt_model *make_cloud(pelt_context *context, pelt_clip *clip) {
    const uint32_t triangle[3] = {0, 1, 2};
    float *positions = calloc(CLOUD, 3 * sizeof(float)), *moments;
    pelt_model *model = make_mesh(context, positions, CLOUD, triangle, 1);
    free(positions);
    moments = keep(context, model, NULL, CLOUD_FRAMES, sizeof(float));
    for (uint32_t k = 0; k < CLOUD_FRAMES; k++)
        moments[k] = (float)k;
    *clip = (pelt_clip){.name = "cloud", .frame_count = CLOUD_FRAMES, .point_count = CLOUD, .times = moments};
    clip->source.read = read_cloud;
    return model;
}

/* Frames as 16-bit numbers are off by at most half a step of their box. */
static void test_narrow_frames(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    page_file file;
    begin_page(&file);
    pelt_clip clip;
    pelt_model *model = make_cloud(context, &clip);
    pelt_page_desc desc = pelt_page_desc_default();
    desc.clips = &clip;
    desc.clip_count = 1;
    test_ok(&test, pelt_page_save(context, model, &desc, file.path));
    read_page(&file);
    px_arena *arena = px_arena_create(context);
    const px_json *json = px_json_at(px_json_get(read_data(arena, &file), "clips"), 0);
    assert_string_equal(px_json_string(px_json_get(json, "format"), ""), "u16");
    size_t size;
    uint8_t *bytes = decode_block(&file, "clip-0", &size);
    assert_int_equal(size, (size_t)6 * CLOUD * CLOUD_FRAMES);
    float *wanted = calloc(CLOUD, 3 * sizeof(float));
    for (uint32_t k = 0; k < CLOUD_FRAMES; k += 35) {
        double box[6];
        for (uint32_t c = 0; c < 6; c++)
            box[c] = px_json_double(px_json_at(px_json_get(json, "boxes"), 6 * k + c), -1);
        read_cloud(context, NULL, k, 0, CLOUD, wanted);
        for (size_t e = 0; e < (size_t)3 * CLOUD; e++) {
            size_t at = 2 * ((size_t)3 * CLOUD * k + e);
            double number = bytes[at] | bytes[at + 1] << 8, got = box[e % 3] + box[3 + e % 3] * number / 65535;
            assert_true(fabs(got - (double)wanted[e]) <= box[3 + e % 3] / 131070 * 1.01);
        }
    }
    free(wanted);
    free(bytes);
    px_arena_destroy(arena);
    end_page(&file);
    pelt_model_destroy(model);
    test_end(&test);
}

static void test_too_many_frames_are_left_out(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    page_file file;
    begin_page(&file);
    pelt_clip clips[2];
    pelt_model *model = moving_squares(context, &clips[1]);
    clips[0] = clips[1];
    clips[0].name = "endless";
    clips[0].frame_count = 100000000;
    pelt_page_desc desc = pelt_page_desc_default();
    desc.clips = clips;
    desc.clip_count = 2;
    test_ok(&test, pelt_page_save(context, model, &desc, file.path));
    assert_non_null(strstr(test.log, "clip 'endless' takes"));
    read_page(&file);
    px_arena *arena = px_arena_create(context);
    const px_json *list = px_json_get(read_data(arena, &file), "clips");
    assert_int_equal(px_json_count(list), 1);
    assert_string_equal(px_json_string(px_json_get(px_json_at(list, 0), "name"), ""), "up");
    px_arena_destroy(arena);
    end_page(&file);
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Failures --------------------------------------------------------------------------------------------- */

static void test_refusals(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    page_file file;
    begin_page(&file);
    pelt_clip clip;
    pelt_model *model = moving_squares(context, &clip);
    pelt_page_desc desc = pelt_page_desc_default();
    desc.report = "{\"error_rms\": ";
    test_fails(&test, pelt_page_save(context, model, &desc, file.path), PELT_ERROR_INPUT, "page: report");
    desc.report = NULL;
    desc.clips = &clip;
    desc.clip_count = 1;
    clip.point_count = 7;
    test_fails(&test, pelt_page_save(context, model, &desc, file.path), PELT_ERROR_USAGE,
               "clip 'up' has 7 points, the model has 8");
    test_fails(&test, pelt_page_save(context, model, NULL, "/nonexistent/page.html"), PELT_ERROR_OUTPUT,
               "/nonexistent/page.html");
    assert_int_equal(access(file.path, F_OK), -1);
    end_page(&file);
    pelt_model_destroy(model);
    test_end(&test);
}

static pelt_result save_once(pelt_context *context, void *user) {
    const page_file *file = user;
    pelt_model *model = NULL;
    const float corners[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    const uint32_t triangle[3] = {0, 1, 2};
    pelt_result result = pelt_model_create(context, &model);
    if (result != PELT_OK)
        return result;
    model->mesh.vertex_count = model->mesh.points.count = 3;
    model->mesh.triangle_count = model->mesh.polygon_count = 1;
    model->mesh.positions = (float *)(uintptr_t)corners;
    model->mesh.triangles = (uint32_t *)(uintptr_t)triangle;
    const float still[18] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0};
    pelt_clip clip = {.name = "still", .frame_count = 2, .point_count = 3, .times = times, .positions = still};
    pelt_page_desc desc = pelt_page_desc_default();
    desc.clips = &clip;
    desc.clip_count = 1;
    desc.report = "{\"warnings\": [\"one\"]}";
    result = pelt_page_save(context, model, &desc, file->path);
    pelt_model_destroy(model);
    return result;
}

static void test_no_memory(void **state) {
    (void)state;
    page_file file;
    begin_page(&file);
    test_fail_each_allocation(1, save_once, &file);
    end_page(&file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks),        cmocka_unit_test(test_data_and_report),
        cmocka_unit_test(test_narrow_frames), cmocka_unit_test(test_too_many_frames_are_left_out),
        cmocka_unit_test(test_refusals),      cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
