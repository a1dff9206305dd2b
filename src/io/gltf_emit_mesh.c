/* Writes meshes to the document: assignment of parts to nodes, vertices, triangles and morph targets. */
#include "io/gltf_document.h"

#include <stdio.h>

/* ---- Assignment of parts to nodes ------------------------------------------------------------------------- */

/* The bone that alone moves all vertices of a part and belongs to the part's joint, or PELT_NONE. */
static uint32_t only_bone(const pelt_model *model, const pelt_part *part) {
    const pelt_skin *skin = &model->skin;
    size_t first = part->first_vertex, count = part->vertex_count, step = skin->influence_count;
    uint32_t bone = skin->bones[first * step];
    if (skin->bone_joints[bone] != part->joint)
        return PELT_NONE;
    for (size_t i = first; i < first + count; i++)
        if (skin->bones[i * step] != bone || skin->weights[i * step] < 1)
            return PELT_NONE;
    return bone;
}

/* Whether a part can be attached to its joint's node without a skin. `inverse` gets the transform from rest space to
 * the space of the joint. */
static bool is_rigid(const pelt_model *model, const pelt_affine *globals, const pelt_part *part, pelt_affine *inverse) {
    *inverse = px_affine_identity();
    if (model->skin.bone_count == 0) {
        if (part->joint != PELT_NONE)
            px_affine_inverse(&globals[part->joint], inverse);
        return true;
    }
    if (part->joint == PELT_NONE || part->skinned)
        return false;
    uint32_t bone = only_bone(model, part);
    if (bone != PELT_NONE)
        *inverse = model->skin.inverse_binds[bone];
    return bone != PELT_NONE;
}

static uint32_t morph_joint(const pelt_model *model, const pelt_part *part) {
    for (uint32_t m = 0; m < model->morphs.morph_count; m++) {
        const pelt_morph *morph = &model->morphs.morphs[m];
        if (part->first_vertex >= morph->first_vertex && part->first_vertex - morph->first_vertex < morph->vertex_count)
            return morph->joint;
    }
    return PELT_NONE;
}

static pelt_result find_rigid(px_gltf_writer *w) {
    const pelt_skeleton *skeleton = &w->model->skeleton;
    pelt_affine *globals = PX_NEW(w->arena, pelt_affine, skeleton->joint_count);
    if (!globals)
        return PELT_ERROR_MEMORY;
    pelt_skeleton_globals(skeleton, skeleton->rest, globals);
    for (uint32_t p = 0; p < w->part_count; p++)
        w->rigid[p] = is_rigid(w->model, globals, &w->parts[p], &w->inverses[p]);
    return PELT_OK;
}

/* For nodes of the source: each keeps its parts. A mesh that several nodes share is copied for each of them. */
static pelt_result keep_instances(px_gltf_writer *w) {
    uint32_t mesh_count = w->source->meshes.count;
    bool *taken = PX_NEW(w->arena, bool, mesh_count);
    px_json **meshes = PX_NEW(w->arena, px_json *, mesh_count);
    if (!taken || !meshes)
        return PELT_ERROR_MEMORY;
    px_json *item = w->meshes->first;
    for (uint32_t m = 0; m < mesh_count; m++, item = item->next)
        meshes[m] = item;
    const px_json *primitive = NULL;
    for (uint32_t p = 0, number = 0; p < w->part_count; p++) {
        const px_gltf_source *source = &w->source->sources[p];
        if (p == 0 || source->node != source[-1].node) {
            px_gltf_instance *instance = &w->instances[w->instance_count++];
            *instance = (px_gltf_instance){.joint = w->parts[p].joint, .node = source->node};
            instance->mesh = meshes[source->mesh];
            if (taken[source->mesh]) {
                instance->mesh =
                    px_gltf_push(w, w->meshes, px_json_copy(w->arena, w->source->meshes.items[source->mesh]));
                px_gltf_put_uint(w, w->joint_nodes[w->source->node_joints[source->node]], "mesh", w->meshes->count - 1);
            }
            taken[source->mesh] = true;
            primitive = px_json_at(px_json_get(instance->mesh, "primitives"), 0);
            number = 0;
        }
        for (; primitive && number < source->primitive; number++)
            primitive = primitive->next;
        w->primitives[p] = (px_json *)(uintptr_t)primitive;
        w->part_instances[p] = w->instance_count - 1;
        w->failed |= !primitive;
    }
    return PELT_OK;
}

