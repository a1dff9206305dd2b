/* Grouping of positional arguments into inputs, choice of an animation of a model, and outputs. */
#include "cli.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Inputs ----------------------------------------------------------------------------------------------- */

/* Format by content if the file can be read, else by extension: a missing cache must still belong to its mesh, so that
 * the error names it. */
static uint32_t format_flags(cli_session *session, const char *path) {
    const pelt_format_info *format = pelt_format_of_file(session->context, path);
    if (!format)
        format = pelt_format_for_output(path);
    return format ? format->flags : PELT_FORMAT_MESH;
}

/* Whether a file belongs to an input whose first file has the format flags `first`. */
static bool belongs(uint32_t flags, uint32_t first) {
    if (flags & PELT_FORMAT_CACHE)
        return !(first & PELT_FORMAT_CACHE);
    return (flags & PELT_FORMAT_MOTION) && (first & PELT_FORMAT_RIG) && !(first & PELT_FORMAT_MESH);
}

input_list inputs_group(cli_session *session, const char *const *args, size_t count) {
    input_list list = {must_alloc(count, sizeof(cli_input)), 0};
    uint32_t first = PELT_FORMAT_CACHE; /* flags of the current input's first file; a cache: no file belongs to it */
    for (size_t a = 0; a < count; a++) {
        uint32_t flags = format_flags(session, args[a]);
        if (!belongs(flags, first)) {
            list.items[list.count++] = (cli_input){must_alloc(count, sizeof(char *)), 0};
            first = flags;
        }
        cli_input *input = &list.items[list.count - 1];
        input->paths[input->path_count++] = args[a];
    }
    return list;
}

void inputs_free(input_list *list) {
    for (size_t n = 0; n < list->count; n++)
        free(list->items[n].paths);
    free(list->items);
    *list = (input_list){0};
}

char *input_name(const cli_input *input) {
    size_t length = 1;
    for (size_t p = 0; p < input->path_count; p++)
        length += strlen(input->paths[p]) + 1;
    char *name = must_alloc(length, 1), *end = name;
    for (size_t p = 0; p < input->path_count; p++)
        end += sprintf(end, "%s%s", p ? " " : "", input->paths[p]);
    return name;
}

pelt_result load_written(cli_session *session, const pelt_model *saved, const char *path, pelt_model **model) {
    pelt_load_desc desc = pelt_load_desc_default();
    desc.join = "none";
    pelt_result result = pelt_load(session->context, &path, 1, &desc, model);
    if (result != PELT_OK || (*model)->motion_count == saved->motion_count)
        return result;
    pelt_model_destroy(*model);
    arg_list given = option_values(session, "join");
    desc.join = given.count ? given.items[given.count - 1] : "auto";
    result = pelt_load(session->context, &path, 1, &desc, model);
    free(given.items);
    return result;
}

/* FILE may be a positional argument or the value of another option (--rest z.obj). */
exit_code check_files(const cli_session *session, const arg_list *rest) {
    const char **paths = must_alloc(rest->count + session->given_count, sizeof *paths);
    size_t path_count = 0;
    exit_code code = EXIT_DONE;
    for (size_t a = 0; a < rest->count; a++)
        paths[path_count++] = rest->items[a];
    for (size_t o = 0; o < session->given_count; o++)
        if (session->given[o].value)
            paths[path_count++] = session->given[o].value;
    for (size_t o = 0; o < session->given_count && code == EXIT_DONE; o++) {
        const char *option = session->given[o].option->name, *name;
        size_t length;
        if (strcmp(option, "up") != 0 && strcmp(option, "scale") != 0)
            continue;
        if (pelt_load_unmatched(session->given[o].value, paths, path_count, &name, &length))
            code = usage_error(session, "--%s %s: no file on the command line is '%.*s'", option,
                               session->given[o].value, (int)length, name);
    }
    free(paths);
    return code;
}

void warn_of_axes(cli_session *session, const char *name, const pelt_axes *axes, const char *other_name) {
    char text[512];
    warn(session, "%s probably %s; --up FILE=z or --scale FILE=100 fixes it", other_name,
         pelt_axes_text(axes, name, text, sizeof text));
}

