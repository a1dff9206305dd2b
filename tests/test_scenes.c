/* The scenes: valid, reproducible to the byte, of the requested size, moving, and with the documented flaws. */
#include "support.h"

#include "hand.h"
#include "scenes.h"

#include <math.h>

static pelt_model *make_scene(pelt_context *context, const char *name, uint32_t vertices, uint32_t frames,
                              uint64_t seed) {
    const scene *s = scene_find(name);
    assert_non_null(s);
    scene_desc desc = {vertices, frames, seed};
    pelt_model *model = NULL;
    assert_int_equal(s->make(context, &desc, &model), PELT_OK);
    assert_non_null(model);
    return model;
}

/* ---- Every scene ------------------------------------------------------------------------------------------ */

static void check_names(const pelt_model *model) {
    for (uint32_t j = 0; j < model->skeleton.joint_count; j++) {
        assert_true(model->skeleton.names[j][0]);
        for (uint32_t other = 0; other < j; other++)
            assert_string_not_equal(model->skeleton.names[j], model->skeleton.names[other]);
    }
    for (uint32_t p = 0; p < model->mesh.part_count; p++)
        assert_true(model->mesh.parts[p].name[0]);
}

static void check_normals(const pelt_mesh *mesh) {
    for (uint32_t i = 0; i < mesh->vertex_count; i++) {
        const float *n = mesh->normals + 3 * (size_t)i;
        assert_float_equal(n[0] * n[0] + n[1] * n[1] + n[2] * n[2], 1, 1e-5);
    }
}

static void test_scenes_are_valid(void **state) {
    (void)state;
    static const uint32_t sizes[] = {0, 50, 700};
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    for (uint32_t s = 0; scene_at(s); s++)
        for (size_t size = 0; size < sizeof sizes / sizeof sizes[0]; size++)
            for (uint32_t frames = size ? 1 : 0; frames < (test_all() ? 3 : 2); frames += 2) {
                pelt_model *model = make_scene(context, scene_at(s)->name, sizes[size], frames, 7);
                if (pelt_model_validate(context, model) != PELT_OK)
                    fail_msg("%s: %s", scene_at(s)->name, pelt_error_text(context));
                assert_true(model->clip_count + model->motion_count > 0);
                check_names(model);
                check_normals(&model->mesh);
                pelt_model_destroy(model);
            }
    pelt_context_destroy(context);
    assert_int_equal(test.live_size, 0);
}

static void test_unknown_scene(void **state) {
    (void)state;
    assert_null(scene_find("unicorn"));
    assert_null(scene_at(1000));
}

/* ---- The same bytes --------------------------------------------------------------------------------------- */

/* FNV-1a */
static void hash_bytes(uint64_t *hash, const void *data, size_t size) {
    for (size_t b = 0; data && b < size; b++)
        *hash = (*hash ^ ((const uint8_t *)data)[b]) * UINT64_C(0x100000001B3);
}

static void hash_tracks(uint64_t *hash, const pelt_motion *motion) {
    for (uint32_t t = 0; t < motion->track_count; t++) {
        const pelt_track *track = &motion->tracks[t];
        size_t per_key = (size_t)track->width * (track->interpolation == PELT_INTERPOLATION_CUBIC ? 3 : 1);
        hash_bytes(hash, track->times, track->key_count * sizeof(float));
        hash_bytes(hash, track->values, track->key_count * per_key * sizeof(float));
    }
}

