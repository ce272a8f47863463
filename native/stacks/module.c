// whyperf.collect._stacks: walking other processes' stacks from outside. Its API is documented in _stacks.pyi.
#define _GNU_SOURCE
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "stacks/elf_file.h"
#include "stacks/module_tuple.h"
#include "stacks/remote.h"
#include "stacks/watcher.h"
#include "unwind/call_code.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

// The lock lets C code run without the interpreter's while no other thread touches the same reader.
typedef struct {
    PyObject_HEAD struct watcher *watcher;
    PyThread_type_lock lock;
} Reader;

static void reader_enter(Reader *self) {
    Py_BEGIN_ALLOW_THREADS;
    PyThread_acquire_lock(self->lock, WAIT_LOCK);
    Py_END_ALLOW_THREADS;
}

static void reader_leave(Reader *self) {
    PyThread_release_lock(self->lock);
}

// ProcessLookupError for ESRCH, PermissionError for EPERM and EACCES, and so on.
static PyObject *raise_errno(int error) {
    errno = error;
    return PyErr_SetFromErrno(PyExc_OSError);
}

static PyObject *list_of_pcs(const uint64_t *pcs, uint32_t depth) {
    PyObject *list = PyList_New(depth);
    for (uint32_t i = 0; list && i < depth; i++) {
        PyObject *pc = PyLong_FromUnsignedLongLong(pcs[i]);
        if (!pc)
            Py_CLEAR(list);
        else
            PyList_SetItem(list, i, pc);
    }
    return list;
}

static PyObject *reader_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"tables", NULL};
    PyObject *folder;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O&:Reader", names, PyUnicode_FSConverter, &folder))
        return NULL;
    Reader *self = (Reader *)PyType_GenericAlloc(type, 0);
    if (self) {
        self->lock = PyThread_allocate_lock();
        self->watcher = calloc(1, sizeof *self->watcher);
        if (self->watcher)
            self->watcher->tables.folder = strdup(PyBytes_AsString(folder));
        if (!self->lock || !self->watcher || !self->watcher->tables.folder) {
            PyErr_NoMemory();
            Py_CLEAR(self);
        }
    }
    Py_DECREF(folder);
    return (PyObject *)self;
}

static void reader_dealloc(Reader *self) {
    if (self->watcher)
        watcher_clear(self->watcher);
    free(self->watcher);
    if (self->lock)
        PyThread_free_lock(self->lock);
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *reader_refresh(Reader *self, PyObject *argument) {
    long pid = PyLong_AsLong(argument);
    if (pid == -1 && PyErr_Occurred())
        return NULL;
    int error = 0;
    reader_enter(self);
    Py_BEGIN_ALLOW_THREADS;
    struct process *process = watch_process(self->watcher, (pid_t)pid);
    error = process ? process_refresh(process, &self->watcher->tables) : errno;
    Py_END_ALLOW_THREADS;
    reader_leave(self);
    if (error)
        return raise_errno(error);
    Py_RETURN_NONE;
}

static PyObject *reader_forget(Reader *self, PyObject *argument) {
    long pid = PyLong_AsLong(argument);
    if (pid == -1 && PyErr_Occurred())
        return NULL;
    reader_enter(self);
    watcher_forget(self->watcher, (pid_t)pid);
    reader_leave(self);
    Py_RETURN_NONE;
}

// What one look found.
struct seen {
    pid_t pid, tid;
    enum blocked_state state;
    int error; // of BLOCKED_FAILED
    const struct blocked_thread *thread;
};

static void look_at(struct watcher *watcher, struct seen *all, Py_ssize_t count) {
    for (Py_ssize_t i = 0; i < count; i++) {
        struct seen *seen = &all[i];
        seen->state = watch_thread(watcher, seen->pid, seen->tid, &seen->thread);
        seen->error = errno;
        if (seen->state != BLOCKED_FAILED)
            continue;
        for (Py_ssize_t before = 0; before < i; before++) // what was seen of it before is gone with it
            if (all[before].pid == seen->pid && all[before].tid == seen->tid)
                all[before] = *seen;
    }
}

// The stack of a thread that waits, None for one that runs, the error for one that cannot be looked at.
static PyObject *seen_object(const struct seen *seen) {
    if (seen->state == BLOCKED_FAILED)
        return PyLong_FromLong(seen->error);
    if (seen->state == BLOCKED_RUNNING)
        Py_RETURN_NONE;
    const struct blocked_thread *thread = seen->thread;
    PyObject *pcs = list_of_pcs(thread->pcs, thread->depth);
    return pcs ? Py_BuildValue("LNiO", (long long)thread->number, pcs, thread->cut,
                               seen->state == BLOCKED_MOVED ? Py_True : Py_False)
               : NULL;
}

static PyObject *seen_list(const struct seen *all, Py_ssize_t count) {
    PyObject *list = PyList_New(count);
    for (Py_ssize_t i = 0; list && i < count; i++) {
        PyObject *one = seen_object(&all[i]);
        if (!one)
            Py_CLEAR(list);
        else
            PyList_SetItem(list, i, one);
    }
    return list;
}

static bool read_threads(PyObject *threads, struct seen *all, Py_ssize_t count) {
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *one = PyList_GetItem(threads, i);
        int pid, tid;
        if (!one || !PyArg_ParseTuple(one, "ii", &pid, &tid))
            return false;
        all[i].pid = pid;
        all[i].tid = tid;
    }
    return true;
}

