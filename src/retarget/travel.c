/* Positions of joints. Most joints keep their offset from their parent, and the hips travel. Goals of inverse kinematics and
 * other joints outside of the limb that they belong to follow that limb. */
#include "core/frames.h"
#include "retarget/retarget.h"

#define COINCIDENT           1e-3 /* of the body's size: closer joints coincide */
#define OFFSET_TOLERANCE     0.25 /* of the longer of two offsets from parents, for nearly equal ones */
#define MIN_OFFSET_TOLERANCE 0.01 /* of the body's size: lower bound on that tolerance */
#define MIN_TRANSLATION      1e-4 /* of the body's size: a joint that moves less in its parent's axes keeps its offset */

typedef struct search {
    const px_rig_pose *rig, *source;
    const pelt_motion *motion;
    px_bridge *b;
    double size;       /* of the body: distance of the farthest matched joint from the hips */
    uint32_t *matched; /* [joint] matched joints at or below it */
    bool *loaded;      /* [joint] moves vertices, itself or by unmatched joints below it */
    uint32_t all;      /* number of matched joints */
    uint32_t top;      /* lowest common ancestor of all matched joints, or PELT_NONE */
    uint32_t *carrier; /* [joint] the leader that it follows, directly or through its parent; else PELT_NONE */
} search;

void px_weighted_joints(const pelt_model *model, bool *weighted) {
    const pelt_skin *skin = &model->skin;
    size_t count = skin->bone_count ? (size_t)model->mesh.vertex_count * skin->influence_count : 0;
    memset(weighted, 0, model->skeleton.joint_count * sizeof *weighted);
    for (size_t n = 0; n < count; n++)
        if (skin->weights[n] > 0)
            weighted[skin->bone_joints[skin->bones[n]]] = true;
}

/* Whether a joint is at or below another. */
static bool hangs_from(const pelt_skeleton *skeleton, uint32_t joint, uint32_t other) {
    while (joint != PELT_NONE && joint != other)
        joint = skeleton->parents[joint];
    return joint == other;
}

static double distance(const double a[3], const double b[3]) {
    return px_length3((double[]){a[0] - b[0], a[1] - b[1], a[2] - b[2]});
}

/* ---- Equal skeletons -------------------------------------------------------------------------------------- */

/* Whether the motion translates a joint of its skeleton in its parent's axes. */
static bool leaves_offset(const search *s, uint32_t joint, uint32_t parent) {
    const float *rest = s->source->model->skeleton.rest[joint].translation;
    double still = MIN_TRANSLATION * s->size / s->b->scale, at_rest[3];
    px_rig_pose_place(s->source, joint, at_rest);
    for (uint32_t t = 0; t < s->motion->track_count; t++) {
        const pelt_track *track = &s->motion->tracks[t];
        for (uint32_t k = 0; track->joint == joint && track->path == PELT_PATH_TRANSLATION && k < track->key_count;
             k++) {
            float value[3], place[3];
            px_track_sample(track, track->times[k], false, value, NULL);
            px_affine_point(&s->source->globals[parent], value, place);
            if (memcmp(value, rest, sizeof value) != 0 &&
                distance((double[]){place[0], place[1], place[2]}, at_rest) > still)
                return true;
        }
    }
    return false;
}

/* Whether joint and partner have equal names, matched parents at nearly equal offsets, and the motion translates the
 * partner. */
static bool keeps_offsets(const search *s, uint32_t joint) {
    uint32_t partner = s->b->matches[joint].joint, parent = s->rig->model->skeleton.parents[joint];
    uint32_t other = s->source->model->skeleton.parents[partner];
    if (parent == PELT_NONE || other == PELT_NONE || s->b->matches[parent].joint != other ||
        strcmp(s->rig->model->skeleton.names[joint], s->source->model->skeleton.names[partner]) != 0)
        return false;
    double mine[2][3], theirs[2][3], zero[3] = {0};
    px_rig_pose_place(s->rig, parent, mine[0]);
    px_rig_pose_place(s->rig, joint, mine[1]);
    px_rig_pose_place(s->source, other, theirs[0]);
    px_rig_pose_place(s->source, partner, theirs[1]);
    for (int c = 0; c < 3; c++) {
        mine[1][c] -= mine[0][c];
        theirs[1][c] = s->b->scale * (theirs[1][c] - theirs[0][c]);
    }
    px_rotation_apply(s->b->world, theirs[1], theirs[1]);
    double longer = px_fmax(distance(mine[1], zero), distance(theirs[1], zero));
    return distance(mine[1], theirs[1]) <= OFFSET_TOLERANCE * longer + MIN_OFFSET_TOLERANCE * s->size &&
           leaves_offset(s, partner, other);
}

/* ---- Leaders ---------------------------------------------------------------------------------------------- */

