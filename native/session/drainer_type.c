#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "session/bindings.h"
#include "session/drain.h"

// Draining runs without the interpreter's lock; `busy` keeps the recorder's other threads out meanwhile.
struct drainer_object {
    PyObject_HEAD struct drainer drainer;
    pthread_mutex_t busy;
};

static struct drainer *enter(PyObject *self) {
    struct drainer_object *object = (struct drainer_object *)self;
    Py_BEGIN_ALLOW_THREADS pthread_mutex_lock(&object->busy);
    Py_END_ALLOW_THREADS if (object->drainer.rings.session &&
                             rings_are_whole(&object->drainer.rings)) return &object->drainer;
    pthread_mutex_unlock(&object->busy);
    PyErr_SetString(PyExc_ValueError,
                    object->drainer.rings.session ? "the rings file was cut short" : "the rings file is closed");
    return NULL;
}

static void leave(PyObject *self) {
    pthread_mutex_unlock(&((struct drainer_object *)self)->busy);
}

static PyObject *drainer_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"path", "copy", NULL};
    PyObject *path;
    int copy = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O&|$p", names, PyUnicode_FSConverter, &path, &copy))
        return NULL;
    struct drainer_object *self = (struct drainer_object *)PyType_GenericAlloc(type, 0);
    if (!self) {
        Py_DECREF(path);
        return NULL;
    }
    pthread_mutex_init(&self->busy, NULL);
    enum rings_result result = rings_open(&self->drainer.rings, PyBytes_AsString(path), copy);
    if (result == RINGS_ERRNO)
        PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path);
    else if (result == RINGS_NOT_ONE)
        PyErr_Format(PyExc_ValueError, "%s is not a rings file of this version", PyBytes_AsString(path));
    else if (!drainer_prepare(&self->drainer))
        PyErr_NoMemory();
    Py_DECREF(path);
    if (PyErr_Occurred()) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static void drainer_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    struct drainer_object *object = (struct drainer_object *)self;
    drainer_release(&object->drainer);
    pthread_mutex_destroy(&object->busy);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *drain(PyObject *self, PyObject *argument) {
    int fd = PyObject_AsFileDescriptor(argument);
    if (fd < 0)
        return NULL;
    struct drainer *drainer = enter(self);
    if (!drainer)
        return NULL;
    int64_t records;
    Py_BEGIN_ALLOW_THREADS records = drainer_drain(drainer, fd);
    Py_END_ALLOW_THREADS int failed = errno;
    leave(self);
    errno = failed;
    return records < 0 ? PyErr_SetFromErrno(PyExc_OSError) : PyLong_FromLongLong(records);
}

static PyObject *new_log_file(PyObject *self, PyObject *Py_UNUSED(ignored)) {
    struct drainer *drainer = enter(self);
    if (!drainer)
        return NULL;
    drainer_new_log_file(drainer);
    leave(self);
    Py_RETURN_NONE;
}

static bool append_owner(PyObject *list, const struct whyperf_slot *slot) {
    PyObject *owner = Py_BuildValue("(IIKK)", slot->pid, slot->tid, (unsigned long long)atomic_load(&slot->sequence),
                                    (unsigned long long)slot->start);
    bool appended = owner && PyList_Append(list, owner) == 0;
    Py_XDECREF(owner);
    return appended;
}

// Those above have never been taken. The target could have written any number.
static uint32_t usable_slots(const struct whyperf_session *session) {
    uint32_t slots = atomic_load_explicit(&session->slots, memory_order_acquire);
    return slots < WHYPERF_SLOTS ? slots : WHYPERF_SLOTS;
}

