/* Writes joints to nodes and scenes of the document, and motions to its animations. */
#include "io/gltf_document.h"

/* ---- Scenes ----------------------------------------------------------------------------------------------- */

static bool has_number(const px_json *list, uint32_t number) {
    for (const px_json *item = list ? list->first : NULL; item; item = item->next)
        if (px_json_uint(item, PELT_NONE - 1, PELT_NONE) == number)
            return true;
    return false;
}

void px_gltf_remove_number(px_gltf_writer *w, px_json *object, const char *key, uint32_t number) {
    const px_json *old = px_json_get(object, key);
    px_json *list = px_json_array(w->arena);
    if (!has_number(old, number))
        return;
    for (const px_json *item = old->first; item; item = item->next)
        if (px_json_uint(item, PELT_NONE - 1, PELT_NONE) != number)
            px_gltf_push(w, list, px_json_copy(w->arena, item));
    if (px_json_count(list) > 0)
        px_gltf_put(w, object, key, list);
    else
        px_json_remove(object, key);
}

/* Whether a scene contains a joint: the joint or one of its ancestors is a root of the scene. */
static bool shows(const px_gltf_writer *w, const px_json *scene, uint32_t joint) {
    const px_json *roots = px_json_get(scene, "nodes");
    while (joint != PELT_NONE && !has_number(roots, w->joint_indices[joint]))
        joint = w->model->skeleton.parents[joint];
    return joint != PELT_NONE;
}

void px_gltf_add_root(px_gltf_writer *w, uint32_t node, uint32_t joint) {
    const px_json *scenes = px_json_get(w->root, "scenes");
    for (px_json *scene = scenes ? scenes->first : NULL; scene; scene = scene->next)
        if ((joint == PELT_NONE || shows(w, scene, joint)) && !has_number(px_json_get(scene, "nodes"), node))
            px_gltf_push_uint(w, px_gltf_member(w, scene, "nodes", PX_JSON_ARRAY), node);
}

/* ---- Nodes ------------------------------------------------------------------------------------------------ */

static void put_transform(px_gltf_writer *w, px_json *node, const pelt_transform *t) {
    pelt_transform identity = px_transform_identity();
    if (memcmp(t->translation, identity.translation, sizeof t->translation) != 0)
        px_gltf_put_floats(w, node, "translation", t->translation, 3);
    if (memcmp(t->rotation, identity.rotation, sizeof t->rotation) != 0)
        px_gltf_put_floats(w, node, "rotation", t->rotation, 4);
    if (memcmp(t->scale, identity.scale, sizeof t->scale) != 0)
        px_gltf_put_floats(w, node, "scale", t->scale, 3);
}

/* Removes the properties of a copied node that are written from the model. */
static void strip_node(px_json *node) {
    static const char *const keys[] = {"children", "mesh",        "skin",     "weights",
                                       "matrix",   "translation", "rotation", "scale"};
    for (size_t k = 0; k < PX_COUNT(keys); k++)
        px_json_remove(node, keys[k]);
}

/* A node of the source with this name that no joint has taken yet, or PELT_NONE. */
static uint32_t find_namesake(const px_gltf_writer *w, const char *name, const bool *taken) {
    for (uint32_t n = 0; name[0] && w->source && n < w->source->nodes.count; n++)
        if (!taken[n] && strcmp(px_json_string(px_json_get(w->source->nodes.items[n], "name"), ""), name) == 0)
            return n;
    return PELT_NONE;
}

/* Adds nodes of the source with a camera or extensions (lights) that are not joints of the model, as roots at their
 * global rest transform. */
static void keep_others(px_gltf_writer *w, const bool *taken, px_json *roots) {
    for (uint32_t n = 0; w->source && n < w->source->nodes.count; n++) {
        const px_json *old = w->source->nodes.items[n];
        if (taken[n] || (!px_json_get(old, "camera") && !px_json_get(old, "extensions")) ||
            px_gltf_is_constrained_only(old))
            continue;
        const pelt_affine *global = &w->source->globals[w->source->node_joints[n]];
        px_json *node = px_gltf_push(w, w->nodes, px_json_copy(w->arena, old));
        float matrix[16] = {0};
        strip_node(node);
        for (int e = 0; e < 12; e++)
            matrix[4 * (e % 4) + e / 4] = global->m[e];
        matrix[15] = 1;
        px_gltf_put_floats(w, node, "matrix", matrix, 16);
        px_gltf_push_uint(w, roots, w->nodes->count - 1);
        w->node_map[n] = w->nodes->count - 1;
    }
}

