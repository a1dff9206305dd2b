/* Joints moved to the middle of their limb: LBSD §III.B, where rough skeleton nodes approach the centres of local volume.
 *
 * The volume around a joint is the tissue that blends the joint and its parent: cells of a lattice weighted by 4 w_joint
 * w_parent and by the fraction that the mesh fills. The joint moves to the centroid of that tissue, but only across the
 * limb (the direction from its parent to its child): along the limb, the centroid of blended tissue says less about the
 * joint than its author did. Joints without blended tissue, and roots, stay.
 */
#include "jiggle_rig/centre_joints.h"

#include "core/math3.h"
#include "jiggle/jiggle.h"

#include <pelt/jiggle_rig.h>

#define DEFAULT_CELLS 48u
#define MAX_ROUNDS    8    /* directions of limbs follow the joints */
#define MIN_MOVE      0.02 /* cells: smaller moves are rounding; a round without larger ones is the last */
#define MIN_MASS      0.05 /* blended tissue, in filled cells, that a centroid needs */

/* ---- Moving joints ---------------------------------------------------------------------------------------- */

static void shift_affine(pelt_affine *affine, const double shift[3]) {
    for (int c = 0; c < 3; c++)
        affine->m[4 * c + 3] = (float)((double)affine->m[4 * c + 3] + shift[c]);
}

/* Change of a joint's local translation: L⁻¹ (shift − parent's shift), L the linear part of the parent's global. */
static bool local_shift(const pelt_skeleton *s, const pelt_affine *globals, const double (*shifts)[3], uint32_t joint,
                        float out[3]) {
    uint32_t parent = s->parents[joint];
    pelt_affine linear = parent == PELT_NONE ? px_affine_identity() : globals[parent], inverse;
    float difference[3];
    for (int c = 0; c < 3; c++) {
        linear.m[4 * c + 3] = 0;
        difference[c] = (float)(shifts[joint][c] - (parent == PELT_NONE ? 0 : shifts[parent][c]));
    }
    if (!px_affine_inverse(&linear, &inverse))
        return false;
    px_affine_point(&inverse, difference, out);
    return true;
}

/* Adds `offset` to the values of a translation track. */
static pelt_result shift_track(px_arena *memory, pelt_track *track, const float offset[3]) {
    uint32_t per_key = track->interpolation == PELT_INTERPOLATION_CUBIC ? 3 : 1; /* tangent, value, tangent */
    size_t count = (size_t)track->key_count * per_key;
    float *values = PX_NEW(memory, float, 3 * count);
    if (!values)
        return PELT_ERROR_MEMORY;
    for (size_t v = 0; v < count; v++)
        for (size_t c = 0; c < 3; c++)
            values[3 * v + c] = track->values[3 * v + c] + (v % per_key == per_key / 2 ? offset[c] : 0);
    track->values = values;
    return PELT_OK;
}

static pelt_result shift_motions(pelt_model *model, const float (*offsets)[3]) {
    pelt_motion *motions = PX_NEW(model->memory, pelt_motion, model->motion_count);
    if (!motions)
        return PELT_ERROR_MEMORY;
    for (uint32_t m = 0; m < model->motion_count; m++) {
        motions[m] = model->motions[m];
        motions[m].tracks = PX_NEW(model->memory, pelt_track, motions[m].track_count);
        if (!motions[m].tracks)
            return PELT_ERROR_MEMORY;
        for (uint32_t t = 0; t < motions[m].track_count; t++) {
            pelt_track *track = &motions[m].tracks[t];
            *track = model->motions[m].tracks[t];
            const float *offset = offsets[track->joint];
            if (track->path == PELT_PATH_TRANSLATION && (offset[0] != 0 || offset[1] != 0 || offset[2] != 0))
                PX_TRY(shift_track(model->memory, track, offset));
        }
    }
    model->motions = motions;
    model->changed |= PELT_CHANGED_MOTIONS;
    return PELT_OK;
}

