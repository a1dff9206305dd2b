#include "characters.h"

#include "rig_measures.h"

#include <pelt/io.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const sets[] = {"rocketbox", "quaternius", "mesh2motion", "gltf-khronos",
                                   "hands",     "threejs",    "makehuman"};
#define SET_COUNT (sizeof sets / sizeof sets[0])

/* ---- Finding ---------------------------------------------------------------------------------------------- */

static void add(character_list *list, const char *set, const char *path) {
    character *items = realloc(list->items, (list->count + 1) * sizeof *items);
    char *copy = strdup(path);
    if (!items || !copy) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    const char *name = strrchr(path, '/') + 1;
    list->items = items;
    character *c = &items[list->count++];
    *c = (character){.set = set, .path = copy};
    snprintf(c->name, sizeof c->name, "%.*s", (int)(strrchr(name, '.') - name), name);
}

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), end_length = strlen(end);
    return length > end_length && strcmp(text + length - end_length, end) == 0;
}

static void walk(character_list *list, const char *set, const char *folder, const char *filter) {
    struct dirent **entries;
    int count = scandir(folder, &entries, NULL, alphasort);
    for (int e = 0; e < count; e++) {
        char path[2048];
        struct stat info;
        snprintf(path, sizeof path, "%s/%s", folder, entries[e]->d_name);
        if (entries[e]->d_name[0] == '.' || stat(path, &info) != 0) {
            free(entries[e]);
            continue;
        }
        if (S_ISDIR(info.st_mode))
            walk(list, set, path, filter);
        else if ((ends_with(path, ".glb") || ends_with(path, ".gltf")) && (!filter || strstr(path, filter)))
            add(list, set, path);
        free(entries[e]);
    }
    if (count >= 0)
        free(entries);
}

character_list characters_find(const char *filter) {
    const char *folder = getenv("PELT_DATA");
    if (!folder)
        folder = access("../shared/data", R_OK) == 0 ? "../shared/data" : "../../shared/data";
    character_list list = {0};
    for (size_t s = 0; s < SET_COUNT; s++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/char-%s", folder, sets[s]);
        if (access(path, R_OK) == 0)
            walk(&list, sets[s], path, filter);
        else
            printf("skipped: no real data at %s\n", path);
    }
    return list;
}

void characters_free(character_list *list) {
    for (size_t c = 0; c < list->count; c++)
        free(list->items[c].path);
    free(list->items);
    *list = (character_list){0};
}

/* ---- Loading ---------------------------------------------------------------------------------------------- */

/* Test files that look like rigs but show no character. */
static const char *const toys[] = {"RecursiveSkeletons"};

static const char *why_not(pelt_context *context, const character *c, const pelt_model *model) {
    for (size_t t = 0; t < sizeof toys / sizeof toys[0]; t++)
        if (strcmp(c->name, toys[t]) == 0)
            return "a toy: many small copies of one bend";
    rig_measures own;
    bool skinned = false;
    for (uint32_t p = 0; p < model->mesh.part_count; p++)
        skinned |= model->mesh.parts[p].skinned;
    if (!skinned || rig_compare(context, model, model, NULL, &own) != PELT_OK)
        return "no skin";
    if (own.l1 != 0 || own.bend != 0 || own.clip_percent > 0) { /* otherwise no figure of the table can be trusted */
        fprintf(stderr, "%s: its weights differ from themselves\n", c->path);
        exit(1);
    }
    return own.joint_count < CHARACTER_JOINTS ? "a toy: fewer than 5 joints carry weight" : NULL;
}

pelt_result character_load(pelt_context *context, const character *c, pelt_model **model, const char **reason) {
    const char *paths[] = {c->path};
    pelt_result result = pelt_load(context, paths, 1, NULL, model);
    if (result == PELT_OK)
        *reason = why_not(context, c, *model);
    return result;
}
