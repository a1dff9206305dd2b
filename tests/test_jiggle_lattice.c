/* Lattices: cells around any mesh, particles shared only between connected cells, chains. */
#include "jiggle/lattice.h"
#include "scenes.h"
#include "support.h"

#include <math.h>

typedef struct soup {
    float positions[3 * 64];
    uint32_t vertex_count;
    uint32_t triangles[3 * 128];
    uint32_t triangle_count;
} soup;

static void add_vertex(soup *s, float x, float y, float z) {
    float *p = s->positions + 3 * (size_t)s->vertex_count++;
    p[0] = x;
    p[1] = y;
    p[2] = z;
}

static void add_triangle(soup *s, uint32_t a, uint32_t b, uint32_t c) {
    uint32_t *t = s->triangles + 3 * (size_t)s->triangle_count++;
    t[0] = a;
    t[1] = b;
    t[2] = c;
}

/* A closed box from low to high, facing outwards. */
static void add_box(soup *s, const float low[3], const float high[3]) {
    static const uint32_t quads[6][4] = {{0, 4, 6, 2}, {1, 3, 7, 5}, {0, 1, 5, 4},
                                         {2, 6, 7, 3}, {0, 2, 3, 1}, {4, 5, 7, 6}};
    uint32_t first = s->vertex_count;
    for (uint32_t k = 0; k < 8; k++)
        add_vertex(s, k & 1 ? high[0] : low[0], k & 2 ? high[1] : low[1], k & 4 ? high[2] : low[2]);
    for (int q = 0; q < 6; q++) {
        add_triangle(s, first + quads[q][0], first + quads[q][1], first + quads[q][2]);
        add_triangle(s, first + quads[q][0], first + quads[q][2], first + quads[q][3]);
    }
}

static px_lattice_source source_of(const soup *s, uint32_t cells) {
    return (px_lattice_source){.positions = s->positions,
                               .vertex_count = s->vertex_count,
                               .triangles = s->triangles,
                               .triangle_count = s->triangle_count,
                               .cells = cells};
}

/* ---- Properties of every lattice ------------------------------------------------------------------------------ */

static void check_cells(const px_lattice *l) {
    for (uint32_t c = 0; c < l->cell_count; c++)
        for (uint32_t k = 0; k < 8; k++) {
            assert_true(l->cells[c][k] < l->particle_count);
            for (uint32_t axis = 0; axis < 3; axis++) {
                int32_t low = l->places[l->cells[c][0]][axis], own = l->places[l->cells[c][k]][axis];
                assert_int_equal(own, low + (int32_t)(k >> axis & 1));
            }
        }
    for (uint32_t p = 0; p < l->particle_count; p++)
        for (uint32_t axis = 0; axis < 3; axis++)
            assert_float_equal(l->rest[3 * p + axis], (float)(l->origin[axis] + (double)l->cell * l->places[p][axis]),
                               1e-5f * l->cell * (float)(1 + abs(l->places[p][axis])));
}

/* Interpolated from their corners' rest positions, vertices are exact within 1e-6 of the box. */
static void check_vertices(const px_lattice *l, const float *positions) {
    double size = 0, worst = 0;
    for (size_t i = 0; i < l->vertex_count; i++)
        for (uint32_t axis = 0; axis < 3; axis++)
            size = fmax(size, fabs((double)positions[3 * i + axis] - (double)positions[axis]));
    for (size_t i = 0; i < l->vertex_count; i++) {
        double at[3] = {0};
        assert_true(l->vertex_cells[i] < l->cell_count);
        for (uint32_t k = 0; k < 8; k++) {
            double weight = 1;
            for (uint32_t axis = 0; axis < 3; axis++) {
                double u = (double)l->vertex_places[3 * i + axis];
                assert_true(u > -1e-4 && u < 1 + 1e-4);
                weight *= k >> axis & 1 ? u : 1 - u;
            }
            for (uint32_t axis = 0; axis < 3; axis++)
                at[axis] += weight * (double)l->rest[3 * (size_t)l->cells[l->vertex_cells[i]][k] + axis];
        }
        for (uint32_t axis = 0; axis < 3; axis++)
            worst = fmax(worst, fabs(at[axis] - (double)positions[3 * i + axis]));
    }
    assert_true(worst <= 1e-6 * fmax(size, (double)l->cell));
}

