/* For the program in node: emscripten's C library declares posix_spawnp and does not have it. */
#include <errno.h>
#include <spawn.h>

int posix_spawnp(pid_t *restrict pid, const char *restrict file, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *restrict attributes, char *const argv[restrict], char *const env[restrict]) {
    (void)pid, (void)file, (void)actions, (void)attributes, (void)argv, (void)env;
    return ENOSYS;
}
