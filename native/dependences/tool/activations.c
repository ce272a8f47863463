// SPDX-License-Identifier: GPL-2.0-or-later
#include "activations.h"

#include "events.h"
#include "inexact.h"
#include "output.h"
#include "recording.h"
#include "shadow.h"

#define DEPTH_MOST 60000
// Farther apart than this are two stack pointers of different stacks.
#define STACK_SPAN (16ul << 20)
#define NO_FUNCTION 0xFFFFFFFFu

typedef struct {
    Addr stack_pointer;
    UInt function; // NO_FUNCTION: a signal handler begins here
    Heap heap;
    Addr result_at; // of HEAP_STORES
} Activation;

typedef struct {
    UInt number; // 0: never ran
    UInt depth;
    Activation *activations;
} Thread;

static Thread *threads; // by Valgrind's number; 0: none runs
static Thread *running;
static UInt thread_count;

Addr activations_innermost = ~0ul;

static void set_innermost(void) {
    activations_innermost = running->depth ? running->activations[running->depth - 1].stack_pointer : ~0ul;
}

static Bool far_apart(Addr a, Addr b) {
    return a > b ? a - b > STACK_SPAN : b - a > STACK_SPAN;
}

static void put_leave(UInt ended, UInt flags, UWord result) {
    put_record(RECORD_LEAVE);
    put(ended);
    put(instructions_since_marker());
    put(flags);
    if (flags & LEAVE_RESULT)
        put(result);
}

// Ends activations until `depth` remain, telling signal handlers apart.
static void end_down_to(UInt depth, UInt flags, UWord result) {
    while (running->depth > depth) {
        UInt ended = 0;
        while (running->depth > depth && running->activations[running->depth - 1].function != NO_FUNCTION) {
            // A result belongs to the outermost of those that returned together (tail calls).
            const Activation *top = &running->activations[running->depth - 1];
            if ((flags & LEAVE_UNWOUND) == 0 && top->heap)
                flags |= LEAVE_RESULT;
            if ((flags & LEAVE_RESULT) && top->heap == HEAP_STORES)
                result = result == 0 ? *(const UWord *)top->result_at : 0; // it returned an error's number
            running->depth--;
            ended++;
        }
        if (ended)
            put_leave(ended, flags, result);
        if (running->depth > depth) {
            running->depth--;
            put_record(RECORD_SIGNAL_END);
        }
    }
    set_innermost();
}

// How many activations still stand when the stack pointer is here.
static UInt standing(Addr stack_pointer) {
    UInt depth = running->depth;
    const Activation *activations = running->activations;
    if (depth && far_apart(activations[depth - 1].stack_pointer, stack_pointer)) {
        inexact[INEXACT_STACKS]++;
        UInt same = depth;
        while (same && far_apart(activations[same - 1].stack_pointer, stack_pointer))
            same--;
        if (!same)
            return depth;
        depth = same;
    }
    while (depth && activations[depth - 1].stack_pointer < stack_pointer &&
           !far_apart(activations[depth - 1].stack_pointer, stack_pointer))
        depth--;
    return depth;
}

// False: this is a jump back to the entry, not a call.
static Bool begin(const PlanFunction *function, Addr stack_pointer, UInt *flags) {
    if (!recording)
        return False;
    if (stack_pointer > activations_innermost)
        end_down_to(standing(stack_pointer), LEAVE_UNWOUND, 0);
    const Activation *top = running->depth ? &running->activations[running->depth - 1] : NULL;
    if (top && top->stack_pointer == stack_pointer && top->function != NO_FUNCTION) {
        if (top->function == function->number)
            return False;
        *flags |= ENTER_TAIL;
    }
    if (events_beyond_limit())
        return False;
    if (running->depth == DEPTH_MOST) {
        inexact[INEXACT_DEPTH]++;
        return False;
    }
    running->activations[running->depth++] = (Activation){stack_pointer, function->number, function->heap, 0};
    activations_innermost = stack_pointer;
    events_count_entry();
    put_record(RECORD_ENTER);
    put(function->number);
    put(instructions_since_marker());
    put(*flags);
    return True;
}

VG_REGPARM(2) void activations_enter(const PlanFunction *function, Addr stack_pointer) {
    UInt flags = 0;
    begin(function, stack_pointer, &flags);
}

