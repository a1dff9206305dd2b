/* Loads an input: one file, a mesh and its caches, a skeleton and its motions, or a sequence. */
#include "io/io.h"

#define FIELD(name) PELT_FIELD(pelt_load_desc, name)
static const pelt_option options[] = {
    {"fps", 0, PELT_OPTION_REAL, FIELD(fps), "30", 0.001, 100000, NULL, "N",
     "frame rate of inputs that store none (sequences, PC2)"},
    {"amc-fps", 0, PELT_OPTION_REAL, FIELD(motion_fps), "120", 0.001, 100000, NULL, "N",
     "frame rate of AMC motions, which store none"},
    {"object", 0, PELT_OPTION_TEXT, FIELD(object), NULL, 0, 0, NULL, "NAME",
     "read only this object of an Alembic file and its children, by name or path"},
    {"up", 0, PELT_OPTION_TEXT, FIELD(up), NULL, 0, 0, NULL, "y|z|x",
     "up axis of the files; models are rotated to y up; for one of several files: cache.mdd=z"},
    {"scale", 0, PELT_OPTION_TEXT, FIELD(scale), NULL, 0, 0, NULL, "X",
     "multiply all lengths by this; for one of several files: cache.mdd=100; separate entries by commas"},
    {"join", 0, PELT_OPTION_TEXT, FIELD(join), "auto", 0, 0, NULL, "A+B",
     "merge motions into one; auto: merge bone and morph motions that an exporter split; none: as in the file"},
};

PX_DESC(load, options)

/* ---- Clips ------------------------------------------------------------------------------------------------ */

pelt_result px_model_add_clip(pelt_context *context, pelt_model *model, const pelt_clip *clip) {
    (void)context;
    pelt_clip *clips = PX_NEW(model->memory, pelt_clip, (size_t)model->clip_count + 1);
    if (!clips)
        return PELT_ERROR_MEMORY;
    if (model->clip_count)
        memcpy(clips, model->clips, model->clip_count * sizeof *clips);
    clips[model->clip_count++] = *clip;
    model->clips = clips;
    return PELT_OK;
}

static bool is_empty(const pelt_model *model) {
    return model->mesh.vertex_count == 0 && model->skeleton.joint_count == 0;
}

pelt_result px_cache_fit(pelt_context *context, pelt_model *model, uint64_t point_count) {
    pelt_mesh *mesh = &model->mesh;
    if (is_empty(model) && point_count > 0 && point_count < PELT_NONE) { /* a cache without a mesh */
        mesh->positions = PX_NEW(model->memory, float, px_size(point_count * 3));
        if (!mesh->positions)
            return PELT_ERROR_MEMORY;
        mesh->vertex_count = mesh->points.count = (uint32_t)point_count;
        return PELT_OK;
    }
    if (point_count == mesh->points.count && point_count > 0)
        return PELT_OK;
    if (point_count == mesh->vertex_count && point_count > 0 && model->clip_count == 0) {
        mesh->points = (pelt_vertex_classes){.count = mesh->vertex_count};
        return PELT_OK;
    }
    return px_fail(context, PELT_ERROR_INPUT,
                   "has %llu points, but the mesh %s has %u; use the mesh that the cache was made from",
                   (unsigned long long)point_count, model->path, mesh->points.count);
}

/* ---- Files ------------------------------------------------------------------------------------------------ */

const char *px_read_name(const px_read *read) {
    const char *name = px_path_name(read->file.path), *dot = strrchr(name, '.');
    return px_arena_text(read->model->memory, name, dot && dot > name ? (size_t)(dot - name) : strlen(name));
}

/* Reads an open file into the model. The caller sets px_subject. */
static pelt_result read_content(const px_read *read, const px_format *format) {
    pelt_model *model = read->model;
    bool first = is_empty(model);
    PX_TRY(format->read(read));
    if (first && (format->info.flags & PELT_FORMAT_CACHE)) /* a cache without a mesh */
        PX_TRY(pelt_clip_read(read->context, &model->clips[0], 0, 0, model->mesh.points.count, model->mesh.positions));
    if (first || !(format->info.flags & PX_FORMAT_ADDS)) {
        model->path = px_arena_text(model->memory, read->file.path, strlen(read->file.path));
        model->format = format->info.name;
    }
    return model->path ? pelt_model_validate(read->context, model) : PELT_ERROR_MEMORY;
}

static pelt_result read_file(pelt_context *context, const char *path, const pelt_load_desc *desc, pelt_model *model,
                             const px_format **format) {
    px_read read = {.context = context, .model = model, .desc = desc};
    PX_TRY(px_file_open(model->memory, path, &read.file));
    *format = px_format_detect(context, &read.file);
    if (!*format)
        return PELT_ERROR_INPUT;
    if (desc->object && !((*format)->info.flags & PELT_FORMAT_OBJECTS))
        return px_fail_format(context, PELT_ERROR_INPUT, PELT_FORMAT_OBJECTS,
                              "has no objects to choose from; only some formats have");
    return read_content(&read, *format);
}

