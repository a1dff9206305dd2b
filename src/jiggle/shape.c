/* Morphs: displacements of vertices within their cells.
 *
 * Displacements are given in the bind pose and transformed to world space by the skinning matrix at rest. The trilinear
 * polynomial of a cell extends beyond its faces, so displaced vertices may leave the cell; where the lattice bends they
 * should not leave it by more than one cell.
 */
#include "core/skin.h"
#include "jiggle/mesh.h"

#include <pelt/run.h>

pelt_result px_mesh_shape_make(px_arena *arena, const pelt_model *model, const float *normals,
                               px_mesh_embedding *embedding) {
    const pelt_mesh *mesh = &model->mesh;
    size_t floats = 3 * (size_t)mesh->vertex_count;
    if (model->morphs.morph_count == 0)
        return PELT_OK;
    px_mesh_shape *s = PX_NEW(arena, px_mesh_shape, 1);
    pelt_affine *globals = PX_NEW(arena, pelt_affine, model->skeleton.joint_count);
    pelt_affine *palette = PX_NEW(arena, pelt_affine, model->skin.bone_count);
    if (!s || !globals || !palette)
        return PELT_ERROR_MEMORY;
    *s = (px_mesh_shape){.model = model,
                         .rest_normals = normals,
                         .changes = PX_NEW(arena, float, model->morphs.morph_count),
                         .turns = PX_NEW(arena, double, 3 * floats),
                         .places = PX_NEW(arena, float, floats),
                         .normals = mesh->normals ? PX_NEW(arena, float, floats) : NULL};
    if (!s->changes || !s->turns || !s->places || (mesh->normals && !s->normals))
        return PELT_ERROR_MEMORY;
    pelt_skeleton_globals(&model->skeleton, model->skeleton.rest, globals);
    pelt_skin_palette(&model->skin, globals, palette);
    for (uint32_t i = 0; i < mesh->vertex_count; i++) {
        double m[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
        if (model->skin.bone_count)
            px_skin_blend(&model->skin, palette, i, m);
        for (size_t e = 0; e < 9; e++)
            s->turns[9 * (size_t)i + e] = m[4 * (e / 3) + e % 3];
    }
    memcpy(s->places, mesh->positions, floats * sizeof *s->places);
    if (s->normals)
        memcpy(s->normals, mesh->normals, floats * sizeof *s->normals);
    embedding->shape = s;
    return PELT_OK;
}

/* Stores current weight − rest weight; returns true if one changed. */
static bool take_weights(px_mesh_shape *s, const float *weights) {
    bool other = false;
    for (uint32_t m = 0; m < s->model->morphs.morph_count; m++) {
        float change = weights[m] - s->model->morphs.morphs[m].weight;
        change = isfinite(change) ? change : 0;
        other |= change != s->changes[m];
        s->changes[m] = change;
    }
    return other;
}

static void move_lane(px_mesh_embedding *e, px_mesh_block *block, size_t v) {
    const px_mesh_shape *s = e->shape;
    const pelt_mesh *mesh = &s->model->mesh;
    size_t i = block->vertices[v];
    const double *turn = s->turns + 9 * i;
    double move[3], normal[3];
    for (size_t c = 0; c < 3; c++) {
        move[c] = (double)s->places[3 * i + c] - (double)mesh->positions[3 * i + c];
        normal[c] = s->normals ? (double)s->normals[3 * i + c] : 0;
    }
    for (size_t c = 0; c < 3; c++)
        block->places[c][v] = (float)((double)e->lattice->vertex_places[3 * i + c] +
                                      (turn[3 * c] * move[0] + turn[3 * c + 1] * move[1] + turn[3 * c + 2] * move[2]) /
                                          (double)e->lattice->cell);
    if (!s->normals)
        return;
    bool still = memcmp(s->normals + 3 * i, mesh->normals + 3 * i, 3 * sizeof *s->normals) == 0;
    double turned[3];
    px_skin_normal(turn, normal, turned);
    for (size_t c = 0; c < 3; c++)
        block->normals[c][v] = still ? s->rest_normals[3 * i + c] : (float)turned[c];
}

void px_mesh_shape_set(px_mesh_embedding *e, const float *weights) {
    px_mesh_shape *s = e->shape;
    if (!s || !take_weights(s, weights))
        return;
    pelt_morph_run(&s->model->mesh, &s->model->morphs, s->changes, s->places, s->normals, NULL);
    for (uint32_t b = 0; b < e->firsts[e->lattice->cell_count]; b++)
        for (size_t v = 0; v < PX_JIGGLE_BLOCK; v++)
            move_lane(e, &e->blocks[b], v);
}
