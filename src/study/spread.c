/* Evenly spread bones (Kavan et al. 2007, as described by Kavan, Sloan and O'Sullivan 2010): bone positions and weights
 * depend on the rest pose only, so that only the transforms remain unknown, a linear least-squares problem.
 *
 * Symbols: R largest distance of a vertex from its nearest bone (radius2 = R²), K influences.
 */
#include "study/study.h"

#include <math.h>
#include <stdio.h>

#define BONES_MOST 4000u /* limit of pelt_decompose, which processes the result */

static double distance2(const pelt_mesh *mesh, size_t i, size_t j) {
    const float *a = mesh->positions + 3 * i, *b = mesh->positions + 3 * j;
    double sum = 0;
    for (int axis = 0; axis < 3; axis++)
        sum += ((double)a[axis] - (double)b[axis]) * ((double)a[axis] - (double)b[axis]);
    return sum;
}

/* Farthest-point sampling: starts with vertex 0, then repeatedly adds the vertex farthest from all places so far. Fills
 * places [count] and returns how many were found; *radius2 becomes R². */
static uint32_t choose_places(const pelt_mesh *mesh, uint32_t count, uint32_t *places, double *nearest2,
                              double *radius2) {
    for (uint32_t i = 0; i < mesh->vertex_count; i++)
        nearest2[i] = INFINITY;
    uint32_t chosen = 0, next = 0;
    do {
        uint32_t farthest = 0;
        places[chosen++] = next;
        for (uint32_t i = 0; i < mesh->vertex_count; i++) {
            nearest2[i] = px_fmin(nearest2[i], distance2(mesh, i, next));
            if (nearest2[i] > nearest2[farthest])
                farthest = i;
        }
        next = farthest;
        *radius2 = nearest2[farthest];
    } while (chosen<count && * radius2> 0);
    return chosen;
}

/* The K nearest places of a vertex, nearest first, and the squares of their distances. */
static uint32_t find_nearest(const pelt_mesh *mesh, size_t i, const uint32_t *places, uint32_t count, uint32_t K,
                             uint16_t *bones, double *squares) {
    uint32_t found = 0;
    for (uint32_t j = 0; j < count; j++) {
        double square = distance2(mesh, i, places[j]);
        if (found == K && !(square < squares[K - 1]))
            continue;
        uint32_t at = found < K ? found++ : K - 1;
        for (; at > 0 && square < squares[at - 1]; at--) {
            squares[at] = squares[at - 1];
            bones[at] = bones[at - 1];
        }
        squares[at] = square;
        bones[at] = (uint16_t)j;
    }
    return found;
}

typedef struct weighing {
    const pelt_mesh *mesh;
    const uint32_t *places;
    double radius2;
    const pelt_skin *skin;
} weighing;

static pelt_result weigh_vertices(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const weighing *job = user;
    uint32_t K = job->skin->influence_count;
    for (size_t i = first; i < first + count; i++) {
        uint16_t *bones = job->skin->bones + i * K;
        float *weights = job->skin->weights + i * K;
        double squares[PELT_MAX_INFLUENCES], values[PELT_MAX_INFLUENCES], sum = 0;
        uint32_t found = find_nearest(job->mesh, i, job->places, job->skin->bone_count, K, bones, squares);
        for (uint32_t e = 0; e < found; e++) /* relative to the nearest, so that the first is 1 */
            sum += values[e] = job->radius2 > 0 ? px_exp(2 * (squares[0] - squares[e]) / job->radius2) : e == 0;
        for (uint32_t e = 0; e < found; e++) {
            weights[e] = (float)(values[e] / sum);
            bones[e] = weights[e] > 0 ? bones[e] : 0;
        }
    }
    return PELT_OK;
}

