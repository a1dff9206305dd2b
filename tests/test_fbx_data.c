/* FBX on the real rigs: every glTF file is read, written as FBX, read, written as GLB and read again. Poses of five times of every motion,
 * weights, names of joints, their parents, motions and materials must be those of the source. PELT_PRINT=1 prints a line for each rig. */
#include "characters.h"

#include "core/core.h"
#include "io/io.h"
#include <pelt/run.h>

#include <math.h>

#define TIMES       5    /* of a motion */
#define MOST_OFF    1e-4 /* positions, of the size */
#define MOST_WEIGHT 1e-4

/* What came back of one rig. */
typedef struct outcome {
    double position, weight; /* largest differences */
    uint32_t joints, motions, materials;
} outcome;

static pelt_model *convert(test_context *test, const pelt_model *model, const char *name, px_buffer *bytes) {
    pelt_model *again;
    *bytes = (px_buffer){.context = test->context};
    test_ok(test, px_save_memory(test->context, model, name, NULL, bytes));
    test_ok(test, pelt_load_memory(test->context, bytes->data, bytes->size, name, NULL, &again));
    return again;
}

/* ---- Parts -------------------------------------------------------------------------------------------------- */

static bool same_material(const pelt_part *a, const pelt_part *b) {
    return (a->material == NULL) == (b->material == NULL) && (!a->material || strcmp(a->material, b->material) == 0);
}

/* Meshes may get nodes of their own, and so another order: [vertex of a] its vertex in b. */
static uint32_t *match_vertices(const char *path, const pelt_mesh *a, const pelt_mesh *b) {
    uint32_t *map = calloc((size_t)a->vertex_count + 1, sizeof *map);
    bool *taken = calloc((size_t)b->part_count + 1, sizeof *taken);
    for (uint32_t p = 0; p < a->part_count; p++) {
        const pelt_part *part = &a->parts[p];
        uint32_t q = 0;
        while (q < b->part_count &&
               (taken[q] || !same_material(part, &b->parts[q]) || part->vertex_count != b->parts[q].vertex_count ||
                part->triangle_count != b->parts[q].triangle_count))
            q++;
        if (q == b->part_count)
            fail_msg("%s: part %u, '%s' with the material %s, is lost", path, p, part->name,
                     part->material ? part->material : "(none)");
        taken[q] = true;
        for (uint32_t i = 0; i < part->vertex_count; i++)
            map[part->first_vertex + i] = b->parts[q].first_vertex + i;
    }
    free(taken);
    return map;
}

/* ---- Poses -------------------------------------------------------------------------------------------------- */

static float *pose(test_context *test, const pelt_model *model, const pelt_motion *motion, float time) {
    float *out = calloc((size_t)model->mesh.vertex_count + 1, 3 * sizeof *out);
    test_ok(test, pelt_model_pose(test->context, model, motion, time, PELT_SKINNING_LINEAR, out, NULL));
    return out;
}

static double size_of(const float *positions, size_t count) {
    double sum = 0;
    for (size_t c = 0; c < 3; c++) {
        double low = INFINITY, high = -INFINITY;
        for (size_t i = 0; i < count; i++) {
            low = fmin(low, (double)positions[3 * i + c]);
            high = fmax(high, (double)positions[3 * i + c]);
        }
        sum += (high - low) * (high - low);
    }
    return sqrt(sum);
}

static double off(test_context *test, const pelt_model *a, const pelt_model *b, uint32_t m, float time, double size,
                  const uint32_t *map) {
    float *x = pose(test, a, m < a->motion_count ? &a->motions[m] : NULL, time);
    float *y = pose(test, b, m < b->motion_count ? &b->motions[m] : NULL, time);
    double largest = 0;
    for (size_t i = 0; i < a->mesh.vertex_count; i++) {
        const float *p = x + 3 * i, *q = y + (size_t)3 * map[i];
        double d[3] = {(double)p[0] - (double)q[0], (double)p[1] - (double)q[1], (double)p[2] - (double)q[2]};
        largest = fmax(largest, sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]));
    }
    free(x);
    free(y);
    return largest / size;
}

static void compare_poses(test_context *test, const pelt_model *a, const pelt_model *b, const uint32_t *map,
                          outcome *out) {
    float *rest = pose(test, a, NULL, 0);
    double size = size_of(rest, a->mesh.vertex_count);
    uint32_t state = 1;
    free(rest);
    out->position = off(test, a, b, UINT32_MAX, 0, size, map);
    for (uint32_t m = 0; m < a->motion_count; m++)
        for (int k = 0; k < TIMES; k++) {
            const pelt_motion *motion = &a->motions[m];
            state = state * 1664525u + 1013904223u;
            float share = (float)(state >> 8) / (float)(1 << 24);
            out->position = fmax(out->position,
                                 off(test, a, b, m, motion->start + share * (motion->end - motion->start), size, map));
        }
}

/* ---- Names and weights -------------------------------------------------------------------------------------- */

/* The joint that has taken the place of joint j: of its name, below the one that has taken that of its parent; of several the one in
 * the same order. glTF skins with several roots get one above them. */
