// Samples of allocations: each allocated byte is as likely as any other to be the one that is looked at, and a sampled
// allocation is followed until it is freed.
#ifndef WHYPERF_MEMORY_ALLOCATIONS_H
#define WHYPERF_MEMORY_ALLOCATIONS_H

#include <stddef.h>
#include <stdint.h>

#include "memory/live.h"

struct thread_allocations {
    int64_t until_sample; // bytes
    uint32_t calls;       // of allocating functions so far
    uint64_t interval;
    uint64_t random; // 0: not begun
};

extern __thread struct thread_allocations these_allocations;

bool allocation_sample(void *address, size_t bytes); // whether it is followed from now on
void allocation_ended(uint64_t address, uint64_t time);
uint64_t allocation_moment(void);

// To be told of every allocation, right after it.
static inline void allocated(void *address, size_t bytes) {
    these_allocations.calls++;
    if (!address)
        return;
    these_allocations.until_sample -= (int64_t)bytes;
    if (__builtin_expect(these_allocations.until_sample < 0, 0))
        allocation_sample(address, bytes);
}

// To be told of every free, right before it: once it is done, the address may be another allocation's.
static inline void freed(void *address) {
    if (__builtin_expect(live_may_hold((uint64_t)address), 0) && live_remove((uint64_t)address))
        allocation_ended((uint64_t)address, allocation_moment());
}

#endif
