/* A rig made in code, in the place of an engine's own assets: a capped tube along y with two joints, a motion that bends it by 90°, a
 * morph that bulges and a driver that sets the morph's weight from the bend. */
#ifndef PELT_EXAMPLES_ARM_H
#define PELT_EXAMPLES_ARM_H

#include <pelt/runtime.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    ARM_RINGS = 24,
    ARM_SEGMENTS = 16,
    ARM_VERTICES = ARM_RINGS * ARM_SEGMENTS + 2,
    ARM_TRIANGLES = 2 * ARM_SEGMENTS * ARM_RINGS
};
#define ARM_LENGTH 4.0f /* the elbow is at half of it */
#define ARM_RADIUS 0.5f

/* Prints the message of the last failure. */
static inline int arm_fail(pelt_context *context) {
    fprintf(stderr, "%s\n", pelt_error_text(context));
    return 1;
}

static inline void arm_mesh(pelt_context *context, pelt_model *model) {
    pelt_mesh *mesh = &model->mesh;
    mesh->vertex_count = mesh->points.count = ARM_VERTICES;
    mesh->triangle_count = mesh->polygon_count = ARM_TRIANGLES;
    mesh->part_count = 1;
    mesh->positions = (float *)pelt_model_alloc(context, model, ARM_VERTICES, 3 * sizeof(float));
    mesh->normals = (float *)pelt_model_alloc(context, model, ARM_VERTICES, 3 * sizeof(float));
    mesh->triangles = (uint32_t *)pelt_model_alloc(context, model, ARM_TRIANGLES, 3 * sizeof(uint32_t));
    mesh->parts = (pelt_part *)pelt_model_alloc(context, model, 1, sizeof(pelt_part));
    mesh->parts[0] =
        (pelt_part){.name = "arm", .triangle_count = ARM_TRIANGLES, .vertex_count = ARM_VERTICES, .joint = PELT_NONE};
    for (uint32_t i = 0; i < ARM_VERTICES; i++) {
        uint32_t ring = i / ARM_SEGMENTS, segment = i % ARM_SEGMENTS;
        bool pole = ring == ARM_RINGS;
        float angle = 6.2831853f * (float)segment / ARM_SEGMENTS, radius = pole ? 0 : ARM_RADIUS;
        float at = pole ? (float)segment : (float)ring / (ARM_RINGS - 1);
        float p[3] = {radius * sinf(angle), ARM_LENGTH * at, radius * cosf(angle)};
        float n[3] = {sinf(angle), 0, cosf(angle)}, up[3] = {0, segment ? 1.0f : -1.0f, 0};
        memcpy(mesh->positions + 3 * i, p, sizeof p);
        memcpy(mesh->normals + 3 * i, pole ? up : n, sizeof n);
    }
    uint32_t *t = mesh->triangles;
    for (uint32_t ring = 0; ring < ARM_RINGS; ring++)
        for (uint32_t s = 0; s < ARM_SEGMENTS; s++) {
            uint32_t a = ring * ARM_SEGMENTS + s, b = ring * ARM_SEGMENTS + (s + 1) % ARM_SEGMENTS,
                     pole = ARM_RINGS * ARM_SEGMENTS;
            uint32_t above = ring + 1 < ARM_RINGS ? b + ARM_SEGMENTS : pole + 1, below = ring ? a - ARM_SEGMENTS : pole;
            uint32_t corners[6] = {a, b, above, b, a, below};
            memcpy(t, corners, sizeof corners);
            t += 6;
        }
}