static uint32_t joint_again(const pelt_model *a, const pelt_model *b, uint32_t j) {
    uint32_t parent = a->skeleton.parents[j];
    uint32_t wanted = parent == PELT_NONE ? PELT_NONE : joint_again(a, b, parent);
    if (parent != PELT_NONE && wanted == PELT_NONE)
        return PELT_NONE;
    uint32_t before = 0;
    for (uint32_t k = 0; k < j; k++)
        before += a->skeleton.parents[k] == parent && strcmp(a->skeleton.names[j], a->skeleton.names[k]) == 0;
    for (uint32_t k = 0; k < b->skeleton.joint_count; k++) {
        uint32_t found = b->skeleton.parents[k];
        if (parent == PELT_NONE && found != PELT_NONE && strcmp(b->skeleton.names[found], "root") == 0)
            found = b->skeleton.parents[found];
        if (found == wanted && strcmp(a->skeleton.names[j], b->skeleton.names[k]) == 0 && before-- == 0)
            return k;
    }
    return PELT_NONE;
}

static void compare_joints(const char *path, const pelt_model *a, const pelt_model *b, outcome *out) {
    for (uint32_t j = 0; j < a->skeleton.joint_count; j++)
        if (joint_again(a, b, j) == PELT_NONE)
            fail_msg("%s: joint '%s' is lost, or has another parent", path, a->skeleton.names[j]);
    out->joints = a->skeleton.joint_count;
}

static double weight_of(const pelt_skin *skin, uint32_t vertex, uint32_t joint) {
    double sum = 0;
    for (uint32_t k = 0; k < skin->influence_count; k++) {
        size_t at = (size_t)vertex * skin->influence_count + k;
        if (skin->weights[at] > 0 && skin->bone_joints[skin->bones[at]] == joint)
            sum += (double)skin->weights[at];
    }
    return sum;
}

/* Of skinned parts: rigid ones may follow a node of their own. */
static void compare_weights(const pelt_model *a, const pelt_model *b, const uint32_t *map, outcome *out) {
    for (uint32_t p = 0; p < a->mesh.part_count; p++)
        for (uint32_t i = 0; a->mesh.parts[p].skinned && i < a->mesh.parts[p].vertex_count; i++)
            for (uint32_t k = 0; k < a->skin.influence_count; k++) {
                uint32_t vertex = a->mesh.parts[p].first_vertex + i;
                size_t at = (size_t)vertex * a->skin.influence_count + k;
                if (a->skin.weights[at] <= 0)
                    continue;
                uint32_t joint = a->skin.bone_joints[a->skin.bones[at]];
                out->weight = fmax(out->weight, fabs(weight_of(&a->skin, vertex, joint) -
                                                     weight_of(&b->skin, map[vertex], joint_again(a, b, joint))));
            }
}

/* FBX objects have names. */
static const char *named(const char *name) {
    return *name ? name : "unnamed";
}

static void compare_names(const char *path, const pelt_model *a, const pelt_model *b, outcome *out) {
    if (a->motion_count != b->motion_count || a->mesh.part_count != b->mesh.part_count ||
        a->morphs.morph_count != b->morphs.morph_count)
        fail_msg("%s: %u motions, %u parts, %u morph targets come back as %u, %u, %u", path, a->motion_count,
                 a->mesh.part_count, a->morphs.morph_count, b->motion_count, b->mesh.part_count, b->morphs.morph_count);
    for (uint32_t m = 0; m < a->motion_count; m++)
        assert_string_equal(named(a->motions[m].name), b->motions[m].name);
    for (uint32_t m = 0; m < a->morphs.morph_count; m++)
        assert_string_equal(named(a->morphs.morphs[m].name), b->morphs.morphs[m].name);
    for (uint32_t p = 0; p < a->mesh.part_count; p++)
        out->materials += a->mesh.parts[p].material != NULL;
    out->motions = a->motion_count;
}

/* ---- Files -------------------------------------------------------------------------------------------------- */

static uint32_t file_count;

static void check_file(const char *path) {
    test_context test;
    test_begin(&test, 1);
    const char *paths[] = {path};
    pelt_model *model, *fbx, *glb;
    pelt_load_desc desc = pelt_load_desc_default();
    px_buffer bytes[2];
    outcome out = {0};
    desc.join = "none";
    test_ok(&test, pelt_load(test.context, paths, 1, &desc, &model));
    fbx = convert(&test, model, "again.fbx", &bytes[0]);
    glb = convert(&test, fbx, "again.glb", &bytes[1]);
    if (glb->mesh.vertex_count != model->mesh.vertex_count)
        fail_msg("%s: %u vertices come back as %u", path, model->mesh.vertex_count, glb->mesh.vertex_count);
    compare_names(path, model, glb, &out);
    compare_joints(path, model, glb, &out);
    uint32_t *map = match_vertices(path, &model->mesh, &glb->mesh);
    compare_poses(&test, model, glb, map, &out);
    compare_weights(model, glb, map, &out);
    free(map);
    if (getenv("PELT_PRINT"))
        printf("| %s | %.1e | %.1e | %u | %u | %u |\n", path + strlen(path) - px_min_size(strlen(path), 40),
               out.position, out.weight, out.joints, out.motions, out.materials);
    if (!(out.position <= MOST_OFF) || !(out.weight <= MOST_WEIGHT))
        fail_msg("%s: positions are off by %g, weights by %g", path, out.position, out.weight);
    pelt_model_destroy(glb);
    pelt_model_destroy(fbx);
    pelt_model_destroy(model);
    px_buffer_free(&bytes[0]);
    px_buffer_free(&bytes[1]);
    test_end(&test);
    file_count++;
}

static void every_rig_comes_back(void **state) {
    test_each_character(*state, check_file);
    assert_true(file_count > 0);
    printf("%u files\n", file_count);
}

int main(void) {
    char path[1024];
    if (!test_has_data(path, ""))
        return TEST_SKIP;
    const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(every_rig_comes_back, path)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
