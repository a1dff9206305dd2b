/* Jiggle: cost of a frame at the sizes of the paper (Chen et al., table I), cost of region widths, and, on request,
 * stability over 10 million particle-steps from the worst starts.
 *
 * On one thread, in CPU time: medians of rounds, so that other work on the machine matters little.
 *
 *   bench_jiggle [ROUNDS]
 *   bench_jiggle long [PARTICLE-STEPS]
 */
#include "jiggle/object.h"
#include "scenes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define VERTICES   28059u /* of the paper's mesh */
#define STEP       0.016  /* and its time step, seconds */
#define ROUNDS_MAX 101u
#define FRAMES     50 /* of a round */

static double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count) {
    qsort(values, count, sizeof *values, compare);
    return values[count / 2];
}

/* ---- A rig ------------------------------------------------------------------------------------------------ */

typedef struct rig {
    pelt_context *context;
    pelt_model *model;
    pelt_jiggle *jiggle;
    pelt_transform *locals; /* [joint] */
    float *positions, *normals;
} rig;

static void check(const rig *r, pelt_result result) {
    if (result == PELT_OK)
        return;
    fprintf(stderr, "bench_jiggle: %s\n", pelt_error_text(r->context));
    exit(1);
}

static void *array(const rig *r, size_t count, size_t size) {
    void *out = pelt_model_alloc(r->context, r->model, count, size);
    check(r, out ? PELT_OK : PELT_ERROR_MEMORY);
    return out;
}

/* Scales everything that has a length. */
static void scale_model(pelt_model *model, float scale) {
    for (size_t e = 0; e < 3 * (size_t)model->mesh.vertex_count; e++)
        model->mesh.positions[e] *= scale;
    for (uint32_t b = 0; b < model->skin.bone_count; b++)
        for (int c = 3; c < 12; c += 4)
            model->skin.inverse_binds[b].m[c] *= scale;
    for (uint32_t j = 0; j < model->skeleton.joint_count; j++)
        for (int c = 0; c < 3; c++)
            model->skeleton.rest[j].translation[c] *= scale;
}

static rig make(const pelt_jiggle_desc *desc, uint32_t vertex_count, float scale) {
    rig r = {0};
    pelt_context_desc context = pelt_context_desc_default();
    context.thread_count = 1;
    if (pelt_context_create(&context, &r.context) != PELT_OK)
        exit(1);
    check(&r, scene_find("production")->make(r.context, &(scene_desc){vertex_count, 60, 1}, &r.model));
    scale_model(r.model, scale);
    check(&r, pelt_jiggle_create(r.context, r.model, desc, &r.jiggle));
    r.locals = array(&r, r.model->skeleton.joint_count, sizeof *r.locals);
    r.positions = array(&r, r.model->mesh.vertex_count, 3 * sizeof(float));
    r.normals = array(&r, r.model->mesh.vertex_count, 3 * sizeof(float));
    return r;
}

static void destroy(rig *r) {
    pelt_jiggle_destroy(r->jiggle);
    pelt_model_destroy(r->model);
    pelt_context_destroy(r->context);
}

static void set_pose(rig *r, double time) {
    const pelt_motion *motion = &r->model->motions[0];
    double length = (double)motion->end - (double)motion->start;
    pelt_motion_sample(r->model, motion, (float)((double)motion->start + fmod(time, length)), r->locals, NULL);
    pelt_jiggle_set_pose(r->jiggle, r->locals);
}

/* ---- A frame ---------------------------------------------------------------------------------------------- */

enum { PRIMARY, MATCHING, MESH, FRAME, LIT_FRAME, PART_COUNT };

/* Seconds of the phases of a frame, and of whole frames without and with normals, as a player calls them. */
static void time_frames(rig *r, double seconds[PART_COUNT]) {
    pelt_jiggle *j = r->jiggle;
    double start = seconds_now();
    for (int n = 0; n < FRAMES; n++)
        px_primary_move(&j->primary, j->globals, 1);
    seconds[PRIMARY] = seconds_now() - start;
    start = seconds_now();
    for (int n = 0; n < FRAMES; n++)
        px_swing_step(&j->swing, j->skin, j->globals);
    seconds[MATCHING] = seconds_now() - start;
    start = seconds_now();
    for (int n = 0; n < FRAMES; n++)
        pelt_jiggle_positions(j, r->positions, NULL);
    seconds[MESH] = seconds_now() - start;
    for (int lit = 0; lit < 2; lit++) {
        start = seconds_now();
        for (int n = 0; n < FRAMES; n++) {
            set_pose(r, n * STEP);
            pelt_jiggle_step(j, STEP);
            pelt_jiggle_positions(j, r->positions, lit ? r->normals : NULL);
        }
        seconds[FRAME + lit] = seconds_now() - start;
    }
    for (int part = 0; part < PART_COUNT; part++)
        seconds[part] /= FRAMES;
}

