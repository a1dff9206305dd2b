/* Rigs of the real data, for tests that look at all of them. */
#ifndef PELT_TESTS_CHARACTERS_H
#define PELT_TESTS_CHARACTERS_H

#include "support.h"

#include <dirent.h>
#include <sys/stat.h>

static inline void test_walk(const char *path, int depth, void (*check)(const char *path)) {
    DIR *directory = depth < 6 ? opendir(path) : NULL;
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        char full[2048];
        struct stat status;
        const char *name = entry->d_name, *dot = strrchr(name, '.');
        if (name[0] == '.' || (depth == 0 && strncmp(name, "char-", 5) != 0 && strncmp(name, "face-", 5) != 0))
            continue;
        if ((size_t)snprintf(full, sizeof full, "%s/%s", path, name) >= sizeof full)
            continue;
        if (stat(full, &status) == 0 && S_ISDIR(status.st_mode))
            test_walk(full, depth + 1, check);
        else if (dot && (strcmp(dot, ".glb") == 0 || strcmp(dot, ".gltf") == 0) && test_can_read(full))
            check(full);
    }
    if (directory)
        closedir(directory);
}

/* Calls `check` for every glTF file in the folders char-* and face-* of `data` that this build can read, in any order. */
static inline void test_each_character(const char *data, void (*check)(const char *path)) {
    test_walk(data, 0, check);
}

#endif
