/* Volumes of a jiggle's parts, and how much of the volume lost by blending is restored. */
#include "jiggle_arm.h"

/* ---- The cubic -------------------------------------------------------------------------------------------- */

static double cubic_of(const double c[4], double x) {
    return c[0] + c[1] * x + c[2] * x * x + c[3] * x * x * x;
}

static void cubics_have_their_root_nearest_to_zero(void **state) {
    (void)state;
    const struct {
        double c[4], root;
    } rows[] = {
        {{-0.1, 1, 0, 0}, 0.1},          /* a line */
        {{0.06, -0.5, 1, 0}, 0.2},       /* (x − 0.2)(x − 0.3) */
        {{-0.012, -0.08, 0.1, 1}, -0.2}, /* (x + 0.2)(x − 0.3)(x + 0.2): a double root */
        {{0.006, -0.11, 0.6, -1}, 0.1},  /* (0.1 − x)(0.2 − x)(0.3 − x) */
        {{0.5, 0, 1, 0}, 0},             /* no root, and 0 is the minimum */
        {{0.5, -0.2, 1, 0}, 0.1},        /* no root: the minimum */
        {{-5, 1, 0, 0}, 0.5},            /* root out of range: the bound */
        {{1, 0, 0, 0}, 0},               /* constant */
        {{0, 0, 0, 0}, 0},               /* already zero */
        {{0, -1, 3, 4}, 0},
        {{(double)NAN, 1, 0, 0}, 0},
        {{1, (double)INFINITY, 0, 0}, 0},
        {{1e300, 1e300, -1e300, 1e300}, -0.5},
    };
    for (size_t r = 0; r < PX_COUNT(rows); r++) {
        double root = px_cubic_nearest(rows[r].c, -0.5, 0.5);
        if (!(fabs(root - rows[r].root) < 1e-6))
            fail_msg("row %zu: %g instead of %g", r, root, rows[r].root);
    }
}

/* Against a search in small steps: |value| is as small as at any of them, and no step closer to 0 has a sign change. */
static void random_cubics_are_solved(void **state) {
    (void)state;
    test_random random = {7};
    for (int n = 0; n < 2000; n++) {
        double c[4], best = INFINITY;
        for (int e = 0; e < 4; e++)
            c[e] = test_random_real(&random, -1, 1) * (test_random_below(&random, 4) ? 1 : 1e-6);
        double found = px_cubic_nearest(c, -0.5, 0.5), off = fabs(cubic_of(c, found));
        assert_true(fabs(found) <= 0.5);
        for (int k = -500; k <= 500; k++)
            best = fmin(best, fabs(cubic_of(c, k * 1e-3)));
        assert_true(off <= best + 1e-9);
        for (int k = 0; off < 1e-9 && (k + 1) * 1e-3 < fabs(found); k++)
            for (int side = -1; side <= 1; side += 2)
                assert_true(cubic_of(c, side * k * 1e-3) * cubic_of(c, side * (k + 1) * 1e-3) > 0);
    }
}

/* ---- Blocks of cells made by hand ------------------------------------------------------------------------- */

#define SIDE 4u /* particles along a side */

typedef struct block_fixture {
    px_arena *arena;
    pelt_model model;
    px_jiggle_subject subject;
    px_lattice lattice;
    px_weight_table weights;
    px_jiggle_parts parts;
    px_primary primary;
} block_fixture;

