// The Python module `whyperf.debuginfo._debuginfo`; its typed face is _debuginfo.pyi.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "debuginfo/extract.h"
#include "debuginfo/isolate.h"
#include "debuginfo/layouts.h"
#include "debuginfo/reader.h"
#include "debuginfo/variables.h"

static bool python_interrupted(void) {
    PyGILState_STATE state = PyGILState_Ensure();
    bool interrupted = PyErr_CheckSignals() != 0;
    PyGILState_Release(state);
    return interrupted;
}

// `request` may be the first part of a longer one.
static PyObject *run(bool (*job)(void *, int), PyObject *path, struct extract_request *request,
                     struct isolate_limits limits) {
    enum isolate_end end;
    int output;
    request->path = PyBytes_AsString(path);
    demangle_prepare();
    Py_BEGIN_ALLOW_THREADS;
    end = isolate_run(job, request, limits, python_interrupted, &output);
    Py_END_ALLOW_THREADS;
    Py_DECREF(path);
    if (end == ISOLATE_INTERRUPTED)
        return NULL;
    return Py_BuildValue("ii", (int)end, output);
}

static PyObject *module_extract(PyObject *self, PyObject *arguments, PyObject *keywords) {
    (void)self;
    static char *names[] = {"path", "debug_folders", "symbols_only", "cpu_seconds", "wall_seconds", NULL};
    PyObject *path;
    struct extract_request request;
    int symbols_only;
    struct isolate_limits limits;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O&spII", names, PyUnicode_FSConverter, &path,
                                     &request.debug_folders, &symbols_only, &limits.cpu_seconds, &limits.wall_seconds))
        return NULL;
    request.symbols_only = symbols_only;
    return run(extract, path, &request, limits);
}

static PyObject *module_extract_variables(PyObject *self, PyObject *arguments, PyObject *keywords) {
    (void)self;
    static char *names[] = {"path", "debug_folders", "cpu_seconds", "wall_seconds", NULL};
    PyObject *path;
    struct extract_request request = {.symbols_only = false};
    struct isolate_limits limits;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O&sII", names, PyUnicode_FSConverter, &path,
                                     &request.debug_folders, &limits.cpu_seconds, &limits.wall_seconds))
        return NULL;
    return run(extract_variables, path, &request, limits);
}

static PyObject *module_extract_layouts(PyObject *self, PyObject *arguments, PyObject *keywords) {
    (void)self;
    static char *names[] = {"path", "debug_folders", "entries", "cpu_seconds", "wall_seconds", NULL};
    PyObject *path;
    Py_buffer entries;
    struct layouts_request request = {.binary.symbols_only = false};
    struct isolate_limits limits;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O&sy*II", names, PyUnicode_FSConverter, &path,
                                     &request.binary.debug_folders, &entries, &limits.cpu_seconds,
                                     &limits.wall_seconds))
        return NULL;
    request.entries = entries.buf;
    request.count = (size_t)entries.len / sizeof *request.entries;
    PyObject *result = run(extract_layouts, path, &request.binary, limits);
    PyBuffer_Release(&entries);
    return result;
}

static PyObject *module_table_hash(PyObject *self, PyObject *argument) {
    (void)self;
    Py_buffer bytes;
    if (PyObject_GetBuffer(argument, &bytes, PyBUF_SIMPLE))
        return NULL;
    uint64_t hash = table_hash(bytes.buf, (size_t)bytes.len);
    PyBuffer_Release(&bytes);
    return PyLong_FromUnsignedLongLong(hash);
}

static PyMethodDef METHODS[] = {
    {"extract", (PyCFunction)(void (*)(void))module_extract, METH_VARARGS | METH_KEYWORDS,
     "Reads a binary in a child process; returns how that ended and the memory file it wrote."},
    {"extract_variables", (PyCFunction)(void (*)(void))module_extract_variables, METH_VARARGS | METH_KEYWORDS,
     "The same for its variables table."},
    {"extract_layouts", (PyCFunction)(void (*)(void))module_extract_layouts, METH_VARARGS | METH_KEYWORDS,
     "The same for how functions are called, and the structures that they know of."},
    {"table_hash", module_table_hash, METH_O, "The hash of a variables table, of the bytes after its header."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, "_debuginfo", "Reads ELF and DWARF with libdw.", -1, METHODS, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__debuginfo(void) {
    return PyModule_Create(&MODULE);
}
