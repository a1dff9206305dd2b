/* Poses a skeleton without skin to fit the mesh: motion capture rests with legs apart or arms along x, and the mesh may
 * stand otherwise. Coordinate descent: joints are rotated one by one, from the root down, by decreasing angles, as long
 * as the misfit falls by more than the cost of the rotation; scale and translation of the skeleton are refined in
 * between. Left and right rotate symmetrically, except in the last round. */
#include "bind/fit.h"
#include "core/math3.h"
#include "core/rotation.h"
#include "weights/weights.h"

#define ROUNDS           3
#define TURN_COST        0.008 /* per squared angle in radians: rejects rotations that gain little */
#define FIRST_STEP       0.6   /* radians */
#define LAST_STEP        0.05
#define GROUND_TOLERANCE 0.1 /* of the skeleton's height: smaller differences in height are ignored */

/* Positions and rotations of all joints, world space. */
typedef struct joint_pose {
    double (*places)[3];
    px_rotation *worlds; /* rotation of each joint from the start pose */
} joint_pose;

typedef struct poser {
    px_fit_search *f;
    const pelt_skeleton *skeleton;
    joint_pose now, saved;
    double (*first)[3]; /* [joint] positions in the start pose */
    uint32_t *pairs;    /* [joint] counterpart across x, itself, or PELT_NONE */
    bool *below;        /* [joint] scratch: it is the rotating joint or a descendant of it */
    bool *turnable;     /* [joint] it has descendants in f->joints. Not roots: they rotate with the similarity
                         * transform */
} poser;

static double turn_cost(const poser *p, uint32_t joint) {
    px_rotation above = px_rotation_inverse(p->now.worlds[p->skeleton->parents[joint]]);
    px_rotation own = px_rotation_mul(above, p->now.worlds[joint]);
    double angle = 2 * px_acos(px_fmin(fabs(own.q[3]), 1));
    return TURN_COST * angle * angle;
}

static void mark_below(const poser *p, uint32_t joint) {
    for (uint32_t j = 0; j < p->skeleton->joint_count; j++) {
        uint32_t parent = p->skeleton->parents[j];
        p->below[j] = j == joint || (parent != PELT_NONE && p->below[parent]);
    }
}

static void turn(const poser *p, uint32_t joint, px_rotation by) {
    const double about[3] = {p->now.places[joint][0], p->now.places[joint][1], p->now.places[joint][2]};
    mark_below(p, joint);
    for (uint32_t j = joint; j < p->skeleton->joint_count; j++) {
        if (!p->below[j])
            continue;
        double from[3], to[3];
        for (int c = 0; c < 3; c++)
            from[c] = p->now.places[j][c] - about[c];
        px_rotation_apply(by, from, to);
        for (int c = 0; c < 3; c++)
            p->now.places[j][c] = about[c] + to[c];
        p->now.worlds[j] = px_rotation_mul(by, p->now.worlds[j]);
    }
}

static void copy_pose(const poser *p, const joint_pose *from, const joint_pose *to) {
    memcpy(to->places, from->places, p->skeleton->joint_count * sizeof *to->places);
    memcpy(to->worlds, from->worlds, p->skeleton->joint_count * sizeof *to->worlds);
}

/* Whether a limb has changed sides with its counterpart. */
static bool crosses(const poser *p) {
    for (uint32_t j = 0; j < p->skeleton->joint_count; j++) {
        uint32_t other = p->pairs[j];
        if (other == PELT_NONE || other <= j)
            continue;
        double before = p->first[j][0] - p->first[other][0], after = p->now.places[j][0] - p->now.places[other][0];
        if (before * after < 0)
            return true;
    }
    return false;
}

static void show(const poser *p) {
    for (uint32_t n = 0; n < p->f->joint_count; n++)
        memcpy(p->f->places[n], p->now.places[p->f->joints[n]], sizeof p->f->places[n]);
}

/* Rotates a joint, and its counterpart `other` (or PELT_NONE) by the mirrored rotation, if that reduces misfit plus
 * cost. Returns the new misfit. */
static double turn_joint(const poser *p, const px_similarity *m, uint32_t joint, uint32_t other, double step,
                         double cost) {
    for (int move = 0; move < 6; move++) {
        double paid = turn_cost(p, joint) + (other != PELT_NONE ? turn_cost(p, other) : 0);
        px_rotation by = px_rotation_about(move / 2, move % 2 ? -step : step);
        turn(p, joint, by);
        if (other != PELT_NONE)
            turn(p, other, (px_rotation){{by.q[0], -by.q[1], -by.q[2], by.q[3]}});
        show(p);
        double own = px_fit_misfit(p->f, m, NULL);
        double pays = turn_cost(p, joint) + (other != PELT_NONE ? turn_cost(p, other) : 0);
        if (own + pays < cost + paid - 1e-9 && !crosses(p)) {
            cost = own;
            copy_pose(p, &p->now, &p->saved);
        } else
            copy_pose(p, &p->saved, &p->now);
    }
    show(p);
    return cost;
}

/* Tries every joint once; `alike`: symmetrically. */
static double turn_all(const poser *p, const px_similarity *m, bool alike, double step, double cost) {
    for (uint32_t j = 0; j < p->skeleton->joint_count; j++) {
        uint32_t other = alike ? p->pairs[j] : PELT_NONE;
        if (other == j || (other != PELT_NONE && !p->turnable[other]))
            other = PELT_NONE;
        if (p->turnable[j] && (other == PELT_NONE || other > j))
            cost = turn_joint(p, m, j, other, step, cost);
    }
    return cost;
}

