/* Resolves the settings: joints by name, regions by name, falloff α of every row. */
#include "bind/apply.h"
#include "core/math3.h"

typedef struct reader {
    pelt_context *context;
    px_arena *arena;
    const pelt_binding *binding;
    const px_bind_subject *s;
    const pelt_bind_desc *desc;
    px_bind_settings *out;
} reader;

/* ---- Excluded joints ------------------------------------------------------------------------------------------- */

/* Number of links from a joint up to its ancestor `above`; PELT_NONE if it is no descendant. */
static uint32_t links_below(const pelt_skeleton *skeleton, uint32_t joint, uint32_t above) {
    uint32_t links = 0;
    for (; joint != PELT_NONE && joint > above; joint = skeleton->parents[joint])
        links++;
    return joint == above ? links : PELT_NONE;
}

static double squared_distance(const pelt_affine *a, const pelt_affine *b) {
    double sum = 0;
    for (int e = 3; e < 12; e += 4)
        sum += ((double)a->m[e] - (double)b->m[e]) * ((double)a->m[e] - (double)b->m[e]);
    return sum;
}

/* The target that replaces an excluded one: the nearest ancestor, else the nearest descendant, else the target at the
 * least distance. */
static uint32_t find_heir(const reader *r, uint32_t target) {
    const px_bind_subject *s = r->s;
    const pelt_skeleton *skeleton = &s->rig->skeleton;
    uint32_t own = s->targets[target], best = PELT_NONE, best_links = PELT_NONE;
    for (uint32_t j = skeleton->parents[own]; j != PELT_NONE; j = skeleton->parents[j])
        if (s->joint_targets[j] != PELT_NONE && !r->out->out[s->joint_targets[j]])
            return s->joint_targets[j];
    for (uint32_t t = target + 1; t < s->target_count; t++) {
        uint32_t links = r->out->out[t] ? PELT_NONE : links_below(skeleton, s->targets[t], own);
        if (links < best_links) {
            best = t;
            best_links = links;
        }
    }
    for (uint32_t t = 0; best_links == PELT_NONE && t < s->target_count; t++)
        if (!r->out->out[t] &&
            (best == PELT_NONE || squared_distance(&s->joints[s->targets[t]], &s->joints[own]) <
                                      squared_distance(&s->joints[s->targets[best]], &s->joints[own])))
            best = t;
    return best;
}

static pelt_result read_exclusions(const reader *r) {
    const px_bind_subject *s = r->s;
    const pelt_skeleton *skeleton = &s->rig->skeleton;
    px_bind_settings *out = r->out;
    bool *excluded = PX_NEW(r->arena, bool, skeleton->joint_count),
         *only = PX_NEW(r->arena, bool, skeleton->joint_count);
    out->out = PX_NEW(r->arena, bool, s->target_count);
    out->heirs = PX_NEW(r->arena, uint32_t, s->target_count);
    if (!excluded || !only || !out->out || !out->heirs)
        return PELT_ERROR_MEMORY;
    PX_TRY(px_bind_mark_named(r->context, skeleton, r->desc->exclude, "exclude", excluded));
    PX_TRY(px_bind_mark_named(r->context, skeleton, r->desc->only, "only", only));
    uint32_t left = 0;
    for (uint32_t t = 0; t < s->target_count; t++) {
        out->out[t] = excluded[s->targets[t]] || (r->desc->only && !only[s->targets[t]]);
        left += !out->out[t];
    }
    if (left == 0)
        return px_fail(r->context, PELT_ERROR_USAGE, "exclude and only leave no joint that weights could go to");
    for (uint32_t t = 0; t < s->target_count; t++)
        out->heirs[t] = out->out[t] ? find_heir(r, t) : t;
    return PELT_OK;
}

/* ---- Falloff per row ------------------------------------------------------------------------------------------- */

static pelt_result read_falloffs(const reader *r) {
    const px_bind_subject *s = r->s;
    if (!r->desc->vertex_falloff)
        return PELT_OK;
    float *sums = r->out->falloffs = PX_NEW(r->arena, float, s->classes.count);
    uint32_t *counts = PX_NEW(r->arena, uint32_t, s->classes.count);
    if (!sums || !counts)
        return PELT_ERROR_MEMORY;
    for (uint32_t i = 0; i < s->model->mesh.vertex_count; i++) {
        float falloff = r->desc->vertex_falloff[i];
        if (s->classes.of[i] == PELT_NONE)
            continue;
        if (!(falloff >= 0 && falloff <= 1))
            return px_fail(r->context, PELT_ERROR_USAGE, "the falloff of vertex %u is %g, should be from 0 to 1", i,
                           (double)falloff);
        sums[s->classes.of[i]] += falloff;
        counts[s->classes.of[i]]++;
    }
    for (uint32_t i = 0; i < s->classes.count; i++)
        sums[i] /= (float)counts[i];
    return PELT_OK;
}

/* ---- Locks ----------------------------------------------------------------------------------------------------- */

