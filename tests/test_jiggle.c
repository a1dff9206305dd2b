/* The stepping API: at rest the result is the skin; frequency and amplitude match the settings; results do not depend
 * on the step size; no input makes it diverge. */
#include "core/rotation.h"
#include "jiggle/object.h"
#include "scenes.h"
#include "support.h"

#define VERTICES  1500u
#define PARTICLES 500u

typedef struct fixture {
    test_context test;
    pelt_model *model;
    pelt_jiggle *jiggle;
    pelt_transform *locals;              /* [joint] a pose that tests change */
    float *positions, *normals, *others; /* [vertex][3] */
    size_t floats;                       /* of these */
} fixture;

static void begin(fixture *f, const pelt_jiggle_desc *desc, float scale) {
    pelt_context *context = test_begin(&f->test, 1);
    test_ok(&f->test, scene_find("troll")->make(context, &(scene_desc){VERTICES, 30, 1}, &f->model));
    for (size_t e = 0; e < 3 * (size_t)f->model->mesh.vertex_count; e++)
        f->model->mesh.positions[e] *= scale;
    for (uint32_t j = 0; j < f->model->skeleton.joint_count; j++)
        for (int c = 0; c < 3; c++)
            f->model->skeleton.rest[j].translation[c] *= scale;
    for (uint32_t b = 0; b < f->model->skin.bone_count; b++)
        for (int r = 0; r < 3; r++)
            f->model->skin.inverse_binds[b].m[4 * r + 3] *= scale;
    test_ok(&f->test, pelt_jiggle_create(context, f->model, desc, &f->jiggle));
    f->floats = 3 * (size_t)f->model->mesh.vertex_count;
    f->locals = test_malloc(f->model->skeleton.joint_count * sizeof *f->locals);
    memcpy(f->locals, f->model->skeleton.rest, f->model->skeleton.joint_count * sizeof *f->locals);
    float **arrays[] = {&f->positions, &f->normals, &f->others};
    for (size_t n = 0; n < PX_COUNT(arrays); n++)
        *arrays[n] = test_malloc(f->floats * sizeof(float));
}

static void end(fixture *f) {
    test_free(f->locals);
    test_free(f->positions);
    test_free(f->normals);
    test_free(f->others);
    pelt_jiggle_destroy(f->jiggle);
    pelt_model_destroy(f->model);
    test_end(&f->test);
}

static pelt_jiggle_desc small(void) {
    pelt_jiggle_desc desc = pelt_jiggle_desc_default();
    desc.frequency = 8; /* softer than the default, so that motion is measurable */
    desc.damping = 4;
    desc.particles = PARTICLES;
    desc.softness = PELT_JIGGLE_SOFTNESS_EVEN;
    return desc;
}

static double largest_difference(const float *a, const float *b, size_t count) {
    double largest = 0;
    for (size_t e = 0; e < count; e++)
        largest = fmax(largest, fabs((double)a[e] - (double)b[e]));
    return largest;
}

/* A pose of the scene's own motion. */
static void sample(fixture *f, float time) {
    pelt_motion_sample(f->model, &f->model->motions[0], time, f->locals, NULL);
}

/* Largest distance of shown particles from the skin, in cells. */
static double farthest(const pelt_jiggle *j) {
    double most = 0;
    for (size_t p = 0; p < j->lattice.particle_count; p++) {
        double sum = 0;
        for (size_t c = 0; c < 3; c++)
            sum += pow((double)j->shown[4 * p + c] - (double)j->skin[4 * p + c], 2);
        most = sum > most || isnan(sum) ? sum : most;
    }
    return sqrt(most) / (double)j->lattice.cell;
}

static void run(pelt_jiggle *jiggle, double seconds, double step) {
    for (double n = 0; n < seconds / step - 1e-6; n++)
        pelt_jiggle_step(jiggle, step);
}

/* ---- Rest ------------------------------------------------------------------------------------------------- */

