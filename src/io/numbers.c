/* Reads one number per vertex from a text file. */
#include "io/words.h"

static pelt_result wrong_count(const px_read *read, const pelt_mesh *mesh, size_t count, bool more) {
    return px_fail(read->context, PELT_ERROR_INPUT, "has %s%zu numbers; the mesh has %u vertices and %u points",
                   more ? "more than " : "", count, mesh->vertex_count, mesh->points.count);
}

/* Reads one number per vertex, or one per point, which is copied to the vertices of the point. Only the total count
 * tells which, so points are copied after the last number has been read. */
static pelt_result read_numbers(const px_read *read, const pelt_mesh *mesh, float *out) {
    px_words words;
    size_t count = 0;
    PX_TRY(px_words_begin(read, '#', &words));
    for (px_word word; (word = px_words_next(&words)).length; count++) {
        double value;
        if (!px_word_number(word, &value))
            return px_words_fail(&words, word, "'%.*s' is no finite number", PX_WORD_ARGS(word));
        if (count >= mesh->vertex_count)
            return wrong_count(read, mesh, mesh->vertex_count, true);
        out[count] = (float)value;
    }
    if (count == mesh->vertex_count)
        return PELT_OK;
    if (count != mesh->points.count)
        return wrong_count(read, mesh, count, false);
    float *points = PX_ALLOC(read->context, float, count);
    if (!points)
        return PELT_ERROR_MEMORY;
    memcpy(points, out, count * sizeof *points);
    for (uint32_t i = 0; i < mesh->vertex_count; i++)
        out[i] = points[pelt_vertex_class(&mesh->points, i)];
    px_free(read->context, points);
    return PELT_OK;
}

pelt_result pelt_vertex_numbers(pelt_context *context, const pelt_model *model, const char *path, float *out) {
    px_arena *arena = px_arena_create(context);
    if (!arena)
        return PELT_ERROR_MEMORY;
    const char *before = px_subject(context, path);
    px_read read = {.context = context};
    pelt_result result = px_file_open(arena, path, &read.file);
    if (result == PELT_OK)
        result = read_numbers(&read, &model->mesh, out);
    px_subject(context, before);
    px_arena_destroy(arena);
    return result;
}
