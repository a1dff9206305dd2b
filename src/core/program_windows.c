/* The platform layer of programs on Windows. */
#include <windows.h>

#include "core/child.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <shellapi.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- Arguments and streams -------------------------------------------------------------------------------- */

static UINT console_code_page;

static void restore_console(void) {
    SetConsoleOutputCP(console_code_page);
}

/* The arguments stay until the process ends. */
static char **arguments_utf8(int *count) {
    wchar_t **wide = CommandLineToArgvW(GetCommandLineW(), count);
    char **arguments = wide ? calloc((size_t)*count + 1, sizeof *arguments) : NULL;
    for (int a = 0; arguments && a < *count; a++) {
        int size = WideCharToMultiByte(CP_UTF8, 0, wide[a], -1, NULL, 0, NULL, NULL);
        arguments[a] = malloc((size_t)size);
        if (!arguments[a])
            return NULL;
        WideCharToMultiByte(CP_UTF8, 0, wide[a], -1, arguments[a], size, NULL, NULL);
    }
    LocalFree(wide);
    return arguments;
}

void px_program_begin(int *count, char ***arguments) {
    int found;
    char **texts = arguments_utf8(&found);
    if (!texts) {
        fputs("out of memory\n", stderr);
        exit(2);
    }
    *count = found;
    *arguments = texts;
    for (int stream = 0; stream < 3; stream++)
        _setmode(stream, _O_BINARY);
    console_code_page = GetConsoleOutputCP();
    if (console_code_page && console_code_page != CP_UTF8 && SetConsoleOutputCP(CP_UTF8))
        atexit(restore_console);
}

/* ---- Signals ---------------------------------------------------------------------------------------------- */

static atomic_int interrupts;
static int interrupted_code;

/* Runs on a thread of its own. When a console is closed, the process ends as soon as this returns: give the main thread the time to
 * remove unfinished files. */
static BOOL WINAPI on_control(DWORD kind) {
    if (atomic_fetch_add(&interrupts, 1) > 0)
        ExitProcess((UINT)interrupted_code);
    if (kind != CTRL_C_EVENT && kind != CTRL_BREAK_EVENT)
        Sleep(INFINITE);
    return TRUE;
}

/* Windows does not let others shorten a mapped file. */
void px_program_signals(int interrupted, int lost, const char *lost_text) {
    (void)lost, (void)lost_text;
    interrupted_code = interrupted;
    SetConsoleCtrlHandler(on_control, TRUE);
}

bool px_program_interrupted(void) {
    return atomic_load_explicit(&interrupts, memory_order_relaxed) > 0;
}

/* ---- Terminal and browser --------------------------------------------------------------------------------- */

#define ESCAPE_SEQUENCES 4u /* ENABLE_VIRTUAL_TERMINAL_PROCESSING, since Windows 10 */

bool px_terminal_draws(FILE *stream) {
    const char *kind = getenv("TERM");
    HANDLE handle = (HANDLE)_get_osfhandle(_fileno(stream));
    DWORD mode;
    return GetConsoleMode(handle, &mode) && !(kind && strcmp(kind, "dumb") == 0) &&
           SetConsoleMode(handle, mode | ESCAPE_SEQUENCES);
}

bool px_program_path(char path[PX_PATH_SIZE]) {
    wchar_t wide[PX_PATH_SIZE];
    DWORD length = GetModuleFileNameW(NULL, wide, PX_PATH_SIZE);
    return length > 0 && length < PX_PATH_SIZE &&
           WideCharToMultiByte(CP_UTF8, 0, wide, -1, path, PX_PATH_SIZE, NULL, NULL) > 0;
}

bool px_page_open(const char *path) {
    wchar_t wide[PX_PATH_SIZE];
    return MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, wide, PX_PATH_SIZE) > 0 &&
           (intptr_t)ShellExecuteW(NULL, L"open", wide, NULL, NULL, SW_SHOWNORMAL) > 32;
}

void px_program_sleep(double seconds) {
    Sleep((DWORD)(1000 * seconds));
}

/* ---- Children --------------------------------------------------------------------------------------------- */