static PyObject *live(PyObject *self, PyObject *Py_UNUSED(ignored)) {
    struct drainer *drainer = enter(self);
    if (!drainer)
        return NULL;
    PyObject *list = PyList_New(0);
    const struct whyperf_slot *slots = whyperf_slots(drainer->rings.session);
    for (uint32_t i = 0, usable = usable_slots(drainer->rings.session); list && i < usable; i++)
        if (atomic_load_explicit(&slots[i].state, memory_order_acquire) == WHYPERF_SLOT_TAKEN &&
            !append_owner(list, &slots[i]))
            Py_CLEAR(list);
    leave(self);
    return list;
}

static PyObject *retire_dead(PyObject *self, PyObject *Py_UNUSED(ignored)) {
    struct drainer *drainer = enter(self);
    if (!drainer)
        return NULL;
    size_t freed = drainer_retire(drainer);
    leave(self);
    return PyLong_FromSize_t(freed);
}

static PyObject *cut_counts(const struct whyperf_counters *counters) {
    PyObject *cut = PyTuple_New(WHYPERF_CUT_REASONS);
    for (int i = 0; cut && i < WHYPERF_CUT_REASONS; i++) {
        PyObject *count = PyLong_FromUnsignedLongLong(counters->cut[i]);
        if (!count)
            Py_CLEAR(cut);
        else
            PyTuple_SetItem(cut, i, count);
    }
    return cut;
}

static uint64_t median_ns(const uint32_t *times) {
    uint64_t all = 0, below = 0;
    for (uint32_t i = 0; i < WHYPERF_HANDLER_BUCKETS; i++)
        all += times[i];
    for (uint32_t i = 0; i < WHYPERF_HANDLER_BUCKETS; i++) {
        below += times[i];
        if (below && 2 * below >= all)
            return whyperf_handler_bucket_ns(i);
    }
    return 0;
}

static PyObject *counters(PyObject *self, PyObject *Py_UNUSED(ignored)) {
    struct drainer *drainer = enter(self);
    if (!drainer)
        return NULL;
    struct whyperf_counters sum = drainer_counters(drainer);
    const struct whyperf_session *session = drainer->rings.session;
    PyObject *result = Py_BuildValue(
        "{sKsKsKsKsKsKsKsKsKsKsKsKsKsKsKsKsKsNsKsKsKsKsKsK}", "modules_not_patched",
        (uint64_t)atomic_load(&session->modules_not_patched), "allocations_lost",
        (uint64_t)atomic_load(&session->allocations_lost), "frees_lost", (uint64_t)atomic_load(&session->frees_lost),
        "threads_without_faults", (uint64_t)atomic_load(&session->threads_without_faults), "values", sum.values,
        "values_others", sum.values_others, "values_unreadable", sum.values_unreadable, "values_forbidden",
        sum.values_forbidden, "values_dropped", sum.values_dropped, "samples", sum.samples, "weight", sum.weight,
        "dropped", sum.dropped, "records_lost", sum.records_lost, "busy", sum.busy, "handler_ns", sum.handler_ns,
        "handler_ns_max", sum.handler_ns_max, "handler_ns_median", median_ns(sum.handler_times), "cut",
        cut_counts(&sum), "overruns", sum.overruns, "threads_without_slot",
        (uint64_t)atomic_load(&session->threads_without_slot), "processes_started",
        (uint64_t)atomic_load(&session->processes_started), "rings_damaged", session->rings_damaged, "bytes_damaged",
        session->bytes_damaged, "threads_limited", (uint64_t)atomic_load(&session->threads_limited));
    leave(self);
    return result;
}

static PyObject *stop(PyObject *self, PyObject *Py_UNUSED(ignored)) {
    struct drainer *drainer = enter(self);
    if (!drainer)
        return NULL;
    atomic_store(&drainer->rings.session->stopped, 1);
    leave(self);
    Py_RETURN_NONE;
}

static PyObject *announce_tables(PyObject *self, PyObject *Py_UNUSED(ignored)) {
    struct drainer *drainer = enter(self);
    if (!drainer)
        return NULL;
    atomic_fetch_add(&drainer->rings.session->tables_generation, 1);
    leave(self);
    Py_RETURN_NONE;
}

