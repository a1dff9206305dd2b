/* Running the binder for the tables. */
#include "bind_bench.h"

#include "core/core.h"
#include "core/math3.h"

#include <pelt/io.h>
#include <pelt/run.h>

#include <stdio.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- The simplest binder: each vertex follows the nearest bone alone --------------------------------------- */

static double segment_distance(const float p[3], const pelt_affine *a, const pelt_affine *b) {
    double length = 0, dot = 0, distance = 0;
    for (int c = 0; c < 3; c++) {
        double side = (double)b->m[4 * c + 3] - a->m[4 * c + 3];
        length += side * side;
        dot += side * ((double)p[c] - a->m[4 * c + 3]);
    }
    double u = length > 0 ? fmin(fmax(dot / length, 0), 1) : 0;
    for (int c = 0; c < 3; c++) {
        double d = (double)p[c] - (1 - u) * a->m[4 * c + 3] - u * b->m[4 * c + 3];
        distance += d * d;
    }
    return distance;
}

static uint16_t nearest_bone(const pelt_model *model, const pelt_affine *globals, const float p[3]) {
    const pelt_skin *skin = &model->skin;
    double best = INFINITY;
    uint16_t bone = 0;
    for (uint32_t b = 0; b < skin->bone_count; b++)
        for (uint32_t j = skin->bone_joints[b]; j < model->skeleton.joint_count; j++) {
            if (j != skin->bone_joints[b] && model->skeleton.parents[j] != skin->bone_joints[b])
                continue;
            double distance = segment_distance(p, &globals[skin->bone_joints[b]], &globals[j]);
            if (distance < best)
                best = distance, bone = (uint16_t)b;
        }
    return bone;
}

static pelt_result bind(pelt_context *context, pelt_model *model) {
    size_t count = model->mesh.vertex_count;
    float *rest = pelt_model_alloc(context, model, count, 3 * sizeof(float));
    pelt_affine *globals = pelt_model_alloc(context, model, model->skeleton.joint_count, sizeof(pelt_affine));
    uint16_t *bones = pelt_model_alloc(context, model, count, sizeof(uint16_t));
    float *weights = pelt_model_alloc(context, model, count, sizeof(float));
    if (!rest || !globals || !bones || !weights)
        return PELT_ERROR_MEMORY;
    PX_TRY(pelt_model_pose(context, model, NULL, 0, PELT_SKINNING_LINEAR, rest, NULL));
    pelt_skeleton_globals(&model->skeleton, model->skeleton.rest, globals);
    for (size_t i = 0; i < count; i++) {
        bones[i] = nearest_bone(model, globals, rest + 3 * i);
        weights[i] = 1;
    }
    model->skin.influence_count = 1;
    model->skin.bones = bones;
    model->skin.weights = weights;
    return PELT_OK;
}

pelt_result bind_with(pelt_context *context, const bind_bench *b, const char *setting, pelt_model *model,
                      bind_figures *figures) {
    if (b->setting_count || setting)
        return px_fail(context, PELT_ERROR_ARGUMENT, "the nearest bone has no options");
    double start = now();
    PX_TRY(bind(context, model));
    *figures = (bind_figures){.total = now() - start};
    return PELT_OK;
}

pelt_result bind_loaded(pelt_context *context, const bind_bench *b, const char *setting, const character *c,
                        pelt_model **model, bind_figures *figures) {
    const char *paths[] = {c->path};
    PX_TRY(pelt_load(context, paths, 1, NULL, model));
    pelt_result result = bind_with(context, b, setting, *model, figures);
    if (result != PELT_OK) {
        pelt_model_destroy(*model);
        *model = NULL;
    }
    return result;
}

/* Dense and coarse meshes, one part and many, few joints and many, upright and not. */
static const char *const few[] = {"Military_Male_03",  "Male_Adult_12", "Stag",      "Witch",
                                  "dragon-animations", "Fox",           "human_game"};

static bool is_wanted(pelt_context *context, const bind_bench *b, const character *c) {
    bool wanted = b->filter != NULL;
    for (size_t n = 0; n < PX_COUNT(few); n++)
        wanted |= strcmp(c->name, few[n]) == 0;
    pelt_model *model = NULL;
    const char *reason = NULL;
    wanted = wanted && character_load(context, c, &model, &reason) == PELT_OK && !reason;
    pelt_model_destroy(model);
    return wanted;
}

int bind_each(pelt_context *context, const bind_bench *b, bind_row_fn *run) {
    character_list list = characters_find(b->filter);
    int code = 0;
    for (size_t c = 0; c < list.count; c++)
        if (is_wanted(context, b, &list.items[c]) && run(context, b, &list.items[c]) != PELT_OK) {
            printf("failed: %s: %s\n", list.items[c].name, pelt_error_text(context));
            code = 1;
        }
    characters_free(&list);
    return code;
}
