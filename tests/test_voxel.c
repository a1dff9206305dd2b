/* Voxels of generated solids against brute force: winding numbers, separating axes, cell by cell. */
#include "voxel_solids.h"

static soup the_soup; /* large, so not on the stack */

/* ---- Brute force ------------------------------------------------------------------------------------------ */

static void corners(const soup *s, uint32_t t, double p[3][3]) {
    for (uint32_t k = 0; k < 3; k++)
        for (uint32_t c = 0; c < 3; c++)
            p[k][c] = s->positions[s->triangles[t][k]][c];
}

static double dot(const double a[3], const double b[3]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross(const double a[3], const double b[3], double out[3]) {
    for (uint32_t c = 0; c < 3; c++)
        out[c] = a[(c + 1) % 3] * b[(c + 2) % 3] - a[(c + 2) % 3] * b[(c + 1) % 3];
}

/* The generalised winding number: solid angles (van Oosterom and Strackee) over 4π. */
static double winding(const soup *s, const double at[3]) {
    double sum = 0;
    for (uint32_t t = 0; t < s->triangle_count; t++) {
        double p[3][3], l[3], n[3];
        corners(s, t, p);
        for (uint32_t k = 0; k < 3; k++) {
            for (uint32_t c = 0; c < 3; c++)
                p[k][c] -= at[c];
            l[k] = sqrt(dot(p[k], p[k]));
        }
        cross(p[1], p[2], n);
        sum += atan2(dot(p[0], n),
                     l[0] * l[1] * l[2] + dot(p[0], p[1]) * l[2] + dot(p[1], p[2]) * l[0] + dot(p[2], p[0]) * l[1]);
    }
    return sum / (2 * M_PI);
}

/* Separation of a triangle from a box along the axis that separates them most, relative to the box's size along it;
 * negative: they overlap. Only small results are exact. */
static double separation(const double p[3][3], const double centre[3], const double half[3]) {
    double q[3][3], edges[3][3], axes[13][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, worst = -INFINITY;
    for (uint32_t k = 0; k < 3; k++)
        for (uint32_t c = 0; c < 3; c++) {
            q[k][c] = (p[k][c] - centre[c]) / half[c];
            edges[k][c] = (p[(k + 1) % 3][c] - p[k][c]) / half[c];
        }
    cross(edges[0], edges[1], axes[3]);
    for (uint32_t k = 0; k < 3; k++)
        for (uint32_t c = 0; c < 3; c++)
            cross(edges[k], axes[c], axes[4 + 3 * k + c]);
    for (uint32_t n = 0; n < 13; n++) {
        double reach = fabs(axes[n][0]) + fabs(axes[n][1]) + fabs(axes[n][2]);
        if (reach < 1e-9)
            continue;
        if (n == 3 && worst > 0.01)
            break; /* far apart: by how much does not matter */
        double a = dot(q[0], axes[n]), b = dot(q[1], axes[n]), c = dot(q[2], axes[n]);
        worst = fmax(worst, fmax(fmin(a, fmin(b, c)), -fmax(a, fmax(b, c))) / reach - 1);
    }
    return worst;
}

/* The smallest separation of a cell from all triangles. */
static double nearest(const soup *s, const double centre[3], const double half[3]) {
    double best = INFINITY;
    for (uint32_t t = 0; t < s->triangle_count; t++) {
        double p[3][3];
        corners(s, t, p);
        best = fmin(best, separation((const double(*)[3])p, centre, half));
    }
    return best;
}

/* ---- Checks ----------------------------------------------------------------------------------------------- */

/* Runs, rows, cells, counts and px_voxel_at are consistent. */
static void check_structure(const px_voxels *v) {
    uint32_t run = 0, voxel = 0, interior = 0, rows = v->grid.size[1] * v->grid.size[2];
    for (uint32_t row = 0; row < rows; row++) {
        assert_int_equal(v->row_runs[row], run);
        for (uint32_t x = 0; run < v->row_runs[row + 1]; run++) {
            const px_run *r = &v->runs[run];
            assert_true(r->first == voxel && r[1].first > r->first);
            assert_true(run == v->row_runs[row] || r->x > x); /* separate from the previous one */
            for (x = r->x; voxel < r[1].first; voxel++, x++) {
                const uint16_t *cell = v->cells[voxel];
                assert_true(cell[0] == x && cell[1] + v->grid.size[1] * cell[2] == row && x < v->grid.size[0]);
                interior += v->kinds[voxel] == PX_VOXEL_INTERIOR;
                assert_int_equal(px_voxel_at(v, cell[0], cell[1], cell[2]), voxel);
            }
        }
    }
    assert_true(run == v->run_count && voxel == v->count && interior == v->interior_count);
    assert_int_equal(v->row_runs[rows], run);
}

static void check_neighbours(test_context *test, const px_voxels *v) {
    uint32_t(*n)[6] = malloc(sizeof *n * (v->count + 1));
    assert_non_null(n);
    test_ok(test, px_voxels_neighbours(test->context, v, n));
    for (uint32_t i = 0; i < v->count; i++)
        for (uint32_t side = 0; side < 6; side++) {
            uint32_t at[3] = {v->cells[i][0], v->cells[i][1], v->cells[i][2]};
            at[side / 2] += side % 2 ? 1 : UINT32_MAX;
            assert_int_equal(n[i][side], px_voxel_at(v, at[0], at[1], at[2]));
        }
    free(n);
}

/* All views, and those along one axis alone: on closed meshes each axis is correct by itself. */
static const uint32_t votes[] = {PX_VIEWS_ALL, PX_VIEW_POSITIVE_X | PX_VIEW_NEGATIVE_X,
                                 PX_VIEW_POSITIVE_Y | PX_VIEW_NEGATIVE_Y, PX_VIEW_POSITIVE_Z | PX_VIEW_NEGATIVE_Z};
#define VOTES 4u

static void check_cell(const soup *s, const px_voxels v[VOTES], const uint32_t cell[3], bool solid) {
    double centre[3], half[3];
    for (uint32_t c = 0; c < 3; c++) {
        centre[c] = px_grid_centre(&v->grid, cell[c], c);
        half[c] = 0.5 * v->grid.cell[c];
    }
    uint32_t voxel = px_voxel_at(v, cell[0], cell[1], cell[2]);
    bool touched = voxel != PELT_NONE && v->kinds[voxel] == PX_VOXEL_BOUNDARY;
    double gap = nearest(s, centre, half);
    if (fabs(gap) > 1e-4) /* closer than that, snapping decides */
        assert_int_equal(touched, gap < 0);
    if (touched || !solid)
        return;
    bool inside = winding(s, centre) > 0.5;
    for (uint32_t n = 0; n < VOTES; n++)
        assert_int_equal(px_voxel_at(&v[n], cell[0], cell[1], cell[2]) != PELT_NONE, inside);
}

/* Every vertex that a triangle uses is in a boundary voxel. */
static void check_vertices(const soup *s, const px_voxels *v) {
    for (uint32_t t = 0; t < s->triangle_count; t++)
        for (uint32_t k = 0; k < 3; k++) {
            uint32_t cell[3];
            px_grid_cell(&v->grid, s->positions[s->triangles[t][k]], cell);
            uint32_t voxel = px_voxel_at(v, cell[0], cell[1], cell[2]);
            assert_true(voxel != PELT_NONE && v->kinds[voxel] == PX_VOXEL_BOUNDARY);
        }
}

static void check(const soup *s, const px_grid *grid, bool solid) {
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    px_arena *arena = px_arena_create(context);
    px_voxels v[VOTES];
    for (uint32_t n = 0; n < VOTES; n++)
        test_ok(&test, make(context, arena, s, grid, votes[n], &v[n]));
    check_structure(v);
    check_neighbours(&test, v);
    check_vertices(s, v);
    uint32_t cell[3];
    for (cell[2] = 0; cell[2] < grid->size[2]; cell[2]++)
        for (cell[1] = 0; cell[1] < grid->size[1]; cell[1]++)
            for (cell[0] = 0; cell[0] < grid->size[0]; cell[0]++)
                check_cell(s, v, cell, solid);
    px_arena_destroy(arena);
    test_end(&test);
}

static void check_at(const soup *s, uint32_t resolution, bool solid) {
    px_grid grid = grid_of(s, resolution);
    check(s, &grid, solid);
}

/* ---- Solids ----------------------------------------------------------------------------------------------- */

/* Boxes have faces along the grid and, at some sizes, exactly on its planes and through its centres. */
static void test_boxes(void **state) {
    (void)state;
    test_random random = {1};
    soup *s = &the_soup;
    for (uint32_t round = 0; round < 12; round++) {
        double low[3], high[3];
        for (uint32_t c = 0; c < 3; c++) {
            low[c] = round < 6 ? 0.125 * test_random_below(&random, 9) : test_random_real(&random, -5, 5);
            high[c] =
                low[c] + (round < 6 ? 0.125 * (1 + test_random_below(&random, 8)) : test_random_real(&random, 0, 2));
        }
        begin(s);
        add_box(s, low, high);
        check_at(s, 3 + test_random_below(&random, 14), true);
        px_grid grid = {{14, 14, 14}, {0, 0, 0}, {0.25, 0.25, 0.25}};
        if (round < 6) {
            for (uint32_t c = 0; c < 3; c++)
                grid.origin[c] = low[c] - 0.5;
            check(s, &grid, true);
        }
    }
}

/* Cells are closed: faces on the planes between cells touch those on both sides. */
static void test_on_planes(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    px_arena *arena = px_arena_create(context);
    px_voxels v;
    begin(&the_soup);
    add_box(&the_soup, (double[]){2, 2, 2}, (double[]){6, 6, 6});
    px_grid grid = {{8, 8, 8}, {0, 0, 0}, {1, 1, 1}};
    test_ok(&test, make(context, arena, &the_soup, &grid, PX_VIEWS_ALL, &v));
    assert_int_equal(v.count, 6 * 6 * 6);
    assert_int_equal(v.interior_count, 2 * 2 * 2);
    px_arena_destroy(arena);
    test_end(&test);
}

static void test_spheres(void **state) {
    (void)state;
    test_random random = {2};
    soup *s = &the_soup;
    for (uint32_t round = 0; round < 4; round++) {
        begin(s);
        add_sphere(s, test_random_real(&random, -9, 9), 0, 0, test_random_real(&random, 0.1, 10), 10);
        check_at(s, 5 + test_random_below(&random, 12), true);
    }
}

static void test_rotated(void **state) {
    (void)state;
    test_random random = {3};
    soup *s = &the_soup;
    for (uint32_t round = 0; round < 8; round++) {
        begin(s);
        add_torus(s, 0, 0, 0, 1, 0.45, 9);
        add_box(s, (double[]){-0.4, -0.4, -1}, (double[]){0.4, 0.3, 1.1});
        rotate(s, &random);
        check_at(s, 14, true);
    }
}

/* Solids in solids, cavities, and intersecting solids. */
static void test_many_shells(void **state) {
    (void)state;
    soup *s = &the_soup;
    begin(s);
    add_box(s, (double[]){0, 0, 0}, (double[]){4, 3, 3});
    for (uint32_t n = 0; n < 2; n++) /* between these two, the nearest faces indicate outside */
        add_box(s, (double[]){0.5 + 2.2 * n, 0.5, 0.5}, (double[]){1.3 + 2.2 * n, 2.5, 2.5});
    check_at(s, 20, true);
    begin(s);
    add_sphere(s, 0, 0, 0, 2, 12);
    uint32_t first = s->triangle_count;
    add_sphere(s, 0, 0, 0, 1.2, 12);
    turn_over(s, first); /* a cavity */
    add_sphere(s, 0, 0, 0, 0.6, 12);
    check_at(s, 20, true);
    begin(s);
    add_torus(s, 0, 0, 0, 1, 0.4, 12);
    add_sphere(s, 1, 0, 0, 0.7, 10);
    add_box(s, (double[]){-1.5, -0.2, -0.3}, (double[]){1.5, 0.3, 0.2});
    check_at(s, 20, true);
}

/* Coincident faces: two boxes with a side in common are one solid; a two-sided sheet has no interior. */
static void test_coincident(void **state) {
    (void)state;
    soup *s = &the_soup;
    begin(s);
    add_box(s, (double[]){0, 0, 0}, (double[]){1, 1, 1});
    add_box(s, (double[]){1, 0, 0}, (double[]){2, 1, 1});
    check_at(s, 17, true);
    begin(s);
    uint32_t a = add_vertex(s, 0, 0, 0), b = add_vertex(s, 2, 0.1, 0.3), c = add_vertex(s, 2, 1, 1);
    uint32_t d = add_vertex(s, 0, 0.9, 0.7);
    add_triangle(s, a, b, c);
    add_triangle(s, a, c, d);
    add_triangle(s, c, b, a);
    add_triangle(s, d, c, a);
    check_at(s, 17, true);
}

/* A line through a closed surface leaves as often as it enters, also at edges and corners; through a convex one, it
 * enters and leaves once. */
static void test_hits(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    for (uint32_t round = 0; round < 3; round++) {
        begin(&the_soup);
        if (round == 0) /* its corners and diagonals are on the lines */
            add_box(&the_soup, (double[]){1.5, 1.5, 1.5}, (double[]){5.5, 5.5, 5.5});
        else if (round == 1)
            add_sphere(&the_soup, 4, 4, 4, 2.5, 8);
        else
            add_torus(&the_soup, 4, 4, 4, 2, 1, 8);
        px_grid grid = {{8, 8, 8}, {0, 0, 0}, {1, 1, 1}};
        px_soup s = {.context = context, .grid = &grid, .triangles = the_soup.triangles[0]};
        s.triangle_count = the_soup.triangle_count;
        test_ok(&test, px_soup_snap(&s, the_soup.positions[0], the_soup.vertex_count));
        test_ok(&test, px_soup_turn(&s, the_soup.vertex_count));
        for (uint32_t axis = 0; axis < 3; axis++) {
            px_slices slices;
            test_ok(&test, px_slices_make(&s, (axis + 1) % 3, &slices));
            for (uint32_t block = 0; block < slices.block_count; block++) {
                px_buckets hits;
                test_ok(&test, px_hits_make(&s, &slices, block, axis, &hits));
                for (uint32_t b = 0; b < slices.block_size * 8; b++) {
                    uint32_t count = hits.starts[b + 1] - hits.starts[b];
                    assert_int_equal(px_line_of(&s, &hits, b, axis, PX_VIEWS_ALL).total, 0);
                    assert_true(round == 2 || count == 0 || count == 2);
                }
                px_buckets_free(context, &hits);
            }
            px_buckets_free(context, &slices.triangles);
        }
        px_free(context, s.points);
        px_free(context, s.turned);
    }
    test_end(&test);
}

/* A triangle list in any order and winding. */
static void test_soup(void **state) {
    (void)state;
    test_random random = {4};
    soup *s = &the_soup;
    for (uint32_t round = 0; round < 6; round++) {
        begin(s);
        double size = round % 2 ? 1 : 0.1;
        for (uint32_t t = 0; t < 12; t++) {
            uint32_t v = s->vertex_count;
            double at[3];
            for (uint32_t c = 0; c < 3; c++)
                at[c] = test_random_real(&random, -1, 1);
            for (uint32_t k = 0; k < 3; k++)
                add_vertex(s, at[0] + test_random_real(&random, -size, size),
                           at[1] + test_random_real(&random, -size, size),
                           at[2] + test_random_real(&random, -size, size));
            add_triangle(s, v, v + 1, v + (t % 4 == 0 ? 1 : 2)); /* some have no area */
        }
        check_at(s, 20, false);
        float low[3], high[3];
        box_of(s, low, high);
        px_grid grid = px_grid_of_size(low, high, (uint32_t[]){20, 9, 13});
        check(s, &grid, false);
    }
}

static void test_small(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    px_arena *arena = px_arena_create(context);
    px_voxels v;
    soup *s = &the_soup;
    begin(s); /* nothing */
    px_grid grid = grid_of(s, 16);
    assert_true(grid.size[0] == 3 && grid.size[1] == 3 && grid.size[2] == 3);
    test_ok(&test, make(context, arena, s, &grid, PX_VIEWS_ALL, &v));
    check_structure(&v);
    check_neighbours(&test, &v);
    assert_true(v.count == 0 && px_voxel_at(&v, 1, 1, 1) == PELT_NONE);
    add_vertex(s, 3, 4, 5); /* a point */
    add_triangle(s, 0, 0, 0);
    grid = grid_of(s, 16);
    test_ok(&test, make(context, arena, s, &grid, PX_VIEWS_ALL, &v));
    assert_true(v.count == 1 && v.interior_count == 0 && px_voxel_at(&v, 1, 1, 1) == 0);
    begin(s); /* a flat square, two triangles: one layer */
    add_quad(s, add_vertex(s, 0, 0, 1), add_vertex(s, 1, 0, 1), add_vertex(s, 1, 1, 1), add_vertex(s, 0, 1, 1));
    grid = grid_of(s, 16);
    test_ok(&test, make(context, arena, s, &grid, PX_VIEWS_ALL, &v));
    check_structure(&v);
    assert_true(grid.size[0] == 18 && grid.size[2] == 3 && v.count == 16 * 16 && v.interior_count == 0);
    px_arena_destroy(arena);
    test_end(&test);
}

/* ---- Views and winding ------------------------------------------------------------------------------------ */

static uint32_t interior(const soup *s, uint32_t resolution, uint32_t views, uint32_t *turned) {
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    px_arena *arena = px_arena_create(context);
    px_voxels v;
    px_grid grid = grid_of(s, resolution);
    test_ok(&test, make(context, arena, s, &grid, views, &v));
    uint32_t count = v.interior_count;
    *turned = v.turned_count;
    px_arena_destroy(arena);
    test_end(&test);
    return count;
}

/* A box without its lid: along z, only the downward view sees the back of the floor. */
static void test_views(void **state) {
    (void)state;
    soup *s = &the_soup;
    uint32_t turned;
    begin(s);
    add_box(s, (double[]){0, 0, 0}, (double[]){1, 1, 1});
    uint32_t inside = 14 * 14 * 14;
    assert_int_equal(interior(s, 16, PX_VIEWS_ALL, &turned), inside);
    for (uint32_t view = 0; view < 6; view++)
        assert_int_equal(interior(s, 16, 1u << view, &turned), inside);
    assert_int_equal(interior(s, 16, 0, &turned), 0);
    s->triangle_count -= 2; /* the side at high z */
    assert_int_equal(interior(s, 16, PX_VIEW_POSITIVE_Z, &turned), 0);
    assert_true(interior(s, 16, PX_VIEW_NEGATIVE_Z, &turned) > inside); /* up to the end of the grid */
    assert_int_equal(interior(s, 16, PX_VIEW_POSITIVE_X | PX_VIEW_NEGATIVE_X, &turned), 14 * 14 * 15);
    assert_int_equal(interior(s, 16, PX_VIEWS_ALL, &turned), 14 * 14 * 15);
    assert_int_equal(turned, 0);
}

/* Inverted shells are reversed; cavities are kept. */
static void test_inside_out(void **state) {
    (void)state;
    soup *s = &the_soup;
    uint32_t turned, first[4];
    begin(s);
    for (uint32_t n = 0; n < 4; n++) { /* a large ball, a cavity in it, a small ball beside it, a box without lid */
        first[n] = s->triangle_count;
        if (n < 3)
            add_sphere(s, n == 2 ? 2 : 0, 0, 0, n == 0 ? 1.2 : 0.7, 16);
        else
            add_box(s, (double[]){1.5, 1, -0.5}, (double[]){2.5, 2, 0.5});
    }
    s->triangle_count -= 2;
    turn_over(s, first[1]); /* inverts all but the first, */
    turn_over(s, first[2]); /* and restores those after the cavity */
    uint32_t inside = interior(s, 40, PX_VIEWS_ALL, &turned);
    assert_true(inside > 500 && turned == 0);
    turn_over(s, 0);
    assert_int_equal(interior(s, 40, PX_VIEWS_ALL, &turned), inside);
    assert_int_equal(turned, s->triangle_count);
    turn_over(s, 0);
    turn_over(s, first[2]);
    assert_int_equal(interior(s, 40, PX_VIEWS_ALL, &turned), inside);
    assert_int_equal(turned, s->triangle_count - first[2]);
}

/* ---- Memory and threads ----------------------------------------------------------------------------------- */

static pelt_result run_all(pelt_context *context, void *user) {
    px_arena *arena = px_arena_create(context);
    if (!arena)
        return PELT_ERROR_MEMORY;
    px_voxels v;
    px_grid grid = grid_of(user, 12);
    pelt_result result = make(context, arena, user, &grid, PX_VIEWS_ALL, &v);
    if (result != PELT_OK)
        assert_true(v.count == 0 && !v.kinds && !v.cells && !v.runs && !v.row_runs);
    px_arena_destroy(arena);
    return result;
}

static void test_memory_fails(void **state) {
    (void)state;
    begin(&the_soup);
    add_torus(&the_soup, 0, 0, 0, 1, 0.45, 9);
    test_fail_each_allocation(1, run_all, &the_soup);
}

static void test_threads(void **state) {
    (void)state;
    test_random random = {5};
    soup *s = &the_soup;
    begin(s);
    add_torus(s, 0, 0, 0, 1, 0.45, 40);
    add_sphere(s, 0, 0, 0.3, 0.8, 30);
    rotate(s, &random);
    test_context tests[2];
    px_arena *arenas[2];
    px_voxels v[2];
    px_grid grid = grid_of(s, 100);
    for (uint32_t n = 0; n < 2; n++) {
        test_begin(&tests[n], n ? 4 : 1);
        arenas[n] = px_arena_create(tests[n].context);
        test_ok(&tests[n], make(tests[n].context, arenas[n], s, &grid, PX_VIEWS_ALL, &v[n]));
    }
    assert_true(v[0].count == v[1].count && v[0].interior_count == v[1].interior_count);
    assert_memory_equal(v[0].kinds, v[1].kinds, v[0].count);
    assert_memory_equal(v[0].cells, v[1].cells, v[0].count * sizeof *v[0].cells);
    assert_memory_equal(v[0].runs, v[1].runs, (v[0].run_count + 1) * sizeof *v[0].runs);
    assert_memory_equal(v[0].row_runs, v[1].row_runs, (grid.size[1] * grid.size[2] + 1) * sizeof(uint32_t));
    for (uint32_t n = 0; n < 2; n++) {
        px_arena_destroy(arenas[n]);
        test_end(&tests[n]);
    }
}

/* Thin rings in a box of 800 million cells: memory grows with the voxels. */
static void test_memory_grows_with_voxels(void **state) {
    (void)state;
    soup *s = &the_soup;
    begin(s);
    for (uint32_t n = 0; n < 3; n++)
        add_torus(s, 0, 0, n, 1.4, 0.02, 60);
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    px_arena *arena = px_arena_create(context);
    px_voxels v;
    px_grid grid = grid_of(s, 1024);
    double cells = (double)grid.size[0] * grid.size[1] * grid.size[2];
    test_ok(&test, make(context, arena, s, &grid, PX_VIEWS_ALL, &v));
    double peak = (double)pelt_context_memory(context).peak;
    assert_true(v.interior_count > 100000 && v.count < 2000000 && cells > 7e8);
    /* voxels; runs of rows; lines of a block of slices on each of two threads */
    assert_true(peak < 24.0 * v.count + 8.0 * grid.size[1] * grid.size[2] + 2 * 12.0 * 34 * grid.size[0] * 3);
    px_arena_destroy(arena);
    test_end(&test);
}

static void test_cancel_stops(void **state) {
    (void)state;
    begin(&the_soup);
    add_torus(&the_soup, 0, 0, 0, 1, 0.45, 9);
    test_context test;
    test_begin(&test, 1);
    atomic_store(&test.cancel_at, 2);
    assert_int_equal(run_all(test.context, &the_soup), PELT_ERROR_CANCELLED);
    test_end(&test);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_boxes),        cmocka_unit_test(test_on_planes),
        cmocka_unit_test(test_spheres),      cmocka_unit_test(test_rotated),
        cmocka_unit_test(test_many_shells),  cmocka_unit_test(test_coincident),
        cmocka_unit_test(test_hits),         cmocka_unit_test(test_soup),
        cmocka_unit_test(test_small),        cmocka_unit_test(test_views),
        cmocka_unit_test(test_inside_out),   cmocka_unit_test(test_memory_fails),
        cmocka_unit_test(test_threads),      cmocka_unit_test(test_memory_grows_with_voxels),
        cmocka_unit_test(test_cancel_stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
