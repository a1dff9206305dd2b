/* How the time of a binding grows with threads, resolution and joints, and how it compares with the paper's
 * (Dionne, de Lasa 2013, Table 2).
 */
#include "bind_bench.h"
#include "rig_measures.h"

#include "core/core.h"
#include "core/math3.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

#define ROUNDS 3 /* the fastest counts: the machine may be busy */

/* ---- Timing ------------------------------------------------------------------------------------------------- */

/* A change of the input before it is bound, or NULL. */
typedef pelt_result change_fn(pelt_context *context, pelt_model *model, uint32_t amount);

typedef struct timing {
    bind_figures figures;
    uint32_t joint_count, triangle_count;
} timing;

static pelt_result time_round(pelt_context *context, const bind_bench *b, const char *setting, const character *c,
                              change_fn *change, uint32_t amount, timing *out) {
    pelt_model *model = NULL;
    const char *reason;
    pelt_result result = character_load(context, c, &model, &reason);
    if (result == PELT_OK && change)
        result = change(context, model, amount);
    if (result == PELT_OK)
        result = bind_with(context, b, setting, model, &out->figures);
    if (result == PELT_OK) {
        out->joint_count = model->skeleton.joint_count;
        out->triangle_count = model->mesh.triangle_count;
    }
    pelt_model_destroy(model);
    return result;
}

static pelt_result time_bind(pelt_context *context, const bind_bench *b, const char *setting, const character *c,
                             change_fn *change, uint32_t amount, timing *out) {
    for (int r = 0; r < ROUNDS; r++) {
        timing round;
        PX_TRY(time_round(context, b, setting, c, change, amount, &round));
        double cpu = r && out->figures.cpu < round.figures.cpu ? out->figures.cpu : round.figures.cpu;
        if (r == 0 || round.figures.total < out->figures.total)
            *out = round;
        out->figures.cpu = cpu;
    }
    return PELT_OK;
}

/* ---- Joints: every bone becomes `amount` ---------------------------------------------------------------------- */

typedef struct finer_rig {
    uint32_t amount;
    const uint32_t *bone_of; /* [old joint] a bone or PELT_NONE */
    uint32_t *place;         /* [old joint] */
    pelt_skeleton skeleton;
    pelt_skin skin;
} finer_rig;

static void add_joint(finer_rig *f, const char *name, uint32_t parent, const pelt_transform *local) {
    uint32_t j = f->skeleton.joint_count++;
    f->skeleton.names[j] = name;
    f->skeleton.parents[j] = parent;
    f->skeleton.rest[j] = *local;
}

/* Divides the offset of a joint from its parent into equal steps; each step is a bone, bound where the parent's bone
 * was, one step further. */
static void add_steps(const pelt_model *model, finer_rig *f, uint32_t j) {
    uint32_t parent = model->skeleton.parents[j];
    pelt_transform local = model->skeleton.rest[j], step = px_transform_identity();
    uint32_t from = parent == PELT_NONE ? PELT_NONE : f->place[parent];
    if (parent != PELT_NONE && f->bone_of[parent] != PELT_NONE && f->bone_of[j] != PELT_NONE) {
        for (int c = 0; c < 3; c++)
            local.translation[c] = step.translation[c] = local.translation[c] / (float)f->amount;
        for (uint32_t n = 1; n < f->amount; n++) {
            pelt_affine back = px_affine_identity();
            for (int c = 0; c < 3; c++)
                back.m[4 * c + 3] = -(float)n * step.translation[c];
            f->skin.bone_joints[f->skin.bone_count] = f->skeleton.joint_count;
            f->skin.inverse_binds[f->skin.bone_count++] =
                px_affine_mul(&back, &model->skin.inverse_binds[f->bone_of[parent]]);
            add_joint(f, model->skeleton.names[j], from, &step);
            from = f->skeleton.joint_count - 1;
        }
    }
    f->place[j] = f->skeleton.joint_count;
    add_joint(f, model->skeleton.names[j], from, &local);
}

