// Where a variable is, or what it is, in one frame of a walked stack.
#ifndef WHYPERF_VALUES_EVALUATE_H
#define WHYPERF_VALUES_EVALUATE_H

#include "unwind/unwind.h"
#include "values/open.h"

// One frame as the walk left it. Frames of a walk are adjacent in memory: frame[1] is the caller.
struct values_frame {
    struct unwind_registers registers;
    uint64_t cfa;
    uint64_t bias;
    const struct values_table *table; // of the module that the pc lies in; NULL: none
    uint64_t thread_block;            // of that module; 0: unknown
    const unsigned char *vectors;     // vector registers, 16 bytes each; NULL in callers
    bool cfa_known;
    bool pc_is_exact;
    bool is_last; // no caller was captured
};

// Reads `size` bytes (at most 8) of the thread's own stack; false elsewhere.
typedef bool (*values_read_fn)(void *context, uint64_t address, void *bytes, size_t size);

enum values_answer {
    VALUES_UNREADABLE,
    VALUES_IS,    // the value itself
    VALUES_IS_AT, // the address of the value
};

// Async-signal-safe.
enum values_answer values_evaluate(const struct values_frame *frame, const struct values_location *location,
                                   values_read_fn read, void *context, uint64_t *answer);

#endif
