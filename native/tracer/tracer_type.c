#include "tracer/tracer_type.h"
#include "stacks/module_tuple.h"
#include "tracer/answers.h"
#include "tracer/arguments.h"
#include "tracer/open.h"
#include "tracer/processes.h"
#include "tracer/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The lock lets C code run without the interpreter's while no other thread touches the same tracer.
typedef struct {
    PyObject_HEAD struct tracer *tracer; // NULL once closed
    PyThread_type_lock lock;
} Tracer;

static PyObject *raise(int error, const char *text) {
    PyObject *arguments = Py_BuildValue("(is)", error, text[0] ? text : strerror(error));
    if (arguments)
        PyErr_SetObject(PyExc_OSError, arguments);
    Py_XDECREF(arguments);
    return NULL;
}

// False with an exception if it is closed.
static bool tracer_enter(Tracer *self) {
    Py_BEGIN_ALLOW_THREADS;
    PyThread_acquire_lock(self->lock, WAIT_LOCK);
    Py_END_ALLOW_THREADS;
    if (self->tracer)
        return true;
    PyThread_release_lock(self->lock);
    PyErr_SetString(PyExc_ValueError, "the tracer is closed");
    return false;
}

static void tracer_leave(Tracer *self) {
    PyThread_release_lock(self->lock);
}

static Tracer *allocate(PyTypeObject *type, PyObject *tables) {
    Tracer *self = (Tracer *)PyType_GenericAlloc(type, 0);
    if (!self)
        return NULL;
    self->lock = PyThread_allocate_lock();
    self->tracer = calloc(1, sizeof *self->tracer);
    if (self->tracer)
        self->tracer->server.tables.folder = strdup(PyBytes_AsString(tables));
    if (!self->lock || !self->tracer || !self->tracer->server.tables.folder) {
        PyErr_NoMemory();
        Py_CLEAR(self);
    }
    return self;
}

static PyObject *tracer_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    struct tracer_options options = {0};
    PyObject *tables = NULL;
    char text[TRACER_TEXT] = "";
    if (!read_options(arguments, keywords, &options, &tables)) {
        Py_XDECREF(tables);
        return NULL;
    }
    Tracer *self = allocate(type, tables);
    Py_DECREF(tables);
    if (!self)
        return NULL;
    int error;
    Py_BEGIN_ALLOW_THREADS;
    error = tracer_open(self->tracer, &options, text);
    Py_END_ALLOW_THREADS;
    if (error) {
        Py_DECREF(self);
        return raise(error, text);
    }
    return (PyObject *)self;
}

static PyObject *tracer_pinned(PyTypeObject *type, PyObject *arguments) {
    PyObject *folder = NULL, *tables = NULL;
    char text[TRACER_TEXT] = "";
    if (!PyArg_ParseTuple(arguments, "O&O&:pinned", PyUnicode_FSConverter, &folder, PyUnicode_FSConverter, &tables)) {
        Py_XDECREF(folder);
        return NULL;
    }
    Tracer *self = allocate(type, tables);
    int error = self ? tracer_open_pinned(self->tracer, PyBytes_AsString(folder), text) : 0;
    Py_DECREF(folder);
    Py_DECREF(tables);
    if (error) {
        Py_DECREF(self);
        return raise(error, text);
    }
    return (PyObject *)self;
}

static void close_tracer(Tracer *self) {
    if (self->tracer)
        tracer_close(self->tracer);
    free(self->tracer);
    self->tracer = NULL;
}