#define COMMAND_SIZE 32768 /* characters: the limit of CreateProcess */

/* Appends an argument so that CommandLineToArgvW gives it back: quoted, backslashes before quotes doubled. */
static bool add_argument(wchar_t *command, size_t *size, const char *argument) {
    wchar_t wide[PX_PATH_SIZE];
    if (MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, argument, -1, wide, PX_PATH_SIZE) <= 0 ||
        *size + 2 * wcslen(wide) + 4 > COMMAND_SIZE)
        return false;
    command[(*size)++] = L'"';
    for (const wchar_t *c = wide;; c++) {
        size_t slashes = wcsspn(c, L"\\");
        c += slashes;
        for (size_t n = 0; n < (*c == 0 || *c == L'"' ? 2 * slashes : slashes) + (*c == L'"'); n++)
            command[(*size)++] = L'\\';
        if (*c == 0)
            break;
        command[(*size)++] = *c;
    }
    command[(*size)++] = L'"';
    command[(*size)++] = L' ';
    command[*size] = 0;
    return true;
}

/* `without` is not used: variables of MPI have no meaning here. */
bool px_child_start(px_child *child, const char *const *arguments, const char *output, const char *const *without) {
    (void)without;
    wchar_t path[PX_PATH_SIZE], *command = calloc(COMMAND_SIZE, sizeof *command);
    size_t size = 0;
    bool fits = command && MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, output, -1, path, PX_PATH_SIZE) > 0;
    for (size_t a = 0; fits && arguments[a]; a++)
        fits = add_argument(command, &size, arguments[a]);
    SECURITY_ATTRIBUTES inherited = {.nLength = sizeof inherited, .bInheritHandle = TRUE};
    HANDLE log =
        fits ? CreateFileW(path, GENERIC_WRITE, FILE_SHARE_READ, &inherited, CREATE_ALWAYS, FILE_ATTRIBUTE_NORMAL, NULL)
             : INVALID_HANDLE_VALUE;
    HANDLE none = CreateFileW(L"NUL", GENERIC_READ, FILE_SHARE_READ, &inherited, OPEN_EXISTING, 0, NULL);
    STARTUPINFOW start = {
        .cb = sizeof start, .dwFlags = STARTF_USESTDHANDLES, .hStdInput = none, .hStdOutput = log, .hStdError = log};
    PROCESS_INFORMATION made = {0};
    *child = (px_child){0};
    if (log != INVALID_HANDLE_VALUE &&
        CreateProcessW(NULL, command, NULL, NULL, TRUE, CREATE_NEW_PROCESS_GROUP, NULL, NULL, &start, &made)) {
        CloseHandle(made.hThread);
        *child = (px_child){made.dwProcessId, (uint64_t)(uintptr_t)made.hProcess};
    } else
        errno = !fits ? E2BIG : log == INVALID_HANDLE_VALUE ? EACCES : EIO;
    CloseHandle(log);
    CloseHandle(none);
    free(command);
    return child->process != 0;
}

static double hundred_nanoseconds(FILETIME time) {
    return (double)((uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime);
}

bool px_child_ended(px_child *child, int *code, double *seconds) {
    HANDLE process = (HANDLE)(uintptr_t)child->handle;
    DWORD exit_code;
    FILETIME begin, end, kernel, user;
    if (child->process == 0 || WaitForSingleObject(process, 0) != WAIT_OBJECT_0)
        return false;
    *code = GetExitCodeProcess(process, &exit_code) ? (int)exit_code : 1000;
    *seconds = GetProcessTimes(process, &begin, &end, &kernel, &user)
                   ? 1e-7 * (hundred_nanoseconds(kernel) + hundred_nanoseconds(user))
                   : 0;
    CloseHandle(process);
    *child = (px_child){0};
    return true;
}

void px_child_stop(const px_child *child, bool at_once) {
    if (child->process && at_once)
        TerminateProcess((HANDLE)(uintptr_t)child->handle, 1009);
    else if (child->process)
        GenerateConsoleCtrlEvent(CTRL_BREAK_EVENT, (DWORD)child->process);
}
