// libc's ptrace(), in front of it only for PTRACE_TRACEME: a process that its parent traces gets no signals of ours.
#ifndef WHYPERF_INTERPOSED_PTRACE_H
#define WHYPERF_INTERPOSED_PTRACE_H

#include <stdbool.h>

// By every library that is linked with ptrace.c, before this process asks its parent to trace it. True: it is to know
// when that fails.
bool whyperf_before_traced(void);
void whyperf_not_traced(void);

#endif
