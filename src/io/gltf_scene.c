/* Reads nodes as joints and animations as motions. */
#include "io/gltf_document.h"

/* Largest invisible difference between the matrix of a node and its TRS form, relative to the matrix. */
#define SHEAR_TOLERANCE 1e-4

/* ---- Nodes ------------------------------------------------------------------------------------------------ */

/* Reads `count` finite numbers at a key. *found is false if the key is missing. */
static pelt_result get_floats(px_gltf *doc, const px_json *object, const char *key, uint32_t count, float *out,
                              bool *found) {
    const px_json *array = px_json_get(object, key);
    *found = array != NULL;
    if (!array)
        return PELT_OK;
    if (!px_json_is(array, PX_JSON_ARRAY) || array->count != count)
        return px_gltf_fail(doc, "\"%s\" must be a list of %u numbers", key, count);
    for (const px_json *item = array->first; item; item = item->next) {
        float value = (float)px_json_double(item, NAN);
        if (!isfinite(value))
            return px_gltf_fail(doc, "\"%s\" must hold finite numbers", key);
        *out++ = value;
    }
    return PELT_OK;
}

static pelt_result read_transform(px_gltf *doc, const px_json *node, pelt_transform *out) {
    float matrix[16];
    bool has_matrix, ignored;
    *out = px_transform_identity();
    PX_TRY(get_floats(doc, node, "matrix", 16, matrix, &has_matrix));
    if (has_matrix) {
        pelt_affine affine;
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 4; c++)
                affine.m[4 * r + c] = matrix[4 * c + r];
        double shear = px_transform_from_affine(&affine, out);
        if (shear > SHEAR_TOLERANCE)
            px_log(doc->context, PELT_LOG_WARNING, "%s: its matrix has shear (%.3g), which is dropped", doc->place,
                   shear);
        return PELT_OK;
    }
    PX_TRY(get_floats(doc, node, "translation", 3, out->translation, &ignored));
    PX_TRY(get_floats(doc, node, "rotation", 4, out->rotation, &ignored));
    PX_TRY(get_floats(doc, node, "scale", 3, out->scale, &ignored));
    px_quat_mend(out->rotation);
    return PELT_OK;
}

/* Fills parents [node] from the lists of children. PELT_NONE: a root. */
static pelt_result find_parents(px_gltf *doc, uint32_t *parents) {
    uint32_t count = doc->nodes.count;
    for (uint32_t n = 0; n < count; n++)
        parents[n] = PELT_NONE;
    for (uint32_t n = 0; n < count; n++) {
        const px_json *children = px_json_get(doc->nodes.items[n], "children");
        px_gltf_place(doc, "node %u", n);
        if (children && !px_json_is(children, PX_JSON_ARRAY))
            return px_gltf_fail(doc, "\"children\" must be a list");
        for (const px_json *item = children ? children->first : NULL; item; item = item->next) {
            uint32_t child = (uint32_t)px_json_uint(item, PELT_NONE - 1, PELT_NONE);
            if (child >= count)
                return px_gltf_fail(doc, "its child %.40s does not exist, there are %u nodes",
                                    item->text ? item->text : "", count);
            if (parents[child] != PELT_NONE)
                return px_gltf_fail(doc, "its child %u has node %u as parent already", child, parents[child]);
            parents[child] = n;
        }
    }
    return PELT_OK;
}

/* Assigns joints to nodes: parents before children, otherwise in file order. `chain` [node] is scratch. */
static pelt_result order_nodes(px_gltf *doc, const uint32_t *parents, uint32_t *chain) {
    uint32_t count = doc->nodes.count, joint_count = 0;
    for (uint32_t n = 0; n < count; n++)
        doc->node_joints[n] = PELT_NONE;
    for (uint32_t n = 0; n < count; n++) {
        uint32_t length = 0;
        for (uint32_t up = n; up != PELT_NONE && doc->node_joints[up] == PELT_NONE; up = parents[up]) {
            if (length == count) {
                px_gltf_place(doc, "node %u", n);
                return px_gltf_fail(doc, "is its own ancestor");
            }
            chain[length++] = up;
        }
        while (length > 0) {
            uint32_t node = chain[--length];
            doc->joint_nodes[joint_count] = node;
            doc->node_joints[node] = joint_count++;
        }
    }
    return PELT_OK;
}

