/* Animations to measure: the three of the bench data, if present, and generated scenes. */
#ifndef PELT_BENCH_ANIMATIONS_H
#define PELT_BENCH_ANIMATIONS_H

#include "scenes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct animation {
    const char *name, *scene; /* scene NULL: NAME.obj and NAME.pc2 of the bench data */
    uint32_t vertex_count, frame_count;
    uint32_t bone_count; /* as in the papers' tables; for the scenes by eye */
} animation;

static const animation animations[] = {
    {"horse-gallop", NULL, 0, 0, 30},  {"elastic-cow", NULL, 0, 0, 18},         {"samba", NULL, 0, 0, 30},
    {"cloth", "cloth", 5000, 200, 32}, {"softbody", "softbody", 5000, 100, 20},
};
#define ANIMATION_COUNT (sizeof animations / sizeof animations[0])

/* Looked for at ../shared/data from the repository, its folders one deep, and a worktree beside it; PELT_DATA overrides
 * that. */
static inline const char *animation_path(char out[static 1024], const animation *a, const char *extension) {
    static const char *const folders[] = {"../shared/data", "../../shared/data"};
    const char *own = getenv("PELT_DATA");
    for (size_t f = 0; f < 2; f++) {
        snprintf(out, 1024, "%s/bench/%s.%s", own ? own : folders[f], a->name, extension);
        if (own || access(out, R_OK) == 0)
            break;
    }
    return out;
}

/* Whether the animation exists and its name begins with `name` (NULL: any). Missing data is reported in one line. */
static inline bool animation_wanted(const animation *a, const char *name) {
    char path[1024];
    if (name && strncmp(a->name, name, strlen(name)) != 0)
        return false;
    if (a->scene || access(animation_path(path, a, "pc2"), R_OK) == 0)
        return true;
    printf("skipped: no real data at %s\n", path);
    return false;
}

static inline pelt_result animation_open(pelt_context *context, const animation *a, pelt_model **model) {
    if (a->scene) {
        scene_desc desc = {.vertex_count = a->vertex_count, .frame_count = a->frame_count, .seed = 1};
        return scene_find(a->scene)->make(context, &desc, model);
    }
    char mesh[1024], cache[1024];
    const char *const paths[] = {animation_path(mesh, a, "obj"), animation_path(cache, a, "pc2")};
    return pelt_load(context, paths, 2, NULL, model);
}

#endif