pelt_result warn_axes(cli_session *session, const char *name, const pelt_clip *clip, const char *other_name,
                      const pelt_clip *other) {
    size_t count = clip->point_count;
    if (count != other->point_count || clip->frame_count == 0 || other->frame_count == 0)
        return PELT_OK;
    float *points = must_alloc(6 * count, sizeof *points);
    pelt_axes axes = {0};
    pelt_result result = pelt_clip_read(session->context, clip, 0, 0, (uint32_t)count, points);
    if (result == PELT_OK)
        result = pelt_clip_read(session->context, other, 0, 0, (uint32_t)count, points + 3 * count);
    if (result == PELT_OK)
        pelt_compare_axes(points, points + 3 * count, count, &axes);
    if (axes.differ)
        warn_of_axes(session, name, &axes, other_name);
    free(points);
    return result;
}

/* ---- Animations ------------------------------------------------------------------------------------------- */

static exit_code no_such_animation(cli_session *session, const char *wanted, const char *const *names, size_t count,
                                   const pelt_model *model) {
    const char *near = pelt_nearest_name(wanted, names, count);
    if (count == 0)
        return usage_error(session, "%s: --motion %s: there is no animation in it", model->path, wanted);
    if (near)
        return usage_error(session, "%s: there is no animation '%s'; did you mean '%s'?", model->path, wanted, near);
    return usage_error(session, "%s: there is no animation '%s'; 'pelt info' lists its %zu", model->path, wanted,
                       count);
}

/* The index of `wanted` among names [count]: by name, else as a number; `count` if not found. */
static size_t find_animation(const char *wanted, const char *const *names, size_t count) {
    for (size_t n = 0; n < count; n++)
        if (strcmp(names[n], wanted) == 0)
            return n;
    char *end;
    unsigned long index = strtoul(wanted, &end, 10);
    return isdigit((unsigned char)wanted[0]) && *end == 0 && index < count ? index : count;
}

exit_code choose_animation(cli_session *session, const pelt_model *model, const char *wanted, bool motions_only,
                           cli_animation *out) {
    *out = (cli_animation){.clip = PELT_NONE};
    size_t clips = motions_only ? 0 : model->clip_count, count = clips ? clips : model->motion_count;
    if (!wanted && count == 0)
        return EXIT_DONE;
    const char **names = must_alloc(count, sizeof *names);
    for (size_t n = 0; n < count; n++)
        names[n] = clips ? model->clips[n].name : model->motions[n].name;
    size_t index = wanted ? find_animation(wanted, names, count) : 0;
    exit_code code = EXIT_DONE;
    if (index == count)
        code = no_such_animation(session, wanted, names, count, model);
    else if (clips)
        out->clip = (uint32_t)index;
    else
        out->motion = &model->motions[index];
    free(names);
    return code;
}

pelt_result animation_clip(cli_session *session, pelt_model *model, const cli_animation *animation, double fps,
                           pelt_skinning skinning, pelt_clip *clip) {
    if (animation->clip != PELT_NONE) {
        *clip = model->clips[animation->clip];
        return PELT_OK;
    }
    return pelt_clip_from_motion(session->context, model, animation->motion, fps, skinning, clip);
}

pelt_result animation_add(cli_session *session, pelt_model *model, const cli_animation *animation, double fps,
                          pelt_skinning skinning, uint32_t *clip) {
    pelt_clip made;
    *clip = animation->clip;
    if (*clip != PELT_NONE)
        return PELT_OK;
    pelt_result result = animation_clip(session, model, animation, fps, skinning, &made);
    return result == PELT_OK ? clip_add(session, model, &made, clip) : result;
}

pelt_result clip_add(cli_session *session, pelt_model *model, const pelt_clip *clip, uint32_t *index) {
    size_t count = model->clip_count;
    pelt_clip *clips = pelt_model_alloc(session->context, model, count + 1, sizeof *clips);
    if (!clips)
        return PELT_ERROR_MEMORY;
    if (count)
        memcpy(clips, model->clips, count * sizeof *clips);
    clips[count] = *clip;
    model->clips = clips;
    *index = model->clip_count++;
    return PELT_OK;
}

