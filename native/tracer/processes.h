// What the programs know of processes: their modules and whether they are recorded.
#ifndef WHYPERF_TRACER_PROCESSES_H
#define WHYPERF_TRACER_PROCESSES_H

#include "tracer/tracer.h"

// Reads a process' mappings and makes them known. 0, ESRCH when it is gone, or another errno.
int learn_process(struct tracer *tracer, u32 pid, const struct served_process **known);
// Gives a process flags of its scope (TRACE_FOLLOWED and so on) and takes others. 0 or an errno.
int set_scope(struct tracer *tracer, u32 pid, u32 given, u32 taken);

// NULL without memory.
struct served_process *find_or_add(struct tracer *tracer, u32 pid);
void inherit_modules(struct tracer *tracer, const struct served *fork);
// Forgets a process that has exited.
void bury_process(struct tracer *tracer, u32 pid);
// The same for all whose end nobody was told of.
void bury_all_gone(struct tracer *tracer);

void module_server_clear(struct tracer *tracer);

#endif
