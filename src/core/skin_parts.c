/* Converts rigid parts into skinned parts: see skin_parts.h. */
#include "core/skin_parts.h"
#include "core/math3.h"
#include "core/skin.h"

#include <math.h>

#define MAX_SHEAR 1e-4 /* of a matrix: normals and tangents need a similarity */

typedef struct joining {
    pelt_model *model;
    bool *skinned;      /* [bone] vertices of skinned parts use it, or none do */
    bool *rigid;        /* [bone] vertices of parts that hang from a joint use it */
    bool *moves;        /* [joint] a motion moves it */
    uint32_t *to;       /* [bone] the bone that replaces it, or PELT_NONE */
    pelt_affine *moved; /* [bone] from its space to that of the other */
} joining;

static void find_users(joining *j) {
    const pelt_mesh *mesh = &j->model->mesh;
    const pelt_skin *skin = &j->model->skin;
    for (uint32_t p = 0; p < mesh->part_count; p++) {
        const pelt_part *part = &mesh->parts[p];
        size_t first = (size_t)part->first_vertex * skin->influence_count,
               count = (size_t)part->vertex_count * skin->influence_count;
        for (size_t k = first; k < first + count; k++)
            if (skin->weights[k] > 0)
                (part->skinned ? j->skinned : j->rigid)[skin->bones[k]] = true;
    }
    for (uint32_t b = 0; b < skin->bone_count; b++)
        j->skinned[b] |= !j->rigid[b];
    for (uint32_t m = 0; m < j->model->motion_count; m++)
        for (uint32_t t = 0; t < j->model->motions[m].track_count; t++)
            if (j->model->motions[m].tracks[t].path != PELT_PATH_WEIGHTS)
                j->moves[j->model->motions[m].tracks[t].joint] = true;
}

/* True when the linear part is a rotation times a uniform scale. */
static bool is_similarity(const pelt_affine *a) {
    double scale2 = 0, off = 0;
    for (int e = 0; e < 9; e++)
        scale2 += (double)a->m[4 * (e / 3) + e % 3] * (double)a->m[4 * (e / 3) + e % 3] / 3;
    for (int e = 0; e < 9; e++) {
        int c = e / 3, d = e % 3;
        double dot = (double)a->m[c] * (double)a->m[d] + (double)a->m[4 + c] * (double)a->m[4 + d] +
                     (double)a->m[8 + c] * (double)a->m[8 + d];
        off = px_fmax(off, fabs(dot - (c == d ? scale2 : 0)));
    }
    return scale2 > 0 && off <= 2 * MAX_SHEAR * scale2 && px_affine_determinant(a) > 0;
}

/* The bone of the skin that can replace `bone`, and the matrix to its space; PELT_NONE: there is none. */
static uint32_t find_other(const joining *j, uint32_t bone, pelt_affine *moved) {
    const pelt_skin *skin = &j->model->skin;
    const pelt_skeleton *skeleton = &j->model->skeleton;
    pelt_affine way = skin->inverse_binds[bone], inverse;
    for (uint32_t joint = skin->bone_joints[bone]; joint != PELT_NONE; joint = skeleton->parents[joint]) {
        for (uint32_t b = 0; b < skin->bone_count; b++)
            if (j->skinned[b] && skin->bone_joints[b] == joint &&
                px_affine_inverse(&skin->inverse_binds[b], &inverse)) {
                *moved = px_affine_mul(&inverse, &way);
                return is_similarity(moved) ? b : PELT_NONE;
            }
        if (j->moves[joint])
            return PELT_NONE;
        pelt_affine local = px_affine_from_transform(&skeleton->rest[joint]);
        way = px_affine_mul(&local, &way);
    }
    return PELT_NONE;
}

/* Displacements by the matrix over `scale`. */
static const float *move_offsets(joining *j, const pelt_affine *a, double scale, const pelt_part *part,
                                 const pelt_morph *morph, const float *offsets) {
    float *out = PX_NEW(j->model->memory, float, 3 * (size_t)morph->vertex_count);
    if (!out)
        return NULL;
    memcpy(out, offsets, 3 * (size_t)morph->vertex_count * sizeof *out);
    for (size_t i = 0; i < morph->vertex_count; i++) {
        const float *d = offsets + 3 * i;
        if (morph->first_vertex + i - part->first_vertex >= part->vertex_count)
            continue;
        for (int r = 0; r < 3; r++) {
            const float *line = a->m + 4 * r;
            out[3 * i + (size_t)r] =
                (float)(((double)line[0] * d[0] + (double)line[1] * d[1] + (double)line[2] * d[2]) / scale);
        }
    }
    return out;
}

static pelt_result move_morphs(joining *j, const pelt_affine *a, double scale, const pelt_part *part) {
    for (uint32_t m = 0; m < j->model->morphs.morph_count; m++) {
        pelt_morph *morph = &j->model->morphs.morphs[m];
        if (morph->first_vertex >= part->first_vertex + part->vertex_count ||
            part->first_vertex >= morph->first_vertex + morph->vertex_count)
            continue;
        const float **arrays[] = {&morph->positions, &morph->normals, &morph->tangents};
        for (size_t n = 0; n < PX_COUNT(arrays); n++)
            if (*arrays[n] && !(*arrays[n] = move_offsets(j, a, n == 0 ? 1 : scale, part, morph, *arrays[n])))
                return PELT_ERROR_MEMORY;
    }
    return PELT_OK;
}

static void move_direction(const double linear[9], float *v) {
    double from[3] = {(double)v[0], (double)v[1], (double)v[2]}, to[3];
    px_skin_direction(linear, from, to);
    for (int c = 0; c < 3; c++)
        v[c] = (float)to[c];
}