/* A cube of cells of two joints that blend along y; one part, or one per particle. */
static pelt_result block_make(pelt_context *context, float cell, bool apart, block_fixture *f) {
    static uint32_t parents[2] = {PELT_NONE, 0};
    static pelt_affine inverses[2] = {{{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}}, {{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}}};
    const uint32_t count = SIDE * SIDE * SIDE, cells = (SIDE - 1) * (SIDE - 1) * (SIDE - 1);
    *f = (block_fixture){.arena = px_arena_create(context),
                         .model.skeleton = {.joint_count = 2, .parents = parents},
                         .lattice = {.cell = cell, .cell_count = cells, .particle_count = count}};
    if (!f->arena)
        return PELT_ERROR_MEMORY;
    f->subject = (px_jiggle_subject){.model = &f->model, .inverses = inverses};
    f->lattice.cells = px_arena_alloc(f->arena, cells, sizeof *f->lattice.cells);
    f->lattice.fills = px_arena_alloc(f->arena, cells, sizeof *f->lattice.fills);
    f->lattice.rest = PX_NEW(f->arena, float, 3 * count);
    f->lattice.links = (px_graph){.count = count, .firsts = PX_NEW(f->arena, uint32_t, count + 1)}; /* none */
    f->parts = (px_jiggle_parts){.parts = PX_NEW(f->arena, uint32_t, count),
                                 .part_count = apart ? count : 1,
                                 .joints = PX_NEW(f->arena, uint32_t, count),
                                 .halves = PX_NEW(f->arena, uint32_t, count)};
    if (!f->lattice.cells || !f->lattice.fills || !f->lattice.rest || !f->lattice.links.firsts || !f->parts.parts ||
        !f->parts.joints || !f->parts.halves)
        return PELT_ERROR_MEMORY;
    PX_TRY(px_weight_table_make(f->arena, count, 2, &f->weights));
    for (uint32_t p = 0; p < count; p++) {
        uint32_t place[3] = {p % SIDE, p / SIDE % SIDE, p / SIDE / SIDE};
        for (int c = 0; c < 3; c++)
            f->lattice.rest[3 * p + c] = cell * (float)place[c];
        px_weight_sum sum = {0};
        px_weight_sum_add(&sum, 0, 1 - place[1] / (SIDE - 1.0));
        px_weight_sum_add(&sum, 1, place[1] / (SIDE - 1.0));
        px_weight_sum_store(&sum, &f->weights, p);
        f->parts.parts[p] = apart ? p : 0;
        f->parts.joints[p] = apart ? p % 2 : 1;
    }
    for (uint32_t i = 0; i < cells; i++)
        for (uint32_t c = 0; c < 8; c++) {
            uint32_t x = i % (SIDE - 1), y = i / (SIDE - 1) % (SIDE - 1), z = i / (SIDE - 1) / (SIDE - 1);
            f->lattice.cells[i][c] = x + (c & 1) + SIDE * (y + (c >> 1 & 1)) + SIDE * SIDE * (z + (c >> 2));
            f->lattice.fills[i][c] = 1;
        }
    pelt_jiggle_desc desc = pelt_jiggle_desc_default();
    return px_primary_make(f->arena, &f->subject, &f->lattice, &f->weights, &f->parts, &desc, &f->primary);
}

/* Eq. 7 at rest: eight octants inside, four on a face, two on an edge, one at a corner, to the last bit. */
static void undeformed_particles_have_the_volume_of_cells(void **state) {
    (void)state;
    test_context test;
    block_fixture f;
    const float cells[] = {1, 0.5f, 0.1f};
    for (size_t e = 0; e < PX_COUNT(cells); e++) {
        test_ok(&test, block_make(test_begin(&test, 1), cells[e], true, &f));
        double volumes[SIDE * SIDE * SIDE], cube = (double)cells[e] * (double)cells[e] * (double)cells[e];
        px_primary_volumes(&f.primary, f.primary.pass.rest, volumes);
        for (uint32_t p = 0; p < SIDE * SIDE * SIDE; p++) {
            uint32_t place[3] = {p % SIDE, p / SIDE % SIDE, p / SIDE / SIDE};
            double wanted = cube;
            for (int c = 0; c < 3; c++)
                wanted *= place[c] == 0 || place[c] == SIDE - 1 ? 0.5 : 1;
            if (e < 2)
                assert_true(volumes[p] == wanted);
            assert_true(fabs(volumes[p] - wanted) <= 1e-6 * cube);
        }
        px_arena_destroy(f.arena);
        test_end(&test);
    }
}

/* Octants of deformed cells: exact where a closed form is known. */
static void volumes_are_those_of_trilinear_cells(void **state) {
    (void)state;
    test_context test;
    block_fixture f;
    test_ok(&test, block_make(test_begin(&test, 1), 1, false, &f));
    float positions[4 * SIDE * SIDE * SIDE];
    double volume, h = SIDE - 1;
    for (int kind = 0; kind < 3; kind++) {
        for (size_t p = 0; p < SIDE * SIDE * SIDE; p++) {
            const float *rest = f.lattice.rest + 3 * p;
            double x = rest[0], y = rest[1], z = rest[2], t = 0.3 * y;
            const double places[3][3] = {{-x, y, z},                                             /* mirrored */
                                         {x * (1 + y), y, z * (1 + y)},                          /* a funnel */
                                         {x * cos(t) + z * sin(t), y, z * cos(t) - x * sin(t)}}; /* twisted */
            for (int c = 0; c < 3; c++)
                positions[4 * p + c] = (float)places[kind][c];
        }
        px_primary_volumes(&f.primary, positions, &volume);
        double layer = (2 + cos(0.3)) / 3; /* of a prism whose ends are turned against each other by 0.3 */
        const double wanted[3] = {-h * h * h, h * h * ((1 + h) * (1 + h) * (1 + h) - 1) / 3, h * h * h * layer};
        if (!(fabs(volume - wanted[kind]) < 1e-5 * fabs(wanted[kind])))
            fail_msg("kind %d: %.9g instead of %.9g", kind, volume, wanted[kind]);
    }
    px_arena_destroy(f.arena);
    test_end(&test);
}

