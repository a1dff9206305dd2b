/* Edited meshes: matching vertices, detecting other meshes; normals and tangents rotated only where triangles moved. */
#include "edit_scene.h"

/* ---- Matching vertices ------------------------------------------------------------------------------------ */

/* The mesh of `positions` with separate vertices for each corner, in reverse order. */
static pelt_model *make_soup(scene_test *t, const float *positions) {
    const pelt_mesh *from = &t->model->mesh;
    pelt_model *soup;
    test_ok(&t->test, pelt_model_create(t->context, &soup));
    uint32_t corners = 3 * from->triangle_count;
    pelt_mesh *mesh = &soup->mesh;
    mesh->positions = pelt_model_alloc(t->context, soup, 3 * (size_t)corners, sizeof(float));
    mesh->triangles = pelt_model_alloc(t->context, soup, corners, sizeof(uint32_t));
    assert_true(mesh->positions && mesh->triangles);
    mesh->vertex_count = mesh->points.count = corners;
    mesh->triangle_count = mesh->polygon_count = from->triangle_count;
    for (uint32_t c = 0; c < corners; c++) {
        mesh->triangles[c] = corners - 1 - c;
        memcpy(mesh->positions + 3 * (size_t)(corners - 1 - c), positions + 3 * (size_t)from->triangles[c],
               3 * sizeof(float));
    }
    soup->path = "soup.obj";
    return soup;
}

static void any_numbering(void **state) {
    (void)state;
    scene_test t;
    begin(&t, "production");
    bump(&t, t.before);
    pelt_model *edited = make_soup(&t, t.wanted), *original = make_soup(&t, t.before);
    pelt_edit_report report;
    test_ok(&t.test, pelt_edit_mesh(t.context, t.model, edited, NULL, NULL, &report));
    const pelt_mesh *mesh = &t.model->mesh;
    for (uint32_t c = 0; c < 3 * mesh->triangle_count; c++)
        assert_memory_equal(mesh->positions + 3 * (size_t)mesh->triangles[c], t.wanted + 3 * (size_t)mesh->triangles[c],
                            3 * sizeof(float));
    assert_true(report.moved_count > 50 && report.torn_count == 0);
    /* By difference from the original, wherever the model is: applied twice. */
    test_ok(&t.test, pelt_edit_mesh(t.context, t.model, edited, original, NULL, &report));
    for (uint32_t c = 0; c < 9 * mesh->triangle_count; c++) {
        size_t e = 3 * (size_t)mesh->triangles[c / 3] + c % 3;
        assert_float_equal(mesh->positions[e], 2 * t.wanted[e] - t.before[e], 1e-5);
    }
    pelt_model_destroy(original);
    pelt_model_destroy(edited);
    end(&t);
}