static pelt_result join_part(joining *j, pelt_part *part) {
    pelt_mesh *mesh = &j->model->mesh;
    pelt_skin *skin = &j->model->skin;
    uint32_t bone = skin->bones[(size_t)part->first_vertex * skin->influence_count];
    if (part->skinned || part->vertex_count == 0 || j->to[bone] == PELT_NONE)
        return PELT_OK;
    const pelt_affine *a = &j->moved[bone];
    double linear[9];
    for (int e = 0; e < 9; e++)
        linear[e] = (double)a->m[4 * (e / 3) + e % 3];
    for (size_t i = part->first_vertex; i < (size_t)part->first_vertex + part->vertex_count; i++) {
        float p[3];
        memcpy(p, mesh->positions + 3 * i, sizeof p);
        px_affine_point(a, p, mesh->positions + 3 * i);
        if (mesh->normals)
            move_direction(linear, mesh->normals + 3 * i);
        if (mesh->tangents)
            move_direction(linear, mesh->tangents + 4 * i);
        skin->bones[i * skin->influence_count] = (uint16_t)j->to[bone];
    }
    part->skinned = true;
    return move_morphs(j, a, px_cbrt(px_affine_determinant(a)), part);
}

/* Removes the bones that were replaced, and renumbers the others. */
static void remove_bones(joining *j) {
    pelt_skin *skin = &j->model->skin;
    uint32_t *numbers = j->to, count = 0; /* reuses the array: `to` is read before it is overwritten */
    for (uint32_t b = 0; b < skin->bone_count; b++) {
        bool gone = j->to[b] != PELT_NONE;
        numbers[b] = count;
        if (gone)
            continue;
        skin->bone_joints[count] = skin->bone_joints[b];
        skin->inverse_binds[count++] = skin->inverse_binds[b];
    }
    skin->bone_count = count;
    for (size_t k = 0; k < (size_t)j->model->mesh.vertex_count * skin->influence_count; k++)
        skin->bones[k] = (uint16_t)(skin->weights[k] > 0 ? numbers[skin->bones[k]] : 0);
}

/* Copies every array that join_part and remove_bones write to: operations leave the arrays of the model alone. */
static pelt_result copy_changed_arrays(pelt_model *model) {
    pelt_mesh *mesh = &model->mesh;
    pelt_skin *skin = &model->skin;
    size_t vertices = mesh->vertex_count, influences = px_mul_size(vertices, skin->influence_count);
    struct {
        void *array;
        size_t size;
    } copies[] = {{&mesh->positions, 12 * vertices},
                  {&mesh->normals, 12 * vertices},
                  {&mesh->tangents, 16 * vertices},
                  {&mesh->parts, mesh->part_count * sizeof *mesh->parts},
                  {&model->morphs.morphs, model->morphs.morph_count * sizeof *model->morphs.morphs},
                  {&skin->bones, influences * sizeof *skin->bones},
                  {&skin->bone_joints, skin->bone_count * sizeof *skin->bone_joints},
                  {&skin->inverse_binds, skin->bone_count * sizeof *skin->inverse_binds}};
    for (size_t n = 0; n < PX_COUNT(copies); n++) {
        void *from, *to;
        memcpy(&from, copies[n].array, sizeof from);
        if (!from || copies[n].size == 0)
            continue;
        if (!(to = px_arena_alloc(model->memory, copies[n].size, 1)))
            return PELT_ERROR_MEMORY;
        memcpy(to, from, copies[n].size);
        memcpy(copies[n].array, &to, sizeof to);
    }
    return PELT_OK;
}

static pelt_result join(joining *j) {
    pelt_model *model = j->model;
    uint32_t count = 0;
    find_users(j);
    for (uint32_t b = 0; b < model->skin.bone_count; b++) {
        j->to[b] = j->skinned[b] ? PELT_NONE : find_other(j, b, &j->moved[b]);
        count += j->to[b] != PELT_NONE;
    }
    if (count == 0)
        return PELT_OK;
    PX_TRY(copy_changed_arrays(model));
    for (uint32_t p = 0; p < model->mesh.part_count; p++)
        PX_TRY(join_part(j, &model->mesh.parts[p]));
    remove_bones(j);
    model->mesh.weld = (pelt_vertex_classes){0}; /* rest positions changed: other vertices coincide */
    model->changed |= PELT_CHANGED_SKIN;         /* the writer then writes vertices and targets whose space changed */
    return PELT_OK;
}

pelt_result px_skin_join_parts(pelt_model *model) {
    if (model->skin.bone_count == 0)
        return PELT_OK;
    pelt_context *context = px_arena_context(model->memory);
    px_arena *scratch = px_arena_create(context);
    if (!scratch)
        return PELT_ERROR_MEMORY;
    joining j = {.model = model,
                 .skinned = PX_NEW(scratch, bool, model->skin.bone_count),
                 .rigid = PX_NEW(scratch, bool, model->skin.bone_count),
                 .moves = PX_NEW(scratch, bool, model->skeleton.joint_count),
                 .to = PX_NEW(scratch, uint32_t, model->skin.bone_count),
                 .moved = PX_NEW(scratch, pelt_affine, model->skin.bone_count)};
    bool ready = j.skinned && j.rigid && j.moves && j.to && j.moved;
    px_operation operation = px_operation_begin(model);
    pelt_result result = px_operation_end(&operation, ready ? join(&j) : PELT_ERROR_MEMORY);
    px_arena_destroy(scratch);
    return result;
}
