// What Python asks of a tracer.
#ifndef WHYPERF_TRACER_ARGUMENTS_H
#define WHYPERF_TRACER_ARGUMENTS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "tracer/tracer.h"

// Tracer's arguments; the folder of tables is a new reference to bytes, also on failure. False with an exception.
bool read_options(PyObject *arguments, PyObject *keywords, struct tracer_options *options, PyObject **tables);

#endif
