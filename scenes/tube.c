/* tube: a cylinder with two joints that bends: the smallest rig that shows everything, for quick tests. */
#include "build.h"

#define LENGTH 2.0
#define RADIUS 0.25

static pelt_result build_mesh(pelt_context *context, pelt_model *model, uint32_t wanted) {
    /* Cells about square: rings / segments = length / circumference. The seam doubles one column. */
    uint32_t segments = (uint32_t)(sqrt(wanted * 2 * SCENE_PI * RADIUS / LENGTH) + 0.5);
    segments = segments < 4 ? 4 : segments;
    uint32_t rings = wanted / (segments + 1) < 3 ? 3 : wanted / (segments + 1), quads = segments * (rings - 1);
    SCENE_TRY(scene_mesh_alloc(context, model, (segments + 1) * rings, 2 * quads, 1));
    pelt_mesh *mesh = &model->mesh;
    if (!(mesh->triangle_polygons = SCENE_NEW(context, model, uint32_t, mesh->triangle_count)))
        return PELT_ERROR_MEMORY;
    mesh->polygon_count = quads;
    for (uint32_t i = 0; i < mesh->vertex_count; i++) {
        uint32_t s = i % (segments + 1), r = i / (segments + 1);
        double angle = 2 * SCENE_PI * (s % segments) / segments, v = (double)r / (rings - 1);
        vec out = {scene_sin(angle), 0, scene_cos(angle)};
        vec_store(mesh->positions + 3 * (size_t)i, (vec){RADIUS * out.x, LENGTH * v, RADIUS * out.z});
        vec_store(mesh->normals + 3 * (size_t)i, out);
        mesh->uvs[2 * (size_t)i] = (float)((double)s / segments);
        mesh->uvs[2 * (size_t)i + 1] = (float)v;
    }
    for (uint32_t q = 0; q < quads; q++) {
        uint32_t i = q / segments * (segments + 1) + q % segments, up = segments + 1;
        uint32_t corners[6] = {i, i + 1, i + up + 1, i, i + up + 1, i + up};
        for (int c = 0; c < 6; c++)
            mesh->triangles[6 * (size_t)q + c] = corners[c];
        mesh->triangle_polygons[2 * (size_t)q] = mesh->triangle_polygons[2 * (size_t)q + 1] = q;
    }
    mesh->parts[0] = (pelt_part){.name = "tube",
                                 .material = "tube",
                                 .triangle_count = mesh->triangle_count,
                                 .vertex_count = mesh->vertex_count,
                                 .joint = PELT_NONE};
    return PELT_OK;
}

static pelt_result build(pelt_context *context, pelt_model *scratch, const scene_desc *desc, pelt_model *model) {
    (void)scratch;
    static const scene_joint joints[2] = {{"lower", PELT_NONE, {0, 0, 0}, {0, LENGTH / 2, 0}, RADIUS},
                                          {"upper", 0, {0, LENGTH / 2, 0}, {0, LENGTH, 0}, RADIUS}};
    scene_random random = {desc->seed};
    scene_wave waves[2] = {{1, 2, 0, 1.2, 1, 0}, {1, 0, 0, 0.4, 1, scene_random_range(&random, 0, 1)}};
    SCENE_TRY(build_mesh(context, model, scene_count(desc->vertex_count, 63, 15, SCENE_MAX_VERTICES)));
    SCENE_TRY(scene_skeleton(context, model, joints, 2));
    SCENE_TRY(scene_skin_alloc(context, model));
    for (size_t i = 0; i < model->mesh.vertex_count; i++)
        scene_skin_weigh(joints, 2, 3, vec_load(model->mesh.positions + 3 * i),
                         model->skin.bones + SCENE_INFLUENCES * i, model->skin.weights + SCENE_INFLUENCES * i);
    return scene_motion(context, model, "bend", waves, 2, scene_count(desc->frame_count, 31, 1, SCENE_MAX_FRAMES), 30);
}

static pelt_result make(pelt_context *context, const scene_desc *desc, pelt_model **model) {
    return scene_build(context, desc, build, model);
}

const scene scene_tube = {"tube", "a small cylinder that bends: two joints, for quick tests", make, NULL};