// Sleeps until the moment, or until there is something to read; whether the moment has come.
static bool sleep_until(uint64_t moment, int wake) {
    for (;;) {
        uint64_t now = monotonic_ns();
        if (now >= moment)
            return true;
        struct timespec left = {(time_t)((moment - now) / 1000000000u), (long)((moment - now) % 1000000000u)};
        struct pollfd woken = {.fd = wake, .events = POLLIN};
        int ready = ppoll(&woken, 1, &left, NULL);
        if (ready > 0)
            return false;
        if (ready < 0 && errno != EINTR)
            return true;
    }
}

static PyObject *reader_look(Reader *self, PyObject *arguments) {
    PyObject *threads;
    unsigned long long moment;
    int wake;
    if (!PyArg_ParseTuple(arguments, "O!Ki:look", &PyList_Type, &threads, &moment, &wake))
        return NULL;
    Py_ssize_t count = PyList_Size(threads);
    struct seen *all = calloc((size_t)count + 1, sizeof *all);
    if (!all)
        return PyErr_NoMemory();
    PyObject *list = NULL;
    unsigned long long looked = 0;
    bool has_come = false;
    if (read_threads(threads, all, count)) {
        reader_enter(self);
        Py_BEGIN_ALLOW_THREADS;
        has_come = sleep_until(moment, wake);
        looked = monotonic_ns();
        if (has_come)
            look_at(self->watcher, all, count);
        Py_END_ALLOW_THREADS;
        list = has_come ? seen_list(all, count) : PyList_New(0);
        reader_leave(self);
    }
    free(all);
    return list ? Py_BuildValue("KN", looked, list) : NULL;
}

static PyObject *reader_blocked(Reader *self, PyObject *arguments) {
    struct seen seen = {0};
    if (!PyArg_ParseTuple(arguments, "ii:blocked", &seen.pid, &seen.tid))
        return NULL;
    reader_enter(self);
    Py_BEGIN_ALLOW_THREADS;
    look_at(self->watcher, &seen, 1);
    Py_END_ALLOW_THREADS;
    PyObject *result = seen.state == BLOCKED_FAILED ? raise_errno(seen.error) : seen_object(&seen);
    reader_leave(self);
    return result;
}

struct dump {
    const uint8_t *bytes;
    uint64_t size, address;
    pid_t pid;
};

static bool read_dump(void *context, uint64_t address, uint64_t *word) {
    const struct dump *dump = context;
    uint64_t distance = address - dump->address;
    if (distance >= dump->size || dump->size - distance < sizeof *word)
        return false;
    memcpy(word, dump->bytes + distance, sizeof *word);
    return true;
}

static bool returns_in_dumped(void *context, uint64_t address) {
    const struct dump *dump = context;
    pid_t pid = dump->pid;
    uint8_t code[CALL_CODE_LONGEST];
    return remote_read(&pid, address - sizeof code, code, sizeof code) && ends_in_call(code);
}

