// Sampled allocations by the arena that they were handed out by, which may free all of them at once.
#ifndef WHYPERF_MEMORY_OWNED_H
#define WHYPERF_MEMORY_OWNED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "memory/live.h"

// How many sampled allocations the arenas of each bucket own: stubs look here first.
extern _Atomic uint8_t owned_taken[LIVE_BUCKETS];

bool owned_add(uint64_t arena, uint64_t address); // false when there is no room
void owned_forget(uint64_t address);              // freed by itself
uint64_t owned_take(uint64_t arena);              // one that the arena owns, no longer owned; 0: none

#endif
