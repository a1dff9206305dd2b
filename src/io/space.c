/* Up axes and units of files: converts models to y up and the scale of pelt_load_desc, and caches to the space of their
 * mesh. */
#include "core/math3.h"
#include "core/similarity.h"
#include "io/asf.h"

#include <math.h>
#include <pelt/measure.h>

#define SCALE_MAX 1e9

/* ---- Entries of pelt_load_desc.up and scale ---------------------------------------------------------------- */

/* Whether `name` [length] is a path or the last part of it. */
static bool names_file(const char *path, const char *name, size_t length) {
    return px_is_name(path, name, length) || px_is_name(px_path_name(path), name, length);
}

/* An entry of a list like "y,cache.mdd=z": the name of a file (NULL: all files) and its value. */
typedef struct entry {
    const char *name, *value;
    size_t name_length, value_length;
} entry;

/* Reads the next entry of a list. Returns false at its end, or if the list is NULL. */
static bool next_entry(const char **list, entry *e) {
    const char *text;
    size_t length;
    if (!*list || !px_next_name(list, &text, &length))
        return false;
    const char *equals = NULL; /* the last one */
    for (const char *p = text; p < text + length; p++)
        equals = *p == '=' ? p : equals;
    *e = (entry){.value = text, .value_length = length};
    if (equals) {
        e->name = text;
        e->name_length = (size_t)(equals - text);
        e->value = equals + 1;
        e->value_length = length - e->name_length - 1;
    }
    return true;
}

/* Whether an entry applies to a file: it names no file, or `path`, or `given` (the caller's path, folder or
 * pattern). */
static bool is_about(const entry *e, const char *path, const char *given) {
    return !e->name || names_file(path, e->name, e->name_length) || names_file(given, e->name, e->name_length);
}

/* Whether `name` [length] is a path or the last part of it, or `path` is a pattern that matches it. */
static bool may_name_file(const char *path, const char *name, size_t length) {
    const char *last = px_path_name(path);
    return names_file(path, name, length) || px_glob_matches(path, strlen(path), name, length, px_path_separators) ||
           px_glob_matches(last, strlen(last), name, length, px_path_separators);
}

bool pelt_load_unmatched(const char *list, const char *const *paths, size_t path_count, const char **name,
                         size_t *name_length) {
    for (entry e; next_entry(&list, &e);) {
        bool matches = !e.name;
        for (size_t p = 0; p < path_count && !matches; p++)
            matches = may_name_file(paths[p], e.name, e.name_length);
        if (!matches) {
            *name = e.name;
            *name_length = e.name_length;
            return true;
        }
    }
    return false;
}

static pelt_result read_up(pelt_context *context, const char *text, size_t length, uint32_t *up) {
    static const char *const names[] = {"y", "z", "x"};
    for (uint32_t n = 0; n < PX_COUNT(names); n++)
        if (px_is_name(names[n], text, length)) {
            *up = PELT_UP_Y + n;
            return PELT_OK;
        }
    return px_fail(context, PELT_ERROR_USAGE, "up '%.*s': give y, z or x, or FILE=z for one of several files",
                   (int)length, text);
}

static pelt_result read_scale(pelt_context *context, const char *text, size_t length, double *scale) {
    const char *end = text + length;
    if (px_parse_double(text, end, scale) == end && length > 0 && *scale >= 1 / SCALE_MAX && *scale <= SCALE_MAX)
        return PELT_OK;
    return px_fail(context, PELT_ERROR_USAGE,
                   "scale '%.*s': give a number from 1e-9 to 1e9, or FILE=100 for one of several files", (int)length,
                   text);
}

/* Entries that name a file override those for all files; of several that name it, the last counts. */
pelt_result px_space_find(pelt_context *context, const pelt_load_desc *desc, const char *path, const char *given,
                          px_space *space) {
    const char *ups = desc->up, *scales = desc->scale;
    bool up_named = false, scale_named = false;
    *space = (px_space){.up = PELT_UP_FILE, .scale = 1};
    for (entry e; next_entry(&ups, &e);) {
        uint32_t up = PELT_UP_FILE;
        if (!is_about(&e, path, given))
            continue;
        PX_TRY(read_up(context, e.value, e.value_length, &up));
        if (e.name || !up_named)
            space->up = up;
        up_named |= e.name != NULL;
        space->given = true;
    }
    for (entry e; next_entry(&scales, &e);) {
        double scale = 1;
        if (!is_about(&e, path, given))
            continue;
        PX_TRY(read_scale(context, e.value, e.value_length, &scale));
        if (e.name || !scale_named)
            space->scale = scale;
        scale_named |= e.name != NULL;
        space->given = true;
    }
    space->named = up_named || scale_named;
    return PELT_OK;
}

/* ---- Meshes and skins -------------------------------------------------------------------------------------- */