static void other_meshes_are_refused(void **state) {
    (void)state;
    scene_test t;
    begin(&t, "creature");
    t.model->path = "rig.glb";
    pelt_model *soup = make_soup(&t, t.before);
    pelt_mesh *mesh = &soup->mesh;
    pelt_edit_report report;
    mesh->triangle_count--;
    test_fails(&t.test, pelt_edit_mesh(t.context, t.model, soup, NULL, NULL, &report), PELT_ERROR_INPUT,
               "soup.obj has 691 and 2076: they must be the same mesh");
    mesh->triangle_count++;
    uint32_t kept = mesh->triangles[30];
    mesh->triangles[30] = mesh->triangles[60];
    test_fails(&t.test, pelt_edit_mesh(t.context, t.model, soup, NULL, NULL, &report), PELT_ERROR_INPUT,
               "soup.obj: triangle ");
    mesh->triangles[30] = kept;
    mesh->positions[3 * (size_t)kept + 1] = NAN;
    test_fails(&t.test, pelt_edit_mesh(t.context, t.model, soup, NULL, NULL, &report), PELT_ERROR_INPUT, "not finite");
    assert_int_equal(report.vertex_count, 0);
    memcpy(t.wanted, t.before, t.floats * sizeof(float));
    t.wanted[0] = INFINITY;
    test_fails(&t.test, pelt_edit_positions(t.context, t.model, t.wanted, NULL, NULL), PELT_ERROR_INPUT, "beyond all");
    pelt_edit_desc desc = {PELT_DESC_COOKIE, PELT_EDIT_MOTION, 7, 0};
    test_fails(&t.test, pelt_edit_positions(t.context, t.model, t.before, &desc, NULL), PELT_ERROR_USAGE,
               "no motion 7");
    desc.pose = 9;
    test_fails(&t.test, pelt_edit_positions(t.context, t.model, t.before, &desc, NULL), PELT_ERROR_USAGE, "pose is 9");
    assert_memory_equal(t.model->mesh.positions, t.before, t.floats * sizeof(float));
    assert_int_equal(t.model->changed, 0);
    test_fails(&t.test, pelt_edit_mesh(t.context, soup, soup, NULL, NULL, NULL), PELT_ERROR_INPUT, "not finite");
    mesh->positions[3 * (size_t)kept + 1] = 0;
    test_fails(&t.test, pelt_edit_mesh(t.context, soup, soup, NULL, NULL, NULL), PELT_ERROR_INPUT,
               "soup.obj: has neither skin nor morphs");
    pelt_model_destroy(soup);
    end(&t);
}

#define SIDE 15u /* charts along an edge */

/* A square of SIDE × SIDE quads, each a chart with its own vertices; chart n is the quad (n · step) mod SIDE². `turned`: another
 * rest pose. Texture coordinates are the same. */
static pelt_model *make_charts(scene_test *t, uint32_t step, bool turned) {
    static const uint32_t corners[6] = {0, 1, 2, 2, 1, 3};
    pelt_model *model;
    test_ok(&t->test, pelt_model_create(t->context, &model));
    pelt_mesh *mesh = &model->mesh;
    mesh->vertex_count = mesh->points.count = 4 * SIDE * SIDE;
    mesh->triangle_count = mesh->polygon_count = 2 * SIDE * SIDE;
    mesh->positions = pelt_model_alloc(t->context, model, 3 * (size_t)mesh->vertex_count, sizeof(float));
    mesh->uvs = pelt_model_alloc(t->context, model, 2 * (size_t)mesh->vertex_count, sizeof(float));
    mesh->triangles = pelt_model_alloc(t->context, model, 3 * (size_t)mesh->triangle_count, sizeof(uint32_t));
    assert_true(mesh->positions && mesh->uvs && mesh->triangles);
    for (uint32_t v = 0; v < mesh->vertex_count; v++) { /* turned: first corners of all charts, then second ones, … */
        uint32_t quad = v / 4 * step % (SIDE * SIDE);
        size_t place = turned ? v % 4 * SIDE * SIDE + v / 4 : v;
        float x = (float)(quad % SIDE + v % 2) / SIDE, y = (float)(quad / SIDE + v % 4 / 2) / SIDE;
        memcpy(mesh->uvs + 2 * place, (float[2]){x, y}, 2 * sizeof x);
        memcpy(mesh->positions + 3 * place, (float[3]){turned ? -y : x, turned ? x : y, x * y}, 3 * sizeof x);
    }
    for (uint32_t c = 0; c < 3 * mesh->triangle_count; c++) { /* turned: the second triangle of a chart first */
        uint32_t corner = corners[turned ? (c + 3) % 6 : c % 6];
        mesh->triangles[c] = turned ? corner * SIDE * SIDE + c / 6 : c / 6 * 4 + corner;
    }
    model->path = "charts.obj";
    return model;
}

/* Vertices of many equal charts in another order are found, in another rest pose too. */
static void equal_charts(void **state) {
    (void)state;
    scene_test t;
    uint32_t vertices[4 * SIDE * SIDE];
    begin(&t, "tube");
    pelt_model *model = make_charts(&t, 1, false), *other = make_charts(&t, 7, true);
    test_ok(&t.test, pelt_model_match(t.context, model, other, vertices));
    for (uint32_t v = 0; v < model->mesh.vertex_count; v++) {
        assert_int_equal(vertices[v] / (SIDE * SIDE), v % 4);
        assert_int_equal(vertices[v] % (SIDE * SIDE) * 7 % (SIDE * SIDE), v / 4);
    }
    pelt_model_destroy(model);
    pelt_model_destroy(other);
    end(&t);
}