static pelt_result make(px_arena *arena, poser *p, const pelt_affine *globals) {
    uint32_t count = p->skeleton->joint_count;
    p->below = PX_NEW(arena, bool, count);
    p->turnable = PX_NEW(arena, bool, count);
    p->pairs = PX_NEW(arena, uint32_t, count);
    p->first = px_arena_alloc(arena, count, sizeof *p->first);
    float *positions = PX_NEW(arena, float, 3 * (size_t)count);
    p->now = (joint_pose){px_arena_alloc(arena, count, 3 * sizeof(double)), PX_NEW(arena, px_rotation, count)};
    p->saved = (joint_pose){px_arena_alloc(arena, count, 3 * sizeof(double)), PX_NEW(arena, px_rotation, count)};
    if (!p->below || !p->turnable || !p->pairs || !p->first || !positions || !p->now.places || !p->now.worlds ||
        !p->saved.places || !p->saved.worlds)
        return PELT_ERROR_MEMORY;
    for (uint32_t j = 0; j < count; j++) {
        p->now.worlds[j] = px_rotation_identity();
        for (int c = 0; c < 3; c++)
            p->now.places[j][c] = (double)(positions[3 * (size_t)j + (size_t)c] = globals[j].m[4 * c + 3]);
    }
    copy_pose(p, &p->now, &p->saved);
    memcpy(p->first, p->now.places, count * sizeof *p->first);
    for (uint32_t n = 0; n < p->f->joint_count; n++)
        for (uint32_t j = p->skeleton->parents[p->f->joints[n]]; j != PELT_NONE; j = p->skeleton->parents[j])
            p->turnable[j] = p->skeleton->parents[j] != PELT_NONE;
    px_mirror_plane plane = {0, count ? positions[0] : 0};
    return px_mirror_joints(px_arena_context(arena), p->skeleton, positions, plane, p->pairs, NULL);
}

pelt_result px_fit_pose(px_arena *arena, px_fit_search *f, pelt_affine *globals, px_similarity *m, double *cost) {
    poser p = {.f = f, .skeleton = &f->s->rig->skeleton};
    PX_TRY(make(arena, &p, globals));
    for (int round = 0; round < ROUNDS; round++) {
        for (double step = round ? FIRST_STEP / 4 : FIRST_STEP; step > LAST_STEP; step *= 0.5)
            *cost = turn_all(&p, m, round + 1 < ROUNDS, step, *cost);
        *cost = px_fit_refine(f, m, *cost, true);
    }
    for (uint32_t j = 0; j < p.skeleton->joint_count; j++) {
        pelt_transform t = {.scale = {1, 1, 1}};
        px_rotation_store(p.now.worlds[j], t.rotation);
        pelt_affine turned = px_affine_from_transform(&t);
        globals[j] = px_affine_mul(&turned, &globals[j]);
        for (int c = 0; c < 3; c++)
            globals[j].m[4 * c + 3] = (float)p.now.places[j][c];
    }
    return PELT_OK;
}

/* Height of the lowest joint and vertical extent of a pose, along y. */
static pelt_result measure_height(px_arena *arena, const pelt_skeleton *skeleton, const pelt_transform *locals,
                                  double *low, double *height) {
    pelt_affine *globals = PX_NEW(arena, pelt_affine, skeleton->joint_count);
    double high = -INFINITY;
    if (!globals)
        return PELT_ERROR_MEMORY;
    *low = INFINITY;
    pelt_skeleton_globals(skeleton, locals, globals);
    for (uint32_t j = 0; j < skeleton->joint_count; j++) {
        *low = px_fmin(*low, (double)globals[j].m[7]);
        high = px_fmax(high, (double)globals[j].m[7]);
    }
    *height = high - *low;
    return PELT_OK;
}

pelt_result px_fit_stand(px_arena *arena, const px_fit_search *f, px_similarity *m, pelt_transform **pose) {
    const pelt_model *rig = f->s->rig;
    const pelt_skeleton *skeleton = &rig->skeleton;
    uint32_t roots = 0;
    for (uint32_t j = 0; j < skeleton->joint_count; j++)
        roots += skeleton->parents[j] == PELT_NONE;
    pelt_transform *first = PX_NEW(arena, pelt_transform, skeleton->joint_count);
    pelt_transform *out = PX_NEW(arena, pelt_transform, skeleton->joint_count);
    if (!first || !out)
        return PELT_ERROR_MEMORY;
    if (rig->motion_count == 0 || roots != 1)
        return PELT_OK;
    const pelt_transform *rest = *pose ? *pose : skeleton->rest;
    double low[2], height[2], before[3], after[3];
    pelt_motion_sample(rig, &rig->motions[0], rig->motions[0].start, first, NULL);
    PX_TRY(measure_height(arena, skeleton, rest, &low[0], &height[0]));
    PX_TRY(measure_height(arena, skeleton, first, &low[1], &height[1]));
    if (fabs(low[1] - low[0]) <= GROUND_TOLERANCE * height[0])
        return PELT_OK;
    memcpy(out, rest, skeleton->joint_count * sizeof *out); /* the root is joint 0: parents come first */
    memcpy(out[0].translation, first[0].translation, sizeof out[0].translation);
    px_similarity_map(m, (double[3]){rest[0].translation[0], rest[0].translation[1], rest[0].translation[2]}, before);
    px_similarity_map(m, (double[3]){out[0].translation[0], out[0].translation[1], out[0].translation[2]}, after);
    for (int c = 0; c < 3; c++)
        m->shift[c] += before[c] - after[c];
    *pose = out;
    return PELT_OK;
}