static pelt_result divide_bones(pelt_context *context, pelt_model *model, uint32_t amount) {
    uint32_t joints = model->skeleton.joint_count, bones = model->skin.bone_count;
    size_t most_joints = (size_t)joints * amount, most_bones = bones + most_joints;
    uint32_t *bone_of = pelt_model_alloc(context, model, joints, sizeof(uint32_t));
    finer_rig f = {.amount = amount, .bone_of = bone_of, .skin = model->skin};
    f.place = pelt_model_alloc(context, model, joints, sizeof(uint32_t));
    f.skeleton.names = pelt_model_alloc(context, model, most_joints, sizeof(char *));
    f.skeleton.parents = pelt_model_alloc(context, model, most_joints, sizeof(uint32_t));
    f.skeleton.rest = pelt_model_alloc(context, model, most_joints, sizeof(pelt_transform));
    f.skin.bone_joints = pelt_model_alloc(context, model, most_bones, sizeof(uint32_t));
    f.skin.inverse_binds = pelt_model_alloc(context, model, most_bones, sizeof(pelt_affine));
    if (!bone_of || !f.place || !f.skeleton.names || !f.skeleton.parents || !f.skeleton.rest || !f.skin.bone_joints ||
        !f.skin.inverse_binds)
        return PELT_ERROR_MEMORY;
    memset(bone_of, 0xff, joints * sizeof *bone_of);
    for (uint32_t b = 0; b < bones; b++) {
        bone_of[model->skin.bone_joints[b]] = b;
        f.skin.inverse_binds[b] = model->skin.inverse_binds[b];
    }
    for (uint32_t j = 0; j < joints; j++)
        add_steps(model, &f, j);
    for (uint32_t b = 0; b < bones; b++)
        f.skin.bone_joints[b] = f.place[model->skin.bone_joints[b]];
    for (uint32_t p = 0; p < model->mesh.part_count; p++)
        if (model->mesh.parts[p].joint != PELT_NONE)
            model->mesh.parts[p].joint = f.place[model->mesh.parts[p].joint];
    model->skeleton = f.skeleton;
    model->skin = f.skin;
    model->motion_count = 0;
    model->morphs = (pelt_morph_set){0};
    model->document = NULL;
    return PELT_OK;
}

/* ---- Threads ------------------------------------------------------------------------------------------------ */

/* CPU seconds of the loops that several threads would share. */
typedef struct shared_work {
    double seconds;
} shared_work;

static double cpu_seconds(void) {
    return (double)clock() / CLOCKS_PER_SEC;
}

/* Runs the tasks one after the other: the first takes all blocks. A loop of one block has one task. */
static void run_in_turn(void *user, uint32_t task_count, pelt_task_fn *task, void *task_user) {
    shared_work *work = user;
    double start = cpu_seconds();
    for (uint32_t n = 0; n < task_count; n++)
        task(task_user, n);
    if (task_count > 1)
        work->seconds += cpu_seconds() - start;
}

typedef struct speed_sums {
    uint32_t count;
    double cpu, worst, serial, least_ratio;
} speed_sums;

static void print_speed_row(const char *name, const char *voxels, const char *joints, double cpu, double serial,
                            double ratio) {
    printf("| %s | %s | %s | %.3f | %.0f | %.2f |\n", name, voxels, joints, cpu, 100 * serial, ratio);
    fflush(stdout);
}

static pelt_result print_speed(pelt_context *context, const bind_bench *b, const character *c) {
    (void)context;
    speed_sums *sums = b->sums;
    timing best = {.figures.cpu = INFINITY};
    double serial = 0;
    for (int r = 0; r < ROUNDS; r++) {
        shared_work work = {0};
        pelt_context_desc desc = pelt_context_desc_default();
        pelt_context *own;
        timing t;
        desc.thread_count = 2;
        desc.run_tasks = run_in_turn;
        desc.run_tasks_user = &work;
        PX_TRY(pelt_context_create(&desc, &own));
        pelt_model *model = NULL;
        const char *reason;
        pelt_result result = character_load(own, c, &model, &reason);
        work.seconds = 0; /* without loading */
        if (result == PELT_OK)
            result = bind_with(own, b, NULL, model, &t.figures);
        if (result == PELT_OK && t.figures.cpu < best.figures.cpu) {
            best = (timing){t.figures, model->skeleton.joint_count, model->mesh.triangle_count};
            serial = 1 - work.seconds / t.figures.cpu;
        }
        pelt_model_destroy(model);
        pelt_context_destroy(own);
        PX_TRY(result);
    }
    char voxels[16], joints[16];
    double cpu = best.figures.cpu, ratio = 2 / (1 + serial);
    snprintf(voxels, sizeof voxels, "%.0f", (double)best.figures.voxel_count);
    snprintf(joints, sizeof joints, "%u", best.joint_count);
    print_speed_row(c->name, voxels, joints, cpu, serial, ratio);
    sums->least_ratio = sums->count ? fmin(sums->least_ratio, ratio) : ratio;
    sums->worst = fmax(sums->worst, cpu);
    sums->cpu += cpu;
    sums->serial += cpu * serial;
    sums->count++;
    return PELT_OK;
}