/* Chains follow their axis along links and contain every link once. */
static void check_chains(const px_lattice *l) {
    size_t links = 0;
    for (uint32_t axis = 0; axis < 3; axis++) {
        const px_chains *chains = &l->chains[axis];
        uint8_t *seen = test_malloc(l->particle_count);
        memset(seen, 0, l->particle_count);
        assert_int_equal(chains->firsts[0], 0);
        for (uint32_t c = 0; c < chains->count; c++) {
            assert_true(chains->firsts[c + 1] >= chains->firsts[c] + 2);
            for (uint32_t k = chains->firsts[c]; k < chains->firsts[c + 1]; k++) {
                uint32_t p = chains->items[k], next = chains->items[k + 1], found = 0;
                seen[p] = 1;
                if (k + 1 == chains->firsts[c + 1])
                    continue;
                assert_int_equal(l->places[next][axis], l->places[p][axis] + 1);
                for (uint32_t e = l->links.firsts[p]; e < l->links.firsts[p + 1]; e++)
                    found += l->links.to[e] == next;
                assert_int_equal(found, 1);
                links++;
            }
        }
        for (uint32_t p = 0; p < l->particle_count; p++)
            assert_true(seen[p]);
        test_free(seen);
    }
    assert_int_equal(2 * links, l->links.firsts[l->particle_count]);
    double sum = 0;
    for (uint32_t e = 0; e < l->links.firsts[l->particle_count]; e++)
        sum += (double)l->links.weights[e];
    assert_true(sum == 6.0 * l->cell_count); /* 12 edges, from both ends, a quarter each */
}

static void check_lattice(const px_lattice *l, const float *positions) {
    check_cells(l);
    check_vertices(l, positions);
    check_chains(l);
}

/* Number of connected components of the lattice. */
static uint32_t count_pieces(const px_lattice *l) {
    uint32_t count = 0, *groups = test_malloc(l->particle_count * sizeof *groups);
    for (uint32_t p = 0; p < l->particle_count; p++)
        groups[p] = p;
    for (uint32_t p = 0; p < l->particle_count; p++)
        for (uint32_t e = l->links.firsts[p]; e < l->links.firsts[p + 1]; e++)
            px_group_join(groups, p, l->links.to[e]);
    for (uint32_t p = 0; p < l->particle_count; p++)
        count += groups[p] == p;
    test_free(groups);
    return count;
}

static uint32_t pieces_of(const soup *s, uint32_t cells) {
    test_context test;
    px_arena *arena = px_arena_create(test_begin(&test, 1));
    px_lattice_source source = source_of(s, cells);
    px_lattice lattice;
    test_ok(&test, px_lattice_make(test.context, arena, &source, &lattice));
    check_lattice(&lattice, s->positions);
    uint32_t pieces = count_pieces(&lattice);
    px_arena_destroy(arena);
    test_end(&test);
    return pieces;
}

/* ---- Meshes --------------------------------------------------------------------------------------------------- */

/* A box of 7.5 × 3.5 × 2 cells covers at least 8 × 4 × 2 of them, all full inside. */
static void test_box(void **state) {
    (void)state;
    soup s = {0};
    add_box(&s, (const float[]){-1, 2, 5}, (const float[]){6.5f, 5.5f, 7});
    test_context test;
    px_arena *arena = px_arena_create(test_begin(&test, 1));
    px_lattice_source source = source_of(&s, 8);
    px_lattice l;
    test_ok(&test, px_lattice_make(test.context, arena, &source, &l));
    check_lattice(&l, s.positions);
    int32_t most[3] = {0};
    for (uint32_t p = 0; p < l.particle_count; p++)
        for (int c = 0; c < 3; c++)
            most[c] = l.places[p][c] > most[c] ? l.places[p][c] : most[c];
    assert_int_equal(l.cell_count, most[0] * most[1] * most[2]);
    assert_int_equal(l.particle_count, (most[0] + 1) * (most[1] + 1) * (most[2] + 1));
    assert_int_equal(count_pieces(&l), 1);
    px_arena_destroy(arena);
    test_end(&test);
}