/* Adds the primitive of a part. glTF has no names for primitives: a part name that differs from the mesh name is stored
 * in extras.name, which other programs ignore. */
static px_json *new_primitive(px_gltf_writer *w, uint32_t part) {
    px_json *json = w->source ? px_json_copy(w->arena, w->source->sources[part].json) : px_json_object(w->arena);
    px_json *mesh = w->instances[w->part_instances[part]].mesh;
    const char *name = w->parts[part].name;
    if (!w->source && name[0] && strcmp(name, px_json_string(px_json_get(mesh, "name"), "")) != 0)
        px_gltf_put(w, px_gltf_member(w, json, "extras", PX_JSON_OBJECT), "name", px_json_new_string(w->arena, name));
    return px_gltf_push(w, px_gltf_member(w, mesh, "primitives", PX_JSON_ARRAY), json);
}

/* Adds the mesh of a new instance: a copy of the source's mesh without its primitives, or an empty mesh. */
static px_json *new_mesh(px_gltf_writer *w, uint32_t part) {
    px_json *mesh = px_json_object(w->arena);
    if (w->source)
        mesh = px_json_copy(w->arena, w->source->meshes.items[w->source->sources[part].mesh]);
    else if (w->parts[part].name[0])
        px_gltf_put(w, mesh, "name", px_json_new_string(w->arena, w->parts[part].name));
    px_json_remove(mesh, "primitives");
    return px_gltf_push(w, w->meshes, mesh);
}

/* For new nodes: makes one instance per joint with parts, and one per node of the source for parts without a joint. */
static pelt_result group_parts(px_gltf_writer *w) {
    uint32_t joint_count = w->model->skeleton.joint_count, node_count = w->source ? w->source->nodes.count : 1;
    uint32_t *of_joint = PX_NEW(w->arena, uint32_t, (size_t)joint_count + node_count); /* instance + 1; 0: none */
    if (!of_joint)
        return PELT_ERROR_MEMORY;
    for (uint32_t p = 0; p < w->part_count; p++) {
        uint32_t joint = w->parts[p].joint;
        joint = joint == PELT_NONE ? morph_joint(w->model, &w->parts[p]) : joint;
        uint32_t node = w->source ? w->source->sources[p].node : 0;
        uint32_t *slot = &of_joint[joint == PELT_NONE ? joint_count + node : joint];
        if (!*slot) {
            px_gltf_instance *instance = &w->instances[w->instance_count++];
            *instance = (px_gltf_instance){.joint = joint, .node = PELT_NONE, .mesh = new_mesh(w, p)};
            *slot = w->instance_count;
        }
        w->part_instances[p] = *slot - 1;
        w->primitives[p] = new_primitive(w, p);
    }
    return PELT_OK;
}

static bool is_bone(const pelt_model *model, uint32_t joint) {
    for (uint32_t b = 0; b < model->skin.bone_count; b++)
        if (model->skin.bone_joints[b] == joint)
            return true;
    return false;
}

/* Whether a joint's node can hold a skinned mesh: a root with identity transform that is not a bone. A node's transform
 * has no effect on a skinned mesh and would only mislead. three.js and Blender turn the nodes that skins list into
 * bones, and lose a mesh or its morph weights there. */
static bool can_carry_skin(const pelt_model *model, uint32_t joint) {
    const pelt_skeleton *skeleton = &model->skeleton;
    pelt_transform identity = px_transform_identity();
    return skeleton->parents[joint] == PELT_NONE && !is_bone(model, joint) &&
           memcmp(&skeleton->rest[joint], &identity, sizeof identity) == 0;
}