static void rest_is_the_mesh(void **state) {
    (void)state;
    fixture f;
    pelt_jiggle_desc desc = small();
    begin(&f, &desc, 1);
    pelt_jiggle_positions(f.jiggle, f.positions, f.normals);
    assert_true(largest_difference(f.positions, f.model->mesh.positions, f.floats) < 1e-6);
    assert_true(largest_difference(f.normals, f.model->mesh.normals, f.floats) < 1e-5);
    end(&f);
}

/* In any constant pose, exact to the last bit. */
static void a_held_pose_is_a_fixed_point(void **state) {
    (void)state;
    for (int bent = 0; bent < 2; bent++) {
        fixture f;
        pelt_jiggle_desc desc = small();
        desc.stiffness = 1.5;
        begin(&f, &desc, 1);
        if (bent)
            sample(&f, 0.3f);
        pelt_jiggle_set_pose(f.jiggle, f.locals);
        pelt_jiggle_positions(f.jiggle, f.positions, NULL);
        for (int n = 0; n < 50; n++) {
            pelt_jiggle_set_pose(f.jiggle, f.locals);
            pelt_jiggle_step(f.jiggle, 1.0 / 60);
        }
        pelt_jiggle_positions(f.jiggle, f.others, NULL);
        assert_memory_equal(f.positions, f.others, f.floats * sizeof(float));
        end(&f);
    }
}

/* δ = 0, or all particles pinned: the result is the skin at every time. */
static void without_delta_there_is_only_the_skin(void **state) {
    (void)state;
    fixture f, plain;
    pelt_jiggle_desc desc = small();
    desc.delta = 0;
    begin(&plain, &desc, 1);
    desc.delta = 0.9;
    begin(&f, &desc, 1);
    float *ones = test_malloc(f.floats * sizeof *ones);
    for (size_t i = 0; i < f.floats; i++)
        ones[i] = 1;
    pelt_jiggle_set_values(f.jiggle, NULL, 0, &(pelt_jiggle_maps){.pin = ones});
    assert_int_equal(pelt_jiggle_get_report(f.jiggle).pinned_count, f.jiggle->lattice.particle_count);
    for (int n = 0; n < 20; n++) {
        sample(&f, 0.1f * (float)n);
        pelt_jiggle_set_pose(f.jiggle, f.locals);
        pelt_jiggle_set_pose(plain.jiggle, f.locals);
        pelt_jiggle_step(f.jiggle, 0.013);
        pelt_jiggle_step(plain.jiggle, 0.013);
        pelt_jiggle_positions(f.jiggle, f.positions, NULL);
        pelt_jiggle_positions(plain.jiggle, f.others, NULL);
        assert_memory_equal(f.positions, f.others, f.floats * sizeof(float));
        assert_true(farthest(plain.jiggle) == 0);
    }
    test_free(ones);
    end(&f);
    end(&plain);
}

/* ---- Physics ---------------------------------------------------------------------------------------------- */

/* Free tissue oscillates as one at frequency · √(1 − δ), with the requested damping, for any substep. */
static void tissue_swings_as_told(void **state) {
    (void)state;
    static const double substeps[] = {1.0 / 60, 1.0 / 240, 1.0 / 480};
    for (size_t n = 0; n < PX_COUNT(substeps); n++) {
        fixture f;
        pelt_jiggle_desc desc = small();
        desc.bone_radius = 0;
        desc.frequency = 6;
        desc.delta = 0.75;
        desc.damping = 1;
        desc.substep = substeps[n];
        begin(&f, &desc, 1);
        pelt_jiggle_set_pose(f.jiggle, f.locals);
        for (size_t p = 0; p < f.jiggle->lattice.particle_count; p++)
            f.jiggle->swing.pass.u[4 * p] = 1;
        float before = 1;
        double time = 0, first = 0, last = 0, crossings = 0, highest = 0;
        while (time < 4) {
            pelt_jiggle_step(f.jiggle, substeps[n]);
            time += substeps[n];
            float now = f.jiggle->swing.pass.u[0];
            if ((now < 0) != (before < 0)) {
                last = time - substeps[n] * (double)(now / (now - before));
                first = crossings++ == 0 ? last : first;
            }
            if (time > 3)
                highest = fmax(highest, fabs((double)now));
            before = now;
        }
        double frequency = (crossings - 1) / 2 / (last - first);
        printf("substep %g: %.3f Hz, amplitude %.3f after 3 s\n", substeps[n], frequency, highest);
        assert_true(fabs(frequency - 3) < 0.06);
        assert_true(highest > 0.19 && highest < 0.24); /* exp(−3 / 2) = 0.223, and less at the first peak after it */
        end(&f);
    }
}