/* Vertices without triangles, triangles without area, a mesh that is one point. */
static void test_strays(void **state) {
    (void)state;
    soup s = {0};
    add_vertex(&s, 3, 3, 3);
    assert_int_equal(pieces_of(&s, 4), 1);
    add_vertex(&s, 3, 3, 3);
    add_triangle(&s, 0, 1, 1);
    assert_int_equal(pieces_of(&s, 4), 1);
    add_box(&s, (const float[]){0, 0, 0}, (const float[]){2, 2, 1});
    add_vertex(&s, 0, 0, 9);
    add_vertex(&s, 5, 5, 9);
    add_vertex(&s, 5, 6, 9);
    add_triangle(&s, s.vertex_count - 1, s.vertex_count - 2, s.vertex_count - 2);
    assert_int_equal(pieces_of(&s, 20), 4);
}

/* Two boxes in contact, less than a voxel apart, or overlapping by a rounding error are two components; deeply
 * overlapping they are one. Their vertices differ, so nothing is welded. */
static void test_touching_boxes(void **state) {
    (void)state;
    static const float gaps[] = {0, 1e-6f, -1e-6f, 0.001f, 0.02f};
    for (size_t n = 0; n < sizeof gaps / sizeof *gaps; n++)
        for (int axis = 0; axis < 3; axis++) {
            soup s = {0};
            float low[3] = {0.1f, 0.2f, 0.15f}, high[3] = {1.9f, 1.7f, 1.8f};
            add_box(&s, (const float[]){0, 0, 0}, (const float[]){2, 2, 2});
            low[axis] = 2 + gaps[n];
            high[axis] = 4;
            add_box(&s, low, high);
            assert_int_equal(pieces_of(&s, 12), 2);
            assert_int_equal(pieces_of(&s, 17), 2);

            low[axis] = 1.5f;
            s.vertex_count = s.triangle_count = 0;
            add_box(&s, (const float[]){0, 0, 0}, (const float[]){2, 2, 2});
            add_box(&s, low, high);
            assert_int_equal(pieces_of(&s, 12), 1);
        }
}

/* Path length along the lattice from one position to another, in cells; PELT_NONE: not connected. */
static uint32_t steps_between(const px_lattice *l, uint32_t from, uint32_t to) {
    uint32_t *steps = test_malloc(l->particle_count * sizeof *steps);
    uint32_t *queue = test_malloc(l->particle_count * sizeof *queue), end = 1;
    memset(steps, 0xff, l->particle_count * sizeof *steps);
    queue[0] = from;
    steps[from] = 0;
    for (uint32_t at = 0; at < end; at++)
        for (uint32_t e = l->links.firsts[queue[at]]; e < l->links.firsts[queue[at] + 1]; e++)
            if (steps[l->links.to[e]] == PELT_NONE) {
                steps[l->links.to[e]] = steps[queue[at]] + 1;
                queue[end++] = l->links.to[e];
            }
    uint32_t found = steps[to];
    test_free(steps);
    test_free(queue);
    return found;
}

