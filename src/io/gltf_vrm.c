/* VRM avatars: extensions that refer to nodes and meshes by index (VRM 0: VRM; VRM 1: VRMC_vrm, VRMC_springBone,
 * VRMC_node_constraint). Nodes of a source keep their indices, unless the model has other joints: then the indices are
 * renumbered, or, if joints that the avatar needs are gone, its data is removed with a warning. */
#include "io/gltf_document.h"

typedef enum target_kind { TARGET_NODE, TARGET_MESH } target_kind;

/* Where indices are. '*' stands for all members of an object or all items of an array. */
static const struct {
    const char *path;
    target_kind kind;
} references[] = {
    {"VRM/humanoid/humanBones/*/node", TARGET_NODE},
    {"VRM/firstPerson/firstPersonBone", TARGET_NODE},
    {"VRM/firstPerson/meshAnnotations/*/mesh", TARGET_MESH},
    {"VRM/blendShapeMaster/blendShapeGroups/*/binds/*/mesh", TARGET_MESH},
    {"VRM/secondaryAnimation/boneGroups/*/bones/*", TARGET_NODE},
    {"VRM/secondaryAnimation/boneGroups/*/center", TARGET_NODE},
    {"VRM/secondaryAnimation/colliderGroups/*/node", TARGET_NODE},
    {"VRMC_vrm/humanoid/humanBones/*/node", TARGET_NODE},
    {"VRMC_vrm/firstPerson/meshAnnotations/*/node", TARGET_NODE},
    {"VRMC_vrm/expressions/*/*/morphTargetBinds/*/node", TARGET_NODE},
    {"VRMC_springBone/colliders/*/node", TARGET_NODE},
    {"VRMC_springBone/springs/*/joints/*/node", TARGET_NODE},
    {"VRMC_springBone/springs/*/center", TARGET_NODE},
};
#define CONSTRAINT "VRMC_node_constraint"
static const char constraint_path[] = CONSTRAINT "/constraint/*/source";

typedef struct mender {
    px_gltf_writer *w;
    bool apply;  /* renumber; false: only look */
    size_t lost; /* references to nodes and meshes that are gone */
} mender;

/* Whether a mesh of the source has the same index and name now. */
static bool has_mesh(const px_gltf_writer *w, uint32_t mesh) {
    const px_json *now = px_json_at(w->meshes, mesh), *old = px_json_at(px_json_get(w->source->root, "meshes"), mesh);
    return now && old &&
           strcmp(px_json_string(px_json_get(now, "name"), ""), px_json_string(px_json_get(old, "name"), "")) == 0;
}

static void mend_number(mender *m, px_json *number, target_kind kind) {
    px_gltf_writer *w = m->w;
    uint32_t index = (uint32_t)px_json_uint(number, PELT_NONE - 1, PELT_NONE);
    if (number->kind != PX_JSON_NUMBER || number->text[0] == '-' || index == PELT_NONE) /* -1: none */
        return;
    if (kind == TARGET_MESH) {
        m->lost += !has_mesh(w, index);
        return;
    }
    uint32_t now = index < w->source->nodes.count ? w->node_map[index] : PELT_NONE;
    m->lost += now == PELT_NONE;
    if (m->apply && now != PELT_NONE)
        px_gltf_set_uint(w, number, now);
}

/* Visits all numbers at a path below a value. */
static void mend_path(mender *m, px_json *value, const char *path, target_kind kind) {
    if (!value)
        return;
    if (*path == 0) {
        mend_number(m, value, kind);
        return;
    }
    size_t size = strcspn(path, "/");
    const char *rest = path + size + (path[size] == '/');
    if (value->kind != PX_JSON_OBJECT && value->kind != PX_JSON_ARRAY)
        return;
    for (px_json *child = value->first; child; child = child->next)
        if (*path == '*' || (child->key && child->key_length == size && memcmp(child->key, path, size) == 0))
            mend_path(m, child, rest, kind);
}

static void mend_all(mender *m) {
    px_json *extensions = px_json_get(m->w->root, "extensions");
    for (size_t r = 0; r < PX_COUNT(references); r++)
        mend_path(m, extensions, references[r].path, references[r].kind);
    for (px_json *node = m->w->nodes->first; node; node = node->next)
        mend_path(m, px_json_get(node, "extensions"), constraint_path, TARGET_NODE);
}

/* Removes an extension from a value, and "extensions" with the last one. */
static bool remove_extension(px_json *from, const char *name) {
    px_json *extensions = px_json_get(from, "extensions");
    bool had = px_json_get(extensions, name) != NULL;
    px_json_remove(extensions, name);
    if (had && px_json_count(extensions) == 0)
        px_json_remove(from, "extensions");
    return had;
}

bool px_gltf_is_constrained_only(const px_json *node) {
    const px_json *extensions = px_json_get(node, "extensions");
    return !px_json_get(node, "camera") && px_json_count(extensions) == 1 && px_json_get(extensions, CONSTRAINT);
}

void px_gltf_mend_vrm(px_gltf_writer *w) {
    static const char *const names[] = {"VRM", "VRMC_vrm", "VRMC_springBone", CONSTRAINT};
    if (!w->source || !w->new_nodes || w->failed)
        return;
    mender m = {.w = w};
    mend_all(&m);
    if (m.lost == 0) {
        m.apply = true;
        mend_all(&m);
        return;
    }
    bool had = false;
    for (size_t n = 0; n < PX_COUNT(names); n++) {
        had |= remove_extension(w->root, names[n]);
        px_gltf_remove_name(w->root, "extensionsUsed", names[n]);
        px_gltf_remove_name(w->root, "extensionsRequired", names[n]);
    }
    for (px_json *node = w->nodes->first; node; node = node->next)
        had |= remove_extension(node, CONSTRAINT);
    if (had)
        px_log(w->context, PELT_LOG_WARNING,
               "VRM data (humanoid, expressions, springs) names joints or meshes that are replaced; it is left out");
}
