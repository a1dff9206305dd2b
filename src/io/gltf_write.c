/* glTF 2.0 writer. Without a source document all data is written; with one, only the data that changed. Both cases use
 * the same code, applied to an empty document or to a copy of the source. */
#include "io/gltf_document.h"
#include "io/materials.h"

#include <stdio.h>
#include <stdlib.h>

#define DEFAULT_PLAYER_INFLUENCES 4u /* bones per vertex that three.js, PlayCanvas and Godot 3 blend */

/* ---- Construction of JSON --------------------------------------------------------------------------------- */

px_json *px_gltf_put(px_gltf_writer *w, px_json *object, const char *key, px_json *value) {
    px_json *done = px_json_set(w->arena, object, key, value);
    w->failed |= !done;
    return done;
}

px_json *px_gltf_push(px_gltf_writer *w, px_json *array, px_json *value) {
    px_json *done = px_json_append(array, value);
    w->failed |= !done;
    return done;
}

void px_gltf_put_uint(px_gltf_writer *w, px_json *object, const char *key, uint32_t value) {
    px_gltf_put(w, object, key, px_json_new_uint(w->arena, value));
}

void px_gltf_push_uint(px_gltf_writer *w, px_json *array, uint32_t value) {
    px_gltf_push(w, array, px_json_new_uint(w->arena, value));
}

static px_json *new_floats(px_gltf_writer *w, const float *values, uint32_t count) {
    px_json *array = px_json_array(w->arena);
    for (uint32_t v = 0; v < count; v++)
        px_gltf_push(w, array, px_json_new_float(w->arena, values[v]));
    return array;
}

void px_gltf_put_floats(px_gltf_writer *w, px_json *object, const char *key, const float *values, uint32_t count) {
    px_gltf_put(w, object, key, new_floats(w, values, count));
}

void px_gltf_push_floats(px_gltf_writer *w, px_json *array, const float *values, uint32_t count) {
    px_gltf_push(w, array, new_floats(w, values, count));
}

px_json *px_gltf_member(px_gltf_writer *w, px_json *object, const char *key, px_json_kind kind) {
    px_json *member = px_json_get(object, key);
    if (px_json_is(member, kind))
        return member;
    return px_gltf_put(w, object, key, kind == PX_JSON_ARRAY ? px_json_array(w->arena) : px_json_object(w->arena));
}

uint32_t px_gltf_new_node(px_gltf_writer *w, const char *name, px_json **node) {
    *node = px_gltf_push(w, w->nodes, px_json_object(w->arena));
    if (name && name[0])
        px_gltf_put(w, *node, "name", px_json_new_string(w->arena, name));
    return px_json_count(w->nodes) - 1;
}

uint32_t px_gltf_add_view(px_gltf_writer *w, const void *data, size_t size, uint32_t target) {
    static const char zeros[4];
    px_json *view = px_gltf_push(w, w->views, px_json_object(w->arena));
    px_gltf_put_uint(w, view, "buffer", w->new_buffer);
    px_gltf_put(w, view, "byteOffset", px_json_new_uint(w->arena, w->data.size));
    px_gltf_put(w, view, "byteLength", px_json_new_uint(w->arena, size));
    if (target)
        px_gltf_put_uint(w, view, "target", target);
    px_buffer_add(&w->data, data, size);
    px_buffer_add(&w->data, zeros, (0 - size) & 3);
    w->failed |= w->data.failed;
    return px_json_count(w->views) - 1;
}

uint32_t px_gltf_add_numbers(px_gltf_writer *w, const void *data, size_t count, size_t size, uint32_t target) {
    size_t start = w->data.size;
    uint32_t view = px_gltf_add_view(w, data, count * size, target);
    if (!w->data.failed && count > 0)
        px_little_endian(w->data.data + start, count, size);
    return view;
}

void px_gltf_put_bounds(px_gltf_writer *w, px_json *accessor, const float *data, uint32_t count, uint32_t width) {
    float low[4], high[4];
    for (uint32_t c = 0; c < width; c++)
        low[c] = high[c] = data[c];
    for (size_t e = 1; e < count; e++)
        for (uint32_t c = 0; c < width; c++) {
            float value = data[e * width + c];
            low[c] = value < low[c] ? value : low[c];
            high[c] = value > high[c] ? value : high[c];
        }
    px_gltf_put_floats(w, accessor, "min", low, width);
    px_gltf_put_floats(w, accessor, "max", high, width);
}