/* A palm and two fingers side by side, one closed surface: a U seen along z, with a slit of any width. */
static void test_fingers(void **state) {
    (void)state;
    static const float slits[] = {1e-4f, 0.01f, 0.1f, 0.4f};
    for (size_t n = 0; n < sizeof slits / sizeof *slits; n++) {
        const float w = 0.5f * slits[n],
                    outline[8][2] = {{-1, 0}, {1, 0}, {1, 5}, {w, 5}, {w, 1}, {-w, 1}, {-w, 5}, {-1, 5}};
        static const uint32_t faces[6][3] = {{0, 1, 4}, {0, 4, 5}, {1, 2, 3}, {1, 3, 4}, {0, 5, 6}, {0, 6, 7}};
        soup s = {0};
        for (int side = 0; side < 2; side++)
            for (int k = 0; k < 8; k++)
                add_vertex(&s, outline[k][0], outline[k][1], side ? 1.0f : 0.0f);
        for (uint32_t k = 0; k < 8; k++) {
            add_triangle(&s, k, (k + 1) % 8, 8 + (k + 1) % 8);
            add_triangle(&s, k, 8 + (k + 1) % 8, 8 + k);
        }
        for (int f = 0; f < 6; f++) {
            add_triangle(&s, faces[f][2], faces[f][1], faces[f][0]);
            add_triangle(&s, 8 + faces[f][0], 8 + faces[f][1], 8 + faces[f][2]);
        }
        test_context test;
        px_arena *arena = px_arena_create(test_begin(&test, 1));
        for (uint32_t cells = 9; cells <= 21; cells += 4) {
            px_lattice_source source = source_of(&s, cells);
            px_lattice l;
            test_ok(&test, px_lattice_make(test.context, arena, &source, &l));
            check_lattice(&l, s.positions);
            assert_int_equal(count_pieces(&l), 1);
            uint32_t left = l.cells[l.vertex_cells[6]][0], right = l.cells[l.vertex_cells[3]][0];
            assert_true(steps_between(&l, left, right) > 8.0 / (double)l.cell - 4); /* down to the palm and up again */
        }
        px_arena_destroy(arena);
        test_end(&test);
    }
}

/* Thin shapes are one component: a plate much thinner than a voxel, a two-sided sheet, clothes over skin. */
static void test_thin(void **state) {
    (void)state;
    static const float thick[] = {0.3f, 0.01f, 1e-4f, 0};
    for (size_t n = 0; n < sizeof thick / sizeof *thick; n++) {
        soup s = {0};
        add_box(&s, (const float[]){0, 0, 0}, (const float[]){4, 3, thick[n]});
        for (uint32_t cells = 5; cells <= 20; cells += 5)
            assert_int_equal(pieces_of(&s, cells), 1);
    }
    soup s = {0};
    add_box(&s, (const float[]){0, 0, 0}, (const float[]){4, 3, 2});
    add_box(&s, (const float[]){-0.01f, -0.01f, -0.01f}, (const float[]){4.01f, 3.01f, 2.01f});
    assert_int_equal(pieces_of(&s, 10), 1);
}

/* About 2,000 particles for any mesh, most of them in one component. */
static void check_model(test_context *test, pelt_model *model) {
    px_arena *arena = px_arena_create(test->context);
    px_jiggle_subject subject;
    px_lattice lattice;
    test_ok(test, px_jiggle_subject_make(test->context, arena, model, &subject));
    test_ok(test, px_jiggle_lattice(test->context, arena, &subject, 0, 0, &lattice));
    check_lattice(&lattice, subject.positions);
    assert_in_range(lattice.particle_count, 1800, 2200);
    assert_true(count_pieces(&lattice) <= 12);
    pelt_model_destroy(model);
    px_arena_destroy(arena);
    test_end(test);
}

static void test_scenes(void **state) {
    (void)state;
    for (uint32_t n = 0; scene_at(n); n++) {
        test_context test;
        pelt_model *model;
        scene_desc desc = {.vertex_count = 3000, .frame_count = 3, .seed = 1};
        test_begin(&test, 1 + n % 2);
        test_ok(&test, scene_at(n)->make(test.context, &desc, &model));
        check_model(&test, model);
    }
}

/* Bodies of one shell, and of 65: eyes, teeth, hair, clothes over skin. */
static void test_real_meshes(void **state) {
    (void)state;
    static const char *const names[] = {"char-makehuman/human_game.glb", "char-rocketbox/Military_Male_03.glb",
                                        "char-hands/webxr-generic-hand/left.glb"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        char path[1024];
        test_data(path, names[n]);
        test_context test;
        pelt_model *model;
        test_begin(&test, 2);
        test_ok(&test, pelt_load(test.context, (const char *const[]){path}, 1, NULL, &model));
        check_model(&test, model);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_box),         cmocka_unit_test(test_strays), cmocka_unit_test(test_touching_boxes),
        cmocka_unit_test(test_fingers),     cmocka_unit_test(test_thin),   test_long(test_scenes),
        cmocka_unit_test(test_real_meshes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
