// CLOCK_MONOTONIC, also where a system call would kill the program.
//
// clock_gettime() normally stays in the vDSO, but falls back to a system call when the clock source demands it. After
// a seccomp filter is installed that risk is not ours to take: time is then continued from the processor's counter.
#include <stdatomic.h>
#include <time.h>
#include <x86intrin.h>

#include "sampler/sampler.h"

static struct {
    uint64_t ns, ticks;
    double ns_per_tick;
} frozen;

static uint64_t first_ns, first_ticks;

static uint64_t monotonic(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

__attribute__((constructor)) static void remember_start(void) {
    first_ns = monotonic();
    first_ticks = __rdtsc();
}

void clock_freeze(void) {
    uint64_t ns = monotonic(), ticks = __rdtsc();
    // A program that sandboxes itself at once gives too short a base to calibrate on: stretch it to a millisecond.
    while (ns - first_ns < 1000000) {
        ns = monotonic();
        ticks = __rdtsc();
    }
    frozen.ns = ns;
    frozen.ticks = ticks;
    frozen.ns_per_tick = (double)(ns - first_ns) / (double)(ticks - first_ticks);
}

uint64_t now_in_signal(void) {
    if (!atomic_load_explicit(&this_process.no_system_calls, memory_order_relaxed))
        return monotonic();
    return frozen.ns + (uint64_t)((double)(__rdtsc() - frozen.ticks) * frozen.ns_per_tick);
}