static px_similarity similarity_of(const px_space *space) {
    px_similarity s = {.scale = space->scale};
    px_up_turn(space->up, s.turn);
    return s;
}

static bool is_identity(const px_similarity *s) {
    return s->scale == 1 && s->turn[0] + s->turn[4] + s->turn[8] == 3;
}

/* Maps vectors [count] in place, `stride` floats apart. Turns have entries 0 and ±1: without a scale nothing is
 * rounded. */
static void map_all(const px_similarity *s, float *values, size_t count, size_t stride) {
    for (size_t i = 0; i < count; i++) {
        float *v = values + stride * i;
        double from[3] = {v[0], v[1], v[2]}, to[3];
        px_similarity_map(s, from, to);
        for (int c = 0; c < 3; c++)
            v[c] = (float)to[c] + 0.0f; /* −0 becomes 0 */
    }
}

/* Replaces *values [count][3] by a mapped copy, since they may be in a read-only file mapping. NULL stays NULL. */
static pelt_result map_copy(px_arena *memory, const px_similarity *s, const float **values, size_t count) {
    if (!*values)
        return PELT_OK;
    float *copy = PX_NEW(memory, float, 3 * count);
    if (!copy)
        return PELT_ERROR_MEMORY;
    memcpy(copy, *values, 3 * count * sizeof *copy);
    map_all(s, copy, count, 3);
    *values = copy;
    return PELT_OK;
}

static pelt_result map_mesh(pelt_model *model, const px_similarity *s, const px_similarity *turn) {
    pelt_mesh *mesh = &model->mesh;
    const float *positions = mesh->positions, *normals = mesh->normals;
    PX_TRY(map_copy(model->memory, s, &positions, mesh->vertex_count));
    PX_TRY(map_copy(model->memory, turn, &normals, mesh->vertex_count));
    mesh->positions = (float *)(uintptr_t)positions; /* writable copies */
    mesh->normals = (float *)(uintptr_t)normals;
    if (mesh->tangents) {
        float *tangents = PX_NEW(model->memory, float, (size_t)4 * mesh->vertex_count);
        if (!tangents)
            return PELT_ERROR_MEMORY;
        memcpy(tangents, mesh->tangents, (size_t)4 * mesh->vertex_count * sizeof *tangents);
        map_all(turn, tangents, mesh->vertex_count, 4);
        mesh->tangents = tangents;
    }
    for (uint32_t m = 0; m < model->morphs.morph_count; m++) {
        pelt_morph *morph = &model->morphs.morphs[m];
        PX_TRY(map_copy(model->memory, s, &morph->positions, morph->vertex_count));
        PX_TRY(map_copy(model->memory, turn, &morph->normals, morph->vertex_count));
        PX_TRY(map_copy(model->memory, turn, &morph->tangents, morph->vertex_count));
    }
    return PELT_OK;
}

/* Scales the spaces of bones but does not rotate them: only the roots of the skeleton rotate. */
static void map_binds(pelt_skin *skin, const px_similarity *s) {
    for (uint32_t b = 0; b < skin->bone_count; b++) {
        pelt_affine *bind = &skin->inverse_binds[b], from = *bind;
        for (int r = 0; r < 3; r++) {
            for (int c = 0; c < 3; c++) { /* bind · turn⁻¹ */
                double sum = 0;
                for (int e = 0; e < 3; e++)
                    sum += (double)from.m[4 * r + e] * s->turn[3 * c + e];
                bind->m[4 * r + c] = (float)sum;
            }
            bind->m[4 * r + 3] = (float)(s->scale * (double)from.m[4 * r + 3]);
        }
    }
}

/* ---- Clips ------------------------------------------------------------------------------------------------- */

typedef struct mapped_clip {
    pelt_clip clip;
    px_similarity s, turn; /* for positions; for normals, without the scale */
} mapped_clip;

static pelt_result read_mapped(pelt_context *context, const void *user, uint32_t frame, uint32_t first, uint32_t count,
                               float *out) {
    const mapped_clip *m = user;
    PX_TRY(pelt_clip_read(context, &m->clip, frame, first, count, out));
    map_all(&m->s, out, count, 3);
    for (size_t e = 0; e < 3 * (size_t)count; e++)
        if (!isfinite(out[e]))
            return px_fail(context, PELT_ERROR_INPUT, "clip '%s', frame %u: numbers are too large at scale %g",
                           m->clip.name, frame, m->s.scale);
    return PELT_OK;
}

static pelt_result read_mapped_normals(pelt_context *context, const void *user, uint32_t frame, bool by_vertex,
                                       uint32_t first, uint32_t count, float *out) {
    const mapped_clip *m = user;
    PX_TRY(m->clip.source.read_normals(context, m->clip.source.user, frame, by_vertex, first, count, out));
    map_all(&m->turn, out, (size_t)PELT_NORMAL_RULES * count, 3);
    return PELT_OK;
}

