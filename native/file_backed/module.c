// `whyperf.recording._file_backed`: has numpy keep large arrays in files.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "file_backed/allocate.h"

// Places in numpy's table of functions, the same in all versions.
enum { SET_HANDLER = 304, GET_HANDLER = 305 };

#define HANDLER_CAPSULE "mem_handler"

static void **numpy_functions(void) {
    PyObject *multiarray = PyImport_ImportModule("numpy._core._multiarray_umath");
    if (!multiarray && PyErr_ExceptionMatches(PyExc_ImportError)) {
        PyErr_Clear(); // before numpy 2
        multiarray = PyImport_ImportModule("numpy.core._multiarray_umath");
    }
    PyObject *table = multiarray ? PyObject_GetAttrString(multiarray, "_ARRAY_API") : NULL;
    void **functions = table ? PyCapsule_GetPointer(table, NULL) : NULL;
    Py_XDECREF(table);
    Py_XDECREF(multiarray);
    return functions;
}

static PyObject *set_handler(PyObject *handler) {
    void **functions = numpy_functions();
    return functions ? ((PyObject * (*)(PyObject *)) functions[SET_HANDLER])(handler) : NULL;
}

static PyObject *py_put_arrays_in_files(PyObject *Py_UNUSED(module), PyObject *args) {
    const char *folder;
    Py_ssize_t in_memory;
    if (!PyArg_ParseTuple(args, "sn", &folder, &in_memory))
        return NULL;
    void **functions = numpy_functions();
    if (!functions)
        return NULL;
    PyObject *before = ((PyObject * (*)(void)) functions[GET_HANDLER])();
    struct array_handler *usual = before ? PyCapsule_GetPointer(before, HANDLER_CAPSULE) : NULL;
    Py_XDECREF(before); // numpy keeps its own for ever
    if (!usual)
        return NULL;
    if (!put_files_in(folder, (size_t)in_memory, &usual->allocator))
        return PyErr_NoMemory();
    PyObject *ours = PyCapsule_New(&file_backed_handler, HANDLER_CAPSULE, NULL);
    PyObject *replaced = ours ? set_handler(ours) : NULL;
    Py_XDECREF(ours);
    return replaced;
}

static PyObject *py_use(PyObject *Py_UNUSED(module), PyObject *handler) {
    PyObject *replaced = set_handler(handler);
    Py_XDECREF(replaced);
    return replaced ? Py_NewRef(Py_None) : NULL;
}

static PyObject *py_is_on_disk(PyObject *Py_UNUSED(module), PyObject *args) {
    const char *folder;
    if (!PyArg_ParseTuple(args, "s", &folder))
        return NULL;
    return PyBool_FromLong(is_on_disk(folder));
}

static PyMethodDef functions[] = {
    {"put_arrays_in_files", py_put_arrays_in_files, METH_VARARGS,
     "put_arrays_in_files(folder, in_memory) -> handler before\n\nOf this context."},
    {"use", py_use, METH_O, "use(handler)\n\nBack to another handler."},
    {"is_on_disk", py_is_on_disk, METH_VARARGS, "is_on_disk(folder) -> bool\n\nWhether files there take no memory."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_file_backed",
    .m_size = -1,
    .m_methods = functions,
};

PyMODINIT_FUNC PyInit__file_backed(void) {
    return PyModule_Create(&definition);
}
