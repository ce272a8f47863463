#include "memory/owned.h"

_Atomic uint8_t owned_taken[LIVE_BUCKETS];

enum { PLACES = 1 << 13, MOST_IN_BUCKET = 255 };
static const uint64_t being_written = 1;

static struct {
    _Atomic uint64_t address; // 0: free
    _Atomic uint64_t arena;
} places[PLACES];
static _Atomic uint32_t next_place, owned_count;

bool owned_add(uint64_t arena, uint64_t address) {
    _Atomic uint8_t *taken = &owned_taken[live_bucket(arena)];
    if (atomic_load(taken) == MOST_IN_BUCKET)
        return false;
    for (uint32_t i = 0; i < PLACES; i++) {
        uint32_t at = atomic_fetch_add(&next_place, 1) % PLACES;
        uint64_t expected = 0;
        if (!atomic_compare_exchange_strong(&places[at].address, &expected, being_written))
            continue;
        atomic_store(&places[at].arena, arena);
        atomic_fetch_add(&owned_count, 1);
        atomic_fetch_add(taken, 1);
        atomic_store(&places[at].address, address);
        return true;
    }
    return false;
}

static bool take(uint32_t at, uint64_t address) {
    uint64_t arena = atomic_load(&places[at].arena);
    if (!atomic_compare_exchange_strong(&places[at].address, &address, 0))
        return false;
    atomic_fetch_sub(&owned_taken[live_bucket(arena)], 1);
    atomic_fetch_sub(&owned_count, 1);
    return true;
}

void owned_forget(uint64_t address) {
    if (!atomic_load_explicit(&owned_count, memory_order_relaxed))
        return;
    for (uint32_t at = 0; at < PLACES; at++)
        if (atomic_load_explicit(&places[at].address, memory_order_relaxed) == address && take(at, address))
            return;
}

uint64_t owned_take(uint64_t arena) {
    for (uint32_t at = 0; at < PLACES; at++) {
        uint64_t address = atomic_load_explicit(&places[at].address, memory_order_relaxed);
        if (address > being_written && atomic_load(&places[at].arena) == arena && take(at, address))
            return address;
    }
    return 0;
}
