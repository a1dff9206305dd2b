/* Runs prepared skins: matrices of a group in a pose, and output of its vertices. */
#include "core/math3.h"
#include "run/skin.h"

/* Tolerance on the entries of CᵀC / s² − 1: below it, C / s changes the length of a unit vector by about 1e-6. */
#define RIGID 2e-6f

/* ---- Matrices of a group ---------------------------------------------------------------------------------- */

typedef float row __attribute__((vector_size(16)));
#define NEXT(x) __builtin_shufflevector(x, x, 1, 2, 0, 3) /* y z x w */

static row cross(row a, row b) {
    row turned = a * NEXT(b) - NEXT(a) * b;
    return NEXT(turned);
}

/* Cofactor matrix of a single bone, rows of 4. If it is a rotation times a scale, divides by the scale and returns
 * true. */
static bool make_cofactor(const float m[12], float out[12]) {
    row r[3], c[3];
    memcpy(r, m, sizeof r);
    for (int e = 0; e < 3; e++)
        c[e] = cross(r[(e + 1) % 3], r[(e + 2) % 3]);
    /* products of columns with themselves, and with the next column */
    row same = c[0] * c[0] + c[1] * c[1] + c[2] * c[2];
    row next = c[0] * NEXT(c[0]) + c[1] * NEXT(c[1]) + c[2] * NEXT(c[2]);
    float square = (same[0] + same[1] + same[2]) * (1.0f / 3), limit = RIGID * square;
    bool rigid = square > 1e-30f && square < 1e30f;
    for (int e = 0; e < 3; e++)
        rigid &= (fabsf(same[e] - square) <= limit) & (fabsf(next[e]) <= limit);
    float scale = rigid ? 1 / sqrtf(square) : 1;
    for (int e = 0; e < 3; e++)
        c[e] *= scale;
    memcpy(out, c, sizeof c);
    return rigid;
}

static void make_matrices(const pelt_affine *palette, const uint16_t *bones, uint32_t influences,
                          px_prepared_pose *pose) {
    uint32_t last = influences - 1;
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
                       uint32_t influences, px_prepared_pose *pose) {
    uint32_t last = influences - 1;
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

static px_prepared_kind kind_of(const pelt_prepared_job *job, const pelt_prepared_group *group) {
    if (job->skinning == PELT_SKINNING_LINEAR || group->influence_count == 1)
        return PX_PREPARED_LINEAR;
    const uint16_t *bones = job->prepared->bones + group->first_bone;
    bool scales = !job->stretches || all_scales(job->stretches, bones, group->influence_count);
    return scales ? PX_PREPARED_DUAL : PX_PREPARED_STRETCHED;
}

static void make_pose(const pelt_prepared_job *job, const pelt_prepared_group *group, px_prepared_kind kind,
                      px_prepared_pose *pose) {
    const uint16_t *bones = job->prepared->bones + group->first_bone;
    uint32_t influences = group->influence_count;
    if (job->skinning == PELT_SKINNING_LINEAR)
        make_matrices(job->palette, bones, influences, pose);
    else if (influences == 1)
        make_single(job, bones[0], pose);
    else if (kind == PX_PREPARED_STRETCHED)
        make_matrices(job->stretches, bones, influences, pose);
    if (kind != PX_PREPARED_LINEAR)
        make_duals(job->dual_quaternions, kind == PX_PREPARED_DUAL ? job->stretches : NULL, bones, influences, pose);
    pose->turned = influences == 1 && job->out_normals && make_cofactor(pose->matrices[0], pose->cofactor);
}

/* ---- Groups ----------------------------------------------------------------------------------------------- */

/* Planar output arrays that begin at the first vertex of a group; normals and tangents may be NULL. */
typedef struct group_out {
    float *positions, *normals, *tangents;
} group_out;

/* The job of a loose group, whose vertices have their own bones. */
static pelt_skin_job loose_job(const pelt_prepared_job *job, const pelt_prepared_group *group, const group_out *out) {
    const pelt_prepared_skin *p = job->prepared;
    size_t at = (size_t)group->first_block * PELT_PREPARED_BLOCK;
    pelt_packed_morphs morphs = job->morphs;
    if (morphs.offsets)
        morphs.offsets += group->first_block;
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
        .morphs = morphs,
        .morph_weights = job->morph_weights,
        .exact = job->exact,
    };
}