static void tracer_dealloc(Tracer *self) {
    close_tracer(self);
    if (self->lock)
        PyThread_free_lock(self->lock);
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *tracer_type_close(Tracer *self, PyObject *unused) {
    (void)unused;
    Py_BEGIN_ALLOW_THREADS;
    PyThread_acquire_lock(self->lock, WAIT_LOCK);
    close_tracer(self);
    PyThread_release_lock(self->lock);
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}

static PyObject *tracer_drain(Tracer *self, PyObject *unused) {
    (void)unused;
    if (!tracer_enter(self))
        return NULL;
    PyObject *list = records_list(self->tracer, self->tracer->positions, 0, &self->tracer->records_lost);
    tracer_leave(self);
    return list;
}

static PyObject *tracer_new_stacks(Tracer *self, PyObject *unused) {
    (void)unused;
    if (!tracer_enter(self))
        return NULL;
    PyObject *bytes = stacks_bytes(self->tracer, self->tracer->positions, true, &self->tracer->stack_bytes_lost);
    tracer_leave(self);
    return bytes;
}

static PyObject *tracer_snapshot(Tracer *self, PyObject *argument) {
    unsigned long long since = PyLong_AsUnsignedLongLong(argument);
    u64 unused_count = 0;
    if (PyErr_Occurred() || !tracer_enter(self))
        return NULL;
    struct tracer *tracer = self->tracer;
    struct cpu_position *positions = calloc(tracer->settings->cpus, sizeof *positions);
    PyObject *records = positions ? records_list(tracer, positions, since, &unused_count) : PyErr_NoMemory();
    PyObject *stacks = records ? stacks_bytes(tracer, positions, false, &unused_count) : NULL;
    free(positions);
    tracer_leave(self);
    if (!stacks) {
        Py_XDECREF(records);
        return NULL;
    }
    return Py_BuildValue("NN", records, stacks);
}

static PyObject *tracer_oldest(Tracer *self, PyObject *unused) {
    (void)unused;
    if (!tracer_enter(self))
        return NULL;
    PyObject *times = oldest_times(self->tracer);
    tracer_leave(self);
    return times;
}

static PyObject *tracer_type_counters(Tracer *self, PyObject *unused) {
    (void)unused;
    if (!tracer_enter(self))
        return NULL;
    PyObject *counters = counters_dict(self->tracer);
    tracer_leave(self);
    return counters;
}

static PyObject *tracer_sheds(Tracer *self, PyObject *unused) {
    (void)unused;
    if (!tracer_enter(self))
        return NULL;
    PyObject *list = shed_tuples(self->tracer);
    tracer_leave(self);
    return list;
}

// Others may use the tracer while nothing happens.
static bool wait_for_notices(Tracer *self, int timeout_ms) {
    if (!tracer_enter(self))
        return false;
    struct pollfd ready = {.fd = notices_to_wait_for(self->tracer), .events = POLLIN};
    int error = errno;
    tracer_leave(self);
    if (ready.fd < 0)
        return raise(error, "") != NULL;
    if (ready.fd > 0) {
        Py_BEGIN_ALLOW_THREADS;
        poll(&ready, 1, timeout_ms);
        Py_END_ALLOW_THREADS;
    }
    return PyErr_CheckSignals() == 0;
}

static PyObject *tracer_serve(Tracer *self, PyObject *argument) {
    int timeout = (int)PyLong_AsLong(argument), error;
    struct served_list served;
    if (PyErr_Occurred() || !wait_for_notices(self, timeout) || !tracer_enter(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    error = serve_notices(self->tracer, &served);
    Py_END_ALLOW_THREADS;
    PyObject *list = error ? raise(error, "") : served_tuples(&served);
    free(served.items);
    tracer_leave(self);
    return list;
}

static PyObject *tracer_learn(Tracer *self, PyObject *argument) {
    long pid = PyLong_AsLong(argument);
    const struct served_process *known = NULL;
    int error;
    if (PyErr_Occurred() || !tracer_enter(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    error = learn_process(self->tracer, (u32)pid, &known);
    Py_END_ALLOW_THREADS;
    PyObject *list = error ? raise(error, "") : module_tuples(&known->modules);
    tracer_leave(self);
    return list;
}

static PyObject *change_scope(Tracer *self, long pid, u32 given, u32 taken) {
    if (!tracer_enter(self))
        return NULL;
    int error = set_scope(self->tracer, (u32)pid, given, taken);
    tracer_leave(self);
    if (error)
        return raise(error, "");
    Py_RETURN_NONE;
}

static PyObject *tracer_follow(Tracer *self, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"pid", "children_only", NULL};
    int pid, children_only = 0;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "i|p:follow", names, &pid, &children_only))
        return NULL;
    return change_scope(self, pid, children_only ? TRACE_CHILDREN : TRACE_FOLLOWED, 0);
}

static PyObject *tracer_unfollow(Tracer *self, PyObject *argument) {
    long pid = PyLong_AsLong(argument);
    if (PyErr_Occurred())
        return NULL;
    return change_scope(self, pid, 0, TRACE_FOLLOWED | TRACE_CHILDREN);
}

static PyObject *tracer_watch(Tracer *self, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"tid", "address", "length", "reads", NULL};
    int thread, reads = 0;
    unsigned long long address, length = 4;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "iK|Kp:watch", names, &thread, &address, &length, &reads) ||
        !tracer_enter(self))
        return NULL;
    struct watched_flag flag = {address, length, reads};
    int error = watch_flag(self->tracer, thread, &flag);
    tracer_leave(self);
    if (error)
        return raise(error, "");
    Py_RETURN_NONE;
}