static void put_instance_node(px_gltf_writer *w, px_gltf_instance *instance, uint32_t first_part, uint32_t mesh) {
    const pelt_part *part = &w->parts[first_part];
    const char *name = part->name[0] ? part->name : "mesh";
    px_json *node;
    if (w->source)
        name = px_json_string(px_json_get(w->source->nodes.items[w->source->sources[first_part].node], "name"), name);
    bool own = instance->joint == PELT_NONE || part->joint == PELT_NONE ||
               (instance->skinned && !can_carry_skin(w->model, instance->joint));
    if (own) {
        instance->node = px_gltf_new_node(w, name, &node);
        px_gltf_add_root(w, instance->node, PELT_NONE);
    } else {
        instance->node = w->joint_indices[instance->joint];
        node = w->joint_nodes[instance->joint];
    }
    px_gltf_put_uint(w, node, "mesh", mesh);
}

/* Whether a joint's node only holds a mesh: it has no children, camera or extensions, is not a bone, and its transform
 * is not animated. */
static bool only_shows_mesh(const px_gltf_writer *w, uint32_t joint) {
    const pelt_model *model = w->model;
    const px_json *node = w->joint_nodes[joint];
    if (px_json_get(node, "camera") || px_json_get(node, "extensions"))
        return false;
    for (uint32_t j = joint + 1; j < model->skeleton.joint_count; j++)
        if (model->skeleton.parents[j] == joint)
            return false;
    if (is_bone(model, joint))
        return false;
    for (uint32_t m = 0; m < model->motion_count; m++)
        for (uint32_t t = 0; t < model->motions[m].track_count; t++)
            if (model->motions[m].tracks[t].joint == joint && model->motions[m].tracks[t].path != PELT_PATH_WEIGHTS)
                return false;
    return true;
}

/* Makes a joint's node a root with identity transform in every scene that contains it. */
static void move_to_root(px_gltf_writer *w, uint32_t joint) {
    static const char *const transforms[] = {"matrix", "translation", "rotation", "scale"};
    uint32_t parent = w->model->skeleton.parents[joint];
    for (size_t t = 0; t < PX_COUNT(transforms); t++)
        px_json_remove(w->joint_nodes[joint], transforms[t]);
    px_gltf_add_root(w, w->joint_indices[joint], joint);
    if (parent != PELT_NONE)
        px_gltf_remove_number(w, w->joint_nodes[parent], "children", w->joint_indices[joint]);
}

/* Separates a joint from its mesh: a new node takes the joint's place in the tree; the old node keeps the mesh and
 * becomes a root. The mesh keeps its node because parts are in node order and motions of morph weights refer to it. */
static void move_joint(px_gltf_writer *w, uint32_t joint) {
    static const char *const of_mesh[] = {"mesh", "skin", "weights"}, *const of_joint[] = {"children", "camera",
                                                                                           "extensions"};
    px_json *shown = w->joint_nodes[joint], *node = px_gltf_push(w, w->nodes, px_json_copy(w->arena, shown));
    uint32_t parent = w->model->skeleton.parents[joint], index = px_json_count(w->nodes) - 1;
    move_to_root(w, joint);
    for (size_t k = 0; k < PX_COUNT(of_mesh); k++) {
        px_json_remove(node, of_mesh[k]);
        px_json_remove(shown, of_joint[k]);
    }
    if (parent == PELT_NONE)
        px_gltf_add_root(w, index, joint);
    else
        px_gltf_push_uint(w, px_gltf_member(w, w->joint_nodes[parent], "children", PX_JSON_ARRAY), index);
    w->joint_nodes[joint] = node;
    w->joint_indices[joint] = index;
    w->changed |= PELT_CHANGED_MOTIONS | PELT_CHANGED_DRIVERS; /* both refer to nodes by index */
}

/* Moves a mesh that gets a skin to a root with identity transform: moves its node if the node only holds the mesh, else
 * separates the mesh from the joint. A skinned mesh never stays on the node of a bone: three.js drops the animation of
 * its morph weights there. */
static void place_skinned(px_gltf_writer *w, const px_gltf_instance *instance, bool was_skinned) {
    uint32_t joint = instance->joint;
    bool shown = px_json_get(w->joint_nodes[joint], "mesh") != NULL;
    bool stays = was_skinned ? !is_bone(w->model, joint) : can_carry_skin(w->model, joint);
    if (!instance->skinned || !(w->changed & PELT_CHANGED_SKIN) || !shown || stays)
        return;
    if (only_shows_mesh(w, joint))
        move_to_root(w, joint);
    else
        move_joint(w, joint);
}

