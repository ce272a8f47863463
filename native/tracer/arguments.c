#include "tracer/arguments.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
        const char *name = PyUnicode_AsUTF8AndSize(item, NULL);
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

bool read_options(PyObject *arguments, PyObject *keywords, struct tracer_options *options, PyObject **tables) {
    static char *names[] = {
        "ring_bytes",     "sample_hz",     "scope",       "kinds",       "tables",    "syscall_enter",
        "syscall_stacks", "kernel_stacks", "stack_bytes", "shed_budget", "met_limit", "paused",
        "shed_floor",     "without",       "shed_burst",  "read_cost",   NULL};
    unsigned long long ring_bytes, stack_bytes = 0;
    double hz, budget = 0.05, burst = 0, read_cost = 0;
    const char *scope;
    PyObject *kinds, *without = NULL;
    int enter = 0, syscall_stacks = 1, kernel_stacks = 0, paused = 0;
    unsigned met_limit = 256, floor = 0;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "KdsOO&|pppKdIpIOdd:Tracer", names, &ring_bytes, &hz, &scope,
                                     &kinds, PyUnicode_FSConverter, tables, &enter, &syscall_stacks, &kernel_stacks,
                                     &stack_bytes, &budget, &met_limit, &paused, &floor, &without, &burst, &read_cost))
        return false;
    struct trace_settings *settings = &options->settings;
    if (!(hz >= 0 && hz <= 10000) || !(budget >= 0 && budget <= 1) || !(burst >= 0 && burst <= 1) ||
        !(read_cost >= 0 && read_cost <= 1e-3) || floor >= TRACE_SHED_LEVELS)
        PyErr_SetString(PyExc_ValueError, "sample_hz, read_cost or one of those that begin with shed makes no sense");
    if (PyErr_Occurred() || !read_names(without, options->without, sizeof options->without) ||
        !read_kinds(kinds, enter, &settings->kinds) || !read_scope(scope, &settings->scope))
        return false;
    if (hz > 0)
        settings->sample_period = (u64)(1e9 / hz);
    else
        settings->kinds &= ~(1ull << TRACE_SAMPLE);
    settings->shed_budget = (u64)(budget * 1e8);
    settings->shed_burst = (u64)(burst * 1e9);
    settings->read_cost = (u64)(read_cost * 1e9);
    settings->self = (u32)getpid();
    settings->met_limit = met_limit;
    settings->cpus = (u32)sysconf(_SC_NPROCESSORS_CONF);
    settings->syscall_stacks = (u8)syscall_stacks;
    settings->kernel_stacks = (u8)kernel_stacks;
    settings->page_shift = (u8)__builtin_ctzl((unsigned long)sysconf(_SC_PAGESIZE));
    settings->shed_floor = (u8)floor;
    options->ring_bytes = ring_bytes;
    options->stack_bytes = stack_bytes ? stack_bytes : ring_bytes / 4;
    options->paused = paused;
    return true;
}
