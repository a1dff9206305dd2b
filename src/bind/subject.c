/* Input of the binding. Files store vertices in the space of a skin or of a node, and skins may share joints and yet
 * place them differently; here everything is transformed to world space, in the bind pose of the skins. */
#include "bind/bind.h"
#include "core/math3.h"
#include "core/mesh.h"

typedef struct maker {
    pelt_context *context;
    px_arena *arena;
    px_bind_subject *s;
    const pelt_model *model; /* model whose spaces are computed */
    const pelt_bind_desc *desc;
    pelt_affine *globals;  /* [joint of the model's own skeleton] rest pose */
    bool skinned;          /* some parts have a skin: only those get weights; else all parts do */
    uint8_t *bound;        /* [vertex] 1: it gets weights */
    uint32_t *groups;      /* [bone] union-find: bones of one skin have the same root */
    uint32_t *bone_spaces; /* [bone] its space */
    uint8_t *uses;         /* [bone] USE_… bits: kinds of vertices that it moves */
} maker;

enum { USE_BOUND = 1, USE_KEPT = 2 };

#define ROOT_SHARE 0.25 /* of the mean sum of weights per joint: a topmost joint with less may be a root */

static pelt_affine *rest_globals(px_arena *arena, const pelt_skeleton *skeleton) {
    pelt_affine *globals = PX_NEW(arena, pelt_affine, skeleton->joint_count);
    if (globals)
        pelt_skeleton_globals(skeleton, skeleton->rest, globals);
    return globals;
}

/* ---- Spaces ------------------------------------------------------------------------------------------------ */

/* Parts with a skin get weights; if no part has one, all parts do. */
static pelt_result choose_vertices(maker *m) {
    const pelt_mesh *mesh = &m->model->mesh;
    m->bound = PX_NEW(m->arena, uint8_t, mesh->vertex_count);
    if (!m->bound)
        return PELT_ERROR_MEMORY;
    for (uint32_t p = 0; p < mesh->part_count; p++)
        if (mesh->parts[p].skinned) {
            px_mark_part(mesh, &mesh->parts[p], m->bound);
            m->skinned = true;
        }
    if (!m->skinned)
        memset(m->bound, 1, mesh->vertex_count);
    return PELT_OK;
}

/* Groups bones by space. Bones that move one part belong to one skin and hence to one space; so do those of parts that
 * share a bone. */
static pelt_result group_bones(maker *m) {
    const pelt_mesh *mesh = &m->model->mesh;
    const pelt_skin *skin = &m->model->skin;
    m->groups = PX_NEW(m->arena, uint32_t, skin->bone_count);
    m->bone_spaces = PX_NEW(m->arena, uint32_t, skin->bone_count);
    m->uses = PX_NEW(m->arena, uint8_t, skin->bone_count);
    if (!m->groups || !m->bone_spaces || !m->uses)
        return PELT_ERROR_MEMORY;
    for (uint32_t b = 0; b < skin->bone_count; b++)
        m->groups[b] = b;
    for (uint32_t p = 0; p < mesh->part_count && skin->bone_count; p++) {
        size_t first = mesh->parts[p].first_vertex, end = first + mesh->parts[p].vertex_count;
        for (size_t k = first * skin->influence_count; k < end * skin->influence_count; k++) {
            if (!(skin->weights[k] > 0))
                continue;
            m->uses[skin->bones[k]] |= m->bound[k / skin->influence_count] ? USE_BOUND : USE_KEPT;
            px_group_join(m->groups, skin->bones[first * skin->influence_count], skin->bones[k]);
        }
    }
    return PELT_OK;
}

static double difference(const pelt_affine *a, const pelt_affine *b) {
    double off = 0;
    for (int e = 0; e < 12; e++)
        off = px_fmax(off, fabs((double)a->m[e] - (double)b->m[e]));
    return off;
}

/* Joins bones with the same transform from their space to the world, up to rounding, whichever parts they move: those
 * of skins in a file that rests in its bind pose, and those of nodes, which are in world space already. */