pelt_result px_gltf_emit_instances(px_gltf_writer *w) {
    const pelt_morph_set *morphs = &w->model->morphs;
    w->instances = PX_NEW(w->arena, px_gltf_instance, w->part_count);
    if (!w->instances)
        return PELT_ERROR_MEMORY;
    PX_TRY(find_rigid(w));
    PX_TRY(w->new_nodes ? group_parts(w) : keep_instances(w));
    for (uint32_t p = 0; p < w->part_count; p++) {
        px_gltf_instance *instance = &w->instances[w->part_instances[p]];
        bool kept = !(w->changed & PELT_CHANGED_SKIN); /* skins are kept: the same parts stay skinned */
        instance->skinned |= kept ? w->source->sources[p].skinned : !w->rigid[p];
    }
    for (uint32_t p = 0; w->new_nodes && p < w->part_count; p++) {
        px_gltf_instance *instance = &w->instances[w->part_instances[p]];
        if (instance->node == PELT_NONE)
            put_instance_node(w, instance, p, w->part_instances[p]);
    }
    for (uint32_t i = 0; i < w->instance_count; i++) {
        px_gltf_instance *instance = &w->instances[i];
        for (uint32_t m = 0; m < morphs->morph_count; m++)
            if (morphs->morphs[m].joint == instance->joint && instance->morph_count++ == 0)
                instance->first_morph = m;
    }
    for (uint32_t p = 0; !w->new_nodes && p < w->part_count; p++)
        if (p == 0 || w->part_instances[p] != w->part_instances[p - 1])
            place_skinned(w, &w->instances[w->part_instances[p]], w->source->sources[p].skinned);
    return w->failed ? PELT_ERROR_MEMORY : PELT_OK;
}

bool px_gltf_shares_vertices(const px_gltf_writer *w, uint32_t part) {
    return part > 0 && !w->source && w->part_instances[part] == w->part_instances[part - 1] &&
           w->parts[part].first_vertex == w->parts[part - 1].first_vertex &&
           w->parts[part].vertex_count == w->parts[part - 1].vertex_count;
}

/* ---- Vertices --------------------------------------------------------------------------------------------- */

/* Whether a part is written in the space of its node; false: in the space of the skin. */
static bool is_local(const px_gltf_writer *w, uint32_t part) {
    const px_gltf_instance *instance = &w->instances[w->part_instances[part]];
    if (!(w->changed & PELT_CHANGED_SKIN)) /* keep unweighted parts of skinned nodes as they are */
        return !w->source->sources[part].skinned;
    return !instance->skinned;
}

/* Whether a part's vertices are written in the same space as in the source. */
static bool same_space(const px_gltf_writer *w, uint32_t part) {
    if (!w->source)
        return false;
    bool local = is_local(w, part);
    return local != w->source->sources[part].skinned && !(w->new_nodes && local);
}

typedef void move_fn(const pelt_affine *a, float *vectors, size_t count);

/* Writes a part's range of a mesh array as a new accessor, transformed to the node's space if the part is local. */
static void put_array(px_gltf_writer *w, uint32_t part, const char *name, const float *array, uint32_t width,
                      move_fn *move, float *scratch) {
    const pelt_part *p = &w->parts[part];
    memcpy(scratch, array + (size_t)p->first_vertex * width, (size_t)p->vertex_count * width * sizeof *scratch);
    if (move && is_local(w, part))
        move(&w->inverses[part], scratch, p->vertex_count);
    px_json *attributes = px_gltf_member(w, w->primitives[part], "attributes", PX_JSON_OBJECT);
    px_gltf_put_uint(w, attributes, name,
                     px_gltf_add_accessor(w, scratch, p->vertex_count, width, PX_GLTF_F32, PX_GLTF_VERTICES,
                                          strcmp(name, "POSITION") == 0));
}

