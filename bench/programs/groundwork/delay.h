// A delay that a benchmark puts into a function of somebody's code: INJECTED_DELAY=busy:MICROSECONDS or sleep:...
//
// Always inlined, so that the time is that function's own and no new one appears on the stack. Busy time is CPU time of
// the thread: beside other jobs, it computes no less.
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline __attribute__((always_inline)) uint64_t injected_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static inline __attribute__((always_inline)) void injected_delay(void) {
    const char *told = getenv("INJECTED_DELAY");
    const char *length = told ? strchr(told, ':') : NULL;
    if (!length) {
        return;
    }
    uint64_t nanoseconds = strtoull(length + 1, NULL, 10) * 1000;
    if (told[0] == 's') {
        struct timespec pause = {(time_t)(nanoseconds / 1000000000), (long)(nanoseconds % 1000000000)};
        nanosleep(&pause, NULL);
        return;
    }
    // Mostly arithmetic: a loop that only asks for the time would be spent in the kernel.
    for (uint64_t end = injected_clock() + nanoseconds; injected_clock() < end;) {
        for (volatile unsigned step = 0; step < 8000; step++) {
        }
    }
}
