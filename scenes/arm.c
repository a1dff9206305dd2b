/* arm: a limb whose muscles bulge and whose skin slides as it bends: rig, motion with ground truth, training poses. */
#include "arm.h"

#include <stdio.h>

#define BLEND  0.3 /* half the length of the weight transition between bones */
#define LOOP   60u /* frames */
#define DEGREE (SCENE_PI / 180)

/* ---- The rig ---------------------------------------------------------------------------------------------- */

/* Rings of a capsule: `cap` rings on each half sphere, then the rest evenly along the axis. */
static vec ring_at(uint32_t ring, uint32_t rings, uint32_t cap) {
    uint32_t last = rings - 1 - cap;
    uint32_t beyond = ring < cap ? cap - ring : ring > last ? ring - last : 0;
    double end = ring < cap ? 0 : ARM_LENGTH, angle = SCENE_PI / 2 * beyond / (cap + 1);
    double s = beyond ? end : ARM_LENGTH * (ring - cap) / (last - cap), radius = arm_radius(s);
    return (vec){radius * scene_cos(angle), s + (ring < cap ? -1 : 1) * radius * scene_sin(angle), 0};
}

static void fill_vertices(pelt_mesh *mesh, uint32_t segments, uint32_t rings, uint32_t cap) {
    double low = arm_radius(0), size = ARM_LENGTH + low + arm_radius(ARM_LENGTH);
    for (uint32_t i = 0; i < mesh->vertex_count; i++) {
        uint32_t s = i % (segments + 1), r = i / (segments + 1);
        double angle = 2 * SCENE_PI * (s % segments) / segments;
        vec ring = r < rings ? ring_at(r, rings, cap) : (vec){0, s ? ARM_LENGTH + arm_radius(ARM_LENGTH) : -low, 0};
        vec p = {ring.x * scene_sin(angle), ring.y, ring.x * scene_cos(angle)};
        vec_store(mesh->positions + 3 * (size_t)i, p);
        mesh->uvs[2 * (size_t)i] = r < rings ? (float)((double)s / segments) : 0.5f;
        mesh->uvs[2 * (size_t)i + 1] = (float)((p.y + low) / size);
    }
}

static pelt_result build_mesh(pelt_context *context, pelt_model *model, uint32_t wanted) {
    /* Cells about square; the seam doubles a column, and the poles are the last two vertices. */
    uint32_t segments = (uint32_t)fmax(4, sqrt(0.21 * wanted)), cap = segments / 4;
    uint32_t rings = (uint32_t)fmax(2 * cap + 4, (wanted - 2) / (segments + 1)), up = segments + 1;
    SCENE_TRY(scene_mesh_alloc(context, model, up * rings + 2, 2 * segments * rings, 1));
    pelt_mesh *mesh = &model->mesh;
    fill_vertices(mesh, segments, rings, cap);
    uint32_t *t = mesh->triangles;
    for (uint32_t r = 0; r < rings; r++)
        for (uint32_t s = 0; s < segments; s++) {
            uint32_t i = r * up + s, pole = up * rings;
            uint32_t above = r + 1 < rings ? i + up + 1 : pole + 1, below = r > 0 ? i - up : pole;
            uint32_t corners[6] = {i, i + 1, above, i + 1, i, below};
            for (int c = 0; c < 6; c++)
                *t++ = corners[c];
        }
    mesh->parts[0] = (pelt_part){.name = "arm",
                                 .material = "arm",
                                 .triangle_count = mesh->triangle_count,
                                 .vertex_count = mesh->vertex_count,
                                 .joint = PELT_NONE};
    SCENE_TRY(pelt_model_weld(context, model));
    return pelt_mesh_normals(context, mesh, NULL, mesh->normals);
}

/* Sorts weights, largest first. */
static void weigh(double s, uint16_t *bones, float *weights) {
    uint32_t j = 1;
    while (j < ARM_BENDS && s > (arm_heads[j] + arm_heads[j + 1]) / 2)
        j++;
    double child = scene_smooth((s - arm_heads[j] + BLEND) / (2 * BLEND));
    bool more = child > 0.5;
    bones[0] = (uint16_t)(more ? j : j - 1);
    weights[0] = (float)(more ? child : 1 - child);
    weights[1] = 1 - weights[0];
    bones[1] = (uint16_t)(weights[1] > 0 ? (more ? j - 1 : j) : 0);
}