int bind_speed(pelt_context *context, const bind_bench *b) {
    speed_sums sums = {0};
    bind_bench all = *b;
    all.filter = b->filter ? b->filter : "."; /* of every path */
    all.sums = &sums;
    printf("CPU seconds of pelt_bind with one thread, without loading, the least of %d; share of it outside of loops\n"
           "that threads share; speed with two threads if these halve\n\n"
           "| character | voxels | joints | CPU s | serial %% | 2 threads |\n|---|---:|---:|---:|---:|---:|\n",
           ROUNDS);
    int code = bind_each(context, &all, print_speed);
    if (sums.count) {
        double serial = sums.serial / sums.cpu;
        print_speed_row("mean", "", "", sums.cpu / sums.count, serial, 2 / (1 + serial));
        printf("| worst | | | %.3f | | %.2f |\n", sums.worst, sums.least_ratio);
    }
    return code;
}

/* ---- Growth ------------------------------------------------------------------------------------------------- */

static pelt_result print_resolutions(pelt_context *context, const bind_bench *b, const character *c) {
    for (uint32_t resolution = 64; resolution <= 256; resolution += 64) {
        char setting[32];
        timing t;
        snprintf(setting, sizeof setting, "resolution=%u", resolution);
        PX_TRY(time_bind(context, b, setting, c, NULL, 0, &t));
        printf("| %-18s | %10u | %9.0f | %8.3f | %8.0f |\n", c->name, resolution, (double)t.figures.voxel_count,
               t.figures.cpu, 1e9 * t.figures.cpu / (double)t.figures.voxel_count);
        fflush(stdout);
    }
    return PELT_OK;
}

static pelt_result print_sizes(pelt_context *context, const bind_bench *b, const character *c) {
    enum { SIZES = 4 };
    pelt_context *own[SIZES] = {0}; /* one each, for the peaks of memory */
    pelt_model *models[SIZES] = {0};
    pelt_result result = PELT_OK;
    for (uint32_t n = 0; n < SIZES && result == PELT_OK; n++) {
        pelt_context_desc desc = pelt_context_desc_default();
        char setting[32];
        bind_figures figures;
        rig_measures measures = {0};
        desc.thread_count = b->thread_count;
        snprintf(setting, sizeof setting, "resolution=%u", 256u << n);
        result = pelt_context_create(&desc, &own[n]);
        clock_t start = clock();
        if (result == PELT_OK)
            result = bind_loaded(own[n], b, setting, c, &models[n], &figures);
        double cpu = (double)(clock() - start) / CLOCKS_PER_SEC;
        if (result == PELT_OK && n > 0)
            result = rig_compare(context, models[n - 1], models[n], NULL, &measures);
        if (result == PELT_OK)
            printf("| %s | %u | %.0f | %u³ | %u | %.2f | %.0f | %.3f |\n", c->name, 256u << n,
                   (double)figures.voxel_count, figures.block_size, figures.solved_count, cpu,
                   (double)pelt_context_memory(own[n]).peak / 1e6, measures.l1);
        fflush(stdout);
    }
    for (uint32_t n = 0; n < SIZES; n++) {
        pelt_model_destroy(models[n]);
        pelt_context_destroy(own[n]);
    }
    return result;
}

int bind_sizes(pelt_context *context, const bind_bench *b) {
    printf("CPU seconds and peak memory; L1 between the weights at this and at half the resolution\n\n"
           "| character | resolution | voxels | solved on blocks of | pieces | CPU s | MB | L1 to half |\n"
           "|---|---:|---:|---:|---:|---:|---:|---:|\n");
    return bind_each(context, b, print_sizes);
}

