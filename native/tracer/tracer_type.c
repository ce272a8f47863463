#include "tracer/tracer_type.h"
#include "stacks/module_tuple.h"
#include "tracer/counters.h"
#include "tracer/open.h"
#include "tracer/rings.h"
#include "tracer/serve.h"

#include <errno.h>
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

static bool read_kinds(PyObject *kinds, bool syscall_enter, u64 *bits) {
    *bits = ~0ull;
    if (kinds != Py_None) {
        PyObject *iterator = PyObject_GetIter(kinds), *item;
        *bits = 0;
        while (iterator && (item = PyIter_Next(iterator))) {
            long kind = PyLong_AsLong(item);
            Py_DECREF(item);
            if (kind > 0 && kind < TRACE_KINDS)
                *bits |= 1ull << kind;
            else if (!PyErr_Occurred())
                PyErr_Format(PyExc_ValueError, "there is no kind of event %ld", kind);
            if (PyErr_Occurred())
                break;
        }
        Py_XDECREF(iterator);
    } else if (!syscall_enter) {
        *bits &= ~(1ull << TRACE_SYSCALL_ENTER);
    }
    return !PyErr_Occurred();
}

// Names between commas, with one before the first and one behind the last.
static bool read_names(PyObject *names, char *joined, size_t size) {
    PyObject *iterator = names ? PyObject_GetIter(names) : NULL, *item;
    size_t length = (size_t)snprintf(joined, size, ",");
    while (iterator && (item = PyIter_Next(iterator))) {
        const char *name = PyUnicode_AsUTF8(item);
        if (name)
            length += (size_t)snprintf(joined + length, size - length, "%s,", name);
        Py_DECREF(item);
        if (name && length >= size)
            PyErr_SetString(PyExc_ValueError, "that is too much to do without");
        if (PyErr_Occurred())
            break;
    }
    Py_XDECREF(iterator);
    return !PyErr_Occurred();
}

static bool read_scope(const char *name, u32 *scope) {
    static const char *const NAMES[] = {
        [TRACE_SCOPE_ALL] = "all", [TRACE_SCOPE_TREE] = "tree", [TRACE_SCOPE_PROCESS] = "process"};
    for (*scope = 0; *scope < sizeof NAMES / sizeof *NAMES; ++*scope)
        if (strcmp(NAMES[*scope], name) == 0)
            return true;
    PyErr_Format(PyExc_ValueError, "there is no scope '%s'", name);
    return false;
}

static Tracer *allocate(PyTypeObject *type, PyObject *tables) {
    Tracer *self = (Tracer *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    self->lock = PyThread_allocate_lock();
    self->tracer = calloc(1, sizeof *self->tracer);
    if (self->tracer)
        self->tracer->server.tables.folder = strdup(PyBytes_AS_STRING(tables));
    if (!self->lock || !self->tracer || !self->tracer->server.tables.folder) {
        PyErr_NoMemory();
        Py_CLEAR(self);
    }
    return self;
}

static bool read_options(PyObject *arguments, PyObject *keywords, struct tracer_options *options, PyObject **tables) {
    static char *names[] = {"ring_bytes",    "sample_hz",      "scope",         "kinds",       "tables",
                            "syscall_enter", "syscall_stacks", "kernel_stacks", "stack_bytes", "shed_budget",
                            "met_limit",     "paused",         "shed_floor",    "without",     NULL};
    unsigned long long ring_bytes, stack_bytes = 0;
    double hz, budget = 0.05;
    const char *scope;
    PyObject *kinds, *without = NULL;
    int enter = 0, syscall_stacks = 1, kernel_stacks = 0, paused = 0;
    unsigned met_limit = 256, floor = 0;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "KdsOO&|pppKdIpIO:Tracer", names, &ring_bytes, &hz, &scope,
                                     &kinds, PyUnicode_FSConverter, tables, &enter, &syscall_stacks, &kernel_stacks,
                                     &stack_bytes, &budget, &met_limit, &paused, &floor, &without))
        return false;
    struct trace_settings *settings = &options->settings;
    if (!(hz >= 0 && hz <= 10000) || !(budget >= 0 && budget <= 1) || floor >= TRACE_SHED_LEVELS)
        PyErr_SetString(PyExc_ValueError, "sample_hz, shed_budget or shed_floor makes no sense");
    if (PyErr_Occurred() || !read_names(without, options->without, sizeof options->without) ||
        !read_kinds(kinds, enter, &settings->kinds) || !read_scope(scope, &settings->scope))
        return false;
    if (hz > 0)
        settings->sample_period = (u64)(1e9 / hz);
    else
        settings->kinds &= ~(1ull << TRACE_SAMPLE);
    settings->shed_budget = (u64)(budget * 1e8);
    settings->self = (u32)getpid();
    settings->met_limit = met_limit;
    settings->cpus = (u32)sysconf(_SC_NPROCESSORS_CONF);
    settings->syscall_stacks = (u8)syscall_stacks;
    settings->kernel_stacks = (u8)kernel_stacks;
    settings->shed_floor = (u8)floor;
    options->ring_bytes = ring_bytes;
    options->stack_bytes = stack_bytes ? stack_bytes : ring_bytes / 4;
    options->paused = paused;
    return true;
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
    int error = self ? tracer_open_pinned(self->tracer, PyBytes_AS_STRING(folder), text) : 0;
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
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free(self);
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