/* Rows of the model's present skin, in joint indices; each class has the weights of its first vertex. */
static pelt_result read_kept(const reader *r) {
    const px_bind_subject *s = r->s;
    const pelt_skin *skin = &s->model->skin;
    px_weight_table *kept = &r->out->kept;
    PX_TRY(px_weight_table_make(r->arena, s->classes.count, PX_WEIGHT_CAPACITY, kept));
    uint32_t next = 0; /* classes are numbered by first appearance */
    for (size_t i = 0; i < s->model->mesh.vertex_count; i++) {
        if (s->classes.of[i] != next)
            continue;
        px_weight_sum sum = {0};
        for (size_t e = i * skin->influence_count; e < (i + 1) * skin->influence_count; e++)
            px_weight_sum_add(&sum, skin->bone_joints[skin->bones[e]], (double)skin->weights[e]);
        px_weight_sum_store(&sum, kept, next++);
    }
    return PELT_OK;
}

static pelt_result read_locks(const reader *r) {
    const px_bind_subject *s = r->s;
    bool skinned = false;
    if (!r->desc->lock)
        return PELT_OK;
    for (uint32_t p = 0; p < s->model->mesh.part_count; p++)
        skinned |= s->model->mesh.parts[p].skinned;
    if (!skinned || s->rig != s->model)
        return px_fail(r->context, PELT_ERROR_USAGE, "lock keeps weights that joints have, but %s",
                       s->rig == s->model ? "the model has no skin yet; leave it out"
                                          : "those of another skeleton have none; leave lock or that skeleton out");
    r->out->locked = PX_NEW(r->arena, bool, s->rig->skeleton.joint_count);
    if (!r->out->locked)
        return PELT_ERROR_MEMORY;
    PX_TRY(px_bind_mark_named(r->context, &s->rig->skeleton, r->desc->lock, "lock", r->out->locked));
    return read_kept(r);
}

/* ---- Regions --------------------------------------------------------------------------------------------------- */

/* All parts of this name or material follow the joint. */
static pelt_result mark_region(const reader *r, const char *name, size_t length, uint32_t joint) {
    const px_bind_subject *s = r->s;
    const pelt_mesh *mesh = &s->model->mesh;
    uint8_t *marks = PX_NEW(r->arena, uint8_t, mesh->vertex_count);
    bool found = false, bound = false;
    if (!marks)
        return PELT_ERROR_MEMORY;
    for (uint32_t p = 0; p < mesh->part_count; p++)
        if (px_is_name(mesh->parts[p].name, name, length) || px_is_name(mesh->parts[p].material, name, length)) {
            px_mark_part(mesh, &mesh->parts[p], marks);
            found = true;
        }
    for (uint32_t i = 0; i < mesh->vertex_count; i++)
        if (marks[i] && s->classes.of[i] != PELT_NONE) {
            r->out->follows[s->classes.of[i]] = joint;
            r->out->regions[s->classes.of[i]] = 1;
            bound = true;
        }
    if (!bound)
        return px_fail(r->context, PELT_ERROR_INPUT,
                       found ? "rigid: the part '%.*s' follows a node and gets no weights"
                             : "rigid: there is no part or material '%.*s'",
                       (int)length, name);
    return PELT_OK;
}

static pelt_result read_regions(const reader *r) {
    const char *rest = r->desc->rigid, *name;
    size_t length;
    r->out->follows = PX_NEW(r->arena, uint32_t, r->s->classes.count);
    r->out->regions = PX_NEW(r->arena, uint8_t, r->s->classes.count);
    if (!r->out->follows || !r->out->regions)
        return PELT_ERROR_MEMORY;
    memset(r->out->follows, 0xff, r->s->classes.count * sizeof *r->out->follows);
    while (rest && px_next_name(&rest, &name, &length)) {
        size_t divide = length, end;
        while (divide > 0 && name[divide - 1] != '=')
            divide--;
        for (end = divide ? divide - 1 : 0; end > 0 && name[end - 1] == ' ';)
            end--;
        while (divide < length && name[divide] == ' ')
            divide++;
        if (end == 0 || divide == length)
            return px_fail(r->context, PELT_ERROR_USAGE,
                           "rigid %.*s: give a part or material and a joint, like Sword=RightHand", (int)length, name);
        const pelt_skeleton *skeleton = &r->s->rig->skeleton;
        uint32_t joint = px_joint_named(skeleton, name + divide, length - divide, 0);
        if (joint == PELT_NONE)
            return px_fail_joint(r->context, skeleton, "rigid", name + divide, length - divide);
        PX_TRY(mark_region(r, name, end, joint));
    }
    return PELT_OK;
}

pelt_result px_bind_settings_make(px_arena *arena, const pelt_binding *binding, const pelt_bind_desc *desc,
                                  px_bind_settings *settings) {
    *settings = (px_bind_settings){.desc = desc};
    reader r = {binding->context, arena, binding, &binding->subject, desc, settings};
    if (r.s->rig->skeleton.joint_count > UINT16_MAX)
        return px_fail(r.context, PELT_ERROR_UNSUPPORTED, "the skeleton has %u joints; at most %u can be used",
                       r.s->rig->skeleton.joint_count, UINT16_MAX);
    PX_TRY(read_exclusions(&r));
    PX_TRY(read_falloffs(&r));
    PX_TRY(read_locks(&r));
    return read_regions(&r);
}
