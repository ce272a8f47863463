// CPU time to be sampled in, and the checks that every program here shares.
#pragma once
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define MUST(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                            \
            exit(99);                                                                                                  \
        }                                                                                                              \
    } while (0)

static inline double cpu_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static uint64_t burn_steps(uint64_t steps) {
    volatile uint64_t sum = 1;
    for (uint64_t i = 0; i < steps; i++) {
        sum = sum * 6364136223846793005ull + 1442695040888963407ull;
    }
    return sum;
}

// Keeps the thread on the CPU for that long, by its own clock.
static inline void burn(double seconds) {
    double end = cpu_seconds() + seconds;
    while (cpu_seconds() < end) {
        burn_steps(10000);
    }
}

static inline int open_descriptors(void) {
    DIR *folder = opendir("/proc/self/fd");
    MUST(folder);
    int count = -3; // ".", ".." and the folder itself
    while (readdir(folder)) {
        count++;
    }
    closedir(folder);
    return count;
}