/* Marks the joints that are in any scene; all joints if there are no scenes. */
static pelt_result find_shown(px_gltf *doc, const pelt_skeleton *skeleton) {
    const px_json *scenes = px_json_get(doc->root, "scenes");
    uint32_t scene = 0;
    for (const px_json *item = scenes ? scenes->first : NULL; item; item = item->next, scene++) {
        const px_json *nodes = px_json_get(item, "nodes");
        for (const px_json *root = nodes ? nodes->first : NULL; root; root = root->next) {
            uint32_t node = (uint32_t)px_json_uint(root, PELT_NONE - 1, PELT_NONE);
            px_gltf_place(doc, "scene %u", scene);
            if (node >= doc->nodes.count)
                return px_gltf_fail(doc, "its node %.40s does not exist, there are %u", root->text ? root->text : "",
                                    doc->nodes.count);
            doc->shown[doc->node_joints[node]] = true;
        }
    }
    for (uint32_t j = 0; j < skeleton->joint_count; j++)
        doc->shown[j] |= scene == 0 || (skeleton->parents[j] != PELT_NONE && doc->shown[skeleton->parents[j]]);
    return PELT_OK;
}

static pelt_result make_joints(px_gltf *doc, const uint32_t *parents, pelt_skeleton *skeleton) {
    for (uint32_t j = 0; j < skeleton->joint_count; j++) {
        uint32_t node = doc->joint_nodes[j], parent = parents[node];
        const px_json *json = doc->nodes.items[node];
        px_gltf_place(doc, "node %u", node);
        skeleton->names[j] = px_json_string(px_json_get(json, "name"), "");
        skeleton->parents[j] = parent == PELT_NONE ? PELT_NONE : doc->node_joints[parent];
        PX_TRY(read_transform(doc, json, &skeleton->rest[j]));
    }
    pelt_skeleton_globals(skeleton, skeleton->rest, doc->globals);
    return PELT_OK;
}

pelt_result px_gltf_read_skeleton(px_gltf *doc, pelt_model *model) {
    uint32_t count = doc->nodes.count;
    pelt_skeleton *skeleton = &model->skeleton;
    px_gltf_place(doc, "nodes");
    doc->node_joints = PX_NEW(doc->memory, uint32_t, count);
    doc->joint_nodes = PX_NEW(doc->memory, uint32_t, count);
    doc->shown = PX_NEW(doc->memory, bool, count);
    doc->globals = PX_NEW(doc->memory, pelt_affine, count);
    skeleton->names = PX_NEW(doc->memory, const char *, count);
    skeleton->parents = PX_NEW(doc->memory, uint32_t, count);
    skeleton->rest = PX_NEW(doc->memory, pelt_transform, count);
    if (!doc->node_joints || !doc->joint_nodes || !doc->shown || !doc->globals || !skeleton->names ||
        !skeleton->parents || !skeleton->rest)
        return PELT_ERROR_MEMORY;
    uint32_t *scratch = PX_ALLOC(doc->context, uint32_t, 2 * (size_t)count);
    if (!scratch)
        return PELT_ERROR_MEMORY;
    skeleton->joint_count = count;
    pelt_result result = find_parents(doc, scratch);
    if (result == PELT_OK)
        result = order_nodes(doc, scratch, scratch + count);
    if (result == PELT_OK)
        result = make_joints(doc, scratch, skeleton);
    px_free(doc->context, scratch);
    PX_TRY(result);
    return find_shown(doc, skeleton);
}

/* ---- Animations ------------------------------------------------------------------------------------------- */

typedef struct motion_reader {
    px_gltf *doc;
    pelt_model *model;
    uint32_t *morph_counts; /* [joint] number of morph targets */
    const float **times;    /* [accessor] key times that were already read, or NULL; samplers share them */
    px_json **samplers;     /* [sampler_count] of the current animation */
    uint32_t sampler_count, sampler_capacity;
} motion_reader;

