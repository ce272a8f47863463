#include "memory/live.h"

#include <stdalign.h>

_Atomic uint8_t live_taken[LIVE_BUCKETS];

struct bucket {
    alignas(64) _Atomic uint64_t address[LIVE_PLACES]; // 0: free
};

static struct bucket buckets[LIVE_BUCKETS];

bool live_add(uint64_t address) {
    uint32_t number = live_bucket(address);
    // First, so that nobody who is to find the address looks away.
    atomic_fetch_add(&live_taken[number], 1);
    for (int i = 0; i < LIVE_PLACES; i++) {
        uint64_t expected = 0;
        if (atomic_compare_exchange_strong(&buckets[number].address[i], &expected, address))
            return true;
    }
    atomic_fetch_sub(&live_taken[number], 1);
    return false;
}

bool live_remove(uint64_t address) {
    uint32_t number = live_bucket(address);
    for (int i = 0; i < LIVE_PLACES; i++) {
        uint64_t expected = address;
        if (atomic_load_explicit(&buckets[number].address[i], memory_order_relaxed) == address &&
            atomic_compare_exchange_strong(&buckets[number].address[i], &expected, 0)) {
            atomic_fetch_sub(&live_taken[number], 1);
            return true;
        }
    }
    return false;
}
