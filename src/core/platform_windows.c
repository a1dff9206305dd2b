/* The platform layer on Windows 7 and later. Descriptors are those of the C library, opened so that others may rename and remove
 * the file meanwhile, as they may on POSIX systems. */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include "core/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <process.h>
#include <string.h>
#include <wchar.h>

/* Sets errno by the error of the last call of the system; false. */
static bool fail(void) {
    static const struct {
        DWORD error;
        int number;
    } table[] = {
        {ERROR_FILE_NOT_FOUND, ENOENT},
        {ERROR_PATH_NOT_FOUND, ENOENT},
        {ERROR_INVALID_NAME, ENOENT},
        {ERROR_BAD_NETPATH, ENOENT},
        {ERROR_BAD_NET_NAME, ENOENT},
        {ERROR_NOT_READY, ENOENT},
        {ERROR_ACCESS_DENIED, EACCES},
        {ERROR_SHARING_VIOLATION, EACCES},
        {ERROR_LOCK_VIOLATION, EACCES},
        {ERROR_USER_MAPPED_FILE, EACCES},
        {ERROR_WRITE_PROTECT, EROFS},
        {ERROR_FILE_EXISTS, EEXIST},
        {ERROR_ALREADY_EXISTS, EEXIST},
        {ERROR_DISK_FULL, ENOSPC},
        {ERROR_HANDLE_DISK_FULL, ENOSPC},

        {ERROR_NOT_ENOUGH_MEMORY, ENOMEM},
        {ERROR_OUTOFMEMORY, ENOMEM},
        {ERROR_COMMITMENT_LIMIT, ENOMEM},
        {ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG},
        {ERROR_BUFFER_OVERFLOW, ENAMETOOLONG},
        {ERROR_INSUFFICIENT_BUFFER, ENAMETOOLONG},
        {ERROR_NO_UNICODE_TRANSLATION, EILSEQ},
        {ERROR_DIRECTORY, ENOTDIR},
        {ERROR_BROKEN_PIPE, EPIPE},
        {ERROR_NO_DATA, EPIPE},
        {ERROR_TOO_MANY_OPEN_FILES, EMFILE},
        {ERROR_NOT_SAME_DEVICE, EXDEV},
    };
    DWORD error = GetLastError();
    errno = EIO;
    for (size_t n = 0; n < sizeof table / sizeof *table; n++)
        if (table[n].error == error)
            errno = table[n].number;
    return false;
}

static bool done(BOOL good) {
    return good ? true : fail();
}

/* ---- Paths ------------------------------------------------------------------------------------------------ */

typedef wchar_t wide_path[PX_PATH_SIZE];

/* Paths that are too long for old programs need the prefix \\?\ and must be absolute. */
static bool to_wide(const char *path, wide_path out) {
    enum { OLD_LIMIT = 240, PREFIX = 4 };
    if (strcmp(path, "/dev/null") == 0)
        path = "NUL";
    int length = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, out, PX_PATH_SIZE);
    if (length <= OLD_LIMIT || wcsncmp(out, L"\\\\", 2) == 0 || wcsncmp(out, L"//", 2) == 0)
        return done(length > 0);
    wide_path full;
    DWORD size = GetFullPathNameW(out, PX_PATH_SIZE - PREFIX, full, NULL);
    if (size == 0 || size >= PX_PATH_SIZE - PREFIX) {
        errno = ENAMETOOLONG;
        return false;
    }
    wmemcpy(out, L"\\\\?\\", PREFIX);
    wmemcpy(out + PREFIX, full, size + 1);
    return true;
}

const char px_path_separators[] = "/\\";

const char *px_path_name(const char *path) {
    const char *name = path;
    for (const char *p = path; *p; p++)
        if (*p == '/' || *p == '\\' || (*p == ':' && p == path + 1))
            name = p + 1;
    return name;
}