static pelt_result make_and_drop(pelt_context *context, void *user) {
    (void)user;
    block_fixture f;
    pelt_result result = block_make(context, 1, false, &f);
    px_arena_destroy(f.arena);
    return result;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    test_fail_each_allocation(1, make_and_drop, NULL);
}

/* ---- The mesh's own volume -------------------------------------------------------------------------------- */

static double triangle_volume(const double a[3], const double b[3], const double c[3]) {
    return (a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) +
            a[2] * (b[0] * c[1] - b[1] * c[0])) /
           6;
}

static void take(const float *positions, uint32_t vertex, double out[3]) {
    for (int c = 0; c < 3; c++)
        out[c] = (double)positions[3 * (size_t)vertex + c];
}

/* A directed edge of triangles, between welded vertices. */
typedef struct mesh_edge {
    uint32_t a, b;   /* welded */
    uint32_t va, vb; /* vertices */
} mesh_edge;

static int compare_edges(const void *x, const void *y) {
    const mesh_edge *p = x, *q = y;
    return p->a != q->a ? (p->a > q->a) - (p->a < q->a) : (p->b > q->b) - (p->b < q->b);
}

/* The volume of a mesh between two heights at rest, cut there and closed by triangle fans about the centres of the
 * cuts. */
static double mesh_volume(const pelt_mesh *mesh, const float *positions, double low, double high) {
    mesh_edge *edges = malloc(3 * (size_t)mesh->triangle_count * sizeof *edges);
    size_t count = 0;
    double volume = 0, middles[2][4] = {{0}};
    for (size_t t = 0; t < mesh->triangle_count; t++) {
        const uint32_t *v = mesh->triangles + 3 * t;
        double p[3][3], y = 0;
        for (int k = 0; k < 3; k++) {
            take(positions, v[k], p[k]);
            y += (double)mesh->positions[3 * (size_t)v[k] + 1] / 3;
        }
        if (y < low || y >= high)
            continue;
        volume += triangle_volume(p[0], p[1], p[2]);
        for (int k = 0; k < 3; k++)
            edges[count++] = (mesh_edge){mesh->weld.of[v[k]], mesh->weld.of[v[(k + 1) % 3]], v[k], v[(k + 1) % 3]};
    }
    qsort(edges, count, sizeof *edges, compare_edges);
    for (int pass = 0; pass < 2; pass++)
        for (size_t e = 0; e < count; e++) {
            mesh_edge back = {edges[e].b, edges[e].a, 0, 0};
            if (bsearch(&back, edges, count, sizeof *edges, compare_edges))
                continue;
            double a[3], b[3],
                *middle = middles[(double)mesh->positions[3 * (size_t)edges[e].va + 1] > (low + high) / 2];
            take(positions, edges[e].va, a);
            take(positions, edges[e].vb, b);
            for (int c = 0; c < 3 && pass == 0; c++)
                middle[c] += a[c];
            middle[3] += pass == 0;
            double m[3] = {middle[0] / middle[3], middle[1] / middle[3], middle[2] / middle[3]};
            if (pass == 1)
                volume += triangle_volume(b, a, m);
        }
    free(edges);
    return volume;
}

/* ---- The centre line -------------------------------------------------------------------------------------- */

#define SLICES 48

/* Centres of slices of the mesh across y at rest. */
static void find_middles(const pelt_mesh *mesh, const float *positions, double out[SLICES][3]) {
    double counts[SLICES] = {0};
    memset(out, 0, SLICES * sizeof *out);
    for (uint32_t i = 0; i < mesh->vertex_count; i++) {
        double y = (double)mesh->positions[3 * (size_t)i + 1], p[3];
        int slice = (int)fmin(fmax(y / 3.3 * SLICES, 0), SLICES - 1);
        take(positions, i, p);
        counts[slice]++;
        for (int c = 0; c < 3; c++)
            out[slice][c] += p[c];
    }
    for (int s = 0; s < SLICES; s++)
        for (int c = 0; c < 3; c++)
            out[s][c] /= counts[s];
}

