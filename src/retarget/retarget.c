/* A motion of one skeleton on another, frame by frame. */
#include "retarget/tear.h"

#include "core/driver.h"
#include "core/frames.h"

#include <stdlib.h>

#define FIELD(name) PELT_FIELD(pelt_retarget_desc, name)
static const pelt_option options[] = {
    {"align", 0, PELT_OPTION_CHOICE, FIELD(align), "directions", 0, 0, "directions|none", NULL,
     "whether the rig's limbs at rest are first turned to where the motion's point at rest"},
    {"motion-rest", 0, PELT_OPTION_CHOICE, FIELD(rest), "skeleton", 0, 0, "skeleton|first", NULL,
     "the motion's rest pose: its skeleton's, or its first frame"},
    {"ground", 0, PELT_OPTION_CHOICE, FIELD(ground), "feet", 0, 0, "feet|keep", NULL,
     "lift all so that feet stand as high as at rest, or keep heights"},
    {"motion-scale", 0, PELT_OPTION_REAL, FIELD(scale), "0", 0, 1e6, NULL, "X",
     "rig lengths per motion length; 0: so that the legs fit"},
    {"rate", 0, PELT_OPTION_REAL, FIELD(fps), "0", 0, 100000, NULL, "N",
     "frames per second of the result; 0: those of the motion"},
    {"replace", 0, PELT_OPTION_FLAG, FIELD(replace), NULL, 0, 0, NULL, NULL, "the rig's other motions go"},
};

PX_DESC(retarget, options)

/* ---- Poses ------------------------------------------------------------------------------------------------ */

pelt_result px_rig_pose_create(px_arena *arena, const pelt_model *model, px_rig_pose *pose) {
    uint32_t count = model->skeleton.joint_count;
    *pose = (px_rig_pose){.model = model,
                          .locals = PX_NEW(arena, pelt_transform, count),
                          .globals = PX_NEW(arena, pelt_affine, count),
                          .rotations = PX_NEW(arena, px_rotation, count)};
    return pose->locals && pose->globals && pose->rotations ? PELT_OK : PELT_ERROR_MEMORY;
}

void px_rig_pose_sample(px_rig_pose *pose, const pelt_motion *motion, float time) {
    pelt_motion_sample(pose->model, motion, time, pose->locals, NULL);
    pelt_skeleton_globals(&pose->model->skeleton, pose->locals, pose->globals);
    for (uint32_t j = 0; j < pose->model->skeleton.joint_count; j++)
        pose->rotations[j] = px_rotation_of_affine(&pose->globals[j]);
}

/* ---- Frames ----------------------------------------------------------------------------------------------- */

typedef struct work {
    pelt_context *context;
    px_rig_pose rig, source;
    px_rig_pose rest; /* the rig at rest */
    const pelt_motion *motion;
    const pelt_joint_match *matches;
    px_bridge bridge;
    px_tear tear;
    double rate, lift;
} work;

static px_rotation goal_rotation(const work *w, uint32_t j) {
    const px_rotation *turned = &w->source.rotations[w->matches[j].joint];
    return px_rotation_mul(px_rotation_mul(w->bridge.world, *turned), w->bridge.after[j]);
}

/* Position of a joint given by its partner. */
static void goal_place(const work *w, uint32_t j, double place[3]) {
    px_rig_pose_place(&w->source, w->matches[j].joint, place);
    px_rotation_apply(w->bridge.world, place, place);
    for (int c = 0; c < 3; c++)
        place[c] = w->bridge.scale * place[c] + (c == w->bridge.up ? w->bridge.up_sign * w->lift : 0);
}

/* Rotation of a leader from its rest pose. The hips may be posed after joints that follow them. */
static px_rotation leader_turn(const work *w, uint32_t leader) {
    px_rotation rotation = leader == w->bridge.hips ? goal_rotation(w, leader) : w->rig.rotations[leader];
    return px_rotation_mul(rotation, px_rotation_inverse(w->rest.rotations[leader]));
}