pelt_result motions_to_clips(cli_session *session, pelt_model *source, uint32_t first, uint32_t count, double fps,
                             pelt_model *model) {
    pelt_clip *clips = pelt_model_alloc(session->context, model, count, sizeof *clips);
    pelt_result result = clips ? PELT_OK : PELT_ERROR_MEMORY;
    for (uint32_t n = 0; result == PELT_OK && n < count; n++)
        result = pelt_clip_from_motion(session->context, source, &source->motions[first + n], fps, PELT_SKINNING_LINEAR,
                                       &clips[n]);
    if (result == PELT_OK) {
        model->clips = clips;
        model->clip_count = count;
    }
    return result;
}

/* The clip that contains a frame of the concatenation; `frame` becomes the frame number in that clip. */
static const pelt_clip *clip_of(const pelt_clip *clips, uint32_t *frame) {
    for (; *frame >= clips->frame_count; clips++)
        *frame -= clips->frame_count;
    return clips;
}

static pelt_result read_joined(pelt_context *context, const void *user, uint32_t frame, uint32_t first, uint32_t count,
                               float *out) {
    const pelt_clip *clip = clip_of(user, &frame);
    return pelt_clip_read(context, clip, frame, first, count, out);
}

static pelt_result read_joined_normals(pelt_context *context, const void *user, uint32_t frame, bool by_vertex,
                                       uint32_t first, uint32_t count, float *out) {
    const pelt_clip *clip = clip_of(user, &frame);
    return clip->source.read_normals(context, clip->source.user, frame, by_vertex, first, count, out);
}

pelt_clip join_clips(const pelt_clip *clips, uint32_t count) {
    if (count == 1)
        return clips[0];
    pelt_clip joined = {.name = "all",
                        .point_count = clips[0].point_count,
                        .source = {.read = read_joined, .read_normals = read_joined_normals, .user = clips}};
    for (uint32_t c = 0; c < count; c++) {
        joined.frame_count += clips[c].frame_count;
        if (!clips[c].source.read_normals)
            joined.source.read_normals = NULL;
    }
    return joined;
}

pelt_result edged_mesh(cli_session *session, pelt_model *model, pelt_mesh *mesh) {
    pelt_result result = pelt_model_weld(session->context, model);
    *mesh = model->mesh;
    if (result != PELT_OK || !mesh->normals || mesh->triangle_count == 0)
        return result;
    mesh->normals = pelt_model_alloc(session->context, model, (size_t)3 * mesh->vertex_count, sizeof *mesh->normals);
    return mesh->normals ? pelt_mesh_edged_normals(session->context, &model->mesh, NULL, mesh->normals)
                         : PELT_ERROR_MEMORY;
}

bool read_three(const char *text, double out[3]) {
    for (int c = 0; c < 3; c++) {
        char *end;
        out[c] = strtod(text, &end);
        if (end == text || !isfinite(out[c]) || *end != (c < 2 ? ',' : 0))
            return false;
        text = end + 1;
    }
    return true;
}

const char *shown_name(const char *name) {
    return *name ? name : "(no name)";
}

double clip_duration(const pelt_clip *clip) {
    return clip->frame_count ? (double)clip->times[clip->frame_count - 1] - (double)clip->times[0] : 0;
}

double clip_rate(const pelt_clip *clip, double fps) {
    double duration = clip_duration(clip), rate = (clip->frame_count - 1.0) / duration;
    return duration > 0 && fabs(rate - fps) > 1e-3 / duration ? rate : fps;
}

/* ---- Outputs ---------------------------------------------------------------------------------------------- */

