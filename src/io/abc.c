/* Alembic: entry in the table of formats, and the reader from the container to a model with a clip. */
#include "io/abc_write.h"

/* Magic number of HDF5, the former container of Alembic files. */
static const uint8_t hdf5[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1A, '\n'};

static bool is_hdf5(const uint8_t *data, size_t size) {
    return size >= sizeof hdf5 && memcmp(data, hdf5, sizeof hdf5) == 0;
}

static bool sniff(const uint8_t *data, size_t size) {
    return px_ogawa_sniff(data, size) || is_hdf5(data, size);
}

static pelt_result add_clip(const px_read *read, abc_scene *scene) {
    px_arena *memory = read->model->memory;
    if (scene->frame_count < 2)
        return PELT_OK;
    float *times = PX_NEW(memory, float, scene->frame_count);
    scene->pages = px_pages_create(memory, &read->file);
    pelt_clip clip = {.name = px_read_name(read),
                      .frame_count = scene->frame_count,
                      .point_count = read->model->mesh.points.count,
                      .times = times,
                      .source = {.read = px_abc_read_points, .user = scene, .release = px_abc_release}};
    if (!times || !scene->pages || !clip.name)
        return PELT_ERROR_MEMORY;
    for (uint32_t k = 0; k < scene->frame_count; k++)
        times[k] = (float)scene->times[k];
    return px_model_add_clip(read->context, read->model, &clip);
}

static pelt_result read_abc(const px_read *read) {
    pelt_context *context = read->context;
    px_arena *memory = read->model->memory;
    if (is_hdf5(read->file.data, read->file.size))
        return px_fail(context, PELT_ERROR_UNSUPPORTED,
                       "is in HDF5, as old Alembic files are; export it again as Ogawa, or convert it with "
                       "'abcconvert -toOgawa'");
    if (!px_ogawa_sniff(read->file.data, read->file.size))
        return px_fail(context, PELT_ERROR_INPUT, "does not begin with Ogawa, as an Alembic file must");
    abc_archive *archive = PX_ALLOC(context, abc_archive, 1);
    abc_scene *scene = PX_NEW(memory, abc_scene, 1);
    uint64_t top = 0;
    pelt_result result = archive && scene ? PELT_OK : PELT_ERROR_MEMORY;
    if (result == PELT_OK) {
        scene->file = (ogawa_file){context, read->file.data, read->file.size};
        *archive = (abc_archive){.context = context, .file = scene->file};
        result = px_abc_open(memory, archive, &top);
    }
    if (result == PELT_OK) {
        scene->samplings = archive->samplings;
        result = px_abc_read_scene(archive, memory, top, read->desc->object, scene);
    }
    if (result == PELT_OK)
        result = px_abc_find_times(archive, memory, read->desc->fps, scene);
    if (result == PELT_OK)
        result = px_abc_build(archive, read->model, scene);
    if (result == PELT_OK)
        result = add_clip(read, scene);
    px_free(context, archive);
    px_file_release(&read->file);
    return result;
}

const px_format px_format_abc = {
    .info = {"Alembic", "abc", "Alembic (Ogawa): meshes, transforms and how they move",
             PELT_FORMAT_READ | PELT_FORMAT_WRITE | PELT_FORMAT_MESH | PELT_FORMAT_CLIP | PELT_FORMAT_OBJECTS},
    .sniff = sniff,
    .read = read_abc,
    .write = px_abc_write,
};
