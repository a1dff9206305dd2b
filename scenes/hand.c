/* hand: a rig of 21 joints in an elastic hand, a motion, 120 training poses of one joint each and 25 test poses, with the
 * shape of the tissue in each: the example of the EigenSkin paper (Kry, James, Pai 2002, §3), whose hand has 27,954 vertices. */
#include "hand.h"

#include <stdio.h>

#define VERTICES 28000u
#define SMALL    4000u /* vertices: below, a quarter of the poses and larger elements, for tests */
#define CELL     0.05  /* of the tissue, at VERTICES */
#define LOOP     60u   /* frames */
#define UNSEEN   25u

/* ---- Rig and motion --------------------------------------------------------------------------------------- */

/* Fingers close one after another, the thumb comes across the palm, the wrist nods. */
static const scene_wave waves[] = {
    {HAND_WRIST, 0, 0.1, 0.3, 1, 0.5},          {HAND_THUMB, 1, -0.15, 0.2, 1, 0.85},
    {HAND_THUMB, 2, 0.1, 0.15, 1, 0.85},        {HAND_THUMB + 1, 2, 0.2, 0.25, 1, 0.8},
    {HAND_THUMB + 2, 2, 0.3, 0.35, 1, 0.8},     {HAND_FINGERS + 1, 0, 0.5, 0.5, 1, 0.75},
    {HAND_FINGERS + 2, 0, 0.6, 0.6, 1, 0.75},   {HAND_FINGERS + 3, 0, 0.35, 0.35, 1, 0.75},
    {HAND_FINGERS + 5, 0, 0.5, 0.5, 1, 0.7},    {HAND_FINGERS + 6, 0, 0.6, 0.6, 1, 0.7},
    {HAND_FINGERS + 7, 0, 0.35, 0.35, 1, 0.7},  {HAND_FINGERS + 9, 0, 0.5, 0.5, 1, 0.65},
    {HAND_FINGERS + 10, 0, 0.6, 0.6, 1, 0.65},  {HAND_FINGERS + 11, 0, 0.35, 0.35, 1, 0.65},
    {HAND_FINGERS + 13, 0, 0.5, 0.5, 1, 0.6},   {HAND_FINGERS + 14, 0, 0.6, 0.6, 1, 0.6},
    {HAND_FINGERS + 15, 0, 0.35, 0.35, 1, 0.6},
};

static pelt_result build(pelt_context *context, pelt_model *scratch, const scene_desc *desc, pelt_model *model) {
    scene_joint joints[HAND_JOINTS];
    scene_surface surface;
    scene_solid *solid = SCENE_NEW(context, scratch, scene_solid, 1);
    if (!solid)
        return PELT_ERROR_MEMORY;
    hand_joints(joints);
    hand_solid(joints, solid);
    uint32_t wanted = scene_count(desc->vertex_count, VERTICES, 50, SCENE_MAX_VERTICES);
    SCENE_TRY(scene_surface_make(context, scratch, solid, scene_points_for(wanted), &surface));
    SCENE_TRY(scene_mesh_from_surface(context, model, &surface, "hand", false));
    SCENE_TRY(pelt_model_weld(context, model));
    SCENE_TRY(scene_skeleton(context, model, joints, HAND_JOINTS));
    SCENE_TRY(scene_skin_alloc(context, model));
    for (size_t i = 0; i < model->mesh.vertex_count; i++)
        hand_weigh(joints, vec_load(model->mesh.positions + 3 * i), model->skin.bones + SCENE_INFLUENCES * i,
                   model->skin.weights + SCENE_INFLUENCES * i);
    pelt_smooth_desc smooth = pelt_smooth_desc_default(); /* the bones of a digit end at its borders */
    smooth.iterations = 1 + 10 * model->mesh.vertex_count / VERTICES;
    SCENE_TRY(pelt_weights_smooth(context, model, NULL, &smooth, NULL));
    uint32_t frame_count = scene_count(desc->frame_count, LOOP + 1, 1, SCENE_MAX_FRAMES);
    scene_random random = {desc->seed};
    scene_wave own[SCENE_COUNT(waves)];
    for (uint32_t w = 0; w < SCENE_COUNT(waves); w++) {
        own[w] = waves[w];
        own[w].amplitude *= scene_random_range(&random, 0.9, 1);
    }
    return scene_motion(context, model, "grasp", own, SCENE_COUNT(waves), frame_count, LOOP);
}