static double distance3(const double a[3], const double b[3]) {
    double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    return px_length3(d);
}

/* Consecutive steps turn by less than a right angle, and non-adjacent points are more than a step apart: the line
 * neither turns back nor crosses itself. */
static bool is_simple(double line[SLICES][3], double step) {
    for (int s = 1; s + 1 < SLICES; s++) {
        double dot = 0;
        for (int c = 0; c < 3; c++)
            dot += (line[s][c] - line[s - 1][c]) * (line[s + 1][c] - line[s][c]);
        if (!(dot > 0))
            return false;
    }
    for (int s = 0; s < SLICES; s++)
        for (int r = s + 3; r < SLICES; r++)
            if (distance3(line[s], line[r]) < step)
                return false;
    return true;
}

static void centre_lines_that_cross_are_seen(void **state) {
    (void)state;
    double line[SLICES][3] = {{0}}, swap;
    for (int s = 0; s < SLICES; s++)
        line[s][1] = s;
    assert_true(is_simple(line, 1));
    swap = line[20][1], line[20][1] = line[21][1], line[21][1] = swap;
    assert_false(is_simple(line, 1));
    for (int s = 0; s < SLICES; s++) { /* a loop that meets itself */
        line[s][0] = 10 * cos(s * 0.15);
        line[s][1] = 10 * sin(s * 0.15);
    }
    assert_false(is_simple(line, 1));
}

/* ---- The bar ---------------------------------------------------------------------------------------------- */

typedef struct pose_row {
    const char *name;
    uint32_t joint;
    int axis;
    double degrees;
    double low, high; /* the tissue around the joint, along y */
} pose_row;

static const pose_row poses[] = {
    {"elbow 90", ARM_ELBOW, 0, 90, 1.1, 2.1},
    {"wrist twisted 180", ARM_WRIST, 1, 180, 2.1, 3},
};

/* At least 80 % of the volume lost by blending must be restored, in the whole mesh and around the joint. */
static void check_pose(arm_test *t, const pose_row *row) {
    const pelt_mesh *mesh = &t->model->mesh;
    float *positions = malloc(3 * sizeof(float) * mesh->vertex_count);
    double volumes[3][2], line[SLICES][3];
    memcpy(t->locals, t->model->skeleton.rest, sizeof t->locals);
    for (int n = 0; n < 3; n++) { /* at rest, blended, kept */
        px_mesh_embedding_run(&t->jiggle->mesh, arm_move(t, n == 1 ? 0 : 1), positions, NULL);
        volumes[n][0] = mesh_volume(mesh, positions, -1, 5);
        volumes[n][1] = mesh_volume(mesh, positions, row->low, row->high);
        if (n == 0)
            arm_turn(t->locals, row->joint, row->axis, row->degrees);
    }
    find_middles(mesh, positions, line);
    assert_true(is_simple(line, 3.3 / SLICES));
    for (int part = 0; part < 2; part++) {
        double lost = volumes[0][part] - volumes[1][part], left = fabs(volumes[0][part] - volumes[2][part]);
        printf("%5u particles, %s, %s: %.2f %% lost, %.3f %% left, %.1f %% back\n", t->jiggle->lattice.particle_count,
               row->name, part ? "around the joint" : "all", 100 * lost / volumes[0][part],
               100 * left / volumes[0][part], 100 - 100 * left / lost);
        assert_true(lost > 0.01 * volumes[0][part]);
        assert_true(left < 0.2 * lost);
    }
    free(positions);
}

static void volume_comes_back(void **state) {
    (void)state;
    const uint32_t sizes[] = {600, 2000};
    for (pelt_jiggle_weights w = PELT_JIGGLE_WEIGHTS_SKIN; w <= PELT_JIGGLE_WEIGHTS_LATTICE; w++)
        for (size_t e = 0; e < PX_COUNT(sizes); e++) {
            arm_test t;
            arm_begin(&t, sizes[e], w);
            for (size_t k = 0; k < PX_COUNT(poses); k++)
                check_pose(&t, &poses[k]);
            arm_end(&t);
        }
}

