/* Poses that weights are fitted to: frames of the motions, and poses in which every joint is turned at random. */
#include "core/frames.h"
#include "core/rotation.h"
#include "core/skin.h"
#include "helpers/helpers.h"

/* Frames of the motions to fit at most, spread evenly. */
#define MOTION_POSES 96u
/* Poses at random. They keep weights of bones that hardly move in the motions close to those of other motions. */
#define RANDOM_POSES 16u
/* The largest angle by which they turn a joint. */
#define RANDOM_ANGLE (100 * PX_DEGREE)
/* Squared errors of all random poses together, relative to those of all frames. */
#define RANDOM_WEIGHT 0.02
/* Positions to hold at most: fewer poses for larger meshes. */
#define MOST_POSITIONS (1u << 24)

pelt_result px_helper_bones_alloc(px_arena *arena, const pelt_model *model, px_helper_bones *bones) {
    uint32_t count = model->skin.bone_count;
    bones->palette = PX_NEW(arena, pelt_affine, count);
    bones->duals = PX_NEW(arena, pelt_dual_quaternion, count);
    bones->stretches = PX_NEW(arena, pelt_affine, count);
    return bones->palette && bones->duals && bones->stretches ? PELT_OK : PELT_ERROR_MEMORY;
}

void px_helper_bones_pose(const pelt_model *model, const pelt_transform *locals, pelt_affine *globals,
                          px_helper_bones *bones) {
    pelt_skeleton_globals(&model->skeleton, locals, globals);
    pelt_skin_palette(&model->skin, globals, bones->palette);
    pelt_dual_quaternions(bones->palette, model->skin.bone_count, bones->duals);
    bones->stretched = pelt_stretches(bones->palette, bones->duals, model->skin.bone_count, bones->stretches);
}

/* splitmix64; 0 to 1. */
static double next_random(uint64_t *state) {
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (double)((z ^ (z >> 31)) >> 11) / 9007199254740992.0;
}

/* Turns every joint but roots from its rest pose about a random axis. */
static void turn_joints(const pelt_skeleton *skeleton, uint64_t *state, pelt_transform *locals) {
    for (uint32_t j = 0; j < skeleton->joint_count; j++) {
        double axis[3], angle = RANDOM_ANGLE * next_random(state);
        for (int c = 0; c < 3; c++)
            axis[c] = 2 * next_random(state) - 1;
        if (skeleton->parents[j] == PELT_NONE || !(px_normalize3(axis) > 0))
            continue;
        px_rotation turn = {{0, 0, 0, px_cos(angle / 2)}};
        for (int c = 0; c < 3; c++)
            turn.q[c] = px_sin(angle / 2) * axis[c];
        px_rotation_store(px_rotation_mul(px_rotation_of(locals[j].rotation), turn), locals[j].rotation);
    }
}

/* Scratch of one pose. */
typedef struct sampler {
    px_helper_plan *plan;
    pelt_transform *locals; /* [joint] */
    float *weights;         /* [morph] */
    pelt_affine *globals;   /* [joint] */
    float *positions;       /* [vertex][3] */
    const float *rests;     /* [class][3] without morphs */
} sampler;

static bool is_morphed(const sampler *s) {
    for (uint32_t m = 0; m < s->plan->model->morphs.morph_count; m++)
        if (s->weights[m] != 0)
            return true;
    return false;
}

/* Sets bones and positions before skinning from sampler.locals and weights. */
static pelt_result set_bones(const sampler *s, px_helper_pose *pose) {
    const px_helper_plan *plan = s->plan;
    const pelt_model *model = plan->model;
    PX_TRY(px_helper_bones_alloc(plan->arena, model, &pose->bones));
    px_helper_bones_pose(model, s->locals, s->globals, &pose->bones);
    pose->rests = s->rests;
    if (!is_morphed(s))
        return PELT_OK;
    float *rests = PX_NEW(plan->arena, float, 3 * (size_t)plan->classes.count);
    if (!rests)
        return PELT_ERROR_MEMORY;
    pelt_morph_run(&model->mesh, &model->morphs, s->weights, s->positions, NULL, NULL);
    pelt_vertex_classes_gather(&plan->classes, s->positions, rests);
    pose->rests = rests;
    return PELT_OK;
}

/* Sets a pose from sampler.locals and weights. */
static pelt_result set_pose(const sampler *s, px_helper_pose *pose) {
    const px_helper_plan *plan = s->plan;
    const pelt_model *model = plan->model;
    PX_TRY(set_bones(s, pose));
    if (!(pose->targets = PX_NEW(plan->arena, float, 3 * (size_t)plan->classes.count)))
        return PELT_ERROR_MEMORY;
    PX_TRY(pelt_model_pose_locals(plan->context, model, s->locals, s->weights,
                                  plan->mush ? PELT_SKINNING_LINEAR : PELT_SKINNING_DUAL_QUATERNION, s->positions,
                                  NULL));
    if (plan->mush)
        return px_mush_pose(plan->context, plan->mush, pose->bones.palette, is_morphed(s) ? s->weights : NULL,
                            s->positions, pose->targets);
    pelt_vertex_classes_gather(&plan->classes, s->positions, pose->targets);
    return PELT_OK;
}

