/* Runs prepared skins: matrices of a group in a pose, and output of its vertices. */
#include "core/math3.h"
#include "run/skin.h"

/* Tolerance on the entries of CᵀC / s² − 1: below it, C / s changes the length of a unit vector by less than 1e-6. */
#define RIGID 5e-7f

/* ---- Matrices of a group ---------------------------------------------------------------------------------- */

/* Cofactor matrix of a single bone. If it is a rotation times a scale, divides by the scale and returns true. */
static bool make_cofactor(const float m[12], float c[9]) {
    for (int r = 0; r < 3; r++)
        px_cross3(m + 4 * ((r + 1) % 3), m + 4 * ((r + 2) % 3), c + 3 * r);
    float gram[6];
    for (int e = 0; e < 3; e++) {
        int f = (e + 1) % 3;
        gram[e] = c[e] * c[e] + c[3 + e] * c[3 + e] + c[6 + e] * c[6 + e];
        gram[3 + e] = c[e] * c[f] + c[3 + e] * c[3 + f] + c[6 + e] * c[6 + f];
    }
    float square = (gram[0] + gram[1] + gram[2]) * (1.0f / 3), limit = RIGID * square;
    bool rigid = square > 1e-30f && square < 1e30f;
    for (int e = 0; e < 3; e++)
        rigid &= (fabsf(gram[e] - square) <= limit) & (fabsf(gram[3 + e]) <= limit);
    float scale = rigid ? 1 / sqrtf(square) : 1;
    for (int e = 0; e < 9; e++)
        c[e] *= scale;
    return rigid;
}

static void make_matrices(const pelt_affine *palette, const uint16_t *bones, px_prepared_pose *pose) {
    uint32_t last = pose->influence_count - 1;
    const float *base = palette[bones[last]].m;
    memcpy(pose->matrices[0], base, sizeof pose->matrices[0]);
    for (uint32_t k = 0; k < last; k++)
        for (int e = 0; e < 12; e++)
            pose->matrices[k + 1][e] = palette[bones[k]].m[e] - base[e];
}

/* Returns true if a stretch is a uniform scale; pelt_stretches makes most of them exactly that. */
static bool is_scale(const float m[12]) {
    bool alike = (m[0] > 0) & (m[5] == m[0]) & (m[10] == m[0]);
    return alike & (m[1] == 0) & (m[2] == 0) & (m[4] == 0) & (m[6] == 0) & (m[8] == 0) & (m[9] == 0);
}

static bool all_scales(const pelt_affine *stretches, const uint16_t *bones, uint32_t count) {
    bool good = true;
    for (uint32_t k = 0; k < count; k++)
        good &= is_scale(stretches[bones[k]].m);
    return good;
}

/* q and −q are the same rotation: all are negated into the hemisphere of the base, so that blends take the shorter
 * arc. `scales` may be NULL. */
static void make_duals(const pelt_dual_quaternion *palette, const pelt_affine *scales, const uint16_t *bones,
                       px_prepared_pose *pose) {
    uint32_t last = pose->influence_count - 1;
    const float *base = palette[bones[last]].q;
    memcpy(pose->duals[0], base, sizeof palette->q);
    pose->duals[0][8] = scales ? scales[bones[last]].m[0] : 1;
    for (uint32_t k = 0; k < last; k++) {
        const float *q = palette[bones[k]].q;
        float sign = q[0] * base[0] + q[1] * base[1] + q[2] * base[2] + q[3] * base[3] < 0 ? -1.0f : 1.0f;
        for (int e = 0; e < 8; e++)
            pose->duals[k + 1][e] = sign * q[e] - base[e];
        pose->duals[k + 1][8] = scales ? scales[bones[k]].m[0] - pose->duals[0][8] : 0;
    }
}

/* Matrix of a single bone: rigid part times stretch. */
static void make_single(const pelt_prepared_job *job, uint16_t bone, px_prepared_pose *pose) {
    pelt_affine m = px_affine_from_dual(&job->dual_quaternions[bone]);
    if (job->stretches)
        m = px_affine_mul(&m, &job->stretches[bone]);
    memcpy(pose->matrices[0], m.m, sizeof m.m);
}

static void make_pose(const pelt_prepared_job *job, const pelt_prepared_group *group, px_prepared_pose *pose) {
    const uint16_t *bones = job->prepared->bones + group->first_bone;
    bool single = group->influence_count == 1;
    pose->influence_count = group->influence_count;
    pose->linear = single || job->skinning == PELT_SKINNING_LINEAR;
    pose->stretched = !pose->linear && job->stretches && !all_scales(job->stretches, bones, group->influence_count);
    if (job->skinning == PELT_SKINNING_LINEAR)
        make_matrices(job->palette, bones, pose);
    else if (single)
        make_single(job, bones[0], pose);
    else if (pose->stretched)
        make_matrices(job->stretches, bones, pose);
    if (!pose->linear)
        make_duals(job->dual_quaternions, pose->stretched ? NULL : job->stretches, bones, pose);
    pose->turned = single && job->out_normals && make_cofactor(pose->matrices[0], pose->cofactor);
}