static px_path_kind look(HANDLE handle, uint64_t *size) {
    BY_HANDLE_FILE_INFORMATION info;
    *size = 0;
    if (GetFileType(handle) != FILE_TYPE_DISK)
        return PX_PATH_STREAM;
    if (!GetFileInformationByHandle(handle, &info)) {
        fail();
        return PX_PATH_NONE;
    }
    if (info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY)
        return PX_PATH_FOLDER;
    *size = (uint64_t)info.nFileSizeHigh << 32 | info.nFileSizeLow;
    return PX_PATH_FILE;
}

static HANDLE open_handle(const char *path, DWORD access, DWORD creation) {
    wide_path wide;
    if (!to_wide(path, wide))
        return INVALID_HANDLE_VALUE;
    HANDLE handle = CreateFileW(wide, access, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, creation,
                                FILE_FLAG_BACKUP_SEMANTICS, NULL); /* which opens folders, too */
    if (handle == INVALID_HANDLE_VALUE)
        fail();
    return handle;
}

/* The standard stream that a path names, 0 to 2; -1: none. */
static int standard_stream(const char *path) {
    static const char *const names[] = {"/dev/stdin", "/dev/stdout", "/dev/stderr"};
    for (int n = 0; n < 3; n++)
        if (strcmp(path, names[n]) == 0)
            return n;
    return -1;
}

px_path_kind px_path_look(const char *path, uint64_t *size) {
    *size = 0;
    if (standard_stream(path) >= 0)
        return PX_PATH_STREAM;
    HANDLE handle = open_handle(path, 0, OPEN_EXISTING);
    if (handle == INVALID_HANDLE_VALUE)
        return PX_PATH_NONE;
    px_path_kind kind = look(handle, size);
    CloseHandle(handle);
    return kind;
}

/* The path of an open file, without the prefix \\?\. */
static bool path_of(HANDLE handle, wide_path out) {
    DWORD size = GetFinalPathNameByHandleW(handle, out, PX_PATH_SIZE, FILE_NAME_NORMALIZED | VOLUME_NAME_DOS);
    if (size == 0 || size >= PX_PATH_SIZE) {
        errno = ENAMETOOLONG;
        return false;
    }
    size_t skip = wcsncmp(out, L"\\\\?\\UNC\\", 8) == 0 ? 6 : wcsncmp(out, L"\\\\?\\", 4) == 0 ? 4 : 0;
    wmemmove(out, out + skip, size + 1 - skip);
    if (skip == 6)
        out[0] = L'\\';
    return true;
}

bool px_path_real(const char *path, char real[PX_PATH_SIZE]) {
    wide_path wide;
    HANDLE handle = open_handle(path, 0, OPEN_EXISTING);
    if (handle == INVALID_HANDLE_VALUE)
        return false;
    bool good = path_of(handle, wide);
    CloseHandle(handle);
    return good && done(WideCharToMultiByte(CP_UTF8, 0, wide, -1, real, PX_PATH_SIZE, NULL, NULL) > 0);
}

#define ASIDE L".pelt-aside-"

/* An open or mapped file can be renamed but not replaced: rename it, and remove it now or in px_unmap. */
static bool replace_open(const wchar_t *from, const wchar_t *to) {
    wide_path aside;
    for (unsigned n = 0; n < 100; n++) {
        int length = swprintf(aside, PX_PATH_SIZE, L"%ls" ASIDE "%lu-%u", to, GetCurrentProcessId(), n);
        if (length > 0 && MoveFileExW(to, aside, 0)) {
            bool good = done(MoveFileExW(from, to, 0));
            if (!good && !MoveFileExW(aside, to, 0))
                return false;
            SetFileAttributesW(aside, FILE_ATTRIBUTE_NORMAL); /* one that may only be read cannot be removed */
            DeleteFileW(aside);
            return good;
        }
        if (GetLastError() != ERROR_ALREADY_EXISTS && GetLastError() != ERROR_FILE_EXISTS)
            break;
    }
    return fail();
}

bool px_path_rename(const char *from, const char *to) {
    wide_path old_name, new_name;
    if (!to_wide(from, old_name) || !to_wide(to, new_name))
        return false;
    if (MoveFileExW(old_name, new_name, MOVEFILE_REPLACE_EXISTING))
        return true;
    DWORD error = GetLastError(), attributes = GetFileAttributesW(new_name);
    if (attributes != INVALID_FILE_ATTRIBUTES && !(attributes & FILE_ATTRIBUTE_DIRECTORY) &&
        (error == ERROR_ACCESS_DENIED || error == ERROR_SHARING_VIOLATION || error == ERROR_USER_MAPPED_FILE))
        return replace_open(old_name, new_name);
    SetLastError(error);
    return fail();
}