static pelt_result read_times(motion_reader *r, uint32_t index, pelt_track *track) {
    px_gltf_accessor a;
    PX_TRY(px_gltf_accessor_get(r->doc, index, "input", 1, PX_GLTF_FLOAT, &a));
    track->key_count = a.count;
    track->times = r->times[index];
    if (track->times)
        return PELT_OK;
    float *times = PX_GLTF_NEW(r->doc, float, a.count);
    if (!times)
        return r->doc->failure;
    PX_TRY(px_gltf_floats(r->doc, &a, times));
    for (uint32_t k = 0; k < a.count; k++)
        if (!isfinite(times[k]) || (k > 0 && !(times[k] > times[k - 1])))
            return px_gltf_fail(r->doc, "accessor %u: key %u is at %g s; times must ascend", index, k,
                                (double)times[k]);
    track->times = r->times[index] = times;
    return PELT_OK;
}

static pelt_result read_values(motion_reader *r, uint32_t index, pelt_track *track) {
    bool weights = track->path == PELT_PATH_WEIGHTS;
    px_gltf_accessor a;
    PX_TRY(px_gltf_accessor_get(r->doc, index, "output", weights ? 1 : track->width,
                                PX_GLTF_FLOAT | PX_GLTF_UNIT | PX_GLTF_SIGNED, &a));
    uint64_t per_key =
        (uint64_t)(weights ? track->width : 1) * (track->interpolation == PELT_INTERPOLATION_CUBIC ? 3 : 1);
    if (a.count != per_key * track->key_count)
        return px_gltf_fail(r->doc, "accessor %u: has %u values, %u keys need %llu", index, a.count, track->key_count,
                            (unsigned long long)(per_key * track->key_count));
    size_t float_count = (size_t)a.count * a.width;
    float *values = PX_GLTF_NEW(r->doc, float, float_count);
    if (!values)
        return r->doc->failure;
    PX_TRY(px_gltf_floats(r->doc, &a, values));
    for (size_t v = 0; v < float_count; v++)
        if (!isfinite(values[v]))
            return px_gltf_fail(r->doc, "accessor %u: value %zu is not finite", index, v / a.width);
    if (track->path == PELT_PATH_ROTATION && track->interpolation != PELT_INTERPOLATION_CUBIC)
        for (uint32_t k = 0; k < track->key_count; k++)
            px_quat_mend(values + 4 * (size_t)k);
    track->values = values;
    return PELT_OK;
}

/* Finds the joint and property that a channel animates. *known is false for targets that Pelt does not support: they
 * stay in the document. */
static pelt_result read_target(motion_reader *r, const px_json *channel, pelt_track *track, bool *known) {
    static const char *const paths[] = {"translation", "rotation", "scale", "weights"};
    const px_json *target = px_json_get(channel, "target");
    const char *name = px_json_string(px_json_get(target, "path"), "");
    uint32_t node, path = 0;
    *known = false;
    PX_TRY(px_gltf_index(r->doc, target, "node", r->doc->nodes.count, &node));
    while (path < PX_COUNT(paths) && strcmp(name, paths[path]) != 0)
        path++;
    if (node == PELT_NONE || path == PX_COUNT(paths))
        return PELT_OK;
    track->joint = r->doc->node_joints[node];
    track->path = (pelt_path)path;
    track->width = path == PELT_PATH_ROTATION ? 4 : path == PELT_PATH_WEIGHTS ? r->morph_counts[track->joint] : 3;
    if (track->width == 0)
        px_log(r->doc->context, PELT_LOG_WARNING, "%s: node %u has no morph targets; skipped", r->doc->place, node);
    *known = track->width > 0;
    return PELT_OK;
}