static void put_vertices(px_gltf_writer *w, uint32_t part, float *scratch) {
    const pelt_mesh *mesh = &w->model->mesh;
    const px_json *attributes = px_json_get(w->primitives[part], "attributes");
    bool shaded = w->parts[part].triangle_count > 0; /* point clouds have no surface */
    bool normals = w->source ? px_json_get(attributes, "NORMAL") != NULL : shaded;
    bool tangents = w->source ? px_json_get(attributes, "TANGENT") != NULL : shaded && mesh->normals;
    put_array(w, part, "POSITION", mesh->positions, 3, px_gltf_move_points, scratch);
    if (mesh->normals && normals)
        put_array(w, part, "NORMAL", mesh->normals, 3, px_gltf_move_normals, scratch);
    if (mesh->tangents && tangents)
        put_array(w, part, "TANGENT", mesh->tangents, 4, px_gltf_move_tangents, scratch);
    else if (w->changed & PELT_CHANGED_POSITIONS) /* the source's tangents do not match the new positions */
        px_json_remove(px_json_get(w->primitives[part], "attributes"), "TANGENT");
}

static void put_uvs(px_gltf_writer *w, uint32_t part, uint32_t number, const float *values, float *scratch) {
    const pelt_part *p = &w->parts[part];
    const float *uvs = values + 2 * (size_t)p->first_vertex;
    char name[32];
    snprintf(name, sizeof name, "TEXCOORD_%u", number);
    for (size_t i = 0; i < p->vertex_count; i++) {
        scratch[2 * i] = uvs[2 * i];
        scratch[2 * i + 1] = 1 - uvs[2 * i + 1];
    }
    px_gltf_put_uint(w, px_json_get(w->primitives[part], "attributes"), name,
                     px_gltf_add_accessor(w, scratch, p->vertex_count, 2, PX_GLTF_F32, PX_GLTF_VERTICES, false));
}

/* Further texture coordinates and colours of a file of another format. */
static void put_layers(px_gltf_writer *w, uint32_t part, float *scratch) {
    for (uint32_t n = 0; n < w->layers.layer_count; n++) {
        const px_layer *layer = &w->layers.layers[n];
        uint32_t number = px_layer_number(&w->layers, n);
        char name[32];
        snprintf(name, sizeof name, "COLOR_%u", number);
        if (layer->width == PX_UV_WIDTH)
            put_uvs(w, part, number + (w->model->mesh.uvs != NULL), layer->values, scratch);
        else if (number > 0 || !w->model->mesh.colors)
            put_array(w, part, name, layer->values, PX_COLOR_WIDTH, NULL, scratch);
    }
}

/* ---- Triangles and materials ------------------------------------------------------------------------------ */

static pelt_result put_triangles(px_gltf_writer *w, uint32_t part) {
    const pelt_part *p = &w->parts[part];
    size_t count = 3 * (size_t)p->triangle_count;
    if (count == 0) {
        px_gltf_put_uint(w, w->primitives[part], "mode", 0);
        return PELT_OK;
    }
    const uint32_t *triangles = w->model->mesh.triangles + 3 * (size_t)p->first_triangle;
    if (count > UINT32_MAX)
        return px_fail(w->context, PELT_ERROR_OUTPUT, "part %u: has too many triangles for glTF", part);
    bool small = p->vertex_count <= 65535, flip = is_local(w, part) && px_affine_determinant(&w->inverses[part]) < 0;
    void *data = px_alloc(w->context, count, small ? 2 : 4);
    if (!data)
        return PELT_ERROR_MEMORY;
    for (size_t c = 0; c < count; c++) {
        size_t from = flip && c % 3 > 0 ? c - c % 3 + 3 - c % 3 : c; /* mirrored parts: swap two corners */
        uint32_t index = triangles[from] - p->first_vertex;
        if (small)
            ((uint16_t *)data)[c] = (uint16_t)index;
        else
            ((uint32_t *)data)[c] = index;
    }
    px_gltf_put_uint(
        w, w->primitives[part], "indices",
        px_gltf_add_accessor(w, data, (uint32_t)count, 1, small ? PX_GLTF_U16 : PX_GLTF_U32, PX_GLTF_INDICES, false));
    px_free(w->context, data);
    return PELT_OK;
}