// [(CPU, records)] from each CPU's position on, but none before `since`.
static PyObject *records_list(struct tracer *tracer, struct cpu_position *positions, u64 since, u64 *lost) {
    PyObject *list = PyList_New(0);
    for (u32 cpu = 0; list && cpu < tracer->settings->cpus; cpu++) {
        struct records_copy copy;
        int error;
        Py_BEGIN_ALLOW_THREADS;
        error = copy_records(tracer, cpu, &positions[cpu].record, &copy);
        Py_END_ALLOW_THREADS;
        if (error) {
            Py_DECREF(list);
            return PyErr_NoMemory();
        }
        *lost += copy.lost;
        u64 first = 0;
        while (first < copy.count && copy.records[first].time < since)
            first++;
        if (first < copy.count) {
            PyObject *item = Py_BuildValue("Iy#", cpu, (const char *)(copy.records + first),
                                           (Py_ssize_t)((copy.count - first) * sizeof *copy.records));
            if (!item || PyList_Append(list, item))
                Py_CLEAR(list);
            Py_XDECREF(item);
        }
        free(copy.memory);
    }
    return list;
}

static PyObject *tracer_drain(Tracer *self, PyObject *unused) {
    (void)unused;
    if (!tracer_enter(self))
        return NULL;
    PyObject *list = records_list(self->tracer, self->tracer->positions, 0, &self->tracer->records_lost);
    tracer_leave(self);
    return list;
}

// Marks a stack as received; false if it was already, having been stored again before it was overwritten.
static bool is_new(struct tracer *tracer, u32 number) {
    u64 byte = number / 8;
    if (byte >= tracer->received_size) {
        u64 size = 2 * byte + 4096;
        u8 *larger = realloc(tracer->received, size);
        if (!larger)
            return true;
        memset(larger + tracer->received_size, 0, size - tracer->received_size);
        tracer->received = larger;
        tracer->received_size = size;
    }
    bool known = tracer->received[byte] >> number % 8 & 1;
    tracer->received[byte] |= (u8)(1 << number % 8);
    tracer->stacks_received += !known;
    return !known;
}

static void drop_known(struct tracer *tracer, struct stacks_copy *copy) {
    u64 kept = 0;
    for (u64 at = 0; at < copy->size;) {
        struct traced_stack head;
        memcpy(&head, copy->bytes + at, sizeof head);
        u64 size = sizeof head + 8 * (u64)head.depth;
        if (is_new(tracer, head.number)) {
            memmove(copy->bytes + kept, copy->bytes + at, size);
            kept += size;
        }
        at += size;
    }
    copy->size = kept;
}

