/* Levels of detail: MSFT_lod. A level is first written as a separate document, from the same file by the same steps, so
 * its nodes have the same indices. Its meshes, with their accessors and bytes, are then moved to new nodes of the main
 * document, which are in no scene. A node of the first level lists them from fine to coarse. */
#include "io/gltf_document.h"

#include <stdio.h>

#define EXTENSION "MSFT_lod"

typedef struct mover {
    px_gltf_writer *w, *level;
    uint32_t number;  /* number of the level, from 1 */
    uint32_t *meshes; /* [mesh of the level] its index in w + 1; 0: not moved yet */
} mover;

/* ---- Bytes ------------------------------------------------------------------------------------------------ */

static pelt_result move_bytes(mover *m) {
    px_gltf_writer *w = m->w, *level = m->level;
    size_t before = w->data.size;
    PX_TRY(px_gltf_shift(level, w->accessors->count, w->views->count));
    for (px_json *next, *view = level->views->first; view; view = next) {
        next = view->next;
        view->next = NULL;
        if (px_json_uint(px_json_get(view, "buffer"), UINT32_MAX, 0) == level->new_buffer) {
            uint64_t offset = px_json_uint(px_json_get(view, "byteOffset"), SIZE_MAX / 4, 0);
            px_gltf_put(w, view, "byteOffset", px_json_new_uint(w->arena, before + offset));
        }
        px_gltf_push(w, w->views, view);
    }
    for (px_json *next, *accessor = level->accessors->first; accessor; accessor = next) {
        next = accessor->next;
        accessor->next = NULL;
        px_gltf_push(w, w->accessors, accessor);
    }
    px_buffer_add(&w->data, level->data.data, level->data.size);
    w->failed |= w->data.failed;
    return w->failed ? PELT_ERROR_MEMORY : PELT_OK;
}

/* ---- Skins ------------------------------------------------------------------------------------- */

static uint32_t index_at(const px_json *object, const char *key) {
    return (uint32_t)px_json_uint(px_json_get(object, key), PELT_NONE - 1, PELT_NONE);
}

static bool same_numbers(const px_json *a, const px_json *b) {
    const px_json *x = a ? a->first : NULL, *y = b ? b->first : NULL;
    for (; x && y; x = x->next, y = y->next)
        if (px_json_uint(x, UINT32_MAX, 0) != px_json_uint(y, UINT32_MAX, 0))
            return false;
    return !x && !y;
}

/* The index in w of a skin of the level. Skins with the same index are equal, unless the level has lost all vertices of
 * some bones: its skin is then copied. */
static uint32_t move_skin(mover *m, uint32_t skin) {
    px_json *skins = px_json_get(m->w->root, "skins");
    const px_json *own = px_json_at(skins, skin), *other = px_json_at(px_json_get(m->level->root, "skins"), skin);
    if (own && same_numbers(px_json_get(own, "joints"), px_json_get(other, "joints")))
        return skin;
    px_gltf_push(m->w, skins, px_json_copy(m->w->arena, other));
    return px_json_count(skins) - 1;
}

/* ---- Nodes ------------------------------------------------------------------------------------------------ */

static void add_node(mover *m, const px_json *like) {
    px_gltf_writer *w = m->w;
    px_json *node = px_gltf_push(w, w->nodes, px_json_copy(w->arena, like)), *extensions;
    char name[256];
    uint32_t skin = index_at(like, "skin");
    px_json_remove(node, "children");
    if ((extensions = px_json_get(node, "extensions")))
        px_json_remove(extensions, EXTENSION);
    if (extensions && extensions->count == 0)
        px_json_remove(node, "extensions");
    snprintf(name, sizeof name, "%.200s_LOD%u", px_json_string(px_json_get(like, "name"), "mesh"), m->number);
    px_gltf_put(w, node, "name", px_json_new_string(w->arena, name));
    uint32_t mesh = index_at(like, "mesh");
    if (!m->meshes[mesh]) {
        px_gltf_push(w, w->meshes, px_json_copy(w->arena, px_json_at(m->level->meshes, mesh)));
        m->meshes[mesh] = w->meshes->count;
    }
    px_gltf_put_uint(w, node, "mesh", m->meshes[mesh] - 1);
    if (skin == PELT_NONE)
        return;
    static const char *const transforms[] = {"matrix", "translation", "rotation", "scale"};
    for (size_t t = 0; t < PX_COUNT(transforms); t++) /* they have no effect on skinned meshes */
        px_json_remove(node, transforms[t]);
    px_gltf_put_uint(w, node, "skin", move_skin(m, skin));
}