/* Two bones; weights pass from one to the other around the elbow. */
static inline void arm_skin(pelt_context *context, pelt_model *model) {
    pelt_skeleton *skeleton = &model->skeleton;
    skeleton->joint_count = 2;
    skeleton->names = (const char **)pelt_model_alloc(context, model, 2, sizeof(char *));
    skeleton->parents = (uint32_t *)pelt_model_alloc(context, model, 2, sizeof(uint32_t));
    skeleton->rest = (pelt_transform *)pelt_model_alloc(context, model, 2, sizeof(pelt_transform));
    skeleton->names[0] = "upper", skeleton->names[1] = "lower";
    skeleton->parents[0] = PELT_NONE, skeleton->parents[1] = 0;
    skeleton->rest[0] = (pelt_transform){{0, 0, 0}, {0, 0, 0, 1}, {1, 1, 1}};
    skeleton->rest[1] = (pelt_transform){{0, ARM_LENGTH / 2, 0}, {0, 0, 0, 1}, {1, 1, 1}};
    pelt_skin *skin = &model->skin;
    skin->bone_count = skin->influence_count = 2;
    skin->bone_joints = (uint32_t *)pelt_model_alloc(context, model, 2, sizeof(uint32_t));
    skin->inverse_binds = (pelt_affine *)pelt_model_alloc(context, model, 2, sizeof(pelt_affine));
    skin->bones = (uint16_t *)pelt_model_alloc(context, model, ARM_VERTICES, 2 * sizeof(uint16_t));
    skin->weights = (float *)pelt_model_alloc(context, model, ARM_VERTICES, 2 * sizeof(float));
    skin->bone_joints[1] = 1;
    skin->inverse_binds[0] = (pelt_affine){{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}};
    skin->inverse_binds[1] = (pelt_affine){{1, 0, 0, 0, 0, 1, 0, -ARM_LENGTH / 2, 0, 0, 1, 0}};
    for (uint32_t i = 0; i < ARM_VERTICES; i++) {
        float u = fminf(fmaxf(model->mesh.positions[3 * i + 1] - ARM_LENGTH / 2 + 0.5f, 0), 1),
              lower = u * u * (3 - 2 * u);
        uint16_t first = lower > 0.5f; /* the largest weight comes first */
        skin->bones[2 * i] = first;
        skin->weights[2 * i] = first ? lower : 1 - lower;
        skin->weights[2 * i + 1] = first ? 1 - lower : lower;
        skin->bones[2 * i + 1] = skin->weights[2 * i + 1] > 0 ? !first : 0;
    }
}

static inline void arm_motion(pelt_context *context, pelt_model *model) {
    static const float times[3] = {0, 0.5f, 1};
    static const float rotations[3][4] = {{0, 0, 0, 1}, {0, 0, 0.70710678f, 0.70710678f}, {0, 0, 0, 1}};
    pelt_track *track = (pelt_track *)pelt_model_alloc(context, model, 1, sizeof(pelt_track));
    *track = (pelt_track){
        .joint = 1, .path = PELT_PATH_ROTATION, .width = 4, .key_count = 3, .times = times, .values = rotations[0]};
    model->motion_count = 1;
    model->motions = (pelt_motion *)pelt_model_alloc(context, model, 1, sizeof(pelt_motion));
    model->motions[0] = (pelt_motion){.name = "bend", .end = 1, .track_count = 1, .tracks = track};
}

/* The upper arm bulges by 0.2 where the elbow is bent by 90°. */
static inline void arm_morph(pelt_context *context, pelt_model *model) {
    static const uint32_t driven[1] = {0};
    static const float bent[4] = {0, 0, 0.70710678f, 0.70710678f}, coefficients[2] = {1, 0};
    float *bulge = (float *)pelt_model_alloc(context, model, ARM_VERTICES, 3 * sizeof(float));
    for (uint32_t i = 0; i < ARM_VERTICES; i++)
        if (model->mesh.positions[3 * i + 1] > 0.8f && model->mesh.positions[3 * i + 1] < 1.6f)
            bulge[3 * i] = -0.2f;
    model->morphs.morph_count = 1;
    model->morphs.morphs = (pelt_morph *)pelt_model_alloc(context, model, 1, sizeof(pelt_morph));
    model->morphs.morphs[0] = (pelt_morph){.name = "bulge", .vertex_count = ARM_VERTICES, .positions = bulge};
    model->driver_count = 1;
    model->drivers = (pelt_driver *)pelt_model_alloc(context, model, 1, sizeof(pelt_driver));
    model->drivers[0] = (pelt_driver){.joint = 1,
                                      .part = PELT_ROTATION_WHOLE,
                                      .kernel = PELT_KERNEL_GAUSSIAN,
                                      .radius = 0.5f,
                                      .centre_count = 1,
                                      .centres = bent,
                                      .morph_count = 1,
                                      .morphs = driven,
                                      .coefficients = coefficients};
}

/* NULL on failure. An engine checks each pelt_model_alloc; here all of them together fit in a megabyte. */
static inline pelt_model *arm_create(pelt_context *context) {
    pelt_model *model = NULL;
    if (pelt_model_create(context, &model) != PELT_OK)
        return NULL;
    arm_mesh(context, model);
    arm_skin(context, model);
    arm_motion(context, model);
    arm_morph(context, model);
    if (pelt_model_validate(context, model) == PELT_OK)
        return model;
    pelt_model_destroy(model);
    return NULL;
}

#endif
