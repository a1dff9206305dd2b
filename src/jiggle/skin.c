/* Primary motion: motions of joints, and the evaluation of one pose. Method: skin_kernel.h, volume.c. */
#include "core/matrix3.h"
#include "core/rotation.h"
#include "jiggle/primary.h"

/* ---- Joints ----------------------------------------------------------------------------------------------- */

/* A matrix whose AᵀA deviates less from the identity is a rotation, without stretch. */
#define ROTATION_TOLERANCE 1e-5

/* A joint keeps its direction of rotation relative to its parent up to 240°; this is the cosine of half that angle.
 * So a joint that passes 180° moves continuously, and blended quaternions of neighbours have at least half the unit
 * length: they never cancel. */
#define MIN_HALF_ANGLE_COSINE (-0.5)

/* Polar decomposition linear = R · S; stretch = S − 1 as in px_joint_motion. */
static px_rotation split_motion(const double linear[9], float stretch[6]) {
    static const int rows[6] = {0, 0, 0, 1, 1, 2}, columns[6] = {0, 1, 2, 1, 2, 2};
    double off = 0, rotation[9], s[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    for (int e = 0; e < 6; e++) {
        double dot = rows[e] == columns[e] ? -1 : 0;
        for (int k = 0; k < 3; k++)
            dot += linear[3 * k + rows[e]] * linear[3 * k + columns[e]];
        off = px_fmax(off, fabs(dot));
    }
    double det = linear[0] * (linear[4] * linear[8] - linear[5] * linear[7]) -
                 linear[1] * (linear[3] * linear[8] - linear[5] * linear[6]) +
                 linear[2] * (linear[3] * linear[7] - linear[4] * linear[6]);
    if (off < ROTATION_TOLERANCE && det > 0)
        memcpy(rotation, linear, sizeof rotation);
    else
        px_polar3(linear, rotation, s);
    for (int e = 0; e < 6; e++)
        stretch[e] = (float)(s[3 * rows[e] + columns[e]] - (rows[e] == columns[e]));
    float q[4];
    px_quat_from_matrix(rotation, q);
    return px_rotation_of(q);
}

/* Quaternions q and −q are the same rotation but blend differently. Every joint gets the sign nearer to its
 * parent's, unless the last pose used the other one; so neighbours agree over the whole body, whatever its twist. */
static void choose_side(px_primary *p, uint32_t joint, px_rotation q) {
    uint32_t parent = p->parents[joint] == PELT_NONE ? 0 : p->parents[joint];
    float *last = p->turns[joint];
    px_rotation seen = px_rotation_mul(px_rotation_inverse(px_rotation_of(p->motions[parent].rotation)), q);
    if (parent == joint)
        seen = px_rotation_identity();
    double side = seen.q[3] < 0 ? -1 : 1, along = 0;
    for (int c = 0; c < 4; c++)
        along += seen.q[c] * (double)last[c];
    if (along != 0 && (along < 0 ? -seen.q[3] : seen.q[3]) > MIN_HALF_ANGLE_COSINE)
        side = along < 0 ? -1 : 1;
    for (int c = 0; c < 4; c++) {
        p->motions[joint].rotation[c] = (float)(side * q.q[c]);
        last[c] = (float)(side * seen.q[c]);
    }
}

static void move_joints(px_primary *p, const pelt_affine *globals) {
    for (uint32_t j = 0; j < p->joint_count; j++) {
        px_joint_motion *motion = &p->motions[j];
        pelt_affine moved = px_affine_mul(&globals[j], &p->inverses[j]);
        double linear[9];
        for (int e = 0; e < 12; e++) {
            if (e % 4 < 3)
                linear[3 * (e / 4) + e % 4] = (double)moved.m[e];
            motion->matrix[e] = e % 5 == 0 ? moved.m[e] - 1 : moved.m[e];
        }
        choose_side(p, j, split_motion(linear, motion->stretch));
    }
}

/* ---- Entry points ----------------------------------------------------------------------------------------- */

static pelt_result tissue_centres(const px_jiggle_subject *subject, const px_lattice *lattice,
                                  const px_weight_table *weights, const px_jiggle_parts *parts, px_arena *arena,
                                  float *centres) {
    (void)subject, (void)parts;
    return px_primary_centres(px_arena_context(arena), lattice, weights, centres);
}

/* The joint of a particle's part, about which both bones of the part rotate. */
static pelt_result part_joints(const px_jiggle_subject *subject, const px_lattice *lattice,
                               const px_weight_table *weights, const px_jiggle_parts *parts, px_arena *arena,
                               float *centres) {
    (void)weights, (void)arena;
    for (size_t p = 0; p < lattice->particle_count; p++)
        for (size_t c = 0; c < 3; c++)
            centres[4 * p + c] = subject->joints[parts->joints[parts->parts[p]]].m[4 * c + 3];
    return PELT_OK;
}

/* Centres of rotation [particle][4], by pelt_jiggle_blend. */
static pelt_result (*const find_centres[])(const px_jiggle_subject *subject, const px_lattice *lattice,
                                           const px_weight_table *weights, const px_jiggle_parts *parts,
                                           px_arena *arena, float *centres) = {
    [PELT_JIGGLE_BLEND_CENTRES] = tissue_centres,
    [PELT_JIGGLE_BLEND_POLAR] = part_joints,
};

static pelt_result make_pass(px_arena *arena, const px_lattice *lattice, const px_weight_table *weights, float *centres,
                             px_skin_pass *pass) {
    size_t padded = px_jiggle_padded(lattice->particle_count), capacity = weights->capacity, all = padded * capacity;
    float *rest = PX_NEW(arena, float, 4 * padded);
    float *rows = PX_NEW(arena, float, all);
    uint16_t *joints = PX_NEW(arena, uint16_t, all);
    uint8_t *counts = PX_NEW(arena, uint8_t, padded / PX_JIGGLE_BLOCK);
    *pass = (px_skin_pass){.block_count = (uint32_t)(padded / PX_JIGGLE_BLOCK),
                           .influences = weights->capacity,
                           .counts = counts,
                           .joints = joints,
                           .weights = rows,
                           .rest = rest,
                           .centres = centres,
                           .positions = PX_NEW(arena, float, 4 * padded),
                           .turns = PX_NEW(arena, float, 4 * padded),
                           .growths = PX_NEW(arena, float, padded)};
    if (!rest || !rows || !joints || !counts || !pass->positions || !pass->turns || !pass->growths)
        return PELT_ERROR_MEMORY;
    memset(counts, 1,
           padded / PX_JIGGLE_BLOCK); /* padding has weight 0, so it does not move; the kernel needs ≥ 1 influence */
    for (size_t p = 0; p < lattice->particle_count; p++) {
        memcpy(rest + 4 * p, lattice->rest + 3 * p, 3 * sizeof *rest);
        for (size_t k = 0; k < capacity && weights->weights[p * capacity + k] > 0; k++) {
            joints[p * capacity + k] = weights->bones[p * capacity + k];
            rows[p * capacity + k] = weights->weights[p * capacity + k];
            uint8_t *count = &counts[p / PX_JIGGLE_BLOCK];
            *count = (uint8_t)px_max_size(*count, k + 1);
        }
    }
    return PELT_OK;
}

pelt_result px_primary_make(px_arena *arena, const px_jiggle_subject *subject, const px_lattice *lattice,
                            const px_weight_table *weights, const px_jiggle_parts *parts, const pelt_jiggle_desc *desc,
                            px_primary *primary) {
    float *centres = PX_NEW(arena, float, 4 * px_jiggle_padded(lattice->particle_count));
    const pelt_skeleton *skeleton = &subject->model->skeleton;
    *primary = (px_primary){.particle_count = lattice->particle_count,
                            .joint_count = skeleton->joint_count,
                            .parents = skeleton->parents,
                            .inverses = subject->inverses,
                            .motions = PX_NEW(arena, px_joint_motion, skeleton->joint_count),
                            .turns = px_arena_alloc(arena, skeleton->joint_count, sizeof *primary->turns),
                            .kernels = px_jiggle_kernels_of(pelt_simd_best()),
                            .blend = (pelt_jiggle_blend)desc->blend,
                            .volume = px_volume_method_of((pelt_jiggle_volume_field)desc->volume_field)};
    if (!centres || !primary->motions || !primary->turns)
        return PELT_ERROR_MEMORY;
    PX_TRY(make_pass(arena, lattice, weights, centres, &primary->pass));
    PX_TRY(find_centres[primary->blend](subject, lattice, weights, parts, arena, centres));
    primary->pass.motions = primary->motions;
    return px_primary_make_parts(arena, lattice, weights, parts, primary);
}

void px_primary_reset(px_primary *primary) {
    memset(primary->turns, 0, primary->joint_count * sizeof *primary->turns);
}

static void move_particles(px_primary *primary, float amount) {
    primary->pass.amount = amount;
    primary->kernels->skin[primary->blend](&primary->pass);
    if (amount > 0)
        px_primary_swell(primary, amount);
}

const float *px_primary_move(px_primary *primary, const pelt_affine *globals, float amount) {
    move_joints(primary, globals);
    move_particles(primary, amount);
    return primary->pass.positions;
}

const float *px_primary_follow(px_primary *primary, const px_primary *other) {
    primary->pass.motions = other->motions;
    primary->kernels = other->kernels;
    move_particles(primary, other->pass.amount);
    return primary->pass.positions;
}

void px_primary_report(px_primary *primary, pelt_jiggle_volume *volumes) {
    float amount = primary->pass.amount;
    for (int after = 0; after < 2; after++) {
        move_particles(primary, after ? amount : 0);
        px_primary_volumes(primary, primary->pass.positions, primary->volumes);
        for (uint32_t k = 0; k < primary->part_count; k++)
            *(after ? &volumes[k].after : &volumes[k].before) = primary->volumes[k];
    }
    for (uint32_t k = 0; k < primary->part_count; k++) {
        volumes[k].joint = primary->parts[k].joint;
        volumes[k].bone = primary->parts[k].half;
        volumes[k].particle_count = primary->parts[k].particle_count;
        volumes[k].rest = primary->parts[k].rest;
    }
}