static PyObject *stacks_bytes(struct tracer *tracer, struct cpu_position *positions, bool only_new, u64 *lost) {
    struct stacks_copy copy = {0};
    int error = 0;
    Py_BEGIN_ALLOW_THREADS;
    for (u32 cpu = 0; cpu < tracer->settings->cpus && !error; cpu++)
        error = copy_stacks(tracer, cpu, &positions[cpu].stack, &copy);
    if (only_new)
        drop_known(tracer, &copy);
    Py_END_ALLOW_THREADS;
    *lost += copy.lost;
    PyObject *bytes =
        error ? PyErr_NoMemory() : PyBytes_FromStringAndSize((const char *)copy.bytes, (Py_ssize_t)copy.size);
    free(copy.bytes);
    return bytes;
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

static PyObject *tracer_type_counters(Tracer *self, PyObject *unused) {
    struct named_count counts[NAMED_COUNTS];
    (void)unused;
    if (!tracer_enter(self))
        return NULL;
    u32 count = tracer_counters(self->tracer, counts);
    tracer_leave(self);
    PyObject *result = PyDict_New();
    for (u32 i = 0; result && i < count; i++) {
        PyObject *value = PyLong_FromUnsignedLongLong(counts[i].count);
        if (!value || PyDict_SetItemString(result, counts[i].name, value))
            Py_CLEAR(result);
        Py_XDECREF(value);
    }
    return result;
}

static PyObject *tracer_sheds(Tracer *self, PyObject *unused) {
    (void)unused;
    if (!tracer_enter(self))
        return NULL;
    const struct trace_shed_change *log = self->tracer->maps[IN_SHED].memory;
    u64 end = self->tracer->globals->shed_changes;
    PyObject *list = PyList_New(0);
    for (u64 i = end > TRACE_SHED_LOG ? end - TRACE_SHED_LOG : 0; list && i < end; i++) {
        const struct trace_shed_change *change = &log[i % TRACE_SHED_LOG];
        PyObject *item = Py_BuildValue("KIHH", change->time, change->cpu, change->before, change->after);
        if (!item || PyList_Append(list, item))
            Py_CLEAR(list);
        Py_XDECREF(item);
    }
    tracer_leave(self);
    return list;
}

static PyObject *served_tuple(const struct served *served) {
    static const char *const NAMES[] = {
        [TRACE_NOTICE_EXEC] = "exec", [TRACE_NOTICE_MAP] = "map",   [TRACE_NOTICE_UNKNOWN] = "unknown",
        [TRACE_NOTICE_FORK] = "fork", [TRACE_NOTICE_EXIT] = "exit", [TRACE_NOTICE_MET] = "met",
    };
    PyObject *modules = served->known && !served->error ? module_tuples(&served->known->modules) : Py_NewRef(Py_None);
    if (!modules)
        return NULL;
    return Py_BuildValue("sKIIN", NAMES[served->kind], served->time, served->pid, served->child, modules);
}

static PyObject *tracer_serve(Tracer *self, PyObject *argument) {
    int timeout = (int)PyLong_AsLong(argument), error;
    struct served_list served;
    if (PyErr_Occurred() || !tracer_enter(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    error = serve_notices(self->tracer, timeout, &served);
    Py_END_ALLOW_THREADS;
    PyObject *list = error ? raise(error, "") : PyList_New(0);
    for (u32 i = 0; list && i < served.count; i++) {
        PyObject *item = served_tuple(&served.items[i]);
        if (!item || PyList_Append(list, item))
            Py_CLEAR(list);
        Py_XDECREF(item);
    }
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
        error = tracer_pin(self->tracer, PyBytes_AS_STRING(folder), text);
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
    PyObject *result = PyDict_New();
    for (u32 i = 0; result && i < self->tracer->absent_count; i++) {
        PyObject *why = PyUnicode_DecodeUTF8(self->tracer->absent[i].why,
                                             (Py_ssize_t)strlen(self->tracer->absent[i].why), "replace");
        if (!why || PyDict_SetItemString(result, self->tracer->absent[i].name, why))
            Py_CLEAR(result);
        Py_XDECREF(why);
    }
    tracer_leave(self);
    return result;
}

static PyMethodDef methods[] = {
    {"pinned", (PyCFunction)tracer_pinned, METH_VARARGS | METH_CLASS, NULL},
    {"close", (PyCFunction)tracer_type_close, METH_NOARGS, NULL},
    {"drain", (PyCFunction)tracer_drain, METH_NOARGS, NULL},
    {"new_stacks", (PyCFunction)tracer_new_stacks, METH_NOARGS, NULL},
    {"snapshot", (PyCFunction)tracer_snapshot, METH_O, NULL},
    {"counters", (PyCFunction)tracer_type_counters, METH_NOARGS, NULL},
    {"sheds", (PyCFunction)tracer_sheds, METH_NOARGS, NULL},
    {"serve", (PyCFunction)tracer_serve, METH_O, NULL},
    {"learn", (PyCFunction)tracer_learn, METH_O, NULL},
    {"follow", (PyCFunction)(void (*)(void))tracer_follow, METH_VARARGS | METH_KEYWORDS, NULL},
    {"unfollow", (PyCFunction)tracer_unfollow, METH_O, NULL},
    {"watch", (PyCFunction)(void (*)(void))tracer_watch, METH_VARARGS | METH_KEYWORDS, NULL},
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
