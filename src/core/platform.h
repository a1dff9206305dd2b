/* The platform layer: all that operating systems do differently. Compiled are glob.c and platform_posix.c or platform_windows.c;
 * programs also link program_posix.c or program_windows.c. No other file of src/, cli/ and scenes/ includes a header of an operating system or
 * asks for which one it is compiled (tests/include_order.sh).
 *
 * Paths are UTF-8, with '/' between folders; on Windows also with '\'. On POSIX systems they may have any bytes. Functions that
 * fail return false, -1 or NULL and set errno: ENOENT, EACCES, ENOSPC and so on, on every system.
 */
#ifndef PELT_CORE_PLATFORM_H
#define PELT_CORE_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- Paths ------------------------------------------------------------------------------------------------ */

#define PX_PATH_SIZE 4096 /* bytes, with the final 0; longer paths fail with ENAMETOOLONG */

typedef enum px_path_kind {
    PX_PATH_NONE, /* there is nothing of this name, or it cannot be seen */
    PX_PATH_FILE, /* a regular file */
    PX_PATH_FOLDER,
    PX_PATH_STREAM, /* a pipe, a terminal, another device: cannot be read twice, has no size */
} px_path_kind;

/* "/"; on Windows both separators. */
extern const char px_path_separators[];
/* The part of a path behind its last separator: "name" of "folder/name". The part before it ends in the separator. */
const char *px_path_name(const char *path);
/* What a path names; symbolic links are followed. *size: bytes of a regular file, else 0. */
px_path_kind px_path_look(const char *path, uint64_t *size);
/* The absolute path of what exists at `path`, without symbolic links. */
bool px_path_real(const char *path, char real[PX_PATH_SIZE]);
/* Renames a file and replaces the file at `to`: at any moment there is the old or the new one. On Windows a file that is
 * open or mapped is moved aside and removed when its mapping ends. */
bool px_path_rename(const char *from, const char *to);
/* Gives a file a second name (a hard link). Fails where the file system has none; with ENOSPC where it is full. */
bool px_path_link(const char *from, const char *to);
bool px_path_remove(const char *path);
bool px_folder_make(const char *path);
/* Whether a text matches a pattern: * is any characters, ? any one, [a-z] one of a set, [!a-z] one that is not; none of them is one
 * of `separators`. A backslash takes the meaning from the next character, unless it is a separator itself. */
bool px_glob_matches(const char *pattern, size_t pattern_length, const char *text, size_t length,
                     const char *separators);

/* The names in a folder, in any order:
 *   px_folder folder;
 *   if (px_folder_open(&folder, path)) { while ((name = px_folder_next(&folder))) …; px_folder_close(&folder); } */
typedef struct px_folder {
    void *handle;
    bool first;
    char name[1024];
} px_folder;
bool px_folder_open(px_folder *folder, const char *path);
/* Valid until the next call; NULL: no more. "." and ".." may be among them. */
const char *px_folder_next(px_folder *folder);
void px_folder_close(px_folder *folder);

/* ---- Files ------------------------------------------------------------------------------------------------ */

typedef enum px_open_mode {
    PX_OPEN_READ,
    PX_OPEN_WRITE, /* what exists already: a pipe, a device */
    PX_OPEN_NEW,   /* a new file; fails with EEXIST when there is one */
} px_open_mode;

/* Opens a file or stream for bytes. Returns a descriptor; -1: failed, with EINTR when a signal arrived while waiting. On
 * Windows /dev/stdin, /dev/stdout, /dev/stderr and /dev/null are names of the standard streams and of NUL. */
int px_open(const char *path, px_open_mode mode);
/* A new descriptor of standard output or standard error when the path is a link to it (/dev/stdout, /dev/stderr), even if it was
 * redirected to a file; else -1. */
int px_open_standard(const char *path);
px_path_kind px_descriptor_look(int descriptor, uint64_t *size);
/* Read or write up to `size` bytes and return how many; 0 read: the end. -1: failed, with EINTR when a signal arrived. */
int64_t px_descriptor_read(int descriptor, void *data, size_t size);
int64_t px_descriptor_write(int descriptor, const void *data, size_t size);
/* False: bytes written before could not be stored. The descriptor is closed in any case. */
bool px_descriptor_close(int descriptor);

/* A file in memory, read-only. It outlives its descriptor. */
typedef struct px_mapping {
    const void *data;
    size_t size;
    void *handle;
} px_mapping;
/* `size`: all bytes of the file, at least 1. */
bool px_map(int descriptor, size_t size, px_mapping *mapping);
void px_unmap(px_mapping *mapping);
/* Drops mapped pages from memory; the next access reads them again. Safe while other threads read. */
void px_map_release(const void *data, size_t size);

/* ---- Threads ---------------------------------------------------------------------------------------------- */

/* The objects of the system are inside; they may not be moved. */
typedef struct px_mutex {
    uint64_t system[8];
} px_mutex;
typedef struct px_condition {
    uint64_t system[8];
} px_condition;

void px_mutex_init(px_mutex *mutex);
void px_mutex_destroy(px_mutex *mutex);
void px_mutex_lock(px_mutex *mutex);
void px_mutex_unlock(px_mutex *mutex);
void px_condition_init(px_condition *condition);
void px_condition_destroy(px_condition *condition);
/* Unlocks the mutex, waits and locks it again; may also return without a signal. */
void px_condition_wait(px_condition *condition, px_mutex *mutex);
void px_condition_signal(px_condition *condition);
void px_condition_broadcast(px_condition *condition);

#define PX_THREAD_STACK ((size_t)4 << 20) /* bytes: products of matrices use 200 kB, sanitizers several times that */
typedef struct px_thread {
    void (*run)(void *user);
    void *user;
    uint64_t system;
} px_thread;
/* The struct must stay until px_thread_join. */
bool px_thread_start(px_thread *thread, void (*run)(void *user), void *user);
void px_thread_join(px_thread *thread);
/* Threads that this machine runs at once, at least 1. */
uint32_t px_core_count(void);

/* ---- Time and process ------------------------------------------------------------------------------------- */

/* Seconds of a monotonic clock, for durations. */
double px_seconds(void);
/* A number that no other process of this machine has now. */
uint32_t px_process_id(void);

/* ---- Programs: program_posix.c, program_windows.c --------------------------------------------------------- */

/* First in main: arguments become UTF-8, and the standard streams carry bytes. */
void px_program_begin(int *count, char ***arguments);
/* From now on a request to stop (Ctrl-C, SIGTERM, SIGHUP, a closed console) makes px_program_interrupted true; the second one
 * ends the process with the code `interrupted`. A closed pipe and a file size limit are failed writes. When a mapped file gets
 * shorter while it is read, prints `lost_text` and ends with the code `lost`. Signals that were ignored stay ignored. */
void px_program_signals(int interrupted, int lost, const char *lost_text);
bool px_program_interrupted(void);
/* Whether the stream is a terminal that obeys escape sequences. */
bool px_terminal_draws(FILE *stream);
/* The absolute path of the running program, without symbolic links. False: the system does not tell. */
bool px_program_path(char path[PX_PATH_SIZE]);
/* Opens a page in the browser of the user. False: there is none. */
bool px_page_open(const char *path);

#endif