static uint64_t hash_model(pelt_context *context, const pelt_model *model) {
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    const pelt_mesh *mesh = &model->mesh;
    size_t n = mesh->vertex_count;
    hash_bytes(&hash, mesh->positions, 12 * n);
    hash_bytes(&hash, mesh->normals, 12 * n);
    hash_bytes(&hash, mesh->uvs, 8 * n);
    hash_bytes(&hash, mesh->points.of, 4 * n);
    hash_bytes(&hash, mesh->triangles, 12 * (size_t)mesh->triangle_count);
    hash_bytes(&hash, model->skeleton.rest, model->skeleton.joint_count * sizeof(pelt_transform));
    hash_bytes(&hash, model->skin.weights, n * model->skin.influence_count * sizeof(float));
    hash_bytes(&hash, model->skin.bones, n * model->skin.influence_count * sizeof(uint16_t));
    for (uint32_t m = 0; m < model->morphs.morph_count; m++)
        hash_bytes(&hash, model->morphs.morphs[m].positions, 12 * n);
    for (uint32_t m = 0; m < model->motion_count; m++)
        hash_tracks(&hash, &model->motions[m]);
    float *points = malloc(12 * n);
    assert_non_null(points);
    for (uint32_t k = 0; model->clip_count && k < model->clips[0].frame_count; k++) {
        assert_int_equal(pelt_clip_read(context, &model->clips[0], k, 0, mesh->points.count, points), PELT_OK);
        hash_bytes(&hash, points, 12 * (size_t)mesh->points.count);
    }
    free(points);
    return hash;
}

static uint64_t hash_scene(uint32_t thread_count, const char *name, uint64_t seed) {
    test_context test;
    pelt_context *context = test_begin(&test, thread_count);
    pelt_model *model = make_scene(context, name, 600, 12, seed);
    uint64_t hash = hash_model(context, model);
    pelt_model_destroy(model);
    pelt_context_destroy(context);
    return hash;
}

static void test_same_bytes(void **state) {
    (void)state;
    for (uint32_t s = 0; scene_at(s); s++) {
        const char *name = scene_at(s)->name;
        uint64_t hash = hash_scene(1, name, 1);
        assert_true(!test_all() || hash == hash_scene(1, name, 1));
        assert_true(hash == hash_scene(2, name, 1));
        if (strcmp(name, "production") != 0) /* its seed only chooses between two paces */
            assert_true(hash != hash_scene(1, name, 2));
    }
}

/* ---- Sizes ------------------------------------------------------------------------------------------------ */

static void test_sizes(void **state) {
    (void)state;
    static const uint32_t sizes[] = {60, 300, 1000, 8000};
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    for (uint32_t s = 0; scene_at(s); s++)
        for (size_t size = 0; size < (test_all() ? 4 : 3); size++) {
            bool detailed = strcmp(scene_at(s)->name, "production") == 0 || strcmp(scene_at(s)->name, "face") == 0;
            if (detailed && sizes[size] < 1000)
                continue; /* its shells or features need more vertices */
            pelt_model *model = make_scene(context, scene_at(s)->name, sizes[size], 2, 0);
            double ratio = (double)model->mesh.vertex_count / sizes[size];
            if (ratio < 0.7 || ratio > 1.3)
                fail_msg("%s: %u vertices instead of %u", scene_at(s)->name, model->mesh.vertex_count, sizes[size]);
            pelt_model_destroy(model);
        }
    pelt_context_destroy(context);
}

static void test_frames(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    for (uint32_t s = 0; scene_at(s); s++) {
        pelt_model *model = make_scene(context, scene_at(s)->name, 200, 47, 0);
        if (model->clip_count)
            assert_int_equal(model->clips[0].frame_count, 47);
        else
            assert_float_equal(model->motions[0].end, 46 / 30.0, 1e-5);
        pelt_model_destroy(model);
    }
    pelt_context_destroy(context);
}

/* ---- Rigs ------------------------------------------------------------------------------------------------- */

static double largest_move(const float *a, const float *b, uint32_t count) {
    double largest = 0;
    for (size_t i = 0; i < count; i++) {
        double sum = 0;
        for (size_t c = 3 * i; c < 3 * i + 3; c++)
            sum += ((double)a[c] - b[c]) * ((double)a[c] - b[c]);
        largest = fmax(largest, sqrt(sum));
    }
    return largest;
}

static void check_weights(const pelt_model *model) {
    uint32_t width = model->skin.influence_count;
    for (size_t i = 0; i < model->mesh.vertex_count; i++) {
        double sum = 0;
        for (uint32_t k = 0; k < width; k++)
            sum += model->skin.weights[i * width + k];
        assert_float_equal(sum, 1, 1e-6);
    }
}

