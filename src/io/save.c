/* Writes a model to one file or to a sequence of files; either all files appear or none. */
#include "core/group.h"
#include "io/cache.h"
#include "io/precision.h"

#define FIELD(name) PELT_FIELD(pelt_save_desc, name)
static const pelt_option options[] = {
    {"clip", 0, PELT_OPTION_UINT, FIELD(clip), "0", 0, 0, NULL, "N", "clip to write into a format that holds one"},
    {"fps", 0, PELT_OPTION_REAL, FIELD(fps), "30", 0.001, 100000, NULL, "N",
     "frames per second where the format needs a rate (PC2)"},
    {"motion", 0, PELT_OPTION_UINT, FIELD(motion), "0", 0, 0, NULL, "N",
     "motion to write into a format that holds one (BVH)"},
    {"motion-fps", 0, PELT_OPTION_REAL, FIELD(motion_fps), "0", 0, 100000, NULL, "N",
     "frames per second of motions written as frames (BVH); 0: that of their keys, else 30"},
    {"replace", 0, PELT_OPTION_FLAG, FIELD(replace), "true", 0, 0, NULL, NULL, "replace existing files"},
    {"weights-format", 0, PELT_OPTION_CHOICE, FIELD(weights), "f32", 0, 0, "f32|u16|u8", NULL,
     "type of skin weights (glTF)"},
    {"ply", 0, PELT_OPTION_CHOICE, FIELD(ply), "binary", 0, 0, "binary|big-endian|ascii", NULL,
     "encoding of PLY files"},
    {"order", 0, PELT_OPTION_CHOICE, FIELD(order), "kept", 0, 0, "kept|skin", NULL,
     "order of vertices (glTF): as they are, or sorted by their bones for fast skinning"},
    {"one-object", 0, PELT_OPTION_FLAG, FIELD(one_object), NULL, 0, 0, NULL, NULL,
     "write parts as groups of one object (OBJ)"},
    {"sparse", 0, PELT_OPTION_FLAG, FIELD(sparse), NULL, 0, 0, NULL, NULL,
     "write morph targets as sparse accessors (glTF): smaller; Godot 3 misreads them"},
    {"skip-clips", 0, PELT_OPTION_FLAG, FIELD(skip_clips), NULL, 0, 0, NULL, NULL,
     "leave vertex animations out without a warning (glTF)"},
    {"player-influences", 0, PELT_OPTION_UINT, FIELD(player_influences), "4", 0, PELT_MAX_INFLUENCES, NULL, "N",
     "bones per vertex that the programs blend which will play the file; a warning counts vertices with more"},
    {"normals", 0, PELT_OPTION_CHOICE, FIELD(normals), "none", 0, 0, "none|matrix|inverse|accurate", NULL,
     "write normals that the skin moves into mesh sequences: by the blended matrix as most engines do, by its inverse "
     "transpose, or with the gradient of the weights"},
    {"compress", 0, PELT_OPTION_FLAG, FIELD(compress), NULL, 0, 0, NULL, NULL,
     "compress with EXT_meshopt_compression (glTF): far smaller; Blender 3.4 does not read it"},
    {"compress-error", 0, PELT_OPTION_REAL, FIELD(compress_error), "0.0001", 1e-7, 0.1, NULL, "X",
     "distance by which a vertex may move when compressed, as a fraction of the size"},
    {"plain", 0, PELT_OPTION_FLAG, FIELD(plain), NULL, 0, 0, NULL, NULL,
     "write plain arrays (glTF): what the source compressed or quantised is decoded"},
    {"target", 0, PELT_OPTION_CHOICE, FIELD(target), "any", 0, 0, "any|unreal|unity|maya", NULL,
     "program that the file is made for (FBX): its axes, unit, root and frame rate"},
    {"keep-order", 0, PELT_OPTION_FLAG, FIELD(keep_order), NULL, 0, 0, NULL, NULL,
     "compress without sorting triangles and vertices: larger"},
};

PX_DESC(save, options)

/* Reads the normals of all vertices in a frame by one rule; `rows` [vertex][PELT_NORMAL_RULES][3] is scratch. */
static pelt_result read_normals(const px_write *write, const pelt_clip *clip, uint32_t k, float *rows, float *normals) {
    uint32_t count = write->model->mesh.vertex_count, rule = write->desc->normals - 1;
    PX_TRY(clip->source.read_normals(write->context, clip->source.user, k, true, 0, count, rows));
    for (size_t i = 0; i < count; i++)
        memcpy(normals + 3 * i, rows + 3 * (PELT_NORMAL_RULES * i + rule), 3 * sizeof *normals);
    return PELT_OK;
}

