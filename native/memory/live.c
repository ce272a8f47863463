#include "memory/live.h"

#include <stdalign.h>

_Atomic uint8_t live_taken[LIVE_BUCKETS];

static const uint64_t being_written = 1;

struct bucket {
    alignas(64) _Atomic uint64_t address[LIVE_PLACES]; // 0: free
};

static struct bucket buckets[LIVE_BUCKETS];
static _Atomic uint64_t sizes[LIVE_BUCKETS][LIVE_PLACES];

bool live_add(uint64_t address, uint64_t bytes) {
    uint32_t number = live_bucket(address);
    // First, so that nobody who is to find the address looks away.
    live_hint(address);
    for (int i = 0; i < LIVE_PLACES; i++) {
        uint64_t expected = 0;
        if (!atomic_compare_exchange_strong(&buckets[number].address[i], &expected, being_written))
            continue;
        atomic_store_explicit(&sizes[number][i], bytes, memory_order_relaxed);
        atomic_store(&buckets[number].address[i], address);
        return true;
    }
    atomic_fetch_sub(&live_taken[number], 1);
    return false;
}

bool live_remove(uint64_t address, uint64_t *bytes) {
    uint32_t number = live_bucket(address);
    for (int i = 0; i < LIVE_PLACES; i++) {
        uint64_t expected = address;
        if (atomic_load_explicit(&buckets[number].address[i], memory_order_relaxed) != address)
            continue;
        *bytes = atomic_load_explicit(&sizes[number][i], memory_order_relaxed);
        if (atomic_compare_exchange_strong(&buckets[number].address[i], &expected, 0)) {
            atomic_fetch_sub(&live_taken[number], 1);
            return true;
        }
    }
    return false;
}

void live_each(void (*visit)(uint64_t address, uint64_t bytes)) {
    for (uint32_t number = 0; number < LIVE_BUCKETS; number++)
        for (int i = 0; i < LIVE_PLACES && atomic_load_explicit(&live_taken[number], memory_order_relaxed); i++) {
            uint64_t address = atomic_load(&buckets[number].address[i]);
            if (address > being_written)
                visit(address, atomic_load_explicit(&sizes[number][i], memory_order_relaxed));
        }
}