uint32_t px_gltf_add_accessor(px_gltf_writer *w, const void *data, uint32_t count, uint32_t width,
                              px_gltf_component component, uint32_t target, bool bounds) {
    const char *type = width == 1 ? "SCALAR" : width == 2 ? "VEC2" : width == 3 ? "VEC3" : width == 4 ? "VEC4" : "MAT4";
    uint32_t view = px_gltf_add_numbers(w, data, (size_t)count * width, px_gltf_component_size(component), target);
    px_json *accessor = px_gltf_push(w, w->accessors, px_json_object(w->arena));
    px_gltf_put_uint(w, accessor, "bufferView", view);
    px_gltf_put_uint(w, accessor, "componentType", component);
    px_gltf_put_uint(w, accessor, "count", count);
    px_gltf_put(w, accessor, "type", px_json_new_string(w->arena, type));
    if (bounds)
        px_gltf_put_bounds(w, accessor, data, count, width);
    return px_json_count(w->accessors) - 1;
}

/* ---- Source document -------------------------------------------------------------------------------------- */

/* Whether the first joints of the model are the nodes of the source: same names, parents and rest transforms. */
static pelt_result compare_joints(px_gltf_writer *w, const px_gltf *source, bool *same) {
    const pelt_skeleton *skeleton = &w->model->skeleton;
    uint32_t count = source->nodes.count, children = 0;
    *same = false;
    if (skeleton->joint_count < count)
        return PELT_OK;
    pelt_skeleton first = *skeleton;
    first.joint_count = count;
    pelt_affine *globals = PX_NEW(w->arena, pelt_affine, count);
    if (!globals)
        return PELT_ERROR_MEMORY;
    pelt_skeleton_globals(&first, first.rest, globals);
    if (count > 0 && memcmp(globals, source->globals, count * sizeof *globals) != 0)
        return PELT_OK;
    for (uint32_t j = 0; j < count; j++) {
        const px_json *node = source->nodes.items[source->joint_nodes[j]], *list = px_json_get(node, "children");
        if (strcmp(px_json_string(px_json_get(node, "name"), ""), skeleton->names[j]) != 0)
            return PELT_OK;
        for (const px_json *item = list ? list->first : NULL; item; item = item->next, children++)
            if (skeleton->parents[source->node_joints[px_json_uint(item, count - 1, 0)]] != j)
                return PELT_OK;
        children -= skeleton->parents[j] != PELT_NONE;
    }
    *same = children == 0;
    return PELT_OK;
}

static pelt_result find_source(px_gltf_writer *w) {
    const pelt_model *model = w->model;
    const px_document *document = model->document;
    w->changed = UINT32_MAX;
    w->new_nodes = true;
    if (!document || strcmp(document->format, px_format_gltf.info.name) != 0)
        return PELT_OK;
    px_gltf *source = document->data;
    bool same = model->changed & PELT_CHANGED_VERTICES ? model->mesh.origins != NULL
                                                       : source->vertex_count == model->mesh.vertex_count;
    if (source->source_count != model->mesh.part_count || !same) {
        px_log(w->context, PELT_LOG_WARNING,
               "the mesh is another than in the file it came from: materials are not kept");
        return PELT_OK;
    }
    w->source = source;
    w->changed = model->changed;
    bool other = w->changed & PELT_CHANGED_SKELETON || model->skeleton.joint_count != source->nodes.count;
    bool kept = true;
    if (other) {
        PX_TRY(compare_joints(w, source, &kept));
        for (uint32_t p = 0; p < model->mesh.part_count;
             p++) /* an equal skeleton of another file has no parts on its nodes */
            kept &= model->mesh.parts[p].joint != PELT_NONE;
        w->changed |= PELT_CHANGED_SKELETON | PELT_CHANGED_SKIN | PELT_CHANGED_MOTIONS;
    }
    w->new_nodes = !kept;
    return PELT_OK;
}