/* Replaces all scenes by one with these roots. It keeps the name and extras of the source's default scene. */
static void put_scene(px_gltf_writer *w, px_json *roots) {
    const px_json *old = px_json_get(w->root, "scenes");
    uint32_t first = (uint32_t)px_json_uint(px_json_get(w->root, "scene"), UINT32_MAX - 1, 0);
    px_json *scene = px_json_copy(w->arena, px_json_at(old, first));
    px_json *scenes = px_gltf_put(w, w->root, "scenes", px_json_array(w->arena));
    scene = px_gltf_push(w, scenes, scene ? scene : px_json_object(w->arena));
    px_gltf_put(w, scene, "nodes", roots);
    px_gltf_put_uint(w, w->root, "scene", 0);
}

static pelt_result make_nodes(px_gltf_writer *w) {
    const pelt_skeleton *skeleton = &w->model->skeleton;
    uint32_t old_count = w->source ? w->source->nodes.count : 0;
    bool *taken = PX_NEW(w->arena, bool, old_count);
    px_json *roots = px_json_array(w->arena);
    w->node_map = PX_NEW(w->arena, uint32_t, old_count);
    if (!taken || !roots || !w->node_map)
        return PELT_ERROR_MEMORY;
    memset(w->node_map, 0xFF, old_count * sizeof *w->node_map);
    w->nodes = px_gltf_put(w, w->root, "nodes", px_json_array(w->arena));
    w->meshes = px_gltf_put(w, w->root, "meshes", px_json_array(w->arena));
    for (uint32_t j = 0; j < skeleton->joint_count; j++) {
        uint32_t old = find_namesake(w, skeleton->names[j], taken);
        px_json *node;
        if (old != PELT_NONE) {
            taken[old] = true;
            w->node_map[old] = j;
            node = px_gltf_push(w, w->nodes, px_json_copy(w->arena, w->source->nodes.items[old]));
            strip_node(node);
        } else {
            px_gltf_new_node(w, skeleton->names[j], &node);
        }
        put_transform(w, node, &skeleton->rest[j]);
        w->joint_nodes[j] = node;
        w->joint_indices[j] = j;
        uint32_t parent = skeleton->parents[j];
        px_gltf_push_uint(
            w, parent == PELT_NONE ? roots : px_gltf_member(w, w->joint_nodes[parent], "children", PX_JSON_ARRAY), j);
    }
    keep_others(w, taken, roots);
    put_scene(w, roots);
    return w->failed ? PELT_ERROR_MEMORY : PELT_OK;
}

/* Adds nodes for the joints that were appended to those of the source. */
static void add_nodes(px_gltf_writer *w) {
    const pelt_skeleton *skeleton = &w->model->skeleton;
    for (uint32_t j = w->source->nodes.count; j < skeleton->joint_count; j++) {
        uint32_t parent = skeleton->parents[j];
        w->joint_indices[j] = px_gltf_new_node(w, skeleton->names[j], &w->joint_nodes[j]);
        put_transform(w, w->joint_nodes[j], &skeleton->rest[j]);
        if (parent != PELT_NONE)
            px_gltf_push_uint(w, px_gltf_member(w, w->joint_nodes[parent], "children", PX_JSON_ARRAY),
                              w->joint_indices[j]);
        else
            px_gltf_add_root(w, w->joint_indices[j], PELT_NONE);
    }
}

pelt_result px_gltf_emit_nodes(px_gltf_writer *w) {
    if (w->new_nodes)
        return make_nodes(w);
    px_json *node = w->nodes->first;
    for (uint32_t n = 0; node; node = node->next, n++) {
        w->joint_nodes[w->source->node_joints[n]] = node;
        w->joint_indices[w->source->node_joints[n]] = n;
    }
    add_nodes(w);
    return w->failed ? PELT_ERROR_MEMORY : PELT_OK;
}

/* ---- Motions ---------------------------------------------------------------------------------------------- */

/* An accessor of key times that was already written. Tracks often share key times. */
typedef struct written_times {
    const float *times;
    uint32_t count, accessor;
} written_times;
#define REMEMBERED 64u

typedef struct motion_writer {
    px_gltf_writer *w;
    written_times recent[REMEMBERED];
    uint32_t next;
} motion_writer;

