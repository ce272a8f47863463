// The Python side of `sweep.h`.
#include "session/bindings.h"
#include "session/sweep.h"

#include <stdlib.h>
#include <string.h>

PyObject *session_number_distinct(PyObject *Py_UNUSED(module), PyObject *argument) {
    Py_buffer keys;
    if (PyObject_GetBuffer(argument, &keys, PyBUF_SIMPLE) < 0)
        return NULL;
    size_t count = (size_t)keys.len / sizeof(uint64_t);
    struct distinct distinct = {0};
    PyObject *result = NULL;
    PyObject *numbers = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(count * sizeof(int32_t)));
    if (numbers) {
        bool fits;
        int32_t *numbered = (int32_t *)PyBytes_AsString(numbers);
        Py_BEGIN_ALLOW_THREADS;
        fits = distinct_add(&distinct, keys.buf, count, numbered);
        Py_END_ALLOW_THREADS;
        result = fits ? Py_BuildValue("(Oy#)", numbers, distinct.count ? (char *)distinct.firsts : "",
                                      (Py_ssize_t)(distinct.count * sizeof(int64_t)))
                      : PyErr_NoMemory();
    }
    Py_XDECREF(numbers);
    distinct_release(&distinct);
    PyBuffer_Release(&keys);
    return result;
}

enum { TIME, KEY, CHANGE_TIME, CHANGE_KEY, CHANGE_VALUE, BEFORE, COLUMNS };

static PyObject *swept(const Py_buffer *columns) {
    size_t events = (size_t)columns[TIME].len / sizeof(int64_t);
    size_t count = (size_t)columns[CHANGE_TIME].len / sizeof(int64_t);
    size_t keys = (size_t)columns[BEFORE].len / sizeof(int32_t);
    struct changes changes = {columns[CHANGE_TIME].buf, columns[CHANGE_KEY].buf, columns[CHANGE_VALUE].buf, count};
    bool sound = (size_t)columns[KEY].len / sizeof(int32_t) == events &&
                 (size_t)columns[CHANGE_KEY].len / sizeof(int32_t) == count &&
                 (size_t)columns[CHANGE_VALUE].len / sizeof(int32_t) == count;
    PyObject *values = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(events * sizeof(int32_t)));
    int32_t *current = malloc(keys * sizeof *current + 1);
    if (values && !current)
        PyErr_NoMemory();
    if (values && current) {
        memcpy(current, columns[BEFORE].buf, keys * sizeof *current);
        int32_t *found = (int32_t *)PyBytes_AsString(values);
        Py_BEGIN_ALLOW_THREADS;
        sound = sound && sweep(&changes, current, keys, columns[TIME].buf, columns[KEY].buf, events, found);
        Py_END_ALLOW_THREADS;
        if (!sound)
            PyErr_SetString(PyExc_ValueError, "the columns do not fit each other, or a key has no value");
    }
    free(current);
    if (PyErr_Occurred())
        Py_CLEAR(values);
    return values;
}

PyObject *session_values_at(PyObject *Py_UNUSED(module), PyObject *args) {
    Py_buffer columns[COLUMNS];
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*y*", &columns[TIME], &columns[KEY], &columns[CHANGE_TIME],
                          &columns[CHANGE_KEY], &columns[CHANGE_VALUE], &columns[BEFORE]))
        return NULL;
    PyObject *values = swept(columns);
    for (size_t i = 0; i < COLUMNS; i++)
        PyBuffer_Release(&columns[i]);
    return values;
}
