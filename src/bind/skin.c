/* Stores rows of weights as the model's skin. Existing bones stay; if a joint lacks a bone for a space of the mesh, a
 * bone is added whose bind matrix makes it the identity in the bind pose. A skeleton of another model is appended to
 * the model's own nodes. */
#include "bind/apply.h"
#include "bind/fit.h"
#include "core/math3.h"

#define MAX_BONES 65535u
#define ROW_BLOCK 4096u

/* Previous skin and new arrays of the model, kept while the binding exists: applying again reuses the same arrays. */
typedef struct px_bind_output {
    pelt_skin before;
    bool fresh;           /* no data of the previous skin is needed */
    px_joined_rig joined; /* model with the skeleton of another model appended */
    pelt_transform *rest; /* fitted rest pose of the model's own skeleton */
    pelt_motion *motions; /* fitted motions of the same */
    uint32_t capacity;    /* influences per vertex that bones and weights can hold */
    uint16_t *bones;
    float *weights;
    uint32_t bone_capacity;
    uint32_t *bone_joints;
    pelt_affine *inverse_binds;
} px_bind_output;

typedef struct putter {
    pelt_binding *binding;
    const px_bind_subject *s;
    px_arena *arena;
    const px_weight_table *table;
    px_bind_output *out;
    uint32_t influences;
    uint32_t bone_count;
    uint32_t *bones; /* [space][joint of the rig] bone, or PELT_NONE */
    uint8_t *wanted; /* [space][joint of the rig] 1: a bone is needed */
    uint8_t *marks;  /* [block][space][joint of the rig] 1: the joint has weights */
    bool grown;      /* arrays of the model were allocated */
} putter;

/* ---- First call ------------------------------------------------------------------------------------------------ */

static pelt_result make_output(putter *p) {
    const px_bind_subject *s = p->s;
    pelt_model *model = s->model;
    bool skinned = false, kept = false;
    if ((p->out = p->binding->output))
        return PELT_OK;
    px_bind_output *out = PX_NEW(p->binding->arena, px_bind_output, 1);
    if (!out)
        return PELT_ERROR_MEMORY;
    for (uint32_t n = 0; n < model->mesh.part_count; n++)
        skinned |= model->mesh.parts[n].skinned;
    for (uint32_t i = 0; i < model->mesh.vertex_count; i++)
        kept |= s->classes.of[i] == PELT_NONE;
    out->before = model->skin;
    out->fresh = !kept && !(skinned && s->rig == model);
    if (out->fresh)
        out->before = (pelt_skin){0};
    if (s->rig != model)
        PX_TRY(px_rig_join(model->memory, model, s->rig, &out->joined));
    else if (p->binding->report.fit.changes)
        PX_TRY(px_bind_fit_rig(model->memory, &p->binding->report.fit, p->binding->pose, s, &out->rest, &out->motions));
    p->out = p->binding->output = out;
    p->grown = true;
    return PELT_OK;
}

/* ---- Bones ----------------------------------------------------------------------------------------------------- */

/* Marks the joints with weights in a block of rows. */
static pelt_result use_block(void *user, size_t first, size_t count, size_t block) {
    const putter *p = user;
    const px_bind_subject *s = p->s;
    size_t joint_count = s->rig->skeleton.joint_count;
    uint8_t *marks = p->marks + block * s->space_count * joint_count;
    for (size_t row = first; row < first + count; row++) {
        uint8_t *used = marks + s->vertex_spaces[pelt_class_vertex(&s->classes, row)] * joint_count;
        for (size_t e = row * p->table->capacity; e < (row + 1) * p->table->capacity && p->table->weights[e] > 0; e++)
            used[p->table->bones[e]] = 1;
    }
    return PELT_OK;
}

static pelt_result find_used(putter *p, uint8_t *used) {
    size_t pairs = (size_t)p->s->space_count * p->s->rig->skeleton.joint_count;
    size_t blocks = px_block_count(p->table->row_count, ROW_BLOCK);
    if (!(p->marks = PX_NEW(p->arena, uint8_t, px_mul_size(blocks, pairs))))
        return PELT_ERROR_MEMORY;
    PX_TRY(px_parallel(p->binding->context, NULL, p->table->row_count, ROW_BLOCK, use_block, p));
    for (size_t n = 0; n < blocks * pairs; n++)
        used[n % pairs] |= p->marks[n];
    return PELT_OK;
}

