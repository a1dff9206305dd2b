/* Writes bones to skins of the document, and influences to JOINTS_n and WEIGHTS_n.
 *
 * A glTF skin may name a node only once. If the model has several bones for one joint (a file with several skins),
 * every instance gets a skin of the bones it uses. If that skin still has a joint twice, a new child node of the joint
 * replaces the duplicate.
 */
#include "core/skin.h"
#include "io/gltf_document.h"

#include <stdio.h>

typedef struct skin_writer {
    px_gltf_writer *w;
    px_json *skins;
    uint32_t *local;     /* [bone] its index in the current skin, or PELT_NONE */
    bool *wanted;        /* [bone] it belongs to the current skin */
    bool *has_joint;     /* [joint] scratch */
    const px_json *like; /* a skin of the source to take name and extras from, or NULL */
} skin_writer;

/* ---- Selection of bones ----------------------------------------------------------------------------------- */

static bool is_skinned(const px_gltf_writer *w, uint32_t part) {
    return w->instances[w->part_instances[part]].skinned;
}

static void mark_part(const skin_writer *s, uint32_t part, bool *used) {
    const pelt_skin *skin = &s->w->model->skin;
    const pelt_part *p = &s->w->parts[part];
    size_t first = (size_t)p->first_vertex * skin->influence_count,
           count = (size_t)p->vertex_count * skin->influence_count;
    for (size_t k = first; k < first + count; k++)
        used[skin->bones[k]] |= skin->weights[k] > 0;
}

/* Selects all bones except those that only rigid parts use. *unique is false if two selected bones share a joint. */
static pelt_result want_all(skin_writer *s, bool *unique) {
    const pelt_skin *skin = &s->w->model->skin;
    bool *rigid = PX_NEW(s->w->arena, bool, skin->bone_count);
    if (!rigid)
        return PELT_ERROR_MEMORY;
    for (uint32_t p = 0; p < s->w->part_count; p++)
        mark_part(s, p, is_skinned(s->w, p) ? s->wanted : rigid);
    *unique = true;
    for (uint32_t b = 0; b < skin->bone_count; b++) {
        s->wanted[b] |= !rigid[b];
        if (!s->wanted[b])
            continue;
        *unique &= !s->has_joint[skin->bone_joints[b]];
        s->has_joint[skin->bone_joints[b]] = true;
    }
    return PELT_OK;
}

static void want_instance(skin_writer *s, uint32_t instance) {
    memset(s->wanted, 0, s->w->model->skin.bone_count * sizeof *s->wanted);
    for (uint32_t p = 0; p < s->w->part_count; p++)
        if (s->w->part_instances[p] == instance)
            mark_part(s, p, s->wanted);
}

/* ---- Skins ------------------------------------------------------------------------------------------------ */

static uint32_t root_of(const pelt_skeleton *skeleton, uint32_t joint) {
    while (skeleton->parents[joint] != PELT_NONE)
        joint = skeleton->parents[joint];
    return joint;
}

/* The joints of a skin need a common root: if the bones have several roots, makes them children of a new node. */
static pelt_result join_roots(px_gltf_writer *w) {
    const pelt_model *model = w->model;
    bool *is_root = PX_NEW(w->arena, bool, model->skeleton.joint_count);
    uint32_t count = 0;
    if (!is_root)
        return PELT_ERROR_MEMORY;
    for (uint32_t b = 0; b < model->skin.bone_count; b++) {
        uint32_t root = root_of(&model->skeleton, model->skin.bone_joints[b]);
        count += !is_root[root];
        is_root[root] = true;
    }
    if (count < 2)
        return PELT_OK;
    px_json *node;
    uint32_t index = px_gltf_new_node(w, "root", &node);
    px_json *children = px_gltf_put(w, node, "children", px_json_array(w->arena));
    const px_json *scenes = px_json_get(w->root, "scenes");
    for (uint32_t j = 0; j < model->skeleton.joint_count; j++) {
        if (!is_root[j])
            continue;
        px_gltf_push_uint(w, children, w->joint_indices[j]);
        px_gltf_add_root(w, index, j);
        for (px_json *scene = scenes ? scenes->first : NULL; scene; scene = scene->next)
            px_gltf_remove_number(w, scene, "nodes", w->joint_indices[j]);
    }
    return w->failed ? PELT_ERROR_MEMORY : PELT_OK;
}