static bool append_module(PyObject *list, const struct whyperf_record *record) {
    const struct whyperf_module *module = record_payload(record);
    const char *path = (const char *)(module + 1);
    PyObject *pair = Py_BuildValue("(Ny#)", PyUnicode_DecodeFSDefault(path), (const char *)module->build_id,
                                   (Py_ssize_t)module->build_id_size);
    bool appended = pair && PyList_Append(list, pair) == 0;
    Py_XDECREF(pair);
    return appended;
}

static PyObject *modules(PyObject *self, PyObject *Py_UNUSED(ignored)) {
    struct drainer *drainer = enter(self);
    if (!drainer)
        return NULL;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < drainer->living.count; i++) {
        const struct living_process *process = &drainer->living.processes[i];
        for (size_t k = 0; list && k < process->module_count; k++)
            if (!append_module(list, process->modules[k]))
                Py_CLEAR(list);
    }
    leave(self);
    return list;
}

static PyObject *close_rings(PyObject *self, PyObject *Py_UNUSED(ignored)) {
    struct drainer_object *object = (struct drainer_object *)self;
    Py_BEGIN_ALLOW_THREADS pthread_mutex_lock(&object->busy);
    rings_close(&object->drainer.rings);
    pthread_mutex_unlock(&object->busy);
    Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

static PyObject *path_text(const char *path) {
    return PyUnicode_DecodeFSDefaultAndSize(path, (Py_ssize_t)strnlen(path, WHYPERF_PATH_MAX));
}

static PyObject *get_library(PyObject *self, void *Py_UNUSED(closure)) {
    struct drainer *drainer = enter(self);
    if (!drainer)
        return NULL;
    PyObject *text = path_text(drainer->rings.session->library);
    leave(self);
    return text;
}

static PyObject *get_tables(PyObject *self, void *Py_UNUSED(closure)) {
    struct drainer *drainer = enter(self);
    if (!drainer)
        return NULL;
    PyObject *text = path_text(drainer->rings.session->tables);
    leave(self);
    return text;
}

static PyObject *get_rate(PyObject *self, void *Py_UNUSED(closure)) {
    struct drainer *drainer = enter(self);
    if (!drainer)
        return NULL;
    uint32_t rate = drainer->rings.session->rate_hz;
    leave(self);
    return PyLong_FromUnsignedLong(rate);
}

static PyMethodDef methods[] = {
    {"drain", drain, METH_O, "Append what threads have produced to a raw log; how many records that were."},
    {"new_log_file", new_log_file, METH_NOARGS, "The next drain goes to a new file, which must be readable alone."},
    {"live", live, METH_NOARGS, "(pid, tid, sequence, start) of every thread that has a ring."},
    {"retire_dead", retire_dead, METH_NOARGS, "Free the drained rings of threads that are gone; how many those were."},
    {"counters", counters, METH_NOARGS, "What all threads so far have counted."},
    {"modules", modules, METH_NOARGS, "(path, build-id) of everything mapped in living processes, with repetitions."},
    {"announce_tables", announce_tables, METH_NOARGS, "Tell watched processes that there are new variables tables."},
    {"stop", stop, METH_NOARGS, "Tell every watched process to write nothing more."},
    {"close", close_rings, METH_NOARGS, "Unmap the rings."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef attributes[] = {
    {"library", get_library, NULL, "Path of the preloaded library.", NULL},
    {"tables", get_tables, NULL, "Folder of the tables that watched processes use.", NULL},
    {"rate_hz", get_rate, NULL, "Samples a second of CPU time.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot drainer_slots[] = {
    {Py_tp_new, drainer_new},
    {Py_tp_dealloc, drainer_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {Py_tp_doc, "The recorder's end of a rings file."},
    {0, NULL},
};

PyType_Spec drainer_spec = {
    .name = "whyperf.collect._session.Drainer",
    .basicsize = sizeof(struct drainer_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = drainer_slots,
};