static pelt_result make(pelt_context *context, const scene_desc *desc, pelt_model **model) {
    return scene_build(context, desc, build, model);
}

/* ---- Poses ------------------------------------------------------------------------------------------------ */

/* About half a dozen poses for each degree of freedom, as in the paper. */
static const hand_bend wrist_bends[] = {{-60, 0}, {-40, 0}, {-20, 0}, {20, 0}, {40, 0}, {60, 0},
                                        {0, -25}, {0, -12}, {0, 12},  {0, 20}, {30, 12}};
static const hand_bend thumb_bends[] = {{-20, 0}, {-10, 0}, {10, 0}, {20, 0}, {30, 0}, {40, 0},   {0, -30},
                                        {0, -20}, {0, -10}, {0, 10}, {0, 20}, {0, 28}, {25, -20}, {15, 15}};
static const hand_bend thumb_middle[] = {{-10, 0}, {15, 0}, {30, 0}, {45, 0}, {55, 0}};
static const hand_bend thumb_end[] = {{-15, 0}, {15, 0}, {30, 0}, {45, 0}, {60, 0}, {75, 0}};
static const hand_bend knuckle[] = {{-25, 0}, {20, 0},  {40, 0}, {60, 0}, {75, 0},
                                    {90, 0},  {0, -15}, {0, -8}, {0, 8},  {0, 15}};
static const hand_bend finger_middle[] = {{15, 0}, {30, 0}, {50, 0}, {70, 0}, {85, 0}, {100, 0}};
static const hand_bend finger_end[] = {{15, 0}, {30, 0}, {45, 0}, {60, 0}, {75, 0}};

typedef struct bend_list {
    const hand_bend *items;
    uint32_t count;
} bend_list;
#define LIST(array) ((bend_list){array, SCENE_COUNT(array)})

static bend_list bends_of(uint32_t joint) {
    if (joint == HAND_WRIST)
        return LIST(wrist_bends);
    if (joint >= HAND_THUMB && joint < HAND_FINGERS)
        return joint == HAND_THUMB ? LIST(thumb_bends) : joint == HAND_THUMB + 1 ? LIST(thumb_middle) : LIST(thumb_end);
    if (joint < HAND_FINGERS || (joint - HAND_FINGERS) % 4 == 0)
        return (bend_list){NULL, 0};
    uint32_t bone = (joint - HAND_FINGERS) % 4;
    return bone == 1 ? LIST(knuckle) : bone == 2 ? LIST(finger_middle) : LIST(finger_end);
}

static void extend(hand_bend *least, hand_bend *most, hand_bend b) {
    *least = (hand_bend){fmin(least->flex, b.flex), fmin(least->spread, b.spread)};
    *most = (hand_bend){fmax(most->flex, b.flex), fmax(most->spread, b.spread)};
}

/* A pose within 0.8 of the range of every joint. The bones of a finger bend together, as tendons make them. */
static void random_pose(scene_random *random, hand_bend *bends) {
    double curl = 0;
    for (uint32_t j = 0; j < HAND_JOINTS; j++) {
        bend_list list = bends_of(j);
        hand_bend least = {0, 0}, most = {0, 0};
        for (uint32_t n = 0; n < list.count; n++)
            extend(&least, &most, list.items[n]);
        double own = scene_random_range(random, 0, 1), side = scene_random_range(random, 0, 1);
        bool finger = j >= HAND_FINGERS, first = finger && (j - HAND_FINGERS) % 4 == 1;
        curl = first ? own : curl;
        double flex = finger && !first ? 0.6 * curl + 0.4 * own : own;
        bends[j] = (hand_bend){0.8 * (least.flex + flex * (most.flex - least.flex)),
                               0.8 * (least.spread + side * (most.spread - least.spread))};
    }
}

