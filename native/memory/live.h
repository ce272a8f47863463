// The sampled allocations that have not been freed, by address. Any thread may ask at any moment, in signal handlers
// too: nothing here waits for another.
#ifndef WHYPERF_MEMORY_LIVE_H
#define WHYPERF_MEMORY_LIVE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define HIDDEN __attribute__((visibility("hidden"))) // reached without a table of addresses

enum { LIVE_BUCKETS = 1 << 15, LIVE_PLACES = 8 };

// A bucket is a cache line; how many of its places are taken is kept apart, so that asking for the many addresses that
// were not sampled touches little memory.
extern HIDDEN _Atomic uint8_t live_taken[LIVE_BUCKETS];

// Blocks beside each other have buckets beside each other: programs that free much keep little of the table in the
// cache. What lies 2 MiB apart, as large blocks do, falls apart by the higher bits.
static inline uint32_t live_bucket(uint64_t address) {
    return (uint32_t)((address ^ address >> 15) >> 6) % LIVE_BUCKETS;
}

static inline bool live_may_hold(uint64_t address) {
    return atomic_load_explicit(&live_taken[live_bucket(address)], memory_order_relaxed) != 0;
}

// From now on it may.
static inline void live_hint(uint64_t address) {
    atomic_fetch_add(&live_taken[live_bucket(address)], 1);
}

bool live_add(uint64_t address, uint64_t bytes);     // false when there is no room
bool live_remove(uint64_t address, uint64_t *bytes); // whether it was there

// Calls back for each that is there now.
void live_each(void (*visit)(uint64_t address, uint64_t bytes));

#endif
