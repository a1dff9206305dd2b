/* Keeps the rig's skeleton and motions and appends joints and tracks for the bones that are not locked. */
#include "core/math3.h"
#include "decompose/host.h"
#include "decompose/kinds.h"

/* Mapping from `built`, a flat skeleton with all bones of the fit, to the result. */
typedef struct keeping {
    const px_given *given;
    const px_fit *fit;
    const px_hosts *hosts;
    px_arena *memory; /* the model's arena */
    px_built *built;
    uint32_t *joints;  /* [joint of built] index in the result; PELT_NONE: not needed */
    uint32_t *carried; /* [joint of built] the bone with a host whose outer joint it is; otherwise PELT_NONE */
} keeping;

/* Numbers the new joints after those of the rig. Returns the total number of joints. */
static uint32_t number_joints(keeping *k, uint32_t nodes_a_bone) {
    uint32_t count = k->given->rig->skeleton.joint_count;
    memset(k->joints, 0xFF, k->built->skeleton.joint_count * sizeof *k->joints);
    memset(k->carried, 0xFF, k->built->skeleton.joint_count * sizeof *k->carried);
    for (uint32_t bone = 0; bone < k->fit->bone_count; bone++) {
        if (k->fit->lock_motions[bone])
            continue;
        uint32_t joint = k->built->skin.bone_joints[bone];
        if (k->hosts->bones[bone] != PELT_NONE)
            k->carried[joint + 1 - nodes_a_bone] = bone;
        else if (k->joints[0] == PELT_NONE)
            k->joints[0] = count++; /* the root of bones without a host */
        for (uint32_t node = joint + 1 - nodes_a_bone; node <= joint; node++)
            k->joints[node] = count++;
    }
    return count;
}

/* Inverse bind matrix of a bone's host. */
static px_similarity host_bind(const keeping *k, uint32_t bone) {
    px_similarity s;
    px_host_bind(&k->given->rig->skin.inverse_binds[k->hosts->bones[bone]], &s);
    return s;
}

/* From the space of the rest pose to that of the host's joint. The scale between them goes into the bone's own inverse
 * bind matrix, so that joints rest with scale 1. */
static void move_translation(const px_similarity *s, const float from[3], float to[3]) {
    double p[3] = {(double)from[0], (double)from[1], (double)from[2]}, out[3];
    px_similarity_map(s, p, out);
    for (int c = 0; c < 3; c++)
        to[c] = (float)out[c];
}

static void move_rotation(const px_similarity *s, const float from[4], float to[4]) {
    memcpy(to, from, 4 * sizeof *to);
    px_similarity_turn(s, to);
}

static pelt_result keep_skeleton(keeping *k, uint32_t joint_count) {
    const pelt_skeleton *rig = &k->given->rig->skeleton, *built = &k->built->skeleton;
    pelt_skeleton s = {.joint_count = joint_count,
                       .names = PX_NEW(k->memory, const char *, joint_count),
                       .parents = PX_NEW(k->memory, uint32_t, joint_count),
                       .rest = PX_NEW(k->memory, pelt_transform, joint_count)};
    if (!s.names || !s.parents || !s.rest)
        return PELT_ERROR_MEMORY;
    memcpy(s.parents, rig->parents, rig->joint_count * sizeof *s.parents);
    memcpy(s.rest, rig->rest, rig->joint_count * sizeof *s.rest);
    for (uint32_t j = 0; j < rig->joint_count; j++)
        if (!(s.names[j] = px_arena_text(k->memory, rig->names[j], strlen(rig->names[j]))))
            return PELT_ERROR_MEMORY;
    for (uint32_t j = 0; j < built->joint_count; j++) {
        uint32_t to = k->joints[j];
        if (to == PELT_NONE)
            continue;
        s.names[to] = built->names[j];
        s.rest[to] = built->rest[j];
        s.parents[to] = built->parents[j] == PELT_NONE ? PELT_NONE : k->joints[built->parents[j]];
        if (k->carried[j] == PELT_NONE)
            continue;
        px_similarity bind = host_bind(k, k->carried[j]);
        s.parents[to] = k->given->rig->skin.bone_joints[k->hosts->bones[k->carried[j]]];
        move_translation(&bind, built->rest[j].translation, s.rest[to].translation);
        move_rotation(&bind, built->rest[j].rotation, s.rest[to].rotation);
    }
    k->built->skeleton = s;
    return PELT_OK;
}

static void keep_bones(keeping *k) {
    const pelt_skin *rig = &k->given->rig->skin;
    pelt_skin *skin = &k->built->skin;
    for (uint32_t bone = 0; bone < skin->bone_count; bone++) {
        bool locked = k->fit->lock_motions[bone];
        skin->bone_joints[bone] = locked ? rig->bone_joints[bone] : k->joints[skin->bone_joints[bone]];
        if (locked)
            skin->inverse_binds[bone] = rig->inverse_binds[bone];
        else if (k->hosts->bones[bone] != PELT_NONE) {
            px_similarity bind = host_bind(k, bone);
            for (int e = 0; e < 12; e++)
                skin->inverse_binds[bone].m[e] = (float)(bind.scale * (double)skin->inverse_binds[bone].m[e]);
        }
    }
}