static pelt_result copy_parts(px_gltf_writer *w) {
    const pelt_mesh *mesh = &w->model->mesh;
    w->part_count = mesh->part_count ? mesh->part_count : mesh->vertex_count > 0;
    w->parts = PX_NEW(w->arena, pelt_part, w->part_count);
    w->primitives = PX_NEW(w->arena, px_json *, w->part_count);
    w->part_instances = PX_NEW(w->arena, uint32_t, w->part_count);
    w->inverses = PX_NEW(w->arena, pelt_affine, w->part_count);
    w->rigid = PX_NEW(w->arena, bool, w->part_count);
    if (!w->parts || !w->primitives || !w->part_instances || !w->inverses || !w->rigid)
        return PELT_ERROR_MEMORY;
    if (mesh->part_count == 0 && w->part_count > 0)
        w->parts[0] = (pelt_part){.name = "", .triangle_count = mesh->triangle_count, .joint = PELT_NONE};
    for (uint32_t p = 0; p < w->part_count; p++) {
        if (p < mesh->part_count)
            w->parts[p] = mesh->parts[p];
        if (w->parts[p].vertex_count == 0) { /* no range: the part uses all vertices */
            w->parts[p].first_vertex = 0;
            w->parts[p].vertex_count = mesh->vertex_count;
        }
        if (w->parts[p].joint >= w->model->skeleton.joint_count)
            w->parts[p].joint = PELT_NONE;
    }
    return PELT_OK;
}

static pelt_result begin(px_gltf_writer *w) {
    PX_TRY(find_source(w));
    if (!w->source)
        PX_TRY(px_layers_get(w->arena, w->model, &w->layers));
    w->root = w->source ? px_json_copy(w->arena, w->source->root) : px_json_object(w->arena);
    if (!w->root)
        return PELT_ERROR_MEMORY;
    if (!w->source) {
        px_json *asset = px_gltf_put(w, w->root, "asset", px_json_object(w->arena));
        px_gltf_put(w, asset, "version", px_json_new_string(w->arena, "2.0"));
        px_gltf_put(w, asset, "generator", px_json_new_string(w->arena, "pelt " PELT_VERSION));
    }
    w->nodes = px_gltf_member(w, w->root, "nodes", PX_JSON_ARRAY);
    w->meshes = px_gltf_member(w, w->root, "meshes", PX_JSON_ARRAY);
    w->accessors = px_gltf_member(w, w->root, "accessors", PX_JSON_ARRAY);
    w->views = px_gltf_member(w, w->root, "bufferViews", PX_JSON_ARRAY);
    w->mended = w->source && w->source->unpacked;
    w->new_buffer = w->source ? w->source->buffers_json.count : 0;
    w->joint_nodes = PX_NEW(w->arena, px_json *, w->model->skeleton.joint_count);
    w->joint_indices = PX_NEW(w->arena, uint32_t, w->model->skeleton.joint_count);
    if (!w->joint_nodes || !w->joint_indices || w->failed)
        return PELT_ERROR_MEMORY;
    return copy_parts(w);
}

pelt_result px_gltf_make(px_gltf_writer *w) {
    PX_TRY(begin(w));
    uint32_t geometry =
        PELT_CHANGED_POSITIONS | PELT_CHANGED_SKIN | PELT_CHANGED_MORPHS | PELT_CHANGED_COLORS | PELT_CHANGED_VERTICES;
    uint32_t numbered = PELT_CHANGED_SKELETON | PELT_CHANGED_MORPHS | PELT_CHANGED_DRIVERS;
    PX_TRY(px_gltf_emit_nodes(w));
    if (w->changed & geometry) {
        PX_TRY(px_gltf_emit_instances(w));
        PX_TRY(px_gltf_emit_meshes(w));
    }
    if (w->changed & PELT_CHANGED_SKIN)
        PX_TRY(px_gltf_emit_skins(w));
    PX_TRY(px_gltf_weight_nodes(w));
    if (w->changed & PELT_CHANGED_MOTIONS)
        PX_TRY(px_gltf_emit_motions(w));
    if (w->changed & numbered)
        PX_TRY(px_gltf_emit_drivers(w));
    if (w->changed & (numbered | PELT_CHANGED_SLIDERS))
        PX_TRY(px_gltf_emit_sliders(w));
    if (w->changed & PELT_CHANGED_COLORS)
        PX_TRY(px_gltf_emit_light(w));
    PX_TRY(px_gltf_mend(w));
    if (w->plain)
        PX_TRY(px_gltf_plain(w));
    if (w->ordered)
        PX_TRY(px_gltf_order(w));
    return w->failed ? PELT_ERROR_MEMORY : PELT_OK;
}

