/* Contexts with callbacks of Python: progress, warnings, signals, exceptions. */
#include "binding.h"

#include <time.h>

#define SIGNAL_INTERVAL 0.05 /* seconds between checks for Ctrl-C */

static PyObject *errors[PELT_ERROR_CANCELLED + 1]; /* [pelt_result] exception classes; [PELT_OK] is their base */

bool add_errors(PyObject *module) {
    static const struct {
        const char *name, *documentation;
    } classes[] = {
        [PELT_OK] = {"pelt.Error", "A call of Pelt failed; the text says what, where and what to do."},
        [PELT_ERROR_USAGE] = {"pelt.UsageError", "An argument is missing or out of range."},
        [PELT_ERROR_INPUT] = {"pelt.InputError", "An input is missing, damaged or not what was expected."},
        [PELT_ERROR_UNSUPPORTED] = {"pelt.UnsupportedError", "An input uses a feature that is not supported."},
        [PELT_ERROR_OUTPUT] = {"pelt.OutputError", "An output could not be written."},
        [PELT_ERROR_MEMORY] = {"pelt.OutOfMemoryError", "Out of memory, or over the memory limit."},
        [PELT_ERROR_CANCELLED] = {"pelt.CancelledError", "The call was cancelled."},
    };
    PyObject *builtin[] = {
        [PELT_ERROR_USAGE] = PyExc_ValueError, [PELT_ERROR_INPUT] = PyExc_ValueError,
        [PELT_ERROR_OUTPUT] = PyExc_OSError,   [PELT_ERROR_MEMORY] = PyExc_MemoryError,
        [PELT_ERROR_CANCELLED] = NULL,
    };
    for (int result = PELT_OK; result <= PELT_ERROR_CANCELLED; result++) {
        PyObject *bases = result == PELT_OK ? PyTuple_Pack(1, PyExc_Exception)
                          : builtin[result] ? PyTuple_Pack(2, errors[PELT_OK], builtin[result])
                                            : PyTuple_Pack(1, errors[PELT_OK]);
        if (!bases)
            return false;
        errors[result] = PyErr_NewExceptionWithDoc(classes[result].name, classes[result].documentation, bases, NULL);
        Py_DECREF(bases);
        if (!errors[result] ||
            PyModule_AddObjectRef(module, classes[result].name + strlen("pelt."), errors[result]) < 0)
            return false;
    }
    return true;
}

/* ---- Callbacks ----------------------------------------------------------------------------------------------- */

/* Runs with the interpreter's lock between these two. Only on the thread that called the library. */
static void take_interpreter(py_session *session) {
    PyEval_RestoreThread(session->thread);
}

static void leave_interpreter(py_session *session, bool ok) {
    if (!ok)
        atomic_store(&session->cancelled, true); /* the exception stays set in the thread until the call returns */
    session->thread = PyEval_SaveThread();
}

static void on_progress(void *user, const char *phase, double fraction) {
    py_session *session = user;
    if (!session->progress || !session->thread || atomic_load(&session->cancelled))
        return;
    take_interpreter(session);
    PyObject *result = PyObject_CallFunction(session->progress, "sd", phase, fraction);
    Py_XDECREF(result);
    leave_interpreter(session, result != NULL);
}

static void on_log(void *user, pelt_log_level level, const char *text) {
    py_session *session = user;
    if (level != PELT_LOG_WARNING || atomic_load(&session->cancelled))
        return;
    bool released = session->thread != NULL;
    if (released)
        take_interpreter(session);
    PyObject *message = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
    bool ok = message && PyList_Append(session->warnings, message) == 0;
    Py_XDECREF(message);
    if (released)
        leave_interpreter(session, ok);
    else if (!ok)
        PyErr_Clear();
}

static double now(void) {
    struct timespec time;
    timespec_get(&time, TIME_UTC);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Called from any thread. The calling thread looks for signals, as Python runs handlers only on the main thread. */
static bool on_cancel(void *user) {
    py_session *session = user;
    if (!atomic_load(&session->cancelled) && session->thread && PyThread_get_thread_ident() == session->caller &&
        now() - session->checked > SIGNAL_INTERVAL) {
        take_interpreter(session);
        leave_interpreter(session, PyErr_CheckSignals() == 0);
        session->checked = now();
    }
    return atomic_load(&session->cancelled);
}

/* ---- Sessions ------------------------------------------------------------------------------------------------ */

static bool take_settings(PyObject *settings, pelt_context_desc *desc, PyObject **progress) {
    *progress = NULL;
    if (!settings || settings == Py_None)
        return true;
    PyObject *threads = PyDict_GetItemString(settings, "threads"), *memory = PyDict_GetItemString(settings, "memory");
    if (threads && threads != Py_None) {
        unsigned long value = PyLong_AsUnsignedLong(threads);
        if (PyErr_Occurred())
            return false;
        desc->thread_count = value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
    }
    if (memory && memory != Py_None) {
        desc->memory_limit = PyLong_AsSize_t(memory);
        if (PyErr_Occurred())
            return false;
    }
    PyObject *callback = PyDict_GetItemString(settings, "progress");
    if (callback && callback != Py_None)
        *progress = Py_NewRef(callback);
    return true;
}

py_session *session_new(PyObject *settings) {
    py_session *new = PyMem_Calloc(1, sizeof *new);
    if (!new) {
        PyErr_NoMemory();
        return NULL;
    }
    pelt_context_desc desc = pelt_context_desc_default();
    desc.log = on_log;
    desc.progress = on_progress;
    desc.cancel = on_cancel;
    desc.log_user = desc.progress_user = desc.cancel_user = new;
    new->warnings = PyList_New(0);
    new->lock = PyThread_allocate_lock();
    bool ready = new->warnings &&take_settings(settings, &desc, &new->progress);
    if (ready && !new->lock)
        PyErr_NoMemory();
    if (ready && new->lock) {
        pelt_result result = pelt_context_create(&desc, &new->context);
        if (result)
            PyErr_Format(errors[result], "threads is %lu, should be at most 256", (unsigned long)desc.thread_count);
    }
    if (!new->context) {
        session_free(new);
        return NULL;
    }
    return new;
}

void session_free(py_session *session) {
    if (!session)
        return;
    pelt_context_destroy(session->context);
    if (session->lock)
        PyThread_free_lock(session->lock);
    Py_XDECREF(session->progress);
    Py_XDECREF(session->warnings);
    PyMem_Free(session);
}

void session_begin(py_session *session) {
    /* Another thread may hold the session's lock and want the interpreter's for a callback: wait without it. */
    PyThreadState *thread = PyEval_SaveThread();
    PyThread_acquire_lock(session->lock, WAIT_LOCK);
    session->thread = thread;
    session->caller = PyThread_get_thread_ident();
    session->checked = now();
    atomic_store(&session->cancelled, false);
}

bool session_end(py_session *session, pelt_result result) {
    PyThreadState *thread = session->thread;
    session->thread = NULL;
    PyEval_RestoreThread(thread);
    bool ok = session_check(session, result);
    PyThread_release_lock(session->lock);
    return ok;
}

bool session_check(py_session *session, pelt_result result) {
    if (PyErr_Occurred()) /* of a callback */
        return false;
    if (result) {
        const char *text = pelt_error_text(session->context);
        PyErr_SetString(errors[result], *text ? text : pelt_result_text(result));
    }
    return result == PELT_OK;
}