/* Weights must change little along every edge of a fine mesh: no steps. */
static double largest_weight_step(const pelt_model *model) {
    double largest = 0;
    for (size_t e = 0; e < 3 * (size_t)model->mesh.triangle_count; e++) {
        uint32_t a = model->mesh.triangles[e], b = model->mesh.triangles[e % 3 == 2 ? e - 2 : e + 1];
        double difference[64] = {0};
        for (uint32_t k = 0; k < 4; k++) {
            difference[model->skin.bones[4 * (size_t)a + k]] += model->skin.weights[4 * (size_t)a + k];
            difference[model->skin.bones[4 * (size_t)b + k]] -= model->skin.weights[4 * (size_t)b + k];
        }
        for (int j = 0; j < 64; j++)
            largest = fmax(largest, fabs(difference[j]));
    }
    return largest;
}

static void test_rigs_move(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    for (uint32_t s = 0; scene_at(s); s++) {
        pelt_model *model = make_scene(context, scene_at(s)->name, 800, 0, 3);
        uint32_t n = model->mesh.vertex_count;
        float *rest = malloc(12 * (size_t)n), *first = malloc(12 * (size_t)n), *other = malloc(12 * (size_t)n);
        assert_true(rest && first && other);
        if (model->motion_count) {
            const pelt_motion *motion = &model->motions[0];
            check_weights(model);
            assert_int_equal(pelt_model_pose(context, model, NULL, 0, PELT_SKINNING_LINEAR, rest, NULL), PELT_OK);
            assert_true(largest_move(rest, model->mesh.positions, n) < 1e-5);
            assert_int_equal(pelt_model_pose(context, model, motion, 0, PELT_SKINNING_LINEAR, first, NULL), PELT_OK);
            assert_int_equal(pelt_model_pose(context, model, motion, 0.33f, PELT_SKINNING_LINEAR, other, NULL),
                             PELT_OK);
            assert_true(largest_move(first, other, n) > 0.05);
            assert_int_equal(pelt_model_pose(context, model, motion, motion->end, PELT_SKINNING_LINEAR, other, NULL),
                             PELT_OK);
            bool is_loop = strcmp(scene_at(s)->name, "face") != 0; /* which plays a take, as captures are */
            assert_int_equal(largest_move(first, other, n) < 1e-3, is_loop);
        }
        free(rest), free(first), free(other);
        pelt_model_destroy(model);
    }
    pelt_context_destroy(context);
}

static void test_creature_weights_are_smooth(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    pelt_model *coarse = make_scene(context, "creature", 3000, 2, 0);
    pelt_model *fine = make_scene(context, "creature", 30000, 2, 0);
    assert_int_equal(fine->skeleton.joint_count, 29);
    assert_int_equal(fine->skin.influence_count, 4);
    /* Ten times the vertices, edges a third as long: steps must shrink with them. */
    assert_true(largest_weight_step(fine) < 0.5 * largest_weight_step(coarse));
    pelt_model_destroy(coarse);
    pelt_model_destroy(fine);
    pelt_context_destroy(context);
}

/* ---- Clips ------------------------------------------------------------------------------------------------ */

/* The largest |length / rest length - 1| of the cloth's edges in a frame. */
static double largest_stretch(const float *points, uint32_t width, uint32_t height) {
    double largest = 0, step_x = 3.0 / (width - 1), step_y = 2.0 / (height - 1);
    for (size_t i = 0; i < (size_t)width * height; i++)
        for (int down = 0; down < 2; down++) {
            size_t other = down ? i + width : i + 1;
            if (down ? other >= (size_t)width * height : other % width == 0)
                continue;
            double sum = 0;
            for (int c = 0; c < 3; c++)
                sum += pow((double)points[3 * i + c] - points[3 * other + c], 2);
            largest = fmax(largest, sqrt(sum) / (down ? step_y : step_x) - 1);
        }
    return largest;
}

