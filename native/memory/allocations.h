// Samples of allocations: each allocated byte is as likely as any other to be the one that is looked at, and a sampled
// allocation is followed until it is freed.
#ifndef WHYPERF_MEMORY_ALLOCATIONS_H
#define WHYPERF_MEMORY_ALLOCATIONS_H

#include <stddef.h>
#include <stdint.h>

#include "memory/live.h"

struct thread_allocations {
    int64_t until_sample; // bytes; below 0: each call is looked at
    int64_t lowered_by;   // the bytes until the next sample are more by this
    uint64_t interval;
    uint64_t random; // 0: not begun
};

extern HIDDEN __thread struct thread_allocations these_allocations;

// Each call is looked at from the next sample of a thread on.
extern HIDDEN _Atomic bool allocators_call_each_other;

bool allocation_sample(void *address, size_t bytes); // whether it is followed from now on

// A sampled allocation that is about to end.
struct ending_allocation {
    uint64_t address, bytes, time;
    uint64_t touched; // bytes of its pages that are there; TOUCHED_UNKNOWN
};
#define TOUCHED_UNKNOWN UINT64_MAX

// While it is still there: whether the address is that of a sampled allocation, which it then no longer is.
bool allocation_leaves(uint64_t address, struct ending_allocation *ending);
void allocation_ended(const struct ending_allocation *ending);
bool allocation_stays(const struct ending_allocation *ending); // after all; false: it cannot be followed any more

static inline bool sample_is_due(void) {
    return these_allocations.until_sample + these_allocations.lowered_by < 0;
}

// To be told of every allocation right after it, and what was left before it. What it called inside has been counted.
static inline void *counted(int64_t before, void *address, size_t bytes) {
    if (!address || these_allocations.until_sample != before)
        return address;
    these_allocations.until_sample -= (int64_t)bytes;
    if (__builtin_expect(sample_is_due(), 0))
        allocation_sample(address, bytes);
    return address;
}

// To be told of every free, right before it: once it is done, the address may be another allocation's.
static inline void freed(void *address) {
    struct ending_allocation ending;
    if (__builtin_expect(live_may_hold((uint64_t)address), 0) && allocation_leaves((uint64_t)address, &ending))
        allocation_ended(&ending);
}

#endif
