/* The extension module pelt._pelt: what its files share.
 *
 * Objects own a session: a context with the callbacks of Python. A model is never changed after the call that made it: an
 * operation borrows its source (pelt_model_borrow) and changes the new model. So arrays of a model are shown to Python without
 * a copy, and stay valid as long as any view of them.
 *
 * Functions that return a PyObject or a pointer return NULL, and those that return bool false, with a Python exception set.
 */
#ifndef PELT_PYTHON_BINDING_H
#define PELT_PYTHON_BINDING_H

#pragma GCC diagnostic ignored "-Wpedantic" /* slots of types hold functions as void * */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000 /* 3.11: the first with buffers */
#include <Python.h>

#include <pelt/pelt.h>

#include <stdatomic.h>
#include <string.h>

/* ---- Session (session.c) ------------------------------------------------------------------------------------ */

/* A context, used by one thread at a time. */
typedef struct py_session {
    pelt_context *context;
    PyThread_type_lock lock; /* held during a call */
    PyObject *progress;      /* called with (phase, fraction); NULL: not */
    PyObject *warnings;      /* list that gets the texts of warnings */
    PyThreadState *thread;   /* state of the calling thread while it runs without the interpreter's lock */
    unsigned long caller;    /* the calling thread */
    double checked;          /* when signals were checked last, seconds */
    atomic_bool cancelled;   /* a callback or a signal handler raised an exception */
} py_session;

/* `settings`: a dict with "threads", "memory" and "progress", each optional; NULL or None: defaults. */
py_session *session_new(PyObject *settings);
void session_free(py_session *session);
/* A call of the library without the interpreter's lock: session_begin, the call, session_end with its result. False: it
 * failed, with the exception set. */
void session_begin(py_session *session);
bool session_end(py_session *session, pelt_result result);
#define CALL(session, call) (session_begin(session), session_end(session, (call)))
/* The same for short calls, which keep the interpreter's lock. */
bool session_check(py_session *session, pelt_result result);
/* The exception classes, pelt.Error and its subclasses, in the order of pelt_result. Adds them to the module. */
bool add_errors(PyObject *module);

/* ---- Arrays (array.c) --------------------------------------------------------------------------------------- */

#define ARRAY_DIMENSIONS 3

/* A new read-only buffer of `format` ('f', 'd', 'I', 'H') over memory that `owner` keeps. None where `data` is NULL. */
PyObject *array_new(PyObject *owner, const void *data, char format, int dimensions, const size_t shape[]);
bool array_add_type(PyObject *module);

/* A buffer of the caller, C-contiguous. `shape` entries that are SIZE_MAX take any size and are set to it. */
typedef enum array_access { ARRAY_READ, ARRAY_WRITE } array_access;
bool array_take(PyObject *object, const char *name, char format, array_access access, int dimensions, size_t shape[],
                Py_buffer *view);
/* array_take of the entry `name` of a dict. A missing entry or None: view->buf is NULL and view->obj is NULL. */
bool array_take_item(PyObject *dict, const char *name, char format, int dimensions, size_t shape[], Py_buffer *view);

/* ---- Options and reports (options.c) ------------------------------------------------------------------------ */

/* One desc of the arguments of a verb. */
typedef struct option_part {
    const pelt_option_table *(*table)(void);
    size_t offset; /* of the desc in the arguments */
} option_part;

/* Sets the descs in args [size bytes] to defaults, then to the options of a dict {name: text}. Texts are borrowed from the dict.
 * "preset" names a preset. An option that no part has is a ValueError. */
bool options_take(py_session *session, const option_part *parts, size_t count, void *args, size_t size,
                  PyObject *options);
/* List of dicts, one for each row. */
PyObject *options_rows(const option_part *parts, size_t count);

typedef enum report_kind {
    REPORT_UINT,
    REPORT_REAL,
    REPORT_FLAG,
    REPORT_UINTS,
    REPORT_REALS,
    REPORT_FLOATS
} report_kind;
typedef struct report_field {
    const char *name;
    size_t offset;
    report_kind kind;
    size_t count_offset; /* arrays: of the uint32_t with their length */
    uint32_t more;       /* arrays: elements beyond that */
} report_field;
#define REPORT(type, field, kind)                                                                                      \
    { #field, offsetof(type, field), REPORT_##kind, 0, 0 }
#define REPORT_ARRAY(type, field, kind, count, more)                                                                   \
    { #field, offsetof(type, field), REPORT_##kind, offsetof(type, count), more }
/* Adds the fields of a report to a dict. */
bool report_add(PyObject *dict, const report_field *fields, size_t count, const void *report);
#define REPORT_ADD(dict, fields, report) report_add(dict, fields, sizeof(fields) / sizeof *(fields), report)

/* ---- Models (model.c) --------------------------------------------------------------------------------------- */

#define MODEL_KEPT 3

typedef struct model_object {
    PyObject_HEAD py_session *session;
    pelt_model *model;
    PyObject *kept[MODEL_KEPT]; /* what the model borrows from; NULL: nothing */
    Py_buffer *buffers;         /* [buffer_count] of the caller, released with the model */
    size_t buffer_count;
} model_object;

/* A new model: empty, or one that borrows `source`. It keeps `source` alive. */
model_object *model_new(PyObject *settings, model_object *source);
/* Keeps another object alive as long as the model. */
void model_keep(model_object *model, PyObject *object);
/* The model of a Python object; NULL and a TypeError that names the argument. */
model_object *model_of(PyObject *object, const char *name);
/* The same for an entry of a dict; *model is NULL for a missing entry or None. */
bool model_of_item(PyObject *dict, const char *name, model_object **model);
bool model_add_type(PyObject *module);
extern PyMethodDef model_functions[]; /* load, load_memory, build */

/* The motion with this index; -1: NULL, the rest pose. False: there is none. */
bool model_motion(const pelt_model *model, Py_ssize_t index, const pelt_motion **motion);

/* ---- Verbs and live objects (verbs.c, live.c) ---------------------------------------------------------------- */

extern const option_part bind_parts[1], jiggle_parts[1];
/* Fields of a bind desc that have no option: skeleton, vertex_falloff. `view` must live as long as the desc. */
bool bind_take_inputs(pelt_bind_desc *desc, const pelt_model *model, PyObject *inputs, model_object **skeleton,
                      Py_buffer *view);
PyObject *bind_report(const pelt_bind_report *report);
extern PyMethodDef verb_functions[]; /* run, options, compare, compare_weights */
bool live_add_types(PyObject *module);
extern PyMethodDef live_functions[]; /* skin */

#endif
