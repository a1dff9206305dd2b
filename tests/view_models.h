/* Small models for tests of pictures, and checks of pixels. */
#ifndef PELT_TESTS_VIEW_MODELS_H
#define PELT_TESTS_VIEW_MODELS_H

#include "support.h"
#include "view/view.h"

#include <math.h>

static inline void *keep(pelt_context *context, pelt_model *model, const void *data, size_t count, size_t size) {
    void *copy = pelt_model_alloc(context, model, count, size);
    assert_non_null(copy);
    if (data && count > 0)
        memcpy(copy, data, count * size);
    return copy;
}

static inline pelt_model *make_mesh(pelt_context *context, const float *positions, uint32_t vertex_count,
                                    const uint32_t *triangles, uint32_t triangle_count) {
    pelt_model *model;
    assert_int_equal(pelt_model_create(context, &model), PELT_OK);
    pelt_mesh *mesh = &model->mesh;
    mesh->vertex_count = mesh->points.count = vertex_count;
    mesh->triangle_count = mesh->polygon_count = triangle_count;
    mesh->positions = keep(context, model, positions, vertex_count, 3 * sizeof(float));
    mesh->triangles = keep(context, model, triangles, triangle_count, 3 * sizeof(uint32_t));
    return model;
}

/* A square of 2 × 2 in the plane z = depth, facing +z, as vertices 4·s … of a mesh. */
static inline void set_square(float *positions, uint32_t *triangles, uint32_t s, float size, float x, float depth) {
    const float corners[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
    const uint32_t fan[6] = {0, 1, 2, 0, 2, 3};
    for (int c = 0; c < 4; c++) {
        float *p = positions + 3 * (4 * s + (uint32_t)c);
        p[0] = x + size * corners[c][0];
        p[1] = size * corners[c][1];
        p[2] = depth;
    }
    for (int e = 0; e < 6; e++)
        triangles[6 * s + (uint32_t)e] = 4 * s + fan[e];
}

/* A large square and a small one in front of or behind it, as parts 0 and 1. */
static inline pelt_model *make_squares(pelt_context *context, float small_depth) {
    float positions[24];
    uint32_t triangles[12];
    set_square(positions, triangles, 0, 1, 0, 0);
    set_square(positions, triangles, 1, 0.4f, 0, small_depth);
    pelt_model *model = make_mesh(context, positions, 8, triangles, 4);
    const pelt_part parts[2] = {
        {.name = "big", .first_triangle = 0, .triangle_count = 2, .joint = PELT_NONE},
        {.name = "small", .first_triangle = 2, .triangle_count = 2, .joint = PELT_NONE},
    };
    model->mesh.part_count = 2;
    model->mesh.parts = keep(context, model, parts, 2, sizeof parts[0]);
    return model;
}

/* Two squares side by side, each moved by a joint of its own; joint 1 rises by 1 in one second. */
static inline pelt_model *make_rig(pelt_context *context) {
    float positions[24];
    uint32_t triangles[12];
    set_square(positions, triangles, 0, 0.9f, -1, 0);
    set_square(positions, triangles, 1, 0.9f, 1, 0);
    pelt_model *model = make_mesh(context, positions, 8, triangles, 4);
    const char *names[2] = {"left", "right"};
    const uint32_t parents[2] = {PELT_NONE, 0}, bone_joints[2] = {0, 1};
    const pelt_transform rest[2] = {{{-1, 0, 0}, {0, 0, 0, 1}, {1, 1, 1}}, {{2, 0, 0}, {0, 0, 0, 1}, {1, 1, 1}}};
    const pelt_affine inverse_binds[2] = {{{1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0}},
                                          {{1, 0, 0, -1, 0, 1, 0, 0, 0, 0, 1, 0}}};
    const uint16_t bones[16] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0};
    const float weights[16] = {1, 0, 1, 0, 1, 0, 1, 0, 0.75f, 0.25f, 0.75f, 0.25f, 0.75f, 0.25f, 0.75f, 0.25f};
    const float times[2] = {0, 1}, values[6] = {2, 0, 0, 2, 1, 0};
    model->skeleton = (pelt_skeleton){2, keep(context, model, names, 2, sizeof names[0]),
                                      keep(context, model, parents, 2, sizeof parents[0]),
                                      keep(context, model, rest, 2, sizeof rest[0])};
    model->skin = (pelt_skin){.bone_count = 2,
                              .influence_count = 2,
                              .bone_joints = keep(context, model, bone_joints, 2, sizeof bone_joints[0]),
                              .inverse_binds = keep(context, model, inverse_binds, 2, sizeof inverse_binds[0]),
                              .bones = keep(context, model, bones, 16, sizeof bones[0]),
                              .weights = keep(context, model, weights, 16, sizeof weights[0])};
    pelt_track track = {.joint = 1, .path = PELT_PATH_TRANSLATION, .width = 3, .key_count = 2};
    track.times = keep(context, model, times, 2, sizeof times[0]);
    track.values = keep(context, model, values, 6, sizeof values[0]);
    pelt_motion motion = {.name = "rise", .start = 0, .end = 1, .track_count = 1};
    motion.tracks = keep(context, model, &track, 1, sizeof track);
    model->motion_count = 1;
    model->motions = keep(context, model, &motion, 1, sizeof motion);
    assert_int_equal(pelt_model_validate(context, model), PELT_OK);
    return model;
}