/* Lists node `index` as the level of a node. Then extras.MSFT_screencoverage, where other programs expect it: the least
 * fraction of the screen at which each level is shown. Each is half of the one before; the last is 0, so that the last
 * level is always shown. */
static void list_level(px_gltf_writer *w, px_json *node, uint32_t index, uint32_t number) {
    px_json *lod = px_gltf_member(w, px_gltf_member(w, node, "extensions", PX_JSON_OBJECT), EXTENSION, PX_JSON_OBJECT);
    if (number == 1)
        px_gltf_put(w, lod, "ids", px_json_array(w->arena)); /* the file's own levels belong to the old mesh */
    px_gltf_push_uint(w, px_gltf_member(w, lod, "ids", PX_JSON_ARRAY), index);
    px_json *list = px_gltf_put(w, px_gltf_member(w, node, "extras", PX_JSON_OBJECT), "MSFT_screencoverage",
                                px_json_array(w->arena));
    float share = 0.5f;
    for (uint32_t n = 0; n <= number; n++, share /= 2)
        px_gltf_push(w, list, px_json_new_float(w->arena, n == number ? 0 : share));
    px_json *used = px_gltf_member(w, w->root, "extensionsUsed", PX_JSON_ARRAY);
    bool listed = false;
    for (const px_json *name = used ? used->first : NULL; name; name = name->next)
        listed |= strcmp(px_json_string(name, ""), EXTENSION) == 0;
    if (!listed)
        px_gltf_push(w, used, px_json_new_string(w->arena, EXTENSION));
}

/* Copies the animation channels of a node to the node of its level. A skinned node gets those of morph weights only,
 * since its transform has no effect. */
static void copy_channels(px_gltf_writer *w, uint32_t node, uint32_t copy, bool skinned) {
    px_json *animations = px_json_get(w->root, "animations");
    for (px_json *animation = animations ? animations->first : NULL; animation; animation = animation->next) {
        px_json *channels = px_json_get(animation, "channels"), *channel = channels ? channels->first : NULL;
        for (uint32_t n = px_json_count(channels); n > 0; n--, channel = channel->next) {
            const px_json *target = px_json_get(channel, "target");
            bool weights = strcmp(px_json_string(px_json_get(target, "path"), ""), "weights") == 0;
            if (index_at(target, "node") != node || (skinned && !weights))
                continue;
            px_json *added = px_gltf_push(w, channels, px_json_copy(w->arena, channel));
            px_gltf_put_uint(w, px_json_get(added, "target"), "node", copy);
        }
    }
}

static pelt_result move_level(mover *m) {
    px_gltf_writer *w = m->w;
    if (!(m->meshes = PX_NEW(w->arena, uint32_t, m->level->meshes->count)))
        return PELT_ERROR_MEMORY;
    PX_TRY(move_bytes(m));
    const px_json *like = m->level->nodes->first;
    uint32_t index = 0;
    for (px_json *node = w->nodes->first; node && like && !w->failed; node = node->next, like = like->next, index++) {
        if (index_at(node, "mesh") == PELT_NONE || index_at(like, "mesh") >= m->level->meshes->count)
            continue;
        add_node(m, like);
        list_level(w, node, w->nodes->count - 1, m->number);
        copy_channels(w, index, w->nodes->count - 1, px_json_get(like, "skin") != NULL);
    }
    return w->failed ? PELT_ERROR_MEMORY : PELT_OK;
}

pelt_result px_gltf_add_level(px_gltf_writer *w, const pelt_model *model, uint32_t number) {
    px_gltf_writer level = {.context = w->context,
                            .model = model,
                            .arena = w->arena,
                            .weights = w->weights,
                            .ordered = w->ordered,
                            .plain = w->plain,
                            .sparse = w->sparse,
                            .data = {.context = w->context},
                            .zeros = {.context = w->context}};
    mover m = {.w = w, .level = &level, .number = number};
    pelt_result result = px_gltf_make(&level);
    if (result == PELT_OK)
        result = move_level(&m);
    w->changed |= PELT_CHANGED_VERTICES; /* px_gltf_pack then removes unreferenced accessors of the level */
    px_buffer_free(&level.data);
    px_buffer_free(&level.zeros);
    return result;
}
