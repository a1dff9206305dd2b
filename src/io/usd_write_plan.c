/* What a USD file has, by which names: see usd_write.h. */
#include "io/usd_write.h"

#include "core/math3.h"

#include <stdio.h>
#include <strings.h>

const char *px_usd_join(px_arena *arena, const char *a, const char *separator, const char *b) {
    size_t size = strlen(a) + strlen(separator) + strlen(b) + 1;
    char *text = px_arena_alloc(arena, size, 1);
    if (text)
        snprintf(text, size, "%s%s%s", a, separator, b);
    return text;
}

static pelt_result add_path(px_usd_writer *w, const char *element, uint32_t parent) {
    const char *path = parent == PELT_NONE ? element : px_usd_join(w->arena, w->paths[parent], "/", element);
    w->paths[w->joint_count++] = path;
    return path ? PELT_OK : PELT_ERROR_MEMORY;
}

static pelt_result plan_joints(px_usd_writer *w) {
    const pelt_skeleton *skeleton = &w->model->skeleton;
    uint32_t most = skeleton->joint_count + w->model->skin.bone_count + 1, roots = 0;
    pelt_affine *globals = PX_NEW(w->arena, pelt_affine, skeleton->joint_count);
    w->paths = PX_NEW(w->arena, const char *, most);
    w->binds = PX_NEW(w->arena, px_scene_matrix, most);
    w->bind_bones = PX_NEW(w->arena, uint32_t, skeleton->joint_count);
    w->bone_joints = PX_NEW(w->arena, uint32_t, w->model->skin.bone_count);
    if (!globals || !w->paths || !w->binds || !w->bind_bones || !w->bone_joints)
        return PELT_ERROR_MEMORY;
    pelt_skeleton_globals(skeleton, skeleton->rest, globals);
    for (uint32_t j = 0; j < skeleton->joint_count; j++)
        roots += skeleton->parents[j] == PELT_NONE;
    w->first_joint = roots > 1;
    if (w->first_joint) {
        w->binds[0] = px_scene_matrix_identity;
        PX_TRY(add_path(w, PX_USD_ROOT_JOINT, PELT_NONE));
    }
    for (uint32_t j = 0; j < skeleton->joint_count; j++) {
        const char *element = px_usd_name(&w->out, skeleton->names[j], "joint");
        uint32_t parent =
            skeleton->parents[j] == PELT_NONE ? (roots > 1 ? 0 : PELT_NONE) : w->first_joint + skeleton->parents[j];
        if (!element)
            return PELT_ERROR_MEMORY;
        PX_TRY(add_path(w, element, parent));
        w->binds[w->first_joint + j] = px_usd_matrix_of(&globals[j]);
        w->bind_bones[j] = PELT_NONE;
    }
    w->has_joints = skeleton->joint_count > 0;
    return PELT_OK;
}

/* The only bone of all vertices of a group; PELT_NONE: there are several. */
static uint32_t only_bone(const px_usd_writer *w, const px_mesh_group *g) {
    const pelt_skin *skin = &w->model->skin;
    uint32_t k = skin->influence_count,
             bone = g->point_count && k ? skin->bones[(size_t)g->vertices[0] * k] : PELT_NONE;
    for (uint32_t i = 0; i < g->point_count && bone != PELT_NONE; i++) {
        size_t at = (size_t)g->vertices[i] * k;
        if (skin->bones[at] != bone || (k > 1 && skin->weights[at + 1] > 0))
            bone = PELT_NONE;
    }
    return bone;
}

/* Gives a bone a joint of the file whose bind matrix is the bone's. */
static pelt_result place_bone(px_usd_writer *w, uint32_t bone, uint32_t *lost) {
    const pelt_skin *skin = &w->model->skin;
    uint32_t joint = skin->bone_joints[bone], before = w->bind_bones[joint];
    px_scene_matrix inverse = px_usd_matrix_of(&skin->inverse_binds[bone]), bind;
    w->bone_joints[bone] = w->first_joint + joint;
    if (before != PELT_NONE &&
        memcmp(&skin->inverse_binds[before], &skin->inverse_binds[bone], sizeof(pelt_affine)) == 0)
        return PELT_OK;
    if (!px_usd_matrix_inverse(&inverse, &bind)) {
        ++*lost;
        return PELT_OK;
    }
    if (before == PELT_NONE) {
        w->bind_bones[joint] = bone;
        w->binds[w->first_joint + joint] = bind;
        return PELT_OK;
    }
    char element[48];
    snprintf(element, sizeof element, PX_USD_BIND_JOINT "%u", bone);
    w->bone_joints[bone] = w->joint_count;
    w->binds[w->joint_count] = bind;
    return add_path(w, element, w->first_joint + joint);
}