/* The rest pose was modelled under gravity. Lying on its side, free tissue sags by δ |g − R g| / (ω² (1 − δ)). */
static void gravity_leaves_the_rest_pose_alone(void **state) {
    (void)state;
    fixture f;
    pelt_jiggle_desc desc = small();
    desc.bone_radius = 0;
    desc.delta = 0.8;
    desc.forces.gravity[1] = -9.81f;
    begin(&f, &desc, 1);
    pelt_jiggle_set_pose(f.jiggle, f.locals);
    run(f.jiggle, 1, 1.0 / 60);
    assert_true(farthest(f.jiggle) < 1e-5);
    px_rotation lying = px_rotation_mul(px_rotation_about(2, 90 * PX_DEGREE), px_rotation_of(f.locals[0].rotation));
    px_rotation_store(lying, f.locals[0].rotation);
    pelt_jiggle_reset(f.jiggle);
    pelt_jiggle_set_pose(f.jiggle, f.locals);
    run(f.jiggle, 8, 1.0 / 60);
    double omega = 2 * 180 * PX_DEGREE * desc.frequency, a = 0.8 * 9.81 / (omega * omega * 0.2);
    const float *shown = f.jiggle->shown, *skin = f.jiggle->skin;
    printf("sags by %g, %g; should by %g\n", (double)(shown[0] - skin[0]), (double)(shown[1] - skin[1]), a);
    assert_true(fabs((double)(shown[1] - skin[1]) + a) < 0.005 * a);
    assert_true(fabs((double)(shown[0] - skin[0]) + a) < 0.005 * a); /* g − R g has both */
    end(&f);
}

/* Moving air pushes by drag · wind; still air slows moving tissue. */
static void wind_pushes(void **state) {
    (void)state;
    fixture f;
    pelt_jiggle_desc desc = small();
    desc.bone_radius = 0;
    desc.delta = 0.5;
    begin(&f, &desc, 1);
    pelt_jiggle_set_pose(f.jiggle, f.locals);
    pelt_jiggle_set_forces(f.jiggle, &(pelt_jiggle_forces){.wind = {0, 0, 2}, .drag = 3});
    run(f.jiggle, 4, 1.0 / 60);
    double omega = 2 * 180 * PX_DEGREE * desc.frequency, a = 0.5 * 2 * 3 / (omega * omega * 0.5);
    assert_true(fabs((double)(f.jiggle->shown[2] - f.jiggle->skin[2]) - a) < 0.02 * a);
    /* The body moves at the wind's speed against it: the same lag. */
    pelt_jiggle_set_forces(f.jiggle, &(pelt_jiggle_forces){.drag = 3});
    float start = f.locals[0].translation[2];
    for (int k = 0; k < 4 * 60; k++) {
        f.locals[0].translation[2] = start - 2 * (float)k / 60;
        pelt_jiggle_set_pose(f.jiggle, f.locals);
        pelt_jiggle_step(f.jiggle, 1.0 / 60);
    }
    assert_true(fabs((double)(f.jiggle->shown[2] - f.jiggle->skin[2]) - a) < 0.02 * a);
    end(&f);
}

/* ---- Time ------------------------------------------------------------------------------------------------- */

/* A rig that bounces at 1.5 Hz and bows. */
static void bounce(fixture *f, double time) {
    double turn = 360 * PX_DEGREE * 1.5 * time;
    f->locals[0].translation[1] = f->model->skeleton.rest[0].translation[1] + (float)(0.1 * (1 - cos(turn)));
    px_rotation_store(px_rotation_about(0, 0.3 * (1 - cos(turn / 2))), f->locals[2].rotation);
}

