/* The forms of Chen et al. 2011 beside Pelt's own, on generated scenes, and the figures of the paper: tables of
 * docs/jiggle.md and docs/papers/lattice.md. One thread, CPU time, the least of some rounds.
 *
 *   bench_jiggle_forms [ROUNDS]      every form alone and all together: volumes, time, errors
 *   bench_jiggle_forms table1        frames per second at the sizes of the paper's table I
 *   bench_jiggle_forms figures       a row for every figure
 */
#include "core/rotation.h"
#include "jiggle/object.h"
#include "scenes.h"

#include <pelt/run.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define VERTICES 28059u /* of the paper's mesh */
#define STEP     0.016  /* and its time step, seconds */
#define SETTLE   3.0    /* seconds until a pose is at rest */
#define FRAMES   40     /* of a round */

static size_t rounds = 9;

static double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- Forms ------------------------------------------------------------------------------------------------ */

/* Options on top of the defaults, "name=value" each; "preset=NAME" is a preset. */
typedef struct form {
    const char *name;
    const char *options[4][2];
} form;

static const form forms[] = {
    {"linear blending", {{"volume", "0"}, {"delta", "0"}}},
    {"default", {{NULL, NULL}}},
    {"`--weights lattice`", {{"weights", "lattice"}}},
    {"`--weights iterated`, eq. 3–5", {{"weights", "iterated"}}},
    {"`--blend polar`, eq. 1–2", {{"blend", "polar"}}},
    {"`--volume-field boundary`, eq. 6–10", {{"volume-field", "boundary"}}},
    {"`--regions rest`, eq. 11–13", {{"regions", "rest"}}},
    {"`--preset lattice2011`", {{"preset", "lattice2011"}}},
    {"`--preset lattice2011 --delta 0`", {{"preset", "lattice2011"}, {"delta", "0"}}},
    {"`--preset lattice2011 --delta 0 --volume 0`", {{"preset", "lattice2011"}, {"delta", "0"}, {"volume", "0"}}},
};
enum { DEFAULT = 1, PRESET = PX_COUNT(forms) - 3 };

typedef struct rig {
    pelt_context *context;
    pelt_model *model;
    pelt_jiggle *jiggle;
    pelt_transform *locals; /* [joint] */
    float *positions;       /* [vertex][3] */
    double seconds;         /* to create the jiggle */
} rig;

static void check(const rig *r, pelt_result result) {
    if (result == PELT_OK)
        return;
    fprintf(stderr, "bench_jiggle_forms: %s\n", pelt_error_text(r->context));
    exit(1);
}

static rig make(const form *f, const char *name, uint32_t vertex_count, uint32_t particles) {
    rig r = {0};
    pelt_context_desc context = pelt_context_desc_default();
    pelt_jiggle_desc desc = pelt_jiggle_desc_default();
    context.thread_count = 1;
    if (pelt_context_create(&context, &r.context) != PELT_OK)
        exit(1);
    for (size_t n = 0; n < 4 && f->options[n][0]; n++)
        check(&r, strcmp(f->options[n][0], "preset") == 0
                      ? pelt_options_preset(r.context, pelt_jiggle_options(), &desc, f->options[n][1])
                      : pelt_options_set(r.context, pelt_jiggle_options(), &desc, f->options[n][0], f->options[n][1]));
    desc.particles = particles;
    desc.substep = STEP;
    check(&r, scene_find(name)->make(r.context, &(scene_desc){vertex_count, 60, 1}, &r.model));
    double start = seconds_now();
    check(&r, pelt_jiggle_create(r.context, r.model, &desc, &r.jiggle));
    r.seconds = seconds_now() - start;
    r.locals = pelt_model_alloc(r.context, r.model, r.model->skeleton.joint_count, sizeof *r.locals);
    r.positions = pelt_model_alloc(r.context, r.model, r.model->mesh.vertex_count, 3 * sizeof(float));
    check(&r, r.locals && r.positions ? PELT_OK : PELT_ERROR_MEMORY);
    memcpy(r.locals, r.model->skeleton.rest, r.model->skeleton.joint_count * sizeof *r.locals);
    return r;
}