/* ---- Images in other files -------------------------------------------------------------------------------- */

/* Whether the output is in the folder of the source, so that relative URIs of the source stay valid. */
static bool same_folder(const char *source_folder, const char *path) {
    char a[PX_PATH_SIZE], b[PX_PATH_SIZE], folder[PX_PATH_SIZE] = ".";
    size_t length = (size_t)(px_path_name(path) - path);
    if (length >= sizeof folder)
        return false;
    memcpy(folder, path, length);
    return px_path_real(source_folder[0] ? source_folder : ".", a) && px_path_real(folder, b) && strcmp(a, b) == 0;
}

static pelt_result embed_image(px_gltf_writer *w, px_json *image, const char *uri, uint32_t index) {
    const char *path;
    px_file file;
    px_gltf_place(w->source, "image %u", index);
    pelt_result result = px_gltf_path(w->source, w->arena, uri, &path);
    if (result == PELT_OK)
        result = px_file_open(w->arena, path, &file);
    if (result == PELT_ERROR_MEMORY)
        return result;
    const char *extension = result == PELT_OK ? px_image_extension(file.data, file.size) : NULL;
    if (!extension) {
        px_log(w->context, PELT_LOG_WARNING, "image %u: %.200s cannot be read; the output will not find it either",
               index, uri);
        return PELT_OK;
    }
    px_json_remove(image, "uri");
    px_gltf_put_uint(w, image, "bufferView", px_gltf_add_view(w, file.data, file.size, 0));
    px_gltf_put(w, image, "mimeType", px_json_new_string(w->arena, px_image_type(extension)));
    return w->failed ? PELT_ERROR_MEMORY : PELT_OK;
}

/* Embeds images from other files, unless the output is in the folder of the source. */
static pelt_result embed_images(px_gltf_writer *w, const px_write *write) {
    px_json *images = px_json_get(w->root, "images");
    if (!w->source || !w->source->folder || !images)
        return PELT_OK;
    if (!write->in_memory && same_folder(w->source->folder, write->path))
        return PELT_OK;
    uint32_t index = 0;
    for (px_json *image = images->first; image; image = image->next, index++) {
        const char *uri = px_json_string(px_json_get(image, "uri"), NULL);
        if (uri && !px_gltf_is_data_uri(uri))
            PX_TRY(embed_image(w, image, uri, index));
    }
    return PELT_OK;
}

/* ---- Containers ------------------------------------------------------------------------------------------- */

static void store_u32(uint8_t *p, uint32_t value) {
    for (int b = 0; b < 4; b++)
        p[b] = (uint8_t)(value >> 8 * b);
}

static pelt_result write_runs(px_output_file *file, const px_gltf_layout *layout) {
    static const char zeros[4];
    for (size_t r = 0; r < layout->run_count; r++) {
        PX_TRY(px_output_write(file, layout->runs[r].data, layout->runs[r].size));
        PX_TRY(px_output_write(file, zeros, (0 - layout->runs[r].size) & 3));
    }
    return PELT_OK;
}

static pelt_result write_glb(const px_write *write, const px_gltf_layout *layout, px_buffer *json) {
    uint8_t head[20] = "glTF", chunk[8] = {0, 0, 0, 0, 'B', 'I', 'N', 0};
    px_buffer_add(json, "   ", (0 - json->size) & 3);
    if (json->failed)
        return PELT_ERROR_MEMORY;
    uint64_t size = 20 + (uint64_t)json->size + (layout->buffer ? 8 + (uint64_t)layout->size : 0);
    if (size > UINT32_MAX)
        return px_fail(write->context, PELT_ERROR_OUTPUT, "%s: would be larger than 4 GB; write a .gltf instead",
                       write->path);
    store_u32(head + 4, 2);
    store_u32(head + 8, (uint32_t)size);
    store_u32(head + 12, (uint32_t)json->size);
    memcpy(head + 16, "JSON", 4);
    store_u32(chunk, (uint32_t)layout->size);
    px_output_file *file;
    PX_TRY(px_output_open(write->output, write->path, &file));
    PX_TRY(px_output_write(file, head, sizeof head));
    PX_TRY(px_output_write(file, json->data, json->size));
    if (!layout->buffer)
        return PELT_OK;
    PX_TRY(px_output_write(file, chunk, sizeof chunk));
    return write_runs(file, layout);
}