/* Frames at substep boundaries, and between them. */
static void frames_per_second_do_not_matter(void **state) {
    (void)state;
    static const int rates[] = {240, 120, 60, 30, 90, 210};
    enum { SHOTS = 60 };
    float *first = NULL;
    double amplitude = 0;
    for (size_t n = 0; n < PX_COUNT(rates); n++) {
        fixture f;
        pelt_jiggle_desc desc = small();
        begin(&f, &desc, 1);
        size_t count = 4 * (size_t)f.jiggle->lattice.particle_count;
        first = first ? first : test_malloc(SHOTS * count * sizeof *first);
        double worst = 0;
        for (int k = 0; k <= SHOTS * rates[n] / 30; k++) {
            bounce(&f, (double)k / rates[n]);
            pelt_jiggle_set_pose(f.jiggle, f.locals);
            if (k > 0)
                pelt_jiggle_step(f.jiggle, 1.0 / rates[n]);
            if (k == 0 || k % (rates[n] / 30) != 0)
                continue;
            float *shot = first + count * (size_t)(k / (rates[n] / 30) - 1);
            if (n == 0) {
                memcpy(shot, f.jiggle->shown, count * sizeof *shot);
                amplitude = fmax(amplitude, farthest(f.jiggle) * (double)f.jiggle->lattice.cell);
            }
            worst = fmax(worst, largest_difference(shot, f.jiggle->shown, count));
        }
        printf("%d fps: off by %.3f %% of the amplitude %g\n", rates[n], 100 * worst / amplitude, amplitude);
        assert_true(amplitude > 0.01);
        assert_true(worst < 0.02 * amplitude);
        end(&f);
    }
    test_free(first);
}

static void stepping_never_allocates(void **state) {
    (void)state;
    fixture f;
    pelt_jiggle_desc desc = small();
    pelt_collider ball = {.kind = PELT_COLLIDER_SPHERE, .joint = 1, .radius = 0.2f};
    desc.collider_count = 1;
    desc.colliders = &ball;
    desc.max_distance = 0.3;
    desc.forces = (pelt_jiggle_forces){{0, -9.81f, 0}, {1, 0, 0}, 1};
    begin(&f, &desc, 1);
    uint64_t before = pelt_context_memory(f.test.context).count;
    float *map = test_malloc(f.floats * sizeof *map);
    for (size_t e = 0; e < f.floats; e++)
        map[e] = 0.01f * (float)(e % 100);
    for (int n = 0; n < 30; n++) {
        sample(&f, 0.07f * (float)n);
        pelt_jiggle_set_pose(f.jiggle, f.locals);
        pelt_jiggle_set_forces(f.jiggle, &desc.forces);
        pelt_jiggle_set_collider(f.jiggle, 0, &ball);
        pelt_jiggle_set_values(f.jiggle, &(pelt_jiggle_joint){1, 3, 2, 12, 1, 0, 1, 1}, 1,
                               &(pelt_jiggle_maps){.stiffness = map, .damping = map, .delta = map, .pin = map});
        pelt_jiggle_step(f.jiggle, 0.011);
        pelt_jiggle_positions(f.jiggle, f.positions, f.normals);
        pelt_jiggle_get_report(f.jiggle);
        if (n == 15)
            pelt_jiggle_reset(f.jiggle);
    }
    assert_int_equal(pelt_context_memory(f.test.context).count, before);
    test_free(map);
    end(&f);
}

/* ---- Robustness ------------------------------------------------------------------------------------------- */

typedef enum start { RANDOM, FLATTENED, INVERTED, BROKEN, START_COUNT } start;

static void start_from(pelt_jiggle *j, start kind, test_random *random) {
    for (size_t p = 0; p < j->lattice.particle_count; p++)
        for (size_t c = 0; c < 3; c++) {
            double skin = (double)j->skin[4 * p + c] / (double)j->lattice.cell;
            double u[START_COUNT] = {test_random_real(random, -100, 100), c == 1 ? -skin : 0, -2 * skin,
                                     p % 5 ? 1e30 : (double)NAN};
            j->swing.pass.u[4 * p + c] = (float)u[kind];
        }
}

