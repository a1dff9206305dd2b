/* The platform layer of programs on Windows. */
#include <windows.h>

#include "core/platform.h"

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