/* Every `stride`-th frame of all motions, the first after half a stride. */
static pelt_result sample_motions(sampler *s, double stride, double weight) {
    px_helper_plan *plan = s->plan;
    const pelt_model *model = plan->model;
    double next = (stride - 1) / 2;
    uint32_t before = 0;
    for (uint32_t m = 0; m < model->motion_count; m++) {
        const pelt_motion *motion = &model->motions[m];
        double rate;
        uint32_t frames;
        PX_TRY(px_motion_frames(plan->context, motion, plan->desc.fps, &rate, &frames));
        for (; next < (double)before + frames; next += stride) {
            px_helper_pose *pose = &plan->poses[plan->pose_count++];
            float time = px_motion_frame_time(motion, rate, frames, (uint32_t)next - before);
            PX_TRY(px_progress(plan->context, "sampling poses", plan->pose_count, MOTION_POSES + RANDOM_POSES));
            pelt_motion_sample(model, motion, time, s->locals, s->weights);
            PX_TRY(set_pose(s, pose));
            pose->weight = weight;
            pose->motion = m;
            pose->time = time;
        }
        before += frames;
    }
    return PELT_OK;
}

static pelt_result count_frames(px_helper_plan *plan) {
    for (uint32_t m = 0; m < plan->model->motion_count; m++) {
        double rate;
        uint32_t frames;
        PX_TRY(px_motion_frames(plan->context, &plan->model->motions[m], plan->desc.fps, &rate, &frames));
        if (frames > UINT32_MAX / 2 - plan->frame_count)
            return px_fail(plan->context, PELT_ERROR_INPUT, "the motions have too many frames at %g per second",
                           plan->desc.fps);
        plan->frame_count += frames;
    }
    return PELT_OK;
}

static pelt_result make_sampler(px_helper_plan *plan, sampler *s) {
    const pelt_model *model = plan->model;
    *s = (sampler){.plan = plan,
                   .locals = PX_NEW(plan->arena, pelt_transform, model->skeleton.joint_count),
                   .weights = PX_NEW(plan->arena, float, model->morphs.morph_count),
                   .globals = PX_NEW(plan->arena, pelt_affine, model->skeleton.joint_count),
                   .positions = PX_NEW(plan->arena, float, 3 * (size_t)model->mesh.vertex_count),
                   .rests = px_class_positions(plan->arena, &plan->classes, model->mesh.positions)};
    return s->locals && s->weights && s->globals && s->positions && s->rests ? PELT_OK : PELT_ERROR_MEMORY;
}

pelt_result px_helper_poses(px_helper_plan *plan) {
    const pelt_model *model = plan->model;
    sampler s;
    PX_TRY(count_frames(plan));
    PX_TRY(make_sampler(plan, &s));
    size_t most = px_max_size(px_min_size(MOTION_POSES + RANDOM_POSES, MOST_POSITIONS / (plan->classes.count + 1)), 8);
    size_t random = most * RANDOM_POSES / (MOTION_POSES + RANDOM_POSES),
           frames = px_min_size(most - random, plan->frame_count);
    if (!(plan->poses = PX_NEW(plan->arena, px_helper_pose, frames + random + 1)))
        return PELT_ERROR_MEMORY;
    PX_TRY(sample_motions(&s, (double)plan->frame_count / (double)frames, 1 / (double)frames));
    uint64_t state = 1;
    plan->given_joints = model->skeleton.joint_count;
    for (size_t n = 0; n < random; n++) {
        px_helper_pose *pose = &plan->poses[plan->pose_count++];
        pelt_motion_sample(model, NULL, 0, s.locals, s.weights);
        turn_joints(&model->skeleton, &state, s.locals);
        PX_TRY(set_pose(&s, pose));
        pose->weight = RANDOM_WEIGHT / (double)random;
        pose->motion = PELT_NONE;
        if (!(pose->locals = PX_NEW(plan->arena, pelt_transform, plan->given_joints)))
            return PELT_ERROR_MEMORY;
        memcpy(pose->locals, s.locals, plan->given_joints * sizeof *s.locals);
    }
    return PELT_OK;
}

pelt_result px_helper_poses_again(px_helper_plan *plan) {
    const pelt_model *model = plan->model;
    sampler s;
    PX_TRY(make_sampler(plan, &s));
    for (uint32_t n = 0; n < plan->pose_count; n++) {
        px_helper_pose *pose = &plan->poses[n];
        bool of_motion = pose->motion != PELT_NONE;
        pelt_motion_sample(model, of_motion ? &model->motions[pose->motion] : NULL, pose->time, s.locals, s.weights);
        if (!of_motion)
            memcpy(s.locals, pose->locals, plan->given_joints * sizeof *s.locals);
        PX_TRY(set_bones(&s, pose));
    }
    return PELT_OK;
}
