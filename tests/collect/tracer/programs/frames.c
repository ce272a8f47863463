// Threads that wait at the end of stacks of different kinds. Prints "ready" when all wait.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile int sink;
static pthread_barrier_t all_wait;

__attribute__((noinline)) static void wait_here(void) {
    static __thread int counted;
    if (!counted++)
        pthread_barrier_wait(&all_wait);
    struct timespec soon = {0, 3000000};
    nanosleep(&soon, NULL);
    sink++;
}

__attribute__((noinline)) static void recurse(int depth) {
    char filler[depth * 8 + 1]; // a frame pointer is needed
    filler[depth] = (char)depth;
    sink += filler[depth];
    if (depth > 0)
        recurse(depth - 1);
    else
        wait_here();
    sink += filler[depth];
}

__attribute__((noinline)) static void realigned(int depth) {
    alignas(64) char filler[depth * 64 + 64]; // rsp is rounded down
    filler[depth] = 1;
    sink += filler[depth];
    if (depth > 0)
        realigned(depth - 1);
    else
        wait_here();
    sink += filler[depth];
}

static int compare(const void *a, const void *b) {
    wait_here();
    return *(const int *)a - *(const int *)b;
}

static void handle(int number) {
    (void)number;
    recurse(2);
}

static void busy_until_signalled(void) {
    signal(SIGUSR1, handle);
    for (;;)
        raise(SIGUSR1);
}

static void *run(void *argument) {
    const char *how = argument;
    for (;;) {
        if (strcmp(how, "recursion") == 0)
            recurse(40);
        else if (strcmp(how, "realigned") == 0)
            realigned(6);
        else if (strcmp(how, "callback") == 0) {
            int numbers[] = {3, 1, 2};
            qsort(numbers, 3, sizeof *numbers, compare);
        } else if (strcmp(how, "signal") == 0)
            busy_until_signalled();
        else {
            void (*plugged)(void (*)(void)) = (void (*)(void (*)(void)))dlsym(argument, "plugged");
            plugged(wait_here);
        }
    }
    return NULL;
}

int main(int count, char **arguments) {
    static const char *const KINDS[] = {"recursion", "realigned", "callback", "signal"};
    enum { BUILT_IN = sizeof KINDS / sizeof *KINDS };
    int threads = BUILT_IN + (count > 1);
    pthread_barrier_init(&all_wait, NULL, (unsigned)threads + 1);
    pthread_t thread;
    for (int i = 0; i < BUILT_IN; i++)
        pthread_create(&thread, NULL, run, (void *)KINDS[i]);
    if (count > 1) {
        usleep(200000); // the tracer knows the other modules by now
        void *library = dlopen(arguments[1], RTLD_NOW);
        if (!library)
            return 1;
        pthread_create(&thread, NULL, run, library);
    }
    pthread_barrier_wait(&all_wait);
    puts("ready");
    fflush(stdout);
    for (;;)
        pause();
}
