/* How much weights change when the input is rotated, shifted, scaled or subdivided: L1 between two
 * bindings of the same character, over the vertices that both have. */
#include "bind_bench.h"
#include "rig_measures.h"

#include "core/core.h"
#include "core/math3.h"

#include <stdio.h>

/* ---- Other inputs that are the same character --------------------------------------------------------------- */

/* Rotates or scales everything (mesh, bind pose and roots), so that every pose is the same, moved. */
static pelt_result move_model(pelt_context *context, pelt_model *model, const pelt_transform *by) {
    pelt_affine move = px_affine_from_transform(by), back;
    if (!px_affine_inverse(&move, &back))
        return px_fail(context, PELT_ERROR_USAGE, "the move has no inverse");
    for (size_t i = 0; i < model->mesh.vertex_count; i++) {
        float moved[3];
        px_affine_point(&move, model->mesh.positions + 3 * i, moved);
        memcpy(model->mesh.positions + 3 * i, moved, sizeof moved);
    }
    for (uint32_t b = 0; b < model->skin.bone_count; b++)
        model->skin.inverse_binds[b] = px_affine_mul(&model->skin.inverse_binds[b], &back);
    for (uint32_t j = 0; j < model->skeleton.joint_count; j++)
        if (model->skeleton.parents[j] == PELT_NONE) {
            pelt_affine root = px_affine_from_transform(&model->skeleton.rest[j]);
            root = px_affine_mul(&move, &root);
            px_transform_from_affine(&root, &model->skeleton.rest[j]);
        }
    return PELT_OK;
}

typedef struct finer_mesh {
    float *positions;
    uint16_t *bones;
    float *weights;
    uint32_t *triangles;
    uint32_t *place; /* [old vertex] its new index */
} finer_mesh;

static void copy_vertex(const pelt_model *model, const finer_mesh *f, uint32_t from, uint32_t to) {
    size_t influences = model->skin.influence_count;
    memcpy(f->positions + 3 * (size_t)to, model->mesh.positions + 3 * (size_t)from, 3 * sizeof(float));
    memcpy(f->bones + influences * to, model->skin.bones + influences * from, influences * sizeof(uint16_t));
    memcpy(f->weights + influences * to, model->skin.weights + influences * from, influences * sizeof(float));
}

/* Divides each triangle of a part into four; its old vertices first, then three new ones per triangle: welding merges
 * equal ones. Returns the first vertex after the part. */
static uint32_t divide_part(const pelt_model *model, const finer_mesh *f, pelt_part *part, uint32_t first) {
    for (uint32_t i = 0; i < part->vertex_count; i++) {
        f->place[part->first_vertex + i] = first + i;
        copy_vertex(model, f, part->first_vertex + i, first + i);
    }
    uint32_t next = first + part->vertex_count;
    for (size_t t = part->first_triangle; t < (size_t)part->first_triangle + part->triangle_count; t++, next += 3) {
        const uint32_t *old = model->mesh.triangles + 3 * t;
        uint32_t a[3], *out = f->triangles + 12 * t;
        for (uint32_t c = 0; c < 3; c++) {
            const float *p = model->mesh.positions + 3 * (size_t)old[c];
            const float *q = model->mesh.positions + 3 * (size_t)old[(c + 1) % 3];
            a[c] = f->place[old[c]];
            copy_vertex(model, f, old[c], next + c);
            for (int e = 0; e < 3; e++)
                f->positions[3 * (size_t)(next + c) + (size_t)e] = 0.5f * (p[e] + q[e]);
        }
        uint32_t triangles[12] = {a[0], next,     next + 2, next,     a[1],     next + 1,
                                  next, next + 1, next + 2, next + 2, next + 1, a[2]};
        memcpy(out, triangles, sizeof triangles);
    }
    part->first_vertex = first;
    part->vertex_count = next - first;
    part->first_triangle *= 4;
    part->triangle_count *= 4;
    return next;
}

/* Replaces the mesh by one with four times the triangles; *place [old vertex] says where its vertices went. Parts must
 * have vertices of their own, as in glTF. */