static void check_cloth(pelt_context *context, uint32_t vertices, uint32_t frames, uint64_t seed) {
    pelt_model *model = make_scene(context, "cloth", vertices, frames, seed);
    const pelt_clip *clip = &model->clips[0];
    uint32_t n = model->mesh.points.count, width = 0;
    while (model->mesh.uvs[2 * (width + 1)] > 0)
        width++;
    width++;
    float *first = malloc(12 * (size_t)n), *points = malloc(12 * (size_t)n);
    assert_true(first && points);
    assert_int_equal(pelt_clip_read(context, clip, 0, 0, n, first), PELT_OK);
    assert_memory_equal(first, model->mesh.positions, 12 * (size_t)n);
    double moved = 0;
    for (uint32_t k = 0; k < clip->frame_count; k++) {
        assert_int_equal(pelt_clip_read(context, clip, k, 0, n, points), PELT_OK);
        for (size_t e = 0; e < 3 * (size_t)n; e++)
            assert_true(isfinite(points[e]) && fabsf(points[e]) < 5);
        double stretch = largest_stretch(points, width, n / width);
        if (!(stretch < 0.3))
            fail_msg("cloth of %u, frame %u: stretched by %g", vertices, k, stretch);
        for (size_t i = 0; i < n; i += width) /* the pole */
            assert_memory_equal(points + 3 * i, first + 3 * i, 12);
        moved = fmax(moved, largest_move(points, first, n));
    }
    assert_true(moved > 0.2);
    free(first), free(points);
    pelt_model_destroy(model);
}

static void test_cloth(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    check_cloth(context, 50, 100, 0);
    check_cloth(context, 2400, 120, 1);
    check_cloth(context, 6000, 60, 2);
    pelt_context_destroy(context);
}

/* A huge clip stores only its coarse frames, and any range of it can be read. */
static void test_cloth_is_small(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    pelt_model *model = make_scene(context, "cloth", 200000, 20, 0);
    const pelt_clip *clip = &model->clips[0];
    assert_null(clip->positions);
    assert_in_range(model->mesh.vertex_count, 190000, 210000);
    assert_true(test.live_size < 30 * 1000 * 1000); /* the frames alone would be 48 MB */
    float *all = malloc(12 * (size_t)clip->point_count), part[3 * 700];
    assert_non_null(all);
    assert_int_equal(pelt_clip_read(context, clip, 13, 0, clip->point_count, all), PELT_OK);
    for (uint32_t first = 0; first + 700 <= clip->point_count; first += 33333) {
        assert_int_equal(pelt_clip_read(context, clip, 13, first, 700, part), PELT_OK);
        assert_memory_equal(part, all + 3 * (size_t)first, sizeof part);
    }
    free(all);
    pelt_model_destroy(model);
    pelt_context_destroy(context);
}

static void test_softbody(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    for (uint64_t seed = 0; seed < 3; seed++) {
        pelt_model *model = make_scene(context, "softbody", 1500, 60, seed);
        uint32_t n = model->mesh.points.count;
        assert_true(model->mesh.vertex_count > n); /* a seam */
        float *points = malloc(12 * (size_t)n);
        assert_non_null(points);
        double tall_first = 0, tall_least = 1e9, lowest_first = 0, lowest_after = 0;
        bool landed = false;
        for (uint32_t k = 0; k < 60; k++) {
            double low = 1e9, high = -1e9;
            assert_int_equal(pelt_clip_read(context, &model->clips[0], k, 0, n, points), PELT_OK);
            for (size_t i = 0; i < n; i++) {
                assert_true(isfinite(points[3 * i]) && isfinite(points[3 * i + 1]) && isfinite(points[3 * i + 2]));
                low = fmin(low, points[3 * i + 1]);
                high = fmax(high, points[3 * i + 1]);
            }
            if (k == 0)
                tall_first = high - low, lowest_first = low;
            landed |= low == 0;
            tall_least = fmin(tall_least, high - low);
            if (landed)
                lowest_after = fmax(lowest_after, low);
        }
        assert_true(lowest_first > 1);
        assert_true(landed);
        assert_true(tall_least < 0.8 * tall_first && tall_least > 0.4 * tall_first); /* squash */
        assert_true(lowest_after > 0.2);                                             /* bounce */
        free(points);
        pelt_model_destroy(model);
    }
    pelt_context_destroy(context);
}