bool px_path_link(const char *from, const char *to) {
    wide_path old_name, new_name;
    return to_wide(from, old_name) && to_wide(to, new_name) && done(CreateHardLinkW(new_name, old_name, NULL));
}

bool px_path_remove(const char *path) {
    wide_path wide;
    return to_wide(path, wide) && done(DeleteFileW(wide));
}

bool px_folder_make(const char *path) {
    wide_path wide;
    return to_wide(path, wide) && done(CreateDirectoryW(wide, NULL));
}

static void keep_name(px_folder *folder, const WIN32_FIND_DATAW *found) {
    if (WideCharToMultiByte(CP_UTF8, 0, found->cFileName, -1, folder->name, sizeof folder->name, NULL, NULL) == 0)
        folder->name[0] = 0;
}

bool px_folder_open(px_folder *folder, const char *path) {
    wide_path wide;
    WIN32_FIND_DATAW found;
    if (!to_wide(path, wide))
        return false;
    size_t length = wcslen(wide);
    if (length + 3 > PX_PATH_SIZE) {
        errno = ENAMETOOLONG;
        return false;
    }
    wcscpy(wide + length, L"\\*");
    folder->handle = FindFirstFileW(wide, &found);
    if (folder->handle == INVALID_HANDLE_VALUE)
        return fail();
    keep_name(folder, &found);
    folder->first = true;
    return true;
}

const char *px_folder_next(px_folder *folder) {
    WIN32_FIND_DATAW found;
    if (!folder->first) {
        if (!FindNextFileW(folder->handle, &found))
            return NULL;
        keep_name(folder, &found);
    }
    folder->first = false;
    return folder->name;
}

void px_folder_close(px_folder *folder) {
    FindClose(folder->handle);
}

/* ---- Files ------------------------------------------------------------------------------------------------ */

#define MOST_BYTES ((size_t)1 << 30) /* of one call */

int px_open(const char *path, px_open_mode mode) {
    static const DWORD access[] = {GENERIC_READ, GENERIC_WRITE, GENERIC_WRITE};
    static const DWORD creation[] = {OPEN_EXISTING, OPEN_EXISTING, CREATE_NEW};
    int stream = standard_stream(path);
    if (stream >= 0) {
        _setmode(stream, _O_BINARY);
        return _dup(stream);
    }
    HANDLE handle = open_handle(path, access[mode], creation[mode]);
    if (handle == INVALID_HANDLE_VALUE)
        return -1;
    int flags = mode == PX_OPEN_READ ? _O_RDONLY : _O_WRONLY;
    int descriptor = _open_osfhandle((intptr_t)handle, flags | _O_BINARY | _O_NOINHERIT);
    if (descriptor < 0)
        CloseHandle(handle);
    return descriptor;
}

int px_open_standard(const char *path) {
    return standard_stream(path) > 0 ? px_open(path, PX_OPEN_WRITE) : -1;
}

px_path_kind px_descriptor_look(int descriptor, uint64_t *size) {
    return look((HANDLE)_get_osfhandle(descriptor), size);
}

int64_t px_descriptor_read(int descriptor, void *data, size_t size) {
    return _read(descriptor, data, (unsigned)(size < MOST_BYTES ? size : MOST_BYTES));
}

int64_t px_descriptor_write(int descriptor, const void *data, size_t size) {
    int done_size = _write(descriptor, data, (unsigned)(size < MOST_BYTES ? size : MOST_BYTES));
    if (done_size < 0 && errno == EINVAL) /* as the C library calls ERROR_NO_DATA: nobody reads the pipe */
        errno = EPIPE;
    return done_size;
}

bool px_descriptor_close(int descriptor) {
    return _close(descriptor) == 0;
}

