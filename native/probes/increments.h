// How stubs count, and where each thread does: native/probes/MACHINE/increments.c.
#ifndef WHYPERF_PROBES_INCREMENTS_H
#define WHYPERF_PROBES_INCREMENTS_H

#include <stdbool.h>
#include <stdint.h>

// Whether threads can have blocks of their own. To be asked once, by the first thread.
bool increments_find_threads(void);
// Whether one block can serve all threads.
bool increments_can_lock(void);

// The calling thread counts in `block` from now on; NULL: where threads without a block of their own do.
void thread_counts_in(uint8_t *block);
// Where the first block must be, so that threads that nobody told of count there; NULL: anywhere.
uint8_t *thread_first_block(void);
// What a new thread needs to count where its creator does, without system calls.
uint8_t *thread_block(void);
void thread_shares(uint8_t *creators_block);

// A counter so far into each thread's block.
void increment_per_thread(uint8_t *increment, uint32_t in_block);
// A counter at `counter`, once the increment is at `placed_at`.
void increment_locked(uint8_t *increment, const uint8_t *placed_at, const uint8_t *counter);

#endif