static void join_alike(maker *m, pelt_affine *stands) {
    const pelt_mesh *mesh = &m->model->mesh;
    float low[3], high[3];
    double size = px_box(mesh->positions, mesh->vertex_count, low, high);
    uint32_t bone_count = m->model->skin.bone_count, first = 0;
    while (m->skinned && first < bone_count && !(m->uses[first] & USE_BOUND))
        first++;
    if (first == bone_count)
        return;
    const pelt_affine like = m->skinned ? stands[first] : px_affine_identity();
    uint32_t group = PELT_NONE;
    for (uint32_t b = first; b < bone_count; b++) {
        pelt_affine off = stands[b];
        for (int e = 3; e < 12 && size > 0; e += 4)
            off.m[e] = like.m[e] + (stands[b].m[e] - like.m[e]) / (float)size;
        if (!(difference(&off, &like) < 1e-4))
            continue;
        group = group == PELT_NONE ? b : group;
        stands[b] = like;
        px_group_join(m->groups, group, b);
    }
}

/* The transform of a space is that of its bone nearest to the root: in a file that rests in another pose than the bind
 * pose, the bones of a space disagree. Unused bones join the space that fits best. */
static pelt_result make_spaces(maker *m) {
    px_bind_subject *s = m->s;
    const pelt_skin *skin = &m->model->skin;
    uint32_t *numbers = PX_NEW(m->arena, uint32_t, skin->bone_count); /* [group] space + 1 */
    uint32_t *tops = PX_NEW(m->arena, uint32_t, skin->bone_count);    /* [space] its bone nearest to the root */
    pelt_affine *stands = PX_NEW(m->arena, pelt_affine, skin->bone_count);
    s->spaces = PX_NEW(m->arena, pelt_affine, (size_t)skin->bone_count + 1);
    if (!numbers || !tops || !stands || !s->spaces)
        return PELT_ERROR_MEMORY;
    for (uint32_t b = 0; b < skin->bone_count; b++)
        stands[b] = px_affine_mul(&m->globals[skin->bone_joints[b]], &skin->inverse_binds[b]);
    join_alike(m, stands);
    for (uint32_t b = 0; b < skin->bone_count; b++) {
        if (!m->uses[b])
            continue;
        uint32_t *number = &numbers[px_group_of(m->groups, b)];
        if (*number == 0) {
            tops[s->space_count] = b;
            *number = ++s->space_count;
        }
        m->bone_spaces[b] = *number - 1;
        uint32_t *top = &tops[*number - 1];
        if (skin->bone_joints[b] < skin->bone_joints[*top])
            *top = b;
    }
    for (uint32_t n = 0; n < s->space_count; n++)
        s->spaces[n] = stands[tops[n]];
    if (s->space_count == 0)
        s->spaces[s->space_count++] = skin->bone_count ? stands[0] : px_affine_identity();
    for (uint32_t b = 0; b < skin->bone_count; b++)
        for (uint32_t n = 0; n < s->space_count && !m->uses[b]; n++)
            if (difference(&s->spaces[n], &stands[b]) < difference(&s->spaces[m->bone_spaces[b]], &stands[b]))
                m->bone_spaces[b] = n;
    return PELT_OK;
}

static pelt_result space_tables(maker *m) {
    px_bind_subject *s = m->s;
    const pelt_skin *skin = &m->model->skin;
    size_t joint_count = m->model->skeleton.joint_count;
    s->space_bones = PX_NEW(m->arena, uint32_t, s->space_count * joint_count);
    s->vertex_spaces = PX_NEW(m->arena, uint32_t, m->model->mesh.vertex_count);
    if (!s->space_bones || !s->vertex_spaces)
        return PELT_ERROR_MEMORY;
    memset(s->space_bones, 0xff, s->space_count * joint_count * sizeof *s->space_bones);
    for (uint32_t b = skin->bone_count; b-- > 0;)
        s->space_bones[m->bone_spaces[b] * joint_count + skin->bone_joints[b]] = b;
    for (size_t i = 0; i < m->model->mesh.vertex_count && skin->bone_count; i++)
        s->vertex_spaces[i] = m->bone_spaces[skin->bones[i * skin->influence_count]];
    return PELT_OK;
}

/* ---- Vertices ---------------------------------------------------------------------------------------------- */

