#include "tracer/answers.h"
#include "stacks/module_tuple.h"
#include "tracer/counters.h"
#include "tracer/rings.h"

#include <stdlib.h>

// Appends and gives the item away; false with an exception.
static bool append(PyObject *list, PyObject *item) {
    bool appended = item && PyList_Append(list, item) == 0;
    Py_XDECREF(item);
    return appended;
}

static bool put(PyObject *dict, const char *name, PyObject *value) {
    bool stored = value && PyDict_SetItemString(dict, name, value) == 0;
    Py_XDECREF(value);
    return stored;
}

// Those of a CPU; Py_None if there are none.
static PyObject *records_bytes(struct tracer *tracer, u32 cpu, u64 *position, u64 since, u64 *lost) {
    u64 room = records_waiting(tracer, cpu, *position);
    if (!room)
        Py_RETURN_NONE;
    struct trace_record *records = malloc(room * sizeof *records);
    if (!records)
        return PyErr_NoMemory();
    struct records_copy copy;
    u64 first = 0;
    Py_BEGIN_ALLOW_THREADS;
    copy = copy_records(tracer, cpu, position, records, room);
    while (first < copy.count && records[first].time < since)
        first++;
    Py_END_ALLOW_THREADS;
    *lost += copy.lost;
    PyObject *bytes = first == copy.count
                          ? Py_NewRef(Py_None)
                          : PyBytes_FromStringAndSize((const char *)(records + first),
                                                      (Py_ssize_t)((copy.count - first) * sizeof *records));
    free(records);
    return bytes;
}

PyObject *records_list(struct tracer *tracer, struct cpu_position *positions, u64 since, u64 *lost) {
    PyObject *list = PyList_New(0);
    for (u32 cpu = 0; list && cpu < tracer->settings->cpus; cpu++) {
        PyObject *bytes = records_bytes(tracer, cpu, &positions[cpu].record, since, lost);
        if (bytes == Py_None)
            Py_DECREF(bytes);
        else if (!bytes || !append(list, Py_BuildValue("IN", cpu, bytes)))
            Py_CLEAR(list);
    }
    return list;
}

PyObject *oldest_times(const struct tracer *tracer) {
    PyObject *list = PyList_New(0);
    for (u32 cpu = 0; list && cpu < tracer->settings->cpus; cpu++) {
        u64 time = oldest_time(tracer, cpu);
        if (time && !append(list, PyLong_FromUnsignedLongLong(time)))
            Py_CLEAR(list);
    }
    return list;
}

static bool list_unknown(PyObject *list, const struct known_processes *known, u32 pid) {
    if (pid == 0 || pid >= known->size || known->flags[pid])
        return true;
    known->flags[pid] = 1;
    return append(list, PyLong_FromUnsignedLong(pid));
}

static void forget(const struct known_processes *known, u32 pid) {
    if (pid < known->size)
        known->flags[pid] = 0;
}

PyObject *unknown_processes(const struct trace_record *records, u64 count, const struct known_processes *known) {
    PyObject *list = PyList_New(0);
    for (const struct trace_record *one = records; list && one < records + count; one++) {
        if (one->kind == TRACE_EXEC)
            forget(known, one->pid);
        if (!list_unknown(list, known, one->pid) || !list_unknown(list, known, (u32)(one->other >> 32)))
            Py_CLEAR(list);
    }
    // Not before: a thread that has exited still switches away.
    for (const struct trace_record *one = records; one < records + count; one++)
        if (one->kind == TRACE_EXIT && one->pid == one->tid)
            forget(known, one->pid);
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

PyObject *stacks_bytes(struct tracer *tracer, struct cpu_position *positions, bool only_new, u64 *lost) {
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

PyObject *served_tuples(const struct served_list *served) {
    PyObject *list = PyList_New(0);
    for (u32 i = 0; list && i < served->count; i++)
        if (!append(list, served_tuple(&served->items[i])))
            Py_CLEAR(list);
    return list;
}

PyObject *counters_dict(const struct tracer *tracer) {
    struct named_count counts[NAMED_COUNTS];
    u32 count = tracer_counters(tracer, counts);
    PyObject *result = PyDict_New();
    for (u32 i = 0; result && i < count; i++)
        if (!put(result, counts[i].name, PyLong_FromUnsignedLongLong(counts[i].count)))
            Py_CLEAR(result);
    return result;
}

PyObject *shed_tuples(const struct tracer *tracer) {
    const struct trace_shed_change *log = tracer->maps[IN_SHED].memory;
    u64 end = tracer->globals->shed_changes;
    PyObject *list = PyList_New(0);
    for (u64 i = end > TRACE_SHED_LOG ? end - TRACE_SHED_LOG : 0; list && i < end; i++) {
        const struct trace_shed_change *change = &log[i % TRACE_SHED_LOG];
        if (!append(list, Py_BuildValue("KIHH", change->time, change->cpu, change->before, change->after)))
            Py_CLEAR(list);
    }
    return list;
}

PyObject *absent_dict(const struct tracer *tracer) {
    PyObject *result = PyDict_New();
    for (u32 i = 0; result && i < tracer->absent_count; i++) {
        const struct absent_program *absent = &tracer->absent[i];
        if (!put(result, absent->name, PyUnicode_DecodeUTF8(absent->why, (Py_ssize_t)strlen(absent->why), "replace")))
            Py_CLEAR(result);
    }
    return result;
}
