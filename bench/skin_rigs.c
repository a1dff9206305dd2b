/* Skinning the real rigs: as they are, and prepared. */
#include "characters.h"
#include "skin_bench.h"

#include <pelt/pelt.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A rig in a pose in the middle of its longest motion. */
typedef struct rig {
    pelt_model *model;
    pelt_prepared_skin prepared;
    pelt_affine *palette, *stretches;
    pelt_dual_quaternion *duals;
    bool stretched;
    float *positions, *normals; /* results */
    pelt_skin_job plain;
    pelt_prepared_job linear, dual;
} rig;

static void run_plain(void *user) {
    skin_plain(user);
}
static void run_skin(void *user) {
    pelt_skin_run(user);
}
static void run_prepared(void *user) {
    pelt_prepared_run(user);
}

static const pelt_motion *longest_motion(const pelt_model *model) {
    const pelt_motion *longest = NULL;
    for (uint32_t m = 0; m < model->motion_count; m++) {
        const pelt_motion *motion = &model->motions[m];
        if (!longest || motion->end - motion->start > longest->end - longest->start)
            longest = motion;
    }
    return longest;
}

static void pose_rig(rig *r) {
    const pelt_model *model = r->model;
    uint32_t bones = model->skin.bone_count;
    const pelt_motion *motion = longest_motion(model);
    pelt_transform *locals = skin_array(model->skeleton.joint_count, sizeof *locals);
    pelt_affine *globals = skin_array(model->skeleton.joint_count, sizeof *globals);
    pelt_motion_sample(model, motion, motion ? (motion->start + motion->end) / 2 : 0, locals, NULL);
    pelt_skeleton_globals(&model->skeleton, locals, globals);
    r->palette = skin_array(bones, sizeof *r->palette);
    r->stretches = skin_array(bones, sizeof *r->stretches);
    r->duals = skin_array(bones, sizeof *r->duals);
    pelt_skin_palette(&model->skin, globals, r->palette);
    pelt_dual_quaternions(r->palette, bones, r->duals);
    r->stretched = pelt_stretches(r->palette, r->duals, bones, r->stretches);
    free(locals);
    free(globals);
}

static void make_jobs(rig *r) {
    const pelt_model *model = r->model;
    r->positions = skin_array((size_t)model->mesh.vertex_count * 3, sizeof(float));
    r->normals = skin_array((size_t)model->mesh.vertex_count * 3, sizeof(float));
    r->plain = (pelt_skin_job){
        .vertex_count = model->mesh.vertex_count,
        .influence_count = model->skin.influence_count,
        .bones = model->skin.bones,
        .weights = model->skin.weights,
        .palette = r->palette,
        .positions = model->mesh.positions,
        .normals = model->mesh.normals,
        .out_positions = r->positions,
        .out_normals = r->normals,
    };
    r->linear = (pelt_prepared_job){
        .prepared = &r->prepared,
        .group_count = PELT_NONE,
        .palette = r->palette,
        .out_positions = r->positions,
        .out_normals = r->normals,
    };
    r->dual = r->linear;
    r->dual.skinning = PELT_SKINNING_DUAL_QUATERNION;
    r->dual.dual_quaternions = r->duals;
    r->dual.stretches = r->stretched ? r->stretches : NULL;
}

static void drop(rig *r) {
    void *arrays[] = {r->palette, r->stretches, r->duals, r->positions, r->normals};
    for (size_t a = 0; a < sizeof arrays / sizeof arrays[0]; a++)
        free(arrays[a]);
    pelt_model_destroy(r->model);
}

/* Bytes that a prepared run reads as streams and writes: positions, normals, weights, bones; overlaps of blocks count
 * once. */
static size_t prepared_bytes(const pelt_prepared_skin *p) {
    size_t bytes = (size_t)p->vertex_count * 48;
    for (uint32_t g = 0; g < p->group_count; g++) {
        const pelt_prepared_group *group = &p->groups[g];
        size_t k = group->influence_count, count = group->vertex_count;
        bytes += group->shared ? 4 * (k - 1) * count + 2 * k : 6 * k * count;
    }
    return bytes;
}