/* Back within 1 % of a cell after 5 s, for every start, size, substep and step. */
static void everything_recovers(void **state) {
    (void)state;
    static const struct {
        float scale;
        double substep;
    } rows[] = {{1, 1.0 / 15}, {1, 1.0 / 240}, {1000, 1.0 / 60}, {0.001f, 1.0 / 60}, {1, 1.0 / 1000}};
    static const double times[] = {1.0 / 15, 1.0 / 60, 1.0 / 30, 1.0 / 500};
    test_random random = {3};
    for (size_t n = 0; n < PX_COUNT(rows); n++) {
        fixture f;
        pelt_jiggle_desc desc = small();
        desc.particles = 200;
        desc.substep = rows[n].substep;
        begin(&f, &desc, rows[n].scale);
        pelt_jiggle_set_pose(f.jiggle, f.locals);
        for (start kind = RANDOM; kind < START_COUNT; kind++) {
            start_from(f.jiggle, kind, &random);
            run(f.jiggle, 5, times[(n + (size_t)kind) % PX_COUNT(times)]);
            if (!(farthest(f.jiggle) < 0.01))
                fail_msg("start %d, substep %g, scale %g: %g cells from the skin", (int)kind, desc.substep,
                         (double)rows[n].scale, farthest(f.jiggle));
        }
        end(&f);
    }
}

/* No anchors, no damping, highest and lowest stiffness: results stay finite. */
static void no_setting_breaks_it(void **state) {
    (void)state;
    test_random random = {5};
    for (int n = 0; n < 4; n++) {
        fixture f;
        pelt_jiggle_desc desc = small();
        desc.particles = 200;
        desc.delta = n < 2 ? 1 : 0.001;
        desc.stiffness = n % 2 ? 8 : 0.5;
        desc.bone_radius = desc.damping = desc.region_damping = 0;
        desc.frequency = 1000;
        desc.substep = 1.0 / 15;
        begin(&f, &desc, 1);
        start_from(f.jiggle, RANDOM, &random);
        run(f.jiggle, 20, 1.0 / 15);
        assert_true(farthest(f.jiggle) < 1000);
        end(&f);
    }
}

/* Poses that jump, are not finite or huge; the tissue recovers when the rig does. */
static void bad_poses_pass(void **state) {
    (void)state;
    fixture f;
    pelt_jiggle_desc desc = small();
    begin(&f, &desc, 1);
    pelt_jiggle_set_pose(f.jiggle, f.locals);
    run(f.jiggle, 0.1, 1.0 / 60);
    f.locals[0].translation[0] += 100;
    pelt_jiggle_set_pose(f.jiggle, f.locals);
    pelt_jiggle_step(f.jiggle, 1.0 / 60);
    assert_int_equal(pelt_jiggle_get_report(f.jiggle).teleport_count, 1);
    assert_true(farthest(f.jiggle) == 0);
    pelt_jiggle_positions(f.jiggle, f.positions, NULL);
    assert_true(f.positions[0] > 90);
    float others[] = {NAN, INFINITY, 1e38f, -1e30f};
    for (size_t n = 0; n < PX_COUNT(others); n++) {
        f.locals[3].translation[1] = others[n];
        pelt_jiggle_set_pose(f.jiggle, f.locals);
        run(f.jiggle, 0.05, 1.0 / 60);
        f.locals[3] = f.model->skeleton.rest[3];
        pelt_jiggle_set_pose(f.jiggle, f.locals);
        run(f.jiggle, 0.05, 1.0 / 60);
    }
    pelt_jiggle_step(f.jiggle, -1);
    pelt_jiggle_step(f.jiggle, (double)NAN);
    pelt_jiggle_step(f.jiggle, (double)INFINITY);
    run(f.jiggle, 4, 1.0 / 60);
    assert_true(farthest(f.jiggle) < 0.01);
    end(&f);
}

/* ---- Values, limits and colliders ------------------------------------------------------------------------- */