static pelt_result print_joints(pelt_context *context, const bind_bench *b, const character *c) {
    for (uint32_t amount = 1; amount <= 4; amount *= 2) {
        timing t;
        PX_TRY(time_bind(context, b, NULL, c, divide_bones, amount, &t));
        printf("| %-18s | %6u | %8.3f | %8.2f |\n", c->name, t.joint_count, t.figures.cpu,
               1e3 * t.figures.cpu / t.joint_count);
        fflush(stdout);
    }
    return PELT_OK;
}

int bind_scaling(pelt_context *context, const bind_bench *b) {
    printf("CPU seconds, the least of %d\n\n"
           "| character          | resolution |    voxels |    CPU s | ns/voxel |\n|---|---:|---:|---:|---:|\n",
           ROUNDS);
    int code = bind_each(context, b, print_resolutions);
    printf("\nEvery bone as one, two and four\n\n"
           "| character          | joints |    CPU s | ms/joint |\n|---|---:|---:|---:|\n");
    return code | bind_each(context, b, print_joints);
}

/* ---- The paper ---------------------------------------------------------------------------------------------- */

typedef struct paper_row {
    const char *name;
    uint32_t faces;
    double voxelize[2], distances, weights; /* seconds; inside and boundary */
} paper_row;

/* Its Tables 1 and 2: a laptop of 2011, voxels on its graphics card, a grid of 256 × 256 × 128. */
static const paper_row paper[] = {
    {"Bloat", 4680, {6.679, 3.832}, 2.900, 0.003},       {"Boomer", 5297, {6.524, 4.449}, 5.145, 0.003},
    {"Mercenary", 9236, {6.652, 4.671}, 2.544, 0.008},   {"Radioactive", 10479, {6.904, 4.913}, 6.291, 0.006},
    {"Sledge", 12850, {6.822, 5.413}, 3.712, 0.031},     {"Engineer", 13217, {6.830, 4.466}, 2.126, 0.008},
    {"Parasite", 17570, {7.016, 3.489}, 0.582, 0.041},   {"Hunter", 17968, {7.020, 5.061}, 4.151, 0.011},
    {"Shockwave", 23181, {7.262, 11.480}, 2.594, 0.013}, {"Pilot", 35644, {7.660, 4.528}, 3.637, 0.020},
    {"Beast", 54236, {8.426, 4.398}, 1.343, 0.027},
};

static void print_phases(const char *name, uint32_t faces, double voxelize, double solve, double weights,
                         double total) {
    printf("| %-18s | %6u | %8.3f | %8.3f | %7.3f | %7.3f |\n", name, faces, voxelize, solve, weights, total);
}

static pelt_result print_paper_row(pelt_context *context, const bind_bench *b, const character *c) {
    timing t;
    PX_TRY(time_bind(context, b, NULL, c, NULL, 0, &t));
    print_phases(c->name, t.triangle_count, t.figures.voxelize, t.figures.solve, t.figures.weights, t.figures.total);
    return PELT_OK;
}

int bind_paper(pelt_context *context, const bind_bench *b) {
    static const char *const settings[] = {"preset=voxel2013"};
    bind_bench as_paper = *b;
    for (size_t s = 0; s < PX_COUNT(settings) && as_paper.setting_count < MAX_SETTINGS; s++)
        as_paper.settings[as_paper.setting_count++] = settings[s];
    printf(
        "Seconds of the paper's method on its grid: ours, the least of %d, then the paper's Table 2\n\n"
        "| character          |  faces | voxelize | distance | weights |   total |\n|---|---:|---:|---:|---:|---:|\n",
        ROUNDS);
    int code = bind_each(context, &as_paper, print_paper_row);
    for (size_t p = 0; p < PX_COUNT(paper); p++) {
        double voxelize = paper[p].voxelize[0] + paper[p].voxelize[1];
        char name[32];
        snprintf(name, sizeof name, "%s (published)", paper[p].name);
        print_phases(name, paper[p].faces, voxelize, paper[p].distances, paper[p].weights,
                     voxelize + paper[p].distances + paper[p].weights);
    }
    return code;
}
