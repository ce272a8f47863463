// Waits for some 30 microseconds at a time, as for fast storage, and computes as long in between.
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>

__attribute__((noinline)) static void wait_briefly(void) {
    nanosleep(&(struct timespec){0, 30000}, NULL);
    __asm__ volatile("");
}

__attribute__((noinline)) static void compute(void) {
    for (volatile int n = 0; n < 10000; n++)
        ;
}

int main(void) {
    prctl(PR_SET_TIMERSLACK, 1);
    puts("ready");
    fflush(stdout);
    for (;;) {
        wait_briefly();
        compute();
    }
}