/* Refers to the material with the part's material name; adds one, as the model's file has it, if there is none. */
static void put_material(px_gltf_writer *w, uint32_t part) {
    const char *name = w->parts[part].material;
    if (!name)
        return;
    px_json *materials = px_gltf_member(w, w->root, "materials", PX_JSON_ARRAY);
    uint32_t index = 0;
    const px_json *item = materials ? materials->first : NULL;
    while (item && strcmp(px_json_string(px_json_get(item, "name"), ""), name) != 0) {
        item = item->next;
        index++;
    }
    if (!item) {
        px_json *material = px_gltf_push(w, materials, px_json_object(w->arena));
        px_gltf_put(w, material, "name", px_json_new_string(w->arena, name));
        px_gltf_fill_material(w, material, name);
    }
    px_gltf_put_uint(w, w->primitives[part], "material", index);
}

/* ---- Morph targets ---------------------------------------------------------------------------------------- */

/* Writes the displacements of a morph for the vertices of a part; 0 outside the morph's range of vertices, and if
 * `offsets` is NULL. */
static void put_offsets(px_gltf_writer *w, uint32_t part, px_json *target, const char *name, const pelt_morph *morph,
                        const float *offsets, move_fn *move, float *scratch) {
    const pelt_part *p = &w->parts[part];
    if (!px_json_get(px_json_get(w->primitives[part], "attributes"), name))
        return;
    size_t count = p->vertex_count, first = px_max_size(p->first_vertex, morph->first_vertex);
    size_t end = px_min_size((size_t)p->first_vertex + count, (size_t)morph->first_vertex + morph->vertex_count);
    memset(scratch, 0, 3 * count * sizeof *scratch);
    if (offsets && end > first)
        memcpy(scratch + 3 * (first - p->first_vertex), offsets + 3 * (first - morph->first_vertex),
               3 * (end - first) * sizeof *scratch);
    if (move && is_local(w, part))
        move(&w->inverses[part], scratch, count);
    px_gltf_put_uint(w, target, name, px_gltf_add_offsets(w, scratch, p->vertex_count, strcmp(name, "POSITION") == 0));
}

/* An attribute that one target has is written for all: three.js (r187) and others add the mesh's own normals, tangents or
 * colours, in full, for targets that lack them. */
static void put_targets(px_gltf_writer *w, uint32_t part, float *scratch) {
    const px_gltf_instance *instance = &w->instances[w->part_instances[part]];
    bool normals = false, tangents = false, colors = false;
    px_json_remove(w->primitives[part], "targets");
    if (instance->morph_count == 0)
        return;
    for (uint32_t m = 0; m < instance->morph_count; m++) {
        const pelt_morph *morph = &w->model->morphs.morphs[instance->first_morph + m];
        normals |= morph->normals != NULL;
        tangents |= morph->tangents != NULL;
        colors |= morph->colors != NULL;
    }
    px_json *targets = px_gltf_put(w, w->primitives[part], "targets", px_json_array(w->arena));
    for (uint32_t m = 0; m < instance->morph_count; m++) {
        const pelt_morph *morph = &w->model->morphs.morphs[instance->first_morph + m];
        px_json *target = px_gltf_push(w, targets, px_json_object(w->arena));
        put_offsets(w, part, target, "POSITION", morph, morph->positions, px_gltf_move_offsets, scratch);
        if (normals)
            put_offsets(w, part, target, "NORMAL", morph, morph->normals, px_gltf_move_normal_offsets, scratch);
        if (tangents)
            put_offsets(w, part, target, "TANGENT", morph, morph->tangents, px_gltf_move_tangent_offsets, scratch);
        if (colors)
            put_offsets(w, part, target, "COLOR_0", morph, morph->colors, NULL, scratch);
    }
}

