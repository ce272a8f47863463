// The Python module `whyperf.debuginfo._debuginfo`; its typed face is _debuginfo.pyi.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "debuginfo/extract.h"
#include "debuginfo/isolate.h"
#include "debuginfo/reader.h"

static bool python_interrupted(void) {
    PyGILState_STATE state = PyGILState_Ensure();
    bool interrupted = PyErr_CheckSignals() != 0;
    PyGILState_Release(state);
    return interrupted;
}

static PyObject *module_extract(PyObject *self, PyObject *arguments, PyObject *keywords) {
    (void)self;
    static char *names[] = {"path", "debug_folders", "symbols_only", "cpu_seconds", "wall_seconds", NULL};
    PyObject *path;
    const char *folders;
    int symbols_only;
    struct isolate_limits limits;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O&spII", names, PyUnicode_FSConverter, &path, &folders,
                                     &symbols_only, &limits.cpu_seconds, &limits.wall_seconds))
        return NULL;
    struct extract_request request = {PyBytes_AS_STRING(path), folders, symbols_only};
    demangle_prepare();
    enum isolate_end end;
    int output;
    Py_BEGIN_ALLOW_THREADS;
    end = isolate_run(extract, &request, limits, python_interrupted, &output);
    Py_END_ALLOW_THREADS;
    Py_DECREF(path);
    if (end == ISOLATE_INTERRUPTED)
        return NULL;
    return Py_BuildValue("ii", (int)end, output);
}

static PyMethodDef METHODS[] = {
    {"extract", (PyCFunction)(void (*)(void))module_extract, METH_VARARGS | METH_KEYWORDS,
     "Reads a binary in a child process; returns how that ended and the memory file it wrote."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, "_debuginfo", "Reads ELF and DWARF with libdw.", -1, METHODS, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__debuginfo(void) {
    return PyModule_Create(&MODULE);
}