pelt_result px_joints_shift(pelt_model *model, const double (*shifts)[3]) {
    pelt_skeleton *s = &model->skeleton;
    pelt_skin *skin = &model->skin;
    pelt_transform *rest = PX_NEW(model->memory, pelt_transform, s->joint_count);
    pelt_affine *globals = PX_NEW(model->memory, pelt_affine, s->joint_count);
    pelt_affine *binds = PX_NEW(model->memory, pelt_affine, skin->bone_count);
    float(*offsets)[3] = px_arena_alloc(model->memory, s->joint_count, sizeof *offsets);
    if (!rest || !globals || !binds || !offsets)
        return PELT_ERROR_MEMORY;
    pelt_skeleton_globals(s, s->rest, globals);
    for (uint32_t j = 0; j < s->joint_count; j++) {
        rest[j] = s->rest[j];
        if (!local_shift(s, globals, shifts, j, offsets[j]))
            memset(offsets[j], 0, sizeof offsets[j]);
        for (int c = 0; c < 3; c++)
            rest[j].translation[c] += offsets[j][c];
    }
    for (uint32_t b = 0; b < skin->bone_count; b++) { /* new global · new bind = global · bind */
        uint32_t joint = skin->bone_joints[b];
        pelt_affine moved = globals[joint], inverse, place = px_affine_mul(&globals[joint], &skin->inverse_binds[b]);
        shift_affine(&moved, shifts[joint]);
        binds[b] = px_affine_inverse(&moved, &inverse) ? px_affine_mul(&inverse, &place) : skin->inverse_binds[b];
    }
    PX_TRY(shift_motions(model, (const float(*)[3])offsets));
    s->rest = rest;
    skin->inverse_binds = binds;
    model->changed |= PELT_CHANGED_SKELETON | PELT_CHANGED_SKIN;
    return PELT_OK;
}

/* ---- Middles of limbs ------------------------------------------------------------------------------------- */

typedef struct limbs {
    const pelt_skeleton *skeleton;
    double (*places)[3];    /* [joint] current positions */
    double (*centroids)[4]; /* [joint] centroid of the blended tissue, and its mass in cells */
    bool *fixed;            /* [joint] not to be moved */
} limbs;

static double weight_of(const px_weight_table *weights, size_t particle, uint32_t joint) {
    for (size_t k = particle * weights->capacity; k < (particle + 1) * weights->capacity; k++)
        if (weights->bones[k] == joint && weights->weights[k] > 0)
            return (double)weights->weights[k];
    return 0;
}

/* Σ over the octants of all particles, for every joint with a parent. */
static void find_centroids(limbs *l, const px_lattice *lattice, const px_weight_table *weights) {
    for (size_t e = 0; e < 8 * (size_t)lattice->cell_count; e++) {
        size_t particle = lattice->cells[e / 8][e % 8];
        double fill = (double)lattice->fills[e / 8][e % 8] / 8;
        for (size_t k = particle * weights->capacity; k < (particle + 1) * weights->capacity; k++) {
            uint32_t joint = weights->bones[k], parent = l->skeleton->parents[joint];
            if (!(weights->weights[k] > 0) || parent == PELT_NONE)
                continue;
            double mass = fill * 4 * (double)weights->weights[k] * weight_of(weights, particle, parent);
            for (uint32_t c = 0; c < 3; c++) /* the middle of the octant, a quarter of a cell from its corner */
                l->centroids[joint][c] += mass * ((double)lattice->rest[3 * particle + c] +
                                                  (e >> c & 1 ? -0.25 : 0.25) * (double)lattice->cell);
            l->centroids[joint][3] += mass;
        }
    }
    for (uint32_t j = 0; j < l->skeleton->joint_count; j++)
        for (int c = 0; c < 3 && l->centroids[j][3] > 0; c++)
            l->centroids[j][c] /= l->centroids[j][3];
}

/* Direction of the limb through a joint: from its parent to its child; with several children, or none, to itself. */
static bool find_direction(const limbs *l, uint32_t joint, double out[3]) {
    const pelt_skeleton *s = l->skeleton;
    uint32_t end = joint, children = 0;
    for (uint32_t child = joint + 1; child < s->joint_count; child++)
        if (s->parents[child] == joint && children++ == 0)
            end = child;
    for (int c = 0; c < 3; c++)
        out[c] = l->places[children == 1 ? end : joint][c] - l->places[s->parents[joint]][c];
    return px_normalize3(out) > 0;
}

