// `whyperf.collect._session`: the recorder's side of the rings file, in C because it runs all the time.
#define _GNU_SOURCE
#include <time.h>

#include "machine/machine.h"
#include "session/bindings.h"
#include "session/contexts.h"
#include "session/rings.h"

static PyObject *create(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *path, *tables, *library;
    unsigned int rate_hz, values_depth = 0, memory_interval = 0, fault_interval = 0;
    int use_perf_events;
    if (!PyArg_ParseTuple(args, "O&IpO&O&|III", PyUnicode_FSConverter, &path, &rate_hz, &use_perf_events,
                          PyUnicode_FSConverter, &tables, PyUnicode_FSConverter, &library, &values_depth,
                          &memory_interval, &fault_interval))
        return NULL;
    struct rings_settings settings = {
        .rate_hz = rate_hz,
        .use_perf_events = use_perf_events,
        .values_depth = values_depth,
        .memory_interval = memory_interval,
        .fault_interval = fault_interval,
        .tables = PyBytes_AsString(tables),
        .library = PyBytes_AsString(library),
    };
    if (rings_create(PyBytes_AsString(path), &settings) != RINGS_OK)
        PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path);
    Py_DECREF(path);
    Py_DECREF(tables);
    Py_DECREF(library);
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}

static bool add_stacks(struct contexts *contexts, const Py_buffer *frames, const Py_buffer *ends, int32_t *leaves) {
    const int32_t *frame = frames->buf;
    const int64_t *end = ends->buf;
    size_t stacks = (size_t)ends->len / sizeof *end, total = (size_t)frames->len / sizeof *frame;
    int64_t first = 0;
    for (size_t i = 0; i < stacks; i++) {
        if (end[i] < first || (uint64_t)end[i] > total) {
            PyErr_SetString(PyExc_ValueError, "the ends must rise and lie within the frames");
            return false;
        }
        leaves[i] = contexts_add(contexts, frame + first, (size_t)(end[i] - first));
        if (leaves[i] == -2) {
            PyErr_NoMemory();
            return false;
        }
        first = end[i];
    }
    return true;
}

static PyObject *intern_contexts(PyObject *Py_UNUSED(module), PyObject *args) {
    Py_buffer frames, ends;
    if (!PyArg_ParseTuple(args, "y*y*", &frames, &ends))
        return NULL;
    struct contexts contexts = {0};
    PyObject *result = NULL;
    PyObject *leaves =
        PyBytes_FromStringAndSize(NULL, ends.len / (Py_ssize_t)sizeof(int64_t) * (Py_ssize_t)sizeof(int32_t));
    if (leaves && add_stacks(&contexts, &frames, &ends, (int32_t *)PyBytes_AsString(leaves))) {
        Py_ssize_t bytes = (Py_ssize_t)(contexts.count * sizeof(int32_t));
        result = Py_BuildValue("(y#y#O)", bytes ? (char *)contexts.parents : "", bytes,
                               bytes ? (char *)contexts.frames : "", bytes, leaves);
    }
    Py_XDECREF(leaves);
    contexts_release(&contexts);
    PyBuffer_Release(&frames);
    PyBuffer_Release(&ends);
    return result;
}

// Of several pairs the one whose readings lie closest together: somebody may have interrupted the others.
static PyObject *read_ticks(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none)) {
    enum { TRIES = 8 };
    uint64_t ticks = 0, closest = UINT64_MAX;
    struct timespec now = {0};
    for (int i = 0; i < TRIES; i++) {
        struct timespec between;
        uint64_t before = machine_ticks();
        clock_gettime(CLOCK_MONOTONIC, &between);
        uint64_t apart = machine_ticks() - before;
        if (apart >= closest)
            continue;
        closest = apart;
        ticks = before + apart / 2;
        now = between;
    }
    return Py_BuildValue("(KK)", (unsigned long long)ticks,
                         (unsigned long long)now.tv_sec * 1000000000u + (unsigned long long)now.tv_nsec);
}

static PyMethodDef functions[] = {
    {"create", create, METH_VARARGS,
     "Make a rings file: path, rate_hz, use_perf_events, tables, library, values_depth, memory_interval, "
     "fault_interval."},
    {"ticks", read_ticks, METH_NOARGS, "The processor's counter, and CLOCK_MONOTONIC in ns at the same moment."},
    {"intern_contexts", intern_contexts, METH_VARARGS,
     "The calling-context tree of stacks given as frames, innermost first, and their ends: parents, frames, leaves."},
    {"number_distinct", session_number_distinct, METH_O, "Numbers of equal keys, and where each appeared first."},
    {"unpack_values", session_unpack_values, METH_VARARGS, "Rows of values from their packed bytes."},
    {"values_at", session_values_at, METH_VARARGS, "The values of keys at moments, between which they change."},
    {NULL, NULL, 0, NULL},
};

static int add_types(PyObject *module) {
    PyType_Spec *specs[] = {&drainer_spec, &decoder_spec};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        PyObject *type = PyType_FromModuleAndSpec(module, specs[i], NULL);
        if (!type || PyModule_AddType(module, (PyTypeObject *)type) < 0) {
            Py_XDECREF(type);
            return -1;
        }
        Py_DECREF(type);
    }
    return 0;
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, add_types}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,  .m_name = "_session",    .m_doc = "The recorder's side of the rings file.",
    .m_methods = functions, .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__session(void) {
    return PyModuleDef_Init(&definition);
}