/* A bumpy sphere: curved, shaded, partly in its own shadow. */
static inline pelt_model *make_ball(pelt_context *context) {
    enum { RINGS = 12, SIDES = 20 };
    float positions[RINGS * SIDES * 3];
    uint32_t triangles[(RINGS - 1) * SIDES * 6], used = 0;
    for (uint32_t r = 0; r < RINGS; r++)
        for (uint32_t s = 0; s < SIDES; s++) {
            double a = 3.14159 * (r + 0.2) / (RINGS - 0.6), b = 6.28319 * s / SIDES;
            double size = 1 + 0.15 * sin(3 * a) * cos(4 * b);
            float *p = positions + 3 * (r * SIDES + s);
            p[0] = (float)(size * sin(a) * cos(b)), p[1] = (float)(size * cos(a)),
            p[2] = (float)(size * sin(a) * sin(b));
        }
    for (uint32_t r = 0; r + 1 < RINGS; r++)
        for (uint32_t s = 0; s < SIDES; s++) {
            uint32_t a = r * SIDES + s, b = r * SIDES + (s + 1) % SIDES;
            const uint32_t quad[6] = {a, b, b + SIDES, a, b + SIDES, a + SIDES};
            memcpy(triangles + used, quad, sizeof quad);
            used += 6;
        }
    return make_mesh(context, positions, RINGS * SIDES, triangles, used / 3);
}

/* ---- Pixels ------------------------------------------------------------------------------------------------- */

#define SIDE 64

/* From the front, on a transparent background. */
static inline pelt_picture_desc plain_desc(void) {
    pelt_picture_desc desc = pelt_picture_desc_default();
    desc.width = desc.height = SIDE;
    desc.yaw = desc.pitch = 0;
    desc.background = PELT_PICTURE_TRANSPARENT;
    desc.floating = true;
    return desc;
}

typedef uint8_t image[SIDE][SIDE][4];

static inline void render(pelt_context *context, const pelt_model *model, const pelt_picture_desc *desc, image out) {
    memset(out, 0x55, sizeof(image));
    if (pelt_picture_render(context, model, desc, &out[0][0][0]) != PELT_OK)
        fail_msg("%s", pelt_error_text(context));
}

static inline double hue_distance(const uint8_t pixel[4], px_color color) {
    /* light changes brightness much more than the ratios of red, green and blue */
    double p[3] = {pow(pixel[0] / 255.0, 2.2), pow(pixel[1] / 255.0, 2.2), pow(pixel[2] / 255.0, 2.2)};
    double sum = p[0] + p[1] + p[2], total = (double)color.r + color.g + color.b;
    return fabs(p[0] / sum - color.r / total) + fabs(p[1] / sum - color.g / total) + fabs(p[2] / sum - color.b / total);
}

static inline void assert_looks(const uint8_t pixel[4], px_color wanted, px_color other) {
    assert_int_equal(pixel[3], 255);
    assert_true(hue_distance(pixel, wanted) < 0.12);
    assert_true(hue_distance(pixel, other) > 2 * hue_distance(pixel, wanted));
}

#endif