static void release_mapped(const void *user, uint32_t count) {
    px_clip_release(&((const mapped_clip *)user)->clip, count);
}

static pelt_result map_clip(px_arena *memory, const px_similarity *s, pelt_clip *clip) {
    mapped_clip *m = PX_NEW(memory, mapped_clip, 1);
    if (!m)
        return PELT_ERROR_MEMORY;
    *m = (mapped_clip){*clip, *s, *s};
    m->turn.scale = 1;
    clip->positions = NULL;
    clip->source = (pelt_clip_source){.read = read_mapped,
                                      .user = m,
                                      .release = clip->source.release ? release_mapped : NULL,
                                      .read_normals = clip->source.read_normals ? read_mapped_normals : NULL};
    return PELT_OK;
}

/* ---- Models ------------------------------------------------------------------------------------------------ */

pelt_result px_space_apply(pelt_model *model, const px_space *space, uint32_t clip_count) {
    px_similarity s = similarity_of(space), turn = s;
    if (is_identity(&s))
        return PELT_OK;
    turn.scale = 1;
    PX_TRY(map_mesh(model, &s, &turn));
    map_binds(&model->skin, &s);
    if (model->skeleton.joint_count)
        px_similarity_rest(&s, &model->skeleton, NULL, model->skeleton.rest, model->skeleton.rest);
    PX_TRY(px_similarity_motions(model->memory, &s, NULL, 0, model, &model->motions));
    for (uint32_t c = 0; c < clip_count; c++)
        PX_TRY(map_clip(model->memory, &s, &model->clips[c]));
    model->changed |= PELT_CHANGED_POSITIONS;
    if (model->skeleton.joint_count)
        model->changed |= PELT_CHANGED_SKELETON | PELT_CHANGED_MOTIONS;
    if (model->skin.bone_count)
        model->changed |= PELT_CHANGED_SKIN;
    if (model->morphs.morph_count)
        model->changed |= PELT_CHANGED_MORPHS;
    px_asf_turned(model, space);
    pelt_context *context = px_arena_context(model->memory);
    pelt_result result = pelt_model_validate(context, model);
    if (result == PELT_ERROR_INPUT)
        return px_fail(context, result, "its numbers are too large or too small at scale %g", space->scale);
    return result;
}

pelt_result px_space_motions(pelt_model *model, const px_space *space, uint32_t first_motion) {
    px_similarity s = similarity_of(space);
    return is_identity(&s) ? PELT_OK
                           : px_similarity_motions(model->memory, &s, NULL, first_motion, model, &model->motions);
}

/* ---- Caches beside a mesh ---------------------------------------------------------------------------------- */

/* Compares the points of the mesh with those of the clip's first frame. `points` [2][point][3] is scratch. */
static pelt_result compare_first_frame(pelt_context *context, const pelt_model *model, const pelt_clip *clip,
                                       float *points, pelt_axes *axes) {
    const pelt_mesh *mesh = &model->mesh;
    size_t count = mesh->points.count;
    pelt_vertex_classes_gather(&mesh->points, mesh->positions, points);
    PX_TRY(pelt_clip_read(context, clip, 0, 0, (uint32_t)count, points + 3 * count));
    pelt_compare_axes(points, points + 3 * count, count, axes);
    return PELT_OK;
}

pelt_result px_space_cache(pelt_context *context, pelt_model *model, const px_space *space, uint32_t number) {
    px_similarity s = similarity_of(space);
    pelt_axes axes = {0};
    pelt_clip *clip = &model->clips[number];
    if (!is_identity(&s))
        PX_TRY(map_clip(model->memory, &s, clip));
    /* Not for rigs: their mesh is in the bind pose, which need not be the first frame of a cache. */
    if (space->named || model->skin.bone_count > 0 || clip->frame_count == 0)
        return PELT_OK;
    float *points = PX_ALLOC(context, float, (size_t)6 * model->mesh.points.count);
    if (!points)
        return PELT_ERROR_MEMORY;
    pelt_result result = compare_first_frame(context, model, clip, points, &axes);
    px_free(context, points);
    if (result != PELT_OK || !axes.differ)
        return result;
    char text[512];
    pelt_axes_text(&axes, model->path, text, sizeof text);
    if (axes.certain && !space->given) {
        px_log(context, PELT_LOG_WARNING,
               "%s; converted to the axes and units of the mesh; set up or scale for this file to override", text);
        s = (px_similarity){.scale = axes.scale};
        px_axes_turn(axes.up, axes.other_up, s.turn);
        return map_clip(model->memory, &s, clip);
    }
    px_log(context, PELT_LOG_WARNING, "probably %s; set up or scale for this file to fix it", text);
    return PELT_OK;
}
