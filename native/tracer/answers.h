// What a tracer has, as Python objects; NULL with an exception.
#ifndef WHYPERF_TRACER_ANSWERS_H
#define WHYPERF_TRACER_ANSWERS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "tracer/tracer.h"

// [(CPU, records)] from each CPU's position on, but none before `since`; adds to *lost what was overwritten.
PyObject *records_list(struct tracer *tracer, struct cpu_position *positions, u64 since, u64 *lost);
// Stacks from each CPU's position on, or only those not returned yet.
PyObject *stacks_bytes(struct tracer *tracer, struct cpu_position *positions, bool only_new, u64 *lost);

PyObject *served_tuples(const struct served_list *served);
PyObject *counters_dict(const struct tracer *tracer);
PyObject *shed_tuples(const struct tracer *tracer);
PyObject *absent_dict(const struct tracer *tracer);

#endif