static pelt_result build_joints(pelt_context *context, pelt_model *model) {
    scene_joint joints[ARM_BENDS + 1] = {{.name = "base"}, {.name = "shoulder"}, {.name = "elbow"}, {.name = "wrist"}};
    for (uint32_t j = 0; j <= ARM_BENDS; j++) {
        joints[j].parent = j ? j - 1 : PELT_NONE;
        joints[j].head = vec_scale(ARM_AXIS, arm_heads[j]);
        joints[j].tail = vec_scale(ARM_AXIS, j < ARM_BENDS ? arm_heads[j + 1] : ARM_LENGTH);
    }
    SCENE_TRY(scene_skeleton(context, model, joints, ARM_BENDS + 1));
    SCENE_TRY(scene_skin_alloc(context, model));
    for (size_t i = 0; i < model->mesh.vertex_count; i++)
        weigh(model->mesh.positions[3 * i + 1], model->skin.bones + SCENE_INFLUENCES * i,
              model->skin.weights + SCENE_INFLUENCES * i);
    return PELT_OK;
}

pelt_result arm_build_rig(pelt_context *context, const scene_desc *desc, pelt_model *model) {
    SCENE_TRY(build_mesh(context, model, scene_count(desc->vertex_count, 2400, 40, SCENE_MAX_VERTICES)));
    return build_joints(context, model);
}

/* ---- Motion and ground truth ------------------------------------------------------------------------------- */

#define WAVES 4u

/* A swing about x of every joint, and a twist of the wrist before its swing, as in arm_bend. */
static void make_waves(uint64_t seed, scene_wave *waves) {
    static const scene_wave table[WAVES] = {
        {1, 0, 0.25, 0.6, 1, 0.75}, {2, 0, 0.75, 0.75, 2, 0.75}, {3, 1, 0, 0.6, 1, 0}, {3, 0, 0, 0.8, 2, 0.1}};
    scene_random random = {seed};
    for (uint32_t w = 0; w < WAVES; w++) {
        waves[w] = table[w];
        waves[w].amplitude *= scene_random_range(&random, 0.9, 1);
    }
}

typedef struct truth {
    const float *positions; /* [vertex][3] at rest */
    scene_wave waves[WAVES];
} truth;

static pelt_result read_truth(pelt_context *context, const void *user, uint32_t frame, uint32_t first, uint32_t count,
                              float *out) {
    (void)context;
    const truth *t = user;
    arm_bend bends[ARM_BENDS] = {{0}};
    for (uint32_t w = 0; w < WAVES; w++) {
        arm_bend *b = &bends[t->waves[w].joint - 1];
        *(t->waves[w].axis ? &b->twist : &b->x) = scene_wave_at(&t->waves[w], (double)(frame % LOOP) / LOOP);
    }
    arm_pose p = arm_pose_make(bends);
    for (size_t i = 0; i < count; i++)
        vec_store(out + 3 * i, arm_place(&p, vec_load(t->positions + 3 * (first + i))));
    return PELT_OK;
}

static pelt_result build(pelt_context *context, pelt_model *scratch, const scene_desc *desc, pelt_model *model) {
    (void)scratch;
    uint32_t frame_count = scene_count(desc->frame_count, LOOP + 1, 1, SCENE_MAX_FRAMES);
    SCENE_TRY(arm_build_rig(context, desc, model));
    truth *t = SCENE_NEW(context, model, truth, 1);
    if (!t)
        return PELT_ERROR_MEMORY;
    t->positions = model->mesh.positions;
    make_waves(desc->seed, t->waves);
    SCENE_TRY(scene_motion(context, model, "bend", t->waves, WAVES, frame_count, LOOP));
    return scene_clip(context, model, "truth", frame_count, (pelt_clip_source){.read = read_truth, .user = t});
}

static pelt_result make(pelt_context *context, const scene_desc *desc, pelt_model **model) {
    return scene_build(context, desc, build, model);
}

/* ---- Poses ------------------------------------------------------------------------------------------------ */

