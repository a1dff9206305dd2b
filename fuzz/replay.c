/* Runs a fuzz target over files, without libFuzzer: how the tests replay a corpus with any compiler. Targets choose what
 * they do with an input from its bytes, so each input is run ROUNDS times with different choices.
 *
 *   fuzz_obj corpus/obj more/file.obj
 *
 * Prints how many inputs were run; an empty folder is a failure, since then nothing was tested.
 */
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define ROUNDS 32u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
extern uint32_t fuzz_round;

static bool run_file(const char *path) {
    FILE *file = fopen(path, "rb");
    long size = file && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    /* A block of exactly this size, so that sanitizers detect overruns. */
    uint8_t *data = size >= 0 ? malloc(size > 0 ? (size_t)size : 1) : NULL;
    bool good = data && fseek(file, 0, SEEK_SET) == 0 && fread(data, 1, (size_t)size, file) == (size_t)size;
    for (fuzz_round = 0; good && fuzz_round < ROUNDS; fuzz_round++)
        LLVMFuzzerTestOneInput(data, (size_t)size);
    if (!good)
        fprintf(stderr, "%s: cannot be read\n", path);
    free(data);
    if (file)
        fclose(file);
    return good;
}

/* Returns how many files were run, -1 when one could not be read. */
static int run_folder(const char *path) {
    DIR *folder = opendir(path);
    if (!folder) {
        fprintf(stderr, "%s: cannot be opened\n", path);
        return -1;
    }
    int count = 0;
    for (struct dirent *entry; count >= 0 && (entry = readdir(folder));) {
        char name[4096];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        count = run_file(name) ? count + 1 : -1;
    }
    closedir(folder);
    if (count == 0)
        fprintf(stderr, "%s: holds no inputs\n", path);
    return count > 0 ? count : -1;
}

int main(int argument_count, char **arguments) {
    int total = 0;
    for (int i = 1; i < argument_count; i++) {
        struct stat status;
        bool is_folder = stat(arguments[i], &status) == 0 && S_ISDIR(status.st_mode);
        int count = is_folder ? run_folder(arguments[i]) : run_file(arguments[i]) ? 1 : -1;
        if (count < 0)
            return EXIT_FAILURE;
        total += count;
    }
    printf("%d inputs\n", total);
    return total > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