static pelt_result fail_not_finite(const maker *m, uint32_t vertex) {
    return px_fail(
        m->context, PELT_ERROR_INPUT,
        "vertex %u is not at a finite place; repair the mesh (remove it, or the part it is in) and try again", vertex);
}

/* `user`: spaces [vertex]. */
static bool same_space(const void *user, uint32_t a, uint32_t b) {
    const uint32_t *spaces = user;
    return spaces[a] == spaces[b];
}

static pelt_result make_classes(maker *m) {
    px_bind_subject *s = m->s;
    const pelt_mesh *mesh = &m->model->mesh;
    pelt_vertex_classes solids; /* the weld, split where boxes touch; PELT_NONE: not bound */
    PX_TRY(px_bind_part_blocks(m->arena, mesh, &solids));
    for (uint32_t i = 0; i < mesh->vertex_count; i++)
        solids.of[i] = m->bound[i] ? solids.of[i] : PELT_NONE;
    PX_TRY(px_classes_refine(m->arena, mesh->vertex_count, &solids, same_space, s->vertex_spaces, &s->classes));
    if (s->classes.count == 0)
        return px_fail(m->context, PELT_ERROR_INPUT, "there is no mesh to bind");
    if (!(s->positions = PX_NEW(m->arena, float, 3 * (size_t)s->classes.count)))
        return PELT_ERROR_MEMORY;
    for (uint32_t c = 0; c < s->classes.count; c++) {
        uint32_t i = s->classes.first[c];
        float *p = s->positions + 3 * (size_t)c;
        px_affine_point(&s->spaces[s->vertex_spaces[i]], mesh->positions + 3 * (size_t)i, p);
        if (!isfinite(p[0]) || !isfinite(p[1]) || !isfinite(p[2]))
            return fail_not_finite(m, i);
    }
    return PELT_OK;
}

static pelt_result make_triangles(maker *m) {
    px_bind_subject *s = m->s;
    const pelt_mesh *mesh = &m->model->mesh;
    s->triangles = PX_NEW(m->arena, uint32_t, 3 * (size_t)mesh->triangle_count);
    if (!s->triangles)
        return PELT_ERROR_MEMORY;
    for (size_t t = 0; t < mesh->triangle_count; t++) {
        const uint32_t *corners = mesh->triangles + 3 * t;
        if (!m->bound[corners[0]])
            continue;
        for (int c = 0; c < 3; c++)
            s->triangles[3 * (size_t)s->triangle_count + (size_t)c] = s->classes.of[corners[c]];
        s->triangle_count++;
    }
    return PELT_OK;
}

/* ---- Joints ------------------------------------------------------------------------------------------------ */

/* Bind-pose transforms of the joints, from the skin's bones. Joints without a bone keep their rest transform relative
 * to the parent. */
static pelt_result place_joints(maker *m, const px_bind_subject *like, const pelt_affine *globals) {
    px_bind_subject *s = m->s;
    const pelt_skeleton *skeleton = &s->rig->skeleton;
    const pelt_skin *skin = &s->rig->skin;
    s->joints = PX_NEW(m->arena, pelt_affine, skeleton->joint_count);
    if (!s->joints)
        return PELT_ERROR_MEMORY;
    for (uint32_t j = 0; j < skeleton->joint_count; j++) {
        uint32_t parent = skeleton->parents[j];
        pelt_affine inverse;
        bool placed = false;
        for (uint32_t n = 0; n < like->space_count && !placed; n++) {
            uint32_t bone = like->space_bones[n * (size_t)skeleton->joint_count + j];
            placed = bone != PELT_NONE && px_affine_inverse(&skin->inverse_binds[bone], &inverse);
            if (placed)
                s->joints[j] = px_affine_mul(&like->spaces[n], &inverse);
        }
        if (placed)
            continue;
        s->joints[j] = globals[j];
        if (parent != PELT_NONE && px_affine_inverse(&globals[parent], &inverse)) {
            pelt_affine local = px_affine_mul(&inverse, &globals[j]);
            s->joints[j] = px_affine_mul(&s->joints[parent], &local);
        }
    }
    return PELT_OK;
}