/* Marks joints with weights; in a new skin, all targets of the spaces in use. */
static void find_wanted(putter *p, const uint8_t *used) {
    const px_bind_subject *s = p->s;
    size_t joint_count = s->rig->skeleton.joint_count;
    memcpy(p->wanted, used, s->space_count * joint_count);
    for (uint32_t n = 0; n < s->space_count && p->out->fresh; n++) {
        uint8_t *wanted = p->wanted + n * joint_count;
        for (uint32_t t = 0; memchr(wanted, 1, joint_count) && t < s->target_count; t++)
            wanted[s->targets[t]] = 1;
    }
}

static uint32_t joint_number(const putter *p, size_t joint) {
    return p->s->rig == p->s->model ? (uint32_t)joint : p->out->joined.joints[joint];
}

static pelt_result reserve_bones(putter *p) {
    px_bind_output *out = p->out;
    if (p->bone_count > MAX_BONES)
        return px_fail(p->binding->context, PELT_ERROR_UNSUPPORTED,
                       "the skin would have %u bones; at most %u can be used", p->bone_count, MAX_BONES);
    if (p->bone_count <= out->bone_capacity)
        return PELT_OK;
    uint32_t *joints = PX_NEW(p->s->model->memory, uint32_t, p->bone_count);
    pelt_affine *binds = PX_NEW(p->s->model->memory, pelt_affine, p->bone_count);
    if (!joints || !binds)
        return PELT_ERROR_MEMORY;
    out->bone_joints = joints;
    out->inverse_binds = binds;
    out->bone_capacity = p->bone_count;
    p->grown = true;
    return PELT_OK;
}

/* Assigns bone indices; new bones follow the existing ones. */
static pelt_result plan_bones(putter *p, const uint8_t *used) {
    const px_bind_subject *s = p->s;
    size_t joint_count = s->rig->skeleton.joint_count, pairs = px_mul_size(s->space_count, joint_count);
    bool own = s->rig == s->model && !p->out->fresh;
    p->bones = PX_NEW(p->arena, uint32_t, pairs);
    p->wanted = PX_NEW(p->arena, uint8_t, pairs);
    if (!p->bones || !p->wanted)
        return PELT_ERROR_MEMORY;
    find_wanted(p, used);
    p->bone_count = p->out->before.bone_count;
    for (size_t n = 0; n < pairs; n++) {
        p->bones[n] = own ? s->space_bones[n] : PELT_NONE;
        if (!p->wanted[n] || p->bones[n] != PELT_NONE)
            continue;
        if (joint_number(p, n % joint_count) == PELT_NONE)
            return px_fail(p->binding->context, PELT_ERROR_USAGE,
                           "joint \"%s\" only shows a mesh of the skeleton's file; nothing can follow it",
                           s->rig->skeleton.names[n % joint_count]);
        p->bones[n] = p->bone_count++;
    }
    return reserve_bones(p);
}

static void put_bones(const putter *p) {
    const px_bind_subject *s = p->s;
    const pelt_skin *before = &p->out->before;
    size_t joint_count = s->rig->skeleton.joint_count;
    for (uint32_t b = 0; b < before->bone_count; b++) {
        p->out->bone_joints[b] = before->bone_joints[b];
        p->out->inverse_binds[b] = before->inverse_binds[b];
    }
    for (size_t n = 0; n < s->space_count * joint_count; n++) {
        uint32_t bone = p->bones[n], joint = (uint32_t)(n % joint_count);
        if (bone == PELT_NONE || (bone < before->bone_count && !p->binding->report.fit.changes))
            continue;
        pelt_affine inverse = px_affine_identity(); /* stays if the joint is singular (zero scale): it moves nothing
                                                     * visible */
        px_affine_inverse(&s->joints[joint], &inverse);
        p->out->bone_joints[bone] = joint_number(p, joint);
        p->out->inverse_binds[bone] = px_affine_mul(&inverse, &s->spaces[n / joint_count]);
    }
}

/* ---- Vertices -------------------------------------------------------------------------------------------------- */

/* Influences per vertex: vertices that keep their weights may need more than desc.influences. */
static void count_influences(putter *p) {
    const pelt_skin *before = &p->out->before;
    for (size_t i = 0; i < p->s->model->mesh.vertex_count; i++)
        for (uint32_t e = p->influences; p->s->classes.of[i] == PELT_NONE && e < before->influence_count; e++)
            if (before->weights[i * before->influence_count + e] > 0)
                p->influences = e + 1;
}