/* The handle stays open, to find the file when px_path_rename moved it aside. */
bool px_map(int descriptor, size_t size, px_mapping *mapping) {
    HANDLE process = GetCurrentProcess(), file;
    if (!DuplicateHandle(process, (HANDLE)_get_osfhandle(descriptor), process, &file, 0, FALSE, DUPLICATE_SAME_ACCESS))
        return fail();
    HANDLE section = CreateFileMappingW(file, NULL, PAGE_READONLY, 0, 0, NULL);
    const void *data = section ? MapViewOfFile(section, FILE_MAP_READ, 0, 0, size) : NULL;
    if (!data)
        fail();
    if (section)
        CloseHandle(section);
    if (!data)
        CloseHandle(file);
    *mapping = (px_mapping){.data = data, .size = data ? size : 0, .handle = file};
    return data != NULL;
}

void px_unmap(px_mapping *mapping) {
    wide_path path;
    UnmapViewOfFile(mapping->data);
    bool known = path_of(mapping->handle, path);
    CloseHandle(mapping->handle);
    if (known && wcsstr(path, ASIDE))
        DeleteFileW(path);
}

/* Unlocking pages that are not locked removes them from the working set. */
void px_map_release(const void *data, size_t size) {
    VirtualUnlock((void *)(uintptr_t)data, size);
}

/* ---- Threads ---------------------------------------------------------------------------------------------- */

_Static_assert(sizeof(SRWLOCK) <= sizeof(px_mutex) && sizeof(CONDITION_VARIABLE) <= sizeof(px_condition) &&
                   sizeof(HANDLE) <= sizeof(uint64_t),
               "the objects of the system fit into ours");

static SRWLOCK *mutex_of(px_mutex *mutex) {
    return (SRWLOCK *)(void *)mutex->system;
}

static CONDITION_VARIABLE *condition_of(px_condition *condition) {
    return (CONDITION_VARIABLE *)(void *)condition->system;
}

void px_mutex_init(px_mutex *mutex) {
    InitializeSRWLock(mutex_of(mutex));
}

void px_mutex_destroy(px_mutex *mutex) {
    (void)mutex;
}

void px_mutex_lock(px_mutex *mutex) {
    AcquireSRWLockExclusive(mutex_of(mutex));
}

void px_mutex_unlock(px_mutex *mutex) {
    ReleaseSRWLockExclusive(mutex_of(mutex));
}

void px_condition_init(px_condition *condition) {
    InitializeConditionVariable(condition_of(condition));
}

void px_condition_destroy(px_condition *condition) {
    (void)condition;
}

void px_condition_wait(px_condition *condition, px_mutex *mutex) {
    SleepConditionVariableSRW(condition_of(condition), mutex_of(mutex), INFINITE, 0);
}

void px_condition_signal(px_condition *condition) {
    WakeConditionVariable(condition_of(condition));
}

void px_condition_broadcast(px_condition *condition) {
    WakeAllConditionVariable(condition_of(condition));
}

static unsigned __stdcall thread_main(void *user) {
    px_thread *thread = user;
    thread->run(thread->user);
    return 0;
}

bool px_thread_start(px_thread *thread, void (*run)(void *user), void *user) {
    thread->run = run;
    thread->user = user;
    thread->system =
        _beginthreadex(NULL, (unsigned)PX_THREAD_STACK, thread_main, thread, STACK_SIZE_PARAM_IS_A_RESERVATION, NULL);
    return thread->system != 0;
}

void px_thread_join(px_thread *thread) {
    HANDLE handle = (HANDLE)(uintptr_t)thread->system;
    WaitForSingleObject(handle, INFINITE);
    CloseHandle(handle);
}

uint32_t px_core_count(void) {
    DWORD count = GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
    return count < 1 ? 1 : count;
}

/* ---- Time and process ------------------------------------------------------------------------------------- */

double px_seconds(void) {
    LARGE_INTEGER count, frequency;
    QueryPerformanceCounter(&count);
    QueryPerformanceFrequency(&frequency);
    return (double)count.QuadPart / (double)frequency.QuadPart;
}

uint32_t px_process_id(void) {
    return GetCurrentProcessId();
}