/* named [joint]: it is a bone of the skin and moves vertices to be bound, or none. False if there is no skin. */
static bool find_named(const pelt_model *rig, const uint8_t *uses, bool *named) {
    bool any = false, skinned = false;
    for (uint32_t p = 0; p < rig->mesh.part_count; p++)
        skinned |= rig->mesh.parts[p].skinned;
    for (uint32_t b = 0; b < rig->skin.bone_count && skinned; b++)
        if (uses[b] != USE_KEPT)
            any = named[rig->skin.bone_joints[b]] = true;
    return any;
}

/* weighted [joint]: it has weights in the skin. trusted [joint]: it has, and is not only a topmost joint with a few
 * stray weights, as roots often are. *painted: two or more joints have weights; programs write one joint with all
 * weights for a mesh that was not painted yet. */
static pelt_result find_weighted(px_arena *arena, const pelt_model *rig, bool *weighted, bool *trusted, bool *painted) {
    const pelt_skin *skin = &rig->skin;
    const uint32_t *parents = rig->skeleton.parents, joint_count = rig->skeleton.joint_count;
    double *sums = PX_NEW(arena, double, joint_count), whole = 0;
    bool *below = PX_NEW(arena, bool, joint_count); /* [joint] an ancestor has weights */
    uint32_t count = 0;
    if (!sums || !below)
        return PELT_ERROR_MEMORY;
    for (uint32_t p = 0; p < rig->mesh.part_count; p++) {
        const pelt_part *part = &rig->mesh.parts[p];
        size_t first = part->first_vertex, end = first + part->vertex_count;
        for (size_t e = first * skin->influence_count; part->skinned && e < end * skin->influence_count; e++)
            sums[skin->bone_joints[skin->bones[e]]] += px_fmax((double)skin->weights[e], 0);
    }
    for (uint32_t j = 0; j < joint_count; j++) {
        weighted[j] = sums[j] > 0;
        count += weighted[j];
        whole += sums[j];
    }
    for (uint32_t j = 0; j < joint_count; j++) { /* parents come first */
        below[j] = parents[j] != PELT_NONE && (weighted[parents[j]] || below[parents[j]]);
        trusted[j] = weighted[j] && (below[j] || sums[j] * count >= ROOT_SHARE * whole);
    }
    *painted = count > 1;
    return PELT_OK;
}

/* Candidates of a rig without skin: joints that neither hold a mesh nor mark the end of a bone, and their ancestors. If
 * every joint holds a mesh, those with children. */
static pelt_result guess_candidates(px_arena *arena, const pelt_model *rig, bool *candidates) {
    const pelt_skeleton *skeleton = &rig->skeleton;
    bool *shows = PX_NEW(arena, bool, skeleton->joint_count), *parent = PX_NEW(arena, bool, skeleton->joint_count);
    bool any = false;
    if (!shows || !parent)
        return PELT_ERROR_MEMORY;
    for (uint32_t p = 0; p < rig->mesh.part_count; p++)
        if (rig->mesh.parts[p].joint != PELT_NONE)
            shows[rig->mesh.parts[p].joint] = true;
    for (uint32_t j = 0; j < skeleton->joint_count; j++)
        if (skeleton->parents[j] != PELT_NONE)
            parent[skeleton->parents[j]] = true;
    for (int lax = 0; lax < 2 && !any; lax++)
        for (uint32_t j = skeleton->joint_count; j-- > 0;) { /* children come after their parents */
            candidates[j] |= shows[j] ? lax && parent[j] : parent[j] || !px_bind_name_is_end(skeleton->names[j]);
            any |= candidates[j];
            if (candidates[j] && skeleton->parents[j] != PELT_NONE)
                candidates[skeleton->parents[j]] = true;
        }
    return PELT_OK;
}