/* Training poses, one joint each: x, z, twist in degrees. */
static const struct {
    uint32_t joint;
    arm_bend bend;
} lessons[] = {
    {1, {-25, 0, 0}}, {1, {20, 0, 0}},  {1, {40, 0, 0}}, {1, {60, 0, 0}}, {1, {20, 25, 0}}, {1, {20, -25, 0}},
    {2, {15, 0, 0}},  {2, {30, 0, 0}},  {2, {45, 0, 0}}, {2, {60, 0, 0}}, {2, {75, 0, 0}},  {2, {90, 0, 0}},
    {3, {-50, 0, 0}}, {3, {-25, 0, 0}}, {3, {25, 0, 0}}, {3, {50, 0, 0}}, {3, {0, 0, 40}},  {3, {0, 0, -40}},
};
/* Range of the joints in test poses. */
static const arm_bend least[ARM_BENDS] = {{-25, -20, 0}, {0, 0, 0}, {-50, 0, -35}};
static const arm_bend most[ARM_BENDS] = {{60, 20, 0}, {90, 0, 0}, {50, 0, 35}};
#define UNSEEN 25u

static pelt_result fill_pose(pelt_context *context, pelt_model *model, const arm_bend *degrees, const char *name,
                             scene_pose *out) {
    const pelt_mesh *mesh = &model->mesh;
    pelt_transform *locals = SCENE_NEW(context, model, pelt_transform, ARM_BENDS + 1);
    float *positions = SCENE_NEW(context, model, float, 3 * (size_t)mesh->vertex_count);
    float *normals = SCENE_NEW(context, model, float, 3 * (size_t)mesh->vertex_count);
    if (!locals || !positions || !normals || !(name = pelt_model_text(context, model, name)))
        return PELT_ERROR_MEMORY;
    arm_bend bends[ARM_BENDS];
    locals[0] = model->skeleton.rest[0];
    for (uint32_t j = 0; j < ARM_BENDS; j++) {
        bends[j] = (arm_bend){degrees[j].x * DEGREE, degrees[j].z * DEGREE, degrees[j].twist * DEGREE};
        quat turn = arm_turn(&bends[j]); /* rest rotations are the identity */
        locals[j + 1] = model->skeleton.rest[j + 1];
        locals[j + 1].rotation[0] = (float)turn.x, locals[j + 1].rotation[1] = (float)turn.y;
        locals[j + 1].rotation[2] = (float)turn.z, locals[j + 1].rotation[3] = (float)turn.w;
    }
    arm_pose p = arm_pose_make(bends);
    for (size_t i = 0; i < mesh->vertex_count; i++)
        vec_store(positions + 3 * i, arm_place(&p, vec_load(mesh->positions + 3 * i)));
    *out = (scene_pose){name, locals, positions, normals};
    return pelt_mesh_normals(context, mesh, positions, normals);
}

static pelt_result make_poses(pelt_context *context, const scene_desc *desc, pelt_model *model, scene_poses *out) {
    scene_pose *seen = SCENE_NEW(context, model, scene_pose, SCENE_COUNT(lessons));
    scene_pose *unseen = SCENE_NEW(context, model, scene_pose, UNSEEN);
    if (!seen || !unseen)
        return PELT_ERROR_MEMORY;
    char name[64];
    for (uint32_t k = 0; k < SCENE_COUNT(lessons); k++) {
        arm_bend bends[ARM_BENDS] = {{0}}, *b = &bends[lessons[k].joint - 1];
        *b = lessons[k].bend;
        snprintf(name, sizeof name, "%s_%g_%g_%g", model->skeleton.names[lessons[k].joint], b->x, b->twist, b->z);
        SCENE_TRY(fill_pose(context, model, bends, name, &seen[k]));
    }
    scene_random random = {desc->seed};
    for (uint32_t k = 0; k < UNSEEN; k++) {
        arm_bend bends[ARM_BENDS];
        for (uint32_t j = 0; j < ARM_BENDS; j++) {
            bends[j].x = scene_random_range(&random, least[j].x, most[j].x);
            bends[j].z = scene_random_range(&random, least[j].z, most[j].z);
            bends[j].twist = scene_random_range(&random, least[j].twist, most[j].twist);
        }
        snprintf(name, sizeof name, "unseen_%02u", k + 1);
        SCENE_TRY(fill_pose(context, model, bends, name, &unseen[k]));
    }
    *out = (scene_poses){SCENE_COUNT(lessons), UNSEEN, seen, unseen};
    return PELT_OK;
}

const scene scene_arm = {"arm", "a limb that swells and slides as it bends: a rig, its true shape, poses of both", make,
                         make_poses};
