// Calls a function from several threads, times each call itself, and prints the number of calls and three percentiles.
// The function has three ways out: two returns and a jump to another function.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CALLS = 1500, THREADS = 3, ALL = CALLS * THREADS };
static uint64_t took[THREADS][CALLS];
static volatile unsigned sink;

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

__attribute__((noinline)) int finish(int rounds) {
    for (int i = 0; i < rounds; i++)
        sink += (unsigned)i;
    return rounds;
}

__attribute__((noinline)) int handle(int size) {
    if (size % 7 == 3)
        return 7;
    if (size & 1) {
        for (int i = 0; i < size * 3; i++)
            sink ^= (unsigned)i;
        return -1;
    }
    return finish(size * 10);
}

static void *work(void *which) {
    unsigned random = (unsigned)(uintptr_t)which + 1;
    for (int i = 0; i < CALLS; i++) {
        random = random * 1664525u + 1013904223u;
        uint64_t began = now();
        handle(2000 + (int)(random >> 8) % 10000);
        took[(uintptr_t)which][i] = now() - began;
    }
    return NULL;
}

static int by_size(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

int main(void) {
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    uint64_t *all = took[0];
    qsort(all, ALL, sizeof *all, by_size);
    printf("%d %.9f %.9f %.9f\n", ALL, (double)all[ALL / 2 - 1] / 1e9, (double)all[ALL * 90 / 100 - 1] / 1e9,
           (double)all[ALL * 99 / 100 - 1] / 1e9);
    return 0;
}