/* Writes names and rest weights of an instance's targets. */
static void put_target_names(px_gltf_writer *w, const px_gltf_instance *instance) {
    const pelt_morph *morphs = instance->morph_count ? w->model->morphs.morphs + instance->first_morph : NULL;
    bool named = false, weighted = false;
    for (uint32_t m = 0; m < instance->morph_count; m++) {
        named |= morphs[m].name[0] != 0;
        weighted |= morphs[m].weight != 0;
    }
    px_json *extras = px_json_get(instance->mesh, "extras");
    px_json_remove(extras, "targetNames");
    px_json_remove(instance->mesh, "weights");
    px_json_remove(px_json_at(w->nodes, instance->node), "weights");
    px_json *names = NULL, *weights = NULL;
    if (named)
        names = px_gltf_put(w, px_gltf_member(w, instance->mesh, "extras", PX_JSON_OBJECT), "targetNames",
                            px_json_array(w->arena));
    if (weighted)
        weights = px_gltf_put(w, instance->mesh, "weights", px_json_array(w->arena));
    for (uint32_t m = 0; m < instance->morph_count; m++) {
        char number[32]; /* Blender finds targets by their names and fails on empty ones */
        snprintf(number, sizeof number, "target_%u", m);
        if (named)
            px_gltf_push(w, names, px_json_new_string(w->arena, morphs[m].name[0] ? morphs[m].name : number));
        if (weighted)
            px_gltf_push(w, weights, px_json_new_float(w->arena, morphs[m].weight));
    }
}

/* ---- Entry point ------------------------------------------------------------------------------------------ */

static pelt_result emit_part(px_gltf_writer *w, uint32_t part, float *scratch) {
    bool same = same_space(w, part);
    bool others = w->source && w->changed & PELT_CHANGED_VERTICES && w->parts[part].triangle_count > 0;
    if (others)
        PX_TRY(px_gltf_gather_vertices(w, part));
    if (px_gltf_shares_vertices(w, part)) {
        px_gltf_put(w, w->primitives[part], "attributes",
                    px_json_copy(w->arena, px_json_get(w->primitives[part - 1], "attributes")));
        px_json *targets = px_json_copy(w->arena, px_json_get(w->primitives[part - 1], "targets"));
        if (targets)
            px_gltf_put(w, w->primitives[part], "targets", targets);
    } else {
        if (!same || w->changed & PELT_CHANGED_POSITIONS)
            put_vertices(w, part, scratch);
        if (!w->source && w->model->mesh.uvs)
            put_uvs(w, part, 0, w->model->mesh.uvs, scratch);
        if (!w->source)
            put_layers(w, part, scratch);
        if (!w->source && w->lookup)
            put_array(w, part, "TEXCOORD_1", w->lookup, 2, NULL, scratch);
        if (w->model->mesh.colors && (!w->source || w->changed & PELT_CHANGED_COLORS))
            put_array(w, part, "COLOR_0", w->model->mesh.colors, 3, NULL, scratch);
        if (w->changed & PELT_CHANGED_COLORS)
            px_gltf_put_transfer(w, part, scratch);
        if (!same || w->changed & PELT_CHANGED_MORPHS)
            put_targets(w, part, scratch);
    }
    if (!w->source || others)
        PX_TRY(put_triangles(w, part));
    if (!w->source)
        put_material(w, part);
    return w->failed ? PELT_ERROR_MEMORY : px_cancelled(w->context);
}

pelt_result px_gltf_emit_meshes(px_gltf_writer *w) {
    uint32_t largest = 0;
    for (uint32_t p = 0; p < w->part_count; p++)
        largest = w->parts[p].vertex_count > largest ? w->parts[p].vertex_count : largest;
    float *scratch = PX_ALLOC(w->context, float, 4 * (size_t)largest);
    pelt_result result = scratch ? PELT_OK : PELT_ERROR_MEMORY;
    for (uint32_t p = 0; result == PELT_OK && p < w->part_count; p++)
        result = emit_part(w, p, scratch);
    px_free(w->context, scratch);
    PX_TRY(result);
    for (uint32_t i = 0; i < w->instance_count; i++)
        if (w->changed & PELT_CHANGED_MORPHS)
            put_target_names(w, &w->instances[i]);
    return w->failed ? PELT_ERROR_MEMORY : PELT_OK;
}