static pelt_result choose_targets(maker *m, const uint8_t *uses) {
    px_bind_subject *s = m->s;
    uint32_t joint_count = s->rig->skeleton.joint_count;
    bool *candidates = PX_NEW(m->arena, bool, joint_count), *excluded = PX_NEW(m->arena, bool, joint_count);
    bool *only = PX_NEW(m->arena, bool, joint_count), *weighted = PX_NEW(m->arena, bool, joint_count);
    s->trusted = PX_NEW(m->arena, bool, joint_count);
    s->targets = PX_NEW(m->arena, uint32_t, joint_count);
    s->joint_targets = PX_NEW(m->arena, uint32_t, joint_count);
    s->idle = PX_NEW(m->arena, uint8_t, joint_count);
    if (!candidates || !excluded || !only || !weighted || !s->trusted || !s->targets || !s->joint_targets || !s->idle)
        return PELT_ERROR_MEMORY;
    PX_TRY(px_bind_mark_named(m->context, &s->rig->skeleton, m->desc->exclude, "exclude", excluded));
    PX_TRY(px_bind_mark_named(m->context, &s->rig->skeleton, m->desc->only, "only", only));
    bool painted = false, any = false; /* any: some joint is a candidate, excluded or not */
    if (!find_named(s->rig, uses, candidates))
        PX_TRY(guess_candidates(m->arena, s->rig, candidates));
    else if (m->desc->joints == PELT_BIND_JOINTS_WEIGHTED)
        PX_TRY(find_weighted(m->arena, s->rig, weighted, s->trusted, &painted));
    for (uint32_t j = 0; j < joint_count; j++) {
        bool out = excluded[j] || (m->desc->only && !only[j]);
        s->joint_targets[j] = PELT_NONE;
        s->trusted[j] = only[j] || (painted && s->trusted[j]);
        any |= candidates[j] || only[j];
        if (!candidates[j] && !only[j])
            s->idle[j] = PELT_BIND_CONTROL;
        else if (out)
            s->idle[j] = PELT_BIND_EXCLUDED;
        else
            s->idle[j] = painted && !weighted[j] && !only[j] ? PELT_BIND_UNWEIGHTED : PELT_BIND_ACTIVE;
        if (s->idle[j] != PELT_BIND_ACTIVE)
            continue;
        s->joint_targets[j] = s->target_count;
        s->targets[s->target_count++] = j;
    }
    if (s->target_count == 0)
        return px_fail(m->context, PELT_ERROR_INPUT,
                       any           ? "no joint is left that weights could go to"
                       : joint_count ? "there is no skeleton to bind to: the joints only carry meshes"
                                     : "there is no skeleton to bind to");
    return PELT_OK;
}

/* ---- Entry points ------------------------------------------------------------------------------------------ */

/* Computes all space data of a model with its own skeleton. */
static pelt_result find_spaces(maker *m) {
    m->globals = rest_globals(m->arena, &m->model->skeleton);
    if (!m->globals)
        return PELT_ERROR_MEMORY;
    PX_TRY(choose_vertices(m));
    PX_TRY(group_bones(m));
    PX_TRY(make_spaces(m));
    return space_tables(m);
}

pelt_result px_bind_subject_make(pelt_context *context, px_arena *arena, pelt_model *model, const pelt_bind_desc *desc,
                                 px_bind_subject *subject) {
    *subject = (px_bind_subject){.model = model, .rig = desc->skeleton ? desc->skeleton : model};
    maker m = {.context = context, .arena = arena, .s = subject, .model = model, .desc = desc};
    PX_TRY(pelt_model_weld(context, model));
    PX_TRY(find_spaces(&m));
    PX_TRY(make_classes(&m));
    PX_TRY(make_triangles(&m));
    if (subject->rig == model) {
        PX_TRY(place_joints(&m, subject, m.globals));
        return choose_targets(&m, m.uses);
    }
    /* The other model's joints are placed by its own skin. */
    px_bind_subject other = {0};
    maker o = {.context = context, .arena = arena, .s = &other, .model = subject->rig, .desc = desc};
    PX_TRY(find_spaces(&o));
    PX_TRY(place_joints(&m, &other, o.globals));
    return choose_targets(&m, o.uses);
}

/* ---- Other meshes ------------------------------------------------------------------------------------------ */

static bool same_skeleton(const pelt_skeleton *a, const pelt_skeleton *b) {
    bool same = a->joint_count == b->joint_count;
    for (uint32_t j = 0; same && j < a->joint_count; j++)
        same = a->parents[j] == b->parents[j] && strcmp(a->names[j], b->names[j]) == 0;
    return same;
}

