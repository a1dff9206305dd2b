/* Blends vertices of thin tissue towards the rig's own skinning; vertices of rigid shells use it alone.
 *
 * A cell that is wider than a finger blends the weights of the whole hand, so the finger bends with the cell and not
 * with its own weights. The error is the difference between linear blend skinning of the vertices and of the lattice;
 * the share h of it is removed:
 *
 *   vertex = lattice(x) + h (skin(vertex) − lattice(x_linear))
 *
 * For h = 1 the lattice contributes only x − x_linear, the deviation from its own linear blend skinning, which is
 * smooth. Cells that are not small relative to the tissue blend more than its vertices, so that deviation is too large:
 * it restores a volume that the vertices do not lose. It is clamped to a fraction of the thickness of the tissue.
 *
 * Rigid shells that touch share cells, which would blend their joints: their vertices use the rig's skinning alone.
 */
#include "jiggle/hold.h"

#include <pelt/run.h>

#include <math.h>

/* Bound on the deviation x − x_linear, as a fraction of the thickness. Volume errors of finger joints in fists,
 * measured on closed regions of the mesh (bench_jiggle_volume RIG fist), are 5.8, 5.3 and 7.9 % on three characters
 * with 0.15, and 12, 23 and 20 % with 1; linear blend skinning alone: 9.7, 6.5 and 9.5 %. */
#define MAX_DIFFERENCE 0.15f

static bool is_any_held(const px_thickness *thickness, uint32_t joint_count) {
    for (uint32_t j = 0; j < joint_count; j++)
        if (thickness->holds[j] > 0)
            return true;
    return false;
}

static void share_vertices(px_hold *h, const px_lattice *lattice) {
    for (size_t i = 0; i < lattice->vertex_count; i++) {
        const uint32_t *corners = lattice->cells[lattice->vertex_cells[i]];
        const float *place = lattice->vertex_places + 3 * i;
        float first = h->coarse.shares[corners[0]], sum = 0;
        for (uint32_t k = 1; k < 8; k++) {
            float weight = 1;
            for (uint32_t axis = 0; axis < 3; axis++)
                weight *= k >> axis & 1 ? place[axis] : 1 - place[axis];
            sum += weight * (h->coarse.shares[corners[k]] - first);
        }
        h->vertex_shares[i] = first + sum;
    }
}

static pelt_result make_lattice(px_arena *arena, const px_lattice *lattice, const px_weight_table *weights,
                                const px_thickness *thickness, px_hold_lattice *out) {
    *out = (px_hold_lattice){.weights = weights,
                             .particle_count = lattice->particle_count,
                             .rest = lattice->rest,
                             .shares = PX_NEW(arena, float, lattice->particle_count),
                             .limits = PX_NEW(arena, float, lattice->particle_count),
                             .linear = PX_NEW(arena, float, 4 * px_jiggle_padded(lattice->particle_count)),
                             .moved = PX_NEW(arena, float, 4 * px_jiggle_padded(lattice->particle_count))};
    if (!out->shares || !out->limits || !out->linear || !out->moved)
        return PELT_ERROR_MEMORY;
    px_thickness_blend(weights, thickness->holds, lattice->particle_count, out->shares);
    px_thickness_blend(weights, thickness->joints, lattice->particle_count, out->limits);
    for (uint32_t p = 0; p < lattice->particle_count; p++)
        out->limits[p] *= MAX_DIFFERENCE;
    return PELT_OK;
}

pelt_result px_hold_make(pelt_context *context, px_arena *arena, const px_jiggle_subject *subject,
                         const px_lattice *lattice, const px_weight_table *weights, const px_detail *detail,
                         const px_thickness *thickness, const bool *rigid, px_hold *out) {
    const pelt_model *model = subject->model;
    uint32_t count = model->mesh.vertex_count, joint_count = model->skeleton.joint_count;
    *out = (px_hold){.model = model, .subject = subject, .rigid = rigid};
    if (!rigid && !is_any_held(thickness, joint_count))
        return PELT_OK;
    PX_TRY(make_lattice(arena, lattice, weights, thickness, &out->coarse));
    if (detail->lattice.particle_count > 0)
        PX_TRY(make_lattice(arena, &detail->lattice, &detail->weights, thickness, &out->fine));
    out->vertex_shares = PX_NEW(arena, float, count);
    out->bind = PX_NEW(arena, float, 3 * (size_t)count);
    out->skinned = PX_NEW(arena, float, 3 * (size_t)count);
    out->blended = PX_NEW(arena, float, 3 * (size_t)count);
    out->motions = PX_NEW(arena, pelt_affine, joint_count);
    out->palette = PX_NEW(arena, pelt_affine, model->skin.bone_count);
    if (rigid && model->mesh.normals && !(out->normals = PX_NEW(arena, float, 3 * (size_t)count)))
        return PELT_ERROR_MEMORY;
    if (!out->vertex_shares || !out->bind || !out->skinned || !out->blended || !out->motions || !out->palette)
        return PELT_ERROR_MEMORY;
    share_vertices(out, lattice);
    memcpy(out->bind, model->mesh.positions, 3 * (size_t)count * sizeof *out->bind);
    if (model->morphs.morph_count == 0)
        return PELT_OK;
    float *rest = PX_ALLOC(context, float, model->morphs.morph_count);
    out->morphed = PX_NEW(arena, float, 3 * (size_t)count);
    for (uint32_t m = 0; rest && m < model->morphs.morph_count; m++)
        rest[m] = model->morphs.morphs[m].weight;
    if (rest)
        pelt_morph_run(&model->mesh, &model->morphs, rest, out->bind, NULL, NULL);
    px_free(context, rest);
    return rest && out->morphed ? PELT_OK : PELT_ERROR_MEMORY;
}