/* Moves every joint across its limb to the centroid; returns the farthest move. */
static double move_joints(limbs *l, double (*next)[3]) {
    double farthest = 0;
    for (uint32_t j = 0; j < l->skeleton->joint_count; j++) {
        double way[3], off[3];
        memcpy(next[j], l->places[j], sizeof next[j]);
        if (l->fixed[j] || l->skeleton->parents[j] == PELT_NONE || !(l->centroids[j][3] > MIN_MASS) ||
            !find_direction(l, j, way))
            continue;
        for (int c = 0; c < 3; c++)
            off[c] = l->centroids[j][c] - l->places[j][c];
        double along = px_dot3d(off, way);
        for (int c = 0; c < 3; c++) {
            off[c] -= along * way[c];
            next[j][c] += off[c];
        }
        farthest = px_fmax(farthest, px_length3(off));
    }
    memcpy(l->places, next, l->skeleton->joint_count * sizeof *next);
    return farthest;
}

static pelt_result centre(pelt_context *context, px_arena *arena, pelt_model *model, uint32_t cells,
                          pelt_centre_joints_report *report) {
    const pelt_skeleton *s = &model->skeleton;
    px_jiggle_subject subject;
    px_lattice lattice;
    px_weight_table weights;
    PX_TRY(px_jiggle_subject_make(context, arena, model, &subject));
    PX_TRY(px_jiggle_lattice(context, arena, &subject, cells ? cells : DEFAULT_CELLS, 0, &lattice));
    PX_TRY((model->skin.bone_count ? px_jiggle_weights_from_skin(context, arena, &subject, &lattice, &weights)
                                   : px_jiggle_weights_by_heat(context, arena, &subject, &lattice, NULL, &weights)));
    limbs l = {.skeleton = s,
               .places = px_arena_alloc(arena, s->joint_count, sizeof *l.places),
               .centroids = px_arena_alloc(arena, s->joint_count, sizeof *l.centroids),
               .fixed = PX_NEW(arena, bool, s->joint_count)};
    double(*shifts)[3] = px_arena_alloc(arena, s->joint_count, sizeof *shifts);
    if (!l.places || !l.centroids || !l.fixed || !shifts)
        return PELT_ERROR_MEMORY;
    for (uint32_t j = 0; j < s->joint_count; j++)
        for (int c = 0; c < 3; c++)
            l.places[j][c] = (double)subject.joints[j].m[4 * c + 3];
    for (uint32_t p = 0; p < model->mesh.part_count; p++) /* the node of a part without a skin holds its vertices */
        if (!model->mesh.parts[p].skinned && model->mesh.parts[p].joint != PELT_NONE)
            l.fixed[model->mesh.parts[p].joint] = true;
    find_centroids(&l, &lattice, &weights);
    for (int round = 0; round < MAX_ROUNDS; round++)
        if (move_joints(&l, shifts) < MIN_MOVE * (double)lattice.cell)
            break;
    *report = (pelt_centre_joints_report){.cell = (double)lattice.cell};
    for (uint32_t j = 0; j < s->joint_count; j++) {
        for (int c = 0; c < 3; c++)
            shifts[j][c] = l.places[j][c] - (double)subject.joints[j].m[4 * c + 3];
        double distance = px_length3(shifts[j]);
        if (distance < MIN_MOVE * (double)lattice.cell) {
            memset(shifts[j], 0, sizeof shifts[j]);
            continue;
        }
        report->moved_count++;
        if (distance > report->farthest) {
            report->farthest = distance;
            report->farthest_joint = j;
        }
    }
    return report->moved_count ? px_joints_shift(model, (const double(*)[3])shifts) : PELT_OK;
}

pelt_result pelt_centre_joints(pelt_context *context, pelt_model *model, uint32_t cells,
                               pelt_centre_joints_report *report) {
    pelt_centre_joints_report unwanted;
    report = report ? report : &unwanted;
    *report = (pelt_centre_joints_report){0};
    if (cells > PX_LATTICE_MAX_CELLS)
        return px_fail(context, PELT_ERROR_USAGE, "cells is %u, should be from 0 to %u", cells, PX_LATTICE_MAX_CELLS);
    if (model->skeleton.joint_count == 0 || model->mesh.vertex_count == 0)
        return px_fail(context, PELT_ERROR_INPUT, "there are no joints in a mesh that could be centred");
    px_arena *arena = px_arena_create(context);
    if (!arena)
        return PELT_ERROR_MEMORY;
    px_operation operation = px_operation_begin(model);
    pelt_result result = centre(context, arena, model, cells, report);
    px_arena_destroy(arena);
    if (result != PELT_OK)
        *report = (pelt_centre_joints_report){0};
    return px_operation_end(&operation, result);
}