/* Writes one file per frame. */
static pelt_result write_sequence(const px_write *write, const px_format *format, px_arena *scratch) {
    const pelt_model *model = write->model;
    const pelt_mesh *mesh = &model->mesh;
    const pelt_clip *clip = &model->clips[write->desc->clip];
    float *points = PX_NEW(scratch, float, (size_t)3 * mesh->points.count);
    float *positions = PX_NEW(scratch, float, (size_t)3 * mesh->vertex_count);
    size_t normal_count = write->desc->normals && clip->source.read_normals ? mesh->vertex_count : 0;
    float *normals = PX_NEW(scratch, float, 3 * normal_count);
    float *rows = PX_NEW(scratch, float, 3 * PELT_NORMAL_RULES * normal_count);
    if (!points || !positions || !normals || !rows)
        return PELT_ERROR_MEMORY;
    pelt_mesh frame = *mesh;
    frame.positions = positions;
    frame.normals = normal_count ? normals : NULL; /* the rest pose's normals do not apply */
    for (uint32_t k = 0; k < clip->frame_count; k++) {
        PX_TRY(px_progress(write->context, "write", k, clip->frame_count));
        PX_TRY(pelt_clip_read(write->context, clip, k, 0, mesh->points.count, points));
        pelt_vertex_classes_spread(&mesh->points, mesh->vertex_count, points, positions);
        if (normal_count)
            PX_TRY(read_normals(write, clip, k, rows, normals));
        px_write one = *write;
        one.mesh = &frame;
        one.path = px_sequence_path(scratch, write->path, k);
        if (!one.path)
            return PELT_ERROR_MEMORY;
        PX_TRY(format->write(&one));
    }
    return PELT_OK;
}

/* Finds a precision for the model and its levels of detail, and writes them with it. */
static pelt_result write_compressed(const px_write *write) {
    px_precision precision = {0};
    pelt_compress_report report = {0};
    for (uint32_t n = 0; n <= write->level_count; n++) {
        px_write one = *write;
        px_precision own;
        pelt_compress_report made;
        one.model = n > 0 ? write->levels[n - 1] : write->model;
        one.mesh = &one.model->mesh;
        one.level_count = 0;
        PX_TRY(px_precision_of(&one, &own, &made));
        if (n == 0) /* the finest level; others may only need more */
            precision = own;
        for (int k = 0; k < PX_PRECISION_KINDS; k++)
            precision.bits[k] = own.bits[k] > precision.bits[k] ? own.bits[k] : precision.bits[k];
        report = made.distance > report.distance ? made : report;
    }
    if (write->desc->compressed)
        *write->desc->compressed = report;
    px_write packed = *write;
    precision.keep_order = write->desc->keep_order;
    packed.precision = &precision;
    return px_format_gltf.write(&packed);
}

static pelt_result write_model(const px_write *write) {
    pelt_context *context = write->context;
    const pelt_model *model = write->model;
    const px_format *format = px_format_by_extension(write->path);
    if (!format || !format->write)
        return px_fail_format(context, PELT_ERROR_USAGE, PELT_FORMAT_WRITE,
                              "its extension names none of the formats that can be written");
    if ((format->info.flags & PELT_FORMAT_MESH) && !(format->info.flags & PELT_FORMAT_RIG) &&
        model->mesh.vertex_count == 0)
        return px_fail(context, PELT_ERROR_INPUT, "there is no mesh to write; a skeleton alone goes into glTF or BVH");
    bool sequence = (format->info.flags & PELT_FORMAT_SEQUENCE) && px_sequence_is_pattern(write->path);
    bool needs_clip = sequence || (format->info.flags & PELT_FORMAT_CACHE);
    if (needs_clip && model->clip_count == 0)
        return px_fail(context, PELT_ERROR_USAGE, "there is no vertex animation to write; bake one first");
    bool holds_clip = format->info.flags & PELT_FORMAT_CLIP;
    if ((needs_clip || (holds_clip && model->clip_count)) && write->desc->clip >= model->clip_count)
        return px_fail(context, PELT_ERROR_USAGE, "there is no clip %u, only %u", write->desc->clip, model->clip_count);
    if (!sequence && write->desc->compress && format == &px_format_gltf)
        return write_compressed(write);
    if (!sequence)
        return format->write(write);
    px_arena *scratch = px_arena_create(context);
    pelt_result result = scratch ? write_sequence(write, format, scratch) : PELT_ERROR_MEMORY;
    px_arena_destroy(scratch);
    return result;
}

/* Executes writes [write_count] with the output of the first, then commits or aborts it: all files appear or none.
 * writes->output NULL: out of memory. */
