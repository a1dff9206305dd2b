/* The platform layer on POSIX systems: Linux, macOS, Emscripten. */
#include "core/platform.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- Paths ------------------------------------------------------------------------------------------------ */

const char px_path_separators[] = "/";

const char *px_path_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static px_path_kind kind_of(const struct stat *status, uint64_t *size) {
    *size = S_ISREG(status->st_mode) ? (uint64_t)status->st_size : 0;
    return S_ISREG(status->st_mode) ? PX_PATH_FILE : S_ISDIR(status->st_mode) ? PX_PATH_FOLDER : PX_PATH_STREAM;
}

px_path_kind px_path_look(const char *path, uint64_t *size) {
    struct stat status;
    *size = 0;
    return stat(path, &status) == 0 ? kind_of(&status, size) : PX_PATH_NONE;
}

bool px_path_real(const char *path, char real[PX_PATH_SIZE]) {
    char *found = realpath(path, NULL);
    size_t length = found ? strlen(found) : PX_PATH_SIZE;
    if (length < PX_PATH_SIZE)
        memcpy(real, found, length + 1);
    else if (found)
        errno = ENAMETOOLONG;
    free(found);
    return length < PX_PATH_SIZE;
}

bool px_path_rename(const char *from, const char *to) {
    return rename(from, to) == 0;
}

bool px_path_link(const char *from, const char *to) {
    if (link(from, to) == 0)
        return true;
    errno = errno == EDQUOT ? ENOSPC : errno;
    return false;
}

bool px_path_remove(const char *path) {
    return unlink(path) == 0;
}

bool px_folder_make(const char *path) {
    return mkdir(path, 0777) == 0;
}

bool px_folder_open(px_folder *folder, const char *path) {
    folder->handle = opendir(path);
    return folder->handle != NULL;
}

const char *px_folder_next(px_folder *folder) {
    const struct dirent *entry = readdir(folder->handle);
    return entry ? entry->d_name : NULL;
}

void px_folder_close(px_folder *folder) {
    closedir(folder->handle);
}

/* ---- Files ------------------------------------------------------------------------------------------------ */

int px_open(const char *path, px_open_mode mode) {
    static const int flags[] = {O_RDONLY, O_WRONLY, O_WRONLY | O_CREAT | O_EXCL};
    return open(path, flags[mode] | O_CLOEXEC, 0666);
}

int px_open_standard(const char *path) {
    struct stat link, status, stream;
    if (lstat(path, &link) != 0 || !S_ISLNK(link.st_mode) || stat(path, &status) != 0)
        return -1;
    for (int descriptor = STDOUT_FILENO; descriptor <= STDERR_FILENO; descriptor++)
        if (fstat(descriptor, &stream) == 0 && stream.st_dev == status.st_dev && stream.st_ino == status.st_ino)
            return fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    return -1;
}

px_path_kind px_descriptor_look(int descriptor, uint64_t *size) {
    struct stat status;
    *size = 0;
    return fstat(descriptor, &status) == 0 ? kind_of(&status, size) : PX_PATH_NONE;
}

int64_t px_descriptor_read(int descriptor, void *data, size_t size) {
    return read(descriptor, data, size < (size_t)1 << 30 ? size : (size_t)1 << 30);
}

int64_t px_descriptor_write(int descriptor, const void *data, size_t size) {
    return write(descriptor, data, size < (size_t)1 << 30 ? size : (size_t)1 << 30);
}

bool px_descriptor_close(int descriptor) {
    return close(descriptor) == 0;
}

bool px_map(int descriptor, size_t size, px_mapping *mapping) {
    void *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (data == MAP_FAILED)
        return false;
    *mapping = (px_mapping){.data = data, .size = size, .handle = data};
    return true;
}

void px_unmap(px_mapping *mapping) {
    munmap(mapping->handle, mapping->size);
}

void px_map_release(const void *data, size_t size) {
    madvise((void *)(uintptr_t)data, size, MADV_DONTNEED);
}

/* ---- Threads ---------------------------------------------------------------------------------------------- */

_Static_assert(sizeof(pthread_mutex_t) <= sizeof(px_mutex) && sizeof(pthread_cond_t) <= sizeof(px_condition) &&
                   sizeof(pthread_t) <= sizeof(uint64_t),
               "the objects of the system fit into ours");

static pthread_mutex_t *mutex_of(px_mutex *mutex) {
    return (pthread_mutex_t *)(void *)mutex->system;
}

static pthread_cond_t *condition_of(px_condition *condition) {
    return (pthread_cond_t *)(void *)condition->system;
}

void px_mutex_init(px_mutex *mutex) {
    pthread_mutex_init(mutex_of(mutex), NULL);
}

void px_mutex_destroy(px_mutex *mutex) {
    pthread_mutex_destroy(mutex_of(mutex));
}

void px_mutex_lock(px_mutex *mutex) {
    pthread_mutex_lock(mutex_of(mutex));
}

void px_mutex_unlock(px_mutex *mutex) {
    pthread_mutex_unlock(mutex_of(mutex));
}

void px_condition_init(px_condition *condition) {
    pthread_cond_init(condition_of(condition), NULL);
}

void px_condition_destroy(px_condition *condition) {
    pthread_cond_destroy(condition_of(condition));
}

void px_condition_wait(px_condition *condition, px_mutex *mutex) {
    pthread_cond_wait(condition_of(condition), mutex_of(mutex));
}

void px_condition_signal(px_condition *condition) {
    pthread_cond_signal(condition_of(condition));
}

void px_condition_broadcast(px_condition *condition) {
    pthread_cond_broadcast(condition_of(condition));
}

static void *thread_main(void *user) {
    px_thread *thread = user;
    thread->run(thread->user);
    return NULL;
}

bool px_thread_start(px_thread *thread, void (*run)(void *user), void *user) {
    pthread_attr_t settings;
    pthread_t started;
    thread->run = run;
    thread->user = user;
    if ((errno = pthread_attr_init(&settings)) != 0)
        return false;
    pthread_attr_setstacksize(&settings, PX_THREAD_STACK);
    errno = pthread_create(&started, &settings, thread_main, thread);
    bool good = errno == 0;
    if (good)
        memcpy(&thread->system, &started, sizeof started);
    pthread_attr_destroy(&settings);
    return good;
}

void px_thread_join(px_thread *thread) {
    pthread_t started;
    memcpy(&started, &thread->system, sizeof started);
    pthread_join(started, NULL);
}

uint32_t px_core_count(void) {
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : (uint32_t)count;
}

/* ---- Time and process ------------------------------------------------------------------------------------- */

double px_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

uint32_t px_process_id(void) {
    return (uint32_t)getpid();
}
