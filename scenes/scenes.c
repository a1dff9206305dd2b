/* The table of scenes. */
#include "scenes.h"

#include <string.h>

static const scene *const table[] = {NULL};

const scene *scene_at(uint32_t index) {
    return index < sizeof table / sizeof table[0] ? table[index] : NULL;
}

const scene *scene_find(const char *name) {
    for (uint32_t s = 0; scene_at(s); s++)
        if (strcmp(scene_at(s)->name, name) == 0)
            return scene_at(s);
    return NULL;
}