static void destroy(rig *r) {
    pelt_jiggle_destroy(r->jiggle);
    pelt_model_destroy(r->model);
    pelt_context_destroy(r->context);
}

static uint32_t joint_named(const rig *r, const char *name) {
    for (uint32_t j = 0; j < r->model->skeleton.joint_count; j++)
        if (strcmp(r->model->skeleton.names[j], name) == 0)
            return j;
    fprintf(stderr, "bench_jiggle_forms: there is no joint %s\n", name);
    exit(1);
}

/* The vertices after the pose has settled. */
static void settle(rig *r) {
    pelt_jiggle_reset(r->jiggle);
    pelt_jiggle_set_pose(r->jiggle, r->locals);
    for (double time = 0; time < SETTLE; time += STEP)
        pelt_jiggle_step(r->jiggle, STEP);
    pelt_jiggle_positions(r->jiggle, r->positions, NULL);
}

/* ---- Volumes ---------------------------------------------------------------------------------------------- */

/* A pose: joints rotated about a world axis at rest, which in the scenes is an axis of the joint. */
typedef struct pose {
    const char *name, *scene, *region; /* region: the joint whose tissue is measured */
    struct {
        const char *joint;
        int axis;
        double degrees;
    } turns[4];
} pose;

static const pose poses[] = {
    {"elbow 90°", "wring", "elbow", {{"elbow", 0, 90}}},
    {"wrist twisted 180°", "wring", "wrist", {{"wrist", 1, 180}}},
    {"hips, sitting",
     "troll",
     "hips",
     {{"thigh.L", 0, -90}, {"thigh.R", 0, -90}, {"shin.L", 0, 90}, {"shin.R", 0, 90}}},
};

/* Relative change of the volume around the joint of a pose. All forms have the same lattice, so the particles of each
 * are measured by the parts and octants of the default: weighted by the share that the mesh fills. */
static double volume_change(const form *f, const pose *p) {
    rig r = make(f, p->scene, 6000, 1906), reference = make(&forms[DEFAULT], p->scene, 6000, 1906);
    px_primary *primary = &reference.jiggle->primary;
    double change = 0;
    uint32_t joint = joint_named(&r, p->region);
    for (size_t n = 0; n < PX_COUNT(p->turns) && p->turns[n].joint; n++) {
        float *rotation = r.locals[joint_named(&r, p->turns[n].joint)].rotation;
        px_rotation_store(px_rotation_mul(px_rotation_of(rotation),
                                          px_rotation_about(p->turns[n].axis, p->turns[n].degrees * PX_DEGREE)),
                          rotation);
    }
    settle(&r);
    check(&r, r.jiggle->lattice.particle_count == primary->particle_count ? PELT_OK : PELT_ERROR_INPUT);
    px_primary_volumes(primary, r.jiggle->shown, primary->volumes);
    for (uint32_t k = 0; k < primary->part_count; k++)
        if (primary->parts[k].joint == joint)
            change = primary->volumes[k] / primary->parts[k].rest - 1;
    destroy(&reference);
    destroy(&r);
    return change;
}

/* ---- Time and errors -------------------------------------------------------------------------------------- */

static void set_pose(rig *r, double time) {
    const pelt_motion *motion = &r->model->motions[0];
    double length = (double)motion->end - (double)motion->start;
    pelt_motion_sample(r->model, motion, (float)((double)motion->start + fmod(time, length)), r->locals, NULL);
    pelt_jiggle_set_pose(r->jiggle, r->locals);
}

/* Least seconds of a frame (pose, step of 16 ms, mesh) of every rig; rigs alternate, so that all have the same
 * conditions. */
