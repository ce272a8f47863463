// Threads that wait in known stacks: one in poll() under a chain of known depth, one in nanosleep() over and over, one
// that never waits. With INDIRECT the function that waits is called through a pointer only.
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int ends[2];

__attribute__((noinline)) static void wait_for_input(int n) {
    char bytes[20000];
    memset(bytes, n, sizeof bytes);
    struct pollfd input = {ends[0], POLLIN, 0};
    poll(&input, 1, -1);
    __asm__ volatile("" ::"r"(bytes) : "memory");
}

#ifdef INDIRECT
static void (*volatile waiting)(int) = wait_for_input;
#else
#define waiting wait_for_input
#endif

__attribute__((noinline)) static void call_it(int n) {
    waiting(n);
    __asm__ volatile("");
}

static int compare(const void *a, const void *b) {
    call_it(*(const int *)a);
    return *(const int *)a - *(const int *)b;
}

__attribute__((noinline)) static void descend(int n) {
    volatile long here[3] = {n};
    if (n)
        descend(n - 1);
    else
        qsort((int[]){3, 1}, 2, sizeof(int), compare);
    here[1] = n;
}

__attribute__((noinline)) static void nap_here(void) {
    nanosleep(&(struct timespec){0, 3000000}, NULL);
    __asm__ volatile("");
}

__attribute__((noinline)) static void nap_there(void) {
    nanosleep(&(struct timespec){0, 3000000}, NULL);
    __asm__ volatile("");
}

static void *nap(void *argument) {
    for (;;) {
        nap_here();
        nap_there();
    }
    return argument;
}

static void *spin(void *argument) {
    for (volatile unsigned long n = 0;; n++)
        ;
    return argument;
}

int main(int argc, char **argv) {
    pthread_t thread;
    if (pipe(ends) != 0)
        return 1;
    pthread_create(&thread, NULL, nap, NULL);
    pthread_setname_np(thread, "napping");
    pthread_create(&thread, NULL, spin, NULL);
    pthread_setname_np(thread, "spinning");
    puts("ready");
    fflush(stdout);
    descend(argc > 1 ? atoi(argv[1]) : 5);
}
