// System calls that neither waited nor woke anybody: in a storm most are such, and say least.
//
// The first one after a wait counts as the wait's: what was waited for is told by what is then read or taken.
#ifndef WHYPERF_TRACER_QUICK_CALLS_H
#define WHYPERF_TRACER_QUICK_CALLS_H

#include "bpf/call_classes.h"
#include "bpf/emit.h"

enum { CALLS_OF_A_WAIT = 2 };

static __always_inline void thread_came(struct trace_cpu *cpu, u32 tid) {
    cpu->acting = tid;
    cpu->acting_calls = CALLS_OF_A_WAIT;
}

static __always_inline void thread_woke_another(struct trace_cpu *cpu, u32 tid) {
    if (cpu->acting == tid && cpu->acting_calls)
        return;
    cpu->acting = tid;
    cpu->acting_calls = 1;
}

// Whether the call that ends may be left out as a quick one. Asked at every end of a call but of inert ones, which are
// nobody's first after a wait.
static __always_inline bool was_quick(struct trace_cpu *cpu, u32 tid) {
    if (cpu->acting != tid || !cpu->acting_calls)
        return true;
    cpu->acting_calls--;
    return false;
}

// Of the others each one counts: who opened, locked or mapped something is asked for later. Closing, shutting down,
// connecting and accepting are calls on a descriptor: they count where they waited or woke.
static __always_inline bool can_be_quick(u32 class) {
    return class == CALL_TRANSFER || class == CALL_DESCRIPTOR || class == CALL_POLL || class == CALL_SELECT ||
           class == CALL_EPOLL_CTL || class == CALL_FUTEX;
}

#endif
