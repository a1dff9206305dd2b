/* Memory of models as buffers, and buffers of the caller. */
#include "binding.h"

typedef struct array_object {
    PyObject_HEAD PyObject *owner; /* keeps the memory */
    void *data;
    char format[2];
    Py_ssize_t item_size;
    int dimensions;
    Py_ssize_t shape[ARRAY_DIMENSIONS], strides[ARRAY_DIMENSIONS];
} array_object;

static PyTypeObject *array_type;

static Py_ssize_t size_of_format(char format) {
    switch (format) {
    case 'f':
        return sizeof(float);
    case 'd':
        return sizeof(double);
    case 'I':
        return sizeof(uint32_t);
    default:
        return sizeof(uint16_t); /* 'H' */
    }
}

PyObject *array_new(PyObject *owner, const void *data, char format, int dimensions, const size_t shape[]) {
    if (!data)
        return Py_NewRef(Py_None);
    array_object *array = PyObject_New(array_object, array_type);
    if (!array)
        return NULL;
    array->owner = Py_NewRef(owner);
    memcpy(&array->data, &data, sizeof data); /* not const: Py_buffer has no const */
    array->format[0] = format;
    array->format[1] = 0;
    array->item_size = size_of_format(format);
    array->dimensions = dimensions;
    Py_ssize_t stride = array->item_size;
    for (int d = dimensions; d-- > 0; stride *= array->shape[d]) {
        array->shape[d] = (Py_ssize_t)shape[d];
        array->strides[d] = stride;
    }
    return (PyObject *)array;
}

static void array_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    Py_DECREF(((array_object *)self)->owner);
    PyObject_Free(self);
    Py_DECREF(type);
}

static int array_getbuffer(PyObject *self, Py_buffer *view, int flags) {
    array_object *array = (array_object *)self;
    view->obj = NULL;
    if (flags & PyBUF_WRITABLE) {
        PyErr_SetString(PyExc_BufferError, "arrays of a model are read-only: copy them to change them");
        return -1;
    }
    Py_ssize_t length = array->item_size;
    for (int d = 0; d < array->dimensions; d++)
        length *= array->shape[d];
    *view = (Py_buffer){.buf = array->data,
                        .obj = Py_NewRef(self),
                        .len = length,
                        .itemsize = array->item_size,
                        .readonly = 1,
                        .ndim = array->dimensions,
                        .format = flags & PyBUF_FORMAT ? array->format : NULL,
                        .shape = array->shape,
                        .strides = array->strides};
    return 0;
}

bool array_add_type(PyObject *module) {
    PyType_Slot slots[] = {{Py_tp_dealloc, array_dealloc}, {Py_bf_getbuffer, array_getbuffer}, {0, NULL}};
    PyType_Spec spec = {.name = "pelt._pelt.Array",
                        .basicsize = sizeof(array_object),
                        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                        .slots = slots};
    array_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    return array_type && PyModule_AddType(module, array_type) == 0;
}

/* ---- Buffers of the caller ----------------------------------------------------------------------------------- */

/* '=f', '<f' and 'f' are the same here, and so are 'I' and 'L' where both have four bytes. */
static bool same_format(const Py_buffer *view, char format) {
    const char *text = view->format ? view->format : "B";
    if (*text == '=' || *text == '@' || *text == (PY_LITTLE_ENDIAN ? '<' : '>'))
        text++;
    bool whole = *text == 'I' || *text == 'L' || *text == 'H';
    return text[0] && !text[1] && view->itemsize == size_of_format(format) &&
           (*text == format || (whole && (format == 'I' || format == 'H')));
}

bool array_take(PyObject *object, const char *name, char format, array_access access, int dimensions, size_t shape[],
                Py_buffer *view) {
    *view = (Py_buffer){0};
    if (PyObject_GetBuffer(object, view,
                           PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (access == ARRAY_WRITE ? PyBUF_WRITABLE : 0)) < 0)
        return false;
    bool fits = view->ndim == dimensions;
    for (int d = 0; fits && d < dimensions; d++) {
        if (shape[d] == SIZE_MAX)
            shape[d] = (size_t)view->shape[d];
        fits = shape[d] == (size_t)view->shape[d];
    }
    if (fits && same_format(view, format))
        return true;
    if (!fits)
        PyErr_Format(PyExc_ValueError, "%s has the wrong shape", name);
    else
        PyErr_Format(PyExc_TypeError, "%s has the wrong type: %s, should be '%c'", name, view->format, format);
    PyBuffer_Release(view);
    return false;
}

bool array_take_item(PyObject *dict, const char *name, char format, int dimensions, size_t shape[], Py_buffer *view) {
    *view = (Py_buffer){0};
    PyObject *object = PyDict_GetItemString(dict, name);
    return !object || object == Py_None || array_take(object, name, format, ARRAY_READ, dimensions, shape, view);
}