static pelt_result write_all(const px_write *writes, uint32_t write_count) {
    px_output *output = writes->output;
    if (!output)
        return PELT_ERROR_MEMORY;
    const char *previous = px_subject(writes->context, writes->path);
    pelt_result result = PELT_OK;
    for (uint32_t n = 0; n < write_count && result == PELT_OK; n++) {
        px_subject(writes->context, writes[n].path);
        result = write_model(&writes[n]);
    }
    if (result == PELT_OK)
        result = px_output_commit(output);
    else
        px_output_abort(output);
    px_subject(writes->context, previous);
    return result;
}

/* Another process than 0: evaluates frames of a cache that process 0 writes. */
static pelt_result help_write(const px_write *write) {
    const px_format *format = px_format_by_extension(write->path);
    bool cache = format && format->write && (format->info.flags & PELT_FORMAT_CACHE);
    return cache && write->desc->clip < write->model->clip_count ? px_cache_send_frames(write) : PELT_OK;
}

/* Of a group, process 0 writes; the others wait for it. */
static pelt_result save(const px_write *writes, uint32_t write_count) {
    pelt_context *context = writes->context;
    if (pelt_group_rank(context) == 0 || writes->in_memory)
        return writes->in_memory ? write_all(writes, write_count)
                                 : pelt_group_agree(context, write_all(writes, write_count));
    if (writes->output)
        px_output_abort(writes->output);
    pelt_result result = writes->output ? PELT_OK : PELT_ERROR_MEMORY;
    for (uint32_t n = 0; n < write_count && result == PELT_OK; n++)
        result = help_write(&writes[n]);
    return pelt_group_agree(context, result);
}

pelt_result pelt_save(pelt_context *context, const pelt_model *model, const char *path, const pelt_save_desc *desc) {
    return pelt_save_all(context, &model, &path, 1, desc);
}

pelt_result pelt_save_all(pelt_context *context, const pelt_model *const *models, const char *const *paths,
                          uint32_t count, const pelt_save_desc *desc) {
    PX_TAKE_DESC(context, save, desc, settings);
    if (count == 0)
        return px_fail(context, PELT_ERROR_USAGE, "there is no model to write");
    for (uint32_t n = 0; n < count; n++)
        for (uint32_t other = 0; other < n; other++)
            if (strcmp(paths[n], paths[other]) == 0)
                return px_fail(context, PELT_ERROR_USAGE, "%s: two models cannot be one file", paths[n]);
    px_write *writes = PX_ALLOC(context, px_write, count);
    if (!writes)
        return PELT_ERROR_MEMORY;
    px_output *output = px_output_begin(context, settings.replace);
    for (uint32_t n = 0; n < count; n++)
        writes[n] = (px_write){.context = context,
                               .model = models[n],
                               .mesh = &models[n]->mesh,
                               .path = paths[n],
                               .desc = &settings,
                               .output = output};
    pelt_result result = save(writes, count);
    px_free(context, writes);
    return result;
}

pelt_result pelt_save_levels(pelt_context *context, const pelt_model *const *levels, uint32_t level_count,
                             const char *path, const pelt_save_desc *desc) {
    PX_TAKE_DESC(context, save, desc, settings);
    if (level_count == 0)
        return px_fail(context, PELT_ERROR_USAGE, "%s: there is no level to write", path);
    if (level_count > 1 && px_format_by_extension(path) != &px_format_gltf)
        return px_fail(context, PELT_ERROR_USAGE, "%s: several levels in one file go into glTF only", path);
    px_write write = {.context = context,
                      .model = levels[0],
                      .mesh = &levels[0]->mesh,
                      .path = path,
                      .desc = &settings,
                      .levels = levels + 1,
                      .level_count = level_count - 1};
    write.output = px_output_begin(context, settings.replace);
    return save(&write, 1);
}

pelt_result px_save_memory(pelt_context *context, const pelt_model *model, const char *name, const pelt_save_desc *desc,
                           px_buffer *buffer) {
    PX_TAKE_DESC(context, save, desc, settings);
    px_write write = {
        .context = context, .model = model, .mesh = &model->mesh, .path = name, .desc = &settings, .in_memory = true};
    write.output = px_output_begin_memory(context, buffer);
    return save(&write, 1);
}

pelt_result px_save_precise(pelt_context *context, const pelt_model *model, const char *path,
                            const pelt_save_desc *desc, const px_precision *precision) {
    PX_TAKE_DESC(context, save, desc, settings);
    px_write write = {.context = context,
                      .model = model,
                      .mesh = &model->mesh,
                      .path = path,
                      .desc = &settings,
                      .precision = precision};
    write.output = px_output_begin(context, settings.replace);
    return save(&write, 1);
}
