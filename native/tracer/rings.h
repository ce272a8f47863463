// Reading the rings while they are written. Nothing is locked: what may have been overwritten meanwhile is left out.
#ifndef WHYPERF_TRACER_RINGS_H
#define WHYPERF_TRACER_RINGS_H

#include "tracer/tracer.h"

// Records in one piece of memory, in order of time.
struct records_copy {
    struct trace_record *records; // to be freed with the pointer below
    u64 count;
    struct trace_record *memory;
    u64 lost; // overwritten before they could be copied
};

// The whole records of a CPU from number *position on, which then is that of the next. 0 or ENOMEM.
int copy_records(const struct tracer *tracer, u32 cpu, u64 *position, struct records_copy *copy);

// Stacks in one piece of memory: struct traced_stack with its addresses, one after the other.
struct stacks_copy {
    u8 *bytes;
    u64 size, capacity;
    u64 lost; // bytes
};

// The stacks that a CPU kept from byte *position on. Appends to `copy`; 0 or ENOMEM.
int copy_stacks(const struct tracer *tracer, u32 cpu, u64 *position, struct stacks_copy *copy);

#endif
