/* Draws a skeleton without a surface: each bone becomes a slim octahedron from its joint to the child, each joint a
 * small octahedron, shaded like any mesh. */
#include "view/view.h"

#define CORNERS   24 /* an octahedron with flat-shaded faces: 8 faces, 3 vertices each */
#define THICKNESS 0.12f
#define MIDDLE    0.18f /* position of the largest width along a bone, 0 to 1 */

/* Two unit vectors perpendicular to the unit vector d. */
static void across(const float d[3], float u[3], float v[3]) {
    float axis[3] = {0, 0, 0};
    axis[fabsf(d[0]) < 0.6f ? 0 : 1] = 1;
    px_cross3(d, axis, u);
    float length = sqrtf(px_dot3(u, u));
    for (int c = 0; c < 3; c++)
        u[c] /= length;
    px_cross3(d, u, v);
}

typedef struct builder {
    px_scene *scene;
    uint32_t *triangles;
    uint32_t used; /* octahedra added so far */
} builder;

static void add_face(builder *b, const float *const corners[3], uint32_t first, px_color color) {
    px_scene *scene = b->scene;
    float ab[3], ac[3], n[3];
    px_sub3(corners[1], corners[0], ab);
    px_sub3(corners[2], corners[0], ac);
    px_cross3(ab, ac, n);
    float length = sqrtf(px_dot3(n, n));
    for (uint32_t k = 0; k < 3; k++) {
        size_t i = first + k;
        for (int c = 0; c < 3; c++) {
            scene->positions[3 * i + c] = corners[k][c];
            scene->normals[3 * i + c] = length > 0 ? n[c] / length : c == 2;
        }
        px_scene_color(scene->colors, i, color);
        b->triangles[i] = (uint32_t)i;
    }
}

/* An octahedron between two points. `wide` is the distance of its rim from the axis, `middle` the rim's position along
 * the axis, 0 to 1. */
static void add_octahedron(builder *b, const float from[3], const float to[3], float middle, float wide,
                           px_color color) {
    float d[3], u[3], v[3], rim[4][3];
    px_sub3(to, from, d);
    float length = sqrtf(px_dot3(d, d));
    if (!(length > 0 && isfinite(length)))
        return;
    const float unit[3] = {d[0] / length, d[1] / length, d[2] / length};
    across(unit, u, v);
    for (int r = 0; r < 4; r++)
        for (int c = 0; c < 3; c++)
            rim[r][c] = from[c] + middle * d[c] + wide * (r == 0 ? u[c] : r == 1 ? v[c] : r == 2 ? -u[c] : -v[c]);
    for (uint32_t r = 0; r < 4; r++) {
        const float *this_one = rim[r], *next = rim[(r + 1) % 4];
        uint32_t first = CORNERS * b->used + 6 * r;
        add_face(b, (const float *const[3]){to, this_one, next}, first, color);
        add_face(b, (const float *const[3]){from, next, this_one}, first + 3, color);
    }
    b->used++;
}

/* Mean bone length. Limits the thickness of bones that are far longer than most (from a root to the hips). */
static float typical_length(const px_scene *scene) {
    double sum = 0;
    uint32_t count = 0;
    for (uint32_t j = 0; j < scene->joint_count; j++) {
        uint32_t parent = scene->joint_parents[j];
        float d[3];
        if (parent == PELT_NONE)
            continue;
        px_sub3(scene->joints + (size_t)3 * j, scene->joints + (size_t)3 * parent, d);
        float length = sqrtf(px_dot3(d, d));
        if (length > 0 && isfinite(length)) {
            sum += (double)length;
            count++;
        }
    }
    return count ? (float)(sum / count) : 0.2f;
}

static void add_joint(builder *b, uint32_t joint, float typical, bool colored) {
    const px_scene *scene = b->scene;
    const float *at = scene->joints + (size_t)3 * joint;
    uint32_t parent = scene->joint_parents[joint];
    if (scene->joint_numbers[joint] == PELT_NONE || !px_finite3(at))
        return;
    px_color own = colored ? px_color_category(scene->joint_numbers[joint]) : px_color_decode(0xB9A68F);
    float size = 0.1f * typical;
    const float low[3] = {at[0], at[1] - size, at[2]}, high[3] = {at[0], at[1] + size, at[2]};
    add_octahedron(b, low, high, 0.5f, size, own);
    if (parent == PELT_NONE)
        return;
    const float *from = scene->joints + (size_t)3 * parent;
    float d[3];
    px_sub3(at, from, d);
    float wide = THICKNESS * px_fminf(sqrtf(px_dot3(d, d)) + 0.2f * typical, 1.6f * typical);
    own = colored ? px_color_category(scene->joint_numbers[parent]) : own;
    add_octahedron(b, from, at, MIDDLE, wide, own);
}

pelt_result px_scene_bones(px_arena *arena, pelt_picture_mode mode, px_scene *scene) {
    size_t vertex_count = px_mul_size(2 * CORNERS, scene->joint_count);
    if (vertex_count > UINT32_MAX)
        return px_fail_memory(px_arena_context(arena));
    builder b = {.scene = scene, .triangles = PX_NEW(arena, uint32_t, vertex_count)};
    scene->positions = PX_NEW(arena, float, px_mul_size(3, vertex_count));
    scene->normals = PX_NEW(arena, float, px_mul_size(3, vertex_count));
    scene->colors = PX_NEW(arena, float, px_mul_size(3, vertex_count));
    scene->light = px_arena_alloc(arena, vertex_count, sizeof(float[3]));
    scene->edges = PX_NEW(arena, uint8_t, vertex_count / 3);
    if (!b.triangles || !scene->positions || !scene->normals || !scene->colors || !scene->light || !scene->edges)
        return PELT_ERROR_MEMORY;
    float typical = typical_length(scene);
    for (uint32_t j = 0; j < scene->joint_count; j++)
        add_joint(&b, j, typical, mode == PELT_PICTURE_BONES);
    scene->triangles = b.triangles;
    scene->vertex_count = CORNERS * b.used;
    scene->triangle_count = scene->vertex_count / 3;
    memset(scene->edges, 7, scene->triangle_count);
    px_scene_bounds(scene);
    return PELT_OK;
}
