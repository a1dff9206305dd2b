/* Resolves the settings: joints by name, regions by name, falloff α of every row. */
#include "bind/apply.h"
#include "bind/regions.h"
#include "core/math3.h"

typedef struct reader {
    pelt_context *context;
    px_arena *arena;
    const pelt_binding *binding;
    const px_bind_subject *s;
    const pelt_bind_desc *desc;
    const pelt_transform *pose; /* [joint] for falloffs; NULL: at rest */
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

/* One "REGION=VALUE" of a list. */
typedef struct pair {
    px_region region;
    const char *value;
    size_t value_length;
    uint8_t *rows;  /* [class] 1: in the region */
    uint32_t count; /* of these */
} pair;

/* Reads a pair and finds the rows of its region. Regions that a mesh in the voxels of another does not have are
 * empty. */
static pelt_result read_pair(const reader *r, const char *option, const char *hint, const char *text, size_t length,
                             pair *out) {
    size_t divide = length, end;
    while (divide > 0 && text[divide - 1] != '=')
        divide--;
    for (end = divide ? divide - 1 : 0; end > 0 && text[end - 1] == ' ';)
        end--;
    while (divide < length && text[divide] == ' ')
        divide++;
    if (end == 0 || divide == length)
        return px_fail(r->context, PELT_ERROR_USAGE, "%s %.*s: give a part or material and %s", option, (int)length,
                       text, hint);
    *out = (pair){.value = text + divide, .value_length = length - divide};
    PX_TRY(px_region_parse(r->context, option, text, end, &out->region));
    uint32_t kind = out->region.kind;
    pelt_result result =
        px_bind_region_rows(r->arena, r->context, r->s, r->desc, option, &out->region, &out->rows, &out->count);
    bool absent = kind == PX_REGION_NAME || kind == PX_REGION_VERTICES || kind == PX_REGION_ATTRIBUTE;
    if (r->binding->shared && absent && (result == PELT_ERROR_INPUT || result == PELT_ERROR_USAGE)) {
        out->count = 0;
        return PELT_OK;
    }
    if (result == PELT_OK && out->count == 0 && !r->binding->shared)
        return px_fail(r->context, PELT_ERROR_INPUT,
                       kind == PX_REGION_NAME ? "%s: the part '%.*s' follows a node and gets no weights"
                                              : "%s: no vertex that gets weights is in %.*s",
                       option, (int)end, text);
    return result;
}

static pelt_result read_rigid(const reader *r) {
    const char *rest = r->desc->rigid, *text;
    size_t length;
    r->out->follows = PX_NEW(r->arena, uint32_t, r->s->classes.count);
    r->out->regions = PX_NEW(r->arena, uint8_t, r->s->classes.count);
    if (!r->out->follows || !r->out->regions)
        return PELT_ERROR_MEMORY;
    memset(r->out->follows, 0xff, r->s->classes.count * sizeof *r->out->follows);
    while (rest && px_next_name(&rest, &text, &length)) {
        pair p;
        const pelt_skeleton *skeleton = &r->s->rig->skeleton;
        PX_TRY(read_pair(r, "rigid", "a joint, like Sword=RightHand", text, length, &p));
        uint32_t joint = px_joint_named(skeleton, p.value, p.value_length, 0);
        if (joint == PELT_NONE)
            return px_fail_joint(r->context, skeleton, "rigid", p.value, p.value_length);
        for (uint32_t i = 0; i < r->s->classes.count && p.count; i++)
            if (p.rows[i]) {
                r->out->follows[i] = joint;
                r->out->regions[i] = 1;
            }
    }
    return PELT_OK;
}

/* ---- Falloff per row ------------------------------------------------------------------------------------------- */

/* Angle in degrees between the rotations of a joint in the pose and at rest. */
static double turned_by(const reader *r, uint32_t joint) {
    if (!r->pose)
        return 0;
    const float *a = r->pose[joint].rotation, *b = r->s->rig->skeleton.rest[joint].rotation;
    double dot = 0, aa = 0, bb = 0;
    for (int c = 0; c < 4; c++) {
        dot += (double)a[c] * (double)b[c];
        aa += (double)a[c] * (double)a[c];
        bb += (double)b[c] * (double)b[c];
    }
    return 2 * px_acos(px_fmin(fabs(dot) / sqrt(aa * bb), 1)) * 57.29577951308232;
}

/* "A" or "A B DEGREES JOINT". */
static pelt_result read_alpha(const reader *r, const pair *p, double *alpha) {
    const char *at = p->value, *end = at + p->value_length;
    const pelt_skeleton *skeleton = &r->s->rig->skeleton;
    double numbers[3];
    uint32_t count = 0;
    for (; count < 3 && at < end; count++) {
        const char *next = px_parse_double(at, end, &numbers[count]);
        if (next == at)
            break;
        for (at = next; at < end && *at == ' ';)
            at++;
    }
    bool sound = (count == 1 && at == end) || (count == 3 && at < end && numbers[2] > 0);
    for (uint32_t n = 0; n < count && n < 2 && sound; n++)
        sound = numbers[n] >= 0 && numbers[n] <= 1;
    if (!sound)
        return px_fail(r->context, PELT_ERROR_USAGE,
                       "falloffs: '%.*s' should be a falloff from 0 to 1, or two, an angle in degrees and a joint",
                       (int)p->value_length, p->value);
    *alpha = numbers[0];
    if (count == 1)
        return PELT_OK;
    uint32_t joint = px_joint_named(skeleton, at, (size_t)(end - at), 0);
    if (joint == PELT_NONE)
        return px_fail_joint(r->context, skeleton, "falloffs", at, (size_t)(end - at));
    *alpha += (numbers[1] - numbers[0]) * px_fmin(turned_by(r, joint) / numbers[2], 1);
    return PELT_OK;
}

/* The mean of vertex_falloff over the vertices of each class. */
static pelt_result average_falloffs(const reader *r) {
    const px_bind_subject *s = r->s;
    float *sums = r->out->falloffs;
    uint32_t *counts = PX_NEW(r->arena, uint32_t, s->classes.count);
    if (!counts)
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

static pelt_result read_falloffs(const reader *r) {
    const char *rest = r->desc->falloffs, *text;
    size_t length;
    if (!r->desc->vertex_falloff && !r->desc->falloffs)
        return PELT_OK;
    float *falloffs = r->out->falloffs = PX_NEW(r->arena, float, r->s->classes.count);
    if (!falloffs)
        return PELT_ERROR_MEMORY;
    if (r->desc->vertex_falloff)
        PX_TRY(average_falloffs(r));
    for (uint32_t i = 0; i < r->s->classes.count && !r->desc->vertex_falloff; i++)
        falloffs[i] = (float)r->desc->falloff;
    while (rest && px_next_name(&rest, &text, &length)) {
        pair p;
        double alpha = 0;
        PX_TRY(read_pair(r, "falloffs", "a falloff, like Coat=0.9", text, length, &p));
        PX_TRY(read_alpha(r, &p, &alpha));
        for (uint32_t i = 0; i < r->s->classes.count && p.count; i++)
            falloffs[i] = p.rows[i] ? (float)alpha : falloffs[i];
    }
    return PELT_OK;
}

pelt_result px_bind_settings_make(px_arena *arena, const pelt_binding *binding, const pelt_bind_desc *desc,
                                  const pelt_transform *pose, px_bind_settings *settings) {
    *settings = (px_bind_settings){.desc = desc};
    reader r = {binding->context, arena, binding, &binding->subject, desc, pose, settings};
    if (r.s->rig->skeleton.joint_count > UINT16_MAX)
        return px_fail(r.context, PELT_ERROR_UNSUPPORTED, "the skeleton has %u joints; at most %u can be used",
                       r.s->rig->skeleton.joint_count, UINT16_MAX);
    PX_TRY(read_exclusions(&r));
    PX_TRY(read_falloffs(&r));
    PX_TRY(read_locks(&r));
    return read_rigid(&r);
}