static double mean_influences(const pelt_prepared_skin *p) {
    double sum = 0;
    for (uint32_t g = 0; g < p->group_count; g++)
        sum += (double)p->groups[g].influence_count * p->groups[g].vertex_count;
    return sum / p->vertex_count;
}

/* Geometric mean, least and largest value of a column. */
typedef struct column {
    double logs, least, most;
    int count;
} column;
static double keep(column *c, double value) {
    c->least = c->count ? fmin(c->least, value) : value;
    c->most = fmax(c->most, value);
    c->logs += log(value);
    c->count++;
    return value;
}
static double mean(const column *c) {
    return exp(c->logs / c->count);
}

enum { SHARE, HALF, TIMES_PLAIN, UNPREPARED, DUAL, COLUMNS };

static void print_rig(const character *c, rig *r, int rounds, column columns[COLUMNS], double *worst) {
    pose_rig(r);
    make_jobs(r);
    const pelt_prepared_skin *p = &r->prepared;
    skin_copy copy = skin_copy_make(prepared_bytes(p)), half = {copy.from, copy.to, copy.bytes / 2};
    skin_step steps[] = {{run_prepared, &r->linear, 0}, {skin_copy_run, &copy, 0}, {skin_copy_run, &half, 0},
                         {run_plain, &r->plain, 0},     {run_skin, &r->plain, 0},  {run_prepared, &r->dual, 0}};
    skin_time(steps, sizeof steps / sizeof steps[0], rounds);
    r->linear.mesh_order = true;
    pelt_prepared_run(&r->linear);
    double error = skin_error(&r->plain), seconds = steps[0].seconds;
    *worst = fmax(*worst, error);
    printf("| %-20.20s | %5u | %3u | %4.2f | %3.0f %% | %6.1f |", c->name, p->vertex_count, p->bone_count,
           mean_influences(p), 100.0 * p->shared_count / p->vertex_count, 1e-6 * p->vertex_count / seconds);
    for (size_t s = 0; s < COLUMNS; s++)
        printf(" %5.2f |", keep(&columns[s], s == UNPREPARED ? steps[3].seconds / steps[4].seconds
                                                             : steps[1 + s].seconds / seconds));
    printf("%s %.1e |\n", r->stretched ? " scaled |" : " |", error);
    skin_copy_drop(&copy);
}

void skin_print_rigs(int rounds) {
    pelt_context *context;
    if (pelt_context_create(NULL, &context) != PELT_OK)
        exit(1);
    character_list list = characters_find(NULL);
    column columns[COLUMNS] = {0};
    double worst = 0;
    printf("| rig, prepared | vertices | bones | K | shared | Mv/s | of memcpy | of half | × plain C | unprepared × "
           "plain C | "
           "dual × | scale | error |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t c = 0; c < list.count; c++) {
        rig r = {0};
        const char *reason = NULL;
        if (character_load(context, &list.items[c], &r.model, &reason) == PELT_OK && !reason && r.model->mesh.normals &&
            pelt_skin_prepare(context, r.model, &r.prepared) == PELT_OK)
            print_rig(&list.items[c], &r, rounds, columns, &worst);
        drop(&r);
    }
    static const char *const names[3] = {"least", "largest", "geometric mean"};
    for (int row = 0; row < 3 && columns[SHARE].count; row++) {
        printf("| %s of %d | | | | | |", names[row], columns[SHARE].count);
        for (size_t s = 0; s < COLUMNS; s++)
            printf(" %.2f |", row == 0 ? columns[s].least : row == 1 ? columns[s].most : mean(&columns[s]));
        printf(row == 1 ? " | %.1e |\n" : " | |\n", worst);
    }
    characters_free(&list);
    pelt_context_destroy(context);
}