static pelt_result plan_bones(px_usd_writer *w) {
    const pelt_skin *skin = &w->model->skin;
    bool *used = PX_NEW(w->arena, bool, skin->bone_count);
    uint32_t lost = 0;
    if (!used)
        return PELT_ERROR_MEMORY;
    for (uint32_t n = 0; n < w->group_count; n++) {
        px_mesh_group *g = &w->groups[n];
        PX_TRY(px_mesh_group_points(w->arena, &w->mesh, g, w->local_points));
        w->group_bones[n] = g->skinned ? PELT_NONE : only_bone(w, g);
        for (uint32_t i = 0; i < g->point_count && w->group_bones[n] == PELT_NONE; i++)
            for (uint32_t k = 0; k < skin->influence_count; k++) {
                size_t at = (size_t)g->vertices[i] * skin->influence_count + k;
                used[skin->bones[at]] |= skin->weights[at] > 0;
            }
    }
    for (uint32_t b = 0; b < skin->bone_count; b++)
        if (used[b])
            PX_TRY(place_bone(w, b, &lost));
    if (lost && !w->write->trial)
        px_log(w->write->context, PELT_LOG_WARNING,
               "%u bones flatten the mesh (their bind matrix has no inverse); USD cannot hold them", lost);
    return PELT_OK;
}

/* Materials of the parts: those of the source file, else grey ones with their names. */
static pelt_result plan_materials(px_usd_writer *w) {
    w->used = PX_NEW(w->arena, px_material, w->mesh.part_count);
    w->used_names = PX_NEW(w->arena, const char *, w->mesh.part_count);
    if (!w->used || !w->used_names)
        return PELT_ERROR_MEMORY;
    if (!w->write->trial)
        PX_TRY(px_materials_get(w->arena, w->model, &w->materials));
    for (uint32_t p = 0; p < w->mesh.part_count; p++) {
        const char *name = w->mesh.parts[p].material;
        px_materials so_far = {.material_count = w->used_count, .materials = w->used};
        if (!name || px_material_named(&so_far, name))
            continue;
        const px_material *known = px_material_named(&w->materials, name);
        px_material *m = &w->used[w->used_count];
        *m = known ? *known : px_material_default(name);
        for (int c = 0; c < 3 && !known; c++)
            m->base_color[c] = 0.8f;
        m->metallic = known ? m->metallic : 0;
        if (!(w->used_names[w->used_count++] = px_usd_name(&w->out, name, "material")))
            return PELT_ERROR_MEMORY;
    }
    return PELT_OK;
}

static pelt_result plan_layers(px_usd_writer *w) {
    PX_TRY(px_layers_get(w->arena, w->model, &w->layers));
    if (!(w->layer_names = PX_NEW(w->arena, const char *, w->layers.layer_count)))
        return PELT_ERROR_MEMORY;
    for (uint32_t n = 0; n < w->layers.layer_count; n++) {
        const px_layer *layer = &w->layers.layers[n];
        const char *name = px_usd_name(&w->out, layer->name, layer->width == PX_UV_WIDTH ? "st1" : "color");
        if (!name || !(w->layer_names[n] = px_usd_join(w->arena, "primvars", ":", name)))
            return PELT_ERROR_MEMORY;
    }
    return PELT_OK;
}

bool px_usd_is_package(const char *path) {
    size_t length = strlen(path);
    return length >= 5 && strcasecmp(path + length - 5, ".usdz") == 0;
}