static void sizes_table(size_t rounds) {
    static const uint32_t sizes[] = {1072, 1906, 2451, 3058};
    static const double paper[] = {215.294, 134.181, 99.436, 81.633}; /* frames per second on its desktop */
    printf("| particles (paper) | cells | vertices | joints | primary | matching | mesh | frame | per particle | "
           "frames/s | "
           "paper | ratio | with normals |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t n = 0; n < PX_COUNT(sizes); n++) {
        pelt_jiggle_desc desc = pelt_jiggle_desc_default();
        desc.particles = sizes[n];
        desc.substep = STEP;
        rig r = make(&desc, VERTICES, 1);
        double all[PART_COUNT][ROUNDS_MAX], one[PART_COUNT];
        for (size_t round = 0; round < rounds; round++) {
            time_frames(&r, one);
            for (int part = 0; part < PART_COUNT; part++)
                all[part][round] = one[part];
        }
        for (int part = 0; part < PART_COUNT; part++)
            one[part] = median(all[part], rounds);
        pelt_jiggle_report report = pelt_jiggle_get_report(r.jiggle);
        printf("| %u (%u) | %u | %u | %u | %.0f µs | %.0f µs | %.0f µs | %.0f µs | %.0f ns | %.0f | %.0f | %.1f | %.0f "
               "|\n",
               report.particle_count, sizes[n], report.cell_count, r.model->mesh.vertex_count,
               r.model->skeleton.joint_count, 1e6 * one[PRIMARY], 1e6 * one[MATCHING], 1e6 * one[MESH],
               1e6 * one[FRAME], 1e9 * (one[FRAME] - one[MESH]) / report.particle_count, 1 / one[FRAME], paper[n],
               1 / one[FRAME] / paper[n], 1 / one[LIT_FRAME]);
        fflush(stdout);
        destroy(&r);
    }
}

/* ---- Widths ----------------------------------------------------------------------------------------------- */

/* Widths alternate within every round, so that all have the same conditions. */
static void widths_table(size_t rounds) {
    static const double widths[] = {1, 2, 3, 5, 8};
    double matching[PX_COUNT(widths)][ROUNDS_MAX], sums[PX_COUNT(widths)][ROUNDS_MAX];
    rig rigs[PX_COUNT(widths)];
    for (size_t n = 0; n < PX_COUNT(widths); n++) {
        pelt_jiggle_desc desc = pelt_jiggle_desc_default();
        desc.particles = 1906;
        desc.stiffness = widths[n];
        rigs[n] = make(&desc, 2000, 1);
    }
    for (size_t round = 0; round < rounds; round++)
        for (size_t n = 0; n < PX_COUNT(widths); n++) {
            pelt_jiggle *j = rigs[n].jiggle;
            double start = seconds_now();
            for (int k = 0; k < FRAMES; k++)
                px_swing_step(&j->swing, j->skin, j->globals);
            matching[n][round] = (seconds_now() - start) / FRAMES;
            start = seconds_now();
            for (int k = 0; k < FRAMES; k++) {
                px_match_sum_up(&j->swing.match, (uint32_t)widths[n]);
                px_match_sum_down(&j->swing.match, (uint32_t)widths[n], false);
            }
            sums[n][round] = (seconds_now() - start) / FRAMES;
        }
    printf("\n| half-width | sums | to that of 1 | matching | to that of 1 |\n|---|---|---|---|---|\n");
    double first[2] = {median(sums[0], rounds), median(matching[0], rounds)};
    for (size_t n = 0; n < PX_COUNT(widths); n++) {
        double s = median(sums[n], rounds), m = median(matching[n], rounds);
        printf("| %g | %.1f µs | %.2f | %.1f µs | %.2f |\n", widths[n], 1e6 * s, s / first[0], 1e6 * m, m / first[1]);
        destroy(&rigs[n]);
    }
}

