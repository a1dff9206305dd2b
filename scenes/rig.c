/* Rigs of scenes: skeletons with joints along their bones, smooth weights, motions of sine waves, clips. */
#include "build.h"

/* ---- Skeleton --------------------------------------------------------------------------------------------- */

/* Local y along the bone, by the shortest rotation. */
static quat joint_turn(const scene_joint *joint) {
    return quat_between((vec){0, 1, 0}, vec_unit(vec_sub(joint->tail, joint->head)));
}

static void store_turn(float *out, quat q) {
    out[0] = (float)q.x, out[1] = (float)q.y, out[2] = (float)q.z, out[3] = (float)q.w;
}

static pelt_affine inverse_bind(const scene_joint *joint) {
    quat back = quat_conjugate(joint_turn(joint));
    vec columns[3] = {quat_apply(back, (vec){1, 0, 0}), quat_apply(back, (vec){0, 1, 0}),
                      quat_apply(back, (vec){0, 0, 1})};
    vec origin = quat_apply(back, vec_scale(joint->head, -1));
    pelt_affine out;
    for (int c = 0; c < 4; c++) {
        vec column = c < 3 ? columns[c] : origin;
        out.m[c] = (float)column.x, out.m[4 + c] = (float)column.y, out.m[8 + c] = (float)column.z;
    }
    return out;
}

pelt_result scene_skeleton(pelt_context *context, pelt_model *model, const scene_joint *joints, uint32_t joint_count) {
    pelt_skeleton *skeleton = &model->skeleton;
    pelt_skin *skin = &model->skin;
    skeleton->names = SCENE_NEW(context, model, const char *, joint_count);
    skeleton->parents = SCENE_NEW(context, model, uint32_t, joint_count);
    skeleton->rest = SCENE_NEW(context, model, pelt_transform, joint_count);
    skin->bone_joints = SCENE_NEW(context, model, uint32_t, joint_count);
    skin->inverse_binds = SCENE_NEW(context, model, pelt_affine, joint_count);
    if (!skeleton->names || !skeleton->parents || !skeleton->rest || !skin->bone_joints || !skin->inverse_binds)
        return PELT_ERROR_MEMORY;
    skeleton->joint_count = skin->bone_count = joint_count;
    for (uint32_t j = 0; j < joint_count; j++) {
        const scene_joint *joint = &joints[j];
        quat turn = joint_turn(joint);
        vec offset = joint->head;
        if (joint->parent != PELT_NONE) {
            quat back = quat_conjugate(joint_turn(&joints[joint->parent]));
            turn = quat_unit(quat_mul(back, turn));
            offset = quat_apply(back, vec_sub(joint->head, joints[joint->parent].head));
        }
        skeleton->names[j] = joint->name;
        skeleton->parents[j] = joint->parent;
        vec_store(skeleton->rest[j].translation, offset);
        store_turn(skeleton->rest[j].rotation, turn);
        vec_store(skeleton->rest[j].scale, (vec){1, 1, 1});
        skin->bone_joints[j] = j;
        skin->inverse_binds[j] = inverse_bind(joint);
    }
    return PELT_OK;
}

/* ---- Weights ---------------------------------------------------------------------------------------------- */

pelt_result scene_skin_alloc(pelt_context *context, pelt_model *model) {
    size_t count = (size_t)model->mesh.vertex_count * SCENE_INFLUENCES;
    model->skin.influence_count = SCENE_INFLUENCES;
    model->skin.bones = SCENE_NEW(context, model, uint16_t, count);
    model->skin.weights = SCENE_NEW(context, model, float, count);
    for (uint32_t p = 0; p < model->mesh.part_count; p++)
        model->mesh.parts[p].skinned = true;
    return model->skin.bones && model->skin.weights ? PELT_OK : PELT_ERROR_MEMORY;
}

/* Distance of p from the body around a bone. The segment is shortened at both ends, so that weights change evenly
 * between two bones of a limb instead of staying at a half. */
static double bone_distance(const scene_joint *joint, vec p) {
    vec along = vec_sub(joint->tail, joint->head), off = vec_sub(p, joint->head);
    double length = vec_length(along), cut = 0.35;
    double u = length > 1e-9 ? vec_dot(off, along) / (length * length) : 0;
    return vec_length(vec_sub(off, vec_scale(along, scene_clamp(u, cut, 1 - cut)))) - joint->radius;
}