/* Faces in another order, and polygons with other diagonals: matched by vertex index. With vertices in another order as
 * well, no match is possible. */
static void other_faces(void **state) {
    (void)state;
    scene_test t;
    begin(&t, "tube");
    bump(&t, t.before);
    const pelt_mesh *mesh = &t.model->mesh;
    uint32_t corners = 3 * mesh->triangle_count, count = mesh->vertex_count;
    pelt_model *other;
    test_ok(&t.test, pelt_model_create(t.context, &other));
    other->mesh = (pelt_mesh){.vertex_count = count,
                              .points.count = count,
                              .triangle_count = mesh->triangle_count,
                              .positions = t.wanted,
                              .triangles = pelt_model_alloc(t.context, other, corners, sizeof(uint32_t))};
    uint32_t *vertices = pelt_model_alloc(t.context, other, count, sizeof *vertices);
    assert_true(other->mesh.triangles && vertices);
    other->path = "other.obj";
    for (uint32_t c = 0; c < corners; c++)
        other->mesh.triangles[c] = mesh->triangles[corners - 3 - c / 3 * 3 + c % 3];
    test_ok(&t.test, pelt_model_match(t.context, t.model, other, vertices));
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(vertices[i], i);
    other->mesh.triangle_count--;
    test_ok(&t.test, pelt_model_match(t.context, t.model, other, vertices));
    other->mesh.triangle_count++;
    for (uint32_t c = 0; c < corners; c++)
        other->mesh.triangles[c] =
            (other->mesh.triangles[c] * 5 + c) % count; /* other connectivity, not only other numbers */
    test_fails(&t.test, pelt_model_match(t.context, t.model, other, vertices), PELT_ERROR_INPUT,
               "other.obj: triangle 1 has other corners");
    pelt_model_destroy(other);
    end(&t);
}

/* Without triangles the counts decide: of vertices, or of points. */
static void clouds(void **state) {
    (void)state;
    scene_test t;
    begin(&t, "tube");
    bump(&t, t.before);
    pelt_mesh *mesh = &t.model->mesh;
    mesh->triangle_count = mesh->polygon_count = mesh->part_count = 0;
    uint32_t count = mesh->vertex_count;
    pelt_model *cloud;
    test_ok(&t.test, pelt_model_create(t.context, &cloud));
    cloud->mesh.vertex_count = cloud->mesh.points.count = count;
    cloud->mesh.positions = t.wanted;
    test_ok(&t.test, pelt_edit_mesh(t.context, t.model, cloud, NULL, NULL, NULL));
    assert_memory_equal(mesh->positions, t.wanted, t.floats * sizeof(float));
    /* Each point twice, in reverse order. */
    uint32_t *points = pelt_model_alloc(t.context, cloud, 2 * (size_t)count, sizeof *points);
    float *places = pelt_model_alloc(t.context, cloud, 2 * t.floats, sizeof *places);
    assert_true(points && places);
    for (uint32_t v = 0; v < 2 * count; v++) {
        points[v] = count - 1 - v / 2;
        memcpy(places + 3 * (size_t)v, t.before + 3 * (size_t)points[v], 3 * sizeof *places);
    }
    cloud->mesh.positions = places;
    cloud->mesh.vertex_count = 2 * count;
    test_ok(&t.test, pelt_model_set_points(t.context, cloud, count, points));
    test_ok(&t.test, pelt_edit_mesh(t.context, t.model, cloud, NULL, NULL, NULL));
    for (size_t e = 0; e < t.floats; e++)
        assert_float_equal(mesh->positions[e], t.before[e], 1e-5);
    cloud->mesh.points.count--;
    test_fails(&t.test, pelt_edit_mesh(t.context, t.model, cloud, NULL, NULL, NULL), PELT_ERROR_INPUT, "vertices");
    pelt_model_destroy(cloud);
    end(&t);
}