static uint32_t put_times(motion_writer *m, const pelt_track *track) {
    for (uint32_t r = 0; r < REMEMBERED; r++) {
        const written_times *t = &m->recent[r];
        if (t->times && t->count == track->key_count &&
            (t->times == track->times || memcmp(t->times, track->times, t->count * sizeof *t->times) == 0))
            return t->accessor;
    }
    uint32_t accessor = px_gltf_add_accessor(m->w, track->times, track->key_count, 1, PX_GLTF_F32, 0, true);
    m->recent[m->next++ % REMEMBERED] = (written_times){track->times, track->key_count, accessor};
    return accessor;
}

static void put_track(motion_writer *m, const pelt_track *track, uint32_t node, px_json *samplers, px_json *channels) {
    static const char *const paths[] = {"translation", "rotation", "scale", "weights"};
    static const char *const interpolations[] = {"LINEAR", "STEP", "CUBICSPLINE"};
    px_gltf_writer *w = m->w;
    bool weights = track->path == PELT_PATH_WEIGHTS;
    uint32_t per_key = track->interpolation == PELT_INTERPOLATION_CUBIC ? 3 : 1;
    px_json *sampler = px_gltf_push(w, samplers, px_json_object(w->arena));
    px_gltf_put_uint(w, sampler, "input", put_times(m, track));
    uint32_t count = track->key_count * per_key;
    px_gltf_put_uint(w, sampler, "output",
                     weights ? px_gltf_add_weights(w, track->values, count * track->width)
                             : px_gltf_add_accessor(w, track->values, count, track->width, PX_GLTF_F32, 0, false));
    if (track->interpolation != PELT_INTERPOLATION_LINEAR)
        px_gltf_put(w, sampler, "interpolation", px_json_new_string(w->arena, interpolations[track->interpolation]));
    px_json *channel = px_gltf_push(w, channels, px_json_object(w->arena));
    px_gltf_put_uint(w, channel, "sampler", px_json_count(samplers) - 1);
    px_json *target = px_gltf_put(w, channel, "target", px_json_object(w->arena));
    px_gltf_put_uint(w, target, "node", node);
    px_gltf_put(w, target, "path", px_json_new_string(w->arena, paths[track->path]));
}

static void put_motion(motion_writer *m, const pelt_motion *motion, px_json *animations) {
    px_gltf_writer *w = m->w;
    px_json *animation = px_json_object(w->arena);
    if (motion->name[0])
        px_gltf_put(w, animation, "name", px_json_new_string(w->arena, motion->name));
    px_json *samplers = px_gltf_put(w, animation, "samplers", px_json_array(w->arena));
    px_json *channels = px_gltf_put(w, animation, "channels", px_json_array(w->arena));
    for (uint32_t t = 0; t < motion->track_count; t++) {
        const pelt_track *track = &motion->tracks[t];
        uint32_t node =
            track->path == PELT_PATH_WEIGHTS ? w->weight_nodes[track->joint] : w->joint_indices[track->joint];
        if (node != PELT_NONE && track->key_count > 0)
            put_track(m, track, node, samplers, channels);
    }
    if (px_json_count(channels) > 0) /* the specification forbids empty animations */
        px_gltf_push(w, animations, animation);
}

pelt_result px_gltf_weight_nodes(px_gltf_writer *w) {
    const pelt_model *model = w->model;
    if (!(w->weight_nodes = PX_NEW(w->arena, uint32_t, model->skeleton.joint_count)))
        return PELT_ERROR_MEMORY;
    for (uint32_t j = 0; j < model->skeleton.joint_count; j++)
        w->weight_nodes[j] = PELT_NONE;
    for (uint32_t p = 0; p < model->morphs.morph_count; p++) /* nodes of the source keep their own targets */
        w->weight_nodes[model->morphs.morphs[p].joint] =
            w->new_nodes ? PELT_NONE : w->joint_indices[model->morphs.morphs[p].joint];
    for (uint32_t i = 0; i < w->instance_count; i++)
        if (w->instances[i].joint != PELT_NONE && w->instances[i].morph_count > 0)
            w->weight_nodes[w->instances[i].joint] = w->instances[i].node;
    return PELT_OK;
}

pelt_result px_gltf_emit_motions(px_gltf_writer *w) {
    const pelt_model *model = w->model;
    motion_writer m = {.w = w};
    px_json *animations = px_json_array(w->arena);
    if (!animations)
        return PELT_ERROR_MEMORY;
    for (uint32_t n = 0; n < model->motion_count; n++)
        put_motion(&m, &model->motions[n], animations);
    px_json_remove(w->root, "animations");
    if (animations->count > 0)
        px_gltf_put(w, w->root, "animations", animations);
    return w->failed ? PELT_ERROR_MEMORY : PELT_OK;
}
