/* For the program in node: functions of processes that emscripten's C library declares and does not have. No program is started, so there is
 * none to wait for. */
#include <errno.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

int posix_spawnp(pid_t *restrict pid, const char *restrict file, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *restrict attributes, char *const argv[restrict], char *const env[restrict]) {
    (void)pid, (void)file, (void)actions, (void)attributes, (void)argv, (void)env;
    return ENOSYS;
}

pid_t wait4(pid_t pid, int *status, int options, struct rusage *used) {
    (void)pid, (void)status, (void)options, (void)used;
    errno = ECHILD;
    return -1;
}