/* ---- Normals ---------------------------------------------------------------------------------------------- */

static double angle_between(const float *a, const float *b) {
    double d = 0;
    for (int e = 0; e < 3; e++)
        d += ((double)a[e] - (double)b[e]) * ((double)a[e] - (double)b[e]);
    return 2 * asin(fmin(sqrt(d) / 2, 1));
}

/* Marks [weld] of vertices that share a triangle with a moved vertex; freed by the caller. */
static uint8_t *mark_touched(const pelt_mesh *mesh, const float *before) {
    uint8_t *marks = calloc(mesh->weld.count, 1);
    assert_non_null(marks);
    for (size_t c = 0; c < 3 * (size_t)mesh->triangle_count; c++) {
        size_t at = 3 * (size_t)mesh->triangles[c];
        if (memcmp(mesh->positions + at, before + at, 3 * sizeof(float)) != 0)
            for (size_t o = c / 3 * 3; o < c / 3 * 3 + 3; o++)
                marks[mesh->weld.of[mesh->triangles[o]]] = 1;
    }
    return marks;
}

/* Smooth normals stay those of the smooth surface; others keep their deviation; vertices without a moved triangle keep
 * their bytes. */
static void smooth_normals(void **state) {
    (void)state;
    for (int authored = 0; authored < 2; authored++) {
        scene_test t;
        begin(&t, "creature");
        pelt_mesh *mesh = &t.model->mesh;
        test_ok(&t.test, pelt_model_weld(t.context, t.model));
        float *smooth = malloc(t.floats * sizeof *smooth), *old = malloc(t.floats * sizeof *old);
        assert_true(smooth && old);
        test_ok(&t.test, pelt_mesh_normals(t.context, mesh, NULL, mesh->normals));
        memcpy(smooth, mesh->normals, t.floats * sizeof *smooth);
        for (size_t i = 0; authored && i < t.floats; i += 3) { /* a fifth of a radian off, roughly */
            float *n = mesh->normals + i, length = 0;
            n[0] += 0.2f * n[1], n[1] -= 0.2f * n[0];
            for (int a = 0; a < 3; a++)
                length += n[a] * n[a];
            for (int a = 0; a < 3; a++)
                n[a] /= sqrtf(length);
        }
        memcpy(old, mesh->normals, t.floats * sizeof *old);
        bump(&t, t.before);
        pelt_edit_report report;
        test_ok(&t.test, pelt_edit_positions(t.context, t.model, t.wanted, NULL, &report));
        float *now = malloc(t.floats * sizeof *now);
        assert_non_null(now);
        test_ok(&t.test, pelt_mesh_normals(t.context, mesh, NULL, now));
        uint8_t *touched = mark_touched(mesh, t.before);
        uint32_t kept = 0, turned = 0;
        for (size_t i = 0; i < t.floats; i += 3) {
            if (!touched[mesh->weld.of[i / 3]]) {
                assert_memory_equal(mesh->normals + i, old + i, 3 * sizeof(float));
                kept++;
            }
            turned += angle_between(smooth + i, now + i) > 0.05;
            assert_float_equal(angle_between(mesh->normals + i, now + i), angle_between(old + i, smooth + i), 2e-4);
        }
        assert_true(turned > 30 && kept > 30);
        uint32_t marked = 0;
        for (uint32_t w = 0; w < mesh->weld.count; w++)
            marked += touched[w];
        assert_int_equal(report.turned_count, marked);
        free(touched), free(now), free(old), free(smooth);
        end(&t);
    }
}

/* A cube with hard edges, skinned to one bone: a corner is pulled out, and its normals become those of the triangles on
 * each side, which meet at other angles than before. */