/* The node of a bone in the current skin: the joint's node, or a new child of it if the skin already contains it. */
static uint32_t bone_node(skin_writer *s, uint32_t bone) {
    px_gltf_writer *w = s->w;
    uint32_t joint = w->model->skin.bone_joints[bone];
    if (!s->has_joint[joint]) {
        s->has_joint[joint] = true;
        return w->joint_indices[joint];
    }
    px_json *node;
    uint32_t index = px_gltf_new_node(w, w->model->skeleton.names[joint], &node);
    px_gltf_push_uint(w, px_gltf_member(w, w->joint_nodes[joint], "children", PX_JSON_ARRAY), index);
    return index;
}

static bool is_below(const pelt_skeleton *skeleton, uint32_t joint, uint32_t above) {
    while (joint != PELT_NONE && joint != above)
        joint = skeleton->parents[joint];
    return joint == above;
}

static bool holds_all(const skin_writer *s, uint32_t above) {
    const pelt_model *model = s->w->model;
    for (uint32_t b = 0; b < model->skin.bone_count; b++)
        if (s->wanted[b] && !is_below(&model->skeleton, model->skin.bone_joints[b], above))
            return false;
    return true;
}

/* The `skeleton` joint of the source's skin, or its nearest ancestor that is above all selected bones; PELT_NONE: none.
 * Blender binds skins with a `skeleton` by their inverse bind matrices, others by the rest pose, which may differ from
 * the bind pose. */
static uint32_t skeleton_root(const skin_writer *s) {
    const px_gltf_writer *w = s->w;
    const pelt_skeleton *skeleton = &w->model->skeleton;
    uint32_t node = (uint32_t)px_json_uint(px_json_get(s->like, "skeleton"), PELT_NONE - 1, PELT_NONE);
    if (!w->source || node >= w->source->nodes.count)
        return PELT_NONE;
    uint32_t joint = w->source->node_joints[node];
    const char *name = px_json_string(px_json_get(w->source->nodes.items[node], "name"), "");
    if (joint >= skeleton->joint_count || strcmp(name, skeleton->names[joint]) != 0)
        return PELT_NONE;
    while (joint != PELT_NONE && !holds_all(s, joint))
        joint = skeleton->parents[joint];
    return joint;
}

/* Adds a skin of the selected bones and fills s->local. *index: its index. */
static pelt_result put_skin(skin_writer *s, uint32_t *index) {
    px_gltf_writer *w = s->w;
    const pelt_skin *skin = &w->model->skin;
    px_json *json = s->like ? px_json_copy(w->arena, s->like) : px_json_object(w->arena);
    uint32_t root = skeleton_root(s);
    px_json_remove(json, "skeleton");
    if (root != PELT_NONE)
        px_gltf_put_uint(w, json, "skeleton", w->joint_indices[root]);
    px_json *joints = px_gltf_put(w, json, "joints", px_json_array(w->arena));
    float(*matrices)[16] = px_alloc(w->context, skin->bone_count, sizeof *matrices);
    if (!matrices)
        return PELT_ERROR_MEMORY;
    memset(s->has_joint, 0, w->model->skeleton.joint_count * sizeof *s->has_joint);
    uint32_t count = 0;
    for (uint32_t b = 0; b < skin->bone_count; b++) {
        s->local[b] = PELT_NONE;
        if (!s->wanted[b])
            continue;
        for (int e = 0; e < 12; e++)
            matrices[count][4 * (e % 4) + e / 4] = skin->inverse_binds[b].m[e];
        matrices[count][15] = 1;
        px_gltf_push_uint(w, joints, bone_node(s, b));
        s->local[b] = count++;
    }
    px_gltf_put_uint(w, json, "inverseBindMatrices",
                     px_gltf_add_accessor(w, matrices, count, 16, PX_GLTF_F32, 0, false));
    px_gltf_push(w, s->skins, json);
    px_free(w->context, matrices);
    *index = px_json_count(s->skins) - 1;
    return w->failed ? PELT_ERROR_MEMORY : PELT_OK;
}

