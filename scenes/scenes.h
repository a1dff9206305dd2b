/* Scenes that Pelt makes itself: seeded, of any size, the same bytes every time. */
#ifndef PELT_SCENES_H
#define PELT_SCENES_H

#include <pelt/pelt.h>

typedef struct scene_desc {
    uint32_t vertex_count; /* about this many; 0: the scene's own default */
    uint32_t frame_count;  /* 0: the scene's own default */
    uint64_t seed;
} scene_desc;

typedef struct scene {
    const char *name;    /* "creature" */
    const char *summary; /* one line */
    pelt_result (*make)(pelt_context *context, const scene_desc *desc, pelt_model **model);
} scene;

/* The scenes in the order of their table; index ≥ the count gives NULL. */
const scene *scene_at(uint32_t index);
/* By name; NULL when there is none. */
const scene *scene_find(const char *name);

#endif