static pelt_result fill_pose(pelt_context *context, pelt_model *model, const scene_joint *joints, hand_tissue *tissue,
                             const hand_bend *bends, const char *name, scene_pose *out) {
    const pelt_mesh *mesh = &model->mesh;
    pelt_transform *locals = SCENE_NEW(context, model, pelt_transform, HAND_JOINTS);
    float *positions = SCENE_NEW(context, model, float, 3 * (size_t)mesh->vertex_count);
    float *normals = SCENE_NEW(context, model, float, 3 * (size_t)mesh->vertex_count);
    if (!locals || !positions || !normals || !(name = pelt_model_text(context, model, name)))
        return PELT_ERROR_MEMORY;
    quat globals[HAND_JOINTS]; /* of the rest pose */
    for (uint32_t j = 0; j < HAND_JOINTS; j++) {
        const float *r = model->skeleton.rest[j].rotation;
        quat rest = {r[0], r[1], r[2], r[3]};
        globals[j] = joints[j].parent == PELT_NONE ? rest : quat_mul(globals[joints[j].parent], rest);
        locals[j] = model->skeleton.rest[j];
        if (bends[j].flex == 0 && bends[j].spread == 0)
            continue;
        quat own = quat_mul(quat_conjugate(globals[j]), quat_mul(hand_turn(&joints[j], bends[j]), globals[j]));
        quat local = quat_unit(quat_mul(rest, own));
        locals[j].rotation[0] = (float)local.x, locals[j].rotation[1] = (float)local.y;
        locals[j].rotation[2] = (float)local.z, locals[j].rotation[3] = (float)local.w;
    }
    hand_tissue_solve(tissue, bends, positions);
    *out = (scene_pose){name, locals, positions, normals};
    return pelt_mesh_normals(context, mesh, positions, normals);
}

pelt_result hand_random_poses(pelt_context *context, pelt_model *model, hand_tissue *tissue, uint64_t seed,
                              const char *name, uint32_t count, scene_pose *poses) {
    scene_joint joints[HAND_JOINTS];
    scene_random random = {seed};
    hand_joints(joints);
    for (uint32_t k = 0; k < count; k++) {
        char text[64];
        hand_bend bends[HAND_JOINTS];
        random_pose(&random, bends);
        snprintf(text, sizeof text, "%.40s_%02u", name, k + 1);
        SCENE_TRY(fill_pose(context, model, joints, tissue, bends, text, &poses[k]));
    }
    return PELT_OK;
}

static pelt_result solve_poses(pelt_context *context, const scene_desc *desc, pelt_model *model, hand_tissue *tissue,
                               uint32_t stride, scene_poses *out) {
    scene_joint joints[HAND_JOINTS];
    hand_joints(joints);
    uint32_t total = 0, listed = 0;
    for (uint32_t j = 0; j < HAND_JOINTS; j++)
        total += bends_of(j).count;
    scene_pose *seen = SCENE_NEW(context, model, scene_pose, total),
               *unseen = SCENE_NEW(context, model, scene_pose, UNSEEN);
    if (!seen || !unseen)
        return PELT_ERROR_MEMORY;
    *out = (scene_poses){.seen = seen, .unseen = unseen};
    char name[64];
    for (uint32_t j = 0; j < HAND_JOINTS; j++)
        for (uint32_t n = 0; n < bends_of(j).count; n++, listed++) {
            hand_bend bends[HAND_JOINTS] = {{0, 0}};
            bends[j] = bends_of(j).items[n];
            if (listed % stride)
                continue;
            snprintf(name, sizeof name, "%s_%g_%g", joints[j].name, bends[j].flex, bends[j].spread);
            SCENE_TRY(fill_pose(context, model, joints, tissue, bends, name, &seen[out->seen_count++]));
        }
    out->unseen_count = (UNSEEN + stride - 1) / stride;
    return hand_random_poses(context, model, tissue, desc->seed, "unseen", out->unseen_count, unseen);
}

pelt_result hand_tissue_of(pelt_context *context, const pelt_model *model, pelt_model *memory, hand_tissue **tissue) {
    const pelt_mesh *mesh = &model->mesh;
    bool small = mesh->vertex_count < SMALL;
    double cell = small ? 0.12 : CELL * sqrt(scene_clamp((double)VERTICES / mesh->vertex_count, 0.25, 2));
    return hand_tissue_make(context, memory, cell, small ? 2e-3 : 2e-4, mesh->positions, mesh->vertex_count, tissue);
}

static pelt_result make_poses(pelt_context *context, const scene_desc *desc, pelt_model *model, scene_poses *out) {
    pelt_model *memory;
    hand_tissue *tissue;
    SCENE_TRY(pelt_model_create(context, &memory));
    pelt_result result = hand_tissue_of(context, model, memory, &tissue);
    if (result == PELT_OK)
        result = solve_poses(context, desc, model, tissue, model->mesh.vertex_count < SMALL ? 4 : 1, out);
    pelt_model_destroy(memory);
    return result;
}

const scene scene_hand = {"hand", "a hand of 21 joints in elastic tissue: a rig, 120 training poses, 25 test poses",
                          make, make_poses};