/* Writes NAME.bin and sets its URI in the JSON. Call it before the JSON is serialized. */
static pelt_result write_bin(px_gltf_writer *w, const px_write *write, const px_gltf_layout *layout) {
    size_t length = strlen(write->path) - strlen(".gltf");
    char *path = px_arena_alloc(w->arena, length + 5, 1);
    if (!path)
        return PELT_ERROR_MEMORY;
    memcpy(path, write->path, length);
    memcpy(path + length, ".bin", 4);
    const char *uri = px_gltf_encode_uri(w->arena, px_path_name(path));
    if (!uri || !px_gltf_put(w, layout->buffer, "uri", px_json_new_string(w->arena, uri)))
        return PELT_ERROR_MEMORY;
    px_output_file *file;
    PX_TRY(px_output_open(write->output, path, &file));
    return write_runs(file, layout);
}

static bool is_text_path(const char *path) {
    size_t length = strlen(path);
    return length >= 5 && strcasecmp(path + length - 5, ".gltf") == 0;
}

static pelt_result write_document(px_gltf_writer *w, const px_write *write, const px_gltf_layout *layout) {
    bool text = is_text_path(write->path);
    if (text && layout->buffer)
        PX_TRY(write_bin(w, write, layout));
    px_buffer json = {.context = w->context};
    px_json_write(&json, w->root, text ? 2 : 0);
    if (text)
        px_buffer_text(&json, "\n");
    pelt_result result = json.failed ? PELT_ERROR_MEMORY : PELT_OK;
    px_output_file *file;
    if (result == PELT_OK && !text)
        result = write_glb(write, layout, &json);
    else if (result == PELT_OK && (result = px_output_open(write->output, write->path, &file)) == PELT_OK)
        result = px_output_write(file, json.data, json.size);
    px_buffer_free(&json);
    return result;
}

/* Warns of vertices with more than `played` bones, the number that the programs that play the file blend. */
static void warn_of_influences(const px_gltf_writer *w, uint32_t played) {
    const pelt_skin *skin = &w->model->skin;
    uint32_t count = 0;
    if (skin->bone_count == 0 || skin->influence_count <= played)
        return;
    for (size_t i = 0; i < w->model->mesh.vertex_count; i++)
        count += skin->weights[i * skin->influence_count + played] > 0; /* weights descend */
    if (count > 0)
        px_log(w->context, PELT_LOG_WARNING, "%u vertices have more than %u bones; %s play only the first %u of them",
               count, played,
               played == DEFAULT_PLAYER_INFLUENCES ? "three.js, PlayCanvas and Godot 3" : "programs that blend no more",
               played);
}

static pelt_result write_all(px_gltf_writer *w, const px_write *write) {
    px_gltf_layout layout = {0};
    if (w->model->clip_count > 0 && !write->desc->skip_clips && !write->trial)
        px_log(w->context, PELT_LOG_WARNING,
               "glTF holds no vertex animation; the rest mesh is written without the clips");
    PX_TRY(px_gltf_make(w));
    px_gltf_mend_vrm(w);
    if (!write->trial)
        warn_of_influences(w,
                           write->desc->player_influences ? write->desc->player_influences : DEFAULT_PLAYER_INFLUENCES);
    for (uint32_t n = 0; n < write->level_count; n++)
        PX_TRY(px_gltf_add_level(w, write->levels[n], n + 1));
    if (!write->trial)
        PX_TRY(embed_images(w, write));
    if (write->precision)
        PX_TRY(px_gltf_compress(w, write->precision));
    PX_TRY(px_gltf_pack(w, &layout));
    return write_document(w, write, &layout);
}

pelt_result px_gltf_write(const px_write *write) {
    px_gltf_writer w = {.context = write->context,
                        .model = write->model,
                        .data = {.context = write->context},
                        .zeros = {.context = write->context}};
    w.weights = (pelt_weight_format)write->desc->weights;
    w.ordered = write->desc->order == PELT_ORDER_SKIN;
    w.sparse = write->desc->sparse;
    w.plain = write->desc->plain && !write->precision;
    w.lookup = write->lookup;
    if (!(w.arena = px_arena_create(write->context)))
        return PELT_ERROR_MEMORY;
    pelt_result result = write_all(&w, write);
    px_buffer_free(&w.data);
    px_buffer_free(&w.zeros);
    px_arena_destroy(w.arena);
    return result;
}