static pelt_result make_skeleton(pelt_context *context, pelt_model *model, const uint32_t *places, uint32_t count,
                                 pelt_skeleton *skeleton, pelt_skin *skin) {
    *skeleton = (pelt_skeleton){.joint_count = count,
                                .names = PX_NEW(model->memory, const char *, count),
                                .parents = PX_NEW(model->memory, uint32_t, count),
                                .rest = PX_NEW(model->memory, pelt_transform, count)};
    skin->bone_joints = PX_NEW(model->memory, uint32_t, count);
    skin->inverse_binds = PX_NEW(model->memory, pelt_affine, count);
    if (!skeleton->names || !skeleton->parents || !skeleton->rest || !skin->bone_joints || !skin->inverse_binds)
        return PELT_ERROR_MEMORY;
    for (uint32_t j = 0; j < count; j++) {
        const float *p = model->mesh.positions + 3 * (size_t)places[j];
        char name[32];
        snprintf(name, sizeof name, "bone %u", j + 1);
        if (!(skeleton->names[j] = pelt_model_text(context, model, name)))
            return PELT_ERROR_MEMORY;
        skeleton->parents[j] = PELT_NONE;
        skeleton->rest[j] = (pelt_transform){{p[0], p[1], p[2]}, {0, 0, 0, 1}, {1, 1, 1}};
        skin->inverse_binds[j] = (pelt_affine){{1, 0, 0, -p[0], 0, 1, 0, -p[1], 0, 0, 1, -p[2]}};
        skin->bone_joints[j] = j;
    }
    return PELT_OK;
}

static pelt_result spread(pelt_context *context, pelt_model *model, uint32_t *places, uint32_t bones, uint32_t K,
                          double *nearest2) {
    const pelt_mesh *mesh = &model->mesh;
    pelt_skeleton skeleton;
    pelt_skin skin = {.influence_count = K};
    weighing job = {mesh, places, 0, &skin};
    skin.bone_count = choose_places(mesh, bones, places, nearest2, &job.radius2);
    skin.bones = PX_NEW(model->memory, uint16_t, px_mul_size(mesh->vertex_count, K));
    skin.weights = PX_NEW(model->memory, float, px_mul_size(mesh->vertex_count, K));
    if (!skin.bones || !skin.weights)
        return PELT_ERROR_MEMORY;
    PX_TRY(make_skeleton(context, model, places, skin.bone_count, &skeleton, &skin));
    PX_TRY(px_parallel(context, "spread", mesh->vertex_count, 256, weigh_vertices, &job));
    for (uint32_t p = 0; p < mesh->part_count; p++) {
        mesh->parts[p].joint = PELT_NONE;
        mesh->parts[p].skinned = true;
    }
    model->skeleton = skeleton;
    model->skin = skin;
    model->motion_count = 0;
    model->morphs = (pelt_morph_set){0};
    model->driver_count = 0;
    model->changed |= PELT_CHANGED_SKIN | PELT_CHANGED_SKELETON | PELT_CHANGED_MOTIONS | PELT_CHANGED_MORPHS;
    return PELT_OK;
}

pelt_result pelt_study_spread(pelt_context *context, pelt_model *model, uint32_t bones, uint32_t influences) {
    if (bones < 1 || bones > BONES_MOST || influences < 1 || influences > PELT_MAX_INFLUENCES)
        return px_fail(context, PELT_ERROR_USAGE, "bones must be from 1 to %u, influences from 1 to %u", BONES_MOST,
                       PELT_MAX_INFLUENCES);
    if (model->mesh.vertex_count == 0)
        return px_fail(context, PELT_ERROR_INPUT, "there is no mesh in it to spread bones over");
    uint32_t *places = PX_ALLOC(context, uint32_t, bones);
    double *nearest2 = PX_ALLOC(context, double, model->mesh.vertex_count);
    pelt_result result = PELT_ERROR_MEMORY;
    px_operation operation = px_operation_begin(model);
    if (places && nearest2)
        result = spread(context, model, places, bones, influences, nearest2);
    px_free(context, places);
    px_free(context, nearest2);
    return px_operation_end(&operation, result);
}
