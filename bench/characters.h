/* Rigged characters of the real data, with their artists' weights: found by walking its folders. */
#ifndef PELT_BENCH_CHARACTERS_H
#define PELT_BENCH_CHARACTERS_H

#include <pelt/model.h>

typedef struct character {
    const char *set; /* the folder it came with, "rocketbox" */
    char *path;
    char name[64]; /* the file's, without extension */
} character;

typedef struct character_list {
    size_t count;
    character *items; /* sorted by set, then by path */
} character_list;

/* Every .glb and .gltf of the sets whose path contains `filter` (NULL: all). Searched as in bench/animations.h; missing
 * data is reported in one line. Exits when out of memory. */
character_list characters_find(const char *filter);
void characters_free(character_list *list);

/* Loads a character. If it is not one (no skin, a toy, fewer than CHARACTER_JOINTS joints that carry weight), `reason`
 * says why, else it is NULL. */
#define CHARACTER_JOINTS 5
pelt_result character_load(pelt_context *context, const character *c, pelt_model **model, const char **reason);

#endif
