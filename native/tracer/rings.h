// Reading the rings while they are written. Nothing is locked: what may have been overwritten meanwhile is left out.
#ifndef WHYPERF_TRACER_RINGS_H
#define WHYPERF_TRACER_RINGS_H

#include "tracer/tracer.h"

struct records_copy {
    u64 count;
    u64 lost; // overwritten before they could be copied
};

// How many whole records of a CPU there are from number `position` on.
u64 records_waiting(const struct tracer *tracer, u32 cpu, u64 position);
// Copies so many of them at most, in order of time; *position then is the number of the next.
struct records_copy copy_records(const struct tracer *tracer, u32 cpu, u64 *position, struct trace_record *into,
                                 u64 room);

// When the first of them happened that is still kept; 0 if none is.
u64 oldest_time(const struct tracer *tracer, u32 cpu);

// Stacks in one piece of memory: struct traced_stack with its addresses, one after the other.
struct stacks_copy {
    u8 *bytes;
    u64 size, capacity;
    u64 lost; // bytes
};

// The stacks that a CPU kept from byte *position on. Appends to `copy`; 0 or ENOMEM.
int copy_stacks(const struct tracer *tracer, u32 cpu, u64 *position, struct stacks_copy *copy);

#endif
