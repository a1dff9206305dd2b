/* Joints and bones of the result of a transfer: either those of `to`, matched by name, or those of `from`, copied. */
#include "core/math3.h"
#include "weights/transfer.h"

#define MAX_BONES 65535u

/* ---- Matching names --------------------------------------------------------------------------------------- */

/* The joint with this name; of several, the first with bones is preferred (`bones` NULL: the first). Else PELT_NONE. */
static uint32_t find_namesake(const pelt_skeleton *skeleton, const char *name, const px_joint_bones *bones) {
    size_t length = strlen(name);
    uint32_t first = length ? px_joint_named(skeleton, name, length, 0) : PELT_NONE;
    for (uint32_t j = first; bones && j != PELT_NONE; j = px_joint_named(skeleton, name, length, j + 1))
        if (bones->offsets[j] < bones->offsets[j + 1])
            return j;
    return first;
}

static bool is_skinned(const pelt_model *model) {
    for (uint32_t p = 0; p < model->mesh.part_count; p++)
        if (model->mesh.parts[p].skinned && model->skin.bone_count > 0)
            return true;
    return false;
}

bool px_carry_keeps(const pelt_model *from, const pelt_model *to, uint32_t wish) {
    if (wish != PELT_SKELETON_AUTO)
        return wish == PELT_SKELETON_TO;
    uint32_t found = 0;
    for (uint32_t b = 0; b < from->skin.bone_count; b++) {
        const char *name = from->skeleton.names[from->skin.bone_joints[b]];
        found += find_namesake(&to->skeleton, name, NULL) != PELT_NONE;
    }
    return found > 0 && (is_skinned(to) || found >= from->skin.bone_count / 2);
}

/* ---- The joints of `to` ----------------------------------------------------------------------------------- */

static void mark_used(const pelt_model *model, bool *used) {
    const pelt_skin *skin = &model->skin;
    for (size_t e = 0; e < (size_t)model->mesh.vertex_count * skin->influence_count; e++)
        used[skin->bones[e]] |= skin->weights[e] > 0;
}

/* Maps joints of `from` to joints of `to`: by name, else as their nearest ancestor is mapped. */
static void match_joints(const pelt_model *from, const pelt_model *to, const px_joint_bones *bones, uint32_t *matches,
                         bool *named) {
    for (uint32_t j = 0; j < from->skeleton.joint_count; j++) {
        uint32_t parent = from->skeleton.parents[j];
        matches[j] = find_namesake(&to->skeleton, from->skeleton.names[j], bones);
        named[j] = matches[j] != PELT_NONE;
        if (!named[j] && parent != PELT_NONE)
            matches[j] = matches[parent];
    }
}

/* The inverse bind matrix of a new bone for a joint without one: bound in the rest pose. */
static pelt_affine new_inverse_bind(const px_joint_bones *bones, uint32_t joint) {
    pelt_affine inverse = px_affine_identity(), palette = px_joint_palette(bones, joint);
    px_affine_inverse(&bones->globals[joint], &inverse);
    return px_affine_mul(&inverse, &palette);
}

static pelt_result list_lost(px_carried *c, const pelt_model *from, pelt_model *to, const bool *used,
                             const bool *named) {
    c->lost = PX_NEW_LASTING(to->memory, uint32_t, from->skeleton.joint_count);
    if (!c->lost)
        return PELT_ERROR_MEMORY;
    for (uint32_t b = 0; b < from->skin.bone_count; b++) {
        uint32_t joint = from->skin.bone_joints[b], n = 0;
        while (n < c->lost_count && c->lost[n] != joint)
            n++;
        if (used[b] && !named[joint] && n == c->lost_count)
            c->lost[c->lost_count++] = joint;
    }
    return PELT_OK;
}

/* The bones of `to`, followed by new bones for matched joints that have none. */
static pelt_result extend_bones(px_carried *c, const pelt_model *from, pelt_model *to, const px_joint_bones *bones,
                                const uint32_t *matches, const bool *used) {
    pelt_skin *skin = &c->skin;
    size_t most = (size_t)to->skin.bone_count + from->skin.bone_count;
    *skin = (pelt_skin){.bone_count = to->skin.bone_count,
                        .bone_joints = PX_NEW(to->memory, uint32_t, most),
                        .inverse_binds = PX_NEW(to->memory, pelt_affine, most)};
    if (!skin->bone_joints || !skin->inverse_binds)
        return PELT_ERROR_MEMORY;
    for (uint32_t b = 0; b < skin->bone_count; b++) {
        skin->bone_joints[b] = to->skin.bone_joints[b];
        skin->inverse_binds[b] = to->skin.inverse_binds[b];
    }
    for (uint32_t b = 0; b < from->skin.bone_count; b++) {
        uint32_t joint = used[b] ? matches[from->skin.bone_joints[b]] : PELT_NONE, at = to->skin.bone_count;
        c->bones[b] = PELT_NONE;
        if (joint == PELT_NONE)
            continue;
        if (bones->offsets[joint] < bones->offsets[joint + 1]) {
            c->bones[b] = bones->items[bones->offsets[joint]];
            continue;
        }
        while (at < skin->bone_count && skin->bone_joints[at] != joint)
            at++;
        if (at == skin->bone_count) {
            skin->bone_joints[at] = joint;
            skin->inverse_binds[at] = new_inverse_bind(bones, joint);
            skin->bone_count++;
        }
        c->bones[b] = at;
    }
    return PELT_OK;
}

