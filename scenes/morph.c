/* morph: a head that talks: three morph targets driven by a track of weights, no moving joint. */
#include "build.h"

#define MORPHS 3u
#define LOOP   60.0 /* frames */

static void make_solid(scene_random *random, scene_solid *solid) {
    double wide = scene_random_range(random, 0.9, 1.1), nose = scene_random_range(random, 0.8, 1.3);
    scene_solid_group(solid, 0.3);
    scene_solid_segment(solid, (vec){0, 0.32, -0.06}, (vec){0, 0.1, 0.0}, 0.62, 0.6);
    scene_solid_group(solid, 0.35);
    scene_solid_segment(solid, (vec){0, -0.1, 0.02}, (vec){0, -0.5, 0.24}, 0.5 * wide, 0.29);
    scene_solid_group(solid, 0.2);
    scene_solid_segment(solid, (vec){0, -0.5, -0.2}, (vec){0, -1.15, -0.25}, 0.34, 0.38);
    for (int side = -1; side <= 1; side += 2) {
        scene_solid_group(solid, 0.12);
        scene_solid_segment(solid, (vec){0.1 * side, 0.27, 0.53}, (vec){0.34 * side, 0.3, 0.42}, 0.09, 0.07);
        scene_solid_group(solid, 0.05);
        scene_solid_segment(solid, (vec){0.22 * side, 0.13, 0.5}, (vec){0.22 * side, 0.13, 0.51}, 0.125, 0.125);
        scene_solid_group(solid, 0.1);
        scene_solid_segment(solid, (vec){0.58 * side * wide, 0.12, -0.05}, (vec){0.56 * side * wide, -0.1, -0.02}, 0.1,
                            0.07);
        scene_solid_group(solid, 0.2);
        scene_solid_segment(solid, (vec){0.28 * side, -0.12, 0.4}, (vec){0.28 * side, -0.12, 0.4}, 0.13, 0.13);
    }
    scene_solid_group(solid, 0.1);
    scene_solid_segment(solid, (vec){0, 0.16, 0.56}, (vec){0, -0.06, 0.6 + 0.12 * nose}, 0.06, 0.1 * nose);
    scene_solid_group(solid, 0.05);
    scene_solid_segment(solid, (vec){-0.14, -0.3, 0.52}, (vec){0.14, -0.3, 0.52}, 0.055, 0.055);
    scene_solid_segment(solid, (vec){-0.11, -0.4, 0.52}, (vec){0.11, -0.4, 0.52}, 0.06, 0.06);
}

/* 1 at the centre, 0 from `radius` on. */
static double around(vec p, vec center, double radius) {
    double d = vec_length(vec_sub(p, center));
    return 1 - scene_smooth(d / radius);
}

/* Displacement of a point by a target. */
static vec displace(uint32_t morph, vec p) {
    double side = p.x < 0 ? -1 : 1;
    if (morph == 0) { /* the jaw rotates about the ears */
        double open = scene_smooth((-0.33 - p.y) / 0.1) * scene_smooth((p.z + 0.15) / 0.45);
        double a = 0.3 * open, y = p.y - 0.0, z = p.z + 0.05;
        return (vec){0, y * scene_cos(a) - z * scene_sin(a) - y, y * scene_sin(a) + z * scene_cos(a) - z};
    }
    if (morph == 1) { /* corners of the mouth out and up, cheeks round */
        double corner = around(p, (vec){0.18 * side, -0.33, 0.5}, 0.26);
        double cheek = around(p, (vec){0.32 * side, -0.1, 0.45}, 0.3);
        double push = fabs(p.x) > 0.02 ? 1 : fabs(p.x) / 0.02;
        return (vec){push * (0.1 * corner + 0.03 * cheek) * side, 0.11 * corner + 0.04 * cheek,
                     -0.03 * corner + 0.05 * cheek};
    }
    double brow = around(p, (vec){0.22 * side, 0.33, 0.5}, 0.3);
    return (vec){0, 0.12 * brow, 0.03 * brow};
}

/* ---- Scene ------------------------------------------------------------------------------------------------ */

pelt_result scene_target(pelt_context *context, pelt_model *model, const char *name, uint32_t index, float *positions) {
    const pelt_mesh *mesh = &model->mesh;
    size_t count = 3 * (size_t)mesh->vertex_count;
    float *normals = SCENE_NEW(context, model, float, count);
    pelt_model *scratch = NULL;
    pelt_result result = pelt_model_create(context, &scratch);
    float *moved = result == PELT_OK ? SCENE_NEW(context, scratch, float, count) : NULL;
    float *flat = moved ? SCENE_NEW(context, scratch, float, count) : NULL;
    result = normals && flat ? PELT_OK : PELT_ERROR_MEMORY;
    for (size_t e = 0; result == PELT_OK && e < count; e++)
        moved[e] = mesh->positions[e] + positions[e];
    if (result == PELT_OK)
        result = pelt_mesh_normals(context, mesh, NULL, flat);
    if (result == PELT_OK)
        result = pelt_mesh_normals(context, mesh, moved, normals);
    for (size_t e = 0; result == PELT_OK && e < count; e++)
        normals[e] -= flat[e];
    if (result == PELT_OK)
        model->morphs.morphs[index] = (pelt_morph){.name = name,
                                                   .index = index,
                                                   .vertex_count = mesh->vertex_count,
                                                   .positions = positions,
                                                   .normals = normals};
    pelt_model_destroy(scratch);
    return result;
}

