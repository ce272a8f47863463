// `whyperf.collect._dependences`: streams of the Valgrind tool into columns. whyperf.collect.dependences.stream wraps
// it.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dependences/decoder/events.h"
#include "dependences/decoder/scan.h"

struct mapped {
    const uint8_t *bytes;
    size_t length;
};

static bool map_file(PyObject *path, struct mapped *mapped) {
    int file = open(PyBytes_AsString(path), O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (file < 0 || fstat(file, &status) < 0) {
        PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path);
        if (file >= 0)
            close(file);
        return false;
    }
    mapped->length = (size_t)status.st_size;
    void *bytes = mapped->length ? mmap(NULL, mapped->length, PROT_READ, MAP_PRIVATE, file, 0) : NULL;
    int problem = errno;
    close(file);
    if (bytes == MAP_FAILED) {
        errno = problem;
        PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path);
        return false;
    }
    mapped->bytes = bytes;
    return true;
}

static void unmap_file(struct mapped *mapped) {
    if (mapped->bytes)
        munmap((void *)(uintptr_t)mapped->bytes, mapped->length);
}

static PyObject *bytes_of(const struct column *column, size_t size) {
    return PyBytes_FromStringAndSize(column->count ? column->data : "", (Py_ssize_t)(column->count * size));
}

static PyObject *modules_of(const struct scanned *scanned) {
    PyObject *list = PyList_New((Py_ssize_t)scanned->modules.count);
    const struct scanned_module *modules = scanned->modules.data;
    for (size_t i = 0; list && i < scanned->modules.count; i++) {
        PyObject *path =
            PyUnicode_DecodeFSDefaultAndSize((const char *)modules[i].path, (Py_ssize_t)modules[i].path_length);
        PyObject *row = path ? Py_BuildValue("(Ny#KK)", path, modules[i].build_id,
                                             (Py_ssize_t)modules[i].build_id_length, modules[i].base, modules[i].bias)
                             : NULL;
        if (!row)
            Py_CLEAR(list);
        else
            PyList_SetItem(list, (Py_ssize_t)i, row);
    }
    return list;
}

static PyObject *unsupported_of(const struct scanned *scanned) {
    PyObject *list = PyList_New((Py_ssize_t)scanned->unsupported.count);
    const struct scanned_unsupported *found = scanned->unsupported.data;
    for (size_t i = 0; list && i < scanned->unsupported.count; i++) {
        PyObject *row =
            Py_BuildValue("(IKy#)", found[i].module, found[i].address, found[i].bytes, (Py_ssize_t)found[i].length);
        if (!row)
            Py_CLEAR(list);
        else
            PyList_SetItem(list, (Py_ssize_t)i, row);
    }
    return list;
}

static PyObject *inexact_of(const struct scanned *scanned) {
    PyObject *tuple = PyTuple_New(INEXACT_COUNT);
    for (Py_ssize_t i = 0; tuple && i < INEXACT_COUNT; i++) {
        PyObject *count = PyLong_FromUnsignedLongLong(scanned->inexact[i]);
        if (!count)
            Py_CLEAR(tuple);
        else
            PyTuple_SetItem(tuple, i, count);
    }
    return tuple;
}

static bool scan_or_raise(struct scanned *scanned, const struct mapped *mapped) {
    switch (scan(scanned, mapped->bytes, mapped->length)) {
    case READ_NO_STREAM:
        PyErr_SetString(PyExc_ValueError, "not a stream of dependences of this version");
        return false;
    case READ_NO_MEMORY:
        PyErr_NoMemory();
        return false;
    default:
        return true;
    }
}

static PyObject *scan_stream(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *path;
    if (!PyArg_ParseTuple(args, "O&", PyUnicode_FSConverter, &path))
        return NULL;
    struct mapped mapped = {0};
    struct scanned scanned = {0};
    PyObject *result = NULL;
    if (map_file(path, &mapped) && scan_or_raise(&scanned, &mapped))
        result = Py_BuildValue("{s:N,s:N,s:N,s:N,s:N,s:N,s:K,s:K,s:K,s:I,s:I,s:i}", "modules", modules_of(&scanned),
                               "sites", bytes_of(&scanned.sites, sizeof(struct scanned_site)), "pairs",
                               bytes_of(&scanned.pairs, sizeof(struct scanned_pair)), "watches",
                               bytes_of(&scanned.watches, sizeof(struct scanned_watch)), "unsupported",
                               unsupported_of(&scanned), "inexact", inexact_of(&scanned), "events", scanned.events,
                               "producers", scanned.producers, "instructions", scanned.instructions, "threads",
                               scanned.threads, "forks", scanned.forks, "ending", scanned.ending);
    scan_free(&scanned);
    unmap_file(&mapped);
    Py_DECREF(path);
    return result;
}