static void time_frames(rig *rigs, size_t count, double *seconds) {
    for (size_t n = 0; n < count; n++)
        seconds[n] = INFINITY;
    for (size_t n = 0; n < count * rounds; n++) {
        rig *r = &rigs[n % count];
        double start = seconds_now();
        for (int frame = 0; frame < FRAMES; frame++) {
            set_pose(r, frame * STEP);
            pelt_jiggle_step(r->jiggle, STEP);
            pelt_jiggle_positions(r->jiggle, r->positions, NULL);
        }
        seconds[n % count] = fmin(seconds[n % count], (seconds_now() - start) / FRAMES);
    }
}

/* Largest distance of a vertex from its place at rest, in cells, after some seconds in the rest pose. */
static double rest_error(rig *r) {
    double most = 0;
    memcpy(r->locals, r->model->skeleton.rest, r->model->skeleton.joint_count * sizeof *r->locals);
    settle(r);
    for (size_t e = 0; e < 3 * (size_t)r->model->mesh.vertex_count; e++)
        most = fmax(most, fabs((double)r->positions[e] - (double)r->jiggle->subject.positions[e]));
    return most / (double)r->jiggle->lattice.cell;
}

static void forms_table(void) {
    rig rigs[PX_COUNT(forms)];
    double frames[PX_COUNT(forms)];
    printf("| form | elbow 90° | wrist twisted 180° | hips, sitting | create | frame | at rest |\n"
           "|---|---|---|---|---|---|---|\n");
    for (size_t n = 0; n < PX_COUNT(forms); n++)
        rigs[n] = make(&forms[n], "production", VERTICES, 1906);
    time_frames(rigs, PX_COUNT(forms), frames);
    for (size_t n = 0; n < PX_COUNT(forms); n++) {
        printf("| %s |", forms[n].name);
        for (size_t p = 0; p < PX_COUNT(poses); p++)
            printf(" %+.1f %% |", 100 * volume_change(&forms[n], &poses[p]));
        printf(" %.0f ms | %.0f µs | %.1g |\n", 1e3 * rigs[n].seconds, 1e6 * frames[n], rest_error(&rigs[n]));
        fflush(stdout);
        destroy(&rigs[n]);
    }
}

/* ---- Table I ---------------------------------------------------------------------------------------------- */

static const struct {
    uint32_t cells, particles;
    double laptop, desktop; /* frames per second */
} table1[] = {{524, 1072, 148.572, 215.294},
              {976, 1906, 92.717, 134.181},
              {1241, 2451, 61.684, 99.436},
              {1905, 3058, 42.376, 81.633}};

static void table1_table(void) {
    printf("| cells, particles | published: laptop, desktop | preset: cells, particles | frames/s | to the desktop | "
           "default | to the desktop |\n|---|---|---|---|---|---|---|\n");
    for (size_t n = 0; n < PX_COUNT(table1); n++) {
        rig rigs[] = {make(&forms[PRESET], "production", VERTICES, table1[n].particles),
                      make(&forms[DEFAULT], "production", VERTICES, table1[n].particles)};
        const px_lattice *lattice = &rigs[0].jiggle->lattice;
        double seconds[2];
        time_frames(rigs, 2, seconds);
        double preset = 1 / seconds[0], standard = 1 / seconds[1];
        printf("| %u, %u | %.0f, %.0f | %u, %u | %.0f | %.1f | %.0f | %.1f |\n", table1[n].cells, table1[n].particles,
               table1[n].laptop, table1[n].desktop, lattice->cell_count, lattice->particle_count, preset,
               preset / table1[n].desktop, standard, standard / table1[n].desktop);
        fflush(stdout);
        destroy(&rigs[0]);
        destroy(&rigs[1]);
    }
}

/* ---- Figures ---------------------------------------------------------------------------------------------- */