static PyObject *tracer_probe(Tracer *self, PyObject *arguments) {
    int process, link, program = -1;
    PyObject *path;
    unsigned long long offset, cookie;
    if (!PyArg_ParseTuple(arguments, "iO&KK:probe", &process, PyUnicode_FSConverter, &path, &offset, &cookie))
        return NULL;
    bool entered = tracer_enter(self);
    if (entered) {
        program = self->tracer->task_program > 0 ? fcntl(self->tracer->task_program, F_DUPFD_CLOEXEC, 0) : -1;
        tracer_leave(self);
        // The kernel takes its time (tens of milliseconds), in which others use the tracer.
        const char *file = PyBytes_AsString(path);
        Py_BEGIN_ALLOW_THREADS;
        link = probe_tasks(program, process, file, offset, cookie);
        Py_END_ALLOW_THREADS;
    }
    Py_DECREF(path);
    if (!entered)
        return NULL;
    return link < 0 ? raise(-link, "") : PyLong_FromLong(link);
}

static PyObject *tracer_tasks(Tracer *self, PyObject *unused) {
    (void)unused;
    if (!tracer_enter(self))
        return NULL;
    struct task_records *tasks = &self->tracer->tasks;
    PyObject *bytes =
        PyBytes_FromStringAndSize((const char *)tasks->items, (Py_ssize_t)(tasks->count * sizeof *tasks->items));
    tasks->count = 0;
    tracer_leave(self);
    return bytes;
}

static PyObject *set_running(Tracer *self, u32 running) {
    if (!tracer_enter(self))
        return NULL;
    self->tracer->globals->running = running;
    tracer_leave(self);
    Py_RETURN_NONE;
}

static PyObject *tracer_pause(Tracer *self, PyObject *unused) {
    (void)unused;
    return set_running(self, 0);
}

static PyObject *tracer_resume(Tracer *self, PyObject *unused) {
    (void)unused;
    return set_running(self, 1);
}

static PyObject *tracer_type_pin(Tracer *self, PyObject *argument) {
    PyObject *folder;
    char text[TRACER_TEXT] = "";
    if (!PyUnicode_FSConverter(argument, &folder))
        return NULL;
    int error = 0;
    bool entered = tracer_enter(self);
    if (entered) {
        error = tracer_pin(self->tracer, PyBytes_AsString(folder), text);
        tracer_leave(self);
    }
    Py_DECREF(folder);
    if (!entered)
        return NULL;
    if (error)
        return raise(error, text);
    Py_RETURN_NONE;
}

static PyObject *tracer_absent(Tracer *self, void *closure) {
    (void)closure;
    if (!tracer_enter(self))
        return NULL;
    PyObject *result = absent_dict(self->tracer);
    tracer_leave(self);
    return result;
}

static PyMethodDef methods[] = {
    {"pinned", (PyCFunction)tracer_pinned, METH_VARARGS | METH_CLASS, NULL},
    {"close", (PyCFunction)tracer_type_close, METH_NOARGS, NULL},
    {"drain", (PyCFunction)tracer_drain, METH_NOARGS, NULL},
    {"new_stacks", (PyCFunction)tracer_new_stacks, METH_NOARGS, NULL},
    {"snapshot", (PyCFunction)tracer_snapshot, METH_O, NULL},
    {"oldest", (PyCFunction)tracer_oldest, METH_NOARGS, NULL},
    {"counters", (PyCFunction)tracer_type_counters, METH_NOARGS, NULL},
    {"sheds", (PyCFunction)tracer_sheds, METH_NOARGS, NULL},
    {"serve", (PyCFunction)tracer_serve, METH_O, NULL},
    {"learn", (PyCFunction)tracer_learn, METH_O, NULL},
    {"follow", (PyCFunction)(void (*)(void))tracer_follow, METH_VARARGS | METH_KEYWORDS, NULL},
    {"unfollow", (PyCFunction)tracer_unfollow, METH_O, NULL},
    {"watch", (PyCFunction)(void (*)(void))tracer_watch, METH_VARARGS | METH_KEYWORDS, NULL},
    {"probe", (PyCFunction)tracer_probe, METH_VARARGS, NULL},
    {"tasks", (PyCFunction)tracer_tasks, METH_NOARGS, NULL},
    {"pause", (PyCFunction)tracer_pause, METH_NOARGS, NULL},
    {"resume", (PyCFunction)tracer_resume, METH_NOARGS, NULL},
    {"pin", (PyCFunction)tracer_type_pin, METH_O, NULL},
    {0},
};

static PyGetSetDef attributes[] = {
    {"absent", (getter)tracer_absent, NULL, NULL, NULL},
    {0},
};

static PyType_Slot slots[] = {
    {Py_tp_new, tracer_new}, {Py_tp_dealloc, tracer_dealloc}, {Py_tp_methods, methods}, {Py_tp_getset, attributes}, {0},
};

PyType_Spec tracer_spec = {
    .name = "whyperf.collect._tracer.Tracer",
    .basicsize = sizeof(Tracer),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};
