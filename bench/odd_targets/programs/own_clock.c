// Has a clock of its own, as programs have that fake the time: one that counts its calls, and that nobody may call
// while it runs.
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { CALLS = 300000 };

static atomic_int calls, running, reentered;

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *now) {
    atomic_fetch_add(&calls, 1);
    if (atomic_fetch_add(&running, 1))
        atomic_fetch_add(&reentered, 1);
    long result = syscall(SYS_clock_gettime, clock, now);
    for (volatile int i = 0; i < 1000; i++)
        ;
    now->tv_sec -= now->tv_sec % 1000;
    atomic_fetch_sub(&running, 1);
    return (int)result;
}

int main(void) {
    struct timespec now;
    for (int i = 0; i < CALLS; i++)
        clock_gettime(CLOCK_MONOTONIC, &now);
    printf("%d calls of the clock, %d of them within another\n", calls - CALLS, reentered);
    return 0;
}