/* ---- Sequences -------------------------------------------------------------------------------------------- */

/* Checks that a frame has the same points as the first frame and that its triangles connect the same points. Vertices
 * may be split at different seams. */
static pelt_result check_topology(pelt_context *context, const pelt_model *first, const pelt_mesh *frame, size_t k) {
    const pelt_mesh *mesh = &first->mesh;
    if (frame->points.count != mesh->points.count)
        return px_fail(context, PELT_ERROR_INPUT, "frame %zu has %u points, the first frame (%s) has %u", k,
                       frame->points.count, first->path, mesh->points.count);
    if (frame->triangle_count != mesh->triangle_count)
        return px_fail(context, PELT_ERROR_INPUT, "frame %zu has %u triangles, the first frame (%s) has %u", k,
                       frame->triangle_count, first->path, mesh->triangle_count);
    for (size_t c = 0; c < (size_t)3 * mesh->triangle_count; c++)
        if (pelt_vertex_class(&mesh->points, mesh->triangles[c]) !=
            pelt_vertex_class(&frame->points, frame->triangles[c]))
            return px_fail(context, PELT_ERROR_INPUT,
                           "frame %zu joins other points than the first frame (%s): "
                           "triangle %zu differs",
                           k, first->path, c / 3);
    return PELT_OK;
}

static pelt_result read_frame(pelt_context *context, const char *path, const pelt_load_desc *desc,
                              const pelt_model *first, size_t k, float *points) {
    pelt_model *frame;
    PX_TRY(pelt_model_create(context, &frame));
    const px_format *format;
    pelt_result result = read_file(context, path, desc, frame, &format);
    if (result == PELT_OK)
        result = check_topology(context, first, &frame->mesh, k);
    if (result == PELT_OK)
        pelt_vertex_classes_gather(&frame->mesh.points, frame->mesh.positions, points);
    pelt_model_destroy(frame);
    return result;
}

/* The name of a sequence: "f_0001.obj" gives "f". */
static const char *sequence_name(px_arena *arena, const char *path) {
    const char *name = px_path_name(path);
    size_t length = strcspn(name, ".");
    while (length > 0 && strchr("0123456789_-. ", name[length - 1]))
        length--;
    return length ? px_arena_text(arena, name, length) : "sequence";
}

/* Reads files [1, count) as frames of a clip. The model already holds the first file. */
static pelt_result read_sequence(pelt_context *context, const char **paths, size_t count, const pelt_load_desc *desc,
                                 pelt_model *model) {
    size_t frame_floats = (size_t)3 * model->mesh.points.count;
    float *positions = PX_NEW(model->memory, float, px_mul_size(count, frame_floats));
    float *times = PX_NEW(model->memory, float, count);
    pelt_clip clip = {.name = sequence_name(model->memory, paths[0]), .point_count = model->mesh.points.count};
    if (!positions || !times || !clip.name)
        return PELT_ERROR_MEMORY;
    pelt_vertex_classes_gather(&model->mesh.points, model->mesh.positions, positions);
    for (size_t k = 1; k < count; k++) {
        px_subject(context, paths[k]);
        PX_TRY(px_progress(context, "read", k, count));
        PX_TRY(read_frame(context, paths[k], desc, model, k, positions + k * frame_floats));
        times[k] = (float)((double)k / desc->fps);
    }
    clip.frame_count = (uint32_t)count;
    clip.positions = positions;
    clip.times = times;
    return px_model_add_clip(context, model, &clip);
}

/* ---- Entry points ----------------------------------------------------------------------------------------- */

/* Replaces folders and patterns by their files. */
static pelt_result expand_all(px_arena *arena, const char *const *paths, size_t count, const char ***out,
                              size_t *out_count) {
    if (count == 0)
        return px_fail(px_arena_context(arena), PELT_ERROR_USAGE, "no input is given");
    if (count == 1)
        return px_sequence_expand(arena, paths[0], out, out_count);
    const char **list = PX_NEW(arena, const char *, count);
    if (!list)
        return PELT_ERROR_MEMORY;
    memcpy(list, paths, count * sizeof *list);
    const char **first;
    size_t first_count; /* of several paths, only the first may be a pattern, and it must find one file */
    PX_TRY(px_sequence_expand(arena, paths[0], &first, &first_count));
    if (first_count != 1)
        return px_fail(px_arena_context(arena), PELT_ERROR_INPUT,
                       "is a sequence of %zu files; give it alone, without other files", first_count);
    list[0] = first[0];
    *out = list;
    *out_count = count;
    return PELT_OK;
}

