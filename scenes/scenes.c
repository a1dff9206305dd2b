/* The table of scenes. A new scene is a file and a name in both lists here. */
#include "build.h"

#include <string.h>

extern const scene scene_creature, scene_cloth, scene_softbody, scene_production, scene_morph, scene_tube, scene_arm,
    scene_troll, scene_wring, scene_hand, scene_face;

static const scene *const table[] = {
    &scene_creature, &scene_cloth, &scene_softbody, &scene_production, &scene_morph, &scene_tube,
    &scene_arm,      &scene_troll, &scene_wring,    &scene_hand,       &scene_face,
};

const scene *scene_at(uint32_t index) {
    return index < SCENE_COUNT(table) ? table[index] : NULL;
}

const scene *scene_find(const char *name) {
    for (uint32_t s = 0; scene_at(s); s++)
        if (strcmp(scene_at(s)->name, name) == 0)
            return scene_at(s);
    return NULL;
}

pelt_result scene_build(pelt_context *context, const scene_desc *desc, scene_build_fn *build, pelt_model **out) {
    pelt_model *model = NULL, *scratch = NULL;
    *out = NULL;
    pelt_result result = pelt_model_create(context, &model);
    if (result == PELT_OK)
        result = pelt_model_create(context, &scratch);
    if (result == PELT_OK)
        result = build(context, scratch, desc, model);
    pelt_model_destroy(scratch);
    if (result == PELT_OK)
        *out = model;
    else
        pelt_model_destroy(model);
    return result;
}