/* own [source's joint]: the joint of the same name, or PELT_NONE. Fails if some of the targets have one and some do not.
 * *any: all targets have one. */
static pelt_result match_joints(pelt_context *context, const px_bind_subject *source, const pelt_skeleton *skeleton,
                                uint32_t *own, bool *any) {
    const pelt_skeleton *theirs = &source->rig->skeleton;
    bool same = same_skeleton(theirs, skeleton);
    uint32_t missing = PELT_NONE;
    *any = false;
    for (uint32_t j = 0; j < theirs->joint_count; j++)
        own[j] = same ? j : px_joint_named(skeleton, theirs->names[j], strlen(theirs->names[j]), 0);
    for (uint32_t t = 0; t < source->target_count; t++)
        if (own[source->targets[t]] == PELT_NONE)
            missing = source->targets[t];
        else
            *any = true;
    if (*any && missing != PELT_NONE)
        return px_fail_joint(context, skeleton, "the skeleton of this mesh", theirs->names[missing],
                             strlen(theirs->names[missing]));
    return PELT_OK;
}

/* Targets of the model's own skeleton, ascending. */
static pelt_result own_targets(maker *m, const px_bind_subject *source, const uint32_t *own, uint32_t *columns) {
    px_bind_subject *s = m->s;
    uint32_t joint_count = s->rig->skeleton.joint_count;
    s->targets = PX_NEW(m->arena, uint32_t, source->target_count);
    s->joint_targets = PX_NEW(m->arena, uint32_t, joint_count);
    s->trusted = PX_NEW(m->arena, bool, joint_count);
    s->idle = PX_NEW(m->arena, uint8_t, joint_count);
    if (!s->targets || !s->joint_targets || !s->trusted || !s->idle)
        return PELT_ERROR_MEMORY;
    for (uint32_t j = 0; j < joint_count; j++) {
        s->joint_targets[j] = PELT_NONE;
        s->idle[j] = PELT_BIND_UNWEIGHTED;
    }
    for (uint32_t j = 0; j < source->rig->skeleton.joint_count; j++)
        if (own[j] != PELT_NONE && s->joint_targets[own[j]] == PELT_NONE) { /* the first of several of one name */
            s->idle[own[j]] = source->idle[j];
            s->trusted[own[j]] = source->trusted[j];
            s->joint_targets[own[j]] = source->joint_targets[j];
        }
    for (uint32_t j = 0; j < joint_count; j++)
        if (s->joint_targets[j] != PELT_NONE) {
            columns[s->target_count] = s->joint_targets[j];
            s->joint_targets[j] = s->target_count;
            s->targets[s->target_count++] = j;
        }
    return PELT_OK;
}

pelt_result px_bind_subject_share(pelt_context *context, px_arena *arena, pelt_model *model,
                                  const px_bind_subject *source, const pelt_model *rig, px_bind_subject *subject,
                                  uint32_t **columns) {
    uint32_t *own = PX_NEW(arena, uint32_t, source->rig->skeleton.joint_count);
    bool any;
    *columns = PX_NEW(arena, uint32_t, source->target_count);
    if (!own || !*columns)
        return PELT_ERROR_MEMORY;
    *subject = (px_bind_subject){.model = model, .rig = model};
    maker m = {.context = context, .arena = arena, .s = subject, .model = model};
    PX_TRY(pelt_model_weld(context, model));
    PX_TRY(find_spaces(&m));
    PX_TRY(make_classes(&m));
    PX_TRY(make_triangles(&m));
    PX_TRY(match_joints(context, source, &model->skeleton, own, &any));
    if (any) {
        PX_TRY(place_joints(&m, subject, m.globals));
        return own_targets(&m, source, own, *columns);
    }
    subject->rig = rig;
    subject->target_count = source->target_count;
    subject->targets = source->targets;
    subject->joint_targets = source->joint_targets;
    subject->trusted = source->trusted;
    subject->joints = source->joints;
    subject->idle = source->idle;
    for (uint32_t t = 0; t < source->target_count; t++)
        (*columns)[t] = t;
    return PELT_OK;
}