static pelt_result load_into(pelt_context *context, const char *const *given, size_t given_count,
                             const pelt_load_desc *desc, pelt_model *model) {
    const char **paths;
    size_t count;
    PX_TRY(expand_all(model->memory, given, given_count, &paths, &count));
    px_subject(context, paths[0]);
    const px_format *format, *next;
    px_space space;
    PX_TRY(px_space_find(context, desc, paths[0], given[0], &space));
    PX_TRY(read_file(context, paths[0], desc, model, &format));
    uint32_t own_clips = model->clip_count;
    for (size_t p = 1; p < count; p++) {
        px_subject(context, paths[p]);
        px_read read = {.context = context, .model = model, .desc = desc};
        PX_TRY(px_file_open(model->memory, paths[p], &read.file));
        if (!(next = px_format_detect(context, &read.file)))
            return PELT_ERROR_INPUT;
        if (p == 1 && next == format && (format->info.flags & PELT_FORMAT_SEQUENCE)) {
            px_subject(context, given[0]);
            if (given_count == 1)
                PX_TRY(px_sequence_check(model->memory, paths, count));
            PX_TRY(read_sequence(context, paths, count, desc, model));
            return px_space_apply(model, &space, model->clip_count);
        }
        if (!(next->info.flags & PX_FORMAT_ADDS))
            return px_fail(context, PELT_ERROR_INPUT, "is %s, neither a cache of %s nor a frame of its sequence",
                           next->info.name, paths[0]);
        PX_TRY(read_content(&read, next));
    }
    px_subject(context, paths[0]);
    PX_TRY(px_space_apply(model, &space, own_clips)); /* includes the motions */
    for (size_t p = 1; p < count && own_clips < model->clip_count; p++) {
        px_subject(context, paths[p]);
        PX_TRY(px_space_find(context, desc, paths[p], given_count == 1 ? given[0] : given[p], &space));
        PX_TRY(px_space_cache(context, model, &space, own_clips + (uint32_t)p - 1));
    }
    px_subject(context, paths[0]);
    return px_join_motions(context, model, desc->join);
}

pelt_result pelt_load(pelt_context *context, const char *const *paths, size_t path_count, const pelt_load_desc *desc,
                      pelt_model **out) {
    *out = NULL;
    PX_TAKE_DESC(context, load, desc, settings);
    pelt_model *model;
    const char *previous = px_subject(context, path_count ? paths[0] : NULL);
    pelt_result result = pelt_model_create(context, &model);
    if (result == PELT_OK)
        result = load_into(context, paths, path_count, &settings, model);
    px_subject(context, previous);
    if (result == PELT_OK)
        *out = model;
    else
        pelt_model_destroy(model);
    return result;
}

static pelt_result load_bytes(pelt_context *context, const void *data, size_t size, const char *name,
                              const pelt_load_desc *desc, pelt_model *model) {
    px_read read = {.context = context, .model = model, .desc = desc, .in_memory = true};
    read.file = (px_file){.data = size ? data : (const uint8_t *)"", .size = size, .path = name};
    const px_format *format = px_format_detect(context, &read.file);
    if (!format)
        return PELT_ERROR_INPUT;
    bool first = is_empty(model);
    uint32_t clip_count = model->clip_count;
    px_space space;
    if (!first && !(format->info.flags & PX_FORMAT_ADDS))
        return px_fail(context, PELT_ERROR_INPUT, "is %s, not a cache or a motion", format->info.name);
    PX_TRY(px_space_find(context, desc, name, name, &space));
    PX_TRY(read_content(&read, format));
    if (first)
        return px_space_apply(model, &space, model->clip_count);
    return model->clip_count > clip_count ? px_space_cache(context, model, &space, clip_count) : PELT_OK;
}

pelt_result pelt_load_memory(pelt_context *context, const void *data, size_t size, const char *name,
                             const pelt_load_desc *desc, pelt_model **out) {
    *out = NULL;
    PX_TAKE_DESC(context, load, desc, settings);
    pelt_model *model;
    const char *previous = px_subject(context, name);
    pelt_result result = pelt_model_create(context, &model);
    if (result == PELT_OK)
        result = load_bytes(context, data, size, name, &settings, model);
    if (result == PELT_OK)
        result = px_join_motions(context, model, settings.join);
    px_subject(context, previous);
    if (result == PELT_OK)
        *out = model;
    else
        pelt_model_destroy(model);
    return result;
}

pelt_result pelt_load_cache_memory(pelt_context *context, const void *data, size_t size, const char *name,
                                   const pelt_load_desc *desc, pelt_model *model) {
    PX_TAKE_DESC(context, load, desc, settings);
    px_operation operation = px_operation_begin(model);
    const char *previous = px_subject(context, name);
    pelt_result result = load_bytes(context, data, size, name, &settings, model);
    px_subject(context, previous);
    return px_operation_end(&operation, result);
}
