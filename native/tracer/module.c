// whyperf.collect._tracer: kernel events. Its API is documented in _tracer.pyi.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "stacks/module_tuple.h"
#include "tracer/answers.h"
#include "tracer/tracer_type.h"

#include <errno.h>

static PyObject *unpin(PyObject *self, PyObject *argument) {
    PyObject *folder;
    (void)self;
    if (!PyUnicode_FSConverter(argument, &folder))
        return NULL;
    int error = tracer_unpin(PyBytes_AsString(folder));
    Py_DECREF(folder);
    if (error) {
        errno = error;
        return PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, argument);
    }
    Py_RETURN_NONE;
}

static PyObject *module_unknown_processes(PyObject *module, PyObject *arguments) {
    Py_buffer records, known;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "y*w*:unknown_processes", &records, &known))
        return NULL;
    struct known_processes flags = {known.buf, (u64)known.len};
    PyObject *list = unknown_processes(records.buf, (u64)records.len / sizeof(struct trace_record), &flags);
    PyBuffer_Release(&records);
    PyBuffer_Release(&known);
    return list;
}

// What each level of the governor leaves out; the first leaves out nothing.
static PyObject *shed_levels(void) {
    return Py_BuildValue("(sssssssssss)", "", "stacks of what neither waited nor woke anybody",
                         "stacks of system calls", "system calls that neither block nor transfer",
                         "system calls that neither waited nor woke anybody", "stacks of wakings",
                         "page faults, kernel locks and workqueues", "socket lengths and timers", "system calls",
                         "stacks of switches", "switches and wakings, nine tenths of the time");
}
_Static_assert(TRACE_SHED_LEVELS == 11, "every level has a name");

static int execute(PyObject *module) {
    PyObject *type = PyType_FromModuleAndSpec(module, &tracer_spec, NULL);
    int failed = !type || PyModule_AddType(module, (PyTypeObject *)type);
    Py_XDECREF(type);
    PyObject *levels = failed ? NULL : shed_levels();
    failed = failed || !levels || PyModule_AddObjectRef(module, "SHED_LEVELS", levels);
    Py_XDECREF(levels);
    return failed ? -1 : 0;
}

static PyMethodDef functions[] = {
    {"unpin", unpin, METH_O, NULL},
    {"unknown_processes", module_unknown_processes, METH_VARARGS, NULL},
    {0},
};

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, execute},
    {0},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_tracer",
    .m_methods = functions,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__tracer(void) {
    return PyModuleDef_Init(&definition);
}