VG_REGPARM(3)
void activations_enter_heap(const PlanFunction *function, Addr stack_pointer, UWord argument0, UWord argument1,
                            Addr caller) {
    activations_enter_storing(function, stack_pointer, 0, argument0, argument1, caller);
}

VG_REGPARM(3)
void activations_enter_storing(const PlanFunction *function, Addr stack_pointer, Addr result_at, UWord argument0,
                               UWord argument1, Addr caller) {
    UInt flags = ENTER_ARGUMENTS;
    if (!begin(function, stack_pointer, &flags))
        return;
    running->activations[running->depth - 1].result_at = result_at;
    put(argument0);
    put(argument1);
    put(caller);
}

VG_REGPARM(2) void activations_return(Addr stack_pointer, UWord result) {
    if (recording && stack_pointer > activations_innermost)
        end_down_to(standing(stack_pointer), 0, result);
}

// A callee that was left without a return began where its caller goes on, unless the call pushed something.
static UInt standing_callers(const PlanFunction *function, Addr stack_pointer) {
    UInt depth = standing(stack_pointer);
    const Activation *activations = running->activations;
    if (!LINK_BYTES || !depth || activations[depth - 1].stack_pointer != stack_pointer)
        return depth;
    UInt callers = depth;
    while (callers && activations[callers - 1].stack_pointer == stack_pointer &&
           activations[callers - 1].function != function->number)
        callers--;
    // Its own activation lies there, or higher up.
    return callers && activations[callers - 1].function == function->number ? callers : depth;
}

VG_REGPARM(2) void activations_resume(const PlanFunction *function, Addr stack_pointer) {
    if (recording)
        end_down_to(standing_callers(function, stack_pointer), LEAVE_UNWOUND, 0);
}

static void begin_thread(ThreadId thread) {
    Thread *state = &threads[thread];
    if (!state->activations) {
        state->activations = VG_(am_shadow_alloc)(DEPTH_MOST * sizeof *state->activations);
        if (!state->activations)
            VG_(out_of_memory_NORETURN)("whyperf: activations", DEPTH_MOST * sizeof *state->activations);
    }
    state->number = ++thread_count;
    state->depth = 0;
    shadow_forget_registers(thread);
}

void threads_start(void) {
    threads = VG_(calloc)("whyperf.threads", VG_N_THREADS, sizeof *threads);
    running = &threads[0];
    // The first thread is never announced by Valgrind. It is number 1 there too.
    begin_thread(1);
    put_record(RECORD_THREAD);
    put(1);
    put(0);
}

void threads_switch(ThreadId thread, ULong blocks) {
    (void)blocks;
    if (running == &threads[thread])
        return;
    if (!threads[thread].number)
        begin_thread(thread);
    put_record(RECORD_SWITCH);
    put(threads[thread].number);
    put(instructions_since_marker());
    running = &threads[thread];
    shadow_switch(thread);
    set_innermost();
}

void threads_create(ThreadId creator, ThreadId created) {
    if (created == 1)
        return;
    begin_thread(created);
    put_record(RECORD_THREAD);
    put(threads[created].number);
    put(threads[creator].number);
}

void threads_exit(ThreadId thread) {
    if (recording && running == &threads[thread])
        end_down_to(0, LEAVE_UNWOUND, 0);
    threads[thread].depth = 0;
    // Valgrind gives the number to the next thread that is created.
    threads[thread].number = 0;
    if (running == &threads[thread])
        running = &threads[0];
    set_innermost();
}

void signals_deliver(ThreadId thread, Int signal, Bool other_stack) {
    threads_switch(thread, 0);
    if (!recording || running->depth == DEPTH_MOST)
        return;
    // Just below where the interrupted code is: back there, the handler has been left. On a stack of its own the stack
    // pointer says nothing of that, only the handler's return does.
    Addr here = other_stack ? ~0ul : VG_(get_SP)(thread) - LINK_BYTES - 1;
    running->activations[running->depth++] = (Activation){here, NO_FUNCTION, HEAP_NONE, 0};
    set_innermost();
    put_record(RECORD_SIGNAL);
    put((ULong)signal);
}

void signals_return(ThreadId thread, Int signal) {
    (void)signal;
    threads_switch(thread, 0);
    UInt depth = running->depth;
    while (depth && running->activations[depth - 1].function != NO_FUNCTION)
        depth--;
    if (recording && depth)
        end_down_to(depth - 1, LEAVE_UNWOUND, 0);
}
