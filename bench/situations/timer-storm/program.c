// A worker computes while four threads watch a file that never changes, every so many microseconds.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>

static volatile int is_over;
static long period_us;
static volatile uint64_t changes;

static void watch_settings(void) {
    struct stat found;
    if (stat("/etc/hostname", &found) == 0)
        changes += (uint64_t)found.st_size;
    struct timespec pause = {.tv_sec = period_us / 1000000, .tv_nsec = period_us % 1000000 * 1000};
    nanosleep(&pause, NULL);
}

static void *watch(void *unused) {
    prctl(PR_SET_TIMERSLACK, 1UL);
    while (!is_over)
        watch_settings();
    return unused;
}

static uint64_t compute(int part) {
    uint64_t value = (uint64_t)part;
    for (int step = 0; step < 600000; step++)
        value = value * 6364136223846793005u + 1442695040888963407u;
    struct timespec pause = {.tv_nsec = 4000000};
    nanosleep(&pause, NULL);
    return value;
}

int main(int count, char **words) {
    period_us = count > 1 ? atol(words[1]) : 10000;
    pthread_t watchers[4];
    for (int at = 0; at < 4; at++)
        pthread_create(&watchers[at], NULL, watch, NULL);
    uint64_t sum = 0;
    for (int part = 0; part < 200; part++)
        sum ^= compute(part);
    is_over = 1;
    for (int at = 0; at < 4; at++)
        pthread_join(watchers[at], NULL);
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