static PyObject *reader_unwind(Reader *self, PyObject *arguments) {
    int pid, error = 0;
    Py_buffer registers, stack;
    unsigned long long address;
    if (!PyArg_ParseTuple(arguments, "iy*y*K:unwind", &pid, &registers, &stack, &address))
        return NULL;
    PyObject *result = NULL;
    struct unwind_registers start = {.known = unwind_bit(UNWIND_REGISTERS) - 1};
    struct dump dump = {stack.buf, (uint64_t)stack.len, address, pid};
    if (registers.len != (Py_ssize_t)sizeof start.value) {
        PyErr_Format(PyExc_ValueError, "registers must be %d words of 8 bytes, in DWARF's order", UNWIND_REGISTERS);
    } else {
        memcpy(start.value, registers.buf, sizeof start.value);
        reader_enter(self);
        struct walk *walk = &self->watcher->walk;
        Py_BEGIN_ALLOW_THREADS;
        struct process *process = watch_process(self->watcher, pid);
        error = process ? 0 : errno;
        if (process) {
            struct stack_access access = {read_dump, returns_in_dumped, &dump};
            walk_registers(process->unwind, &start, &access, walk);
            if (refresh_after(self->watcher, process, walk))
                walk_registers(process->unwind, &start, &access, walk);
        }
        Py_END_ALLOW_THREADS;
        PyObject *pcs = error ? raise_errno(error) : list_of_pcs(walk->pcs, walk->depth);
        if (pcs)
            result = Py_BuildValue("Ni", pcs, walk->cut);
        reader_leave(self);
    }
    PyBuffer_Release(&registers);
    PyBuffer_Release(&stack);
    return result;
}

static PyObject *reader_modules(Reader *self, PyObject *argument) {
    long pid = PyLong_AsLong(argument);
    if (pid == -1 && PyErr_Occurred())
        return NULL;
    int error = 0;
    struct process *process;
    reader_enter(self);
    Py_BEGIN_ALLOW_THREADS;
    process = watch_process(self->watcher, (pid_t)pid);
    error = errno;
    Py_END_ALLOW_THREADS;
    PyObject *list = process ? module_tuples(process) : raise_errno(error);
    reader_leave(self);
    return list;
}

static PyObject *compile_file(PyObject *self, PyObject *argument) {
    (void)self;
    PyObject *path;
    if (!PyUnicode_FSConverter(argument, &path))
        return NULL;
    struct row_buffer rows = {.grow = grow_on_heap};
    int error = 0;
    const char *name = PyBytes_AsString(path);
    Py_BEGIN_ALLOW_THREADS;
    error = compile_elf_file(name, &rows);
    Py_END_ALLOW_THREADS;
    PyObject *bytes =
        error ? raise_errno(error)
              : PyBytes_FromStringAndSize((const char *)rows.rows, (Py_ssize_t)(rows.count * sizeof *rows.rows));
    free(rows.rows);
    Py_DECREF(path);
    return bytes;
}

static PyMethodDef reader_methods[] = {
    {"refresh", (PyCFunction)reader_refresh, METH_O, NULL},
    {"forget", (PyCFunction)reader_forget, METH_O, NULL},
    {"blocked", (PyCFunction)reader_blocked, METH_VARARGS, NULL},
    {"look", (PyCFunction)reader_look, METH_VARARGS, NULL},
    {"unwind", (PyCFunction)reader_unwind, METH_VARARGS, NULL},
    {"modules", (PyCFunction)reader_modules, METH_O, NULL},
    {0},
};

static PyType_Slot reader_slots[] = {
    {Py_tp_new, reader_new},
    {Py_tp_dealloc, reader_dealloc},
    {Py_tp_methods, reader_methods},
    {0},
};

static PyType_Spec reader_spec = {
    .name = "whyperf.collect._stacks.Reader",
    .basicsize = sizeof(Reader),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = reader_slots,
};

static int execute(PyObject *module) {
    PyObject *reader = PyType_FromModuleAndSpec(module, &reader_spec, NULL);
    if (!reader)
        return -1;
    int failed = PyModule_AddType(module, (PyTypeObject *)reader);
    Py_DECREF(reader);
    return failed;
}

static PyMethodDef functions[] = {
    {"compile_file", compile_file, METH_O, NULL},
    {0},
};

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, execute},
    {0},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_stacks",
    .m_methods = functions,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__stacks(void) {
    return PyModuleDef_Init(&definition);
}