/* Octants are weighted by the share that the mesh fills: their sum is about its volume, to the accuracy of voxels. */
static void parts_add_up_to_the_mesh(void **state) {
    (void)state;
    const uint32_t sizes[] = {600, 2000};
    for (size_t e = 0; e < PX_COUNT(sizes); e++) {
        arm_test t;
        arm_begin(&t, sizes[e], PELT_JIGGLE_WEIGHTS_SKIN);
        double sum = 0, whole = mesh_volume(&t.model->mesh, t.jiggle->subject.positions, -1, 5);
        for (uint32_t k = 0; k < t.jiggle->primary.part_count; k++)
            sum += t.jiggle->primary.parts[k].rest;
        assert_true(fabs(sum / whole - 1) < 0.05);
        arm_end(&t);
    }
}

/* Half the amount: between blending and full preservation, in every part. */
static void the_amount_is_adjustable(void **state) {
    (void)state;
    arm_test t;
    arm_begin(&t, 2000, PELT_JIGGLE_WEIGHTS_SKIN);
    arm_turn(t.locals, ARM_ELBOW, 0, 90);
    pelt_jiggle_volume volumes[ARM_JOINTS];
    double last = -1;
    for (float amount = 0; amount <= 1; amount += 0.25f) {
        arm_move(&t, amount);
        px_primary_report(&t.jiggle->primary, volumes);
        for (uint32_t k = 0; k < t.jiggle->primary.part_count; k++)
            if (volumes[k].joint == ARM_ELBOW) {
                assert_true(volumes[k].after > last && volumes[k].after < volumes[k].rest * 1.0001);
                last = volumes[k].after;
                if (amount == 0)
                    assert_true(volumes[k].after == volumes[k].before);
            }
    }
    arm_end(&t);
}

/* ---- All parts at once ------------------------------------------------------------------------------------ */

static void bend_all(arm_test *t, double degrees) {
    memcpy(t->locals, t->model->skeleton.rest, sizeof t->locals);
    arm_turn(t->locals, ARM_SHOULDER, 2, degrees);
    arm_turn(t->locals, ARM_ELBOW, 0, degrees);
    arm_turn(t->locals, ARM_WRIST, 0, -degrees);
    arm_turn(t->locals, ARM_WRIST, 1, degrees);
}

/* A character of many short parts in its own motion: every part that blending changes by more than 5 %, the root's
 * included, is within 1 % of its rest volume, although each affects its neighbours. */
static void every_part_keeps_its_volume(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    pelt_model *model;
    pelt_jiggle *j;
    pelt_jiggle_desc desc = pelt_jiggle_desc_default();
    desc.particles = 1000;
    test_ok(&test,
            scene_find("production")->make(context, &(scene_desc){.vertex_count = 6000, .frame_count = 31}, &model));
    test_ok(&test, pelt_jiggle_create(context, model, &desc, &j));
    uint32_t changed = 0;
    double worst = 0;
    for (int n = 0; n <= 10; n++) {
        const pelt_motion *motion = &model->motions[0];
        pelt_motion_sample(model, motion, motion->start + (float)n / 10 * (motion->end - motion->start), j->locals,
                           NULL);
        pelt_skeleton_globals(&model->skeleton, j->locals, j->globals);
        px_primary_move(&j->primary, j->globals, 1);
        pelt_jiggle_report report = pelt_jiggle_get_report(j);
        for (uint32_t k = 0; k < report.volume_count; k++) {
            const pelt_jiggle_volume *v = &report.volumes[k];
            if (!(v->rest > 0) || fabs(v->before / v->rest - 1) < 0.05)
                continue;
            changed++;
            worst = fmax(worst, fabs(v->after / v->rest - 1));
            if (!(fabs(v->after / v->rest - 1) < 0.01))
                fail_msg("moment %d, %s: %.2f %% blended, %.2f %% after", n, model->skeleton.names[v->joint],
                         100 * v->before / v->rest - 100, 100 * v->after / v->rest - 100);
        }
    }
    printf("%u parts changed, at most %.3f %% is left\n", changed, 100 * worst);
    assert_true(changed > 20);
    pelt_jiggle_destroy(j);
    pelt_model_destroy(model);
    test_end(&test);
}