/* ---- A group ------------------------------------------------------------------------------------------------ */

/* The job of a loose group, whose vertices have their own bones. */
static pelt_skin_job loose_job(const pelt_prepared_job *job, const pelt_prepared_group *group,
                               const px_prepared_out *out) {
    const pelt_prepared_skin *p = job->prepared;
    size_t at = (size_t)group->first_block * PELT_PREPARED_BLOCK;
    return (pelt_skin_job){
        .vertex_count = group->vertex_count,
        .influence_count = group->influence_count,
        .bones = p->bones + group->first_bone,
        .weights = p->weights + group->first_weight,
        .palette = job->palette,
        .dual_quaternions = job->dual_quaternions,
        .stretches = job->stretches,
        .skinning = job->skinning,
        .positions = p->positions + 3 * at,
        .normals = out->normals ? p->normals + 3 * at : NULL,
        .tangents = out->tangents ? p->tangents + 4 * at : NULL,
        .out_positions = out->positions,
        .out_normals = out->normals,
        .out_tangents = out->tangents,
    };
}

static void run_group(const pelt_prepared_job *job, const pelt_prepared_group *group, pelt_simd simd,
                      const px_prepared_out *out) {
    if (group->shared) {
        px_prepared_pose pose;
        make_pose(job, group, &pose);
        px_prepared_body_of(simd)(job->prepared, group, &pose, out);
    } else {
        pelt_skin_job loose = loose_job(job, group, out);
        pelt_skin_run_simd(&loose, simd);
    }
}

/* ---- Output ------------------------------------------------------------------------------------------------- */

static void place_rows(const pelt_prepared_job *job, const pelt_prepared_group *group, const float *rows, size_t width,
                       float *out) {
    size_t stride = job->stride ? job->stride : width * sizeof *rows;
    for (size_t at = 0; at < group->vertex_count; at++) {
        size_t place = group->first_place + at;
        size_t target = job->mesh_order ? job->prepared->order[place] : place;
        memcpy((char *)out + target * stride, rows + at * width, width * sizeof *rows);
    }
}

/* Writes through a buffer that fits in the L1 cache. */
static void run_placed(const pelt_prepared_job *job, const pelt_prepared_group *group, pelt_simd simd) {
    float positions[3 * PELT_PREPARED_GROUP], normals[3 * PELT_PREPARED_GROUP], tangents[4 * PELT_PREPARED_GROUP];
    px_prepared_out out = {positions, job->out_normals ? normals : NULL, job->out_tangents ? tangents : NULL};
    run_group(job, group, simd, &out);
    place_rows(job, group, positions, 3, job->out_positions);
    if (job->out_normals)
        place_rows(job, group, normals, 3, job->out_normals);
    if (job->out_tangents)
        place_rows(job, group, tangents, 4, job->out_tangents);
}

static void run_planar(const pelt_prepared_job *job, const pelt_prepared_group *group, pelt_simd simd) {
    size_t place = group->first_place;
    px_prepared_out out = {job->out_positions + 3 * place, job->out_normals ? job->out_normals + 3 * place : NULL,
                           job->out_tangents ? job->out_tangents + 4 * place : NULL};
    run_group(job, group, simd, &out);
}

/* ---- Jobs ----------------------------------------------------------------------------------------------------- */

static uint32_t group_end(const pelt_prepared_job *job) {
    uint32_t rest = job->prepared->group_count - job->first_group;
    return job->first_group + (job->group_count < rest ? job->group_count : rest);
}

void pelt_prepared_run_simd(const pelt_prepared_job *job, pelt_simd simd) {
    const pelt_prepared_skin *prepared = job->prepared;
    assert(job->first_group <= prepared->group_count);
    assert(job->skinning == PELT_SKINNING_LINEAR ? job->palette != NULL : job->dual_quaternions != NULL);
    assert((!job->out_normals || prepared->normals) && (!job->out_tangents || prepared->tangents));
    bool planar = !job->stride && !job->mesh_order;
    for (uint32_t g = job->first_group; g < group_end(job); g++)
        (planar ? run_planar : run_placed)(job, &prepared->groups[g], simd);
}

void pelt_prepared_run(const pelt_prepared_job *job) {
    pelt_prepared_run_simd(job, pelt_simd_best());
}

/* Groups have up to 256 vertices, in real rigs about 50: 64 groups are a few thousand vertices, enough to hide the
 * cost of scheduling. */
#define BLOCK_GROUPS 64

static pelt_result run_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    pelt_prepared_job part = *(const pelt_prepared_job *)user;
    part.first_group += (uint32_t)first;
    part.group_count = (uint32_t)count;
    pelt_prepared_run(&part);
    return PELT_OK;
}

pelt_result pelt_prepared_run_threads(pelt_context *context, const pelt_prepared_job *job) {
    pelt_prepared_job copy = *job;
    return px_parallel(context, NULL, group_end(job) - job->first_group, BLOCK_GROUPS, run_block, &copy);
}