static pelt_result read_track(motion_reader *r, const px_json *channel, pelt_track *track, bool *known) {
    uint32_t sampler, input, output;
    PX_TRY(read_target(r, channel, track, known));
    if (!*known)
        return PELT_OK;
    PX_TRY(px_gltf_index(r->doc, channel, "sampler", r->sampler_count, &sampler));
    if (sampler == PELT_NONE)
        return px_gltf_fail(r->doc, "has no sampler");
    const px_json *json = r->samplers[sampler];
    const char *name = px_json_string(px_json_get(json, "interpolation"), "LINEAR");
    track->interpolation = strcmp(name, "STEP") == 0          ? PELT_INTERPOLATION_STEP
                           : strcmp(name, "CUBICSPLINE") == 0 ? PELT_INTERPOLATION_CUBIC
                                                              : PELT_INTERPOLATION_LINEAR;
    if (track->interpolation == PELT_INTERPOLATION_LINEAR && strcmp(name, "LINEAR") != 0)
        return px_gltf_fail(r->doc, "interpolation \"%.40s\" is unknown", name);
    PX_TRY(px_gltf_index(r->doc, json, "input", r->doc->accessors.count, &input));
    PX_TRY(px_gltf_index(r->doc, json, "output", r->doc->accessors.count, &output));
    if (input == PELT_NONE || output == PELT_NONE)
        return px_gltf_fail(r->doc, "sampler %u has no input or output", sampler);
    PX_TRY(read_times(r, input, track));
    return read_values(r, output, track);
}

static pelt_result list_samplers(motion_reader *r, const px_json *animation) {
    const px_json *samplers = px_json_get(animation, "samplers");
    uint32_t count = px_json_count(samplers);
    if (count > r->sampler_capacity) {
        px_json **grown = px_resize(r->doc->context, r->samplers, count, sizeof *grown);
        if (!grown)
            return PELT_ERROR_MEMORY;
        r->samplers = grown;
        r->sampler_capacity = count;
    }
    r->sampler_count = 0;
    for (px_json *item = samplers ? samplers->first : NULL; item; item = item->next)
        r->samplers[r->sampler_count++] = item;
    return PELT_OK;
}

static pelt_result read_motion(motion_reader *r, uint32_t index, pelt_motion *motion) {
    const px_json *json = r->doc->animations.items[index], *channels = px_json_get(json, "channels");
    motion->name = px_json_string(px_json_get(json, "name"), "");
    motion->tracks = PX_NEW(r->doc->memory, pelt_track, px_json_count(channels));
    if (!motion->tracks)
        return PELT_ERROR_MEMORY;
    PX_TRY(list_samplers(r, json));
    uint32_t number = 0;
    for (const px_json *channel = channels ? channels->first : NULL; channel; channel = channel->next, number++) {
        pelt_track *track = &motion->tracks[motion->track_count];
        bool known;
        px_gltf_place(r->doc, "animation %u, channel %u", index, number);
        PX_TRY(read_track(r, channel, track, &known));
        if (!known)
            continue;
        float first = track->times[0], last = track->times[track->key_count - 1];
        motion->start = motion->track_count == 0 ? first : px_fminf(motion->start, first);
        motion->end = motion->track_count == 0 ? last : px_fmaxf(motion->end, last);
        motion->track_count++;
    }
    return px_cancelled(r->doc->context);
}

pelt_result px_gltf_read_motions(px_gltf *doc, pelt_model *model) {
    motion_reader r = {.doc = doc, .model = model};
    model->motions = PX_NEW(doc->memory, pelt_motion, doc->animations.count);
    r.morph_counts = PX_ALLOC(doc->context, uint32_t, model->skeleton.joint_count);
    r.times = PX_ALLOC(doc->context, const float *, doc->accessors.count);
    pelt_result result = model->motions && r.morph_counts && r.times ? PELT_OK : PELT_ERROR_MEMORY;
    for (uint32_t m = 0; result == PELT_OK && m < model->morphs.morph_count; m++)
        r.morph_counts[model->morphs.morphs[m].joint]++;
    for (uint32_t a = 0; result == PELT_OK && a < doc->animations.count; a++) {
        result = read_motion(&r, a, &model->motions[a]);
        model->motion_count++;
    }
    px_free(doc->context, r.morph_counts);
    px_free(doc->context, r.times);
    px_free(doc->context, r.samplers);
    return result;
}