/* ---- Influences ------------------------------------------------------------------------------------------- */

/* Removes all attributes JOINTS_n and WEIGHTS_n. */
static void strip_sets(px_json *attributes) {
    for (px_json *next, *member = attributes ? attributes->first : NULL; member; member = next) {
        next = member->next;
        if (strncmp(member->key, "JOINTS_", 7) == 0 || strncmp(member->key, "WEIGHTS_", 8) == 0)
            px_json_remove(attributes, member->key);
    }
}

/* The weights of a vertex as they are written: fractions (f32) or integers (u8, u16). */
static void final_weights(const px_gltf_writer *w, size_t vertex, float all[PELT_MAX_INFLUENCES]) {
    const pelt_skin *skin = &w->model->skin;
    const float *in = skin->weights + vertex * skin->influence_count;
    memset(all, 0, PELT_MAX_INFLUENCES * sizeof *all);
    px_skin_round_weights(in, skin->influence_count, w->weights, all);
}

static uint32_t most_influences(const px_gltf_writer *w, const pelt_part *part) {
    uint32_t most = 1;
    for (size_t i = part->first_vertex; i < (size_t)part->first_vertex + part->vertex_count; i++) {
        float all[PELT_MAX_INFLUENCES];
        final_weights(w, i, all);
        for (uint32_t k = most; k < w->model->skin.influence_count; k++)
            if (all[k] > 0)
                most = k + 1;
    }
    return most;
}

static uint32_t put_weights(px_gltf_writer *w, const float *weights, uint32_t count, void *scratch) {
    if (w->weights == PELT_WEIGHTS_F32)
        return px_gltf_add_accessor(w, weights, count, 4, PX_GLTF_F32, PX_GLTF_VERTICES, false);
    bool small = w->weights == PELT_WEIGHTS_U8;
    for (size_t e = 0; e < 4 * (size_t)count; e++)
        if (small)
            ((uint8_t *)scratch)[e] = (uint8_t)weights[e];
        else
            ((uint16_t *)scratch)[e] = (uint16_t)weights[e];
    uint32_t accessor =
        px_gltf_add_accessor(w, scratch, count, 4, small ? PX_GLTF_U8 : PX_GLTF_U16, PX_GLTF_VERTICES, false);
    px_gltf_put(w, px_json_at(w->accessors, accessor), "normalized", px_json_new_bool(w->arena, true));
    return accessor;
}

/* Writes influences 4 · set to 4 · set + 3 of each vertex: joints as u8 (`small`) or u16, and their weights. */
static void put_set(skin_writer *s, uint32_t part, uint32_t set, bool small, void *joints, float *weights) {
    px_gltf_writer *w = s->w;
    const pelt_skin *skin = &w->model->skin;
    const pelt_part *p = &w->parts[part];
    for (size_t i = 0; i < p->vertex_count; i++) {
        size_t first = (p->first_vertex + i) * skin->influence_count;
        float all[PELT_MAX_INFLUENCES];
        final_weights(w, p->first_vertex + i, all);
        for (uint32_t c = 0; c < 4; c++) {
            uint32_t k = 4 * set + c, bone = k < skin->influence_count ? skin->bones[first + k] : 0;
            uint32_t joint = all[k] > 0 ? s->local[bone] : 0;
            if (small)
                ((uint8_t *)joints)[4 * i + c] = (uint8_t)joint;
            else
                ((uint16_t *)joints)[4 * i + c] = (uint16_t)joint;
            weights[4 * i + c] = all[k];
        }
    }
    char name[24];
    px_json *attributes = px_gltf_member(w, w->primitives[part], "attributes", PX_JSON_OBJECT);
    snprintf(name, sizeof name, "JOINTS_%u", set);
    px_gltf_put_uint(
        w, attributes, name,
        px_gltf_add_accessor(w, joints, p->vertex_count, 4, small ? PX_GLTF_U8 : PX_GLTF_U16, PX_GLTF_VERTICES, false));
    snprintf(name, sizeof name, "WEIGHTS_%u", set);
    px_gltf_put_uint(w, attributes, name, put_weights(w, weights, p->vertex_count, joints));
}