/* Position of a joint that follows a leader which is not its ancestor. */
static void follow_place(const work *w, uint32_t j, uint32_t leader, double place[3]) {
    double from[3], offset[3];
    px_rig_pose_place(&w->rest, leader, from);
    px_rig_pose_place(&w->rest, j, offset);
    for (int c = 0; c < 3; c++)
        offset[c] -= from[c];
    px_rotation_apply(leader_turn(w, leader), offset, offset);
    if (leader == w->bridge.hips)
        goal_place(w, leader, place);
    else
        px_rig_pose_place(&w->rig, leader, place);
    for (int c = 0; c < 3; c++)
        place[c] += offset[c];
}

/* Position of a joint with the offset of its partner from the partner's rest position, in the parent's axes. */
static void offset_place(const work *w, uint32_t j, double place[3]) {
    const pelt_skeleton *skeleton = &w->rig.model->skeleton, *source = &w->source.model->skeleton;
    uint32_t partner = w->matches[j].joint;
    double moved[3];
    float rest[3], partner_rest[3];
    px_affine_point(&w->rig.globals[skeleton->parents[j]], skeleton->rest[j].translation, rest);
    px_affine_point(&w->source.globals[source->parents[partner]], source->rest[partner].translation, partner_rest);
    px_rig_pose_place(&w->source, partner, moved);
    for (int c = 0; c < 3; c++)
        moved[c] -= (double)partner_rest[c];
    px_rotation_apply(w->bridge.world, moved, moved);
    for (int c = 0; c < 3; c++)
        place[c] = (double)rest[c] + w->bridge.scale * moved[c];
}

/* Local translation of a joint that travels; unchanged if the parent is singular. */
static void travel(const work *w, uint32_t j, px_travel how, float translation[3]) {
    double place[3];
    if (how.kind == PX_TRAVEL_AS)
        goal_place(w, j, place);
    else if (how.kind == PX_TRAVEL_FOLLOW)
        follow_place(w, j, how.leader, place);
    else
        offset_place(w, j, place);
    uint32_t parent = w->rig.model->skeleton.parents[j];
    pelt_affine inverse = px_affine_identity();
    if (parent == PELT_NONE || px_affine_inverse(&w->rig.globals[parent], &inverse))
        px_affine_point(&inverse, (float[]){(float)place[0], (float)place[1], (float)place[2]}, translation);
}

static bool turns(const work *w, uint32_t j) {
    return w->matches[j].joint != PELT_NONE || w->bridge.travels[j].kind == PX_TRAVEL_FOLLOW;
}

/* Poses the joints of the rig by the pose of the source. */
static void pose_joints(work *w) {
    const pelt_skeleton *skeleton = &w->rig.model->skeleton;
    for (uint32_t j = 0; j < skeleton->joint_count; j++) {
        uint32_t parent = skeleton->parents[j];
        px_rotation above = parent == PELT_NONE ? px_rotation_identity() : w->rig.rotations[parent];
        px_travel how = w->bridge.travels[j];
        pelt_transform *local = &w->rig.locals[j];
        *local = skeleton->rest[j];
        if (turns(w, j)) {
            px_rotation goal = w->matches[j].joint != PELT_NONE
                                   ? goal_rotation(w, j)
                                   : px_rotation_mul(leader_turn(w, how.leader), w->rest.rotations[j]);
            px_rotation_store(px_rotation_mul(px_rotation_inverse(above), goal), local->rotation);
        }
        if (how.kind != PX_TRAVEL_NOT)
            travel(w, j, how, local->translation);
        pelt_affine matrix = px_affine_from_transform(local);
        w->rig.rotations[j] = px_rotation_mul(above, px_rotation_of(local->rotation));
        w->rig.globals[j] = parent == PELT_NONE ? matrix : px_affine_mul(&w->rig.globals[parent], &matrix);
    }
}

/* Poses the rig at frame k. Joints that follow one of a larger index need its position: a second pass. */
static void pose_frame(work *w, uint32_t k) {
    px_rig_pose_sample(&w->source, w->motion, (float)((double)w->motion->start + k / w->rate));
    pose_joints(w);
    if (w->bridge.late)
        pose_joints(w);
}

/* Height of the lowest matched joint in the pose of the rig. */
static double lowest(const work *w) {
    double low = INFINITY;
    for (uint32_t j = 0; j < w->rig.model->skeleton.joint_count; j++)
        if (w->matches[j].joint != PELT_NONE)
            low = px_fmin(low, w->bridge.up_sign * (double)w->rig.globals[j].m[4 * w->bridge.up + 3]);
    return low;
}