/* The four largest minus the fifth, so that weights are continuous when bones are exchanged. */
static void keep_four(const double *values, uint32_t count, uint16_t *bones, double *kept) {
    uint32_t best[SCENE_INFLUENCES + 1];
    uint32_t best_count = 0;
    for (uint32_t j = 0; j < count; j++) {
        uint32_t at = best_count < SCENE_INFLUENCES + 1 ? best_count++ : best_count;
        if (at == SCENE_INFLUENCES + 1) {
            if (values[j] <= values[best[SCENE_INFLUENCES]])
                continue;
            at--;
        }
        for (; at > 0 && values[best[at - 1]] < values[j]; at--)
            best[at] = best[at - 1];
        best[at] = j;
    }
    double fifth = best_count > SCENE_INFLUENCES ? values[best[SCENE_INFLUENCES]] : 0;
    for (uint32_t k = 0; k < SCENE_INFLUENCES; k++) {
        kept[k] = k < best_count ? values[best[k]] - fifth : 0;
        bones[k] = (uint16_t)(kept[k] > 0 ? best[k] : 0);
    }
}

void scene_skin_weigh(const scene_joint *joints, uint32_t joint_count, uint64_t mask, vec p, uint16_t *bones,
                      float *weights) {
    double values[64] = {0}, nearest = 1e30, kept[SCENE_INFLUENCES], sum = 0;
    uint32_t count = joint_count < 64 ? joint_count : 64;
    for (uint32_t j = 0; j < count; j++)
        if (mask >> j & 1) {
            values[j] = bone_distance(&joints[j], p);
            nearest = values[j] < nearest ? values[j] : nearest;
        }
    for (uint32_t j = 0; j < count; j++) {
        double length = vec_length(vec_sub(joints[j].tail, joints[j].head));
        double reach = fmax(1.2 * joints[j].radius, 0.55 * length) + fmax(nearest, 0);
        double u = mask >> j & 1 ? 1 - (values[j] - nearest) / reach : 0;
        values[j] = u > 0 ? u * u * u : 0;
    }
    keep_four(values, count, bones, kept);
    for (uint32_t k = 0; k < SCENE_INFLUENCES; k++)
        sum += kept[k];
    for (uint32_t k = 0; k < SCENE_INFLUENCES; k++) {
        /* Five equal bones: the first takes all. */
        weights[k] = sum > 0 ? (float)(kept[k] / sum) : k == 0;
        if (!(weights[k] > 0))
            bones[k] = 0;
    }
}

pelt_result scene_skinned_solid(pelt_context *context, pelt_model *scratch, const scene_desc *desc,
                                const scene_solid *solid, const char *name, const scene_joint *joints,
                                uint32_t joint_count, pelt_model *model) {
    scene_surface surface;
    SCENE_TRY(scene_surface_make(context, scratch, solid,
                                 scene_points_for(scene_count(desc->vertex_count, 6000, 50, SCENE_MAX_VERTICES)),
                                 &surface));
    SCENE_TRY(scene_mesh_from_surface(context, model, &surface, name, false));
    SCENE_TRY(scene_skeleton(context, model, joints, joint_count));
    SCENE_TRY(scene_skin_alloc(context, model));
    for (size_t i = 0; i < model->mesh.vertex_count; i++)
        scene_skin_weigh(joints, joint_count, UINT64_MAX, vec_load(model->mesh.positions + 3 * i),
                         model->skin.bones + SCENE_INFLUENCES * i, model->skin.weights + SCENE_INFLUENCES * i);
    return PELT_OK;
}

/* ---- Motion ----------------------------------------------------------------------------------------------- */

double scene_wave_at(const scene_wave *wave, double time) {
    /* Subtract whole loops first, so that the last frame of a loop has the bits of the first. */
    double at = wave->cycles * time + wave->phase;
    return wave->middle + wave->amplitude * scene_sin(2 * SCENE_PI * (at - floor(at)));
}