static pelt_result put_influences(skin_writer *s, uint32_t part, uint32_t skin_index) {
    px_gltf_writer *w = s->w;
    const pelt_part *p = &w->parts[part];
    px_json *attributes = px_json_get(w->primitives[part], "attributes");
    const px_json *skin = px_json_at(s->skins, skin_index);
    if (px_gltf_shares_vertices(w, part)) {
        px_gltf_put(w, w->primitives[part], "attributes",
                    px_json_copy(w->arena, px_json_get(w->primitives[part - 1], "attributes")));
        return w->failed ? PELT_ERROR_MEMORY : PELT_OK;
    }
    strip_sets(attributes);
    bool small = px_json_count(px_json_get(skin, "joints")) <= 256;
    void *joints = px_alloc(w->context, 4 * (size_t)p->vertex_count, 2); /* also scratch for integer weights */
    float *weights = PX_ALLOC(w->context, float, 4 * (size_t)p->vertex_count);
    uint32_t most = most_influences(w, p);
    for (uint32_t set = 0; joints && weights && set < (most + 3) / 4; set++)
        put_set(s, part, set, small, joints, weights);
    bool enough = joints && weights && !w->failed;
    px_free(w->context, joints);
    px_free(w->context, weights);
    return enough ? PELT_OK : PELT_ERROR_MEMORY;
}

/* ---- Entry point ------------------------------------------------------------------------------------------ */

static px_json *node_at(const px_gltf_writer *w, uint32_t index) {
    return px_json_at(w->nodes, index);
}

/* Writes one skin for all instances if no joint is in it twice, else one skin per instance. */
static pelt_result put_skins(skin_writer *s) {
    px_gltf_writer *w = s->w;
    bool unique;
    uint32_t skin = 0;
    PX_TRY(want_all(s, &unique));
    PX_TRY(join_roots(w));
    if (unique)
        PX_TRY(put_skin(s, &skin));
    for (uint32_t i = 0; i < w->instance_count; i++) {
        if (!w->instances[i].skinned)
            continue;
        if (!unique) {
            want_instance(s, i);
            PX_TRY(put_skin(s, &skin));
        }
        px_gltf_put_uint(w, node_at(w, w->instances[i].node), "skin", skin);
        for (uint32_t p = 0; !unique && p < w->part_count; p++)
            if (w->part_instances[p] == i)
                PX_TRY(put_influences(s, p, skin));
    }
    for (uint32_t p = 0; unique && p < w->part_count; p++)
        if (is_skinned(w, p))
            PX_TRY(put_influences(s, p, skin));
    return PELT_OK;
}

pelt_result px_gltf_emit_skins(px_gltf_writer *w) {
    skin_writer s = {.w = w, .skins = px_json_array(w->arena)};
    bool any = false;
    s.local = PX_NEW(w->arena, uint32_t, w->model->skin.bone_count);
    s.wanted = PX_NEW(w->arena, bool, w->model->skin.bone_count);
    s.has_joint = PX_NEW(w->arena, bool, w->model->skeleton.joint_count);
    if (!s.skins || !s.local || !s.wanted || !s.has_joint)
        return PELT_ERROR_MEMORY;
    s.like = w->source && w->source->skins.count > 0 ? w->source->skins.items[0] : NULL;
    for (px_json *node = w->nodes->first; node; node = node->next)
        px_json_remove(node, "skin");
    px_json_remove(w->root, "skins");
    for (uint32_t i = 0; i < w->instance_count; i++)
        any |= w->instances[i].skinned;
    for (uint32_t p = 0; p < w->part_count; p++)
        if (!is_skinned(w, p))
            strip_sets(px_json_get(w->primitives[p], "attributes"));
    if (!any)
        return PELT_OK;
    PX_TRY(put_skins(&s));
    px_gltf_put(w, w->root, "skins", s.skins);
    return w->failed ? PELT_ERROR_MEMORY : PELT_OK;
}