/* Least seconds of lattice skinning (particles and vertices, without volumes), and of linear skinning of the mesh. */
static void skinning_seconds(rig *r, double out[2]) {
    pelt_jiggle *j = r->jiggle;
    out[0] = out[1] = INFINITY;
    set_pose(r, 0.3);
    pelt_skeleton_globals(&r->model->skeleton, r->locals, j->globals);
    float *weights = calloc(r->model->morphs.morph_count + 1, sizeof *weights);
    check(r, weights ? PELT_OK : PELT_ERROR_MEMORY);
    for (size_t n = 0; n < 10 * rounds; n++) {
        double start = seconds_now();
        px_mesh_embedding_run(&j->mesh, px_primary_move(&j->primary, j->globals, 0), r->positions, NULL);
        out[0] = fmin(out[0], seconds_now() - start);
        start = seconds_now();
        check(r, pelt_model_pose_locals(r->context, r->model, r->locals, weights, PELT_SKINNING_LINEAR, r->positions,
                                        NULL));
        out[1] = fmin(out[1], seconds_now() - start);
    }
    free(weights);
}

/* Share of the edges of triangles that are more than twice or less than half their rest length. */
static double distorted(const rig *r, const float *positions) {
    const pelt_mesh *mesh = &r->model->mesh;
    const float *rest = r->jiggle->subject.positions;
    size_t count = 0, bad = 0;
    for (size_t e = 0; e < 3 * (size_t)mesh->triangle_count; e++) {
        size_t a = mesh->triangles[e], b = mesh->triangles[e % 3 == 2 ? e - 2 : e + 1];
        double now = 0, before = 0;
        for (size_t c = 0; c < 3; c++) {
            now += pow((double)positions[3 * a + c] - (double)positions[3 * b + c], 2);
            before += pow((double)rest[3 * a + c] - (double)rest[3 * b + c], 2);
        }
        count += before > 0;
        bad += before > 0 && (now > 4 * before || 4 * now < before);
    }
    return (double)bad / (double)count;
}

/* The largest share over the motion; of linear skinning of the mesh if `linear`. */
static double most_distorted(rig *r, bool linear) {
    double most = 0;
    float *weights = calloc(r->model->morphs.morph_count + 1, sizeof *weights);
    check(r, weights ? PELT_OK : PELT_ERROR_MEMORY);
    for (int n = 0; n < 20; n++) {
        set_pose(r, n * 0.1);
        pelt_jiggle_reset(r->jiggle);
        if (linear)
            check(r, pelt_model_pose_locals(r->context, r->model, r->locals, weights, PELT_SKINNING_LINEAR,
                                            r->positions, NULL));
        else
            pelt_jiggle_positions(r->jiggle, r->positions, NULL);
        most = fmax(most, distorted(r, r->positions));
    }
    free(weights);
    return most;
}

/* Largest distance of a vertex from its primary motion in the motion of the scene, relative to the mesh's diagonal. */
static double swing_of(rig *r) {
    double most = 0, size = r->jiggle->jump; /* one diagonal: the default of teleport */
    float *skin = pelt_model_alloc(r->context, r->model, r->model->mesh.vertex_count, 3 * sizeof(float));
    check(r, skin ? PELT_OK : PELT_ERROR_MEMORY);
    for (int n = 0; n < 120; n++) {
        set_pose(r, n * STEP);
        pelt_jiggle_step(r->jiggle, STEP);
        pelt_jiggle_positions(r->jiggle, r->positions, NULL);
        px_jiggle_vertices(r->jiggle, r->jiggle->skin, skin, NULL);
        for (size_t i = 0; i < r->model->mesh.vertex_count; i++) {
            double squared = 0;
            for (size_t c = 0; c < 3; c++)
                squared += pow((double)r->positions[3 * i + c] - (double)skin[3 * i + c], 2);
            most = fmax(most, sqrt(squared));
        }
    }
    return most / size;
}