/* Shakes the rig hard; returns the largest distance of each half from the skin, in cells: below and above the chest. */
static void shake(fixture *f, double out[2]) {
    const px_lattice *l = &f->jiggle->lattice;
    out[0] = out[1] = 0;
    pelt_jiggle_reset(f->jiggle);
    for (int n = 0; n < 40; n++) {
        f->locals[0].translation[0] = f->model->skeleton.rest[0].translation[0] + 0.1f * (float)sin(0.5 * n);
        pelt_jiggle_set_pose(f->jiggle, f->locals);
        pelt_jiggle_step(f->jiggle, 1.0 / 60);
        for (size_t p = 0; p < l->particle_count; p++) {
            double *most = &out[l->rest[3 * p + 1] > 1.22f];
            for (size_t c = 0; c < 3; c++)
                *most = fmax(*most, fabs((double)(f->jiggle->shown[4 * p + c] - f->jiggle->skin[4 * p + c])) /
                                        (double)l->cell);
        }
    }
}

static void values_are_local(void **state) {
    (void)state;
    fixture f;
    pelt_jiggle_desc desc = small();
    begin(&f, &desc, 1);
    double plain[2], pinned[2], head[2], again[2], stiff[2];
    shake(&f, plain);
    float *map = test_malloc(f.floats * sizeof *map);
    for (size_t i = 0; i < f.floats / 3; i++)
        map[i] = f.model->mesh.positions[3 * i + 1] > 0.9f ? 1 : -1;
    pelt_jiggle_set_values(f.jiggle, NULL, 0, &(pelt_jiggle_maps){.pin = map});
    shake(&f, pinned);
    printf("cells from the skin, below and above: %g %g, pinned above %g %g\n", plain[0], plain[1], pinned[0],
           pinned[1]);
    assert_true(pinned[1] == 0 && pinned[0] > 0.05 && plain[1] > 0.05);
    pelt_jiggle_joint hips = pelt_jiggle_joint_default(0);
    hips.pin = 1;
    pelt_jiggle_set_values(f.jiggle, &hips, 1, NULL);
    shake(&f, head);
    assert_true(head[0] < plain[0] + 1e-6 && head[1] > 0.5 * plain[1]);
    for (size_t i = 0; i < f.floats / 3; i++)
        map[i] = 8;
    pelt_jiggle_set_values(f.jiggle, NULL, 0, &(pelt_jiggle_maps){.stiffness = map});
    shake(&f, stiff);
    assert_true(stiff[1] != plain[1]);
    pelt_jiggle_set_values(f.jiggle, NULL, 0, NULL);
    shake(&f, again);
    assert_memory_equal(again, plain, sizeof plain);
    test_free(map);
    end(&f);
}

static void max_distance_holds(void **state) {
    (void)state;
    fixture f;
    pelt_jiggle_desc desc = small();
    begin(&f, &desc, 1);
    double free[2], held[2];
    shake(&f, free);
    end(&f);
    desc.max_distance = 0.05;
    begin(&f, &desc, 1);
    shake(&f, held);
    double most = 0.05 / (double)f.jiggle->lattice.cell;
    printf("cells from the skin: %g, held %g of %g\n", fmax(free[0], free[1]), fmax(held[0], held[1]), most);
    assert_true(fmax(free[0], free[1]) > 1.2 * most);
    assert_true(fmax(held[0], held[1]) <= most * (1 + 1e-5));
    end(&f);
}

/* Penetration depth of vertices in a ball; 0: none. */
static double depth_in_ball(fixture *f, const float centre[3], double radius) {
    double deepest = 0;
    pelt_jiggle_positions(f->jiggle, f->positions, NULL);
    for (size_t i = 0; i < f->floats; i += 3) {
        double sum = 0;
        for (size_t c = 0; c < 3; c++)
            sum += pow((double)f->positions[i + c] - (double)centre[c], 2);
        deepest = fmax(deepest, radius - sqrt(sum));
    }
    return deepest;
}

