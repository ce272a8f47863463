// CLOCK_MONOTONIC, also where a system call would kill the program.
//
// It is a system call, as clock_gettime() may be the program's own. After a seccomp filter is installed, time is
// continued from the processor's counter.
// Strict seccomp forbids even reading that counter, in the vDSO as well: time then moves with the samples themselves.
#include <stdatomic.h>
#include <time.h>

#include "machine/machine.h"
#include "sampler/raw.h"
#include "sampler/sampler.h"

enum { CLOCK_KERNEL, CLOCK_COUNTER, CLOCK_SAMPLES };
static _Atomic int source = CLOCK_KERNEL;

static struct {
    uint64_t ticks;
    double ns_per_tick;
} counter;
static _Atomic uint64_t frozen_ns;
static uint64_t first_ns, first_ticks;

static uint64_t monotonic(void) {
    return raw_clock_ns(CLOCK_MONOTONIC);
}

__attribute__((constructor)) static void remember_start(void) {
    first_ns = monotonic();
    first_ticks = machine_ticks();
}

static int source_before; // what a freeze that comes to nothing goes back to

void clock_freeze(bool counter_readable) {
    source_before = atomic_load(&source);
    // The counter is out of bounds already (PR_SET_TSC): it would raise SIGSEGV.
    if (source_before == CLOCK_SAMPLES)
        return;
    uint64_t ns = monotonic(), ticks = machine_ticks();
    // A program that sandboxes itself at once gives too short a base to calibrate on: stretch it to a millisecond.
    while (ns - first_ns < 1000000) {
        ns = monotonic();
        ticks = machine_ticks();
    }
    atomic_store(&frozen_ns, ns);
    counter.ticks = ticks;
    counter.ns_per_tick = (double)(ns - first_ns) / (double)(ticks - first_ticks);
    atomic_store(&source, counter_readable ? CLOCK_COUNTER : CLOCK_SAMPLES);
}

void clock_thaw(void) {
    atomic_store(&source, source_before);
}

void clock_advance_in_signal(uint64_t ns) {
    if (atomic_load_explicit(&source, memory_order_relaxed) == CLOCK_SAMPLES)
        atomic_fetch_add(&frozen_ns, ns);
}

uint64_t now_in_signal(void) {
    switch (atomic_load_explicit(&source, memory_order_relaxed)) {
    case CLOCK_KERNEL:
        return monotonic();
    case CLOCK_COUNTER:
        return atomic_load(&frozen_ns) + (uint64_t)((double)(machine_ticks() - counter.ticks) * counter.ns_per_tick);
    default:
        return atomic_load(&frozen_ns);
    }
}

uint64_t cpu_now_in_signal(void) {
    return atomic_load_explicit(&source, memory_order_relaxed) == CLOCK_KERNEL ? thread_cpu_ns_in_signal() : 0;
}

bool clock_counter_readable_in_signal(void) {
    return atomic_load_explicit(&source, memory_order_relaxed) != CLOCK_SAMPLES;
}