/* The model in its rest pose: the model itself if it has neither skin nor morphs. */
static pelt_result rest_pose(cli_session *session, pelt_model *model, const pelt_model **out) {
    *out = model;
    if (!model->skin.bone_count && !model->morphs.morph_count)
        return PELT_OK;
    pelt_model *posed;
    float *weights = must_alloc(model->morphs.morph_count, sizeof *weights);
    pelt_motion_sample(model, NULL, 0, NULL, weights);
    pelt_result result = pose_mesh(session, model, model->skeleton.rest, weights, NULL, PELT_SKINNING_LINEAR, &posed);
    *out = posed;
    free(weights);
    return result;
}

pelt_result save_rest_pose(cli_session *session, pelt_model *model, const char *path, uint32_t ply, bool one_object) {
    pelt_save_desc desc = pelt_save_desc_default();
    desc.ply = ply;
    desc.one_object = one_object;
    const pelt_model *rest;
    pelt_result result = rest_pose(session, model, &rest);
    return result == PELT_OK ? pelt_save(session->context, rest, path, &desc) : result;
}

pelt_result save_frames(cli_session *session, pelt_model *model, const char *path, const char *mesh_path,
                        const pelt_save_desc *desc) {
    if (!mesh_path)
        return pelt_save(session->context, model, path, desc);
    pelt_save_desc both = *desc;
    both.one_object = true;
    const pelt_model *models[] = {model, NULL};
    pelt_result result = rest_pose(session, model, &models[1]);
    return result == PELT_OK
               ? pelt_save_all(session->context, models, (const char *const[]){path, mesh_path}, COUNT(models), &both)
               : result;
}

/* Finds the only %d, %4d or %04d of a path; NULL if there is none or another %. */
static const char *find_number(const char *path, int *width, const char **end) {
    const char *percent = strchr(path, '%');
    if (!percent)
        return NULL;
    size_t digits = strspn(percent + 1, "0123456789");
    if (percent[1 + digits] != 'd' || digits > 2 || strchr(percent + 1, '%'))
        return NULL;
    *width = atoi(percent + 1);
    *end = percent + digits + 2;
    return percent;
}

bool is_pattern(const char *path) {
    int width;
    const char *end;
    return find_number(path, &width, &end) != NULL;
}

char *pattern_path(const char *pattern, uint32_t number) {
    int width = 0;
    const char *end = "", *start = find_number(pattern, &width, &end);
    if (!start)
        return must_format("%s", pattern);
    return must_format("%.*s%0*u%s", (int)(start - pattern), pattern, width, number, end);
}

static uint64_t file_size(const char *path) {
    uint64_t size;
    px_path_look(path, &size);
    return size;
}

uint64_t written_size(const char *path, uint32_t frame_count) {
    if (!is_pattern(path))
        return file_size(path);
    uint64_t sum = 0;
    for (uint32_t k = 0; k < frame_count; k++) {
        char *name = pattern_path(path, k);
        sum += file_size(name);
        free(name);
    }
    return sum;
}

exit_code output_format(cli_session *session, const char *path, const pelt_format_info **format) {
    *format = pelt_format_for_output(path);
    if (*format && ((*format)->flags & PELT_FORMAT_WRITE))
        return EXIT_DONE;
    char list[256] = "";
    const pelt_format_info *info;
    for (uint32_t f = 0; (info = pelt_format_at(f)); f++)
        if (info->flags & PELT_FORMAT_WRITE)
            for (const char *p = info->extensions; *p; p += strspn(p, " ")) {
                size_t length = strcspn(p, " "), used = strlen(list);
                snprintf(list + used, sizeof list - used, "%s.%.*s", used ? ", " : "", (int)length, p);
                p += length;
            }
    return usage_error(session, "%s: its extension names no format; use one of %s", path, list);
}

exit_code output_rig(cli_session *session, const char *path) {
    const pelt_format_info *format;
    if (!path)
        return usage_error(session, "%s needs an output: -o FILE", session->verb->name);
    exit_code code = output_format(session, path, &format);
    if (code == EXIT_DONE && !(format->flags & PELT_FORMAT_RIG && format->flags & PELT_FORMAT_MESH))
        return usage_error(session, "%s: %s holds no skin; write a .glb, .gltf, .fbx, .usda or .usdz", path,
                           format->name);
    return code;
}
