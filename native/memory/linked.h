// Allocators inside the program's own files: their functions are patched at their entry, by plans that were made
// before it started, so that what they hand out is sampled like what malloc does.
//
// A stub does what happens every time: it takes the size off the bytes until the next sample, or looks an address up.
// Where there is something to do it leads to a handler (native/memory/MACHINE/handlers.c), which keeps every register:
// compilers know which registers a function of the same file leaves alone, and rely on it.
#ifndef WHYPERF_MEMORY_LINKED_H
#define WHYPERF_MEMORY_LINKED_H

#include <stdint.h>

#include "memory/allocations.h"

// The numbers in this file are those of whyperf/debuginfo/allocators.
enum linked_role {
    LINKED_ALLOCATE = 0,
    LINKED_ALLOCATE_MANY = 1, // so many of such a size
    LINKED_ALLOCATE_INTO = 2, // the address is stored where the first argument points to, and 0 returned
    LINKED_REALLOCATE = 3,
    LINKED_FREE = 4,
    LINKED_RESET = 5, // frees all that one arena handed out
};

enum { LINKED_ARGUMENTS = 8, LINKED_NO_ARGUMENT = 255 };

// Which arguments mean what: each the number of a register, or LINKED_NO_ARGUMENT.
struct linked_hook {
    const void *original; // does what the function does
    uint8_t role, size, count, pointer, arena;
    uint8_t allocator;  // of an allocator that can be reset its number: the arena where no argument is one; else 0
    uint8_t size_bytes; // 4 or 8: the rest of a register may hold anything
    uint8_t unused;
};

// What a handler keeps of one call, on the stack.
struct linked_call {
    const struct linked_hook *hook;
    uint64_t arguments[LINKED_ARGUMENTS];
    uint64_t result;
    uint64_t bytes;
    uint64_t is_due;              // this call is to be sampled
    struct ending_allocation old; // of LINKED_REALLOCATE, if it was sampled
    uint64_t was_sampled;
};

enum { LINKED_CALL_BYTES = 136, LINKED_RESULT_AT = 72 };

// How many bytes of a stub the distance from the thread pointer takes.
#ifdef __aarch64__
enum { LINKED_DISTANCE_BYTES = 8 };
#else
enum { LINKED_DISTANCE_BYTES = 4 };
#endif

// Handlers: the stub has the hook's address in a register or on the stack, and everything else is as the caller left
// it.
void linked_handle_allocation(void);
void linked_handle_release(void);

// What handlers call.
void linked_before(struct linked_call *call);
void linked_after(struct linked_call *call);
void linked_release(struct linked_call *call);

#endif