/* A ball presses into the belly: most of the penetration is removed, and the tissue recovers fully afterwards. */
static void colliders_keep_tissue_out(void **state) {
    (void)state;
    static const pelt_collider kinds[] = {
        {.kind = PELT_COLLIDER_SPHERE, .joint = PELT_NONE, .a = {0, 0.8f, 0.9f}, .radius = 0.4f},
        {.kind = PELT_COLLIDER_CAPSULE,
         .joint = PELT_NONE,
         .a = {0, 0.8f, 0.9f},
         .b = {0, 0.81f, 0.95f},
         .radius = 0.4f},
        {.kind = PELT_COLLIDER_PLANE, .joint = PELT_NONE, .a = {0, 0, 0.5f}, .b = {0, 0, -3}, .friction = 0.5f}};
    for (size_t n = 0; n < PX_COUNT(kinds); n++) {
        fixture f;
        pelt_jiggle_desc desc = small();
        desc.particles = 1000;
        desc.bone_radius = 0; /* the bone in the belly would hold the particles fixed */
        desc.collider_count = 1;
        desc.colliders = &kinds[n];
        begin(&f, &desc, 1);
        pelt_jiggle_set_pose(f.jiggle, f.locals);
        bool plane = kinds[n].kind == PELT_COLLIDER_PLANE;
        float centre[3] = {0, 0.8f, plane ? 1e4f : 0.9f};
        double radius = plane ? 1e4 - 0.5 : 0.4, before = depth_in_ball(&f, centre, radius);
        run(f.jiggle, 1, 1.0 / 60);
        double after = depth_in_ball(&f, centre, radius);
        printf("collider %zu: %g deep, %g left\n", n, before, after);
        assert_true(before > 0.02);
        assert_true(after < 0.35 * before);
        pelt_collider far = kinds[n];
        far.a[2] = 100;
        far.b[2] = plane ? -1 : 100;
        pelt_jiggle_set_collider(f.jiggle, 0, &far);
        run(f.jiggle, 4, 1.0 / 60);
        assert_true(farthest(f.jiggle) < 0.01);
        end(&f);
    }
}

/* ---- Failing ---------------------------------------------------------------------------------------------- */

typedef void change_fn(pelt_jiggle_desc *desc);
static pelt_jiggle_joint twice[2];
static pelt_collider collider;
static float map[VERTICES * 4];

static void no_particles(pelt_jiggle_desc *d) {
    d->particles = 2;
}
static void too_stiff(pelt_jiggle_desc *d) {
    d->stiffness = 9;
}
static void no_number(pelt_jiggle_desc *d) {
    d->delta = (double)NAN;
}
static void no_time(pelt_jiggle_desc *d) {
    d->substep = 0;
}
static void other_weights(pelt_jiggle_desc *d) {
    d->weights = 7;
}
static void still_air(pelt_jiggle_desc *d) {
    d->forces.wind[1] = 1;
}
static void endless(pelt_jiggle_desc *d) {
    d->forces.gravity[1] = INFINITY;
}
static void backwards(pelt_jiggle_desc *d) {
    d->forces.drag = -1;
}
static void joint_twice(pelt_jiggle_desc *d) {
    twice[0] = twice[1] = pelt_jiggle_joint_default(3);
    d->joints = twice;
    d->joint_count = 2;
}
static void no_joint(pelt_jiggle_desc *d) {
    joint_twice(d);
    twice[1].joint = 1000;
}
static void too_soft(pelt_jiggle_desc *d) {
    joint_twice(d);
    d->joint_count = 1;
    twice[0].delta = 2;
}
static void cold(pelt_jiggle_desc *d) {
    joint_twice(d);
    d->joint_count = 1;
    twice[0].strength = 0;
}
static void with_collider(pelt_jiggle_desc *d, pelt_collider c) {
    collider = c;
    d->colliders = &collider;
    d->collider_count = 1;
}
static void no_shape(pelt_jiggle_desc *d) {
    with_collider(d, (pelt_collider){.kind = (pelt_collider_kind)5});
}
static void hangs_nowhere(pelt_jiggle_desc *d) {
    with_collider(d, (pelt_collider){.joint = 99});
}
static void hollow(pelt_jiggle_desc *d) {
    with_collider(d, (pelt_collider){.radius = -1});
}
static void sticky(pelt_jiggle_desc *d) {
    with_collider(d, (pelt_collider){.friction = 2});
}
static void no_side(pelt_jiggle_desc *d) {
    with_collider(d, (pelt_collider){.kind = PELT_COLLIDER_PLANE});
}
static void painted(pelt_jiggle_desc *d) {
    map[3] = 9;
    d->maps.pin = map;
}