/* Warm-starting from the previous pose saves time and does not change the result. */
static void poses_do_not_depend_on_those_before(void **state) {
    (void)state;
    arm_test t;
    arm_begin(&t, 600, PELT_JIGGLE_WEIGHTS_SKIN);
    size_t size = 4 * sizeof(float) * t.jiggle->lattice.particle_count;
    float *first = malloc(size);
    bend_all(&t, 70);
    memcpy(first, arm_move(&t, 1), size);
    for (int n = 0; n < 6; n++) {
        bend_all(&t, n % 3 * 50);
        arm_move(&t, 1);
        bend_all(&t, 70);
        assert_memory_equal(arm_move(&t, 1), first, size);
    }
    free(first);
    arm_end(&t);
}

/* ---- Thin tissue ------------------------------------------------------------------------------------------- */

/* Position of a vertex by the coarse lattice alone. */
static void coarse_place(const pelt_jiggle *j, const float *skin, size_t vertex, double out[3]) {
    memset(out, 0, 3 * sizeof *out);
    for (int k = 0; k < 8; k++) {
        const float *place = j->lattice.vertex_places + 3 * vertex;
        double share = 1;
        for (int c = 0; c < 3; c++)
            share *= (double)(k >> c & 1 ? place[c] : 1 - place[c]);
        for (int c = 0; c < 3; c++)
            out[c] += share * (double)skin[4 * (size_t)j->lattice.cells[j->lattice.vertex_cells[vertex]][k] + c];
    }
}

/* Fingers thinner than cells: exact at rest, and in a pose at least twice as close to their own skin as with the coarse
 * lattice. */
static void thin_tissue_follows_its_skin(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    pelt_model *model;
    pelt_jiggle *j;
    pelt_jiggle_desc desc = pelt_jiggle_desc_default();
    desc.particles = 1000;
    desc.delta = 0;
    test_ok(&test,
            scene_find("production")->make(context, &(scene_desc){.vertex_count = 6000, .frame_count = 31}, &model));
    test_ok(&test, pelt_jiggle_create(context, model, &desc, &j));
    assert_true(j->detail.lattice.particle_count > 0);
    size_t floats = 3 * (size_t)model->mesh.vertex_count;
    float *positions = malloc(floats * sizeof *positions), *blended = malloc(floats * sizeof *blended);
    pelt_jiggle_positions(j, positions, NULL);
    for (size_t e = 0; e < floats; e++)
        assert_true(fabs((double)(positions[e] - j->subject.positions[e])) < 1e-5);
    float time = (model->motions[0].start + model->motions[0].end) / 2;
    pelt_motion_sample(model, &model->motions[0], time, j->locals, NULL);
    pelt_jiggle_set_pose(j, j->locals);
    pelt_jiggle_positions(j, positions, NULL);
    test_ok(&test, pelt_model_pose(context, model, &model->motions[0], time, PELT_SKINNING_LINEAR, blended, NULL));
    double fine = 0, coarse = 0;
    for (size_t i = 0; i < model->mesh.vertex_count; i++) {
        double place[3], at[3], skin[3];
        if (j->detail.lattice.vertex_cells[i] == PELT_NONE)
            continue;
        coarse_place(j, j->skin, i, place);
        take(positions, (uint32_t)i, at);
        take(blended, (uint32_t)i, skin);
        fine += distance3(at, skin) * distance3(at, skin);
        coarse += distance3(place, skin) * distance3(place, skin);
    }
    printf("from the skin: %.4f cells, with the coarse lattice %.4f\n", sqrt(fine) / (double)j->lattice.cell,
           sqrt(coarse) / (double)j->lattice.cell);
    assert_true(sqrt(fine) < 0.5 * sqrt(coarse));
    free(positions);
    free(blended);
    pelt_jiggle_destroy(j);
    pelt_model_destroy(model);
    test_end(&test);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cubics_have_their_root_nearest_to_zero),
        cmocka_unit_test(random_cubics_are_solved),
        cmocka_unit_test(undeformed_particles_have_the_volume_of_cells),
        cmocka_unit_test(volumes_are_those_of_trilinear_cells),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(centre_lines_that_cross_are_seen),
        cmocka_unit_test(volume_comes_back),
        cmocka_unit_test(parts_add_up_to_the_mesh),
        cmocka_unit_test(the_amount_is_adjustable),
        cmocka_unit_test(every_part_keeps_its_volume),
        cmocka_unit_test(poses_do_not_depend_on_those_before),
        cmocka_unit_test(thin_tissue_follows_its_skin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
