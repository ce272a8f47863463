// A mapped module as Python sees it, in _stacks and in _tracer.
#ifndef WHYPERF_MODULE_TUPLE_H
#define WHYPERF_MODULE_TUPLE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "stacks/process.h"

// (start, end, file offset, bias, build-id, path, inode); NULL with an exception.
PyObject *module_tuple(const struct mapped_module *module);
// One for each module of the process.
PyObject *module_tuples(const struct process *process);

#endif