/* The waves of one joint at a time (in loops): rotation and translation in object space. */
static quat sum_waves(const scene_wave *waves, uint32_t wave_count, uint32_t joint, double time, vec *shift) {
    static const vec axes[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    quat turn = {0, 0, 0, 1};
    *shift = (vec){0, 0, 0};
    for (uint32_t e = 0; e < wave_count; e++) {
        if (waves[e].joint != joint)
            continue;
        double value = scene_wave_at(&waves[e], time);
        if (waves[e].axis < 3)
            turn = quat_mul(quat_turn(axes[waves[e].axis], value), turn);
        else
            *shift = vec_mad(*shift, value, axes[waves[e].axis - 3]);
    }
    return turn;
}

/* Paths that the waves of a joint need: bit 0 rotation, bit 1 translation. */
static int wave_paths(const scene_wave *waves, uint32_t wave_count, uint32_t joint) {
    int paths = 0;
    for (uint32_t e = 0; e < wave_count; e++)
        if (waves[e].joint == joint)
            paths |= waves[e].axis < 3 ? 1 : 2;
    return paths;
}

/* Rotation of a joint's rest frame relative to object space. */
static quat global_turn(const pelt_skeleton *skeleton, uint32_t joint) {
    quat turn = {0, 0, 0, 1};
    for (uint32_t j = joint; j != PELT_NONE; j = skeleton->parents[j]) {
        const float *q = skeleton->rest[j].rotation;
        turn = quat_mul((quat){q[0], q[1], q[2], q[3]}, turn);
    }
    return quat_unit(turn);
}

static pelt_result fill_track(pelt_context *context, pelt_model *model, const scene_wave *waves, uint32_t wave_count,
                              uint32_t loop, pelt_track *track) {
    const pelt_skeleton *skeleton = &model->skeleton;
    float *values = SCENE_NEW(context, model, float, (size_t)track->key_count * track->width);
    if (!values)
        return PELT_ERROR_MEMORY;
    uint32_t parent = skeleton->parents[track->joint];
    quat frame = global_turn(skeleton, track->joint);
    quat parent_back = quat_conjugate(parent == PELT_NONE ? (quat){0, 0, 0, 1} : global_turn(skeleton, parent));
    const pelt_transform *rest = &skeleton->rest[track->joint];
    for (uint32_t k = 0; k < track->key_count; k++) {
        vec shift;
        quat turn = sum_waves(waves, wave_count, track->joint, (double)(k % loop) / loop, &shift);
        float *out = values + (size_t)k * track->width;
        if (track->path == PELT_PATH_ROTATION)
            store_turn(out, quat_unit(quat_mul(parent_back, quat_mul(turn, frame))));
        else
            vec_store(out, vec_add(vec_load(rest->translation), quat_apply(parent_back, shift)));
    }
    track->values = values;
    return PELT_OK;
}

static float *frame_times(pelt_context *context, pelt_model *model, uint32_t frame_count) {
    float *times = SCENE_NEW(context, model, float, frame_count);
    for (uint32_t k = 0; times && k < frame_count; k++)
        times[k] = (float)(k / SCENE_FPS);
    return times;
}

pelt_result scene_motion(pelt_context *context, pelt_model *model, const char *name, const scene_wave *waves,
                         uint32_t wave_count, uint32_t frame_count, uint32_t loop) {
    pelt_motion *motion = SCENE_NEW(context, model, pelt_motion, 1);
    pelt_track *tracks = SCENE_NEW(context, model, pelt_track, 2 * (size_t)model->skeleton.joint_count);
    const float *times = frame_times(context, model, frame_count);
    if (!motion || !tracks || !times)
        return PELT_ERROR_MEMORY;
    uint32_t track_count = 0;
    for (uint32_t j = 0; j < model->skeleton.joint_count; j++) {
        int paths = wave_paths(waves, wave_count, j);
        for (int path = 0; path < 2; path++)
            if (paths >> path & 1) {
                tracks[track_count] = (pelt_track){.joint = j,
                                                   .path = path ? PELT_PATH_TRANSLATION : PELT_PATH_ROTATION,
                                                   .interpolation = PELT_INTERPOLATION_LINEAR,
                                                   .width = path ? 3 : 4,
                                                   .key_count = frame_count,
                                                   .times = times};
                SCENE_TRY(fill_track(context, model, waves, wave_count, loop, &tracks[track_count++]));
            }
    }
    *motion = (pelt_motion){.name = name, .end = times[frame_count - 1], .track_count = track_count, .tracks = tracks};
    model->motion_count = 1;
    model->motions = motion;
    return PELT_OK;
}

pelt_result scene_clip(pelt_context *context, pelt_model *model, const char *name, uint32_t frame_count,
                       pelt_clip_source source) {
    pelt_clip *clip = SCENE_NEW(context, model, pelt_clip, 1);
    const float *times = frame_times(context, model, frame_count);
    if (!clip || !times)
        return PELT_ERROR_MEMORY;
    *clip = (pelt_clip){.name = name,
                        .frame_count = frame_count,
                        .point_count = model->mesh.points.count,
                        .times = times,
                        .source = source};
    model->clip_count = 1;
    model->clips = clip;
    return PELT_OK;
}