/* Runs group `first` and those after it, up to `limit`, that are alike. Returns the number of groups. */
static uint32_t run_groups(const pelt_prepared_job *job, uint32_t first, uint32_t limit, pelt_simd simd,
                           const group_out *out) {
    const pelt_prepared_group *group = &job->prepared->groups[first];
    if (!group->shared) {
        pelt_skin_job loose = loose_job(job, group, out);
        pelt_skin_run_simd(&loose, simd);
        return 1;
    }
    px_prepared_pose poses[PX_PREPARED_POSES];
    px_prepared_run run = {
        .prepared = job->prepared,
        .first_group = first,
        .kind = kind_of(job, group),
        .poses = poses,
        .positions = out->positions,
        .normals = out->normals,
        .tangents = out->tangents,
        .morphs = job->morphs.offsets ? &job->morphs : NULL,
        .morph_weights = job->morph_weights,
    };
    for (; run.group_count < limit && run.group_count < PX_PREPARED_POSES; run.group_count++) {
        const pelt_prepared_group *next = group + run.group_count;
        if (!next->shared || next->influence_count != group->influence_count || kind_of(job, next) != run.kind)
            break;
        make_pose(job, next, run.kind, &poses[run.group_count]);
    }
    px_prepared_body_of(simd, job->exact)(&run);
    return run.group_count;
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

/* Writes a group through a buffer that fits in the L1 cache. */
static uint32_t run_placed(const pelt_prepared_job *job, uint32_t g, pelt_simd simd) {
    float positions[3 * PELT_PREPARED_GROUP], normals[3 * PELT_PREPARED_GROUP], tangents[4 * PELT_PREPARED_GROUP];
    group_out out = {positions, job->out_normals ? normals : NULL, job->out_tangents ? tangents : NULL};
    const pelt_prepared_group *group = &job->prepared->groups[g];
    run_groups(job, g, 1, simd, &out);
    place_rows(job, group, positions, 3, job->out_positions);
    if (job->out_normals)
        place_rows(job, group, normals, 3, job->out_normals);
    if (job->out_tangents)
        place_rows(job, group, tangents, 4, job->out_tangents);
    return 1;
}

static uint32_t run_planar(const pelt_prepared_job *job, uint32_t g, uint32_t end, pelt_simd simd) {
    size_t place = job->prepared->groups[g].first_place;
    group_out out = {job->out_positions + 3 * place, job->out_normals ? job->out_normals + 3 * place : NULL,
                     job->out_tangents ? job->out_tangents + 4 * place : NULL};
    return run_groups(job, g, end - g, simd, &out);
}

/* ---- Jobs ----------------------------------------------------------------------------------------------------- */

static uint32_t group_end(const pelt_prepared_job *job) {
    uint32_t rest = job->prepared->group_count - job->first_group;
    return job->first_group + (job->group_count < rest ? job->group_count : rest);
}

void pelt_prepared_run_simd(const pelt_prepared_job *job, pelt_simd simd) {
    assert(job->first_group <= job->prepared->group_count);
    assert(job->skinning == PELT_SKINNING_LINEAR ? job->palette != NULL : job->dual_quaternions != NULL);
    assert(!job->out_normals || job->prepared->normals);
    assert(!job->out_tangents || job->prepared->tangents);
    bool planar = !job->stride && !job->mesh_order;
    for (uint32_t g = job->first_group, end = group_end(job); g < end;)
        g += planar ? run_planar(job, g, end, simd) : run_placed(job, g, simd);
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