static uint32_t bone_part_count(const pelt_jiggle *j) {
    uint32_t count = 0;
    for (uint32_t joint = 0; joint < j->model->skeleton.joint_count; joint++)
        for (uint32_t p = 0; p < j->lattice.particle_count; p++)
            if (j->parts.bones[p] == joint) {
                count++;
                break;
            }
    return count;
}

static void figures_table(void) {
    rig preset = make(&forms[PRESET], "production", VERTICES, 1906),
        standard = make(&forms[DEFAULT], "production", VERTICES, 1906);
    rig coarse[] = {make(&forms[PRESET + 1], "production", VERTICES, 1072),
                    make(&forms[DEFAULT], "production", VERTICES, 1072)};
    rig fine[] = {make(&forms[PRESET + 1], "production", VERTICES, 1906),
                  make(&forms[DEFAULT], "production", VERTICES, 1906)};
    const pelt_jiggle *a = preset.jiggle, *b = standard.jiggle;
    double skinning[2][2];
    printf("| figure | published | preset `lattice2011` | default |\n|---|---|---|---|\n");
    printf(
        "| 1: secondary motion, largest in the motion of `production` | picture | %.2f %% of the size | %.2f %% of the "
        "size |\n",
        100 * swing_of(&preset), 100 * swing_of(&standard));
    printf("| 3: cells, particles | 976, 1,906 | %u, %u | %u, %u; fine lattice %u, %u |\n", a->lattice.cell_count,
           a->lattice.particle_count, b->lattice.cell_count, b->lattice.particle_count, b->detail.lattice.cell_count,
           b->detail.lattice.particle_count);
    printf("| 4: vertices, triangles, joints | 28,059, 55,888, 38 | %u, %u, %u | the same |\n",
           preset.model->mesh.vertex_count, preset.model->mesh.triangle_count, preset.model->skeleton.joint_count);
    printf("| 5: parts of bones (a), of joints (b) | picture | %u, %u | %u, %u |\n", bone_part_count(a),
           a->parts.part_count, bone_part_count(b), b->parts.part_count);
    skinning_seconds(&preset, skinning[0]);
    skinning_seconds(&standard, skinning[1]);
    printf("| 6: time of lattice skinning to linear skinning of the mesh | \"almost\" 1 | %.2f | %.2f |\n",
           skinning[0][0] / skinning[0][1], skinning[1][0] / skinning[1][1]);
    printf(
        "| 7: edges distorted by 2, 1,072 → 1,906 particles (linear skinning of the mesh: %.2f %%) | picture: fewer | "
        "%.2f → %.2f %% | %.2f → %.2f %% |\n",
        100 * most_distorted(&standard, true), 100 * most_distorted(&coarse[0], false),
        100 * most_distorted(&fine[0], false), 100 * most_distorted(&coarse[1], false),
        100 * most_distorted(&fine[1], false));
    printf("| 8: volume at elbow, wrist, hips without → with preservation | picture: closer |");
    for (int n = 0; n < 2; n++) {
        const form *without = n ? &forms[0] : &forms[PRESET + 2], *with = n ? &forms[DEFAULT] : &forms[PRESET + 1];
        for (size_t p = 0; p < PX_COUNT(poses); p++)
            printf("%s%+.1f → %+.1f %%", p ? ", " : " ", 100 * volume_change(without, &poses[p]),
                   100 * volume_change(with, &poses[p]));
        printf(" |");
    }
    printf("\n");
    destroy(&preset);
    destroy(&standard);
    for (int n = 0; n < 2; n++) {
        destroy(&coarse[n]);
        destroy(&fine[n]);
    }
}

int main(int count, char **words) {
    if (count > 1 && strcmp(words[1], "table1") == 0)
        table1_table();
    else if (count > 1 && strcmp(words[1], "figures") == 0)
        figures_table();
    else {
        if (count > 1 && atoi(words[1]) > 0)
            rounds = (size_t)atoi(words[1]);
        forms_table();
    }
    return 0;
}
