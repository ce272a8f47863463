// Times calls of a function: its entry and its exits are patched by plans that were made before the program started.
//
// A stub leads to a handler (native/latency/MACHINE/handlers.c), which keeps every register and goes on in the stub. No
// frame of ours is on the stack while the function runs, and return addresses stay as they are: stacks, exceptions and
// longjmp work as before.
#ifndef WHYPERF_LATENCY_LATENCY_H
#define WHYPERF_LATENCY_LATENCY_H

#include <stdint.h>

// Handlers: on the stack lies what the stub has put there (see the machine's handlers.c), and everything else is as the
// function or its caller left it.
void latency_handle_begin(void);
void latency_handle_end(void);

// What handlers call, with the stack pointer of the place and the address that the function returns to. Handlers save
// no vector registers.
#define NO_VECTORS __attribute__((target("general-regs-only")))
void latency_begin(uint64_t stack_pointer, uint64_t returns_to);
void latency_end(uint64_t stack_pointer, uint64_t returns_to);

// sampler.c and threads.c
void latency_start(void);
void latency_after_fork(void);

#endif