static pelt_result divide_model(pelt_context *context, pelt_model *model, const uint32_t **place) {
    pelt_mesh *mesh = &model->mesh;
    size_t influences = model->skin.influence_count;
    size_t vertices = mesh->vertex_count + 3 * (size_t)mesh->triangle_count;
    finer_mesh f = {
        .positions = pelt_model_alloc(context, model, vertices, 3 * sizeof(float)),
        .bones = pelt_model_alloc(context, model, vertices, influences * sizeof(uint16_t)),
        .weights = pelt_model_alloc(context, model, vertices, influences * sizeof(float)),
        .triangles = pelt_model_alloc(context, model, mesh->triangle_count, 12 * sizeof(uint32_t)),
        .place = pelt_model_alloc(context, model, mesh->vertex_count, sizeof(uint32_t)),
    };
    if (!f.positions || !f.bones || !f.weights || !f.triangles || !f.place)
        return PELT_ERROR_MEMORY;
    uint32_t count = 0;
    for (uint32_t p = 0; p < mesh->part_count; p++)
        count = divide_part(model, &f, &mesh->parts[p], count);
    *mesh = (pelt_mesh){
        .vertex_count = count,
        .points.count = count,
        .triangle_count = 4 * mesh->triangle_count,
        .polygon_count = 4 * mesh->triangle_count,
        .part_count = mesh->part_count,
        .parts = mesh->parts,
        .positions = f.positions,
        .triangles = f.triangles,
    };
    model->skin.bones = f.bones;
    model->skin.weights = f.weights;
    model->morphs = (pelt_morph_set){0};
    model->document = NULL;
    *place = f.place;
    return PELT_OK;
}

/* The skin at the old vertices alone. */
static pelt_result undivide_skin(pelt_context *context, pelt_model *model, const uint32_t *place, uint32_t count) {
    pelt_skin *skin = &model->skin;
    size_t influences = skin->influence_count;
    uint16_t *bones = pelt_model_alloc(context, model, count, influences * sizeof(uint16_t));
    float *weights = pelt_model_alloc(context, model, count, influences * sizeof(float));
    if (!bones || !weights)
        return PELT_ERROR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        memcpy(bones + influences * i, skin->bones + influences * place[i], influences * sizeof *bones);
        memcpy(weights + influences * i, skin->weights + influences * place[i], influences * sizeof *weights);
    }
    skin->bones = bones;
    skin->weights = weights;
    return PELT_OK;
}

/* ---- The table ---------------------------------------------------------------------------------------------- */

typedef struct variant {
    float axis[3];
    double degrees, scale, shift;
    bool divided;
} variant;

#define AXIS_XYZ                                                                                                       \
    { 0.57735027f, 0.57735027f, 0.57735027f }

static const variant variants[] = {
    /* columns of the table */
    {{1, 0, 0}, 15, 1, 0, false}, {{0, 1, 0}, 30, 1, 0, false}, {{0, 0, 1}, 45, 1, 0, false},
    {AXIS_XYZ, 37, 1, 0, false},  {{1, 0, 0}, 90, 1, 0, false}, {{0}, 0, 1, 1.7, false},
    {{0}, 0, 100, 0, false},      {{0}, 0, 1, 0, true},
};

static pelt_result bind_variant(pelt_context *context, const bind_bench *b, const variant *v, const pelt_model *base,
                                pelt_model *model, double *l1) {
    double half = v->degrees * 3.14159265358979323846 / 360;
    pelt_transform by = px_transform_identity();
    for (int c = 0; c < 3; c++) {
        by.rotation[c] = (float)(v->axis[c] * sin(half));
        by.scale[c] = (float)v->scale;
        by.translation[c] = (float)v->shift;
    }
    by.rotation[3] = (float)cos(half);
    const uint32_t *place = NULL;
    bind_figures figures;
    PX_TRY(move_model(context, model, &by));
    if (v->divided)
        PX_TRY(divide_model(context, model, &place));
    PX_TRY(bind_with(context, b, NULL, model, &figures));
    if (v->divided)
        PX_TRY(undivide_skin(context, model, place, base->mesh.vertex_count));
    pelt_model same = *base; /* the mesh and the motions are not needed here */
    same.skin = model->skin;
    rig_measures measures;
    PX_TRY(rig_compare(context, base, &same, NULL, &measures));
    *l1 = measures.l1;
    return PELT_OK;
}

static pelt_result print_row(pelt_context *context, const bind_bench *b, const character *c) {
    pelt_model *base = NULL;
    bind_figures figures;
    pelt_result result = bind_loaded(context, b, NULL, c, &base, &figures);
    if (result == PELT_OK)
        printf("| %-18s |", c->name);
    for (size_t v = 0; v < PX_COUNT(variants) && result == PELT_OK; v++) {
        pelt_model *model = NULL;
        double l1;
        const char *reason;
        result = character_load(context, c, &model, &reason);
        if (result == PELT_OK)
            result = bind_variant(context, b, &variants[v], base, model, &l1);
        if (result == PELT_OK)
            printf(" %7.5f |", l1);
        fflush(stdout);
        pelt_model_destroy(model);
    }
    printf("\n");
    pelt_model_destroy(base);
    return result;
}

int bind_invariance(pelt_context *context, const bind_bench *b) {
    printf(
        "L1 between the binding of the input as it is and of the same turned, shifted, scaled, or with each triangle "
        "divided in four\n"
        "| character | 15° x | 30° y | 45° z | 37° xyz | 90° x | shifted | × 100 | divided |\n"
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|\n");
    return bind_each(context, b, print_row);
}