pelt_result scene_head_make(pelt_context *context, pelt_model *scratch, scene_random *random, uint32_t vertex_count,
                            uint32_t morph_count, pelt_model *model) {
    static const scene_joint joint = {"head", PELT_NONE, {0, 0, 0}, {0, 1, 0}, 1};
    scene_solid *solid = SCENE_NEW(context, scratch, scene_solid, 1);
    if (!solid)
        return PELT_ERROR_MEMORY;
    make_solid(random, solid);
    scene_surface surface;
    SCENE_TRY(scene_surface_make(context, scratch, solid, scene_points_for(vertex_count), &surface));
    SCENE_TRY(scene_mesh_from_surface(context, model, &surface, "head", false));
    SCENE_TRY(scene_skeleton(context, model, &joint, 1));
    SCENE_TRY(scene_skin_alloc(context, model));
    for (size_t i = 0; i < model->mesh.vertex_count; i++)
        model->skin.weights[SCENE_INFLUENCES * i] = 1;
    model->mesh.parts[0].joint = 0;
    model->mesh.parts[0].skinned = false;
    SCENE_TRY(pelt_model_weld(context, model));
    model->morphs.morphs = SCENE_NEW(context, model, pelt_morph, morph_count);
    model->morphs.morph_count = morph_count;
    return model->morphs.morphs ? PELT_OK : PELT_ERROR_MEMORY;
}

/* Keys every tenth of a second; CUBIC with the slopes of the waves themselves. */
static pelt_result fill_motion(pelt_context *context, pelt_model *model, uint32_t frame_count) {
    static const double cycles[MORPHS] = {5, 1, 2}, phases[MORPHS] = {0, 0.25, 0.6};
    uint32_t key_count = (frame_count + 1) / 3 + 1;
    pelt_motion *motion = SCENE_NEW(context, model, pelt_motion, 1);
    pelt_track *track = SCENE_NEW(context, model, pelt_track, 1);
    float *times = SCENE_NEW(context, model, float, key_count);
    float *values = SCENE_NEW(context, model, float, (size_t)key_count * 3 * MORPHS);
    if (!motion || !track || !times || !values)
        return PELT_ERROR_MEMORY;
    for (uint32_t key = 0; key < key_count; key++) {
        double frame = key_count == 1 ? 0 : (double)key * (frame_count - 1) / (key_count - 1);
        times[key] = (float)(frame / SCENE_FPS);
        for (uint32_t m = 0; m < MORPHS; m++) {
            double angle = 2 * SCENE_PI * (cycles[m] * frame / LOOP + phases[m]);
            double slope = 0.5 * scene_cos(angle) * 2 * SCENE_PI * cycles[m] / LOOP * SCENE_FPS;
            float *out = values + ((size_t)key * 3 * MORPHS + m);
            out[0] = out[2 * MORPHS] = (float)slope;
            out[MORPHS] = (float)(0.5 + 0.5 * scene_sin(angle));
        }
    }
    *track = (pelt_track){.path = PELT_PATH_WEIGHTS,
                          .interpolation = PELT_INTERPOLATION_CUBIC,
                          .width = MORPHS,
                          .key_count = key_count,
                          .times = times,
                          .values = values};
    *motion = (pelt_motion){.name = "talk", .end = times[key_count - 1], .track_count = 1, .tracks = track};
    model->motion_count = 1;
    model->motions = motion;
    return PELT_OK;
}

static pelt_result build(pelt_context *context, pelt_model *scratch, const scene_desc *desc, pelt_model *model) {
    static const char *const names[MORPHS] = {"jaw_open", "smile", "brows_up"};
    scene_random random = {desc->seed};
    SCENE_TRY(scene_head_make(context, scratch, &random, scene_count(desc->vertex_count, 3000, 50, SCENE_MAX_VERTICES),
                              MORPHS, model));
    for (uint32_t m = 0; m < MORPHS; m++) {
        float *positions = SCENE_NEW(context, model, float, 3 * (size_t)model->mesh.vertex_count);
        if (!positions)
            return PELT_ERROR_MEMORY;
        for (size_t i = 0; i < model->mesh.vertex_count; i++)
            vec_store(positions + 3 * i, displace(m, vec_load(model->mesh.positions + 3 * i)));
        SCENE_TRY(scene_target(context, model, names[m], m, positions));
    }
    return fill_motion(context, model, scene_count(desc->frame_count, 61, 1, SCENE_MAX_FRAMES));
}

static pelt_result make(pelt_context *context, const scene_desc *desc, pelt_model **model) {
    return scene_build(context, desc, build, model);
}

const scene scene_morph = {"morph", "a head that talks: three morph targets and their weights over time", make, NULL};