/* ---- Long runs -------------------------------------------------------------------------------------------- */

static uint64_t random_state = 1;
static double random_real(double min, double max) {
    uint64_t z = random_state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return min + (max - min) * (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

typedef enum start { RANDOM, FLATTENED, INVERTED, TELEPORTED, START_COUNT } start;
static const char *const start_names[] = {"random", "flattened", "inverted", "left behind"};

/* Initial displacements from the goals, in cells. Teleported tissue is displaced as one, by up to a hundred cells along
 * each axis. */
static void start_from(pelt_jiggle *j, start kind) {
    double away[3] = {random_real(-100, 100), random_real(-100, 100), random_real(-100, 100)};
    int flat = (int)random_real(0, 3);
    for (size_t p = 0; p < j->lattice.particle_count; p++)
        for (int c = 0; c < 3; c++) {
            double skin = ((double)j->skin[4 * p + (size_t)c] - (double)j->skin[c]) / (double)j->lattice.cell;
            double u[START_COUNT] = {random_real(-100, 100), c == flat ? -skin : 0, -2 * skin, away[c]};
            j->swing.pass.u[4 * p + (size_t)c] = (float)u[kind];
        }
}

/* Largest distance of shown particles from the skin, in cells. */
static double farthest(const pelt_jiggle *j) {
    double most = 0;
    for (size_t p = 0; p < j->lattice.particle_count; p++) {
        double sum = 0;
        for (size_t c = 0; c < 3; c++)
            sum += pow((double)j->shown[4 * p + c] - (double)j->skin[4 * p + c], 2);
        if (isnan(sum))
            return (double)NAN;
        most = fmax(most, sum);
    }
    return sqrt(most) / (double)j->lattice.cell;
}

/* Restarts whenever all particles are back within 0.01 cells. Returns the longest time that took, in seconds; NaN: one
 * start did not come back in a minute. */
static double run_long(start kind, float scale, double substep, double wanted) {
    pelt_jiggle_desc desc = pelt_jiggle_desc_default();
    desc.particles = 500;
    desc.softness = PELT_JIGGLE_SOFTNESS_EVEN; /* all tissue is free to swing */
    desc.substep = substep;
    rig r = make(&desc, 2000, scale);
    pelt_jiggle *j = r.jiggle;
    pelt_jiggle_set_pose(j, r.model->skeleton.rest);
    double steps = 0, slowest = 0;
    while (steps < wanted && !isnan(slowest)) {
        start_from(j, kind);
        double time = 0, far;
        do {
            pelt_jiggle_step(j, substep);
            time += substep;
            steps += j->lattice.particle_count;
            far = farthest(j);
        } while (far > 0.01 && time < 60);
        slowest = far <= 0.01 ? fmax(slowest, time) : (double)NAN;
    }
    destroy(&r);
    return slowest;
}

/* The longest time in units of 1 and of 1000. */
static bool long_table(double wanted) {
    static const double substeps[] = {1.0 / 15, 1.0 / 60, 1.0 / 240, 1.0 / 1000};
    bool good = true;
    printf("| start | 1/15 s | 1/60 s | 1/240 s | 1/1000 s |\n|---|---|---|---|---|\n");
    for (start kind = RANDOM; kind < START_COUNT; kind++) {
        printf("| %s |", start_names[kind]);
        for (size_t n = 0; n < PX_COUNT(substeps); n++) {
            double one = run_long(kind, 1, substeps[n], wanted), thousand = run_long(kind, 1000, substeps[n], wanted);
            bool back = !isnan(one) && !isnan(thousand);
            good &= back;
            if (back)
                printf(" %.2f s |", fmax(one, thousand));
            else
                printf(" never |");
            fflush(stdout);
        }
        printf("\n");
    }
    return good;
}

int main(int count, char **words) {
    if (count > 1 && strcmp(words[1], "long") == 0)
        return long_table(count > 2 ? atof(words[2]) : 1e7) ? 0 : 1;
    size_t rounds = count > 1 ? (size_t)px_max_size((size_t)atoi(words[1]), 1) : 15;
    rounds = px_min_size(rounds, ROUNDS_MAX);
    sizes_table(rounds);
    widths_table(rounds);
    return 0;
}