static bool flow_of(Py_buffer *buffers, size_t sites, struct flow *flow) {
    size_t blocks = (size_t)buffers[2].len / sizeof(int32_t), loops = (size_t)buffers[5].len / sizeof(int32_t);
    *flow = (struct flow){.site_block = buffers[0].buf,
                          .site_head = buffers[1].buf,
                          .block_ipdom = buffers[2].buf,
                          .block_loop = buffers[3].buf,
                          .block_branch = buffers[4].buf,
                          .loop_header = buffers[5].buf,
                          .loop_parent = buffers[6].buf,
                          .blocks = blocks,
                          .loops = loops};
    bool fits = (size_t)buffers[0].len == sites * sizeof(int32_t) && (size_t)buffers[1].len == sites &&
                (size_t)buffers[3].len == blocks * sizeof(int32_t) && (size_t)buffers[4].len == blocks &&
                (size_t)buffers[6].len == loops * sizeof(int32_t);
    if (!fits || !flow_is_sound(flow, sites))
        PyErr_SetString(PyExc_ValueError, "the flow does not belong to this stream, or its numbers lead nowhere");
    return !PyErr_Occurred();
}

static PyObject *decoded(const struct mapped *mapped, const struct scanned *scanned, const struct flow *flow) {
    PyObject *site = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)((scanned->events + 1) * sizeof(uint32_t)));
    PyObject *region = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)((scanned->events + 1) * sizeof(uint32_t)));
    PyObject *join = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(scanned->events + 1));
    PyObject *first = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)((scanned->events + 2) * sizeof(uint64_t)));
    PyObject *producers = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(scanned->producers * sizeof(uint32_t)));
    PyObject *kinds = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)scanned->producers);
    struct regions regions = {0};
    PyObject *result = NULL;
    if (site && region && join && first && producers && kinds) {
        struct event_columns columns = {
            .site = (uint32_t *)PyBytes_AsString(site),
            .region = (uint32_t *)PyBytes_AsString(region),
            .join = (uint8_t *)PyBytes_AsString(join),
            .first = (uint64_t *)PyBytes_AsString(first),
            .producers = (uint32_t *)PyBytes_AsString(producers),
            .kinds = (uint8_t *)PyBytes_AsString(kinds),
        };
        bool enough;
        Py_BEGIN_ALLOW_THREADS;
        enough = events_decode(&columns, &regions, flow, scanned, mapped->bytes, mapped->length);
        Py_END_ALLOW_THREADS;
        if (!enough)
            PyErr_NoMemory();
        else
            result = Py_BuildValue("{s:O,s:O,s:O,s:O,s:O,s:O,s:N,s:N}", "site", site, "region", region, "join", join,
                                   "first", first, "producers", producers, "kinds", kinds, "regions",
                                   bytes_of(&regions.regions, sizeof(struct region)), "heap",
                                   bytes_of(&regions.heap, sizeof(struct heap_call)));
    }
    regions_free(&regions);
    Py_XDECREF(site);
    Py_XDECREF(region);
    Py_XDECREF(join);
    Py_XDECREF(first);
    Py_XDECREF(producers);
    Py_XDECREF(kinds);
    return result;
}

#define FLOW_ARRAYS 7

static PyObject *decode_stream(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *path, *arrays;
    if (!PyArg_ParseTuple(args, "O&O", PyUnicode_FSConverter, &path, &arrays))
        return NULL;
    struct mapped mapped = {0};
    struct scanned scanned = {0};
    struct flow flow;
    Py_buffer buffers[FLOW_ARRAYS] = {0};
    int held = 0;
    PyObject *result = NULL;
    if (arrays != Py_None && (!PyTuple_Check(arrays) || PyTuple_Size(arrays) != FLOW_ARRAYS))
        PyErr_SetString(PyExc_TypeError, "the flow is a tuple of seven arrays, or None");
    while (arrays != Py_None && !PyErr_Occurred() && held < FLOW_ARRAYS)
        if (PyObject_GetBuffer(PyTuple_GetItem(arrays, held), &buffers[held], PyBUF_C_CONTIGUOUS) == 0)
            held++;
    if (!PyErr_Occurred() && map_file(path, &mapped) && scan_or_raise(&scanned, &mapped) &&
        (arrays == Py_None || flow_of(buffers, scanned.sites.count, &flow)))
        result = decoded(&mapped, &scanned, arrays == Py_None ? NULL : &flow);
    while (held)
        PyBuffer_Release(&buffers[--held]);
    scan_free(&scanned);
    unmap_file(&mapped);
    Py_DECREF(path);
    return result;
}

static PyObject *check_bytes(PyObject *Py_UNUSED(module), PyObject *args) {
    Py_buffer bytes;
    if (!PyArg_ParseTuple(args, "y*", &bytes))
        return NULL;
    PyObject *result = PyLong_FromUnsignedLong(dependences_check(bytes.buf, (unsigned)bytes.len));
    PyBuffer_Release(&bytes);
    return result;
}

static PyMethodDef methods[] = {
    {"scan", scan_stream, METH_VARARGS, "What a stream says beside its events."},
    {"decode", decode_stream, METH_VARARGS, "Events with their producers, and the region tree."},
    {"check", check_bytes, METH_VARARGS, "The check of a chunk."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_dependences",
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__dependences(void) {
    return PyModule_Create(&definition);
}