static pelt_result carry_onto(px_arena *arena, const pelt_model *from, pelt_model *to, px_carried *c) {
    pelt_context *context = px_arena_context(arena);
    px_joint_bones bones;
    PX_TRY(px_joint_bones_make(arena, to, &bones));
    uint32_t *matches = PX_NEW(arena, uint32_t, from->skeleton.joint_count), found = 0;
    bool *named = PX_NEW(arena, bool, from->skeleton.joint_count), *used = PX_NEW(arena, bool, from->skin.bone_count);
    if (!matches || !named || !used)
        return PELT_ERROR_MEMORY;
    mark_used(from, used);
    match_joints(from, to, &bones, matches, named);
    for (uint32_t b = 0; b < from->skin.bone_count; b++)
        found += used[b] && matches[from->skin.bone_joints[b]] != PELT_NONE;
    if (found == 0)
        return px_fail(context, PELT_ERROR_INPUT, "%s: none of its joints has the name of one of the weights to take",
                       to->path);
    PX_TRY(list_lost(c, from, to, used, named));
    PX_TRY(extend_bones(c, from, to, &bones, matches, used));
    if (c->skin.bone_count > MAX_BONES)
        return px_fail(context, PELT_ERROR_UNSUPPORTED, "%s: would have %u bones; at most %u can be used", to->path,
                       c->skin.bone_count, MAX_BONES);
    if (is_skinned(to) && !(c->frozen = PX_NEW(arena, uint8_t, to->mesh.vertex_count)))
        return PELT_ERROR_MEMORY;
    for (uint32_t p = 0; c->frozen && p < to->mesh.part_count; p++)
        if (!to->mesh.parts[p].skinned && to->mesh.parts[p].joint != PELT_NONE)
            px_mark_part(&to->mesh, &to->mesh.parts[p], c->frozen);
    return PELT_OK;
}

/* ---- The joints of `from` --------------------------------------------------------------------------------- */

static pelt_result carry_along(px_arena *arena, const pelt_model *from, pelt_model *to, bool posed, px_carried *c) {
    px_joint_bones bones;
    uint32_t count = from->skin.bone_count;
    PX_TRY(px_joint_bones_make(arena, from, &bones));
    PX_TRY(px_rig_join(to->memory, to, from, &c->joined));
    c->skin = (pelt_skin){.bone_count = count,
                          .bone_joints = PX_NEW(to->memory, uint32_t, count),
                          .inverse_binds = PX_NEW(to->memory, pelt_affine, count)};
    if (!c->skin.bone_joints || !c->skin.inverse_binds)
        return PELT_ERROR_MEMORY;
    for (uint32_t b = 0; b < count; b++) {
        uint32_t joint = from->skin.bone_joints[b];
        c->bones[b] = b;
        c->skin.bone_joints[b] = c->joined.joints[joint];
        c->skin.inverse_binds[b] = from->skin.inverse_binds[b];
        if (posed) /* bind at rest; if the global transform is singular, keep the matrix */
            px_affine_inverse(&bones.globals[joint], &c->skin.inverse_binds[b]);
    }
    return PELT_OK;
}

pelt_result px_carry(px_arena *arena, const pelt_model *from, pelt_model *to, bool own, bool posed, px_carried *out) {
    *out = (px_carried){.own = own, .bones = PX_NEW(arena, uint32_t, from->skin.bone_count)};
    if (!out->bones)
        return PELT_ERROR_MEMORY;
    return own ? carry_onto(arena, from, to, out) : carry_along(arena, from, to, posed, out);
}

/* ---- Into the model --------------------------------------------------------------------------------------- */

/* If a joint has several bones (several skins), selects for each vertex the bone of the skin it belonged to. */
static pelt_result choose_bones(px_arena *arena, const pelt_model *to, const px_carried *c, pelt_skin *skin) {
    px_joint_bones bones;
    PX_TRY(px_joint_bones_make(arena, to, &bones));
    for (size_t i = 0; i < to->mesh.vertex_count; i++) {
        const pelt_affine *old = &bones.palette[to->skin.bones[i * to->skin.influence_count]];
        for (size_t e = i * skin->influence_count; e < (i + 1) * skin->influence_count; e++) {
            uint32_t joint = skin->bone_joints[skin->bones[e]];
            bool several = bones.offsets[joint] + 1 < bones.offsets[joint + 1];
            if (several && skin->weights[e] > 0 && !(c->frozen && c->frozen[i]))
                skin->bones[e] = (uint16_t)px_bone_like(&bones, joint, old);
        }
    }
    return PELT_OK;
}

pelt_result px_carry_finish(px_arena *arena, const px_carried *c, const px_weight_table *table, uint32_t influences,
                            pelt_model *to) {
    pelt_skin skin = c->skin;
    PX_TRY(px_weight_table_spread(table, to, &to->mesh.weld, c->frozen, influences, &skin));
    if (c->own && to->skin.bone_count > 0)
        PX_TRY(choose_bones(arena, to, c, &skin));
    for (uint32_t p = 0; p < to->mesh.part_count; p++)
        to->mesh.parts[p].skinned |= !c->frozen || to->mesh.parts[p].joint == PELT_NONE;
    to->skin = skin;
    to->changed |= PELT_CHANGED_SKIN;
    if (c->own)
        return PELT_OK;
    to->skeleton = c->joined.skeleton;
    to->motions = c->joined.motions;
    to->motion_count = c->joined.motion_count;
    to->changed |= PELT_CHANGED_SKELETON | PELT_CHANGED_MOTIONS;
    return PELT_OK;
}