static void bad_settings_get_sentences(void **state) {
    (void)state;
    static const struct {
        change_fn *change;
        const char *words;
    } rows[] = {{no_particles, "pelt_jiggle_desc.particles is 2"},
                {too_stiff, "pelt_jiggle_desc.stiffness is 9"},
                {no_number, "pelt_jiggle_desc.delta is"},
                {no_time, "pelt_jiggle_desc.substep is 0"},
                {other_weights, "pelt_jiggle_desc.weights is 7"},
                {still_air, "wind does nothing without drag"},
                {endless, "must be finite"},
                {backwards, "drag is -1"},
                {joint_twice, "has values twice"},
                {no_joint, "joint 1000"},
                {too_soft, "delta 2"},
                {cold, "strength 0"},
                {no_shape, "no sphere"},
                {hangs_nowhere, "hangs from joint 99"},
                {hollow, "radius 0 or more"},
                {sticky, "friction is 2"},
                {no_side, "needs a normal"},
                {painted, "pin of vertex 3 is 9"}};
    test_context test;
    pelt_model *model, *empty;
    pelt_jiggle *jiggle;
    pelt_context *context = test_begin(&test, 1);
    test_ok(&test, scene_find("troll")->make(context, &(scene_desc){VERTICES, 2, 1}, &model));
    for (size_t n = 0; n < PX_COUNT(rows); n++) {
        pelt_jiggle_desc desc = small();
        rows[n].change(&desc);
        test_fails(&test, pelt_jiggle_create(context, model, &desc, &jiggle), PELT_ERROR_USAGE, rows[n].words);
        assert_null(jiggle);
    }
    test_ok(&test, pelt_model_create(context, &empty));
    test_fails(&test, pelt_jiggle_create(context, empty, NULL, &jiggle), PELT_ERROR_INPUT, "no vertices");
    model->skeleton.joint_count = 0;
    test_fails(&test, pelt_jiggle_create(context, model, NULL, &jiggle), PELT_ERROR_INPUT, "no joints");
    pelt_model_destroy(empty);
    pelt_model_destroy(model);
    test_end(&test);
}

static pelt_result make_and_step(pelt_context *context, void *user) {
    (void)user;
    pelt_model *model;
    pelt_jiggle *jiggle;
    pelt_jiggle_desc desc = small();
    desc.cells = 3;
    with_collider(&desc, (pelt_collider){.joint = 1, .radius = 0.1f});
    PX_TRY(scene_find("tube")->make(context, &(scene_desc){100, 2, 1}, &model));
    pelt_result result = pelt_jiggle_create(context, model, &desc, &jiggle);
    if (result == PELT_OK)
        pelt_jiggle_step(jiggle, 0.1);
    else
        assert_null(jiggle);
    pelt_jiggle_destroy(jiggle);
    pelt_model_destroy(model);
    return result;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    test_fail_each_allocation(1, make_and_step, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rest_is_the_mesh),
        cmocka_unit_test(a_held_pose_is_a_fixed_point),
        cmocka_unit_test(without_delta_there_is_only_the_skin),
        test_long(tissue_swings_as_told),
        cmocka_unit_test(gravity_leaves_the_rest_pose_alone),
        cmocka_unit_test(wind_pushes),
        test_long(frames_per_second_do_not_matter),
        cmocka_unit_test(stepping_never_allocates),
        test_long(everything_recovers),
        cmocka_unit_test(no_setting_breaks_it),
        cmocka_unit_test(bad_poses_pass),
        cmocka_unit_test(values_are_local),
        cmocka_unit_test(max_distance_holds),
        test_long(colliders_keep_tissue_out),
        cmocka_unit_test(bad_settings_get_sentences),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
