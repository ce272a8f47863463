// SPDX-License-Identifier: GPL-2.0-or-later
// Calls and returns, per thread. An activation is known by the stack pointer at its entry: when the stack pointer is
// seen above it, it is gone, however it went (return, longjmp, exception). Where calls do not push the return address
// (LINK_BYTES), all stack pointers here are so much lower, as if they did.
#ifndef WHYPERF_DEPENDENCES_ACTIVATIONS_H
#define WHYPERF_DEPENDENCES_ACTIVATIONS_H

#include "sites.h"

// The stack pointer at the innermost activation's entry: instrumented code asks whether it still stands.
extern Addr activations_innermost;

VG_REGPARM(2) void activations_enter(const PlanFunction *function, Addr stack_pointer);
VG_REGPARM(3)
void activations_enter_heap(const PlanFunction *function, Addr stack_pointer, UWord argument0, UWord argument1,
                            Addr caller);
// For HEAP_STORES, which leaves its result at `result_at`.
VG_REGPARM(3)
void activations_enter_storing(const PlanFunction *function, Addr stack_pointer, Addr result_at, UWord argument0,
                               UWord argument1, Addr caller);
VG_REGPARM(2) void activations_return(Addr stack_pointer, UWord result);
// The function runs, with the stack pointer there.
VG_REGPARM(2) void activations_resume(const PlanFunction *function, Addr stack_pointer);

void threads_start(void);
void threads_switch(ThreadId thread, ULong blocks);
void threads_create(ThreadId creator, ThreadId created);
void threads_exit(ThreadId thread);
void signals_deliver(ThreadId thread, Int signal, Bool other_stack);
void signals_return(ThreadId thread, Int signal);

#endif