static pelt_result reserve_vertices(putter *p) {
    px_bind_output *out = p->out;
    count_influences(p);
    if (p->influences <= out->capacity)
        return PELT_OK;
    size_t count = px_mul_size(p->s->model->mesh.vertex_count, p->influences);
    uint16_t *bones = PX_NEW(p->s->model->memory, uint16_t, count);
    float *weights = PX_NEW(p->s->model->memory, float, count);
    if (!bones || !weights)
        return PELT_ERROR_MEMORY;
    out->bones = bones;
    out->weights = weights;
    out->capacity = p->influences;
    p->grown = true;
    return PELT_OK;
}

static void put_vertices(const putter *p) {
    const px_bind_subject *s = p->s;
    const pelt_skin *before = &p->out->before;
    size_t K = p->influences, count = s->model->mesh.vertex_count;
    memset(p->out->bones, 0, count * K * sizeof *p->out->bones);
    memset(p->out->weights, 0, count * K * sizeof *p->out->weights);
    for (size_t i = 0; i < count; i++) {
        uint16_t *bones = p->out->bones + i * K;
        float *weights = p->out->weights + i * K;
        bool keep = s->classes.of[i] == PELT_NONE;
        size_t first = keep ? i * before->influence_count : (size_t)s->classes.of[i] * p->table->capacity;
        size_t most = px_min_size(K, keep ? before->influence_count : p->table->capacity);
        memcpy(weights, (keep ? before->weights : p->table->weights) + first, most * sizeof *weights);
        for (size_t e = 0; e < most; e++)
            if (keep)
                bones[e] = before->bones[first + e];
            else if (weights[e] > 0)
                bones[e] = (uint16_t)p->bones[s->vertex_spaces[i] * (size_t)s->rig->skeleton.joint_count +
                                              p->table->bones[first + e]];
    }
}

/* ---- Entry points ------------------------------------------------------------------------------------------ */

/* Whether a part's vertices got weights; false for parts without vertices. */
static bool is_bound(const putter *p, const pelt_part *part) {
    const pelt_mesh *mesh = &p->s->model->mesh;
    uint32_t at = part->vertex_count     ? part->first_vertex
                  : part->triangle_count ? mesh->triangles[3 * (size_t)part->first_triangle]
                                         : PELT_NONE;
    return at != PELT_NONE && p->s->classes.of[at] != PELT_NONE;
}

static pelt_result put_skin(putter *p, uint8_t **used) {
    const px_bind_subject *s = p->s;
    pelt_model *model = s->model;
    if (!(*used = PX_NEW(p->arena, uint8_t, px_mul_size(s->space_count, s->rig->skeleton.joint_count))))
        return PELT_ERROR_MEMORY;
    PX_TRY(make_output(p));
    PX_TRY(find_used(p, *used));
    PX_TRY(plan_bones(p, *used));
    PX_TRY(reserve_vertices(p));
    put_bones(p); /* cannot fail from here on, nor be cancelled: these arrays may be in use by the model */
    put_vertices(p);
    model->skin = (pelt_skin){p->bone_count,         p->influences, p->out->bone_joints,
                              p->out->inverse_binds, p->out->bones, p->out->weights};
    for (uint32_t n = 0; n < model->mesh.part_count; n++)
        model->mesh.parts[n].skinned |= is_bound(p, &model->mesh.parts[n]);
    model->changed |= PELT_CHANGED_SKIN;
    if (s->rig == model && !p->binding->report.fit.changes)
        return PELT_OK;
    model->changed |= PELT_CHANGED_SKELETON | PELT_CHANGED_MOTIONS;
    if (s->rig == model) {
        model->skeleton.rest = p->out->rest;
        model->motions = p->out->motions;
        return PELT_OK;
    }
    model->skeleton = p->out->joined.skeleton;
    model->motions = p->out->joined.motions;
    model->motion_count = p->out->joined.motion_count;
    return PELT_OK;
}

pelt_result px_bind_put_skin(px_arena *arena, pelt_binding *binding, const px_weight_table *table, uint32_t influences,
                             uint8_t **used) {
    pelt_model *model = binding->subject.model;
    putter p = {.binding = binding, .s = &binding->subject, .arena = arena, .table = table, .influences = influences};
    px_bind_output *output = binding->output, before = output ? *output : (px_bind_output){0};
    px_operation operation = px_operation_begin(model);
    pelt_result result = put_skin(&p, used);
    if (result != PELT_OK) { /* arrays of a failed operation are freed */
        binding->output = output;
        if (output)
            *output = before;
    }
    result = px_operation_end(&operation, result);
    if (result == PELT_OK && p.grown) /* another operation may replace them in the model */
        px_arena_keep_for(model->memory, binding->arena);
    return result;
}