/* ---- Topology --------------------------------------------------------------------------------------------- */

typedef struct topology {
    uint32_t boundary, crowded; /* edges with one triangle, with three or more */
    uint32_t edges, shells;
    uint32_t flat, unused; /* triangles without area, vertices without triangle */
    uint32_t twins;        /* vertices that share their place with an earlier one */
} topology;

static int compare_edges(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static uint32_t root_of(uint32_t *parents, uint32_t i) {
    while (parents[i] != i)
        i = parents[i] = parents[parents[i]];
    return i;
}

static void count_edges(uint64_t *edges, size_t count, topology *out) {
    qsort(edges, count, sizeof *edges, compare_edges);
    for (size_t e = 0, next; e < count; e = next) {
        for (next = e; next < count && edges[next] == edges[e]; next++)
            ;
        out->edges++;
        out->boundary += next - e == 1;
        out->crowded += next - e > 2;
    }
}

static bool is_flat(const float *positions, const uint32_t corner[3]) {
    double u[3], v[3];
    for (int c = 0; c < 3; c++) {
        u[c] = (double)positions[3 * (size_t)corner[1] + c] - positions[3 * (size_t)corner[0] + c];
        v[c] = (double)positions[3 * (size_t)corner[2] + c] - positions[3 * (size_t)corner[0] + c];
    }
    double x = u[1] * v[2] - u[2] * v[1], y = u[2] * v[0] - u[0] * v[2], z = u[0] * v[1] - u[1] * v[0];
    return x * x + y * y + z * z < 1e-24;
}

/* Of the welded mesh. */
static topology study(pelt_context *context, pelt_model *model) {
    topology out = {0};
    pelt_mesh *mesh = &model->mesh;
    assert_int_equal(pelt_model_weld(context, model), PELT_OK);
    uint64_t *edges = malloc(sizeof *edges * 3 * mesh->triangle_count);
    uint32_t *parents = malloc(sizeof *parents * mesh->weld.count);
    bool *used = calloc(mesh->weld.count, sizeof *used);
    assert_true(edges && parents && used);
    for (uint32_t i = 0; i < mesh->weld.count; i++)
        parents[i] = i;
    for (size_t t = 0; t < mesh->triangle_count; t++) {
        const uint32_t *corner = mesh->triangles + 3 * t;
        out.flat += is_flat(mesh->positions, corner);
        for (int c = 0; c < 3; c++) {
            uint32_t a = mesh->weld.of[corner[c]], b = mesh->weld.of[corner[(c + 1) % 3]];
            edges[3 * t + c] = (uint64_t)(a < b ? a : b) << 32 | (a < b ? b : a);
            parents[root_of(parents, a)] = root_of(parents, b);
            used[a] = true;
        }
    }
    count_edges(edges, 3 * (size_t)mesh->triangle_count, &out);
    for (uint32_t i = 0; i < mesh->weld.count; i++) {
        out.unused += !used[i];
        out.shells += used[i] && root_of(parents, i) == i;
    }
    out.twins = mesh->vertex_count - mesh->weld.count;
    free(edges), free(parents), free(used);
    return out;
}

static void test_creature_is_closed(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    for (uint64_t seed = 0; seed < 3; seed++) {
        pelt_model *model = make_scene(context, "creature", 4000, 2, seed);
        topology t = study(context, model);
        assert_int_equal(t.boundary, 0);
        assert_int_equal(t.shells, 1);
        assert_int_equal(t.flat, 0);
        assert_int_equal(t.unused, 0);
        assert_true(t.crowded < 10); /* surface nets pinch where two parts are a cell apart */
        assert_true(t.twins > 50);
        pelt_model_destroy(model);
    }
    pelt_context_destroy(context);
}

static const pelt_part *part_named(const pelt_mesh *mesh, const char *name) {
    for (uint32_t p = 0; p < mesh->part_count; p++)
        if (strcmp(mesh->parts[p].name, name) == 0)
            return &mesh->parts[p];
    fail_msg("no part '%s'", name);
    return NULL;
}

/* Whether p is inside a closed part: the parity of crossings of a ray towards +z. */
static bool is_inside(const pelt_mesh *mesh, const pelt_part *part, const float p[3]) {
    bool inside = false;
    for (size_t t = part->first_triangle; t < (size_t)part->first_triangle + part->triangle_count; t++) {
        double x[3], y[3], z[3];
        for (int c = 0; c < 3; c++) {
            const float *q = mesh->positions + 3 * (size_t)mesh->triangles[3 * t + c];
            x[c] = (double)q[0] - p[0], y[c] = (double)q[1] - p[1], z[c] = (double)q[2] - p[2];
        }
        double w0 = x[1] * y[2] - x[2] * y[1], w1 = x[2] * y[0] - x[0] * y[2], w2 = x[0] * y[1] - x[1] * y[0];
        if ((w0 < 0) == (w1 < 0) && (w1 < 0) == (w2 < 0) && w0 + w1 + w2 != 0)
            inside ^= (w0 * z[0] + w1 * z[1] + w2 * z[2]) / (w0 + w1 + w2) > 0;
    }
    return inside;
}

static uint32_t count_inside(const pelt_mesh *mesh, const char *inner, const char *outer) {
    const pelt_part *in = part_named(mesh, inner), *out = part_named(mesh, outer);
    uint32_t count = 0;
    for (uint32_t v = 0; v < in->vertex_count; v++)
        count += is_inside(mesh, out, mesh->positions + 3 * (size_t)(in->first_vertex + v));
    return count;
}

static void test_production_has_its_flaws(void **state) {
    (void)state;
    static const uint32_t sizes[] = {50, 3000, 9000};
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    for (size_t size = 0; size < 3; size++) {
        pelt_model *model = make_scene(context, "production", sizes[size], 2, 0);
        topology t = study(context, model);
        assert_int_equal(t.flat, 1);
        assert_true(t.unused >= 1);
        assert_int_equal(t.shells, 35);
        assert_true(t.boundary > 40);
        assert_true(t.crowded >= 4);
        assert_true(t.twins > 30);
        assert_int_equal(model->skeleton.joint_count, 43);
        const pelt_part *sleeve = part_named(&model->mesh, "sleeve.L");
        uint32_t in_torso = count_inside(&model->mesh, "sleeve.L", "torso");
        assert_true(in_torso > 0 && in_torso < sleeve->vertex_count); /* intersecting */
        assert_true(count_inside(&model->mesh, "fingers.R", "hand.R") > 0);
        assert_int_equal(count_inside(&model->mesh, "buttons", "torso"), 0); /* floating */
        pelt_model_destroy(model);
    }
    pelt_context_destroy(context);
}

/* ---- Poses ------------------------------------------------------------------------------------------------ */

static double volume_of(const pelt_mesh *mesh, const float *positions) {
    double sum = 0;
    for (size_t t = 0; t < mesh->triangle_count; t++) {
        const float *a = positions + 3 * (size_t)mesh->triangles[3 * t];
        const float *b = positions + 3 * (size_t)mesh->triangles[3 * t + 1];
        const float *c = positions + 3 * (size_t)mesh->triangles[3 * t + 2];
        sum += a[0] * ((double)b[1] * c[2] - (double)b[2] * c[1]) + a[1] * ((double)b[2] * c[0] - (double)b[0] * c[2]) +
               a[2] * ((double)b[0] * c[1] - (double)b[1] * c[0]);
    }
    return sum / 6;
}

/* Linear blend skinning of a pose. */
static void skin_pose(const pelt_model *model, const pelt_transform *locals, float *out) {
    pelt_affine globals[32], palette[32];
    assert_true(model->skeleton.joint_count <= 32 && model->skin.bone_count <= 32);
    pelt_skeleton_globals(&model->skeleton, locals, globals);
    pelt_skin_palette(&model->skin, globals, palette);
    pelt_skin_job job = {.vertex_count = model->mesh.vertex_count,
                         .influence_count = model->skin.influence_count,
                         .bones = model->skin.bones,
                         .weights = model->skin.weights,
                         .palette = palette,
                         .positions = model->mesh.positions,
                         .out_positions = out};
    pelt_skin_run(&job);
}

static uint32_t joints_turned(const pelt_model *model, const pelt_transform *locals) {
    uint32_t count = 0;
    for (uint32_t j = 0; j < model->skeleton.joint_count; j++)
        count += memcmp(&locals[j], &model->skeleton.rest[j], sizeof *locals) != 0;
    return count;
}

/* The true shape keeps the volume that linear blending loses, and differs from it. */
static void check_pose(const pelt_model *model, const scene_pose *pose, uint32_t turned) {
    const pelt_mesh *mesh = &model->mesh;
    float *skinned = malloc(12 * (size_t)mesh->vertex_count);
    assert_non_null(skinned);
    skin_pose(model, pose->locals, skinned);
    double rest = volume_of(mesh, mesh->positions), lost = 1 - volume_of(mesh, skinned) / rest;
    double gained = volume_of(mesh, pose->positions) / rest - 1;
    assert_true(rest > 0); /* triangles face outwards */
    assert_int_equal(joints_turned(model, pose->locals), turned);
    assert_true(fabs(gained) < 0.002);
    assert_true(fabs(gained) < 0.5 * lost);
    assert_true(largest_move(skinned, pose->positions, mesh->vertex_count) > 0.005);
    assert_true(largest_move(skinned, pose->positions, mesh->vertex_count) < 0.3); /* less than the limb's thickness */
    free(skinned);
}

static void test_arm_poses(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    pelt_model *model = make_scene(context, "arm", 0, 0, 0);
    scene_desc desc = {0};
    scene_poses poses;
    assert_int_equal(scene_find("arm")->poses(context, &desc, model, &poses), PELT_OK);
    assert_int_equal(poses.seen_count, 18);
    assert_int_equal(poses.unseen_count, 25);
    for (uint32_t k = 0; k < poses.seen_count; k++)
        check_pose(model, &poses.seen[k], 1);
    for (uint32_t k = 0; k < poses.unseen_count; k++)
        check_pose(model, &poses.unseen[k], 3);
    pelt_model_destroy(model);
    pelt_context_destroy(context);
    assert_int_equal(test.live_size, 0);
}

static pelt_result run_poses(pelt_context *context, void *user) {
    (void)user;
    scene_desc desc = {50, 2, 0};
    pelt_model *model;
    scene_poses poses;
    pelt_result result = scene_find("arm")->make(context, &desc, &model);
    if (result == PELT_OK)
        result = scene_find("arm")->poses(context, &desc, model, &poses);
    pelt_model_destroy(model);
    return result;
}

static void test_arm_out_of_memory(void **state) {
    (void)state;
    test_fail_each_allocation(1, run_poses, NULL);
}

/* ---- The hand --------------------------------------------------------------------------------------------- */

#define HAND_HASH  UINT64_C(0xB79116C404B1AC84)
#define HAND_SMALL 1200u /* vertices: 30 training and 7 test poses of coarse tissue */

static void test_hand_poses(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    scene_desc desc = {HAND_SMALL, 2, 0};
    pelt_model *model = make_scene(context, "hand", HAND_SMALL, 2, 0);
    scene_poses poses;
    assert_int_equal(model->skeleton.joint_count, HAND_JOINTS);
    assert_int_equal(scene_find("hand")->poses(context, &desc, model, &poses), PELT_OK);
    assert_int_equal(poses.seen_count, 30);
    assert_int_equal(poses.unseen_count, 7);
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    size_t count = model->mesh.vertex_count;
    float *skinned = malloc(12 * count);
    assert_non_null(skinned);
    for (uint32_t k = 0; k < poses.seen_count + poses.unseen_count; k++) {
        bool seen = k < poses.seen_count;
        const scene_pose *pose = seen ? &poses.seen[k] : &poses.unseen[k - poses.seen_count];
        skin_pose(model, pose->locals, skinned);
        double volume = volume_of(&model->mesh, pose->positions) / volume_of(&model->mesh, model->mesh.positions);
        double moved = largest_move(skinned, pose->positions, (uint32_t)count);
        assert_int_equal(joints_turned(model, pose->locals), seen ? 1 : 16);
        assert_true(fabs(volume - 1) < 0.04);
        assert_true(moved > 0.003 && moved < 0.4);
        hash_bytes(&hash, pose->positions, 12 * count);
    }
    free(skinned);
    if (hash != HAND_HASH) /* the same on every compiler and machine */
        fail_msg("other bytes: 0x%016llX", (unsigned long long)hash);
    pelt_model_destroy(model);
    pelt_context_destroy(context);
    assert_int_equal(test.live_size, 0);
}

/* Unposed tissue is unchanged. */
static void test_hand_at_rest(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    pelt_model *model = make_scene(context, "hand", HAND_SMALL, 2, 0);
    hand_tissue *tissue;
    uint32_t count = model->mesh.vertex_count;
    float *positions = malloc(12 * (size_t)count);
    assert_non_null(positions);
    assert_int_equal(hand_tissue_make(context, model, 0.12, 1e-3, model->mesh.positions, count, &tissue), PELT_OK);
    hand_tissue_solve(tissue, (hand_bend[HAND_JOINTS]){{0, 0}}, positions);
    assert_true(largest_move(model->mesh.positions, positions, count) < 1e-6);
    free(positions);
    pelt_model_destroy(model);
    pelt_context_destroy(context);
}

static void test_hand_out_of_memory(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    scene_desc desc = {HAND_SMALL, 2, 0};
    pelt_model *model = make_scene(context, "hand", HAND_SMALL, 2, 0);
    scene_poses poses;
    for (uint64_t fail_at = 1; fail_at < 24; fail_at += 4) { /* all over the tissue */
        test.fail_at = test.allocations + fail_at;
        assert_int_equal(scene_find("hand")->poses(context, &desc, model, &poses), PELT_ERROR_MEMORY);
    }
    pelt_model_destroy(model);
    pelt_context_destroy(context);
    assert_int_equal(test.live_size, 0);
}

/* ---- Memory ----------------------------------------------------------------------------------------------- */

static void test_out_of_memory(void **state) {
    (void)state;
    for (uint32_t s = 0; scene_at(s); s++) {
        bool done = false;
        for (uint64_t fail_at = 1; !done; fail_at++) {
            test_context test;
            pelt_context *context = test_begin(&test, 1);
            int64_t before = test.live_size;
            pelt_model *model = NULL;
            scene_desc desc = {50, 2, 0};
            test.fail_at = test.allocations + fail_at;
            pelt_result result = scene_at(s)->make(context, &desc, &model);
            done = test.allocations < test.fail_at;
            if (result == PELT_OK) {
                assert_true(done);
                pelt_model_destroy(model);
            } else {
                assert_int_equal(result, PELT_ERROR_MEMORY);
                assert_null(model);
                assert_true(pelt_error_text(context)[0]);
            }
            assert_int_equal(test.live_size, before);
            pelt_context_destroy(context);
            assert_int_equal(test.live_size, 0);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scenes_are_valid),
        cmocka_unit_test(test_unknown_scene),
        cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_frames),
        cmocka_unit_test(test_rigs_move),
        cmocka_unit_test(test_creature_weights_are_smooth),
        cmocka_unit_test(test_cloth),
        cmocka_unit_test(test_cloth_is_small),
        cmocka_unit_test(test_softbody),
        cmocka_unit_test(test_creature_is_closed),
        cmocka_unit_test(test_production_has_its_flaws),
        cmocka_unit_test(test_arm_poses),
        cmocka_unit_test(test_arm_out_of_memory),
        cmocka_unit_test(test_hand_poses),
        cmocka_unit_test(test_hand_at_rest),
        cmocka_unit_test(test_hand_out_of_memory),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