/* Linear blend skinning of particles. */
static void blend(const px_hold *h, const px_hold_lattice *l) {
    uint32_t capacity = l->weights->capacity;
    for (size_t p = 0; p < l->particle_count; p++) {
        float moved[3], *linear = l->linear + 4 * p;
        memset(linear, 0, 4 * sizeof *linear);
        for (size_t k = p * capacity; k < (p + 1) * capacity; k++) {
            float weight = l->weights->weights[k];
            if (!(weight > 0))
                continue;
            px_affine_point(&h->motions[l->weights->bones[k]], l->rest + 3 * p, moved);
            for (int c = 0; c < 3; c++)
                linear[c] += weight * moved[c];
        }
    }
}

void px_hold_pose(const px_hold *h, const px_detail *detail, const pelt_affine *globals) {
    if (!h->vertex_shares)
        return;
    for (uint32_t j = 0; j < h->model->skeleton.joint_count; j++)
        h->motions[j] = px_affine_mul(&globals[j], &h->subject->inverses[j]);
    blend(h, &h->coarse);
    if (!h->fine.linear)
        return;
    blend(h, &h->fine);
    px_detail_follow(detail, h->coarse.linear, h->coarse.linear, h->fine.linear);
}

const float *px_hold_particles(const px_hold_lattice *l, const float *particles) {
    if (!l->shares)
        return particles;
    for (size_t p = 0; p < l->particle_count; p++) {
        const float *x = particles + 4 * p;
        float off[3], *out = l->moved + 4 * p;
        px_sub3(x, l->linear + 4 * p, off);
        float far = sqrtf(px_dot3(off, off)), excess = far > l->limits[p] ? 1 - l->limits[p] / far : 0;
        for (int c = 0; c < 3; c++)
            out[c] = x[c] - l->shares[p] * excess * off[c];
        out[3] = 0;
    }
    return l->moved;
}

/* Returns the vertices in the bind pose with current morphs. */
static const float *morphed(const px_hold *h, const px_mesh_embedding *mesh) {
    if (!h->morphed || !mesh->shape)
        return h->bind;
    const float *rest = h->model->mesh.positions, *now = mesh->shape->places;
    for (size_t e = 0; e < 3 * (size_t)h->model->mesh.vertex_count; e++)
        h->morphed[e] = h->bind[e] + (now[e] - rest[e]);
    return h->morphed;
}

static const float *bind_normals(const px_hold *h, const px_mesh_embedding *mesh) {
    return mesh->shape ? mesh->shape->normals : h->model->mesh.normals;
}

void px_hold_vertices(const px_hold *h, const px_mesh_embedding *mesh, const px_mesh_embedding *fine,
                      const pelt_affine *globals, float *positions, float *normals) {
    if (!h->vertex_shares)
        return;
    const pelt_skin *skin = &h->model->skin;
    bool shaded = normals && h->normals;
    uint32_t count = h->model->mesh.vertex_count;
    px_mesh_embedding_run(mesh, h->coarse.linear, h->blended, NULL);
    if (h->fine.linear)
        px_mesh_embedding_run(fine, h->fine.linear, h->blended, NULL);
    pelt_skin_palette(skin, globals, h->palette);
    pelt_skin_run(&(pelt_skin_job){.vertex_count = count,
                                   .influence_count = skin->influence_count,
                                   .bones = skin->bones,
                                   .weights = skin->weights,
                                   .palette = h->palette,
                                   .skinning = PELT_SKINNING_LINEAR,
                                   .positions = morphed(h, mesh),
                                   .normals = shaded ? bind_normals(h, mesh) : NULL,
                                   .out_positions = h->skinned,
                                   .out_normals = shaded ? h->normals : NULL,
                                   .exact = true});
    for (size_t i = 0; i < count; i++) {
        bool rigid = h->rigid && h->rigid[i];
        for (size_t c = 3 * i; c < 3 * i + 3; c++)
            positions[c] = rigid ? h->skinned[c] : positions[c] + h->vertex_shares[i] * (h->skinned[c] - h->blended[c]);
        if (rigid && shaded)
            memcpy(normals + 3 * i, h->normals + 3 * i, 3 * sizeof *normals);
    }
}
