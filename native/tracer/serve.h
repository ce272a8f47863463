// Telling the programs what processes have mapped, as they ask for it.
#ifndef WHYPERF_TRACER_SERVE_H
#define WHYPERF_TRACER_SERVE_H

#include "tracer/tracer.h"

// Waits for notices, answers them and appends what happened. 0 or an errno.
int serve_notices(struct tracer *tracer, int timeout_ms, struct served_list *list);

// Reads a process' mappings and makes them known. 0, ESRCH when it is gone, or another errno.
int learn_process(struct tracer *tracer, u32 pid, const struct served_process **known);
// Gives a process flags of its scope (TRACE_FOLLOWED and so on) and takes others. 0 or an errno.
int set_scope(struct tracer *tracer, u32 pid, u32 given, u32 taken);

void module_server_clear(struct tracer *tracer);

#endif