/* Paths of images relative to the file: in a folder of the package, or beside the text file and named after it. */
static pelt_result plan_images(px_usd_writer *w) {
    const char *name = px_path_name(w->write->path), *dot = strrchr(name, '.');
    const char *stem = px_arena_text(w->arena, name, dot ? (size_t)(dot - name) : strlen(name));
    uint32_t odd = 0;
    w->files = PX_NEW(w->arena, const char *, w->materials.image_count);
    if (!w->files || !stem)
        return PELT_ERROR_MEMORY;
    for (uint32_t i = 0; i < w->materials.image_count; i++) {
        const px_image *image = &w->materials.images[i];
        bool package = px_usd_is_package(w->write->path);
        bool wanted = false,
             good = image->extension && (!strcmp(image->extension, "png") || !strcmp(image->extension, "jpg"));
        for (uint32_t m = 0; m < w->used_count; m++)
            for (int use = 0; use < PX_TEXTURE_USES; use++)
                wanted |= w->used[m].textures[use].image == i;
        odd += wanted && image->extension && !good;
        if (!wanted || !good || (w->write->in_memory && !package))
            continue;
        const char *own = px_usd_name(&w->out, image->name, "image");
        const char *file = own ? px_usd_join(w->arena, own, ".", image->extension) : NULL;
        w->files[i] = file ? px_usd_join(w->arena, package ? "textures" : stem, package ? "/" : "_", file) : NULL;
        if (!w->files[i])
            return PELT_ERROR_MEMORY;
    }
    if (odd)
        px_log(w->write->context, PELT_LOG_WARNING, "%u images are neither PNG nor JPEG; USD files leave them out",
               odd);
    return PELT_OK;
}

/* One channel for each joint and index: morphs with both in common are one target of several meshes. */
static pelt_result plan_channels(px_usd_writer *w) {
    const pelt_morph_set *set = &w->model->morphs;
    if (!(w->channels = PX_NEW(w->arena, const char *, set->morph_count)))
        return PELT_ERROR_MEMORY;
    for (uint32_t m = 0; m < set->morph_count; m++) {
        const pelt_morph *morph = &set->morphs[m], *last = m ? morph - 1 : NULL;
        bool same = last && last->joint == morph->joint && last->index == morph->index;
        w->channels[m] = same ? w->channels[m - 1] : px_usd_name(&w->out, morph->name, "shape");
        if (!w->channels[m])
            return PELT_ERROR_MEMORY;
    }
    return PELT_OK;
}

/* Whether morph m begins a channel. */
bool px_usd_is_channel(const px_usd_writer *w, uint32_t m) {
    return m == 0 || w->channels[m] != w->channels[m - 1];
}

pelt_result px_usd_plan(px_usd_writer *w) {
    static const char *const own[] = {"Model", "Skeleton", "Materials", PX_USD_ROOT_JOINT, "st"};
    for (size_t n = 0; n < PX_COUNT(own); n++)
        if (!px_usd_name(&w->out, own[n], own[n]))
            return PELT_ERROR_MEMORY;
    w->root = own[0];
    w->mesh = px_mesh_with_parts(&w->model->mesh, &w->whole);
    PX_TRY(plan_joints(w));
    PX_TRY(px_mesh_groups_make(w->arena, &w->mesh, w->model->skin.bone_count > 0, &w->groups, &w->group_count));
    w->group_names = PX_NEW(w->arena, const char *, w->group_count);
    w->group_bones = PX_NEW(w->arena, uint32_t, w->group_count);
    w->local_points = PX_NEW(w->arena, uint32_t, w->mesh.points.count);
    if (!w->group_names || !w->group_bones || !w->local_points)
        return PELT_ERROR_MEMORY;
    for (uint32_t g = 0; g < w->group_count; g++)
        if (!(w->group_names[g] = px_usd_name(&w->out, w->mesh.parts[w->groups[g].first].name, "mesh")))
            return PELT_ERROR_MEMORY;
    PX_TRY(plan_bones(w));
    PX_TRY(plan_channels(w));
    PX_TRY(plan_materials(w));
    PX_TRY(plan_images(w));
    PX_TRY(plan_layers(w));
    float low[3] = {0}, high[3] = {0};
    for (size_t v = 0; v < (size_t)3 * w->mesh.vertex_count; v++) {
        float p = w->mesh.positions[v];
        low[v % 3] = v < 3 || p < low[v % 3] ? p : low[v % 3];
        high[v % 3] = v < 3 || p > high[v % 3] ? p : high[v % 3];
    }
    for (int c = 0; c < 3; c++)
        w->size = px_fmax(w->size, (double)high[c] - low[c]);
    return PELT_OK;
}