/* The joint before this one in its limb ("shin" of "foot"), if it is not its ancestor; else PELT_NONE. */
static uint32_t limb_leader(const search *s, uint32_t joint) {
    const px_joint_name *name = &s->b->names[joint];
    bool follows = (name->body >= PX_BODY_FOREARM && name->body <= PX_BODY_HAND) ||
                   (name->body >= PX_BODY_SHIN && name->body <= PX_BODY_TOE);
    uint32_t leader = follows ? px_bridge_part(s->b, s->rig, name->body - 1, name->side) : PELT_NONE;
    if (leader == PELT_NONE || hangs_from(&s->rig->model->skeleton, joint, leader) ||
        hangs_from(&s->rig->model->skeleton, leader, joint))
        return PELT_NONE;
    return leader;
}

/* The joint of a limb that coincides with this unmatched joint and is moved by others. */
static uint32_t twin_leader(const search *s, uint32_t joint) {
    for (uint32_t m = 0; m < s->rig->model->skeleton.joint_count; m++)
        if (s->b->matches[m].joint != PELT_NONE && s->b->names[m].body >= PX_BODY_UPPER_ARM &&
            s->b->above[m] != s->b->above[joint] && px_joint_distance(s->rig, m, joint) <= COINCIDENT * s->size &&
            !hangs_from(&s->rig->model->skeleton, joint, m))
            return m;
    return PELT_NONE;
}

static px_travel travel_of(const search *s, uint32_t j) {
    const px_bridge *b = s->b;
    uint32_t leader;
    if (b->matches[j].joint != PELT_NONE) {
        if (j == b->hips || (b->above[j] == PELT_NONE && hangs_from(&s->rig->model->skeleton, b->hips, j)))
            return (px_travel){PX_TRAVEL_AS, PELT_NONE};
        if (keeps_offsets(s, j))
            return (px_travel){PX_TRAVEL_OFFSET, PELT_NONE};
        leader = limb_leader(s, j);
        leader = leader == PELT_NONE && b->above[j] == PELT_NONE ? b->hips : leader;
    } else {
        uint32_t parent = s->rig->model->skeleton.parents[j],
                 carrier = parent == PELT_NONE ? PELT_NONE : s->carrier[parent];
        bool left_behind = b->above[j] == PELT_NONE && s->matched[j] && (j == s->top || s->matched[j] < s->all);
        leader = !s->loaded[j] ? PELT_NONE : s->matched[j] == 0 ? twin_leader(s, j) : left_behind ? b->hips : PELT_NONE;
        leader = leader == carrier ? PELT_NONE : leader;
    }
    return (px_travel){leader == PELT_NONE ? PX_TRAVEL_NOT : PX_TRAVEL_FOLLOW, leader};
}

/* ---- Entry points ----------------------------------------------------------------------------------------- */

static void measure(search *s) {
    const pelt_skeleton *skeleton = &s->rig->model->skeleton;
    s->top = PELT_NONE;
    for (uint32_t j = skeleton->joint_count; j-- > 0;) {
        uint32_t parent = skeleton->parents[j];
        if (s->b->matches[j].joint != PELT_NONE) {
            s->matched[j]++;
            s->all++;
            s->size = px_fmax(s->size, px_joint_distance(s->rig, j, s->b->hips));
        }
        if (parent == PELT_NONE)
            continue;
        s->matched[parent] += s->matched[j];
        s->loaded[parent] |= s->loaded[j] && s->matched[j] == 0;
    }
    for (uint32_t j = 0; j < skeleton->joint_count; j++)
        s->top = s->matched[j] == s->all ? j : s->top;
}

pelt_result px_bridge_travels(px_arena *arena, const px_rig_pose *rig, const px_rig_pose *source,
                              const pelt_motion *motion, px_bridge *b) {
    uint32_t count = rig->model->skeleton.joint_count;
    search s = {.rig = rig,
                .source = source,
                .motion = motion,
                .b = b,
                .matched = PX_NEW(arena, uint32_t, count),
                .loaded = PX_NEW(arena, bool, count),
                .carrier = PX_NEW(arena, uint32_t, count)};
    b->travels = PX_NEW(arena, px_travel, count);
    if (!s.matched || !s.loaded || !s.carrier || !b->travels)
        return PELT_ERROR_MEMORY;
    px_weighted_joints(rig->model, s.loaded);
    measure(&s);
    for (uint32_t j = 0; j < count; j++) {
        uint32_t parent = rig->model->skeleton.parents[j];
        px_travel *travel = &b->travels[j];
        *travel = travel_of(&s, j);
        bool carried = b->matches[j].joint == PELT_NONE && parent != PELT_NONE;
        s.carrier[j] = travel->kind == PX_TRAVEL_FOLLOW ? travel->leader : carried ? s.carrier[parent] : PELT_NONE;
        b->late |= travel->kind == PX_TRAVEL_FOLLOW && travel->leader != b->hips && travel->leader > j;
    }
    return PELT_OK;
}
