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

static bool put_files_in_folder(const char *folder) {
    void **functions = numpy_functions();
    if (!functions)
        return false;
    PyObject *before = ((PyObject * (*)(void)) functions[GET_HANDLER])();
    struct array_handler *usual = before ? PyCapsule_GetPointer(before, HANDLER_CAPSULE) : NULL;
    Py_XDECREF(before); // numpy keeps its own for ever
    if (!usual)
        return false;
    if (!put_files_in(folder, &usual->allocator)) {
        PyErr_NoMemory();
        return false;
    }
    return true;
}

static PyObject *py_put_arrays_in_files(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *folder = NULL;
    Py_ssize_t in_memory;
    if (!PyArg_ParseTuple(args, "O&n", PyUnicode_FSConverter, &folder, &in_memory))
        return NULL;
    bool put = put_files_in_folder(PyBytes_AsString(folder));
    Py_DECREF(folder);
    PyObject *ours = put ? PyCapsule_New(&file_backed_handler, HANDLER_CAPSULE, NULL) : NULL;
    PyObject *replaced = ours ? set_handler(ours) : NULL;
    Py_XDECREF(ours);
    if (!replaced)
        return NULL;
    return Py_BuildValue("(Nn)", replaced, (Py_ssize_t)allow_in_memory((size_t)in_memory));
}

// Another one of ours goes on with what it allowed; numpy's knows no limit, and other threads may still need ours.
static PyObject *py_use(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *handler;
    Py_ssize_t in_memory;
    if (!PyArg_ParseTuple(args, "On", &handler, &in_memory))
        return NULL;
    PyObject *replaced = set_handler(handler);
    if (!replaced)
        return NULL;
    Py_DECREF(replaced);
    if (PyCapsule_GetPointer(handler, HANDLER_CAPSULE) == &file_backed_handler)
        allow_in_memory((size_t)in_memory);
    Py_RETURN_NONE;
}

static PyObject *py_is_on_disk(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *folder = NULL;
    if (!PyArg_ParseTuple(args, "O&", PyUnicode_FSConverter, &folder))
        return NULL;
    bool on_disk = is_on_disk(PyBytes_AsString(folder));
    Py_DECREF(folder);
    return PyBool_FromLong(on_disk);
}

static PyMethodDef functions[] = {
    {"put_arrays_in_files", py_put_arrays_in_files, METH_VARARGS,
     "put_arrays_in_files(folder, in_memory) -> (handler, in_memory) before\n\nThe handler is that of this context."},
    {"use", py_use, METH_VARARGS, "use(handler, in_memory)\n\nBack to what was before."},
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
