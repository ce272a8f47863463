// What a tracer has, as Python objects; NULL with an exception.
#ifndef WHYPERF_TRACER_ANSWERS_H
#define WHYPERF_TRACER_ANSWERS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "tracer/tracer.h"

// [(CPU, records)] from each CPU's position on, but none before `since`; adds to *lost what was overwritten.
PyObject *records_list(struct tracer *tracer, struct cpu_position *positions, u64 since, u64 *lost);
// When each CPU's oldest record was made, of those that have one.
PyObject *oldest_times(const struct tracer *tracer);
// A flag a process number.
struct known_processes {
    u8 *flags;
    u64 size;
};
// Those that records are about and that are not known, which they then are; one that becomes another program is new.
PyObject *unknown_processes(const struct trace_record *records, u64 count, const struct known_processes *known);
// Stacks from each CPU's position on, or only those not returned yet.
PyObject *stacks_bytes(struct tracer *tracer, struct cpu_position *positions, bool only_new, u64 *lost);

PyObject *served_tuples(const struct served_list *served);
PyObject *counters_dict(const struct tracer *tracer);
PyObject *shed_tuples(const struct tracer *tracer);
PyObject *absent_dict(const struct tracer *tracer);

#endif
