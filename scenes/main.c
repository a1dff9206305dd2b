/* pelt-scenes: lists scenes and writes them to files. */
#include "core/platform.h"
#include "scenes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int usage(FILE *to) {
    fprintf(to,
            "Usage: pelt-scenes list\n"
            "       pelt-scenes NAME -o FILE [--vertices N] [--frames F] [--seed S]\n"
            "                   [--sliders N] [--poses FOLDER] [--unseen FOLDER]\n"
            "\n"
            "Writes rigs to .glb or .gltf; vertex animations to an .obj with a .pc2 of the same name, or, with a\n"
            "pattern, to a sequence. For scenes with poses, --poses writes training poses and --unseen test poses:\n"
            "an .obj with the shape and a .json with the joints for each.\n"
            "\n"
            "  pelt-scenes creature -o creature.glb\n"
            "  pelt-scenes cloth -o flag.obj --vertices 10000 --frames 200\n"
            "  pelt-scenes face -o face.glb --sliders 200\n"
            "  pelt-scenes arm -o arm.glb --poses poses --unseen unseen\n"
            "  pelt-scenes softbody -o 'hare_%%04d.obj'\n");
    return to == stdout ? 0 : 1;
}

static int list_scenes(void) {
    for (uint32_t s = 0; scene_at(s); s++)
        printf("%-12s %s\n", scene_at(s)->name, scene_at(s)->summary);
    return 0;
}

typedef struct arguments {
    const scene *scene;
    const char *output;
    const char *poses, *unseen; /* folders, or NULL */
    scene_desc desc;
    uint32_t slider_count; /* 0: default */
} arguments;

/* Parses an integer up to `most`; false if the text is not one. */
static bool read_number(const char *text, uint64_t most, uint64_t *value) {
    char *end = NULL;
    if (!text || text[0] < '0' || text[0] > '9')
        return false;
    unsigned long long number = strtoull(text, &end, 10);
    *value = number;
    return *end == 0 && number <= most;
}

/* Destination of an option whose value is a path; NULL: not such an option. */
static const char **path_option(arguments *args, const char *name) {
    return strcmp(name, "-o") == 0         ? &args->output
           : strcmp(name, "--poses") == 0  ? &args->poses
           : strcmp(name, "--unseen") == 0 ? &args->unseen
                                           : NULL;
}

static bool read_arguments(int count, char **texts, arguments *out) {
    out->scene = scene_find(texts[1]);
    if (!out->scene) {
        fprintf(stderr, "pelt-scenes: no scene is called '%s'; 'pelt-scenes list' shows them\n", texts[1]);
        return false;
    }
    for (int a = 2; a < count; a += 2) {
        const char *name = texts[a], *value = a + 1 < count ? texts[a + 1] : NULL;
        uint64_t number = 0;
        if (!value) {
            fprintf(stderr, "pelt-scenes: '%s' needs a value\n", name);
            return false;
        }
        bool size = strcmp(name, "--vertices") == 0, frames = strcmp(name, "--frames") == 0,
             sliders = strcmp(name, "--sliders") == 0;
        const char **path = path_option(out, name);
        if (path) {
            *path = value;
            continue;
        }
        if (!size && !frames && !sliders && strcmp(name, "--seed") != 0) {
            fprintf(stderr, "pelt-scenes: no option is called '%s'\n", name);
            return false;
        }
        if (!read_number(value, size || frames || sliders ? UINT32_MAX : UINT64_MAX, &number)) {
            fprintf(stderr, "pelt-scenes: %s: '%s' is no number, or too large\n", name, value);
            return false;
        }
        if (size)
            out->desc.vertex_count = (uint32_t)number;
        else if (frames)
            out->desc.frame_count = (uint32_t)number;
        else if (sliders)
            out->slider_count = (uint32_t)number;
        else
            out->desc.seed = number;
    }
    if ((out->poses || out->unseen) && !out->scene->poses) {
        fprintf(stderr, "pelt-scenes: %s has no poses to write\n", out->scene->name);
        return false;
    }
    if (out->slider_count > 0 && strcmp(out->scene->name, "face") != 0) {
        fprintf(stderr, "pelt-scenes: %s has no sliders\n", out->scene->name);
        return false;
    }
    if (!out->output)
        fprintf(stderr, "pelt-scenes: -o FILE is missing\n");
    return out->output != NULL;
}

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

/* A mesh file cannot hold a clip: write a cache with the same name. */
static pelt_result save_scene(pelt_context *context, const pelt_model *model, const char *path) {
    pelt_result result = pelt_save(context, model, path, NULL);
    if (result != PELT_OK || model->clip_count == 0 || !ends_with(path, ".obj") || strchr(path, '%'))
        return result;
    char *cache = malloc(strlen(path) + 1);
    if (!cache)
        return PELT_ERROR_MEMORY;
    memcpy(cache, path, strlen(path) + 1);
    memcpy(cache + strlen(path) - 4, ".pc2", 5);
    result = pelt_save(context, model, cache, NULL);
    free(cache);
    return result;
}

static pelt_result save_folder(pelt_context *context, const pelt_model *model, const scene_pose *poses, uint32_t count,
                               const char *folder) {
    if (!folder)
        return PELT_OK;
    px_folder_make(folder); /* if this fails, writing the files reports it */
    return scene_poses_save(context, model, poses, count, folder);
}

static pelt_result save_poses(pelt_context *context, const arguments *args, pelt_model *model) {
    scene_poses poses;
    if (!args->poses && !args->unseen)
        return PELT_OK;
    pelt_result result = args->scene->poses(context, &args->desc, model, &poses);
    if (result == PELT_OK)
        result = save_folder(context, model, poses.seen, poses.seen_count, args->poses);
    if (result == PELT_OK)
        result = save_folder(context, model, poses.unseen, poses.unseen_count, args->unseen);
    return result;
}

int main(int count, char **texts) {
    px_program_begin(&count, &texts);
    if (count < 2)
        return usage(stderr);
    if (strcmp(texts[1], "list") == 0)
        return list_scenes();
    if (strcmp(texts[1], "--help") == 0 || strcmp(texts[1], "-h") == 0)
        return usage(stdout);
    arguments args = {0};
    if (!read_arguments(count, texts, &args))
        return 1;
    pelt_context *context;
    pelt_model *model = NULL;
    if (pelt_context_create(NULL, &context) != PELT_OK)
        return 2;
    pelt_result result = args.slider_count > 0 ? scene_face_make(context, &args.desc, args.slider_count, &model)
                                               : args.scene->make(context, &args.desc, &model);
    int code = result == PELT_OK ? 0 : 2;
    if (result == PELT_OK) {
        result = save_scene(context, model, args.output);
        if (result == PELT_OK)
            result = save_poses(context, &args, model);
        code = result == PELT_OK ? 0 : 3;
    }
    if (result != PELT_OK) {
        const char *text = pelt_error_text(context);
        fprintf(stderr, "pelt-scenes: %s\n", text[0] ? text : pelt_result_text(result));
    }
    pelt_model_destroy(model);
    pelt_context_destroy(context);
    return code;
}
