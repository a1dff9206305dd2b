/* Option tables as dicts, options from dicts, reports as dicts. */
#include "binding.h"

#include <stdio.h>

static bool set_item(PyObject *dict, const char *name, PyObject *value) {
    bool ok = value && PyDict_SetItemString(dict, name, value) == 0;
    Py_XDECREF(value);
    return ok;
}

/* ---- Options --------------------------------------------------------------------------------------------------- */

static const option_part *part_with(const option_part *parts, size_t count, const char *name) {
    for (size_t p = 0; p < count; p++) {
        const pelt_option_table *table = parts[p].table();
        for (size_t r = 0; r < table->count; r++)
            if (strcmp(table->rows[r].name, name) == 0)
                return &parts[p];
    }
    return NULL;
}

/* The presets of all parts share one list of names. */
static bool take_preset(py_session *session, const option_part *parts, size_t count, void *args, const char *preset) {
    bool found = false;
    for (size_t p = 0; p < count; p++) {
        const pelt_option_table *table = parts[p].table();
        bool has = false;
        for (size_t v = 0; v < table->preset_count; v++)
            has |= strcmp(table->presets[v].preset, preset) == 0;
        if (has && !session_check(session,
                                  pelt_options_preset(session->context, table, (char *)args + parts[p].offset, preset)))
            return false;
        found |= has;
    }
    if (!found)
        PyErr_Format(PyExc_ValueError, "no preset is called '%s'", preset);
    return found;
}

static const char *text_of(PyObject *object) {
    return PyUnicode_AsUTF8AndSize(object, NULL);
}

bool options_take(py_session *session, const option_part *parts, size_t count, void *args, size_t size,
                  PyObject *options) {
    memset(args, 0, size); /* fields without an option */
    for (size_t p = 0; p < count; p++)
        pelt_options_default(parts[p].table(), (char *)args + parts[p].offset);
    PyObject *preset = PyDict_GetItemString(options, "preset");
    if (preset) {
        const char *text = text_of(preset);
        if (!text || !take_preset(session, parts, count, args, text))
            return false;
    }
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(options, &at, &key, &value);) {
        const char *name = text_of(key), *text = text_of(value);
        if (!name || !text)
            return false;
        if (strcmp(name, "preset") == 0)
            continue;
        const option_part *part = part_with(parts, count, name);
        if (!part) {
            PyErr_Format(PyExc_ValueError, "no option is called '%s'", name);
            return false;
        }
        if (!session_check(session,
                           pelt_options_set(session->context, part->table(), (char *)args + part->offset, name, text)))
            return false;
    }
    return true;
}

static bool append_row(PyObject *rows, PyObject *row) {
    bool ok = row && PyList_Append(rows, row) == 0;
    Py_XDECREF(row);
    return ok;
}

/* A row for the presets of a table, like that of an option. Values of one preset are consecutive. */
static bool append_presets(PyObject *rows, const pelt_option_table *table) {
    char names[256] = "";
    const char *last = "";
    for (size_t v = 0; v < table->preset_count; v++)
        if (strcmp(table->presets[v].preset, last) != 0) {
            last = table->presets[v].preset;
            size_t used = strlen(names);
            snprintf(names + used, sizeof names - used, "%s%s", used ? "|" : "", last);
        }
    return append_row(rows, Py_BuildValue("{s:s,s:s,s:O,s:d,s:d,s:s,s:s}", "name", "preset", "kind", "choice",
                                          "initial", Py_None, "min", 0.0, "max", 0.0, "choices", names, "help",
                                          "settings of a published method; other options change them"));
}

PyObject *options_rows(const option_part *parts, size_t count) {
    static const char *const kinds[] = {
        [PELT_OPTION_FLAG] = "flag",    [PELT_OPTION_UINT] = "uint", [PELT_OPTION_REAL] = "real",
        [PELT_OPTION_SIZE] = "size",    [PELT_OPTION_TEXT] = "text", [PELT_OPTION_CHOICE] = "choice",
        [PELT_OPTION_VECTOR] = "vector"};
    PyObject *rows = PyList_New(0);
    bool ok = rows != NULL;
    for (size_t p = 0; ok && p < count; p++) {
        const pelt_option_table *table = parts[p].table();
        for (size_t r = 0; ok && r < table->count; r++) {
            const pelt_option *row = &table->rows[r];
            ok = append_row(rows, Py_BuildValue("{s:s,s:s,s:z,s:d,s:d,s:z,s:s}", "name", row->name, "kind",
                                                kinds[row->kind], "initial", row->initial, "min", row->min, "max",
                                                row->max, "choices", row->choices, "help", row->help));
        }
        ok = ok && (!table->preset_count || append_presets(rows, table));
    }
    if (!ok)
        Py_CLEAR(rows);
    return rows;
}

/* ---- Reports --------------------------------------------------------------------------------------------------- */

static PyObject *list_of(const report_field *field, const void *report) {
    const void *array = *(const void *const *)((const char *)report + field->offset);
    uint32_t count = *(const uint32_t *)((const char *)report + field->count_offset) + field->more;
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && array && i < count; i++) {
        PyObject *value = field->kind == REPORT_UINTS   ? PyLong_FromUnsignedLong(((const uint32_t *)array)[i])
                          : field->kind == REPORT_REALS ? PyFloat_FromDouble(((const double *)array)[i])
                                                        : PyFloat_FromDouble((double)((const float *)array)[i]);
        if (!value || PyList_Append(list, value) < 0)
            Py_CLEAR(list);
        Py_XDECREF(value);
    }
    return list;
}

static PyObject *value_of(const report_field *field, const void *report) {
    const void *at = (const char *)report + field->offset;
    switch (field->kind) {
    case REPORT_UINT:
        return PyLong_FromUnsignedLong(*(const uint32_t *)at);
    case REPORT_REAL:
        return PyFloat_FromDouble(*(const double *)at);
    case REPORT_FLAG:
        return PyBool_FromLong(*(const bool *)at);
    default:
        return list_of(field, report);
    }
}

bool report_add(PyObject *dict, const report_field *fields, size_t count, const void *report) {
    for (size_t f = 0; f < count; f++)
        if (!set_item(dict, fields[f].name, value_of(&fields[f], report)))
            return false;
    return true;
}