static int compare_heights(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Lifts the motion to the ground of the rig. The ground of the motion is the 10 % quantile of the height of the lowest joint:
 * captured feet sink below the ground in some frames. The rig is at rest on entry. */
static pelt_result find_lift(work *w, uint32_t frame_count, px_arena *arena) {
    double ground = lowest(w), *heights = PX_NEW(arena, double, frame_count);
    if (!heights)
        return PELT_ERROR_MEMORY;
    for (uint32_t k = 0; k < frame_count; k++) {
        PX_TRY(px_progress(w->context, "look", k, frame_count));
        pose_frame(w, k);
        heights[k] = lowest(w);
    }
    px_sort(heights, frame_count, sizeof *heights, compare_heights);
    double lift = ground - heights[frame_count / 10];
    w->lift = isfinite(lift) ? lift : 0;
    return PELT_OK;
}

static pelt_result make_frames(work *w, pelt_model *rig, uint32_t frame_count, px_arena *arena, px_frames *frames) {
    uint32_t count = rig->skeleton.joint_count;
    uint32_t step = (frame_count + PX_TEAR_FRAMES - 1) / PX_TEAR_FRAMES;
    uint8_t *moves = PX_NEW(arena, uint8_t, count);
    if (!moves)
        return PELT_ERROR_MEMORY;
    for (uint32_t j = 0; j < count; j++)
        moves[j] = (uint8_t)((turns(w, j) ? PX_MOVES_ROTATION : 0) |
                             (w->bridge.travels[j].kind != PX_TRAVEL_NOT ? PX_MOVES_TRANSLATION : 0));
    PX_TRY(px_frames_create(rig, moves, frame_count, frames));
    for (uint32_t k = 0; k < frame_count; k++) {
        PX_TRY(px_progress(w->context, "retarget", k, frame_count));
        pose_frame(w, k);
        if (k % step == 0)
            px_tear_measure(&w->tear, &w->rig, k);
        frames->times[k] = (float)(k / w->rate);
        for (uint32_t j = 0; j < count; j++) {
            if (frames->rotations[j])
                memcpy(frames->rotations[j] + (size_t)4 * k, w->rig.locals[j].rotation, 4 * sizeof(float));
            if (frames->translations[j])
                memcpy(frames->translations[j] + (size_t)3 * k, w->rig.locals[j].translation, 3 * sizeof(float));
        }
    }
    return PELT_OK;
}

/* ---- Entry points ----------------------------------------------------------------------------------------- */

static pelt_result check(const work *w, const pelt_model *source, uint32_t *matched) {
    *matched = 0;
    for (uint32_t j = 0; j < w->rig.model->skeleton.joint_count; j++) {
        if (w->matches[j].joint != PELT_NONE && w->matches[j].joint >= source->skeleton.joint_count)
            return px_fail(w->context, PELT_ERROR_USAGE, "retarget: joint %u has partner %u of %u", j,
                           w->matches[j].joint, source->skeleton.joint_count);
        *matched += w->matches[j].joint != PELT_NONE;
    }
    if (*matched == 0)
        return px_fail(w->context, PELT_ERROR_INPUT,
                       "no joint of the motion's skeleton has the name of a joint of the rig; name pairs of joints in "
                       "pelt_retarget_desc.map");
    return PELT_OK;
}

/* Adds the frames as a motion, with weights of the morphs that its poses drive. */
static pelt_result add_motion(const work *w, px_arena *arena, pelt_model *rig, const px_frames *frames,
                              const char *name, bool replace) {
    pelt_motion *motions = rig->motions;
    uint32_t motion_count = rig->motion_count;
    name = px_arena_text(rig->memory, name, strlen(name));
    if (!name)
        return PELT_ERROR_MEMORY;
    if (replace)
        rig->motion_count = 0;
    uint32_t made = rig->motion_count;
    pelt_result result = px_frames_add_motion(rig, frames, name);
    if (result == PELT_OK && made < rig->motion_count)
        result = px_motion_drive(w->context, arena, rig, 0, &rig->motions[made], &rig->motions[made]);
    if (result == PELT_OK) {
        rig->changed |= PELT_CHANGED_MOTIONS;
        return PELT_OK;
    }
    rig->motions = motions;
    rig->motion_count = motion_count;
    return result;
}

/* Removes the partners of nodes that only hold skinned meshes: bones place a skinned mesh, and some programs add the motion
 * of its node (Babylon). */
static pelt_result skip_mesh_nodes(work *w, const pelt_model *rig, px_arena *arena) {
    uint32_t count = rig->skeleton.joint_count;
    pelt_joint_match *matches = PX_NEW(arena, pelt_joint_match, count);
    bool *moves = PX_NEW(arena, bool, count); /* [joint] other joints or vertices */
    if (!matches || !moves)
        return PELT_ERROR_MEMORY;
    memset(moves, 0, count * sizeof *moves);
    for (uint32_t j = 0; j < count; j++) {
        matches[j] = w->matches[j];
        if (rig->skeleton.parents[j] != PELT_NONE)
            moves[rig->skeleton.parents[j]] = true;
    }
    for (uint32_t b = 0; b < rig->skin.bone_count; b++)
        moves[rig->skin.bone_joints[b]] = true;
    for (uint32_t p = 0; p < rig->mesh.part_count; p++) {
        const pelt_part *part = &rig->mesh.parts[p];
        if (part->skinned && part->joint != PELT_NONE && !moves[part->joint])
            matches[part->joint] = (pelt_joint_match){PELT_NONE, PELT_MATCH_NONE};
    }
    w->matches = matches;
    return PELT_OK;
}

static pelt_result run(work *w, const pelt_model *source, const pelt_retarget_desc *desc, pelt_model *rig,
                       px_arena *arena, pelt_retarget_report *report) {
    PX_TRY(px_rig_pose_create(arena, rig, &w->rig));
    PX_TRY(px_rig_pose_create(arena, rig, &w->rest));
    PX_TRY(px_rig_pose_create(arena, source, &w->source));
    PX_TRY(skip_mesh_nodes(w, rig, arena));
    PX_TRY(check(w, source, &report->matched));
    PX_TRY(px_motion_frames(w->context, w->motion, desc->fps, &w->rate, &report->frame_count));
    px_rig_pose_sample(&w->rest, NULL, 0);
    px_rig_pose_sample(&w->rig, NULL, 0);
    px_rig_pose_sample(&w->source, desc->rest == PELT_MOTION_REST_FIRST ? w->motion : NULL, w->motion->start);
    PX_TRY(px_bridge_find(arena, &w->rig, &w->source, w->matches, desc, &w->bridge));
    PX_TRY(px_bridge_travels(arena, &w->rig, &w->source, w->motion, &w->bridge));
    if (desc->ground == PELT_GROUND_FEET)
        PX_TRY(find_lift(w, report->frame_count, arena));
    PX_TRY(px_tear_create(arena, &w->rest, &w->tear));
    px_frames frames;
    PX_TRY(make_frames(w, rig, report->frame_count, arena, &frames));
    report->fps = w->rate;
    report->scale = w->bridge.scale;
    report->lift = w->lift;
    report->stretch = w->tear.growth;
    report->stretch_frame = w->tear.frame;
    report->torn = w->tear.growth > PX_TEAR;
    memcpy(report->stretch_joints, w->tear.joints, sizeof report->stretch_joints);
    PX_TRY(add_motion(w, arena, rig, &frames, desc->name ? desc->name : w->motion->name, desc->replace));
    px_tear_warn(&w->tear, w->context, &w->bridge);
    return PELT_OK;
}

pelt_result pelt_retarget(pelt_context *context, const pelt_model *source, const pelt_motion *motion,
                          const pelt_joint_match *matches, const pelt_retarget_desc *desc, pelt_model *rig,
                          pelt_retarget_report *report) {
    if (report)
        *report = (pelt_retarget_report){0};
    PX_TAKE_DESC(context, retarget, desc, settings);
    work w = {.context = context, .motion = motion, .matches = matches};
    pelt_retarget_report found = {0};
    px_arena *arena = px_arena_create(context);
    if (!arena)
        return PELT_ERROR_MEMORY;
    px_operation operation = px_operation_begin(rig);
    pelt_result result = px_operation_end(&operation, run(&w, source, &settings, rig, arena, &found));
    px_arena_destroy(arena);
    if (report && result == PELT_OK)
        *report = found;
    return result;
}