static void hard_edges(void **state) {
    (void)state;
    enum { CUBE = 24 };
    static const uint32_t fan[6] = {0, 1, 2, 0, 2, 3};
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    pelt_model *model;
    test_ok(&test, pelt_model_create(context, &model));
    float positions[CUBE][3], normals[CUBE][3], tangents[CUBE][4], weights[CUBE], wanted[CUBE][3];
    uint32_t triangles[36], joint = 0, parent = PELT_NONE;
    pelt_transform rest = {.rotation = {0, 0, 0, 1}, .scale = {1, 1, 1}};
    pelt_affine bind = {{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}};
    const char *name = "root";
    uint16_t bones[CUBE] = {0};
    for (uint32_t i = 0; i < CUBE; i++) {
        uint32_t face = i / 4, k = i % 4, axis = face / 2, u = (axis + 1) % 3, v = (axis + 2) % 3;
        float side = face % 2 ? 1.0f : -1.0f;
        positions[i][axis] = side;
        positions[i][u] = (k == 1 || k == 2 ? 1.0f : -1.0f) * side;
        positions[i][v] = k >= 2 ? 1.0f : -1.0f;
        for (uint32_t a = 0; a < 3; a++) {
            normals[i][a] = a == axis ? side : 0;
            tangents[i][a] = a == u ? 1 : 0;
        }
        tangents[i][3] = side;
        weights[i] = 1;
    }
    for (uint32_t c = 0; c < 36; c++)
        triangles[c] = c / 6 * 4 + fan[c % 6];
    model->mesh = (pelt_mesh){.vertex_count = CUBE,
                              .triangle_count = 12,
                              .polygon_count = 12,
                              .points.count = CUBE,
                              .positions = positions[0],
                              .normals = normals[0],
                              .tangents = tangents[0],
                              .triangles = triangles};
    model->skeleton = (pelt_skeleton){1, &name, &parent, &rest};
    model->skin = (pelt_skin){1, 1, &joint, &bind, bones, weights};
    memcpy(wanted, positions, sizeof wanted);
    for (int i = 0; i < CUBE; i++)
        for (int a = 0; a < 3 && positions[i][0] > 0 && positions[i][1] > 0 && positions[i][2] > 0; a++)
            wanted[i][a] = 2;
    pelt_edit_report report;
    test_ok(&test, pelt_edit_positions(context, model, wanted[0], NULL, &report));
    assert_true(report.moved_count == 1 && report.vertex_count == 8 && report.turned_count > 1);
    for (uint32_t i = 0; i < CUBE; i++) {
        const float *n = model->mesh.normals + 3 * i, *tangent = model->mesh.tangents + 4 * i;
        double sum[3] = {0}, dot = 0, length = 0; /* normals of its own triangles: the corners of a face are separate */
        for (uint32_t c = 0; c < 36; c++) {
            if (triangles[c] != i)
                continue;
            const float *p = wanted[triangles[c / 3 * 3]], *q = wanted[triangles[c / 3 * 3 + 1]];
            const float *r = wanted[triangles[c / 3 * 3 + 2]];
            for (int a = 0; a < 3; a++) {
                int b = (a + 1) % 3, d = (a + 2) % 3;
                sum[a] += (double)((q[b] - p[b]) * (r[d] - p[d]) - (q[d] - p[d]) * (r[b] - p[b]));
            }
        }
        for (int a = 0; a < 3; a++)
            length += sum[a] * sum[a];
        for (int a = 0; a < 3; a++) {
            assert_float_equal(n[a], sum[a] / sqrt(length), 1e-6);
            dot += (double)n[a] * (double)tangent[a];
        }
        assert_float_equal(dot, 0, 1e-6);
        assert_float_equal(tangent[3], tangents[i][3], 0);
    }
    pelt_model_destroy(model);
    test_end(&test);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_numbering), cmocka_unit_test(other_meshes_are_refused),
        cmocka_unit_test(equal_charts),  cmocka_unit_test(other_faces),
        cmocka_unit_test(clouds),        cmocka_unit_test(smooth_normals),
        cmocka_unit_test(hard_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