/* Copies the rig's tracks bit for bit. Tracks of morph weights are dropped with the morph targets: the clips contain
 * their effect. */
static pelt_result keep_tracks(keeping *k, const pelt_motion *from, pelt_motion *to) {
    for (uint32_t t = 0; t < from->track_count; t++) {
        pelt_track track = from->tracks[t];
        if (track.path == PELT_PATH_WEIGHTS && !k->given->keeps_morphs)
            continue;
        PX_TRY(px_track_copy(k->memory, &track));
        to->tracks[to->track_count++] = track;
    }
    return PELT_OK;
}

/* Converts a track of a joint below a host to the host's space. Scales do not change. */
static pelt_result move_track(const keeping *k, uint32_t bone, pelt_track *track) {
    bool turns = track->path == PELT_PATH_ROTATION;
    if (!turns && track->path != PELT_PATH_TRANSLATION)
        return PELT_OK;
    px_similarity bind = host_bind(k, bone);
    float *values = PX_NEW(k->memory, float, px_mul_size(track->key_count, track->width));
    if (!values)
        return PELT_ERROR_MEMORY;
    for (size_t key = 0; key < track->key_count; key++)
        (turns ? move_rotation : move_translation)(&bind, track->values + key * track->width,
                                                   values + key * track->width);
    track->values = values;
    return PELT_OK;
}

static pelt_result add_tracks(const keeping *k, const pelt_motion *built, pelt_motion *to) {
    for (uint32_t t = 0; t < built->track_count; t++) {
        pelt_track track = built->tracks[t];
        uint32_t bone = k->carried[track.joint];
        track.joint = k->joints[track.joint];
        if (track.joint == PELT_NONE)
            continue;
        if (bone != PELT_NONE)
            PX_TRY(move_track(k, bone, &track));
        float first = track.times[0], last = track.times[track.key_count - 1];
        to->start = first < to->start ? first : to->start;
        to->end = last > to->end ? last : to->end;
        to->tracks[to->track_count++] = track;
    }
    return PELT_OK;
}

/* Copies all motions of the rig; those that belong to a clip get the new tracks too. */
static pelt_result keep_motions(keeping *k, uint32_t clip_count) {
    const pelt_model *rig = k->given->rig;
    pelt_motion *motions = PX_NEW(k->memory, pelt_motion, rig->motion_count);
    if (!motions)
        return PELT_ERROR_MEMORY;
    uint32_t others = 0;
    for (uint32_t m = 0; m < rig->motion_count; m++) {
        const pelt_motion *from = &rig->motions[m], *built = NULL;
        for (uint32_t c = 0; c < clip_count && !built; c++)
            built = k->given->motions[c] == m ? &k->built->motions[c] : NULL;
        pelt_motion *to = &motions[m];
        to->name = px_arena_text(k->memory, from->name, strlen(from->name));
        to->start = from->start;
        to->end = from->end;
        to->tracks = PX_NEW(k->memory, pelt_track, (size_t)from->track_count + (built ? built->track_count : 0));
        if (!to->name || !to->tracks)
            return PELT_ERROR_MEMORY;
        PX_TRY(keep_tracks(k, from, to));
        others += !built;
        if (built)
            PX_TRY(add_tracks(k, built, to));
        else if (k->joints[0] != PELT_NONE)
            px_log(k->fit->context, PELT_LOG_WARNING, "motion '%s' has no clip: bones that are not locked rest in it",
                   to->name);
    }
    if (others > 0 && k->joints[0] == PELT_NONE && k->fit->bone_count > k->given->bone_count)
        px_log(k->fit->context, PELT_LOG_WARNING,
               "%u of %u motions have no clip: in them helper bones follow the bones that they hang from", others,
               rig->motion_count);
    k->built->motions = motions;
    k->built->motion_count = rig->motion_count;
    return PELT_OK;
}

pelt_result px_given_keep(const px_given *given, const px_fit *fit, const px_hosts *hosts, const pelt_model *model,
                          px_built *built) {
    uint32_t nodes_a_bone = fit->kind->nested ? 2 : 1, clip_count = built->motion_count;
    keeping k = {.given = given, .fit = fit, .hosts = hosts, .memory = model->memory, .built = built};
    k.joints = PX_NEW(fit->arena, uint32_t, built->skeleton.joint_count);
    k.carried = PX_NEW(fit->arena, uint32_t, built->skeleton.joint_count);
    if (!k.joints || !k.carried)
        return PELT_ERROR_MEMORY;
    uint32_t joint_count = number_joints(&k, nodes_a_bone);
    PX_TRY(keep_motions(&k, clip_count));
    PX_TRY(keep_skeleton(&k, joint_count));
    keep_bones(&k);
    built->keeps_joints = given->rig == model;
    bool same = given->rig == model && joint_count == model->skeleton.joint_count &&
                (given->keeps_morphs || model->morphs.morph_count == 0);
    if (same)
        built->changed &= ~(uint32_t)(PELT_CHANGED_SKELETON | PELT_CHANGED_MOTIONS | PELT_CHANGED_MORPHS);
    return PELT_OK;
}
