// The file in which calls of a function are counted by how long they took: raw/latency/durations. It is shared by all
// processes of a run and outlives them. whyperf/collect/latency/durations.py reads it, and has the same numbers.
#ifndef WHYPERF_LATENCY_DURATIONS_H
#define WHYPERF_LATENCY_DURATIONS_H

#include <stdatomic.h>
#include <stdint.h>

#define DURATIONS_MAGIC 0x54414c5052455057ull
enum { DURATIONS_VERSION = 1 };

// Cells as in HdrHistogram: each power of two has 128 of equal width, below 128 ticks each number its own.
enum { CELL_BITS = 7, LONGEST_BITS = 48, CELLS = (LONGEST_BITS - CELL_BITS + 1) << CELL_BITS };

// Threads share stripes; few enough to read, many enough not to wait for each other's cache lines.
enum { STRIPES = 16, SLOWEST = 8 };

// One of the slowest calls. Times in ticks of the machine's counter.
struct slow_call {
    _Atomic uint64_t ticks; // 0: none, or being written
    uint64_t began;
    uint32_t pid, tid;
};

struct stripe {
    _Alignas(64) _Atomic uint64_t begun;
    _Atomic uint64_t lost;      // left in another way than by returning: exceptions, longjmp
    _Atomic uint64_t nested;    // calls within calls: part of those
    _Atomic uint64_t slow_lost; // not among the slowest because somebody else was writing there
    _Atomic uint32_t slow_taken;
    _Atomic uint64_t slow_least; // shorter ones need not be looked at
    struct slow_call slowest[SLOWEST];
    _Atomic uint64_t cells[CELLS];
};

struct durations {
    uint64_t magic;
    uint32_t version, stripes;
    _Atomic uint64_t window;      // ticks: when it opened; written by the recorder
    _Atomic uint32_t patched;     // modules whose code leads here
    _Atomic uint32_t not_patched; // modules whose code should, and does not
    struct stripe stripe[STRIPES];
};

static inline uint32_t duration_cell(uint64_t ticks) {
    if (ticks >> CELL_BITS == 0)
        return (uint32_t)ticks;
    uint32_t power = 63 - (uint32_t)__builtin_clzll(ticks);
    if (power >= LONGEST_BITS)
        return CELLS - 1;
    return ((power - CELL_BITS + 1) << CELL_BITS) + (uint32_t)(ticks >> (power - CELL_BITS) & ((1 << CELL_BITS) - 1));
}

#endif
